#!/usr/bin/env python3
"""Tests that `structure` leaves out tests, and that each of its rules notices a violation."""

import importlib.machinery
import importlib.util
import tempfile
import unittest
from pathlib import Path

LOADER = importlib.machinery.SourceFileLoader("structure", str(Path(__file__).with_name("structure")))
structure = importlib.util.module_from_spec(importlib.util.spec_from_loader("structure", LOADER))
LOADER.exec_module(structure)

CORE, NCZARR = structure.CORE, structure.NCZARR
SOURCE = '''\
/* block
   comment */
use crate::a::{b, c::D}; // why
const URL: &str = "http://x"; /// a doc
const QUOTE: char = '"';
const RAW: &str = r#"not " a // comment"#;
fn f<'a>(x: &'a str) -> char { '\\'' }

#[cfg(test)]
mod tests {
    fn unsafe_name() { unsafe { } }
}
fn g() {}
'''
MANIFEST = '[package]\nname = "{}"\n'


class Folder(unittest.TestCase):
    """Each test has a folder of its own."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.top = Path(folder.name)

    def write(self, files):
        for name, text in files.items():
            path = self.top / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)


class Sources(Folder):
    def test_comments_strings_and_tests_are_blanked(self):
        source = structure.Source(SOURCE)
        self.assertIn("http://x", source.code)
        self.assertNotIn("http", source.masked)
        self.assertNotIn("why", source.code)
        self.assertNotIn("unsafe", source.code)
        self.assertIn("fn g", source.masked)
        self.assertEqual(source.masked.count("\n"), SOURCE.count("\n"))

    def test_files_of_test_modules_are_left_out(self):
        self.write({
            CORE + "lib.rs": 'mod view;\n#[cfg(test)]\n#[path = "other.rs"]\nmod named;\n',
            CORE + "view.rs": "#[cfg(all(test, unix))]\nmod tests;\nfn f() {}\n",
            CORE + "view/tests.rs": "",
            CORE + "view/copy.rs": "",
            CORE + "other.rs": "",
        })
        found = [path.removeprefix(CORE) for path in structure.sources(self.top)]
        self.assertEqual(found, ["lib.rs", "view/copy.rs", "view.rs"])


class Rules(Folder):
    def test_each_rule_about_sources_notices_a_violation(self):
        # The rule, the files, and the places that break it.
        cases = [
            (structure.only_these_files_block, {CORE + "hierarchy/array.rs": "fn f() { block_on(x) }"}, [CORE + "hierarchy/array.rs:1: block_on("]),
            (structure.only_these_files_block, {CORE + "handles/blocking/a.rs": "block_on(x)", CORE + "a.rs": "Instant::now();"}, []),
            (structure.only_runtime_starts_threads, {CORE + "x.rs": "fn f() { thread::scope(|s| g(s)) }"}, [CORE + "x.rs:1: thread::scope"]),
            (structure.only_runtime_starts_threads, {CORE + "runtime/x.rs": "thread::Builder::new().spawn(guard_thread(work))"}, []),
            (
                structure.handles_have_equal_faces,
                {
                    CORE + "handles/blocking/elements.rs": "impl A { pub fn a() {}\n pub fn b() {} }\nimpl B<C> { pub fn a() {} }",
                    CORE + "handles/async/elements.rs": "impl A { pub async fn a() {} }",
                },
                [f"{CORE}handles/blocking/elements.rs:1: {name} is missing in {CORE}handles/async/elements.rs" for name in ("A::b", "B::a")],
            ),
            (structure.core_names_no_codecs, {CORE + "array/x.rs": 'f("bytes")', CORE + "format/x.rs": 'f("bytes")'}, [CORE + 'array/x.rs:1: "bytes"']),
            (structure.core_names_no_codecs, {CORE + "array/x.rs": '// "bytes"'}, []),
            (structure.folders_of_core_import_down, {CORE + "store/x.rs": "\nuse crate::codec::Codec;"}, [CORE + "store/x.rs:2: crate::codec"]),
            (structure.folders_of_core_import_down, {CORE + "format/x.rs": "use crate::hierarchy::X;"}, [CORE + "format/x.rs:1: crate::hierarchy"]),
            (
                structure.folders_of_core_import_down,
                {CORE + "codec/x.rs": "use crate::store::{ByteRange, Store};"},
                [CORE + "codec/x.rs:1: crate::store::{ByteRange, Store}"],
            ),
            (
                structure.folders_of_core_import_down,
                {CORE + "codec/x.rs": "use crate::store::ByteRange;", CORE + "array/x.rs": "use crate::store::Store;"},
                [],
            ),
            (
                structure.folders_of_nczarr_import_down,
                {NCZARR + "documents/x.rs": "use crate::edit::grow;", NCZARR + "url.rs": "use crate::cdl::x;", NCZARR + "edit/x.rs": "use crate::model::X;"},
                [NCZARR + "documents/x.rs:1: crate::edit"],
            ),
            (structure.formats_and_codecs_do_no_io, {CORE + "codec/x.rs": "use std::fs;", CORE + "store/x.rs": "use std::fs;"}, [CORE + "codec/x.rs:1: std::fs"]),
            (structure.unsafe_is_at_the_edges, {CORE + "view.rs": "unsafe { }", CORE + "x.rs": "unsafe { }"}, [CORE + "x.rs:1: unsafe"]),
        ]
        for rule, files, expected in cases:
            with self.subTest(rule=rule.__name__, files=files):
                tree = {path: structure.Source(text) for path, text in files.items()}
                self.assertEqual(list(rule(tree)), expected)
        self.assertEqual({rule for rule, _, _ in cases}, set(structure.RULES))

    def test_crates_depend_down_and_only_tests_use_the_test_kit(self):
        self.write({
            "crates/a/Cargo.toml": MANIFEST.format("zarr-codecs") + "[dependencies]\nzarr-core = '0.1'\n[dev-dependencies]\nzarr-testkit = '0.1'\n",
            "crates/b/Cargo.toml": MANIFEST.format("zarr-core") + "[dependencies]\nzarr-codecs = '0.1'\n",
            "crates/c/Cargo.toml": MANIFEST.format("zarr") + "[target.'cfg(unix)'.dependencies]\nzarr-testkit = '0.1'\n",
            "crates/d/Cargo.toml": MANIFEST.format("zarr-new"),
        })
        self.assertEqual(
            list(structure.crates_depend_down(self.top)),
            [
                "crates/b/Cargo.toml: zarr-core depends on zarr-codecs",
                "crates/c/Cargo.toml: zarr depends on zarr-testkit",
                "crates/d/Cargo.toml: zarr-new is missing in CRATES",
            ],
        )

    def test_a_test_file_that_no_program_compiles_is_noticed(self):
        self.write({
            "crates/a/tests/it/main.rs": 'mod b;\nmod c;\n#[path = "../shared/d.rs"]\nmod d;\n// mod gone;\n',
            "crates/a/tests/it/b.rs": "mod below;\n",
            "crates/a/tests/it/b/below.rs": "",
            "crates/a/tests/it/c/mod.rs": "",
            "crates/a/tests/it/gone.rs": "",
            "crates/a/tests/shared/d.rs": "",
            "crates/a/tests/alone.rs": "mod e;\n",
            "crates/a/tests/e/mod.rs": "",
            "runner/tests/run/main.rs": "",
            "runner/tests/run/f.rs": "",
        })
        found = [line.partition(":")[0] for line in structure.every_test_file_is_compiled(self.top)]
        self.assertEqual(found, ["runner/tests/run/f.rs", "crates/a/tests/it/gone.rs"][::-1])


if __name__ == "__main__":
    unittest.main()
