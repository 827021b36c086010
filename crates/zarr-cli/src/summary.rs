//! Prints elements for people, those of large arrays as NumPy does: the first and the last along each axis.

use std::io::{self, Write};

use zarr::data_type::DataType;

use crate::digits::Digits;
use crate::element::Style;
use crate::record::TextForm;
use crate::region::Elements;

/// The most elements that are printed whole, as by NumPy.
const THRESHOLD: u64 = 1000;
/// The most elements that are shown, at any rank.
const MAX_SHOWN_ELEMENTS: u64 = 10_000;
/// As many elements as these are kept at the beginning and at the end of an axis; fewer, where there would be too many.
const EDGES: [(u64, u64); 5] = [(3, 3), (2, 2), (1, 1), (1, 0), (0, 0)];
/// Wider elements are not padded to one width.
const WIDEST: usize = 40;

/// What is shown of elements.
#[derive(Debug)]
pub(crate) struct Summary {
    /// The elements that are shown.
    pub shown: Elements,
    /// How many of them are before `...` along each axis, where some are left out.
    gaps: Vec<Option<u64>>,
}

impl Summary {
    /// What is shown of elements if they are too many to be printed whole.
    pub fn of(elements: &Elements) -> Option<Summary> {
        let shape = elements.shape();
        if elements.is_empty() || elements.count().is_some_and(|count| count <= THRESHOLD) {
            return None;
        }
        let edges = EDGES.iter().find(|edges| {
            let count = elements.at_positions(&kept(&shape, edges)).count();
            count.is_some_and(|count| count <= MAX_SHOWN_ELEMENTS)
        });
        let edges = edges.unwrap_or(&EDGES[EDGES.len() - 1]);
        let kept = kept(&shape, edges);
        let gaps = kept.iter().map(|kept| kept.as_ref().map(|_| edges.0.max(1))).collect();
        Some(Summary { shown: elements.at_positions(&kept), gaps })
    }

    /// Writes the elements that are shown, as `bytes` have them in C order: nested lists, a row on each line.
    pub fn write(
        &self,
        kind: &DataType,
        bytes: &[u8],
        digits: Digits,
        out: &mut dyn Write,
    ) -> io::Result<()> {
        let texts = kind.split(bytes).map(|element| {
            let mut text = String::new();
            kind.write_text(element, Style::Shown(digits), &mut text);
            text
        });
        let texts: Vec<String> = texts.collect();
        let width = texts.iter().map(|text| text.chars().count()).max().unwrap_or(0);
        let width = if width > WIDEST { 0 } else { width };
        let mut texts = texts.iter();
        let mut text = String::new();
        self.list(0, &self.shown.shape(), width, &mut texts, &mut text);
        writeln!(out, "{text}")
    }

    fn list<'a>(
        &self,
        axis: usize,
        shape: &[u64],
        width: usize,
        texts: &mut impl Iterator<Item = &'a String>,
        out: &mut String,
    ) {
        let Some((&len, inner)) = shape.split_first() else {
            let text = texts.next().map_or("", String::as_str);
            out.push_str(&format!("{text:>width$}"));
            return;
        };
        // Each row is a line, and blank lines separate lists of rows.
        let between = match inner.len() {
            0 => ", ".to_owned(),
            below => format!(",{}{}", "\n".repeat(below), " ".repeat(axis + 1)),
        };
        let gap = self.gaps[axis];
        out.push('[');
        for n in 0..len {
            if n > 0 {
                out.push_str(&between);
            }
            if gap == Some(n) {
                out.push_str("...");
                out.push_str(&between);
            }
            self.list(axis + 1, inner, width, texts, out);
        }
        if gap == Some(len) {
            out.push_str(&between);
            out.push_str("...");
        }
        out.push(']');
    }
}

/// The positions at both edges of each axis, none for an axis that is shown whole.
fn kept(shape: &[u64], &(before, after): &(u64, u64)) -> Vec<Option<Vec<u64>>> {
    let axes = shape.iter().map(|&len| {
        if len <= before.max(1) + after {
            return None;
        }
        Some((0..before.max(1)).chain(len - after..len).collect())
    });
    axes.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use zarr::data_type::CoreType;

    fn summary(shape: &[u64]) -> Option<Summary> {
        Summary::of(&Elements::all(shape))
    }

    fn drawn(shape: &[u64]) -> String {
        let summary = summary(shape).unwrap();
        let count = summary.shown.count().unwrap();
        let bytes: Vec<u8> = (0..count).map(|n| (n % 100) as u8).collect();
        let mut out = Vec::new();
        let kind = DataType::from(CoreType::Uint8);
        summary.write(&kind, &bytes, Digits::Short, &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn the_first_and_the_last_three_are_shown() {
        assert!(summary(&[1000]).is_none());
        assert!(summary(&[]).is_none());
        assert!(summary(&[2000, 0]).is_none());
        assert_eq!(drawn(&[1001]), "[0, 1, 2, ..., 3, 4, 5]\n");
        assert_eq!(
            drawn(&[2, 5000]),
            "[[ 0,  1,  2, ...,  3,  4,  5],\n [ 6,  7,  8, ...,  9, 10, 11]]\n"
        );
        let cube = drawn(&[7, 2, 500]);
        assert!(cube.starts_with("[[[ 0,  1,  2, ...,  3,  4,  5],\n  [ 6,"), "{cube}");
        assert!(cube.contains("]],\n\n ...,\n\n [["), "{cube}");
    }

    #[test]
    fn few_are_shown_whatever_the_rank() {
        for rank in 1..64 {
            for len in [2, 3, 7, u64::MAX] {
                if let Some(summary) = summary(&vec![len; rank]) {
                    assert!(summary.shown.count().unwrap() <= MAX_SHOWN_ELEMENTS, "{rank} {len}");
                }
            }
        }
    }
}
