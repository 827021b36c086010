"""The documents of a case, as final v3 and v2 have them, for peers that are given documents."""

import base64
import json

import numpy as np

from cases import Long, numpy_type

NAMES = {"b1": "bool", "f2": "float16", "f4": "float32", "f8": "float64", "c8": "complex64", "c16": "complex128"}
UNITS = {"M": "numpy.datetime64", "m": "numpy.timedelta64"}
# Codecs that v3 knows by the names of numcodecs.
NUMCODECS = ("zlib", "bz2", "lz4", "lzma", "shuffle", "delta")
SHUFFLES = ("noshuffle", "shuffle", "bitshuffle")
INDEX = [{"name": "bytes", "configuration": {"endian": "little"}}, {"name": "crc32c"}]


def sharding(chunks, codecs, index=INDEX, location="end"):
    """The codec of shards that consist of `chunks`."""
    configuration = {"chunk_shape": list(chunks), "codecs": codecs, "index_codecs": index, "index_location": location}
    return {"name": "sharding_indexed", "configuration": configuration}


def transpose(*order):
    return {"name": "transpose", "configuration": {"order": list(order)}}


def data_type(case):
    """The data type in v3."""
    if isinstance(case, Long):
        return case.dtype
    dtype = numpy_type(case.dtype)
    match dtype.kind:
        case "M" | "m":
            unit, count = np.datetime_data(dtype)
            return {"name": UNITS[dtype.kind], "configuration": {"unit": unit, "scale_factor": count}}
        case "V":
            return f"r{8 * dtype.itemsize}"
        case "U":
            return {"name": "fixed_length_utf32", "configuration": {"length_bytes": dtype.itemsize}}
        case _:
            kind = dtype.str[1:]
            return NAMES.get(kind) or f"{'u' if dtype.kind == 'u' else ''}int{8 * dtype.itemsize}"


def fill(case):
    """The fill value in JSON, which v3 and v2 have in common for these types."""
    def one(value):
        value = float(value)
        if value != value:
            return "NaN"
        return {float("inf"): "Infinity", float("-inf"): "-Infinity"}.get(value, value)

    value = case.fill_value()
    if isinstance(case, Long):
        return value if isinstance(value, str) else base64.b64encode(value).decode()
    value = value[()]
    match numpy_type(case.dtype).kind:
        case "c":
            return [one(value.real), one(value.imag)]
        case "f":
            return one(value)
        case "b":
            return bool(value)
        case "M" | "m":
            return "NaT" if np.isnat(value) else int(value.astype("i8"))
        case "V":
            return list(value.tobytes())
        case "U":
            return str(value)
        case _:
            return int(value)


def codec(words, case, dialect):
    """The codec that the program calls `words`."""
    name, _, level = words.partition(":")
    level = int(level) if level else None
    match name.split("-"):
        case ["blosc", cname, shuffle]:
            configuration = {"cname": cname, "clevel": level, "shuffle": shuffle, "blocksize": 0}
            if dialect == "v2":
                return {"id": "blosc", **configuration, "shuffle": SHUFFLES.index(shuffle)}
            size = 1 if isinstance(case, Long) else numpy_type(case.dtype).itemsize
            return {"name": "blosc", "configuration": {**configuration, "typesize": size}}
        case ["shuffle"]:
            configuration = {"elementsize": level}
        case ["delta"]:
            configuration = {"dtype": case.dtype, "astype": case.dtype}
        case ["lz4"]:
            configuration = {"acceleration": 1}
        case ["crc32c" | "adler32" | "fletcher32"]:
            configuration = {}
        case ["zstd"] if dialect == "v3":
            configuration = {"level": level, "checksum": False}
        case _:
            configuration = {"level": level}
    if dialect == "v2":
        return {"id": name, **configuration}
    return {"name": f"numcodecs.{name}" if name in NUMCODECS else name, "configuration": configuration}


def chain(case):
    """All codecs in v3."""
    if case.chain:
        return [json.loads(text) for text in case.chain]
    rank = len(case.shape)
    codecs = [transpose(*reversed(range(rank)))] if case.order == "F" and rank > 1 else []
    if isinstance(case, Long):
        codecs.append({"name": "vlen-utf8" if case.dtype == "string" else "vlen-bytes"})
    elif numpy_type(case.dtype).kind == "V":
        codecs.append({"name": "bytes"})
    else:
        codecs.append({"name": "bytes", "configuration": {"endian": "big" if case.dtype[0] == ">" else "little"}})
    codecs += [codec(words, case, "v3") for words in case.codecs]
    return [sharding(case.chunks, codecs)] if case.shards else codecs


def group(dialect):
    """The name and the document of a group."""
    return (".zgroup", {"zarr_format": 2}) if dialect == "v2" else ("zarr.json", {"zarr_format": 3, "node_type": "group"})


def array(case, dialect):
    """The document of the case's array."""
    if dialect == "v2":
        codecs = [codec(words, case, dialect) for words in case.codecs]
        filters = [codec for codec in codecs if codec["id"] in ("shuffle", "delta")]
        compressors = [codec for codec in codecs if codec not in filters]
        document = {
            "zarr_format": 2, "shape": case.shape, "chunks": case.chunks, "dtype": case.dtype, "order": case.order,
            "fill_value": fill(case), "compressor": (compressors or [None])[0], "filters": filters or None,
        }
        return document | ({"dimension_separator": case.separator} if case.separator else {})
    return {
        "zarr_format": 3, "node_type": "array", "shape": case.shape, "data_type": data_type(case), "fill_value": fill(case),
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": case.shards or case.chunks}},
        "chunk_key_encoding": {"name": "default", "configuration": {"separator": getattr(case, "separator", None) or "/"}},
        "codecs": chain(case),
    }
