#!/usr/bin/env bash
# Dask's own tests of Zarr, unmodified, as the wheel has them, through zarrkit's pipeline: `suites/dask_zarr.sh PYTHON`, a Python with Dask,
# zarr-python and pytest. 33 tests of `dask.array.tests.test_array_core`. The fallbacks are printed last.
set -euo pipefail
python=${1:?a Python with Dask, zarr-python and pytest}
package=$(cd "$(dirname "$0")/.." && pwd)
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"

# Tests that are expected to fail, one a line, with the reason. One that passes is an error, too.
expected=''

# Dask's own configuration of pytest, which the wheel lacks, makes errors of its warnings.
ZARR_CODEC_PIPELINE__PATH=zarrkit.Pipeline PYTHONPATH="$package/python:$package/suites" PYTHONDONTWRITEBYTECODE=1 \
    "$python" -m pytest -q -p no:cacheprovider -c /dev/null -p pipeline_plugin -rfE -W error::dask.array.core.PerformanceWarning \
    --pyargs dask.array.tests.test_array_core -k zarr >log 2>&1 || true
cat log
failed=$(sed -nE 's/^(FAILED|ERROR) [^:]*::(\w+).*/\2/p' log | sort)
if [[ $failed != "$(sort <<<"$expected" | sed -E 's/ .*//;/^$/d')" ]]; then
    echo "other tests fail than the list has: ${failed:-none}"
    exit 1
fi
grep -qE '33 passed' log
