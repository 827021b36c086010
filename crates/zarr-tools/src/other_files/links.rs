//! Tells which links of a folder lead out of it, or nowhere, and what lies in it that is no file.

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
    known: HashMap<String, Option<Unkept>>,
}

/// What copies do not take along.
#[derive(Clone)]
pub(crate) struct Unkept {
    /// The key of a link, or of what is no file.
    pub key: String,
    /// The sentence for the user, which names the key.
    pub message: String,
}

impl Links {
    /// Those of the store of this name; `None` if it is no folder.
    pub fn of(store: &str) -> Option<Links> {
        let root = local_path(store, "file://")?;
        let real = fs::canonicalize(&root).ok()?;
        Some(Links { root, real, known: HashMap::new() })
    }

    /// The link on the way to a key, the key itself included, that leads out of the folder or nowhere; or the key itself if it is a
    /// pipe, a socket or a device.
    pub fn unkept(&mut self, key: &str) -> Option<Unkept> {
        let mut ends: Vec<usize> = key.match_indices('/').map(|(at, _)| at).collect();
        while let Some(end) = ends.pop() {
            let Some(known) = self.known.get(&key[..end]) else { continue };
            if known.is_some() {
                return known.clone();
            }
            // The folders above this one are known, too.
            return self.unkept_from(key, end + 1);
        }
        self.unkept_from(key, 0)
    }

    /// As [`Links::unkept`], where the folders up to this place lead nowhere else.
    fn unkept_from(&mut self, key: &str, start: usize) -> Option<Unkept> {
        let ends = key[start..].match_indices('/').map(|(at, _)| start + at);
        for end in ends {
            let found = self.check(&key[..end]);
            self.known.insert(key[..end].to_owned(), found.clone());
            if found.is_some() {
                return found;
            }
        }
        self.check(key)
    }

    fn check(&self, key: &str) -> Option<Unkept> {
        let path = self.root.join(key);
        if path.is_symlink() {
            match fs::canonicalize(&path) {
                Ok(target) if target.starts_with(&self.real) => {}
                Ok(target) => {
                    return unkept(
                        key,
                        format!("`{key}` is a link to {}, and is not followed", target.display()),
                    );
                }
                Err(_) => {
                    return unkept(
                        key,
                        format!("`{key}` is a link to nothing, and is not followed"),
                    );
                }
            }
        }
        match fs::metadata(&path) {
            Ok(found) if !found.is_file() && !found.is_dir() => {
                unkept(key, format!("`{key}` is neither a file nor a folder"))
            }
            _ => None,
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

/// What a copy does not keep, with the reason.
fn unkept(key: &str, message: String) -> Option<Unkept> {
    Some(Unkept { key: key.to_owned(), message })
}
