"""Makes references in Parquet to `classic.nc` from `kerchunk.json`: `pip install kerchunk==0.2.10 fastparquet`. Files have 3 rows."""

import json
import shutil
from pathlib import Path

from kerchunk.df import refs_to_dataframe

HERE = Path(__file__).parent
refs = json.loads((HERE / "kerchunk.json").read_text())
target = HERE / "kerchunk.parq"
shutil.rmtree(target, ignore_errors=True)
# A chunk that has no reference.
del refs["refs"]["record_i2/1.0"]
refs_to_dataframe(refs["refs"], str(target), record_size=3)
