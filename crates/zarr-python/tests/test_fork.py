"""Processes that fork while they use the library, and the workers that they become."""

import faulthandler
import http.server
import importlib.util
import itertools
import multiprocessing
import os
import pickle
import signal
import tempfile
import threading
import time
import types

import numpy as np
import pytest
from stacks import where

import zarrkit

pytestmark = [
    pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork"),
    # Python 3.12 warns of every fork of a process with threads: they are what is tested.
    pytest.mark.filterwarnings("ignore:This process.*multi-threaded:DeprecationWarning"),
]

#: How many times a process with busy threads forks; `.ci/full zarrkit_long` has 1,000.
FORKS = int(os.environ.get("ZARRKIT_FORKS", 60))

ELEMENTS = np.arange(64 * 64, dtype="i4").reshape(64, 64)


def forked(work, seconds=60):
    """Runs `work` in a forked process: `"done"`, the end of its traceback, or where it hung.

    A look at the child counts for 0.1 s at most: a virtual machine that was stopped for a minute stopped the child, too.
    """
    receive, send = os.pipe()
    frames = tempfile.TemporaryFile()
    child = os.fork()
    if child == 0:
        try:
            faulthandler.register(signal.SIGUSR1, file=frames, all_threads=False)
            work()
            said = b"done"
        except BaseException as error:
            said = f"{type(error).__name__}: {error}".encode()
        os.write(send, said)
        os._exit(0)
    os.close(send)
    waited, before = 0, time.monotonic()
    with os.fdopen(receive, "rb") as said, frames:
        while os.waitpid(child, os.WNOHANG) == (0, 0):
            now = time.monotonic()
            waited, before = waited + min(now - before, 0.1), now
            if waited > seconds:
                hung = f"hung: {where(child, frames)}"
                os.kill(child, signal.SIGKILL)
                os.waitpid(child, 0)
                return hung
            time.sleep(0.002)
        return said.read().decode()


def test_where_a_child_hangs_is_told():
    lock = threading.Lock()
    lock.acquire()
    told = forked(lock.acquire, seconds=0.5)
    assert told.startswith("hung: ") and "in forked" in told, told


def test_a_stop_of_the_whole_machine_is_no_hang(monkeypatch):
    looks, now = itertools.count(), time.monotonic
    # The clock goes on by a minute between two looks, as it does where a virtual machine was stopped.
    clock = types.SimpleNamespace(monotonic=lambda: now() + 60 * (next(looks) > 3), sleep=time.sleep)
    with monkeypatch.context() as patched:
        patched.setitem(globals(), "time", clock)
        told = forked(lambda: clock.sleep(0.3), seconds=1)
    assert told == "done"


class Quiet(http.server.SimpleHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass


class Server(http.server.ThreadingHTTPServer):
    request_queue_size = 256


@pytest.fixture
def web(tmp_path):
    """A folder behind a web server in another process: its threads are not those of the tests."""
    receive, send = os.pipe()
    child = os.fork()
    if child == 0:

        def handler(*args):
            return Quiet(*args, directory=str(tmp_path))

        server = Server(("127.0.0.1", 0), handler)
        os.write(send, str(server.server_port).encode())
        os.close(send)
        server.serve_forever()
    os.close(send)
    yield f"127.0.0.1:{os.read(receive, 16).decode()}"
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    os.close(receive)


def arrays(folder, web):
    """Handles in every kind of store, each of them read."""
    places = {
        "folder": folder / "a.zarr",
        "zip": f"zip://{folder}/a.zip",
        "memory": f"memory://{folder.name}",
    }
    opened = {}
    for name, place in places.items():
        array = zarrkit.create_array(place, "/a", shape=(64, 64), chunks=(8, 8), dtype="i4")
        array[...] = ELEMENTS
        opened[name] = array
    del array, opened["zip"]
    opened["zip"] = zarrkit.open(places["zip"])["a"]
    options = {"aws_access_key_id": "key", "aws_secret_access_key": "secret", "aws_allow_http": True, "aws_region": "x"}
    opened["http"] = zarrkit.open(f"http://{web}/a.zarr/a")
    opened["s3"] = zarrkit.open(f"s3://{folder.name}/a.zarr/a", storage_options={**options, "aws_endpoint": f"http://{web}"})
    return opened


@pytest.mark.timeout(90)
@pytest.mark.parametrize("name", ["folder", "zip", "memory", "http", "s3"])
def test_a_child_reads_and_writes_after_its_parent_has(tmp_path, web, name):
    """Row F1, with handles that were used before the fork."""
    (tmp_path / tmp_path.name).symlink_to(tmp_path)  # The bucket is the folder of the web server.
    array = arrays(tmp_path, web)[name]
    assert np.array_equal(array[...], ELEMENTS)

    def work():
        assert np.array_equal(array[...], ELEMENTS)
        assert array[3, 5] == ELEMENTS[3, 5]
        if name in ("folder", "memory"):
            array[1:9] = 7
            assert (array[1:9] == 7).all()
            assert forked(lambda: array[0:9].sum()) == "done", "a child of the child"

    assert forked(work) == "done"
    # What the child wrote into a folder is there; the parent's memory is the parent's.
    assert (array[1, 1] == 7) == (name == "folder")


def test_lmdb_says_that_it_cannot_be_used_after_a_fork(tmp_path):
    array = zarrkit.create_array(f"lmdb://{tmp_path}/a.lmdb", "/a", shape=(4,), dtype="i4")
    array[...] = 1
    assert "fork" in forked(lambda: array[...])
    assert (array[...] == 1).all()


@pytest.mark.timeout(60 + 2 * FORKS)
@pytest.mark.parametrize("names, forks", [(["folder", "zip", "memory"], FORKS), (["folder", "http", "s3"], FORKS // 10)])
def test_no_child_hangs_when_busy_threads_fork(tmp_path, web, names, forks):
    """Row F2: four threads read and write at every fork."""
    (tmp_path / tmp_path.name).symlink_to(tmp_path)
    opened = arrays(tmp_path, web)
    opened = {name: opened[name] for name in names}
    array, last = opened["folder"], opened[names[-1]]
    stop, failed = threading.Event(), []

    def work(number):
        try:
            rows = slice(16 * number, 16 * number + 16)
            while not stop.is_set():
                array[rows] = ELEMENTS[rows]
                assert np.array_equal(array[rows], ELEMENTS[rows])
                if names[-1] == "memory":
                    last[rows, 3:50] = ELEMENTS[rows, 3:50]
                assert opened[names[1 + number % 2]][rows.start, 5] == ELEMENTS[rows.start, 5]
                assert array.shape == (64, 64)
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()

    def child():
        for name, array in opened.items():
            assert np.array_equal(array[8:16], ELEMENTS[8:16]), name
        if names[-1] == "memory":
            last[5:20] = 3
        opened["folder"][5:20] = ELEMENTS[5:20]

    try:
        ends = [forked(child) for _ in range(forks)]
    finally:
        stop.set()
        for thread in threads:
            thread.join()
    assert not failed, failed
    others = [end for end in ends if end != "done"]
    assert not others, f"{len(others)} of {forks} children: " + "\n\n".join(others)
    print(f"{forks} forks, none hung")


@pytest.mark.timeout(120)
def test_a_child_uses_what_another_thread_was_using_for_the_first_time(tmp_path):
    """What a handle keeps from its first use may be half made, and without Python's lock, at the fork."""
    path = tmp_path / "a.zarr"
    zarrkit.create_array(path, "/a", shape=(4,), dtype="i4")
    for _ in range(20):
        handles = [zarrkit.open(path)["a"] for _ in range(200)]

        def use():
            for handle in handles:
                assert handle.dtype == "i4"

        threads = [threading.Thread(target=use) for _ in range(4)]
        for thread in threads:
            thread.start()
        ends = [forked(use, seconds=20) for _ in range(3)]
        for thread in threads:
            thread.join()
        assert ends == ["done"] * 3


@pytest.mark.timeout(60 + 2 * FORKS)
@pytest.mark.parametrize("verb", ["validate", "checksum", "diff", "copy"])
def test_no_child_hangs_when_the_parent_works_on_a_whole_hierarchy(tmp_path, verb):
    """Three threads and the child run the same verb."""
    source = tmp_path / "a.zarr"
    for name in ("a", "b"):
        zarrkit.create_array(source, f"/g/{name}", shape=(64, 64), chunks=(8, 8), dtype="i4")[...] = ELEMENTS
    numbers = itertools.count()
    stop, failed = threading.Event(), []

    def run():
        if verb == "copy":
            zarrkit.copy(source, tmp_path / f"{os.getpid()}-{next(numbers)}.zarr", to="v2")
        elif verb == "diff":
            zarrkit.diff(source, source)
        else:
            getattr(zarrkit, verb)(source)

    def work():
        try:
            while not stop.is_set():
                run()
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    try:
        ends = [forked(run) for _ in range(max(FORKS // 6, 1))]
    finally:
        stop.set()
        for thread in threads:
            thread.join()
    assert not failed, failed
    assert ends == ["done"] * len(ends)


def part_of(given):
    """What a worker does: reads a part, writes it into another array."""
    source, target, start = given
    target[start : start + 16] = source[start : start + 16] * 2
    return int(source[start].sum()), type(source).__name__


@pytest.mark.timeout(90)
@pytest.mark.parametrize("method", ["fork", "forkserver", "spawn"])
def test_workers_of_multiprocessing_take_handles(tmp_path, method):
    """Row F3."""
    source = zarrkit.create_array(tmp_path / "a.zarr", "/source", shape=(64, 64), chunks=(8, 8), dtype="i4")
    source[...] = ELEMENTS
    target = zarrkit.create_array(tmp_path / "a.zarr", "/target", shape=(64, 64), chunks=(8, 8), dtype="i4")
    assert source[0, 0] == 0
    with multiprocessing.get_context(method).Pool(2) as pool:
        found = pool.map(part_of, [(source, target, start) for start in range(0, 64, 16)])
    assert found == [(int(ELEMENTS[start].sum()), "Array") for start in range(0, 64, 16)]
    assert np.array_equal(target[...], ELEMENTS * 2)


class Samples:
    """What PyTorch calls a dataset: samples by number. The handle is opened, and used, before the workers are forked."""

    def __init__(self, array):
        self.array = array
        self.mean = array[...].mean()

    def __len__(self):
        return len(self.array)

    def __getitem__(self, number):
        return self.array[number] - self.mean


def worker_of_a_loader(dataset, asked, answers):
    while (numbers := asked.get()) is not None:
        answers.put((numbers[0], np.stack([dataset[number] for number in numbers])))


def loaded(dataset, batch, workers, epochs=1):
    """The batches of a `DataLoader` of PyTorch, made as it makes them: forked workers, a queue of numbers to each, one of
    batches back."""
    context = multiprocessing.get_context("fork")
    for _ in range(epochs):
        answers = context.Queue()
        queues = [context.Queue() for _ in range(workers)]
        processes = [context.Process(target=worker_of_a_loader, args=(dataset, queue, answers), daemon=True) for queue in queues]
        for process in processes:
            process.start()
        starts = range(0, len(dataset), batch)
        for place, start in enumerate(starts):
            queues[place % workers].put(list(range(start, min(start + batch, len(dataset)))))
        batches = dict(answers.get(timeout=20) for _ in starts)
        for queue in queues:
            queue.put(None)
        for process in processes:
            process.join(20)
            assert process.exitcode == 0
        yield [batches[start] for start in starts]


@pytest.mark.timeout(60)
@pytest.mark.parametrize("name", ["folder", "zip", "http"])
def test_a_loader_like_that_of_pytorch(tmp_path, web, name):
    """Row F3, without PyTorch: no worker hangs."""
    (tmp_path / tmp_path.name).symlink_to(tmp_path)
    dataset = Samples(arrays(tmp_path, web)[name])
    for batches in loaded(dataset, 8, workers=3, epochs=2):
        assert np.array_equal(np.concatenate(batches), ELEMENTS - ELEMENTS.mean())


@pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="PyTorch is not installed in this environment: CI has another one with it")
@pytest.mark.timeout(120)
@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_a_loader_of_pytorch(tmp_path, method):
    """Row F3, with PyTorch."""
    data = importlib.import_module("torch.utils.data")
    array = zarrkit.create_array(tmp_path / "a.zarr", "/a", shape=(64, 64), chunks=(8, 8), dtype="i4")
    array[...] = ELEMENTS
    loader = data.DataLoader(Samples(array), batch_size=8, num_workers=2, multiprocessing_context=method)
    for _ in range(2):
        batches = np.concatenate([batch.numpy() for batch in loader])
        assert np.array_equal(batches, ELEMENTS - ELEMENTS.mean())


def test_a_pickle_of_the_parent_is_opened_once_in_a_child(tmp_path):
    array = zarrkit.create_array(tmp_path / "a.zarr", "/a", shape=(4,), dtype="i4")
    given = pickle.dumps(array)
    here = pickle.loads(given)

    def work():
        assert pickle.loads(given) is here
        here[...] = 5

    assert forked(work) == "done"
    assert (array[...] == 5).all()
