"""Prints the tables of what the reports of all peers say: `matrix.py REPORT...`."""

import collections
import json
import sys
from pathlib import Path

from cases import KINDS, NUMBERS, SUBJECTS, numpy_type

HEAD = """\
# Exchanges with other implementations

Each number counts exchanges, run live, whose elements came out equal to the bit, and attributes equal as JSON.
"""

TOTALS = """\
## In all

*We write*: the program writes, the other reads. *It writes*: the reverse. *Copied*: the program copies what the other
wrote into each dialect and reads the copy; so does the other, if it supports the dialect. *Known*: refused or
different for a reason, named below.
"""

TABLES = """\
## In detail

A cell says how often we wrote and it read · it wrote and we read, and how many *more* there are with a known reason. A dash
means that no peer was asked. Where we write, each type that both sides have meets each codec that both have; the other
writes a selection. An array counts once in each table; where its codecs are special, as of shards in shards, not in the last. Byte
orders are folded into their type, levels and shuffles into their codec.
"""

KNOWN = """\
## Known reasons

What the other does, unless the reason names another; `v2 → v3` is a copy. What no exchange asks for comes last. A
number counts exchanges.
"""

# The columns, and what counts for one.
WAYS = ("we write", "it writes", "copied")
DIRECTIONS = {
    "we write": "we write", "we consolidate": "we write",
    "they write": "it writes", "they consolidate": "it writes", "we change what they consolidated": "it writes",
}


def way(direction):
    return DIRECTIONS.get(direction, "copied")


def row_order(table, rows):
    """Types and subjects as `cases.py` lists them, codecs by name, what is none of these at the end."""
    known = {
        "subject": list(SUBJECTS.values()),
        "data type": [numpy_type(dtype).name for dtype in NUMBERS] + list(KINDS.values()),
        "codecs": ["none", *sorted(rows)],
    }[table]
    return sorted(rows, key=lambda row: (known.index(row) if row in known else len(known), row))


def line(*cells):
    return "| " + " | ".join(map(str, cells)) + " |"


def rule(columns):
    return "|---|" + "---:|" * (columns - 1)


def written_in(direction, dialect):
    """The dialect of what the other wrote, or read, first."""
    return direction.rpartition(" from ")[2] if " from " in direction else dialect


def totals(reports):
    yield from (line("", "dialect", "we write", "it writes", "copied", "known"), "|---|---|---:|---:|---:|---:|")
    sums = collections.Counter()
    for report in reports:
        for dialect in report["dialects"]:
            numbers = collections.Counter()
            for table, _, direction, to, equal, excepted in report["counts"]:
                if table == "subject" and written_in(direction, to) == dialect:
                    numbers[way(direction)] += equal
                    numbers["known"] += excepted
            yield line(report["peer"], dialect, *(numbers[column] for column in (*WAYS, "known")))
            sums += numbers
    yield line("all", "", *(sums[column] for column in (*WAYS, "known")))


def cells(reports, table):
    """(peer, dialect) -> row -> [we write, it writes, known]."""
    found = {(report["peer"], dialect): {} for report in reports for dialect in report["dialects"]}
    for report in reports:
        for of, row, direction, dialect, equal, excepted in report["counts"]:
            if of == table and way(direction) != "copied":
                cell = found[report["peer"], dialect].setdefault(row, [0, 0, 0])
                cell[WAYS.index(way(direction))] += equal
                cell[2] += excepted
    return found


def matrix(reports, table):
    columns = cells(reports, table)
    rows = row_order(table, {row for column in columns.values() for row in column})
    yield line(table, *(f"{peer}, {dialect}" for peer, dialect in columns))
    yield rule(len(columns) + 1)
    for row in rows:
        said = []
        for column in columns.values():
            ours, theirs, known = column.get(row, (0, 0, 0))
            more = f" *{known}*" if known else ""
            said.append(f"{ours or '–'} · {theirs or '–'}{more}" if ours or theirs or known else "–")
        yield line(row, *said)


def where(direction, dialect):
    return f"{written_in(direction, dialect)} → {dialect}" if way(direction) == "copied" else f"{way(direction)} {dialect}"


def reasons(report):
    merged = collections.defaultdict(collections.Counter)
    for exception in report["exceptions"]:
        for direction, dialect, times in exception["met"]:
            merged[exception["reason"]][where(direction, dialect)] += times
    for reason, places in merged.items():
        yield f"- {reason}: " + ", ".join(f"{where} {times}" for where, times in sorted(places.items()))
    yield from (f"- not asked for: {words}" for words in report["not_asked"])


def page(reports):
    yield HEAD
    yield TOTALS
    yield from totals(reports)
    yield ""
    yield TABLES
    for table in ("subject", "data type", "codecs"):
        yield from matrix(reports, table)
        yield ""
    yield KNOWN
    for report in reports:
        yield f"### {report['peer']}\n"
        yield from reasons(report)
        yield ""


def main():
    reports = [json.loads(Path(path).read_text()) for path in sys.argv[1:]]
    print("\n".join(page(reports)).rstrip())


main()
