//! Opens the targets that references name, as far as they may lead there.

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::sync::{Arc, Mutex};

use futures::future::FutureExt;
use zarr_core::runtime::spawn_blocking;
use zarr_core::store::{Result, Store, StoreKey};
use zarr_core::{Access, Registry, StoreError, sync, without_secrets};

use crate::reach::{Reach, Reachable, Refusal};
use crate::shared_work::SharedWork;
use crate::target::Target;

/// The most places that are named at once because they may not be read.
const MAX_REFUSED: usize = 20;

/// Opens the store of a target. It may block.
pub type OpenTargetStore = Arc<dyn Fn(&Reachable) -> Result<Arc<dyn Store>> + Send + Sync>;

/// The stores of targets, each opened once.
pub(crate) struct Targets {
    opener: Arc<Opener>,
    /// Many readers ask for a target that none of them has opened. They go on together, so that they read together.
    under_way: SharedWork<String, Result<Target, Refusal>>,
}

struct Opener {
    reach: Reach,
    open: OpenTargetStore,
    /// By their URLs, those that the user named apart from others.
    stores: Mutex<HashMap<(String, bool), Arc<dyn Store>>>,
}

impl fmt::Debug for Targets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Targets").field("reach", &self.opener.reach).finish_non_exhaustive()
    }
}

impl Targets {
    pub fn new(reach: Reach, open: OpenTargetStore) -> Targets {
        let opener = Arc::new(Opener { reach, open, stores: Mutex::default() });
        Targets { opener, under_way: SharedWork::default() }
    }

    /// The target that `url` names. `prefixes` says where all references of the file lead, for the error.
    pub async fn open(
        &self,
        key: &StoreKey,
        url: &str,
        prefixes: impl FnOnce() -> String,
    ) -> Result<Target> {
        let opened = self.under_way.result(url.to_owned(), || {
            let (opener, url) = (self.opener.clone(), url.to_owned());
            async move { opener.open(&url).await }.boxed()
        });
        opened.await?.map_err(|refusal| refused(key, url, &refusal, prefixes))
    }

    /// The errors of targets that may not be read, one for each place: of some keys, each with the URL that it refers to. `prefixes` is
    /// as in [`Targets::open`]. It blocks, as [`Reach::resolve`].
    pub fn refused<'u>(
        &self,
        references: impl IntoIterator<Item = (&'u str, &'u str)>,
        prefixes: impl Fn() -> String,
    ) -> Result<Vec<StoreError>> {
        let (mut places, mut errors) = (HashSet::new(), Vec::new());
        for (key, url) in references {
            let Err(refusal) = self.opener.reach.resolve(url) else { continue };
            let place = match &refusal {
                Refusal::Outside { prefix } => prefix.clone(),
                Refusal::Never(why) => why.clone(),
            };
            if places.insert(place) {
                errors.push(refused(&StoreKey::new(key)?, url, &refusal, &prefixes));
            }
            if errors.len() >= MAX_REFUSED {
                break;
            }
        }
        Ok(errors)
    }

    /// The URLs of the places that references with these URLs lead to, also of those that may not be read. It blocks, as
    /// [`Reach::resolve`].
    pub fn places<'u>(&self, urls: impl IntoIterator<Item = &'u str>) -> Vec<String> {
        urls.into_iter().filter_map(|url| self.opener.reach.url_of(url)).collect()
    }
}

impl Opener {
    async fn open(&self, url: &str) -> Result<Result<Target, Refusal>> {
        let (reach, owned) = (self.reach.clone(), url.to_owned());
        let resolved = spawn_blocking(move || reach.resolve(&owned)).await;
        let resolved = resolved
            .unwrap_or_else(|| Err(Refusal::Never("the thread that looked for it ended".into())));
        let reachable = match resolved {
            Ok(reachable) => reachable,
            Err(refusal) => return Ok(Err(refusal)),
        };
        let store = self.store(&reachable).await?;
        Ok(Ok(Target::new(store, StoreKey::new(reachable.key)?)))
    }

    async fn store(&self, reachable: &Reachable) -> Result<Arc<dyn Store>> {
        let name = (reachable.store.clone(), reachable.is_named);
        if let Some(store) = sync::lock(&self.stores).get(&name) {
            return Ok(store.clone());
        }
        let (open, reachable) = (self.open.clone(), reachable.clone());
        let opened = spawn_blocking(move || open(&reachable)).await;
        let store = opened.unwrap_or_else(|| {
            Err(StoreError::Backend("the thread that opened a target ended".into()))
        })?;
        Ok(sync::lock(&self.stores).entry(name).or_insert(store).clone())
    }
}

fn refused(
    key: &StoreKey,
    url: &str,
    refusal: &Refusal,
    prefixes: impl FnOnce() -> String,
) -> StoreError {
    let why = match refusal {
        Refusal::Never(why) => why.clone(),
        Refusal::Outside { prefix } => {
            let (prefix, prefixes) = (without_secrets(prefix), prefixes());
            format!(
                "it is outside the folder or the server of the references{prefixes}; if you trust them, allow it with \
                 `--allow-target {prefix}`, the option `allow_target` in code"
            )
        }
    };
    StoreError::TargetRefused { key: key.to_string(), target: without_secrets(url), why }
}

/// Opens the stores of targets with a registry. Its options and credentials go to what the user named; others are read
/// without any, also without those of the environment.
pub(crate) fn opener(registry: &Registry) -> OpenTargetStore {
    let registry = registry.clone();
    Arc::new(move |place: &Reachable| {
        let url = &place.store;
        if place.is_named && !url.starts_with("file:") {
            return registry.open_store(url, Access::ReadOnly);
        }
        let signs = ["s3://", "gs://", "az://", "abfs"].iter().any(|begin| url.starts_with(begin));
        let anonymous = ("skip_signature".to_owned(), "true".to_owned());
        let options = if signs { vec![anonymous] } else { Vec::new() };
        registry.open_store_with(url, Access::ReadOnly, &options)
    })
}
