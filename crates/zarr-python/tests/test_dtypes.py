"""Row P2: every dtype goes both ways, and zarr-python or tensorstore reads and writes the same elements."""

import json
import sys

import numcodecs
import numpy as np
import pytest
import zarr
from test_selections import FLAT_RECORD, RECORD, elements

import zarrkit

NUMBERS = ["?", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8", "c8", "c16"]
TIMES = [f"{kind}8[{unit}]" for kind in "Mm" for unit in "Y M W D h m s ms us ns ps fs as 10s 25us".split()]
OTHERS = ["S1", "S7", "U1", "U5", "V3", "V16", "T"]
SWAPPED = [">i2", ">i4", ">u8", ">f4", ">c16", ">M8[ns]", ">m8[s]", ">U3"]
MIXED = np.dtype([("a", ">i4"), ("b", "<f8")])

pytestmark = [
    pytest.mark.timeout(60),
    pytest.mark.filterwarnings("ignore"),
]


def of(dtype):
    return np.dtypes.StringDType() if dtype == "T" else np.dtype(dtype)


def skip_what_zarr_python_lacks(dtype, zarr_format):
    if dtype.fields and zarr_format == 3 and zarr.__version__ < "3.2":
        pytest.skip("zarr-python 3.1 has no `struct`, and drops the byte order of fields in v3")


def names(dtypes):
    return [str(dtype).replace(" ", "") for dtype in dtypes]


@pytest.mark.parametrize("zarr_format", [2, 3])
@pytest.mark.parametrize("dtype", [*NUMBERS, *TIMES, *OTHERS, *SWAPPED, FLAT_RECORD, MIXED], ids=names([*NUMBERS, *TIMES, *OTHERS, *SWAPPED, "record", "mixed"]))
def test_zarr_python_has_the_same_elements_and_dtype(tmp_path, dtype, zarr_format):
    dtype = of(dtype)
    skip_what_zarr_python_lacks(dtype, zarr_format)
    expected = elements((5, 7), dtype)
    zarr.create_array(tmp_path, name="a", shape=(5, 7), chunks=(2, 3), dtype=dtype, zarr_format=zarr_format)[...] = expected
    theirs = zarr.open_array(tmp_path, path="a", mode="r+")
    ours = zarrkit.open(tmp_path, "r+")["a"]
    assert ours.dtype == theirs.dtype
    assert ours[...].dtype == theirs[...].dtype
    assert np.array_equal(ours[...], expected)
    assert ours.nbytes == theirs.nbytes and ours.nchunks == theirs.nchunks
    both = [ours.fill_value, theirs.fill_value]
    assert type(both[0]) is type(both[1]) and (both[0] == both[1] or np.isnat(both[0]))
    assert type(ours[0, 0]) is type(theirs[0, 0]) or isinstance(ours[0, 0], str) or isinstance(ours[0, 0], np.generic)

    expected[1:3, ::2] = ours[1:3, ::2] = elements((2, 4), dtype, 50)
    expected[4] = ours[4] = expected[0, 1]
    assert np.array_equal(theirs[...], expected)
    assert np.array_equal(zarrkit.open(tmp_path)["a"][...], expected)


@pytest.mark.parametrize("zarr_format", [2, 3])
@pytest.mark.parametrize("dtype", [*NUMBERS, "M8[s]", "m8[25us]", *OTHERS, ">i4", ">f8", FLAT_RECORD], ids=names([*NUMBERS, "M8[s]", "m8[25us]", *OTHERS, ">i4", ">f8", "record"]))
def test_what_is_created_here_is_zarr_pythons(tmp_path, dtype, zarr_format):
    dtype = of(dtype)
    skip_what_zarr_python_lacks(dtype, zarr_format)
    if dtype.kind == "V" and not dtype.fields and zarr_format == 3:
        pytest.skip("zarr-python does not know the specification's `r24`, which it calls `raw_bytes`")
    expected = elements((5, 7), dtype)
    ours = zarrkit.create_array(tmp_path, "/a", shape=(5, 7), chunks=(2, 3), dtype=dtype, dialect=f"v{zarr_format}")
    ours[...] = expected
    theirs = zarr.open_array(tmp_path, path="a")
    assert ours.dtype == theirs.dtype
    assert np.array_equal(theirs[...], expected)


def test_records_with_shapes_and_nested_ones_are_those_of_v2(tmp_path):
    # zarr-python 3 has no fields with shapes; the bytes of NumPy are the witness.
    expected = elements((4,), RECORD)
    ours = zarrkit.create_array(tmp_path, "/a", shape=(4,), chunks=(4,), dtype=RECORD, codec=[], dialect="v2")
    ours[...] = expected
    assert ours.dtype == RECORD
    assert (tmp_path / "a" / "0").read_bytes() == expected.tobytes()
    assert np.array_equal(ours[::-1], expected[::-1])
    assert ours[1] == expected[1] and ours.fill_value == np.zeros((), RECORD)


def test_records_with_padding_are_refused(tmp_path):
    for dtype in [np.dtype([("a", "u1"), ("b", "f8")], align=True), np.dtype({"names": ["a"], "formats": ["i4"], "itemsize": 8})]:
        with pytest.raises(ValueError, match="repack_fields"):
            zarrkit.create_array(tmp_path, "/a", shape=(4,), dtype=dtype)
    for dtype in ["O", "f16", "S0", "M8[parsec]", object()]:
        with pytest.raises((ValueError, TypeError)):
            zarrkit.create_array(tmp_path, "/a", shape=(4,), dtype=dtype)


# What tensorstore 0.1.86 has, with the names that it shares with Zarr.
SMALL = ["bfloat16", "float8_e4m3fn", "float8_e4m3fnuz", "float8_e4m3b11fnuz", "float8_e5m2", "float8_e5m2fnuz", "float8_e3m4", "int4", "int2", "uint4", "uint2"]
SMALL += ["float8_e4m3", "float8_e8m0fnu", "float4_e2m1fn", "float6_e2m3fn", "float6_e3m2fn"]


def small_numbers(dtype):
    codes = np.arange(256, dtype="u1" if dtype.itemsize == 1 else "u2") << (0 if dtype.itemsize == 1 else 7)
    if "int" in dtype.name:
        bits = int(dtype.name[-1])
        low = -(2 ** (bits - 1)) if dtype.name[0] == "i" else 0
        return np.arange(low, low + 2**bits).astype(dtype)
    if "float6" in dtype.name or "float4" in dtype.name:
        codes = codes[: 64 if "float6" in dtype.name else 16]
    return codes.view(dtype)


@pytest.mark.parametrize("name", SMALL)
def test_small_numbers_are_those_of_ml_dtypes(tmp_path, name):
    ml_dtypes = pytest.importorskip("ml_dtypes")
    dtype = np.dtype(getattr(ml_dtypes, name))
    expected = small_numbers(dtype)
    ours = zarrkit.create_array(tmp_path, "/a", shape=expected.shape, chunks=(100,), dtype=dtype, codec=[], dialect="v3")
    ours[...] = expected
    found = ours[...]
    assert found.dtype == ours.dtype == dtype
    assert np.array_equal(found.astype("f8"), expected.astype("f8"), equal_nan=True)
    # The stored bytes are those of the numbers; above integers of fewer bits are zeros (F-053).
    stored = (tmp_path / "a" / "c" / "0").read_bytes()[: expected[:100].nbytes]
    mask = {"int4": 0x0F, "uint4": 0x0F, "int2": 3, "uint2": 3}.get(name, 0xFF)
    assert bytes(b & mask for b in expected[:100].tobytes()) == stored
    ours[:2] = expected[-1]
    assert np.array_equal(ours[:2].astype("f8"), expected[[-1, -1]].astype("f8"), equal_nan=True)


@pytest.mark.parametrize("name", ["bfloat16", "float8_e4m3fn", "float8_e5m2", "int4"])
def test_tensorstore_has_the_same_small_numbers(tmp_path, name):
    ts = pytest.importorskip("tensorstore")
    ml_dtypes = pytest.importorskip("ml_dtypes")
    expected = small_numbers(np.dtype(getattr(ml_dtypes, name)))
    ours = zarrkit.create_array(tmp_path, "/a", shape=expected.shape, chunks=(4,), dtype=name, dialect="v3")
    ours[...] = expected
    theirs = ts.open({"driver": "zarr3", "kvstore": f"file://{tmp_path}/a/"}).result()
    assert np.array_equal(theirs.read().result().astype("f8"), expected.astype("f8"), equal_nan=True)
    theirs[1:3] = expected[:2]
    assert np.array_equal(ours[1:3].astype("f8"), expected[:2].astype("f8"), equal_nan=True)


STRINGS = ["", "a", "é" * 40, "日本語", "x\0y", "tail\0", "🎈" * 3, "long " * 100]


@pytest.mark.parametrize("zarr_format", [2, 3])
def test_strings_are_those_of_zarr_python(tmp_path, zarr_format):
    texts = np.array(STRINGS * 25, dtype=np.dtypes.StringDType()).reshape(20, 10)
    zarr.create_array(tmp_path, name="a", shape=texts.shape, chunks=(6, 4), dtype="string", zarr_format=zarr_format)[...] = texts
    ours, theirs = zarrkit.open(tmp_path, "r+")["a"], zarr.open_array(tmp_path, path="a")
    assert ours.dtype == theirs.dtype == np.dtypes.StringDType() and ours.fill_value == ""
    assert np.array_equal(ours[...], texts) and ours[0, 2] == STRINGS[2]
    # Strings in every form that NumPy has.
    for value in [texts[::-1].T[:3].T, texts.astype(object)[:, :3], texts[:, :3].tolist(), texts[:, :3].astype("U500")]:
        ours[:, 3:6] = ""
        ours[:, 3:6] = value
        assert np.array_equal(theirs[:, 3:6], np.asarray(value, dtype=np.dtypes.StringDType()))
    for value in ["one", np.str_("one"), np.array("one"), ["one"], [["one"]]]:
        ours[1:3, 5] = ""
        ours[1:3, 5] = value
        assert theirs[2, 5] == "one"
    for wrong in [3, [1, 2], np.arange(20), b"bytes", None, ["a", None]]:
        with pytest.raises((TypeError, ValueError)):
            ours[:2, 0] = wrong
    missing = np.array(["a", None], dtype=np.dtypes.StringDType(na_object=None))
    with pytest.raises(ValueError, match="missing string"):
        ours[:2, 0] = missing
    with pytest.raises(ValueError, match="could not broadcast"):
        ours[:2, 0] = ["a", "b", "c"]
    out = np.zeros((20, 10), dtype=np.dtypes.StringDType())
    assert ours.read(out=out) is out and np.array_equal(out, theirs[...])


def test_bytes_are_objects(tmp_path):
    values = [b"", b"a", b"\0b\0", b"long " * 50]
    ours = zarrkit.create_array(tmp_path, "/a", shape=(4,), chunks=(3,), dtype="variable_length_bytes")
    ours[...] = values
    theirs = zarr.open_array(tmp_path, path="a")
    assert ours.dtype == theirs.dtype == object
    assert list(theirs[...]) == list(ours[...]) == values
    ours[1:3] = b"same"
    ours[3] = bytearray(b"array")
    assert list(theirs[...]) == [b"", b"same", b"same", b"array"] and ours[3] == b"array"
    assert ours.append([b"more", memoryview(b"still")]) == 4 and list(ours[-2:]) == [b"more", b"still"]
    for wrong in ["text", 3, ["text"], [None]]:
        with pytest.raises(TypeError):
            ours[0:1] = wrong


OBJECTS = {
    "json2": [{"a": [1, 2.5]}, None, "x", [1, [2]], 5],
    "vlen-array": [np.array([1, 2], "<i4"), np.array([], "<i4"), np.array([3], "<i4"), np.array([4, 5, 6], "<i4"), np.array([7], "<i4")],
}


@pytest.mark.parametrize("name", OBJECTS)
def test_objects_are_those_of_numcodecs(tmp_path, name):
    values = OBJECTS[name]
    codec = {"json2": {"id": "json2", "encoding": "utf-8"}, "vlen-array": {"id": "vlen-array", "dtype": "<i4"}}[name]
    document = {"zarr_format": 2, "shape": [5], "chunks": [3], "dtype": "|O", "compressor": None, "filters": [codec], "fill_value": 0, "order": "C"}
    (tmp_path / ".zarray").write_text(json.dumps(document))
    encoder = numcodecs.get_codec(codec)
    stored = np.empty(6, object)
    stored[:] = [*values, values[0]]
    for number in range(2):
        (tmp_path / str(number)).write_bytes(encoder.encode(stored[number * 3 : number * 3 + 3]))

    def same(found, expected):
        return len(found) == len(expected) and all(np.array_equal(a, b) if name == "vlen-array" else a == b for a, b in zip(found, expected))

    ours = zarrkit.open(tmp_path, "r+")
    assert ours.dtype == object and same(ours[...], values) and same([ours[3]], values[3:4])
    assert same(ours[::-2], values[::-2])
    ours[1] = values[3]
    ours[3:] = values[:2]
    expected = [values[0], values[3], values[2], values[0], values[1]]
    assert same(ours[...], expected)
    assert same(encoder.decode((tmp_path / "0").read_bytes()), expected[:3])
    assert ours.append(values[2:4]) == 5 and same(ours[5:], values[2:4])


@pytest.mark.parametrize("inner", ["int32", "float64", "bool", "bfloat16"])
def test_nullable_elements_are_masked_arrays(tmp_path, inner):
    if inner == "bfloat16":
        pytest.importorskip("ml_dtypes")
    ours = zarrkit.create_array(tmp_path, "/a", shape=(5,), chunks=(2,), dtype=f"optional({inner})")
    assert ours.fill_value is np.ma.masked and ours[...].mask.all()
    expected = np.ma.MaskedArray(np.array([1, 0, 1, 0, 1]).astype(ours.dtype), mask=[0, 1, 0, 0, 1])
    ours[...] = expected

    def same(found, expected):
        assert np.array_equal(np.ma.getmaskarray(found), np.ma.getmaskarray(expected))
        assert found.dtype == expected.dtype and np.array_equal(found.filled(0), expected.filled(0))

    same(ours[...], expected)
    same(ours[::-2], expected[::-2])
    assert ours[1] is np.ma.masked and ours[0] == expected[0]
    ours[2], expected[2] = np.ma.masked, np.ma.masked
    ours[3:], expected[3:] = 1, 1
    same(ours[...], expected)
    out = np.ma.zeros(5, dtype=ours.dtype)
    same(ours.read(out=out), expected)
    with pytest.raises(ValueError, match="MaskedArray"):
        ours.read(out=np.zeros(5, dtype=ours.dtype))
    ours.append(expected[:2])
    same(ours[5:], expected[:2])


def test_nothing_that_numpy_cannot_hold_is_guessed(tmp_path):
    for dtype in ["optional(optional(int8))", "complex_bfloat16"]:
        a = zarrkit.create_array(tmp_path, "/" + dtype[:8], shape=(2,), dtype=dtype)
        for refused in [lambda: a.dtype, lambda: a[...], lambda: a.fill_value]:
            with pytest.raises(NotImplementedError):
                refused()
        assert a.shape == (2,) and dtype[:8] in repr(a)


def test_without_ml_dtypes_the_error_names_it(tmp_path, monkeypatch):
    a = zarrkit.create_array(tmp_path, "/a", shape=(2,), dtype="bfloat16")
    monkeypatch.setitem(sys.modules, "ml_dtypes", None)
    with pytest.raises(ModuleNotFoundError, match="`ml_dtypes`; install it"):
        a[...]


def test_values_are_converted_as_numpy_does(tmp_path):
    a = zarrkit.create_array(tmp_path, "/a", shape=(4,), dtype="i2")
    expected = np.zeros(4, "i2")
    for value in [1.9, np.arange(4.0) * 1.5, [True, False, True, False], np.arange(4, dtype=">i8"), range(4)]:
        a[...] = value
        expected[...] = value
        assert np.array_equal(a[...], expected)
    for wrong in [70000, "x", [[1], [2, 3]]]:
        with pytest.raises((ValueError, OverflowError)):
            a[...] = wrong
