"""`zarr refs` writes references to HDF5 files, joined along a dimension; fsspec 2026.9 and zarr-python 3.1 read them.

The files are h5py's, with dimension scales as netCDF-4 has them: deflate, shuffle, Fletcher-32, no compression, strings, chunks that are
not stored. What is read is what h5py reads from the files, one after the other.
"""

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

import fsspec
import h5py
import numpy as np
import zarr
from zarr.storage import FsspecStore

LENGTHS = (2, 4, 3)
CHUNKED = {
    "plain": {},
    "deflate": {"compression": "gzip", "shuffle": True},
    "checked": {"compression": "gzip", "fletcher32": True},
}


def write(path, begin, length):
    with h5py.File(path, "w") as file:
        time = file.create_dataset("time", data=begin + np.arange(length, dtype="f8"), maxshape=(None,), chunks=(512,))
        time.attrs["units"] = "days since 2001-01-01"
        file.create_dataset("x", data=np.arange(5, dtype="f4"))
        group = file.create_group("group")
        datasets = []
        for name, options in CHUNKED.items():
            numbers = np.arange(begin * 5, (begin + length) * 5).reshape(length, 5)
            datasets.append(group.create_dataset(name, data=numbers.astype(">i4"), chunks=(1, 3), **options))
        sparse = group.create_dataset("sparse", (length, 5), "i2", chunks=(1, 5), fillvalue=-7)
        sparse[0] = begin
        datasets.append(sparse)
        datasets.append(file.create_dataset("contiguous", data=np.full((length, 5), begin / 7)))
        for name in ("time", "x"):
            file[name].make_scale(name)
        file.create_dataset("mask", data=np.array([True, False, True, True, False]))
        file["mask"].dims[0].attach_scale(file["x"])
        for dataset in datasets:
            dataset.dims[0].attach_scale(file["time"])
            dataset.dims[1].attach_scale(file["x"])


def expected(paths):
    """Path of an array -> what h5py reads."""
    files = [h5py.File(path) for path in paths]
    arrays = ["time", "x", "mask", "contiguous", "group/sparse", *(f"group/{name}" for name in CHUNKED)]
    joined = {}
    for array in arrays:
        parts = [file[array][...] for file in files]
        joined[array] = parts[0] if array in ("x", "mask") else np.concatenate(parts)
    return joined


def differences(references, arrays):
    """What differs, and in which array."""
    filesystem = fsspec.filesystem("reference", fo=str(references), remote_protocol="file", asynchronous=True)
    group = zarr.open_group(FsspecStore(filesystem, read_only=True), mode="r", zarr_format=3)
    for path, due in arrays.items():
        found = group[path][...]
        if found.shape != due.shape or not np.array_equal(found, due):
            yield f"{path}: {found.tolist()}, expected {due.tolist()}"
    # Of groups in groups, zarr-python 3.1 lists nothing through fsspec.
    names = {path.split("/")[0] for path in arrays}
    if set(group.keys()) != names:
        yield f"members {sorted(group.keys())}"
    if group["time"].attrs["units"] != "days since 2001-01-01":
        yield "the units of time"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("program", help="the program `zarr` to be tested")
    program = str(Path(parser.parse_args().program).resolve())
    equal = wrong = 0
    with tempfile.TemporaryDirectory() as scratch:
        paths, begin = [], 0
        for length in LENGTHS:
            paths.append(Path(scratch, f"{begin}.h5"))
            write(paths[-1], begin, length)
            begin += length
        for inline in ("0", "500"):
            references = Path(scratch, f"inline-{inline}.json")
            done = subprocess.run([program, "refs", *paths, "-o", references, "--inline", inline], capture_output=True, text=True)
            if done.returncode:
                print(f"refs ends with {done.returncode}: {done.stderr.strip()[:300]}")
                wrong += 1
                continue
            arrays = expected(paths)
            found = list(differences(references, arrays))
            for difference in found:
                print(f"--inline {inline}: {difference}")
            wrong += len(found)
            equal += len(arrays) - len(found)
    print(f"references: {equal} equal, {wrong} wrong")
    sys.exit(1 if wrong else 0)


main()
