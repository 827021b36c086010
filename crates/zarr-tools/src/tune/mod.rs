//! Advises on chunks, shards and codecs of an array, by measuring them on a sample and by modelling the reads that the user names.
//!
//! [`tune`] reads a sample (`sample`), chooses shapes that serve the reads (`shapes`) and codecs that suit the elements (`codecs`),
//! encodes and decodes the sample with them (`measure`), counts the requests of each read (`requests`), and asks a model of the
//! store how long they take and what they cost (`service`). What is not worse than another in every respect is reported
//! (`choose`), with one layout that is advised. Nothing is written.
//!
//! Sizes and the speeds of codecs are measured on this machine. Times of reads are *modelled*: they follow from the numbers of
//! requests and bytes, and the [`Service`].
//!
//! ```no_run
//! use zarr_tools::tune::{TuneOptions, tune};
//!
//! # fn example(array: &zarr_core::Array) -> zarr_core::Result<()> {
//! let report = tune(array, &TuneOptions::default())?;
//! match report.advised() {
//!     Some(advised) => println!("zarr copy SRC DST {}", advised.copy_arguments.join(" ")),
//!     None => println!("keep the present layout: {}", report.reason),
//! }
//! # Ok(())
//! # }
//! ```

mod bits;
mod choose;
mod codecs;
mod measure;
mod random;
mod reads;
mod requests;
mod sample;
mod service;
mod shapes;
mod work;

use zarr_core::{Array, CancelToken, Dialect, Result};

pub use self::codecs::Reader;
pub use self::reads::ReadPattern;
pub use self::requests::{ReadCount, StoredLayout};
pub use self::service::{Service, Times};

/// What advice is asked for.
#[derive(Clone)]
pub struct TuneOptions<'a> {
    /// How the array is read. Without any, [`ReadPattern::presets`].
    pub reads: Vec<ReadPattern>,
    /// The store that the array is to be read from.
    pub service: Service,
    /// The format of the copy; `None` for that of the array.
    pub dialect: Option<Dialect>,
    /// Only layouts that all of these read. Without any, layouts that few read are reported, too, but what is advised is what every
    /// implementation of the dialect in [`Reader`] reads.
    pub readers: Vec<Reader>,
    /// Whether the mantissas of floats may be rounded to the bits that carry information. Never of coordinates.
    pub lossy: bool,
    /// About how many bytes the process may take; `None` for a quarter of the machine's memory. A quarter of that, at most 256 MiB, is
    /// the sample's.
    pub memory: Option<u64>,
    /// How many threads decode when the array is read, later; `0` for as many as this machine runs.
    pub threads: usize,
    /// What the places of the sample follow from.
    pub seed: u64,
    /// Cancels the work, from another thread: it stops between two chunks.
    pub cancel: Option<CancelToken>,
    /// Called as the work goes on.
    pub progress: Option<&'a (dyn Fn(&TuneProgress) + Sync)>,
}

impl Default for TuneOptions<'_> {
    fn default() -> Self {
        TuneOptions {
            reads: Vec::new(),
            service: Service::S3,
            dialect: None,
            readers: Vec::new(),
            lossy: false,
            memory: None,
            threads: 0,
            seed: 1,
            cancel: None,
            progress: None,
        }
    }
}

/// How far the work has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct TuneProgress {
    /// Steps that are done: boxes that are read, then layouts that are measured.
    pub done: u64,
    /// Steps in all, as far as they are known.
    pub total: u64,
}

/// A layout, what was measured of it, and what is modelled.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Candidate {
    /// The chunks that are decoded; in shards, the inner ones.
    pub chunks: Vec<u64>,
    /// The shards, if there are any.
    pub shards: Option<Vec<u64>>,
    /// The codecs of chunks, each in the words of `zarr copy --codec`. Of the present layout, as its document has them.
    pub codecs: Vec<String>,
    /// Who reads it; empty for the present layout, of which it is not asked.
    pub readers: Vec<Reader>,
    /// Bytes that are stored, estimated from the sample, without documents.
    pub stored_bytes: u64,
    /// The interval that holds them in 95 of 100 samples.
    pub stored_interval: (u64, u64),
    /// Objects that are stored, estimated likewise.
    pub objects: u64,
    /// Bytes of elements, and of what they are encoded to, that one thread holds who writes an object.
    pub writer_memory: u64,
    /// Requests that list all objects.
    pub list_requests: u64,
    /// Bytes of elements that one thread encodes in a second, measured on this machine.
    pub encode_speed: f64,
    /// Bytes of elements that one thread decodes in a second, measured on this machine.
    pub decode_speed: f64,
    /// How many chunks were encoded.
    pub measured_chunks: u64,
    /// Stored bytes of a chunk that is stored, on average.
    pub chunk_bytes: f64,
    /// What each read takes, in the order of [`TuneReport::patterns`].
    pub reads: Vec<ReadCost>,
    /// Modelled seconds of a read: the mean by the reads' weights.
    pub seconds: f64,
    /// Dollars of a read, by the reads' weights.
    pub read_price: f64,
    /// Dollars of writing all objects once.
    pub write_price: f64,
    /// Whether chunks are larger than what was sampled together, so that they were measured in part.
    pub is_cut: bool,
    /// What is lost, if floats are rounded.
    pub lossy: Option<Lossy>,
    /// The arguments of `zarr copy SRC DST` that make a copy like this; empty for the present layout.
    pub copy_arguments: Vec<String>,
}

impl Candidate {
    /// Whether both are the same layout.
    fn is_layout_of(&self, other: &Candidate) -> bool {
        (&self.chunks, &self.shards, &self.codecs) == (&other.chunks, &other.shards, &other.codecs)
    }
}

/// What rounding loses.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Lossy {
    /// Bits of the mantissa that are kept.
    pub keepbits: u32,
    /// The greatest relative error: 2⁻⁽ᵏ⁺¹⁾ by rounding to `k` bits.
    pub relative_bound: f64,
    /// The greatest absolute error in the sample.
    pub absolute_error: f64,
    /// The greatest relative error in the sample.
    pub relative_error: f64,
}

/// What one read takes, on average over its places.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ReadCost {
    /// Its part of all reads, by weight.
    pub share: f64,
    /// Requests, chunks and bytes.
    pub count: ReadCount,
    /// Modelled seconds: those of the requests, and of decoding on all threads.
    pub seconds: f64,
    /// Dollars.
    pub price: f64,
}

/// What was sampled.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct SampleReport {
    /// Whether all of the array was read.
    pub is_whole: bool,
    /// Boxes that were read.
    pub boxes: u64,
    /// Bytes of elements in them.
    pub bytes: u64,
    /// Bytes of elements of the array.
    pub array_bytes: u64,
    /// The share of the boxes that have other elements than the fill value.
    pub present: f64,
}

/// Measured advice on the layout of an array.
#[derive(Clone, Debug)]
pub struct TuneReport {
    /// The reads that layouts were judged by.
    pub patterns: Vec<ReadPattern>,
    /// The model of the store.
    pub service: Service,
    /// Threads that decode.
    pub threads: usize,
    /// The array as it is.
    pub now: Candidate,
    /// At most eight layouts, none of which is worse than another in bytes, time, and requests of reading and of writing; the fastest first.
    pub candidates: Vec<Candidate>,
    /// Which of the candidates is advised; `None` to stay.
    pub advised: Option<usize>,
    /// Why.
    pub reason: String,
    /// What was sampled.
    pub sample: SampleReport,
    /// What a reader of the advice has to know.
    pub notes: Vec<String>,
}

impl TuneReport {
    /// The layout that is advised; `None` to stay.
    pub fn advised(&self) -> Option<&Candidate> {
        self.candidates.get(self.advised?)
    }
}

/// Measures layouts of an array, and advises on one.
///
/// # Errors
/// [`AccessError::Argument`](zarr_core::AccessError::Argument) for an array without elements, or with chunks of several shapes, and if no
/// codec is left that all [`TuneOptions::readers`] read; [`MetadataError::Unsupported`](zarr_core::MetadataError::Unsupported) for one
/// whose elements this build cannot read; what the store meets; the caller cancelled.
pub fn tune(array: &Array, options: &TuneOptions<'_>) -> Result<TuneReport> {
    work::Work::new(array, options)?.report()
}

/// How the array is stored now, and how a read of it is counted: for those who check predictions. `stored_bytes` are those of all
/// chunks, as [`Array::stored_size`] gives them.
///
/// # Errors
/// As [`tune`], for an array with chunks of several shapes.
pub fn stored_layout(array: &Array, stored_bytes: u64) -> Result<StoredLayout> {
    work::stored_layout(array, stored_bytes)
}
