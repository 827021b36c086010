"""Results as tables: summaries of runs, the tables made of them, and which of two builds is slower.

A summary is small enough to be committed (`results/*.json`): the machine, and for each row our times and the other drivers' as multiples of
them. All rows go to `target/performance.md`; a few, and a line for each set, to docs/performance.md. Both come only from such files, so that
`page_test.py` can tell whether the page is what was measured.
"""
import json, os, statistics

HERE = os.path.dirname(os.path.abspath(__file__))
PAGE = os.path.join(HERE, "..", "..", "docs", "performance.md")
RESULTS = os.path.join(HERE, "results")
TARGET = os.environ.get("CARGO_TARGET_DIR") or os.path.join(HERE, "..", "..", "target")
# What of the page is made of the results, each part between its two marks.
PARTS = ("machines", "summary", "rows", "remote")
# The rows that the page shows, by set and name.
SHOWN = [("read", name) for name in ("raw", "blosc_lz4", "blosc_zstd", "zstd", "gzip", "shard_zstd", "small_lz4", "clim_zstd")]
SHOWN += [("subset", name) for name in ("zstd box48", "blosc_lz4 box48", "shard_zstd box48", "shard_zstd zplane", "shard_zstd point")]
SHOWN += [("write", name) for name in ("raw, write_all", "blosc_lz4, write_all", "zstd, write_all", "shard_zstd, write_all")]
SHOWN += [("open", "many_arrays"), ("open", "many_arrays_cons")]
TITLES = dict(read="Read all, 2 threads", read1="Read all, 1 thread", chunks="Chunk by chunk, 2 threads", subset="Regions, one call each, one after the other", write="Write all, 2 threads", round="Round trip (read + re-encode + write)", small="4,096 chunks of 4 KiB from a folder, 2 threads", memory="From and into memory, 2 threads", planes="Planes through the same chunks, one after the other, 2 threads", threads="1, 2 and 4 threads", open="Open and list 2,000 arrays", scale="Growth 1x / 4x / 16x", variety="Other shapes, orders, types and codecs, 2 threads")
# Ours under other conditions, and what is no library: not among the peers.
NO_PEERS = {"ours", "limit", "limit-vec", "before", "old", "new"}


def records(file):
    """The lines of a results file, without the one that tells of the machine."""
    with open(file) as lines:
        return [r for r in map(json.loads, lines) if r["set"] != "machine"]


def clean(r, i):
    """Is this repetition's wall time comparable? By the measured share of other work; records from before that was
    measured: only if the process itself kept its threads busy, which a contended (or a poorly parallel) one does not."""
    if "foreign" in r:
        return r["foreign"] < 0.1
    c = r.get("cpu") or []
    return i < len(c) and c[i] / r["seconds"][i] >= 0.9 * r["threads"]


def key(r):
    return (r["set"], r["op"], r["dataset"], r["threads"], r["regions"])


def what(r):
    """The name of a row."""
    plain = ("read_all", "read_subset", "roundtrip", "open_list")
    threads = f", {r['threads']} threads" if r["set"] == "threads" else ""
    return r["dataset"] + (f" {r['regions']}" if r["regions"] else "") + ("" if r["op"] in plain else f", {r['op']}") + threads


def summarise(file):
    """The summary of a run: medians of comparable repetitions, and the least and the most of ours."""
    with open(file) as lines:
        machine = next((r for r in map(json.loads, lines) if r["set"] == "machine"), {})
    rows = {}
    for r in records(file):
        if r["set"] not in TITLES:
            continue
        e = rows.setdefault(key(r), {}).setdefault(r["name"], dict(row=r, seconds=[], rss=0, foreign=0))
        found = [x for i, x in enumerate(r.get("seconds") or []) if clean(r, i)]
        e["seconds"] += found
        e["foreign"] = max([e["foreign"], r.get("foreign", 0)] if found else [e["foreign"]])
        e["rss"] = max(e["rss"], r.get("peak_rss") or 0)
    out, foreign = [], 0.0
    for k, by in rows.items():
        ours = by.get("ours", {}).get("seconds")
        if not ours:
            continue
        median = statistics.median(ours)
        others = {n: round(statistics.median(e["seconds"]) / median, 3) for n, e in sorted(by.items()) if n != "ours" and e["seconds"]}
        first, foreign = by["ours"]["row"], max(foreign, by["ours"]["foreign"])
        out.append(dict(zip(("set", "op", "dataset", "threads", "regions"), k), what=what(first), seconds=round(median, 5), least=round(min(ours), 5), most=round(max(ours), 5), repetitions=len(ours), peak=by["ours"]["rss"] >> 20, others=others))
    return dict(machine={k: v for k, v in machine.items() if k != "set"} | dict(foreign=foreign), rows=out, far=far_rows(file))


def merged(summaries):
    """Rows of all runs by set and name: of each, what was worst for us."""
    sets = {}
    for summary in summaries:
        for row in summary["rows"]:
            sets.setdefault(row["set"], {}).setdefault(row["what"], []).append(row)
    for st, rows in sets.items():
        for name, runs in rows.items():
            slowest = max(runs, key=lambda r: r["seconds"])
            limit = lambda name: max((1 / r["others"][name] for r in runs if r["others"].get(name)), default=None)
            peers = [min((m, n) for n, m in r["others"].items() if n not in NO_PEERS) for r in runs if set(r["others"]) - NO_PEERS]
            pythons = [r["others"]["zarr-python-fused"] for r in runs if "zarr-python-fused" in r["others"]]
            yield st, name, dict(slowest=slowest, limit=limit("limit"), vec=limit("limit-vec"), peer=min(peers, default=None), python=min(pythons, default=None), peak=max(r["peak"] for r in runs))


def ratio(x):
    return "-" if x is None else f"{x:.2f}"


def machines(summaries):
    """The machines that the runs were made on."""
    out = ["| machine | copy bandwidth, GB/s: 1 thread, all | large pages | other work, most |", "| --- | --- | --- | --- |"]
    for m in (s["machine"] for s in summaries):
        copy = ", ".join(f"{x:.1f}" for x in m["copy"]) if m.get("copy") else "not kept"
        out.append(f"| {m.get('what', 'not kept')} | {copy} | {m.get('pages', 'not kept')} | {m.get('foreign', 'not kept')} |")
    return "\n".join(out) + "\n"


def summary(summaries):
    """A line for each set: the least and the most of its rows."""
    rows = list(merged(summaries))
    compared = [r for _, _, r in rows if r["peer"]]
    behind = sum(r["peer"][0] < 1 for r in compared)
    close = sum(1 <= r["peer"][0] < 1.1 for r in compared)
    out = [f"Of {len(compared)} rows with a peer, the best peer is faster in {behind}, and within a tenth in {close} more.", "", "| set | rows | ours / limit | best peer / ours | a peer is faster in |", "|" + " --- |" * 5]
    between = lambda found: "-" if not found else f"{min(found):.2f}" if f"{min(found):.2f}" == f"{max(found):.2f}" else f"{min(found):.2f} to {max(found):.2f}"
    for st, title in TITLES.items():
        mine = [(name, r) for s, name, r in rows if s == st]
        if mine:
            slower = [f"{name} ({r['peer'][1]}, {r['peer'][0]:.2f})" for name, r in mine if r["peer"] and r["peer"][0] < 1]
            limits, peers = [r["limit"] for _, r in mine if r["limit"]], [r["peer"][0] for _, r in mine if r["peer"]]
            out.append(f"| {title} | {len(mine)} | {between(limits)} | {between(peers)} | {', '.join(slower) or '-'} |")
    return "\n".join(out) + "\n"


def rows(summaries):
    """The rows of the page: a selection."""
    found = {(st, name): r for st, name, r in merged(summaries)}
    out = ["| row | ours, s | ours / limit | best peer / ours | best peer | peak MiB |", "|" + " --- |" * 6]
    verbs = dict(read="read ", subset="regions of ", write="write ", open="open ")
    for st, name in SHOWN:
        if r := found.get((st, name)):
            out.append(f"| {verbs[st]}{name.removesuffix(', write_all')} | {r['slowest']['seconds']:.3f} | {ratio(r['limit'])} | {ratio(r['peer'] and r['peer'][0])} | {r['peer'][1] if r['peer'] else '-'} | {r['peak']} |")
    return "\n".join(out) + "\n"


def remote(summaries):
    """The rows of remote stores, of the first line of each run."""
    out = ["| what | ours, s | requests | peak MiB | best peer / ours | best peer |", "|" + " --- |" * 6]
    for s in summaries:
        found = s.get("far") or []
        for r in (r for r in found if r["line"] == found[0]["line"]):
            peer = min(((x, n) for n, x in r["others"].items()), default=(None, "-"))
            out.append(f"| {r['what']} | {r['seconds']:.2f} | {r['requests']:,} | {r['peak']} | {ratio(peer[0])} | {peer[1]} |")
    return "\n".join(out) + "\n"


def tables(summaries):
    """All rows, a table for each set."""
    rows = list(merged(summaries))
    out = []
    for st, title in TITLES.items():
        mine = [(name, r) for s, name, r in rows if s == st]
        if not mine:
            continue
        out += [f"## {title}", "", "| data | ours, s | least to most | ours / limit | ours / limit in a `Vec` | best peer / ours | best peer | zarr-python, fused / ours | peak MiB |", "|" + " --- |" * 9]
        for name, r in mine:
            s = r["slowest"]
            spread = f"{s['least']:.4f} to {s['most']:.4f}" if s.get("least") is not None else "not kept"
            out.append(f"| {name} | {s['seconds']:.4f} | {spread} | {ratio(r['limit'])} | {ratio(r['vec'])} | {ratio(r['peer'] and r['peer'][0])} | {r['peer'][1] if r['peer'] else '-'} | {ratio(r['python'])} | {r['peak']} |")
        out.append("")
    return "\n".join(out)


def far_rows(file):
    """The rows of `--set far` in a results file: medians, the model, and what the server counted."""
    rows = {}
    for r in records(file):
        if r["set"] == "far" and r.get("seconds"):
            rows.setdefault((r["variant"], r["op"], r["dataset"]), {}).setdefault(r["name"], []).append(r)
    out = []
    for (line, op, dataset), by in rows.items():
        models = [r["model"] for r in by.get("ours", []) if r.get("model")]
        if not models:
            continue
        med = {n: statistics.median(r["seconds"][0] for r in v) for n, v in by.items()}
        most = lambda name, get: max(get(r) for r in by[name]) if name in by else None
        kind = dict(far_all="all", read_subset="4 planes", points="1,000 elements", open_list="2,000 arrays", read_planes_cached="all planes, one after the other, kept", read_planes_aged="all planes, one after the other, kept for an hour", read_planes_ahead="all planes, one after the other, read ahead")[op]
        out.append(dict(line=line, what=f"{dataset}, {kind}", seconds=round(med["ours"], 4), model=round(statistics.median(models), 4), requests=most("ours", lambda r: r["server"]["requests"]), under_way=most("ours", lambda r: r["server"]["max_in_flight"]), peak=most("ours", lambda r: r["peak_rss"] >> 20), foreign=most("ours", lambda r: r.get("foreign", 0)), tensorstore=[most("tensorstore", lambda r: r["server"]["requests"]), most("tensorstore", lambda r: r["peak_rss"] >> 20)], others={n: round(s / med["ours"], 3) for n, s in sorted(med.items()) if n != "ours"}))
    return out


def far(summaries):
    """The tables of far stores, a table for each line; of several runs, all rows."""
    rows = [r for s in summaries for r in s.get("far", [])]
    cell = lambda x: "-" if x is None else f"{x:.2f}" if isinstance(x, float) else f"{x}"
    out = []
    for line in dict.fromkeys(r["line"] for r in rows):
        delay, mbit = line.split()
        out += [f"{delay[:-2]} ms, {int(mbit[:-1]):,} Mbit/s:", "", "| what | ours, s | requests | most under way | peak MiB | ours / model | best peer / ours | best peer | requests of tensorstore | its peak MiB | other work |", "|" + " --- |" * 11]
        for r in (r for r in rows if r["line"] == line):
            ratio = r["ratio"] if "ratio" in r else r["seconds"] / r["model"]
            peer = min(((s, n) for n, s in r["others"].items()), default=(None, "-"))
            out.append("| " + " | ".join([r["what"], f"{r['seconds']:.3f}" if r.get("seconds") else "not kept", *map(cell, (r["requests"], r["under_way"], r["peak"], ratio, peer[0])), peer[1], *map(cell, r["tensorstore"]), cell(r["foreign"])]) + " |")
        ratios = [(r["ratio"] if "ratio" in r else r["seconds"] / r["model"], r["what"]) for r in rows if r["line"] == line]
        known = [(x, what) for x, what in ratios if x is not None]
        over = [f"{what} ({x:.2f})" for x, what in known if x > 1.15]
        disturbed = sum(r["line"] == line and (r["foreign"] is None or r["foreign"] >= 0.1) for r in rows)
        if disturbed:
            out += ["", f"The times of {disturbed} rows are no measurement: other work took a tenth of the machine or more, or was not kept."]
        out += ["", f"{len(known) - len(over)} of {len(known)} rows are within 1.15 of the model." + (f" Not: {'; '.join(over)}." if over else ""), ""]
    return "\n".join(out) if out else "No run of far stores is kept.\n"


def committed(folder=RESULTS):
    """The committed summaries."""
    out = []
    for name in sorted(os.listdir(folder)):
        if name.endswith(".json"):
            with open(os.path.join(folder, name)) as file:
                out.append(json.load(file))
    return out


def with_parts(text, summaries):
    """The page whose generated parts, each between its two marks, are made anew."""
    for part in PARTS:
        begin, end = f"<!-- {part}: benches/peers/run.py --page -->", f"<!-- end of the {part} -->"
        head, rest = text.split(begin)
        text = head + begin + "\n\n" + globals()[part](summaries) + "\n" + end + rest.split(end)[1]
    return text


def details(summaries):
    """All rows of all runs, as a page."""
    return "\n".join(["# All rows", "", machines(summaries), summary(summaries), tables(summaries), "## Far stores", "", far(summaries)])


def page(files):
    """Keeps summaries of results files, instead of the committed ones if there are any, and writes all rows into `target/performance.md` and the
    generated parts of the page."""
    if files:
        for name in os.listdir(RESULTS):
            if name.endswith(".json"):
                os.remove(os.path.join(RESULTS, name))
        for file in files:
            name = os.path.splitext(os.path.basename(file))[0] + ".json"
            with open(os.path.join(RESULTS, name), "w") as out:
                out.write(dumped(summarise(file)))
    with open(PAGE) as file:
        text = file.read()
    with open(PAGE, "w") as file:
        file.write(with_parts(text, committed()))
    os.makedirs(TARGET, exist_ok=True)
    with open(os.path.join(TARGET, "performance.md"), "w") as file:
        file.write(details(committed()))


def dumped(summary):
    """A summary as JSON, a line a row."""
    lines = lambda rows: ",\n".join("  " + json.dumps(r) for r in rows)
    far = ',\n "far": [\n' + lines(summary["far"]) + "\n]" if summary.get("far") else ""
    return '{"machine": ' + json.dumps(summary["machine"]) + ',\n "rows": [\n' + lines(summary["rows"]) + "\n]" + far + "}\n"


def gate(rows, bound):
    """Which rows of `new` are slower than `old` beyond the bound, and a table. Rounds are pairs: each has its own ratio new / old, of wall time where
    other work left both alone, else of processor time. A row fails if the median ratio is beyond the bound and three quarters of the
    rounds say slower: one disturbed round is not a loss."""
    pairs, sums, failed = {}, {}, []
    out = ["| row | old, s | new, s | new / old | least to most | by | other work, most | |", "|" + " --- |" * 8]
    for r in rows:
        by = pairs.setdefault(key(r), {"old": [], "new": []})
        if r["name"] in by:
            by[r["name"]].append(r)
    for k, by in pairs.items():
        row = f"{k[0]}: " + what(dict(zip(("set", "op", "dataset", "threads", "regions"), k)))
        errors = [r["error"] for r in by["new"] if r.get("error")]
        if errors:
            failed.append(f"{row}: {errors[0]}")
            continue
        rounds = [(o, n) for o, n in zip(by["old"], by["new"]) if o.get("seconds") and n.get("seconds")]
        if not rounds:
            continue
        for o, n in rounds:
            for r in (o, n):
                sums.setdefault(row, set()).add(r.get("checksum"))
        undisturbed = [p for p in rounds if all(r.get("foreign", 0) < 0.1 for r in p)]
        by_wall = len(undisturbed) * 2 > len(rounds) or k[0] in ("latency", "far")
        field, used = ("seconds", undisturbed or rounds) if by_wall else ("cpu", rounds)
        times = [[statistics.median(r[field]) for r in p] for p in used]
        ratios = sorted(n / o for o, n in times if o)
        if not ratios:
            continue
        middle = statistics.median(ratios)
        slower = middle > bound and sum(x > 1 for x in ratios) * 4 >= len(ratios) * 3
        old, new = (statistics.median(t[i] for t in times) for i in (0, 1))
        peaks = [statistics.median(p[i]["peak_rss"] for p in rounds) for i in (0, 1)]
        larger = peaks[1] > peaks[0] * bound and peaks[1] - peaks[0] > 1 << 20
        foreign = max(r.get("foreign", 0) for p in rounds for r in p)
        if slower:
            failed.append(f"{row}: {middle:.3f} times the time, bound {bound}")
        if larger:
            failed.append(f"{row}: {peaks[1] / peaks[0]:.3f} times the memory, bound {bound}")
        out.append(f"| {row} | {old:.4f} | {new:.4f} | {middle:.3f} | {ratios[0]:.3f} to {ratios[-1]:.3f} | {'wall' if by_wall else 'CPU'} | {foreign:.2f} | {'!' if slower or larger else ''} |")
    failed += [f"{row}: different results" for row, found in sums.items() if len(found) > 1]
    return "\n".join(out), failed
