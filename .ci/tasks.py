"""The steps of `.ci/run` and `.ci/full`, in the order in which they run. `steps.py` runs each in a process of its own."""

import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import environments
from environments import GDAL_PYTHON, INTEROP, PYTHON_PACKAGE, SCRATCH, SERVERS, TOP, output, run, skip

TARGET = Path(os.environ.get("CARGO_TARGET_DIR") or TOP / "target").resolve()
CONFORMANCE = TOP / "specs-conformance"
PYTHON = sys.executable
# One case in this many goes to the peers in the step `interop`, beside the first of each data type, codec and layout.
SAMPLE = 48
# One case in this many goes through a server in the step `servers`.
SERVERS_SAMPLE = 12
# The crates whose features are checked.
CRATES = ["zarr-core", "zarr-codecs", "zarr-stores", "zarr-nczarr", "zarr-hdf5", "zarr-virtual", "zarr-tools", "zarrkit"]


@dataclass
class Step:
    """A step of one tier: "prepare", "run" or "full"."""

    name: str
    function: callable
    tier: str
    # The preparations that it waits for.
    needs: tuple
    # Minutes.
    limit: int
    # Which lines of its output are shown even if it succeeds.
    shows: str = None
    # It mostly waits, or compiles one crate after the other: it begins when this step has passed, beside those that follow.
    beside: str = None


STEPS = {}


def step(tier, *needs, limit=30, shows=None, beside=None, name=None):
    def register(function):
        key = name or function.__name__.rstrip("_")
        STEPS[key] = Step(key, function, tier, needs, limit, shows, beside)
        return function

    return register


def cargo(*arguments, env=None, **options):
    run("cargo", *arguments, env=env, **options)


def programs():
    """Builds `zarr` and `zarr-fuzz` in target/debug just as the step `test` does, so that nothing is built twice: cargo builds the
    programs of a package for its integration tests, and `--workspace` enables the same features."""
    cargo("test", "--workspace", "--no-run", "--quiet", "--test", "it")
    return TARGET / "debug/zarr"


def python_module(*options):
    """Builds the compiled module of the Python package, and puts it beside the Python sources."""
    run(PYTHON_PACKAGE / "develop", *options)
    return {"PYTHONPATH": PYTHON_PACKAGE / "python"}


def name_missing_pythons(minors):
    """Names the Pythons of these minor versions that are not installed."""
    for minor in minors:
        if not environments.python_of(minor):
            skip(f"Python 3.{minor} is not installed: the tests of the Python package do not run on it")


def newest_python():
    versions = environments.package_versions()
    return versions[-1] if versions else sys.exit("error: Python 3.11 or 3.12 is not installed")


def with_servers(*command, only=None, env=None):
    """Runs a command that finds servers in its environment; without `only` it must reach each of them."""
    which = ["--only", only] if only else ["--all-reached"]
    run(PYTHON, SERVERS / "run.py", *which, *command, env=env)


# Preparations run beside the steps, which wait for those that they need.


@step("prepare")
def peers():
    """Makes the environments of the peers."""
    environments.peers()


@step("prepare")
def debian():
    """Installs GDAL, netCDF's programs and Chromium."""
    environments.debian_peers()


@step("prepare")
def zarrs():
    """Builds the peer that is written with zarrs."""
    environments.zarrs_peer()


@step("prepare")
def python():
    """Makes the environments of the Python package's tests for the newest Python, without PyTorch and with it."""
    environments.package_python(newest_python())
    environments.torch_python()
    environments.types()


@step("prepare")
def pythons():
    """Makes the environments of the Python package's tests for all Pythons."""
    for minor in environments.package_versions():
        environments.package_python(minor)
    environments.types()


@step("prepare")
def page_modules():
    """Fetches what the tests of the page need from npm."""
    environments.npm(CONFORMANCE / "page")


@step("prepare")
def cargo_deny():
    """Fetches cargo-deny."""
    environments.cargo_deny()


@step("prepare", limit=60)
def servers_programs():
    """Builds and fetches the servers that remote stores are tested with."""
    environments.servers()


@step("prepare", limit=60)
def mdbook():
    """Builds mdBook."""
    environments.mdbook()


@step("prepare", limit=60)
def cyclonedx():
    """Builds cargo-cyclonedx."""
    environments.cargo_cyclonedx()


# The steps of `.ci/run`.


@step("run")
def format_():
    """Rust is formatted."""
    cargo("fmt", "--all", "--check", "--", "--color", "never")


@step("run")
def structure():
    """The sources keep the rules of their structure, and what checks them notices a violation."""
    run(PYTHON, TOP / ".ci/steps_test.py")
    run(PYTHON, TOP / ".ci/structure_test.py")
    run(PYTHON, TOP / ".ci/structure")
    run(PYTHON, TOP / "benches/peers/page_test.py")


@step("run")
def links():
    """All links of the pages lead somewhere, and the Rust in pages is tested."""
    run(PYTHON, TOP / ".ci/site", "--links")


@step("run")
def clippy():
    """Clippy finds nothing."""
    cargo("clippy", "--workspace", "--all-targets", "--all-features", "--", "-D", "warnings")


@step("run")
def docs():
    """The documentation of the crates builds without a warning."""
    cargo("doc", "--workspace", "--no-deps", "--all-features", env={"RUSTDOCFLAGS": "-D warnings"})


@step("run", limit=60)
def test():
    """All tests. Their files are in memory where there is enough: they are many, small and soon removed, which takes a disk long."""
    memory = Path("/dev/shm")
    if not memory.is_dir() or shutil.disk_usage(memory).free < 8 << 30:
        cargo("test", "--workspace", "--no-fail-fast")
        return
    with tempfile.TemporaryDirectory(prefix="zarr-tests-", dir=memory) as folder:
        # Some tests run the program as another user.
        os.chmod(folder, 0o755)
        cargo("test", "--workspace", "--no-fail-fast", env={"TMPDIR": folder})


@step("run")
def demo():
    """The README's first command: a real image array, converted and proved equal. Of the command itself it is only checked that cargo
    knows which program to run: building that for release would take minutes."""
    package = re.search(r"^cargo run --release -p (\S+) -- demo", (TOP / "README.md").read_text(), re.M)[1]
    known = {found["name"]: found for found in json.loads(output("cargo", "metadata", "--no-deps", "--format-version=1"))["packages"]}
    names = [target["name"] for target in known[package]["targets"] if "bin" in target["kind"]]
    if known[package]["default_run"] != "zarr" and names != ["zarr"]:
        sys.exit(f"`cargo run -p {package}` does not know which of these to run: {', '.join(names)}; `default-run` in its Cargo.toml says it")
    run(programs(), "demo")


@step("run", "python", shows=r" passed in |^SKIPPED")
def zarrkit():
    """The Python package's own tests, on the newest Python, and its type stubs."""
    # With `--test it` the library has the features that the step `test` built it with.
    env = python_module("--workspace", "--lib", "--test", "it")
    pytest(newest_python(), env=env)
    if torch := environments.torch_python():
        run(torch, "-m", "pytest", "-p", "no:cacheprovider", "-q", "-rs", PYTHON_PACKAGE / "tests/test_fork.py", "-k", "loader_of_pytorch", env=env)
    else:
        skip(f"PyTorch cannot be fetched from {environments.TORCH_INDEX} here: its loader is not tested")
    name_missing_pythons(environments.package_lists()[-1:])
    run(PYTHON_PACKAGE / "suites/types.sh", environments.types().parent.parent, "stubs")


def pytest(minor, *options, env=None):
    """The tests of the Python package, with the reasons of those that are skipped."""
    run(environments.package_python(minor), "-m", "pytest", "-p", "no:cacheprovider", "-q", "-rs", PYTHON_PACKAGE / "tests", *options, env=env)


SHOWN_EXCHANGES = r"^sample: |^[^ ].* (?:equal|excepted|wrong|do not)"


@step("run", "peers", "debian", "zarrs", shows=SHOWN_EXCHANGES)
def interop():
    """A sample of all cases, another one for each commit, goes to other implementations and comes from them."""
    exchange_all(programs(), SAMPLE)


@step("run", "python", "debian", shows=r" passed in |^SKIPPED")
def netcdf():
    """netCDF4-python and xarray read and write Zarr data through the plug-in of netCDF's library."""
    program = programs()
    cargo("build", "--quiet", "-p", "zarr-netcdf", "--workspace", "--lib", "--test", "it")
    env = {"ZARR_NETCDF_LIBRARY": TARGET / "debug/libzarr_netcdf.so", "ZARR_PROGRAM": program}
    tests = TOP / "crates/zarr-netcdf/tests"
    run(environments.package_python(newest_python()), "-m", "pytest", "-p", "no:cacheprovider", "-q", "-rs", tests, env=env)


@step("full", "python", "debian", shows=r" passed in |^SKIPPED")
def netcdf_programs():
    """Debian's ncdump, nccopy, NCO and CDO read and write through the plug-in, and netCDF4-python many random slices, writes and files."""
    environments.debian_programs("ncks", "cdo")
    program = programs()
    cargo("build", "--quiet", "--workspace", "--lib", "--test", "it")
    many = {"ZARR_NETCDF_SELECTIONS": 10_000, "ZARR_NETCDF_WRITES": 2_000, "ZARR_NETCDF_OPENS": 1_000, "ZARR_NETCDF_KILLS": 100, "ZARR_TEST_ALL": 1}
    env = {"ZARR_NETCDF_LIBRARY": TARGET / "debug/libzarr_netcdf.so", "ZARR_PROGRAM": program, "ZARR_TEST_REQUIRED": 1, **many}
    tests = TOP / "crates/zarr-netcdf/tests"
    run(environments.package_python(newest_python()), "-m", "pytest", "-p", "no:cacheprovider", "-q", "-rs", tests, env=env)


def seed():
    """Which sample of the exchanges is taken: by the commit, so that all are met in time. `ZARR_CI_SEED` takes that of another one again."""
    if chosen := os.environ.get("ZARR_CI_SEED"):
        return int(chosen)
    # An archive of the sources has no commits.
    found = subprocess.run(["git", "rev-parse", "HEAD"], cwd=TOP, capture_output=True, text=True).stdout
    return int(found[:8] or "0", 16) % SAMPLE


# What the programs of others are asked: environment, script, options. Those that take long come first.
REPORTED = "--report {report} --sample {sample} --seed {seed}"
EXCHANGES = [
    ("python", "cdl.py", "--texts {texts}"),
    ("python", "cdl_texts.py", "--sample {cdl_sample} --seed {seed}"),
    ("zarr_python_34", "zarr_python_3.py", REPORTED),
    ("zarr_python_3", "zarr_python_3.py", REPORTED),
    ("zarr_python_2", "zarr_python_2.py", REPORTED),
    ("zarrs_rs", "zarrs_rs.py", REPORTED),
    ("gdal", "gdal.py", REPORTED),
    ("zarrita_js", "zarrita_js.py", REPORTED),
    ("tensorstore_py", "tensorstore_py.py", REPORTED),
    ("zarr_python_2", "one_file_stores.py", ""),
    ("zarr_python_3", "one_file_stores.py", ""),
    ("zarr_python_3", "community.py", ""),
    ("zarr_python_3", "zfp.py", ""),
    ("zarr_python_3", "checksums.py", "--sample {sample} --seed {seed}"),
    ("zarr_python_2", "checksums.py", "--sample {sample} --seed {seed}"),
    ("foreign", "foreign.py", ""),
    ("zarr_python_2", "foreign.py", "--kinds n5_zarr"),
    ("foreign", "z5py_writes.py", ""),
    ("foreign", "references.py", ""),
    ("netcdf_c", "netcdf_c.py", ""),
    ("netcdf_c", "xarray_copies.py", ""),
    ("netcdf_c", "stats.py", ""),
    ("pictures", "pictures.py", ""),
    ("ome_zarr", "ome_zarr_copies.py", ""),
    ("titiler", "tiles.py", "--sample {sample} --seed {seed}"),
]


def exchange_all(program, sample):
    """Runs all scripts of the interop folder, as many at a time as there are processors; the output of each comes in one piece."""
    reports = SCRATCH / "interop"
    reports.mkdir(parents=True, exist_ok=True)
    env = {**os.environ, "ZARRS_PEER": str(environments.zarrs_peer())}
    exchanges = EXCHANGES
    if not environments.has_gdal():
        environments.missing(f"GDAL {environments.GDAL_VERSION} is missing: it is not among the peers", environments.has_apt())
        exchanges = [exchange for exchange in exchanges if exchange[0] != "gdal"]
    if not environments.has_netcdf():
        what = f"ncgen and ncdump {environments.NETCDF_VERSION} are missing: CDL is not compared"
        environments.missing(what, environments.has_apt())
        exchanges = [exchange for exchange in exchanges if exchange[1] not in ("cdl.py", "cdl_texts.py", "netcdf_c.py")]
    if not environments.python_of(environments.NEWER_PYTHON):
        skip(f"Python 3.{environments.NEWER_PYTHON} is not installed: zarr-python 3.4, ome-zarr-models and titiler, which need it, are not among the peers")
        exchanges = [exchange for exchange in exchanges if exchange[0] not in environments.NEWER]
    number = seed()
    if sample > 1:
        print(f"sample: one case in {sample}, number {number} of them; `ZARR_CI_SEED={number} .ci/run interop` takes it again", flush=True)
    names = {name for name, _, _ in exchanges} - {"python", "gdal"}
    pythons = {name: [environments.peer(name)] for name in sorted(names)}
    pythons |= {"python": [PYTHON], "gdal": [GDAL_PYTHON, "-s"]}

    def exchange(name, script, options):
        options = options.format(texts=40 if sample > 1 else 200, cdl_sample=min(sample, 4), report=reports / f"{name}.json", sample=sample, seed=number)
        command = [*pythons[name], INTEROP / script, program, *options.split()]
        began = time.monotonic()
        done = subprocess.run(command, cwd=TOP, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace")
        print(f"{done.stdout}{script} in {name}: {time.monotonic() - began:.0f} s", flush=True)
        return done.returncode

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        failed = [f"{script} in {name}" for (name, script, _), status in zip(exchanges, pool.map(lambda one: exchange(*one), exchanges)) if status]
    if failed:
        sys.exit(f"error: {', '.join(failed)}")


@step("run", "peers", "python", "debian", shows=r" equal, ")
def serve():
    """Other implementations read through `zarr serve`."""
    program = programs()
    gdal = ["--gdal", GDAL_PYTHON]
    if not environments.has_gdal():
        environments.missing(f"GDAL {environments.GDAL_VERSION} is missing: it does not read what is served", environments.has_apt())
        gdal = []
    node = environments.npm(INTEROP / "zarrita")
    run(environments.package_python(newest_python()), CONFORMANCE / "serve/peers.py", program, "--node", node, *gdal)


def features_of(crate):
    """The features of a crate but `default`, and those that only others enable: their names begin with `_`."""
    features = next(package["features"] for package in packages() if package["name"] == crate)
    return sorted(feature for feature in features if feature != "default" and not feature.startswith("_"))


def check(*options):
    """`cargo check`, where a warning is an error: what a choice of features leaves unused is a mistake in their gates."""
    print("$ cargo check", *options, flush=True)
    done = subprocess.run(["cargo", "check", "--quiet", *options], cwd=TOP, capture_output=True, text=True)
    if done.returncode or re.search(r"^warning", done.stderr, re.M):
        sys.exit(f"{done.stderr}\nerror: `cargo check {' '.join(options)}` has errors or warnings")


def check_features(crate, features):
    for feature in features:
        check("-p", crate, "--no-default-features", "--features", feature)


@step("run", limit=60, beside="test")
def features():
    """Choices of features compile: none, each codec and each store by itself. The step `clippy` has all of them, `each_feature` the others."""
    facade = features_of("zarrkit")
    for crate in CRATES:
        check("-p", crate, "--no-default-features")
        # Every codec, every store and CDL is a feature of `zarr`, too; `bytes` it always has.
        features = [] if crate == "zarr-core" else features_of(crate)
        if missing := set(features) - {"bytes"} - set(facade):
            sys.exit(f"error: zarr has no feature {', '.join(sorted(missing))} of {crate}")
        if crate in ("zarr-codecs", "zarr-stores"):
            check_features(crate, features)
    crate_counts()


def crate_counts():
    """The README says how many crates a build has, and whether any of them runs a C compiler."""
    readme = (TOP / "README.md").read_text()
    builds = [
        ("`zarr-core` without features", "no", ["-p", "zarr-core", "--no-default-features"]),
        ("`zarr` with only `pure`", "no", ["-p", "zarrkit", "--no-default-features", "--features", "pure"]),
        ("`zarr`", "yes", ["-p", "zarrkit"]),
        ("`zarr-cli`", "yes", ["-p", "zarr-cli"]),
    ]
    wrong = []
    for build, compiler, options in builds:

        def tree(edges):
            plain = ["--prefix", "none", "--no-dedupe", "--target", "x86_64-unknown-linux-gnu"]
            return set(output("cargo", "tree", *plain, "-e", edges, *options).splitlines())

        count = len(tree("normal"))
        if f"| {build} | {count} | {compiler} |" not in readme.splitlines():
            wrong.append(f"error: README.md: {build} has {count} crates")
        if compiler == "no" and any(line.startswith(("cc ", "cmake ")) for line in tree("normal,build")):
            wrong.append(f"error: README.md: {build} needs a C compiler")
    if wrong:
        sys.exit("\n".join(wrong))


@step("run", "page_modules", "peers", "python", "debian", shows=r"^the page: ", beside="test")
def page():
    """The page of `zarr serve` in Chromium, and its modules in Node. Screenshots are in scratch/page."""
    home = CONFORMANCE / "page"
    node = environments.npm(home)
    run(node, "--test", home / "unit.test.mjs")
    if browser := environments.chromium():
        # The programs whose lines the page shows.
        others = {
            "ZARR_PYTHON": environments.package_python(newest_python()),
            "TENSORSTORE_PYTHON": environments.peer("tensorstore_py"),
            "OME_ZARR": environments.peer("ome_zarr").parent / "ome_zarr",
        }
        others = {name: str(program) for name, program in others.items()}
        run(node, home / "run.mjs", programs(), browser, SCRATCH / "page", env=others)
    else:
        environments.missing("Chromium is missing: the page is not tested", environments.has_apt())


@step("run", "cargo_deny")
def licences():
    """All dependencies come from the registry, with a licence of the list, and none of those that are banned."""
    run(environments.cargo_deny(), "check", "licenses", "bans", "sources")


@step("full", "cargo_deny")
def advisories():
    """RustSec knows of nothing against a dependency: no vulnerability, and none that is unsound, withdrawn or unmaintained."""
    database = "https://github.com/RustSec/advisory-db"
    if environments.reaches(database):
        run(environments.cargo_deny(), "check", "advisories")
    else:
        skip(f"{database} cannot be reached here: advisories are not checked")


@step("run")
def workflows():
    """The workflows of `.github` keep GitHub's schema."""
    files = sorted((TOP / ".github/workflows").glob("*.yml"))
    run(environments.schemas(), "--builtin-schema", "vendor.github-workflows", *files)


def packages():
    """What cargo knows of the packages of the workspace."""
    return json.loads(output("cargo", "metadata", "--no-deps", "--format-version", "1"))["packages"]


def published():
    """Those that are published: the list of registries of the others is empty."""
    return [package for package in packages() if package["publish"] != []]


@step("run")
def package():
    """The crates can be packed, each with its licences."""
    shutil.rmtree(TARGET / "package", ignore_errors=True)
    cargo("package", "--workspace", "--no-verify", "--allow-dirty", "--quiet")
    for package in published():
        crate = f"{package['name']}-{package['version']}"
        with tarfile.open(TARGET / f"package/{crate}.crate") as archive:
            files = {member.name.partition("/")[2] for member in archive if member.isfile()}
        font = {"LICENSE-DEJAVU"} if package["name"] == "zarr-plot" else set()
        if missing := ({"LICENSE-APACHE", "LICENSE-MIT", "README.md"} | font) - files:
            sys.exit(f"error: {crate} is packed without {', '.join(sorted(missing))}")


# The steps of `.ci/full`.


@step("full", limit=60)
def sweeps():
    """All tests, and all cases of those that otherwise try a sample: faults, kills, damages, seeds."""
    cargo("test", "--workspace", "--no-fail-fast", env={"ZARR_TEST_ALL": 1})


@step("full")
def outside():
    """What a third party has: the packed crates and the crates that docs/extending.md shows, with no path into this workspace."""
    layout = ["--edges", "normal", "--depth", "1", "--prefix", "none", "--format", "{lib}"]
    used = sorted(output("cargo", "tree", "--package", "zarr-example-extension", *layout).split())
    if used != ["zarr_core", "zarr_example_extension"]:
        sys.exit(f"error: zarr-example-extension depends on {used}")
    package()
    home = SCRATCH / "outside"
    shutil.rmtree(home, ignore_errors=True)
    patches = []
    for crate in ["zarr-core", "zarr-testkit", "zarr-example-extension"]:
        [packed] = [path for path in (TARGET / "package").glob(f"{crate}-*.crate") if re.fullmatch(rf"{crate}-\d.*", path.stem)]
        with tarfile.open(packed) as archive:
            archive.extractall(home, filter="data")
        if re.search(r'^ *path = "(\.\.|/)', (home / packed.stem / "Cargo.toml").read_text(), re.M):
            sys.exit(f"error: {packed.stem} has a path into this workspace")
        if crate != "zarr-example-extension":
            patches.append(f'{crate} = {{ path = "{packed.stem}" }}')
    guide(home / "guide")
    shutil.copy(TOP / "Cargo.lock", home)
    members = '[workspace]\nresolver = "3"\nmembers = ["zarr-*", "guide/*"]\n'
    (home / "Cargo.toml").write_text(f"{members}\n[patch.crates-io]\n" + "\n".join(patches) + "\n")
    exclude = ["--exclude", "zarr-core", "--exclude", "zarr-testkit"]
    cargo("test", "--manifest-path", home / "Cargo.toml", "--workspace", *exclude, "--target-dir", TARGET / "outside")


def guide(home):
    """Makes the crates of docs/extending.md, file by file; the manifest that it shows serves all of them, but for the name."""
    page = (TOP / "docs/extending.md").read_text()
    for name, text in re.findall(r"^File `([^`]+)`:$.*?^```\w*\n(.*?)^```$", page, re.M | re.S):
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        (home / name).write_text(text)
    manifest = (home / "xor-delta/Cargo.toml").read_text()
    for crate in sorted(home.iterdir()):
        if not (crate / "Cargo.toml").exists():
            (crate / "Cargo.toml").write_text(manifest.replace("xor-delta", crate.name))
        print("guide:", crate.name)


@step("full", limit=60)
def packed():
    """Each package builds from what was packed of it, out of the workspace."""
    these = [option for package in published() for option in ("--package", package["name"])]
    cargo("package", *these, "--allow-dirty", "--quiet", "--target-dir", TARGET / "packed")


# Choices of features with which the unit tests run: what needs no C compiler, and little of everything.
PARTIAL = ["zarr/pure", "zarr-codecs/bytes,zarr-codecs/zstd,zarr-codecs/sharding,zarr-stores/filesystem,zarr-stores/zip,zarr-tools/nczarr"]


@step("full", limit=60)
def partial_features():
    """The unit tests with two partial choices of features; others only compile."""
    crates = [option for crate in CRATES for option in ("-p", crate)]
    for features in PARTIAL:
        cargo("test", *crates, "--no-default-features", "--features", features, "--lib")


@step("full", limit=60)
def each_feature():
    """Each feature of each crate by itself, also where it only passes on to another crate."""
    for crate in CRATES:
        check("-p", crate, "--tests")
        check("-p", crate, "--no-default-features", "--tests")
        check("-p", crate, "--all-features")
        check_features(crate, features_of(crate))
    # The program without pictures and without the server, as in the wheel, and with the one or the other; and the wheel's choices.
    for crate, features in [("zarr-cli", ["plot", "serve"]), ("zarr-python", ["core", "pure"])]:
        check("-p", crate, "--no-default-features")
        check_features(crate, features)
    # An error about something that a build left out names its feature.
    cargo("test", "-p", "zarr-codecs", "-p", "zarr-stores", "--no-default-features", "--lib")
    cargo("test", "-p", "zarrkit", "--no-default-features", "--test", "it", "left_out::")
    # The facade works by its own features, not by those that others of the workspace ask for.
    cargo("test", "-p", "zarrkit", "--test", "it", "dialects::")


@step("full")
def sanitizer():
    """The tests of the core's unsafe code, in the view and in the memory for elements and chunks, and those of the plug-in for netCDF, under AddressSanitizer."""
    host = output("rustc", "--print", "host-tuple")
    # Tests ask for more memory than there is, and expect to be refused.
    env = {"RUSTC_BOOTSTRAP": 1, "RUSTFLAGS": "-Zsanitizer=address", "ASAN_OPTIONS": "allocator_may_return_null=1"}
    target = ["--target", host, "--target-dir", TARGET / "sanitizer"]
    cargo("test", "-p", "zarr-core", "--lib", *target, "--", "view::", "memory::", "buffer_pool::", env=env)
    # What is kept for the life of the process is no leak: the pool of threads, the sentences that were printed.
    calls = {"ZARR_NETCDF_CALLS": 200_000, "ASAN_OPTIONS": "allocator_may_return_null=1:detect_leaks=0", "ZARR_NETCDF_QUIET": 1}
    cargo("test", "-p", "zarr-netcdf", "--test", "it", *target, env=env | calls)


@step("full")
def shells():
    """Completions in three shells, manual pages, and sixels as their library reads them."""
    environments.debian_programs("zsh", "fish", "man", "sixel2png")
    cargo("test", "--workspace", "--test", "it", "--", "shells::", "pictures::", env={"ZARR_TEST_REQUIRED": 1})


@step("full", "mdbook")
def site():
    """The pages as a site, in target/site, with a page for each verb, where all links lead somewhere."""
    path = f"{environments.mdbook().parent}:{os.environ['PATH']}"
    run(PYTHON, TOP / ".ci/site", env={"PATH": path, "ZARR": programs()})


@step("full", "cyclonedx")
def sbom():
    """A software bill of materials of the program, in which each crate has a licence."""
    name = "zarr-cli.cdx"
    options = ["--manifest-path", TOP / "crates/zarr-cli/Cargo.toml", "--format", "json", "--spec-version", "1.5", "--no-build-deps", "--override-filename", name]
    run(environments.cargo_cyclonedx(), "cyclonedx", *options)
    document = TOP / f"crates/zarr-cli/{name}.json"
    components = json.loads(document.read_text())["components"]
    shutil.move(document, TARGET / document.name)
    # One was written for each member of the workspace, beside its manifest.
    for other in [*TOP.glob(f"*/{name}.json"), *TOP.glob(f"*/*/{name}.json")]:
        other.unlink()
    if missing := [component["name"] for component in components if not component.get("licenses")]:
        sys.exit(f"error: no licence: {', '.join(missing)}")
    print(f"{len(components)} crates, in {TARGET / document.name}")


@step("full", "servers_programs", limit=60, shows=r"^sample of ")
def servers():
    """Each store keeps its promises on real servers; a sample of what others wrote comes back from them; writers, faults, copies."""
    sample = {"ZARR_TEST_SAMPLE": SERVERS_SAMPLE, "ZARR_COPY_KILLS": 1}
    tests = """
        cargo test --workspace --test servers --test far
        cargo test --workspace --test it -- far:: killed_copies::killed_copies_are validate_stores::every_store_that_lists
        cargo test --workspace --test conformance -- through/ --test-threads=16
    """
    with_servers("bash", "-euc", tests, env=sample)


@step("full", "cargo_deny", limit=60)
def icechunk():
    """The crate that writes Icechunk repositories, which is not in the workspace: format, clippy, licences, and its tests, with the Python packages of Icechunk and with S3."""
    home = TOP / "crates/zarr-icechunk"
    manifest = ["--manifest-path", home / "Cargo.toml"]
    build = [*manifest, "--locked", "--target-dir", TARGET / "icechunk"]
    cargo("fmt", *manifest, "--check", "--", "--color", "never")
    cargo("clippy", *build, "--all-targets", "--", "-D", "warnings")
    cargo("doc", *build, "--no-deps", env={"RUSTDOCFLAGS": "-D warnings"})
    run(environments.cargo_deny(), *manifest, "--config", TOP / "deny.toml", "check", "licenses", "bans", "sources")
    env = {"ZARR_TEST_REQUIRED": 1}
    if environments.python_of(12):
        env["ZARR_ICECHUNK_PYTHON"] = environments.venv("icechunk", (home / "tests/python.txt").read_text(), 12)
    else:
        del env["ZARR_TEST_REQUIRED"]
        skip("Python 3.12 is not installed: the Python packages of Icechunk do not read what is committed")
    environments.venv("servers", (SERVERS / "requirements.txt").read_text())
    with_servers("cargo", "test", *build, only="moto", env=env)
    cargo("run", *build, "--example", "commit")


@step("full", "servers_programs", limit=60, shows=r"^sample of ")
def corpus():
    """All that others wrote comes back from a server."""
    run(PYTHON, SERVERS / "run.py", "cargo", "test", "--workspace", "--test", "conformance", "--", "through/", "--test-threads=16", env={"ZARR_TEST_REQUIRED": 1})


def workspace_test(*filters):
    """A command that runs tests by their names, with what they print."""
    return ["cargo", "test", "--workspace", "--test", "it", "--", "--nocapture", *filters]


@step("full", limit=60, shows=r"kills: ")
def kills():
    """A writer of each local store is killed 500 times at random moments; prints what docs/reliability.md quotes."""
    run(*workspace_test("kills::"), env={"ZARR_KILLS": 500})


@step("full", "servers_programs", limit=60, shows=r"kills: ")
def kills_among_others():
    """One of several writers is killed 200 times, on a server, too."""
    with_servers(*workspace_test("killed_among_others::"), only="s3s", env={"ZARR_KILLS": 200})


@step("full", "servers_programs", limit=60, shows=r"kills: ")
def kills_of_copies():
    """A copy is killed 50 times and continued."""
    with_servers(*workspace_test("killed_copies::"), only="s3s", env={"ZARR_COPY_KILLS": 50})


@step("full", limit=60, shows=r"kills: ")
def kills_of_moves():
    """Copies in each way, migrations, pyramids and syncs are killed 200 times each, and continued."""
    run(*workspace_test("killed_moves::", "killed_pyramids", "killed_syncs"), env={"ZARR_COPY_KILLS": 200})


@step("full", limit=60, shows=r"power cuts: ")
def powercut():
    """States of a disk after power cuts, with and without `sync`; prints what docs/reliability.md quotes."""
    run(*workspace_test("power_cuts::"), env={"ZARR_POWER_CUTS": 10000})


@step("full", limit=60)
def damages():
    """Every object of every store that others wrote is damaged, and `zarr validate` finds it."""
    cargo("test", "-p", "conformance", "--test", "validate", env={"VALIDATE": "all"})


@step("full", limit=60, shows=r"model: ")
def model():
    """The code that threads and processes share, with every schedule; prints what docs/reliability.md quotes."""
    cargo("test", "-p", "zarr-model", "--", "--nocapture", env={"ZARR_MODEL": 1000, "ZARR_MODEL_MOST": 20000})


@step("full", limit=60)
def model_mutations():
    """What is taken out of the code that threads and processes share, the model notices."""
    run(PYTHON, TOP / "model/mutations.py")


@step("full", limit=60)
def rechunk():
    """Copies of 20 GiB into other chunks within 256 MiB; prints what docs/performance.md quotes."""
    cargo("run", "--release", "-p", "zarr-benches", "--example", "rechunk", TARGET / "rechunk.zarr")


@step("full", shows=r"^load: ")
def serve_clients():
    """Ranges, CORS, hostile clients and many clients of `zarr serve`, its end, and the memory of some kinds of answers."""
    program = programs()
    run(PYTHON, CONFORMANCE / "serve/http_cases.py", program)
    only = [option for case in ("zip", "recoded", "far zip") for option in ("--only", case)]
    run(PYTHON, CONFORMANCE / "serve/memory.py", program, *only)


@step("full", shows=r"^load: ")
def serve_long():
    """64 clients of a server for a minute, and the memory of each kind of answer."""
    cargo("build", "--release", "-p", "zarr-cli")
    program = TARGET / "release/zarr"
    run(PYTHON, CONFORMANCE / "serve/http_cases.py", program, "--seconds", "60")
    run(PYTHON, CONFORMANCE / "serve/memory.py", program)


@step("full", "peers", "debian", "zarrs", limit=60, shows=SHOWN_EXCHANGES)
def matrix():
    """All cases with all peers. Writes target/interop.md; the table of docs/interop.md is its first, which `UPDATE=1` writes."""
    cargo("build", "--release", "-p", "zarr-cli", "--features", "zfp")
    exchange_all(TARGET / "release/zarr", 1)
    reports = [SCRATCH / f"interop/{name}.json" for name in [*environments.PEERS, "gdal"]]
    made = output(environments.peer("zarr_python_3"), INTEROP / "matrix.py", *reports) + "\n"
    (TARGET / "interop.md").write_text(made)
    page, table = TOP / "docs/interop.md", re.compile(r"^\|  \| dialect .*?\n\n", re.M | re.S)
    text = page.read_text()
    due = table.sub(lambda _: table.search(made)[0], text, count=1)
    if os.environ.get("UPDATE"):
        page.write_text(due)
    elif due != text:
        sys.exit(f"error: the table of docs/interop.md is not that of {TARGET / 'interop.md'}; `UPDATE=1 .ci/full matrix` writes it")


@step("full", "pythons", shows=r" passed in |^SKIPPED")
def zarrkit_versions():
    """The Python package's own tests on the other Pythons, and its example with Ray."""
    env = python_module("--workspace", "--lib", "--test", "it")
    for minor in environments.package_versions()[:-1]:
        pytest(minor, env=env)
    name_missing_pythons(environments.package_lists())
    ray = environments.venv("zarrkit_ray", (PYTHON_PACKAGE / "tests/requirements-ray.txt").read_text())
    pytest(newest_python(), "-k", "ray", env={**env, "ZARRKIT_RAY": ray})


@step("full", "pythons", limit=60, shows=r" passed in |^SKIPPED")
def zarrkit_long():
    """The Python package's tests with the counts of docs/python: selections, forks, runs of Dask."""
    counts = {"SELECTIONS": 100000, "PIPELINE_SELECTIONS": 300, "FORKS": 1000, "OPENS": 10000, "DASK_RUNS": 20}
    env = python_module("--release") | {f"ZARRKIT_{name}": count for name, count in counts.items()}
    pytest(newest_python(), "--durations=10", env=env)


@step("full", "pythons", limit=60)
def zarrkit_mutations():
    """What is taken out of the Python package, its tests notice."""
    run(environments.package_python(newest_python()), PYTHON_PACKAGE / "suites/mutations.py", env=python_module("--release"))


@step("full", "pythons", limit=60, shows=r" passed")
def zarrkit_suites():
    """Other packages' own tests with zarrkit in them, on each Python: those of zarr-python, zarrs-python, xarray and Dask."""
    suites = PYTHON_PACKAGE / "suites"
    env = python_module("--release")
    for minor in environments.package_versions():
        python = environments.package_python(minor)
        folder = SCRATCH / f"suites/3{minor}"
        folder.mkdir(parents=True, exist_ok=True)
        run(python, suites / "zarr_python.py", folder, env=env)
        run(python, suites / "zarrs_python.py", folder, env=env)
        run(python, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-o", "asyncio_mode=auto", suites / "stores.py", env=env)
        run(python, suites / "xarray_zarr.py", env=env)
        run(suites / "dask_zarr.sh", python)
    name_missing_pythons(environments.package_lists())


@step("full", limit=60, shows=r" passed|^NO TESTS|^== ")
def zarrkit_applications():
    """The own tests of packages that keep their data in zarr-python's arrays, with zarrkit in them: Icechunk, VirtualiZarr and anndata."""
    if not environments.python_of(12):
        environments.skip("Python 3.12 is not installed: the tests of Icechunk, VirtualiZarr and anndata need it")
        return
    suites = PYTHON_PACKAGE / "suites"
    python = environments.venv("zarrkit_applications", (suites / "applications.txt").read_text(), 12)
    run(python, suites / "applications.py", SCRATCH / "suites/applications", env=python_module("--release"))


@step("full", "pythons")
def zarrkit_types():
    """The types of the Python package and of its pages' examples."""
    python_module()
    run(PYTHON_PACKAGE / "suites/types.sh", environments.types().parent.parent)


@step("full", limit=60)
def zarrkit_packages():
    """The source distribution and the wheels of the Python package, in empty environments."""
    pythons = [python for minor in (11, 12, 13) if (python := environments.python_of(minor))]
    run(PYTHON_PACKAGE / "suites/packaging.sh", env={"PYTHONS": " ".join(pythons)})


@step("full", shows=r" executions in ")
def fuzz():
    """Every fuzz target for 6 seconds with mutated inputs. Inputs that fail are in scratch/fuzz."""
    programs()
    fuzz_all(TARGET / "debug/zarr-fuzz", fuzz_targets(), 6)


def fuzz_targets():
    return sorted(path.stem for path in (TOP / "fuzz/fuzz_targets").glob("*.rs"))


def fuzz_all(program, targets, seconds):
    """Runs fuzz targets, as many at a time as there are processors."""
    command = f"printf '%s\\n' {' '.join(targets)} | xargs -n 1 -P {os.cpu_count()} {program} run {seconds}"
    run("bash", "-euo", "pipefail", "-c", command)


def fuzz_pair(targets):
    """A step that fuzzes two targets, each for half an hour."""

    @step("full", limit=60, shows=r" executions in ", name=f"fuzz_{'_and_'.join(targets)}")
    def fuzz_long():
        cargo("build", "--profile", "fuzz", "-p", "zarr-fuzz")
        fuzz_all(TARGET / "fuzz/zarr-fuzz", targets, 1800)

    fuzz_long.__doc__ = f"The fuzz targets {' and '.join(targets)} for half an hour each."


for first in range(0, len(fuzz_targets()), 2):
    fuzz_pair(fuzz_targets()[first : first + 2])


if __name__ == "__main__":
    STEPS[sys.argv[1]].function()
