//! Converts errors of `object_store` to those of this library: what the server refused, and what to do about it.

use std::io::{self, ErrorKind};

use object_store::Error;
use object_store::client::{HttpError, HttpErrorKind};
use zarr_core::StoreError;

use super::ServiceInfo;
use super::answer::{self, Answer, Wrong};

/// Each error of a chain of causes, the outermost first.
fn causes<'a>(error: &'a Error) -> impl Iterator<Item = &'a (dyn std::error::Error + 'static)> {
    std::iter::successors(Some(error as &(dyn std::error::Error + 'static)), |e| e.source())
}

/// The innermost cause, which names no URL.
fn innermost(error: &Error) -> String {
    causes(error).last().map(ToString::to_string).unwrap_or_default()
}

/// How a connection failed, if one did.
fn broken(error: &Error) -> Option<HttpErrorKind> {
    causes(error).filter_map(|e| e.downcast_ref::<HttpError>()).last().map(HttpError::kind)
}

/// Why an answer was refused, if one was.
pub(super) fn wrong(error: &Error) -> Option<Wrong> {
    causes(error).find_map(|e| e.downcast_ref::<Wrong>()).copied()
}

/// Whether the server was reached and then refused the request or closed the connection.
pub(super) fn is_servers_own(error: &Error) -> bool {
    let unreached = matches!(broken(error), Some(HttpErrorKind::Connect | HttpErrorKind::Timeout));
    !unreached && wrong(error).is_none()
}

/// The error in the settings of a store.
pub(super) fn settings(error: &Error) -> String {
    match error {
        Error::Generic { source, .. } => source.to_string(),
        other => other.to_string(),
    }
}

/// The status with which the server refused the last request of this task, if it did.
pub(super) fn status() -> Option<u16> {
    answer::last_answer().map(|answer| answer.status)
}

/// Whether the key is absent; false if the bucket is.
pub(super) fn is_absence(error: &Error) -> bool {
    matches!(error, Error::NotFound { .. })
        && !answer::last_answer().is_some_and(|answer| answer.is_missing_bucket())
}

/// Whether the last request of this task named an absent key, and not an absent bucket.
pub(super) fn names_absent_key() -> bool {
    answer::last_answer().is_none_or(|answer| answer.code.as_deref() == Some("NoSuchKey"))
}

/// Whether a condition did not hold.
pub(super) fn is_refusal(error: &Error) -> bool {
    matches!(
        error,
        Error::Precondition { .. } | Error::NotModified { .. } | Error::AlreadyExists { .. }
    )
}

/// Whether two conditional requests arrived together and the server refused this one without a decision.
pub(super) fn is_draw(error: &Error) -> bool {
    let code = answer::last_answer().and_then(|answer| answer.code);
    matches!(error, Error::AlreadyExists { .. })
        && code.as_deref() == Some("ConditionalRequestConflict")
}

/// The error of a request: the server's reason in a few words, and what to do about it.
///
/// It depends on the types of the error's causes and on the status and the code of the answer, never on a text, which
/// contains the URL.
pub(super) fn failure(
    service: &ServiceInfo,
    operation: &'static str,
    key: &str,
    error: &Error,
) -> StoreError {
    if let Error::InvalidPath { source } = error {
        return StoreError::InvalidKey { key: key.to_owned(), why: source.to_string() };
    }
    let failed = answer::last_failed().unwrap_or_default();
    let (kind, why) = match (wrong(error), &failed.answer) {
        (Some(wrong), _) => (ErrorKind::InvalidData, wrong.to_string()),
        _ if failed.for_credentials => {
            let why = format!("no credentials were found; {}", service.credentials);
            (ErrorKind::PermissionDenied, why)
        }
        (None, Some(answer)) => refused(service, answer),
        (None, None) => match broken(error) {
            Some(HttpErrorKind::Timeout) => {
                let why = "the server did not respond in time; check the endpoint, or set the option `read_timeout`";
                (ErrorKind::TimedOut, why.into())
            }
            Some(HttpErrorKind::Connect) => {
                let cause = innermost(error);
                let why = format!("cannot connect: {cause}; check the endpoint and the network");
                (ErrorKind::NotConnected, why)
            }
            _ => (ErrorKind::Other, innermost(error)),
        },
    };
    StoreError::io(operation, key)(io::Error::new(kind, why))
}

/// Why a server refused a request.
fn refused(service: &ServiceInfo, answer: &Answer) -> (ErrorKind, String) {
    if answer.is_missing_bucket() {
        let why = format!("there is no such {}; check its name and the endpoint", service.bucket);
        return (ErrorKind::NotFound, why);
    }
    if !service.redirects && answer.is_elsewhere() {
        let region = answer.region.as_ref().map(|r| format!(", `{r}`")).unwrap_or_default();
        let why = format!(
            "the bucket lies in another region{region}; set `AWS_REGION` or the option `region`"
        );
        return (ErrorKind::Other, why);
    }
    let reason = reason(answer);
    match answer.status {
        300..400 if answer.location.is_some() => {
            let why = format!(
                "{reason} and redirects to another address, which is not followed, because the request is signed; check the \
                 endpoint"
            );
            (ErrorKind::Other, why)
        }
        400 | 401 | 403 if let Some(server) = &answer.without_headers => {
            let why = format!(
                "{reason}; the request was redirected to {server}, which did not get the headers meant for the first server; if \
                 they are meant for it, open that address directly"
            );
            (ErrorKind::PermissionDenied, why)
        }
        400 | 401 | 403 => {
            (ErrorKind::PermissionDenied, format!("{reason}; {}", service.credentials))
        }
        404 | 405 => (ErrorKind::NotFound, reason),
        _ => (ErrorKind::Other, reason),
    }
}

/// The code and the message of an answer, or else its status.
fn reason(answer: &Answer) -> String {
    match (&answer.code, &answer.message) {
        (Some(code), Some(message)) => format!("{code}: {message}"),
        (Some(code), None) => code.clone(),
        _ => {
            let status = reqwest::StatusCode::from_u16(answer.status);
            let status = status.map_or_else(|_| answer.status.to_string(), |s| s.to_string());
            format!("the server answered {status}")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::answer::{Exchange, Failed};
    use super::*;

    static SERVICE: ServiceInfo = ServiceInfo {
        bucket: "bucket",
        suffixes: true,
        writes: true,
        redirects: false,
        erases_many: true,
        longest_key: 9,
        one_request: 9,
        credentials: "check the keys",
    };

    /// An error as `object_store` makes it, which says the URL.
    fn of_url(url: &str) -> Box<dyn std::error::Error + Send + Sync> {
        format!("Error performing GET {url} in 2ms - something").into()
    }

    fn answered(status: u16, code: &str) -> Exchange {
        let code = (!code.is_empty()).then(|| code.to_owned());
        let answer = Some(Answer { status, code, ..Answer::default() });
        Exchange::with(Failed { answer, for_credentials: false })
    }

    fn told(exchange: Exchange, error: &Error) -> String {
        exchange.sync_scope(|| failure(&SERVICE, "get", "k", error).to_string())
    }

    #[test]
    fn what_servers_say_becomes_what_to_do() {
        let path = || String::from("k");
        let not_found = Error::NotFound { path: path(), source: of_url("http://h/k?sig=secret") };
        let no_bucket = || answered(404, "NoSuchBucket");
        let is_absent = |exchange: Exchange| exchange.sync_scope(|| is_absence(&not_found));
        assert!(!is_absent(no_bucket()), "a key is not absent where there is no bucket");
        assert!(is_absent(answered(404, "NoSuchKey")) && is_absent(answered(404, "")));
        let generic = || Error::Generic { store: "S3", source: of_url("http://h/k?sig=secret") };
        for error in [&not_found, &generic()] {
            assert_eq!(
                told(no_bucket(), error),
                "cannot read `k`: there is no such bucket; check its name and the endpoint"
            );
        }
        let denied = Answer {
            status: 403,
            code: Some("SignatureDoesNotMatch".into()),
            message: Some("Not so".into()),
            ..Answer::default()
        };
        let failed = Failed { answer: Some(denied), for_credentials: false };
        let source = of_url("http://h/k?sig=secret");
        assert_eq!(
            told(Exchange::with(failed), &Error::PermissionDenied { path: path(), source }),
            "cannot read `k`: SignatureDoesNotMatch: Not so; check the keys"
        );
        let elsewhere = Answer {
            status: 400,
            code: Some("AuthorizationHeaderMalformed".into()),
            region: Some("eu-west-1".into()),
            ..Answer::default()
        };
        let failed = Failed { answer: Some(elsewhere), for_credentials: false };
        assert_eq!(
            told(Exchange::with(failed), &generic()),
            "cannot read `k`: the bucket lies in another region, `eu-west-1`; set `AWS_REGION` or the option `region`"
        );
        assert_eq!(
            told(answered(501, ""), &generic()),
            "cannot read `k`: the server answered 501 Not Implemented"
        );
        let moved = Answer { status: 307, location: Some("http://x".into()), ..Answer::default() };
        let failed = Failed { answer: Some(moved), for_credentials: false };
        let why = told(Exchange::with(failed), &generic());
        assert!(why.contains("redirects to another address, which is not followed"), "{why}");
        let failed = Failed { answer: None, for_credentials: true };
        let why = told(Exchange::with(failed), &generic());
        assert_eq!(why, "cannot read `k`: no credentials were found; check the keys");
    }

    /// The URL is in the error's text, and tells nothing of what is wrong.
    #[test]
    fn no_url_changes_what_is_wrong() {
        for word in [
            "metadata",
            "timed out",
            "deadline",
            "expecting",
            "(Connect)",
            "dns error",
            "without LOCATION",
            "PermanentRedirect",
            "AuthorizationHeaderMalformed expecting",
            "NoSuchBucket",
            "ContainerNotFound",
            "169.254.169.254",
            "status code: 416",
        ] {
            let path = || format!("{word}/k");
            let source = || of_url(&format!("http://h/{word}/k"));
            let generic = Error::Generic { store: "HTTP", source: source() };
            let why = told(answered(500, ""), &generic);
            assert_eq!(why, "cannot read `k`: the server answered 500 Internal Server Error");
            let denied = Error::PermissionDenied { path: path(), source: source() };
            let why = told(answered(403, ""), &denied);
            assert_eq!(why, "cannot read `k`: the server answered 403 Forbidden; check the keys");
            let not_found = Error::NotFound { path: path(), source: source() };
            assert!(answered(404, "").sync_scope(|| is_absence(&not_found)), "{word}");
            assert_eq!(Exchange::default().sync_scope(status), None);
        }
    }

    #[test]
    fn what_breaks_on_the_way_is_told_by_its_kind() {
        let broken = |kind| {
            let inner = HttpError::new(kind, io::Error::other("why"));
            // The connector has everything tried again by giving it this kind.
            let outer = HttpError::new(HttpErrorKind::Request, inner);
            told(Exchange::default(), &Error::Generic { store: "HTTP", source: outer.into() })
        };
        assert!(broken(HttpErrorKind::Timeout).contains("the server did not respond in time"));
        assert!(broken(HttpErrorKind::Connect).contains("cannot connect: why; check the endpoint"));
        assert_eq!(broken(HttpErrorKind::Interrupted), "cannot read `k`: why");
    }
}
