"""Makes files that are parts of one dataset, and what netCDF4-python reads from them, one after the other along `time`.

    python3 -m venv a; a/bin/pip install netCDF4==1.7.5 numpy
    a/bin/python make_joined.py

The versions that were used are in `versions.txt`.
"""

import json
from pathlib import Path

import netCDF4
import numpy as np

HERE = Path(__file__).parent / "joined"
# The months have other lengths.
LENGTHS = (2, 4, 3)


def netcdf4(path, begin, length):
    with netCDF4.Dataset(path, "w") as file:
        file.title = path.name
        file.createDimension("time", None)
        file.createDimension("lat", 3)
        file.createDimension("lon", 4)
        file.createDimension("nv", 2)
        time = file.createVariable("time", "f8", ("time",))
        time.units = "days since 2001-01-01"
        days = begin + np.arange(length)
        time[:] = days
        bounds = file.createVariable("time_bnds", "f8", ("time", "nv"))
        bounds[:] = np.stack([days - 0.5, days + 0.5], axis=1)
        for name, step, count in (("lat", 30, 3), ("lon", 90, 4)):
            variable = file.createVariable(name, "f4", (name,))
            variable[:] = np.arange(count) * step
        shape = (length, 3, 4)
        numbers = (begin * 12 + np.arange(length * 12)).reshape(shape)
        options = {"zlib": True, "complevel": 4, "shuffle": True, "chunksizes": (1, 3, 4)}
        temp = file.createVariable("temp", "i2", ("time", "lat", "lon"), fill_value=-999, **options)
        temp.scale_factor = 0.5
        temp.set_auto_maskandscale(False)
        # The second of the file is never written.
        temp[0] = numbers[0]
        temp[2:] = numbers[2:]
        height = file.createVariable("height", "f4", ("lat", "lon"), zlib=True)
        height[:] = np.arange(12).reshape(3, 4) / 8
        file.createVariable("crs", "i4", ())[...] = 7
        names = file.createVariable("station_name", str, ("lat",))
        names[:] = np.array(["Kiruna", "Åre", ""], dtype=object)
        notes = file.createVariable("note", str, ("time",))
        notes[:] = np.array([f"day {day}" for day in days], dtype=object)
        ocean = file.createGroup("ocean")
        salt = ocean.createVariable("salt", "f8", ("lat", "time"), chunksizes=(3, 1))
        salt[:] = numbers[:, :, 0].T / 7


def netcdf3(path, begin, length):
    with netCDF4.Dataset(path, "w", format="NETCDF3_CLASSIC") as file:
        file.createDimension("time", None)
        file.createDimension("x", 300)
        time = file.createVariable("time", "i4", ("time",))
        time.units = "hours since 2001-01-01"
        time[:] = begin + np.arange(length)
        file.createVariable("x", "f8", ("x",))[:] = np.arange(300) / 3
        values = file.createVariable("v", "f4", ("time", "x"))
        values[:] = (begin * 300 + np.arange(length * 300)).reshape(length, 300)


def hexadecimal(array):
    """The elements in C order, least significant byte first."""
    return np.ascontiguousarray(array).astype(array.dtype.newbyteorder("<")).tobytes().hex()


def variables(group, path=""):
    found = {f"{path}{name}": variable for name, variable in group.variables.items()}
    for name, inner in group.groups.items():
        found |= variables(inner, f"{path}{name}/")
    return found


def describe(paths):
    """What the files have together."""
    files = [netCDF4.Dataset(path) for path in paths]
    for file in files:
        file.set_auto_maskandscale(False)
    described = {}
    for path, first in variables(files[0]).items():
        parts = [np.asarray(variables(file)[path][...]) for file in files]
        joined = np.concatenate(parts, first.dimensions.index("time")) if "time" in first.dimensions else parts[0]
        described[path] = {"shape": list(joined.shape)}
        if joined.dtype == object:
            described[path]["texts"] = joined.tolist()
        else:
            described[path]["values"] = hexadecimal(joined)
    for file in files:
        file.close()
    return described


def main():
    HERE.mkdir(exist_ok=True)
    described = {}
    for kind, write in (("nc4", netcdf4), ("nc3", netcdf3)):
        paths = [HERE / f"{kind}-{number}.nc" for number in range(1, 4)]
        begin = 0
        for path, length in zip(paths, LENGTHS, strict=True):
            write(path, begin, length)
            begin += length
        described[kind] = describe(paths)
    (HERE / "expected.json").write_text(json.dumps(described, indent=1, ensure_ascii=False) + "\n")


main()
