"""Decoded chunks that the handles of a hierarchy keep: what is read is what NumPy has, and what others write is seen."""

import pickle
import threading
import time

import numpy as np
import pytest
import zarr

import zarrkit
from test_fork import forked

SHAPE = (64, 64, 8)
OPTIONS = {"plain": {"chunks": (16, 16, 8)}, "shards": {"chunks": (16, 16, 8), "shards": (32, 32, 8)}}


class Counting(dict):
    """A store that counts what is read of each key. Python's stores have no versions: nothing of them is kept."""

    def __init__(self, values):
        super().__init__(values)
        self.reads = 0

    def __getitem__(self, key):
        self.reads += "/c/" in f"/{key}"
        return super().__getitem__(key)


def made(place, layout="plain", seed=0, **options):
    elements = np.random.default_rng(seed).integers(0, 1000, SHAPE).astype("i4")
    array = zarrkit.create_array(place, "/a", shape=SHAPE, dtype="i4", codecs=["zstd:3"], **OPTIONS[layout], **options)
    array[...] = elements
    return elements


def bytes_read():
    """How many bytes this process has read from files, by all of its threads."""
    with open("/proc/self/io") as io:
        return int(io.readline().split()[1])


def settle():
    # A file that was written a moment ago may be written again without a trace: such files are read anew.
    time.sleep(0.3)


@pytest.mark.parametrize("layout", OPTIONS)
def test_chunks_are_read_once_for_all_handles(tmp_path, layout):
    elements = made(tmp_path / "d.zarr", layout)
    settle()
    stored = sum(path.stat().st_size for path in (tmp_path / "d.zarr" / "a" / "c").rglob("*") if path.is_file())
    plain, kept = (zarrkit.open(tmp_path / "d.zarr", chunk_cache=cache) for cache in (None, "64MiB"))
    read = {}
    for name, group in (("plain", plain), ("kept", kept)):
        before = bytes_read()
        for n in range(8):
            # A new handle each time.
            assert np.array_equal(group["a"][..., n], elements[..., n])
        read[name] = bytes_read() - before
    assert read["plain"] > 7 * stored
    assert read["kept"] < 2 * stored


def test_it_is_off_unless_it_is_asked_for(tmp_path):
    made(tmp_path / "d.zarr")
    settle()
    for cache in (None, 0, "0"):
        array = zarrkit.open(tmp_path / "d.zarr/a", chunk_cache=cache)
        array[...]
        before = bytes_read()
        array[...]
        assert bytes_read() - before > SHAPE[0] * SHAPE[1]


@pytest.mark.parametrize("cache", [-1, "many", 1.5, True, "1 PiB", [1]])
def test_what_is_no_size_is_refused(tmp_path, cache):
    made(tmp_path / "d.zarr")
    with pytest.raises(ValueError, match="expected a number of bytes"):
        zarrkit.open(tmp_path / "d.zarr", chunk_cache=cache)


def test_rows_are_read_ahead(tmp_path):
    elements = made(tmp_path / "d.zarr")
    settle()
    array = zarrkit.open(tmp_path / "d.zarr/a", chunk_cache="64MiB", read_ahead=1)
    again = pickle.loads(pickle.dumps(array))
    rows = array.chunks[0]
    next_row = sum(chunk.stat().st_size for chunk in (tmp_path / "d.zarr/a/c/1").glob("*/*"))
    assert next_row > 8000
    for array in (array, again):
        assert np.array_equal(array[0], elements[0])
        read = bytes_read()
        assert np.array_equal(array[1], elements[1])
        # The next row of chunks comes by itself, all of it.
        give_up = time.monotonic() + 20
        while bytes_read() < read + next_row and time.monotonic() < give_up:
            time.sleep(0.2)
        time.sleep(0.2)
        before = bytes_read()
        # Not the plane that follows: the row after the next would be read ahead for that one, and be counted, too.
        assert np.array_equal(array[rows], elements[rows])
        assert bytes_read() - before < 1000
        assert np.array_equal(array[2 : rows + 1], elements[2 : rows + 1])
        assert np.array_equal(array[...], elements)


@pytest.mark.parametrize("keywords", [{"read_ahead": 1}, {"read_ahead": -1, "chunk_cache": "1MiB"}])
def test_reading_ahead_needs_a_number_and_memory(tmp_path, keywords):
    made(tmp_path / "d.zarr")
    with pytest.raises(ValueError, match="read_ahead"):
        zarrkit.open(tmp_path / "d.zarr", **keywords)


@pytest.mark.parametrize("layout", OPTIONS)
def test_what_others_write_is_seen(tmp_path, layout):
    """Selections of a handle with a cache, beside NumPy, while other handles and zarr-python write."""
    elements = made(tmp_path / "d.zarr", layout)
    kept = zarrkit.open(tmp_path / "d.zarr/a", "r+", chunk_cache="1MiB")
    writers = [kept, zarrkit.open(tmp_path / "d.zarr/a", "r+"), zarr.open_array(tmp_path / "d.zarr", path="a")]
    rng = np.random.default_rng(1)
    for turn in range(60):
        low = [int(rng.integers(0, length)) for length in SHAPE]
        key = tuple(slice(at, at + int(rng.integers(1, 20))) for at in low)
        if turn % 3 == 0:
            writers[turn // 3 % 3][key] = elements[key] = int(rng.integers(0, 1000))
        assert np.array_equal(kept[key], elements[key])
        assert np.array_equal(kept[low[0]], elements[low[0]])
    assert np.array_equal(kept[...], elements)


def test_an_array_that_replaces_another_is_not_read_by_the_old_elements(tmp_path):
    first = made(tmp_path / "d.zarr")
    settle()
    group = zarrkit.open(tmp_path / "d.zarr", chunk_cache="64MiB")
    assert np.array_equal(group["a"][...], first)
    second = made(tmp_path / "d.zarr", seed=1, overwrite=True)
    assert not np.array_equal(first, second)
    assert np.array_equal(group["a"][...], second)
    zarr.open_array(tmp_path / "d.zarr", path="a").resize((10, 64, 8))
    group.refresh()
    assert np.array_equal(group["a"][...], second[:10])


def test_little_memory_is_kept_to(tmp_path):
    elements = made(tmp_path / "d.zarr")
    array = zarrkit.open(tmp_path / "d.zarr/a", chunk_cache=20_000)
    for n in range(8):
        assert np.array_equal(array[..., n], elements[..., n])


def test_pickles_carry_it_and_tokens_do_not(tmp_path):
    elements = made(tmp_path / "d.zarr")
    array, plain = (zarrkit.open(tmp_path / "d.zarr/a", chunk_cache=cache) for cache in ("48MiB", None))
    assert str(48 << 20) in repr(array.__reduce__()) and str(48 << 20) not in repr(plain.__reduce__())
    again = pickle.loads(pickle.dumps(array))
    assert again == array == plain and again.__reduce__() == array.__reduce__()
    # The same elements have the same name for Dask.
    assert again.__dask_tokenize__() == plain.__dask_tokenize__()
    settle()
    assert np.array_equal(again[..., 0], elements[..., 0])
    before = bytes_read()
    assert np.array_equal(pickle.loads(pickle.dumps(array))[..., 1], elements[..., 1])
    assert bytes_read() - before < 10_000


def test_stores_of_python_are_asked_each_time():
    elements = np.arange(np.prod(SHAPE), dtype="i4").reshape(SHAPE) + 1
    theirs = zarr.storage.MemoryStore()
    zarr.create_array(theirs, name="a", data=elements, chunks=(16, 16, 8), compressors=zarr.codecs.ZstdCodec())
    store = Counting({key: value.to_bytes() for key, value in theirs._store_dict.items()})
    array = zarrkit.open(store, chunk_cache="64MiB")["a"]
    for _ in range(2):
        store.reads = 0
        assert np.array_equal(array[...], elements)
        assert store.reads >= 16


def test_xarray_takes_it(tmp_path):
    xr = pytest.importorskip("xarray")
    values = np.arange(8 * 64 * 64.0).reshape(8, 64, 64)
    xr.Dataset({"t": (("time", "y", "x"), values)}).to_zarr(tmp_path / "d.zarr", encoding={"t": {"chunks": (8, 32, 32)}}, consolidated=False)
    settle()
    for opened in (
        xr.open_dataset(tmp_path / "d.zarr", engine=zarrkit.XarrayEngine, chunk_cache="64MiB"),
        xr.open_datatree(tmp_path / "d.zarr", engine=zarrkit.XarrayEngine, chunk_cache="64MiB").to_dataset(),
    ):
        assert np.array_equal(opened.t.isel(time=0).values, values[0])
        before = bytes_read()
        # The variables are lazy: each plane is read when it is asked for.
        for time_ in range(1, 8):
            assert np.array_equal(opened.t.isel(time=time_).values, values[time_])
        assert bytes_read() - before < values.nbytes / 2


@pytest.mark.filterwarnings("ignore:This process.*multi-threaded:DeprecationWarning")
@pytest.mark.parametrize("layout", OPTIONS)
def test_a_child_of_busy_readers_reads(tmp_path, layout):
    """Threads that take and fill the cache at the moment of a fork leave the child no lock."""
    elements = made(tmp_path / "d.zarr", layout)
    settle()
    array = zarrkit.open(tmp_path / "d.zarr/a", chunk_cache=64_000)
    ended, wrong = threading.Event(), []

    def read(n):
        while not ended.is_set():
            if not np.array_equal(array[..., n], elements[..., n]):
                wrong.append(n)

    threads = [threading.Thread(target=read, args=(n,)) for n in range(4)]
    for thread in threads:
        thread.start()

    def work():
        for n in range(8):
            assert np.array_equal(array[..., n], elements[..., n])

    try:
        assert [forked(work) for _ in range(30)] == ["done"] * 30
    finally:
        ended.set()
        for thread in threads:
            thread.join()
    assert not wrong
