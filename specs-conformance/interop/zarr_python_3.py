"""zarr-python 3: final v3 and v2. It runs with 3.1 and with 3.4, which are two peers."""

import json
import shutil
import warnings

warnings.simplefilter("ignore")

import numcodecs
import numpy as np
import zarr
from zarr.codecs import BloscCodec, BytesCodec, Crc32cCodec, GzipCodec, TransposeCodec, ZstdCodec
from zarr.codecs import numcodecs as named
from zarr.core.dtype import VariableLengthBytes, VariableLengthUTF8

from cases import BLOSC, NESTED, NUMBERS, RECORDS, STEPS, TEXT, TIMES, delta_type, numpy_type
from common import REFUSED, REFUSED_AXES, Peer, main
from layouts import layouts, long_shards

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
    elif case.chain:
        shape["dtype"] = numpy_type(case.dtype).newbyteorder("=")
        codecs = [json.loads(text) for text in case.chain]
        array = zarr.create(store=str(store), path="a", **shape, codecs=codecs, zarr_format=3)
    else:
        rank = len(case.shape)
        filters = [TransposeCodec(order=tuple(reversed(range(rank))))] if case.order == "F" and rank > 1 else []
        if delta:
            filters.append(named.Delta(dtype=delta_type(case.dtype).replace(">", "<")))
        endian = "big" if case.dtype[0] == ">" else "little"
        compressors = [] if delta else [v3_codec(codec) for codec in case.codecs]
        shape["dtype"] = numpy_type(case.dtype).newbyteorder("=")
        codecs = dict(filters=filters, serializer=BytesCodec(endian=endian), compressors=compressors)
        array = group.create_array("a", **shape, **codecs, shards=case.shards or None)
    if not case.empty:
        array[...] = case.data()


def own(dialect, data, filters=(), compressors=(), **options):
    """An array in chunks of two along each axis, and what zarr-python itself reads then."""

    def write(store):
        zarr.open_group(str(store), mode="w", zarr_format=2 if dialect == "v2" else 3)
        codecs = dict(filters=list(filters) or None, compressors=list(compressors) or None)
        array = zarr.create_array(
            str(store), name="a", shape=data.shape, chunks=(2,) * data.ndim, dtype=data.dtype,
            zarr_format=2 if dialect == "v2" else 3, fill_value=data.dtype.type(), **codecs, **options,
        )
        array[...] = data
        return {"/a": read(store, dialect)}

    return write


def filters(dialect):
    """numcodecs' filters and checksums, on arrays in v3 and on flat bytes in v2."""
    integers = np.array([3, 1, -4, 1, -5, 9, 2], "<i4")
    floats = np.array([0.5, -1.25, 3.0, 1e10, 0.1, -0.0, 7.0], "<f8")
    table = np.arange(35, dtype="<i4").reshape(5, 7)
    codecs = named if dialect == "v3" else numcodecs
    yield "filter-fixedscaleoffset", own(dialect, floats[:3], [codecs.FixedScaleOffset(offset=1, scale=10, dtype="<f8", astype="<i2")])
    yield "filter-quantize", own(dialect, floats, [codecs.Quantize(digits=2, dtype="<f8")])
    yield "filter-quantize-negative", own(dialect, floats.astype("<f4"), [codecs.Quantize(digits=-1, dtype="<f4")])
    yield "filter-bitround", own(dialect, floats.astype("<f4"), [codecs.BitRound(keepbits=5)])
    yield "filter-bitround-halves", own(dialect, np.sqrt(table).astype("<f2"), [codecs.BitRound(keepbits=3)])
    yield "filter-packbits", own(dialect, table % 3 == 0, [codecs.PackBits()])
    yield "filter-astype", own(dialect, integers.astype("<i8"), [codecs.AsType(encode_dtype="<i4", decode_dtype="<i8")])
    yield "filter-astype-floats", own(dialect, floats, [codecs.AsType(encode_dtype="<f4", decode_dtype="<f8")])
    yield "filter-crc32", own(dialect, integers, compressors=[codecs.CRC32()])
    yield "filter-crc32-end", own(dialect, integers, compressors=[codecs.CRC32(location="end")])
    yield "filter-adler32", own(dialect, integers, compressors=[codecs.Adler32()])
    yield "filter-fletcher32", own(dialect, table, compressors=[codecs.Fletcher32()])
    yield "filter-jenkins", own(dialect, integers, compressors=[codecs.JenkinsLookup3()])
    yield "filter-jenkins-initval", own(dialect, integers, compressors=[codecs.JenkinsLookup3(initval=5)])
    if dialect == "v2":
        yield "filter-base64", own(dialect, integers, [codecs.Base64()])
        yield "filter-categorize", own(dialect, np.array(list("abaac")), [codecs.Categorize(["a", "b", "c"], "<U1")])


def consolidate(store, dialect):
    zarr.consolidate_metadata(str(store), zarr_format=2 if dialect == "v2" else 3)


def read_consolidated(store, dialect):
    """The tree, only out of copies: no document below the root is there."""
    bare = store.with_name(store.name + "-bare")
    bare.mkdir()
    for name in ("zarr.json", ".zgroup", ".zattrs", ".zmetadata"):
        if (store / name).exists():
            shutil.copy(store / name, bare / name)
    root = zarr.open_consolidated(str(bare), zarr_format=2 if dialect == "v2" else 3)
    found = {}
    for path, node in [("", root), *root.members(max_depth=None)]:
        attributes = node.attrs.asdict()
        names = attributes.pop("_ARRAY_DIMENSIONS", None)
        kind = "group" if isinstance(node, zarr.Group) else "array"
        if kind == "array" and dialect == "v3" and node.metadata.dimension_names:
            names = list(node.metadata.dimension_names)
        found[f"/{path}"] = kind, attributes, names
    shutil.rmtree(bare)
    return found


def read_long(store, dialect):
    return np.asarray(read(store, dialect), dtype=object)


def write_long(store, case, dialect):
    group = zarr.open_group(str(store), mode="w", zarr_format=2 if dialect == "v2" else 3)
    types = {"string": VariableLengthUTF8, "variable_length_bytes": VariableLengthBytes}
    options = dict(shape=case.shape, chunks=case.chunks, dtype=types[case.dtype](), fill_value=case.fill_value())
    if dialect == "v2":
        array = group.create_array("a", **options, order=case.order, compressors=v2_codec(case.codecs[0]) if case.codecs else None)
    else:
        rank = len(case.shape)
        filters = [TransposeCodec(order=tuple(reversed(range(rank))))] if case.order == "F" and rank > 1 else []
        codecs = dict(filters=filters, compressors=[v3_codec(codec) for codec in case.codecs])
        array = group.create_array("a", **options, **codecs, shards=case.shards or None)
    if not case.empty:
        array[...] = case.data()


# What 3.4 does and 3.1 did not.
OLD = [
    (r"we (write|copy from .*)", "v3", r".*\[\[.*", "knows records only by their old name, `structured`"),
    (r"we copy from v3", "v2", r'.*\["e",\[\[.*', "knows no records in records in v2"),
    (r"they write", "v3", r"(shards-)?(string|variable_length_bytes).*-F", "writes transposed variable-length elements in memory order (T-47)"),
    (r"we copy from v3", r".*", r"(shards-)?(string|variable_length_bytes).*-F", "wrote transposed variable-length elements in memory order (T-47)"),
    (r"they write", "v3", r"shards-dtype\[.*", "cannot write records into shards"),
    (r"we copy from v3", r"v2|draft-2020", r"shards-dtype\[.*", "could not write records into shards"),
    (r"they write", "v3", r"codec-delta-F", "reads its own differences of transposed elements wrongly"),
    (r"we copy from v3", "v2", r"codec-delta-F", "wrote differences in memory order, whatever the order of the axes"),
    (r"we copy from v3", "v3", r"codec-delta-F", "reads differences of transposed elements wrongly"),
    (r"they write|we copy from v3", r".*", r"shards-scalar", "cannot write arrays without axes into shards (T-11)"),
    (r"we copy from v2", "v3", r"codec-delta>u2", "reads differences of swapped elements wrongly"),
]
# The reverse.
NEW = [
    (r"we (write|copy from v2)", "v3", r".*\[\[.*\|V3.*", "knows raw bytes in records only as `raw_bytes`"),
    (r"we copy from v3", "v2", r"codec-delta>u2", "wrote differences of swapped elements wrongly"),
    (r"they write|we copy from (v2|v3)", r".*", r"variable_length_bytes-scalar", "cannot write bytes without axes"),
]

PEER = Peer(
    name=f"zarr-python {zarr.__version__}",
    knows={
        "v3": (NUMBERS + TIMES + STEPS + RECORDS + NESTED, COMMON + [("crc32c",)]),
        "v2": (NUMBERS + TIMES + STEPS + TEXT + RECORDS, COMMON + [("crc32c",)]),
    },
    writes={
        "v3": COMMON + [("crc32c",), ("gzip:1", "crc32c"), ("delta",)],
        "v2": COMMON + [("crc32c",), ("delta",)],
    },
    cases={"v3": [*layouts(NUMBERS + TIMES + STEPS + RECORDS + NESTED, COMMON + [("gzip:1", "crc32c")]), *long_shards()]},
    stores={dialect: list(filters(dialect)) for dialect in ("v3", "v2")},
    reads_stores=True,
    read=read,
    write=write,
    long=("v3", "v2"),
    read_long=read_long,
    write_long=write_long,
    consolidate=consolidate,
    read_consolidated=read_consolidated,
    exceptions=REFUSED
    + REFUSED_AXES
    + (OLD if zarr.__version__.startswith("3.1.") else NEW)
    + [
        (r"we copy from (v2|v3)", "draft-2020", r"filter-.*", "the draft has no name for the codec"),
        (r"we copy from v2", "v3", r"dtype\|V6.*", "does not know raw bytes"),
        (r".*", r".*", r"shards-transpose-(before|around)[|<].*", "compares the shape of inner chunks with the axes as they were (T-08)"),
        (r"they write", "v3", r"codec-delta>u2", "reads its own differences of swapped elements wrongly"),
        (r"we copy from v3", "v3", r"codec-delta>u2", "reads differences of swapped elements wrongly"),
    ],
)

if __name__ == "__main__":
    main(PEER)
