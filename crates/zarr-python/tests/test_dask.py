"""Dask arrays written by several processes: nothing is lost, whichever worker or driver dies."""

import os
import pickle
import signal
import subprocess
import sys
import time
import warnings
from pathlib import Path

import numpy as np
import pytest
import zarr

import zarrkit

da = pytest.importorskip("dask.array")
distributed = pytest.importorskip("distributed")

RUNS = int(os.environ.get("ZARRKIT_DASK_RUNS", "3"))
pytestmark = pytest.mark.timeout(180)


def cluster(workers, **options):
    options = {"threads_per_worker": 1, "processes": True, "dashboard_address": None, "memory_limit": 0, **options}
    return distributed.LocalCluster(n_workers=workers, host="127.0.0.1", **options)


@pytest.fixture(scope="module")
def four():
    """Four processes."""
    with cluster(4) as made, distributed.Client(made) as client:
        yield client


def numbers(*shape, dtype="f4"):
    """Elements of which none is 0, the fill value."""
    return np.arange(1, 1 + np.prod(shape), dtype=dtype).reshape(shape)


def files(folder):
    """The files of an array but for its document, and what they are now."""
    return {str(path.relative_to(folder)): path.stat().st_mtime_ns for path in Path(folder).rglob("*") if path.is_file()}


def problems(url):
    return [str(problem) for problem in zarrkit.validate(url).problems]


def new_array(folder, shape=(800, 800), shards=(200, 200), chunks=(50, 50), dtype="f4", name="a"):
    return zarrkit.create_array(folder / "data.zarr", f"/{name}", shape=shape, dtype=dtype, shards=shards, chunks=chunks)


# Misaligned blocks


def test_control_zarr_python_loses_elements_of_blocks_that_share_shards(tmp_path, four):
    elements = numbers(800, 800)
    blocks = da.from_array(elements, chunks=(50, 50))
    wrong = []
    while not any(wrong) and len(wrong) < 5:
        theirs = zarr.create_array(tmp_path / f"{len(wrong)}.zarr", shape=(800, 800), shards=(200, 200), chunks=(50, 50), dtype="f4")
        da.store(blocks, theirs, lock=False)
        wrong.append(int((theirs[...] != elements).sum()))
    print(f"zarr-python lost {wrong} of {elements.size} elements")
    assert any(wrong)


@pytest.mark.timeout(120 + 40 * RUNS)
def test_guarded_blocks_that_share_shards_are_all_there(tmp_path, four):
    elements = numbers(800, 800)
    blocks = da.from_array(elements, chunks=(50, 50))
    times = {"guard": [], "plan": []}
    for run in range(RUNS):
        for mode in times:
            ours = new_array(tmp_path, name=f"{mode}{run}")
            start = time.perf_counter()
            done = zarrkit.dask.store(blocks, ours, mode)
            times[mode].append(time.perf_counter() - start)
            assert done.written == done.parts == {"guard": 256, "plan": 16}[mode]
            theirs = zarr.open_array(tmp_path / "data.zarr", path=f"{mode}{run}", mode="r")
            assert int((theirs[...] != elements).sum()) == 0
    print(f"{RUNS} runs: guarded / aligned {sum(times['guard']) / sum(times['plan']):.2f}, seconds {times}")
    assert problems(tmp_path / "data.zarr") == []


def test_dasks_own_store_loses_nothing(tmp_path, four):
    elements = numbers(800, 800)
    ours = new_array(tmp_path)
    da.store(da.from_array(elements, chunks=(70, 90)), ours, lock=False)
    assert int((zarr.open_array(tmp_path / "data.zarr", path="a", mode="r")[...] != elements).sum()) == 0


def lies_under(pipeline):
    zarrkit.Pipeline  # noqa: B018 (it registers itself, as the entry point of the installed package does)
    return zarr.config.set({"codec_pipeline.path": pipeline})


def test_zarr_pythons_arrays_lose_nothing_through_the_pipeline(tmp_path, four):
    elements = numbers(800, 800)
    four.run(lies_under, "zarrkit.Pipeline")
    try:
        with lies_under("zarrkit.Pipeline"):
            theirs = zarr.create_array(tmp_path / "data.zarr", shape=(800, 800), shards=(200, 200), chunks=(50, 50), dtype="f4")
            for chunks in ((50, 50), (70, 90)):
                da.store(da.from_array(elements + sum(chunks), chunks=chunks), theirs, lock=False)
                assert int((zarrkit.open(tmp_path / "data.zarr")[...] != elements + sum(chunks)).sum()) == 0
        assert sum(four.run(lambda: sum(zarrkit.fallbacks().values())).values()) == 0
    finally:
        four.run(lies_under, "zarr.core.codec_pipeline.BatchedCodecPipeline")


def test_strict_refuses_before_anything_is_written(tmp_path):
    ours = new_array(tmp_path)
    before = files(tmp_path)
    blocks = da.from_array(numbers(800, 800), chunks=(200, 90))
    with pytest.raises(zarrkit.UnalignedWriteError, match=r"at 90 of axis 1.*multiples of \(200, 200\)"):
        zarrkit.dask.store(blocks, ours, "strict")
    assert files(tmp_path) == before
    assert zarrkit.dask.store(blocks.rechunk((400, 200)), ours, mode="strict").parts == 8
    assert np.array_equal(ours[...], numbers(800, 800))


# Workers and drivers that die


def slow(block, seconds):
    time.sleep(seconds)
    return block


def memory(field, pid="self"):
    """A figure of a process, in bytes."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith(field):
            return int(line.split()[1]) * 1024
    return 0


def notes(folder):
    return [path for path in Path(folder).glob(".zarrkit-run/*/*") if not path.name.startswith(".")]


def wait_for(condition, seconds=60):
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it did not come to pass"
        time.sleep(0.01)


@pytest.fixture
def table(tmp_path):
    """A source of small chunks, and a target of 15 shards."""
    shape = (600, 500, 40)
    elements = np.random.default_rng(16).random(shape, dtype="f4")
    source = zarrkit.create_array(tmp_path / "source.zarr", "/a", shape=shape, dtype="f4", chunks=(60, 500, 4))
    source[...] = elements
    target = new_array(tmp_path, shape, shards=(200, 100, 40), chunks=(100, 50, 40), name="b")
    return elements, source, target, tmp_path / "data.zarr" / "b"


def test_a_worker_that_is_killed_is_survived(tmp_path, table):
    elements, source, target, folder = table
    shard = 200 * 100 * 40 * 4
    with cluster(2) as made, distributed.Client(made) as client:
        # What each worker takes once everything is imported.
        client.run(zarrkit.dask.store, da.zeros((2,), chunks=1, dtype="f4"), new_array(tmp_path, (2,), None, (1,), name="warm"), scheduler="sync")
        baseline = client.run(memory, "VmRSS")
        processes = list(client.run(os.getpid).values())
        end = client.compute(zarrkit.dask.store(source.dask((60, 500, 4)), target, compute=False))
        wait_for(lambda: len(notes(folder)) >= 2)
        peaks = [memory("VmHWM", processes[0])]
        finished = [int(path.name) for path in notes(folder)]
        before = files(folder / "c")
        os.kill(processes[0], signal.SIGKILL)
        assert len(notes(folder)) < 15
        done = end.result(timeout=120)
        peaks += client.run(memory, "VmHWM").values()
    assert done.parts == 15
    # Parts that were done are not written again, though Dask lost what their tasks returned.
    after = files(folder / "c")
    for part in finished:
        name = f"{part // 5}/{part % 5}/0"
        assert after[name] == before[name]
    assert np.array_equal(target[...].view("u4"), elements.view("u4"))
    assert np.array_equal(zarr.open_array(folder, mode="r")[...], elements)
    theirs = pytest.importorskip("tensorstore").open({"driver": "zarr3", "kvstore": f"file://{folder}/"}).result()
    assert np.array_equal(theirs.read().result(), elements)
    assert problems(tmp_path / "data.zarr") == []
    assert not [name for name in files(tmp_path) if ".zarr-tmp-" in name or ".zarrkit-run" in name]
    growth = (max(peaks) - min(baseline.values())) / shard
    print(f"a worker takes {growth:.1f} shards more than at rest")
    assert growth <= 6


DRIVER = """
import sys, time
import dask, zarrkit.dask
from test_dask import cluster, slow
import distributed
if __name__ == "__main__":
    source, target = sys.argv[1:]
    with cluster(2) as made, distributed.Client(made):
        x = zarrkit.dask.from_zarr(source, (60, 500, 4)).map_blocks(slow, 0.01, dtype="f4")
        zarrkit.dask.store(x, target, resume=True)
"""


def test_a_driver_that_is_killed_goes_on_with_what_is_missing(tmp_path, table):
    elements, source, target, folder = table
    path = [str(Path(__file__).parent), *sys.path]
    driver = subprocess.Popen(
        [sys.executable, "-c", DRIVER, tmp_path / "source.zarr" / "a", folder],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, path))},
        start_new_session=True,
    )
    wait_for(lambda: len(notes(folder)) >= 4)
    os.kill(driver.pid, signal.SIGKILL)
    driver.wait()

    def workers_are_gone():
        try:
            os.killpg(driver.pid, 0)
        except ProcessLookupError:
            return True
        return False

    wait_for(workers_are_gone)
    done, before = len(notes(folder)), files(folder / "c")
    assert 4 <= done < 15
    assert any("run_under_way" in problem for problem in problems(tmp_path / "data.zarr"))
    x = zarrkit.dask.from_zarr(tmp_path / "source.zarr" / "a", (60, 500, 4)).map_blocks(slow, 0.01, dtype="f4")
    assert zarrkit.dask.store(x, target, resume=True, scheduler="sync") == zarrkit.dask.Stored(15, written=15 - done, resumed=done)
    after = files(folder / "c")
    changed = [name for name in after if after[name] != before.get(name)]
    in_flight = 2
    assert len(changed) <= 15 - done + in_flight
    assert np.array_equal(target[...], elements)
    assert problems(tmp_path / "data.zarr") == []
    assert notes(folder) == []


def test_two_parts_of_a_copy_at_once(tmp_path, table):
    elements, _, _, _ = table
    command = [sys.executable, "-m", "zarrkit", "copy", tmp_path / "source.zarr", tmp_path / "copy.zarr", "--chunks", "70,80,40"]
    parts = [subprocess.Popen([*command, "--part", part]) for part in ("1/2", "2/2")]
    assert [part.wait() for part in parts] == [0, 0]
    subprocess.run([*command[:6], "--finish"], check=True)
    assert np.array_equal(zarr.open_array(tmp_path / "copy.zarr", path="a", mode="r")[...], elements)
    assert problems(tmp_path / "copy.zarr") == []


# One process


class Interrupted(Exception):
    pass


def fails_after_the_first_part(block, folder):
    if notes(folder):
        raise Interrupted
    return block


def failed(blocks, target, folder):
    """The blocks, after a run that ended when some of its parts were done."""
    broken = blocks.map_blocks(fails_after_the_first_part, folder, dtype=blocks.dtype, name="the-same")
    with pytest.raises(Interrupted):
        zarrkit.dask.store(broken, target, scheduler="sync")
    assert notes(folder)
    return blocks.map_blocks(slow, 0, dtype=blocks.dtype, name="the-same")


def test_a_run_of_another_array_is_not_gone_on_with(tmp_path):
    blocks = da.from_array(numbers(8), chunks=2)
    target = new_array(tmp_path, (8,), None, (2,))
    folder = tmp_path / "data.zarr" / "a"
    failed(blocks, target, folder)
    with pytest.warns(zarrkit.ZarrWarning, match="another `x`"):
        done = zarrkit.dask.store(blocks + 1, target, resume=True)
    assert (done.written, done.resumed) == (4, 0)
    assert np.array_equal(target[...], numbers(8) + 1)
    assert not (folder / ".zarrkit-run").exists()


def test_a_part_that_was_changed_since_is_an_error(tmp_path):
    blocks = da.from_array(numbers(8), chunks=2)
    target = new_array(tmp_path, (8,), None, (2,))
    whole = failed(blocks, target, tmp_path / "data.zarr" / "a")
    first = min(int(path.name) for path in notes(tmp_path / "data.zarr" / "a"))
    target[2 * first] = -1
    with pytest.raises(zarrkit.ConflictError, match=rf"/a, \[{2 * first}:{2 * first + 2}\].*resume=False"):
        zarrkit.dask.store(whole, target, resume=True, scheduler="sync")
    assert zarrkit.dask.store(whole, target, resume=False, scheduler="sync").written == 4
    assert np.array_equal(target[...], numbers(8))


def test_what_reads_back_otherwise_is_an_error(tmp_path):
    lossy = zarr.create_array(
        tmp_path / "data.zarr",
        name="a",
        shape=(8,),
        chunks=(2,),
        dtype="f8",
        zarr_format=2,
        filters=[pytest.importorskip("numcodecs").FixedScaleOffset(offset=0, scale=10, dtype="f8", astype="i4")],
    )
    blocks = da.from_array(np.full(8, 0.123), chunks=2)
    with pytest.raises(zarrkit.CorruptDataError, match="a codec is lossy.*verify=False"):
        zarrkit.dask.store(blocks, tmp_path / "data.zarr" / "a", scheduler="sync")
    zarrkit.dask.store(blocks, tmp_path / "data.zarr" / "a", verify=False)
    assert lossy[0] == 0.1


@pytest.mark.parametrize(
    ("x", "text"),
    [
        (da.zeros((8, 1), chunks=2, dtype="f4"), r"shape \(8, 1\), the array has \(8,\)"),
        (da.zeros(8, chunks=2, dtype="f8"), "dtype float64, the array has float32.*astype"),
        (np.zeros(8, "f4"), "ndarray, not a Dask array"),
    ],
)
def test_other_shapes_and_dtypes_are_refused(tmp_path, x, text):
    target = new_array(tmp_path, (8,), None, (2,))
    before = files(tmp_path)
    with pytest.raises(zarrkit.ArgumentError, match=text):
        zarrkit.dask.store(x, target)
    with pytest.raises(zarrkit.ArgumentError, match="mode 'aligned'.*strict"):
        zarrkit.dask.store(da.zeros(8, dtype="f4"), target, "aligned")
    with pytest.raises(zarrkit.ReadOnlyError):
        zarrkit.dask.store(da.zeros(8, dtype="f4"), zarrkit.open(tmp_path / "data.zarr")["a"])
    assert files(tmp_path) == before


@pytest.mark.parametrize("dtype", ["?", ">i2", "f8", "c8", "M8[s]", "S3", "U3"])
def test_dtypes_without_loss(tmp_path, dtype):
    elements = np.arange(60).reshape(6, 10).astype("i8").astype(dtype)
    target = new_array(tmp_path, (6, 10), None, (4, 4), dtype=dtype)
    assert zarrkit.dask.store(da.from_array(elements, chunks=3), target).written > 1
    assert np.array_equal(target.dask("chunks").compute(scheduler="sync"), elements)


def test_zeros_of_both_signs_and_all_kinds_of_nan_are_kept(tmp_path):
    bits = np.array([0, 1 << 31, 0x7FC00000, 0x7FC00001, 0xFFC00000, 0, 0, 0], "u4")
    target = new_array(tmp_path, (8,), None, (1,))
    zarrkit.dask.store(da.from_array(bits.view("f4"), chunks=3), target)
    assert np.array_equal(target[...].view("u4"), bits)


def test_arrays_of_no_axis_and_of_no_element(tmp_path):
    scalar = new_array(tmp_path, (), None, (), name="scalar")
    assert zarrkit.dask.store(da.asarray(np.float32(3)), scalar).parts == 1
    assert scalar[()] == 3 == scalar.dask().compute()
    empty = new_array(tmp_path, (0, 3), None, (1, 2), name="empty")
    zarrkit.dask.store(da.zeros((0, 3), dtype="f4"), empty)
    assert empty.dask().compute().shape == (0, 3)
    assert problems(tmp_path / "data.zarr") == []


@pytest.mark.parametrize("dialect", ["v2", "v3", "draft"])
def test_every_dialect(tmp_path, dialect):
    target = zarrkit.create_array(tmp_path / "data.zarr", "/g/a", shape=(9, 7), chunks=(4, 3), dtype="i4", dialect=dialect)
    elements = numbers(9, 7, dtype="i4")
    folder = tmp_path / "data.zarr" / ("data/root/g/a" if dialect == "draft" else "g/a")
    whole = failed(da.from_array(elements, chunks=(2, 5)), target, folder)
    assert any("/g/a" in problem and "run_under_way" in problem for problem in problems(tmp_path / "data.zarr"))
    assert zarrkit.dask.store(whole, target, resume=True).resumed > 0
    assert np.array_equal(target[...], elements)
    assert problems(tmp_path / "data.zarr") == []


def test_nothing_is_written_or_read_before_it_is_computed(tmp_path):
    target = new_array(tmp_path)
    before = files(tmp_path)
    end = zarrkit.dask.store(da.ones((800, 800), chunks=70, dtype="f4"), target, compute=False)
    assert files(tmp_path) == before
    assert end.compute().parts == 16
    x, y = target.dask(), da.from_array(target)
    for path in (tmp_path / "data.zarr" / "a" / "c").rglob("*"):
        if path.is_file():
            path.unlink()
    assert x.chunks == ((200,) * 4,) * 2
    assert x.sum().compute() == y.sum().compute() == 0
    assert target.dask("chunks").chunks == ((50,) * 16,) * 2


def test_graphs_are_named_after_what_is_read_and_carry_no_elements(tmp_path):
    target = new_array(tmp_path)
    again = zarrkit.open(tmp_path / "data.zarr")["a"]
    assert target.dask().name == again.dask().name != again.dask(100).name
    assert len(pickle.dumps(dict(again.dask(800).dask))) < 4096


# What `store` is given


@pytest.mark.parametrize("mode", ["plan", "guard"])
def test_texts_are_stored_and_missing_ones_refused(tmp_path, mode):
    target = zarrkit.create(tmp_path / "a.zarr", shape=4, chunks=2, dtype="string")
    words = np.array(["a", "", "\N{SNOWMAN}", "d" * 300], np.dtypes.StringDType())
    zarrkit.dask.store(da.from_array(words, chunks=3), target, mode, scheduler="sync")
    assert np.array_equal(target[...], words) and np.array_equal(zarrkit.dask.from_zarr(target).compute(), words)
    some = da.from_array(np.array(["a", None, "c", "d"], np.dtypes.StringDType(na_object=None)), chunks=3)
    with pytest.raises(ValueError, match="missing string"):
        zarrkit.dask.store(some, target, mode, scheduler="sync")


def test_an_array_that_is_made_of_its_target_is_warned_of(tmp_path):
    target = zarrkit.create(tmp_path / "a.zarr", shape=6, chunks=2, dtype="i4")
    target[...] = np.arange(6)
    read = zarrkit.dask.from_zarr(tmp_path / "a.zarr")
    with pytest.warns(zarrkit.ZarrWarning, match="reads the array that it is stored into"):
        zarrkit.dask.store(read + 1, target, scheduler="sync")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        zarrkit.dask.store(read + 1, zarrkit.create(tmp_path / "b.zarr", like=target), scheduler="sync")


def test_a_group_is_no_array(tmp_path):
    group = zarrkit.create_group(tmp_path / "d.zarr")
    for call in (lambda: zarrkit.dask.from_zarr(group), lambda: zarrkit.dask.store(da.zeros(3), group)):
        with pytest.raises(ValueError, match="is not an array; name one of its members"):
            call()
