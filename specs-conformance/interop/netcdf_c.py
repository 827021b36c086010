"""NetCDF datasets, with netcdf-c 4.10.1 in PyPI's netCDF4 1.7.5.1.post1, and xarray 2026.9: each opens what another wrote.

netcdf-c writes a dataset, in NCZarr and in plain Zarr of v2; the program copies it, and netcdf-c reads the copy: dimensions, types, typed
attributes, values, chunks, filters and byte orders are equal. So the program has read what netcdf-c wrote, and netcdf-c what the program wrote (N-003,
N-005, N-010 to N-012, N-020, N-040 to N-043, N-060, N-063, N-070 to N-072, N-096, N-112). xarray opens the copies in v2 and v3 with the dimensions that
they have.

netcdf-c prints floats of attributes and fill values in six digits, and reads a text attribute such as "42" of its own as "4": what it
wrote so is not asked of it (N-044, N-045). zarr-python 3 refuses `>S1`, its type of characters in v2, so xarray is given none. It has neither zip archives nor v3
in this build, and the Python around it begins a dataset anew that it is to append to.
"""

import argparse
import json
import sys
import tempfile
import warnings
from pathlib import Path

import netCDF4
import numpy as np
import xarray

from common import Program, Refused

warnings.simplefilter("ignore")

NUMBERS = ["i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f4", "f8"]


def url(path, mode="nczarr"):
    return f"file://{path}#mode={mode},file"


def opened(path, access="r", mode="nczarr"):
    dataset = netCDF4.Dataset(url(path, mode), access)
    dataset.set_auto_maskandscale(False)
    return dataset


def write(path, mode="nczarr", characters=True):
    """A dataset with everything that this build of netcdf-c has."""
    dataset = opened(path, "w", mode)
    lengths = {"time": None, "run": None, "lat": 2, "lon": 3, "n": 4}
    for name, length in lengths.items():
        dataset.createDimension(name, length)
    dataset.setncattr("title", "dämo")
    dataset.setncattr("level", np.int8(7))
    dataset.setncattr("largest", np.uint64(2**64 - 1))
    dataset.setncattr("least", np.int64(-(2**63)))
    dataset.setncattr("shorts", np.array([-5, 7], "i2"))
    dataset.setncattr("half", np.array([0.5, np.nan, np.inf], "f4"))
    dataset.setncattr_string("tags", ["a", "bü"])
    dataset.setncattr("history", '{"step": [1,2]}')
    for name in NUMBERS:
        kind = np.dtype(name)
        variable = dataset.createVariable(f"v_{name}", kind, ("lat", "n"))
        values = np.arange(8).reshape(2, 4).astype(kind)
        values[1, 3] = np.iinfo(kind).max if kind.kind in "iu" else -np.inf
        variable[...] = values
        variable.setncattr("twice", np.array([1, 2], kind))
        big = dataset.createVariable(f"b_{name}", kind, ("n",), endian="big" if kind.itemsize > 1 else "native")
        big[...] = values[0]
    filtered = {
        "zlib": {"zlib": True, "complevel": 4, "shuffle": True},
        "plain_zlib": {"zlib": True, "complevel": 1, "shuffle": False},
        "fletcher": {"fletcher32": True},
        "all": {"zlib": True, "complevel": 9, "shuffle": True, "fletcher32": True},
    }
    for name, options in filtered.items():
        variable = dataset.createVariable(name, "f4", ("time", "lat", "lon"), chunksizes=(2, 2, 2), fill_value=-9.0, **options)
        variable[0:3] = np.arange(18, dtype="f4").reshape(3, 2, 3) / 4
        variable.units = "K"
    # Fewer records than the dimension has; and a second dimension that grows.
    dataset.createVariable("late", "f8", ("time",))[0:1] = [1.5]
    dataset.createVariable("runs", "i4", ("run", "time"))[0:2, 0:2] = [[1, 2], [3, 4]]
    dataset.createVariable("scalar", "i4")[...] = 42
    dataset.createVariable("empty", "u8", ("n",))
    if mode == "nczarr":
        if characters:
            dataset.createVariable("code", "S1", ("lat", "lon"))[...] = np.array([[b"a", b"b", b"c"], [b"d", b"e", b""]])
        label = dataset.createVariable("label", str, ("lat",))
        label[0], label[1] = "north", "süd"
        inner = dataset.createGroup("outer").createGroup("inner")
        inner.createDimension("station", 2)
        inner.setncattr("kind", "sub")
        inner.createVariable("id", "u8", ("station", "lat"))[...] = [[1, 2], [3, 2**64 - 1]]
    dataset.close()


def same(place, found, expected):
    found, expected = np.asarray(found), np.asarray(expected)
    assert found.dtype.newbyteorder("=") == expected.dtype.newbyteorder("="), f"{place}: {found.dtype}, {expected.dtype}"
    assert found.dtype.kind in "OUS" or found.dtype.byteorder == expected.dtype.byteorder, f"{place}: byte order"
    np.testing.assert_array_equal(found, expected, place)


def compare(found, expected, place="", plain=False):
    """Two groups as netcdf-c sees them; in plain Zarr one axis of a scalar and the fill value may differ."""
    sizes = lambda group: {name: (len(d), d.isunlimited()) for name, d in group.dimensions.items()}
    if not plain:
        assert sizes(found) == sizes(expected), f"{place}: {sizes(found)}, {sizes(expected)}"
    attributes(found, expected, place, plain)
    assert list(found.variables) == list(expected.variables), f"{place}: {list(found.variables)}"
    for name, theirs in expected.variables.items():
        ours, here = found.variables[name], f"{place}/{name}"
        if plain and name == "scalar":
            continue
        assert ours.dtype == theirs.dtype and ours.dimensions == theirs.dimensions, f"{here}: {ours.dtype}{ours.dimensions}"
        # One byte has no order; the other library says there is one.
        if theirs.dtype != str and theirs.dtype.itemsize > 1:
            assert ours.endian() == theirs.endian(), f"{here}: {ours.endian()}"
        assert ours.chunking() == theirs.chunking() and ours.filters() == theirs.filters(), f"{here}: {ours.filters()}"
        same(here, ours[...], theirs[...])
        attributes(ours, theirs, here, plain)
    assert list(found.groups) == list(expected.groups), place
    for name in expected.groups:
        compare(found.groups[name], expected.groups[name], f"{place}/{name}", plain)


def attributes(found, expected, place, plain):
    names = [name for name in found.ncattrs() if not (plain and name == "_FillValue")]
    assert names == [name for name in expected.ncattrs() if not (plain and name == "_FillValue")], f"{place}: {names}"
    for name in names:
        ours, theirs = found.getncattr(name), expected.getncattr(name)
        assert type(ours) is type(theirs), f"{place}:{name}: {type(ours)}, {type(theirs)}"
        same(f"{place}:{name}", ours, theirs)


def check_nczarr(program, folder):
    """It reads the copy of what it wrote."""
    theirs, ours = folder / "theirs", folder / "ours"
    write(theirs)
    program.run("copy", theirs, ours, "--to", "nczarr-v2", "--strict")
    with opened(ours) as found, opened(theirs) as expected:
        compare(found, expected)


def check_modes(program, folder):
    """A URL as netCDF's users type it; the same dataset by way of v3."""
    theirs, far, near = folder / "theirs", folder / "far", folder / "near"
    write(theirs)
    program.run("copy", url(theirs), f"file://{far}#mode=nczarr,file", "--to", "nczarr-v3", "--strict")
    program.run("copy", far, near, "--to", "nczarr-v2", "--strict")
    with opened(near) as found, opened(theirs) as expected:
        compare(found, expected)


def check_pure(program, folder):
    """Plain Zarr with the dimensions that xarray names."""
    theirs, ours = folder / "theirs", folder / "ours"
    write(theirs, "zarr")
    program.run("copy", theirs, ours, "--to", "zarr-v2")
    with opened(ours, mode="zarr") as found, opened(theirs, mode="zarr") as expected:
        compare(found, expected, plain=True)


def check_view(program, folder):
    """What the program says of it."""
    theirs = folder / "theirs"
    write(theirs)
    said = lambda *path: json.loads(program.run("info", theirs, *path, "--json"))["netcdf"]
    assert said()["profile"] == "nczarr"
    assert {"name": "time", "length": 3, "unlimited": True} in said()["dimensions"]
    inner = said("--path", "/outer/inner/id")
    assert (inner["type"], inner["dimensions"]) == ("uint64", ["/outer/inner/station", "/lat"]), inner
    assert b"(time, lat, lon)" in program.run("tree", theirs)


def check_xarray(program, folder):
    """xarray finds the dimensions and the elements of the copies."""
    theirs = folder / "theirs"
    write(theirs, characters=False)
    for to in ("nczarr-v2", "nczarr-v3", "zarr-v2", "zarr-v3"):
        ours = folder / to
        program.run("copy", theirs, ours, "--to", to)
        dataset = xarray.open_zarr(ours, consolidated=False, mask_and_scale=False, decode_times=False, chunks=None)
        assert dict(dataset.sizes) | {"time": 3, "lat": 2, "lon": 3, "n": 4} == dict(dataset.sizes), f"{to}: {dataset.sizes}"
        with opened(theirs) as expected:
            for name in ("zlib", "all", "v_f8", "b_i4", "late"):
                variable = expected.variables[name]
                assert dataset[name].dims == variable.dimensions, f"{to} {name}: {dataset[name].dims}"
                np.testing.assert_array_equal(dataset[name].values, variable[...], f"{to} {name}")
        if to.endswith("v3"):
            assert dataset["label"].values.tolist() == ["north", "süd"], to


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("program", help="the program `zarr` to be tested")
    program = Program(str(Path(parser.parse_args().program).resolve()))
    equal = wrong = 0
    for check in (check_nczarr, check_modes, check_pure, check_view, check_xarray):
        with tempfile.TemporaryDirectory() as scratch:
            try:
                check(program, Path(scratch))
                equal += 1
            except (Refused, AssertionError, OSError, RuntimeError, KeyError, ValueError) as error:
                wrong += 1
                print(f"{check.__name__}: {type(error).__name__}: {error}")
    print(f"netcdf-c {netCDF4.__netcdf4libversion__}: {equal} equal, {wrong} wrong")
    sys.exit(1 if wrong else 0)


main()
