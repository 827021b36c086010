//! The types of a program's own that Zarr has: enumerations that are bools, and compounds that are complex numbers.
//!
//! A program that writes such numbers defines the type before the variable. The file knows the type as long as it is open; who
//! opens it again sees what `types` tells in its place.

use std::ffi::c_int;

use zarr::nczarr::{Profile, Type};

use crate::codes::{EBADTYPE, ENAMEINUSE, ENOTNC4, Failure, Result};
use crate::define::new_name;
use crate::index::File;

/// The number of the first type of a file's own (`NC_FIRSTUSERTYPEID`).
const FIRST_ID: c_int = 32;

/// What the members of an enumeration of bools are called, in any case, and their values.
const MEMBERS: [(&str, u8); 2] = [("false", 0), ("true", 1)];
/// What the fields of a compound of a complex number are called: the real part, the imaginary one.
const FIELDS: [[&str; 2]; 3] = [["r", "i"], ["re", "im"], ["real", "imag"]];

/// A type that a program has defined.
#[derive(Clone, Debug)]
pub struct OwnType {
    pub name: String,
    /// The place of the group that declares it.
    pub group: usize,
    pub kind: Kind,
}

/// What a type is made of, as far as it is defined.
#[derive(Clone, Debug)]
pub enum Kind {
    /// An enumeration over `byte` or `ubyte`.
    Enumeration { base: Type, members: Vec<(String, u8)> },
    /// A compound of parts of this type, with the name and the offset in bytes of each.
    Compound { part: Type, fields: Vec<(String, usize)> },
}

impl OwnType {
    /// The type of Zarr that it is, once all of it is defined.
    pub fn zarr_type(&self) -> Option<Type> {
        match &self.kind {
            Kind::Enumeration { members, .. } if members.len() == MEMBERS.len() => Some(Type::Bool),
            Kind::Compound { part: Type::Float, fields } if fields.len() == 2 => {
                Some(Type::Complex64)
            }
            Kind::Compound { part: Type::Double, fields } if fields.len() == 2 => {
                Some(Type::Complex128)
            }
            _ => None,
        }
    }

    /// Bytes of an element.
    pub fn size(&self) -> usize {
        match &self.kind {
            Kind::Enumeration { .. } => 1,
            Kind::Compound { part, .. } => 2 * part_size(*part),
        }
    }

    /// How many members or fields it has.
    pub fn member_count(&self) -> usize {
        match &self.kind {
            Kind::Enumeration { members, .. } => members.len(),
            Kind::Compound { fields, .. } => fields.len(),
        }
    }

    /// The members of an enumeration.
    ///
    /// # Errors
    /// [`EBADTYPE`] for a compound.
    pub fn members(&self) -> Result<&[(String, u8)]> {
        match &self.kind {
            Kind::Enumeration { members, .. } => Ok(members),
            Kind::Compound { .. } => Err(EBADTYPE.into()),
        }
    }

    /// The fields of a compound, and the type of each.
    ///
    /// # Errors
    /// [`EBADTYPE`] for an enumeration.
    pub fn fields(&self) -> Result<(&[(String, usize)], Type)> {
        match &self.kind {
            Kind::Compound { part, fields } => Ok((fields, *part)),
            Kind::Enumeration { .. } => Err(EBADTYPE.into()),
        }
    }
}

/// Bytes of a part of a complex number.
fn part_size(part: Type) -> usize {
    part.size().unwrap_or(1)
}

/// The number of the type of this place.
pub fn id_of(place: usize) -> c_int {
    c_int::try_from(place).unwrap_or(c_int::MAX).saturating_add(FIRST_ID)
}

/// The place of the type of this number, if it is one of a file's own.
fn place_of(id: c_int) -> Option<usize> {
    id.checked_sub(FIRST_ID).and_then(|place| usize::try_from(place).ok())
}

impl File {
    /// Refuses a type that Zarr does not have.
    pub fn no_type(&self, what: &str, found: &str) -> Failure {
        let only = match what {
            "enumeration" => " but bools, with the members `false` = 0 and `true` = 1 over bytes",
            "compound" => {
                " but complex numbers, with the fields `r` and `i` of type float or double"
            }
            _ => "",
        };
        let typed = &self.typed;
        let why = format!("{typed}: Zarr has no {what} types{only}{found}; use netCDF's own types");
        Failure::new(ENOTNC4, why)
    }

    /// The type of a file's own of this number.
    ///
    /// # Errors
    /// [`EBADTYPE`].
    pub fn own_type(&self, id: c_int) -> Result<&OwnType> {
        let found = place_of(id).and_then(|place| self.own_types.get(place));
        found.ok_or_else(|| EBADTYPE.into())
    }

    /// The number of the type of this name that a group sees: its own, those above, any other.
    pub fn own_type_named(&self, place: usize, name: &str) -> Option<c_int> {
        let name = name.rsplit('/').next().unwrap_or(name);
        let mut at = Some(place);
        while let Some(group) = at {
            let mut types = self.own_types.iter();
            if let Some(found) = types.position(|own| own.group == group && own.name == name) {
                return Some(id_of(found));
            }
            at = self.groups[group].parent;
        }
        self.own_types.iter().position(|own| own.name == name).map(id_of)
    }

    /// Begins a type; its number.
    fn define_type(&mut self, place: usize, name: &str, kind: Kind) -> Result<c_int> {
        let name = new_name(name)?;
        self.group(place)?;
        let is_taken = self.own_types.iter().any(|own| own.group == place && own.name == name);
        if is_taken || Type::from_name(&name).is_some() {
            return Err(ENAMEINUSE.into());
        }
        self.own_types.push(OwnType { name, group: place, kind });
        Ok(id_of(self.own_types.len() - 1))
    }

    /// Begins an enumeration.
    pub fn define_enumeration(
        &mut self,
        place: usize,
        base: Option<Type>,
        name: &str,
    ) -> Result<c_int> {
        let base = base.ok_or(EBADTYPE)?;
        if !matches!(base, Type::Byte | Type::Ubyte) {
            return Err(self.no_type("enumeration", &format!(", found `{name}` over {base}")));
        }
        self.define_type(place, name, Kind::Enumeration { base, members: Vec::new() })
    }

    /// Adds a member to an enumeration.
    pub fn insert_member(&mut self, id: c_int, name: &str, value: u8) -> Result<()> {
        let own = self.own_type(id)?;
        let members = own.members()?;
        let lower = name.to_ascii_lowercase();
        if !MEMBERS.contains(&(&lower, value)) {
            let found = format!(", found the member `{name}` = {value} of `{}`", own.name);
            return Err(self.no_type("enumeration", &found));
        }
        if members.iter().any(|(other, _)| other.eq_ignore_ascii_case(name)) {
            return Err(ENAMEINUSE.into());
        }
        let own = place_of(id).and_then(|place| self.own_types.get_mut(place));
        if let Some(OwnType { kind: Kind::Enumeration { members, .. }, .. }) = own {
            members.push((name.to_owned(), value));
        }
        Ok(())
    }

    /// Begins a compound of so many bytes.
    pub fn define_compound(&mut self, place: usize, size: usize, name: &str) -> Result<c_int> {
        let parts = [Type::Float, Type::Double];
        let Some(part) = parts.into_iter().find(|part| 2 * part_size(*part) == size) else {
            return Err(self.no_type("compound", &format!(", found `{name}` of {size} bytes")));
        };
        self.define_type(place, name, Kind::Compound { part, fields: Vec::new() })
    }

    /// Adds a field to a compound.
    pub fn insert_field(
        &mut self,
        id: c_int,
        name: &str,
        offset: usize,
        ty: Option<Type>,
    ) -> Result<()> {
        let own = self.own_type(id)?;
        let (fields, part) = own.fields()?;
        let size = part_size(part);
        let is_second = offset == size;
        // Of those that are there, the other part must have the other name.
        let is_part = FIELDS.iter().any(|names| {
            names[usize::from(is_second)] == name
                && fields.iter().all(|(other, _)| other == name || names.contains(&other.as_str()))
        });
        if ty != Some(part) || !is_part || (offset != 0 && !is_second) {
            let found = format!(", found the field `{name}` of `{}`", own.name);
            return Err(self.no_type("compound", &found));
        }
        if fields.iter().any(|(other, _)| other == name) {
            return Err(ENAMEINUSE.into());
        }
        let own = place_of(id).and_then(|place| self.own_types.get_mut(place));
        if let Some(OwnType { kind: Kind::Compound { fields, .. }, .. }) = own {
            fields.push((name.to_owned(), offset));
            fields.sort_by_key(|(_, offset)| *offset);
        }
        Ok(())
    }

    /// The type of Zarr that a variable or an attribute of the type of this number has.
    ///
    /// # Errors
    /// [`EBADTYPE`]; [`ENOTNC4`] for a type of which not all is defined.
    pub fn zarr_type(&self, id: c_int) -> Result<Type> {
        let own = self.own_type(id)?;
        own.zarr_type().ok_or_else(|| {
            let what = match own.kind {
                Kind::Enumeration { .. } => "enumeration",
                Kind::Compound { .. } => "compound",
            };
            self.no_type(what, &format!(", found `{}` with one member at most", own.name))
        })
    }

    /// Refuses bools and complex numbers where no variable can have them: in NCZarr of v2.
    pub fn check_holds(&self, ty: Type) -> Result<()> {
        let is_v2 = self.dataset.dialect() == zarr::Dialect::V2;
        if ty.is_atomic() || self.dataset.profile() != Profile::Nczarr || !is_v2 {
            return Ok(());
        }
        let what = if ty == Type::Bool { "bools" } else { "complex numbers" };
        let why = format!(
            "{}: netCDF's library cannot open NCZarr v2 datasets that have {what}; create it with `format=nczarr-v3` or `format=zarr-v2`",
            self.typed
        );
        Err(Failure::new(ENOTNC4, why))
    }
}
