//! The compiled part of the Python package `zarrkit`: the library `zarr` as classes of Python.
//!
//! `open` makes nodes, `array` and `group` are their classes; `keys` reads NumPy's index expressions, `dtype` names data types, `elements`
//! brings elements into the form of NumPy's, `buffer` lends memory of NumPy's to the library, `call` runs it without Python's lock,
//! `errors` and `json` translate. `py_store` makes stores of the library of Python's stores. `pipeline` serves zarr-python
//! as its codec pipeline, and reads its batches by `batch`.

mod array;
mod attributes;
mod batch;
mod buffer;
mod call;
mod coordinates;
mod create;
mod dataset;
mod dtype;
mod elements;
mod errors;
mod fields;
mod fork;
mod group;
mod indexers;
mod json;
mod keys;
mod levels;
mod netcdf_lengths;
mod np;
mod open;
mod pickle;
mod pipeline;
mod plan;
#[cfg(feature = "program")]
mod program;
mod progress;
mod properties;
mod py_remote;
mod py_store;
#[cfg(feature = "references")]
mod references;
mod region;
mod run;
mod store;
mod strings;
mod sync;
mod threads;
mod tools;

use pyo3::prelude::*;

/// The compiled part of zarrkit.
#[pymodule(gil_used = false)]
fn _zarrkit(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add_class::<array::Array>()?;
    module.add_class::<group::Group>()?;
    module.add_class::<progress::Progress>()?;
    module.add_class::<call::Cancel>()?;
    module.add_class::<pickle::Root>()?;
    module.add_function(wrap_pyfunction!(call::run_cancellable, module)?)?;
    module.add_class::<region::Region>()?;
    module.add_class::<indexers::Indexer>()?;
    module.add_class::<pipeline::PipelineArray>()?;
    module.add_function(wrap_pyfunction!(open::open, module)?)?;
    module.add_class::<plan::Plan>()?;
    module.add_function(wrap_pyfunction!(create::create_at, module)?)?;
    module.add_function(wrap_pyfunction!(create::create_group, module)?)?;
    module.add_class::<store::RawStore>()?;
    module.add_function(wrap_pyfunction!(dataset::netcdf_group, module)?)?;
    #[cfg(feature = "program")]
    module.add_function(wrap_pyfunction!(program::run, module)?)?;
    #[cfg(feature = "references")]
    {
        module.add_class::<references::RawReferences>()?;
        module.add_function(wrap_pyfunction!(references::refs, module)?)?;
    }
    tools::register(module)?;
    fork::register(module.py())
}
