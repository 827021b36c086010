//! Chooses round numbers and dates for the ticks of an axis, and writes them.

use crate::meaning::{Coordinates, Date, TimeUnits};

/// A mark on an axis.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Tick {
    /// Where: a position between elements, whose middles are at whole numbers.
    pub at: f64,
    pub text: String,
}

/// Round numbers from `low` to `high`: about `count` of them, 1, 2 or 5 times a power of ten apart.
pub(crate) fn round_numbers(low: f64, high: f64, count: usize) -> Vec<f64> {
    let width = high - low;
    if !width.is_finite() || width <= 0.0 || count == 0 {
        return Vec::new();
    }
    let rough = width / count as f64;
    let power = 10_f64.powf(rough.log10().floor());
    let step =
        [1.0, 2.0, 5.0, 10.0].into_iter().map(|n| n * power).find(|&step| step >= rough * 0.999);
    let step = step.unwrap_or(10.0 * power);
    let (first, last) = ((low / step - 1e-6).ceil(), (high / step + 1e-6).floor());
    if !step.is_normal() || last - first > 1000.0 || first.abs().max(last.abs()) > 1e15 {
        return Vec::new();
    }
    (0..=(last - first) as u32).map(|n| round_to(step, (first + f64::from(n)) * step)).collect()
}

/// A multiple of `step` without the noise behind its last digit.
fn round_to(step: f64, value: f64) -> f64 {
    let digits = (-step.log10().floor()).clamp(0.0, 300.0) as usize;
    if digits > 15 { value } else { format!("{value:.digits$}").parse().unwrap_or(value) + 0.0 }
}

/// Numbers as texts that have the same form: the shortest, or with powers of ten where that is shorter for all.
pub(crate) fn texts(values: &[f64]) -> Vec<String> {
    let largest = values.iter().fold(0.0_f64, |most, value| most.max(value.abs()));
    let least = values
        .iter()
        .filter(|&&value| value != 0.0)
        .fold(f64::INFINITY, |least, value| least.min(value.abs()));
    let is_plain = largest < 1e6 && (least >= 1e-4 || least.is_infinite());
    let plain: Vec<String> = values.iter().map(|value| format!("{value}")).collect();
    let places = plain
        .iter()
        .map(|text| text.split_once('.').map_or(0, |(_, part)| part.len()))
        .max()
        .unwrap_or(0);
    values
        .iter()
        .map(|&value: &f64| {
            if is_plain && places <= 8 {
                return format!("{value:.places$}").replace('-', "−");
            }
            if value == 0.0 {
                return "0".into();
            }
            number(value)
        })
        .collect()
}

/// A number in at most five digits.
pub fn number(value: f64) -> String {
    let size = value.abs();
    let text = if value == 0.0 || !value.is_finite() || (1e-4..1e6).contains(&size) {
        let digits = if size >= 1.0 {
            4 - (size.log10().floor() as i32).clamp(0, 4)
        } else {
            4 - (size.log10().floor() as i32).max(-5)
        };
        let text = format!(
            "{value:.*}",
            if value == 0.0 || !value.is_finite() { 0 } else { digits.max(0) as usize }
        );
        if text.contains('.') {
            text.trim_end_matches('0').trim_end_matches('.').to_owned()
        } else {
            text
        }
    } else {
        let text = format!("{value:.4e}");
        let (digits, power) = text.split_once('e').unwrap_or((&text, "0"));
        let digits = digits.trim_end_matches('0').trim_end_matches('.');
        let raised: String = power.chars().map(raised).collect();
        if digits == "1" { format!("10{raised}") } else { format!("{digits}×10{raised}") }
    };
    text.replace('-', "−")
}

fn raised(digit: char) -> char {
    match digit {
        '-' => '⁻',
        '1' => '¹',
        '2' => '²',
        '3' => '³',
        '0' => '⁰',
        '4' => '⁴',
        '5' => '⁵',
        '6' => '⁶',
        '7' => '⁷',
        '8' => '⁸',
        '9' => '⁹',
        other => other,
    }
}

/// Ticks of `len` positions that have no coordinates but a first one and a step.
pub(crate) fn of_positions(first: f64, step: f64, len: u64, count: usize) -> Vec<Tick> {
    let last = first + step * (len.saturating_sub(1)) as f64;
    if len == 1 {
        return vec![Tick { at: 0.0, text: number(first) }];
    }
    let mut values = round_numbers(first.min(last), first.max(last), count.min(len as usize));
    if values.is_empty() {
        values = vec![first];
    }
    values
        .iter()
        .zip(texts(&values))
        .map(|(value, text)| Tick { at: (value - first) / step, text })
        .collect()
}

/// Ticks of positions with coordinates: round numbers where these rise or fall all along, changes of years, months, days or hours of
/// times, else some of the texts.
pub(crate) fn of_coordinates(coordinates: &Coordinates, len: usize, count: usize) -> Vec<Tick> {
    if let Some(dates) = dates(coordinates, len, count, false) {
        return dates.into_iter().map(|(n, _, text)| Tick { at: n as f64, text }).collect();
    }
    if coordinates.texts.is_none() && coordinates.time.is_none() && len > 1 {
        let numbers = &coordinates.numbers;
        let rises = numbers.windows(2).all(|pair| pair[0] < pair[1]);
        let falls = numbers.windows(2).all(|pair| pair[0] > pair[1]);
        if rises || falls {
            let (first, last) = (numbers[0], numbers[len - 1]);
            let values = round_numbers(first.min(last), first.max(last), count);
            // Few elements are marked by what they are.
            if values.len() > 1 && len > 3 {
                let ticks = values.iter().zip(texts(&values)).map(|(&value, text)| {
                    let after = numbers
                        .partition_point(|&n| if rises { n < value } else { n > value })
                        .clamp(1, len - 1);
                    let (before, here) = (numbers[after - 1], numbers[after]);
                    let at = (after - 1) as f64 + (value - before) / (here - before);
                    Tick { at, text }
                });
                return ticks.filter(|tick| (-0.5..=len as f64 - 0.5).contains(&tick.at)).collect();
            }
        }
    }
    let every = len.div_ceil(count.max(1)).max(1);
    (0..len)
        .step_by(every)
        .map(|at| {
            let text = match (&coordinates.texts, coordinates.time) {
                (None, None) => {
                    coordinates.numbers.get(at).map_or(String::new(), |&value| number(value))
                }
                _ => coordinates.text(at),
            };
            Tick { at: at as f64, text }
        })
        .collect()
}

/// Round dates between two numbers of a time axis, and their texts: about `count` of them.
pub(crate) fn round_dates(
    low: f64,
    high: f64,
    time: TimeUnits,
    count: usize,
) -> Vec<(f64, String)> {
    const LOOKS: usize = 2000;
    let numbers = (0..LOOKS).map(|n| low + (high - low) * n as f64 / (LOOKS - 1) as f64).collect();
    let looks = Coordinates { numbers, time: Some(time), texts: None };
    let found = dates(&looks, LOOKS, count, true).unwrap_or_default();
    // The first look begins nothing, unless it does.
    let exact = found.into_iter().filter_map(|(_, begin, text)| Some((time.number(begin)?, text)));
    exact.filter(|(number, _)| (low..=high).contains(number)).collect()
}

/// Nanoseconds.
const MINUTE: u64 = 60_000_000_000;

/// The positions at which a year, a month, a day, an hour or a minute begins: the finest of these that are not too many, and not finer
/// than the dates are apart. With each of them what begins there, and its text.
fn dates(
    coordinates: &Coordinates,
    len: usize,
    count: usize,
    has_whole_hours: bool,
) -> Option<Vec<(usize, Date, String)>> {
    let time = coordinates.time?;
    let dates: Vec<_> =
        coordinates.numbers.iter().map(|&number| time.date(number)).collect::<Option<_>>()?;
    if len < 2
        || !(dates.windows(2).all(|pair| pair[0] < pair[1])
            || dates.windows(2).all(|pair| pair[0] > pair[1]))
    {
        return None;
    }
    let apart = coordinates.numbers.windows(2).map(|pair| (pair[1] - pair[0]).abs());
    let finest = match apart.fold(f64::INFINITY, f64::min) * time.seconds() / 86_400.0 {
        days if days >= 360.0 => 'y',
        days if days >= 28.0 => 'M',
        days if days >= 1.0 => 'd',
        _ => 'm',
    };
    // The unit, and how many of it.
    let levels = [
        ('m', 1),
        ('m', 5),
        ('m', 15),
        ('h', 1),
        ('h', 3),
        ('h', 6),
        ('h', 12),
        ('d', 1),
        ('d', 2),
        ('d', 5),
        ('d', 10),
        ('M', 1),
        ('M', 3),
        ('M', 6),
        ('y', 1),
        ('y', 2),
        ('y', 5),
        ('y', 10),
        ('y', 20),
        ('y', 50),
        ('y', 100),
        ('y', 500),
        ('y', 1000),
    ];
    let begin = levels.iter().position(|(unit, _)| *unit == finest).unwrap_or_default();
    for &(unit, by) in &levels[begin..] {
        let starts: Vec<usize> = (0..len)
            .filter(|&n| n == 0 || bucket(&dates[n], unit, by) != bucket(&dates[n - 1], unit, by))
            .collect();
        // The first position begins nothing, unless it does: two ticks may be too near.
        let fits = starts.len() <= count + 1;
        let starts: Vec<usize> = match starts.get(1) {
            Some(&second)
                if starts.len() > 2
                    && (second as f64) < 0.6 * (len as f64 / starts.len() as f64) =>
            {
                starts[1..].to_vec()
            }
            _ => starts,
        };
        if fits && starts.len() > 1 {
            let begins: Vec<Date> = starts
                .iter()
                .map(|&n| {
                    let Date { year, month, day, nanoseconds } = dates[n];
                    match unit {
                        'y' => Date { year, month: 1, day: 1, nanoseconds: 0 },
                        'M' => Date { year, month, day: 1, nanoseconds: 0 },
                        'd' => Date { year, month, day, nanoseconds: 0 },
                        'h' if has_whole_hours => {
                            let hour = 60 * MINUTE;
                            Date { nanoseconds: nanoseconds - nanoseconds % hour, ..dates[n] }
                        }
                        _ => Date { nanoseconds: nanoseconds - nanoseconds % MINUTE, ..dates[n] },
                    }
                })
                .collect();
            let texts = date_texts(&begins, unit);
            return Some(
                starts
                    .into_iter()
                    .zip(begins)
                    .zip(texts)
                    .map(|((n, date), text)| (n, date, text))
                    .collect(),
            );
        }
    }
    None
}

/// The step of `by` units that a date is in.
fn bucket(date: &Date, unit: char, by: i64) -> (i64, (i64, i64, i64)) {
    let (month, day) = (i64::from(date.month), i64::from(date.day));
    let minutes = (date.nanoseconds / MINUTE) as i64;
    let within = match unit {
        'm' => (month, day, minutes / by),
        'h' => (month, day, minutes / 60 / by),
        // The days after the last whole step belong to it.
        'd' => (month, ((day - 1) / by).min(30 / by - i64::from(by > 1)), 0),
        'M' => ((month - 1) / by, 0, 0),
        _ => (0, 0, 0),
    };
    (if unit == 'y' { date.year.div_euclid(by) } else { date.year }, within)
}

/// The dates of ticks in the words of a unit: of hours and minutes the day where it begins, and at the first.
fn date_texts(dates: &[Date], unit: char) -> Vec<String> {
    let has_midnight = dates.iter().any(|date| date.nanoseconds == 0);
    dates
        .iter()
        .enumerate()
        .map(|(n, date)| {
            let Date { year, month, day, nanoseconds } = *date;
            let minutes = nanoseconds / 60_000_000_000;
            let clock = format!("{:02}:{:02}", minutes / 60, minutes % 60);
            let before = n.checked_sub(1).map(|before| &dates[before]);
            let is_same_day = before
                .is_some_and(|other| (other.year, other.month, other.day) == (year, month, day));
            match unit {
                'y' => format!("{year:04}"),
                'M' => format!("{year:04}-{month:02}"),
                'd' => format!("{year:04}-{month:02}-{day:02}"),
                _ if minutes == 0 => format!("{year:04}-{month:02}-{day:02}"),
                _ if is_same_day => clock,
                _ if n == 0 && !has_midnight => format!("{year:04}-{month:02}-{day:02} {clock}"),
                _ => format!("{month:02}-{day:02} {clock}"),
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_at_round_numbers() {
        assert_eq!(round_numbers(0.0, 10.0, 5), [0.0, 2.0, 4.0, 6.0, 8.0, 10.0]);
        assert_eq!(round_numbers(-0.31, 0.3, 6), [-0.2, 0.0, 0.2]);
        assert_eq!(round_numbers(250.3, 310.7, 6), [260.0, 280.0, 300.0]);
        assert_eq!(texts(&[0.1, 0.2, 0.30000000000000004 - 4e-17]), ["0.1", "0.2", "0.3"]);
        assert_eq!(texts(&[-1.0, 0.0, 0.5]), ["−1.0", "0.0", "0.5"]);
        assert_eq!(texts(&[0.0, 2e-7]), ["0", "2×10⁻⁷"]);
        for (low, high) in [
            (1.0, 1.0),
            (2.0, 1.0),
            (f64::NAN, 1.0),
            (f64::MIN, f64::MAX),
            (1e300, 1.0000000000000002e300),
        ] {
            assert!(round_numbers(low, high, 5).len() < 20, "{low} {high}");
        }
        assert_eq!(
            [number(273.15), number(0.0), number(-1.5e-9), number(1e7)],
            ["273.15", "0", "−1.5×10⁻⁹", "10⁷"]
        );
        assert_eq!(
            [number(0.012345678), number(99999.7), number(f64::INFINITY)],
            ["0.012346", "100000", "inf"]
        );
    }

    #[test]
    fn ticks_of_coordinates_are_between_elements() {
        let numbers: Vec<f64> = (0..36).map(|n| 87.5 - 5.0 * f64::from(n)).collect();
        let found = of_coordinates(&Coordinates { numbers, ..Coordinates::default() }, 36, 4);
        let texts: Vec<&str> = found.iter().map(|tick| &*tick.text).collect();
        assert_eq!(texts, ["−50", "0", "50"]);
        assert_eq!(found[1].at, 17.5);
        let texts = vec!["a".to_owned(), "b".to_owned(), "c".to_owned()];
        let found =
            of_coordinates(&Coordinates { texts: Some(texts), ..Coordinates::default() }, 3, 2);
        assert_eq!(found.iter().map(|tick| &*tick.text).collect::<Vec<_>>(), ["a", "c"]);
        let odd = Coordinates { numbers: vec![1.0, f64::NAN, 0.5], ..Coordinates::default() };
        assert_eq!(of_coordinates(&odd, 3, 5).len(), 3);
    }

    #[test]
    fn ticks_of_times_begin_years_or_days() {
        let ticks = |units: &str, by: f64, len: u32, count| {
            let time = TimeUnits::parse(units, None).unwrap();
            let numbers = (0..len).map(|n| by * f64::from(n)).collect();
            let found =
                of_coordinates(&Coordinates { numbers, time, texts: None }, len as usize, count);
            found.iter().map(|tick| format!("{} {}", tick.at, tick.text)).collect::<Vec<_>>()
        };
        assert_eq!(
            ticks("days since 2000-01-16", 30.4, 48, 5),
            ["0 2000", "12 2001", "24 2002", "36 2003"]
        );
        assert_eq!(ticks("hours since 2000-02-28", 6.0, 8, 2), ["0 2000-02-28", "4 2000-02-29"]);
        assert_eq!(
            ticks("hours since 2019-12-31T12:00", 12.0, 4, 9),
            ["0 12-31 12:00", "1 2020-01-01", "2 12:00", "3 2020-01-02"]
        );
        assert_eq!(
            ticks("hours since 2019-12-31T06:00", 12.0, 3, 9),
            ["0 2019-12-31 06:00", "1 18:00", "2 01-01 06:00"]
        );
        // Days have no hours, months no days, though all of them have a tick.
        assert_eq!(
            ticks("hours since 2000-01-31T12:00", 24.0, 2, 9),
            ["0 2000-01-31", "1 2000-02-01"]
        );
        assert_eq!(ticks("days since 2000-01-16", 30.0, 2, 9), ["0 2000-01", "1 2000-02"]);
        assert_eq!(ticks("days since 2000-06-01", 366.0, 2, 9), ["0 2000", "1 2001"]);
        assert_eq!(
            ticks("days since 2000-01-01", 1.0, 90, 4),
            ["0 2000-01", "31 2000-02", "60 2000-03"]
        );
    }

    #[test]
    fn values_that_are_times_have_ticks_at_round_dates() {
        let time = TimeUnits::parse("seconds since 1970-01-01", None).unwrap().unwrap();
        let found = round_dates(-86_400.0, 1.62e9, time, 8);
        let texts: Vec<&str> = found.iter().map(|(_, text)| &**text).collect();
        assert_eq!(texts, ["1970", "1980", "1990", "2000", "2010", "2020"]);
        assert_eq!((found[0].0, found[3].0), (0.0, 946_684_800.0));
        let found = round_dates(-100.0, 4.0 * 86_400.0, time, 10);
        let texts: Vec<&str> = found.iter().map(|(_, text)| &**text).collect();
        let half_days = ["1970-01-01", "12:00", "1970-01-02", "12:00", "1970-01-03", "12:00"];
        assert_eq!(texts[..6], half_days);
        assert_eq!(found[1].0, 43_200.0);
        assert!(round_dates(0.0, f64::MAX, time, 8).is_empty());
        assert!(round_dates(0.0, f64::NAN, time, 8).is_empty());
    }
}
