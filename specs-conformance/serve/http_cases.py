#!/usr/bin/env python3
"""Asks `zarr serve` over bare sockets: ranges, validators, CORS, listings; what a hostile client sends; many clients; the end.

    http_cases.py PROGRAM [--seconds SECONDS]
"""

import argparse
import json
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import zipfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from common import serving, settle

# A filter of v2 that readers of v3 do not have.
DELTA = '{"name": "numcodecs.delta", "configuration": {"dtype": "%s"}}'
failures = []


def check(what, holds, found=""):
    if not holds:
        failures.append(f"{what}: {str(found)[:300]}")


class Answer:
    def __init__(self, raw, method="GET"):
        head, _, rest = raw.partition(b"\r\n\r\n")
        lines = head.decode("latin-1").split("\r\n")
        parts = lines[0].split(" ")
        self.status = int(parts[1]) if len(parts) > 1 else 0
        self.headers = {}
        for line in lines[1:]:
            name, _, value = line.partition(":")
            self.headers[name.lower()] = value.strip()
        length = self.headers.get("content-length")
        self.body = rest[: int(length)] if length and method != "HEAD" else rest

    def __getitem__(self, name):
        return self.headers.get(name)


def exchange(port, data, timeout=15):
    """What comes back until the server ends the connection, or nothing comes any more."""
    with socket.create_connection(("127.0.0.1", port), timeout=timeout) as stream:
        received = b""
        try:
            stream.sendall(data)
        except OSError:
            pass
        try:
            while part := stream.recv(1 << 16):
                received += part
        except OSError:
            pass
        return received


def ask(port, path, method="GET", headers=(), host="localhost"):
    lines = [f"{method} {path} HTTP/1.1", f"Host: {host}", "Connection: close", *headers]
    data = ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")
    with socket.create_connection(("127.0.0.1", port), timeout=15) as stream:
        stream.sendall(data)
        received = b""
        while part := stream.recv(1 << 16):
            received += part
    return Answer(received, method)


def until(found, is_right, seconds=20):
    """Asks until the answer is right; returns the last one. The server may keep what it knows of a store for a second."""
    give_up = time.monotonic() + seconds
    while not is_right(answer := found()) and time.monotonic() < give_up:
        time.sleep(0.05)
    return answer


def make(program, folder):
    """A hierarchy with a chunk of 1,000 bytes, one whose codec the v3 view has to replace, and what a link leads out to."""
    run = lambda *args, **more: subprocess.run([program, *map(str, args)], check=True, capture_output=True, **more)
    store = folder / "x.zarr"
    for path, codec in (("plain", ["--codec", "none"]), ("delta", ["--codec", DELTA % "|u1", "--codec", "zlib:1"])):
        array = ["--shape", "4000", "--chunks", "1000", "--dtype", "uint8", *codec]
        run("create", store, "--path", path, "--format", "v2", *array)
        data = bytes((i * 7) % 251 for i in range(3000)) + bytes(1000)
        run("put", store, "--path", path, "--format", "raw", input=data)
    (folder / "outside").mkdir()
    (folder / "outside/secret").write_text("secret")
    settle()
    os.symlink(folder / "outside", store / "out")
    os.symlink(folder / "outside/secret", store / "link")
    os.symlink(store / "plain", store / "inner")
    return store


def ranges(port):
    key = "/x.zarr/plain/0"
    whole = ask(port, key)
    value, tag = whole.body, whole["etag"]
    check("whole", whole.status == 200 and len(value) == 1000 and whole["accept-ranges"] == "bytes", whole.headers)
    check("type", whole["content-type"] == "application/octet-stream" and whole["x-content-type-options"] == "nosniff")
    check("cache", whole["cache-control"] == "no-cache" and re.fullmatch(r'"[0-9a-f]{32}"', tag), whole.headers)
    check("no coding", whole["content-encoding"] is None)
    for text, start, end in (
        ("0-0", 0, 1), ("0-99", 0, 100), ("990-", 990, 1000), ("0-", 0, 1000), ("-10", 990, 1000), ("-5000", 0, 1000),
        ("995-5000", 995, 1000), ("999-999", 999, 1000), ("5-99999999999999999999", 5, 1000),
    ):
        part = ask(port, key, headers=[f"Range: bytes={text}"])
        said = f"bytes {start}-{end - 1}/1000"
        check(f"range {text}", (part.status, part["content-range"], part.body) == (206, said, value[start:end]), part.headers)
        head = ask(port, key, "HEAD", [f"Range: bytes={text}"])
        same = [head[name] == part[name] for name in ("content-range", "content-length", "etag", "content-type")]
        check(f"HEAD of range {text}", head.status == 206 and head.body == b"" and all(same), head.headers)
    for text in ("1000-", "1000-2000", "-0", "99999999999999999999-"):
        part = ask(port, key, headers=[f"Range: bytes={text}"])
        check(f"outside {text}", (part.status, part["content-range"], part.body) == (416, "bytes */1000", b""), part.headers)
    for text in ("bytes=0-1,5-6", "bytes=5-2", "bytes=a-b", "items=0-5", "bytes=", "bytes 0-5", "bytes=--5"):
        part = ask(port, key, headers=[f"Range: {text}"])
        check(f"odd {text}", (part.status, part.body) == (200, value), part.headers)
    head = ask(port, key, "HEAD")
    check("HEAD", (head.status, head["content-length"], head["etag"], head.body) == (200, "1000", tag, b""), head.headers)
    for headers, status in (
        ([f"If-None-Match: {tag}"], 304), ([f"If-None-Match: W/{tag}"], 304), (["If-None-Match: *"], 304),
        ([f'If-None-Match: "x", {tag}'], 304), (['If-None-Match: "x"'], 200), ([f"If-Match: {tag}"], 200),
        (["If-Match: *"], 200), (['If-Match: "x"'], 412), ([f"If-Match: W/{tag}"], 412),
        ([f"If-Range: {tag}", "Range: bytes=0-9"], 206), (['If-Range: "x"', "Range: bytes=0-9"], 200),
        (["If-Range: Sun, 06 Nov 1994 08:49:37 GMT", "Range: bytes=0-9"], 200),
        ([f"If-None-Match: {tag}", "Range: bytes=0-9"], 304),
    ):
        found = ask(port, key, headers=headers)
        check(f"condition {headers}", found.status == status and found["etag"] == tag, (found.status, found.headers))
        if status in (304, 412):
            check(f"no body {headers}", found.body == b"", found.body)
    absent = ask(port, "/x.zarr/plain/3")
    check("absent", absent.status == 404 and ask(port, "/x.zarr/plain/9").status == 404)
    document = ask(port, "/x.zarr/plain/.zarray")
    check("document", document["content-type"] == "application/json" and json.loads(document.body)["shape"] == [4000])


def views(port):
    document = json.loads(ask(port, "/v3/x.zarr/zarr.json").body)
    copies = document["consolidated_metadata"]["metadata"]
    check("consolidated", set(copies) >= {"plain", "delta"} and document["zarr_format"] == 3, document)
    stored, raw = ask(port, "/v3/x.zarr/plain/c/0"), ask(port, "/x.zarr/plain/0")
    stored = stored if stored.status == 200 else ask(port, "/v3/x.zarr/plain/0")
    check("stored bytes", stored.body == raw.body and stored["x-zarr-view"] == "stored", stored.headers)
    codecs = [codec["name"] for codec in json.loads(ask(port, "/v3/x.zarr/delta/zarr.json").body)["codecs"]]
    check("recoded codecs", codecs == ["bytes", "zstd"], codecs)
    key = next(key for key in ("/v3/x.zarr/delta/c/0", "/v3/x.zarr/delta/0") if ask(port, key).status == 200)
    whole = ask(port, key)
    check("recoded", whole["x-zarr-view"] == "recoded" and whole["etag"], whole.headers)
    head = ask(port, key, "HEAD")
    check("HEAD of recoded", (head.status, head["content-length"], head["etag"]) == (200, str(len(whole.body)), whole["etag"]))
    part = ask(port, key, headers=["Range: bytes=-7"])
    check("range of recoded", (part.status, part.body) == (206, whole.body[-7:]), part.headers)
    check("304 of recoded", ask(port, key, headers=[f"If-None-Match: {whole['etag']}"]).status == 304)
    # Chunks of nothing but the fill value are absent, and those outside the grid.
    check("no chunk", all(ask(port, key[:-1] + last).status == 404 for last in ("3", "4", "00", "x")))
    for path in ("/", "/x.zarr/", "/x.zarr/plain/", "/v3/", "/v3/x.zarr/", "/v3/x.zarr/plain/"):
        page = ask(port, path)
        check(f"listing {path}", page.status == 200 and page["content-type"].startswith("text/html"), page.headers)
        check(f"policy {path}", "default-src 'none'" in (page["content-security-policy"] or "") or path == "/", page.headers)
    names = json.loads(ask(port, "/x.zarr/", headers=["Accept: application/json"]).body)
    check("JSON listing", {"plain", "delta"} <= set(names["folders"]) and ".zgroup" in names["keys"], names)
    check("hrefs", b'<a href="plain/">' in ask(port, "/v3/x.zarr/").body)
    moved = ask(port, "/x.zarr/plain")
    check("redirect", moved.status == 308 and moved["location"] == "./plain/", moved.headers)
    metrics = ask(port, "/metrics").body.decode()
    check("metrics", 'zarr_requests_total{status="2xx"}' in metrics and "zarr_chunks_recoded_total" in metrics, metrics)
    check("links out", all(ask(port, path).status == 403 for path in ("/x.zarr/link", "/x.zarr/out/secret", "/x.zarr/out/")))
    check("links inside", ask(port, "/x.zarr/inner/0").body == raw.body)


def cors(program, store):
    origin = ["Origin: https://viewer.example"]
    with serving(program, store) as server:
        answer = ask(server.port, "/x.zarr/.zgroup", headers=origin)
        check("CORS off", answer.status == 200 and not [name for name in answer.headers if "access-control" in name], answer.headers)
        ask(server.port, "/x.zarr/.zgroup", headers=origin)
        told = server.said().count("--cors https://viewer.example")
        check("hint, once", told == 1, server.said())
    with serving(program, store, "--cors") as server:
        for path, headers in (("/x.zarr/plain/0", []), ("/x.zarr/nothing", []), ("/x.zarr/plain/0", ["Range: bytes=5000-"]), ("/..", [])):
            answer = ask(server.port, path, headers=origin + headers)
            exposed = answer["access-control-expose-headers"] or ""
            check(f"CORS any {path}", answer["access-control-allow-origin"] == "*" and "Content-Range" in exposed, answer.headers)
        asked = ["Access-Control-Request-Method: GET", "Access-Control-Request-Headers: range", "Access-Control-Request-Private-Network: true"]
        preflight = ask(server.port, "/x.zarr/plain/0", "OPTIONS", origin + asked)
        allowed = [preflight[f"access-control-allow-{name}"] or "" for name in ("origin", "headers", "methods", "private-network")]
        check("preflight", preflight.status == 204 and allowed[0] == "*" and "Range" in allowed[1] and "GET" in allowed[2] and allowed[3] == "true", preflight.headers)
    with serving(program, store, "--cors", "https://viewer.example", "--cors", "http://localhost:3000") as server:
        known = ask(server.port, "/x.zarr/.zgroup", headers=origin)
        other = ask(server.port, "/x.zarr/.zgroup", headers=["Origin: https://other.example"])
        check("known origin", known["access-control-allow-origin"] == "https://viewer.example" and known["vary"] == "Origin", known.headers)
        check("other origin", other["access-control-allow-origin"] is None and other["vary"] == "Origin", other.headers)


def hostile(port, store):
    line = lambda target, method="GET", version="1.1": f"{method} {target} HTTP/{version}\r\nHost: localhost\r\n"
    end = "Connection: close\r\n\r\n"
    other = {
        "twice encoded": 404, "other host": 421, "host with address": 421, "absolute form of another": 421, "user": 421, "proxy": 421,
        "PUT": 405, "POST": 405, "DELETE": 405, "PATCH": 405, "TRACE": 405, "MKCOL": 405, "odd method": 405, "body": 413,
        "chunked body": 413, "smuggling": 413, "huge header": 431, "many headers": 431, "huge path": 431, "long name": 404,
        "deep path": 404, "deep numbers": 404, "deep numbers, listed": 404, "dots in the view": 404,
        # The connection is closed.
        "HTTP/2": None,
    }
    refused = {
        "traversal": line("/x.zarr/../outside/secret") + end,
        "encoded": line("/x.zarr/%2e%2e/outside/secret") + end,
        "half encoded": line("/x.zarr/.%2E/outside/secret") + end,
        "encoded slash": line("/x.zarr/..%2foutside%2fsecret") + end,
        "twice encoded": line("/x.zarr/%252e%252e/outside/secret") + end,
        "at once": line("/../../../../etc/passwd") + end,
        "absolute": line("//etc/passwd") + end,
        "through the view": line("/v3/x.zarr/../../etc/passwd") + end,
        "NUL": line("/x.zarr/plain/0%00.txt") + end,
        "backslash": line("/x.zarr/..%5c..%5coutside%5csecret") + end,
        "bare backslash": line("/x.zarr/..\\outside\\secret") + end,
        "no UTF-8": line("/x.zarr/%ff%fe") + end,
        "overlong": line("/x.zarr/%c0%ae%c0%ae/outside/secret") + end,
        "cut off": line("/x.zarr/%2") + end,
        "file URL": line("file:///etc/passwd") + end,
        "other host": "GET /x.zarr/.zgroup HTTP/1.1\r\nHost: evil.example\r\n" + end,
        "host with address": "GET /x.zarr/.zgroup HTTP/1.1\r\nHost: 127.0.0.1.evil.example\r\n" + end,
        "two hosts": line("/x.zarr/.zgroup") + "Host: evil.example\r\n" + end,
        "no host": "GET /x.zarr/.zgroup HTTP/1.1\r\n" + end,
        "absolute form of another": "GET http://evil.example/x.zarr/.zgroup HTTP/1.1\r\nHost: localhost\r\n" + end,
        "user": "GET http://a@evil.example/ HTTP/1.1\r\nHost: localhost\r\n" + end,
        "proxy": "CONNECT evil.example:443 HTTP/1.1\r\nHost: evil.example:443\r\n" + end,
        "PUT": line("/x.zarr/new", "PUT") + "Content-Length: 3\r\n" + end + "abc",
        "POST": line("/x.zarr/plain/0", "POST") + "Content-Length: 0\r\n" + end,
        "DELETE": line("/x.zarr/plain/0", "DELETE") + end,
        "PATCH": line("/x.zarr/plain/0", "PATCH") + end,
        "TRACE": line("/x.zarr/plain/0", "TRACE") + end,
        "MKCOL": line("/x.zarr/new/", "MKCOL") + end,
        "odd method": line("/x.zarr/plain/0", "G" * 300) + end,
        "body": line("/x.zarr/.zgroup") + "Content-Length: 5\r\n" + end + "hello",
        "chunked body": line("/x.zarr/.zgroup") + "Transfer-Encoding: chunked\r\n" + end + "5\r\nhello\r\n0\r\n\r\n",
        "endless body": line("/x.zarr/.zgroup") + "Content-Length: 99999999999999999999\r\n" + end,
        "smuggling": line("/x.zarr/.zgroup") + "Content-Length: 3\r\nTransfer-Encoding: chunked\r\n" + end + "0\r\n\r\nGET / HTTP/1.1\r\nHost: localhost\r\n\r\n",
        "huge header": line("/x.zarr/.zgroup") + f"X: {'x' * 70_000}\r\n" + end,
        "many headers": line("/x.zarr/.zgroup") + "".join(f"X-{i}: 1\r\n" for i in range(1000)) + end,
        "huge path": line("/x.zarr/" + "a" * 30_000) + end,
        "long name": line("/x.zarr/" + "a" * 3_000) + end,
        "deep path": line("/x.zarr" + "/a" * 3_000) + end,
        "deep numbers": line("/v3/x.zarr" + "/0" * 3_000) + end,
        "deep numbers, listed": line("/v3/x.zarr" + "/0" * 3_000 + "/") + end,
        "dots in the view": line("/v3/x.zarr/.../zarr.json") + end,
        "header without a name": line("/x.zarr/.zgroup") + ": x\r\n" + end,
        "folded header": line("/x.zarr/.zgroup") + "X: a\r\n b\r\n" + end,
        "no HTTP": "hello\r\n\r\n",
        "TLS": "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + "\x00" * 300,
        "HTTP/2": "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        "HTTP/3.7": line("/x.zarr/.zgroup", version="3.7") + end,
    }
    with ThreadPoolExecutor(16) as pool:
        answers = pool.map(lambda request: exchange(port, request.encode("latin-1")), refused.values())
    for (what, request), received in zip(refused.items(), answers):
        statuses = [int(status) for status in re.findall(rb"^HTTP/1\.1 (\d+) ", received, re.M)]
        due = [other.get(what, 400)] if other.get(what, 400) else []
        check(f"hostile: {what}", statuses == due and b"secret" not in received and b"root:" not in received, received)
    # Of our own absolute URI the path counts.
    own = exchange(port, f"GET http://localhost:{port}/x.zarr/.zgroup HTTP/1.1\r\nHost: localhost\r\n{end}".encode())
    check("own absolute form", own.startswith(b"HTTP/1.1 200"), own)
    check("methods", ask(port, "/x.zarr/plain/0", "DELETE")["allow"] == "GET, HEAD, OPTIONS" and ask(port, "/x.zarr/plain/0", "PUT").status == 405)
    check("nothing was written", not (store / "new").exists() and (store / "plain/0").exists())
    check("two requests on one connection", exchange(port, (line("/x.zarr/.zgroup") + "\r\n" + line("/x.zarr/.zgroup") + end).encode()).count(b"HTTP/1.1 200") == 2)


def slow(port):
    """A client that sends its headers slowly is let go, and one that says nothing."""
    began = time.monotonic()
    with socket.create_connection(("127.0.0.1", port), timeout=30) as silent, socket.create_connection(("127.0.0.1", port), timeout=30) as stream:
        stream.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\n")
        try:
            for _ in range(20):
                stream.sendall(b"X: y\r\n")
                time.sleep(1)
        except OSError:
            pass
        took = time.monotonic() - began
        check("slow headers", took < 15, took)
        silent.settimeout(10)
        try:
            left = silent.recv(1000)
        except OSError as error:
            left = error
        check("silence", left == b"" or isinstance(left, ConnectionError) or left.startswith(b"HTTP/1.1 408"), left)


def memory(process):
    text = Path(f"/proc/{process.pid}/status").read_text()
    return int(re.search(r"VmHWM:\s+(\d+)", text).group(1)) >> 10


def load(program, folder, seconds):
    """64 clients for a while: keys, ranges, the view, listings; and some that go away in the middle."""
    store = folder / "big.zarr"
    run = lambda *args, **more: subprocess.run([program, *map(str, args)], check=True, capture_output=True, **more)
    delta = ["--codec", DELTA % "<i4", "--codec", "zlib:1"]
    run("create", store, "--path", "a", "--format", "v2", "--shape", "4000,1000", "--chunks", "250,1000", "--dtype", "int32", *delta)
    data = b"".join((i * i % 65_521).to_bytes(4, "little") for i in range(4_000_000))
    run("put", store, "--path", "a", "--format", "raw", input=data)
    counts, errors, stop = [0, 0], [], threading.Event()
    with serving(program, store, "--memory", 64 << 20) as server:
        keys = [f"/v3/big.zarr/a/{{}}{i}.0" for i in range(16)]
        form = next(form for form in ("", "c/", "c.") if ask(server.port, keys[0].format(form)).status == 200)
        expected = {}
        paths = [key.format(form) for key in keys] + [f"/big.zarr/a/{i}.0" for i in range(16)]
        paths += ["/v3/big.zarr/zarr.json", "/v3/big.zarr/a/zarr.json", "/v3/big.zarr/a/", "/big.zarr/a/99.0"]
        for path in paths:
            answer = ask(server.port, path)
            expected[path] = (answer.status, answer.body)

        def client(number):
            i = number
            while not stop.is_set():
                i += 1
                path = paths[i * 7 % len(paths)]
                status, body = expected[path]
                try:
                    if i % 13 == 0:
                        with socket.create_connection(("127.0.0.1", server.port), timeout=30) as stream:
                            stream.sendall(f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
                            stream.recv(100)
                        counts[1] += 1
                        continue
                    if status == 200 and i % 5 == 0:
                        found = ask(server.port, path, headers=["Range: bytes=10-19"])
                        right = (found.status, found.body) in ((206, body[10:20]), (200, body))
                    else:
                        found = ask(server.port, path)
                        right = (found.status, found.body) == (status, body)
                    if not right:
                        errors.append(f"{path}: {found.status}, {len(found.body)} bytes")
                except OSError as error:
                    errors.append(f"{path}: {error}")
                counts[0] += 1

        threads = [threading.Thread(target=client, args=(number,)) for number in range(64)]
        for thread in threads:
            thread.start()
        time.sleep(seconds)
        stop.set()
        for thread in threads:
            thread.join(60)
        check("load", not errors, f"{len(errors)} of {counts[0]}: {errors[:3]}")
        check("load is some", counts[0] > 20 * seconds, counts)
        peak = memory(server.process)
        check("memory", peak < 400, f"{peak} MiB")
        metrics = ask(server.port, "/metrics").body.decode()
        cached = float(re.search(r"^zarr_cache_bytes (\S+)$", metrics, re.M).group(1))
        check("the cache has a bound", cached <= 16 << 20, cached)
        under_way = re.search(r"^zarr_requests_under_way (\S+)$", metrics, re.M).group(1)
        check("nothing is left under way", under_way == "1", under_way)
        print(f"load: {counts[0]} requests by 64 clients in {seconds} s, {counts[1]} cut off, no error; peak memory {peak} MiB")


def archives(program, folder):
    """Compressed entries are inflated when they are sent, and only then; memory that others have is 503, and what never fits 413."""
    value = os.urandom(24 << 20)
    path = folder / "x.zip"

    def write(small):
        # The old archive stays as it is for who has it open.
        with zipfile.ZipFile(folder / "new.zip", "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr(".zgroup", '{"zarr_format": 2}')
            archive.writestr("small", small)
            archive.writestr("broken", b"broken " * 1000)
            archive.writestr("large", value)
            archive.writestr("huge", value + value)
        data = bytearray((folder / "new.zip").read_bytes())
        # The data of the entry, behind its name: the directory stays as it is.
        at = data.index(b"broken") + 6
        data[at : at + 10] = bytes(10)
        (folder / "new.zip").write_bytes(data)
        os.replace(folder / "new.zip", path)

    write(b"small " * 1000)
    with serving(program, path, "--memory", 64 << 20) as server:
        small = ask(server.port, "/x.zip/small")
        check("an entry", (small.status, small.body) == (200, b"small " * 1000), small.headers)
        tag = small["etag"]
        part = ask(server.port, "/x.zip/small", headers=["Range: bytes=-7"])
        check("a range of an entry", (part.status, part.body) == (206, b" small "), part.headers)
        for what, method, headers, status in (
            ("GET", "GET", [], 500), ("a range", "GET", ["Range: bytes=0-1"], 500), ("HEAD", "HEAD", [], 200),
            ("HEAD of a range", "HEAD", ["Range: bytes=0-1"], 206), ("If-Match", "GET", ['If-Match: "x"'], 412), ("known", "GET", ["If-None-Match: *"], 304),
        ):
            found = ask(server.port, "/x.zip/broken", method, headers)
            check(f"a broken entry, {what}", found.status == status, (found.status, found.headers, found.body))
        huge = ask(server.port, "/x.zip/huge")
        check("what never fits", huge.status == 413 and b"--memory" in huge.body, (huge.status, huge.body[:300]))
        check("HEAD of what never fits", ask(server.port, "/x.zip/huge", "HEAD")["content-length"] == str(48 << 20))
        with socket.create_connection(("127.0.0.1", server.port)) as slow:
            slow.sendall(b"GET /x.zip/large HTTP/1.1\r\nHost: localhost\r\n\r\n")
            slow.recv(1000)
            began = time.monotonic()
            busy = ask(server.port, "/x.zip/large")
            took = time.monotonic() - began
            check("memory that others have", busy.status == 503 and busy["retry-after"] == "5" and took < 10, (busy.status, busy.headers, took))
            check("small ones go on", ask(server.port, "/x.zip/small").status == 200)
        again = ask(server.port, "/x.zip/large")
        check("memory that is free again", again.status == 200 and again.body == value, (again.status, again.headers))
        write(b"other " * 1000)
        other = until(lambda: ask(server.port, "/x.zip/small", headers=[f"If-None-Match: {tag}"]), lambda found: found.status != 304)
        check("another archive in its place", (other.status, other.body) == (200, b"other " * 1000), (other.status, other.headers))
        path.write_bytes(path.read_bytes()[:1000])
        lost = until(lambda: ask(server.port, "/x.zip/small"), lambda found: found.status != 200)
        check("an archive that is cut off", lost.status == 500 and str(folder) not in lost.body.decode(), (lost.status, lost.body))
        write(b"small " * 1000)
        whole = until(lambda: ask(server.port, "/x.zip/small"), lambda found: found.status == 200)
        check("the archive is whole again", whole.body == b"small " * 1000, (whole.status, whole.body[:300]))
    # An archive on a server.
    with serving(program, folder) as near:
        far = f"zip::http://127.0.0.1:{near.port}/{folder.name}/x.zip"
        with serving(program, far) as server:
            check("a far entry", ask(server.port, "/x.zip/small").body == b"small " * 1000)
            write(b"other " * 1000)
            again = until(lambda: ask(server.port, "/x.zip/small"), lambda found: found.body == b"other " * 1000)
            check("a far archive in its place", again.body == b"other " * 1000, (again.status, again.body[:300]))
    with serving(program, path) as server:
        other = ask(server.port, "/x.zip/small", headers=[f"If-None-Match: {tag}"])
        check("the tag of another archive", (other.status, other.body) == (200, b"other " * 1000), (other.status, other.headers))


def ends(program, store):
    """Ctrl-C: without answers under way at once; with one, when it ends; again, at once."""
    with serving(program, store) as server:
        ask(server.port, "/x.zarr/.zgroup")
        began = time.monotonic()
        check("a clean end", server.stop() == 0 and time.monotonic() - began < 3)
    big = store / "big"
    with big.open("wb") as file:
        file.truncate(1 << 30)
    for again, least, most in ((False, 4, 8), (True, 0, 3)):
        with serving(program, store) as server:
            with socket.create_connection(("127.0.0.1", server.port)) as stream:
                stream.sendall(b"GET /x.zarr/big HTTP/1.1\r\nHost: localhost\r\n\r\n")
                stream.recv(1000)
                began = time.monotonic()
                server.process.send_signal(signal.SIGINT)
                time.sleep(0.5)
                try:
                    socket.create_connection(("127.0.0.1", server.port), timeout=1).close()
                    is_open = True
                except OSError:
                    is_open = False
                check("no new connections", not is_open)
                if again:
                    server.process.send_signal(signal.SIGINT)
                code = server.process.wait(timeout=20)
                took = time.monotonic() - began
                check(f"the end, again {again}", least <= took <= most and code in (0, 130), (took, code))
    # Under load.
    with serving(program, store) as server:
        stop, errors = threading.Event(), []

        def client():
            while not stop.is_set():
                try:
                    ask(server.port, "/x.zarr/plain/0")
                except OSError:
                    return
                except Exception as error:
                    errors.append(error)

        threads = [threading.Thread(target=client) for _ in range(32)]
        for thread in threads:
            thread.start()
        time.sleep(1)
        began = time.monotonic()
        code = server.stop()
        stop.set()
        for thread in threads:
            thread.join(20)
        check("SIGINT under load", code == 0 and time.monotonic() - began < 6, (code, time.monotonic() - began))
    big.unlink()


def starts(program, store):
    run = lambda *args: subprocess.run([program, "serve", *map(str, args)], capture_output=True, text=True, timeout=20)
    check("nothing is there", run(store.parent / "nowhere.zarr").returncode == 3)
    check("no origin", run(store, "--cors", "viewer.example").returncode == 2)
    with serving(program, store, store, "--bind", "127.0.0.1") as server:
        taken = run(store, "--port", server.port)
        check("a port that is taken", taken.returncode == 2 and str(server.port) in taken.stderr, taken.stderr)
        check("names that collide", ask(server.port, "/x.zarr-2/.zgroup").status == 200)
    with serving(program, store, "--to", "v3", "--follow-links") as server:
        check("--to v3", json.loads(ask(server.port, "/x.zarr/zarr.json").body)["zarr_format"] == 3)
    with serving(program, store, "--follow-links", "--log", "--host", "data.example") as server:
        check("--follow-links", ask(server.port, "/x.zarr/link").body == b"secret")
        check("--host", ask(server.port, "/x.zarr/.zgroup", host="data.example:80").status == 200)
        check("other names", ask(server.port, "/x.zarr/.zgroup", host="other.example").status == 421)
        logged = re.compile(r"^\S+Z 127\.0\.0\.1 GET /x\.zarr/link 200 6 \S+ ms$", re.M)
        lines = until(server.said, logged.search)
        check("--log", logged.search(lines), lines)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("--seconds", type=int, default=5)
    given = parser.parse_args()
    program = os.path.abspath(given.program)
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder).resolve()
        store = make(program, folder)
        with serving(program, store) as server:
            slowly = threading.Thread(target=slow, args=(server.port,))
            slowly.start()
            ranges(server.port)
            views(server.port)
            hostile(server.port, store)
            slowly.join()
            check("it still serves", ask(server.port, "/x.zarr/.zgroup").status == 200)
        cors(program, store)
        archives(program, folder)
        starts(program, store)
        load(program, folder, given.seconds)
        ends(program, store)
    for failure in failures:
        print(failure)
    if failures:
        sys.exit(f"{len(failures)} wrong")
    print("ranges, validators, CORS, listings, hostile requests, and the end: as they should be")


if __name__ == "__main__":
    main()
