//! Tells which links of a folder lead out of it, or nowhere.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};

use crate::local_path::local_path;

/// The links of a store that is a folder of this machine.
pub(crate) struct Links {
    root: PathBuf,
    /// The folder itself, whatever links lead there.
    real: PathBuf,
    /// Folders that were looked at, without `/` at the end, and the link on the way to each that leads out.
    known: HashMap<String, Option<Outward>>,
}

/// The key of a link, and where it leads, if anywhere.
pub(crate) type Outward = (String, Option<PathBuf>);

impl Links {
    /// Those of the store of this name; `None` if it is no folder.
    pub fn of(store: &str) -> Option<Links> {
        let root = local_path(store, "file://")?;
        let real = fs::canonicalize(&root).ok()?;
        Some(Links { root, real, known: HashMap::new() })
    }

    /// The link on the way to a key, the key itself among it, that leads out of the folder or nowhere.
    pub fn outward(&mut self, key: &str) -> Option<Outward> {
        let mut ends: Vec<usize> = key.match_indices('/').map(|(at, _)| at).collect();
        while let Some(end) = ends.pop() {
            let Some(known) = self.known.get(&key[..end]) else { continue };
            if known.is_some() {
                return known.clone();
            }
            // The folders above this one are known, too.
            return self.outward_from(key, end + 1);
        }
        self.outward_from(key, 0)
    }

    /// As [`Links::outward`], where the folders up to this place lead nowhere else.
    fn outward_from(&mut self, key: &str, start: usize) -> Option<Outward> {
        let ends = key[start..].match_indices('/').map(|(at, _)| start + at);
        for end in ends {
            let found = self.leads_out(&key[..end]);
            self.known.insert(key[..end].to_owned(), found.clone());
            if found.is_some() {
                return found;
            }
        }
        self.leads_out(key)
    }

    fn leads_out(&self, key: &str) -> Option<Outward> {
        let path = self.root.join(key);
        if !path.is_symlink() {
            return None;
        }
        match fs::canonicalize(&path) {
            Ok(target) if target.starts_with(&self.real) => None,
            Ok(target) => Some((key.to_owned(), Some(target))),
            Err(_) => Some((key.to_owned(), None)),
        }
    }

    /// The keys of links to nothing in a folder; if `deep`, also in those below, but not behind links.
    pub fn dangling(&self, prefix: &str, deep: bool) -> Vec<String> {
        let mut found = Vec::new();
        let mut folders = vec![prefix.to_owned()];
        while let Some(folder) = folders.pop() {
            // A folder that cannot be read is an error of the listing.
            let entries = fs::read_dir(Path::new(&self.root).join(&folder));
            for entry in entries.into_iter().flatten().flatten() {
                let (Ok(kind), Ok(name)) = (entry.file_type(), entry.file_name().into_string())
                else {
                    continue;
                };
                let key = format!("{folder}{name}");
                if kind.is_dir() && deep {
                    folders.push(format!("{key}/"));
                } else if kind.is_symlink() && fs::metadata(entry.path()).is_err() {
                    found.push(key);
                }
            }
        }
        found.sort_unstable();
        found
    }
}
