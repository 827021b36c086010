#!/usr/bin/env python3
"""Counts the tests that ran, and fails when a written test did not: `.ci/tests.py LOG...`.

A LOG is the output of `cargo test`, stdout and stderr together; its file's name is the name of a step of `.ci/run`. A test that any of the
logs reports as `ok` ran. The sources say which tests are written: functions under `#[test]`, those within `proptest!` among them.

It fails when a written test ran in no log, and when a test target ran no test at all, unless `.ci/not_run.txt` names the test. A line there is
`FILE TEST REASON`, or `FILE TEST step:STEP` for a test that another step of `.ci/run` runs: that excuses it only while the step's log is not given. A line
that excuses nothing is an error, too. What a program says of cases that its sample left out is printed with the numbers.
"""

import collections
import json
import re
import subprocess
import sys
from pathlib import Path

RUNNING = re.compile(r"^ +Running (?:unittests )?(\S+\.rs) \((\S+)\)$")
DOC_TESTS = re.compile(r"^ +Doc-tests (\S+)$")
# Not bound to the line's beginning: what a test prints itself may come before it.
OUTCOME = re.compile(r"\btest (.+?)(?: - should panic)? \.\.\. (ok|ignored|FAILED)\b")
# What another process prints may come between the name and the outcome, too. The total tells whether such tests ran.
CUT = re.compile(r"\btest (\S+)(?: - should panic)? \.\.\. (?!ok\b|ignored\b|FAILED\b)")
TOTAL = re.compile(r"\btest result: ok\. (\d+) passed;")

# What a program says that ran only some of its cases.
SAMPLE = re.compile(r"^sample of \S+: \d+ of \d+ cases, (\d+) left out$", re.MULTILINE)


class Target:
    """A program of tests: a package's library, a binary, or a file of its `tests`."""

    def __init__(self, package, root, kind):
        self.package, self.root, self.kind = package, root, kind
        self.ran, self.ignored = set(), set()

    def files(self):
        """The files that only this target, or another unit of the same package, holds."""
        if self.kind != "test":
            return sorted((self.package / "src").rglob("*.rs"))
        below = self.root.parent if self.root.name == "main.rs" else self.root.with_suffix("")
        return sorted({self.root, *below.rglob("*.rs")})


def targets(top, metadata):
    """Every target that `cargo test` makes a program of, by its source and the program's name."""
    found = collections.defaultdict(list)
    for package in metadata["packages"]:
        home = Path(package["manifest_path"]).parent
        for target in package["targets"]:
            kind = target["kind"][0]
            if target["test"] and kind in ("lib", "bin", "test", "proc-macro"):
                source = Path(target["src_path"])
                name = target["name"].replace("-", "_")
                found[source.relative_to(home).as_posix(), name].append(Target(home, source, kind))
    return found


def read_log(text, known):
    """Notes in each target what ran; returns how many doc tests ran."""
    current, package, documented = None, None, set()
    library, passed, cut = None, set(), set()
    for line in text.splitlines():
        if match := RUNNING.match(line):
            source, program = match.groups()
            name = Path(program).name.rsplit("-", 1)[0]
            candidates = known.get((source, name), [])
            # Two packages may have a file of one name: cargo runs a package's units before its files.
            current = next((one for one in candidates if one.package == package), None) or (candidates or [None])[0]
            if current is not None and current.kind != "test":
                package = current.package
            library, passed, cut = None, set(), set()
        elif match := DOC_TESTS.match(line):
            current, library = None, match[1]
        else:
            for name, outcome in OUTCOME.findall(line):
                if current is not None and outcome != "FAILED":
                    # Names are unique in a program: what a test's own child processes print counts once.
                    (current.ran if outcome == "ok" else current.ignored).add(name)
                    if outcome == "ok":
                        passed.add(name)
                elif library is not None and outcome == "ok":
                    documented.add((library, name))
            cut |= set(CUT.findall(line))
            if current is not None and (match := TOTAL.search(line)) and int(match[1]) == len(passed | cut):
                current.ran |= cut
    return documented


def written(source):
    """The names of the functions under `#[test]` or `#[tokio::test]`."""
    names, is_test = [], False
    for line in map(str.strip, source.splitlines()):
        if line.startswith("//"):
            continue
        if re.match(r"#\[(tokio::)?test\b", line):
            is_test = True
            line = line.partition("]")[2].strip()
        if is_test and (match := re.search(r"\bfn (\w+)", line)):
            names.append(match[1])
            is_test = False
    return names


def last(name):
    return name.rpartition("::")[2]


def module(file, base):
    """What names of the file's tests begin with: `blosc::` of `blosc.rs` and of `blosc/mod.rs`."""
    parts = list(file.relative_to(base).with_suffix("").parts)
    if parts[-1] in ("mod", "lib", "main"):
        parts.pop()
    return "".join(f"{part}::" for part in parts)


def excuses(path):
    lines = [line.split(None, 2) for line in path.read_text().splitlines() if line and not line.startswith("#")]
    return {(file, name): reason for file, name, reason in lines}


def check(top, metadata, logs, excused):
    """What is wrong, one line each, and a line with the numbers."""
    known = targets(top, metadata)
    everything = [target for several in known.values() for target in several]
    documented, left_out = set(), 0
    for log in logs:
        text = log.read_text(errors="replace")
        documented |= read_log(text, known)
        left_out += sum(map(int, SAMPLE.findall(text)))
    steps = {log.stem for log in logs}
    flaws, used, missed, total = [], set(), [], 0
    claimed = set()

    def is_excused(file, name):
        for key in ((file, name), (file, "*")):
            reason = excused.get(key, "")
            if reason and reason.partition("step:")[2].strip() not in steps:
                used.add(key)
                return True
        return False

    def judge(files, base, programs):
        """Finds each test of the files among what the programs ran; modules have their place below `base`."""
        nonlocal total
        left = [name for program in programs for name in sorted(program.ran)]
        unmatched = []
        for file in files:
            if file in claimed:
                continue
            claimed.add(file)
            within = "" if any(file == program.root for program in programs) else module(file, base)
            for name in written(file.read_text()):
                total += 1
                ran = next((full for full in left if full.startswith(within) and last(full) == name), None)
                if ran is None:
                    unmatched.append((file, name))
                else:
                    left.remove(ran)
        for file, name in unmatched:
            # A module may have another name than its file.
            ran = next((full for full in left if last(full) == name), None)
            place = file.relative_to(top).as_posix()
            if ran is not None:
                left.remove(ran)
                continue
            missed.append(name)
            if not is_excused(place, name):
                ignored = any(last(full) == name for program in programs for full in program.ignored)
                flaws.append(f"{place}: `{name}` {'was ignored' if ignored else 'did not run'}")

    packages = sorted({target.package for target in everything})
    for home in packages:
        units = [target for target in everything if target.package == home and target.kind != "test"]
        judge(units[0].files() if units else [], home / "src", units)
        tests = [target for target in everything if target.package == home and target.kind == "test"]
        for target in tests:
            judge(target.files(), target.root.parent, [target])
            place = target.root.relative_to(top).as_posix()
            if not target.ran and not is_excused(place, "*") and not any(flaw.startswith(f"{place}:") for flaw in flaws):
                flaws.append(f"{place}: no test of this file ran")
        # What several of them share; and files that no target holds.
        judge(sorted((home / "tests").rglob("*.rs")), home / "tests", tests)
        judge(sorted((home / "examples").rglob("*.rs")) + sorted((home / "benches").rglob("*.rs")), home, [])
    for key, reason in excused.items():
        if key not in used and reason.partition("step:")[2].strip() not in steps:
            flaws.append(f".ci/not_run.txt: `{' '.join(key)}` excuses nothing; strike it")
    matched = total - len(missed)
    ran = sum(len(target.ran) for target in everything)
    ignored = {(target.root, name) for target in everything for name in target.ignored - target.ran}
    numbers = f"{matched} of {total} written tests ran, {len(documented)} examples in docs, and {ran - matched} cases that data describe; "
    sampled = f", {left_out} are not in the sample" if left_out else ""
    return flaws, numbers + f"{len(ignored)} were ignored{sampled}"


def main():
    top = Path(__file__).resolve().parent.parent
    command = ["cargo", "metadata", "--no-deps", "--format-version", "1", "--manifest-path", str(top / "Cargo.toml")]
    metadata = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
    flaws, numbers = check(top, metadata, [Path(log) for log in sys.argv[1:]], excuses(top / ".ci/not_run.txt"))
    print("\n".join([*flaws, numbers]))
    sys.exit(1 if flaws else 0)


if __name__ == "__main__":
    main()
