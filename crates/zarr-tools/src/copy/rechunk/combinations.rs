//! How many neighbouring chunks may be taken together.

use super::axis::Axis;

/// At most this many ways to cut an array are compared.
const WAYS: usize = 20_000;

/// Some number of chunks along each axis.
pub(super) struct Combination {
    pub counts: Vec<u64>,
    pub bytes: u64,
    /// How many times each chunk of the others is decoded, on average.
    pub decodes: f64,
    /// Bytes of a run in a plain source chunk.
    pub run: u64,
}

/// A number of chunks along one axis.
struct Choice {
    count: u64,
    len: u64,
    expansion: f64,
}

/// The ways to take some neighbouring chunks of `own` along each axis.
pub(super) fn combinations(own: &[Axis], others: &[Axis], element: u64) -> Vec<Combination> {
    let mut choices: Vec<Vec<Choice>> = own
        .iter()
        .zip(others)
        .map(|(own, other)| {
            own.sizes(other)
                .into_iter()
                .map(|count| Choice {
                    count,
                    len: own.run(count),
                    expansion: own.expansion(count, other),
                })
                .collect()
        })
        .collect();
    while choices.iter().map(Vec::len).try_fold(1usize, usize::checked_mul).is_none_or(|n| n > WAYS)
    {
        // Every second of the longest list; the first and the last stay.
        let Some(longest) = choices.iter_mut().max_by_key(|list| list.len()) else { break };
        let (mut at, last) = (0, longest.len() - 1);
        longest.retain(|_| {
            at += 1;
            at - 1 == last || (at - 1).is_multiple_of(2)
        });
        if longest.len() <= 2 {
            choices.iter_mut().for_each(|list| list.truncate(1));
        }
    }
    let start = Combination { counts: Vec::new(), bytes: element, decodes: 1.0, run: element };
    let mut all = vec![start];
    for (list, other) in choices.iter().zip(others) {
        let mut longer = Vec::with_capacity(all.len() * list.len());
        for before in &all {
            for choice in list {
                longer.push(Combination {
                    counts: before.counts.iter().copied().chain([choice.count]).collect(),
                    bytes: before.bytes.saturating_mul(choice.len),
                    decodes: before.decodes * choice.expansion,
                    // Inside the last axis along which source chunks are cut, all of a chunk is one run.
                    run: if choice.expansion > 1.01 {
                        element.saturating_mul(choice.len)
                    } else {
                        before.run.saturating_mul(other.longest())
                    },
                });
            }
        }
        all = longer;
    }
    all
}
