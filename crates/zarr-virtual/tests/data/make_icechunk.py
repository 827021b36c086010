"""Makes Icechunk repositories of both versions, and what icechunk reads: `pip install icechunk==2.3.0 zarr`."""

import json
import shutil
from pathlib import Path

import icechunk
import numpy as np
import zarr

HERE = Path(__file__).parent


def values(array):
    """The elements in C order, least significant byte first, in hexadecimal digits."""
    return np.ascontiguousarray(array).astype(array.dtype.newbyteorder("<")).tobytes().hex()


def describe(store):
    group = zarr.open_group(store, mode="r")
    return {
        path: {"shape": list(node.shape), "values": values(node[...])}
        for path, node in group.members(max_depth=None)
        if isinstance(node, zarr.Array)
    }


def make(version):
    path = HERE / f"ice{version}"
    shutil.rmtree(path, ignore_errors=True)
    # Chunks above 64 bytes are files.
    config = icechunk.RepositoryConfig(inline_chunk_threshold_bytes=64)
    storage = icechunk.local_filesystem_storage(str(path))
    repo = icechunk.Repository.create(storage, config=config, spec_version=version)
    session = repo.writable_session("main")
    root = zarr.group(session.store, attributes={"title": "Icechunk"})
    small = root.create_array("a/small", shape=(5, 4), chunks=(2, 2), dtype="i2", compressors=None)
    small[:3] = np.arange(12).reshape(3, 4)
    large = root.create_array("a/large", shape=(300,), chunks=(100,), dtype="f8", compressors=None)
    large[:250] = np.arange(250) / 7
    scalar = root.create_array("scalar", shape=(), dtype="i4")
    scalar[...] = 42
    first = session.commit("first")
    repo.create_tag("v1", snapshot_id=first)
    session = repo.writable_session("main")
    zarr.open_group(session.store)["a/small"][...] = 7
    session.commit("second")
    repo.create_branch("side", snapshot_id=first)
    described = {
        "branch=main": describe(repo.readonly_session("main").store),
        "tag=v1": describe(repo.readonly_session(tag="v1").store),
        "branch=side": describe(repo.readonly_session("side").store),
        f"snapshot={first}": describe(repo.readonly_session(snapshot_id=first).store),
    }
    for leftover in ["transactions", "overwritten", "config.yaml"]:
        target = path / leftover
        shutil.rmtree(target) if target.is_dir() else target.unlink(missing_ok=True)
    return described


described = {f"ice{version}": make(version) for version in (1, 2)}
(HERE / "icechunk.json").write_text(json.dumps(described))
(HERE / "versions_icechunk.txt").write_text(f"icechunk {icechunk.__version__}\nzarr {zarr.__version__}\n")
