"""Data of other formats, written by the programs that have them. HDF5 files, N5 containers, Icechunk repositories and
kerchunk's references are read in place, and their copies are read by zarr-python. TIFF files are named, with exit code 4.
Nothing is created in a file, and what is created in a folder comes with a warning that names the format.

h5py 3.16 and tifffile 2026.3 write files, z5py 3.0.2 and (in its own environment) zarr-python 2.18.7 containers of N5, icechunk 1.1
a repository, kerchunk 0.2.10 references to the HDF5 file.
"""

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path

import numpy as np

warnings.simplefilter("ignore")
DATA = np.arange(12, dtype="<i4").reshape(3, 4)


def hdf5(folder):
    import h5py

    for name, block in (("plain.h5", 0), ("block.h5", 512)):
        with h5py.File(folder / name, "w", userblock_size=block) as file:
            file.create_dataset("g/v", data=DATA, chunks=(2, 2), compression="gzip")
        yield name, "an HDF5 file", "g/v"


def tiff(folder):
    import tifffile

    for name, options in (("little.tif", {}), ("big.tif", {"byteorder": ">"}), ("large.tif", {"bigtiff": True})):
        tifffile.imwrite(folder / name, DATA.astype("u2"), **options)
        yield name, "a TIFF file", None


def icechunk(folder):
    import icechunk
    import zarr

    repository = icechunk.Repository.create(icechunk.local_filesystem_storage(str(folder / "repository")))
    session = repository.writable_session("main")
    zarr.create_array(session.store, name="v", data=DATA)
    session.commit("data")
    yield "repository", "an Icechunk repository", "v"


def kerchunk(folder):
    import h5py
    from kerchunk.hdf import SingleHdf5ToZarr

    with h5py.File(folder / "source.h5", "w") as file:
        file.create_dataset("v", data=DATA, chunks=(2, 2))
    references = SingleHdf5ToZarr(str(folder / "source.h5")).translate()
    (folder / "references.json").write_text(json.dumps(references))
    yield "references.json", "kerchunk", "v"


def n5_z5py(folder):
    import z5py

    with z5py.File(str(folder / "z5py.n5"), mode="w", use_zarr_format=False) as file:
        file.create_dataset("g/v", data=DATA, chunks=(2, 2), compression="gzip")
    yield "z5py.n5", "an N5 container", "g/v"
    yield "z5py.n5/g/v", "an N5 container", ""


def n5_zarr(folder):
    import zarr

    group = zarr.open_group(zarr.N5Store(str(folder / "zarr.n5")), mode="w")
    group.create_dataset("g/v", data=DATA, chunks=(2, 2))
    yield "zarr.n5", "an N5 container", "g/v"
    yield "zarr.n5/g/v", "an N5 container", ""


KINDS = {kind.__name__: kind for kind in (hdf5, tiff, icechunk, kerchunk, n5_z5py, n5_zarr)}


def run(program, *arguments):
    return subprocess.run([program, *arguments], capture_output=True, text=True)


def is_named(program, path, name):
    """What is wrong, if anything, with the answers to verbs on what is not read."""
    for verb in ("info", "tree", "get", "dump"):
        done = run(program, verb, str(path))
        if done.returncode != 4 or name not in done.stderr:
            return f"{verb} ends with {done.returncode}: {done.stderr.strip()[:300]}"
    return None


def is_read(program, path, name, array):
    """What is wrong, if anything, with the elements of an array that is read in place, and with its copies."""
    import zarr

    # The writers of N5 show the fastest axis last, as this option does.
    place = f"n5://axes=reversed::{path}" if name == "an N5 container" else str(path)
    done = run(program, "get", place, "--path", array, "--format", "json")
    if done.returncode or json.loads(done.stdout) != DATA.tolist():
        return f"get ends with {done.returncode}: {done.stderr.strip()[:300]} {done.stdout[:300]}"
    for dialect in ("v2", "v3") if zarr.__version__ >= "3" else ("v2",):
        with tempfile.TemporaryDirectory() as scratch:
            copy = f"{scratch}/copy.zarr"
            done = run(program, "copy", place, copy, "--to", dialect)
            if done.returncode:
                return f"copy ends with {done.returncode}: {done.stderr.strip()[:300]}"
            copied = zarr.open(copy, mode="r")
            copied = (copied[array] if array else copied)[...]
        if not np.array_equal(copied, DATA):
            return f"the copy in {dialect} has {copied.tolist()}"
    return None


def is_guarded(program, path, name):
    """What is wrong, if anything, with the answer to `create` at such a place."""
    if path.is_file():
        done = run(program, "create", str(path), "--shape", "2", "--dtype", "int8")
        return "an array is created in it" if done.returncode == 0 else None
    # In a copy, so that the files below are in no hierarchy of Zarr.
    copy = path.with_name(path.name + "-copy")
    shutil.copytree(path, copy)
    done = run(program, "create", str(copy), "--shape", "2", "--dtype", "int8")
    shutil.rmtree(copy)
    if done.returncode != 0 or f"this is {name}" not in done.stderr:
        return f"create ends with {done.returncode} and does not name it: {done.stderr.strip()[:300]}"
    return None


def check(program, path, name, array):
    """What is wrong, if anything."""
    wrong = is_named(program, path, name) if array is None else is_read(program, path, name, array)
    return wrong or is_guarded(program, path, name)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("program", help="the program `zarr` to be tested")
    parser.add_argument("--kinds", default="hdf5,tiff,icechunk,kerchunk,n5_z5py", help="formats to be written, of those that the environment has")
    arguments = parser.parse_args()
    program = str(Path(arguments.program).resolve())
    right = wrong = 0
    with tempfile.TemporaryDirectory() as scratch:
        for kind in arguments.kinds.split(","):
            folder = Path(scratch, kind)
            folder.mkdir()
            for path, name, array in KINDS[kind](folder):
                difference = check(program, folder / path, name, array)
                if difference:
                    wrong += 1
                    print(f"{path}: {difference}")
                else:
                    right += 1
    print(f"other formats: {right} equal, {wrong} wrong")
    sys.exit(1 if wrong else 0)


main()
