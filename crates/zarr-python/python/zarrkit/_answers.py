"""What to write for names that other packages have and zarrkit has not."""

from __future__ import annotations

from collections.abc import Callable
from difflib import get_close_matches
from functools import wraps
from os import PathLike
from typing import Any, TypeVar, cast

import numpy as np

from ._zarr_words import with_answers
from ._zarrkit import Array, Group

_Function = TypeVar("_Function", bound=Callable[..., Any])

#: Longer values are not repeated in a message.
_MAX_REPEATED = 60

#: Functions of zarr-python, xarray and the program.
_FUNCTIONS = {
    "append": "append to an array: zarrkit.open_array(place, 'r+').append(values, axis=0)",
    "array": "zarrkit.create(place, data=values) stores an array",
    "compare": "zarrkit.diff(a, b) compares",
    "consolidate_metadata": "consolidate a group: zarrkit.open_group(place, 'r+').consolidate()",
    "config": "memory and threads have environment variables: help(zarrkit) names them",
    "convert": "zarrkit.copy(source, target, to='v3') converts",
    "copy_all": "zarrkit.copy(source, target) copies a node with everything below it",
    "copy_store": "zarrkit.copy(source, target) copies a node with everything below it",
    "empty": "zarrkit.create(place, shape=..., dtype=...) makes an array",
    "empty_like": "zarrkit.create(place, shape=a.shape, dtype=a.dtype, chunks=a.chunks) makes an array",
    "File": "zarrkit.open_group(place, 'a') opens a group or creates it",
    "from_array": "zarrkit.create(place, data=values) stores an array",
    "full_like": "zarrkit.full(a.shape, value, store=place, dtype=a.dtype) makes an array",
    "open_like": "zarrkit.create(place, shape=a.shape, dtype=a.dtype, chunks=a.chunks) makes an array",
    "ones_like": "zarrkit.ones(a.shape, store=place, dtype=a.dtype) makes an array",
    "save_array": "zarrkit.create(place, data=values) stores an array",
    "save_group": "zarrkit.create(place, name, data=values) stores an array of a group",
    "storage": "a place is a path, a URL or a store object of zarr-python or obstore",
    "zeros_like": "zarrkit.zeros(a.shape, store=place, dtype=a.dtype) makes an array",
    "group": "zarrkit.open_group(place, 'a') opens a group or creates it",
    "info": "zarrkit.open(place).info describes an array or a group",
    "load": "zarrkit.open_array(place)[...] reads an array",
    "migrate": "zarrkit.copy(source, target, to='v3') converts",
    "open_dataset": "xarray.open_dataset(place, engine='zarrkit') opens a dataset",
    "open_xarray": "xarray.open_dataset(place, engine='zarrkit') opens a dataset",
    "open_zarr": "xarray.open_dataset(place, engine='zarrkit') opens a dataset",
    "plot": "use the program that cargo installs: zarr plot",
    "rechunk": "zarrkit.copy(source, target, chunks={'time': 100}) rechunks",
    "save": "zarrkit.create(place, data=values) stores an array",
    "serve": "use the program that cargo installs: zarr serve",
    "stats": "use the program that cargo installs: zarr stats",
    "tree": "zarrkit.open_group(place).tree() draws a group",
}


#: Attributes of arrays of other packages.
_OF_ARRAYS = {
    "attributes": "array.attrs has the attributes",
    "basename": "array.path.rsplit('/')[-1] is the last name of its path",
    "cdata_shape": "array.blocks.shape has the number of chunks along each axis",
    "chunk_shape": "array.chunks has the shape of chunks",
    "close": "nothing needs to be closed: a write is stored when it returns",
    "codec": "array.codecs has the codecs",
    "compressor": "array.compressors has the compressors",
    "compute": "array[...] reads all elements",
    "copy": "zarrkit.copy(source, target) copies stored chunks; array[...] reads all elements",
    "coords": "xarray.open_dataset(place, engine='zarrkit') has the coordinates",
    "dimension_names": "array.dims has the names of the dimensions",
    "dimensions": "array.dims has the names of the dimensions",
    "get_basic_selection": "array[...] selects",
    "get_block_selection": "array.blocks[...] selects chunks",
    "get_coordinate_selection": "array.vindex[...] selects points",
    "get_mask_selection": "array.vindex[mask] selects by a mask",
    "get_orthogonal_selection": "array.oindex[...] selects along each axis",
    "info_complete": "array.info describes it, array.nbytes_stored and array.nchunks_initialized count what is stored",
    "load": "array[...] reads all elements",
    "order": "array.metadata has the order",
    "plot": "use the program that cargo installs: zarr plot",
    "rename": "its group gives it another path: group.move('old', 'new')",
    "save": "what is assigned to array[...] is stored at once",
    "sel": "select by position, as in array.isel(lat=0), or by coordinate with xarray",
    "set_basic_selection": "array[...] = values writes",
    "set_coordinate_selection": "array.vindex[...] = values writes points",
    "set_orthogonal_selection": "array.oindex[...] = values writes along each axis",
    "stats": "use the program that cargo installs: zarr stats",
    "to_dask": "array.dask() makes a Dask array",
    "to_numpy": "array[...] reads all elements",
    "to_xarray": "xarray.open_dataset(place, engine='zarrkit') opens its group",
    "update_attributes": "array.attrs.update(...) sets attributes",
    "values": "array[...] reads all elements",
}

#: Attributes of groups of other packages, and of datasets of xarray.
_OF_GROUPS = {
    "array_values": "dict(group.arrays()).values() has the arrays",
    "attributes": "group.attrs has the attributes",
    "basename": "group.path.rsplit('/')[-1] is the last name of its path",
    "close": "nothing needs to be closed: a write is stored when it returns",
    "consolidate_metadata": "group.consolidate() copies the metadata of all nodes into one document",
    "coords": "xarray.open_dataset(place, engine='zarrkit') has the coordinates",
    "copy": "zarrkit.copy(source, target) copies it with everything below it",
    "create_dataset": "group.create_array(name, shape=..., dtype=...) makes an array",
    "data_vars": "group.arrays() has the arrays",
    "delete": "a member is erased by del group['name']",
    "dtype": "an array has a dtype: group['name'].dtype",
    "empty": "group.create_array(name, shape=..., dtype=...) makes an array",
    "full": "group.create_array(name, shape=..., dtype=..., fill_value=...) makes an array",
    "get_array": "a member is an item: group['name']",
    "get_group": "a member is an item: group['name']",
    "group_values": "dict(group.groups()).values() has the groups",
    "info_complete": "group.info describes it, group.tree() draws what is in it",
    "isel": "select in an array, as in group['temperature'].isel(lat=0), or with xarray",
    "ls": "group.tree() draws what is in it, list(group) has the names",
    "ndim": "an array has axes: group['name'].ndim",
    "nmembers": "len(group) is the number of its members",
    "ones": "group.create_array(name, shape=..., dtype=..., fill_value=1) makes an array",
    "open": "a member is an item: group['temperature']",
    "remove": "a member is erased by del group['name']",
    "rename": "a member gets another path by group.move('old', 'new')",
    "require_dataset": "group.require_array(name, shape=..., dtype=...) opens an array or makes it",
    "save": "what is assigned is stored at once",
    "sel": "xarray.open_dataset(place, engine='zarrkit') selects by coordinate",
    "shape": "an array has a shape: group['name'].shape",
    "to_xarray": "xarray.open_dataset(place, engine='zarrkit') opens it",
    "update_attributes": "group.attrs.update(...) sets attributes",
    "variables": "group.arrays() has the arrays",
    "zeros": "group.create_array(name, shape=..., dtype=...) makes an array of zeros",
}


def answer_of_module(name: str) -> str:
    """What to write for a function of the package, behind what Python says."""
    return f"; {_FUNCTIONS[name]}" if name in _FUNCTIONS else ""


def by_name(function: _Function) -> _Function:
    """A function that creates an array, which says how to write a shape and a dtype that are given without their names."""

    @wraps(function)
    def named(*args: Any, **keywords: Any) -> Any:
        has_path = len(args) > 1 and isinstance(args[1], str)
        behind = args[2:] if has_path else args[1:]
        if behind and (len(args) > 2 or isinstance(behind[0], (int, tuple, list))):
            shown = [repr(arg) if len(repr(arg)) <= _MAX_REPEATED else "..." for arg in args]
            place = shown[: len(args) - len(behind)]
            given = [f"{name}={value}" for name, value in zip(("shape", "dtype"), shown[len(place) :])]
            name = function.__name__
            raise TypeError(f"{name}() takes shape and dtype by name: zarrkit.{name}({', '.join(place + given)})")
        return function(*args, **keywords)

    return cast(_Function, named)


def _missing_of_array(array: Array, name: str) -> Any:
    answer = ""
    if name in _OF_ARRAYS:
        answer = f"; {_OF_ARRAYS[name]}"
    elif not name.startswith("_") and name in array.attrs:
        answer = f"; an attribute is an item: array.attrs[{name!r}]"
    elif not name.startswith("_") and hasattr(np.ndarray, name):
        answer = f"; read the elements first: array[...].{name}"
    raise AttributeError(f"'zarrkit.Array' object has no attribute {name!r}{answer}", name=name, obj=array)


def _missing_of_group(group: Group, name: str) -> Any:
    answer = ""
    if name in _OF_GROUPS:
        answer = f"; {_OF_GROUPS[name]}"
    elif not name.startswith("_") and (near := get_close_matches(name, dir(Group), 1, 0.8)):
        answer = f"; did you mean {near[0]!r}?"
    elif not name.startswith("_"):
        answer = f"; a member is an item: group[{name!r}]"
    raise AttributeError(f"'zarrkit.Group' object has no attribute {name!r}{answer}", name=name, obj=group)


def place_first(function: _Function) -> _Function:
    """A function of zarr-python, whose first argument is a shape, which also takes a place there, as `create` does."""

    @wraps(function)
    def placed(*args: Any, **keywords: Any) -> Any:
        if args and isinstance(args[0], (str, PathLike)) and "store" not in keywords:
            keywords["store"] = args[0]
            args = (keywords.pop("shape"), *args[1:]) if "shape" in keywords else args[1:]
        return function(*args, **keywords)

    return cast(_Function, placed)


def install() -> None:
    """Lets arrays and groups say what to write for attributes and keywords that they do not have."""
    for kind, name in ((Array, "append"), (Group, "create_group")):
        setattr(kind, name, with_answers(getattr(kind, name)))
    for kind, missing in ((Array, _missing_of_array), (Group, _missing_of_group)):
        # Written so, checkers of types still find what is misspelled.
        setattr(kind, "__getattr__", missing)  # noqa: B010
