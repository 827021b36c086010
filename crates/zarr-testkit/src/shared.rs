//! Makes test data, and runs calls that must not panic, for the checks of codecs, data types and grids.

use std::any::Any;
use std::fmt::{Arguments, Display};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use zarr_core::data_type::{DataType, Origin, Repr, Scalar};
use zarr_core::{Dialect, Json};

pub(super) const DIALECTS: [Dialect; 3] = [Dialect::V3, Dialect::V2, Dialect::Draft];

/// The longest that a call may take whose time must not depend on the length of an axis.
const CALL_TIMEOUT: Duration = Duration::from_secs(if cfg!(test) { 2 } else { 30 });

/// The result of `call`. A panic in it is a broken promise, reported with `what`.
#[track_caller]
pub(super) fn calm<T>(what: Arguments<'_>, call: impl FnOnce() -> T) -> T {
    catch_unwind(AssertUnwindSafe(call))
        .unwrap_or_else(|panic| panic!("{what} must not panic, but: {}", said(&*panic)))
}

/// As [`calm`], for a call that must also end within [`CALL_TIMEOUT`].
#[track_caller]
pub(super) fn in_time<T: Send + 'static>(
    what: Arguments<'_>,
    call: impl FnOnce() -> T + Send + 'static,
) -> T {
    let (send, receive) = mpsc::channel();
    thread::spawn(move || send.send(catch_unwind(AssertUnwindSafe(call))));
    match receive.recv_timeout(CALL_TIMEOUT) {
        Ok(Ok(value)) => value,
        Ok(Err(panic)) => panic!("{what} must not panic, but: {}", said(&*panic)),
        Err(_) => panic!("{what} must not go on for {} s", CALL_TIMEOUT.as_secs()),
    }
}

/// The message of a panic.
fn said(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().cloned();
    text.or_else(|| panic.downcast_ref::<&str>().map(ToString::to_string)).unwrap_or_default()
}

/// The message of a check that fails; `None` if it passes.
#[cfg(test)]
pub(super) fn verdict(check: impl FnOnce()) -> Option<String> {
    catch_unwind(AssertUnwindSafe(check)).err().map(|panic| said(&*panic))
}

/// The value of a call that must not fail.
#[track_caller]
pub(super) fn good<T, E: Display>(result: Result<T, E>, what: Arguments<'_>) -> T {
    result.unwrap_or_else(|e| panic!("{what} must not fail, but: {e}"))
}

/// Pseudorandom numbers, the same every time.
pub(super) struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Self {
        Random(seed ^ 0x9E37_79B9_7F4A_7C15)
    }

    pub fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    /// A number below `end`; 0 if that is 0.
    pub fn below(&mut self, end: u64) -> u64 {
        (self.next() >> 11) % end.max(1)
    }

    pub fn bytes(&mut self, len: usize) -> Vec<u8> {
        (0..len).map(|_| (self.next() >> 32) as u8).collect()
    }
}

/// About `most` of the numbers below `end`: the first and last ones, and some between.
pub(super) fn spread(end: usize, most: usize) -> Vec<usize> {
    let step = end.div_ceil(most.max(1)).max(1);
    let edges = (0..end.min(4)).chain(end.saturating_sub(4)..end);
    let mut numbers: Vec<usize> = edges.chain((0..end).step_by(step)).collect();
    numbers.sort_unstable();
    numbers.dedup();
    numbers
}

/// `len` bytes of several kinds, zeros first.
pub(super) fn contents(len: usize) -> Vec<Vec<u8>> {
    let ramp = (0..len.div_ceil(4) as u32).flat_map(|i| (1000 + i / 3).to_le_bytes()).take(len);
    let words = b"to be or not to be, that is the question; ".iter().copied().cycle().take(len);
    vec![
        vec![0; len],
        vec![0xff; len],
        ramp.collect(),
        words.collect(),
        Random::new(len as u64).bytes(len),
    ]
}

/// `count` native elements of a type, of several kinds, zeros first.
pub(super) fn elements(data_type: &DataType, count: usize) -> Vec<Vec<u8>> {
    let Some(repr) = data_type.repr() else { return Vec::new() };
    let contents = contents(count * repr.size()).into_iter().filter_map(|mut bytes| {
        bend(data_type, &mut bytes);
        let zeros = bytes.iter().all(|&byte| byte == 0);
        (data_type.check(&mut bytes, Origin::Store).is_ok() || zeros).then_some(bytes)
    });
    contents.collect()
}

/// Changes bytes into valid elements of the type.
fn bend(data_type: &DataType, bytes: &mut [u8]) {
    match (data_type, data_type.repr()) {
        (DataType::Optional(optional), _) => {
            for element in bytes.chunks_exact_mut(optional.size()) {
                element[0] &= 1;
                bend(optional.inner(), &mut element[1..]);
            }
        }
        (_, Some(Repr::Scalar(Scalar::Bool))) => bytes.iter_mut().for_each(|byte| *byte &= 1),
        (_, Some(Repr::Utf32(_))) => {
            let (units, _) = bytes.as_chunks_mut::<4>();
            units.iter_mut().for_each(|unit| {
                *unit = (u32::from_ne_bytes(*unit) % 0xD800).to_ne_bytes();
            });
        }
        _ => {}
    }
}

/// `count` variable-length elements, of several kinds, empty ones first.
pub(super) fn long_elements(data_type: &DataType, count: usize) -> Vec<Vec<Vec<u8>>> {
    let texts = ["", "a", "é日本", "to be or not to be", "\0", " "].map(Vec::from);
    let values = ["1", "null", "[1,2.5]", "{\"a\":\"é\"}", "\"x\""].map(Vec::from);
    let whole = [0, 48, 16, 96, 32].map(|len| Random::new(len).bytes(len as usize));
    let odd = [1, 0, 200, 7, 2].map(|len| Random::new(len).bytes(len as usize));
    let kinds = [vec![Vec::new()], texts.into(), values.into(), whole.into(), odd.into()];
    let kinds = kinds.into_iter().map(|kind| {
        let elements = kind.into_iter();
        elements.filter(|element| data_type.check_element(element).is_ok()).collect::<Vec<_>>()
    });
    kinds
        .filter(|kind| !kind.is_empty())
        .map(|kind| kind.into_iter().cycle().take(count).collect())
        .collect()
}

/// Variable-length elements one after the other, each after its length.
pub(super) fn stream<T: AsRef<[u8]>>(elements: impl IntoIterator<Item = T>) -> Vec<u8> {
    let mut stream = Vec::new();
    for element in elements {
        let element = element.as_ref();
        stream.extend_from_slice(&(element.len() as u32).to_le_bytes());
        stream.extend_from_slice(element);
    }
    stream
}

/// JSON that is hardly ever valid metadata.
pub(super) fn junk() -> Vec<Json> {
    let mut junk: Vec<Json> = [
        "null",
        "true",
        "0",
        "-1",
        "1e400",
        "-1e-400",
        "0.1",
        "[]",
        "{}",
        "\"\"",
        "\" \"",
        "\"NaN\"",
        "\"0x\"",
        "\"0b2\"",
        "\"\\u0000\"",
        "\"é\"",
        "\"====\"",
        "[null,null]",
        "[[],[]]",
        "{\"\":{}}",
    ]
    .map(|text| Json::parse(text.as_bytes()).expect("the kit's words are JSON"))
    .into();
    junk.push(Json::Number("9".repeat(400).into()));
    junk.push(Json::from(u64::MAX));
    junk.push(Json::from("0x".to_owned() + &"f".repeat(4000)));
    junk.push(deep_lists("[", "]"));
    junk.push(deep_lists("{\"a\":", "}"));
    junk
}

/// A number in many lists or objects, each in another.
fn deep_lists(open: &str, close: &str) -> Json {
    let text = format!("{}1{}", open.repeat(120), close.repeat(120));
    Json::parse(text.as_bytes()).expect("it nests less deeply than a document may")
}
