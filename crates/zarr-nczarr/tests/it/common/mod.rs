//! What several tests of datasets share.

#![allow(dead_code, reason = "no test uses all of it")]

use std::sync::Arc;

use zarr_core::store::{Payload, Store, StoreKey, from_sync};
use zarr_core::{Json, Registry};
use zarr_nczarr::schema::{Endian, Filter, Group, Variable};
use zarr_nczarr::{
    Attribute, CopyTarget, Dataset, DatasetOptions, Dimension, NewDataset, Slab, Type, Values,
};
use zarr_stores::MemoryStore;
use zarr_tools::{CopyOptions, Verify};

/// What all tests know.
pub fn registry() -> Registry {
    Registry::new().with(zarr_codecs::register).with(zarr_stores::register)
}

pub fn options() -> DatasetOptions {
    DatasetOptions::new(registry())
}

pub fn memory() -> Arc<dyn Store> {
    from_sync(MemoryStore::new())
}

/// A copy of a dataset in memory, and what it does not keep. Nodes that cannot be represented are left out.
pub fn copy_of(from: &Dataset, new: &NewDataset) -> (Arc<dyn Store>, Vec<String>) {
    let store = memory();
    let target = CopyTarget::new(store.clone(), new, &options()).unwrap();
    let options =
        CopyOptions { skip_unsupported: true, verify: Verify::Stored, ..CopyOptions::default() };
    let copied = zarr_tools::copy_dataset(from, &target, &options).unwrap();
    (store, copied.not_kept)
}

/// A store that holds these documents.
pub fn holding(documents: &[(&str, &str)]) -> Arc<dyn Store> {
    let store = memory();
    for (key, text) in documents {
        let value = Payload::from(text.as_bytes());
        store.to_sync().set(&StoreKey::new(*key).unwrap(), value).unwrap();
    }
    store
}

/// A document of a store.
pub fn document(store: &Arc<dyn Store>, key: &str) -> Json {
    let value = store.to_sync().value(&StoreKey::new(key).unwrap()).unwrap();
    Json::parse(&value.unwrap_or_else(|| panic!("no {key}"))).unwrap()
}

/// The value of a key.
pub fn value(store: &Arc<dyn Store>, key: &str) -> Option<Vec<u8>> {
    store.to_sync().value(&StoreKey::new(key).unwrap()).unwrap().map(|v| v.to_vec())
}

fn with(mut variable: Variable, attributes: Vec<Attribute>) -> Variable {
    variable.attributes = attributes;
    variable
}

/// The definitions of the specification's worked example (nczarr.md 14).
pub fn demo() -> Group {
    let mut root = Group::new("");
    root.attributes = vec![
        Attribute::new("title", "demo"),
        Attribute::new("history", "{\"step\": [1,2]}"),
        Attribute::new("tags", vec!["a".to_owned(), "b".to_owned()]),
        Attribute::new("level", vec![7i8]),
        Attribute::new("mask", vec![u32::MAX]),
    ];
    root.dimensions =
        vec![Dimension::unlimited("time"), Dimension::new("lat", 2), Dimension::new("lon", 3)];
    let mut temp = with(
        Variable::new("temp", Type::Float, ["time", "lat", "lon"]),
        vec![
            Attribute::new("_FillValue", vec![-9f32]),
            Attribute::new("valid_range", vec![-5f32, 45.0]),
            Attribute::new("units", "K"),
        ],
    );
    temp.storage.chunks = vec![2, 2, 2];
    temp.storage.filters = vec![Filter::Shuffle, Filter::Deflate { level: 4 }];
    let mut be = Variable::new("be", Type::Short, ["lon"]);
    be.storage.endian = Some(Endian::Big);
    root.variables = vec![
        with(
            Variable::new("crs", Type::Int, [""; 0]),
            vec![Attribute::new("grid_mapping_name", "latitude_longitude")],
        ),
        with(
            Variable::new("time", Type::Double, ["time"]),
            vec![Attribute::new("units", "days since 2000-01-01")],
        ),
        temp,
        Variable::new("code", Type::Char, ["lat", "lon"]),
        with(
            Variable::new("label", Type::String, ["lat"]),
            vec![Attribute::new("_nczarr_maxstrlen", vec![8i32])],
        ),
        be,
    ];
    let mut g1 = Group::new("g1");
    g1.attributes = vec![Attribute::new("kind", "sub")];
    g1.dimensions = vec![Dimension::new("station", 2)];
    g1.variables = vec![
        with(
            Variable::new("id", Type::Uint64, ["station", "lat"]),
            vec![Attribute::new("note", "uses /lat")],
        ),
        Variable::new("flags", Type::Ubyte, ["station"]),
    ];
    let mut g2 = Group::new("g2");
    g2.variables = vec![Variable::new("empty", Type::Byte, ["station"])];
    g1.groups = vec![g2];
    root.groups = vec![g1];
    without_default_filters(&mut root);
    root
}

/// As netcdf-c stores variables for which no filters are asked for.
fn without_default_filters(group: &mut Group) {
    for variable in &mut group.variables {
        variable.storage.default_filters = false;
    }
    group.groups.iter_mut().for_each(without_default_filters);
}

/// The values of the worked example.
pub fn demo_values() -> Vec<(&'static str, Slab, Values)> {
    let mut temp: Vec<f32> = (1..=18).map(|n| n as f32).collect();
    (temp[12], temp[13]) = (-9.0, -9.0);
    vec![
        ("/crs", Slab::new([], []), vec![42i32].into()),
        ("/time", Slab::new([0], [3]), vec![0.0, 1.0, 2.0].into()),
        ("/temp", Slab::new([0, 0, 0], [3, 2, 3]), temp.into()),
        ("/code", Slab::new([0, 0], [2, 3]), Values::Char(b"abcde\0".to_vec())),
        ("/label", Slab::new([0], [2]), vec!["north".to_owned(), "southwes".to_owned()].into()),
        ("/be", Slab::new([0], [3]), vec![1i16, 2, 3].into()),
        ("/g1/id", Slab::new([0, 0], [2, 2]), vec![1, 2, 3, u64::MAX].into()),
        ("/g1/flags", Slab::new([0], [2]), vec![1u8, 255].into()),
        ("/g1/g2/empty", Slab::new([0], [2]), vec![-127i8, -127].into()),
    ]
}

/// The worked example, written.
pub fn write_demo(store: Arc<dyn Store>, new: &NewDataset) -> Dataset {
    let dataset = Dataset::create(store, new, &options()).unwrap();
    dataset.define(&demo()).unwrap();
    for (path, slab, values) in
        demo_values().into_iter().filter(|(path, ..)| *path != "/g1/g2/empty")
    {
        dataset.variable(path).unwrap().write_slab(&slab, values).unwrap();
    }
    dataset.flush().unwrap();
    dataset
}
