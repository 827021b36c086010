#!/usr/bin/env python3
"""Times zarrkit beside tensorstore, zarrista, zarrs and zarr-python on the same bytes, and prints ratios: `compare.py [--rounds N] [--quiet SECONDS] [--only TITLE]`.

Needs the packages of requirements.txt and an installed zarrkit (a release build). Peers take turns, so that what else the machine does
hits all of them; the shortest time of each counts. A ratio above 1 says that zarrkit is faster. Works in --work, by default a new folder.
"""

import argparse
import importlib.metadata
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import zarr
from zarr.codecs import ZstdCodec

from driver import BETWEEN, INSIDE, PEERS, boxes

HERE = Path(__file__).resolve().parent
# Both are zarrkit: the one to judge the other by.
DOORS = (BETWEEN, INSIDE)
# Name, edge of the volume, chunks, shards.
ARRAYS = {
    "64^3": (512, 64, None),
    "shards": (512, 32, 256),
    "16^3": (256, 16, None),
}
TASKS = [
    ("64^3", "read", "all, chunks of 64^3"),
    ("shards", "read", "all, shards of 256^3 with chunks of 32^3"),
    ("16^3", "read", "all, 4,096 chunks of 16^3"),
    ("64^3", "box48x100", "a box of 48^3 in chunks of 64^3"),
    ("16^3", "box4x500", "a box of 4^3 in chunks of 16^3"),
    ("64^3", "write", "write all, chunks of 64^3"),
    ("shards", "write", "write all, shards of 256^3"),
    ("16^3", "write", "write all, 4,096 chunks of 16^3"),
]


def volume(edge):
    """A smooth field with noise, as `uint16`."""
    axis = np.sin(np.linspace(0, 9, edge))
    field = 2000 + 900 * (axis[:, None, None] + axis[None, :, None] * axis[None, None, :])
    return (field + np.random.default_rng(0).integers(0, 16, (edge,) * 3)).astype("u2")


def create(path, edge, chunk, shard):
    return zarr.create_array(
        path,
        shape=(edge,) * 3,
        chunks=(chunk,) * 3,
        shards=None if shard is None else (shard,) * 3,
        dtype="u2",
        compressors=ZstdCodec(level=3),
        overwrite=True,
    )


def other_work(seconds):
    """The share of all processors that was busy for so many seconds, while this process waited."""

    def busy():
        numbers = [int(number) for number in Path("/proc/stat").read_text().split("\n")[0].split()[1:]]
        return sum(numbers) - numbers[3] - numbers[4], sum(numbers)

    before = busy()
    time.sleep(seconds)
    after = busy()
    return (after[0] - before[0]) / max(after[1] - before[1], 1)


def wait_until_quiet(limit):
    end = time.monotonic() + limit
    while time.monotonic() < end and other_work(0.5) > 0.05:
        pass


def chunks_a_call(name, task):
    """How many chunks, or shards that are written, a call of a task touches; a mean."""
    edge, chunk, shard = ARRAYS[name]
    length = shard if task == "write" and shard else chunk
    if not task.startswith("box"):
        return (edge // length) ** 3
    size, count = (int(number) for number in task[3:].split("x"))
    touched = [np.prod([(at.stop - 1) // length - at.start // length + 1 for at in box]) for box in boxes((edge,) * 3, size, count)]
    return float(np.mean(touched))


def measure(peer, task, path, copy):
    command = [sys.executable, HERE / "driver.py", peer, task, path, copy]
    run = subprocess.run(command, capture_output=True, text=True)
    if run.returncode:
        return None, run.stderr.strip().splitlines()[-1]
    answer = json.loads(run.stdout)
    return min(answer["seconds"]), answer["sum"]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--quiet", type=float, default=0, help="wait at most so many seconds before each time until the machine is idle")
    parser.add_argument("--work", type=Path)
    parser.add_argument("--only", default="", help="only rows whose title has this text")
    parser.add_argument("--peers", nargs="*", default=list(PEERS))
    options = parser.parse_args()
    tasks = [task for task in TASKS if options.only in task[-1]]
    work = options.work or Path(tempfile.mkdtemp(prefix="zarrkit-bench-"))
    work.mkdir(parents=True, exist_ok=True)
    for name in {task[0] for task in tasks}:
        edge, chunk, shard = ARRAYS[name]
        if not (work / name).exists():
            create(work / "unfinished", edge, chunk, shard)[...] = volume(edge)
            (work / "unfinished").rename(work / name)

    best, sums, failures, noise = {}, {}, {}, []
    for round_ in range(options.rounds):
        for name, task, title in tasks:
            for peer in options.peers:
                if (peer, title) in failures:
                    continue
                if options.quiet:
                    wait_until_quiet(options.quiet)
                    noise.append(other_work(0.2))
                copy = work / "copy"
                create(copy, *ARRAYS[name])
                seconds, found = measure(peer, task, work / name, copy)
                if seconds is None:
                    failures[peer, title] = found
                    continue
                best[peer, title] = min(seconds, best.get((peer, title), seconds))
                sums.setdefault(title, {})[peer] = found
                print(f"round {round_ + 1}: {peer}, {title}: {seconds * 1e3:.3f} ms", file=sys.stderr)
    shutil.rmtree(work / "copy", ignore_errors=True)
    if options.work is None:
        shutil.rmtree(work)

    versions = {name: importlib.metadata.version(name) for name in ("zarr", "zarrs", "zarrista", "tensorstore", "numpy")}
    print(", ".join(f"{name} {version}" for name, version in versions.items()), f"; {os.cpu_count()} processors", end="")
    print(f"; other work: {max(noise):.0%} at most" if noise else "")
    others = [peer for peer in options.peers if peer not in ("zarrkit", *DOORS)]
    print("\n| | zarrkit |", " | ".join(others), "|\n|" + "---|" * (len(others) + 2))
    for _, _, title in tasks:
        ours = best[("zarrkit", title)]
        cells = [f"{best[peer, title] / ours:.2f}" if (peer, title) in best else "–" for peer in others]
        print(f"| {title} | {ours * 1e3:.3f} ms |", " | ".join(cells), "|")
    columns = f"chunks a call | {BETWEEN}, ms | {INSIDE}, ms | at most 1.15 x the former + 10 us a chunk"
    print(f"\n| | {columns} |\n|" + "---|" * 5)
    for name, task, title in tasks:
        if all((door, title) in best for door in DOORS):
            between, inside = (best[door, title] * 1e3 for door in DOORS)
            chunks = chunks_a_call(name, task)
            most = 1.15 * between + 0.01 * chunks
            print(f"| {title} | {chunks:.1f} | {between:.3f} | {inside:.3f} | {most:.3f}{'' if inside <= most else ', missed'} |")
    for (peer, title), why in failures.items():
        print(f"{peer}, {title}: {why}")
    wrong = {title: found for title, found in sums.items() if len(set(found.values())) > 1}
    for title, found in wrong.items():
        print(f"the peers do not agree: {title}: {found}")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
