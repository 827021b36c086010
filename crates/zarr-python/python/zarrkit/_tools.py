"""Copies, validates, repairs, computes checksums and compares."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from . import _errors, _zarrkit
from ._sizes import bytes_of
from ._tree_progress import TreeProgress, callback
from ._zarr_words import with_answers
from ._zarrkit import Array, Group, Plan

__all__ = [
    "Change",
    "Checksum",
    "CopyReport",
    "Diff",
    "ElementsDiff",
    "NodeChecksum",
    "NodeDiff",
    "Problem",
    "PyramidLevel",
    "PyramidReport",
    "References",
    "RepairReport",
    "RepairStep",
    "SyncReport",
    "ValidationReport",
    "checksum",
    "copy",
    "diff",
    "plan_copy",
    "pyramid",
    "refs",
    "repair",
    "sync",
    "validate",
]

Url = str | os.PathLike[str]
Source = Url | Array | Group
Report = bool | Callable[[TreeProgress], Any] | None
Options = Mapping[str, Any] | None
Shapes = int | Sequence[int] | str | Mapping[Any, Any] | None


def _dict(options: Options) -> dict[str, Any] | None:
    return None if options is None else dict(options)


def _texts(name: str, value: str | Iterable[str] | None) -> list[str]:
    if value is None:
        return []
    if not isinstance(value, Iterable):
        raise TypeError(f"`{name}` must be a string or several strings, not {type(value)}")
    return [value] if isinstance(value, str) else list(value)


def _flag(name: str, value: Any) -> bool:
    if isinstance(value, bool):
        return value
    raise TypeError(f"`{name}` must be True or False, not {value!r}")


def _format(to: str | int | None) -> str | None:
    """The name of a format; 2 and 3 are zarr-python's names of v2 and v3."""
    if to is None or isinstance(to, str):
        return to
    if isinstance(to, int) and not isinstance(to, bool):
        return str(to)
    raise TypeError(f"`to` must be the name of a format, such as \"v3\", not {type(to)}")


#: What the length -1, a whole axis, is to the library.
WHOLE_AXIS = 2**64 - 1


def _len(value: Any) -> int:
    return WHOLE_AXIS if value == -1 else int(value)


def _lens(value: int | Sequence[int] | None) -> list[int] | None:
    if value is None:
        return None
    return [_len(value)] if hasattr(value, "__index__") else [_len(length) for length in value]  # type: ignore[union-attr]


def _named(option: str, value: str) -> dict[str, Any]:
    """What a text says: a size, or of shards "none"."""
    if option == "shards" and value == "none":
        return {"none": True}
    return {"size": bytes_of(value)}


def _shapes(option: str, given: Shapes) -> tuple[list[int] | None, list[dict[str, Any]]]:
    """The shape for all arrays of one rank, and the rules for others: `{"array": …, "dimension": …, "shape": …, "size": …, "len": …, "none": True}`."""
    if isinstance(given, str):
        return None, [_named(option, given)]
    if not isinstance(given, Mapping):
        lens = _lens(given)
        return (None, [{"shape": lens}]) if lens is not None and WHOLE_AXIS in lens else (lens, [])
    every: list[int] | None = None
    rules: list[dict[str, Any]] = []
    for name, value in given.items():
        if name is ...:
            every, of_size = _shapes(option, value)
            rules += of_size
        elif not isinstance(name, str):
            raise TypeError(f"`{option}` must have names of arrays and dimensions, or `...` for all, not {name!r}")
        elif isinstance(value, Mapping):
            rules += [{"array": name, "dimension": dimension, "len": _len(length)} for dimension, length in value.items()]
        elif isinstance(value, str):
            rules.append({"array": name, **_named(option, value)})
        elif hasattr(value, "__index__") and "/" not in name:
            # With a slash it is the path of an array.
            rules.append({"dimension": name, "len": _len(value)})
        else:
            rules.append({"array": name, "shape": _lens(value)})
    return every, rules


def _named_codecs(codecs: Any) -> tuple[list[str] | None, list[dict[str, Any]]]:
    """The codecs for all arrays, and those of single ones."""
    # `{"name": …, "configuration": …}` is a codec.
    if not isinstance(codecs, Mapping) or set(codecs) <= {"name", "configuration"} and "name" in codecs:
        return _codecs(codecs), []
    for name in codecs:
        if name is not ... and not isinstance(name, str):
            raise TypeError(f"`codecs` must have names of arrays, or `...` for all, not {name!r}")
    rules = [{"array": name, "codecs": _codecs(value) or []} for name, value in codecs.items() if name is not ...]
    return _codecs(codecs.get(...)), rules


def _codecs(codecs: Any) -> list[str] | None:
    if codecs is None:
        return None
    if isinstance(codecs, (str, Mapping)):
        codecs = [codecs]
    import json

    texts = [codec if isinstance(codec, str) else json.dumps(dict(codec)) for codec in codecs]
    return [text for text in texts if text != "none"]


@dataclass(frozen=True)
class CopyReport:
    """What was copied."""

    #: How many nodes; of a part of a copy 0.
    nodes: int
    #: How many bytes of elements.
    bytes: int
    #: What the copy does not keep, each with its place.
    not_kept: list[str] = field(default_factory=list)
    #: The nodes that were left out, each with the reason.
    skipped: list[str] = field(default_factory=list)
    #: What the copy says otherwise, with nothing lost.
    notes: list[str] = field(default_factory=list)


@with_answers
def copy(
    src: Source,
    dst: Any,
    *,
    to: str | int | None = None,
    chunks: Shapes = None,
    shards: Shapes = None,
    codecs: str | Mapping[Any, Any] | Iterable[str | Mapping[str, Any]] | None = None,
    resume: bool = False,
    verify: bool | str = False,
    recode: bool = False,
    keep_keys: bool = False,
    keep_attributes: bool = False,
    no_extra_files: bool = False,
    missing: str = "fill",
    manifest: Url | None = None,
    overwrite: bool = False,
    memory: int | str | None = None,
    include: str | Iterable[str] | None = None,
    exclude: str | Iterable[str] | None = None,
    select: str | Iterable[str] | None = None,
    part: str | tuple[int, int] | None = None,
    finish: bool = False,
    dry_run: bool = False,
    strict: bool = False,
    skip_unsupported: bool = False,
    progress: Report = None,
    source_options: Options = None,
    storage_options: Options = None,
    threads: int | None = None,
) -> CopyReport | Plan:
    """Copies an array, or a group with all below it, to a new place, in any dialect.

    `src` is a path, a URL, a store or a node that is open; `dst` a path, a URL or a store: of a new hierarchy, or of a new node in one that is
    there. A store of Icechunk's session has the copy once you commit the session. `to` is the format of a new
    hierarchy: "v3", "v2", "draft-2020" (as zarr-python 2.18 opens it) or "draft-2020-text" (without regard for that); by default that of
    `src`. As a netCDF dataset: "nczarr-v2", "nczarr-v3", or plain Zarr, "zarr-v2", "zarr-v3"; such a copy is of a whole dataset, without
    shards. `chunks` and `shards` are those of arrays of that rank in the copy, a size ("16MiB"), or by name:
    `{"time": 100}` is a length along a dimension of all arrays but its coordinate, `{"t2m": (100, 10, 10)}` or `{"t2m": "16MiB"}` of an array,
    `{"t2m": {"time": 100}}` along one dimension of an array; `...` is a name for all others. The length -1 is a whole axis, and the shards
    "none" are none. The most specific counts. `codecs` are those of all
    arrays, or by name, `{"t2m": "zstd:3"}`.
    All chunks are written before the first document: a copy that was killed is not taken for a complete one, and `resume=True` goes on with it.
    `verify` reads every chunk back, and compares it by stored bytes where those are copied as they are, else by elements; with "data" always by
    elements. `recode` decodes and encodes every chunk again, also where its bytes could be copied as they are. `keep_keys` keeps the chunk keys of
    v2 in a copy to v3, `keep_attributes` the metadata of OME-Zarr images as they are. `no_extra_files` leaves out the files that are not Zarr's,
    and names them in the report. `missing="error"` raises `CorruptDataError` where `src` does not store a chunk, or an inner chunk of a shard, and
    the copy is not finished. `manifest` is the path of a file that `zarr checksum SRC --manifest --chunks` printed: a chunk of `src` that is not
    as it says is an error when it is read; a copy that goes on remembers it. `overwrite` erases what is at `dst` once nothing of the copy was refused. `memory` is about how much memory
    the process may take ("2GiB"), by default a quarter of the machine's.

    `include` and `exclude` are patterns of paths below `src`: `*` in a name, `**` in a path, `?`. `select` names the arrays to be copied.
    `part="3/8"` copies the chunks of one of eight parts, other processes the others; after all, `finish=True` writes the documents.
    `dry_run` returns the plan and writes nothing. `strict` refuses a copy that does not keep all; `skip_unsupported` leaves out what the dialect
    cannot represent. `progress` is True for a bar, or a function that takes a `TreeProgress`.

    Raises `ExistsError` if something is at `dst`; `ArgumentError`, `UnsupportedError` for what cannot be copied, before anything is written.
    Ctrl-C ends it between two chunks.
    """
    if finish:
        return _report(_zarrkit._finish_copy(dst, _format(to), _dict(storage_options)))
    number = None
    if part is not None:
        number, parts = _part(part)
    keeps = dict(recode=recode, keep_keys=keep_keys, keep_attributes=keep_attributes, no_extra_files=no_extra_files, no_missing=_refuses(missing))
    how = _how(chunks, shards, codecs, keeps, resume, verify, overwrite, memory, include, exclude, select, strict, skip_unsupported, manifest)
    options = _dict(source_options), _dict(storage_options)
    if number is None and not dry_run:
        return _report(_zarrkit._copy(src, dst, _format(to), how, callback(progress, "copy"), *options, threads))
    how["parts"] = None if number is None else parts
    plan = _zarrkit._plan_copy(src, dst, _format(to), how, *options, threads)
    if number is None or dry_run:
        return plan
    plan.run(number - 1, progress=progress)
    return CopyReport(0, 0, plan.not_kept, plan.skipped, plan.notes)


@with_answers
def plan_copy(
    src: Source,
    dst: Any,
    *,
    to: str | int | None = None,
    chunks: Shapes = None,
    shards: Shapes = None,
    codecs: str | Mapping[Any, Any] | Iterable[str | Mapping[str, Any]] | None = None,
    resume: bool = False,
    verify: bool | str = False,
    recode: bool = False,
    keep_keys: bool = False,
    keep_attributes: bool = False,
    no_extra_files: bool = False,
    missing: str = "fill",
    manifest: Url | None = None,
    overwrite: bool = False,
    memory: int | str | None = None,
    include: str | Iterable[str] | None = None,
    exclude: str | Iterable[str] | None = None,
    select: str | Iterable[str] | None = None,
    parts: int | None = None,
    strict: bool = False,
    skip_unsupported: bool = False,
    source_options: Options = None,
    storage_options: Options = None,
    threads: int | None = None,
) -> Plan:
    """Plans a copy, with the keywords of `copy`; nothing is written. `plan.begin()` puts it in the target; then `plan.run(n)` copies part `n` in
    this process or another one, that the plan was pickled to; `plan.finish()` writes the documents. `parts` is how many there are to be.
    """
    keeps = dict(recode=recode, keep_keys=keep_keys, keep_attributes=keep_attributes, no_extra_files=no_extra_files, no_missing=_refuses(missing))
    how = _how(chunks, shards, codecs, keeps, resume, verify, overwrite, memory, include, exclude, select, strict, skip_unsupported, manifest)
    how["parts"] = parts
    return _zarrkit._plan_copy(src, dst, _format(to), how, _dict(source_options), _dict(storage_options), threads)


def _how(
    chunks: Any,
    shards: Any,
    codecs: Any,
    keeps: dict[str, bool],
    resume: bool,
    verify: bool | str,
    overwrite: bool,
    memory: int | str | None,
    include: Any,
    exclude: Any,
    select: Any,
    strict: bool,
    skip_unsupported: bool,
    manifest: Url | None,
) -> dict[str, Any]:
    (chunks, chunk_rules), (shards, shard_rules) = _shapes("chunks", chunks), _shapes("shards", shards)
    codecs, codec_rules = _named_codecs(codecs)
    return {
        "chunks": chunks,
        "shards": shards,
        "codecs": codecs,
        "chunk_rules": chunk_rules,
        "shard_rules": shard_rules,
        "codec_rules": codec_rules,
        "resume": _flag("resume", resume),
        "verify": _verify(verify),
        "overwrite": _flag("overwrite", overwrite),
        "memory": bytes_of(memory),
        "include": _texts("include", include),
        "exclude": _texts("exclude", exclude),
        "select": _texts("select", select),
        "parts": None,
        "strict": _flag("strict", strict),
        "skip_unsupported": _flag("skip_unsupported", skip_unsupported),
        "manifest": None if manifest is None else os.fspath(manifest),
        **{name: _flag(name, value) for name, value in keeps.items()},
    }


def _refuses(missing: str) -> bool:
    if missing not in ("fill", "error"):
        raise ValueError(f'`missing` must be "fill" or "error", not {missing!r}')
    return missing == "error"


def _verify(verify: bool | str) -> str | None:
    if isinstance(verify, str):
        if verify not in ("stored", "data"):
            raise ValueError(f'`verify` must be True, False, "stored" or "data", not {verify!r}')
        return verify
    return "stored" if _flag("verify", verify) else None


def _part(part: str | tuple[int, int]) -> tuple[int, int]:
    pieces = part.split("/") if isinstance(part, str) else part
    try:
        number, parts = (int(piece) for piece in pieces)
    except ValueError:
        number, parts = 0, 0
    if not 1 <= number <= parts <= 100_000:
        raise ValueError(f"`part` must be \"I/N\" with I from 1 to N, as in \"3/8\", not {part!r}")
    return number, parts


def _report(done: dict[str, Any]) -> CopyReport:
    return CopyReport(**_lists_in_words(done))


def _lists_in_words(members: dict[str, Any]) -> dict[str, Any]:
    """The members of a report, with what they tell in words of Python."""
    told = "not_kept", "skipped", "notes", "left_out"
    return {name: [_one_in_words(text) for text in value] if name in told else value for name, value in members.items()}


@dataclass(frozen=True)
class Problem:
    """Something wrong, or a note."""

    #: The node, or the group below which the key is.
    path: str
    #: The key in the store, if it is about one.
    key: str | None
    #: A word for programs, such as "stray_key".
    kind: str
    #: What is wrong, in a sentence.
    message: str
    #: The clause of the specification that is broken, if it is known.
    clause: str | None
    #: The first level that finds it.
    level: str
    #: What to do about it.
    remedy: str

    def __str__(self) -> str:
        place = self.path if self.key is None else f"{self.path}: {self.key}"
        return f"{place}: {self.kind}: {self.message}; {self.remedy}"


@dataclass(frozen=True)
class ValidationReport:
    """What validation found, and how much it looked at."""

    #: What is wrong.
    problems: list[Problem]
    #: What is no fault of the data, and may be worth knowing.
    notes: list[Problem]
    #: How many nodes, keys, chunks or shards, inner chunks of shards, and bytes of chunks were looked at.
    nodes: int
    keys: int
    chunks: int
    inner_chunks: int
    bytes: int

    @property
    def is_sound(self) -> bool:
        """Whether no problem was found."""
        return not self.problems

    def __str__(self) -> str:
        count = len(self.problems)
        what = "no problems found" if self.is_sound else f"{count} problem{'s' if count > 1 else ''}"
        checked = f"checked {self.nodes} nodes, {self.keys} keys, {self.chunks} chunks"
        return "\n".join([*map(str, self.problems), f"{what}: {checked}"])


def validate(
    target: Source,
    *,
    level: str = "data",
    path: str = "",
    expect_complete: bool = False,
    progress: Report = None,
    storage_options: Options = None,
    threads: int | None = None,
) -> ValidationReport:
    """Finds what is wrong with a node and all below it: a path, a URL or a node that is open.

    `level` is how deep to look: "meta" reads the documents, "keys" also lists the store, "index" also looks at sizes and at the indices of
    shards, "data" also decodes every chunk. With `expect_complete` a chunk that is not stored is a problem. What is wrong is in the report; it
    raises `NotFoundError` only if no Zarr data are there.
    """
    found, counts = _zarrkit._validate(
        target, path, level, expect_complete, callback(progress, "validate", bytes=False), _dict(storage_options), threads
    )
    problems: tuple[list[Problem], list[Problem]] = [], []
    for members in found:
        is_note = members.pop("is_note")
        problems[is_note].append(Problem(**_in_words(members)))
    return ValidationReport(*problems, **counts)


def _in_words(members: dict[str, Any]) -> dict[str, Any]:
    from ._errors import in_words_of_python

    return {name: in_words_of_python(value) if name in ("message", "remedy", "what") else value for name, value in members.items()}


@dataclass(frozen=True)
class RepairStep:
    """One step of a repair."""

    #: The node, or the group below which the key is.
    path: str
    #: The key, if it is about one.
    key: str | None
    #: The kind of the problem.
    problem: str
    #: What is wrong, in a sentence.
    message: str
    #: What is done: "restore_document", "mend_shard", "quarantine", "consolidate", "remove_leftover" or "by_hand".
    action: str
    #: What is done, in a sentence.
    what: str
    #: How it ended: "planned", "done", "overtaken", "failed" or "by_hand".
    state: str

    def __str__(self) -> str:
        place = self.path if self.key is None else f"{self.path}: {self.key}"
        return f"{place}: {self.problem}: {self.action}, {self.state}: {self.what}"


@dataclass(frozen=True)
class RepairReport:
    """The steps of a repair, and how they ended."""

    steps: list[RepairStep]
    #: How many steps were made.
    done: int
    #: How many another program made unnecessary.
    overtaken: int
    #: How many are planned, failed, or have to be made by hand.
    left: int
    #: How many problems a last look found, after steps were made.
    found_after: int

    @property
    def is_sound(self) -> bool:
        """Whether nothing is left to do."""
        return self.left == 0 and self.found_after == 0

    def __str__(self) -> str:
        return "\n".join([*map(str, self.steps), f"{self.done} done, {self.left} left"])


def repair(
    target: Source,
    *,
    apply: bool = False,
    level: str = "data",
    path: str = "",
    orphans: bool = False,
    skip: str | Iterable[str] | None = None,
    progress: Report = None,
    storage_options: Options = None,
) -> RepairReport:
    """Plans how to repair what `validate` finds; with `apply=True` it makes these steps. It never destroys the only copy of a byte: what it takes
    away is in `.zarr-quarantine`. `orphans` moves chunks and attributes without a node away, too; `skip` names kinds of problems to pass over.
    """
    bar = callback(progress, "repair", bytes=False)
    steps, counts = _zarrkit._repair(target, path, level, apply, orphans, _texts("skip", skip), bar, _dict(storage_options))
    counts.pop("steps")
    return RepairReport([RepairStep(**_in_words(step)) for step in steps], **counts)


@dataclass(frozen=True)
class NodeChecksum:
    """The checksum of one node in a tree."""

    #: Its path from the node of which the checksum is.
    path: str
    #: "array" or "group".
    kind: str
    #: Its SHA-256 in hexadecimal digits; of a group with all below it.
    digest: str
    #: With `regions`, the shape of an array's blocks, and the hashes of blocks, of 256 of them each, and so on.
    block_shape: tuple[int, ...] | None = None
    levels: list[list[str]] | None = None


@dataclass(frozen=True, eq=False)
class Checksum:
    """The checksum of a node with all below it. Two are equal if their digests are."""

    #: The SHA-256 in hexadecimal digits.
    digest: str
    #: Each node, sorted by path, the node itself first; without `manifest` and `regions` that one only.
    nodes: list[NodeChecksum]

    @property
    def manifest(self) -> str:
        """Lines with the digest and the path of each node, as `zarrkit checksum --check` reads them."""
        return "".join(f"{node.digest}  {_escaped(node.path)}\n" for node in self.nodes)

    def __str__(self) -> str:
        return self.digest

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Checksum):
            return self.digest == other.digest
        return self.digest == other if isinstance(other, str) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.digest)


def _escaped(path: str) -> str:
    return path.replace("\\", "\\\\").replace("\n", "\\n").replace("\r", "\\r")


def checksum(
    target: Source,
    *,
    path: str = "",
    manifest: bool = False,
    regions: bool = False,
    memory: int | str | None = None,
    max_size: int | str | None = None,
    missing: str = "fill",
    progress: Report = None,
    storage_options: Options = None,
    threads: int | None = None,
) -> Checksum:
    """Computes the checksum of a node with all below it: of what it is, not of how it is stored. Copies in any dialect, with any chunks and codecs,
    in any store, have the same. `manifest` keeps that of each node; `regions` also the hashes of the blocks of arrays, to find where far copies
    differ. `memory` is about how many bytes of elements are held at once, by default 256 MiB; `max_size` is the most that all arrays may have,
    by default 16 TiB. `missing="error"` raises `CorruptDataError` where a chunk is not stored; a node that is open has its own `missing`.
    """
    bar = callback(progress, "checksum")
    nodes = _zarrkit._checksum(target, path, regions, (bytes_of(memory) or 0, bytes_of(max_size) or 0), missing, bar, _dict(storage_options), threads)
    for node in nodes:
        if "block_shape" in node:
            node["block_shape"] = tuple(node["block_shape"])
    kept = nodes if manifest or regions else nodes[:1]
    return Checksum(nodes[0]["digest"], [NodeChecksum(**node) for node in kept])


@dataclass(frozen=True)
class Change:
    """A difference in metadata."""

    #: "only_in_first", "only_in_second", "kind", "attribute", "property", "not_compared", "file", which is not Zarr's, or
    #: "unread", which no reader finds. `first` and `second` of the last two are whether it is there.
    what: str
    #: The attribute, property or file; of "not_compared" and "unread" what it is.
    name: str
    first: Any
    second: Any


@dataclass(frozen=True)
class ElementsDiff:
    """How the elements of two arrays differ."""

    #: How many elements were compared, and how many differ.
    compared: int
    different: int
    #: The largest differences, absolute and in proportion to the larger number, as text, where the elements are numbers.
    max_absolute: str | None
    max_relative: str | None
    #: The first of them: dicts with `index`, `field`, `first` and `second`.
    places: list[dict[str, Any]]


@dataclass(frozen=True)
class NodeDiff:
    """How a node differs."""

    #: Its path from the nodes that are compared.
    path: str
    changes: list[Change]
    elements: ElementsDiff | None = None

    def __str__(self) -> str:
        lines = [f"{self.path}: {change.what} {change.name}: {change.first!r}, {change.second!r}" for change in self.changes]
        if self.elements is not None:
            lines.append(f"{self.path}: {self.elements.different} of {self.elements.compared} elements differ")
        return "\n".join(lines)


@dataclass(frozen=True)
class Diff:
    """How two trees differ."""

    #: The nodes that differ, sorted by path.
    nodes: list[NodeDiff]
    #: How many nodes both have.
    compared: int

    @property
    def is_equal(self) -> bool:
        """Whether there is no difference."""
        return not self.nodes

    def __str__(self) -> str:
        return "\n".join(map(str, self.nodes)) or f"no difference in {self.compared} nodes"


@with_answers
def diff(
    a: Source,
    b: Source,
    *,
    tolerance: float = 0.0,
    relative: float = 0.0,
    bits: bool = False,
    ignore_attributes: bool = False,
    ignore_fill: bool = False,
    ignore_dims: bool = False,
    ignore_files: bool = False,
    layout: bool = False,
    only_metadata: bool = False,
    common: bool = False,
    places: int = 10,
    max_size: int | str | None = None,
    missing: str = "fill",
    progress: Report = None,
    first_options: Options = None,
    second_options: Options = None,
) -> Diff:
    """Compares two nodes with all below them, whatever their dialects, chunks, codecs and stores, and the files among them that are not Zarr's.

    Numbers may be `tolerance` from each other, or `relative` in proportion to the larger one. `bits` compares the bits of elements: NaNs with
    other bits differ, and so do the two zeros. `layout` tells differences in chunks, shards, codecs, fill values and formats, too. Of arrays with
    different lengths `common` compares the elements that both have. `places` is how many places of an array are listed, at most 100. `max_size` is as for
    `checksum`.
    """
    options = {
        "absolute": tolerance,
        "relative": relative,
        "bits": bits,
        "ignore_attributes": ignore_attributes,
        "ignore_fill": ignore_fill,
        "ignore_dimensions": ignore_dims,
        "ignore_files": ignore_files,
        "layout": layout,
        "only_metadata": only_metadata,
        "common": common,
        "places": places,
        "max_size": bytes_of(max_size),
        "first_options": _dict(first_options),
        "second_options": _dict(second_options),
    }
    nodes, compared = _zarrkit._diff(a, b, options, callback(progress, "diff"))
    return Diff([_node_diff(node) for node in nodes], compared)


def _node_diff(node: dict[str, Any]) -> NodeDiff:
    elements = node.get("elements")
    changes = [Change(**change) for change in node["changes"]]
    return NodeDiff(node["path"], changes, None if elements is None else ElementsDiff(**elements))


@dataclass(frozen=True)
class SyncReport:
    """What a sync did, or would do with `dry_run`."""

    #: How many objects were copied, documents among them, and their bytes.
    copied: int
    bytes: int
    #: How many objects were the same.
    unchanged: int
    #: What only the target had, and was deleted.
    deleted: list[str]
    #: What only the target has, and keeps.
    only_in_target: list[str]
    #: What cannot be kept.
    not_kept: list[str]
    notes: list[str]
    #: What others changed in the source while it was read: sync again.
    changed_meanwhile: list[str]

    def __str__(self) -> str:
        return f"copied {self.copied} objects, {self.bytes} bytes; {self.unchanged} unchanged, {len(self.deleted)} deleted"


def sync(
    source: Source,
    target: Any,
    *,
    compare: str = "times",
    delete: bool = False,
    extra_files: bool = True,
    verify: bool = False,
    memory: int | str | None = None,
    dry_run: bool = False,
    progress: Report = None,
    source_options: Options = None,
    storage_options: Options = None,
    threads: int | None = None,
) -> SyncReport:
    """Makes a copy equal to its source by stored objects: only those that differ are copied, as they are; nothing is decoded.

    `compare` says by what objects are taken for equal: "times" by their size and by when they were set, "sizes" by their size alone, "content"
    by their bytes. `delete` deletes what the source lacks, after all else. `verify` reads each copied object back. `extra_files=False`
    leaves out files that are not Zarr's. With `dry_run` nothing is written. Called again after a kill it goes on. `source_options` are for
    the source and `storage_options` for the target.
    """
    if compare not in ("times", "sizes", "content"):
        raise ValueError(f"`compare` must be \"times\", \"sizes\" or \"content\", not {compare!r}")
    asked = {
        "compare": compare,
        "delete": _flag("delete", delete),
        "extra_files": _flag("extra_files", extra_files),
        "verify": _flag("verify", verify),
        "memory": bytes_of(memory),
        "dry_run": _flag("dry_run", dry_run),
    }
    done = _zarrkit._sync(source, target, asked, callback(progress, "sync"), _dict(source_options), _dict(storage_options), threads)
    return SyncReport(**_lists_in_words(done))


@dataclass(frozen=True)
class PyramidLevel:
    """A level of an image that was made, or would be with `dry_run`."""

    #: The path of its array.
    path: str
    shape: tuple[int, ...]
    chunks: tuple[int, ...]
    shards: tuple[int, ...] | None
    #: How many elements of the image itself, along each axis, became one.
    factors: tuple[int, ...]
    #: How they became one.
    method: str


@dataclass(frozen=True)
class PyramidReport:
    """The levels that were made; none if the image had all."""

    levels: list[PyramidLevel]
    notes: list[str]

    def __str__(self) -> str:
        lines = [f"{level.path}: {level.shape}, {level.method} of {level.factors}" for level in self.levels]
        return "\n".join(lines) or "all levels are there"


def pyramid(
    target: Source,
    *,
    path: str = "",
    convention: str | None = None,
    method: str | None = None,
    factor: int | Mapping[str, int] | None = None,
    levels: int | None = None,
    chunks: Sequence[int] | None = None,
    shards: Sequence[int] | str | None = None,
    rounding: str = "half-even",
    keep_nan: bool = False,
    min_valid: float = 0.0,
    labels: bool = True,
    memory: int | str | None = None,
    part: str | tuple[int, int] | None = None,
    finish: bool = False,
    resume: bool = False,
    restart: bool = False,
    dry_run: bool = False,
    progress: Report = None,
    storage_options: Options = None,
    threads: int | None = None,
) -> PyramidReport:
    """Adds the levels of lower resolution that an OME-Zarr image lacks, and those of its labels. What is there stays as it is.

    With `convention="geo"`, the target is a group of variables on a map, which all get the same levels, listed by GeoZarr's conventions; each level
    is a group with the same arrays, with means as coordinates. This is the default where the group already lists levels in that way.

    `method` is "mean", "min", "max", "median", "mode", "nearest" or "gaussian"; by default the mean, of bools the mode; labels always have the
    mode or the nearest. `factor` is how many elements become one from level to level, by default 2 along y and x, or a mapping of the axes'
    names, as in `{"z": 2, "y": 2, "x": 2}`. `levels` is how many there are at the end, the image itself being one. `chunks` and `shards` are those
    of new levels, `shards="none"` for none; by default those of the image. `rounding` is that of means of integers: "half-even", "half-away" or
    "toward-zero". NaN, and elements equal to the attributes `_FillValue` or `missing_value`, are left out, NaN not with `keep_nan`; means are
    missing where a share of less than `min_valid` is there. `memory` is about how many bytes the process may have.

    The result is the same whatever `threads`, `memory` and `part` are. A pyramid that was killed goes on with `resume=True`, or begins anew with
    `restart=True`. `part="2/8"` makes one of eight parts, and after all of them `finish=True` the rest. With `dry_run` nothing is written.
    """
    by_axis = isinstance(factor, Mapping)
    asked = {
        "convention": convention,
        "method": method,
        "factor": None if factor is None or by_axis else int(factor),  # type: ignore[arg-type]
        "factors": [(str(name), int(by)) for name, by in factor.items()] if by_axis else [],  # type: ignore[union-attr]
        "levels": levels,
        "chunks": None if chunks is None else [int(length) for length in chunks],
        "shards": _shards_of_levels(shards),
        "rounding": rounding,
        "keep_nan": _flag("keep_nan", keep_nan),
        "min_valid": float(min_valid),
        "memory": bytes_of(memory),
        "part": None if part is None else _part(part),
        "finish": _flag("finish", finish),
        "resume": _flag("resume", resume),
        "restart": _flag("restart", restart),
        "labels": _flag("labels", labels),
        "dry_run": _flag("dry_run", dry_run),
    }
    if sum((part is not None, finish, restart)) > 1:
        raise ValueError("give one of `part`, `finish` and `restart`")
    done = _zarrkit._pyramid(target, path, asked, callback(progress, "pyramid"), _dict(storage_options), threads)
    shape = ("shape", "chunks", "shards", "factors")
    made = [{name: tuple(value) if name in shape and value is not None else value for name, value in level.items()} for level in done["levels"]]
    return PyramidReport([PyramidLevel(**level) for level in made], [_one_in_words(note) for note in done["notes"]])


def _one_in_words(text: str) -> str:
    from ._errors import in_words_of_python

    return str(in_words_of_python(text))


def _shards_of_levels(shards: Sequence[int] | str | None) -> list[int] | None:
    if shards is None:
        return None
    if isinstance(shards, str):
        if shards == "none":
            return []
        raise ValueError(f"`shards` must be a shape or \"none\", not {shards!r}")
    return [int(length) for length in shards]


class References:
    """References to the chunks of files, as `refs` makes them."""

    def __init__(self, raw: _zarrkit.RawReferences, files: int) -> None:
        self._raw = raw
        self._files = files

    @property
    def axis(self) -> str | None:
        """The dimension along which the files were joined; None of a single one."""
        return self._raw.axis

    @property
    def arrays(self) -> int:
        """How many arrays there are."""
        return self._raw.arrays

    @property
    def inlined(self) -> int:
        """How many chunks are in the references themselves."""
        return self._raw.inlined

    @property
    def lost(self) -> list[str]:
        """Arrays that are left out since their elements cannot be read, and why."""
        return self._raw.lost

    @property
    def notes(self) -> list[str]:
        """What other programs may not be able to read."""
        return [_one_in_words(note) for note in self._raw.notes]

    def __len__(self) -> int:
        """How many chunks are referred to."""
        return self._raw.references

    def __repr__(self) -> str:
        axis = f", joined along {self.axis!r}" if self.axis else ""
        return f"<zarrkit.References to {len(self)} chunks of {self.arrays} arrays in {self._files} files{axis}>"

    def to_dict(self) -> dict[str, Any]:
        """The references as kerchunk has them, version 1: what fsspec's `ReferenceFileSystem` takes."""
        found: dict[str, Any] = json.loads(self._raw.json())
        return found

    def write(self, path: Url, *, overwrite: bool = False, relative: bool = False) -> None:
        """Writes the reference file, JSON, which appears once it is complete.

        `relative` names local files by their paths from its folder, so that they can be moved together. zarrkit reads such references, and so does
        GDAL; fsspec begins at the folder of its process.

        Raises `FileExistsError` if there is a file and not `overwrite`; `ValueError` if it is one of the sources, or in one.
        """
        place = os.path.abspath(os.fspath(path))
        real = os.path.realpath(place)
        if self._raw.reads(place):
            raise ValueError(f"{place} is one of the files that the references are to, or inside one; give another path")
        if os.path.lexists(place) and not _flag("overwrite", overwrite):
            raise FileExistsError(f"{place} exists; overwrite=True replaces it")
        text = self._raw.json(os.path.dirname(place) if _flag("relative", relative) else None)
        part = f"{real}.{os.getpid()}.part"
        try:
            with open(part, "xb") as file:
                file.write(text)
            os.replace(part, real)
        except BaseException:
            if os.path.exists(part):
                os.unlink(part)
            raise

    def allow_target(self, path: Url) -> list[str]:
        """What the option `allow_target` must name for zarrkit to read the reference file at `path`: the folders of files outside its own."""
        return self._raw.allow_target(os.fspath(path))


def refs(
    sources: Url | Iterable[Url],
    *,
    axis: str | None = None,
    to: str | int | None = None,
    inline: int | str = 500,
    exclude: str | Iterable[str] | None = None,
    verify: bool = True,
    strict: bool = False,
    source_options: Options = None,
    threads: int | None = None,
) -> References:
    """Makes references to the chunks of netCDF and HDF5 files, so that they are read as one hierarchy; no data are copied.

    `sources` are paths or URLs: of netCDF-3, netCDF-4 and HDF5 files, or of Zarr hierarchies of v2 or v3. Several are joined in this order along
    `axis`, by default the dimension whose lengths or coordinates differ. Coordinates along it are in the references themselves. Attributes
    are those of the first file; everything else must be equal, which `verify=False` does not check of the elements of arrays without that dimension.

    `to` is the format of the documents, "v3" or "v2"; by default v3, or that of a hierarchy. Chunks of at most `inline` bytes are in the
    references themselves. `exclude` has paths of nodes that are left out. Arrays that cannot be read in place are in `lost`; with `strict` they are
    an error.

    Raises `ArgumentError` for files that cannot be joined, saying where they differ; `UnsupportedError` with `strict`.
    """
    files = [sources] if isinstance(sources, str | os.PathLike) else list(sources)
    texts = [os.fspath(file) for file in files]
    if not all(isinstance(text, str) for text in texts):
        raise TypeError("`sources` must be paths or URLs, not bytes; convert them with os.fsdecode")
    name = _format(to)
    name = {"2": "v2", "3": "v3"}.get(name or "", name)
    if name not in (None, "v2", "v3"):
        raise ValueError(f'`to` must be "v2" or "v3", not {to!r}')
    if not hasattr(_zarrkit, "_refs"):
        raise _errors.UnsupportedError("this build of zarrkit does not support references; use a build with the feature `references`")
    asked = {
        "axis": axis,
        "inline": bytes_of(inline),
        "to": name,
        "exclude": _texts("exclude", exclude),
        "verify": _flag("verify", verify),
    }
    made = References(_zarrkit._refs(texts, asked, _dict(source_options), threads), len(texts))
    if _flag("strict", strict) and made.lost:
        raise _errors.UnsupportedError(f"some data cannot be referred to: {made.lost[0]}; exclude it, or leave out strict=True")
    return made
