//! Prints a dataset as CDL.

use std::collections::HashSet;

use clap::{ArgAction, Args};
use zarr::nczarr::cdl::{Precision, Printing, Provenance, Show};
use zarr::nczarr::schema::Group;
use zarr::nczarr::{Dataset, Variable, composed};
use zarr::{Array, ErrorKind, Warning};

use super::dump_json::JsonDump;
use super::get::Format;
use super::{Out, netcdf};
use crate::decoded::Decoded;
use crate::failure::Failure;
use crate::session::{Session, Target, is_left_out};

#[derive(Debug, Args)]
#[command(
    disable_help_flag = true,
    before_help = "\
Examples:
  zarr dump -h data.zarr
  zarr dump -v time,temperature data.zarr > data.cdl
  zarr dump -s -h s3://bucket/data.zarr
  zarr dump -t --cf -v time,temperature data.zarr
  zarr dump -p 9,17 data.zarr | zarr gen -o copy.zarr",
    after_long_help = crate::details("\
The text is that of netCDF's ncdump, and so are the one-letter options. Any Zarr data is a dataset: dimensions
are those that its arrays name. Floats have 7 significant digits and doubles 15, unless -p gives more: 9 and 17
read back as they were. Arrays of types that netCDF does not have are skipped, with a note on standard error. Nodes whose
documents are broken are skipped, too; then the exit code is not 0.
-t and --cf change the data, not the definitions: such a text is for people, not for `zarr gen`.")
)]
pub(crate) struct Dump {
    /// Print definitions only, no data
    #[arg(short = 'h', long)]
    header: bool,
    /// Print definitions, and the data of coordinate variables
    #[arg(short = 'c', long, conflicts_with = "header")]
    coordinates: bool,
    /// Print the data of only these variables: names, or paths such as /group/name
    #[arg(short = 'v', long, value_name = "NAME,…", value_delimiter = ',')]
    variables: Vec<String>,
    /// Print the data in only these groups: names, or paths such as /group/inner, or /
    #[arg(short = 'g', long, value_name = "NAME,…", value_delimiter = ',')]
    groups: Vec<String>,
    /// Print only the kind of dataset, as ncdump calls it
    #[arg(short = 'k', long)]
    kind: bool,
    /// Print special attributes, too: chunks, filters, byte order
    #[arg(short = 's', long)]
    special: bool,
    /// The name to print after `netcdf` [default: that of TARGET]
    #[arg(short = 'n', long, value_name = "NAME")]
    name: Option<String>,
    /// Significant digits of floats and doubles
    #[arg(short = 'p', long, value_name = "N[,N]", value_parser = precision, default_value = "7,15")]
    precision: Precision,
    /// Print times as dates, as ncdump does
    #[cfg(feature = "plot")]
    #[arg(short = 't', long)]
    times: bool,
    /// Print decoded elements: unpacked, `_` where missing, times as dates
    #[cfg(feature = "plot")]
    #[arg(long)]
    cf: bool,
    /// Maximum length of a line of data
    #[arg(short = 'l', long, value_name = "N", default_value = "80", value_parser = clap::value_parser!(u16).range(10..))]
    line: u16,
    /// Print help
    #[arg(long, action = ArgAction::Help)]
    help: Option<bool>,
    #[command(flatten)]
    target: Target,
}

impl Dump {
    pub fn run(&self, session: &Session, out: Out<'_>) -> Result<(), Failure> {
        session.show_calls();
        let dataset = netcdf::open(session, &self.target)?;
        if self.kind {
            return Ok(writeln!(out, "netCDF-4")?);
        }
        let schema = dataset.schema();
        let (mut variables, mut groups) = (Vec::new(), vec![String::new()]);
        paths(&schema, "", &mut variables, &mut groups);
        check_known("variable", &self.variables, &variables)?;
        check_known("group", &self.groups, &groups)?;
        let printing = Printing {
            header_only: self.header,
            coordinates_only: self.coordinates,
            variables: self.variables.clone(),
            groups: self.groups.clone(),
            specials: self.special.then(|| Provenance::of(&dataset)).transpose()?,
            precision: self.precision,
            width: Some(self.line.into()),
        };
        let name = self.name.clone().unwrap_or_else(|| name_of(&self.target));
        if session.is_json() {
            let dump = JsonDump {
                dataset: &dataset,
                has_data: &|variable: &zarr::nczarr::schema::Variable, full: &str| {
                    !self.header && self.has_data(variable, full)
                },
            };
            let printed = dump.print(&name, out);
            return printed.and(end(session, &dataset));
        }
        let printed = dataset.print_cdl_shown::<Failure>(
            &name,
            &printing,
            &mut |variable: &Variable| self.show(session, &variable.array()?),
            out,
        );
        printed.and(end(session, &dataset))
    }

    /// Whether `--coordinates`, `--variables` and `--groups` let the elements of a variable be printed as JSON.
    fn has_data(&self, variable: &zarr::nczarr::schema::Variable, full: &str) -> bool {
        let (group, _) = full.rsplit_once('/').unwrap_or(("", full));
        let dimension = variable.dimensions.first().and_then(|full| full.rsplit('/').next());
        let is_coordinate = variable.dimensions.len() == 1 && dimension == Some(&variable.name);
        (!self.coordinates || is_coordinate)
            && (self.variables.is_empty() || self.variables.iter().any(|it| is_named(it, full)))
            && (self.groups.is_empty() || self.groups.iter().any(|it| is_named(it, group)))
    }

    /// What is printed in place of the elements of an array.
    fn show(&self, session: &Session, array: &Array) -> Result<Option<Show>, Failure> {
        #[cfg(feature = "plot")]
        let (times, all) = (self.times, self.cf);
        #[cfg(not(feature = "plot"))]
        let (times, all) = (false, false);
        if !times && !all {
            return Ok(None);
        }
        let (decoded, warnings) = Decoded::of(array, Format::Json);
        session.warn_about(array, &warnings);
        Ok(decoded.filter(|decoded| all || decoded.is_dates()).map(Decoded::show))
    }
}

/// Whether the name is the path of a node, or its last part.
fn is_named(name: &str, path: &str) -> bool {
    let (name, path) = (composed(name), composed(path.trim_start_matches('/')));
    let last = path.rsplit('/').next().unwrap_or_default();
    name.trim_matches('/') == path || (!name.contains('/') && *name == *last)
}

/// Says what was left out, and fails if a document is broken.
fn end(session: &Session, dataset: &Dataset) -> Result<(), Failure> {
    let warnings = dataset.warnings();
    let failures = broken(dataset, &warnings);
    let places: HashSet<&str> = failures.iter().map(|(place, _)| place.as_str()).collect();
    let others = warnings
        .iter()
        .filter(|warning| !places.contains(warning.place.as_str()))
        .cloned()
        .collect();
    tell_stale(session, dataset);
    session.end(others, failures.into_iter().map(|(_, failure)| failure))
}

/// Says what the consolidated metadata, which a dump is made from, do not say of the documents. Only where reading these costs little.
fn tell_stale(session: &Session, dataset: &Dataset) {
    let hierarchy = dataset.hierarchy();
    if !hierarchy.store().capabilities().local || !hierarchy.is_consolidated().unwrap_or(false) {
        return;
    }
    let stale = hierarchy.check_consolidated().unwrap_or_default();
    let warnings = stale.into_iter().map(|path| Warning {
        place: path.to_string(),
        what: "its copy in the consolidated metadata, which is dumped, is out of date: `zarr consolidate` renews it".into(),
    });
    session.warn_of(&warnings.collect::<Vec<_>>());
    if let Ok(root) = hierarchy.node(dataset.root_path()) {
        session.warn_of_unnamed(&root);
    }
}

/// The nodes that are left out since their documents are broken, not since netCDF has no such type, and the errors of opening them.
fn broken(dataset: &Dataset, warnings: &[Warning]) -> Vec<(String, Failure)> {
    let mut broken: Vec<(String, Failure)> = Vec::new();
    let mut seen = HashSet::new();
    for warning in warnings {
        let may_be = is_left_out(warning) || warning.what.starts_with("is not a variable");
        if !may_be || !seen.insert(&warning.place) {
            continue;
        }
        match dataset.hierarchy().node(&warning.place) {
            Err(e) if ![ErrorKind::Unsupported, ErrorKind::NotFound].contains(&e.kind()) => {
                broken.push((warning.place.clone(), e.into()));
            }
            _ => {}
        }
    }
    broken
}

/// Each name means one of those that there are: a path, or the last name of one.
fn check_known(what: &str, names: &[String], known: &[String]) -> Result<(), Failure> {
    for name in names {
        let asked = composed(name);
        let path = asked.trim_matches('/');
        let is_known = known.iter().any(|known| {
            let known = composed(known);
            let last = known.rsplit('/').next().unwrap_or_default();
            known.trim_start_matches('/') == path || (!name.contains('/') && last == path)
        });
        if !is_known {
            let known: Vec<&str> = known
                .iter()
                .take(20)
                .map(|path| match path.as_str() {
                    "" => "/",
                    path => path.trim_start_matches('/'),
                })
                .collect();
            let why = format!("there is no {what} `{name}`; expected one of {}", known.join(", "));
            return Err(Failure::Usage(why));
        }
    }
    Ok(())
}

/// The full names of all variables and groups.
fn paths(group: &Group, path: &str, variables: &mut Vec<String>, groups: &mut Vec<String>) {
    variables.extend(group.variables.iter().map(|variable| format!("{path}/{}", variable.name)));
    for child in &group.groups {
        let path = format!("{path}/{}", child.name);
        groups.push(path.clone());
        paths(child, &path, variables, groups);
    }
}

/// The last name of TARGET and --path, without its extension.
fn name_of(target: &Target) -> String {
    let name = last_name(&target.path);
    let url = zarr::tools::netcdf_url(&target.target).ok().flatten();
    let store = url.map_or_else(|| target.target.clone(), |url| url.store);
    let name = name.or_else(|| last_name(store.split('?').next().unwrap_or_default()));
    let name = name.unwrap_or_else(|| "dataset".into());
    match name.rsplit_once('.') {
        Some((stem, _)) if !stem.is_empty() => {
            stem.strip_suffix(".zarr").unwrap_or(stem).to_owned()
        }
        _ => name,
    }
}

/// The last name of a path.
fn last_name(path: &str) -> Option<String> {
    path.rsplit('/').find(|name| !name.is_empty()).map(str::to_owned)
}

fn precision(text: &str) -> Result<Precision, String> {
    let usual = Precision::default();
    Ok(match text.split_once(',') {
        None => Precision { float: digits(text)?, ..usual },
        Some(("", double)) => Precision { double: digits(double)?, ..usual },
        Some((float, double)) => Precision { float: digits(float)?, double: digits(double)? },
    })
}

/// A number of digits.
fn digits(text: &str) -> Result<usize, String> {
    let digits: Option<usize> = text.parse().ok().filter(|digits| (1..=20).contains(digits));
    digits.ok_or_else(|| format!("invalid number of digits `{text}`: expected 1 to 20"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_have_no_extension() {
        let name = |target: &str, path: &str| name_of(&Target::new(target, path));
        assert_eq!(name("a/b.zarr", "/"), "b");
        assert_eq!(name("file:///a/b.v1.zarr.zip#mode=zarr,zip", "/"), "b.v1");
        assert_eq!(name("b#c.zarr", "/"), "b#c");
        assert_eq!(name("b.zarr#zarr", "/"), "b");
        assert_eq!(name("b/", "/"), "b");
        assert_eq!(name("b.zarr", "/g/h"), "h");
        assert_eq!(name(".zarr", "/"), ".zarr");
    }
}
