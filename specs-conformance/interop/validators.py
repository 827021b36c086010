"""Prints which damages other readers find, beside `zarr validate`: `validators.py ZARR TENSORSTORE_PYTHON [ZARRS_VALIDATE]`.

Runs in the environment zarr_python_3; TENSORSTORE_PYTHON is the Python of the environment tensorstore_py, ZARR the program.
No other implementation has a validator of stores; readers are asked for every element of every array. ZARRS_VALIDATE is the program
of the crate zarrs_tools (`cargo install zarrs_tools --no-default-features --features validate`), which compares two arrays: it is given the
intact one, too, which others do not need.
"""

import pathlib
import shutil
import subprocess
import sys
import tempfile

READ_ZARR = """
import sys, zarr
group = zarr.open_group(sys.argv[1], mode="r")
for name, array in group.arrays():
    array[...]
"""
READ_TENSORSTORE = """
import sys, tensorstore as ts
spec = {"driver": "zarr3", "kvstore": {"driver": "file", "path": sys.argv[1] + "/a/"}}
ts.open(spec, read=True, open=True).result().read().result()
"""


def write(path):
    import numpy
    import zarr

    group = zarr.create_group(path)
    array = group.create_array("a", shape=(8, 8), chunks=(4, 4), dtype="int32", compressors=None)
    array[...] = numpy.arange(1, 65).reshape(8, 8)
    array = group.create_array("g", shape=(8, 8), chunks=(4, 4), dtype="int32", compressors=zarr.codecs.GzipCodec())
    array[...] = numpy.arange(1, 65).reshape(8, 8)


def cut(path):
    chunk = path / "a/c/0/1"
    chunk.write_bytes(chunk.read_bytes()[:-3])


def missing(path):
    (path / "a/c/0/1").unlink()


def stray(path):
    (path / "a/c/9").mkdir()
    shutil.copy(path / "a/c/0/1", path / "a/c/9/9")


def outcome(command):
    """Whether a command found something wrong."""
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return "found" if done.returncode else "not found"


def main():
    program, tensorstore = sys.argv[1:3]
    readers = {
        "`zarr validate --expect-complete`": [program, "validate", "--expect-complete"],
        "zarr-python, reading all": [sys.executable, "-W", "ignore", "-c", READ_ZARR],
        "tensorstore, reading all": [tensorstore, "-c", READ_TENSORSTORE],
    }
    if len(sys.argv) > 3:
        readers["zarrs_validate, beside the intact array"] = [*sys.argv[3:]]
    print("| damage |", " | ".join(readers), "|")
    print("| --- |", " | ".join("---" for _ in readers), "|")
    damages = {"none": lambda path: None, "a chunk cut short": cut, "a chunk missing": missing, "a stray chunk outside the grid": stray}
    for what, damage in damages.items():
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "data.zarr"
            write(path)
            whole = path.with_name("whole.zarr")
            shutil.copytree(path, whole)
            damage(path)
            found = []
            for name, command in readers.items():
                places = [whole / "a", path / "a"] if name.startswith("zarrs") else [path]
                found.append(outcome([*command, *map(str, places)]))
            print(f"| {what} |", " | ".join(found), "|")


main()
