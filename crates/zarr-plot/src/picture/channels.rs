//! Chooses how the channels of an image are shown: which, in which window and colour.

use std::str::FromStr;

use super::{Ends, PictureError};
use crate::meaning::{Channel, color};

/// The window of a channel that declares none: few elements of a microscope's picture are bright.
pub(crate) const AUTOMATIC: Ends = Ends::Percentiles(0.1, 99.9);

/// Names a channel: by its position, or by its label.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChannelName(pub String);

impl ChannelName {
    /// The position among channels; a number that is one comes before a label.
    ///
    /// # Errors
    /// A channel that is not there.
    fn position(&self, channels: &[Channel]) -> Result<usize, PictureError> {
        let ChannelName(name) = self;
        let of_number = name.parse().ok().filter(|&n: &usize| n < channels.len());
        of_number
            .or_else(|| channels.iter().position(|channel| channel.label.as_deref() == Some(name)))
            .ok_or_else(|| {
                let labels: Vec<String> = channels
                    .iter()
                    .take(20)
                    .filter_map(|channel| Some(format!("`{}`", channel.label.as_ref()?)))
                    .collect();
                let known = if labels.is_empty() {
                    String::new()
                } else {
                    format!(", with the labels {}", labels.join(", "))
                };
                let last = channels.len().saturating_sub(1);
                let labels = channels.iter().filter_map(|channel| channel.label.as_deref());
                let near = zarr_core::did_you_mean(name, labels);
                let near = near.map_or(String::new(), |near| format!("; did you mean `{near}`?"));
                PictureError::Refused(format!(
                    "no channel `{name}`; expected 0 to {last}{known}{near}"
                ))
            })
    }
}

/// How one channel is shown other than its image says.
#[derive(Clone, Debug, PartialEq)]
pub struct ChannelChoice {
    /// Which channel.
    pub name: ChannelName,
    /// The values that are black and of full colour.
    pub window: Option<Ends>,
    /// Red, green, blue of its brightest elements.
    pub color: Option<[u8; 3]>,
}

impl ChannelChoice {
    /// A window, `DAPI=100:900`, `0=1%:99%`, `DAPI=full` or `DAPI=auto`.
    ///
    /// # Errors
    /// A text of another form.
    pub fn window(text: &str) -> Result<ChannelChoice, PictureError> {
        // A label may have the sign, a window has none.
        let (name, window) = text.rsplit_once('=').ok_or_else(|| invalid_window(text))?;
        let window = match window.trim() {
            "auto" => AUTOMATIC,
            other => {
                let ends = other.replacen(':', ",", 1).parse().map_err(|_| invalid_window(text))?;
                if matches!(ends, Ends::Limits(low, high) if low >= high) {
                    return Err(invalid_window(text));
                }
                ends
            }
        };
        let name = ChannelName(name.to_owned());
        Ok(ChannelChoice { name, window: Some(window), color: None })
    }

    /// A colour, `0=ff00ff`.
    ///
    /// # Errors
    /// A text of another form.
    pub fn color(text: &str) -> Result<ChannelChoice, PictureError> {
        let found = text.rsplit_once('=').and_then(|(name, digits)| Some((name, color(digits)?)));
        let (name, color) = found.ok_or_else(|| {
            PictureError::Refused(format!("invalid colour `{text}`: write it as in `DAPI=4080ff`"))
        })?;
        Ok(ChannelChoice { name: ChannelName(name.to_owned()), window: None, color: Some(color) })
    }
}

/// The error of a window that is not understood.
fn invalid_window(text: &str) -> PictureError {
    PictureError::Refused(format!(
        "invalid window `{text}`: write it as in `DAPI=100:900`, `0=1%:99%`, `DAPI=full` or `DAPI=auto`, the lower end first"
    ))
}

impl FromStr for ChannelName {
    type Err = PictureError;

    fn from_str(text: &str) -> Result<ChannelName, PictureError> {
        match text.trim() {
            "" => Err(PictureError::Refused("a channel has a label or a number".into())),
            name => Ok(ChannelName(name.to_owned())),
        }
    }
}

/// A channel that is shown: its position, what is known of it, and the window that was chosen.
#[derive(Clone, Debug)]
pub(crate) struct ShownChannel {
    /// Its place among those that are selected.
    pub position: usize,
    /// Its place among all channels.
    pub number: usize,
    pub channel: Channel,
    pub window: Option<Ends>,
}

/// Those of the `selected` channels that are shown: the `named` ones, else the active ones, else all.
pub(crate) fn shown(
    all: &[Channel],
    selected: &[usize],
    named: Option<&[ChannelName]>,
    choices: &[ChannelChoice],
) -> Result<Vec<ShownChannel>, PictureError> {
    let named: Option<Vec<usize>> =
        named.map(|names| names.iter().map(|name| name.position(all)).collect()).transpose()?;
    let is_any_active = selected.iter().any(|&n| all[n].active);
    let mut found: Vec<ShownChannel> = selected
        .iter()
        .enumerate()
        .filter(|(_, n)| match &named {
            Some(named) => named.contains(n),
            // One that was selected alone is shown.
            None => all[**n].active || !is_any_active,
        })
        .map(|(position, &number)| ShownChannel {
            position,
            number,
            channel: all[number].clone(),
            window: None,
        })
        .collect();
    for choice in choices {
        let n = choice.name.position(all)?;
        for shown in found.iter_mut().filter(|shown| shown.number == n) {
            shown.window = choice.window.or(shown.window);
            shown.channel.color = choice.color.unwrap_or(shown.channel.color);
        }
    }
    if found.is_empty() {
        return Err(PictureError::Refused("no channel is shown".into()));
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn channel(label: &str, active: bool) -> Channel {
        let label = Some(label.to_owned());
        Channel { label, color: [255; 3], window: None, active, inverted: false }
    }

    #[test]
    fn channels_have_labels_and_numbers() {
        let all = [channel("1", true), channel("a=b", true), channel("488", true)];
        let position = |name: &str| ChannelName(name.into()).position(&all);
        // A position comes first.
        assert_eq!((position("1").unwrap(), position("488").unwrap()), (1, 2));
        assert_eq!(position("a=b").unwrap(), 1);
        let why = position("3").unwrap_err().to_string();
        assert_eq!(why, "no channel `3`; expected 0 to 2, with the labels `1`, `a=b`, `488`");
    }

    #[test]
    fn windows_and_colours_are_read() {
        let window = |text: &str| ChannelChoice::window(text).map(|choice| choice.window.unwrap());
        assert_eq!(window("DAPI=100:900").unwrap(), Ends::Limits(100.0, 900.0));
        assert_eq!(window("a=b=-5:1e3").unwrap(), Ends::Limits(-5.0, 1000.0));
        assert_eq!(window("0=1%:99%").unwrap(), Ends::Percentiles(1.0, 99.0));
        assert_eq!(window("0=auto").unwrap(), AUTOMATIC);
        for text in ["DAPI", "DAPI=", "DAPI=5:5", "DAPI=9:5", "DAPI=1", "100:900"] {
            assert!(window(text).is_err(), "{text}");
        }
        assert_eq!(ChannelChoice::color("x=#0102ff").unwrap().color, Some([1, 2, 255]));
        assert!(ChannelChoice::color("x=blue").is_err());
    }

    #[test]
    fn those_that_are_named_are_shown_else_the_active_ones() {
        let all = [channel("a", true), channel("b", false), channel("c", false)];
        let positions = |selected: &[usize], named: Option<&[ChannelName]>| {
            shown(&all, selected, named, &[]).map(|found| {
                found.iter().map(|shown| shown.channel.label.clone().unwrap()).collect::<Vec<_>>()
            })
        };
        assert_eq!(positions(&[0, 1, 2], None).unwrap(), ["a"]);
        // One that was chosen is shown though it is not active.
        assert_eq!(positions(&[1], None).unwrap(), ["b"]);
        let named = [ChannelName("c".into())];
        assert_eq!(positions(&[0, 1, 2], Some(&named)).unwrap(), ["c"]);
        assert!(positions(&[0, 1], Some(&named)).is_err());
        let choice = ChannelChoice::window("a=1:2").unwrap();
        let found = shown(&all, &[0, 1, 2], None, &[choice]).unwrap();
        assert_eq!(found[0].window, Some(Ends::Limits(1.0, 2.0)));
    }
}
