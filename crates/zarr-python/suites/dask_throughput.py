"""Times of Dask writes, ours beside zarr-python's, in one run: `dask_throughput.py [RUNS]`, with Dask, distributed and zarr-python.

256 blocks of 50 x 50 into 16 shards of 200 x 200, and as many larger ones; four processes on this machine. Each row is the median of the runs, which take
turns, and how many elements were wrong in the worst.
"""

import shutil
import statistics
import sys
import tempfile
import time

import dask.array as da
import distributed
import numpy as np
import zarr

import zarrkit
import zarrkit.dask


def numbers(shape, chunks, run):
    """Elements that the workers make, none of them 0; they do not compress well."""
    rows, columns = (da.arange(length, chunks=chunk, dtype="i8") for length, chunk in zip(shape, chunks, strict=True))
    return ((rows[:, None] * 7919 + columns[None, :] ** 2 * 104729 + run) % 65521 + 1).astype("f4")


def cases(blocks, aligned, ours, theirs):
    return {
        "zarr-python, misaligned, no lock": (lambda: da.store(blocks, theirs, lock=False), theirs),
        "zarr-python, misaligned, Dask's lock": (lambda: da.store(blocks, theirs, lock=True), theirs),
        "zarr-python, aligned": (lambda: da.store(aligned, theirs, lock=False), theirs),
        "zarrkit, misaligned, da.store": (lambda: da.store(blocks, ours, lock=False), ours),
        "zarrkit, misaligned, mode guard": (lambda: zarrkit.dask.store(blocks, ours, "guard"), ours),
        "zarrkit, misaligned, mode plan": (lambda: zarrkit.dask.store(blocks, ours, "plan"), ours),
        "zarrkit, aligned, da.store": (lambda: da.store(aligned, ours, lock=False), ours),
        "zarrkit, aligned, mode strict": (lambda: zarrkit.dask.store(aligned, ours, "strict"), ours),
    }


def measure(folder, scale, runs):
    shape, shard, block = (800 * scale,) * 2, (200 * scale,) * 2, (50 * scale,) * 2
    times, wrong = {}, {}
    for run in range(runs):
        made = [numbers(shape, chunks, run) for chunks in (block, shard)]
        elements = made[0].compute()
        for name in cases(*made, None, None):
            at = f"{folder}/{scale}-{run}-{len(times)}.zarr"
            layout = {"shape": shape, "shards": shard, "chunks": block, "dtype": "f4"}
            if name.startswith("zarrkit"):
                target = zarrkit.create_array(at, "/", codecs=["zstd:0"], **layout)
            else:
                target = zarr.create_array(at, overwrite=True, **layout)
            work, target = cases(*made, target, target)[name]
            start = time.perf_counter()
            work()
            times.setdefault(name, []).append(time.perf_counter() - start)
            wrong[name] = max(wrong.get(name, 0), int((target[...] != elements).sum()))
            shutil.rmtree(at)
    print(f"\nshards of {4 * np.prod(shard) / 1e6:.2f} MB, {runs} runs\n\n| | seconds | wrong |\n|---|---|---|")
    for name, taken in times.items():
        print(f"| {name} | {statistics.median(taken):.2f} | {100 * wrong[name] / np.prod(shape):.0f} % |")


def main():
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 3
    options = {"n_workers": 4, "threads_per_worker": 1, "dashboard_address": None, "memory_limit": 0, "host": "127.0.0.1"}
    with distributed.LocalCluster(**options) as cluster, distributed.Client(cluster), tempfile.TemporaryDirectory() as folder:
        for scale in (1, 8):
            measure(folder, scale, runs)


if __name__ == "__main__":
    main()
