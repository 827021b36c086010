//! Opens and creates repositories, and begins sessions.

use std::fmt;
use std::path::Path;
use std::sync::Arc;
use std::time::SystemTime;

use futures::TryStreamExt;
use icechunk::format::SnapshotId;
use icechunk::repository::{RepositoryErrorKind, VersionInfo};
use icechunk::storage::StorageInfo;
use icechunk::{Repository as IcechunkRepository, Storage};
use zarr_core::runtime::block_on;
use zarr_core::{AccessError, Error, Result, StoreError, without_secrets};

use crate::error::{failed, of_repository};
use crate::lock::FolderLock;
use crate::runtime::run;
use crate::session::IcechunkSession;

/// The branch that every repository has.
pub const MAIN: &str = "main";

/// What crates of `icechunk` store repositories in.
pub type DynStorage = Arc<dyn Storage + Send + Sync>;

/// What of a repository is read.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Version {
    /// The last commit of the branch of this name.
    Branch(String),
    /// The tag of this name.
    Tag(String),
    /// The commit of this identifier.
    Snapshot(String),
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Version::Branch(name) => write!(f, "branch={name}"),
            Version::Tag(name) => write!(f, "tag={name}"),
            Version::Snapshot(id) => write!(f, "snapshot={id}"),
        }
    }
}

impl Version {
    fn to_icechunk(&self) -> Result<VersionInfo> {
        Ok(match self {
            Version::Branch(name) => VersionInfo::BranchTipRef(name.clone()),
            Version::Tag(name) => VersionInfo::TagRef(name.clone()),
            Version::Snapshot(id) => VersionInfo::SnapshotId(snapshot_id(id)?),
        })
    }
}

/// The identifier in a text.
fn snapshot_id(text: &str) -> Result<SnapshotId> {
    SnapshotId::try_from(text).map_err(|_| {
        let why = format!(
            "invalid snapshot identifier `{}`: expected 20 characters, as `commit` returns them",
            text.escape_debug()
        );
        AccessError::Argument(why).into()
    })
}

/// A commit in the history of a branch.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Commit {
    /// The identifier of its snapshot.
    pub id: String,
    /// The commit before, except of the first.
    pub parent: Option<String>,
    /// The message.
    pub message: String,
    /// When it was made, by the clock of who made it.
    pub time: SystemTime,
}

/// An Icechunk repository. Clones are the same one.
///
/// Its calls block, and may be made on any thread, also inside an async runtime, whose thread then waits.
#[derive(Clone, Debug)]
pub struct Repository {
    pub(crate) inner: Arc<IcechunkRepository>,
    pub(crate) name: String,
    /// In a folder, which has no conditional writes.
    pub(crate) lock: Option<FolderLock>,
    /// No call waits for a network.
    pub(crate) is_local: bool,
}

impl Repository {
    /// The repository in a folder, or at a URL: `file:///data/repository`, `s3://bucket/repository`. The credentials and the region of a
    /// bucket are those of the environment; for other options, and other stores, see [`Repository::open_storage`].
    ///
    /// # Errors
    /// [`AccessError::NotFound`] if none is there; if it cannot be read.
    pub fn open(location: impl AsRef<Path>) -> Result<Repository> {
        let location = Location::parse(location.as_ref())?;
        // Otherwise the folder would be searched by the name that it has in the working directory of a later call.
        if let Location::Folder(folder) = &location
            && !folder.is_dir()
        {
            let looked_for = "an Icechunk repository in this folder".to_owned();
            let error = Error::from(AccessError::NotFound { looked_for });
            return Err(error
                .with_hint("create one with `Repository::create`")
                .at_store(location.to_string()));
        }
        block_on(async { Self::open_at(location.storage().await?, location.to_string()).await })
    }

    /// A new repository in a folder, which is made if it is missing, or at a URL, as of [`Repository::open`]. It has the branch [`MAIN`],
    /// without any node.
    ///
    /// # Errors
    /// [`AccessError::Exists`] if a repository is there; [`AccessError::Argument`] if anything else is.
    pub fn create(location: impl AsRef<Path>) -> Result<Repository> {
        let location = Location::parse(location.as_ref())?;
        block_on(async { Self::create_at(location.storage().await?, location.to_string()).await })
    }

    /// The repository in a storage of the crate [`icechunk`], whose functions `new_…_storage` take every option.
    ///
    /// # Errors
    /// As [`Repository::open`].
    pub fn open_storage(storage: DynStorage) -> Result<Repository> {
        let name = name_of(&storage.storage_info());
        block_on(Self::open_at(storage, name))
    }

    /// A new repository in a storage of the crate [`icechunk`].
    ///
    /// # Errors
    /// As [`Repository::create`].
    pub fn create_storage(storage: DynStorage) -> Result<Repository> {
        let name = name_of(&storage.storage_info());
        block_on(Self::create_at(storage, name))
    }

    async fn open_at(storage: DynStorage, name: String) -> Result<Repository> {
        let info = storage.storage_info();
        let opened = run(async move { IcechunkRepository::open(storage).execute().await }).await;
        let opened = opened.map_err(Error::from).and_then(|opened| opened.map_err(of_repository));
        Ok(Self::of(opened.map_err(|e| e.at_store(&name))?, name, &info))
    }

    async fn create_at(storage: DynStorage, name: String) -> Result<Repository> {
        let info = storage.storage_info();
        let created = run(async move {
            let created = IcechunkRepository::create(storage.clone()).execute().await;
            match created {
                Ok(repository) => Ok(repository),
                Err(error) => match error.kind {
                    RepositoryErrorKind::ParentDirectoryNotClean
                        if !IcechunkRepository::exists(storage, None)
                            .await
                            .map_err(of_repository)? =>
                    {
                        let why = "a repository can be created only where nothing else is stored";
                        Err(Error::from(AccessError::Argument(why.into()))
                            .with_hint("choose another folder or prefix"))
                    }
                    // The last is that of a creator who was faster.
                    RepositoryErrorKind::ParentDirectoryNotClean
                    | RepositoryErrorKind::RepoInfoUpdated => {
                        Err(Error::from(AccessError::Exists("a repository"))
                            .with_hint("open it with `Repository::open`"))
                    }
                    _ => Err(of_repository(error)),
                },
            }
        })
        .await;
        let created = created.map_err(Error::from).and_then(|created| created);
        Ok(Self::of(created.map_err(|e| e.at_store(&name))?, name, &info))
    }

    fn of(inner: IcechunkRepository, name: String, info: &StorageInfo) -> Repository {
        let folder = folder_of(info);
        let is_local = folder.is_some() || info.backend_type == "in-memory";
        let lock = folder.map(|folder| FolderLock::new(folder.into()));
        Repository { inner: Arc::new(inner), name, lock, is_local }
    }

    /// Its name in messages: its path or URL.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// A session that changes a branch. Nobody else sees its changes before they are committed.
    ///
    /// # Errors
    /// [`AccessError::NotFound`] if there is no such branch; if the repository cannot be written.
    pub fn writable_session(&self, branch: &str) -> Result<IcechunkSession> {
        let version = Version::Branch(branch.to_owned());
        let name = branch.to_owned();
        let session = self.call(|inner| async move { inner.writable_session(&name).await });
        let session = session.map_err(|e| self.with_known_names(e))?;
        Ok(IcechunkSession::new(self, &version, session, Some(branch.to_owned())))
    }

    /// A session that reads a branch as it is now, a tag or a snapshot. It always shows the same commit.
    ///
    /// # Errors
    /// [`AccessError::NotFound`] if there is none of this name.
    pub fn readonly_session(&self, version: &Version) -> Result<IcechunkSession> {
        let info = version.to_icechunk().map_err(|e| e.at_store(&self.name))?;
        let session = self.call(|inner| async move { inner.readonly_session(&info).await });
        let session = session.map_err(|e| self.with_known_names(e))?;
        Ok(IcechunkSession::new(self, version, session, None))
    }

    /// A new branch that begins at this snapshot.
    ///
    /// # Errors
    /// [`AccessError::Exists`] if there is one of this name; [`AccessError::NotFound`] if there is no such snapshot.
    pub fn create_branch(&self, name: &str, snapshot: &str) -> Result<()> {
        let (lock, owned) = (self.lock.clone(), name.to_owned());
        let id = snapshot_id(snapshot).map_err(|e| e.at_store(&self.name))?;
        self.change(lock, |inner| async move { inner.create_branch(&owned, &id).await })
    }

    /// A new tag, which names this snapshot for ever.
    ///
    /// # Errors
    /// As [`Repository::create_branch`].
    pub fn create_tag(&self, name: &str, snapshot: &str) -> Result<()> {
        let (lock, owned) = (self.lock.clone(), name.to_owned());
        let id = snapshot_id(snapshot).map_err(|e| e.at_store(&self.name))?;
        self.change(lock, |inner| async move { inner.create_tag(&owned, &id).await })
    }

    /// The commits that lead to a version, the latest first. The last one is empty: it was made when the repository was created.
    ///
    /// # Errors
    /// [`AccessError::NotFound`] if there is no such version.
    pub fn history(&self, version: &Version) -> Result<Vec<Commit>> {
        let info = version.to_icechunk().map_err(|e| e.at_store(&self.name))?;
        let commits = self.call(|inner| async move {
            let commits = inner.ancestry(&info).await?;
            commits.try_collect::<Vec<_>>().await
        });
        let commits = commits.map_err(|e| self.with_known_names(e))?;
        let commits = commits.into_iter().map(|commit| Commit {
            id: commit.id.to_string(),
            parent: commit.parent_id.map(|id| id.to_string()),
            message: commit.message,
            time: commit.flushed_at.into(),
        });
        Ok(commits.collect())
    }

    /// The result of a call that changes nothing.
    fn call<T: Send + 'static, F>(
        &self,
        call: impl FnOnce(Arc<IcechunkRepository>) -> F,
    ) -> Result<T>
    where
        F: Future<Output = Result<T, icechunk::repository::RepositoryError>> + Send + 'static,
    {
        let done = block_on(run(call(self.inner.clone()))).map_err(Error::from);
        let done = done.and_then(|done| done.map_err(of_repository));
        done.map_err(|e| e.at_store(&self.name))
    }

    /// The result of a call that changes branches or tags.
    fn change<F>(
        &self,
        lock: Option<FolderLock>,
        call: impl FnOnce(Arc<IcechunkRepository>) -> F,
    ) -> Result<()>
    where
        F: Future<Output = Result<(), icechunk::repository::RepositoryError>> + Send + 'static,
    {
        let call = call(self.inner.clone());
        let done = block_on(run(async move {
            let _held = match &lock {
                Some(lock) => Some(lock.acquire().await?),
                None => None,
            };
            call.await.map_err(of_repository)
        }));
        done.map_err(Error::from).and_then(|done| done).map_err(|e| e.at_store(&self.name))
    }

    /// An error about a name that is not there, with the names that are.
    fn with_known_names(&self, error: Error) -> Error {
        if error.kind() != zarr_core::ErrorKind::NotFound {
            return error;
        }
        let names = self.call(|inner| async move {
            Ok((inner.list_branches().await?, inner.list_tags().await?))
        });
        // The first error says more than that its hint could not be had.
        let Ok((branches, tags)) = names else { return error };
        let listed = |what: &str, names: std::collections::BTreeSet<String>| {
            let names: Vec<String> =
                names.iter().take(10).map(|name| format!("`{name}`")).collect();
            if names.is_empty() {
                format!("no {what}")
            } else {
                format!("{what} {}", names.join(", "))
            }
        };
        error.with_hint(format!(
            "the repository has {} and {}",
            listed("branches", branches),
            listed("tags", tags)
        ))
    }
}

/// The folder of a storage, if it is one.
fn folder_of(info: &StorageInfo) -> Option<&str> {
    let path = info.fields.iter().find(|(field, _)| *field == "path");
    path.filter(|_| info.backend_type == "local filesystem").map(|(_, path)| path.as_str())
}

/// The name of a storage in messages.
fn name_of(info: &StorageInfo) -> String {
    if let Some(folder) = folder_of(info) {
        return folder.to_owned();
    }
    let fields: Vec<&str> = info
        .fields
        .iter()
        .filter(|(field, _)| ["bucket", "container", "prefix"].contains(field))
        .map(|(_, value)| value.as_str())
        .collect();
    format!("{} {}", info.backend_type, fields.join("/")).trim_end().to_owned()
}

/// Where a repository is.
#[derive(Debug, PartialEq, Eq)]
enum Location {
    Folder(std::path::PathBuf),
    Bucket { bucket: String, prefix: String },
}

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Location::Folder(folder) => write!(f, "{}", folder.display()),
            Location::Bucket { bucket, prefix } => write!(f, "s3://{bucket}/{prefix}"),
        }
    }
}

impl Location {
    /// The place that a path or URL names.
    fn parse(location: &Path) -> Result<Location> {
        let Some((scheme, rest)) = location.to_str().and_then(|text| text.split_once("://")) else {
            return Ok(Location::Folder(absolute(location)?));
        };
        let url = without_secrets(&format!("{scheme}://{rest}"));
        match scheme {
            "file" => {
                let path = url::Url::parse(&format!("file://{rest}"));
                let path = path.ok().and_then(|url| url.to_file_path().ok());
                let why = "expected `file:///PATH`, in which `%` and two digits stand for other characters";
                let path = path.ok_or_else(|| StoreError::invalid_url(&url, why))?;
                Ok(Location::Folder(absolute(&path)?))
            }
            "s3" => {
                let (bucket, prefix) = rest.split_once('/').unwrap_or((rest, ""));
                let prefix = prefix.trim_matches('/');
                if bucket.is_empty() || prefix.is_empty() {
                    let why =
                        "expected `s3://BUCKET/PREFIX`; a repository cannot be a whole bucket";
                    return Err(StoreError::invalid_url(&url, why).into());
                }
                Ok(Location::Bucket { bucket: bucket.into(), prefix: prefix.into() })
            }
            _ => {
                let why = "expected a path, `file:///PATH` or `s3://BUCKET/PREFIX`; `Repository::open_storage` takes other storages of \
                           the crate `icechunk`";
                Err(StoreError::invalid_url(&url, why).into())
            }
        }
    }

    async fn storage(&self) -> Result<DynStorage> {
        let storage = match self {
            Location::Folder(folder) => icechunk::new_local_filesystem_storage(folder).await,
            Location::Bucket { bucket, prefix } => {
                let (bucket, prefix) = (bucket.clone(), Some(prefix.clone()));
                // All else is taken from the environment, but this is not.
                let allow_http = std::env::var("AWS_ALLOW_HTTP");
                let allow_http = allow_http.is_ok_and(|value| ["1", "true"].contains(&&value[..]));
                let options = icechunk::storage::S3Options::default();
                let options = options.with_allow_http(allow_http);
                icechunk::new_s3_object_store_storage(
                    options,
                    bucket,
                    prefix,
                    None,
                    Vec::new(),
                    Vec::new(),
                )
                .await
            }
        };
        storage.map_err(|e| Error::from(failed(e)).at_store(self.to_string()))
    }
}

/// The path from the root: the working directory may change while a repository is open.
fn absolute(path: &Path) -> Result<std::path::PathBuf> {
    let found = std::path::absolute(path);
    Ok(found.map_err(StoreError::io("open", path.display()))?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_and_urls_name_places() {
        let bucket = |prefix: &str| Location::Bucket { bucket: "b".into(), prefix: prefix.into() };
        assert_eq!(Location::parse(Path::new("s3://b/a/r/")).unwrap(), bucket("a/r"));
        assert_eq!(
            Location::parse(Path::new("file:///d/r")).unwrap(),
            Location::Folder("/d/r".into())
        );
        let spaced = Location::Folder("/d/a b".into());
        assert_eq!(Location::parse(Path::new("file:///d/a%20b")).unwrap(), spaced);
        assert_eq!(
            Location::parse(Path::new("/d/a%20b")).unwrap(),
            Location::Folder("/d/a%20b".into())
        );
        let here = std::env::current_dir().unwrap();
        assert_eq!(Location::parse(Path::new("r")).unwrap(), Location::Folder(here.join("r")));
        for wrong in ["s3://b", "s3://b/", "s3:///r", "gs://b/r", "https://host/r", "file://host/r"]
        {
            let error = Location::parse(Path::new(wrong)).unwrap_err();
            assert_eq!(error.kind(), zarr_core::ErrorKind::Argument, "{wrong}");
            assert!(error.to_string().contains("expected"), "{error}");
        }
    }
}
