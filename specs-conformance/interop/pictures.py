"""matplotlib 3.10 and Pillow 11: `zarr plot --bare` has the colours of `imshow`, pixel by pixel.

Each image has the colours of matplotlib's norm and map for the same data and range, in 8 bits rounded, nothing where an element is NaN or
missing. Figures are read by Pillow, and SVG by an XML parser. tifffile and Pillow read what `zarr get --format tiff` and `png` write: the
elements as they are.
"""

import subprocess
import sys
import tempfile
import warnings
import xml.etree.ElementTree as ET
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
import tifffile
import zarr
from matplotlib.colors import LogNorm
from PIL import Image

warnings.simplefilter("ignore")
RANDOM = np.random.default_rng(17)
SHAPE = (61, 83)
NAMES = ["viridis", "magma", "inferno", "plasma", "cividis", "turbo", "gray", "RdBu_r", "twilight_shifted"]


def plot(program, path, name, *options):
    found = subprocess.run([program, "plot", str(path), "--path", name, *options], capture_output=True)
    if found.returncode or found.stderr:
        raise AssertionError(f"{name} {options}: {found.stderr.decode()}")
    return found.stdout


def colors(data, cmap, low=None, high=None, norm=None):
    """What `imshow` makes of the data, in rounded bytes."""
    # Of 510 colours in one map, the 256 that matplotlib takes of them.
    image = plt.imshow(data, cmap=matplotlib.colormaps[cmap].resampled(256), vmin=low, vmax=high, norm=norm, interpolation="nearest")
    rgba = np.round(image.cmap(image.norm(np.ma.masked_invalid(data) if data.dtype.kind == "f" else data)) * 255)
    rgba[np.isnan(data)] = 0
    plt.close()
    return rgba.astype("u1")


def images():
    """Name, elements, attributes, options, and what they look like."""
    smooth = np.add.outer(np.sin(np.linspace(0, 9, SHAPE[0])), np.linspace(0, 7, SHAPE[1])) * 3
    noise = RANDOM.normal(size=SHAPE)
    gaps = np.where(noise > 1, np.nan, noise)
    ramp = np.arange(SHAPE[0] * SHAPE[1]).reshape(SHAPE)
    cut = ["--range", "-1.5,2"]
    yield "f8", noise, {}, ["--cmap", "viridis", *cut], colors(noise, "viridis", -1.5, 2)
    yield "f4", noise.astype("f4"), {}, ["--cmap", "magma", *cut], colors(noise.astype("f4"), "magma", -1.5, 2)
    yield "gaps", gaps, {}, ["--cmap", "inferno", *cut], colors(gaps, "inferno", -1.5, 2)
    small = gaps.astype("f4")
    yield "gaps4", small, {}, ["--cmap", "plasma", "--range", "full"], colors(small, "plasma", float(np.nanmin(small)), float(np.nanmax(small)))
    byte = (ramp % 256).astype("u1")
    yield "u1", byte, {}, ["--cmap", "gray", "--range", "0,255"], colors(byte, "gray", 0, 255)
    yield "u1all", byte, {}, ["--cmap", "turbo", "--range", "full"], colors(byte, "turbo", 0, 255)
    short = (ramp * 13 - 30000).astype("i2")
    yield "i2", short, {}, ["--cmap", "cividis", "--range", "-20000,20000"], colors(short, "cividis", -20000, 20000)
    yield "i4", (ramp**2).astype("i4"), {}, ["--cmap", "turbo", "--range", "full"], colors((ramp**2).astype("f8"), "turbo", 0, float(ramp[-1, -1]) ** 2)
    low, high = np.percentile(smooth, [2, 98])
    yield "usual", smooth + 100, {}, [], colors(smooth + 100, "viridis", *np.percentile(smooth + 100, [2, 98]))
    half = max(abs(low), abs(high))
    yield "signed", smooth, {}, [], colors(smooth, "RdBu_r", -half, half)
    packed = np.where(noise > 1.2, -999, noise * 100).astype("i2")
    decoded = np.where(packed == -999, np.nan, packed * 0.01 + 273.15)
    attributes = {"_FillValue": -999, "scale_factor": 0.01, "add_offset": 273.15}
    yield "packed", packed, attributes, ["--cmap", "twilight_shifted", "--range", "271,275"], colors(decoded, "twilight_shifted", 271, 275)
    log = np.exp(noise * 2)
    yield "log", log, {}, ["--log", "--range", "0.01,100"], colors(log, "viridis", norm=LogNorm(0.01, 100))
    infinite = noise.copy()
    infinite[3:5], infinite[7:9], infinite[11:13] = np.inf, -np.inf, np.nan
    image = colors(np.where(np.isinf(infinite), np.sign(infinite) * 1e9, infinite), "magma", -1, 1)
    yield "inf", infinite, {}, ["--cmap", "magma", "--range", "-1,1"], image
    for name in NAMES:
        yield f"map_{name}", noise, {}, ["--cmap", name, *cut], colors(noise, name, -1.5, 2)


def stored():
    """Name, elements, and whether PNG has words for them."""
    ramp = np.arange(37 * 29).reshape(37, 29)
    for kind in "u1 u2 u4 u8 i1 i2 i4 i8 f2 f4 f8 c8 c16".split():
        yield kind, (ramp * 613 - 300).astype(kind), kind in ("u1", "u2")
    yield "bool", ramp % 3 == 0, True
    yield "rgb", np.stack([ramp, ramp * 2, ramp * 3], axis=-1).astype("u1"), True
    yield "rgba16", np.stack([ramp, ramp * 2, ramp * 3, ramp + 60_000], axis=-1).astype("u2"), True
    yield "pages", np.arange(5 * 37 * 29).reshape(5, 37, 29).astype("i2"), False
    yield "hyper", np.arange(2 * 3 * 7 * 5).reshape(2, 3, 7, 5).astype("f4"), False
    yield "bools", np.arange(4 * 3 * 11).reshape(4, 3, 11) % 7 == 0, False


def images_as_they_are(program, folder):
    """How many images of `zarr get` differ from the elements, and how many there are."""
    path, failures, count = folder / "stored.zarr", 0, 0
    group = zarr.open_group(path, mode="w", zarr_format=3)
    for name, data, has_png in stored():
        chunks = tuple(max(1, n // 2) for n in data.shape)
        group.create_array(name, shape=data.shape, chunks=chunks, dtype=data.dtype)[...] = data
        for form in ["tiff", "png"] if has_png else ["tiff"]:
            file = folder / f"image.{form}"
            with open(file, "wb") as out:
                subprocess.run([program, "get", str(path), "--path", name, "--format", form], stdout=out, check=True)
            if form == "tiff":
                found = tifffile.imread(file)
            else:
                with Image.open(file) as image:
                    found = np.asarray(image)
            if name == "rgba16" and form == "png":
                # Pillow has no colours of 16 bits: the higher byte.
                data = (data >> 8).astype("u1")
            pages = data.reshape((-1, *data.shape[2:])) if name == "hyper" else data
            count += 1
            if found.dtype != pages.dtype or not np.array_equal(found, pages):
                print(f"{name}.{form}: {found.dtype}{found.shape} differs from {pages.dtype}{pages.shape}")
                failures += 1
    return failures, count


def main(program):
    failures = count = 0
    with tempfile.TemporaryDirectory() as folder:
        path, picture = Path(folder) / "pictures.zarr", Path(folder) / "picture.png"
        group = zarr.open_group(path, mode="w", zarr_format=3)
        for name, data, attributes, options, expected in images():
            array = group.create_array(name, shape=data.shape, chunks=(17, 40), dtype=data.dtype, dimension_names=("y", "x"))
            array[...] = data
            array.attrs.update(attributes)
            plot(program, path, name, *options, "--bare", "-o", str(picture))
            with Image.open(picture) as found:
                found = np.asarray(found.convert("RGBA"))
            count += 1
            if found.shape != expected.shape:
                differ = f"{found.shape} for {expected.shape}"
            else:
                differ = np.count_nonzero((found != expected).any(axis=-1))
            if differ:
                print(f"{name}: {differ} pixels differ")
                failures += 1
            plot(program, path, name, "-o", str(picture))
            with Image.open(picture) as figure:
                figure.load()
            plot(program, path, name, "-o", str(picture.with_suffix(".svg")))
            ET.parse(picture.with_suffix(".svg"))
        wrong, whole = images_as_they_are(program, Path(folder))
    print(f"pictures: {count - failures} of {count} equal matplotlib's; {whole - wrong} of {whole} images have the elements")
    failures += wrong
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main(str(Path(sys.argv[1]).resolve())))
