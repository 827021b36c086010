"""Reads numbers of bytes as people write them."""

import re

_UNITS = {"": 1, "b": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12, "ki": 2**10, "mi": 2**20, "gi": 2**30, "ti": 2**40}


def bytes_of(size: int | str | None) -> int | None:
    """A number of bytes: an integer, or text such as "2GiB"."""
    if size is None:
        return None
    if isinstance(size, str):
        match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([kmgt]?i?)b?\s*", size, re.IGNORECASE)
        if match is not None and match[2].lower() in _UNITS:
            return int(float(match[1]) * _UNITS[match[2].lower()])
    elif hasattr(size, "__index__") and not isinstance(size, bool) and 0 <= size < 2**63:
        return int(size)
    raise ValueError(f'expected a number of bytes, such as 2**30 or "512MiB", not {size!r}')
