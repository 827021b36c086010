"""Plans who writes what: cuts an array into parts so that no two parts share a stored object.

Nothing here needs Dask, a store or NumPy. Axes are described by the ends of their pieces, in ascending order: `[200, 400, 500]` are
three pieces of an axis of 500 elements. `stored` has the ends of the stored objects: shards, or chunks where there are no shards.
"""

from collections.abc import Sequence
from itertools import accumulate, pairwise, product
from math import prod

Ends = list[int]
Box = tuple[slice, ...]


def ends_of(lens: Sequence[int]) -> Ends:
    """The ends of pieces of these lengths."""
    return list(accumulate(lens))


def lens_of(ends: Ends) -> tuple[int, ...]:
    """The lengths of pieces with these ends."""
    return tuple(end - start for start, end in pairwise([0, *ends])) if ends else (0,)


def misaligned(blocks: Sequence[Ends], stored: Sequence[Ends]) -> tuple[int, int] | None:
    """The first axis, and where on it, that a border between blocks is inside a stored object: both blocks write it. Else None."""
    for axis, (ends, borders) in enumerate(zip(blocks, stored, strict=True)):
        inside = set(ends) - set(borders) - {0}
        if inside:
            return axis, min(inside)
    return None


def boxes(parts: Sequence[Ends]) -> list[Box]:
    """The parts as slices, in C order: the part with number `n` is always the same."""
    along = [[slice(start, end) for start, end in pairwise([0, *ends])] for ends in parts]
    return list(product(*along))


def plan(blocks: Sequence[Ends], stored: Sequence[Ends]) -> list[Ends]:
    """The ends of parts that share no stored object, one list for each axis.

    Blocks that share none are the parts. Otherwise, an axis on which blocks share stored objects is cut where those end; the others are
    cut only where parts would else be larger than the largest block and the largest stored object. A part has as many neighbouring
    objects as fit into the size of the largest block, at least one.
    """
    if misaligned(blocks, stored) is None:
        return [list(ends) for ends in blocks]
    most = max(prod(map(_longest, blocks)), prod(map(_longest, stored)))
    is_shared = [not set(ends) <= {0, *borders} for ends, borders in zip(blocks, stored, strict=True)]
    # How long the longest piece of each axis is: objects where blocks share them, else blocks.
    lens = [_longest(borders if shared else ends) for ends, borders, shared in zip(blocks, stored, is_shared, strict=True)]
    runs: list[int | None] = [1 if shared else None for shared in is_shared]
    for axis, borders in enumerate(stored):
        if runs[axis] is None and prod(lens) > most:
            runs[axis] = _fitting(borders, most // max(1, prod(lens) // lens[axis]))
            lens[axis] = runs[axis] * _longest(borders)
    for axis in reversed(range(len(stored))):
        if is_shared[axis] and (room := most // max(1, prod(lens) // lens[axis])) > lens[axis]:
            runs[axis] = _fitting(stored[axis], room)
            lens[axis] = runs[axis] * _longest(stored[axis])
    return [_cut(ends, borders, run) for ends, borders, run in zip(blocks, stored, runs, strict=True)]


def rereads(parts: Sequence[Ends], chunks: Sequence[int]) -> float:
    """How often an element is decoded, on average, if each part reads what it needs from an array with chunks of this shape."""
    times = 1.0
    for ends, chunk in zip(parts, chunks, strict=True):
        touched = sum(-(-end // chunk) - start // chunk for start, end in pairwise([0, *ends]))
        times *= touched * chunk / max(1, ends[-1] if ends else 1)
    return times


def _longest(ends: Ends) -> int:
    return max(1, *lens_of(ends))


def _fitting(stored: Ends, length: int) -> int:
    """How many neighbouring objects have at most this length together; at least one."""
    return min(max(1, length // _longest(stored)), max(1, len(stored)))


def _cut(blocks: Ends, stored: Ends, run: int | None) -> Ends:
    """The ends of parts along an axis: the blocks themselves, or runs of stored objects. Blocks that share no object stay if they fit."""
    if run is None:
        return list(blocks)
    blocks = sorted({*blocks} - {0})
    most, borders, parts = run * _longest(stored), {*stored}, []
    common = [end for end in blocks if end in borders]
    place = {end: at for at, end in enumerate(blocks)}
    objects = {end: at for at, end in enumerate(stored)}
    for start, end in pairwise([0, *common]):
        is_block = place[end] == place.get(start, -1) + 1
        if is_block and end - start <= most:
            parts.append(end)
        else:
            inside = stored[objects.get(start, -1) + 1 : objects[end] + 1]
            parts += [*inside[run - 1 : -1 : run], inside[-1]]
    return parts
