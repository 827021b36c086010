"""NumPy 2.4, xarray 2026.9 and cftime 1.6: `zarr stats` finds what they find in arrays of every kind.

Counts, least and greatest elements, percentiles and histograms are equal in f64; mean and standard deviation within 1e-12 of sums that
`math.fsum` adds exactly. Where xarray decodes to 32 bits, it is asked for 64.
"""

import argparse
import json
import math
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path

import cftime
import numpy as np
import xarray as xr
import zarr

warnings.simplefilter("ignore")
RANDOM = np.random.default_rng(17)
PERCENT = [0, 2, 12.5, 50, 97.7, 100]


def stats(program, path, name, *options):
    found = subprocess.run([program, "stats", str(path), "--path", name, "--json", *options], capture_output=True, text=True)
    if found.returncode:
        raise AssertionError(f"{name} {options}: {found.stderr}")
    return json.loads(found.stdout)


def number(value):
    return float(value) if isinstance(value, str) else value


def near(found, expected, scale, what):
    found = math.nan if found is None else number(found)
    if math.isnan(expected) or math.isinf(expected):
        same = found == expected or (math.isnan(found) and math.isnan(expected))
    else:
        same = abs(found - expected) <= 1e-12 * scale
    assert same, f"{what}: {found!r} is not {expected!r}"


def check(found, values, missing, nan, what, bins=None, histogram=None):
    """`values` are the valid elements in f64 or as integers."""
    values = np.asarray(values).ravel()
    assert found["count"] == values.size, f"{what}: count {found['count']} is not {values.size}"
    assert found["missing"] == missing, f"{what}: missing {found['missing']} is not {missing}"
    assert found["nan"] == nan, f"{what}: nan {found['nan']} is not {nan}"
    if not values.size:
        assert found["min"] is None and found["mean"] is None, what
        return
    for name, expected in (("min", values.min()), ("max", values.max())):
        assert number(found[name]) == expected.item(), f"{what}: {name} {found[name]} is not {expected!r}"
    with np.errstate(all="ignore"):
        if np.isfinite(values.astype("f8")).all():
            mean = math.fsum(values.tolist()) / values.size
            off = [(float(value) - mean) ** 2 for value in values.tolist()]
            std = math.sqrt(math.fsum(off) / values.size)
            near(found["mean"], mean, max(abs(mean), std), f"{what}: mean")
            near(found["std"], std, std, f"{what}: std")
        else:
            near(found["mean"], float(np.mean(values, dtype="f8")), 0, f"{what}: mean")
            near(found["std"], float(np.std(values, dtype="f8")), 0, f"{what}: std")
    if values.dtype.kind in "iu":
        assert found["sum"] == sum(values.tolist()), f"{what}: sum"
    if "percentiles" in found and values.dtype != np.uint64:
        wide = values.astype("f8")
        with np.errstate(all="ignore"):
            expected = np.percentile(wide, PERCENT)
        for percent, value in zip(PERCENT, expected):
            got = number(found["percentiles"][f"{percent:g}"])
            assert got == value or math.isnan(value), f"{what}: {percent} % {got!r} is not {value!r}"
    if "histogram" in found:
        counts, edges = np.histogram(values.astype("f8"), bins)
        assert found["histogram"]["counts"] == counts.tolist(), f"{what}: histogram"
        assert found["histogram"]["edges"] == edges.tolist(), f"{what}: edges"


def of_numpy(program, folder):
    """Arrays of all numbers, in v2 and v3, in chunks and shards, with NaN and infinity."""
    cases = 0
    for version in (2, 3):
        root = zarr.open_group(str(folder / f"numpy{version}"), mode="w", zarr_format=version)
        for kind in ("?", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f2", "f4", "f8"):
            dtype = np.dtype(kind)
            shape, chunks = (61, 47, 5), (16, 12, 5)
            if dtype.kind == "f":
                values = RANDOM.normal(250, 30, shape).astype(dtype)
            elif dtype.kind == "b":
                values = RANDOM.integers(0, 2, shape).astype(dtype)
            else:
                ends = np.iinfo(dtype)
                values = RANDOM.integers(ends.min, ends.max, shape, dtype=dtype, endpoint=True)
            shards = {"shards": (32, 24, 5)} if version == 3 and dtype.itemsize < 4 else {}
            name = dtype.str.strip("<|?")
            array = root.create_array(name, shape=shape, chunks=chunks, dtype=dtype, **shards)
            array[:] = values
            options = ["--percentile", ",".join(map(str, PERCENT)), "--histogram", "13"]
            if kind in ("i8", "u8"):
                options = options[:2]  # f64, in which NumPy counts, does not hold these numbers
            found = stats(program, folder / f"numpy{version}", name, *options)
            as_numbers = values.astype("u1") if dtype.kind == "b" else values
            check(found, as_numbers.astype("f8") if dtype.kind == "f" else as_numbers, 0, 0, f"{name} v{version}", 13)
            if dtype.kind == "f":
                array[3:9, ::7] = np.nan
                array[0, 1, 2], array[50, 3, 4] = np.inf, np.inf
                values = array[:].astype("f8")
                found = stats(program, folder / f"numpy{version}", name, *options[:2])
                check(found, values[~np.isnan(values)], 0, int(np.isnan(values).sum()), f"{name} v{version} with NaN")
                assert (found["pos_inf"], found["neg_inf"]) == (2, 0), name
            part = array[:][5:60:3, 40:10:-4]
            part = part.astype("f8") if dtype.kind == "f" else part.astype("u1") if dtype.kind == "b" else part
            found = stats(program, folder / f"numpy{version}", name, "--region", "5:60:3,40:10:-4,:")
            check(found, part[~np.isnan(part)] if dtype.kind == "f" else part, 0, found["nan"], f"{name} v{version} region")
            cases += 1
    return cases


def of_xarray(program, folder):
    """Packed values, missing ones, times: as xarray decodes them."""
    real = RANDOM.normal(280, 12, (40, 31))
    holes = np.where(RANDOM.random((40, 31)) < 0.1, np.nan, real)
    encodings = {
        "plain": {},
        "single": {"dtype": "f4", "_FillValue": np.float32(-9999)},
        "double": {"dtype": "f8", "_FillValue": 1e20},
        "nan": {"dtype": "f4", "_FillValue": np.float32(np.nan)},
        "short": {"dtype": "i2", "scale_factor": 0.01, "add_offset": 273.15, "_FillValue": -32768},
        "byte": {"dtype": "u1", "scale_factor": 0.5, "add_offset": 220.0, "_FillValue": 255},
        "int": {"dtype": "i4", "scale_factor": 1e-5, "_FillValue": -1},
        "falling": {"dtype": "i2", "scale_factor": -0.25, "add_offset": 300.0, "_FillValue": 30000},
        "both": {"dtype": "i2", "scale_factor": 0.1, "_FillValue": -1, "missing_value": -1},
    }
    cases = 0
    for version in (2, 3):
        path = folder / f"xarray{version}"
        data = xr.Dataset({name: (("y", "x"), holes if name != "plain" else real) for name in encodings})
        chunked = {name: {**encoding, "chunks": (9, 31)} for name, encoding in encodings.items()}
        data.to_zarr(path, mode="w", encoding=chunked, zarr_format=version, consolidated=False)
        decoded = xr.open_zarr(path, consolidated=False)
        raw = xr.open_zarr(path, consolidated=False, mask_and_scale=False)
        for name in encodings:
            attributes, stored = raw[name].attrs, raw[name].values
            missing = np.isnan(decoded[name].values)
            # xarray decodes 16 bits to f32: the same in f64.
            scale, offset = attributes.get("scale_factor", 1.0), attributes.get("add_offset", 0.0)
            values = stored[~missing].astype("f8")
            values = values * scale + offset if (scale, offset) != (1.0, 0.0) else values
            options = ["--percentile", ",".join(map(str, PERCENT)), "--histogram", "8"]
            found = stats(program, path, name, *options)
            check(found, values, int(missing.sum()), 0, f"xarray {name} v{version}", 8)
            assert found["count"] == int(decoded[name].count()), name
            rounding = 1e-6 if decoded[name].dtype == "f4" else 1e-12
            for key in ("min", "max", "mean", "std"):
                theirs = float(getattr(decoded[name].astype("f8"), key)())
                assert abs(found[key] - theirs) <= rounding * abs(theirs), f"{name} {key}: {found[key]} {theirs}"
            plain = stats(program, path, name, "--raw")
            assert plain["count"] + plain["nan"] == stored.size and plain["missing"] == 0, name
            cases += 1
    return cases


def of_limits(program, folder):
    """valid_range, several missing values, unsigned bytes: as netCDF4-python masks them."""
    root = zarr.open_group(str(folder / "limits"), mode="w", zarr_format=3)
    values = RANDOM.integers(-128, 128, (50, 20)).astype("i1")
    array = root.create_array("range", shape=values.shape, chunks=(7, 20), dtype="i1")
    array[:] = values
    array.attrs.update({"valid_range": [-100, 90], "missing_value": [5, 7], "scale_factor": 0.5})
    keep = (values >= -100) & (values <= 90) & (values != 5) & (values != 7)
    check(stats(program, folder / "limits", "range"), values[keep].astype("f8") * 0.5, int((~keep).sum()), 0, "range")
    array.attrs.put({"_Unsigned": "true", "_FillValue": -1, "valid_max": 200})
    bytes_ = values.view("u1")
    keep = bytes_ <= 200
    check(stats(program, folder / "limits", "range"), bytes_[keep], int((~keep).sum()), 0, "unsigned")
    array.attrs.put({"_Unsigned": "false"})
    check(stats(program, folder / "limits", "range"), values, 0, 0, "signed")
    sparse = root.create_array("sparse", shape=(1000, 1000), chunks=(100, 100), dtype="i4", fill_value=3)
    sparse[250:350, 250:350] = 7
    found = stats(program, folder / "limits", "sparse")
    assert found["never_written"] == 960_000, found
    check(found, sparse[:], 0, 0, "sparse")
    check(stats(program, folder / "limits", "sparse", "--missing", "fill"), np.full(10_000, 7), 990_000, 0, "fill is missing")
    check(stats(program, folder / "limits", "sparse", "--written"), sparse[200:400, 200:400], 0, 0, "written")
    return 6


def of_times(program, folder):
    """Times of NumPy and of CF."""
    times = np.array("2000-01-01", "M8[s]") + RANDOM.integers(0, 10**9, 500)
    path = folder / "times"
    values = xr.Dataset({"t": ("n", times.astype("M8[ns]"))})
    values.to_zarr(path, mode="w", encoding={"t": {"units": "seconds since 1990-01-01", "dtype": "i8"}}, zarr_format=3, consolidated=False)
    found = stats(program, path, "t")
    assert [found["min"], found["max"]] == [str(times.min()), str(times.max())], found
    return 1


def of_axes(program, folder):
    """Statistics along axes, as NumPy reduces the others."""
    path = str(folder / "axes")
    values = RANDOM.normal(5, 2, (13, 17, 19)).astype("f4")
    values[RANDOM.random(values.shape) < 0.1] = np.nan
    values[4] = np.nan
    array = zarr.create_array(path, shape=values.shape, chunks=(4, 6, 19), shards=(8, 12, 19), dtype="f4", dimension_names=["t", "y", "x"])
    array[:] = values
    wide = values.astype("f8")
    for axes, others in (("t", (1, 2)), ("y,x", (0,)), ("x", (0, 1)), ("0,2", (1,))):
        found = subprocess.run([program, "stats", path, "--axis", axes, "--json"], capture_output=True, text=True, check=True).stdout
        found = json.loads(found)
        count = np.sum(~np.isnan(wide), axis=others).ravel()
        assert found["count"] == count.tolist() and found["nan"] == np.isnan(wide).sum(axis=others).ravel().tolist(), axes
        for name, reduce in (("min", np.nanmin), ("max", np.nanmax), ("mean", np.nanmean), ("std", np.nanstd)):
            for one, other, n in zip(found[name], reduce(wide, axis=others).ravel(), count):
                assert one is None if n == 0 else abs(one - other) <= 1e-12 * abs(wide[~np.isnan(wide)]).max(), (axes, name, one, other)
    return 4


def of_calendars(program, folder):
    """Dates of all calendars, as cftime decodes them."""
    cases = 0
    for calendar in ("standard", "gregorian", "proleptic_gregorian", "julian", "noleap", "365_day", "all_leap", "366_day", "360_day"):
        for unit, most in (("days", 2_000_000), ("hours", 40_000_000), ("minutes", 10**9), ("seconds", 10**11), ("milliseconds", 10**14)):
            for origin in ("1970-01-01", "0001-01-01 00:00:00", "1582-10-15 12:30:00", "2000-02-28 06:00:00.5"):
                numbers = RANDOM.integers(-most // 4, most, 300)
                units = f"{unit} since {origin}"
                path = str(folder / f"calendar{cases}")
                array = zarr.create_array(path, shape=numbers.shape, chunks=(100,), dtype="i8")
                array[:] = numbers
                array.attrs.update({"units": units, "calendar": calendar})
                found = subprocess.run([program, "get", path, "--cf"], capture_output=True, text=True, check=True).stdout
                expected = [text(date) for date in cftime.num2date(numbers, units, calendar)]
                assert json.loads(found) == expected, next((n, a, b) for n, a, b in zip(numbers, json.loads(found), expected) if a != b)
                cases += 1
    return cases


def text(date):
    sign, year = ("-", -date.year) if date.year < 0 else ("", date.year)
    fraction = f".{date.microsecond:06}".rstrip("0") if date.microsecond else ""
    return f"{sign}{year:04}-{date.month:02}-{date.day:02}T{date.hour:02}:{date.minute:02}:{date.second:02}{fraction}"


def of_files(program, folder):
    """Statistics along axes as NumPy's files, and an estimate from some chunks, against NumPy's of the same elements."""
    root = zarr.open_group(str(folder / "files"), mode="w", zarr_format=3)
    values = RANDOM.normal(3, 2, (12, 40, 7))
    values[2, :, 3] = np.nan
    values[5, 6:9] = np.nan
    root.create_array("a", shape=values.shape, chunks=(5, 11, 7), dtype="f8")[:] = values
    command = [program, "stats", str(folder / "files"), "--path", "a", "--axis", "0,2", "--format"]
    file = folder / "along.npy"
    file.write_bytes(subprocess.run([*command, "npy"], capture_output=True, check=True).stdout)
    found = np.load(file)
    assert np.array_equal(found["nan"], np.isnan(values).sum(axis=1)) and np.array_equal(found["count"], (~np.isnan(values)).sum(axis=1))
    for name in ("min", "max", "mean", "std"):
        np.testing.assert_allclose(found[name], getattr(np, f"nan{name}")(values, axis=1), rtol=1e-12, err_msg=name)
    lines = subprocess.run([*command, "csv"], capture_output=True, check=True, text=True).stdout
    table = np.genfromtxt(lines.splitlines(), delimiter=",", skip_header=1)
    flat = found.ravel()
    for n, name in enumerate(found.dtype.names):
        assert np.array_equal(table[:, 2 + n], flat[name].astype("f8"), equal_nan=True), name
    long = RANDOM.normal(0, 1, 100_000)
    root.create_array("long", shape=long.shape, chunks=(100,), dtype="f8")[:] = long
    quick = stats(program, folder / "files", "long", "--quick=20")
    assert quick["estimated"] and quick["sampled"] == quick["count"] == 20_000
    assert abs(quick["mean"] - long.mean()) < 5 / math.sqrt(20_000), quick
    return 2


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("program")
    program = parser.parse_args().program
    with tempfile.TemporaryDirectory() as folder:
        cases = sum(run(program, Path(folder)) for run in (of_numpy, of_xarray, of_limits, of_times, of_axes, of_files, of_calendars))
    print(f"stats: {cases} arrays equal, times of every calendar among them")


if __name__ == "__main__":
    sys.exit(main())
