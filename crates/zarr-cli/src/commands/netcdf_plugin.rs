//! Prints, writes and checks the lines by which netCDF's library loads the plug-in.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::ErrorKind as IoErrorKind;
use std::path::{Path, PathBuf};
use std::process::Command;

use clap::Args;
use zarr::nczarr::{DatasetOptions, NcUrl};
use zarr::{Json, Object};

use super::Out;
use crate::failure::Failure;
use crate::json::or_null;
use crate::ncrc::{self, Entry};
use crate::parse;
use crate::session::Session;

#[derive(Debug, Args)]
#[command(before_help = "\
Examples:
  zarr netcdf-plugin --library /usr/local/lib/libzarr_netcdf.so
  zarr netcdf-plugin --install --library /usr/local/lib/libzarr_netcdf.so
  zarr netcdf-plugin --check data.zarr     what to type in a netCDF program
  zarr netcdf-plugin --remove
  zarr netcdf-plugin --exec ncdump -h data.zarr/zarr.json",
    after_long_help = crate::details("\
netcdf-c loads plug-ins since 4.10.0. Its programs open a document of the data, such as data.zarr/zarr.json, or a zip archive, but
not a folder. --install writes lines between two markers in ~/.ncrc, or in the file that NCRCENV_RC names, and leaves the rest as it
is. --check exits with 1 if something is missing. --exec runs one program with the plug-in, on Linux: the way for netcdf-c 4.9, which
loads none by itself. It takes the slots 0 and 1."))]
pub(crate) struct NetcdfPlugin {
    /// With --check: data that a netCDF program is to open
    #[arg(value_name = "TARGET", requires = "check")]
    target: Option<String>,
    /// Write the lines into the resource file
    #[arg(long, conflicts_with_all = ["remove", "check"])]
    install: bool,
    /// Remove the lines
    #[arg(long, conflicts_with = "check")]
    remove: bool,
    /// Check whether netCDF's programs find the plug-in
    #[arg(long)]
    check: bool,
    /// Run a program of netcdf-c 4.9 or later with the plug-in: all that follows is its command line
    #[arg(long, value_name = "PROGRAM", num_args = 1.., allow_hyphen_values = true,
          conflicts_with_all = ["install", "remove", "check", "slots"])]
    exec: Vec<OsString>,
    /// The shared library [default: in the program's folder or in ../lib; ZARR_NETCDF_LIBRARY]
    #[arg(long, value_name = "FILE", conflicts_with_all = ["remove", "check"])]
    library: Option<PathBuf>,
    /// Two slots of netCDF's ten, for documents and for archives [default: two that are free]
    #[arg(long, value_name = "N,N", value_delimiter = ',', value_parser = parse::whole::<u8>, conflicts_with_all = ["remove", "check"])]
    slots: Vec<u8>,
}

/// The resource file, and what is in it.
struct RcFile {
    path: PathBuf,
    text: String,
}

impl RcFile {
    fn read() -> Result<RcFile, Failure> {
        let path = ncrc::path()
            .ok_or_else(|| Failure::usage("no home folder is known; set NCRCENV_RC to a file"))?;
        let text = match fs::read_to_string(&path) {
            Ok(text) => text,
            Err(e) if e.kind() == IoErrorKind::NotFound => String::new(),
            Err(e) => return Err(Failure::Stream("cannot read the resource file of netCDF", e)),
        };
        Ok(RcFile { path, text })
    }

    /// The plug-ins of others.
    fn others(&self) -> Vec<Entry> {
        ncrc::entries(&ncrc::without_lines(&self.text))
    }

    fn write(&self, text: &str) -> Result<(), Failure> {
        let failed = |e| Failure::Stream("cannot write the resource file of netCDF", e);
        // Beside it and renamed, so that no program reads a half of it. A link stays one.
        let path = fs::canonicalize(&self.path).unwrap_or_else(|_| self.path.clone());
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
        let mut file =
            tempfile::NamedTempFile::new_in(folder.unwrap_or(Path::new("."))).map_err(failed)?;
        std::io::Write::write_all(&mut file, text.as_bytes()).map_err(failed)?;
        if let Ok(old) = fs::metadata(&path) {
            file.as_file().set_permissions(old.permissions()).map_err(failed)?;
        }
        file.persist(&path).map_err(|e| failed(e.error))?;
        Ok(())
    }
}

impl NetcdfPlugin {
    pub fn run(&self, session: &Session, out: Out<'_>) -> Result<(), Failure> {
        if let [program, arguments @ ..] = &self.exec[..] {
            return execute(&self.library()?, program, arguments);
        }
        let rc = RcFile::read()?;
        if self.check {
            return check(&rc, self.target.as_deref(), session, out);
        }
        let shown = rc.path.display();
        if self.remove {
            if ncrc::own_lines(&rc.text).is_empty() {
                session.talk(&format!("{shown} has no lines of the plug-in"));
            } else {
                rc.write(&ncrc::without_lines(&rc.text))?;
                session.talk(&format!("{shown}: removed the lines of the plug-in"));
            }
            return Ok(());
        }
        let library = self.library()?;
        let slots = self.slots(&rc)?;
        let lines = ncrc::lines(&library, slots);
        if self.install {
            rc.write(&ncrc::with_lines(&rc.text, &lines))?;
            session.talk(&format!(
                "{shown}: netCDF's programs load {} from now on",
                library.display()
            ));
        }
        if session.is_json() {
            let texts: Json = lines.iter().map(|line| Json::from(line.as_str())).collect();
            let found = Object::new()
                .with("file", shown.to_string())
                .with("library", library.display().to_string())
                .with("installed", self.install)
                .with("lines", texts);
            return Ok(writeln!(out, "{}", Json::from(found))?);
        }
        if !self.install {
            for line in lines {
                writeln!(out, "{line}")?;
            }
        }
        Ok(())
    }

    /// The absolute path of the library, without blanks.
    fn library(&self) -> Result<PathBuf, Failure> {
        let found = match &self.library {
            Some(path) if path.is_file() => path.clone(),
            Some(path) => return Err(Failure::usage(format!("there is no file {}", path.display()))),
            None => standard_library().ok_or_else(|| {
                let why = "the plug-in's library was not found; name it with --library, or in ZARR_NETCDF_LIBRARY. \
                           The Python package zarrkit has it: `pip install zarrkit && python -m zarrkit netcdf-plugin --install`. \
                           In a checkout of the sources, `cargo build --release -p zarr-netcdf` makes it";
                Failure::usage(why)
            })?,
        };
        let path = std::path::absolute(&found).unwrap_or(found);
        if path.to_string_lossy().contains(char::is_whitespace) {
            let why = "netCDF's library removes spaces from paths in its resource file; copy the plug-in to a path without spaces, \
                       and pass it with --library";
            return Err(Failure::usage(format!("{}: {why}", path.display())));
        }
        Ok(path)
    }

    fn slots(&self, rc: &RcFile) -> Result<[u8; 2], Failure> {
        let others = rc.others();
        if self.slots.is_empty() {
            return ncrc::free_slots(&others).ok_or_else(|| {
                let why = "all slots of netCDF's library are taken by other plug-ins";
                Failure::usage(format!("{}: {why}; remove two of them", rc.path.display()))
            });
        }
        let [first, second] = self.slots[..] else {
            return Err(Failure::usage("--slots takes two numbers: `--slots 1,2`"));
        };
        if first == second || first.max(second) >= ncrc::SLOT_COUNT {
            return Err(Failure::usage("--slots takes two different numbers from 0 to 9"));
        }
        match others.iter().find(|entry| [first, second].contains(&entry.slot)) {
            None => Ok([first, second]),
            Some(other) => {
                Err(Failure::usage(format!("slot {} has {}", other.slot, other.library)))
            }
        }
    }
}

/// Runs a program in place of this one, with the library loaded before it.
#[cfg(target_os = "linux")]
fn execute(library: &Path, program: &OsStr, arguments: &[OsString]) -> Result<(), Failure> {
    use std::os::unix::process::CommandExt;

    if library.to_string_lossy().contains(':') {
        let why = "the dynamic linker treats a colon as a path separator; copy the plug-in to a path without one";
        return Err(Failure::usage(format!("{}: {why}", library.display())));
    }
    let mut preloaded = library.as_os_str().to_owned();
    if let Some(others) = std::env::var_os("LD_PRELOAD").filter(|others| !others.is_empty()) {
        preloaded.push(":");
        preloaded.push(others);
    }
    let mut command = Command::new(program);
    command.args(arguments).env("LD_PRELOAD", preloaded).env("ZARR_NETCDF_REGISTER", "1");
    // It returns only if the program does not start.
    let error = command.exec();
    let what = format!("cannot run {}: {error}", program.to_string_lossy());
    Err(Failure::usage(what))
}

#[cfg(not(target_os = "linux"))]
fn execute(_: &Path, _: &OsStr, _: &[OsString]) -> Result<(), Failure> {
    Err(Failure::usage(
        "--exec needs Linux; install the plug-in for netcdf-c 4.10 or later with --install",
    ))
}

/// The library where an installation puts it.
fn standard_library() -> Option<PathBuf> {
    let name =
        format!("{}zarr_netcdf{}", std::env::consts::DLL_PREFIX, std::env::consts::DLL_SUFFIX);
    let named = std::env::var_os("ZARR_NETCDF_LIBRARY").filter(|value| !value.is_empty());
    let program = std::env::current_exe().ok()?;
    let folder = program.parent()?;
    let beside = [folder.join(&name), folder.join("../lib").join(&name)];
    named.map(PathBuf::from).into_iter().chain(beside).find(|path| path.is_file())
}

/// Says whether programs find the library, and what to type for `target`.
fn check(
    rc: &RcFile,
    target: Option<&str>,
    session: &Session,
    out: Out<'_>,
) -> Result<(), Failure> {
    let mut problems = Vec::new();
    let shown = rc.path.display().to_string();
    let own = ncrc::entries(ncrc::own_lines(&rc.text));
    if own.is_empty() {
        problems.push(format!(
            "{shown} does not load the plug-in; `zarr netcdf-plugin --install` adds it"
        ));
    }
    for entry in &own {
        if entry.magic == ncrc::MAGICS[0] && !Path::new(&entry.library).is_file() {
            problems.push(format!(
                "{shown} names {}, which is not there; install it again",
                entry.library
            ));
        }
        for other in rc.others() {
            let claims = !other.magic.is_empty()
                && (other.magic.starts_with(&entry.magic) || entry.magic.starts_with(&other.magic));
            if claims && other.slot < entry.slot {
                let what = format!(
                    "slot {} with {} comes first for files that begin with `{}`",
                    other.slot, other.library, other.magic
                );
                problems.push(format!("{shown}: {what}"));
            }
        }
    }
    let ncdump = ncdump_version();
    if let Some(version) = &ncdump
        && !loads_plugins(version)
    {
        let what = "does not load plug-ins; netcdf-c 4.10.0 and later do";
        problems.push(format!("the ncdump on PATH is from netcdf-c {version}, which {what}"));
    }
    let typed = target.map(|target| what_to_type(target, own.first())).transpose()?;
    if let Some(target) = target {
        let url = NcUrl::parse(target).map_err(zarr::Error::from)?;
        let dataset = url.open(&DatasetOptions::of(session.options()?))?;
        session.warn_of(&dataset.warnings());
    }
    if session.is_json() {
        let library = own.first().map(|entry| entry.library.clone());
        let found = Object::new()
            .with("file", shown)
            .with("library", or_null(library.as_deref()))
            .with("ncdump", or_null(ncdump.as_deref()))
            .with("type", or_null(typed.as_deref()))
            .with("problems", problems.iter().map(|it| Json::from(it.as_str())).collect::<Json>());
        writeln!(out, "{}", Json::from(found))?;
    } else {
        for entry in &own {
            let begin = &entry.magic;
            writeln!(
                out,
                "{shown}: slot {} loads {} for files that begin with `{begin}`",
                entry.slot, entry.library
            )?;
        }
        if let Some(typed) = &typed {
            writeln!(out, "in a netCDF program, type: {typed}")?;
        }
    }
    if problems.is_empty() { Ok(()) } else { Err(Failure::No(problems.join("; "))) }
}

/// How a netCDF program names the data at `target`.
fn what_to_type(target: &str, entry: Option<&Entry>) -> Result<String, Failure> {
    let (place, _) = target.split_once('#').unwrap_or((target, ""));
    let place = place.trim_end_matches('/');
    let slot = entry.map_or(1, |entry| entry.slot);
    if place.starts_with("http://") || place.starts_with("https://") {
        return Ok(format!("{place}/zarr.json#mode=netcdf-4,udf{slot}"));
    }
    let path = Path::new(place.strip_prefix("file://").unwrap_or(place));
    if path.is_dir() {
        let documents = ["zarr.json", ".zgroup", ".zarray", ".zmetadata"];
        let document = documents.into_iter().find(|name| path.join(name).is_file());
        let document = document
            .ok_or_else(|| Failure::usage(format!("{place}: this folder has no Zarr documents")))?;
        return Ok(path.join(document).display().to_string());
    }
    let is_archive =
        path.extension().is_some_and(|ending| ["zip", "ozx"].iter().any(|it| ending == *it));
    if !place.contains("://") && is_archive {
        return Ok(place.to_owned());
    }
    let link = Json::from(Object::new().with("zarr_link", place));
    Ok(format!("the path of a file that has {link}"))
}

/// Which netcdf-c the `ncdump` on PATH is of.
fn ncdump_version() -> Option<String> {
    // Without arguments it prints how it is used, and its version.
    let output = Command::new("ncdump").output().ok()?;
    let text = [output.stdout, output.stderr].concat();
    let text = String::from_utf8_lossy(&text).into_owned();
    let (_, version) = text.split_once("library version ")?;
    version.split_whitespace().next().map(str::to_owned)
}

/// Whether this release loads plug-ins by its resource file: from 4.10.0 on.
fn loads_plugins(version: &str) -> bool {
    let mut numbers = version.split(['.', '-']).map(|number| number.parse::<u32>().unwrap_or(0));
    let (major, minor) = (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0));
    (major, minor) >= (4, 10)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn releases_from_4_10_on_load_plugins() {
        for version in ["4.10.0", "4.10.1", "4.11.0-development", "5.0"] {
            assert!(loads_plugins(version), "{version}");
        }
        for version in ["4.9.3", "4.9.4-development", "3.6.3", ""] {
            assert!(!loads_plugins(version), "{version}");
        }
    }
}
