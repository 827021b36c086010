//! kerchunk's references in Parquet: documents in `.zmetadata`, and the references of each array in files of a fixed number of rows
//! (V-026).

mod columns;
mod thrift;

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex};

use futures::future::FutureExt;
use zarr_core::store::{
    Bytes, Capabilities, GetOptions, ListOptions, Listing, Result, Store, StoreKey, StorePrefix,
    async_trait,
};
use zarr_core::{Json, StoreError, sync};

use self::columns::{Column, read_columns};
use crate::reach::Reach;
use crate::shared_work::SharedWork;
use crate::source::{IN_FLIGHT, Reference, Source};
use crate::target::Target;
use crate::targets::{OpenTargetStore, Targets};

/// The name of the documents' file.
pub(crate) const DOCUMENTS: &str = ".zmetadata";
/// The most bytes of that file.
const MAX_DOCUMENTS: u64 = 1 << 30;
/// The most bytes of a file of references.
const MAX_FILE: u64 = 256 << 20;
/// How many decoded files are kept: each has as many rows as `record_size` says.
const MAX_KEPT_ROWS: usize = 4_000_000;
/// The most rows that a file may have.
const MAX_RECORD_SIZE: u64 = 10_000_000;

/// The references in a folder.
#[derive(Debug)]
pub struct ParquetReferences {
    name: String,
    options: Vec<(String, String)>,
    store: Arc<dyn Store>,
    /// All documents, by their keys.
    documents: BTreeMap<String, Bytes>,
    /// By their paths.
    arrays: HashMap<String, Grid>,
    record_size: u64,
    null_url: Option<String>,
    targets: Targets,
    opened: Mutex<HashMap<String, Target>>,
    files: Mutex<Files>,
    /// The files that are being read.
    reading: SharedWork<String, Option<Arc<Rows>>>,
}

/// The files that were read.
#[derive(Debug, Default)]
struct Files {
    kept: HashMap<String, Option<Arc<Rows>>>,
    rows: usize,
}

/// The columns of a file.
#[derive(Debug)]
struct Rows {
    paths: Option<Column>,
    offsets: Option<Column>,
    sizes: Option<Column>,
    raw: Option<Column>,
    len: usize,
}

/// The chunks of an array.
#[derive(Debug, PartialEq, Eq)]
struct Grid {
    counts: Vec<u64>,
    separator: char,
}

/// How references in Parquet are opened.
#[derive(Clone, Debug)]
pub struct ParquetOptions {
    /// The store's name in messages.
    pub name: String,
    /// The options that open it again.
    pub options: Vec<(String, String)>,
    /// The URL of references that name none.
    pub target: Option<String>,
    /// What references may lead to.
    pub reach: Reach,
}

impl ParquetReferences {
    /// The references in `store`. Their targets are opened with `open`.
    ///
    /// # Errors
    /// [`StoreError::Backend`] saying what is wrong with the documents; the store's own.
    pub async fn open(
        store: Arc<dyn Store>,
        options: ParquetOptions,
        open: OpenTargetStore,
    ) -> Result<ParquetReferences> {
        let damaged = |why: String| {
            StoreError::Backend(format!("{}: `{DOCUMENTS}`: {why}", store.name()).into())
        };
        let key = StoreKey::new(DOCUMENTS)?;
        let got = store.get(&key, GetOptions::at_most(MAX_DOCUMENTS)).await?;
        let text = got.and_then(|got| got.bytes).ok_or_else(|| damaged("it is missing".into()))?;
        let (json, _) = Json::parse_tolerant(&text).map_err(damaged)?;
        let record_size =
            json["record_size"].as_u64().filter(|n| (1..=MAX_RECORD_SIZE).contains(n));
        let record_size = record_size.ok_or_else(|| {
            damaged(format!(
                "`record_size` is {}, expected 1 to {MAX_RECORD_SIZE}",
                json["record_size"].brief()
            ))
        })?;
        let metadata = json["metadata"].as_object();
        let metadata = metadata.ok_or_else(|| damaged("`metadata` is not an object".into()))?;
        let (mut documents, mut arrays) = (BTreeMap::new(), HashMap::new());
        for (key, document) in metadata.iter() {
            // Writers put a document as an object, or as its text.
            let text = document.as_str().map_or_else(|| document.to_string(), str::to_owned);
            if let Some(path) = key.strip_suffix(".zarray") {
                let parsed = document.as_str().map(|text| Json::parse_tolerant(text.as_bytes()));
                let array = match parsed {
                    Some(parsed) => parsed.map_err(damaged)?.0,
                    None => document.clone(),
                };
                let grid = grid(&array).map_err(|why| damaged(format!("`{key}`: {why}")))?;
                arrays.insert(path.trim_end_matches('/').to_owned(), grid);
            }
            documents.insert(key.to_owned(), Bytes::from(text));
        }
        let targets = Targets::new(options.reach, open);
        let ParquetOptions { name, options, target: null_url, .. } = options;
        let (opened, files, reading) = Default::default();
        Ok(ParquetReferences {
            name,
            options,
            store,
            documents,
            arrays,
            record_size,
            null_url,
            targets,
            opened,
            files,
            reading,
        })
    }

    /// The array and the number of the chunk that a key is of, in C order.
    fn chunk(&self, key: &str) -> Option<(&str, u64)> {
        // The names of groups and arrays end where the indices begin, which may have `/` between them.
        let mut end = key.len();
        while let Some(at) = key[..end].rfind('/') {
            if let Some((path, grid)) = self.arrays.get_key_value(&key[..at]) {
                return Some((path, grid.number(&key[at + 1..])?));
            }
            end = at;
        }
        let (path, grid) = self.arrays.get_key_value("")?;
        Some((path, grid.number(key)?))
    }

    /// The rows of a file; `None` if there is no such file.
    async fn rows(&self, name: &str) -> Result<Option<Arc<Rows>>> {
        if let Some(kept) = sync::lock(&self.files).kept.get(name) {
            return Ok(kept.clone());
        }
        let read = self.reading.result(name.to_owned(), || {
            let (store, name) = (self.store.clone(), name.to_owned());
            async move { read_rows(&*store, &name).await }.boxed()
        });
        let rows = read.await?;
        let mut files = sync::lock(&self.files);
        if files.kept.contains_key(name) {
            return Ok(rows);
        }
        let more = rows.as_ref().map_or(1, |rows| rows.len.max(1));
        if files.rows.saturating_add(more) > MAX_KEPT_ROWS {
            *files = Files::default();
        }
        files.rows += more;
        files.kept.insert(name.to_owned(), rows.clone());
        Ok(rows)
    }

    /// The URLs in all files with rows, each with the name of a file that it is in. A store that cannot list them is a web server,
    /// whose references lead to no local file.
    async fn urls(&self) -> Result<BTreeMap<String, String>> {
        let mut urls = BTreeMap::new();
        urls.extend(self.null_url.iter().map(|url| (url.clone(), DOCUMENTS.to_owned())));
        if !self.store.capabilities().list {
            return Ok(urls);
        }
        for path in self.arrays.keys() {
            let slash = if path.is_empty() { "" } else { "/" };
            let folder = StorePrefix::new(format!("{path}{slash}"))?;
            for key in self.store.list_dir(&folder, ListOptions::default()).await?.keys {
                if !key.as_str().ends_with(".parq") {
                    continue;
                }
                let Some(rows) = self.rows(key.as_str()).await? else { continue };
                for path in (0..rows.len).filter_map(|row| Rows::bytes(&rows.paths, row)) {
                    if let Ok(url) = std::str::from_utf8(&path)
                        && !urls.contains_key(url)
                    {
                        urls.insert(url.to_owned(), key.to_string());
                    }
                }
            }
        }
        Ok(urls)
    }

    async fn target(&self, key: &StoreKey, url: &str) -> Result<Target> {
        if let Some(target) = sync::lock(&self.opened).get(url) {
            return Ok(target.clone());
        }
        let target = self.targets.open(key, url, String::new).await?;
        Ok(sync::lock(&self.opened).entry(url.to_owned()).or_insert(target).clone())
    }
}

/// Reads the rows of a file; `None` if there is no such file.
async fn read_rows(store: &dyn Store, name: &str) -> Result<Option<Arc<Rows>>> {
    let got = store.get(&StoreKey::new(name)?, GetOptions::at_most(MAX_FILE)).await?;
    let Some(file) = got.and_then(|got| got.bytes) else { return Ok(None) };
    let columns = read_columns(&file, &["path", "offset", "size", "raw"]);
    let columns = columns.map_err(|why| {
        let why = format!("{}: `{name}`: {why}", store.name());
        StoreError::Backend(why.into())
    })?;
    let mut columns = columns.into_iter();
    let mut next = || columns.next().flatten();
    let (paths, offsets, sizes, raw) = (next(), next(), next(), next());
    let lengths = [&paths, &offsets, &sizes, &raw].map(|column| match column {
        Some(Column::Integers(values)) => values.len(),
        Some(Column::Bytes(values)) => values.len(),
        None => 0,
    });
    let len = lengths.into_iter().max().unwrap_or(0);
    Ok(Some(Arc::new(Rows { paths, offsets, sizes, raw, len })))
}

impl Rows {
    /// Bytes of a row; `None` for null, or a column that is left out.
    fn bytes(column: &Option<Column>, row: usize) -> Option<Bytes> {
        match column {
            Some(Column::Bytes(values)) => values.get(row)?.clone(),
            _ => None,
        }
    }

    /// A number of a row, 0 for null.
    fn number(column: &Option<Column>, row: usize) -> Result<u64, String> {
        let number = match column {
            Some(Column::Integers(values)) => values.get(row).copied().flatten().unwrap_or(0),
            _ => 0,
        };
        u64::try_from(number).map_err(|_| format!("row {row} has the number {number}"))
    }
}

/// The grid of an array of v2.
fn grid(array: &Json) -> Result<Grid, String> {
    let (shape, chunks) = (lengths(array, "shape")?, lengths(array, "chunks")?);
    if shape.len() != chunks.len() || chunks.contains(&0) {
        return Err("`chunks` does not fit `shape`".into());
    }
    let counts = shape.iter().zip(&chunks).map(|(length, chunk)| length.div_ceil(*chunk)).collect();
    let separator = if array["dimension_separator"].as_str() == Some("/") { '/' } else { '.' };
    Ok(Grid { counts, separator })
}

/// A member that is a list of lengths.
fn lengths(array: &Json, name: &str) -> Result<Vec<u64>, String> {
    let list = array[name].as_array();
    let lengths: Option<Vec<u64>> = list.and_then(|list| list.iter().map(Json::as_u64).collect());
    lengths.ok_or_else(|| format!("`{name}` is not a list of lengths"))
}

impl Grid {
    /// The number of a chunk in C order; `None` for what is no key of a chunk.
    fn number(&self, indices: &str) -> Option<u64> {
        if self.counts.is_empty() {
            return (indices == "0").then_some(0);
        }
        let mut number = 0u64;
        let mut parts = indices.split(self.separator);
        for count in &self.counts {
            let part = parts.next()?;
            let is_index = part == "0" || !part.starts_with(['0', '+']);
            let index: u64 = part.parse().ok().filter(|index| is_index && index < count)?;
            number = number.checked_mul(*count)?.checked_add(index)?;
        }
        parts.next().is_none().then_some(number)
    }
}

#[async_trait]
impl Source for ParquetReferences {
    fn name(&self) -> String {
        self.name.clone()
    }

    fn public_options(&self) -> Vec<(String, String)> {
        self.options.clone()
    }

    async fn places(&self) -> Result<Vec<String>> {
        let mut places = self.store.places().await?;
        let urls = self.urls().await?;
        places.extend(self.targets.places(urls.keys().map(String::as_str)));
        Ok(places)
    }

    async fn refused_targets(&self) -> Result<Vec<StoreError>> {
        // Elsewhere each file would be a request.
        if !self.store.capabilities().local {
            return Ok(Vec::new());
        }
        let urls = self.urls().await?;
        self.targets
            .refused(urls.iter().map(|(url, file)| (file.as_str(), url.as_str())), String::new)
    }

    fn capabilities(&self) -> Capabilities {
        // Which of the chunks are there is in files that are not read for it.
        let (list, lists_some) = (false, true);
        Capabilities { list, lists_some, in_flight: IN_FLIGHT, ..Capabilities::READ_ONLY }
    }

    async fn find(&self, key: &StoreKey) -> Result<Option<Reference>> {
        if let Some(document) = self.documents.get(key.as_str()) {
            return Ok(Some(Reference::Inline(document.clone())));
        }
        let Some((path, number)) = self.chunk(key.as_str()) else { return Ok(None) };
        let slash = if path.is_empty() { "" } else { "/" };
        let name = format!("{path}{slash}refs.{}.parq", number / self.record_size);
        let Some(rows) = self.rows(&name).await? else { return Ok(None) };
        let row = (number % self.record_size) as usize;
        if let Some(raw) = Rows::bytes(&rows.raw, row) {
            return Ok(Some(Reference::Inline(raw)));
        }
        let damaged = |why: String| {
            StoreError::Backend(format!("{}: `{name}`: {why}", self.store.name()).into())
        };
        let offset = Rows::number(&rows.offsets, row).map_err(damaged)?;
        let length = Rows::number(&rows.sizes, row).map_err(damaged)?;
        let url = match Rows::bytes(&rows.paths, row) {
            Some(path) => String::from_utf8(path.to_vec())
                .map_err(|_| damaged(format!("the path of row {row} is not UTF-8")))?,
            None => match &self.null_url {
                Some(url) if length > 0 => url.clone(),
                _ => return Ok(None),
            },
        };
        let target = self.target(key, &url).await?;
        Ok(Some(match (offset, length) {
            (0, 0) => Reference::Whole { target, may_be_absent: false },
            _ => Reference::Part { target, offset, length },
        }))
    }

    async fn list_dir(&self, prefix: &StorePrefix) -> Result<Listing> {
        Ok(Listing::of_names(prefix, self.documents.keys().map(String::as_str)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_are_numbered_in_c_order() {
        let json = |text: &str| Json::parse(text.as_bytes()).unwrap();
        let of = grid(&json(r#"{"shape": [5, 7], "chunks": [2, 3]}"#)).unwrap();
        assert_eq!(
            [of.number("0.0"), of.number("1.2"), of.number("2.0")],
            [Some(0), Some(5), Some(6)]
        );
        for wrong in ["3.0", "0.3", "0", "0.0.0", "0/0", "00.0", "a.b", ""] {
            assert_eq!(of.number(wrong), None, "{wrong}");
        }
        let scalar = grid(&json(r#"{"shape": [], "chunks": []}"#)).unwrap();
        assert_eq!((scalar.number("0"), scalar.number("1")), (Some(0), None));
        assert!(grid(&json(r#"{"shape": [1], "chunks": [0]}"#)).is_err());
    }
}
