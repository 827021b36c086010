//! Shows arrays as pictures: in a file, or in the terminal.

use std::io::{self, IsTerminal, Write};
use std::path::PathBuf;

use clap::{Args, ValueEnum};
use zarr::{Array, Json, Node, NodeKind, Object, Warning};
use zarr_plot::meaning::{Image, Images};
use zarr_plot::picture::{
    Along, ChannelChoice, ChannelName, ColorMap, Ends, LEAST_SIZE, Legend, MOST_SIDE, Overlay,
    PictureError, Plane, Reduce, Scene, Stretch, Style, Subject, Terminal, USUAL_OPACITY,
    USUAL_SIZE, View, bytes_to_read, draw_line, positions, sheet,
};

use super::{Out, plot_json};
use crate::failure::Failure;
use crate::human;
use crate::parse;
use crate::region::{Elements, SelectionArgs, two_selections};
use crate::session::{self, Session, Target};
use crate::terminal::plain;
use crate::tty;
use crate::whole_file;

/// From how many bytes on the program says how much it reads.
const MUCH: u64 = 1 << 30;
/// What follows the title of a picture that would be empty.
const NOTHING: &str = ": no values: every element is missing or not finite";

#[derive(Debug, Args)]
#[command(before_help = "\
Examples:
  zarr plot data.zarr --path temperature     in the terminal
  zarr plot data.zarr --path temperature -o temperature.png
  zarr plot data.zarr/temperature --by-name lat=3:9 --cmap magma \\
      --range 0,300 -o part.svg
  zarr plot data.zarr/ocean/temperature --region 2,:,: -o third.png
  zarr plot data.zarr/ocean/temperature --x x --y t --range full -o section.png
  zarr plot data.zarr/temperature --bare -o - > elements.png
  zarr plot data.zarr/temperature --histogram -o histogram.png
  zarr plot data.zarr -o sheet.png     every array on one sheet",
    after_long_help = crate::details("\
An array with one axis is drawn as a line, one with two as a picture. If there are more axes, those that CF or OME define as x
and y go across and down, or else the last two; along the others, the first position is shown (for OME images the default one, or
else the middle of z). Use --by-name or --region to choose another. Values are decoded by the CF conventions; missing ones are
transparent. Colours range from the 2nd to the 98th percentile of what is shown; ≤ and ≥ on the colour bar mean that there are
values beyond it. An axis of 3 or 4 channels or bands gives RGB colours; channels of OME-Zarr have their own colours and windows,
and --window sets others.

Only chunks that are shown are read. If there is a pyramid, a smaller level is read; otherwise, each pixel shows one element of
its block, or the mean of the block if that does not read more chunks.

--bare draws one pixel per element and nothing else: the pixel in row r and column c is the element (r, c), also for maps."))]
pub(crate) struct Plot {
    #[command(flatten)]
    target: Target,
    #[command(flatten)]
    which: SelectionArgs,
    /// Output file, .png or .svg, or - for PNG on stdout [default: draws on the terminal]
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// The dimension that goes across, by its name or number
    #[arg(long, value_name = "DIM")]
    x: Option<String>,
    /// The dimension that goes down
    #[arg(long, value_name = "DIM")]
    y: Option<String>,
    /// Values of the first and the last colour: 0,300 or 1%,99% or full [default: 2%,98%]
    #[arg(long, value_name = "RANGE", value_parser = ends, allow_hyphen_values = true)]
    range: Option<Ends>,
    /// Colours, as in viridis, magma, gray, RdBu_r
    ///
    /// One of viridis, magma, inferno, plasma, cividis, turbo, gray, RdBu, RdBu_r, coolwarm, BrBG, twilight_shifted
    #[arg(long, value_name = "MAP", value_parser = color_map)]
    cmap: Option<ColorMap>,
    /// Use a logarithmic colour scale
    #[arg(long)]
    log: bool,
    /// The value in the middle of the colours
    #[arg(long, value_name = "VALUE", allow_hyphen_values = true, value_parser = parse::number)]
    center: Option<f64>,
    /// Positions along the axis of channels that are red, green and blue, as in 2,1,0
    #[arg(long, value_name = "R,G,B", value_delimiter = ',', conflicts_with_all = ["cmap", "labels", "histogram"])]
    rgb: Option<Vec<u64>>,
    /// The values of a channel that are black and of full colour, as in DAPI=100:900
    ///
    /// The channel is given by its position or label: DAPI=100:900, 0=1%:99%, 1=full or 1=auto; can be repeated
    #[arg(long, value_name = "CHANNEL=LOW:HIGH", value_parser = window, conflicts_with_all = ["cmap", "labels", "rgb", "histogram"])]
    window: Vec<ChannelChoice>,
    /// The channels of an image to show, by position or label
    ///
    /// By default those that the image declares active
    #[arg(long, value_name = "CHANNELS", value_delimiter = ',', conflicts_with_all = ["cmap", "labels", "rgb", "histogram"])]
    channels: Option<Vec<ChannelName>>,
    /// Labels of an image to draw over it, by name, and their opacity: cells or cells:0.3
    #[arg(long, value_name = "NAME[:OPACITY]", conflicts_with_all = ["labels", "histogram"])]
    overlay: Option<String>,
    /// Draw coastlines on a map of longitudes and latitudes
    #[arg(long, conflicts_with_all = ["bare", "histogram"])]
    coast: bool,
    /// Treat elements as labels: each value has its own colour, and 0 has none
    #[arg(long, conflicts_with_all = ["cmap", "histogram"])]
    labels: bool,
    /// Draw a histogram of the values
    #[arg(long, conflicts_with = "bare")]
    histogram: bool,
    /// How to reduce a block of elements to one pixel
    #[arg(long, value_name = "HOW")]
    reduce: Option<How>,
    /// Whether the first row is at the top or at the bottom
    ///
    /// By default the side that is north, or up, is at the top; where that is unknown, and with --bare, the first row is at the top
    #[arg(long, value_name = "WHERE")]
    origin: Option<Origin>,
    /// Pixels of the figure, at least 300x200 [default: 1000x720]
    #[arg(long, value_name = "WxH", value_parser = size, conflicts_with = "bare")]
    size: Option<(u32, u32)>,
    /// One pixel for each element, and nothing else
    #[arg(long)]
    bare: bool,
    /// Draw stored values: nothing is unpacked or treated as missing
    #[arg(long)]
    raw: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum How {
    /// The element in its middle
    Nearest,
    /// The mean of its elements
    Mean,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Origin {
    /// At the top
    Upper,
    /// At the bottom
    Lower,
}

/// Where the picture goes.
enum Place<'a> {
    Png(&'a PathBuf),
    Svg(&'a PathBuf),
    Stdout,
    Terminal,
}

fn ends(text: &str) -> Result<Ends, PictureError> {
    text.parse()
}

fn window(text: &str) -> Result<ChannelChoice, PictureError> {
    ChannelChoice::window(text)
}

fn color_map(text: &str) -> Result<ColorMap, PictureError> {
    text.parse()
}

fn size(text: &str) -> Result<(u32, u32), String> {
    let (width, height) = text.split_once(['x', '×']).unwrap_or((text, ""));
    match side(width).zip(side(height)) {
        Some(size) if size.0 >= LEAST_SIZE.0 && size.1 >= LEAST_SIZE.1 => Ok(size),
        Some(_) => {
            let (width, height) = LEAST_SIZE;
            Err(format!(
                "a figure must be at least {width}x{height}; --bare draws one pixel per element, without axes"
            ))
        }
        None => {
            Err(format!("expected a size like 800x600, with at most {MOST_SIDE} pixels a side"))
        }
    }
}

/// The length of a side.
fn side(text: &str) -> Option<u32> {
    text.trim().parse().ok().filter(|&side| side <= MOST_SIDE)
}

impl From<PictureError> for Failure {
    fn from(error: PictureError) -> Failure {
        match error {
            PictureError::Read(error) => error.into(),
            PictureError::Refused(why) => Failure::Usage(why),
        }
    }
}

/// At most this many arrays of a group are named in an error.
const MAX_NAMED: usize = 10;

impl Plot {
    pub fn run(&self, session: &Session, out: Out<'_>) -> Result<(), Failure> {
        let place = self.place()?;
        session.show_calls();
        let node = session.open(&self.target)?;
        if let Place::Png(path) | Place::Svg(path) = place {
            whole_file::refuse_source(path, node.hierarchy().store())?;
        }
        let (array, group) = match &node {
            Node::Array(array) => {
                (Some(session.in_its_hierarchy(&self.target, array, &session.options()?)?), None)
            }
            // An image is shown by its largest level.
            Node::Group(group) => (first_level(group)?, Some(group)),
        };
        if session.is_json() && self.output.is_some() {
            return Err(Failure::usage(
                "with --json the values are printed, and no picture; leave out -o or --json",
            ));
        }
        if session.is_json() && self.histogram {
            return Err(Failure::usage(
                "`zarr stats --histogram N --json` prints a histogram as JSON",
            ));
        }
        match (array, group) {
            (Some(array), _) => self.array(session, array, &place, out)?,
            (None, group) => {
                let title = self.title(group);
                self.sheet(session, &node, &title, &place, out)?;
            }
        }
        session.warn(node.hierarchy());
        Ok(())
    }

    /// What to write above a sheet: the node's path, or of a root the last name in TARGET.
    fn title(&self, group: Option<&zarr::Group>) -> String {
        match group.map(|group| group.path()).filter(|path| !path.is_root()) {
            Some(path) => path.to_string(),
            None => {
                // A query may be secret.
                let (target, _) = zarr::split_query(&self.target.target);
                target.trim_end_matches('/').rsplit('/').next().unwrap_or_default().to_owned()
            }
        }
    }

    fn place(&self) -> Result<Place<'_>, Failure> {
        let Some(path) = &self.output else {
            return if self.bare {
                Err(Failure::usage(
                    "--bare needs a file: give -o FILE.png, or -o - for standard output",
                ))
            } else {
                Ok(Place::Terminal)
            };
        };
        if path.as_os_str() == "-" {
            if io::stdout().is_terminal() {
                return Err(Failure::usage(
                    "a PNG is not for terminals; redirect it to a file or a program, or leave out -o",
                ));
            }
            return Ok(Place::Stdout);
        }
        let extension =
            path.extension().map(|extension| extension.to_string_lossy().to_ascii_lowercase());
        match extension.as_deref() {
            Some("png") => Ok(Place::Png(path)),
            Some("svg") if self.bare => {
                Err(Failure::usage("--bare draws pixels, which need a PNG; pass -o FILE.png"))
            }
            Some("svg") => Ok(Place::Svg(path)),
            _ => Err(Failure::Usage(format!(
                "{}: unknown extension; use .png or .svg",
                path.display()
            ))),
        }
    }

    fn style(&self) -> Style {
        let reduce = self.reduce.map(|how| match how {
            How::Nearest => Reduce::Nearest,
            How::Mean => Reduce::Mean,
        });
        Style {
            ends: self.range,
            map: self.cmap,
            is_log: self.log,
            center: self.center,
            is_labels: self.labels,
            rgb: self.rgb.clone(),
            reduce,
            channels: self.channels.clone(),
            choices: self.window.clone(),
            overlay: None,
            has_coast: self.coast,
        }
    }

    /// The style of one array, with the labels over it.
    fn style_of(&self, subject: &Subject) -> Result<Style, Failure> {
        let Some(text) = &self.overlay else { return Ok(self.style()) };
        let (name, opacity) = match text.rsplit_once(':') {
            Some((name, opacity)) => {
                let known = opacity.parse().ok().filter(|opacity| (0.0..=1.0).contains(opacity));
                (
                    name,
                    known.ok_or_else(|| {
                        Failure::Usage(format!(
                            "invalid opacity `{opacity}` in --overlay: expected a number from 0 to 1"
                        ))
                    })?,
                )
            }
            None => (text.as_str(), USUAL_OPACITY),
        };
        let labels = subject.labels(name)?;
        Ok(Style { overlay: Some(Overlay { labels: Box::new(labels), opacity }), ..self.style() })
    }

    fn array(
        &self,
        session: &Session,
        array: Array,
        place: &Place<'_>,
        out: Out<'_>,
    ) -> Result<(), Failure> {
        let elements = self.which.of(session, &array)?;
        let subject = Subject::of(array, self.raw)?;
        let at = human::place(subject.array.hierarchy(), subject.array.path());
        self.shown(session, &subject, &elements, place, out).map_err(|failure| match failure {
            Failure::Usage(why) => Failure::Usage(format!("{at}: {why}")),
            other => other,
        })
    }

    /// Errors do not say of which array they are.
    fn shown(
        &self,
        session: &Session,
        subject: &Subject,
        elements: &Elements,
        place: &Place<'_>,
        out: Out<'_>,
    ) -> Result<(), Failure> {
        let warnings = subject.meaning.warnings.iter();
        let warnings = warnings
            .map(|what| Warning { place: subject.array.path().to_string(), what: what.clone() });
        session.warn_of(&warnings.collect::<Vec<_>>());
        let axes = (
            self.axis(subject, self.x.as_deref()).map_err(Failure::Usage)?,
            self.axis(subject, self.y.as_deref()).map_err(Failure::Usage)?,
        );
        let along = along(elements, &subject.axes)?;
        let view = View::of(&subject.axes, along, axes, self.bare)?;
        if view.along.iter().any(|along| along.len == 0) {
            return Err(Failure::usage("there are no elements to show"));
        }
        if view.is_line() {
            self.refuse_options_of_pictures()?;
        }
        let style = self.style_of(subject)?;
        let unchosen = view.clone();
        let view = subject.at_usual_positions(view);
        self.tell_others(session, subject, (&unchosen, &view), &style);
        let is_upwards = match self.origin {
            Some(origin) => origin == Origin::Lower,
            None => !self.bare && subject.is_upwards(&view),
        };
        if session.is_json() {
            let size = self.size.unwrap_or(JSON_SIZE);
            let at_most = Some((u64::from(size.0), u64::from(size.1)));
            let json = plot_json::values(subject, &view, at_most, style.reduce)?;
            return Ok(writeln!(out, "{:#}", json.into_standard())?);
        }
        if let Place::Terminal = place {
            return self.preview(session, subject, &view, &style, is_upwards, out);
        }
        let size = self.size.unwrap_or(USUAL_SIZE);
        let at_most = (!self.bare).then_some((u64::from(size.0), u64::from(size.1)));
        self.tell_much(session, subject, &view, at_most)?;
        if self.bare {
            let shown = subject.show(&view, &style, None)?;
            let raster = if is_upwards { shown.raster.upside_down() } else { shown.raster };
            return write(place, &raster.to_png()?, out);
        }
        let scene = if self.histogram {
            subject.histogram_figure(&view, &style, size)?
        } else if view.is_line() {
            subject.line_figure(&view, &style, size)?
        } else {
            subject.figure(&view, &style, is_upwards, self.size)?
        };
        write_scene(place, &scene, out)
    }

    /// Refuses options that a line does not follow.
    fn refuse_options_of_pictures(&self) -> Result<(), Failure> {
        let given = [
            ("--channels", self.channels.is_some()),
            ("--window", !self.window.is_empty()),
            ("--rgb", self.rgb.is_some()),
            ("--overlay", self.overlay.is_some()),
        ];
        match given.into_iter().find(|(_, is_given)| *is_given) {
            Some((option, _)) => Err(Failure::Usage(format!(
                "{option} is for pictures, and the elements chosen are a line; choose what the line shows with --region, --by-name or --sel, as in `--by-name c=0`, or leave {option} out"
            ))),
            None => Ok(()),
        }
    }

    /// The axis of a name or number.
    fn axis(&self, subject: &Subject, name: Option<&str>) -> Result<Option<usize>, String> {
        let Some(name) = name else { return Ok(None) };
        let names = subject.axes.iter().map(|axis| axis.name.as_deref());
        if let Some(found) = names.clone().position(|known| known == Some(name)) {
            return Ok(Some(found));
        }
        if let Some(found) = name.parse().ok().filter(|&n: &usize| n < subject.axes.len()) {
            return Ok(Some(found));
        }
        let known: Vec<String> = names.flatten().map(|name| format!("`{name}`")).collect();
        let known = match (subject.axes.len(), known.join(", ")) {
            (0, _) => "is one element".to_owned(),
            (rank, known) if known.is_empty() => format!("has axes 0 to {}", rank - 1),
            (_, known) => format!("has {known}"),
        };
        Err(format!("there is no dimension `{name}`; the array {known}"))
    }

    /// Says which positions are shown of axes that nothing chose one of.
    fn tell_others(
        &self,
        session: &Session,
        subject: &Subject,
        (unchosen, view): (&View, &View),
        style: &Style,
    ) {
        let is_channels = subject.shows_channels(view, style);
        let channels = subject.channel_axis(view).filter(|_| is_channels);
        let Some(first) = unchosen.unchosen().find(|axis| Some(*axis) != channels) else { return };
        let shown = positions(subject, view, is_channels).join(", ");
        let chosen = unchosen.along[first];
        let is_part = chosen != Along::all(subject.axes[first].len);
        let other = chosen.at(chosen.len / 2);
        let how = match &subject.axes[first].name {
            Some(name) => format!("--by-name {name}={other}"),
            None => {
                let mut words = vec![":".to_owned(); subject.axes.len()];
                words[first] = other.to_string();
                format!("--region {}", words.join(","))
            }
        };
        if is_part {
            let name = subject.axes[first].name.clone();
            let name = name.unwrap_or_else(|| format!("axis {first}"));
            session.remark(&format!(
                "drawn: the first of the {} chosen along {name}: {shown}; choose one of them, as with {how}",
                human::count(chosen.len)
            ));
            return;
        }
        session.talk(&format!("shown: {shown}; choose with {how}"));
    }

    /// Says how much is read, where it is much.
    fn tell_much(
        &self,
        session: &Session,
        subject: &Subject,
        view: &View,
        at_most: Option<(u64, u64)>,
    ) -> Result<(), Failure> {
        let smaller = match at_most {
            Some(at_most) => subject.smaller(view, at_most)?,
            None => None,
        };
        let (subject, view) =
            smaller.as_ref().map_or((subject, view), |(subject, view)| (subject, view));
        if let Some(bytes) = bytes_to_read(&subject.array, view, at_most, self.style().reduce)
            .filter(|&bytes| bytes >= MUCH)
        {
            session.talk(&format!(
                "reading up to {} of decoded chunks; select a region or use --reduce nearest to read less",
                human::size(bytes)
            ));
        }
        Ok(())
    }

    /// In the terminal, small.
    fn preview(
        &self,
        session: &Session,
        subject: &Subject,
        view: &View,
        style: &Style,
        is_upwards: bool,
        out: Out<'_>,
    ) -> Result<(), Failure> {
        let (kind, columns, rows) = terminal(session, !(self.histogram || view.is_line()));
        let heading = |out: Out<'_>, more: String| -> io::Result<()> {
            writeln!(out, "{}", plain(&format!("{}{more}", subject.title())))
        };
        let units = subject.meaning.units.as_deref().filter(|_| subject.meaning.time.is_none());
        let units = units.map_or(String::new(), |units| format!(" {units}"));
        let from_to = |stretch: &Stretch| {
            format!("{} … {}{units}", subject.text(stretch.low), subject.text(stretch.high))
        };
        if self.histogram {
            return self.bars(subject, view, style, (columns, rows), out);
        }
        if view.is_line() {
            let line = subject.line(view, 2 * columns as u64)?;
            let all: Vec<f64> = line.low.iter().chain(&line.high).copied().collect();
            let ends = style.ends.unwrap_or(Ends::Full);
            let found = Stretch::of(&Plane::of(all.len(), all), ends, style.is_log, style.center)?;
            let Some(stretch) = found else {
                return Ok(heading(out, NOTHING.into())?);
            };
            heading(out, format!(": {}", from_to(&stretch)))?;
            let is_plain = kind == Terminal::Plain;
            out.write_all(
                draw_line(&line, &stretch, (columns, rows.min(12)), is_plain).as_bytes(),
            )?;
            return Ok(());
        }
        let told = if kind.has_pictures() { tty::letter() } else { None };
        let (across, down) = told.unwrap_or(kind.pixels());
        let most = (columns as u64 * across, rows as u64 * down);
        let (wide, high) = view.size();
        // A letter is about twice as high as wide; so is a pixel of letters.
        let stretch = if kind == Terminal::Plain { 2.0 } else { 1.0 };
        let (wide, high) = (wide as f64 * stretch, high as f64);
        let is_strip = !(0.1..=10.0).contains(&(wide / high));
        let by = (most.0 as f64 / wide).min(most.1 as f64 / high);
        let size = if is_strip {
            most
        } else {
            (((wide * by).round() as u64).max(1), ((high * by).round() as u64).max(1))
        };
        self.tell_much(session, subject, view, Some(size))?;
        let shown = match subject.smaller(view, size)? {
            Some((level, view)) => level.show(&view, style, Some(size))?,
            None => subject.show(view, style, Some(size))?,
        };
        let raster = if is_upwards { shown.raster.upside_down() } else { shown.raster };
        let raster = raster.resized(size.0 as usize, size.1 as usize);
        let values = match &shown.legend {
            Legend::Values(stretch, map) => format!(": {} {}", map.name(), from_to(stretch)),
            Legend::Channels(names) => {
                let names: Vec<&str> = names.iter().map(|(name, _)| &**name).collect();
                format!(": {}", names.join(", "))
            }
            Legend::NoValues => return Ok(heading(out, NOTHING.into())?),
            Legend::None => String::new(),
        };
        heading(out, values)?;
        out.flush()?;
        // Only here the terminal obeys what is written: numbers of ours, and no data.
        let mut stdout = io::stdout().lock();
        stdout.write_all(kind.draw(&raster)?.as_bytes())?;
        Ok(stdout.flush()?)
    }

    /// A histogram of letters.
    fn bars(
        &self,
        subject: &Subject,
        view: &View,
        style: &Style,
        (columns, rows): (usize, usize),
        out: Out<'_>,
    ) -> Result<(), Failure> {
        let Some(found) = subject.histogram(view, style)? else {
            let title = subject.title();
            writeln!(out, "{}{NOTHING}", plain(&title))?;
            return Ok(());
        };
        writeln!(out, "{}", plain(&subject.title()))?;
        let bars = found.counts.len();
        // Neighbours share a line where there are more bars than lines.
        let each = bars.div_ceil(rows.clamp(1, 20)).max(1);
        let sums: Vec<u64> = found.counts.chunks(each).map(|counts| counts.iter().sum()).collect();
        let most = sums.iter().copied().max().unwrap_or(0).max(1);
        for (n, count) in sums.iter().enumerate() {
            let from = found.stretch.value((n * each) as f64 / bars as f64);
            let length = (*count as f64 / most as f64 * columns.saturating_sub(30).max(10) as f64)
                .ceil() as usize;
            writeln!(out, "{from:>14.6} {} {}", "#".repeat(length), human::count(*count))?;
        }
        Ok(())
    }

    /// Every array of numbers below a group.
    fn sheet(
        &self,
        session: &Session,
        node: &Node,
        title: &str,
        place: &Place<'_>,
        out: Out<'_>,
    ) -> Result<(), Failure> {
        let arrays = arrays(node)?;
        let at = human::place(node.hierarchy(), node.path());
        if self.bare
            || self.histogram
            || self.which.is_given()
            || self.x.is_some()
            || self.y.is_some()
            || self.overlay.is_some()
            || self.coast
        {
            let mut names: Vec<String> = arrays
                .iter()
                .take(MAX_NAMED)
                .map(|array| format!("`{}`", session::from(node.path(), array.path())))
                .collect();
            names.extend((arrays.len() > MAX_NAMED).then(|| "…".to_owned()));
            let known = if names.is_empty() { "it has none".into() } else { names.join(", ") };
            return Err(Failure::Usage(format!(
                "{at}: these options draw a single array, and this is a group; name one of its arrays with --path: {known}"
            )));
        }
        let (mut subjects, mut images) = (Vec::new(), Images::default());
        for array in arrays {
            let subject = Subject::of_one(array, self.raw, &mut images)?;
            let is_smaller_level = subject.image.as_ref().is_some_and(|(_, level)| *level > 0);
            if !is_smaller_level && subject.meaning.scalar(&subject.array.data_type()).is_some() {
                subjects.push(subject);
            }
        }
        if subjects.is_empty() {
            return Err(Failure::Usage(format!("{at}: there is no array of numbers to show")));
        }
        if session.is_json() {
            let arrays: Json = subjects.iter().map(plot_json::subject).map(Json::from).collect();
            let json = Json::from(Object::new().with("title", title).with("arrays", arrays));
            return Ok(writeln!(out, "{:#}", json.into_standard())?);
        }
        let style = self.style();
        if let Place::Terminal = place {
            let mut failed = Vec::new();
            for subject in subjects.iter().take(zarr_plot::picture::MOST_ON_SHEET) {
                let view = View::of(&subject.axes, subject.all(), (None, None), false)?;
                let view = subject.at_usual_positions(view);
                let is_upwards = subject.is_upwards(&view);
                match self.preview(session, subject, &view, &style, is_upwards, out) {
                    Ok(()) => writeln!(out)?,
                    // The others are shown.
                    Err(failure @ Failure::Zarr(_)) => failed.push(failure),
                    Err(failure) => return Err(failure),
                }
            }
            return session.tell_each(failed.into_iter());
        }
        let (scene, failed) = sheet(title, &subjects, &style, self.size.unwrap_or((1200, 900)))?;
        write_scene(place, &scene, out)?;
        session.tell_each(failed.into_iter().map(Failure::from))
    }
}

/// The most values across and down that are printed as JSON.
const JSON_SIZE: (u32, u32) = (160, 120);

/// The level of an image's group that is largest.
fn first_level(group: &zarr::Group) -> Result<Option<Array>, Failure> {
    let Some(image) = Image::of_group(group).into_iter().next() else { return Ok(None) };
    let Some(level) = image.levels.first() else { return Ok(None) };
    let Ok(path) = group.path().join(&level.path) else { return Ok(None) };
    Ok(Some(group.hierarchy().array(&path)?))
}

/// The arrays below a node, but for coordinates, empty ones and single numbers.
fn arrays(node: &Node) -> Result<Vec<Array>, Failure> {
    let hierarchy = node.hierarchy();
    let mut found = Vec::new();
    for child in hierarchy.tree(node.path())? {
        if child.kind != Some(NodeKind::Array) {
            continue;
        }
        // `zarr tree` says what is broken.
        let Ok(array) = hierarchy.array(&child.path) else { continue };
        let metadata = array.metadata();
        let own =
            metadata.dimension_names.as_deref().and_then(|names| names.first().cloned().flatten());
        let is_coordinate = metadata.shape.len() == 1 && own.as_deref() == array.path().name();
        if !is_coordinate && !metadata.shape.is_empty() && !metadata.shape.contains(&0) {
            found.push(array);
        }
    }
    Ok(found)
}

fn along(elements: &Elements, axes: &[zarr_plot::meaning::Axis]) -> Result<Vec<Along>, Failure> {
    let Some(steps) = elements.steps() else {
        for (axis, list) in axes.iter().zip(elements.lists()) {
            if let Some([one, other]) = two_selections(axis, list.unwrap_or_default())? {
                return Err(Failure::Usage(format!(
                    "the selection wraps around the end of the axis, and a picture shows one part; draw {one} or {other}"
                )));
            }
        }
        return Err(Failure::usage(
            "a picture needs evenly spaced elements along each axis, as in 0:9:2, not a list",
        ));
    };
    Ok(steps
        .iter()
        .map(|steps| Along { start: steps.start, step: steps.step, len: steps.len })
        .collect())
}

/// What the terminal shows, and how many columns and rows a picture may have. It is asked only for a picture, and only where the
/// environment names no program that has another way.
fn terminal(session: &Session, is_picture: bool) -> (Terminal, usize, usize) {
    let is_terminal = io::stdout().is_terminal();
    let kind = match session.color() {
        crate::terminal::Color::Auto if !is_terminal => Terminal::Plain,
        crate::terminal::Color::Auto => Terminal::of(environment, None),
        color => Terminal::of(environment, Some(color.shows(is_terminal))),
    };
    let has_name = std::env::var("TERM").is_ok_and(|term| !term.is_empty() && term != "dumb");
    let asks = is_picture && is_terminal && has_name && session.color().shows(true);
    let kind = if asks && !kind.has_pictures() { kind.told(tty::primary()) } else { kind };
    let size = console::Term::stdout().size_checked();
    let (rows, columns) = size.unwrap_or_else(|| {
        (environment_number("LINES").unwrap_or(24), environment_number("COLUMNS").unwrap_or(80))
    });
    let columns = usize::from(columns).clamp(10, 160);
    (kind, columns, usize::from(rows).saturating_sub(3).clamp(4, 60))
}

/// A variable of the environment.
fn environment(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

/// A variable of the environment that is a number.
fn environment_number(name: &str) -> Option<u16> {
    environment(name)?.parse().ok()
}

fn write_scene(place: &Place<'_>, scene: &Scene, out: Out<'_>) -> Result<(), Failure> {
    match place {
        Place::Svg(_) => write(place, scene.to_svg()?.as_bytes(), out),
        _ => write(place, &scene.to_png()?, out),
    }
}

fn write(place: &Place<'_>, bytes: &[u8], out: Out<'_>) -> Result<(), Failure> {
    match place {
        Place::Png(path) | Place::Svg(path) => whole_file::write(path, bytes).map_err(|error| {
            let error = io::Error::new(error.kind(), format!("{}: {error}", path.display()));
            Failure::Stream("cannot write the picture", error)
        }),
        _ => Ok(out.write_all(bytes)?),
    }
}
