"""Finds the package beside the tests, built by `crates/zarr-python/develop`; with ZARRKIT_INSTALLED=1 the installed one."""

import os
import signal
import sys
from pathlib import Path

if not os.environ.get("ZARRKIT_INSTALLED"):
    sources = str(Path(__file__).resolve().parent.parent / "python")
    sys.path.insert(0, sources)
    # For the processes that tests start.
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [sources, os.environ.get("PYTHONPATH")]))

# A shell starts what runs in the background with SIGINT ignored, and Python leaves it so. The tests of Ctrl-C need it.
signal.signal(signal.SIGINT, signal.default_int_handler)
