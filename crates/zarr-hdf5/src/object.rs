//! Objects: groups, datasets and named types.

use crate::error::{Place, Result};
use crate::header::{self, Message, kind};
use crate::index::{ChunkCursor, Chunks, Grid};
use crate::messages::attribute::Attribute;
use crate::messages::dataspace::Dataspace;
use crate::messages::datatype::Datatype;
use crate::messages::fill::Fill;
use crate::messages::filters::{self, Filter};
use crate::messages::layout::{Index, Layout};
use crate::messages::link::Link;
use crate::shared::{self, Table};
use crate::source::Source;
use crate::tree::btree2;
use crate::{Blocks, Chunk, Superblock, group, heap::fractal::FractalHeap};

/// An HDF5 file whose superblock was read. Every call gets the file's blocks, and returns
/// [`Fault::Missing`](crate::Fault::Missing) until all that it needs is cached; [`complete`](crate::complete) is the loop around that.
#[derive(Clone, Debug)]
pub struct File {
    superblock: Superblock,
    shared: Option<Table>,
}

/// What an object is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ObjectKind {
    /// A group of links.
    Group,
    /// An array of elements.
    Dataset,
    /// A data type with a name.
    NamedType,
    /// Something else, of which only attributes are read.
    Unknown,
}

/// An object whose header was read.
#[derive(Clone, Debug)]
pub struct Object {
    /// Its address, relative to the file's base: what links and references name.
    pub address: u64,
    /// What it is.
    pub kind: ObjectKind,
    messages: Vec<Message>,
}

/// A dataset.
#[derive(Clone, Debug)]
pub struct Dataset {
    /// The type of its elements.
    pub datatype: Datatype,
    /// Its shape.
    pub dataspace: Dataspace,
    /// The value of what was never written.
    pub fill: Fill,
    /// What was done with its chunks, in a writer's order.
    pub filters: Vec<Filter>,
    /// Where its elements are.
    pub storage: Storage,
}

/// Where the elements of a dataset are.
#[derive(Clone, Debug)]
pub enum Storage {
    /// Nowhere yet.
    Unallocated,
    /// In the object header.
    Compact(Vec<u8>),
    /// In one run of bytes, from the file's beginning.
    Contiguous {
        /// Where the run begins.
        address: u64,
        /// Its length in bytes.
        length: u64,
    },
    /// In chunks.
    Chunked(ChunkedStorage),
    /// In other files, as raw bytes or as datasets. They are not read; this says which.
    Elsewhere(&'static str),
}

/// The chunks of a dataset.
#[derive(Clone, Debug)]
pub struct ChunkedStorage {
    /// The chunk's shape. It may be longer than the dataset's.
    pub chunk_shape: Vec<u64>,
    /// Whether chunks that extend beyond the dataset's shape are stored without any filter.
    pub edge_chunks_unfiltered: bool,
    chunks: Chunks,
}

impl File {
    /// Reads the superblock and what it extends to.
    ///
    /// # Errors
    /// The file is no HDF5 file, is one part of several, or is truncated.
    pub fn parse(blocks: &Blocks) -> Result<File> {
        let superblock = Superblock::parse(blocks)?;
        superblock.check_length(blocks)?;
        let mut file = File { superblock, shared: None };
        if let Some(extension) = file.superblock.extension {
            file.shared = Table::of_extension(&file.source(blocks), extension)?;
        }
        Ok(file)
    }

    /// The superblock.
    pub fn superblock(&self) -> &Superblock {
        &self.superblock
    }

    /// The address of the root group.
    pub fn root(&self) -> u64 {
        self.superblock.root
    }

    pub(crate) fn source<'a>(&self, blocks: &'a Blocks) -> Source<'a> {
        Source { blocks, base: self.superblock.base, sizes: self.superblock.sizes }
    }

    /// Reads the header of the object at an address.
    ///
    /// # Errors
    /// There is no valid object header.
    pub fn object(&self, blocks: &Blocks, address: u64) -> Result<Object> {
        let messages = header::read(&self.source(blocks), address)?;
        let has = |kind| messages.iter().any(|message| message.kind == kind);
        let kind = if has(kind::LAYOUT) && has(kind::DATASPACE) {
            ObjectKind::Dataset
        } else if [kind::SYMBOL_TABLE, kind::LINK_INFO, kind::LINK, kind::GROUP_INFO]
            .into_iter()
            .any(has)
        {
            ObjectKind::Group
        } else if has(kind::DATATYPE) {
            ObjectKind::NamedType
        } else {
            ObjectKind::Unknown
        };
        Ok(Object { address, kind, messages })
    }

    /// The links of a group, sorted by their names. What is no group has none.
    ///
    /// # Errors
    /// A heap or an index of links is damaged, or there are more than a million.
    pub fn links(&self, blocks: &Blocks, group: &Object) -> Result<Vec<Link>> {
        let mut links = group::links(&self.source(blocks), &group.messages)?;
        links.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(links)
    }

    /// The attributes of an object, sorted by their names. One that cannot be read is an error in its place.
    ///
    /// # Errors
    /// The heap or the index of attributes is damaged.
    pub fn attributes(
        &self,
        blocks: &Blocks,
        object: &Object,
    ) -> Result<Vec<std::result::Result<Attribute, crate::Error>>> {
        let source = self.source(blocks);
        let mut attributes = Vec::new();
        for message in &object.messages {
            match message.kind {
                kind::ATTRIBUTE => {
                    let attribute = self.attribute(&source, message);
                    attributes.push(or_error(attribute)?);
                }
                kind::ATTRIBUTE_INFO => self.dense_attributes(&source, message, &mut attributes)?,
                _ => {}
            }
        }
        attributes.sort_by(|a, b| name_of(a).cmp(&name_of(b)));
        Ok(attributes)
    }

    fn attribute(&self, source: &Source<'_>, message: &Message) -> Result<Attribute> {
        let place = Place::new("attribute of an object header", message.address);
        let body = self.body(source, message)?;
        Attribute::parse(source, self.shared.as_ref(), &body, place)
    }

    /// The attributes in a heap.
    fn dense_attributes(
        &self,
        source: &Source<'_>,
        message: &Message,
        attributes: &mut Vec<std::result::Result<Attribute, crate::Error>>,
    ) -> Result<()> {
        /// How many attributes an object may have.
        const MAX_ATTRIBUTES: usize = 1_000_000;
        /// The flag of an attribute in the file's table of shared messages.
        const SHARED: u8 = 0x02;
        let place = Place::new("object header", message.address);
        let mut cursor = source.cursor(&message.body, place);
        cursor.version(0..=0)?;
        let flags = cursor.u8()?;
        if flags & 1 != 0 {
            cursor.skip(2)?;
        }
        let (Some(heap), Some(names)) = (cursor.address()?, cursor.address()?) else {
            return Ok(());
        };
        let heap = FractalHeap::open(source, heap)?;
        btree2::visit(source, names, "index of attributes", |class, record| {
            if class != 8 {
                return Err(place.damaged(format!("expected an index of type 8, found {class}")));
            }
            let id = record.take(8)?;
            let attribute = if record.u8()? & SHARED == 0 {
                heap.object(source, id)
            } else if let Some(table) = &self.shared {
                table.message(source, kind::ATTRIBUTE, id, place)
            } else {
                Err(place.damaged("an attribute is shared, but the file has no table of them"))
            };
            let attribute = attribute
                .and_then(|body| Attribute::parse(source, self.shared.as_ref(), &body, place));
            attributes.push(or_error(attribute)?);
            if attributes.len() > MAX_ATTRIBUTES {
                return Err(place.limit(format!("it has more than {MAX_ATTRIBUTES} attributes")));
            }
            Ok(())
        })
    }

    /// A message's body, wherever it is.
    fn body(&self, source: &Source<'_>, message: &Message) -> Result<Vec<u8>> {
        if !message.is_shared() {
            return Ok(message.body.clone());
        }
        let place = Place::new("object header", message.address);
        shared::resolve(source, self.shared.as_ref(), message.kind, &message.body, place)
    }

    /// The body of an object's first message of a kind.
    fn first(&self, source: &Source<'_>, object: &Object, kind: u16) -> Result<Option<Vec<u8>>> {
        let message = object.messages.iter().find(|message| message.kind == kind);
        message.map(|message| self.body(source, message)).transpose()
    }

    /// The type of a named type.
    ///
    /// # Errors
    /// The type is damaged or unknown.
    pub fn named_type(&self, blocks: &Blocks, object: &Object) -> Result<Datatype> {
        let source = self.source(blocks);
        self.datatype(&source, object)
    }

    fn datatype(&self, source: &Source<'_>, object: &Object) -> Result<Datatype> {
        let place = Place::new("data type", object.address);
        let Some(body) = self.first(source, object, kind::DATATYPE)? else {
            return Err(place.damaged("the object has no data type"));
        };
        Datatype::parse(&mut source.cursor(&body, place))
    }

    /// All that describes a dataset.
    ///
    /// # Errors
    /// A message is missing, damaged or unknown, or messages contradict each other.
    pub fn dataset(&self, blocks: &Blocks, object: &Object) -> Result<Dataset> {
        let source = &self.source(blocks);
        let place = Place::new("dataset", object.address);
        let datatype = self.datatype(source, object)?;
        let Some(body) = self.first(source, object, kind::DATASPACE)? else {
            return Err(place.damaged("the dataset has no shape"));
        };
        let dataspace = Dataspace::parse(&mut source.cursor(&body, place))?;
        let filters = match self.first(source, object, kind::FILTERS)? {
            Some(body) => filters::parse(&mut source.cursor(&body, place))?,
            None => Vec::new(),
        };
        let fill = if let Some(body) = self.first(source, object, kind::FILL)? {
            Fill::parse(&mut source.cursor(&body, place))?
        } else if let Some(body) = self.first(source, object, kind::OLD_FILL)? {
            Fill::parse_old(&mut source.cursor(&body, place))?
        } else {
            Fill::Zero
        };
        if let Fill::Value(bytes) = &fill
            && bytes.len() != datatype.size as usize
        {
            let what =
                format!("expected a fill value of {} bytes, found {}", datatype.size, bytes.len());
            return Err(place.damaged(what));
        }
        let has_external = object.messages.iter().any(|m| m.kind == kind::EXTERNAL_FILES);
        let storage = if has_external {
            Storage::Elsewhere("its elements are in external files")
        } else {
            let Some(body) = self.first(source, object, kind::LAYOUT)? else {
                return Err(place.damaged("the dataset has no layout"));
            };
            let layout = Layout::parse(&mut source.cursor(&body, place))?;
            storage(source, place, layout, &datatype, &dataspace)?
        };
        Ok(Dataset { datatype, dataspace, fill, filters, storage })
    }

    /// The chunk at these coordinates of the grid, or `None` if it is not stored.
    ///
    /// # Errors
    /// The index is damaged.
    pub fn chunk(
        &self,
        blocks: &Blocks,
        storage: &ChunkedStorage,
        coordinates: &[u64],
    ) -> Result<Option<Chunk>> {
        storage.chunks.lookup(&self.source(blocks), coordinates)
    }

    /// The next stored chunks, in no particular order, or `None` when there are no more. The cursor keeps its place when bytes
    /// are missing.
    ///
    /// # Errors
    /// The index is damaged.
    pub fn next_chunks(
        &self,
        blocks: &Blocks,
        storage: &ChunkedStorage,
        cursor: &mut ChunkCursor,
    ) -> Result<Option<Vec<Chunk>>> {
        cursor.next(&self.source(blocks), &storage.chunks)
    }
}

/// The name of an attribute that could be read.
fn name_of(attribute: &std::result::Result<Attribute, crate::Error>) -> Option<&str> {
    attribute.as_ref().ok().map(|attribute| &*attribute.name)
}

impl Object {
    /// The bytes of its header's messages.
    pub(crate) fn header_bytes(&self) -> u64 {
        self.messages.iter().map(|message| message.body.len() as u64).sum()
    }
}

impl ChunkedStorage {
    /// A cursor before the first stored chunk.
    pub fn cursor(&self) -> ChunkCursor {
        ChunkCursor::new(&self.chunks)
    }

    /// The length of a chunk without filters, in bytes.
    pub fn chunk_bytes(&self) -> u64 {
        self.chunks.chunk_bytes
    }

    /// The name of the index, as HDF5's specification has it.
    pub fn index_name(&self) -> &'static str {
        match self.chunks.index {
            Index::BTree1 => "B-tree version 1",
            Index::Single(_) => "single chunk",
            Index::Implicit => "implicit",
            Index::FixedArray => "fixed array",
            Index::ExtensibleArray => "extensible array",
            Index::BTree2 => "B-tree version 2",
        }
    }
}

/// Keeps an error beside what can be read; missing bytes stop the whole.
fn or_error<T>(result: Result<T>) -> Result<std::result::Result<T, crate::Error>> {
    match result {
        Ok(value) => Ok(Ok(value)),
        Err(crate::Fault::Error(error)) => Ok(Err(error)),
        Err(missing) => Err(missing),
    }
}

/// What a layout says, checked against type and shape.
fn storage(
    source: &Source<'_>,
    place: Place,
    layout: Layout,
    datatype: &Datatype,
    dataspace: &Dataspace,
) -> Result<Storage> {
    let total = dataspace.element_count().and_then(|n| n.checked_mul(datatype.size.into()));
    match layout {
        Layout::Virtual => Ok(Storage::Elsewhere("it is a virtual dataset")),
        Layout::Compact(bytes) => {
            if total != Some(bytes.len() as u64) {
                let expected = total.map_or("more than 2^64".to_owned(), |total| total.to_string());
                return Err(place.damaged(format!(
                    "expected {expected} bytes in the object header, found {}",
                    bytes.len()
                )));
            }
            Ok(Storage::Compact(bytes))
        }
        Layout::Contiguous { address: None, .. } => Ok(Storage::Unallocated),
        Layout::Contiguous { address: Some(address), length } => {
            let Some(total) = total else {
                return Err(place.damaged("the dataset has 2^64 bytes or more"));
            };
            // The library allows more bytes than elements need, never less.
            if length.is_some_and(|length| length < total) {
                let what =
                    format!("expected {total} bytes of elements, found {}", length.unwrap_or(0));
                return Err(place.damaged(what));
            }
            let address = source.absolute(Place::new("elements", address))?;
            let file_length = source.blocks.file_length();
            if address.checked_add(total).is_none_or(|end| end > file_length) {
                return Err(place.damaged(format!(
                    "it has {total} bytes at {address}, but the file has {file_length}"
                )));
            }
            Ok(Storage::Contiguous { address, length: total })
        }
        Layout::Chunked { chunk_shape, element_size, edge_chunks_unfiltered, address, index } => {
            let Dataspace::Simple { shape, max_shape } = dataspace else {
                return Err(place.damaged("it has chunks and no shape"));
            };
            if element_size != u64::from(datatype.size) {
                return Err(place.damaged(format!(
                    "expected elements of {} bytes in chunks, found {element_size}",
                    datatype.size
                )));
            }
            let bytes = chunk_shape
                .iter()
                .try_fold(element_size, |bytes, length| bytes.checked_mul(*length));
            let Some(chunk_bytes) = bytes else {
                return Err(place.damaged("a chunk has 2^64 bytes or more"));
            };
            let grid = Grid::new(place, shape, max_shape, chunk_shape.clone())?;
            if matches!(index, Index::Implicit | Index::FixedArray | Index::ExtensibleArray) {
                grid.check_numbers(place)?;
            }
            let chunks = Chunks { grid, index, address, chunk_bytes, dataset: place.address };
            Ok(Storage::Chunked(ChunkedStorage { chunk_shape, edge_chunks_unfiltered, chunks }))
        }
    }
}
