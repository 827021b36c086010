"""zarr-python 2.18.7: the v3 draft of 2020 (V28), and v2."""

import os

os.environ["ZARR_V3_EXPERIMENTAL_API"] = "1"
os.environ["ZARR_V3_SHARDING"] = "1"

import warnings

warnings.simplefilter("ignore")

import numcodecs
import numpy as np
import zarr
from zarr._storage.v3 import DirectoryStoreV3
from zarr._storage.v3_storage_transformers import ShardingStorageTransformer

from cases import BLOSC, NESTED, NUMBERS, RECORDS, STEPS, SUBARRAYS, TEXT, TIMES, delta_type, numpy_type
from common import REFUSED, Peer, main

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


def open_store(store, dialect):
    """The store, and what says which protocol it is."""
    if dialect == "v2":
        return dict(store=zarr.DirectoryStore(str(store)))
    return dict(store=DirectoryStoreV3(str(store)), zarr_version=3)


def write(store, case, dialect):
    codecs = [numcodecs.Delta(delta_type(case.dtype)) if codec == "delta" else codec_of(codec) for codec in case.codecs]
    filters = [c for c in codecs if isinstance(c, (numcodecs.Shuffle, numcodecs.Delta))]
    compressors = [c for c in codecs if c not in filters]
    options = dict(
        shape=case.shape, chunks=case.chunks, dtype=numpy_type(case.dtype), fill_value=case.fill_value()[()], order=case.order,
        compressor=(compressors or [None])[0], filters=filters or None, path="a", write_empty_chunks=False,
        dimension_separator=case.separator,
    )
    opened = open_store(store, dialect)
    zarr.group(**opened)
    array = zarr.create(**opened, **options)
    if not case.empty:
        array[...] = case.data()


def write_long(store, case, dialect):
    codecs = {"string": numcodecs.VLenUTF8, "variable_length_bytes": numcodecs.VLenBytes}
    compressor = codec_of(case.codecs[0]) if case.codecs else None
    opened = open_store(store, dialect)
    zarr.group(**opened)
    # Of bytes it cannot say a fill value.
    fill = case.fill_value() if case.dtype == "string" else 0
    array = zarr.create(
        **opened, path="a", shape=case.shape, chunks=case.chunks, dtype=object, object_codec=codecs[case.dtype](),
        compressor=compressor, fill_value=fill, order=case.order, write_empty_chunks=False,
    )
    if not case.empty:
        array[...] = case.data()


def read_tree(store, dialect, open_tree=None):
    found = {}
    open_tree = open_tree or of_group

    def attributes(node):
        held = node.attrs.asdict()
        names = held.pop("_ARRAY_DIMENSIONS", None)
        return held, names

    def walk(group, path):
        found[path or "/"] = "group", *attributes(group)
        for name, child in group.groups():
            walk(child, f"{path}/{name}")
        for name, child in group.arrays():
            found[f"{path}/{name}"] = "array", *attributes(child)

    walk(open_tree(store, dialect), "")
    return found


def of_group(store, dialect):
    return zarr.open_group(mode="r", **open_store(store, dialect))


def of_copies(store, dialect):
    if dialect == "v2":
        return zarr.open_consolidated(zarr.DirectoryStore(str(store)))
    return zarr.open_consolidated(DirectoryStoreV3(str(store)), "meta/root/consolidated/.zmetadata", zarr_version=3)


def consolidate(store, dialect):
    key = ".zmetadata" if dialect == "v2" else "meta/root/consolidated/.zmetadata"
    zarr.consolidate_metadata(open_store(store, dialect)["store"], key)


def write_tree(store, dialect, tree):
    opened = open_store(store, dialect)
    for path, (kind, attributes, names) in tree.items():
        if kind == "group":
            node = zarr.open_group(path=path.strip("/"), mode="a", **opened)
        else:
            node = zarr.create(shape=(2, 3), dtype="<i4", path=path.strip("/"), **opened)
            if names:
                attributes = attributes | {"_ARRAY_DIMENSIONS": names}
        if attributes:
            node.attrs.put(attributes)


# What no case asks for: each gives what zarr-python itself reads then.


def own(dialect, data, path="a", group=True, **options):
    """An array in chunks of two along each axis; `data` may be None for one that is never written."""

    def write(store):
        opened = open_store(store, dialect)
        if group:
            zarr.group(**opened)
        settings = dict(compressor=None) | options
        shape = settings.pop("shape", np.shape(data))
        settings.setdefault("dtype", getattr(data, "dtype", None))
        array = zarr.create(shape=shape, chunks=(2,) * len(shape), path=path, **settings, **opened)
        if data is not None:
            array[...] = data
        again = open_store(store, dialect)
        return {"/" + path: zarr.open_array(path=path, mode="r", **again)[...]}

    return write


def objects(*values):
    data = np.empty(len(values), object)
    data[:] = values
    return data


def resized(dialect):
    def write(store):
        array = zarr.create(shape=(5, 7), chunks=(2, 3), dtype="<i4", path="a", fill_value=9, **open_store(store, dialect))
        array[...] = np.arange(35).reshape(5, 7)
        array.resize(3, 4)
        array.resize(6, 6)
        array.append(np.full((1, 6), -1))
        return {"/a": array[...]}

    return write


def consolidated(dialect):
    def write(store):
        opened = open_store(store, dialect)
        root = zarr.group(**opened)
        data = np.arange(5, dtype="<i4")
        root.create_dataset("g/a", data=data, chunks=2)
        if dialect == "v2":
            zarr.consolidate_metadata(opened["store"])
        else:
            zarr.consolidate_metadata(opened["store"], "meta/root/consolidated/.zmetadata")
        return {"/g/a": data}

    return write


def stores(dialect):
    integers = np.array([3, 1, -4, 1, -5, 9, 2], "<i4")
    floats = np.array([0.5, -1.25, 3.0, 1e10, 0.1, -0.0, 7.0], "<f8")
    table = np.arange(35, dtype="<i4").reshape(5, 7)
    record = np.dtype([("a", "<i4"), ("b", ">f8")])
    nested = np.dtype([("a", "<i4", (2,)), ("b", [("c", "|S2"), ("d", ">u2")])])
    records = np.array([(1, 0.5), (-2, np.nan), (3, -0.0)], record)
    nests = np.zeros(3, nested)
    nests["a"][1], nests["b"]["c"], nests["b"]["d"] = (5, -6), b"xy", 513
    yield "scalar-with-compressor", own(dialect, np.float32(1 / 3), compressor=numcodecs.GZip(1))
    yield "resized", resized(dialect)
    yield "consolidated", consolidated(dialect)
    yield "root-array", own(dialect, integers, "", group=False)
    yield "root-array-blosc", own(dialect, table, "", group=False, compressor=numcodecs.Blosc())
    yield "implicit-groups", own(dialect, integers, "g/h/a", group=False)
    yield "fill-none-written", own(dialect, integers, fill_value=None)

    yield "default-compressor", own(dialect, table, compressor="default")
    yield "lzma-alone", own(dialect, integers, compressor=numcodecs.LZMA(format=2))
    yield "lzma-raw", own(dialect, integers, compressor=numcodecs.LZMA(format=3, filters=[{"id": 33, "preset": 1}]))
    yield "zstd-checksum", own(dialect, integers, compressor=numcodecs.Zstd(3, checksum=True))
    yield "zstd-negative", own(dialect, integers, compressor=numcodecs.Zstd(-5))
    yield "lz4-acceleration", own(dialect, integers, compressor=numcodecs.LZ4(9))
    yield "blosc-auto-shuffle", own(dialect, integers, compressor=numcodecs.Blosc(shuffle=-1))
    yield "blosc-blocksize", own(dialect, table, compressor=numcodecs.Blosc("zstd", 9, 2, 32))

    yield "filter-delta-narrow", own(dialect, integers, filters=[numcodecs.Delta("<i4", "<i2")], compressor=numcodecs.Zlib(1))
    yield "filter-delta-swapped", own(dialect, integers.astype(">i4"), filters=[numcodecs.Delta(">i4")])
    yield "filter-shuffle", own(dialect, floats, filters=[numcodecs.Shuffle(8)], compressor=numcodecs.BZ2(1))
    yield "filter-zlib", own(dialect, integers, filters=[numcodecs.Zlib(1)])
    yield "filter-two", own(dialect, integers, filters=[numcodecs.Delta("<i4"), numcodecs.Shuffle(4)], order="F")
    yield "filter-fixedscaleoffset", own(dialect, floats[:3], filters=[numcodecs.FixedScaleOffset(1, 10, "<f8", "<i2")])
    yield "filter-quantize", own(dialect, floats, filters=[numcodecs.Quantize(2, "<f8")])
    yield "filter-bitround", own(dialect, floats.astype("<f4"), filters=[numcodecs.BitRound(5)])
    yield "filter-packbits", own(dialect, integers > 0, filters=[numcodecs.PackBits()])
    yield "filter-astype", own(dialect, integers.astype("<i8"), filters=[numcodecs.AsType("<i4", "<i8")])
    yield "filter-crc32", own(dialect, integers, filters=[numcodecs.CRC32()])
    yield "filter-adler32", own(dialect, integers, filters=[numcodecs.Adler32()])
    yield "filter-fletcher32", own(dialect, integers, filters=[numcodecs.Fletcher32()])
    yield "filter-jenkins", own(dialect, integers, filters=[numcodecs.JenkinsLookup3()])
    yield "filter-base64", own(dialect, integers, filters=[numcodecs.Base64()])
    yield "filter-categorize", own(dialect, np.array(list("abaac")), filters=[numcodecs.Categorize(["a", "b", "c"], "<U1")])
    yield "filter-categorize-swapped", own(dialect, np.array(list("abaac"), ">U1"), filters=[numcodecs.Categorize(["a", "b", "c"], ">U1", ">u2")])
    yield "filter-quantize-narrow", own(dialect, floats.astype(">f8"), filters=[numcodecs.Quantize(2, ">f8", "<f4")])
    yield "filter-bitround-F", own(dialect, np.sqrt(table), filters=[numcodecs.BitRound(7)], order="F", compressor=numcodecs.Zlib(1))
    yield "filter-packbits-F", own(dialect, table % 3 == 0, filters=[numcodecs.PackBits()], order="F", compressor=numcodecs.GZip(1))
    yield "filter-astype-bitround", own(dialect, floats[:3], filters=[numcodecs.AsType("<f4", "<f8"), numcodecs.BitRound(9)])
    yield "filter-astype-swapped", own(dialect, integers.astype(">i4"), filters=[numcodecs.AsType(">i2", ">i4")])
    yield "filter-crc32-end", own(dialect, integers, filters=[numcodecs.CRC32(location="end")], compressor=numcodecs.Zstd(1))
    yield "filter-adler32-end", own(dialect, integers, filters=[numcodecs.Adler32(location="end")])
    yield "filter-jenkins-initval", own(dialect, integers, filters=[numcodecs.JenkinsLookup3(initval=5)])
    if dialect == "v2":
        yield "filter-fletcher32-compressor", own(dialect, integers, compressor=numcodecs.Fletcher32())
    yield "object-categorize", own(dialect, objects("a", "", "漢🎉", "a"), dtype=object, object_codec=numcodecs.Categorize(["a", "漢🎉"], object))

    yield "fill-text|S3", own(dialect, None, shape=(5,), dtype="|S3", fill_value=b"ab")
    yield "fill-text<U3", own(dialect, None, shape=(5,), dtype="<U3", fill_value="aß")
    yield "fill-text>U3", own(dialect, None, shape=(5,), dtype=">U3", fill_value="漢🎉")
    yield "void", own(dialect, np.array([b"abc", b"123456", b"", b"\xff"], "|V6"), fill_value=b"fill..")
    yield "fill-void", own(dialect, None, shape=(5,), dtype="|V3", fill_value=b"\x00\x01\xff")

    yield "structured", own(dialect, records)
    yield "structured-nested", own(dialect, nests, compressor=numcodecs.Blosc())
    yield "structured-fill", own(dialect, None, shape=(5,), dtype=record, fill_value=np.array((7, 1.5), record)[()])
    yield "object-vlen-utf8", own(dialect, objects("a", "", "漢🎉"), dtype=object, object_codec=numcodecs.VLenUTF8())
    yield "object-vlen-utf8-fill", own(dialect, None, shape=(5,), dtype=object, object_codec=numcodecs.VLenUTF8(), fill_value="xy")
    yield "object-vlen-bytes", own(dialect, objects(b"a", b"", b"bcd"), dtype=object, object_codec=numcodecs.VLenBytes())
    yield "object-json2", own(dialect, objects("a", None, {"b": [1, 2]}), dtype=object, object_codec=numcodecs.JSON())
    if dialect == "draft-2020":
        for name, data, per_shard, options in [
            ("sharding", integers, (2,), {}),
            ("sharding-compressed", table, (2, 3), {"compressor": numcodecs.GZip(1)}),
            ("sharding-F", table, (3, 2), {"order": "F"}),
            ("sharding-one", table, (1, 1), {"compressor": numcodecs.Zstd(1)}),
            ("sharding-filter", table, (2, 2), {"filters": [numcodecs.Delta("<i4")]}),
            ("sharding-periods", table, (2, 2), {"dimension_separator": "."}),
        ]:
            yield name, own(dialect, data, storage_transformers=[ShardingStorageTransformer("indexed", per_shard)], **options)


CODECS = "quantize|bitround|packbits|astype|crc32|adler32|fletcher32|jenkins|base64|categorize"

PEER = Peer(
    name="zarr-python 2.18.7",
    knows={
        "draft-2020": (NUMBERS + TIMES + ["|S7", "<U5"] + RECORDS + NESTED + SUBARRAYS, COMMON),
        "v2": (NUMBERS + TIMES + STEPS + TEXT + RECORDS + NESTED + SUBARRAYS, COMMON + [("crc32c",), ("shuffle:4", "zlib:1")]),
    },
    writes={
        "draft-2020": COMMON + [("delta",), ("shuffle:4", "zlib:1")],
        "v2": COMMON + [("crc32c",), ("shuffle:4", "zlib:1"), ("delta",)],
    },
    writes_types={"draft-2020": NUMBERS + TEXT},
    stores={dialect: list(stores(dialect)) for dialect in ("draft-2020", "v2")},
    read=read,
    write=write,
    long=("draft-2020", "v2"),
    read_long=read,
    write_long=write_long,
    read_tree=read_tree,
    write_tree=write_tree,
    consolidate=consolidate,
    read_consolidated=lambda store, dialect: read_tree(store, dialect, of_copies),
    exceptions=REFUSED
    + [
        (r"we copy from v2", "draft-2020", r".*[<>](M8\[25s\]|m8\[10us\]).*", "knows no steps of several units of time there"),
        (r"we copy from (v2|v3)", "draft-2020", r"filter-(delta.*|shuffle|two|fixedscaleoffset)", "the draft has no name for the codec"),
        (r"we copy from .*", "v3", r'.*"<i4",\[2\].*|structured-nested', "final v3 cannot represent fields with a shape"),
        (r"we copy from v2", "draft-2020", rf"filter-({CODECS}).*", "the draft has no name for the codec"),
        (r"we write", r".*", r"variable_length_bytes-(fill|nothing-stored)", "takes the base64 of a fill value for text"),
        (r"they write|we copy from .*", r".*", r"variable_length_bytes-nothing-stored", "cannot write bytes as a fill value"),
        (r"we copy from .*", "v3", r"object-json2", "v3 has no codec for objects in JSON"),
        (r"we .*", "draft-2020", r"fill-nan-inf[<>]c8", "on some processors turns the sign of the NaN of a complex fill value, whose parts it adds"),
    ],
)

if __name__ == "__main__":
    main(PEER)
