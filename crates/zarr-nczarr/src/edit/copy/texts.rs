//! Keeps strings of one width when a dataset is copied: their bytes, and their data type where the copy can have it.

use zarr_core::data_type::{DataType, FillValue, Repr, unpadded};
use zarr_core::metadata::ArrayMetadata;
use zarr_core::{Array, Dialect, Result, Selection};

use crate::edit::copy::plan::{BLOCK, Planning, TEXT};
use crate::model::attribute;
use crate::model::elements::{text_in, utf32};
use crate::model::options::Profile;
use crate::model::schema::{Attribute, FixedText, Variable};
use crate::model::slab::{Slab, pieces};
use crate::model::values::Values;

const WIDTH: &str = "_nczarr_maxstrlen";

/// Bytes of an element of strings that are bytes of one width.
fn width_of(array: &Array) -> Option<usize> {
    match array.data_type().repr()? {
        Repr::Opaque(width) if width > 0 => Some(width),
        _ => None,
    }
}

/// The strings of one width in an array of plain Zarr: `|S5`, `<U5`.
fn fixed_text(metadata: &ArrayMetadata, dialect: Dialect) -> Option<FixedText> {
    if !matches!(metadata.data_type, DataType::FixedBytes { .. } | DataType::FixedUtf32 { .. }) {
        return None;
    }
    let fill = FillValue::new(metadata.fill_bytes());
    let fill = metadata.data_type.element_to_json(&fill, dialect).ok()?;
    Some(FixedText { data_type: metadata.data_type.clone(), fill })
}

/// The part of a slab that the array has: along an unlimited dimension it may be shorter than others.
fn there(array: &Array, slab: &Slab) -> Slab {
    if slab.count.is_empty() {
        slab.clone()
    } else {
        Slab::new(slab.start.clone(), slab.within(&array.shape()))
    }
}

/// What is selected by a slab, or the one element of a scalar.
fn selection(array: &Array, slab: &Slab) -> Selection {
    if slab.count.is_empty() {
        Slab::all(&vec![1; array.shape().len()]).selection(&vec![1; array.shape().len()])
    } else {
        slab.selection(&slab.count)
    }
}

/// The bytes of each element.
fn elements(bytes: &[u8], width: usize) -> impl Iterator<Item = &[u8]> {
    bytes.chunks_exact(width)
}

impl Planning<'_> {
    /// Gives the copy of strings a data type that holds them: the source's own between plain Zarr, and in NCZarr of v3;
    /// else one that is wide enough for the texts that there are (N-060). Names what are no texts, if they have to be.
    pub(crate) fn texts(&mut self, copy: &mut Variable, path: &str) -> Result<()> {
        let from = self.from.variable(path)?;
        let (shape, array) = (from.shape()?, from.array()?);
        let fixed = match self.new.dialect {
            Dialect::V2 => self.is_wide(copy),
            _ => self.new.fixed_strings,
        };
        let is_own = self.new.profile == Profile::Nczarr && fixed;
        if self.from.profile() == Profile::Pure && !is_own {
            copy.storage.text = fixed_text(&array.metadata(), self.new.dialect);
            if copy.storage.text.is_some() {
                if self.new.profile == Profile::Pure {
                    // The array's own document says it, which need not be text.
                    copy.attributes.retain(|attribute| attribute.name != "_FillValue");
                }
                return Ok(());
            }
        }
        let old = width_of(&array);
        let (mut needed, mut are_texts, mut are_whole) = (1, true, true);
        // Where nothing is stored, however large the array is, one piece shows the fill value.
        let looked_at = match old {
            None if !fixed => 0,
            _ if array.stored_chunks().is_ok_and(|stored| stored == 0) => 1,
            _ => usize::MAX,
        };
        for piece in pieces(&shape, &copy.storage.chunks, TEXT, BLOCK)?.take(looked_at) {
            let slab = Slab::from(&piece.place);
            let there = there(&array, &slab);
            match old {
                Some(_) if there.is_empty() => {}
                Some(width) => {
                    let bytes = array.read_bytes(selection(&array, &there))?;
                    for element in elements(&bytes, width) {
                        needed = needed.max(unpadded(element, 1).len());
                        are_texts &= std::str::from_utf8(text_in(element)).is_ok();
                        are_whole &= fixed || text_in(element).len() == unpadded(element, 1).len();
                    }
                }
                None if fixed => {
                    if let Values::String(list) = from.read_slab(&slab)? {
                        needed = list.iter().map(String::len).fold(needed, usize::max);
                        are_whole &= !list.iter().any(|text| text.ends_with('\0'));
                    }
                    if let Some(Repr::Utf32(width @ 1..)) = array.data_type().repr()
                        && !there.is_empty()
                    {
                        let bytes = array.read_bytes(selection(&array, &there))?;
                        are_whole &= elements(&bytes, 4 * width)
                            .all(|it| unpadded(it, 1).len() <= 4 * utf32(it).chars().count());
                    }
                }
                None => {}
            }
        }
        if !are_texts {
            let why = if fixed {
                "stay as they are; readers of netCDF may refuse them"
            } else {
                "become U+FFFD"
            };
            self.lost.push(format!("{path}: bytes that are not UTF-8 {why}"));
        }
        if !are_whole {
            let what =
                "NULs at the end of texts, or what follows NULs inside; netCDF's texts end there";
            self.lost.push(format!("{path}: {what}"));
        }
        if !fixed {
            return Ok(());
        }
        let root = self.from.schema();
        let width = copy.attribute(WIDTH);
        let width = width.or(root.attribute("_nczarr_default_maxstrlen"));
        let width = width.and_then(|width| attribute::to_json(width, Dialect::V3).ok());
        let width = width.and_then(|(json, _)| json.as_u64()).unwrap_or(128);
        if needed as u64 > width {
            let width = Values::Int(vec![i32::try_from(needed).unwrap_or(i32::MAX)]);
            match copy.attributes.iter_mut().find(|a| a.name == WIDTH) {
                Some(found) => found.value = width,
                None => copy.attributes.push(Attribute { name: WIDTH.into(), value: width }),
            }
        }
        Ok(())
    }

    /// Whether strings of a copy in v2 have a width: in plain Zarr, if it is given.
    fn is_wide(&self, copy: &Variable) -> bool {
        self.new.profile == Profile::Nczarr
            || copy.attribute(WIDTH).is_some()
            || self.from.schema().attribute("_nczarr_default_maxstrlen").is_some()
    }
}
