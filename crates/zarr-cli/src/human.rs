//! Says sizes, counts and places to people.

use zarr::{Hierarchy, Json, NodePath};

/// The text on one line, with characters escaped that a terminal obeys or that nobody sees.
pub(crate) fn printable(text: &str) -> String {
    zarr::printable(text).into_owned()
}

/// The text with blanks behind it, `width` characters in all. The width of `format!` must fit 16 bits; a cell need not.
pub(crate) fn left(text: &str, width: usize) -> String {
    let blanks = width.saturating_sub(text.chars().count());
    format!("{text}{}", " ".repeat(blanks))
}

/// The width of a column of cells: that of the widest, but for those that would fill more than a line, which may go beyond
/// it. A document can name thousands of fields in one.
pub(crate) fn column_width<'a>(cells: impl Iterator<Item = &'a String>) -> usize {
    const MAX_WIDTH: usize = 160;
    cells.map(|cell| cell.chars().count()).filter(|&width| width <= MAX_WIDTH).max().unwrap_or(0)
}

/// The text with blanks before it, `width` characters in all.
pub(crate) fn right(text: &str, width: usize) -> String {
    let blanks = width.saturating_sub(text.chars().count());
    format!("{}{text}", " ".repeat(blanks))
}

/// `512 B`, `1.5 KiB`, `64.0 MiB`.
pub(crate) fn size(bytes: u64) -> String {
    const UNITS: [&str; 6] = ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
    if bytes < 1024 {
        return format!("{bytes} B");
    }
    let mut value = bytes as f64 / 1024.0;
    let mut unit = 0;
    while value >= 1023.95 && unit + 1 < UNITS.len() {
        value /= 1024.0;
        unit += 1;
    }
    format!("{value:.1} {}", UNITS[unit])
}

/// `1,234,567`.
pub(crate) fn count(n: u64) -> String {
    let digits = n.to_string();
    let mut text = String::with_capacity(digits.len() * 4 / 3);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// `3 nodes`, `1 node`.
pub(crate) fn plural(n: u64, noun: &str) -> String {
    format!("{} {noun}{}", count(n), if n == 1 { "" } else { "s" })
}

/// `store file:///x.zarr: /a`; only the store, where the node is its root.
pub(crate) fn place(hierarchy: &Hierarchy, path: &NodePath) -> String {
    let store = hierarchy.store().name();
    match path {
        path if path.is_root() => format!("store {store}"),
        path => format!("store {store}: {path}"),
    }
}

/// A word as a POSIX shell takes it.
pub(crate) fn shell_word(word: &str) -> String {
    let is_plain = word.chars().all(|c| c.is_ascii_alphanumeric() || "_./:,=-+@%".contains(c));
    if !word.is_empty() && is_plain {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', "'\\''"))
}

/// `(300, 200)`; `()` for a scalar, `(300,)` for one axis.
pub(crate) fn shape(lengths: &[u64]) -> String {
    let lengths: Vec<String> = lengths.iter().map(u64::to_string).collect();
    match &lengths[..] {
        [one] => format!("({one},)"),
        lengths => format!("({})", lengths.join(", ")),
    }
}

/// A NumPy type as Python says it: `'<i4'`, `[('a', '<i4'), ('q', '<f8', (2, 3))]`.
pub(crate) fn python(descr: &Json) -> String {
    match descr {
        Json::Array(fields) => {
            let fields = fields.iter().map(|field| match field.as_array() {
                Some([name, kind]) => format!("({}, {})", python(name), python(kind)),
                Some([name, kind, shape]) => {
                    let shape: Vec<u64> = shape
                        .as_array()
                        .unwrap_or_default()
                        .iter()
                        .filter_map(Json::as_u64)
                        .collect();
                    format!("({}, {}, {})", python(name), python(kind), self::shape(&shape))
                }
                _ => String::new(),
            });
            format!("[{}]", fields.collect::<Vec<_>>().join(", "))
        }
        other => {
            let text = other.as_str().unwrap_or_default();
            format!("'{}'", text.replace('\\', "\\\\").replace('\'', "\\'"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_quoted_for_the_shell() {
        assert_eq!(shell_word("a/b.zarr"), "a/b.zarr");
        assert_eq!(shell_word("it's"), "'it'\\''s'");
        assert_eq!(shell_word(r#"{"a":1}"#), r#"'{"a":1}'"#);
        assert_eq!(shell_word(""), "''");
    }

    #[test]
    fn numbers_for_people() {
        assert_eq!(size(0), "0 B");
        assert_eq!(size(1023), "1023 B");
        assert_eq!(size(1536), "1.5 KiB");
        assert_eq!(size(1024 * 1024 - 1), "1.0 MiB");
        assert_eq!(size(u64::MAX), "16.0 EiB");
        assert_eq!(count(7), "7");
        assert_eq!(count(1_234_567), "1,234,567");
        assert_eq!(shape(&[]), "()");
        assert_eq!(shape(&[3]), "(3,)");
        assert_eq!(shape(&[3, 4]), "(3, 4)");
        assert_eq!(plural(1, "chunk"), "1 chunk");
    }
}
