//! The file that a `ZipWriter` writes to, which never hands it an error.
//!
//! A `ZipWriter` that meets an error while it is dropped prints it. So the output keeps the first error of the system
//! and drops all bytes that come after it. The writer calls [`Output::check`] after each step.

use std::fs::File;
use std::io::{self, ErrorKind, Read, Seek, SeekFrom, Write};
use std::sync::{Arc, Mutex};

use zarr_core::sync;

use super::positioned::Positioned;

/// The file and the place in it; clones share them.
#[derive(Clone, Debug)]
pub(super) struct Output(Arc<Mutex<OutputState>>);

#[derive(Debug)]
struct OutputState {
    at: Positioned,
    is_stopped: bool,
    error: Option<io::Error>,
}

impl Output {
    pub fn new(file: &Arc<File>) -> Self {
        let state = OutputState { at: Positioned::new(file, 0), is_stopped: false, error: None };
        Output(Arc::new(Mutex::new(state)))
    }

    fn state(&self) -> sync::MutexGuard<'_, OutputState> {
        sync::lock(&self.0)
    }

    /// How many bytes precede the next one.
    pub fn position(&self) -> u64 {
        self.state().at.position()
    }

    /// Lets no byte through from now on.
    pub fn stop(&self) {
        self.state().is_stopped = true;
    }

    /// The error that stopped the writing, once.
    pub fn check(&self) -> io::Result<()> {
        self.state().error.take().map_or(Ok(()), Err)
    }
}

impl Write for Output {
    fn write(&mut self, buf: &[u8]) -> io::Result<usize> {
        let state = &mut *self.state();
        if !state.is_stopped {
            let error = match state.at.write(buf) {
                Ok(0) if !buf.is_empty() => ErrorKind::WriteZero.into(),
                Err(e) if e.kind() != ErrorKind::Interrupted => e,
                done => return done,
            };
            (state.is_stopped, state.error) = (true, Some(error));
        }
        // The place moves on as if they were written: a `ZipWriter` computes with it.
        state.at.seek(SeekFrom::Current(i64::try_from(buf.len()).unwrap_or(i64::MAX)))?;
        Ok(buf.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Read for Output {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        self.state().at.read(buf)
    }
}

impl Seek for Output {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.state().at.seek(to)
    }
}
