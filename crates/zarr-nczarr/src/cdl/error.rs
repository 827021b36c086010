//! Describes what is wrong with a CDL text, and where.

use std::error::Error;
use std::fmt;

/// Why a text is not CDL, or asks for what cannot be kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CdlError {
    /// The line, counted from 1.
    pub line: usize,
    /// The character in the line, counted from 1.
    pub column: usize,
    /// What is wrong, and what to do.
    pub why: String,
}

impl CdlError {
    /// Something wrong at the byte `at` of `text`.
    pub(super) fn at(text: &str, at: usize, why: impl Into<String>) -> CdlError {
        let mut at = at.min(text.len());
        while !text.is_char_boundary(at) {
            at -= 1;
        }
        let before = &text[..at];
        let start = before.rfind('\n').map_or(0, |newline| newline + 1);
        let line = before.matches('\n').count() + 1;
        CdlError { line, column: text[start..at].chars().count() + 1, why: why.into() }
    }
}

impl fmt::Display for CdlError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}, column {}: {}", self.line, self.column, self.why)
    }
}

impl Error for CdlError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_and_columns_count_from_one() {
        let at = |at| {
            let error = CdlError::at("a\né b\n", at, "");
            (error.line, error.column)
        };
        assert_eq!(
            [at(0), at(1), at(2), at(3), at(4), at(5)],
            [(1, 1), (1, 2), (2, 1), (2, 1), (2, 2), (2, 3)]
        );
        assert_eq!(at(99), (3, 1));
    }
}
