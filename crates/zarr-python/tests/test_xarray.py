"""`xr.open_dataset(url, engine="zarrkit")`, beside xarray's own engine."""

import json
import pathlib
import shutil
import subprocess
import sys
import warnings

import numpy as np
import pytest
import zarr

import zarrkit

xr = pytest.importorskip("xarray")

XarrayEngine = zarrkit.XarrayEngine

pytestmark = [pytest.mark.timeout(120), pytest.mark.filterwarnings("ignore")]

CHECKOUT = pathlib.Path(__file__).parents[3]


def ours(url, **options):
    return xr.open_dataset(url, engine=XarrayEngine, **options)


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
    for options in ({}, {"consolidated": consolidated}):
        found = ours(tmp_path / "a.zarr", **options)
        xr.testing.assert_identical(found, theirs)
        for name in theirs.variables:
            assert found[name].dtype == theirs[name].dtype, name
            same = ("chunks", "preferred_chunks", "shards", "_FillValue", "fill_value", "scale_factor", "dtype", "units")
            mine, own = found[name].encoding, theirs[name].encoding
            for key in same:
                assert (key in mine) == (key in own), (name, key)
                equal = mine.get(key) == own.get(key) or repr(mine.get(key)) == repr(own.get(key))
                assert equal and type(mine.get(key)) is type(own.get(key)), (name, key)
    plain = {"mask_and_scale": False, "decode_times": False, "drop_variables": ["crs", "name"]}
    xr.testing.assert_identical(
        ours(tmp_path / "a.zarr", **plain), xr.open_dataset(tmp_path / "a.zarr", engine="zarr", consolidated=consolidated, **plain)
    )


@pytest.mark.parametrize("zarr_format", [2, 3])
def test_one_element_has_the_dtype_of_its_array(tmp_path, zarr_format):
    texts = xr.Dataset({"one": ((), np.array("q", object)), "many": ("x", np.array(["a", "bé"], object))})
    texts.to_zarr(tmp_path / "a.zarr", zarr_format=zarr_format, consolidated=False)
    found, theirs = ours(tmp_path / "a.zarr"), xr.open_dataset(tmp_path / "a.zarr", engine="zarr", consolidated=False)
    for of in (lambda dataset: dataset.one, lambda dataset: dataset.many[1]):
        mine, own = of(found).load(), of(theirs).load()
        assert mine.dtype == own.dtype == theirs.many.dtype
        xr.testing.assert_identical(mine, own)


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
    lats, lons = (xr.DataArray(at, dims="point") for at in ([0, 5, 2], [17, 9, 9]))
    points = found.temperature.isel(time=rows, lat=lats, lon=lons)
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
    xr.testing.assert_identical(xr.open_datatree(path, engine=XarrayEngine), theirs)
    inner = xr.open_groups(path, engine=XarrayEngine, group="inner")
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


@pytest.mark.parametrize("zarr_format", [2, 3])
def test_an_array_without_a_name(tmp_path, zarr_format):
    """Its name is one that v3 allows no node."""
    nameless = xr.DataArray(np.arange(6.0).reshape(2, 3), dims=("y", "x"))
    nameless.to_zarr(tmp_path / "a.zarr", zarr_format=zarr_format, consolidated=False)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = xr.open_dataarray(tmp_path / "a.zarr", engine=XarrayEngine)
    xr.testing.assert_identical(found, xr.open_dataarray(tmp_path / "a.zarr", engine="zarr", consolidated=False))
    assert found.name is None


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


@pytest.fixture(scope="module")
def family(tmp_path_factory):
    """Datasets that netcdf-c 4.9.0 and 4.10.1 wrote."""
    folder = tmp_path_factory.mktemp("nczarr")
    shutil.unpack_archive(CHECKOUT / "specs-conformance/families/nczarr-v2.tar.gz", folder)
    return folder


@pytest.mark.parametrize("store", ["ncgen-nczarr-file", "ncgen-noxarray-nczarr-file"])
def test_nczarr_that_ncgen_wrote(family, store):
    """The values of the CDL that `ncgen` was given; it is in `nczarr-v2.cdl.json`."""
    tree = xr.open_datatree(family / store, engine=XarrayEngine)
    root = tree.dataset
    assert dict(root.sizes) == {"t": 1, "lat": 4, "lon": 6}
    assert root.attrs["title"] == "nczarr test" and root.attrs["version"] == 3 and list(root.attrs["dbl"]) == [1.5, -2.25]
    assert root.attrs["version"].dtype == "i4" and root.temp.attrs["valid"].dtype == "i2"
    assert list(root.lat.values) == [1, 2, 3.5, 4]
    temp = np.arange(1, 25, dtype="f4").reshape(1, 4, 6)
    temp[0, 2, :3] = np.nan
    assert root.temp.dims == ("t", "lat", "lon") and np.array_equal(root.temp.values, temp, equal_nan=True)
    assert root.temp.encoding["preferred_chunks"] == {"t": 1, "lat": 2, "lon": 3}
    assert root.temp.encoding["_FillValue"] == -999
    assert root.scalar.shape == () and root.scalar == 42 and root.scalar.attrs == {"note": "zero-d"}
    assert b"".join(root.name.values) == b"abcd"
    assert list(root.ui64.values) == [0, 1, 2, 2**64 - 1] and root.ui64.dtype == "u8"
    assert tree["g"].dataset.f.dims == ("x", "lat") and np.array_equal(tree["g/f"], np.arange(1, 13).reshape(3, 4))
    assert list(tree["g/h/deep"].values) == [7, 8, 9] and tree["g"].attrs == {"inner": "yes"}
    inner = ours(family / store, group="g/h")
    assert list(inner.deep.values) == [7, 8, 9]


def test_a_variable_that_is_left_out_is_named(family, tmp_path):
    copy = shutil.copytree(family / "ncgen-nczarr-file", tmp_path / "a.zarr")
    document = json.loads((copy / "lat/.zarray").read_text())
    (copy / "lat/.zarray").write_text(json.dumps(document | {"shape": [5]}))
    with pytest.warns(zarrkit.ZarrWarning, match="/lat is left out, since it is not a variable: .*has length 4, axis 0 of the array 5"):
        found = xr.open_dataset(copy, engine=XarrayEngine)
    assert "lat" not in found.variables and "temp" in found.variables
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        xr.open_dataset(copy, engine=XarrayEngine, drop_variables="lat")


def netcdf4_writes(url):
    import netCDF4

    with netCDF4.Dataset(url, "w") as root:
        root.title = "written by netcdf-c"
        root.numbers = np.array([1, 2, 3], "i2")
        for name, len_ in {"time": None, "x": 5, "letters": 8}.items():
            root.createDimension(name, len_)
        time = root.createVariable("time", "f8", ("time",))
        time.units, time.calendar = "hours since 2020-01-01", "standard"
        time[:] = np.arange(7) * 6
        packed = root.createVariable("packed", "i2", ("time", "x"), fill_value=-32768, chunksizes=(3, 2), zlib=True)
        packed.set_auto_maskandscale(False)
        packed.scale_factor, packed.add_offset, packed.units = 0.5, 10.0, "K"
        packed[:] = np.arange(35).reshape(7, 5)
        packed[2, 3] = -32768
        short = root.createVariable("short", "f4", ("time", "x"), chunksizes=(2, 5))
        short[:4] = np.arange(20, dtype="f4").reshape(4, 5)
        letters = root.createVariable("letters", "S1", ("x", "letters"))
        letters[:] = netCDF4.stringtochar(np.array([b"one", b"two", b"three", b"", b"12345678"], "S8"))
        texts = root.createVariable("texts", str, ("x",))
        texts[:] = np.array(["a", "\u00fc\u00df", "", "long text", "\u6f22"], dtype=object)
        root.createVariable("number", "i8", ())[...] = 2**40
        group = root.createGroup("inner")
        group.createDimension("y", 3)
        group.createVariable("v", "u1", ("y", "x"))[:] = np.arange(15).reshape(3, 5)


@pytest.mark.parametrize("version", ["v2", "v3"])
def test_nczarr_that_netcdf4_wrote_and_reads(tmp_path, version):
    pytest.importorskip("netCDF4")
    url = f"file://{tmp_path}/a.zarr#mode=nczarr,file,{version}"
    netcdf4_writes(url)
    theirs = xr.open_datatree(url, engine="netcdf4").load()
    found = xr.open_datatree(tmp_path / "a.zarr", engine=XarrayEngine)
    assert [group.path for group in found.subtree] == [group.path for group in theirs.subtree]
    for path in ("/", "/inner"):
        mine, other = found[path].dataset, theirs[path].dataset
        assert set(mine.variables) == set(other.variables)
        for name in other.variables:
            xr.testing.assert_identical(mine[name], other[name])
            assert mine[name].dtype == other[name].dtype or other[name].dtype.kind == "U", name
        assert set(mine.attrs) == set(other.attrs)
    assert found.dataset.encoding["unlimited_dims"] == {"time"}
    part = found["/short"][[6, 1, 3], 2:]
    assert np.array_equal(part.values, theirs["/short"].values[[6, 1, 3], 2:], equal_nan=True)
    assert found["/short"][3, 4] == 19 and found["/short"][5].shape == (5,)


@pytest.mark.parametrize("version", ["v2", "v3"])
@pytest.mark.parametrize("by_itself", [False, True])
def test_lengths_of_nczarr_after_appends(tmp_path, version, by_itself):
    netCDF4 = pytest.importorskip("netCDF4")
    url, path = f"file://{tmp_path}/a.zarr#mode=nczarr,file,{version}", tmp_path / "a.zarr"
    netcdf4_writes(url)

    def array(name):
        return zarrkit.open(path / name, "r+") if by_itself else zarrkit.open(path, "r+")[name]

    with pytest.raises(ValueError, match="dimension `x` has the fixed length 5"):
        array("texts").resize(6)
    with pytest.raises(ValueError, match="dimension `x` has the fixed length 5"):
        array("packed").append(np.zeros((7, 1), "i2"), axis=1)
    with pytest.warns(zarrkit.ZarrWarning, match="netCDF opens the dataset only when .* `time`"):
        array("time").append(np.array([42.0, 48.0]))
    with pytest.warns(zarrkit.ZarrWarning, match="`time`"):
        array("packed").append(np.full((2, 5), 9, "i2"))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        array("short").resize(9, 5)
    with netCDF4.Dataset(url) as root:
        assert len(root.dimensions["time"]) == 9 and len(root.dimensions["x"]) == 5
        assert list(root["time"][-3:]) == [36, 42, 48]
        root["packed"].set_auto_maskandscale(False)
        assert root["packed"][7:].tolist() == [[9] * 5] * 2
        assert root["short"][3].tolist() == [15, 16, 17, 18, 19]


def test_a_draft_of_v3(tmp_path):
    attributes = {"_ARRAY_DIMENSIONS": ["y", "x"]}
    array = zarrkit.create_array(
        tmp_path / "a.zarr", "/a", shape=(4, 6), dtype="f4", chunks=(2, 3), dialect="draft", attributes=attributes
    )
    array[...] = np.arange(24).reshape(4, 6)
    expected = np.arange(24, dtype="f4").reshape(4, 6)
    # As in v2, the fill value is the missing value.
    expected[0, 0] = np.nan
    found = ours(tmp_path / "a.zarr")
    assert found.a.dims == ("y", "x") and np.array_equal(found.a.values, expected, equal_nan=True)
    assert "_ARRAY_DIMENSIONS" not in found.a.attrs


def test_zarrkit_needs_no_xarray():
    code = "import sys; sys.modules['xarray'] = None; import zarrkit; print(zarrkit.open)"
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)
