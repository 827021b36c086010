"""Lets netCDF4-python, and xarray with `engine="netcdf4"`, open Zarr data in this process.

netcdf-c 4.10, in netCDF4 from 1.7.5 on, loads the plug-in by itself if `python -m zarrkit netcdf-plugin --install` has told it so; older releases, from 4.9.0 on, take
it from a program:

    >>> import zarrkit.netcdf
    >>> zarrkit.netcdf.register()
    >>> netCDF4.Dataset("data.zarr/zarr.json")
"""

from __future__ import annotations

import ctypes
import os
import sys
from pathlib import Path

__all__ = ["own_library", "register"]

# netCDF's slots 0 and 1, the only ones that 4.9.0 has, and what files of Zarr's begin with: documents, archives.
_SLOTS = [(0x40, "zarr_netcdf_udf0", b"{"), (0x80, "zarr_netcdf_udf1", b"PK")]

_NAMES = {"win32": "zarr_netcdf.dll", "darwin": "libzarr_netcdf.dylib"}


def own_library() -> Path | None:
    """The shared library of this package: wheels that are built from the source distribution alone have none."""
    found = Path(__file__).with_name(_NAMES.get(sys.platform, "libzarr_netcdf.so"))
    return found if found.is_file() else None


def register(library: str | os.PathLike[str] | None = None) -> None:
    """Registers the plug-in with the netCDF library of the package `netCDF4`.

    It takes two of netCDF's slots for plug-ins, 0 and 1. Calling it again changes nothing.

    Args:
        library: The shared library of the plug-in. By default the one that `ZARR_NETCDF_LIBRARY` names, or that of this package.

    Raises:
        ImportError: The package `netCDF4` is not installed.
        FileNotFoundError: There is no such library.
        OSError: The library cannot be loaded, or netCDF refuses it: it must be of release 4.9.0 or later.
    """
    named = (os.environ.get("ZARR_NETCDF_LIBRARY") or own_library()) if library is None else os.fspath(library)
    if not named:
        raise FileNotFoundError("this build of zarrkit has no plug-in; give the path of its library, or set ZARR_NETCDF_LIBRARY")
    if not Path(named).is_file():
        raise FileNotFoundError(f"{named}: no such file; `cargo build --release -p zarr-netcdf` makes it")
    import netCDF4

    # The module is linked to the library that it brings, whose functions are found through it.
    netcdf = ctypes.CDLL(sys.modules["netCDF4._netCDF4"].__file__)
    try:
        define = netcdf.nc_def_user_format
    except AttributeError:
        raise OSError(f"netCDF {netCDF4.getlibversion()} does not support user-defined formats") from None
    define.argtypes = [ctypes.c_int, ctypes.c_void_p, ctypes.c_char_p]
    netcdf.nc_strerror.restype = ctypes.c_char_p
    plugin = ctypes.CDLL(str(named))
    for flag, name, magic in _SLOTS:
        table = getattr(plugin, name)
        table.restype = ctypes.c_void_p
        if status := define(flag, table(), magic):
            why = netcdf.nc_strerror(status).decode()
            raise OSError(f"netCDF {netCDF4.getlibversion().split()[0]} refuses the plug-in: {why}")
