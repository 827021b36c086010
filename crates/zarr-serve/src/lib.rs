//! Serves Zarr hierarchies over HTTP, read-only, any dialect as v3 too, with a page to look at them.
