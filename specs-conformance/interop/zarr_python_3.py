"""zarr-python 3.1.6: final v3 and v2."""

import warnings

warnings.simplefilter("ignore")

import numcodecs
import numpy as np
import zarr
from zarr.codecs import BloscCodec, BytesCodec, Crc32cCodec, GzipCodec, TransposeCodec, ZstdCodec
from zarr.codecs import numcodecs as named

from common import BLOSC, NESTED, NUMBERS, RECORDS, REFUSED, STEPS, TEXT, TIMES, Peer, delta_type, main, numpy_type

COMMON = [("gzip:5",), ("zlib:5",), ("zstd:3",), ("lz4",), ("bz2:5",), ("lzma",), ("shuffle:4", "zlib:1")]
COMMON += [(name,) for name in BLOSC]


def read(store, dialect):
    return zarr.open_array(str(store), path="a", mode="r", zarr_format=2 if dialect == "v2" else 3)[...]


def parts(codec):
    name, _, level = codec.partition(":")
    return name, int(level) if level else None


def v2_codec(codec):
    name, level = parts(codec)
    match name.split("-"):
        case ["gzip"]:
            return numcodecs.GZip(level)
        case ["zlib"]:
            return numcodecs.Zlib(level)
        case ["zstd"]:
            return numcodecs.Zstd(level)
        case ["lz4"]:
            return numcodecs.LZ4()
        case ["bz2"]:
            return numcodecs.BZ2(level)
        case ["lzma"]:
            return numcodecs.LZMA()
        case ["crc32c"]:
            from numcodecs.checksum32 import CRC32C

            return CRC32C()
        case ["shuffle"]:
            return numcodecs.Shuffle(level)
        case ["blosc", cname, shuffle]:
            shuffles = {"noshuffle": 0, "shuffle": 1, "bitshuffle": 2}
            return numcodecs.Blosc(cname, level, shuffles[shuffle])


def v3_codec(codec):
    name, level = parts(codec)
    match name.split("-"):
        case ["gzip"]:
            return GzipCodec(level=level)
        case ["zstd"]:
            return ZstdCodec(level=level)
        case ["crc32c"]:
            return Crc32cCodec()
        case ["zlib"]:
            return named.Zlib(level=level)
        case ["lz4"]:
            return named.LZ4()
        case ["bz2"]:
            return named.BZ2(level=level)
        case ["lzma"]:
            return named.LZMA()
        case ["shuffle"]:
            return named.Shuffle(elementsize=level)
        case ["blosc", cname, shuffle]:
            return BloscCodec(cname=cname, clevel=level, shuffle=shuffle)


def write(store, case, dialect):
    fill = case.fill_value()[()]
    group = zarr.open_group(str(store), mode="w", zarr_format=2 if dialect == "v2" else 3)
    shape = dict(shape=case.shape, chunks=case.chunks, dtype=numpy_type(case.dtype), fill_value=fill)
    if case.separator:
        encoding = {"name": "v2" if dialect == "v2" else "default", "configuration": {"separator": case.separator}}
        shape["chunk_key_encoding"] = encoding
    delta = case.codecs == ("delta",)
    if dialect == "v2":
        codecs = [numcodecs.Delta(delta_type(case.dtype))] if delta else [v2_codec(codec) for codec in case.codecs]
        filters = [c for c in codecs if isinstance(c, (numcodecs.Shuffle, numcodecs.Delta))]
        compressors = [c for c in codecs if c not in filters]
        array = group.create_array("a", **shape, order=case.order, filters=filters or None, compressors=(compressors or [None])[0])
    else:
        rank = len(case.shape)
        filters = [TransposeCodec(order=tuple(reversed(range(rank))))] if case.order == "F" and rank > 1 else []
        if delta:
            filters.append(named.Delta(dtype=delta_type(case.dtype).replace(">", "<")))
        endian = "big" if case.dtype[0] == ">" else "little"
        compressors = [] if delta else [v3_codec(codec) for codec in case.codecs]
        shape["dtype"] = numpy_type(case.dtype).newbyteorder("=")
        array = group.create_array("a", **shape, filters=filters, serializer=BytesCodec(endian=endian), compressors=compressors)
    if not case.empty:
        array[...] = case.data()


PEER = Peer(
    name="zarr-python 3.1.6",
    knows={
        "v3": (NUMBERS + TIMES + STEPS + RECORDS + NESTED, COMMON + [("crc32c",)]),
        "v2": (NUMBERS + TIMES + STEPS + TEXT + RECORDS, COMMON + [("crc32c",)]),
    },
    writes={
        "v3": COMMON + [("crc32c",), ("gzip:1", "crc32c"), ("delta",)],
        "v2": COMMON + [("crc32c",), ("delta",)],
    },
    read=read,
    write=write,
    exceptions=REFUSED
    + [
        (r"we copy from v2", "v3", r"dtype\|V6.*", "does not know r<N>"),
        (r"we (write|copy from .*)", "v3", r".*\[\[.*", "knows records by their old name, `structured`, alone"),
        (r"we copy from v3", "v2", r'.*\["e",\[\[.*', "knows no records in records in v2"),
        (r"they write", "v3", r"codec-delta(>u2|-F)", "reads its own differences of swapped or transposed elements wrongly"),
        (r"we copy from v3", "v2", r"codec-delta-F", "wrote differences in memory order, whatever the order of the axes"),
        (r"we copy from v3", "v3", r"codec-delta(>u2|-F)", "reads differences of swapped or transposed elements wrongly"),
        (r"we copy from v2", "v3", r"codec-delta>u2", "reads differences of swapped elements wrongly"),
    ],
)

if __name__ == "__main__":
    main(PEER)
