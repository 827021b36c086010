"""Dtypes as the `descr` that the compiled module takes."""

import base64
import sys

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
    # `str` says no width, as in zarr-python.
    if isinstance(dtype, np.dtypes.StringDType) or (dtype.kind == "U" and dtype.itemsize == 0):
        return "string"
    if dtype.fields is not None:
        return _fields(dtype)
    if dtype.type.__module__ == "ml_dtypes":
        return dtype.name
    if dtype.kind == "O":
        raise ValueError('dtype object does not say what is stored: give "string" for texts, "variable_length_bytes" for bytes')
    if dtype.kind == "S" and dtype.itemsize == 0:
        raise ValueError('dtype bytes has no width: give "S5" for five bytes, "variable_length_bytes" for bytes of any number')
    if dtype.kind in "mM" and np.datetime_data(dtype)[0] == "generic":
        raise ValueError(f'dtype {dtype} has no unit: give one, such as "{dtype.str[1:]}[ns]"')
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
    """A fill value as JSON's values: what NumPy would assign to an element of the dtype, if nothing is lost.

    Text for numbers is taken as documents say it: "NaN", "0x7fc00000".
    """
    return _json_of(_converted(value, _numpy_dtype(dtype)))


def _numpy_dtype(value):
    """The dtype, or None for the name of a type that only Zarr has."""
    try:
        return None if value is None else np.dtype(value)
    except TypeError:
        return None


def _converted(value, dtype):
    """The value as one that JSON's form of the dtype has: `True` for 1 of bool, 5 for 5.0 of integers, a time for the text of one."""
    kind = "" if dtype is None else dtype.kind
    number = not isinstance(value, bool) and isinstance(value, (int, float, np.integer, np.floating))
    if kind == "b" and number and value in (0, 1):
        return bool(value)
    if kind in ("i", "u") and isinstance(value, (float, np.floating)) and float(value).is_integer():
        return int(value)
    if kind == "c" and number:
        return complex(value)
    if kind == "f" and isinstance(value, (float, np.floating)) and value != value:
        # The same NaN, its bits as an element has them.
        return value if isinstance(value, np.generic) and value.dtype == dtype else dtype.type(value)
    if kind == "S" and isinstance(value, str):
        value = value.encode("ascii")
    if kind and kind in "SV" and isinstance(value, bytes) and dtype.fields is None:
        if len(value) > dtype.itemsize:
            raise ValueError(f"fill_value {value!r} has more than the {dtype.itemsize} bytes of an element")
        return value.ljust(dtype.itemsize, b"\0")
    if kind and kind in "mM" and not isinstance(value, (int, np.integer)) and value is not None:
        return np.asarray(value, dtype)[()]
    if kind == "V" and dtype.fields is not None and isinstance(value, (tuple, np.void)):
        return np.asarray(value, dtype)[()]
    return value


def _bits_of_nan(value):
    """The bits of a NaN that is another one than "NaN" stands for, as v3 writes them; None for other values."""
    dtype = value.dtype
    is_number = dtype.kind == "f" or dtype.type.__module__ == "ml_dtypes"
    if not is_number or dtype.itemsize > 8 or value == value:
        return None
    native = dtype.newbyteorder("=")
    if np.array(np.nan, native).tobytes() == np.array(value, native).tobytes():
        return None
    bits = int.from_bytes(np.array(value, native).tobytes(), sys.byteorder)
    return f"0x{bits:0{2 * dtype.itemsize}x}"


def _json_of(value):
    if isinstance(value, np.ndarray) and value.ndim == 0:
        value = value[()]
    if isinstance(value, (np.datetime64, np.timedelta64)):
        return "NaT" if np.isnat(value) else int(value.astype("i8"))
    if isinstance(value, np.void) and value.dtype.fields is not None:
        return {name: _json_of(value[name]) for name in value.dtype.names}
    if isinstance(value, np.complexfloating):
        return [_json_of(value.real), _json_of(value.imag)]
    if isinstance(value, np.generic):
        if (bits := _bits_of_nan(value)) is not None:
            return bits
        value = value.item()
    if isinstance(value, complex):
        return [_json_of(value.real), _json_of(value.imag)]
    if isinstance(value, float) and not np.isfinite(value):
        return "NaN" if np.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    return value
