"""Reads and writes repositories by the Python packages icechunk and zarr, for the Rust tests.

    witness.py read FOLDER BRANCH        prints, as JSON, the ids and messages of the commits, the latest first, and the elements of every array
    witness.py write FOLDER BRANCH NAME VALUE    creates an array of four elements of this value, commits it, and prints the id of the commit
"""

import json
import os
import sys

import icechunk
import zarr

command, folder, branch, *arguments = sys.argv[1:]
repository = icechunk.Repository.open(icechunk.local_filesystem_storage(folder))
if command == "read":
    group = zarr.open_group(repository.readonly_session(branch).store, mode="r")
    arrays = {name: array[:].tolist() for name, array in group.members(max_depth=None) if isinstance(array, zarr.Array)}
    commits = [[commit.id, commit.message] for commit in repository.ancestry(branch=branch)]
    print(json.dumps({"commits": commits, "arrays": arrays}))
elif command == "write":
    name, value = arguments
    session = repository.writable_session(branch)
    array = zarr.open_group(session.store, mode="a").create_array(name, shape=(4,), chunks=(4,), dtype="int32")
    array[:] = int(value)
    print(session.commit(f"{name} by Python"))
else:
    sys.exit(f"unknown command {command}")

# Without the interpreter's own end: in about one of 100 processes icechunk 2.3.0 crashes there, after everything was printed.
sys.stdout.flush()
os._exit(0)
