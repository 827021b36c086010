//! Says what this build of the program can do, and what it finds around it.

use std::io::Read;
use std::path::{Path, PathBuf};

use clap::Args;
use zarr::{Dialect, Json, Limits, Object};

use super::Out;
use crate::failure::Failure;
use crate::human;
use crate::session::Session;

#[derive(Debug, Args)]
#[command(before_help = "\
Examples:
  zarr doctor
  zarr doctor --json > build.json",
    after_long_help = crate::details("\
No network is accessed. Only the names of credentials are printed, so that you can share the output."))]
pub(crate) struct Doctor {}

/// The variables that change what the program does, and how. `docs/environment.md` has the same list.
pub(crate) const VARIABLES: &[(&str, &str)] = &[
    ("NO_COLOR", "no colours, whatever its value"),
    ("TERM", "`dumb`: no colours"),
    ("TMPDIR", "folder of temporary files: of copies into other chunks, and of the demo"),
];

/// Beginnings of variables that stores take settings and credentials from.
const BEGINNINGS: &[(&str, &str)] =
    &[("AWS_", "s3"), ("GOOGLE_", "gcs"), ("AZURE_", "azure"), ("ZARR_HTTP_", "http")];

/// What names of variables have that hold or find credentials; others of a store are settings.
const SECRETS: &[&str] = &[
    "KEY",
    "TOKEN",
    "SECRET",
    "CREDENTIAL",
    "PASSWORD",
    "PROFILE",
    "ROLE",
    "ACCOUNT",
    "SAS",
    "HEADERS",
];

/// Single variables of that kind.
const SINGLE: &[(&str, &str)] = &[("SERVICE_ACCOUNT", "gcs"), ("IDENTITY_ENDPOINT", "azure")];

/// Files with credentials, from the home folder; a variable may name another.
const FILES: &[(&str, &str, &str)] = &[
    (".aws/credentials", "AWS_SHARED_CREDENTIALS_FILE", "s3"),
    (".aws/config", "AWS_CONFIG_FILE", "s3"),
    (
        ".config/gcloud/application_default_credentials.json",
        "GOOGLE_APPLICATION_CREDENTIALS",
        "gcs",
    ),
    (".azure", "AZURE_CONFIG_DIR", "azure"),
];

impl Doctor {
    pub fn run(&self, session: &Session, out: Out<'_>) -> Result<(), Failure> {
        let findings = findings(session);
        if session.is_json() {
            return Ok(writeln!(out, "{:#}", Json::from(findings))?);
        }
        for (name, value) in findings.iter() {
            writeln!(out, "{name}")?;
            match value {
                Json::Object(members) => {
                    for (name, value) in members.iter() {
                        writeln!(out, "  {name:<18} {}", text(value))?;
                    }
                }
                other => writeln!(out, "  {}", text(other))?,
            }
        }
        Ok(())
    }
}

/// A value for people: lists without brackets.
fn text(value: &Json) -> String {
    match value {
        Json::Array(items) if items.is_empty() => "none".into(),
        Json::Array(items) => items.iter().map(text).collect::<Vec<_>>().join(", "),
        Json::String(text) => text.to_string(),
        Json::Bool(is) => if *is { "yes" } else { "no" }.into(),
        other => other.to_string(),
    }
}

fn findings(session: &Session) -> Object {
    let registry = session.registry();
    let build = Object::new()
        .with("version", env!("CARGO_PKG_VERSION"))
        .with("system", std::env::consts::OS)
        .with("processor", std::env::consts::ARCH)
        .with("optimized", !cfg!(debug_assertions));
    let features = Object::new()
        .with("plot", cfg!(feature = "plot"))
        .with("serve", cfg!(feature = "serve"))
        .with("zfp", registry.codec_names(Dialect::V3).contains(&"zfp"));
    let codecs = Object::new()
        .with("v3", names_json(registry.codec_names(Dialect::V3)))
        .with("v2", names_json(registry.codec_names(Dialect::V2)))
        .with("drafts", names_json(registry.codec_names(Dialect::Draft)));
    let limits = Limits::default();
    let limits = Object::new()
        .with("document", human::size(limits.document))
        .with("decoded chunks", human::size(limits.decoded))
        .with("axes", limits.rank as u64);
    let threads = std::thread::available_parallelism().map_or(1, usize::from) as u64;
    let machine = Object::new()
        .with("threads", threads)
        .with("temporary files", std::env::temp_dir().to_string_lossy().into_owned());
    Object::new()
        .with("build", build)
        .with("features", features)
        .with("stores", names_json(registry.schemes()))
        .with("codecs", codecs)
        .with("limits", limits)
        .with("machine", machine)
        .with("on PATH", programs())
        .with("settings", settings())
        .with("credentials", credentials())
}

/// Names as a list.
fn names_json(names: Vec<&str>) -> Json {
    names.into_iter().map(Json::from).collect()
}

/// What the names of this program start: another package's script of the same name may come first.
fn programs() -> Object {
    let own = std::env::current_exe().and_then(std::fs::canonicalize).ok();
    let mut found = Object::new();
    for name in ["zarr", "zarrkit"] {
        let text = match first_on_path(name) {
            Some(path) => {
                let what = kind_of_program(&path, own.as_deref());
                format!("{}: {what}", path.to_string_lossy())
            }
            None => "not found".to_owned(),
        };
        found.insert(name, text);
    }
    found
}

/// The file that a shell starts by this name.
fn first_on_path(name: &str) -> Option<PathBuf> {
    let file = format!("{name}{}", std::env::consts::EXE_SUFFIX);
    let folders = std::env::var_os("PATH")?;
    std::env::split_paths(&folders).map(|folder| folder.join(&file)).find(|path| path.is_file())
}

/// Whether a file is this program, or what else it is.
fn kind_of_program(path: &Path, own: Option<&Path>) -> &'static str {
    let found = std::fs::canonicalize(path).ok();
    if found.is_some() && found.as_deref() == own {
        return "this program";
    }
    let folder = found.as_deref().and_then(Path::parent);
    if folder.is_some() && folder == own.and_then(Path::parent) {
        return "of the same installation";
    }
    let mut start = [0; 2];
    let read = std::fs::File::open(path).and_then(|mut file| file.read_exact(&mut start));
    if read.is_ok() && start == *b"#!" {
        return "a script of another package, such as zarr-python; `zarr` and `zarrkit` of this program are elsewhere";
    }
    "another program, or another installation of this one"
}

/// The variables that are set, with what they change.
fn settings() -> Object {
    let set = VARIABLES.iter().filter(|(name, _)| std::env::var_os(name).is_some());
    let mut found: Object =
        set.map(|(name, what)| ((*name).to_owned(), Json::from(*what))).collect();
    let mut names: Vec<String> =
        std::env::vars_os().filter_map(|(name, _)| name.into_string().ok()).collect();
    names.sort_unstable();
    for name in names {
        let store = BEGINNINGS.iter().find(|(begin, _)| name.starts_with(begin));
        if let Some((_, store)) =
            store.filter(|_| !SECRETS.iter().any(|secret| name.contains(secret)))
        {
            found.insert(name, format!("a setting of {store}"));
        }
    }
    found
}

/// What each kind of store finds: names of variables and files, never what they hold.
fn credentials() -> Object {
    let mut found = Object::new();
    for (_, store) in BEGINNINGS {
        let of_store =
            |list: &'static [(&str, &str)]| list.iter().filter(move |(_, of)| of == store);
        let mut names: Vec<String> = std::env::vars_os()
            .filter_map(|(name, _)| name.into_string().ok())
            .filter(|name| {
                of_store(BEGINNINGS).any(|(begin, _)| name.starts_with(begin))
                    && SECRETS.iter().any(|secret| name.contains(secret))
                    || of_store(SINGLE).any(|(single, _)| name == single)
            })
            .collect();
        names.sort_unstable();
        let home = std::env::home_dir().unwrap_or_default();
        for (file, variable, _) in FILES.iter().filter(|(.., of)| of == store) {
            let path = std::env::var_os(variable).map_or_else(|| home.join(file), PathBuf::from);
            if path.exists() {
                names.push(path.to_string_lossy().into_owned());
            }
        }
        found.insert(*store, names.into_iter().map(Json::from).collect::<Json>());
    }
    found
}
