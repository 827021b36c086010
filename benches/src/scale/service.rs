//! Samples how long requests to a modelled store take, and counts what they cost. The model is `zarr::tools::tune::Service`.

use std::time::Duration;

pub use zarr::tools::tune::{Service, Times};

use super::clock;

/// One of the times, at random.
pub fn sample(times: Times) -> Duration {
    times.median.mul_f64((times.sigma * clock::normal()).exp())
}

/// What a request does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Reads a value, or a range of one.
    Get,
    /// Sets or erases a value.
    Put,
    /// Lists a page of keys.
    List,
}

/// How long a request takes without its bytes.
pub(super) fn time(service: &Service, kind: Kind) -> Duration {
    sample(match kind {
        Kind::Get => service.get,
        Kind::Put => service.put,
        Kind::List => service.list,
    })
}

/// What was requested.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Bill {
    /// Requests that read.
    pub gets: u64,
    /// Requests that set or erase.
    pub puts: u64,
    /// Pages of listings.
    pub lists: u64,
    /// Of all these, those that were refused with 503, since their prefix had too many.
    pub refused: u64,
    /// Those that failed with 500.
    pub failed: u64,
    /// Conditional writes that another writer was before.
    pub lost: u64,
    /// Bytes that were received.
    pub received: u64,
    /// Bytes that were sent.
    pub sent: u64,
    /// Dollars.
    pub price: f64,
}

impl Bill {
    /// All requests.
    pub fn requests(&self) -> u64 {
        self.gets + self.puts + self.lists
    }

    /// What was requested since an earlier bill.
    #[must_use]
    pub fn since(&self, before: &Bill) -> Bill {
        Bill {
            gets: self.gets - before.gets,
            puts: self.puts - before.puts,
            lists: self.lists - before.lists,
            refused: self.refused - before.refused,
            failed: self.failed - before.failed,
            lost: self.lost - before.lost,
            received: self.received - before.received,
            sent: self.sent - before.sent,
            price: self.price - before.price,
        }
    }
}
