"""CDL texts that others wrote, with ncgen and ncdump 4.9.0 of Debian 12 (`apt-get install netcdf-bin`), on HDF5.

Each text of `../shared/cdl` beside the repository goes through both: ours by `zarr gen` and `zarr dump`, theirs by `ncgen` and
`ncdump`. Where ncgen takes a text, both print the same (N-120 to N-122); the exceptions are listed here with their reasons, and an
exception that no text needs is an error. Of texts with very large variables the definitions are compared. No text makes the program panic or end by a signal. Without the texts the script says so and tests nothing.
"""

import argparse
import os
import re
import subprocess
import sys
import tarfile
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

TEXTS = Path(__file__).resolve().parents[3] / "shared" / "cdl" / "cdl-texts.tar.gz"

# What ncgen takes and we refuse: what our error says, and why. The last ones name their texts.
REFUSED = {
    r"declares a type: enum, opaque, vlen and compound types": "types that a file declares are not kept in Zarr",
    r"expected a number; remove the quotes": "times among the data, or a text where numbers are due, which ncgen takes for 0",
    r"does not fit into an integer of \d+ bits": "ncgen cuts off what does not fit",
    r"there are \d+ values, and room for \d+": "ncgen leaves out what there is no room for",
    r"the text is not UTF-8": "names and texts of netCDF-4 are UTF-8",
}
# Texts that both take, and of which ncdump prints something else.
NUL = "ncgen 4.9.0 takes '\\0' for the character 0"
NIL = "NIL is the empty string here"
SPACES = "a text of JSON has other spaces in Zarr (N-043)"
BYTES = "ncgen 4.9.0 exchanges the bytes of hexadecimal numbers"
RAGGED = "ncgen 4.9.0 cuts characters of two unlimited dimensions wrongly"
DATA_LEFT_OUT = "ncgen 4.9.0 leaves elements without a value that the data leave out"
DIFFERENT = {
    "nco/data/hdf.cdl": NUL,
    "nco/data/in.cdl": NUL,
    "nco/data/in_4.cdl": NUL,
    "nco/data/in_zarr.cdl": NUL,
    "nco/data/in_zarr4.cdl": NUL,
    "nco/data/in_grp.cdl": BYTES,
    "netcdf-c/ncgen/ncf345.cdl": NUL,
    "netcdf-c/nczarr_test/ref_nulls.cdl": NUL,
    "netcdf-c/ncdump/cdl/ref_niltest.cdl": NIL,
    "netcdf-c/ncdump/cdl/ref_tst_h_scalar.cdl": NIL,
    "netcdf-c/ncdump/cdl/ref_tst_unlim2.cdl": RAGGED,
    "netcdf-c/ncdump/cdl/ref_tst_special_atts3.cdl": DATA_LEFT_OUT,
    "netcdf-c/ncdump/ref_tst_special_atts3.cdl": DATA_LEFT_OUT,
    "netcdf-c/nczarr_test/ref_t_meta_dim1.cdl": SPACES,
    "netcdf-c/nczarr_test/ref_t_meta_var1.cdl": SPACES,
    "netcdf-c/nczarr_test/ref_ut_testmap_create.cdl": SPACES,
    "netcdf-c/nczarr_test/refs/ref_ut_map_write2meta.cdl": SPACES,
    "netcdf-c/nczarr_test/refs/ref_ut_map_writedata.cdl": SPACES,
    "netcdf-c/nczarr_test/refs/ref_ut_map_writemeta.cdl": SPACES,
}
# Variables of up to 4 GB, of which the data are fill.
LARGE = re.compile(r"/(big[fr]\d|gcm_T85|ref_tst_http_nc4.)\.cdl$")


def run(*command):
    done = subprocess.run([str(word) for word in command], capture_output=True, timeout=120)
    return done.returncode, done.stdout, done.stderr.decode(errors="replace")


def ours(program, cdl, parts, folder):
    """What we print, or None; and what we say."""
    for command in (["gen", cdl, "-o", folder / "x.zarr"], ["dump", *parts, "-n", "x", folder / "x.zarr"]):
        code, printed, said = run(program, *command)
        if code not in (0, 2, 3, 4, 5) or "panicked" in said:
            raise RuntimeError(f"{command[0]} ended with {code}: {said[:300]}")
        if code:
            return None, said
    return printed, ""


def theirs(cdl, parts, folder):
    """What ncdump prints, or None."""
    code, _, said = run("ncgen", "-4", "-o", folder / "x.nc", cdl)
    if code or said:
        return None
    code, printed, _ = run("ncdump", *parts, "-n", "x", folder / "x.nc")
    return None if code else printed


def check(program, name, cdl):
    """The outcome, and the exception that it needs, if it needs one."""
    parts = ["-h"] if LARGE.search(name) else []
    with tempfile.TemporaryDirectory() as scratch:
        due = theirs(cdl, parts, Path(scratch))
        found, said = ours(program, cdl, parts, Path(scratch))
    if due is None:
        return "refused by ncgen", None
    if found is None:
        for pattern in REFUSED:
            if re.search(pattern, said):
                return "excepted", pattern
        return f"wrong: {said.strip()[:300]}", None
    if found == due:
        return "equal", None
    if name in DIFFERENT:
        return "excepted", name
    for n, (one, other) in enumerate(zip(found.splitlines(), due.splitlines())):
        if one != other:
            return f"wrong: line {n + 1} is {one[:100]!r}, not {other[:100]!r}", None
    return f"wrong: {len(found)} bytes, not {len(due)}", None


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("program", help="the program `zarr` to be tested")
    parser.add_argument("--only", default="", help="texts whose names hold this")
    parser.add_argument("--sample", type=int, default=1, metavar="N", help="take one text in N, not all")
    parser.add_argument("--seed", type=int, default=0, metavar="S", help="which text of N is taken")
    arguments = parser.parse_args()
    program = Path(arguments.program).resolve()
    if not TEXTS.exists():
        print(f"ignored: {TEXTS} is not there")
        return 0
    with tempfile.TemporaryDirectory() as scratch, tarfile.open(TEXTS) as archive:
        archive.extractall(scratch, filter="data")
        texts = sorted(path for path in Path(scratch).rglob("*") if path.is_file() and arguments.only in str(path))
        texts = texts[arguments.seed % arguments.sample :: arguments.sample]
        names = [path.relative_to(scratch).as_posix() for path in texts]

        def outcome(name, path):
            try:
                return check(program, name, path)
            except (RuntimeError, subprocess.TimeoutExpired) as error:
                return f"wrong: {error}", None

        with ThreadPoolExecutor(os.cpu_count()) as threads:
            outcomes = list(threads.map(outcome, names, texts))
    counts = {"equal": 0, "excepted": 0, "refused by ncgen": 0, "wrong": 0}
    for name, (what, _) in zip(names, outcomes):
        counts[what.split(":")[0]] += 1
        if what.startswith("wrong"):
            print(f"{name}: {what}")
    print(f"{len(names)} CDL texts: " + ", ".join(f"{count} {what}" for what, count in counts.items()))
    if arguments.only or arguments.sample > 1:
        return 1 if counts["wrong"] else 0
    needed = {needs for _, needs in outcomes}
    idle = [name for name in [*REFUSED, *DIFFERENT] if name not in needed]
    for name in idle:
        print(f"{name}: no text needs this exception; strike it")
    return 1 if counts["wrong"] or idle else 0


sys.exit(main())
