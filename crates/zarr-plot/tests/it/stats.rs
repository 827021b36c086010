//! Statistics of arrays, against sums in another order and numbers that are known.

use std::sync::Arc;

use zarr_core::data_type::{DataType, Field, Optional, Record, ScalarValue};
use zarr_core::{Array, CoreType, Dialect, Hierarchy, Json, Object, OpenOptions, Registry};
use zarr_plot::meaning::{Meaning, MissingRule};
use zarr_plot::stats::{Along, Bins, Found, Numbers, Request, statistics, statistics_along};

fn hierarchy(name: &str) -> Hierarchy {
    hierarchy_of(name, Dialect::V3)
}

fn hierarchy_of(name: &str, dialect: Dialect) -> Hierarchy {
    let registry = Registry::new().with(zarr_codecs::register).with(zarr_stores::register);
    let options = OpenOptions::new(Arc::new(registry)).read_write();
    let url = format!("memory://stats-{name}");
    let hierarchy = Hierarchy::open_or_create(&url, dialect, &options).unwrap();
    hierarchy.create_group("/", Object::new()).unwrap();
    hierarchy
}

fn numbers(array: &Array, change: impl FnOnce(&mut Request<'_>)) -> Numbers {
    let mut request = Request::new(Meaning::of(array, MissingRule::Declared));
    change(&mut request);
    let found = statistics(array, &request).unwrap();
    match &found.columns[..] {
        [one] => match &one.found {
            Found::Numbers(numbers) => (**numbers).clone(),
            other => panic!("{other:?}"),
        },
        several => panic!("{several:?}"),
    }
}

/// Numbers without a pattern, the same in each run.
fn random(count: usize) -> impl Iterator<Item = f64> {
    let mut state = 0x9e37_79b9_7f4a_7c15u64;
    (0..count).map(move |_| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 11) as f64 / (1u64 << 53) as f64 * 100.0 - 30.0
    })
}

#[test]
fn any_number_of_threads_gives_the_same_bits() {
    let hierarchy = hierarchy("threads");
    let values: Vec<f64> = random(40 * 50 * 30).collect();
    for (kind, shards) in [
        (CoreType::Float32, false),
        (CoreType::Float64, true),
        (CoreType::Int64, false),
        (CoreType::Int16, true),
        (CoreType::Float16, false),
    ] {
        let mut builder = hierarchy.create_array(kind.name()).shape(&[40, 50, 30]).data_type(kind);
        builder = builder.chunks(&[7, 11, 13]);
        if shards {
            builder = builder.shards(&[14, 22, 26]);
        }
        let array = builder.create().unwrap();
        let scalar = array.data_type().scalar().unwrap();
        let mut bytes = Vec::new();
        for value in &values {
            let value = match kind {
                CoreType::Int64 => ScalarValue::Integer((value * 1e15) as i128),
                CoreType::Int16 => ScalarValue::Integer(*value as i128),
                _ => ScalarValue::Float(*value),
            };
            let mut element = vec![0; scalar.size()];
            scalar.store(scalar.cast(value, Default::default(), None).unwrap(), &mut element);
            bytes.extend(element);
        }
        array.write_bytes(.., &bytes).unwrap();
        let of = |threads| {
            let found = numbers(&array, |request| {
                request.threads = threads;
                request.percentiles = vec![0.0, 2.0, 50.0, 98.0, 100.0];
                request.histogram = Some(Bins::Count(17));
            });
            let bits = [found.mean, found.std].map(f64::to_bits);
            (bits, format!("{found:?}"))
        };
        let one = of(1);
        assert_eq!(one, of(2), "{kind:?}");
        assert_eq!(one, of(7), "{kind:?}");
    }
}

#[test]
fn moments_are_those_of_one_long_sum() {
    let hierarchy = hierarchy("moments");
    let values: Vec<f64> = random(100_000).collect();
    let array = hierarchy.create_array("/a").shape(&[100_000]).chunks(&[777]);
    let array = array.data_type(CoreType::Float64).create().unwrap();
    array.write(.., &values).unwrap();
    let found = numbers(&array, |_| ());
    // Whole numbers of 2^-60: exact.
    let scaled = |value: f64| (value * 2f64.powi(60)) as i128;
    let sum: i128 = values.iter().copied().map(scaled).sum();
    let mean = sum as f64 / 2f64.powi(60) / 1e5;
    let squares: f64 = values.iter().map(|value| (value - mean) * (value - mean)).sum();
    assert!((found.mean - mean).abs() <= 1e-14 * mean.abs(), "{} {mean}", found.mean);
    let std = (squares / 1e5).sqrt();
    assert!((found.std - std).abs() <= 1e-13 * std, "{} {std}", found.std);
    let mut sorted = values.clone();
    sorted.sort_by(f64::total_cmp);
    assert_eq!(found.min.map(|(value, _)| value), Some(ScalarValue::Float(sorted[0])));
    let percent = numbers(&array, |request| request.percentiles = vec![0.0, 100.0]);
    assert_eq!(percent.percentiles, [(0.0, sorted[0]), (100.0, sorted[99_999])]);
}

#[test]
fn what_was_never_written_is_not_read_and_counts_as_fill() {
    let hierarchy = hierarchy("fill");
    let array = hierarchy.create_array("/a").shape(&[1 << 20, 1 << 10]).chunks(&[1 << 10, 1 << 10]);
    let array = array.data_type(CoreType::Uint8).fill_value(7).create().unwrap();
    array.write((1_024..2_048, ..), &[9u8; 1 << 20]).unwrap();
    let found = numbers(&array, |request| request.percentiles = vec![50.0]);
    assert_eq!((found.count, found.never_written), (1 << 30, (1 << 30) - (1 << 20)));
    assert_eq!(found.min, Some((ScalarValue::Integer(7), vec![0, 0])));
    assert_eq!(found.max, Some((ScalarValue::Integer(9), vec![1_024, 0])));
    assert_eq!(found.sum, ScalarValue::Integer((7 << 30) + (2 << 20)));
    assert_eq!(found.percentiles, [(50.0, 7.0)]);
    let written = numbers(&array, |request| request.written_only = true);
    assert_eq!((written.count, written.mean, written.std), (1 << 20, 9.0, 0.0));
}

/// Of a trillion elements in 16 million chunks three are stored.
#[test]
fn of_very_many_chunks_only_those_that_are_stored_are_tried() {
    let hierarchy = hierarchy("sparse");
    let array = hierarchy.create_array("/a").shape(&[1 << 20, 1 << 20]).chunks(&[1 << 8, 1 << 8]);
    let array = array.data_type(CoreType::Int16).fill_value(3).create().unwrap();
    array.write((0..256, 0..256), &[4i16; 1 << 16]).unwrap();
    array.write((512, 512), &[-9i16]).unwrap();
    let found = numbers(&array, |request| request.percentiles = vec![0.0, 50.0]);
    assert_eq!((found.count, found.never_written), (1 << 40, (1 << 40) - (2 << 16)));
    assert_eq!(found.min, Some((ScalarValue::Integer(-9), vec![512, 512])));
    assert_eq!(found.sum, ScalarValue::Integer((3 << 40) + (1 << 16) - 12));
    assert_eq!(found.percentiles, [(0.0, -9.0), (50.0, 3.0)]);
    let part = numbers(&array, |request| {
        request.axes = Some(vec![Along::range(0..1 << 20), Along::range(250..1 << 20)]);
        request.meaning.missing.add(ScalarValue::Integer(-9));
        request.meaning.missing.add(ScalarValue::Integer(4));
    });
    assert_eq!(part.min, Some((ScalarValue::Integer(3), vec![0, 256])));
    assert_eq!(part.missing, 6 * 256 + 1);
    let many = hierarchy.create_array("/b").shape(&[1u64 << 40, 1 << 40]).chunks(&[1, 1]);
    let many = many.data_type(CoreType::Int8).create().unwrap();
    let request = Request::new(Meaning::raw(&many));
    let why = statistics(&many, &request).unwrap_err().to_string();
    assert!(why.contains("64 bits"), "{why}");
}

/// Of a billion chunks, none of them stored, a thousand are tried.
#[test]
fn a_share_of_a_billion_chunks_is_found_without_a_walk() {
    let array = hierarchy("share").create_array("/a").shape(&[1_000_000, 10_000]).chunks(&[10, 1]);
    let array = array.data_type(CoreType::Int16).fill_value(3).create().unwrap();
    let mut request = Request::new(Meaning::raw(&array));
    request.share = Some(1e-6);
    let found = statistics(&array, &request).unwrap();
    assert_eq!((found.elements, found.sampled), (10_000_000_000, Some(10_000)));
    let one = numbers(&array, |request| request.share = Some(1e-6));
    assert_eq!((one.count, one.never_written, one.mean), (10_000, 10_000, 3.0));
}

#[test]
fn regions_steps_and_lists_are_selected() {
    let hierarchy = hierarchy("region");
    let array = hierarchy.create_array("/a").shape(&[10, 10]).chunks(&[4, 3]).shards(&[8, 6]);
    let array = array.data_type(CoreType::Int32).create().unwrap();
    let values: Vec<i32> = (0..100).collect();
    array.write(.., &values).unwrap();
    let found = numbers(&array, |request| {
        let rows = Along::Steps { start: 9, step: -3, len: 4 };
        request.axes = Some(vec![rows, Along::List(vec![5, 1, 9])]);
    });
    assert_eq!(found.count, 12);
    assert_eq!(found.min, Some((ScalarValue::Integer(1), vec![0, 1])));
    assert_eq!(found.max, Some((ScalarValue::Integer(99), vec![9, 9])));
    assert_eq!(found.mean, (0..4).map(|n| 30 * n + 5).sum::<i64>() as f64 / 4.0);
    let none = numbers(&array, |request| {
        request.axes = Some(vec![Along::range(0..0), Along::range(0..10)]);
    });
    assert_eq!((none.count, none.min), (0, None));
    assert!(none.mean.is_nan());
}

#[test]
fn infinity_nan_and_missing_are_counted_apart() {
    let hierarchy = hierarchy("nan");
    let attributes = Object::new().with("missing_value", Json::Number("1e20".into()));
    let array = hierarchy.create_array("/a").shape(&[6]).chunks(&[4]).attributes(attributes);
    let array = array.data_type(CoreType::Float32).create().unwrap();
    array.write(.., &[1.0f32, f32::NAN, 1e20, f32::INFINITY, -2.0, f32::NEG_INFINITY]).unwrap();
    let found = numbers(&array, |_| ());
    let counts = (found.count, found.missing, found.nan, found.pos_inf, found.neg_inf);
    assert_eq!(counts, (4, 1, 1, 1, 1));
    assert_eq!(found.max.unwrap().0, ScalarValue::Float(f64::INFINITY));
    assert!(found.mean.is_nan() && found.std.is_nan());
    let nan = Object::new().with("_FillValue", "NaN");
    array.update_attributes(|attributes| attributes.clone_from(&nan)).unwrap();
    let found = numbers(&array, |_| ());
    assert_eq!((found.count, found.missing, found.nan), (5, 1, 0));
}

#[test]
fn packed_values_with_a_negative_scale_keep_their_order() {
    let hierarchy = hierarchy("packed");
    let packing = [("scale_factor", "-0.5"), ("add_offset", "10"), ("_FillValue", "-1")];
    let number = |text: &str| Json::Number(text.into());
    let attributes =
        packing.iter().fold(Object::new(), |all, (name, text)| all.with(*name, number(text)));
    let array = hierarchy.create_array("/a").shape(&[5]).chunks(&[2]).attributes(attributes);
    let array = array.data_type(CoreType::Int8).create().unwrap();
    array.write(.., &[0i8, 2, -1, 8, 4]).unwrap();
    let found = numbers(&array, |request| {
        request.percentiles = vec![0.0, 50.0, 100.0];
        request.histogram = Some(Bins::Edges(vec![6.0, 8.5, 10.0]));
    });
    assert_eq!((found.count, found.missing), (4, 1));
    assert_eq!(found.min, Some((ScalarValue::Float(6.0), vec![3])));
    assert_eq!(found.max, Some((ScalarValue::Float(10.0), vec![0])));
    assert_eq!((found.mean, found.sum), (8.25, ScalarValue::Float(33.0)));
    // Of 10, 9, 6 and 8: a spread has no sign.
    assert_eq!(found.std, 8.75f64.sqrt() / 2.0);
    assert_eq!(found.percentiles, [(0.0, 6.0), (50.0, 8.5), (100.0, 10.0)]);
    assert_eq!(found.histogram.unwrap().counts, [2, 2]);
}

#[test]
fn infinities_change_sides_where_the_scale_is_negative() {
    let hierarchy = hierarchy("infinities");
    for (name, scale, sides, ends) in [
        ("/falling", "-0.5", (1, 2), [f64::NEG_INFINITY, f64::INFINITY]),
        ("/rising", "0.5", (2, 1), [f64::NEG_INFINITY, f64::INFINITY]),
    ] {
        let attributes = Object::new().with("scale_factor", Json::Number(scale.into()));
        let array = hierarchy.create_array(name).shape(&[2, 2]).chunks(&[1, 2]);
        let array = array.attributes(attributes).data_type(CoreType::Float32).create().unwrap();
        let elements = [f32::INFINITY, f32::INFINITY, f32::NEG_INFINITY, 2.0];
        array.write(.., &elements).unwrap();
        let found = numbers(&array, |_| ());
        assert_eq!((found.pos_inf, found.neg_inf), sides, "{name}");
        let value = |place: Option<(ScalarValue, Vec<u64>)>| place.unwrap().0;
        assert_eq!([value(found.min), value(found.max)], ends.map(ScalarValue::Float), "{name}");
    }
}

#[test]
fn the_least_and_the_greatest_at_each_coordinate_follow_a_negative_scale() {
    let hierarchy = hierarchy("along packed");
    let attributes = Object::new().with("scale_factor", Json::Number("-2".into()));
    let array = hierarchy.create_array("/a").shape(&[2, 3]).chunks(&[2, 2]).attributes(attributes);
    let array = array.data_type(CoreType::Int16).create().unwrap();
    array.write(.., &[1i16, 2, 3, 4, 5, 9]).unwrap();
    let request = Request::new(Meaning::of(&array, MissingRule::Declared));
    let found = statistics_along(&array, &request, &[0]).unwrap();
    let ends: Vec<_> = found.cells.iter().map(|cell| (cell.min, cell.max)).collect();
    let of = |value: f64| Some(ScalarValue::Float(value));
    assert_eq!(ends, [(of(-6.0), of(-2.0)), (of(-18.0), of(-8.0))]);
    assert_eq!(found.cells.iter().map(|cell| cell.mean).collect::<Vec<_>>(), [-4.0, -12.0]);
    let expected = [(8.0f64 / 3.0).sqrt(), (56.0f64 / 3.0).sqrt()];
    for (cell, expected) in found.cells.iter().zip(expected) {
        assert!((cell.std - expected).abs() < 1e-12, "{} is not {expected}", cell.std);
    }
}

#[test]
fn records_complex_nullable_elements_and_texts_have_statistics() {
    let (v3, v2) = (hierarchy("columns"), hierarchy_of("records", Dialect::V2));
    let of = |name: &str, data_type: DataType, bytes: &[u8]| {
        let hierarchy = if name == "/record" { &v2 } else { &v3 };
        let array = hierarchy.create_array(name).shape(&[3]).chunks(&[2]).data_type(data_type);
        let array = array.create().unwrap();
        array.write_bytes(.., bytes).unwrap();
        let request = Request::new(Meaning::of(&array, MissingRule::Declared));
        statistics(&array, &request).unwrap().to_json().to_string()
    };
    let record = Record::new([
        Field::new("a", CoreType::Int8.into()),
        Field::new("b", CoreType::Uint8.into()).with_shape(&[2]),
    ]);
    let text = of("/record", record.unwrap().into(), &[1, 2, 3, 255, 4, 5, 7, 6, 0]);
    assert!(text.contains(r#""fields":{"a":{"count":3,"#), "{text}");
    assert!(text.contains(r#""b":{"count":6,"missing":0,"nan":0,"pos_inf":0,"neg_inf":0,"never_written":0,"min":0,"max":6"#), "{text}");
    assert!(text.contains(r#""min_at":[2],"max_at":[2]"#), "{text}");
    let complex: Vec<u8> =
        [1f32, 2.0, 3.0, 4.0, 5.0, 6.0].iter().flat_map(|n| n.to_ne_bytes()).collect();
    let text = of("/complex", CoreType::Complex64.into(), &complex);
    assert!(text.contains(r#""real":{"count":3,"#) && text.contains(r#""mean":4.0"#), "{text}");
    let maybe = Optional::new(CoreType::Int8.into()).unwrap();
    let text = of("/maybe", maybe.into(), &[1, 5, 0, 0, 1, 7]);
    assert!(text.contains(r#""count":2,"missing":1,"#) && text.contains(r#""max":7"#), "{text}");
    assert!(text.contains(r#""max_at":[2]"#), "{text}");
    let text = of("/fixed", DataType::FixedBytes { len: 3 }, b"abc\0\0\0ab\0");
    assert!(text.contains(r#""count":3,"missing":0,"empty":1"#), "{text}");
    assert!(text.contains(r#""min_length":0,"max_length":3,"distinct":3"#), "{text}");
    let texts = ["ä", "", "ä"].iter().flat_map(|text| {
        let len = text.len() as u32;
        len.to_le_bytes().into_iter().chain(text.bytes())
    });
    let text = of("/texts", DataType::String, &texts.collect::<Vec<u8>>());
    assert!(
        text.contains(r#""empty":1,"never_written":0,"min_length":0,"max_length":1,"distinct":2"#),
        "{text}"
    );
}

#[test]
fn requests_that_cannot_be_are_refused() {
    let hierarchy = hierarchy("refused");
    let array = hierarchy.create_array("/a").shape(&[3]).chunks(&[2]);
    let array = array.data_type(CoreType::Float32).create().unwrap();
    let why = |change: &dyn Fn(&mut Request<'_>)| {
        let mut request = Request::new(Meaning::raw(&array));
        change(&mut request);
        statistics(&array, &request).unwrap_err().to_string()
    };
    assert!(why(&|request| request.percentiles = vec![101.0]).contains("from 0 to 100"));
    assert!(why(&|request| request.percentiles = vec![f64::NAN]).contains("from 0 to 100"));
    assert!(why(&|request| request.histogram = Some(Bins::Count(0))).contains("at least one"));
    assert!(why(&|request| request.histogram = Some(Bins::Count(usize::MAX))).contains("at most"));
    assert!(
        why(&|request| request.histogram = Some(Bins::Edges(vec![1.0, 1.0]))).contains("above")
    );
    array.write(.., &[1.0f32, f32::INFINITY, 2.0]).unwrap();
    assert!(why(&|request| request.histogram = Some(Bins::Count(3))).contains("edges"));
}
