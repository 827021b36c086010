"""Row P1: every selection of every dtype in every dialect reads and writes as NumPy does.

`ZARRKIT_SELECTIONS` is how many selections are tried, 2,000 by default.
"""

import os
from datetime import timedelta

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import zarrkit

SELECTIONS = int(os.environ.get("ZARRKIT_SELECTIONS", 2000))
# A seed for each run, which is printed when it fails; the same run each time in the ordinary suite.
SETTINGS = settings(
    max_examples=SELECTIONS // 2,
    deadline=timedelta(seconds=20),
    database=None,
    derandomize=SELECTIONS == 2000,
    suppress_health_check=list(HealthCheck),
)

RECORD = np.dtype([("x", "<i4"), ("y", "<f8", (2,)), ("z", [("a", "u1"), ("b", "S2")])])
FLAT_RECORD = np.dtype([("x", "<i4"), ("y", "<f8"), ("z", "S3")])
DTYPES = ["?", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f2", "f4", "f8", "c8", "c16", "M8[s]", "m8[25us]", "S3", "U2", "V3", "T"]
DIALECTS = {
    "v2": [*DTYPES[:-1], ">i4", ">f8", ">U2", ">M8[D]", RECORD],
    "v3": [*DTYPES, FLAT_RECORD],
    "draft": ["?", "i1", "u1", "i2", "u4", "i8", "f4", ">f8"],
}


def elements(shape, dtype, offset=0):
    """Elements that differ from each other, as far as the dtype allows."""
    count = np.arange(offset, offset + int(np.prod(shape)), dtype="i8")
    dtype = np.dtypes.StringDType() if dtype == "T" else np.dtype(dtype)
    if dtype.fields:
        made = np.zeros(count.shape, dtype)
        for name in dtype.names:
            base, field = dtype[name].base, made[name]
            values = elements(count.shape, base, offset)
            field[...] = values.reshape(values.shape + (1,) * (field.ndim - 1))
    elif dtype.kind == "V":
        made = np.frombuffer(np.resize(count.astype("<i4").view("u1").reshape(-1, 4), (count.size, dtype.itemsize)).tobytes(), dtype).copy()
    elif dtype.kind == "b":
        made = count % 3 == 0
    elif dtype.kind in "mM":
        made = count.astype(dtype.newbyteorder("=")).astype(dtype)
    elif dtype.kind in "SUT":
        made = (count % 97).astype("U2").astype(dtype)
    elif dtype.kind == "c":
        made = (count - 1j * count).astype(dtype)
    else:
        made = (count % 120).astype(dtype)
    return made.reshape(shape)


def indices(length):
    return st.integers(-length - (length == 0), length - 1 if length else 0)


def lists(length, most=5):
    return st.lists(indices(length), max_size=most if length else 0)


@st.composite
def slices(draw, length):
    edge = st.none() | st.integers(-length - 3, length + 3)
    return slice(draw(edge), draw(edge), draw(st.none() | st.integers(-4, 4).filter(bool) | st.just(-(2**62)) | st.just(2**63 - 1)))


def basic_item(length):
    kinds = [slices(length), slices(length)]
    if length:
        kinds += [indices(length), indices(length).map(np.int32)]
    return st.one_of(kinds)


@st.composite
def basic(draw, shape):
    items = [draw(basic_item(n)) for n in shape]
    first = draw(st.integers(0, len(items)))
    last = draw(st.integers(first, len(items)))
    if draw(st.booleans()):
        items[first:last] = [...]
    elif draw(st.booleans()):
        items = items[:first]
    return items[0] if len(items) == 1 and draw(st.booleans()) else tuple(items)


@st.composite
def arrays_of_indices(draw, length, most=3):
    rank = draw(st.integers(1, 2))
    shape = tuple(draw(st.integers(0 if not length else 1, most)) for _ in range(rank))
    if not length:
        shape = (0,) * rank
    values = [draw(indices(length)) for _ in range(int(np.prod(shape)))]
    dtype = draw(st.sampled_from(["i8", "i4"]))
    return np.array(values, dtype=dtype).reshape(shape)


def masks(length):
    return st.lists(st.booleans(), min_size=length, max_size=length).map(lambda taken: np.array(taken, bool))


@st.composite
def one_array(draw, shape):
    """An array or a mask along one axis; integers and slices along the others."""
    axis = draw(st.integers(0, len(shape) - 1))
    items = [draw(basic_item(n)) for n in shape]
    if shape[axis] and draw(st.booleans()):
        items[axis] = draw(masks(shape[axis]))
    else:
        items[axis] = draw(arrays_of_indices(shape[axis]))
        if draw(st.booleans()) and items[axis].size:
            items[axis] = items[axis].tolist()
    if axis == len(shape) - 1 and draw(st.booleans()):
        at = draw(st.integers(0, axis))
        items[at:axis] = [...]
    return tuple(items) if len(items) > 1 or draw(st.booleans()) else items[0]


@st.composite
def points(draw, shape):
    common = draw(st.sampled_from([(3,), (2, 2), (1, 3), (4, 1)]))
    items = []
    for n in shape:
        own = draw(st.sampled_from([common, common[-1:], (1,) * len(common)]))
        items.append(np.array([draw(indices(n)) for _ in range(int(np.prod(own)))]).reshape(own))
    if draw(st.booleans()):
        items[draw(st.integers(0, len(items) - 1))] = draw(indices(shape[0] and min(shape)))
    return tuple(items)


@st.composite
def whole_mask(draw, shape):
    size = int(np.prod(shape))
    return np.array(draw(st.lists(st.booleans(), min_size=size, max_size=size)), bool).reshape(shape)


@st.composite
def orthogonal(draw, shape):
    kinds = [draw(st.sampled_from("basic list mask".split())) for _ in shape]
    items = []
    for n, kind in zip(shape, kinds):
        items.append(draw({"basic": basic_item, "list": lists, "mask": masks}[kind](n)))
    return tuple(items)


def outer_of(array, key):
    """What `oindex` selects, by NumPy: each axis after the other, the last one first."""
    for axis in range(len(key) - 1, -1, -1):
        item = key[axis]
        if isinstance(item, list):
            item = np.array(item, dtype="i8")
        array = array[(slice(None),) * axis + (item,)]
    return array


def assign_outer(array, key, value):
    coordinates = [np.arange(n)[np.array(item, dtype="i8") if isinstance(item, list) else item] for n, item in zip(array.shape, key)]
    array[np.ix_(*[np.atleast_1d(c) for c in coordinates])] = value.reshape([np.atleast_1d(c).size for c in coordinates])


@st.composite
def cases(draw):
    dialect = draw(st.sampled_from(sorted(DIALECTS)))
    dtype = draw(st.sampled_from(DIALECTS[dialect]))
    shape = tuple(draw(st.lists(st.integers(0, 9), max_size=4)))
    chunks = tuple(draw(st.integers(1, n + 2)) for n in shape)
    shards = None
    if dialect == "v3" and shape and draw(st.booleans()):
        shards = tuple(c * draw(st.integers(1, 3)) for c in chunks)
    kind = "basic"
    if shape:
        kind = draw(st.sampled_from(["basic", "basic", "array", "orthogonal", "mask"] + ["points"] * (min(shape) > 0)))
    strategy = {"basic": basic, "array": one_array, "orthogonal": orthogonal, "points": points, "mask": whole_mask}[kind]
    return dialect, dtype, shape, chunks, shards, kind, draw(strategy(shape)), draw(st.booleans())


def check(got, want):
    assert np.shape(got) == np.shape(want)
    assert got.dtype == want.dtype if hasattr(want, "dtype") else type(got) is type(want)
    assert isinstance(got, np.ndarray) == isinstance(want, np.ndarray)
    assert np.array_equal(got, want)


def repeats(key):
    """Whether NumPy may write an element twice, and which value stays is open."""
    items = key if isinstance(key, tuple) else (key,)
    arrays = [np.asarray(item) for item in items if isinstance(item, (list, np.ndarray))]
    return any(array.dtype != bool for array in arrays)


@pytest.mark.timeout(7200)
@SETTINGS
@given(cases())
def test_selections_are_numpys(case):
    dialect, dtype, shape, chunks, shards, kind, key, scalar = case
    named = "string" if dtype == "T" else dtype
    array = zarrkit.create_array(
        f"memory://selections-{dialect}", "/a", shape=shape, dtype=named, chunks=chunks, shards=shards, dialect=dialect, overwrite=True
    )
    expected = elements(shape, dtype)
    assert array.dtype == expected.dtype
    array[...] = expected
    check(array[...], expected)

    if kind == "orthogonal":
        want = outer_of(expected, key)
        check(array.oindex[key], want)
    else:
        want = expected[key]
        check(array[key], want)
        if kind in ("points", "mask"):
            check(array.vindex[key], want)

    # Another selection: what is written.
    value = elements(np.shape(want), dtype, 1000)
    if scalar and value.size:
        value = value[(0,) * value.ndim]
    elif repeats(key):
        value = np.broadcast_to(value[(0,) * value.ndim], np.shape(want)) if value.size else value
    if kind == "orthogonal":
        array.oindex[key] = value
        assign_outer(expected, key, np.broadcast_to(value, np.shape(want)))
    elif kind in ("points", "mask"):
        array.vindex[key] = value
        expected[key] = value
    else:
        array[key] = value
        expected[key] = value
    check(array[...], expected)


@pytest.mark.timeout(60)
def test_what_numpy_refuses_is_refused(tmp_path):
    expected = np.arange(5 * 6 * 7, dtype="i4").reshape(5, 6, 7)
    array = zarrkit.create_array(tmp_path / "a.zarr", "/a", shape=expected.shape, dtype="i4", chunks=(2, 3, 4))
    array[...] = expected
    outside = [9, -6, np.s_[0, 0, 7], np.s_[[9]], np.s_[:, [[-7]]], np.s_[0, 0, 0, 0], np.s_[..., ...], 1.5, "x", np.s_[[1.5]]]
    outside += [np.s_[:, [True]], np.ones((5, 6, 7, 1), bool), np.ones((5, 6, 6), bool), np.s_[[1, 2], [1, 2, 3], 0], 2**70, -(2**70)]
    for key in outside:
        with pytest.raises(IndexError):
            expected[key]
        with pytest.raises(IndexError):
            array[key]
        with pytest.raises(IndexError):
            array[key] = 1
    # NumPy takes these; an array in a store has no use for a new axis, and several arrays beside slices are ambiguous.
    for key in [None, np.s_[0, np.newaxis], True, np.bool_(True), np.s_[[1, 2], :, [1, 2]], np.ones((5, 6), bool)]:
        expected[key]
        with pytest.raises(IndexError, match="add an axis|`oindex`"):
            array[key]
    for key in [np.s_[:, 0], np.s_[[1, 2], [1, 2]], np.s_[[9], [0], [0]], np.ones(5, bool), 0]:
        with pytest.raises(IndexError):
            array.vindex[key]
    with pytest.raises(IndexError, match="one axis"):
        array.oindex[[[1, 2]]]
    for value in [np.ones((2, 2)), np.ones((2, 6, 7)), np.ones((2, 1, 6, 7))]:
        with pytest.raises(ValueError, match="could not broadcast"):
            array[0:3] = value
        with pytest.raises(ValueError, match="could not broadcast"):
            array[[0, 1, 2]] = value
    array[0:3] = np.ones((1, 1, 6, 7))
    assert (array[0:3] == 1).all() and np.array_equal(array[3:], expected[3:])


@pytest.mark.timeout(60)
def test_blocks_are_stored_objects(tmp_path):
    expected = np.arange(50).reshape(5, 10)
    array = zarrkit.create_array(tmp_path / "a.zarr", "/a", shape=(5, 10), dtype="i8", chunks=(1, 2), shards=(2, 4))
    array[...] = expected
    for key, region in [
        (np.s_[0, 1], np.s_[0:2, 4:8]),
        (np.s_[-1], np.s_[4:5]),
        (np.s_[:, 1:], np.s_[:, 4:]),
        (np.s_[1:1], np.s_[0:0]),
        (np.s_[...], np.s_[...]),
    ]:
        assert np.array_equal(array.blocks[key], expected[region])
    array.blocks[1, :2] = expected[2:4, :8] = np.arange(8)
    assert np.array_equal(array[...], expected)
    for key in [3, np.s_[0, 0, 0], np.s_[::2], [0, 1]]:
        with pytest.raises(IndexError):
            array.blocks[key]
    with pytest.raises(IndexError, match=r"in the grid of \[3, 3\] blocks: index 3 is out of bounds for axis 0 with size 3"):
        array.blocks[3]


@pytest.mark.timeout(60)
@pytest.mark.parametrize("dialect", ["v2", "v3"])
def test_fields(tmp_path, dialect):
    dtype = RECORD if dialect == "v2" else FLAT_RECORD
    expected = elements((5, 6), dtype)
    array = zarrkit.create_array(tmp_path / "a.zarr", "/a", shape=(5, 6), dtype=dtype, chunks=(2, 4), dialect=dialect)
    array[...] = expected
    for name in dtype.names:
        check(array[name], expected[name])
        check(array[name, 1:3], expected[1:3][name])
        check(array[1:3, ::-2, name], expected[1:3, ::-2][name])
        check(array[name, 0, :], expected[0][name])
        check(array.oindex[name, [3, 1]], expected[[3, 1]][name])
    assert array["x", 1, 2] == expected[1, 2]["x"]
    both = array[["x", "z"], 2:4]
    assert both.dtype.names == ("x", "z") and np.array_equal(both, expected[2:4][["x", "z"]])
    assert np.array_equal(array["x", "z", 2:4], both)

    array["x"] = expected["x"] = np.arange(30).reshape(5, 6)
    array["x", [0, 2], 1:3] = 7
    expected["x"][[0, 2], 1:3] = 7
    array[["x", "y"], 4] = expected[["x", "y"]][0]
    expected["x"][4], expected["y"][4] = expected["x"][0], expected["y"][0]
    array.vindex["z", [1, 1], [2, 3]] = expected["z"][0, 0]
    expected["z"][1, 2:4] = expected["z"][0, 0]
    assert np.array_equal(array[...], expected)
    with pytest.raises(ValueError, match="no field of name w"):
        array["w"]


@pytest.mark.timeout(60)
def test_memory_of_the_caller(tmp_path):
    expected = np.arange(60, dtype="f4").reshape(3, 4, 5)
    array = zarrkit.create_array(tmp_path / "a.zarr", "/a", shape=(3, 4, 5), dtype="f4", chunks=(2, 3, 2))
    array[...] = memoryview(expected)
    whole = np.zeros((6, 8, 10), "f4")
    out = whole[::-2, 1::2, ::2]
    assert array.read(out=out) is out and np.array_equal(out, expected) and (whole[:, ::2] == 0).all()
    fortran = np.zeros((3, 5), "f4", order="F")
    array.read(np.s_[:, 1], out=fortran, threads=1)
    assert np.array_equal(fortran, expected[:, 1])
    buffer = bytearray(60 * 4)
    array.read(out=memoryview(buffer).cast("f", (3, 4, 5)))
    assert buffer == expected.tobytes()
    swapped = np.zeros((3, 4, 5), ">f4")
    assert np.array_equal(array.read(out=swapped), expected)
    picked = np.zeros((2, 2, 3), "f4")
    array.read(np.s_[0, 0:3, [[1, 2], [3, 4]]], out=picked)
    assert np.array_equal(picked, expected[0, 0:3, [[1, 2], [3, 4]]])
    for wrong in [np.zeros((3, 4), "f4"), np.zeros((3, 4, 5), "f8"), np.zeros((3, 4, 5), "i4"), np.broadcast_to(np.float32(0), (3, 4, 5))]:
        with pytest.raises(ValueError):
            array.read(out=wrong)
    for wrong in [bytes(240), np.zeros((3, 4, 5), object), np.zeros((3, 4, 5), np.dtypes.StringDType())]:
        with pytest.raises(ValueError):
            array.read(out=wrong)
    overlapping = np.lib.stride_tricks.as_strided(np.zeros(60, "f4"), (3, 4, 5), (4, 4, 4))
    with pytest.raises(ValueError):
        array.read(out=overlapping)
    array.write(np.s_[1], expected[0], threads=2)
    assert np.array_equal(array[1], expected[0])


@pytest.mark.timeout(60)
def test_enormous_shapes_are_refused_without_memory(tmp_path):
    url = tmp_path / "a.zarr"
    wide = zarrkit.create_array(url, "/wide", shape=(2**40, 2**40), dtype="f8", chunks=(1, 2**16))
    assert wide.size == 2**80 and wide.nbytes == 2**83
    for key in [np.s_[...], np.s_[:, 0], 0, np.s_[:, [1, 2]]]:
        with pytest.raises(MemoryError):
            wide[key]
    assert np.array_equal(wide[2**40 - 1, -2:], [0, 0])
    wide[-1, -1] = 3
    assert wide[2**40 - 1, 2**40 - 1] == 3 and wide[0:0].shape == (0, 2**40)
    long = zarrkit.create_array(url, "/long", shape=(2**64 - 1,), dtype="u1", chunks=(2**20,))
    assert np.array_equal(long[-3:], [0, 0, 0]) and long[-1] == 0 and long[2**63 :: 2**62].shape == (2,)
    with pytest.raises(MemoryError):
        long[::-1]
    with pytest.raises(IndexError):
        long[2**64]
    text = zarrkit.create_array(url, "/text", shape=(2**50,), dtype="string", chunks=(10,))
    with pytest.raises(MemoryError):
        text[:]


@pytest.mark.timeout(60)
def test_scalars_and_iteration(tmp_path):
    url = tmp_path / "a.zarr"
    scalar = zarrkit.create_array(url, "/scalar", shape=(), dtype="f4", chunks=())
    scalar[...] = 1.5
    assert scalar[()] == 1.5 and isinstance(scalar[()], np.float32) and scalar[...].shape == () and float(np.asarray(scalar)) == 1.5
    with pytest.raises(TypeError):
        len(scalar)
    with pytest.raises(TypeError):
        iter(scalar)
    expected = np.arange(21).reshape(7, 3)
    rows = zarrkit.create_array(url, "/rows", shape=(7, 3), dtype="i8", chunks=(3, 2), dimension_names=["time", "lat"])
    rows[...] = expected
    assert len(rows) == 7 and np.array_equal(list(rows), expected)
    assert rows.dims == ("time", "lat")
    assert np.array_equal(rows.isel(lat=slice(0, 2)), expected[:, :2])
    assert np.array_equal(rows.isel({"time": [3, 1]}, lat=-1), expected[[3, 1], -1])
    assert rows.isel(time=1, lat=2) == expected[1, 2]
    with pytest.raises(ValueError, match="lon"):
        rows.isel(lon=1)
    with pytest.raises(ValueError, match="duplicate selection of axis 0: time"):
        rows.isel({"time": 0}, time=1)
    with pytest.raises(IndexError):
        rows.isel(lat=3)
    converted = np.asarray(rows, dtype="f4")
    assert converted.dtype == "f4" and np.array_equal(converted, expected)
    with pytest.raises(ValueError):
        np.array(rows, copy=False)


@pytest.mark.timeout(60)
def test_shapes_change(tmp_path):
    url = tmp_path / "a.zarr"
    a = zarrkit.create_array(url, "/a", shape=(2, 3), dtype="i4", chunks=(2, 2), dimension_names=["time", "lat"], fill_value=9)
    a[...] = 1
    assert a.append(np.full((2, 3), 2, "i4"), axis="time") == 2
    assert a.append([[3], [3], [3], [3]], axis=-1) == 3
    assert np.array_equal(a[...], [[1, 1, 1, 3], [1, 1, 1, 3], [2, 2, 2, 3], [2, 2, 2, 3]])
    a.resize((5, 2))
    assert a.shape == (5, 2) and np.array_equal(a[4], [9, 9]) and a.fill_value == 9 and a.fill_value.dtype == "i4"
    a.resize(1, 1)
    assert a.shape == (1, 1)
    with pytest.raises(ValueError):
        a.append(np.zeros((1, 2), "i4"))
    with pytest.raises(ValueError, match="no dimension"):
        a.append([[1]], axis="lon")


@pytest.mark.timeout(60)
def test_codecs_are_plain_data(tmp_path):
    options = {"shape": (8, 8), "dtype": "f4", "chunks": (2, 2)}
    plain = zarrkit.create_array(tmp_path / "a.zarr", "/plain", codecs=["zstd:3", "crc32c"], **options)
    sharded = zarrkit.create_array(tmp_path / "a.zarr", "/sharded", shards=(4, 4), codecs=["zstd:3"], **options)
    old = zarrkit.create_array(tmp_path / "old.zarr", "/old", codecs=["gzip:5"], dialect="v2", **options)
    assert [codec["name"] for codec in plain.codecs] == ["bytes", "zstd", "crc32c"]
    assert [codec["name"] for codec in plain.compressors] == ["zstd", "crc32c"]
    assert plain.compressors[0]["configuration"]["level"] == 3
    assert [codec["name"] for codec in sharded.codecs] == ["sharding_indexed"]
    assert [codec["name"] for codec in sharded.compressors] == ["zstd"]
    assert old.compressors == [{"name": "gzip", "configuration": {"level": 5}}]
    assert old.metadata["compressor"] == {"id": "gzip", "level": 5} and plain.metadata["shape"] == [8, 8]
    assert (plain.nchunks, sharded.nchunks, sharded.shards) == (16, 16, (4, 4))


def test_axes_of_an_image_are_selected_by_name_in_v2(tmp_path):
    """OME-Zarr 0.4: the axes of a level are named by the group, not by the array."""
    image = zarrkit.create_group(tmp_path / "image.zarr", dialect="v2")
    names = ["c", "y", "x"]
    axes = [{"name": name, "type": "channel" if name == "c" else "space"} for name in names]
    scale = [{"type": "scale", "scale": [1, 0.5, 0.5]}]
    image.attrs["multiscales"] = [
        {"version": "0.4", "axes": axes, "datasets": [{"path": "0", "coordinateTransformations": scale}]}
    ]
    expected = np.arange(2 * 3 * 4, dtype="u2").reshape(2, 3, 4)
    image.create_array("0", data=expected)
    for level in (image["0"], zarrkit.open(tmp_path / "image.zarr")["0"]):
        assert np.array_equal(level.isel(c=1), expected[1])
        assert np.array_equal(level.isel(y=slice(1, 3), x=-1), expected[:, 1:3, -1])
        with pytest.raises(ValueError, match="there is no dimension 'z'|there is no dimension \"z\""):
            level.isel(z=0)
