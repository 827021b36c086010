//! A copy keeps the definitions and values, and names what it does not keep.

use crate::common;
use crate::common::{copy_of, holding, memory, options, write_demo};
use zarr_core::format::of_dialect;
use zarr_core::{Dialect, Hierarchy, Json, OpenOptions};
use zarr_nczarr::schema::Group;
use zarr_nczarr::{Attribute, CopyTarget, Dataset, NewDataset, Profile, Type, Values};

fn copied(from: &Dataset, new: &NewDataset) -> (Dataset, Vec<String>) {
    let (store, lost) = copy_of(from, new);
    (Dataset::open(store, &options()).unwrap(), lost)
}

fn same_values(a: &Dataset, b: &Dataset, group: &Group, path: &str) {
    for variable in &group.variables {
        let path = format!("{path}/{}", variable.name);
        let read = |dataset: &Dataset| dataset.variable(&path).unwrap().read().unwrap();
        assert_eq!(read(a), read(b), "{path}");
    }
    for below in &group.groups {
        same_values(a, b, below, &format!("{path}/{}", below.name));
    }
}

/// What a copy in v3 says of a group of v2: xarray masks the fill value of v2 in any case, but in v3 only what an
/// attribute says, which is none of netCDF's.
fn masked(mut group: Group) -> Group {
    for variable in &mut group.variables {
        let is_number =
            !matches!(variable.ty, Type::Byte | Type::Ubyte | Type::Char | Type::String);
        if is_number && variable.attribute("_FillValue").is_none() {
            variable.storage.unwritten = Some(variable.fill());
        }
    }
    group.groups = group.groups.into_iter().map(masked).collect();
    group
}

/// Dimensions, types, attributes and values survive copies through every dialect.
#[test]
fn a_copy_is_the_same_dataset() {
    let kinds = [NewDataset::nczarr_v2(), NewDataset::nczarr_v3()];
    for (from, to) in [(0, 0), (0, 1), (1, 0), (1, 1)].map(|(a, b)| (&kinds[a], &kinds[b])) {
        let original = write_demo(memory(), from);
        let (copy, lost) = copied(&original, to);
        assert!(lost.is_empty(), "{lost:?}");
        let due = Group::clone(&original.schema());
        let due = if (from.dialect, to.dialect) == (Dialect::V2, Dialect::V3) {
            masked(due)
        } else {
            due
        };
        assert_eq!(*copy.schema(), due);
        // And on its way back, or further.
        for next in &kinds {
            let (again, lost) = copied(&copy, next);
            assert!(lost.is_empty(), "{lost:?}");
            let is_told = (copy.dialect(), next.dialect) == (Dialect::V3, Dialect::V3);
            if next.dialect == Dialect::V2 || is_told {
                let plain = Group::clone(&original.schema());
                let expected = if is_told { Group::clone(&copy.schema()) } else { plain };
                assert_eq!(*again.schema(), expected);
            }
        }
        same_values(&copy, &original, &original.schema(), "");
    }
}

/// Issue 13, point 19.
#[test]
fn a_copy_has_consolidated_metadata_where_its_source_has() {
    for from in [NewDataset::nczarr_v2(), NewDataset::nczarr_v3()] {
        for to in [NewDataset::nczarr_v2(), NewDataset::pure(Dialect::V2), NewDataset::nczarr_v3()]
        {
            for has in [true, false] {
                let original = write_demo(memory(), &from);
                if has {
                    original.consolidate().unwrap();
                }
                let (copy, _) = copied(&original, &to);
                assert_eq!(copy.hierarchy().is_consolidated().unwrap(), has, "{from:?} to {to:?}");
            }
        }
    }
}

/// N-095: what plain Zarr cannot say is named.
#[test]
fn what_is_not_kept_is_named() {
    for dialect in [Dialect::V2, Dialect::V3] {
        let original = write_demo(memory(), &NewDataset::nczarr_v2());
        let (copy, lost) = copied(&original, &NewDataset::pure(dialect));
        for due in ["/time: plain Zarr", "attribute `level`: its type byte", "/code: characters"] {
            assert!(lost.iter().any(|line| line.contains(due)), "{due}: {lost:#?}");
        }
        let temp = copy.variable("temp").unwrap();
        assert_eq!(temp.schema().unwrap().dimensions, ["/time", "/lat", "/lon"]);
        assert_eq!(temp.read().unwrap(), original.variable("temp").unwrap().read().unwrap());
    }
}

/// N-004, N-006: plain Zarr with what netCDF has no types for.
#[test]
fn what_netcdf_cannot_create_is_named() {
    let array = |dtype: &str, fill: &str| {
        format!(
            r#"{{"zarr_format":2,"shape":[2],"dtype":"{dtype}","chunks":[4],"fill_value":{fill},"order":"C","compressor":null,"filters":null}}"#
        )
    };
    let (bools, complex, half) = (array("|b1", "true"), array("<c8", "0"), array("<f2", "0"));
    let long = array("|S3", "\"YWIA\"");
    let store = holding(&[
        (".zgroup", r#"{"zarr_format":2}"#),
        ("bools/.zarray", &bools),
        ("complex/.zarray", &complex),
        ("half/.zarray", &half),
        ("long/.zarray", &long),
        ("long/.zattrs", r#"{"_Storage":"x","ok":1}"#),
    ]);
    let original = Dataset::open(store, &options()).unwrap();
    let (copy, lost) = copied(&original, &NewDataset::nczarr_v2());
    for due in ["/bools: bools become", "`_Storage`"] {
        assert!(lost.iter().any(|line| line.contains(due)), "{due}: {lost:#?}");
    }
    let others = |new: &NewDataset| {
        let others = original.plan_copy(new).unwrap().others.into_iter();
        others.map(|other| format!("{}: {}", other.path, other.why)).collect::<Vec<_>>()
    };
    let left = others(&NewDataset::nczarr_v2());
    assert!(left[0].starts_with("/complex: netcdf-c has no complex"), "{left:?}");
    assert!(left[1].starts_with("/half: data type `float16`"), "{left:?}");
    assert_eq!(left.len(), 2);
    assert_eq!(others(&NewDataset::nczarr_v3()), left[1..]);
    let read = |name: &str| copy.variable(name).unwrap().read().unwrap();
    assert_eq!(read("bools"), Values::Ubyte(vec![1, 1]));
    assert_eq!(read("long"), vec!["ab".to_owned(); 2].into());
    assert!(copy.variable("complex").is_err() && copy.variable("half").is_err());
}

/// N-064: xarray takes the fill value of `|S` for base64, and opens nothing of a dataset where it is none.
#[test]
fn a_missing_text_is_an_attribute_alone_in_nczarr_of_v2() {
    let array = r#"{"zarr_format":2,"shape":[3],"dtype":"<U4","chunks":[1],"fill_value":"miß","order":"C","compressor":null,"filters":null}"#;
    let store = holding(&[
        (".zgroup", r#"{"zarr_format":2}"#),
        ("text/.zarray", array),
        ("text/.zattrs", r#"{"_ARRAY_DIMENSIONS":["x"]}"#),
    ]);
    let original = Dataset::open(store, &options()).unwrap();
    let (copy, lost) = copied(&original, &NewDataset::nczarr_v2());
    assert!(
        lost.iter().any(|line| line.starts_with("/text: the missing value \"miß\"")),
        "{lost:?}"
    );
    let text = copy.variable("text").unwrap();
    assert_eq!(text.array().unwrap().metadata().declared_fill, Json::Null);
    assert_eq!(text.schema().unwrap().fill(), vec!["miß".to_owned()].into());
    assert_eq!(text.read().unwrap(), vec!["miß".to_owned(); 3].into());
    assert_eq!(text.array().unwrap().stored_chunks().unwrap(), 3);
}

/// N-064, Z2-052: zarr-python 3 writes `eHl6` for `xyz` in `|S4`; netcdf-c writes texts without a superblock, too, and the
/// attribute beside them.
#[test]
fn a_fill_value_of_bytes_is_base64_unless_the_attribute_repeats_it() {
    let array = r#"{"zarr_format":2,"shape":[1],"dtype":"|S4","chunks":[1],"fill_value":"eHl6","order":"C","compressor":null,"filters":null}"#;
    let store = holding(&[
        (".zgroup", r#"{"zarr_format":2}"#),
        ("bytes/.zarray", array),
        ("bytes/.zattrs", r#"{"_ARRAY_DIMENSIONS":["x"]}"#),
        ("text/.zarray", array),
        ("text/.zattrs", r#"{"_ARRAY_DIMENSIONS":["x"],"_FillValue":"eHl6"}"#),
    ]);
    let original = Dataset::open(store, &options()).unwrap();
    let (copy, _) = copied(&original, &NewDataset::pure(Dialect::V2));
    for dataset in [&original, &copy] {
        for (name, due) in [("bytes", "xyz"), ("text", "eHl6")] {
            let variable = dataset.variable(name).unwrap();
            assert_eq!(variable.read().unwrap(), vec![due.to_owned()].into(), "{name}");
        }
    }
}

/// What netCDF has no words for though it reads it: shards, orders, chunks, checksums, JSON, bytes that are no text.
#[test]
fn what_netcdf_says_otherwise_is_named() {
    let array = |shape: &str, dtype: &str, chunk: &str, codecs: &str| {
        format!(
            r#"{{"zarr_format":3,"node_type":"array","shape":{shape},"data_type":{dtype},"chunk_grid":{{"name":"regular","configuration":{{"chunk_shape":{chunk}}}}},"chunk_key_encoding":{{"name":"default"}},"fill_value":0,"codecs":[{codecs}]}}"#
        )
    };
    let bytes = r#"{"name":"bytes","configuration":{"endian":"little"}}"#;
    let (int, sum) =
        (r#""int32""#, r#",{"name":"zstd","configuration":{"level":3,"checksum":true}}"#);
    let sharding = format!(
        r#"{{"name":"sharding_indexed","configuration":{{"chunk_shape":[2],"codecs":[{bytes}],"index_codecs":[{bytes}]}}}}"#
    );
    let turned = format!(r#"{{"name":"transpose","configuration":{{"order":[1,0]}}}},{bytes}"#);
    let texts = array(
        "[1]",
        r#"{"name":"null_terminated_bytes","configuration":{"length_bytes":2}}"#,
        "[1]",
        r#"{"name":"bytes"}"#,
    );
    let store = holding(&[
        (
            "zarr.json",
            r#"{"zarr_format":3,"node_type":"group","attributes":{"none":null,"yes":[true],"few":[1,2.5],"big":18446744073709551617,"exact":[1e3,36893488147419103232],"CLASS":"x","_Netcdf4Dimid":1,"deep":{"a":[1,{"b":null}]}}}"#,
        ),
        ("shards/zarr.json", &array("[4]", int, "[4]", &sharding)),
        ("order/zarr.json", &array("[2,3]", int, "[2,3]", &turned)),
        ("beyond/zarr.json", &array("[4]", int, "[9]", bytes)),
        ("sum/zarr.json", &array("[4]", int, "[4]", &format!("{bytes}{sum}"))),
        ("texts/zarr.json", &texts.replace(r#""fill_value":0"#, r#""fill_value":"/w==""#)),
    ]);
    let original = Dataset::open(store, &options()).unwrap();
    let (nczarr, pure) = (NewDataset::nczarr_v2(), NewDataset::pure(Dialect::V3));
    for (new, count) in [(&nczarr, 12), (&pure, 2)] {
        let plan = original.plan_copy(new).unwrap();
        let lost = plan.lost.join("\n");
        for due in [
            "/: attribute `none`: null becomes \"null\"",
            "/: attribute `yes`: [true] becomes 1",
            "/: attribute `big`: 18446744073709551617 becomes 1.8446744073709552e19",
            "/texts: bytes that are not UTF-8 stay",
            "/: attribute `CLASS`: ",
            "/: attribute `_Netcdf4Dimid`: ",
        ] {
            assert_eq!(lost.contains(due), new == &nczarr, "{due}: {lost}");
        }
        for due in [
            "/shards: its chunks are not put together in shards",
            "/order: elements of a chunk are in C order",
        ] {
            assert!(lost.contains(due), "{due}: {lost}");
        }
        assert_eq!(plan.lost.len(), count, "{lost}");
    }
    let lost = original.plan_copy(&nczarr).unwrap().lost.join("\n");
    assert!(
        lost.contains("/beyond: chunks along `_Anonymous_Dim_4` become 4 long, not 9"),
        "{lost}"
    );
    assert!(lost.contains("/sum: the checksums of zstd"), "{lost}");
    let sum =
        original.plan_copy(&pure).unwrap().schema.variable("sum").unwrap().storage.filters.clone();
    assert!(format!("{sum:?}").contains("checksum"), "{sum:?}");
}

/// N-061: a text of one width ends at its first NUL.
#[test]
fn texts_that_a_nul_would_end_are_named() {
    let open = OpenOptions::new(common::registry()).read_write();
    let hierarchy = Hierarchy::create(memory(), of_dialect(Dialect::V2), &open).unwrap();
    let array = |path: &str, dtype: &str| {
        let builder = hierarchy.create_array(path).shape(&[2]).chunks(&[1]);
        builder.data_type_named(dtype).create().unwrap()
    };
    let units =
        |text: &str| text.chars().flat_map(|c| u32::from(c).to_ne_bytes()).collect::<Vec<u8>>();
    array("/inside", "<U3").write_bytes(.., &units("a\0bab\0")).unwrap();
    array("/whole", "<U2").write_bytes(.., &units("ab\0\0")).unwrap();
    let texts = array("/end", "string");
    texts.write(.., &["a".to_owned(), "b\0".to_owned()]).unwrap();
    array("/text", "string").write(.., &["a\0b".to_owned(), "b".to_owned()]).unwrap();
    let original = Dataset::open(hierarchy.store().clone(), &options()).unwrap();
    let lost = original.plan_copy(&NewDataset::nczarr_v2()).unwrap().lost.join("\n");
    for (name, is_cut) in [("inside", true), ("whole", false), ("end", true), ("text", false)] {
        assert_eq!(lost.contains(&format!("/{name}: NULs at the end")), is_cut, "{lost}");
    }
}

/// netcdf-c 4.9 and 4.10 read bare floats in v2, with and without a note of their type. From plain Zarr to
/// plain Zarr, attributes stay as they are.
#[test]
fn attributes_stay_as_their_document_has_them() {
    let array = r#""shape":[1],"chunks":[1],"dtype":"<i4","fill_value":null,"order":"C","compressor":null,"filters":null"#;
    let bare =
        r#"{"missing":NaN,"range":[-Infinity,1.5,Infinity],"text":"NaN","deep":{"a":[NaN]}}"#;
    let odd = r#"{"none":null,"yes":true,"list":[],"mixed":[1,"a"],"n":1,"x":1.0}"#;
    let store = holding(&[
        (".zgroup", r#"{"zarr_format":2}"#),
        (".zattrs", bare),
        ("a/.zarray", &format!(r#"{{"zarr_format":2,{array}}}"#)),
        ("a/.zattrs", bare),
        ("g/.zgroup", r#"{"zarr_format":2}"#),
        ("g/.zattrs", odd),
    ]);
    let parse = |text: &str| Json::parse_tolerant(text.as_bytes()).unwrap().0;
    let has = |dataset: &Dataset, path: &str, text: &str, is_kept: bool| {
        let node = dataset.hierarchy().node(path).unwrap();
        let (found, Json::Object(due)) = (node.attributes(), parse(text)) else { unreachable!() };
        for (name, json) in due.iter() {
            let is_equal = found.get(name) == Some(json);
            let may_change = json.has_bare_floats() || text == odd;
            assert!(is_equal || !is_kept && may_change, "{path} {name}: {:?}", found.get(name));
            assert!(!json.has_bare_floats() || is_equal == is_kept, "{path} {name}");
        }
    };
    let original = Dataset::open(store, &options()).unwrap();
    for (new, keeps_bare, keeps_odd) in [
        (NewDataset::pure(Dialect::V2), true, true),
        (NewDataset::pure(Dialect::V3), true, true),
        (NewDataset::nczarr_v2(), true, false),
        (NewDataset::nczarr_v3(), false, false),
    ] {
        let (copy, lost) = copied(&original, &new);
        for path in ["/", "/a"] {
            has(&copy, path, bare, keeps_bare);
            let told =
                lost.iter().any(|line| line.starts_with(&format!("{path}: attribute `deep`")));
            assert_eq!(told, !keeps_bare, "{new:?}: {lost:?}");
        }
        has(&copy, "/g", odd, keeps_odd);
        let seen = |dataset: &Dataset| dataset.schema().group("/").unwrap().attributes.clone();
        let floats = |list: &[Attribute]| format!("{:?}", &list[..2]);
        if new.profile == Profile::Nczarr || keeps_bare {
            assert_eq!(floats(&seen(&copy)), floats(&seen(&original)), "{new:?}");
        }
        // And on from there.
        let (again, _) = copied(&copy, &NewDataset::pure(Dialect::V2));
        has(&again, "/", bare, keeps_bare);
    }
}

/// `|S5` is bytes to xarray, which need not be UTF-8 nor end at the first NUL; `<U2` is text. The
/// documents are zarr-python 2's, but for chunks without a codec.
#[test]
fn strings_of_one_width_keep_their_bytes_and_their_type() {
    let array = |dtype: &str, fill: &str| {
        format!(
            r#"{{"zarr_format":2,"shape":[3],"dtype":"{dtype}","chunks":[2],"fill_value":{fill},"order":"C","compressor":null,"filters":null}}"#
        )
    };
    let scalar = array("|S2", "null").replace("[3]", "[]").replace("[2]", "[]");
    let (bytes, wide) = (array("|S5", "\"//4=\""), array(">U2", "\"é\""));
    let names = r#"{"_ARRAY_DIMENSIONS":["x"]}"#;
    let store = holding(&[
        (".zgroup", r#"{"zarr_format":2}"#),
        ("bytes/.zarray", &bytes),
        ("bytes/.zattrs", names),
        ("scalar/.zarray", &scalar),
        ("wide/.zarray", &wide),
        ("wide/.zattrs", names),
    ]);
    let set = |key: &str, value: &[u8]| {
        let key = zarr_core::store::StoreKey::new(key).unwrap();
        store.to_sync().set(&key, value.to_vec().into()).unwrap();
    };
    set("bytes/0", b"a\0b\0\0\xff\0\0\0\0");
    set("scalar/0", b"q\xff");
    set("wide/0", b"\0\0\0a\0\0\0b\0\0\0\xe9\0\0\0\0");
    let original = Dataset::open(store, &options()).unwrap();
    let held = |dataset: &Dataset, name: &str| {
        let array = dataset.variable(name).unwrap().array().unwrap();
        let all = zarr_core::Selection::from(..);
        (array.data_type().to_string(), array.read_bytes(all).unwrap())
    };
    for new in [
        NewDataset::pure(Dialect::V2),
        NewDataset::pure(Dialect::V3),
        NewDataset::nczarr_v3(),
        NewDataset::nczarr_v2(),
    ] {
        let (copy, lost) = copied(&original, &new);
        let names_of_lost = |part: &str| {
            let of = lost.iter().filter(|line| line.contains(part));
            of.map(|line| line.split(':').next().unwrap()).collect::<Vec<_>>()
        };
        if new == NewDataset::nczarr_v2() {
            assert_eq!(names_of_lost("not UTF-8 stay as they are"), ["/bytes", "/scalar"]);
            let (name, found) = held(&copy, "bytes");
            assert_eq!(name, "|S128");
            let due = [&b"a\0b"[..], b"\xff", b"\xff\xfe"].map(|text| {
                let mut text = text.to_vec();
                text.resize(128, 0);
                text
            });
            assert_eq!(found, due.concat());
            let wide = Values::String(vec!["ab".into(), "é".into(), "é".into()]);
            assert_eq!(copy.variable("wide").unwrap().read().unwrap(), wide);
            continue;
        }
        for name in ["bytes", "scalar", "wide"] {
            assert_eq!(held(&copy, name), held(&original, name), "{new:?}: {name}");
            let read = |dataset: &Dataset| dataset.variable(name).unwrap().read().unwrap();
            assert_eq!(read(&copy), read(&original), "{new:?}: {name}");
        }
        let is_v3 = new.dialect == Dialect::V3;
        let due = if is_v3 { vec!["/bytes", "/wide"] } else { Vec::new() };
        assert_eq!(names_of_lost("the missing value"), due, "{new:?}");
        assert_eq!(lost.len(), due.len(), "{lost:?}");
        let fill = copy.variable("bytes").unwrap().array().unwrap().metadata().fill_bytes();
        assert_eq!(fill, b"\xff\xfe\0\0\0", "{new:?}");
    }
}

/// N-092: an axis without a name has none to lose, in whatever group.
#[test]
fn axes_without_names_are_no_loss_in_plain_zarr() {
    let array = r#"{"zarr_format":2,"shape":[3],"dtype":"<i2","chunks":[2],"fill_value":0,"order":"C","compressor":null,"filters":null}"#;
    let group = r#"{"zarr_format":2}"#;
    let store = holding(&[(".zgroup", group), ("g/.zgroup", group), ("g/v/.zarray", array)]);
    let original = Dataset::open(store, &options()).unwrap();
    for dialect in [Dialect::V2, Dialect::V3] {
        let (copy, lost) = copied(&original, &NewDataset::pure(dialect));
        assert_eq!(lost, [""; 0]);
        assert_eq!(copy.variable("g/v").unwrap().read().unwrap().len(), 3);
    }
}

/// N-091, N-092: groups, and the order of definition.
#[test]
fn what_plain_zarr_cannot_order_is_named() {
    let original = write_demo(memory(), &NewDataset::nczarr_v2());
    let lost = original.plan_copy(&NewDataset::pure(Dialect::V2)).unwrap().lost.join("\n");
    assert!(lost.contains("/g1/id: dimension /lat: plain Zarr takes it"), "{lost}");
    assert!(
        lost.contains("/: the order of its variables and groups: plain Zarr lists them by name"),
        "{lost}"
    );
}

/// Codecs go along where there are words for them; netcdf-c is given those that it has.
#[test]
fn codecs_are_kept_where_they_can_be() {
    let array = |compressor: &str| {
        format!(
            r#"{{"zarr_format":2,"shape":[4],"dtype":"<i4","chunks":[4],"fill_value":7,"order":"C","compressor":{compressor},"filters":null}}"#
        )
    };
    let (gzip, zstd, odd) = (
        array(r#"{"id":"gzip","level":3}"#),
        array(r#"{"id":"zstd","level":1}"#),
        array(r#"{"id":"szip"}"#),
    );
    let store = holding(&[
        (".zgroup", r#"{"zarr_format":2}"#),
        ("gzip/.zarray", &gzip),
        ("zstd/.zarray", &zstd),
    ]);
    let original = Dataset::open(store, &options()).unwrap();
    for (new, name) in [
        (NewDataset::nczarr_v2(), "Deflate { level: 3 }"),
        (NewDataset::nczarr_v3(), "gzip"),
        (NewDataset::pure(Dialect::V2), "gzip"),
        (NewDataset::pure(Dialect::V3), "gzip"),
    ] {
        let (copy, lost) = copied(&original, &new);
        assert!(lost.is_empty(), "{lost:?}");
        let filters = |name: &str| {
            format!("{:?}", copy.variable(name).unwrap().schema().unwrap().storage.filters)
        };
        assert!(filters("gzip").contains(name), "{}", filters("gzip"));
        assert_eq!(filters("zstd"), "[Zstd { level: 1 }]");
        assert_eq!(copy.variable("gzip").unwrap().read().unwrap(), vec![7; 4].into());
    }
    let store = holding(&[(".zgroup", r#"{"zarr_format":2}"#), ("odd/.zarray", &odd)]);
    let plan =
        Dataset::open(store, &options()).unwrap().plan_copy(&NewDataset::nczarr_v2()).unwrap();
    assert!(plan.lost.iter().any(|line| line.contains("szip")), "{:?}", plan.lost);
}

/// Strings of any length become as wide as the longest of them.
#[test]
fn strings_find_their_width() {
    use zarr_nczarr::schema::Variable;
    use zarr_nczarr::{Dimension, Type};
    let dataset = Dataset::create(memory(), &NewDataset::nczarr_v3(), &options()).unwrap();
    let root = dataset.root();
    root.define_dimension(Dimension::new("x", 2)).unwrap();
    let v = root.define_variable(&Variable::new("v", Type::String, ["x"])).unwrap();
    let texts = vec!["é".repeat(100), "short".to_owned()];
    v.write(texts.clone()).unwrap();
    let (copy, _) = copied(&dataset, &NewDataset::nczarr_v2());
    let v = copy.variable("v").unwrap();
    assert_eq!(v.read().unwrap(), texts.into());
    assert_eq!(v.schema().unwrap().attribute("_nczarr_maxstrlen"), Some(&vec![200].into()));
}

/// N-006: bools that PackBits of numcodecs packed are sound in every copy. The bytes are numcodecs'.
#[test]
fn packed_bools_are_copied() {
    let array = r#"{"zarr_format":2,"shape":[5],"dtype":"|b1","chunks":[5],"fill_value":false,"order":"C","compressor":null,"filters":[{"id":"packbits"}]}"#;
    let store = holding(&[(".zgroup", r#"{"zarr_format":2}"#), ("a/.zarray", array)]);
    let key = zarr_core::store::StoreKey::new("a/0").unwrap();
    store.to_sync().set(&key, vec![3, 0b1001_0000].into()).unwrap();
    let original = Dataset::open(store, &options()).unwrap();
    let due = [true, false, false, true, false];
    let pure = [NewDataset::pure(Dialect::V2), NewDataset::pure(Dialect::V3)];
    for new in pure.into_iter().chain([NewDataset::nczarr_v3(), NewDataset::nczarr_v2()]) {
        let (copy, lost) = copied(&original, &new);
        let read = copy.variable("a").unwrap().read().unwrap();
        if new == NewDataset::nczarr_v2() {
            assert_eq!(read, Values::Ubyte(due.map(u8::from).to_vec()));
            assert!(lost.iter().any(|what| what.contains("packbits")), "{lost:?}");
        } else {
            assert_eq!(read, Values::Bool(due.to_vec()));
            assert_eq!(lost, [""; 0]);
        }
    }
}

/// A group's `_ARRAY_DIMENSIONS`, as neuroglancer's fixtures of OME-Zarr 0.5 have, names no dimensions: plain Zarr keeps it,
/// NCZarr says that it does not.
#[test]
fn a_group_keeps_its_array_dimensions_or_says_so() {
    let attributes = r#"{"_ARRAY_DIMENSIONS":["x","y"],"a":"b"}"#;
    let group = format!(r#"{{"zarr_format":3,"node_type":"group","attributes":{attributes}}}"#);
    let v3 = holding(&[("zarr.json", &group), ("g/zarr.json", &group)]);
    let v2 = holding(&[
        (".zgroup", r#"{"zarr_format":2}"#),
        (".zattrs", attributes),
        ("g/.zgroup", r#"{"zarr_format":2}"#),
        ("g/.zattrs", attributes),
    ]);
    for store in [v3, v2] {
        let original = Dataset::open(store, &options()).unwrap();
        for new in [NewDataset::pure(Dialect::V2), NewDataset::pure(Dialect::V3)] {
            let (copy, lost) = copied(&original, &new);
            assert_eq!(lost, [""; 0]);
            for path in ["/", "/g"] {
                let group = copy.hierarchy().group(path).unwrap();
                let kept = group.attributes().get("_ARRAY_DIMENSIONS").map(Json::to_string);
                assert_eq!(kept.as_deref(), Some(r#"["x","y"]"#), "{new:?} {path}");
            }
        }
        for new in [NewDataset::nczarr_v2(), NewDataset::nczarr_v3()] {
            let (_, lost) = copied(&original, &new);
            let due = ["/: attribute `_ARRAY_DIMENSIONS`", "/g: attribute `_ARRAY_DIMENSIONS`"];
            assert!(lost.len() == 2 && due.iter().all(|it| lost.iter().any(|l| l.starts_with(it))));
        }
    }
}

/// What this build cannot read is refused before anything is written.
#[test]
fn elements_that_cannot_be_read_are_refused_first() {
    let codec = r#"{"id":"nonesuch"}"#;
    let array = format!(
        r#"{{"zarr_format":2,"shape":[1],"dtype":"<i4","chunks":[1],"fill_value":null,"order":"C","compressor":{codec},"filters":null}}"#
    );
    let store = holding(&[(".zgroup", r#"{"zarr_format":2}"#), ("a/.zarray", &array)]);
    let original = Dataset::open(store, &options()).unwrap();
    for new in [NewDataset::nczarr_v3(), NewDataset::pure(Dialect::V2)] {
        let store = memory();
        let target = CopyTarget::new(store.clone(), &new, &options()).unwrap();
        let error = zarr_tools::copy_dataset(&original, &target, &Default::default()).unwrap_err();
        assert_eq!(error.kind(), zarr_core::ErrorKind::Unsupported, "{error}");
        assert_eq!(store.to_sync().list().unwrap(), []);
    }
}
