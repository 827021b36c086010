"""What every peer is asked: the program under test, the cases, and how answers are compared.

A peer's script gives a `Peer` to `main`. Each case goes four ways: the program writes and the peer
reads; the peer writes and the program reads; the program copies what the peer wrote into each dialect
and reads it; the peer reads those copies. Elements must be equal to the bit.
"""

import argparse
import dataclasses
import re
import shutil
import subprocess
import sys
import tempfile
import time
import zlib
from pathlib import Path

import numpy as np

DIALECTS = ("v2", "v3", "draft-2020")

BOOL = ["|b1"]
INTEGERS = ["|i1", "|u1"] + [f"{order}{kind}{size}" for order in "<>" for kind in "iu" for size in (2, 4, 8)]
FLOATS = [f"{order}f{size}" for order in "<>" for size in (2, 4, 8)]
COMPLEX = [f"{order}c{size}" for order in "<>" for size in (8, 16)]
TEXT = ["|S7", "<U5", ">U3", "|V6"]
TIMES = ["<M8[ns]", ">M8[s]", "<M8[D]", "<M8[Y]", "<M8[us]", "<m8[ms]", ">m8[h]", "<m8[as]"]
# Units that one step has several of.
STEPS = ["<M8[25s]", ">m8[10us]"]
NUMBERS = BOOL + INTEGERS + FLOATS + COMPLEX

BLOSC = [
    f"blosc-{cname}-{shuffle}:5"
    for cname in ("lz4", "lz4hc", "blosclz", "zlib", "zstd")
    for shuffle in ("noshuffle", "shuffle", "bitshuffle")
]


@dataclasses.dataclass(frozen=True)
class Case:
    """An array to be written. `codecs` are as the program's `--codec` spells them."""

    name: str
    dtype: str = "<i4"
    shape: tuple = (7, 9)
    chunks: tuple = (3, 4)
    order: str = "C"
    codecs: tuple = ()
    fill: object = None
    holes: bool = True
    empty: bool = False

    def fill_value(self):
        """The fill value as a NumPy scalar array, zero unless the case says another."""
        value = np.zeros((), self.dtype)
        if self.fill is not None:
            value[...] = self.fill
        return value

    def data(self):
        """The elements, the same each time; the first chunk is all fill where the case has holes."""
        dtype = np.dtype(self.dtype)
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
            if dtype.kind in "fc" and count > 6:
                data[-6:] = [np.nan, np.inf, -np.inf, -0.0, 0.0, 1.5]
            if dtype.kind in "mM" and count:
                data[-1] = "NaT"
        data = data.reshape(self.shape)
        if self.holes and self.shape and count:
            data[tuple(slice(0, length) for length in self.chunks)] = self.fill_value()
        return data


def fill_text(case):
    """The fill value as JSON, which every dialect reads."""
    value = case.fill_value()
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
        return np.dtype(dtype).kind in "biufc"

    for dtype in dtypes:
        yield Case(f"dtype{dtype}", dtype)
        yield Case(f"dtype{dtype}-F", dtype, order="F")
    for codec in codecs:
        chosen = dtypes if full else ["<i4", "<f8", ">u2"] + ["<M8[ns]"] * ("<M8[ns]" in dtypes)
        if "delta" in codec:
            # Differences of floats lose bits.
            chosen = [dtype for dtype in chosen if np.dtype(dtype).kind in "iumM"]
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
    for dtype in dtypes:
        kind = np.dtype(dtype).kind
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


class Refused(Exception):
    """The program would not."""


class Program:
    """The program `zarr`, by its command line."""

    def __init__(self, path):
        self.path = path

    def run(self, *arguments, data=b""):
        done = subprocess.run([self.path, *map(str, arguments)], input=data, capture_output=True)
        if done.returncode:
            message = done.stderr.decode(errors="replace").strip().replace("\n", " ")
            raise Refused(f"zarr {arguments[0]}: exit {done.returncode}: {message[:300]}")
        return done.stdout

    def write(self, store, case, dialect):
        arguments = ["--path", "/a", "--format", dialect]
        arguments += [f"--shape={','.join(map(str, case.shape))}", f"--chunks={','.join(map(str, case.chunks))}"]
        arguments += ["--dtype", case.dtype]
        if fill_text(case) is not None:
            arguments += [f"--fill={fill_text(case)}"]
        if case.order == "F":
            arguments += ["--order", "F"]
        for codec in case.codecs:
            arguments += ["--codec", codec]
        self.run("create", store, *arguments)
        if not case.empty:
            self.run("put", store, "--path", "/a", "--format", "raw", data=little(case.data()))

    def read(self, store):
        return self.run("get", store, "--path", "/a", "--format", "raw")

    def copy(self, source, target, dialect):
        self.run("copy", source, target, "--to", dialect)


def delta_type(dtype):
    """The integers in whose terms numcodecs' `delta` is told of elements: it adds no moments."""
    return f"{dtype[0]}i8" if np.dtype(dtype).kind in "mM" else dtype


def little(array):
    """The elements as little-endian bytes in C order."""
    array = np.asarray(array)
    return array.astype(array.dtype.newbyteorder("<")).tobytes()


@dataclasses.dataclass
class Peer:
    """Another implementation."""

    name: str
    # dialect -> (types, codec chains) that both sides know
    knows: dict
    # read(store, dialect) -> NumPy array; write(store, case, dialect)
    read: object
    write: object
    # (direction, dialect, case's name, reason), each but the last a regular expression
    exceptions: list
    # which codecs the peer's writer is asked for; all of `knows` where a dialect is missing
    writes: dict = dataclasses.field(default_factory=dict)


# What the program refuses to copy, whoever wrote it, and is right to.
REFUSED = [
    (r"we copy from .*", "draft-2020", r"codec-(.*crc32c|delta|shuffle:).*", "the draft has no name for the codec"),
]


def compare(found, case):
    if not isinstance(found, bytes):
        found = np.asarray(found)
        if tuple(found.shape) != tuple(case.shape):
            return f"shape {found.shape}, expected {case.shape}"
        found = little(found)
    expected = little(case.data())
    if found == expected:
        return None
    at = next((n for n, pair in enumerate(zip(found, expected)) if pair[0] != pair[1]), min(len(found), len(expected)))
    return f"{len(found)} bytes, expected {len(expected)}; first difference at byte {at}"


class Run:
    """What came of the cases."""

    def __init__(self, peer):
        self.peer = peer
        self.equal = 0
        self.excepted = 0
        self.wrong = []
        self.used = set()

    def check(self, direction, dialect, case, action):
        try:
            difference = action()
        except Exception as error:  # whatever a peer throws is the answer
            difference = f"{type(error).__name__}: {str(error)[:300]}"
        for number, (*patterns, reason) in enumerate(self.peer.exceptions):
            if all(map(re.fullmatch, patterns, (direction, dialect, case.name))):
                self.used.add(number)
                if difference is None:
                    self.wrong.append(f"{direction} {dialect} {case.name}: equal, although excepted: {reason}")
                self.excepted += 1
                return
        if difference is None:
            self.equal += 1
        else:
            self.wrong.append(f"{direction} {dialect} {case.name}: {difference}")


def holes_are_holes(store, case):
    """Chunks that hold nothing but the fill value are not stored."""
    if not case.holes or not case.shape or case.empty:
        return None
    names = (".zarray", ".zgroup", ".zattrs", ".zmetadata", "zarr.json", ".zarr-lock")
    stored = [p for p in Path(store).rglob("*") if p.is_file() and p.name not in names and ".group.json" not in p.name and ".array.json" not in p.name]
    chunks = int(np.prod([-(-length // chunk) for length, chunk in zip(case.shape, case.chunks)]))
    return None if len(stored) < chunks else f"{len(stored)} chunks are stored, one of them is all fill"


def ask(peer, program, scratch):
    run = Run(peer)
    for dialect, (dtypes, codecs) in peer.knows.items():
        for number, case in enumerate(cases(dtypes, codecs, full=True)):
            store = scratch / f"ours-{dialect}-{number}"

            def ours():
                program.write(store, case, dialect)
                return compare(peer.read(store, dialect), case) or holes_are_holes(store, case)

            run.check("we write", dialect, case, ours)
            shutil.rmtree(store, ignore_errors=True)
        for number, case in enumerate(cases(dtypes, peer.writes.get(dialect, codecs), full=False)):
            store = scratch / f"theirs-{dialect}-{number}"

            def theirs():
                peer.write(store, case, dialect)
                difference = compare(peer.read(store, dialect), case)
                if difference is not None:
                    return f"the peer itself reads otherwise: {difference}"
                return compare(program.read(store), case)

            run.check("they write", dialect, case, theirs)
            for to in DIALECTS:
                copied = scratch / f"copy-{dialect}-{number}-{to}"

                def copy():
                    program.copy(store, copied, to)
                    difference = compare(program.read(copied), case)
                    if difference is None and to in peer.knows:
                        difference = compare(peer.read(copied, to), case)
                    return difference

                run.check(f"we copy from {dialect}", to, case, copy)
                shutil.rmtree(copied, ignore_errors=True)
            shutil.rmtree(store, ignore_errors=True)
    for number, exception in enumerate(peer.exceptions):
        if number not in run.used:
            run.wrong.append(f"no case meets the exception {exception}")
    return run


def main(peer):
    parser = argparse.ArgumentParser(description=f"Exchange arrays with {peer.name}.")
    parser.add_argument("program", help="the program `zarr` to be tested")
    program = Program(str(Path(parser.parse_args().program).resolve()))
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as scratch:
        run = ask(peer, program, Path(scratch))
    for line in run.wrong:
        print(line)
    seconds = time.monotonic() - began
    print(f"{peer.name}: {run.equal} equal, {run.excepted} excepted, {len(run.wrong)} wrong, in {seconds:.0f} s")
    sys.exit(1 if run.wrong else 0)
