//! A session as a store: what is set and erased in it is seen in it, and by others once it is committed.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::{Arc, Mutex};

use futures::StreamExt;
use icechunk::Store as IcechunkStore;
use icechunk::format::snapshot::{NodeData, NodeSnapshot};
use icechunk::format::{ChunkIndices, Path};
use icechunk::session::Session;
use tokio::sync::{Mutex as AsyncMutex, RwLock};
use zarr_core::format::of_dialect;
use zarr_core::runtime::block_on;
use zarr_core::store::{
    Bytes, Capabilities, GetOptions, Got, ListOptions, Listing, Payload, Precondition, Result,
    Snapshot, SnapshotOptions, Store, StoreKey, StorePrefix, SyncStore, Version, async_trait,
    check_size,
};
use zarr_core::{
    AccessError, Dialect, Error, ErrorKind, Hierarchy, Json, OpenOptions, StoreError, sync,
};
use zarr_stores::MemoryStore;

use crate::conflicts::{RefuseConflicts, commit_error};
use crate::error::failed;
use crate::key::{CHUNKS, Key, chunk_of, document_of, prefix_of, refused};
use crate::lock::FolderLock;
use crate::repository::Repository;
use crate::runtime::run;
use crate::value::{OpenValue, Reader, Value, find, node_at, rank};

/// A session of a repository, as a [`Store`]. Clones are the same session.
///
/// It holds Zarr v3 and nothing else: documents named `zarr.json`, and chunks with the chunk key encoding `default` and the separator `/`. Other keys
/// are absent, and setting one is an error. A chunk can be set once its array has a document, and is at least one byte. Erasing the document of
/// an array erases its chunks, that of a group all nodes in it: Icechunk has no chunks without an array.
///
/// Compare-and-swap is exact: a session is private to this process, and a lock of the session is held from the comparison to the change, so no
/// two threads lose each other's changes in one session. Between sessions [`IcechunkSession::commit`] does what compare-and-swap does between writers of
/// other stores.
///
/// [`Store::flush`] does not commit: libraries flush where a user may not want a commit yet.
#[derive(Clone)]
pub struct IcechunkSession {
    inner: Arc<Inner>,
}

struct Inner {
    name: String,
    /// The branch that is changed; `None` for reading.
    branch: Option<String>,
    session: Arc<RwLock<Session>>,
    /// The same session: it knows how to read documents that are set.
    store: IcechunkStore,
    /// Of the same session.
    reader: Reader,
    /// Held while a document is compared and set.
    documents: AsyncMutex<()>,
    lock: Option<FolderLock>,
    is_local: bool,
    /// The journal of a copy into the session: see [`is_journal`].
    journal: MemoryStore,
    committed: Mutex<Option<String>>,
}

/// What keys of the journal of a copy begin with.
const JOURNAL: &str = ".zarr-copy/";

/// Whether a key or a prefix is of the journal that `zarr_tools` keeps of a copy in its target. It is kept in memory, and is lost with the
/// process, as all that is not committed.
fn is_journal(key: &str) -> bool {
    key.starts_with(JOURNAL)
}

impl fmt::Debug for IcechunkSession {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("IcechunkSession").field(&self.inner.name).finish()
    }
}

impl Inner {
    async fn value(&self, key: &Key) -> Result<Option<Value>> {
        find(&*self.session.read().await, key).await
    }

    /// Refuses changes where there can be none.
    fn check_writeable(&self) -> Result<()> {
        if self.branch.is_none() {
            return Err(StoreError::not_capable("write", "writeable"));
        }
        match &*sync::lock(&self.committed) {
            None => Ok(()),
            Some(id) => Err(StoreError::Backend(
                format!(
                    "cannot write: the session was committed as {id}; begin another with `Repository::writable_session`"
                )
                .into(),
            )),
        }
    }

    async fn put_document(
        &self,
        key: &StoreKey,
        path: &Path,
        value: Option<Bytes>,
        only_if: Only,
    ) -> Result<bool> {
        let _documents = self.documents.lock().await;
        if only_if.compares() {
            let now = self.value(&Key::Document(path.clone())).await?;
            if !only_if.holds(now.as_ref()) {
                return Ok(false);
            }
        }
        match value {
            Some(bytes) => self.store.set(key.as_str(), bytes).await.map_err(failed)?,
            None => self.store.delete(key.as_str()).await.map_err(failed)?,
        }
        Ok(true)
    }

    async fn put_chunk(
        &self,
        key: &StoreKey,
        path: Path,
        indices: ChunkIndices,
        value: Option<Bytes>,
        only_if: Only,
    ) -> Result<bool> {
        let payload = match value {
            None => None,
            Some(bytes) => {
                // The bytes are stored before the session is locked: others write meanwhile.
                let session = self.session.read().await;
                check_array(&session, key, &path, &indices).await?;
                let writer = session.get_chunk_writer(&path, &indices).map_err(failed)?;
                drop(session);
                Some(writer(bytes).await.map_err(failed)?)
            }
        };
        let mut session = self.session.write().await;
        if only_if.compares() {
            let now = find(&session, &Key::Chunk(path.clone(), indices.clone())).await?;
            if !only_if.holds(now.as_ref()) {
                return Ok(false);
            }
        }
        if payload.is_some() {
            // The array may have been erased or replaced meanwhile.
            check_array(&session, key, &path, &indices).await?;
        } else if find(&session, &Key::Chunk(path.clone(), indices.clone())).await?.is_none() {
            // Not recorded as a change, which would be committed.
            return Ok(true);
        }
        session.set_chunk_ref(path, indices, payload).await.map_err(failed)?;
        Ok(true)
    }

    async fn erase_prefix(&self, prefix: &StorePrefix) -> Result<()> {
        let _documents = self.documents.lock().await;
        let mut session = self.session.write().await;
        let mut erased = Vec::new();
        let mut chunks = Vec::new();
        for node in nodes(&session).await? {
            if document_of(&node.path).starts_with(prefix.as_str()) {
                erased.push(node);
            } else if let Some(found) = chunks_below(&session, &node, prefix.as_str()).await? {
                chunks.push((node.path, found));
            }
        }
        for node in erased {
            // Those in a group that was erased before are gone.
            if let Some(node) = node_at(&session, &node.path).await? {
                session.delete_node(node).await.map_err(failed)?;
            }
        }
        for (path, indices) in chunks {
            session.delete_chunks(&path, indices).await.map_err(failed)?;
        }
        Ok(())
    }

    /// All keys below a prefix; with the options of a listing of what is directly below, as many as that takes.
    async fn keys(&self, prefix: &str, how: Option<ListOptions>) -> Result<BTreeSet<String>> {
        let session = self.session.read().await;
        let mut keys = BTreeSet::new();
        for node in nodes(&session).await? {
            let document = document_of(&node.path);
            if document.starts_with(prefix) {
                keys.insert(document);
            }
            let Some(rank) = rank(&node) else { continue };
            let is_directly_below = prefix_of(&node.path) == prefix;
            let is_in_chunks = prefix.starts_with(&format!("{}{CHUNKS}/", prefix_of(&node.path)));
            match how {
                // What matters is whether there is a chunk, and that only if the caller will not look.
                Some(ListOptions { candidates: true, .. }) if is_directly_below && rank > 0 => {
                    keys.insert(chunk_of(&node.path, &ChunkIndices(vec![0; rank])));
                }
                Some(_) if is_directly_below => {
                    let mut found = std::pin::pin!(session.all_node_chunks(&node).await);
                    if let Some(chunk) = found.next().await {
                        let (path, chunk) = chunk.map_err(failed)?;
                        keys.insert(chunk_of(&path, &chunk.coord));
                    }
                }
                // The document of an array further below is enough.
                Some(_) if !is_in_chunks => {}
                _ => {
                    let found = chunks_below(&session, &node, prefix).await?.unwrap_or_default();
                    keys.extend(found.iter().map(|indices| chunk_of(&node.path, indices)));
                }
            }
        }
        Ok(keys)
    }

    async fn commit(&self, message: String, attempts: Option<u16>) -> zarr_core::Result<String> {
        let Some(branch) = &self.branch else {
            return Err(Error::from(AccessError::ReadOnly)
                .with_hint("commit a session of `Repository::writable_session`"));
        };
        // Nobody changes the session while it waits for other committers.
        let _documents = self.documents.lock().await;
        let mut session = self.session.write().await;
        self.check_writeable()?;
        if !self.journal.list_prefix(&StorePrefix::root())?.keys.is_empty() {
            let why = "cannot commit: a copy into this session has not finished";
            return Err(Error::from(AccessError::Argument(why.into())).with_hint(
                "go on with `CopyOptions::resume`, or make the copy again in a new session",
            ));
        }
        let _held = match &self.lock {
            Some(lock) => Some(lock.acquire().await?),
            None => None,
        };
        let id = match attempts {
            None => session.commit(message).execute().await,
            Some(attempts) => {
                // A rebase that fails may leave a session with a part of its changes, or none.
                let mut rebased = session.clone();
                let commit = rebased.commit(message).rebase(&RefuseConflicts, attempts);
                let id = commit.execute().await;
                if id.is_ok() {
                    *session = rebased;
                }
                id
            }
        };
        let id = id.map_err(|error| commit_error(error, branch, attempts))?.to_string();
        *sync::lock(&self.committed) = Some(id.clone());
        Ok(id)
    }
}

/// Refuses a chunk that no array has.
async fn check_array(
    session: &Session,
    key: &StoreKey,
    path: &Path,
    indices: &ChunkIndices,
) -> Result<()> {
    let Some(node) = node_at(session, path).await? else {
        return Err(refused(
            key,
            format!("Icechunk has no chunks without an array; create `{path}` first"),
        ));
    };
    let found = indices.0.len();
    match &node.node_data {
        NodeData::Group => Err(refused(key, format!("`{path}` is a group"))),
        NodeData::Array { shape, .. } if shape.len() != found => Err(refused(
            key,
            format!("it has {found} indices, and the array `{path}` has {} axes", shape.len()),
        )),
        NodeData::Array { shape, .. } if !shape.valid_chunk_coord(indices) => {
            Err(refused(key, format!("the array `{path}` has no such chunk")))
        }
        NodeData::Array { .. } => Ok(()),
    }
}

/// All nodes of a session.
async fn nodes(session: &Session) -> Result<Vec<NodeSnapshot>> {
    let nodes = session.list_nodes(&Path::root()).await.map_err(failed)?;
    nodes.map(|node| node.map_err(failed)).collect()
}

/// The indices of the chunks of a node whose keys begin with a prefix; `None` if there cannot be any.
async fn chunks_below(
    session: &Session,
    node: &NodeSnapshot,
    prefix: &str,
) -> Result<Option<Vec<ChunkIndices>>> {
    let all = prefix_of(&node.path) + CHUNKS;
    if rank(node).is_none() || !(all.starts_with(prefix) || prefix.starts_with(&format!("{all}/")))
    {
        return Ok(None);
    }
    let mut found = Vec::new();
    let mut chunks = std::pin::pin!(session.all_node_chunks(node).await);
    while let Some(chunk) = chunks.next().await {
        let (path, chunk) = chunk.map_err(failed)?;
        if chunk_of(&path, &chunk.coord).starts_with(prefix) {
            found.push(chunk.coord);
        }
    }
    Ok(Some(found))
}

/// A precondition that borrows nothing.
#[derive(Clone, Debug)]
enum Only {
    Always,
    Absent,
    Version(Version),
}

impl Only {
    fn of(precondition: Precondition<'_>) -> Only {
        match precondition {
            Precondition::Always | Precondition::Unchecked => Only::Always,
            Precondition::Absent => Only::Absent,
            Precondition::Version(version) => Only::Version(version.clone()),
        }
    }

    fn compares(&self) -> bool {
        !matches!(self, Only::Always)
    }

    fn holds(&self, now: Option<&Value>) -> bool {
        match self {
            Only::Always => true,
            Only::Absent => now.is_none(),
            Only::Version(was) => now.is_some_and(|value| value.version() == *was),
        }
    }
}

impl IcechunkSession {
    pub(crate) fn new(
        repository: &Repository,
        version: &crate::Version,
        session: Session,
        branch: Option<String>,
    ) -> IcechunkSession {
        let parallel = session.config().get_partial_values_concurrency();
        let session = Arc::new(RwLock::new(session));
        let inner = Inner {
            name: format!("icechunk://{version}::{}", repository.name),
            branch,
            store: IcechunkStore::from_session_and_config(session.clone(), parallel),
            reader: Reader {
                session: session.clone(),
                assets: repository.inner.asset_manager().clone(),
            },
            session,
            documents: AsyncMutex::default(),
            lock: repository.lock.clone(),
            is_local: repository.is_local,
            journal: MemoryStore::new(),
            committed: Mutex::default(),
        };
        IcechunkSession { inner: Arc::new(inner) }
    }

    /// This session as what opens and creates hierarchies.
    pub fn store(&self) -> Arc<dyn Store> {
        Arc::new(self.clone())
    }

    /// The hierarchy in this session, to be changed if the session can be. A session without one gets a root group first, if it can be changed.
    ///
    /// # Errors
    /// [`AccessError::NotFound`] if there is none in a session that reads; what opening and creating it meets.
    pub fn hierarchy(&self, options: &OpenOptions) -> zarr_core::Result<Hierarchy> {
        if self.inner.branch.is_none() {
            return Hierarchy::open(self.store(), options);
        }
        let options = options.clone().read_write();
        match Hierarchy::open(self.store(), &options) {
            Err(error) if error.kind() == ErrorKind::NotFound => {
                Hierarchy::create(self.store(), of_dialect(Dialect::V3), &options)
            }
            found => found,
        }
    }

    /// The identifier of the snapshot that the session began at; after a commit, of that.
    pub fn snapshot(&self) -> zarr_core::Result<String> {
        let inner = self.inner.clone();
        let id = run(async move { inner.session.read().await.snapshot_id().to_string() });
        block_on(id).map_err(|e| Error::from(e).at_store(&self.inner.name))
    }

    /// Whether something was set or erased that is not committed.
    pub fn has_changes(&self) -> zarr_core::Result<bool> {
        let inner = self.inner.clone();
        let changed = run(async move { inner.session.read().await.has_uncommitted_changes() });
        block_on(changed).map_err(|e| Error::from(e).at_store(&self.inner.name))
    }

    /// Makes the changes of this session the next commit of its branch, all of them or none, and returns the identifier of its snapshot. The
    /// session then only reads.
    ///
    /// In a folder, committers with this crate wait for each other, by a lock on a file; other programs do not know of it, and must not commit
    /// there at the same time.
    ///
    /// # Errors
    /// [`StoreError::Conflict`] if the branch has other commits since the session began; [`AccessError::Argument`] if there are no changes;
    /// [`AccessError::ReadOnly`] for a session that reads. The session is as it was then, and nothing is committed.
    pub fn commit(&self, message: impl Into<String>) -> zarr_core::Result<String> {
        self.commit_at_most(message.into(), None)
    }

    /// As [`IcechunkSession::commit`]; if the branch has other commits since the session began, its changes are made on top of them, if both
    /// changed different things. If yet another commit was faster then, this is repeated, at most `attempts` times.
    ///
    /// Conflicts are: both wrote the same chunk, created the same node, or changed the same document; one changed or erased an array or group in
    /// which the other wrote. What the session has read is not compared: if it decided what to write by what others changed since, use
    /// [`IcechunkSession::commit`] and begin anew.
    ///
    /// # Errors
    /// [`StoreError::Conflict`], which names the conflicts; as [`IcechunkSession::commit`].
    pub fn commit_with_rebase(
        &self,
        message: impl Into<String>,
        attempts: u16,
    ) -> zarr_core::Result<String> {
        self.commit_at_most(message.into(), Some(attempts))
    }

    fn commit_at_most(&self, message: String, attempts: Option<u16>) -> zarr_core::Result<String> {
        let inner = self.inner.clone();
        let committed = block_on(run(async move { inner.commit(message, attempts).await }));
        let committed = committed.map_err(Error::from).and_then(|committed| committed);
        committed.map_err(|e| e.at_store(&self.inner.name))
    }

    /// Sets the documents of a copy before its first chunk. A copy sets them after all chunks, so that nobody takes it for complete; Icechunk
    /// has no chunks without an array, and nobody sees a session before it is committed.
    async fn set_planned_documents(&self, mark: &StoreKey) -> Result<()> {
        let plan = mark.parent().key("plan.json")?;
        let damaged = |why: &str| StoreError::Backend(format!("`{plan}`: {why}").into());
        let text = self.inner.journal.value(&plan)?.ok_or_else(|| damaged("it is missing"))?;
        let parsed = Json::parse(&text).map_err(|why| damaged(&why))?;
        let documents = parsed.as_object().and_then(|plan| plan.get("documents")?.as_array());
        for document in documents.ok_or_else(|| damaged("`documents` is missing"))? {
            let text = |name| document.as_object()?.get(name)?.as_str();
            // One that has no text yet, such as consolidated metadata, no chunk waits for.
            if let (Some(key), Some(text)) = (text("key"), text("text")) {
                let value = Some(Payload::new(text.as_bytes()));
                self.put(&StoreKey::new(key)?, value, Precondition::Always).await?;
            }
        }
        Ok(())
    }

    /// The result of work on the session.
    async fn run<T: Send + 'static, F>(&self, work: impl FnOnce(Arc<Inner>) -> F) -> Result<T>
    where
        F: Future<Output = Result<T>> + Send + 'static,
    {
        run(work(self.inner.clone())).await?
    }
}

#[async_trait]
impl Store for IcechunkSession {
    fn name(&self) -> String {
        self.inner.name.clone()
    }

    fn capabilities(&self) -> Capabilities {
        let all = Capabilities { create: true, local: self.inner.is_local, ..Capabilities::FULL };
        if self.inner.branch.is_some() { all } else { all.read_only() }
    }

    async fn get(&self, key: &StoreKey, how: GetOptions<'_>) -> Result<Option<Got>> {
        if is_journal(key.as_str()) {
            return self.inner.journal.get(key, how);
        }
        let Some(parsed) = Key::parse(key) else { return Ok(None) };
        let (limit, owned) = (how.limit, key.clone());
        let found = self.run(move |inner| async move {
            let Some(value) = inner.value(&parsed).await? else { return Ok(None) };
            check_size(&owned, value.size(), limit)?;
            let bytes = inner.reader.read(&value, 0..value.size()).await?;
            let bytes = bytes.ok_or_else(|| StoreError::Changed { key: owned.to_string() })?;
            Ok(Some((bytes, value.version())))
        });
        match found.await? {
            None => Ok(None),
            Some((bytes, version)) => {
                let version = how.version.then_some(version);
                how.answer(key, bytes, version)
            }
        }
    }

    async fn open(
        &self,
        key: &StoreKey,
        how: SnapshotOptions<'_>,
    ) -> Result<Option<Box<dyn Snapshot>>> {
        if is_journal(key.as_str()) {
            return Ok(how.in_memory(key, self.get(key, how.to_get()).await?));
        }
        let Some(parsed) = Key::parse(key) else { return Ok(None) };
        let found = self.run(move |inner| async move { inner.value(&parsed).await });
        let Some(value) = found.await? else { return Ok(None) };
        if !how.accepts(Some(&value.version())) {
            return Ok(None);
        }
        check_size(key, value.size(), how.limit)?;
        let reader = self.inner.reader.clone();
        Ok(Some(Box::new(OpenValue { key: key.clone(), reader, value })))
    }

    async fn put(
        &self,
        key: &StoreKey,
        value: Option<Payload<'_>>,
        only_if: Precondition<'_>,
    ) -> Result<bool> {
        self.inner.check_writeable()?;
        if is_journal(key.as_str()) {
            let is_mark = value.is_some() && key.as_str().contains("/cleared-");
            let is_done = self.inner.journal.put(key, value, only_if)?;
            if is_done && is_mark {
                self.set_planned_documents(key).await?;
            }
            return Ok(is_done);
        }
        let parsed = match &value {
            Some(_) => Key::to_set(key)?,
            None => match Key::parse(key) {
                Some(parsed) => parsed,
                // An absent key has no version.
                None => return Ok(!matches!(only_if, Precondition::Version(_))),
            },
        };
        let value = value.map(Payload::into_bytes).transpose()?;
        let (key, only_if) = (key.clone(), Only::of(only_if));
        self.run(move |inner| async move {
            match parsed {
                Key::Document(path) => inner.put_document(&key, &path, value, only_if).await,
                Key::Chunk(path, indices) => {
                    inner.put_chunk(&key, path, indices, value, only_if).await
                }
            }
        })
        .await
    }

    /// Of the keys, a repository can have only `key`: the others are those of other dialects.
    async fn create(
        &self,
        key: &StoreKey,
        value: Payload<'_>,
        absent: &[StoreKey],
        leftovers: &[StoreKey],
    ) -> Result<Option<StoreKey>> {
        Key::to_set(key)?;
        if let Some(other) = absent.iter().chain(leftovers).find(|key| Key::parse(key).is_some()) {
            let why = "an Icechunk repository creates only one key in one step";
            return Err(refused(other, why));
        }
        let is_created = self.put(key, Some(value), Precondition::Absent).await?;
        Ok((!is_created).then(|| key.clone()))
    }

    async fn erase_prefix(&self, prefix: &StorePrefix) -> Result<()> {
        self.inner.check_writeable()?;
        if is_journal(prefix.as_str()) || prefix == &StorePrefix::root() {
            self.inner.journal.erase_prefix(prefix)?;
        }
        let prefix = prefix.clone();
        self.run(move |inner| async move { inner.erase_prefix(&prefix).await }).await
    }

    async fn list_prefix(&self, prefix: &StorePrefix) -> Result<Listing> {
        if is_journal(prefix.as_str()) {
            return self.inner.journal.list_prefix(prefix);
        }
        let prefix = prefix.clone();
        let keys = self.run(move |inner| async move { inner.keys(prefix.as_str(), None).await });
        let keys = keys.await?.into_iter().map(StoreKey::new);
        Ok(keys.collect::<Result<Vec<_>>>()?.into())
    }

    async fn list_dir(&self, prefix: &StorePrefix, how: ListOptions) -> Result<Listing> {
        if is_journal(prefix.as_str()) {
            return self.inner.journal.list_dir(prefix, how);
        }
        let below = prefix.clone();
        let keys =
            self.run(move |inner| async move { inner.keys(below.as_str(), Some(how)).await });
        let keys = keys.await?;
        Ok(Listing::of_names(prefix, keys.iter().map(String::as_str)))
    }
}
