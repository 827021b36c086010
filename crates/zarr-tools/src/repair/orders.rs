//! Gives inner chunks, as they follow each other in a shard, to entries of its index in the orders that writers use.

use super::shard::{ABSENT, Entry};

/// In which order an entry's inner chunk comes.
type Key = fn(&[u64], &[u64]) -> Vec<u64>;

/// C order, that of Morton's codes (zarr-python), and Fortran's order.
const ORDERS: [Key; 3] = [
    |at, _| at.to_vec(),
    |at, counts| vec![morton(at, counts)],
    |at, _| at.iter().rev().copied().collect(),
];

/// Gives pieces to the damaged entries in one of the orders, the other damaged entries being absent, so that `is_it` says that these
/// are the entries. Asks it at most `most` times for each order.
pub(super) fn in_some_order(
    found: &[Entry],
    damaged: &[usize],
    pieces: &[Entry],
    counts: &[u64],
    most: usize,
    is_it: &dyn Fn(&[Entry]) -> bool,
) -> Option<Vec<Entry>> {
    ORDERS.iter().find_map(|key| {
        let mut order = damaged.to_vec();
        order.sort_by_cached_key(|&number| key(&coordinates(number as u64, counts), counts));
        let (mut entries, mut left) = (found.to_vec(), most);
        choose(&mut entries, &order, pieces, &mut left, is_it).then_some(entries)
    })
}

fn choose(
    entries: &mut [Entry],
    order: &[usize],
    pieces: &[Entry],
    left: &mut usize,
    is_it: &dyn Fn(&[Entry]) -> bool,
) -> bool {
    let Some((piece, rest)) = pieces.split_first() else {
        *left = left.saturating_sub(1);
        return is_it(entries);
    };
    // As many entries are left for the other pieces.
    for at in 0..(order.len() + 1).saturating_sub(pieces.len()) {
        if *left == 0 {
            return false;
        }
        entries[order[at]] = *piece;
        if choose(entries, &order[at + 1..], rest, left, is_it) {
            return true;
        }
        entries[order[at]] = ABSENT;
    }
    false
}

/// Where an entry's inner chunk is, in inner chunks.
fn coordinates(mut number: u64, counts: &[u64]) -> Vec<u64> {
    let mut at: Vec<u64> = counts
        .iter()
        .rev()
        .map(|&count| {
            let along = number % count.max(1);
            number /= count.max(1);
            along
        })
        .collect();
    at.reverse();
    at
}

/// The bits of the coordinates, taken in turn from the lowest on; of an axis only as many as its last coordinate has.
fn morton(at: &[u64], counts: &[u64]) -> u64 {
    let (mut code, mut next) = (0u64, 0);
    for bit in 0..counts.iter().map(bits).max().unwrap_or(0) {
        for (along, count) in at.iter().zip(counts) {
            if bit < bits(count) && next < u64::BITS {
                code |= (along >> bit & 1) << next;
                next += 1;
            }
        }
    }
    code
}

/// How many bits the positions among so many have.
fn bits(count: &u64) -> u32 {
    u64::BITS - count.saturating_sub(1).leading_zeros()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_of_morton_are_those_of_zarr_python() {
        let order = |counts: &[u64]| {
            let mut all: Vec<Vec<u64>> =
                (0..counts.iter().product()).map(|n| coordinates(n, counts)).collect();
            all.sort_by_key(|at| morton(at, counts));
            all
        };
        assert_eq!(order(&[2, 2]), [[0, 0], [1, 0], [0, 1], [1, 1]]);
        let expected = [[0, 0], [1, 0], [0, 1], [1, 1], [0, 2], [1, 2], [0, 3], [1, 3]];
        assert_eq!(order(&[2, 4]), expected);
    }

    #[test]
    fn pieces_go_to_entries_in_an_order_that_is_proven() {
        let pieces = [[0, 3], [3, 5], [8, 2]];
        let truth = [[0, 3], ABSENT, [3, 5], [8, 2]];
        let is_it = |entries: &[Entry]| entries == truth;
        let found = in_some_order(&[ABSENT; 4], &[0, 1, 2, 3], &pieces, &[2, 2], 100, &is_it);
        assert_eq!(found, Some(truth.to_vec()));
        let truth = [[0, 3], [8, 2], [3, 5], ABSENT];
        let is_it = |entries: &[Entry]| entries == truth;
        let found = in_some_order(&[ABSENT; 4], &[0, 1, 2, 3], &pieces, &[2, 2], 100, &is_it);
        assert_eq!(found, Some(truth.to_vec()), "Morton's order");
        assert_eq!(in_some_order(&[ABSENT; 4], &[0, 1], &pieces, &[2, 2], 100, &|_| true), None);
    }
}
