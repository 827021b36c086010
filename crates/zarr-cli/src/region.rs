//! Reads words on the command line as elements of an array.

use clap::Args;
use zarr::{Array, AxisSelection, Selection};

use crate::digits::Digits;
use crate::failure::Failure;
use crate::human;
use crate::session::{Session, Target};
#[cfg(feature = "plot")]
use zarr_plot::meaning::Reach;

/// About how many bytes of elements are held in memory.
pub(crate) const PIECE: u64 = 64 << 20;

// Which elements a verb is about.
#[derive(Debug, Default, Args)]
pub(crate) struct SelectionArgs {
    /// Elements, axis by axis, as in 0:4,::2,-1,[1,5,9] or ...,-1 [default: all]
    #[arg(long, value_name = "REGION", allow_hyphen_values = true)]
    region: Option<String>,
    /// Elements by dimension name, as in lat=3:9,lon=::2; all along other dimensions
    #[arg(long, value_name = "REGION", conflicts_with = "region")]
    by_name: Option<String>,
    /// Elements by coordinates, as in time=2020-03-01,lat=40:60
    ///
    /// A point takes the nearest coordinate, at most half a step away; a range includes both ends. Other dimensions are taken
    /// whole
    #[cfg(feature = "plot")]
    #[arg(long, value_name = "COORDINATES", allow_hyphen_values = true, conflicts_with_all = ["region", "by_name"])]
    sel: Option<String>,
    #[cfg(feature = "plot")]
    #[command(flatten)]
    near: Near,
}

// How far the coordinate may be that --sel takes for one that is not there.
#[cfg(feature = "plot")]
#[derive(Clone, Copy, Debug, Default, Args)]
pub(crate) struct Near {
    /// With --sel, take the coordinate nearest to a point, however far away it is
    #[arg(long, requires = "sel")]
    nearest: bool,
    /// With --sel, take the coordinate nearest to a point if it is at most this far away
    ///
    /// In the coordinates' units, or for times as in 12h, 30min, 90s, 2d
    #[arg(long, value_name = "DISTANCE", requires = "sel", allow_hyphen_values = true, value_parser = tolerance)]
    tolerance: Option<Reach>,
}

#[cfg(feature = "plot")]
impl Near {
    pub fn reach(self) -> Reach {
        match self.tolerance {
            Some(reach) => reach,
            None if self.nearest => Reach::Any,
            None => Reach::HalfStep,
        }
    }
}

/// `0.5`, `12h`.
#[cfg(feature = "plot")]
fn tolerance(text: &str) -> Result<Reach, String> {
    const UNITS: [(&str, f64); 5] =
        [("min", 60.0), ("h", 3600.0), ("d", 86_400.0), ("ms", 0.001), ("s", 1.0)];
    if let Some(distance) = distance(text) {
        return Ok(Reach::Within(distance));
    }
    for (unit, seconds) in UNITS {
        if let Some(count) = text.strip_suffix(unit).and_then(distance) {
            return Ok(Reach::Seconds(count * seconds));
        }
    }
    Err("expected a number in the coordinates' units, or a time such as 12h, 30min, 90s or 2d"
        .into())
}

/// A finite number that is not negative.
#[cfg(feature = "plot")]
fn distance(text: &str) -> Option<f64> {
    text.parse().ok().filter(|number: &f64| number.is_finite() && *number >= 0.0)
}

impl SelectionArgs {
    /// Whether something was chosen.
    #[cfg(feature = "plot")]
    pub fn is_given(&self) -> bool {
        self.region.is_some() || self.by_name.is_some() || self.sel.is_some()
    }

    /// What is chosen of one array of many, by the axes that it has; `None` if it has none of those that are named, so that all of it is.
    #[cfg(feature = "plot")]
    pub fn by_axes_of(&self, array: &Array) -> Result<Option<SelectionArgs>, Failure> {
        let names: Vec<Option<String>> = match (&self.by_name, &self.sel) {
            (Some(_), _) => names_of(array)?,
            (None, Some(_)) => {
                let axes = zarr_plot::meaning::axes_of(array)?;
                axes.into_iter().map(|axis| axis.name).collect()
            }
            (None, None) => Vec::new(),
        };
        let (by_name, sel) =
            (items_of_names(&self.by_name, &names)?, items_of_names(&self.sel, &names)?);
        let is_named = self.by_name.is_some() || self.sel.is_some();
        let is_other = is_named && by_name.is_none() && sel.is_none();
        let region = self.region.clone();
        Ok((!is_other).then_some(SelectionArgs { region, by_name, sel, near: self.near }))
    }

    /// The elements of the array that TARGET names; its coordinates may be above it.
    pub fn of_target(
        &self,
        session: &Session,
        target: &Target,
        array: &Array,
    ) -> Result<Elements, Failure> {
        // The attributes of groups above may name the axes.
        #[cfg(feature = "plot")]
        if self.sel.is_some()
            || self.by_name.is_some() && array.metadata().dimension_names.is_none()
        {
            return self
                .of(session, &session.in_its_hierarchy(target, array, &session.options()?)?);
        }
        let _ = target;
        self.of(session, array)
    }

    /// Says on standard error which coordinates are taken for others that are not there.
    pub fn of(&self, session: &Session, array: &Array) -> Result<Elements, Failure> {
        #[cfg(feature = "plot")]
        if let Some(text) = &self.sel {
            let (elements, taken) = Elements::of_coordinates(text, array, self.near.reach())?;
            session.warn_about(array, &taken);
            return Ok(elements);
        }
        let _ = session;
        let shape = array.shape();
        let elements = match &self.by_name {
            Some(text) => {
                let names = names_of(array)?;
                let is_any = names.iter().any(Option::is_some);
                Elements::of_names(text, &shape, is_any.then_some(&names[..]))
            }
            None => Elements::of_region(self.region.as_deref(), &shape),
        };
        elements.map_err(|why| {
            Failure::Usage(format!("{}: {why}", human::place(array.hierarchy(), array.path())))
        })
    }
}

/// Those of a selection's items that name a dimension of an array, none if there are none.
fn items_of_names(
    text: &Option<String>,
    names: &[Option<String>],
) -> Result<Option<String>, Failure> {
    let Some(text) = text else { return Ok(None) };
    let items = items(text).map_err(|why| Failure::Usage(format!("`{text}`: {why}")))?;
    let here: Vec<&str> = items
        .into_iter()
        .filter(|item| {
            let name = item.split_once('=').map_or(*item, |(name, _)| name).trim();
            names.iter().flatten().any(|known| known == name)
        })
        .collect();
    Ok((!here.is_empty()).then(|| here.join(",")))
}

/// The names of an array's axes: those of its document, else those by which it is plotted, such as those of an image's levels.
fn names_of(array: &Array) -> Result<Vec<Option<String>>, Failure> {
    let names = array.metadata().dimension_names.clone();
    #[cfg(feature = "plot")]
    if names.is_none() {
        let axes = zarr_plot::meaning::axes_of(array)?;
        return Ok(axes.into_iter().map(|axis| axis.name).collect());
    }
    Ok(names.unwrap_or_default())
}

/// The selected elements: axis by axis, in order. All axes stay.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Elements(Vec<Along>);

/// Coordinates along one axis, all of which it has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Along {
    /// `len` of them, from `start` on, each `step` further than the one before.
    Steps {
        start: u64,
        step: i64,
        len: u64,
    },
    List(Vec<u64>),
}

impl Along {
    pub fn range(start: u64, end: u64) -> Along {
        Along::Steps { start, step: 1, len: end.saturating_sub(start) }
    }

    pub fn len(&self) -> u64 {
        match self {
            Along::Steps { len, .. } => *len,
            Along::List(list) => list.len() as u64,
        }
    }

    /// The coordinate at a position, which there is.
    pub fn at(&self, position: u64) -> u64 {
        match self {
            // A position on an axis is right modulo 2^64.
            Along::Steps { start, step, .. } => {
                start.wrapping_add((*step as u64).wrapping_mul(position))
            }
            Along::List(list) => list[position as usize],
        }
    }
}

impl From<&Along> for AxisSelection {
    fn from(along: &Along) -> AxisSelection {
        match along {
            Along::Steps { len: 0, .. } => (0..0).into(),
            Along::Steps { start, step, len } => {
                let last = along.at(len - 1);
                zarr::steps(*start.min(&last)..=*start.max(&last), *step)
            }
            Along::List(list) => list.into(),
        }
    }
}

impl From<&Elements> for Selection {
    fn from(elements: &Elements) -> Selection {
        Selection::outer(&elements.0)
    }
}

impl Elements {
    /// All of an array of this shape.
    pub fn all(shape: &[u64]) -> Elements {
        Elements(shape.iter().map(|&len| Along::range(0, len)).collect())
    }

    /// All of an array of this shape from a coordinate of one axis on.
    pub fn slab(shape: &[u64], axis: usize, start: u64) -> Elements {
        let mut elements = Elements::all(shape);
        elements.0[axis] = Along::range(start, shape[axis]);
        elements
    }

    /// `time=2020-03-01,lat=40:60`: what the coordinates select along the axes that are named, of others all; and a text for each
    /// coordinate that was taken for one that is not there.
    #[cfg(feature = "plot")]
    fn of_coordinates(
        text: &str,
        array: &Array,
        reach: Reach,
    ) -> Result<(Elements, Vec<String>), Failure> {
        let refuse = |why: String| {
            let place = human::place(array.hierarchy(), array.path());
            Failure::Usage(format!("{place}: `{text}`: {why}"))
        };
        let axes = zarr_plot::meaning::axes_of(array)?;
        let mut found: Vec<Option<Along>> = vec![None; axes.len()];
        let mut nearest = Vec::new();
        for item in items(text).map_err(refuse)? {
            let (name, selected) = item.split_once('=').ok_or_else(|| {
                refuse(format!("expected name=coordinate, as in lat=40:60, found `{item}`"))
            })?;
            let (name, named) = (name.trim(), |axis: &zarr_plot::meaning::Axis| axis.name.clone());
            let mut at = (0..axes.len()).filter(|&n| named(&axes[n]).as_deref() == Some(name));
            let Some(n) = at.next().filter(|_| at.next().is_none()) else {
                let known: Vec<String> = axes.iter().filter_map(named).collect();
                let known = if known.is_empty() {
                    "the axes have no names; select with --region".into()
                } else {
                    format!("axes: {}", known.join(", "))
                };
                let near =
                    zarr::did_you_mean(name, axes.iter().filter_map(|axis| axis.name.as_deref()));
                let near = near.map_or(String::new(), |near| format!("; did you mean `{near}`?"));
                let why = if axes.iter().any(|axis| axis.name.as_deref() == Some(name)) {
                    format!("several axes have the name `{name}`; select with --region")
                } else {
                    format!("there is no axis `{name}`; {known}{near}")
                };
                return Err(refuse(why));
            };
            if found[n].is_some() {
                return Err(refuse(format!("duplicate name `{name}`")));
            }
            let (along, taken) = axes[n].select(selected, reach).map_err(|e| match e.kind() {
                zarr::ErrorKind::Argument => refuse(e.message()),
                _ => Failure::from(e),
            })?;
            nearest.extend(taken.map(|taken| {
                let taken = Digits::Short.of_text(&taken);
                format!(
                    "no coordinate equals {name}={}; using the nearest, {taken}",
                    selected.trim()
                )
            }));
            found[n] = Some(match along {
                zarr_plot::stats::Along::Steps { start, step, len } => {
                    Along::Steps { start, step, len }
                }
                zarr_plot::stats::Along::List(list) => Along::List(list),
            });
        }
        let all = axes.iter().map(|axis| Along::range(0, axis.len));
        let found = found.into_iter().zip(all).map(|(one, all)| one.unwrap_or(all));
        Ok((Elements(found.collect()), nearest))
    }

    /// What is along each axis, as statistics take it.
    #[cfg(feature = "plot")]
    pub fn along(&self) -> Vec<zarr_plot::stats::Along> {
        self.0
            .iter()
            .map(|along| match along {
                Along::Steps { start, step, len } => {
                    zarr_plot::stats::Along::Steps { start: *start, step: *step, len: *len }
                }
                Along::List(list) => zarr_plot::stats::Along::List(list.clone()),
            })
            .collect()
    }

    /// The list of positions of each axis that has one.
    #[cfg(feature = "plot")]
    pub fn lists(&self) -> impl Iterator<Item = Option<&[u64]>> {
        self.0.iter().map(|along| match along {
            Along::Steps { .. } => None,
            Along::List(list) => Some(&list[..]),
        })
    }

    /// They, axis by axis; nothing if an axis has a list.
    pub fn steps(&self) -> Option<Vec<zarr::tools::Steps>> {
        self.0
            .iter()
            .map(|along| match *along {
                Along::Steps { start, step, len } => Some(zarr::tools::Steps { start, step, len }),
                Along::List(_) => None,
            })
            .collect()
    }

    /// None of them.
    pub fn none(rank: usize) -> Elements {
        Elements::all(&vec![0; rank])
    }

    /// `0:4,::2,-1,[1,5,9]`, one word for each axis, `...` for all between; all, if there is no text.
    pub fn of_region(text: Option<&str>, shape: &[u64]) -> Result<Elements, String> {
        let Some(text) = text else { return Ok(Elements::all(shape)) };
        if text.trim().is_empty() && shape.is_empty() {
            return Ok(Elements::all(shape));
        }
        let at = |why: String| format!("region `{text}`: {why}");
        if text.contains('=') {
            let sel = if cfg!(feature = "plot") { "; --sel takes coordinates" } else { "" };
            return Err(at(format!("--by-name takes names, as in --by-name {text}{sel}")));
        }
        let mut items = items(text).map_err(at)?;
        let rank = shape.len();
        // As in NumPy, `...` stands for all of the axes that no other word is for.
        if let Some(position) = items.iter().position(|item| *item == "...") {
            items.remove(position);
            if items.contains(&"...") {
                return Err(at("duplicate `...`".into()));
            }
            for _ in items.len()..rank {
                items.insert(position, ":");
            }
        }
        let found = items.len();
        if found != rank {
            let axes = if rank == 1 { "axis" } else { "axes" };
            return Err(at(if found < rank {
                format!(
                    "the region covers {found} of {rank} {axes}; write `{text},...` to select all of the others"
                )
            } else {
                format!("the region has {found} items, the array has {rank} {axes}")
            }));
        }
        let axes = items.iter().zip(shape).enumerate();
        let axes = axes.map(|(axis, (item, &len))| along(item, &format!("axis {axis}"), len));
        axes.collect::<Result<_, _>>().map(Elements).map_err(at)
    }

    /// `lat=3:9,lon=::2`, a word for each axis that is named; of others all.
    pub fn of_names(
        text: &str,
        shape: &[u64],
        names: Option<&[Option<String>]>,
    ) -> Result<Elements, String> {
        let at = |why: String| format!("`{text}`: {why}");
        let known = names.unwrap_or_default().iter().take(shape.len()).map(Option::as_deref);
        let known: Vec<Option<&str>> = known.collect();
        let mut axes: Vec<Option<Along>> = vec![None; shape.len()];
        for item in items(text).map_err(at)? {
            let Some((name, selected)) = item.split_once('=') else {
                return Err(at(format!(
                    "expected name=start:stop, as in lat=3:9,lon=::2, found `{item}`"
                )));
            };
            let name = name.trim();
            let mut called = (0..known.len()).filter(|&axis| known[axis] == Some(name));
            let axis = match (called.next(), called.next()) {
                (Some(axis), None) => axis,
                (Some(first), Some(second)) => {
                    let why =
                        format!("axes {first} and {second} are both named `{name}`; use --region");
                    return Err(at(why));
                }
                (None, _) => {
                    let names: Vec<String> =
                        known.iter().flatten().map(|name| format!("`{name}`")).collect();
                    return Err(at(if names.is_empty() {
                        "the array's dimensions have no names; use --region".to_owned()
                    } else {
                        let near = zarr::did_you_mean(name, known.iter().copied().flatten());
                        let near =
                            near.map_or(String::new(), |near| format!("; did you mean `{near}`?"));
                        let names = names.join(", ");
                        format!("there is no dimension `{name}`; the array has {names}{near}")
                    }));
                }
            };
            let whose = format!("dimension `{name}`");
            if axes[axis].is_some() {
                return Err(at(format!("duplicate name: {whose}")));
            }
            axes[axis] = Some(along(selected.trim(), &whose, shape[axis]).map_err(|why| {
                let by_coordinate =
                    cfg!(feature = "plot") && selected.contains(char::is_alphabetic);
                at(if by_coordinate {
                    format!(
                        "{why}; --sel selects by coordinate or label: `--sel {name}={}`",
                        selected.trim()
                    )
                } else {
                    why
                })
            })?);
        }
        let axes = axes.into_iter().zip(shape);
        Ok(Elements(axes.map(|(along, &len)| along.unwrap_or(Along::range(0, len))).collect()))
    }

    /// Of each axis only the positions that `kept` lists for it, all where it lists none.
    pub fn at_positions(&self, kept: &[Option<Vec<u64>>]) -> Elements {
        let axes = self.0.iter().zip(kept).map(|(along, kept)| match kept {
            Some(kept) => Along::List(kept.iter().map(|&position| along.at(position)).collect()),
            None => along.clone(),
        });
        Elements(axes.collect())
    }

    /// The positions along an axis.
    pub fn positions(&self, axis: usize) -> Vec<u64> {
        let along = &self.0[axis];
        (0..along.len()).map(|position| along.at(position)).collect()
    }

    /// How many coordinates along each axis.
    pub fn shape(&self) -> Vec<u64> {
        self.0.iter().map(Along::len).collect()
    }

    /// How many elements; `None` if that is more than 64 bits can count.
    pub fn count(&self) -> Option<u64> {
        zarr::region::element_count(&self.shape())
    }

    pub fn is_empty(&self) -> bool {
        self.0.iter().any(|along| along.len() == 0)
    }
}

/// The parts of a text between commas that are not in brackets.
pub(crate) fn items(text: &str) -> Result<Vec<&str>, String> {
    let (mut items, mut start, mut inside) = (Vec::new(), 0, false);
    for (at, letter) in text.char_indices() {
        match letter {
            '[' if inside => return Err("lists cannot be nested".to_owned()),
            '[' => inside = true,
            ']' if !inside => return Err("a `]` has no `[`".to_owned()),
            ']' => inside = false,
            ',' if !inside => {
                items.push(text[start..at].trim());
                start = at + 1;
            }
            _ => {}
        }
    }
    if inside {
        return Err("a `[` has no `]`".to_owned());
    }
    items.push(text[start..].trim());
    Ok(items)
}

/// The positions that a word selects on an axis of length `len`: `start:stop:step` without the stop itself, each of
/// which may be left out; one `n`; `[a,b,c]`. Negative coordinates count from the axis' end.
fn along(text: &str, whose: &str, len: u64) -> Result<Along, String> {
    let item = Item { text, whose, len };
    if let Some(list) = text.strip_prefix('[') {
        let list = list.strip_suffix(']').ok_or_else(|| item.invalid("is not a list"))?.trim();
        let list = list.strip_suffix(',').unwrap_or(list);
        let items = if list.is_empty() { Vec::new() } else { list.split(',').collect() };
        let positions = items.into_iter().map(|text| match item.number(text)? {
            Some(n) => item.position(n),
            None => Err(item.invalid("has an extra comma")),
        });
        return positions.collect::<Result<_, _>>().map(Along::List);
    }
    let (start, stop, step) = match text.split(':').collect::<Vec<_>>()[..] {
        [only] => match item.number(only)? {
            None => return Ok(Along::range(0, len)),
            Some(n) => {
                let n = item.position(n)?;
                return Ok(Along::range(n, n + 1));
            }
        },
        [start, stop] => (item.number(start)?, item.number(stop)?, None),
        [start, stop, step] => (item.number(start)?, item.number(stop)?, item.number(step)?),
        _ => return Err(item.invalid("has too many colons")),
    };
    let step = match step {
        Some(0) => return Err(item.invalid("has a step of 0")),
        Some(step) => i64::try_from(step).unwrap_or(i64::MAX),
        None => 1,
    };
    let backwards = item.invalid("ends before it begins");
    if step > 0 {
        let start = start.map_or(Ok(0), |n| item.bound(n, len))?;
        let stop = stop.map_or(Ok(len), |n| item.bound(n, len))?;
        let count = stop.checked_sub(start).ok_or(backwards)?.div_ceil(step.unsigned_abs());
        return Ok(Along::Steps { start, step, len: count });
    }
    // Backwards: from the axis' last, or from `start`, to its first, or to before `stop`.
    if len == 0 && start.is_none() && stop.is_none() {
        return Ok(Along::range(0, 0));
    }
    let start = start.map_or(Ok(len.saturating_sub(1)), |n| item.position(n))?;
    let count = match stop.map(|n| item.position(n)).transpose()? {
        None => start + 1,
        Some(stop) => start.checked_sub(stop).ok_or(backwards)?,
    };
    Ok(Along::Steps { start, step, len: count.div_ceil(step.unsigned_abs()) })
}

/// What a word selects along an axis, for its errors.
struct Item<'a> {
    text: &'a str,
    whose: &'a str,
    len: u64,
}

impl Item<'_> {
    fn invalid(&self, why: &str) -> String {
        let text = self.text;
        format!("`{text}` {why}; write it as in 0:4, 3, ::2, 9:0:-3, -1 or [1,5,9]")
    }

    fn beyond(&self) -> String {
        let Item { text, whose, len } = self;
        format!("`{text}` exceeds {whose}, which has length {len}")
    }

    /// The integer of these digits, none without digits.
    fn number(&self, digits: &str) -> Result<Option<i128>, String> {
        match digits.trim() {
            "" => Ok(None),
            digits => match digits.parse::<i128>() {
                Ok(n) if i64::try_from(n).is_ok() || u64::try_from(n).is_ok() => Ok(Some(n)),
                // A date or a fraction is meant as a coordinate.
                _ if cfg!(feature = "plot")
                    && self.text.contains(['-', '.'])
                    && self.text.starts_with(|first: char| first.is_ascii_digit()) =>
                {
                    Err(self.invalid("is not `start:stop:step` of integers")
                        + "; --sel selects by coordinate, as in --sel time=2020-03")
                }
                _ => Err(self.invalid("is not `start:stop:step` of integers")),
            },
        }
    }

    /// Where a coordinate lies, which may be `most` at most.
    fn bound(&self, n: i128, most: u64) -> Result<u64, String> {
        let n = if n < 0 { n + i128::from(self.len) } else { n };
        u64::try_from(n).ok().filter(|&n| n <= most).ok_or_else(|| self.beyond())
    }

    /// The position of an element.
    fn position(&self, n: i128) -> Result<u64, String> {
        match self.len {
            0 => Err(self.beyond()),
            len => self.bound(n, len - 1),
        }
    }
}

/// What selects the two parts of an axis that a range on both sides of its end has, as longitudes from 350 to 10 on a grid from 0 to 360.
/// `None` for any other list of positions.
#[cfg(feature = "plot")]
pub(crate) fn two_selections(
    axis: &zarr_plot::meaning::Axis,
    list: &[u64],
) -> Result<Option<[String; 2]>, Failure> {
    let Some(end) = list.windows(2).position(|pair| pair[0] + 1 != pair[1]) else {
        return Ok(None);
    };
    let (one, other) = list.split_at(end + 1);
    let is_run = other.windows(2).all(|pair| pair[0] + 1 == pair[1]);
    let (Some(name), true) = (&axis.name, is_run) else { return Ok(None) };
    let mut selections = Vec::new();
    for part in [one, other] {
        let (first, last) = (part[0], part[part.len() - 1]);
        let text = |at: u64| Ok(axis.read(at..at + 1)?.map(|coordinate| coordinate.text(0)));
        let ends: Result<_, zarr::Error> = text(first).and_then(|first| Ok((first, text(last)?)));
        let (Some(first), Some(last)) = ends? else { return Ok(None) };
        selections.push(format!("`--sel {name}={first}:{last}`"));
    }
    Ok(selections.try_into().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn listed(elements: &Elements) -> String {
        let along = |along: &Along| {
            (0..along.len()).map(|n| along.at(n).to_string()).collect::<Vec<_>>().join(" ")
        };
        elements.0.iter().map(along).collect::<Vec<_>>().join(", ")
    }

    fn of(text: &str, shape: &[u64]) -> String {
        listed(&Elements::of_region(Some(text), shape).unwrap())
    }

    /// As `numpy.arange(n)[...]` has them.
    #[test]
    fn words_mean_what_numpy_means_by_them() {
        assert_eq!(of("0:4,2:5", &[5, 9]), "0 1 2 3, 2 3 4");
        assert_eq!(of(" 1 : 4 , 2 ", &[5, 9]), "1 2 3, 2");
        assert_eq!(of(":,:3", &[2, 9]), "0 1, 0 1 2");
        assert_eq!(of(",8:", &[2, 9]), "0 1, 8");
        assert_eq!(of("::2", &[5]), "0 2 4");
        assert_eq!(of("1::2", &[6]), "1 3 5");
        assert_eq!(of("::-1", &[4]), "3 2 1 0");
        assert_eq!(of("::-2", &[4]), "3 1");
        assert_eq!(of("10:0:-3", &[11]), "10 7 4 1");
        assert_eq!(of("2::-1", &[5]), "2 1 0");
        assert_eq!(of(":2:-1", &[5]), "4 3");
        assert_eq!(of("-1", &[5]), "4");
        assert_eq!(of("-3:", &[5]), "2 3 4");
        assert_eq!(of(":-3", &[5]), "0 1");
        assert_eq!(of("-1:-4:-2", &[5]), "4 2");
        assert_eq!(of("[1,4,-1],[0],[]", &[6, 1, 3]), "1 4 5, 0, ");
        assert_eq!(of("[ 3 , 3 , ]", &[6]), "3 3");
        assert_eq!(of("4:4", &[5]), "");
        assert_eq!(of("::-1", &[0]), "");
        assert_eq!(of("0:1:9223372036854775808", &[5]), "0");
        assert_eq!(of("4:0:-9223372036854775808", &[5]), "4");
        assert_eq!(of("", &[3]), "0 1 2");
        assert_eq!(of("", &[]), "");
        assert_eq!(of("...,2", &[2, 1, 4]), "0 1, 0, 2");
        assert_eq!(of("1, ...", &[2, 1, 4]), "1, 0, 0 1 2 3");
        assert_eq!(of("0,...,::-2", &[2, 3, 4]), "0, 0 1 2, 3 1");
        assert_eq!(of("...", &[2]), "0 1");
        assert_eq!(of("...", &[]), "");
        assert_eq!(of("1,...,0", &[2, 1]), "1, 0");
        assert_eq!(Elements::of_region(None, &[2, 3]).unwrap().shape(), [2, 3]);
    }

    #[test]
    fn words_that_mean_nothing_say_why() {
        let why = |text: &str| Elements::of_region(Some(text), &[5, 9]).unwrap_err();
        assert!(why("0:4").contains("the region covers 1 of 2 axes"));
        assert!(why("0,...,0,0").contains("the region has 3 items, the array has 2 axes"));
        assert!(why("...,...").contains("duplicate `...`"));
        assert!(why("....,0").contains("`start:stop:step` of integers"));
        assert!(why("0:6,0").contains("`0:6` exceeds axis 0, which has length 5"));
        assert!(why("6:,0").contains("exceeds axis 0"));
        assert!(why("5,0").contains("exceeds axis 0"));
        assert!(why("-6,0").contains("exceeds axis 0"));
        assert!(why("5::-1,0").contains("exceeds axis 0"));
        assert!(why("[0,5],0").contains("exceeds axis 0"));
        assert!(why("::0,0").contains("a step of 0"));
        assert!(why("4:2,0").contains("ends before it begins"));
        assert!(why("2:4:-1,0").contains("ends before it begins"));
        assert!(why("a,0").contains("`start:stop:step` of integers"));
        assert!(why("1:2:3:4,0").contains("too many colons"));
        assert!(why("99999999999999999999,0").contains("`start:stop:step` of integers"));
        assert!(why("18446744073709551615,0").contains("exceeds axis 0"));
        assert!(why("[1,,2],0").contains("an extra comma"));
        assert!(why("[1,2,0").contains("has no `]`"));
        assert!(why("1],0").contains("has no `[`"));
        assert!(why("[[1]],0").contains("lists cannot be nested"));
        assert!(Elements::of_region(Some("0"), &[]).is_err());
    }

    #[test]
    fn axes_are_meant_by_name() {
        let names = [Some("time".to_owned()), None, Some("lat".to_owned())];
        let of = |text: &str| Elements::of_names(text, &[2, 3, 4], Some(&names));
        assert_eq!(listed(&of("lat=::2").unwrap()), "0 1, 0 1 2, 0 2");
        assert_eq!(listed(&of("lat = [1,3] , time=-1").unwrap()), "1, 0 1 2, 1 3");
        let why = |text: &str| of(text).unwrap_err();
        assert!(why("lon=1").contains("no dimension `lon`; the array has `time`, `lat`"));
        assert!(why("lat=1,lat=2").contains("duplicate name"));
        assert!(why("lat=4").contains("exceeds dimension `lat`, which has length 4"));
        assert!(why("1:2").contains("expected name=start:stop"));
        let none = Elements::of_names("lat=1", &[2], None).unwrap_err();
        assert!(none.contains("have no names; use --region"));
        let both = [Some("x".to_owned()), Some("x".to_owned())];
        let both = Elements::of_names("x=1", &[2, 2], Some(&both)).unwrap_err();
        assert!(both.contains("axes 0 and 1 are both named `x`"));
    }

    #[test]
    fn elements_are_selected_axis_by_axis() {
        let elements = Elements::of_region(Some("::-3,[4,1,2],1:3"), &[10, 5, 3]).unwrap();
        assert_eq!(elements.count(), Some(24));
        assert_eq!(
            Selection::from(&elements),
            (zarr::steps(0..=9, -3), [4, 1, 2], zarr::steps(1..=2, 1)).into()
        );
    }
}
