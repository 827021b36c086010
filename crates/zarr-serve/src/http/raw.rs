//! Sends the values of a store as they are stored, and lists its keys.

use std::sync::Arc;

use hyper::body::Body as _;
use hyper::header::{ACCEPT, HeaderValue, LINK, LOCATION, RANGE, RETRY_AFTER};
use hyper::{HeaderMap, Method, StatusCode};
use tokio::sync::{Semaphore, oneshot};
use zarr::StoreError;
use zarr::runtime::{block_on, spawn_thread};
use zarr::store::{
    ByteRange, Bytes, GetOptions, Got, ListOptions, Snapshot, SnapshotOptions, Store, StoreKey,
    StorePrefix,
};

use super::path::{decoded, pairs};
use super::range::{Wanted, wanted};
use super::reply::{Content, Held, Reply, Value, of_answer, text};
use super::validator::{self, Outcome, outcome};
use crate::budget::{Budget, Refused};
use crate::listing::{self, Entry};

/// How many bytes of a value on this machine are read at once.
const LOCAL_PIECE: u64 = 256 << 10;
/// How many bytes of a value behind a network are read at once.
const REMOTE_PIECE: u64 = 2 << 20;
/// How many names are in a listing.
const MOST_LISTED: usize = 100_000;
/// Into how many pieces all memory goes at least, and how many bytes a piece has at least.
const MOST_SENT: u64 = 256;
const LEAST_PIECE: u64 = 16 << 10;
/// Bytes of memory for a listing before it is known how many names it has, and for each name besides its letters.
const LISTING: u64 = 32 << 20;
const PER_NAME: u64 = 128;
/// How many times the letters of a name are there: as a key, in an entry, in the answer, in its link.
const COPIES: u64 = 4;
/// What an error says of a value that finds no memory.
const WHAT: &str = "the value";

/// What of a request matters here.
pub(crate) struct Asking<'a> {
    pub method: &'a Method,
    pub headers: &'a HeaderMap,
    /// The path of the URL as it was sent, for redirects.
    pub raw_path: &'a str,
    /// The query of the URL as it was sent.
    pub query: &'a str,
    /// One store is listed at a time.
    pub listing: &'a Arc<Semaphore>,
    /// The memory in which answers are made.
    pub memory: &'a Budget,
}

/// Whether a key is that of a document, whose value is JSON.
pub(crate) fn is_document(key: &str) -> bool {
    let name = key.rsplit('/').next().unwrap_or_default();
    name.ends_with(".json") || [".zarray", ".zgroup", ".zattrs", ".zmetadata"].contains(&name)
}

/// The type of a key's value: JSON, or bytes.
pub(crate) fn content_type(key: &str) -> &'static str {
    if is_document(key) { "application/json" } else { "application/octet-stream" }
}

/// The answer for a path below a store: the value of a key, a listing if it ends in `/`.
pub(crate) async fn answer(store: &Arc<dyn Store>, path: &str, asking: &Asking<'_>) -> Reply {
    if path.is_empty() || path.ends_with('/') {
        return list(store, path, asking).await;
    }
    let Ok(key) = StoreKey::new(path) else {
        return text(StatusCode::BAD_REQUEST, "this is not a key");
    };
    match value(&**store, &key, asking).await {
        Ok(Some(value)) => value.reply(asking.headers),
        Ok(None) if is_folder(&**store, path, asking).await => moved(asking),
        Ok(None) => absent(),
        Err(e) => failed(&e),
    }
}

/// The answer for what is not there.
pub(crate) fn absent() -> Reply {
    text(StatusCode::NOT_FOUND, "nothing is here")
}

/// The answer for a path of no hierarchy, such as `/help`.
pub(crate) fn no_such_path() -> Reply {
    text(
        StatusCode::NOT_FOUND,
        "nothing is here; `/` is the page, `/-/names` lists the hierarchies, and below `/-/` is the API",
    )
}

/// The answer for what is there, maybe, and could not be read. Never 404: clients would take that for a chunk of fill values.
pub(crate) fn failed(error: &StoreError) -> Reply {
    if let Some(refused) = Refused::of(error) {
        let is_busy = refused.is_busy;
        let status =
            if is_busy { StatusCode::SERVICE_UNAVAILABLE } else { StatusCode::PAYLOAD_TOO_LARGE };
        let mut reply = text(status, &refused.to_string());
        if is_busy {
            reply
                .headers_mut()
                .insert(RETRY_AFTER, HeaderValue::from_static(crate::answer::RETRY_AFTER));
        }
        return reply;
    }
    match error {
        // A key that this store can have no value for.
        StoreError::InvalidKey { .. } => absent(),
        StoreError::NotCapable { .. } => text(StatusCode::NOT_IMPLEMENTED, &error.to_string()),
        StoreError::Io { source, .. } if source.kind() == std::io::ErrorKind::PermissionDenied => {
            text(StatusCode::FORBIDDEN, &error.to_string())
        }
        _ => text(StatusCode::INTERNAL_SERVER_ERROR, &error.to_string()),
    }
}

/// The answer that sends a client to the same path with a `/` at its end.
pub(crate) fn moved(asking: &Asking<'_>) -> Reply {
    let mut reply = text(StatusCode::PERMANENT_REDIRECT, "a listing ends in `/`");
    // Relative, so that it is right behind a proxy, too.
    let last = asking.raw_path.rsplit('/').next().unwrap_or_default();
    if let Ok(location) = format!("./{last}/").try_into() {
        reply.headers_mut().insert(LOCATION, location);
    }
    reply
}

/// A key's value, opened.
///
/// # Errors
/// Those of the store, and [`crate::budget::Refused`].
pub(crate) async fn value(
    store: &dyn Store,
    key: &StoreKey,
    asking: &Asking<'_>,
) -> Result<Option<Value>, StoreError> {
    let is_local = store.capabilities().local;
    let piece = if is_local { LOCAL_PIECE } else { REMOTE_PIECE };
    let piece = piece.min(asking.memory.size() / MOST_SENT).max(LEAST_PIECE);
    // A distant store fetches the first bytes with the request that finds out how many there are.
    let first: Vec<ByteRange> = first(asking, piece).into_iter().collect();
    // One piece is read while another is sent.
    let mut held = asking.memory.reserve(piece * 2, WHAT).await?;
    let Some((snapshot, is_compressed)) = opened(store, key, &first).await? else {
        return Ok(None);
    };
    if snapshot.size() == 0 {
        // Only a reading finds out how many bytes there are.
        snapshot.read(&[]).await?;
    }
    let mut tag = snapshot.version().map(|version| validator::of_version(&version));
    let (size, content_type) = (snapshot.size(), content_type(key.as_str()));
    let is_sent = asking.method == Method::GET
        && matches!(outcome(asking.headers, tag.as_deref()), Outcome::Send | Outcome::SendWhole);
    let is_checked = is_sent && is_archive(store) && !asking.headers.contains_key(RANGE);
    let content = if size == 0 {
        Content::Memory(Bytes::new())
    } else if is_compressed && is_sent {
        // What inflates it has the bytes of the archive, too, if they came from elsewhere.
        let all = if is_local { size } else { size.saturating_mul(2) };
        asking.memory.adjust(&mut held, all, WHAT).await?;
        Content::Memory(whole(&*snapshot, size).await?)
    } else if is_checked && size <= REMOTE_PIECE {
        // The archive compares the checksum of the whole: parts of it have none.
        asking.memory.adjust(&mut held, size, WHAT).await?;
        match store.get(key, GetOptions::at_most(size)).await? {
            Some(Got { bytes: Some(bytes), .. }) if bytes.len() as u64 == size => {
                Content::Memory(bytes)
            }
            _ => return Err(StoreError::Changed { key: key.to_string() }),
        }
    } else if tag.is_none() && is_local && size <= REMOTE_PIECE {
        // A file that was set just now: only its content tells it from what may be set next.
        asking.memory.adjust(&mut held, size, WHAT).await?;
        let whole = whole(&*snapshot, size).await?;
        tag = Some(validator::of_bytes(&whole));
        Content::Memory(whole)
    } else {
        Content::Stored(snapshot)
    };
    held.shrink(size.max(1));
    Ok(Some(Value { size, tag, content_type, piece, content, headers: Vec::new(), held }))
}

/// All bytes of a value.
async fn whole(snapshot: &dyn Snapshot, size: u64) -> Result<Bytes, StoreError> {
    let bytes = snapshot.read(&[ByteRange::ALL]).await?.pop().unwrap_or_default();
    if bytes.len() as u64 == size {
        return Ok(bytes);
    }
    let why = "the store gave another number of bytes than it said";
    Err(StoreError::Backend(why.into()))
}

fn is_archive(store: &dyn Store) -> bool {
    store.name().starts_with("zip:")
}

/// A value, opened; and whether it is compressed in an archive, which inflates all of it once some is read.
async fn opened(
    store: &dyn Store,
    key: &StoreKey,
    first: &[ByteRange],
) -> Result<Option<(Box<dyn Snapshot>, bool)>, StoreError> {
    let how = SnapshotOptions::first(first);
    let limit = if is_archive(store) { 0 } else { u64::MAX };
    match store.open(key, SnapshotOptions { limit, ..how }).await {
        Err(StoreError::TooLarge { .. }) if limit == 0 => {
            Ok(store.open(key, how).await?.map(|snapshot| (snapshot, true)))
        }
        opened => Ok(opened?.map(|snapshot| (snapshot, false))),
    }
}

/// The range that will be read first.
fn first(asking: &Asking<'_>, piece: u64) -> Option<ByteRange> {
    if asking.method != Method::GET {
        return None;
    }
    let range = asking.headers.get(RANGE).and_then(|range| range.to_str().ok());
    Some(match range.map_or(Wanted::Whole, wanted) {
        Wanted::Whole => ByteRange::Bounded { start: 0, len: piece },
        Wanted::Last(count) => ByteRange::Suffix(count.min(piece)),
        Wanted::From(start, end) => {
            let len = end.map_or(piece, |end| end.saturating_sub(start).min(piece));
            ByteRange::Bounded { start, len }
        }
    })
}

/// Whether there are keys below a path. Asked only where that costs nothing, or a person will see the answer: most of what is
/// absent is a chunk.
async fn is_folder(store: &dyn Store, path: &str, asking: &Asking<'_>) -> bool {
    if !store.capabilities().local && !accepts(asking.headers, "text/html") {
        return false;
    }
    let Ok(prefix) = StorePrefix::new(format!("{path}/")) else { return false };
    let listing = store.list_dir(&prefix, ListOptions::at_most(1)).await;
    listing.is_ok_and(|listing| !listing.keys.is_empty() || !listing.prefixes.is_empty())
}

/// Whether a request names this type among those that it accepts.
pub(crate) fn accepts(headers: &HeaderMap, media_type: &str) -> bool {
    let texts = headers.get_all(ACCEPT).iter().filter_map(|accept| accept.to_str().ok());
    texts.flat_map(|accept| accept.split(',')).any(|one| {
        one.split(';').next().unwrap_or_default().trim().eq_ignore_ascii_case(media_type)
    })
}

/// The listing of a prefix of a store.
async fn list(store: &Arc<dyn Store>, path: &str, asking: &Asking<'_>) -> Reply {
    let Ok(prefix) = StorePrefix::new(path) else {
        return text(StatusCode::BAD_REQUEST, "this is not a prefix");
    };
    let (of_list, is_root) = (store.clone(), path.is_empty());
    list_with(
        path,
        &**store,
        asking,
        move |most: Option<usize>| {
            let how = most.map_or_else(ListOptions::default, ListOptions::at_most);
            let listing = block_on(of_list.list_dir(&prefix, how))?;
            let is_there = is_root || !listing.keys.is_empty() || !listing.prefixes.is_empty();
            Ok(is_there.then(|| Entry::of(listing)))
        },
        failed,
    )
    .await
}

/// A listing, or the part of it that is asked for. `entries` makes all of it, of which it may leave out what follows a number of
/// names, or says that there is none.
pub(crate) async fn list_with<E: Send + 'static>(
    path: &str,
    store: &dyn Store,
    asking: &Asking<'_>,
    entries: impl FnOnce(Option<usize>) -> Result<Option<Vec<Entry>>, E> + Send + 'static,
    failed: impl FnOnce(&E) -> Reply,
) -> Reply {
    let Ok(part) = Part::of(asking.query) else {
        let why = format!(
            "a part of a listing is `?limit=N&after=NAME`, with a limit of 1 to {MOST_LISTED}"
        );
        return text(StatusCode::BAD_REQUEST, &why);
    };
    let limit = part.as_ref().map_or(MOST_LISTED, |part| part.limit);
    // One folder of this machine is read at a time. Distant stores wait for no others.
    let is_local = store.capabilities().local;
    let _turn = if is_local { asking.listing.acquire().await.ok() } else { None };
    let memory = asking.memory;
    let mut held = match memory.reserve(LISTING.min(memory.size() / 8), "the listing").await {
        Ok(held) => held,
        Err(e) => return self::failed(&e),
    };
    let (done, made) = oneshot::channel();
    // A separate thread: the names take memory from a place that the allocator keeps for it, and gives to the next one.
    // If there is no thread, nothing comes of `made`.
    let _ = spawn_thread("listing", move || {
        let most = part.is_none().then_some(MOST_LISTED + 1);
        let made = entries(most).map(|entries| entries.map(|entries| cut(entries, part.as_ref())));
        // If the client has gone, none waits for it.
        let _ = done.send(made);
    });
    match made.await {
        Ok(Ok(Some(Cut::Entries(entries, next)))) => {
            let letters: u64 = entries.iter().map(|entry| entry.name.len() as u64).sum();
            let all = letters * COPIES + entries.len() as u64 * PER_NAME;
            if let Err(e) = memory.adjust(&mut held, all, "the listing").await {
                return self::failed(&e);
            }
            let mut reply = listed(path, entries, asking);
            if let Some(next) = next {
                let link =
                    format!("<?limit={limit}&after={}>; rel=\"next\"", listing::encoded(&next));
                reply.headers_mut().extend(HeaderValue::try_from(link).map(|link| (LINK, link)));
            }
            held.shrink(reply.body().size_hint().lower());
            reply.extensions_mut().insert(Held::new(held));
            reply
        }
        Ok(Ok(Some(Cut::TooMany))) => {
            let why = format!(
                "a listing has at most {MOST_LISTED} names, and here are more; request parts: `?limit=1000`, and then as the header `Link` says"
            );
            text(StatusCode::PAYLOAD_TOO_LARGE, &why)
        }
        Ok(Ok(None)) => absent(),
        Ok(Err(e)) => failed(&e),
        Err(_) => text(StatusCode::INTERNAL_SERVER_ERROR, "cannot produce the listing"),
    }
}

/// Which part of a listing is asked for: names in their order.
struct Part {
    after: String,
    limit: usize,
}

impl Part {
    /// What a query asks for; nothing if it names no part.
    fn of(query: &str) -> Result<Option<Part>, ()> {
        let pairs = pairs(query);
        let get = |name: &str| {
            pairs.iter().find(|(known, _)| known == name).map(|(_, value)| value.clone())
        };
        let (after, limit) = (get("after"), get("limit"));
        if after.is_none() && limit.is_none() {
            return Ok(None);
        }
        let limit = limit.map_or(Ok(MOST_LISTED), |limit| limit.parse()).map_err(drop)?;
        if !(1..=MOST_LISTED).contains(&limit) {
            return Err(());
        }
        Ok(Some(Part { after: after.unwrap_or_default(), limit }))
    }
}

/// What of a listing is sent.
enum Cut {
    /// These, and the last of them if there are more.
    Entries(Vec<Entry>, Option<String>),
    /// More than a listing has.
    TooMany,
}

fn cut(mut entries: Vec<Entry>, part: Option<&Part>) -> Cut {
    let Some(part) = part else {
        return match entries.len() {
            count if count > MOST_LISTED => Cut::TooMany,
            _ => Cut::Entries(entries, None),
        };
    };
    entries.retain(|entry| entry.name > part.after);
    entries.sort_by(|a, b| a.name.cmp(&b.name));
    let is_more = entries.len() > part.limit;
    entries.truncate(part.limit);
    entries.shrink_to_fit();
    let next = entries.last().filter(|_| is_more).map(|entry| entry.name.clone());
    Cut::Entries(entries, next)
}

/// Entries, as JSON if a request asks for that and not for HTML.
pub(crate) fn listed(path: &str, entries: Vec<Entry>, asking: &Asking<'_>) -> Reply {
    let headers = asking.headers;
    let as_json = accepts(headers, "application/json") && !accepts(headers, "text/html");
    of_answer(if as_json {
        listing::json(path, &entries)
    } else {
        listing::html(&format!("/{}", decoded(asking.raw_path).unwrap_or_default()), entries)
    })
}
