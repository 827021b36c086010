"""The codec pipeline for zarr-python: `zarr.config.set({"codec_pipeline.path": "zarrkit.Pipeline"})`."""

from __future__ import annotations

import asyncio
import contextvars
import functools
import os
import threading
import time
import warnings
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from zarr.abc.codec import Codec, CodecPipeline as _Base
from zarr.abc.store import Store
from zarr.codecs import ShardingCodec
from zarr.core.array import create_codec_pipeline
from zarr.core.array_spec import ArraySpec
from zarr.core.buffer import default_buffer_prototype
from zarr.core.buffer.cpu import Buffer, NDBuffer
from zarr.core.codec_pipeline import BatchedCodecPipeline
from zarr.core.metadata import ArrayV2Metadata, ArrayV3Metadata
from zarr.registry import register_pipeline
from zarr.storage import StorePath

from ._errors import InvalidMetadataError, UnsupportedError, ZarrError, ZarrWarning
from ._fallbacks import note
from ._zarrkit import Cancel, PipelineArray, run_cancellable

#: Calls that block run here, not on the event loop's own threads: stores whose calls need those would wait for each other.
_THREADS = 64
#: A read of so few chunks may be made on the event loop's thread, if it is short: another thread takes longer to begin.
_FEW_CHUNKS = 8
#: The most bytes of decoded chunks that such a read touches, and seconds that it takes: a longer one has met a slow disk, and as many reads as
#: _PAUSE are made on other threads then. The second pair is that of a read beside which the loop has no other task.
_SHORT = (128 << 10, 0.002)
_SHORT_IF_ALONE = (4 << 20, 0.02)
_PAUSE = 100
_pool: ThreadPoolExecutor | None = None
_pool_lock = threading.Lock()


def _forget_pool() -> None:
    global _pool, _pool_lock
    _pool, _pool_lock = None, threading.Lock()


if hasattr(os, "register_at_fork"):
    # Threads do not survive a fork.
    os.register_at_fork(after_in_child=_forget_pool)


async def _in_thread(work: Callable[..., Any], *args: Any) -> Any:
    global _pool
    with _pool_lock:
        if _pool is None:
            _pool = ThreadPoolExecutor(_THREADS, thread_name_prefix="zarrkit")
    cancel = Cancel()
    # The context says whether the caller is a worker of Dask.
    run = functools.partial(contextvars.copy_context().run, run_cancellable, cancel, work, *args)
    try:
        return await asyncio.get_running_loop().run_in_executor(_pool, run)
    except asyncio.CancelledError:
        cancel.cancel()
        raise


def _is_alone() -> bool:
    """Whether the event loop has no other task."""
    return len(asyncio.all_tasks()) == 1


def _codecs(metadata: ArrayV2Metadata | ArrayV3Metadata) -> Iterable[Any]:
    """Every codec of an array, those inside of shards included."""
    if isinstance(metadata, ArrayV2Metadata):
        return [codec for codec in (*(metadata.filters or ()), metadata.compressor) if codec is not None]
    found, left = [], list(metadata.codecs)
    while left:
        codec = left.pop()
        found.append(codec)
        if isinstance(codec, ShardingCodec):
            left += [*codec.codecs, *codec.index_codecs]
    return found


def _foreign(metadata: ArrayV2Metadata | ArrayV3Metadata, store: Any) -> str | None:
    """Why chunks of an array cannot be ours, as far as its metadata and its store tell."""
    if not issubclass(type(store), Store):
        return f"store {type(store).__name__}"
    for codec in _codecs(metadata):
        if type(codec).__module__.split(".")[0] not in ("zarr", "numcodecs"):
            return f"codec {type(codec).__name__}"
    if isinstance(metadata, ArrayV3Metadata) and metadata.chunk_key_encoding.name not in ("default", "v2"):
        return f"chunk key encoding {metadata.chunk_key_encoding.name}"
    dtype = _native_dtype(metadata)
    if dtype.hasobject and dtype.kind not in "OT":
        return f"dtype {dtype}"
    return None


def _other_order(metadata: ArrayV2Metadata | ArrayV3Metadata) -> str | None:
    """What to say of an order of inner chunks in shards that was asked for; zarr-python's own default is not."""
    for codec in _codecs(metadata):
        order = getattr(codec, "subchunk_write_order", None)
        if order not in (None, "morton", "lexicographic", "unordered"):
            return f"zarrkit writes the inner chunks of a shard in C order, not in the order {order!r}; readers of Zarr do not depend on that"
    return None


def _native_dtype(metadata: ArrayV2Metadata | ArrayV3Metadata) -> np.dtype[Any]:
    zdtype = metadata.dtype if isinstance(metadata, ArrayV2Metadata) else metadata.data_type
    return zdtype.to_native_dtype()


def _key_segments(metadata: ArrayV2Metadata | ArrayV3Metadata) -> int:
    """How many segments of a path are the chunk's key."""
    rank = len(metadata.shape)
    if isinstance(metadata, ArrayV2Metadata):
        return max(1, rank) if metadata.dimension_separator == "/" else 1
    encoding: Any = metadata.chunk_key_encoding
    if encoding.separator != "/":
        return 1
    return rank + 1 if encoding.name == "default" else max(1, rank)


def _is_rectilinear(metadata: ArrayV2Metadata | ArrayV3Metadata) -> bool:
    return isinstance(metadata, ArrayV3Metadata) and not hasattr(metadata.chunk_grid, "chunk_shape")


def _document(metadata: ArrayV2Metadata | ArrayV3Metadata) -> bytes:
    documents = metadata.to_buffer_dict(default_buffer_prototype())
    return documents["zarr.json" if metadata.zarr_format == 3 else ".zarray"].to_bytes()


class Pipeline(_Base):
    """Reads and writes chunks of zarr-python's arrays by zarrkit: parts of chunks that several writers write at once all arrive.

    What zarrkit does not do is left to zarr-python's `BatchedCodecPipeline`; `zarrkit.fallbacks()` counts that.
    """

    def __init__(self, metadata: ArrayV2Metadata | ArrayV3Metadata, store: Any) -> None:
        self._metadata, self._store = metadata, store
        # Without a store zarr-python makes its own pipeline of the codecs, by `from_codecs`.
        self._own = create_codec_pipeline(metadata)
        self._reason = _foreign(metadata, store)
        # zarr-python makes such documents under an option only, which may be another one at the first read.
        self._document = _document(metadata) if _is_rectilinear(metadata) else None
        self._arrays: dict[str, tuple[PipelineArray, np.dtype[Any]]] = {}
        self._segments = _key_segments(metadata)
        self._pause = 0
        self._other_order = _other_order(metadata)

    @classmethod
    def from_array_metadata_and_store(cls, array_metadata: Any, store: Any) -> Pipeline:
        return cls(array_metadata, store)

    @classmethod
    def from_codecs(cls, codecs: Iterable[Codec]) -> Any:
        # zarr-python asks this for the chunks inside of a shard, too, that it reads and writes itself.
        return BatchedCodecPipeline.from_codecs(codecs)

    def __reduce__(self) -> Any:
        return type(self), (self._metadata, self._store)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Pipeline):
            return NotImplemented
        return self._metadata == other._metadata and self._store == other._store

    def __hash__(self) -> int:
        return hash(type(self))

    def __repr__(self) -> str:
        return f"<zarrkit.{type(self).__name__} {self._metadata.shape} in {self._store}>"

    def __getattr__(self, name: str) -> Any:
        # What zarr-python's own pipelines have: `array_bytes_codec` and the like.
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self._own, name)

    def __iter__(self) -> Any:
        return iter(self._own)

    def evolve_from_array_spec(self, array_spec: ArraySpec) -> Pipeline:
        # The metadata say all.
        return self

    @property
    def supports_partial_decode(self) -> bool:
        return self._own.supports_partial_decode

    @property
    def supports_partial_encode(self) -> bool:
        return self._own.supports_partial_encode

    def validate(self, **kwargs: Any) -> None:
        self._own.validate(**kwargs)

    def compute_encoded_size(self, byte_length: int, array_spec: ArraySpec) -> int:
        return self._own.compute_encoded_size(byte_length, array_spec)

    async def decode(self, chunk_bytes_and_specs: Any) -> Any:
        note("decode")
        return await self._own.decode(chunk_bytes_and_specs)

    async def encode(self, chunk_arrays_and_specs: Any) -> Any:
        note("encode")
        return await self._own.encode(chunk_arrays_and_specs)

    async def read(self, batch_info: Any, out: Any, drop_axes: tuple[int, ...] = ()) -> tuple[Any, ...]:
        batch = batch_info if isinstance(batch_info, list) else list(batch_info)
        if not batch:
            return ()
        reason = self._reason or self._odd(batch, out)
        if reason is None:
            memory = out.as_ndarray_like()
            # Raised outside of `except`, so that the store's exception keeps its own context.
            raised: BaseException | None = None
            found: Any = None
            try:
                found = self._read_at_once(batch, memory, drop_axes)
                if found is False:
                    found = await _in_thread(self._read, batch, memory, drop_axes)
            except ZarrError as error:
                raised = _of_store(error)
            if raised is not None:
                raise raised
            if not isinstance(found, str):
                if found is True:
                    return ({"status": "present"},) * len(batch)
                return tuple({"status": "present" if stored else "missing"} for stored in found)
            reason = found
        note(reason)
        return await self._own.read(batch, out, drop_axes)

    async def write(self, batch_info: Any, value: Any, drop_axes: tuple[int, ...] = ()) -> None:
        batch = batch_info if isinstance(batch_info, list) else list(batch_info)
        if not batch:
            return
        reason = self._reason or self._odd(batch, value)
        if reason is None:
            raised: BaseException | None = None
            try:
                reason = await _in_thread(self._write, batch, value.as_ndarray_like(), drop_axes)
            except ZarrError as error:
                raised = _of_store(error)
            if raised is not None:
                raise raised
            if reason is None:
                return
        note(reason)
        await self._own.write(batch, value, drop_axes)

    def _odd(self, batch: list[Any], memory: Any) -> str | None:
        """Why a call cannot be ours."""
        place, spec = batch[0][0], batch[0][1]
        if not isinstance(place, StorePath):
            return f"place {type(place).__name__}"
        if type(memory) is not NDBuffer or spec.prototype.buffer is not Buffer or not isinstance(memory.as_ndarray_like(), np.ndarray):
            return f"buffer {type(memory).__name__}"
        return None

    def _array(self, place: Any) -> tuple[PipelineArray, np.dtype[Any]] | str:
        """The array whose chunk is at `place`, and its dtype; or why it cannot be ours."""
        path = place.path.rsplit("/", self._segments)
        path = path[0] if len(path) > self._segments else ""
        found = self._arrays.get(path)
        if found is None:
            document = self._document or _document(self._metadata)
            try:
                array = PipelineArray(self._store, path, document, self._metadata.zarr_format, _is_rectilinear(self._metadata))
                found = array, array.dtype()
            except (NotImplementedError, InvalidMetadataError, ValueError) as error:
                self._reason = _reason_of(error)
                return self._reason
            self._arrays[path] = found
        return found

    def _read_at_once(self, batch: list[Any], out: np.ndarray[Any, Any], drop_axes: tuple[int, ...]) -> Any:
        """Reads a batch if that takes less time than to have another thread do it; otherwise False."""
        if not self._arrays or len(batch) > _FEW_CHUNKS:
            return False
        if self._pause:
            self._pause -= 1
            return False
        (most, seconds), (most_if_alone, seconds_if_alone) = _SHORT, _SHORT_IF_ALONE
        begin = time.perf_counter()
        found = self._read(batch, out, drop_axes, at_once=most)
        # Asking for the loop's tasks takes as long as a third of a short read: only where the answer matters.
        if found is False and _is_alone():
            found = self._read(batch, out, drop_axes, at_once=most_if_alone)
        taken = time.perf_counter() - begin
        if taken > seconds and (taken > seconds_if_alone or not _is_alone()):
            self._pause = _PAUSE
        return found

    def _read(self, batch: list[Any], out: np.ndarray[Any, Any], drop_axes: tuple[int, ...], at_once: int | None = None) -> Any:
        found = self._array(batch[0][0])
        if isinstance(found, str):
            return found
        array, dtype = found
        if not _converts(dtype, out.dtype):
            return f"dtype {out.dtype} for {dtype}"
        finds_missing = not getattr(batch[0][1].config, "read_missing_chunks", True)
        # The library writes native elements of the array's type.
        memory = out if out.dtype == dtype else np.empty_like(out, dtype)
        try:
            stored = array.read(batch, memory, drop_axes, finds_missing, at_once)
        except (UnsupportedError, InvalidMetadataError) as error:
            return _reason_of(error)
        if stored is None:
            return "selection"
        if memory is not out and stored is not False:
            out[...] = memory
        return stored

    def _write(self, batch: list[Any], value: np.ndarray[Any, Any], drop_axes: tuple[int, ...]) -> str | None:
        found = self._array(batch[0][0])
        if isinstance(found, str):
            return found
        array, dtype = found
        if not _converts(value.dtype, dtype):
            return f"dtype {value.dtype} for {dtype}"
        value = value.astype(dtype, copy=False)
        keep = batch[0][1].config.write_empty_chunks
        if self._other_order is not None:
            warnings.warn(self._other_order, ZarrWarning, stacklevel=2)
            self._other_order = None
        try:
            written = array.write(batch, value, drop_axes, keep)
        except (UnsupportedError, InvalidMetadataError) as error:
            return _reason_of(error)
        return None if written else "selection"


def _of_store(error: ZarrError) -> BaseException:
    """What the caller is to see of an error: the exception that the store raised, if one did, as with zarr-python's own pipeline, and what
    zarrkit says of it as a note."""
    cause = error.__cause__
    if cause is None:
        return error
    note = f"zarrkit: {error}"
    if note not in getattr(cause, "__notes__", ()):
        cause.add_note(note)
    return cause


def _reason_of(error: Exception) -> str:
    """Why the library cannot read or write an array, without the array's place."""
    return f"metadata: {getattr(error, 'message', None) or error}"


def _converts(source: np.dtype[Any], target: np.dtype[Any]) -> bool:
    """Whether NumPy assigns elements of one dtype to the other: always among numbers, otherwise if they differ in byte order only."""
    if source == target and source.kind in "biufc":
        return True
    if source.kind == "T" or target.kind == "T":
        # NumPy makes the text "None" of a missing one. What zarr-python makes of it is for its own pipeline to say.
        return source.kind == target.kind and not hasattr(source, "na_object")
    return source.newbyteorder("=") == target.newbyteorder("=") or (source.kind in "biufc" and target.kind in "biufc")


class CodecPipeline(Pipeline):
    """The same as `Pipeline`."""


for _class in (Pipeline, CodecPipeline):
    # zarr-python finds a pipeline by these names.
    _class.__module__ = "zarrkit"
    register_pipeline(_class)
