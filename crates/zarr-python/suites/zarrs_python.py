"""zarrs-python's own tests, unmodified, with `zarrkit.Pipeline` in place of its pipeline.

`python crates/zarr-python/suites/zarrs_python.py [FOLDER] [-- OPTION OF PYTEST]...`, with Python that has zarr-python, pytest, pytest-asyncio and pytest-mock, and if it has them
aiohttp and obstore. pip downloads zarrs-python's source distribution to FOLDER; its compiled module is not built. A module `zarrs` gives the tests our pipeline
under the name of theirs.
"""

import sys
import tempfile
from pathlib import Path

from others import environment, judge, outcomes, source, write_metadata

VERSION = "0.2.3"

#: The module `zarrs` for the tests. {base} is our pipeline, or zarr-python's.
SHIM = """
{base}


class ZarrsCodecPipeline(Base):
    pass


class DiscontiguousArrayError(Exception):
    pass


class UnsupportedDataTypeError(Exception):
    pass


class UnsupportedVIndexingError(Exception):
    pass


__version__ = "{version}"
"""

BASES = {
    "ours": "from zarrkit._pipeline import Pipeline as Base",
    "own": "from zarr.core.codec_pipeline import BatchedCodecPipeline as Base",
}

INTERNAL = "looks into zarrs-python's compiled module"
STRICT = "expects zarrs-python's strict mode to refuse what it does not do"
EXPECTED: dict[str, str] = {}

if __name__ == "__main__":
    arguments, _, options = " ".join(sys.argv[1:]).partition(" -- ")
    with tempfile.TemporaryDirectory() as temporary:
        there = Path(temporary)
        place = Path(arguments.strip() or there).resolve()
        place.mkdir(parents=True, exist_ok=True)
        tests = source(f"zarrs=={VERSION}", place)
        found = {}
        for which, base in BASES.items():
            module = there / which / "zarrs"
            module.mkdir(parents=True)
            text = SHIM.format(base=base, version=VERSION)
            (module / "__init__.py").write_text(text)
            (module / "pipeline.py").write_text("from zarrs import *\n")
            write_metadata(there / which, "zarrs", VERSION, {"zarr.codec_pipeline": {"zarrs": "zarrs:ZarrsCodecPipeline"}})
            variables = environment(there / which)
            plugin = ["-p", "pipeline_plugin"] if which == "ours" else []
            found[which] = outcomes(tests, ["tests"], variables, there / f"{which}.xml", "--import-mode=importlib", *plugin, *options.split())
        sys.exit(judge(found["own"], found["ours"], EXPECTED))
