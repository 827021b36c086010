"""Debian's programs open and write Zarr data: ncdump, nccopy, NCO and CDO with netcdf-c 4.9.0, in which `zarr netcdf-plugin --exec` registers the plug-in.
The judges are zarr-python, xarray's reader of Zarr, and what the same program makes of the netCDF-4 file of the same values.

`.ci/full netcdf_programs` installs the programs and sets `ZARR_NETCDF_LIBRARY` and `ZARR_PROGRAM`. A program that is missing is named as such.
"""

import os
import re
import shutil
import subprocess
import sys

import test_programs as programs
import netCDF4
import numpy as np
import pytest
import xarray
import zarr

if not sys.platform.startswith("linux") or not programs.PROGRAM:
    pytest.skip("the programs are Linux's, and ZARR_PROGRAM runs them", allow_module_level=True)


def run(*command, fails=False):
    """Runs a program with the plug-in."""
    if not shutil.which(command[0]):
        if os.environ.get("ZARR_TEST_REQUIRED"):
            pytest.fail(f"{command[0]} is not installed")
        pytest.skip(f"{command[0]} is not installed")
    started = [programs.PROGRAM, "netcdf-plugin", "--library", programs.LIBRARY, "--exec", *map(str, command)]
    # The resource file is netCDF 4.10's.
    environment = {name: value for name, value in os.environ.items() if name not in ("NCRCENV_RC", "ZARR_NETCDF_QUIET")}
    done = subprocess.run(started, capture_output=True, text=True, env=environment, timeout=300)
    assert (done.returncode != 0) == fails, f"{command}: {done.stdout}{done.stderr}"
    return done.stdout if not fails else done.stdout + done.stderr


def url(path, words=""):
    """What a program types to create a folder. NCO takes URLs only with `nczarr` in the mode."""
    return f"file://{path}#mode=nczarr,udf0{words}"


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """Sharded Zarr data, a netCDF-4 file of the same values, and the values."""
    home = tmp_path_factory.mktemp("debian")
    rng = np.random.default_rng(programs.SEED)
    values = rng.normal(280, 10, (12, 20, 30)).astype("f4")
    frame = xarray.Dataset(
        {
            "t": (("time", "lat", "lon"), values, {"units": "K", "long_name": "temperature"}),
            "count": (("lat", "lon"), rng.integers(0, 1000, (20, 30), "i4"), {"valid_max": np.int32(1000)}),
        },
        coords={
            "time": ("time", np.arange(12) * 6.0, {"units": "hours since 2026-01-01", "calendar": "standard"}),
            "lat": ("lat", np.linspace(-90, 90, 20), {"units": "degrees_north"}),
            "lon": ("lon", np.arange(30) * 12.0, {"units": "degrees_east"}),
        },
        attrs={"title": "oceän", "Conventions": "CF-1.8"},
    )
    fills = {name: {"_FillValue": None} for name in frame.variables}
    layout = {"t": {"chunks": (2, 10, 15), "shards": (4, 20, 30), "_FillValue": np.float32(-999)}}
    frame.to_zarr(home / "data.zarr", zarr_format=3, consolidated=False, encoding=fills | layout)
    frame.to_netcdf(home / "data.nc", engine="netcdf4", encoding=fills | {"t": {"_FillValue": np.float32(-999)}}, unlimited_dims=["time"])
    return home, frame


def same(found, expected):
    for name in expected.variables:
        np.testing.assert_array_equal(found[name].values, expected[name].values, err_msg=name)
        assert found[name].dims == expected[name].dims, name


def opened(path):
    return xarray.open_dataset(path, engine="netcdf4", decode_times=False)


def zarr_of(path):
    return xarray.open_zarr(path, consolidated=False, decode_times=False)


def data_of(dump):
    """The values of each variable in what ncdump prints: plain Zarr has no order of variables."""
    return sorted(re.sub(r"\s+", " ", values).strip() for values in dump.partition("data:")[2].split(";"))


def test_ncdump_and_nccopy_read(data, tmp_path):
    home, frame = data
    document = home / "data.zarr/zarr.json"
    header = run("ncdump", "-h", "-s", document)
    assert "float t(time, lat, lon)" in header and "t:_ChunkSizes = 2, 10, 15" in header
    assert data_of(run("ncdump", document)) == data_of(run("ncdump", home / "data.nc"))
    run("nccopy", "-4", document, tmp_path / "copy.nc")
    with opened(tmp_path / "copy.nc") as copy:
        same(copy, frame)
        assert copy.attrs == frame.attrs and copy.t.attrs == frame.t.attrs


def test_nco_reads(data, tmp_path):
    home, frame = data
    document = home / "data.zarr/zarr.json"
    part, mean, difference, more = (tmp_path / f"{name}.nc" for name in ("part", "mean", "difference", "more"))
    run("ncks", "-O", "-4", "-v", "t", "-d", "time,1,9,3", "-d", "lon,24.,120.", document, part)
    with opened(part) as found:
        np.testing.assert_array_equal(found.t, frame.t[1:10:3, :, 2:11])
    run("ncwa", "-O", "-4", "-y", "max", "-a", "time", "-v", "t", document, mean)
    with opened(mean) as found:
        np.testing.assert_array_equal(found.t, frame.t.max("time"))
    run("ncdiff", "-O", "-4", document, home / "data.nc", difference)
    with opened(difference) as found:
        assert not found.t.values.any()
    run("ncap2", "-O", "-4", "-v", "-s", "double_count=count*2", document, more)
    with opened(more) as found:
        np.testing.assert_array_equal(found.double_count, 2 * frame["count"])


def test_cdo_reads(data, tmp_path):
    home, frame = data
    given = f"file://{home}/data.zarr/zarr.json#mode=netcdf-4,udf0"
    for name in ("t", "count"):
        selected = ("cdo", "-s", "infon", f"-selname,{name}")
        assert run(*selected, given) == run(*selected, home / "data.nc")
    run("cdo", "-s", "-f", "nc4", "timmax", "-selname,t", given, tmp_path / "most.nc")
    with opened(tmp_path / "most.nc") as found:
        np.testing.assert_array_equal(found.t[0], frame.t.max("time"))
    assert not run("cdo", "-s", "diffn", "-selname,t", given, "-selname,t", home / "data.nc"), "no record differs"


@pytest.mark.parametrize("format", ["nczarr-v3", "zarr-v3", "zarr-v2"])
def test_nccopy_writes(data, tmp_path, format):
    home, frame = data
    target = tmp_path / "copy.zarr"
    run("nccopy", "-d", "3", "-c", "time/3,lat/20,lon/30", home / "data.nc", url(target, f"&format={format}"))
    with zarr_of(target) as found:
        same(found, frame)
        assert found.t.attrs["units"] == "K" and found.attrs["title"] == "oceän"
    assert zarr.open_array(target / "t", mode="r").chunks == (3, 20, 30)
    document = target / ("zarr.json" if format.endswith("3") else ".zgroup")
    assert data_of(run("ncdump", document)) == data_of(run("ncdump", home / "data.nc"))


def test_nccopy_writes_shards(data, tmp_path):
    home, frame = data
    target = tmp_path / "shards.zarr"
    run("nccopy", "-c", "time/2,lat/10,lon/15", home / "data.nc", url(target, "&shard=64KiB"))
    with zarr_of(target) as found:
        same(found, frame)
    array = zarr.open_array(target / "t", mode="r")
    assert (array.chunks, array.shards) == ((2, 10, 15), (26, 20, 30))


def test_nco_writes(data, tmp_path):
    home, frame = data
    target = tmp_path / "nco.zarr"
    # Without `--no_tmp_fl` NCO writes a file beside the output, and renames it.
    run("ncks", "-O", "-4", "--no_tmp_fl", "-L", "2", home / "data.nc", url(target))
    with zarr_of(target) as found:
        same(found, frame)
    document = target / "zarr.json"
    run("ncatted", "-h", "-a", "units,t,o,c,kelvin", "-a", "note,global,c,c,changed", document)
    run("ncrename", "-h", "-v", "t,temperature", "-d", "lat,y", document)
    with zarr_of(target) as found:
        assert found.temperature.attrs["units"] == "kelvin" and found.attrs["note"] == "changed"
        assert found.temperature.dims == ("time", "y", "lon")
        np.testing.assert_array_equal(found.temperature, frame.t)


def test_nco_appends_records(data, tmp_path):
    home, frame = data
    target = tmp_path / "records.zarr"
    run("ncrcat", "-O", "-4", "--no_tmp_fl", "-d", "time,0,5", home / "data.nc", url(target))
    run("ncrcat", "-h", "--rec_apn", "--no_tmp_fl", "-d", "time,6,11", home / "data.nc", target / "zarr.json")
    with zarr_of(target) as found:
        same(found, frame)


def test_cdo_writes(data, tmp_path):
    home, frame = data
    target = tmp_path / "cdo.zarr"
    run("cdo", "-s", "-f", "nc4", "-z", "zip_2", "mulc,2", "-selname,t", home / "data.nc", url(target))
    with zarr_of(target) as found:
        np.testing.assert_array_equal(found.t, 2 * frame.t)
        np.testing.assert_array_equal(found.lat, frame.lat)
        assert found.t.attrs["units"] == "K"


def test_what_they_cannot_open_is_an_error(tmp_path):
    (tmp_path / "zarr.json").write_text('{"zarr_format": 3, "node_type": "nothing"}')
    assert "zarr" in run("ncdump", "-h", tmp_path / "zarr.json", fails=True)
    other = tmp_path / "other.json"
    other.write_text('{"type": "FeatureCollection"}')
    assert "Unknown file format" in run("ncdump", "-h", other, fails=True)
