#!/usr/bin/env python3
"""Measures the memory of `zarr serve` under 64 clients, of which most read slowly, for each kind of answer: `--memory` bounds it.

    memory.py PROGRAM [--only KIND]
"""

import argparse
import os
import re
import socket
import subprocess
import sys
import tempfile
import threading
import time
import zipfile
from pathlib import Path

from common import serving, settle

CLIENTS = 64
SECONDS = 6
# Bytes for `--memory`, and MiB that the program may take besides: itself, its threads, what the allocator keeps.
MEMORY = 64 << 20
BESIDES = 100
VALUE = 6 << 20


def anonymous(process):
    """The memory of a process that is no file's, in MiB."""
    text = Path(f"/proc/{process.pid}/status").read_text()
    return int(re.search(r"RssAnon:\s+(\d+)", text).group(1)) >> 10


def get(port, path, pause, seconds, headers=""):
    """The status of an answer that is read slowly; how many bytes came, and its headers."""
    with socket.create_connection(("127.0.0.1", port), timeout=60) as stream:
        stream.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 14)
        stream.sendall(f"GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n{headers}\r\n".encode())
        received, count = b"", 0
        until = time.monotonic() + seconds
        while part := stream.recv(1 << 14):
            count += len(part)
            if len(received) < 4096:
                received += part
            if time.monotonic() < until:
                time.sleep(pause)
    head, _, _ = received.partition(b"\r\n\r\n")
    return int(head.split()[1]), count, head.lower().decode("latin-1")


def measure(kind, server, paths, memory, headers="", due=200):
    """Lets all clients ask for a while; returns what is wrong."""
    before, peak, stop = anonymous(server.process), [0], threading.Event()
    statuses, wrong = {}, []

    def watch():
        while not stop.is_set():
            peak[0] = max(peak[0], anonymous(server.process))
            time.sleep(0.01)

    def client(number):
        until = time.monotonic() + SECONDS
        while time.monotonic() < until:
            try:
                status, count, head = get(server.port, paths[number % len(paths)], 0.02 if number % 8 else 0, SECONDS, headers)
            except OSError as error:
                wrong.append(f"{kind}: {error}")
                return
            statuses[status] = statuses.get(status, 0) + 1
            if status == 503 and "\r\nretry-after: " not in head:
                wrong.append(f"{kind}: 503 without Retry-After: {head}")

    watcher = threading.Thread(target=watch)
    clients = [threading.Thread(target=client, args=(number,)) for number in range(CLIENTS)]
    watcher.start()
    for thread in clients:
        thread.start()
    for thread in clients:
        thread.join()
    stop.set()
    watcher.join()
    most = (memory >> 20) + BESIDES
    print(f"memory: {kind}: {before} MiB before, {peak[0]} MiB at most of {most}; statuses {dict(sorted(statuses.items()))}", flush=True)
    if peak[0] > most:
        wrong.append(f"{kind}: {peak[0]} MiB, more than {most}")
    if not statuses.get(due) or set(statuses) - {due, 503}:
        wrong.append(f"{kind}: statuses {statuses}")
    return wrong


def make(program, folder):
    """A folder of values that do not compress, the same in an archive that deflates them and one in LMDB; an array; many names."""
    run = lambda *args, **more: subprocess.run([program, *map(str, args)], check=True, capture_output=True, **more)
    store = folder / "x.zarr"
    shape = ["--shape", f"{16 * VALUE}", "--chunks", f"{VALUE}", "--dtype", "uint8", "--codec", "none"]
    run("create", store, "--path", "v", "--format", "v2", *shape)
    value = os.urandom(VALUE)
    for number in range(16):
        (store / f"v/{number}").write_bytes(value)
    square = ["--shape", "1024,1024", "--chunks", "256,256", "--dtype", "float32", "--codec", "zlib:1"]
    run("create", store, "--path", "a", "--format", "v2", *square)
    delta = '{"name": "numcodecs.delta", "configuration": {"dtype": "|u1"}}'
    recoded = ["--shape", f"{16 * VALUE}", "--chunks", f"{VALUE}", "--dtype", "uint8", "--codec", delta, "--codec", "zlib:0"]
    run("create", store, "--path", "d", "--format", "v2", *recoded)
    run("put", store, "--path", "d", "--format", "raw", input=value * 16)
    with zipfile.ZipFile(folder / "x.zip", "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for path in sorted(store.rglob("*")):
            if path.is_file():
                archive.write(path, path.relative_to(store))
    run("copy", store, folder / "x.lmdb")
    run("put", store, "--path", "a", "--format", "raw", input=os.urandom(1024 * 1024 * 4))
    names = store / "names"
    names.mkdir()
    (names / ".zgroup").write_text('{"zarr_format": 2}')
    for number in range(80_000):
        (names / f"chunk-with-a-rather-long-name-{number:06}").touch()
    return store


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("--only", action="append")
    given = parser.parse_args()
    program = os.path.abspath(given.program)
    wrong = []
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder).resolve()
        store = make(program, folder)
        settle()
        values = [f"v/{number}" for number in range(16)]
        of = lambda name: [f"/{name}/{value}" for value in values]
        figure = "path=x.zarr/a&map=viridis"
        slices = [f"/-/slice?path=x.zarr/a&down={n}:{n + 768}&across=0:1024" for n in range(0, 256, 64)]
        json = "Accept: application/json\r\n"
        kinds = (
            ("folder", store, of("x.zarr"), MEMORY, ""),
            ("zip", folder / "x.zip", of("x.zip"), MEMORY, ""),
            ("zip, ranges", folder / "x.zip", of("x.zip"), MEMORY, "Range: bytes=5-\r\n", 206),
            ("lmdb", folder / "x.lmdb", of("x.lmdb"), MEMORY, ""),
            ("recoded", store, [f"/v3/x.zarr/d/{{}}{n}" for n in range(16)], 4 * MEMORY, ""),
            ("absent", store, ["/x.zarr/names/no"], MEMORY, "", 404),
            ("a folder", store, ["/x.zarr/names"], MEMORY, "", 308),
            ("listing", store, ["/x.zarr/names/"], MEMORY, ""),
            ("listing, JSON", store, ["/x.zarr/names/"], MEMORY, json),
            ("listing, a part", store, ["/x.zarr/names/?limit=50000"], MEMORY, ""),
            ("slice", store, slices, MEMORY, ""),
            ("plot.png", store, [f"/-/plot.png?{figure}&size=600x500", f"/-/plot.png?{figure}&bare=1&across=0:512&down=0:512"], 4 * MEMORY, ""),
            ("stats", store, ["/-/stats?path=x.zarr/a&percentile=2,98"], 4 * MEMORY, ""),
            ("chunks", store, ["/-/chunks?path=x.zarr/a", "/-/node?path=x.zarr/a", "/-/find?text=a"], MEMORY, ""),
        )
        for kind, target, paths, memory, *more in kinds:
            if given.only and kind not in given.only:
                continue
            with serving(program, target, "--memory", memory) as server:
                if kind == "recoded":
                    form = next(form for form in ("", "c/") if get(server.port, paths[0].format(form), 0, 1)[0] == 200)
                    paths = [path.format(form) for path in paths]
                wrong += measure(kind, server, paths, memory, *more)
        if not given.only or "far zip" in given.only:
            with serving(program, folder, "--memory", MEMORY) as near:
                far = f"zip::http://127.0.0.1:{near.port}/{folder.name}/x.zip"
                with serving(program, far, "--memory", MEMORY) as server:
                    wrong += measure("far zip", server, of("x.zip"), MEMORY)
    for line in wrong:
        print(line)
    if wrong:
        sys.exit(f"{len(wrong)} wrong")


if __name__ == "__main__":
    main()
