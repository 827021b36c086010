//! URLs as netCDF's users type them open the datasets that they select.

use crate::common;
use crate::common::{demo, options, registry};
use zarr_core::{Dialect, ErrorKind};
use zarr_nczarr::{Dataset, NcUrl, Profile, open_url};

/// N-090, N-100, N-111 … N-114: folders and archives, created and opened by their modes, or without any.
#[test]
fn datasets_are_made_and_opened_by_their_modes() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path().display().to_string();
    let create = |url: &str| NcUrl::parse(url).unwrap().create(&options());
    for (name, modes, profile, dialect) in [
        ("a", "mode=nczarr,file", Profile::Nczarr, Dialect::V2),
        ("b", "mode=file,zarr", Profile::Pure, Dialect::V2),
        ("c.zip", "mode=nczarr,zip", Profile::Nczarr, Dialect::V2),
        ("d.zip", "mode=zarr,zip", Profile::Pure, Dialect::V2),
        ("e", "mode=nczarr,zip", Profile::Nczarr, Dialect::V2),
        ("f", "nczarr&mode=v3", Profile::Nczarr, Dialect::V3),
        ("g", "mode=nczarr,consolidated", Profile::Nczarr, Dialect::V2),
    ] {
        let url = format!("file://{at}/{name}#{modes}");
        let dataset = create(&url).unwrap();
        dataset.define(&demo()).unwrap();
        dataset.variable("crs").unwrap().write(vec![5]).unwrap();
        dataset.flush().unwrap();
        drop(dataset);
        let again = open_url(&url, registry()).unwrap();
        assert_eq!((again.profile(), again.dialect()), (profile, dialect), "{url}");
        assert_eq!(again.variable("crs").unwrap().read().unwrap(), vec![5].into());
        assert_eq!(create(&url).unwrap_err().kind(), ErrorKind::Exists, "{url}");
        if name != "e" {
            let plain = open_url(&format!("{at}/{name}"), registry()).unwrap();
            assert_eq!(plain.profile(), profile);
        }
        let pure = open_url(
            &format!("file://{at}/{name}#mode=zarr,{}", if name == "e" { "zip" } else { "file" }),
            registry(),
        );
        assert_eq!(pure.unwrap().profile(), Profile::Pure);
    }
    assert!(std::fs::exists(format!("{at}/g/.zmetadata")).unwrap());
    for (name, first) in [("c.zip", "c/.zgroup"), ("d.zip", ".zgroup")] {
        let bytes = std::fs::read(format!("{at}/{name}")).unwrap();
        // The name of the first entry stands 30 bytes from the start.
        assert_eq!(&bytes[30..30 + first.len()], first.as_bytes(), "{name}");
    }
    assert_eq!(create(&format!("{at}/x")).unwrap_err().kind(), ErrorKind::Argument);
    assert_eq!(
        create(&format!("{at}/x#mode=nczarr,what")).unwrap_err().kind(),
        ErrorKind::Argument
    );
    std::fs::create_dir(format!("{at}/empty")).unwrap();
    for absent in ["empty", "none", "none.zip"] {
        let url = format!("file://{at}/{absent}#mode=nczarr,file");
        assert_eq!(open_url(&url, registry()).unwrap_err().kind(), ErrorKind::NotFound, "{url}");
    }
    let cloud = open_url("s3://bucket/key#mode=nczarr,s3", registry()).unwrap_err();
    assert!(cloud.to_string().contains("s3"), "{cloud}");
}

/// N-092, N-096, N-112: the names that xarray looks for are neither read nor written.
#[test]
fn names_for_xarray_are_left_out_if_asked() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path().display().to_string();
    for (modes, profile) in [
        ("zarr,noxarray", Profile::Pure),
        ("noxarray", Profile::Pure),
        ("nczarr,noxarray", Profile::Nczarr),
    ] {
        let store = format!("{at}/{}", modes.replace(',', "_"));
        let dataset =
            NcUrl::parse(&format!("{store}#mode={modes}")).unwrap().create(&options()).unwrap();
        dataset.define(&demo()).unwrap();
        dataset.variable("temp").unwrap().append(vec![1f32; 6]).unwrap();
        let text = std::fs::read_to_string(format!("{store}/temp/.zattrs")).unwrap();
        assert!(text.contains("units") && !text.contains("_ARRAY_DIMENSIONS"), "{text}");
        let again = open_url(&store, registry()).unwrap();
        assert_eq!(again.profile(), profile);
        let temp = again.variable("temp").unwrap().schema().unwrap();
        let due = match profile {
            Profile::Nczarr => ["/time", "/lat", "/lon"],
            _ => ["/_Anonymous_Dim_1", "/_Anonymous_Dim_2", "/_Anonymous_Dim_3"],
        };
        assert_eq!(temp.dimensions, due, "{modes}");
    }
    // They are there, and nobody looks.
    let store = format!("{at}/named");
    let dataset = NcUrl::parse(&format!("{store}#mode=zarr")).unwrap().create(&options()).unwrap();
    dataset.define(&demo()).unwrap();
    let code = |url: String| {
        open_url(&url, registry()).unwrap().variable("code").unwrap().schema().unwrap()
    };
    assert_eq!(code(store.clone()).dimensions, ["/lat", "/lon"]);
    let nameless = ["/_Anonymous_Dim_2", "/_Anonymous_Dim_3"];
    assert_eq!(code(format!("{store}#mode=noxarray")).dimensions, nameless);
}

/// N-110: names of netCDF become segments of keys, unchanged.
#[test]
fn names_are_segments_of_keys() {
    use zarr_nczarr::schema::Variable;
    use zarr_nczarr::{Dimension, NewDataset, Type};
    let store = common::memory();
    let dataset = Dataset::create(store.clone(), &NewDataset::nczarr_v2(), &options()).unwrap();
    let group = dataset.root().create_group("a b").unwrap();
    group.define_dimension(Dimension::new("温度", 1)).unwrap();
    let v = group.define_variable(&Variable::new("v 1", Type::Int, ["温度"])).unwrap();
    v.write(vec![1]).unwrap();
    assert!(common::value(&store, "a b/v 1/0").is_some());
    let again = Dataset::open(store, &options()).unwrap();
    assert_eq!(again.schema().variable("/a b/v 1").unwrap().dimensions, ["/a b/温度"]);
}
