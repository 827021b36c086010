#!/usr/bin/env python3
"""Makes Zarr arrays of real data that Python packages bring: `benches/tune_data.py FOLDER`, for the example `tune`.

Versions of the packages with which docs/tasks/tune.md was measured:
pip install zarr==3.1.6 scikit-image==0.26.0 nibabel==5.4.2 nilearn==0.14.1 pvlib==0.16.1 global-land-mask==1.0.0 h5py==3.16.0 \\
    iris-sample-data==2.5.2
"""

import sys
from pathlib import Path

import global_land_mask
import h5py
import iris_sample_data
import nibabel
import nilearn
import numpy
import pvlib
import skimage
import zarr


def data(package, *names):
    return Path(package.__file__).parent.joinpath(*names)


def volume(path):
    return numpy.asarray(nibabel.load(path).dataobj)


def h5(path):
    with h5py.File(path) as file:
        found = []
        file.visititems(lambda _, item: found.append(item[...]) if isinstance(item, h5py.Dataset) else None)
        return max(found, key=lambda array: array.nbytes)


def climate(file, variable):
    with h5py.File(data(iris_sample_data, "sample_data", f"{file}.nc")) as file:
        return file[variable][...]


def image(name):
    return skimage.io.imread(data(skimage, "data", name))


def land_mask():
    """The northern half: more than a sample holds."""
    return numpy.load(data(global_land_mask, "globe_combined_mask_compressed.npz"))["mask"][:10800]


DATASETS = {
    "linke-turbidity": (("lat", "lon", "month"), lambda: h5(data(pvlib, "data", "LinkeTurbidities.h5"))),
    "altitude": (("lat", "lon"), lambda: h5(data(pvlib, "data", "Altitude.h5"))),
    "land-mask": (("lat", "lon"), land_mask),
    "icbm-t1": (("x", "y", "z"), lambda: volume(data(nilearn, "datasets/data/mni_icbm152_t1_tal_nlin_sym_09a_converted.nii.gz"))),
    "icbm-gm": (("x", "y", "z"), lambda: volume(data(nilearn, "datasets/data/mni_icbm152_gm_tal_nlin_sym_09a_converted.nii.gz"))),
    "example4d": (("x", "y", "z", "t"), lambda: volume(data(nibabel, "tests/data/example4d.nii.gz"))),
    "functional": (("x", "y", "z", "t"), lambda: volume(data(nibabel, "tests/data/functional.nii"))),
    "retina": (("y", "x", "c"), lambda: image("retina.jpg")),
    "hubble": (("y", "x", "c"), lambda: image("hubble_deep_field.jpg")),
    "motorcycle": (("y", "x"), lambda: numpy.load(data(skimage, "data", "motorcycle_disp.npz"))["arr_0"]),
    "faces": (("n", "y", "x"), lambda: numpy.load(data(skimage, "data", "lfw_subset.npy"))),
    "cells": (("y", "x"), lambda: image("cell.png")),
    "scenario-a1b": (("time", "lat", "lon"), lambda: climate("A1B_north_america", "air_temperature")),
    "sea-surface": (("time", "lat", "lon"), lambda: climate("ostia_monthly", "surface_temperature")),
    "orca": (("y", "x"), lambda: climate("orca2_votemper", "votemper")),
    "brightness": (("y", "x"), lambda: climate("toa_brightness_stereographic", "data")),
    "salinity": (("depth", "lat", "lon"), lambda: climate("atlantic_profiles", "salinity")),
}


def main(folder):
    for name, (dimensions, load) in DATASETS.items():
        try:
            array = load()
        except (OSError, KeyError) as error:
            print(f"{name}: left out, as a package does not bring it: {error}", file=sys.stderr)
            continue
        array = numpy.ascontiguousarray(array.astype(array.dtype.newbyteorder("=")))
        zarr.create_array(Path(folder) / f"{name}.zarr", data=array, dimension_names=dimensions, overwrite=True)
        print(name, array.dtype, array.shape)


if __name__ == "__main__":
    main(sys.argv[1])
