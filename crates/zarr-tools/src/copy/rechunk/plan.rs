//! Chooses in which pieces an array is copied, so that they fit into the memory and each source chunk is decoded as rarely
//! as possible.

use zarr_core::codec::CodecSpec;
use zarr_core::metadata::ArrayMetadata;
use zarr_core::store::Store;
use zarr_core::{AccessError, Array, Error, Result};

use super::axis::Axis;
use super::combinations::{Combination, combinations};
use super::encoded_room::EncodedRoom;
use super::spool::STEP;

/// What the process has before it copies: the program, its libraries, documents.
const BASE: u64 = 32 << 20;
/// What each thread takes besides the elements: its stack, the state of a compressor, small memory that it keeps.
const THREAD: u64 = 6 << 20;
/// The largest piece of which each thread has one; of larger ones all threads work on the same.
const OWN_PIECE: u64 = 64 << 20;
/// A piece is about as large, if that costs nothing.
const PIECE: u64 = 16 << 20;
/// Chunks that are under way from or to a remote store together have at most as many bytes, or are few.
const UNDER_WAY: u64 = 128 << 20;
const FEWEST_UNDER_WAY: u64 = 4;
/// What the client of a remote store takes: connections, encryption, a runtime.
const CLIENT: u64 = 32 << 20;
/// An element of variable length is taken to have as many bytes, with its reference, if chunks do not show more.
const VARIABLE: u64 = 256 + REFERENCE;
/// What tells where such an element is.
const REFERENCE: u64 = 16;

/// The most bytes of a temporary file, in multiples of the memory, and at least.
const SPOOL_TIMES: u64 = 16;
const LEAST_SPOOL: u64 = 8 << 30;

/// Of objects up to this size each is taken to be as large encoded as decoded.
const SURE: u64 = 4 << 20;

/// Bytes of the inner chunks that several threads encode together, if one for each has fewer; and of the parts that wait to be put.
const TOGETHER: u64 = 8 << 20;
const PARTS: u64 = 12 << 20;
/// How many times as long as one of several writers each of several encoders of one object takes: its parts are put by one thread.
const ENCODERS: f64 = 1.15;

/// Nanoseconds to encode a byte, about: what is the same in all plans.
const ENCODE: f64 = 1.5;
/// Nanoseconds to write a byte to a temporary file and to read it.
const SPOOL: f64 = 0.8;
/// Nanoseconds to write one piece to a temporary file.
const PART: f64 = 3000.0;
/// Nanoseconds to fetch a byte from a remote store.
const REMOTE: f64 = 5.0;
/// Bytes that cost about as much as one further range of a plain chunk.
const RANGE: f64 = 4096.0;

/// How an array is copied.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Plan {
    /// How many target objects along each axis are copied together.
    pub group: Vec<u64>,
    pub way: Way,
    /// How many times each source chunk is decoded, on average.
    pub decodes: f64,
    /// Bytes of the temporary file.
    pub spool: u64,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Way {
    /// A group is read into memory and written from there.
    Direct {
        workers: usize,
        /// Threads that read and write one group.
        threads: usize,
        /// Bytes of a group.
        buffer: u64,
    },
    /// The source chunks of a group are read piece by piece into a temporary file, then the objects are written, each by one
    /// thread.
    Spooled(Spooled),
}

/// Numbers of a copy through temporary files.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Spooled {
    /// How many source chunks along each axis are read together.
    pub piece: Vec<u64>,
    pub readers: usize,
    pub writers: usize,
    /// Threads that encode one object: more than one only if there is one writer.
    pub encoders: usize,
    /// Threads that put what one reader has decoded into the file, where there are more than readers have memory for.
    pub keepers: usize,
    /// Bytes of a piece that belong to one object, at most.
    pub part: u64,
    /// Bytes that a reader has: its piece, and what of it belongs to one object.
    pub reading: u64,
    /// Bytes that a writer has: an object, and what is read of the file at a time.
    pub writing: u64,
    /// Whether one group is read while the one before it is written: there are two files then.
    pub overlaps: bool,
}

/// Numbers of an array's copy.
#[derive(Debug)]
pub(super) struct Numbers {
    /// The chunks that are decoded, inner chunks of shards.
    pub from: Vec<Axis>,
    /// The objects that are written.
    pub to: Vec<Axis>,
    /// Bytes of an element.
    element: u64,
    is_variable: bool,
    /// Bytes of a decoded source chunk, and of an encoded one at most.
    source: u64,
    encoded: u64,
    /// Bytes of a target object.
    object: u64,
    /// Bytes that a thread needs beside an object to encode it, if that is contiguous memory, and if it is not.
    encoding: u64,
    gathering: u64,
    /// Bytes of an inner chunk, if the objects are shards that are put part after part: several threads may encode one.
    streamed: Option<u64>,
    /// Bytes that one object may have encoded beyond what was taken for each thread.
    unsure: u64,
    /// Nanoseconds to decode a byte.
    decode: f64,
    /// Whether parts of a source chunk are read without the rest.
    is_plain: bool,
    /// Whether the chunks are boxes of the target, and elements may go to a file.
    may_spool: bool,
    is_from_remote: bool,
    is_to_remote: bool,
    /// Bytes that are held, beside an object and what encodes it, while it is put.
    put: u64,
}

/// The most bytes of a temporary file.
pub(super) fn largest_spool(memory: u64) -> u64 {
    memory.saturating_mul(SPOOL_TIMES).max(LEAST_SPOOL)
}

impl Numbers {
    /// The numbers of a copy of a region that begins at `start` in the source, if it is a box; `largest` is the size of the
    /// source's largest stored object, and `longest` of an element of variable length on average, if they are known.
    pub fn of(
        from: &Array,
        target: &ArrayMetadata,
        store: &dyn Store,
        start: Option<&[u64]>,
        (largest, longest): (Option<u64>, Option<u64>),
    ) -> Option<Numbers> {
        let source = from.metadata();
        let is_sharded = source.shards.is_some() || has_shards(&source);
        let flat = ArrayMetadata::clone(&source).unsharded();
        let (grid, shape) = (flat.grid.as_ref()?, &target.shape);
        let to_axes = Axis::all(target.grid.as_ref()?, &vec![0; shape.len()], shape);
        let source_axes = Axis::all(grid, &vec![0; source.rank()], &source.shape);
        // The chunks of other selections are no boxes of the target: each group takes what it needs.
        let from_axes =
            start.map_or_else(|| to_axes.clone(), |start| Axis::all(grid, start, shape));
        let is_variable = target.data_type.is_variable();
        let element = match target.data_type.repr() {
            _ if is_variable => VARIABLE.max(longest.map_or(0, |longest| longest + REFERENCE)),
            repr => repr.map_or(1, |repr| repr.size() as u64),
        };
        let (source_size, object) =
            (stored_size(element, &source_axes), stored_size(element, &to_axes));
        let encoded = match largest {
            Some(largest) if !is_sharded => largest.min(source_size.saturating_mul(2)),
            _ => source_size,
        };
        let fits = to_axes.iter().all(|axis| axis.len.is_multiple_of(axis.stored()));
        let inner = target.clone().unsharded();
        let chunk = inner.chunk_extent().iter().fold(element, |size, &n| size.saturating_mul(n));
        // The codecs of the source make chunks of the copy about as small as its own.
        let share = match largest {
            _ if is_plain(&inner.codecs) => 0.0,
            _ if object <= SURE => 1.0,
            Some(_) if !is_sharded && flat.codecs == inner.codecs => {
                (1.25 * encoded as f64 / source_size.max(1) as f64 + 0.02).min(1.0)
            }
            _ => 1.0,
        };
        let small = |size: u64| (size as f64 * share) as u64;
        let (encoding, copied) = if has_shards(target) {
            let whole = if store.capabilities().streams { 0 } else { small(object) };
            (chunk.saturating_mul(2).saturating_add(whole), if fits { 0 } else { object })
        } else {
            (small(object), object)
        };
        let streams = has_shards(target) && store.capabilities().streams;
        let is_sure = streams || is_plain(&inner.codecs);
        let unsure = if is_sure { 0 } else { object.saturating_sub(small(object)) };
        let gathering = encoding.saturating_add(copied);
        let encoding = if fits { encoding } else { gathering };
        let is_from_remote = from.hierarchy().store().as_sync().is_none();
        let is_to_remote = store.as_sync().is_none();
        Some(Numbers {
            from: from_axes,
            to: to_axes,
            element,
            is_variable,
            source: source_size,
            encoded,
            object,
            encoding,
            gathering,
            streamed: streams.then_some(chunk),
            unsure,
            decode: cost(&flat.codecs) + if is_from_remote { REMOTE } else { 0.0 },
            is_plain: !is_sharded && is_plain(&flat.codecs),
            may_spool: !is_variable && start.is_some(),
            is_from_remote,
            is_to_remote,
            // A request has its own elements, and its own value, also where the value is nothing but elements.
            put: match (is_to_remote, is_plain(&inner.codecs)) {
                (false, _) => 0,
                (true, false) => object,
                (true, true) => object.saturating_mul(2),
            },
        })
    }

    /// The cheapest plan within `memory` bytes for at most `threads` threads, with a temporary file of at most `spool`
    /// bytes.
    ///
    /// # Errors
    /// [`AccessError::Argument`] with the memory that is needed, if that is more.
    pub fn plan(&self, memory: u64, threads: usize, spool: u64) -> Result<Plan> {
        let direct = self.direct(memory, threads);
        let spooled = if self.may_spool { self.spooled(memory, threads, spool) } else { None };
        let cheapest = direct.into_iter().chain(spooled).min_by(|a, b| a.0.total_cmp(&b.0));
        cheapest.map(|(_, plan)| plan).ok_or_else(|| self.too_little(memory))
    }

    /// The least memory for which there is a plan, up to a MiB.
    pub fn least(&self) -> u64 {
        let mut low = self.least_piece();
        if self.fits(low) {
            return low;
        }
        let mut high = low;
        while !self.fits(high) {
            low = high;
            high = high.saturating_mul(2);
            if high == u64::MAX {
                return high;
            }
        }
        while high - low > 1 << 20 {
            let middle = low + (high - low) / 2;
            if self.fits(middle) { high = middle } else { low = middle }
        }
        high
    }

    /// Whether one thread can do it in the memory.
    fn fits(&self, memory: u64) -> bool {
        self.direct(memory, 1).is_some()
            || self.may_spool && self.spooled(memory, 1, largest_spool(memory)).is_some()
    }

    /// Bytes that one thread needs to copy the smallest piece of one source chunk.
    fn least_piece(&self) -> u64 {
        let piece = self.object.saturating_mul(self.copies()).saturating_add(self.scratch());
        let under_way = self.under_way(self.object, self.source);
        let beside = self.base().saturating_add(self.unsure_of(1)).saturating_add(THREAD);
        piece.saturating_add(under_way).saturating_add(beside)
    }

    /// What the process has before it copies.
    fn base(&self) -> u64 {
        let is_remote = self.is_from_remote || self.is_to_remote;
        if is_remote { BASE + CLIENT } else { BASE }
    }

    /// Bytes that the encoded objects of this many threads take beyond what was taken for each: one that does not get smaller
    /// has the room of the others, which wait for it.
    fn unsure_of(&self, threads: usize) -> u64 {
        let likely = self.object.saturating_sub(self.unsure);
        self.unsure.saturating_sub(likely.saturating_mul(threads.saturating_sub(1) as u64))
    }

    /// Room for the encoded objects of this many threads: at least for one that does not get smaller. `None` if no more than was taken for each
    /// thread can be needed.
    pub fn encoded_room(&self, threads: usize) -> Option<EncodedRoom> {
        let likely = self.object.saturating_sub(self.unsure);
        let all = likely.saturating_mul(threads as u64).saturating_add(self.unsure_of(threads));
        (self.unsure > 0).then(|| EncodedRoom::new(self.object, all))
    }

    /// Bytes of chunks that are under way while a worker reads source chunks of `touched` bytes into a piece, or while it
    /// writes the piece: of a local store none.
    fn under_way(&self, piece: u64, touched: u64) -> u64 {
        let most =
            |all: u64, chunk: u64| all.min(UNDER_WAY.max(chunk.saturating_mul(FEWEST_UNDER_WAY)));
        let reading = if self.is_from_remote { most(touched, self.source) } else { 0 };
        // A chunk's elements, and the chunk.
        let writing =
            if self.is_to_remote { most(piece, self.object).saturating_mul(2) } else { 0 };
        reading.max(writing)
    }

    fn too_little(&self, memory: u64) -> Error {
        let why = format!(
            "not enough memory to copy the array: it takes {}, and the limit is {}; a stored object of the copy has {}, a chunk of the source {}, \
             decoded",
            size_text(self.least()),
            size_text(memory),
            size_text(self.object),
            size_text(self.source),
        );
        let error = Error::from(AccessError::Argument(why));
        error.with_hint("give the copy more memory, or smaller shards or chunks")
    }

    /// How many times a piece is in memory: elements of variable length also as they are read, and as they are written.
    fn copies(&self) -> u64 {
        if self.is_variable { 3 } else { 1 }
    }

    /// Bytes that a thread needs beside its piece, to read it and to write it.
    fn scratch(&self) -> u64 {
        let encoded = if self.is_plain { 0 } else { self.encoded };
        let reading = self.source.saturating_add(encoded);
        reading.saturating_add(self.gathering)
    }

    /// Bytes that are left for pieces and encoded objects if this many threads work.
    fn room(&self, memory: u64, threads: usize) -> u64 {
        memory.saturating_sub(self.base() + THREAD * threads as u64)
    }

    fn total(&self) -> u64 {
        let all = self.to.iter().fold(self.element, |all, axis| all.saturating_mul(axis.len));
        all.max(1)
    }

    /// The piece size that is best where none is cheaper, of pieces that have `least` bytes at least.
    fn best_piece(&self, threads: usize, least: u64) -> f64 {
        let least = least.max(1);
        (self.total() / (4 * threads as u64)).clamp(least, PIECE.max(least)) as f64
    }

    /// Plans without a temporary file.
    fn direct(&self, memory: u64, most: usize) -> Option<(f64, Plan)> {
        let all = combinations(&self.to, &self.from, self.element);
        let scratch = self.scratch();
        let mut best: Option<(f64, Plan)> = None;
        for threads in 1..=most {
            let used = scratch.saturating_mul(threads as u64);
            let used = used.saturating_add(self.unsure_of(threads));
            let room = self.room(memory, threads).checked_sub(used);
            let Some(room) = room else { break };
            for workers in [1, 2, threads] {
                if workers > threads {
                    continue;
                }
                let is_own = workers == threads;
                let cap = room / workers as u64;
                let cap =
                    if is_own && threads > 1 { cap.min(OWN_PIECE.max(self.object)) } else { cap };
                let overlap = match workers {
                    1 => 1.15,
                    _ if is_own => 1.0,
                    _ => 1.03,
                };
                let cap = cap / self.copies();
                for found in all.iter().filter(|found| found.bytes <= cap) {
                    let decodes = self.decodes(found);
                    let touched = (found.bytes as f64 * found.decodes) as u64;
                    let under_way = self.under_way(found.bytes, touched.max(self.source));
                    if found.bytes.saturating_add(under_way) > room / workers as u64 {
                        continue;
                    }
                    let size =
                        (found.bytes as f64 / self.best_piece(threads, self.object)).log2().abs();
                    let cost = (self.decode * decodes + ENCODE) * overlap / threads as f64;
                    let cost = cost * (1.0 + 0.004 * size);
                    if best.as_ref().is_none_or(|best| cost < best.0) {
                        let way = Way::Direct {
                            workers,
                            threads: if is_own { 1 } else { threads },
                            buffer: found.bytes,
                        };
                        let group = found.counts.clone();
                        best = Some((cost, Plan { group, way, decodes, spool: 0 }));
                    }
                }
            }
        }
        best
    }

    /// How often source chunks are decoded, or, of plain ones, how many times as many bytes are read.
    fn decodes(&self, found: &Combination) -> f64 {
        if self.is_plain {
            found.decodes.min(1.1 + RANGE / found.run.max(1) as f64)
        } else {
            found.decodes
        }
    }

    /// Plans with a temporary file.
    fn spooled(&self, memory: u64, most: usize, largest: u64) -> Option<(f64, Plan)> {
        let groups = combinations(&self.to, &self.from, self.element);
        // Without a limit: what of a piece belongs to one object is as large as possible then.
        let pieces = combinations(&self.from, &self.to, self.element);
        let group = groups.into_iter().filter(|group| group.bytes <= largest).min_by(|a, b| {
            // A tenth more decoding is worth a smaller file.
            let rank = |group: &Combination| ((group.decodes * 10.0).round() as u64, group.bytes);
            rank(a).cmp(&rank(b))
        })?;
        // Whole source chunks are decoded into their place, others into memory of the thread first.
        let mut axes = self.from.iter().zip(&self.to).zip(&group.counts);
        let is_whole = axes.all(|((from, to), &count)| {
            let run = to.run(count);
            from.len.is_multiple_of(from.stored())
                && (run == to.len || run.is_multiple_of(from.stored()))
        });
        let decoding = if is_whole { 0 } else { self.source }.saturating_add(self.encoded);
        let mut best: Option<(f64, Plan)> = None;
        for threads in 1..=most {
            let room = self.room(memory, threads);
            for piece in pieces.iter().filter(|piece| piece.bytes <= group.bytes.max(self.source)) {
                let part = self.part(piece);
                let reading = piece.bytes.saturating_add(part);
                let writing = self.object.saturating_add(part.max(STEP as u64).min(self.object));
                let fetched = if self.is_from_remote { piece.bytes.max(self.source) } else { 0 };
                // What a reader and a writer have each, with what a thread needs beside its buffer.
                let each = [
                    reading.saturating_add(decoding).saturating_add(fetched),
                    writing.saturating_add(self.encoding).saturating_add(self.put),
                ];
                // What it costs to decode a byte, to write parts of a piece, and to read them.
                let keeps = SPOOL / 2.0 + PART / part.max(1) as f64;
                let writes = ENCODE + SPOOL / 2.0;
                let written_by = |(writers, encoders): (usize, usize)| {
                    let extra = self.encoding_by(encoders).unwrap_or(self.encoding) - self.encoding;
                    let sure = each[1].saturating_add(extra).saturating_mul(writers as u64);
                    sure.saturating_add(self.unsure_of(writers))
                };
                // A writer for each thread, or as many as there is memory for; of few, one whose objects all threads encode.
                let writers_in = |room: u64, most: usize| {
                    let fits = |&how: &(usize, usize)| written_by(how) <= room;
                    let several = (1..=most).rev().map(|writers| (writers, 1)).find(fits)?;
                    let is_few = most as f64 > ENCODERS * several.0 as f64;
                    let one =
                        Some((1, most)).filter(|_| is_few && self.encoding_by(most).is_some());
                    Some(one.filter(fits).unwrap_or(several))
                };
                let readers = (room / each[0].max(1)).min(threads as u64) as usize;
                let one_by_one = (readers, writers_in(room, threads), false);
                let fits_twice = group.bytes.saturating_mul(2) <= largest;
                let together = (1..threads).filter(|_| fits_twice).map(|readers| {
                    let left = room.saturating_sub(each[0].saturating_mul(readers as u64));
                    (readers, writers_in(left, threads - readers), true)
                });
                for (readers, writes_by, overlaps) in together.chain([one_by_one]) {
                    let Some((writers, encoders)) = writes_by.filter(|_| readers > 0) else {
                        continue;
                    };
                    let keepers = {
                        let used = each[0].saturating_mul(readers as u64);
                        let beside = if overlaps { written_by((writers, encoders)) } else { 0 };
                        let used = used.saturating_add(beside);
                        let writing = if overlaps { writers * encoders } else { 0 };
                        let keepers = (most.saturating_sub(writing) / readers).max(1);
                        let extra = part.saturating_mul((keepers * readers) as u64);
                        if used.saturating_add(extra) <= room { keepers } else { 1 }
                    };
                    let reads = self.decode * group.decodes + keeps / keepers as f64;
                    let pace =
                        if encoders > 1 { encoders as f64 / ENCODERS } else { writers as f64 };
                    let (reads, writes) = (reads / readers as f64, writes / pace);
                    // Work that waits for other work, and a second file, must be worth it.
                    let cost = if overlaps { reads.max(writes) * 1.1 } else { reads + writes };
                    let size =
                        (piece.bytes as f64 / self.best_piece(readers, self.source)).log2().abs();
                    let cost = cost * (1.0 + 0.002 * size);
                    if best.as_ref().is_none_or(|best| cost < best.0) {
                        let piece = piece.counts.clone();
                        let how = Spooled {
                            piece,
                            readers,
                            writers,
                            encoders,
                            keepers,
                            part,
                            reading,
                            writing,
                            overlaps,
                        };
                        let (counts, decodes) = (group.counts.clone(), group.decodes);
                        let spool = group.bytes.saturating_mul(if overlaps { 2 } else { 1 });
                        let way = Way::Spooled(how);
                        best = Some((cost, Plan { group: counts, way, decodes, spool }));
                    }
                }
            }
        }
        best
    }

    /// Bytes that a writer needs beside an object if `encoders` threads encode it: inner chunks that are encoded together, as they are and
    /// encoded, and parts that wait to be put. `None` if one thread encodes each object.
    fn encoding_by(&self, encoders: usize) -> Option<u64> {
        let chunk = self.streamed.filter(|_| encoders > 1)?;
        let together = chunk.saturating_mul(encoders as u64);
        let parts = PARTS.saturating_add(chunk.saturating_mul(3));
        let all = together.saturating_mul(2).saturating_add(together.max(TOGETHER));
        Some(all.saturating_add(parts).max(self.encoding))
    }

    /// Bytes of a piece of source chunks that belong to one object, at most.
    fn part(&self, piece: &Combination) -> u64 {
        let each = self.from.iter().zip(&self.to).zip(&piece.counts);
        each.fold(self.element, |size, ((from, to), &count)| {
            size.saturating_mul(from.run(count).min(to.longest()))
        })
    }

    /// Whether elements differ in length.
    pub fn is_variable(&self) -> bool {
        self.is_variable
    }
}

/// The bytes of an object of these axes.
fn stored_size(element: u64, axes: &[Axis]) -> u64 {
    axes.iter().fold(element, |size, axis| size.saturating_mul(axis.stored()))
}

/// MiB, rounded up.
/// A number of bytes as people read it, rounded up.
fn size_text(bytes: u64) -> String {
    match bytes {
        0..1024 => format!("{bytes} bytes"),
        1024..0x10_0000 => format!("{} KiB", bytes.div_ceil(1 << 10)),
        _ => format!("{} MiB", bytes.div_ceil(1 << 20)),
    }
}

fn has_shards(metadata: &ArrayMetadata) -> bool {
    metadata.codecs.iter().any(|spec| spec.name == "sharding_indexed")
}

fn is_plain(codecs: &[CodecSpec]) -> bool {
    matches!(codecs, [only] if only.name == "bytes")
}

/// Nanoseconds to decode a byte, about.
fn cost(codecs: &[CodecSpec]) -> f64 {
    codecs
        .iter()
        .map(|spec| match spec.name.as_str() {
            "bytes" => 0.15,
            "transpose" => 0.3,
            "blosc" | "numcodecs.blosc" | "lz4" | "numcodecs.lz4" | "crc32c" => 0.35,
            "zstd" | "numcodecs.zstd" => 0.8,
            "shuffle" | "numcodecs.shuffle" => 0.3,
            _ => 2.5,
        })
        .sum()
}
