//! Any sequence of writes, resizes and erasures of texts gives what the same sequence gives in plain
//! memory, in every dialect and order; and any region reads as the slice of the whole.
#![cfg(all(feature = "memory", feature = "gzip", feature = "transpose", feature = "vlen-utf8"))]

use proptest::prelude::*;
use std::sync::Arc;
use zarr::stores::MemoryStore;
use zarr::{Array, Dialect, Hierarchy, NodePath, OpenOptions, Region};

/// What may happen to an array. Places are fractions of what is there, in 1/16.
#[derive(Clone, Debug)]
enum Step {
    Write { from: [u64; 2], to: [u64; 2], text: String },
    Resize([u64; 2]),
    Append { axis: usize, text: String },
    EraseChunk([u64; 2]),
}

/// The array in plain memory: rows of texts.
struct Model {
    shape: [u64; 2],
    texts: Vec<String>,
    fill: String,
}

impl Model {
    fn new(shape: [u64; 2], fill: &str) -> Model {
        let texts = vec![fill.to_owned(); (shape[0] * shape[1]) as usize];
        Model { shape, texts, fill: fill.to_owned() }
    }

    fn places(&self, region: &Region) -> Vec<usize> {
        let [rows, columns] = region.intervals() else { panic!("two axes") };
        let width = self.shape[1];
        let place = |row: u64| columns.clone().map(move |column| (row * width + column) as usize);
        rows.clone().flat_map(place).collect()
    }

    fn read(&self, region: &Region) -> Vec<String> {
        self.places(region).into_iter().map(|place| self.texts[place].clone()).collect()
    }

    fn write(&mut self, region: &Region, texts: &[String]) {
        for (place, text) in self.places(region).into_iter().zip(texts) {
            self.texts[place].clone_from(text);
        }
    }

    fn resize(&mut self, shape: [u64; 2]) {
        let kept = Region::new(self.shape.iter().zip(shape).map(|(&a, b)| 0..a.min(b)));
        let texts = self.read(&kept);
        *self = Model::new(shape, &self.fill);
        self.write(&kept, &texts);
    }
}

fn region(shape: [u64; 2], from: [u64; 2], to: [u64; 2]) -> Region {
    Region::new((0..2).map(|axis| {
        let (a, b) = (from[axis].min(to[axis]), from[axis].max(to[axis]));
        a * shape[axis] / 16..(b * shape[axis] / 16 + 1).min(shape[axis])
    }))
}

/// Texts that differ from each other, some of them `text` itself.
fn several(text: &str, count: usize) -> Vec<String> {
    let one = |n: usize| if n.is_multiple_of(3) { text.to_owned() } else { format!("{text}{n}") };
    (0..count).map(one).collect()
}

fn apply(array: &Array, model: &mut Model, step: &Step) -> zarr::Result<()> {
    match step {
        Step::Write { from, to, text } => {
            let region = region(model.shape, *from, *to);
            let texts = several(text, region.element_count().expect("few") as usize);
            array.write(&region, &texts)?;
            model.write(&region, &texts);
        }
        Step::Resize(shape) => {
            array.resize(shape)?;
            model.resize(*shape);
        }
        Step::Append { axis, text } => {
            let mut shape = model.shape;
            shape[*axis] += 1;
            let texts = several(text, shape[1 - axis] as usize);
            if texts.is_empty() {
                return Ok(());
            }
            array.append(*axis, &texts)?;
            model.resize(shape);
            let mut last = [0..shape[0], 0..shape[1]];
            last[*axis].start = shape[*axis] - 1;
            model.write(&Region::new(last), &texts);
        }
        Step::EraseChunk(place) => {
            let chunks = array.chunks(..)?.count() as u64;
            if let Some(mut chunk) = array.chunks(..)?.nth((place[0] * chunks / 16) as usize) {
                chunk.erase()?;
                let region = chunk.region().clone();
                let count = region.element_count().expect("few") as usize;
                model.write(&region, &vec![model.fill.clone(); count]);
            }
        }
    }
    Ok(())
}

fn place() -> impl Strategy<Value = [u64; 2]> {
    [0u64..16, 0u64..16]
}

fn text() -> impl Strategy<Value = String> {
    prop_oneof![Just(String::new()), Just("fill".to_owned()), "[a-zé日]{0,9}"]
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => (place(), place(), text()).prop_map(|(from, to, text)| Step::Write { from, to, text }),
        1 => [0u64..12, 0u64..12].prop_map(Step::Resize),
        1 => (0usize..2, text()).prop_map(|(axis, text)| Step::Append { axis, text }),
        1 => place().prop_map(Step::EraseChunk),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, ..ProptestConfig::default() })]

    #[test]
    fn texts_are_as_in_plain_memory(
        dialect in prop_oneof![Just(Dialect::V3), Just(Dialect::V2), Just(Dialect::Draft)],
        shape in [0u64..12, 0u64..12],
        chunks in [1u64..6, 1u64..6],
        (f_order, gzip) in any::<(bool, bool)>(),
        fill in text(),
        steps in prop::collection::vec(step(), 1..12),
        (from, to) in (place(), place()),
    ) {
        let options = OpenOptions::new(zarr::standard()).read_write();
        let store = Arc::new(MemoryStore::new());
        let format = zarr::format::of_dialect(dialect);
        let hierarchy = Hierarchy::create(store, format, &options).unwrap();
        let path = NodePath::new("/a").unwrap();
        let mut builder = hierarchy.create_array(&path).shape(&shape).chunks(&chunks);
        builder = builder.data_type_named("string").fill_value(fill.as_str()).f_order(f_order);
        if gzip {
            builder = builder.codec(zarr::codec("gzip:1").unwrap());
        }
        let array = builder.create().unwrap();
        let mut model = Model::new(shape, &fill);
        for step in &steps {
            apply(&array, &mut model, step).unwrap();
            let found = array.read::<String>(..).unwrap();
            prop_assert_eq!(&found, &model.texts, "after {:?}", step);
        }
        let again = hierarchy.array(&path).unwrap();
        let part = region(model.shape, from, to);
        prop_assert_eq!(again.read::<String>(&part).unwrap(), model.read(&part));
        let stream = again.read_bytes(&part).unwrap();
        again.write_bytes(&part, &stream).unwrap();
        prop_assert_eq!(again.read::<String>(..).unwrap(), model.texts);
    }
}
