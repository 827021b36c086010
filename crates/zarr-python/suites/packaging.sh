#!/usr/bin/env bash
# Row W1: the source distribution is complete, one wheel installs and works in empty environments of Python 3.11, 3.12 and 3.13, and how
# large and how quick to import they are. Prints figures; fails where one is above its limit.
#
# `crates/zarr-python/suites/packaging.sh [FOLDER]` works in FOLDER (default: scratch/packaging). Needs Rust, a C compiler, and
# python3.11, python3.12 and python3.13, or those of the variable PYTHONS. Builds twice with optimisation: minutes.
set -euo pipefail
cd "$(dirname "$0")/../../.."
top=$PWD
folder=$(realpath -m "${1:-scratch/packaging}")
read -ra pythons <<<"${PYTHONS:-python3.11 python3.12 python3.13}"
readonly most_wheel=18000000 most_core=5000000 most_import=30
export PIP_DISABLE_PIP_VERSION_CHECK=1 PYTHONDONTWRITEBYTECODE=1 CARGO_INCREMENTAL=0
export CARGO_TARGET_DIR=${PACKAGING_TARGET_DIR:-$folder/target}
unset PYTHONPATH

failed=0
# at_most LIMIT NUMBER UNIT WHAT
at_most() {
    printf '%s: %s %s (at most %s)\n' "$4" "$2" "$3" "$1"
    if (($2 > $1)); then
        echo "too much: $4"
        failed=1
    fi
}

rm -rf "$folder"/{sdist,empty,wheel,core,venv-*}
mkdir -p "$folder/empty"

"${pythons[0]}" -m venv "$folder/venv-build"
"$folder/venv-build/bin/pip" install --quiet 'maturin>=1.16,<2'
maturin=$folder/venv-build/bin/maturin

# In an empty folder: nothing of the repository is within reach.
(cd crates/zarr-python && "$maturin" sdist --out "$folder/sdist") >/dev/null 2>&1
sdist=("$folder"/sdist/*.tar.gz)
printf 'source distribution: %s bytes\n' "$(stat -c %s "${sdist[0]}")"
# With the time of now: the archive's, which are years old, would let Cargo take what an earlier run compiled.
tar xmzf "${sdist[0]}" -C "$folder/empty"
sources=("$folder"/empty/*)
for licence in LICENSE-MIT LICENSE-APACHE; do test -s "${sources[0]}/$licence"; done
# The plug-in of netCDF's library is in wheels only: the source distribution has no crate that nothing in it needs.
PLUGIN_FOLDER=$(dirname "$(find "${sources[0]}" -path '*/python/zarrkit/__init__.py')") "$top/crates/zarr-python/add_plugin" --profile dist
(cd "${sources[0]}" && "$maturin" build --profile dist --compression-level 9 --out "$folder/wheel") >"$folder/wheel.log" 2>&1 || { cat "$folder/wheel.log"; exit 1; }
wheel=("$folder"/wheel/*-abi3-*.whl)
at_most $most_wheel "$(stat -c %s "${wheel[0]}")" bytes 'wheel with everything'
rm "$(find "${sources[0]}" -name libzarr_netcdf.so)"
(cd "${sources[0]}" && "$maturin" build --profile dist --compression-level 9 --no-default-features --features core --out "$folder/core") >"$folder/core.log" 2>&1 ||
    { cat "$folder/core.log"; exit 1; }
core=("$folder"/core/*-abi3-*.whl)
at_most $most_core "$(stat -c %s "${core[0]}")" bytes 'core wheel'

# check ENVIRONMENT: reads, writes and pickles; prints the versions.
check() {
    (cd "$folder" && "$1/bin/python" -W error - <<'PYTHON')
import pickle, sys, tempfile
import numpy as np
import zarrkit
url = tempfile.mkdtemp() + "/a.zarr"
array = zarrkit.create_array(url, "/a", shape=(50, 60), chunks=(20, 20), dtype="f4", codecs=["zstd:3"])
elements = np.arange(3000, dtype="f4").reshape(50, 60)
array[...] = elements
assert np.array_equal(pickle.loads(pickle.dumps(array))[::-2, 5:], elements[::-2, 5:])
print(f"works: Python {sys.version.split()[0]}, NumPy {np.__version__}")
PYTHON
}

# The least of some times of importing over NumPy, in ms: other programs may run.
importing() {
    for _ in 1 2 3 4 5; do
        (cd "$folder" && "$1/bin/python" -c '
import time, numpy
began = time.perf_counter()
import zarrkit
print(round((time.perf_counter() - began) * 1000))')
    done | sort -n | head -1
}

for python in "${pythons[@]}"; do
    home=$folder/venv-$(basename "$(dirname "$(dirname "$python")")")$(basename "$python")
    "$python" -m venv "$home"
    "$home/bin/pip" install --quiet "${wheel[0]}"
    check "$home"
    at_most $most_import "$(importing "$home")" ms 'import over NumPy'
done

# Any netCDF program finds the plug-in of the wheel: here that of PyPI, which is not told where it is.
"$home/bin/pip" install --quiet netCDF4==1.7.5.1.post1
(
    cd "$folder"
    export NCRCENV_RC=$folder/ncrc
    rm -f "$NCRCENV_RC"
    "$home/bin/python" -m zarrkit netcdf-plugin --install
    "$home/bin/python" -m zarrkit create plugged.zarr/t --shape 3 --dtype int16
    PATH= "$home/bin/python" -m zarrkit netcdf-plugin --check plugged.zarr
    "$home/bin/python" -c 'import netCDF4; print("plug-in:", netCDF4.Dataset("plugged.zarr/zarr.json")["t"].shape)'
    "$home/bin/python" -m zarrkit netcdf-plugin --remove
)

# The oldest NumPy that the package promises; it has no wheels for newer Pythons than 3.12.
home=$folder/venv-oldest
"${pythons[0]}" -m venv "$home"
"$home/bin/pip" install --quiet "${wheel[0]}" numpy==2.0.0
check "$home"

home=$folder/venv-core
"${pythons[0]}" -m venv "$home"
"$home/bin/pip" install --quiet "${core[0]}"
check "$home"

# From the repository, as a user would.
home=$folder/venv-source
"${pythons[1]:-${pythons[0]}}" -m venv "$home"
"$home/bin/pip" install --quiet "$top/crates/zarr-python"
check "$home"
if [[ -n $(cd "$top" && git status --porcelain crates/zarr-python) ]]; then
    echo 'pip install left files in the repository'
    failed=1
fi
exit $failed
