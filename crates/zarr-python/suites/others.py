"""Runs the tests of other packages, unmodified: first with zarr-python's own pipeline, then with ours, and compares."""

import os
import subprocess
import sys
import tarfile
import tomllib
import xml.etree.ElementTree as ElementTree
from pathlib import Path

PACKAGE = Path(__file__).resolve().parent.parent


def source(requirement: str, folder: Path) -> Path:
    """The folder of a source distribution, which pip downloads into `folder` if it is not there."""
    name, version = requirement.split("==")
    found = folder / f"{name}-{version}"
    if not found.exists():
        pip = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--no-binary", name, requirement, "-d", str(folder)]
        subprocess.run(pip, check=True)
        with tarfile.open(folder / f"{name}-{version}.tar.gz") as archive:
            archive.extractall(folder, filter="data")
    return found


def write_metadata(folder: Path, name: str, version: str, entry_points: dict[str, dict[str, str]]) -> None:
    """What an installed package has in `site-packages`, so that its entry points are found."""
    info = folder / f"{name}-{version}.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
    groups = [f"[{group}]\n" + "\n".join(f"{name} = {what}" for name, what in found.items()) for group, found in entry_points.items()]
    (info / "entry_points.txt").write_text("\n".join(groups) + "\n")


def environment(folder: Path, **variables: str) -> dict[str, str]:
    """The variables of processes that find zarrkit and its entry points, be it installed or not. `folder` is new."""
    paths = [str(folder), str(PACKAGE / "suites")]
    if not os.environ.get("ZARRKIT_INSTALLED"):
        project = tomllib.loads((PACKAGE / "pyproject.toml").read_text())["project"]
        write_metadata(folder, "zarrkit", "0.0", project["entry-points"])
        paths.append(str(PACKAGE / "python"))
    paths.append(os.environ.get("PYTHONPATH", ""))
    return {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths)), **variables}


def outcomes(tests: Path, paths: list[str], variables: dict[str, str], report: Path, *options: str) -> dict[str, str]:
    """Runs pytest in `tests` and returns `passed`, `failed` or `skipped` for each test."""
    pytest = [sys.executable, "-m", "pytest", "-c", os.devnull, "--rootdir", ".", "-o", "asyncio_mode=auto", "-p", "no:cacheprovider", "--continue-on-collection-errors"]
    subprocess.run([*pytest, "-q", "--tb=short", f"--junitxml={report}", *options, *paths], cwd=tests, env=variables)
    found = {}
    for case in ElementTree.parse(report).iter("testcase"):
        kinds = {child.tag for child in case}
        outcome = "failed" if kinds & {"failure", "error"} else "skipped" if "skipped" in kinds else "passed"
        found[f"{case.get('classname')}::{case.get('name')}"] = outcome
    return found


def judge(own: dict[str, str], ours: dict[str, str], expected: dict[str, str]) -> int:
    """Prints how the runs differ. 0 if what fails with our pipeline is expected, or fails with zarr-python's own, too."""
    bad = {test for test, outcome in ours.items() if outcome == "failed" and own.get(test) != "failed"}
    lost = {test for test, outcome in own.items() if outcome == "passed" and ours.get(test) not in ("passed", "failed")}
    passing = {test for test in expected if ours.get(test) == "passed"}
    for what, found in (("zarr-python's own pipeline", own), ("zarrkit.Pipeline", ours)):
        counts = {kind: sum(outcome == kind for outcome in found.values()) for kind in ("passed", "failed", "skipped")}
        print(f"{what}: " + ", ".join(f"{count} {kind}" for kind, count in counts.items()))
    for test in sorted(bad & expected.keys()):
        print(f"expected to fail: {test}: {expected[test]}")
    for what, found in (("FAILS", bad - expected.keys()), ("DID NOT RUN", lost), ("PASSES, take it from the list", passing)):
        for test in sorted(found):
            print(f"{what}: {test}")
    return int(bool(bad - expected.keys() or lost or passing or not ours))
