"""Warps two small maps to tiles with GDAL: `python make.py` writes the files beside it, which tests/it/geo.rs compares with.

Made with rasterio 1.5.2 (GDAL 3.12.2, PROJ 9.8.1) and NumPy. Elements are `(7 * row + 3 * column) % 251`; tiles of 64 x 64 bytes, 255 where
nothing is; of the bilinear one `row + column`, as little-endian 32-bit floats, NaN where nothing is.
"""

from pathlib import Path

import numpy as np
from rasterio.crs import CRS
from rasterio.transform import from_bounds, from_origin
from rasterio.warp import Resampling, reproject

HALF = 20037508.342789244
SIZE = 64
HERE = Path(__file__).parent


def tile(zoom, column, row):
    side = 2 * HALF / 2**zoom
    west, north = -HALF + column * side, HALF - row * side
    return from_bounds(west, north - side, west + side, north, SIZE, SIZE)


def warp(values, crs, transform, place, resampling, nothing):
    out = np.full((SIZE, SIZE), nothing, values.dtype)
    reproject(
        values, out, src_crs=CRS.from_user_input(crs), src_transform=transform, src_nodata=None,
        dst_crs=CRS.from_epsg(3857), dst_transform=tile(*place), dst_nodata=nothing, init_dest_nodata=True,
        resampling=resampling, tolerance=0,
    )
    return out


def steps(rows, columns):
    row, column = np.mgrid[0:rows, 0:columns]
    return ((7 * row + 3 * column) % 251).astype("u1")


def slope(rows, columns):
    row, column = np.mgrid[0:rows, 0:columns]
    return (row + column).astype("<f4")


world = from_origin(-180, 90, 5, 5)
utm = from_origin(600000, 5400000, 1000, 1000)
warp(steps(36, 72), "OGC:CRS84", world, (1, 1, 0), Resampling.nearest, 255).tofile(HERE / "world-1-1-0.u1")
warp(steps(100, 100), "EPSG:32632", utm, (8, 135, 88), Resampling.nearest, 255).tofile(HERE / "utm-8-135-88.u1")
warp(slope(100, 100), "EPSG:32632", utm, (10, 543, 355), Resampling.bilinear, np.nan).tofile(HERE / "utm-10-543-355.f4")
