"""Counts what zarr-python's own code did in place of `zarrkit.Pipeline`, and why."""

import os
import threading
from collections import Counter

from ._errors import UnsupportedError

_lock = threading.Lock()
_counts: Counter[str] = Counter()
_strict = os.environ.get("ZARRKIT_STRICT", "") not in ("", "0")


def fallbacks(reset: bool = False) -> dict[str, int]:
    """How many reads and writes of this process `zarrkit.Pipeline` has left to zarr-python's own pipeline, by reason.

    With `reset` counting begins again.
    """
    with _lock:
        found = dict(_counts)
        if reset:
            _counts.clear()
    return found


def strict_pipeline(strict: bool = True) -> bool:
    """Whether `zarrkit.Pipeline` raises `UnsupportedError` in place of falling back; returns what held before.

    The environment variable `ZARRKIT_STRICT=1` switches it on from the start.
    """
    global _strict
    before, _strict = _strict, bool(strict)
    return before


def note(reason: str) -> None:
    """Counts one call that falls back.

    Raises `UnsupportedError` in strict mode.
    """
    with _lock:
        _counts[reason] += 1
    if _strict:
        raise UnsupportedError(
            f"zarrkit.Pipeline would fall back on zarr-python's own pipeline: {reason}; "
            "zarrkit.strict_pipeline(False) allows that"
        )
