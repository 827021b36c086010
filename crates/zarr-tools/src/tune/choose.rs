//! Chooses among the layouts that were measured: which ones are not worse than another in every respect, and which one is advised.

use super::Candidate;

/// The most layouts that are reported beside the present one.
const MAX_CANDIDATES: usize = 8;

/// Layouts whose product of time and bytes is within this of the least are as good; then fewer objects count.
const AS_GOOD: f64 = 1.05;

/// What must be gained for a change to be advised: of the product of time and bytes.
pub(super) const MIN_GAIN: f64 = 0.1;

/// Fewer bytes are no gain: it is a block of a disk, in which they are stored.
pub(super) const MIN_BYTES: u64 = 4096;

/// What layouts are compared by: bytes, time, requests of reading and of writing. Prices follow from these.
fn objectives(candidate: &Candidate) -> [f64; 4] {
    let requests: f64 = candidate.reads.iter().map(|read| read.share * read.count.requests).sum();
    [candidate.stored_bytes as f64, candidate.seconds, requests, candidate.objects as f64]
}

/// Whether a layout is at least as good as another in every respect, and better in one. Differences below a hundredth count for
/// nothing, since measured times differ by as much.
fn dominates(one: &[f64; 4], other: &[f64; 4]) -> bool {
    let no_worse = one.iter().zip(other).all(|(one, other)| *one <= other * 1.01);
    let better = one.iter().zip(other).any(|(one, other)| *one < other * 0.99);
    no_worse && better
}

/// Time and bytes at once: what advice goes by.
pub(super) fn product(candidate: &Candidate) -> f64 {
    candidate.seconds.max(1e-9) * (candidate.stored_bytes.max(MIN_BYTES) as f64)
}

/// The best layout of those that may be advised. Of those that are as good, the one with the fewest objects, then with the most readers.
pub(super) fn best(
    candidates: &[Candidate],
    may_be_advised: impl Fn(&Candidate) -> bool,
) -> Option<&Candidate> {
    let allowed: Vec<&Candidate> = candidates.iter().filter(|it| may_be_advised(it)).collect();
    let least = allowed.iter().map(|it| product(it)).min_by(f64::total_cmp)?;
    let as_good = allowed.into_iter().filter(|it| product(it) <= least * AS_GOOD);
    as_good.min_by(|a, b| {
        let readers = b.readers.len().cmp(&a.readers.len());
        a.objects.cmp(&b.objects).then(readers).then(product(a).total_cmp(&product(b)))
    })
}

/// The layouts that no other one is better than in every respect, at most eight, from the fastest to the slowest; `keep` is always
/// among them.
pub(super) fn pareto(candidates: &[Candidate], keep: Option<&Candidate>) -> Vec<Candidate> {
    let values: Vec<[f64; 4]> = candidates.iter().map(objectives).collect();
    let mut found: Vec<&Candidate> = candidates
        .iter()
        .zip(&values)
        .filter(|(candidate, value)| {
            keep.is_some_and(|keep| keep.is_layout_of(candidate))
                || !values.iter().any(|other| dominates(other, value))
        })
        .map(|(candidate, _)| candidate)
        .collect();
    found.sort_by(|a, b| a.seconds.total_cmp(&b.seconds).then(a.stored_bytes.cmp(&b.stored_bytes)));
    let chosen: Vec<Candidate> = if found.len() <= MAX_CANDIDATES {
        found.into_iter().cloned().collect()
    } else {
        // The best by time and bytes, among them the fastest and the smallest.
        let mut by_product = found.clone();
        by_product.sort_by(|a, b| product(a).total_cmp(&product(b)));
        let smallest = found.iter().min_by_key(|it| it.stored_bytes);
        let mut order: Vec<&Candidate> = keep.into_iter().collect();
        order.extend(found.first());
        order.extend(smallest);
        order.extend(by_product);
        let mut chosen: Vec<&Candidate> = Vec::new();
        for candidate in order {
            if chosen.len() < MAX_CANDIDATES && !chosen.iter().any(|it| it.is_layout_of(candidate))
            {
                chosen.push(candidate);
            }
        }
        chosen.sort_by(|a, b| a.seconds.total_cmp(&b.seconds));
        chosen.into_iter().cloned().collect()
    };
    chosen
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tune::{ReadCost, Reader};

    fn candidate(name: &str, kilobytes: u64, seconds: f64, objects: u64) -> Candidate {
        let read = ReadCost { share: 1.0, ..ReadCost::default() };
        Candidate {
            codecs: vec![name.to_owned()],
            stored_bytes: kilobytes * 1_000,
            seconds,
            objects,
            reads: vec![read],
            readers: Reader::ALL.to_vec(),
            ..Candidate::default()
        }
    }

    fn names(candidates: &[Candidate]) -> Vec<&str> {
        candidates.iter().map(|it| &it.codecs[0][..]).collect()
    }

    #[test]
    fn what_is_worse_in_every_respect_is_left_out() {
        let all = [
            candidate("small", 100, 9.0, 5),
            candidate("fast", 900, 1.0, 5),
            candidate("both", 300, 3.0, 5),
            candidate("worse", 310, 3.1, 6),
        ];
        assert_eq!(names(&pareto(&all, None)), ["fast", "both", "small"]);
        assert_eq!(names(&pareto(&all, Some(&all[3]))).len(), 4);
    }

    #[test]
    fn the_best_has_the_least_product_then_few_objects() {
        let all = [
            candidate("small", 100, 9.0, 5),
            candidate("fast", 900, 1.0, 500),
            candidate("as good", 910, 1.0, 5),
        ];
        assert_eq!(best(&all, |_| true).unwrap().codecs[0], "small".to_owned());
        let not_small = |it: &Candidate| it.codecs[0] != "small";
        assert_eq!(best(&all, not_small).unwrap().codecs[0], "as good".to_owned());
        assert!(best(&all, |_| false).is_none());
        // Of a few bytes the fewest are no better.
        let tiny = |bytes| Candidate { stored_bytes: bytes, ..candidate("tiny", 0, 1.0, 1) };
        assert_eq!(product(&tiny(20)), product(&tiny(4_000)));
        assert!(product(&tiny(5_000)) > product(&tiny(4_000)));
    }

    #[test]
    fn at_most_eight_are_reported_with_the_fastest_and_the_smallest() {
        let all: Vec<Candidate> =
            (1..40u64).map(|n| candidate(&n.to_string(), 10_000 / n, n as f64, 1)).collect();
        let found = pareto(&all, Some(&all[20]));
        assert_eq!(found.len(), 8);
        let names = names(&found);
        assert!(
            names.contains(&"1") && names.contains(&"39") && names.contains(&"21"),
            "{names:?}"
        );
    }
}
