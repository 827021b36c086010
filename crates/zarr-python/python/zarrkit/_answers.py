"""What to write for names that other packages have and zarrkit has not."""

from __future__ import annotations

from typing import Any

import numpy as np

from ._zarrkit import Array, Group

#: Functions of zarr-python, xarray and the program.
_FUNCTIONS = {
    "append": "an array appends: zarrkit.open_array(place, 'r+').append(values, axis=0)",
    "array": "zarrkit.create(place, data=values) stores an array",
    "consolidate_metadata": "a group consolidates: zarrkit.open_group(place, 'r+').consolidate()",
    "convert": "zarrkit.copy(source, target, to='v3') converts",
    "empty": "zarrkit.create(place, shape=..., dtype=...) makes an array",
    "group": "zarrkit.open_group(place, 'a') opens a group or creates it",
    "info": "zarrkit.open(place).info describes an array or a group",
    "load": "zarrkit.open_array(place)[...] reads an array",
    "migrate": "zarrkit.copy(source, target, to='v3') converts",
    "open_dataset": "xarray.open_dataset(place, engine='zarrkit') opens a dataset",
    "open_zarr": "xarray.open_dataset(place, engine='zarrkit') opens a dataset",
    "plot": "the program that cargo installs plots: zarr plot",
    "rechunk": "zarrkit.copy(source, target, chunks={'time': 100}) rechunks",
    "save": "zarrkit.create(place, data=values) stores an array",
    "serve": "the program that cargo installs serves: zarr serve",
    "stats": "the program that cargo installs has statistics: zarr stats",
    "tree": "zarrkit.open_group(place).tree() draws a group",
}


def answer_of_module(name: str) -> str:
    """What to write for a function of the package, behind what Python says."""
    return f"; {_FUNCTIONS[name]}" if name in _FUNCTIONS else ""


def _missing_of_array(array: Array, name: str) -> Any:
    answer = ""
    if name == "sel":
        answer = "; select by position, as in array.isel(lat=0), or by coordinate with xarray"
    elif not name.startswith("_") and hasattr(np.ndarray, name):
        answer = f"; read the elements first: array[...].{name}"
    raise AttributeError(f"'zarrkit.Array' object has no attribute {name!r}{answer}", name=name, obj=array)


def _missing_of_group(group: Group, name: str) -> Any:
    answer = "" if name.startswith("_") else f"; a member is an item: group[{name!r}]"
    raise AttributeError(f"'zarrkit.Group' object has no attribute {name!r}{answer}", name=name, obj=group)


def install() -> None:
    """Lets arrays and groups say what to write for attributes that they do not have."""
    for kind, missing in ((Array, _missing_of_array), (Group, _missing_of_group)):
        # Written so, checkers of types still find what is misspelled.
        setattr(kind, "__getattr__", missing)  # noqa: B010
