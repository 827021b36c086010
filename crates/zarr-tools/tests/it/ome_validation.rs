//! Each rule of OME-Zarr finds what breaks it, and a valid image, plate and label break none.

use std::collections::BTreeSet;
use std::sync::Arc;

use zarr_core::format::of_dialect;
use zarr_core::store::{Store, from_sync};
use zarr_core::{Dialect, Hierarchy, Json, Object, OpenOptions, Registry};
use zarr_stores::MemoryStore;
use zarr_tools::validate::{Level, ValidateOptions, validate_store};

const IMAGE: &str = r##"{"version":"0.5","multiscales":[{"name":"cells","axes":[{"name":"t","type":"time","unit":"second"},{"name":"c","type":"channel"},
    {"name":"y","type":"space","unit":"micrometer"},{"name":"x","type":"space","unit":"micrometer"}],
    "datasets":[{"path":"0","coordinateTransformations":[{"type":"scale","scale":[1.0,1.0,0.5,0.5]}]},
    {"path":"1","coordinateTransformations":[{"type":"scale","scale":[1.0,1.0,1.0,1.0]},{"type":"translation","translation":[0.0,0.0,0.25,0.25]}]}]}],
    "omero":{"channels":[{"color":"FF0000","window":{"min":0,"max":255,"start":0,"end":200}}]}}"##;
const LABEL: &str = r##"{"version":"0.5","image-label":{"colors":[{"label-value":1,"rgba":[255,0,0,255]},{"label-value":2}],"properties":[{"label-value":1}]},
    "multiscales":[{"axes":[{"name":"y","type":"space"},{"name":"x","type":"space"}],
    "datasets":[{"path":"0","coordinateTransformations":[{"type":"scale","scale":[0.5,0.5]}]},
    {"path":"1","coordinateTransformations":[{"type":"scale","scale":[1.0,1.0]}]}]}]}"##;
const LABELS: &str = r##"{"version":"0.5","labels":["cells"]}"##;
const PLATE: &str = r##"{"version":"0.5","plate":{"version":"0.5","rows":[{"name":"A"}],"columns":[{"name":"1"},{"name":"2"}],"acquisitions":[{"id":0},{"id":1}],
    "wells":[{"path":"A/2","rowIndex":0,"columnIndex":1}]},"bioformats2raw.layout":3}"##;
const WELL: &str =
    r##"{"version":"0.5","well":{"version":"0.5","images":[{"path":"0"},{"path":"1"}]}}"##;

/// A plate with two images, one of which has labels, whose documents an edit has changed; in 0.5, or in 0.4.
fn hierarchy(dialect: Dialect, edit: &dyn Fn(&str) -> String) -> Arc<dyn Store> {
    let store = from_sync(MemoryStore::new());
    let options = options();
    let hierarchy = Hierarchy::create(store.clone(), of_dialect(dialect), &options).unwrap();
    let array = |path: &str, names: &[&str], len: u64| {
        let mut shape = vec![1; names.len() - 2];
        shape.extend([len, len]);
        let array = hierarchy.create_array(path).shape(&shape).data_type_named("uint8");
        let array = array.separator(if edit("separator").is_empty() { '.' } else { '/' });
        array.dimension_names(names.iter().copied()).create().unwrap();
    };
    let attributes = |path: &str, text: &str| {
        let text = edit(text);
        let Json::Object(ome) = Json::parse(text.as_bytes()).unwrap() else { panic!("{text}") };
        let all = match dialect {
            Dialect::V3 => Object::new().with("ome", ome),
            _ => flat(ome),
        };
        hierarchy.group(path).unwrap().update_attributes(|it| *it = all.clone()).unwrap();
    };
    for field in ["A/2/0", "A/2/1"] {
        array(&format!("{field}/0"), &["t", "c", "y", "x"], 32);
        array(&format!("{field}/1"), &["t", "c", "y", "x"], 16);
        attributes(field, IMAGE);
    }
    array("A/2/0/labels/cells/0", &["y", "x"], 32);
    array("A/2/0/labels/cells/1", &["y", "x"], 16);
    attributes("A/2/0/labels/cells", LABEL);
    attributes("A/2/0/labels", LABELS);
    attributes("A/2", WELL);
    attributes("/", PLATE);
    store
}

fn flat(mut ome: Object) -> Object {
    ome.remove("version");
    if let Some(Json::Array(images)) = ome.get("multiscales").cloned() {
        let with = |image: Json| match image {
            Json::Object(image) => Json::from(image.with("version", "0.4")),
            other => other,
        };
        ome.insert("multiscales", images.into_iter().map(with).collect::<Json>());
    }
    ome
}

fn options() -> OpenOptions {
    OpenOptions::new(Registry::new().with(zarr_codecs::register)).read_write()
}

fn clauses(store: &Arc<dyn Store>) -> BTreeSet<&'static str> {
    let mut found = BTreeSet::new();
    let how = ValidateOptions::new(Level::Meta);
    validate_store(store, "/", &options(), &how, &mut |problem| {
        let is_ome = problem.kind.name().starts_with("ome_");
        assert!(is_ome, "{problem:?}");
        found.insert(problem.clause.unwrap());
    })
    .unwrap();
    found
}

#[test]
fn valid_metadata_break_no_rule() {
    for dialect in [Dialect::V3, Dialect::V2] {
        let store = hierarchy(dialect, &str::to_owned);
        assert_eq!(clauses(&store), BTreeSet::new(), "{dialect}");
    }
}

#[test]
fn each_rule_finds_what_breaks_it() {
    for (old, new, clause) in [
        (r##""version":"0.5","multiscales""##, r##""multiscales""##, "OME-1"),
        (r##"{"version":"0.5","labels""##, r##"{"version":"0.6","labels""##, "OME-2"),
        (r##""bioformats2raw.layout""##, r##""ome":{},"bioformats2raw.layout""##, "OME-4"),
        (r##""multiscales":[{"name""##, r##""multiscales":[],"other":[{"name""##, "OME-5"),
        (
            r##""datasets":[{"path":"0","coordinateTransformations":[{"type":"scale","scale":[1.0"##,
            r##""levels":[{"path":"0","coordinateTransformations":[{"type":"scale","scale":[1.0"##,
            "OME-6",
        ),
        (
            r##"{"name":"t","type":"time","unit":"second"},"##,
            r##"{"name":"a","type":"q"},{"name":"t","type":"time"},{"name":"b","type":"space"},"##,
            "OME-7",
        ),
        (r##""name":"c","type""##, r##""name":"x","type""##, "OME-8"),
        (
            r##"{"name":"c","type":"channel"},"##,
            r##"{"name":"c","type":"space"},{"name":"z","type":"space"},"##,
            "OME-9",
        ),
        (r##"{"name":"c","type":"channel"},"##, r##"{"name":"c","type":"time"},"##, "OME-10"),
        (
            r##"{"name":"t","type":"time","unit":"second"},{"name":"c","type":"channel"},"##,
            r##"{"name":"t","type":"channel"},{"name":"c","type":"time"},"##,
            "OME-11",
        ),
        (r##"{"name":"c","type":"channel"},"##, r##"{"name":"c","type":"space"},"##, "OME-12"),
        (r##"{"name":"c","type":"channel"},"##, r##"{"name":"c"},"##, "OME-13"),
        (r##""unit":"micrometer""##, r##""unit":"um""##, "OME-14"),
        (
            r##"{"path":"1","coordinateTransformations":[{"type":"scale","scale":[1.0,1.0,1.0"##,
            r##"{"path":"7","coordinateTransformations":[{"type":"scale","scale":[1.0,1.0,1.0"##,
            "OME-15",
        ),
        (r##"{"name":"c","type":"channel"},"##, "", "OME-16"),
        (r##""name":"c","type":"channel""##, r##""name":"k","type":"channel""##, "OME-17"),
        (
            r##"{"path":"0","coordinateTransformations":[{"type":"scale","scale":[1.0,1.0,0.5"##,
            r##"{"path":"0","coordinateTransformations":[{"type":"scale","scale":[1.0,1.0,4.5"##,
            "OME-19",
        ),
        (r##"[{"type":"scale","scale":[1.0,1.0,1.0,1.0]},"##, "[", "OME-21"),
        (r##""scale":[1.0,1.0,0.5,0.5]"##, r##""scale":[1.0,1.0,0.5]"##, "OME-22"),
        (r##""scale":[1.0,1.0,0.5,0.5]"##, r##""scale":[1.0,1.0,0.5,0.0]"##, "OME-22"),
        (
            r##"[{"name":"cells","##,
            r##"[{"coordinateTransformations":[{"type":"rotation"}],"##,
            "OME-23",
        ),
        (r##""scale":[1.0,1.0,1.0,1.0]"##, r##""scale":[1.0,1.0,4.0,4.0]"##, "OME-24"),
        (r##""omero":{"channels""##, r##""omero":{"canals""##, "OME-27"),
        ("FF0000", "#FF0000", "OME-28"),
        (r##""min":0,"max":255,"##, "", "OME-29"),
        (r##""labels":["cells"]"##, r##""labels":["cells","nuclei"]"##, "OME-31"),
        (
            r##",
    {"path":"1","coordinateTransformations":[{"type":"scale","scale":[1.0,1.0]}]}"##,
            "",
            "OME-33",
        ),
        (r##"{"label-value":2}"##, r##"{"label-value":1}"##, "OME-34"),
        ("[255,0,0,255]", "[255,0,0,256]", "OME-34"),
        (
            r##""properties":[{"label-value":1}]"##,
            r##""properties":[{"label-value":"one"}]"##,
            "OME-35",
        ),
        (r##"{"name":"1"},{"name":"2"}"##, r##"{"name":"1"},{"name":"1"}"##, "OME-37"),
        (r##""columnIndex":1"##, r##""columnIndex":0"##, "OME-38"),
        (r##""plate":{"version":"0.5","##, r##""plate":{"##, "OME-39"),
        (r##"{"id":0},{"id":1}"##, r##"{"id":0},{"id":0}"##, "OME-40"),
        (r##"[{"path":"0"},{"path":"1"}]"##, r##"[{"path":"0"},{"path":"0"}]"##, "OME-41"),
        (r##""bioformats2raw.layout":3"##, r##""bioformats2raw.layout":2"##, "OME-42"),
    ] {
        let edit = |text: &str| text.replace(old, new);
        assert!(
            [IMAGE, LABEL, LABELS, PLATE, WELL].iter().any(|text| edit(text) != *text),
            "{old}"
        );
        let found = clauses(&hierarchy(Dialect::V3, &edit));
        assert!(found.contains(clause), "{clause}, {old}: {found:?}");
    }
}

#[test]
fn a_listed_label_image_that_is_not_there_is_told_to_be_absent() {
    let edit =
        |text: &str| text.replace(r##""labels":["cells"]"##, r##""labels":["cells","nuclei"]"##);
    let mut messages = Vec::new();
    let how = ValidateOptions::new(Level::Meta);
    validate_store(&hierarchy(Dialect::V3, &edit), "/", &options(), &how, &mut |problem| {
        messages.push(problem.to_json().to_string());
    })
    .unwrap();
    let [message] = &messages[..] else { panic!("{messages:?}") };
    assert!(message.contains("and there is no such node"), "{message}");
    assert!(message.contains("write the label image, or take its name out"), "{message}");
}

#[test]
fn metadata_are_where_their_version_belongs() {
    // Those of 0.5 in v2, those of 0.4 in v3, and keys without slashes in 0.4.
    let nested = hierarchy(Dialect::V2, &|text| match text {
        PLATE => format!("{{\"ome\":{PLATE}}}"),
        other => other.to_owned(),
    });
    assert!(clauses(&nested).contains("OME-3"));
    let dotted = hierarchy(Dialect::V2, &|text| match text {
        "separator" => String::new(),
        other => other.to_owned(),
    });
    assert_eq!(clauses(&dotted), BTreeSet::from(["OME-18"]));
    let store = hierarchy(Dialect::V3, &str::to_owned);
    let opened = Hierarchy::open(store.clone(), &options()).unwrap();
    let Json::Object(image) = Json::parse(IMAGE.as_bytes()).unwrap() else { unreachable!() };
    let image = flat(image);
    opened.group("A/2/1").unwrap().update_attributes(|it| *it = image.clone()).unwrap();
    assert!(clauses(&store).contains("OME-3"));
}
