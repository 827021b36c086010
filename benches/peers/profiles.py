#!/usr/bin/env python3
"""Where the time of rows goes: `profiles.py [--below 1.1] [--datasets RE] [--page]`, of the rows whose best peer takes less than so much of ours, and of those that
take more of the limit's time than is aimed at.

A repetition's processor time, page faults and switches of threads, of ours and of the other driver, are those of a process by `perf stat`, start and all, through its
repetitions; the shares of ours are of samples by the processor's clock (`perf record -e cpu-clock`, which needs no counters of the hardware). `--page` writes the
table into target/profiles.md, too. Rows and peers are those of the committed results, but for those that differ in the number of threads only.
"""
import argparse, collections, os, re, shutil, subprocess, sys, tempfile
import machine, page, run

# The first that fits a symbol names its share. Of the kernel's symbols only those that begin with `k:` are looked at.
SHARES = [
    ("kernel: copying", r"k:.*(copy_(to|from|page)|copy_user|rep_movs|memcpy|filemap_get|filemap_read|xas_|iov_iter|copy_folio)"),
    ("kernel: new pages", r"k:.*(clear_|fault|folio|lru_|memcg|mem_cgroup|charge|zap_|unmap|_pte|pmd|vma|mmap|mprotect|madvise|free_unref|alloc_page|rmqueue|prep_|get_page|page_alloc|__free|shmem)"),
    ("kernel: else", r"k:"),
    # Code without a name is the assembly of Zstandard's Huffman decoder.
    ("codec", r"(0x[0-9a-f]{8}|ZSTD|HUF_|FSE_|XXH|LZ4|lz4|blosc|deflate|inflate|adler|crc32|shuffle|zlib)"),
    ("moving bytes", r"(memmove|memcpy|memset|memcmp|copy_runs|view::copy)"),
    ("else", r""),
]


def most_of_limit(row):
    """How much of the limit's time a row may take."""
    if row["set"] not in ("read", "write"):
        return None
    return 1.05 if row["set"] == "write" else 0.95 if "blosc" in row["dataset"] else 1.02


def counted(cmd, out):
    """Processor time in ms, page faults and switches of a process."""
    with tempfile.NamedTemporaryFile("r") as said:
        subprocess.run(["perf", "stat", "-x,", "-o", said.name, "-e", "task-clock,page-faults,context-switches", "--", *cmd], check=True, capture_output=True)
        lines = [line.split(",") for line in said.read().splitlines() if line and not line.startswith("#")]
    shutil.rmtree(out, ignore_errors=True)
    return [float(line[0]) for line in lines]


def shares(cmd, out):
    """The samples of a process by `SHARES`."""
    with tempfile.TemporaryDirectory() as folder:
        data = os.path.join(folder, "perf.data")
        subprocess.run(["perf", "record", "-q", "-e", "cpu-clock", "-F", "4000", "-o", data, "--", *cmd], check=True, capture_output=True)
        said = subprocess.run(["perf", "report", "-q", "-i", data, "--no-children", "--stdio", "--sort", "symbol", "-F", "overhead,symbol"], check=True, capture_output=True, text=True).stdout
    shutil.rmtree(out, ignore_errors=True)
    found = collections.Counter()
    for line in said.splitlines():
        if sample := re.match(r"\s*([\d.]+)%\s+\[(.)\]\s+(.*)", line):
            symbol = ("k:" if sample[2] == "k" else "") + sample[3]
            found[next(name for name, fits in SHARES if re.match(fits if fits.startswith("k:") else rf"(?!k:).*{fits}", symbol))] += float(sample[1])
    return found


def table(rows, regions):
    yield f"{machine.describe()['what']}; a process of some seconds a row and driver, files in the page cache."
    yield ""
    yield "| row | ours, ms of processor time | page faults | switches | " + " | ".join(f"{name}, %" for name, _ in SHARES) + " | beside | its ms | page faults | switches |"
    yield "|" + " --- |" * (8 + len(SHARES))
    for row, other in rows:
        reps = max(3, min(400, round(3 / row["seconds"])))
        of = lambda driver: run.command(page.key(row), driver, regions, 0, reps)
        ours, theirs = ([all / reps for all in counted(*of(driver))] for driver in ("ours", other))
        found = shares(*of("ours"))
        cells = [f"{ours[0]:.2f}", f"{ours[1]:.0f}", f"{ours[2]:.0f}", *(f"{found[name]:.0f}" for name, _ in SHARES), other, f"{theirs[0]:.2f}", f"{theirs[1]:.0f}", f"{theirs[2]:.0f}"]
        yield f"| {row['set']}: {row['what']} | " + " | ".join(cells) + " |"


def main():
    options = argparse.ArgumentParser()
    options.add_argument("--below", type=float, default=1.1)
    options.add_argument("--datasets", default="")
    options.add_argument("--page", action="store_true")
    options = options.parse_args()
    if not shutil.which("perf"):
        return "perf is not here: install Debian's package linux-perf"
    rows = [r for st, _, r in page.merged(page.committed()) if st != "threads"]
    behind = [(r["slowest"], r["peer"][1]) for r in rows if r["peer"] and r["peer"][0] < options.below]
    behind += [(r["slowest"], "limit") for r in rows if r["limit"] and r["limit"] > (most_of_limit(r["slowest"]) or r["limit"])]
    behind = [(row, other) for row, other in behind if re.search(options.datasets, row["dataset"])]
    lines = []
    for line in table(behind, run.region_files()):
        print(line, flush=True)
        lines.append(line)
    if options.page:
        os.makedirs(page.TARGET, exist_ok=True)
        with open(os.path.join(page.TARGET, "profiles.md"), "w") as file:
            file.write("\n".join(lines) + "\n")


if __name__ == "__main__":
    sys.exit(main())
