"""Chunks that are checked against a manifest of their digests when they are read."""

import hashlib
import pickle

import numpy as np
import pytest
import zarr

import zarrkit


@pytest.fixture
def made(tmp_path):
    """A hierarchy that zarr-python wrote, and a manifest of it that was made without this library."""
    url = tmp_path / "a.zarr"
    array = zarr.create_array(url, name="g/t", shape=(40, 30), chunks=(10, 10), dtype="i4")
    array[...] = np.arange(1200).reshape(40, 30) + 1
    chunks = sorted((url / "g/t/c").glob("*/*"))
    lines = [f"{hashlib.sha256(chunk.read_bytes()).hexdigest()}  {chunk.relative_to(url)}\n" for chunk in chunks]
    manifest = tmp_path / "manifest"
    manifest.write_text("".join(lines))
    return url, manifest


def test_sound_chunks_are_read(made):
    url, manifest = made
    group = zarrkit.open(url, manifest=manifest)
    assert group["g/t"][3, 4] == 95
    assert (group["g/t"][...] == np.arange(1200).reshape(40, 30) + 1).all()


def test_swapped_stale_and_truncated_chunks_are_errors_where_they_are_read(made):
    url, manifest = made
    chunks = url / "g/t/c"
    first = (chunks / "0/0").read_bytes()
    (chunks / "1/1").write_bytes(first)
    (chunks / "2/2").write_bytes((chunks / "2/2").read_bytes()[:-1])
    array = zarrkit.open(url, manifest=manifest)["g/t"]
    assert array[0, 0] == 1
    for at in [(10, 10), (25, 25)]:
        with pytest.raises(zarrkit.ZarrError, match="manifest"):
            array[at]
    # Without the manifest nobody would know.
    assert zarrkit.open(url)["g/t"][10, 10] == 1


def test_lost_and_unknown_chunks_are_errors_at_once(made):
    url, manifest = made
    lost = url / "g/t/c/3/1"
    bytes_of_it = lost.read_bytes()
    lost.unlink()
    with pytest.raises(zarrkit.CorruptDataError, match="g/t/c/3/1.*not stored"):
        zarrkit.open(url, manifest=manifest)
    lost.write_bytes(bytes_of_it)
    # Of a node inside, the keys are others.
    with pytest.raises(zarrkit.CorruptDataError, match="not in the manifest"):
        zarrkit.open(url / "g/t", manifest=manifest)


def test_what_is_no_manifest_is_refused(made, tmp_path):
    url, manifest = made
    with pytest.raises(FileNotFoundError, match="nothing"):
        zarrkit.open(url, manifest=tmp_path / "nothing")
    wrong = tmp_path / "wrong"
    wrong.write_text("no manifest\n")
    with pytest.raises(ValueError, match="line 1"):
        zarrkit.open(url, manifest=wrong)
    with pytest.raises(ValueError, match='mode "r"'):
        zarrkit.open(url, "r+", manifest=manifest)
    with pytest.raises(TypeError, match="manifest"):
        pickle.dumps(zarrkit.open(url, manifest=manifest))
