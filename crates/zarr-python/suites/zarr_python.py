"""zarr-python's own tests of arrays, groups, indexing and codecs, unmodified, with `zarrkit.Pipeline`.

`python crates/zarr-python/suites/zarr_python.py [--own-passes] [FOLDER] [-- OPTION OF PYTEST]...`, with Python that has zarr-python, pytest, pytest-asyncio and hypothesis. The
tests are those of the source distribution of the installed release, which pip downloads to FOLDER. `--own-passes` leaves out the run with
zarr-python's own pipeline and takes it that all tests pass there.
"""

import sys
import tempfile
from pathlib import Path

import zarr
from others import environment, judge, outcomes, source

PATHS = ["test_indexing.py", "test_array.py", "test_group.py", "test_properties.py", "test_codecs", "test_codec_pipeline_suite.py"]

COUNTS = "counts the calls on a store; a guarded write reads the chunk once more, to compare it before it is replaced"
SYNC = "counts asynchronous calls on a store; zarrkit makes the synchronous ones"
DOCUMENT = "a store that cannot be read; a guarded write looks at the array's document first"
WORDS = "the error has other words, and is `CorruptDataError` for what is stored"
ORDER = "the order of the inner chunks in a shard, which the format leaves open; zarrkit writes them in C order"
INNER = "replaces a part of zarr-python's own reader of shards"
#: By release of zarr-python: what fails, and why.
EXPECTED = {
    "3.1": {
        "tests.test_indexing::test_accessed_chunks[shape2-chunks2-ops2]": COUNTS,
        "tests.test_indexing::test_accessed_chunks[shape3-chunks3-ops3]": COUNTS,
        "tests.test_array::test_orthogonal_set_total_slice": DOCUMENT,
    },
    "3.4": {
        "tests.test_indexing::test_accessed_chunks[shape2-chunks2-ops2]": COUNTS,
        "tests.test_indexing::test_accessed_chunks[shape3-chunks3-ops3]": COUNTS,
        "tests.test_array::test_shard_write_num_gets[selection1-1]": SYNC,
        "tests.test_codecs.test_scale_offset::test_uint64_encode_rejects_underflow": WORDS,
        "tests.test_codecs.test_scale_offset::test_integer_decode_rejects_non_exact_division": WORDS,
        "tests.test_codecs.test_scale_offset::test_encode_rejects_signed_integer_overflow": WORDS,
        "tests.test_codecs.test_scale_offset::test_encode_rejects_unsigned_integer_underflow": WORDS,
        "tests.test_codecs.test_scale_offset::test_decode_rejects_integer_overflow_on_offset_add": WORDS,
        "tests.test_codecs.test_sharding::test_encoded_subchunk_write_order[morton]": ORDER,
        "tests.test_codecs.test_sharding::test_encoded_subchunk_write_order[colexicographic]": ORDER,
        **{
            f"tests.test_codecs.test_sharding::test_sharding_partial_shard_read__index_chunk_slice_fails[{store}-{place}]": INNER
            for store in ("local", "memory", "zip")
            for place in ("start", "end")
        },
    },
}

if __name__ == "__main__":
    arguments, _, options = " ".join(sys.argv[1:]).partition(" -- ")
    own_passes, folder = "--own-passes" in arguments.split(), arguments.replace("--own-passes", "").strip()
    with tempfile.TemporaryDirectory() as temporary:
        there = Path(temporary)
        place = Path(folder or there).resolve()
        place.mkdir(parents=True, exist_ok=True)
        tests = source(f"zarr=={zarr.__version__}", place)
        paths = [f"tests/{path}" for path in PATHS if (tests / "tests" / path).exists()]
        variables = environment(there / "installed")
        own = {}
        if not own_passes:
            own = outcomes(tests, paths, variables, there / "own.xml", *options.split())
        chosen = {**variables, "ZARR_CODEC_PIPELINE__PATH": "zarrkit.Pipeline"}
        ours = outcomes(tests, paths, chosen, there / "ours.xml", "-p", "pipeline_plugin", *options.split())
        sys.exit(judge(own, ours, EXPECTED[zarr.__version__.rpartition(".")[0]]))
