"""A bar that shows the progress of a call: tqdm's, if that is installed, else a line on the terminal."""

import sys
import time


def bar():
    """Something to call with each `Progress`, and to close."""
    try:
        from tqdm.auto import tqdm
    except ImportError:
        return Line()
    return Tqdm(tqdm)


class Tqdm:
    """A bar of tqdm."""

    def __init__(self, tqdm):
        self._tqdm, self._bar = tqdm, None

    def __call__(self, now):
        if self._bar is None:
            self._bar = self._tqdm(total=now.chunks_total, unit="chunk")
        self._bar.update(now.chunks_done - self._bar.n)

    def close(self):
        if self._bar is not None:
            self._bar.close()


class Line:
    """A line on the terminal, written again and again; nothing if standard error is no terminal."""

    def __init__(self, stream=None):
        self._stream = sys.stderr if stream is None else stream
        self._shown = self._stream is not None and self._stream.isatty()
        self._began, self._width = time.monotonic(), 0

    def __call__(self, now):
        if not self._shown:
            return
        seconds = max(time.monotonic() - self._began, 1e-9)
        part = now.chunks_done / max(now.chunks_total, 1)
        left = seconds / part - seconds if part else 0
        text = f"{part:4.0%} {now.chunks_done} of {now.chunks_total} chunks, {now.bytes_done / seconds / 1e6:.0f} MB/s, {left:.0f} s left"
        self._stream.write("\r" + text.ljust(self._width))
        self._stream.flush()
        self._width = len(text)

    def close(self):
        if self._width:
            self._stream.write("\n")
            self._stream.flush()
