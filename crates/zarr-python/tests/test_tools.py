"""Copies, validates, repairs, checksums, compares, with zarr-python as the witness."""

import json
import os
import pickle
import re
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest
import zarr

import zarrkit

ELEMENTS = np.random.default_rng(1).normal(size=(60, 50)).astype("f4")


@pytest.fixture
def url(tmp_path):
    """A hierarchy that zarr-python wrote."""
    url = tmp_path / "d.zarr"
    root = zarr.create_group(url, attributes={"title": "all"})
    root.create_array("t", shape=ELEMENTS.shape, chunks=(10, 10), dtype="f4", dimension_names=["y", "x"], fill_value=np.nan)[...] = ELEMENTS
    root.create_group("more").create_array("n", shape=(7,), chunks=(3,), dtype="i2")[...] = np.arange(7)
    return url


def assert_is_copy(copy):
    theirs = zarr.open_group(copy, mode="r")
    assert np.array_equal(theirs["t"][...], ELEMENTS) and theirs["more/n"][...].tolist() == list(range(7))
    assert theirs.attrs["title"] == "all"


@pytest.mark.parametrize("to", [None, "v2", "v3"])
def test_a_copy_is_what_zarr_python_wrote(url, tmp_path, to):
    report = zarrkit.copy(url, tmp_path / "c.zarr", to=to, verify=True, memory="64 MiB")
    assert report.nodes == 4 and report.bytes == ELEMENTS.nbytes + 14 and report.skipped == []
    assert_is_copy(tmp_path / "c.zarr")
    assert zarr.open_group(tmp_path / "c.zarr", mode="r").metadata.zarr_format == (2 if to == "v2" else 3)
    with pytest.raises(FileExistsError):
        zarrkit.copy(url, tmp_path / "c.zarr", to=to)
    zarrkit.copy(url, tmp_path / "c.zarr", to=to, overwrite=True)
    assert_is_copy(tmp_path / "c.zarr")


@pytest.mark.parametrize("to, form", [
    ("v2", "v2"), ("v3", "v3"), (2, "v2"), (3, "v3"), ("draft", "draft-2020"), ("draft-2020", "draft-2020"), ("draft-2020-text", "draft-2020"),
    ("zarr-v2", "v2"), ("zarr-v3", "v3"), ("nczarr-v2", "v2"), ("nczarr", "v2"), ("nczarr-v3", "v3"),
])  # fmt: skip
def test_a_copy_into_every_format_of_the_program(url, tmp_path, to, form):
    report = zarrkit.copy(url, tmp_path / "c.zarr", to=to, verify=True)
    assert report.nodes == 4
    copy = zarrkit.open(tmp_path / "c.zarr")
    assert copy.format == form and np.array_equal(copy["t"][...], ELEMENTS) and copy["more/n"][...].tolist() == list(range(7))
    if str(to).startswith("nczarr"):
        assert copy.dimensions.items() >= {"y": 60, "x": 50}.items()
    else:
        assert copy.dimensions is None
    with pytest.raises(FileExistsError):
        zarrkit.copy(url, tmp_path / "c.zarr", to=to)


def test_a_format_that_is_not_known_is_refused(url, tmp_path):
    with pytest.raises(ValueError, match='"nczarr-v3".*"hdf5"'):
        zarrkit.copy(url, tmp_path / "c.zarr", to="hdf5")
    with pytest.raises(TypeError, match="`to` must be the name"):
        zarrkit.copy(url, tmp_path / "c.zarr", to=["v3"])
    with pytest.raises(TypeError, match="`resume` must be True or False"):
        zarrkit.copy(url, tmp_path / "c.zarr", resume=1)
    with pytest.raises(ValueError, match="as a whole"):
        zarrkit.copy(url, tmp_path / "c.zarr", to="nczarr-v3", select="t")
    with pytest.raises(ValueError, match="has no shards"):
        zarrkit.copy(url, tmp_path / "c.zarr", to="nczarr-v3", shards={"t": (30, 50)})
    assert not (tmp_path / "c.zarr").exists()


def test_a_netcdf_dataset_of_a_group_of_a_store_and_in_an_archive(url, tmp_path):
    zarrkit.copy(zarrkit.open(url)["more"], tmp_path / "a.zarr", to="nczarr-v3")
    assert zarrkit.open(tmp_path / "a.zarr")["n"][...].tolist() == list(range(7))
    store = {str(file.relative_to(url)): file.read_bytes() for file in url.rglob("*") if file.is_file()}
    zarrkit.copy(store, tmp_path / "b.zarr", to="nczarr-v2")
    assert_is_copy(tmp_path / "b.zarr")
    zarrkit.copy(url, tmp_path / "m.zip", to="nczarr-v2")
    assert np.array_equal(zarrkit.open(f"{tmp_path}/m.zip#mode=nczarr,zip")["t"][...], ELEMENTS)


def test_a_copy_of_a_netcdf_dataset_goes_on_by_parts_and_in_other_processes(url, tmp_path):
    for part in ("1/2", "2/2"):
        zarrkit.copy(url, tmp_path / "a.zarr", to="nczarr-v3", part=part)
    zarrkit.copy(url, tmp_path / "a.zarr", finish=True)
    plan = zarrkit.plan_copy(url, tmp_path / "b.zarr", to="nczarr-v3", parts=2)
    plan.begin()
    again = pickle.loads(pickle.dumps(plan))
    for part in range(len(again)):
        again.run(part)
    again.finish()
    for copy in ("a.zarr", "b.zarr"):
        assert zarrkit.open(tmp_path / copy).dimensions is not None
        assert_is_copy(tmp_path / copy)


def test_chunks_shards_and_codecs_of_a_copy(url, tmp_path):
    zarrkit.copy(url, tmp_path / "c.zarr", chunks=(5, 25), shards=(30, 50), codecs=["gzip:1"])
    found = zarr.open_array(tmp_path / "c.zarr", path="t")
    assert (found.chunks, found.shards) == ((5, 25), (30, 50)) and "gzip" in str(found.metadata.codecs).lower()
    assert_is_copy(tmp_path / "c.zarr")
    zarrkit.copy(zarrkit.open(url)["t"], tmp_path / "t.zarr", codecs={"name": "zstd", "configuration": {"level": 1, "checksum": False}})
    assert np.array_equal(zarr.open_array(tmp_path / "t.zarr")[...], ELEMENTS)
    zarrkit.copy(url / "t", tmp_path / "c.zarr" / "again", codecs="none")
    assert np.array_equal(zarr.open_array(tmp_path / "c.zarr", path="again")[...], ELEMENTS)


def test_parts_of_the_tree(url, tmp_path):
    names = lambda: sorted(name for name, _ in zarr.open_group(tmp_path / "c.zarr", mode="r").members(max_depth=None))
    for keywords, expected in (
        ({"select": "t"}, ["t"]),
        ({"include": "more"}, ["more", "more/n"]),
        ({"exclude": ["more/**"]}, ["more", "t"]),
    ):
        zarrkit.copy(url, tmp_path / "c.zarr", overwrite=True, **keywords)
        assert names() == expected, keywords


def test_a_dry_run_writes_nothing(url, tmp_path):
    plan = zarrkit.copy(url, tmp_path / "c.zarr", dry_run=True)
    assert isinstance(plan, zarrkit.Plan) and plan.nodes == 4 and plan.chunks == 33 and plan.nbytes == ELEMENTS.nbytes + 14
    assert plan.paths == ["/", "/more", "/more/n", "/t"] and "4 nodes" in repr(plan)
    assert not (tmp_path / "c.zarr").exists()


def test_parts_and_their_end(url, tmp_path):
    copy = tmp_path / "c.zarr"
    for part in ("2/3", (1, 3)):
        zarrkit.copy(url, copy, part=part)
    with pytest.raises(ValueError, match="3/3"):
        zarrkit.copy(url, copy, finish=True)
    with pytest.raises(FileNotFoundError):
        zarrkit.open(copy)
    zarrkit.copy(url, copy, part="3/3")
    assert zarrkit.copy(url, copy, finish=True).nodes == 4
    assert_is_copy(copy)
    for part in ("0/3", "4/3", "1", "a/b", (1, 2, 3)):
        with pytest.raises(ValueError):
            zarrkit.copy(url, copy, part=part)


RUN = """
import pickle, sys, zarrkit
plan = pickle.loads(open(sys.argv[1], "rb").read())
plan.run(int(sys.argv[2]))
"""


@pytest.mark.timeout(120)
def test_a_plan_is_run_by_other_processes(url, tmp_path):
    plan = zarrkit.plan_copy(url, tmp_path / "c.zarr", parts=3, chunks=(20, 20))
    assert len(plan) == plan.parts == 3 and sum(plan.part_chunks) == plan.chunks
    plan.begin()
    (tmp_path / "plan").write_bytes(pickle.dumps(plan))
    runs = [subprocess.Popen([sys.executable, "-c", RUN, tmp_path / "plan", str(part)]) for part in (0, 2)]
    assert [run.wait() for run in runs] == [0, 0]
    assert plan.missing() == [1]
    again = zarrkit.Plan.from_json(plan.to_json())
    with pytest.raises(ValueError):
        again.finish()
    with pytest.raises(IndexError):
        again.run(3)
    again.run([1])
    again.finish()
    assert_is_copy(tmp_path / "c.zarr")
    for text in ("", "{}", "[]", '{"zarrkit_plan": 2}'):
        with pytest.raises(ValueError):
            zarrkit.Plan.from_json(text)


def test_a_plan_keeps_the_options_of_its_stores(url, tmp_path):
    plan = zarrkit.plan_copy(url, tmp_path / "c.zarr", storage_options={"sync": True}, verify=True, threads=2)
    found = json.loads(plan.to_json())
    assert found["target"]["options"] == {"sync": "true"} and found["target"]["threads"] == 2 and found["how"]["verify"]
    again = json.loads(pickle.loads(pickle.dumps(plan)).to_json())
    assert again == found


def test_progress(url, tmp_path, capsys):
    told = []
    zarrkit.copy(url, tmp_path / "c.zarr", progress=told.append)
    assert told[-1].done == told[-1].total == ELEMENTS.nbytes + 14 and all(isinstance(step, zarrkit.TreeProgress) for step in told)
    assert [step.done for step in told] == sorted(step.done for step in told) and told[-1].path in ("/t", "/more/n")
    for call in (zarrkit.validate, zarrkit.checksum):
        told.clear()
        call(url, progress=told.append)
        assert told[-1].done == told[-1].total > 0
    told.clear()
    zarrkit.diff(url, tmp_path / "c.zarr", progress=told.append)
    assert told[-1].done == told[-1].total > 0
    zarrkit.checksum(url, progress=True)
    with pytest.raises(TypeError):
        zarrkit.checksum(url, progress=7)


def test_what_a_progress_function_raises_ends_the_copy(url, tmp_path):
    def refuse(progress):
        raise LookupError("enough")

    with pytest.raises(LookupError, match="enough"):
        zarrkit.copy(url, tmp_path / "c.zarr", progress=refuse)
    zarrkit.copy(url, tmp_path / "c.zarr", resume=True)
    assert_is_copy(tmp_path / "c.zarr")


@pytest.mark.timeout(60)
@pytest.mark.parametrize("tool", ["copy", "checksum", "diff", "validate"])
def test_ctrl_c_ends_them(tmp_path, tool):
    big = tmp_path / "big.zarr"
    zarrkit.create(big, shape=(2**36,), dtype="u1", chunks=(2**16,), fill_value=1)
    # These two pass over chunks that are not stored.
    if tool in ("copy", "validate"):
        (big / "c").mkdir()
        for n in range(3000):
            (big / "c" / str(n)).write_bytes(os.urandom(1) * 2**16)
    arguments = {"copy": (big, tmp_path / "c.zarr"), "checksum": (big,), "diff": (big, big), "validate": (big,)}[tool]
    after = 0.05 if tool == "validate" else 0.3
    # Of up to three times that are measured the shortest counts: the machine may be busy.
    seconds = []
    while len(seconds) < 3 and min(seconds, default=3) >= 2:
        began = time.monotonic()
        with pytest.raises(KeyboardInterrupt):
            # The signal may come while the thread is started.
            threading.Timer(after, os.kill, (os.getpid(), signal.SIGINT)).start()
            for _ in range(100):
                getattr(zarrkit, tool)(*arguments, **({"overwrite": True} if tool == "copy" else {}))
        seconds.append(round(time.monotonic() - began - after, 3))
    print(f"seconds from Ctrl-C to the end: {seconds}")
    assert min(seconds) < 2, f"seconds from Ctrl-C to the end: {seconds}"


@pytest.mark.timeout(60)
def test_a_copy_goes_on_after_a_kill(url, tmp_path):
    code = """
import os, sys, zarrkit
def stop(progress):
    if progress.done >= 2000:
        os.kill(os.getpid(), 9)
zarrkit.copy(sys.argv[1], sys.argv[2], progress=stop, threads=1)
"""
    assert subprocess.run([sys.executable, "-c", code, url, tmp_path / "c.zarr"]).returncode == -9
    with pytest.raises(FileNotFoundError, match="resume=True"):
        zarrkit.open(tmp_path / "c.zarr")
    zarrkit.copy(url, tmp_path / "c.zarr", resume=True)
    assert_is_copy(tmp_path / "c.zarr")
    assert zarrkit.validate(tmp_path / "c.zarr").is_sound


def test_validation_finds_damage(url):
    report = zarrkit.validate(url)
    assert report.is_sound and report.nodes == 4 and report.chunks == 33 and "no problems found" in str(report)
    (url / "t" / "c" / "1" / "2").write_bytes(b"\0")
    (url / "t" / "notes.txt").write_text("a file of the user")
    stray = url / "t" / "c" / "7" / "7" / "7"
    stray.parent.mkdir(parents=True)
    stray.write_text("x")
    report = zarrkit.validate(url)
    assert sorted((p.path, p.key, p.kind) for p in report.problems) == [("/t", "t/c/1/2", "undecodable"), ("/t", "t/c/7/7/7", "stray_key")]
    assert all(p.message and p.remedy and p.kind in str(report) for p in report.problems)
    assert {p.kind for p in zarrkit.validate(url, level="keys").problems} == {"stray_key"}
    assert zarrkit.validate(url, level="meta").is_sound and zarrkit.validate(zarrkit.open(url)["more"]).is_sound
    assert zarrkit.validate(url, path="more").is_sound
    (url / "t" / "c" / "1" / "2").unlink()
    stray.unlink()
    assert zarrkit.validate(url).is_sound
    assert [p.kind for p in zarrkit.validate(url, expect_complete=True).problems] == ["missing_chunk"]
    with pytest.raises(ValueError, match="meta, keys, index or data"):
        zarrkit.validate(url, level="deep")
    with pytest.raises(FileNotFoundError):
        zarrkit.validate(url / "nothing")


def test_repair_moves_damage_away(url):
    (url / "t" / "c" / "1" / "2").write_bytes(b"\0")
    planned = zarrkit.repair(url)
    assert [(step.action, step.state, step.key) for step in planned.steps] == [("quarantine", "planned", "t/c/1/2")]
    assert not planned.is_sound and planned.left == 1 and (url / "t" / "c" / "1" / "2").exists()
    done = zarrkit.repair(url, apply=True)
    assert done.is_sound and done.done == 1 and "quarantine" in str(done)
    assert not (url / "t" / "c" / "1" / "2").exists() and zarrkit.validate(url).is_sound
    kept = [file for file in (url / ".zarr-quarantine").rglob("*") if file.is_file() and file.read_bytes() == b"\0"]
    assert len(kept) == 1
    with pytest.raises(ValueError, match="unknown kind of problem"):
        zarrkit.repair(url, skip="nothing")


def test_checksums_are_those_of_the_program_and_of_copies(url, tmp_path):
    found = zarrkit.checksum(url, manifest=True)
    printed = subprocess.run([sys.executable, "-m", "zarrkit", "checksum", url, "--manifest"], capture_output=True, text=True)
    assert printed.stdout == found.manifest and [node.path for node in found.nodes] == ["/", "/more", "/more/n", "/t"]
    zarrkit.copy(url, tmp_path / "c.zarr", chunks=(7, 9), codecs="gzip")
    assert zarrkit.checksum(tmp_path / "c.zarr") == found == found.digest and hash(found) == hash(zarrkit.checksum(url))
    assert zarrkit.checksum(url, path="t").digest == found.nodes[3].digest == zarrkit.checksum(zarrkit.open(url)["t"]).digest
    regions = zarrkit.checksum(url, path="t", regions=True).nodes[0]
    assert regions.block_shape is not None and regions.levels[-1] and re.fullmatch("[0-9a-f]{64}", regions.levels[0][0])
    zarr.open_array(tmp_path / "c.zarr", path="t", mode="r+")[0, 0] = 5
    assert zarrkit.checksum(tmp_path / "c.zarr") != found
    with pytest.raises(MemoryError, match="max_size"):
        zarrkit.checksum(url, max_size="1 kB")


def test_differences_are_named(url, tmp_path):
    zarrkit.copy(url, tmp_path / "c.zarr", chunks=(30, 30))
    assert zarrkit.diff(url, tmp_path / "c.zarr").is_equal
    theirs = zarr.open_group(tmp_path / "c.zarr", mode="r+")
    theirs["t"][3, 4] += 0.5
    theirs.attrs["title"] = "some"
    del theirs["more/n"]
    found = zarrkit.diff(url, tmp_path / "c.zarr")
    assert [node.path for node in found.nodes] == ["/", "/more/n", "/t"] and not found.is_equal
    assert found.nodes[0].changes[0].name == "title" and (found.nodes[0].changes[0].first, found.nodes[0].changes[0].second) == ("all", "some")
    assert found.nodes[1].changes[0].what == "only_in_first"
    assert found.nodes[2].elements.different == 1 and found.nodes[2].elements.places[0]["index"] == [3, 4]
    assert "1 of 3000 elements differ" in str(found)
    assert [node.path for node in zarrkit.diff(url, tmp_path / "c.zarr", tolerance=1, ignore_attributes=True).nodes] == ["/more/n"]
    assert zarrkit.diff(url / "t", tmp_path / "c.zarr" / "t", layout=True, only_metadata=True).nodes[0].changes[0].name == "chunks"


def test_stores_of_python(url, tmp_path):
    """A mapping is copied from, and its checksum is that of the folder."""
    store = {str(file.relative_to(url)): file.read_bytes() for file in url.rglob("*") if file.is_file()}
    assert zarrkit.checksum(store) == zarrkit.checksum(url)
    zarrkit.copy(store, tmp_path / "c.zarr")
    assert_is_copy(tmp_path / "c.zarr")


def test_sizes_are_numbers_or_text():
    from zarrkit._sizes import bytes_of

    assert [bytes_of(text) for text in (None, 5, "5", "1kB", "2 KiB", "1.5GiB", "1m")] == [None, 5, 5, 1000, 2048, 3 * 2**29, 10**6]
    for text in ("", "x", "-1", "1 ZiB", "1e3"):
        with pytest.raises(ValueError):
            bytes_of(text)


@pytest.mark.parametrize("version", [2, 3])
def test_out_of_date_consolidated_metadata_hide_nothing(version, tmp_path):
    place = tmp_path / "a.zarr"
    group = zarr.create_group(place, zarr_format=version)
    kept = group.create_array("kept", shape=(4,), dtype="i4", chunks=(2,))
    kept[:] = range(4)
    zarr.consolidate_metadata(str(place), zarr_format=version)
    group = zarr.open_group(str(place), mode="r+", zarr_format=version, use_consolidated=False)
    group["kept"].append(np.array([4, 5], "i4"))
    group.create_array("new", shape=(3,), dtype="f8", chunks=(3,))[:] = [1.5, 2.5, 3.5]

    zarrkit.copy(place, tmp_path / "b.zarr")
    copied = zarrkit.open(tmp_path / "b.zarr")
    assert copied["kept"][:].tolist() == [0, 1, 2, 3, 4, 5]
    assert copied["new"][:].tolist() == [1.5, 2.5, 3.5]
    # A node that was opened through the copies, too.
    zarrkit.copy(zarrkit.open(place), tmp_path / "c.zarr")
    assert zarrkit.diff(tmp_path / "b.zarr", tmp_path / "c.zarr").is_equal
    assert zarrkit.diff(place, tmp_path / "c.zarr").is_equal
    plan = zarrkit.plan_copy(place, tmp_path / "d.zarr", parts=2)
    plan.begin()
    plan = pickle.loads(pickle.dumps(plan))
    plan.run(range(plan.parts))
    plan.finish()
    assert zarrkit.diff(place, tmp_path / "d.zarr").is_equal


def test_copy_takes_the_options_of_the_program(tmp_path):
    source = tmp_path / "a.zarr"
    array = zarr.create_array(source, name="a", shape=(4,), chunks=(2,), dtype="i4", zarr_format=2, compressors=None)
    array[:] = [1, 2, 3, 4]
    (source / "notes.txt").write_text("of the data")
    report = zarrkit.copy(source, tmp_path / "b.zarr", to="v3", keep_keys=True, no_extra_files=True, verify="data")
    assert report.notes == ["left out: `notes.txt`, which is not Zarr's"]
    assert not (tmp_path / "b.zarr/notes.txt").exists()
    assert (tmp_path / "b.zarr/a/1").read_bytes() == (source / "a/1").read_bytes()
    plan = zarrkit.plan_copy(source, tmp_path / "c.zarr", to="v3", recode=True, verify=True)
    plan.begin()
    again = pickle.loads(pickle.dumps(plan))
    for number in range(len(again)):
        again.run(number)
    again.finish()
    assert (tmp_path / "c.zarr/notes.txt").read_text() == "of the data"
    assert list(zarrkit.open(tmp_path / "c.zarr")["a"][:]) == [1, 2, 3, 4]
    with pytest.raises(ValueError, match='"stored" or "data"'):
        zarrkit.copy(source, tmp_path / "d.zarr", verify="both")


def climate(tmp_path):
    """Variables of time, lat and lon, a coordinate, and a group with one more."""
    root = zarr.create_group(tmp_path / "climate.zarr")
    for path, shape, chunks, names in (
        ("t2m", (40, 20, 30), (10, 10, 10), ("time", "lat", "lon")),
        ("pr", (40, 20, 30), (10, 10, 10), ("time", "lat", "lon")),
        ("time", (40,), (8,), ("time",)),
        ("deep/t2m", (40, 6), (10, 3), ("time", "depth")),
    ):
        array = root.create_array(path, shape=shape, chunks=chunks, dtype="i4", dimension_names=names)
        array[...] = np.arange(np.prod(shape)).reshape(shape)
    return tmp_path / "climate.zarr"


def test_copy_takes_chunks_shards_and_codecs_by_name(tmp_path):
    source, place = climate(tmp_path), tmp_path / "b.zarr"
    chunks = {...: "8kB", "time": 20, "t2m": {"lat": 5}, "/t2m": {"lat": 4}, "deep/t2m": (40, 6)}
    report = zarrkit.copy(source, place, chunks=chunks, shards={"pr": {"time": 40}}, codecs={"pr": ["gzip:1"], "deep/t2m": "none"})
    assert report.notes == ['/time: the coordinate keeps its chunks; chunks={"time": {"time": 20}} gives it others']
    assert zarrkit.plan_copy(source, tmp_path / "c.zarr", chunks=chunks).notes == report.notes
    before, after = zarr.open_group(source, mode="r"), zarr.open_group(place, mode="r")
    for path in ("t2m", "pr", "time", "deep/t2m"):
        assert (after[path][...] == before[path][...]).all()
    assert after["time"].chunks == (8,)
    assert after["t2m"].chunks == (20, 4, 25)
    assert after["pr"].chunks == (20, 10, 10) and after["pr"].shards == (40, 10, 10)
    assert after["deep/t2m"].chunks == (40, 6)
    assert [type(codec).__name__ for codec in after["pr"].compressors] == ["GzipCodec"]
    assert after["deep/t2m"].compressors == ()
    assert [type(codec).__name__ for codec in after["t2m"].compressors] == ["ZstdCodec"]


def test_whole_axes_no_shards_and_the_plan_that_tells_of_them(tmp_path):
    source, place = climate(tmp_path), tmp_path / "b.zarr"
    zarrkit.copy(source, place, chunks={"time": -1, "pr": (5, -1, -1)}, shards={"t2m": {"lat": -1}})
    after = zarr.open_group(place, mode="r")
    assert after["t2m"].chunks == (40, 10, 10) and after["t2m"].shards == (40, 20, 10)
    assert after["pr"].chunks == (5, 20, 30)
    plan = zarrkit.copy(place, tmp_path / "c.zarr", shards="none", chunks={"t2m": {"lat": 5}}, dry_run=True)
    assert plan.layouts["/t2m"]["shards"] == [[40, 20, 10], None]
    assert plan.layouts["/t2m"]["chunks"] == [[40, 10, 10], [40, 5, 10]]
    assert plan.layouts["/t2m"]["reads"]["lat"] == [2, 4] and plan.layouts["/t2m"]["reads"]["element"] == [1, 1]
    assert set(plan.recoded) == {"/t2m"} and "chunks" in plan.recoded["/t2m"]
    zarrkit.copy(place, tmp_path / "c.zarr", shards={"t2m": "none"})
    assert zarr.open_array(tmp_path / "c.zarr/t2m").shards is None
    assert zarrkit.diff(source, tmp_path / "c.zarr").is_equal
    with pytest.raises(ValueError, match="none"):
        zarrkit.copy(source, tmp_path / "d.zarr", chunks="none")


def test_names_that_a_copy_has_not_are_refused(tmp_path):
    source = climate(tmp_path)
    with pytest.raises(zarrkit.ArgumentError, match="did you mean `time`"):
        zarrkit.copy(source, tmp_path / "b.zarr", chunks={"tme": 3})
    with pytest.raises(zarrkit.ArgumentError, match="codecs: no array below / is named `lat`"):
        zarrkit.copy(source, tmp_path / "b.zarr", codecs={"lat": "zstd"})
    for given in ({3: 4}, {None: 4}):
        with pytest.raises(TypeError, match="names of arrays"):
            zarrkit.copy(source, tmp_path / "b.zarr", chunks=given)
        with pytest.raises(TypeError, match="names of arrays"):
            zarrkit.copy(source, tmp_path / "b.zarr", codecs=given)
    # A codec as a document has it is for all arrays.
    codec = {"name": "gzip", "configuration": {"level": 1}}
    zarrkit.copy(source, tmp_path / "c.zarr", codecs=codec)
    assert [type(codec).__name__ for codec in zarr.open_array(tmp_path / "c.zarr/pr").compressors] == ["GzipCodec"]


def image(place):
    """An OME-Zarr image of one level, as zarr-python writes it."""
    root = zarr.create_group(place)
    pixels = np.random.default_rng(2).integers(0, 4000, size=(2, 100, 90), dtype="u2")
    root.create_array("0", shape=pixels.shape, chunks=(1, 32, 32), dtype="u2", dimension_names=["c", "y", "x"])[...] = pixels
    axes = [{"name": "c", "type": "channel"}, {"name": "y", "type": "space"}, {"name": "x", "type": "space"}]
    scale = {"type": "scale", "scale": [1.0, 0.5, 0.5]}
    multiscale = {"axes": axes, "datasets": [{"path": "0", "coordinateTransformations": [scale]}]}
    root.attrs["ome"] = {"version": "0.5", "multiscales": [multiscale]}
    return pixels


def test_pyramid_adds_the_levels_that_an_image_lacks(tmp_path):
    pixels = image(tmp_path / "i.zarr")
    planned = zarrkit.pyramid(tmp_path / "i.zarr", dry_run=True)
    assert [level.shape for level in planned.levels] == [(2, 50, 45), (2, 25, 23)]
    assert list(zarr.open_group(tmp_path / "i.zarr", mode="r").array_keys()) == ["0"]
    seen = []
    made = zarrkit.pyramid(tmp_path / "i.zarr", progress=seen.append, memory="128 MiB")
    assert made == planned and made.levels[0].method == "mean" and made.levels[0].factors == (1, 2, 2)
    assert seen and seen[-1].done == seen[-1].total
    root = zarr.open_group(tmp_path / "i.zarr", mode="r")
    means = pixels.reshape(2, 50, 2, 45, 2).mean(axis=(2, 4))
    assert np.array_equal(root["1"][...], np.rint(means))
    assert [level["path"] for level in root.attrs["ome"]["multiscales"][0]["datasets"]] == ["0", "1", "2"]
    assert str(zarrkit.pyramid(tmp_path / "i.zarr")) == "all levels are there"


def test_pyramid_of_a_map_makes_a_group_of_each_level(tmp_path):
    source = climate(tmp_path)
    made = zarrkit.pyramid(source, convention="geo", levels=2)
    assert [level.path for level in made.levels] == ["/ovr_2x/pr", "/ovr_2x/t2m"]
    root = zarr.open_group(source, mode="r")
    means = root["t2m"][...].reshape(40, 10, 2, 15, 2).mean(axis=(2, 4))
    assert np.array_equal(root["ovr_2x/t2m"][...], np.rint(means))
    assert np.array_equal(root["ovr_2x/time"][...], root["time"][...])
    assert [level["asset"] for level in root.attrs["multiscales"]["layout"]] == [".", "ovr_2x"]
    with pytest.raises(ValueError, match="expected ome or geo"):
        zarrkit.pyramid(source, convention="gdal")


def test_a_pyramid_in_parts_is_the_same(tmp_path):
    image(tmp_path / "i.zarr")
    image(tmp_path / "j.zarr")
    options = {"method": "max", "factor": {"y": 2, "x": 3}, "chunks": (1, 16, 16)}
    zarrkit.pyramid(tmp_path / "i.zarr", **options)
    for part in ("1/3", (3, 3), "2/3"):
        zarrkit.pyramid(tmp_path / "j.zarr", part=part, **options)
    zarrkit.pyramid(tmp_path / "j.zarr", finish=True)
    assert zarrkit.diff(tmp_path / "i.zarr", tmp_path / "j.zarr").is_equal


def test_pyramid_says_what_it_needs(tmp_path):
    image(tmp_path / "i.zarr")
    with pytest.raises(ValueError, match="expected one of mean, min"):
        zarrkit.pyramid(tmp_path / "i.zarr", method="average")
    with pytest.raises(zarrkit.ArgumentError, match="give the group of its image"):
        zarrkit.pyramid(tmp_path / "i.zarr", path="0")
    with pytest.raises(ValueError, match="none"):
        zarrkit.pyramid(tmp_path / "i.zarr", shards="no")
    with pytest.raises(ValueError, match="give one of"):
        zarrkit.pyramid(tmp_path / "i.zarr", part="1/2", finish=True)


def test_sync_makes_a_copy_equal_by_stored_objects(tmp_path):
    source = climate(tmp_path)
    first = zarrkit.sync(source, tmp_path / "b.zarr", dry_run=True)
    assert first.copied > 0 and not (tmp_path / "b.zarr").exists()
    assert zarrkit.sync(source, tmp_path / "b.zarr").bytes == first.bytes
    assert zarrkit.diff(source, tmp_path / "b.zarr").is_equal
    zarr.open_array(source / "t2m")[0, 0, 0] = -1
    again = zarrkit.sync(source, tmp_path / "b.zarr", compare="content", verify=True)
    assert again.copied == 1 and again.unchanged == first.copied - 1
    assert zarr.open_array(tmp_path / "b.zarr/t2m", mode="r")[0, 0, 0] == -1
    (tmp_path / "b.zarr/t2m/c/7").mkdir()
    (tmp_path / "b.zarr/t2m/c/7/0").write_bytes(b"x")
    left = zarrkit.sync(source, tmp_path / "b.zarr")
    assert left.only_in_target == ["t2m/c/7/0"] and left.deleted == []
    assert zarrkit.sync(source, tmp_path / "b.zarr", delete=True).deleted == ["t2m/c/7/0"]
    assert not (tmp_path / "b.zarr/t2m/c/7/0").exists()
    with pytest.raises(ValueError, match="times"):
        zarrkit.sync(source, tmp_path / "b.zarr", compare="mtime")


def parts_of_a_series(tmp_path):
    """Two hierarchies along one dimension."""
    for number, name in enumerate(("jan.zarr", "feb.zarr")):
        root = zarrkit.open(tmp_path / name, "a", dialect="v3")
        time = root.create("time", shape=2, chunks=2, dtype="f8", dimension_names=["time"], codec="none")
        time[...] = [2.0 * number, 2.0 * number + 1]
        v = root.create("v", shape=(2, 300), chunks=(1, 300), dtype="f4", dimension_names=["time", "x"])
        v[...] = np.arange(600).reshape(2, 300) + 1000 * number
    return [tmp_path / "jan.zarr", tmp_path / "feb.zarr"]


def test_references_join_files(tmp_path):
    sources = parts_of_a_series(tmp_path)
    made = zarrkit.refs(sources, inline=0)
    assert (made.axis, made.arrays, len(made), made.lost) == ("time", 2, 4, [])
    assert made.to_dict()["version"] == 1
    made.write(tmp_path / "all.json")
    whole = zarrkit.open(tmp_path / "all.json")
    assert whole["time"][...].tolist() == [0, 1, 2, 3]
    assert whole["v"][:, 0].tolist() == [0, 300, 1000, 1300]
    with pytest.raises(FileExistsError, match="overwrite=True"):
        made.write(tmp_path / "all.json")
    # References with relative paths are moved with their files.
    made.write(tmp_path / "all.json", overwrite=True, relative=True)
    (tmp_path / "data").mkdir()
    for name in ("jan.zarr", "feb.zarr", "all.json"):
        (tmp_path / name).rename(tmp_path / "data" / name)
    assert zarrkit.open(tmp_path / "data" / "all.json")["v"][3, 1] == 1301


def test_references_that_cannot_be_are_refused(tmp_path):
    sources = parts_of_a_series(tmp_path)
    made = zarrkit.refs(sources)
    for place in ("jan.zarr/zarr.json", "jan.zarr/v/c/0/0"):
        before = (tmp_path / place).read_bytes()
        with pytest.raises(ValueError, match="the files that the references are to"):
            made.write(tmp_path / place, overwrite=True)
        assert (tmp_path / place).read_bytes() == before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["feb.zarr", "jan.zarr"]
    # Nor by another name.
    chunk = tmp_path / "jan.zarr" / "v" / "c" / "0" / "0"
    before = chunk.read_bytes()
    (tmp_path / "link").symlink_to(chunk)
    with pytest.raises(ValueError, match="the files that the references are to"):
        made.write(tmp_path / "link", overwrite=True)
    assert chunk.read_bytes() == before
    with pytest.raises(ValueError, match='`to` must be "v2" or "v3"'):
        zarrkit.refs(sources, to="draft-2020")
    zarrkit.open(tmp_path / "jan.zarr", mode="r+")["time"].attrs["units"] = "days since 2001-01-01"
    zarrkit.open(tmp_path / "feb.zarr", mode="r+")["time"].attrs["units"] = "days since 2001-02-01"
    with pytest.raises(ValueError, match="option decode-times"):
        zarrkit.refs(sources)
    with pytest.raises(ValueError, match="no array of"):
        zarrkit.refs(sources, axis="depth")
    with pytest.raises(FileNotFoundError):
        zarrkit.refs(tmp_path / "absent.nc")
