"""Datasets for xarray: `xr.open_dataset(url, engine="zarrkit")`."""

import asyncio
import base64
import os
import warnings
from collections.abc import Iterable
from typing import Any

import numpy as np
from xarray import Dataset, DataTree, Variable
from xarray.backends import AbstractDataStore, BackendArray, BackendEntrypoint, StoreBackendEntrypoint
from xarray.coding.strings import create_vlen_dtype
from xarray.core import indexing

from ._errors import ZarrWarning
from ._zarrkit import Group, netcdf_group
from ._zarrkit import open as open_node

#: Where xarray keeps the names of dimensions in Zarr v2 and the drafts.
DIMENSIONS = "_ARRAY_DIMENSIONS"
#: The names that xarray gives to a `DataArray` and to a variable without one.
NAMELESS = ("__xarray_dataarray_variable__", "__values__")


class Elements(BackendArray):
    """The elements of an array, which are read when xarray asks for them: no more than it asks for.

    `shape` and `dtype` are those of the variable. The array of a scalar of NCZarr has an axis; that of a variable with
    unlimited dimensions may be shorter than the variable, and reads as `fill` beyond its end.
    """

    def __init__(self, array, shape, convert=None, fill=None):
        # xarray looks into an attribute `array` of NumPy's or its own.
        self._array, self.shape, self._convert, self._fill = array, tuple(shape), convert, fill
        self.dtype = array.dtype if convert is None else CONVERTED[convert]

    def __getitem__(self, key: indexing.ExplicitIndexer) -> Any:
        if self._array.shape != self.shape:
            read, support = self._within, indexing.IndexingSupport.OUTER
        else:
            read, support = self._reader(key), indexing.IndexingSupport.VECTORIZED
        return indexing.explicit_indexing_adapter(key, self.shape, support, read)

    async def async_getitem(self, key: indexing.ExplicitIndexer) -> Any:
        return await asyncio.to_thread(self.__getitem__, key)

    def _reader(self, key):
        if isinstance(key, indexing.VectorizedIndexer):
            return self._points
        return self._outer if isinstance(key, indexing.OuterIndexer) else self._basic

    def _converted(self, elements):
        if self._convert is None:
            # One text is a `str`, of which NumPy would make one of fixed length.
            return np.asarray(elements, dtype=self._array.dtype)
        return CONVERSIONS[self._convert](np.asarray(elements))

    def _basic(self, key):
        return self._converted(self._array[key])

    def _outer(self, key):
        return self._converted(self._array.oindex[key])

    def _points(self, key):
        coordinates = np.broadcast_arrays(*key)
        shape = coordinates[0].shape
        elements = self._array.vindex[tuple(coordinate.ravel() for coordinate in coordinates)]
        return self._converted(np.asarray(elements).reshape(shape))

    def _within(self, key):
        """What a key selects of an array that has another shape than the variable."""
        if not self.shape:
            return self._converted(self._array[(0,) * self._array.ndim])
        indices = [np.arange(len_)[one] for one, len_ in zip(key, self.shape, strict=True)]
        flat = [np.atleast_1d(index) for index in indices]
        inside = [index < len_ for index, len_ in zip(flat, self._array.shape, strict=True)]
        elements = np.full([len(index) for index in flat], self._fill, self._array.dtype)
        if all(one.any() for one in inside):
            there = tuple(index[one] for index, one in zip(flat, inside, strict=True))
            elements[np.ix_(*inside)] = self._array.oindex[there]
        dropped = tuple(axis for axis, index in enumerate(indices) if index.ndim == 0)
        return self._converted(elements.squeeze(dropped))


def _as_text(elements):
    """Texts of a fixed width in UTF-8, as `str`."""
    decode = np.frompyfunc(lambda text: text.decode(errors="replace") if isinstance(text, bytes) else str(text), 1, 1)
    return np.asarray(decode(elements), dtype=object)


#: By type of netCDF: how elements of the array become those of the variable, and their dtype.
CONVERSIONS = {
    "char": lambda elements: np.ascontiguousarray(elements).view("S1").reshape(elements.shape),
    "string": _as_text,
}
CONVERTED = {"char": np.dtype("S1"), "string": create_vlen_dtype(str)}


class GroupStore(AbstractDataStore):
    """The variables and attributes of one group, for xarray."""

    def __init__(self, group, drop_variables, fill_value_as_mask):
        self.group = group
        self.drop = {drop_variables} if isinstance(drop_variables, str) else set(drop_variables or ())
        self.fill_value_as_mask = fill_value_as_mask
        self.netcdf = netcdf_group(group)

    def get_variables(self):
        return self._variables() if self.netcdf is None else self._variables_of_netcdf()

    def get_attrs(self):
        return dict(self.group.attrs if self.netcdf is None else self.netcdf["attrs"])

    def get_encoding(self):
        return {"unlimited_dims": set(self.netcdf["unlimited"])} if self.netcdf and self.netcdf["unlimited"] else {}

    @staticmethod
    def close():
        """Nothing is open. The dataset pickles this function, so it knows no group."""

    def _variables_of_netcdf(self):
        variables = {}
        for name, why in self.netcdf["left_out"].items():
            if name not in self.drop:
                place = f"{self.group.path.rstrip('/')}/{name}"
                warnings.warn(f"{place} is left out, since it is not a variable: {why}", ZarrWarning, stacklevel=2)
        for name, defined in self.netcdf["variables"].items():
            if name in self.drop:
                continue
            array, type_ = defined["array"], defined["type"]
            convert = type_ if type_ == "string" or (type_ == "char" and array.dtype != "S1") else None
            if convert == "string" and array.dtype.kind == "T":
                convert = None
            elements = Elements(array, defined["shape"], convert, defined["fill"])
            dims, attributes = _told_apart(defined["dims"]), dict(defined["attrs"])
            variables[name] = _variable(dims, elements, attributes, array)
        return variables

    def _variables(self):
        variables = {}
        for name in _names(self.group):
            if name in self.drop:
                continue
            array = self.group[name]
            if isinstance(array, Group):
                continue
            # Where v3 has `fill_value`, the other dialects say the missing value, too.
            is_v3 = array.metadata.get("zarr_format") == 3
            as_mask = not is_v3 or bool(self.fill_value_as_mask)
            attributes = dict(array.attrs)
            dims = _dimensions(array, attributes, is_v3)
            encoding = {}
            if as_mask:
                if array.fill_value is not None:
                    attributes["_FillValue"] = array.fill_value
            else:
                if is_v3:
                    encoding["fill_value"] = array.fill_value
                if "_FillValue" in attributes:
                    attributes["_FillValue"] = fill_of(attributes["_FillValue"], array.dtype)
            variables[name] = _variable(dims, Elements(array, array.shape), attributes, array, encoding)
        return variables


def _names(group):
    """The names of a group's members, with those that xarray gives to what has no name, and that v3 allows no node."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", f".*({'|'.join(NAMELESS)})", ZarrWarning)
        names = list(group.keys())
    return names + [name for name in NAMELESS if name not in names and name in group]


def _variable(dims, elements, attributes, array, encoding=()):
    encoding = dict(encoding)
    if array.chunks is not None and len(array.chunks) == len(dims):
        encoding["chunks"], encoding["shards"] = array.chunks, array.shards
        encoding["preferred_chunks"] = dict(zip(dims, array.shards or array.chunks, strict=True))
    if elements.dtype.kind == "T":
        encoding["dtype"] = elements.dtype
    return Variable(dims, indexing.LazilyIndexedArray(elements), attributes, encoding)


def _dimensions(array, attributes, is_v3):
    """The names of an array's axes; an axis without one is named by its length."""
    named = attributes.get(DIMENSIONS) if not is_v3 else None
    if isinstance(named, list | tuple) and len(named) == array.ndim:
        for name in [DIMENSIONS, *(name for name in attributes if name.lower().startswith("_nc"))]:
            del attributes[name]
    else:
        named = array.dims
    return _told_apart([name or f"_Anonymous_Dim_{len_}" for name, len_ in zip(named, array.shape, strict=True)])


def _told_apart(names):
    """Names of which no two are the same, since xarray needs that: `x`, `x_1`."""
    seen: dict[str, int] = {}
    told = []
    for name in names:
        count = seen[name] = seen.get(name, -1) + 1
        told.append(f"{name}_{count}" if count else name)
    return told


def fill_of(value: Any, dtype: np.dtype) -> Any:
    """The missing value that the attribute `_FillValue` of an array of v3 says: xarray writes floats and bytes as base64."""
    if isinstance(value, list) and dtype.kind == "c":
        return complex(*(fill_of(part, np.dtype("f8")) for part in value))
    if isinstance(value, str) and dtype.kind == "f":
        try:
            return float(np.frombuffer(base64.b64decode(value, validate=True), "<f8")[0])
        except (ValueError, IndexError):
            return float(value)
    if isinstance(value, str) and dtype.kind == "S":
        return base64.b64decode(value)
    plain = {"b": bool, "i": int, "u": int, "f": float}.get(dtype.kind)
    return plain(value) if plain is not None else value


class XarrayEngine(BackendEntrypoint):
    """Opens Zarr data of every dialect, and NCZarr, in every store of zarrkit's, for reading.

    It takes a path, a URL, a `zarrkit.Group`, a store of Python's or a mapping. `group` is the path of a group inside;
    `storage_options` are the store's, `consolidated`, `threads`, `chunk_cache`, `read_ahead`, `max_age` and `missing` are those of `zarrkit.open`. `use_zarr_fill_value_as_mask`
    says whether Zarr's fill value is a missing value in v3, as it is in v2 and the drafts.
    """

    description = "Open Zarr data of every dialect and NCZarr, in folders, zip, LMDB and buckets, by zarrkit"
    url = "https://docs.xarray.dev/en/stable/user-guide/io.html"
    supports_groups = True
    # xarray finds them by itself where the engine is given by name, not by its class.
    open_dataset_parameters = (
        "mask_and_scale",
        "decode_times",
        "concat_characters",
        "decode_coords",
        "drop_variables",
        "use_cftime",
        "decode_timedelta",
        "group",
        "storage_options",
        "consolidated",
        "threads",
        "chunk_cache",
        "read_ahead",
        "max_age",
        "missing",
        "use_zarr_fill_value_as_mask",
    )

    def guess_can_open(self, filename_or_obj: Any) -> bool:
        return False

    def open_dataset(
        self,
        filename_or_obj: Any,
        *,
        mask_and_scale: bool = True,
        decode_times: Any = True,
        concat_characters: bool = True,
        decode_coords: Any = True,
        drop_variables: str | Iterable[str] | None = None,
        use_cftime: bool | None = None,
        decode_timedelta: Any = None,
        group: str | None = None,
        storage_options: dict | None = None,
        consolidated: bool | None = None,
        threads: int | None = None,
        chunk_cache: int | str | None = None,
        read_ahead: int = 0,
        max_age: float = 0,
        missing: str = "fill",
        use_zarr_fill_value_as_mask: bool | None = None,
    ) -> Dataset:
        options = {"storage_options": storage_options, "consolidated": consolidated, "threads": threads}
        options |= {"chunk_cache": chunk_cache, "read_ahead": read_ahead, "max_age": max_age, "missing": missing}
        found = _group(filename_or_obj, group, **options)
        store = GroupStore(found, drop_variables, use_zarr_fill_value_as_mask)
        return StoreBackendEntrypoint().open_dataset(
            store,
            mask_and_scale=mask_and_scale,
            decode_times=decode_times,
            concat_characters=concat_characters,
            decode_coords=decode_coords,
            drop_variables=drop_variables,
            use_cftime=use_cftime,
            decode_timedelta=decode_timedelta,
        )

    def open_groups_as_dict(
        self,
        filename_or_obj: Any,
        *,
        mask_and_scale: bool = True,
        decode_times: Any = True,
        concat_characters: bool = True,
        decode_coords: Any = True,
        drop_variables: str | Iterable[str] | None = None,
        use_cftime: bool | None = None,
        decode_timedelta: Any = None,
        group: str | None = None,
        storage_options: dict | None = None,
        consolidated: bool | None = None,
        threads: int | None = None,
        chunk_cache: int | str | None = None,
        read_ahead: int = 0,
        max_age: float = 0,
        missing: str = "fill",
        use_zarr_fill_value_as_mask: bool | None = None,
    ) -> dict[str, Dataset]:
        options = {"storage_options": storage_options, "consolidated": consolidated, "threads": threads}
        options |= {"chunk_cache": chunk_cache, "read_ahead": read_ahead, "max_age": max_age, "missing": missing}
        found = _group(filename_or_obj, group, **options)
        return {
            path: self.open_dataset(
                one,
                mask_and_scale=mask_and_scale,
                decode_times=decode_times,
                concat_characters=concat_characters,
                decode_coords=decode_coords,
                drop_variables=drop_variables,
                use_cftime=use_cftime,
                decode_timedelta=decode_timedelta,
                use_zarr_fill_value_as_mask=use_zarr_fill_value_as_mask,
            )
            for path, one in _with_groups(found, "/")
        }

    def open_datatree(self, filename_or_obj: Any, **options: Any) -> DataTree:
        return DataTree.from_dict(self.open_groups_as_dict(filename_or_obj, **options))


def _group(target, path, **options):
    """The group to be opened."""
    if isinstance(target, Group):
        node = target
    else:
        target = os.path.expanduser(target) if isinstance(target, str) else target
        node = open_node(target, **{name: value for name, value in options.items() if value is not None})
    inside = (path or "").strip("/")
    node = node[inside] if inside else node
    if not isinstance(node, Group):
        raise ValueError(f"{node!r} is an array: open the group that it is in, since a dataset is a group")
    return node


def _with_groups(group, path):
    yield path, group
    for name in _names(group):
        child = group[name]
        if isinstance(child, Group):
            yield from _with_groups(child, f"{path.rstrip('/')}/{name}")
