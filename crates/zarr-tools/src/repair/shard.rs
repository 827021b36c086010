//! Takes a damaged shard apart, and plans a sound one of its inner chunks.
//!
//! An inner chunk is kept where the index says that it is, if it decodes. Where the index itself is damaged, a place is certain only if the
//! entries, as far as they can be read, and the gap that is left agree on it; else nothing is planned, since a chunk in the wrong place is worse
//! than none.

mod cut_off;
mod nested;

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::Arc;

use zarr_core::codec::buffer_pool::zeroed;
use zarr_core::codec::{ChunkContext, Codec, CodecChain, CodecSpec, Parameters, most_encoded};
use zarr_core::data_type::CoreType;
use zarr_core::metadata::ArrayMetadata;
use zarr_core::region::element_count;
use zarr_core::selection::ResolvedSelection;
use zarr_core::store::{ByteRange, Payload, SyncSnapshot};
use zarr_core::var_buffer::VarBuffer;
use zarr_core::view::{View, ViewMut};
use zarr_core::{CodecError, Json, Registry, StoreError};

use super::lengths::Lengths;
use super::orders::in_some_order;

const CODEC: &str = "sharding_indexed";

/// Offset and length of an inner chunk; both all ones if it is not stored.
pub(super) type Entry = [u64; 2];

pub(super) const ABSENT: Entry = [u64::MAX; 2];

/// How many pieces of a gap are decoded at most while inner chunks are looked for.
const MOST_DECODED: usize = 4096;

/// How many entries are put together at most while it is tried whose an inner chunk is.
const MOST_TRIED: usize = 1 << 20;

/// How the shards of an array are built.
pub(super) struct ShardForm {
    inner: CodecChain,
    inner_shape: Vec<u64>,
    /// How long an encoded inner chunk is, if it says so itself.
    lengths: Option<Lengths>,
    /// How inner chunks are built that are shards themselves.
    nested: Option<Box<ShardForm>>,
    /// Bytes of an element in memory.
    cell: usize,
    is_variable: bool,
    /// How many inner chunks along each axis.
    counts: Vec<u64>,
    index: CodecChain,
    index_size: u64,
    index_is_first: bool,
    /// Whether the index is plain numbers with a checksum of four bytes, or without one, so that entries can be read one by one.
    checksum: Option<u64>,
}

/// Inner chunks that were mended, by the numbers of their entries.
pub(super) type Mended = BTreeMap<usize, Vec<u8>>;

/// What is to be done with a shard.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// Nothing.
    Sound,
    /// The index is written anew; all inner chunks stay.
    NewIndex(Vec<Entry>),
    /// Inner chunks are left out, by the numbers of their entries; those that are shards themselves may be mended.
    Without(Vec<usize>, Vec<Entry>, Mended),
    /// It is not certain what is in it.
    Lost,
}

/// An index as it is stored, and how far it can be believed.
enum Index {
    Whole(Vec<Entry>),
    /// With the checksum that is stored, if the index has one.
    Doubtful(Vec<Entry>, Option<Vec<u8>>),
    Unreadable,
}

impl ShardForm {
    /// How the shard of a chunk of `shape` elements is built; `None` if it is no shard of final v3, or other codecs change its bytes.
    pub fn new(metadata: &ArrayMetadata, shape: &[u64], registry: &Registry) -> Option<ShardForm> {
        let fill = metadata.fill_value.clone();
        let context = ChunkContext::new(metadata.data_type.clone(), shape.to_vec()).with_fill(fill);
        ShardForm::of_codecs(&metadata.codecs, context, registry)
    }

    /// How a chunk with these codecs is built, if it is a shard.
    fn of_codecs(
        codecs: &[CodecSpec],
        mut context: ChunkContext,
        registry: &Registry,
    ) -> Option<Self> {
        let (last, before) = codecs.split_last()?;
        if last.name != CODEC {
            return None;
        }
        for spec in before {
            match registry.build_codec(spec, &context).ok()? {
                Codec::ArrayToArray(codec) => context = codec.encoded(&context).ok()?,
                _ => return None,
            }
        }
        ShardForm::of_codec(last, &context, registry)
    }

    fn of_codec(spec: &CodecSpec, context: &ChunkContext, registry: &Registry) -> Option<Self> {
        let mut parameters = Parameters::new(spec);
        let lengths = parameters.get("chunk_shape")?.as_array()?;
        let inner_shape: Vec<u64> = lengths.iter().map(Json::as_u64).collect::<Option<_>>()?;
        let codecs = parameters.codecs("codecs").ok()?;
        let index_codecs = parameters.codecs("index_codecs").ok()?;
        let index_is_first = parameters.string("index_location").ok()? == Some("start");
        if inner_shape.len() != context.shape.len() {
            return None;
        }
        let counts: Vec<u64> = context
            .shape
            .iter()
            .zip(&inner_shape)
            .map(|(shard, inner)| {
                (*inner > 0 && shard.is_multiple_of(*inner)).then(|| shard / inner)
            })
            .collect::<Option<_>>()?;
        let inner_context = ChunkContext::new(context.data_type.clone(), inner_shape.clone())
            .with_fill(context.fill.clone());
        let inner = CodecChain::build(&codecs, &inner_context, registry).ok()?;
        let index_shape: Vec<u64> = counts.iter().copied().chain([2]).collect();
        let index_context = ChunkContext::new(CoreType::Uint64, index_shape.clone());
        let index = CodecChain::build(&index_codecs, &index_context, registry).ok()?;
        let index_size =
            index.encoded_size(&index_shape).filter(|size| *size <= most_encoded(None))?;
        let checksum = match &index_codecs[..] {
            [bytes] if is_little_endian(bytes) => Some(0),
            [bytes, sum] if is_little_endian(bytes) && sum.name == "crc32c" => Some(4),
            _ => None,
        };
        let nested = ShardForm::of_codecs(&codecs, inner_context, registry).map(Box::new);
        let cell = context.element_size().ok()?;
        let is_variable = context.data_type.is_variable();
        Some(ShardForm {
            inner,
            inner_shape,
            lengths: Lengths::of(&codecs),
            nested,
            cell,
            is_variable,
            counts,
            index,
            index_size,
            index_is_first,
            checksum,
        })
    }

    /// Which bytes of a shard of `size` bytes inner chunks are in; `None` if it is shorter than its index.
    fn area(&self, size: u64) -> Option<Range<u64>> {
        let rest = size.checked_sub(self.index_size)?;
        Some(if self.index_is_first { self.index_size..size } else { 0..rest })
    }

    /// What is to be done with a shard. Reads one inner chunk at a time.
    ///
    /// # Errors
    /// What the store reports.
    pub fn examine(&self, shard: &dyn SyncSnapshot) -> Result<Verdict, StoreError> {
        let size = shard.size();
        let Some(area) = self.area(size) else { return Ok(Verdict::Lost) };
        let index = if self.index_is_first { 0..area.start } else { area.end..size };
        let bytes = shard.read(&[index.into()])?.pop().unwrap_or_default();
        match self.read_index(&bytes) {
            Index::Whole(entries) => {
                let bad = self.bad_entries(&entries, &area, shard)?;
                if bad.is_empty() {
                    return Ok(Verdict::Sound);
                }
                // Without a checksum an entry may be damaged as well as its inner chunk.
                if self.checksum == Some(0)
                    && let Some(found) = self.recover(&entries, None, &area, shard)?
                {
                    return Ok(Verdict::NewIndex(found));
                }
                let mended = self.mended(&entries, &bad, &area, shard)?;
                let mut kept = entries;
                let lost: Vec<usize> =
                    bad.into_iter().filter(|entry| !mended.contains_key(entry)).collect();
                lost.iter().for_each(|&entry| kept[entry] = ABSENT);
                let is_empty = kept.iter().all(|entry| *entry == ABSENT);
                Ok(if is_empty { Verdict::Lost } else { Verdict::Without(lost, kept, mended) })
            }
            Index::Doubtful(entries, sum) => {
                let mut found = self.recover(&entries, sum.as_deref(), &area, shard)?;
                if found.is_none() {
                    found = self.of_cut_index(shard)?;
                }
                Ok(found.map_or(Verdict::Lost, Verdict::NewIndex))
            }
            Index::Unreadable => Ok(Verdict::Lost),
        }
    }

    fn read_index(&self, bytes: &[u8]) -> Index {
        if let Ok(entries) = self.decode_index(bytes) {
            return Index::Whole(entries);
        }
        let Some(checksum) = self.checksum else { return Index::Unreadable };
        let (plain, sum) = bytes.split_at(bytes.len().saturating_sub(checksum as usize));
        let numbers: Vec<u64> =
            plain.as_chunks::<8>().0.iter().map(|n| u64::from_le_bytes(*n)).collect();
        let sum = (checksum > 0).then(|| sum.to_vec());
        Index::Doubtful(numbers.as_chunks::<2>().0.to_vec(), sum)
    }

    fn index_shape(&self) -> Vec<u64> {
        self.counts.iter().copied().chain([2]).collect()
    }

    fn decode_index(&self, bytes: &[u8]) -> Result<Vec<Entry>, CodecError> {
        let shape = self.index_shape();
        let mut memory = zeroed(CODEC, element_count(&shape).and_then(|n| n.checked_mul(8)))?;
        let out = ViewMut::new(&mut memory, &shape, 8);
        self.index.decode_into(
            Cow::Borrowed(bytes),
            &shape,
            &ResolvedSelection::all(&shape),
            out,
        )?;
        let numbers: Vec<u64> =
            memory.as_chunks::<8>().0.iter().map(|n| u64::from_ne_bytes(*n)).collect();
        Ok(numbers.as_chunks::<2>().0.to_vec())
    }

    fn encode_index(&self, entries: &[Entry]) -> Result<Vec<u8>, CodecError> {
        let memory: Vec<u8> = entries.iter().flatten().flat_map(|n| n.to_ne_bytes()).collect();
        Ok(self.index.encode(View::new(&memory, &self.index_shape(), 8))?.into_owned())
    }

    /// The entries that refer to no sound inner chunk, in order.
    fn bad_entries(
        &self,
        entries: &[Entry],
        area: &Range<u64>,
        shard: &dyn SyncSnapshot,
    ) -> Result<Vec<usize>, StoreError> {
        let mut bad = Vec::new();
        let mut sound: Vec<(Range<u64>, usize)> = Vec::new();
        for (number, entry) in entries.iter().enumerate() {
            if *entry == ABSENT {
                continue;
            }
            match range_of(entry, area) {
                Some(range) if self.decodes(&range, shard)? => sound.push((range, number)),
                _ => bad.push(number),
            }
        }
        // Of inner chunks that overlap without being the same bytes, none is certain.
        sound.sort_by_key(|(range, _)| (range.start, range.end));
        let mut reach: Option<(Range<u64>, usize)> = None;
        for (range, number) in sound {
            if let Some((before, other)) = &reach
                && range.start < before.end
                && range != *before
            {
                bad.extend([*other, number]);
            }
            if reach.as_ref().is_none_or(|(before, _)| range.end > before.end) {
                reach = Some((range, number));
            }
        }
        bad.sort_unstable();
        bad.dedup();
        // Entries that share the bytes of a bad one are as bad.
        let of_bad: Vec<Entry> = bad.iter().map(|&number| entries[number]).collect();
        Ok((0..entries.len()).filter(|number| of_bad.contains(&entries[*number])).collect())
    }

    /// The entries of an index that is damaged, if all inner chunks can be found and it is certain whose they are.
    ///
    /// The inner chunks must follow each other without a gap, and each must decode. Where entries were damaged, the checksum that is stored must be
    /// that of the entries which were found; an index without a checksum must agree with them in offsets or, for one entry, in its length.
    fn recover(
        &self,
        entries: &[Entry],
        sum: Option<&[u8]>,
        area: &Range<u64>,
        shard: &dyn SyncSnapshot,
    ) -> Result<Option<Vec<Entry>>, StoreError> {
        let found = self.recover_from(entries, sum, false, area, shard)?;
        if found.is_some() || sum.is_none() || !entries.contains(&ABSENT) {
            return Ok(found);
        }
        self.recover_from(entries, sum, true, area, shard)
    }

    /// As `recover`; entries of inner chunks that are not stored may be damaged as well.
    fn recover_from(
        &self,
        entries: &[Entry],
        sum: Option<&[u8]>,
        absent_may_be: bool,
        area: &Range<u64>,
        shard: &dyn SyncSnapshot,
    ) -> Result<Option<Vec<Entry>>, StoreError> {
        if let [_] = entries {
            let is_one = !area.is_empty() && self.decodes(area, shard)?;
            return Ok(is_one.then(|| vec![entry_of(area)]));
        }
        let (mut places, mut damaged) = (Vec::new(), Vec::new());
        for (number, entry) in entries.iter().enumerate() {
            match range_of(entry, area) {
                _ if *entry == ABSENT && !absent_may_be => {}
                Some(range) if self.is_inner_chunk(&range, shard)? => places.push((range, number)),
                _ => damaged.push(number),
            }
        }
        places.sort_by_key(|(range, _)| range.start);
        // Of two that share bytes one is damaged.
        let doubtful: Vec<usize> = (0..places.len())
            .filter(|&at| {
                let before = at > 0 && places[at - 1].0.end > places[at].0.start;
                let after = places.get(at + 1).is_some_and(|next| places[at].0.end > next.0.start);
                before || after
            })
            .collect();
        for at in doubtful.into_iter().rev() {
            damaged.push(places.remove(at).1);
        }
        damaged.sort_unstable();
        let mut found = vec![ABSENT; entries.len()];
        places.iter().for_each(|(range, number)| found[*number] = entry_of(range));
        let mut pieces = Vec::new();
        for gap in gaps(&places, area) {
            let known: Vec<Entry> = damaged.iter().map(|&number| entries[number]).collect();
            match self.cut(&gap, &known, shard)? {
                Some(cut) => pieces.extend(cut),
                None => return Ok(None),
            }
        }
        if damaged.is_empty() {
            return Ok(pieces.is_empty().then_some(found));
        }
        if pieces.len() > damaged.len() {
            return Ok(None);
        }
        let guess = agreeing(entries, &damaged, &pieces, found.clone());
        Ok(match sum {
            None => guess,
            Some(sum) => guess
                .filter(|guess| self.has_sum(guess, sum))
                .or_else(|| self.ordered(&found, &damaged, &pieces, sum))
                .or_else(|| self.proven(found, &damaged, &pieces, sum)),
        })
    }

    /// The inner chunks that a gap is made of, each of which decodes; `None` if they are not found. Each begins where the one before ends,
    /// and ends where a damaged entry begins, or as many bytes further on as one has, or where the gap ends.
    fn cut(
        &self,
        gap: &Range<u64>,
        damaged: &[Entry],
        shard: &dyn SyncSnapshot,
    ) -> Result<Option<Vec<Range<u64>>>, StoreError> {
        let fixed = self.inner.encoded_size(&self.inner_shape);
        let mut tried = BTreeSet::new();
        let mut pieces: Vec<Range<u64>> = Vec::new();
        // The ends that are left to try after each piece.
        let ends = |start: u64| -> Result<Vec<u64>, StoreError> {
            let mut ends = ends_from(start, gap, damaged, fixed);
            let said = self.length_at(start, gap.end, shard)?;
            ends.extend(said.and_then(|length| start.checked_add(length)));
            Ok(ends)
        };
        let mut left = vec![ends(gap.start)?];
        while let Some(next) = left.last_mut() {
            let start = pieces.last().map_or(gap.start, |piece| piece.end);
            let Some(end) = next.pop() else {
                left.pop();
                pieces.pop();
                continue;
            };
            if pieces.len() >= damaged.len() || !tried.insert((start, end)) {
                continue;
            }
            if tried.len() > MOST_DECODED {
                return Ok(None);
            }
            if self.is_inner_chunk(&(start..end), shard)? {
                pieces.push(start..end);
                if end == gap.end {
                    return Ok(Some(pieces));
                }
                left.push(ends(end)?);
            }
        }
        Ok(None)
    }

    /// Whether the checksum of an index of these entries is the one that is stored.
    fn has_sum(&self, entries: &[Entry], sum: &[u8]) -> bool {
        self.encode_index(entries).is_ok_and(|bytes| bytes.ends_with(sum))
    }

    /// The pieces in one of the orders of writers, if it has the checksum that is stored.
    fn ordered(
        &self,
        found: &[Entry],
        damaged: &[usize],
        pieces: &[Range<u64>],
        sum: &[u8],
    ) -> Option<Vec<Entry>> {
        let pieces: Vec<Entry> = pieces.iter().map(entry_of).collect();
        let most = MOST_TRIED / found.len().max(1);
        in_some_order(found, damaged, &pieces, &self.counts, most, &|entries| {
            self.has_sum(entries, sum)
        })
    }

    /// The one way to give the pieces to the damaged entries that has the checksum which is stored; the other entries are absent.
    fn proven(
        &self,
        mut found: Vec<Entry>,
        damaged: &[usize],
        pieces: &[Range<u64>],
        sum: &[u8],
    ) -> Option<Vec<Entry>> {
        let ways = (0..pieces.len()).map(|n| damaged.len() - n).try_fold(1, usize::checked_mul)?;
        if ways.checked_mul(found.len())? > MOST_TRIED {
            return None;
        }
        self.try_ways(&mut found, damaged, pieces, sum).then_some(found)
    }

    fn try_ways(
        &self,
        found: &mut [Entry],
        damaged: &[usize],
        pieces: &[Range<u64>],
        sum: &[u8],
    ) -> bool {
        let Some((piece, rest)) = pieces.split_first() else { return self.has_sum(found, sum) };
        damaged.iter().any(|&number| {
            if found[number] != ABSENT {
                return false;
            }
            found[number] = entry_of(piece);
            let is_it = self.try_ways(found, damaged, rest, sum);
            if !is_it {
                found[number] = ABSENT;
            }
            is_it
        })
    }

    /// Whether these bytes of a shard are an inner chunk.
    fn decodes(&self, range: &Range<u64>, shard: &dyn SyncSnapshot) -> Result<bool, StoreError> {
        let size =
            element_count(&self.inner_shape).and_then(|count| count.checked_mul(self.cell as u64));
        let most = most_encoded(size.filter(|_| !self.is_variable));
        if range.end - range.start > most {
            return Ok(false);
        }
        let bytes = shard.read(&[ByteRange::from(range.clone())])?.pop().unwrap_or_default();
        Ok(self.decode(&bytes, size).is_ok())
    }

    fn decode(&self, bytes: &[u8], size: Option<u64>) -> Result<(), CodecError> {
        let shape = &self.inner_shape;
        if let Some(expected) = self.inner.encoded_size(shape)
            && expected != bytes.len() as u64
        {
            return Err(CodecError::Length { codec: CODEC, expected, found: bytes.len() as u64 });
        }
        let mut memory = zeroed(CODEC, size)?;
        let texts = self.is_variable.then(VarBuffer::default);
        let out = ViewMut::new(&mut memory, shape, self.cell).with_var_buffer(texts.as_ref());
        self.inner.decode_into(Cow::Borrowed(bytes), shape, &ResolvedSelection::all(shape), out)
    }

    /// A shard of the inner chunks of another to which these entries refer, in the order of their bytes.
    ///
    /// # Errors
    /// If the index cannot be encoded.
    pub fn assemble(
        &self,
        shard: &Arc<dyn SyncSnapshot>,
        entries: &[Entry],
        mended: &Mended,
    ) -> Result<Payload<'static>, CodecError> {
        let mut order: Vec<usize> = (0..entries.len()).collect();
        order.retain(|&number| entries[number] != ABSENT);
        order.sort_by_key(|&number| entries[number]);
        let mut new = vec![ABSENT; entries.len()];
        let mut end = if self.index_is_first { self.index_size } else { 0 };
        let mut kept: Vec<Piece<'_>> = Vec::new();
        let mut before = ABSENT;
        for number in order {
            let [offset, mut length] = entries[number];
            if entries[number] != before {
                match (mended.get(&number), kept.last_mut()) {
                    (Some(bytes), _) => {
                        length = bytes.len() as u64;
                        kept.push(Piece::New(bytes));
                    }
                    (None, Some(Piece::Kept(last))) if last.end == offset => last.end += length,
                    _ => kept.push(Piece::Kept(offset..offset + length)),
                }
                end += length;
            }
            before = entries[number];
            new[number] = [end - length, length];
        }
        let index = self.encode_index(&new)?;
        let chunks = |payload: Payload<'static>| {
            kept.iter().fold(payload, |payload, piece| match piece {
                Piece::Kept(range) => payload.and_kept(shard, range.clone()),
                Piece::New(bytes) => payload.and(bytes.to_vec()),
            })
        };
        Ok(if self.index_is_first {
            chunks(Payload::new(index))
        } else {
            chunks(Payload::default()).and(index)
        })
    }
}

/// Whether the codec is `bytes` in little endian.
fn is_little_endian(spec: &CodecSpec) -> bool {
    let endian = spec.configuration.get("endian").and_then(Json::as_str);
    spec.name == "bytes" && endian == Some("little")
}

/// What a shard is put together of.
enum Piece<'a> {
    /// Bytes of the old shard.
    Kept(Range<u64>),
    /// An inner chunk that was mended.
    New(&'a [u8]),
}

/// What is left of an area between places in order.
fn gaps(places: &[(Range<u64>, usize)], area: &Range<u64>) -> Vec<Range<u64>> {
    let ends = places.iter().map(|(range, _)| range.end);
    let starts = places.iter().map(|(range, _)| range.start);
    let begins = [area.start].into_iter().chain(ends);
    let gaps = begins.zip(starts.chain([area.end])).map(|(start, end)| start..end);
    gaps.filter(|gap| !gap.is_empty()).collect()
}

/// Where an inner chunk may end that begins at `start` in a gap; those to be tried first are last.
fn ends_from(start: u64, gap: &Range<u64>, damaged: &[Entry], fixed: Option<u64>) -> Vec<u64> {
    let mut ends: Vec<u64> = match fixed {
        Some(size) => start.checked_add(size).into_iter().collect(),
        None => damaged
            .iter()
            .flat_map(|entry| [Some(entry[0]), start.checked_add(entry[1])])
            .flatten()
            .chain([gap.end])
            .collect(),
    };
    ends.retain(|end| start < *end && *end <= gap.end);
    ends.sort_unstable();
    ends.dedup();
    ends
}

/// The entries with the pieces that damaged ones agree with; `None` unless that leaves no piece and no damaged entry.
fn agreeing(
    entries: &[Entry],
    damaged: &[usize],
    pieces: &[Range<u64>],
    mut found: Vec<Entry>,
) -> Option<Vec<Entry>> {
    let mut left = Vec::new();
    for piece in pieces {
        let mut owners = damaged.iter().filter(|&&number| entries[number][0] == piece.start);
        match (owners.next(), owners.next()) {
            (Some(&owner), None) => found[owner] = entry_of(piece),
            (None, _) => left.push(piece),
            _ => return None,
        }
    }
    let rest: Vec<usize> =
        damaged.iter().copied().filter(|&number| found[number] == ABSENT).collect();
    match (&left[..], &rest[..]) {
        ([], []) => Some(found),
        ([piece], [owner]) if entries[*owner][1] == piece.end - piece.start => {
            found[*owner] = entry_of(piece);
            Some(found)
        }
        _ => None,
    }
}

/// The bytes of an entry that is stored; `None` if they are not in the area of inner chunks.
fn range_of(entry: &Entry, area: &Range<u64>) -> Option<Range<u64>> {
    let end = entry[0].checked_add(entry[1])?;
    (area.start <= entry[0] && entry[0] < end && end <= area.end).then_some(entry[0]..end)
}

fn entry_of(range: &Range<u64>) -> Entry {
    [range.start, range.end - range.start]
}
