"""zfp (F-101) and zfpy (F-104), with zfpy, numcodecs and zarr-python 3.

Arrays that zarr-python writes with `zfpy` are read as zarr-python reads them, and the other way round, in v2 and v3. Chunks of `zfp`,
which zarr-python does not have, go through libzfp itself: zfpy without its header.

    python zfp.py PATH/TO/zarr
"""

import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import zarr
import zfpy
from numcodecs.zfpy import ZFPY
from zarr.codecs.numcodecs import ZFPY as ZFPY3

PROGRAM = sys.argv[1]
MODES = [
    ("reversible", {}, 4, {"tolerance": -1}),
    ("fixed_accuracy", {"tolerance": 0.01}, 4, {"tolerance": 0.01}),
    ("fixed_rate", {"rate": 9.5}, 2, {"rate": 9.5}),
    ("fixed_precision", {"precision": 14}, 3, {"precision": 14}),
]
SHAPES = [(37,), (9, 14), (5, 6, 7), (3, 5, 4, 6)]


def program(*words, given=None):
    done = subprocess.run([PROGRAM, *map(str, words)], input=given, capture_output=True, check=False)
    if done.returncode:
        raise SystemExit(f"zarr {words}: exit {done.returncode}: {done.stderr.decode()}")
    return done.stdout


def ours(store, dtype, shape):
    raw = program("get", store, "--format", "raw")
    return np.frombuffer(raw, dtype).reshape(shape)


def numbers(dtype, shape):
    count = int(np.prod(shape))
    if np.dtype(dtype).kind == "f":
        return np.cumsum(np.sin(np.arange(count) * 0.7)).astype(dtype).reshape(shape)
    return ((np.arange(count) * 37) % 1001).astype(dtype).reshape(shape)


def equal(found, expected, what):
    if found.tobytes() != expected.tobytes():
        raise SystemExit(f"{what}: {found.ravel()[:5]} where {expected.ravel()[:5]} are expected")


def exchanged(home, dtype, shape, codec, kwargs, number, parameters):
    """Arrays of zfpy, in v2 and v3, in both directions; returns how many comparisons there were."""
    data = numbers(dtype, shape)
    chunks = tuple(max(2, length // 2) for length in shape)
    configuration = {"mode": number, **parameters}
    for dialect in (2, 3):
        theirs = home / "theirs.zarr"
        if dialect == 2:
            choice = {"compressor": ZFPY(**configuration), "filters": None}
        else:
            choice = {"serializer": ZFPY3(**configuration), "compressors": None, "filters": None}
        if dialect == 2:
            array = zarr.create(shape=shape, chunks=chunks, dtype=dtype, store=str(theirs), zarr_format=2, **choice)
        else:
            array = zarr.create_array(str(theirs), shape=shape, chunks=chunks, dtype=dtype, zarr_format=3, **choice)
        array[...] = data
        read = zarr.open_array(str(theirs), mode="r")[...]
        equal(ours(theirs, dtype, shape), read, f"zfpy, theirs, v{dialect} {dtype} {shape} {codec}")
        # Ours: the same metadata, the chunks written by the program.
        mine = home / "ours.zarr"
        shutil.copytree(theirs, mine, ignore=lambda folder, names: [n for n in names if n[0].isdigit() or n == "c"])
        np.save(home / "data.npy", data)
        program("put", mine, "--format", "npy", given=(home / "data.npy").read_bytes())
        again = zarr.open_array(str(mine), mode="r")[...]
        equal(again, read, f"zfpy, ours, v{dialect} {dtype} {shape} {codec}")
        shutil.rmtree(theirs)
        shutil.rmtree(mine)
    return 4


def bare(home, dtype, shape, mode, kwargs):
    """One chunk of `zfp` that libzfp wrote, and ours that libzfp reads."""
    data = numbers(dtype, shape)
    defaults = {"tolerance": -1, "rate": -1, "precision": -1}
    encoded = zfpy.compress_numpy(data, write_header=False, **kwargs)
    kind = zfpy.dtype_to_ztype(np.dtype(dtype))
    read = zfpy._decompress(encoded, kind, shape, **{**defaults, **kwargs})
    document = {
        "zarr_format": 3,
        "node_type": "array",
        "shape": shape,
        "data_type": np.dtype(dtype).name,
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": shape}},
        "chunk_key_encoding": {"name": "v2"},
        "fill_value": 0,
        "codecs": [{"name": "zfp", "configuration": {"mode": mode, **kwargs}}],
    }
    store = home / "bare.zarr"
    store.mkdir()
    (store / "zarr.json").write_text(json.dumps(document))
    chunk = store / ".".join("0" for _ in shape)
    chunk.write_bytes(encoded)
    equal(ours(store, dtype, shape), read, f"zfp, theirs, {dtype} {shape} {mode}")
    chunk.unlink()
    np.save(home / "data.npy", data)
    program("put", store, "--format", "npy", given=(home / "data.npy").read_bytes())
    mine = chunk.read_bytes()
    equal(zfpy._decompress(mine, kind, shape, **{**defaults, **kwargs}), read, f"zfp, ours, {dtype} {shape} {mode}")
    if mine != encoded:
        print(f"zfp {dtype} {shape} {mode}: other bytes, the same numbers")
    shutil.rmtree(store)
    return 2


def main():
    compared = 0
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        for dtype in ("f4", "f8", "i4", "i8"):
            for shape in SHAPES:
                for mode, kwargs, number, parameters in MODES:
                    # libzfp knows no tolerance for integers.
                    if mode == "fixed_accuracy" and dtype[0] == "i":
                        continue
                    compared += exchanged(home, dtype, shape, mode, kwargs, number, parameters)
                    compared += bare(home, dtype, shape, mode, kwargs)
    print(f"zfp and zfpy: {compared} exchanges equal")


if __name__ == "__main__":
    main()
