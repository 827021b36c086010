"""The community's cross-implementation check, on six arrays like its own, which zarr-python 3.1.6 writes.

It runs `$ZARR_CLI --array_path=DIR`, which must end with status 0; our `$ZARR_CLI` is `community.sh`. The arrays of the check have no licence to be
copied here. We ask for more than it does: one element per line, in JSON and in C order.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numcodecs
import numpy as np
import zarr
from zarr.codecs import ZstdCodec

WRAPPER = Path(__file__).with_name("community.sh")


def partly_stored(dtype):
    """Four chunks of twelve, none of the others stored."""
    data = np.zeros((30, 20, 10), dtype)
    data[:10, :, :5] = np.arange(1000).reshape(10, 20, 5) / 8
    data[20:, 10:, :] = -np.arange(1000).reshape(10, 10, 10)
    return data


# name -> elements, and how they are stored
CASES = {
    "int64": (
        np.arange(1, 17, dtype="<i4").reshape(4, 4, order="F"),
        {"zarr_format": 2, "chunks": (2, 2), "order": "F", "compressors": numcodecs.Zlib(6)},
    ),
    "bool": (np.array([[True, False], [True, False]]), {"zarr_format": 2, "chunks": (2, 2), "compressors": numcodecs.Zstd(0)}),
    "int32_v3": (np.arange(4, dtype="<i4").reshape(2, 2), {"zarr_format": 3, "chunks": (2, 2), "compressors": ZstdCodec(level=0)}),
}
for name in ("int32", "float32", "float64"):
    CASES[name] = partly_stored(name), {"zarr_format": 2, "chunks": (10, 10, 5), "compressors": None}


def check(name, folder):
    """What is wrong, if anything."""
    data, options = CASES[name]
    array = zarr.create_array(str(folder), shape=data.shape, dtype=data.dtype, fill_value=data.dtype.type(), **options)
    array[...] = data
    done = subprocess.run(["sh", WRAPPER, f"--array_path={folder}"], capture_output=True, text=True)
    if done.returncode:
        return f"status {done.returncode}: {done.stderr.strip()}"
    lines = done.stdout.splitlines()
    if len(lines) != data.size:
        return f"{len(lines)} lines, expected {data.size}"
    found = np.array([json.loads(line) for line in lines], data.dtype)
    return None if found.tobytes() == data.tobytes() else "other elements"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("program", help="the program to be tested, called `zarr`")
    program = Path(parser.parse_args().program).resolve()
    os.environ["PATH"] = f"{program.parent}{os.pathsep}{os.environ['PATH']}"
    equal = wrong = 0
    # What is documented is what runs.
    if WRAPPER.read_text() not in (WRAPPER.parent.parent / "README.md").read_text():
        wrong += 1
        print(f"README.md has other lines than {WRAPPER.name}")
    with tempfile.TemporaryDirectory() as scratch:
        for name in CASES:
            difference = check(name, Path(scratch) / f"{name}.zarr")
            if difference:
                wrong += 1
                print(f"{name}: {difference}")
            else:
                equal += 1
    print(f"the community's check: {equal} equal, {wrong} wrong")
    sys.exit(1 if wrong else 0)


main()
