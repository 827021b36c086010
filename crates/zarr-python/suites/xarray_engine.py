"""xarray's own tests of its zarr backend, unmodified, reading with `engine="zarrkit"`; they write as they do anyway.

Run by `suites/xarray_zarr.py`, or `pytest crates/zarr-python/suites/xarray_engine.py` with pytest-asyncio (`-o asyncio_mode=auto`).
"""

import contextlib

import pytest
import xarray as xr
from xarray.tests import test_backends

from zarrkit._xarray import XarrayEngine

# Fixtures of the tests.
from xarray.tests.conftest import *  # noqa: F401, F403  isort: skip
from xarray.tests.test_backends import *  # noqa: F401, F403  isort: skip

#: Tests that cannot pass, with the reason; one that passes is a failure.
EXPECTED_FAILURES = {
    "test_compressor_encoding": "`encoding` has no `compressors`: a copy of a dataset is written with those of its own writer",
}
#: Those of mappings alone.
OF_MAPPINGS = {
    "test_pickle": "a handle on a store in this process's memory is not pickled: another process has not that memory",
    "test_pickle_dataarray": "as test_pickle",
}

OWN_KEYWORDS = {"mode", "chunk_store", "synchronizer", "zarr_format", "zarr_version", "cache_members"}


class ReadByZarrkit:
    expected_failures = EXPECTED_FAILURES

    @pytest.fixture(autouse=True)
    def expected(self, request):
        reason = self.expected_failures.get(request.node.originalname)
        if reason:
            request.applymarker(pytest.mark.xfail(reason=reason, strict=True))

    @contextlib.contextmanager
    def open(self, path, **kwargs):
        keywords = {**kwargs, **kwargs.pop("backend_kwargs", {})}
        keywords.pop("backend_kwargs", None)
        keywords = {name: value for name, value in keywords.items() if name not in OWN_KEYWORDS}
        with xr.open_dataset(path, engine=XarrayEngine, **keywords) as dataset:
            yield dataset


class TestFolders(ReadByZarrkit, test_backends.TestZarrDirectoryStore):
    pass


class TestMappings(ReadByZarrkit, test_backends.TestZarrDictStore):
    expected_failures = EXPECTED_FAILURES | OF_MAPPINGS


for name in [name for name in globals() if name.startswith(("Test", "test_")) and name not in ("TestFolders", "TestMappings")]:
    del globals()[name]
