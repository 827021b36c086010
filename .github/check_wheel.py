"""Checks that an installed zarrkit writes, reads and runs its program: `python .github/check_wheel.py`."""

import pickle
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

import zarrkit

with tempfile.TemporaryDirectory() as folder:
    path = str(Path(folder) / "a.zarr")
    array = zarrkit.create_array(path, "/a", shape=(50, 60), chunks=(20, 20), dtype="f4", codecs=["zstd:3"])
    elements = np.arange(3000, dtype="f4").reshape(50, 60)
    array[...] = elements
    assert np.array_equal(pickle.loads(pickle.dumps(array))[::-2, 5:], elements[::-2, 5:])
    subprocess.run([sys.executable, "-m", "zarrkit", "info", path], check=True)
print(f"zarrkit {zarrkit.__version__} works with Python {sys.version.split()[0]} and NumPy {np.__version__}")
