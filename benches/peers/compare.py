#!/usr/bin/env python3
"""Compares two commits of this library on the same data, in one run; fails if the new one is slower. Also as `run.py --gate OLD NEW`.

  compare.py OLD NEW [--set SET,..] [--datasets REGEX] [--rounds 5] [--reps 3] [--quiet SECONDS] [--delay MS] [--bound 1.05] [--results FILE]
  compare.py --table FILE       the table of an earlier run

OLD and NEW are commits, or drivers that were built before (files); `.` is the working tree. A commit is built from its own sources, into its own target folder below
$BENCH_WORK/compare, with the driver of this tree, or with its own where that one does not compile. Then the two take turns, row by row: old new, new old,
old new, ... Sets are those of run.py, without `limits`; `latency` reads from the latency server. The table has the medians, the median of the
rounds' ratios (new / old: below 1 is faster) with its spread, and how much other work there was; `page.gate` says when a row fails.
Needs git, cargo and data of gen.py, no peers.
"""
import argparse, os, re, shutil, subprocess, sys
import page, run

ROOT = os.path.abspath(os.path.join(run.HERE, "..", ".."))


def git(*arguments):
    return subprocess.run(["git", "-C", ROOT, *arguments], check=True, capture_output=True).stdout


def build(commit):
    """The driver of a commit, or the one that is named."""
    if os.path.isfile(commit):
        return os.path.abspath(commit)
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


def table(file, bound):
    text, failed = page.gate(page.records(file), bound)
    print(text + "\n")
    for line in failed:
        print("FAILED", line)
    print(f"{len(failed)} failures.")
    return 1 if failed else 0


def main(arguments=None):
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
    p.add_argument("--bound", type=float, default=1.05)
    p.add_argument("--table")
    a = p.parse_args(arguments)
    if a.table:
        return table(a.table, a.bound)
    if not a.old:
        p.error("which commits?")
    run.DRIVERS.update(old=[build(a.old)], new=[build(a.new)])
    run.QUIET = a.quiet
    if os.path.exists(a.results):
        os.remove(a.results)
    run.about(a.results)
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
    return table(a.results, a.bound)


if __name__ == "__main__":
    sys.exit(main())
