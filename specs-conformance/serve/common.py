"""Starts `zarr serve`."""

import contextlib
import signal
import subprocess
import tempfile
import time


def settle():
    """A file that was written a moment ago has another tag than it has later: its time alone cannot tell it from what may be written next."""
    time.sleep(0.3)


class Serving:
    """A server under way: its URL, its port, its process, and the file with what it says on standard error."""

    def __init__(self, process, told):
        self.process = process
        self.told = told
        self.url = process.stdout.readline().strip()
        if not self.url.startswith("http://127.0.0.1:"):
            raise RuntimeError(f"the first line is {self.url!r}: {self.said()}")
        self.port = int(self.url.rstrip("/").rsplit(":", 1)[1])

    def said(self):
        with open(self.told.name) as told:
            return told.read()

    def stop(self):
        self.process.send_signal(signal.SIGINT)
        return self.process.wait(timeout=10)


@contextlib.contextmanager
def serving(program, *arguments):
    """`zarr serve` with these arguments at a free port, until the end of the block."""
    with tempfile.NamedTemporaryFile() as told:
        command = [program, "serve", *map(str, arguments), "--port", "0"]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=told, text=True)
        try:
            yield Serving(process, told)
        finally:
            if process.poll() is None:
                process.kill()
            process.wait()
            process.stdout.close()
