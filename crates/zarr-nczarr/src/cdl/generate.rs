//! Makes a dataset from CDL.

use zarr_core::{AccessError, Error, Result};

use super::boxes::Boxes;
use super::document::Document;
use super::error::CdlError;
use super::special;
use crate::handles::dataset::Dataset;
use crate::handles::variable::Variable;
use crate::model::schema::Group;
use crate::model::slab::Slab;
use crate::model::values::Values;

impl From<CdlError> for Error {
    fn from(error: CdlError) -> Self {
        AccessError::Argument(error.to_string()).into()
    }
}

impl Document<'_> {
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

/// Gathers elements until they are a piece that is written at once.
struct Writer {
    variable: Variable,
    fill: Values,
    boxes: Boxes,
    /// The piece that is gathered, and the number of its first element.
    slab: Slab,
    first: u64,
    gathered: Values,
}

impl Writer {
    fn new(variable: Variable) -> Result<Writer> {
        let schema = variable.schema()?;
        let boxes = Boxes::new(&variable.shape()?, &schema.storage.chunks);
        let (first, slab) = boxes.around(0);
        let gathered = Values::none(schema.ty);
        Ok(Writer { fill: schema.fill(), variable, boxes, slab, first, gathered })
    }

    /// Takes elements from the one with the number `at` on, which is behind all that came before.
    fn push(&mut self, mut at: u64, mut values: Values) -> Result<()> {
        while !values.is_empty() {
            if at - self.first >= self.slab.len().unwrap_or(u64::MAX) {
                self.flush()?;
                (self.first, self.slab) = self.boxes.around(at);
            }
            let end = self.first + self.slab.len().unwrap_or(u64::MAX);
            self.fill_up(at)?;
            let room = usize::try_from(end - at).unwrap_or(usize::MAX).min(values.len());
            let rest = values.split_off(room);
            self.gathered.append(values);
            (at, values) = (end, rest);
        }
        Ok(())
    }

    /// Puts fill up to the element with the number `at`.
    fn fill_up(&mut self, at: u64) -> Result<()> {
        let missing = at - self.first - self.gathered.len() as u64;
        let fill = usize::try_from(missing).ok().and_then(|missing| self.fill.repeated(missing));
        let size = self.slab.len().unwrap_or(u64::MAX);
        let hint = "give the variable smaller `_ChunkSizes`";
        let fill = fill.ok_or(AccessError::TooLarge { what: "a row of chunks", size, hint })?;
        self.gathered.append(fill);
        Ok(())
    }

    /// Writes what was gathered.
    fn flush(&mut self) -> Result<()> {
        if self.gathered.is_empty() {
            return Ok(());
        }
        self.fill_up(self.first + self.slab.len().unwrap_or(u64::MAX))?;
        let rest = self.gathered.split_off(0);
        self.variable.write_slab(&self.slab, rest)
    }
}
