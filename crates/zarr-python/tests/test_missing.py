"""Chunks that are not stored, for a reader that takes no fill value for them."""

import pickle

import numpy as np
import pytest
import zarrkit


def lost(folder, sharded=False):
    """An array of 1 to 8, without the chunk, or the inner chunk, of 5 and 6."""
    shape = {"shards": 8} if sharded else {}
    array = zarrkit.create(folder / "d.zarr", "a", shape=8, chunks=2, dtype="i4", fill_value=9, **shape)
    array[:4] = [1, 2, 3, 4]
    array[6:] = [7, 8]
    return folder / "d.zarr"


@pytest.mark.parametrize("sharded", [False, True])
@pytest.mark.parametrize("keywords", [{}, {"chunk_cache": "1MiB", "read_ahead": 1}])
def test_a_read_that_touches_it_names_it(tmp_path, sharded, keywords):
    url = lost(tmp_path, sharded)
    assert zarrkit.open(url)["a"][:].tolist() == [1, 2, 3, 4, 9, 9, 7, 8]
    array = zarrkit.open(url, missing="error", **keywords)["a"]
    for again in (array, pickle.loads(pickle.dumps(array))):
        for selection in (slice(None), slice(3, 5), 4, [0, 5]):
            with pytest.raises(zarrkit.CorruptDataError, match="is not stored") as caught:
                again[selection]
            assert caught.value.path == "/a" and caught.value.chunk == ((0,) if sharded else (2,))
            assert caught.value.key == ("a/c/0" if sharded else "a/c/2")
            assert 'missing="fill"' in str(caught.value) and "copy the array again" in str(caught.value)
            assert caught.value.hint_id == "missing_chunk"
        assert again[:4].tolist() == [1, 2, 3, 4]
        assert again[[0, 7]].tolist() == [1, 8]
        assert again[4:4].tolist() == []


def test_of_a_store_of_pythons(tmp_path):
    url = lost(tmp_path)
    files = {path.relative_to(url).as_posix(): path.read_bytes() for path in url.rglob("*") if path.is_file()}
    assert zarrkit.open(files)["a"][4] == 9
    with pytest.raises(zarrkit.CorruptDataError, match="the chunk is not stored"):
        zarrkit.open(files, missing="error")["a"][4]


def test_copies_and_checksums(tmp_path):
    url = lost(tmp_path)
    zarrkit.copy(url, tmp_path / "fill.zarr")
    assert zarrkit.checksum(url) == zarrkit.checksum(tmp_path / "fill.zarr")
    opened = zarrkit.open(url, missing="error")
    for source, keywords in ((url, {"missing": "error"}), (opened, {})):
        for n, way in enumerate(({}, {"codecs": "gzip:1"}, {"chunks": 4})):
            target = tmp_path / f"{type(source).__name__}{n}.zarr"
            with pytest.raises(zarrkit.CorruptDataError, match="the chunk is not stored"):
                zarrkit.copy(source, target, **way, **keywords)
            with pytest.raises(zarrkit.NotFoundError):
                zarrkit.open(target)
        # In parts, which another process may do.
        plan = zarrkit.plan_copy(source, tmp_path / f"{type(source).__name__}-parts.zarr", parts=2, **keywords)
        plan = pickle.loads(pickle.dumps(plan))
        with pytest.raises(zarrkit.CorruptDataError, match="the chunk is not stored"):
            plan.run([0, 1])
        with pytest.raises(zarrkit.CorruptDataError, match="the chunk is not stored"):
            zarrkit.checksum(source, **keywords)
    with pytest.raises(ValueError, match="an open node has its own"):
        zarrkit.checksum(zarrkit.open(url), missing="error")
    array = zarrkit.open(url, "r+")["a"]
    array[4:6] = [5, 6]
    zarrkit.copy(url, tmp_path / "whole.zarr", missing="error")
    whole = zarrkit.open(tmp_path / "whole.zarr", missing="error")
    assert np.array_equal(whole["a"][:], np.arange(1, 9))
    assert zarrkit.checksum(whole) == zarrkit.checksum(url, missing="error")


def test_datasets_of_xarray(tmp_path):
    xr = pytest.importorskip("xarray")
    from zarrkit import XarrayEngine

    array = zarrkit.create(tmp_path / "x.zarr", "v", shape=4, chunks=2, dtype="f4", dims=["x"], fill_value=0)
    array[:2] = [1, 2]
    assert xr.open_dataset(tmp_path / "x.zarr", engine=XarrayEngine).v[3] == 0
    found = xr.open_dataset(tmp_path / "x.zarr", engine=XarrayEngine, missing="error")
    assert found.v[:2].values.tolist() == [1, 2]
    with pytest.raises(zarrkit.CorruptDataError, match="the chunk is not stored"):
        found.v.load()


@pytest.mark.parametrize("call", [zarrkit.open, zarrkit.checksum, lambda url, missing: zarrkit.copy(url, str(url) + "2", missing=missing)])
def test_other_words_are_refused(tmp_path, call):
    with pytest.raises(ValueError, match='"fill".*"error"'):
        call(lost(tmp_path), missing="raise")
