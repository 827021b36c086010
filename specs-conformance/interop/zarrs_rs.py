"""zarrs 0.23.14, a Rust crate: final v3 and v2, by the program in `zarrs/`, which ZARRS_PEER names."""

import json
import os
import subprocess

import numpy as np

import documents
from cases import BLOSC, NUMBERS, STEPS, TIMES, Long, little, stream
from common import REFUSED, REFUSED_AXES, Peer, main
from layouts import layouts, long_shards

PROGRAM = os.environ["ZARRS_PEER"]


def run(*arguments, data=b""):
    done = subprocess.run([PROGRAM, *map(str, arguments)], input=data, capture_output=True)
    if done.returncode:
        raise RuntimeError(done.stderr.decode(errors="replace").strip())
    return done.stdout


def document(store, dialect):
    return json.loads((store / "a" / (".zarray" if dialect == "v2" else "zarr.json")).read_text())


def stored_type(store, dialect):
    """NumPy's type of the elements, which come as little-endian bytes."""
    name = document(store, dialect)["dtype" if dialect == "v2" else "data_type"]
    if dialect == "v2":
        return np.dtype(name).newbyteorder("<")
    if isinstance(name, dict):
        kind = {named: kind for kind, named in documents.UNITS.items()}[name["name"]]
        configuration = name["configuration"]
        return np.dtype(f"<{kind}8[{configuration['scale_factor']}{configuration['unit']}]")
    if name.startswith("r"):
        return np.dtype(f"V{int(name[1:]) // 8}")
    return np.dtype(name).newbyteorder("<")


def read(store, dialect):
    return np.frombuffer(run("read", store, "/a"), stored_type(store, dialect)).reshape(document(store, dialect)["shape"])


def write(store, case, dialect):
    _, group = documents.group(dialect)
    run("create", store, "/", json.dumps(group))
    run("create", store, "/a", json.dumps(documents.array(case, dialect)))
    if not case.empty:
        run("write", store, "/a", data=stream(case.data()) if isinstance(case, Long) else little(case.data()))


def read_long(store, dialect):
    shape = document(store, dialect)["shape"]
    rest, elements = run("read", store, "/a"), []
    while rest:
        end = 4 + int.from_bytes(rest[:4], "little")
        elements.append(rest[4:end])
        rest = rest[end:]
    found = np.empty(len(elements), object)
    found[:] = elements
    return found.reshape(shape)


V3 = [("gzip:5",), ("zlib:5",), ("zstd:3",), ("bz2:5",), ("crc32c",), ("shuffle:4", "zlib:1"), ("gzip:1", "crc32c")]
V3 += [(name,) for name in BLOSC]
V2 = [("gzip:5",), ("zlib:5",), ("zstd:3",), ("bz2:5",)] + [(name,) for name in BLOSC]
TYPES = NUMBERS + TIMES + STEPS

LONG_F = r"(shards-)?(string|variable_length_bytes).*-F"

PEER = Peer(
    name="zarrs 0.23.14",
    knows={"v3": (TYPES + ["|V6"], V3), "v2": (NUMBERS, V2)},
    cases={"v3": [*layouts(TYPES + ["|V6"], V3), *long_shards()]},
    read=read,
    write=write,
    long=("v3",),
    read_long=read_long,
    write_long=write,
    exceptions=REFUSED
    + REFUSED_AXES
    + [
        (r"we copy from v3", "v2", r"(shards-)?codec-.*crc32c.*", "knows crc32c only in v3"),
        (r"we copy from v3", "v2", r".*[<>][mM]8\[.*", "knows times only in v3"),
        (r"we write|they write", "v3", LONG_F, "cannot exchange the axes of variable-length elements (T-46)"),
        (r"we copy from v3", "v3", LONG_F, "cannot exchange the axes of variable-length elements (T-46)"),
    ],
)

if __name__ == "__main__":
    main(PEER)
