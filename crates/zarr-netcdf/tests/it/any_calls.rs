//! All functions of the table, in any order and with any arguments, on a file that is written meanwhile: none ends the process, has a
//! mistake of this library to tell, or touches memory that is not lent to it. `.ci/full sanitizer` runs this under AddressSanitizer.

use std::ffi::{CStr, CString, c_char, c_int};

use zarr_netcdf::ffi::{Input, NameOut, Text, Unused, zarr_netcdf_last_error};

use crate::common::*;

/// How many calls there are, unless `ZARR_NETCDF_CALLS` says it.
const CALLS: usize = 20_000;
/// No variable is defined with more dimensions; complex numbers have one more when they are opened again.
const MAX_RANK: usize = 3;
const EINTERNAL: c_int = -92;
const NC_STRING: c_int = 12;

/// Names that are there, that are not, and that no netCDF name can be.
const NAMES: [&str; 14] =
    ["v", "w", "x", "n", "g", "h", "bool", "r", "i", "false", "true", "_FillValue", "/g/x", "a/b"];

/// Chooses arguments.
struct Chooser {
    numbers: Numbers,
    root: c_int,
}

impl Chooser {
    fn below(&mut self, most: u64) -> u64 {
        self.numbers.next() % most
    }

    fn rarely(&mut self) -> bool {
        self.below(12) == 0
    }

    fn ncid(&mut self) -> c_int {
        if self.rarely() { self.numbers.int() } else { self.root | self.below(3) as c_int }
    }

    /// A number of a variable, a dimension, an attribute.
    fn id(&mut self) -> c_int {
        if self.rarely() { self.numbers.int() } else { self.below(8) as c_int - 1 }
    }

    /// A number of a type.
    fn ty(&mut self) -> c_int {
        if self.rarely() {
            self.numbers.int()
        } else {
            [0, 1, 4, 5, 6, 7, 10, 12, 2, 32, 33, 34][self.below(12) as usize]
        }
    }

    fn name(&mut self) -> Option<String> {
        match self.below(16) {
            0 => None,
            // Folders have no names of 256 bytes, as netCDF may have.
            1 => Some("n".repeat([1, 100, 255, 257][self.below(4) as usize])),
            _ => Some(NAMES[self.below(NAMES.len() as u64) as usize].to_owned()),
        }
    }

    fn lens(&mut self) -> [usize; MAX_RANK + 1] {
        std::array::from_fn(|_| self.below(4) as usize)
    }

    fn bytes(&mut self, len: usize) -> Vec<u8> {
        (0..len).map(|_| self.numbers.next() as u8).collect()
    }
}

fn with_name(name: &Option<String>, call: impl FnOnce(Text) -> c_int) -> c_int {
    with_text(name.as_deref(), call)
}

/// The type and the rank of a variable.
fn facts(ncid: c_int, id: c_int) -> Option<(c_int, usize)> {
    let (mut ty, mut rank) = (0, 0);
    let status = inquire(ncid, id, null_name(), &mut ty, &mut rank);
    (status == 0).then_some((ty, rank as usize))
}

fn inquire(ncid: c_int, id: c_int, name: NameOut, ty: &mut c_int, rank: &mut c_int) -> c_int {
    (table().inq_var_all)(
        ncid,
        id,
        name,
        out(ty),
        out(rank),
        null_out(),
        null_out(),
        null_out(),
        null_out(),
        null_out(),
        null_out(),
        null_out(),
        null_out(),
        null_out(),
        null_data(),
        null_out(),
        null_out(),
        null_out(),
        null_out(),
    )
}

fn size_of_type(ncid: c_int, ty: c_int) -> Option<usize> {
    let mut size = 0;
    let status = (table().inq_type)(ncid, ty, null_name(), out(&mut size));
    (status == 0).then_some(size)
}

/// Reads or writes a slab in memory that is as large as it must be.
fn elements(choose: &mut Chooser) -> c_int {
    let (ncid, id, asked) = (choose.ncid(), choose.id(), choose.ty());
    let Some((ty, rank)) = facts(ncid, id) else {
        let (start, count) = (choose.lens(), choose.lens());
        return (table().get_vara)(ncid, id, lengths(&start), lengths(&count), null_data(), asked);
    };
    let memory = if asked == 0 { ty } else { asked };
    let (mut start, count) = (choose.lens(), choose.lens());
    if choose.rarely() {
        start[choose.below(3) as usize] = usize::MAX;
    }
    let steps = [1, choose.below(3) as isize, 1 + choose.below(2) as isize, 1];
    let map = [choose.below(3) as isize * 9, 3, 1, 1];
    let Some(size) = size_of_type(ncid, memory) else {
        return (table().put_vara)(ncid, id, lengths(&start), lengths(&count), null_input(), asked);
    };
    let is_mapped = choose.below(4) == 0;
    let len: usize = count[..rank].iter().product();
    // Two steps along each axis of such a map lead to the 46th element at most.
    let len = if is_mapped { 100 } else { len };
    let place = (ncid, id, lengths(&start), lengths(&count));
    let table = table();
    if choose.below(2) == 0 {
        let texts: Vec<CString> =
            (0..len).map(|n| CString::new(format!("text {n}")).unwrap()).collect();
        let pointers: Vec<*const c_char> = texts.iter().map(|text| text.as_ptr()).collect();
        let bytes = choose.bytes(len * size);
        let given: Input = if memory == NC_STRING { input(&pointers) } else { input(&bytes) };
        return match choose.below(3) {
            _ if is_mapped => (table.put_varm)(
                place.0,
                place.1,
                place.2,
                place.3,
                strides(&steps),
                strides(&map),
                given,
                asked,
            ),
            0 => {
                (table.put_vars)(place.0, place.1, place.2, place.3, strides(&steps), given, asked)
            }
            _ => (table.put_vara)(place.0, place.1, place.2, place.3, given, asked),
        };
    }
    if memory == NC_STRING {
        let mut found = vec![std::ptr::null_mut::<c_char>(); len];
        let given = data(&mut found);
        let status = (table.get_vara)(place.0, place.1, place.2, place.3, given, asked);
        for text in found {
            // SAFETY: it is null, or a text that the library has allocated for the caller.
            unsafe { libc::free(text.cast()) }
        }
        return status;
    }
    let mut found = vec![0u8; len * size];
    let given = data(&mut found);
    match choose.below(3) {
        _ if is_mapped => (table.get_varm)(
            place.0,
            place.1,
            place.2,
            place.3,
            strides(&steps),
            strides(&map),
            given,
            asked,
        ),
        0 => (table.get_vars)(place.0, place.1, place.2, place.3, strides(&steps), given, asked),
        _ => (table.get_vara)(place.0, place.1, place.2, place.3, given, asked),
    }
}

/// Sets an attribute, or reads it into memory that is as large as it must be.
fn attribute(choose: &mut Chooser) -> c_int {
    let (ncid, id, name, ty, asked) =
        (choose.ncid(), choose.id(), choose.name(), choose.ty(), choose.ty());
    let table = table();
    if choose.below(2) == 0 {
        let len = choose.below(4) as usize;
        let memory = if asked == 0 { ty } else { asked };
        let size = size_of_type(ncid, memory).unwrap_or(16);
        let texts = [c"one", c"", c"\xff", c"four"].map(|text| text.as_ptr());
        let bytes = choose.bytes(len * size);
        let given = if memory == NC_STRING { input(&texts) } else { input(&bytes) };
        return with_name(&name, |name| (table.put_att)(ncid, id, name, ty, len, given, asked));
    }
    let (mut ty, mut len) = (0, 0);
    let status =
        with_name(&name, |name| (table.inq_att)(ncid, id, name, out(&mut ty), out(&mut len)));
    let memory = if asked == 0 { ty } else { asked };
    let Some(size) = size_of_type(ncid, memory).filter(|_| status == 0) else { return status };
    if ty == NC_STRING {
        return status;
    }
    let mut found = vec![0u8; len * size];
    with_name(&name, |name| (table.get_att)(ncid, id, name, data(&mut found), asked))
}

/// Defines something.
fn definition(choose: &mut Chooser) -> c_int {
    let (ncid, id, name, ty) = (choose.ncid(), choose.id(), choose.name(), choose.ty());
    let (a, b, len) = (choose.id(), choose.numbers.int(), choose.below(6) as usize);
    let dimensions = [choose.id(), choose.id(), choose.id()];
    let rank = if choose.rarely() { -1 } else { choose.below(1 + MAX_RANK as u64) as c_int };
    let chunks = choose.lens();
    let bytes = choose.bytes(16);
    let parameters = [1u32; 8];
    let table = table();
    match choose.below(20) {
        0 => with_name(&name, |name| (table.def_dim)(ncid, name, len, null_out())),
        1..4 => with_name(&name, |name| {
            (table.def_var)(ncid, name, ty, rank, list(&dimensions), null_out())
        }),
        4 => with_name(&name, |name| (table.def_grp)(ncid, name, null_out())),
        5 => with_name(&name, |name| (table.def_enum)(ncid, ty, name, null_out())),
        6 => with_name(&name, |name| (table.insert_enum)(ncid, ty, name, input(&bytes))),
        7 => with_name(&name, |name| {
            (table.def_compound)(ncid, [8, 16, 3, len][len % 4], name, null_out())
        }),
        8 => {
            with_name(&name, |name| (table.insert_compound)(ncid, ty, name, [0, 4, 8][len % 3], 5))
        }
        9 => with_name(&name, |name| (table.def_vlen)(ncid, name, ty, null_out())),
        10 => with_name(&name, |name| (table.def_opaque)(ncid, len, name, null_out())),
        // A fill value has the size of the variable's type, 16 bytes at most; of texts it would be a pointer.
        11 if facts(ncid, id).is_none_or(|(ty, _)| ty != NC_STRING) => {
            (table.def_var_fill)(ncid, id, a, input(&bytes))
        }
        12 => (table.def_var_chunking)(ncid, id, a, lengths(&chunks)),
        13 => (table.def_var_deflate)(ncid, id, a, 1, b),
        14 => (table.def_var_filter)(
            ncid,
            id,
            [1, 2, 3, 307, 32015, 32001, 4][len],
            8,
            list(&parameters),
        ),
        15 => (table.def_var_endian)(ncid, id, a),
        16 => (table.def_var_fletcher32)(ncid, id, a),
        17 => (table.def_var_quantize)(ncid, id, a, b),
        18 => (table.set_fill)(ncid, [0, 0x100, b][len % 3], null_out()),
        _ => (table._enddef)(ncid, 0, 1, 0, 1),
    }
}

/// Gives something another name, or deletes an attribute.
fn change(choose: &mut Chooser) -> c_int {
    let (ncid, id, name, to) = (choose.ncid(), choose.id(), choose.name(), choose.name());
    let table = table();
    match choose.below(6) {
        0 => with_name(&to, |to| (table.rename_dim)(ncid, id, to)),
        1 => with_name(&to, |to| (table.rename_var)(ncid, id, to)),
        2 => with_name(&to, |to| (table.rename_grp)(ncid, to)),
        3 => with_name(&to, |to| with_name(&name, |name| (table.rename_att)(ncid, id, name, to))),
        4 => with_name(&name, |name| (table.del_att)(ncid, id, name)),
        _ => (table.redef)(ncid),
    }
}

/// Asks for something, with memory as large as netCDF says that it is.
fn question(choose: &mut Chooser) -> c_int {
    let (ncid, id, name, ty) = (choose.ncid(), choose.id(), choose.name(), choose.ty());
    // `NC_MAX_NAME` and a zero.
    let mut memory = vec![0 as c_char; 257];
    // SAFETY: the memory is as large as netCDF's.
    let own_name = unsafe { NameOut::new(memory.as_mut_ptr()) };
    let (mut int, mut size) = (0, 0usize);
    let table = table();
    /// Asks for a count, and then for the list.
    fn counted(call: impl Fn(&mut c_int, Option<&mut [c_int]>) -> c_int) -> c_int {
        let mut count = 0;
        let status = call(&mut count, None);
        let mut all = vec![0; usize::try_from(count).unwrap_or(0)];
        if status == 0 { call(&mut count, Some(&mut all)) } else { status }
    }
    let optional = |all: Option<&mut [c_int]>| match all {
        Some(all) => out_list(all),
        None => null_out(),
    };
    match choose.below(22) {
        0 => (table.inq_dim)(ncid, id, own_name, out(&mut size)),
        1 => with_name(&name, |name| (table.inq_dimid)(ncid, name, out(&mut int))),
        2 => (table.inq_unlimdim)(ncid, out(&mut int)),
        3 => counted(|count, all| (table.inq_unlimdims)(ncid, out(count), optional(all))),
        4 => counted(|count, all| (table.inq_grps)(ncid, out(count), optional(all))),
        5 => counted(|count, all| (table.inq_varids)(ncid, out(count), optional(all))),
        6 => counted(|count, all| (table.inq_dimids)(ncid, out(count), optional(all), id)),
        7 => counted(|count, all| (table.inq_typeids)(ncid, out(count), optional(all))),
        8 => (table.inq_attname)(ncid, id, ty, own_name),
        9 => (table.inq_type)(ncid, ty, own_name, out(&mut size)),
        10 => (table.inq_user_type)(
            ncid,
            ty,
            own_name,
            out(&mut size),
            out(&mut int),
            null_out(),
            null_out(),
        ),
        11 => (table.inq_compound_field)(
            ncid,
            ty,
            id,
            own_name,
            out(&mut size),
            out(&mut int),
            null_out(),
            null_out(),
        ),
        12 => {
            let mut value = vec![0u8; 1];
            (table.inq_enum_member)(ncid, ty, id, own_name, data(&mut value))
        }
        13 => (table.inq_enum_ident)(ncid, ty, id.into(), own_name),
        14 => with_name(&name, |name| (table.inq_typeid)(ncid, name, out(&mut int))),
        15 => (table.inq_type_equal)(ncid, ty, ncid, id, out(&mut int)),
        16 => (table.inq_grpname)(ncid, own_name),
        17 => with_name(&name, |name| (table.inq_grp_full_ncid)(ncid, name, out(&mut int))),
        18 => with_name(&name, |name| (table.inq_ncid)(ncid, name, out(&mut int))),
        19 => (table.inq_grp_parent)(ncid, out(&mut int)),
        20 => inquire(ncid, id, own_name, &mut int, &mut 0),
        _ => (table.inq_var_filter_ids)(ncid, id, out(&mut size), null_out()),
    }
}

#[test]
fn any_calls_in_any_order_are_answered() {
    let calls = std::env::var("ZARR_NETCDF_CALLS").ok().and_then(|text| text.parse().ok());
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("any.zarr");
    let mut open = try_create(path.to_str().unwrap(), 0).unwrap();
    let mut choose = Chooser { numbers: Numbers(0x9e37_79b9_7f4a_7c15), root: open.id };
    let mut succeeded = 0;
    for call in 0..calls.unwrap_or(CALLS) {
        if call % 1000 == 999 {
            // What was written is read again, or there is a new file.
            let none = Unused::new(std::ptr::null());
            let status = (table().close)(open.id, none);
            // SAFETY: it is a text that ends with a zero.
            let why = unsafe { CStr::from_ptr(zarr_netcdf_last_error()) };
            assert!(status == 0, "call {call}: close: {status}: {why:?}");
            drop(open);
            open = if choose.below(3) == 0 {
                try_create(path.to_str().unwrap(), 0).unwrap()
            } else {
                try_open(path.join("zarr.json").to_str().unwrap(), 1).unwrap()
            };
            choose.root = open.id;
        }
        let kind = choose.below(8);
        let status = match kind {
            0 | 1 => definition(&mut choose),
            2 => attribute(&mut choose),
            3 => question(&mut choose),
            4 if choose.rarely() => change(&mut choose),
            5 if choose.rarely() => (table().sync)(choose.ncid()),
            _ => elements(&mut choose),
        };
        assert!(status <= 0 && status != EINTERNAL, "call {call} of kind {kind}: {status}");
        succeeded += usize::from(status == 0);
    }
    // Else it would try nothing but refusals.
    assert!(succeeded > calls.unwrap_or(CALLS) / 10, "{succeeded} calls succeeded");
}
