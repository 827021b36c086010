//! A dataset with all that netCDF can ask for, and the calls of netcdf-c with Rust's types.

use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::path::Path;
use std::sync::atomic::{AtomicI32, Ordering};

use zarr::nczarr::schema::{Filter, Variable};
use zarr::nczarr::{Dataset, DatasetOptions, Dimension, NewDataset, Slab, Type};
use zarr_netcdf::ffi::{
    Data, Input, Lengths, List, Model, NameOut, Out, Strides, Table, Text, Unused, zarr_netcdf_udf2,
};

/// The codes that the tests expect.
pub const EBADID: c_int = -33;
pub const EINVAL: c_int = -36;
pub const EPERM: c_int = -37;
pub const EINVALCOORDS: c_int = -40;
pub const ENOTATT: c_int = -43;
pub const EBADTYPE: c_int = -45;
pub const EBADDIM: c_int = -46;
pub const ENOTVAR: c_int = -49;
pub const ENOTNC: c_int = -51;
pub const ECHAR: c_int = -56;
pub const EEDGE: c_int = -57;
pub const ESTRIDE: c_int = -58;
pub const ERANGE: c_int = -60;
pub const ENOGRP: c_int = -125;
pub const ENOFILTER: c_int = -136;
pub const ENCZARR: c_int = -137;

/// `NC_GLOBAL`.
pub const GLOBAL: c_int = -1;

/// Makes a dataset of NCZarr in v3 in a folder.
///
/// ```text
/// dimensions: time = UNLIMITED (3), x = 4;  group g: station = 2, /time
/// variables:  float t(time, x), short packed(x), string name(x), char code(x), double scalar, int64 late(time)
///             g: int g/n(station, time)
/// ```
pub fn make(folder: &Path) {
    let store = zarr::stores::FilesystemStore::new(folder);
    let store = zarr::store::from_sync(store);
    let options = DatasetOptions::new(zarr::standard());
    let dataset = Dataset::create(store, &NewDataset::nczarr_v3(), &options).unwrap();
    let root = dataset.root();
    root.set_attribute("title", "a title").unwrap();
    root.set_attribute("café", vec![7u8]).unwrap();
    root.set_attribute("levels", vec![1.5f64, 300.0]).unwrap();
    root.set_attribute("words", vec!["one".to_owned(), "two".to_owned()]).unwrap();
    root.define_dimension(Dimension::unlimited("time")).unwrap();
    root.define_dimension(Dimension::new("x", 4)).unwrap();
    let mut variable = Variable::new("t", Type::Float, ["/time", "/x"]);
    variable.storage.chunks = vec![2, 4];
    variable.storage.filters = vec![Filter::Shuffle, Filter::Deflate { level: 4 }];
    let t = root.define_variable(&variable).unwrap();
    t.set_attribute("units", "K").unwrap();
    t.append((0..12).map(|n| n as f32 + 0.5).collect::<Vec<f32>>()).unwrap();
    let mut packed = Variable::new("packed", Type::Short, ["/x"]);
    packed.storage.default_filters = false;
    let packed = root.define_variable(&packed).unwrap();
    packed.write_slab(&Slab::all(&[4]), vec![-300i16, -1, 1, 300]).unwrap();
    let name = root.define_variable(&Variable::new("name", Type::String, ["/x"])).unwrap();
    let words = ["north", "", "Zürich", "s\0cut"].map(str::to_owned).to_vec();
    name.write_slab(&Slab::all(&[4]), words).unwrap();
    let code = root.define_variable(&Variable::new("code", Type::Char, ["/x"])).unwrap();
    let text = zarr::nczarr::Values::text("abcd");
    code.write_slab(&Slab::all(&[4]), text).unwrap();
    let scalar = root.define_variable(&Variable::new("scalar", Type::Double, [""; 0])).unwrap();
    scalar.write_slab(&Slab::all(&[]), vec![2.5f64]).unwrap();
    let late = root.define_variable(&Variable::new("late", Type::Int64, ["/time"])).unwrap();
    late.write_slab(&Slab::new([0], [1]), vec![10i64]).unwrap();
    let group = root.create_group("g").unwrap();
    group.define_dimension(Dimension::new("station", 2)).unwrap();
    let n = Variable::new("n", Type::Int, ["/g/station", "/time"]);
    group.define_variable(&n).unwrap();
}

/// An open file, which is closed when it is dropped.
pub struct Open {
    pub id: c_int,
}

impl Drop for Open {
    fn drop(&mut self) {
        (table().close)(self.id, Unused::new(std::ptr::null()));
    }
}

pub fn table() -> &'static Table {
    // SAFETY: the table is a static.
    unsafe { &*zarr_netcdf_udf2() }
}

/// The number of a file that no other test uses.
pub fn new_id() -> c_int {
    static NEXT: AtomicI32 = AtomicI32::new(1);
    NEXT.fetch_add(1, Ordering::Relaxed) << 16
}

fn model() -> Model {
    // SAFETY: the table is valid.
    unsafe { Model::new(std::ptr::from_ref(table()).cast()) }
}

/// Creates a file in a mode.
pub fn try_create(path: &str, mode: c_int) -> Result<Open, c_int> {
    let id = new_id();
    let none = Unused::new(std::ptr::null());
    let status = with_text(Some(path), |path| {
        (table().create)(path, mode, 0, 0, null_out(), none, model(), id)
    });
    if status == 0 { Ok(Open { id }) } else { Err(status) }
}

/// Opens a path in a mode.
pub fn try_open(path: &str, mode: c_int) -> Result<Open, c_int> {
    let (id, path) = (new_id(), CString::new(path).unwrap());
    let none = Unused::new(std::ptr::null());
    // SAFETY: the text is valid during the call.
    let (path, model) = (unsafe { Text::new(path.as_ptr()) }, model());
    match (table().open)(path, mode, 0, null_out(), none, model, id) {
        0 => Ok(Open { id }),
        code => Err(code),
    }
}

/// Opens a dataset in a folder for reading.
pub fn open(folder: &Path) -> Open {
    let document = folder.join("zarr.json");
    try_open(document.to_str().unwrap(), 0).unwrap()
}

/// A dataset of [`make`], open, and its folder.
pub fn example() -> (tempfile::TempDir, Open) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("example.zarr");
    make(&path);
    let open = open(&path);
    (folder, open)
}

pub fn out<T: Copy>(place: &mut T) -> Out<T> {
    // SAFETY: the place outlives the call that the pointer is for.
    unsafe { Out::new(place) }
}

pub fn out_list<T: Copy>(places: &mut [T]) -> Out<T> {
    // SAFETY: the tests have room for all that is written.
    unsafe { Out::new(places.as_mut_ptr()) }
}

pub fn null_out<T: Copy>() -> Out<T> {
    // SAFETY: null is allowed.
    unsafe { Out::new(std::ptr::null_mut()) }
}

pub fn null_name() -> NameOut {
    // SAFETY: null is allowed.
    unsafe { NameOut::new(std::ptr::null_mut()) }
}

/// Calls `call` with a text, of which no text is a null pointer.
pub fn with_text<T>(text: Option<&str>, call: impl FnOnce(Text) -> T) -> T {
    let text = text.map(|text| CString::new(text).unwrap());
    // SAFETY: the text outlives the call.
    call(unsafe { Text::new(text.as_ref().map_or(std::ptr::null(), |text| text.as_ptr())) })
}

/// Calls `call` with memory for a name; gives its status and the name.
pub fn name_of(call: impl FnOnce(NameOut) -> c_int) -> Result<String, c_int> {
    let mut memory = [0x55 as c_char; 257];
    // SAFETY: the memory is as large as netCDF's.
    match call(unsafe { NameOut::new(memory.as_mut_ptr()) }) {
        // SAFETY: a name with a zero behind it was written.
        0 => Ok(unsafe { CStr::from_ptr(memory.as_ptr()) }.to_str().unwrap().to_owned()),
        code => Err(code),
    }
}

pub fn data<T>(memory: &mut [T]) -> Data {
    // SAFETY: the tests have room for all that is written.
    unsafe { Data::new(memory.as_mut_ptr().cast::<c_void>()) }
}

pub fn null_data() -> Data {
    // SAFETY: null is allowed.
    unsafe { Data::new(std::ptr::null_mut()) }
}

/// What a call writes.
pub fn input<T>(values: &[T]) -> Input {
    // SAFETY: the tests have as many values as the calls read, and keep them during the calls.
    unsafe { Input::new(values.as_ptr().cast::<c_void>()) }
}

pub fn null_input() -> Input {
    // SAFETY: null is allowed.
    unsafe { Input::new(std::ptr::null()) }
}

pub fn list<T: Copy>(values: &[T]) -> List<T> {
    // SAFETY: the tests tell the calls how many there are.
    unsafe { List::new(values.as_ptr()) }
}

pub fn lengths(lens: &[usize]) -> Lengths {
    // SAFETY: the tests give as many numbers as dimensions.
    unsafe { Lengths::new(lens.as_ptr()) }
}

pub fn null_lengths() -> Lengths {
    // SAFETY: null is allowed.
    unsafe { Lengths::new(std::ptr::null()) }
}

pub fn strides(steps: &[isize]) -> Strides {
    // SAFETY: the tests give as many numbers as dimensions.
    unsafe { Strides::new(steps.as_ptr()) }
}

pub fn null_strides() -> Strides {
    // SAFETY: null is allowed.
    unsafe { Strides::new(std::ptr::null()) }
}

/// The number of a variable.
pub fn variable(ncid: c_int, name: &str) -> c_int {
    let mut id = -7;
    let status = with_text(Some(name), |name| (table().inq_varid)(ncid, name, out(&mut id)));
    assert_eq!(status, 0, "{name}");
    id
}

/// The number of the group of this name in another one.
pub fn group(ncid: c_int, name: &str) -> c_int {
    let mut id = 0;
    let status = with_text(Some(name), |name| (table().inq_ncid)(ncid, name, out(&mut id)));
    assert_eq!(status, 0, "{name}");
    id
}

/// The elements of a variable in memory of netCDF's type `ty`, whose Rust type is `T`.
pub fn get<T: Copy + Default>(
    ncid: c_int,
    name: &str,
    start: &[usize],
    count: &[usize],
    ty: c_int,
) -> Result<Vec<T>, c_int> {
    let mut memory = vec![T::default(); count.iter().product()];
    let id = variable(ncid, name);
    let (start, count) = (lengths(start), lengths(count));
    match (table().get_vara)(ncid, id, start, count, data(&mut memory), ty) {
        0 => Ok(memory),
        code => Err(code),
    }
}

/// Writes elements of a variable out of memory of netCDF's type `ty`, whose Rust type is `T`.
pub fn put<T>(
    ncid: c_int,
    name: &str,
    start: &[usize],
    count: &[usize],
    memory: &[T],
    ty: c_int,
) -> c_int {
    let id = variable(ncid, name);
    (table().put_vara)(ncid, id, lengths(start), lengths(count), input(memory), ty)
}

/// Declares a dimension; 0 is the length of one that grows.
pub fn define_dimension(ncid: c_int, name: &str, len: usize) -> c_int {
    let mut id = -7;
    let status = with_text(Some(name), |name| (table().def_dim)(ncid, name, len, out(&mut id)));
    assert_eq!(status, 0, "{name}");
    id
}

/// Defines a variable of netCDF's type `ty`; its number, or the code.
pub fn define_variable(ncid: c_int, name: &str, ty: c_int, dimensions: &[c_int]) -> c_int {
    let (mut id, rank) = (-7, dimensions.len() as c_int);
    let status = with_text(Some(name), |name| {
        (table().def_var)(ncid, name, ty, rank, list(dimensions), out(&mut id))
    });
    if status == 0 { id } else { status }
}

/// Sets an attribute of netCDF's type `ty` out of memory of the same type.
pub fn put_attribute<T>(
    ncid: c_int,
    variable: c_int,
    name: &str,
    ty: c_int,
    values: &[T],
) -> c_int {
    with_text(Some(name), |name| {
        (table().put_att)(ncid, variable, name, ty, values.len(), input(values), ty)
    })
}

/// A generator of numbers that are the same in every run.
pub struct Numbers(pub u64);

impl Numbers {
    pub fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    /// A number that is often valid and often at an edge.
    pub fn int(&mut self) -> i32 {
        const EDGES: [i32; 10] = [0, 1, 2, 3, 5, 12, 32, -1, i32::MIN, i32::MAX];
        EDGES[(self.next() % EDGES.len() as u64) as usize]
    }

    pub fn len(&mut self) -> usize {
        const EDGES: [usize; 7] = [0, 1, 2, 3, 4, usize::MAX, usize::MAX / 2];
        EDGES[(self.next() % EDGES.len() as u64) as usize]
    }
}
