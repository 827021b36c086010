//! Names that can be typed in two ways are found by both (N-001).

use crate::common::{document, holding, memory, options};
use zarr_core::ErrorKind;
use zarr_nczarr::schema::Variable;
use zarr_nczarr::{Attribute, Dataset, Dimension, NewDataset, Type};

/// `é` as one character, and as two.
const COMPOSED: &str = "\u{e9}";
const TYPED: &str = "e\u{301}";

/// N-001: what is defined is composed, as netcdf-c 4.10.1 composes it, and found by either form.
#[test]
fn names_are_kept_composed() {
    for new in [NewDataset::nczarr_v2(), NewDataset::nczarr_v3()] {
        let store = memory();
        let dataset = Dataset::create(store.clone(), &new, &options()).unwrap();
        let root = dataset.root();
        root.define_dimension(Dimension::unlimited(TYPED)).unwrap();
        let mut variable = Variable::new(TYPED, Type::Int, [TYPED]);
        variable.attributes = vec![Attribute::new(TYPED, TYPED)];
        let variable = root.define_variable(&variable).unwrap();
        variable.append(vec![7]).unwrap();
        dataset.append(&format!("/{TYPED}"), 1, |_| Ok(())).unwrap();
        variable.set_attribute(TYPED, "again").unwrap();
        root.set_attribute(TYPED, TYPED).unwrap();
        let group = root.create_group("g").unwrap().create_group(TYPED).unwrap();
        assert_eq!(variable.path(), format!("/{COMPOSED}"));
        assert_eq!(group.path(), format!("/g/{COMPOSED}"));
        for dataset in [dataset.clone(), Dataset::open(store.clone(), &options()).unwrap()] {
            let schema = dataset.schema();
            assert_eq!(schema.dimensions[0].name, COMPOSED);
            assert_eq!(schema.variables[0].name, COMPOSED);
            assert_eq!(schema.variables[0].dimensions, [format!("/{COMPOSED}")]);
            // A name is composed, a text is not.
            assert_eq!(schema.attributes, [Attribute::new(COMPOSED, TYPED)]);
            for name in [COMPOSED, TYPED] {
                assert_eq!(dataset.dimension(&format!("/{name}")).unwrap().len, 2);
                let variable = dataset.variable(name).unwrap().schema().unwrap();
                assert_eq!(variable.attribute(name).unwrap().as_text(), Some("again"));
                assert_eq!(dataset.group(&format!("g/{name}")).unwrap().path(), group.path());
            }
        }
        for name in [COMPOSED, TYPED] {
            let kind = |result: zarr_core::Result<()>| result.unwrap_err().kind();
            assert_eq!(kind(root.define_dimension(Dimension::new(name, 1))), ErrorKind::Exists);
            assert_eq!(kind(root.create_group(name).map(|_| ())), ErrorKind::Exists);
        }
        root.rename_dimension(TYPED, "q\u{308}").unwrap();
        root.rename(TYPED, "v\u{308}").unwrap();
        dataset.variable("v\u{308}").unwrap().rename_attribute(TYPED, "u\u{308}").unwrap();
        root.delete_attribute(TYPED).unwrap();
        let schema = Dataset::open(store, &options()).unwrap().schema();
        assert_eq!(schema.dimensions[0].name, "q\u{308}", "no character stands for it");
        assert_eq!(schema.variables[0].attributes[0].name, "\u{fc}");
        assert!(schema.attributes.is_empty());
    }
}

/// N-001: what others wrote keeps its name, and is found by either form.
#[test]
fn names_of_others_are_found() {
    let array = r#"{"zarr_format":2,"shape":[2],"chunks":[2],"dtype":"<i4","compressor":null,"fill_value":5,"order":"C","filters":null}"#;
    let sheet = format!(
        r#"{{"{TYPED}":1,"_nczarr_array":{{"dimension_references":["/{COMPOSED}"],"storage":"chunked"}}}}"#
    );
    let root = format!(
        r#"{{"_nczarr_superblock":{{"version":"2.0.0"}},"_nczarr_group":{{"dimensions":{{"{TYPED}":{{"size":2,"unlimited":1}}}},"arrays":["{TYPED}"],"groups":[]}}}}"#
    );
    let store = holding(&[
        (".zgroup", r#"{"zarr_format":2}"#),
        (".zattrs", &root),
        (&format!("{TYPED}/.zarray"), array),
        (&format!("{TYPED}/.zattrs"), &sheet),
    ]);
    let dataset = Dataset::open(store.clone(), &options().read_write()).unwrap();
    for name in [COMPOSED, TYPED] {
        let variable = dataset.variable(name).unwrap();
        assert_eq!(variable.path(), format!("/{TYPED}"));
        assert_eq!(variable.read().unwrap(), vec![5, 5].into());
        assert_eq!(variable.schema().unwrap().attribute(name), Some(&vec![1].into()));
    }
    dataset.variable(COMPOSED).unwrap().append(vec![7]).unwrap();
    assert_eq!(
        document(&store, &format!("{TYPED}/.zarray")).as_object().unwrap().get("shape"),
        Some(&[3u64].into())
    );
    dataset.root().rename_dimension(COMPOSED, COMPOSED).unwrap();
    assert_eq!(dataset.schema().dimensions[0].name, COMPOSED);
    assert_eq!(dataset.variable(COMPOSED).unwrap().read().unwrap(), vec![5, 5, 7].into());
}

/// N-001: in CDL as everywhere.
#[cfg(feature = "cdl")]
#[test]
fn names_in_cdl_are_composed() {
    use zarr_nczarr::cdl::{Document, Printing};
    let text = format!(
        "netcdf n {{\ndimensions:\n\t{TYPED} = 2 ;\nvariables:\n\tint {COMPOSED}({TYPED}) ;\n\t\t{TYPED}:{TYPED} = \"{TYPED}\" ;\ndata:\n\n {TYPED} = 1, 2 ;\n}}\n"
    );
    let document = Document::parse(&text).unwrap();
    let mut printed = Vec::new();
    let printing = Printing { variables: vec![TYPED.into()], ..Printing::default() };
    document.print(&printing, &mut printed).unwrap();
    let name = format!("\t\t{COMPOSED}:{COMPOSED} = \"{TYPED}\" ;");
    let printed = String::from_utf8(printed).unwrap();
    assert!(
        printed.contains(&name) && printed.contains(&format!(" {COMPOSED} = 1, 2 ;")),
        "{printed}"
    );
}
