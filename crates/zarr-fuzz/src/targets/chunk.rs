//! Encoded chunks: decoding them ends in elements or an error. If a chunk is decoded, its parts are what the whole has, a part
//! that is written changes nothing else, and its elements are the same after they were encoded anew.

use std::cell::RefCell;
use std::collections::BTreeMap;

use zarr::store::StoreKey;
use zarr::{Array, Region, Selection, steps};

use super::codecs::{CODECS, Case, SHARDS};
use super::documents;
use crate::driver::noted;
use crate::input::Choices;

/// One chunk of the codec that the first byte selects; with its highest bit set the rest are elements to be encoded.
pub fn codec(data: &[u8]) {
    of(CODECS, data);
}

/// One shard, of the kind that the first byte selects.
pub fn shard(data: &[u8]) {
    of(SHARDS, data);
}

/// One chunk of a chain of codecs: a line with the codecs as final v3 has them, one with the data type, and the chunk.
pub fn chain(data: &[u8]) {
    let mut choices = Choices(data);
    let (codecs, data_type) = (choices.line(), choices.line());
    let fill = match data_type {
        r#""string""# | r#""variable_length_bytes""# => r#""""#,
        r#""bool""# => "false",
        _ => "0",
    };
    let document = Case::v3(codecs, data_type, fill, "[4,6]").document();
    let Some(array) = noted(documents::array("zarr.json", &document)) else { return };
    look_at(&array, "c/0/0", choices.0, false);
}

thread_local! {
    static ARRAYS: RefCell<BTreeMap<&'static str, Array>> = const { RefCell::new(BTreeMap::new()) };
}

/// The array of a case, which is opened once.
fn array(case: &'static Case) -> Array {
    ARRAYS.with(|known| {
        let mut known = known.borrow_mut();
        let array = known.entry(case.codecs).or_insert_with(|| {
            let opened = documents::array(case.key(), &case.document());
            opened.unwrap_or_else(|error| panic!("{}: {error}", case.codecs))
        });
        array.clone()
    })
}

fn of(cases: &'static [Case], data: &[u8]) {
    let Some((&first, rest)) = data.split_first() else { return };
    let case = &cases[usize::from(first & 127) % cases.len()];
    let array = array(case);
    if first & 128 == 0 {
        look_at(&array, case.chunk(), rest, case.exact);
        return;
    }
    // Elements, repeated until they fill the chunk.
    let size = array.read_le_bytes(..).map(|bytes| bytes.len()).unwrap_or_default();
    if rest.is_empty() || array.data_type().is_variable() {
        return;
    }
    let elements: Vec<u8> = rest.iter().copied().cycle().take(size).collect();
    if array.write_le_bytes(.., &elements).is_ok() && case.exact {
        let read = array.read_le_bytes(..).expect("what was encoded is decoded");
        assert_eq!(read, elements, "{}", case.codecs);
    }
}

/// Reads a stored chunk as a whole and in parts, and writes a part of it.
fn look_at(array: &Array, chunk: &str, stored: &[u8], exact: bool) {
    let key = StoreKey::new(chunk).expect("a good key");
    let store = array.hierarchy().store().to_sync();
    let set = |value: &[u8]| store.set(&key, value.to_vec().into()).expect("memory takes it");
    set(stored);
    let whole = array.read_le_bytes(..);
    let shape = array.shape();
    for region in parts(&shape) {
        let part = array.read_le_bytes(&region);
        if let (Ok(whole), Ok(size)) = (&whole, usize::try_from(array.len()))
            && !array.data_type().is_variable()
        {
            let cut = cut(whole, &shape, &region, whole.len() / size.max(1));
            let part = part.unwrap_or_else(|e| panic!("the whole is read, not {region:?}: {e}"));
            assert_eq!(part, cut, "{region:?}");
        }
    }
    let backwards = Selection::outer(shape.iter().map(|_| steps(.., -1)));
    let _ = array.read_le_bytes(backwards);
    let Some(whole) = noted(whole) else { return };
    if array.data_type().is_variable() {
        if exact && array.write_le_bytes(.., &whole).is_ok() {
            assert_eq!(array.read_le_bytes(..).expect("it was encoded"), whole);
        }
        return;
    }
    // A part is laid into the stored chunk as it is.
    let Some(region) = parts(&shape).pop() else { return };
    let size = whole.len() / usize::try_from(array.len()).unwrap_or(usize::MAX).max(1);
    let part = cut(&whole, &shape, &region, size);
    if array.write_le_bytes(&region, &part).is_ok() {
        let again = array.read_le_bytes(..).expect("it was read before");
        if exact {
            assert_eq!(again, whole, "after {region:?} was written as it was");
        }
    }
    if array.write_le_bytes(.., &whole).is_ok() {
        let again = array.read_le_bytes(..).expect("what was encoded is decoded");
        if exact {
            assert_eq!(again, whole, "after it was encoded anew");
        }
    }
}

/// Some boxes in an array of this shape.
fn parts(shape: &[u64]) -> Vec<Region> {
    let of =
        |part: fn(u64) -> std::ops::Range<u64>| Region::new(shape.iter().map(|&len| part(len)));
    vec![
        of(|len| 0..len.min(1)),
        of(|len| len.saturating_sub(1)..len),
        of(|len| len / 3..len - len / 4),
    ]
}

/// The elements of `region`, of `size` bytes each, out of all in C order.
fn cut(whole: &[u8], shape: &[u64], region: &Region, size: usize) -> Vec<u8> {
    let mut offsets = vec![0u64];
    for (axis, &len) in shape.iter().enumerate() {
        let range = &region.intervals()[axis];
        offsets = offsets.iter().flat_map(|at| range.clone().map(move |n| at * len + n)).collect();
    }
    let elements = offsets.iter().flat_map(|offset| {
        let start = usize::try_from(*offset).expect("it is in memory") * size;
        whole[start..start + size].iter().copied()
    });
    elements.collect()
}

/// An input for every kind: a chunk as this library encodes it.
pub fn seeds(cases: &'static [Case]) -> Vec<Vec<u8>> {
    let mut seeds = Vec::new();
    for (number, case) in cases.iter().enumerate() {
        let array = array(case);
        let number = u8::try_from(number).expect("few cases");
        let key = StoreKey::new(case.chunk()).expect("a good key");
        let bytes = array.read_le_bytes(..).map(|bytes| bytes.len()).unwrap_or_default();
        let elements: Vec<u8> = (0..bytes).map(|n| (n / 3 % 7) as u8).collect();
        let wrote = match array.data_type().to_string().as_str() {
            "string" => array.write(.., &vec!["é".to_owned(); array.len() as usize]),
            _ if array.data_type().is_variable() => {
                array.write_le_bytes(.., &[3, 0, 0, 0, 1, 2, 3].repeat(array.len() as usize))
            }
            "bool" => array.write_le_bytes(.., &elements.iter().map(|n| n & 1).collect::<Vec<_>>()),
            _ => array.write_le_bytes(.., &elements),
        };
        if wrote.is_ok()
            && let Ok(Some(value)) = array.hierarchy().store().to_sync().value(&key)
        {
            seeds.push([&[number], &value[..]].concat());
        }
        seeds.push([&[number | 128][..], &elements].concat());
    }
    seeds
}
