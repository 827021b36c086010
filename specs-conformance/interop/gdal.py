"""GDAL 3.6.2, Debian 12's: the v3 draft of 2020, and v2.

It belongs to /usr/bin/python3, with NumPy from Debian as well.
"""

import json
import os
from pathlib import Path

import numpy as np
from osgeo import gdal

from cases import BLOSC, Case
from common import REFUSED, Peer, main

gdal.UseExceptions()

FORMATS = {"draft-2020": "ZARR_V3", "v2": "ZARR_V2"}
TYPES = {
    "|u1": gdal.GDT_Byte, "<u2": gdal.GDT_UInt16, "<u4": gdal.GDT_UInt32, "<u8": gdal.GDT_UInt64,
    "<i2": gdal.GDT_Int16, "<i4": gdal.GDT_Int32, "<i8": gdal.GDT_Int64,
    "<f4": gdal.GDT_Float32, "<f8": gdal.GDT_Float64, "<c8": gdal.GDT_CFloat32, "<c16": gdal.GDT_CFloat64,
}
READS = ["|b1", "|i1", "|u1"] + [f"{order}{kind}" for order in "<>" for kind in "i2 u2 i4 u4 i8 u8 f2 f4 f8".split()]
WRITES = [dtype for dtype in READS if dtype in TYPES]
SHUFFLES = {"noshuffle": "NONE", "shuffle": "BYTE", "bitshuffle": "BIT"}


def document_type(store, dialect):
    if dialect == "v2":
        return np.dtype(json.loads((store / "a/.zarray").read_text())["dtype"])
    name = json.loads((store / "meta/root/a.array.json").read_text())["data_type"]
    return np.dtype({"bool": "|b1", "i1": "|i1", "u1": "|u1"}.get(name, name))


def read(store, dialect):
    dataset = gdal.OpenEx(str(store), gdal.OF_MULTIDIM_RASTER)
    array = dataset.GetRootGroup().OpenMDArray("a")
    shape = [dimension.GetSize() for dimension in array.GetDimensions()]
    stored = document_type(store, dialect)
    if array.GetDataType().GetClass() == gdal.GEDTC_STRING:
        return np.array(array.Read(), stored).reshape(shape)
    if not shape:
        survive(array.Read)
    found = array.ReadAsArray()
    # int8, bool and float16 come in a wider type.
    narrow = found.astype(stored)
    if not np.array_equal(narrow.astype(found.dtype), found, equal_nan=found.dtype.kind in "fc"):
        raise ValueError(f"{found.dtype} elements that are no {stored}")
    return narrow.reshape(shape)


def survive(action):
    """Does it in a separate process first, for it may crash."""
    child = os.fork()
    if not child:
        try:
            action()
        finally:
            os._exit(0)
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status):
        raise RuntimeError(f"died of signal {os.WTERMSIG(status)}")


def codec_options(codec, dtype):
    name, _, level = codec.partition(":")
    match name.split("-"):
        case ["blosc", cname, shuffle]:
            return {"COMPRESS": "BLOSC", "BLOSC_CNAME": cname, "BLOSC_CLEVEL": level, "BLOSC_SHUFFLE": SHUFFLES[shuffle]}
        case ["delta"]:
            return {"FILTER": "DELTA", "DELTA_DTYPE": dtype}
        case ["lz4"] | ["lzma"]:
            return {"COMPRESS": name.upper()}
        case [_]:
            return {"COMPRESS": name.upper(), f"{name.upper()}_LEVEL": level}


def create(store, dialect):
    options = [f"FORMAT={FORMATS[dialect]}"]
    return gdal.GetDriverByName("Zarr").CreateMultiDimensional(str(store), [], options)


def create_array(group, name, shape, data_type, **options):
    dimensions = [group.CreateDimension(f"{name}{axis}", "", "", length) for axis, length in enumerate(shape)]
    return group.CreateMDArray(name, dimensions, data_type, [f"{key}={value}" for key, value in options.items()])


def write(store, case, dialect):
    options = {"CHUNK_MEMORY_LAYOUT": case.order}
    if case.chunks:
        options["BLOCKSIZE"] = ",".join(map(str, case.chunks))
    if case.separator:
        options["DIM_SEPARATOR"] = case.separator
    for codec in case.codecs:
        options |= codec_options(codec, case.dtype)
    dataset = create(store, dialect)
    stored = np.dtype(case.dtype)
    if stored.kind in "SU":
        data_type = gdal.ExtendedDataType.CreateString(stored.itemsize // (4 if stored.kind == "U" else 1))
        options["STRING_FORMAT"] = "UNICODE" if stored.kind == "U" else "STRING"
    else:
        data_type = gdal.ExtendedDataType.Create(TYPES[case.dtype])
    array = create_array(dataset.GetRootGroup(), "a", case.shape, data_type, **options)
    if stored.kind in "SU" and not case.undefined:
        array.SetNoDataValueString("")
    elif not case.undefined:
        array.SetNoDataValue(case.fill_value()[()].item())
    if not case.empty and 0 not in case.shape:
        put(array, case.data())


def put(array, data):
    if data.dtype.kind in "SU":
        array.Write(data.astype("U").tolist())
    else:
        array.Write(data.tobytes())


def read_tree(store, dialect):
    found = {}

    def attributes(node):
        return {attribute.GetName(): attribute_value(attribute) for attribute in node.GetAttributes()}

    def walk(group, path):
        found[path or "/"] = "group", attributes(group), None
        for name in group.GetGroupNames() or []:
            walk(group.OpenGroup(name), f"{path}/{name}")
        for name in group.GetMDArrayNames() or []:
            array = group.OpenMDArray(name)
            names = [dimension.GetName() for dimension in array.GetDimensions()]
            found[f"{path}/{name}"] = "array", attributes(array), names

    walk(gdal.OpenEx(str(store), gdal.OF_MULTIDIM_RASTER).GetRootGroup(), "")
    # GDAL takes the folder of a draft's consolidated metadata for a group.
    if (Path(store) / "meta/root/consolidated/.zmetadata").exists():
        found.pop("/consolidated", None)
    return found


def attribute_value(attribute):
    value = attribute.Read()
    if attribute.GetDimensionCount() and not isinstance(value, (list, tuple)):
        return [value]
    return list(value) if isinstance(value, tuple) else value


def write_tree(store, dialect, tree):
    dataset = create(store, dialect)
    groups = {"": dataset.GetRootGroup()}
    for path, (kind, attributes, names) in tree.items():
        parent, _, name = path.rpartition("/")
        if kind == "group":
            node = groups[path.rstrip("/")] = groups[parent].CreateGroup(name) if name else groups[""]
        else:
            sizes = zip(names or ["0", "1"], (2, 3))
            dimensions = [groups[parent].CreateDimension(axis, "", "", length) for axis, length in sizes]
            node = groups[parent].CreateMDArray(name, dimensions, gdal.ExtendedDataType.Create(gdal.GDT_Int32))
        for key, value in attributes.items():
            write_attribute(node, key, value)
        if names:
            # GDAL would do it for axes with an indexing variable, which would be one more array.
            write_attribute(node, "_ARRAY_DIMENSIONS", names)


def write_attribute(node, key, value):
    items = value if isinstance(value, list) else [value]
    kinds = {type(item) for item in items}
    if kinds == {str}:
        data_type = gdal.ExtendedDataType.CreateString()
    elif kinds == {float}:
        data_type = gdal.ExtendedDataType.Create(gdal.GDT_Float64)
    elif kinds == {int} and all(-(2**31) <= item < 2**31 for item in items):
        data_type = gdal.ExtendedDataType.Create(gdal.GDT_Int32)
    else:
        data_type = gdal.ExtendedDataType.CreateString(0, gdal.GEDTST_JSON)
        # A number or a word must be seen to end.
        value = json.dumps(value) + " "
    lengths = [len(value)] if isinstance(value, list) else []
    node.CreateAttribute(key, lengths, data_type).Write(value)


# What GDAL writes that no case asks for.


def scalar(dialect):
    def write(store):
        dataset = create(store, dialect)
        array = create_array(dataset.GetRootGroup(), "a", [], gdal.ExtendedDataType.Create(gdal.GDT_Float64))
        array.Write(np.float64(1 / 3).tobytes())
        return {"/a": np.array(1 / 3)}

    return write


def integers(dialect, **options):
    def write(store):
        data = np.arange(35, dtype="<i4").reshape(5, 7)
        dataset = create(store, dialect)
        put(create_array(dataset.GetRootGroup(), "a", data.shape, gdal.ExtendedDataType.Create(gdal.GDT_Int32), **options), data)
        return {"/a": data}

    return write


def raster(dialect):
    """As `gdal_translate` writes it: one array for each band, and the coordinates."""

    def write(store):
        options = [f"FORMAT={FORMATS[dialect]}", "COMPRESS=ZSTD", "BLOCKSIZE=3,4"]
        dataset = gdal.GetDriverByName("Zarr").Create(str(store), 9, 7, 2, gdal.GDT_UInt16, options)
        dataset.SetGeoTransform([100, 2, 0, 50, 0, -4])
        bands = np.arange(2 * 7 * 9, dtype="<u2").reshape(2, 7, 9)
        for number in (0, 1):
            dataset.GetRasterBand(number + 1).WriteArray(bands[number])
        y, x = 50 - 4 * (np.arange(7.0) + 0.5), 100 + 2 * (np.arange(9.0) + 0.5)
        return {"/Band1": bands[0], "/Band2": bands[1], "/X": x, "/Y": y}

    return write


def compound(store):
    stored = np.dtype([("a", "<i4"), ("b", "<f8")])
    data = np.array([(1, 0.5), (-2, np.nan), (3, -0.0)], stored)
    parts = [
        gdal.EDTComponent.Create("a", 0, gdal.ExtendedDataType.Create(gdal.GDT_Int32)),
        gdal.EDTComponent.Create("b", 4, gdal.ExtendedDataType.Create(gdal.GDT_Float64)),
    ]
    dataset = create(store, "v2")
    array = create_array(dataset.GetRootGroup(), "a", data.shape, gdal.ExtendedDataType.CreateCompound("", 12, parts))
    array.Write(data.tobytes())
    return {"/a": data}


def complex_fill(store):
    dataset = create(store, "v2")
    array = create_array(dataset.GetRootGroup(), "a", [3], gdal.ExtendedDataType.Create(gdal.GDT_CFloat32))
    array.SetNoDataValueDouble(3)
    return {"/a": np.full(3, 3, "<c8")}


def stores(dialect):
    return [
        ("scalar-of-its-own", scalar(dialect)),
        ("snappy", integers(dialect, COMPRESS="BLOSC", BLOSC_CNAME="snappy")),
        ("blocksize", integers(dialect, COMPRESS="BLOSC", BLOSC_BLOCKSIZE=32)),
        ("lzma-delta", integers(dialect, COMPRESS="LZMA", LZMA_PRESET=9, LZMA_DELTA=4)),
        ("one-chunk", integers(dialect)),
        ("raster", raster(dialect)),
    ]


def without_fill(dtypes):
    return [Case(f"undefined{dtype}", dtype, undefined=True) for dtype in dtypes]


COMMON = [("gzip:5",), ("zlib:5",), ("zstd:3",), ("lz4",), ("lzma",)] + [(name,) for name in BLOSC]

PEER = Peer(
    name=f"GDAL {gdal.__version__}",
    knows={"draft-2020": (READS, COMMON), "v2": (READS, COMMON + [("delta",), ("delta", "zlib:1")])},
    writes_types={"draft-2020": WRITES, "v2": WRITES},
    cases={
        "draft-2020": without_fill(["|u1", "<i8", "<f8"]),
        "v2": without_fill(["|u1", "<i8", "<f8", "<c8", "<c16"])
        + [Case(f"texts{dtype}", dtype, (23,), (4,), holes=False, undefined=True) for dtype in ("|S7", "<U5", ">U5")]
        + [Case(f"filled-texts{dtype}", dtype, (23,), (4,)) for dtype in ("|S7", "<U5")],
    },
    stores={
        "draft-2020": stores("draft-2020"),
        "v2": stores("v2") + [("compound", compound), ("complex-fill", complex_fill)],
    },
    read=read,
    write=write,
    read_tree=read_tree,
    write_tree=write_tree,
    exceptions=REFUSED
    + [
        (r".*", r"draft-2020|v2", r"no-elements", "refuses a length of zero"),
        (r"they write", "draft-2020", r"scalar(-unwritten)?", "crashes if an array without axes has slashes for a separator"),
        (r"they write", "draft-2020", r"periods", "makes no folder for chunks whose keys have periods, and cannot write them"),
        (r"we copy from draft-2020", r".*", r"periods", "makes no folder for chunks whose keys have periods, and cannot write them"),
        (r"we (write|copy from .*)", r"draft-2020|v2", r"fill-max[<>]u8", "takes the highest int64 for every higher fill value"),
        (r"we (write|copy from .*)", "draft-2020", r"fill-inf[<>]f[248]", "knows Infinity, and not the draft's +Infinity"),
        (r"we write", "v2", r"codec-delta(\+zlib:1)?\|[iu]1", "knows no type |u1 or |i1 in a filter, as numcodecs writes it"),
        (r"we copy from v2", "draft-2020", r"undefined<c.*|(filled-)?texts.*", "knows complex numbers and text only in v2"),
        (r"we copy from .*", r".*", r"snappy", "the program does not encode snappy"),
        (r"we write", r".*", r"attribute-null/.*", "reads null as a text"),
        (
            r"we write|they read our copy from .*", r".*", r"attribute-(i64-min|i64-max|u64-max|beyond-u64)/.*",
            "reads integers beyond int32 as doubles",
        ),
        (r"they write|(we|they read our) copy from .*", r".*", r"attribute-null/.*", "writes null as {}"),
        (r"they write|we copy from .*", r".*", r"attribute-beyond-u64/.*", "writes no integers beyond uint64"),
    ],
)

if __name__ == "__main__":
    main(PEER)
