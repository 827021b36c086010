//! What Zarr data cannot hold, or what is not written yet: types of a program's own, and numbers rounded before they are
//! stored.

use std::ffi::c_int;

use super::guarded;
use super::pointers::{Data, Input, List, Out, Text, Unused};
use crate::codes::{EINVAL, Failure, Result};
use crate::open_files;

/// Refuses a type of a program's own.
fn no_type(ncid: c_int, what: &str) -> Result<()> {
    let (file, _) = open_files::get(ncid)?;
    file.check_writable()?;
    Err(file.no_type(what, ""))
}

/// Functions that refuse what a type of this kind would be made of.
macro_rules! refused {
    ($($name:ident($($ty:ty),*) $what:literal;)*) => {$(
        pub extern "C" fn $name(ncid: c_int, $(_: $ty),*) -> c_int {
            guarded(|| no_type(ncid, $what))
        }
    )*};
}

refused! {
    insert_array_compound(c_int, Text, usize, c_int, c_int, List<c_int>) "compound";
    def_vlen(Text, c_int, Out<c_int>) "variable-length";
    put_vlen_element(c_int, Unused, usize, Input) "variable-length";
    get_vlen_element(c_int, Unused, Out<usize>, Data) "variable-length";
    def_opaque(usize, Text, Out<c_int>) "opaque";
}

pub extern "C" fn def_var_quantize(ncid: c_int, id: c_int, mode: c_int, _: c_int) -> c_int {
    guarded(|| {
        open_files::change(ncid, |file, place| {
            let name = &file.group(place)?.variable(id)?.name;
            if mode == 0 {
                return Ok(());
            }
            let why = "numbers are not quantized before they are stored; round them before";
            Err(Failure::new(EINVAL, format!("variable `{name}`: {why}")))
        })
    })
}
