#!/usr/bin/env bash
# Checks the types of zarrkit: the stubs against the module, and the examples of the pages by pyright, strictly.
# `types.sh VENV [stubs]`: the Python environment VENV gets the tools; it has NumPy. The module is built by `crates/zarr-python/develop`.
# With `stubs` only those are checked, which needs no Node.
set -euo pipefail
venv=$(realpath "$1")
cd "$(dirname "$0")/.."
"$venv/bin/pip" install --quiet "mypy==2.4.1" "numpy>=2.0"
PYTHONPATH=python MYPYPATH=python "$venv/bin/python" -m mypy.stubtest zarrkit._zarrkit --allowlist suites/types-allowed.txt
if [[ ${2-} == stubs ]]; then exit; fi
"$venv/bin/pip" install --quiet "pyright==1.1.414"
work=$(mktemp -d)
trap 'rm -r "$work"' EXIT
# The blocks of each page that needs nothing but NumPy, one after the other: as the test of the pages runs them.
"$venv/bin/python" - "$work" ../../docs/python/*.md <<'PYTHON'
import re
import sys
from pathlib import Path

for page in map(Path, sys.argv[2:]):
    blocks = re.findall(r"^```python\n(.*?)^```$", page.read_text(), re.M | re.S)
    text = "\n".join(blocks)
    if not re.search(r"^\s*(?:import|from) (?!numpy|zarrkit$|pathlib|pickle|os$|sys$|threading|multiprocessing)", text, re.M):
        Path(sys.argv[1], f"{page.stem.replace('-', '_')}.py").write_text(text)
PYTHON
cat > "$work/pyrightconfig.json" <<JSON
{"typeCheckingMode": "strict", "extraPaths": ["$PWD/python"], "pythonVersion": "3.11"}
JSON
ls "$work"/*.py
"$venv/bin/pyright" --pythonpath "$venv/bin/python" --project "$work"
