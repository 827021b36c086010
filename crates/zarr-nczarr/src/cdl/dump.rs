//! Writes a dataset as CDL.

use std::io::{self, Write};

use zarr_core::region::element_count;
use zarr_core::{AccessError, Error, Json, Node, Result};

use super::PIECE;
use super::document::Provenance;
use super::print::{Printing, print};
use super::rows::Show;
use crate::handles::dataset::Dataset;
use crate::handles::variable::Variable;
use crate::model::slab::{Slab, pieces};

impl Provenance {
    /// What the special attributes of a dataset say.
    ///
    /// # Errors
    /// When its root group cannot be read.
    pub fn of(dataset: &Dataset) -> Result<Provenance> {
        let properties = match dataset.hierarchy().node(&dataset.inner.base)? {
            Node::Group(group) => group.attributes().get("_NCProperties").cloned(),
            Node::Array(_) => None,
        };
        let properties = properties.as_ref().and_then(Json::as_str).map(str::to_owned);
        let superblock = if dataset.dialect() == zarr_core::Dialect::V2 { 2 } else { 3 };
        Ok(Provenance {
            properties,
            superblock: Some(superblock),
            netcdf4: Some(true),
            format: Some("netCDF-4".into()),
        })
    }
}

impl Dataset {
    /// Writes the dataset as CDL, under the name `name`, as `ncdump` does. Data are read piece by piece.
    ///
    /// # Errors
    /// When `out` does not take it; as [`crate::Variable::read_slab`].
    pub fn print_cdl<E: From<io::Error> + From<Error>>(
        &self,
        name: &str,
        printing: &Printing,
        out: &mut dyn Write,
    ) -> Result<(), E> {
        self.print_cdl_shown(name, printing, &mut |_| Ok(None), out)
    }

    /// As [`Dataset::print_cdl`]; what `show` returns for a variable says what is printed in place of its elements.
    ///
    /// # Errors
    /// As [`Dataset::print_cdl`], and those of `show`.
    pub fn print_cdl_shown<E: From<io::Error> + From<Error>>(
        &self,
        name: &str,
        printing: &Printing,
        show: &mut dyn FnMut(&Variable) -> Result<Option<Show>, E>,
        out: &mut dyn Write,
    ) -> Result<(), E> {
        let schema = self.schema();
        print::<E>(name, &schema, printing, out, &mut |path, schema, rows| {
            let variable = self.variable(path)?;
            let show = show(&variable)?;
            let shape = variable.shape()?;
            element_count(&shape).ok_or_else(|| {
                let hint = "choose other variables with -v, or print definitions alone";
                variable.at(AccessError::TooLarge { what: "the variable", size: u64::MAX, hint })
            })?;
            for piece in pieces(&shape, &schema.storage.chunks, 1, PIECE)?.in_c_order() {
                rows.push_shown(&variable.read_slab(&Slab::from(&piece.place))?, show.as_ref())?;
            }
            Ok(())
        })
    }
}
