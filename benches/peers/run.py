#!/usr/bin/env python3
"""Runs the peers side by side, interleaved (A B C A B C ...), so that drift of the machine hits all alike.

  run.py [--set key|full|NAME,NAME..] [--rounds 3] [--results FILE] [--drivers a,b] [--datasets re] [--report FILE.md]
  run.py --set far [--lines 20:10000,100:200]    from far servers: latency in ms, Mbit/s; --far RUN.jsonl prints the table
  run.py --everything RUN.jsonl [--rounds 5]     all rows, in a new file; then what --page writes
  run.py --page [RUN.jsonl ...]                  writes target/performance.md and the tables of docs/performance.md, of these runs, or of the committed summaries (results/)
  run.py --gate OLD NEW [--bound 1.05]           two commits or built drivers by turns; fails if NEW is slower or larger beyond the bound
  run.py --efficiency RUN.jsonl [...]            of `--set threads`: time of 1 thread / (n x time of n), beside what copying memory allows

Environment: BENCH_WORK  the work folder (data/, venv/, target/, results); default: scratch/bench of the project
             BENCH_OUT   where drivers write; default: the work folder. Memory is steadier (/dev/shm): a disk's file system
                         makes new files slowly for minutes after others were erased
             BEFORE      command of a further driver, such as our own as it was before a change; optional
Results are appended to the results file: a line that tells of the machine, then one JSON line a process; --report makes tables of it.
"""
import argparse, json, os, random, resource, re, shlex, shutil, statistics, subprocess, sys, time, urllib.request
import machine, page
from page import TITLES, clean, key, records

HERE = os.path.dirname(os.path.abspath(__file__))
WORK = os.environ.get("BENCH_WORK", os.path.join(HERE, "..", "..", "scratch", "bench"))
DATA = os.path.join(WORK, "data")
OUT = os.environ.get("BENCH_OUT", os.path.join(WORK, "scratch"))
TGT = os.path.join(WORK, "target", "release")
PY = os.path.join(WORK, "venv", "bin", "python")
PY312 = os.path.join(WORK, "venv312", "bin", "python")       # zarr-python 3.4 needs Python 3.12
D = os.path.join(HERE, "drivers")

DRIVERS = {
    "limit": [os.path.join(TGT, "limits")],
    "limit-vec": [os.path.join(TGT, "limits"), "--variant", "vec"],   # its memory begins where a `Vec` does
    "ours": [os.path.join(TGT, "ours")],
    "zarrs": [os.path.join(TGT, "peer_zarrs")],
    "tensorstore": [PY, os.path.join(D, "peer_tensorstore.py")],
    "zarr-python": [PY, os.path.join(D, "peer_zarr_python.py")],
    "zarr-python-fused": [PY312, os.path.join(D, "peer_zarr_python.py"), "--pipeline", "fused"],
    "zarrs-python": [PY, os.path.join(D, "peer_zarr_python.py"), "--pipeline", "zarrs"],
}
if os.environ.get("BEFORE"):
    DRIVERS["before"] = shlex.split(os.environ["BEFORE"])

SHAPE = None


def region_files():
    """Deterministic regions, the same for every driver. Written for the 3-D volume of the data (SIZE^3)."""
    if not os.path.exists(os.path.join(DATA, "zstd")):
        return {}
    j = json.load(open(os.path.join(DATA, "zstd", "zarr.json")))
    n = j["shape"][0]
    os.makedirs(os.path.join(WORK, "regions"), exist_ok=True)
    r = random.Random(42)
    box = lambda k, cnt: [[[r.randrange(n - min(k, n) + 1) for _ in range(3)], [min(k, n)] * 3] for _ in range(cnt)]
    pl = lambda ax, cnt: [[[(n * (2 * i + 1) // (2 * cnt)) if d == ax else 0 for d in range(3)], [1 if d == ax else n for d in range(3)]] for i in range(cnt)]
    sets = {"box48": box(48, 200), "point": box(1, 500), "zplane": pl(0, 4), "xplane": pl(2, 4), "points": box(1, 1000), "box200": box(200, 8)}
    out = {}
    for k, v in sets.items():
        out[k] = os.path.join(WORK, "regions", k + ".json")
        json.dump(v, open(out[k], "w"))
    return out


READ = ["raw", "blosc_zstd", "blosc_lz4", "zstd", "gzip", "shard_blosc", "shard_zstd", "v2_blosc_lz4", "clim_blosc_zstd", "clim_zstd", "label_zstd", "label_shard", "small_raw", "small_lz4"]
# (set, op, dataset, threads, regions)
CASES = [("read", "read_all", d, 2, None) for d in READ]
CASES += [("read1", "read_all", d, 1, None) for d in ("raw", "blosc_zstd", "zstd", "shard_zstd")]
CASES += [("chunks", "read_chunks", d, 2, None) for d in ("raw", "blosc_lz4", "zstd", "shard_zstd")] + [("chunks", "read_inner", "shard_zstd", 2, None)]
CASES += [("subset", "read_subset", d, 2, g) for d, g in (("shard_zstd", "box48"), ("shard_zstd", "point"), ("shard_zstd", "zplane"), ("shard_zstd", "xplane"), ("shard_blosc", "box48"), ("zstd", "box48"), ("blosc_lz4", "box48"), ("raw", "box48"), ("raw", "zplane"))]
CASES += [("write", "write_all", d, 2, None) for d in ("raw", "blosc_zstd", "blosc_lz4", "zstd", "gzip", "shard_zstd", "small_lz4")]
CASES += [("round", "roundtrip", d, 2, None) for d in ("raw", "zstd", "shard_zstd")]
# 4,096 chunks of 4 KiB: what each chunk costs. In memory, each driver copies the array into its library's own memory store first.
CASES += [("small", op, "chunks_4k", 2, None) for op in ("read_all", "read_chunks", "write_all")]
CASES += [("memory", "read_all", d, 2, None) for d in ("chunks_4k", "raw", "zstd", "shard_zstd")]
CASES += [("memory", op, "chunks_4k", 2, None) for op in ("read_chunks", "write_all")]
# One plane after the other through the same chunks, with memory for decoded chunks and without.
CASES += [("planes", op, d, 2, None) for d in ("zstd", "blosc_lz4", "shard_zstd") for op in ("read_planes", "read_planes_cached")]
CASES += [("open", "open_list", d, 2, None) for d in ("many_arrays", "many_arrays_cons")]
# What more threads bring: the drivers are told how many.
CASES += [("threads", op, d, n, None) for op, d in (("read_all", "raw"), ("read_all", "blosc_lz4"), ("read_all", "zstd"), ("read_all", "small_lz4"), ("write_all", "zstd"), ("write_all", "small_lz4")) for n in (1, 2, 4)]
CASES += [("scale", "read_all", d, 2, None) for d in ("scale_1x", "scale_4x", "scale_16x")]
VARIETY = ["edge_zstd", "edge_shard", "planes_zstd", "bars_blosc", "turned_raw", "turned_zstd", "turned_shard", "big_raw", "big_zstd", "byte_lz4", "double_zlib", "float_bits", "crc_raw", "v2_f_lz4", "v2_f_raw", "v2_zlib", "v2_big_shuffle"]
CASES += [("variety", "read_all", d, 2, None) for d in VARIETY]
CASES += [("variety", "read_subset", d, 2, g) for d, g in (("planes_zstd", "box48"), ("planes_zstd", "zplane"), ("bars_blosc", "box48"), ("turned_raw", "box48"), ("turned_raw", "xplane"), ("turned_zstd", "box48"), ("turned_shard", "box48"), ("turned_shard", "zplane"), ("big_raw", "box48"), ("big_raw", "xplane"), ("float_bits", "box48"), ("crc_raw", "box48"), ("v2_f_lz4", "xplane"), ("v2_f_raw", "zplane"))]
CASES += [("variety", "write_all", d, 2, None) for d in ("edge_zstd", "turned_raw", "turned_zstd", "turned_shard", "big_raw", "byte_lz4", "crc_raw", "v2_f_lz4", "v2_zlib")]
KEY = {"read", "write", "subset"}
NO_LIMIT = {"open_list", "read_http", "read_chunks", "read_inner", "roundtrip", "read_planes", "read_planes_cached", "read_planes_ahead", "read_planes_aged"}   # the limit driver has no such op
NO_LIMIT_SET = {"variety", "memory"}                                             # nor does it know these data, or stores in memory


def load1():
    return float(open("/proc/loadavg").read().split()[0])


def busy():
    """Busy seconds of all cores since boot (user..softirq and steal, without idle and iowait)."""
    v = [int(x) for x in open("/proc/stat").readline().split()[1:9]]
    return (sum(v) - v[3] - v[4]) / os.sysconf("SC_CLK_TCK")


def wait_quiet(limit):
    """Waits (at most `limit` seconds) for a quarter of a second in which other work took under a tenth of the cores."""
    end = time.time() + limit
    while time.time() < end:
        b, t = busy(), time.time()
        time.sleep(0.25)
        if (busy() - b) / (time.time() - t) / os.cpu_count() < 0.1:
            return


QUIET = 0


def proc(cmd, timeout, memory=1 << 29, cores=None):
    """Runs a driver on an idle machine whose host has `memory` bytes of free memory at hand, on this number of cores: what a row
    of two threads is told, tensorstore's threads that read and write files are not."""
    if QUIET:
        wait_quiet(QUIET)
    machine.touch(memory)
    l0, t, b0, c0 = load1(), time.time(), busy(), resource.getrusage(resource.RUSAGE_CHILDREN)
    try:
        pin = None if cores is None or not hasattr(os, "sched_setaffinity") else lambda: os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:cores])
        p = subprocess.run(cmd, capture_output=True, text=True, timeout=timeout, preexec_fn=pin)
    except subprocess.TimeoutExpired:
        return dict(error=f"timeout {timeout}s")
    line = next((l for l in reversed(p.stdout.splitlines()) if l.startswith("{")), None)
    r = json.loads(line) if line else dict(error=(p.stderr.strip().splitlines() or ["no output"])[-1][:300])
    wall, c1 = time.time() - t, resource.getrusage(resource.RUSAGE_CHILDREN)
    own = c1.ru_utime + c1.ru_stime - c0.ru_utime - c0.ru_stime
    # share of all cores that OTHER work took while this ran: what makes a wall time incomparable
    r.update(load=[l0, load1()], wall=round(wall, 2), foreign=round(max(0, busy() - b0 - own) / wall / os.cpu_count(), 3))
    return r


def command(case, drv, regs, warm, reps):
    """A driver's command for a case, and where it writes."""
    st, op, ds, th, rg = case
    cmd = DRIVERS[drv] + ["--op", op, "--path", os.path.join(DATA, ds), "--threads", str(th), "--reps", str(reps), "--warm", str(warm)]
    if rg:
        cmd += ["--regions", regs[rg]]
    out = os.path.join(OUT, f"{drv}.zarr")
    if op in ("write_all", "roundtrip"):
        os.makedirs(os.path.dirname(out), exist_ok=True)
        cmd += ["--out", out]
    if st == "memory":
        cmd += ["--store", "memory"]
    return cmd, out


def one(case, drv, slow, regs, warm=1, reps=2, variant=None):
    st, op, ds, th, rg = case
    if slow > 4:
        warm, reps = 0, 1
    cmd, out = command(case, drv, regs, warm, reps)
    if variant:
        cmd += ["--variant", variant]
    r = proc(cmd, 300, (3 if ds.startswith("clim") else 1) << 29, th)
    if op in ("write_all", "roundtrip"):
        shutil.rmtree(out, ignore_errors=True)
    r.update(set=st, op=op, dataset=ds, threads=th, regions=rg, name=drv, variant=variant or "")
    return r


SERVER = os.path.join(WORK, "target", "far_server")
# (op, dataset, regions) from a far server, which is opened before
FAR = [("far_all", d, None) for d in ("raw", "zstd", "shard_zstd", "small_shards", "big_shard", "chunks_4096")]
FAR += [("read_subset", d, "zplane") for d in ("zstd", "shard_zstd")] + [("points", d, "points") for d in ("zstd", "shard_zstd")]
FAR += [(op, "zstd", None) for op in ("read_planes_cached", "read_planes_aged", "read_planes_ahead")]
FAR += [("open_list", "many_arrays_cons", None)]
LINES = [(20, 10_000), (20, 200), (100, 10_000), (100, 200)]


class Server:
    """far_server on the data, for the time of a `with`; `at` is its address, `stats()` what it counted since the last call."""
    def __init__(self, delay, mbit=0):
        source = os.path.join(HERE, "far_server.rs")
        if not os.path.exists(SERVER) or os.path.getmtime(SERVER) < os.path.getmtime(source):
            os.makedirs(os.path.dirname(SERVER), exist_ok=True)
            subprocess.run(["rustc", "-O", "--edition", "2024", source, "-o", SERVER], check=True)
        self.process = subprocess.Popen([SERVER, DATA, str(delay), str(mbit)], stdout=subprocess.PIPE, text=True)
        self.at = f"http://127.0.0.1:{int(self.process.stdout.readline())}"

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait()

    def busy(self):
        """Seconds of processor time that it took."""
        with open(f"/proc/{self.process.pid}/stat") as file:
            return sum(map(int, file.read().rsplit(")", 1)[1].split()[11:13])) / os.sysconf("SC_CLK_TCK")

    def stats(self):
        return json.load(urllib.request.urlopen(self.at + "/__stats"))


def far(results, drivers, only, regs, lines, rounds):
    """Rows from a far server beside a model: requests / 64 × latency + transfer + decoding. The requests and bytes are ours; decoding is
    our own time for the same from the folder, the least of three."""
    for op, ds, rg in FAR:
        if not re.search(only, ds) or not os.path.exists(os.path.join(DATA, ds, ".done")):
            continue
        args = ["--op", op, "--threads", "2"] + (["--regions", regs[rg]] if rg else [])
        near = proc(DRIVERS["ours"] + args + ["--path", os.path.join(DATA, ds), "--warm", "1", "--reps", "3"], 300)
        for delay, mbit in lines:
            with Server(delay, mbit) as server:
                model = None
                for _ in range(rounds):
                    for drv in sorted(drivers, key=lambda d: d != "ours"):
                        if drv in ("limit", "limit-vec", "zarrs-python"):
                            continue
                        server.stats()
                        b = server.busy()
                        r = proc(DRIVERS[drv] + args + ["--path", f"{server.at}/{ds}", "--warm", "0", "--reps", "1"], 600)
                        s = server.stats()
                        # The server is no other work.
                        r["foreign"] = round(max(0, r.get("foreign", 0) - (server.busy() - b) / r.get("wall", 1) / os.cpu_count()), 3)
                        if drv == "ours" and near.get("seconds"):
                            model = s["requests"] / 64 * delay / 1e3 + s["bytes"] * 8e-6 / mbit + min(near["seconds"])
                        r.update(set="far", op=op, dataset=ds, threads=2, regions=rg, name=drv, variant=f"{delay}ms {mbit}M", server=s, model=model)
                        emit(results, r)


LATENCY = ("scale_1x", "shard_zstd", "chunks_4096", "chunks_4k")


def latency(results, drivers, datasets=LATENCY, delay=20, rounds=2):
    for ds in datasets:
        with Server(delay) as server:
            for rnd in range(rounds):
                for drv in drivers:
                    if drv in ("limit", "limit-vec", "zarrs-python"):
                        continue
                    server.stats()
                    r = proc(DRIVERS[drv] + ["--op", "read_all", "--path", f"{server.at}/{ds}", "--threads", "2", "--warm", "0", "--reps", "1"], 300)
                    r.update(set="latency", op="read_http", dataset=ds, threads=2, regions=None, name=drv, variant=f"{delay}ms", server=server.stats())
                    emit(results, r)


def limits(results, rnd):
    """Parts of the limit: memcpy, file reading, decoding, floor readers' variants."""
    def go(op, ds, th, v):
        emit(results, one(("limits", op, ds, th, None), "limit", 0, {}, 1, 3, v))
    for th in (1, 2):
        for v in ("reuse", "fresh", "huge"):
            go("memcpy", "raw", th, v)
        for ds in ("raw", "zstd", "shard_zstd", "small_raw"):
            go("read_files", ds, th, "pread")
        go("read_files", "raw", th, "mmap")
        for ds, vs in (("blosc_zstd", ("cblosc", "own")), ("blosc_lz4", ("cblosc", "own")), ("zstd", ("",)), ("gzip", ("", "zlibrs")), ("shard_zstd", ("",)), ("shard_blosc", ("cblosc", "own")), ("clim_blosc_zstd", ("cblosc", "own")), ("clim_zstd", ("",)), ("small_lz4", ("cblosc", "own"))):
            for v in vs:
                go("decode", ds, th, v)
    for ds in ("raw", "blosc_lz4", "zstd"):
        for v in ("fresh", "huge", "reuse"):
            go("read_all", ds, 2, v)
    for ds in ("blosc_zstd", "blosc_lz4", "zstd", "gzip", "shard_zstd"):
        go("encode", ds, 2, None)


def about(results):
    """Writes what the run is measured on into the results, and prints it."""
    r = machine.describe()
    with open(results, "a") as f:
        f.write(json.dumps(r) + "\n")
    print(f"{r['what']}; copying memory by 1 thread and by all: {r['copy']} GB/s; large pages: {r['pages']}", flush=True)


def emit(results, r):
    with open(results, "a") as f:
        f.write(json.dumps(r) + "\n")
    s = r.get("seconds") or []
    c = r.get("cpu") or [0]
    print(f"{r['set']:7} {r['op']:11} {r['dataset']:16} {r.get('regions') or '':7} t{r['threads']} {r['name']:12} {r['variant']:8} "
          + (f"{min(s):8.4f}s cpu {min(c):8.4f} rss {r['peak_rss'] >> 20:5} MiB" if s else f"ERROR {r.get('error')}") + (f" {r['server']}" if "server" in r else "") + f" foreign {r.get('foreign')}", flush=True)


# ------------------------------------------------------------------------------------------------ report
ORDER = ("limit", "limit-vec", "ours", "before", "zarrs", "tensorstore", "zarrs-python", "zarr-python-fused", "zarr-python")


def table(rows, out):
    names = [n for n in ORDER if any(n in by for _, by in rows)]
    out.append("| case | " + " | ".join(names) + " | RSS MiB (same order) |")
    out.append("|" + "---|" * (len(names) + 2))
    for label, by in rows:
        L = by.get("limit")
        cells = []
        for n in names:
            e = by.get(n)
            if not e:
                cells.append("-")
                continue
            t = f"cpu {min(e['cpu']):.3f}"
            if L and n != "limit":
                t += f" **{min(e['cpu']) / min(L['cpu']):.2f}x**"
            t += f"; wall {min(e['clean']):.3f} ({statistics.median(e['clean']):.3f})" if e["clean"] else f"; wall <= {min(e['s']):.3f} contended"
            if L and n != "limit" and e["clean"] and L["clean"]:
                t += f" **{min(e['clean']) / min(L['clean']):.2f}x**"
            cells.append(t)
        out.append(f"| {label} | " + " | ".join(cells) + " | " + ", ".join(str(by[n]["rss"] >> 20) if n in by else "-" for n in names) + " |")


def report(results, path):
    acc, sums, srv, errs = {}, {}, {}, {}
    for r in records(results):
        k = key(r)
        if r.get("error"):
            errs[(k, r["name"])] = r["error"]
            continue
        n = r["name"] if r["set"] != "limits" else f"{r['op']}:{r['variant']}"
        e = acc.setdefault(k, {}).setdefault(n, dict(s=[], cpu=[], clean=[], rss=1 << 62, bytes=r.get("bytes")))
        e["s"] += r["seconds"]
        e["cpu"] += r.get("cpu", [])
        e["clean"] += [x for i, x in enumerate(r["seconds"]) if clean(r, i)]
        e["rss"] = min(e["rss"], r["peak_rss"])
        if r["op"] in ("read_all", "read_subset", "read_http"):
            sums.setdefault((r["op"], r["dataset"], r["regions"]), {}).setdefault(r.get("checksum"), set()).add(r["name"])
        if "server" in r:
            srv.setdefault((r["dataset"], r["name"]), []).append((min(r["seconds"]), r["server"]))
    out = ["Seconds. cpu: minimum user + system time of all threads; wall: minimum (median) over uncontended repetitions only. Bold: ratio to `limit`.", ""]
    for st, t in TITLES.items():
        rows = [(f"{k[1]} {k[2]}" + (f" {k[4]}" if k[4] else ""), by) for k, by in acc.items() if k[0] == st]
        if rows:
            out += [f"### {t}", ""]
            table(rows, out)
            out.append("")
    rows = [(k, n, e) for k, by in acc.items() if k[0] == "limits" for n, e in by.items()]
    if rows:
        out += ["### Parts of the limit", "", "| what | data | threads | cpu s | GB per cpu s | wall s (uncontended) |", "|---|---|---|---|---|---|"]
        for k, n, e in sorted(rows, key=lambda x: (x[1], x[0][2], x[0][3])):
            out.append(f"| {n} | {k[2]} | {k[3]} | {min(e['cpu']):.4f} | {e['bytes'] / min(e['cpu']) / 1e9:.2f} | " + (f"{min(e['clean']):.4f}" if e["clean"] else "contended") + " |")
        out.append("")
    if srv:
        out += ["### HTTP store with a fixed delay a request", "", "| data | driver | seconds | requests | most in flight | connections | HEAD | ranged | 404 |", "|---|---|---|---|---|---|---|---|---|"]
        for (d, n), v in srv.items():
            s, x = min(v, key=lambda y: y[0])
            out.append(f"| {d} | {n} | {s:.3f} | {x['requests']} | {x['max_in_flight']} | {x['connections']} | {x['head']} | {x['ranged']} | {x['not_found']} |")
        out.append("")
    bad = {k: {c: sorted(n) for c, n in v.items()} for k, v in sums.items() if len(v) > 1}
    out.append("Checksums (whole data for read_all, only the end words of each region for read_subset): " + ("all drivers agree" if not bad else f"DISAGREE: {bad}"))
    if errs:
        out += ["", "Errors: " + "; ".join(f"{k[0][1]} {k[0][2]} {k[1]}: {v}" for k, v in errs.items())]
    open(path, "w").write("\n".join(out) + "\n")


def efficiency(files):
    """Of `--set threads`: how much of n threads is work, 1.00 = n times as fast as one; of wall time, so only for a quiet machine."""
    rows = {}
    for file in files:
        with open(file) as lines:
            about = next((r for r in map(json.loads, lines) if r["set"] == "machine"), {})
        print(f"{file}: {about.get('what', 'machine not kept')}; copying memory by 1 thread and by all: {about.get('copy', 'not kept')} GB/s; large pages: {about.get('pages', 'not kept')}")
        for r in records(file):
            if r["set"] == "threads":
                rows.setdefault((r["op"], r["dataset"], r["name"]), {}).setdefault(r["threads"], []).extend(x for i, x in enumerate(r.get("seconds") or []) if clean(r, i))
    print("\n| row | driver | 1 thread, s | 2 threads, s | efficiency | 4 threads, s | efficiency |\n|" + " --- |" * 7)
    for (op, ds, name), by in rows.items():
        med = {n: statistics.median(s) for n, s in by.items() if s}
        of = lambda n: f"{med[n]:.4f} | {med[1] / n / med[n]:.2f}" if n in med and 1 in med else "- | -"
        print(f"| {ds}, {op} | {name} | " + (f"{med[1]:.4f}" if 1 in med else "-") + f" | {of(2)} | {of(4)} |")


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--page", nargs="*", metavar="RUN.jsonl")
    p.add_argument("--everything", metavar="RUN.jsonl")
    p.add_argument("--efficiency", nargs="+", metavar="RUN.jsonl")
    p.add_argument("--gate", nargs=2, metavar=("OLD", "NEW"))
    p.add_argument("--bound", type=float, default=1.05)
    p.add_argument("--set", default="key")
    p.add_argument("--rounds", type=int, default=3)
    p.add_argument("--results", default=os.path.join(WORK, "results.jsonl"))
    p.add_argument("--drivers", default="")
    p.add_argument("--datasets", default="")
    p.add_argument("--quiet", type=int, default=0, help="before each process wait up to this number of seconds for an idle machine")
    p.add_argument("--report")
    p.add_argument("--lines", default=",".join(f"{delay}:{mbit}" for delay, mbit in LINES))
    p.add_argument("--far", nargs="+")
    a = p.parse_args()
    global QUIET
    QUIET = a.quiet
    if a.page is not None:
        return page.page(a.page)
    if a.efficiency:
        return efficiency(a.efficiency)
    if a.gate:
        import compare
        return compare.main([*a.gate, "--set", ",".join(sorted(KEY)) if a.set == "key" else a.set, "--rounds", str(a.rounds), "--datasets", a.datasets, "--quiet", str(a.quiet), "--bound", str(a.bound), "--results", a.results if a.results != p.get_default("results") else os.path.join(WORK, "compare.jsonl")])
    if a.far:
        return print(page.far([dict(far=page.far_rows(file)) for file in a.far]))
    if a.report:
        return report(a.results, a.report)
    if a.everything:
        if os.path.exists(a.everything):
            return f"{a.everything} already exists: rows of two runs would be mixed; give another name"
        a.results = a.everything
    names = a.drivers.split(",") if a.drivers else list(DRIVERS)
    absent = [n for n in names if not os.path.exists(shutil.which(DRIVERS[n][0]) or DRIVERS[n][0])]
    names = [n for n in names if n not in absent]
    if absent:
        print(f"left out, as not set up: {', '.join(absent)}", flush=True)
    sets = set(TITLES) | {"far"} if a.everything else KEY if a.set == "key" else {c[0] for c in CASES} | {"limits", "latency", "far"} if a.set == "full" else set(a.set.split(","))
    regs = region_files()
    about(a.results)
    slow = {}
    for rnd in range(a.rounds):
        if "limits" in sets:
            limits(a.results, rnd)
        for c in CASES:
            if c[0] not in sets or not re.search(a.datasets, c[2]):
                continue
            for d in names:
                if d.startswith("limit") and (c[1] in NO_LIMIT or c[0] in NO_LIMIT_SET) or d == "limit-vec" and c[1] == "read_subset":
                    continue
                if slow.get((c, d), 0) > 30 and rnd > 0:
                    continue                       # once is enough for the very slow ones
                r = one(c, d, slow.get((c, d), 0), regs)
                if r.get("seconds"):
                    slow[(c, d)] = min(r["seconds"])
                emit(a.results, r)
    if "latency" in sets:
        latency(a.results, names)
    if "far" in sets:
        lines = [tuple(map(float if "." in line else int, line.split(":"))) for line in a.lines.split(",")]
        far(a.results, names, a.datasets, regs, lines, a.rounds)
    if a.everything:
        page.page([a.everything])


if __name__ == "__main__":
    sys.exit(main())
