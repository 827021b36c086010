#!/usr/bin/env python3
"""Measures the program itself: `zarr copy` of thin slabs into cubes, with a bound on memory and without.

    cargo build --release -p zarr-cli
    benches/program.py target/release/zarr [FOLDER]

The source is a folder of which four slabs are stored once; all other chunks are hard links to them, so that 4 GiB of elements
(`ZARR_BENCH_GIB`) take little of the disk. The target is a folder, and is erased after each copy. Both copies run
`ZARR_BENCH_ROUNDS` times, 3 unless given, by turns. FOLDER is made if it is absent; without one, it is the system's for temporary files. Peaks are those of the processes, as the system counts them (Linux). The
first copies of each are compared with the source, element by element, by `zarr diff`.
"""

import array
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

SIDE = 1024
STORED = 4
BOUND = "256MiB"


def run(*command, stdin=None):
    """Runs a command; its seconds, and its peak of memory in MiB."""
    begun = time.monotonic()
    child = subprocess.Popen(command, stdin=subprocess.PIPE if stdin else None)
    if stdin:
        child.stdin.write(stdin)
        child.stdin.close()
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode != 0:
        sys.exit(f"{' '.join(command)}: exit code {child.returncode}")
    return time.monotonic() - begun, usage.ru_maxrss / 1024


def make_source(zarr, place, slabs):
    shape = f"{slabs},{SIDE},{SIDE}"
    options = ["--dtype", "float32", "--codec", "zstd:3", "--format", "v3"]
    run(zarr, "create", place, "--path", "a", "--shape", shape, "--chunks", f"1,{SIDE},{SIDE}", *options)
    for slab in range(STORED):
        # A field that varies slowly, with noise in its last digits.
        row = [0.0] * SIDE
        values = array.array("f")
        seed = slab + 1
        for y in range(SIDE):
            for x in range(SIDE):
                seed = (seed * 1103515245 + 12345) & 0x7FFFFFFF
                row[x] = 280 + slab + (x * 0.01) + (y * 0.02) + (seed >> 20) / 65536
            values.extend(row)
        run(zarr, "put", place, "--path", "a", "--region", f"{slab},...", "--format", "raw", stdin=values.tobytes())
    for slab in range(STORED, slabs):
        os.makedirs(f"{place}/a/c/{slab}/0")
        os.link(f"{place}/a/c/{slab % STORED}/0/0", f"{place}/a/c/{slab}/0/0")


def main():
    zarr = os.path.abspath(sys.argv[1])
    within = sys.argv[2] if len(sys.argv) > 2 else None
    if within:
        os.makedirs(within, exist_ok=True)
    top = tempfile.mkdtemp(prefix="zarr-program-", dir=within)
    gib = int(os.environ.get("ZARR_BENCH_GIB", "4"))
    rounds = int(os.environ.get("ZARR_BENCH_ROUNDS", "3"))
    source, target = f"{top}/slabs.zarr", f"{top}/cubes.zarr"
    results = {"with the bound": [], "without": []}
    try:
        make_source(zarr, source, (gib << 30) // (4 * SIDE * SIDE))
        for number in range(rounds):
            for name, options in zip(results, (["--memory", BOUND], [])):
                results[name].append(run(zarr, "copy", source, target, "--chunks", "64,64,64", *options))
                if number == 0:
                    run(zarr, "diff", source, target)
                shutil.rmtree(target)
    finally:
        shutil.rmtree(top)
    load = os.getloadavg()[0]
    print(f"{gib} GiB of float32, zstd slabs 1 x {SIDE} x {SIDE} to cubes of 64, {os.cpu_count()} threads, load {load:.0f}")
    for name, runs in results.items():
        seconds = statistics.median(seconds for seconds, _ in runs)
        peak = max(peak for _, peak in runs)
        each = ", ".join(f"{seconds:.1f}" for seconds, _ in runs)
        print(f"{name}: {seconds:.1f} s ({each}), peak {peak:.0f} MiB")
    ratios = [free[0] / bound[0] for bound, free in zip(*results.values())]
    print(f"speed with the bound: {statistics.median(ratios):.2f} ({', '.join(f'{ratio:.2f}' for ratio in ratios)})")


main()
