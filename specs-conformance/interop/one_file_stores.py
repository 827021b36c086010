"""Zip archives and LMDB files, with zarr-python 2.18.7 and 3.1.6: each opens what another wrote, and goes on with it.

Run by the Python that has the one or the other.
"""

import argparse
import sys
import tempfile
import warnings
from pathlib import Path

import numpy as np
import zarr

from common import Program, Refused

DATA = np.arange(35, dtype="<i4").reshape(5, 7)
VERSION = zarr.__version__

warnings.simplefilter("ignore")


def zip_store(path, mode):
    return (zarr.storage.ZipStore if VERSION[0] == "3" else zarr.ZipStore)(str(path), mode=mode)


def stores():
    """Names, how to open them, and which formats."""
    if VERSION[0] == "3":
        yield "x.zip", zip_store, ("v2", "v3")
        return
    yield "x.zip", zip_store, ("v2",)
    yield "x.lmdb", lambda path, mode: zarr.LMDBStore(str(path), map_size=1 << 20), ("v2",)
    yield "x.mdb", lambda path, mode: zarr.LMDBStore(str(path), map_size=1 << 20, subdir=False), ("v2",)


def options(dialect):
    return {"zarr_format": int(dialect[1])} if VERSION[0] == "3" else {}


def write(path, opener, dialect):
    """A group with an attribute, and an array in it, in two steps."""
    store = opener(path, "w")
    group = zarr.open_group(store, mode="w", **options(dialect))
    group.attrs["title"] = "sea"
    make = group.create_array if VERSION[0] == "3" else group.create_dataset
    make("a", shape=DATA.shape, chunks=(2, 3), dtype=DATA.dtype)[...] = DATA
    store.close()


def check_ours(program, path, opener, dialect):
    """They read what we write, and we what they add to it."""
    if path.suffix == ".mdb":
        path.touch()
    program.run("create", path, "--format", dialect, "--group")
    program.run("attrs", path, "--set", 'title="sea"')
    program.run("create", path, "--path", "/a", "--format", dialect, "--shape=5,7", "--chunks=2,3", "--dtype", "<i4")
    program.run("put", path, "--path", "/a", "--format", "raw", data=DATA.tobytes())
    store = opener(path, "a")
    group = zarr.open_group(store, mode="a", **options(dialect))
    assert group.attrs["title"] == "sea"
    np.testing.assert_array_equal(group["a"][...], DATA)
    make = group.create_array if VERSION[0] == "3" else group.create_dataset
    make("b", shape=DATA.shape, chunks=(2, 3), dtype=DATA.dtype)[...] = -DATA
    store.close()
    for name, data in (("/a", DATA), ("/b", -DATA)):
        assert program.run("get", path, "--path", name, "--format", "raw") == data.astype("<i4").tobytes(), name


def check_theirs(program, path, opener, dialect):
    """We read what they write, and they what we change of it."""
    write(path, opener, dialect)
    assert program.run("get", path, "--path", "/a", "--format", "raw") == DATA.tobytes()
    program.run("put", path, "--path", "/a", "--region", "1:3,2:5", "--format", "raw", data=np.zeros((2, 3), "<i4").tobytes())
    store = opener(path, "r")
    found = zarr.open_group(store, mode="r", **options(dialect))["a"][...]
    store.close()
    expected = DATA.copy()
    expected[1:3, 2:5] = 0
    np.testing.assert_array_equal(found, expected)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("program", help="the program `zarr` to be tested")
    program = Program(str(Path(parser.parse_args().program).resolve()))
    equal = wrong = 0
    for name, opener, dialects in stores():
        for dialect in dialects:
            for check in (check_ours, check_theirs):
                with tempfile.TemporaryDirectory() as scratch:
                    try:
                        check(program, Path(scratch) / name, opener, dialect)
                        equal += 1
                    except (Refused, AssertionError) as error:
                        wrong += 1
                        print(f"{check.__name__} {name} {dialect}: {error}")
    print(f"zarr-python {VERSION}, one file stores: {equal} equal, {wrong} wrong")
    sys.exit(1 if wrong else 0)


main()
