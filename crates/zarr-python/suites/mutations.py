#!/usr/bin/env python3
"""Shows that the tests of the pipeline notice what is taken out of it: `mutations.py [WORK]`, by a Python that has the packages of the tests.

Each mutation is one change of a copy of the sources: writes that are not guarded, lock files that stay. zarrkit is built of the copy, and a test must
fail. It prints a line for each, and fails when one is not noticed, or when the text that it changes is no longer in the sources.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

TOP = Path(__file__).resolve().parent.parent.parent.parent
CRATE = "crates/zarr-python"

# What is broken, the text, what instead, and the tests that must notice, each of them.
MUTATIONS = [
    (
        "writes through the pipeline are not guarded",
        "options.keep_fill_chunks = keep_fill_chunks)",
        "(options.keep_fill_chunks, options.guard) = (keep_fill_chunks, zarr::Guard::Off))",
        ["test_pipeline.py::test_writers_that_meet_in_a_shard_lose_nothing", "test_pipeline_text.py::test_texts_that_threads_write_at_once_all_arrive"],
    ),
    ("lock files stay", "settle(array.hierarchy())", "Ok(drop(array.hierarchy()))", ["test_pipeline.py::test_a_write_leaves_no_lock_file"]),
]


def copy_sources(work):
    """The package; the crates on which it depends stay where they are."""
    shutil.copytree(TOP / CRATE, work / CRATE, ignore=shutil.ignore_patterns("*.so", "__pycache__"))
    before, _, after = (TOP / "Cargo.toml").read_text().partition("members = [")
    after = after.partition("]")[2].replace('{ path = "crates/', f'{{ path = "{TOP}/crates/')
    (work / "Cargo.toml").write_text(f'{before}members = ["{CRATE}"]{after}')
    shutil.copy(TOP / "Cargo.lock", work)


def build(work):
    # Not where zarrkit itself is built: Cargo would take one module for the other.
    environment = {**os.environ, "CARGO_TARGET_DIR": str(Path(os.environ.get("CARGO_TARGET_DIR", TOP / "target")) / "mutations")}
    built = subprocess.run([work / CRATE / "develop"], env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if built.returncode:
        sys.exit(f"{built.stdout[-4000:]}\nit does not compile")


def passes(work, test):
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", f"{work / CRATE}/tests/{test}"]
    environment = {**os.environ, "PYTHONPATH": str(work / CRATE / "python"), "PYTHONDONTWRITEBYTECODE": "1"}
    ran = subprocess.run(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=600)
    if ran.returncode not in (0, 1):
        sys.exit(f"{ran.stdout[-4000:]}\n{test} did not run")
    return ran.returncode == 0


def main(work):
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    copy_sources(work)
    pipeline = work / CRATE / "src" / "pipeline.rs"
    text = pipeline.read_text()
    build(work)
    for test in dict.fromkeys(test for *_, tests in MUTATIONS for test in tests):
        if not passes(work, test):
            sys.exit(f"{test} fails without a mutation")
    missed = 0
    for name, old, new, tests in MUTATIONS:
        if text.count(old) != 1:
            sys.exit(f"pipeline.rs has `{old}` {text.count(old)} times: the mutation `{name}` is to be written anew")
        pipeline.write_text(text.replace(old, new))
        build(work)
        for test in tests:
            is_missed = passes(work, test)
            missed += is_missed
            print(f"pipeline: mutation: {name}: {'NOT NOTICED' if is_missed else 'noticed'} by {test}", flush=True)
    sys.exit(missed != 0)


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else TOP / "scratch" / "zarrkit-mutations").resolve())
