"""netCDF4-python and xarray open Zarr data through the plug-in, with netcdf-c 4.10.1 of PyPI's wheel. The judge of values is what
zarr-python wrote, and the expected values of specs-conformance/families; of netCDF's model the netCDF-4 file that ncgen makes of
the same CDL.

`ZARR_NETCDF_LIBRARY` is the shared library, `ZARR_PROGRAM` the program `zarr`; the step `netcdf` of `.ci/run` sets both.
"""

import hashlib
import json
import multiprocessing
import os
import random
import resource
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

TOP = Path(__file__).resolve().parents[3]
FAMILIES = TOP / "specs-conformance/families"
LIBRARY, PROGRAM = (os.environ.get(name) for name in ("ZARR_NETCDF_LIBRARY", "ZARR_PROGRAM"))

if not LIBRARY:
    pytest.skip("ZARR_NETCDF_LIBRARY does not name the shared library", allow_module_level=True)

# netcdf-c reads this when it is loaded: the documents in one slot, archives in another.
RC = Path(tempfile.mkdtemp(prefix="zarr-netcdf-")) / "ncrc"
RC.write_text("".join(
    f"NETCDF.UDF{slot}.LIBRARY={LIBRARY}\nNETCDF.UDF{slot}.INIT=zarr_netcdf_udf{slot}\nNETCDF.UDF{slot}.MAGIC={magic}\n"
    for slot, magic in ((1, "{"), (2, "PK"))
))
os.environ["NCRCENV_RC"] = str(RC)
os.environ["ZARR_NETCDF_QUIET"] = "1"

import netCDF4  # noqa: E402
import numpy as np  # noqa: E402
import xarray  # noqa: E402
import zarr  # noqa: E402

SEED = int(os.environ.get("ZARR_NETCDF_SEED", "7"))
SELECTIONS = int(os.environ.get("ZARR_NETCDF_SELECTIONS", "300"))
OPENS = int(os.environ.get("ZARR_NETCDF_OPENS", "300"))


def opened(path):
    """The dataset at a path, with its values as they are stored."""
    dataset = netCDF4.Dataset(path)
    dataset.set_auto_maskandscale(False)
    return dataset


@pytest.fixture(scope="module")
def ocean(tmp_path_factory):
    """A sharded hierarchy of final v3 that xarray wrote, the same in v2 and zipped, and what is in it."""
    home = tmp_path_factory.mktemp("ocean")
    rng = np.random.default_rng(SEED)
    data = rng.normal(280, 10, (6, 40, 30)).astype("f4")
    data[0, :3, :3] = np.nan
    frame = xarray.Dataset(
        {
            "t": (("time", "y", "x"), data, {"units": "K", "valid_range": np.array([100.0, 400.0], "f4")}),
            "image": (("y", "x"), rng.integers(0, 256, (40, 30), "u1")),
            "flag": (("y",), rng.integers(0, 2, 40).astype(bool)),
            "z": (("x",), (rng.normal(size=30) + 1j * rng.normal(size=30)).astype("c16")),
            "station": (("x",), np.array([f"station {n} Ä" for n in range(30)], dtype=object)),
        },
        coords={"time": np.datetime64("2026-01-01", "ns") + np.arange(6) * np.timedelta64(6, "h"), "y": np.arange(40) * 0.5},
        attrs={"title": "oceän", "levels": [1, 2, 3], "history": "made by a test"},
    )
    encoding = {"t": {"chunks": (2, 10, 10), "shards": (4, 20, 30)}}
    # xarray stores bools as bytes; zarr-python does not.
    numbers = frame.drop_vars("flag")
    numbers.to_zarr(home / "v3.zarr", zarr_format=3, consolidated=False, encoding=encoding)
    numbers.to_zarr(home / "v3.zarr", group="deep/below", mode="a", zarr_format=3, consolidated=False)
    zarr.open_group(home / "v3.zarr").create_array("flag", data=frame.flag.values, dimension_names=["y"])
    numbers.drop_vars(["z", "station"]).to_zarr(home / "v2.zarr", zarr_format=2, consolidated=True)
    with zipfile.ZipFile(home / "v3.zip", "w") as archive:
        for path in sorted((home / "v3.zarr").rglob("*")):
            if path.is_file():
                archive.write(path, path.relative_to(home / "v3.zarr"))
    (home / "link").write_text(json.dumps({"zarr_link": "v3.zarr"}))
    return home, frame


def places(home):
    return [home / "v3.zarr/zarr.json", home / "v2.zarr/.zgroup", home / "v2.zarr/.zmetadata", home / "v3.zip", home / "link"]


def test_what_zarr_python_wrote_is_read(ocean):
    home, frame = ocean
    for place in [*map(str, places(home)), f"file://{home}/v3.zarr/zarr.json#mode=netcdf-4,udf1"]:
        with opened(place) as dataset:
            assert dataset.data_model == "NETCDF4" and dataset.title == "oceän"
            sizes = {name: len(dimension) for name, dimension in dataset.dimensions.items() if not name.startswith("_pfnc")}
            assert sizes == dict(frame.sizes), place
            np.testing.assert_array_equal(dataset["t"][:], frame.t.values)
            np.testing.assert_array_equal(dataset["image"][:], frame.image.values)
            assert dataset["t"].units == "K" and list(dataset.levels) == [1, 2, 3]
            if "v2" in place:
                continue
            assert dataset["t"].chunking() == [2, 10, 10]
            assert dataset["t"].filters()["zlib"] is False
            assert list(dataset["station"][:]) == list(frame.station.values)
            assert dataset["flag"].dtype == "u1"
            np.testing.assert_array_equal(dataset["flag"][:], frame.flag.values)
            z = dataset["z"]
            assert z.dimensions == ("x", "_pfnc_complex")
            np.testing.assert_array_equal(z[:, 0] + 1j * z[:, 1], frame.z.values)
            np.testing.assert_array_equal(dataset["deep/below/t"][1, ::7, 3], frame.t.values[1, ::7, 3])


def test_complex_numbers_are_those_of_nc_complex(tmp_path):
    # Without groups: nc-complex 0.3 overruns its memory for those, whatever the format (`pfnc_get_complex_dim`).
    values = np.arange(30) * (1 - 2j)
    xarray.Dataset({"z": (("x",), values)}).to_zarr(tmp_path / "z.zarr", zarr_format=3, consolidated=False)
    with netCDF4.Dataset(tmp_path / "z.zarr/zarr.json", auto_complex=True) as dataset:
        np.testing.assert_array_equal(dataset["z"][3:20:2], values[3:20:2])


def test_pixels_are_not_masked(ocean):
    """255 is a value of an image in Zarr, and netCDF's default fill value of bytes."""
    home, frame = ocean
    with netCDF4.Dataset(home / "v3.zarr/zarr.json") as dataset:
        image = dataset["image"][:]
        assert not np.ma.is_masked(image)
        np.testing.assert_array_equal(image, frame.image.values)


def test_xarray_opens_it(ocean):
    home, frame = ocean
    with xarray.open_dataset(home / "v3.zarr/zarr.json", engine="netcdf4") as found:
        for name in ("t", "image", "flag", "station", "time", "y"):
            xarray.testing.assert_equal(found[name], frame[name])
        assert found.attrs["title"] == "oceän"
    with xarray.open_dataset(home / "v3.zip", engine="netcdf4", group="deep/below", chunks={"time": 2}) as found:
        np.testing.assert_allclose(found.t.mean("time").compute(), found.t.load().mean("time"), rtol=1e-6)
        xarray.testing.assert_equal(found.t.compute(), frame.t)
    tree = xarray.open_datatree(home / "v3.zarr/zarr.json", engine="netcdf4")
    xarray.testing.assert_equal(tree["deep/below/t"], frame.t)
    tree.close()


def test_many_files_open_as_one(tmp_path):
    parts = []
    for n in range(3):
        part = xarray.Dataset({"a": (("time", "x"), np.full((2, 5), n, "i4"))}, coords={"time": [2 * n, 2 * n + 1]})
        part.to_zarr(tmp_path / f"{n}.zarr", zarr_format=3, consolidated=False)
        parts.append(str(tmp_path / f"{n}.zarr/zarr.json"))
    with xarray.open_mfdataset(parts, engine="netcdf4") as found:
        np.testing.assert_array_equal(found.a.values[:, 0], [0, 0, 1, 1, 2, 2])


def test_copies_to_netcdf_are_equal(ocean, tmp_path):
    home, frame = ocean
    with xarray.open_dataset(home / "v3.zarr/zarr.json", engine="netcdf4") as found:
        found.to_netcdf(tmp_path / "copy.nc", engine="netcdf4")
    with xarray.open_dataset(tmp_path / "copy.nc", engine="netcdf4") as copy:
        for name in ("t", "image", "flag", "station"):
            xarray.testing.assert_equal(copy[name], frame[name])


def random_key(rng, length):
    choice = rng.randrange(4)
    if choice == 0:
        return rng.randrange(-length, length)
    if choice == 1:
        first, last = sorted(rng.randrange(length + 1) for _ in range(2))
        return slice(first, last, rng.randrange(1, 5))
    if choice == 2:
        first, last = sorted((rng.randrange(length) for _ in range(2)), reverse=True)
        return slice(first, last, -rng.randrange(1, 4))
    return sorted(rng.sample(range(length), rng.randrange(1, length)))


def test_random_selections_equal_numpy(ocean):
    home, frame = ocean
    rng, values = random.Random(SEED), frame.t.values
    with opened(home / "v3.zarr/zarr.json") as dataset:
        variable = dataset["t"]
        for _ in range(SELECTIONS):
            keys = [random_key(rng, length) for length in values.shape]
            expected = values
            for axis in range(2, -1, -1):
                expected = expected[(slice(None),) * axis + (keys[axis],)]
            np.testing.assert_array_equal(variable[tuple(keys)], expected, err_msg=str(keys))


def test_threads_and_dask(ocean):
    home, frame = ocean
    path, values = home / "v3.zarr/zarr.json", frame.t.values
    with opened(path) as shared, ThreadPoolExecutor(8) as pool:

        def read(n):
            np.testing.assert_array_equal(shared["t"][n % 6], values[n % 6])
            return True

        # Variables are looked up in Python before the threads begin; netcdf-c's own list of files has no lock.
        assert all(pool.map(read, range(200)))
    with xarray.open_dataset(path, engine="netcdf4", chunks={"time": 1, "y": 10}) as found:
        np.testing.assert_array_equal(found.t.data.compute(scheduler="threads"), values)


def child(path, queue):
    with opened(path) as dataset:
        queue.put(float(dataset["t"][3, 3, 3]))


def test_a_forked_child_reads(ocean):
    home, frame = ocean
    path = home / "v3.zarr/zarr.json"
    context = multiprocessing.get_context("fork")
    with opened(path) as dataset:
        np.testing.assert_array_equal(dataset["t"][:], frame.t.values)
        queue = context.SimpleQueue()
        process = context.Process(target=child, args=(path, queue))
        process.start()
        process.join(60)
        assert process.exitcode == 0 and queue.get() == float(frame.t.values[3, 3, 3])
        np.testing.assert_array_equal(dataset["t"][2], frame.t.values[2])


def test_opens_leave_nothing(ocean):
    home, _ = ocean

    def open_some(count):
        for _ in range(count):
            with opened(home / "v3.zarr/zarr.json") as dataset:
                dataset["t"][0]
                dataset["station"][:]
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

    before = open_some(50)
    assert open_some(OPENS) - before < 20_000, "memory grew, KiB"


def test_errors_reach_python(ocean, tmp_path):
    home, _ = ocean
    (tmp_path / "other.json").write_text('{"type": "FeatureCollection"}')
    for path, mode, error in [
        (tmp_path / "other.json", "r", "NetCDF: Unknown file format"),
        (tmp_path / "nothing.zarr/zarr.json", "r", "No such file"),
    ]:
        with pytest.raises(OSError, match=error):
            netCDF4.Dataset(path, mode)
    broken = tmp_path / "broken.zarr"
    shutil.copytree(home / "v3.zarr", broken)
    chunk = sorted((broken / "image/c").rglob("*"))[-1]
    chunk.write_bytes(b"\x28\xb5\x2f\xfd" + bytes(20))
    with opened(broken / "zarr.json") as dataset, pytest.raises(RuntimeError):
        dataset["image"][:]


# What a family's numbers are to NumPy; others are hidden, or texts.
NUMBERS = {f"{kind}{size}" for kind, sizes in (("i", "1248"), ("u", "1248"), ("f", "48")) for size in sizes}


def cases():
    for archive in sorted(FAMILIES.glob("*.tar.gz")):
        name = archive.name.removesuffix(".tar.gz")
        if name != "malformed":
            yield pytest.param(archive, id=name)


def document_of(store):
    names = ("zarr.json", ".zgroup", ".zarray", ".zmetadata")
    return store if store.is_file() else next((store / name for name in names if (store / name).exists()), None)


@pytest.mark.parametrize("archive", list(cases()))
def test_families_have_the_expected_values(archive, tmp_path):
    """Arrays of numbers of every writer, dialect and codec."""
    with tarfile.open(archive) as files:
        files.extractall(tmp_path, filter="data")
    expected = json.loads(Path(str(archive).replace(".tar.gz", ".expected.json")).read_text())
    equal = hidden = 0
    for case in expected["cases"]:
        document = document_of(tmp_path / case["store_path"])
        if document is None or case.get("must_fail"):
            continue
        try:
            dataset = opened(document)
        except OSError:
            # What cannot be opened as one, such as an LMDB file, whose first bytes are no magic of the two.
            hidden += 1
            continue
        with dataset:
            for node in case["nodes"]:
                # Records are hidden.
                name = node.get("numpy") or ""
                if not node.get("sha256") or not name or name.startswith("["):
                    continue
                kind = np.dtype(name)
                if kind.kind + str(kind.itemsize) not in NUMBERS:
                    continue
                path = node["path"].strip("/")
                try:
                    variable = dataset[path] if path else next(iter(dataset.variables.values()))
                except (IndexError, StopIteration):
                    hidden += 1
                    continue
                values = np.asarray(variable[...])
                assert list(values.shape) == node["shape"], (case["id"], path)
                stored = np.ascontiguousarray(values.astype(kind.newbyteorder("<"), copy=False)).tobytes()
                assert hashlib.sha256(stored).hexdigest() == node["sha256"], (case["id"], path)
                equal += 1
    print(f"{archive.name}: {equal} arrays equal, {hidden} not shown")
    assert equal > hidden or equal == hidden == 0


def twins(text, folder):
    """The netCDF-4 file that ncgen makes of a CDL text, and the documents of the datasets that the program makes of it."""
    made = folder / "twin.nc"
    # ncgen 4.9.0 fails on some texts that are in the corpus because of that.
    if subprocess.run(["ncgen", "-4", "-o", made, text], capture_output=True).returncode:
        return None
    found = []
    for options, document in ((["--format", "nczarr-v2"], ".zgroup"), (["--format", "nczarr-v3"], "zarr.json")):
        target = folder / f"{options[1]}.zarr"
        subprocess.run([PROGRAM, "gen", text, "-o", target, *options], check=True, capture_output=True)
        found.append(target / document)
    return made, found


def compare_attributes(found, expected, place):
    assert found.ncattrs() == expected.ncattrs(), place
    for name in expected.ncattrs():
        ours, theirs = found.getncattr(name), expected.getncattr(name)
        if isinstance(theirs, str) and theirs.lstrip()[:1] in ("{", "["):
            # JSON in text is stored as JSON, and may have other spaces.
            ours, theirs = json.loads(ours), json.loads(theirs)
        assert type(ours) is type(theirs) and np.asarray(ours).dtype == np.asarray(theirs).dtype, (place, name)
        np.testing.assert_array_equal(ours, theirs, err_msg=f"{place} {name}")


def values(variable, key):
    """What is selected of a variable, or the error: netCDF4-python takes the wrong one of two dimensions of the same name."""
    try:
        return variable[key]
    except RuntimeError as error:
        return str(error)


def compare_groups(found, expected, place):
    assert list(found.groups) == list(expected.groups) and list(found.variables) == list(expected.variables), place
    lengths = lambda group: {name: (len(it), it.isunlimited()) for name, it in group.dimensions.items()}  # noqa: E731
    assert lengths(found) == lengths(expected), place
    compare_attributes(found, expected, place)
    count = 0
    for name, theirs in expected.variables.items():
        ours = found.variables[name]
        assert (ours.dtype, ours.dimensions) == (theirs.dtype, theirs.dimensions), (place, name)
        compare_attributes(ours, theirs, f"{place} {name}")
        for key in (..., *([(slice(None, None, -2),) * ours.ndim] if ours.ndim else [])):
            np.testing.assert_array_equal(values(ours, key), values(theirs, key), err_msg=f"{place} {name}")
        count += 1
    for name in expected.groups:
        count += compare_groups(found.groups[name], expected.groups[name], f"{place} {name}")
    return count


def test_cdl_equals_its_netcdf_twin(tmp_path):
    if not (PROGRAM and shutil.which("ncgen")):
        pytest.skip("ZARR_PROGRAM or Debian's ncgen is missing: the CDL corpus is not compared")
    texts = sorted((TOP / "specs-conformance/cdl").glob("*.cdl"))
    # One text in three, another third for each seed.
    texts = texts if os.environ.get("ZARR_TEST_ALL") else texts[SEED % 3 :: 3]
    variables = left_out = 0
    for text in texts:
        folder = tmp_path / text.stem
        folder.mkdir()
        made = twins(text, folder)
        if made is None:
            left_out += 1
            continue
        twin, documents = made
        with opened(twin) as expected:
            for document in documents:
                with opened(document) as found:
                    variables += compare_groups(found, expected, f"{document}")
    print(f"{len(texts) - left_out} texts, {variables} variables equal; {left_out} texts that ncgen refuses")
    assert variables and left_out < len(texts) // 4


REGISTERED = """
import importlib.util, sys
spec = importlib.util.spec_from_file_location("netcdf", sys.argv[1])
module = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)
module.register(sys.argv[2])
module.register(sys.argv[2])
import netCDF4
for path in sys.argv[3:]:
    print(float(netCDF4.Dataset(path)["t"][3, 3, 3]))
"""


def test_a_program_registers_it_itself(ocean):
    """As programs do whose netcdf-c is older than 4.10."""
    home, frame = ocean
    module = TOP / "crates/zarr-python/python/zarrkit/netcdf.py"
    environment = {name: value for name, value in os.environ.items() if name != "NCRCENV_RC"} | {"HOME": str(home)}
    command = [sys.executable, "-c", REGISTERED, module, LIBRARY, home / "v3.zarr/zarr.json", home / "v3.zip"]
    printed = subprocess.run(command, capture_output=True, text=True, env=environment)
    assert printed.stdout.split() == 2 * [str(float(frame.t.values[3, 3, 3]))], printed.stderr
