"""Makes the netCDF files of this folder with netCDF4-python 1.7: what their documents in Zarr do not say."""

import netCDF4
import numpy as np

for name, kind in (("4.nc", "NETCDF4"), ("3.nc", "NETCDF3_CLASSIC")):
    with netCDF4.Dataset(name, "w", format=kind) as file:
        # Neither dimension has a variable.
        file.createDimension("t", None)
        file.createDimension("c", 3)
        file.level = np.int16(7)
        x = file.createVariable("x", "f4", ("t",))
        x[:] = [1, 2]
        x.valid_min = np.float32(0.1)
        x.flag = np.int8(3)
        x.missing_value = np.float32("nan")
        x.units = "m"
        names = file.createVariable("name", "S1", ("t", "c"))
        names.set_auto_chartostring(False)
        names[:] = np.array([b"abc", b"de"], "S3").view("S1").reshape(2, 3)

for name, kind in (("unused-4.nc", "NETCDF4"), ("unused-3.nc", "NETCDF3_CLASSIC")):
    with netCDF4.Dataset(name, "w", format=kind) as file:
        # No variable has `records` or `spare`, and only one of a group below has `n`.
        file.createDimension("x", 3)
        file.createDimension("spare", 2)
        file.createDimension("records", None)
        file.createVariable("x", "i4", ("x",))[:] = [1, 2, 3]
        if kind == "NETCDF4":
            file.createDimension("n", 5)
            group = file.createGroup("g")
            group.createDimension("inner", 4)
            group.createVariable("v", "i4", ("n",))[:] = [1, 2, 3, 4, 5]
