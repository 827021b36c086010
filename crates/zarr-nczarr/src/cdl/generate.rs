//! Makes a dataset from CDL.

use zarr_core::codec::CodecSpec;
use zarr_core::grid::Pieces;
use zarr_core::{AccessError, Error, Region, Result};

use super::PIECE;
use super::document::Document;
use super::error::CdlError;
use super::special;
use crate::documents::filter;
use crate::edit::copy::plan::is_netcdf_c;
use crate::edit::create::NewDataset;
use crate::handles::dataset::Dataset;
use crate::handles::variable::Variable;
use crate::model::schema::Group;
use crate::model::slab::{Slab, pieces};
use crate::model::values::Values;

impl From<CdlError> for Error {
    fn from(error: CdlError) -> Self {
        AccessError::Argument(error.to_string()).into()
    }
}

impl Document<'_> {
    /// Stores the variables of which the text does not say how they are filtered with these codecs, in a dataset that is to be
    /// `new`; with none they are uncompressed. Without this call they get the usual filters of the format
    /// ([`Storage::default_filters`](crate::schema::Storage::default_filters)).
    ///
    /// # Errors
    /// [`MetadataError::CannotRepresent`](zarr_core::MetadataError::CannotRepresent) for a codec that netcdf-c does not have, in NCZarr
    /// of v2.
    pub fn set_codecs(&mut self, codecs: &[CodecSpec], new: &NewDataset) -> Result<()> {
        set_codecs(&mut self.root, codecs, is_netcdf_c(new))
    }

    /// Defines all that the text defines in a dataset, and writes its data, piece by piece.
    ///
    /// # Errors
    /// As [`Dataset::define`] and [`Variable::write_slab`]. What was written before stays.
    pub fn write_to(&self, dataset: &Dataset) -> Result<()> {
        let mut schema = self.root.clone();
        settle(&mut schema)?;
        dataset.define(&schema)?;
        self.write_group(dataset, &self.root, "")
    }

    fn write_group(&self, dataset: &Dataset, group: &Group, path: &str) -> Result<()> {
        for variable in &group.variables {
            let full = format!("{path}/{}", variable.name);
            if self.has_data(&full) {
                let mut writer = Writer::new(dataset.variable(&full)?)?;
                self.each_piece::<Error>(&full, &mut |at, values| writer.push(at, values.clone()))?;
                writer.flush()?;
            }
        }
        for child in &group.groups {
            self.write_group(dataset, child, &format!("{path}/{}", child.name))?;
        }
        Ok(())
    }
}

fn set_codecs(group: &mut Group, codecs: &[CodecSpec], is_netcdf_c: bool) -> Result<()> {
    for variable in &mut group.variables {
        // A scalar is one element, and netcdf-c opens none that has a filter (N-023).
        let is_scalar = variable.dimensions.is_empty();
        let storage = &mut variable.storage;
        if storage.default_filters && storage.filters.is_empty() && !is_scalar {
            storage.filters = filter::of_codecs(&variable.name, codecs, is_netcdf_c)?;
            storage.default_filters = false;
        }
    }
    group.groups.iter_mut().try_for_each(|child| set_codecs(child, codecs, is_netcdf_c))
}

/// Gives fill values the types of their variables.
fn settle(group: &mut Group) -> Result<()> {
    for variable in &mut group.variables {
        let ty = variable.ty;
        let fill = variable.attributes.iter_mut().find(|attribute| attribute.name == "_FillValue");
        if let Some(fill) = fill {
            let settled = special::fill_as(&fill.value, ty);
            fill.value = settled
                .map_err(|why| AccessError::Argument(format!("{}: {why}", variable.name)))?;
        }
    }
    group.groups.iter_mut().try_for_each(settle)
}

/// Gathers elements until they are a piece that is written in one call.
struct Writer {
    variable: Variable,
    shape: Vec<u64>,
    fill: Values,
    pieces: Pieces,
    /// The piece that is gathered.
    piece: Option<Gathering>,
}

struct Gathering {
    slab: Slab,
    /// The number of its first element, and of its elements.
    first: u64,
    len: u64,
    values: Values,
}

impl Writer {
    fn new(variable: Variable) -> Result<Writer> {
        let (schema, shape) = (variable.schema()?, variable.shape()?);
        let pieces = pieces(&shape, &schema.storage.chunks, 1, PIECE)?.in_c_order();
        Ok(Writer { fill: schema.fill(), variable, shape, pieces, piece: None })
    }

    /// Takes elements from the one with the number `at` on, which is behind all that came before.
    fn push(&mut self, mut at: u64, mut values: Values) -> Result<()> {
        while !values.is_empty() {
            if self.piece.as_ref().is_none_or(|piece| at - piece.first >= piece.len) {
                self.flush()?;
                self.pieces.skip_to(at);
                self.piece = self.pieces.next().map(|piece| self.gathering(&piece.place));
            }
            let piece = self.piece.as_mut().expect("the position is in the variable");
            let end = piece.first + piece.len;
            piece.fill_up(at, &self.fill)?;
            let room = usize::try_from(end - at).unwrap_or(usize::MAX).min(values.len());
            let rest = values.split_off(room);
            piece.values.append(values);
            (at, values) = (end, rest);
        }
        Ok(())
    }

    fn gathering(&self, place: &Region) -> Gathering {
        let slab = Slab::from(place);
        let first = slab
            .start
            .iter()
            .zip(&self.shape)
            .fold(0, |number, (&start, &len)| number * len + start);
        let len = slab.len().unwrap_or(u64::MAX);
        Gathering { slab, first, len, values: Values::none(self.fill.ty()) }
    }

    /// Writes what was gathered.
    fn flush(&mut self) -> Result<()> {
        let Some(mut piece) = self.piece.take() else { return Ok(()) };
        piece.fill_up(piece.first + piece.len, &self.fill)?;
        self.variable.write_slab(&piece.slab, piece.values)
    }
}

impl Gathering {
    /// Puts fill up to the element with the number `at`.
    fn fill_up(&mut self, at: u64, fill: &Values) -> Result<()> {
        let missing = at - self.first - self.values.len() as u64;
        let fill = usize::try_from(missing).ok().and_then(|missing| fill.repeated(missing));
        let (size, hint) = (self.len, "give the variable smaller `_ChunkSizes`");
        self.values.append(fill.ok_or(AccessError::TooLarge {
            what: "a row of chunks",
            size,
            hint,
        })?);
        Ok(())
    }
}
