"""`max_age`: a far store is not asked again for what it said a moment ago; own writes are seen, and others' after that time."""

import hashlib
import http.server
import pickle
import re
import threading
import time

import numpy as np
import obstore
import pytest
import zarr

import zarrkit

SHAPE = (16, 256, 256)
LONG = 3600.0


class Server(http.server.SimpleHTTPRequestHandler):
    """A folder with entity tags and conditions, which counts what it is asked."""

    asked: list

    def do_GET(self):
        try:
            with open(self.translate_path(self.path), "rb") as file:
                value = file.read()
        except OSError:
            self.asked.append((self.path, 404))
            return self.send_error(404)
        tag = f'"{hashlib.sha256(value).hexdigest()}"'
        expected = self.headers.get("If-Match")
        if expected not in (None, tag):
            self.asked.append((self.path, 412))
            return self.send_error(412)
        self.asked.append((self.path, 200))
        part = re.fullmatch(r"bytes=(\d*)-(\d*)", self.headers.get("Range", ""))
        if part is None:
            self.send_response(200)
        else:
            first = int(part[1]) if part[1] else max(len(value) - int(part[2]), 0)
            last = min(int(part[2]), len(value) - 1) if part[1] and part[2] else len(value) - 1
            self.send_response(206)
            self.send_header("Content-Range", f"bytes {first}-{last}/{len(value)}")
            value = value[first : last + 1]
        self.send_header("ETag", tag)
        self.send_header("Content-Length", str(len(value)))
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(value)

    do_HEAD = do_GET

    def log_message(self, *_):
        pass


@pytest.fixture
def served(tmp_path):
    asked = []

    def handler(*args):
        Server(*args, directory=str(tmp_path))

    Server.asked = asked
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}", asked
    server.shutdown()
    server.server_close()


def made(place, seed=0, **options):
    elements = np.random.default_rng(seed).integers(0, 1000, SHAPE).astype("i4")
    # A chunk has 1 MiB, more than is kept beside the decoded ones.
    zarrkit.create_array(place, "/a", shape=SHAPE, dtype="i4", chunks=(16, 128, 128), codecs=["zstd:1"], **options)[...] = elements
    return elements


@pytest.mark.parametrize("layout", [{}, {"shards": (16, 256, 256)}])
def test_planes_of_chunks_that_are_kept_ask_nothing(tmp_path, served, layout):
    url, asked = served
    elements = made(tmp_path / "d.zarr", **layout)
    counts = {}
    for name, age in (("asks", 0), ("aged", LONG)):
        array = zarrkit.open(f"{url}/d.zarr", chunk_cache="64MiB", max_age=age)["a"]
        assert np.array_equal(array[0], elements[0])
        asked.clear()
        for plane in range(1, SHAPE[0]):
            assert np.array_equal(array[plane], elements[plane])
        counts[name] = len(asked)
    assert counts["aged"] == 0
    assert counts["asks"] >= SHAPE[0] - 1


def test_others_writes_are_seen_when_the_time_is_over_or_asked_for(tmp_path, served):
    url, _ = served
    first = made(tmp_path / "d.zarr")
    handles = {age: zarrkit.open(f"{url}/d.zarr/a", chunk_cache="64MiB", max_age=age) for age in (0, 0.5, LONG)}
    for array in handles.values():
        assert np.array_equal(array[...], first)
    second = made(tmp_path / "d.zarr", seed=1, overwrite=True)
    assert np.array_equal(handles[0][...], second)
    assert np.array_equal(handles[LONG][...], first)
    time.sleep(0.6)
    assert np.array_equal(handles[0.5][...], second)
    assert np.array_equal(handles[LONG][...], first)
    handles[LONG].refresh()
    assert np.array_equal(handles[LONG][...], second)


def test_attributes_and_absent_chunks_are_taken_for_that_time(tmp_path, served):
    url, asked = served
    writer = zarrkit.create_array(tmp_path / "d.zarr", "/a", shape=(4, 4), dtype="i4", chunks=(2, 2), fill_value=7)
    group = zarrkit.open(f"{url}/d.zarr", max_age=LONG)
    array = group["a"]
    assert np.array_equal(array[...], np.full((4, 4), 7))
    asked.clear()
    assert np.array_equal(group["a"][...], np.full((4, 4), 7))
    assert asked == []
    writer[...] = 1
    writer.attrs["unit"] = "m"
    assert np.array_equal(array[...], np.full((4, 4), 7))
    group.refresh()
    assert np.array_equal(group["a"][...], np.ones((4, 4)))
    assert group["a"].attrs["unit"] == "m"


def in_python():
    """A store of Python's that is no place of ours, with an array in it, and its elements."""
    store = zarr.storage.ObjectStore(obstore.store.MemoryStore())
    elements = np.random.default_rng(0).integers(0, 1000, SHAPE).astype("i4")
    zarr.create_array(store, name="a", data=elements, chunks=(16, 128, 128))
    return store, elements


def test_own_writes_are_seen_at_once():
    store, elements = in_python()
    array = zarrkit.open(store, "r+", max_age=LONG, chunk_cache="64MiB")["a"]
    rng = np.random.default_rng(2)
    for _ in range(20):
        low = [int(rng.integers(0, length)) for length in SHAPE]
        key = tuple(slice(at, at + int(rng.integers(1, 100))) for at in low)
        array[key] = elements[key] = int(rng.integers(0, 1000))
        assert np.array_equal(array[key], elements[key])
    assert np.array_equal(array[...], elements)
    assert array.append(np.zeros((2, 256, 256), "i4")) == SHAPE[0]
    assert not array[SHAPE[0] :].any() and np.array_equal(array[: SHAPE[0]], elements)
    array.attrs["n"] = 1
    assert array.attrs["n"] == 1
    # What is stored is what was written, to others, too.
    assert np.array_equal(zarr.open_array(store, path="a", mode="r")[: SHAPE[0]], elements)


def test_stores_of_python_are_asked_once_for_documents():
    store, _ = in_python()
    group = zarrkit.open(store, max_age=LONG)
    assert "by" not in group["a"].attrs
    zarr.open_array(store, path="a").attrs["by"] = "another"
    assert "by" not in group["a"].attrs
    group.refresh()
    assert group["a"].attrs["by"] == "another"


def test_pickles_carry_it(tmp_path, served):
    url, asked = served
    elements = made(tmp_path / "d.zarr")
    array = zarrkit.open(f"{url}/d.zarr/a", chunk_cache="64MiB", max_age=LONG)
    again = pickle.loads(pickle.dumps(array))
    assert np.array_equal(again[0], elements[0])
    asked.clear()
    assert np.array_equal(pickle.loads(pickle.dumps(array))[1], elements[1])
    assert asked == []


def test_folders_are_always_asked(tmp_path):
    made(tmp_path / "d.zarr")
    array = zarrkit.open(tmp_path / "d.zarr/a", chunk_cache="64MiB", max_age=LONG)
    array[...]
    second = made(tmp_path / "d.zarr", seed=1, overwrite=True)
    assert np.array_equal(array[...], second)


@pytest.mark.parametrize("age", [-1, float("nan"), -0.001])
def test_what_is_no_time_is_refused(tmp_path, age):
    made(tmp_path / "d.zarr")
    with pytest.raises(ValueError, match="invalid max_age="):
        zarrkit.open(tmp_path / "d.zarr", max_age=age)


@pytest.mark.parametrize("age", [float("inf"), 1e300, 5])
def test_any_time_is_taken(tmp_path, served, age):
    url, _ = served
    elements = made(tmp_path / "d.zarr")
    assert np.array_equal(zarrkit.open(f"{url}/d.zarr/a", max_age=age)[...], elements)


def test_xarray_takes_it(tmp_path, served):
    xr = pytest.importorskip("xarray")
    url, asked = served
    values = np.arange(8 * 64 * 64.0).reshape(8, 64, 64)
    xr.Dataset({"t": (("time", "y", "x"), values)}).to_zarr(tmp_path / "d.zarr", encoding={"t": {"chunks": (8, 32, 32)}}, consolidated=True)
    opened = xr.open_dataset(f"{url}/d.zarr", engine=zarrkit.XarrayEngine, chunk_cache="64MiB", max_age=LONG)
    assert np.array_equal(opened.t.isel(time=0).values, values[0])
    asked.clear()
    for time_ in range(1, 8):
        assert np.array_equal(opened.t.isel(time=time_).values, values[time_])
    assert asked == []
