"""Runs the steps of `tasks.py`: `.ci/run [STEP]...` and `.ci/full [--list | --again] [STEP]...`.

Each step is a process of its own, whose output goes to scratch/ci/STEP.log. Preparations, which mostly wait for registries, run beside
the steps. `.ci/run` ends with the first step that fails; `.ci/full` goes on, writes a line for each step to target/full.log, and leaves
out the steps that the same commit has already passed.
"""

import collections
import datetime
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

from environments import SCRATCH, TOP
from tasks import STEPS, TARGET

LOGS = SCRATCH / "ci"
FULL_LOG = TARGET / "full.log"
# Seconds that a step has to end what it started, when it is stopped.
GRACE = 10
# What a failed step said of its failure, shown before the end of its log: a record may keep only the beginning, or only the end.
ERRORS = re.compile(r"^error|^test .* FAILED|panicked at|^failures:|^FAILED |^E  |[Nn]o space left|Killed|ld returned")
BUILDING = re.compile(r"^ +(Compiling|Checking|Downloaded|Downloading|Documenting) ")


class Task:
    """A step that runs, or has run."""

    running = set()

    def __init__(self, step):
        self.step, self.name = step, step.name
        self.log = LOGS / f"{step.name}.log"
        self.timed_out, self.began = False, time.monotonic()
        command = [sys.executable, "-u", Path(__file__).with_name("tasks.py"), step.name]
        with open(self.log, "wb") as log:
            self.process = subprocess.Popen(command, cwd=TOP, stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT, start_new_session=True)
        Task.running.add(self)
        self.thread = threading.Thread(target=self._wait, daemon=True)
        self.thread.start()

    def _wait(self):
        limit = threading.Timer(self.step.limit * 60, self._time_out)
        limit.daemon = True
        limit.start()
        # Its processor time, and that of the processes that it waited for.
        _, status, usage = os.wait4(self.process.pid, 0)
        limit.cancel()
        self.status = self.process.returncode = os.waitstatus_to_exitcode(status)
        self.seconds, self.cpu = time.monotonic() - self.began, usage.ru_utime + usage.ru_stime
        Task.running.discard(self)

    def _time_out(self):
        self.timed_out = True
        self.stop()

    def stop(self):
        """Ends the step and what it started."""
        for number in (signal.SIGTERM, signal.SIGKILL):
            try:
                os.killpg(self.process.pid, number)
            except ProcessLookupError:
                return
            self.thread.join(GRACE)

    def wait(self):
        """Waits until the step has ended; returns whether it succeeded."""
        self.thread.join()
        return self.status == 0

    def text(self):
        return self.log.read_text(errors="replace")

    def report(self):
        """A line about the step, and those lines of its output that are always shown."""
        passed, failed, skipped = counts(self.text())
        numbers = f"  {passed} passed, {failed} failed, {skipped} skipped" if passed + failed else ""
        print(f"{self.name:16} {self.seconds:5.0f} s, {self.cpu:5.0f} s of processor time{numbers}", flush=True)
        shows = "|".join(filter(None, [self.step.shows, r"^SKIPPED: "]))
        for line in self.text().splitlines():
            if re.search(shows, line):
                print(f"    {line[:200]}", flush=True)

    def report_failure(self):
        """What the step printed, but for the names of crates that were built. Long lines, such as a linker's, are cut."""
        lines = [line[:400] for line in self.text().splitlines() if not BUILDING.match(line)]
        why = f"took longer than {self.step.limit} minutes" if self.timed_out else "FAILED"
        print(f"{self.name:16} {why}\n")
        for folder in (TOP, Path("/tmp")):
            print(f"disk: {shutil.disk_usage(folder).free >> 20} MiB are free in {folder}")
        found = [number for number, line in enumerate(lines) if ERRORS.search(line)]
        near = sorted({near for number in found for near in range(number, min(number + 13, len(lines)))})
        print("\n".join(lines[number] for number in near[:120]))
        print("\n-- the last 400 lines:\n")
        print("\n".join(lines[-400:]))
        print(f"\n{self.name} failed after {self.seconds:.0f} s", flush=True)


def counts(text):
    """How many tests passed, failed and were skipped, by the closing lines of cargo, pytest and Node."""
    total = {"passed": 0, "failed": 0, "skipped": 0}
    same = {"ok": "passed", "pass": "passed", "fail": "failed", "ignored": "skipped"}
    for line in text.splitlines():
        is_summary = "test result: " in line or re.search(r"\d+ \w+.* in \d+\.\d+s\b", line)
        numbers = re.findall(r"(\d+) (passed|failed|ignored|skipped)\b", line) if is_summary else []
        numbers += [(number, word) for word, number in re.findall(r"^(?:ℹ|#) (pass|fail|skipped) (\d+)$", line)]
        for number, word in numbers:
            total[same.get(word, word)] += int(number)
    return tuple(total.values())


def skipped(text):
    """What was skipped, by name: what a step, pytest and cargo say of it. Of cargo's tests that stand in a group, the group."""
    names = re.findall(r"^SKIPPED:? (.+)$", text, re.M)
    groups = collections.Counter(re.split("::|/", name)[0] for name in re.findall(r"^test (\S+) +\.\.\. ignored", text, re.M))
    return names + [f"{name} ({count} tests)" if count > 1 else name for name, count in groups.items()]


def name_skipped(tasks):
    """The last lines: what of all this did not run."""
    names = [f"    {task.name}: {name[:200]}" for task in tasks for name in dict.fromkeys(skipped(task.text()))]
    if names:
        print("\n".join(["not tested here:", *names]))


class Preparations:
    """What runs beside the steps. Each is begun once."""

    def __init__(self):
        self.tasks, self.reported = {}, set()

    def begin(self, steps):
        for step in steps:
            for name in step.needs:
                if name not in self.tasks:
                    self.tasks[name] = Task(STEPS[name])

    def settle(self, step):
        """Waits for what a step needs; returns the first that failed."""
        for name in step.needs:
            task = self.tasks[name]
            if not task.wait():
                return task
            if name not in self.reported:
                self.reported.add(name)
                task.report()
        return None


def run(steps):
    """`.ci/run`: the steps in their order, up to the first that fails."""
    began, done, total = time.monotonic(), [], [0, 0, 0]
    preparations, beside = Preparations(), {}
    preparations.begin(steps)
    for step in steps:
        task = beside.get(step.name) or preparations.settle(step) or Task(step)
        if not task.wait():
            task.report_failure()
            return 1
        task.report()
        for other in steps:
            if other.beside == step.name:
                beside[other.name] = preparations.settle(other) or Task(other)
        done.append(task)
        total = [sum(both) for both in zip(total, counts(task.text()))]
    done += preparations.tasks.values()
    print("\nThe slowest steps:")
    for task in sorted(done, key=lambda task: -task.seconds)[:10]:
        print(f"{task.name:16} {task.seconds:5.0f} s, {task.cpu:5.0f} s of processor time")
    print(f"\n{total[0]} passed, {total[1]} failed, {total[2]} skipped")
    print(f"all is well after {time.monotonic() - began:.0f} s")
    name_skipped(done)
    return 0


def commit():
    """The commit of this checkout, with a `+` if tracked files differ from it."""

    def git(*arguments):
        return subprocess.run(["git", *arguments], cwd=TOP, capture_output=True, text=True, check=True).stdout.strip()

    return git("rev-parse", "--short=12", "HEAD") + ("+" if git("status", "--porcelain", "--untracked-files=no") else "")


def full(steps, again):
    """`.ci/full`: each step that this commit has not passed yet, one after the other, whatever became of the one before."""
    here, failures, done = commit(), [], []
    FULL_LOG.parent.mkdir(parents=True, exist_ok=True)
    lines = FULL_LOG.read_text().splitlines() if FULL_LOG.exists() else []
    passed = {line.split()[0] for line in lines if line.split()[1] == "ok" and line.split()[-1] == here}
    preparations = Preparations()
    for step in steps:
        if step.name in passed and not again and not here.endswith("+"):
            print(f"{step.name:16} passed before")
            continue
        preparations.begin([step])
        task = preparations.settle(step) or Task(step)
        done.append(task)
        if task.wait():
            task.report()
        else:
            task.report_failure()
            failures.append(step.name)
        state = "failed" if step.name in failures else "ok"
        date = datetime.datetime.now().isoformat(timespec="minutes")
        with open(FULL_LOG, "a") as log:
            log.write(f"{step.name} {state} {task.seconds:.0f} s {date} {here}\n")
    print(f"{', '.join(failures)} failed" if failures else "all is well")
    name_skipped(done)
    return 1 if failures else 0


def main(tier, arguments):
    options = {argument for argument in arguments if argument.startswith("-")}
    names = [argument for argument in arguments if argument not in options]
    unknown = [name for name in names if name not in STEPS] + sorted(options - ({"--list", "--again"} if tier == "full" else {"--list"}))
    if unknown:
        sys.exit(f"unknown: {', '.join(unknown)}; `.ci/{tier} --list` shows the steps")
    steps = [step for step in STEPS.values() if (step.name in names if names else step.tier == tier)]
    if "--list" in options:
        for step in steps:
            print(f"{step.name:30} at most {step.limit} minutes  {step.function.__doc__.splitlines()[0]}")
        return 0
    os.environ |= {"CARGO_TERM_COLOR": "never", "CARGO_INCREMENTAL": "0", "CARGO_PROFILE_DEV_DEBUG": "0"}
    os.environ |= {"PIP_DISABLE_PIP_VERSION_CHECK": "1", "PYTHONDONTWRITEBYTECODE": "1"}
    for name in ("RUSTFLAGS", "RUSTDOCFLAGS"):
        os.environ.pop(name, None)
    LOGS.mkdir(parents=True, exist_ok=True)
    # Ended from outside, it still stops what it started.
    for ending in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(ending, lambda number, _: sys.exit(128 + number))
    try:
        # Steps that are named run in any case.
        return full(steps, again="--again" in options or bool(names)) if tier == "full" else run(steps)
    finally:
        for task in list(Task.running):
            task.stop()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2:]))
