"""xarray 2026.9 with zarr-python 3.1.6, and netcdf-c 4.10.1: they read from a copy what they read from its source.

xarray writes datasets in v2 and in v3; the program copies each into every format that xarray opens. xarray then reads source and copy:
they are identical once decoded, where missing values are NaN and times are times, and raw, where attributes and stored numbers are
seen (docs/internals/design/missing-data.md). Of the copy in `nczarr-v2` netcdf-c reads the values that xarray reads, masked where those are missing.

What a format cannot keep, the program names as `not kept` or `skipped`; each such line is expected here by dataset and target, none
is let pass.
The drafts are not asked: xarray opens them no more.
"""

import argparse
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path

import netCDF4
import numpy as np
import xarray as xr

warnings.simplefilter("ignore")

TARGETS = ("v2", "v3", "zarr-v2", "zarr-v3", "nczarr-v2", "nczarr-v3")


def one(values, attributes=None, encoding=None, dims=("x",)):
    return xr.Dataset({"v": (dims, np.asarray(values), attributes or {}, encoding or {})})


def sparse(fill, dtype, encoding=None):
    """One chunk of 25 has values; xarray stores no chunk of nothing but the fill value."""
    values = np.full((10, 10), fill, dtype)
    values[2:4, 4:6] = 7
    return one(values, None, {"chunks": (2, 2), **(encoding or {})}, ("y", "x"))


def with_holes(fill, dtype, encoding=None):
    """All but four chunks of 25 have values."""
    values = np.arange(1, 101).reshape(10, 10).astype(dtype)
    values[0:4, 0:4] = fill
    return one(values, None, {"chunks": (2, 2), **(encoding or {})}, ("y", "x"))


def records():
    """As xarray's users have them: coordinates, bounds, a grid mapping, groups of variables that mix all types."""
    time = np.datetime64("2000-01-01", "ns") + np.arange(3) * np.timedelta64(1, "D")
    return xr.Dataset(
        {
            "temp": (("time", "y"), np.array([[1.5, np.nan], [0, 2], [3, 4]], "f4"), {"units": "K", "grid_mapping": "crs"}),
            "rain": (("time", "y"), np.array([[0, 1.5], [np.nan, 0], [0, 3]]), {}, {"dtype": "i2", "scale_factor": 0.5, "_FillValue": -32768}),
            "count": (("time",), np.array([0, 1, 0], "u2")),
            "flag": (("y",), np.array([True, False])),
            "crs": ((), np.int32(0), {"grid_mapping_name": "latitude_longitude"}),
        },
        {"time": time, "y": [0.0, 1.0]},
        {"title": "records", "level": 7},
    )


def datasets():
    """Name and dataset; a fresh one each time, since xarray changes encodings as it writes."""
    f8 = np.array([1.5, np.nan, 0, -2])
    return {
        "integers with zeros": one(np.array([0, 1, -2, 0], "i4")),
        "nothing but zeros": one(np.zeros(4, "i8")),
        "unsigned": one(np.array([0, 255, 7], "u1")),
        "integers with a missing value": one(np.array([0, -99, 5], "i4"), {"_FillValue": np.int32(-99)}),
        "scaled integers": one(f8, None, {"dtype": "i2", "scale_factor": 0.5, "add_offset": 1.0, "_FillValue": -999}),
        "scaled unsigned": one(np.array([0.0, 1.0, np.nan]), None, {"dtype": "u1", "scale_factor": 0.5, "_FillValue": 255}),
        "floats with NaN": one(f8.astype("f4")),
        "doubles with NaN": one(f8),
        "half floats": one(f8.astype("f2")),
        "floats with another fill": one(f8.astype("f4"), None, {"_FillValue": -999.9}),
        "doubles with another fill": one(f8, None, {"_FillValue": 1e20}),
        "floats without a fill": one(np.array([1.5, 0, -2], "f4"), None, {"_FillValue": None}),
        "bools": one(np.array([True, False, False])),
        "times from 0": one(np.array(["2000-01-01", "2000-01-02"], "M8[ns]")),
        "times with NaT": one(np.array(["2000-01-01", "NaT"], "M8[ns]")),
        "durations": one(np.array([0, 3600], "m8[s]").astype("m8[ns]"), None, {"units": "seconds", "dtype": "i4"}),
        "texts": one(np.array(["", "north", "süd"], object)),
        "fixed texts": one(np.array(["", "ab", "é"])),
        "fixed bytes": one(np.array([b"", b"ab", b"\xff\xfe", b"a\0b"], "S5")),
        "texts with a missing value": one(np.array(["", "miß", "b"], object), None, {"_FillValue": "miß"}),
        "odd names": xr.Dataset({name: (("x",), np.arange(3.0)) for name in (".hidden", "-x", "e\u0301", "x:y")}, attrs={"CLASS": "x", "_Netcdf4Dimid": 1}),
        "complex": one(np.array([0, 1 + 2j])),
        "complex with a missing value": one(np.array([0, 1 + 2j, complex(np.nan, np.nan)]), None, {"_FillValue": np.complex128(-1 + 2j)}),
        "complex with NaN": one(np.array([0, complex(np.nan, np.nan)], "c8"), None, {"_FillValue": np.complex64(complex(np.nan, np.nan))}),
        "complex with zeros missing": one(np.array([0, 1 + 2j]), None, {"_FillValue": np.complex128(0)}),
        "scalars": xr.Dataset({"crs": ((), np.int32(0), {"grid_mapping_name": "latitude_longitude"}), "height": ((), 2.5), "zero": ((), 0.0)}),
        "sparse floats": sparse(np.nan, "f4"),
        "sparse integers": sparse(0, "i4"),
        "sparse with a missing value": sparse(0, "i4", {"_FillValue": -1}),
        "holes in integers": with_holes(0, "i2"),
        "holes and a missing value": with_holes(0, "i2", {"_FillValue": 100}),
        "a dataset": records(),
    }


NETCDF = TARGETS[2:]


def expected_losses(name, source, target):
    """What the program is to name, each by a part of its line."""
    if name == "half floats" and target.startswith("nczarr"):
        return ["skipped: /v: data type `float16`"]
    if name == "odd names" and target.startswith("nczarr"):
        return ["skipped: /-x: ", "skipped: /.hidden: ", "its name becomes `é`", "attribute `CLASS`", "attribute `_Netcdf4Dimid`"]
    if name == "texts with a missing value" and (target == "v3" or target in NETCDF) and target not in ("v2", "zarr-v2"):
        return ['the missing value "miß"']
    if target == "nczarr-v2" and name in ("bools", "a dataset"):
        return ["bools become ubytes"]
    if target == "nczarr-v2" and name.startswith("complex"):
        return ["skipped: /v: netcdf-c has no complex numbers"]
    if target == "nczarr-v2" and name == "fixed bytes":
        return ["bytes that are not UTF-8 stay"]
    # 24 of 25 chunks would have to be written, for their value not to become the missing one.
    if name == "sparse with a missing value" and source == 3 and target == "v2":
        return ["the missing value -1"]
    return []


def copied(program, source, copy, target):
    options = ["--skip-unsupported"] if target.startswith("nczarr") else []
    done = subprocess.run([program, "copy", str(source), str(copy), "--to", target, *options], capture_output=True, text=True)
    assert done.returncode == 0, f"exit {done.returncode}: {done.stderr.strip()}"
    return [line for line in done.stderr.splitlines() if line.startswith(("not kept: ", "skipped: "))]


def opened(path, **options):
    return xr.open_zarr(path, chunks=None, consolidated=None if (path / ".zmetadata").exists() else False, **options).load()


def as_netcdf(dataset, target):
    """What netCDF makes of a dataset: ubytes of bools; and what it adds or takes, put apart."""
    dataset = dataset.copy()
    for name, variable in dataset.variables.items():
        # xarray hides these only in v2.
        variable.attrs = {key: value for key, value in variable.attrs.items() if not key.startswith("_nc")}
        if variable.dtype == bool and target == "nczarr-v2":
            dataset[name] = variable.astype("u1")
    dataset.attrs = {key: value for key, value in dataset.attrs.items() if not key.lower().startswith("_nc")}
    # netcdf-c gives a scalar of v2 an axis.
    return dataset.squeeze("_scalar_") if "_scalar_" in dataset.dims else dataset


def texts(variable):
    """Texts by themselves: those of v2 in NCZarr have one width and are bytes of UTF-8."""
    decoded = lambda value: value.decode(errors="surrogateescape") if isinstance(value, bytes) else str(value)
    return [decoded(value) for value in variable.values.ravel().tolist()]


def compare(source, copy, raw, target):
    options = {"mask_and_scale": False, "decode_times": False} if raw else {}
    theirs, ours = opened(source, **options), opened(copy, **options)
    what = "raw" if raw else "decoded"
    if target in NETCDF:
        theirs, ours = as_netcdf(theirs, target), as_netcdf(ours, target)
        # NCZarr of v2 has one type of strings; elsewhere they keep their own.
        kinds = "OUST" if target == "nczarr-v2" else ""
        for name in [name for name, variable in theirs.variables.items() if variable.dtype.kind in kinds]:
            assert texts(theirs[name]) == texts(ours[name]), f"{what} {name}: {texts(ours[name])}"
            theirs, ours = theirs.drop_vars(name), ours.drop_vars(name)
    if not theirs.identical(ours):
        try:
            xr.testing.assert_identical(theirs, ours)
        except AssertionError as error:
            raise AssertionError(f"{what}: {' '.join(str(error).split())[:400]}") from None
    for name in theirs.variables:
        assert theirs[name].dtype == ours[name].dtype, f"{what} {name}: {theirs[name].dtype}, {ours[name].dtype}"


def netcdf_reads(source, copy):
    """The same values, and missing where they are missing."""
    theirs = opened(source, mask_and_scale=False, decode_times=False)
    masked = opened(source, decode_times=False)
    with netCDF4.Dataset(f"file://{copy}#mode=nczarr,file") as found:
        found.set_always_mask(True)
        for name, expected in theirs.variables.items():
            variable = found.variables[name]
            variable.set_auto_scale(False)
            values = np.ma.asarray(variable[...])
            if expected.dtype.kind in "OUT":
                assert values.tolist() == expected.values.tolist(), f"netcdf-c {name}: {values}"
                continue
            due = np.zeros(expected.shape, bool) if masked[name].dtype == bool else masked[name].isnull().values
            got = np.ma.getmaskarray(values)
            # netCDF4 takes NaN for a number where it is not the fill value.
            if expected.dtype.kind == "f":
                got = got | np.isnan(values.filled(np.nan))
            np.testing.assert_array_equal(got, due, f"netcdf-c {name}: what is missing")
            kept = ~due
            np.testing.assert_array_equal(values.data[kept], expected.values.astype(values.dtype)[kept], f"netcdf-c {name}")


def case(program, name, dataset, source_format, targets, folder):
    """All copies of one dataset; a line for each that is wrong."""
    source = folder / "source"
    dataset.to_zarr(source, zarr_format=source_format, consolidated=source_format == 2)
    wrong = []
    for target in targets:
        try:
            copy = folder / target
            lost = copied(program, source, copy, target)
            due = expected_losses(name, source_format, target)
            assert len(lost) == len(due) and all(any(part in line for line in lost) for part in due), f"said {lost}"
            # xarray opens the dataset all the same, and sees the attribute.
            is_text = name == "texts with a missing value" and target == "nczarr-v2"
            if due and not is_text and not any(part in due[0] for part in ("bools", "UTF-8")):
                continue
            for raw in (True,) if is_text else (False, True):
                compare(source, copy, raw, target)
            if target == "nczarr-v2" and name != "fixed bytes":
                netcdf_reads(source, copy)
        except Exception as error:
            wrong.append(f"{name}, v{source_format} to {target}: {type(error).__name__}: {' '.join(str(error).split())[:500]}")
    return wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("program", help="the program `zarr` to be tested")
    parser.add_argument("--targets", default=",".join(TARGETS), help="formats to copy into")
    parser.add_argument("--only", default="", help="a part of the names of datasets")
    arguments = parser.parse_args()
    program = str(Path(arguments.program).resolve())
    targets = arguments.targets.split(",")
    wrong, cases = [], 0
    with tempfile.TemporaryDirectory() as scratch:
        for source_format in (2, 3):
            for number, (name, dataset) in enumerate(datasets().items()):
                # xarray writes no such dataset in v3.
                if arguments.only in name and (source_format == 2 or name != "texts with a missing value"):
                    folder = Path(scratch, f"{source_format}-{number}")
                    folder.mkdir()
                    cases += len(targets)
                    wrong += case(program, name, dataset, source_format, targets, folder)
    for line in wrong:
        print(line)
    print(f"xarray {xr.__version__}: {cases - len(wrong)} copies mean the same, {len(wrong)} do not")
    sys.exit(1 if wrong else 0)


main()
