"""Makes two parts of a dataset, in which one chunk of `m` was stored without the shuffle that comes before its compression.

    python3 -m venv a; a/bin/pip install h5py numpy
    a/bin/python make_skipped.py
"""

import zlib
from pathlib import Path

import h5py
import numpy as np

HERE = Path(__file__).parent / "joined"

for number in (1, 2):
    with h5py.File(HERE / f"skipped-{number}.h5", "w") as file:
        t = file.create_dataset("t", data=np.arange(2, dtype="<i4") + 2 * number)
        t.make_scale("t")
        good = file.create_dataset("good", data=np.arange(2, dtype="<f8") + 10 * number)
        good.dims[0].attach_scale(t)
        m = file.create_dataset("m", (4, 4), "<i4", chunks=(2, 4), compression="gzip", shuffle=True)
        m[...] = 1
        m.id.write_direct_chunk((2, 0), zlib.compress(np.arange(8, dtype="<i4").tobytes()), filter_mask=1)
    with h5py.File(HERE / f"skipped-{number}.h5") as file:
        assert file["m"][2, 1] == 1
