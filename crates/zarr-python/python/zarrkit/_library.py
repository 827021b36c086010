"""Where the plug-in of netCDF's library is in this package."""

from __future__ import annotations

import sys
from pathlib import Path

_NAMES = {"win32": "zarr_netcdf.dll", "darwin": "libzarr_netcdf.dylib"}


def path() -> Path | None:
    """The shared library, if this wheel has one: those that are built from the source distribution alone do not."""
    found = Path(__file__).with_name(_NAMES.get(sys.platform, "libzarr_netcdf.so"))
    return found if found.is_file() else None
