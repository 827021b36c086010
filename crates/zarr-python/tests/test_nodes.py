"""Opens and creates groups and arrays, with zarr-python as the witness."""

import datetime
import json
import os
import pickle
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest
import zarr

import zarrkit


@pytest.fixture
def tree(tmp_path):
    """A hierarchy that zarr-python wrote."""
    url = tmp_path / "d.zarr"
    root = zarr.create_group(url)
    root.create_array("x", shape=(4, 6), chunks=(2, 3), dtype="i4")[...] = np.arange(24).reshape(4, 6)
    ocean = root.create_group("ocean", attributes={"title": "sea"})
    ocean.create_array("t", shape=(5,), chunks=(2,), dtype="f8", dimension_names=["time"])
    ocean.create_group("deep")
    return url


def test_a_group_is_a_mapping(tree):
    g = zarrkit.open(tree)
    assert list(g) == g.keys() == ["ocean", "x"] and len(g) == 2
    assert [type(node) for node in g.values()] == [zarrkit.Group, zarrkit.Array]
    assert [(name, node.path) for name, node in g.items()] == [("ocean", "/ocean"), ("x", "/x")]
    assert "ocean/t" in g and "ocean" in g and "t" not in g and 3 not in g and "" not in ["t"]
    assert g["ocean"]["t"].path == g["ocean/t"].path == "/ocean/t"
    assert g.get("nothing") is None and g.get("nothing", 7) == 7 and g.get("x").shape == (4, 6)
    assert set(g.arrays()) == {"x"} and set(g.groups()) == {"ocean"}
    assert g["ocean"] == zarrkit.open(tree)["ocean"] != g and len({g["ocean"], zarrkit.open(tree)["ocean"]}) == 1


def test_a_member_that_is_not_there_is_a_key_error_and_a_file_not_found(tree):
    g = zarrkit.open(tree, "r+")
    for kind in (KeyError, FileNotFoundError, zarrkit.NotFoundError):
        with pytest.raises(kind, match="/ocean/nothing: not found"):
            g["ocean/nothing"]
    with pytest.raises(KeyError):
        del g["nothing"]
    with pytest.raises(FileNotFoundError) as caught:
        zarrkit.open(tree / "ocean" / "nothing")
    assert not isinstance(caught.value, KeyError)


def test_members_are_listed_once(tree):
    g = zarrkit.open(tree)
    assert [(m.name, m.kind, m.shape, m.dtype) for m in g.members()] == [
        ("ocean", "group", None, None),
        ("x", "array", (4, 6), np.dtype("i4")),
    ]
    assert [m.name for m in g.members(recursive=True)] == ["ocean", "ocean/deep", "ocean/t", "x"]
    assert [m.name for m in g["ocean"].members(recursive=True)] == ["deep", "t"]


def test_a_tree_is_drawn(tree):
    drawn = "/\n├── ocean\n│   ├── deep\n│   └── t (time: 5) float64\n└── x (4, 6) int32"
    assert zarrkit.open(tree).tree() == drawn and repr(zarrkit.open(tree).tree()) == drawn
    assert zarrkit.open(tree)["ocean"].tree() == "ocean\n├── deep\n└── t (time: 5) float64"


def test_what_is_created_below_a_group_is_there_for_zarr_python(tree):
    g = zarrkit.open(tree, "r+")
    g.create("ocean/new", shape=(3, 4), dtype="u1", chunks=2, codec=["zstd:3"], attrs={"a": 1}, dims=("y", "x"))[...] = 7
    g["ocean"].create_group("more/inside", attrs={"b": [1]})
    theirs = zarr.open_group(tree, mode="r")
    assert np.array_equal(theirs["ocean/new"][...], np.full((3, 4), 7)) and theirs["ocean/new"].chunks == (2, 2)
    assert dict(theirs["ocean/new"].attrs) == {"a": 1} and theirs["ocean/new"].metadata.dimension_names == ("y", "x")
    assert dict(theirs["ocean/more/inside"].attrs) == {"b": [1]} and "more" in theirs["ocean"]
    with pytest.raises(FileExistsError):
        g.create("ocean/new", shape=1, dtype="u1")
    with pytest.raises(FileExistsError):
        g.create_group("ocean")
    g.create("ocean/new", shape=1, dtype="u1", overwrite=True)
    g.create_group("ocean/more", overwrite=True)
    theirs = zarr.open_group(tree, mode="r")
    assert theirs["ocean/new"].shape == (1,) and list(theirs["ocean/more"]) == []


def test_erasing_keeps_files_that_are_not_zarrs(tree):
    g = zarrkit.open(tree, "r+")
    (tree / "ocean" / "notes.txt").write_text("mine")
    with pytest.raises(ValueError, match="notes.txt"):
        del g["ocean"]
    with pytest.raises(ValueError, match="notes.txt"):
        g.create("ocean", shape=1, dtype="i1", overwrite=True)
    assert "ocean/t" in g
    (tree / "ocean" / "notes.txt").unlink()
    del g["ocean"]
    assert sorted(zarr.open_group(tree, mode="r")) == ["x"]


@pytest.mark.parametrize("dialect", ["v2", "v3"])
@pytest.mark.parametrize("url", ["d.zarr/ocean/t", "plain"])
def test_the_root_is_the_component_that_looks_like_a_store(tmp_path, monkeypatch, dialect, url):
    monkeypatch.chdir(tmp_path)
    zarrkit.create(url, shape=(3,), dtype="i2", dialect=dialect)[...] = [1, 2, 3]
    assert zarr.open_array(url, mode="r")[...].tolist() == [1, 2, 3]
    if url != "plain":
        assert list(zarr.open_group("d.zarr", mode="r")) == ["ocean"]
        assert zarrkit.open("d.zarr").dialect == dialect
        # The next one is part of the hierarchy above it.
        assert zarrkit.create("d.zarr/ocean/u", shape=1, dtype="i2").dialect == dialect
        with pytest.raises(ValueError, match="holds a hierarchy in"):
            zarrkit.create("d.zarr/ocean/w", shape=1, dtype="i2", dialect={"v2": "v3", "v3": "v2"}[dialect])


def test_a_failed_create_leaves_nothing(tmp_path):
    with pytest.raises(ValueError):
        zarrkit.create(tmp_path / "d.zarr/x", shape=(3,), dtype="i2", chunks=(0,))
    assert not list(tmp_path.rglob("*.json"))
    with pytest.raises(FileNotFoundError):
        zarrkit.open(tmp_path / "d.zarr")


@pytest.mark.parametrize("dtype, fill", [("f4", np.nan), ("f8", np.float64(1e300)), ("i8", -(2**62)), ("c16", 1 - 2j), ("?", True),
    ("M8[s]", np.datetime64("2020-01-01")), ("m8[ms]", np.timedelta64("NaT", "ms")), ("f8", -np.inf)])  # fmt: skip
@pytest.mark.parametrize("dialect", ["v2", "v3"])
@pytest.mark.filterwarnings("ignore")
def test_fill_values_are_numpys(tmp_path, dtype, fill, dialect):
    zarrkit.create(tmp_path / "d.zarr", shape=(2,), dtype=dtype, fill_value=fill, dialect=dialect)
    expected = np.full(2, fill, dtype)
    found = zarr.open_array(tmp_path / "d.zarr", mode="r")
    assert found.dtype == expected.dtype
    assert found[...].tobytes() == expected.tobytes()


def nan(bits, dtype):
    return np.array(bits, f"u{np.dtype(dtype).itemsize}").view(dtype)[()]


@pytest.mark.parametrize("dtype, bits", [("f2", 0x7C01), ("f4", 0x7F800001), ("f4", 0xFFC00000), ("f8", 0x7FF0000000000001), ("f8", 0xFFF8000000000000)])
@pytest.mark.parametrize("dialect", ["v2", "v3", "draft"])
def test_a_nan_keeps_its_bits_or_is_refused(tmp_path, dtype, bits, dialect):
    fills = [nan(bits, dtype), np.array(nan(bits, dtype))]
    for n, fill in enumerate(fills):
        create = lambda: zarrkit.create(tmp_path / f"{n}.zarr", shape=2, dtype=dtype, fill_value=fill, dialect=dialect)
        if dialect == "v2":
            with pytest.raises(NotImplementedError, match="NaN with these bits"):
                create()
            continue
        a = create()
        again = zarrkit.create(tmp_path / f"{n}again.zarr", shape=2, dtype=dtype, fill_value=a.fill_value)
        for found in (a[...], again[...]):
            assert found.view(f"u{found.itemsize}").tolist() == [bits] * 2


def test_both_parts_of_a_complex_nan_keep_their_bits(tmp_path):
    fill = np.array([0x7F800001, 0xFFC00000], "u4").view("c8")[0]
    a = zarrkit.create(tmp_path / "c.zarr", shape=1, dtype="c8", fill_value=fill)
    assert a[...].view("u4").tolist() == [0x7F800001, 0xFFC00000]


def test_a_tilde_is_the_home_folder(tmp_path, monkeypatch):
    (tmp_path / "home").mkdir()
    (tmp_path / "here").mkdir()
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path / "here")
    zarrkit.create("~/a.zarr", shape=2, dtype="i4")[...] = 5
    zarrkit.create_group(Path("~/g.zarr"))
    zarrkit.copy("~/a.zarr", "~/b.zarr")
    assert zarrkit.open("~/b.zarr")[...].tolist() == [5, 5] and zarrkit.validate("~/b.zarr").is_sound
    assert sorted(os.listdir(tmp_path / "home")) == ["a.zarr", "b.zarr", "g.zarr"] and os.listdir(".") == []
    # These are names of the user's own.
    zarrkit.create("~nobody-has-this-name.zarr", shape=2, dtype="i4")
    zarrkit.create("./~/a.zarr", shape=2, dtype="i4")
    assert sorted(os.listdir(".")) == ["~", "~nobody-has-this-name.zarr"]


@pytest.mark.parametrize("name, call", [
    ("create", lambda url: zarrkit.create(url, shap=1)),
    ("create_array", lambda url: zarrkit.create_array(url, shap=1)),
    ("create_group", lambda url: zarrkit.create_group(url, shap=1)),
    ("Group.create", lambda url: zarrkit.create_group(url).create("x", shap=1)),
    ("Group.create_group", lambda url: zarrkit.create_group(url).create_group("x", shap=1)),
    ("copy", lambda url: zarrkit.copy(url, url, shap=1)),
])  # fmt: skip
def test_a_keyword_that_is_not_known_is_one_of_what_was_called(tmp_path, name, call):
    with pytest.raises(TypeError, match=rf"^{name}\(\) got an unexpected keyword argument 'shap'(; did you mean 'shape'\?|; did you mean 'shards'\?)?$"):
        call(tmp_path / "d.zarr")


RECORD = np.dtype([("n", "i4"), ("t", "M8[s]"), ("w", "f4")])


@pytest.mark.parametrize("dtype, fill", [("i4", 5.0), ("?", 1), ("?", np.int64(0)), ("c8", 3), ("M8[s]", "2020-01-01"), ("S3", "ab"), ("V3", b"a"),
    ("M8[D]", datetime.date(2020, 1, 1)), ("m8[ms]", datetime.timedelta(seconds=2)), (RECORD, (5, "2020-01-01", np.inf))])  # fmt: skip
@pytest.mark.parametrize("dialect", ["v2", "v3"])
def test_fill_values_are_converted_as_numpy_does(tmp_path, dtype, fill, dialect):
    a = zarrkit.create(tmp_path / "d.zarr", shape=(2,), dtype=dtype, fill_value=fill, dialect=dialect)
    expected = np.zeros(2, dtype)
    expected[:] = fill if np.dtype(dtype).kind != "V" or isinstance(fill, tuple) else np.void(fill, "V3")
    assert a[...].tobytes() == expected.tobytes() and a[...].dtype == expected.dtype
    again = zarrkit.create(tmp_path / "again.zarr", like=a, dtype=a.dtype, fill_value=a.fill_value)
    assert again[...].tobytes() == expected.tobytes()


@pytest.mark.parametrize("dtype, fill", [("i4", 5.5), ("i4", "5"), ("?", 2), ("u1", -1), ("S2", b"abc"), ("S3", "é"), ("M8[s]", "soon"), (RECORD, (1,)),
    ("i4", np.nan)])  # fmt: skip
def test_fill_values_that_would_change_are_refused(tmp_path, dtype, fill):
    with pytest.raises(ValueError):
        zarrkit.create(tmp_path / "d.zarr", shape=(2,), dtype=dtype, fill_value=fill)
    assert not (tmp_path / "d.zarr").exists()


@pytest.mark.parametrize("keywords, error, text", [
    ({"chunks": ((2, 2), (1, 3))}, ValueError, "one for each axis"),
    ({"chunks": ((4,), 2)}, ValueError, "one for each axis"),
    ({"overwrite": "no"}, TypeError, "`overwrite` must be True or False"),
    ({"order": 3}, TypeError, "`order` must be a string"),
    ({"separator": 3}, TypeError, "`separator` must be a string"),
    ({"dtype": bytes}, ValueError, "variable_length_bytes"),
    ({"dtype": "M8"}, ValueError, r"no unit.*M8\[ns\]"),
])  # fmt: skip
def test_what_create_refuses(tmp_path, keywords, error, text):
    with pytest.raises(error, match=text):
        zarrkit.create(tmp_path / "d.zarr", **{"shape": (4, 4), "dtype": "i4", **keywords})
    assert not (tmp_path / "d.zarr").exists()


def test_str_is_text_of_any_length(tmp_path):
    assert zarrkit.create(tmp_path / "d.zarr", shape=2, dtype=str).dtype == np.dtypes.StringDType()


def test_a_handle_does_not_become_one_of_another_dtype(tmp_path):
    a = zarrkit.create(tmp_path / "d.zarr", shape=4, dtype="i4")
    assert a.dtype == "i4"
    zarrkit.create(tmp_path / "d.zarr", shape=6, dtype="i4", overwrite=True)
    a.refresh()
    assert a.shape == (6,) and a[...].tolist() == [0] * 6
    zarrkit.create(tmp_path / "d.zarr", shape=6, dtype="f8", overwrite=True)
    for _ in range(2):
        with pytest.raises(zarrkit.ConflictError, match="open it again"):
            a.refresh()


@pytest.mark.parametrize("path", ["", "/"])
def test_a_group_does_not_erase_itself(tmp_path, path):
    g = zarrkit.create_group(tmp_path / "d.zarr", "a")
    g.create("x", shape=2, dtype="i4")
    with pytest.raises(ValueError, match="is the group itself"):
        del g[path]
    assert list(g) == ["x"] and list(zarrkit.open(tmp_path / "d.zarr")) == ["a"]


def test_chunks_are_chosen_as_without_the_keyword_if_they_are_auto(tmp_path):
    chosen = [zarrkit.create(tmp_path / f"{n}.zarr", shape=(3000, 2000), dtype="f8", **how) for n, how in enumerate([{}, {"chunks": "auto"}])]
    assert chosen[0].chunks == chosen[1].chunks != (3000, 2000)


def test_like_copies_what_is_not_given(tmp_path):
    a = zarrkit.create(tmp_path / "a.zarr", shape=(40, 60), dtype="i2", chunks=(10, 10), shards=(20, 30), codec="zstd:3", fill_value=-1,
        dims=("y", "x"), attrs={"units": "m"})  # fmt: skip
    b = zarrkit.create(tmp_path / "b.zarr", like=a)
    assert (b.shape, b.dtype, b.chunks, b.shards, b.dims, dict(b.attrs)) == ((40, 60), "i2", (10, 10), (20, 30), ("y", "x"), {"units": "m"})
    assert b.codecs == a.codecs and zarr.open_array(tmp_path / "b.zarr").fill_value == -1
    c = zarrkit.create(tmp_path / "c.zarr", like=a, shape=(7, 8), chunks=(5, 5), shards=(10, 10), attrs={}, dims=("v", "u"))
    assert (c.shape, c.chunks, c.shards, c.dims, dict(c.attrs)) == ((7, 8), (5, 5), (10, 10), ("v", "u"), {})
    d = zarrkit.create(tmp_path / "d.zarr", like=a, dtype="f4", fill_value=2.5)
    assert (d.shape, d.dtype, d.chunks, d.shards) == ((40, 60), "f4", (10, 10), (20, 30))
    assert zarr.open_array(tmp_path / "d.zarr").fill_value == 2.5 and "zstd" in str(d.codecs)
    e = zarrkit.create(tmp_path / "e.zarr", like=a, dialect="v2")
    assert zarr.open_array(tmp_path / "e.zarr").shape == (40, 60) and e.shards is None and e.dims == ("y", "x")
    # Arrays of other libraries say shape, dtype and chunks.
    f = zarrkit.create(tmp_path / "f.zarr", like=zarr.open_array(tmp_path / "a.zarr"))
    assert (f.shape, f.dtype, f.chunks, f.shards) == ((40, 60), "i2", (10, 10), (20, 30))
    g = zarrkit.create(tmp_path / "g.zarr", like=np.zeros((3, 4), "c8"), fill_value=1j)
    assert (g.shape, g.dtype) == ((3, 4), "c8")


def test_modes(tmp_path):
    url = tmp_path / "d.zarr"
    with pytest.raises(FileNotFoundError):
        zarrkit.open(url, "r+")
    g = zarrkit.open(url, "a")
    g.create_group("x")
    assert list(zarrkit.open(url, "a")) == ["x"] and list(zarr.open_group(url, mode="r")) == ["x"]
    with pytest.raises(ValueError, match='"r" reads'):
        zarrkit.open(url, "w")
    with pytest.raises(ValueError, match="unknown dialect"):
        zarrkit.open(url, dialect="v4")
    with pytest.raises(ValueError, match="holds a hierarchy in v3"):
        zarrkit.create(url / "y", shape=1, dtype="i1", dialect="v2")


def test_dialects_that_are_at_one_place(tmp_path):
    for format, shape in ((2, 2), (3, 3)):
        zarr.create_array(tmp_path / "d.zarr", shape=(shape,), dtype="i1", zarr_format=format)
    with pytest.warns(zarrkit.ZarrWarning):
        assert zarrkit.open(tmp_path / "d.zarr").shape == (3,)
    assert zarrkit.open(tmp_path / "d.zarr", dialect="v2").shape == (2,)
    assert zarrkit.open(tmp_path / "d.zarr", dialect="v3").shape == (3,)
    # A pickle keeps how it was opened.
    for dialect, shape in (("v2", 2), ("v3", 3)):
        opened = zarrkit.open(tmp_path / "d.zarr", dialect=dialect, consolidated=False, strict=True, limits={"document": 9999})
        again = pickle.loads(pickle.dumps(opened))
        assert again.shape == (shape,) and again == opened and again.dialect == dialect


def test_consolidated_copies_are_used_as_asked(tree):
    g = zarrkit.open(tree, "r+")
    with pytest.raises(FileNotFoundError):
        zarrkit.open(tree, consolidated=True)
    assert not g.is_consolidated
    assert g.consolidate() == 5 and g.is_consolidated
    assert zarr.open_consolidated(tree)["ocean/t"].shape == (5,)
    # A writer that knows nothing of the copies.
    document = json.loads((tree / "x" / "zarr.json").read_text())
    document["attributes"] = {"new": 1}
    (tree / "x" / "zarr.json").write_text(json.dumps(document))
    assert dict(zarrkit.open(tree, consolidated=True)["x"].attrs) == {}
    assert dict(zarrkit.open(tree, consolidated=False)["x"].attrs) == {"new": 1}


def test_each_warning_is_given_once(tree):
    document = json.loads((tree / "x" / "zarr.json").read_text())
    document["attributes"] = {"low": float("-inf")}
    (tree / "x" / "zarr.json").write_text(json.dumps(document))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        g = zarrkit.open(tree)
        for _ in range(3):
            g["x"], g.values(), g.members(recursive=True)
    assert [warning.category for warning in caught] == [zarrkit.ZarrWarning]
    assert "/x" in str(caught[0].message) and caught[0].filename == __file__
    with pytest.raises(zarrkit.InvalidMetadataError):
        zarrkit.open(tree, strict=True)["x"]


def test_broken_members_are_left_out_with_a_warning(tree):
    (tree / "x" / "zarr.json").write_text("{")
    with pytest.warns(zarrkit.ZarrWarning, match="/x"):
        assert [node.name for node in zarrkit.open(tree).values()] == ["ocean"]
    g = zarrkit.open(tree)
    assert "x" in g
    with pytest.raises(zarrkit.InvalidMetadataError, match="x"):
        g["x"]


def test_limits_are_kept_and_can_be_raised(tree):
    with pytest.raises(MemoryError) as caught:
        zarrkit.open(tree / "x", limits={"document": 100})
    assert 'limits={"document": BYTES}' in str(caught.value)
    assert zarrkit.open(tree / "x", limits={"document": 10_000}).shape == (4, 6)
    with pytest.raises(MemoryError) as caught:
        zarrkit.open(tree / "x", limits={"decoded": 4})[...]
    assert 'limits={"decoded": BYTES}' in str(caught.value)


def test_names_are_escaped(tmp_path):
    name = "<b>\x1b[31m\u202e&"
    g = zarrkit.open(tmp_path / "d.zarr", "a")
    a = g.create("x", shape=(2,), dtype="i1", dims=[name], attrs={name: 1})
    for text in (repr(a), a.info(), g.tree(), repr(g), g.info()):
        assert "\x1b" not in text and "\u202e" not in text
    for text in (a._repr_html_(), g._repr_html_(), g.tree()._repr_html_()):
        assert "<b>" not in text and "\x1b" not in text and "\u202e" not in text
    assert "&lt;b&gt;" in a._repr_html_()


def test_info_says_what_an_array_is(tree):
    text = zarrkit.open(tree)["x"].info(stored=True)
    for line in ("shape      (4, 6)", "data type  int32", "chunks     (2, 3)", "stored     4 chunks", "format     v3"):
        assert f"  {line}" in text
    assert repr(zarrkit.open(tree)["ocean/t"]) == "<zarrkit.Array /ocean/t (time: 5) float64>"
    assert "1: ocean" in zarrkit.open(tree).info()


def test_dims_are_written(tree):
    zarrkit.open(tree, "r+")["x"].dims = ("lat", "lon")
    assert zarr.open_array(tree, path="x").metadata.dimension_names == ("lat", "lon")
    with pytest.raises(ValueError):
        zarrkit.open(tree, "r+")["x"].dims = ("lat",)
    assert zarrkit.open(tree)["ocean/t"].dims == ("time",)


def test_nczarr_has_dimensions(tmp_path):
    netcdf = pytest.importorskip("netCDF4", reason="needs netcdf-c, which not every environment of the tests has")
    url = tmp_path / "d.zarr"
    with netcdf.Dataset(f"file://{url}#mode=nczarr,file", "w") as dataset:
        dataset.createDimension("lat", 3)
        dataset.createDimension("lon", 4)
        dataset.createVariable("t", "f4", ("lat", "lon"))[...] = np.arange(12).reshape(3, 4)
        dataset.createGroup("inner").createVariable("u", "i2", ("lon",))[...] = 5
    for place in (url, f"{url}#mode=nczarr,file"):
        g = zarrkit.open(place)
        assert g["t"].dims == ("lat", "lon") and g["inner/u"].dims == ("lon",)
        assert g.dimensions == {"lat": 3, "lon": 4}
        assert np.array_equal(g["t"][...], np.arange(12).reshape(3, 4))


def test_the_lists_of_nczarr_name_a_node_that_was_moved(tmp_path):
    netcdf = pytest.importorskip("netCDF4", reason="needs netcdf-c, which not every environment of the tests has")
    url = f"file://{tmp_path}/d.zarr#mode=nczarr,file"
    with netcdf.Dataset(url, "w") as dataset:
        dataset.createDimension("lon", 4)
        dataset.createVariable("t", "f4", ("lon",))[...] = np.arange(4)
        dataset.createGroup("inner").createVariable("u", "i2", ("lon",))[...] = 5
    group = zarrkit.open_group(tmp_path / "d.zarr", mode="r+")
    group.move("t", "temperature")
    group.move("inner/u", "v")
    with netcdf.Dataset(url) as dataset:
        assert sorted(dataset.variables) == ["temperature", "v"] and not dataset["inner"].variables
        assert dataset["temperature"][:].tolist() == [0, 1, 2, 3] and dataset["v"][:].tolist() == [5] * 4


def run(*arguments, **options):
    return subprocess.run([sys.executable, "-m", "zarrkit", *map(str, arguments)], capture_output=True, text=True, timeout=60, **options)


def test_the_program(tree):
    done = run("tree", tree)
    assert done.returncode == 0 and "ocean" in done.stdout and done.stderr == ""
    done = run("info", tree, "--path", "nothing")
    assert done.returncode == 3 and done.stdout == "" and "nothing" in done.stderr
    assert run().returncode == 2
    assert run("get", tree, "--path", "x", "--format", "csv").stdout.splitlines()[0].startswith("0,1,2")


@pytest.mark.skipif(os.name != "posix", reason="signals are those of POSIX")
@pytest.mark.timeout(60)
def test_ctrl_c_ends_the_program(tmp_path):
    import signal

    zarrkit.create(tmp_path / "d.zarr", shape=(4,), dtype="u1")
    os.mkfifo(tmp_path / "sums")
    # It waits for a writer of the file that it reads: only the signal ends it.
    program = subprocess.Popen([sys.executable, "-m", "zarrkit", "checksum", str(tmp_path / "d.zarr"), "--check", str(tmp_path / "sums")])
    try:
        # Opened when the program has opened it to read.
        sums = os.open(tmp_path / "sums", os.O_WRONLY)
        program.send_signal(signal.SIGINT)
        assert program.wait(30) == -signal.SIGINT
        os.close(sums)
    finally:
        program.kill()


@pytest.mark.parametrize("dialect", ["v2", "v3"])
def test_consolidated_copies_follow_a_node_that_is_created_anew_by_its_url(tmp_path, dialect):
    root = tmp_path / "d.zarr"
    zarrkit.create_group(root, dialect=dialect)
    zarrkit.create_group(f"{root}/g")
    for url in (f"{root}/g/x", f"{root}/g/x/", f"file://{root}/g/x", f"{root}/g/../g/x", f"{root}/g/../../d.zarr/g/x"):
        zarrkit.create(root, "/g/x", shape=(4,), chunks=(2,), dtype="i4", overwrite=True)
        zarrkit.open(root, mode="r+").consolidate()
        zarrkit.create(url, shape=(6,), chunks=(3,), dtype="f8", overwrite=True)
        assert zarrkit.open(root, consolidated=True)["g/x"].shape == (6,), url
        assert zarr.open_consolidated(root)["g/x"].shape == (6,), url


def test_a_group_that_was_opened_read_only_moves_nothing(tmp_path):
    zarrkit.create(tmp_path / "d.zarr" / "t", data=np.arange(3))
    with pytest.raises(zarrkit.ReadOnlyError, match="opened read-only"):
        zarrkit.open(tmp_path / "d.zarr").move("t", "u")
    assert sorted(zarrkit.open(tmp_path / "d.zarr")) == ["t"]
    zarrkit.open(tmp_path / "d.zarr", "r+").move("t", "u")
    assert sorted(zarrkit.open(tmp_path / "d.zarr")) == ["u"]


def test_functions_of_zarr_python_take_a_place_first(tmp_path):
    place = str(tmp_path / "d.zarr")
    assert zarrkit.zeros(f"{place}/a", shape=(2, 3), dtype="i4").shape == (2, 3)
    assert zarrkit.ones(tmp_path / "d.zarr" / "b", (4,))[...].tolist() == [1, 1, 1, 1]
    assert zarrkit.full(f"{place}/c", (2,), 7)[...].tolist() == [7, 7]
    assert zarrkit.zeros((2,), store=f"{place}/d").shape == (2,)
