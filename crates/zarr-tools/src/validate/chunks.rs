//! Looks into chunks: their sizes, their indices, their elements; and finds those that are not stored.

use std::borrow::Cow;

use zarr_core::codec::{CodecChain, buffer_pool, limited, most_encoded};
use zarr_core::data_type::Repr;
use zarr_core::region::element_count;
use zarr_core::selection::ResolvedSelection;
use zarr_core::store::{GetOptions, SnapshotOptions, StoreKey, SyncSnapshot};
use zarr_core::var_buffer::VarBuffer;
use zarr_core::view::ViewMut;
use zarr_core::{CodecError, Dialect, Result, StoreError};

use super::inventory::Inventory;
use super::keys::StoredChunk;
use super::problem::{Level, Problem, ProblemKind};
use super::tree::{FoundArray, Tree};
use super::{Context, Sink, parallel, shards};

/// The most missing chunks of one array that are reported one by one.
const MOST_MISSING: u64 = 10_000;

/// What a look into one chunk found.
#[derive(Default)]
pub(super) struct Looked {
    pub problems: Vec<Problem>,
    pub inner_chunks: u64,
    pub bytes: u64,
}

/// Checks all chunks that are stored, and finds those that are not.
pub(super) fn check(
    context: &Context<'_>,
    inventory: &Inventory,
    tree: &Tree,
    stored: &[StoredChunk],
    sink: &mut Sink<'_>,
) -> Result<()> {
    // A request for each chunk is cheap where no network is.
    if context.has(Level::Index) || context.is_local {
        parallel::run(
            context,
            stored.len(),
            |at: usize| {
                let chunk: &StoredChunk = &stored[at];
                let (array, key) = (&tree.arrays[chunk.array as usize], &inventory.keys[chunk.key]);
                let chunk = ChunkPlace { context, array, key };
                limited(context.open.options.limits.decoded, || chunk.look())
            },
            |_, looked| {
                sink.report.chunks += 1;
                sink.report.inner_chunks += looked.inner_chunks;
                sink.report.bytes += looked.bytes;
                looked.problems.into_iter().for_each(|problem| sink.add(problem));
            },
        )?;
    }
    for (at, array) in tree.arrays.iter().enumerate() {
        context.check_cancelled()?;
        let from = stored.partition_point(|chunk| (chunk.array as usize) < at);
        let to = stored.partition_point(|chunk| chunk.array as usize <= at);
        missing(context, inventory, array, &stored[from..to], sink);
    }
    Ok(())
}

/// Reports the chunks of an array that are not stored.
fn missing(
    context: &Context<'_>,
    inventory: &Inventory,
    array: &FoundArray,
    stored: &[StoredChunk],
    sink: &mut Sink<'_>,
) {
    // What could not be listed is not absent.
    if !array.has_grid() || inventory.hides(&array.prefix) {
        return;
    }
    let clause = match context.format.dialect() {
        Dialect::V3 => "F-073",
        Dialect::V2 => "Z2-023",
        _ => "D-156",
    };
    let Some(all) = array.chunk_count() else {
        // There are more than 2⁶⁴, and no store has as many keys.
        if context.options.expect_complete {
            let what = format!(
                "the array has more chunks than 64 bits count, of which {} are stored; the others read as the fill value",
                stored.len()
            );
            sink.add(Problem::new(&array.path, ProblemKind::MissingChunk, what).by(clause));
        }
        return;
    };
    let absent = all.saturating_sub(stored.len() as u64);
    if absent == 0 {
        return;
    }
    if !context.options.expect_complete {
        if absent < stored.len() as u64 {
            let rest = if absent == 1 {
                "is not stored; it reads as the fill value"
            } else {
                "are not stored; they read as the fill value"
            };
            let what = format!("{absent} of {all} chunks {rest}");
            sink.add(Problem::new(&array.path, ProblemKind::PartlyWritten, what));
        }
        return;
    }
    let numbers = stored.iter().filter_map(|chunk| {
        let indices = array.indices_of(&inventory.keys[chunk.key])?;
        array.number(&array.inside(&indices)?)
    });
    let mut there: Vec<u64> = numbers.collect();
    there.sort_unstable();
    there.dedup();
    let (mut next, mut told) = (0, 0);
    for end in there.into_iter().chain([all]) {
        for number in next..end {
            if told == MOST_MISSING {
                let what = match absent - told {
                    1 => "1 more chunk is not stored".to_owned(),
                    more => format!("{more} more chunks are not stored"),
                };
                let problem = Problem::new(&array.path, ProblemKind::MissingChunk, what);
                sink.add(problem.by(clause));
                return;
            }
            let indices = array.indices(&array.ordinals(number));
            let key = array.written_key(&indices).map_or(String::new(), |key| key.to_string());
            let what = format!("chunk {indices:?} is not stored, and reads as the fill value");
            let problem = Problem::new(&array.path, ProblemKind::MissingChunk, what);
            sink.add(problem.at(key).by(clause));
            told += 1;
        }
        next = end.saturating_add(1);
    }
}

/// One stored chunk or shard.
pub(super) struct ChunkPlace<'a> {
    pub context: &'a Context<'a>,
    pub array: &'a FoundArray,
    pub key: &'a StoreKey,
}

impl ChunkPlace<'_> {
    pub fn problem(&self, kind: ProblemKind, what: impl Into<String>) -> Problem {
        Problem::new(&self.array.path, kind, what).at(self.key)
    }

    /// The problem of an error of the store.
    pub fn unreadable(&self, error: &StoreError) -> Problem {
        match error {
            StoreError::TooLarge { .. } => {
                let what = format!("{error}, which is more than its elements justify");
                self.problem(ProblemKind::WrongSize, what).by(self.clause())
            }
            _ => self.problem(ProblemKind::Unreadable, error.to_string()),
        }
    }

    /// The problem of an error of a codec, in this part of the object.
    pub fn undecodable(&self, part: &str, error: &CodecError) -> Problem {
        let what = format!("{part}{error}");
        match error {
            CodecError::Limit { .. } => {
                let what = format!("{what}; raise `Limits::decoded` to check it");
                self.problem(ProblemKind::NotChecked, what)
            }
            _ => self.problem(ProblemKind::Undecodable, what).by(self.clause()),
        }
    }

    /// The clause that a decoded chunk has the size of its elements.
    pub fn clause(&self) -> &'static str {
        match self.context.format.dialect() {
            Dialect::V3 => "F-072",
            Dialect::V2 => "Z2-022",
            _ => "D-053",
        }
    }

    /// How many elements it stores along each axis.
    pub fn shape(&self) -> Option<Vec<u64>> {
        let indices = self.array.indices_of(self.key)?;
        Some(self.array.stored_shape(&self.array.inside(&indices)?))
    }

    fn look(&self) -> Looked {
        let mut looked = Looked::default();
        let opened = match self.context.store.open(self.key, SnapshotOptions::default()) {
            Ok(Some(opened)) => opened,
            Ok(None) => return looked,
            Err(e) => {
                looked.problems.push(self.unreadable(&e));
                return looked;
            }
        };
        let Some(shape) = self.shape() else { return looked };
        let size = match size(&*opened) {
            Ok(size) => size,
            Err(e) => {
                looked.problems.push(self.unreadable(&e));
                return looked;
            }
        };
        let empty_may_be =
            self.array.chain.as_ref().and_then(|chain| chain.encoded_size(&shape)) == Some(0);
        if size == 0 && !empty_may_be {
            let what = "is empty; a chunk has at least one byte";
            let clause =
                if self.context.format.dialect() == Dialect::V2 { "Z2-023" } else { self.clause() };
            looked.problems.push(self.problem(ProblemKind::EmptyValue, what).by(clause));
            return looked;
        }
        let Some(chain) = &self.array.chain else { return looked };
        if !self.context.has(Level::Index) {
            return looked;
        }
        if self.array.metadata.shards.is_some() {
            shards::check_object(self, chain, &*opened, size, &shape, &mut looked);
            return looked;
        }
        if let Some(expected) = chain.encoded_size(&shape).filter(|&expected| expected != size) {
            let what = format!("has {size} bytes, where its elements need {expected}");
            looked.problems.push(self.problem(ProblemKind::WrongSize, what).by(self.clause()));
            return looked;
        }
        let partial = chain.partial(&shape, &ResolvedSelection::all(&shape));
        if let Some(partial) = partial.filter(|p| !matches!(p.decoder().index(), Ok(None))) {
            shards::check(self, &partial, &*opened, size, &mut looked);
        } else if self.context.has(Level::Data) {
            self.decode(chain, &shape, &mut looked);
        }
        looked
    }

    /// Reads and decodes all of it.
    fn decode(&self, chain: &CodecChain, shape: &[u64], looked: &mut Looked) {
        let limit = self.most_encoded(shape);
        let encoded = match self.context.store.get(self.key, GetOptions::at_most(limit)) {
            Ok(Some(got)) => got.bytes.unwrap_or_default(),
            Ok(None) => return,
            Err(e) => return looked.problems.push(self.unreadable(&e)),
        };
        looked.bytes += encoded.len() as u64;
        if let Err(e) = self.decode_bytes(chain, &encoded, shape) {
            return looked.problems.push(self.undecodable("", &e));
        }
        let padding = chain.padding(&encoded, shape);
        if padding > 0 {
            let what = format!("{padding} zero bytes follow what the codec wrote");
            looked.problems.push(self.problem(ProblemKind::PaddedChunk, what).by(self.clause()));
        }
    }

    /// The most bytes that such a chunk may have.
    pub fn most_encoded(&self, shape: &[u64]) -> u64 {
        let repr = self.array.metadata.data_type.repr();
        let size = repr
            .filter(|repr| *repr != Repr::Variable)
            .and_then(|repr| element_count(shape)?.checked_mul(repr.size() as u64));
        most_encoded(size)
    }

    /// Decodes bytes as a chunk of `shape`.
    pub fn decode_bytes(
        &self,
        chain: &CodecChain,
        encoded: &[u8],
        shape: &[u64],
    ) -> Result<(), CodecError> {
        self.decode_with(shape, |out| {
            chain.decode_into(Cow::Borrowed(encoded), shape, &ResolvedSelection::all(shape), out)
        })
    }

    /// Lets `decode` fill memory for elements of `shape`.
    pub fn decode_with(
        &self,
        shape: &[u64],
        decode: impl FnOnce(ViewMut<'_>) -> Result<(), CodecError>,
    ) -> Result<(), CodecError> {
        let repr = self.array.metadata.data_type.repr();
        let cell = repr.map_or(1, |repr| repr.size());
        let size = element_count(shape).and_then(|count| count.checked_mul(cell as u64));
        let limit = self.context.open.options.limits.decoded;
        if size.is_none_or(|size| size > limit) {
            return Err(CodecError::Limit { codec: "codecs", limit });
        }
        let mut memory = buffer_pool::zeroed("validate", size)?;
        let var_buffer = VarBuffer::default();
        let out = ViewMut::new(&mut memory, shape, cell);
        let decoded = decode(out.with_var_buffer(Some(&var_buffer)));
        buffer_pool::release_vec(memory);
        decoded
    }
}

/// How many bytes a value has; remote stores know it after the first reading.
fn size(opened: &dyn SyncSnapshot) -> Result<u64, StoreError> {
    if opened.size() == 0 {
        opened.read(&[])?;
    }
    Ok(opened.size())
}
