"""titiler-xarray 2.4: tiles of `zarr serve` have its colours, pixel by pixel, to within one of 256.

The data are the altitudes of the Earth, bytes in steps of 28 metres, which pvlib brings: around the world from -180 and from 0 degrees, in
falling and in rising latitudes, whole numbers, floats with gaps, packed, and signed bytes that stand for unsigned ones. Where the steps of
the grid are those of the tiles' pixels, all pixels are the same. Elsewhere a pixel whose middle is within an eighth of a pixel of the edge
of an element may have the neighbour's colour: both programs, as GDAL, interpolate places where that is exact enough.
"""

import argparse
import io
import json
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path
from urllib.request import urlopen

import h5py
import numpy as np
import pvlib
import zarr
from fastapi import FastAPI
from PIL import Image
from rio_tiler.colormap import cmap
from starlette.testclient import TestClient
from titiler.xarray.factory import TilerFactory

CELLS = (256, 512)
STEP = 360 / CELLS[1]
# The most that a colour may differ by, and the most pixels that may be a neighbour's where grids are not aligned.
MAX_STEP = 1
MAX_NEIGHBOURS = 0.02
ALIGNED = [("WorldCRS84Quad", *tile) for tile in [(0, 0, 0), (0, 1, 0), (1, 1, 1), (1, 3, 0)]]
OTHERS = [("WebMercatorQuad", *tile) for tile in [(0, 0, 0), (1, 0, 0), (1, 1, 1), (2, 2, 1), (3, 1, 3), (4, 8, 5), (5, 0, 11), (5, 31, 12)]]
OTHERS += [("WorldCRS84Quad", 3, 7, 2)]


def altitudes():
    """Altitudes in steps of 28 metres from -450 on, from 90 N to 90 S and from -180 to 180: of the middle of each cell."""
    with h5py.File(Path(pvlib.__file__).parent / "data/Altitude.h5") as file:
        found = file["Altitude"][...]
    rows, columns = ((np.arange(n) + 0.5) / n * size for n, size in zip(CELLS, found.shape))
    return found[np.ix_(rows.astype(int), columns.astype(int))]


def layouts(stored):
    """Name, elements, whether latitudes rise, the first longitude, attributes, fill value, and the range that is shown."""
    metres = stored.astype("f4") * 28 - 450
    gaps = np.where(stored < 17, np.nan, metres)
    shown = "-500,4000"
    yield "plain", stored, False, -180, {}, None, "0,200"
    yield "from_zero", metres, False, 0, {}, None, shown
    yield "rising", metres, True, -180, {}, None, shown
    yield "gaps", gaps, True, 0, {}, np.nan, shown
    packed = np.where(stored < 17, -32768, metres).astype("i2")
    yield "packed", packed, False, -180, {"scale_factor": 0.5, "add_offset": 100.0, "_FillValue": -32768}, -32768, "-150,2000"
    # Most of them are negative as they are stored.
    unsigned = (stored.astype("u2") + 100).astype("u1").view("i1")
    yield "unsigned", unsigned, False, 0, {"_Unsigned": "true", "scale_factor": 28.0, "add_offset": -3250.0, "_FillValue": -1}, -1, shown


def write(path, dialect, stored):
    group = zarr.open_group(path, mode="w", zarr_format=dialect)

    def array(parent, name, data, names, attributes, fill=None):
        v3 = {"dimension_names": names} if dialect == 3 else {}
        created = parent.create_array(name, shape=data.shape, dtype=data.dtype, chunks=tuple(min(n, 100) for n in data.shape), fill_value=fill, **v3)
        created[...] = data
        created.attrs.update(attributes if dialect == 3 else {**attributes, "_ARRAY_DIMENSIONS": list(names)})

    for name, data, rises, west, attributes, fill, _ in layouts(stored):
        parent = group.create_group(name)
        lat = 90 - (np.arange(CELLS[0]) + 0.5) * STEP
        lon = west + (np.arange(CELLS[1]) + 0.5) * STEP
        if west == 0:
            data = np.roll(data, CELLS[1] // 2, axis=1)
        if rises:
            lat, data = lat[::-1], data[::-1]
        # In v2 the fill value of the document is the missing one.
        if dialect == 2:
            attributes = {key: value for key, value in attributes.items() if key != "_FillValue"}
        array(parent, "altitude", np.ascontiguousarray(data), ("lat", "lon"), attributes, fill)
        array(parent, "lat", np.ascontiguousarray(lat), ("lat",), {"units": "degrees_north", "standard_name": "latitude"})
        array(parent, "lon", lon, ("lon",), {"units": "degrees_east", "standard_name": "longitude"})
        zarr.consolidate_metadata(parent.store, path=parent.path)


def numbers(png, palette):
    """The first and the last number of the colour of each pixel, as two are twice in the palette; -1000 where it is transparent, so that it differs
    from all others."""
    with Image.open(io.BytesIO(png)) as found:
        pixels = np.asarray(found.convert("RGBA"))
    first = {color: number for number, color in reversed(list(enumerate(palette)))}
    last = {color: number for number, color in enumerate(palette)}
    colors = [None if pixel[3] == 0 else tuple(pixel[:3].tolist()) for pixel in pixels.reshape(-1, 4)]
    found = [[-1000 if color is None else known[color] for color in colors] for known in (first, last)]
    return np.array(found).reshape(2, *pixels.shape[:2])


def tiles_of(url, path, client, names, shown, tile, palettes):
    """How many pixels of a tile differ, of how many."""
    (dialect, name), (tms, z, x, y) = names, tile
    query = f"rescale={shown}&colormap_name=viridis"
    theirs = client.get(f"/tiles/{tms}/{z}/{x}/{y}.png?url={path}/{name}&variable=altitude&{query}&resampling=nearest&return_mask=true")
    if theirs.status_code != 200:
        raise RuntimeError(f"titiler: v{dialect} {name} {tile}: {theirs.status_code} {theirs.text}")
    with urlopen(f"{url}tiles/{path.name}/{name}/altitude/{tms}/{z}/{y}/{x}?{query}") as answer:
        ours = numbers(answer.read(), palettes[0])
    theirs = numbers(theirs.content, palettes[1])
    differ = np.maximum(ours[0] - theirs[1], theirs[0] - ours[1]) > MAX_STEP
    return int(differ.sum()), differ.size


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program", type=Path)
    parser.add_argument("--sample", type=int, default=1)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    # It says of each tile of the whole world that the poles are cut off.
    warnings.simplefilter("ignore")
    app = FastAPI()
    app.include_router(TilerFactory().router)
    client = TestClient(app)
    theirs = [tuple(color[:3]) for _, color in sorted(cmap.get("viridis").items())]
    stored = altitudes()
    cases = [((dialect, name), shown, tile) for dialect in (2, 3) for name, *_, shown in layouts(stored) for tile in ALIGNED + OTHERS]
    cases = cases[options.seed % options.sample :: options.sample]
    failures = neighbours = pixels = 0
    with tempfile.TemporaryDirectory() as folder:
        paths = {dialect: Path(folder) / f"v{dialect}.zarr" for dialect in (2, 3)}
        for dialect, path in paths.items():
            write(path, dialect, stored)
        server = subprocess.Popen([options.program.resolve(), "serve", *paths.values(), "--port", "0"], stdout=subprocess.PIPE, text=True)
        try:
            url = server.stdout.readline().strip()
            with urlopen(f"{url}-/colormaps") as answer:
                digits = json.load(answer)["maps"]["viridis"]
            own = [tuple(bytes.fromhex(digits[n : n + 6])) for n in range(0, len(digits), 6)]
            for names, shown, tile in cases:
                differ, size = tiles_of(url, paths[names[0]], client, names, shown, tile, (own, theirs))
                if tile not in ALIGNED:
                    neighbours, pixels = neighbours + differ, pixels + size
                if differ > (0 if tile in ALIGNED else MAX_NEIGHBOURS * size):
                    failures += 1
                    print(f"v{names[0]} {names[1]} {tile}: {differ} of {size} pixels differ")
        finally:
            server.kill()
            server.wait()
    share = 100 * neighbours / max(pixels, 1)
    print(f"tiles: {len(cases) - failures} of {len(cases)} equal titiler-xarray's; {share:.2f} % of the pixels of grids that are not aligned are a neighbour's")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
