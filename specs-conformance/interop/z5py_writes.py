"""z5py 3.0.2 writes v2 and v3, and we read what it reads.

A hierarchy of each format, with arrays of each number type, codec and separator, chunks that end beyond the array, chunks that are not
stored, attributes and a group.
"""

import argparse
import io
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import z5py

TYPES = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float32", "float64"]
CODECS = [("raw", {}), ("gzip", {"level": 3}), ("zlib", {"level": 3}), ("blosc", {}), ("zstd", {})]


def values(dtype):
    data = np.arange(7 * 5).reshape(7, 5).astype(dtype)
    data[0:2, 0:3] = 0
    return data


def write(path, zarr_format, separator):
    """What z5py wrote: path of an array -> elements. A codec that it does not have in a format is left out."""
    written = {}
    with z5py.File(str(path), mode="w", use_zarr_format=True, dimension_separator=separator, zarr_format=zarr_format) as file:
        file.attrs["title"] = "ünïcode"
        group = file.create_group("g")
        group.attrs["n"] = [1, 2.5]
        arrays = [(dtype, dtype, "raw", {}) for dtype in TYPES]
        arrays += [(f"codec_{name}", "float32", name, options) for name, options in CODECS]
        for name, dtype, codec, options in arrays:
            try:
                array = group.create_dataset(name, shape=(7, 5), chunks=(2, 3), dtype=dtype, compression=codec, **options)
            except (RuntimeError, TypeError, ValueError) as error:
                # No failure of ours; it does not have gzip in v2 and zlib in v3.
                print(f"z5py writes no {codec} in v{zarr_format}: {error}")
                continue
            array[:] = values(dtype)
            written[f"g/{name}"] = array[:]
        empty = group.create_dataset("empty", shape=(4,), chunks=(2,), dtype="int32", fillvalue=9)
        written["g/empty"] = empty[:]
    return written


def run(program, *arguments):
    done = subprocess.run([program, *arguments], capture_output=True)
    assert done.returncode == 0, f"exit {done.returncode}: {done.stderr.decode().strip()[:300]}"
    return done.stdout


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("program", help="the program `zarr` to be tested")
    program = str(Path(parser.parse_args().program).resolve())
    equal = wrong = 0
    with tempfile.TemporaryDirectory() as scratch:
        for zarr_format, separator in ((2, "."), (2, "/"), (3, ".")):
            path = Path(scratch, f"{zarr_format}-{equal + wrong}.zarr")
            for name, due in write(path, zarr_format, separator).items():
                try:
                    found = np.load(io.BytesIO(run(program, "get", str(path), "--path", name, "--format", "npy")))
                    assert found.dtype == due.dtype and found.tobytes() == due.tobytes(), "other elements"
                    equal += 1
                except AssertionError as error:
                    wrong += 1
                    print(f"v{zarr_format} {name}: {error}")
            for node, due in (("/", {"title": "ünïcode"}), ("g", {"n": [1, 2.5]})):
                found = json.loads(run(program, "attrs", str(path), "--path", node, "--json"))
                if found == due:
                    equal += 1
                else:
                    wrong += 1
                    print(f"v{zarr_format} attributes of {node}: {found}")
    print(f"z5py {z5py.__version__}: {equal} equal, {wrong} wrong")
    sys.exit(1 if wrong else 0)


main()
