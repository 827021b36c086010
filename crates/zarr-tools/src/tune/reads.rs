//! Describes how an array is read: which lengths along its axes, and how often.

use std::ops::Range;

use zarr_core::{AccessError, Result};

use super::random::Random;

/// One way in which an array is read: a box of these lengths, at a uniformly random place.
#[derive(Clone, Debug, PartialEq)]
pub struct ReadPattern {
    /// What the user called it: `map`, or the text that was parsed.
    pub name: String,
    /// How many elements along each axis: at least 1, at most the axis's length.
    pub lengths: Vec<u64>,
    /// How often it is read, compared with others.
    pub weight: f64,
}

/// Names of axes that are across, down, and in time.
const ACROSS: [&str; 4] = ["x", "lon", "longitude", "easting"];
const DOWN: [&str; 4] = ["y", "lat", "latitude", "northing"];
const TIME: [&str; 3] = ["time", "t", "date"];

/// The presets that stand for reads nobody named.
pub(super) const DEFAULT_READS: [&str; 3] = ["map", "series", "tile:512"];

fn argument(why: String) -> AccessError {
    AccessError::Argument(why)
}

impl ReadPattern {
    /// Parses a read of an array with this shape and these names of axes.
    ///
    /// - `time=:, lat=1, lon=1 @3`: all of `time`, one position of the others, with weight 3 [default: 1]. Axes that are not named
    ///   are read whole; an axis may be named by its number, from 0.
    /// - `:,1,1`: a length for each axis.
    /// - `map`: a plane of the axes across and down; `series`: all of the time axis at one place; `tile:512`: 512 positions
    ///   of the axes across and down. The axes are found by their names (`x`, `lon`, `y`, `lat`, `time`, `t` …); else the last two
    ///   are across and down, and the first one is time.
    ///
    /// ```
    /// use zarr_tools::tune::ReadPattern;
    ///
    /// let names = [Some("time".into()), Some("lat".into()), Some("lon".into())];
    /// let read = ReadPattern::parse("lat=1, lon=1 @3", &[100, 20, 30], &names)?;
    /// assert_eq!((read.lengths, read.weight), (vec![100, 1, 1], 3.0));
    /// let read = ReadPattern::parse("tile:16", &[100, 20, 30], &names)?;
    /// assert_eq!(read.lengths, [1, 16, 16]);
    /// # Ok::<(), zarr_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`AccessError::Argument`] for an axis that the array does not have, a length that is longer than its axis or 0, and a weight
    /// that is not positive.
    pub fn parse(text: &str, shape: &[u64], names: &[Option<String>]) -> Result<ReadPattern> {
        let (what, weight) = match text.rsplit_once('@') {
            Some((what, weight)) => {
                let parsed = weight.trim().parse::<f64>().ok();
                let parsed = parsed.filter(|weight| weight.is_finite() && *weight > 0.0);
                let weight = parsed.ok_or_else(|| {
                    argument(format!(
                        "read `{text}`: invalid weight `{}`, expected a number above 0",
                        weight.trim()
                    ))
                })?;
                (what.trim(), weight)
            }
            None => (text.trim(), 1.0),
        };
        let lengths = match what.split_once(':') {
            _ if what == "map" => plane(shape, names, u64::MAX),
            _ if what == "series" => series(shape, names),
            Some(("tile", side)) => {
                let side = side.trim().parse::<u64>().ok().filter(|&side| side > 0);
                let side = side.ok_or_else(|| {
                    argument(format!("read `{text}`: expected a side, as in tile:512"))
                })?;
                plane(shape, names, side)
            }
            _ => by_axis(text, what, shape, names)?,
        };
        Ok(ReadPattern { name: what.to_owned(), lengths, weight })
    }

    /// The presets `map`, `series` and `tile:512`, each once; those that read the same of this array as an earlier one are left out.
    pub fn presets(shape: &[u64], names: &[Option<String>]) -> Vec<ReadPattern> {
        let mut found: Vec<ReadPattern> = Vec::new();
        for text in DEFAULT_READS {
            let read = ReadPattern::parse(text, shape, names).expect("presets fit every array");
            if found.iter().all(|other| other.lengths != read.lengths) {
                found.push(read);
            }
        }
        found
    }

    /// A box of this pattern at a random place of an array of this shape.
    pub(super) fn place(&self, shape: &[u64], random: &mut Random) -> Vec<Range<u64>> {
        self.lengths
            .iter()
            .zip(shape)
            .map(|(&length, &len)| {
                let start = random.below((len - length).saturating_add(1));
                start..start + length
            })
            .collect()
    }

    /// Seeded random boxes of this pattern, as many as asked for; a single one if only one place is possible.
    pub fn places(&self, shape: &[u64], count: usize, seed: u64) -> Vec<Vec<Range<u64>>> {
        let mut random = Random::new(seed);
        let is_one = self.lengths == shape;
        let count = if is_one { count.min(1) } else { count };
        (0..count).map(|_| self.place(shape, &mut random)).collect()
    }
}

/// `time=:, lat=1`, or a length for each axis.
fn by_axis(
    text: &str,
    what: &str,
    shape: &[u64],
    names: &[Option<String>],
) -> Result<Vec<u64>, AccessError> {
    let parts: Vec<&str> = what.split(',').map(str::trim).filter(|part| !part.is_empty()).collect();
    let length = |axis: usize, word: &str| {
        let most = shape[axis];
        if word == ":" {
            return Ok(most);
        }
        let length = word.parse::<u64>().map_err(|_| {
            invalid(
                text,
                format!("invalid length `{word}`, expected a number or `:` for the whole axis"),
            )
        })?;
        if length == 0 || length > most {
            let name = axis_name(axis, names);
            return Err(invalid(
                text,
                format!("length {length} along {name}, expected 1 to {most}"),
            ));
        }
        Ok(length)
    };
    let named = parts.iter().filter(|part| part.contains('=')).count();
    if named == 0 {
        if parts.len() != shape.len() {
            let given = match parts.len() {
                1 => "1 length".to_owned(),
                count => format!("{count} lengths"),
            };
            let rank = shape.len();
            let near = zarr_core::did_you_mean(what, ["map", "series"]);
            let near = near.map_or(String::new(), |near| format!("; did you mean `{near}`?"));
            return Err(invalid(
                text,
                format!(
                    "{given} for {rank} axes; name axes, as in lat=1, or give all; presets are map, series and tile:512{near}"
                ),
            ));
        }
        return parts.iter().enumerate().map(|(axis, word)| length(axis, word)).collect();
    }
    let mut lengths = shape.to_vec();
    let mut given = vec![false; shape.len()];
    for part in parts {
        let (name, word) = part.split_once('=').ok_or_else(|| {
            invalid(text, format!("`{part}` names no axis; expected AXIS=LENGTH"))
        })?;
        let name = name.trim();
        let by_name = names.iter().position(|own| own.as_deref() == Some(name));
        let axis = by_name
            .or_else(|| name.parse::<usize>().ok().filter(|&axis| axis < shape.len()))
            .ok_or_else(|| {
                let known: Vec<String> =
                    (0..shape.len()).map(|axis| axis_name(axis, names)).collect();
                invalid(text, format!("unknown axis `{name}`; the array has {}", known.join(", ")))
            })?;
        if std::mem::replace(&mut given[axis], true) {
            return Err(invalid(text, format!("duplicate axis `{name}`")));
        }
        lengths[axis] = length(axis, word.trim())?;
    }
    Ok(lengths)
}

/// The error of a read that is not understood.
fn invalid(text: &str, why: String) -> AccessError {
    argument(format!("read `{text}`: {why}"))
}

fn axis_name(axis: usize, names: &[Option<String>]) -> String {
    names.get(axis).cloned().flatten().unwrap_or_else(|| axis.to_string())
}

fn find(names: &[Option<String>], known: &[&str]) -> Option<usize> {
    names.iter().position(|name| {
        name.as_deref().is_some_and(|name| known.iter().any(|it| it.eq_ignore_ascii_case(name)))
    })
}

/// The axes down and across.
fn plane_axes(rank: usize, names: &[Option<String>]) -> Vec<usize> {
    match (find(names, &DOWN), find(names, &ACROSS)) {
        (Some(down), Some(across)) => vec![down, across],
        _ => (rank.saturating_sub(2)..rank).collect(),
    }
}

fn plane(shape: &[u64], names: &[Option<String>], side: u64) -> Vec<u64> {
    let axes = plane_axes(shape.len(), names);
    shape
        .iter()
        .enumerate()
        .map(|(axis, &len)| if axes.contains(&axis) { side.min(len) } else { 1 })
        .collect()
}

fn series(shape: &[u64], names: &[Option<String>]) -> Vec<u64> {
    let time = find(names, &TIME).unwrap_or(0);
    shape.iter().enumerate().map(|(axis, &len)| if axis == time { len } else { 1 }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(text: &str) -> Vec<Option<String>> {
        text.split(',').map(|name| (!name.is_empty()).then(|| name.to_owned())).collect()
    }

    #[test]
    fn reads_are_parsed() {
        let shape = [100, 20, 30];
        let named = names("time,lat,lon");
        let cases: [(&str, &[u64], f64); 8] = [
            ("time=:, lat=1, lon=1 @3", &[100, 1, 1], 3.0),
            ("time=1", &[1, 20, 30], 1.0),
            ("2=5@0.5", &[100, 20, 5], 0.5),
            (":,1,2", &[100, 1, 2], 1.0),
            ("map", &[1, 20, 30], 1.0),
            ("series @ 2", &[100, 1, 1], 2.0),
            ("tile:16", &[1, 16, 16], 1.0),
            ("tile:512", &[1, 20, 30], 1.0),
        ];
        for (text, lengths, weight) in cases {
            let read = ReadPattern::parse(text, &shape, &named).unwrap();
            assert_eq!((&read.lengths[..], read.weight), (lengths, weight), "{text}");
        }
        // By position, where nothing is named.
        let read = ReadPattern::parse("map", &shape, &[]).unwrap();
        assert_eq!(read.lengths, [1, 20, 30]);
        // By name, wherever the axes are.
        let read = ReadPattern::parse("map", &shape, &names("lat,lon,time")).unwrap();
        assert_eq!(read.lengths, [100, 20, 1]);
        let read = ReadPattern::parse("series", &shape, &names("lat,lon,time")).unwrap();
        assert_eq!(read.lengths, [1, 1, 30]);
        assert_eq!(ReadPattern::presets(&shape, &named).len(), 2);
        assert_eq!(ReadPattern::presets(&[7], &[]).len(), 1);
        assert_eq!(ReadPattern::presets(&[], &[]).len(), 1);
    }

    #[test]
    fn rejects_reads_that_the_array_does_not_have() {
        for (text, why) in [
            ("time=:@x", "invalid weight `x`"),
            ("time=:@0", "invalid weight `0`"),
            ("depth=1", "unknown axis `depth`; the array has time, lat, lon"),
            ("time=0", "length 0 along time, expected 1 to 100"),
            ("lat=21", "length 21 along lat, expected 1 to 20"),
            ("lat=a", "invalid length `a`"),
            ("lat=1,lat=2", "duplicate axis `lat`"),
            ("lat=1,2", "`2` names no axis"),
            ("1,2", "2 lengths for 3 axes"),
            ("maps", "1 length for 3 axes"),
            ("tile:0", "expected a side"),
            ("", "0 lengths for 3 axes"),
        ] {
            let read = ReadPattern::parse(text, &[100, 20, 30], &names("time,lat,lon"));
            let error = read.unwrap_err().to_string();
            assert!(error.contains(why), "{text}: {error}");
        }
    }

    #[test]
    fn places_are_inside_and_repeatable() {
        let read = ReadPattern::parse("3,:", &[10, 5], &[]).unwrap();
        let places = read.places(&[10, 5], 100, 7);
        assert_eq!(places, read.places(&[10, 5], 100, 7));
        let starts: std::collections::BTreeSet<u64> = places.iter().map(|it| it[0].start).collect();
        assert_eq!(starts, (0..=7).collect());
        assert!(places.iter().all(|it| it[0].end == it[0].start + 3 && it[1] == (0..5)));
        assert_eq!(
            ReadPattern::parse(":,:", &[10, 5], &[]).unwrap().places(&[10, 5], 9, 1).len(),
            1
        );
    }
}
