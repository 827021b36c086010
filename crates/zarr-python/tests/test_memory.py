"""How much memory reads take, and what remains of them."""

import os
import subprocess
import sys

import numpy as np
import pytest

import zarrkit

pytestmark = pytest.mark.skipif(not os.path.exists("/proc/self/status"), reason="memory is read from /proc")

#: How many times a hierarchy is opened and read; `.ci/full zarrkit_long` has 10,000.
OPENS = int(os.environ.get("ZARRKIT_OPENS", 1000))

FIGURES = """
import gc, re, zarrkit
def memory(name):
    return int(re.search(name + r":\\s+(\\d+)", open("/proc/self/status").read())[1]) << 10
"""


def in_process(code):
    done = subprocess.run([sys.executable, "-c", FIGURES + code], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return int(done.stdout)


@pytest.mark.timeout(120)
@pytest.mark.parametrize("shards", [None, (128, 128, 128)])
def test_a_read_takes_its_result_and_64_mib(tmp_path, shards):
    """Row S2."""
    url = tmp_path / "a.zarr"
    array = zarrkit.create_array(url, "/a", shape=(256, 512, 256), chunks=(64, 64, 64), shards=shards, dtype="f4", codecs=["zstd:1"])
    array[...] = np.random.default_rng(1).normal(size=(512, 256)).astype("f4")
    code = f"""
array = zarrkit.open({str(url)!r})["a"]
array[0, 0, 0]
before = memory("VmRSS")
result = array[...]
print(memory("VmHWM") - before - result.nbytes)
"""
    assert in_process(code) <= 64 << 20


@pytest.mark.timeout(300)
def test_nothing_remains_of_handles_and_reads(tmp_path):
    """Row S3: growth below 1 MiB."""
    url = tmp_path / "a.zarr"
    array = zarrkit.create_array(url, "/a", shape=(40, 40), chunks=(10, 10), dtype="f4")
    array[...] = np.arange(1600).reshape(40, 40)
    code = f"""
import pickle
def use():
    array = zarrkit.open({str(url)!r}, threads=2)["a"]
    assert array[3:30, 5].sum() > 0
    assert array.read(progress=lambda now: None).sum() > 0
    assert pickle.loads(pickle.dumps(array)).shape == (40, 40)
for _ in range(300):
    use()
gc.collect()
before = memory("VmRSS")
for _ in range({OPENS}):
    use()
gc.collect()
print(memory("VmRSS") - before)
"""
    assert in_process(code) < 1 << 20


@pytest.mark.parametrize("dtype", ["u2", ">f4", "c16", "M8[s]", "S5", "U3", [("a", "u1"), ("b", "<f8")]])
def test_large_results_begin_at_a_line_of_the_cache(tmp_path, dtype):
    values = (np.arange(1024 * 1030) % 100).reshape(1024, 1030).astype(dtype)
    array = zarrkit.create_array(tmp_path / "a.zarr", "/a", shape=values.shape, chunks=(500, 1030), dtype=values.dtype)
    array[...] = values
    for key in [..., slice(1, None), (slice(None, None, -1), slice(2, None))]:
        result = array[key]
        assert result.ctypes.data % 64 == 0
        assert result.flags.c_contiguous and result.flags.aligned and result.flags.writeable
        assert result.dtype == values.dtype.newbyteorder("=") and (result == values[key]).all()
    assert (array[3] == values[3]).all()
