//! Statistics and pictures of Zarr arrays, with what CF and OME say about their values and axes.
