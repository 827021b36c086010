"""How far a call has come that works on a whole tree."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, NamedTuple


class TreeProgress(NamedTuple):
    """How far a call has come. `path` is the node that is worked on, if that is known; `done` and `total` count bytes of elements, or, when
    data are validated, stored values."""

    path: str | None
    done: int
    total: int


def callback(progress: bool | Callable[[TreeProgress], Any] | None, what: str, *, bytes: bool = True) -> Callable[[TreeProgress], Any] | None:
    """The function that takes progress: that of the caller, one that draws a bar on standard error for `True`, or None."""
    if progress is None or progress is False:
        return None
    if progress is True:
        return _Bar(what, bytes)
    if not callable(progress):
        raise TypeError(f"`progress` must be True, False or a function of one argument, not {type(progress)}")
    return progress


class _Bar:
    """Draws with tqdm, if that is installed; else writes a line where a person reads it."""

    def __init__(self, what: str, bytes: bool) -> None:
        self.what, self.bytes = what, bytes
        self.bar: Any = None
        try:
            from tqdm.auto import tqdm
        except ImportError:
            tqdm = None
        self.tqdm: Any = tqdm

    def __call__(self, progress: TreeProgress) -> None:
        if self.tqdm is None:
            self.write(progress)
            return
        if self.bar is None:
            unit: dict[str, Any] = {"unit": "B", "unit_scale": True, "unit_divisor": 1024} if self.bytes else {"unit": "value"}
            self.bar = self.tqdm(desc=self.what, **unit)
        self.bar.total = progress.total
        self.bar.update(progress.done - self.bar.n)
        if progress.done >= progress.total:
            self.bar.close()

    def write(self, progress: TreeProgress) -> None:
        if not sys.stderr.isatty():
            return
        share = progress.done / progress.total if progress.total else 1.0
        count = size(progress.done) if self.bytes else f"{progress.done:,}"
        end = "\n" if progress.done >= progress.total else ""
        print(f"\r{self.what}: {share:4.0%}, {count}   ", end=end, file=sys.stderr, flush=True)


def size(count: int) -> str:
    """A number of bytes for people: `1.5 MiB`."""
    value = float(count)
    for unit in ("B", "KiB", "MiB", "GiB", "TiB"):
        if value < 1024:
            return f"{value:.0f} {unit}" if unit == "B" else f"{value:.1f} {unit}"
        value /= 1024
    return f"{value:.1f} PiB"
