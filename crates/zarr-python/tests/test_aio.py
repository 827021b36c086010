"""Calls under asyncio: they leave the event loop alone, run at the same time, and end when their task is cancelled."""

import asyncio
import http.server
import os
import pickle
import threading
import time

import numpy as np
import pytest

import zarrkit
import zarrkit.aio

ELEMENTS = np.arange(600, dtype="f4").reshape(20, 30)


@pytest.fixture
def url(tmp_path):
    array = zarrkit.create_array(tmp_path / "a.zarr", "/group/a", shape=(20, 30), dtype="f4", chunks=(5, 30), attributes={"units": "m"})
    array[...] = ELEMENTS
    return tmp_path / "a.zarr"


def test_the_calls_are_those_of_the_blocking_handles(url):
    async def calls():
        group = await zarrkit.aio.open(url, "r+")
        array = await group.get("group/a")
        assert isinstance(group, zarrkit.aio.Group) and isinstance(array, zarrkit.aio.Array)
        assert (array.path, array.shape, array.dtype, array.attrs) == ("/group/a", (20, 30), "f4", {"units": "m"})
        assert np.array_equal(await array.read(), ELEMENTS)
        assert np.array_equal(await array.read(np.s_[3, ::-2]), ELEMENTS[3, ::-2])
        out = np.zeros((2, 30), "f4")
        assert await array.read(np.s_[4:6], out=out) is out and np.array_equal(out, ELEMENTS[4:6])
        await array.write(np.s_[0], 5)
        assert (await array.read(0) == 5).all()
        assert array == pickle.loads(pickle.dumps(array)) == await zarrkit.aio.open(url / "group" / "a", "r+")
        made = await zarrkit.aio.create(url, "b", shape=(3,), dtype="i2")
        assert (await made.read()).tolist() == [0, 0, 0]
        assert np.array_equal(await array.oindex(([7, 3], slice(None))), ELEMENTS[[7, 3]])
        await array.update_attrs({"more": 1})
        assert array.attrs == {"units": "m", "more": 1}
        with pytest.raises(KeyError):
            await group.get("nowhere")
        with pytest.raises(IndexError):
            await array.read(np.s_[50])
        with pytest.raises(AttributeError):
            array.nothing

    asyncio.run(calls())


class Slow(http.server.SimpleHTTPRequestHandler):
    """Answers after some time; never while it hangs."""

    protocol_version = "HTTP/1.1"
    seconds = 0.0
    hangs = threading.Event()
    seen, answered = [], []

    def do_GET(self):
        self.seen.append(self.path)
        try:
            self.answer()
        finally:
            self.answered.append(self.path)

    def answer(self):
        end = time.monotonic() + 30
        while self.hangs.is_set() and time.monotonic() < end:
            time.sleep(0.01)
        time.sleep(self.seconds)
        try:
            super().do_GET()
        except OSError:
            pass  # The client went away.

    def log_message(self, *_):
        pass


class Server(http.server.ThreadingHTTPServer):
    request_queue_size = 256
    daemon_threads = True


@pytest.fixture
def slow(url):
    Slow.seconds, Slow.seen, Slow.answered = 0.0, [], []
    Slow.hangs.clear()

    def handler(*args):
        return Slow(*args, directory=str(url.parent))

    server = Server(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/{url.name}/group/a"
    Slow.hangs.clear()
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.mark.timeout(60)
def test_calls_wait_at_the_same_time_and_the_loop_goes_on(slow):
    async def calls():
        array = await zarrkit.aio.open(slow)
        Slow.seconds = 0.2
        ticks = 0

        async def tick():
            nonlocal ticks
            while True:
                await asyncio.sleep(0.005)
                ticks += 1

        ticking = asyncio.create_task(tick())
        began = time.monotonic()
        rows = await asyncio.gather(*(array.read(number % 20) for number in range(40)))
        seconds = time.monotonic() - began
        ticking.cancel()
        assert all(np.array_equal(row, ELEMENTS[number % 20]) for number, row in enumerate(rows))
        # One after the other they would take 8 s.
        assert seconds < 4
        assert ticks > 10

    asyncio.run(calls())


@pytest.mark.timeout(60)
def test_a_cancelled_task_ends_its_call(slow):
    async def calls():
        array = await zarrkit.aio.open(slow)
        Slow.hangs.set()
        out = np.full((20, 30), 7, "f4")
        for keywords in ({}, {"out": out}):
            began = time.monotonic()
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(array.read(**keywords), 0.3)
            # The server would end it after 30 s.
            assert time.monotonic() - began < 15
        Slow.hangs.clear()
        while len(Slow.answered) < len(Slow.seen):
            await asyncio.sleep(0.01)
        # Nothing was read into the memory of a call that was over.
        assert (out == 7).all()
        assert np.array_equal(await array.read(), ELEMENTS)

    asyncio.run(calls())


@pytest.mark.timeout(60)
def test_a_cancelled_write_stores_no_further_chunk(tmp_path):
    array = zarrkit.create_array(tmp_path / "a.zarr", "/a", shape=(1 << 26,), dtype="u1", chunks=(1 << 18,), codecs=["bz2"])
    elements = np.random.default_rng(1).integers(1, 200, array.shape, "u1")
    folder = tmp_path / "a.zarr" / "a" / "c"

    def stored():
        return len(list(folder.iterdir())) if folder.exists() else 0

    async def calls():
        writing = asyncio.create_task(zarrkit.aio.Array(array).write(..., elements, threads=1))
        while not stored():
            await asyncio.sleep(0.01)
        writing.cancel()
        with pytest.raises(asyncio.CancelledError):
            await writing

    asyncio.run(calls())
    # A later write waits for the chunk that was under way. Each chunk of it takes as long as one of the write that was cancelled would.
    array[: 1 << 18] = elements[: 1 << 18]
    before = stored()
    for _ in range(5):
        array[: 1 << 18] = elements[: 1 << 18]
    assert before == stored() < 256


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
@pytest.mark.filterwarnings("ignore:This process.*multi-threaded:DeprecationWarning")
@pytest.mark.timeout(60)
def test_a_forked_process_has_its_own_threads(url):
    async def sums():
        array = await zarrkit.aio.open(url / "group" / "a")
        return float((await array.read()).sum())

    expected = asyncio.run(sums())
    child = os.fork()
    if child == 0:
        os._exit(asyncio.run(sums()) != expected)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
