//! Stands for a terminal that cannot be asked.

/// No answer.
pub(crate) fn primary() -> &'static [u8] {
    &[]
}

/// No size.
pub(crate) fn letter() -> Option<(u64, u64)> {
    None
}
