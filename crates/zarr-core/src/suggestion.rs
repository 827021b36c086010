//! Finds the known name that is most like an unknown one.

/// The candidate that is nearest to `name`, if one is near: another letter case, a slip of a letter or two, or the
/// beginning of one of them.
pub fn did_you_mean<'a>(
    name: &str,
    candidates: impl IntoIterator<Item = &'a str>,
) -> Option<&'a str> {
    let wanted = name.to_lowercase();
    let near = candidates
        .into_iter()
        .filter_map(|candidate| Some((distance(&wanted, &candidate.to_lowercase())?, candidate)));
    near.min_by_key(|&(distance, _)| distance).map(|(_, candidate)| candidate)
}

/// How far a known name is from the wanted one, both in lower case; `None` if it is too far to be meant.
fn distance(wanted: &str, known: &str) -> Option<usize> {
    /// Longer names are compared only without regard for case.
    const MAX_COMPARED_LENGTH: usize = 100;
    if known == wanted {
        return Some(0);
    }
    let (wanted, known) = without_ending(wanted, known);
    let letters: Vec<char> = wanted.chars().take(MAX_COMPARED_LENGTH + 1).collect();
    let other: Vec<char> = known.chars().take(MAX_COMPARED_LENGTH + 1).collect();
    if letters.len() > MAX_COMPARED_LENGTH || other.len() > MAX_COMPARED_LENGTH {
        return None;
    }
    let most = (letters.len() / 3).clamp(1, 3);
    let near = Some(slips(&letters, &other)).filter(|&slips| slips <= most);
    let shorter = letters.len().min(other.len());
    let begins = shorter >= 3 && letters[..shorter] == other[..shorter];
    // A beginning is a weaker hint than a slip.
    near.or(begins.then_some(most + 1)).filter(|&distance| distance < letters.len())
}

/// Both without the ending that they share: that two names end in `.zarr` does not make them alike.
fn without_ending<'a>(a: &'a str, b: &'a str) -> (&'a str, &'a str) {
    match (a.rsplit_once('.'), b.rsplit_once('.')) {
        (Some((a, one)), Some((b, other))) if one == other => (a, b),
        _ => (a, b),
    }
}

/// How many letters must be put in, taken out, changed or exchanged with their neighbour.
fn slips(a: &[char], b: &[char]) -> usize {
    let mut before: Vec<usize> = Vec::new();
    let mut above: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.iter().enumerate() {
        let mut row = vec![i + 1];
        for (j, y) in b.iter().enumerate() {
            let change = above[j] + usize::from(x != y);
            let mut least = change.min(above[j + 1] + 1).min(row[j] + 1);
            if i > 0 && j > 0 && a[i - 1] == *y && b[j - 1] == *x {
                least = least.min(before[j - 1] + 1);
            }
            row.push(least);
        }
        before = std::mem::replace(&mut above, row);
    }
    above[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slips_of_a_letter_or_two_are_near_and_other_names_are_not() {
        let names = ["temperature", "salinity", "lat", "lon", "float32", "gzip"];
        let meant = |name: &str| did_you_mean(name, names);
        assert_eq!(meant("Temperature"), Some("temperature"));
        assert_eq!(meant("tempreature"), Some("temperature"));
        assert_eq!(meant("temp"), Some("temperature"));
        assert_eq!(meant("floatt32"), Some("float32"));
        assert_eq!(meant("gzipp"), Some("gzip"));
        assert_eq!(meant("lta"), Some("lat"));
        assert_eq!(meant("x"), None);
        assert_eq!(meant(""), None);
        assert_eq!(meant("pressure"), None);
        assert_eq!(meant(&"x".repeat(1 << 20)), None);
        assert_eq!(did_you_mean("a", ["b", "A"]), Some("A"));
        assert_eq!(did_you_mean("a", ["b"]), None);
        assert_eq!(did_you_mean("nope.zarr", ["o.zarr"]), None);
        assert_eq!(did_you_mean("ocaen.zarr", ["o.zarr", "ocean.zarr"]), Some("ocean.zarr"));
    }
}
