//! Defines the options of a parser of documents, and collects its warnings.

use super::template::Templates;
use crate::dialect::Strictness;
use crate::error::{MetadataError, shortened};
use crate::limits::Limits;
use crate::registry::Registry;

/// The options of a parser, and the warnings it collects.
#[derive(Debug)]
pub struct Reading<'a> {
    /// How closely to hold to the specification.
    pub strictness: Strictness,
    /// Which data types, grids and codecs are known.
    pub registry: &'a Registry,
    /// Whether filters that zarr-python hid in a draft array's attributes are taken for attributes.
    pub ignore_hidden_filters: bool,
    /// The most that documents may demand.
    pub limits: Limits,
    /// What was accepted although the specification forbids it.
    pub warnings: Vec<String>,
    /// Documents that were read so before.
    pub(crate) templates: Option<&'a Templates>,
}

/// The most characters of a warning that are kept: it may contain names from documents.
const MAX_WARNING_LENGTH: usize = 500;

impl<'a> Reading<'a> {
    /// A reading without warnings so far.
    pub fn new(registry: &'a Registry, strictness: Strictness) -> Self {
        Reading {
            strictness,
            registry,
            ignore_hidden_filters: false,
            limits: Limits::default(),
            warnings: Vec::new(),
            templates: None,
        }
    }

    /// Adds `what` to the warnings if the reading is tolerant.
    ///
    /// # Errors
    /// `what`, if the reading is strict.
    pub fn tolerate(&mut self, what: impl Into<String>) -> Result<(), String> {
        let what = what.into();
        let what = shortened(&what, MAX_WARNING_LENGTH).into_owned();
        match self.strictness {
            Strictness::Strict => Err(what),
            Strictness::Tolerant => {
                self.warnings.push(what);
                Ok(())
            }
        }
    }

    /// As [`Reading::tolerate`], about a member of a document.
    pub(crate) fn tolerate_member(
        &mut self,
        member: &str,
        what: &str,
    ) -> Result<(), MetadataError> {
        let noted = self.tolerate(format!("`{member}`: {what}"));
        noted.map_err(|_| MetadataError::invalid(member, what))
    }
}
