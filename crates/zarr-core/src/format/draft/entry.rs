//! Reads the entry point `zarr.json`, and tells which draft it follows (D-070 … D-078, draft-v3.md 2.2).

use std::sync::Arc;

use super::members::{Version, version};
use super::{Draft, extensions};
use crate::dialect::Era;
use crate::error::{AccessError, MetadataError, Unsupported};
use crate::format::Reading;
use crate::format::encoding::{CORE, JsonEncoding, MetadataEncoding};
use crate::json::{Json, Object};
use crate::path::NodePath;
use crate::store::StoreKey;

const MEMBERS: [&str; 4] =
    ["zarr_format", "metadata_encoding", "metadata_key_suffix", "extensions"];

fn text<'a>(object: &'a Object, member: &'static str) -> Result<&'a str, MetadataError> {
    match object.get(member) {
        None => Err(MetadataError::Missing(member)),
        Some(Json::String(text)) => Ok(text.as_str()),
        Some(other) => {
            Err(MetadataError::invalid(member, format!("expected a URI, found {}", other.kind())))
        }
    }
}

fn unsupported(what: &'static str, name: &str, hint: &str) -> MetadataError {
    Unsupported { what, name: name.into(), hint: hint.into() }.into()
}

/// The node that the segments of a path below an entry point name. They may be those of its document or of one of its chunks;
/// without segments it is the root.
pub(crate) fn node_below(segments: &[&str]) -> Result<NodePath, AccessError> {
    let mut names = segments.to_vec();
    if names.len() >= 2 && matches!(names[0], "meta" | "data") && names[1] == "root" {
        names.drain(..2);
        if let Some(last) = names.last_mut() {
            let end = last.find(".array").or_else(|| last.find(".group")).unwrap_or(last.len());
            *last = &last[..end];
        }
    }
    NodePath::new(&names.join("/"))
}

/// The format that an entry point describes. `asked` is the era that the caller is sure of.
///
/// # Errors
/// For an entry point that breaks the specification, or is none of these drafts'.
pub(crate) fn parse(
    object: &Object,
    asked: Option<Era>,
    reading: &mut Reading<'_>,
) -> Result<Draft, MetadataError> {
    let format = text(object, "zarr_format")?;
    let mut frozen = None;
    match version(format) {
        Some(Version { minor: 0 }) => {}
        // A later minor version may be read, and is not written (Q19).
        Some(_) if asked.is_none() => {
            let what = format!("`{format}` is a later version than 3.0; what it adds is ignored");
            reading.warnings.push(what);
            frozen = Some(format!(
                "{format} is a later version than this library writes; open it as `draft-2020` to write it all the same"
            ));
        }
        Some(_) => {}
        None if asked.is_some() => {
            reading.tolerate_member(
                "zarr_format",
                "it is not the URI of the drafts; read as requested",
            )?;
        }
        None => {
            let hint = "only the core protocol 3.0 of 2019 to 2020 is known; request `draft-2020` to read it as that";
            return Err(unsupported("format", format, hint));
        }
    }
    let declared = text(object, "metadata_encoding")?;
    let json = [CORE, "http://purl.org/zarr/spec/protocol/core/3.0", "application/json"];
    let encoding: Arc<dyn MetadataEncoding> = if json.contains(&declared) {
        Arc::new(JsonEncoding)
    } else {
        reading.registry.metadata_encoding(declared)?
    };
    let suffix = match object.get("metadata_key_suffix") {
        Some(_) => Some(text(object, "metadata_key_suffix")?.to_owned()),
        None => None,
    };
    if let Some(suffix) = &suffix
        && !suffix.bytes().all(|b| b.is_ascii_alphanumeric() || b"._-".contains(&b))
    {
        let why = format!("`{}` cannot end a key", suffix.escape_debug());
        return Err(MetadataError::invalid("metadata_key_suffix", why));
    }
    let era = match (asked, declared, &suffix) {
        (Some(era), _, _) => era,
        (None, "application/json", _) => Era::E2,
        (None, _, Some(_)) => Era::E4,
        // Whether it is E3 the documents tell; see `Draft::with_suffix_of`.
        (None, _, None) => Era::E4,
    };
    let mut unsupported = Vec::new();
    extensions::of_entry_point(object, reading, &mut unsupported)?;
    for name in object.iter().map(|(name, _)| name).filter(|name| !MEMBERS.contains(name)) {
        reading.tolerate_member(name, "it is not a member of an entry point")?;
    }
    if era < Era::E4 {
        frozen = Some(frozen_era(era));
    }
    let needs_suffix = suffix.is_none() && era == Era::E4 && asked.is_none();
    let default = if era < Era::E4 { "" } else { encoding.key_suffix() };
    Ok(Draft {
        era,
        suffix: suffix.unwrap_or_else(|| default.to_owned()),
        encoding,
        frozen,
        unsupported,
        text: false,
        needs_suffix,
    })
}

/// Q26: the drafts before October 2020 are read only.
pub(super) fn frozen_era(era: Era) -> String {
    format!(
        "this is a draft of {} ({}), which is read-only; copy it to another format",
        if era == Era::E3 { "September 2020" } else { "2019" },
        era.name()
    )
}

impl Draft {
    /// Whether only the documents' keys tell the suffix, since the entry point says none.
    pub(crate) fn needs_suffix(&self) -> bool {
        self.needs_suffix
    }

    /// Takes the suffix that the keys below `meta/` have: the default, or none at all (draft-v3.md 2.2).
    pub(crate) fn with_suffix_of(
        mut self,
        keys: &[StoreKey],
        reading: &mut Reading<'_>,
    ) -> Result<Self, MetadataError> {
        self.needs_suffix = false;
        if !has_documents(keys, &self.suffix) && has_documents(keys, "") {
            self.era = Era::E3;
            self.suffix = String::new();
            self.frozen = Some(frozen_era(Era::E3));
            return Ok(self);
        }
        let what = format!("it is missing; taken as `{}`", self.suffix);
        reading.tolerate_member("metadata_key_suffix", &what)?;
        Ok(self)
    }
}

/// Whether some of the keys are those of documents with this suffix.
fn has_documents(keys: &[StoreKey], suffix: &str) -> bool {
    let ends = [format!(".array{suffix}"), format!(".group{suffix}")];
    keys.iter().any(|key| ends.iter().any(|end| key.as_str().ends_with(end.as_str())))
}
