"""zarr-python with `zarrkit.Pipeline`: what it reads and writes, beside NumPy; what falls back; writers that meet."""

import asyncio
import multiprocessing
import os
import pickle
import re
import subprocess
import sys
import textwrap
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
import zarr
from zarr.storage import LocalStore, MemoryStore, WrapperStore, ZipStore

import zarrkit

RUNS = int(os.environ.get("ZARRKIT_PIPELINE_SELECTIONS", "5"))
ROOT = Path(__file__).resolve().parent.parent
BATCHED = "zarr.core.codec_pipeline.BatchedCodecPipeline"
IS_OLD = tuple(int(part) for part in zarr.__version__.split(".")[:2]) < (3, 4)


@pytest.fixture(autouse=True)
def pipeline():
    """Arrays that are opened in a test have our pipeline, and a fallback is an error."""
    assert zarrkit.Pipeline is not None  # registers it
    zarrkit.fallbacks(reset=True)
    before = zarrkit.strict_pipeline(True)
    with zarr.config.set({"codec_pipeline.path": "zarrkit.Pipeline"}):
        yield
    zarrkit.strict_pipeline(before)
    zarrkit.fallbacks(reset=True)


@pytest.fixture(scope="session")
def installed(tmp_path_factory):
    """The variables of a process that finds the package's entry points as if it were installed."""
    sys.path.insert(0, str(ROOT / "suites"))
    from others import environment

    return environment(tmp_path_factory.mktemp("installed"), ZARR_CODEC_PIPELINE__PATH="zarrkit.Pipeline", ZARRKIT_STRICT="1")


def python(code, environment, *args):
    """What a fresh process prints."""
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code), *map(str, args)], env=environment, capture_output=True, text=True, timeout=100
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def local(tmp_path):
    return LocalStore(tmp_path / "data.zarr")


def zipped(tmp_path):
    return ZipStore(tmp_path / "data.zip", mode="w")


def wrapped(tmp_path):
    return WrapperStore(LocalStore(tmp_path / "data.zarr"))


def filesystem(tmp_path):
    pytest.importorskip("fsspec")
    return zarr.storage.FsspecStore.from_url(f"file://{tmp_path}/data.zarr", storage_options={"auto_mkdir": True})


def in_memory(tmp_path):
    return MemoryStore()


STORES = [local, in_memory, zipped, wrapped]
LAYOUTS = {
    "v2": {"zarr_format": 2, "chunks": (4, 5, 3)},
    "v2 F": {"zarr_format": 2, "chunks": (4, 5, 3), "order": "F"},
    "v3": {"zarr_format": 3, "chunks": (4, 5, 3)},
    "shards": {"zarr_format": 3, "chunks": (4, 5, 3), "shards": (8, 10, 9)},
    "flat keys": {"zarr_format": 3, "chunks": (4, 5, 3), "chunk_key_encoding": {"name": "v2", "separator": "."}},
}
SHAPE = (13, 11, 10)


def slices(rng, len, step):
    start, stop = sorted(rng.integers(0, len + 1, 2).tolist())
    return slice(start, stop, int(rng.integers(1, 5)) if step else None)


def along(rng, len, fancy):
    kind = rng.integers(0, 6 if fancy else 3)
    if kind == 0:
        return int(rng.integers(0, len))
    if kind < 3:
        return slices(rng, len, kind == 2)
    if kind == 3:
        return rng.random(len) < 0.5
    if kind == 4:
        return np.sort(rng.choice(len, rng.integers(1, len), replace=False))
    return rng.permutation(len)[: rng.integers(1, len)]


def of_numpy(elements, selection):
    """The open mesh of an orthogonal selection, and the shape of its result."""
    lists = [np.arange(length)[one if not isinstance(one, int) else [one]] for one, length in zip(selection, elements.shape, strict=True)]
    shape = [len(found) for found, one in zip(lists, selection, strict=True) if not isinstance(one, int)]
    return np.ix_(*lists), shape


@pytest.mark.parametrize("store", STORES)
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.timeout(300)
def test_selections_are_those_of_numpy(tmp_path, store, layout):
    rng = np.random.default_rng(len(layout))
    store = store(tmp_path)
    array = zarr.create_array(store, name="a/b", shape=SHAPE, dtype="i4", fill_value=-1, **LAYOUTS[layout])
    elements = np.full(SHAPE, -1, "i4")
    writes = not isinstance(store, ZipStore)
    if not writes:
        elements[...] = rng.integers(0, 1000, SHAPE)
        array[...] = elements
    for _ in range(RUNS):
        for fancy in (False, True):
            selection = tuple(along(rng, length, fancy) for length in SHAPE)
            mesh, shape = of_numpy(elements, selection)
            index = array.oindex if fancy else array
            if writes:
                value = rng.integers(0, 1000, shape).astype("i4") if rng.random() < 0.7 else int(rng.integers(0, 3)) - 1
                index[selection] = value
                elements[mesh] = value if isinstance(value, int) else value.reshape(elements[mesh].shape)
            found = index[selection]
            assert np.array_equal(found, elements[mesh].reshape(shape)), selection
        points = tuple(rng.integers(0, length, 7) for length in SHAPE)
        mask = rng.random(SHAPE) < 0.2
        if writes:
            distinct = np.unique(np.stack(points), axis=1)
            values = rng.integers(0, 1000, distinct.shape[1])
            array.vindex[tuple(distinct)] = values
            elements[tuple(distinct)] = values
            array.vindex[mask] = 5
            elements[mask] = 5
        assert np.array_equal(array.vindex[points], elements[points])
        assert np.array_equal(array.vindex[mask], elements[mask])
    assert np.array_equal(array[...], elements)
    with zarr.config.set({"codec_pipeline.path": BATCHED}):
        assert np.array_equal(zarr.open_array(store, path="a/b", mode="r+")[...], elements)
    assert zarrkit.fallbacks() == {}


@pytest.mark.timeout(60)
def test_selections_through_a_file_system_of_fsspec(tmp_path):
    store = filesystem(tmp_path)
    array = zarr.create_array(store, name="a", shape=(30, 20), chunks=(7, 6), dtype="f8")
    elements = np.random.default_rng(1).random((30, 20))
    array[...] = elements
    array[3:9, ::2] = 0
    elements[3:9, ::2] = 0
    assert np.array_equal(array[1:, 2:19], elements[1:, 2:19])
    assert zarrkit.fallbacks() == {}


DTYPES = ["?", "i1", "<i2", ">i4", "u8", "f2", ">f4", "f8", "c8", ">c16", "M8[s]", "m8[ns]", "S5", "U3", ">U3", "V4"]


@pytest.mark.parametrize("zarr_format", [2, 3])
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.filterwarnings("ignore:The data type")
@pytest.mark.timeout(60)
def test_every_fixed_dtype_is_ours(dtype, zarr_format):
    elements = np.arange(77).astype("u1").astype("V1" if dtype == "V4" else "i8")
    elements = np.arange(4 * 77, dtype="u1").view("V4") if dtype == "V4" else elements.astype(dtype)
    array = zarr.create_array({}, shape=77, chunks=10, dtype=dtype, zarr_format=zarr_format)
    array[...] = elements
    assert np.array_equal(array[...], elements)
    assert array[3:70:7].dtype == array.dtype
    assert np.array_equal(array.oindex[np.array([70, 3, 4])], elements[[70, 3, 4]])
    with zarr.config.set({"codec_pipeline.path": BATCHED}):
        assert np.array_equal(zarr.open_array(array.store_path.store, mode="r")[...], elements)
    assert zarrkit.fallbacks() == {}


@pytest.mark.timeout(60)
def test_records_are_ours():
    dtype = np.dtype([("x", "<f4"), ("n", "<i2")])
    elements = np.array([(n / 3, n) for n in range(25)], dtype)
    array = zarr.create_array({}, shape=25, chunks=10, dtype=dtype, zarr_format=2, fill_value=None)
    array[...] = elements
    assert np.array_equal(array[4:21], elements[4:21])
    assert zarrkit.fallbacks() == {}


@pytest.mark.parametrize("dtype", ["<M8[s]", ">m8[ns]"])
@pytest.mark.parametrize("empty_chunks", [False, True])
@pytest.mark.timeout(60)
def test_times_without_a_fill_value_read_as_zarr_python_reads_them(tmp_path, dtype, empty_chunks):
    config = {"write_empty_chunks": empty_chunks}
    array = zarr.create_array(tmp_path / "t", shape=9, chunks=3, dtype=dtype, zarr_format=2, fill_value=None, config=config)
    array[:2] = np.array([5, 0], dtype)
    array[4:5] = np.array(["NaT"], dtype)
    array.resize(12)
    expected = np.array([5, 0, *["NaT"] * 10], dtype)
    for fill in (array[...], *(zarr.open_array(tmp_path / "t", mode="r")[...] for _ in range(2))):
        assert np.array_equal(fill.view("i8"), expected.astype(fill.dtype).view("i8"))
    assert zarrkit.fallbacks() == {}
    with zarr.config.set({"codec_pipeline.path": "zarr.core.codec_pipeline.BatchedCodecPipeline"}):
        theirs = zarr.open_array(tmp_path / "t", mode="r")[...]
    assert np.array_equal(theirs.view("i8"), expected.astype(theirs.dtype).view("i8"))


@pytest.mark.parametrize("store", [local, in_memory])
@pytest.mark.timeout(60)
def test_a_resized_array_is_read_and_written(tmp_path, store):
    array = zarr.create_array(store(tmp_path), shape=(10, 10), chunks=(4, 4), dtype="i4")
    array[...] = 1
    array.resize((25, 6))
    assert array[...].sum() == 60
    array[8:25] = 2
    array.append(np.full((3, 6), 7))
    assert (array[25:] == 7).all() and (array[8:25] == 2).all()
    assert array.oindex[[27, 0], :].tolist() == [[7] * 6, [1] * 6]
    array.resize((3, 3))
    array[...] = 9
    assert (array[...] == 9).all()


@pytest.mark.parametrize("store", [local, in_memory])
@pytest.mark.timeout(60)
def test_chunks_of_fill_are_stored_as_the_array_says(tmp_path, store):
    store = store(tmp_path)
    for name, keep in (("kept", True), ("dropped", False)):
        array = zarr.create_array(store, name=name, shape=(7,), chunks=(3,), dtype="i4", config={"write_empty_chunks": keep})
        array[...] = np.array([1, 2, 3, 0, 0, 0, 0])
        assert array.nchunks_initialized == (3 if keep else 1)
        array[:3] = 0
        assert array.nchunks_initialized == (3 if keep else 0)


@pytest.mark.timeout(60)
def test_fortran_order_and_buffers_of_the_caller():
    array = zarr.create_array({}, shape=(9, 7), chunks=(4, 4), dtype="i4", config={"order": "F"})
    elements = np.arange(63, dtype="i4").reshape(9, 7)
    array[...] = elements
    found = array[1:8, 2:]
    assert found.flags.f_contiguous and np.array_equal(found, elements[1:8, 2:])


@pytest.mark.skipif(IS_OLD, reason="the option is of zarr-python 3.4")
@pytest.mark.timeout(60)
def test_missing_chunks_are_reported():
    from zarr.errors import ChunkNotFoundError

    array = zarr.create_array({}, shape=(10, 10), chunks=(4, 4), dtype="i4", config={"read_missing_chunks": False})
    array[:4, :4] = 1
    assert array[1:4, :3].sum() == 9
    with pytest.raises(ChunkNotFoundError, match="2 chunk"):
        array[0, :]
    with pytest.raises(ChunkNotFoundError, match="1 chunk"):
        array.vindex[[0, 5], [0, 5]]


@pytest.mark.timeout(60)
@pytest.mark.parametrize("work", ["read", "write"])
def test_an_exception_of_a_store_reaches_the_caller_as_itself(work):
    raised = OSError("the cable was pulled")

    class Broken(zarr.storage.MemoryStore):
        _supports_sync_io = False
        is_broken = False

        async def get(self, key, prototype, byte_range=None):
            if self.is_broken and key[-1].isdigit():
                raise raised
            return await super().get(key, prototype, byte_range)

    store = Broken()
    array = zarr.create_array(store, name="x", shape=6, chunks=3, dtype="i4")
    array[...] = 1
    store.is_broken = True
    with pytest.raises(OSError) as caught:
        array[...] if work == "read" else array.__setitem__(0, 5)
    assert caught.value is raised and raised.__cause__ is None
    assert len(raised.__notes__) == 1 and re.search("zarrkit: .*/x, chunk.*cable", raised.__notes__[0])


@pytest.mark.timeout(60)
def test_a_read_only_store_refuses(tmp_path):
    zarr.create_array(local(tmp_path), shape=4, chunks=2, dtype="i4")[...] = 3
    array = zarr.open_array(LocalStore(tmp_path / "data.zarr", read_only=True), mode="r")
    assert array[...].tolist() == [3] * 4
    with pytest.raises((ValueError, PermissionError), match="read.only"):
        array[0] = 1
    with zarr.config.set({"codec_pipeline.path": BATCHED}):
        assert zarr.open_array(tmp_path / "data.zarr", mode="r")[...].tolist() == [3] * 4


@pytest.mark.timeout(60)
def test_pickles_and_compares(tmp_path):
    array = zarr.create_array(local(tmp_path), name="x", shape=6, chunks=2, dtype="i4")
    array[...] = np.arange(6)
    again = pickle.loads(pickle.dumps(array))
    assert again[...].tolist() == list(range(6))
    ours = array._async_array.codec_pipeline
    assert type(ours) is zarrkit.Pipeline
    assert pickle.loads(pickle.dumps(ours)) == ours
    other = zarr.create_array(local(tmp_path), name="y", shape=7, chunks=2, dtype="i4")
    assert other._async_array.codec_pipeline != ours


class Rot13:
    """A codec of the user's: adds 13 to each byte."""

    def __new__(cls):
        from dataclasses import dataclass

        from zarr.abc.codec import BytesBytesCodec

        @dataclass(frozen=True)
        class Shift(BytesBytesCodec):
            is_fixed_size = True

            def to_dict(self):
                return {"name": "test_shift"}

            @classmethod
            def from_dict(cls, data):
                return cls()

            def compute_encoded_size(self, size, _):
                return size

            async def _encode_single(self, data, spec):
                return spec.prototype.buffer.from_bytes(bytes((byte + 13) % 256 for byte in data.to_bytes()))

            async def _decode_single(self, data, spec):
                return spec.prototype.buffer.from_bytes(bytes((byte - 13) % 256 for byte in data.to_bytes()))

        zarr.registry.register_codec("test_shift", Shift)
        return Shift()


@pytest.mark.filterwarnings("ignore")
@pytest.mark.timeout(60)
def test_what_is_not_ours_falls_back_and_is_counted():
    array = zarr.create_array({}, shape=20, chunks=5, dtype="i4", compressors=[Rot13()])
    with pytest.raises(zarrkit.UnsupportedError, match="codec Shift"):
        array[...] = 1
    zarrkit.fallbacks(reset=True)
    assert zarrkit.strict_pipeline(False) is True
    array[...] = np.arange(20)
    assert array[...].tolist() == list(range(20))
    assert zarrkit.fallbacks() == {"codec Shift": 2}
    assert zarrkit.fallbacks(reset=True) == {"codec Shift": 2}
    assert zarrkit.fallbacks() == {}


@pytest.mark.timeout(60)
def test_importing_zarrkit_imports_no_zarr(installed):
    found = python("import sys, zarrkit; print('zarr' in sys.modules, 'asyncio' in sys.modules)", installed)
    assert found.startswith("False")


@pytest.mark.timeout(100)
def test_two_lines_or_a_variable_switch_it_on(installed, tmp_path):
    code = """
        import sys, numpy, zarr
        array = zarr.create_array(sys.argv[1], shape=(5, 5), chunks=(2, 2), dtype="i4")
        array[...] = numpy.arange(25).reshape(5, 5)
        print(type(array._async_array.codec_pipeline), array[1:, 2].tolist())
    """
    assert python(code, installed, tmp_path / "a") == "<class 'zarrkit.Pipeline'> [7, 12, 17, 22]"
    other = {**installed, "ZARR_CODEC_PIPELINE__PATH": "zarrkit.CodecPipeline"}
    assert python(code, other, tmp_path / "b") == "<class 'zarrkit.CodecPipeline'> [7, 12, 17, 22]"
    # Installed, but not chosen.
    other = {name: value for name, value in installed.items() if name != "ZARR_CODEC_PIPELINE__PATH"}
    assert "BatchedCodecPipeline" in python(code, other, tmp_path / "c")


@pytest.mark.timeout(100)
def test_a_pipeline_that_cannot_be_imported_harms_nobody_else(installed):
    code = """
        import sys, zarr
        sys.modules["zarrkit._pipeline"] = None
        array = zarr.create_array({}, shape=3, chunks=2, dtype="i4")
        array[...] = 4
        print(array[...].tolist())
        with zarr.config.set({"codec_pipeline.path": "zarrkit.Pipeline"}):
            try:
                zarr.create_array({}, shape=3, chunks=2, dtype="i4")
            except ImportError as error:
                print("3.1 to 3.4" in str(error))
    """
    other = {name: value for name, value in installed.items() if name != "ZARR_CODEC_PIPELINE__PATH"}
    assert python(code, other).split("\n") == ["[4, 4, 4]", "True"]


@pytest.mark.timeout(100)
def test_a_forked_child_reads(installed, tmp_path):
    code = """
        import os, sys, numpy, zarr
        array = zarr.create_array(sys.argv[1], shape=(50, 50), chunks=(9, 9), dtype="i4")
        array[...] = 1
        array[...]
        for _ in range(5):
            child = os.fork()
            if child == 0:
                os._exit(0 if array[...].sum() == 2500 and zarr.open_array(sys.argv[1])[3:].sum() == 2350 else 1)
            print(os.waitpid(child, 0)[1])
    """
    assert python(code, installed, tmp_path / "a").split() == ["0"] * 5


class Slow(WrapperStore):
    """A store whose calls need the event loop and threads of it."""

    @property
    def _supports_sync_io(self):
        return False

    async def get(self, *args, **kwargs):
        await asyncio.to_thread(threading.Event().wait, 0.01)
        return await super().get(*args, **kwargs)


@pytest.mark.timeout(60)
def test_many_readers_of_a_store_that_needs_the_event_loop_end(tmp_path):
    array = zarr.create_array(Slow(MemoryStore()), shape=(40, 10), chunks=(10, 10), dtype="i4")
    array[...] = 4
    with ThreadPoolExecutor(80) as pool:
        sums = list(pool.map(lambda _: int(array[5:].sum()), range(160)))
    assert sums == [1400] * 160
    assert zarrkit.fallbacks() == {}


@pytest.mark.timeout(60)
def test_a_long_read_does_not_stop_the_event_loop(tmp_path):
    """While a store waits in one read, another read goes on."""
    began, go_on = threading.Event(), threading.Event()

    class Stuck(MemoryStore):
        def get_sync(self, key, **kwargs):
            self.wait(key)
            return super().get_sync(key, **kwargs)

        async def get(self, key, *args, **kwargs):
            if key != "zarr.json" and began is not None and not go_on.is_set():
                began.set()
                await asyncio.to_thread(go_on.wait, 30)
            return await super().get(key, *args, **kwargs)

        def wait(self, key):
            if key != "zarr.json" and not go_on.is_set():
                began.set()
                go_on.wait(30)

    stuck = zarr.create_array(Stuck(), shape=10, chunks=5, dtype="i4")
    other = zarr.create_array(MemoryStore(), shape=10, chunks=5, dtype="i4")
    with ThreadPoolExecutor(1) as pool:
        found = pool.submit(lambda: stuck[...])
        assert began.wait(20)
        other[...] = 2
        assert other[...].sum() == 20
        assert not found.done()
        go_on.set()
        assert found.result(20).sum() == 0


SHARD = (120, 120)
BLOCK = (30, 40)


def blocks():
    return [(slice(i, i + BLOCK[0]), slice(j, j + BLOCK[1])) for i in range(0, 240, BLOCK[0]) for j in range(0, 240, BLOCK[1])]


def write_blocks(url, pipeline, mine, count, barrier):
    if pipeline.startswith("zarrkit"):
        assert zarrkit.Pipeline is not None
    with zarr.config.set({"codec_pipeline.path": pipeline}):
        array = zarr.open_array(url, mode="r+")
        barrier.wait(60)
        for where in blocks()[mine::count]:
            array[where] = 1


def lost(url, pipeline, runner, barrier, count):
    """How many elements are lost when `count` writers write blocks smaller than a shard."""
    with zarr.config.set({"codec_pipeline.path": BATCHED}):
        array = zarr.create_array(url, shape=(240, 240), chunks=(10, 10), shards=SHARD, dtype="u1", overwrite=True)
        shared = barrier(count)
        writers = [runner(target=write_blocks, args=(url, pipeline, n, count, shared)) for n in range(count)]
        for writer in writers:
            writer.start()
        for writer in writers:
            writer.join(100)
        return int((array[...] != 1).sum())


@pytest.mark.parametrize("kind", ["threads", "processes"])
@pytest.mark.timeout(280)
def test_writers_that_meet_in_a_shard_lose_nothing(tmp_path, kind):
    spawn = multiprocessing.get_context("spawn")
    runner, barrier = (threading.Thread, threading.Barrier) if kind == "threads" else (spawn.Process, spawn.Barrier)
    url = str(tmp_path / "shared.zarr")
    assert lost(url, "zarrkit.Pipeline", runner, barrier, 4) == 0
    # The control: zarr-python's own pipeline loses elements in the same test.
    assert any(lost(url, BATCHED, runner, barrier, 4) for _ in range(5))


@pytest.mark.timeout(100)
def test_threads_that_write_parts_of_chunks_in_memory_lose_nothing():
    array = zarr.create_array({}, shape=(64,), chunks=(64,), dtype="i4")

    def write(n):
        for _ in range(5):
            array[n * 4 : n * 4 + 4] = n + 1

    with ThreadPoolExecutor(16) as pool:
        list(pool.map(write, range(16)))
    assert array[...].tolist() == [n + 1 for n in range(16) for _ in range(4)]


@pytest.mark.timeout(100)
def test_dask_stores_misaligned_blocks(tmp_path):
    da = pytest.importorskip("dask.array")
    elements = np.random.default_rng(3).integers(0, 100, (200, 180))
    target = zarr.create_array(tmp_path / "d.zarr", shape=elements.shape, chunks=(20, 20), shards=(100, 60), dtype="i8")
    da.store(da.from_array(elements, chunks=(70, 50)), target, lock=False, scheduler="threads")
    assert np.array_equal(target[...], elements)
    assert zarrkit.fallbacks() == {}


@pytest.mark.timeout(60)
def test_a_write_into_an_array_that_is_gone_is_an_error(tmp_path):
    array = zarr.create_array(local(tmp_path), name="a", shape=10, chunks=3, dtype="i4")
    array[...] = 1
    zarr.create_array(local(tmp_path), name="a", shape=10, chunks=4, dtype="i4", overwrite=True)
    with pytest.raises(zarrkit.ZarrError, match="was replaced after it was opened"):
        array[...] = 2
    del zarr.open_group(local(tmp_path))["a"]
    with pytest.raises(zarrkit.NotFoundError):
        array[0] = 2
    assert not (tmp_path / "data.zarr" / "a").exists()


@pytest.mark.skipif(IS_OLD, reason="rectilinear grids are of zarr-python 3.4")
@pytest.mark.parametrize("shape,chunks", [((5, 4), [[2, 3], [4]]), ((0, 5), [[3], [2, 3]]), ((7, 0), [[3, 4], [1]]), ((0, 1), [[3], [1]])])
@pytest.mark.timeout(60)
def test_chunks_of_several_shapes_grow(shape, chunks):
    with zarr.config.set({"array.rectilinear_chunks": True}):
        array = zarr.create_array({}, shape=shape, chunks=chunks, dtype="i4")
    # Once it is open, the option does not matter.
    array[...] = 1
    with zarr.config.set({"array.rectilinear_chunks": True}):
        for _ in range(2):
            before = int(array[...].sum())
            grown = tuple(length + 3 for length in array.shape)
            array.resize(grown)
            assert array[...].sum() == before
            array[...] = 1
            assert (array[...] == 1).all() and array[1:, -2].sum() == grown[0] - 1
            array.append(np.full((2, grown[1]), 5))
            assert (array[-2:] == 5).all()
            array[-2:] = 1
    assert zarrkit.fallbacks() == {}


def test_short_reads_of_local_stores_need_no_other_thread(tmp_path, monkeypatch):
    from zarrkit import _pipeline

    handed_over = []
    in_thread = _pipeline._in_thread

    async def counting(work, *args):
        handed_over.append(work.__name__)
        return await in_thread(work, *args)

    monkeypatch.setattr(_pipeline, "_in_thread", counting)
    elements = np.arange(512 * 512, dtype="f4").reshape(512, 512)

    def reads(store, key):
        array = zarr.open_array(store, path="a", mode="r")
        array[:1, :1]  # the first call finds the array
        handed_over.clear()
        assert np.array_equal(array[key], elements[key])
        return len(handed_over), array

    near, in_python = local(tmp_path), MemoryStore()
    for store in (near, in_python):
        zarr.create_array(store, name="a", shape=(512, 512), chunks=(16, 512), dtype="f4")[...] = elements
    assert reads(near, np.s_[10:20, 3:9])[0] == 0
    assert reads(near, np.s_[10:20:3, 7])[0] == 0
    assert reads(near, np.s_[0:64])[0] == 0
    # The loop has no other task: up to 4 MiB of chunks. Beside one, up to 128 KiB.
    count, array = reads(near, np.s_[0:65])
    assert count == 0

    async def beside_another_task():
        read = array._async_array.getitem(np.s_[0:65])
        return (await asyncio.gather(asyncio.sleep(0.01), read))[1]

    assert np.array_equal(asyncio.run(beside_another_task()), elements[:65]) and len(handed_over) == 1
    assert reads(in_python, np.s_[10:20, 3:9])[0] == 1
    # 1 MiB of chunks; more chunks than a few.
    assert reads(near, np.s_[...])[0] == 1
    assert reads(near, np.s_[::16, :1])[0] == 1
    # A slow disk: the next reads are handed over, and then one is tried.
    for limits in ("_SHORT", "_SHORT_IF_ALONE"):
        monkeypatch.setattr(_pipeline, limits, (128 << 10, -1.0))
    count, array = reads(near, np.s_[10:20, 3:9])
    assert count == 0
    for _ in range(_pipeline._PAUSE + 1):
        assert np.array_equal(array[10:20, 3:9], elements[10:20, 3:9])
    assert len(handed_over) == _pipeline._PAUSE


def test_a_write_leaves_no_lock_file(tmp_path):
    store = local(tmp_path)
    array = zarr.create_array(store, name="a", shape=(40, 40), chunks=(5, 5), shards=(20, 20), dtype="i4")
    for key in (np.s_[...], np.s_[3:17, 2:38], np.s_[0, 0]):
        array[key] = 7
        # The array is open still; what others list is their data.
        assert [path for path in tmp_path.rglob("*") if path.name.startswith(".zarr")] == [], key
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda n: array.__setitem__(np.s_[n : n + 3], n), range(37)))
    assert list(tmp_path.rglob(".zarr-lock")) == []
