"""The same calls for asyncio: `await zarrkit.aio.open(url)`.

Each call runs on a thread of a pool, without Python's lock, so that the event loop goes on; a call to a bucket or a web server has many
requests under way on it. When a task is cancelled, its call ends: requests that are under way are dropped, and nothing further is
written.
"""

from __future__ import annotations

import asyncio
import contextvars
import os
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import numpy as np

import zarrkit

from . import _zarrkit

__all__ = ["Array", "Group", "create", "create_group", "open"]

#: As many calls run at the same time; further ones wait.
THREADS = 64

_pools: dict[int, ThreadPoolExecutor] = {}


def _pool() -> ThreadPoolExecutor:
    # The threads are not there in a forked process.
    process = os.getpid()
    pool = _pools.get(process)
    if pool is None:
        _pools.clear()
        pool = _pools.setdefault(process, ThreadPoolExecutor(THREADS, thread_name_prefix="zarrkit-aio"))
    return pool


async def _run(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    cancel = _zarrkit.Cancel()
    call = contextvars.copy_context().run
    future: Future[Any] = _pool().submit(call, _zarrkit.run_cancellable, cancel, function, *args, **kwargs)
    try:
        return _wrapped(await asyncio.wrap_future(future))
    except asyncio.CancelledError:
        cancel.cancel()
        if kwargs.get("out") is not None:
            # Memory of the caller is not touched after the call.
            await asyncio.shield(_end(future))
        raise


async def _end(future: Future[Any]) -> None:
    while not future.done():
        await asyncio.sleep(0.001)


def _wrapped(value: Any) -> Any:
    if isinstance(value, _zarrkit.Array):
        return Array(value)
    if isinstance(value, _zarrkit.Group):
        return Group(value)
    if isinstance(value, list):
        items: list[Any] = value
        return [_wrapped(item) for item in items]
    return value


async def open(url: Any, mode: str = "r", **options: Any) -> Array | Group:
    """As `zarrkit.open`: an `Array` or a `Group` of this module."""
    return await _run(zarrkit.open, url, mode, **options)


async def create(url: str | os.PathLike[str], path: str = "", **options: Any) -> Array:
    """As `zarrkit.create`: an `Array` of this module."""
    return await _run(zarrkit.create, url, path, **options)


async def create_group(url: str | os.PathLike[str], path: str = "/", **options: Any) -> Group:
    """As `zarrkit.create_group`: a `Group` of this module."""
    return await _run(zarrkit.create_group, url, path, **options)


class _Node:
    """A handle. What it knows without a look into the store, such as `path`, is an attribute; what it does is awaited."""

    def __init__(self, sync: Any) -> None:
        #: The handle whose calls block.
        self.sync = sync

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        value = getattr(self.sync, name)
        if not callable(value):
            return value

        async def call(*args: Any, **kwargs: Any) -> Any:
            return await _run(value, *args, **kwargs)

        return call

    @property
    def attrs(self) -> dict[str, Any]:
        """The attributes that are known, as a `dict` of the caller's."""
        return dict(self.sync.attrs)

    async def update_attrs(self, attributes: Mapping[str, Any]) -> None:
        """Sets attributes, and leaves the others."""
        await _run(self.sync.attrs.update, attributes)

    def __dir__(self) -> Iterable[str]:
        return [name for name in dir(self.sync) if not name.startswith("__")]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Node) and type(self) is type(other) and self.sync == other.sync

    def __hash__(self) -> int:
        return hash(self.sync)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.sync,)


class Array(_Node):
    """An array. `shape`, `dtype` and the like are those of `zarrkit.Array`, and so are its methods, each to be awaited:
    `await array.read(key)`, `await array.write(key, value)`."""

    @property
    def path(self) -> str:
        """The path in its hierarchy."""
        path: str = self.sync.path
        return path

    @property
    def shape(self) -> tuple[int, ...]:
        """How many elements along each axis."""
        shape: tuple[int, ...] = self.sync.shape
        return shape

    @property
    def ndim(self) -> int:
        """How many axes."""
        ndim: int = self.sync.ndim
        return ndim

    @property
    def size(self) -> int:
        """How many elements."""
        size: int = self.sync.size
        return size

    @property
    def dtype(self) -> np.dtype[Any]:
        """The dtype of an element."""
        dtype: np.dtype[Any] = self.sync.dtype
        return dtype

    @property
    def chunks(self) -> tuple[int, ...] | None:
        """The shape of the chunks that are read; None if they differ."""
        chunks: tuple[int, ...] | None = self.sync.chunks
        return chunks

    async def oindex(self, key: Any) -> Any:
        """What lists, masks and slices select along each axis: `array.sync.oindex[key]`."""
        return await _run(self.sync.oindex.__getitem__, key)

    async def vindex(self, key: Any) -> Any:
        """What lists of coordinates, or a mask, select: `array.sync.vindex[key]`."""
        return await _run(self.sync.vindex.__getitem__, key)

    def __repr__(self) -> str:
        return f"<zarrkit.aio.Array {self.sync.path} {self.sync.shape} {self.sync.dtype}>"


class Group(_Node):
    """A group. The methods of `zarrkit.Group`, each to be awaited; `await group.get(path)` is the member at a path."""

    async def get(self, path: str) -> Array | Group:
        """The group or array at `path`. Raises `KeyError` if there is none."""
        return await _run(self.sync.__getitem__, path)

    def __repr__(self) -> str:
        return f"<zarrkit.aio.Group {self.sync.path}>"
