//! Statistics and pictures of Zarr arrays, with what CF and OME say about their values and axes.
//!
//! - [`map`]: tiles of maps.
//! - [`meaning`]: missing values, scale and offset, times, axes, channels.
//! - [`picture`]: colour maps, planes, PNG.
//! - [`stats`]: counts, ends, mean, standard deviation, percentiles and histograms.

#![forbid(unsafe_code)]

pub mod map;
pub mod meaning;
pub mod picture;
pub mod stats;
