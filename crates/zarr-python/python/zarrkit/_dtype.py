"""Dtypes as the `descr` that the compiled module takes."""

import base64

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


def fill_of(value, dtype=None):
    """A fill value as JSON's values: NumPy's scalars, times, complex numbers and records among them."""
    if isinstance(value, (np.ndarray, np.generic)) and value.dtype.kind in "mMV" or isinstance(value, (np.datetime64, np.timedelta64)):
        dtype = value.dtype if dtype is None else np.dtype(dtype)
        value = np.asarray(value, dtype)[()]
    if isinstance(value, (np.datetime64, np.timedelta64)):
        return "NaT" if np.isnat(value) else int(value.astype("i8"))
    if isinstance(value, np.void) and value.dtype.fields is not None:
        return [fill_of(value[name]) for name in value.dtype.names]
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, complex):
        return [fill_of(value.real), fill_of(value.imag)]
    if isinstance(value, float) and not np.isfinite(value):
        return "NaN" if np.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    if isinstance(value, bytes):
        width = 0 if dtype is None else np.dtype(dtype).itemsize
        return base64.b64encode(value.ljust(width, b"\0")).decode()
    return value
