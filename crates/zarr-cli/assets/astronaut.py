"""Writes `astronaut.tar`, the image of `zarr demo`: `python astronaut.py`, with what `astronaut.txt` pins.

The photograph is in scikit-image's wheel, so that nothing is downloaded here; zarr-python writes it.
"""

import gzip
import hashlib
import io
import tarfile
import tempfile
import types
from pathlib import Path

import numcodecs
import skimage.data
import zarr

HERE = Path(__file__).resolve().parent
PIXELS = 300
# gzip notes the time in each chunk.
gzip.time = types.SimpleNamespace(time=lambda: 0)


def main():
    # The upper left part.
    pixels = skimage.data.astronaut()[:PIXELS, :PIXELS]
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch) / "image.zarr"
        group = zarr.open_group(str(folder), mode="w", zarr_format=2)
        array = group.create_array(
            "astronaut", shape=pixels.shape, chunks=(100, 100, 1), dtype="|u1", fill_value=0, compressors=numcodecs.GZip(1),
            attributes={"_ARRAY_DIMENSIONS": ["y", "x", "channel"], "title": "Eileen Collins, photographed by NASA"},
        )
        array[...] = pixels
        # The group has no attributes.
        (folder / ".zattrs").unlink(missing_ok=True)
        with tarfile.open(HERE / "astronaut.tar", "w", format=tarfile.USTAR_FORMAT) as archive:
            for path in [folder, *sorted(folder.rglob("*"))]:
                entry = tarfile.TarInfo(path.relative_to(folder.parent).as_posix())
                entry.type, entry.mode = (tarfile.DIRTYPE, 0o755) if path.is_dir() else (tarfile.REGTYPE, 0o644)
                data = b"" if path.is_dir() else path.read_bytes()
                entry.size = len(data)
                archive.addfile(entry, io.BytesIO(data))
        read = zarr.open_array(str(folder), path="astronaut", mode="r", zarr_format=2)[...]
    print(hashlib.sha256(read.tobytes()).hexdigest())


main()
