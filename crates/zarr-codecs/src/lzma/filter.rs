//! Reads and writes the filters of an LZMA stream as Python's `lzma` module names them.

use std::ops::RangeInclusive;

use liblzma::stream::{Error, Filters, LzmaOptions, MatchFinder, Mode, PRESET_EXTREME};
use zarr_core::{Json, Object};

const LZMA1: i64 = 0x4000_0000_0000_0001;
const LZMA2: i64 = 0x21;
const DELTA: i64 = 0x03;

/// log2 of the dictionary's size of each preset.
const DICTIONARIES: [u32; 10] = [18, 20, 21, 22, 22, 23, 23, 24, 25, 26];

/// One filter of a chain.
#[derive(Clone, Debug)]
pub(super) enum Filter {
    /// LZMA1, or LZMA2 if `second`.
    Lzma { second: bool, options: Options },
    /// Differences of bytes so far apart.
    Delta { distance: u32 },
    /// A filter for machine code that begins at this offset.
    Branch { id: i64, start: u32 },
}

/// A preset, and what differs from it.
#[derive(Clone, Debug)]
pub(super) struct Options {
    preset: u32,
    dictionary: u32,
    given: Vec<(Set, u32)>,
}

/// Sets an option of liblzma to a number.
type Set = fn(&mut LzmaOptions, u32) -> &mut LzmaOptions;

/// The options beside the dictionary's size, with their ranges.
const OPTIONS: [(&str, RangeInclusive<i64>, Set); 7] = [
    ("lc", 0..=4, LzmaOptions::literal_context_bits),
    ("lp", 0..=4, LzmaOptions::literal_position_bits),
    ("pb", 0..=4, LzmaOptions::position_bits),
    ("mode", 1..=2, |out, n| out.mode(if n == 1 { Mode::Fast } else { Mode::Normal })),
    ("nice_len", 2..=273, LzmaOptions::nice_len),
    ("mf", 0..=0x14, |out, n| match match_finder(n) {
        Some(finder) => out.match_finder(finder),
        None => out,
    }),
    ("depth", 0..=u32::MAX as i64, LzmaOptions::depth),
];

fn match_finder(number: u32) -> Option<MatchFinder> {
    match number {
        0x03 => Some(MatchFinder::HashChain3),
        0x04 => Some(MatchFinder::HashChain4),
        0x12 => Some(MatchFinder::BinaryTree2),
        0x13 => Some(MatchFinder::BinaryTree3),
        0x14 => Some(MatchFinder::BinaryTree4),
        _ => None,
    }
}

/// Whether `preset` is 0 to 9, perhaps with Python's `PRESET_EXTREME`.
pub(super) fn is_preset(preset: u32) -> bool {
    preset & !PRESET_EXTREME <= 9
}

impl Options {
    /// The preset as it is.
    pub(super) fn of_preset(preset: u32) -> Options {
        let dictionary = 1 << DICTIONARIES[(preset & !PRESET_EXTREME).min(9) as usize];
        Options { preset, dictionary, given: Vec::new() }
    }

    fn read(parameters: &FilterParameters<'_>) -> Result<Options, String> {
        let preset = parameters.get("preset", 0..=u32::MAX.into())?.unwrap_or(6);
        if !is_preset(preset) {
            return Err(format!("invalid `preset` {preset}"));
        }
        let mut options = Options::of_preset(preset);
        if let Some(size) = parameters.get("dict_size", 4096..=3 << 29)? {
            options.dictionary = size;
        }
        for (name, range, set) in OPTIONS {
            let Some(number) = parameters.get(name, range)? else { continue };
            if name == "mf" && match_finder(number).is_none() {
                return Err(format!("`mf`: {number} is not a match finder"));
            }
            options.given.push((set, number));
        }
        Ok(options)
    }

    /// As liblzma takes them, with a dictionary no larger than `most` bytes need.
    pub(super) fn to_liblzma(&self, most: u64) -> Result<LzmaOptions, Error> {
        let mut out = LzmaOptions::new_preset(self.preset)?;
        out.dict_size(u64::from(self.dictionary).min(most.max(4096)) as u32);
        for (set, number) in &self.given {
            set(&mut out, *number);
        }
        Ok(out)
    }
}

/// The members of one filter.
struct FilterParameters<'a>(&'a Object);

impl FilterParameters<'_> {
    fn get(&self, name: &str, range: RangeInclusive<i64>) -> Result<Option<u32>, String> {
        match self.0.get(name) {
            None | Some(Json::Null) => Ok(None),
            Some(json) => match json.as_i64().filter(|n| range.contains(n)) {
                Some(n) => Ok(Some(n as u32)),
                None => Err(format!(
                    "invalid `{name}` {}: expected {} to {}",
                    json.brief(),
                    range.start(),
                    range.end()
                )),
            },
        }
    }
}

impl Filter {
    /// A filter from its words.
    pub(super) fn read(json: &Json) -> Result<Filter, String> {
        let object = json.as_object().ok_or("each is an object")?;
        let id = object.get("id").and_then(Json::as_i64);
        let id = id.ok_or("each has a number as its `id`")?;
        let parameters = FilterParameters(object);
        let start = 0..=u32::MAX.into();
        match id {
            LZMA1 | LZMA2 => {
                Ok(Filter::Lzma { second: id == LZMA2, options: Options::read(&parameters)? })
            }
            DELTA => Ok(Filter::Delta { distance: parameters.get("dist", 1..=256)?.unwrap_or(1) }),
            4..=9 => Ok(Filter::Branch {
                id,
                start: parameters.get("start_offset", start)?.unwrap_or(0),
            }),
            _ => Err(format!("`id`: {id} is not a filter that is known here")),
        }
    }
}

/// The chain as liblzma takes it, with dictionaries no larger than `most` bytes need.
pub(super) fn chain(filters: &[Filter], most: u64) -> Result<Filters, Error> {
    let mut out = Filters::new();
    for filter in filters {
        match filter {
            Filter::Lzma { second, options } => {
                let options = options.to_liblzma(most)?;
                if *second {
                    out.lzma2(&options)
                } else {
                    out.lzma1(&options)
                };
            }
            Filter::Delta { distance } => {
                out.delta_properties(&[(distance - 1) as u8])?;
            }
            Filter::Branch { id, start } => {
                let start = start.to_le_bytes();
                match id {
                    4 => out.x86_properties(&start),
                    5 => out.powerpc_properties(&start),
                    6 => out.ia64_properties(&start),
                    7 => out.arm_properties(&start),
                    8 => out.arm_thumb_properties(&start),
                    _ => out.sparc_properties(&start),
                }?;
            }
        }
    }
    Ok(out)
}
