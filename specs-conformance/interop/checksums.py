"""Checksums of what others wrote: the program and checksum.py over zarr-python, two implementations of docs/checksum.md, agree.

Run with zarr-python 3 for v2 and v3, with zarr-python 2 for the drafts. Each case of the families is a node, and so are its copies by the program in the
dialects that the installed zarr-python reads. What zarr-python cannot open, and what checksum.py leaves out, is counted and passed over.
NCZarr's stores are not asked: checksum.py takes them for plain Zarr.
"""

import argparse
import collections
import json
import os
import subprocess
import sys
import tarfile
import tempfile
import traceback
import warnings
from pathlib import Path

os.environ["ZARR_V3_EXPERIMENTAL_API"] = "1"  # With it zarr-python 2 reads drafts.
import checksum
import zarr

warnings.simplefilter("ignore")
FAMILIES = Path(__file__).resolve().parent.parent / "families"
OLD = zarr.__version__.startswith("2.")
READ = ("draft-2020",) if OLD else ("v2", "v3")


def cases(folder, sample, seed):
    for expected in sorted(FAMILIES.glob("*.expected.json")):
        family = expected.name.removesuffix(".expected.json")
        if family in ("malformed", "nczarr-v2") or OLD and "python" not in family:
            continue
        with tarfile.open(FAMILIES / f"{family}.tar.gz") as archive:
            archive.extractall(folder / family, filter="data")
        listed = json.loads(expected.read_text())["cases"]
        named = listed.items() if isinstance(listed, dict) else ((case["store_path"], case) for case in listed)
        for n, (name, case) in enumerate(named):
            # In drafts zarr-python takes the group of consolidated metadata for a node, and raw bytes for a record.
            is_odd = OLD and ("consolidated" in name or "dtype-V" in name)
            is_read = case.get("store", "directory") == "directory" and not is_odd
            if is_read and n % sample == seed % sample:
                yield f"{family}/{name}", folder / family / case["store_path"]


def ours(program, store):
    done = subprocess.run([program, "checksum", store, "--manifest"], capture_output=True, text=True)
    lines = (line.split("  ", 1) for line in done.stdout.splitlines())
    return None if done.returncode else {path: digest for digest, path in lines}


def theirs(store):
    found = {}
    options = {"zarr_version": 3} if OLD else {}
    checksum.checksum(zarr.open(str(store), mode="r", **options), "", found)
    return found


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("--sample", type=int, default=1)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    counts, wrong = collections.Counter(), []
    with tempfile.TemporaryDirectory() as scratch:
        for name, store in cases(Path(scratch), options.sample, options.seed):
            for dialect in READ:
                copy = Path(scratch, "copy")
                subprocess.run(["rm", "-rf", copy], check=True)
                copied = subprocess.run([options.program, "copy", store, copy, "--to", dialect, "--skip-unsupported"], capture_output=True, text=True)
                if copied.returncode:
                    counts["not copied"] += 1
                    continue
                one = ours(options.program, copy)
                try:
                    other = theirs(copy)
                except Exception as error:
                    is_ours = traceback.extract_tb(error.__traceback__)[-1].filename == checksum.__file__
                    if is_ours and isinstance(error, (NameError, AttributeError)):
                        raise
                    counts["not read by zarr-python"] += 1
                    continue
                if one == other:
                    counts["equal"] += 1
                    continue
                wrong.append(f"{name} as {dialect}: {sorted(path for path in {*one, *other} if one.get(path) != other.get(path))}; {copied.stderr.strip()[:200]}")
    print("\n".join(wrong))
    print(f"{zarr.__version__}: {dict(counts)}, {len(wrong)} wrong")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
