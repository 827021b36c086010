"""The program `zarr`, as `python -m zarrkit` and `zarrkit`."""

from __future__ import annotations

import signal
import sys
from typing import NoReturn

try:
    from ._zarrkit import run_program
except ImportError:
    sys.exit("zarrkit: this build has no program; it was left out with the feature `program`")


def main() -> NoReturn:
    """Runs the program with the arguments of the command line, and ends the process with its exit code."""
    # Python only notes a signal, and looks at it when the program is over.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    sys.stdout.flush()
    sys.exit(run_program(["zarrkit", *sys.argv[1:]]))


if __name__ == "__main__":
    main()
