//! What did the server mean, and what can be done about it?

use std::error::Error as _;
use std::io::{self, ErrorKind};

use object_store::Error;
use zarr_core::StoreError;

use super::Facts;

/// What is said after a status in an error of `object_store`.
const STATUS: &str = "status code: ";

/// All that an error and its causes say.
pub(super) fn said(error: &Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(e) = cause {
        let next = e.to_string();
        if !text.contains(&next) {
            text.push_str(": ");
            text.push_str(&next);
        }
        cause = e.source();
    }
    text
}

/// What is wrong with the settings of a store.
pub(super) fn settings(error: &Error) -> String {
    match error {
        Error::Generic { source, .. } => source.to_string(),
        other => said(other),
    }
}

/// The status with which the server answered, if it did.
pub(super) fn status(error: &Error) -> Option<u16> {
    let said = said(error);
    let at = said.find(STATUS)? + STATUS.len();
    said.get(at..at + 3)?.parse().ok()
}

/// Whether the key is absent, and not the bucket.
pub(super) fn is_absence(error: &Error) -> bool {
    matches!(error, Error::NotFound { .. }) && !is_missing_bucket(&said(error))
}

fn is_missing_bucket(said: &str) -> bool {
    ["NoSuchBucket", "ContainerNotFound", "specified bucket does not exist"]
        .iter()
        .any(|sign| said.contains(sign))
}

/// Whether the server would not give a range of a value that is there.
pub(super) fn is_without_ranges(error: &Error) -> bool {
    matches!(error, Error::Generic { .. }) && said(error).contains("non-partial response")
}

/// Whether a condition did not hold.
pub(super) fn is_refusal(error: &Error) -> bool {
    matches!(
        error,
        Error::Precondition { .. } | Error::NotModified { .. } | Error::AlreadyExists { .. }
    )
}

/// Whether two conditional requests met on the server, which decided neither.
pub(super) fn is_draw(error: &Error) -> bool {
    matches!(error, Error::AlreadyExists { .. })
        && said(error).contains("ConditionalRequestConflict")
}

/// What kept a request from being done: what the server said in a few words, and a way out.
pub(super) fn failure(
    facts: &Facts,
    operation: &'static str,
    key: &str,
    error: &Error,
) -> StoreError {
    let said = said(error);
    let (kind, why) = match error {
        Error::InvalidPath { source } => {
            return StoreError::InvalidKey { key: key.to_owned(), why: source.to_string() };
        }
        _ if is_missing_bucket(&said) => {
            let why = format!("there is no such {}; check its name and the endpoint", facts.bucket);
            (ErrorKind::NotFound, why)
        }
        Error::NotFound { .. } => (ErrorKind::NotFound, words(&said)),
        Error::PermissionDenied { .. } | Error::Unauthenticated { .. } => {
            let why = format!("{}; {}", words(&said), facts.credentials);
            (ErrorKind::PermissionDenied, why)
        }
        _ if said.contains("without LOCATION")
            || said.contains("PermanentRedirect")
            || (said.contains("AuthorizationHeaderMalformed") && said.contains("expecting")) =>
        {
            let region = between(&said, "<Region>", "</Region>").map(|r| format!(", `{r}`"));
            let region = region.unwrap_or_default();
            let why = format!(
                "the bucket lies in another region{region}; set `AWS_REGION` or the option `region`"
            );
            (ErrorKind::Other, why)
        }
        _ if matches!(status(error), Some(400 | 401 | 403)) => {
            (ErrorKind::PermissionDenied, format!("{}; {}", words(&said), facts.credentials))
        }
        _ if said.contains("169.254.169.254") || said.contains("metadata") => {
            let why = format!("no credentials were found; {}", facts.credentials);
            (ErrorKind::PermissionDenied, why)
        }
        _ if said.contains("timed out") || said.contains("deadline") => {
            let why =
                "no answer came in time; check the endpoint, or set the option `read_timeout`";
            (ErrorKind::TimedOut, why.into())
        }
        _ if said.contains("(Connect)") || said.contains("dns error") => {
            let cause = said.rsplit(": ").next().unwrap_or_default();
            let why = format!("cannot connect: {cause}; check the endpoint and the network");
            (ErrorKind::NotConnected, why)
        }
        _ => (ErrorKind::Other, words(&said)),
    };
    let source = io::Error::new(kind, why);
    StoreError::Io { operation, key: key.to_owned(), source }
}

/// What a server said: its code and message where it sent XML; else its status, or what broke.
fn words(said: &str) -> String {
    let code = between(said, "<Code>", "</Code>");
    let message = between(said, "<Message>", "</Message>");
    match (code, message) {
        (Some(code), Some(message)) if !message.is_empty() => format!("{code}: {message}"),
        (Some(code), _) => code.to_owned(),
        _ => match said.find(STATUS) {
            Some(at) => {
                let status = &said[at + STATUS.len()..];
                let end = status.find([':', '\n']).unwrap_or(status.len());
                format!("the server answered {}", &status[..end])
            }
            // What stands before the last dash names the URL, which may hold what nobody else may see.
            None => said.rsplit(" - ").next().unwrap_or_default().to_owned(),
        },
    }
}

fn between<'a>(text: &'a str, begin: &str, end: &str) -> Option<&'a str> {
    let rest = &text[text.find(begin)? + begin.len()..];
    rest.find(end).map(|at| &rest[..at])
}

#[cfg(test)]
mod tests {
    use super::*;

    static FACTS: Facts = Facts {
        bucket: "bucket",
        suffixes: true,
        writes: true,
        erases_many: true,
        longest_key: 9,
        one_request: 9,
        credentials: "check the keys",
    };

    fn answered(status: &str, body: &str) -> Box<dyn std::error::Error + Send + Sync> {
        format!(
            "Error performing GET http://host/bucket/k?sig=secret in 2ms - Server returned non-2xx status code: \
             {status}: {body}"
        )
        .into()
    }

    fn told(error: &Error) -> String {
        failure(&FACTS, "get", "k", error).to_string()
    }

    #[test]
    fn what_servers_say_becomes_what_to_do() {
        let path = || String::from("k");
        let no_bucket = "<Error><Code>NoSuchBucket</Code><Message>The specified bucket does not \
                         exist</Message></Error>";
        let no_bucket =
            Error::NotFound { path: path(), source: answered("404 Not Found", no_bucket) };
        assert!(!is_absence(&no_bucket), "a key is not absent where there is no bucket");
        assert_eq!(
            told(&no_bucket),
            "cannot get `k`: there is no such bucket; check its name and the endpoint"
        );
        let source = answered("404 Not Found", "<Error><Code>NoSuchBucket</Code></Error>");
        let listed = told(&Error::Generic { store: "S3", source });
        assert!(listed.ends_with("there is no such bucket; check its name and the endpoint"));
        let no_key = "<Error><Code>NoSuchKey</Code></Error>";
        let no_key = Error::NotFound { path: path(), source: answered("404 Not Found", no_key) };
        assert!(is_absence(&no_key));
        let denied = "<Error><Code>SignatureDoesNotMatch</Code><Message>Not so</Message></Error>";
        let source = answered("403 Forbidden", denied);
        assert_eq!(
            told(&Error::PermissionDenied { path: path(), source }),
            "cannot get `k`: SignatureDoesNotMatch: Not so; check the keys"
        );
        let elsewhere = "<Error><Code>AuthorizationHeaderMalformed</Code><Message>the region 'us-east-1' is \
                         wrong; expecting 'eu-west-1'</Message><Region>eu-west-1</Region></Error>";
        let source = answered("400 Bad Request", elsewhere);
        assert_eq!(
            told(&Error::Generic { store: "S3", source }),
            "cannot get `k`: the bucket lies in another region, `eu-west-1`; set `AWS_REGION` or the option `region`"
        );
        let source = answered("501 Not Implemented", "");
        let unknown = Error::Generic { store: "S3", source };
        assert_eq!(status(&unknown), Some(501));
        assert_eq!(told(&unknown), "cannot get `k`: the server answered 501 Not Implemented");
    }
}
