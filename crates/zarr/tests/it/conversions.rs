//! Conversions among the drafts, v3 and v2 keep every value and every attribute, or refuse with the reason.
#![cfg(all(feature = "memory", feature = "gzip", feature = "shuffle"))]

use std::sync::Arc;

use proptest::prelude::*;
use zarr::data_type::{CoreType, FillValue};
use zarr::format::{Draft, Format, of_dialect};
use zarr::store::{Store, StoreKey, from_sync};
use zarr::stores::MemoryStore;
use zarr::tools::CopyOptions;
use zarr::{
    Array, ArrayMetadata, Dialect, Era, ErrorKind, Hierarchy, Json, Node, NodePath, Object,
    OpenOptions, missing_value,
};
use zarr_testkit::sample;

/// The formats that are written.
#[derive(Clone, Copy, Debug)]
enum Target {
    V2,
    V3,
    Draft,
    PlainText,
}

impl Target {
    fn format(self) -> Arc<dyn Format> {
        match self {
            Target::V2 => of_dialect(Dialect::V2),
            Target::V3 => of_dialect(Dialect::V3),
            Target::Draft => of_dialect(Dialect::Draft),
            Target::PlainText => Arc::new(Draft::new().plain_text()),
        }
    }

    fn begun(self) -> Hierarchy {
        let store: Arc<dyn Store> = from_sync(MemoryStore::new());
        let options = OpenOptions::new(zarr::standard()).read_write();
        Hierarchy::create(store, self.format(), &options).expect("a new hierarchy")
    }
}

fn target() -> impl Strategy<Value = Target> {
    prop::sample::select(vec![Target::V2, Target::V3, Target::Draft, Target::PlainText])
}

/// What an array is made of.
#[derive(Clone, Debug)]
struct Made {
    data_type: &'static str,
    shape: Vec<u64>,
    chunks: Vec<u64>,
    f_order: bool,
    codecs: Vec<&'static str>,
    separator: char,
    fill: Fill,
    names: Vec<Option<String>>,
    attributes: Object,
    seed: Vec<u8>,
}

#[derive(Clone, Debug)]
enum Fill {
    Undefined,
    Zero,
    Words(&'static str),
}

/// One of each sort, in both byte orders where there are two.
const TYPES: [&str; 26] = [
    "bool", "int8", "uint8", "<i2", ">i2", "<u2", ">u2", "<i4", ">u4", "<i8", ">i8", "<u8", "<f2",
    ">f2", "<f4", ">f4", "<f8", ">f8", "<c8", ">c16", "r24", "|S3", "<U2", ">U2", "<M8[ns]",
    ">m8[25s]",
];

/// Fill values that are hard to carry, by the sort of type.
fn hard_fills(data_type: &str) -> &'static [&'static str] {
    match data_type.trim_start_matches(['<', '>', '|']) {
        "bool" => &["true", "false"],
        "int8" | "i2" | "i4" => &["1", "-1", "-128"],
        "i8" => &["-9223372036854775808", "9223372036854775807"],
        "u8" => &["18446744073709551615"],
        "uint8" | "u2" | "u4" => &["0", "255"],
        "f2" => &["0.1", "-0.0", r#""NaN""#, r#""0x7e01""#, r#""-Infinity""#],
        "f4" => &["0.1", "-0.0", r#""NaN""#, r#""0x7fc00001""#, r#""Infinity""#, "3e38"],
        "f8" => &["0.1", "-0.0", r#""NaN""#, r#""0xfff8000000000005""#, "5e-324"],
        "c8" | "c16" => &["[1.5,-0.0]", r#"["NaN","-Infinity"]"#],
        "r24" => &[r#""0x010203""#],
        "S3" => &[r#""YWI=""#, r#""AAEC""#],
        "U2" => &[r#""é""#, r#""a😀""#],
        _ => &[r#""NaT""#, "-1", "1577836800000000000"],
    }
}

fn fill(data_type: &'static str) -> impl Strategy<Value = Fill> {
    prop_oneof![
        1 => Just(Fill::Undefined),
        1 => Just(Fill::Zero),
        6 => prop::sample::select(hard_fills(data_type)).prop_map(Fill::Words),
    ]
}

/// The text of a JSON value as somebody may write it.
fn json_text() -> impl Strategy<Value = String> {
    let scalars = vec![
        "null",
        "true",
        "0",
        "-0",
        "-0.0",
        "1.0",
        "1.50",
        "1e400",
        "-1E+2",
        "0.1e-7",
        "18446744073709551616",
        "123456789012345678901234567890.5",
        r#""""#,
        r#""text""#,
        r#""\u00e9 \ud83d\ude00 \u0000 \/ \" \\ \u2028""#,
        "\"é😀\"",
        "{}",
        "[]",
        "[[],{}]",
        r#"{"":{"":{}}}"#,
        r#"["x","y"]"#,
        r#"[{"id":"delta","dtype":"<i4"}]"#,
    ];
    let leaf = prop::sample::select(scalars).prop_map(str::to_owned);
    leaf.prop_recursive(4, 16, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(|l| format!("[{}]", l.join(","))),
            prop::collection::vec(inner, 0..4).prop_map(|l| {
                let members: Vec<String> =
                    l.iter().enumerate().map(|(n, value)| format!("\"m{n}\": {value}")).collect();
                format!("{{{}}}", members.join(" , "))
            }),
        ]
    })
}

fn attributes() -> impl Strategy<Value = Object> {
    let names = vec![
        "units",
        "",
        "é",
        "a b/c",
        "filters",
        "_ARRAY_DIMENSIONS",
        "zarr_format",
        "attributes",
        "must_understand",
    ];
    let member = (prop::sample::select(names), json_text());
    prop::collection::vec(member, 0..4).prop_map(|members| {
        let value = |text: String| Json::parse(text.as_bytes()).expect("JSON");
        members.into_iter().map(|(name, text)| (name.to_owned(), value(text))).collect()
    })
}

fn made() -> impl Strategy<Value = Made> {
    let codecs = prop::sample::select(vec![
        vec![],
        vec!["gzip:1"],
        vec!["gzip:9", "gzip:1"],
        vec!["shuffle:4", "gzip:1"],
        vec!["delta"],
        vec!["delta", "gzip:1"],
        vec!["crc32c"],
        vec!["zlib:2"],
        vec!["blosc"],
    ]);
    let name = prop_oneof![
        3 => prop::sample::select(vec!["x", "y", "time", "", "é"]).prop_map(|n| Some(n.to_owned())),
        1 => Just(None),
    ];
    let axes = prop::collection::vec((0u64..6, 1u64..5, name), 0..4);
    let flags = (any::<bool>(), any::<bool>(), prop::bool::weighted(0.3));
    let seed = prop::collection::vec(any::<u8>(), 1..40);
    let typed = prop::sample::select(TYPES.to_vec())
        .prop_flat_map(|data_type| (Just(data_type), fill(data_type)));
    (typed, axes, flags, codecs, attributes(), seed).prop_map(
        |((data_type, fill), axes, (f_order, dot, named), codecs, attributes, seed)| Made {
            data_type,
            shape: axes.iter().map(|axis| axis.0).collect(),
            chunks: axes.iter().map(|axis| axis.1).collect(),
            f_order,
            codecs,
            separator: if dot { '.' } else { '/' },
            fill,
            names: if named { axes.into_iter().map(|axis| axis.2).collect() } else { Vec::new() },
            attributes,
            seed,
        },
    )
}

/// The array, its upper half written; `None` if its first format has no words for it.
fn create(hierarchy: &Hierarchy, made: &Made) -> Option<Array> {
    let mut builder = hierarchy
        .create_array(path("/g/a"))
        .shape(&made.shape)
        .chunks(&made.chunks)
        .data_type_named(made.data_type)
        .f_order(made.f_order)
        .separator(made.separator)
        .attributes(made.attributes.clone());
    builder = match made.fill {
        Fill::Zero => builder,
        Fill::Undefined => builder.undefined_fill(),
        Fill::Words(text) => builder.fill_value(Json::parse(text.as_bytes()).expect("JSON")),
    };
    if !made.names.is_empty() {
        builder = builder.dimension_names(made.names.clone());
    }
    // Differences of floats lose bits, by what they are.
    let is_whole = ["i", "u", "<i", ">i", "<u", ">u"].iter().any(|t| made.data_type.starts_with(t));
    for codec in made.codecs.iter().filter(|codec| is_whole || **codec != "delta") {
        builder = builder.codec(zarr::tools::codec(codec).expect("a codec"));
    }
    let array = match builder.create() {
        Ok(array) => array,
        Err(e) => {
            let kinds = [ErrorKind::Argument, ErrorKind::Unsupported];
            assert!(kinds.contains(&e.kind()), "{e}");
            return None;
        }
    };
    let half = zarr::Region::new(made.shape.iter().map(|&len| len / 2..len));
    let size = array.data_type().repr().expect("a known type").size();
    let count = half.element_count().expect("small") as usize;
    let bytes: Vec<u8> = (0..count * size)
        .map(|n| {
            let byte = made.seed[n % made.seed.len()];
            match made.data_type {
                "bool" => byte % 2,
                // One of the first 127 characters, least significant byte first.
                "<U2" | ">U2" => {
                    if n % 4 == 0 {
                        byte % 127
                    } else {
                        0
                    }
                }
                _ => byte,
            }
        })
        .collect();
    array.write_le_bytes(&half, &bytes).expect("written");
    Some(array)
}

fn path(text: &str) -> NodePath {
    NodePath::new(text).expect("a good path")
}

fn words(attributes: &Object) -> Vec<(String, String)> {
    attributes.iter().map(|(name, value)| (name.to_owned(), value.to_string())).collect()
}

/// Attributes as a user sees them in every dialect: the axes' names and the missing value, which some keep there,
/// put apart.
fn without_names(attributes: &Object) -> Vec<(String, String)> {
    let apart = ["_ARRAY_DIMENSIONS", missing_value::FILL_VALUE];
    words(attributes).into_iter().filter(|(name, _)| !apart.contains(&&**name)).collect()
}

/// The missing value that readers see in an array, if they take it for a variable.
fn missing(metadata: &ArrayMetadata, dialect: Dialect) -> Option<Option<FillValue>> {
    let scalar = dialect == Dialect::V3 && metadata.rank() == 0;
    let is_variable = missing_value::has_names(metadata) || scalar;
    is_variable.then(|| missing_value::of(metadata, dialect))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(sample(128, 512)))]

    /// Q25, Z2-090, D-107, F-009.
    #[test]
    fn a_copy_has_all_or_is_refused(
        made in made(),
        first in target(),
        ways in prop::collection::vec(target(), 1..4),
        of_group in attributes(),
    ) {
        let mut from = first.begun();
        let Some(array) = create(&from, &made) else { return Ok(()) };
        from.group(path("/g")).expect("a group").update_attributes(|a| *a = of_group.clone()).ok();
        let group = from.group(path("/g")).expect("a group").attributes().clone();
        let elements = array.read_le_bytes(..).expect("read");
        let before = array.metadata();
        let (mut last, mut last_dialect) = (before.clone(), from.dialect());
        for way in ways {
            let to = way.begun();
            let root = NodePath::root();
            let copied = zarr::tools::copy(&from.node(&root).expect("a root"), &to, &root, &CopyOptions::default());
            let copied = match copied {
                Ok(copied) => copied,
                Err(e) => {
                    let kinds = [ErrorKind::Unsupported, ErrorKind::Argument];
                    prop_assert!(kinds.contains(&e.kind()), "{}", e);
                    prop_assert!(e.to_string().contains("/g"), "{}", e);
                    prop_assert_eq!(to.tree(&root).expect("a tree").len(), 1, "something is left after {}", e);
                    return Ok(());
                }
            };
            let store = to.store().clone();
            from = Hierarchy::open(store, &OpenOptions::new(zarr::standard()).read_write()).expect("opened");
            let copy = from.array(path("/g/a")).expect("the copy");
            let after = copy.metadata();
            prop_assert_eq!(copy.read_le_bytes(..).expect("read"), elements.clone(), "in {:?}", way);
            prop_assert_eq!(&after.data_type, &before.data_type);
            prop_assert_eq!(&after.shape, &before.shape);
            prop_assert_eq!(after.chunk_shape(), before.chunk_shape());
            let is_same_side = (last_dialect == Dialect::V3) == (from.dialect() == Dialect::V3);
            match missing(&last, last_dialect).filter(|_| !is_same_side) {
                None => prop_assert_eq!(after.fill_bytes(), last.fill_bytes(), "in {:?}", way),
                Some(Some(seen)) if copied.not_kept.is_empty() => {
                    let has_words = missing_value::to_json(&before.data_type, &seen).is_some();
                    let due = (has_words || from.dialect() != Dialect::V3).then_some(seen);
                    prop_assert_eq!(missing(&after, from.dialect()), Some(due), "in {:?}", way);
                }
                Some(None) if copied.not_kept.is_empty() => {
                    prop_assert_eq!(missing(&after, from.dialect()), Some(None), "in {:?}", way);
                }
                Some(_) => {}
            }
            (last, last_dialect) = (after.clone(), from.dialect());
            prop_assert_eq!(without_names(&after.attributes), without_names(&before.attributes));
            if let Some(names) = before.attributes.get("_ARRAY_DIMENSIONS") {
                let kept = after.attributes.get("_ARRAY_DIMENSIONS").map(Json::to_string);
                let said = after.dimension_names.as_ref().and_then(|names| {
                    let name = |name: &Option<String>| name.as_deref().map(Json::from);
                    let names: Option<Vec<Json>> = names.iter().map(name).collect();
                    Some(Json::from(names?).to_string())
                });
                prop_assert_eq!(kept.or(said), Some(names.to_string()));
            }
            if let Some(names) = &before.dimension_names
                && names.iter().any(Option::is_some)
            {
                prop_assert_eq!(after.dimension_names.as_ref(), Some(names), "in {:?}", way);
            }
            let kept = from.group(path("/g")).expect("the group");
            prop_assert_eq!(words(kept.attributes()), words(&group), "in {:?}", way);
        }
    }
}

/// F-081: formats without words for exchanged axes need none if none are exchanged.
#[cfg(feature = "transpose")]
#[test]
fn an_order_that_leaves_all_axes_is_left_out_of_copies() -> zarr::Result<()> {
    let order = zarr::tools::codec(r#"{"name":"transpose","configuration":{"order":[0,1,2]}}"#)?;
    let array = Target::V3.begun().create_array(path("/a")).shape(&[2, 3, 2]);
    let array = array.data_type(CoreType::Int16).codec(order).create()?;
    let elements: Vec<i16> = (0..12).collect();
    array.write(.., &elements)?;
    for target in [Target::V2, Target::Draft, Target::PlainText] {
        let to = target.begun();
        zarr::tools::copy(&Node::Array(array.clone()), &to, path("/a"), &CopyOptions::default())?;
        assert_eq!(to.array(path("/a"))?.read::<i16>(..)?, elements, "{target:?}");
    }
    Ok(())
}

/// Z2-060: a filter that changes the type changes it for the filters behind it, in copies too; the document is zarr-python
/// 2.18.7's.
#[cfg(all(feature = "astype", feature = "bitround"))]
#[test]
fn a_filter_on_what_another_makes_of_elements_is_copied() -> zarr::Result<()> {
    use zarr::store::SyncStore;

    let store = MemoryStore::new();
    let document = br#"{"chunks":[4],"compressor":null,"dtype":"<i4","fill_value":0,"filters":[
        {"decode_dtype":"<i4","encode_dtype":"<f4","id":"astype"},{"id":"bitround","keepbits":3}],
        "order":"C","shape":[4],"zarr_format":2}"#;
    store.set(&StoreKey::new("a/.zarray")?, document.as_slice().into())?;
    let options = OpenOptions::new(zarr::standard()).read_write();
    store.set(&StoreKey::new(".zgroup")?, br#"{"zarr_format":2}"#.as_slice().into())?;
    let array = Hierarchy::open(from_sync(store), &options)?.array(path("/a"))?;
    array.write(.., &[1, -2, 1000, 7i32])?;
    assert_eq!(array.read::<i32>(..)?, [1, -2, 1024, 7]);
    for target in [Target::V2, Target::V3] {
        let to = target.begun();
        zarr::tools::copy(&Node::Array(array.clone()), &to, path("/a"), &CopyOptions::default())?;
        assert_eq!(to.array(path("/a"))?.read::<i32>(..)?, [1, -2, 1024, 7], "{target:?}");
    }
    Ok(())
}

/// The same array in an older draft: what the draft of October 2020 says, at the keys and in the words of this
/// one. A separator that the older draft would take anyway may stay unsaid.
fn aged(from: &Hierarchy, era: Era, silent: bool) -> Hierarchy {
    let store: Arc<dyn Store> = from_sync(MemoryStore::new());
    let old = from.store();
    let keys = old.to_sync().list().expect("listed");
    for key in keys {
        let bytes = old.to_sync().value(&key).expect("read").expect("there");
        let document = |change: &dyn Fn(&mut Object)| {
            let json = Json::parse(&bytes).expect("JSON");
            let mut object = json.as_object().expect("an object").clone();
            change(&mut object);
            Json::from(object).to_pretty().into_bytes()
        };
        let (key, bytes) = match key.as_str().strip_prefix("data/root/g/a/c") {
            Some(rest) if era == Era::E3 => (format!("data/root/g/a/c{rest}"), bytes.to_vec()),
            Some(rest) => {
                let name = if rest.is_empty() { "0" } else { rest };
                let folder = if era == Era::E2 { "data/g/a" } else { "data" };
                (format!("{folder}/{name}"), bytes.to_vec())
            }
            None if key.as_str() == "zarr.json" => {
                let change = |entry: &mut Object| {
                    entry.remove("metadata_key_suffix");
                    if era == Era::E2 {
                        entry.insert("metadata_encoding", "application/json");
                    }
                };
                (key.to_string(), document(&change))
            }
            None => {
                let change = |node: &mut Object| {
                    let Some(Json::Object(grid)) = node.get("chunk_grid").cloned() else { return };
                    let mut grid = grid;
                    if silent {
                        grid.remove("separator");
                    }
                    node.insert("chunk_grid", grid);
                    if era == Era::E1 {
                        node.insert("zarr_format", "http://purl.org/zarr/spec/protocol/core/3.0");
                        let codec = node.remove("compressor").into_iter().collect::<Json>();
                        node.insert("chunk_codecs", codec);
                    }
                };
                let name = key.as_str().trim_end_matches(".json");
                let name = if era == Era::E1 { "a.json" } else { name };
                (name.to_owned(), document(&change))
            }
        };
        if era == Era::E1
            && (key == "zarr.json" || !bytes.starts_with(b"{\n  \"shape\""))
            && !key.starts_with("data/")
        {
            continue;
        }
        let key = StoreKey::new(key).expect("a key");
        store.to_sync().set(&key, bytes.into()).expect("set");
    }
    Hierarchy::open(store, &OpenOptions::new(zarr::standard())).expect("opened")
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(sample(64, 256)))]

    /// Q25, Q26, row 6, row 7, row 8, row 10.
    #[test]
    fn an_array_of_an_older_draft_is_the_same(
        made in made(),
        era in prop::sample::select(vec![Era::E1, Era::E2, Era::E3]),
        silent in any::<bool>(),
        way in target(),
    ) {
        let from = Target::PlainText.begun();
        let Some(array) = create(&from, &made) else { return Ok(()) };
        let silent = silent && (made.separator == '/') == (era == Era::E3);
        // What lies behind `/` without a word is found all the same.
        let silent = silent || era <= Era::E2 && made.separator == '/' && made.shape.len() > 1;
        let old = aged(&from, era, silent);
        prop_assert_eq!(old.era(), Some(era));
        let at = if era == Era::E1 { NodePath::root() } else { path("/g/a") };
        let same = |other: &Array, place: &str| {
            let (before, after) = (array.metadata(), other.metadata());
            let read = |array: &Array| array.read_le_bytes(..).expect("read");
            prop_assert_eq!(read(other), read(&array), "{}", place);
            prop_assert_eq!(&after.data_type, &before.data_type);
            prop_assert_eq!(after.fill_bytes(), before.fill_bytes());
            prop_assert_eq!(without_names(&after.attributes), without_names(&before.attributes));
            Ok(())
        };
        let aged = old.array(&at).expect("the array");
        same(&aged, era.name())?;
        let corner = zarr::Region::new(made.shape.iter().map(|&len| len / 3..len));
        let corners = (aged.read_le_bytes(&corner), array.read_le_bytes(&corner));
        prop_assert_eq!(corners.0.expect("read"), corners.1.expect("read"));
        let to = way.begun();
        match zarr::tools::copy(&Node::Array(aged), &to, path("/b"), &CopyOptions::default()) {
            Ok(_) => same(&to.array(path("/b")).expect("the copy"), "the copy")?,
            Err(e) => prop_assert_eq!(e.kind(), ErrorKind::Unsupported, "{}", e),
        }
    }
}
