//! Keeps what readers take for missing when a dataset is copied (docs/internals/design/missing-data.md).
//!
//! In v2 the fill value is the missing value, in final v3 only the attribute `_FillValue` is: see
//! [`zarr_core::missing_value`].

use zarr_core::{Dialect, ErrorKind, Result, missing_value};

use crate::edit::copy::plan::{Planning, kept};
use crate::model::attribute;
use crate::model::options::Profile;
use crate::model::schema::{Attribute, Variable};
use crate::model::types::Type;
use crate::model::values::{Values, is_identical};

const FILL: &str = "_FillValue";

/// Whether all values have no bit that is set.
pub(crate) fn are_zeros(values: &Values) -> bool {
    zero(values.ty())
        .and_then(|zero| zero.repeated(values.len()))
        .is_some_and(|zeros| is_identical(values, &zeros))
}

/// The value of elements that were never written where no fill value is defined.
fn zero(ty: Type) -> Option<Values> {
    match ty {
        Type::Char | Type::String => Some(ty.default_fill()),
        ty if !ty.is_atomic() => Some(ty.default_fill()),
        ty => attribute::typed(&0_u64.into(), ty).ok(),
    }
}

impl Planning<'_> {
    /// Gives the copy of a variable the fill value and the attribute `_FillValue` with which its readers mask what
    /// those of the source mask.
    pub(crate) fn missing_value(
        &mut self,
        copy: &mut Variable,
        variable: &Variable,
        path: &str,
    ) -> Result<()> {
        let from = self.from.variable(path)?;
        let held = kept(from.entry()?.fill, copy.ty);
        let is_v3 = self.from.dialect() == Dialect::V3;
        // Of bools no value is missing.
        let is_whole = variable.ty == Type::Bool;
        copy.storage.unwritten = None;
        let declared = copy.attribute(FILL).cloned();
        // The fill value that netCDF masks without a word.
        let is_usual = variable.ty.is_atomic()
            && !variable.storage.no_fill
            && self.from.profile() != Profile::Pure
            && is_identical(&held, &copy.ty.default_fill());
        if self.new.dialect == Dialect::V3 {
            let is_masked = !is_v3 && !is_whole && !variable.storage.no_fill;
            let has_words = !matches!(copy.ty, Type::Char | Type::String);
            let is_byte = is_usual && matches!(copy.ty, Type::Byte | Type::Ubyte);
            let is_told = variable.storage.unwritten.as_ref().is_some_and(|told| {
                is_usual && declared.is_none() && is_identical(told, &copy.ty.default_fill())
            });
            let tells = is_masked && has_words && declared.is_none() && !is_byte;
            copy.storage.no_fill = false;
            let is_plain = self.from.profile() == Profile::Pure;
            if is_masked && !has_words && is_plain && self.has_names(path)? {
                let data_type = from.array()?.metadata().data_type.to_string();
                let what = format!("the missing value {}", self.document_fill(path)?);
                let why = format!("v3 cannot represent one of type `{data_type}`");
                self.lost.push(format!("{path}: {what}; {why}"));
            }
            if is_masked && has_words && !self.has_names(path)? {
                copy.attributes.retain(|attribute| attribute.name != FILL);
            } else if (tells || is_told) && is_usual && self.new.profile == Profile::Nczarr {
                // netCDF has no attribute of it.
                copy.storage.unwritten = Some(held);
                return Ok(());
            } else if tells || is_told {
                copy.attributes.push(Attribute::new(FILL, held.clone()));
            }
            copy.storage.unwritten = (!is_identical(&copy.fill(), &held)).then_some(held);
            return Ok(());
        }
        if (!is_v3 && !is_whole) || (declared.is_none() && is_usual) {
            return Ok(());
        }
        copy.storage.no_fill = declared.is_none();
        let Some(becomes) = declared.clone().or_else(|| zero(copy.ty)) else { return Ok(()) };
        let (stored, all) = self.chunks(path)?;
        let absent = all.saturating_sub(stored);
        // Of complex numbers v2 has no such attribute.
        let may_tell = declared.is_none() || copy.ty.is_atomic();
        if absent > all / 4 && are_zeros(&held) && may_tell {
            // Without a fill value they stay zeros; the attribute is the missing value then.
            copy.storage.no_fill = true;
            self.sparse.insert(path.to_owned());
        } else if absent > all / 4 && !is_identical(&becomes, &held) && !is_whole {
            let what = match &declared {
                Some(_) => "its missing value",
                None => "that no value is missing",
            };
            let count = format!("{absent} of {all} chunks are not stored");
            self.lost.push(format!(
                "{path}: {what}; {count}, and their fill value is the missing value there"
            ));
            copy.attributes.retain(|attribute| attribute.name != FILL);
            copy.attributes.push(Attribute::new(FILL, held));
            copy.storage.no_fill = false;
        }
        Ok(())
    }

    /// In NCZarr of v2 a text as fill value is itself, in plain Zarr it is base64: what is neither stops xarray from opening the
    /// whole dataset. A copy of plain Zarr says it in the attribute only, which netCDF takes for the missing value; every
    /// element is stored.
    pub(crate) fn missing_text(&mut self, copy: &mut Variable, path: &str) {
        let is_netcdf_c = self.new.profile == Profile::Nczarr && self.new.dialect == Dialect::V2;
        let Some(Values::String(texts)) = copy.attribute(FILL) else { return };
        let Some(text) = texts.first().filter(|text| !text.is_empty()) else { return };
        if is_netcdf_c && self.from.profile() == Profile::Pure && !copy.storage.no_fill {
            let why = "netCDF sees it; xarray and zarr-python see a value, as they take a text for base64 there";
            self.lost.push(format!(
                "{path}: the missing value {}; {why}",
                zarr_core::Json::from(text.as_str()).brief()
            ));
            copy.storage.no_fill = true;
        }
    }

    /// The fill value of the source, as its document writes it.
    fn document_fill(&self, path: &str) -> Result<String> {
        Ok(self.from.variable(path)?.array()?.metadata().declared_fill.brief())
    }

    /// Whether those who mask values take the array of the source for a variable: it names its dimensions, or says
    /// which value is missing.
    fn has_names(&self, path: &str) -> Result<bool> {
        let metadata = self.from.variable(path)?.array()?.metadata();
        let is_plain = self.from.profile() == Profile::Pure;
        Ok(!is_plain || missing_value::has_names(&metadata) || metadata.attributes.contains(FILL))
    }

    /// How many chunks of the source are stored, and how many there could be.
    fn chunks(&self, path: &str) -> Result<(u64, u64)> {
        let array = self.from.variable(path)?.array()?;
        let counts = array.metadata().chunk_shape().map(|chunk| {
            let axes = array.shape().into_iter().zip(chunk);
            axes.map(|(len, chunk)| len.div_ceil(chunk.max(1))).fold(1_u64, u64::saturating_mul)
        });
        let Some(all) = counts else { return Ok((0, 0)) };
        match array.stored_chunks() {
            // Where they cannot be listed or understood, all chunks count as stored.
            Err(e) if matches!(e.kind(), ErrorKind::NotCapable | ErrorKind::Unsupported) => {
                Ok((all, all))
            }
            stored => Ok((stored?, all)),
        }
    }
}
