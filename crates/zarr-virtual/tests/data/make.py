"""Makes the files that the tests read, and what other implementations read from them.

    python3 -m venv a; a/bin/pip install netCDF4==1.7.5 kerchunk==0.2.10 fsspec xarray z5py scipy h5py
    a/bin/python make.py

The N5 container of zarr-python comes from `make_n5.py`, which needs zarr 2.18. Versions that were used are in `versions.txt`.
"""

import importlib.metadata
import json
from pathlib import Path

import netCDF4
import numpy as np

HERE = Path(__file__).parent


def values(array):
    """The elements in C order, least significant byte first, in hexadecimal digits."""
    return np.ascontiguousarray(array).astype(array.dtype.newbyteorder("<")).tobytes().hex()


def describe(path):
    """What netCDF4 reads from a file, without masks and scales."""
    with netCDF4.Dataset(path) as file:
        file.set_auto_maskandscale(False)
        file.set_auto_chartostring(False)
        return {
            "attributes": {name: attribute(file.getncattr(name)) for name in file.ncattrs()},
            "variables": {
                name: {
                    "dtype": variable.dtype.str.lstrip("<>|="),
                    "shape": list(variable.shape),
                    "dimensions": list(variable.dimensions),
                    "values": values(np.asarray(variable[...])),
                }
                for name, variable in file.variables.items()
            },
        }


def attribute(value):
    return value if isinstance(value, str) else np.asarray(value).tolist()


def fill(variable, shape):
    dtype = variable.dtype
    count = int(np.prod(shape))
    if dtype.kind == "S":
        variable[...] = np.frombuffer(bytes(97 + i % 26 for i in range(count)), "S1").reshape(shape)
    elif dtype.kind == "f":
        variable[...] = (np.arange(count) / 7 - 3).astype(dtype).reshape(shape)
    else:
        info = np.iinfo(dtype)
        numbers = [info.min + 7 * i if i % 2 else info.max - 3 * i for i in range(count)]
        variable[...] = np.array([max(info.min, min(info.max, n)) for n in numbers], dtype).reshape(shape)


def netcdf3():
    formats = {"classic": "NETCDF3_CLASSIC", "offset64": "NETCDF3_64BIT_OFFSET", "cdf5": "NETCDF3_64BIT_DATA"}
    for name, kind in formats.items():
        with netCDF4.Dataset(HERE / f"{name}.nc", "w", format=kind) as file:
            file.title = "Zeit und Größe"
            file.number = np.int16(-5)
            file.numbers = np.array([1.5, -2.25, 1e300])
            file.createDimension("time", None)
            file.createDimension("x", 3)
            file.createDimension("y", 5)
            types = ["i1", "S1", "i2", "i4", "f4", "f8"]
            if name == "cdf5":
                types += ["u1", "u2", "u4", "i8", "u8"]
            for dtype in types:
                fixed = file.createVariable(f"fixed_{dtype}", dtype, ("y", "x"))
                fixed.units = "m"
                fill(fixed, (5, 3))
                record = file.createVariable(f"record_{dtype}", dtype, ("time", "x"))
                fill(record, (4, 3))
            masked = file.createVariable("masked", "f4", ("x",), fill_value=np.float32(-999.5))
            masked.missing_value = np.float32("nan")
            masked[...] = np.array([1, -999.5, 3], "f4")
            scalar = file.createVariable("scalar", "i4", ())
            scalar[...] = -12345
            file.createVariable("unwritten", "i2", ("time",))
        with netCDF4.Dataset(HERE / f"alone_{name}.nc", "w", format=kind) as file:
            file.createDimension("time", None)
            file.createDimension("x", 3)
            alone = file.createVariable("alone", "i1", ("time", "x"))
            fill(alone, (4, 3))
    names = [path.name for path in sorted(HERE.glob("*.nc"))]
    (HERE / "netcdf3.json").write_text(json.dumps({name: describe(HERE / name) for name in names}))


def kerchunk():
    """References of kerchunk to the classic file, beside it, in version 1."""
    from kerchunk.netCDF3 import NetCDF3ToZarr

    refs = NetCDF3ToZarr(str(HERE / "classic.nc"), inline_threshold=20).translate()
    text = json.dumps(refs).replace(json.dumps(str(HERE / "classic.nc"))[1:-1], "classic.nc")
    (HERE / "kerchunk.json").write_text(text)


def versions():
    names = ["netCDF4", "kerchunk", "fsspec", "numpy", "z5py"]
    lines = [f"{name} {importlib.metadata.version(name)}" for name in names]
    (HERE / "versions.txt").write_text("\n".join(lines) + f"\nnetcdf-c {netCDF4.__netcdf4libversion__}\n")


def z5():
    """A container of z5py, whose axes are shown z, y, x."""
    import z5py

    expected = {}
    file = z5py.File(str(HERE / "z5.n5"), "w", use_zarr_format=False)
    for compression in ["raw", "gzip", "bzip2", "zlib", "blosc", "lz4", "xz", "zstd"]:
        data = (np.arange(2 * 3 * 5).reshape(2, 3, 5) * 1001 - 9).astype("int32")
        try:
            dataset = file.create_dataset(f"g/{compression}", shape=data.shape, chunks=(2, 2, 3), dtype="int32", compression=compression)
        except Exception as error:  # the wheel lacks the codec
            print(compression, error)
            continue
        dataset[...] = data
        dataset.attrs["units"] = "nm"
        expected[f"g/{compression}"] = {"dtype": "i4", "shape": list(data.shape), "values": values(data)}
    (HERE / "z5.json").write_text(json.dumps(expected))


if __name__ == "__main__":
    netcdf3()
    kerchunk()
    z5()
    versions()
