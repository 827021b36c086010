//! Arrays of every kind, selections of every kind, and the elements that these mean.

use std::sync::Arc;

use proptest::prelude::*;
use zarr::grid::{ChunkGrid, RectilinearGrid};
use zarr::store::Store;
use zarr::{Array, AxisSelection, Dialect, Json, Region, Selection, steps};

use super::{knowing, offset, path};

const NAMES: [&str; 3] = ["time", "lat", "lon"];

#[derive(Clone, Copy, Debug)]
pub enum Kind {
    Plain,
    FOrder,
    Sharded,
    ShardedFOrder,
    /// Shards in shards.
    Nested,
    /// A filter that does more than turn axes.
    Reshaped,
    Rectilinear,
    Offset,
}

/// An array, and what goes into it.
#[derive(Clone, Debug)]
pub struct Case {
    pub dialect: Dialect,
    pub kind: Kind,
    pub shape: Vec<u64>,
    pub chunks: Vec<u64>,
    pub origin: Vec<i64>,
    pub compress: bool,
    pub guard: bool,
}

impl Case {
    pub fn create(&self, store: Arc<dyn Store>, data_type: &str) -> Array {
        let format = zarr::format::of_dialect(self.dialect);
        let mut options = knowing();
        options.options.guard = if self.guard { zarr::Guard::On } else { zarr::Guard::Off };
        let hierarchy = zarr::Hierarchy::create(store, format, &options).expect("a new hierarchy");
        let array =
            hierarchy.create_array(path("/a")).shape(&self.shape).data_type_named(data_type);
        let array = array.dimension_names(NAMES[..self.shape.len()].iter().copied());
        let array = match self.kind {
            Kind::Plain => array.chunks(&self.chunks),
            Kind::FOrder => array.chunks(&self.chunks).f_order(true),
            Kind::Sharded | Kind::ShardedFOrder => {
                let shards: Vec<u64> = self.chunks.iter().map(|len| len * 2).collect();
                let f_order = matches!(self.kind, Kind::ShardedFOrder);
                array.chunks(&self.chunks).shards(&shards).f_order(f_order)
            }
            Kind::Nested => {
                let times = |n| self.chunks.iter().map(|len| len * n).collect::<Vec<u64>>();
                let serializer = match data_type {
                    "string" => r#"{"name":"vlen-utf8"}"#,
                    _ => r#"{"name":"bytes","configuration":{"endian":"little"}}"#,
                };
                let inner = format!(
                    r#"{{"name":"sharding_indexed","configuration":{{"chunk_shape":{:?},
                    "codecs":[{serializer}],"index_location":"start",
                    "index_codecs":[{{"name":"bytes","configuration":{{"endian":"big"}}}}]}}}}"#,
                    self.chunks
                );
                let inner = zarr::tools::codec(&inner).expect("a codec");
                array.chunks(&times(2)).shards(&times(4)).codec(inner)
            }
            Kind::Reshaped => {
                let flat = r#"{"name":"reshape","configuration":{"shape":[-1]}}"#;
                array.chunks(&self.chunks).codec(zarr::tools::codec(flat).expect("a codec"))
            }
            Kind::Rectilinear => {
                let axis = |(&len, &chunk): (&u64, &u64)| {
                    let first = format!("[1, {chunk}, [2, {}]]", len + 1);
                    Json::parse(first.as_bytes()).expect("a list of lengths")
                };
                let axes: Vec<Json> = self.shape.iter().zip(&self.chunks).map(axis).collect();
                let grid = RectilinearGrid::new(&axes, &self.shape).expect("a good grid");
                array.grid(Arc::new(grid) as Arc<dyn ChunkGrid>)
            }
            Kind::Offset => array.grid(offset(&self.chunks, &self.origin, &self.shape)),
        };
        let array = if self.compress {
            array.codec(zarr::tools::codec("gzip:1").expect("a codec"))
        } else {
            array
        };
        array.create().expect("created")
    }
}

pub fn case() -> impl Strategy<Value = Case> {
    let kind = prop_oneof![
        Just(Kind::Plain),
        Just(Kind::FOrder),
        Just(Kind::Sharded),
        Just(Kind::ShardedFOrder),
        Just(Kind::Nested),
        Just(Kind::Reshaped),
        Just(Kind::Rectilinear),
        Just(Kind::Offset),
    ];
    (kind, 0usize..4).prop_flat_map(|(kind, rank)| {
        let dialect = match kind {
            Kind::Plain | Kind::FOrder => vec![Dialect::V2, Dialect::V3, Dialect::Draft],
            Kind::Offset => vec![Dialect::V3, Dialect::Draft],
            _ => vec![Dialect::V3],
        };
        let shape = prop::collection::vec(prop_oneof![1 => Just(0u64), 12 => 1u64..9], rank);
        let chunks = prop::collection::vec(1u64..5, rank);
        let origin = prop::collection::vec(-4i64..4, rank);
        let flags = (any::<bool>(), any::<bool>());
        // The draft has no compressed scalars.
        let dialect = if rank == 0 { vec![Dialect::V3] } else { dialect };
        (prop::sample::select(dialect), shape, chunks, origin, flags).prop_map(
            move |(dialect, shape, chunks, origin, (compress, guard))| Case {
                dialect,
                kind,
                shape,
                chunks,
                origin,
                compress,
                guard,
            },
        )
    })
}

/// Numbers that a selection is made of.
pub type Seeds = Vec<u64>;

/// The elements that a selection means, in order; told without any of the library's own means.
#[derive(Clone, Debug)]
pub struct Meant {
    pub selection: Selection,
    pub coordinates: Vec<Vec<u64>>,
    pub shape: Vec<u64>,
}

/// What is meant of one axis: in the library's words, as numbers, and whether the axis stays.
fn along(len: u64, seeds: &mut impl FnMut() -> u64) -> (AxisSelection, Vec<u64>, bool) {
    let (from, to) = (seeds() % (len + 1), seeds() % (len + 1));
    let (from, to) = (from.min(to), from.max(to));
    match seeds() % 7 {
        0 => ((..).into(), (0..len).collect(), true),
        1 => ((from..to).into(), (from..to).collect(), true),
        2 if len > 0 => ((from.min(len - 1)).into(), vec![from.min(len - 1)], false),
        3 => {
            let step = seeds() % 4 + 1;
            let coordinates = (from..to).step_by(step as usize).collect();
            (steps(from..to, step as i64), coordinates, true)
        }
        4 => {
            let step = seeds() % 4 + 1;
            let coordinates = (from..to).rev().step_by(step as usize).collect();
            (steps(from..to, -(step as i64)), coordinates, true)
        }
        5 => {
            let mask: Vec<bool> = (0..len).map(|_| seeds().is_multiple_of(2)).collect();
            let coordinates = (0..len).filter(|&at| mask[at as usize]).collect();
            (mask.into(), coordinates, true)
        }
        _ => {
            let count = if len == 0 { 0 } else { seeds() % 7 };
            let list: Vec<u64> = (0..count).map(|_| seeds() % len).collect();
            (list.clone().into(), list, true)
        }
    }
}

fn product(axes: &[Vec<u64>]) -> Vec<Vec<u64>> {
    axes.iter().fold(vec![Vec::new()], |some, axis| {
        let longer = |start: &Vec<u64>| {
            let start = start.clone();
            axis.iter().map(move |&at| [&start[..], &[at]].concat()).collect::<Vec<_>>()
        };
        some.iter().flat_map(longer).collect()
    })
}

pub fn meant(array: &Array, seeds: Seeds) -> Meant {
    let shape = array.shape();
    let mut seeds = seeds.into_iter().cycle();
    let mut seeds = move || seeds.next().expect("there are some");
    let all: Vec<Vec<u64>> =
        product(&shape.iter().map(|&len| (0..len).collect()).collect::<Vec<_>>());
    let road = seeds() % 6;
    match road {
        // By points.
        0 if !shape.is_empty() => {
            let count = if all.is_empty() { 0 } else { seeds() % 40 };
            let points: Vec<Vec<u64>> =
                (0..count).map(|_| all[(seeds() % all.len() as u64) as usize].clone()).collect();
            let lists = (0..shape.len()).map(|a| points.iter().map(|p| p[a]).collect::<Vec<_>>());
            Meant { selection: Selection::points(lists), shape: vec![count], coordinates: points }
        }
        // By a mask of everything.
        1 => {
            let often = seeds() % 3;
            let mask: Vec<bool> = all.iter().map(|_| seeds() % 3 <= often).collect();
            let taken = all.iter().zip(&mask).filter(|(_, taken)| **taken);
            let coordinates: Vec<Vec<u64>> = taken.map(|(at, _)| at.clone()).collect();
            let selection = Selection::mask(&shape, mask);
            Meant { selection, shape: vec![coordinates.len() as u64], coordinates }
        }
        // By chunks.
        2 => {
            let chunks: Vec<Region> =
                array.chunks(..).expect("chunks").map(|chunk| chunk.region().clone()).collect();
            let (mut asked, mut axes) = (Vec::new(), Vec::new());
            for axis in 0..shape.len() {
                let mut borders: Vec<_> =
                    chunks.iter().map(|chunk| chunk.intervals()[axis].clone()).collect();
                borders.sort_by_key(|border| border.start);
                borders.dedup();
                let (selection, ordinals, _) = along(borders.len() as u64, &mut seeds);
                asked.push(selection);
                let border = |&n: &u64| borders[n as usize].clone();
                axes.push(ordinals.iter().flat_map(border).collect::<Vec<u64>>());
            }
            // Of an array that is empty along some axis, the others' chunks cannot be told so.
            if shape.contains(&0) {
                (asked, axes) =
                    (shape.iter().map(|_| (..).into()).collect(), vec![vec![]; shape.len()]);
                for (axis, &len) in axes.iter_mut().zip(&shape) {
                    *axis = (0..len).collect();
                }
            }
            let selection = Selection::blocks(Selection::outer(asked));
            let shape = axes.iter().map(|axis| axis.len() as u64).collect();
            Meant { selection, shape, coordinates: product(&axes) }
        }
        // Axis by axis, by number or by name.
        _ => {
            let (mut asked, mut axes, mut lengths) = (Vec::new(), Vec::new(), Vec::new());
            for &len in &shape {
                let (selection, coordinates, stays) = along(len, &mut seeds);
                asked.push(selection);
                lengths.extend(stays.then_some(coordinates.len() as u64));
                axes.push(coordinates);
            }
            let by_name = road == 3 && !shape.is_empty();
            let selection = if by_name {
                let mut named = asked.into_iter().zip(NAMES).rev();
                let (last, name) = named.next().expect("an axis");
                named
                    .fold(Selection::named(name, last), |named, (along, name)| {
                        named.and(name, along)
                    })
                    .into()
            } else {
                Selection::outer(asked)
            };
            Meant { selection, shape: lengths, coordinates: product(&axes) }
        }
    }
}

pub fn seeds() -> impl Strategy<Value = Vec<Seeds>> {
    prop::collection::vec(prop::collection::vec(0u64..1000, 1..24), 1..4)
}
