"""Makes a repository with a virtual chunk in the file `/data/virtual.bin`, which need not be there.

    python3 -m venv a; a/bin/pip install icechunk zarr
    a/bin/python make_icechunk_virtual.py
"""

from pathlib import Path

import icechunk
import zarr

HERE = Path(__file__).parent / "ice-virtual"

config = icechunk.RepositoryConfig.default()
store = icechunk.local_filesystem_store("/data")
config.set_virtual_chunk_container(icechunk.VirtualChunkContainer("file:///data/", store))
storage = icechunk.local_filesystem_storage(str(HERE))
repository = icechunk.Repository.create(storage, config, authorize_virtual_chunk_access={"file:///data/": None})
session = repository.writable_session("main")
group = zarr.group(session.store)
group.create_array("v", shape=(8,), chunks=(4,), dtype="<i4", compressors=None)
session.store.set_virtual_ref("v/c/0", "file:///data/virtual.bin", offset=0, length=16)
session.commit("a virtual chunk")
