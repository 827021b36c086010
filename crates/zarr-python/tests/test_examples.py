"""The examples of other schedulers run, and copy all elements; killed in between, they go on."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import zarr

import zarrkit

EXAMPLES = Path(__file__).parent.parent / "examples"
ELEMENTS = np.arange(1, 120 * 130 + 1, dtype="i4").reshape(120, 130)
pytestmark = pytest.mark.timeout(180)


@pytest.fixture
def source(tmp_path):
    made = zarr.create_array(tmp_path / "source.zarr", name="a", shape=ELEMENTS.shape, chunks=(30, 130), dtype="i4")
    made[...] = ELEMENTS
    return tmp_path / "source.zarr" / "a"


def check(target):
    copied = zarr.open_array(target, mode="r")
    assert copied.chunks == (50, 50)
    assert np.array_equal(copied[...], ELEMENTS)
    assert zarrkit.validate(target).problems == []


def run(*command, **variables):
    command = [str(word) for word in command]
    ended = subprocess.run(command, env={**os.environ, **variables}, capture_output=True, text=True, timeout=120)
    assert ended.returncode == 0, ended.stderr
    return ended.stdout


# Python with Ray: `.ci/full` has an environment for it, because its wheel has 79 MB.
RAY = os.environ.get("ZARRKIT_RAY", sys.executable)


def has_ray():
    command = [RAY, "-c", "import importlib.util, sys; sys.exit(not importlib.util.find_spec('ray'))"]
    return os.path.exists(RAY) and subprocess.run(command).returncode == 0


@pytest.mark.skipif(not has_ray(), reason=f"{RAY} has no Ray: `pip install ray`, or name a Python that has it in ZARRKIT_RAY")
def test_ray(tmp_path, source):
    target = tmp_path / "copy.zarr"
    # A run that died after two parts.
    plan = zarrkit.plan_copy(source, target, chunks=(50, 50), parts=8)
    plan.begin()
    plan.run([1, 4])
    # Ray keeps a token in the home folder, and names sockets by longer paths than those of a test may be.
    variables = {"HOME": str(tmp_path), "RAY_USAGE_STATS_ENABLED": "0", "RAY_TMPDIR": "/tmp"}
    assert "6 of 8 parts" in run(RAY, EXAMPLES / "ray_plan.py", source, target, **variables)
    check(target)


SPARK = '''
"""Stands in for Spark, which needs Java: pickles the function and runs it in other processes."""
import pickle, subprocess, sys


class SparkSession:
    def parallelize(self, items, slices):
        self.items = items
        assert slices == len(items)
        return self

    def foreach(self, function):
        work = "import pickle, sys; function, item = pickle.load(sys.stdin.buffer); function(item)"
        processes = []
        for item in self.items:
            process = subprocess.Popen([sys.executable, "-c", work], stdin=subprocess.PIPE)
            process.stdin.write(pickle.dumps((function, item)))
            process.stdin.close()
            processes.append(process)
        assert [process.wait() for process in processes] == [0] * len(processes)

    appName = lambda self, name: self
    getOrCreate = lambda self: self
    sparkContext = property(lambda self: self)


SparkSession.builder = SparkSession()
'''


def test_spark(tmp_path, source):
    pytest.importorskip("pyspark", reason="Spark is not installed: it has 450 MB, and needs Java")
    variables = {"SPARK_LOCAL_IP": "127.0.0.1", "PYSPARK_PYTHON": sys.executable}
    assert "8 of 8 parts" in run(sys.executable, EXAMPLES / "spark_plan.py", source, tmp_path / "copy.zarr", **variables)
    check(tmp_path / "copy.zarr")


def test_spark_as_far_as_it_goes_without_java(tmp_path, source):
    (tmp_path / "pyspark").mkdir()
    (tmp_path / "pyspark" / "__init__.py").touch()
    (tmp_path / "pyspark" / "sql.py").write_text(SPARK)
    target = tmp_path / "copy.zarr"
    # A run that died after two parts.
    plan = zarrkit.plan_copy(source, target, chunks=(50, 50), parts=8)
    plan.begin()
    plan.run([1, 4])
    path = os.pathsep.join(filter(None, [str(tmp_path), os.environ.get("PYTHONPATH")]))
    assert "6 of 8 parts" in run(sys.executable, EXAMPLES / "spark_plan.py", source, target, PYTHONPATH=path)
    check(target)


@pytest.mark.skipif(not shutil.which("bash"), reason="Slurm's scripts need a shell")
def test_slurm(tmp_path, source):
    target = tmp_path / "copy.zarr"
    script = [EXAMPLES / "slurm_array.sh", source, target]
    variables = {"ZARRKIT": f"{sys.executable} -m zarrkit", "SLURM_ARRAY_TASK_COUNT": "3"}
    for number in ("3", "1"):
        run("bash", *script, SLURM_ARRAY_TASK_ID=number, **variables)
    with pytest.raises(zarrkit.ZarrError, match="under way"):
        zarrkit.open(target)
    run("bash", *script, SLURM_ARRAY_TASK_ID="2", **variables)
    run("bash", *script, "--finish", **variables)
    check(target)
