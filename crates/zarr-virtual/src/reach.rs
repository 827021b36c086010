//! Decides which targets a file with references may lead to (V-040 … V-043).
//!
//! A file with references comes from a stranger, and what it names is read with the rights of who opens it. Without
//! permission its references stay in its own folder, or on its own server.

use std::net::{IpAddr, ToSocketAddrs};
use std::path::{Component, Path, PathBuf};

use zarr_core::web_server;

use crate::location::{decoded, file_url, is_encoded, local_path};

/// Schemes of stores behind a network that references may name.
const REMOTE_SCHEMES: [&str; 11] =
    ["http", "https", "s3", "s3a", "gs", "gcs", "az", "azure", "adl", "abfs", "abfss"];

/// The parts of a query that carry a permission.
const SIGNATURES: [&str; 5] = ["sig=", "signature=", "x-amz-", "x-goog-", "token="];

/// What the references of a file may lead to.
#[derive(Clone, Debug, Default)]
pub struct Reach {
    /// Where relative references begin.
    base: Option<Place>,
    /// What may be read without permission: where the file is.
    own: Vec<Place>,
    /// What the user allowed.
    allowed: Vec<Place>,
    /// Whether the user allowed everything.
    any: bool,
}

/// A place in a local folder or on a server.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Place {
    /// An absolute path; of an existing file without links.
    Local(PathBuf),
    /// `s3://bucket` or `https://host`, and the path behind it, without a `/` at its beginning.
    Remote { server: String, path: String, query: String },
}

/// A target that may be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reachable {
    /// The URL of the store that it is in.
    pub store: String,
    /// Its key there.
    pub key: String,
    /// Whether the user named where it is, so that the credentials of the opened URL may be sent there.
    pub is_named: bool,
}

/// Why a target may not be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// It is outside what is allowed; this permission would allow it.
    Outside {
        /// The prefix to allow.
        prefix: String,
    },
    /// No permission allows it.
    Never(String),
}

impl Reach {
    /// The reach of a file with references at `url`; relative references begin in its folder or else at `root`. Each of
    /// `allowed` is `any`, a path or the beginning of a URL.
    ///
    /// # Errors
    /// A sentence that says what of it is no place.
    pub fn new<'a>(
        url: &str,
        root: Option<&str>,
        allowed: impl IntoIterator<Item = &'a str>,
    ) -> Result<Reach, String> {
        let folder = folder_of(&place(url)?);
        let root = root.map(place).transpose()?;
        let mut reach = Reach { base: root.clone().or(folder.clone()), ..Reach::default() };
        // A host or a bucket is one owner's.
        let own = folder.map(|folder| match folder {
            Place::Remote { server, query, .. } => {
                Place::Remote { server, path: String::new(), query }
            }
            local => local,
        });
        reach.own.extend(own.into_iter().chain(root));
        for prefix in allowed.into_iter().map(str::trim).filter(|prefix| !prefix.is_empty()) {
            if prefix == "any" {
                reach.any = true;
            } else {
                reach.allowed.push(place(prefix)?);
            }
        }
        Ok(reach)
    }

    /// Where a target is that may be read. It may look at the file system and, if everything is allowed, ask for the
    /// addresses of a server: it blocks.
    ///
    /// # Errors
    /// [`Refusal`].
    pub fn resolve(&self, target: &str) -> Result<Reachable, Refusal> {
        let place = self.place_of(target).map_err(Refusal::Never)?;
        let named = self.own.iter().chain(&self.allowed).any(|allowed| allowed.contains(&place));
        if named {
            return reachable(&place, true);
        }
        // Nothing but the path of a folder allows what is remote to read local files.
        let base_is_local = matches!(self.base, Some(Place::Local(_)));
        let may_be_any = match &place {
            Place::Local(_) => base_is_local,
            Place::Remote { .. } => true,
        };
        if !self.any || !may_be_any {
            return Err(Refusal::Outside { prefix: folder_of(&place).unwrap_or(place).to_url() });
        }
        if let Place::Remote { server, .. } = &place
            && !base_is_local
        {
            check_address(server)?;
        }
        reachable(&place, false)
    }

    /// The URL of the place where a target is, whether it may be read or not; `None` if it names no place.
    pub fn url_of(&self, target: &str) -> Option<String> {
        self.place_of(target).ok().map(|place| place.to_url())
    }

    /// Where a target is, relative ones from the base.
    fn place_of(&self, target: &str) -> Result<Place, String> {
        if target.is_empty() || target.contains('\0') {
            return Err("it is empty, or has a NUL".into());
        }
        if target.contains("://") || Path::new(target).is_absolute() {
            return place(target);
        }
        if target.contains("::") {
            return Err("chains of stores are refused in references".into());
        }
        match &self.base {
            Some(Place::Local(folder)) => Ok(Place::Local(without_links(&folder.join(target))?)),
            Some(Place::Remote { server, path, query }) => {
                let path = without_dots(&format!("{path}/{target}"))?;
                Ok(Place::Remote { server: server.clone(), path, query: query.clone() })
            }
            None => Err("it is relative, and the references are in no folder".into()),
        }
    }
}

impl Place {
    /// Whether `other` is this place or below it.
    fn contains(&self, other: &Place) -> bool {
        match (self, other) {
            (Place::Local(folder), Place::Local(path)) => path.starts_with(folder),
            (
                Place::Remote { server, path, .. },
                Place::Remote { server: other_server, path: other, .. },
            ) => {
                let rest = other.strip_prefix(path.as_str());
                let is_below = rest.is_some_and(|rest| {
                    path.is_empty() || rest.is_empty() || rest.starts_with('/')
                });
                server == other_server && is_below
            }
            _ => false,
        }
    }

    fn to_url(&self) -> String {
        match self {
            Place::Local(path) => file_url(path).unwrap_or_else(|| path.display().to_string()),
            Place::Remote { server, path, .. } => {
                format!("{server}/{path}").trim_end_matches('/').to_owned()
            }
        }
    }
}

/// Refuses a URL that references may not have: one with a password or a signature, a chain of stores, an unknown scheme.
///
/// # Errors
/// A sentence that says why.
#[cfg(feature = "references")]
pub(crate) fn check_url(url: &str) -> Result<(), String> {
    place(url).map(drop)
}

/// Where a URL or a path is.
fn place(url: &str) -> Result<Place, String> {
    if url.contains('\0') {
        return Err("it has a NUL".into());
    }
    let Some((scheme, rest)) = url.split_once("://") else {
        if url.contains("::") {
            return Err("chains of stores are refused in references".into());
        }
        return Ok(Place::Local(without_links(Path::new(url))?));
    };
    if scheme.contains("::") || rest.contains("::") {
        return Err("chains of stores are refused in references".into());
    }
    let scheme = scheme.to_ascii_lowercase();
    if scheme == "file" || scheme == "local" {
        return Ok(Place::Local(without_links(&path_of_file_url(rest)?)?));
    }
    let is_remote = REMOTE_SCHEMES.contains(&scheme.as_str()) || scheme == "memory";
    if !is_remote {
        return Err(format!("references may not use the scheme `{scheme}://`"));
    }
    let (rest, query) = match rest.split_once('?') {
        Some((rest, query)) if scheme.starts_with("http") => (rest, format!("?{query}")),
        _ => (rest, String::new()),
    };
    let lower = query.to_ascii_lowercase();
    if SIGNATURES.iter().any(|signature| lower.contains(signature)) {
        return Err("its query has a signature, which may be secret".into());
    }
    let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
    let has_user = authority.contains('@') && !scheme.starts_with("abfs");
    if has_user || authority.contains('\\') {
        return Err("it names a user, whose password may be secret".into());
    }
    let server = match web_server(&format!("{scheme}://{authority}")) {
        Some(server) => server,
        // Names of one service are one.
        None => match scheme.as_str() {
            "s3a" => format!("s3://{authority}"),
            "gcs" => format!("gs://{authority}"),
            "azure" | "adl" => format!("az://{authority}"),
            _ => format!("{scheme}://{authority}"),
        },
    };
    if authority.is_empty() {
        return Err("it names no host and no bucket".into());
    }
    let path = if is_encoded(url) {
        decoded(path).ok_or("`%` must be followed by two hexadecimal digits")?
    } else {
        path.to_owned()
    };
    Ok(Place::Remote { server, path: without_dots(&path)?, query })
}

/// The path in a `file` URL. Python's fsspec writes such URLs without encoding them: a file of the text itself is taken
/// first.
fn path_of_file_url(rest: &str) -> Result<PathBuf, String> {
    let path = rest.strip_prefix("localhost").unwrap_or(rest);
    if !path.starts_with('/') {
        return Err("a file URL has three slashes: `file:///path`".into());
    }
    let plain = Path::new(path);
    match local_path(&format!("file://{path}")) {
        Some(decoded) if !plain.exists() => Ok(decoded),
        _ => Ok(plain.to_owned()),
    }
}

/// The absolute path without `.`, `..` and, as far as it exists, without links.
fn without_links(path: &Path) -> Result<PathBuf, String> {
    let absolute = std::path::absolute(path).map_err(|e| e.to_string())?;
    // What does not exist has no links: the rest of the path is taken as text.
    let mut behind: Vec<Component<'_>> = Vec::new();
    let mut components = absolute.components();
    let mut real = loop {
        if let Ok(real) = components.as_path().canonicalize() {
            break real;
        }
        match components.next_back() {
            Some(last) => behind.push(last),
            None => break PathBuf::new(),
        }
    };
    for component in behind.into_iter().rev() {
        match component {
            Component::ParentDir => drop(real.pop()),
            Component::CurDir => {}
            other => real.push(other),
        }
    }
    Ok(real)
}

/// A path of a URL without `.` and `..`; refused if it leads above its beginning.
fn without_dots(path: &str) -> Result<String, String> {
    let mut segments: Vec<&str> = Vec::new();
    for segment in path.split('/') {
        match segment {
            "" | "." => {}
            ".." => {
                segments.pop().ok_or("it leads above the root of its server")?;
            }
            other => segments.push(other),
        }
    }
    Ok(segments.join("/"))
}

/// The folder that a file is in.
fn folder_of(place: &Place) -> Option<Place> {
    match place {
        Place::Local(path) => Some(Place::Local(path.parent()?.to_owned())),
        Place::Remote { server, path, query } => {
            let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
            Some(Place::Remote {
                server: server.clone(),
                path: folder.to_owned(),
                query: query.clone(),
            })
        }
    }
}

/// The store and the key of a place.
fn reachable(place: &Place, is_named: bool) -> Result<Reachable, Refusal> {
    let (store, key) = match place {
        Place::Local(path) => {
            let name = path.file_name().and_then(|name| name.to_str()).ok_or_else(no_file)?;
            let folder = path.parent().and_then(file_url).ok_or_else(no_file)?;
            (folder, name.to_owned())
        }
        Place::Remote { server, path, query } => (format!("{server}{query}"), path.clone()),
    };
    if key.is_empty() {
        return Err(no_file());
    }
    Ok(Reachable { store, key, is_named })
}

/// The refusal of a place that is no file's.
fn no_file() -> Refusal {
    Refusal::Never("it names no file".into())
}

/// Refuses a web server that is not on the internet: this machine, its network, and what clouds offer only to it.
fn check_address(server: &str) -> Result<(), Refusal> {
    let Some((_, authority)) = server.split_once("://").filter(|(s, _)| s.starts_with("http"))
    else {
        return Ok(());
    };
    let addresses = authority
        .to_socket_addrs()
        .map_err(|e| Refusal::Never(format!("the address of {authority} was not found: {e}")))?;
    for address in addresses {
        if is_private(address.ip()) {
            return Err(Refusal::Outside { prefix: server.to_owned() });
        }
    }
    Ok(())
}

fn is_private(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(v4) => {
            let [first, second, ..] = v4.octets();
            v4.is_loopback()
                || v4.is_private()
                || v4.is_link_local()
                || v4.is_unspecified()
                || v4.is_broadcast()
                || v4.is_multicast()
                || first == 0
                // Shared between a provider and its customers (RFC 6598).
                || (first == 100 && (64..128).contains(&second))
        }
        IpAddr::V6(v6) => match v6.to_ipv4_mapped() {
            Some(v4) => is_private(IpAddr::V4(v4)),
            None => {
                v6.is_loopback()
                    || v6.is_unspecified()
                    || v6.is_multicast()
                    || v6.is_unique_local()
                    || v6.is_unicast_link_local()
            }
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resolve(reach: &Reach, target: &str) -> Option<Reachable> {
        reach.resolve(target).ok()
    }

    /// V-045, of a file in a folder.
    #[test]
    fn local_references_stay_in_their_folder() {
        let dir = tempfile::tempdir().unwrap();
        let top = dir.path().canonicalize().unwrap();
        std::fs::create_dir_all(top.join("in/sub")).unwrap();
        std::fs::write(top.join("in/x.nc"), "x").unwrap();
        std::fs::write(top.join("out.nc"), "x").unwrap();
        #[cfg(unix)]
        std::os::unix::fs::symlink(top.join("out.nc"), top.join("in/link")).unwrap();
        let url = top.join("in/refs.json");
        let reach = Reach::new(url.to_str().unwrap(), None, []).unwrap();
        let folder = file_url(&top.join("in")).unwrap();
        let inside =
            |key: &str| Some(Reachable { store: folder.clone(), key: key.into(), is_named: true });
        assert_eq!(resolve(&reach, "x.nc"), inside("x.nc"));
        assert_eq!(resolve(&reach, "sub/../x.nc"), inside("x.nc"));
        assert_eq!(resolve(&reach, "absent.nc"), inside("absent.nc"));
        assert_eq!(resolve(&reach, &format!("{folder}/x.nc")), inside("x.nc"));
        assert_eq!(resolve(&reach, &top.join("in/x.nc").display().to_string()), inside("x.nc"));
        let outside = top.join("out.nc").display().to_string();
        for target in [
            "../out.nc",
            "../../etc/passwd",
            "/etc/passwd",
            "file:///etc/passwd",
            &outside,
            "link",
            "absent/../../out.nc",
            "http://169.254.169.254/latest",
            "s3://other/x",
            "zip::x",
            "zip::file:///x",
            "pack://x",
            "file://host/x",
            "https://me:secret@host/x",
            "https://host/x?X-Amz-Signature=1",
            "",
            "a\0b",
        ] {
            assert_eq!(resolve(&reach, target), None, "{target}");
        }
        let prefixes = [top.to_str().unwrap(), "s3://other"];
        let reach = Reach::new(url.to_str().unwrap(), None, prefixes).unwrap();
        assert!(resolve(&reach, "../out.nc").is_some() && resolve(&reach, "link").is_some());
        let bucket = Reachable { store: "s3://other".into(), key: "a/x".into(), is_named: true };
        assert_eq!(resolve(&reach, "s3://other/a/x"), Some(bucket));
        assert_eq!(resolve(&reach, "s3://others/a/x"), None);
        let reach = Reach::new(url.to_str().unwrap(), None, ["any"]).unwrap();
        assert!(resolve(&reach, "/etc/passwd").is_some_and(|found| !found.is_named));
        assert!(resolve(&reach, "s3://other/x").is_some_and(|found| !found.is_named));
        assert_eq!(resolve(&reach, "zip::x"), None);
    }

    /// V-041, V-043.
    #[test]
    fn remote_references_stay_on_their_server_and_never_reach_local_files() {
        let url = "https://data.example/a/refs.json";
        let reach = Reach::new(url, None, []).unwrap();
        let found = |key: &str| {
            Some(Reachable {
                store: "https://data.example:443".into(),
                key: key.into(),
                is_named: true,
            })
        };
        assert_eq!(resolve(&reach, "x.nc"), found("a/x.nc"));
        assert_eq!(resolve(&reach, "HTTPS://Data.example:443/a/b%20c"), found("a/b c"));
        for target in
            ["../../x", "/etc/passwd", "file:///etc/passwd", "http://data.example/a/x", "s3://b/x"]
        {
            assert_eq!(resolve(&reach, target), None, "{target}");
        }
        let reach = Reach::new(url, None, ["any"]).unwrap();
        for target in [
            "/etc/passwd",
            "http://169.254.169.254/x",
            "http://127.0.0.1:80/x",
            "http://[::1]/x",
            "http://[::ffff:10.0.0.1]/x",
            "http://10.1.2.3/x",
            "http://0.0.0.0/x",
        ] {
            assert_eq!(resolve(&reach, target), None, "{target}");
        }
        let reach = Reach::new(url, None, ["file:///etc/", "http://127.0.0.1"]).unwrap();
        assert!(resolve(&reach, "/etc/passwd").is_some());
        assert!(resolve(&reach, "http://127.0.0.1/x").is_some());
        assert_eq!(resolve(&reach, "/var/log/x"), None);
    }

    #[test]
    fn a_refusal_names_what_would_allow_it() {
        let reach = Reach::new("s3://b/refs.json", None, []).unwrap();
        let refusal = reach.resolve("s3://other/deep/x.nc").unwrap_err();
        assert_eq!(refusal, Refusal::Outside { prefix: "s3://other/deep".into() });
        let reach = Reach::new("s3://b/refs.json", Some("s3://other/deep"), []).unwrap();
        assert!(resolve(&reach, "x.nc").is_some_and(|found| found.key == "deep/x.nc"));
    }
}
