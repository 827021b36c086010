"""Opens, reads and writes beside zarr-python."""

import json
import subprocess
import sys

import numpy as np
import pytest
import zarr

import zarrkit


def test_both_read_what_the_other_wrote(tmp_path):
    elements = np.arange(60 * 50 * 40, dtype="f4").reshape(60, 50, 40)
    url = tmp_path / "data.zarr"
    theirs = zarr.create_array(url, name="a", shape=elements.shape, chunks=(10, 10, 10), shards=(20, 50, 20), dtype="f4")
    theirs[...] = elements

    ours = zarrkit.open(url, "r+")["a"]
    assert (ours.shape, ours.dtype, ours.chunks, ours.shards) == (elements.shape, "f4", (10, 10, 10), (20, 50, 20))
    assert np.array_equal(ours[...], elements)
    assert np.array_equal(ours[::-3, 1, 5:9], elements[::-3, 1, 5:9])
    assert ours[1, 2, 3] == elements[1, 2, 3]

    ours[5:30:2, ::-1] = elements[6:31:2]
    elements[5:30:2, ::-1] = elements[6:31:2]
    assert np.array_equal(theirs[...], elements)


def test_what_is_created_here_opens_there(tmp_path):
    url = tmp_path / "data.zarr"
    ours = zarrkit.create_array(url, "/a", shape=(5, 6), dtype="i2", chunks=(2, 3), codecs=["zstd:3"], attributes={"units": "m"})
    ours[1:4] = np.arange(18).reshape(3, 6)
    theirs = zarr.open_array(url, path="a")
    assert theirs.attrs["units"] == "m"
    assert np.array_equal(theirs[...], ours[...])
    assert np.array_equal(ours[1:4].ravel(), np.arange(18))


def test_records_of_big_endian_numbers_stay_so_in_v2(tmp_path):
    for fields in ([("a", ">f4"), ("b", ">i4")], [("a", ">f4"), ("b", "<i4")], [("a", "|u1"), ("b", ">i2")], [("a", "<f4"), ("b", "<i4")]):
        array = zarrkit.create(tmp_path / "a.zarr", shape=2, dtype=fields, dialect="v2", overwrite=True)
        assert array.dtype == np.dtype(fields)
        array[...] = np.array([(1, 2), (3, 4)], fields)
        theirs = zarr.open_array(tmp_path / "a.zarr", mode="r")
        assert theirs.dtype == np.dtype(fields) and theirs[...].tolist() == [(1, 2), (3, 4)] == array[...].tolist()


def test_zarr_python_opens_shards_with_codecs_without_parameters(tmp_path):
    array = zarrkit.create(tmp_path / "a.zarr", shape=8, dtype="i4", chunks=4, shards=8, codec=["adler32"])
    array[...] = np.arange(8)
    inner = array.metadata["codecs"][0]["configuration"]["codecs"]
    assert inner[-1] == {"name": "numcodecs.adler32", "configuration": {}}
    assert zarr.open_array(tmp_path / "a.zarr", mode="r")[...].tolist() == list(range(8))


def test_pickled_objects_are_named(tmp_path):
    document = {"zarr_format": 2, "shape": [1], "chunks": [1], "dtype": "|O", "fill_value": None, "order": "C"}
    for filters, why in (([{"id": "pickle", "protocol": 5}], "codec `pickle`.*run code"), ([{"id": "vlen-array", "dtype": ">i4"}], "vlen-array")):
        (tmp_path / ".zarray").write_text(json.dumps(document | {"filters": filters, "compressor": None}))
        array = zarrkit.open(tmp_path)
        with pytest.raises(NotImplementedError, match=why):
            array[...]


@pytest.mark.parametrize(("shape", "added", "axis"), [((0, 7), (0, 3), 1), ((3, 0), (2, 0), 0), ((0, 0), (4, 0), 0)])
def test_append_beside_an_axis_of_length_0(tmp_path, shape, added, axis):
    array = zarrkit.create(tmp_path / "a.zarr", shape=shape, dtype="f4")
    assert array.append(np.ones(added, "f4"), axis=axis) == shape[axis]
    assert array.shape == np.concatenate([np.ones(shape), np.ones(added)], axis).shape


@pytest.mark.parametrize("dialect", ["v2", "v3", "shards"])
def test_shuffle_without_a_size_has_the_element_s(tmp_path, dialect):
    inside = {"chunks": (4,), "shards": (8,)} if dialect == "shards" else {"chunks": (8,)}
    options = inside | {"dialect": "v2" if dialect == "v2" else "v3"}
    array = zarrkit.create(tmp_path / "a.zarr", shape=(8,), dtype="f8", codec=["shuffle", "zstd"], **options)
    array[...] = np.arange(8) / 3
    assert (zarr.open_array(tmp_path / "a.zarr", mode="r")[...] == np.arange(8) / 3).all()
    document = (tmp_path / "a.zarr" / (".zarray" if dialect == "v2" else "zarr.json")).read_text()
    assert document.replace(" ", "").count('"elementsize":8') == 1, document


def test_dir_lists_what_is_imported_when_it_is_asked_for():
    code = "import zarrkit; print(*({*zarrkit.__all__, 'Pipeline', 'Store', 'XarrayEngine', 'aio', 'dask'} - {*dir(zarrkit)}))"
    assert subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout == "\n"
