"""zarr-python 2.18.7: the v3 draft of 2020 (V28), and v2."""

import os

os.environ["ZARR_V3_EXPERIMENTAL_API"] = "1"

import warnings

warnings.simplefilter("ignore")

import numcodecs
import zarr
from zarr._storage.v3 import DirectoryStoreV3

from common import BLOSC, NUMBERS, REFUSED, STEPS, TEXT, TIMES, Peer, delta_type, main

COMMON = [("gzip:5",), ("zlib:5",), ("zstd:3",), ("lz4",), ("bz2:5",), ("lzma",)] + [(name,) for name in BLOSC]


def read(store, dialect):
    if dialect == "v2":
        return zarr.open_array(str(store), path="a", mode="r")[...]
    return zarr.open_array(DirectoryStoreV3(str(store)), path="a", mode="r", zarr_version=3)[...]


def codec_of(codec):
    name, _, level = codec.partition(":")
    level = int(level) if level else None
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


def write(store, case, dialect):
    codecs = [numcodecs.Delta(delta_type(case.dtype)) if codec == "delta" else codec_of(codec) for codec in case.codecs]
    filters = [c for c in codecs if isinstance(c, (numcodecs.Shuffle, numcodecs.Delta))]
    compressors = [c for c in codecs if c not in filters]
    options = dict(
        shape=case.shape, chunks=case.chunks, dtype=case.dtype, fill_value=case.fill_value()[()], order=case.order,
        compressor=(compressors or [None])[0], filters=filters or None, path="a", write_empty_chunks=False,
    )
    if dialect == "v2":
        zarr.open_group(str(store), mode="w")
        array = zarr.create(store=str(store), **options)
    else:
        target = DirectoryStoreV3(str(store))
        zarr.group(store=target, zarr_version=3)
        array = zarr.create(store=target, zarr_version=3, **options)
    if not case.empty:
        array[...] = case.data()


PEER = Peer(
    name="zarr-python 2.18.7",
    knows={
        "draft-2020": (NUMBERS + TIMES + ["|S7", "<U5"], COMMON),
        "v2": (NUMBERS + TIMES + STEPS + TEXT, COMMON + [("crc32c",), ("shuffle:4", "zlib:1")]),
    },
    writes={
        "draft-2020": COMMON + [("delta",), ("shuffle:4", "zlib:1")],
        "v2": COMMON + [("crc32c",), ("shuffle:4", "zlib:1"), ("delta",)],
    },
    read=read,
    write=write,
    exceptions=REFUSED
    + [
        (r"we copy from v2", "draft-2020", r"dtype\|V6.*", "does not know r<N>"),
        (r"we copy from v2", "draft-2020", r".*[<>](M8\[25s\]|m8\[10us\]).*", "knows no steps of several units of time there"),
        (r"we .*", "draft-2020", r"fill-nan-inf[<>]c8", "adds the parts of a complex fill value, which turns the sign of its NaN"),
    ],
)

if __name__ == "__main__":
    main(PEER)
