"""Errors are exceptions of Python's own, with text for those who write Python."""

import errno
import os
import pickle
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import zarr

import zarrkit
from zarrkit import _errors

# What nobody finds in Python: paths and functions of Rust, options and commands of the program.
FOREIGN = re.compile(r"\w::[A-Za-z]|`[a-z_]+\((?:true|false|\.\.)?\)`|(?<![\w-])--[a-z]|library: |`zarr [a-z]|enable the feature|Limits|CopyOptions")


@pytest.fixture
def url(tmp_path):
    url = tmp_path / "d.zarr"
    zarrkit.create(url / "x", shape=(4, 6), dtype="i4", chunks=(2, 3))[...] = 1
    return url


def corrupt(url):
    next(url.glob("x/c/*/*")).write_bytes(b"\1")
    return zarrkit.open(url)["x"][...]


def broken(url):
    (url / "x" / "zarr.json").write_text('{"zarr_format": 3, "node_type": "array"}')
    return zarrkit.open(url)["x"]


def unknown(url):
    document = url / "x" / "zarr.json"
    document.write_text(document.read_text().replace('"bytes"', '"nobody.knows"'))
    return zarrkit.open(url)["x"][...]


def exists(url):
    zarrkit.create(url / "x", shape=1, dtype="i1")


def copied_twice(url):
    zarrkit.copy(url, url.parent / "copy.zarr")
    zarrkit.copy(url, url.parent / "copy.zarr")


def under_way(url):
    plan = zarrkit.plan_copy(url, url.parent / "copy.zarr", parts=2)
    plan.begin()
    return plan


def opened_under_way(url):
    under_way(url)
    zarrkit.open(url.parent / "copy.zarr")


def begun_again(url):
    under_way(url)
    zarrkit.copy(url, url.parent / "copy.zarr")


def finished_too_early(url):
    under_way(url).finish()


def another_copy(url):
    under_way(url)
    zarrkit.copy(url, url.parent / "copy.zarr", resume=True, chunks=(4, 4))


# What is done, the exceptions of Python that it raises, `kind`, and what the text says.
CASES = {
    "nothing": (lambda url: zarrkit.open(url / "y"), (FileNotFoundError,), "not_found", "not found|no Zarr"),
    "no member": (lambda url: zarrkit.open(url)["y"], (KeyError, FileNotFoundError), "not_found", "y"),
    "read-only": (lambda url: zarrkit.open(url)["x"].__setitem__(0, 1), (PermissionError,), "read_only", 'mode="r\\+"'),
    "read-only group": (lambda url: zarrkit.open(url).create_group("g"), (PermissionError,), "read_only", 'mode="r\\+"'),
    "exists": (exists, (FileExistsError,), "exists", "overwrite=True"),
    "copied twice": (copied_twice, (FileExistsError,), "exists", "overwrite=True"),
    "damaged document": (broken, (ValueError,), "invalid_metadata", "shape"),
    "unknown codec": (unknown, (NotImplementedError,), "unsupported", "nobody.knows"),
    "damaged chunk": (corrupt, (OSError,), "corrupt_data", "chunk"),
    "wrong chunks": (lambda url: zarrkit.create(url / "z", shape=(4,), dtype="i1", chunks=(1, 2)), (ValueError,), "argument", "chunk"),
    "unknown type": (lambda url: zarrkit.create(url / "z", shape=(4,), dtype="int33"), (ValueError,), "argument", "int33"),
    "unknown codec's name": (lambda url: zarrkit.create(url / "z", shape=4, dtype="i1", codec="zstandard"), (ValueError, NotImplementedError), None, "zstandard"),
    "no path": (lambda url: zarrkit.open(url)["a//b"], (ValueError,), "argument", "a//b"),
    "reserved name": (lambda url: zarrkit.open(url, "r+").create_group("__x"), (ValueError,), "argument", "__x"),
    "below an array": (lambda url: zarrkit.open(url, "r+").create_group("x/y"), (ValueError,), "argument", "array"),
    "no scheme": (lambda url: zarrkit.open("gopher://x/y"), (ValueError,), "argument", "gopher"),
    "too large": (lambda url: zarrkit.open(url, limits={"document": 10}), (MemoryError,), "limit", "limits="),
    "copy under way": (opened_under_way, (FileNotFoundError,), "not_found", "resume=True"),
    "copy under way, begun again": (begun_again, (FileExistsError,), "exists", "resume=True"),
    "parts are missing": (finished_too_early, (ValueError,), "argument", "part"),
    "another copy is under way": (another_copy, (ValueError,), "argument", "chunks"),
    "no copy under way": (lambda url: zarrkit.copy(url, url.parent / "copy.zarr", finish=True), (FileNotFoundError,), "not_found", "copy"),
    "copy of nothing": (lambda url: zarrkit.copy(url / "y", url.parent / "copy.zarr"), (FileNotFoundError,), "not_found", "y"),
    "chunks of another rank": (lambda url: zarrkit.copy(url, url.parent / "copy.zarr", chunks=(1, 2, 3)), (ValueError,), "argument", "chunk"),
    "shards in v2": (lambda url: zarrkit.copy(url, url.parent / "c.zarr", to="v2", shards=(4, 6)), (ValueError,), "argument", "shards"),
    "name that is not UTF-8": (lambda url: zarrkit.open("d\udc80.zarr"), (ValueError,), None, "UTF-8"),
    "name of bytes": (lambda url: zarrkit.open(bytes(url)), (TypeError,), None, "os.fsdecode"),
    "new name of bytes": (lambda url: zarrkit.create(bytes(url), shape=1, dtype="i1"), (TypeError,), None, "os.fsdecode"),
    "new name that is not UTF-8": (lambda url: zarrkit.create("d\udc80.zarr", shape=1, dtype="i1"), (ValueError,), None, "UTF-8"),
    "objects of any kind": (lambda url: zarrkit.create(url / "z", shape=4, dtype=object), (ValueError,), None, "variable_length_bytes"),
    "chunks of words": (lambda url: zarrkit.create(url / "z", shape=4, dtype="i1", chunks="large"), (ValueError,), None, "'large'"),
    "shards of truth": (lambda url: zarrkit.create(url / "z", shape=4, dtype="i1", shards=True), (ValueError,), None, "not True"),
    "a codec of a number": (lambda url: zarrkit.create(url / "z", shape=4, dtype="i1", codec=5), (TypeError,), None, "zstd:3"),
    "attributes of a list": (lambda url: zarrkit.create(url / "z", shape=4, dtype="i1", attrs=[1]), (TypeError,), None, "`attrs`.*dict"),
    "less than nothing": (lambda url: zarrkit.open(url, "r+")["x"].resize(-1, 2), (ValueError,), None, "`shape`.*-1"),
    "a member that is assigned": (lambda url: zarrkit.open(url, "r+").__setitem__("q", np.ones(3)), (TypeError,), None, r'create_array\("q"'),
    "elements that are deleted": (lambda url: zarrkit.open(url, "r+")["x"].__delitem__(0), (ValueError,), None, "resize"),
    "memory that is none": (lambda url: zarrkit.open(url)["x"].read(out=[0]), (TypeError,), None, "`out`.*list"),
    "no copies": (lambda url: zarrkit.open(url, consolidated=True), (FileNotFoundError,), "not_found", "consolidated|copies"),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_errors(url, case):
    act, kinds, kind, text = CASES[case]
    with pytest.raises(kinds) as caught:
        act(url)
    error = caught.value
    assert isinstance(error, zarrkit.ZarrError) and all(isinstance(error, expected) for expected in kinds) or kind is None
    assert re.search(text, str(error)), str(error)
    assert not FOREIGN.search(str(error)), str(error)
    assert kind is None or error.kind == kind
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is type(error) and str(again) == str(error) and again.__dict__ == error.__dict__


def test_what_an_error_knows(url):
    with pytest.raises(zarrkit.CorruptDataError) as caught:
        corrupt(url)
    error = caught.value
    assert error.store == f"file://{url}" and error.path == "/x" and error.chunk in {(0, 0), (0, 1), (1, 0), (1, 1)}
    assert error.key == f"x/c/{error.chunk[0]}/{error.chunk[1]}" and error.message in str(error)
    with pytest.raises(zarrkit.ReadOnlyError) as caught:
        zarrkit.open(url).attrs["a"] = 1
    assert caught.value.hint == 'open it with mode="r+"' and caught.value.errno == errno.EACCES
    assert zarrkit.NotFoundError("x").errno == errno.ENOENT and zarrkit.ExistsError("x").errno == errno.EEXIST


def test_a_failed_call_of_the_system_has_its_number(tmp_path):
    """As a full disk: the system lets no file of this process grow beyond 1,000 bytes."""
    code = """
import errno, pickle, resource, sys
import numpy as np, zarrkit
array = zarrkit.create_array(sys.argv[1], "/", shape=(10_000,), dtype="u1", chunks=(10_000,), codecs=[])
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, resource.RLIM_INFINITY))
try:
    array[...] = np.arange(10_000) % 251
except OSError as error:
    assert isinstance(error, zarrkit.StoreError) and error.errno == errno.EFBIG, error
    assert pickle.loads(pickle.dumps(error)).errno == errno.EFBIG
else:
    raise SystemExit("it was written")
"""
    subprocess.run([sys.executable, "-c", code, str(tmp_path / "a.zarr")], check=True)
    assert zarrkit.StoreError("x").errno is None


@pytest.mark.skipif(not hasattr(os, "setuid") or os.getuid() != 0, reason="becomes another user")
@pytest.mark.parametrize("dialect", ["v2", "v3", "draft"])
def test_what_the_system_does_not_permit_is_a_permission_error(tmp_path, dialect):
    code = """
import errno, os, pickle, sys
import numpy as np, zarrkit
url, dialect = sys.argv[1:]
group = zarrkit.create_group(url, dialect=dialect)
for name in "xy":
    group.create(name, shape=4, chunks=2, dtype="i4")[...] = 1
# Another user may not be allowed to read Python's modules.
zarrkit.copy(url, url + "y/copy.zarr")
zarrkit.checksum(url)
for attempt in (lambda: zarrkit.open(url + "/none"), lambda: zarrkit.create(url)):
    try:
        attempt()
    except (OSError, ValueError) as error:
        pickle.loads(pickle.dumps(error))
for folder, _, files in os.walk(url):
    os.chmod(folder, 0o555)
    for file in files:
        os.chmod(os.path.join(folder, file), 0 if file[-1] == "1" else 0o444)
os.setgroups([])
os.setgid(65534)
os.setuid(65534)
group = zarrkit.open(url, "r+")
acts = {
    "read": lambda: group["x"][...],
    "part": lambda: group["x"].__setitem__(0, 5),
    "whole": lambda: group["x"].__setitem__(slice(0, 2), 5),
    "erase": lambda: group["x"].__setitem__(slice(0, 2), 0),
    "attributes": lambda: group.attrs.update(a=1),
    "resize": lambda: group["y"].resize(2),
    "create": lambda: group.create("n", shape=2, dtype="i4"),
    "replace": lambda: group.create("x", shape=2, dtype="i4", overwrite=True),
    "group": lambda: group.create_group("n"),
    "delete": lambda: group.__delitem__("x"),
    "copy from": lambda: zarrkit.copy(url, "memory://never"),
    "copy into": lambda: zarrkit.copy(url, url + "/n", select="y"),
    "checksum": lambda: zarrkit.checksum(url),
    "new": lambda: zarrkit.create(url + "x/a.zarr", shape=2, dtype="i4"),
}
os.umask(0)
for name, act in acts.items():
    try:
        act()
    except PermissionError as error:
        assert type(error) is zarrkit.PermissionDeniedError and error.errno == errno.EACCES and error.kind == "store", name
        again = pickle.loads(pickle.dumps(error))
        assert type(again) is type(error) and again.errno == errno.EACCES
    else:
        raise SystemExit(f"{name}: no error")
"""
    for folder in (tmp_path, *tmp_path.parents[:-2]):
        folder.chmod(0o755)
    closed = tmp_path / "d.zarrx"
    closed.mkdir(mode=0o555)
    subprocess.run([sys.executable, "-c", code, str(tmp_path / "d.zarr"), dialect], check=True)


def test_every_error_is_one_of_pythons_own():
    builtins = (ValueError, OSError, NotImplementedError, MemoryError)
    for name in zarrkit.__all__:
        found = getattr(zarrkit, name)
        if isinstance(found, type) and issubclass(found, zarrkit.ZarrError) and found is not zarrkit.ZarrError:
            assert issubclass(found, builtins), name
            assert str(found("text")) == "text" and found.__doc__


def test_secrets_are_not_shown(tmp_path):
    with pytest.raises(zarrkit.ZarrError) as caught:
        zarrkit.open("https://user:hunter2@127.0.0.1:9/d.zarr?token=hunter2", storage_options={"password": "hunter2"})
    assert "hunter2" not in str(caught.value) + repr(caught.value) + repr(caught.value.__dict__)


def test_errors_of_zarrs_own_data(tmp_path):
    """What zarr-python wrote, and this build cannot read, is named."""
    zarr.create_array(tmp_path / "d.zarr", shape=(2,), dtype="i4")
    document = tmp_path / "d.zarr" / "zarr.json"
    document.write_text(document.read_text().replace('"int32"', '"int33"'))
    array = zarrkit.open(tmp_path / "d.zarr")
    for use in (lambda: array[...], lambda: array.dtype, lambda: np.asarray(array)):
        with pytest.raises(NotImplementedError, match="int33"):
            use()


SOURCES = Path(__file__).resolve().parents[2]
# What a Python user does not meet: the program's own sources, and its help.
LIBRARY = ("zarr-core", "zarr-codecs", "zarr-stores", "zarr-tools", "zarr-nczarr", "zarr")


def texts():
    """All text between quotation marks in the sources of the library, without tests."""
    for crate in LIBRARY:
        for file in sorted((SOURCES / crate / "src").rglob("*.rs")):
            if "tests" in file.parts or "testkit" in file.parts or file.name == "tests.rs":
                continue
            source = file.read_text().split("#[cfg(test)]")[0]
            source = re.sub(r"^\s*//.*$", "", source, flags=re.M)
            for match in re.finditer(r'"((?:[^"\\]|\\.)*)"', source, flags=re.S):
                yield file, re.sub(r"\\\n\s*", "", match[1])


@pytest.mark.skipif(not (SOURCES / "zarr-core").is_dir(), reason="the sources of the library are not here")
def test_no_text_of_the_library_reaches_python_in_words_of_rust():
    hints = re.compile(r"`--[a-z]|library: |`[A-Z]\w+::\w|enable the feature|`zarr [a-z]|\((?:true|false)\)`")
    found = [(file, text) for file, text in texts() if hints.search(text)]
    assert len(found) > 20
    known = set(_errors._HINTS.values())
    for file, text in found:
        # What `concat!` puts together ends here.
        text = text if text.count("`") % 2 == 0 else text + "x` of `zarr`"
        words = _errors.in_words_of_python(text)
        replaced = any(hint in text for hint in REPLACED)
        assert replaced or words in known or not FOREIGN.search(words), f"{file}: {words}"


# The hints with an identity, which `_errors._HINTS` replaces.
REPLACED = (
    "open it with `zarr::open_rw` or `OpenOptions::read_write`",
    "erase it first, or create with `overwrite(true)`",
    "`locking(false)`",
    "read with `MissingChunks::Fill`",
    "a store needs `Capabilities::swap` for that",
)
