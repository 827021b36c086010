"""The keywords and codecs of zarr-python, numcodecs and h5py, in zarrkit's own."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable, Mapping
from difflib import get_close_matches
from typing import Any, ParamSpec, TypeVar

import numpy as np

P = ParamSpec("P")
R = TypeVar("R")

#: What other packages call a keyword of `create`.
_SAME = {
    "codecs": "codec",
    "attributes": "attrs",
    "dimension_names": "dims",
    "fillvalue": "fill_value",
    "dimension_separator": "separator",
}

#: Keywords that zarrkit does not have, and what to do.
_ANSWERS = {
    "maxshape": "every array can grow with `resize` and `append`; leave it out",
    "synchronizer": "writes are guarded against other threads and processes; leave it out",
    "object_codec": "a text or bytes dtype has its codec; leave it out",
    "write_empty_chunks": "chunks of nothing but the fill value are not stored; leave it out",
    "config": "`order` is a keyword of its own; leave it out",
    "cache_attrs": "attributes are kept by the handle, `refresh()` reads them again; leave it out",
    "cache_metadata": "metadata are kept by the handle, `refresh()` reads them again; leave it out",
    "chunk_store": "chunks and documents are in one store; leave it out",
    "meta_array": "elements are NumPy's arrays; leave it out",
    "shuffle": 'give it as a codec: codec=["shuffle", "gzip:5"]',
    "fletcher32": 'give it as a codec: codec=["zstd:3", "crc32c"]',
    "scaleoffset": 'give it as a codec: codec=[{"name": "numcodecs.fixedscaleoffset", "configuration": {...}}, "zstd:3"]',
    "track_times": "times of creation are not kept; leave it out",
    "store": "the place is the first argument",
    "mode": "overwrite=True replaces what is there; leave it out",
}

#: What people call a keyword of a function, after those of other functions, of other packages and of the program: the first of
#: these that the function has.
_OTHER_NAMES = {
    "format": ("to", "dialect"),
    "zarr_format": ("to", "dialect"),
    "zarr_version": ("to", "dialect"),
    "dialect": ("to",),
    "to": ("dialect",),
    "codec": ("codecs",),
    "compressor": ("codecs",),
    "compressors": ("codecs",),
    "attributes": ("attrs",),
    "dim": ("axis",),
    "dimension": ("axis",),
    "append_dim": ("axis",),
    "target_options": ("storage_options",),
    "atol": ("tolerance",),
    "rtol": ("relative",),
    "abs_tol": ("tolerance",),
    "absolute": ("tolerance",),
}

#: Keywords of tools that zarrkit does not have, and what to do.
_OF_TOOLS = {
    "isel": "the program copies a part: zarr copy SRC DST --region t2m=0:10,...",
    "region": "the program copies a part: zarr copy SRC DST --region t2m=0:10,...",
    "sel": "the program copies a part: zarr copy SRC DST --sel time=2020-01,lat=40:60",
}

#: Codecs of numcodecs that v3 has under a name of its own.
_CORE = ("blosc", "crc32c", "gzip", "zstd")


def with_answers(function: Callable[P, R]) -> Callable[P, R]:
    """The same function, which names the keyword that is meant by one that it does not have."""
    known = list(inspect.signature(function).parameters)

    @functools.wraps(function)
    def checked(*args: P.args, **keywords: P.kwargs) -> R:
        for name in keywords:
            if name not in known and name in _OF_TOOLS:
                raise TypeError(f"{function.__qualname__}() has no keyword {name!r}; {_OF_TOOLS[name]}")
            if name not in known:
                same = [other for other in _OTHER_NAMES.get(name, ()) if other in known]
                near = same or get_close_matches(name, known, 1)
                meant = f"; did you mean {near[0]!r}?" if near else ""
                raise TypeError(f"{function.__qualname__}() got an unexpected keyword argument {name!r}{meant}")
        return function(*args, **keywords)

    return checked


def codec_of(codec: Any, dtype: Any = None) -> str | dict[str, Any]:
    """A codec as a text or a dict of v3: of numcodecs' and zarr-python's objects, and of v2's dicts, their configuration."""
    if isinstance(codec, str):
        return codec
    if hasattr(codec, "to_dict"):
        # zarr-python's: {"name": …, "configuration": …}.
        codec = codec.to_dict()
    elif hasattr(codec, "get_config"):
        codec = codec.get_config()
    if not isinstance(codec, Mapping):
        raise TypeError(
            f"a codec must be a string such as \"zstd:3\", a dict with a name and a configuration, or a codec of numcodecs or zarr.codecs, not {type(codec)}"
        )
    if "id" not in codec:
        return dict(codec)
    configuration: dict[str, Any] = {name: value for name, value in codec.items() if name != "id"}
    name = str(codec["id"])
    if name == "blosc":
        configuration["shuffle"] = _shuffle(configuration.get("shuffle", 1), dtype)
        configuration.setdefault("blocksize", 0)
    elif name == "zstd":
        configuration.setdefault("checksum", False)
    return {"name": name if name in _CORE else f"numcodecs.{name}", "configuration": configuration}


def _shuffle(shuffle: Any, dtype: Any) -> str:
    names = {0: "noshuffle", 1: "shuffle", 2: "bitshuffle"}
    if shuffle == -1:
        # numcodecs' AUTOSHUFFLE: bits of single bytes, else bytes.
        try:
            return "bitshuffle" if np.dtype(dtype).itemsize == 1 else "shuffle"
        except TypeError:
            return "shuffle"
    return names.get(shuffle, shuffle)


def codecs_of(codecs: Any, dtype: Any = None) -> Any:
    """What `codec=` may be, as texts and dicts."""
    if codecs is None or isinstance(codecs, str):
        return codecs
    if isinstance(codecs, Mapping) or hasattr(codecs, "to_dict") or hasattr(codecs, "get_config"):
        return codec_of(codecs, dtype)
    if not isinstance(codecs, Iterable):
        return codec_of(codecs, dtype)
    return [codec_of(codec, dtype) for codec in codecs]


def _several(codecs: Any) -> list[Any]:
    if codecs is None:
        return []
    is_one = isinstance(codecs, (str, Mapping)) or not isinstance(codecs, Iterable)
    return [codecs] if is_one else list(codecs)


def translated(keywords: dict[str, Any], others: dict[str, Any], dialect: str | None, caller: str) -> dict[str, Any]:
    """The keywords of `create`, with those of other packages among them that mean the same.

    Raises `TypeError` for others, with what to do.
    """
    keywords, others = dict(keywords), dict(others)
    for other, own in _SAME.items():
        if other in others:
            value = others.pop(other)
            if keywords.get(own) is not None and value is not None:
                raise TypeError(f"{caller}() got both {own!r} and {other!r}, which are the same; give one of them")
            keywords[own] = keywords.get(own) if value is None else value
    _take_codecs(keywords, others, dialect, caller)
    if (encoding := others.pop("chunk_key_encoding", None)) is not None:
        keywords["separator"] = _separator(encoding)
    for name, value in others.items():
        if name in _ANSWERS:
            # What other packages do without the keyword, zarrkit does, too.
            if value is None or value is False:
                continue
            raise TypeError(f"zarrkit has no keyword {name!r}: {_ANSWERS[name]}")
        near = get_close_matches(name, [*keywords, *_SAME], 1)
        meant = f"; did you mean {_SAME.get(near[0], near[0])!r}?" if near else ""
        raise TypeError(f"{caller}() got an unexpected keyword argument {name!r}{meant}")
    return keywords


def _take_codecs(keywords: dict[str, Any], others: dict[str, Any], dialect: str | None, caller: str) -> None:
    """Makes `codec` of zarr-python's `filters`, `serializer` and `compressors`, and of h5py's `compression`."""
    given = [name for name in ("compressors", "compressor", "compression", "filters", "serializer") if name in others]
    if not given:
        if others.pop("compression_opts", None) is not None:
            raise TypeError(f'{caller}() got compression_opts without compression; give codec="gzip:5"')
        return
    if keywords.get("codec") is not None:
        raise TypeError(f"{caller}() got both 'codec' and {given[0]!r}; `codec` has filters and compressors in one list")
    filters, serializer = others.pop("filters", "auto"), others.pop("serializer", "auto")
    compressors = "auto"
    for name in ("compressors", "compressor", "compression"):
        if name in others:
            compressors = others.pop(name)
    level = others.pop("compression_opts", None)
    if level is not None:
        compressors = f"{compressors}:{level}"
    chain = [] if filters in (None, "auto") else _several(filters)
    if serializer not in (None, "auto"):
        chain += _serializer(serializer)
    if not isinstance(compressors, str) or compressors != "auto":
        keywords["codec"] = [*chain, *_several(compressors)]
    elif chain:
        # What compresses a new array of the dialect if nothing else is asked for.
        keywords["codec"] = [*chain, {"v2": "blosc-zstd-shuffle:3", "draft": "gzip:5"}.get(dialect or "v3", "zstd:3")]


def _serializer(serializer: Any) -> list[Any]:
    codec = codec_of(serializer)
    name = codec if isinstance(codec, str) else codec.get("name")
    configuration: Any = {} if isinstance(codec, str) else codec.get("configuration") or {}
    if name == "bytes":
        if str(configuration.get("endian", "little")).endswith("big"):
            raise TypeError('zarrkit takes the byte order from the dtype: give dtype=">f4", and leave `serializer` out')
        return []
    if name in ("vlen-utf8", "vlen-bytes"):
        return []
    if name == "sharding_indexed":
        raise TypeError("zarrkit has a separate keyword for shards: give shards=(…) and chunks=(…), and leave `serializer` out")
    return [codec]


def _separator(encoding: Any) -> str:
    if hasattr(encoding, "to_dict"):
        encoding = encoding.to_dict()
    if isinstance(encoding, Mapping):
        inner = encoding.get("configuration", encoding)
        separator = inner.get("separator")
        if separator is None:
            separator = "." if encoding.get("name") == "v2" else "/"
        return str(separator)
    if isinstance(encoding, (tuple, list)) and len(encoding) == 2:
        return str(encoding[1])
    raise TypeError(f"`chunk_key_encoding` must be a dict with a separator, not {encoding!r}; or give separator=\"/\"")


def dialect_of(zarr_format: Any, dialect: str | None) -> str | None:
    """The dialect that zarr-python's `zarr_format` means."""
    if zarr_format is None:
        return dialect
    if zarr_format not in (2, 3):
        raise ValueError(f"`zarr_format` must be 2 or 3, not {zarr_format!r}; `dialect` is \"v2\", \"v3\" or \"draft\"")
    if dialect not in (None, f"v{zarr_format}"):
        raise TypeError(f"dialect={dialect!r} and zarr_format={zarr_format} are not the same; give one of them")
    return f"v{zarr_format}"
