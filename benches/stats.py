#!/usr/bin/env python3
"""Measures `zarr stats` beside xarray with Dask: count, least, greatest, mean and standard deviation of 1 GiB.

    cargo build --release -p zarr-cli
    python3 -m venv scratch/venv/stats && scratch/venv/stats/bin/pip install -r specs-conformance/interop/netcdf_c.txt dask
    scratch/venv/stats/bin/python benches/stats.py target/release/zarr [FOLDER]

Three arrays of 1 GiB of elements (`ZARR_BENCH_GIB`): float32 as it is, float32 in zstd, and int16 packed by scale and offset with missing
values, in zstd. Each program runs in a process of its own, by turns, `ZARR_BENCH_ROUNDS` times, 3 unless given; the median of the seconds
counts, with the start of the process. Peaks are those of the processes (Linux). Both have to find the same.
"""

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

GIB = float(os.environ.get("ZARR_BENCH_GIB", "1"))
ROUNDS = int(os.environ.get("ZARR_BENCH_ROUNDS", "3"))
CHUNKS = (16, 256, 256)
DASK = """
import json, sys, warnings
warnings.simplefilter("ignore")
import dask, xarray
found = xarray.open_zarr(sys.argv[1], consolidated=False)["a"]
count, least, most, mean, std = dask.compute(found.count(), found.min(), found.max(), found.mean(), found.std())
names = ("count", "min", "max", "mean", "std")
print(json.dumps({name: float(value) for name, value in zip(names, (count, least, most, mean, std))}))
"""


def write(place, kind):
    """An array in `place`, written in slabs by xarray's writer of today."""
    import numpy as np
    import zarr

    size = 4 if kind.startswith("f") else 2
    slabs = max(1, round(GIB * 2**30 / (size * 1024 * 1024 * CHUNKS[0]))) * CHUNKS[0]
    random = np.random.default_rng(7)
    # Four slabs, again and again: values that vary slowly, with noise.
    base = 280 + 10 * np.sin(np.arange(1024) / 100)[None, :, None] + np.cos(np.arange(1024) / 70)[None, None, :]
    group = zarr.open_group(place, mode="w", zarr_format=3)
    compressors = None if kind == "f4-plain" else [zarr.codecs.ZstdCodec(level=1)]
    array = group.create_array(
        "a", shape=(slabs, 1024, 1024), chunks=CHUNKS, dtype=kind[:2], compressors=compressors, dimension_names=["t", "y", "x"]
    )
    if kind == "i2-packed":
        array.attrs.update({"scale_factor": 0.01, "add_offset": 273.15, "_FillValue": -32768})
    for at in range(0, slabs, CHUNKS[0]):
        values = base + random.normal(0, 0.5, (CHUNKS[0], 1024, 1024)).round(3)
        if kind == "i2-packed":
            values = np.round((values - 273.15) / 0.01)
            values[random.random(values.shape) < 0.05] = -32768
        array[at : at + CHUNKS[0]] = values.astype(kind[:2])


def run(*command):
    """What a command prints, its seconds, and its peak of memory in MiB."""
    begun = time.monotonic()
    child = subprocess.Popen(command, stdout=subprocess.PIPE)
    printed = child.stdout.read()
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode:
        sys.exit(f"{command[:3]}: exit code {child.returncode}")
    return json.loads(printed), time.monotonic() - begun, usage.ru_maxrss / 1024


def main():
    if sys.argv[1] == "--write":
        write(*sys.argv[2:])
        return
    program = os.path.abspath(sys.argv[1])
    with tempfile.TemporaryDirectory(dir=sys.argv[2] if len(sys.argv) > 2 else None) as folder:
        print(f"{GIB:g} GiB, {os.cpu_count()} processors, load {os.getloadavg()[0]:.1f}")
        for kind in ("f4-plain", "f4-zstd", "i2-packed"):
            place = f"{folder}/{kind}.zarr"
            # Another process: the peak of a child begins with that of its parent.
            subprocess.run([sys.executable, __file__, "--write", place, kind], check=True)
            commands = {
                "zarr": (program, "stats", place, "--path", "a", "--json"),
                "dask": (sys.executable, "-c", DASK, place),
            }
            times, peaks, found = {name: [] for name in commands}, dict.fromkeys(commands, 0), {}
            for _ in range(ROUNDS):
                for name, command in commands.items():
                    found[name], seconds, peak = run(*command)
                    times[name].append(seconds)
                    peaks[name] = max(peaks[name], peak)
            ours, theirs = found["zarr"], found["dask"]
            assert ours["count"] == theirs["count"], (ours["count"], theirs["count"])
            # xarray may decode to f32 and add in f32.
            for name in ("min", "max", "mean", "std"):
                assert abs(ours[name] - theirs[name]) <= 1e-3 * abs(theirs[name]), (name, ours[name], theirs[name])
            median = {name: statistics.median(seconds) for name, seconds in times.items()}
            chunk = 4 if kind.startswith("f") else 2
            chunk = chunk * CHUNKS[0] * CHUNKS[1] * CHUNKS[2] / 2**20
            print(
                f"{kind}: zarr {median['zarr']:.2f} s, {peaks['zarr']:.0f} MiB; xarray and Dask {median['dask']:.2f} s, {peaks['dask']:.0f} MiB; "
                f"ratio {median['dask'] / median['zarr']:.1f}; chunks of {chunk:g} MiB"
            )
            subprocess.run(["rm", "-rf", place], check=True)


if __name__ == "__main__":
    main()
