//! Checks that a data type keeps what [`ExtensionType`](zarr_core::data_type::ExtensionType) and the dialects promise.

mod array;
mod fill;
mod long;

use super::shared::{DIALECTS, calm, elements, good, junk};
use zarr_core::data_type::{CoreType, DataType, Endian, Origin, ParsedType};
use zarr_core::{Dialect, Json, Object, Registry};

/// The largest element that is handled, in bytes.
const LARGEST: usize = 1 << 24;

/// Checks every promise of the data type that `words` name in a dialect, with fill values in the same
/// dialect's words: it is read and spelled in each dialect that it claims, byte order included; elements
/// have a sane size; its name tells it from other types; fill values are exact there and back; junk is
/// refused without a panic; arrays of it, elements of any length by their own codec, are written and read in each dialect, and open where it is not
/// known: in the drafts as its fallback, if it names one. The core's own words keep their meaning.
///
/// # Panics
/// At the first broken promise, naming it.
pub fn check_data_type(registry: &Registry, dialect: Dialect, words: &Json, fill_values: &[Json]) {
    let parsed = parse(registry, dialect, words);
    let parsed = good(parsed, format_args!("{words}: parsing it in {dialect}"));
    let data_type = parsed.data_type;
    let known = !matches!(data_type, DataType::Unknown { .. });
    assert!(known, "{words}: it is known in {dialect}");
    let subject = Subject { registry, name: format!("{words} of {dialect}"), data_type };
    subject.repr();
    subject.names();
    subject.spellings(dialect);
    subject.damaged_words();
    let fills = fill::check(&subject, dialect, fill_values);
    subject.elements();
    if subject.data_type.is_variable() {
        long::check(&subject, &fills)
    } else {
        array::check(&subject, &fills)
    }
}

/// Checks that the data types of these words, all of one dialect, are told apart: by equality, by name and
/// in every dialect that has words for both. The words are to mean types that differ.
///
/// # Panics
/// At the first broken promise, naming it.
pub fn check_data_types_differ(registry: &Registry, dialect: Dialect, words: &[Json]) {
    let types: Vec<DataType> = words
        .iter()
        .map(|words| good(parse(registry, dialect, words), format_args!("{words}: parsing it")))
        .map(|parsed| parsed.data_type)
        .collect();
    for (n, a) in types.iter().enumerate() {
        for (m, b) in types.iter().enumerate().skip(n + 1) {
            let pair = format!("{} and {}", words[n], words[m]);
            assert!(a.to_string() != b.to_string(), "{pair}: Display tells them apart");
            for dialect in DIALECTS {
                let spelled = |t: &DataType| t.to_metadata(dialect, Endian::Little);
                let same = spelled(a).is_some() && spelled(a) == spelled(b);
                assert!(!same, "{pair}: {dialect} spells them differently");
            }
            assert!(a != b, "{pair}: they are not equal");
        }
    }
}

fn parse(
    registry: &Registry,
    dialect: Dialect,
    words: &Json,
) -> Result<ParsedType, zarr_core::MetadataError> {
    let what = format!("parsing the data type {} in {dialect}", words.brief());
    calm(format_args!("{what}"), || registry.parse_data_type(words, dialect))
}

/// The sizes that an element may have.
fn is_sane(data_type: &DataType) -> bool {
    data_type.repr().is_none_or(|repr| {
        let (size, unit) = (repr.size(), repr.swap_unit());
        (1..=LARGEST).contains(&size) && unit > 0 && size.is_multiple_of(unit)
    })
}

/// A data type that is checked.
struct Subject<'a> {
    registry: &'a Registry,
    /// As the caller said it, for messages.
    name: String,
    data_type: DataType,
}

impl Subject<'_> {
    /// Bytes in an element, and in a unit of byte order.
    fn sizes(&self) -> (usize, usize) {
        self.data_type.repr().map_or((0, 1), |repr| (repr.size(), repr.swap_unit()))
    }

    /// The orders in which elements may be stored.
    fn orders(&self) -> &'static [Endian] {
        if self.sizes().1 > 1 { &[Endian::Little, Endian::Big] } else { &[Endian::Little] }
    }

    fn to_metadata(&self, dialect: Dialect, order: Endian) -> Option<Json> {
        let what = format_args!("{}: spelling in {dialect}", self.name);
        calm(what, || self.data_type.to_metadata(dialect, order))
    }

    /// The dialects that have words for it. Where a codec tells what objects are, the words alone do not
    /// (Z2-040).
    fn dialects(&self) -> impl Iterator<Item = Dialect> {
        DIALECTS.into_iter().filter(|&dialect| match self.to_metadata(dialect, Endian::Little) {
            Some(words) if self.data_type.is_variable() && dialect != Dialect::V3 => {
                parse(self.registry, dialect, &words).is_ok_and(|p| p.data_type == self.data_type)
            }
            words => words.is_some(),
        })
    }

    fn repr(&self) {
        let (name, repr) = (&self.name, self.data_type.repr());
        let sane = repr.is_some() && is_sane(&self.data_type);
        assert!(sane, "{name}: an element has 1 to {LARGEST} bytes, in whole units: {repr:?}");
    }

    fn names(&self) {
        let (name, shown) = (&self.name, self.data_type.to_string());
        assert!(!shown.is_empty(), "{name}: Display gives a name");
        assert!(shown == self.data_type.to_string(), "{name}: Display always gives the same name");
        let (size, _) = self.sizes();
        let raw = DataType::Raw { size };
        for other in CoreType::ALL.map(DataType::from).into_iter().chain([raw]) {
            let differs = self.data_type == other || shown != other.to_string();
            assert!(differs, "{name}: Display tells it from the other type `{other}`");
        }
        for dialect in DIALECTS {
            for core in CoreType::ALL {
                let Some(words) = core.to_metadata(dialect, Endian::Little) else { continue };
                let parsed = parse(self.registry, dialect, &words);
                let same = parsed.is_ok_and(|parsed| parsed.data_type == core.into());
                assert!(same, "{name}: {words} of {dialect} still means `{}`", core.name());
            }
        }
    }

    /// What is spelled is read again as the same type, in the same byte order.
    fn spellings(&self, dialect: Dialect) {
        let (name, (_, unit)) = (&self.name, self.sizes());
        let own = self.to_metadata(dialect, Endian::Little).is_some();
        assert!(own, "{name}: it has words in the dialect that it was read in");
        for dialect in self.dialects() {
            for &order in self.orders() {
                let Some(words) = self.to_metadata(dialect, order) else {
                    panic!("{name}: {dialect} has words for both byte orders, or for none");
                };
                let what = format!("{name}: {} bytes first, spelled {words}", order.name());
                let text = Json::parse(words.to_string().as_bytes());
                assert!(text.is_ok_and(|text| text == words), "{what}: it is JSON");
                let parsed = parse(self.registry, dialect, &words);
                let parsed = good(parsed, format_args!("{what}: reading it again"));
                let found = &parsed.data_type;
                // Types are equal by their metadata, which may lack what the name shows.
                let same =
                    *found == self.data_type && found.to_string() == self.data_type.to_string();
                assert!(same, "{what}: {dialect} reads it again as `{found}`");
                let same = found.repr() == self.data_type.repr();
                assert!(same, "{what}: read again, it rests on {:?}", found.repr());
                if dialect == Dialect::V3 {
                    // There the `bytes` codec says it.
                    let same = self.to_metadata(dialect, Endian::Big) == Some(words.clone());
                    assert!(
                        same && parsed.endian.is_none(),
                        "{what}: v3 says no byte order in the type"
                    );
                } else if unit > 1 {
                    let said = parsed.endian;
                    assert!(said == Some(order), "{what}: read again, the byte order is {said:?}");
                }
            }
        }
    }

    /// Words that are nearly its own do not panic, and make no type of an absurd size.
    fn damaged_words(&self) {
        for dialect in self.dialects() {
            let Some(words) = self.to_metadata(dialect, Endian::Little) else { continue };
            for damaged in damaged(&words).into_iter().chain(junk()) {
                if let Ok(parsed) = parse(self.registry, dialect, &damaged) {
                    let (sane, repr) = (is_sane(&parsed.data_type), parsed.data_type.repr());
                    let what = damaged.brief();
                    assert!(sane, "{}: {what} in {dialect} makes elements of {repr:?}", self.name);
                }
            }
        }
    }

    /// `check` takes and refuses elements without a panic; zeros it takes.
    fn elements(&self) {
        let (name, (size, _)) = (&self.name, self.sizes());
        let mut extremes = vec![vec![0; size * 3], vec![], vec![0xff; size], vec![0x80; size * 2]];
        extremes.extend(elements(&self.data_type, 5));
        for (n, elements) in extremes.into_iter().enumerate() {
            let mut copy = elements.clone();
            let check = || self.data_type.check(&mut copy, Origin::Caller).is_ok();
            let passes = calm(format_args!("{name}: check"), check);
            assert!(
                n > 0 || passes,
                "{name}: check takes zeros, which stand where nothing was written"
            );
            let idle = passes || self.data_type.needs_check();
            assert!(
                idle,
                "{name}: check refuses elements, though needs_check says it does not look"
            );
            assert!(!passes || copy == elements, "{name}: check changes nothing that it takes");
        }
    }
}

/// Every way in which the kit damages words: cut, made longer, a part replaced by junk or left out.
fn damaged(words: &Json) -> Vec<Json> {
    match words {
        Json::String(text) => {
            let cuts = text.char_indices().map(|(at, _)| text[..at].to_owned());
            let tails = ["x", "0", "99999999999999999999", "[", "]", " ", "\0", "[ns]", "é"];
            let longer = tails.iter().map(|tail| format!("{text}{tail}"));
            let digits = ["0", "18446744073709551615", "4294967296", "-1", "1e9"].map(|number| {
                let parts: Vec<&str> = text.split(|c: char| c.is_ascii_digit()).collect();
                parts.join(number)
            });
            cuts.chain(longer).chain(digits).map(Json::from).collect()
        }
        Json::Object(object) => {
            let mut all = Vec::new();
            for (member, value) in object.iter() {
                let mut less = object.clone();
                less.remove(member);
                all.push(less.into());
                for other in damaged(value).into_iter().chain(junk()) {
                    let object: Object = object.clone().with(member, other);
                    all.push(object.into());
                }
            }
            all
        }
        Json::Array(items) => {
            let mut all = vec![Json::Array(items.iter().chain(items).cloned().collect())];
            for at in 0..items.len() {
                for other in damaged(&items[at]).into_iter().chain(junk()) {
                    let mut items = items.clone();
                    items[at] = other;
                    all.push(Json::Array(items));
                }
            }
            all
        }
        Json::Number(_) => {
            ["0", "-1", "18446744073709551615", "1e99"].map(|n| Json::Number(n.into())).into()
        }
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests;
