"""zarr-python's own tests of stores, unmodified, on `zarrkit.Store`.

Stores of Python's are tested through `zarrkit.Store`, too: a mapping, and an async store of zarr-python's.

Runs `zarr.testing.store.StoreTests` and `zarr.testing.stateful.Zarr{Hierarchy,Store}StateMachine`: `pytest
crates/zarr-python/suites/stores.py`, with pytest-asyncio (`-o asyncio_mode=auto`) and hypothesis. `ZARRKIT_STATEFUL` is the
number of stateful examples (default 20). With `ZARRKIT_S3=http://127.0.0.1:PORT`, an S3 server with the bucket `zarrkit`, S3 is
a kind of store, too.

EXPECTED_FAILURES lists what does not pass, with the reason.
"""

import asyncio
import os
import pathlib
import uuid

import hypothesis
import pytest
import zarr
from hypothesis.stateful import run_state_machine_as_test
from zarr.core.buffer import cpu
from zarr.testing.stateful import ZarrHierarchyStateMachine, ZarrStoreStateMachine
from zarr.testing.store import StoreTests

import zarrkit

#: (kind of store, test): reason. A test on this list that passes is a failure, too.
EXPECTED_FAILURES = {
    (kind, test): reason
    for kind in ("mapping", "async")
    for test, reason in {
        "test_serializable_store": "a store of Python's has no URL by which another process could open it",
        "test_store_eq": "two stores over one object of Python's are two stores",
    }.items()
}

EXAMPLES = int(os.environ.get("ZARRKIT_STATEFUL", "20"))
S3 = os.environ.get("ZARRKIT_S3")
S3_OPTIONS = {
    "endpoint": S3,
    "allow_http": True,
    "access_key_id": "test",
    "secret_access_key": "testtest",
    "region": "us-east-1",
}


class AsyncOnly(zarr.storage.MemoryStore):
    _supports_sync_io = False


def place(kind, folder):
    """A new place for a store: its URL and options."""
    name = uuid.uuid4().hex
    return {
        "folder": lambda: (f"{folder}/{name}.zarr", None),
        "memory": lambda: (f"memory://{name}", None),
        "zip": lambda: (f"zip://{folder}/{name}.zip", None),
        "lmdb": lambda: (f"lmdb://{folder}/{name}.lmdb", None),
        "s3": lambda: (f"s3://zarrkit/{name}", S3_OPTIONS),
        "mapping": lambda: ({}, None),
        "async": lambda: (AsyncOnly(), None),
    }[kind]()


KINDS = ["folder", "memory", "zip", "lmdb", "mapping", "async", *(["s3"] if S3 else [])]


class Suite(StoreTests):
    store_cls = zarrkit.Store
    buffer_cls = cpu.Buffer
    kind = ""

    @pytest.fixture(autouse=True)
    def expected(self, request):
        reason = EXPECTED_FAILURES.get((self.kind, request.node.originalname))
        if reason:
            request.applymarker(pytest.mark.xfail(reason=reason, strict=True))

    @pytest.fixture
    def store_kwargs(self, tmp_path):
        url, options = place(self.kind, tmp_path)
        return {"url": url, "storage_options": options}

    # The same place by the calls of the compiled class.
    async def get(self, store, key):
        return cpu.Buffer.from_bytes(await asyncio.to_thread(store._raw.get, key))

    async def set(self, store, key, value):
        await asyncio.to_thread(store._raw.set, key, value.to_bytes())

    def test_store_repr(self, store):
        assert repr(store).startswith("zarrkit.Store(")

    def test_store_supports_writes(self, store):
        assert store.supports_writes and store.supports_deletes

    def test_store_supports_listing(self, store):
        assert store.supports_listing


class TestFolder(Suite):
    kind = "folder"

    # The files themselves.
    async def get(self, store, key):
        return cpu.Buffer.from_bytes(file_of(store, key).read_bytes())

    async def set(self, store, key, value):
        file_of(store, key).parent.mkdir(parents=True, exist_ok=True)
        file_of(store, key).write_bytes(value.to_bytes())


def file_of(store, key):
    return pathlib.Path(str(store).removeprefix("file://")) / key


class TestMemory(Suite):
    kind = "memory"


class TestZip(Suite):
    kind = "zip"


class TestLmdb(Suite):
    kind = "lmdb"


class TestMapping(Suite):
    kind = "mapping"


class TestAsync(Suite):
    kind = "async"


@pytest.mark.skipif(not S3, reason="ZARRKIT_S3 names no server")
class TestS3(Suite):
    kind = "s3"


del Suite


@pytest.mark.parametrize("machine", [ZarrHierarchyStateMachine, ZarrStoreStateMachine])
@pytest.mark.parametrize("kind", KINDS)
def test_stateful(kind, machine, tmp_path):
    def new():
        url, options = place(kind, tmp_path)
        store = zarrkit.Store(url, storage_options=options)
        zarr.core.sync.sync(store._ensure_open())
        return machine(store)

    settings = hypothesis.settings(
        max_examples=EXAMPLES, deadline=None, suppress_health_check=list(hypothesis.HealthCheck), print_blob=True
    )
    run_state_machine_as_test(new, settings=settings)
