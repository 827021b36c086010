#!/usr/bin/env python3
"""Does `tests.py` notice each test that did not run?"""

import tempfile
import unittest
from pathlib import Path

import tests

LIBRARY = "#[test]\nfn adds() {}\n"
PLAIN = "mod sub;\n#[test]\nfn one() {}\nproptest! {\n    #[test]\n    fn two(x in 0..3) {}\n}\n"
SUB = "#[tokio::test(flavor = \"multi_thread\")]\nasync fn three() {}\n"
COMMON = "pub fn helper() {}\n"

LOG = """\
     Running unittests src/lib.rs (target/debug/deps/one_crate-0a)

running 1 test
test adds ... ok

test result: ok. 1 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s

     Running tests/plain.rs (target/debug/deps/plain-0a)

running 3 tests
test one ... ok
running 1 test
test one ... ok
test result: ok. 1 passed; 0 failed; 0 ignored; 0 measured; 2 filtered out; finished in 0.00s
noise test two ... ok
test sub::three ... ok

test result: ok. 3 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s

   Doc-tests one_crate

running 1 test
test src/lib.rs - (line 3) ... ok
"""


class Counting(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.top = Path(folder.name)
        self.files = {"src/lib.rs": LIBRARY, "tests/plain.rs": PLAIN, "tests/plain/sub.rs": SUB, "tests/common/mod.rs": COMMON}

    def check(self, logs, excused=None, **more):
        home = self.top / "one"
        for name, text in (self.files | more).items():
            (home / name).parent.mkdir(parents=True, exist_ok=True)
            (home / name).write_text(text)
        roots = [home / "src/lib.rs", *sorted((home / "tests").glob("*.rs"))]
        listed = [
            {"name": "one-crate" if root.name == "lib.rs" else root.stem, "src_path": str(root), "test": True, "kind": ["lib" if root.name == "lib.rs" else "test"]}
            for root in roots
        ]
        metadata = {"packages": [{"manifest_path": str(home / "Cargo.toml"), "targets": listed}]}
        paths = []
        for name, text in logs.items():
            paths.append(self.top / f"{name}.log")
            paths[-1].write_text(text)
        return tests.check(self.top, metadata, paths, excused or {})

    def test_every_test_that_ran_is_counted_once(self):
        flaws, numbers = self.check({"test": LOG})
        self.assertEqual(flaws, [])
        self.assertEqual(numbers, "4 of 4 written tests ran, 1 examples in docs, and 0 cases that data describe; 0 were ignored")

    def test_a_file_that_is_gated_away_fails(self):
        gated = "     Running tests/gated.rs (target/debug/deps/gated-0a)\n\nrunning 0 tests\n\ntest result: ok. 0 passed; 0 failed; 0 ignored\n"
        source = '#![cfg(feature = "never")]\n#[test]\nfn four() {}\n'
        flaws, numbers = self.check({"test": LOG.replace("   Doc", gated + "   Doc")}, **{"tests/gated.rs": source})
        self.assertEqual(flaws, ["one/tests/gated.rs: `four` did not run"])
        self.assertTrue(numbers.startswith("4 of 5 written"), numbers)

    def test_a_file_whose_tests_no_source_shows_must_run_some(self):
        flaws, _ = self.check({"test": LOG}, **{"tests/made.rs": "make_tests!();\n"})
        self.assertEqual(flaws, ["one/tests/made.rs: no test of this file ran"])

    def test_a_test_that_is_missing_from_the_log_fails(self):
        for line, file in [("test adds", "src/lib.rs"), ("noise test two", "tests/plain.rs"), ("test sub::three", "tests/plain/sub.rs")]:
            flaws, _ = self.check({"test": LOG.replace(f"{line} ... ok\n", "")})
            self.assertEqual(flaws, [f"one/{file}: `{line.rpartition(' ')[2].rpartition('::')[2]}` did not run"])

    def test_a_test_whose_line_another_process_broke_ran_if_the_total_says_so(self):
        broken = LOG.replace("noise test two ... ok\n", "test two ... \nrunning 1 test\nok\n")
        self.assertEqual(self.check({"test": broken})[0], [])
        flaws, _ = self.check({"test": broken.replace("3 passed", "2 passed")})
        self.assertEqual(flaws, ["one/tests/plain.rs: `two` did not run"])

    def test_an_ignored_test_did_not_run(self):
        flaws, numbers = self.check({"test": LOG.replace("two ... ok", "two ... ignored, no server")})
        self.assertEqual(flaws, ["one/tests/plain.rs: `two` was ignored"])
        self.assertTrue(numbers.endswith("1 were ignored"), numbers)
        flaws, numbers = self.check({"test": LOG.replace("two ... ok", "two ... ignored"), "servers": LOG})
        self.assertEqual((flaws, numbers[-13:]), ([], "0 were ignored"[-13:]))

    def test_a_module_that_nothing_includes_fails(self):
        flaws, _ = self.check({"test": LOG}, **{"tests/common/more.rs": "#[test]\nfn five() {}\n"})
        self.assertEqual(flaws, ["one/tests/common/more.rs: `five` did not run"])

    def test_what_a_sample_left_out_is_told(self):
        sampled = LOG.replace("running 3 tests\n", "sample of through/: 30 of 400 cases, 370 left out\n\nrunning 3 tests\n")
        flaws, numbers = self.check({"test": LOG, "servers": sampled})
        self.assertEqual((flaws, numbers.partition("; ")[2]), ([], "0 were ignored, 370 are not in the sample"))

    def test_excuses_are_used_or_struck(self):
        short = LOG.replace("test one ... ok\n", "")
        key = ("one/tests/plain.rs", "one")
        self.assertEqual(self.check({"test": short}, {key: "windows alone"})[0], [])
        self.assertEqual(self.check({"test": short}, {key: "step:features"})[0], [])
        self.assertEqual(len(self.check({"test": short, "features": ""}, {key: "step:features"})[0]), 1)
        self.assertEqual(self.check({"test": LOG}, {key: "windows alone"})[0], [".ci/not_run.txt: `one/tests/plain.rs one` excuses nothing; strike it"])


if __name__ == "__main__":
    unittest.main()
