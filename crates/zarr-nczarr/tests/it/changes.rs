//! What may be changed of a dataset, and what not.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use crate::common;
use crate::common::{demo_values, document, memory, options, write_demo};
use zarr_core::store::{Payload, Precondition, Store, StoreKey, SyncStore, from_sync_arc};
use zarr_core::{Dialect, ErrorKind, Hierarchy, StoreError};
use zarr_nczarr::schema::{Filter, Variable};
use zarr_nczarr::{
    Attribute, Dataset, DatasetOptions, Dimension, Lengths, NewDataset, Profile, Slab, Type, Values,
};

fn created(new: &NewDataset) -> (Arc<dyn Store>, Dataset) {
    let store = memory();
    let dataset = Dataset::create(store.clone(), new, &options()).unwrap();
    (store, dataset)
}

fn kinds() -> [NewDataset; 2] {
    [NewDataset::nczarr_v2(), NewDataset::nczarr_v3()]
}

/// N-012, N-013: all variables with a dimension grow together; what nobody wrote is fill.
#[test]
fn variables_grow_together() {
    for new in kinds() {
        let (store, dataset) = created(&new);
        let root = dataset.root();
        root.define_dimension(Dimension::unlimited("t")).unwrap();
        root.define_dimension(Dimension::new("x", 2)).unwrap();
        let a = root.define_variable(&Variable::new("a", Type::Int, ["t", "x"])).unwrap();
        let b = root.define_variable(&Variable::new("b", Type::Double, ["t"])).unwrap();
        let group = root.create_group("g").unwrap();
        let c = group.define_variable(&Variable::new("c", Type::String, ["x", "t"])).unwrap();
        assert_eq!(a.shape().unwrap(), [0, 2]);
        assert_eq!(a.read().unwrap(), Values::Int(vec![]));
        b.write_slab(&Slab::new([0], [1]), vec![9.0]).unwrap();
        a.write_slab(&Slab::new([0, 0], [3, 2]), vec![1, 2, 3, 4, 5, 6]).unwrap();
        let again = Dataset::open(store.clone(), &options()).unwrap();
        for dataset in [&dataset, &again] {
            assert_eq!(dataset.dimension("/t").unwrap().len, 3);
            let fill = 9.969209968386869e36;
            let b = dataset.variable("b").unwrap();
            assert_eq!(b.read().unwrap(), vec![9.0, fill, fill].into());
            assert_eq!(b.array().unwrap().shape(), [3]);
            let c = dataset.variable("/g/c").unwrap();
            assert_eq!((c.shape().unwrap(), c.read().unwrap().len()), (vec![2, 3], 6));
        }
        // Appending finds the end by itself, and reserves it.
        assert_eq!(a.append(vec![7, 8]).unwrap(), 3);
        assert_eq!(b.append(vec![1.0, 2.0]).unwrap(), 4);
        assert_eq!(c.shape().unwrap(), [2, 6]);
        let read = a.read_slab(&Slab::new([2, 0], [2, 2])).unwrap();
        assert_eq!(read, vec![5, 6, 7, 8].into());
        assert_eq!(c.append(vec![String::new()]).unwrap_err().kind(), ErrorKind::Argument);
        assert_eq!(a.append(vec![7]).unwrap_err().kind(), ErrorKind::Argument);
        // Of a fixed length, and of another type.
        let slab = Slab::new([0, 0], [1, 3]);
        let refused = a.write_slab(&slab, vec![1, 2, 3]).unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::Argument);
        assert!(a.write_slab(&Slab::new([9, 0], [1, 2]), vec![1.0, 2.0]).is_err());
        assert_eq!(dataset.dimension("/t").unwrap().len, 6, "a refused write grows nothing");
        if new.dialect == Dialect::V2 {
            let group =
                document(&store, ".zattrs").as_object().unwrap().get("_nczarr_group").cloned();
            let text = group.unwrap().to_string();
            assert!(
                text.starts_with(r#"{"dimensions":{"t":{"size":6,"unlimited":1},"x":2}"#),
                "{text}"
            );
        }
    }
}

/// N-012: any number of unlimited dimensions, in any place.
#[test]
fn several_dimensions_grow() {
    let (store, dataset) = created(&NewDataset::nczarr_v2());
    let root = dataset.root();
    for name in ["t", "u"] {
        root.define_dimension(Dimension::unlimited(name)).unwrap();
    }
    let mut v = Variable::new("v", Type::Short, ["u", "t"]);
    v.storage.chunks = vec![2, 2];
    let v = root.define_variable(&v).unwrap();
    v.write_slab(&Slab::new([1, 2], [2, 1]), vec![5i16, 6]).unwrap();
    assert_eq!(v.shape().unwrap(), [3, 3]);
    let fill = -32767i16;
    let due = vec![fill, fill, fill, fill, fill, 5, fill, fill, 6];
    let again = Dataset::open(store, &options()).unwrap();
    assert_eq!(again.variable("v").unwrap().read().unwrap(), due.into());
}

#[test]
fn slabs_have_strides() {
    let (_, dataset) = created(&NewDataset::nczarr_v3());
    let root = dataset.root();
    for (name, len) in [("y", 5), ("x", 7)] {
        root.define_dimension(Dimension::new(name, len)).unwrap();
    }
    let mut v = Variable::new("v", Type::Int, ["y", "x"]);
    v.storage.chunks = vec![2, 3];
    v.storage.filters = vec![Filter::Deflate { level: 1 }];
    let v = root.define_variable(&v).unwrap();
    let all: Vec<i32> = (0..35).collect();
    v.write(all.clone()).unwrap();
    let slab = Slab::new([1, 0], [2, 3]).with_stride([2, 3]);
    assert_eq!(v.read_slab(&slab).unwrap(), vec![7, 10, 13, 21, 24, 27].into());
    v.write_slab(&slab, vec![-1; 6]).unwrap();
    let mut due = all;
    for at in [7, 10, 13, 21, 24, 27] {
        due[at] = -1;
    }
    assert_eq!(v.read().unwrap(), due.into());
    for bad in [
        Slab::new([0], [1]),
        Slab::new([0, 0], [1, 8]),
        Slab::new([5, 7], [1, 1]),
        Slab::new([6, 0], [0, 1]),
        Slab::new([0, 0], [1, 1]).with_stride([0, 1]),
        Slab::new([0, 0], [u64::MAX, u64::MAX]),
    ] {
        assert_eq!(v.read_slab(&bad).unwrap_err().kind(), ErrorKind::Argument, "{bad:?}");
    }
}

/// N-001, N-002, N-015, N-054, N-055, N-060, N-062: what cannot be is refused, and names the rule.
#[test]
fn what_cannot_be_is_refused() {
    for new in kinds() {
        let (_, dataset) = created(&new);
        let root = dataset.root();
        root.define_dimension(Dimension::new("x", 3)).unwrap();
        let kind = |result: zarr_core::Result<_>| result.map(|_: ()| ()).unwrap_err().kind();
        let dimension = |name: &str| kind(root.define_dimension(Dimension::new(name, 1)));
        assert_eq!(dimension("x"), ErrorKind::Exists);
        assert_eq!(dimension("a/b"), ErrorKind::Argument);
        let define = |variable: &Variable| kind(root.define_variable(variable).map(|_| ()));
        let v = |ty| Variable::new("v", ty, ["x"]);
        assert_eq!(define(&Variable::new("v", Type::Int, ["none"])), ErrorKind::NotFound);
        // netcdf-c opens no dataset that has them.
        for ty in [Type::Bool, Type::Complex64, Type::Complex128] {
            if new == NewDataset::nczarr_v2() {
                assert_eq!(define(&v(ty)), ErrorKind::Unsupported);
            }
        }
        let mut long = v(Type::Int);
        long.storage.chunks = vec![4];
        assert_eq!(define(&long), ErrorKind::Argument);
        long.storage.chunks = vec![1, 1];
        assert_eq!(define(&long), ErrorKind::Argument);
        let mut two = v(Type::Int);
        two.attributes.push(Attribute::new("_FillValue", vec![1, 2]));
        assert_eq!(define(&two), ErrorKind::Argument);
        let mut wide = v(Type::Int);
        wide.attributes.push(Attribute::new("_FillValue", vec![1e300]));
        assert_eq!(define(&wide), ErrorKind::Argument);
        for name in ["_nczarr_array", "_ARRAY_DIMENSIONS", "_NCProperties", "_ChunkSizes", "NAME"] {
            assert_eq!(kind(root.set_attribute(name, "x")), ErrorKind::Argument, "{name}");
            let mut variable = v(Type::Int);
            variable.attributes.push(Attribute::new(name, "x"));
            // Plain Zarr has attributes of such a name, which texts and copies define again.
            if name != "_ChunkSizes" {
                assert_eq!(define(&variable), ErrorKind::Argument, "{name}");
            }
        }
        assert_eq!(kind(root.set_attribute("none", Values::Int(vec![]))), ErrorKind::Argument);
        assert_eq!(kind(root.delete_attribute("none")), ErrorKind::NotFound);
        let mut unknown = v(Type::Int);
        let words = zarr_core::Json::parse(br#"{"id":"szip","mask":141}"#).unwrap();
        unknown.storage.filters = vec![Filter::Other(words)];
        assert_eq!(define(&unknown), ErrorKind::Unsupported);
        let mut label = v(Type::String);
        label.attributes.push(Attribute::new("_nczarr_maxstrlen", vec![0]));
        if new.dialect == Dialect::V2 {
            assert_eq!(define(&label), ErrorKind::Argument);
        }
        // Nothing of all that was made.
        assert!(dataset.schema().variables.is_empty());
        root.define_variable(&v(Type::Int)).unwrap();
        assert_eq!(define(&v(Type::Int)), ErrorKind::Exists);
        assert_eq!(kind(root.create_group("v").map(|_| ())), ErrorKind::Exists);
        let v = dataset.variable("v").unwrap();
        v.write(vec![7; v.shape().unwrap().iter().product::<u64>() as usize]).unwrap();
        for late in [v.set_attribute("_FillValue", vec![1]), v.rename_attribute("a", "_FillValue")]
        {
            assert_eq!(kind(late), ErrorKind::Argument);
        }
    }
}

/// N-054, N-060: the fill value and the width of strings may be said until elements are written.
#[test]
fn elements_are_shaped_until_there_are_some() {
    let pure = [NewDataset::pure(Dialect::V2), NewDataset::pure(Dialect::V3)];
    for new in kinds().into_iter().chain(pure) {
        let (store, dataset) = created(&new);
        let root = dataset.root();
        root.define_dimension(Dimension::new("x", 2)).unwrap();
        let mut variable = Variable::new("v", Type::Float, ["x"]);
        variable.attributes = vec![Attribute::new("units", "K"), Attribute::new("n", vec![7i16])];
        variable.storage.filters = vec![Filter::Shuffle, Filter::Deflate { level: 3 }];
        let v = root.define_variable(&variable).unwrap();
        let char = root.define_variable(&Variable::new("c", Type::Char, ["x"])).unwrap();
        let reopened = || Dataset::open(store.clone(), &options()).unwrap();
        for value in [Values::Float(vec![-9.0]), Values::Int(vec![5])] {
            v.set_attribute("_FillValue", value).unwrap();
        }
        char.set_attribute("_FillValue", "-").unwrap();
        // Characters are strings of one byte in plain Zarr.
        let due = match new.profile {
            Profile::Nczarr => ["--", "-"].map(Values::from),
            _ => [vec!["-"; 2], vec!["-"]].map(|texts| {
                Values::from(texts.iter().map(|&text| text.to_owned()).collect::<Vec<_>>())
            }),
        };
        let c = reopened().variable("c").unwrap();
        let schema = c.schema().unwrap();
        // Plain v3 has no words for a missing value of bytes.
        let held = schema.storage.unwritten.clone().unwrap_or_else(|| schema.fill());
        assert_eq!([c.read().unwrap(), held], due);
        let is_plain_v3 = new == NewDataset::pure(Dialect::V3);
        assert_eq!(schema.storage.unwritten.is_some(), is_plain_v3);
        for dataset in [dataset.clone(), reopened()] {
            let v = dataset.variable("v").unwrap();
            assert_eq!(v.read().unwrap(), vec![5f32; 2].into());
            let schema = v.schema().unwrap();
            assert_eq!(schema.attribute("_FillValue"), Some(&vec![5f32].into()));
            assert_eq!(schema.attribute("units"), Some(&"K".into()));
            assert_eq!(schema.storage.filters, variable.storage.filters);
        }
        for wrong in [Values::from("x"), vec![1f32, 2.0].into(), vec![1e300].into()] {
            let wrong = v.set_attribute("_FillValue", wrong).unwrap_err();
            assert_eq!(wrong.kind(), ErrorKind::Argument);
        }
        v.delete_attribute("_FillValue").unwrap();
        assert_eq!(
            reopened().variable("v").unwrap().read().unwrap(),
            vec![9.969_21e36f32; 2].into()
        );
        assert_eq!(v.delete_attribute("_FillValue").unwrap_err().kind(), ErrorKind::NotFound);
        v.write(vec![1f32, 2.0]).unwrap();
        assert_eq!(
            v.set_attribute("_FillValue", vec![0f32]).unwrap_err().kind(),
            ErrorKind::Argument
        );
        // Plain Zarr of v2 has strings of any length, as xarray writes them.
        let is_fixed = new == NewDataset::nczarr_v2();
        let text = root.define_variable(&Variable::new("s", Type::String, ["x"])).unwrap();
        text.set_attribute("_nczarr_maxstrlen", vec![3]).unwrap();
        let refused = text.write(vec!["four".to_owned(), String::new()]);
        assert_eq!(refused.is_err(), is_fixed);
        text.write(vec!["abc".to_owned(), String::new()]).unwrap();
        let again = reopened().variable("s").unwrap();
        assert_eq!(again.read().unwrap(), vec!["abc".to_owned(), String::new()].into());
        assert_eq!(
            again.array().unwrap().data_type().to_string(),
            if is_fixed { "|S3" } else { "string" }
        );
        let later = text.set_attribute("_nczarr_maxstrlen", vec![9]);
        assert_eq!(later.is_err(), is_fixed);
    }
}

/// N-060, N-062: an overlong text is an error; it is cut at a character's end only if that is asked for.
#[test]
fn texts_are_not_cut_unasked() {
    let store = memory();
    let dataset = Dataset::create(store.clone(), &NewDataset::nczarr_v2(), &options()).unwrap();
    let root = dataset.root();
    root.set_attribute("_nczarr_default_maxstrlen", vec![6]).unwrap();
    root.define_dimension(Dimension::new("x", 1)).unwrap();
    let mut v = Variable::new("v", Type::String, ["x"]);
    v.storage.default_filters = false;
    let v = root.define_variable(&v).unwrap();
    let mut own = Variable::new("own", Type::String, ["x"]);
    own.attributes.push(Attribute::new("_nczarr_maxstrlen", vec![3]));
    root.define_variable(&own).unwrap();
    let text = || vec!["é漢字x".to_owned()];
    let refused = v.write(text()).unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::Argument);
    assert!(refused.to_string().contains("of which 6 fit"), "{refused}");
    let cutting = DatasetOptions { truncate: true, ..options().read_write() };
    let cutting = Dataset::open(store.clone(), &cutting).unwrap();
    for (name, due) in [("v", "é漢"), ("own", "é")] {
        let variable = cutting.variable(name).unwrap();
        variable.write(text()).unwrap();
        assert_eq!(variable.read().unwrap(), vec![due.to_owned()].into());
    }
    assert_eq!(common::value(&store, "v/0").unwrap(), b"\xc3\xa9\xe6\xbc\xa2\0");
}

/// N-054: the declared fill value is the array's; without one it is the type's; no fill reads as zeros.
#[test]
fn fill_values_are_declared_or_the_types_own() {
    for new in kinds() {
        let (store, dataset) = created(&new);
        let root = dataset.root();
        root.define_dimension(Dimension::new("x", 2)).unwrap();
        let with = |name: &str, ty, fill: Values| {
            let mut variable = Variable::new(name, ty, ["x"]);
            variable.attributes.push(Attribute { name: "_FillValue".into(), value: fill });
            root.define_variable(&variable).unwrap().read().unwrap()
        };
        assert_eq!(with("f", Type::Float, vec![-9f32].into()), vec![-9f32; 2].into());
        // A number of another type is converted (N-054).
        assert_eq!(with("i", Type::Int64, vec![7i8].into()), vec![7i64; 2].into());
        assert_eq!(with("c", Type::Char, "x".into()), Values::Char(b"xx".to_vec()));
        assert_eq!(
            with("s", Type::String, vec!["no".to_owned()].into()),
            vec!["no".to_owned(); 2].into()
        );
        let nan = with("n", Type::Double, vec![f64::NAN].into());
        assert!(matches!(nan, Values::Double(list) if list.iter().all(|n| n.is_nan())));
        let none = root.define_variable(&Variable::new("none", Type::Ushort, ["x"])).unwrap();
        assert_eq!(none.read().unwrap(), vec![65535u16; 2].into());
        assert_eq!(none.schema().unwrap().attribute("_FillValue"), None);
        if new.dialect == Dialect::V3 {
            // xarray 2026.9 opens no dataset of v3 in which a string has the attribute.
            let document = document(&store, "s/zarr.json").as_object().unwrap().clone();
            assert_eq!(document.get("fill_value"), Some(&"no".into()));
            let attributes = document.get("attributes").unwrap().as_object().unwrap();
            assert!(!attributes.contains("_FillValue"));
        }
        let again = Dataset::open(store, &options()).unwrap();
        let schema = again.schema();
        for (name, fill) in [
            ("f", Values::Float(vec![-9.0])),
            ("i", Values::Int64(vec![7])),
            ("c", "x".into()),
            ("s", vec!["no".to_owned()].into()),
        ] {
            assert_eq!(
                schema.variable(name).unwrap().attribute("_FillValue"),
                Some(&fill),
                "{name}"
            );
        }
    }
    let (_, dataset) = created(&NewDataset::nczarr_v2());
    let mut bare = Variable::new("bare", Type::Int, [""; 0]);
    bare.storage.no_fill = true;
    let bare = dataset.root().define_variable(&bare).unwrap();
    assert_eq!(bare.read().unwrap(), vec![0].into());
}

/// N-055: attributes are set, deleted and renamed, and keep their order and types.
#[test]
fn attributes_change() {
    for new in kinds() {
        let (store, dataset) = created(&new);
        let root = dataset.root();
        root.set_attribute("a", "1").unwrap();
        root.set_attribute("b", vec![2i16]).unwrap();
        root.set_attribute("c", vec![0.1f32]).unwrap();
        root.set_attribute("a", vec![u64::MAX]).unwrap();
        root.rename_attribute("b", "z").unwrap();
        root.delete_attribute("c").unwrap();
        assert_eq!(root.rename_attribute("z", "a").unwrap_err().kind(), ErrorKind::Exists);
        let v = root.define_variable(&Variable::new("v", Type::Int, [""; 0])).unwrap();
        v.set_attribute("units", "42").unwrap();
        v.rename_attribute("units", "unit").unwrap();
        let due = [Attribute::new("a", vec![u64::MAX]), Attribute::new("z", vec![2i16])];
        let again = Dataset::open(store, &options()).unwrap();
        for dataset in [&dataset, &again] {
            assert_eq!(dataset.schema().attributes, due);
            let unit = dataset.variable("v").unwrap().schema().unwrap().attributes;
            assert_eq!(unit, [Attribute::new("unit", "42")]);
        }
        assert_eq!(again.root().set_attribute("a", "x").unwrap_err().kind(), ErrorKind::ReadOnly);
    }
}

#[test]
fn names_change() {
    for new in kinds() {
        let store = memory();
        let dataset = write_demo(store.clone(), &new);
        let root = dataset.root();
        root.rename_dimension("lat", "y").unwrap();
        root.rename("temp", "t 2").unwrap();
        root.rename("g1", "outer").unwrap();
        root.group("outer").unwrap().rename_dimension("station", "n").unwrap();
        root.delete("be").unwrap();
        assert_eq!(root.rename("code", "label").unwrap_err().kind(), ErrorKind::Exists);
        assert_eq!(root.rename_dimension("none", "x").unwrap_err().kind(), ErrorKind::NotFound);
        assert_eq!(root.delete("none").unwrap_err().kind(), ErrorKind::NotFound);
        let again = Dataset::open(store.clone(), &options()).unwrap();
        let schema = again.schema();
        let names: Vec<&str> = schema.variables.iter().map(|v| v.name.as_str()).collect();
        assert_eq!(names, ["crs", "time", "t 2", "code", "label"]);
        let dimensions: Vec<&str> = schema.dimensions.iter().map(|d| d.name.as_str()).collect();
        assert_eq!(dimensions, ["time", "y", "lon"]);
        assert_eq!(schema.variable("/t 2").unwrap().dimensions, ["/time", "/y", "/lon"]);
        assert_eq!(schema.variable("/outer/id").unwrap().dimensions, ["/outer/n", "/y"]);
        assert_eq!(schema.variable("/outer/g2/empty").unwrap().dimensions, ["/outer/n"]);
        for (path, _, values) in demo_values() {
            let path = path.replace("/temp", "/t 2").replace("/g1", "/outer");
            if path != "/be" {
                assert_eq!(again.variable(&path).unwrap().read().unwrap(), values, "{path}");
            }
        }
        let keys = store.to_sync().list().unwrap();
        let old = |key: &&zarr_core::store::StoreKey| {
            ["temp/", "g1/", "be/"].iter().any(|prefix| key.as_str().starts_with(prefix))
        };
        assert_eq!(keys.iter().find(old), None);
        // Plain readers see the new names, too.
        let plain = Dataset::open(store, &options().pure()).unwrap();
        assert_eq!(plain.schema().variable("/t 2").unwrap().dimensions, ["/time", "/y", "/lon"]);
        assert_eq!(again.warnings(), []);
    }
}

/// N-100: copies of all documents are made, read and kept true.
#[test]
fn copies_of_documents_stay_true() {
    for new in kinds() {
        let store = memory();
        let dataset = write_demo(store.clone(), &new);
        dataset.consolidate().unwrap();
        dataset.root().set_attribute("title", "other").unwrap();
        let temp = dataset.variable("temp").unwrap();
        temp.append(vec![1f32; 6]).unwrap();
        dataset.root().rename("be", "ba").unwrap();
        assert_eq!(dataset.hierarchy().check_consolidated().unwrap(), []);
        let mut asked = options();
        asked.zarr.consolidated = zarr_core::Consolidated::Use;
        let again = Dataset::open(store, &asked).unwrap();
        assert_eq!(again.schema().attribute("title"), Some(&"other".into()));
        assert_eq!(again.dimension("/time").unwrap().len, 4);
        assert!(again.variable("ba").is_ok());
        temp.append(vec![2f32; 6]).unwrap();
        again.refresh().unwrap();
        assert_eq!(again.dimension("/time").unwrap().len, 5, "a reader looks again");
    }
}

/// N-008: contiguous storage is one chunk, however large the variable is.
#[test]
fn contiguous_storage_is_one_chunk() {
    for new in kinds() {
        let (store, dataset) = created(&new);
        let root = dataset.root();
        root.define_dimension(Dimension::unlimited("t")).unwrap();
        root.define_dimension(Dimension::new("x", 5000)).unwrap();
        let contiguous = |name: &str, dimensions: [&str; 2]| {
            let mut variable = Variable::new(name, Type::Double, dimensions);
            variable.storage.contiguous = true;
            root.define_variable(&variable)
        };
        contiguous("v", ["x", "x"]).unwrap();
        let again = Dataset::open(store, &options()).unwrap();
        for dataset in [&dataset, &again] {
            let storage = dataset.variable("v").unwrap().schema().unwrap().storage;
            assert_eq!((storage.chunks, storage.contiguous), (vec![5000, 5000], false));
        }
        assert_eq!(contiguous("w", ["t", "x"]).unwrap_err().kind(), ErrorKind::Argument);
    }
}

/// N-013: of two writers that append at the same time, the slower one takes back nothing of what the faster one told.
#[test]
fn a_slower_writer_shortens_no_dimension() {
    let told = |store: &Arc<dyn Store>| {
        let options = options().lengths(Lengths::Published);
        Dataset::open(store.clone(), &options).unwrap().dimension("/t").unwrap().len
    };
    for new in kinds() {
        let (store, slow) = created(&new);
        let root = slow.root();
        root.define_dimension(Dimension::unlimited("t")).unwrap();
        let a = root.define_variable(&Variable::new("a", Type::Int, ["t"])).unwrap();
        let fast = Dataset::open(store.clone(), &options().read_write()).unwrap();
        // The faster one comes while the slower one writes.
        let begins = slow.append("/t", 1, |start| {
            assert_eq!(fast.append("/t", 4, |_| Ok(())).unwrap(), start + 1);
            assert_eq!(told(&store), 5);
            Ok(())
        });
        assert_eq!(begins.unwrap(), 0);
        assert_eq!(told(&store), 5, "appends");
        // A slab that ends before what others have written meanwhile.
        let of_fast = fast.variable("a").unwrap();
        of_fast.write_slab(&Slab::new([9], [1]), vec![9]).unwrap();
        a.write_slab(&Slab::new([5], [2]), vec![5, 6]).unwrap();
        assert_eq!(told(&store), 10, "slabs");
        let all = Dataset::open(store.clone(), &options()).unwrap().variable("a").unwrap();
        assert_eq!(all.array().unwrap().shape(), [10]);
        let fill = -2_147_483_647;
        let expected = [[fill; 5].as_slice(), &[5, 6, fill, fill, 9]].concat();
        assert_eq!(all.read().unwrap(), expected.into());
    }
}

/// N-013: an array may be shorter than its dimension, if a writer was killed before it was made longer. What is appended begins where the
/// dimension ends, and what is written beyond the array is stored.
#[test]
fn an_array_that_was_left_behind_is_written_where_the_dimension_says() {
    for new in kinds() {
        let (store, dataset) = created(&new);
        let root = dataset.root();
        root.define_dimension(Dimension::unlimited("t")).unwrap();
        for name in ["a", "b"] {
            let variable = root.define_variable(&Variable::new(name, Type::Int, ["t"])).unwrap();
            variable.write_slab(&Slab::new([0], [5]), vec![1, 2, 3, 4, 5]).unwrap();
        }
        let plain = Hierarchy::open(store.clone(), &options().read_write().zarr).unwrap();
        ["/a", "/b"].iter().for_each(|path| plain.array(path).unwrap().resize(&[2]).unwrap());
        let read = |name: &str| {
            let again = Dataset::open(store.clone(), &options()).unwrap();
            again.variable(name).unwrap().read().unwrap()
        };
        let fill = -2_147_483_647;
        let again = Dataset::open(store.clone(), &options().read_write()).unwrap();
        let b = again.variable("b").unwrap();
        b.write_slab(&Slab::new([3], [1]), vec![44]).unwrap();
        assert_eq!(read("b"), vec![1, 2, fill, 44, fill].into());
        assert_eq!(again.variable("a").unwrap().append(vec![6, 7]).unwrap(), 5);
        assert_eq!(read("a"), vec![1, 2, fill, fill, fill, 6, 7].into());
    }
}

/// N-014: a dimension of fixed length keeps it, whatever an array says that another program has made longer.
#[test]
fn a_longer_array_does_not_lengthen_a_fixed_dimension() {
    for new in kinds() {
        let (store, dataset) = created(&new);
        let root = dataset.root();
        root.define_dimension(Dimension::new("x", 2)).unwrap();
        for name in ["a", "b"] {
            let variable = root.define_variable(&Variable::new(name, Type::Int, ["x"])).unwrap();
            variable.write(vec![1, 2]).unwrap();
        }
        let plain = Hierarchy::open(store.clone(), &options().read_write().zarr).unwrap();
        plain.array("/a").unwrap().resize(&[3]).unwrap();
        let again = Dataset::open(store, &options()).unwrap();
        assert_eq!(again.dimension("/x").unwrap().len, 2);
        assert_eq!(again.variable("b").unwrap().read().unwrap(), vec![1, 2].into());
        let schema = again.schema();
        let [left_out] = &schema.opaque[..] else { panic!("{:?}", schema.opaque) };
        assert_eq!(left_out.name, "a");
        assert!(left_out.why.contains("has length 2, axis 0 of the array 3"), "{}", left_out.why);
    }
}

/// N-012, N-013: an append makes every array longer that has the dimension, in all groups, before it writes.
#[test]
fn an_append_lengthens_the_siblings() {
    for new in kinds() {
        let (store, dataset) = created(&new);
        let root = dataset.root();
        root.define_dimension(Dimension::unlimited("time")).unwrap();
        root.define_dimension(Dimension::new("x", 2)).unwrap();
        let a = root.define_variable(&Variable::new("a", Type::Int, ["time"])).unwrap();
        root.define_variable(&Variable::new("b", Type::Int, ["x", "time"])).unwrap();
        let group = root.create_group("g").unwrap();
        group.define_variable(&Variable::new("c", Type::Double, ["/time"])).unwrap();
        for (appended, due) in [(3, 3), (2, 5)] {
            a.append(vec![7; appended]).unwrap();
            let plain = zarr_core::Hierarchy::open(store.clone(), &options().zarr).unwrap();
            let shape =
                |path: &str| plain.array(zarr_core::NodePath::new(path).unwrap()).unwrap().shape();
            assert_eq!(shape("/a"), [due]);
            assert_eq!(shape("/b"), [2, due]);
            assert_eq!(shape("/g/c"), [due]);
        }
        // Also when nothing is written.
        dataset
            .append("/time", 1, |start| {
                assert_eq!(start, 5);
                Ok(())
            })
            .unwrap();
        let plain = zarr_core::Hierarchy::open(store.clone(), &options().zarr).unwrap();
        let b = plain.array(zarr_core::NodePath::new("/b").unwrap()).unwrap();
        assert_eq!(b.shape(), [2, 6]);
    }
}

/// A writer that is slower than another one of the same handle does not make a dimension shorter that it knows.
#[test]
fn a_slower_append_of_one_handle_shortens_no_dimension() {
    for new in kinds() {
        let (_, dataset) = created(&new);
        let root = dataset.root();
        root.define_dimension(Dimension::unlimited("t")).unwrap();
        let a = root.define_variable(&Variable::new("a", Type::Int, ["t"])).unwrap();
        let begins = dataset.append("/t", 1, |start| {
            assert_eq!(a.append(vec![7, 8]).unwrap(), start + 1);
            a.write_slab(&Slab::new([start], [1]), vec![6])
        });
        assert_eq!(begins.unwrap(), 0);
        assert_eq!(dataset.dimension("/t").unwrap().len, 3);
        assert_eq!(a.read().unwrap(), vec![6, 7, 8].into());
    }
}

/// A store that does something else before it changes one key for the first time.
struct Between {
    inner: Arc<dyn SyncStore>,
    key: &'static str,
    act: Mutex<Option<Box<dyn FnOnce() + Send>>>,
}

impl std::fmt::Debug for Between {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Between")
    }
}

impl SyncStore for Between {
    zarr_testkit::forward_calls!(inner: name capabilities get open create erase_prefix list_prefix list_dir link flush);

    fn put(
        &self,
        key: &StoreKey,
        value: Option<Payload<'_>>,
        only_if: Precondition<'_>,
    ) -> Result<bool, StoreError> {
        let act = self.act.lock().unwrap().take_if(|_| key.as_str() == self.key);
        if let Some(act) = act {
            act();
        }
        self.inner.put(key, value, only_if)
    }
}

/// A refresh beside an append may have read an array's document before the append made the array longer. What others
/// write to the records of the append is not hidden by it.
#[test]
fn a_refresh_beside_an_append_shortens_no_array() {
    for (new, key) in kinds().into_iter().zip(["b/.zarray", "b/zarr.json"]) {
        let (inner, plain) = created(&new);
        let root = plain.root();
        root.define_dimension(Dimension::unlimited("t")).unwrap();
        for name in ["a", "b"] {
            root.define_variable(&Variable::new(name, Type::Int, ["t"])).unwrap();
        }
        let between = Arc::new(Between { inner: inner.to_sync(), key, act: Mutex::new(None) });
        let store: Arc<dyn Store> = from_sync_arc(between.clone());
        let dataset = Dataset::open(store, &options().read_write()).unwrap();
        let (refreshed, is_refreshed) = (dataset.clone(), Arc::new(AtomicBool::new(false)));
        let told = is_refreshed.clone();
        let act = move || {
            refreshed.refresh().unwrap();
            told.store(true, Ordering::Relaxed);
        };
        *between.act.lock().unwrap() = Some(Box::new(act));
        let other = Dataset::open(inner, &options().read_write()).unwrap();
        let begins = dataset.append("/t", 1, |start| {
            let b = other.variable("b").unwrap();
            b.write_slab(&Slab::new([start], [1]), vec![7])
        });
        assert_eq!(begins.unwrap(), 0);
        assert!(is_refreshed.load(Ordering::Relaxed), "nothing was refreshed");
        let b = dataset.variable("b").unwrap();
        assert_eq!(b.array().unwrap().shape(), [1]);
        assert_eq!(b.read().unwrap(), vec![7].into());
    }
}

/// The length of a dimension is told only where all of its variables have it; else it is named, and stays.
#[test]
fn a_length_that_variables_disagree_on_is_not_told() {
    for new in kinds() {
        let (store, dataset) = created(&new);
        let root = dataset.root();
        root.define_dimension(Dimension::unlimited("t")).unwrap();
        for name in ["a", "b"] {
            let variable = root.define_variable(&Variable::new(name, Type::Int, ["t"])).unwrap();
            variable.write_slab(&Slab::new([0], [2]), vec![1, 2]).unwrap();
        }
        let told = || {
            let options = options().lengths(Lengths::Published);
            Dataset::open(store.clone(), &options).unwrap().dimension("/t").unwrap().len
        };
        let [a, b] = ["a", "b"].map(|name| dataset.variable(name).unwrap());
        for (a_len, b_len, differ, expected) in
            [(5, 2, vec!["t"], 2), (5, 5, vec![], 5), (3, 5, vec!["t"], 5), (3, 3, vec![], 3)]
        {
            a.array().unwrap().resize(&[a_len]).unwrap();
            b.array().unwrap().resize(&[b_len]).unwrap();
            assert_eq!(a.publish_lengths().unwrap(), differ, "{a_len}, {b_len}");
            assert_eq!(told(), expected, "{a_len}, {b_len}");
        }
    }
}
