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


def test_a_copy_checks_each_chunk_of_its_source(made, tmp_path):
    url, manifest = made
    report = zarrkit.copy(url, tmp_path / "b.zarr", manifest=manifest)
    assert report.nodes == 3
    assert (zarrkit.open(tmp_path / "b.zarr")["g/t"][...] == np.arange(1200).reshape(40, 30) + 1).all()
    with pytest.raises(ValueError, match="open it with manifest="):
        zarrkit.copy(zarrkit.open(url), tmp_path / "c.zarr", manifest=manifest)
    # Swapped: both are sound by themselves.
    chunks = url / "g/t/c"
    (chunks / "1/1").write_bytes((chunks / "0/0").read_bytes())
    for options in [{}, {"recode": True}, {"chunks": (20, 30)}, {"to": "nczarr-v3"}]:
        with pytest.raises(zarrkit.ZarrError, match="manifest"):
            zarrkit.copy(url, tmp_path / "d.zarr", manifest=manifest, overwrite=True, **options)
        with pytest.raises(zarrkit.NotFoundError):
            zarrkit.open(tmp_path / "d.zarr")


def test_a_copy_that_goes_on_remembers_its_manifest(made, tmp_path):
    url, manifest = made
    place = tmp_path / "b.zarr"
    zarrkit.copy(url, place, manifest=manifest, part="1/2")
    message = pickle.dumps(zarrkit.plan_copy(url, place, parts=2, resume=True))
    manifest.rename(tmp_path / "elsewhere")
    with pytest.raises(ValueError, match="begun with a manifest.*give its present path as `manifest`"):
        zarrkit.copy(url, place, part="2/2")
    with pytest.raises(FileNotFoundError):
        pickle.loads(message)
    (tmp_path / "elsewhere").rename(manifest)
    chunk = url / "g/t/c/3/2"
    sound = chunk.read_bytes()
    chunk.write_bytes((url / "g/t/c/0/0").read_bytes())
    with pytest.raises(zarrkit.ZarrError, match="manifest"):
        pickle.loads(message).run([0, 1])
    chunk.write_bytes(sound)
    pickle.loads(message).run([0, 1])
    zarrkit.copy(url, place, finish=True)
    assert zarrkit.diff(url, place).is_equal


def test_a_store_of_python_is_checked_too(made, tmp_path):
    url, manifest = made
    store = zarr.storage.LocalStore(url, read_only=True)
    zarrkit.copy(store, tmp_path / "b.zarr", manifest=manifest)
    (url / "g/t/c/1/1").write_bytes((url / "g/t/c/0/0").read_bytes())
    with pytest.raises(zarrkit.ZarrError, match="manifest"):
        zarrkit.copy(store, tmp_path / "c.zarr", manifest=manifest)
