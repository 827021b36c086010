//! Reads the header `Range` (RFC 9110, section 14).

use std::ops::Range;

/// What a request asks for of a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Asked {
    /// All of it.
    Whole,
    /// These bytes.
    Part(Range<u64>),
    /// Bytes that it does not have.
    Outside,
}

/// What a header's text asks for, whatever the value's size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wanted {
    Whole,
    /// From a byte on, up to an end that is not part of it.
    From(u64, Option<u64>),
    /// The last bytes.
    Last(u64),
}

/// What a header's text asks for. Several ranges, other units and what breaks the grammar ask for the whole value: a server may
/// ignore them, and every client takes that.
pub(crate) fn wanted(header: &str) -> Wanted {
    let Some((unit, set)) = header.split_once('=') else { return Wanted::Whole };
    if !unit.trim().eq_ignore_ascii_case("bytes") {
        return Wanted::Whole;
    }
    let Some((first, last)) = set.trim().split_once('-') else { return Wanted::Whole };
    match (number(first), number(last)) {
        (Some(first), Some(last)) if first <= last => {
            Wanted::From(first, Some(last.saturating_add(1)))
        }
        (Some(first), None) if last.is_empty() => Wanted::From(first, None),
        (None, Some(count)) if first.is_empty() => Wanted::Last(count),
        _ => Wanted::Whole,
    }
}

/// The bytes that a header's text asks for of a value of `size` bytes.
pub(crate) fn asked(header: &str, size: u64) -> Asked {
    match wanted(header) {
        Wanted::Whole => Asked::Whole,
        Wanted::From(first, _) if first >= size => Asked::Outside,
        Wanted::From(first, end) => Asked::Part(first..end.map_or(size, |end| end.min(size))),
        Wanted::Last(count) if count.min(size) == 0 => Asked::Outside,
        Wanted::Last(count) => Asked::Part(size - count.min(size)..size),
    }
}

/// A number of digits only; one that 64 bits cannot hold is as large as can be.
fn number(text: &str) -> Option<u64> {
    let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then(|| text.parse().unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_those_of_the_rfc() {
        let part = |range| Asked::Part(range);
        for (header, expected) in [
            ("bytes=0-0", part(0..1)),
            ("bytes=2-5", part(2..6)),
            ("bytes=2-", part(2..10)),
            ("bytes=0-", part(0..10)),
            ("bytes=-3", part(7..10)),
            ("bytes=-30", part(0..10)),
            ("bytes=5-99", part(5..10)),
            ("bytes=9-99999999999999999999999", part(9..10)),
            ("Bytes=1-2", part(1..3)),
            ("bytes= 1-2 ", part(1..3)),
            ("bytes=10-", Asked::Outside),
            ("bytes=10-12", Asked::Outside),
            ("bytes=99999999999999999999999-", Asked::Outside),
            ("bytes=-0", Asked::Outside),
            ("bytes=5-2", Asked::Whole),
            ("bytes=0-1,4-5", Asked::Whole),
            ("bytes=", Asked::Whole),
            ("bytes=-", Asked::Whole),
            ("bytes=a-b", Asked::Whole),
            ("bytes=1-b", Asked::Whole),
            ("bytes=+1-2", Asked::Whole),
            ("items=0-1", Asked::Whole),
            ("0-1", Asked::Whole),
            ("", Asked::Whole),
        ] {
            assert_eq!(asked(header, 10), expected, "{header}");
        }
        assert_eq!(asked("bytes=0-", 0), Asked::Outside);
        assert_eq!(asked("bytes=-1", 0), Asked::Outside);
    }
}
