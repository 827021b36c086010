//! Pointers that netcdf-c gives, by what they point to. Each may be null: the caller does not want, or does not have, it.

use std::ffi::{CStr, c_char, c_int, c_void};

use crate::codes::{EBADNAME, EINVAL, ENOMEM, Failure, Result};

/// Where a result goes: one value, or as many as the function's documentation says.
#[derive(Clone, Copy, Debug)]
#[repr(transparent)]
pub struct Out<T>(*mut T);

impl<T: Copy> Out<T> {
    /// # Safety
    /// The pointer is null, or memory for what the function that gets it writes.
    pub unsafe fn new(pointer: *mut T) -> Out<T> {
        Out(pointer)
    }

    /// Whether there is none.
    pub fn is_null(self) -> bool {
        self.0.is_null()
    }

    /// Writes a value, if the caller wants it.
    pub fn put(self, value: T) {
        if !self.0.is_null() {
            // SAFETY: the pointer is memory for this result; C does not promise that it is aligned.
            unsafe { self.0.write_unaligned(value) }
        }
    }

    /// Writes a list, if the caller wants it.
    pub fn put_all(self, values: impl IntoIterator<Item = T>) {
        if self.0.is_null() {
            return;
        }
        for (at, value) in values.into_iter().enumerate() {
            // SAFETY: the caller has asked for the number of values before, and has memory for all.
            unsafe { self.0.add(at).write_unaligned(value) }
        }
    }
}

/// Memory for a name: `NC_MAX_NAME` + 1 bytes, 257, or as many as an earlier call has told.
#[derive(Clone, Copy, Debug)]
#[repr(transparent)]
pub struct NameOut(Out<c_char>);

impl NameOut {
    /// # Safety
    /// As [`Out::new`].
    pub unsafe fn new(pointer: *mut c_char) -> NameOut {
        NameOut(Out(pointer))
    }

    /// Writes a name with the zero behind it. The index has no name that is longer than netCDF allows, or has a zero.
    pub fn put(self, name: &str) {
        let bytes = name.bytes().chain([0]);
        self.0.put_all(bytes.map(|byte| byte as c_char));
    }
}

/// A text that ends with a zero.
#[derive(Clone, Copy, Debug)]
#[repr(transparent)]
pub struct Text(*const c_char);

impl Text {
    /// # Safety
    /// The pointer is null, or a text that ends with a zero and stays as it is during the call.
    pub unsafe fn new(pointer: *const c_char) -> Text {
        Text(pointer)
    }

    /// Whether there is none.
    pub fn is_null(self) -> bool {
        self.0.is_null()
    }

    /// The text, copied.
    ///
    /// # Errors
    /// `EINVAL` for null; `EBADNAME` for what is not UTF-8, as all names are.
    pub fn get(self) -> Result<String> {
        if self.0.is_null() {
            return Err(EINVAL.into());
        }
        // SAFETY: the pointer is a text that ends with a zero.
        let text = unsafe { CStr::from_ptr(self.0) };
        text.to_str().map(str::to_owned).map_err(|_| EBADNAME.into())
    }
}

/// A start or a count along each dimension.
#[derive(Clone, Copy, Debug)]
#[repr(transparent)]
pub struct Lengths(*const usize);

impl Lengths {
    /// # Safety
    /// The pointer is null, or has a number for each dimension of the variable that the function is called with.
    pub unsafe fn new(pointer: *const usize) -> Lengths {
        Lengths(pointer)
    }

    /// The numbers of so many dimensions.
    pub fn get(self, rank: usize) -> Option<Vec<u64>> {
        if self.0.is_null() {
            return None;
        }
        // SAFETY: there are as many numbers as dimensions.
        Some((0..rank).map(|axis| unsafe { self.0.add(axis).read_unaligned() } as u64).collect())
    }
}

/// A stride along each dimension, of elements of the variable or in memory.
#[derive(Clone, Copy, Debug)]
#[repr(transparent)]
pub struct Strides(*const isize);

impl Strides {
    /// # Safety
    /// As [`Lengths::new`].
    pub unsafe fn new(pointer: *const isize) -> Strides {
        Strides(pointer)
    }

    /// The numbers of so many dimensions.
    pub fn get(self, rank: usize) -> Option<Vec<isize>> {
        if self.0.is_null() {
            return None;
        }
        // SAFETY: there are as many numbers as dimensions.
        Some((0..rank).map(|axis| unsafe { self.0.add(axis).read_unaligned() }).collect())
    }
}

/// Numbers of C's, as many as the function's documentation says.
#[derive(Clone, Copy, Debug)]
#[repr(transparent)]
pub struct List<T>(*const T);

impl<T: Copy> List<T> {
    /// # Safety
    /// The pointer is null, or has as many numbers as the function that gets it is told.
    pub unsafe fn new(pointer: *const T) -> List<T> {
        List(pointer)
    }

    /// So many numbers; none for null.
    pub fn get(self, count: usize) -> Option<Vec<T>> {
        if self.0.is_null() {
            return None;
        }
        // SAFETY: there are as many numbers as the caller has said.
        Some((0..count).map(|at| unsafe { self.0.add(at).read_unaligned() }).collect())
    }
}

/// Elements or values of the caller's, to be written.
#[derive(Clone, Copy, Debug)]
#[repr(transparent)]
pub struct Input(*const c_void);

impl Input {
    /// # Safety
    /// The pointer is null, or has all elements that the function reads, which stay as they are during the call.
    pub unsafe fn new(pointer: *const c_void) -> Input {
        Input(pointer)
    }

    /// Whether there is none.
    pub fn is_null(self) -> bool {
        self.0.is_null()
    }

    /// Calls `take` with so many bytes.
    ///
    /// # Errors
    /// `EINVAL` for null; what `take` meets.
    pub fn take<T>(self, size: usize, take: impl FnOnce(&[u8]) -> Result<T>) -> Result<T> {
        if size == 0 {
            return take(&[]);
        }
        if self.0.is_null() || size > isize::MAX as usize {
            return Err(EINVAL.into());
        }
        // SAFETY: the caller has as many elements as it has said, and leaves them as they are.
        take(unsafe { std::slice::from_raw_parts(self.0.cast::<u8>(), size) })
    }

    /// Copies the element from its place, `offset` elements of its size from the beginning; that may be before it.
    pub fn copy_at(self, offset: isize, element: &mut [u8]) {
        if self.0.is_null() {
            return;
        }
        let place =
            self.0.cast::<u8>().wrapping_offset(offset.wrapping_mul(element.len() as isize));
        // SAFETY: the caller's map from coordinates to memory leads to memory of its own.
        unsafe { std::ptr::copy_nonoverlapping(place, element.as_mut_ptr(), element.len()) }
    }

    /// Copies of so many texts: `at` says for each where the pointer to it is, counted in pointers. No pointer is no text.
    ///
    /// # Errors
    /// `EINVAL` for null, and for a text that is not UTF-8; `ENOMEM`.
    pub fn texts(self, count: usize, at: impl Fn(usize) -> isize) -> Result<Vec<String>> {
        if self.0.is_null() && count > 0 {
            return Err(EINVAL.into());
        }
        let mut texts = Vec::new();
        texts.try_reserve_exact(count).map_err(|_| ENOMEM)?;
        for number in 0..count {
            let mut address = [0; size_of::<usize>()];
            self.copy_at(at(number), &mut address);
            let text = usize::from_ne_bytes(address) as *const c_char;
            // SAFETY: the caller's pointers are null or lead to texts that end with a zero.
            let text = if text.is_null() { c"" } else { unsafe { CStr::from_ptr(text) } };
            let text = text.to_str().map_err(|_| {
                let shown = text.to_string_lossy();
                let why =
                    format!("the string `{shown:.60}` is not UTF-8, which Zarr's strings are");
                Failure::new(EINVAL, why)
            })?;
            texts.push(text.to_owned());
        }
        Ok(texts)
    }
}

/// Memory for elements or values.
#[derive(Clone, Copy, Debug)]
#[repr(transparent)]
pub struct Data(*mut c_void);

impl Data {
    /// # Safety
    /// The pointer is null, or memory that nobody else uses during the call, for all elements that the function writes.
    pub unsafe fn new(pointer: *mut c_void) -> Data {
        Data(pointer)
    }

    /// Whether there is none.
    pub fn is_null(self) -> bool {
        self.0.is_null()
    }

    /// Calls `fill` with so many bytes of the memory.
    ///
    /// # Errors
    /// `EINVAL` for null; what `fill` meets.
    pub fn fill<T>(self, size: usize, fill: impl FnOnce(&mut [u8]) -> Result<T>) -> Result<T> {
        if size == 0 {
            return fill(&mut []);
        }
        if self.0.is_null() || size > isize::MAX as usize {
            return Err(EINVAL.into());
        }
        // SAFETY: the memory has room for all elements, and nobody else uses it during the call. That it may be unwritten yet
        // is C's affair: to Rust, memory from C has bytes, if unknown ones.
        fill(unsafe { std::slice::from_raw_parts_mut(self.0.cast::<u8>(), size) })
    }

    /// Copies an element to its place, `offset` elements of its size from the beginning; that may be before it.
    pub fn put_at(self, offset: isize, element: &[u8]) {
        if self.0.is_null() {
            return;
        }
        let place =
            self.0.cast::<u8>().wrapping_offset(offset.wrapping_mul(element.len() as isize));
        // SAFETY: the caller's map from coordinates to memory leads to memory of its own. No other Rust code refers to it.
        unsafe { std::ptr::copy_nonoverlapping(element.as_ptr(), place, element.len()) }
    }

    /// Writes pointers to texts, which the caller frees one by one: `at` says for each where it goes, counted in pointers.
    ///
    /// # Errors
    /// `ENOMEM`; then no text stays allocated.
    pub fn put_texts(self, texts: &[String], at: impl Fn(usize) -> isize) -> Result<()> {
        if self.0.is_null() && !texts.is_empty() {
            return Err(EINVAL.into());
        }
        let mut copies = Copies(Vec::new());
        copies.0.try_reserve_exact(texts.len()).map_err(|_| ENOMEM)?;
        for text in texts {
            copies.0.push(copy(text)?);
        }
        for (number, &text) in copies.0.iter().enumerate() {
            self.put_at(at(number), &(text as usize).to_ne_bytes());
        }
        // They are the caller's now.
        copies.0.clear();
        Ok(())
    }
}

/// Texts in C's memory, which are freed if they do not reach the caller.
struct Copies(Vec<*mut c_char>);

impl Drop for Copies {
    fn drop(&mut self) {
        for &text in &self.0 {
            // SAFETY: `malloc` gave it, and nobody else has it.
            unsafe { libc::free(text.cast()) }
        }
    }
}

/// A copy of a text in memory of C's, as `nc_free_string` frees it. It ends at its first zero, as texts of C do.
fn copy(text: &str) -> Result<*mut c_char> {
    let bytes = text.as_bytes();
    let len = bytes.iter().position(|&byte| byte == 0).unwrap_or(bytes.len());
    // SAFETY: any size may be asked for.
    let memory = unsafe { libc::malloc(len + 1) }.cast::<u8>();
    if memory.is_null() {
        return Err(ENOMEM.into());
    }
    // SAFETY: the memory is new, and has a byte more than the text.
    unsafe {
        std::ptr::copy_nonoverlapping(bytes.as_ptr(), memory, len);
        memory.add(len).write(0);
    }
    Ok(memory.cast())
}

/// What a function has no use for.
#[derive(Clone, Copy, Debug)]
#[repr(transparent)]
pub struct Unused(*const c_void);

impl Unused {
    /// Any pointer.
    pub fn new(pointer: *const c_void) -> Unused {
        Unused(pointer)
    }

    /// Whether there is none.
    pub fn is_null(self) -> bool {
        self.0.is_null()
    }
}

/// The dispatch table by which a file is opened.
#[derive(Clone, Copy, Debug)]
#[repr(transparent)]
pub struct Model(*const c_int);

impl Model {
    /// # Safety
    /// The pointer is null, or a dispatch table.
    pub unsafe fn new(pointer: *const c_int) -> Model {
        Model(pointer)
    }

    /// Which format it is of: its first member. 0 for null.
    pub fn get(self) -> c_int {
        // SAFETY: a table begins with that number.
        if self.0.is_null() { 0 } else { unsafe { self.0.read() } }
    }
}

/// A number of C's; what is beyond it, no call can have made.
pub fn int(number: usize) -> c_int {
    c_int::try_from(number).unwrap_or(c_int::MAX)
}
