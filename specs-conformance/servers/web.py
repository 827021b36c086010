"""A folder on the web: files, ranges of them, and whether they are still what they were."""

import http.server
import os
import re
import threading
import urllib.parse


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = 1 << 16
    root = ""

    def do_HEAD(self):
        self.answer(body=False)

    def do_GET(self):
        self.answer(body=True)

    def answer(self, body):
        path = urllib.parse.unquote(self.path.split("?")[0]).lstrip("/")
        path = os.path.normpath(os.path.join(self.root, path))
        inside = path.startswith(self.root + os.sep)
        if not inside or not os.path.isfile(path):
            return self.refuse(404)
        with open(path, "rb") as file:
            state = os.fstat(file.fileno())
            etag = f'"{state.st_ino:x}-{state.st_mtime_ns:x}-{state.st_size:x}"'
            wanted = self.headers.get("If-Match")
            if wanted not in (None, "*", etag):
                return self.refuse(412)
            span = self.range(state.st_size)
            if span is None:
                return self.refuse(416, {"Content-Range": f"bytes */{state.st_size}"})
            start, end, status = span
            self.send_response(status)
            self.send_header("Content-Length", str(end - start))
            self.send_header("Accept-Ranges", "bytes")
            self.send_header("ETag", etag)
            self.send_header("Last-Modified", self.date_time_string(state.st_mtime))
            if status == 206:
                self.send_header("Content-Range", f"bytes {start}-{end - 1}/{state.st_size}")
            self.end_headers()
            if body:
                file.seek(start)
                self.wfile.write(file.read(end - start))

    def range(self, size):
        """The first byte, the one after the last, and the status; None if the range leaves the file."""
        found = re.fullmatch(r"bytes=(\d*)-(\d*)", self.headers.get("Range", ""))
        if not found or found.group(0) == "bytes=-":
            return 0, size, 200
        first, last = found.groups()
        if first == "":
            start, end = max(size - int(last), 0), size
        else:
            start, end = int(first), min(int(last) + 1, size) if last else size
        return (start, end, 206) if start < end else None

    def refuse(self, status, headers={}):
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_):
        pass


def serve(root):
    """Serves a folder on a free port, from a thread; the server."""
    handler = type("Handler", (Handler,), {"root": os.path.realpath(root)})
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server
