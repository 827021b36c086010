//! Any sequence of writes, resizes and erasures gives what the same sequence gives in plain memory, in
//! every dialect; and any region reads as the slice of the whole.
#![cfg(all(feature = "memory", feature = "gzip"))]

use proptest::prelude::*;
use zarr::{Array, Dialect, Region};

const FILL: i32 = -7;

/// What may happen to an array. Places are fractions of what is there, in 1/64.
#[derive(Clone, Debug)]
enum Step {
    Write { from: Vec<u64>, to: Vec<u64>, value: i32 },
    Fill { from: Vec<u64>, to: Vec<u64> },
    Resize(Vec<u64>),
    Append { axis: usize, more: u64, value: i32 },
    EraseChunk(Vec<u64>),
}

/// The array in plain memory: everything inside the shape.
struct Model {
    shape: Vec<u64>,
    elements: Vec<i32>,
}

impl Model {
    fn new(shape: &[u64]) -> Self {
        Model {
            shape: shape.to_vec(),
            elements: vec![FILL; shape.iter().product::<u64>() as usize],
        }
    }

    fn places(&self, region: &Region) -> Vec<usize> {
        let mut places = vec![0u64];
        for (axis, r) in region.intervals().iter().enumerate() {
            let len = self.shape[axis];
            places = places.iter().flat_map(|p| r.clone().map(move |c| p * len + c)).collect();
        }
        places.into_iter().map(|p| p as usize).collect()
    }

    fn read(&self, region: &Region) -> Vec<i32> {
        self.places(region).into_iter().map(|p| self.elements[p]).collect()
    }

    fn write(&mut self, region: &Region, elements: &[i32]) {
        for (place, element) in self.places(region).into_iter().zip(elements) {
            self.elements[place] = *element;
        }
    }

    fn resize(&mut self, shape: &[u64]) {
        let kept = Region::new(self.shape.iter().zip(shape).map(|(a, b)| 0..*a.min(b)));
        let elements = self.read(&kept);
        *self = Model::new(shape);
        self.write(&kept, &elements);
    }
}

fn region(shape: &[u64], from: &[u64], to: &[u64]) -> Region {
    Region::new(shape.iter().zip(from.iter().zip(to)).map(|(&len, (&a, &b))| {
        let (a, b) = (a.min(b) * len / 64, a.max(b) * len / 64);
        a..(b + 1).min(len)
    }))
}

fn apply(array: &Array, model: &mut Model, step: &Step) -> zarr::Result<()> {
    match step {
        Step::Write { from, to, value } => {
            let region = region(&model.shape, from, to);
            let count = region.element_count().expect("small") as i32;
            let elements: Vec<i32> = (0..count).map(|n| value + n % 5).collect();
            array.write(&region, &elements)?;
            model.write(&region, &elements);
        }
        Step::Fill { from, to } => {
            let region = region(&model.shape, from, to);
            let elements = vec![FILL; region.element_count().expect("small") as usize];
            array.write(&region, &elements)?;
            model.write(&region, &elements);
        }
        Step::Resize(shape) => {
            array.resize(shape)?;
            model.resize(shape);
        }
        Step::Append { axis, more, value } => {
            let mut shape = model.shape.clone();
            let old = shape[*axis];
            shape[*axis] += more;
            let region = Region::new(shape.iter().enumerate().map(|(a, &len)| match a == *axis {
                true => old..len,
                false => 0..len,
            }));
            let elements = vec![*value; region.element_count().expect("small") as usize];
            if elements.is_empty() {
                return Ok(());
            }
            assert_eq!(array.append(*axis, &elements)?, old);
            model.resize(&shape);
            model.write(&region, &elements);
        }
        Step::EraseChunk(at) => {
            let chunks = array.chunk_shape().expect("regular");
            let indices: Vec<u64> =
                (0..2).map(|a| (at[a] * model.shape[a].div_ceil(chunks[a])) / 64).collect();
            if model.shape.contains(&0) {
                return Ok(());
            }
            let mut chunk = array.chunk(&indices)?;
            chunk.erase()?;
            let elements = vec![FILL; chunk.region().element_count().expect("small") as usize];
            model.write(&chunk.region().clone(), &elements);
        }
    }
    Ok(())
}

fn step() -> impl Strategy<Value = Step> {
    let place = || prop::collection::vec(0u64..64, 2);
    prop_oneof![
        4 => (place(), place(), 0i32..1000).prop_map(|(from, to, value)| Step::Write { from, to, value }),
        1 => (place(), place()).prop_map(|(from, to)| Step::Fill { from, to }),
        2 => prop::collection::vec(0u64..12, 2).prop_map(Step::Resize),
        1 => (0usize..2, 1u64..5, 0i32..1000).prop_map(|(axis, more, value)| Step::Append { axis, more, value }),
        1 => place().prop_map(Step::EraseChunk),
    ]
}

proptest! {
    #[test]
    fn an_array_behaves_as_memory_does(
        dialect in prop::sample::select(vec![Dialect::V2, Dialect::V3, Dialect::Draft]),
        shape in prop::collection::vec(0u64..12, 2),
        chunks in prop::collection::vec(1u64..6, 2),
        compress in any::<bool>(),
        f_order in any::<bool>(),
        steps in prop::collection::vec(step(), 1..12),
        from in prop::collection::vec(0u64..64, 2),
        to in prop::collection::vec(0u64..64, 2),
    ) {
        let hierarchy = zarr::create("memory://", dialect).expect("created");
        let mut builder = hierarchy
            .create_array(&"/a".parse().expect("a path"))
            .shape(&shape)
            .chunks(&chunks)
            .data_type_named("<i4")
            .f_order(f_order)
            .fill_value(i64::from(FILL));
        if compress {
            builder = builder.codec(zarr::codec("gzip:1").expect("a codec"));
        }
        let array = builder.create().expect("created");
        let mut model = Model::new(&shape);
        for step in &steps {
            apply(&array, &mut model, step).expect("applied");
            prop_assert_eq!(array.shape(), model.shape.clone());
            prop_assert_eq!(array.read::<i32>(..).expect("read"), model.elements.clone(), "after {:?}", step);
        }
        let part = region(&model.shape, &from, &to);
        prop_assert_eq!(array.read::<i32>(&part).expect("read"), model.read(&part));
        let plan = array.write_plan(.., 3).expect("planned");
        let sum: u64 = plan.iter().map(|r| r.element_count().expect("small")).sum();
        prop_assert_eq!(sum as usize, model.elements.len());
    }
}
