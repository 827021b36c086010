//! Maps names to codecs, data types, grids and stores.
//!
//! A registry is an ordinary value: no global table, no life before `main`. Two hierarchies in one
//! process may know different things. A name that is not registered is an error that says what would bring it.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use crate::codec::{ChunkContext, Codec, CodecSpec, Names};
pub use crate::data_type::BuildDataType;
use crate::data_type::ParsedType;
use crate::dialect::Dialect;
use crate::error::{MetadataError, StoreError, Unsupported};
use crate::format::{self, MetadataEncoding};
use crate::grid::{self, ChunkGrid, ChunkKeys};
use crate::json::{Json, Object};
use crate::metadata::ArrayMetadata;
use crate::store::Store;
use crate::web_address::web_server;

/// Makes a codec from its words, for chunks as the context says.
///
/// A v2 or draft dialect asks for a codec from bytes to bytes, even where final v3 has one on arrays.
pub type BuildCodec = fn(&CodecSpec, &ChunkContext) -> Result<Codec, MetadataError>;

/// Makes a codec that other codecs are part of, as [`BuildCodec`] makes others.
pub type BuildNesting = fn(&CodecSpec, &ChunkContext, &Registry) -> Result<Codec, MetadataError>;

/// Makes a chunk grid from its configuration, for an array of this shape.
pub type BuildGrid = fn(&Object, shape: &[u64]) -> Result<Arc<dyn ChunkGrid>, MetadataError>;

/// Makes a chunk key encoding from its configuration; a third party's own is [`ChunkKeys::registered`]. An
/// [`MetadataError::Unsupported`] leaves the array's metadata readable, and its elements not.
pub type BuildKeyEncoding = fn(&Object) -> Result<ChunkKeys, MetadataError>;

/// Applies a storage transformer of final v3 to an array that has it: it changes the codecs, the grid or the chunk keys to
/// those that the stored objects have. It gets the transformer's configuration.
pub type ApplyStorageTransformer = fn(&Object, &mut ArrayMetadata) -> Result<(), MetadataError>;

/// Opens a store from a URL of a registered scheme.
pub type OpenStore = fn(url: &str, access: Access) -> Result<Arc<dyn Store>, StoreError>;

/// Opens a store from a URL of a registered scheme, with options by name.
pub type OpenStoreWith = fn(
    url: &str,
    access: Access,
    options: &[(String, String)],
) -> Result<Arc<dyn Store>, StoreError>;

/// Opens a store that is stored in another, from a URL of the form `LINK::URL`: the link, which begins with a registered
/// name, and the URL of the other store, which the registry opens.
pub type OpenChain = fn(
    link: &str,
    url: &str,
    access: Access,
    registry: &Registry,
) -> Result<Arc<dyn Store>, StoreError>;

/// As [`OpenChain`], with the options by name that the chain was registered with. The registry opens other stores without them.
pub type OpenChainWith = fn(
    link: &str,
    url: &str,
    access: Access,
    registry: &Registry,
    options: &[(String, String)],
) -> Result<Arc<dyn Store>, StoreError>;

/// Opens the store that a URL names, for a [`Recognize`].
pub type OpenToRecognize<'a> = &'a dyn Fn(&str) -> Result<Arc<dyn Store>, StoreError>;

/// Looks whether data of another format are at a URL where no Zarr data are. It may block.
pub type Recognize = fn(url: &str, open: OpenToRecognize<'_>) -> Option<Recognized>;

/// Data of another format, which a registered chain reads as Zarr.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recognized {
    /// What it is: `a netCDF-3 file`.
    pub what: &'static str,
    /// The URL that opens it: `netcdf3::s3://bucket/x.nc`.
    pub url: String,
}

/// Applies a protocol extension of the drafts, which its URI names. It gets the extension's object when a hierarchy or an
/// array that has it is opened, and the array that it may change; none for an extension of the entry point (D-075 …
/// D-077, D-108).
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

/// Maps names to codecs, data types, grids, URL schemes, metadata encodings and extensions.
#[derive(Clone)]
pub struct Registry {
    codecs: HashMap<(Dialect, String), Entry>,
    data_types: Vec<BuildDataType>,
    grids: HashMap<String, BuildGrid>,
    key_encodings: HashMap<String, BuildKeyEncoding>,
    storage_transformers: HashMap<String, ApplyStorageTransformer>,
    schemes: HashMap<String, Scheme>,
    chains: HashMap<String, Chain>,
    recognizers: Vec<Recognize>,
    encodings: HashMap<String, Arc<dyn MetadataEncoding>>,
    pub(crate) extensions: HashMap<String, Understand>,
    /// For the stores that it opens; their values may be secret.
    store_options: Arc<[(String, String)]>,
    server_options: Arc<[ServerOption]>,
}

/// An option for the stores of one web server, and for no other.
#[derive(Clone)]
pub(crate) struct ServerOption {
    /// As [`web_server`] gives it.
    pub server: String,
    pub name: String,
    /// It may be secret.
    pub value: String,
}

#[derive(Clone, Copy)]
enum Scheme {
    Known(OpenStore),
    /// One that takes options.
    WithOptions(OpenStoreWith),
    /// This workspace has it, this build does not.
    LeftOut(&'static str),
}

#[derive(Clone, Copy)]
enum Chain {
    Known(OpenChain),
    /// One that takes options of these names.
    WithOptions(&'static [&'static str], OpenChainWith),
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

impl Default for Registry {
    fn default() -> Self {
        Registry::new()
    }
}

impl Registry {
    /// A registry that knows the core's data types, grids and chunk key encodings, and no codec or store.
    pub fn new() -> Self {
        let registry = Registry {
            codecs: HashMap::new(),
            data_types: Vec::new(),
            grids: HashMap::new(),
            key_encodings: HashMap::new(),
            storage_transformers: HashMap::new(),
            schemes: HashMap::new(),
            chains: HashMap::new(),
            recognizers: Vec::new(),
            encodings: HashMap::new(),
            extensions: HashMap::new(),
            store_options: Arc::default(),
            server_options: Arc::default(),
        };
        registry.with(grid::register_key_encodings)
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
    pub fn container_codec(&mut self, names: &Names, build: BuildNesting) {
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

    /// Adds a chunk key encoding of final v3 under its name.
    pub fn key_encoding(&mut self, name: &str, build: BuildKeyEncoding) {
        self.key_encodings.insert(name.to_owned(), build);
    }

    /// Adds a storage transformer of final v3 under its name.
    pub fn storage_transformer(&mut self, name: &str, apply: ApplyStorageTransformer) {
        self.storage_transformers.insert(name.to_owned(), apply);
    }

    /// Adds a store under its URL scheme, such as `file`.
    pub fn scheme(&mut self, scheme: &str, open: OpenStore) {
        self.schemes.insert(scheme.to_owned(), Scheme::Known(open));
    }

    /// Adds a store that takes options under its URL scheme, such as `s3`.
    pub fn scheme_with_options(&mut self, scheme: &str, open: OpenStoreWith) {
        self.schemes.insert(scheme.to_owned(), Scheme::WithOptions(open));
    }

    /// The same registry, which opens stores with these options.
    pub(crate) fn with_store_options(
        &self,
        options: &[(String, String)],
        of_servers: &[ServerOption],
    ) -> Registry {
        Registry {
            store_options: options.into(),
            server_options: of_servers.into(),
            ..self.clone()
        }
    }

    /// The options for the store at a URL.
    fn options_for(&self, url: &str) -> Vec<(String, String)> {
        let mut options = self.store_options.to_vec();
        options.retain(|(name, _)| !self.is_of_chain(name));
        let Some(server) = web_server(url) else { return options };
        for option in self.server_options.iter().filter(|option| option.server == server) {
            options.retain(|(name, _)| *name != option.name);
            options.push((option.name.clone(), option.value.clone()));
        }
        options
    }

    /// Adds a store that is stored in another, under the name that its URLs begin with: `zip` for
    /// `zip::s3://bucket/x.zip`.
    pub fn chain(&mut self, name: &str, open: OpenChain) {
        self.chains.insert(name.to_owned(), Chain::Known(open));
    }

    /// As [`Registry::chain`], for stores that take options of these names; other stores are opened without them.
    pub fn chain_with_options(
        &mut self,
        name: &str,
        options: &'static [&'static str],
        open: OpenChainWith,
    ) {
        self.chains.insert(name.to_owned(), Chain::WithOptions(options, open));
    }

    /// Notes the name of a chain that this build left out, and the feature that brings it.
    pub fn chain_left_out(&mut self, name: &str, feature: &'static str) {
        self.chains.insert(name.to_owned(), Chain::LeftOut(feature));
    }

    /// Adds a function that finds data of other formats where no Zarr data are; a chain that is registered, too, opens
    /// them.
    pub fn recognizer(&mut self, recognize: Recognize) {
        self.recognizers.push(recognize);
    }

    /// Data of another format at a URL, if one of the functions that are registered finds any.
    pub fn recognize(&self, url: &str, open: OpenToRecognize<'_>) -> Option<Recognized> {
        self.recognizers.iter().find_map(|recognize| recognize(url, open))
    }

    /// Whether data of other formats may be found.
    pub(crate) fn has_recognizers(&self) -> bool {
        !self.recognizers.is_empty()
    }

    /// Whether an option is one of a chain, which other stores do not have.
    fn is_of_chain(&self, option: &str) -> bool {
        self.chains.values().any(|chain| match chain {
            Chain::WithOptions(names, _) => names.contains(&option),
            _ => false,
        })
    }

    /// As [`Registry::open_store`], with these options in place of all others.
    ///
    /// # Errors
    /// As [`Registry::open_store`].
    pub fn open_store_with(
        &self,
        url: &str,
        access: Access,
        options: &[(String, String)],
    ) -> Result<Arc<dyn Store>, StoreError> {
        self.with_store_options(options, &[]).open_store(url, access)
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
    /// [`MetadataError::Unsupported`] for one that is not registered.
    pub fn metadata_encoding(&self, uri: &str) -> Result<Arc<dyn MetadataEncoding>, MetadataError> {
        self.encodings.get(uri).cloned().ok_or_else(|| {
            let hint = "documents are read as JSON; register an extension for others".into();
            Unsupported { what: "metadata encoding", name: uri.into(), hint }.into()
        })
    }

    /// The codec names known in a dialect, sorted.
    pub fn codec_names(&self, dialect: Dialect) -> Vec<&str> {
        let known = self.codecs.iter().filter(|(_, entry)| !matches!(entry, Entry::LeftOut(_)));
        let mut names: Vec<&str> =
            known.filter(|((d, _), _)| *d == dialect).map(|((_, name), _)| name.as_str()).collect();
        names.sort_unstable();
        names
    }

    /// The URL schemes whose stores can be opened, sorted.
    pub fn schemes(&self) -> Vec<&str> {
        let known = self.schemes.iter().filter(|(_, scheme)| !matches!(scheme, Scheme::LeftOut(_)));
        let mut names: Vec<&str> = known.map(|(name, _)| name.as_str()).collect();
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

    /// Builds a codec from its configuration.
    ///
    /// # Errors
    /// [`MetadataError::Unsupported`] for a name that is not known here; [`MetadataError::Invalid`] for
    /// an invalid configuration.
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
                "pickled objects are refused, because reading them can run code".into()
            }
            None => {
                let mut known = self.codec_names(spec.dialect);
                // Names with a prefix are aliases of those without.
                known.retain(|name| !name.starts_with("numcodecs.") && !name.starts_with("zarrs."));
                let meant = also_called(&spec.name)
                    .filter(|name| known.contains(name))
                    .or_else(|| crate::did_you_mean(&spec.name, known.iter().copied()));
                match meant {
                    Some(name) => format!("did you mean `{name}`?"),
                    None => format!(
                        "expected one of: {}; register an extension for others",
                        known.join(", ")
                    ),
                }
            }
        };
        Err(Unsupported { what: "codec", name: spec.name.clone(), hint }.into())
    }

    /// The data type in a document's metadata, and the byte order if they have it.
    ///
    /// Unknown metadata give [`DataType::Unknown`](crate::DataType::Unknown): unsupported is not invalid.
    ///
    /// # Errors
    /// [`MetadataError::Invalid`] for words that no reader could know.
    pub fn parse_data_type(
        &self,
        json: &Json,
        dialect: Dialect,
    ) -> Result<ParsedType, MetadataError> {
        format::parse_data_type(json, dialect, &self.data_types)
    }

    /// Makes a chunk grid from its name and configuration; `None` for an unknown name.
    ///
    /// # Errors
    /// [`MetadataError::Invalid`] for an invalid configuration.
    pub fn build_grid(
        &self,
        name: &str,
        configuration: &Object,
        shape: &[u64],
    ) -> Option<Result<Arc<dyn ChunkGrid>, MetadataError>> {
        self.grids.get(name).map(|build| build(configuration, shape))
    }

    /// Makes a chunk key encoding from its name and configuration; `None` for an unknown name.
    ///
    /// # Errors
    /// [`MetadataError::Invalid`] for an invalid configuration; [`MetadataError::Unsupported`] for one that is not understood.
    pub fn build_key_encoding(
        &self,
        name: &str,
        configuration: &Object,
    ) -> Option<Result<ChunkKeys, MetadataError>> {
        self.key_encodings.get(name).map(|build| build(configuration))
    }

    /// Applies a storage transformer to an array; `None` for an unknown name.
    ///
    /// # Errors
    /// [`MetadataError::Invalid`] for an invalid configuration.
    pub fn apply_storage_transformer(
        &self,
        name: &str,
        configuration: &Object,
        array: &mut ArrayMetadata,
    ) -> Option<Result<(), MetadataError>> {
        self.storage_transformers.get(name).map(|apply| apply(configuration, array))
    }

    /// The store that a URL names.
    ///
    /// # Errors
    /// [`StoreError::InvalidUrl`] for a scheme that is not registered; the store's own.
    pub fn open_store(&self, url: &str, access: Access) -> Result<Arc<dyn Store>, StoreError> {
        if let Some((link, rest)) = url.split_once("::")
            && let Some(chain) = self.chains.get(link.split("://").next().unwrap_or_default())
        {
            return match chain {
                Chain::Known(open) => open(link, rest, access, self),
                Chain::WithOptions(names, open) => {
                    let mut own = self.store_options.to_vec();
                    own.retain(|(name, _)| names.contains(&name.as_str()));
                    open(link, rest, access, self, &own)
                }
                Chain::LeftOut(feature) => {
                    let why = format!(
                        "the store of `{link}::` was left out of this build; enable the feature `{feature}` of `zarr`"
                    );
                    Err(StoreError::invalid_url(url, why))
                }
            };
        }
        let scheme = url.split_once("://").map_or("file", |(scheme, _)| scheme);
        let why = match self.schemes.get(scheme) {
            Some(Scheme::WithOptions(open)) => return open(url, access, &self.options_for(url)),
            Some(Scheme::Known(open)) => match self.options_for(url).first() {
                None => return open(url, access),
                Some((name, _)) => {
                    format!("stores of `{scheme}://` take no options, but `{name}` was given")
                }
            },
            Some(Scheme::LeftOut(feature)) => format!(
                "the store of `{scheme}://` was left out of this build; enable the feature `{feature}` of `zarr`"
            ),
            None if self.schemes.is_empty() => format!(
                "no store is registered for `{scheme}://`, nor any other; give the options the registry of `zarr::standard`"
            ),
            None => {
                let known = self.schemes().join(", ");
                format!("no store is registered for `{scheme}://`; expected one of: {known}")
            }
        };
        Err(StoreError::invalid_url(url, why))
    }
}

/// `gzip` of `https://purl.org/zarr/spec/codec/gzip/1.0` and its older forms (draft-v3.md 2.1, row 11).
fn draft_codec_name(uri: &str) -> &str {
    let rest = uri.strip_prefix("https://").or_else(|| uri.strip_prefix("http://"));
    let rest = rest.and_then(|r| r.strip_prefix("purl.org/zarr/spec/"));
    let rest = rest.and_then(|r| r.strip_prefix("codec/").or_else(|| r.strip_prefix("codecs/")));
    rest.map_or(uri, |rest| rest.split('/').next().unwrap_or(rest))
}

/// The codec that people call so.
fn also_called(name: &str) -> Option<&'static str> {
    Some(match &*name.to_lowercase() {
        "zstandard" => "zstd",
        "gz" => "gzip",
        "deflate" => "zlib",
        "bzip2" => "bz2",
        "xz" => "lzma",
        "lz4hc" => "lz4",
        "pco" => "pcodec",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data_type::CoreType;

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
        assert!(refusal(Dialect::V3, "sharding_indexed").contains("; expected one of: "));
        assert!(registry.codec_names(Dialect::V2).is_empty() && registry.schemes().is_empty());

        let refusal = |url| registry.open_store(url, Access::ReadOnly).expect_err(url).to_string();
        assert!(refusal("tape://1").ends_with("enable the feature `tapes` of `zarr`"));
        assert!(
            refusal("disk://1")
                .ends_with("no store is registered for `disk://`; expected one of: ")
        );
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
