#!/usr/bin/env python3
"""Others read what `zarr serve` serves: 48 hierarchies that others wrote, drafts, NCZarr, zip and LMDB among them.

zarr-python 3 (fsspec), tensorstore, zarrita.js and xarray read the v3 view, GDAL 3.6 and zarr-python the keys of v2 as they are stored. Each
must get what it gets of a local copy in v3, made by `zarr copy`, to the bit; and where the writer's `expected.json` has a hash of the
elements, zarr-python must get that. A reader that cannot read an array cannot read its local copy either.

    peers.py PROGRAM [--zarrita FOLDER] [--node NODE] [--gdal PYTHON]
"""

import argparse
import base64
import contextlib
import functools
import hashlib
import http.server
import json
import logging
import os
import subprocess
import sys
import tarfile
import tempfile
import threading
import warnings
from pathlib import Path

import numpy as np
import tensorstore
import xarray
import zarr
from zarr.storage import FsspecStore

from common import serving

# What zarr-python fails at is an answer here.
logging.getLogger("asyncio").setLevel(logging.CRITICAL)
warnings.simplefilter("ignore")

HERE = Path(__file__).resolve().parent
FAMILIES = HERE.parent / "families"
HIERARCHIES = """
    draft2020-zarr-python/dtype-b1-C draft2020-zarr-python/dtype-le_i2-C draft2020-zarr-python/dtype-be_u2-C
    draft2020-zarr-python/dtype-le_f2-C draft2020-zarr-python/comp-zlib-C-slash draft2020-zarr-python/comp-zstd-C-slash
    draft2020-zarr-python/comp-lz4-C-slash draft2020-zarr-python/comp-lzma-F-dot draft2020-zarr-python/comp-bz2-C-slash
    draft2020-zarr-python/comp-blosc-lz4-shuf-C-slash draft2020-zarr-python/comp-none-F-dot
    draft2020-zarr-python/1d-single-chunk draft2020-zarr-python/fill-nan-f4 draft2020-zarr-python/fill-neginf-f4
    draft2020-zarr-python/shard-2x2
    draft2020-gdal/dtype-u1 draft2020-gdal/comp-gzip-9 draft2020-gdal/nodata draft2020-gdal/comp-lz4
    v2-zarr-python-2/dtype-be_i4-F v2-zarr-python-2/dtype-le_U5-C v2-zarr-python-2/dtype-le_M8-D-C v2-zarr-python-2/comp-lzma
    v2-zarr-python-2/comp-blosc-lz4-bit v2-zarr-python-2/comp-zstd v2-zarr-python-2/filter-delta
    v2-zarr-python-2/filter-fixedscaleoffset v2-zarr-python-2/filter-packbits v2-zarr-python-2/missing-chunks
    v2-zarr-python-2/nested-separator v2-zarr-python-2/zip-deflate.zip v2-zarr-python-2/zip-stored.zip
    v2-zarr-python-2/lmdb-dir v2-zarr-python-2/lmdb-file.mdb
    v2-z5py/comp-blosc.zarr v2-tensorstore/dtype-c8-le-C v2-zarr-python-3/comp-gzip
    nczarr-v2/ncgen-nczarr-file nczarr-v2/ncgen-zarr-file nczarr-v2/ncgen-xarray-file nczarr-v2/ncgen-noxarray-nczarr-file
    nczarr-v2/wheel-nczarr nczarr-v2/wheel-zarr
    v3-zarr-python/tree-consolidated v3-zarr-python/shard-nested v3-zarr-python/numcodecs-lz4 v3-zarrs/codec-blosc-snappy-bitshuffle
    v3-tensorstore/transpose-120 v3-zarrita-js/transpose
""".split()


def digest(elements):
    """Of elements, little-endian, in C order."""
    elements = np.asarray(elements)
    if elements.dtype.kind in "OT":
        texts = [text.encode() if isinstance(text, str) else bytes(text) for text in elements.ravel()]
        data = b"".join(len(text).to_bytes(4, "little") + text for text in texts)
    else:
        data = np.ascontiguousarray(elements).astype(elements.dtype.newbyteorder("<")).tobytes()
    return hashlib.sha256(data).hexdigest()


def zarr_python(store, path, zarr_format=3):
    if store.startswith("http"):
        store = FsspecStore.from_url(store, read_only=True)
    return digest(zarr.open_array(store=store, path=path, mode="r", zarr_format=zarr_format)[...])


def zarr_python_v2(store, path):
    return zarr_python(store, path, 2)


def with_tensorstore(store, path):
    at = f"{store.rstrip('/')}/{path}".rstrip("/") + "/"
    spec = {"driver": "zarr3", "kvstore": at if store.startswith("http") else f"file://{at}"}
    return digest(tensorstore.open(spec, read=True, open=True).result().read().result())


def with_xarray(store, path):
    """A variable of the group that it is in."""
    group, _, name = path.rpartition("/")
    dataset = xarray.open_zarr(store, group=group or None, decode_cf=False, chunks=None)
    return digest(dataset[name].values)


class Lines:
    """A program that answers lines of JSON."""

    def __init__(self, *command):
        self.program = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def __call__(self, store, path):
        print(json.dumps({"store": store, "path": path}), file=self.program.stdin, flush=True)
        answer = json.loads(self.program.stdout.readline())
        if "error" in answer:
            raise ValueError(answer["error"])
        return hashlib.sha256(base64.b64decode(answer["bytes"])).hexdigest()


def outcome(reader, store, path):
    try:
        return reader(store, path)
    except Exception as error:
        return f"error: {type(error).__name__}: {str(error)[:300]}"


def unpack(scratch):
    """Unpacks the hierarchies; yields each with the arrays that its writer tells of: paths and hashes."""
    for family in sorted({name.split("/")[0] for name in HIERARCHIES}):
        with tarfile.open(FAMILIES / f"{family}.tar.gz") as archive:
            archive.extractall(scratch / family, filter="data")
        expected = json.loads((FAMILIES / f"{family}.expected.json").read_text())
        cases = {case["store_path"]: case for case in expected["cases"]}
        for name in HIERARCHIES:
            of, _, store = name.partition("/")
            if of == family:
                nodes = [node for node in cases[store]["nodes"] if node["type"] == "array"]
                yield name, [(node["path"].strip("/"), node.get("sha256")) for node in nodes]


@contextlib.contextmanager
def files(folder):
    """The files of a folder, served by Python."""

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *_):
            pass

    handler = functools.partial(Quiet, directory=folder)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def compare(program, peers, gdal, scratch):
    hierarchies = dict(unpack(scratch))
    counts = {name: [0, 0] for name in [*peers, "zarr-python on v2", *(["gdal"] if gdal else [])]}
    wrong, copies, hashes = [], [], 0
    with serving(program, scratch) as server, files(scratch) as plain:
        root = f"{server.url}v3/{scratch.name}"
        for name, arrays in hierarchies.items():
            copy = scratch / "copies" / str(len(copies))
            copies.append(copy)
            # Shards stay shards.
            codec = [] if "shard-nested" in name else ["--codec", "zstd"]
            subprocess.run([program, "copy", scratch / name, copy, "--to", "v3", *codec], check=True, capture_output=True)
            tasks = [(peer, reader, f"{root}/{name}", str(copy)) for peer, reader in peers.items()]
            is_folder = (scratch / name / ".zgroup").exists() or (scratch / name / ".zarray").exists()
            if is_folder:
                raw = f"{server.url}{scratch.name}/{name}"
                tasks.append(("zarr-python on v2", zarr_python_v2, raw, str(scratch / name)))
                if gdal:
                    tasks.append(("gdal", gdal, raw, str(scratch / name)))
            for path, expected in arrays:
                for peer, reader, url, local in tasks:
                    here, there = outcome(reader, local, path), outcome(reader, url, path)
                    at = f"{peer}: {name}/{path}"
                    if peer == "gdal" and there.startswith("error") and not here.startswith("error"):
                        # It looks for arrays of coordinates at wrong paths, if its data are behind /vsicurl/.
                        here = outcome(reader, f"{plain}/{name}", path)
                    if here.startswith("error") and there.startswith("error"):
                        counts[peer][1] += 1
                    elif there in (here, expected):
                        counts[peer][0] += 1
                    else:
                        wrong.append(f"{at}: local {here}, served {there}")
                    if peer == "zarr-python" and expected and not there.startswith("error"):
                        hashes += 1
                        if there != expected:
                            wrong.append(f"{at}: {there} is not what its writer stored")
        said = server.said()
        if server.stop() != 0:
            wrong.append("the server did not stop cleanly")
    return counts, hashes, wrong, said


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("--zarrita", default=HERE.parent / "interop/zarrita")
    parser.add_argument("--node", default="node")
    parser.add_argument("--gdal", help="a Python that has GDAL 3.6")
    given = parser.parse_args()
    peers = {
        "zarr-python": zarr_python,
        "tensorstore": with_tensorstore,
        "zarrita.js": Lines(given.node, str(HERE / "zarrita.mjs"), str(given.zarrita)),
        "xarray": with_xarray,
    }
    gdal = Lines(given.gdal, "-s", str(HERE / "gdal_reads.py")) if given.gdal else None
    with tempfile.TemporaryDirectory() as scratch:
        program = os.path.abspath(given.program)
        counts, hashes, wrong, said = compare(program, peers, gdal, Path(scratch).resolve())
    for peer, (equal, unread) in counts.items():
        print(f"{peer}: {equal} arrays of {len(HIERARCHIES)} hierarchies equal, {unread} that it does not read locally either")
    print(f"zarr-python: {hashes} arrays are what their writers stored")
    for line in wrong:
        print(line)
    few = [peer for peer, (equal, _) in counts.items() if equal < 20]
    if wrong or few or not gdal:
        sys.exit(f"{len(wrong)} wrong; too few of {few}; GDAL {'was there' if gdal else 'is missing: --gdal'}\n{said}")


if __name__ == "__main__":
    main()
