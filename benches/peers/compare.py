#!/usr/bin/env python3
"""Compares two commits of this library on the same data, in one run.

  compare.py OLD NEW [--set SET,..] [--datasets REGEX] [--rounds 5] [--reps 3] [--quiet SECONDS] [--delay MS] [--results FILE]
  compare.py --table FILE       the table of an earlier run

OLD and NEW are commits; `.` is the working tree. Each is built from its own sources, into its own target folder below
$BENCH_WORK/compare, with the driver of this tree, or with its own where that one does not compile. Then the two take turns, row by row: old new, new old,
old new, ... Sets are those of run.py, without `limits`; `latency` reads from the latency server. The table has the least wall time and the least
CPU time of all repetitions, their ratios (new / old: below 1 is faster), and the median of the processes' peak memory. A row is marked
`!` if wall and CPU time are both more than 3 % longer, or the peak is more than 5 % higher; for rows of `latency` the wall time decides.
Needs git, cargo and data of gen.py, no peers.
"""
import argparse, json, os, re, shutil, statistics, subprocess, sys
import run

ROOT = os.path.abspath(os.path.join(run.HERE, "..", ".."))


def git(*arguments):
    return subprocess.run(["git", "-C", ROOT, *arguments], check=True, capture_output=True).stdout


def build(commit):
    """The driver of a commit."""
    if commit == ".":
        name, tree = "working-tree", ROOT
    else:
        name = git("rev-parse", "--short=12", commit + "^{commit}").decode().strip()
        tree = os.path.join(run.WORK, "compare", name)
    target = os.path.join(os.path.abspath(run.WORK), "compare", "target-" + name)
    rust = os.path.join(tree, "benches", "peers", "rust")
    command = ["cargo", "build", "--release", "--manifest-path", os.path.join(rust, "Cargo.toml"), "-p", "ours"]
    environment = dict(os.environ, CARGO_TARGET_DIR=target)
    if commit != ".":
        own = rust + "-own"
        if not os.path.isdir(own):
            shutil.rmtree(tree, ignore_errors=True)
            os.makedirs(tree)
            subprocess.run(["tar", "-x", "-C", tree], input=git("archive", name), check=True)
            shutil.copytree(rust, own)
        source = os.path.join("ours", "src", "main.rs")
        shutil.copy(os.path.join(run.HERE, "rust", source), os.path.join(rust, source))
        if subprocess.run(command, env=environment, capture_output=True).returncode:
            print(f"{name}: the driver of this tree does not compile there; its own is used, which may lack rows", flush=True)
            shutil.copy(os.path.join(own, source), os.path.join(rust, source))
    subprocess.run(command, env=environment, check=True)
    return os.path.join(target, "release", "ours")


def table(file):
    rows, sums, errors = {}, {}, {}
    for r in map(json.loads, open(file)):
        key = (r["set"], r["op"], r["dataset"], r["regions"], r["threads"])
        if r.get("error"):
            errors[key, r["name"]] = r["error"]
            continue
        row = rows.setdefault(key, {}).setdefault(r["name"], dict(wall=[], cpu=[], peak=[], requests=[]))
        row["wall"] += r["seconds"]
        row["cpu"] += r["cpu"]
        row["peak"].append(r["peak_rss"])
        sums.setdefault(key, {}).setdefault(r.get("checksum"), set()).add(r["name"])
    print("| set | row | wall old, s | wall new, s | new / old | CPU old, s | CPU new, s | new / old | peak old, MiB | peak new, MiB | |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |")
    marked = 0
    for key, by in rows.items():
        if set(by) != {"old", "new"}:
            continue
        wall, cpu = ([min(by[name][what]) for name in ("old", "new")] for what in ("wall", "cpu"))
        peak = [statistics.median(by[name]["peak"]) / (1 << 20) for name in ("old", "new")]
        per = lambda pair: pair[1] / pair[0] if pair[0] else float("nan")
        slower = per(wall) > 1.03 and (key[0] == "latency" or per(cpu) > 1.03)
        larger = per(peak) > 1.05 and peak[1] - peak[0] > 1
        marked += slower or larger
        what = f"{key[2]}{' ' + key[3] if key[3] else ''}, {key[1]}, {key[4]} threads"
        print(f"| {key[0]} | {what} | {wall[0]:.4f} | {wall[1]:.4f} | {per(wall):.3f} | {cpu[0]:.4f} | {cpu[1]:.4f} | {per(cpu):.3f} "
              f"| {peak[0]:.1f} | {peak[1]:.1f} | {'!' if slower or larger else ''} |")
    print(f"\n{marked} rows of {len(rows)} are marked.")
    for key, by in sums.items():
        if len(by) > 1:
            print(f"DIFFERENT RESULTS: {key}: {({k: sorted(v) for k, v in by.items()})}")
    for (key, name), error in errors.items():
        print(f"{name}: {key[1]} {key[2]} ({key[0]}): {error}")


def main():
    p = argparse.ArgumentParser(usage=__doc__)
    p.add_argument("old", nargs="?")
    p.add_argument("new", nargs="?", default=".")
    p.add_argument("--set", default=",".join(dict.fromkeys(c[0] for c in run.CASES)) + ",latency")
    p.add_argument("--datasets", default="")
    p.add_argument("--rounds", type=int, default=5)
    p.add_argument("--reps", type=int, default=3)
    p.add_argument("--quiet", type=int, default=0)
    p.add_argument("--delay", type=int, default=20)
    p.add_argument("--results", default=os.path.join(run.WORK, "compare.jsonl"))
    p.add_argument("--table")
    a = p.parse_args()
    if a.table:
        return table(a.table)
    if not a.old:
        p.error("which commits?")
    run.DRIVERS.update(old=[build(a.old)], new=[build(a.new)])
    run.QUIET = a.quiet
    if os.path.exists(a.results):
        os.remove(a.results)
    sets, regions = set(a.set.split(",")), run.region_files()
    rounds = [("old", "new") if turn % 2 == 0 else ("new", "old") for turn in range(a.rounds)]
    for case in run.CASES:
        there = os.path.exists(os.path.join(run.DATA, case[2], ".done"))
        if case[0] in sets and re.search(a.datasets, case[2]) and there:
            for names in rounds:
                for name in names:
                    run.emit(a.results, run.one(case, name, 0, regions, 1, a.reps))
    if "latency" in sets:
        datasets = [d for d in run.LATENCY if re.search(a.datasets, d) and os.path.exists(os.path.join(run.DATA, d, ".done"))]
        for names in rounds:
            run.latency(a.results, names, datasets, a.delay, rounds=1)
    table(a.results)


if __name__ == "__main__":
    sys.exit(main())
