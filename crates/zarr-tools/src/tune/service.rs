//! Says how fast, how limited and how dear a store is, as a model that can be printed and replaced.

use std::time::Duration;

use zarr_core::{AccessError, Json, Object, Result};

/// A distribution of times: the logarithm is normal, as that of answers of web services is about.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Times {
    /// Half of all are shorter.
    pub median: Duration,
    /// The deviation of the logarithm: with 0.5, one of a hundred takes 3.2 times the median.
    pub sigma: f64,
}

/// How a store answers.
#[derive(Clone, Copy, Debug, PartialEq)]
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
    /// Ranges of one object with at most as many bytes between them are one request.
    pub gap: u64,
    /// Whether parts of an object cost no request of their own, as in a file. Then inner chunks are read one by one.
    pub is_local: bool,
}

/// A member of the JSON form: its name, how it is read from a service, and how it is set.
type Member = (&'static str, fn(&Service) -> f64, fn(&mut Service, f64));

fn milliseconds(times: Times) -> f64 {
    times.median.as_secs_f64() * 1e3
}

fn set_milliseconds(times: &mut Times, value: f64) {
    // Out of range is a wait that nobody models.
    times.median = Duration::try_from_secs_f64(value / 1e3).unwrap_or(Duration::MAX);
}

const MEMBERS: [Member; 15] = [
    ("get_ms", |it| milliseconds(it.get), |it, value| set_milliseconds(&mut it.get, value)),
    ("put_ms", |it| milliseconds(it.put), |it, value| set_milliseconds(&mut it.put, value)),
    ("list_ms", |it| milliseconds(it.list), |it, value| set_milliseconds(&mut it.list, value)),
    ("get_sigma", |it| it.get.sigma, |it, value| it.get.sigma = value),
    ("put_sigma", |it| it.put.sigma, |it, value| it.put.sigma = value),
    ("list_sigma", |it| it.list.sigma, |it, value| it.list.sigma = value),
    ("request_bandwidth", |it| it.request_bandwidth, |it, value| it.request_bandwidth = value),
    ("client_bandwidth", |it| it.client_bandwidth, |it, value| it.client_bandwidth = value),
    ("reads_per_second", |it| it.reads.into(), |it, value| it.reads = value as u32),
    ("writes_per_second", |it| it.writes.into(), |it, value| it.writes = value as u32),
    ("page", |it| it.page as f64, |it, value| it.page = value as usize),
    ("in_flight", |it| it.in_flight as f64, |it, value| it.in_flight = value as usize),
    ("read_price", |it| it.read_price, |it, value| it.read_price = value),
    ("write_price", |it| it.write_price, |it, value| it.write_price = value),
    ("gap", |it| it.gap as f64, |it, value| it.gap = value as u64),
];

/// Members by which others are divided, or which are counts of at least one.
const POSITIVE: [&str; 4] = ["request_bandwidth", "client_bandwidth", "page", "in_flight"];

/// Members whose largest number means that there is no limit, which JSON has as `null`.
const LIMITS: [&str; 2] = ["reads_per_second", "writes_per_second"];

fn is_unlimited(member: &str, value: f64) -> bool {
    LIMITS.contains(&member) && value >= f64::from(u32::MAX)
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
        gap: 64 << 10,
        is_local: false,
    };

    /// A folder on a solid-state disk. Times are assumptions: 0.1 ms until a file is open, 1 GB/s.
    pub const DISK: Service = Service {
        get: Times { median: Duration::from_micros(100), sigma: 0.5 },
        put: Times { median: Duration::from_micros(300), sigma: 0.5 },
        list: Times { median: Duration::from_millis(1), sigma: 0.5 },
        request_bandwidth: 1e9,
        client_bandwidth: 2e9,
        reads: u32::MAX,
        writes: u32::MAX,
        failures: 0.0,
        page: 1000,
        in_flight: 8,
        retries: 0,
        read_price: 0.0,
        write_price: 0.0,
        gap: 0,
        is_local: true,
    };

    /// The model of this name: `s3` or `disk`.
    pub fn named(name: &str) -> Option<Service> {
        match name {
            "s3" => Some(Service::S3),
            "disk" => Some(Service::DISK),
            _ => None,
        }
    }

    /// The numbers in words, with their units: for people.
    pub fn describe(&self) -> String {
        let name = if self.is_local { "disk" } else { "s3" };
        let mut text = format!(
            "like {name}: {} ms until a read is answered, {} ms until a write is; {:.3} GB/s for each request, {:.3} GB/s in all; {} requests at once",
            milliseconds(self.get),
            milliseconds(self.put),
            self.request_bandwidth / 1e9,
            self.client_bandwidth / 1e9,
            self.in_flight
        );
        for (what, limit) in [("reads", self.reads), ("writes", self.writes)] {
            if limit != u32::MAX {
                text.push_str(&format!(", at most {limit} {what} in a second"));
            }
        }
        text
    }

    /// The numbers, as [`Service::from_json`] takes them; `null` is no limit. `like` names the model that the others are those of.
    pub fn to_json(&self) -> Object {
        let like = if self.is_local { "disk" } else { "s3" };
        let mut object = Object::new().with("like", like);
        for (name, get, _) in &MEMBERS {
            let value = get(self);
            if is_unlimited(name, value) {
                object = object.with(*name, Json::Null);
                continue;
            }
            let is_whole = value.fract() == 0.0 && (0.0..9e15).contains(&value);
            let number = if is_whole { Json::from(value as u64) } else { Json::float(value) };
            object = object.with(*name, number);
        }
        object
    }

    /// The model that a document describes: an object with the members that [`Service::to_json`] gives. Those that are missing
    /// are those of the model that `like` names [default: `s3`]. Times are in milliseconds, rates in bytes a second, prices in
    /// dollars a request.
    ///
    /// # Errors
    /// [`AccessError::Argument`] for text that is no such object, an unknown member, and a number that is negative.
    pub fn from_json(text: &[u8]) -> Result<Service> {
        let json = Json::parse(text).map_err(|why| invalid(why.to_string()))?;
        let object = json.as_object().ok_or_else(|| invalid("expected an object".into()))?;
        let mut service = match object.get("like") {
            None => Service::S3,
            Some(like) => like.as_str().and_then(Service::named).ok_or_else(|| {
                invalid(format!("`like` is {}, expected \"s3\" or \"disk\"", like.brief()))
            })?,
        };
        for (name, value) in object.iter().filter(|(name, _)| *name != "like") {
            let Some((_, _, set)) = MEMBERS.iter().find(|(known, ..)| *known == name) else {
                let known = MEMBERS.map(|(known, ..)| known).join(", ");
                return Err(
                    invalid(format!("unknown member `{name}`; expected one of {known}")).into()
                );
            };
            if LIMITS.contains(&name) && *value == Json::Null {
                set(&mut service, f64::from(u32::MAX));
                continue;
            }
            let number = value
                .as_f64()
                .filter(|number| {
                    number.is_finite()
                        && *number >= 0.0
                        && (*number >= 1.0 || !POSITIVE.contains(&name))
                })
                .ok_or_else(|| {
                    let least = if POSITIVE.contains(&name) { 1 } else { 0 };
                    invalid(format!(
                        "`{name}` is {}, expected a number of at least {least}",
                        value.brief()
                    ))
                })?;
            set(&mut service, number);
        }
        Ok(service)
    }

    /// Seconds until `requests` requests of `bytes` bytes in all are answered, by the medians: as many rounds as it takes with
    /// those that are under way together, or the time that the client's network needs, whichever is longer.
    pub fn seconds(&self, requests: f64, bytes: f64) -> f64 {
        if requests <= 0.0 {
            return 0.0;
        }
        let rounds = (requests / self.in_flight as f64).ceil();
        let each = self.get.median.as_secs_f64() + bytes / requests / self.request_bandwidth;
        (rounds * each).max(bytes / self.client_bandwidth)
    }
}

/// The error of a model that is not understood.
fn invalid(why: String) -> AccessError {
    AccessError::Argument(format!("the store's model: {why}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_printed_is_read_again() {
        for service in [Service::S3, Service::DISK] {
            let text = Json::from(service.to_json()).to_string();
            assert_eq!(Service::from_json(text.as_bytes()).unwrap(), service, "{text}");
            assert!(!text.contains("4294967295"), "{text}");
        }
        let far = Service::from_json(br#"{"get_ms": 80, "in_flight": 16}"#).unwrap();
        assert_eq!(far.get.median, Duration::from_millis(80));
        assert_eq!((far.in_flight, far.page), (16, 1000));
    }

    #[test]
    fn rejects_invalid_models() {
        for (text, why) in [
            ("[]", "expected an object"),
            (r#"{"like": "tape"}"#, r#"`like` is "tape", expected"#),
            (r#"{"get": 1}"#, "unknown member `get`; expected one of get_ms, "),
            (r#"{"get_ms": -1}"#, "`get_ms` is -1, expected a number of at least 0"),
            (r#"{"in_flight": 0}"#, "`in_flight` is 0, expected a number of at least 1"),
            (r#"{"page": "many"}"#, "`page` is \"many\", expected a number"),
        ] {
            let error = Service::from_json(text.as_bytes()).unwrap_err().to_string();
            assert!(error.contains(why), "{error}");
        }
    }

    #[test]
    fn requests_take_rounds_or_the_network() {
        let s3 = Service::S3;
        assert_eq!(s3.seconds(0.0, 0.0), 0.0);
        assert!((s3.seconds(1.0, 85e6) - 1.025).abs() < 1e-9);
        assert!((s3.seconds(65.0, 0.0) - 0.05).abs() < 1e-9);
        // 64 streams together are faster than the client's network.
        assert!((s3.seconds(64.0, 12.5e9) - 10.0).abs() < 1e-9);
    }
}
