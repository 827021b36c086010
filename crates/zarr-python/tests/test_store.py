"""`zarrkit.Store` under zarr-python. Its own tests of stores run in `suites/stores.py`."""

import asyncio
import pickle
import subprocess
import sys
import zipfile

import numpy as np
import pytest
import zarr
import zarr.storage
from zarr.abc.store import OffsetByteRequest, RangeByteRequest, SuffixByteRequest
from zarr.core.buffer import default_buffer_prototype
from zarr.core.buffer.cpu import Buffer
from zarr.core.sync import sync

import zarrkit

pytestmark = pytest.mark.timeout(60)

ELEMENTS = np.arange(60 * 50, dtype="i4").reshape(60, 50)
KINDS = ["folder", "memory", "zip", "lmdb"]


def url_of(kind, folder):
    return {
        "folder": f"{folder}/a.zarr",
        "memory": f"memory://{folder}",
        "zip": f"zip://{folder}/a.zip",
        "lmdb": f"lmdb://{folder}/a.lmdb",
    }[kind]


def fill(store):
    group = zarr.open_group(store, mode="w").create_group("g", attributes={"title": "inner"})
    group.create_array("a", shape=ELEMENTS.shape, chunks=(7, 9), shards=(28, 27), dtype="i4")[...] = ELEMENTS


def test_import_of_zarrkit_imports_no_zarr():
    code = "import sys, zarrkit; sys.exit(any(name in sys.modules for name in ('zarr', 'asyncio', 'xarray', 'dask')))"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_what_needs_another_package_is_imported_when_it_is_asked_for():
    """Also `import *`."""
    code = "import sys; sys.modules |= dict.fromkeys(('zarr', 'xarray', 'dask')); from zarrkit import *; open, Array"
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize("kind", KINDS)
def test_zarr_python_writes_and_both_read(kind, tmp_path):
    store = zarrkit.Store(url_of(kind, tmp_path))
    fill(store)
    group = zarr.open_group(store, mode="r+")
    assert [name for name, _ in group["g"].members()] == ["a"]
    group["g/a"][3:30, 4:40] = 7
    changed = ELEMENTS.copy()
    changed[3:30, 4:40] = 7
    assert np.array_equal(group["g/a"][...], changed)
    assert np.array_equal(group["g/a"].oindex[[5, 1, 59], ::7], changed[[5, 1, 59], ::7])
    ours = zarrkit.open(store)
    assert ours["g"].attrs["title"] == "inner"
    assert np.array_equal(ours["g/a"][...], changed)
    del group["g"]
    assert sorted(sync(collected(store.list()))) == ["zarr.json"]


async def collected(names):
    return [name async for name in names]


def test_an_archive_is_complete_when_the_store_is_closed(tmp_path):
    with zarrkit.Store(f"zip://{tmp_path}/a.zip") as store:
        fill(store)
    assert zipfile.ZipFile(tmp_path / "a.zip").testzip() is None
    theirs = zarr.storage.ZipStore(tmp_path / "a.zip", mode="r")
    assert np.array_equal(zarr.open_array(theirs, path="g/a", mode="r")[...], ELEMENTS)


def test_ranges_are_cut_off_at_the_end(tmp_path):
    for kind in KINDS:
        store = zarrkit.Store(url_of(kind, tmp_path))
        store.set_sync("k", Buffer.from_bytes(b"abcdef"))
        wanted = {
            RangeByteRequest(1, 3): b"bc",
            RangeByteRequest(4, 9): b"ef",
            RangeByteRequest(8, 9): b"",
            OffsetByteRequest(2): b"cdef",
            OffsetByteRequest(7): b"",
            SuffixByteRequest(2): b"ef",
            SuffixByteRequest(9): b"abcdef",
            SuffixByteRequest(0): b"",
            None: b"abcdef",
        }
        for byte_range, expected in wanted.items():
            assert store.get_sync("k", byte_range=byte_range).to_bytes() == expected, (kind, byte_range)
        [batch] = sync(collected(store.get_ranges("k", list(wanted), prototype=default_buffer_prototype())))
        assert [part.to_bytes() for _, part in sorted(batch)] == list(wanted.values())
        with pytest.raises(BaseExceptionGroup) as raised:
            store.get_ranges_sync("absent", [None], prototype=default_buffer_prototype())
        assert raised.group_contains(FileNotFoundError)


@pytest.mark.parametrize("kind", KINDS)
def test_of_many_writers_one_creates(kind, tmp_path):
    store = zarrkit.Store(url_of(kind, tmp_path))

    async def race():
        values = [Buffer.from_bytes(b"%d" % number * 1000) for number in range(20)]
        await asyncio.gather(*(store.set_if_not_exists("k", value) for value in values))
        first = await store.get("k")
        await store.set_if_not_exists("k", Buffer.from_bytes(b"late"))
        return first.to_bytes(), (await store.get("k")).to_bytes()

    first, after = sync(race())
    assert first == after
    assert len(set(first[::2]) | set(first[1::2])) <= 2


def test_the_event_loop_goes_on_while_files_are_read(tmp_path):
    import threading

    store = zarrkit.Store(tmp_path)
    store.set_sync("k", Buffer.from_bytes(b"v"))
    seen = []

    class Raw:
        """The compiled store, which says in which thread it is called."""

        def __getattr__(self, name):
            if name in ("get", "set", "size", "delete", "list_dir", "list_prefix", "erase_prefix", "set_if_absent"):
                seen.append((name, threading.current_thread()))
            return getattr(raw, name)

    raw, store._raw = store._raw, Raw()
    loop_thread = sync(thread())
    sync(store.get("k"))
    assert seen and all(where is not loop_thread for name, where in seen if name == "get")


async def thread():
    import threading

    return threading.current_thread()


def test_a_pickled_store_has_no_secret(tmp_path):
    options = {"access_key_id": "WHO", "secret_access_key": "SECRET", "region": "us-east-1", "endpoint": "http://127.0.0.1:1"}
    store = zarrkit.Store("s3://bucket/a.zarr", storage_options={**options, "allow_http": True})
    pickled = pickle.dumps(store)
    assert b"SECRET" not in pickled and b"WHO" not in pickled
    assert "SECRET" not in repr(store) + str(store)
    again = pickle.loads(pickled)
    assert again == store
    assert pickle.loads(pickle.dumps(zarrkit.Store(tmp_path, "r"))).read_only
    with pytest.raises(TypeError, match="memory://name"):
        pickle.dumps(zarrkit.Store("memory://"))


def test_unnamed_memory_is_its_own():
    one, other = zarrkit.Store("memory://"), zarrkit.Store("memory://")
    assert one != other
    fill(one)
    assert sync(other.is_empty(""))
    reader = one.with_read_only(True)
    assert np.array_equal(zarr.open_array(reader, path="g/a", mode="r")[...], ELEMENTS)
    with pytest.raises(ValueError, match="read-only"):
        sync(reader.delete("zarr.json"))
    with pytest.raises((PermissionError, NotImplementedError)):
        zarrkit.open(reader, "r+")["g/a"][0, 0] = 1


def test_errors_are_pythons_own(tmp_path):
    with pytest.raises(ValueError, match="`nothing://x` names no store|nothing"):
        zarrkit.Store("nothing://x")
    with pytest.raises(ValueError, match="unknown mode 'w'"):
        zarrkit.Store(tmp_path, "w")
    store = zarrkit.Store(tmp_path)
    with pytest.raises(ValueError, match=r"`\.\.`"):
        store.get_sync("../passwd")
    with pytest.raises(TypeError, match="not bytes"):
        store.set_sync("k", b"bytes")
