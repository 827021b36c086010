//! Checks that a data type keeps what [`ExtensionType`](zarr_core::data_type::ExtensionType) and the dialects promise.

mod array;
mod fill;
mod long;

use super::shared::{DIALECTS, calm, elements, good, junk};
use zarr_core::data_type::{CoreType, DataType, Endian, Origin, ParsedType};
use zarr_core::{Dialect, Json, Object, Registry};

/// The largest element, in bytes.
const MAX_ELEMENT_BYTES: usize = 1 << 24;

/// Checks every promise of the data type with these metadata in a dialect, with fill values of the same dialect: it is parsed and
/// written in each dialect that it has metadata in, byte order included; elements have a sane size; its name differs from those of
/// other types; fill values are exact in both directions; junk is refused without a panic; arrays of it, with its codec if elements
/// are variable-length, are written and read in each dialect, and open in a build without the type: in the drafts as its fallback,
/// if it names one. The core's types keep their names.
///
/// # Panics
/// At the first broken promise, naming it.
pub fn check_data_type(
    registry: &Registry,
    dialect: Dialect,
    metadata: &Json,
    fill_values: &[Json],
) {
    let parsed = parse(registry, dialect, metadata);
    let parsed = good(parsed, format_args!("{metadata}: parsing it in {dialect}"));
    let data_type = parsed.data_type;
    let known = !matches!(data_type, DataType::Unknown { .. });
    assert!(known, "{metadata}: it is known in {dialect}");
    let subject = Subject { registry, name: format!("{metadata} of {dialect}"), data_type };
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

/// Checks that data types with these metadata, all of one dialect, differ: by equality, by name, and by their metadata in every
/// dialect that has metadata for both. The caller passes metadata of different types.
///
/// # Panics
/// At the first broken promise, naming it.
pub fn check_data_types_differ(registry: &Registry, dialect: Dialect, metadata: &[Json]) {
    let types: Vec<DataType> = metadata
        .iter()
        .map(|metadata| {
            good(parse(registry, dialect, metadata), format_args!("{metadata}: parsing it"))
        })
        .map(|parsed| parsed.data_type)
        .collect();
    for (n, a) in types.iter().enumerate() {
        for (m, b) in types.iter().enumerate().skip(n + 1) {
            let pair = format!("{} and {}", metadata[n], metadata[m]);
            assert!(a.to_string() != b.to_string(), "{pair}: Display tells them apart");
            for dialect in DIALECTS {
                let spelled = a.to_metadata(dialect, Endian::Little);
                let same = spelled.is_some() && spelled == b.to_metadata(dialect, Endian::Little);
                assert!(!same, "{pair}: {dialect} spells them differently");
            }
            assert!(a != b, "{pair}: they are not equal");
        }
    }
}

fn parse(
    registry: &Registry,
    dialect: Dialect,
    metadata: &Json,
) -> Result<ParsedType, zarr_core::MetadataError> {
    let what = format!("parsing the data type {} in {dialect}", metadata.brief());
    calm(format_args!("{what}"), || registry.parse_data_type(metadata, dialect))
}

/// The sizes that an element of the core may have.
fn is_sane(data_type: &DataType) -> bool {
    data_type.repr().is_none_or(|repr| {
        let (size, unit) = (repr.size(), repr.swap_unit());
        (1..=MAX_ELEMENT_BYTES).contains(&size) && unit > 0 && size.is_multiple_of(unit)
    })
}

/// A data type that is checked.
struct Subject<'a> {
    registry: &'a Registry,
    /// The caller's name of it, for messages.
    name: String,
    data_type: DataType,
}

impl Subject<'_> {
    /// The size of an element, and of a unit of byte order.
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

    /// The dialects that it has metadata in, but those where a codec defines the type of objects (Z2-040).
    fn dialects(&self) -> impl Iterator<Item = Dialect> {
        DIALECTS.into_iter().filter(|&dialect| match self.to_metadata(dialect, Endian::Little) {
            Some(metadata) if self.data_type.is_variable() && dialect != Dialect::V3 => {
                parse(self.registry, dialect, &metadata)
                    .is_ok_and(|p| p.data_type == self.data_type)
            }
            metadata => metadata.is_some(),
        })
    }

    fn repr(&self) {
        let (name, repr) = (&self.name, self.data_type.repr());
        let sane = repr.is_some() && is_sane(&self.data_type);
        assert!(
            sane,
            "{name}: an element has 1 to {MAX_ELEMENT_BYTES} bytes, in whole units: {repr:?}"
        );
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
                let Some(metadata) = core.to_metadata(dialect, Endian::Little) else { continue };
                let parsed = parse(self.registry, dialect, &metadata);
                let same = parsed.is_ok_and(|parsed| parsed.data_type == core.into());
                assert!(same, "{name}: {metadata} of {dialect} still means `{}`", core.name());
            }
        }
    }

    /// Checks that written metadata are parsed as the same type, in the same byte order.
    fn spellings(&self, dialect: Dialect) {
        let (name, (_, unit)) = (&self.name, self.sizes());
        let own = self.to_metadata(dialect, Endian::Little).is_some();
        assert!(own, "{name}: it has words in the dialect that it was read in");
        for dialect in self.dialects() {
            for &order in self.orders() {
                let Some(metadata) = self.to_metadata(dialect, order) else {
                    panic!("{name}: {dialect} has words for both byte orders, or for none");
                };
                let what = format!("{name}: {} bytes first, spelled {metadata}", order.name());
                let text = Json::parse(metadata.to_string().as_bytes());
                assert!(text.is_ok_and(|text| text == metadata), "{what}: it is JSON");
                let parsed = parse(self.registry, dialect, &metadata);
                let parsed = good(parsed, format_args!("{what}: reading it again"));
                let found = &parsed.data_type;
                // Types are equal by their metadata, which may lack a part of the name.
                let same =
                    *found == self.data_type && found.to_string() == self.data_type.to_string();
                assert!(same, "{what}: {dialect} reads it again as `{found}`");
                let same = found.repr() == self.data_type.repr();
                assert!(same, "{what}: read again, it rests on {:?}", found.repr());
                if dialect == Dialect::V3 {
                    // In v3 the codec `bytes` has it.
                    let same = self.to_metadata(dialect, Endian::Big) == Some(metadata.clone());
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

    /// Checks that damaged metadata do not panic, and give no type of an absurd size.
    fn damaged_words(&self) {
        for dialect in self.dialects() {
            let Some(metadata) = self.to_metadata(dialect, Endian::Little) else { continue };
            for damaged in damaged(&metadata).into_iter().chain(junk()) {
                if let Ok(parsed) = parse(self.registry, dialect, &damaged) {
                    let (sane, repr) = (is_sane(&parsed.data_type), parsed.data_type.repr());
                    let what = damaged.brief();
                    assert!(sane, "{}: {what} in {dialect} makes elements of {repr:?}", self.name);
                }
            }
        }
    }

    /// Checks that `check` accepts or refuses elements without a panic, and accepts zeros.
    fn elements(&self) {
        let (name, (size, _)) = (&self.name, self.sizes());
        let mut extremes = vec![vec![0; size * 3], vec![], vec![0xff; size], vec![0x80; size * 2]];
        extremes.extend(elements(&self.data_type, 5));
        for (n, elements) in extremes.into_iter().enumerate() {
            let mut copy = elements.clone();
            let passes = calm(format_args!("{name}: check"), || {
                self.data_type.check(&mut copy, Origin::Caller).is_ok()
            });
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

/// Metadata damaged in several ways: cut, made longer, a part replaced by junk or left out.
fn damaged(metadata: &Json) -> Vec<Json> {
    match metadata {
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
