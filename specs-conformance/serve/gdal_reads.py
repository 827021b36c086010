"""Reads arrays with GDAL 3.6, from URLs or folders of v2: a line of JSON asks, {"store", "path"}, a line of JSON answers, {"bytes",
"dtype"}: elements in C order as base64; or {"error"}. It belongs to Debian's Python."""

import base64
import json
import sys

import numpy as np
from osgeo import gdal

gdal.UseExceptions()
gdal.PushErrorHandler("CPLQuietErrorHandler")


def read(store, path):
    if store.startswith("http"):
        store = f'ZARR:"/vsicurl/{store}"'
    group = gdal.OpenEx(store, gdal.OF_MULTIDIM_RASTER).GetRootGroup()
    *groups, name = path.split("/")
    for inner in groups:
        group = group.OpenGroup(inner)
    array = group.OpenMDArray(name)
    if not array.GetDimensions():
        raise ValueError("GDAL's Python reads no scalars")
    elements = array.ReadAsArray()
    return {"bytes": base64.b64encode(np.ascontiguousarray(elements).tobytes()).decode(), "dtype": elements.dtype.str}


for line in sys.stdin:
    try:
        answer = read(**json.loads(line))
    except Exception as error:
        answer = {"error": f"{type(error).__name__}: {error}"}
    print(json.dumps(answer), flush=True)
