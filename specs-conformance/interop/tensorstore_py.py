"""tensorstore 0.1.86: final v3 and v2."""

import json

import numpy as np
import tensorstore as ts

from common import BLOSC, NUMBERS, REFUSED, Peer, main

NAMES = {"b1": "bool", "f2": "float16", "f4": "float32", "f8": "float64", "c8": "complex64", "c16": "complex128"}


def spec(store, dialect):
    driver = {"v2": "zarr", "v3": "zarr3"}[dialect]
    return {"driver": driver, "kvstore": {"driver": "file", "path": f"{store}/a/"}}


def read(store, dialect):
    return np.asarray(ts.open(spec(store, dialect), read=True).result().read().result())


def data_type(dtype):
    kind = dtype[1:]
    return NAMES.get(kind) or f"{'u' if kind[0] == 'u' else ''}int{8 * int(kind[1:])}"


def fill_json(case, dialect):
    def one(value):
        value = float(value)
        if value != value:
            return "NaN"
        return {float("inf"): "Infinity", float("-inf"): "-Infinity"}.get(value, value)

    value = case.fill_value()[()]
    match np.dtype(case.dtype).kind:
        case "c":
            return [one(value.real), one(value.imag)]
        case "f":
            return one(value)
        case "b":
            return bool(value)
        case _:
            return int(value)


def codec_json(codec, case, dialect):
    name, _, level = codec.partition(":")
    level = int(level) if level else None
    shuffles = {"noshuffle": 0, "shuffle": 1, "bitshuffle": 2}
    match (dialect, name.split("-")):
        case ("v2", ["blosc", cname, shuffle]):
            return {"id": "blosc", "cname": cname, "clevel": level, "shuffle": shuffles[shuffle], "blocksize": 0}
        case ("v2", [name]):
            return {"id": name, "level": level}
        case ("v3", ["blosc", cname, shuffle]):
            size = np.dtype(case.dtype).itemsize
            configuration = {"cname": cname, "clevel": level, "shuffle": shuffle, "typesize": size, "blocksize": 0}
            return {"name": "blosc", "configuration": configuration}
        case ("v3", ["crc32c"]):
            return {"name": "crc32c"}
        case ("v3", [name]):
            return {"name": name, "configuration": {"level": level}}


def write(store, case, dialect):
    codecs = [codec_json(codec, case, dialect) for codec in case.codecs]
    if dialect == "v2":
        metadata = {
            "shape": case.shape, "chunks": case.chunks, "dtype": case.dtype, "order": case.order,
            "fill_value": fill_json(case, dialect), "compressor": (codecs or [None])[0], "filters": None,
        }
        if case.separator:
            metadata["dimension_separator"] = case.separator
        group = {".zgroup": {"zarr_format": 2}}
    else:
        rank = len(case.shape)
        endian = "big" if case.dtype[0] == ">" else "little"
        chain = [{"name": "bytes", "configuration": {"endian": endian}}] + codecs
        if case.order == "F" and rank > 1:
            chain.insert(0, {"name": "transpose", "configuration": {"order": list(reversed(range(rank)))}})
        metadata = {
            "shape": case.shape, "data_type": data_type(case.dtype), "fill_value": fill_json(case, dialect), "codecs": chain,
            "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": case.chunks}},
        }
        if case.separator:
            metadata["chunk_key_encoding"] = {"name": "default", "configuration": {"separator": case.separator}}
        group = {"zarr.json": {"zarr_format": 3, "node_type": "group"}}
    array = ts.open({**spec(store, dialect), "metadata": metadata}, create=True).result()
    for name, document in group.items():
        (store / name).write_text(json.dumps(document))
    if not case.empty:
        data = case.data()
        array.write(data.astype(data.dtype.newbyteorder("="))).result()


V3 = [("gzip:5",), ("zstd:3",), ("crc32c",)] + [(name,) for name in BLOSC]
V2 = [("gzip:5",), ("zlib:5",), ("zstd:3",), ("bz2:5",)] + [(name,) for name in BLOSC]

PEER = Peer(
    name="tensorstore 0.1.86",
    knows={"v3": (NUMBERS, V3), "v2": (NUMBERS, V2)},
    writes={"v3": V3 + [("gzip:1", "crc32c")]},
    read=read,
    write=write,
    exceptions=REFUSED
    + [
        (r"we copy from v3", "v2", r"codec-.*crc32c.*", "knows crc32c in v3 alone"),
        (r"we copy from v2", "v3", r"codec-(zlib|bz2).*", "knows zlib and bz2 in v2 alone"),
    ],
)

if __name__ == "__main__":
    main(PEER)
