"""Opens, reads and writes beside zarr-python."""

import numpy as np
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
