//! How a file looks as Zarr: groups and arrays with documents of final v3, and where the bytes of each chunk are.
//!
//! Everything here is plain data; a caller makes a store of it. [`Tree`] has the file's paths, [`Tree::array`] describes a
//! dataset, and [`ArrayView::locate`] finds a chunk.

mod attributes;
mod codecs;
mod data_type;
mod dimensions;
mod json;
mod storage;
mod tree;

use crate::{Blocks, Dataset, File, Fill, Result, Storage};

pub use self::codecs::{Codec, apply_skipped, codec_of};
pub use self::data_type::DataType;
pub use self::storage::{Grid, Location};
pub use self::tree::{Entry, EntryKind, Tree};

/// A dataset as an array.
#[derive(Clone, Debug)]
pub struct ArrayView {
    /// Shape and chunks.
    pub grid: Grid,
    /// The type of the elements.
    pub data_type: DataType,
    /// The codecs, `bytes` or `vlen-utf8` first.
    pub codecs: Vec<Codec>,
    /// The fill value as JSON text.
    pub fill: String,
    /// The names of the axes.
    pub dimension_names: Vec<Option<String>>,
    /// Names of attributes, and their values as JSON text.
    pub attributes: Vec<(String, String)>,
    /// The dataset itself.
    pub dataset: Dataset,
    /// The length of an element of Zarr's in bytes.
    element_bytes: u64,
}

impl ArrayView {
    /// Describes a dataset whose attributes and dimensions are known.
    fn new(
        dataset: Dataset,
        fill: Option<crate::value::Value>,
        shape: &[u64],
        dimension_names: Vec<Option<String>>,
        attributes: Vec<(String, String)>,
    ) -> ArrayView {
        let mapped = data_type::map(&dataset.datatype);
        let inner_count = mapped.inner_shape.iter().product::<u64>().max(1);
        let element_bytes = u64::from(dataset.datatype.size) / inner_count;
        let grid = storage::grid(&dataset, shape, &mapped.inner_shape, element_bytes);
        let fill = match &fill {
            Some(crate::value::Value::List(values)) => {
                mapped.data_type.fill_to_json(values.first())
            }
            fill => mapped.data_type.fill_to_json(fill.as_ref()),
        };
        let codecs = array_codecs(&dataset, &mapped);
        let mut dimension_names = dimension_names;
        dimension_names.resize(grid.shape.len(), None);
        let mut attributes = attributes;
        if !mapped.members.is_empty() {
            let members = mapped
                .members
                .iter()
                .map(|(name, value)| (name.clone(), json::value(value, &|_| None)));
            attributes.push(("enum_members".to_owned(), json::object(members)));
        }
        let data_type = mapped.data_type;
        ArrayView {
            grid,
            data_type,
            codecs,
            fill,
            dimension_names,
            attributes,
            dataset,
            element_bytes,
        }
    }

    /// Where a chunk is.
    ///
    /// # Errors
    /// The index of chunks is damaged.
    pub fn locate(&self, file: &File, blocks: &Blocks, coordinates: &[u64]) -> Result<Location> {
        storage::locate(file, blocks, &self.dataset, &self.grid, self.element_bytes, coordinates)
    }

    /// Whether the elements are texts of variable length, so that chunks are made: undo the dataset's filters, and call
    /// [`vlen_utf8`] with the rest.
    pub fn is_variable_text(&self) -> bool {
        self.data_type == DataType::Text
    }

    /// The document `zarr.json` of final v3.
    pub fn document(&self) -> String {
        let grid = match self.grid.short_axis {
            None => {
                let shape = ("chunk_shape".to_owned(), numbers(&self.grid.chunk_shape));
                json::named("regular", json::object([shape]))
            }
            Some(short) => {
                let axes = self.grid.chunk_shape.iter().zip(&self.grid.shape).enumerate();
                let axes = axes.map(|(axis, (chunk, length))| {
                    if axis != short {
                        return chunk.to_string();
                    }
                    json::list([numbers(&[*chunk, length / chunk]), (length % chunk).to_string()])
                });
                let shapes = ("chunk_shapes".to_owned(), json::list(axes));
                let kind = ("kind".to_owned(), json::text("inline"));
                json::named("rectilinear", json::object([kind, shapes]))
            }
        };
        let separator = json::object([("separator".to_owned(), json::text("/"))]);
        let codecs =
            self.codecs.iter().map(|codec| json::named(&codec.name, codec.configuration.clone()));
        let names = self.dimension_names.iter().map(|name| match name {
            Some(name) => json::text(name),
            None => "null".to_owned(),
        });
        json::object([
            ("zarr_format".to_owned(), "3".to_owned()),
            ("node_type".to_owned(), json::text("array")),
            ("shape".to_owned(), numbers(&self.grid.shape)),
            ("data_type".to_owned(), self.data_type.to_json()),
            ("chunk_grid".to_owned(), grid),
            ("chunk_key_encoding".to_owned(), json::named("default", separator)),
            ("fill_value".to_owned(), self.fill.clone()),
            ("codecs".to_owned(), json::list(codecs)),
            ("attributes".to_owned(), json::object(self.attributes.clone())),
            ("dimension_names".to_owned(), json::list(names)),
        ])
    }
}

/// A list of numbers.
fn numbers(list: &[u64]) -> String {
    json::list(list.iter().map(u64::to_string))
}

/// The document of a group with these attributes.
pub fn group_document(attributes: Vec<(String, String)>) -> String {
    json::object([
        ("zarr_format".to_owned(), "3".to_owned()),
        ("node_type".to_owned(), json::text("group")),
        ("attributes".to_owned(), json::object(attributes)),
    ])
}

fn array_codecs(dataset: &Dataset, mapped: &data_type::Mapped) -> Vec<Codec> {
    // Chunks of texts are made, after the filters were undone.
    if mapped.data_type == DataType::Text {
        return vec![Codec::new("vlen-utf8", &[])];
    }
    let endian = match mapped.order {
        Some(crate::datatype::Order::Big) => vec![("endian", json::text("big"))],
        Some(_) => vec![("endian", json::text("little"))],
        None => Vec::new(),
    };
    let mut codecs = vec![Codec::new("bytes", &endian)];
    if let Storage::Elsewhere(why) = &dataset.storage {
        let name = if why.contains("virtual") { "virtual_dataset" } else { "external_files" };
        codecs.push(Codec::new(&format!("hdf5.{name}"), &[]));
    }
    codecs.extend(dataset.filters.iter().filter_map(codecs::codec_of));
    codecs
}

/// Texts as the codec `vlen-utf8` has them: their number, then length and bytes of each.
///
/// # Errors
/// There are 2^32 texts or more, or one has as many bytes.
pub fn vlen_utf8(texts: &[Vec<u8>]) -> std::result::Result<Vec<u8>, String> {
    let mut out = four_bytes(texts.len())?.to_vec();
    for text in texts {
        out.extend_from_slice(&four_bytes(text.len())?);
        out.extend_from_slice(text);
    }
    Ok(out)
}

/// A number of four bytes.
fn four_bytes(n: usize) -> std::result::Result<[u8; 4], String> {
    u32::try_from(n).map(u32::to_le_bytes).map_err(|_| format!("{n} does not fit 32 bits"))
}

/// The fill value of a dataset as a value, `None` for zeros.
fn fill_value(
    file: &File,
    blocks: &Blocks,
    dataset: &Dataset,
) -> Result<Option<crate::value::Value>> {
    let Fill::Value(bytes) = &dataset.fill else { return Ok(None) };
    Ok(file.values(blocks, &dataset.datatype, bytes)?.into_iter().next())
}
