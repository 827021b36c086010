//! Serves hierarchies over HTTP.

use std::io::{self, Write};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::UNIX_EPOCH;

use clap::{Args, ValueEnum};
use zarr::data_type::{NumpyTime, TimeKind, TimeUnit};
use zarr::{AccessError, Json, Object};
use zarr_serve::{Access, Ended, Origins, ServeOptions, Server, Targets, TargetsOptions};

use super::Out;
use crate::failure::Failure;
use crate::human::printable;
use crate::parse;
use crate::session::Session;

#[derive(Debug, Args)]
#[command(before_help = "\
Examples:
  zarr serve data.zarr
  zarr serve data.zarr other.zip s3://bucket/more.zarr
  zarr serve folder-of-hierarchies --port 8080
  zarr serve data.zarr --cors https://viewer.example
  zarr serve old-draft --to v3 --open",
    after_long_help = crate::details("\
The first line of standard output is the URL. A hierarchy's keys are below URL/NAME/, where NAME is the last segment of
TARGET; a second target of that name is NAME-2. The same hierarchy as v3 is below URL/v3/NAME/.
URL itself is a page to look at the data with. Below URL/-/ is the API that it uses, for other programs, too: /-/names,
/-/node?path=NAME/PATH, and /-/plot.png?path=NAME/PATH for a PNG of an array as `zarr plot` draws it.

After Ctrl-C, responses have 5 seconds to finish; a second Ctrl-C stops at once. See docs/serving.md."))]
pub(crate) struct Serve {
    /// Paths or URLs of hierarchies, or of folders of them
    #[arg(value_name = "TARGET", required = true)]
    targets: Vec<String>,
    /// The port; 0 for any free one [default: 8000, or a free one if that is in use]
    #[arg(long, value_parser = parse::whole::<u16>)]
    port: Option<u16>,
    /// The address to listen on; 0.0.0.0 for all addresses of this machine
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1", value_parser = address)]
    bind: IpAddr,
    /// Accept requests for this host name, too, such as that of a proxy; can be repeated
    #[arg(long, value_name = "NAME")]
    host: Vec<String>,
    /// Let pages of this origin read the data; can be repeated
    ///
    /// Without a value, pages of any origin
    #[arg(long, value_name = "ORIGIN", num_args = 0..=1, require_equals = false, default_missing_value = "*")]
    cors: Vec<String>,
    /// Serve the v3 view below URL/NAME/, instead of the stored keys
    #[arg(long, value_name = "FORMAT")]
    to: Option<View>,
    /// Maximum memory for responses and cached chunks, as in 512MiB [default: 1GiB]
    #[arg(long, value_name = "SIZE", value_parser = parse::size)]
    memory: Option<u64>,
    /// Follow symbolic links that lead out of a target
    #[arg(long)]
    follow_links: bool,
    /// Print a line on standard error for each request
    #[arg(long)]
    log: bool,
    /// Open the page in the browser
    #[arg(long)]
    open: bool,
}

/// What hierarchies are shown as.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum View {
    /// Final v3
    V3,
}

impl Serve {
    pub fn run(&self, session: &Session, out: Out<'_>) -> Result<(), Failure> {
        let memory = self.memory.unwrap_or(ServeOptions::default().memory);
        let found = session.options()?;
        let mut limits = found.options.limits;
        limits.decoded = limits.decoded.min(memory / 4);
        limits.document = limits.document.min(memory / 16);
        let options = TargetsOptions {
            open: found.limits(limits),
            follow_links: self.follow_links,
            kept: memory / 8,
        };
        let targets = Targets::open(&self.targets, &options)?;
        tell_refused(session, &targets)?;
        let server = Server::new(targets, self.options(session)?).map_err(|e| {
            let port = self.port.map_or("a free port".into(), |port| format!("port {port}"));
            Failure::usage(format!(
                "cannot listen at {} and {port}: {e}; give another --port or --bind",
                self.bind
            ))
        })?;
        let url = server.url().map_err(|e| Failure::Stream("cannot listen", e))?;
        let names: Vec<&str> = server.targets().roots().map(|(name, _)| name).collect();
        if session.is_json() {
            let names: Json = names.iter().map(|&name| Json::from(name)).collect();
            writeln!(
                out,
                "{}",
                Json::from(Object::new().with("url", url.as_str()).with("names", names))
            )?;
        } else {
            writeln!(out, "{url}")?;
        }
        out.flush()?;
        session.talk(&format!(
            "the page: {url}, the API below {url}-/, as {url}-/names, and pictures: {url}-/plot.png?path=NAME/PATH"
        ));
        for name in names {
            session.talk(&format!(
                "{name}: keys below {url}{0}/, as v3 below {url}v3/{0}/",
                zarr_serve::encoded(name)
            ));
        }
        if !self.bind.is_loopback() {
            let _ = writeln!(
                io::stderr(),
                "warning: others on the network can read what is served; there are no passwords and no encryption"
            );
        }
        if self.open {
            open(&url);
        }
        match server.run_until_interrupted() {
            Ok(Ended::Cleanly | Ended::BrokenOff) => Ok(()),
            Err(e) => Err(Failure::Stream("cannot serve", e)),
        }
    }

    fn options(&self, session: &Session) -> Result<ServeOptions, Failure> {
        // Elsewhere `--host` is the address to listen on. Requests for an address are accepted without it.
        if let Some(host) = self.host.iter().find(|host| host.parse::<IpAddr>().is_ok()) {
            return Err(Failure::Usage(format!(
                "--host {host} is not a name; requests for addresses are always accepted; to listen on {host}, pass --bind {host}"
            )));
        }
        let cors = if self.cors.iter().any(|origin| origin == "*") {
            Origins::Any
        } else if let Some(wrong) = self.cors.iter().find(|text| !is_origin(text)) {
            let why = format!(
                "invalid origin `{wrong}`: expected one like https://viewer.example or http://localhost:3000"
            );
            return Err(zarr::Error::from(AccessError::Argument(why)).into());
        } else if self.cors.is_empty() {
            Origins::None
        } else {
            Origins::These(self.cors.clone())
        };
        Ok(ServeOptions {
            address: self.bind,
            port: self.port,
            hosts: self.host.clone(),
            cors,
            to_v3: self.to.is_some(),
            memory: self.memory.unwrap_or(ServeOptions::default().memory),
            threads: session.threads(),
            log: self.log.then(|| Arc::new(log) as _),
            tell: Some(Arc::new(|what: &str| drop(writeln!(io::stderr(), "{}", printable(what))))),
            ..ServeOptions::default()
        })
    }
}

/// Names references that may not be followed, before somebody requests them. With `--strict` that is an error.
fn tell_refused(session: &Session, targets: &Targets) -> Result<(), Failure> {
    for (name, error) in targets.refused() {
        if session.is_strict() {
            return Err(zarr::Error::from(error).at_store(name).into());
        }
        let _ = writeln!(
            io::stderr(),
            "warning: {}: {}",
            printable(name),
            printable(&error.to_string())
        );
    }
    Ok(())
}

/// An address to listen on, without a port.
fn address(text: &str) -> Result<IpAddr, String> {
    if text == "localhost" {
        return Ok(Ipv4Addr::LOCALHOST.into());
    }
    text.parse().map_err(|_| match text.parse::<SocketAddr>() {
        Ok(both) => format!("the port is an option of its own: `--bind {} --port {}`", both.ip(), both.port()),
        Err(_) => "expected an IP address, such as 127.0.0.1, or 0.0.0.0 for all addresses of this machine".into(),
    })
}

/// Whether a text is a scheme and a host, as the origin of a page is.
fn is_origin(text: &str) -> bool {
    text.split_once("://")
        .is_some_and(|(scheme, rest)| !scheme.is_empty() && !rest.is_empty() && !rest.contains('/'))
}

/// `2026-11-22T21:05:07 127.0.0.1 GET /x.zarr/c/0 206 1024 0.4 ms`.
fn log(access: &Access) {
    let seconds = access.time.duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs());
    let time = NumpyTime { kind: TimeKind::Datetime, unit: TimeUnit::Second, scale_factor: 1 };
    let time = time.text_of(i64::try_from(seconds).unwrap_or(0));
    let Access { peer, method, target, status, bytes, duration, is_cut_off, .. } = access;
    let incomplete = if *is_cut_off { " incomplete" } else { "" };
    let milliseconds = duration.as_secs_f64() * 1e3;
    let line = format!(
        "{time}Z {} {method} {target} {status} {bytes} {milliseconds:.1} ms{incomplete}",
        peer.ip()
    );
    let _ = writeln!(io::stderr(), "{}", printable(&line));
}

/// Opens a URL in the browser of whom sits here, if there is one.
fn open(url: &str) {
    let program = match std::env::consts::OS {
        "macos" => "open",
        "windows" => "explorer",
        _ => "xdg-open",
    };
    let null = std::process::Stdio::null;
    let started = std::process::Command::new(program)
        .arg(url)
        .stdin(null())
        .stdout(null())
        .stderr(null())
        .spawn();
    if let Err(e) = started {
        let _ = writeln!(io::stderr(), "warning: no browser was opened: {program}: {e}");
    }
}
