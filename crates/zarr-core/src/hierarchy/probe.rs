//! Finds out whether a hierarchy begins at a store's root, and in which format.

use std::sync::Arc;

use super::consolidated::compare;
use super::context::HierarchyContext;
use super::options::OpenOptions;
use super::single_document;
use crate::context::{as_warnings, documents_except, is_too_large};
use crate::dialect::{Dialect, Era, Strictness, Warning};
use crate::error::{Error, MetadataError, Result, StoreError};
use crate::format::{Documents, Format, Found, PROBES, Reading, consolidated, detect};
use crate::path::NodePath;
use crate::registry::Access;
use crate::store::{Store, StoreKey, StorePrefix};

/// The hierarchy at a store's root, or that of a single document there, which may be `named`; and the documents that
/// were read to find it. `None` if there is none.
pub async fn find(
    store: Arc<dyn Store>,
    options: &OpenOptions,
    named: Option<&str>,
) -> Result<Option<(HierarchyContext, Documents)>> {
    if let Some(found) = probe(store.clone(), options).await? {
        return Ok(Some(found));
    }
    let may_be_single = options.era.is_none_or(|era| era <= Era::E1)
        && matches!(options.dialect, None | Some(Dialect::Draft));
    if !may_be_single {
        return Ok(None);
    }
    let name = store.name();
    let hierarchy = single_document::open_single_document(store, options, named).await;
    let hierarchy = hierarchy.map_err(|e| e.at_store(name))?;
    Ok(hierarchy.map(|hierarchy| (hierarchy, Documents::new())))
}

/// The hierarchy at a store's root, and the documents there; `None` if no hierarchy begins there.
pub async fn probe(
    store: Arc<dyn Store>,
    options: &OpenOptions,
) -> Result<Option<(HierarchyContext, Documents)>> {
    if options.era.is_some_and(|era| era <= Era::E1) {
        // The drafts of May 2019 have no entry point.
        return Ok(None);
    }
    let (found, passed_over) = read_probes(&*store, options).await?;
    let mut reading = Reading::new(&options.registry, options.options.strictness);
    reading.limits = options.options.limits;
    let detected = detect(&found, options.dialect, options.era, &mut reading);
    let detected = detected.map_err(|e| match found.first() {
        Some((key, _)) => error_at_root(&*store, e).at_key(key),
        None => MetadataError::Missing("zarr.json").into(),
    })?;
    let format: Arc<dyn Format> = match detected {
        Found::Nothing => return Ok(None),
        Found::Format(format) => format,
        Found::Draft(mut draft) => {
            if draft.needs_suffix() {
                let keys = list_draft_documents(&*store).await;
                let keys = keys.map_err(|e| e.at_store(store.name()))?;
                let suffixed = draft.with_suffix_of(&keys, &mut reading);
                draft = suffixed.map_err(|e| error_at_root(&*store, e))?;
            }
            Arc::new(draft.with_plain_text(options.plain_draft))
        }
    };
    let mut warnings = as_warnings("zarr.json", reading.warnings);
    warnings.extend(passed_over);
    let hierarchy = HierarchyContext::new(store, options.wrapped(format), options, warnings);
    let hierarchy = compare::with_consolidated(hierarchy, &found, &options.consolidated).await?;
    Ok(Some((hierarchy, found)))
}

/// The documents that a root may have, and warnings of those that are passed over.
async fn read_probes(
    store: &dyn Store,
    options: &OpenOptions,
) -> Result<(Documents, Vec<Warning>)> {
    let writing = options.access == Access::ReadWrite;
    let probes = match options.dialect {
        Some(Dialect::V3) => &PROBES[..1],
        Some(Dialect::V2) => &PROBES[1..],
        _ => &PROBES[..],
    };
    let keys = probes.iter().copied().chain(writing.then_some(consolidated::DRAFT));
    let keys = keys.map(StoreKey::new).collect::<Result<Vec<_>, _>>()?;
    let limits = &options.options.limits;
    let tolerant = options.options.strictness == Strictness::Tolerant;
    let mut passed_over = Vec::new();
    let probed = documents_except(store, keys, limits, |key, found, error| {
        let is_passed_over =
            tolerant && consolidated::is_optional(key) && !found.is_empty() && is_too_large(error);
        if is_passed_over {
            let what = format!("ignoring consolidated metadata: {}", error.cause());
            passed_over.extend(as_warnings(key.as_str(), vec![what]));
        }
        is_passed_over
    });
    let found = probed.await.map_err(|e| e.at_store(store.name()))?;
    Ok((found, passed_over))
}

/// The keys of a draft's documents, which tell the suffix of their names; none if the store cannot list.
async fn list_draft_documents(store: &dyn Store) -> Result<Vec<StoreKey>> {
    let listing = match store.maybe_listable() {
        Ok(listable) => listable.list_prefix(&StorePrefix::new("meta/")?).await,
        Err(e) => Err(e),
    };
    match listing {
        Ok(listing) => Ok(listing.keys),
        Err(StoreError::NotCapable { .. }) => Ok(Vec::new()),
        Err(e) => Err(e.into()),
    }
}

fn error_at_root(store: &dyn Store, error: MetadataError) -> Error {
    Error::from(error).at_store(store.name()).at_path(&NodePath::root())
}
