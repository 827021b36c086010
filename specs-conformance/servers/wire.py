"""A wire to a server, which may fail: then every fifth request goes wrong.

In turn: status 503 without asking the server; a connection that ends once the server has done what it was told; a body
that breaks off in the middle, or, where there is nothing but a status, the connection; an answer two seconds late. How many did so far is the answer to `GET /faults`.

It lets one request at a time through: the servers here compare an ETag, and only then begin to write. One that keeps
keys as files takes the beginning of a key for a folder, and fails where S3 says that there is no such key; its wire says
so in its place.
"""

import collections
import html
import http.client
import http.server
import itertools
import os
import re
import socket
import sys
import threading
import time
import urllib.parse

STALL = 2.0
KINDS = ["503", "dropped", "truncated", "stall"]
PASSED_BY = {"connection", "transfer-encoding", "content-length", "keep-alive"}


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def handle_error(self, *_):
        """A caller that went away, or a server that ended the connection: told if the run fails."""
        self.broken[repr(sys.exception())] += 1


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = 1 << 16
    upstream = 0
    requests = None
    counts = None
    every = 0
    folder = None
    turn = threading.Lock()

    def hand_on(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        if self.path == "/faults":
            return self.reply(200, [], str(sum(self.counts.values())).encode())
        number = next(self.requests)
        fault = None
        if self.every and number % self.every == 0:
            fault = KINDS[number // self.every % len(KINDS)]
        if fault:
            self.counts[fault] += 1
        if fault == "503":
            return self.reply(503, [("Retry-After", "0")], b"")
        if fault == "stall":
            time.sleep(STALL)
        with self.turn:
            status, headers, answer, length = self.absent(body) or self.ask(body)
        if fault == "dropped" or (fault == "truncated" and (not answer or status >= 300)):
            self.close_connection = True
            return None
        if fault == "truncated":
            self.begin(status, headers, len(answer))
            self.wfile.write(answer[: len(answer) // 2])
            self.wfile.flush()
            self.close_connection = True
            return None
        self.reply(status, headers, answer, length)

    do_GET = do_HEAD = do_PUT = do_POST = do_DELETE = hand_on

    def absent(self, body):
        """What is to be said of the beginnings of keys, if nothing else is asked for."""
        path, _, query = self.path.partition("?")
        path = urllib.parse.unquote(path).strip("/")
        if self.command == "POST" and query.startswith("delete"):
            keys = [html.unescape(key.decode()) for key in re.findall(b"<Key>(.*?)</Key>", body)]
        else:
            keys = [] if query else path.split("/", 1)[1:]
        bucket = os.path.join(self.folder or "", path.split("/", 1)[0])
        if not self.folder or not keys or not all(os.path.isdir(f"{bucket}/{key}") for key in keys):
            return None
        if self.command == "POST":
            deleted = "".join(f"<Deleted><Key>{html.escape(key)}</Key></Deleted>" for key in keys)
            status, answer = 200, f"<DeleteResult>{deleted}</DeleteResult>"
        elif self.command == "DELETE":
            status, answer = 204, ""
        elif self.command in ("GET", "HEAD"):
            status, answer = 404, "<Error><Code>NoSuchKey</Code></Error>"
        else:
            return None
        return status, [("Content-Type", "application/xml")], answer.encode(), len(answer)

    def ask(self, body):
        """The server's answer. The request is as it came: its host is part of what is signed. It goes in one piece, and by a
        connection that no request had before: a server that refuses a value before it has read it ends the connection."""
        lines = [f"{self.command} {self.path} HTTP/1.1", "Connection: close"]
        lines += [f"{name}: {value}" for name, value in self.headers.items() if name.lower() not in PASSED_BY]
        if body or self.command in ("PUT", "POST"):
            lines.append(f"Content-Length: {len(body)}")
        request = "\r\n".join([*lines, "", ""]).encode("latin-1") + body
        with socket.create_connection(("127.0.0.1", self.upstream), timeout=60) as upstream:
            upstream.sendall(request)
            answer = http.client.HTTPResponse(upstream, method=self.command)
            answer.begin()
            headers = [(name, value) for name, value in answer.getheaders() if name.lower() not in PASSED_BY]
            return answer.status, headers, answer.read(), answer.headers.get("Content-Length")

    def begin(self, status, headers, length):
        self.send_response_only(status)
        for name, value in headers:
            self.send_header(name, value)
        if status != 204:
            self.send_header("Content-Length", str(length))
        self.end_headers()

    def reply(self, status, headers, answer, length=None):
        is_head = self.command == "HEAD"
        self.begin(status, headers, length or 0 if is_head else len(answer))
        if not is_head:
            self.wfile.write(answer)

    def log_message(self, *_):
        pass


def serve(upstream, every=0, folder=None):
    """A wire to a port of this machine, from a thread; the server. `folder` is where that one keeps keys as files."""
    members = {
        "upstream": upstream,
        "requests": itertools.count(1),
        "counts": dict.fromkeys(KINDS, 0),
        "every": every,
        "folder": folder,
    }
    server = Server(("127.0.0.1", 0), type("Handler", (Handler,), members))
    server.broken = collections.Counter()
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server
