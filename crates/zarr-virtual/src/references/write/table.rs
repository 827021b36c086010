//! The references that are written: what each key is, and the file that says so.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::io::{self, Write};
use std::path::{Component, Path, PathBuf};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use zarr_core::store::Bytes;
use zarr_core::{Json, Result, without_secrets};

use super::input::key_below;
use super::refused;
use crate::location::local_path;
use crate::reach;
use crate::target::Target;

/// The most bytes of all chunks that are inlined.
const MAX_INLINED_BYTES: u64 = 256 << 20;

/// How targets are written.
#[derive(Clone, Copy, Debug)]
pub enum TargetUrls<'a> {
    /// Local files by their absolute paths, others by their URLs.
    Absolute,
    /// Local files by their paths from this folder, which is the one of the reference file. All targets must be local.
    RelativeTo(&'a Path),
}

/// What a key of a chunk refers to.
#[derive(Debug)]
enum Value {
    Inline(Bytes),
    /// An index of [`Table::urls`], an offset and a length.
    Part(u32, u64, u64),
    /// An index of [`Table::urls`].
    Whole(u32),
}

/// The references of a file that is to be written.
#[derive(Debug, Default)]
pub(super) struct Table {
    documents: BTreeMap<String, String>,
    chunks: BTreeMap<String, Value>,
    /// The URLs of the targets, each once.
    urls: Vec<String>,
    indices: HashMap<String, u32>,
    inlined: usize,
    inlined_bytes: u64,
}

impl Table {
    pub fn add_document(&mut self, key: &str, text: String) {
        self.documents.insert(key.to_owned(), text);
    }

    pub fn add_inline(&mut self, key: String, bytes: Bytes) -> Result<()> {
        self.inlined += 1;
        self.inlined_bytes = self.inlined_bytes.saturating_add(bytes.len() as u64);
        if self.inlined_bytes > MAX_INLINED_BYTES {
            return Err(refused(format!(
                "`{key}`: the chunks that would be inlined have more than {} MiB; leave out their arrays with `--exclude`, \
                 lower `--inline`, or copy the files with `zarr copy`",
                MAX_INLINED_BYTES >> 20
            )));
        }
        self.chunks.insert(key, Value::Inline(bytes));
        Ok(())
    }

    pub fn add_part(
        &mut self,
        key: String,
        target: &Target,
        offset: u64,
        length: u64,
    ) -> Result<()> {
        let url = self.index(target)?;
        self.chunks.insert(key, Value::Part(url, offset, length));
        Ok(())
    }

    pub fn add_whole(&mut self, key: String, target: &Target) -> Result<()> {
        let url = self.index(target)?;
        self.chunks.insert(key, Value::Whole(url));
        Ok(())
    }

    /// Removes the chunks of an array.
    pub fn remove_chunks(&mut self, path: &str) {
        let prefix = key_below(path, "");
        self.chunks.retain(|key, value| {
            let is_of_array = key.starts_with(&prefix);
            if let (true, Value::Inline(bytes)) = (is_of_array, value) {
                self.inlined -= 1;
                self.inlined_bytes -= bytes.len() as u64;
            }
            !is_of_array
        });
    }

    fn index(&mut self, target: &Target) -> Result<u32> {
        let url = target.name();
        if let Some(index) = self.indices.get(&url) {
            return Ok(*index);
        }
        let index = u32::try_from(self.urls.len())
            .map_err(|_| refused("references to more than 2^32 targets".to_owned()))?;
        self.urls.push(url.clone());
        self.indices.insert(url, index);
        Ok(index)
    }

    pub fn references(&self) -> usize {
        self.chunks.len() - self.inlined
    }

    pub fn inlined(&self) -> usize {
        self.inlined
    }

    pub fn target_urls(&self, style: TargetUrls<'_>) -> Result<Vec<String>> {
        let folder = match style {
            TargetUrls::Absolute => None,
            TargetUrls::RelativeTo(folder) => Some(real_folder(folder)),
        };
        self.urls
            .iter()
            .map(|url| {
                written_url(url, folder.as_deref()).map_err(|why| {
                    refused(format!("references cannot name {}: {why}", without_secrets(url)))
                })
            })
            .collect()
    }

    /// The folders of the targets.
    pub fn target_folders(&self) -> BTreeSet<&str> {
        self.urls.iter().filter_map(|url| url.rsplit_once('/')).map(|(folder, _)| folder).collect()
    }

    /// Writes documents first, the root's before all others: that is how readers recognize the file by its first bytes.
    pub fn write_json(&self, urls: &[String], out: &mut dyn Write) -> io::Result<()> {
        let mut documents: Vec<(&String, &String)> = self.documents.iter().collect();
        documents.sort_by_key(|(key, _)| (key.matches('/').count(), key.as_str()));
        let urls: Vec<String> = urls.iter().map(|url| quoted(url)).collect();
        write!(out, "{{\"version\":1,\"refs\":{{")?;
        let mut separator = "\n";
        for (key, text) in documents {
            write!(out, "{separator}{}:{}", quoted(key), quoted(text))?;
            separator = ",\n";
        }
        for (key, value) in &self.chunks {
            write!(out, "{separator}{}:", quoted(key))?;
            separator = ",\n";
            match value {
                Value::Inline(bytes) => write!(out, "\"base64:{}\"", STANDARD.encode(bytes))?,
                Value::Part(url, offset, length) => {
                    write!(out, "[{},{offset},{length}]", urls[*url as usize])?;
                }
                Value::Whole(url) => write!(out, "[{}]", urls[*url as usize])?,
            }
        }
        writeln!(out, "\n}}}}")
    }
}

/// A text in JSON.
fn quoted(text: &str) -> String {
    Json::from(text).to_string()
}

/// A target as it is written; from a folder, if one is given.
fn written_url(url: &str, folder: Option<&Path>) -> Result<String, String> {
    if url.contains("::") {
        return Err("it is in a chain of stores, which other programs cannot open".to_owned());
    }
    let written = match (local_path(url), folder) {
        (Some(path), None) => path_text(&real_file(&path))?,
        (Some(path), Some(folder)) => path_text(&relative(&real_file(&path), folder))?,
        (None, Some(_)) => {
            return Err("it is not a local file; leave out `--relative`".to_owned());
        }
        (None, None) => {
            // What readers refuse, as a password in it, must not be written.
            reach::check_url(url)?;
            url.to_owned()
        }
    };
    // Readers take this for a template.
    if written.contains("{{") || written.contains("{%") {
        return Err("its name contains `{{` or `{%`, which begin templates; rename it".to_owned());
    }
    Ok(written)
}

/// A folder without symbolic links, as far as it exists.
fn real_folder(folder: &Path) -> PathBuf {
    let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    let absolute = std::path::absolute(folder).unwrap_or_else(|_| folder.to_owned());
    absolute.canonicalize().unwrap_or(absolute)
}

/// The same of a file, which itself may be a symbolic link.
fn real_file(path: &Path) -> PathBuf {
    match (path.parent(), path.file_name()) {
        (Some(folder), Some(name)) => real_folder(folder).join(name),
        _ => path.to_owned(),
    }
}

/// The path of `place` from the folder `from`, both absolute and without links.
fn relative(place: &Path, from: &Path) -> PathBuf {
    let common = place.components().zip(from.components()).take_while(|(a, b)| a == b).count();
    let up = from.components().skip(common).map(|_| Component::ParentDir);
    up.chain(place.components().skip(common)).collect()
}

fn path_text(path: &Path) -> Result<String, String> {
    let text = path.to_str().ok_or("its path is not UTF-8; create a link with another name")?;
    Ok(if cfg!(windows) { text.replace('\\', "/") } else { text.to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets_are_written_absolute_or_relative() {
        let dir = tempfile::tempdir().unwrap();
        let top = dir.path().canonicalize().unwrap();
        std::fs::create_dir_all(top.join("refs")).unwrap();
        std::fs::create_dir_all(top.join("data set")).unwrap();
        let path = top.join("data set/a.nc");
        let url = crate::location::file_url(&path).unwrap();
        assert_eq!(written_url(&url, None).unwrap(), path.to_str().unwrap());
        let from = |folder: &str| written_url(&url, Some(&real_folder(&top.join(folder)))).unwrap();
        assert_eq!(from("refs"), "../data set/a.nc");
        assert_eq!(from("."), "data set/a.nc");
        assert_eq!(from("data set"), "a.nc");
        assert_eq!(written_url("s3://b/a.nc", None).unwrap(), "s3://b/a.nc");
    }

    #[test]
    fn targets_with_secrets_or_templates_are_refused() {
        for (url, why) in [
            ("https://user:password@host/a.nc", "password"),
            ("https://host/a.nc?X-Amz-Signature=1", "signature"),
            ("zip::file:///a.zip/a.nc", "chain"),
            ("s3://b/{{a}}.nc", "template"),
        ] {
            let error = written_url(url, None).unwrap_err();
            assert!(error.contains(why), "{url}: {error}");
        }
        assert!(written_url("s3://b/a.nc", Some(Path::new("/"))).is_err());
    }

    #[test]
    fn documents_come_first() {
        let mut table = Table::default();
        table.add_document("a/zarr.json", "{}".to_owned());
        table.add_document("zarr.json", "{\"x\":\"é\"}".to_owned());
        table.add_inline("a/c/0".to_owned(), Bytes::from_static(&[0, 1, 255])).unwrap();
        let mut out = Vec::new();
        table.write_json(&[], &mut out).unwrap();
        let expected = "{\"version\":1,\"refs\":{\n\"zarr.json\":\"{\\\"x\\\":\\\"é\\\"}\",\n\"a/zarr.json\":\"{}\",\n\
                        \"a/c/0\":\"base64:AAH/\"\n}}\n";
        assert_eq!(String::from_utf8(out).unwrap(), expected);
        assert_eq!((table.references(), table.inlined()), (0, 1));
    }
}
