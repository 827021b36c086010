"""One peer, one task, in its own process: `driver.py PEER TASK ARRAY [COPY [SECONDS]]` prints `{"seconds": [...], "sum": ...}`.

SECONDS is how long a call of the peer `WAITING` waits, which reads and writes nothing.

ARRAY is the folder of an array of final v3 whose elements are `uint16`. Times begin after opening, and after one run that is not counted.
"""

import json
import sys
import time

import numpy as np


# No peer: its arrays hold nothing.
NOTHING = "zarr-python with a pipeline that does nothing"
# Nor this one; its pipeline takes as long as zarrkit alone. A thread that has waited longer takes longer to go on, which is not zarrkit's time.
WAITING = "zarr-python with a pipeline that takes zarrkit's time"


class Zarrkit:
    """Door A: zarrkit's own arrays."""

    def open(self, path, write=False):
        import zarrkit

        return zarrkit.open(path, "r+" if write else "r")

    def read(self, array, key):
        return array[key]

    def write(self, array, key, value):
        array[key] = value


class ZarrPython(Zarrkit):
    """zarr-python with one of its codec pipelines; zarrkit's is door B."""

    def __init__(self, pipeline):
        import zarr

        if pipeline:
            zarr.config.set({"codec_pipeline.path": pipeline})

    def open(self, path, write=False):
        import zarr

        return zarr.open_array(path, mode="r+" if write else "r")


def pipeline_of_nothing(seconds=0.0):
    """The path of a codec pipeline that reads and writes nothing, and takes so many seconds: with it zarr-python does what it does beside
    pipelines."""
    from zarr.core.codec_pipeline import BatchedCodecPipeline
    from zarr.registry import register_pipeline

    def pass_time():
        end = time.perf_counter() + seconds
        while time.perf_counter() < end:
            pass

    class Nothing(BatchedCodecPipeline):
        async def read(self, batch_info, out, drop_axes=()):
            found = tuple({"status": "present"} for _ in batch_info)
            pass_time()
            return found

        async def write(self, batch_info, value, drop_axes=()):
            list(batch_info)
            pass_time()

    register_pipeline(Nothing)
    return f"{Nothing.__module__}.{Nothing.__qualname__}"


class Tensorstore(Zarrkit):
    def open(self, path, write=False):
        import tensorstore

        store = {"driver": "file", "path": str(path)}
        return tensorstore.open({"driver": "zarr3", "kvstore": store}, read=True, write=write).result()

    def read(self, array, key):
        return array[key].read().result()

    def write(self, array, key, value):
        array[key].write(value).result()


class Zarrista(Zarrkit):
    def open(self, path, write=False):
        import zarrista
        from zarrista.store import FilesystemStore

        return zarrista.Array.open(FilesystemStore(path))

    def read(self, array, key):
        return np.asarray(array.retrieve_array_subset(key))

    def write(self, array, key, value):
        array.store_array_subset(key, value)


PEERS = {
    "zarrkit": Zarrkit,
    "zarrkit in zarr-python": lambda: ZarrPython("zarrkit.Pipeline"),
    "tensorstore": Tensorstore,
    "zarrista": Zarrista,
    "zarrs": lambda: ZarrPython("zarrs.ZarrsCodecPipeline"),
    "zarr-python fused": lambda: ZarrPython("zarr.core.codec_pipeline.FusedCodecPipeline"),
    "zarr-python": lambda: ZarrPython(None),
    NOTHING: lambda: ZarrPython(pipeline_of_nothing()),
    WAITING: lambda: ZarrPython(pipeline_of_nothing(float(sys.argv[5]))),
}


def boxes(shape, size, count):
    """Slices of cubes at places that are the same for all peers."""
    places = np.random.default_rng(1).integers(0, np.array(shape) - size + 1, (count, len(shape)))
    return [tuple(slice(int(at), int(at) + size) for at in place) for place in places]


def main():
    peer, task, path, *rest = sys.argv[1:]
    library = PEERS[peer]()
    array = library.open(path)
    everything = tuple(slice(0, length) for length in array.shape)
    if task == "read":
        calls, repetitions = [everything], 3
    elif task.startswith("box"):
        size, count = (int(number) for number in task[3:].split("x"))
        calls, repetitions = boxes(array.shape, size, count), 3
    elif task == "write":
        calls, repetitions = [everything], 3
        elements = np.asarray(Zarrkit().open(path)[everything])
        array = library.open(rest[0], write=True)
    else:
        raise SystemExit(f"there is no task {task}")

    seconds, found = [], None
    for _ in range(repetitions + 1):
        began = time.perf_counter()
        if task == "write":
            library.write(array, everything, elements)
        else:
            found = [library.read(array, key) for key in calls]
        seconds.append((time.perf_counter() - began) / len(calls))
    if task == "write":
        found = [library.read(library.open(rest[0]), everything)]
    total = sum(int(np.asarray(part).astype(np.uint64).sum()) for part in found)
    print(json.dumps({"seconds": seconds[1:], "sum": total}))


if __name__ == "__main__":
    main()
