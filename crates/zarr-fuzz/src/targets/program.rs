//! What the program reads from standard input, and its regions.

use std::cell::RefCell;

use zarr::Array;
use zarr_cli::fuzzing::{get, put};

use super::codecs::Case;
use super::documents;
use crate::driver::{note, noted};
use crate::input::Choices;

/// Types of elements, with their fill values.
const TYPES: &[(&str, &str)] = &[
    (r#""int16""#, "0"),
    (r#""float64""#, "0"),
    (r#""bool""#, "false"),
    (r#""complex64""#, "[0,0]"),
    (r#""string""#, r#""""#),
    (r#""variable_length_bytes""#, r#""""#),
    (r#"{"name":"fixed_length_utf32","configuration":{"length_bytes":8}}"#, r#""""#),
    (r#"{"name":"numpy.datetime64","configuration":{"unit":"s","scale_factor":1}}"#, r#""NaT""#),
    (r#"{"name":"numpy.timedelta64","configuration":{"unit":"ms","scale_factor":10}}"#, "0"),
    (
        r#"{"name":"struct","configuration":{"fields":[{"name":"a","data_type":"float32"},{"name":"b","data_type":"int8"}]}}"#,
        r#"{"a":0,"b":0}"#,
    ),
    (r#"{"name":"zarrs.optional","configuration":{"name":"int16","configuration":{}}}"#, "null"),
    (r#""uint64""#, "0"),
];
const FORMATS: [&str; 4] = ["json", "csv", "npy", "raw"];

thread_local! {
    static ARRAYS: RefCell<Vec<Array>> = const { RefCell::new(Vec::new()) };
}

fn array(number: usize) -> Array {
    ARRAYS.with(|known| {
        let mut known = known.borrow_mut();
        if known.is_empty() {
            known.extend(TYPES.iter().map(|(data_type, fill)| {
                let codecs = match *data_type {
                    r#""string""# => r#"["vlen-utf8"]"#,
                    r#""variable_length_bytes""# => r#"["vlen-bytes"]"#,
                    of if of.contains("optional") => {
                        r#"[{"name":"zarrs.optional","configuration":{"mask_codecs":["packbits"],"data_codecs":[{"name":"bytes","configuration":{"endian":"little"}}]}}]"#
                    }
                    _ => r#"[{"name":"bytes","configuration":{"endian":"little"}}]"#,
                };
                let document = Case::v3(codecs, data_type, fill, "[3,2]").document();
                let opened = documents::array("zarr.json", &document);
                opened.unwrap_or_else(|error| panic!("{data_type}: {error}"))
            }));
        }
        known[number].clone()
    })
}

/// Elements for `zarr put`: a byte for the type, one for the format, a line with the region, and the input. What is then written
/// by `zarr get` is taken, and gives the same elements.
pub fn elements(data: &[u8]) {
    let mut choices = Choices(data);
    let array = array(choices.below(TYPES.len() as u64) as usize);
    let format = *choices.pick(&FORMATS);
    let region = Some(choices.line()).filter(|line| !line.is_empty());
    if let Err(why) = put(&array, region, format, choices.0) {
        assert!(!why.is_empty());
        note(why);
        return;
    }
    let Ok(held) = array.read_le_bytes(..) else { return };
    for format in FORMATS {
        // The format before may have changed the bits of a NaN.
        array.write_le_bytes(.., &held).expect("it was read before");
        let Ok(written) = get(&array, None, format) else { continue };
        let shown = String::from_utf8_lossy(&written);
        put(&array, None, format, &written)
            .unwrap_or_else(|why| panic!("{format} is written and not taken: {why}\n{shown}"));
        let again = array.read_le_bytes(..).expect("it was read before");
        let is_float = array.data_type().to_string().contains("float")
            || array.data_type().to_string().contains("complex");
        // The text of a NaN says nothing of its bits.
        if !(is_float && shown.to_lowercase().contains("nan")) {
            assert_eq!(again, held, "{format}: {shown}");
        }
    }
}

/// A text for `--region`.
pub fn region(data: &[u8]) {
    thread_local! {
        static ONE: RefCell<Option<Array>> = const { RefCell::new(None) };
    }
    let array = ONE.with(|one| {
        let mut one = one.borrow_mut();
        let array = one.get_or_insert_with(|| {
            let document = Case::v3(r#"["bytes"]"#, r#""uint8""#, "0", "[5,7]").document();
            let array = documents::array("zarr.json", &document).expect("it opens");
            let numbers: Vec<u8> = (0..35).collect();
            array.write(.., &numbers).expect("memory takes it");
            array
        });
        array.clone()
    });
    let Ok(text) = std::str::from_utf8(data) else { return };
    let Some(found) = noted(get(&array, Some(text), "raw")) else { return };
    assert!(found.iter().all(|&n| n < 35), "{text}: {found:?}");
    let json = get(&array, Some(text), "json").expect("what is raw is JSON, too");
    let numbers = json.split(|byte| !byte.is_ascii_digit()).filter(|digits| !digits.is_empty());
    let numbers = numbers.map(|digits| std::str::from_utf8(digits).expect("digits").parse::<u8>());
    assert_eq!(numbers.collect::<Result<Vec<_>, _>>().expect("numbers"), found, "{text}");
}
