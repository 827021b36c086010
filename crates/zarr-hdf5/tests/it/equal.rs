//! All that h5py sees in each file is what the reader finds.

use serde_json::{Map, Value as Json, json};
use zarr_hdf5::value::Value;
use zarr_hdf5::walk::Walk;
use zarr_hdf5::{Attribute, Dataset, Failure, Object, ObjectKind, Storage, Target};

use crate::common::{Opened, files};

#[test]
fn every_file_is_what_h5py_sees() {
    let mut different = Vec::new();
    for (path, bytes, mut expected) in files() {
        // What netCDF sees is for `view`.
        if let Json::Object(members) = &mut expected {
            members.remove("variables");
        }
        let name = path.file_name().expect("it is a file").to_string_lossy().into_owned();
        for block_length in [61, 4096] {
            // The structures of large files lie in too many of the small blocks.
            if block_length < 100 && bytes.len() > 200_000 {
                continue;
            }
            let mut opened = Opened::new(bytes.clone(), block_length).expect("it is HDF5");
            let found = snapshot(&mut opened);
            compare(&name, &expected, &found, &mut different);
        }
    }
    assert!(different.is_empty(), "{} differences:\n{}", different.len(), different.join("\n"));
}

/// Chunks are found one by one, and those that are not stored are absent.
#[test]
fn lookup_finds_what_enumeration_finds() {
    for (path, bytes, _) in files() {
        let mut opened = Opened::new(bytes, 4096).expect("it is HDF5");
        for address in addresses(&mut opened) {
            let object =
                opened.run(|file, blocks| file.object(blocks, address)).expect("it is read");
            if object.kind != ObjectKind::Dataset {
                continue;
            }
            let dataset =
                opened.run(|file, blocks| file.dataset(blocks, &object)).expect("it is read");
            let Storage::Chunked(storage) = &dataset.storage else { continue };
            let chunks = chunks(&mut opened, &dataset);
            let shape = dataset.dataspace.shape().expect("it has a shape");
            let counts: Vec<u64> =
                shape.iter().zip(&storage.chunk_shape).map(|(n, c)| n.div_ceil(*c)).collect();
            for chunk in &chunks {
                let found =
                    opened.run(|file, blocks| file.chunk(blocks, storage, &chunk.coordinates));
                assert_eq!(found.expect("it is read").as_ref(), Some(chunk), "{}", path.display());
            }
            let total: u64 = counts.iter().product();
            if total > 5000 {
                continue;
            }
            let mut stored = 0;
            for number in 0..total {
                let coordinates = unravel(number, &counts);
                let found = opened.run(|file, blocks| file.chunk(blocks, storage, &coordinates));
                stored += usize::from(found.expect("it is read").is_some());
            }
            assert_eq!(stored, chunks.len(), "{} at {address}", path.display());
            let outside = opened.run(|file, blocks| file.chunk(blocks, storage, &counts));
            assert_eq!(outside.expect("it is read"), None);
        }
    }
}

fn unravel(mut number: u64, counts: &[u64]) -> Vec<u64> {
    let mut coordinates = vec![0; counts.len()];
    for axis in (0..counts.len()).rev() {
        coordinates[axis] = number % counts[axis];
        number /= counts[axis];
    }
    coordinates
}

fn addresses(opened: &mut Opened) -> Vec<u64> {
    let mut walk = Walk::new(&opened.file);
    let mut addresses = Vec::new();
    while let Some(found) =
        opened.run(|file, blocks| walk.next(file, blocks)).expect("the walk goes on")
    {
        found.kind.expect("every object is read");
        addresses.push(found.address);
    }
    addresses
}

fn chunks(opened: &mut Opened, dataset: &Dataset) -> Vec<zarr_hdf5::Chunk> {
    let Storage::Chunked(storage) = &dataset.storage else { return Vec::new() };
    let mut cursor = storage.cursor();
    let mut chunks = Vec::new();
    while let Some(more) = opened
        .run(|file, blocks| file.next_chunks(blocks, storage, &mut cursor))
        .expect("the index is read")
    {
        chunks.extend(more);
    }
    chunks
}

/// All that is found, as `make.py` writes it.
fn snapshot(opened: &mut Opened) -> Json {
    let mut objects = Map::new();
    for address in addresses(opened) {
        let object = opened.run(|file, blocks| file.object(blocks, address)).expect("it is read");
        let mut entry = match object.kind {
            ObjectKind::Group => group(opened, &object),
            ObjectKind::Dataset => dataset(opened, &object),
            ObjectKind::NamedType => {
                let datatype =
                    opened.run(|file, blocks| file.named_type(blocks, &object)).expect("a type");
                json!({"kind": "type", "type": datatype.to_string()})
            }
            ObjectKind::Unknown => json!({"kind": "unknown"}),
        };
        entry["attributes"] = attributes(opened, &object);
        objects.insert(address.to_string(), entry);
    }
    json!({"root": opened.file.root(), "objects": objects})
}

fn group(opened: &mut Opened, object: &Object) -> Json {
    let links = opened.run(|file, blocks| file.links(blocks, object)).expect("links are read");
    let mut found = Map::new();
    for link in links {
        let target = match link.target {
            Target::Hard(address) => json!(["hard", address]),
            Target::Soft(path) => json!(["soft", path]),
            Target::External { file, path } => json!(["external", file, path]),
            Target::UserDefined(class) => json!(["user", class]),
        };
        found.insert(link.name, target);
    }
    json!({"kind": "group", "links": found})
}

fn attributes(opened: &mut Opened, object: &Object) -> Json {
    let attributes =
        opened.run(|file, blocks| file.attributes(blocks, object)).expect("attributes are read");
    let mut found = Map::new();
    for attribute in attributes {
        let attribute = attribute.expect("every attribute is read");
        let values = values(opened, &attribute).expect("values are read");
        let entry = json!({
            "type": attribute.datatype.to_string(),
            "shape": attribute.dataspace.shape(),
            "values": values.iter().map(canonical).collect::<Vec<_>>(),
        });
        found.insert(attribute.name, entry);
    }
    Json::Object(found)
}

fn values(opened: &mut Opened, attribute: &Attribute) -> Result<Vec<Value>, Failure> {
    opened.run(|file, blocks| file.values(blocks, &attribute.datatype, &attribute.raw))
}

fn canonical(value: &Value) -> Json {
    match value {
        Value::Integer(value) => json!(format!("i:{value}")),
        Value::Float32(value) => json!(format!("f:{:016x}", f64::from(*value).to_bits())),
        Value::Float64(value) => json!(format!("f:{:016x}", value.to_bits())),
        Value::Enumeration(value, _) => json!(format!("e:{value}")),
        Value::Text(text) => json!(format!("t:{}", String::from_utf8_lossy(text))),
        Value::Bytes(bytes) => {
            let digits: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
            json!(format!("b:{digits}"))
        }
        Value::Complex(parts) => json!([canonical(&parts.0), canonical(&parts.1)]),
        Value::Record(fields) => {
            fields.iter().map(|(name, value)| (name.clone(), canonical(value))).collect()
        }
        Value::List(values) => values.iter().map(canonical).collect(),
        Value::Object(None) | Value::Region(None) => json!("r:None"),
        Value::Object(Some(address)) => json!(format!("r:{address}")),
        Value::Region(Some(address)) => json!(format!("g:{address}")),
    }
}

fn dataset(opened: &mut Opened, object: &Object) -> Json {
    let dataset = opened.run(|file, blocks| file.dataset(blocks, object)).expect("it is read");
    let shape = dataset.dataspace.shape();
    let max_shape = match &dataset.dataspace {
        zarr_hdf5::Dataspace::Null => None,
        zarr_hdf5::Dataspace::Simple { max_shape, .. } => Some(max_shape.clone()),
    };
    let filters: Vec<Json> = dataset
        .filters
        .iter()
        .map(|filter| json!([filter.id, u8::from(filter.is_optional), filter.parameters]))
        .collect();
    let mut entry = json!({
        "kind": "dataset",
        "type": dataset.datatype.to_string(),
        "shape": shape,
        "max_shape": max_shape,
        "filters": filters,
    });
    let layout = match &dataset.storage {
        Storage::Unallocated => {
            entry["offset"] = Json::Null;
            "contiguous"
        }
        Storage::Compact(_) => "compact",
        Storage::Contiguous { address, .. } => {
            entry["offset"] = json!(address);
            "contiguous"
        }
        Storage::Elsewhere(what) if what.contains("virtual") => "virtual",
        Storage::Elsewhere(_) => "external",
        Storage::Chunked(storage) => {
            entry["chunk_shape"] = json!(storage.chunk_shape);
            let mut list: Vec<(Vec<u64>, u64, u64, u32)> = Vec::new();
            for chunk in chunks(opened, &dataset) {
                let start = chunk
                    .coordinates
                    .iter()
                    .zip(&storage.chunk_shape)
                    .map(|(c, n)| c * n)
                    .collect();
                list.push((start, chunk.address, chunk.length, chunk.filter_mask));
            }
            list.sort();
            entry["chunks"] = json!(list);
            "chunked"
        }
    };
    entry["layout"] = json!(layout);
    entry
}

/// Notes where two documents differ. `null` in place of values means that h5py could not read them.
fn compare(place: &str, expected: &Json, found: &Json, different: &mut Vec<String>) {
    if different.len() > 60 || (place.contains("/values") && expected.is_null()) {
        return;
    }
    match (expected, found) {
        (Json::Object(a), Json::Object(b)) => {
            for (name, value) in a {
                let found = b.get(name).unwrap_or(&Json::Null);
                compare(&format!("{place}/{name}"), value, found, different);
            }
            for name in b.keys().filter(|name| !a.contains_key(*name)) {
                different.push(format!("{place}/{name}: h5py has none"));
            }
        }
        (Json::Array(a), Json::Array(b)) if a.len() == b.len() => {
            for (number, (a, b)) in a.iter().zip(b).enumerate() {
                compare(&format!("{place}/{number}"), a, b, different);
            }
        }
        (a, b) if a == b => {}
        (a, b) => {
            let short = |value: &Json| value.to_string().chars().take(150).collect::<String>();
            different.push(format!("{place}: expected {}, found {}", short(a), short(b)));
        }
    }
}
