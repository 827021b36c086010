//! Arrays of every dialect are created, written, read and found again.
#![cfg(all(feature = "filesystem", feature = "memory", feature = "blosc", feature = "gzip"))]

use zarr::{Dialect, Json, NodeKind, Object, Result};

const DIALECTS: [Dialect; 3] = [Dialect::V2, Dialect::V3, Dialect::Draft];

fn folder() -> (tempfile::TempDir, String) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("x.zarr").to_str().expect("a plain path").to_owned();
    (folder, path)
}

#[test]
fn what_is_written_reads_back_in_every_dialect() -> Result<()> {
    for dialect in DIALECTS {
        let (_folder, path) = folder();
        let hierarchy = zarr::create(&path, dialect)?;
        let array = hierarchy
            .create_array("/a/b")
            .shape(&[7, 9])
            .chunks(&[3, 4])
            .data_type_named("int32")
            .fill_value(7i64)
            .codec(zarr::tools::codec("gzip:1")?)
            .attributes(Object::new().with("units", "K"))
            .create()?;
        array.write((1..6, 2..9), &(0..35).collect::<Vec<i32>>())?;
        let array = zarr::open(&path)?.into_group()?.array("a/b")?;
        assert_eq!(array.read::<i32>((0, ..))?, [7; 9]);
        assert_eq!(array.read::<i32>((1..3, 1..4))?, [7, 0, 1, 7, 7, 8]);
        assert_eq!(array.attributes().get("units"), Some(&Json::from("K")));
        let tree = zarr::open(&path)?.into_group()?.tree()?;
        let found: Vec<(String, NodeKind)> =
            tree.into_iter().map(|c| (c.path.to_string(), c.kind.expect("known"))).collect();
        let want = [("/", NodeKind::Group), ("/a", NodeKind::Group), ("/a/b", NodeKind::Array)];
        assert_eq!(found, want.map(|(p, k)| (p.to_owned(), k)), "{dialect}");
        // A node inside opens by its own path, too.
        if dialect != Dialect::Draft {
            assert_eq!(zarr::open(&format!("{path}/a/b"))?.into_array()?.shape(), [7, 9]);
        } else {
            assert_eq!(zarr::open(&format!("{path}/a/b"))?.path().as_str(), "/a/b");
            assert_eq!(
                zarr::open(&format!("{path}/meta/root/a/b.array.json"))?.path().as_str(),
                "/a/b"
            );
        }
    }
    Ok(())
}

/// Q25, Z2-090.
#[test]
fn every_dialect_converts_to_every_other() -> Result<()> {
    for from in DIALECTS {
        for to in DIALECTS {
            let ((_f, source), (_g, target)) = (folder(), folder());
            let hierarchy = zarr::create(&source, from)?;
            let array = hierarchy
                .create_array("/g/x")
                .shape(&[5, 6])
                .chunks(&[2, 4])
                .data_type_named(">f8")
                .f_order(true)
                .codec(zarr::tools::codec("blosc-zstd:3")?)
                .dimension_names(["t", "lon"])
                .create()?;
            let data: Vec<f64> = (0..30).map(f64::from).collect();
            array.write(.., &data)?;
            let target = zarr::create(&target, to)?;
            zarr::tools::copy(
                &zarr::open(&source)?,
                &target,
                "/",
                &zarr::tools::CopyOptions::default(),
            )?;
            let copy = target.array("/g/x")?;
            assert_eq!(copy.read::<f64>(..)?, data, "{from} to {to}");
            assert_eq!(copy.metadata().dimension_names, array.metadata().dimension_names);
            assert_eq!(copy.chunk_shape(), array.chunk_shape());
            let again = zarr::tools::copy(
                &zarr::open(&source)?,
                &target,
                "/",
                &zarr::tools::CopyOptions::default(),
            );
            assert_eq!(again.unwrap_err().kind(), zarr::ErrorKind::Exists);
        }
    }
    Ok(())
}

#[test]
fn shrinking_forgets_and_growing_reads_as_fill() -> Result<()> {
    for dialect in DIALECTS {
        let (_folder, path) = folder();
        let hierarchy = zarr::create(&path, dialect)?;
        let array = hierarchy
            .create_array("/a")
            .shape(&[5])
            .chunks(&[2])
            .data_type_named("int16")
            .fill_value(9i64)
            .create()?;
        array.write(.., &[1i16, 2, 3, 4, 5])?;
        array.resize(&[3])?;
        array.resize(&[8])?;
        assert_eq!(array.read::<i16>(..)?, [1, 2, 3, 9, 9, 9, 9, 9], "{dialect}");
        assert_eq!(array.append(0, &[6i16, 7])?, 8);
        assert_eq!(zarr::open(&path)?.into_group()?.array("a")?.read::<i16>(7..10)?, [9, 6, 7]);
    }
    Ok(())
}

#[test]
fn what_another_library_left_beyond_the_end_does_not_come_back() -> Result<()> {
    let (_folder, path) = folder();
    let hierarchy = zarr::create(&path, Dialect::V2)?;
    let array =
        hierarchy.create_array("/a").shape(&[3]).chunks(&[2]).data_type_named("|u1").create()?;
    // Chunk 1 holds element 2, and a 77 behind the array's end (Z2-024).
    std::fs::write(format!("{path}/a/1"), [5u8, 77]).expect("a file");
    array.resize(&[4])?;
    assert_eq!(array.read::<u8>(..)?, [0, 0, 5, 0]);
    Ok(())
}

#[test]
fn scalars_and_empty_arrays_work_in_every_dialect() -> Result<()> {
    for dialect in DIALECTS {
        let (_folder, path) = folder();
        let hierarchy = zarr::create(&path, dialect)?;
        let scalar = hierarchy.create_array("/s").shape(()).data_type_named("float64").create()?;
        assert_eq!(scalar.read::<f64>(..)?, [0.0]);
        scalar.write((), &[42.0])?;
        assert_eq!(zarr::open(&path)?.into_group()?.array("s")?.read::<f64>(())?, [42.0]);
        let empty = hierarchy
            .create_array("/e")
            .shape(&[0, 3])
            .chunks(&[1, 3])
            .data_type_named("bool")
            .create()?;
        assert_eq!(empty.read::<bool>(..)?, [false; 0]);
        empty.resize(&[1, 3])?;
        empty.write((0, 1), &[true])?;
        assert_eq!(empty.read::<bool>(..)?, [false, true, false]);
    }
    Ok(())
}

#[test]
fn read_only_handles_do_not_write() -> Result<()> {
    let (_folder, path) = folder();
    let hierarchy = zarr::create(&path, Dialect::V3)?;
    hierarchy.create_array("/a").shape(&[4]).data_type_named("u1").create()?;
    let array = zarr::open(&path)?.into_group()?.array("a")?;
    for error in [
        array.write(.., &[0u8; 4]).unwrap_err(),
        array.resize(&[2]).unwrap_err(),
        array.update_attributes(|_| ()).unwrap_err(),
        array.hierarchy().erase(array.path()).unwrap_err(),
        array.hierarchy().create_group("/g", Object::new()).unwrap_err(),
    ] {
        assert_eq!(error.kind(), zarr::ErrorKind::ReadOnly, "{error}");
    }
    Ok(())
}

#[cfg(feature = "ndarray")]
#[test]
fn ndarray_goes_in_and_out() -> Result<()> {
    let (_folder, path) = folder();
    let hierarchy = zarr::create(&path, Dialect::V3)?;
    let array = hierarchy
        .create_array("/a")
        .shape(&[4, 6])
        .chunks(&[3, 4])
        .data_type_named("float32")
        .create()?;
    let data = ndarray::Array2::from_shape_fn((6, 4), |(i, j)| (10 * i + j) as f32);
    array.write_ndarray(.., data.t())?;
    assert_eq!(array.read_ndarray::<f32, zarr::ndarray::IxDyn>(..)?, data.t().into_dyn());
    assert_eq!(array.read_ndarray::<f32, zarr::ndarray::IxDyn>((1, 2..4))?.shape(), [2]);
    assert_eq!(array.read_ndarray::<f32, zarr::ndarray::IxDyn>((1..2, 2..4))?.shape(), [1, 2]);
    assert_eq!(array.read_ndarray::<f32, zarr::ndarray::IxDyn>((1, 2))?.shape(), [0; 0]);
    Ok(())
}

/// T-39, Z2-090: every type keeps its elements and its fill value through every dialect and back.
#[test]
fn every_data_type_goes_through_every_dialect() -> Result<()> {
    let types =
        ["bool", "int8", ">i2", "<i4", ">i8", "uint8", "<u2", ">u4", "<u8", ">f2", "<f4", ">f8"];
    let others =
        ["<c8", ">c16", "r24", "|V5", "|S7", "<U5", ">U3", "<M8[ns]", ">m8[25s]", "datetime64[D]"];
    for name in types.into_iter().chain(others) {
        let (_folder, path) = folder();
        let first = zarr::create(&format!("{path}0"), Dialect::V2)?;
        let array =
            first.create_array("/a").shape(&[5]).chunks(&[3]).data_type_named(name).create()?;
        let size = array.data_type().repr().expect("known").size();
        let some = vec![if name == "bool" { 1 } else { 0x41 }; 2 * size];
        let some = if name.contains('U') { [0x41, 0, 0, 0].repeat(2 * size / 4) } else { some };
        array.write_le_bytes(1..3, &some)?;
        let want = array.read_le_bytes(..)?;
        let mut source = first;
        for (n, dialect) in
            [Dialect::Draft, Dialect::V3, Dialect::V2, Dialect::V3].into_iter().enumerate()
        {
            let target = zarr::create(&format!("{path}{}", n + 1), dialect)?;
            let root = "/";
            zarr::tools::copy(
                &source.node(root)?,
                &target,
                root,
                &zarr::tools::CopyOptions::default(),
            )?;
            source = target;
            let copy = zarr::open(&format!("{path}{}", n + 1))?.into_group()?.array("a")?;
            assert_eq!(copy.read_le_bytes(..)?, want, "{name} in {dialect}");
            assert_eq!(copy.data_type(), array.data_type(), "{name} in {dialect}");
        }
    }
    Ok(())
}

/// F-047, Z2-033, V16: the elements of a time are counts; what nobody wrote is no time, if so said.
#[test]
fn times_are_counts() -> Result<()> {
    for dialect in DIALECTS {
        let (_folder, path) = folder();
        let array = zarr::create(&path, dialect)?
            .create_array("/a")
            .shape(&[4])
            .chunks(&[2])
            .data_type_named(">M8[25s]")
            .fill_value("NaT")
            .codec(zarr::tools::codec("gzip:1")?)
            .create()?;
        array.write(0..2, &[63_113_472i64, -1])?;
        let array = zarr::open(&path)?.into_group()?.array("a")?;
        assert_eq!(array.data_type().to_string(), "datetime64[25s]");
        assert_eq!(array.read::<i64>(..)?, [63_113_472, -1, i64::MIN, i64::MIN]);
        assert!(array.read::<u64>(..).is_err() && array.read::<f64>(..).is_err());
    }
    Ok(())
}

/// What a dialect has no words for is refused before anything is written, never dropped.
#[test]
fn what_cannot_be_said_is_refused() -> Result<()> {
    let from = zarr::create("memory://", Dialect::V3)?;
    let array = |path: &str| from.create_array(path).shape(&[2, 2]);
    array("/some").data_type_named("u1").dimension_names([Some("x"), None]).create()?;
    let other = Json::parse(br#"["q","r"]"#).expect("JSON");
    array("/other")
        .data_type_named("u1")
        .dimension_names(["x", "y"])
        .attributes(Object::new().with("_ARRAY_DIMENSIONS", other))
        .create()?;
    array("/nan").data_type_named("float32").fill_value("0xffc00005").create()?;
    let generic =
        r#"{"name":"numpy.datetime64","configuration":{"unit":"generic","scale_factor":1}}"#;
    array("/generic").data_type_named(generic).create()?;
    let v2 = zarr::create("memory://", Dialect::V2)?;
    for path in ["/some", "/other", "/nan", "/generic"] {
        let node = from.node(path)?;
        let refused = zarr::tools::copy(&node, &v2, path, &zarr::tools::CopyOptions::default());
        assert_eq!(refused.unwrap_err().kind(), zarr::ErrorKind::Unsupported, "{path}");
    }
    // With codecs asked for by name alone, every parameter is said.
    let to = zarr::create("memory://", Dialect::V3)?;
    let options =
        zarr::tools::CopyOptions { codecs: Some(vec!["blosc".into()]), ..Default::default() };
    zarr::tools::copy(&from.node("/nan")?, &to, "/nan", &options)?;
    let metadata = to.array("/nan")?.metadata();
    assert_eq!(metadata.codecs[1].configuration.get("typesize").and_then(Json::as_u64), Some(4));
    Ok(())
}
