"""Hierarchies that other implementations wrote, in every dialect: nodes, kinds, shapes, names of axes and attributes are as these say."""

import json
import tarfile
from pathlib import Path

import pytest

import zarrkit

FAMILIES = Path(__file__).resolve().parents[3] / "specs-conformance" / "families"
NAMES = sorted(file.name.removesuffix(".expected.json") for file in FAMILIES.glob("*.expected.json"))


def test_there_are_families():
    assert len(NAMES) >= 10 or not FAMILIES.is_dir()


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", [name for name in NAMES if name != "malformed"])
def test_nodes_are_as_their_writers_say(name, tmp_path):
    with tarfile.open(FAMILIES / f"{name}.tar.gz") as archive:
        archive.extractall(tmp_path, filter="data")
    seen = 0
    for case in json.loads((FAMILIES / f"{name}.expected.json").read_text())["cases"]:
        if not (tmp_path / case["store_path"]).exists():
            continue
        top = zarrkit.open(tmp_path / case["store_path"])
        for expected in case.get("nodes", []):
            try:
                node = top[expected["path"]] if expected["path"] else top
            except NotImplementedError:
                continue
            kind = {"group": zarrkit.Group, "array": zarrkit.Array}[expected["type"]]
            if sum(other["path"] == expected["path"] for other in case["nodes"]) > 1 and not isinstance(node, kind):
                # A draft may have a group and an array at one path; the array is found.
                continue
            assert isinstance(node, kind), (case["id"], expected["path"])
            if isinstance(node, zarrkit.Array):
                # A scalar of netCDF is stored as an array of one element.
                shapes = [tuple(expected["shape"])] + [(1,)] * (name == "nczarr-v2" and not expected["shape"])
                assert node.shape in shapes, (case["id"], expected["path"])
                names = expected.get("dimension_names")
                if names and any(names) and len(names) == node.ndim:
                    assert list(node.dims) == names, (case["id"], expected["path"])
            if expected.get("attributes"):
                assert expected["attributes"].items() <= node.attrs.items(), (case["id"], expected["path"])
            seen += 1
        if isinstance(top, zarrkit.Group):
            members = {member.path.strip("/") for member in top.members(recursive=True)}
            paths = {node["path"] for node in case.get("nodes", []) if node["path"]}
            assert paths <= members, case["id"]
            assert all(path.rpartition("/")[2] in top.tree() for path in paths)
    assert seen > 0
