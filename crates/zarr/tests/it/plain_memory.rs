//! Any sequence of writes, resizes and erasures gives what the same sequence gives in plain memory, in every
//! dialect, grid and order, through every codec, in shards of shards; and any region reads, by any road, as
//! the slice of the whole.
#![cfg(feature = "full")]

use std::fmt::Debug;
use std::sync::Arc;

use crate::common::{knowing, offset};
use proptest::prelude::*;
use zarr::format::of_dialect;
use zarr::grid::RectilinearGrid;
use zarr::store::from_sync;
use zarr::stores::MemoryStore;
use zarr::{Array, Dialect, Element, Hierarchy, Json, NodePath, Region};
use zarr_testkit::sample;

/// What may happen to an array. Places are fractions of what is there, in 1/64.
#[derive(Clone, Debug)]
enum Step<T> {
    Write {
        from: [u64; 3],
        to: [u64; 3],
        seed: T,
        waiting: bool,
    },
    Fill {
        from: [u64; 3],
        to: [u64; 3],
    },
    Resize([u64; 3]),
    Append {
        axis: usize,
        more: u64,
        seed: T,
    },
    /// Where the grid lets the array grow before its start.
    Prepend {
        axis: usize,
        more: u64,
        seed: T,
    },
    EraseChunk(u64),
}

/// Elements of one data type.
trait Sample: Element + Clone + PartialEq + Debug {
    const DATA_TYPE: &str;

    /// What makes bytes of them in final v3, and what may be done to them before: lossless all of it. The
    /// second half is known to v2, too, where they come in this byte order.
    const CODECS: (&[&str], &[&str]);

    fn json(&self) -> Json;

    /// Elements that differ from each other, some of them alike.
    fn several(seed: &Self, count: usize) -> Vec<Self>;
}

impl Sample for i32 {
    const DATA_TYPE: &str = "int32";
    const CODECS: (&[&str], &[&str]) = (
        &[
            r#"{"name":"bytes","configuration":{"endian":"little"}}"#,
            r#"{"name":"bytes","configuration":{"endian":"big"}}"#,
            r#"{"name":"packbits"}"#,
        ],
        &[
            r#"{"name":"numcodecs.delta","configuration":{"dtype":"<i4"}}"#,
            r#"{"name":"numcodecs.astype","configuration":{"encode_dtype":"<f8","decode_dtype":"<i4"}}"#,
            r#"{"name":"numcodecs.fixedscaleoffset","configuration":{"offset":-7,"scale":3,"dtype":"<i4"}}"#,
        ],
    );

    fn json(&self) -> Json {
        Json::from(i64::from(*self))
    }

    fn several(seed: &i32, count: usize) -> Vec<i32> {
        (0..count as i32).map(|n| seed + n % 5).collect()
    }
}

impl Sample for bool {
    const DATA_TYPE: &str = "bool";
    const CODECS: (&[&str], &[&str]) = (
        &[
            r#"{"name":"bytes"}"#,
            r#"{"name":"packbits","configuration":{"padding_encoding":"first_byte"}}"#,
        ],
        &[r#"{"name":"numcodecs.packbits"}"#],
    );

    fn json(&self) -> Json {
        Json::from(*self)
    }

    fn several(seed: &bool, count: usize) -> Vec<bool> {
        (0..count).map(|n| *seed != n.is_multiple_of(3)).collect()
    }
}

impl Sample for String {
    const DATA_TYPE: &str = "string";
    const CODECS: (&[&str], &[&str]) = (&[r#"{"name":"vlen-utf8"}"#], &[]);

    fn json(&self) -> Json {
        Json::from(self.as_str())
    }

    fn several(seed: &String, count: usize) -> Vec<String> {
        let one = |n: usize| if n.is_multiple_of(3) { seed.clone() } else { format!("{seed}{n}") };
        (0..count).map(one).collect()
    }
}

impl Sample for Vec<u8> {
    const DATA_TYPE: &str = "variable_length_bytes";
    const CODECS: (&[&str], &[&str]) = (&[r#"{"name":"vlen-bytes"}"#], &[]);

    /// Fill values are none or three bytes.
    fn json(&self) -> Json {
        Json::from(if self.is_empty() { "" } else { "AQID" })
    }

    fn several(seed: &Vec<u8>, count: usize) -> Vec<Vec<u8>> {
        (0..count)
            .map(|n| seed.iter().copied().cycle().take(n % 7 * seed.len()).collect())
            .collect()
    }
}

/// The array in plain memory: everything inside the shape.
struct Model<T> {
    shape: Vec<u64>,
    elements: Vec<T>,
    fill: T,
}

impl<T: Clone> Model<T> {
    fn new(shape: &[u64], fill: &T) -> Self {
        let elements = vec![fill.clone(); shape.iter().product::<u64>() as usize];
        Model { shape: shape.to_vec(), elements, fill: fill.clone() }
    }

    fn places(&self, region: &Region) -> Vec<usize> {
        let mut places = vec![0u64];
        for (axis, r) in region.intervals().iter().enumerate() {
            let len = self.shape[axis];
            places = places.iter().flat_map(|p| r.clone().map(move |c| p * len + c)).collect();
        }
        places.into_iter().map(|p| p as usize).collect()
    }

    fn read(&self, region: &Region) -> Vec<T> {
        self.places(region).into_iter().map(|p| self.elements[p].clone()).collect()
    }

    fn write(&mut self, region: &Region, elements: &[T]) {
        for (place, element) in self.places(region).into_iter().zip(elements) {
            self.elements[place] = element.clone();
        }
    }

    fn resize(&mut self, shape: &[u64]) {
        let kept = Region::new(self.shape.iter().zip(shape).map(|(a, b)| 0..*a.min(b)));
        let elements = self.read(&kept);
        *self = Model::new(shape, &self.fill);
        self.write(&kept, &elements);
    }

    fn region(&self, from: [u64; 3], to: [u64; 3]) -> Region {
        Region::new(self.shape.iter().zip(from.iter().zip(to)).map(|(&len, (&a, b))| {
            let (a, b) = (a.min(b) * len / 64, a.max(b) * len / 64);
            a..(b + 1).min(len)
        }))
    }
}

/// How an array is laid out; lengths are those of the innermost chunks, and how many each level has of them.
#[derive(Clone, Debug)]
struct Layout {
    dialect: Dialect,
    inner: [u64; 3],
    levels: Vec<Level>,
    innermost: Level,
    big_endian: bool,
    /// What makes bytes of elements in final v3, and what is done to them before, if anything.
    serializer: usize,
    before: Option<usize>,
    grid: Grid,
}

#[derive(Clone, Debug)]
enum Grid {
    Regular,
    /// How many of the innermost chunks or whole shards the chunks along the first axis are long.
    Rectilinear(Vec<u64>),
    /// Where the first element lies.
    Offset([i64; 3]),
}

/// One level of shards, or the innermost chunks.
#[derive(Clone, Debug)]
struct Level {
    times: [u64; 3],
    order: usize,
    at_start: bool,
    index: usize,
    codecs: Vec<usize>,
}

/// Codecs on bytes, and in which dialects they are: v3 and v2, or the draft, too.
const CODECS: [(&str, bool); 14] = [
    (r#"{"name":"gzip","configuration":{"level":1}}"#, true),
    (r#"{"name":"zstd","configuration":{"level":1,"checksum":false}}"#, true),
    (r#"{"name":"numcodecs.lz4","configuration":{"acceleration":1}}"#, true),
    (r#"{"name":"numcodecs.zlib","configuration":{"level":1}}"#, true),
    (r#"{"name":"numcodecs.bz2","configuration":{"level":1}}"#, true),
    (r#"{"name":"numcodecs.lzma","configuration":{"preset":0}}"#, true),
    (
        r#"{"name":"blosc","configuration":{"cname":"lz4","clevel":5,"shuffle":"shuffle","typesize":4,"blocksize":0}}"#,
        true,
    ),
    (r#"{"name":"crc32c"}"#, false),
    (r#"{"name":"numcodecs.crc32"}"#, false),
    (r#"{"name":"numcodecs.adler32"}"#, false),
    (r#"{"name":"numcodecs.fletcher32"}"#, false),
    (r#"{"name":"numcodecs.jenkins_lookup3"}"#, false),
    (r#"{"name":"numcodecs.shuffle","configuration":{"elementsize":4}}"#, false),
    (r#"{"name":"numcodecs.base64"}"#, false),
];

const INDEX_CODECS: [&str; 4] = [
    r#"{"name":"bytes","configuration":{"endian":"little"}},{"name":"crc32c"}"#,
    r#"{"name":"bytes","configuration":{"endian":"little"}}"#,
    r#"{"name":"bytes","configuration":{"endian":"big"}}"#,
    r#"{"name":"transpose","configuration":{"order":ORDER}},{"name":"bytes","configuration":{"endian":"big"}},{"name":"crc32c"}"#,
];

/// The orders of so many axes; the first leaves them as they are.
fn orders(rank: usize) -> Vec<Vec<usize>> {
    let mut orders = vec![vec![]];
    for axis in 0..rank {
        let with = |order: &Vec<usize>| {
            let insert = |at: usize| [&order[..at], &[axis], &order[at..]].concat();
            (0..=order.len()).rev().map(insert).collect::<Vec<_>>()
        };
        orders = orders.iter().flat_map(with).collect();
    }
    orders
}

impl Level {
    /// The level's codecs around what makes bytes, and the shape of its chunks before they are turned.
    fn around(&self, mut codecs: Vec<String>, shape: &[u64]) -> (Vec<String>, Vec<u64>) {
        let orders = orders(shape.len());
        let order = &orders[self.order % orders.len()];
        let mut before = shape.to_vec();
        order.iter().zip(shape).for_each(|(&axis, &len)| before[axis] = len);
        if !order.is_sorted() {
            let turn = format!(r#"{{"name":"transpose","configuration":{{"order":{order:?}}}}}"#);
            codecs.insert(0, turn);
        }
        codecs.extend(self.codecs.iter().map(|&n| CODECS[n % CODECS.len()].0.to_owned()));
        (codecs, before)
    }
}

impl Layout {
    /// All codecs in final v3's words, and the shape of chunks.
    fn chain(&self, bytes: &[String], rank: usize) -> (Vec<String>, Vec<u64>) {
        let (mut codecs, mut shape) = self.innermost.around(bytes.to_vec(), &self.inner[..rank]);
        for level in &self.levels {
            let location = if level.at_start { "start" } else { "end" };
            let turned: Vec<usize> = (0..=rank).rev().collect();
            let index = INDEX_CODECS[level.index].replace("ORDER", &format!("{turned:?}"));
            let (inner, list) = (&shape, codecs.join(","));
            let sharding = format!(
                r#"{{"name":"sharding_indexed","configuration":{{"chunk_shape":{inner:?},
                "codecs":[{list}],"index_codecs":[{index}],"index_location":"{location}"}}}}"#
            );
            let shards: Vec<u64> = shape.iter().zip(level.times).map(|(len, n)| len * n).collect();
            (codecs, shape) = level.around(vec![sharding], &shards);
        }
        (codecs, shape)
    }

    fn create<T: Sample>(&self, hierarchy: &Hierarchy, shape: &[u64], fill: &T) -> Array {
        let codec = |words: &str| zarr::tools::codec(words).expect("a codec");
        let mut builder = hierarchy.create_array(path()).shape(shape).fill_value(fill.json());
        builder = builder.data_type_named(T::DATA_TYPE);
        let (serializers, before) = T::CODECS;
        let before = self.before.filter(|_| !before.is_empty()).map(|n| before[n % before.len()]);
        let (codecs, chunks) = match self.dialect {
            Dialect::V3 => {
                let bytes = serializers[self.serializer % serializers.len()];
                let innermost: Vec<String> =
                    before.into_iter().chain([bytes]).map(Into::into).collect();
                self.chain(&innermost, shape.len())
            }
            Dialect::V2 => {
                builder = builder.f_order(self.innermost.order > 0);
                builder = builder.big_endian(self.big_endian && before.is_none());
                let codecs = self.innermost.codecs.iter().map(|n| CODECS[n % CODECS.len()].0);
                let codecs = before.into_iter().chain(codecs).map(Into::into).collect();
                (codecs, self.inner[..shape.len()].to_vec())
            }
            _ => {
                builder = builder.f_order(self.innermost.order > 0).big_endian(self.big_endian);
                let known = self.innermost.codecs.iter().map(|n| CODECS[n % CODECS.len()]);
                // A scalar is not compressed there.
                let known = known.filter(|(_, in_draft)| *in_draft && !shape.is_empty()).take(1);
                (known.map(|(words, _)| words.into()).collect(), self.inner[..shape.len()].to_vec())
            }
        };
        builder = codecs.iter().fold(builder.chunks(&chunks), |b, words| b.codec(codec(words)));
        match &self.grid {
            Grid::Rectilinear(runs) if self.dialect == Dialect::V3 && !shape.is_empty() => {
                let mut axes: Vec<Json> = chunks.iter().map(|&len| Json::from(len)).collect();
                let mut lengths: Vec<u64> = runs.iter().map(|n| n * chunks[0]).collect();
                lengths.push(100 * chunks[0]);
                axes[0] = Json::from(&lengths[..]);
                let grid = RectilinearGrid::new(&axes, shape).expect("a grid");
                builder = builder.grid(Arc::new(grid));
            }
            Grid::Offset(origin) if self.dialect != Dialect::V2 => {
                builder = builder.grid(offset(&chunks, &origin[..shape.len()], shape));
            }
            _ => {}
        }
        builder.create().expect("created")
    }

    fn grows_before_its_start(&self) -> bool {
        matches!(self.grid, Grid::Offset(_)) && self.dialect != Dialect::V2
    }
}

fn path() -> NodePath {
    NodePath::new("/a").expect("a path")
}

/// Where an array of this shape grows by so many along an axis, and its shape then.
fn growth(shape: &[u64], axis: usize, more: u64, at_start: bool) -> (Region, Vec<u64>) {
    let mut grown = shape.to_vec();
    grown[axis] += more;
    let mut place = Region::all(&grown).intervals().to_vec();
    place[axis] = if at_start { 0..more } else { shape[axis]..grown[axis] };
    (Region::new(place), grown)
}

fn apply<T: Sample>(
    layout: &Layout,
    array: &Array,
    model: &mut Model<T>,
    step: &Step<T>,
) -> zarr::Result<()> {
    let rank = model.shape.len();
    let count = |region: &Region| region.element_count().expect("few") as usize;
    match step {
        Step::Write { from, to, seed, waiting } => {
            let region = model.region(*from, *to);
            let elements = T::several(seed, count(&region));
            model.write(&region, &elements);
            if *waiting {
                wait(async {
                    let hierarchy = array.hierarchy().as_async();
                    hierarchy.array(&path()).await?.write(&region, elements).await
                })?;
            } else {
                array.write(&region, &elements)?;
            }
        }
        Step::Fill { from, to } => {
            let region = model.region(*from, *to);
            let elements = vec![model.fill.clone(); count(&region)];
            array.write(&region, &elements)?;
            model.write(&region, &elements);
        }
        Step::Resize(shape) => {
            array.resize(&shape[..rank])?;
            model.resize(&shape[..rank]);
        }
        Step::Append { axis, more, seed } if rank > 0 => {
            let (place, shape) = growth(&model.shape, axis % rank, *more, false);
            let elements = T::several(seed, count(&place));
            if !elements.is_empty() {
                assert_eq!(array.append(axis % rank, &elements)?, model.shape[axis % rank]);
                model.resize(&shape);
                model.write(&place, &elements);
            }
        }
        Step::Prepend { axis, more, seed } if rank > 0 => {
            let (place, shape) = growth(&model.shape, axis % rank, *more, true);
            let elements = T::several(seed, count(&place));
            if !layout.grows_before_its_start() {
                assert!(array.prepend(axis % rank, &elements).is_err());
            } else if !elements.is_empty() {
                array.prepend(axis % rank, &elements)?;
                let mut moved = Region::all(&shape).intervals().to_vec();
                moved[axis % rank].start = *more;
                let old = std::mem::replace(model, Model::new(&shape, &model.fill));
                model.write(&Region::new(moved), &old.elements);
                model.write(&place, &elements);
            }
        }
        Step::Append { .. } | Step::Prepend { .. } => {}
        Step::EraseChunk(place) => {
            let chunks = array.chunks(..)?.count() as u64;
            if let Some(mut chunk) = array.chunks(..)?.nth((place * chunks / 64) as usize) {
                chunk.erase()?;
                let region = chunk.region().clone();
                model.write(&region, &vec![model.fill.clone(); count(&region)]);
            }
        }
    }
    Ok(())
}

fn wait<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().build().expect("a runtime").block_on(future)
}

/// An array, what happens to it, and a part of it that is read each time.
#[derive(Clone, Debug)]
struct Case<T> {
    layout: Layout,
    shape: Vec<u64>,
    fill: T,
    steps: Vec<Step<T>>,
    part: ([u64; 3], [u64; 3]),
}

/// Does the steps; after each, all and a part are read: by the handle that writes, and by one that remembers
/// what it read before.
fn check<T: Sample>(case: &Case<T>) -> Result<(), TestCaseError> {
    let Case { layout, steps, part: (from, to), .. } = case;
    let (from, to) = (*from, *to);
    let mut model = Model::new(&case.shape, &case.fill);
    let mut options = knowing();
    let store = from_sync(MemoryStore::new());
    let hierarchy =
        Hierarchy::create(store.clone(), of_dialect(layout.dialect), &options).expect("created");
    let array = layout.create(&hierarchy, &case.shape, &case.fill);
    let reader = hierarchy.array(path()).expect("opened");
    options.options.index_memory = Some(0);
    let forgetful = Hierarchy::open(store, &options).expect("opened");
    for step in steps {
        apply(layout, &array, &mut model, step).expect("applied");
        prop_assert_eq!(array.shape(), model.shape.clone());
        let all = array.read::<T>(..).expect("read");
        prop_assert_eq!(&all, &model.elements, "after {:?}", step);
        let part = model.region(from, to);
        // A handle knows the array as it was when it was opened, or refreshed.
        if matches!(step, Step::Resize(_) | Step::Append { .. } | Step::Prepend { .. }) {
            reader.refresh().expect("refreshed");
        }
        prop_assert_eq!(reader.read::<T>(&part).expect("read"), model.read(&part));
    }
    let part = model.region(from, to);
    let expected = model.read(&part);
    let fresh = forgetful.array(path()).expect("opened");
    prop_assert_eq!(&fresh.read::<T>(&part).expect("read"), &expected);
    let mut memory = vec![model.fill.clone(); expected.len()];
    fresh.read_into(&part, &mut memory).expect("read");
    prop_assert_eq!(&memory, &expected);
    let read = fresh.read_ndarray::<T, zarr::ndarray::IxDyn>(&part).expect("read");
    prop_assert_eq!(&read.into_raw_vec_and_offset().0, &expected);
    let waited = wait(async {
        let hierarchy = hierarchy.as_async();
        let array = hierarchy.array(&path()).await?;
        array.read::<T>(&part).await?;
        array.read::<T>(&part).await
    });
    prop_assert_eq!(&waited.expect("read"), &expected);
    let bytes = fresh.read_bytes(&part).expect("read");
    array.write_bytes(&part, &bytes).expect("written");
    prop_assert_eq!(&array.read::<T>(..).expect("read"), &model.elements);
    let plan = array.write_plan(.., 3).expect("planned");
    let sum: u64 = plan.iter().map(|r| r.element_count().expect("few")).sum();
    prop_assert_eq!(sum as usize, model.elements.len());
    Ok(())
}

fn place() -> impl Strategy<Value = [u64; 3]> {
    [0u64..64, 0u64..64, 0u64..64]
}

fn step<T: Sample + 'static>(
    seed: impl Strategy<Value = T> + Clone,
) -> impl Strategy<Value = Step<T>> {
    let write = (place(), place(), seed.clone(), any::<bool>());
    let growth = move || (0usize..3, 1u64..5, seed.clone());
    prop_oneof![
        5 => write.prop_map(|(from, to, seed, waiting)| Step::Write { from, to, seed, waiting }),
        1 => (place(), place()).prop_map(|(from, to)| Step::Fill { from, to }),
        2 => [0u64..12, 0u64..12, 0u64..5].prop_map(Step::Resize),
        1 => growth().prop_map(|(axis, more, seed)| Step::Append { axis, more, seed }),
        1 => growth().prop_map(|(axis, more, seed)| Step::Prepend { axis, more, seed }),
        1 => (0u64..64).prop_map(Step::EraseChunk),
    ]
}

fn level() -> impl Strategy<Value = Level> {
    let codecs = prop_oneof![
        2 => Just(vec![]),
        1 => prop::collection::vec(0..CODECS.len(), 1..3),
    ];
    let order = prop_oneof![1 => Just(0), 1 => 0usize..6];
    ([1u64..4, 1u64..4, 1u64..3], order, any::<bool>(), 0..INDEX_CODECS.len(), codecs).prop_map(
        |(times, order, at_start, index, codecs)| Level { times, order, at_start, index, codecs },
    )
}

fn layout() -> impl Strategy<Value = Layout> {
    let dialect = prop_oneof![
        3 => Just(Dialect::V3),
        1 => Just(Dialect::V2),
        1 => Just(Dialect::Draft),
    ];
    let grid = prop_oneof![
        2 => Just(Grid::Regular),
        1 => prop::collection::vec(1u64..4, 1..5).prop_map(Grid::Rectilinear),
        1 => [-9i64..9, -9i64..9, -9i64..9].prop_map(Grid::Offset),
    ];
    let levels = prop::collection::vec(level(), 0..3);
    let codecs = (0usize..6, prop::option::weighted(0.3, 0usize..6), any::<bool>());
    (dialect, [1u64..5, 1u64..5, 1u64..3], levels, level(), codecs, grid).prop_map(
        |(dialect, inner, levels, innermost, (serializer, before, big_endian), grid)| Layout {
            dialect,
            inner,
            levels,
            innermost,
            big_endian,
            serializer,
            before,
            grid,
        },
    )
}

fn shape() -> impl Strategy<Value = Vec<u64>> {
    (prop_oneof![1 => 0usize..2, 5 => Just(2), 2 => Just(3)], [0u64..12, 0u64..12, 0u64..5])
        .prop_map(|(rank, lengths)| lengths[..rank].to_vec())
}

fn case<T: Sample + 'static>(
    seed: impl Strategy<Value = T> + Clone,
    fill: impl Strategy<Value = T>,
) -> impl Strategy<Value = Case<T>> {
    let steps = prop::collection::vec(step(seed), 1..12);
    (layout(), shape(), fill, steps, (place(), place()))
        .prop_map(|(layout, shape, fill, steps, part)| Case { layout, shape, fill, steps, part })
}

fn text() -> impl Strategy<Value = String> + Clone {
    prop_oneof![Just(String::new()), Just("fill".to_owned()), "[a-zé日]{0,9}"]
}

fn some_bytes() -> impl Strategy<Value = Vec<u8>> + Clone {
    prop_oneof![Just(vec![]), Just(vec![1, 2, 3]), prop::collection::vec(any::<u8>(), 0..9)]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(sample(64, 320)))]

    /// T-66.
    #[test]
    fn numbers_are_as_in_plain_memory(case in case(0i32..1000, -7i32..7)) {
        check(&case)?;
    }

    /// T-12, T-66.
    #[test]
    fn texts_are_as_in_plain_memory(case in case(text(), text())) {
        check(&case)?;
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(sample(32, 128)))]

    #[test]
    fn truths_are_as_in_plain_memory(case in case(any::<bool>(), any::<bool>())) {
        check(&case)?;
    }

    #[test]
    fn bytes_are_as_in_plain_memory(
        case in case(some_bytes(), prop_oneof![Just(vec![]), Just(vec![1, 2, 3])]),
    ) {
        check(&case)?;
    }
}
