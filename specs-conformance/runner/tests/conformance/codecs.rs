//! Checks that `docs/codecs.md` names every codec, has a section for each, and says why others are not here.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use libtest_mimic::Trial;
use zarr::{Dialect, Registry};

use crate::Check;

/// What stands in the registry of final v3 (July 2026) and what numcodecs 0.16 registers: all that data in
/// the wild name (v3-final.md 0, v3-final.md 4, Z2-060).
const IN_THE_WILD: &[&str] = &[
    "adler32",
    "astype",
    "base64",
    "bitround",
    "blosc",
    "bytes",
    "bz2",
    "cast_value",
    "categorize",
    "conditional",
    "crc32",
    "crc32c",
    "delta",
    "fixedscaleoffset",
    "fletcher32",
    "gzip",
    "jenkins_lookup3",
    "json",
    "json2",
    "lz4",
    "lzma",
    "msgpack",
    "msgpack2",
    "n5_default",
    "numcodecs.zfpy",
    "packbits",
    "pcodec",
    "pickle",
    "quantize",
    "reshape",
    "scale_offset",
    "sharding_indexed",
    "shuffle",
    "transpose",
    "vlen-array",
    "vlen-bytes",
    "vlen-utf8",
    "zfp",
    "zfpy",
    "zlib",
    "zstd",
];

/// The test that the page is true.
pub fn trial(home: &Path) -> Trial {
    let page = home.join("../docs/codecs.md");
    Trial::test("docs/codecs", move || check(&page).map_err(Into::into))
}

fn check(page: &Path) -> Check {
    let text = fs::read_to_string(page).map_err(|e| format!("{}: {e}", page.display()))?;
    let (here, rest) = text.split_once("\n## Not here\n").ok_or("the page has no `Not here`")?;
    let (others, sections) = rest.split_once("\n## ").ok_or("the page has no sections")?;
    let registry = zarr::standard();
    let mut named = BTreeSet::new();
    for (column, dialect) in [(1, Dialect::V3), (2, Dialect::V2), (3, Dialect::Draft)] {
        let said: BTreeSet<&str> = rows(here).flat_map(|cells| names(cells[column])).collect();
        let known: BTreeSet<&str> = registry.codec_names(dialect).into_iter().collect();
        if said != known {
            let differ: Vec<_> = said.symmetric_difference(&known).collect();
            return Err(format!("the page and the registry differ in {dialect}: {differ:?}"));
        }
        named.extend(said);
    }
    linked(here, sections)?;
    let others: BTreeSet<&str> = rows(others).flat_map(|cells| names(cells[0])).collect();
    let both: Vec<_> = named.intersection(&others).collect();
    let neither = |name: &&&str| !named.contains(**name) && !others.contains(**name);
    let neither: Vec<_> = IN_THE_WILD.iter().filter(neither).collect();
    if both.is_empty() && neither.is_empty() {
        refused(&registry, &others)
    } else {
        Err(format!("known, and not here: {both:?}; not on the page: {neither:?}"))
    }
}

/// The cells of each row of a table.
fn rows(text: &str) -> impl Iterator<Item = Vec<&str>> {
    let rows = text.lines().filter(|line| line.starts_with('|') && line.contains('`'));
    rows.map(|row| row.trim_matches('|').split('|').map(str::trim).collect())
}

/// What stands between backquotes.
fn names(cell: &str) -> impl Iterator<Item = &str> {
    cell.split('`').skip(1).step_by(2)
}

/// Each section has a row, and each row a section.
fn linked(table: &str, sections: &str) -> Check {
    let headings = sections.lines().filter_map(|line| line.strip_prefix("### "));
    let headings: BTreeSet<&str> = headings.collect();
    let links = rows(table).filter_map(|cells| cells[0].split_once("](#")?.1.strip_suffix(')'));
    let links: BTreeSet<&str> = links.collect();
    if links == headings {
        Ok(())
    } else {
        Err(format!("links and sections: {:?}", links.symmetric_difference(&headings)))
    }
}

/// An array with such a codec opens; the error on reading names the codec.
fn refused(registry: &Registry, others: &BTreeSet<&str>) -> Check {
    use zarr::codec::{ChunkContext, CodecSpec};
    for name in others {
        let context = ChunkContext::new(zarr::data_type::CoreType::Float32, [4]);
        let spec = CodecSpec::v3(*name, zarr::Object::new());
        let error = registry.build_codec(&spec, &context).map(|_| ()).unwrap_err().to_string();
        if !error.contains(&format!("codec `{name}` is not supported")) {
            return Err(format!("{name}: {error}"));
        }
    }
    Ok(())
}
