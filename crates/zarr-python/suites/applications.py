"""The tests of packages that keep their data in zarr-python's arrays, unmodified, with `zarrkit.Pipeline`: Icechunk, VirtualiZarr, anndata.

`python crates/zarr-python/suites/applications.py [FOLDER [NAME]...] [-- OPTION OF PYTEST]...`, with Python that has `applications.txt`. The tests are
those of the source distributions of the installed releases, which pip downloads to FOLDER. Each suite runs with zarr-python's own pipeline
first: what fails there needs something that is not here, such as a server.
"""

import sys
import tempfile
from importlib.metadata import version
from pathlib import Path
from typing import NamedTuple

from others import environment, judge, outcomes, source


class Application(NamedTuple):
    #: The folder of the source distribution in which pytest runs, and the tests from there.
    folder: str
    tests: list[str]
    options: list[str] = []
    #: Folders of the source distribution whose contents are imported, with what of them is needed: the rest may hide the installed package.
    helpers: tuple[str, ...] = ()
    #: What fails with our pipeline only, and why.
    expected: dict[str, str] = {}


APPLICATIONS = {
    # The others are about Icechunk's own service, and need a server.
    "icechunk": Application(
        "icechunk-python",
        [f"tests/{name}" for name in ("test_zarr", "test_dask.py", "test_dask_array.py", "test_regressions.py", "test_array_chunk_iterator.py", "test_manifest_splitting.py")],
        ["--timeout", "120", "--hypothesis-seed", "0", "-k", "not s3 and not r2 and not tigris"],
    ),
    "virtualizarr": Application(".", ["virtualizarr/tests"], ["--timeout", "120"]),
    "anndata": Application(
        ".",
        [f"tests/{file}.py" for file in ("test_readwrite", "test_io_elementwise", "test_io_dispatched", "test_backed_sparse", "lazy/test_read")],
        # The two tests left out count reads, of random data: where no chunk of a read is stored, our pipeline asks once whether the array
        # is still there, so that one that is gone does not read as its fill value.
        ["--import-mode=importlib", "-p", "testing.anndata._pytest", "--timeout", "120", "-k", "not test_access_count_index and not test_lazy_array_cache"],
        ("src/testing",),
    ),
}


def run(name: str, folder: Path, own_passes: bool, options: list[str]) -> int:
    application = APPLICATIONS[name]
    there = source(f"{name}=={version(name)}", folder)
    tests = there / application.folder
    print(f"== {name} {version(name)}", flush=True)
    if not any((tests / path).exists() for path in application.tests):
        print(f"NO TESTS: the source distribution of {name} {version(name)} has none", flush=True)
        return 1
    with tempfile.TemporaryDirectory() as temporary:
        installed = Path(temporary) / "installed"
        variables = environment(installed)
        for helper in application.helpers:
            (installed / Path(helper).name).symlink_to(there / helper)
        options = [*application.options, *options]
        own = {}
        if not own_passes:
            own = outcomes(tests, application.tests, variables, Path(temporary) / "own.xml", *options)
        chosen = {**variables, "ZARR_CODEC_PIPELINE__PATH": "zarrkit.Pipeline"}
        ours = outcomes(tests, application.tests, chosen, Path(temporary) / "ours.xml", "-p", "pipeline_plugin", *options)
        return judge(own, ours, application.expected)


if __name__ == "__main__":
    arguments, _, options = " ".join(sys.argv[1:]).partition(" -- ")
    words = arguments.split()
    own_passes = "--own-passes" in words
    words = [word for word in words if word != "--own-passes"]
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(words[0] if words else temporary).resolve()
        folder.mkdir(parents=True, exist_ok=True)
        sys.exit(max(run(name, folder, own_passes, options.split()) for name in words[1:] or APPLICATIONS))
