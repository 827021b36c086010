"""Prints how long small reads and writes take, in microseconds: zarrkit, zarr-python and, if it is installed, tensorstore, in one run.

`python crates/zarr-python/suites/small_calls.py [FOLDER]`, with a release build of zarrkit. The median of rounds that alternate
between the packages; the folder is best one in memory.
"""

import statistics
import sys
import tempfile
import time

import numpy as np
import zarr

import zarrkit

ROUNDS, CALLS = 15, 40


def packages(url, expected):
    zarr.create_array(url, name="a", shape=expected.shape, chunks=(16, 16, 16), dtype=expected.dtype)[...] = expected
    yield "zarrkit", zarrkit.open(url, "r+")["a"], lambda array, key: array[key], lambda array, key, value: array.__setitem__(key, value)
    yield "zarr-python", zarr.open_array(url, path="a", mode="r+"), lambda array, key: array[key], lambda array, key, value: array.__setitem__(key, value)
    try:
        import tensorstore
    except ImportError:
        return
    spec = {"driver": "zarr3", "kvstore": f"file://{url}/a/", "cache_pool": {"total_bytes_limit": 0}}
    opened = tensorstore.open(spec, context=tensorstore.Context()).result()

    def write(array, key, value):
        array[key] = value

    yield "tensorstore", opened, lambda array, key: array[key].read().result(), write


def main(folder):
    expected = np.random.default_rng(0).normal(size=(64, 64, 64)).astype("f4")
    found = list(packages(folder, expected))
    value = np.ones((4, 4, 4), "f4")
    places = [np.s_[a : a + 4, b : b + 4, c : c + 4] for a, b, c in np.random.default_rng(1).integers(0, 60, (CALLS, 3))]
    inside = [np.s_[a * 16 + 3 : a * 16 + 7, b * 16 : b * 16 + 4, 8:12] for a, b in np.random.default_rng(2).integers(0, 4, (CALLS, 2))]
    rows = {
        "read 4x4x4 inside a chunk": (inside, lambda read, write, array, key: read(array, key)),
        "read 4x4x4 anywhere": (places, lambda read, write, array, key: read(array, key)),
        "read one element": ([(key[0].start, key[1].start, key[2].start) for key in places], lambda read, write, array, key: read(array, key)),
        "read 16x16x16, one chunk": ([np.s_[16:32, :16, 16:32]] * CALLS, lambda read, write, array, key: read(array, key)),
        "write 4x4x4 inside a chunk": (inside, lambda read, write, array, key: write(array, key, value)),
    }
    print(f"{'':28}" + "".join(f"{name:>14}" for name, *_ in found))
    for row, (keys, call) in rows.items():
        times = {name: [] for name, *_ in found}
        for _ in range(ROUNDS):
            for name, array, read, write in found:
                begin = time.perf_counter()
                for key in keys:
                    call(read, write, array, key)
                times[name].append((time.perf_counter() - begin) / len(keys) * 1e6)
        print(f"{row:28}" + "".join(f"{statistics.median(taken):14.1f}" for taken in times.values()), flush=True)


if __name__ == "__main__":
    if len(sys.argv) > 1:
        main(sys.argv[1])
    else:
        with tempfile.TemporaryDirectory() as folder:
            main(folder)
