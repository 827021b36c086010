//! Chunks, shards and codecs that are given by the names of arrays and dimensions, or as sizes: what each array gets.

use std::collections::HashMap;

use zarr_core::metadata::ArrayMetadata;
use zarr_core::{AccessError, Dialect, Json, Node, NodePath, Object, Result};

use super::CopyOptions;
use super::choose::below;
use crate::ome::Levels;

/// How many bytes an element of variable length is taken to have.
const VARIABLE_BYTES: u64 = 256;

/// As a length of a [`ShapeRule`]: the whole axis, in one chunk.
pub const WHOLE_AXIS: u64 = u64::MAX;

/// Which arrays of a copy get other chunks (or shards), and which.
///
/// Of several rules the most specific counts, for each array and axis: [`ArrayDimension`](ShapeRule::ArrayDimension), then
/// [`Array`](ShapeRule::Array) and [`ArraySize`](ShapeRule::ArraySize), then [`Dimension`](ShapeRule::Dimension), then
/// [`Shape`](ShapeRule::Shape), then [`Size`](ShapeRule::Size). Of two rules for one array, that for its path, which has a
/// `/`, counts more than that for its name. Two rules that are equally specific must not differ.
///
/// Arrays are named by their name, for all arrays of that name, or with a `/` by their path from the copied node on. A
/// *coordinate* is an array with one axis, whose dimension has the array's name. Rules that do not name it leave it as it is,
/// but for [`Shape`](ShapeRule::Shape). The length [`WHOLE_AXIS`] is that of the array, of shards rounded up to whole chunks.
///
/// ```
/// use zarr_tools::{CopyOptions, ShapeRule};
///
/// // 100 along `time` wherever it is an axis; `t2m` has chunks of its own.
/// let chunk_rules = vec![
///     ShapeRule::Dimension { name: "time".into(), len: 100 },
///     ShapeRule::Array { array: "t2m".into(), shape: vec![1, 721, 1440] },
/// ];
/// let options = CopyOptions { chunk_rules, ..CopyOptions::default() };
/// # assert!(options.chunks.is_none());
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ShapeRule {
    /// All arrays with as many axes get this shape, as [`CopyOptions::chunks`] says it for one number of axes.
    Shape(Vec<u64>),
    /// All arrays but coordinates get chunks of at most this many bytes of elements. They have the aspect of the present
    /// ones; where these are no guide, since one chunk is the whole array or they have several lengths, they are as near to
    /// cubes as the array allows. Elements of variable length are taken to have 256 bytes.
    Size(u64),
    /// All arrays but coordinates get this length along the axes of this name, and keep the others. If no array has a
    /// dimension of this name, the rule is for arrays of this name with one axis.
    Dimension {
        /// The dimension.
        name: String,
        /// The length along it.
        len: u64,
    },
    /// An array gets this shape.
    Array {
        /// The array's name or path.
        array: String,
        /// A length for each of its axes.
        shape: Vec<u64>,
    },
    /// All arrays lose their shards: their chunks are stored by themselves. For shards only.
    NoShards,
    /// An array loses its shards, as by [`NoShards`](ShapeRule::NoShards).
    ArrayNoShards {
        /// The array's name or path.
        array: String,
    },
    /// An array gets chunks of at most this many bytes of elements, as by [`Size`](ShapeRule::Size).
    ArraySize {
        /// The array's name or path.
        array: String,
        /// The bytes.
        bytes: u64,
    },
    /// An array gets this length along one of its dimensions, and keeps the others.
    ArrayDimension {
        /// The array's name or path.
        array: String,
        /// The dimension.
        dimension: String,
        /// The length along it.
        len: u64,
    },
}

/// The codecs that an array gets, in place of [`CopyOptions::codecs`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CodecRule {
    /// The array's name or path, as in a [`ShapeRule`].
    pub array: String,
    /// Its codecs, as [`crate::codec()`] reads them; an empty list for none.
    pub codecs: Vec<String>,
}

impl ShapeRule {
    /// The rule as a plan has it.
    pub(super) fn to_json(&self) -> Json {
        let object = Object::new();
        let object = match self {
            ShapeRule::Shape(shape) => object.with("shape", &shape[..]),
            ShapeRule::Size(bytes) => object.with("size", *bytes),
            ShapeRule::NoShards => object.with("none", true),
            ShapeRule::ArrayNoShards { array } => {
                object.with("array", array.as_str()).with("none", true)
            }
            ShapeRule::Dimension { name, len } => {
                object.with("dimension", name.as_str()).with("len", *len)
            }
            ShapeRule::Array { array, shape } => {
                object.with("array", array.as_str()).with("shape", &shape[..])
            }
            ShapeRule::ArraySize { array, bytes } => {
                object.with("array", array.as_str()).with("size", *bytes)
            }
            ShapeRule::ArrayDimension { array, dimension, len } => object
                .with("array", array.as_str())
                .with("dimension", dimension.as_str())
                .with("len", *len),
        };
        object.into()
    }

    /// The rule that [`ShapeRule::to_json`] wrote.
    pub(super) fn from_json(json: &Json) -> Option<ShapeRule> {
        let object = json.as_object()?;
        let text = |name| object.get(name).and_then(Json::as_str).map(str::to_owned);
        let number = |name| object.get(name).and_then(Json::as_u64);
        let shape = match object.get("shape") {
            Some(shape) => {
                Some(shape.as_array()?.iter().map(Json::as_u64).collect::<Option<Vec<u64>>>()?)
            }
            None => None,
        };
        if object.get("none") == Some(&true.into()) {
            return Some(match text("array") {
                Some(array) => ShapeRule::ArrayNoShards { array },
                None => ShapeRule::NoShards,
            });
        }
        match (text("array"), text("dimension"), shape) {
            (None, None, Some(shape)) => Some(ShapeRule::Shape(shape)),
            (None, None, None) => Some(ShapeRule::Size(number("size")?)),
            (None, Some(name), None) => Some(ShapeRule::Dimension { name, len: number("len")? }),
            (Some(array), None, Some(shape)) => Some(ShapeRule::Array { array, shape }),
            (Some(array), None, None) => {
                Some(ShapeRule::ArraySize { array, bytes: number("size")? })
            }
            (Some(array), Some(dimension), None) => {
                Some(ShapeRule::ArrayDimension { array, dimension, len: number("len")? })
            }
            _ => None,
        }
    }
}

impl CodecRule {
    /// The rule as a plan has it.
    pub(super) fn to_json(&self) -> Json {
        let codecs: Json = self.codecs.iter().map(|text| Json::from(text.as_str())).collect();
        Object::new().with("array", self.array.as_str()).with("codecs", codecs).into()
    }

    /// The rule that [`CodecRule::to_json`] wrote.
    pub(super) fn from_json(json: &Json) -> Option<CodecRule> {
        let object = json.as_object()?;
        let codecs = object.get("codecs")?.as_array()?.iter();
        Some(CodecRule {
            array: object.get("array")?.as_str()?.to_owned(),
            codecs: codecs.map(|it| it.as_str().map(str::to_owned)).collect::<Option<_>>()?,
        })
    }
}

/// An array as the rules see it.
#[derive(Clone, Debug)]
pub(super) struct Subject {
    /// Its path in the source.
    pub path: NodePath,
    /// Its path from the copied node on, without a `/` before it.
    below: String,
    shape: Vec<u64>,
    /// The names of its axes; fewer if it has none.
    dimensions: Vec<Option<String>>,
    /// Bytes of an element in memory.
    element: u64,
    /// The chunks that are read, in shards the inner ones; `None` if they differ in shape.
    chunks: Option<Vec<u64>>,
    /// The longest chunk along each axis.
    extent: Vec<u64>,
    /// `None` if it has none.
    shards: Option<Vec<u64>>,
}

impl Subject {
    /// The array of this metadata at a path, below or at `base`, with these names of axes.
    pub fn new(
        base: &NodePath,
        path: &NodePath,
        metadata: &ArrayMetadata,
        dimensions: Vec<Option<String>>,
    ) -> Subject {
        let ty = &metadata.data_type;
        let size = ty.repr().map_or(1, |repr| repr.size() as u64);
        Subject {
            path: path.clone(),
            below: below(base, path).to_owned(),
            shape: metadata.shape.clone(),
            dimensions,
            element: if ty.is_variable() { VARIABLE_BYTES } else { size.max(1) },
            chunks: metadata.inner_chunk_shape(),
            extent: metadata.chunk_extent(),
            shards: metadata.shard_shape(),
        }
    }

    /// The arrays among some nodes, as a copy with these options has them.
    fn of_nodes(base: &NodePath, nodes: &[Node], options: &CopyOptions<'_>) -> Vec<Subject> {
        // In v2 an image names the axes of its levels.
        let levels = Levels::of(nodes);
        let arrays = nodes.iter().filter_map(Node::as_array);
        arrays
            .map(|array| {
                let metadata = array.metadata();
                let dimensions = metadata.dimension_names.clone().or_else(|| {
                    let axes = levels.axes(array.path(), metadata.rank())?;
                    Some(axes.iter().cloned().map(Some).collect())
                });
                let dimensions = dimensions.unwrap_or_default();
                let mut subject = Subject::new(base, array.path(), &metadata, dimensions);
                if let Some(region) = options.regions.get(array.path())
                    && region.len() == subject.shape.len()
                {
                    subject.shape = region.iter().map(|steps| steps.len).collect();
                }
                subject
            })
            .collect()
    }

    fn name(&self) -> Option<&str> {
        self.path.name()
    }

    fn rank(&self) -> usize {
        self.shape.len()
    }

    fn has_dimension(&self, name: &str) -> bool {
        self.dimensions.iter().flatten().any(|it| it == name)
    }

    /// Whether it is named like its only dimension.
    fn is_coordinate(&self) -> bool {
        match &self.dimensions[..] {
            [Some(dimension)] => self.rank() == 1 && self.name() == Some(dimension.as_str()),
            _ => false,
        }
    }

    /// How specific a name is for this array, if it is one of its names.
    fn called(&self, text: &str) -> Option<Specificity> {
        if text.contains('/') {
            return (self.below == text.trim_matches('/')).then_some(Specificity::Path);
        }
        let is_called = self.name() == Some(text) || self.below == text;
        is_called.then_some(Specificity::Name)
    }
}

/// How specifically a rule names an array.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Specificity {
    Size,
    Shape,
    Dimension,
    Name,
    Path,
}

impl Specificity {
    /// Whether the rule has the name of the array, or its path.
    fn names_array(self) -> bool {
        self >= Specificity::Name
    }
}

/// What is given for the shapes of one array.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Given {
    Shape(Vec<u64>),
    Size(u64),
    /// No shards.
    None,
}

/// The values of the most specific rules so far; two equally specific ones that differ are refused.
struct MostSpecific<T>(Option<(Specificity, T)>);

impl<T: PartialEq + Clone> MostSpecific<T> {
    fn offer(&mut self, specificity: Specificity, value: &T) -> std::result::Result<(), ()> {
        match &self.0 {
            Some((before, _)) if *before > specificity => Ok(()),
            Some((before, other)) if *before == specificity && other != value => Err(()),
            _ => {
                self.0 = Some((specificity, value.clone()));
                Ok(())
            }
        }
    }
}

/// What is shaped by rules.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum What {
    Chunks,
    Shards,
}

impl What {
    fn name(self) -> &'static str {
        match self {
            What::Chunks => "chunks",
            What::Shards => "shards",
        }
    }
}

/// What the rules give an array: lengths of single axes, and a shape or size for the others.
struct Wanted {
    whole: Option<Given>,
    /// Whether it is a shape for all arrays of the rank.
    is_for_all: bool,
    axes: Vec<Option<u64>>,
}

/// The rules for chunks or for shards, with what all arrays have of it.
struct Rules<'a> {
    what: What,
    rules: Vec<&'a ShapeRule>,
    all: Option<&'a Vec<u64>>,
    /// Whether the arrays have a dimension of the name that a rule gives.
    dimensions: HashMap<&'a str, bool>,
}

impl<'a> Rules<'a> {
    fn new(
        what: What,
        rules: &'a [ShapeRule],
        all: Option<&'a Vec<u64>>,
        subjects: &[Subject],
    ) -> Rules<'a> {
        let names = rules.iter().filter_map(|rule| match rule {
            ShapeRule::Dimension { name, .. } => Some(name.as_str()),
            _ => None,
        });
        let dimensions =
            names.map(|name| (name, subjects.iter().any(|it| it.has_dimension(name)))).collect();
        Rules { what, rules: rules.iter().collect(), all, dimensions }
    }

    fn is_dimension(&self, name: &str) -> bool {
        self.dimensions.get(name).copied().unwrap_or(false)
    }

    /// Refuses rules that fit none of the arrays.
    fn check(&self, base: &NodePath, subjects: &[Subject]) -> Result<()> {
        let what = self.what.name();
        for rule in &self.rules {
            match rule {
                ShapeRule::Size(_) => {}
                ShapeRule::NoShards | ShapeRule::ArrayNoShards { .. }
                    if self.what == What::Chunks =>
                {
                    return Err(argument("chunks have a shape; `none` is for shards".into()));
                }
                ShapeRule::NoShards => {}
                ShapeRule::Shape(shape) => {
                    if !subjects.iter().any(|it| it.rank() == shape.len()) {
                        let why = format!("{what} {}: no array has {}", list(shape), axes(shape));
                        return Err(argument(why));
                    }
                }
                ShapeRule::Dimension { name, .. } => {
                    let is_array = subjects.iter().any(|it| it.called(name).is_some());
                    if !self.is_dimension(name) && !is_array {
                        let why = format!("no array or dimension below {base} is named `{name}`");
                        return Err(unknown(what, why, name, subjects, true));
                    }
                }
                ShapeRule::Array { array, .. }
                | ShapeRule::ArraySize { array, .. }
                | ShapeRule::ArrayNoShards { array } => {
                    check_array(what, base, array, subjects)?;
                }
                ShapeRule::ArrayDimension { array, dimension, .. } => {
                    check_array(what, base, array, subjects)?;
                    let mut called = subjects.iter().filter(|it| it.called(array).is_some());
                    if !called.clone().any(|it| it.has_dimension(dimension)) {
                        let why = match called.next().map(names_of).unwrap_or_default() {
                            names if names.is_empty() => {
                                format!("the axes of array `{array}` have no names")
                            }
                            names => format!(
                                "array `{array}` has no dimension `{dimension}`, but {names}"
                            ),
                        };
                        return Err(argument(format!("{what}: {why}")));
                    }
                }
            }
        }
        Ok(())
    }

    /// What the rules give an array.
    fn wanted(&self, subject: &Subject) -> Result<Wanted> {
        let mut whole = MostSpecific(None);
        let mut lengths: Vec<MostSpecific<u64>> = Vec::new();
        lengths.resize_with(subject.rank(), || MostSpecific(None));
        let is_coordinate = subject.is_coordinate();
        if let Some(shape) = self.all.filter(|shape| shape.len() == subject.rank()) {
            let given = Given::Shape(shape.clone());
            whole
                .offer(Specificity::Shape, &given)
                .map_err(|()| self.given_twice(subject, None))?;
        }
        for rule in &self.rules {
            let offered = match rule {
                ShapeRule::Size(_) if is_coordinate => continue,
                ShapeRule::Size(bytes) => Some((Specificity::Size, Given::Size(*bytes))),
                ShapeRule::NoShards => Some((Specificity::Size, Given::None)),
                ShapeRule::ArrayNoShards { array } => {
                    subject.called(array).map(|called| (called, Given::None))
                }
                ShapeRule::Shape(shape) if shape.len() == subject.rank() => {
                    Some((Specificity::Shape, Given::Shape(shape.clone())))
                }
                ShapeRule::Shape(_) => None,
                ShapeRule::Dimension { name, len } if !self.is_dimension(name) => {
                    subject.called(name).map(|called| (called, Given::Shape(vec![*len])))
                }
                ShapeRule::Array { array, shape } => {
                    subject.called(array).map(|called| (called, Given::Shape(shape.clone())))
                }
                ShapeRule::ArraySize { array, bytes } => {
                    subject.called(array).map(|called| (called, Given::Size(*bytes)))
                }
                ShapeRule::Dimension { .. } | ShapeRule::ArrayDimension { .. } => None,
            };
            if let Some((specificity, given)) = offered {
                whole.offer(specificity, &given).map_err(|()| self.given_twice(subject, None))?;
            }
            let (specificity, dimension, len) = match rule {
                ShapeRule::Dimension { name, len } if !is_coordinate => {
                    (Some(Specificity::Dimension), name, len)
                }
                ShapeRule::ArrayDimension { array, dimension, len } => {
                    (subject.called(array), dimension, len)
                }
                _ => continue,
            };
            let Some(specificity) = specificity else { continue };
            for (axis, name) in subject.dimensions.iter().enumerate() {
                if name.as_ref() == Some(dimension)
                    && let Some(length) = lengths.get_mut(axis)
                {
                    length
                        .offer(specificity, len)
                        .map_err(|()| self.given_twice(subject, Some(dimension)))?;
                }
            }
        }
        if let Some((_, Given::Shape(shape))) = &whole.0
            && shape.len() != subject.rank()
        {
            let (what, given) = (self.what.name(), axes(shape));
            let due = axes(&subject.shape);
            let why = format!("{what} of {given} for {}, which has {due}", subject.path);
            return Err(argument(why));
        }
        let is_whole_named = whole.0.as_ref().is_some_and(|(it, _)| it.names_array());
        let axes = lengths.into_iter().map(|length| {
            let (specificity, len) = length.0?;
            // A shape for this array counts more than a length for all that have the dimension.
            (specificity.names_array() || !is_whole_named).then_some(len)
        });
        let mut axes: Vec<Option<u64>> = axes.collect();
        // Shards become whole axes once their chunks are known.
        if self.what == What::Chunks {
            let lengths = axes.iter_mut().zip(&subject.shape);
            lengths.for_each(|(len, &all)| *len = len.map(|len| length(len, all, 1)));
            if let Some((_, Given::Shape(shape))) = &mut whole.0 {
                resolve(shape, &subject.shape, None);
            }
        }
        let is_for_all = matches!(&whole.0, Some((Specificity::Shape, _)));
        Ok(Wanted { whole: whole.0.map(|(_, given)| given), is_for_all, axes })
    }

    /// The error of two lengths that count the same, of an array or along one of its dimensions.
    fn given_twice(&self, subject: &Subject, dimension: Option<&str>) -> zarr_core::Error {
        let what = self.what.name();
        let along = dimension.map_or(String::new(), |name| format!(" along `{name}`"));
        argument(format!("two different {what}{along} are given for {}", subject.path))
    }
}

/// A length that was given, or that of the whole axis in pieces of `unit`.
fn length(given: u64, axis: u64, unit: u64) -> u64 {
    match given {
        WHOLE_AXIS => axis.max(1).div_ceil(unit.max(1)).saturating_mul(unit.max(1)),
        given => given,
    }
}

/// Replaces lengths of whole axes by those of the array, rounded up to whole chunks if there are some.
fn resolve(lengths: &mut [u64], shape: &[u64], chunks: Option<&[u64]>) {
    for (axis, (len, &all)) in lengths.iter_mut().zip(shape).enumerate() {
        let unit = chunks.and_then(|chunks| chunks.get(axis)).copied();
        *len = length(*len, all, unit.unwrap_or(1));
    }
}

impl Wanted {
    /// The chunks that an array gets; `None` if the rules say nothing of them.
    fn chunks(&self, subject: &Subject) -> Result<Option<Vec<u64>>> {
        match &self.whole {
            Some(Given::Shape(shape)) => Ok(Some(self.overlaid(shape))),
            Some(Given::Size(bytes)) => {
                // A single chunk has the aspect of the array, which says nothing of how it is read.
                let aspect = subject
                    .chunks
                    .clone()
                    .filter(|chunks| !chunks.iter().zip(&subject.shape).all(|(c, len)| c >= len));
                let aspect = aspect.unwrap_or_else(|| vec![1; subject.rank()]);
                let elements = bytes / subject.element;
                Ok(Some(lengths_within(elements, &aspect, &subject.shape, &self.axes)))
            }
            Some(Given::None) | None if self.axes.iter().all(Option::is_none) => Ok(None),
            Some(Given::None) | None => {
                match (&subject.chunks, self.axes.iter().copied().collect()) {
                    (Some(chunks), _) => Ok(Some(self.overlaid(chunks))),
                    (None, Some(given)) => Ok(Some(given)),
                    // Along the other axes they have one length, or are as long as the longest.
                    (None, None) => Ok(Some(self.overlaid(&subject.extent))),
                }
            }
        }
    }

    /// The shape, with the lengths that are given along single axes.
    fn overlaid(&self, shape: &[u64]) -> Vec<u64> {
        shape.iter().zip(&self.axes).map(|(&len, given)| given.unwrap_or(len)).collect()
    }

    /// The shards that an array with these chunks gets; `None` if the rules say nothing of them.
    fn shards(&self, subject: &Subject, chunks: &[u64]) -> Option<Vec<u64>> {
        let present = subject.shards.as_deref().unwrap_or(chunks);
        match &self.whole {
            Some(Given::Shape(shape)) => Some(self.overlaid_shards(shape, subject, chunks)),
            Some(Given::Size(bytes)) => {
                // Shards are made of whole chunks, so it is chunks that are counted.
                let chunk =
                    chunks.iter().fold(subject.element, |all, len| all.saturating_mul(*len));
                let fixed = self.axes.iter().zip(chunks).zip(&subject.shape);
                let fixed: Vec<Option<u64>> = fixed
                    .map(|((given, &chunk), &all)| {
                        Some(length((*given)?, all, chunk).div_ceil(chunk))
                    })
                    .collect();
                let (aspect, most) =
                    (chunks_along(present, chunks), chunks_along(&subject.shape, chunks));
                let counts = lengths_within(bytes / chunk.max(1), &aspect, &most, &fixed);
                let lengths = counts.iter().zip(chunks).map(|(n, chunk)| n.saturating_mul(*chunk));
                // What was given to the letter stays, so that a length that is no multiple is refused.
                let lengths = lengths.collect::<Vec<u64>>();
                Some(self.overlaid_shards(&lengths, subject, chunks))
            }
            Some(Given::None) | None if self.axes.iter().all(Option::is_none) => None,
            Some(Given::None) | None => Some(self.overlaid_shards(present, subject, chunks)),
        }
    }

    /// As [`Self::overlaid`] of shards, whose lengths may be given as the whole axis.
    fn overlaid_shards(&self, shape: &[u64], subject: &Subject, chunks: &[u64]) -> Vec<u64> {
        let mut lengths = self.overlaid(shape);
        resolve(&mut lengths, &subject.shape, Some(chunks));
        lengths
    }
}

/// How many chunks there are along each axis.
fn chunks_along(lengths: &[u64], chunks: &[u64]) -> Vec<u64> {
    lengths.iter().zip(chunks).map(|(len, chunk)| len.div_ceil(*chunk)).collect()
}

/// Lengths whose product is at most `elements`, or else 1 on each free axis: in proportion to `aspect`, none longer than
/// the array. Given lengths stay.
fn lengths_within(elements: u64, aspect: &[u64], shape: &[u64], given: &[Option<u64>]) -> Vec<u64> {
    let taken = given.iter().flatten().fold(1u64, |all, len| all.saturating_mul(*len));
    let room = (elements / taken.max(1)).max(1) as f64;
    // The product grows with the scale, so the largest scale that fits is found by halving.
    let (mut fits, mut too_large) = (0.0, shape.iter().copied().max().unwrap_or(1).max(1) as f64);
    if scaled(aspect, shape, given, too_large).iter().product::<f64>() <= room {
        fits = too_large;
    }
    for _ in 0..100 {
        let middle = (fits + too_large) / 2.0;
        if scaled(aspect, shape, given, middle).iter().product::<f64>() <= room {
            fits = middle;
        } else {
            too_large = middle;
        }
    }
    // A cube of 10⁶ elements is found as 99.999…
    let nearly = 1e-6;
    let lengths = scaled(aspect, shape, given, fits);
    let rounded: Vec<u64> = lengths.iter().map(|len| (len + nearly).floor() as u64).collect();
    let is_within = rounded.iter().map(|&len| len as f64).product::<f64>() <= room;
    let free = if is_within { rounded } else { lengths.iter().map(|&len| len as u64).collect() };
    let mut free = free.into_iter();
    given.iter().map(|given| given.or_else(|| free.next()).unwrap_or(1)).collect()
}

/// The aspect times a scale, along the axes whose length is not given.
fn scaled(aspect: &[u64], shape: &[u64], given: &[Option<u64>], scale: f64) -> Vec<f64> {
    let axes = aspect.iter().zip(shape).zip(given);
    let free = axes.filter(|(_, given)| given.is_none());
    free.map(|((aspect, len), _)| {
        (scale * (*aspect).max(1) as f64).clamp(1.0, (*len).max(1) as f64)
    })
    .collect()
}

/// What one array of a copy gets.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Layout {
    pub chunks: Option<Vec<u64>>,
    pub shards: Option<Vec<u64>>,
    pub codecs: Option<Vec<String>>,
}

/// What the arrays of a copy get.
#[derive(Debug, Default)]
pub(super) struct Layouts {
    of_arrays: HashMap<NodePath, Layout>,
    pub notes: Vec<String>,
}

impl Layouts {
    /// What the options give the arrays among these nodes, which are those of the copy.
    ///
    /// # Errors
    /// [`AccessError::Argument`] for rules that fit no array, contradict each other, or fit an array of another rank.
    pub fn of_nodes(
        base: &NodePath,
        nodes: &[Node],
        target: Dialect,
        options: &CopyOptions<'_>,
    ) -> Result<Layouts> {
        Layouts::new(base, &Subject::of_nodes(base, nodes, options), target, options)
    }

    /// As [`Layouts::of_nodes`], of arrays that are described already.
    pub fn new(
        base: &NodePath,
        subjects: &[Subject],
        target: Dialect,
        options: &CopyOptions<'_>,
    ) -> Result<Layouts> {
        let (chunks, shards) = (options.chunks.as_ref(), options.shards.as_ref());
        let of_chunks = Rules::new(What::Chunks, &options.chunk_rules, chunks, subjects);
        let of_shards = Rules::new(What::Shards, &options.shard_rules, shards, subjects);
        of_chunks.check(base, subjects)?;
        of_shards.check(base, subjects)?;
        for rule in &options.codec_rules {
            check_array("codecs", base, &rule.array, subjects)?;
        }
        let mut layouts = Layouts::default();
        for subject in subjects {
            let wanted = of_chunks.wanted(subject)?;
            let mut layout = Layout {
                chunks: wanted.chunks(subject)?,
                shards: None,
                codecs: codecs_of(subject, options)?,
            };
            let shards = of_shards.wanted(subject)?;
            // A shape for all says that chunks are stored by themselves, unless shards are given, too.
            let leaves_shards = (wanted.is_for_all || shards.whole == Some(Given::None))
                && subject.shards.is_some();
            if leaves_shards && layout.chunks.is_none() {
                layout.chunks.clone_from(&subject.chunks);
            }
            if layout.chunks == subject.chunks && !leaves_shards {
                layout.chunks = None;
            }
            let chunks = layout.chunks.as_ref().or(subject.chunks.as_ref());
            if let Some(chunks) = chunks {
                if chunks.contains(&0) {
                    let why = format!("{}: invalid chunk length 0; the minimum is 1", subject.path);
                    return Err(argument(why));
                }
                layout.shards = shards.shards(subject, chunks);
            }
            if !leaves_shards {
                layouts.keep_shards(subject, &mut layout, target);
            }
            layouts.note_coordinate(subject, &of_chunks);
            layouts.note_coordinate(subject, &of_shards);
            layouts.of_arrays.insert(subject.path.clone(), layout);
        }
        Ok(layouts)
    }

    /// Shards that no rule is about stay, if they are made of whole chunks of the copy.
    fn keep_shards(&mut self, subject: &Subject, layout: &mut Layout, target: Dialect) {
        let Some(present) = subject.shards.as_ref().filter(|_| target == Dialect::V3) else {
            return;
        };
        if layout.shards.as_ref() == Some(present)
            && layout.chunks.is_none()
            && layout.codecs.is_none()
        {
            // Nothing is changed, so nothing is asked for.
            layout.shards = None;
        }
        if layout.shards.is_some() || layout.chunks.is_none() && layout.codecs.is_none() {
            return;
        }
        let chunks = layout.chunks.as_ref().or(subject.chunks.as_ref());
        let is_whole = chunks.is_some_and(|chunks| {
            present.iter().zip(chunks).all(|(shard, chunk)| shard.is_multiple_of(*chunk))
        });
        if is_whole {
            layout.shards = Some(present.clone());
            return;
        }
        let (path, shards) = (&subject.path, list(present));
        let why = format!("its shards of {shards} are not made of whole chunks of the copy");
        self.notes.push(format!("{path}: {why}, which has none; `--shards` gives it others"));
    }

    /// A coordinate that keeps what the arrays with its dimension get otherwise.
    fn note_coordinate(&mut self, subject: &Subject, rules: &Rules<'_>) {
        if !subject.is_coordinate() {
            return;
        }
        let of_dimension = rules.rules.iter().find_map(|rule| match rule {
            ShapeRule::Dimension { name, len } if subject.has_dimension(name) => Some((name, *len)),
            _ => None,
        });
        let Some((name, len)) = of_dimension else { return };
        let is_named = rules.rules.iter().any(|rule| match rule {
            ShapeRule::Array { array, .. }
            | ShapeRule::ArraySize { array, .. }
            | ShapeRule::ArrayDimension { array, .. } => subject.called(array).is_some(),
            ShapeRule::Shape(shape) => shape.len() == 1,
            _ => false,
        });
        let present = match rules.what {
            What::Chunks => &subject.chunks,
            What::Shards => &subject.shards,
        };
        if is_named || rules.all.is_some_and(|all| all.len() == 1) || *present == Some(vec![len]) {
            return;
        }
        let (path, what) = (&subject.path, rules.what.name());
        let len = if len == WHOLE_AXIS { "-1".to_owned() } else { len.to_string() };
        let how = format!("`--{what} {name}:{name}={len}` gives it others");
        self.notes.push(format!("{path}: the coordinate keeps its {what}; {how}"));
    }

    /// What an array gets.
    pub fn get(&self, path: &NodePath) -> Option<&Layout> {
        self.of_arrays.get(path)
    }

    /// The options for one array, in which what it gets is what they give to all.
    pub fn options_of<'a>(&self, path: &NodePath, options: &CopyOptions<'a>) -> CopyOptions<'a> {
        let layout = self.of_arrays.get(path).cloned().unwrap_or_default();
        CopyOptions {
            chunks: layout.chunks,
            shards: layout.shards,
            codecs: layout.codecs,
            chunk_rules: Vec::new(),
            shard_rules: Vec::new(),
            codec_rules: Vec::new(),
            strict: options.strict,
            skip_unsupported: options.skip_unsupported,
            memory: options.memory,
            regions: options
                .regions
                .get(path)
                .map(|it| (path.clone(), it.clone()))
                .into_iter()
                .collect(),
            recode: options.recode,
            keep_keys: options.keep_keys,
            keep_attributes: options.keep_attributes,
            // What chooses among nodes may be long, and says nothing of this one.
            ..CopyOptions::default()
        }
    }
}

/// The codecs that an array gets, if the options say something of them.
fn codecs_of(subject: &Subject, options: &CopyOptions<'_>) -> Result<Option<Vec<String>>> {
    let mut codecs = MostSpecific(None);
    for rule in &options.codec_rules {
        if let Some(specificity) = subject.called(&rule.array) {
            codecs
                .offer(specificity, &rule.codecs)
                .map_err(|()| argument(format!("duplicate codecs for {}", subject.path)))?;
        }
    }
    Ok(codecs.0.map(|(_, codecs)| codecs).or_else(|| options.codecs.clone()))
}

fn check_array(what: &str, base: &NodePath, array: &str, subjects: &[Subject]) -> Result<()> {
    if subjects.iter().any(|it| it.called(array).is_some()) {
        return Ok(());
    }
    let why = format!("no array below {base} is named `{array}`");
    Err(unknown(what, why, array, subjects, false))
}

/// The error of a name that is none, with those that there are.
fn unknown(
    what: &str,
    why: String,
    name: &str,
    subjects: &[Subject],
    with_dimensions: bool,
) -> zarr_core::Error {
    let mut known: Vec<&str> = Vec::new();
    for subject in subjects {
        known.push(&subject.below);
        known.extend(subject.name());
        if with_dimensions {
            known.extend(subject.dimensions.iter().flatten().map(String::as_str));
        }
    }
    known.retain(|name| !name.is_empty());
    known.sort_unstable();
    known.dedup();
    let near = zarr_core::did_you_mean(name.trim_matches('/'), known.iter().copied());
    let hint = match near {
        Some(near) => format!("; did you mean `{near}`?"),
        None if known.is_empty() => String::new(),
        None => {
            let more = if known.len() > MAX_LISTED { ", …" } else { "" };
            let listed: Vec<String> =
                known.iter().take(MAX_LISTED).map(|name| format!("`{name}`")).collect();
            format!("; there are {}{more}", listed.join(", "))
        }
    };
    // As those of OME-Zarr 0.4, whose axes are in the attributes of their group.
    let have_no_names = with_dimensions
        && subjects.iter().all(|subject| subject.dimensions.iter().all(Option::is_none));
    let shape = if have_no_names {
        "; the axes of the arrays have no names: give a length for each axis, as in 1,64,64"
    } else {
        ""
    };
    argument(format!("{what}: {why}{hint}{shape}"))
}

/// How many names an error lists.
const MAX_LISTED: usize = 12;

fn names_of(subject: &Subject) -> String {
    let names: Vec<String> =
        subject.dimensions.iter().flatten().map(|name| format!("`{name}`")).collect();
    names.join(", ")
}

/// How many axes a shape is for.
fn axes(shape: &[u64]) -> String {
    match shape.len() {
        1 => "1 axis".to_owned(),
        count => format!("{count} axes"),
    }
}

fn list(shape: &[u64]) -> String {
    let lengths: Vec<String> = shape.iter().map(u64::to_string).collect();
    format!("({})", lengths.join(", "))
}

fn argument(why: String) -> zarr_core::Error {
    AccessError::Argument(why).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn within(elements: u64, aspect: &[u64], shape: &[u64]) -> Vec<u64> {
        lengths_within(elements, aspect, shape, &vec![None; shape.len()])
    }

    #[test]
    fn sizes_keep_the_aspect_and_end_at_the_array() {
        assert_eq!(within(1_000_000, &[1, 1, 1], &[1000, 1000, 1000]), [100, 100, 100]);
        assert_eq!(within(8_000, &[10, 10, 10], &[1000, 1000, 1000]), [20, 20, 20]);
        assert_eq!(within(8_000, &[10, 5], &[1000, 1000]), [126, 63]);
        // Whole planes stay whole: the room goes to the other axis.
        assert_eq!(within(4_194_304, &[1, 721, 1440], &[8760, 721, 1440]), [4, 721, 1440]);
        assert_eq!(within(4_194_304, &[1, 1, 1], &[10, 10]), [10, 10]);
        assert_eq!(within(0, &[1, 1], &[10, 10]), [1, 1]);
        assert_eq!(within(100, &[1000, 1], &[10_000, 10_000]), [100, 1]);
        assert_eq!(within(100, &[], &[]), [] as [u64; 0]);
        assert_eq!(within(u64::MAX, &[1], &[u64::MAX]).len(), 1);
        assert_eq!(
            lengths_within(1_000, &[1, 1, 1], &[50, 50, 50], &[Some(10), None, None]),
            [10, 10, 10]
        );
    }

    #[test]
    fn rules_are_written_and_read() {
        let rules = [
            ShapeRule::Shape(vec![1, 2]),
            ShapeRule::Size(7),
            ShapeRule::Dimension { name: "time".into(), len: 3 },
            ShapeRule::Array { array: "t2m".into(), shape: vec![4] },
            ShapeRule::ArraySize { array: "t2m".into(), bytes: 5 },
            ShapeRule::ArrayDimension { array: "g/t".into(), dimension: "x".into(), len: 6 },
        ];
        for rule in rules {
            assert_eq!(ShapeRule::from_json(&rule.to_json()), Some(rule));
        }
        let rule = CodecRule { array: "t2m".into(), codecs: vec!["zstd:3".into()] };
        assert_eq!(CodecRule::from_json(&rule.to_json()), Some(rule));
    }
}
