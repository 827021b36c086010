#!/usr/bin/env python3
"""Makes the HDF5 files of these tests, and writes down what h5py sees in them: `make.py [FOLDER]`.

Made with Python 3.11, h5py 3.16.0 (HDF5 2.0.0), netCDF4 1.7.5, NumPy 2.4.6 and hdf5plugin 7.1.0. `make.py --large FOLDER` makes larger
files of the same kind, which are not kept here. Beside each file NAME.h5 is NAME.json.
"""

import ctypes
import json
import struct
import sys
from pathlib import Path

import h5py
import hdf5plugin
import netCDF4
import numpy as np
from h5py import h5a, h5d, h5g, h5l, h5o, h5p, h5r, h5s, h5t, h5z

# h5py's own library, for what h5py has no function for.
LIBRARY = ctypes.CDLL(str(next(Path(h5py.__file__).parent.parent.glob("h5py.libs/libhdf5-*.so*"))))
for name in ("H5Tcomplex_create", "H5Tcopy"):
    function = getattr(LIBRARY, name)
    function.restype, function.argtypes = ctypes.c_int64, [ctypes.c_int64]


# ---- What h5py sees ----


def describe(kind):
    """A type's name as `Datatype` of the crate prints it."""
    size = kind.get_size()
    order = {h5t.ORDER_LE: "<", h5t.ORDER_BE: ">"}
    number = kind.get_class()
    if number == h5t.INTEGER:
        sign = "i" if kind.get_sign() == h5t.SGN_2 else "u"
        return f"{'|' if size == 1 else order[kind.get_order()]}{sign}{size}"
    if number == h5t.FLOAT:
        if size == 2 and kind.get_fields()[1:3] == (7, 8):
            return f"{order[kind.get_order()]}bfloat16"
        return f"{order[kind.get_order()]}f{size}"
    if number == h5t.STRING:
        return "string" if kind.is_variable_str() else f"string{size}"
    if number == h5t.BITFIELD:
        return f"{order[kind.get_order()]}b{size}"
    if number == h5t.OPAQUE:
        return f"opaque{size}({kind.get_tag().decode()})"
    if number == h5t.COMPOUND:
        fields = [
            f"{kind.get_member_name(i).decode()}: {describe(kind.get_member_type(i))} at {kind.get_member_offset(i)}"
            for i in range(kind.get_nmembers())
        ]
        return "{" + ", ".join(fields) + "}"
    if number == h5t.REFERENCE:
        return "region reference" if kind.equal(h5t.STD_REF_DSETREG) else "object reference"
    if number == h5t.ENUM:
        return f"enum({describe(kind.get_super())})"
    if number == h5t.VLEN:
        return f"vlen({describe(kind.get_super())})"
    if number == h5t.ARRAY:
        shape = ", ".join(map(str, kind.get_array_dims()))
        return f"array({describe(kind.get_super())}, [{shape}])"
    if number == 11:
        base = "<f8" if size == 16 else "<f4"
        return f"complex({base})"
    raise TypeError(number)


def canonical(value, kind, file):
    """An element as JSON that the tests compare."""
    number = kind.get_class()
    if number == h5t.INTEGER:
        return f"i:{int(value)}"
    if number == h5t.FLOAT:
        if kind.get_size() > 8:
            return None
        return "f:" + struct.pack(">d", float(value)).hex()
    if number == h5t.STRING:
        text = value if isinstance(value, bytes) else value.encode()
        return "t:" + text.decode()
    if number in (h5t.BITFIELD, h5t.OPAQUE):
        return "b:" + value.tobytes().hex()
    if number == h5t.COMPOUND:
        if isinstance(value, (complex, np.complexfloating)):
            base = kind.get_member_type(0)
            return {"r": canonical(value.real, base, file), "i": canonical(value.imag, base, file)}
        return {
            kind.get_member_name(i).decode(): canonical(value[i], kind.get_member_type(i), file)
            for i in range(kind.get_nmembers())
        }
    if number == h5t.REFERENCE:
        if not value:
            return "r:None"
        target = h5o.get_info(h5r.dereference(value, file.id)).addr
        return f"{'g' if isinstance(value, h5r.RegionReference) else 'r'}:{target}"
    if number == h5t.ENUM:
        return f"e:{int(value)}"
    if number == h5t.VLEN:
        return [canonical(part, kind.get_super(), file) for part in value]
    if number == h5t.ARRAY:
        return [canonical(part, kind.get_super(), file) for part in np.asarray(value).ravel()]
    if number == 11:
        pack = lambda part: "f:" + struct.pack(">d", float(part)).hex()
        return [pack(value.real), pack(value.imag)]
    raise TypeError(number)


def elements(value, kind, file):
    if kind.get_class() == h5t.ARRAY:
        # NumPy adds the axes of array types to the array's own.
        rank = len(kind.get_array_dims())
        array = np.asarray(value)
        shape = array.shape[: array.ndim - rank]
        return [canonical(array[place], kind, file) for place in np.ndindex(shape)]
    if isinstance(value, np.ndarray):
        return [canonical(part, kind, file) for part in value.ravel()]
    return [canonical(value, kind, file)]


def attributes(thing, file):
    found = {}
    for number in range(h5a.get_num_attrs(thing.id)):
        attribute = h5a.open(thing.id, index=number)
        name = attribute.name.decode()
        kind = attribute.get_type()
        entry = {"type": describe(kind), "shape": None, "values": []}
        if attribute.get_space().get_simple_extent_type() != h5s.NULL:
            entry["shape"] = list(attribute.shape)
            if kind.get_class() == 11:
                base = np.dtype("f8" if kind.get_size() == 16 else "f4")
                entry["values"] = None
            else:
                entry["values"] = elements(thing.attrs[name], kind, file)
        found[name] = entry
    return found


def links(group):
    found = {}
    for name in group:
        raw = name.encode("utf-8", "surrogateescape")
        info = group.id.links.get_info(raw)
        if info.type == h5l.TYPE_HARD:
            found[name] = ["hard", h5o.get_info(group.id, raw).addr]
        elif info.type == h5l.TYPE_SOFT:
            found[name] = ["soft", group.id.links.get_val(raw).decode()]
        else:
            found[name] = ["external", *[part.decode() for part in group.id.links.get_val(raw)]]
    return found


def is_extensible_array(data):
    """Whether HDF5 keeps chunks of one unlimited axis in an extensible array: not in files for its earliest releases."""
    return data.file.id.get_create_plist().get_version()[0] >= 3


def numbered(offset, chunk_shape, max_shape):
    """The offset of a chunk in an extensible array whose unlimited axis is not the first. HDF5 numbers such chunks with that axis as
    the slowest one, but lists them (`H5Dchunk_iter`, up to HDF5 2.0) as if the axes were in their order: reading the elements shows it."""
    axis = max_shape.index(None)
    counts = [None if most is None else -(-most // length) for most, length in zip(max_shape, chunk_shape)]
    number = offset[axis] // chunk_shape[axis]
    for place, length, count in list(zip(offset, chunk_shape, counts))[axis + 1 :]:
        number = number * count + place // length
    found = [0] * len(offset)
    for other in reversed([n for n in range(len(offset)) if n != axis]):
        number, found[other] = divmod(number, counts[other])
    found[axis] = number
    return [at * length for at, length in zip(found, chunk_shape)]


LAYOUTS = {h5d.COMPACT: "compact", h5d.CONTIGUOUS: "contiguous", h5d.CHUNKED: "chunked", h5d.VIRTUAL: "virtual"}


def dataset(data):
    plist = data.id.get_create_plist()
    space = data.id.get_space()
    is_null = space.get_simple_extent_type() == h5s.NULL
    found = {
        "type": describe(data.id.get_type()),
        "shape": None if is_null else list(data.id.shape),
        "max_shape": None,
        "layout": LAYOUTS[plist.get_layout()],
        "filters": [],
    }
    if plist.get_external_count():
        found["layout"] = "external"
    if not is_null:
        limits = space.get_simple_extent_dims(True)
        found["max_shape"] = [None if n == h5s.UNLIMITED else n for n in limits]
    for number in range(plist.get_nfilters()):
        code, flags, values, _ = plist.get_filter(number)
        found["filters"].append([code, flags & 1, list(values)])
    if found["layout"] == "contiguous":
        # Behind a user block h5py adds its length to HDF5's "undefined".
        offset = data.id.get_offset()
        found["offset"] = None if offset == data.file.userblock_size - 1 else offset
    if found["layout"] == "chunked":
        found["chunk_shape"] = list(plist.get_chunk())
        chunks = []
        data.id.chunk_iter(lambda c: chunks.append([list(c.chunk_offset), c.byte_offset, c.size, c.filter_mask]))
        limits = found.get("max_shape", [])
        if is_extensible_array(data) and limits.count(None) == 1 and limits[0] is not None:
            chunks = [[numbered(offset, found["chunk_shape"], limits), *rest] for offset, *rest in chunks]
        found["chunks"] = sorted(chunks)
    return found


def snapshot(path):
    """All that h5py sees, by address."""
    objects = {}
    with h5py.File(path, "r") as file:
        waiting = [file["/"]]
        while waiting:
            thing = waiting.pop()
            address = h5o.get_info(thing.id).addr
            if address in objects:
                continue
            entry = {"attributes": attributes(thing, file)}
            if isinstance(thing, h5py.Group):
                entry["kind"] = "group"
                entry["links"] = links(thing)
                for name, link in entry["links"].items():
                    if link[0] == "hard":
                        waiting.append(h5_open(thing, name))
            elif isinstance(thing, h5py.Dataset):
                entry["kind"] = "dataset"
                entry.update(dataset(thing))
            else:
                entry["kind"] = "type"
                entry["type"] = describe(thing.id)
            objects[address] = entry
        root = h5o.get_info(file.id).addr
    return {"root": root, "objects": objects}


def netcdf_variables(group, path=""):
    """The dimensions and shapes of all variables, as netCDF4-python sees them."""
    found = {f"{path}/{name}": [list(v.dimensions), list(v.shape)] for name, v in group.variables.items()}
    for name, inner in group.groups.items():
        found.update(netcdf_variables(inner, f"{path}/{name}"))
    return found


UNREADABLE = {"quadruple", "twelve", "bits", "reference", "region", "ragged", "nested", "gaps", "spaces"}
UNREADABLE |= {"external", "virtual", "scale", "nbit", "bitshuffle_zstd", "null"}


def elements_of(data):
    """All elements: little-endian bytes as hexadecimal digits, or their hash if they are many; texts as such."""
    if data.dtype.kind == "O":
        texts = np.asarray(data[()]).ravel().tolist()
        return {"shape": list(data.shape), "texts": [text.decode() for text in texts]}
    kind = data.id.get_type()
    if kind.get_class() in (11, h5t.OPAQUE) or describe(kind).endswith("bfloat16"):
        raw = np.zeros(kind.get_size() * data.size, np.uint8)
        data.id.read(h5s.ALL, h5s.ALL, raw, kind)
        return {"shape": list(data.shape), "values": raw.tobytes().hex()}
    return numbers_of(np.asarray(data[()]))


def numbers_of(values):
    raw = values.astype(values.dtype.newbyteorder("<")).tobytes()
    found = {"shape": list(values.shape), "values": raw.hex()}
    if len(raw) > 4096:
        # FNV-1a of 64 bits.
        number = 0xCBF29CE484222325
        for byte in raw:
            number = (number ^ byte) * 0x100000001B3 & 0xFFFFFFFFFFFFFFFF
        found["values"] = f"{number:016x}"
    return found


def all_elements(path):
    """The elements of each dataset that can be read as Zarr, by its path."""
    found = {}
    if path.stem == "netcdf":
        with netCDF4.Dataset(path) as file:
            file.set_auto_maskandscale(False)
            for name in netcdf_variables(file):
                variable = file[name]
                values = np.asarray(variable[...])
                if variable.dtype is str:
                    found[name] = {"shape": list(variable.shape), "texts": values.ravel().tolist()}
                else:
                    found[name] = numbers_of(values)
        return found

    def visit(name, thing):
        if isinstance(thing, h5py.Dataset) and name.split("/")[-1] not in UNREADABLE:
            found["/" + name] = elements_of(thing)

    with h5py.File(path) as file:
        file.visititems(visit)
    return found


def h5_open(group, name):
    opened = h5o.open(group.id, name.encode("utf-8", "surrogateescape"))
    if isinstance(opened, h5d.DatasetID):
        return h5py.Dataset(opened)
    if isinstance(opened, h5g.GroupID):
        return h5py.Group(opened)
    return h5py.Datatype(opened)


# ---- The files ----


def low_level(group, name, kind, shape, raw, plist=None):
    """A dataset of a type that NumPy does not have, with these bytes."""
    space = h5s.create_simple(shape)
    made = h5d.create(group.id, name.encode(), kind, space, plist)
    made.write(h5s.ALL, h5s.ALL, np.frombuffer(raw, np.uint8), kind)
    return made


def types(file, version):
    group = file.create_group("types")
    for name in ["i1", "u1", "<i2", ">i2", "<u4", ">u8", "<i8", "<f2", "<f4", ">f4", ">f8", "<f8"]:
        plain = name.replace("<", "l").replace(">", "b")
        group[plain] = np.arange(1, 4).astype(name)
    group["huge"] = np.array([2**63 + 5, 2**64 - 1], "u8")
    group["complex64"] = np.array([1 + 2j, -3.5j], "c8")
    group["complex128"] = np.array([1 + 2j], ">c16")
    group["flag"] = np.array([True, False, True])
    colours = h5py.enum_dtype({"red": 1, "green": 2, "blue": 300}, "i2")
    group.create_dataset("colour", (3,), colours)[:] = [1, 300, 2]
    group["ascii"] = np.array([b"one", b"three"])
    group.create_dataset("utf8", (2,), h5py.string_dtype("utf-8", 6))[:] = ["é", "日本"]
    padded = h5t.C_S1.copy()
    padded.set_size(5)
    padded.set_strpad(h5t.STR_SPACEPAD)
    low_level(group, "spaces", padded, (2,), b"ab   cdefg")
    group.create_dataset("text", (3,), h5py.string_dtype())[:] = ["", "zwei", "trois, « trois »"]
    group.create_dataset("ragged", (2,), h5py.vlen_dtype("i4"))[:] = [np.arange(3), np.arange(2)]
    group["array"] = np.zeros(2, np.dtype([("a", "i4", (2, 3))]))["a"]
    group.create_dataset("arrays", (2,), np.dtype(("<i2", (2, 3))))[:] = np.arange(12).reshape(2, 2, 3)
    record = np.dtype([("x", "<f4"), ("n", "u1"), ("name", "S4")])
    group["record"] = np.array([(1.5, 2, b"ab"), (2.5, 3, b"wxyz")], record)
    nested = np.dtype([("inner", record), ("grid", "<i4", (2, 2)), ("big", ">f8")])
    group["nested"] = np.zeros(2, nested)
    gaps = np.dtype({"names": ["a", "b"], "formats": ["i1", "<f8"], "offsets": [3, 8], "itemsize": 24})
    group["gaps"] = np.zeros(2, gaps)
    opaque = h5t.create(h5t.OPAQUE, 5)
    opaque.set_tag(b"five bytes")
    low_level(group, "opaque", opaque, (2,), b"abcdefghij")
    low_level(group, "bits", h5t.STD_B16BE, (2,), b"\x12\x34\x56\x78")
    twelve = h5t.STD_I16LE.copy()
    twelve.set_precision(12)
    twelve.set_offset(2)
    low_level(group, "twelve", twelve, (2,), struct.pack("<2h", -400, 1200))
    group["quadruple"] = np.array([1.25, -2], "longdouble")
    brain = h5t.IEEE_F32LE.copy()
    brain.set_fields(15, 7, 8, 0, 7)
    brain.set_precision(16)
    brain.set_size(2)
    brain.set_ebias(127)
    low_level(group, "brain", brain, (2,), b"\x80\x3f\x00\xc0")
    reference = group.create_dataset("reference", (3,), h5py.ref_dtype)
    reference[0] = group["text"].ref
    reference[1] = file.ref
    region = group.create_dataset("region", (1,), h5py.regionref_dtype)
    region[0] = group["bi2"].regionref[1:2]
    group["named"] = np.dtype([("lat", "<f4"), ("lon", "<f4")])
    group.create_dataset("of_named", (2,), group["named"])
    if version == "v200":
        plain = ctypes.c_int64.in_dll(LIBRARY, "H5T_IEEE_F64LE_g").value
        made = LIBRARY.H5Tcomplex_create(plain)
        kind = h5t.TypeID(made)
        low_level(group, "native_complex", kind, (2,), struct.pack("<4d", 1, 2, 3, 4))


def layouts(file):
    group = file.create_group("layouts")
    values = np.arange(24, dtype="<i4").reshape(4, 6)
    group["scalar"] = 42.5
    group["scalar_text"] = "one text"
    group["null"] = h5py.Empty("f4")
    group.create_dataset("empty", (0, 3), "f8", maxshape=(None, 3))
    compact = h5p.create(h5p.DATASET_CREATE)
    compact.set_layout(h5d.COMPACT)
    low_level(group, "compact", h5t.STD_I32LE, (4, 6), values.tobytes(), compact)
    group.create_dataset("unwritten", (4, 6), "<f8", fillvalue=-1.5)
    low = h5p.create(h5p.DATASET_CREATE)
    low.set_external(b"raw.bin", 0, 96)
    h5d.create(group.id, b"external", h5t.STD_I32LE, h5s.create_simple((4, 6)), low)
    layout = h5py.VirtualLayout((4, 6), "<i4")
    layout[:2] = h5py.VirtualSource("other.h5", "a", (2, 6))
    group.create_virtual_dataset("virtual", layout, fillvalue=7)
    group.create_dataset("plain", data=values, chunks=(3, 4))
    group.create_dataset("single", data=values, chunks=(4, 6))
    group.create_dataset("single_gzip", data=values, chunks=(4, 6), compression="gzip")
    early = h5p.create(h5p.DATASET_CREATE)
    early.set_chunk((2, 4))
    early.set_alloc_time(h5d.ALLOC_TIME_EARLY)
    made = h5d.create(group.id, b"implicit", h5t.STD_I32LE, h5s.create_simple((4, 6), (6, 10)), early)
    made.write(h5s.ALL, h5s.ALL, values)
    group.create_dataset("larger_max", data=values, chunks=(2, 4), maxshape=(6, 20))
    group.create_dataset("rows", data=values, chunks=(2, 4), maxshape=(None, 6))
    group.create_dataset("columns", data=values, chunks=(2, 4), maxshape=(4, None))
    group.create_dataset("both", data=values, chunks=(2, 4), maxshape=(None, None))
    group.create_dataset("long_chunk", data=np.arange(3.0), chunks=(512,), maxshape=(None,))
    sparse = group.create_dataset("sparse", (40, 60), ">i2", chunks=(4, 5), fillvalue=-7, compression="gzip")
    sparse[17, 33] = 5
    sparse[39, 59] = 6
    nothing = group.create_dataset("nothing", (40, 60), "f4", chunks=(4, 5))
    shrunk = group.create_dataset("shrunk", (20,), "i4", chunks=(3,), maxshape=(None,))
    shrunk[:] = np.arange(20)
    shrunk.resize((7,))
    shrunk.resize((12,))
    group.create_dataset("text_chunks", (5,), h5py.string_dtype(), chunks=(2,), compression="gzip")[:] = list("abcde")
    never = h5p.create(h5p.DATASET_CREATE)
    never.set_fill_time(h5d.FILL_TIME_NEVER)
    h5d.create(group.id, b"no_fill", h5t.STD_I32LE, h5s.create_simple((2,)), never)
    deep = group.create_dataset("deep", (2, 3, 2, 3, 2), "u1", chunks=(1, 2, 1, 2, 1), maxshape=(2, 3, None, 3, 2))
    deep[:] = np.arange(72).reshape(2, 3, 2, 3, 2)


def filters(file):
    group = file.create_group("filters")
    values = (np.arange(60, dtype="<i4") // 7).reshape(6, 10)
    options = {
        "gzip": {"compression": "gzip", "compression_opts": 9},
        "shuffle": {"shuffle": True, "compression": "gzip"},
        "fletcher": {"fletcher32": True},
        "all": {"shuffle": True, "compression": "gzip", "fletcher32": True},
        "lzf": {"compression": "lzf"},
        "lzf_shuffle": {"compression": "lzf", "shuffle": True},
        "scale": {"scaleoffset": 0},
        "blosc": hdf5plugin.Blosc("zstd", 5, hdf5plugin.Blosc.SHUFFLE),
        "zstd": hdf5plugin.Zstd(),
        "lz4": hdf5plugin.LZ4(),
        "bzip2": hdf5plugin.BZip2(),
        "bitshuffle": hdf5plugin.Bitshuffle(cname="lz4"),
        "bitshuffle_none": hdf5plugin.Bitshuffle(cname="none"),
        "bitshuffle_zstd": hdf5plugin.Bitshuffle(cname="zstd"),
    }
    for name, option in options.items():
        group.create_dataset(name, data=values, chunks=(4, 5), **option)
    nbit = h5p.create(h5p.DATASET_CREATE)
    nbit.set_chunk((4, 5))
    LIBRARY.H5Pset_nbit(ctypes.c_int64(nbit.id))
    h5d.create(group.id, b"nbit", h5t.STD_I32LE, h5s.create_simple((6, 10)), nbit)
    masked = group.create_dataset("masked", (10,), "<i4", chunks=(5,), compression="gzip")
    masked[5:] = np.arange(5)
    masked.id.write_direct_chunk((0,), np.arange(10, 15, dtype="<i4").tobytes(), 1)
    small = group.create_dataset("incompressible", (12,), "<i4", chunks=(6,), compression="lzf")
    small[:] = np.random.default_rng(1).integers(-(2**31), 2**31, 12)
    for name, maximum in [("edges", None), ("edges_rows", (None, 10)), ("edges_both", (None, None))]:
        edges = h5p.create(h5p.DATASET_CREATE)
        edges.set_chunk((4, 5))
        edges.set_deflate(4)
        LIBRARY.H5Pset_chunk_opts(ctypes.c_int64(edges.id), ctypes.c_uint(2))
        space = h5s.create_simple((6, 10), None if maximum is None else tuple(h5s.UNLIMITED if n is None else n for n in maximum))
        h5d.create(group.id, name.encode(), h5t.STD_I32LE, space, edges).write(h5s.ALL, h5s.ALL, values)


def names(file, version):
    group = file.create_group("links")
    group.create_group("a/b/c")
    group["soft"] = h5py.SoftLink("a/b")
    group["absolute"] = h5py.SoftLink("/types/i1")
    group["dangling"] = h5py.SoftLink("nowhere")
    group["external"] = h5py.ExternalLink("other.h5", "/x/y")
    group["second"] = group["a/b"]
    group["a/b/up"] = group["a"]
    group["日本 é"] = np.int8(1)
    many = group.create_group("many")
    for number in range(40):
        many[f"name {number:03}"] = h5py.SoftLink(f"target {number}")
    ordered = group.create_group("ordered", track_order=True)
    for name in "zyxwvutsrqp":
        ordered.create_group(name)


def attributes_of(file):
    group = file.create_group("attributes")
    attrs = group.attrs
    attrs["int"] = np.int64(2**63 - 1)
    attrs["unsigned"] = np.uint64(2**63 + 5)
    attrs["floats"] = np.array([1.5, np.nan, np.inf], ">f4")
    attrs["half"] = np.float16(0.1)
    attrs["text"] = "text, « größer »"
    attrs["fixed"] = np.bytes_("fixed")
    attrs["texts"] = ["a", "", "ccc"]
    attrs["empty"] = h5py.Empty("S1")
    attrs["none"] = np.zeros((0,), "i4")
    attrs["flag"] = np.bool_(True)
    attrs["matrix"] = np.arange(6, dtype="i2").reshape(2, 3)
    attrs["record"] = np.array([(1, 2.5)], np.dtype([("a", "i1"), ("b", "<f8")]))
    attrs["complex"] = np.complex64(1 - 1j)
    attrs["reference"] = file["types/i1"].ref
    attrs.create("references", [file["types"].ref, file["types/i1"].ref], dtype=h5py.ref_dtype)
    attrs.create("ragged", [np.arange(3, dtype="i4"), np.arange(1, dtype="i4")], (2,), h5py.vlen_dtype("i4"))
    attrs.create("of_named", np.zeros(1, file["types/named"].dtype), dtype=file["types/named"])
    few = file.create_dataset("few", data=np.arange(3), dtype="<i4")
    few.attrs["units"] = "m"
    few.attrs["n"] = np.int32(5)
    ordered = file.create_group("ordered attributes", track_order=True)
    for name in "zyxwvutsrqpon":
        ordered.attrs[name] = name


def large_attribute(file):
    file["attributes"].attrs["large"] = np.arange(1500, dtype="<i4")


def general(path, version, user_block=0):
    plist = h5p.create(h5p.FILE_CREATE)
    plist.set_userblock(user_block)
    access = h5p.create(h5p.FILE_ACCESS)
    if version == "earliest":
        # Small nodes of B-trees: the superblock is of version 1 then.
        LIBRARY.H5Pset_istore_k(ctypes.c_int64(plist.id), ctypes.c_uint(4))
    else:
        bound = getattr(h5py.h5f, "LIBVER_" + version.upper())
        access.set_libver_bounds(bound, bound)
    with h5py.File(h5py.h5f.create(str(path).encode(), h5py.h5f.ACC_TRUNC, plist, access)) as file:
        types(file, version)
        layouts(file)
        filters(file)
        names(file, version)
        attributes_of(file)
        if version == "v110":
            large_attribute(file)
    if user_block:
        with open(path, "r+b") as raw:
            raw.write(b"a user block\n")


def indices(path, version, scale=1):
    """Every index so large that it has all of its parts."""
    with h5py.File(path, "w", libver="earliest" if version == "earliest" else (version, version)) as file:
        tree = file.create_dataset("tree", (200 * scale, 3), "u1", chunks=(1, 2), maxshape=(None, None))
        tree[:] = 1
        tree = file.create_dataset("tree_gzip", (60 * scale, 5), "u1", chunks=(1, 2), maxshape=(None, None), compression="gzip")
        tree[:] = 1
        fixed = file.create_dataset("fixed", (3000 * scale,), "u1", chunks=(1,))
        for start in [3, 2047, 2900]:
            fixed[start : start + 4] = 1
        fixed = file.create_dataset("fixed_gzip", (50, 30 * scale), "u1", chunks=(5, 3), compression="gzip")
        fixed[:20] = 1
        array = file.create_dataset("array", (400_000,), "u1", chunks=(1,), maxshape=(None,))
        for start in [0, 19, 300, 131_075, 399_990]:
            array[start : start + 6 * scale] = 1
        array = file.create_dataset("array_gzip", (700, 2), "u1", chunks=(1, 1), maxshape=(None, 4), compression="gzip")
        array[100 : 200 * scale] = 1
        array = file.create_dataset("array_second", (2, 400), "u1", chunks=(1, 1), maxshape=(3, None))
        array[:, 150:220] = 1


def groups(path, version, count):
    with h5py.File(path, "w", libver="earliest" if version == "earliest" else (version, version)) as file:
        for number in range(count):
            file[f"a link with a long name {number:05}"] = h5py.SoftLink("x" * (1 + number % 50))
        file.create_group("group")
        for number in range(count // 3):
            file["group"].attrs[f"attribute {number}"] = np.arange(number % 9)


def shared(path):
    plist = h5p.create(h5p.FILE_CREATE)
    LIBRARY.H5Pset_shared_mesg_nindexes(ctypes.c_int64(plist.id), ctypes.c_uint(2))
    # Data spaces and types in one index, attributes and all else in another.
    LIBRARY.H5Pset_shared_mesg_index(ctypes.c_int64(plist.id), 0, 0x02 | 0x08, 10)
    LIBRARY.H5Pset_shared_mesg_index(ctypes.c_int64(plist.id), 1, 0x20 | 0x800 | 0x1000, 10)
    access = h5p.create(h5p.FILE_ACCESS)
    access.set_libver_bounds(h5py.h5f.LIBVER_V110, h5py.h5f.LIBVER_V110)
    with h5py.File(h5py.h5f.create(str(path).encode(), h5py.h5f.ACC_TRUNC, plist, access)) as file:
        for number in range(3):
            data = file.create_dataset(f"data{number}", (30, 20), "<f8", chunks=(10, 20), compression="gzip", fillvalue=1.25)
            data[:10] = number
            for name in "abcdefghijkl":
                data.attrs[name] = "a text that several datasets share"
                data.attrs[name + "numbers"] = np.arange(12)


def small_sizes(path, offset, length):
    plist = h5p.create(h5p.FILE_CREATE)
    plist.set_sizes(offset, length)
    with h5py.File(h5py.h5f.create(str(path).encode(), h5py.h5f.ACC_TRUNC, plist)) as file:
        file["a"] = np.arange(5)
        file.create_dataset("b", data=np.arange(20), chunks=(3,), compression="gzip")
        file["group/text"] = ["some", "texts"]
        file["group"].attrs["text"] = "text"
        file["group"].attrs["reference"] = file["a"].ref


def netcdf(path):
    with netCDF4.Dataset(path, "w") as file:
        file.title = "made by netCDF4"
        file.createDimension("time", None)
        file.createDimension("lat", 3)
        file.createDimension("lon", 4)
        file.createDimension("bare", 2)
        time = file.createVariable("time", "f8", ("time",))
        time.units = "days since 2000-01-01"
        time[:] = [0, 1, 2]
        file.createVariable("lat", "f4", ("lat",))[:] = [-10, 0, 10]
        file.createVariable("lon", "f4", ("lon",))[:] = [0, 90, 180, 270]
        temperature = file.createVariable("temperature", "i2", ("time", "lat", "lon"), zlib=True, shuffle=True, fill_value=-999)
        temperature.scale_factor = 0.5
        temperature[:] = np.arange(36).reshape(3, 3, 4)
        file.createVariable("flags", "u1", ("lat", "bare"))[:] = 1
        file.createVariable("count", "u8", ())[...] = 2**63 + 5
        file.createVariable("names", str, ("lat",))[:] = np.array(["a", "bb", ""], object)
        file.createVariable("code", "S1", ("lat", "bare"))[:] = np.array([b"x"] * 6).reshape(3, 2)
        group = file.createGroup("group")
        group.createDimension("lat", 2)
        group.createVariable("lat", "f8", ("lat",))[:] = [1, 2]
        group.createVariable("w", "f4", ("time", "lat"))
        inner = group.createGroup("inner")
        inner.createVariable("v", "f8", ("lat", "lon"), chunksizes=(1, 4), fletcher32=True)[:] = 2.5
        # A variable with the name of a dimension that is not its own.
        file.createDimension("bnds", 2)
        file.createVariable("bnds", "i4", ("lat", "bnds"))[:] = 4
        compound = file.createCompoundType(np.dtype([("u", "f4"), ("v", "f4")]), "wind")
        file.createVariable("wind_speed", compound, ("lat",))[:] = np.zeros(3, compound.dtype)
        clouds = file.createEnumType(np.uint8, "clouds", {"clear": 0, "cumulus": 1, "missing": 255})
        file.createVariable("cloud", clouds, ("lat",), fill_value=255)[:2] = [0, 1]


def main():
    is_large = "--large" in sys.argv
    names = [name for name in sys.argv[1:] if not name.startswith("-")]
    folder = Path(names[0]) if names else Path(__file__).parent
    folder.mkdir(parents=True, exist_ok=True)
    np.random.seed(1)
    made = []

    def make(name, function, *options):
        path = folder / f"{name}.h5"
        function(path, *options)
        made.append(path)

    if is_large:
        for version in ["earliest", "v110", "v200"]:
            make(f"indices-{version}", indices, version, 40)
            make(f"groups-{version}", groups, version, 4_000)
    else:
        make("earliest", general, "earliest")
        make("v110", general, "v110")
        make("v114", general, "v114", 1024)
        make("v200", general, "v200")
        make("indices-earliest", indices, "earliest")
        make("indices-v110", indices, "v110")
        make("indices-v200", indices, "v200")
        make("groups-earliest", groups, "earliest", 300)
        make("groups-v110", groups, "v110", 150)
        make("shared", shared)
        make("sizes-4-4", small_sizes, 4, 4)
        make("sizes-2-2", small_sizes, 2, 2)
        make("netcdf", netcdf)
    elements = {path.stem: all_elements(path) for path in made}
    (folder / "elements.json").write_text(json.dumps(elements, ensure_ascii=False, separators=(",", ":")) + "\n")
    for path in made:
        seen = snapshot(path)
        if path.stem == "netcdf":
            with netCDF4.Dataset(path) as file:
                seen["variables"] = netcdf_variables(file)
        path.with_suffix(".json").write_text(json.dumps(seen, ensure_ascii=False, separators=(",", ":")) + "\n")


main()
