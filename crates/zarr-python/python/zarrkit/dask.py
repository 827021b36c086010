"""Dask arrays from Zarr arrays, and back: many processes write one array, and no element is lost.

`from_zarr` makes a Dask array of an array. `store` writes a Dask array: it cuts the work into parts, each of which one task writes and
reads back, and notes in the store which parts are done. When a worker dies, another one does its parts; when the driver dies,
`resume=True` goes on where it stopped.
"""

import hashlib
import json
import math
import time
import uuid
import warnings
from dataclasses import dataclass
from typing import Any, Literal

import dask
import dask.array as da
import numpy as np
from dask.base import tokenize
from dask.core import flatten
from dask.delayed import Delayed
from dask.highlevelgraph import HighLevelGraph

from . import _plan
from ._errors import ArgumentError, ConflictError, CorruptDataError, UnalignedWriteError, ZarrWarning
from ._zarrkit import Array, Group
from ._zarrkit import open as open_node

__all__ = ["Stored", "from_zarr", "store"]

# A part reads straight from an array if no element is decoded more often than this. Else parts share the blocks that were read: these
# take more memory, and are sent from worker to worker.
_MOST_REREADS = 8

# The most pieces into which Dask cuts blocks in one step.
_MOST_PIECES = 200_000

# An unfinished file that was not written to for this many seconds, after the last part is done, is that of a worker that died.
_DEAD = 5.0


def from_zarr(url: Any, chunks: Any = "shards", *, storage_options: dict[str, Any] | None = None) -> da.Array:
    """A Dask array of the array at a URL or path, or of an `Array`.

    `chunks` is how it is cut into blocks: "shards", a block for each stored object; "chunks", one for each chunk inside of shards;
    otherwise what Dask takes, such as a tuple, -1 or "auto". The workers open the URL themselves, and read a block when they need it.
    """
    array = _array(url, "r", storage_options)
    if isinstance(chunks, str) and chunks in ("shards", "chunks"):
        inner = array.chunks if chunks == "chunks" else None
        chunks = inner or tuple(_plan.lens_of(ends) for ends in array._stored_ends())
    return da.from_array(
        array,
        chunks=chunks,
        name=f"from-zarrkit-{tokenize(array, chunks)}",
        lock=False,
        asarray=True,
        fancy=False,
        meta=np.empty((0,) * array.ndim, array.dtype),
    )


@dataclass(frozen=True)
class Stored:
    """What `store` did."""

    parts: int
    """How many parts the array was cut into."""
    written: int
    """How many of them this call wrote."""
    resumed: int
    """How many were done before: by an earlier call, or by a worker that died later."""


def store(
    x: da.Array,
    target: Any,
    mode: Literal["plan", "guard", "strict"] = "plan",
    *,
    resume: bool = False,
    verify: bool = True,
    compute: bool = True,
    storage_options: dict[str, Any] | None = None,
    **kwargs: Any,
) -> Any:
    """Writes a Dask array into an array of the same shape and dtype: an `Array` that is opened with "r+", or its URL.

    `mode` decides what happens if blocks of `x` share a stored object (a shard, or a chunk without shards). "plan" joins and cuts
    such blocks along stored objects, so that one task writes each object. "guard" writes the blocks as they are; each write is merged
    into what is stored. "strict" raises `UnalignedWriteError` before anything is written.

    Each part that is stored is noted in `.zarrkit-run`, beside the chunks; the end of the call erases the notes. After a failure, the
    same call with `resume=True` writes only the parts that have no note. It has to be the same `x`, by its `x.name`, with the same
    blocks. With `verify`, each part is read back and compared with what was written; a part of an earlier call, with its note.

    Returns a `Stored`; with `compute=False`, a `dask.delayed` that computes one. `kwargs` are those of `compute`.

    Raises `ArgumentError` if shape or dtype differ, and `CorruptDataError` if a part reads back as something else than was written.
    """
    array = _array(target, "r+", storage_options)
    x = _cut(_checked(x, array), array, mode)
    run = _Run(array, tokenize(x.name, x.chunks, array.dtype.str), verify)
    boxes = _plan.boxes([_plan.ends_of(lens) for lens in x.chunks])
    done = run.begin(resume, len(boxes))
    written = da.map_blocks(
        _write_block,
        x,
        run=run,
        dtype=bool,
        chunks=tuple((1,) * count for count in x.numblocks),
        meta=np.empty((0,) * x.ndim, bool),
    )
    end = _graph(written, run, boxes, done)
    array._flush()
    return end.compute(**kwargs) if compute else end


def _graph(written: da.Array, run: "_Run", boxes: list[_plan.Box], done: set[int]) -> Delayed:
    """What computes the parts that are not done, and then ends the run."""
    keys = list(flatten(written.__dask_keys__()))
    graph = dict(written.__dask_optimize__(written.__dask_graph__(), keys))
    # Dask renames tasks that it joins, and leaves an alias for each, which costs as much time as a task.
    todo = [getattr(graph[key], "target", key) for part, key in enumerate(keys) if part not in done]
    name = f"zarrkit-store-{uuid.uuid4().hex}"
    again = {(name, part): (_check_part, run, part, boxes[part]) for part in sorted(done) if run.verify}
    graph |= again
    graph[name] = (_end, run, len(boxes), todo, list(again))
    return Delayed(name, HighLevelGraph.from_collections(name, graph))


def _array(target: Any, mode: str, storage_options: dict[str, Any] | None) -> Array:
    """The array that a caller names."""
    node = target if isinstance(target, Array | Group) else open_node(target, mode, storage_options=storage_options)
    if not isinstance(node, Array):
        raise ArgumentError(f"{node!r} is not an array; name one of its members")
    return node


def _checked(x: Any, array: Array) -> da.Array:
    """The Dask array, if its elements are those that the array takes."""
    if not isinstance(x, da.Array):
        raise ArgumentError(f"{array.path}: `x` is {type(x).__name__}, not a Dask array; make one with `dask.array.from_array`")
    if x.shape != array.shape:
        raise ArgumentError(f"{array.path}: `x` has shape {x.shape}, the array has {array.shape}; `resize` it, or create one of that shape")
    if _native(x.dtype) != _native(array.dtype):
        raise ArgumentError(f"{array.path}: `x` has dtype {x.dtype}, the array has {array.dtype}; convert it with `x.astype`")
    if any(isinstance(source, Array) and (source.store, source.path) == (array.store, array.path) for source in _sources(x)):
        text = "`x` reads the array that it is stored into: elements may be read before or after they are written; store into another one"
        warnings.warn(f"{array.path}: {text}", ZarrWarning, stacklevel=3)
    return x


def _native(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """The dtype in the byte order of this machine. Strings of variable length have none."""
    return np.dtypes.StringDType() if dtype.kind == "T" else dtype.newbyteorder("=")


def _sources(x: da.Array) -> list[Any]:
    """The arrays of which a Dask array is made."""
    found = [x.dask[name] for name in x.dask.layers if name.startswith("original-")]
    return [getattr(source, "value", source) for source in found]


def _cut(x: da.Array, array: Array, mode: str) -> da.Array:
    """The Dask array, with one block for each part."""
    if mode not in ("plan", "guard", "strict"):
        raise ArgumentError(f'unknown mode {mode!r}: expected "plan", "guard" or "strict"')
    blocks, stored = [_plan.ends_of(lens) for lens in x.chunks], array._stored_ends()
    shared = _plan.misaligned(blocks, stored)
    if shared is None or mode == "guard":
        return x
    if mode == "strict":
        axis, border = shared
        shape = array.shards or array.chunks
        multiples = f"multiples of {shape}" if shape else "the ends of the stored objects"
        raise UnalignedWriteError(
            f"{array.path}: two blocks share a stored object: a border is at {border} of axis {axis}, inside the object; rechunk `x` to "
            f'{multiples}, or use mode="plan" or mode="guard"'
        )
    parts = _plan.plan(blocks, stored)
    lens = tuple(_plan.lens_of(ends) for ends in parts)
    source = _source(x)
    if source is not None and _plan.rereads(parts, source.chunks) <= _MOST_REREADS:
        name = f"{x.name}-{tokenize(lens)}"
        return da.from_array(source, chunks=lens, name=name, lock=False, asarray=True, fancy=False, meta=x._meta)
    # The method "p2p", through the disks of workers, starts again when a worker dies. In one step, parts are not made of larger ones.
    pieces = math.prod(len({*ends, *borders}) for ends, borders in zip(blocks, parts, strict=True))
    steps = {"threshold": math.inf} if pieces <= _MOST_PIECES else {}
    return x.rechunk(lens, method=dask.config.get("array.rechunk.method", None) or "tasks", **steps)


def _source(x: da.Array) -> Any:
    """The array of zarrkit or of zarr-python of which a Dask array is made, if nothing else was done to it."""
    if set(x.dask.layers) != {x.name, f"original-{x.name}"}:
        return None
    source = x.dask[f"original-{x.name}"]
    source = getattr(source, "value", source)
    is_zarr = isinstance(source, Array) or type(source).__module__.partition(".")[0] == "zarr"
    return source if is_zarr and source.chunks and source.shape == x.shape and source.dtype == x.dtype else None


@dataclass(frozen=True)
class _Run:
    """One call of `store`, and the notes of its parts in the store. Tasks carry it: it pickles as the URL of the array."""

    array: Array
    name: str
    verify: bool

    def begin(self, resume: bool, parts: int) -> set[int]:
        """The parts that are done. The notes of other calls are erased: those parts may be written again, and differ."""
        notes = [note.partition("/") for note in self.array._run_list()]
        done = {int(part) for run, _, part in notes if run == self.name and part.isdigit() and int(part) < parts}
        if resume and done:
            return done
        if resume and notes:
            text = "a run that has not ended had another `x`, other blocks or another mode, so all parts are written"
            warnings.warn(f"{self.array.path}: {text}", ZarrWarning, stacklevel=3)
        self.array._run_erase()
        return set()

    def is_done(self, part: int) -> bool:
        return self.array._run_get(self.name, str(part)) is not None

    def note(self, part: int, box: _plan.Box, checksum: str) -> None:
        region = [[along.start, along.stop] for along in box]
        note = json.dumps({"region": region, "checksum": checksum})
        self.array._run_put(self.name, str(part), note.encode())


def _write_block(block: Any, run: _Run, block_info: Any = None) -> np.ndarray:
    """Writes a block of the Dask array, unless its part is done: by a worker that died since. Whether it was written, in as many axes."""
    where = block_info[0]
    box = tuple(slice(start, stop) for start, stop in where["array-location"])
    part = int(np.ravel_multi_index(where["chunk-location"], where["num-chunks"])) if box else 0
    is_done = run.is_done(part)
    if not is_done:
        # NumPy would make the text "None" of a missing one, which the array refuses.
        block = np.asarray(block) if run.array.dtype.kind == "T" else np.asarray(block, dtype=run.array.dtype)
        run.array[box] = block
        written = _checksum([block])
        if run.verify and (stored := _checksum_stored(run.array, box)) != written:
            raise CorruptDataError(
                f"{run.array.path}, {_text(box)}: what was written reads back as other elements (checksum {stored}, not {written}): "
                "another writer writes them, too, the storage is damaged, or a codec is lossy; with a lossy one, use `verify=False`"
            )
        run.note(part, box, written)
        run.array._publish()
    return np.full((1,) * len(box), not is_done)


def _check_part(run: _Run, part: int, box: _plan.Box) -> None:
    """Compares a part that an earlier call wrote with its note."""
    note = run.array._run_get(run.name, str(part))
    written = json.loads(note)["checksum"] if note else None
    stored = _checksum_stored(run.array, box)
    if stored != written:
        raise ConflictError(
            f"{run.array.path}, {_text(box)}: the elements are not those that the earlier run wrote (checksum {stored}, not {written}): "
            "another writer has changed them; write all parts with `resume=False`"
        )


def _end(run: _Run, parts: int, written: list[Any], _checked: list[None]) -> Stored:
    """Erases the notes once all parts are done, and what workers left that died."""
    run.array._run_erase()
    deadline = time.monotonic() + 2 * _DEAD
    while run.array._sweep(_DEAD) and time.monotonic() < deadline:
        time.sleep(_DEAD / 10)
    count = sum(int(np.asarray(part).sum()) for part in written)
    return Stored(parts=parts, written=count, resumed=parts - count)


def _checksum_stored(array: Array, box: _plan.Box) -> str:
    """The checksum of elements in the store, of which few are in memory at once."""
    if not box:
        return _checksum([np.asarray(array[()])])
    first, *others = box
    step = array.chunks[0] if array.chunks else max(1, first.stop - first.start)
    # From one border between chunks to the next, so that each chunk is read once.
    borders = [first.start, *range(first.start - first.start % step + step, first.stop, step), first.stop]
    return _checksum(array[(slice(start, stop), *others)] for start, stop in zip(borders, borders[1:], strict=False))


def _checksum(pieces: Any) -> str:
    """The BLAKE2b hash of the bytes of elements in C order; of texts of variable length, of their values."""
    digest = hashlib.blake2b(digest_size=16)
    for piece in pieces:
        if piece.dtype.kind in "OT":
            for value in piece.ravel().tolist():
                digest.update(f"{value!r},".encode())
        else:
            digest.update(np.ascontiguousarray(piece).reshape(-1).view(np.uint8))
    return digest.hexdigest()


def _text(box: _plan.Box) -> str:
    return "[" + ", ".join(f"{along.start}:{along.stop}" for along in box) + "]"
