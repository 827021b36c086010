"""tensorstore 0.1.86: final v3 and v2."""

import json

import numpy as np
import tensorstore as ts

import documents
from cases import BLOSC, NUMBERS
from common import REFUSED, REFUSED_AXES, Peer, main
from layouts import layouts, outside


def spec(store, dialect):
    driver = {"v2": "zarr", "v3": "zarr3"}[dialect]
    return {"driver": driver, "kvstore": {"driver": "file", "path": f"{store}/a/"}}


def read(store, dialect):
    return np.asarray(ts.open(spec(store, dialect), read=True).result().read().result())


def write(store, case, dialect):
    array = ts.open({**spec(store, dialect), "metadata": documents.array(case, dialect)}, create=True).result()
    name, document = documents.group(dialect)
    (store / name).write_text(json.dumps(document))
    if not case.empty:
        data = case.data()
        array.write(data.astype(data.dtype.newbyteorder("="))).result()


V3 = [("gzip:5",), ("zstd:3",), ("crc32c",)] + [(name,) for name in BLOSC]
V2 = [("gzip:5",), ("zlib:5",), ("zstd:3",), ("bz2:5",)] + [(name,) for name in BLOSC]

PEER = Peer(
    name="tensorstore 0.1.86",
    knows={"v3": (NUMBERS, V3), "v2": (NUMBERS, V2)},
    writes={"v3": V3 + [("gzip:1", "crc32c")]},
    cases={"v3": list(layouts(NUMBERS, V3 + [("gzip:1", "crc32c")], without=[outside]))},
    read=read,
    write=write,
    exceptions=REFUSED
    + REFUSED_AXES
    + [
        (r"we copy from v3", "v2", r"(shards-)?codec-.*crc32c.*", "knows crc32c only in v3"),
        (r"we copy from v2", "v3", r"codec-(zlib|bz2).*", "knows zlib and bz2 only in v2"),
    ],
)

if __name__ == "__main__":
    main(PEER)
