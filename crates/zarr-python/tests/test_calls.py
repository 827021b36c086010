"""Ctrl-C, progress, threads of calls, and Python's lock."""

import http.server
import os
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

import zarrkit


def slow_array(folder, seconds=3.0):
    """An array that takes a thread about as long to read: random bytes, with many chunks and a slow codec."""
    url = folder / "slow.zarr"
    chunk = np.random.default_rng(1).integers(0, 4, 1 << 18, dtype="u1")
    one = zarrkit.create_array(url, "/one", shape=chunk.shape, dtype="u1", chunks=chunk.shape, codecs=["bz2"])
    one[...] = chunk

    def timed():
        began = time.perf_counter()
        one[...]
        return time.perf_counter() - began

    # The shortest of some: other programs may run now, and not later.
    count = int(seconds / min(timed() for _ in range(10))) + 1
    many = zarrkit.create_array(url, "/many", shape=(count << 18,), dtype="u1", chunks=chunk.shape, codecs=["bz2"])
    for n in range(count):
        # The same object again, as a chunk of the other array.
        source = url / "one" / "c" / "0"
        target = url / "many" / "c" / str(n)
        target.parent.mkdir(parents=True, exist_ok=True)
        os.link(source, target)
    return many, chunk


def interrupted(call, after=0.2):
    """How many seconds after Ctrl-C a call ended."""
    at = []

    def press():
        time.sleep(after)
        at.append(time.perf_counter())
        os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=press)
    thread.start()
    early = False
    with pytest.raises(KeyboardInterrupt):
        call()
        early = True
        time.sleep(10)
    ended = time.perf_counter()
    thread.join()
    assert not early, "the call was over before Ctrl-C"
    return ended - at[0]


def assert_ends_soon(call):
    """Ctrl-C ends a call within 0.3 s. Of up to three times that are measured the shortest counts: the machine may be busy."""
    seconds = []
    while len(seconds) < 3 and min(seconds, default=1) >= 0.3:
        seconds.append(round(interrupted(call), 3))
    print(f"seconds from Ctrl-C to the end: {seconds}")
    assert min(seconds) < 0.3, f"seconds from Ctrl-C to the end: {seconds}"


@pytest.mark.timeout(60)
def test_ctrl_c_ends_a_long_read_and_the_next_one_works(tmp_path):
    many, chunk = slow_array(tmp_path)
    one_thread = zarrkit.open(tmp_path / "slow.zarr", threads=1)["many"]
    assert_ends_soon(lambda: one_thread[...])
    assert np.array_equal(many[: 1 << 18], chunk)
    assert np.array_equal(many[-(1 << 18) :], chunk)


@pytest.mark.timeout(60)
def test_ctrl_c_ends_a_long_write_and_chunks_are_whole(tmp_path):
    shape, chunk = (1 << 27,), (1 << 18,)
    url = tmp_path / "a.zarr"
    zarrkit.create_array(url, "/a", shape=shape, dtype="u1", chunks=chunk, codecs=["bz2"])
    array = zarrkit.open(url, "r+", threads=1)["a"]
    elements = np.random.default_rng(2).integers(1, 9, shape, dtype="u1")

    def write():
        array[...] = elements

    assert_ends_soon(write)
    stored = array[...].reshape(-1, 1 << 18)
    wanted = elements.reshape(-1, 1 << 18)
    whole = (stored == wanted).all(axis=1)
    assert (whole | (stored == 0).all(axis=1)).all()
    assert not whole.all()


@pytest.mark.timeout(60)
def test_ctrl_c_ends_a_loop_of_small_reads(tmp_path):
    array = zarrkit.create_array(tmp_path / "a.zarr", "/a", shape=(100,), dtype="i4", chunks=(10,))

    def loop():
        while True:
            array[3:40]

    assert_ends_soon(loop)
    assert array[5] == 0


class Hanging(http.server.SimpleHTTPRequestHandler):
    """Answers at first, and then never."""

    hangs = threading.Event()
    released = threading.Event()

    def do_GET(self):
        if self.hangs.is_set():
            self.released.wait(30)
        try:
            super().do_GET()
        except OSError:
            pass  # The client went away.

    do_HEAD = do_GET

    def log_message(self, *_):
        pass


@pytest.fixture
def hanging(tmp_path):
    """A folder behind a web server that can hang."""
    Hanging.hangs.clear()
    Hanging.released.clear()

    def handler(*args):
        return Hanging(*args, directory=str(tmp_path))

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    Hanging.released.set()
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.mark.timeout(60)
def test_ctrl_c_ends_calls_to_a_server_that_does_not_answer(tmp_path, hanging):
    local = zarrkit.create_array(tmp_path / "a.zarr", "/a", shape=(100,), dtype="i4", chunks=(10,))
    local[...] = np.arange(100)
    array = zarrkit.open(f"{hanging}/a.zarr/a")
    assert array[42] == 42
    Hanging.hangs.set()
    out = np.full(100, -1, "i4")
    calls = [lambda: array[...], lambda: array[3], lambda: zarrkit.open(f"{hanging}/a.zarr/a"), lambda: array.read(out=out)]
    for call in calls:
        # Only Ctrl-C can end it sooner than the server, which waits for 30 s.
        assert interrupted(call) < 15
    Hanging.hangs.clear()
    Hanging.released.set()
    assert np.array_equal(array[...], np.arange(100))
    # Memory that the caller lent is not touched after the call.
    assert (out == -1).all()


SCHEDSTAT = "/proc/thread-self/schedstat"


@pytest.mark.skipif(not os.path.exists(SCHEDSTAT), reason="the system counts no times of threads")
@pytest.mark.timeout(60)
def test_another_thread_of_python_runs_on_during_a_read(tmp_path):
    """Row G1: it keeps 0.9 of its speed. It runs or waits for a processor; the rest of the time it waits for Python's lock."""
    slow_array(tmp_path, seconds=2)
    one_thread = zarrkit.open(tmp_path / "slow.zarr", threads=1)["many"]
    shares = []

    def nanoseconds():
        with open(SCHEDSTAT) as times:
            return sum(map(int, times.read().split()[:2]))

    def work(stop):
        before, began = nanoseconds(), time.perf_counter_ns()
        while not stop.is_set():
            for _ in range(1000):
                pass
        shares.append((nanoseconds() - before) / (time.perf_counter_ns() - began))

    # Of up to three shares that are measured the largest counts: the machine may have stopped meanwhile.
    while len(shares) < 3 and max(shares, default=0) <= 0.9:
        stop = threading.Event()
        thread = threading.Thread(target=work, args=(stop,))
        thread.start()
        try:
            one_thread[...]
        finally:
            stop.set()
            thread.join()
    print(f"shares of its speed: {shares}")
    assert max(shares) > 0.9, f"shares of its speed: {shares}"


def in_process(code, **variables):
    """What a fresh process prints."""
    environment = {**os.environ, **variables}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


THREADS = """
import os, sys, time, zarrkit
def names():
    return {open(f"/proc/self/task/{task}/comm").read().strip() for task in os.listdir("/proc/self/task")}
def count():
    return sum(name.startswith("zarr-") for name in names())
def settled():
    # A thread that was started has its name a moment later: looks until two looks are the same for a while.
    looks = [count()]
    while len(looks) < 20 or len(set(looks[-20:])) > 1:
        time.sleep(0.01)
        looks.append(count())
    return looks[-1]
"""


@pytest.mark.skipif(not os.path.exists("/proc/self/task"), reason="threads are counted in /proc")
@pytest.mark.timeout(60)
def test_threads_are_as_many_as_are_chosen(tmp_path):
    array = zarrkit.create_array(tmp_path / "a.zarr", "/a", shape=(1 << 24,), dtype="u1", chunks=(1 << 20,))
    array[...] = np.random.default_rng(1).integers(0, 255, 1 << 24, "u1")
    url = str(tmp_path / "a.zarr" / "a")
    read = THREADS + f"array = zarrkit.open({url!r}, threads=%s); array[...]; print(settled())"
    assert in_process(read % 3) == "3"
    assert in_process(read % None, ZARRKIT_THREADS="2") == "2"
    assert in_process(read % None, ZARRKIT_THREADS="1") == "0"
    # The caller's word is stronger than the environment's.
    assert in_process(read % 3, ZARRKIT_THREADS="2") == "3"
    # A worker of a `DataLoader`, as the module says that is imported.
    torch = "import sys, types; sys.modules['torch.utils.data'] = types.SimpleNamespace(get_worker_info=lambda: %s)\n"
    assert in_process(torch % 1 + read % None) == "0"
    assert in_process(torch % None + read % None, ZARRKIT_THREADS="") == str(os.cpu_count())
    # A tiny read has no pool.
    tiny = THREADS + f"array = zarrkit.open({url!r}); array[5:9]; print([name for name in names() if name.startswith('zarr')])"
    assert in_process(tiny) == "[]"
    with pytest.raises(AssertionError, match="ValueError: invalid ZARRKIT_THREADS=\"many\""):
        in_process(read % None, ZARRKIT_THREADS="many")


@pytest.mark.skipif(not os.path.exists("/proc/self/task"), reason="threads are counted in /proc")
def test_what_is_no_number_of_threads_is_refused(tmp_path):
    array = zarrkit.create_array(tmp_path / "a.zarr", "/a", shape=(4,), dtype="i4")
    for threads, said in ((-1, "invalid number of threads -1"), (5000, "5000 threads are too many")):
        for call in (lambda: array.read(threads=threads), lambda: zarrkit.open(tmp_path / "a.zarr", threads=threads)):
            with pytest.raises(ValueError, match=said):
                call()


def test_the_import_starts_no_thread():
    code = "import os, numpy; n = len(os.listdir('/proc/self/task')); import zarrkit; print(len(os.listdir('/proc/self/task')) - n)"
    assert in_process(code) == "0"


@pytest.mark.timeout(60)
def test_progress_is_reported_and_its_exceptions_end_the_call(tmp_path):
    many, _ = slow_array(tmp_path, seconds=1)
    seen = []
    many.read(progress=seen.append, threads=2)
    total = many.shape[0] >> 18
    assert len(seen) > 2 and {now.chunks_total for now in seen} == {total}
    done = [now.chunks_done for now in seen]
    assert done == sorted(done) and done[-1] == total and seen[-1].bytes_done == many.shape[0]
    assert repr(seen[-1]) == f"<zarrkit.Progress {total} of {total} chunks, {many.shape[0]} bytes>"

    def stop(now):
        raise ArithmeticError(now.chunks_done)

    with pytest.raises(ArithmeticError) as raised:
        many.read(progress=stop, threads=1)
    assert raised.value.args[0] < total
    many.write(np.s_[:10], 3, progress=seen.append)
    assert seen[-1].chunks_done == 1
    with pytest.raises(TypeError, match="`progress` must be a function, True or False"):
        many.read(progress=5)

    # From a thread of Python's, too.
    thread = threading.Thread(target=lambda: many.read(progress=seen.append))
    thread.start()
    thread.join()
    assert seen[-1].chunks_done == total


def test_a_line_on_the_terminal_shows_the_progress():
    from types import SimpleNamespace

    from zarrkit._progress import Line

    class Terminal(list):
        write = list.append

        def isatty(self):
            return True

        def flush(self):
            pass

    terminal = Terminal()
    line = Line(terminal)
    for done in (5, 10):
        line(SimpleNamespace(chunks_done=done, chunks_total=10, bytes_done=1 << 20))
    line.close()
    assert terminal[0].startswith("\r 50% 5 of 10 chunks") and terminal[1].startswith("\r100% 10 of 10 chunks") and terminal[-1] == "\n"


@pytest.mark.parametrize("has_tqdm", [True, False])
def test_progress_true_shows_a_bar(tmp_path, has_tqdm):
    zarrkit.create_array(tmp_path / "a.zarr", "/a", shape=(100,), dtype="i4", chunks=(10,))[...] = 1
    hide = "import sys; sys.modules['tqdm'] = None\n" if not has_tqdm else ""
    if has_tqdm:
        pytest.importorskip("tqdm")
    code = hide + f"import zarrkit; print(zarrkit.open({str(tmp_path / 'a.zarr')!r})['a'].read(progress=True).sum())"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.stdout.strip() == "100"
    assert ("10/10" in done.stderr) == has_tqdm
