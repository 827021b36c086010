#!/usr/bin/env python3
"""Tests that `steps.py` runs, limits, counts, records and leaves out steps as it says."""

import contextlib
import io
import sys
import tempfile
import time
import unittest
from pathlib import Path
from unittest import mock

import steps
from tasks import Step

TASKS = """\
import subprocess, sys, time
name = sys.argv[1]
print("test result: ok. 3 passed; 0 failed; 1 ignored; 0 measured")
if name == "fails": sys.exit("error: it fails")
if name == "lacks": print("SKIPPED: Chromium is missing\\ntest far::bucket ... ignored\\ntest far::folder ... ignored, no server")
if name == "hangs": subprocess.run(["sleep", "60"])
"""
RUST = """\
test result: ok. 12 passed; 0 failed; 3 ignored; 0 measured; 0 filtered out; finished in 0.41s
test a_run_that ... ok
test result: FAILED. 5 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out; finished in 1.00s
"""
PYTHON = "2 failed, 640 passed, 4 skipped in 61.20s (0:01:01)\n"
NODE = "ℹ tests 7\nℹ pass 7\nℹ fail 0\nℹ skipped 0\n"


class Steps(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.home = Path(folder.name)
        (self.home / "tasks.py").write_text(TASKS)
        self.steps = {name: Step(name, None, "full", ("prepares",) if name == "needs" else (), 1, None) for name in ("passes", "fails", "hangs", "needs", "prepares", "lacks")}
        changes = {"LOGS": self.home, "FULL_LOG": self.home / "full.log", "__file__": str(self.home / "steps.py"), "STEPS": self.steps, "GRACE": 1}
        for name, value in changes.items():
            self.enterContext(mock.patch.object(steps, name, value))
        self.enterContext(mock.patch.object(steps, "commit", lambda: "abc"))

    def output(self, function, *arguments):
        with contextlib.redirect_stdout(io.StringIO()) as output:
            status = function(*arguments)
        return status, output.getvalue()

    def named(self, *names):
        return [self.steps[name] for name in names]

    def test_closing_lines_of_all_runners_are_counted(self):
        self.assertEqual(steps.counts(RUST), (17, 1, 3))
        self.assertEqual(steps.counts(PYTHON), (640, 2, 4))
        self.assertEqual(steps.counts(NODE), (7, 0, 0))
        self.assertEqual(steps.counts("nothing: 3 passed before\n"), (0, 0, 0))

    def test_a_run_reports_totals_and_the_slowest_steps(self):
        status, output = self.output(steps.run, self.named("passes", "needs"))
        self.assertEqual(status, 0)
        self.assertIn("\n6 passed, 0 failed, 2 skipped\n", output)
        self.assertRegex(output.partition("The slowest steps:")[2], r"prepares +\d+ s")
        self.assertRegex(output, r"all is well after \d+ s\n$")

    def test_the_last_lines_name_what_was_skipped(self):
        _, output = self.output(steps.run, self.named("passes", "lacks"))
        self.assertTrue(output.endswith("\nnot tested here:\n    lacks: Chromium is missing\n    lacks: far (2 tests)\n"), output)
        _, output = self.output(steps.full, self.named("lacks"), False)
        self.assertIn("\nnot tested here:\n    lacks: Chromium is missing\n", output)

    def test_what_runners_skip_is_named(self):
        python = "SKIPPED [1] tests/test_examples.py:94: Spark is not installed\n"
        self.assertEqual(steps.skipped(python + RUST), ["[1] tests/test_examples.py:94: Spark is not installed"])
        self.assertEqual(steps.skipped("test alone ... ignored, it waits\ntest other ... ok\n"), ["alone"])

    def test_a_step_that_mostly_waits_runs_beside_those_that_follow(self):
        self.steps["hangs"].beside = "passes"
        status, output = self.output(steps.run, self.named("passes", "fails", "hangs"))
        self.assertEqual(status, 1)
        self.assertTrue((self.home / "hangs.log").exists())
        self.assertIn("error: it fails", output)
        [task] = steps.Task.running
        task.stop()

    def test_a_run_ends_with_the_first_failure(self):
        status, output = self.output(steps.run, self.named("fails", "passes"))
        self.assertEqual(status, 1)
        self.assertIn("error: it fails", output)
        self.assertFalse((self.home / "passes.log").exists())

    def test_full_goes_on_and_leaves_out_what_the_commit_has_passed(self):
        status, _ = self.output(steps.full, self.named("fails", "passes"), False)
        self.assertEqual(status, 1)
        lines = (self.home / "full.log").read_text().splitlines()
        self.assertRegex(lines[0], r"^fails failed \d+ s \d{4}-\d\d-\d\dT\d\d:\d\d abc$")
        self.assertRegex(lines[1], r"^passes ok \d+ s ")
        (self.home / "passes.log").unlink()
        self.output(steps.full, self.named("passes"), False)
        self.assertFalse((self.home / "passes.log").exists())
        self.output(steps.full, self.named("passes"), True)
        self.assertTrue((self.home / "passes.log").exists())

    def test_a_step_that_takes_too_long_is_ended_with_what_it_started(self):
        self.steps["hangs"].limit = 0.01
        began = time.monotonic()
        status, output = self.output(steps.run, self.named("hangs"))
        self.assertEqual(status, 1)
        self.assertIn("took longer than", output)
        self.assertLess(time.monotonic() - began, 30)


if __name__ == "__main__":
    sys.exit(unittest.main())
