"""The stores of zarrkit for zarr-python."""

import asyncio
import os
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from zarr.abc.store import ByteRequest, OffsetByteRequest, RangeByteRequest, SuffixByteRequest
from zarr.abc.store import Store as ZarrStore
from zarr.core.buffer import Buffer, BufferPrototype, default_buffer_prototype

from ._zarrkit import RawStore


class Store(ZarrStore):
    """A store of zarrkit's, to be given to zarr-python, and to all that is built on it: a folder, memory, a zip archive, one in
    a bucket, an LMDB file, S3, Google Cloud Storage, Azure, a web server.

    Parameters
    ----------
    url : str, path or store
        As of `zarrkit.open`, stores of Python's included: `data.zarr`, `memory://name`, `data.zip`,
        `zip::s3://bucket/data.zip`, `lmdb:///data.lmdb`, `s3://bucket/data.zarr`.
    mode : str
        `"r+"` to read and write, `"r"` to read.
    storage_options : dict, optional
        The store's options, such as `{"region": "eu-central-1"}`; for a web server `{"headers": {"X-Api-Key": key}}` or
        `{"bearer_token": token}`.
    read_only : bool, optional
        As zarr-python's stores take it; in place of `mode`.

    A pickled store has its URL, and those of its options that are no secrets: another process takes its credentials from its
    own environment.
    """

    supports_partial_writes = False

    def __init__(
        self,
        url: str | os.PathLike[str] | Any,
        mode: str = "r+",
        storage_options: dict | None = None,
        *,
        read_only: bool | None = None,
    ) -> None:
        if mode not in ("r", "r+"):
            raise ValueError(f'unknown mode {mode!r}: "r" reads, "r+" reads and writes')
        read_only = mode == "r" if read_only is None else read_only
        super().__init__(read_only=read_only)
        self._raw = RawStore(url, not read_only, storage_options)
        self._is_raw_read_only = read_only and self._raw.is_place
        # Options that were secrets are kept for `with_read_only`, in this process alone.
        self._options = storage_options

    def __repr__(self) -> str:
        mode = "r" if self.read_only else "r+"
        return f"zarrkit.Store({self._raw.name!r}, mode={mode!r})"

    def __str__(self) -> str:
        return self._raw.name

    def _identity(self):
        place = self._raw.name if self._raw.reopens else id(self._raw)
        return place, self._raw.public_options, self.read_only

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Store) and self._identity() == other._identity()

    def __hash__(self) -> int:
        return hash((self._raw.name, self.read_only))

    def __reduce__(self):
        if not self._raw.reopens:
            if self._raw.name.endswith("?…"):
                raise TypeError(f"{self!r} cannot be pickled: its URL has a query, which may be a secret; open it in each process")
            raise TypeError(f"{self!r} cannot be pickled, as it has no URL; memory has one if it has a name: memory://name")
        return _rebuild, (type(self), self._raw.name, self._raw.public_options, self.read_only, self._is_open)

    def with_read_only(self, read_only: bool = False) -> "Store":
        if self._raw.reopens:
            return type(self)(self._raw.name, storage_options=self._options, read_only=read_only)
        # The same store; that it is read-only is checked here.
        store = type(self).__new__(type(self))
        store.__dict__.update(self.__dict__)
        ZarrStore.__init__(store, read_only=read_only or self._is_raw_read_only)
        return store

    def close(self) -> None:
        if not self.read_only:
            self._raw.flush()
        super().close()

    @property
    def supports_writes(self) -> bool:
        return self._raw.writeable

    @property
    def supports_deletes(self) -> bool:
        return self._raw.writeable

    @property
    def supports_listing(self) -> bool:
        return self._raw.listable

    @property
    def _supports_sync_io(self) -> bool:
        # zarr-python makes blocking calls one after the other: many requests on their way are better where each waits for a
        # network.
        return self._raw.local

    async def _call(self, call, *arguments):
        """Calls the store. What may block is called in another thread, so that the event loop goes on."""
        await self._ensure_open()
        if self._raw.is_place and self._raw.name.startswith("memory:"):
            return call(*arguments)
        if self._raw.local:
            return await asyncio.to_thread(call, *arguments)
        return await asyncio.get_running_loop().run_in_executor(_threads(self._raw.in_flight), call, *arguments)

    def get_sync(
        self, key: str, *, prototype: BufferPrototype | None = None, byte_range: ByteRequest | None = None
    ) -> Buffer | None:
        """The value of a key, or a range of it; None if the key is absent."""
        if byte_range is None:
            value = self._raw.get(key)
        else:
            parts = self._raw.get_ranges(key, [_range(byte_range)])
            value = None if parts is None else parts[0]
        return _buffer(value, prototype)

    async def get(self, key: str, prototype: BufferPrototype | None = None, byte_range: ByteRequest | None = None) -> Buffer | None:
        def call():
            return self.get_sync(key, prototype=prototype, byte_range=byte_range)

        return await self._call(call)

    async def get_partial_values(self, prototype, key_ranges):
        """The values of several keys, or ranges of them, in order; None where a key is absent."""
        return list(await asyncio.gather(*(self.get(key, prototype, byte_range) for key, byte_range in key_ranges)))

    def _get_ranges(self, key, byte_ranges, prototype):
        parts = self._raw.get_ranges(key, [_range(one) for one in byte_ranges])
        if parts is None:
            raise BaseExceptionGroup("a value that is absent has no ranges", [FileNotFoundError(key)])
        return [(index, _buffer(part, prototype)) for index, part in enumerate(parts)]

    async def get_ranges(self, key, byte_ranges, *, prototype, **limits):
        """Ranges of one version of a value, in one batch. The library merges neighbours itself, so `limits` are not needed."""
        if byte_ranges:
            yield await self._call(self._get_ranges, key, byte_ranges, prototype)

    def get_ranges_sync(self, key, byte_ranges, *, prototype, **limits):
        """As `get_ranges`."""
        return self._get_ranges(key, byte_ranges, prototype) if byte_ranges else []

    async def exists(self, key: str) -> bool:
        return await self._call(self._raw.size, key) is not None

    async def getsize(self, key: str) -> int:
        size = await self._call(self._raw.size, key)
        if size is None:
            raise FileNotFoundError(key)
        return size

    def set_sync(self, key: str, value: Buffer) -> None:
        """Sets the value of a key: readers see the old value or the new one."""
        self._check_writable()
        self._raw.set(key, _bytes(value))

    async def set(self, key: str, value: Buffer) -> None:
        self._check_writable()
        await self._call(self._raw.set, key, _bytes(value))

    async def set_if_not_exists(self, key: str, value: Buffer) -> None:
        """Sets the value of a key that is absent. Of several writers, in any process, one succeeds."""
        self._check_writable()
        await self._call(self._raw.set_if_absent, key, _bytes(value))

    def delete_sync(self, key: str) -> None:
        """Erases a key; none is no error."""
        self._check_writable()
        self._raw.delete(key)

    async def delete(self, key: str) -> None:
        self._check_writable()
        await self._call(self._raw.delete, key)

    async def delete_dir(self, prefix: str) -> None:
        self._check_writable()
        await self._call(self._raw.erase_prefix, _folder(prefix))

    async def list(self):
        for key in await self._call(self._raw.list_prefix, ""):
            yield key

    async def list_prefix(self, prefix: str):
        # It may end within a name.
        folder = prefix[: prefix.rfind("/") + 1]
        for key in await self._call(self._raw.list_prefix, folder):
            if key.startswith(prefix):
                yield key

    async def list_dir(self, prefix: str):
        for name in await self._call(self._raw.list_dir, _folder(prefix)):
            yield name

    async def is_empty(self, prefix: str) -> bool:
        return not await self._call(self._raw.list_dir, _folder(prefix))


def _rebuild(cls, name, options, read_only, is_open):
    store = cls(name, storage_options=dict(options), read_only=read_only)
    store._is_open = is_open
    return store


def _folder(prefix):
    prefix = prefix.strip("/")
    return f"{prefix}/" if prefix else ""


def _range(byte_range):
    match byte_range:
        case None:
            return 0, None
        case RangeByteRequest(start, end):
            return start, end
        case OffsetByteRequest(offset):
            return offset, None
        case SuffixByteRequest(suffix):
            return (-suffix, None) if suffix else (0, 0)
    raise ValueError(f"Unexpected byte_range, got {byte_range}.")


def _buffer(value, prototype):
    prototype = default_buffer_prototype() if prototype is None else prototype
    return None if value is None else prototype.buffer.from_bytes(value)


def _bytes(value):
    if not isinstance(value, Buffer):
        raise TypeError(f"a value must be a Buffer of zarr-python, not {type(value).__name__}")
    return value.to_bytes()


_EXECUTORS: dict[int, ThreadPoolExecutor] = {}


def _threads(count):
    """The threads of this process that wait for remote stores."""
    # One process after a fork has none of those of the other.
    executor = _EXECUTORS.get(os.getpid())
    if executor is None:
        executor = ThreadPoolExecutor(max(count, 16), thread_name_prefix="zarrkit-store")
        executor = _EXECUTORS.setdefault(os.getpid(), executor)
    return executor
