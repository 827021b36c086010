"""Runs the tests of its zarr backend that xarray's wheel brings, unmodified: with zarr-python's default pipeline, with
`zarrkit.Pipeline`, and reading with `engine="zarrkit"` (`xarray_engine.py`).

    python crates/zarr-python/suites/xarray_zarr.py [default] [pipeline] [engine] [-- OPTION OF PYTEST...]

It fails if a test fails under the pipeline that passes under the default one, and is not on EXPECTED; and if one fails with the
engine. It prints what fell back to zarr-python's pipeline, in its own process. It needs pytest-asyncio and pytest-timeout; a
run takes some minutes.

The module is a plugin of pytest, too: the wheel lacks the file of the repository that obeys the tests' own mark `skip_if_param`.
"""

import os
import pathlib
import subprocess
import sys
import tempfile
import xml.etree.ElementTree

import pytest

HERE = pathlib.Path(__file__).parent

#: By test, without its parameters: why it may fail with zarrkit.Pipeline, and passes with the default pipeline.
EXPECTED: dict[str, str] = {
    "TestInstrumentedZarrStore::test_append": "counts requests: before it writes, the guard gets the document of the array",
    "TestInstrumentedZarrStore::test_region_write": "counts requests: before it writes, the guard gets the document of the array",
}


def pytest_configure():
    import zarrkit

    # Where zarrkit is not installed, zarr-python knows the pipeline when it is first asked for.
    assert zarrkit.Pipeline


def pytest_collection_modifyitems(items):
    for item in items:
        params = getattr(getattr(item, "callspec", None), "params", {})
        for mark in item.iter_markers("skip_if_param"):
            wanted = {name: value for name, value in mark.kwargs.items() if name not in ("reason", "condition")}
            if mark.kwargs.get("condition", True) and all(params.get(name) == value for name, value in wanted.items()):
                item.add_marker(pytest.mark.skip(reason=mark.kwargs["reason"]))


def pytest_terminal_summary(terminalreporter):
    import zarrkit

    terminalreporter.write_line(f"zarrkit.fallbacks(): {zarrkit.fallbacks()}")


def run(name, options):
    """The outcome of each test."""
    tests = [str(HERE / "xarray_engine.py")] if name == "engine" else ["--pyargs", "xarray.tests.test_backends", "-k", "Zarr"]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(HERE), *filter(None, [os.environ.get("PYTHONPATH")])])}
    environment.pop("ZARR_CODEC_PIPELINE__PATH", None)
    if name == "pipeline":
        environment["ZARR_CODEC_PIPELINE__PATH"] = "zarrkit.Pipeline"
    with tempfile.TemporaryDirectory() as folder:
        report = pathlib.Path(folder, "report.xml")
        command = [sys.executable, "-m", "pytest", "-q", "-W", "ignore", "-p", "no:cacheprovider", "-p", "xarray_zarr"]
        command += ["-c", os.devnull, "--rootdir", folder, "-o", "asyncio_mode=auto", "--timeout", "120", "--tb", "short"]
        command += ["--junitxml", report, *tests, *options]
        print(f"== {name}", flush=True)
        subprocess.run(command, env=environment, check=False)
        outcomes = {}
        for case in xml.etree.ElementTree.parse(report).iter("testcase"):
            kinds = {child.tag for child in case}
            outcome = "failed" if kinds & {"failure", "error"} else "skipped" if "skipped" in kinds else "passed"
            outcomes[f"{case.get('classname').rsplit('.', 1)[-1]}::{case.get('name')}"] = outcome
        return outcomes


def main(arguments):
    names, _, options = " ".join(arguments).partition("--") if "--" in arguments else (" ".join(arguments), "", "")
    names = names.split() or ["default", "pipeline", "engine"]
    found = {name: run(name, options.split()) for name in names}
    bad = []
    for name, outcomes in found.items():
        counts = {outcome: list(outcomes.values()).count(outcome) for outcome in ("passed", "failed", "skipped")}
        print(f"{name}: {counts}")
    if {"default", "pipeline"} <= found.keys():
        for test, outcome in found["pipeline"].items():
            expected = EXPECTED.get(test.split("[")[0])
            if outcome == "failed" and found["default"].get(test) == "passed" and expected is None:
                bad.append(f"{test} fails with zarrkit.Pipeline, and passes with the default pipeline")
            if outcome == "failed" and expected is not None:
                print(f"{test} fails as expected: {expected}")
        both = [test for test, outcome in found["pipeline"].items() if outcome == found["default"].get(test) == "failed"]
        print("fail with both pipelines:", *both, sep="\n  ")
    bad += [f"{test} fails with engine='zarrkit'" for test, outcome in found.get("engine", {}).items() if outcome == "failed"]
    print(*bad, sep="\n")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
