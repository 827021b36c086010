//! The size of the elements in a box.

/// How many bytes the elements of a shape take, `u64::MAX` if there are more.
pub(crate) fn byte_count(element: u64, shape: &[u64]) -> u64 {
    shape.iter().fold(element, |bytes, len| bytes.saturating_mul(*len))
}
