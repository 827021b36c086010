"""Plans for several writers: regions that share no stored object."""

import pickle

import numpy as np
import pytest

import zarrkit


def test_a_plan_covers_the_array_along_the_borders_of_shards(tmp_path):
    a = zarrkit.create_array(tmp_path / "a.zarr", "/a", shape=(100, 30), dtype="f4", chunks=(5, 10), shards=(20, 30))
    plan = a.write_plan(3)
    assert [r.start[0] % 20 for r in plan] == [0, 0, 0]
    covered = np.zeros(a.shape, int)
    for number, region in enumerate(plan):
        covered[region.slices] += 1
        a[region] = np.full(region.shape, number)
        assert region.nbytes == 4 * region.size == 4 * covered[region.slices].size
    assert (covered == 1).all()
    assert [a[r].max() for r in plan] == [0, 1, 2]
    assert len(a.write_plan(1000)) == 5


def test_a_region_is_a_value(tmp_path):
    a = zarrkit.create_array(tmp_path / "a.zarr", "/a", shape=(10, 4), dtype="i2", chunks=(2, 4))
    plan = a.write_plan(2, np.s_[2:8, :])
    assert [r.slices for r in plan] == [np.s_[2:4, 0:4], np.s_[4:8, 0:4]]
    assert pickle.loads(pickle.dumps(plan)) == plan
    assert len({*plan, *pickle.loads(pickle.dumps(plan))}) == 2
    assert (plan[0].shape, plan[0].nbytes, plan[0].ndim, len(plan[0])) == ((2, 4), 16, 2, 2)
    assert repr(plan[0]) == "<zarrkit.Region [2:4, 0:4]>"
    assert zarrkit.Region((2, 0), (4, 4), 2) == plan[0] != plan[1]
    with pytest.raises(ValueError, match="invalid region from"):
        zarrkit.Region((2, 5), (4, 4))
