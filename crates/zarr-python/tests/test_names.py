"""Names and keywords of zarr-python and h5py, with zarr-python as the witness."""

import numpy as np
import pytest
import zarr

import zarrkit

numcodecs = pytest.importorskip("numcodecs")


@pytest.fixture
def groups(tmp_path):
    """The same hierarchy twice: ours, and zarr-python's."""
    ours = zarrkit.open_group(tmp_path / "ours.zarr", "a")
    theirs = zarr.open_group(tmp_path / "theirs.zarr", mode="a")
    for group in (ours, theirs):
        group.create_array("x", data=np.arange(24, dtype="i4").reshape(4, 6), chunks=(2, 3))
        group.create_group("ocean").create_array("t", shape=(5,), chunks=(2,), dtype="f8")
    return ours, theirs


def test_groups_list_as_zarr_python_does(groups):
    ours, theirs = groups
    assert ours.array_keys() == sorted(theirs.array_keys()) == ["x"]
    assert ours.group_keys() == sorted(theirs.group_keys()) == ["ocean"]
    seen = []
    assert ours.visititems(lambda name, node: seen.append((name, type(node).__name__))) is None
    assert seen == [("ocean", "Group"), ("ocean/t", "Array"), ("x", "Array")]
    assert {name for name, _ in seen} == {name for name, _ in theirs.members(max_depth=None)}
    assert ours.visititems(lambda name, node: node if name.endswith("t") else None).path == "/ocean/t"
    assert ours.visit(lambda name: name if "/" in name else None) == "ocean/t"


def test_what_is_required_is_opened_or_created(groups):
    ours, theirs = groups
    for group in (ours, theirs):
        assert group.require_group("ocean/deep").path.strip("/") == "ocean/deep"
        assert group.require_group("ocean").path.strip("/") == "ocean"
    assert ours.require_array("x", shape=(4, 6), dtype="i4")[3, 5] == 23
    # An element that is narrower fits, but not exactly.
    assert ours.require_array("x", shape=(4, 6), dtype="i2")[0, 1] == 1
    assert ours.require_array("new", shape=3, dtype="u1", attrs={"a": 1}).attrs["a"] == 1
    with pytest.raises(TypeError, match="has dtype int32, not int16"):
        ours.require_array("x", shape=(4, 6), dtype="i2", exact=True)
    with pytest.raises(TypeError, match="has dtype int32, not float64"):
        ours.require_array("x", shape=(4, 6), dtype="f8")
    with pytest.raises(ValueError, match=r"has shape \(4, 6\), not \(4,\)"):
        ours.require_array("x", shape=4, dtype="i4")
    with pytest.raises(ValueError, match="is a group, not an array"):
        ours.require_array("ocean", shape=4, dtype="i4")
    with pytest.raises(ValueError, match="is an array, not a group"):
        ours.require_group("x")


def test_nodes_move(groups, tmp_path):
    ours, _ = groups
    ours.move("ocean", "sea/atlantic")
    assert [m.name for m in ours.members(recursive=True)] == ["sea", "sea/atlantic", "sea/atlantic/t", "x"]
    ours["sea"].move("atlantic/t", "u")
    assert ours["sea/u"].shape == (5,) and "sea/atlantic/t" not in ours
    ours.move("x", "/y")
    assert np.array_equal(zarr.open_array(tmp_path / "ours.zarr", path="y", mode="r")[...], np.arange(24).reshape(4, 6))
    with pytest.raises(FileExistsError, match="del group"):
        ours.move("y", "sea/u")
    with pytest.raises(ValueError, match="choose a path outside"):
        ours.move("sea", "sea/inside")
    with pytest.raises(KeyError):
        ours.move("nothing", "z")


def test_arrays_tell_what_zarr_pythons_tell(groups):
    ours, theirs = groups[0]["x"], groups[1]["x"]
    assert ours.nchunks_initialized == theirs.nchunks_initialized == 4
    assert ours.nbytes_stored() == sum(path.stat().st_size for path in (theirs.store.root.parent / "ours.zarr" / "x" / "c").rglob("*") if path.is_file())
    assert np.array_equal(ours.blocks[1, 0], theirs.blocks[1, 0])
    assert ours.filters == [] and ours.serializer["name"] == theirs.serializer.to_dict()["name"] == "bytes"
    assert [codec["name"] for codec in ours.compressors] == [codec.to_dict()["name"] for codec in theirs.compressors]
    converted = ours.astype("f4")
    assert converted.dtype == "f4" and converted[1:3, 0].dtype == "f4" and converted.shape == (4, 6) and len(converted) == 4
    assert np.array_equal(np.asarray(converted), theirs[...].astype("f4"))
    assert isinstance(ours.info(), str) and repr(ours.info) == ours.info() and "4 chunks" in ours.info(stored=True)
    assert "<table>" in ours.info._repr_html_() and "1: x" in groups[0].info()


def test_numbers_and_other_libraries(tmp_path):
    scalar = zarrkit.create(tmp_path / "s.zarr", data=np.float64(2.5))
    assert scalar.shape == () and float(scalar) == 2.5 and int(scalar) == 2 and complex(scalar) == 2.5
    assert float(zarrkit.create(tmp_path / "one.zarr", data=[[7]])) == 7.0
    many = zarrkit.create(tmp_path / "many.zarr", data=np.arange(6.0))
    with pytest.raises(TypeError, match="has 6 elements: only an array of one is a number"):
        float(many)
    assert np.array_equal(np.from_dlpack(many), np.arange(6.0)) and many.__dlpack_device__() == np.arange(6.0).__dlpack_device__()


def test_with(tmp_path):
    with zarrkit.open_group(tmp_path / "d.zip", "a") as group:
        group.create_array("x", data=[1, 2, 3])
    with zarrkit.open(tmp_path / "d.zip") as group, group["x"] as array:
        assert array[...].tolist() == [1, 2, 3]
    with pytest.raises(ZeroDivisionError), zarrkit.open(tmp_path / "d.zip"):
        1 / 0


def test_functions_of_zarr_python(tmp_path):
    for module, name in ((zarr, "theirs"), (zarrkit, "ours")):
        module.zeros((2, 3), store=tmp_path / f"{name}0.zarr", dtype="i2")
        module.ones((2, 3), store=tmp_path / f"{name}1.zarr")
        module.full((2, 3), 7, store=tmp_path / f"{name}7.zarr", dtype="u1")
    for number in "017":
        ours, theirs = (zarr.open_array(tmp_path / f"{name}{number}.zarr", mode="r") for name in ("ours", "theirs"))
        assert np.array_equal(ours[...], theirs[...]) and ours.dtype == theirs.dtype
    assert zarrkit.full(2, 1.5, store="memory://full")[...].tolist() == [1.5, 1.5]
    group = zarrkit.open_group(tmp_path / "g.zarr", "a")
    group.create_array("x", data=[1, 2])
    assert zarrkit.open_array(tmp_path / "g.zarr/x").shape == zarrkit.open_array(tmp_path / "g.zarr", path="x").shape == (2,)
    with pytest.raises(FileNotFoundError):
        zarrkit.open_array(tmp_path / "g.zarr/y", "a")
    with pytest.raises(zarrkit.ZarrError):
        zarrkit.open_consolidated(tmp_path / "g.zarr")
    group.consolidate()
    assert zarrkit.open_consolidated(tmp_path / "g.zarr").array_keys() == ["x"]


CODECS = [
    numcodecs.Zstd(level=5),
    numcodecs.GZip(level=2),
    numcodecs.Blosc(cname="zstd", clevel=4, shuffle=numcodecs.Blosc.BITSHUFFLE),
    numcodecs.Blosc(),
    numcodecs.LZ4(),
    numcodecs.Shuffle(elementsize=4),
    zarr.codecs.ZstdCodec(level=5),
    zarr.codecs.GzipCodec(level=2),
    zarr.codecs.BloscCodec(cname="zstd", clevel=4, shuffle="bitshuffle"),
    {"id": "zlib", "level": 3},
    {"name": "zstd", "configuration": {"level": 1, "checksum": False}},
    "zstd:9",
]


@pytest.mark.parametrize("codec", CODECS, ids=str)
@pytest.mark.parametrize("keyword", ["codec", "compressors", "compressor"])
def test_codecs_are_taken_as_objects(tmp_path, codec, keyword):
    data = np.arange(1000, dtype="i4") // 50
    array = zarrkit.create(tmp_path / "d.zarr", data=data, chunks=300, **{keyword: codec})
    assert array.nbytes_stored() < data.nbytes * (1 if "Shuffle" not in str(codec) else 2)
    assert len(array.compressors) == 1
    theirs = zarr.open_array(tmp_path / "d.zarr", mode="r")
    assert np.array_equal(theirs[...], data)


def test_keywords_of_zarr_python_mean_the_same(tmp_path):
    data = np.arange(600, dtype="i2").reshape(20, 30)
    keywords = {
        "shape": (20, 30),
        "chunks": (5, 6),
        "shards": (10, 30),
        "dtype": "i2",
        "compressors": [zarr.codecs.GzipCodec(level=1)],
        "filters": "auto",
        "serializer": "auto",
        "fill_value": 3,
        "attributes": {"a": 1},
        "dimension_names": ["y", "x"],
        "chunk_key_encoding": {"name": "default", "separator": "."},
        "zarr_format": 3,
        "name": "inner/x",
    }
    ours = zarrkit.create_array(tmp_path / "ours.zarr", **keywords)
    ours[...] = data
    zarr.create_array(tmp_path / "theirs.zarr", **keywords)[...] = data
    read = [zarr.open_array(tmp_path / f"{name}.zarr", path="inner/x", mode="r") for name in ("ours", "theirs")]
    assert np.array_equal(read[0][...], read[1][...])
    for name in ("shape", "chunks", "shards", "dtype", "fill_value", "attrs"):
        values = [getattr(array, name) for array in read]
        assert dict(values[0]) == dict(values[1]) if name == "attrs" else values[0] == values[1], name
    assert read[0].metadata.dimension_names == ("y", "x")
    assert (tmp_path / "ours.zarr/inner/x/c.0.0").exists() and (tmp_path / "theirs.zarr/inner/x/c.0.0").exists()
    plain = zarrkit.create_array(tmp_path / "plain.zarr", data=data, compressors=None, zarr_format=2, dimension_separator="/")
    assert plain.dialect == "v2" and plain.compressors == [] and (tmp_path / "plain.zarr/0/0").exists()
    filtered = zarrkit.create(tmp_path / "filtered.zarr", data=data, filters=[numcodecs.Delta(dtype="<i2")], zarr_format=2)
    assert np.array_equal(zarr.open_array(tmp_path / "filtered.zarr", mode="r")[...], data)
    assert any(codec["name"].endswith("delta") for codec in filtered.codecs)
    h5 = zarrkit.open_group(tmp_path / "h5.zarr", "a").create_array("d", data=data, chunks=True, compression="gzip", compression_opts=4)
    assert h5.compressors == [{"name": "gzip", "configuration": {"level": 4}}]


def test_names_complete(groups):
    group = groups[0]
    assert group._ipython_key_completions_() == ["ocean", "x"]
    assert {"create_array", "require_group", "visititems", "members"} <= set(dir(group))
    assert {"astype", "nbytes_stored", "blocks", "info"} <= set(dir(group["x"]))
    assert {"open_array", "zeros", "dask", "aio"} <= set(dir(zarrkit))
    for function in (zarrkit.create, zarrkit.open_array, zarrkit.Group.create_array, zarrkit.Array.astype, zarrkit.Group.visititems):
        assert function.__doc__


def test_a_move_loses_nothing_that_a_copy_cannot_keep(tmp_path):
    path = tmp_path / "a.zarr"
    zarrkit.create_array(path, "/x/y", shape=(4,), dtype="i4")[...] = 3
    group = zarrkit.open_group(path, mode="r+")
    (path / "x" / "out.txt").symlink_to("/etc/hostname")
    with pytest.raises(zarrkit.UnsupportedError, match="out.txt"):
        group.move("x", "z")
    assert "z" not in group and (group["x/y"][...] == 3).all(), "nothing has begun"
    (path / "x" / "out.txt").unlink()
    (path / "x" / "notes.txt").write_text("of the array")
    with pytest.raises(ValueError, match="notes.txt") as error:
        group.move("x", "z")
    assert "/z is a whole copy of /x" in error.value.__notes__[0]
    assert (path / "z" / "notes.txt").read_text() == "of the array"
