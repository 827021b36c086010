//! Defines byte orders.

/// The byte order of stored elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Endian {
    /// Least significant byte first.
    Little,
    /// Most significant byte first.
    Big,
}

impl Endian {
    /// The byte order of this machine.
    pub const NATIVE: Endian =
        if cfg!(target_endian = "big") { Endian::Big } else { Endian::Little };

    /// `little` or `big`.
    pub fn name(self) -> &'static str {
        match self {
            Endian::Little => "little",
            Endian::Big => "big",
        }
    }

    /// `<` or `>`.
    pub fn mark(self) -> char {
        match self {
            Endian::Little => '<',
            Endian::Big => '>',
        }
    }
}
