"""Dtypes as the `descr` that the compiled module takes."""

import base64

import numpy as np


def descr_of(value: object) -> str | list:
    """The `descr` of what `numpy.dtype` takes; other text is returned as it is: the name of a data type of Zarr.

    Raises `TypeError` for what names no type, `ValueError` for records with padding.
    """
    try:
        dtype = np.dtype(value)
    except TypeError:
        if isinstance(value, str):
            return value
        raise
    return _descr(dtype)


def _descr(dtype):
    if isinstance(dtype, np.dtypes.StringDType):
        return "string"
    if dtype.fields is not None:
        return _fields(dtype)
    if dtype.type.__module__ == "ml_dtypes":
        return dtype.name
    if dtype.kind == "O":
        raise ValueError('dtype object does not say what is stored: give "string" for texts, "variable_length_bytes" for bytes')
    return dtype.str


def _fields(dtype):
    # `dtype.descr` takes the numbers of ml_dtypes for raw bytes.
    fields, end = [], 0
    for name in dtype.names:
        inner, offset = dtype.fields[name][:2]
        if offset != end:
            break
        end += inner.itemsize
        fields.append([name, _descr(inner.base), *([list(inner.shape)] if inner.shape else [])])
    if end != dtype.itemsize or len(fields) != len(dtype.names):
        raise ValueError(
            f"records are stored packed, but {dtype} has padding or overlapping fields; "
            "numpy.lib.recfunctions.repack_fields makes a packed dtype"
        )
    return fields


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
