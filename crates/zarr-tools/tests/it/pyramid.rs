//! Pyramids: each level is what a plain computation over the whole image gives, which shares no code with the tool.

use std::cmp::Ordering;
use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use zarr_core::format::of_dialect;
use zarr_core::store::{Call, ObservedStore, Store, StoreKey, from_sync};
use zarr_core::{
    Array, Dialect, Element, ErrorKind, Group, Hierarchy, Json, Object, OpenOptions, Registry,
};
use zarr_stores::MemoryStore;
use zarr_testkit::sample;
use zarr_tools::{PyramidMethod, PyramidOptions, PyramidRounding, plan_pyramid};

use PyramidMethod::{Max, Mean, Median, Min, Mode, Nearest};

fn open_options(threads: usize) -> OpenOptions {
    let registry = Registry::new().with(zarr_codecs::register);
    OpenOptions::new(registry).read_write().threads(threads)
}

fn hierarchy(dialect: Dialect) -> Hierarchy {
    let store = from_sync(MemoryStore::new());
    Hierarchy::create(store, of_dialect(dialect), &open_options(2)).unwrap()
}

/// A base, as a test has it.
#[derive(Clone, Debug)]
struct Base {
    shape: Vec<u64>,
    chunks: Vec<u64>,
    shards: Option<Vec<u64>>,
    dialect: Dialect,
    attributes: Object,
    fill: Option<i64>,
}

impl Base {
    fn new(shape: &[u64], chunks: &[u64]) -> Base {
        let (shape, chunks) = (shape.to_vec(), chunks.to_vec());
        let (dialect, attributes) = (Dialect::V3, Object::new());
        Base { shape, chunks, shards: None, dialect, attributes, fill: None }
    }

    /// An image at `/image` with these elements as its only level `0`.
    fn image<T: Element>(&self, elements: &[T]) -> Group {
        self.image_in(&hierarchy(self.dialect), "/image", elements)
    }

    fn image_in<T: Element>(&self, hierarchy: &Hierarchy, path: &str, elements: &[T]) -> Group {
        let group = hierarchy.create_group(path, Object::new()).unwrap();
        let mut array = group.create_array("0").shape(&self.shape).chunks(&self.chunks);
        if let Some(shards) = &self.shards {
            array = array.shards(shards);
        }
        if let Some(fill) = self.fill {
            array = array.fill_value(fill);
        }
        let array = array.data_type_of::<T>().codec("gzip:1").attributes(self.attributes.clone());
        let array = array.separator('/').create().unwrap();
        array.write(.., elements).unwrap();
        let names = &["t", "c", "z", "y", "x"][5 - self.shape.len()..];
        let axis = |name: &&str| {
            let kind = match *name {
                "t" => "time",
                "c" => "channel",
                _ => "space",
            };
            Object::new().with("name", *name).with("type", kind)
        };
        let spacing: Vec<f64> =
            names.iter().map(|name| if ["y", "x"].contains(name) { 0.5 } else { 1.5 }).collect();
        let scale = Object::new().with("type", "scale").with("scale", &spacing[..]);
        let dataset =
            Object::new().with("path", "0").with("coordinateTransformations", vec![scale]);
        let image = Object::new()
            .with("axes", names.iter().map(|name| axis(name).into()).collect::<Json>())
            .with("datasets", vec![dataset]);
        let old = Object::new().with("multiscales", vec![image.clone().with("version", "0.4")]);
        let new = Object::new().with("version", "0.5").with("multiscales", vec![image]);
        group
            .update_attributes(|all| {
                *all = match self.dialect {
                    Dialect::V3 => Object::new().with("ome", new.clone()),
                    _ => old.clone(),
                };
                all.insert("operator", "me");
            })
            .unwrap();
        hierarchy.group(path).unwrap()
    }
}

fn datasets(group: &Group) -> Vec<Json> {
    let attributes = hierarchy_group(group).attributes().clone();
    let place = match attributes.get("ome") {
        Some(ome) => ome["multiscales"][0]["datasets"].clone(),
        None => attributes.get("multiscales").unwrap()[0]["datasets"].clone(),
    };
    place.as_array().unwrap().to_vec()
}

/// The group as it is stored now.
fn hierarchy_group(group: &Group) -> Group {
    group.hierarchy().group(group.path()).unwrap()
}

fn level(group: &Group, number: usize) -> Array {
    let path = datasets(group)[number]["path"].as_str().unwrap().to_owned();
    group.array(&path).unwrap()
}

/// Elements in a box of a shape.
#[derive(Clone, Debug)]
struct Whole<T> {
    shape: Vec<u64>,
    elements: Vec<T>,
}

impl<T: Copy> Whole<T> {
    /// The elements of each block of so many, block by block in C order.
    fn blocks(&self, factors: &[u64]) -> (Vec<u64>, Vec<Vec<T>>) {
        let shape: Vec<u64> =
            self.shape.iter().zip(factors).map(|(len, factor)| len.div_ceil(*factor)).collect();
        let mut blocks = vec![Vec::new(); shape.iter().product::<u64>() as usize];
        for (number, &element) in self.elements.iter().enumerate() {
            let (mut rest, mut place, mut stride) = (number as u64, 0, 1);
            for axis in (0..shape.len()).rev() {
                let coordinate = rest % self.shape[axis];
                rest /= self.shape[axis];
                place += coordinate / factors[axis] * stride;
                stride *= shape[axis];
            }
            blocks[place as usize].push(element);
        }
        (shape, blocks)
    }
}

/// A number that the tests compute with.
trait Number: Element + Copy + PartialEq + std::fmt::Debug {
    fn mean(block: &[Self]) -> Self;
    fn compare(&self, other: &Self) -> Ordering;
}

macro_rules! integers {
    ($($int:ty)*) => {$(
        impl Number for $int {
            fn mean(block: &[Self]) -> Self {
                let sum: i128 = block.iter().map(|&it| i128::from(it)).sum();
                let count = block.len() as i128;
                // Of the integers around the quotient, the nearer; of two, the even one.
                let near = (sum / count - 1..=sum / count + 1).min_by_key(|mean| {
                    ((mean * count - sum).abs(), mean.rem_euclid(2))
                });
                near.unwrap() as $int
            }

            fn compare(&self, other: &Self) -> Ordering {
                self.cmp(other)
            }
        }
    )*};
}

integers!(u8 i16 u16 u32 i64 u64);

macro_rules! floats {
    ($($float:ty)*) => {$(
        impl Number for $float {
            fn mean(block: &[Self]) -> Self {
                (block.iter().map(|&it| f64::from(it)).sum::<f64>() / block.len() as f64) as $float
            }

            fn compare(&self, other: &Self) -> Ordering {
                self.total_cmp(other)
            }
        }
    )*};
}

floats!(f32 f64);

/// What a level is by a method, of the base or of the level before it, if `missing` elements are left out.
fn reduced<T: Number>(
    method: PyramidMethod,
    (base, factors): (&Whole<T>, &[u64]),
    (before, steps): (&Whole<T>, &[u64]),
    missing: Option<T>,
) -> Whole<T> {
    let is_there = |it: &T| missing.is_none_or(|missing| it.compare(&missing) != Ordering::Equal);
    let is_of_base = [Mean, Min, Max, Nearest].contains(&method);
    let (shape, blocks) = if is_of_base { base.blocks(factors) } else { before.blocks(steps) };
    let one = |block: Vec<T>| {
        if method == Nearest {
            return block[0];
        }
        let mut block: Vec<T> = block.into_iter().filter(is_there).collect();
        block.sort_by(T::compare);
        let Some(&least) = block.first() else { return missing.unwrap() };
        match method {
            Mean => T::mean(&block),
            Min => least,
            Max => block[block.len() - 1],
            Median => block[(block.len() - 1) / 2],
            _ => {
                let count = |of: &T| block.iter().filter(|it| it.compare(of).is_eq()).count();
                let most = block.iter().map(count).max().unwrap();
                *block.iter().find(|it| count(it) == most).unwrap()
            }
        }
    };
    Whole { shape, elements: blocks.into_iter().map(one).collect() }
}

/// Compares all levels of an image with what the reference makes of its base.
fn check<T: Number>(group: &Group, method: PyramidMethod, missing: Option<T>, place: &str) {
    let count = datasets(group).len();
    let whole =
        |array: &Array| Whole { shape: array.shape(), elements: array.read::<T>(..).unwrap() };
    let base = whole(&level(group, 0));
    let mut before = base.clone();
    for number in 1..count {
        let found = whole(&level(group, number));
        let ratio = |shape: &[u64]| -> Vec<u64> {
            let scales = [0, number].map(|it| datasets(group)[it].clone());
            let scales = scales.map(|it| it["coordinateTransformations"][0]["scale"].clone());
            let along = |axis: usize| {
                (scales[1][axis].as_f64().unwrap() / scales[0][axis].as_f64().unwrap()) as u64
            };
            (0..shape.len()).map(along).collect()
        };
        let factors = ratio(&base.shape);
        let steps: Vec<u64> = before
            .shape
            .iter()
            .zip(&found.shape)
            .map(|(len, of)| (1..).find(|step| len.div_ceil(*step) == *of).unwrap())
            .collect();
        let expected = reduced(method, (&base, &factors), (&before, &steps), missing);
        assert_eq!(found.shape, expected.shape, "{place}, level {number}");
        let bits = |elements: &[T]| elements.iter().map(|it| format!("{it:?}")).collect::<Vec<_>>();
        assert_eq!(bits(&found.elements), bits(&expected.elements), "{place}, level {number}");
        before = found;
    }
}

/// Numbers that look random.
fn random(count: u64) -> Vec<u64> {
    let mut state = 7u64;
    let next = |_| {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        state >> 33
    };
    (0..count).map(next).collect()
}

fn run(group: &Group, options: &PyramidOptions<'_>) {
    plan_pyramid(group, options).unwrap().run(options).unwrap();
}

fn by(method: PyramidMethod) -> PyramidOptions<'static> {
    PyramidOptions { method: Some(method), ..PyramidOptions::default() }
}

/// Bases of odd lengths, of one row, one longer and one shorter than chunks, sharded or not, in all dimensions that images have.
fn bases() -> Vec<Base> {
    let mut bases = vec![
        Base::new(&[5, 7], &[2, 2]),
        Base::new(&[1, 33], &[1, 8]),
        Base::new(&[33, 31], &[8, 8]),
        Base::new(&[64, 64], &[16, 8]),
        Base::new(&[50, 41], &[7, 9]),
        Base::new(&[9, 40, 23], &[3, 8, 8]),
        Base::new(&[2, 3, 4, 19, 17], &[1, 2, 1, 4, 8]),
    ];
    for base in bases.clone() {
        bases.push(Base { dialect: Dialect::V2, ..base.clone() });
        let shards = base.chunks.iter().map(|chunk| chunk * 2).collect();
        bases.push(Base { shards: Some(shards), ..base });
    }
    bases
}

/// Each method makes levels of a third of the images, the next method of others; `ZARR_TEST_ALL=1` has each make those of all.
fn methods_of<T: Number>(of: impl Fn(u64) -> T, methods: &[PyramidMethod]) {
    for (image, base) in bases().into_iter().enumerate() {
        let elements: Vec<T> = random(base.shape.iter().product()).into_iter().map(&of).collect();
        for (number, &method) in methods.iter().enumerate() {
            if (image + number) % sample(3, 1) != 0 {
                continue;
            }
            let place = format!("{} {method:?} {base:?}", T::NAME);
            let group = base.image(&elements);
            run(&group, &by(method));
            check::<T>(&group, method, None, &place);
            // In the end no axis that gets shorter has more than one chunk.
            let last = level(&group, datasets(&group).len() - 1);
            let counts = |axis: &usize| base.chunks[*axis] > 1;
            for axis in (base.shape.len() - 2..base.shape.len()).filter(counts) {
                assert!(last.shape()[axis] <= base.chunks[axis], "{place}: {:?}", last.shape());
            }
            assert_eq!(last.shard_shape().is_some(), base.shards.is_some(), "{place}");
            let attributes = hierarchy_group(&group).attributes().clone();
            assert_eq!(attributes.get("operator"), Some(&"me".into()));
        }
    }
}

#[test]
fn levels_of_integers_are_what_a_plain_computation_gives() {
    let all = [Mean, Min, Max, Median, Mode, Nearest];
    methods_of(|n| n as u8, &all);
    methods_of(|n| n as i16, &[Mean, Mode]);
    methods_of(|n| (n % 5) as u16, &all);
    methods_of(|n| u32::MAX - (n % 1000) as u32, &[Mean, Median]);
    methods_of(|n| i64::MIN + (n % 7) as i64, &[Mean, Max]);
    methods_of(|n| u64::MAX - n, &[Mean, Min]);
}

#[test]
fn levels_of_floats_are_what_a_plain_computation_gives() {
    // Sums of eighths are exact, in whatever order they are made.
    methods_of(|n| (n % 10_000) as f32 / 8.0 - 300.0, &[Mean, Min, Max, Median, Mode, Nearest]);
    methods_of(|n| (n % 100) as f64 / 8.0, &[Mean, Median]);
}

#[test]
fn bools_have_a_mode() {
    let base = Base::new(&[20, 21], &[4, 4]);
    let elements: Vec<bool> = random(420).into_iter().map(|n| n % 2 == 0).collect();
    let group = base.image(&elements);
    run(&group, &PyramidOptions::default());
    let (_, blocks) = Whole { shape: base.shape, elements }.blocks(&[2, 2]);
    let expected: Vec<bool> = blocks
        .iter()
        .map(|block| block.iter().filter(|it| **it).count() * 2 > block.len())
        .collect();
    assert_eq!(level(&group, 1).read::<bool>(..).unwrap(), expected);
}

/// Elements that are missing, by NaN or by the array's attributes, are left out, and a block of nothing else is missing.
#[test]
fn missing_elements_are_left_out() {
    for method in [Mean, Min, Max, Median, Mode] {
        let base = Base::new(&[30, 29], &[8, 8]);
        let nan = |n: u64| if !n.is_multiple_of(3) { f32::NAN } else { (n % 64) as f32 / 4.0 };
        let elements: Vec<f32> = random(30 * 29).into_iter().map(nan).collect();
        let group = base.image(&elements);
        run(&group, &by(method));
        check::<f32>(&group, method, Some(f32::NAN), &format!("NaN, {method:?}"));

        let attributes = Object::new().with("_FillValue", 999i64);
        let base = Base { attributes, ..base };
        let value = |n: u64| if !n.is_multiple_of(3) { 999 } else { (n % 64) as i16 };
        let elements: Vec<i16> = random(30 * 29).into_iter().map(value).collect();
        let group = base.image(&elements);
        run(&group, &by(method));
        check::<i16>(&group, method, Some(999), &format!("_FillValue, {method:?}"));
        assert_eq!(level(&group, 1).attributes().get("_FillValue"), Some(&999i64.into()));
    }
}

#[test]
fn a_nan_that_counts_spoils_its_block_and_few_valid_elements_are_too_few() {
    let base = Base::new(&[2, 4], &[1, 1]);
    let nan = f32::NAN;
    let elements = [1.0, 2.0, nan, nan, 3.0, nan, nan, 5.0];
    let made = |options: PyramidOptions<'_>| {
        let options = PyramidOptions { levels: Some(2), ..options };
        let group = base.image(&elements);
        run(&group, &options);
        format!("{:?}", level(&group, 1).read::<f32>(..).unwrap())
    };
    assert_eq!(made(by(Mean)), "[2.0, 5.0]");
    assert_eq!(made(PyramidOptions { min_valid: 0.5, ..by(Mean) }), "[2.0, NaN]");
    // The share itself is enough.
    assert_eq!(made(PyramidOptions { min_valid: 0.25, ..by(Mean) }), "[2.0, 5.0]");
    assert_eq!(made(PyramidOptions { min_valid: 0.75, ..by(Mean) }), "[2.0, NaN]");
    assert_eq!(made(PyramidOptions { keep_nan: true, ..by(Mean) }), "[NaN, NaN]");
    assert_eq!(made(PyramidOptions { keep_nan: true, ..by(Max) }), "[NaN, NaN]");
    assert_eq!(made(by(Max)), "[3.0, 5.0]");
}

#[test]
fn means_are_rounded_as_asked_for() {
    let base = Base::new(&[1, 6], &[1, 1]);
    let elements = [2i16, 3, -2, -3, 3, 4];
    for (rounding, expected) in [
        (PyramidRounding::HalfEven, [2, -2, 4]),
        (PyramidRounding::HalfAway, [3, -3, 4]),
        (PyramidRounding::TowardZero, [2, -2, 3]),
    ] {
        let group = base.image(&elements);
        run(&group, &PyramidOptions { rounding, levels: Some(2), ..by(Mean) });
        assert_eq!(level(&group, 1).read::<i16>(..).unwrap(), expected, "{rounding:?}");
    }
}

/// The ends of a range of valid values are valid.
#[test]
fn the_least_and_the_greatest_valid_value_are_not_missing() {
    for attributes in [
        Object::new().with("valid_min", 10i64).with("valid_max", 20i64),
        Object::new().with("valid_range", [10i64, 20]),
    ] {
        let base = Base { attributes, ..Base::new(&[1, 8], &[1, 1]) };
        let group = base.image(&[10u8, 9, 20, 21, 20, 10, 0, 20]);
        run(&group, &PyramidOptions { levels: Some(2), ..by(Mean) });
        assert_eq!(level(&group, 1).read::<u8>(..).unwrap(), [10, 20, 15, 20]);
        let floats = base.image(&[10.0f32, 9.5, 20.0, 20.5, 20.0, 10.0, f32::NAN, 20.0]);
        run(&floats, &PyramidOptions { levels: Some(2), ..by(Mean) });
        assert_eq!(level(&floats, 1).read::<f32>(..).unwrap(), [10.0, 20.0, 15.0, 20.0]);
    }
}

/// A range that ends before it begins says nothing.
#[test]
fn a_range_without_values_is_not_applied() {
    let attributes = Object::new().with("valid_min", 20i64).with("valid_max", 10i64);
    let base = Base { attributes, ..Base::new(&[1, 4], &[1, 1]) };
    let group = base.image(&[10u8, 20, 0, 30]);
    run(&group, &PyramidOptions { levels: Some(2), ..by(Mean) });
    assert_eq!(level(&group, 1).read::<u8>(..).unwrap(), [15, 15]);
}

/// Where nothing is stored, there is the fill value: as missing as where it is stored, or as valid.
#[test]
fn what_is_not_stored_counts_as_the_fill_value() {
    let missing = Object::new().with("_FillValue", 90i64);
    for (attributes, missing) in [(missing, Some(90)), (Object::new(), None)] {
        for method in [Mean, Min, Max, Median] {
            let base = Base::new(&[200, 180], &[4, 4]);
            let base = Base { attributes: attributes.clone(), fill: Some(90), ..base };
            let mut elements = vec![90i16; 200 * 180];
            for (row, column) in [(3, 7), (130, 100), (131, 101), (100, 17), (199, 179)] {
                elements[row * 180 + column] = 400;
            }
            let place = format!("{method:?}, {missing:?} is missing");
            let group = base.image(&elements);
            assert!(stored(group.hierarchy(), "image/0/c/").len() < 6, "{place}");
            run(&group, &by(method));
            check::<i16>(&group, method, missing, &place);
        }
    }
}

/// Other writers drop the last row of an odd number, so that the shape alone does not tell the factor.
#[test]
fn levels_of_writers_that_cut_off_the_last_row_have_the_factor_of_their_scale() {
    let base = Base::new(&[5, 5], &[1, 1]);
    let group = base.image(&[1u8; 25]);
    let level_1 = group.create_array("1").shape([2, 2]).chunks([1, 1]).data_type_of::<u8>();
    level_1.create().unwrap();
    let scale = Json::parse(
        br#"{"path": "1", "coordinateTransformations": [{"type": "scale", "scale": [1.0, 1.0]}]}"#,
    );
    let mut ome = group.attributes().get("ome").unwrap().clone();
    let mut image = ome["multiscales"][0].as_object().unwrap().clone();
    let listed = [image.get("datasets").unwrap()[0].clone(), scale.unwrap()];
    image.insert("datasets", listed.to_vec());
    ome = Json::from(ome.as_object().unwrap().clone().with("multiscales", vec![image]));
    group.set_attribute("ome", ome).unwrap();
    let options = PyramidOptions { levels: Some(3), ..by(Mean) };
    let plan = plan_pyramid(&hierarchy_group(&group), &options).unwrap();
    assert_eq!(plan.levels()[0].factors, [4, 4]);
}

/// Labels may have fewer axes than their image: each gets the factor of the image's axis of its name.
#[test]
fn labels_get_the_factors_of_the_axes_of_their_names() {
    let hierarchy = hierarchy(Dialect::V3);
    let image = Base::new(&[2, 12, 40, 40], &[1, 4, 8, 8]);
    let group = image.image_in(&hierarchy, "/image", &[1u8; 2 * 12 * 40 * 40]);
    let base = Base::new(&[2, 40, 40], &[1, 8, 8]);
    let label = base.image_in(&hierarchy, "/image/labels/cells", &[3u8; 2 * 40 * 40]);
    let ome = label.attributes().get("ome").unwrap().to_string();
    let ome = ome.replace(r#""name":"z","type":"space""#, r#""name":"c","type":"channel""#);
    label.set_attribute("ome", Json::parse(ome.as_bytes()).unwrap()).unwrap();
    let listed = Json::parse(br#"{"version": "0.5", "labels": ["cells"]}"#).unwrap();
    hierarchy.group("/image/labels").unwrap().set_attribute("ome", listed).unwrap();
    let factors = PyramidOptions {
        factors: ["z", "y", "x"].map(|axis| (axis.to_owned(), 2)).to_vec(),
        ..by(Mean)
    };
    run(&hierarchy_group(&group), &PyramidOptions { levels: Some(2), ..factors });
    assert_eq!(level(&group, 1).shape(), [2, 6, 20, 20]);
    assert_eq!(level(&label, 1).shape(), [2, 20, 20]);
}

/// The centre of an element is where the elements are that it is made of; of the nearest it is the first.
#[test]
fn positions_are_those_of_the_elements_of_a_block() {
    for (method, shift) in [(Mean, 0.75), (Nearest, 0.0)] {
        for dialect in [Dialect::V2, Dialect::V3] {
            let base = Base { dialect, ..Base::new(&[2, 3, 50, 21], &[1, 1, 8, 8]) };
            let group = base.image(&vec![1u8; 6300]);
            run(&group, &by(method));
            let found = datasets(&group);
            assert_eq!(found.len(), 4);
            let transformations = &found[2]["coordinateTransformations"];
            assert_eq!(transformations[0]["scale"], Json::parse(b"[1.5, 1.5, 2.0, 2.0]").unwrap());
            let translation = &transformations[1]["translation"];
            if shift == 0.0 {
                assert!(translation.is_null());
            } else {
                assert_eq!(*translation, Json::parse(b"[0.0, 0.0, 0.75, 0.75]").unwrap());
            }
            // Along z elements are 1.5 apart: closer than along y and x from level 2 on.
            assert_eq!(level(&group, 2).shape(), [2, 3, 13, 6]);
            assert_eq!(level(&group, 3).shape(), [2, 2, 7, 3]);
            if dialect == Dialect::V3 {
                let names = level(&group, 1).dimension_names().unwrap();
                assert_eq!(names[2].as_deref(), Some("y"));
            }
            let attributes = hierarchy_group(&group).attributes().clone();
            let image = match attributes.get("ome") {
                Some(ome) => &ome["multiscales"][0],
                None => &attributes.get("multiscales").unwrap()[0],
            };
            assert_eq!(image["type"], *method.name());
        }
    }
}

/// All values that are stored below a prefix.
fn stored(hierarchy: &Hierarchy, prefix: &str) -> HashMap<String, Vec<u8>> {
    let store = hierarchy.store().to_sync();
    let keys = store.list().unwrap().into_iter().filter(|key| key.as_str().starts_with(prefix));
    keys.map(|key| (key.to_string(), store.value(&key).unwrap().unwrap().to_vec())).collect()
}

/// Floats whose sums depend on their order have the same bits, and chunks the same bytes.
#[test]
fn threads_parts_and_memory_change_no_bit() {
    let base = Base { shards: Some(vec![2, 16, 32]), ..Base::new(&[5, 300, 277], &[1, 8, 16]) };
    let elements: Vec<f32> = random(5 * 300 * 277)
        .into_iter()
        .map(|n| (n as f32).sin() * 1e3f32.powi((n % 7) as i32))
        .collect();
    let mut all = Vec::new();
    for (threads, memory, parts) in
        [(1, None, None), (4, None, None), (3, Some(8 << 20), None), (2, None, Some(5))]
    {
        let store = from_sync(MemoryStore::new());
        let hierarchy =
            Hierarchy::create(store, of_dialect(Dialect::V3), &open_options(threads)).unwrap();
        let group = base.image_in(&hierarchy, "/image", &elements);
        let options = PyramidOptions { memory, parts, ..by(Mean) };
        match parts {
            None => run(&group, &options),
            Some(parts) => {
                for part in [4, 0, 2, 3] {
                    plan_pyramid(&group, &options).unwrap().run_part(part, &options).unwrap();
                }
                let early = plan_pyramid(&group, &options).unwrap().finish(&options).unwrap_err();
                assert!(early.to_string().contains("unfinished levels below"), "{early}");
                assert_eq!(datasets(&group).len(), 1);
                assert_eq!(parts, 5);
                plan_pyramid(&group, &options).unwrap().run_part(1, &options).unwrap();
                plan_pyramid(&group, &options).unwrap().finish(&options).unwrap();
            }
        }
        all.push(stored(&hierarchy, ""));
    }
    assert!(all[0].keys().any(|key| key.starts_with("image/3/c/")));
    assert!(all[0].keys().all(|key| !key.starts_with(".zarr-copy")));
    for other in &all[1..] {
        assert!(*other == all[0]);
    }
}

/// Calls to the store, by operation and key.
type Calls = Arc<Mutex<HashMap<(String, String), u64>>>;

fn watched(calls: &Calls) -> Hierarchy {
    let noted = calls.clone();
    let note = move |call: &Call<'_>| {
        let operation = call.operation.split(' ').next().unwrap_or_default().to_owned();
        *noted.lock().unwrap().entry((operation, call.key.to_string())).or_default() += 1;
    };
    let store: Arc<dyn Store> = Arc::new(ObservedStore::new(from_sync(MemoryStore::new()), note));
    Hierarchy::create(store, of_dialect(Dialect::V3), &open_options(2)).unwrap()
}

#[test]
fn each_chunk_of_the_base_is_read_once_and_no_level_is() {
    for (chunks, new) in
        [([16, 16], None), ([25, 40], None), ([100, 7], None), ([16, 32], Some(vec![8, 8]))]
    {
        let calls = Calls::default();
        let base = Base::new(&[301, 262], &chunks);
        let group = base.image_in(&watched(&calls), "/image", &vec![3u16; 301 * 262]);
        calls.lock().unwrap().clear();
        run(&group, &PyramidOptions { chunks: new, ..by(Mean) });
        let calls = calls.lock().unwrap();
        let reads = |part: &str| -> Vec<u64> {
            let of = |operation: &str| ["get", "open"].iter().any(|it| operation.starts_with(it));
            let found = calls.iter().filter(|((op, key), _)| of(op) && key.contains(part));
            found.map(|(_, count)| *count).collect()
        };
        let expected = 301u64.div_ceil(chunks[0]) * 262u64.div_ceil(chunks[1]);
        assert_eq!(reads("image/0/c/").len() as u64, expected, "{chunks:?}");
        assert!(reads("image/0/c/").iter().all(|&count| count == 1), "{chunks:?}");
        assert_eq!(reads("image/1/c/"), [0u64; 0]);
    }
}

#[test]
fn only_what_is_stored_is_read_and_written() {
    let calls = Calls::default();
    let hierarchy = watched(&calls);
    let group = hierarchy.create_group("/image", Object::new()).unwrap();
    let len = 1u64 << 24;
    let array = group.create_array("0").shape([len, len]).chunks([256, 256]);
    let array = array.data_type_of::<u16>().separator('/').create().unwrap();
    array.write((5_000_000..5_000_002, 9_000_000..9_000_002), &[4u16, 8, 4, 8]).unwrap();
    let image = Object::new()
        .with(
            "axes",
            Json::parse(br#"[{"name": "y", "type": "space"}, {"name": "x", "type": "space"}]"#)
                .unwrap(),
        )
        .with("datasets", Json::parse(br#"[{"path": "0"}]"#).unwrap());
    let ome = Object::new().with("version", "0.5").with("multiscales", vec![image]);
    group.set_attribute("ome", ome).unwrap();
    let group = hierarchy.group("/image").unwrap();
    calls.lock().unwrap().clear();
    run(&group, &PyramidOptions { levels: Some(5), ..by(Mean) });
    assert_eq!(datasets(&group).len(), 5);
    let found = level(&group, 1).read::<u16>((2_500_000..2_500_001, 4_500_000..4_500_001)).unwrap();
    assert_eq!(found, [6]);
    let calls = calls.lock().unwrap();
    assert!(calls.len() < 500, "{} calls", calls.len());
}

/// A hierarchy in which one level already exists, and an image with labels.
#[test]
fn levels_that_are_there_stay_and_labels_get_as_many() {
    let hierarchy = hierarchy(Dialect::V3);
    let base = Base::new(&[60, 70], &[8, 8]);
    let elements: Vec<u16> = random(4200).into_iter().map(|n| n as u16).collect();
    let group = base.image_in(&hierarchy, "/image", &elements);
    run(&group, &PyramidOptions { levels: Some(2), ..by(Max) });
    let before = stored(&hierarchy, "image/1/");
    assert!(!before.is_empty());
    let labels: Vec<u8> = random(4200).into_iter().map(|n| (n % 4) as u8).collect();
    let label = base.image_in(&hierarchy, "/image/labels/cells", &labels);
    let ome =
        Object::new().with("version", "0.5").with("labels", Json::parse(b"[\"cells\"]").unwrap());
    hierarchy.group("/image/labels").unwrap().set_attribute("ome", ome).unwrap();
    let group = hierarchy_group(&group);
    run(&group, &PyramidOptions::default());
    assert_eq!(stored(&hierarchy, "image/1/"), before);
    assert_eq!(datasets(&group).len(), 5);
    assert_eq!(datasets(&label).len(), 5);
    // They go on as they were begun.
    check::<u16>(&group, Max, None, "levels of levels");
    check::<u8>(&label, Mode, None, "labels");
    // There is nothing left to do.
    let all = stored(&hierarchy, "");
    let plan = plan_pyramid(&hierarchy_group(&group), &PyramidOptions::default()).unwrap();
    assert!(plan.levels().is_empty());
    plan.run(&PyramidOptions::default()).unwrap();
    assert_eq!(stored(&hierarchy, ""), all);
}

#[test]
fn what_cannot_be_made_is_refused_before_anything_is_written() {
    let base = Base::new(&[40, 40], &[8, 8]);
    let group = base.image(&[1u8; 1600]);
    let hierarchy = group.hierarchy();
    let text =
        |options: PyramidOptions<'_>| plan_pyramid(&group, &options).unwrap_err().to_string();
    let factors = |name: &str, by| PyramidOptions {
        factors: vec![(name.to_owned(), by)],
        ..PyramidOptions::default()
    };
    assert!(text(factors("w", 2)).contains("unknown axis `w`; the image has y, x"));
    assert!(text(factors("y", 0)).contains("factor of axis `y` is 0"));
    let default = PyramidOptions::default;
    assert!(text(PyramidOptions { memory: Some(1000), ..default() }).contains("bytes of memory"));
    let chunks = Some(vec![8]);
    assert!(text(PyramidOptions { chunks, ..default() }).contains("for each of 2 axes"));
    let min_valid = 2.0;
    assert!(text(PyramidOptions { min_valid, ..default() }).contains("from 0 to 1"));
    let root = hierarchy.root().unwrap();
    let error = plan_pyramid(&root, &default()).unwrap_err();
    assert!(error.hint().is_some_and(|hint| hint.contains("/image")), "{error}");
    let bools = base.image(&[true; 1600]);
    let error = plan_pyramid(&bools, &by(Mean)).unwrap_err();
    assert!(error.to_string().contains("bools have no mean"), "{error}");
    group.create_array("1").shape([2]).data_type_of::<u8>().create().unwrap();
    assert_eq!(plan_pyramid(&group, &default()).unwrap_err().kind(), ErrorKind::Exists);
    assert!(stored(hierarchy, ".zarr-copy").is_empty());
}

/// What others left where levels are to be is no part of them, and is not erased unasked.
#[test]
fn chunks_that_are_left_of_others_are_refused() {
    let base = Base::new(&[40, 40], &[8, 8]);
    let group = base.image(&[0u8; 1600]);
    let store = group.hierarchy().store().to_sync();
    let key = StoreKey::new("image/1/c/0/0").unwrap();
    store.set(&key, b"rubbish"[..].into()).unwrap();
    let refused = plan_pyramid(&group, &by(Mean)).unwrap().run(&by(Mean)).unwrap_err();
    assert!(refused.to_string().contains(key.as_str()), "{refused}");
    assert!(store.value(&key).unwrap().is_some());
    store.erase(&key).unwrap();
    run(&group, &by(Mean));
    assert!(level(&group, 1).read::<u8>(..).unwrap().iter().all(|&it| it == 0));
}

/// Half of a discrete Gaussian of variance 3 / (8 ln 2), by numerical integration.
const KERNEL: [f64; 3] = [0.628175907525474, 0.16399670991879348, 0.02191533631846949];

/// The next level by a Gaussian of factor 2 along all axes: every tap of the window of every element, one by one.
fn smoothed(before: &Whole<f64>) -> Whole<f64> {
    let shape: Vec<u64> = before.shape.iter().map(|len| len.div_ceil(2)).collect();
    let weight = |offset: i64| {
        let of = |distance: i64| KERNEL.get(distance.unsigned_abs() as usize).unwrap_or(&0.0);
        (of(offset) + of(offset - 1)) / 2.0
    };
    let mut elements = Vec::new();
    for number in 0..shape.iter().product::<u64>() {
        let (mut sum, at) = (0.0, place(number, &shape));
        for tap in 0..6u64.pow(shape.len() as u32) {
            let offsets = place(tap, &vec![6; shape.len()]);
            let (mut from, mut by) = (0, 1.0);
            for ((offset, at), &len) in offsets.iter().zip(&at).zip(&before.shape) {
                let offset = *offset as i64 - 2;
                let coordinate = (2 * *at as i64 + offset).clamp(0, len as i64 - 1) as u64;
                from = from * len + coordinate;
                by *= weight(offset);
            }
            sum += by * before.elements[from as usize];
        }
        elements.push(sum);
    }
    Whole { shape, elements }
}

fn place(mut number: u64, shape: &[u64]) -> Vec<u64> {
    let mut place = vec![0; shape.len()];
    for axis in (0..shape.len()).rev() {
        place[axis] = number % shape[axis];
        number /= shape[axis];
    }
    place
}

#[test]
fn gaussian_levels_are_what_a_plain_computation_gives() {
    for (shape, chunks) in
        [([1, 33], [1, 8]), ([70, 61], [8, 8]), ([64, 64], [16, 8]), ([50, 41], [7, 9])]
    {
        let base = Base::new(&shape, &chunks);
        let elements: Vec<f64> =
            random(shape[0] * shape[1]).iter().map(|n| (n % 250) as f64).collect();
        let floats: Vec<f32> = elements.iter().map(|&it| it as f32).collect();
        let bytes: Vec<u8> = elements.iter().map(|&it| it as u8).collect();
        let (of_floats, of_bytes) = (base.image(&floats), base.image(&bytes));
        run(&of_floats, &by(PyramidMethod::Gaussian));
        run(&of_bytes, &by(PyramidMethod::Gaussian));
        let mut expected = Whole { shape: shape.to_vec(), elements };
        for number in 1..datasets(&of_floats).len() {
            expected = smoothed(&expected);
            // An axis that is one element long stays it, by weights with the sum 1.
            let found = level(&of_floats, number).read::<f32>(..).unwrap();
            let bytes = level(&of_bytes, number).read::<u8>(..).unwrap();
            assert_eq!(level(&of_floats, number).shape(), expected.shape);
            for ((found, byte), expected) in found.iter().zip(&bytes).zip(&expected.elements) {
                assert!(
                    (f64::from(*found) - expected).abs() < 1e-3,
                    "{shape:?}: {found}, {expected}"
                );
                assert!(
                    (f64::from(*byte) - expected).abs() < 0.501,
                    "{shape:?}: {byte}, {expected}"
                );
            }
        }
    }
}

#[test]
fn gaussian_levels_of_parts_are_those_of_the_whole() {
    let base = Base::new(&[301, 277], &[8, 16]);
    let elements: Vec<f32> = random(301 * 277).into_iter().map(|n| (n as f32).sin()).collect();
    let whole = base.image(&elements);
    run(&whole, &PyramidOptions { chunks: Some(vec![8, 8]), ..by(PyramidMethod::Gaussian) });
    let parts = base.image(&elements);
    let options =
        PyramidOptions { chunks: Some(vec![8, 8]), parts: Some(3), ..by(PyramidMethod::Gaussian) };
    for part in [1, 2, 0] {
        plan_pyramid(&parts, &options).unwrap().run_part(part, &options).unwrap();
    }
    plan_pyramid(&parts, &options).unwrap().finish(&options).unwrap();
    assert_eq!(datasets(&whole).len(), 7);
    assert!(stored(whole.hierarchy(), "") == stored(parts.hierarchy(), ""));
}

/// What is missing is left out of windows.
#[test]
fn gaussian_levels_leave_out_what_is_missing() {
    let base = Base::new(&[40, 40], &[8, 8]);
    let elements: Vec<f32> = (0..1600).map(|n| if n % 5 == 0 { f32::NAN } else { 7.0 }).collect();
    let group = base.image(&elements);
    run(&group, &by(PyramidMethod::Gaussian));
    for number in 1..4 {
        let found = level(&group, number).read::<f32>(..).unwrap();
        assert!(found.iter().all(|it| (it - 7.0).abs() < 1e-5), "{found:?}");
    }
    let group = base.image(&elements);
    run(&group, &PyramidOptions { min_valid: 1.0, ..by(PyramidMethod::Gaussian) });
    let found = level(&group, 1).read::<f32>(..).unwrap();
    // The windows of the last column end before the next NaN.
    let is_due = |(n, it): (usize, &f32)| it.is_nan() == (n % 20 < 19);
    assert!(found.iter().enumerate().all(is_due), "{found:?}");
}

/// A journal is in the store, and may have been damaged there: it is refused, and nothing panics.
#[test]
fn a_damaged_journal_is_refused() {
    let base = Base { shards: Some(vec![16, 16]), ..Base::new(&[40, 50], &[8, 8]) };
    let group = base.image(&[5u8; 2000]);
    let options = PyramidOptions { parts: Some(2), ..by(Mean) };
    plan_pyramid(&group, &options).unwrap().run_part(0, &options).unwrap();
    let store = group.hierarchy().store().to_sync();
    let keys = store.list().unwrap();
    let key = keys.iter().find(|key| key.as_str().ends_with("/pyramid.json")).unwrap();
    let plan = String::from_utf8(store.value(key).unwrap().unwrap().to_vec()).unwrap();
    for (good, bad) in [
        ("\"tile\":[8,8]", "\"tile\":[7,8]"),
        ("\"tile\":[8,8]", "\"tile\":[8]"),
        ("\"tile\":[8,8]", "\"tile\":[0,8]"),
        ("\"root\":[16,16]", "\"root\":[8,16]"),
        ("\"root\":[16,16]", "\"root\":[18446744073709551608,16]"),
        ("\"path\":\"2\",\"steps\":[2,2]", "\"path\":\"2\",\"steps\":[3,2]"),
        ("\"steps\":[2,2]", "\"steps\":[4294967296,4294967296]"),
        ("\"part_level\":1", "\"part_level\":9"),
        ("\"zarr_pyramid\":1", "\"zarr_pyramid\":2"),
        ("\"method\":\"mean\"", "\"method\":\"luck\""),
        ("{", "["),
    ] {
        let damaged = plan.replacen(good, bad, 1);
        assert_ne!(damaged, plan, "{good} is not in {plan}");
        store.set(key, damaged.as_bytes().into()).unwrap();
        let error = plan_pyramid(&group, &options).map(drop).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidMetadata, "{bad}: {error}");
        assert!(error.hint().is_some_and(|hint| hint.contains("--restart")), "{error}");
    }
    store.set(key, plan.as_bytes().into()).unwrap();
    for part in [0, 1] {
        plan_pyramid(&group, &options).unwrap().run_part(part, &options).unwrap();
    }
    plan_pyramid(&group, &options).unwrap().finish(&options).unwrap();
    check::<u8>(&group, Mean, None, "after damages");
}

/// A note that a part is done holds while its chunks are there: the image may have been erased or renamed since, and another one have
/// its path, or a repair may have moved chunks away.
#[test]
fn a_part_whose_chunks_are_gone_is_made_again() {
    let sharded = Base { shards: Some(vec![16, 16]), ..Base::new(&[90, 80], &[8, 8]) };
    for base in [Base::new(&[90, 80], &[8, 8]), sharded] {
        for method in [Mean, Max, PyramidMethod::Gaussian] {
            let place = format!("{method:?} {base:?}");
            let elements: Vec<u16> = random(7200).into_iter().map(|n| n as u16).collect();
            let whole = base.image(&elements);
            run(&whole, &by(method));

            let calls = Calls::default();
            let group = base.image_in(&watched(&calls), "/image", &elements);
            let hierarchy = group.hierarchy();
            let options = PyramidOptions { parts: Some(2), ..by(method) };
            let make = |part| plan_pyramid(&group, &options).unwrap().run_part(part, &options);
            make(0).unwrap();
            make(1).unwrap();
            // What is there is not made again.
            calls.lock().unwrap().clear();
            make(0).unwrap();
            let is_read = |(_, key): &(String, String)| key.starts_with("image/0/c/");
            assert!(!calls.lock().unwrap().keys().any(is_read), "{place}");
            let store = hierarchy.store().to_sync();
            for gone in ["image/1/c/0/0", "image/1/c/2/1"] {
                store.erase(&StoreKey::new(gone).unwrap()).unwrap();
            }
            let finish = || plan_pyramid(&group, &options).unwrap().finish(&options);
            let refused = finish().unwrap_err();
            assert!(refused.to_string().contains("unfinished levels below"), "{place}: {refused}");
            make(0).unwrap();
            make(1).unwrap();
            finish().unwrap();
            assert!(stored(hierarchy, "") == stored(whole.hierarchy(), ""), "{place}");
        }
    }
}

/// What was made of elements of another type, or of another fill value, is no part of the levels.
#[test]
fn a_pyramid_goes_on_only_with_the_base_that_it_was_begun_for() {
    let base = Base::new(&[40, 40], &[8, 8]);
    let begun = || {
        let group = base.image(&[1u8; 1600]);
        let options = PyramidOptions { parts: Some(2), ..by(Mean) };
        plan_pyramid(&group, &options).unwrap().run_part(0, &options).unwrap();
        group
    };
    let resumed = |group: &Group| {
        let resume = PyramidOptions { resume: true, ..by(Mean) };
        plan_pyramid(group, &resume).map(drop).unwrap_err()
    };
    let replaced = |group: &Group, array: zarr_core::ArrayBuilder| {
        array.shape([40, 40]).chunks([8, 8]).overwrite(true).create().unwrap();
        resumed(group).to_string()
    };
    let group = begun();
    let error = replaced(&group, group.create_array("0").data_type_of::<u16>());
    assert!(error.contains("data type `uint16`, and had `uint8`"), "{error}");
    let group = begun();
    let error = replaced(&group, group.create_array("0").data_type_of::<u8>().fill_value(9));
    assert!(error.contains("the fill value of the array has changed"), "{error}");
    let group = begun();
    group.array("0").unwrap().resize([41, 40]).unwrap();
    let error = resumed(&group);
    assert!(error.to_string().contains("shape [41, 40], and had [40, 40]"), "{error}");
    assert!(error.hint().is_some_and(|hint| hint.contains("--restart")), "{error}");
}

/// A pyramid that goes on does so by the options with which it was begun, whatever is asked for then.
#[test]
fn a_pyramid_goes_on_by_its_own_options() {
    let base = Base::new(&[2, 400], &[1, 2]);
    let nan = f32::NAN;
    let floats = [1.0, nan, nan, nan].repeat(200);
    let integers = [3i16, 4, 4, 4].repeat(200);
    let text = |group: &Group| format!("{:?}", level(group, 1).read_bytes(..).unwrap());
    let options: [PyramidOptions<'_>; 3] = [
        PyramidOptions { keep_nan: true, ..by(Mean) },
        PyramidOptions { min_valid: 0.6, ..by(Mean) },
        PyramidOptions { rounding: PyramidRounding::TowardZero, ..by(Mean) },
    ];
    for options in options {
        let is_rounded = options.rounding != PyramidRounding::HalfEven;
        let image = || if is_rounded { base.image(&integers) } else { base.image(&floats) };
        let options = PyramidOptions { levels: Some(2), ..options };
        let whole = image();
        run(&whole, &options);
        let resumed = image();
        let parts = PyramidOptions { parts: Some(3), ..options.clone() };
        plan_pyramid(&resumed, &parts).unwrap().run_part(1, &parts).unwrap();
        run(&resumed, &PyramidOptions { resume: true, ..by(Min) });
        assert_eq!(text(&resumed), text(&whole));
        let other = image();
        run(&other, &PyramidOptions { levels: Some(2), ..by(Mean) });
        assert_ne!(text(&other), text(&whole), "the options make a difference");
    }
}

/// Of two that plan different levels of an image at the same time, one makes them.
#[test]
fn parts_of_different_plans_are_not_mixed() {
    let group = Base::new(&[40, 40], &[8, 8]).image(&[5u8; 1600]);
    let planned = [Mean, Max].map(|method| {
        let options = PyramidOptions { parts: Some(2), ..by(method) };
        (plan_pyramid(&group, &options).unwrap(), options)
    });
    let [(mean, of_mean), (max, of_max)] = planned;
    mean.run_part(0, &of_mean).unwrap();
    let error = max.run_part(1, &of_max).unwrap_err();
    assert!(error.to_string().contains("a different one"), "{error}");
    mean.run_part(1, &of_mean).unwrap();
    mean.finish(&of_mean).unwrap();
    check::<u8>(&group, Mean, None, "one of two plans");
}

/// An array that another program has created at the place of a level is no level, and stays.
#[test]
fn an_array_of_another_program_does_not_become_a_level() {
    let group = Base::new(&[40, 40], &[8, 8]).image(&[5u8; 1600]);
    let options = PyramidOptions { parts: Some(2), ..by(Mean) };
    let plan = plan_pyramid(&group, &options).unwrap();
    for part in [0, 1] {
        plan.run_part(part, &options).unwrap();
    }
    group.create_array("2").shape([3]).chunks([1]).data_type_of::<f64>().create().unwrap();
    let error = plan.finish(&options).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Exists, "{error}");
    assert_eq!(group.array("2").unwrap().shape(), [3]);
    assert_eq!(datasets(&group).len(), 1);
    group.erase("2").unwrap();
    plan_pyramid(&group, &options).unwrap().finish(&options).unwrap();
    check::<u8>(&group, Mean, None, "after the other array");
}
