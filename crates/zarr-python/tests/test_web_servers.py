"""Headers, tokens and queries go to the web server that they are for, and nothing prints or pickles them."""

import http.server
import pickle
import threading
from pathlib import Path

import numpy as np
import pytest
import zarrkit

SECRET = "hush"


class Handler(http.server.SimpleHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        self.server.came.append((self.path, dict(self.headers)))
        if self.server.goes_to:
            self.send_response(302)
            self.send_header("Location", self.server.goes_to + self.path.split("?")[0])
            self.send_header("Content-Length", "0")
            return self.end_headers()
        file = Path(self.server.folder, self.path.split("?")[0].lstrip("/"))
        allowed = self.server.allows(self.path, self.headers)
        if not allowed or not file.is_file():
            self.send_response(404 if allowed else 401)
            self.send_header("Content-Length", "0")
            return self.end_headers()
        body = file.read_bytes()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *arguments):
        pass


@pytest.fixture
def serve(tmp_path):
    """Starts servers of a folder, which has an array."""
    zarrkit.create_array(tmp_path / "a.zarr", shape=(3,), dtype="int32")[...] = [1, 2, 3]
    servers = []

    def start(allows, goes_to=None):
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        server.folder, server.allows, server.goes_to, server.came = tmp_path, allows, goes_to, []
        threading.Thread(target=server.serve_forever, daemon=True).start()
        servers.append(server)
        server.url = f"http://127.0.0.1:{server.server_port}"
        return server

    yield start
    for server in servers:
        server.shutdown()
        server.server_close()


def check(*texts):
    assert not any(SECRET in str(text) for text in texts), texts


@pytest.mark.parametrize(
    ("options", "name", "value"),
    [
        ({"headers": {"X-Api-Key": "hush key", "Accept-Language": "en"}}, "x-api-key", "hush key"),
        ({"bearer_token": "hush.token"}, "authorization", "Bearer hush.token"),
    ],
)
def test_headers_go_to_their_server_and_nowhere_else(serve, options, name, value):
    def given(headers):
        return {key.lower(): text for key, text in headers.items()}.get(name)

    private = serve(lambda path, headers: given(headers) == value)
    public = serve(lambda path, headers: True)
    pointing = serve(lambda path, headers: True, goes_to=public.url)
    array = zarrkit.open(f"{private.url}/a.zarr", storage_options=options)
    np.testing.assert_array_equal(array[...], [1, 2, 3])
    check(repr(array), array.info if hasattr(array, "info") else "", pickle.dumps(array))
    store = zarrkit.Store(f"{private.url}/a.zarr", "r", storage_options=options)
    assert store.get_sync("zarr.json") is not None
    check(repr(store), pickle.dumps(store))
    with pytest.raises(zarrkit.StoreError) as raised:
        zarrkit.open(f"{private.url}/a.zarr", storage_options={**options, "bearer_token": "hush", "headers": {"a": "hush"}})
    check(raised.value, repr(raised.value))
    assert zarrkit.open(f"{pointing.url}/a.zarr", storage_options=options).shape == (3,)
    assert pointing.came and all(given(headers) == value for _, headers in pointing.came)
    assert public.came and all(given(headers) is None for _, headers in public.came)


def test_a_token_of_the_environment_is_for_the_server_that_it_names(serve, monkeypatch):
    server = serve(lambda path, headers: headers.get("Authorization") == "Bearer hush")
    other = serve(lambda path, headers: True)
    monkeypatch.setenv("ZARR_HTTP_BEARER_TOKEN", f"{server.url}=hush")
    assert zarrkit.open(f"{server.url}/a.zarr")[1] == 2
    zarrkit.open(f"{other.url}/a.zarr")
    assert all("Authorization" not in headers for _, headers in other.came)
    # Without a server it could be for any.
    monkeypatch.setenv("ZARR_HTTP_BEARER_TOKEN", "hush")
    zarrkit.open(f"{other.url}/a.zarr")
    assert all("Authorization" not in headers for _, headers in other.came)
    with pytest.raises(zarrkit.StoreError):
        zarrkit.open(f"{server.url}/a.zarr")


@pytest.mark.parametrize(
    "headers",
    [{"X": "hush\r\ny: hush"}, {"X": "hush\u00e9"}, {"X hush": "a"}, {"Range": "hush"}],
)
def test_headers_that_cannot_be_sent_are_refused_by_name(headers):
    with pytest.raises(Exception, match="header") as raised:
        zarrkit.open("http://127.0.0.1:1/a.zarr", storage_options={"headers": headers})
    check(raised.value)


def test_headers_are_a_dict():
    with pytest.raises(TypeError, match="`headers` must be a dict") as raised:
        zarrkit.open("http://127.0.0.1:1/a.zarr", storage_options={"headers": "X: hush"})
    check(raised.value)


def test_the_query_of_a_url_is_on_every_key_and_is_not_pickled(serve):
    server = serve(lambda path, headers: path.endswith("?sig=hush%2Fa"))
    url = f"{server.url}/a.zarr?sig=hush%2Fa"
    array = zarrkit.open(url)
    np.testing.assert_array_equal(array[...], [1, 2, 3])
    store = zarrkit.Store(url, "r")
    assert store.get_sync("zarr.json") is not None
    assert store.with_read_only(True).get_sync("zarr.json") is not None
    check(repr(array), repr(store), str(store))
    assert "?…" in str(store)
    for handle in (array, store):
        with pytest.raises(TypeError, match="its URL.* has a query") as raised:
            pickle.dumps(handle)
        check(raised.value)
    # What another query gives may be something else.
    assert zarrkit.Store(url, "r") != zarrkit.Store(url + "&x=1", "r")
    assert array != zarrkit.open(url)
