//! Names the clause of `docs/internals/spec` that a document breaks.

use zarr_core::{Cause, Dialect, MetadataError};

/// The clause on a member of a document: v3, v2, drafts.
const MEMBERS: [(&str, [Option<&str>; 3]); 19] = [
    ("zarr_format", [Some("F-003"), Some("Z2-011"), Some("D-071")]),
    ("node_type", [Some("F-004"), None, None]),
    ("shape", [Some("F-008"), Some("Z2-012"), Some("D-082")]),
    ("chunks", [None, Some("Z2-012"), None]),
    ("chunk_shape", [Some("F-060"), Some("Z2-012"), Some("D-104")]),
    ("chunk_grid", [Some("F-060"), None, Some("D-104")]),
    ("data_type", [Some("F-030"), None, Some("D-100")]),
    ("dtype", [None, Some("Z2-030"), None]),
    ("fill_value", [Some("F-031"), Some("Z2-050"), Some("D-110")]),
    ("attributes", [Some("F-009"), Some("Z2-006"), Some("D-107")]),
    (".zattrs", [None, Some("Z2-006"), None]),
    ("dimension_names", [Some("F-010"), None, None]),
    ("storage_transformers", [Some("F-011"), None, None]),
    ("codecs", [Some("F-070"), Some("Z2-016"), Some("D-106")]),
    ("chunk_key_encoding", [Some("F-068"), None, None]),
    ("order", [None, Some("Z2-014"), None]),
    ("dimension_separator", [None, Some("Z2-015"), None]),
    ("filters", [None, Some("Z2-016"), None]),
    ("compressor", [None, Some("Z2-016"), Some("D-106")]),
];

/// The clause that documents must be JSON.
pub(super) fn not_json(dialect: Dialect) -> &'static str {
    pick(dialect, ["F-002", "Z2-007", "D-123"])
}

/// The clause that an error of parsing is about.
pub(super) fn of_error(dialect: Dialect, error: &MetadataError) -> Option<&'static str> {
    match error {
        MetadataError::Json(text) => of_text(dialect, text).or(Some(not_json(dialect))),
        MetadataError::Missing("fill_value") => of_member(dialect, "fill_value"),
        MetadataError::Missing(_) => Some(pick(dialect, ["F-005", "Z2-010", "D-080"])),
        MetadataError::Invalid { member, .. } => of_member(dialect, member),
        _ => None,
    }
}

/// The clause that a warning is about, by the member that it names first.
pub(super) fn of_text(dialect: Dialect, text: &str) -> Option<&'static str> {
    if text.contains("is missing") {
        return Some(pick(dialect, ["F-005", "Z2-010", "D-080"]));
    }
    let mut named = text.split('`').skip(1).step_by(2);
    let member = named.find_map(|name| of_member(dialect, name));
    let is_json = ["byte order mark", "twice", "NaN", "Infinity"];
    let json = is_json.iter().any(|what| text.contains(what)).then(|| not_json(dialect));
    member.or(json).or_else(|| (dialect == Dialect::V3).then_some("F-012"))
}

fn of_member(dialect: Dialect, member: &str) -> Option<&'static str> {
    let name = member.split([':', '.', '[', ' ']).find(|part| !part.is_empty())?;
    let name = if member.starts_with(".zattrs") { ".zattrs" } else { name };
    let (_, clauses) = MEMBERS.iter().find(|(known, _)| *known == name)?;
    pick(dialect, *clauses)
}

/// The clause that the entry point of a draft breaks.
pub(super) fn entry_point(cause: &Cause) -> Option<&'static str> {
    match cause {
        Cause::Metadata(MetadataError::Json(_)) => Some("D-070"),
        Cause::Metadata(MetadataError::Invalid { member, .. }) => Some(match member.as_str() {
            "zarr_format" => "D-071",
            "metadata_encoding" => "D-073",
            "metadata_key_suffix" => "D-074",
            "extensions" => "D-075",
            _ => "D-070",
        }),
        Cause::Metadata(MetadataError::Missing(_)) => Some("D-070"),
        _ => None,
    }
}

fn pick<T>(dialect: Dialect, [v3, v2, draft]: [T; 3]) -> T {
    match dialect {
        Dialect::V3 => v3,
        Dialect::V2 => v2,
        _ => draft,
    }
}
