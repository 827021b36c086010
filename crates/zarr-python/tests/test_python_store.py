"""Stores of Python's, given to `zarrkit.open`."""

import asyncio
import os
import signal
import threading
from types import MappingProxyType

import numpy as np
import pytest
import zarr
import zarr.storage

import zarrkit

pytestmark = pytest.mark.timeout(60)

ELEMENTS = np.arange(60 * 50, dtype="i4").reshape(60, 50)
LAYOUTS = {"v3": {}, "shards": {"shards": (28, 27)}, "v2": {"zarr_format": 2}}


class AsyncOnly(zarr.storage.MemoryStore):
    """A store that has no blocking calls in any version of zarr-python, and takes its time."""

    _supports_sync_io = False

    async def get(self, key, prototype, byte_range=None):
        await asyncio.sleep(0.001)
        return await super().get(key, prototype, byte_range)

    async def set(self, key, value, byte_range=None):
        await asyncio.sleep(0.001)
        await super().set(key, value, byte_range)


class Broken(AsyncOnly):
    """A store whose chunks cannot be read."""

    async def get(self, key, prototype, byte_range=None):
        if key[-1].isdigit():
            raise ConnectionResetError("the cable was pulled")
        return await super().get(key, prototype, byte_range)


def mapper():
    store = pytest.importorskip("fsspec").get_mapper("memory://zarrkit-mapper")
    store.clear()
    return store


def obstore_memory():
    return pytest.importorskip("obstore.store").MemoryStore()


KINDS = {"dict": dict, "fsspec": mapper, "memory": zarr.storage.MemoryStore, "async": AsyncOnly, "obstore": obstore_memory}


def fill(store, layout="v3"):
    """Has zarr-python write a group with an array."""
    layout = dict(LAYOUTS[layout])
    zarr_format = layout.pop("zarr_format", 3)
    group = zarr.open_group(store, mode="w", zarr_format=zarr_format).create_group("g", attributes={"title": "inner"})
    group.create_array("a", shape=ELEMENTS.shape, chunks=(7, 9), dtype="i4", **layout)[...] = ELEMENTS


def contents(store):
    """The keys and values of a store of zarr-python's in memory."""
    return {key: value.to_bytes() for key, value in store._store_dict.items()}


def with_data(kind, layout):
    """A store of a kind with what zarr-python wrote."""
    store = KINDS[kind]()
    if kind == "obstore":
        fill(zarr.storage.ObjectStore(store), layout)
    elif kind in ("dict", "fsspec"):
        source = zarr.storage.MemoryStore()
        fill(source, layout)
        store.update(contents(source))
    else:
        fill(store, layout)
    return store


def as_zarr_python_reads(kind, store):
    if kind == "obstore":
        store = zarr.storage.ObjectStore(store)
    elif kind in ("dict", "fsspec"):
        values = {key: zarr.core.buffer.cpu.Buffer.from_bytes(bytes(store[key])) for key in store}
        store = zarr.storage.MemoryStore(values)
    return zarr.open_array(store, path="g/a", mode="r")[...]


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("kind", KINDS)
def test_reads_what_zarr_python_wrote_and_back(kind, layout):
    store = with_data(kind, layout)
    group = zarrkit.open(store, "r+")
    assert list(group.keys()) == ["g"]
    assert group["g"].attrs["title"] == "inner"
    array = group["g/a"]
    assert np.array_equal(array[...], ELEMENTS)
    assert array[59, 49] == ELEMENTS[59, 49]
    array[10:55, 4:41] = 7
    changed = ELEMENTS.copy()
    changed[10:55, 4:41] = 7
    assert np.array_equal(array[...], changed)
    assert np.array_equal(as_zarr_python_reads(kind, store), changed)


@pytest.mark.parametrize("kind", KINDS)
def test_threads_that_write_one_chunk_lose_nothing(kind):
    store = with_data(kind, "shards")
    array = zarrkit.open(store, "r+")["g/a"]

    failed = []

    def write(first):
        try:
            for row in range(first, 28, 4):
                array[row, :] = -row - 1
        except Exception as error:
            failed.append(error)

    threads = [threading.Thread(target=write, args=(first,)) for first in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failed
    assert np.array_equal(array[:28, 0], -np.arange(28) - 1)
    assert np.array_equal(array[28:], ELEMENTS[28:])


def test_an_exception_of_the_store_is_the_cause(tmp_path):
    store = Broken()
    fill(store)
    array = zarrkit.open(store)["g/a"]
    with pytest.raises(zarrkit.StoreError, match="the cable was pulled") as raised:
        array[...]
    assert isinstance(raised.value.__cause__, ConnectionResetError)
    assert raised.value.path == "/g/a"


class RefusedKey(Exception):
    """As Icechunk's."""

    kind = "invalid-key"


class Particular(AsyncOnly):
    """A store that takes only the keys of documents and chunks of v3, and lists only what it has, as Icechunk's."""

    def _check(self, key):
        name = key.rsplit("/", 1)[-1]
        if not (name == "zarr.json" or name.isdigit() or name.startswith(".")):
            raise RefusedKey(f"invalid zarr key format `{key}`")

    async def get(self, key, prototype, byte_range=None):
        self._check(key)
        return await super().get(key, prototype, byte_range)

    async def set(self, key, value, byte_range=None):
        self._check(key)
        await super().set(key, value, byte_range)

    async def exists(self, key):
        self._check(key)
        return await super().exists(key)

    async def delete(self, key):
        self._check(key)
        await super().delete(key)

    def _check_prefix(self, prefix):
        if prefix and not any(key.startswith(prefix.rstrip("/") + "/") for key in self._store_dict):
            raise RefusedKey(f"bad key prefix ({prefix})")

    async def list_prefix(self, prefix):
        self._check_prefix(prefix)
        async for key in super().list_prefix(prefix):
            yield key

    async def list_dir(self, prefix):
        self._check_prefix(prefix)
        async for name in super().list_dir(prefix):
            yield name

    async def delete_dir(self, prefix):
        self._check_prefix(prefix)
        await super().delete_dir(prefix)


def icechunk():
    module = pytest.importorskip("icechunk")
    repository = module.Repository.create(module.in_memory_storage())
    return repository.writable_session("main").store


@pytest.mark.parametrize("kind", [Particular, icechunk])
def test_keys_that_a_store_refuses_are_absent(tmp_path, kind):
    store = kind()
    fill(store)
    group = zarrkit.open(store, "r+")
    assert [member.path for member in group.members(recursive=True)] == ["/g", "/g/a"]
    assert "\n" not in group.store and "y" not in group
    zarrkit.copy(store, tmp_path / "c.zarr", verify=True)
    assert np.array_equal(zarrkit.open(tmp_path / "c.zarr")["g/a"][...], ELEMENTS)
    assert zarrkit.diff(store, tmp_path / "c.zarr").nodes == []
    assert zarrkit.validate(store).is_sound
    for dtype in ("f4", "i2"):
        group.create("new/b", shape=(4,), chunks=(2,), dtype=dtype, overwrite=dtype == "i2")[...] = 3
    theirs = zarr.open_group(store, mode="r")
    assert theirs["new/b"].dtype == "i2" and theirs["new/b"][...].tolist() == [3] * 4
    group["new/b"][2:] = 0
    del group["new"]
    assert sorted(zarr.open_group(store, mode="r").keys()) == ["g"]


@pytest.mark.parametrize("kind", ["dict", "memory", "async", "obstore"])
@pytest.mark.parametrize("to", ["v2", "v3"])
def test_a_store_is_the_target_of_a_copy(tmp_path, kind, to):
    zarrkit.copy(with_data("dict", "shards"), tmp_path / "source.zarr")
    target = KINDS[kind]()
    plan = zarrkit.copy(tmp_path / "source.zarr", target, to=to, dry_run=True)
    assert plan.nodes == 3
    with pytest.raises(FileNotFoundError):
        zarrkit.open(target)
    with pytest.raises(ValueError, match="stays in this process"):
        plan.to_json()
    report = zarrkit.copy(tmp_path / "source.zarr", target, to=to, verify=True)
    assert report.nodes == 3 and not report.not_kept
    assert np.array_equal(zarr.open_group(zarrkit.Store(target), mode="r")["g/a"][...], ELEMENTS)
    assert zarrkit.diff(tmp_path / "source.zarr", target).nodes == []
    with pytest.raises(FileExistsError):
        zarrkit.copy(tmp_path / "source.zarr", target)
    with pytest.raises(ValueError, match="path or URL"):
        zarrkit.copy(tmp_path / "source.zarr", {}, to="nczarr-v3")


def test_a_store_is_made_equal_to_a_source(tmp_path):
    zarrkit.copy(with_data("dict", "v3"), tmp_path / "source.zarr")
    target = {}
    zarrkit.copy(tmp_path / "source.zarr", target)
    zarrkit.open(tmp_path / "source.zarr", "r+")["g/a"][0, 0] = 77
    report = zarrkit.sync(tmp_path / "source.zarr", target, compare="content")
    assert report.copied == 1 and zarrkit.open(target)["g/a"][0, 0] == 77
    with pytest.raises(zarrkit.ReadOnlyError):
        zarrkit.copy(tmp_path / "source.zarr", zarr.storage.MemoryStore(read_only=True))


def test_changes_that_fail_keep_no_later_one_waiting(tmp_path):
    class Full(AsyncOnly):
        async def set(self, key, value, byte_range=None):
            if "/c/" in key:
                await asyncio.sleep(0.001)
                raise OSError("no space")
            await super().set(key, value, byte_range)

    # Some of 200 chunks share a lock.
    zarrkit.create(tmp_path / "source.zarr/a", shape=200, chunks=1, dtype="i1")[...] = 1
    store = Full()
    for _ in range(3):
        with pytest.raises(zarrkit.StoreError, match="no space"):
            zarrkit.copy(tmp_path / "source.zarr", store, resume=True)


def test_an_icechunk_session_is_the_target_of_a_copy(tmp_path):
    zarrkit.copy(with_data("dict", "v3"), tmp_path / "source.zarr")
    module = pytest.importorskip("icechunk")
    repository = module.Repository.create(module.in_memory_storage())
    session = repository.writable_session("main")
    zarrkit.copy(tmp_path / "source.zarr", session.store, verify=True)
    session.commit("copied")
    theirs = zarr.open_group(repository.readonly_session("main").store, mode="r")
    assert np.array_equal(theirs["g/a"][...], ELEMENTS)


def test_an_exception_that_says_no_such_thing_is_no_absence():
    class Failing(Particular):
        async def exists(self, key):
            raise ConnectionResetError("the cable was pulled")

    store = Failing()
    fill(store)
    with pytest.raises(zarrkit.StoreError, match="the cable was pulled"):
        zarrkit.open(store).members()


def test_a_store_of_python_is_validated():
    store = with_data("dict", "v3")
    assert zarrkit.validate(store).is_sound and zarrkit.validate(zarrkit.open(store)["g"]).is_sound
    store["g/a/c/0/0"] = b"damaged"
    assert [problem.key for problem in zarrkit.validate(zarrkit.open(store)["g"]).problems] == ["g/a/c/0/0"]
    assert [problem.key for problem in zarrkit.validate(store).problems] == ["g/a/c/0/0"]


@pytest.mark.parametrize("stop", [KeyboardInterrupt, SystemExit])
def test_what_ends_the_program_is_no_error_of_the_store(stop):
    class Stopped(dict):
        def __getitem__(self, key):
            if key[-1].isdigit():
                raise stop
            return super().__getitem__(key)

    array = zarrkit.open(Stopped(with_data("dict", "v3")))["g/a"]
    with pytest.raises(stop):
        array[0, 0]


@pytest.mark.parametrize("dialect, key", [("v2", ".zgroup"), ("v3", "zarr.json"), ("draft", "zarr.json")])
def test_a_group_is_created_in_an_empty_store(dialect, key):
    store = {}
    with pytest.raises(FileNotFoundError):
        zarrkit.open(store, "r+", dialect=dialect)
    assert not store
    zarrkit.open(store, "a", dialect=dialect).create("x", shape=(4,), chunks=(2,), dtype="i4")[1:] = 7
    assert key in store and zarrkit.open(store, "a")["x"][...].tolist() == [0, 7, 7, 7]
    if dialect != "draft":
        assert zarr.open_group(zarrkit.Store(store), mode="r")["x"][...].tolist() == [0, 7, 7, 7]
    # What is there in another dialect is neither overlooked nor overwritten.
    other, before = {"v2": "v3", "v3": "v2", "draft": "v2"}[dialect], dict(store)
    with pytest.raises(zarrkit.ZarrError):
        zarrkit.open(store, "a", dialect=other)
    assert store == before
    with pytest.raises(ValueError, match="holds a hierarchy in"):
        zarrkit.create(store, "y", shape=1, dtype="i4", dialect=other)
    assert store == before


@pytest.mark.parametrize("dialect", ["v2", "v3", "draft"])
@pytest.mark.parametrize("path", ["", "x", "g/h/x"])
def test_an_array_is_created_in_a_store_at_any_path(dialect, path):
    store = {}
    array = zarrkit.create_array(store=store, name=path, data=np.arange(6).reshape(2, 3), dialect=dialect)
    array[0, 0] = 9
    again = zarrkit.open(store)
    assert (again[path] if path else again)[...].tolist() == [[9, 1, 2], [3, 4, 5]]
    if dialect != "draft":
        assert zarr.open_array(zarrkit.Store(store), path=path, mode="r")[0].tolist() == [9, 1, 2]
    # Another one goes into the hierarchy that is there, and none in the place of one.
    before = dict(store)
    with pytest.raises(FileExistsError):
        zarrkit.create_array(store, path, shape=1, dtype="i4", dialect=dialect)
    assert store == before
    if path:
        assert zarrkit.create_group(store, "other").path == "/other"
        assert sorted(zarrkit.open(store)) == sorted(["other", path.split("/")[0]])


def test_nothing_is_left_of_an_array_that_could_not_be_created_in_a_store():
    store = {}
    with pytest.raises(ValueError):
        zarrkit.create(store, "x", shape=(4,), chunks=(2, 2), dtype="i4")
    assert not store
    with pytest.raises(TypeError, match="one place"):
        zarrkit.create_array(shape=1, dtype="i4")


class Slow(dict):
    """A mapping that stores the first chunk when it is told to."""

    def __init__(self):
        self.begun, self.goes_on, self.stored = threading.Event(), threading.Event(), 0
        super().__init__()

    def __setitem__(self, key, value):
        if "/c/" in key and not self.begun.is_set():
            self.begun.set()
            self.goes_on.wait(30)
            self.stored += 1
        super().__setitem__(key, value)


@pytest.mark.filterwarnings("ignore::zarrkit.ZarrWarning")
def test_what_is_written_after_ctrl_c_is_not_overwritten_by_what_was_under_way():
    store = Slow()
    array = zarrkit.open(store, "a").create("x", shape=(4, 3_000_000), chunks=(1, 3_000_000), dtype="f8")

    def interrupt():
        store.begun.wait()
        os.kill(os.getpid(), signal.SIGINT)

    threading.Thread(target=interrupt, daemon=True).start()
    with pytest.raises(KeyboardInterrupt):
        array.write(..., 1.0, threads=1)
    assert store.stored == 0
    # The later write begins before the chunk is stored.
    threading.Timer(0.1, store.goes_on.set).start()
    array[:, 0] = 2.0
    # The chunk that was under way was stored after the call, before the later write. The others were not begun.
    assert store.stored == 1 and array[:, 0].tolist() == [2.0] * 4
    assert sorted(array[:, 1].tolist()) == [0.0, 0.0, 0.0, 1.0]


def test_what_is_read_only_is_not_written():
    store = with_data("dict", "v3")
    for given, mode in [(store, "r"), (MappingProxyType(store), "r+")]:
        array = zarrkit.open(given, mode)["g/a"]
        assert array[1, 2] == ELEMENTS[1, 2]
        with pytest.raises((PermissionError, NotImplementedError)):
            array[0, 0] = 1


def read_only(tmp_path, kind):
    """A store of zarr-python's with data, opened for reading."""
    if kind == "memory":
        theirs = zarr.storage.MemoryStore(read_only=True)
        theirs._store_dict = with_data("memory", "v3")._store_dict
        return theirs
    fill(zarr.storage.LocalStore(tmp_path / "a.zarr"))
    if kind == "local":
        return zarr.storage.LocalStore(tmp_path / "a.zarr", read_only=True)
    local = pytest.importorskip("obstore.store").LocalStore(tmp_path / "a.zarr")
    return zarr.storage.ObjectStore(local, read_only=True)


@pytest.mark.parametrize("kind", ["memory", "local", "object"])
def test_a_store_that_is_read_only_stays_so(tmp_path, kind):
    theirs = read_only(tmp_path, kind)
    assert np.array_equal(zarrkit.open(theirs)["g/a"][...], ELEMENTS)
    refused = {
        "r+": lambda: zarrkit.open(theirs, "r+"),
        "a": lambda: zarrkit.open(theirs, "a"),
        "below": lambda: zarrkit.open(zarr.storage.StorePath(theirs, "g"), "r+"),
        "repair": lambda: zarrkit.repair(theirs, apply=True),
        "store": lambda: zarrkit.Store(theirs),
    }
    for act in refused.values():
        with pytest.raises(PermissionError, match="read-only"):
            act()
    array = zarrkit.open(theirs)["g/a"]
    with pytest.raises(PermissionError):
        array[0, 0] = 1
    assert np.array_equal(zarrkit.open(theirs)["g/a"][...], ELEMENTS)


def test_a_value_that_is_not_bytes_is_named():
    with pytest.raises(zarrkit.StoreError, match="'zarr.json' is str, not bytes"):
        zarrkit.open({"zarr.json": "{}"})


def test_other_objects_are_refused():
    for bad in (7, None, [b"zarr.json"], object()):
        with pytest.raises(TypeError, match="cannot open"):
            zarrkit.open(bad)


def test_a_folder_of_zarr_pythons_is_our_folder(tmp_path):
    fill(zarr.storage.LocalStore(tmp_path / "a.zarr"))
    above = zarr.storage.LocalStore(tmp_path)
    for store in (zarr.storage.LocalStore(tmp_path / "a.zarr"), zarr.storage.StorePath(above, "a.zarr")):
        with pytest.raises(zarrkit.NotFoundError, match="file://"):
            zarrkit.open(store)["nothing"]
        assert np.array_equal(zarrkit.open(store)["g/a"][...], ELEMENTS)


def test_a_path_in_a_store():
    store = with_data("async", "shards")
    group = zarrkit.open(zarr.storage.StorePath(store, "g"), "r+")
    assert list(group.keys()) == ["a"]
    group["a"][0, 0] = 9
    assert zarr.open_array(store, path="g/a", mode="r")[0, 0] == 9


def test_a_call_in_zarr_pythons_event_loop_is_an_error_not_a_hang():
    store = with_data("async", "v3")

    async def within():
        return zarrkit.open(store)

    with pytest.raises(zarrkit.StoreError, match="asyncio.to_thread"):
        zarr.core.sync.sync(within())

    async def beside():
        return await asyncio.to_thread(zarrkit.open, store)

    assert list(zarr.core.sync.sync(beside()).keys()) == ["g"]


def test_one_inner_chunk_is_read_without_its_shard():
    class Counting(AsyncOnly):
        got = 0

        async def get(self, key, prototype, byte_range=None):
            value = await super().get(key, prototype, byte_range)
            type(self).got += 0 if value is None else len(value)
            return value

        async def getsize(self, key):
            return len(self._store_dict[key])

    store = Counting()
    elements = np.random.default_rng(0).integers(0, 2**31, (1000, 1000), dtype="i4")
    zarr.create_array(store, shape=elements.shape, chunks=(50, 50), shards=(1000, 1000), dtype="i4")[...] = elements
    array = zarrkit.open(store)
    Counting.got = 0
    assert np.array_equal(array[100:150, 100:150], elements[100:150, 100:150])
    assert Counting.got < 100_000


def test_many_requests_are_on_their_way_at_a_time():
    class Flying(AsyncOnly):
        now = most = 0

        async def get(self, key, prototype, byte_range=None):
            Flying.now += 1
            Flying.most = max(Flying.most, Flying.now)
            await asyncio.sleep(0.005)
            Flying.now -= 1
            return await super().get(key, prototype, byte_range)

    store = Flying()
    fill(store)
    Flying.most = 0
    assert np.array_equal(zarrkit.open(store)["g/a"][...], ELEMENTS)
    assert Flying.most >= 16


@pytest.mark.parametrize("kind", ["dict", "async"])
def test_a_forked_process_reads_and_writes(kind):
    store = with_data(kind, "shards")
    array = zarrkit.open(store, "r+")["g/a"]
    array[5:30] = 3
    child = os.fork()
    if child == 0:
        try:
            array[0] = 9
            os._exit(0 if (array[5] == 3).all() and (array[0] == 9).all() else 1)
        finally:
            os._exit(2)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    array[1] = 4
    assert (array[1] == 4).all() and (array[0] == ELEMENTS[0]).all()
