//! Maps names to codecs, data types, grids and stores.
//!
//! A registry is an ordinary value: no global table, no life before `main`. Two hierarchies in one
//! process may know different things. A name that nobody registered is an error that says what would
//! bring it.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use crate::codec::{BuildCodec, BuildNesting, ChunkContext, Codec, CodecSpec, Names};
use crate::data_type::{
    CoreType, DataType, ParsedType, datetime, minifloat, optional, record_json, strings, variable,
};
use crate::dialect::Dialect;
use crate::error::{MetadataError, StoreError, Unsupported};
use crate::format::MetadataEncoding;
use crate::grid::ChunkGrid;
use crate::json::{Json, Object};
use crate::metadata::ArrayMetadata;
use crate::store::Store;

/// Makes a data type from a document's words; `None` if they are not its own.
pub type BuildDataType = fn(&Json, Dialect) -> Option<Result<ParsedType, MetadataError>>;

/// Makes a chunk grid from its configuration, for an array of this shape.
pub type BuildGrid = fn(&Object, shape: &[u64]) -> Result<Arc<dyn ChunkGrid>, MetadataError>;

/// Opens a store from a URL of a registered scheme.
pub type OpenStore = fn(url: &str, access: Access) -> Result<Arc<dyn Store>, StoreError>;

/// Opens a store that lies in another, from a URL of the form `LINK::URL`: the link, which begins with a registered name, and
/// the URL, of which the registry knows more.
pub type OpenChain = fn(
    link: &str,
    url: &str,
    access: Access,
    registry: &Registry,
) -> Result<Arc<dyn Store>, StoreError>;

/// Understands a protocol extension of the drafts, which its URI names: called with the extension's object
/// when a hierarchy or an array that has it is opened, with the array to change what is known of it, or
/// without where it stands in the entry point (D-075 … D-077, D-108).
pub type Understand = fn(&Object, Option<&mut ArrayMetadata>) -> Result<(), MetadataError>;

/// What a handle may do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Access {
    /// Read.
    #[default]
    ReadOnly,
    /// Read and write.
    ReadWrite,
}

/// Names and what they make: codecs, data types, grids, URL schemes, metadata encodings, extensions.
#[derive(Clone, Default)]
pub struct Registry {
    codecs: HashMap<(Dialect, String), Entry>,
    data_types: Vec<BuildDataType>,
    grids: HashMap<String, BuildGrid>,
    schemes: HashMap<String, Scheme>,
    chains: HashMap<String, OpenChain>,
    encodings: HashMap<String, Arc<dyn MetadataEncoding>>,
    extensions: HashMap<String, Understand>,
}

#[derive(Clone, Copy)]
enum Scheme {
    Known(OpenStore),
    /// This workspace has it, this build does not.
    LeftOut(&'static str),
}

#[derive(Clone, Copy)]
enum Entry {
    Known(BuildCodec),
    /// One that other codecs are part of.
    Nesting(BuildNesting),
    /// This workspace has it, this build does not.
    LeftOut(&'static str),
}

impl fmt::Debug for Registry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Registry")
            .field("codecs", &self.codec_names(Dialect::V3))
            .field("schemes", &self.schemes.keys().collect::<Vec<_>>())
            .finish_non_exhaustive()
    }
}

impl Registry {
    /// A registry that knows the core's data types and grids, and no codec or store.
    pub fn new() -> Self {
        Self::default()
    }

    /// The same registry, knowing what `register` brings.
    pub fn with(mut self, register: impl FnOnce(&mut Registry)) -> Self {
        register(&mut self);
        self
    }

    /// Adds a codec under its names.
    pub fn codec(&mut self, names: &Names, build: BuildCodec) {
        self.codec_entry(names, Entry::Known(build));
    }

    /// Adds a codec that other codecs are part of under its names.
    pub fn nesting_codec(&mut self, names: &Names, build: BuildNesting) {
        self.codec_entry(names, Entry::Nesting(build));
    }

    /// Notes the names of a codec that this build left out, and the feature that brings it.
    pub fn codec_left_out(&mut self, names: &Names, feature: &'static str) {
        self.codec_entry(names, Entry::LeftOut(feature));
    }

    fn codec_entry(&mut self, names: &Names, entry: Entry) {
        let dialects =
            [(Dialect::V3, names.v3), (Dialect::V2, names.v2), (Dialect::Draft, names.draft)];
        for (dialect, names) in dialects {
            for name in names {
                self.codecs.insert((dialect, (*name).to_owned()), entry);
            }
        }
    }

    /// Adds a data type.
    pub fn data_type(&mut self, build: BuildDataType) {
        self.data_types.push(build);
    }

    /// Adds a chunk grid under its name or URI.
    pub fn grid(&mut self, name: &str, build: BuildGrid) {
        self.grids.insert(name.to_owned(), build);
    }

    /// Adds a store under its URL scheme, such as `file`.
    pub fn scheme(&mut self, scheme: &str, open: OpenStore) {
        self.schemes.insert(scheme.to_owned(), Scheme::Known(open));
    }

    /// Adds a store that lies in another, under the name that its URLs begin with: `zip` for `zip::s3://bucket/x.zip`.
    pub fn chain(&mut self, name: &str, open: OpenChain) {
        self.chains.insert(name.to_owned(), open);
    }

    /// Notes a URL scheme that this build left out, and the feature that brings it.
    pub fn scheme_left_out(&mut self, scheme: &str, feature: &'static str) {
        self.schemes.insert(scheme.to_owned(), Scheme::LeftOut(feature));
    }

    /// Adds a metadata encoding for the drafts, under its own URI.
    pub fn encoding(&mut self, encoding: Arc<dyn MetadataEncoding>) {
        self.encodings.insert(encoding.uri().to_owned(), encoding);
    }

    /// Adds a protocol extension of the drafts under its URI.
    pub fn extension(&mut self, uri: &str, understand: Understand) {
        self.extensions.insert(uri.to_owned(), understand);
    }

    /// The metadata encoding that a URI names.
    ///
    /// # Errors
    /// [`MetadataError::Unsupported`] for one that nobody registered.
    pub fn metadata_encoding(&self, uri: &str) -> Result<Arc<dyn MetadataEncoding>, MetadataError> {
        self.encodings.get(uri).cloned().ok_or_else(|| {
            let hint = "documents are read as JSON; register an extension for others".into();
            Unsupported { what: "metadata encoding", name: uri.into(), hint }.into()
        })
    }

    /// What understands a protocol extension, if anything here does.
    pub fn extension_of(&self, uri: &str) -> Option<Understand> {
        self.extensions.get(uri).copied()
    }

    /// The codec names known in a dialect, sorted.
    pub fn codec_names(&self, dialect: Dialect) -> Vec<&str> {
        let known = self.codecs.iter().filter(|(_, entry)| !matches!(entry, Entry::LeftOut(_)));
        let mut names: Vec<&str> =
            known.filter(|((d, _), _)| *d == dialect).map(|((_, name), _)| name.as_str()).collect();
        names.sort_unstable();
        names
    }

    /// Whether a codec of this name can be made.
    pub fn knows_codec(&self, spec: &CodecSpec) -> bool {
        matches!(self.entry(spec), Some(Entry::Known(_) | Entry::Nesting(_)))
    }

    fn entry(&self, spec: &CodecSpec) -> Option<&Entry> {
        let short = match spec.dialect {
            Dialect::Draft => draft_codec_name(&spec.name),
            _ => &spec.name,
        };
        let whole = self.codecs.get(&(spec.dialect, spec.name.clone()));
        whole.or_else(|| self.codecs.get(&(spec.dialect, short.to_owned())))
    }

    /// Makes a codec from its words.
    ///
    /// # Errors
    /// [`MetadataError::Unsupported`] for a name that is not known here; [`MetadataError::Invalid`] for
    /// parameters that cannot be.
    pub fn build_codec(
        &self,
        spec: &CodecSpec,
        context: &ChunkContext,
    ) -> Result<Codec, MetadataError> {
        let hint = match self.entry(spec) {
            Some(Entry::Known(build)) => return build(spec, context),
            Some(Entry::Nesting(build)) => return build(spec, context, self),
            Some(Entry::LeftOut(feature)) => {
                format!("it was left out of this build; enable the feature `{feature}` of `zarr`")
            }
            None if spec.name == "pickle" => {
                "pickled objects run code when they are read; they are refused".into()
            }
            None => {
                // Names with a prefix are other spellings of those without.
                let known = self.codec_names(spec.dialect);
                let is_prefixed =
                    |name: &str| ["numcodecs.", "zarrs."].iter().any(|p| name.starts_with(p));
                let known: Vec<&str> =
                    known.into_iter().filter(|name| !is_prefixed(name)).collect();
                let meant = crate::did_you_mean(&spec.name, known.iter().copied());
                let meant = meant.map_or(String::new(), |name| format!("did you mean `{name}`? "));
                format!("{meant}known are: {}; register an extension for others", known.join(", "))
            }
        };
        Err(Unsupported { what: "codec", name: spec.name.clone(), hint }.into())
    }

    /// The data type that a document's words mean, and the byte order if they say it.
    ///
    /// Words that nobody knows give [`DataType::Unknown`]: unsupported is not invalid (decision 0122).
    ///
    /// # Errors
    /// [`MetadataError::Invalid`] for words that no reader could know.
    pub fn parse_data_type(
        &self,
        json: &Json,
        dialect: Dialect,
    ) -> Result<ParsedType, MetadataError> {
        for build in &self.data_types {
            if let Some(parsed) = build(json, dialect) {
                return parsed;
            }
        }
        let member = if dialect == Dialect::V2 { "dtype" } else { "data_type" };
        let parsed = match dialect {
            Dialect::V3 => parse_v3(json, self),
            Dialect::V2 => parse_v2(json, self),
            Dialect::Draft => parse_draft(json, self),
        };
        parsed.map_err(|why| MetadataError::invalid(member, why))
    }

    /// Makes a chunk grid from its name and configuration; `None` if nobody knows the name.
    ///
    /// # Errors
    /// [`MetadataError::Invalid`] for a configuration that cannot be.
    pub fn build_grid(
        &self,
        name: &str,
        configuration: &Object,
        shape: &[u64],
    ) -> Option<Result<Arc<dyn ChunkGrid>, MetadataError>> {
        self.grids.get(name).map(|build| build(configuration, shape))
    }

    /// The store that a URL names.
    ///
    /// # Errors
    /// [`StoreError::InvalidUrl`] for a scheme that nobody registered; the store's own.
    pub fn open_store(&self, url: &str, access: Access) -> Result<Arc<dyn Store>, StoreError> {
        if let Some((link, rest)) = url.split_once("::")
            && let Some(open) = self.chains.get(link.split("://").next().unwrap_or_default())
        {
            return open(link, rest, access, self);
        }
        let scheme = url.split_once("://").map_or("file", |(scheme, _)| scheme);
        let why = match self.schemes.get(scheme) {
            Some(Scheme::Known(open)) => return open(url, access),
            Some(Scheme::LeftOut(feature)) => format!(
                "the store of `{scheme}://` was left out of this build; enable the feature `{feature}` of `zarr`"
            ),
            None => {
                let is_known = |(name, scheme): (_, &Scheme)| {
                    matches!(scheme, Scheme::Known(_)).then_some(name)
                };
                let mut known: Vec<&str> =
                    self.schemes.iter().filter_map(is_known).map(String::as_str).collect();
                known.sort_unstable();
                let known = known.join(", ");
                format!("no store is registered for `{scheme}://`; known are: {known}")
            }
        };
        Err(StoreError::InvalidUrl { url: url.to_owned(), why })
    }
}

/// `gzip` of `https://purl.org/zarr/spec/codec/gzip/1.0` and its older spellings (draft-v3.md 2.1, row 11).
fn draft_codec_name(uri: &str) -> &str {
    let rest = uri.strip_prefix("https://").or_else(|| uri.strip_prefix("http://"));
    let rest = rest.and_then(|r| r.strip_prefix("purl.org/zarr/spec/"));
    let rest = rest.and_then(|r| r.strip_prefix("codec/").or_else(|| r.strip_prefix("codecs/")));
    rest.map_or(uri, |rest| rest.split('/').next().unwrap_or(rest))
}

type Parsed = Result<ParsedType, String>;

fn plain(data_type: DataType) -> Parsed {
    Ok(ParsedType { data_type, endian: None })
}

fn unknown(declared: &Json) -> Parsed {
    plain(DataType::Unknown { declared: declared.clone(), fallback: None })
}

/// `r24` (F-039, D-032); `None` for other words.
fn raw_bits(name: &str) -> Option<Parsed> {
    let digits = name.strip_prefix('r').filter(|d| d.bytes().all(|b| b.is_ascii_digit()))?;
    let bits = digits
        .parse::<usize>()
        .ok()
        .filter(|bits| bits.is_multiple_of(8) && !digits.starts_with('0'));
    Some(match bits.map(|bits| bits / 8) {
        Some(size @ 1..=strings::MAX_ELEMENT) => plain(DataType::Raw { size }),
        _ => Err(format!(
            "`{name}`: raw bits are a multiple of 8, from 8 to {}",
            strings::MAX_ELEMENT * 8
        )),
    })
}

fn parse_v3(json: &Json, registry: &Registry) -> Parsed {
    let (name, configuration) = match json {
        Json::String(name) => (name.as_str(), None),
        Json::Object(object) => match object.get("name") {
            Some(Json::String(name)) => {
                (name.as_str(), object.get("configuration").and_then(Json::as_object))
            }
            _ => return Err("an extension object needs a string `name`".into()),
        },
        _ => return Err(format!("{} stands for a name", json.kind())),
    };
    if let Some(core) = CoreType::from_name(name) {
        return plain(core.into());
    }
    if let Some(parsed) = json.as_str().and_then(raw_bits) {
        return parsed;
    }
    if let Some(known) = variable::from_v3(name).or_else(|| minifloat::from_v3(name)) {
        return plain(known);
    }
    if let Some(record) = record_json::from_v3(json, registry) {
        return record?.map_or_else(|| unknown(json), plain);
    }
    if let Some(optional) = optional::from_v3(json, registry) {
        return optional?.map_or_else(|| unknown(json), plain);
    }
    let times = || datetime::from_v3(name, configuration);
    match strings::from_v3(name, configuration).or_else(times) {
        Some(parsed) => parsed.and_then(plain),
        None => unknown(json),
    }
}

fn parse_v2(json: &Json, registry: &Registry) -> Parsed {
    match json {
        Json::String(text) => {
            if let Some(parsed) = CoreType::from_typestr(text) {
                return Ok(parsed);
            }
            let times = || datetime::from_typestr(text);
            if let Some(parsed) = strings::from_typestr(text).or_else(times) {
                return parsed;
            }
            let unmarked = text.strip_prefix(['<', '>', '|', '=']).unwrap_or(text);
            let kind = unmarked.chars().next();
            let known_kind = kind.is_some_and(|c| "biufcOSUV".contains(c));
            if known_kind && unmarked.is_ascii() {
                unknown(json)
            } else {
                Err(format!("`{text}` is not a NumPy type"))
            }
        }
        Json::Array(fields) => {
            record_json::from_descr(fields, registry)?.map_or_else(|| unknown(json), Ok)
        }
        _ => Err(format!("{} stands for a type", json.kind())),
    }
}

fn parse_draft(json: &Json, registry: &Registry) -> Parsed {
    match json {
        Json::String(text) => draft_simple(text),
        Json::Object(object) => {
            // D-101; a type is recognised by `type`, the URI is a hint (draft-v3.md 3.3).
            if !object.contains("extension") || !object.contains("type") {
                return Err("an extension type needs `extension` and `type`".into());
            }
            let fallback = match object.get("fallback") {
                None | Some(Json::Null) => None,
                Some(Json::String(text)) => {
                    let parsed = draft_simple(text)?;
                    match parsed.data_type {
                        DataType::Unknown { .. } => {
                            return Err(format!("`fallback`: `{text}` is not a core type"));
                        }
                        _ => Some(parsed),
                    }
                }
                Some(other) => {
                    return Err(format!("`fallback`: {} stands for a core type", other.kind()));
                }
            };
            let known = object.get("type").and_then(Json::as_str).and_then(|text| {
                let typestr = text.starts_with(['<', '>', '|']).then_some(text)?;
                // The byte order of a time is mandatory.
                let time = || datetime::from_typestr(typestr).filter(|_| !typestr.starts_with('|'));
                CoreType::from_typestr(typestr)
                    .or_else(|| strings::from_typestr(typestr).or_else(time)?.ok())
            });
            // zarr-python 2.18 wrote raw bytes as a record with one nameless field.
            let void = object.get("type").and_then(Json::as_array).and_then(|fields| {
                let [Json::Array(field)] = fields else { return None };
                let [Json::String(name), Json::String(text)] = &field[..] else { return None };
                let void = name.is_empty() && text.starts_with("|V");
                void.then(|| strings::from_typestr(text)?.ok()).flatten()
            });
            let record = || {
                let fields = object.get("type").and_then(Json::as_array)?;
                record_json::from_descr(fields, registry).ok().flatten()
            };
            let known = known.or(void).or_else(record);
            Ok(known.unwrap_or_else(|| ParsedType {
                endian: fallback.as_ref().and_then(|f| f.endian),
                data_type: DataType::Unknown {
                    declared: json.clone(),
                    fallback: fallback.map(|f| Box::new(f.data_type)),
                },
            }))
        }
        _ => Err(format!("{} stands for a type", json.kind())),
    }
}

/// D-030 … D-033, and the complex types of E1 (row 13); lenient spellings are told apart by the format.
fn draft_simple(text: &str) -> Parsed {
    if text == "bool" {
        return plain(CoreType::Bool.into());
    }
    if let Some(parsed) = raw_bits(text) {
        return parsed;
    }
    let marked = text.starts_with(['<', '>']);
    let core = CoreType::from_typestr(text).filter(|parsed| match parsed.data_type {
        DataType::Core(core) if core.repr().size() == 1 => {
            ["i1", "u1", "|i1", "|u1", "|b1"].contains(&text)
        }
        _ => marked,
    });
    match core {
        Some(parsed) => Ok(parsed),
        None => unknown(&Json::from(text)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str, dialect: Dialect) -> Result<ParsedType, MetadataError> {
        Registry::new().parse_data_type(&Json::parse(text.as_bytes()).unwrap(), dialect)
    }

    /// D-030, D-032, D-033, D-101, D-102.
    #[test]
    fn draft_types() {
        for good in ["\"bool\"", "\"u1\"", "\"<i2\"", "\">f8\"", "\"r24\"", "\"|b1\""] {
            assert!(parse(good, Dialect::Draft).unwrap().data_type.repr().is_some(), "{good}");
        }
        for unsupported in ["\"int32\"", "\"<i1\"", "\"<f16\"", "\"i4\""] {
            assert!(
                parse(unsupported, Dialect::Draft).unwrap().data_type.repr().is_none(),
                "{unsupported}"
            );
        }
        for bad in ["\"r0\"", "\"r7\"", "\"r12\"", "\"r\"", "\"r08\"", "3", "{\"type\":\"<c8\"}"] {
            assert!(parse(bad, Dialect::Draft).is_err(), "{bad}");
        }
        let zork = r#"{"extension":"http://e/x","type":"zork","fallback":"r64"}"#;
        assert_eq!(parse(zork, Dialect::Draft).unwrap().data_type.repr().unwrap().size(), 8);
        let swapped = r#"{"extension":"http://e/x","type":"zork","fallback":">i8"}"#;
        assert_eq!(
            parse(swapped, Dialect::Draft).unwrap().endian,
            Some(crate::data_type::Endian::Big)
        );
    }

    /// F-030, F-039, Z2-031, Z2-035.
    #[test]
    fn sizes_that_no_memory_holds_are_refused() {
        assert!(parse("\"r18446744073709551608\"", Dialect::V3).is_err());
        assert!(parse(r#"[["a","<f8",[4294967296,4294967296,4294967296]]]"#, Dialect::V2).is_err());
        assert!(parse(r#"[["a","<f8"],["a","<f8"]]"#, Dialect::V2).is_err());
        assert!(parse("\"M8\"", Dialect::V2).is_err());
        assert!(parse("\"<M8[parsec]\"", Dialect::V2).is_err());
        assert!(parse("\"q4\"", Dialect::V2).is_err());
        assert!(parse("\"é\"", Dialect::V2).is_err());
    }

    /// What a build left out is told by its feature, in each dialect's words; what is only planned is unknown.
    #[test]
    fn what_is_left_out_names_its_feature() {
        let registry = Registry::new().with(|registry| {
            let names = Names { v3: &["numcodecs.lzf", "lzf"], v2: &["lzf"], draft: &["lzf"] };
            registry.codec_left_out(&names, "lzf");
            registry.scheme_left_out("tape", "tapes");
        });
        let context = ChunkContext::new(CoreType::Int8, vec![1]);
        let refusal = |dialect, name: &str| {
            let spec = CodecSpec::new(dialect, name, Object::new());
            assert!(!registry.knows_codec(&spec));
            registry.build_codec(&spec, &context).expect_err(name).to_string()
        };
        let uri = "https://purl.org/zarr/spec/codec/lzf/1.0";
        for (dialect, name) in [
            (Dialect::V3, "numcodecs.lzf"),
            (Dialect::V3, "lzf"),
            (Dialect::V2, "lzf"),
            (Dialect::Draft, uri),
        ] {
            let due = format!(
                "codec `{name}` is not supported; it was left out of this build; enable the feature `lzf` of `zarr`"
            );
            assert_eq!(refusal(dialect, name), due);
        }
        assert!(refusal(Dialect::V3, "sharding_indexed").contains("; known are: "));
        assert!(registry.codec_names(Dialect::V2).is_empty());

        let refusal = |url| registry.open_store(url, Access::ReadOnly).expect_err(url).to_string();
        assert!(refusal("tape://1").ends_with("enable the feature `tapes` of `zarr`"));
        assert!(refusal("disk://1").ends_with("no store is registered for `disk://`; known are: "));
    }

    #[test]
    fn draft_codec_uris_are_known_in_all_spellings() {
        for uri in [
            "https://purl.org/zarr/spec/codec/gzip/1.0",
            "http://purl.org/zarr/spec/codec/gzip",
            "https://purl.org/zarr/spec/codecs/gzip",
        ] {
            assert_eq!(draft_codec_name(uri), "gzip");
        }
        assert_eq!(draft_codec_name("https://example.org/x"), "https://example.org/x");
    }
}
