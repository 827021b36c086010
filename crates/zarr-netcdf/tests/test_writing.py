"""netCDF4-python and xarray write Zarr data through the plug-in. The judges are zarr-python, xarray's reader of Zarr, and the
netCDF-4 file that the same calls make.
"""

import os
import resource
import shutil
import signal
import subprocess
import sys
import time
import zipfile

import test_programs as programs
import netCDF4
import numpy as np
import pytest
import xarray
import zarr

FORMATS = {"nczarr-v3": "zarr.json", "nczarr-v2": ".zgroup", "zarr-v3": "zarr.json", "zarr-v2": ".zgroup"}
KILLS = int(os.environ.get("ZARR_NETCDF_KILLS", "5"))
WRITES = int(os.environ.get("ZARR_NETCDF_WRITES", "60"))


def url(path, format="nczarr-v3"):
    """What a program types to create Zarr data in a folder or an archive."""
    return f"file://{path}#mode=netcdf-4,udf1&format={format}"


def frame():
    rng = np.random.default_rng(programs.SEED)
    data = rng.normal(280, 10, (6, 40, 30)).astype("f4")
    data[0, :3, :3] = np.nan
    return xarray.Dataset(
        {
            "t": (("time", "y", "x"), data, {"units": "K", "valid_range": np.array([100.0, 400.0], "f4")}),
            "image": (("y", "x"), rng.integers(0, 256, (40, 30), "u1")),
            "flag": (("y",), rng.integers(0, 2, 40).astype(bool)),
            "station": (("x",), np.array([f"station {n} Ä" for n in range(30)], dtype=object)),
        },
        coords={"time": np.datetime64("2026-01-01", "ns") + np.arange(6) * np.timedelta64(6, "h"), "y": np.arange(40) * 0.5},
        attrs={"title": "oceän", "levels": [1, 2, 3], "history": "made by a test"},
    )


def assert_same(found, expected):
    for name in expected.variables:
        ours, theirs = found[name].values, expected[name].values
        if isinstance(ours.flat[0], bytes):
            # NCZarr of v2 has strings of a fixed width, which are bytes to readers of Zarr.
            ours = np.array([text.decode() for text in ours.flat], object).reshape(ours.shape)
        np.testing.assert_array_equal(ours.astype(theirs.dtype), theirs, err_msg=name)
    assert found.attrs["title"] == expected.attrs["title"]


@pytest.mark.parametrize("format", FORMATS)
def test_xarray_reads_what_it_wrote(format, tmp_path):
    path, expected = tmp_path / "x.zarr", frame()
    if format.endswith("v2"):
        # Readers of v2 mask the fill value, which is netCDF's default one of bytes.
        expected["image"] = expected.image.clip(max=254)
    encoding = {"t": {"zlib": True, "complevel": 2, "chunksizes": (1, 20, 30)}}
    expected.to_netcdf(url(path, format), engine="netcdf4", unlimited_dims=["time"], encoding=encoding)
    with xarray.open_zarr(path, consolidated=False) as found:
        assert_same(found, expected)
        assert found.t.encoding["chunks"] == (1, 20, 30) and found.t.dims == ("time", "y", "x")
    document = path / FORMATS[format]
    with xarray.open_dataset(document, engine="netcdf4") as found:
        assert_same(found, expected)
        assert ("time" in found.encoding["unlimited_dims"]) == format.startswith("nczarr")
    if programs.PROGRAM:
        subprocess.run([programs.PROGRAM, "validate", path], check=True, capture_output=True)


def test_a_file_is_continued(tmp_path):
    path, expected = tmp_path / "x.zarr", frame()
    expected.to_netcdf(url(path), engine="netcdf4", unlimited_dims=["time"])
    document = path / "zarr.json"
    for step in range(6, 9):
        with netCDF4.Dataset(document, "a") as dataset:
            dataset["time"][step] = 6 * step
            dataset["t"][step] = step
    expected.to_netcdf(document, engine="netcdf4", mode="a", group="below/again")
    with netCDF4.Dataset(document, "r+") as dataset:
        dataset.note = "continued"
        dataset["t"].units = "degrees"
        extra = dataset.createVariable("extra", "i8", ("time", "x"), fill_value=-1)
        extra[7] = np.arange(30)
        assert len(dataset.dimensions["time"]) == 9
    with xarray.open_zarr(path, consolidated=False) as found:
        assert found.attrs["note"] == "continued" and found.t.attrs["units"] == "degrees"
        np.testing.assert_array_equal(found.t[:6], expected.t)
        np.testing.assert_array_equal(found.t[6:, 5, 5], [6, 7, 8])
        steps = np.datetime64("2026-01-01", "ns") + np.arange(9) * np.timedelta64(6, "h")
        np.testing.assert_array_equal(found.time, steps)
    np.testing.assert_array_equal(zarr.open_array(path / "extra", mode="r")[6:], [[-1] * 30, range(30), [-1] * 30])
    with xarray.open_zarr(path, group="below/again", consolidated=False) as found:
        assert_same(found, expected)


def test_filters_are_codecs_that_zarr_python_has(tmp_path):
    path, values = tmp_path / "f.zarr", np.arange(1000, dtype="i4").reshape(10, 100)
    with netCDF4.Dataset(url(path), "w") as dataset:
        dataset.createDimension("y", 10)
        dataset.createDimension("x", 100)
        for name in ("zlib", "zstd", "bzip2", "blosc_lz4", "blosc_zstd"):
            kept = {"compression": name, "complevel": 3, "fletcher32": name == "zlib", "chunksizes": (5, 50)}
            variable = dataset.createVariable(name, "i4", ("y", "x"), **kept)
            variable[:] = values
        with pytest.raises(RuntimeError, match="undefined filter"):
            dataset.createVariable("szip", "i4", ("y", "x"), compression="szip")
        with pytest.raises(RuntimeError, match="Invalid argument"):
            dataset.createVariable("rounded", "f4", ("x",), zlib=True, significant_digits=3)
    codecs = {
        "zlib": ["bytes", "numcodecs.shuffle", "numcodecs.zlib", "numcodecs.fletcher32"],
        "zstd": ["bytes", "zstd"], "bzip2": ["bytes", "numcodecs.bz2"],
        "blosc_lz4": ["bytes", "blosc"], "blosc_zstd": ["bytes", "blosc"],
    }
    group = zarr.open_group(path, mode="r")
    for name, expected in codecs.items():
        array = group[name]
        assert [codec["name"] for codec in array.metadata.to_dict()["codecs"]] == expected
        assert array.chunks == (5, 50)
        np.testing.assert_array_equal(array[...], values, err_msg=name)
    assert "szip" in group, "netCDF4-python has defined it before it chose the filter"


def test_types_fill_values_and_byte_orders(tmp_path):
    path = tmp_path / "t.zarr"
    kinds = ["i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f4", "f8"]
    with netCDF4.Dataset(url(path), "w") as dataset:
        dataset.createDimension("x", 4)
        for kind in kinds:
            for endian in ("little", "big"):
                variable = dataset.createVariable(f"{kind}_{endian}", kind, ("x",), endian=endian, fill_value=7)
                variable[1:3] = [1, 2]
        character = dataset.createVariable("c", "S1", ("x",))
        character[:] = np.array(list("abcd"), "S1")
        unfilled = dataset.createVariable("unfilled", "u1", ("x",), fill_value=False)
        unfilled[2] = 255
        scalar = dataset.createVariable("scalar", str)
        scalar[...] = "ä text"
    group = zarr.open_group(path, mode="r")
    for kind in kinds:
        for endian in ("little", "big"):
            array = group[f"{kind}_{endian}"]
            assert array.dtype.newbyteorder("=") == np.dtype(kind) and array.attrs["_nczarr_array"]
            np.testing.assert_array_equal(array[...], [7, 1, 2, 7])
    assert bytes(group["c"][...]) == b"abcd"
    np.testing.assert_array_equal(group["unfilled"][...], [0, 0, 255, 0])
    assert group["scalar"][()] == "ä text"
    with netCDF4.Dataset(path / "zarr.json") as dataset:
        assert dataset["f8_big"].endian() == "big" and dataset["f8_little"].endian() == "little"
        assert dataset["i2_big"]._FillValue == 7
        assert not np.ma.is_masked(dataset["unfilled"][:])
        assert b"".join(dataset["c"][:]) == b"abcd"


@pytest.mark.parametrize("format", [name for name in FORMATS if name != "nczarr-v2"])
def test_bools_and_complex_numbers_are_written(format, tmp_path):
    path, values = tmp_path / "b.zarr", np.arange(6) * (1 - 2j)
    with netCDF4.Dataset(url(path, format), "w", auto_complex=True) as dataset:
        dataset.createDimension("x", 6)
        bools = dataset.createEnumType(np.uint8, "bool_t", {"false": 0, "true": 1})
        dataset.createVariable("flag", bools, ("x",))[:] = np.array([1, 0, 1, 1, 0, 0], "u1")
        # In this order: netCDF4-python takes any type of complex numbers that is there for `c8`, in netCDF-4 files as well.
        dataset.createVariable("few", "c8", ("x",), zlib=True, chunksizes=(2,))[1:3] = values[1:3]
        dataset.createVariable("z", "c16", ("x",))[:] = values
        dataset.createVariable("words", str, ("x",))[:] = np.array(list("abcdeÄ"), object)
        dataset["z"].units = "V"
        np.testing.assert_array_equal(dataset["z"][1:], values[1:])
    group = zarr.open_group(path, mode="r")
    assert (group["flag"].dtype, group["z"].dtype, group["few"].dtype) == (bool, "c16", "c8")
    np.testing.assert_array_equal(group["flag"][:], [1, 0, 1, 1, 0, 0])
    np.testing.assert_array_equal(group["z"][:], values)
    np.testing.assert_array_equal(group["few"][1:3], values[1:3])
    np.testing.assert_array_equal(group["words"][:], np.array(list("abcdeÄ"), object))
    with netCDF4.Dataset(path / FORMATS[format], auto_complex=True) as dataset:
        np.testing.assert_array_equal(dataset["z"][::2], values[::2])
    with xarray.open_zarr(path, consolidated=False) as found:
        np.testing.assert_array_equal(found.z, values)
        assert found.flag.dtype == bool


def test_bools_of_xarray_are_bools_to_zarr_python(tmp_path):
    """In plain Zarr, which no netCDF library needs to read."""
    flags = xarray.Dataset({"flag": (("x",), np.array([True, False, True]))})
    flags.to_netcdf(url(tmp_path / "p.zarr", "zarr-v3"), engine="netcdf4")
    array = zarr.open_array(tmp_path / "p.zarr/flag", mode="r")
    assert array.dtype == bool and list(array[:]) == [True, False, True]
    for found in (xarray.open_zarr(tmp_path / "p.zarr", consolidated=False), xarray.open_dataset(tmp_path / "p.zarr/zarr.json", engine="netcdf4")):
        xarray.testing.assert_equal(found, flags)
        found.close()


def test_shards_are_chosen_in_the_url(tmp_path):
    path, values = tmp_path / "s.zarr", np.random.default_rng(programs.SEED).normal(size=(24, 20, 30)).astype("f4")
    with netCDF4.Dataset(url(path) + "&shard=20KiB", "w") as dataset:
        for name, length in (("n", None), ("y", 20), ("x", 30)):
            dataset.createDimension(name, length)
        kept = {"chunksizes": (1, 10, 10), "zlib": True}
        variable = dataset.createVariable("v", "f4", ("n", "y", "x"), **kept)
        for record in range(24):
            variable[record] = values[record]
        dataset.createVariable("small", "i2", ("x",))[:] = range(30)
    v, small = zarr.open_array(path / "v", mode="r"), zarr.open_array(path / "small", mode="r")
    assert (v.shards, v.chunks, small.shards) == ((8, 20, 30), (1, 10, 10), None)
    np.testing.assert_array_equal(v[:], values)
    # What is there is continued as it is, and more is added in shards, too. netCDF4-python would create the data by a URL.
    with pytest.raises(OSError, match="exists"):
        netCDF4.Dataset(f"file://{path}/zarr.json#mode=netcdf-4,udf1", "a")
    (tmp_path / "link").write_text('{"zarr_link": "s.zarr#shard=4KiB"}')
    with netCDF4.Dataset(tmp_path / "link", "a") as dataset:
        dataset["v"][24] = 1.5
        dataset.createVariable("w", "f4", ("n", "x"), chunksizes=(2, 10))[:] = values[:, 0, :][:1]
        assert dataset["v"].chunking() == [1, 10, 10]
    assert zarr.open_array(path / "w", mode="r").shards is not None
    np.testing.assert_array_equal(zarr.open_array(path / "v", mode="r")[23:], [values[23], np.full((20, 30), 1.5)])
    with netCDF4.Dataset(path / "zarr.json") as dataset:
        np.testing.assert_array_equal(dataset["v"][5, ::3, ::-2], values[5, ::3, ::-2])
    for format, shard in (("nczarr-v3", "big"), ("zarr-v2", "1MiB")):
        with pytest.raises(OSError, match="Invalid argument"):
            netCDF4.Dataset(f"{url(tmp_path / 'no.zarr', format)}&shard={shard}", "w")
    assert not (tmp_path / "no.zarr").exists()


def some_key(rng, lengths, grows):
    """A selection along each axis, and how long the first one must be."""
    keys = []
    for axis, length in enumerate(lengths):
        if axis == 0 and grows:
            length += int(rng.integers(0, 3))
        first, last = sorted(int(n) for n in rng.integers(0, length + 1, 2))
        keys.append(slice(first, max(last, first + 1) if first < length else last, int(rng.integers(1, 4))))
    return tuple(keys)


# With room for all that is written, for some of it, for none.
@pytest.mark.parametrize("cache", ["67108864", "2000", "0"])
def test_random_writes_equal_a_netcdf_file(cache, tmp_path, monkeypatch):
    """The same calls write a netCDF-4 file."""
    monkeypatch.setenv("ZARR_NETCDF_CACHE", cache)
    rng = np.random.default_rng(programs.SEED)
    path, twin = tmp_path / "r.zarr", tmp_path / "r.nc"
    with netCDF4.Dataset(url(path), "w") as ours, netCDF4.Dataset(twin, "w") as theirs:
        for dataset in (ours, theirs):
            dataset.createDimension("n", None)
            dataset.createDimension("x", 12)
            for name, kind in (("a", "f4"), ("b", "i2"), ("s", str)):
                dataset.createVariable(name, kind, ("n", "x"), chunksizes=(3, 5))
        for _ in range(WRITES):
            name = "abs"[rng.integers(3)]
            if rng.integers(3) == 0:
                # Record by record.
                first = int(rng.integers(0, len(ours.dimensions["n"]) + 1))
                for dataset in (ours, theirs):
                    for record in range(first, first + 4):
                        dataset["b"][record] = record
                continue
            if rng.integers(3) == 0:
                # Column by column, or element by element in any order.
                length = len(ours.dimensions["n"])
                elements = [(slice(0, length), int(x)) for x in rng.permutation(12)[: rng.integers(1, 13)]]
                if rng.integers(2):
                    elements = [(int(rng.integers(length + 2)), int(rng.integers(12))) for _ in range(30)]
                for at, key in enumerate(elements):
                    value = f"<{at}>" if name == "s" else at
                    if name == "s" and length and key[0] == slice(0, length):
                        value = np.array([value] * length, object)
                    elif key[0] == slice(0, 0):
                        continue
                    for dataset in (ours, theirs):
                        dataset[name][key] = value
                continue
            key = some_key(rng, (len(ours.dimensions["n"]), 12), True)
            shape = tuple(len(range(it.start, it.stop, it.step)) for it in key)
            if 0 in shape:
                continue
            values = rng.integers(-100, 100, shape)
            values = np.array([f"<{n}>" for n in values.flat], object).reshape(shape) if name == "s" else values
            for dataset in (ours, theirs):
                dataset[name][key] = values
            assert len(ours.dimensions["n"]) == len(theirs.dimensions["n"])
            choice = rng.integers(8)
            if choice == 0:
                ours.sync()
            elif choice < 3:
                np.testing.assert_array_equal(ours[name][...], theirs[name][...])
    with programs.opened(path / "zarr.json") as ours, programs.opened(twin) as theirs:
        length = len(theirs.dimensions["n"])
        assert length > 3
        assert programs.compare_groups(ours, theirs, "/") == 3
        group = zarr.open_group(path, mode="r")
        for name in "abs":
            np.testing.assert_array_equal(group[name][...], theirs[name][...], err_msg=name)


def test_what_cannot_be_written_is_refused_in_words(tmp_path):
    script = f"""
import netCDF4, numpy, sys
dataset = netCDF4.Dataset({url(tmp_path / "w.zarr")!r}, "w")
for call in (
    lambda: dataset.createVLType("i4", "list"),
    lambda: dataset.createCompoundType(numpy.dtype([("a", "i4")]), "record"),
    lambda: dataset.createEnumType("i1", "choice", {{"a": 1}}),
    lambda: dataset.createEnumType("i4", "number", {{"false": 0}}),
):
    try:
        call()
    except RuntimeError as error:
        print(error)
"""
    environment = {name: value for name, value in os.environ.items() if name != "ZARR_NETCDF_QUIET"}
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, env=environment, check=True)
    assert ran.stdout.count("netcdf-4 operation") == 4
    said = [line for line in ran.stderr.splitlines() if line.startswith("zarr: ")]
    assert [line.split("no ")[1].split(" types")[0] for line in said] == ["variable-length", "compound", "enumeration", "enumeration"]


def test_archives_are_written(tmp_path):
    path = tmp_path / "z.zip"
    with netCDF4.Dataset(url(path), "w") as dataset:
        dataset.createDimension("x", 4)
        dataset.createVariable("v", "i4", ("x",))[:] = [1, 2, 3, 4]
    with netCDF4.Dataset(path, "a") as dataset:
        dataset["v"][1] = 9
    with netCDF4.Dataset(path) as dataset:
        np.testing.assert_array_equal(dataset["v"][:], [1, 9, 3, 4])
    with zipfile.ZipFile(path) as archive:
        assert archive.testzip() is None
        names = archive.namelist()
        assert len(names) == len(set(names)) and any(name.endswith("v/zarr.json") for name in names)
    other = tmp_path / "other.zip"
    with zipfile.ZipFile(other, "w") as archive:
        archive.writestr("word/document.xml", "<xml/>")
    with pytest.raises(OSError):
        netCDF4.Dataset(url(other), "w")
    with zipfile.ZipFile(other) as archive:
        assert archive.namelist() == ["word/document.xml"]


def test_a_link_file_says_where_data_are_created(tmp_path):
    (tmp_path / "link").write_text('{"zarr_link": "sub/l.zarr"}')
    with netCDF4.Dataset(url(tmp_path / "link", "zarr-v2"), "w") as dataset:
        dataset.createDimension("x", 4)
        dataset.createVariable("v", "i4", ("x",))[:] = [1, 2, 3, 4]
    with netCDF4.Dataset(tmp_path / "link", "a") as dataset:
        dataset["v"][1] = 9
    np.testing.assert_array_equal(zarr.open_array(tmp_path / "sub/l.zarr/v", mode="r")[:], [1, 9, 3, 4])
    assert (tmp_path / "sub/l.zarr/.zgroup").exists()


def test_consolidated_copies_are_renewed(tmp_path):
    path = tmp_path / "k.zarr"
    with netCDF4.Dataset(f"file://{path}#mode=netcdf-4,udf1,consolidated", "w") as dataset:
        dataset.createDimension("x", 4)
        dataset.createVariable("v", "i4", ("x",))[:] = [1, 2, 3, 4]
    with netCDF4.Dataset(path / "zarr.json", "a") as dataset:
        dataset["v"].units = "m"
        dataset.createVariable("w", "f8", ("x",))[:] = 1.5
    with xarray.open_zarr(path, consolidated=True) as found:
        assert found.v.attrs["units"] == "m"
        np.testing.assert_array_equal(found.w, [1.5] * 4)


FULL = """
import netCDF4, numpy, resource, signal, sys
dataset = netCDF4.Dataset(sys.argv[1], "a")
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, resource.RLIM_INFINITY))
failed = 0
for step in range(1, 5):
    try:
        dataset["v"][step] = numpy.random.default_rng(step).normal(size=(100, 100))
    except RuntimeError:
        failed += 1
try:
    dataset.createVariable("w", "f8", ("n", "y", "x"))[0] = numpy.random.default_rng(9).normal(size=(100, 100))
except RuntimeError:
    failed += 1
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
dataset["v"][1] = 1.0
dataset.close()
print(failed)
"""


def test_a_full_disk_is_an_error_and_no_crash(tmp_path):
    """A limit on the size of files stands for the disk: no chunk fits."""
    path = tmp_path / "d.zarr"
    with netCDF4.Dataset(url(path), "w") as dataset:
        for name, length in (("n", None), ("y", 100), ("x", 100)):
            dataset.createDimension(name, length)
        dataset.createVariable("v", "f8", ("n", "y", "x"))[0] = 5.0
    ran = subprocess.run([sys.executable, "-c", FULL, path / "zarr.json"], capture_output=True, text=True)
    assert (ran.returncode, ran.stdout.split()) == (0, ["5"]), ran.stderr
    array = zarr.open_array(path / "v", mode="r")
    assert (array[0] == 5).all() and (array[1] == 1).all()


KILLED = """
import netCDF4, os, sys
dataset = netCDF4.Dataset(sys.argv[1], "w")
dataset.createDimension("n", None)
v = dataset.createVariable("v", "i4", ("n",))
v[0:1000] = range(1000)
dataset.sync()
v[1000:2000] = range(1000)
os.kill(os.getpid(), 9)
"""


def test_what_was_synchronized_survives_a_kill(tmp_path):
    path = tmp_path / "k.zarr"
    ran = subprocess.run([sys.executable, "-c", KILLED, url(path)], capture_output=True)
    assert ran.returncode == -signal.SIGKILL
    with netCDF4.Dataset(path / "zarr.json") as dataset:
        np.testing.assert_array_equal(dataset["v"][:1000], np.arange(1000))


WRITER = """
import netCDF4, numpy, sys
dataset = netCDF4.Dataset(sys.argv[1], sys.argv[2])
if sys.argv[2] == "w":
    for name, length in (("n", None), ("x", 40)):
        dataset.createDimension(name, length)
    for name in ("rows", "columns"):
        dataset.createVariable(name, "i4", ("n", "x"), chunksizes=(7, 9), zlib=True)
first = len(dataset.dimensions["n"])
for record in range(first, 100_000):
    dataset["rows"][record] = numpy.arange(40) + 40 * record
    if record % 5 == 4:
        for x in range(40):
            dataset["columns"][record - 4 : record + 1, x] = x + 40 * numpy.arange(record - 4, record + 1)
        dataset.sync()
        print(record + 1, flush=True)
"""


def test_writers_are_killed_at_any_moment(tmp_path):
    """What was synchronized is there, all else is right or was never written, and the next writer goes on."""
    path, rng, synchronized = tmp_path / "k.zarr", np.random.default_rng(programs.SEED), 0
    for turn in range(KILLS):
        place, mode = (url(path), "w") if turn == 0 else (path / "zarr.json", "a")
        writer = subprocess.Popen([sys.executable, "-c", WRITER, place, mode], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        lines = [writer.stdout.readline() for _ in range(int(rng.integers(1, 6)))]
        # Somewhere in what follows; the last lines may be on their way yet.
        time.sleep(float(rng.uniform(0, 0.02)))
        writer.kill()
        rest, errors = writer.communicate()
        told = [int(line) for line in [*lines, *rest.splitlines()] if line.strip().isdigit()]
        assert told, errors
        assert told[0] >= synchronized
        synchronized = told[-1]
        with programs.opened(path / "zarr.json") as dataset:
            length = len(dataset.dimensions["n"])
            assert length >= synchronized
            expected = np.arange(40 * length).reshape(length, 40)
            for name in ("rows", "columns"):
                found, fill = dataset[name][:], netCDF4.default_fillvals["i4"]
                np.testing.assert_array_equal(found[:synchronized], expected[:synchronized])
                assert ((found == expected) | (found == fill)).all()
        end = length + -length % 5
        if end > synchronized:
            # The next writer begins there, so what was not told to be written is written now.
            with netCDF4.Dataset(path / "zarr.json", "a") as dataset:
                for name in ("rows", "columns"):
                    dataset[name][synchronized:end] = np.arange(40 * synchronized, 40 * end).reshape(-1, 40)
            synchronized = end
        if programs.PROGRAM:
            # Locks and files of the killed writer may be left; nothing else is wrong.
            found = subprocess.run([programs.PROGRAM, "validate", path], capture_output=True, text=True)
            problems = [line for line in found.stdout.splitlines() if ": leftover: " not in line]
            assert found.returncode in (0, 1) and not any(": " in line and line.startswith("/") for line in problems), found.stdout


PAIR = """
import netCDF4, sys
dataset = netCDF4.Dataset(sys.argv[1], "a")
for x in range(int(sys.argv[2]), 60, 2):
    dataset["v"][:, x] = range(100 * x, 100 * x + 100)
dataset.setncattr(f"writer{sys.argv[2]}", 1)
dataset.close()
"""


def test_two_processes_write_columns_of_the_same_chunks(tmp_path):
    path = tmp_path / "p.zarr"
    with netCDF4.Dataset(url(path), "w") as dataset:
        for name, length in (("y", 100), ("x", 60)):
            dataset.createDimension(name, length)
        dataset.createVariable("v", "i4", ("y", "x"), chunksizes=(30, 40), zlib=True)
    # With room for a few columns only, so that chunks are stored many times.
    environment = {**os.environ, "ZARR_NETCDF_CACHE": "2500"}
    pair = [subprocess.Popen([sys.executable, "-c", PAIR, path / "zarr.json", str(n)], env=environment) for n in (0, 1)]
    assert [writer.wait(120) for writer in pair] == [0, 0]
    with netCDF4.Dataset(path / "zarr.json") as dataset:
        np.testing.assert_array_equal(dataset["v"][:].T.ravel(), np.arange(6000))
        assert sorted(dataset.ncattrs()) == ["writer0", "writer1"]


def copy_group(source, target):
    """Copies all of a group by the calls that a program like nccopy makes. Types of a file's own are left out."""
    target.setncatts({name: source.getncattr(name) for name in source.ncattrs()})
    for name, dimension in source.dimensions.items():
        target.createDimension(name, None if dimension.isunlimited() else len(dimension))
    for name, variable in source.variables.items():
        fill = getattr(variable, "_FillValue", None)
        filters = variable.filters() or {}
        kept = {name: filters[name] for name in ("zlib", "shuffle", "complevel", "fletcher32") if filters.get(name)}
        chunks = variable.chunking()
        kept["chunksizes"] = None if chunks in (None, "contiguous") else chunks
        made = target.createVariable(name, variable.dtype, variable.dimensions, fill_value=fill, endian=variable.endian(), **kept)
        made.set_auto_maskandscale(False)
        made.setncatts({name: variable.getncattr(name) for name in variable.ncattrs() if name != "_FillValue"})
        if variable.size:
            made[...] = variable[...]
    for name, group in source.groups.items():
        copy_group(group, target.createGroup(name))


def own_types(group):
    return group.cmptypes or group.vltypes or group.enumtypes or any(map(own_types, group.groups.values()))


def misread(group):
    """Whether netCDF4-python takes the wrong one of two dimensions of the same name."""
    wrong = any(isinstance(programs.values(variable, ...), str) and variable.dtype is not str for variable in group.variables.values())
    return wrong or any(map(misread, group.groups.values()))


def test_copies_of_cdl_equal_their_twin(tmp_path):
    if not shutil.which("ncgen"):
        pytest.skip("Debian's ncgen is missing: the CDL corpus is not copied")
    texts = sorted((programs.TOP / "specs-conformance/cdl").glob("*.cdl"))
    texts = texts if os.environ.get("ZARR_TEST_ALL") else texts[(programs.SEED + 1) % 3 :: 3]
    variables, left_out = 0, []
    for text in texts:
        twin = tmp_path / f"{text.stem}.nc"
        if subprocess.run(["ncgen", "-4", "-o", twin, text], capture_output=True).returncode:
            left_out.append(text.stem)
            continue
        with programs.opened(twin) as source:
            if own_types(source) or misread(source):
                left_out.append(text.stem)
                continue
            for format in ("nczarr-v3", "nczarr-v2"):
                path = tmp_path / f"{text.stem}-{format}.zarr"
                with netCDF4.Dataset(url(path, format), "w") as target:
                    copy_group(source, target)
                with programs.opened(path / FORMATS[format]) as found:
                    variables += programs.compare_groups(found, source, f"{path.name}")
    print(f"{len(texts) - len(left_out)} texts, {variables} variables equal; left out: {left_out}")
    assert variables and len(left_out) < len(texts) // 2
