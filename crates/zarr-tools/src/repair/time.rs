//! Writes the time of now as text.

use std::time::{SystemTime, UNIX_EPOCH};

use zarr_core::data_type::NumpyTime;

/// The time of now in UTC: `2026-11-22T14:21:05Z`.
pub(super) fn now() -> String {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    text(since.map_or(0, |since| since.as_secs()))
}

/// The date and time that many seconds after the beginning of 1970.
fn text(seconds: u64) -> String {
    let in_seconds = NumpyTime::from_typestr("<M8[s]").expect("NumPy has moments in seconds");
    format!("{}Z", in_seconds.text_of(i64::try_from(seconds).unwrap_or(i64::MAX)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_those_of_the_calendar() {
        for (seconds, expected) in [
            (0, "1970-01-01T00:00:00Z"),
            (951_782_399, "2000-02-28T23:59:59Z"),
            (951_782_400, "2000-02-29T00:00:00Z"),
            (951_868_800, "2000-03-01T00:00:00Z"),
            (1_795_357_265, "2026-11-22T14:21:05Z"),
            (4_107_542_399, "2100-02-28T23:59:59Z"),
            (4_107_542_400, "2100-03-01T00:00:00Z"),
        ] {
            assert_eq!(text(seconds), expected);
        }
    }
}
