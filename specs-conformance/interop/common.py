"""How every peer is asked: the program under test, the exchange, and how answers are compared.

A peer's script gives a `Peer` to `main`. Each case goes four ways: the program writes and the peer
reads; the peer writes and the program reads; the program copies what the peer wrote into each dialect
and reads it; the peer reads those copies. Elements must be equal to the bit. A tree of groups and
arrays with attributes goes the same ways. What only one peer can write goes from it to the program,
and into copies that the program reads.

`--sample N` takes one case in N, chosen by its name and by `--seed`, and the first case of each subject, data type and codec. A wrong
result fails, whole or sampled, and so does an excepted case that comes out equal; that no case meets an exception fails
only the whole run.
"""

import argparse
import base64
import collections
import dataclasses
import json
import re
import shutil
import subprocess
import sys
import tempfile
import time
import zlib
from pathlib import Path

import numpy as np

from cases import Case, Long, cases, fill_text, float_text, little, long_cases, stream

DIALECTS = ("v2", "v3", "draft-2020")


class Refused(Exception):
    """The program would not."""


class Program:
    """The program `zarr`, by its command line."""

    def __init__(self, path):
        self.path = path

    def run(self, *arguments, data=b""):
        done = subprocess.run([self.path, *map(str, arguments)], input=data, capture_output=True)
        if done.returncode:
            message = done.stderr.decode(errors="replace").strip().replace("\n", " ")
            raise Refused(f"zarr {arguments[0]}: exit {done.returncode}: {message[:300]}")
        return done.stdout

    def layout(self, case, dialect):
        arguments = ["--path", "/a", "--format", dialect, "--dtype", case.dtype]
        arguments += [f"--shape={','.join(map(str, case.shape))}", f"--chunks={','.join(map(str, case.chunks))}"]
        if case.shards:
            arguments += [f"--shards={','.join(map(str, case.shards))}"]
        if case.order == "F":
            arguments += ["--order", "F"]
        for codec in case.chain or case.codecs:
            arguments += ["--codec", codec]
        if "--codec" not in arguments:
            arguments += ["--codec", "none"]
        return arguments

    def write(self, store, case, dialect):
        arguments = self.layout(case, dialect)
        if case.undefined:
            arguments += ["--no-fill"]
        elif fill_text(case) is not None:
            arguments += [f"--fill={fill_text(case)}"]
        if case.separator:
            arguments += ["--separator", case.separator]
        self.run("create", store, *arguments)
        if not case.empty:
            self.run("put", store, "--path", "/a", "--format", "raw", data=little(case.data()))

    def write_long(self, store, case, dialect):
        arguments = self.layout(case, dialect)
        fill = case.fill_value()
        arguments += [f"--fill={json.dumps(fill if isinstance(fill, str) else base64.b64encode(fill).decode())}"]
        self.run("create", store, *arguments)
        if not case.empty:
            self.run("put", store, "--path", "/a", "--format", "raw", data=stream(case.data()))

    def write_tree(self, store, dialect):
        for path, (kind, attributes, dimensions) in TREE.items():
            if path == "/i":
                continue
            arguments = ["--path", path, "--format", dialect]
            arguments += ["--group"] if kind == "group" else ["--shape=2,3", "--dtype", "<i4"]
            for key, value in attributes.items():
                arguments += ["--attr", f"{key}={json.dumps(value)}"]
            if dimensions:
                arguments += ["--dims", ",".join(dimensions)]
            self.run("create", store, *arguments)

    def read(self, store, path="/a", form="raw"):
        return self.run("get", store, "--path", path, "--format", form)

    def read_tree(self, store, *options):
        nodes = json.loads(self.run("tree", store, "--json", *options))["nodes"]
        found = {}
        for path in (node["path"] for node in nodes):
            node = json.loads(self.run("info", store, "--path", path, "--json", *options))
            # What v3 says of axes and of missing values in other words than v2.
            apart = ("_ARRAY_DIMENSIONS", "_FillValue")
            attributes = {key: value for key, value in node["attributes"].items() if key not in apart}
            found[path] = node["node_type"], attributes, node.get("dimension_names")
        return found

    def copy(self, source, target, dialect):
        self.run("copy", source, target, "--to", dialect)


@dataclasses.dataclass
class Peer:
    """Another implementation."""

    name: str
    # dialect -> (types, codec chains) that both sides know
    knows: dict
    # read(store, dialect) -> NumPy array; write(store, case, dialect)
    read: object
    write: object
    # (direction, dialect, case's name, reason), each but the last a regular expression
    exceptions: list
    # which codecs and which types the peer's writer is asked for; all of `knows` where a dialect is missing
    writes: dict = dataclasses.field(default_factory=dict)
    writes_types: dict = dataclasses.field(default_factory=dict)
    # dialect -> cases beside those that every peer is given; those that it reads and cannot write
    cases: dict = dataclasses.field(default_factory=dict)
    reads_cases: dict = dataclasses.field(default_factory=dict)
    # dialects that it reads and cannot write
    reads_only: tuple = ()
    # what it is not asked for, and why
    not_asked: tuple = ()
    # dialect -> [(name, write)]: what only this peer writes; write(store) -> {path: NumPy array}
    stores: dict = dataclasses.field(default_factory=dict)
    # whether the peer reads the copies of those, too; they hold one array, /a
    reads_stores: bool = False
    # dialects in which it has variable-length texts and bytes; both functions as `read` and `write`
    long: tuple = ()
    long_types: tuple = ("string", "variable_length_bytes")
    read_long: object = None
    write_long: object = None
    # read_tree(store, dialect) -> as `TREE`; write_tree(store, dialect, tree)
    read_tree: object = None
    write_tree: object = None
    # consolidate(store, dialect) copies all documents; read_consolidated is read_tree out of such copies
    consolidate: object = None
    read_consolidated: object = None

    def asked(self, kind, dialect, read, written):
        """What it is to read and what it is to write: those that every peer is given, and its own of this kind."""
        def own(cases):
            return [case for case in cases.get(dialect, []) if isinstance(case, kind)]

        both = own(self.cases)
        written = [] if dialect in self.reads_only or written is None else written + both
        return read + both + own(self.reads_cases), written


# What the program rightly refuses to copy, with any writer.
REFUSED = [
    (r"we copy from (v2|v3)", "draft-2020", r"(shards-)?codec-(.*crc32c|delta|shuffle:).*", "the draft has no name for the codec"),
]
# The same of arrays in v3 whose axes are exchanged.
REFUSED_AXES = [
    (r"we copy from v3", r"v2|draft-2020", r"(shards-)?transpose-.*(201|120|021|1230|around|twice).*", "only final v3 exchanges some axes"),
]


# Attributes of every kind that JSON has.
ATTRIBUTES = {
    "null": None,
    "true": True,
    "false": False,
    "zero": 0,
    "negative": -5,
    "i64-min": -(2**63),
    "i64-max": 2**63 - 1,
    "u64-max": 2**64 - 1,
    "beyond-u64": 2**64,
    "third": 1 / 3,
    "whole-float": 2.0,
    "negative-zero": -0.0,
    "smallest": 5e-324,
    "largest": 1.7976931348623157e308,
    "text": "aZ09 äß漢🎉",
    "escapes": 'line\nquote" backslash\\ tab\t slash/ \x01\x7f',
    "no-text": "",
    "number-in-text": "5",
    "no-list": [],
    "integers": [1, -2, 3],
    "one-integer": [7],
    "floats": [0.5, 1 / 3],
    "texts": ["a", "", "ß"],
    "truths": [True, False],
    "mixed": [1, "a", None, True, [2.5, {}]],
    "lists": [[1, 2], [3, 4]],
    "no-object": {},
    "object": {"b": 1, "a": {"list": [1, {"deep": None}]}},
}

# What JSON does not have, but Python and others write.
TOKENS = {"nan": float("nan"), "infinity": float("inf"), "negative-infinity": float("-inf"), "nan-in-list": [1.5, float("nan")]}

# path -> (kind, attributes, names of the axes); no call creates /i, it exists because of /i/b.
TREE = {
    "/": ("group", ATTRIBUTES, None),
    "/g": ("group", {}, None),
    "/g/h": ("group", ATTRIBUTES, None),
    "/g/h/a": ("array", ATTRIBUTES, ["y", "x"]),
    "/i": ("group", {}, None),
    "/i/b": ("array", {}, None),
}


def with_tokens():
    """The tree as a peer writes it that has no scruples about NaN."""
    return {path: (kind, attributes and attributes | TOKENS, names) for path, (kind, attributes, names) in TREE.items()}


def as_json(value):
    """The value's JSON, in which 2 is not 2.0, and a token is a word."""
    def word(value):
        if isinstance(value, float) and (value != value or abs(value) == float("inf")):
            return float_text(value).strip('"')
        if isinstance(value, bytes):
            return value.decode()
        if isinstance(value, list):
            return [word(item) for item in value]
        if isinstance(value, dict):
            return {key: word(item) for key, item in value.items()}
        return value

    return json.dumps(word(value), sort_keys=True, ensure_ascii=False)


def ask_tree(run, direction, dialect, find, tree):
    """Checks the nodes, the names of their axes, and each attribute for itself."""
    try:
        found = find()
    except Exception as error:
        run.check(direction, dialect, "tree", lambda: f"{type(error).__name__}: {str(error)[:300]}")
        return

    def differ(expected, found):
        return None if as_json(expected) == as_json(found) else f"{as_json(found)}, expected {as_json(expected)}"

    def kinds(nodes):
        return {path: node[0] for path, node in nodes.items()}

    run.check(direction, dialect, "tree", lambda: differ(kinds(tree), kinds(found)))
    for path, (_, attributes, dimensions) in tree.items():
        if path not in found:
            continue
        if dimensions:
            run.check(direction, dialect, f"dimensions{path}", lambda: differ(dimensions, found[path][2]))
        if attributes:
            run.check(direction, dialect, f"keys{path}", lambda: differ(sorted(attributes), sorted(found[path][1])))
        for key, value in attributes.items():
            run.check(direction, dialect, f"attribute-{key}{path}", lambda: differ(value, found[path][1][key]))


def trees(run, peer, program, scratch, dialect):
    run.about = {"subject": "groups and attributes"}
    ours, theirs = scratch / f"tree-ours-{dialect}", scratch / f"tree-theirs-{dialect}"

    def written_by_us():
        program.write_tree(ours, dialect)
        return peer.read_tree(ours, dialect)

    ask_tree(run, "we write", dialect, written_by_us, TREE)
    tree = with_tokens()

    def written_by_them():
        peer.write_tree(theirs, dialect, tree)
        return program.read_tree(theirs)

    ask_tree(run, "they write", dialect, written_by_them, tree)
    for to in DIALECTS:
        copied = scratch / f"tree-copy-{dialect}-{to}"

        def copy():
            program.copy(theirs, copied, to)
            return program.read_tree(copied)

        ask_tree(run, f"we copy from {dialect}", to, copy, tree)
        if to in peer.knows:
            ask_tree(run, f"they read our copy from {dialect}", to, lambda: peer.read_tree(copied, to), tree)


def copies(run, peer, program, scratch, dialect):
    """Consolidated metadata that one side makes are read by the other, also after the program changed something (F-014, Z2-072)."""
    run.about = {"subject": "consolidated metadata"}
    late = TREE | {"/g/h/a": ("array", ATTRIBUTES | {"late": 1}, ["y", "x"]), "/g/late": ("group", {}, None)}

    def changed(store):
        program.run("attrs", store, "--path", "/g/h/a", "--set", "late=1")
        program.run("create", store, "--path", "/g/late", "--group")
        program.run("consolidate", store, "--check")
        found = peer.read_consolidated(store, dialect)
        found.pop("/consolidated", None)
        return found

    ours, theirs = scratch / f"consolidated-ours-{dialect}", scratch / f"consolidated-theirs-{dialect}"

    def written_by_us():
        program.write_tree(ours, dialect)
        program.run("consolidate", ours)
        return changed(ours)

    ask_tree(run, "we consolidate", dialect, written_by_us, late)

    def written_by_them():
        program.write_tree(theirs, dialect)
        peer.consolidate(theirs, dialect)
        program.run("consolidate", theirs, "--check")
        found = program.read_tree(theirs, "--consolidated")
        found.pop("/consolidated", None)
        return found

    ask_tree(run, "they consolidate", dialect, written_by_them, TREE)
    ask_tree(run, "we change what they consolidated", dialect, lambda: changed(theirs), late)


def longs(run, peer, program, scratch, dialect):
    def differ(found, case):
        if not isinstance(found, bytes):
            if tuple(np.shape(found)) != tuple(case.shape):
                return f"shape {np.shape(found)}, expected {case.shape}"
            found = stream(found)
        return compare_bytes(found, stream(case.data()))

    given = list(long_cases(peer.long_types))
    read, written = peer.asked(Long, dialect, given, given if peer.write_long else None)
    for number, case in enumerate(chosen(read, run.every, run.seed)):
        run.about = case.about()
        ours = scratch / f"long-ours-{dialect}-{number}"

        def written_by_us():
            program.write_long(ours, case, dialect)
            return differ(program.read(ours), case) or differ(peer.read_long(ours, dialect), case)

        run.check("we write", dialect, case.name, written_by_us)
    for number, case in enumerate(chosen(written, run.every, run.seed)):
        run.about = case.about()
        theirs = scratch / f"long-theirs-{dialect}-{number}"

        def written_by_them():
            peer.write_long(theirs, case, dialect)
            difference = differ(peer.read_long(theirs, dialect), case)
            if difference is not None:
                return f"the peer itself reads otherwise: {difference}"
            return differ(program.read(theirs), case)

        run.check("they write", dialect, case.name, written_by_them)
        for to in DIALECTS:
            copied = scratch / f"long-copy-{dialect}-{number}-{to}"

            def copy():
                program.copy(theirs, copied, to)
                difference = differ(program.read(copied), case)
                if difference is None and to in peer.long:
                    difference = differ(peer.read_long(copied, to), case)
                return difference

            run.check(f"we copy from {dialect}", to, case.name, copy)
            shutil.rmtree(copied, ignore_errors=True)


def stores(run, peer, program, scratch, dialect):
    def no_attributes(store):
        held = {path: attributes for path, (_, attributes, _) in program.read_tree(store).items() if attributes}
        return f"attributes that no case set: {held}" if held else None

    def differences(store, expected):
        for path, array in expected.items():
            if array.dtype.kind == "O":
                found = json.loads(program.read(store, path, "json"))
                difference = None if as_json(found) == as_json(array.tolist()) else f"{found}, expected {array.tolist()}"
            else:
                difference = compare_bytes(program.read(store, path), little(array))
            if difference is not None:
                return f"{path}: {difference}"
        nodes = json.loads(program.run("tree", store, "--json"))["nodes"]
        arrays = sorted(node["path"] for node in nodes if node["node_type"] == "array")
        return None if arrays == sorted(expected) else f"arrays {arrays}, expected {sorted(expected)}"

    run.about = {"subject": "what only it writes"}
    for number, (name, write) in enumerate(peer.stores.get(dialect, [])):
        store = scratch / f"store-{dialect}-{number}"
        # A peer that cannot write what it is asked for here is a mistake in its script.
        expected = {path: np.asarray(array) for path, array in write(store).items()}
        run.check("they write", dialect, name, lambda: differences(store, expected))
        for to in DIALECTS:
            copied = scratch / f"store-copy-{dialect}-{number}-{to}"
            done = []

            def copy():
                program.copy(store, copied, to)
                done.append(copied)
                return differences(copied, expected)

            run.check(f"we copy from {dialect}", to, name, copy)
            if done and peer.reads_stores and to in peer.knows:

                def theirs():
                    return compare_bytes(little(peer.read(copied, to)), little(expected["/a"]))

                run.check(f"they read our copy from {dialect}", to, name, theirs)
            if done:
                run.check(f"we copy from {dialect}", to, f"{name}-attributes", lambda: no_attributes(copied))
            shutil.rmtree(copied, ignore_errors=True)
        shutil.rmtree(store, ignore_errors=True)


def compare(found, case):
    if not isinstance(found, bytes):
        found = np.asarray(found)
        if tuple(found.shape) != tuple(case.shape):
            return f"shape {found.shape}, expected {case.shape}"
        found = little(found)
    return compare_bytes(found, little(case.data()))


def compare_bytes(found, expected):
    if found == expected:
        return None
    at = next((n for n, pair in enumerate(zip(found, expected)) if pair[0] != pair[1]), min(len(found), len(expected)))
    return f"{len(found)} bytes, expected {len(expected)}; first difference at byte {at}"


def chosen(cases, every, seed):
    """All cases, or a sample: one in `every`, which the seed tells, and the first of each row of the tables."""
    rows = set()
    for case in cases:
        new = set(case.about().items()) - rows
        if every == 1 or new or zlib.crc32(case.name.encode()) % every == seed % every:
            rows |= new
            yield case


class Run:
    """What came of the cases."""

    def __init__(self, peer, every, seed):
        self.peer = peer
        self.every, self.seed = every, seed
        self.equal = 0
        self.excepted = 0
        self.wrong = []
        # number of the exception -> (direction, dialect) -> how often it was met
        self.met = collections.defaultdict(collections.Counter)
        # where the checks that come belong in the tables: table -> row
        self.about = {}
        # (table, row, direction, dialect) -> [equal, excepted]
        self.counts = {}

    def count(self, direction, dialect, excepted):
        for table, row in self.about.items():
            self.counts.setdefault((table, row, direction, dialect), [0, 0])[excepted] += 1

    def check(self, direction, dialect, name, action):
        try:
            difference = action()
        except Exception as error:  # whatever a peer throws is the answer
            difference = f"{type(error).__name__}: {str(error)[:300]}"
        for number, (*patterns, reason) in enumerate(self.peer.exceptions):
            if all(map(re.fullmatch, patterns, (direction, dialect, name))):
                self.met[number][direction, dialect] += 1
                # What a peer computes may depend on the processor.
                if difference is None and not reason.startswith("on some processors "):
                    self.wrong.append(f"{direction} {dialect} {name}: equal, although excepted: {reason}")
                self.excepted += 1
                self.count(direction, dialect, excepted=True)
                return
        if difference is None:
            self.equal += 1
            self.count(direction, dialect, excepted=False)
        else:
            self.wrong.append(f"{direction} {dialect} {name}: {difference}")


def holes_are_holes(store, case):
    """Chunks that hold nothing but the fill value are not stored."""
    if not case.holes or not case.shape or case.empty or case.undefined:
        return None
    grid, hole = case.shards or case.chunks, case.hole or case.chunks
    if any(inner < outer for inner, outer in zip(hole, grid)):
        return None
    names = (".zarray", ".zgroup", ".zattrs", ".zmetadata", "zarr.json", ".zarr-lock")
    stored = [p for p in Path(store).rglob("*") if p.is_file() and p.name not in names and ".group.json" not in p.name and ".array.json" not in p.name]
    chunks = int(np.prod([-(-length // chunk) for length, chunk in zip(case.shape, grid)]))
    return None if len(stored) < chunks else f"{len(stored)} chunks are stored, one of them is all fill"


def ask(peer, program, scratch, every, seed):
    run = Run(peer, every, seed)
    for dialect, (dtypes, codecs) in peer.knows.items():
        theirs = peer.writes_types.get(dialect, dtypes), peer.writes.get(dialect, codecs)
        read, written = peer.asked(Case, dialect, list(cases(dtypes, codecs, full=True)), list(cases(*theirs, full=False)))
        for number, case in enumerate(chosen(read, run.every, run.seed)):
            run.about = case.about()
            store = scratch / f"ours-{dialect}-{number}"

            def ours():
                program.write(store, case, dialect)
                return compare(peer.read(store, dialect), case) or holes_are_holes(store, case)

            run.check("we write", dialect, case.name, ours)
            shutil.rmtree(store, ignore_errors=True)
        for number, case in enumerate(chosen(written, run.every, run.seed)):
            run.about = case.about()
            store = scratch / f"theirs-{dialect}-{number}"

            def theirs():
                peer.write(store, case, dialect)
                difference = compare(peer.read(store, dialect), case)
                if difference is not None:
                    return f"the peer itself reads otherwise: {difference}"
                return compare(program.read(store), case)

            run.check("they write", dialect, case.name, theirs)
            for to in DIALECTS:
                copied = scratch / f"copy-{dialect}-{number}-{to}"

                def copy():
                    program.copy(store, copied, to)
                    difference = compare(program.read(copied), case)
                    if difference is None and to in peer.knows:
                        difference = compare(peer.read(copied, to), case)
                    return difference

                run.check(f"we copy from {dialect}", to, case.name, copy)
                shutil.rmtree(copied, ignore_errors=True)
            shutil.rmtree(store, ignore_errors=True)
        if dialect in peer.long:
            longs(run, peer, program, scratch, dialect)
        if peer.read_tree:
            trees(run, peer, program, scratch, dialect)
        if peer.consolidate:
            copies(run, peer, program, scratch, dialect)
        stores(run, peer, program, scratch, dialect)
    for number, exception in enumerate(peer.exceptions):
        if every == 1 and number not in run.met:
            run.wrong.append(f"no case meets the exception {exception}")
    return run


def report(run):
    """What `matrix.py` needs to know."""
    exceptions = [
        {"reason": reason, "met": [[*where, times] for where, times in run.met[number].items()]}
        for number, (*_, reason) in enumerate(run.peer.exceptions)
    ]
    return {
        "peer": run.peer.name,
        "dialects": list(run.peer.knows),
        "wrong": len(run.wrong),
        "counts": [[*where, *numbers] for where, numbers in run.counts.items()],
        "exceptions": exceptions,
        "not_asked": list(run.peer.not_asked),
    }


def main(peer):
    parser = argparse.ArgumentParser(description=f"Exchange arrays with {peer.name}.")
    parser.add_argument("program", help="the program `zarr` to be tested")
    parser.add_argument("--report", help="a file for the counts, of which `matrix.py` makes a page")
    parser.add_argument("--sample", type=int, default=1, metavar="N", help="take one case in N, not all")
    parser.add_argument("--seed", type=int, default=0, metavar="S", help="which case of N is taken")
    arguments = parser.parse_args()
    program = Program(str(Path(arguments.program).resolve()))
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as scratch:
        run = ask(peer, program, Path(scratch), arguments.sample, arguments.seed)
    for line in run.wrong:
        print(line)
    if arguments.report:
        Path(arguments.report).write_text(json.dumps(report(run), indent=1, ensure_ascii=False))
    seconds = time.monotonic() - began
    print(f"{peer.name}: {run.equal} equal, {run.excepted} excepted, {len(run.wrong)} wrong, in {seconds:.0f} s{f', one case in {run.every}' if run.every > 1 else ''}")
    sys.exit(1 if run.wrong else 0)
