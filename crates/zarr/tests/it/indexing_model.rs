//! A selection reads and writes what plain memory would hold, by every path and in every kind of array.
#![cfg(all(
    feature = "memory",
    feature = "ndarray",
    feature = "gzip",
    feature = "sharding",
    feature = "transpose",
    feature = "reshape",
    feature = "vlen-utf8"
))]

use crate::common::selections::{Case, Meant, Seeds, case, meant, seeds};
use bytemuck::{Pod, Zeroable};
use proptest::prelude::*;
use zarr::store::from_sync;
use zarr::stores::MemoryStore;
use zarr::{Array, Element};

fn created(case: &Case, data_type: &str) -> Array {
    case.create(from_sync(MemoryStore::new()), data_type)
}

/// What memory does.
struct Model<T> {
    shape: Vec<u64>,
    elements: Vec<T>,
}

impl<T: Element + PartialEq + std::fmt::Debug> Model<T> {
    fn at(&self, coordinates: &[u64]) -> usize {
        coordinates.iter().zip(&self.shape).fold(0, |at, (c, len)| at * *len as usize + *c as usize)
    }

    fn read(&self, meant: &Meant) -> Vec<T> {
        meant.coordinates.iter().map(|at| self.elements[self.at(at)].clone()).collect()
    }

    fn write(&mut self, meant: &Meant, elements: &[T]) {
        for (coordinates, element) in meant.coordinates.iter().zip(elements) {
            let at = self.at(coordinates);
            self.elements[at] = element.clone();
        }
    }
}

fn check<T: Element + PartialEq + std::fmt::Debug>(
    array: &Array,
    seeds: Vec<Seeds>,
    element: impl Fn(u64) -> T,
) -> Result<(), TestCaseError> {
    let shape = array.shape();
    let count: u64 = shape.iter().product();
    let mut model = Model { shape, elements: (0..count).map(&element).collect() };
    let waiting = array.hierarchy().as_async();
    let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
    let waiting = runtime.block_on(waiting.array(array.path())).expect("opened");
    array.write(.., &model.elements).expect("written");
    for (n, seeds) in seeds.into_iter().enumerate() {
        let meant = meant(array, seeds);
        let found =
            array.read_ndarray::<T, zarr::ndarray::IxDyn>(meant.selection.clone()).expect("read");
        let shape: Vec<u64> = found.shape().iter().map(|&len| len as u64).collect();
        prop_assert_eq!(&shape, &meant.shape);
        let due = model.read(&meant);
        prop_assert_eq!(found.into_raw_vec_and_offset().0, due.clone(), "{:?}", &meant);
        let found = runtime.block_on(waiting.read::<T>(meant.selection.clone())).expect("read");
        prop_assert_eq!(found, due.clone(), "{:?}", &meant);

        let elements: Vec<T> =
            (0..due.len() as u64).map(|at| element(1000 * (n as u64 + 1) + at)).collect();
        match n % 2 {
            0 => array.write(meant.selection.clone(), &elements).expect("written"),
            _ => runtime
                .block_on(waiting.write(meant.selection.clone(), elements.clone()))
                .expect("written"),
        }
        model.write(&meant, &elements);
        prop_assert_eq!(&array.read::<T>(..).expect("read"), &model.elements, "{:?}", &meant);
    }
    Ok(())
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Pod, Zeroable)]
#[repr(C, packed)]
struct Weather {
    wind: i16,
    height: f64,
}
zarr::record!(Weather { wind: i16, height: f64 });

proptest! {
    #[test]
    fn numbers_are_where_memory_has_them(case in case(), seeds in seeds()) {
        check(&created(&case, "<i4"), seeds, |n| n as i32)?;
    }

    /// Fill values come and go: whole chunks of them are not stored.
    #[test]
    fn few_values_are_where_memory_has_them(case in case(), seeds in seeds()) {
        check(&created(&case, "bool"), seeds, |n| n % 5 == 0)?;
    }

    #[test]
    fn texts_are_where_memory_has_them(case in case(), seeds in seeds()) {
        let text = |n: u64| "é".repeat(n as usize % 4) + &n.to_string();
        check(&created(&case, "string"), seeds, text)?;
    }

    /// The field of records, other fields staying as they are.
    #[test]
    fn fields_are_where_memory_has_them(case in case(), seeds in seeds()) {
        let array = created(&case, r#"[["wind","<i2"],["height",">f8"]]"#);
        let count: u64 = array.shape().iter().product();
        let all: Vec<Weather> =
            (0..count).map(|n| Weather { wind: n as i16, height: n as f64 }).collect();
        check(&array, seeds.clone(), |n| Weather { wind: n as i16, height: n as f64 })?;
        array.write(.., &all).expect("written");
        let meant = meant(&array, seeds[0].clone());
        let mut model = Model { shape: array.shape(), elements: all.iter().map(|w| w.height).collect() };
        let found = array.read_field::<f64>("height", meant.selection.clone()).expect("read");
        prop_assert_eq!(found, model.read(&meant));
        let elements: Vec<f64> = (0..meant.coordinates.len()).map(|n| -(n as f64)).collect();
        array.write_field("height", meant.selection.clone(), &elements).expect("written");
        model.write(&meant, &elements);
        prop_assert_eq!(array.read_field::<f64>("height", ..).expect("read"), model.elements);
        let winds: Vec<i16> = (0..count).map(|n| n as i16).collect();
        prop_assert_eq!(array.read_field::<i16>("wind", ..).expect("read"), winds);
    }
}
