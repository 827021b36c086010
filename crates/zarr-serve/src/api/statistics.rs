//! Gives the statistics of an array.

use zarr::Json;
use zarr_plot::meaning::{Meaning, MissingRule};
use zarr_plot::stats::{self, Bins, Request};

use super::{Answered, Refusal, parameters};
use crate::{Answer, Question, Targets};

/// The most percentiles and the most bins.
const MAX_PERCENTILES_OR_BINS: usize = 1000;
/// Bytes of decoded chunks that are held at once.
const MAX_MEMORY_BYTES: u64 = 256 << 20;

/// Statistics of all elements, decoded, as `zarr stats --json` has them (docs/stats.md), without what says which array it is.
///
/// Parameters: `path`; `percentile`: numbers from 0 to 100, separated by commas; `histogram`: a number of bins.
pub(crate) fn statistics(question: &Question, targets: &Targets) -> Answered {
    let (array, kept) = parameters::elements(question, targets)?;
    let mut request = Request::new(Meaning::of(&array, MissingRule::Declared));
    request.memory = question.share(MAX_MEMORY_BYTES, 4);
    question.reserve(request.memory)?;
    request.threads = array.hierarchy().options().threads;
    if let Some(text) = question.get("percentile").filter(|text| !text.is_empty()) {
        let found: Option<Vec<f64>> = text.split(',').map(|part| part.parse().ok()).collect();
        let found = found.filter(|found| found.len() <= MAX_PERCENTILES_OR_BINS);
        request.percentiles = found.ok_or_else(|| {
            Refusal::wrong(format!("`percentile` is `{text}`, and must be like `2,50,98`"))
        })?;
    }
    if let Some(bins) = parameters::number(question, "histogram")? {
        let bins =
            usize::try_from(bins).ok().filter(|bins| (1..=MAX_PERCENTILES_OR_BINS).contains(bins));
        request.histogram = Some(Bins::Count(bins.ok_or_else(|| {
            Refusal::wrong(format!(
                "`histogram` is a number of bins from 1 to {MAX_PERCENTILES_OR_BINS}"
            ))
        })?));
    }
    // A larger array would take the place of all chunks that are kept, and find none.
    let size = array.data_type().repr().map_or(u64::MAX, |repr| repr.size() as u64);
    let count = zarr::region::element_count(&array.shape()).unwrap_or(u64::MAX);
    let fits = count.saturating_mul(size) <= targets.warm.each() / 2;
    let array = if fits { kept } else { array };
    let found: Json = stats::statistics(&array, &request)?.to_json();
    Ok(Answer::json(found))
}
