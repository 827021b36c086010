//! Changes to datasets: methods of the handles that create, define, rename, grow and copy.
//!
//! [`create`] makes an empty dataset. [`define`] adds dimensions, variables and groups, for which [`create_variable`] creates the array of a
//! variable and [`redefine`] creates it anew. [`set_attributes`] sets attributes, [`rename`] renames and deletes, [`grow`] makes
//! unlimited dimensions longer. [`copy`] plans and makes a copy in another profile or dialect.

pub(crate) mod copy;
pub(crate) mod create;
pub(crate) mod create_variable;
pub(crate) mod define;
pub(crate) mod grow;
pub(crate) mod redefine;
pub(crate) mod rename;
pub(crate) mod set_attributes;
