//! Says what went wrong in words: netCDF's programs print only its own sentence for a code.

use std::cell::RefCell;
use std::collections::HashSet;
use std::ffi::{CStr, CString};
use std::io::Write;
use std::sync::Mutex;

use zarr::sync;

use crate::settings;

/// How many different sentences are printed before all further ones are left out, so that a program that meets a new error
/// in each of a million calls does not fill the terminal.
const MAX_SENTENCES: usize = 1000;

/// What was printed.
static PRINTED: Mutex<Option<HashSet<String>>> = Mutex::new(None);

thread_local! {
    static LAST: RefCell<CString> = RefCell::default();
}

/// Prints a sentence on standard error, once in the life of the process.
pub fn print_once(sentence: &str) {
    if settings::is_quiet() || !is_new(sentence) {
        return;
    }
    // A program without standard error loses nothing else.
    let _ = writeln!(std::io::stderr(), "zarr: {sentence}");
}

fn is_new(sentence: &str) -> bool {
    let mut printed = sync::lock(&PRINTED);
    let printed = printed.get_or_insert_default();
    printed.len() < MAX_SENTENCES && printed.insert(sentence.to_owned())
}

/// Prints an error's sentence, and keeps it for `zarr_netcdf_last_error`.
pub fn error(sentence: &str) {
    LAST.with_borrow_mut(|last| {
        *last = CString::new(sentence.replace('\0', " ")).unwrap_or_default()
    });
    print_once(sentence);
}

/// Calls `use_it` with the last error's sentence of this thread; it is empty if there was none.
pub fn with_last_error<T>(use_it: impl FnOnce(&CStr) -> T) -> T {
    LAST.with_borrow(|last| use_it(last))
}
