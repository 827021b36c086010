"""Creates arrays, and shows groups and arrays as text and HTML."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np

from . import _zarrkit
from ._tree_progress import size
from ._zarrkit import Array, Group

__all__ = ["Member", "Text", "create", "create_array"]

Lengths = int | Sequence[int]
Codec = str | Mapping[str, Any]


def escape(text: str) -> str:
    """The text with the letters escaped that HTML takes for markup."""
    from html import escape

    return escape(text)


class Member(NamedTuple):
    """A member of a group. `kind` is "array" or "group"; `shape` and `dtype` are None for a group, `dtype` also for a data type that NumPy
    cannot hold."""

    name: str
    path: str
    kind: str
    shape: tuple[int, ...] | None
    dtype: np.dtype[Any] | None
    node: Array | Group


class Text(str):
    """Text that shows itself as it is, in an interactive session as well."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        return f"<pre>{escape(self)}</pre>"


def create(
    url: str | os.PathLike[str],
    path: str = "",
    *,
    shape: Lengths | None = None,
    dtype: Any = None,
    chunks: Lengths | Literal["auto"] | None = None,
    shards: Lengths | None = None,
    codec: Codec | Iterable[Codec] | None = None,
    like: Any = None,
    fill_value: Any = None,
    dims: Iterable[str | None] | None = None,
    attrs: Mapping[str, Any] | None = None,
    dialect: str | None = None,
    order: str = "C",
    separator: str | None = None,
    overwrite: bool = False,
    storage_options: Mapping[str, Any] | None = None,
    threads: int | None = None,
) -> Array:
    """Creates an array at a path or URL, with the hierarchy and the groups above it where there are none, open for reading and writing.

    The hierarchy is the one at `url` or above it. If there is none, a new one begins at the first component of the URL that looks like a
    store, such as `d.zarr` of `d.zarr/x`, else at the URL itself. `path` is the rest of the array's path, if `url` does not have it.

    `dtype` is what `numpy.dtype` takes, or the name of a data type of any dialect. `chunks` has about 1 MiB if not given or "auto"; one integer is the
    length along every axis, -1 the length of the axis. `shards` is the shape of stored objects that hold several chunks (v3). `codec` is
    "zstd:3", "gzip:5", "blosc-zstd:7", a dict as in documents of v3, or several of them; without it nothing is compressed. `like` is an
    array that says all that is not given: shape, dtype, chunks, shards, codecs, fill value, dims, attributes; of an array of another library
    it says shape, dtype, chunks and shards. `dialect` is "v3" (of a new hierarchy, if not given), "v2" or "draft". `order` "F" stores chunks
    with the first axis fastest. `separator` is "/" or "." in chunk keys. `overwrite` erases what is there, but no files that are not Zarr's.

    Raises `ExistsError` (a `FileExistsError`) if something is there, `ArgumentError` (a `ValueError`) for what cannot be.
    """
    keywords = _keywords(shape, dtype, chunks, shards, codec, like, fill_value, dims, attrs, order, separator, overwrite)
    options = _dict(storage_options, "storage_options")
    return _zarrkit.create_at(url, path, keywords=keywords, dialect=dialect, storage_options=options, threads=threads)


def create_array(url: str | os.PathLike[str], path: str = "", **keywords: Any) -> Array:
    """As `create`; `codecs`, `attributes` and `dimension_names` are other names of `codec`, `attrs` and `dims`."""
    for old, new in (("codecs", "codec"), ("attributes", "attrs"), ("dimension_names", "dims")):
        if old in keywords:
            keywords[new] = keywords.pop(old)
    if unknown := sorted(keywords.keys() - (create.__kwdefaults__ or {}).keys()):
        raise TypeError(f"create_array() got an unexpected keyword argument {unknown[0]!r}")
    return create(url, path, **keywords)


def create_in(
    group: Group,
    path: str,
    *,
    shape: Lengths | None = None,
    dtype: Any = None,
    chunks: Lengths | Literal["auto"] | None = None,
    shards: Lengths | None = None,
    codec: Codec | Iterable[Codec] | None = None,
    like: Any = None,
    fill_value: Any = None,
    dims: Iterable[str | None] | None = None,
    attrs: Mapping[str, Any] | None = None,
    order: str = "C",
    separator: str | None = None,
    overwrite: bool = False,
) -> Array:
    keywords = _keywords(shape, dtype, chunks, shards, codec, like, fill_value, dims, attrs, order, separator, overwrite)
    return group._create(path, keywords)


# Python's own errors say what the caller called.
create_in.__qualname__ = "Group.create"


def _keywords(
    shape: Any,
    dtype: Any,
    chunks: Any,
    shards: Any,
    codec: Any,
    like: Any,
    fill_value: Any,
    dims: Any,
    attrs: Any,
    order: str,
    separator: str | None,
    overwrite: bool,
) -> dict[str, Any]:
    keywords = locals()
    keywords["attrs"] = _dict(attrs, "attrs")
    if not isinstance(overwrite, bool):
        raise TypeError(f"`overwrite` is True or False, not {overwrite!r}")
    for name, value in (("order", order), ("separator", separator)):
        if not isinstance(value, str | None):
            raise TypeError(f"`{name}` is a text, not {value!r}")
    return keywords


def _dict(mapping: Any, what: str) -> dict[str, Any] | None:
    if mapping is not None and not isinstance(mapping, Mapping):
        raise TypeError(f"`{what}` is a mapping of names to values, such as a dict, not {type(mapping)}")
    return None if mapping is None else dict(mapping)


def _dtype(array: Array) -> np.dtype[Any] | None:
    try:
        return array.dtype
    except (NotImplementedError, ModuleNotFoundError):
        return None


def members(group: Group, recursive: bool) -> list[Member]:
    top = group.path.rstrip("/")
    found: list[Member] = []
    for node in group._nodes(recursive):
        name = node.path[len(top) + 1 :]
        if isinstance(node, Array):
            found.append(Member(name, node.path, "array", node.shape, _dtype(node), node))
        else:
            found.append(Member(name, node.path, "group", None, None, node))
    return found


def arrays(group: Group) -> dict[str, Array]:
    return {node.name: node for node in group.values() if isinstance(node, Array)}


def groups(group: Group) -> dict[str, Group]:
    return {node.name: node for node in group.values() if isinstance(node, Group)}


def plain(text: object) -> str:
    """The text with what is not printable escaped: names may have any character, and terminals obey some."""
    return "".join(letter if letter.isprintable() else letter.encode("unicode_escape").decode() for letter in str(text))


def _tuple(values: Iterable[object]) -> str:
    return f"({', '.join(plain(value) for value in values)})"


def _brief(array: Array) -> str:
    names = array._dims
    axes = array.shape if names is None else [f"{name}: {len}" for name, len in zip(names, array.shape)]
    return f"{_tuple(axes)} {plain(array.data_type)}"


def tree(group: Group) -> Text:
    top = group.path.rstrip("/")
    children: dict[str, list[Array | Group]] = {}
    for node in group._nodes(True):
        above = node.path.rpartition("/")[0]
        children.setdefault(above, []).append(node)
    lines = [plain(group.name) or "/"]

    def draw(path: str, before: str) -> None:
        below = sorted(children.get(path, []), key=lambda node: node.name)
        for node in below:
            is_last = node is below[-1]
            what = f" {_brief(node)}" if isinstance(node, Array) else ""
            lines.append(f"{before}{'└── ' if is_last else '├── '}{plain(node.name)}{what}")
            draw(node.path, before + ("    " if is_last else "│   "))

    draw(top, "")
    return Text("\n".join(lines))


def _codec(codec: Mapping[str, Any]) -> str:
    configuration = ", ".join(f"{name}={value!r}" for name, value in codec["configuration"].items() if name != "codecs")
    inner = codec["configuration"].get("codecs")
    inside = [_codec(each) for each in inner] if isinstance(inner, list) else []
    arguments = ", ".join(part for part in (configuration, f"codecs=[{', '.join(inside)}]" if inside else "") if part)
    return f"{codec['name']}({arguments})" if arguments else str(codec["name"])


def _attributes(node: Array | Group) -> str:
    names = list(node.attrs)
    shown = ", ".join(plain(name) for name in names[:10])
    more = f" and {len(names) - 10} more" if len(names) > 10 else ""
    return f"{len(names)}: {shown}{more}" if names else "none"


def _array_rows(array: Array, stored: bool) -> list[tuple[str, str]]:
    rows = [
        ("path", plain(array.path)),
        ("store", plain(array.store)),
        ("format", array.format),
        ("shape", _tuple(array.shape)),
        ("data type", plain(array.data_type)),
        ("chunks", "of several shapes" if array.chunks is None else _tuple(array.chunks)),
    ]
    if array.shards is not None:
        rows.append(("shards", _tuple(array.shards)))
    if any(name is not None for name in array.dims):
        rows.append(("dims", _tuple(array.dims)))
    rows.append(("codecs", plain(", ".join(_codec(codec) for codec in array.codecs))))
    rows.append(("fill value", plain(array._fill())))
    dtype = _dtype(array)
    in_memory = "" if dtype is None or dtype.hasobject or dtype.kind == "T" else f", {size(array.size * dtype.itemsize)}"
    rows.append(("size", f"{array.size:,} elements{in_memory}"))
    if stored:
        chunks, count = array.stored_size()
        what = "chunk" if array.shards is None else "shard"
        rows.append(("stored", f"{chunks:,} {what}{'' if chunks == 1 else 's'}, {size(count)}"))
    rows.append(("attributes", _attributes(array)))
    return rows


def _text(kind: str, rows: list[tuple[str, str]]) -> Text:
    return Text("\n".join([kind, *(f"  {name:<11}{value}" for name, value in rows)]))


def _html(kind: str, rows: list[tuple[str, str]]) -> str:
    cells = "".join(
        f'<tr><th style="text-align:left">{escape(name)}</th><td style="text-align:left">{escape(value)}</td></tr>'
        for name, value in rows
    )
    return f"<table><caption>{escape(kind)}</caption>{cells}</table>"


def array_info(array: Array, stored: bool) -> Text:
    return _text("zarrkit.Array", _array_rows(array, stored))


def array_html(array: Array) -> str:
    return _html("zarrkit.Array", _array_rows(array, False))


def array_repr(array: Array) -> str:
    return f"<zarrkit.Array {plain(array.path)} {_brief(array)}>"


def _group_rows(group: Group) -> list[tuple[str, str]]:
    rows = [("path", plain(group.path)), ("store", plain(group.store)), ("format", group.format)]
    if group.dimensions:
        rows.append(("dimensions", ", ".join(f"{plain(name)}: {length}" for name, length in group.dimensions.items())))
    rows.append(("attributes", _attributes(group)))
    return rows


def group_info(group: Group) -> Text:
    found = members(group, False)
    kinds: Callable[[str], list[Member]] = lambda kind: [member for member in found if member.kind == kind]
    rows = _group_rows(group)
    for kind in ("group", "array"):
        names = [plain(member.name) for member in kinds(kind)]
        more = f" and {len(names) - 10} more" if len(names) > 10 else ""
        rows.append((f"{kind}s", f"{len(names)}: {', '.join(names[:10])}{more}" if names else "none"))
    return _text("zarrkit.Group", rows)


def group_html(group: Group) -> str:
    return _html("zarrkit.Group", _group_rows(group))


def group_repr(group: Group) -> str:
    return f"<zarrkit.Group {plain(group.path)} in {plain(group.store)}>"
