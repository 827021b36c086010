"""Makes an N5 container with zarr-python 2.18, and what it reads from it: `pip install 'zarr==2.18.*' 'numcodecs<0.16'`."""

import json
from pathlib import Path

import numcodecs
import numpy as np
import zarr

HERE = Path(__file__).parent


def values(array):
    """The elements in C order, least significant byte first, in hexadecimal digits."""
    return np.ascontiguousarray(array).astype(array.dtype.newbyteorder("<")).tobytes().hex()


def main():
    store = zarr.N5Store(str(HERE / "zarr2.n5"))
    root = zarr.group(store, overwrite=True)
    root.attrs["title"] = "N5"
    group = root.create_group("group")
    group.create_group("0").attrs["numeric"] = True
    compressors = {
        "raw": None,
        "gzip": numcodecs.GZip(3),
        "zlib": numcodecs.Zlib(3),
        "bzip2": numcodecs.BZ2(1),
        "xz": numcodecs.LZMA(preset=1),
        "blosc": numcodecs.Blosc("zstd", 3, numcodecs.Blosc.SHUFFLE),
        "zstd": numcodecs.Zstd(1),
    }
    expected = {}
    for name, compressor in compressors.items():
        data = (np.arange(3 * 4 * 5).reshape(3, 4, 5) * 7 - 100).astype("f4" if name == "gzip" else "i2")
        array = group["0"].create_dataset(name, shape=data.shape, chunks=(2, 3, 4), dtype=data.dtype, compressor=compressor)
        array[...] = data
        array[:2, :3, :2] = 0
        array.attrs["units"] = "nm"
        expected[f"group/0/{name}"] = {"dtype": data.dtype.str[1:], "shape": list(data.shape), "values": values(array[...])}
    for dtype in ["i1", "i4", "i8", "u1", "u2", "u4", "u8", "f4", "f8"]:
        data = np.array([1, 2, 100, 7, 0, 5, 9], dtype)
        array = root.create_dataset(dtype, shape=7, chunks=4, dtype=dtype, compressor=None)
        array[...] = data
        expected[dtype] = {"dtype": dtype, "shape": [7], "values": values(data)}
    (HERE / "zarr2.json").write_text(json.dumps(expected))
    (HERE / "versions_n5.txt").write_text(f"zarr {zarr.__version__}\nnumcodecs {numcodecs.__version__}\n")


main()
