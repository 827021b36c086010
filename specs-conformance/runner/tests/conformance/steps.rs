//! Takes the steps of a case before its store is looked at again.

use std::ops::Range;
use std::sync::Arc;

use zarr::store::Store;
use zarr::{Hierarchy, Json, Object, OpenOptions};

use crate::Check;
use crate::compare::{names, numbers, text, unhex, whole_numbers};
use crate::vector::{expect_error, node_path};

/// Takes one step; `error` in it names the kind of refusal that is due.
pub fn take(store: &Arc<dyn Store>, options: &OpenOptions, step: &Object) -> Check {
    let hierarchy = Hierarchy::open(store.clone(), options).map_err(|e| e.to_string())?;
    match (act(&hierarchy, step)?, text(step, "error")) {
        (Ok(()), None) => Ok(()),
        (Ok(()), Some(kind)) => Err(format!("was done, where {kind} is due")),
        (Err(error), Some(kind)) => expect_error(kind, &error),
        (Err(error), None) => Err(error.to_string()),
    }
}

/// The inner result is the library's, the outer one says whether the step could be understood.
fn act(hierarchy: &Hierarchy, step: &Object) -> Result<zarr::Result<()>, String> {
    let path = node_path(text(step, "path"))?;
    Ok(match text(step, "do") {
        Some("write") => {
            let region = region(step).ok_or("`region` is a list of [start, end]")?;
            let bytes = unhex(text(step, "le_hex").unwrap_or_default())?;
            hierarchy.array(&path).and_then(|array| array.write_le_bytes(region.as_slice(), &bytes))
        }
        Some("erase") => hierarchy.erase(&path),
        Some("create_group") => hierarchy.create_group(&path, object(step, "attributes")).map(drop),
        Some("create_array") => create_array(hierarchy, step).map(drop),
        Some("set_attribute") => {
            let name = text(step, "name").ok_or("`name` is missing")?;
            let value = step.get("value").cloned().ok_or("`value` is missing")?;
            hierarchy.node(&path).and_then(|node| {
                node.update_attributes(|attributes| drop(attributes.insert(name, value.clone())))
                    .map(drop)
            })
        }
        Some("resize") => {
            let shape = numbers(step, "shape").ok_or("`shape` is missing")?;
            hierarchy.array(&path).and_then(|array| array.resize(&shape))
        }
        Some("prepend") => {
            let bytes = unhex(text(step, "le_hex").unwrap_or_default())?;
            let elements = bytes.as_chunks().0.iter().copied().map(i16::from_le_bytes);
            let elements: Vec<i16> = elements.collect();
            hierarchy.array(&path).and_then(|array| array.prepend(0, &elements))
        }
        other => return Err(format!("no step is called {other:?}")),
    })
}

fn create_array(hierarchy: &Hierarchy, step: &Object) -> zarr::Result<()> {
    let path = node_path(text(step, "path")).expect("the path was read before");
    let mut builder = hierarchy
        .create_array(&path)
        .shape(&numbers(step, "shape").unwrap_or_default())
        .chunks(&numbers(step, "chunks").unwrap_or_default())
        .data_type_named(text(step, "data_type").unwrap_or_default())
        .attributes(object(step, "attributes"))
        .f_order(text(step, "order") == Some("F"))
        .purge(step.get("purge").and_then(Json::as_bool) == Some(true));
    builder = match step.get("fill_value") {
        Some(Json::Null) => builder.undefined_fill(),
        Some(fill) => builder.fill_value(fill.clone()),
        None => builder,
    };
    if let Some(names) = step.get("dimension_names").and_then(names) {
        builder = builder.dimension_names(names);
    }
    for codec in step.get("codecs").and_then(Json::as_array).unwrap_or_default() {
        builder = builder.codec(zarr::tools::codec(codec.as_str().unwrap_or_default())?);
    }
    builder.create().map(drop)
}

fn region(step: &Object) -> Option<Vec<Range<u64>>> {
    let interval = |json: &Json| match whole_numbers(json)?.as_slice() {
        [start, end] => Some(*start..*end),
        _ => None,
    };
    step.get("region")?.as_array()?.iter().map(interval).collect()
}

fn object(step: &Object, name: &str) -> Object {
    step.get(name).and_then(Json::as_object).cloned().unwrap_or_default()
}
