//! Holds the options of remote stores, and selects the server for a URL.

use std::str::FromStr;
use std::time::Duration;

use object_store::{BackoffConfig, ClientOptions, RetryConfig};
use zarr_core::store::Result;
use zarr_core::{StoreError, split_query};

use super::Location;
#[cfg(any(feature = "s3", feature = "azure", feature = "http"))]
use crate::percent::decoded_text;

/// How a store is reached.
#[derive(Clone, Debug)]
pub(crate) struct Settings {
    /// The most requests at a time.
    pub in_flight: usize,
    /// A request is sent again if no byte arrives for this time.
    pub read_timeout: Duration,
    pub max_retries: usize,
    pub retry_timeout: Duration,
    /// Bytes of keys that one listing may have, which are held until it ends.
    pub max_listed: u64,
    /// Whether a key that is forbidden is absent: a bucket that lists nothing to a reader answers 403 for absent keys.
    pub forbidden_is_absent: bool,
    /// The settings of the server's own builder.
    pub options: Vec<(String, String)>,
    /// The options that were given, without those that may be secret.
    pub public: Vec<(String, String)>,
}

impl Default for Settings {
    fn default() -> Self {
        Settings {
            in_flight: 256,
            read_timeout: Duration::from_secs(30),
            max_retries: 10,
            retry_timeout: Duration::from_secs(180),
            max_listed: 4 << 30,
            forbidden_is_absent: false,
            options: Vec::new(),
            public: Vec::new(),
        }
    }
}

/// Options that the library itself takes; `sync` is so in any case, since a server answers when it has stored a value.
const OWN: &str =
    "sync in_flight max_retries max_listed read_timeout forbidden_is_absent retry_timeout";

/// Options of the servers' builders that are no secret, without `aws_`, `azure_` or `google_` before them.
const PUBLIC: &str = "
    account_name allow_http bucket bucket_name checksum_algorithm connect_timeout
    container_name default_region disable_tagging endpoint endpoint_url endpoint_url_s3
    region request_payer s3_express skip_signature storage_account_name timeout
    unsigned_payload use_emulator use_fabric_endpoint virtual_hosted_style_request";

fn is_in(names: &str, name: &str) -> bool {
    names.split_whitespace().any(|known| known == name)
}

/// Whether an option can be shown. A URL in it may have a password or a token.
fn is_public(name: &str, value: &str) -> bool {
    let prefixes = ["aws_", "azure_", "google_"];
    let short = prefixes.iter().find_map(|prefix| name.strip_prefix(prefix)).unwrap_or(name);
    let known = is_in(OWN, name) || is_in(PUBLIC, short);
    known && !value.contains(['@', '?'])
}

impl Settings {
    pub fn from_options<K: AsRef<str>, V: Into<String>>(
        url: &str,
        options: impl IntoIterator<Item = (K, V)>,
    ) -> Result<Settings> {
        let mut settings = Settings::default();
        for (name, value) in options {
            let name = name.as_ref().to_ascii_lowercase();
            let value = usable(&format!("option `{name}`"), &name, value.into());
            let value = value.map_err(|why| invalid(url, why))?;
            let number = whole_number(&value);
            let seconds = duration(&value);
            // Values are not printed: any may be a secret in the wrong place.
            let wrong = || invalid(url, format!("option `{name}` must be a number"));
            match name.as_str() {
                "in_flight" => settings.in_flight = number.ok_or_else(wrong)?.clamp(1, 1 << 16),
                "max_retries" => settings.max_retries = number.ok_or_else(wrong)?,
                "max_listed" => settings.max_listed = number.ok_or_else(wrong)? as u64,
                "read_timeout" => settings.read_timeout = seconds.ok_or_else(wrong)?,
                "forbidden_is_absent" => settings.forbidden_is_absent = value == "true",
                "retry_timeout" => settings.retry_timeout = seconds.ok_or_else(wrong)?,
                _ => {}
            }
            if is_public(&name, &value) {
                settings.public.push((name.clone(), value.clone()));
            }
            if !is_in(OWN, &name) {
                settings.options.push((name, value));
            }
        }
        Ok(settings)
    }

    pub fn retry(&self) -> RetryConfig {
        RetryConfig {
            backoff: BackoffConfig { max_backoff: Duration::from_secs(5), ..Default::default() },
            max_retries: self.max_retries,
            retry_timeout: self.retry_timeout,
        }
    }

    /// No limit on a whole request: a large value may take its time, as long as it moves.
    pub fn client(&self) -> ClientOptions {
        ClientOptions::new().with_timeout_disabled()
    }

    /// Whether the options or the environment set one of these names.
    #[cfg(any(feature = "s3", feature = "gcs", feature = "azure"))]
    pub fn sets(&self, names: &[&str]) -> bool {
        let chosen = self.options.iter().any(|(name, _)| names.contains(&name.as_str()));
        chosen || names.iter().any(|name| std::env::var_os(name.to_ascii_uppercase()).is_some())
    }

    /// Sets what the environment sets, in variables whose names begin with `variables`, and then the options.
    pub fn apply_settings<B, K: FromStr>(
        &self,
        mut builder: B,
        variables: &str,
        set: impl Fn(B, K, String) -> B,
    ) -> object_store::Result<B> {
        for (name, value) in std::env::vars_os() {
            if let (Some(name), Some(value)) = (name.to_str(), value.to_str())
                && name.starts_with(variables)
                && let Ok(key) = name.to_ascii_lowercase().parse()
            {
                let what = format!("the environment variable `{name}`");
                let value = usable(&what, &name.to_ascii_lowercase(), value.to_owned());
                let value = value.map_err(|why| object_store::Error::Generic {
                    store: "options",
                    source: why.into(),
                })?;
                builder = set(builder, key, value);
            }
        }
        for (name, value) in &self.options {
            match name.parse() {
                Ok(key) => builder = set(builder, key, value.clone()),
                Err(_) => {
                    let source = format!("option `{name}` is not known here").into();
                    return Err(object_store::Error::Generic { store: "options", source });
                }
            }
        }
        Ok(builder)
    }
}

/// A number, which may have the unit of seconds.
fn whole_number(text: &str) -> Option<usize> {
    text.trim_end_matches('s').trim().parse().ok()
}

/// A number of seconds.
fn duration(text: &str) -> Option<Duration> {
    let seconds: f64 = text.trim_end_matches('s').trim().parse().ok()?;
    Duration::try_from_secs_f64(seconds).ok()
}

/// The value of an option without the line ends at its end: a file of such values that was written on Windows leaves a `\r` there. What no
/// header of a request may have is refused by name, since the HTTP client would panic; the value itself may be a secret.
pub(super) fn usable(what: &str, name: &str, value: String) -> Result<String, String> {
    let value = match value.trim_end_matches(['\r', '\n']) {
        trimmed if trimmed.len() == value.len() => value,
        trimmed => trimmed.to_owned(),
    };
    let has = |names: &[&str]| names.iter().any(|part| name.contains(part));
    // Documents and certificates have lines.
    let has_lines = has(&["service_account_key", "certificate", "private_key"]);
    let is_file = has(&["file", "path", "profile", "service_account", "application_credentials"]);
    let in_header = has(&["token", "key_id", "account", "region", "user_agent"]) && !is_file;
    if value.contains(|letter: char| letter.is_control() && letter != '\t' && !has_lines) {
        let why = "has a line end, or another control character, in its value; look for a blank or a quote that is missing";
        return Err(format!("{what} {why}"));
    }
    if in_header && !has_lines && !value.is_ascii() {
        return Err(format!("{what} has a character in its value that is not ASCII"));
    }
    Ok(value)
}

pub(super) fn invalid(url: &str, why: impl AsRef<str>) -> StoreError {
    StoreError::invalid_url(url, why)
}

/// A URL's scheme, authority, and path without its first `/`.
pub(super) fn parts(url: &str) -> Option<(String, &str, &str)> {
    let (scheme, rest) = url.split_once("://")?;
    let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
    Some((scheme.to_ascii_lowercase(), authority, path))
}

/// What comes before each key, from a path as it is written.
pub(super) fn prefix(path: &str) -> String {
    match path.trim_matches('/') {
        "" => String::new(),
        path => format!("{path}/"),
    }
}

/// The same from the path of a web address, where `%20` means a space.
#[cfg(any(feature = "s3", feature = "azure", feature = "http"))]
pub(super) fn decoded_prefix(url: &str, path: &str) -> Result<String> {
    match decoded_text(path) {
        Some(path) => Ok(prefix(&path)),
        None => Err(invalid(
            url,
            "`%` must be followed by two hexadecimal digits, and the result must be UTF-8",
        )),
    }
}

/// The web server that the store of a URL is on, as [`zarr_core::web_server`] gives it, which may be sent headers of one's own; `None` for
/// buckets, which have web addresses, too, and for all other stores.
pub fn web_server(url: &str) -> Option<String> {
    let server = zarr_core::web_server(url)?;
    let (place, query) = split_query(url);
    let (_, authority, _) = parts(place.rsplit_once("::").map_or(place, |(_, place)| place))?;
    let is_bucket = server.starts_with("https:")
        && (is_azure(authority) || is_s3(authority, query.trim_start_matches('?')));
    (!is_bucket).then_some(server)
}

/// Whether a web address is one of Azure's buckets.
fn is_azure(authority: &str) -> bool {
    let host = authority.rsplit('@').next().unwrap_or_default().to_ascii_lowercase();
    [".core.windows.net", ".fabric.microsoft.com"].iter().any(|end| host.ends_with(end))
}

/// Whether a web address is one of a bucket of S3. A signed URL is for one kind of request, so that a web server's ways are right.
fn is_s3(authority: &str, query: &str) -> bool {
    let host = authority.rsplit('@').next().unwrap_or_default().to_ascii_lowercase();
    let ends = [".amazonaws.com", ".r2.cloudflarestorage.com"];
    query.is_empty() && ends.iter().any(|end| host.ends_with(end))
}

/// The location that a URL names.
pub(super) fn location(url: &str) -> Result<Location> {
    let (place, query) = split_query(url);
    let query = query.trim_start_matches('?');
    let Some((scheme, authority, path)) = parts(place) else {
        return Err(invalid(url, "it has no scheme"));
    };
    if scheme.starts_with("http") && url.contains('#') {
        return Err(invalid(
            url,
            "nothing is found by what follows a `#`; in a path it is written `%23`",
        ));
    }
    if authority.is_empty() {
        return Err(invalid(url, "it names no bucket or host"));
    }
    match scheme.as_str() {
        "s3" | "s3a" => s3(url, authority, path),
        "gs" | "gcs" => gcs(url, authority, path),
        "az" | "azure" | "adl" | "abfs" | "abfss" => azure(url, authority, path),
        "https" if is_azure(authority) => azure(url, authority, path),
        "https" if is_s3(authority, query) => s3(url, authority, path),
        "http" | "https" => http(url, authority, path, query),
        _ => Err(invalid(url, "no object store has this scheme")),
    }
}

macro_rules! backends {
    ($($feature:literal $name:ident($($part:ty),*);)*) => {
        $(
            #[cfg(feature = $feature)]
            use super::$name::location as $name;
            #[cfg(not(feature = $feature))]
            fn $name(url: &str, $(_: $part),*) -> Result<Location> {
                Err(invalid(
                    url,
                    concat!("that kind of store was left out of this build; enable the feature `", $feature, "` of `zarr`"),
                ))
            }
        )*
    };
}

backends! {
    "s3" s3(&str, &str);
    "gcs" gcs(&str, &str);
    "azure" azure(&str, &str);
    "http" http(&str, &str, &str);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn line_ends_at_the_end_of_an_option_are_dropped_and_others_refused_by_name() {
        let options = |value: &str| Settings::from_options("s3://b/x", [("AWS_Region", value)]);
        for value in ["eu-west-1", "eu-west-1\r", "eu-west-1\r\n", "eu-west-1\n\n"] {
            let settings = options(value).unwrap();
            assert_eq!(settings.options, [("aws_region".to_owned(), "eu-west-1".to_owned())]);
        }
        for value in ["eu\r\nx: y", "eu\u{0}", "eu-wést"] {
            let error = options(value).unwrap_err().to_string();
            assert!(error.contains("option `aws_region` has a"), "{error}");
            assert!(!error.contains("eu"), "{error}");
        }
        let document = "{\r\n\"type\": \"service_account\"}";
        let kept = usable("it", "google_service_account_key", document.to_owned());
        assert_eq!(kept.as_deref(), Ok(document));
        let path = usable("it", "google_application_credentials", "/größe/key.json\r".to_owned());
        assert_eq!(path.as_deref(), Ok("/größe/key.json"));
        let settings = Settings::from_options("http://h/x", [("in_flight", "8\r\n")]).unwrap();
        assert_eq!(settings.in_flight, 8);
        assert!(
            Settings::from_options("http://h/x", [("forbidden_is_absent", "true\r")])
                .unwrap()
                .forbidden_is_absent
        );
    }
}
