//! Reads the headers that web servers are sent, from the command line and the environment, and binds each to one server.
//!
//! Their values are secrets: they are in no message, and no other server gets them. What names its server in the environment is read
//! by the stores themselves.

use std::collections::BTreeSet;
use std::fmt;

use zarr::{OpenOptions, split_server};

use crate::failure::Failure;

/// The variable with headers, one on each line.
pub(crate) const HEADERS: &str = "ZARR_HTTP_HEADERS";
/// The variable with a token.
pub(crate) const TOKEN: &str = "ZARR_HTTP_BEARER_TOKEN";
/// The option.
const OPTION: &str = "--http-header";

/// Text of the command line that may be secret.
#[derive(Clone, Default)]
pub(crate) struct Secret(String);

impl From<String> for Secret {
    fn from(text: String) -> Secret {
        Secret(text)
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("…")
    }
}

/// The headers of one command, each for one server.
#[derive(Debug, Default)]
pub(crate) struct Headers(Vec<Header>);

/// A header that is sent.
#[derive(Debug)]
struct Header {
    /// Where it was given.
    given: &'static str,
    /// As [`zarr::web_server`] gives it.
    server: String,
    /// In lower case.
    name: String,
    /// The option of the store that sends it.
    option: String,
    value: Secret,
}

/// A header as it was given, for a server or for the one that the command names.
struct Given<'a> {
    given: &'static str,
    server: Option<String>,
    name: String,
    option: String,
    value: &'a str,
}

impl Headers {
    /// Binds what the command line and the environment have to the servers of these paths and URLs.
    pub fn bind(options: &[Secret], places: &[String]) -> Result<Headers, Failure> {
        let servers: BTreeSet<String> =
            places.iter().filter_map(|place| zarr::stores::web_server(place)).collect();
        let (lines, token) = (variable(HEADERS)?, variable(TOKEN)?);
        let mut headers = Headers::default();
        // What is given on the command line comes first, and is not replaced.
        for Secret(text) in options {
            headers.add(Given::header(OPTION, text)?, &servers)?;
        }
        for line in lines.lines().filter(|line| !line.trim().is_empty() && names_no_server(line)) {
            headers.add(Given::header(HEADERS, line)?, &servers)?;
        }
        if !token.trim().is_empty() && names_no_server(&token) {
            headers.add(Given::token(&token)?, &servers)?;
        }
        Ok(headers)
    }

    /// The options with the headers.
    pub fn set(&self, options: OpenOptions) -> OpenOptions {
        self.0.iter().fold(options, |options, header| {
            options.server_option(&header.server, &header.option, &header.value.0)
        })
    }

    fn add(&mut self, header: Given<'_>, servers: &BTreeSet<String>) -> Result<(), Failure> {
        let Some(server) = header.server_among(servers)? else { return Ok(()) };
        let Given { given, name, option, value, .. } = header;
        let mut known = self.0.iter();
        if let Some(known) = known.find(|known| known.server == server && known.name == name) {
            if known.given == OPTION && given != OPTION {
                return Ok(());
            }
            let places = if known.given == given {
                format!("twice in {given}")
            } else {
                format!("in {} and in {given}", known.given)
            };
            return Err(Failure::Usage(format!("the header `{name}` is given {places}; give one")));
        }
        let value = Secret(value.to_owned());
        self.0.push(Header { given, server, name, option, value });
        Ok(())
    }
}

impl<'a> Given<'a> {
    /// `Name: value`, or `https://host=Name: value`.
    fn header(given: &'static str, text: &'a str) -> Result<Given<'a>, Failure> {
        let Some((server, header)) = split_server(text) else {
            let why = "a value that begins with `http` must be a server address, `=` and a header, as in `https://host:8443=Name: value`";
            return Err(Failure::Usage(format!("{given}: {why}")));
        };
        let parts = header.split_once(':').map(|(name, value)| (name.trim(), value.trim()));
        let parts = parts.filter(|(name, _)| {
            !name.is_empty()
                && name
                    .bytes()
                    .all(|byte| byte.is_ascii_graphic() && !b"()<>@,;:\\\"/[]?={}".contains(&byte))
        });
        let Some((name, value)) = parts else {
            let why = "a header is written `Name: value`, or `https://host=Name: value` for one of two servers";
            return Err(Failure::Usage(format!("{given}: {why}")));
        };
        check(given, name, value)?;
        let name = name.to_ascii_lowercase();
        Ok(Given { given, server, option: format!("header.{name}"), name, value })
    }

    fn token(text: &'a str) -> Result<Given<'a>, Failure> {
        let (name, option) = ("authorization".to_owned(), "bearer_token".to_owned());
        check(TOKEN, &name, text.trim())?;
        Ok(Given { given: TOKEN, server: None, name, option, value: text.trim() })
    }
}

impl Given<'_> {
    /// The one of these servers that it is for; `None` if it is for other commands: variables may be set for many.
    fn server_among(&self, servers: &BTreeSet<String>) -> Result<Option<String>, Failure> {
        let Given { given, name, .. } = self;
        let is_variable = *given != OPTION;
        if let Some(server) = &self.server {
            if servers.contains(server) {
                return Ok(Some(server.clone()));
            }
            if is_variable {
                return Ok(None);
            }
            let why = format!("no path or URL of this command is on {}", shown(server));
            return Err(Failure::Usage(format!("{given}: {why}")));
        }
        let Some(first) = servers.first() else {
            if is_variable {
                return Ok(None);
            }
            let why = "it is for web servers, and no path or URL of this command is on one";
            return Err(Failure::Usage(format!("{given}: {why}")));
        };
        if servers.len() == 1 {
            return Ok(Some(first.clone()));
        }
        let all: Vec<&str> = servers.iter().map(|server| shown(server)).collect();
        let (all, first) = (all.join(" and "), shown(first));
        let example = match *given {
            TOKEN => format!("{TOKEN}='{first}=…'"),
            HEADERS => format!("the line `{first}={name}: …` in {HEADERS}"),
            _ => format!("{OPTION} '{first}={name}: …'"),
        };
        Err(Failure::Usage(format!(
            "this command names the servers {all}, and the header `{name}` of {given} is for one of them; say which, as in {example}"
        )))
    }
}

/// Whether a variable's text is for the server that the command names, whichever that is.
fn names_no_server(text: &str) -> bool {
    matches!(split_server(text), Some((None, _)))
}

/// Refuses what would end a header and begin another.
fn check(given: &str, name: &str, value: &str) -> Result<(), Failure> {
    if value.contains(|letter: char| letter.is_control() && letter != '\t') {
        return Err(Failure::Usage(format!(
            "the header `{name}` of {given} has a line end, or another control character, in its value"
        )));
    }
    Ok(())
}

/// What a variable has; nothing if it is not set.
fn variable(name: &str) -> Result<String, Failure> {
    match std::env::var(name) {
        Ok(text) => Ok(text),
        Err(std::env::VarError::NotPresent) => Ok(String::new()),
        Err(std::env::VarError::NotUnicode(_)) => {
            Err(Failure::Usage(format!("the environment variable {name} is not UTF-8")))
        }
    }
}

/// A server without the port that its scheme has anyway.
fn shown(server: &str) -> &str {
    let port = if server.starts_with("https:") { ":443" } else { ":80" };
    server.strip_suffix(port).unwrap_or(server)
}
