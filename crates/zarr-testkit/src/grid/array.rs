//! Checks that an array of a chunk grid is like plain memory, for any regions that are read and written.

use std::sync::Arc;

use super::check_alike;
use crate::memory::Home;
use crate::shared::{DIALECTS, Random, calm, good};
use zarr_core::data_type::CoreType;
use zarr_core::grid::ChunkGrid;
use zarr_core::view::{View, ViewMut};
use zarr_core::{Array, ArrayMetadata, Dialect, Json, Region, Registry};

/// The size of an element of the arrays.
const VAR_REF_SIZE: usize = 2;

/// Checks each dialect that the grid has metadata in.
pub(super) fn check(registry: &Registry, grid: &Arc<dyn ChunkGrid>, shape: &[u64]) {
    let mut spoken = 0;
    // In v2 a grid has no metadata.
    for dialect in DIALECTS.into_iter().filter(|&dialect| dialect != Dialect::V2) {
        let what = format!("{grid:?}: spelling in {dialect}");
        let Some(metadata) = calm(format_args!("{what}"), || grid.to_metadata(dialect)) else {
            continue;
        };
        spoken += 1;
        assert!(matches!(metadata, Json::Object(_)), "{what} is an object, not {metadata}");
        check_in(registry, grid, shape, dialect);
    }
    assert!(spoken > 0, "{grid:?}: it has words in v3 or in the drafts");
}

fn check_in(registry: &Registry, grid: &Arc<dyn ChunkGrid>, shape: &[u64], dialect: Dialect) {
    let what = format!("{grid:?}: an array in {dialect}");
    let one = vec![1; shape.len()];
    let metadata = ArrayMetadata::new(shape, CoreType::Uint16.into(), &one);
    let mut metadata = good(metadata, format_args!("{what}, described,"));
    metadata.grid = Some(grid.clone());
    let created = Home::create(registry, dialect, metadata);
    let (home, array) = good(created, format_args!("{what}, created,"));
    let mut model = Model::new(shape);
    let mut random = Random::new(1);
    let built = || good(home.open(registry), format_args!("{what}, opened again,"));
    let metadata = grid.to_metadata(dialect).map(|metadata| metadata.to_string());
    let again = built().metadata().grid.clone().unwrap_or_else(|| {
        let metadata = metadata.unwrap_or_default();
        panic!("{grid:?}: {metadata} names no grid that the registry knows")
    });
    check_alike(
        grid,
        &again,
        shape,
        &format!("{grid:?}: built again from its words in {dialect}, it"),
    );

    for round in 0..40 {
        model.write(&array, &random.region(shape), &mut random, &what);
        if round % 8 == 0 {
            model.read(&built(), &Region::all(shape), &what);
        }
        model.read(&array, &random.region(shape), &what);
    }
    model.write(&array, &Region::all(shape), &mut random, &what);
    model.read(&built(), &Region::all(shape), &what);
    for axis in 0..shape.len() {
        let count = random.below(5) + 1;
        if array.metadata().grid.as_ref().is_some_and(|g| g.grown_before(axis, count).is_some()) {
            model.prepend(&array, axis, count, &mut random, &what);
            let all = Region::all(&model.shape);
            model.read(&array, &all, &what);
            model.read(&built(), &all, &what);
            model.write(&array, &random.region(&model.shape), &mut random, &what);
            model.read(&built(), &all, &what);
        }
    }
}

impl Random {
    fn region(&mut self, shape: &[u64]) -> Region {
        let intervals = shape.iter().map(|len| {
            let (a, b) = (self.below(len + 1), self.below(len + 1));
            a.min(b)..a.max(b)
        });
        Region::new(intervals.collect::<Vec<_>>())
    }
}

/// The expected elements of an array.
struct Model {
    shape: Vec<u64>,
    elements: Vec<u8>,
}

impl Model {
    fn new(shape: &[u64]) -> Model {
        Model { shape: shape.to_vec(), elements: vec![0; size(shape)] }
    }

    fn write(&mut self, array: &Array, region: &Region, random: &mut Random, what: &str) {
        let elements = random.bytes(size(&region.shape()));
        let written = calm(format_args!("{what}, written in {region},"), || {
            array.write_bytes(region, &elements)
        });
        good(written, format_args!("{what}, written in {region},"));
        let model = ViewMut::new(&mut self.elements, &self.shape, VAR_REF_SIZE);
        model.part(region).copy_from(&View::new(&elements, &region.shape(), VAR_REF_SIZE));
    }

    fn read(&self, array: &Array, region: &Region, what: &str) {
        let what_is_read = format_args!("{what}, read in {region},");
        let found = calm(what_is_read, || array.read_bytes(region));
        let found = good(found, format_args!("{what}, read in {region},"));
        let due = View::new(&self.elements, &self.shape, VAR_REF_SIZE).part(region).to_bytes();
        assert!(found == *due, "{what}: elements in {region} are not those that were written");
    }

    fn prepend(&mut self, array: &Array, axis: usize, count: u64, random: &mut Random, what: &str) {
        let mut added = self.shape.clone();
        added[axis] = count;
        let elements = random.bytes(size(&added));
        let numbers: Vec<u16> =
            elements.as_chunks().0.iter().map(|pair| u16::from_ne_bytes(*pair)).collect();
        if numbers.is_empty() {
            return;
        }
        let grown = calm(format_args!("{what}, prepended,"), || array.prepend(axis, &numbers));
        good(grown, format_args!("{what}, prepended,"));
        let mut longer = self.shape.clone();
        longer[axis] += count;
        let mut all = vec![0; size(&longer)];
        let whole = ViewMut::new(&mut all, &longer, VAR_REF_SIZE);
        let (mut first, mut rest) = whole.split_at(axis, count);
        first.copy_from(&View::new(&elements, &added, VAR_REF_SIZE));
        rest.copy_from(&View::new(&self.elements, &self.shape, VAR_REF_SIZE));
        (self.shape, self.elements) = (longer, all);
    }
}

/// The size in bytes of an array of this shape.
fn size(shape: &[u64]) -> usize {
    shape.iter().product::<u64>() as usize * VAR_REF_SIZE
}
