//! The loop around the parser: call, fetch what is missing, call again.

use std::fmt;
use std::io;
use std::ops::Range;

use crate::blocks::Blocks;
use crate::error::{Error, ErrorKind, Fault, Result};

/// How often one step may ask for bytes.
const MAX_FETCHES: usize = 4096;

/// What stops [`complete`].
#[derive(Debug)]
pub enum Failure {
    /// The file is damaged, or has what this reader does not support.
    Format(Error),
    /// Bytes could not be fetched.
    Fetch(io::Error),
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::Format(error) => error.fmt(f),
            Failure::Fetch(error) => write!(f, "cannot read the file: {error}"),
        }
    }
}

impl std::error::Error for Failure {}

/// Calls `step` until it has all that it needs, fetching what it misses in between. An asynchronous caller writes the same loop
/// around its own way to fetch.
///
/// # Errors
/// What `step` and `fetch` return; [`ErrorKind::Limit`] if the step asks for bytes more than 4,096 times.
///
/// ```
/// use zarr_hdf5::{Blocks, File, complete};
///
/// # fn read(path: &str) -> Result<(), Box<dyn std::error::Error>> {
/// use std::os::unix::fs::FileExt;
///
/// let file = std::fs::File::open(path)?;
/// let mut fetch = |range: std::ops::Range<u64>| {
///     let mut bytes = vec![0; (range.end - range.start) as usize];
///     file.read_exact_at(&mut bytes, range.start)?;
///     Ok(bytes)
/// };
/// let mut blocks = Blocks::new(file.metadata()?.len(), 64 << 10);
/// let hdf5 = complete(&mut blocks, &mut fetch, File::parse)?;
/// let root = complete(&mut blocks, &mut fetch, |blocks| hdf5.object(blocks, hdf5.root()))?;
/// for link in complete(&mut blocks, &mut fetch, |blocks| hdf5.links(blocks, &root))? {
///     println!("{}", link.name);
/// }
/// # Ok(())
/// # }
/// ```
pub fn complete<T>(
    blocks: &mut Blocks,
    mut fetch: impl FnMut(Range<u64>) -> io::Result<Vec<u8>>,
    mut step: impl FnMut(&Blocks) -> Result<T>,
) -> std::result::Result<T, Failure> {
    for _ in 0..MAX_FETCHES {
        match step(blocks) {
            Ok(value) => {
                blocks.trim();
                return Ok(value);
            }
            Err(Fault::Error(error)) => return Err(Failure::Format(error)),
            Err(Fault::Missing(missing)) => {
                let range = blocks.plan(&missing);
                let bytes = fetch(range.clone()).map_err(Failure::Fetch)?;
                if bytes.len() as u64 != range.end - range.start {
                    return Err(Failure::Fetch(io::ErrorKind::UnexpectedEof.into()));
                }
                match blocks.insert(range.start, &bytes) {
                    Ok(()) => {}
                    Err(Fault::Error(error)) => return Err(Failure::Format(error)),
                    Err(Fault::Missing(_)) => unreachable!("inserting reads nothing"),
                }
            }
        }
    }
    Err(Failure::Format(Error {
        kind: ErrorKind::Limit,
        structure: "file",
        address: 0,
        path: None,
        what: format!("one step asked for bytes more than {MAX_FETCHES} times"),
    }))
}
