//! Times are read and written as jiff's.
#![cfg(all(feature = "jiff", feature = "memory"))]

use zarr::data_type::NumpyTime;
use zarr::jiff::{SignedDuration, Timestamp};
use zarr::{Dialect, NodePath, Result};

/// F-047, Z2-033: in each dialect, what was a timestamp is one again, and NaT none.
#[test]
fn moments_and_spans_pass_through_an_array() -> Result<()> {
    let moments: [Timestamp; 2] =
        ["1969-07-20T20:17:40Z", "2026-01-01T00:00:00.25Z"].map(|text| text.parse().expect("ISO"));
    let spans = [SignedDuration::from_millis(-1500), SignedDuration::ZERO];
    for dialect in [Dialect::V3, Dialect::V2, Dialect::Draft] {
        let hierarchy = zarr::create("memory://", dialect)?;
        let create = |name: &str, data_type: &str| {
            let path = NodePath::new(name)?;
            hierarchy.create_array(&path).shape(&[3]).data_type_named(data_type).create()
        };
        let time = NumpyTime::from_typestr("<M8[ms]").expect("a type");
        let array = create("/moments", "datetime64[ms]")?;
        let counts = moments.map(|moment| time.count_of_timestamp(moment).expect("exact"));
        array.write(0..3, &[counts[0], counts[1], NumpyTime::NAT])?;
        let read: Vec<_> =
            array.read::<i64>(..)?.into_iter().map(|n| time.timestamp(n)).collect::<Result<_>>()?;
        assert_eq!(read, [Some(moments[0]), Some(moments[1]), None]);

        let time = NumpyTime::from_typestr("<m8[500ms]").expect("a type");
        let array = create("/spans", "timedelta64[500ms]")?;
        let counts = spans.map(|span| time.count_of_duration(span).expect("exact"));
        assert_eq!(counts, [-3, 0]);
        array.write(0..3, &[counts[0], counts[1], NumpyTime::NAT])?;
        let read: Vec<_> =
            array.read::<i64>(..)?.into_iter().map(|n| time.duration(n)).collect::<Result<_>>()?;
        assert_eq!(read, [Some(spans[0]), Some(spans[1]), None]);
    }
    Ok(())
}
