//! Does the work of [`tune`](super::tune): sample, candidates, measurements, model, choice.

use zarr_core::codec::CodecSpec;
use zarr_core::data_type::{Scalar, ScalarValue};
use zarr_core::format::of_dialect;
use zarr_core::metadata::ArrayMetadata;
use zarr_core::runtime::available_threads;
use zarr_core::{
    AccessError, Array, Dialect, Error, ErrorKind, Hierarchy, Json, OpenOptions, Region, Result,
    View,
};

use super::bits::{BitCounts, FloatBits};
use super::choose;
use super::codecs::{CodecCandidate, ElementsKind, candidates};
use super::measure::{Measured, Measurement};
use super::reads::ReadPattern;
use super::requests::StoredLayout;
use super::sample::{Sample, SampleBox, SampleRequest};
use super::shapes::ShapeRequest;
use super::{
    Candidate, Lossy, ReadCost, Reader, SampleReport, TuneOptions, TuneProgress, TuneReport,
};
use crate::copy::CopyOptions;

/// A sample takes a quarter of the memory, within these bounds: the rest is for chunks that are encoded and decoded.
const MIN_SAMPLE_BYTES: u64 = 1 << 20;
const MAX_SAMPLE_BYTES: u64 = 256 << 20;

/// Codecs that are measured with all shapes, of those that were measured with one.
const MAX_CODECS: usize = 5;

/// The most axes of an array that is advised on: shapes are tried axis by axis.
const MAX_AXES: usize = 32;

/// What is known before anything is read.
pub(super) struct Work<'a> {
    array: &'a Array,
    options: &'a TuneOptions<'a>,
    metadata: ArrayMetadata,
    /// The chunks that are decoded now.
    chunks: Vec<u64>,
    names: Vec<Option<String>>,
    reads: Vec<ReadPattern>,
    /// Where a copy would be described; nothing is written to it.
    target: Hierarchy,
    dialect: Dialect,
    threads: usize,
}

/// A codec and what was measured of it with one shape.
type MeasuredCodec = (CodecCandidate, Measured);

fn argument(why: &str) -> Error {
    AccessError::Argument(why.to_owned()).into()
}

/// See [`super::stored_layout`].
pub(super) fn stored_layout(array: &Array, stored_bytes: u64) -> Result<StoredLayout> {
    let metadata = array.metadata();
    let chunks = array.chunk_shape().ok_or_else(|| argument(SEVERAL_SHAPES))?;
    let element = metadata.data_type.repr().map_or(1, |repr| repr.size() as u64);
    let mut layout = StoredLayout {
        shape: array.shape(),
        decoded_chunk_bytes: bytes_of(&chunks, element),
        chunks,
        shards: array.shard_shape(),
        stored_chunk_bytes: 0.0,
    };
    let index = index_bytes(&layout) * layout.objects() as f64;
    let count = layout.chunk_count().max(1) as f64;
    layout.stored_chunk_bytes = (stored_bytes as f64 - index).max(0.0) / count;
    Ok(layout)
}

const SEVERAL_SHAPES: &str = "the array's chunks have several shapes; advice is on arrays whose chunks have one: copy it with --chunks first";

/// Bytes of the index of each object; 0 without shards.
fn index_bytes(layout: &StoredLayout) -> f64 {
    match layout.shards {
        Some(_) => 16.0 * layout.chunks_of_object() as f64 + 4.0,
        None => 0.0,
    }
}

fn bytes_of(sides: &[u64], element: u64) -> u64 {
    sides.iter().fold(element, |all, &side| all.saturating_mul(side))
}

/// A shape as `--chunks` takes it.
fn shape_text(shape: &[u64]) -> String {
    shape.iter().map(u64::to_string).collect::<Vec<_>>().join(",")
}

impl<'a> Work<'a> {
    /// Checks what can be refused before anything is read.
    pub fn new(array: &'a Array, options: &'a TuneOptions<'a>) -> Result<Work<'a>> {
        let metadata = (*array.metadata()).clone();
        if array.is_empty() {
            return Err(argument("the array has no elements to sample"));
        }
        if metadata.rank() > MAX_AXES {
            return Err(argument(&format!("advice is on arrays of at most {MAX_AXES} axes")));
        }
        // What cannot be read is an error of the codec or the type that lacks.
        metadata.chain(array.hierarchy().registry(), array.hierarchy().dialect())?;
        let chunks = array.chunk_shape().ok_or_else(|| argument(SEVERAL_SHAPES))?;
        let names = array.dimension_names().unwrap_or_else(|| vec![None; metadata.rank()]);
        let reads = if options.reads.is_empty() {
            ReadPattern::presets(&metadata.shape, &names)
        } else {
            options.reads.clone()
        };
        if reads.iter().any(|read| read.lengths.len() != metadata.rank()) {
            return Err(argument("a read has another number of axes than the array"));
        }
        let from = array.hierarchy();
        let dialect = options.dialect.unwrap_or(from.dialect());
        let target = if dialect == from.dialect() {
            from.clone()
        } else {
            let open = OpenOptions::new(from.registry().clone());
            Hierarchy::of_format(from.store().clone(), of_dialect(dialect), &open)
        };
        let threads = available_threads(options.threads);
        Ok(Work { array, options, metadata, chunks, names, reads, target, dialect, threads })
    }

    fn told(&self, done: u64, total: u64) {
        if let Some(progress) = self.options.progress {
            progress(&TuneProgress { done, total });
        }
    }

    pub fn report(&self) -> Result<TuneReport> {
        let mut notes = Vec::new();
        let element = self.metadata.data_type.repr().map_or(1, |repr| repr.size() as u64);
        let shapes = self.shapes(element);
        let memory = self.options.memory.unwrap_or_else(crate::copy::default_memory);
        let request = SampleRequest {
            array: self.array,
            chunks: &shapes,
            budget: (memory / 4).clamp(MIN_SAMPLE_BYTES, MAX_SAMPLE_BYTES),
            seed: self.options.seed,
            cancel: self.options.cancel.as_ref(),
        };
        let sample = request.read(&|done, total| self.told(done, total))?;
        if sample.boxes.is_empty() {
            return Err(argument(
                "the sample holds nothing but the fill value; there is nothing to measure",
            ));
        }
        let element = sample.element_bytes.round().max(1.0) as u64;
        let shapes = self.shapes(element);
        let measurement = self.measurement(&sample, self.dialect);
        let codecs = self.codecs(&sample, &mut notes)?;
        let floats = |codec: &CodecCandidate| codec.keepbits.and_then(|_| self.float());
        // The codecs with one shape, then the best of them with all.
        let total = (codecs.len() + (shapes.len() - 1) * MAX_CODECS.min(codecs.len()) + 1) as u64;
        let mut done = 0;
        let mut first: Vec<MeasuredCodec> = Vec::new();
        for codec in codecs {
            if let Some(metadata) = self.described(&shapes[0], &codec)? {
                let measured = measurement.of(&metadata, &shapes[0], floats(&codec))?;
                first.push((codec, measured));
            }
            done += 1;
            self.told(done, total);
        }
        if first.is_empty() {
            return Err(argument(
                "this build has none of the codecs that are tried: zstd, gzip, blosc",
            ));
        }
        let first = self.best_codecs(first);
        let mut found = Vec::new();
        for (number, chunks) in shapes.iter().enumerate() {
            for (codec, of_first) in &first {
                let measured = if number == 0 {
                    Some(of_first.clone())
                } else {
                    done += 1;
                    self.told(done.min(total), total);
                    match self.described(chunks, codec)? {
                        Some(metadata) => Some(measurement.of(&metadata, chunks, floats(codec))?),
                        None => None,
                    }
                };
                if let Some(measured) = measured {
                    self.add_layouts(&mut found, (chunks, codec, &measured), &sample);
                }
            }
        }
        found.retain(|candidate| {
            self.options.readers.iter().all(|reader| candidate.readers.contains(reader))
        });
        if found.is_empty() {
            let names: Vec<&str> =
                self.options.readers.iter().map(|reader| reader.name()).collect();
            let why = format!(
                "no layout of {} is known to be read by {}",
                self.target.format_name(),
                names.join(", ")
            );
            return Err(AccessError::Argument(why).into());
        }
        let now = self.now(&sample)?;
        self.told(total, total);
        Ok(self.chosen(now, found, &sample, notes))
    }

    fn measurement<'b>(&'b self, sample: &'b Sample, dialect: Dialect) -> Measurement<'b> {
        Measurement {
            sample,
            registry: self.array.hierarchy().registry(),
            dialect,
            seed: self.options.seed,
            cancel: self.options.cancel.as_ref(),
        }
    }

    /// Shapes of chunks to try, with that of now.
    fn shapes(&self, element: u64) -> Vec<Vec<u64>> {
        let mut shapes = self.shape_request(element).chunks();
        let now = &self.chunks;
        if !shapes.contains(now) && bytes_of(now, element) <= 64 << 20 {
            shapes.push(now.clone());
        }
        shapes
    }

    fn shape_request(&self, element: u64) -> ShapeRequest<'_> {
        ShapeRequest {
            shape: &self.metadata.shape,
            names: &self.names,
            element,
            reads: &self.reads,
            service: &self.options.service,
            threads: self.threads,
        }
    }

    /// The codecs to try: those of the type of elements, and of floats that may be rounded those behind a rounding one.
    fn codecs(&self, sample: &Sample, notes: &mut Vec<String>) -> Result<Vec<CodecCandidate>> {
        let kind = ElementsKind { is_labels: self.is_labels(), is_sorted: self.is_sorted(sample) };
        let mut found = candidates(&self.metadata.data_type, kind, self.dialect);
        if self.options.lossy
            && let Some(keepbits) = self.keepbits(sample, notes)
        {
            let rounded: Vec<_> =
                found[..found.len().min(4)].iter().map(|it| it.rounded(keepbits)).collect();
            found.extend(rounded);
        }
        found.retain(|codec| {
            let readers = codec.readers(self.dialect, false);
            self.options.readers.iter().all(|reader| readers.contains(reader))
        });
        if found.is_empty() {
            let names: Vec<&str> =
                self.options.readers.iter().map(|reader| reader.name()).collect();
            let why = format!(
                "no codec of {} is known to be read by {}",
                self.target.format_name(),
                names.join(", ")
            );
            return Err(AccessError::Argument(why).into());
        }
        Ok(found)
    }

    /// The array's path behind the name of its store: an array that was opened by itself has no other name.
    fn place(&self) -> String {
        format!("{}{}", self.array.hierarchy().store().name(), self.array.path())
    }

    /// Labels of an image, or flags by CF's attributes.
    fn is_labels(&self) -> bool {
        let attributes = &self.metadata.attributes;
        let is_in_labels = self.place().split('/').any(|name| name == "labels");
        let is_integer =
            matches!(self.metadata.data_type.scalar(), Some(Scalar::Int(_) | Scalar::Uint(_)));
        is_integer
            && (is_in_labels
                || attributes.contains("flag_values")
                || attributes.contains("flag_masks"))
    }

    /// A single axis of integers that grow or fall all along.
    fn is_sorted(&self, sample: &Sample) -> bool {
        let Some(scalar) = self.metadata.data_type.scalar() else { return false };
        if self.metadata.rank() != 1 || !matches!(scalar, Scalar::Int(_) | Scalar::Uint(_)) {
            return false;
        }
        let size = self.metadata.data_type.repr().map_or(1, |repr| repr.size());
        sample.boxes.iter().all(|one| is_monotonic(one, scalar, size, i128::le))
            || sample.boxes.iter().all(|one| is_monotonic(one, scalar, size, i128::ge))
    }

    /// The type of floats, if elements are floats that may be rounded.
    fn float(&self) -> Option<FloatBits> {
        let size = self.metadata.data_type.repr()?.size();
        match self.metadata.data_type.scalar()? {
            Scalar::Float(_) => {
                let float = FloatBits::of_size(size)?;
                // Other formats of 16 bits have another mantissa.
                let name = self.metadata.data_type.to_string();
                (name == format!("float{}", size * 8)).then_some(float)
            }
            _ => None,
        }
    }

    /// Whether CF's attributes say that the array is a coordinate.
    fn has_attributes_of_coordinate(&self) -> bool {
        let text = |name: &str| self.metadata.attributes.get(name).and_then(Json::as_str);
        let is_degrees = text("units").is_some_and(|units| {
            units.starts_with("degrees_north") || units.starts_with("degrees_east")
        });
        let is_named = text("standard_name").is_some_and(|name| {
            matches!(name, "latitude" | "longitude" | "time") || name.ends_with("_coordinate")
        });
        is_degrees || is_named || text("axis").is_some()
    }

    /// How many bits of the mantissa are kept, if rounding is advised; else a note says why not.
    fn keepbits(&self, sample: &Sample, notes: &mut Vec<String>) -> Option<u32> {
        let mut not = |why: &str| {
            notes.push(format!("not rounded: {why}"));
            None
        };
        let Some(float) = self.float() else {
            return not("elements are not floats of 16, 32 or 64 bits");
        };
        let place = self.place();
        let own_name = place.trim_end_matches('/').rsplit('/').next().unwrap_or_default();
        let is_dimension = self.names.iter().flatten().any(|name| name == own_name);
        if self.metadata.rank() == 1 && is_dimension || self.has_attributes_of_coordinate() {
            return not("the array is a coordinate");
        }
        let fill = self.metadata.fill_value.as_ref().map(|fill| float.load(fill.as_bytes()));
        let missing = ["_FillValue", "missing_value"].map(|name| {
            self.metadata.attributes.get(name).and_then(Json::as_f64).map(|value| value as f32)
        });
        let mut kept: Option<u32> = None;
        for axis in 0..self.metadata.rank() {
            let mut counts = BitCounts::new(float);
            for one in &sample.boxes {
                count_pairs(&mut counts, float, &one.view(), axis, &|element, bits| {
                    let value = float.to_f64(element) as f32;
                    float.is_finite(bits) && Some(bits) != fill && !missing.contains(&Some(value))
                });
            }
            let found = counts.keepbits();
            if found.constant >= 4 && found.is_misleading {
                return not(&format!(
                    "the last {} bits of all elements are the same: they were rounded before",
                    found.constant
                ));
            }
            if self.metadata.shape[axis] > 1 && found.is_misleading {
                return not(&format!(
                    "the last bits of the mantissa depend on their neighbours along axis {axis}, as in packed or interpolated data, or there are too few elements to tell"
                ));
            }
            if !found.is_misleading {
                kept = kept.max(Some(found.bits));
            }
        }
        if let Some(bits) = kept {
            notes.push(format!(
                "rounding keeps {bits} bits of the mantissa, which hold 99 % of the information that neighbours share in the sample; look at the differences before you rely on it"
            ));
            notes.push(format!(
                "only {} is known to read rounded layouts; one is advised only if readers are named",
                Reader::ZarrPython.name()
            ));
        }
        kept
    }

    /// The metadata of a copy; `None` if the dialect or this build lacks the codec.
    fn described(&self, chunks: &[u64], codec: &CodecCandidate) -> Result<Option<ArrayMetadata>> {
        let options = CopyOptions {
            chunks: (!chunks.is_empty()).then(|| chunks.to_vec()),
            codecs: Some(codec.texts.clone()),
            ..CopyOptions::default()
        };
        match crate::metadata_like(self.array, &self.target, &options) {
            Ok(metadata) => Ok(Some(metadata)),
            Err(e)
                if matches!(
                    e.kind(),
                    ErrorKind::Unsupported | ErrorKind::NotCapable | ErrorKind::Argument
                ) =>
            {
                Ok(None)
            }
            Err(e) if e.kind() == ErrorKind::InvalidMetadata => Ok(None),
            Err(e) => Err(e),
        }
    }

    /// The codecs that no other one is better than in size and in speed, at most five, the first one among them.
    fn best_codecs(&self, measured: Vec<MeasuredCodec>) -> Vec<MeasuredCodec> {
        let mut kept: Vec<MeasuredCodec> = Vec::new();
        for (number, (codec, one)) in measured.iter().enumerate() {
            // One that few read says nothing against one that all read.
            let worse = measured.iter().any(|(other, by)| {
                let is_worse = by.per_element <= one.per_element * 1.005
                    && by.decode_seconds <= one.decode_seconds * 1.02
                    && (by.per_element < one.per_element * 0.99
                        || by.decode_seconds < one.decode_seconds * 0.95);
                is_worse && (self.is_read_by_all(other) || !self.is_read_by_all(codec))
            });
            if number == 0 || !worse {
                kept.push((codec.clone(), one.clone()));
            }
        }
        kept[1..].sort_by(|a, b| self.cost_of(a).total_cmp(&self.cost_of(b)));
        // The smallest is among them, however slow it is.
        let smallest = (0..kept.len()).filter(|&at| self.is_read_by_all(&kept[at].0));
        let smallest =
            smallest.min_by(|&a, &b| kept[a].1.per_element.total_cmp(&kept[b].1.per_element));
        if let Some(smallest) = smallest.filter(|&at| at >= MAX_CODECS) {
            kept.swap(smallest, MAX_CODECS - 1);
        }
        kept.truncate(MAX_CODECS);
        kept
    }

    fn is_read_by_all(&self, codec: &CodecCandidate) -> bool {
        codec.readers(self.dialect, false) == self.usual_readers()
    }

    /// What a codec costs: its bytes above all, then its time, and the readers that do not have it.
    fn cost_of(&self, (codec, one): &MeasuredCodec) -> f64 {
        let readers = if self.is_read_by_all(codec) { 1.0 } else { 1.5 };
        one.per_element.max(1e-9) * (one.decode_seconds.max(1e-9)).powf(0.3) * readers
    }

    /// Those who read everything usual of the dialect: what is advised by default is to be read by all of them.
    fn usual_readers(&self) -> Vec<Reader> {
        let usual = &candidates(&self.metadata.data_type, ElementsKind::default(), self.dialect)[0];
        usual.readers(self.dialect, false)
    }

    /// Adds the layouts with chunks of a shape, without shards and with each shape of shards.
    fn add_layouts(
        &self,
        found: &mut Vec<Candidate>,
        (chunks, codec, measured): (&[u64], &CodecCandidate, &Measured),
        sample: &Sample,
    ) {
        let element = sample.element_bytes.round().max(1.0) as u64;
        let mut shards = vec![None];
        if self.dialect == Dialect::V3 && !chunks.is_empty() {
            shards.extend(self.shape_request(element).shards(chunks).into_iter().map(Some));
        }
        for shards in shards {
            let has_shards = shards.is_some();
            let layout = self.layout(chunks, shards, measured, sample);
            let mut candidate = self.modelled(&layout, measured, sample);
            candidate.codecs = codec.texts.clone();
            candidate.readers = codec.readers(self.dialect, has_shards);
            candidate.lossy = codec.keepbits.map(|keepbits| {
                let (absolute_error, relative_error) = measured.error.unwrap_or_default();
                let relative_bound = 0.5f64.powi(keepbits as i32 + 1);
                Lossy { keepbits, relative_bound, absolute_error, relative_error }
            });
            candidate.copy_arguments = self.copy_arguments(&candidate);
            found.push(candidate);
        }
    }

    fn layout(
        &self,
        chunks: &[u64],
        shards: Option<Vec<u64>>,
        measured: &Measured,
        sample: &Sample,
    ) -> StoredLayout {
        StoredLayout {
            shape: self.metadata.shape.clone(),
            chunks: chunks.to_vec(),
            shards,
            decoded_chunk_bytes: (sample.element_bytes * bytes_of(chunks, 1) as f64) as u64,
            stored_chunk_bytes: measured.chunk_bytes,
        }
    }

    /// What a layout takes, by what was measured and by the model.
    fn modelled(&self, layout: &StoredLayout, measured: &Measured, sample: &Sample) -> Candidate {
        let service = &self.options.service;
        let elements: f64 = self.metadata.shape.iter().map(|&len| len as f64).product();
        let share = measured.stored_share * sample.present;
        // A shard is stored if one of its chunks is.
        let per_object = layout.chunks_of_object() as f64;
        let object_share = 1.0 - (1.0 - share).powf(per_object);
        let objects = (layout.objects() as f64 * object_share).ceil();
        let index = index_bytes(layout) * objects;
        let stored =
            |per_element: f64| (per_element * elements * sample.present + index).round() as u64;
        let decoded = layout.decoded_chunk_bytes as f64;
        let weights: f64 = self.reads.iter().map(|read| read.weight).sum();
        let costs = self.reads.iter().map(|read| {
            let count = layout.expect(read, service);
            let threads = (self.threads as f64).min(count.chunks.max(1.0));
            let index_time = (count.rounds - 1.0).max(0.0) * service.get.median.as_secs_f64();
            let decoding = count.chunks * share * measured.decode_seconds / threads;
            let seconds =
                index_time + service.seconds(count.requests, count.bytes * share) + decoding;
            let price = count.requests * service.read_price;
            ReadCost { share: read.weight / weights, count, seconds, price }
        });
        let reads: Vec<ReadCost> = costs.collect();
        let object_bytes = decoded * per_object;
        Candidate {
            chunks: layout.chunks.clone(),
            shards: layout.shards.clone(),
            stored_bytes: stored(measured.per_element),
            stored_interval: (stored(measured.interval.0), stored(measured.interval.1)),
            objects: objects as u64,
            writer_memory: (object_bytes + measured.chunk_bytes * per_object) as u64,
            list_requests: (objects / service.page as f64).ceil().max(1.0) as u64,
            encode_speed: speed(decoded, measured.encode_seconds),
            decode_speed: speed(decoded, measured.decode_seconds),
            measured_chunks: measured.pieces.0,
            chunk_bytes: measured.chunk_bytes,
            seconds: reads.iter().map(|read| read.share * read.seconds).sum(),
            read_price: reads.iter().map(|read| read.share * read.price).sum(),
            write_price: objects * service.write_price,
            is_cut: measured.is_cut,
            reads,
            ..Candidate::default()
        }
    }

    /// The array as it is, by the same sample and model.
    fn now(&self, sample: &Sample) -> Result<Candidate> {
        let metadata = self.metadata.clone().unsharded();
        let dialect = self.array.hierarchy().dialect();
        let measured = self.measurement(sample, dialect).of(&metadata, &self.chunks, None)?;
        let layout = self.layout(&self.chunks, self.array.shard_shape(), &measured, sample);
        let mut now = self.modelled(&layout, &measured, sample);
        now.codecs = metadata.codecs.iter().map(CodecSpec::to_string).collect();
        Ok(now)
    }

    /// The options of `zarr copy` that make such a copy.
    fn copy_arguments(&self, candidate: &Candidate) -> Vec<String> {
        let mut arguments = Vec::new();
        let mut add = |option: &str, value: String| arguments.extend([option.to_owned(), value]);
        if self.dialect != self.array.hierarchy().dialect() {
            let to = match self.dialect {
                Dialect::V3 => "v3",
                Dialect::V2 => "v2",
                _ => "draft-2020",
            };
            add("--to", to.to_owned());
        }
        if !candidate.chunks.is_empty() {
            add("--chunks", shape_text(&candidate.chunks));
        }
        match &candidate.shards {
            Some(shards) => add("--shards", shape_text(shards)),
            None if self.array.shard_shape().is_some() => add("--shards", "none".to_owned()),
            None => {}
        }
        for codec in &candidate.codecs {
            add("--codec", codec.clone());
        }
        arguments
    }

    /// The report: the Pareto set, and what is advised.
    fn chosen(
        &self,
        now: Candidate,
        found: Vec<Candidate>,
        sample: &Sample,
        mut notes: Vec<String>,
    ) -> TuneReport {
        let asked = !self.options.readers.is_empty();
        let demanded = if asked { self.options.readers.clone() } else { self.usual_readers() };
        let best = choose::best(&found, |candidate: &Candidate| {
            demanded.iter().all(|reader| candidate.readers.contains(reader))
        });
        let best = best.cloned();
        let mut candidates = choose::pareto(&found, best.as_ref());
        let names: Vec<&str> = demanded.iter().map(|reader| reader.name()).collect();
        let (advised, reason) = match &best {
            _ if now.stored_bytes == 0 => {
                (None, "the sample holds nothing but the fill value".to_owned())
            }
            None => (None, format!("no layout is read by all of {}", names.join(", "))),
            Some(best) => {
                let gain = 1.0 - choose::product(best) / choose::product(&now);
                let (time, bytes) = (
                    ratio(best.seconds, now.seconds),
                    ratio(best.stored_bytes as f64, now.stored_bytes as f64),
                );
                if gain < choose::MIN_GAIN {
                    let is_tiny = best.stored_bytes < choose::MIN_BYTES;
                    let least =
                        if is_tiny { "; less than 4 KiB in all counts as 4 KiB" } else { "" };
                    (
                        None,
                        format!(
                            "no other layout saves 10 % of time and bytes together; the best takes {time} of the time and {bytes} of the bytes{least}"
                        ),
                    )
                } else {
                    let at = candidates.iter().position(|it| it.is_layout_of(best));
                    let reason = format!(
                        "reads take {time} of the present time, and the array takes {bytes} of the present bytes; no layout that {} can read has a smaller product of the two",
                        names.join(", ")
                    );
                    (at, reason)
                }
            }
        };
        if candidates.iter().chain([&now]).any(|it| it.is_cut) {
            notes.push("chunks that are larger than a box of the sample were measured in part; their sizes are less certain".into());
        }
        candidates.iter_mut().for_each(|it| it.readers.sort_by_key(|reader| reader.name()));
        let elements: f64 = self.metadata.shape.iter().map(|&len| len as f64).product();
        TuneReport {
            patterns: self.reads.clone(),
            service: self.options.service,
            threads: self.threads,
            now,
            candidates,
            advised,
            reason,
            sample: SampleReport {
                is_whole: sample.is_whole,
                boxes: sample.boxes.len() as u64,
                bytes: sample.bytes,
                array_bytes: (elements * sample.element_bytes) as u64,
                present: sample.present,
            },
            notes,
        }
    }
}

/// Whether each integer of a box and the next one are in an order.
fn is_monotonic(
    one: &SampleBox,
    scalar: Scalar,
    size: usize,
    in_order: fn(&i128, &i128) -> bool,
) -> bool {
    let bytes = one.view().to_bytes();
    let numbers = bytes.chunks_exact(size).map(|element| match scalar.load(element) {
        ScalarValue::Integer(value) => value,
        ScalarValue::Float(_) => 0,
    });
    numbers.is_sorted_by(in_order)
}

/// Bytes a second, 0 if the time was not measured.
fn speed(bytes: f64, seconds: f64) -> f64 {
    if seconds > 0.0 { bytes / seconds } else { 0.0 }
}

/// `0.42`, or `3.1`: one value in units of another.
fn ratio(value: f64, unit: f64) -> String {
    let ratio = if unit > 0.0 { value / unit } else { 1.0 };
    if ratio < 0.995 { format!("{ratio:.2}") } else { format!("{ratio:.1}") }
}

/// Counts the bits of all neighbours along an axis, both of which are valid.
fn count_pairs(
    counts: &mut BitCounts,
    float: FloatBits,
    elements: &View<'_>,
    axis: usize,
    is_valid: &dyn Fn(&[u8], u64) -> bool,
) {
    let shape = elements.shape();
    let length = shape[axis];
    if length < 2 {
        return;
    }
    let (ones, neighbours) = (slab(elements, axis, 0..length - 1), slab(elements, axis, 1..length));
    let count = ones.len() / float.size;
    // Millions of pairs say no more.
    let step = count.div_ceil(MAX_PAIRS).max(1);
    for at in (0..count).step_by(step) {
        let bytes = at * float.size..(at + 1) * float.size;
        let (one, neighbour) = (&ones[bytes.clone()], &neighbours[bytes]);
        let (one_bits, neighbour_bits) = (float.load(one), float.load(neighbour));
        if is_valid(one, one_bits) && is_valid(neighbour, neighbour_bits) {
            counts.add(one_bits, neighbour_bits);
        }
    }
}

/// The bytes of the elements in a range along one axis.
fn slab<'a>(
    elements: &View<'a>,
    axis: usize,
    range: std::ops::Range<u64>,
) -> std::borrow::Cow<'a, [u8]> {
    let shape = elements.shape();
    let intervals = shape
        .iter()
        .enumerate()
        .map(|(other, &len)| if other == axis { range.clone() } else { 0..len });
    elements.part(&Region::new(intervals)).to_bytes()
}

/// Pairs of a box that are compared along an axis.
const MAX_PAIRS: usize = 1 << 20;
