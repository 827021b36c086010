#!/usr/bin/env python3
"""Tests that `structure` counts code, and notices what breaks its rules."""

import importlib.machinery
import importlib.util
import tempfile
import unittest
from pathlib import Path

LOADER = importlib.machinery.SourceFileLoader("structure", str(Path(__file__).with_name("structure")))
structure = importlib.util.module_from_spec(importlib.util.spec_from_loader("structure", LOADER))
LOADER.exec_module(structure)

CORE = structure.CORE
SOURCE = '''\
//! Reads `x` (D-001).
//!
//! More?

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


def path(name):
    """The file of a name, `__` for `/`: of zarr-nczarr for `nczarr__…`, else of core."""
    crate, name = (structure.NCZARR, name.removeprefix("nczarr__")) if name.startswith("nczarr__") else (CORE, name)
    return crate + name.replace("__", "/") + ".rs"


def tree(**files):
    """Sources by their names."""
    named = {path(name): text for name, text in files.items()}
    return {path: structure.Source(path, text) for path, text in named.items()}


def broken(rule, **files):
    return [line.removeprefix(CORE).removeprefix(structure.NCZARR) for line in rule(tree(**files))]


class Sources(unittest.TestCase):
    def test_code_is_what_is_neither_comment_nor_blank_nor_test(self):
        source = structure.Source("x.rs", SOURCE)
        self.assertEqual(source.count(), 6)
        self.assertEqual(source.first_paragraph(), "Reads `x` (D-001).")
        self.assertIn("http://x", source.code)
        self.assertNotIn("http", source.masked)
        self.assertIn("fn g", source.masked)
        self.assertIn("why", source.comments)
        self.assertNotIn("unsafe", source.code)

    def test_files_of_tests_are_left_out(self):
        with tempfile.TemporaryDirectory() as top:
            home = Path(top) / "crates/zarr-core/src"
            (home / "view").mkdir(parents=True)
            (home / "lib.rs").write_text('mod view;\n#[cfg(test)]\n#[path = "other.rs"]\nmod named;\n')
            (home / "view.rs").write_text("#[cfg(all(test, unix))]\nmod tests;\nfn f() {}\n")
            for name in ("view/tests.rs", "view/copy.rs", "other.rs"):
                (home / name).write_text("fn f() {}\n")
            found = sorted(path.removeprefix(CORE) for path in structure.sources(Path(top)))
        self.assertEqual(found, ["lib.rs", "view.rs", "view/copy.rs"])


class Rules(unittest.TestCase):
    def test_each_rule_finds_what_breaks_it(self):
        cases = [
            (structure.waits_in_one_place, {"hierarchy__array": "fn f() { block_on(x) }"}, ["hierarchy/array.rs:1: block_on("]),
            (structure.waits_in_one_place, {"handles__sync": "fn f() { block_on(x); Instant::now(); }"}, []),
            (structure.chunks_are_read_and_written_once, {"array__part": "\nx.decode_into(y)"}, ["array/part.rs:2: .decode_into("]),
            (structure.chunks_are_read_and_written_once, {"array__chunk_reader": "x.decode_into(y)"}, []),
            (structure.handles_are_equal, {"handles__sync": "impl A { pub fn a() {}\n pub fn b() {} }",
                                           "handles__async": "impl A { pub async fn a() {} }"},
             ["handles/sync.rs:1: A::b is missing in the other"]),
            # Another type's method is not the same.
            (structure.handles_are_equal, {"handles__sync": "impl A { pub fn a() {} }\nimpl B<C> { pub fn a() {} }",
                                           "handles__async": "impl A { pub async fn a() {} }"},
             ["handles/sync.rs:1: B::a is missing in the other"]),
            (structure.core_names_no_codecs, {"array__x": 'f("bytes")', "format__x": 'f("bytes")'}, ['array/x.rs:1: "bytes"']),
            (structure.core_names_no_codecs, {"array__x": '// "bytes"'}, []),
            (structure.documents_belong_to_formats, {"array__x": 'o.get("shape")', "format__x": 'o.get("shape")'}, ['array/x.rs:1: .get("shape"']),
            (structure.retries_in_one_place, {"array__x": "Precondition::Absent"}, ["array/x.rs:1: Precondition::Absent"]),
            (structure.retries_in_one_place, {"array__compare_and_swap": "Precondition::Absent"}, []),
            (structure.states_are_types, {"array__x": 'unreachable!("no")'}, ["array/x.rs:1: unreachable!"]),
            (structure.imports_run_down, {"store__x": "use crate::codec::Codec;"}, ["store/x.rs:1: crate::codec"]),
            (structure.imports_run_down, {"format__x": "use crate::hierarchy::X;"}, ["format/x.rs:1: crate::hierarchy"]),
            (structure.imports_run_down, {"codec__x": "use crate::store::{ByteRange, Store};"},
             ["codec/x.rs:1: crate::store::{ByteRange, Store}"]),
            (structure.imports_run_down, {"codec__x": "use crate::store::ByteRange;", "array__x": "use crate::store::Store;"}, []),
            (structure.folders_of_nczarr_import_down, {"nczarr__documents__x": "use crate::edit::grow;", "nczarr__url": "use crate::cdl::x;"},
             ["documents/x.rs:1: crate::edit"]),
            (structure.folders_of_nczarr_import_down, {"nczarr__model__x": "use crate::{Dataset, Type};"}, ["model/x.rs:1: crate::{"]),
            (structure.folders_of_nczarr_import_down, {"nczarr__model__x": "use crate::Type;", "nczarr__edit__x": "use crate::model::Type;"},
             ["model/x.rs:1: crate::Type"]),
            (structure.headers_are_statements, {"x": "//! What is it? (D-001)\n"}, ["x.rs:1: What is it? (D-001)"]),
            (structure.headers_are_statements, {"x": "//! It is.\n//!\n//! Is it?\n"}, []),
            (structure.locks_are_taken_in_one_place, {"x": "PoisonError::into_inner", "sync": "PoisonError::into_inner"},
             ["x.rs:1: PoisonError::into_inner"]),
            (structure.formats_and_codecs_do_no_io, {"codec__x": "use std::fs;", "store__x": "use std::fs;"}, ["codec/x.rs:1: std::fs"]),
            (structure.unsafe_is_at_the_edges, {"view": "unsafe { }", "x": "unsafe { }"}, ["x.rs:1: unsafe"]),
        ]
        for rule, files, expected in cases:
            with self.subTest(rule=rule.__name__, files=files):
                self.assertEqual(broken(rule, **files), expected)
        self.assertEqual({rule for rule, _, _ in cases}, set(structure.RULES))

    def test_exceptions_are_needed_and_hold_for_their_files_only(self):
        rule = structure.states_are_types
        files = tree(array__x="unreachable!()", array__y__z="unreachable!()")

        def applied(*names):
            return list(structure.apply_rules(files, [rule], {rule.__name__: [CORE + name for name in names]}))

        self.assertEqual(applied("array/x.rs", "array/y/"), [])
        self.assertEqual(applied("array/x.rs"), [rule.__doc__, f"    {CORE}array/y/z.rs:1: unreachable!"])
        [line] = applied("array/x.rs", "array/y/", "array/gone.rs")
        self.assertTrue(line.startswith(CORE + "array/gone.rs"))

    def test_phrases_are_looked_for_in_comments(self):
        phrase = {r"\bnobody\b": "the actor"}
        files = tree(x="// Nobody\nlet nobody = 1;\n")
        self.assertEqual(list(structure.check_phrases(files, phrase)), [f"{CORE}x.rs:1: Nobody: write the actor"])

    def test_only_tests_depend_on_the_test_kit(self):
        manifests = {
            "tests": "[dev-dependencies]\nzarr-testkit.workspace = true\n",
            "direct": "[dependencies]\nzarr-testkit = '0.1'\n",
            "linux": "[target.'cfg(unix)'.dependencies]\nzarr-testkit = '0.1'\n",
        }
        with tempfile.TemporaryDirectory() as top:
            for name, text in manifests.items():
                home = Path(top) / "crates" / name
                home.mkdir(parents=True)
                (home / "Cargo.toml").write_text(text)
            found = list(structure.check_manifests(Path(top)))
        self.assertEqual([line.split(":")[0] for line in found], ["crates/direct/Cargo.toml", "crates/linux/Cargo.toml"])
        self.assertNotIn(structure.TEST_KIT, structure.ENGINE)

    def test_what_goes_beyond_its_budget_is_named(self):
        self.assertEqual(list(structure.check_budgets({"engine": 5}, {"engine": (5, 1)})), [])
        [line] = structure.check_budgets({"engine": 6}, {"engine": (5, 1)})
        self.assertTrue(line.startswith("engine: 6"))


class Cycles(unittest.TestCase):
    def test_files_that_import_each_other_are_a_cycle(self):
        files = tree(
            lib="mod a;\nmod b;\npub use self::b::B;\n",
            a__mod="mod c;\nuse crate::B;\nfn f() { c::g() }\n",
            a__c="pub fn g() {}\n",
            b="use crate::a::f as h;\npub struct B;\n",
        )
        self.assertEqual(structure.cycles(files), [{CORE + "a/mod.rs", CORE + "b.rs"}])

    def test_exports_are_no_imports(self):
        files = tree(lib="pub use self::a::A;\n", a="use crate::B;\n", b="use crate::c::{self, C};\n", c="pub struct C;\n")
        self.assertEqual(structure.cycles(files), [])


class Tour(unittest.TestCase):
    def test_it_names_what_there_is(self):
        page = "[`x`](../x.rs): `A::read()` calls `find()`.\n\n`Target` and `Source`, and `read()`.\n\n```text\nnot `this()`\n```\n\n[`x`](../x.rs)\n"
        with tempfile.TemporaryDirectory() as folder:
            top = Path(folder)
            (top / "docs").mkdir()
            (top / "x.rs").write_text("struct Target; fn read() { find() }")
            (top / structure.TOUR).write_text(page)
            self.assertEqual(
                list(structure.check_tour(top)),
                [
                    "docs/tour.md:1: no file of this paragraph has `fn find`",
                    "docs/tour.md:3: no file of the tour has `Source`",
                    "docs/tour.md:3: no file of this paragraph has `fn read`",
                    "docs/tour.md:9: names ../x.rs again, after line 1",
                ],
            )


class Pages(unittest.TestCase):
    def found(self, **files):
        with tempfile.TemporaryDirectory() as folder:
            top = Path(folder)
            (top / "docs" / "spec").mkdir(parents=True)
            for name, text in files.items():
                (top / (name.replace("__", "/") + ".md")).write_text(text)
            read = structure.pages(top)
            return [*structure.check_pages(read), *structure.check_links(top, read)]

    def test_prose_has_no_phrase_of_the_table(self):
        found = self.found(README="Plain.\n\nNobody reads `nobody`.\n\n```sh\nnobody\n```\n")
        self.assertEqual(found, ["README.md:3: Nobody: write no other thread, a third party"])

    def test_quotations_may_have_any(self):
        self.assertEqual(self.found(docs__spec__v2="Nobody."), [])

    def test_relative_links_lead_to_a_file_and_a_heading(self):
        page = "# A page\n\n## `b`, and [c](a.md)!\n\n## Twice\n\n## Twice\n"
        self.assertEqual(self.found(docs__a=page, README="[a](docs/a.md#b-and-c) [a](docs/a.md#twice-1) [x](https://x.y/z)\n"), [])
        found = self.found(docs__a=page, README="[b](docs/b.md)\n\n[a](docs/a.md#d)\n[t](docs/a.md#twice-2)")
        self.assertEqual(
            found,
            [
                "README.md:1: docs/b.md leads nowhere",
                "README.md:3: docs/a.md#d: there is no such heading",
                "README.md:4: docs/a.md#twice-2: there is no such heading",
            ],
        )


if __name__ == "__main__":
    unittest.main()
