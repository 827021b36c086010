//! Finds out whether a hierarchy begins at a store's root, and in which format.

use std::sync::Arc;

use super::context::HierarchyContext;
use super::options::OpenOptions;
use crate::context::{as_warnings, documents_except, is_too_large};
use crate::dialect::{Dialect, Era, Strictness};
use crate::error::{Error, MetadataError, Result, StoreError};
use crate::format::{Documents, Format, Found, PROBES, Reading, consolidated, detect};
use crate::path::NodePath;
use crate::registry::Access;
use crate::store::{Store, StoreKey, StorePrefix};

impl HierarchyContext {
    /// The hierarchy at a store's root, or that of a single document there, which may be `named`; and the documents that
    /// were read to find it. `None` if there is none.
    pub async fn open(
        store: Arc<dyn Store>,
        options: &OpenOptions,
        named: Option<&str>,
    ) -> Result<Option<(HierarchyContext, Documents)>> {
        if let Some(found) = HierarchyContext::probe(store.clone(), options).await? {
            return Ok(Some(found));
        }
        let may_be_single = options.era.is_none_or(|era| era <= Era::E1)
            && matches!(options.dialect, None | Some(Dialect::Draft));
        if !may_be_single {
            return Ok(None);
        }
        let name = store.name();
        let context = HierarchyContext::open_single_document(store, options, named).await;
        Ok(context.map_err(|e| e.at_store(name))?.map(|context| (context, Documents::new())))
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
        let at_store = |e: Error| e.at_store(store.name());
        let at_root =
            |e: MetadataError| Error::from(e).at_store(store.name()).at_path(&NodePath::root());
        let mut reading = Reading::new(&options.registry, options.options.strictness);
        reading.limits = options.options.limits;
        let writing = options.access == Access::ReadWrite;
        let probes = match options.dialect {
            Some(Dialect::V3) => &PROBES[..1],
            Some(Dialect::V2) => &PROBES[1..],
            _ => &PROBES[..],
        };
        let keys = probes.iter().copied().chain(writing.then_some(consolidated::DRAFT));
        let keys = keys.map(StoreKey::new).collect::<Result<Vec<_>, _>>()?;
        let limits = &options.options.limits;
        let mut passed_over = Vec::new();
        let tolerant = options.options.strictness == Strictness::Tolerant;
        let probed = documents_except(&*store, keys, limits, |key, found, error| {
            let is_passed_over = tolerant
                && consolidated::is_optional(key)
                && !found.is_empty()
                && is_too_large(error);
            if is_passed_over {
                let what = format!("consolidated metadata are passed over: {}", error.cause());
                passed_over.extend(as_warnings(key.as_str(), vec![what]));
            }
            is_passed_over
        });
        let found = probed.await.map_err(at_store)?;
        let detected = detect(&found, options.dialect, options.era, &mut reading);
        let detected = detected.map_err(|e| match found.first() {
            Some((key, _)) => at_root(e).at_key(key),
            None => MetadataError::Missing("zarr.json").into(),
        })?;
        let format: Arc<dyn Format> = match detected {
            Found::Nothing => return Ok(None),
            Found::Format(format) => format,
            Found::Draft(mut draft) => {
                if draft.needs_suffix() {
                    let prefix = StorePrefix::new("meta/")?;
                    let listing = match store.maybe_listable() {
                        Ok(listable) => listable.list_prefix(&prefix).await,
                        Err(e) => Err(e),
                    };
                    let keys = match listing {
                        Ok(listing) => listing.keys,
                        Err(StoreError::NotCapable { .. }) => Vec::new(),
                        Err(e) => return Err(at_store(e.into())),
                    };
                    draft = draft.with_suffix_of(&keys, &mut reading).map_err(at_root)?;
                }
                Arc::new(draft.with_plain_text(options.plain_draft))
            }
        };
        let mut warnings = as_warnings("zarr.json", reading.warnings);
        warnings.extend(passed_over);
        let context = HierarchyContext::new(store, options.wrapped(format), options, warnings);
        let context = context.with_consolidated(&found, &options.consolidated).await?;
        Ok(Some((context, found)))
    }
}
