"""Creates arrays, and shows groups and arrays as text and HTML."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np

from . import _zarrkit
from ._answers import by_name, place_first
from ._errors import ArgumentError, ExistsError
from ._tree_progress import size
from ._zarr_words import codecs_of, dialect_of, translated
from ._zarrkit import Array, Group

__all__ = [
    "AsType",
    "Info",
    "Member",
    "Text",
    "create",
    "create_array",
    "full",
    "ones",
    "open_array",
    "open_consolidated",
    "open_group",
    "zeros",
]

Lengths = int | Sequence[int]
#: A text, a dict of v3 or v2, or an object of numcodecs or zarr.codecs.
Codec = Any
Codecs = Codec | Iterable[Codec] | None


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


@by_name
def create(
    url: Any,
    path: str = "",
    *,
    shape: Lengths | None = None,
    dtype: Any = None,
    data: Any = None,
    chunks: Lengths | Literal["auto"] | bool | None = None,
    shards: Lengths | None = None,
    codec: Codecs = None,
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
    **others: Any,
) -> Array:
    """Creates an array at a path or URL or in a store, with the hierarchy and the groups above it where there are none, open for reading and writing.

    The hierarchy is the one at `url` or above it. If there is none, a new one begins at the first component of the URL that looks like a
    store, such as `d.zarr` of `d.zarr/x`, else at the URL itself. `path` is the rest of the array's path, if `url` does not have it. `url` may
    also be a store, as `open` takes it: then the hierarchy is the one in it, and `path` the array's whole path.

    `dtype` is what `numpy.dtype` takes, or the name of a data type of any dialect. `data` are elements to be written, whose shape and dtype the
    array has if no others are given. `chunks` has about 1 MiB by default or with "auto"; one integer is the
    length along every axis, -1 the length of the axis. `shards` is the shape of stored objects that hold several chunks (v3). `codec` is
    "zstd:3", "gzip:5", "blosc-zstd:7", a dict as in documents of v3, a codec of numcodecs or zarr.codecs, or several of them; `[]` is for no
    compression. `like` is an array that says all that is not given: shape, dtype, chunks, shards, codecs, fill value, dims, attributes; of an
    array of another library it says shape, dtype, chunks and shards. `dialect` is "v3" (the default of a new hierarchy), "v2" or "draft".
    `order` "F" stores chunks with the first axis fastest. `separator` is "/" or "." in chunk keys. `overwrite` erases what is there, but no
    files that are not Zarr's.

    zarr-python's `compressors`, `filters`, `serializer`, `codecs`, `attributes`, `dimension_names`, `zarr_format`, `chunk_key_encoding` and
    `name`, and h5py's `compression`, are taken, too.

    Raises `ExistsError` (a `FileExistsError`) if something is there, `ArgumentError` (a `ValueError`) for what cannot be.
    """
    keywords = _keywords(shape, dtype, chunks, shards, codec, like, fill_value, dims, attrs, order, separator, overwrite)
    # `create_array` has its own name in messages.
    caller = others.pop("_caller", "create")
    dialect = dialect_of(others.pop("zarr_format", None), dialect)
    path = _path(path, others, caller)
    keywords = _finished(keywords, others, data, dialect, caller)
    options = _dict(storage_options, "storage_options")
    array = _zarrkit.create_at(url, path, keywords=keywords, dialect=dialect, storage_options=options, threads=threads)
    return _filled(array, data)


@by_name
def create_array(url: Any = None, path: str = "", *, store: Any = None, **keywords: Any) -> Array:
    """As `create`, under zarr-python's name; `store` is its word for `url`."""
    if (url is None) == (store is None):
        raise TypeError('create_array() takes one place: create_array("data.zarr/x", shape=...), or as zarr-python has it, store=...')
    return create(store if url is None else url, path, _caller="create_array", **keywords)


def create_in(
    group: Group,
    path: str,
    *,
    shape: Lengths | None = None,
    dtype: Any = None,
    data: Any = None,
    chunks: Lengths | Literal["auto"] | bool | None = None,
    shards: Lengths | None = None,
    codec: Codecs = None,
    like: Any = None,
    fill_value: Any = None,
    dims: Iterable[str | None] | None = None,
    attrs: Mapping[str, Any] | None = None,
    order: str = "C",
    separator: str | None = None,
    overwrite: bool = False,
    **others: Any,
) -> Array:
    keywords = _keywords(shape, dtype, chunks, shards, codec, like, fill_value, dims, attrs, order, separator, overwrite)
    return _filled(group._create(path, _finished(keywords, others, data, group.dialect, "Group.create")), data)


# Python's own errors say what the caller called.
create_in.__qualname__ = "Group.create"


def _path(path: str, others: dict[str, Any], caller: str) -> str:
    """The path, which zarr-python calls `name`."""
    name = others.pop("name", None)
    if name is None:
        return path
    if path:
        raise TypeError(f"{caller}() got both 'path' and 'name', which are the same; give one of them")
    return str(name)


def _finished(keywords: dict[str, Any], others: dict[str, Any], data: Any, dialect: str | None, caller: str) -> dict[str, Any]:
    """The keywords, with those of other packages and what `data` says among them."""
    if others:
        keywords = translated(keywords, others, dialect, caller)
        keywords["attrs"] = _dict(keywords["attrs"], "attrs")
    if keywords["chunks"] is True:
        # h5py's word for the library's own choice.
        keywords["chunks"] = None
    elif keywords["chunks"] is False:
        # zarr-python's for one chunk.
        keywords["chunks"] = -1
    if data is not None:
        if not hasattr(data, "shape") or not hasattr(data, "dtype"):
            data = np.asarray(data)
        if keywords["shape"] is None:
            keywords["shape"] = tuple(data.shape)
        if keywords["dtype"] is None and keywords["like"] is None:
            keywords["dtype"] = data.dtype
    keywords["codec"] = codecs_of(keywords["codec"], keywords["dtype"])
    return keywords


def _filled(array: Array, data: Any) -> Array:
    if data is not None:
        array[...] = data
    return array


#: Keywords of functions that create an array, which in zarr-python are keywords of those that open one.
_OF_NEW = frozenset({"chunks", "compressor", "compressors", "data", "dtype", "fill_value", "shape", "shards"})


def _open_kind(kind: type, url: Any, mode: str, path: str, options: dict[str, Any]) -> Any:
    if not _OF_NEW.isdisjoint(options):
        name = "open_array" if kind is Array else "open_group"
        raise TypeError(f"{name}() creates no array: zarrkit.create(place, shape=..., dtype=..., overwrite=True) does")
    node = _zarrkit.open(url, mode, **options)  # type: ignore[arg-type]
    if path.strip("/"):
        if not isinstance(node, Group):
            raise ArgumentError(f"{plain(node.path)} is an array, and has no member {path!r}")
        node = node[path]
    if not isinstance(node, kind):
        is_what, other = ("an array", "zarrkit.open_array") if isinstance(node, Array) else ("a group", "zarrkit.open_group")
        where = "" if node.path == "/" else f" {plain(node.path)}"
        raise ArgumentError(f"{plain(node.store)}{where} is {is_what}; open it with {other}")
    return node


def open_array(url: Any, mode: Literal["r", "r+", "a"] = "r", *, path: str = "", **options: Any) -> Array:
    """The array at a path or URL, and at `path` from there; the other keywords are those of `open`.

    Raises `NotFoundError` (a `FileNotFoundError`) if nothing is there, `ArgumentError` (a `ValueError`) if it is a group.
    """
    array: Array = _open_kind(Array, url, "r+" if mode == "a" else mode, path, options)
    return array


def open_group(url: Any, mode: Literal["r", "r+", "a"] = "r", *, path: str = "", **options: Any) -> Group:
    """The group at a path or URL, and at `path` from there; the other keywords are those of `open`. Mode "a" creates one at `url` if nothing is there.

    Raises `NotFoundError` (a `FileNotFoundError`) if nothing is there, `ArgumentError` (a `ValueError`) if it is an array.
    """
    group: Group = _open_kind(Group, url, mode, path, options)
    return group


def open_consolidated(url: Any, mode: Literal["r", "r+"] = "r", **options: Any) -> Group:
    """The group at a path or URL, by its consolidated metadata, which have to be there."""
    return open_group(url, mode, consolidated=True, **options)


@place_first
def full(shape: Lengths, fill_value: Any, *, store: Any = None, dtype: Any = None, **keywords: Any) -> Array:
    """Creates an array at the path or URL `store` whose elements all are `fill_value`; the other keywords are those of `create`."""
    if store is None:
        raise TypeError('give the place of the new array: store="data.zarr/x", or store="memory://x" for one in memory')
    if dtype is None:
        dtype = np.asarray(fill_value).dtype
    return create(store, shape=shape, dtype=dtype, fill_value=fill_value, **keywords)


@place_first
def zeros(shape: Lengths, *, store: Any = None, dtype: Any = "f8", **keywords: Any) -> Array:
    """Creates an array of zeros at the path or URL `store`; the other keywords are those of `create`."""
    return full(shape, 0, store=store, dtype=dtype, **keywords)


@place_first
def ones(shape: Lengths, *, store: Any = None, dtype: Any = "f8", **keywords: Any) -> Array:
    """Creates an array of ones at the path or URL `store`; the other keywords are those of `create`."""
    return full(shape, 1, store=store, dtype=dtype, **keywords)


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
        raise TypeError(f"`overwrite` must be True or False, not {overwrite!r}")
    for name, value in (("order", order), ("separator", separator)):
        if not isinstance(value, str | None):
            raise TypeError(f"`{name}` must be a string, not {value!r}")
    return keywords


def _dict(mapping: Any, what: str) -> dict[str, Any] | None:
    if mapping is not None and not isinstance(mapping, Mapping):
        raise TypeError(f"`{what}` must be a mapping of names to values, such as a dict, not {type(mapping)}")
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


def array_keys(group: Group) -> list[str]:
    return [member.name for member in members(group, False) if member.kind == "array"]


def group_keys(group: Group) -> list[str]:
    return [member.name for member in members(group, False) if member.kind == "group"]


def visit(group: Group, function: Callable[[str], Any]) -> Any:
    return visititems(group, lambda name, _node: function(name))


def visititems(group: Group, function: Callable[[str, Array | Group], Any]) -> Any:
    for member in members(group, True):
        if (found := function(member.name, member.node)) is not None:
            return found
    return None


def require_group(group: Group, path: str) -> Group:
    node = group if not path.strip("/") else group.get(path)
    if node is None:
        try:
            return group.create_group(path)
        except FileExistsError:
            # Another writer has created it.
            node = group[path]
    if not isinstance(node, Group):
        raise ArgumentError(f"{plain(node.path)} is an array, not a group")
    return node


def require_array(group: Group, path: str, shape: Lengths, dtype: Any, exact: bool, **keywords: Any) -> Array:
    node = group.get(path)
    if node is None:
        try:
            return create_in(group, path, shape=shape, dtype=dtype, **keywords)
        except FileExistsError:
            # Another writer has created it.
            node = group[path]
    if not isinstance(node, Array):
        raise ArgumentError(f"{plain(node.path)} is a group, not an array")
    wanted = (shape,) if isinstance(shape, int) else tuple(shape)
    if node.shape != wanted:
        raise ArgumentError(f"{plain(node.path)} has shape {node.shape}, not {wanted}; open it, or create it with overwrite=True")
    if dtype is not None:
        fits = node.dtype == np.dtype(dtype) if exact else np.can_cast(np.dtype(dtype), node.dtype)
        if not fits:
            raise TypeError(f"{plain(node.path)} has dtype {node.dtype}, not {np.dtype(dtype)}; open it, or create it with overwrite=True")
    return node


def move_node(group: Group, source: str, dest: str) -> None:
    from ._tools import copy

    # The copy is written through a handle of its own.
    group._check_writeable()
    node = group[source]
    above = group.path.rstrip("/")
    new = dest if dest.startswith("/") else f"{above}/{dest}"
    new = new.rstrip("/")
    if not new or f"{new}/".startswith(f"{node.path}/"):
        raise ArgumentError(f"{plain(node.path)} cannot be moved to {dest!r}; choose a path outside of it")
    if node.path == "/" or not node.path.startswith(f"{above}/"):
        raise ArgumentError(f"{source!r} is not a member of {plain(group.path)}")
    if dest.strip("/") in group:
        raise ExistsError(f"{plain(new)} already exists; erase it first with `del group[{dest!r}]`")
    # What a copy cannot keep would be lost with the source: such a node stays where it is.
    copy(node, f"{group.store.rstrip('/')}{new}", keep_keys=True, keep_attributes=True, strict=True)
    try:
        group._list_moved(node.path, new)
        del group[source]
    except Exception as error:
        error.add_note(f"{plain(new)} is a whole copy of {plain(node.path)}, which is still there: erase one of them")
        raise


class Info:
    """What a node is: shows itself, and is called for the text: `a.info(stored=True)`."""

    __slots__ = ("_node",)

    def __init__(self, node: Array | Group) -> None:
        self._node = node

    def __call__(self, *, stored: bool = False) -> Text:
        return array_info(self._node, stored) if isinstance(self._node, Array) else group_info(self._node)

    def __repr__(self) -> str:
        return str(self())

    def _repr_html_(self) -> str:
        return self._node._repr_html_()


class AsType:
    """An array whose elements are converted when they are read."""

    __slots__ = ("_array", "dtype")

    def __init__(self, array: Array, dtype: Any) -> None:
        self._array = array
        self.dtype: np.dtype[Any] = np.dtype(dtype)

    @property
    def shape(self) -> tuple[int, ...]:
        return self._array.shape

    @property
    def ndim(self) -> int:
        return self._array.ndim

    @property
    def size(self) -> int:
        return self._array.size

    @property
    def chunks(self) -> tuple[int, ...] | None:
        return self._array.chunks

    def __len__(self) -> int:
        return len(self._array)

    def __getitem__(self, key: Any) -> Any:
        return self._array[key].astype(self.dtype)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        if copy is False:
            raise ValueError("the elements are in a store, so reading them makes a copy")
        return np.asarray(self[...], dtype=dtype)

    def __repr__(self) -> str:
        return f"<zarrkit.Array {plain(self._array.path)} {_tuple(self.shape)} as {self.dtype}>"


def number(array: Array, kind: str) -> Any:
    if array.size != 1:
        raise TypeError(f"{plain(array.path)} has {array.size} elements: only an array of one is a number; read one, as in {kind}(a[0])")
    return {"float": float, "int": int, "complex": complex}[kind](np.asarray(array[...]).item())


def dlpack(array: Array, options: dict[str, Any] | None) -> Any:
    return np.asarray(array[...]).__dlpack__(**(options or {}))


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
