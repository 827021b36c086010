"""The program `zarr`, as `python -m zarrkit` and `zarrkit`."""

from __future__ import annotations

import os
import signal
import sys
from typing import NoReturn

from .netcdf import own_library

try:
    from ._zarrkit import run_program
except ImportError:
    sys.exit("zarrkit: this build has no program; it was left out with the feature `program`")


def main() -> NoReturn:
    """Runs the program with the arguments of the command line, and ends the process with its exit code."""
    # Python only notes a signal, and looks at it when the program is over.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    # The program looks for the plug-in beside its own file, which is Python's here.
    if plugin := own_library():
        os.environ.setdefault("ZARR_NETCDF_LIBRARY", str(plugin))
    sys.stdout.flush()
    sys.exit(run_program(["zarrkit", *sys.argv[1:]]))


if __name__ == "__main__":
    main()
