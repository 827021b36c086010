//! Writes references to the chunks of files, joined along a dimension (V-100, V-101).
//!
//! Each file is opened by the [`Source`](crate::Source) that reads it in place, which knows where its chunks lie. The
//! documents are those of the first file, with the length of the joined dimension.

mod axis;
mod check;
mod chunks;
mod compare;
mod documents;
mod input;
mod layout;
mod table;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::io::{self, Write};
use std::sync::Arc;

use zarr_core::store::StoreKey;
use zarr_core::{
    AccessError, Array, Cause, Dialect, Error, OpenOptions, Result, StoreError, Warning,
    without_secrets,
};

use self::chunks::ChunkWriter;
use self::documents::Change;
use self::input::Input;
use self::layout::Layout;
use self::table::Table;
pub use self::table::TargetUrls;
use crate::location::file_url;
use crate::reach::{Reach, Refusal};

/// The bytes of chunks that are inlined by default, as in kerchunk.
pub const DEFAULT_INLINE_BYTES: u64 = 500;

/// Codecs that are this project's, or that zarr-python knows only with other packages.
const UNUSUAL_CODECS: [&str; 3] = ["hdf5.lz4", "hdf5.bitshuffle", "imagecodecs_lzf"];

/// The arrays of a file by their paths.
pub type Arrays = BTreeMap<String, Array>;

/// Reads times of one file in the units and the type of another.
#[derive(Clone)]
pub struct ConvertTimes(Arc<ConvertFn>);

type ConvertFn = dyn Fn(&Array, &Arrays, &Array, &Arrays) -> Result<Vec<u8>> + Send + Sync;

impl ConvertTimes {
    /// `convert(times, arrays, of_first, arrays_of_first)` returns all elements of `times`, which is one of `arrays`, as native bytes
    /// of the type of `of_first`, in the units that it has, or that the array has of which it holds the bounds.
    pub fn new(
        convert: impl Fn(&Array, &Arrays, &Array, &Arrays) -> Result<Vec<u8>> + Send + Sync + 'static,
    ) -> ConvertTimes {
        ConvertTimes(Arc::new(convert))
    }
}

impl fmt::Debug for ConvertTimes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ConvertTimes")
    }
}

/// How files are joined.
#[derive(Clone, Debug)]
pub struct JoinOptions {
    /// The dimension along which files are joined; `None` to find the one whose coordinates differ.
    pub axis: Option<String>,
    /// Chunks of at most this many bytes are written into the reference file.
    pub inline: u64,
    /// The dialect of the documents; `None` for that of the files, which is v3 of all but hierarchies of v2.
    pub dialect: Option<Dialect>,
    /// Paths of nodes that are left out, with everything below them.
    pub exclude: Vec<String>,
    /// Whether the elements of arrays without the joined dimension must be equal in all files.
    pub verify: bool,
    /// How times that count from other dates are converted to those of the first file; `None` to refuse them. Converted times are
    /// written into the reference file.
    pub convert_times: Option<ConvertTimes>,
}

impl Default for JoinOptions {
    fn default() -> Self {
        JoinOptions {
            axis: None,
            inline: DEFAULT_INLINE_BYTES,
            dialect: None,
            exclude: Vec::new(),
            verify: true,
            convert_times: None,
        }
    }
}

/// References to the chunks of one or more files.
#[derive(Debug)]
pub struct Joined {
    table: Table,
    dialect: Option<Dialect>,
    /// The files, which [`Joined::verify`] compares with the references.
    inputs: Vec<Input>,
    /// The paths of arrays whose times are converted to those of the first file.
    converted: BTreeSet<String>,
    /// The paths of the arrays, each with its joined axis.
    written: Vec<(String, Option<usize>)>,
    /// The dimension along which several files were joined.
    pub axis: Option<String>,
    /// How many arrays there are.
    pub arrays: usize,
    /// Arrays that were left out because their elements cannot be read, and why.
    pub lost: Vec<String>,
    /// What other programs may not be able to read.
    pub notes: Vec<String>,
    /// What a tolerant reader overlooked in the files.
    pub warnings: Vec<Warning>,
}

/// Makes references to the chunks of `files`, which are joined in this order. A file is netCDF-3, netCDF-4 or HDF5, or a
/// Zarr hierarchy of v2 or v3.
///
/// # Errors
/// [`AccessError::Argument`] for files that cannot be joined, saying where they differ; what reading them reports.
pub fn join(files: &[String], open: &OpenOptions, options: &JoinOptions) -> Result<Joined> {
    let mut inputs = Vec::with_capacity(files.len());
    for file in files {
        inputs.push(Input::open(file, open)?);
    }
    refuse_same_file(files)?;
    let bounds = compare::bounds_of_excluded(&inputs, &options.exclude);
    leave_out_excluded(&mut inputs, &options.exclude)?;
    let mut lost = leave_out_unreadable(&mut inputs);
    if inputs.is_empty() {
        return Err(refused("no files to refer to".to_owned()));
    }
    for other in &inputs[1..] {
        compare::check_nodes(&inputs[0], other)?;
        compare::check_nodes(other, &inputs[0])?;
    }
    let axis = axis::choose(&inputs, options.axis.as_deref())?;
    let converted = match (&axis, &options.convert_times) {
        (Some(dimension), Some(_)) => compare::other_times(&inputs, dimension)?,
        _ => BTreeSet::new(),
    };
    let mut unreadable = BTreeMap::new();
    for other in &inputs[1..] {
        let how = compare::How {
            dimension: axis.as_deref(),
            verify: options.verify,
            converted: &converted,
        };
        compare::check(&inputs[0], other, &how, &mut unreadable)?;
    }
    lost.extend(leave_out(&mut inputs, unreadable));
    lost.extend(leave_out(&mut inputs, bounds));
    let first = &inputs[0];
    let mut joined = Joined {
        table: Table::default(),
        dialect: options.dialect,
        inputs: Vec::new(),
        converted,
        written: Vec::new(),
        axis,
        arrays: first.arrays.len(),
        lost,
        notes: Vec::new(),
        warnings: inputs.iter().flat_map(|input| input.hierarchy.warnings()).collect(),
    };
    for path in &first.groups {
        joined.add_group(first, path)?;
    }
    for path in first.arrays.keys() {
        joined.add_array(&inputs, path, options)?;
    }
    joined.inputs = inputs;
    Ok(joined)
}

/// Refuses a file that is named twice: what it has would be there twice.
fn refuse_same_file(files: &[String]) -> Result<()> {
    let mut seen = BTreeSet::new();
    for file in files {
        let same = std::fs::canonicalize(file);
        let same = same.map_or_else(|_| file.clone(), |path| path.to_string_lossy().into_owned());
        if !seen.insert(same) {
            let name = without_secrets(file);
            return Err(refused(format!("{name} is named twice; name each file once")));
        }
    }
    Ok(())
}

/// The URLs of the places that [`join`] would read from for one of its files: a reference file must not replace them.
///
/// # Errors
/// As [`join`], for a file that cannot be opened.
pub fn places(file: &str, open: &OpenOptions) -> Result<Vec<String>> {
    input::places(file, open).map_err(|error| error.at_store(without_secrets(file)))
}

/// Why an array cannot be read in place, if that is the error: the file could be read, and says something that is not supported, or is
/// damaged there. The other arrays are of use without it.
fn why_unreadable(error: &Error) -> Option<String> {
    match error.cause() {
        Cause::Store(cause @ StoreError::Backend(_)) => Some(cause.to_string()),
        _ => None,
    }
}

/// The error of files that cannot be joined.
fn refused(why: String) -> Error {
    AccessError::Argument(why).into()
}

/// Takes arrays out of all files that cannot be read in one of them. Returns their paths with the reasons.
fn leave_out_unreadable(inputs: &mut [Input]) -> Vec<String> {
    let mut unreadable: BTreeMap<String, String> = BTreeMap::new();
    for input in inputs.iter() {
        for (path, why) in &input.unreadable {
            unreadable.entry(path.clone()).or_insert_with(|| format!("{}: {why}", input.name));
        }
    }
    leave_out(inputs, unreadable)
}

/// Takes arrays out of all files. Returns their paths with the reasons.
fn leave_out(inputs: &mut [Input], unreadable: BTreeMap<String, String>) -> Vec<String> {
    for input in inputs {
        input.arrays.retain(|path, _| !unreadable.contains_key(path));
    }
    unreadable.into_iter().map(|(path, why)| format!("{path}: {why}")).collect()
}

/// Takes nodes out of all files that are excluded.
fn leave_out_excluded(inputs: &mut [Input], excluded: &[String]) -> Result<()> {
    for text in excluded {
        let path = format!("/{}", text.trim_matches('/'));
        let below = format!("{path}/");
        let mut is_known = false;
        for input in inputs.iter_mut() {
            let before = input.node_count();
            input.arrays.retain(|name, _| *name != path && !name.starts_with(&below));
            input.groups.retain(|name| *name != path && !name.starts_with(&below));
            input.unreadable.retain(|name, _| *name != path && !name.starts_with(&below));
            is_known |= input.node_count() < before;
        }
        if !is_known {
            return Err(refused(format!("`--exclude {text}`: no file has a node at {path}")));
        }
    }
    Ok(())
}

/// Native elements as little-endian ones.
fn to_little_endian(mut elements: Vec<u8>, array: &Array) -> Vec<u8> {
    if cfg!(target_endian = "big")
        && let Some(scalar) = array.data_type().scalar()
    {
        elements.chunks_exact_mut(scalar.size()).for_each(<[u8]>::reverse);
    }
    elements
}

impl Joined {
    fn add_group(&mut self, first: &Input, path: &str) -> Result<()> {
        let Some(dialect) = self.dialect.filter(|to| *to != first.hierarchy.dialect()) else {
            for (key, text) in first.documents(path)? {
                self.table.add_document(key.as_str(), documents::group(&key, &text)?);
            }
            return Ok(());
        };
        let attributes = first.hierarchy.group(path)?.attributes().clone();
        self.add_documents(documents::created_group(path, attributes, dialect)?);
        Ok(())
    }

    /// Adds an array, or notes why it cannot be read in place, which may be known only when its chunks are looked for.
    fn add_array(&mut self, inputs: &[Input], path: &str, options: &JoinOptions) -> Result<()> {
        let Err(error) = self.add_readable_array(inputs, path, options) else { return Ok(()) };
        let Some(why) = why_unreadable(&error) else { return Err(error) };
        self.table.remove_chunks(path);
        self.written.pop_if(|(last, _)| last == path);
        self.lost.push(format!("{path}: {why}"));
        self.arrays -= 1;
        Ok(())
    }

    fn add_readable_array(
        &mut self,
        inputs: &[Input],
        path: &str,
        options: &JoinOptions,
    ) -> Result<()> {
        let arrays = inputs.iter().map(|input| input.array(path)).collect::<Result<Vec<_>>>()?;
        let first = arrays[0].metadata();
        let axis = match &self.axis {
            Some(name) => axis::position(&first, name, path)?,
            None => None,
        };
        let dialect = self.dialect.unwrap_or_else(|| inputs[0].hierarchy.dialect());
        let wish = layout::Wish {
            is_converted: self.converted.contains(path),
            may_be_rectilinear: dialect == Dialect::V3,
        };
        let layout = match (&self.axis, axis) {
            (Some(name), Some(axis)) => layout::choose(inputs, &arrays, path, (axis, name), &wish)?,
            _ => Layout::OfFirst,
        };
        let change = match (&layout, axis) {
            (Layout::AsStored(chunks) | Layout::Divided { chunks, .. }, Some(axis)) => {
                let shape = layout::joined_shape(&arrays, axis, path)?;
                Change::Chunks { shape, chunks: chunks.clone() }
            }
            (Layout::Rectilinear(chunk_shapes), Some(axis)) => {
                let shape = layout::joined_shape(&arrays, axis, path)?;
                Change::Rectilinear { shape, chunk_shapes: chunk_shapes.clone() }
            }
            (Layout::Inlined, Some(axis)) => {
                let shape = layout::joined_shape(&arrays, axis, path)?;
                Change::Inlined { shape, data_type: first.data_type.clone() }
            }
            _ => Change::None,
        };
        let to = self.dialect.filter(|to| *to != inputs[0].hierarchy.dialect());
        let registry = inputs[0].hierarchy.registry().clone();
        let keys = match to {
            None => first.chunk_keys.clone(),
            Some(to) => match documents::converted(&first, &change, to, &registry) {
                Ok(converted) => converted.chunk_keys,
                Err(error) => {
                    self.lost.push(format!("{path}: {error}"));
                    self.arrays -= 1;
                    return Ok(());
                }
            },
        };

        let mut writer = ChunkWriter::new(&mut self.table, path, keys, options.inline);
        let mut begin = 0;
        let mut chunks_before = 0;
        for (input, array) in inputs.iter().zip(&arrays) {
            match (&layout, axis) {
                (Layout::AsStored(chunks), Some(axis)) => {
                    writer.add_stored(input, array, Some((axis, begin / chunks[axis])))?;
                    begin += array.shape()[axis];
                }
                (Layout::Divided { chunks, row_bytes }, Some(axis)) => {
                    let length = chunks[axis];
                    let pieces = chunks::Pieces { axis, begin, length, row_bytes: *row_bytes };
                    writer.add_divided(input, array, &pieces)?;
                    begin += array.shape()[axis];
                }
                (Layout::Rectilinear(_), Some(axis)) => {
                    writer.add_stored(input, array, Some((axis, chunks_before)))?;
                    let metadata = array.metadata();
                    let count =
                        metadata.grid.as_ref().map(|grid| grid.count(axis, metadata.shape[axis]));
                    chunks_before += count.unwrap_or(0);
                }
                (Layout::Inlined, Some(axis)) => {
                    let mut parts = Vec::with_capacity(arrays.len());
                    for number in 0..arrays.len() {
                        parts.push(match &options.convert_times {
                            Some(convert) if number > 0 && wish.is_converted => {
                                let (of, first) = (&inputs[number].arrays, &inputs[0].arrays);
                                let times = convert.0(arrays[number], of, arrays[0], first)?;
                                to_little_endian(times, arrays[0])
                            }
                            _ => arrays[number].read_le_bytes(..)?,
                        });
                    }
                    let name = self.axis.as_deref().unwrap_or_default();
                    if axis::is_coordinate(path, &first, name)
                        && let Some(back) = axis::goes_back(&first, &parts)
                    {
                        self.notes.push(format!(
                            "{path}: it goes back where {} begins: files are joined in the order in which they are given",
                            inputs[back].name
                        ));
                    }
                    writer.add_elements(&arrays, axis, parts)?;
                    break;
                }
                _ => {
                    writer.add_stored(input, array, None)?;
                    break;
                }
            }
        }
        let has_all_chunks = writer.finish()?;
        self.written.push((path.to_owned(), axis));

        if !matches!(layout, Layout::Inlined) {
            self.note(path, arrays[0], matches!(layout, Layout::Rectilinear(_)));
        }
        let Some(to) = to else {
            for (key, text) in inputs[0].documents(path)? {
                let text = documents::array(&key, &text, &change)?;
                self.table.add_document(key.as_str(), text);
            }
            return Ok(());
        };
        let from = inputs[0].hierarchy.dialect();
        let kept = documents::with_missing_value(&first, from, to, has_all_chunks);
        self.notes.extend(kept.note.map(|note| format!("{path}: {note}")));
        let converted = documents::converted(&kept.metadata, &change, to, &registry)?;
        self.add_documents(documents::created_array(path, converted, to)?);
        Ok(())
    }

    fn add_documents(&mut self, documents: Vec<(StoreKey, String)>) {
        for (key, text) in documents {
            self.table.add_document(key.as_str(), text);
        }
    }

    /// Notes what of an array other programs may not know.
    fn note(&mut self, path: &str, array: &Array, has_other_lengths: bool) {
        let metadata = array.metadata();
        for codec in &metadata.codecs {
            if UNUSUAL_CODECS.contains(&codec.name.as_str()) {
                let name = &codec.name;
                self.notes.push(format!("{path}: zarr-python does not have its codec `{name}`"));
            }
        }
        let difference = if has_other_lengths {
            "its chunks have different lengths"
        } else if metadata.chunk_shape().is_none() {
            "its last chunk is shorter than the others"
        } else {
            return;
        };
        self.notes
            .push(format!("{path}: {difference} (a rectilinear grid), which few programs read"));
    }

    /// Closes the files, of which indices may be in memory. Only [`Joined::verify`] reads from them; it then compares nothing.
    pub fn close_files(&mut self) {
        self.inputs.clear();
    }

    /// How many chunks are referred to.
    pub fn references(&self) -> usize {
        self.table.references()
    }

    /// How many chunks are in the reference file itself.
    pub fn inlined(&self) -> usize {
        self.table.inlined()
    }

    /// The targets as they are written, each once.
    ///
    /// # Errors
    /// [`AccessError::Argument`] for a target that no reference can name, since it needs a chain of stores, or its URL has a
    /// password or a signature, which would be written into the file.
    pub fn target_urls(&self, style: TargetUrls<'_>) -> Result<Vec<String>> {
        self.table.target_urls(style)
    }

    /// Writes the reference file, with the targets that [`Joined::target_urls`] returned.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn write_json(&self, urls: &[String], out: &mut dyn Write) -> io::Result<()> {
        self.table.write_json(urls, out)
    }

    /// The prefixes that readers of this library must allow, if the references are in the local file `path`: targets outside
    /// its folder are refused otherwise.
    pub fn prefixes_to_allow(&self, path: &std::path::Path) -> Vec<String> {
        let Some(file) = std::path::absolute(path).ok().and_then(|path| file_url(&path)) else {
            return Vec::new();
        };
        let Ok(reach) = Reach::new(&file, None, []) else { return Vec::new() };
        // A hierarchy has a target for each chunk: a look at each folder is enough.
        let folders: BTreeSet<&str> = self.table.target_folders();
        let mut prefixes = BTreeSet::new();
        for folder in folders {
            if let Err(Refusal::Outside { prefix }) = reach.resolve(&format!("{folder}/file")) {
                prefixes.insert(without_secrets(&prefix));
            }
        }
        prefixes.into_iter().collect()
    }
}
