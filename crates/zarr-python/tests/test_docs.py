"""Every Python example in docs/python, README.md and this package's README runs: the blocks of a page in order, in an empty folder."""

import re
from pathlib import Path

import pytest

TOP = Path(__file__).resolve().parents[3]
PAGES = sorted((TOP / "docs" / "python").glob("*.md")) + [TOP / "README.md", TOP / "crates" / "zarr-python" / "README.md"]
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.M | re.S)
# Pages that need a package beyond NumPy: each example that imports it is of no use without.
NEEDS = {
    "docs/python/README.md": "xarray",
    "dask": "distributed",
    "drafts-and-nczarr": "xarray",
    "stores": "zarr",
    "xarray": "xarray",
    "zarr-python": "zarr",
}


def blocks(page):
    """The code of each block, with blank lines before it, so that errors name lines of the page."""
    text = page.read_text()
    for found in BLOCK.finditer(text):
        yield "\n" * text.count("\n", 0, found.start(1)) + found.group(1)


def test_there_are_examples():
    assert sum(len(list(blocks(page))) for page in PAGES) > 0


@pytest.mark.timeout(120)
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(TOP).as_posix())
def test_examples(page, tmp_path, monkeypatch):
    if needed := NEEDS.get(page.relative_to(TOP).as_posix()) or NEEDS.get(page.stem):
        pytest.importorskip(needed)
    monkeypatch.chdir(tmp_path)
    names = {"__name__": "__main__"}
    for block in blocks(page):
        exec(compile(block, str(page), "exec"), names)
