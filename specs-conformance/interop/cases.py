"""What every peer is asked: types, codecs, and the arrays made of them."""

import base64
import dataclasses
import json
import zlib

import numpy as np

BOOL = ["|b1"]
INTEGERS = ["|i1", "|u1"] + [f"{order}{kind}{size}" for order in "<>" for kind in "iu" for size in (2, 4, 8)]
FLOATS = [f"{order}f{size}" for order in "<>" for size in (2, 4, 8)]
COMPLEX = [f"{order}c{size}" for order in "<>" for size in (8, 16)]
TEXT = ["|S7", "<U5", ">U3", "|V6"]
TIMES = ["<M8[ns]", ">M8[s]", "<M8[D]", "<M8[Y]", "<M8[us]", "<m8[ms]", ">m8[h]", "<m8[as]"]
# Units that one step has several of.
STEPS = ["<M8[25s]", ">m8[10us]"]
# Records, as v2 writes them: one byte order, several, records in records, several elements in a field.
RECORDS = [
    '[["a","<i4"],["b","<f8"]]',
    '[["a",">i4"],["b",">f8"]]',
    '[["a","<i4"],["b",">f8"],["c","<U3"],["d","|S2"],["e","|b1"],["t",">M8[s]"],["v","|V3"],["z","<c8"]]',
]
NESTED = ['[["a","<i2"],["e",[["x",">i2"],["r",[["y","|u1"],["z","<u4"]]]]]]']
SUBARRAYS = ['[["a","<i4",[2]],["q",[["x",">u2"],["y","|b1"]],[2,3]]]']
NUMBERS = BOOL + INTEGERS + FLOATS + COMPLEX

BLOSC = [
    f"blosc-{cname}-{shuffle}:5"
    for cname in ("lz4", "lz4hc", "blosclz", "zlib", "zstd")
    for shuffle in ("noshuffle", "shuffle", "bitshuffle")
]


def numpy_type(words):
    """NumPy's type, whose fields are tuples where those of v2 are lists."""
    def of(words):
        if isinstance(words, str):
            return words
        return [(name, of(kind), *map(tuple, shape)) for name, kind, *shape in words]

    return np.dtype(of(json.loads(words)) if words.startswith("[") else words)


def fit(data, rng):
    """What random bytes cannot be in the fields of records: bools are 0 or 1, text is text."""
    for name in data.dtype.names:
        field = data[name]
        if field.dtype.names:
            fit(field, rng)
        elif field.dtype.kind == "b":
            field[...] = rng.integers(0, 2, field.shape)
        elif field.dtype.kind == "U":
            field[...] = rng.choice(np.array(["", "a", "äß", "漢🎉z"]), field.shape)


# How the names of cases begin, and what they are about; the first that fits.
SUBJECTS = {
    "dtype": "data types, in C and in F order",
    "codec": "data types × codecs",
    "fill": "fill values",
    "undefined": "fill values",
    "shards-dtype": "shards × data types, in C and in F order",
    "shards-codec": "shards × data types × codecs",
    "shards-index": "shards: place and codecs of the index",
    "shards-nested": "shards in shards",
    "shards-within": "shards: codecs around them",
    "shards-transpose": "shards: axes exchanged within and without",
    "shards": "shards: shapes, keys, holes",
    "transpose": "axes exchanged at will",
    "": "shapes, keys, holes",
}
KINDS = {
    "S": "text of fixed length, `S`", "U": "text of fixed length, `U`", "V": "raw bytes", "M": "datetime64", "m": "timedelta64",
    "string": "variable-length text", "variable_length_bytes": "variable-length bytes",
}


def about(case, subject, kind):
    """Where the case belongs in the tables of all results: table -> row."""
    rows = {"subject": subject, "data type": kind}
    if not case.chain:
        names = [codec.partition(":")[0].rpartition("-")[0] if codec.startswith("blosc") else codec.partition(":")[0] for codec in case.codecs]
        rows["codecs"] = " + ".join(names) or "none"
    return rows


@dataclasses.dataclass(frozen=True)
class Case:
    """An array to be written. `codecs` are as the program's `--codec` takes them."""

    name: str
    dtype: str = "<i4"
    shape: tuple = (7, 9)
    chunks: tuple = (3, 4)
    order: str = "C"
    codecs: tuple = ()
    fill: object = None
    holes: bool = True
    empty: bool = False
    # what stands between the indices in chunk keys; as the writer likes, if not given
    separator: object = None
    # no fill value; unwritten elements are zero
    undefined: bool = False
    # in v3, the shape of shards that hold `chunks`
    shards: tuple = ()
    # in v3, all codecs as documents have them, instead of `codecs` and `order`
    chain: tuple = ()
    # the part from the origin on that is all fill where the case has holes; the first chunk, if not given
    hole: tuple = ()

    def about(self):
        dtype = numpy_type(self.dtype)
        subject = next(subject for start, subject in SUBJECTS.items() if self.name.startswith(start))
        return about(self, subject, "records" if dtype.names else KINDS.get(dtype.kind, dtype.name))

    def fill_value(self):
        """The fill value as a NumPy scalar array, zero unless the case says another."""
        value = np.zeros((), numpy_type(self.dtype))
        if self.fill is not None:
            value[...] = self.fill
        return value

    def data(self):
        """The elements, the same each time; `hole` is all fill where the case has holes."""
        dtype = numpy_type(self.dtype)
        if self.empty:
            return np.full(self.shape, self.fill_value())
        rng = np.random.default_rng(zlib.crc32(self.name.encode()))
        count = int(np.prod(self.shape))
        if dtype.kind == "b":
            data = rng.integers(0, 2, count).astype(dtype)
        elif dtype.kind == "S":
            data = np.array([bytes(rng.integers(97, 123, rng.integers(0, dtype.itemsize + 1))) for _ in range(count)], dtype)
        elif dtype.kind == "U":
            letters = np.array(list("aZ09 äß漢🎉"))
            data = np.array(["".join(rng.choice(letters, rng.integers(0, dtype.itemsize // 4 + 1))) for _ in range(count)], dtype)
        else:
            data = np.frombuffer(rng.bytes(count * dtype.itemsize), dtype).copy()
            if dtype.names:
                fit(data, rng)
            if dtype.kind in "fc" and count > 6:
                data[-6:] = [np.nan, np.inf, -np.inf, -0.0, 0.0, 1.5]
            if dtype.kind in "mM" and count:
                data[-1] = "NaT"
        data = data.reshape(self.shape)
        if self.holes and self.shape and count:
            data[tuple(slice(0, length) for length in self.hole or self.chunks)] = self.fill_value()
        return data


@dataclasses.dataclass(frozen=True)
class Long:
    """An array of variable-length texts or bytes; `dtype` as the program takes it."""

    name: str
    dtype: str = "string"
    shape: tuple = (7, 9)
    chunks: tuple = (3, 4)
    order: str = "C"
    codecs: tuple = ()
    fill: object = ""
    empty: bool = False
    # in v3, the shape of shards that hold `chunks`
    shards: tuple = ()
    chain: tuple = ()

    def about(self):
        return about(self, "variable-length elements", KINDS[self.dtype])

    def element(self, text):
        return text if self.dtype == "string" else text.encode("utf-16-be")

    def fill_value(self):
        return self.element(self.fill)

    def data(self):
        """The elements, the same each time; the first chunk is all fill."""
        data = np.full(self.shape, None, object)
        data[...] = self.fill_value()
        if not self.empty:
            rng = np.random.default_rng(zlib.crc32(self.name.encode()))
            letters = np.array(list("aZ09 äß漢🎉"))
            for at in np.ndindex(self.shape):
                if not self.shape or any(index >= length for index, length in zip(at, self.chunks)):
                    data[at] = self.element("".join(rng.choice(letters, rng.integers(0, 9))))
        return data


def long_cases(dtypes):
    """Layouts, codecs and fill values of variable-length elements."""
    for dtype in dtypes:
        yield Long(f"{dtype}", dtype)
        yield Long(f"{dtype}-F", dtype, order="F")
        for codec in ("gzip:5", "zstd:3", "blosc-lz4-shuffle:5"):
            yield Long(f"{dtype}-{codec}", dtype, codecs=(codec,))
        yield Long(f"{dtype}-gzip:5-F", dtype, codecs=("gzip:5",), order="F")
        yield Long(f"{dtype}-scalar", dtype, (), ())
        yield Long(f"{dtype}-one-axis", dtype, (11,), (4,))
        yield Long(f"{dtype}-three-axes-F", dtype, (4, 5, 6), (2, 3, 4), order="F")
        yield Long(f"{dtype}-no-elements", dtype, (0, 3), (1, 3))
        yield Long(f"{dtype}-fill", dtype, fill="aß漢")
        yield Long(f"{dtype}-nothing-stored", dtype, fill="aß漢", empty=True)


def stream(array):
    """Variable-length elements in C order, each after its length."""
    elements = [item.encode() if isinstance(item, str) else bytes(item) for item in np.asarray(array).ravel()]
    return b"".join(len(element).to_bytes(4, "little") + element for element in elements)


def fill_text(case):
    """The fill value as JSON, which every dialect reads."""
    value = case.fill_value()
    if value.dtype.names:
        return json.dumps(base64.b64encode(value.tobytes()).decode())
    if value.dtype.kind == "b":
        return "true" if value else "false"
    if value.dtype.kind in "iu":
        return str(int(value))
    if value.dtype.kind in "mM":
        return str(int(value.astype("i8")))
    if value.dtype.kind == "f":
        return float_text(value)
    if value.dtype.kind == "c":
        return f"[{float_text(value.real)}, {float_text(value.imag)}]"
    return None


def float_text(value):
    value = float(value)
    if value != value:
        return '"NaN"'
    if value in (float("inf"), float("-inf")):
        return '"Infinity"' if value > 0 else '"-Infinity"'
    return repr(value)


def cases(dtypes, codecs, full):
    """Types, codecs, layouts and fill values; `full` crosses every type with every codec."""
    def numeric(dtype):
        return numpy_type(dtype).kind in "biufc"

    for dtype in dtypes:
        yield Case(f"dtype{dtype}", dtype)
        yield Case(f"dtype{dtype}-F", dtype, order="F")
    for codec in codecs:
        chosen = dtypes if full else [dtype for dtype in ("<i4", "<f8", ">u2", "<M8[ns]") if dtype in dtypes]
        if "delta" in codec:
            # Differences of floats lose bits.
            chosen = [dtype for dtype in chosen if numpy_type(dtype).kind in "iumM"]
        for dtype in chosen:
            yield Case(f"codec-{'+'.join(codec)}{dtype}", dtype, codecs=codec)
        yield Case(f"codec-{'+'.join(codec)}-F", codecs=codec, order="F")
    yield Case("scalar", "<f8", (), (), holes=False)
    yield Case("scalar-unwritten", "<i4", (), (), fill=42, empty=True)
    yield Case("one-axis", "<i4", (11,), (4,))
    yield Case("three-axes", "<i2", (4, 5, 6), (2, 3, 4))
    yield Case("three-axes-F", "<i2", (4, 5, 6), (2, 3, 4), order="F")
    yield Case("four-axes-F", "|u1", (3, 4, 2, 5), (2, 2, 2, 2), order="F")
    yield Case("no-elements", "<i4", (0, 3), (1, 3), holes=False)
    yield Case("chunk-beyond-the-array", "<i4", (3, 2), (8, 8), holes=False)
    yield Case("nothing-stored", "<i4", fill=7, empty=True)
    yield Case("slashes", "<i4", separator="/")
    yield Case("periods", "<i4", separator=".")
    for dtype in dtypes:
        kind = numpy_type(dtype).kind
        if kind == "f":
            for name, fill in (("nan", np.nan), ("inf", np.inf), ("neginf", -np.inf), ("third", 1 / 3)):
                yield Case(f"fill-{name}{dtype}", dtype, fill=fill)
        elif kind == "c":
            yield Case(f"fill-nan-inf{dtype}", dtype, fill=complex(np.nan, np.inf))
        elif kind in "iu" and numeric(dtype):
            info = np.iinfo(dtype)
            yield Case(f"fill-min{dtype}", dtype, fill=info.min)
            yield Case(f"fill-max{dtype}", dtype, fill=info.max)
        elif kind in "mM":
            yield Case(f"fill-nat{dtype}", dtype, fill="NaT")
        elif kind == "b":
            yield Case(f"fill-true{dtype}", dtype, fill=True)
        elif dtype.startswith("["):
            yield Case(f"fill-record{dtype}", dtype, fill=Case(f"record{dtype}", dtype, (1,), (1,), holes=False).data()[0])


def delta_type(dtype):
    """The integers that numcodecs' `delta` gets as elements: it adds no moments."""
    return f"{dtype[0]}i8" if numpy_type(dtype).kind in "mM" else dtype


def little(array):
    """The elements as little-endian bytes in C order."""
    array = np.asarray(array)
    return array.astype(array.dtype.newbyteorder("<")).tobytes()
