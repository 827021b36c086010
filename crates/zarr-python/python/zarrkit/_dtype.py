"""Dtypes as the `descr` that the compiled module takes."""

import numpy as np


def descr_of(value):
    """The `descr` of what `numpy.dtype` takes; other text is returned as it is: the name of a data type of Zarr."""
    try:
        dtype = np.dtype(value)
    except TypeError:
        if isinstance(value, str):
            return value
        raise
    if isinstance(dtype, np.dtypes.StringDType):
        return "string"
    if dtype.fields is not None:
        return [_field(part) for part in dtype.descr]
    if dtype.kind == "V" and dtype.type is not np.void or dtype.type.__module__ == "ml_dtypes":
        return dtype.name
    return dtype.str


def _field(part):
    name, descr, *shape = part
    if isinstance(descr, list):
        descr = [_field(inner) for inner in descr]
    return [name, descr, *(list(lens) for lens in shape)]
