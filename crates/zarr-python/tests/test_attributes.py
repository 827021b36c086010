"""Reads and writes attributes, with zarr-python as the witness."""

import json
import math
import subprocess
import sys
from collections.abc import MutableMapping

import numpy as np
import pytest
import zarr

import zarrkit


@pytest.fixture(params=["v2", "v3"])
def url(request, tmp_path):
    url = tmp_path / "d.zarr"
    zarrkit.create(url / "x", shape=(3,), dtype="i2", dialect=request.param, attrs={"units": "m"})
    return url


@pytest.fixture(params=["x", "/"])
def node(request, url):
    root = zarrkit.open(url, "r+")
    return root if request.param == "/" else root[request.param]


def stored(node):
    """The attributes as zarr-python finds them."""
    return dict(zarr.open(node.store.removeprefix("file://"), path=node.path.strip("/"), mode="r").attrs)


def test_attributes_are_a_mutable_mapping(node):
    attrs = node.attrs
    assert isinstance(attrs, MutableMapping)
    attrs.clear()
    attrs["units"] = "K"
    attrs.update({"a": 1}, b=[1, {"c": None}])
    assert stored(node) == dict(attrs) == attrs.asdict() == {"units": "K", "a": 1, "b": [1, {"c": None}]}
    assert len(attrs) == 3 and "a" in attrs and "z" not in attrs and list(attrs) == ["units", "a", "b"]
    del attrs["a"]
    with pytest.raises(KeyError):
        del attrs["a"]
    with pytest.raises(KeyError):
        attrs["a"]
    assert attrs.pop("units") == "K" and attrs.pop("units", 5) == 5
    assert attrs.setdefault("n", 1) == 1 and attrs.setdefault("n", 2) == 1
    assert stored(node) == {"b": [1, {"c": None}], "n": 1}
    attrs.replace({"only": True})
    assert stored(node) == {"only": True} and node.attrs == {"only": True}
    attrs.clear()
    assert stored(node) == {}
    assert repr(attrs) == "Attributes({})"


@pytest.mark.filterwarnings("ignore")
def test_numbers_survive(node):
    values = {"nan": math.nan, "inf": [math.inf, -math.inf], "big": 10**40, "max": 2**64, "third": 1 / 3, "tiny": 5e-324, "whole": 1.0}
    node.attrs.replace(values)
    node.refresh()
    found = node.attrs.asdict()
    assert math.isnan(found.pop("nan")) and values.pop("nan")
    assert found == values and {name: type(value) for name, value in found.items()} == {name: type(value) for name, value in values.items()}
    theirs = stored(node)
    assert theirs["inf"] == values["inf"] and theirs["big"] == 10**40 and theirs["third"] == 1 / 3


def test_a_change_keeps_the_form_of_what_it_does_not_touch(url):
    document = next(path for path in ((url / "x" / ".zattrs"), (url / "x" / "zarr.json")) if path.exists())
    text = document.read_text().replace('"m"', '"m", "exact": 1.10000000000000000000000001e3, "low": NaN')
    document.write_text(text)
    with pytest.warns(zarrkit.ZarrWarning):
        node = zarrkit.open(url, "r+")["x"]
    node.attrs["new"] = 1
    assert "1.10000000000000000000000001e3" in document.read_text() and "NaN" in document.read_text()


def test_numpys_values_are_taken(node):
    node.attrs.update(i=np.int64(3), f=np.float32(0.5), a=np.arange(3), b=np.bool_(True), t=(1, 2))
    assert {name: stored(node)[name] for name in "ifabt"} == {"i": 3, "f": 0.5, "a": [0, 1, 2], "b": True, "t": [1, 2]}


def test_what_json_has_no_value_for_is_refused(node):
    before = stored(node)
    for value in (object(), {1: 2}, {1, 2}, 1j):
        with pytest.raises(TypeError):
            node.attrs["x"] = value
    for kind in "mM":
        for unit in ("Y", "D", "s", "ms", "ns", "ps"):
            dtype = np.dtype(f"{kind}8[{unit}]")
            for value in (np.zeros((), dtype)[()], np.zeros(2, dtype), np.array("NaT", dtype)):
                with pytest.raises(TypeError, match=rf"{dtype.name.replace('[', '.').replace(']', '.')}.*str"):
                    node.attrs["x"] = {"inside": [value]}
    deep = []
    for _ in range(1000):
        deep = [deep]
    with pytest.raises(ValueError):
        node.attrs["x"] = deep
    endless = []
    endless.append(endless)
    with pytest.raises(ValueError):
        node.attrs["x"] = endless
    assert stored(node) == before


def test_read_only_nodes_refuse(url):
    for node in (zarrkit.open(url), zarrkit.open(url)["x"]):
        with pytest.raises(PermissionError, match='mode="r\\+"'):
            node.attrs["a"] = 1
        assert "a" not in stored(node)


def test_values_are_copies(node):
    node.attrs["list"] = [1]
    node.attrs["list"].append(2)
    assert node.attrs["list"] == [1]


def test_other_writers_are_seen_after_refresh(url):
    for path in ("/", "x"):
        one = zarrkit.open(url, "r+") if path == "/" else zarrkit.open(url, "r+")[path]
        zarr.open(url, path=path.strip("/"), mode="r+").attrs["theirs"] = 1
        assert "theirs" not in one.attrs
        one.refresh()
        assert one.attrs["theirs"] == 1


WRITER = """
import sys, zarrkit
node = zarrkit.open(sys.argv[1], "r+")
node = node if sys.argv[2] == "/" else node[sys.argv[2]]
for n in range(25):
    node.attrs[f"{sys.argv[3]}{n}"] = n
"""


@pytest.mark.timeout(120)
def test_writers_in_other_processes_lose_nothing(node):
    writers = [subprocess.Popen([sys.executable, "-c", WRITER, node.store, node.path, name]) for name in "abc"]
    assert [writer.wait() for writer in writers] == [0, 0, 0]
    assert {f"{name}{n}" for name in "abc" for n in range(25)} <= set(stored(node))


def test_consolidated_copies_follow(url):
    root = zarrkit.open(url, "r+")
    root.consolidate()
    root["x"].attrs["new"] = 1
    root.attrs["top"] = 2
    theirs = zarr.open_consolidated(url)
    assert theirs["x"].attrs["new"] == 1 and theirs.attrs["top"] == 2
    assert json.dumps(dict(theirs.attrs)) == '{"top": 2}'
