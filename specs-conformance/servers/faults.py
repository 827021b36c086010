"""A wire that fails: hands requests on to a server, and every fifth one goes wrong.

In turn: status 503 without asking the server; a connection that ends once the server has done what it was told; a body
that breaks off in the middle; an answer two seconds late. How many did so far is the answer to `GET /faults`.
"""

import http.client
import http.server
import itertools
import threading
import time

EVERY = 5
STALL = 2.0
KINDS = ["503", "dropped", "truncated", "stall"]
PASSED_BY = {"connection", "transfer-encoding", "content-length", "keep-alive"}


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    upstream = 0
    requests = None
    counts = None

    def hand_on(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        if self.path == "/faults":
            return self.reply(200, [], str(sum(self.counts.values())).encode())
        number = next(self.requests)
        fault = KINDS[number // EVERY % len(KINDS)] if number % EVERY == 0 else None
        if fault:
            self.counts[fault] += 1
        if fault == "503":
            return self.reply(503, [("Retry-After", "0")], b"")
        if fault == "stall":
            time.sleep(STALL)
        status, headers, answer, length = self.ask(body)
        if fault == "dropped" or (fault == "truncated" and not answer):
            self.close_connection = True
            return self.connection.close()
        if fault == "truncated":
            self.begin(status, headers, len(answer))
            self.wfile.write(answer[: len(answer) // 2])
            self.wfile.flush()
            self.close_connection = True
            return self.connection.close()
        self.reply(status, headers, answer, length)

    do_GET = do_HEAD = do_PUT = do_POST = do_DELETE = hand_on

    def ask(self, body):
        """The server's answer. The request is as it came: its host is part of what is signed."""
        upstream = http.client.HTTPConnection("127.0.0.1", self.upstream, timeout=60)
        upstream.putrequest(self.command, self.path, skip_host=True, skip_accept_encoding=True)
        for name, value in self.headers.items():
            if name.lower() not in PASSED_BY:
                upstream.putheader(name, value)
        if body or self.command in ("PUT", "POST"):
            upstream.putheader("Content-Length", str(len(body)))
        upstream.endheaders(body)
        answer = upstream.getresponse()
        headers = [(n, v) for n, v in answer.getheaders() if n.lower() not in PASSED_BY]
        found = answer.status, headers, answer.read(), answer.headers.get("Content-Length")
        upstream.close()
        return found

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


def serve(upstream):
    """A failing wire to a port of this machine, from a thread; the server."""
    members = {
        "upstream": upstream,
        "requests": itertools.count(1),
        "counts": dict.fromkeys(KINDS, 0),
    }
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), type("Handler", (Handler,), members))
    server.daemon_threads = True
    server.request_queue_size = 128
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server
