"""Arrays in shards and with exchanged axes, which only final v3 can represent."""

import json

from cases import Case, Long
from documents import INDEX, sharding, transpose

LITTLE = {"name": "bytes", "configuration": {"endian": "little"}}
BIG = {"name": "bytes", "configuration": {"endian": "big"}}
GZIP = {"name": "gzip", "configuration": {"level": 5}}
CRC32C = {"name": "crc32c"}


def shards(dtypes, codecs):
    """Shards around the usual chunks: types, codecs, shapes."""
    for dtype in dtypes:
        yield Case(f"shards-dtype{dtype}", dtype, shards=(6, 8))
        yield Case(f"shards-dtype{dtype}-F", dtype, shards=(6, 8), order="F")
    for codec in codecs:
        for dtype in ("|u1", "<i4", ">u2", "<f8", "<M8[ns]"):
            if dtype in dtypes:
                yield Case(f"shards-codec-{'+'.join(codec)}{dtype}", dtype, codecs=codec, shards=(6, 8))
        yield Case(f"shards-codec-{'+'.join(codec)}-F", codecs=codec, shards=(6, 8), order="F")
    yield Case("shards-of-one-chunk", shards=(3, 4))
    yield Case("shards-one-empty", shards=(6, 8), hole=(6, 8))
    yield Case("shards-nothing-stored", fill=7, empty=True, shards=(6, 8))
    yield Case("shards-fill", fill=-5, shards=(6, 8))
    yield Case("shards-one-axis", "<i4", (11,), (2,), shards=(6,))
    yield Case("shards-three-axes", "<i2", (4, 5, 6), (2, 3, 2), shards=(4, 3, 4))
    yield Case("shards-three-axes-F", "<i2", (4, 5, 6), (2, 3, 2), shards=(4, 3, 4), order="F")
    yield Case("shards-no-elements", "<i4", (0, 3), (1, 3), shards=(2, 3), holes=False)
    yield Case("shards-beyond-the-array", "<i4", (3, 2), (4, 4), shards=(8, 8), holes=False)
    yield Case("shards-periods", "<i4", shards=(6, 8), separator=".")


def chained(name, shape, grid, hole, *codecs, dtypes=("|u1", "<i4", "<f8")):
    """The same codecs for several types; `hole` is all fill."""
    text = tuple(json.dumps(codec) for codec in codecs)
    for dtype in dtypes:
        yield Case(f"{name}{dtype}", dtype, shape, grid, chain=text, hole=hole)


def indices():
    """Indices at either end, checked or not, in either byte order."""
    for location in ("start", "end"):
        for name, index in [("", INDEX), ("-unchecked", [LITTLE]), ("-big-endian", [BIG, CRC32C]), ("-checked-twice", [LITTLE, CRC32C, CRC32C])]:
            codec = sharding((3, 4), [LITTLE, GZIP], index, location)
            yield from chained(f"shards-index-{location}{name}", (7, 9), (6, 8), (3, 4), codec)


def nested():
    """Shards in shards."""
    for location in ("start", "end"):
        inner = sharding((3, 2), [LITTLE, GZIP], location=location)
        yield from chained(f"shards-nested-{location}", (7, 9), (6, 8), (3, 4), sharding((3, 4), [inner], location=location))
    inner = sharding((1, 2), [transpose(1, 0), BIG, GZIP])
    yield from chained("shards-nested-transpose", (7, 9), (6, 8), (3, 4), sharding((3, 4), [inner]))


def outside():
    """Codecs on whole shards."""
    for name, codec in [("gzip", GZIP), ("crc32c", CRC32C)]:
        yield from chained(f"shards-within-{name}", (7, 9), (6, 8), (3, 4), sharding((3, 4), [LITTLE]), codec)


def transposed_inside():
    yield from chained("shards-transpose-inside", (7, 9), (6, 8), (3, 4), sharding((3, 4), [transpose(1, 0), BIG, GZIP]))
    codec = sharding((2, 3, 1), [transpose(2, 0, 1), LITTLE])
    yield from chained("shards-transpose-inside-201", (4, 7, 5), (4, 6, 3), (2, 3, 1), codec)


def transposed_outside():
    """The shape of the chunks is that of exchanged axes (T-08)."""
    yield from chained("shards-transpose-before", (7, 9), (4, 6), (2, 3), transpose(1, 0), sharding((3, 2), [LITTLE]))
    codecs = transpose(2, 0, 1), sharding((1, 2, 3), [LITTLE, GZIP])
    yield from chained("shards-transpose-before-201", (4, 7, 5), (4, 6, 3), (2, 3, 1), *codecs)
    codecs = transpose(1, 2, 0), sharding((3, 1, 2), [transpose(2, 0, 1), LITTLE])
    yield from chained("shards-transpose-around", (4, 7, 5), (4, 6, 3), (2, 3, 1), *codecs)


def transposed():
    """Exchanges that are not their own inverse (T-45), without shards."""
    for order in [(2, 0, 1), (1, 2, 0), (0, 2, 1), (0, 1, 2), (2, 1, 0)]:
        name = "transpose-" + "".join(map(str, order))
        yield from chained(name, (4, 7, 5), (2, 3, 4), (), transpose(*order), LITTLE, dtypes=("|u1", "<i4", "<f8", "<c8"))
    yield from chained("transpose-1230", (3, 4, 2, 5), (2, 2, 2, 3), (), transpose(1, 2, 3, 0), BIG)
    yield from chained("transpose-twice", (4, 7, 5), (2, 3, 4), (), transpose(2, 0, 1), transpose(1, 0, 2), LITTLE)


def scalar():
    yield Case("shards-scalar", "<f8", (), (), chain=(json.dumps(sharding((), [LITTLE])),), holes=False)


ALL = (scalar, indices, nested, outside, transposed_inside, transposed_outside, transposed)


def layouts(dtypes, codecs, without=()):
    """All of these, but for those that a peer cannot represent."""
    yield from shards(dtypes, codecs)
    for some in ALL:
        if some not in without:
            yield from some()


def long_shards(dtypes=("string", "variable_length_bytes")):
    """Variable-length elements in shards (T-12)."""
    for dtype in dtypes:
        yield Long(f"shards-{dtype}", dtype, shards=(6, 8))
        yield Long(f"shards-{dtype}-F", dtype, shards=(6, 8), order="F")
        for codec in ("gzip:5", "zstd:3", "blosc-lz4-shuffle:5"):
            yield Long(f"shards-{dtype}-{codec}", dtype, codecs=(codec,), shards=(6, 8))
        yield Long(f"shards-{dtype}-one-axis", dtype, (11,), (2,), shards=(6,))
        yield Long(f"shards-{dtype}-fill", dtype, fill="aß漢", shards=(6, 8))
        yield Long(f"shards-{dtype}-nothing-stored", dtype, fill="aß漢", empty=True, shards=(6, 8))
