#!/usr/bin/env python3
"""Tests that `api` reads what rustdoc writes, and tells renamed items from removed ones."""

import contextlib
import html
import importlib.machinery
import importlib.util
import io
import tempfile
import unittest
from pathlib import Path

LOADER = importlib.machinery.SourceFileLoader("api", str(Path(__file__).with_name("api")))
api = importlib.util.module_from_spec(importlib.util.spec_from_loader("api", LOADER))
LOADER.exec_module(api)

PAGE = '''<pre class="rust item-decl"><code>pub struct <a href="x">A</a>;</code></pre>
<section id="method.open" class="method"><h4 class="code-header">pub fn <a>open</a>(path: &amp;str) -&gt; A</h4></section>
<span id="structfield.size" class="structfield section-header"><code>size: u64</code></span>
<h2 id="trait-implementations" class="section-header"></h2>
<section id="method.clone" class="method trait-impl"><h4 class="code-header">fn clone(&amp;self) -&gt; A</h4></section>'''
FUTURE = "fn get<'life0, 'async_trait>( &'life0 self, key: &'life1 Key, ) -> Pin<Box<dyn Future<Output = Result<u8>> + Send + 'async_trait>>where Self: 'async_trait,"


class Api(unittest.TestCase):
    def test_members_are_those_of_the_type_itself(self):
        self.assertEqual(
            list(api.members_of(PAGE)), [("method", "open", "pub fn open(path: &str) -> A"), ("field", "size", "")]
        )

    def test_an_async_method_is_printed_as_it_is_written(self):
        self.assertEqual(api.text_of(html.escape(FUTURE)), "async fn get( &self, key: &Key, ) -> Result<u8>")

    def test_items_are_listed_by_their_paths(self):
        with tempfile.TemporaryDirectory() as folder:
            top = Path(folder) / "zarr_core"
            (top / "store").mkdir(parents=True)
            (top / "all.html").write_text('<ul><li><a href="store/struct.A.html">store::A</a></li></ul>')
            (top / "store" / "struct.A.html").write_text(PAGE)
            found = api.items_of(Path(folder), "zarr-core")
        self.assertEqual(sorted(found), ["zarr_core::store::A", "zarr_core::store::A::open", "zarr_core::store::A::size"])

    def test_a_renamed_type_takes_its_members_along(self):
        def items(name, *methods):
            return {f"c::{name}": ("struct", ""), **{f"c::{name}::{method}": ("method", f"fn {method}(&self)") for method in methods}}

        found = api.renamed(items("Tile", "place", "len", "size"), items("Box", "output", "len", "size"))
        self.assertEqual(found.pop("c::Tile"), "c::Box")
        self.assertEqual(found, {f"c::Tile::{one}": f"c::Box::{other}" for one, other in [("place", "output"), ("len", "len"), ("size", "size")]})

    def test_what_is_gone_and_what_is_new_are_told_apart(self):
        old = {"c::f": ("fn", "fn f()"), "c::g": ("fn", "fn g()")}
        new = {"c::g": ("fn", "fn g(n: u64)"), "c::H": ("struct", "")}
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            api.compare(old, new)
        text = printed.getvalue()
        self.assertRegex(text, r"# Removed\s+fn +c::f")
        self.assertRegex(text, r"# Added\s+struct +c::H")
        self.assertIn("c::g\n    fn g()\n    fn g(n: u64)", text)


if __name__ == "__main__":
    unittest.main()
