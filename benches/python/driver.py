"""One peer, one task, in its own process: `driver.py PEER TASK ARRAY [COPY]` prints `{"seconds": [...], "sum": ...}`.

ARRAY is the folder of an array of final v3 whose elements are `uint16`. Times begin after opening, and after one run that is not counted.
"""

import json
import sys
import time

import numpy as np


# Door A where door B is: before each call zarr-python does what it does beside pipelines, so that neither finds its code and data in the
# processor's caches. Only zarrkit's calls are timed.
BETWEEN = "zarrkit between calls of zarr-python"
# Door B: only what zarr-python waits for its pipeline is timed.
INSIDE = "zarrkit's pipeline inside zarr-python"


class Zarrkit:
    """Door A: zarrkit's own arrays."""

    #: The seconds of what is timed, where that is not all that a call does.
    spent = None

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


def pipeline_of_nothing():
    """The path of a codec pipeline that reads and writes nothing."""
    from zarr.core.codec_pipeline import BatchedCodecPipeline
    from zarr.registry import register_pipeline

    class Nothing(BatchedCodecPipeline):
        async def read(self, batch_info, out, drop_axes=()):
            return tuple({"status": "present"} for _ in batch_info)

        async def write(self, batch_info, value, drop_axes=()):
            list(batch_info)

    register_pipeline(Nothing)
    return f"{Nothing.__module__}.{Nothing.__qualname__}"


class Between(Zarrkit):
    """What `BETWEEN` says."""

    def __init__(self):
        self.theirs = ZarrPython(pipeline_of_nothing())
        self.spent = 0.0

    def open(self, path, write=False):
        self.empty = self.theirs.open(path, write)
        return super().open(path, write)

    def read(self, array, key):
        self.theirs.read(self.empty, key)
        began = time.perf_counter()
        found = super().read(array, key)
        self.spent += time.perf_counter() - began
        return found

    def write(self, array, key, value):
        self.theirs.write(self.empty, key, value)
        began = time.perf_counter()
        super().write(array, key, value)
        self.spent += time.perf_counter() - began


class Inside(ZarrPython):
    """What `INSIDE` says."""

    def __init__(self):
        import zarrkit

        super().__init__("zarrkit.Pipeline")
        self.spent = 0.0
        for name in ("read", "write"):
            setattr(zarrkit.Pipeline, name, self.timed(getattr(zarrkit.Pipeline, name)))

    def timed(self, method):
        async def call(*args, **kwargs):
            began = time.perf_counter()
            found = await method(*args, **kwargs)
            self.spent += time.perf_counter() - began
            return found

        return call


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
    BETWEEN: Between,
    INSIDE: Inside,
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
        if library.spent is not None:
            library.spent = 0.0
        began = time.perf_counter()
        if task == "write":
            library.write(array, everything, elements)
        else:
            found = [library.read(array, key) for key in calls]
        passed = time.perf_counter() - began
        seconds.append((passed if library.spent is None else library.spent) / len(calls))
    if task == "write":
        found = [library.read(library.open(rest[0]), everything)]
    total = sum(int(np.asarray(part).astype(np.uint64).sum()) for part in found)
    print(json.dumps({"seconds": seconds[1:], "sum": total}))


if __name__ == "__main__":
    main()
