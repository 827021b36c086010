"""Handles in other processes: pickles without secrets, equality, names for Dask."""

import copy
import http.server
import os
import pickle
import subprocess
import sys
import threading

import numpy as np
import pytest
import zarr

import zarrkit

SECRETS = ["planted-key-id", "planted-secret-key", "planted-token", "planted-password", "planted-user", "planted-signature"]


@pytest.fixture
def array(tmp_path):
    array = zarrkit.create_array(
        tmp_path / "a.zarr", "/deep/er/a", shape=(20, 30), dtype="f4", chunks=(7, 8), attributes={"long": "text" * 1000}
    )
    array[...] = np.arange(600).reshape(20, 30)
    return array


def in_process(code, handle, **variables):
    """What a fresh process prints that has unpickled `handle`."""
    given = pickle.dumps(handle)
    environment = {name: value for name, value in os.environ.items() if value not in SECRETS}
    code = f"import pickle, sys\nhandle = pickle.loads(sys.stdin.buffer.read())\n{code}"
    done = subprocess.run([sys.executable, "-c", code], input=given, env={**environment, **variables}, capture_output=True, timeout=60)
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout.decode().strip()


def test_a_pickle_is_small_and_opens_in_a_fresh_process(array, tmp_path):
    assert len(pickle.dumps(array)) < 1024
    code = "import os; os.chdir('/'); handle[0, :2] = 5; print(type(handle).__name__, handle.path, int(handle[...].sum()))"
    assert in_process(code, array) == f"Array /deep/er/a {np.arange(600).sum() + 10 - 1}"
    # The path was relative when it was opened.
    before = os.getcwd()
    os.chdir(tmp_path)
    try:
        group = zarrkit.open("a.zarr")["deep"]
    finally:
        os.chdir(before)
    assert in_process("import os; print(type(handle).__name__, handle.path, handle['er/a'].shape)", group) == "Group /deep (20, 30)"
    with pytest.raises(AssertionError, match="ReadOnlyError"):
        in_process("handle['er/a'][0] = 1", group)


def test_other_stores_are_opened_again(array, tmp_path):
    inside = zarrkit.create_array(tmp_path / "a.zip", "/a", shape=(5,), dtype="i2", chunks=(2,))
    inside[...] = range(5)
    del inside
    inside = zarrkit.open(f"zip://{tmp_path}/a.zip/a")
    assert in_process("print(handle[...].tolist())", inside) == "[0, 1, 2, 3, 4]"
    theirs = zarrkit.open(zarr.storage.LocalStore(tmp_path / "a.zarr"))["deep/er/a"]
    assert in_process("print(handle.shape)", theirs) == "(20, 30)"
    fsspec = pytest.importorskip("fsspec")
    mapping = fsspec.get_mapper(f"file://{tmp_path}/a.zarr")
    assert in_process("print(handle.shape)", zarrkit.open(mapping)["deep/er/a"]) == "(20, 30)"


def test_one_process_opens_a_place_once(array, tmp_path):
    first, second = (pickle.loads(pickle.dumps(array)) for _ in range(2))
    assert first is second
    sibling = zarrkit.create_array(tmp_path / "a.zarr", "/b", shape=(3,), dtype="i4")
    assert pickle.loads(pickle.dumps(sibling))[...].tolist() == [0, 0, 0]


def test_a_pickle_made_after_a_change_has_the_change(array, tmp_path):
    pickle.loads(pickle.dumps(array))
    theirs = zarr.open_array(tmp_path / "a.zarr", path="deep/er/a")
    theirs.resize((40, 30))
    array.refresh()
    assert pickle.loads(pickle.dumps(array)).shape == (40, 30)


def test_what_only_this_process_has_is_refused():
    memory = zarrkit.create_array("memory://pickled", "/a", shape=(3,), dtype="i4")
    with pytest.raises(TypeError, match="cannot be pickled: its store memory://pickled is in the memory of this process"):
        pickle.dumps(memory)
    values = {}
    zarr.create_array(zarr.storage.MemoryStore(values), name="a", shape=(3,), dtype="i4")
    for store in (zarr.storage.MemoryStore(values), dict(values)):
        handle = zarrkit.open({key: value.to_bytes() for key, value in values.items()} if isinstance(store, dict) else store)
        with pytest.raises(TypeError, match="cannot be pickled: its values are in the memory of this process"):
            pickle.dumps(handle)


class Server(http.server.SimpleHTTPRequestHandler):
    """A folder as a bucket, or as a web server, which asks for nothing and notes who reads."""

    def do_GET(self):
        self.server.seen.append(self.headers.get("Authorization", ""))
        super().do_GET()

    def log_message(self, *_):
        pass


@pytest.fixture
def server(tmp_path):
    def handler(*args):
        return Server(*args, directory=str(tmp_path))

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.daemon_threads = True
    server.seen = []
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.mark.timeout(60)
def test_no_secret_is_in_a_pickle(tmp_path, server, monkeypatch):
    """Row K1: secrets in the URL, the options and the environment."""
    local = zarrkit.create_array(tmp_path / "bucket" / "a.zarr", "/a", shape=(3,), dtype="i4")
    local[...] = [1, 2, 3]
    monkeypatch.setenv("AWS_SESSION_TOKEN", "planted-token")
    host = f"127.0.0.1:{server.server_port}"
    options = {
        "aws_access_key_id": "planted-key-id",
        "aws_secret_access_key": "planted-secret-key",
        "aws_endpoint": f"http://{host}",
        "aws_allow_http": True,
        "aws_region": "somewhere",
    }
    of_bucket = zarrkit.open("s3://bucket/a.zarr/a", storage_options=options)
    assert of_bucket[...].tolist() == [1, 2, 3]
    assert "planted-key-id" in server.seen[-1]
    of_web = zarrkit.open(f"http://planted-user:planted-password@{host}/bucket/a.zarr/a")
    assert of_web[...].tolist() == [1, 2, 3]
    for handle in (of_bucket, of_web):
        for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
            given = pickle.dumps(handle, protocol)
            assert len(given) < 1024
            assert not [secret for secret in SECRETS if secret.encode() in given], given
        shown = repr((handle.__reduce__(), handle.__dask_tokenize__(), handle))
        assert not [secret for secret in SECRETS if secret in shown], shown
    # The secrets of the other process are those of its environment.
    there = {"AWS_ACCESS_KEY_ID": "key-of-the-other", "AWS_SECRET_ACCESS_KEY": "secret-of-the-other"}
    assert in_process("print(handle[...].tolist())", of_bucket, **there) == "[1, 2, 3]"
    assert "key-of-the-other" in server.seen[-1]


def test_equal_handles_are_of_the_same_node_in_the_same_mode(array, tmp_path):
    url = tmp_path / "a.zarr"
    group = zarrkit.open(url, "r+")["deep"]
    again = group["er/a"]
    assert again == array and hash(again) == hash(array) and {again: 1}[array] == 1
    assert zarrkit.open(url / "deep" / "er" / "a", "r+") == array
    assert array != zarrkit.open(url)["deep/er/a"]
    assert array != group and group != array and group == zarrkit.open(url, "r+")["deep"]
    assert array != 5 and array is not None
    assert pickle.loads(pickle.dumps(array)) == array
    assert copy.copy(array) is array and copy.deepcopy([array])[0] is array
    one, two = ({"zarr.json": b'{"zarr_format": 3, "node_type": "group"}'} for _ in range(2))
    assert zarrkit.open(one) != zarrkit.open(two)


def test_a_token_changes_with_the_document_only(array, tmp_path):
    token = array.__dask_tokenize__()
    assert zarrkit.open(tmp_path / "a.zarr")["deep/er/a"].__dask_tokenize__() == token
    assert in_process("print(handle.__dask_tokenize__())", array) == str(token)
    array[0] = 7
    assert array.__dask_tokenize__() == token
    zarr.open_array(tmp_path / "a.zarr", path="deep/er/a").attrs["units"] = "m"
    assert array.__dask_tokenize__() == token
    array.refresh()
    assert array.__dask_tokenize__() != token
    one = zarrkit.create_array("memory://token", "/a", shape=(3,), dtype="i4")
    other = zarrkit.create_array("memory://token", "/b", shape=(3,), dtype="i4")
    assert one.__dask_tokenize__() != other.__dask_tokenize__()
