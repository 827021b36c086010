"""CDL, with ncgen and ncdump 4.9.0 of Debian 12 (`apt-get install netcdf-bin`), on HDF5: they make and print what we do.

Texts of `specs-conformance/cdl` and texts made at random go through both: ours by `zarr gen` and `zarr dump`, theirs by `ncgen -k nc4` and
`ncdump`. The outputs are equal to the byte; ncgen reads what `zarr dump` prints; and the stored texts are what ncdump prints (N-120 to N-122).

ncgen 4.9.0 crashes on characters along an unlimited dimension, on a dimension that is unlimited and twice there, and on lists of
records of different lengths: the random texts have none. A text of JSON has other spaces in Zarr (N-043), and they have none of that.
"""

import argparse
import random
import subprocess
import sys
import tempfile
from pathlib import Path

CORPUS = Path(__file__).resolve().parent.parent / "cdl"
TEXTS = 200
INTEGERS = {
    "byte": (-(2**7), 2**7 - 1, "b"), "ubyte": (0, 2**8 - 1, "UB"), "short": (-(2**15), 2**15 - 1, "s"),
    "ushort": (0, 2**16 - 1, "US"), "int": (-(2**31), 2**31 - 1, ""), "uint": (0, 2**32 - 1, "U"),
    "int64": (-(2**63) + 1, 2**63 - 1, "LL"), "uint64": (0, 2**64 - 1, "ULL"),
}
TYPES = [*INTEGERS, "char", "float", "double", "string"]
CHARACTERS = ["a", "Z", "0", " ", "\\n", "\\t", '\\"', "\\'", "\\\\", "é", "漢", "\\001", "\\r", "_", "-"]
# Stored texts with JSON.
OF_JSON = ["attribute_text", "demo"]
# Stored texts with `-0` among data, which ncgen reads as 0, or with the largest double, which it reads as Infinity from 15 digits.
MISREAD = ["big_numbers", "constants", "floats"]


class Texts:
    """Texts made at random, always the same."""

    def __init__(self, seed):
        self.pick = random.Random(seed)

    def text(self, most):
        return '"' + "".join(self.pick.choice(CHARACTERS) for _ in range(self.pick.randint(0, most))) + '"'

    def value(self, kind):
        pick = self.pick
        if kind == "string":
            return self.text(pick.choice([3, 12, 60]))
        if kind in INTEGERS:
            least, most, suffix = INTEGERS[kind]
            near = pick.randint(max(least, -100), min(most, 100))
            return f"{pick.choice([least, most, 0, 1, pick.randint(least, most), near])}{suffix}"
        suffix = "f" if kind == "float" else ""
        if pick.random() < 0.06:
            return pick.choice(["NaN", "Infinity", "-Infinity"]) + suffix
        large = 37 if kind == "float" else 300
        number = pick.choice([0.0, 1.0, -1.0, pick.random(), pick.gauss(0, 1e5), 10 ** pick.uniform(-large, large)])
        digits = f"{number:.{pick.choice([3, 7, 9, 15, 17])}g}"
        return digits + ("" if "." in digits or "e" in digits else ".") + suffix

    def attribute(self, owner):
        kind, name = self.pick.choice(TYPES), f"a{self.pick.randint(0, 10**6)}"
        if kind == "char":
            return f"{owner}:{name} = {self.text(40)} ;"
        values = ", ".join(self.value(kind) for _ in range(self.pick.randint(1, 4)))
        return f"{'string ' * (kind == 'string')}{owner}:{name} = {values} ;"

    def data(self, kind, axes):
        if kind == "char":
            rows, length = 1, axes[-1][1] if axes else 1
            for _, count, _ in axes[:-1]:
                rows *= count
            return ", ".join(f'"{"".join(self.pick.choices("abcXYZ 019_-", k=length))}"' for _ in range(rows))
        if not axes:
            return self.value(kind)
        values = []
        for _ in range(axes[0][1]):
            inner = self.data(kind, axes[1:]) if axes[1:] else self.pick.choice(["_", *[self.value(kind)] * 9])
            values.append(f"{{{inner}}}" if axes[1:] and axes[1][2] else inner)
        return ", ".join(values)

    def axes(self, kind, known):
        axes = [self.pick.choice(known) for _ in range(self.pick.randint(0, 3))] if known else []
        once = [axis for n, axis in enumerate(axes) if not axis[2] or axis not in axes[:n]]
        return [axis for axis in once if not axis[2]] if kind == "char" else once

    def group(self, depth=0, above=()):
        pick, own, head, variables, data = self.pick, [], [], [], []
        for n in range(pick.randint(1, 4)):
            own.append((f"d{depth}_{n}", pick.choice([1, 2, 3, 5, 17]), pick.random() < 0.3))
        head.append("dimensions:")
        head += [f"{name} = {'UNLIMITED' if grows else length} ;" for name, length, grows in own]
        for n in range(pick.randint(1, 5)):
            kind, name = pick.choice(TYPES), f"v{n}_{pick.randint(0, 10 ** pick.randint(1, 20))}"
            axes = self.axes(kind, [*above, *own])
            names = ", ".join(axis[0] for axis in axes)
            variables.append(f"{kind} {name}{f'({names})' if axes else ''} ;")
            if pick.random() < 0.3 and kind not in ("char", "string"):
                variables.append(f"{name}:_FillValue = {self.value(kind)} ;")
            variables += [self.attribute(name) for _ in range(pick.randint(0, 2))]
            if pick.random() < 0.85:
                data.append(f"{name} = {self.data(kind, axes)} ;")
        lines = [*head, "variables:", *variables, *[self.attribute("") for _ in range(pick.randint(0, 2))]]
        lines += ["data:", *data] if data else []
        for n in range(pick.choice([0, 0, 1, 2]) if depth < 3 else 0):
            lines += [f"group: g{n} {{", *self.group(depth + 1, [*above, *own]), "}"]
        return lines

    def whole(self):
        return "\n".join(["netcdf x {", *self.group(), "}\n"])


def run(*command):
    done = subprocess.run([str(word) for word in command], capture_output=True)
    if done.returncode or done.stderr:
        raise RuntimeError(f"{command[0]}: exit {done.returncode}: {done.stderr.decode(errors='replace')[:300]}")
    return done.stdout.decode()


def theirs(cdl, folder):
    (folder / "x.nc").unlink(missing_ok=True)
    run("ncgen", "-k", "nc4", "-o", folder / "x.nc", cdl)
    return run("ncdump", "-n", "x", folder / "x.nc")


def ours(program, cdl, kind, folder):
    run(program, "gen", cdl, "-o", folder / kind, "--format", kind)
    return run(program, "dump", "-n", "x", folder / kind)


def same(what, found, due):
    for n, (one, other) in enumerate(zip(found.splitlines(), due.splitlines())):
        assert one == other, f"{what}: line {n + 1} is {one[:100]!r}, not {other[:100]!r}"
    assert found == due, f"{what}: {len(found)} bytes, not {len(due)}"


def check(program, name, text, stored):
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        cdl = folder / "x.cdl"
        cdl.write_text(text)
        due = theirs(cdl, folder)
        if stored is not None:
            same("the stored text", "\n".join(["netcdf x {", *stored.splitlines()[1:], ""]), due)
        for kind in ("nczarr-v2", "nczarr-v3"):
            found = ours(program, cdl, kind, folder)
            if name not in OF_JSON:
                same(kind, found, due)
            (folder / "again.cdl").write_text(found)
            again = theirs(folder / "again.cdl", folder)
            if name in MISREAD:
                assert again != found, f"{kind}: ncgen reads it now; strike it from the exceptions"
            else:
                same(f"{kind}, read by ncgen", again, found)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("program", help="the program `zarr` to be tested")
    parser.add_argument("--texts", type=int, default=TEXTS, help="how many texts to make at random")
    arguments = parser.parse_args()
    program = Path(arguments.program).resolve()
    texts = [(path.stem, path.read_text(), path.with_suffix(".ncdump").read_text()) for path in sorted(CORPUS.glob("*.cdl"))]
    texts += [(f"random text {seed}", Texts(seed).whole(), None) for seed in range(arguments.texts)]
    wrong = 0
    for name, text, stored in texts:
        try:
            check(program, name, text, stored)
        except (AssertionError, RuntimeError) as error:
            wrong += 1
            print(f"{name}: {error}")
    print(f"ncgen and ncdump 4.9.0: {len(texts) - wrong} equal, {wrong} wrong")
    sys.exit(1 if wrong else 0)


main()
