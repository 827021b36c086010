#!/usr/bin/env bash
# Sets up everything under $BENCH_WORK (default: scratch/bench of the project): Python peers, Rust drivers, data.
#   ./setup.sh [SIZE]             SIZE: edge of the uint16 volume, default 512 (256 MiB; all data sets together about 2.5 GiB on disk)
#   ./setup.sh --data [SIZE]      only the data and what makes them, which is what compare.py needs
set -euo pipefail
cd "$(dirname "$0")"
export BENCH_WORK="${BENCH_WORK:-$PWD/../../scratch/bench}"
only_data=
if [ "${1:-}" = --data ]; then only_data=1; shift; fi
mkdir -p "$BENCH_WORK/data"
BENCH_WORK="$(cd "$BENCH_WORK" && pwd)"
[ -x "$BENCH_WORK/venv/bin/python" ] || python3 -m venv "$BENCH_WORK/venv"
if [ -n "$only_data" ]; then
  grep -E '^(zarr|numpy|numcodecs|google-crc32c)==' requirements.txt | "$BENCH_WORK/venv/bin/pip" install -q -r /dev/stdin
else
  "$BENCH_WORK/venv/bin/pip" install -q -r requirements.txt
  # zarr-python 3.4, for its fused pipeline, where its Python is here
  if command -v python3.12 >/dev/null && python3.12 -c ''; then
    [ -x "$BENCH_WORK/venv312/bin/python" ] || python3.12 -m venv "$BENCH_WORK/venv312"
    "$BENCH_WORK/venv312/bin/pip" install -q -r requirements-3.12.txt
  else
    echo "Python 3.12 is not here: rows of zarr-python-fused are left out"
  fi
  # one package at a time: built together, cargo would unify features and hand zarrs our faster gzip backend
  for p in peer_zarrs limits ours; do
    CARGO_TARGET_DIR="$BENCH_WORK/target" cargo build --release -j2 --manifest-path rust/Cargo.toml -p "$p"
  done
fi
"$BENCH_WORK/venv/bin/python" gen.py --out "$BENCH_WORK/data" --size "${1:-512}" --scales
