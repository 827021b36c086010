//! Holds a parsed CDL text.

use std::collections::HashMap;

use super::data::{self, Layout};
use super::error::CdlError;
use super::parse;
use crate::Values;
use crate::model::schema::Group;

/// A CDL text that was read: what it defines, and where its data stand.
///
/// The whole text, including the data, has been checked. Data stay in the text until they are asked for.
#[derive(Clone, Debug)]
pub struct Document<'a> {
    pub(super) text: &'a str,
    /// The name that follows `netcdf`.
    pub name: String,
    /// What the dataset defines. The lengths of unlimited dimensions are those that the data need.
    pub root: Group,
    /// What the text says of the dataset as a whole.
    pub provenance: Provenance,
    /// What was overlooked: where, and what was done.
    pub warnings: Vec<CdlError>,
    pub(super) data: HashMap<String, Data>,
}

/// What special attributes of the root say: where a dataset comes from. They are computed, never stored (N-055).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Provenance {
    /// `_NCProperties`.
    pub properties: Option<String>,
    /// `_SuperblockVersion`.
    pub superblock: Option<i64>,
    /// `_IsNetcdf4`.
    pub netcdf4: Option<bool>,
    /// `_Format`.
    pub format: Option<String>,
}

/// Where the data of a variable stand, and how its axes cut them.
#[derive(Clone, Debug)]
pub(super) struct Data {
    pub start: usize,
    pub layout: Layout,
}

impl<'a> Document<'a> {
    /// Reads a text as netCDF's own `ncgen` does.
    ///
    /// # Errors
    /// Where the text is no CDL, names what is not there, declares a type other than those that `dump` prints, or has a value that its type
    /// cannot hold.
    pub fn parse(text: &'a str) -> Result<Document<'a>, CdlError> {
        parse::parse(text)
    }

    /// Whether there are data of the variable of this full name.
    pub fn has_data(&self, variable: &str) -> bool {
        self.data.contains_key(variable)
    }

    /// Calls `each` with the data of a variable in C order, in pieces: the number of the first element, and elements.
    /// What is in no piece was not given, and is fill. Without data there is no call.
    ///
    /// # Errors
    /// That of `each`. There are no others, since all data were looked at before.
    pub fn each_piece<E: From<CdlError>>(
        &self,
        variable: &str,
        each: &mut dyn FnMut(u64, &Values) -> Result<(), E>,
    ) -> Result<(), E> {
        match self.data.get(variable) {
            Some(data) => data::pieces(self.text, data, &self.shape(variable), each),
            None => Ok(()),
        }
    }

    /// The lengths of a variable's axes.
    pub(super) fn shape(&self, variable: &str) -> Vec<u64> {
        let dimensions =
            self.root.variable(variable).map_or(&[][..], |variable| &variable.dimensions);
        dimensions
            .iter()
            .map(|name| self.root.dimension(name).map_or(0, |dimension| dimension.len))
            .collect()
    }
}
