//! Says how fast, how limited and how dear a store is.

use std::time::Duration;

use super::clock;

/// A distribution of times: the logarithm is normal, as that of answers of web services is about.
#[derive(Clone, Copy, Debug)]
pub struct Times {
    /// Half of all are shorter.
    pub median: Duration,
    /// The deviation of the logarithm: with 0.5, one of a hundred takes 3.2 times the median.
    pub sigma: f64,
}

impl Times {
    /// One of them.
    pub fn sample(&self) -> Duration {
        self.median.mul_f64((self.sigma * clock::normal()).exp())
    }
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

/// How a store answers.
#[derive(Clone, Copy, Debug)]
pub struct Service {
    /// Until the first byte of a value.
    pub get: Times,
    /// Until a value is set.
    pub put: Times,
    /// Until a page of a listing.
    pub list: Times,
    /// Bytes that a request sends or receives in a second.
    pub request_bandwidth: f64,
    /// Bytes that a client sends or receives in a second.
    pub client_bandwidth: f64,
    /// Requests of a second that a prefix takes; others are refused with 503, and tried again.
    pub reads: u32,
    /// As `reads`, of requests that change something.
    pub writes: u32,
    /// The share of requests that fail with 500, and are tried again.
    pub failures: f64,
    /// Keys of a page.
    pub page: usize,
    /// Requests that a client has under way.
    pub in_flight: usize,
    /// Tries after the first.
    pub retries: u32,
    /// Dollars for a request that reads.
    pub read_price: f64,
    /// Dollars for a request that changes or lists.
    pub write_price: f64,
}

impl Service {
    /// A bucket of Amazon S3 Standard in us-east-1, from a machine in the same region.
    ///
    /// Prices are the list prices of 2025: $0.005 for a thousand PUT or LIST, $0.0004 for a thousand GET; nothing for bytes inside
    /// the region. Limits are those of the documentation: 3,500 writes and 5,500 reads of a prefix in a second, a thousand
    /// keys of a page. Times are assumptions.
    pub const S3: Service = Service {
        get: Times { median: Duration::from_millis(25), sigma: 0.5 },
        put: Times { median: Duration::from_millis(50), sigma: 0.5 },
        list: Times { median: Duration::from_millis(80), sigma: 0.4 },
        request_bandwidth: 85e6,
        client_bandwidth: 1.25e9,
        reads: 5500,
        writes: 3500,
        failures: 1e-5,
        page: 1000,
        in_flight: 64,
        retries: 10,
        read_price: 0.4e-6,
        write_price: 5e-6,
    };

    /// How long a request takes without its bytes.
    pub(super) fn time(&self, kind: Kind) -> Duration {
        match kind {
            Kind::Get => self.get,
            Kind::Put => self.put,
            Kind::List => self.list,
        }
        .sample()
    }
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
