//! What `/` shows.

use crate::listing::{Entry, html};
use crate::{Answer, Question, Targets};

/// The page at `/`: what is served.
pub(crate) fn page(_: &Question, targets: &Targets) -> Answer {
    let entries = targets.roots().map(|(name, _)| Entry::folder(name));
    html("zarr serve", entries)
}
