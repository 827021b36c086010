//! Writes plans as JSON, and reads them.

use std::collections::{BTreeMap, BTreeSet};

use zarr_core::store::StoreKey;
use zarr_core::{Json, MissingChunks, NodePath, Object};

use super::files::PlannedFile;
use super::plan::{Plan, PlannedArray, PlannedDocument, Role, Told};
use super::same_place::SourceStore;
use super::split::Part;
use super::{CodecRule, CopyOptions, ShapeRule, Steps};

/// The version of the form.
const VERSION: u64 = 2;

/// What is asked for a copy to a netCDF dataset.
pub(super) const DATASET: &str = "netcdf";
/// That all chunks are encoded again.
pub(super) const RECODE: &str = "recode";
/// That OME-Zarr metadata stay as they are.
pub(super) const KEEP_ATTRIBUTES: &str = "keep_attributes";
/// That chunks which the source does not store are errors.
pub(super) const NO_MISSING: &str = "no_missing";
/// The file of digests that the source is checked against.
pub(super) const MANIFEST: &str = "manifest";

impl Plan {
    /// The plan as JSON, to be read by [`Plan::from_json`].
    pub fn to_json(&self) -> String {
        Json::from(self.to_object()).to_string()
    }

    /// The plan that [`Plan::to_json`] wrote.
    ///
    /// # Errors
    /// [`MetadataError::Json`](zarr_core::MetadataError::Json) for a text that is none.
    pub fn from_json(text: &str) -> zarr_core::Result<Plan> {
        let plan = Json::parse(text.as_bytes()).and_then(|json| Plan::from_value(&json));
        plan.map_err(|why| zarr_core::MetadataError::Json(why).into())
    }

    fn to_object(&self) -> Object {
        let options = self.store_options.iter();
        let options: Object =
            options.map(|(name, value)| (name.clone(), value.as_str().into())).collect();
        let source = Object::new()
            .with("store", self.store.as_str())
            .with("options", options)
            .with("path", self.from.as_str());
        let target =
            Object::new().with("path", self.at.as_str()).with("format", self.format.as_str());
        Object::new()
            .with("zarr_copy", VERSION)
            .with("source", source)
            .with("target", target)
            .with("asked", self.asked.clone())
            .with("fingerprint", self.fingerprint.as_str())
            .with("content", self.content.as_deref().map_or(Json::Null, Json::from))
            .with("begun", self.begun.as_str())
            .with("arrays", self.arrays.iter().map(of_array).collect::<Json>())
            .with("files", self.files.iter().map(of_file).collect::<Json>())
            .with("documents", self.documents.iter().map(of_document).collect::<Json>())
            .with(
                "consolidated",
                self.consolidated.iter().map(|path| Json::from(path.as_str())).collect::<Json>(),
            )
            .with("parts", self.parts.iter().map(Part::to_json).collect::<Json>())
    }

    pub(super) fn from_value(json: &Json) -> Result<Plan, String> {
        let plan = json.as_object().ok_or("it is not an object")?;
        if plan.get("zarr_copy").and_then(Json::as_u64) != Some(VERSION) {
            return Err(format!("its `zarr_copy` is not {VERSION}"));
        }
        read(plan).ok_or_else(|| "a member is missing or has another form".into())
    }

    /// What of this plan the other has otherwise, if anything that matters.
    pub(super) fn difference(&self, other: &Plan) -> Option<String> {
        if (&self.store, &self.from) != (&other.store, &other.from) {
            return Some(format!("its source is {} at {}", self.from, self.store));
        }
        if self.format != other.format {
            return Some(format!("its format is {}", self.format));
        }
        let names = self.asked.iter().chain(other.asked.iter()).map(|(name, _)| name);
        if let Some(name) = names.into_iter().find(|it| self.asked.get(it) != other.asked.get(it)) {
            let value = self.asked.get(name).map_or("the default".into(), Json::to_string);
            return Some(format!("its `{name}` is {value}"));
        }
        if self.parts.len() != other.parts.len() {
            return Some(format!("it has {} parts", self.parts.len()));
        }
        if self.files != other.files {
            return Some("files of the source have been added or erased since it began".into());
        }
        let same = self.fingerprint == other.fingerprint
            && self.arrays == other.arrays
            && self.documents == other.documents
            && self.consolidated == other.consolidated
            && self.parts == other.parts;
        if !same {
            return Some("the metadata of the source have changed since it began".into());
        }
        let contents = self.content.as_ref().zip(other.content.as_ref());
        let is_changed = contents.is_some_and(|(one, other)| one != other);
        is_changed.then(|| "chunks of the source have been written since it began".into())
    }
}

fn of_array(array: &PlannedArray) -> Json {
    let region = array.region.as_ref();
    let region = region.map_or(Json::Null, |region| region.iter().map(of_steps).collect());
    Object::new()
        .with("from", array.from.as_str())
        .with("to", array.to.as_str())
        .with("region", region)
        .with("leaves_holes", array.leaves_holes)
        .with("chunks", array.chunks)
        .with("bytes", array.bytes)
        .with("unit", array.unit)
        .with("recoded", array.recoded.as_deref().map_or(Json::Null, Json::from))
        .into()
}

fn of_steps(steps: &Steps) -> Json {
    Json::from([Json::from(steps.start), steps.step.into(), steps.len.into()])
}

fn of_file(file: &PlannedFile) -> Json {
    let mut keys = vec![file.from.as_str(), file.to.as_str()];
    if file.is_of_array {
        keys.push("array");
    }
    Json::from(keys)
}

fn of_document(document: &PlannedDocument) -> Json {
    let object =
        Object::new().with("path", document.path.as_str()).with("key", document.key.as_str()).with(
            "role",
            match document.role {
                Role::Node => "node",
                Role::Merged => "merged",
                Role::Above => "above",
            },
        );
    match std::str::from_utf8(&document.value) {
        Ok(text) => object.with("text", text).into(),
        Err(_) => {
            let bytes = document.value.iter().map(|&byte| Json::from(u64::from(byte)));
            object.with("bytes", bytes.collect::<Json>()).into()
        }
    }
}

fn read(plan: &Object) -> Option<Plan> {
    let (source, target) = (object_of(plan, "source")?, object_of(plan, "target")?);
    let options = object_of(&source, "options")?;
    let options = options.iter().map(|(name, value)| Some((name.into(), value.as_str()?.into())));
    // Older plans have none.
    let files = match plan.get("files") {
        Some(files) => files.as_array()?.iter().map(read_file).collect::<Option<_>>()?,
        None => Vec::new(),
    };
    let arrays: Vec<PlannedArray> =
        list_of(plan, "arrays")?.iter().map(read_array).collect::<Option<_>>()?;
    let counts: Vec<u64> = arrays.iter().map(|array| array.chunks).collect();
    Some(Plan {
        store: text_of(&source, "store")?,
        store_options: options.collect::<Option<_>>()?,
        reader: SourceStore::default(),
        from: path_of(&source, "path")?,
        at: path_of(&target, "path")?,
        format: text_of(&target, "format")?,
        asked: object_of(plan, "asked")?,
        fingerprint: text_of(plan, "fingerprint")?,
        content: text_of(plan, "content"),
        begun: text_of(plan, "begun")?,
        documents: list_of(plan, "documents")?.iter().map(read_document).collect::<Option<_>>()?,
        consolidated: list_of(plan, "consolidated")?
            .iter()
            .map(|json| NodePath::new(json.as_str()?).ok())
            .collect::<Option<_>>()?,
        parts: list_of(plan, "parts")?
            .iter()
            .map(|json| Part::from_json(json, &counts))
            .collect::<Option<_>>()?,
        arrays,
        files,
        told: Told::default(),
    })
}

/// A member that is a list.
fn list_of<'a>(object: &'a Object, name: &str) -> Option<&'a [Json]> {
    object.get(name)?.as_array()
}

/// A member that is a list of texts.
fn texts_of(object: &Object, name: &str) -> Option<Vec<String>> {
    list_of(object, name)?.iter().map(|text| text.as_str().map(str::to_owned)).collect()
}

/// A member that is a list of lengths.
fn shape_of(object: &Object, name: &str) -> Option<Vec<u64>> {
    list_of(object, name)?.iter().map(Json::as_u64).collect()
}

/// A member that is an object.
fn object_of(object: &Object, name: &str) -> Option<Object> {
    object.get(name)?.as_object().cloned()
}

/// A member that is a text.
fn text_of(object: &Object, name: &str) -> Option<String> {
    object.get(name)?.as_str().map(str::to_owned)
}

/// A member that is a node's path.
fn path_of(object: &Object, name: &str) -> Option<NodePath> {
    NodePath::new(object.get(name)?.as_str()?).ok()
}

fn read_array(json: &Json) -> Option<PlannedArray> {
    let of = json.as_object()?;
    let region = match of.get("region")? {
        Json::Null => None,
        region => Some(region.as_array()?.iter().map(read_steps).collect::<Option<_>>()?),
    };
    Some(PlannedArray {
        from: path_of(of, "from")?,
        to: path_of(of, "to")?,
        region,
        leaves_holes: of.get("leaves_holes")?.as_bool()?,
        chunks: of.get("chunks")?.as_u64()?,
        bytes: of.get("bytes")?.as_u64()?,
        unit: of.get("unit")?.as_u64()?,
        recoded: of.get("recoded").and_then(Json::as_str).map(str::to_owned),
    })
}

fn read_steps(json: &Json) -> Option<Steps> {
    let [start, step, len] = json.as_array()? else { return None };
    Some(Steps { start: start.as_u64()?, step: step.as_i64()?, len: len.as_u64()? })
}

fn read_file(json: &Json) -> Option<PlannedFile> {
    let [from, to, rest @ ..] = json.as_array()? else { return None };
    let is_of_array = !rest.is_empty();
    Some(PlannedFile { from: key_of(from)?, to: key_of(to)?, is_of_array })
}

/// A text that is a store's key.
fn key_of(json: &Json) -> Option<StoreKey> {
    StoreKey::new(json.as_str()?).ok()
}

fn read_document(json: &Json) -> Option<PlannedDocument> {
    let of = json.as_object()?;
    let value = match of.get("text") {
        Some(text) => text.as_str()?.as_bytes().to_vec(),
        None => of
            .get("bytes")?
            .as_array()?
            .iter()
            .map(|json| u8::try_from(json.as_u64()?).ok())
            .collect::<Option<_>>()?,
    };
    let role = match of.get("role")?.as_str()? {
        "node" => Role::Node,
        "merged" => Role::Merged,
        "above" => Role::Above,
        _ => return None,
    };
    let path = NodePath::new(of.get("path")?.as_str()?).ok()?;
    let key = StoreKey::new(of.get("key")?.as_str()?).ok()?;
    Some(PlannedDocument { path, key, value, role })
}

impl CopyOptions<'_> {
    /// What is asked for, without what the copy does not depend on; a member for each option that has no default.
    pub(super) fn to_json(&self) -> Object {
        let mut asked = Object::new();
        let texts =
            |texts: &[String]| texts.iter().map(|text| text.as_str().into()).collect::<Json>();
        for (name, shape) in [("chunks", &self.chunks), ("shards", &self.shards)] {
            if let Some(shape) = shape {
                asked.insert(name, &shape[..]);
            }
        }
        if let Some(codecs) = &self.codecs {
            asked.insert("codecs", texts(codecs));
        }
        for (name, rules) in
            [("chunk_rules", &self.chunk_rules), ("shard_rules", &self.shard_rules)]
        {
            if !rules.is_empty() {
                asked.insert(name, rules.iter().map(ShapeRule::to_json).collect::<Json>());
            }
        }
        if !self.codec_rules.is_empty() {
            let rules = self.codec_rules.iter().map(CodecRule::to_json);
            asked.insert("codec_rules", rules.collect::<Json>());
        }
        let lists =
            [("include", &self.include), ("exclude", &self.exclude), ("select", &self.select)];
        for (name, list) in lists.into_iter().filter(|(_, list)| !list.is_empty()) {
            asked.insert(name, texts(list));
        }
        if let Some(only) = &self.only {
            let only: BTreeSet<&str> = only.iter().map(NodePath::as_str).collect();
            asked.insert("only", only.into_iter().map(Json::from).collect::<Json>());
        }
        if !self.regions.is_empty() {
            let regions = self.regions.iter().map(|(path, region)| {
                let region: Json = region.iter().map(of_steps).collect();
                (path.to_string(), region)
            });
            asked.insert("regions", regions.collect::<Object>());
        }
        if self.skip_unsupported {
            asked.insert("skip_unsupported", true);
        }
        if self.recode {
            asked.insert(RECODE, true);
        }
        if self.keep_keys {
            asked.insert("keep_keys", true);
        }
        if self.keep_attributes {
            asked.insert(KEEP_ATTRIBUTES, true);
        }
        if self.missing == MissingChunks::Error {
            asked.insert(NO_MISSING, true);
        }
        if self.no_extra_files {
            asked.insert("no_extra_files", true);
        }
        if let Some(file) = &self.manifest {
            asked.insert(MANIFEST, file.as_str());
        }
        asked
    }

    /// These options, and what a copy under way was asked for where they have the default.
    pub(super) fn completed_by(&self, asked: &Object) -> Self {
        let mut options = self.clone();
        options.chunks = options.chunks.or_else(|| shape_of(asked, "chunks"));
        options.shards = options.shards.or_else(|| shape_of(asked, "shards"));
        options.codecs = options.codecs.or_else(|| texts_of(asked, "codecs"));
        for (name, rules) in
            [("chunk_rules", &mut options.chunk_rules), ("shard_rules", &mut options.shard_rules)]
        {
            if rules.is_empty() {
                *rules = list_of(asked, name)
                    .unwrap_or_default()
                    .iter()
                    .filter_map(ShapeRule::from_json)
                    .collect();
            }
        }
        if options.codec_rules.is_empty() {
            let rules = list_of(asked, "codec_rules").unwrap_or_default().iter();
            options.codec_rules = rules.filter_map(CodecRule::from_json).collect();
        }
        for (name, list) in [
            ("include", &mut options.include),
            ("exclude", &mut options.exclude),
            ("select", &mut options.select),
        ] {
            if list.is_empty() {
                *list = texts_of(asked, name).unwrap_or_default();
            }
        }
        options.only = options.only.or_else(|| {
            texts_of(asked, "only")?.into_iter().map(|path| NodePath::new(&path).ok()).collect()
        });
        if options.regions.is_empty()
            && let Some(regions) = asked.get("regions").and_then(Json::as_object)
        {
            options.regions = regions.iter().filter_map(region_of).collect::<BTreeMap<_, _>>();
        }
        options.skip_unsupported |= asked.contains("skip_unsupported");
        options.recode |= asked.contains(RECODE);
        options.keep_keys |= asked.contains("keep_keys");
        options.keep_attributes |= asked.contains(KEEP_ATTRIBUTES);
        if asked.contains(NO_MISSING) {
            options.missing = MissingChunks::Error;
        }
        options.no_extra_files |= asked.contains("no_extra_files");
        // Another process may find the same file elsewhere.
        options.manifest = asked.get(MANIFEST).and_then(Json::as_str).map(str::to_owned);
        options
    }
}

fn region_of((path, region): (&str, &Json)) -> Option<(NodePath, Vec<Steps>)> {
    let region = region.as_array()?.iter().map(read_steps).collect::<Option<_>>()?;
    Some((NodePath::new(path).ok()?, region))
}
