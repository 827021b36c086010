"""`xr.open_dataset(url, engine="zarrkit")`, beside xarray's own engine."""

import pathlib
import shutil
import subprocess
import sys

import numpy as np
import pytest
import zarr

import zarrkit

xr = pytest.importorskip("xarray")

from zarrkit._xarray import ZarrkitBackendEntrypoint  # noqa: E402

pytestmark = [pytest.mark.timeout(120), pytest.mark.filterwarnings("ignore")]

CHECKOUT = pathlib.Path(__file__).parents[3]


def ours(url, **options):
    return xr.open_dataset(url, engine=ZarrkitBackendEntrypoint, **options)


def sample():
    random = np.random.default_rng(5)
    time = np.datetime64("2026-01-01", "ns") + np.arange(20) * np.timedelta64(6, "h")
    temperature = random.normal(280, 10, (20, 12, 18)).astype("f4")
    temperature[3, 2, 1] = np.nan
    data = {
        "temperature": (("time", "lat", "lon"), temperature, {"units": "K", "valid_range": [200.0, 320.0]}),
        "packed": (("lat", "lon"), random.uniform(0, 50, (12, 18)), {}, {"dtype": "i2", "scale_factor": 0.01, "_FillValue": -9999}),
        "count": (("time",), np.arange(20, dtype="u2")),
        "flag": (("lat",), np.arange(12) % 2 == 0),
        "name": (("lat",), np.array([f"row {n}" for n in range(12)])),
        "crs": ((), np.int32(7), {"grid_mapping_name": "latitude_longitude"}),
    }
    coords = {"time": time, "lat": np.linspace(-55, 55, 12), "lon": np.arange(18) * 20.0}
    return xr.Dataset(data, coords, {"title": "a sample", "version": 3})


ENCODING = {"temperature": {"chunks": (5, 6, 9)}, "count": {"chunks": (7,)}}


@pytest.mark.parametrize("zarr_format", [2, 3])
@pytest.mark.parametrize("consolidated", [True, False])
def test_gives_what_xarrays_own_engine_gives(tmp_path, zarr_format, consolidated):
    sample().to_zarr(tmp_path / "a.zarr", zarr_format=zarr_format, consolidated=consolidated, encoding=ENCODING)
    theirs = xr.open_dataset(tmp_path / "a.zarr", engine="zarr", consolidated=consolidated)
    takes = "consolidated" in zarrkit.open.__text_signature__
    for options in ({}, {"consolidated": consolidated}) if takes else ({},):
        found = ours(tmp_path / "a.zarr", **options)
        xr.testing.assert_identical(found, theirs)
        for name in theirs.variables:
            assert found[name].dtype == theirs[name].dtype, name
            same = ("chunks", "preferred_chunks", "shards", "_FillValue", "scale_factor", "dtype", "units", "calendar", "fill_value")
            mine, own = found[name].encoding, theirs[name].encoding
            for key in same:
                assert (key in mine) == (key in own), (name, key)
                equal = mine.get(key) == own.get(key) or repr(mine.get(key)) == repr(own.get(key))
                assert equal and type(mine.get(key)) is type(own.get(key)), (name, key)
    plain = {"mask_and_scale": False, "decode_times": False, "drop_variables": ["crs", "name"]}
    xr.testing.assert_identical(
        ours(tmp_path / "a.zarr", **plain), xr.open_dataset(tmp_path / "a.zarr", engine="zarr", consolidated=consolidated, **plain)
    )


def test_only_what_is_asked_for_is_read(tmp_path):
    sample().to_zarr(tmp_path / "a.zarr", consolidated=False, encoding=ENCODING)
    found = ours(tmp_path / "a.zarr")
    for chunk in (tmp_path / "a.zarr/temperature/c").rglob("*"):
        if chunk.is_file() and chunk.parts[-3:] != ("1", "0", "1"):
            chunk.write_bytes(b"not a chunk")
    inside = found.temperature.isel(time=slice(5, 10), lat=slice(0, 6), lon=slice(9, None))
    expected = sample().temperature[5:10, 0:6, 9:]
    assert np.array_equal(inside.values, expected.values)
    rows = xr.DataArray([5, 9, 6], dims="point")
    assert np.array_equal(inside[[0, 4, 1]].values, expected[[0, 4, 1]].values)
    points = found.temperature.isel(time=rows, lat=xr.DataArray([0, 5, 2], dims="point"), lon=xr.DataArray([17, 9, 9], dims="point"))
    assert np.array_equal(points.values, sample().temperature.values[[5, 9, 6], [0, 5, 2], [17, 9, 9]])
    with pytest.raises(zarrkit.CorruptDataError):
        found.temperature[0].load()


def test_selections_of_every_kind(tmp_path):
    sample().to_zarr(tmp_path / "a.zarr", consolidated=False, encoding=ENCODING)
    found, expected = ours(tmp_path / "a.zarr").temperature, sample().temperature
    at = xr.DataArray([[0, 19], [7, 7]], dims=("p", "q"))
    for key in (
        (slice(None, None, -2), 3, [5, 1, 1, 17]),
        (-1, slice(8, 2, -1)),
        ([], slice(None), 2),
        (np.arange(20) % 3 == 0, [11, 0]),
        (at, at % 12, xr.DataArray([3, 2], dims="q")),
        (at, slice(2, 9, 3)),
        (at, slice(None, None, -1), 4),
    ):
        xr.testing.assert_equal(found[key], expected[key])
    late = found.isel(time=slice(2, 18)).isel(lat=[4, 2]).sel(lon=[40.0, 340.0])
    xr.testing.assert_equal(late, expected.isel(time=slice(2, 18)).isel(lat=[4, 2]).sel(lon=[40.0, 340.0]))


def test_dask_takes_shards_and_pickles(tmp_path):
    dask = pytest.importorskip("dask")
    import pickle

    encoding = {"temperature": {"chunks": (5, 6, 9), "shards": (10, 12, 18)}}
    sample().to_zarr(tmp_path / "a.zarr", consolidated=False, zarr_format=3, encoding=encoding)
    found = ours(tmp_path / "a.zarr", chunks={})
    assert found.temperature.data.chunks == ((10, 10), (12,), (18,))
    again = pickle.loads(pickle.dumps(found))
    with dask.config.set(scheduler="threads"):
        xr.testing.assert_identical(again.compute(), xr.open_dataset(tmp_path / "a.zarr", engine="zarr").compute())
    lazy = pickle.loads(pickle.dumps(ours(tmp_path / "a.zarr")))
    assert np.array_equal(lazy.temperature.values, sample().temperature.values, equal_nan=True)


def test_groups_and_trees(tmp_path):
    sample()[["count"]].to_zarr(tmp_path / "a.zarr", consolidated=False)
    sample()[["flag", "name"]].to_zarr(tmp_path / "a.zarr", group="inner/deep", mode="a", consolidated=False)
    path = tmp_path / "a.zarr"
    xr.testing.assert_identical(
        ours(path, group="inner/deep"), xr.open_dataset(path, engine="zarr", group="inner/deep", consolidated=False)
    )
    theirs = xr.open_datatree(path, engine="zarr", consolidated=False)
    xr.testing.assert_identical(xr.open_datatree(path, engine=ZarrkitBackendEntrypoint), theirs)
    inner = xr.open_groups(path, engine=ZarrkitBackendEntrypoint, group="inner")
    assert sorted(inner) == ["/", "/deep"]
    with pytest.raises(ValueError, match="is an array"):
        ours(path, group="count")
    with pytest.raises(FileNotFoundError):
        ours(path, group="nothing")


def test_data_that_is_not_xarrays(tmp_path):
    """Axes without names, two of one length; arrays of groups below are others' variables."""
    group = zarr.open_group(tmp_path / "a.zarr", mode="w")
    group.create_array("a", shape=(4, 4, 5), chunks=(2, 2, 5), dtype="i4")[...] = np.arange(80).reshape(4, 4, 5)
    group.create_group("g")
    found = ours(tmp_path / "a.zarr")
    assert dict(found.sizes) == {"_Anonymous_Dim_4": 4, "_Anonymous_Dim_4_1": 4, "_Anonymous_Dim_5": 5}
    assert found.a[1, 2, 3] == 33
    assert list(found.variables) == ["a"]


def test_stores_of_python_and_archives(tmp_path):
    sample().to_zarr(tmp_path / "a.zarr", consolidated=False)
    shutil.make_archive(str(tmp_path / "a"), "zip", tmp_path / "a.zarr")
    files = [file for file in (tmp_path / "a.zarr").rglob("*") if file.is_file()]
    mapping = {str(file.relative_to(tmp_path / "a.zarr")): file.read_bytes() for file in files}
    theirs = xr.open_dataset(tmp_path / "a.zarr", engine="zarr", consolidated=False).load()
    for source in (tmp_path / "a.zip", mapping, zarr.storage.LocalStore(tmp_path / "a.zarr"), zarrkit.open(tmp_path / "a.zarr")):
        xr.testing.assert_identical(ours(source), theirs)


@pytest.mark.parametrize("value", [1.5, np.nan, -np.inf])
def test_missing_values_of_v3(tmp_path, value):
    data = xr.Dataset({"a": ("x", np.array([1.5, np.nan, 3], "f4"), {}, {"_FillValue": np.float32(value)})})
    data.to_zarr(tmp_path / "a.zarr", zarr_format=3, consolidated=False)
    theirs = xr.open_dataset(tmp_path / "a.zarr", engine="zarr", consolidated=False)
    xr.testing.assert_identical(ours(tmp_path / "a.zarr"), theirs)
    assert repr(ours(tmp_path / "a.zarr").a.encoding["_FillValue"]) == repr(theirs.a.encoding["_FillValue"])
