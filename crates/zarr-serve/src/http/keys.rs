//! Answers for keys and prefixes below the name of what is served: as they are stored, or as v3.

use std::sync::Arc;

use hyper::StatusCode;
use hyper::header::{HeaderName, HeaderValue};
use zarr::store::Bytes;
use zarr::{ErrorKind, NodePath, Result, StoreError};

use super::raw::{self, Asking};
use super::reply::{Content, Reply, Value, of_answer, text};
use super::{Shared, validator};
use crate::listing::Entry;
use crate::view::{Found, Shown};
use crate::{Answer, Served};

/// How many levels above a prefix are looked at for the array of its chunks.
const MOST_ENDS: usize = 16;

/// The answer for a path that begins with a name.
pub(crate) async fn answer(
    shared: &Arc<Shared>,
    path: &str,
    as_v3: bool,
    asking: &Asking<'_>,
) -> Reply {
    let (of_find, path_of_find) = (shared.clone(), path.to_owned());
    let found = blocking(move || {
        let found = of_find.targets.find(&path_of_find)?;
        found.as_ref().map_or(Ok(()), |(served, _)| served.refresh())?;
        Ok(found.map(|(served, rest)| (served, rest.to_owned())))
    });
    let found = match found.await {
        Ok(found) => found,
        Err(e) => return failed(&e),
    };
    let ends_in_slash = path.ends_with('/');
    match (found, shared.targets.folder(path)) {
        // Without a `/` it is the value of the folder's key: an archive as it is stored.
        (Some((_, rest)), Some((store, key))) if rest.is_empty() && !ends_in_slash && !as_v3 => {
            raw::answer(store, key, asking).await
        }
        (Some((_, rest)), _) if rest.is_empty() && !ends_in_slash => raw::moved(asking),
        (Some((served, rest)), _) if as_v3 => shown(shared, served, &rest, asking).await,
        (Some((served, rest)), _) => raw::answer(&served.store(), &rest, asking).await,
        (None, Some((_, ""))) if !ends_in_slash => raw::moved(asking),
        // Of a folder's own keys only its listings lead to hierarchies.
        (None, Some(_)) if as_v3 && !path.is_empty() && !ends_in_slash => raw::absent(),
        (None, Some((store, key))) => {
            let reply = raw::answer(store, key, asking).await;
            if reply.status() == StatusCode::NOT_FOUND { raw::no_such_path() } else { reply }
        }
        (None, None) => raw::no_such_path(),
    }
}

/// The answer for a path of the view.
async fn shown(
    shared: &Arc<Shared>,
    served: Arc<Served>,
    path: &str,
    asking: &Asking<'_>,
) -> Reply {
    if path.is_empty() || path.ends_with('/') {
        return list(shared, served, path, asking).await;
    }
    let (view, of_find, path_of_find) = (shared.view.clone(), served.clone(), path.to_owned());
    let value = match blocking(move || view.find(&of_find, &path_of_find)).await {
        Ok(Some(Found::Document(document))) => match document_value(document, asking).await {
            Ok(value) => value,
            Err(e) => return raw::failed(&e),
        },
        Ok(Some(Found::Cannot(why))) => return cannot(&why),
        Ok(Some(Found::Chunk(array, indices))) => {
            match shared.view.chunk(&served, &array, &indices, asking).await {
                Ok(Some(value)) => value,
                Ok(None) => return raw::absent(),
                Err(e) => return failed(&e),
            }
        }
        Ok(None) => return folder_or_absent(shared, served, path, asking).await,
        Err(e) => return failed(&e),
    };
    value.reply(asking.headers)
}

async fn document_value(document: Bytes, asking: &Asking<'_>) -> Result<Value, StoreError> {
    let size = document.len() as u64;
    // What keeps documents for the next answer may have dropped it before it is sent.
    let held = asking.memory.reserve(size, "the document").await?;
    Ok(Value {
        size,
        tag: Some(validator::of_bytes(&document)),
        content_type: "application/json",
        piece: 0,
        content: Content::Memory(document),
        headers: Vec::new(),
        held,
    })
}

/// The answer for a node that v3 cannot represent: for its readers it is absent.
fn cannot(why: &str) -> Reply {
    let mut reply = text(StatusCode::NOT_FOUND, &format!("v3 cannot represent this node: {why}"));
    const MADE: HeaderName = HeaderName::from_static("x-zarr-view");
    reply.headers_mut().insert(MADE, HeaderValue::from_static("cannot"));
    reply
}

/// Sends a reader who named a node without the last `/` there.
async fn folder_or_absent(
    shared: &Arc<Shared>,
    served: Arc<Served>,
    path: &str,
    asking: &Asking<'_>,
) -> Reply {
    let (view, node) = (shared.view.clone(), NodePath::new(&format!("/{path}")));
    let is_node = blocking(move || Ok(view.node(&served, &node?)?.is_some()));
    if is_node.await.unwrap_or(false) { raw::moved(asking) } else { raw::absent() }
}

/// The listing of a prefix of the view.
async fn list(shared: &Arc<Shared>, served: Arc<Served>, path: &str, asking: &Asking<'_>) -> Reply {
    let (view, prefix, store) = (shared.view.clone(), path.to_owned(), served.store());
    raw::list_with(path, &*store, asking, move |_| entries(&view, &served, &prefix), failed).await
}

/// What is below a prefix: of a node, or of an array's chunks.
fn entries(view: &crate::view::View, served: &Served, prefix: &str) -> Result<Option<Vec<Entry>>> {
    let inner = prefix.trim_end_matches('/');
    let ends = [inner.len()].into_iter().chain(inner.rmatch_indices('/').map(|(at, _)| at));
    for end in ends.take(MOST_ENDS).chain([0]) {
        let Ok(path) = NodePath::new(&format!("/{}", &inner[..end])) else { return Ok(None) };
        let Some(shown) = view.node(served, &path)? else { continue };
        let below = inner[end..].trim_start_matches('/');
        let below = if below.is_empty() { String::new() } else { format!("{below}/") };
        if !below.is_empty() && !matches!(&*shown, Shown::Array(_)) {
            return Ok(None);
        }
        let entries = view.tree(served)?.entries(&shown, &path, &below)?;
        return Ok((below.is_empty() || !entries.is_empty()).then_some(entries));
    }
    Ok(None)
}

/// The answer for what could not be read: 404 only for what is absent.
fn failed(error: &zarr::Error) -> Reply {
    match (error.kind(), error.cause()) {
        (_, zarr::Cause::Store(e)) => raw::failed(e),
        (ErrorKind::NotFound | ErrorKind::Unsupported | ErrorKind::Limit, _) => {
            of_answer(Answer::of_error(error))
        }
        _ => text(StatusCode::INTERNAL_SERVER_ERROR, &error.to_string()),
    }
}

/// The result of a call that blocks, made on a thread for that.
pub(crate) async fn blocking<T: Send + 'static>(
    call: impl FnOnce() -> Result<T> + Send + 'static,
) -> Result<T> {
    let called = tokio::task::spawn_blocking(call).await;
    called.unwrap_or_else(|_| Err(zarr::AccessError::Cancelled.into()))
}
