//! kerchunk's references: a JSON file that tells, for each key of a Zarr hierarchy, in which file its bytes are. [`join`] makes
//! them for files, joined along a dimension.

mod generate;
mod parse;
mod template;
mod write;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::OnceLock;

use zarr_core::runtime::spawn_blocking;
use zarr_core::store::{
    Bytes, Capabilities, GetOptions, Listing, Result, StoreKey, StorePrefix, async_trait,
};
use zarr_core::{StoreError, without_secrets};

use self::parse::{Entry, Table};
pub use self::write::{
    Arrays, ConvertTimes, DEFAULT_INLINE_BYTES, JoinOptions, Joined, TargetUrls, join, places,
};
use crate::reach::Reach;
use crate::source::{IN_FLIGHT, Reference, Source};
use crate::target::Target;
use crate::targets::{OpenTargetStore, Targets};

/// The most bytes of a file with references.
const MAX_FILE: u64 = 1 << 30;
/// The most prefixes that an error lists.
const MAX_LISTED_PREFIXES: usize = 5;
/// The most targets that are looked at to list prefixes, or those that may not be read.
const MAX_COUNTED_TARGETS: usize = 100_000;

/// The references of a file, which [`ReferenceStore::over`](crate::ReferenceStore::over) makes a store of.
pub struct References {
    name: String,
    options: Vec<(String, String)>,
    /// The URL of the file with the references.
    file: String,
    table: Table,
    targets: Targets,
    /// Those that were opened, by their index in the table.
    opened: Vec<OnceLock<Target>>,
    is_local: bool,
}

impl fmt::Debug for References {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("References")
            .field("name", &self.name)
            .field("keys", &self.table.entries.len())
            .field("targets", &self.table.urls.len())
            .finish_non_exhaustive()
    }
}

/// How references are opened.
#[derive(Clone, Debug, Default)]
pub struct ReferenceOptions {
    /// The store's name in messages.
    pub name: String,
    /// The options that open it again.
    pub options: Vec<(String, String)>,
    /// The URL of references that name none (`null`).
    pub target: Option<String>,
    /// What references may lead to.
    pub reach: Reach,
}

impl References {
    /// Reads the references in `file`. Their targets are opened with `open` when they are read.
    ///
    /// # Errors
    /// [`StoreError::Backend`] saying what is wrong with the file; [`StoreError::TooLarge`] beyond 1 GiB.
    pub async fn open(
        file: &Target,
        options: ReferenceOptions,
        open: OpenTargetStore,
    ) -> Result<References> {
        let got = file.store().get(file.key(), GetOptions::at_most(MAX_FILE)).await?;
        let text = got.and_then(|got| got.bytes).ok_or_else(|| file.absent(false))?;
        let null_url = options.target.clone();
        // Parsing takes seconds if there are millions.
        let parsed = spawn_blocking(move || parse::parse(&text, null_url.as_deref())).await;
        let table = parsed.unwrap_or_else(|| Err("the thread that read it ended".into()));
        let table = table.map_err(|why| {
            let file = without_secrets(&file.name());
            StoreError::Backend(format!("the references in {file}: {why}").into())
        })?;
        let is_local = file.store().capabilities().local
            && table.urls.iter().all(|url| {
                let scheme = url.split_once("://").map(|(scheme, _)| scheme.to_ascii_lowercase());
                matches!(scheme.as_deref(), None | Some("file" | "local"))
            });
        let opened = table.urls.iter().map(|_| OnceLock::new()).collect();
        let ReferenceOptions { name, options, reach, .. } = options;
        let targets = Targets::new(reach, open);
        let file = file.name();
        Ok(References { name, options, file, table, targets, opened, is_local })
    }

    fn entry(&self, key: &str) -> Option<&Entry> {
        let place = self.table.entries.binary_search_by(|(known, _)| (**known).cmp(key)).ok()?;
        Some(&self.table.entries[place].1)
    }

    /// The target of an index, which is opened the first time.
    async fn target(&self, key: &StoreKey, index: u32) -> Result<Target> {
        let slot = &self.opened[index as usize];
        if let Some(target) = slot.get() {
            return Ok(target.clone());
        }
        let url = &self.table.urls[index as usize];
        let target = self.targets.open(key, url, || format!(", which lead to {}", self.prefixes()));
        let target = target.await?;
        Ok(slot.get_or_init(|| target).clone())
    }

    /// The folders that references lead to, with the number of targets in each.
    fn prefixes(&self) -> String {
        let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
        for url in self.table.urls.iter().take(MAX_COUNTED_TARGETS) {
            let folder = url.rsplit_once('/').map_or("./", |(folder, _)| &url[..=folder.len()]);
            *counts.entry(folder).or_default() += 1;
        }
        let mut counts: Vec<(&str, usize)> = counts.into_iter().collect();
        counts.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
        let listed = counts.iter().take(MAX_LISTED_PREFIXES).map(|(folder, count)| {
            let files = if *count == 1 { "file" } else { "files" };
            format!("`{}` ({count} {files})", without_secrets(folder))
        });
        let listed = listed.collect::<Vec<_>>().join(", ");
        match counts.len().saturating_sub(MAX_LISTED_PREFIXES) {
            0 => listed,
            more => format!("{listed} and {more} more folders"),
        }
    }
}

#[async_trait]
impl Source for References {
    fn name(&self) -> String {
        self.name.clone()
    }

    fn public_options(&self) -> Vec<(String, String)> {
        self.options.clone()
    }

    async fn places(&self) -> Result<Vec<String>> {
        let mut places = vec![self.file.clone()];
        places.extend(self.targets.places(self.table.urls.iter().map(|url| &**url)));
        Ok(places)
    }

    async fn refused_targets(&self) -> Result<Vec<StoreError>> {
        // A key for each of the targets, which may be fewer by far.
        let mut keys: Vec<Option<&str>> = vec![None; self.table.urls.len()];
        for (key, entry) in &self.table.entries {
            if let Entry::Part(target, ..) | Entry::Whole(target) = entry {
                keys[*target as usize].get_or_insert(key);
            }
        }
        let keys = keys.into_iter().zip(&self.table.urls);
        let references = keys.filter_map(|(key, url)| Some((key?, &**url)));
        let references = references.take(MAX_COUNTED_TARGETS);
        self.targets.refused(references, || format!(", which lead to {}", self.prefixes()))
    }

    fn capabilities(&self) -> Capabilities {
        let (local, cheap_ranges) = (self.is_local, self.is_local);
        Capabilities { local, cheap_ranges, in_flight: IN_FLIGHT, ..Capabilities::READ_ONLY }
    }

    async fn find(&self, key: &StoreKey) -> Result<Option<Reference>> {
        Ok(Some(match self.entry(key.as_str()) {
            None => return Ok(None),
            Some(Entry::Inline(bytes)) => Reference::Inline(Bytes::copy_from_slice(bytes)),
            Some(Entry::Part(target, offset, length)) => {
                let target = self.target(key, *target).await?;
                Reference::Part { target, offset: *offset, length: *length }
            }
            Some(Entry::Whole(target)) => {
                let target = self.target(key, *target).await?;
                Reference::Whole { target, may_be_absent: false }
            }
        }))
    }

    async fn list_dir(&self, prefix: &StorePrefix) -> Result<Listing> {
        let entries = &self.table.entries;
        let folder = prefix.as_str();
        let mut names: Vec<&str> = Vec::new();
        let mut at = entries.partition_point(|(key, _)| **key < *folder);
        while let Some((key, _)) = entries.get(at) {
            let Some(rest) = key.strip_prefix(folder) else { break };
            names.push(key);
            at += 1;
            if let Some(end) = rest.find('/') {
                // `0` follows `/`: all keys in that folder are passed over.
                let next = format!("{}0", &key[..folder.len() + end]);
                at += entries[at..].partition_point(|(key, _)| **key < *next);
            }
        }
        Ok(Listing::of_names(prefix, names))
    }
}
