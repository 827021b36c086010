//! Hides what may be a secret in the URLs that errors show.

use super::StoreError;
use crate::web_address::split_link;

/// A URL without what may be a secret: a user with a password, or of a web server any user, and what follows a `?`.
pub fn without_secrets(url: &str) -> String {
    if let Some((link, rest)) = split_link(url)
        && !rest.starts_with("//")
    {
        return format!("{link}::{}", without_secrets(rest));
    }
    let url = without_user(url);
    match url.split_once('?') {
        Some((url, _)) if url.contains("://") => format!("{url}?…"),
        _ => url,
    }
}

/// A text that may hold a URL, without the user in it.
fn without_user(text: &str) -> String {
    let Some((before, rest)) = text.split_once("://") else { return text.to_owned() };
    let authority = &rest[..rest.find(['/', '?']).unwrap_or(rest.len())];
    let is_secret = match authority.rsplit_once('@') {
        Some((user, _)) => user.contains(':') || before.to_ascii_lowercase().contains("http"),
        // A password may hold a `/`; what follows the `:` is no port then.
        None => authority.rsplit_once(':').is_some_and(|(_, port)| {
            !port.ends_with(']') && port.bytes().any(|byte| !byte.is_ascii_digit())
        }),
    };
    match rest.rsplit_once('@') {
        Some((_, rest)) if is_secret => format!("{before}://{rest}"),
        _ => text.to_owned(),
    }
}

impl StoreError {
    /// [`StoreError::InvalidUrl`], which shows no secret of the URL.
    pub fn invalid_url(url: &str, why: impl AsRef<str>) -> StoreError {
        StoreError::InvalidUrl { url: without_secrets(url), why: without_user(why.as_ref()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_are_shown_without_secrets() {
        for (url, shown) in [
            ("https://user:secret@host/x", "https://host/x"),
            ("https://secret@host/x", "https://host/x"),
            ("https://user:sec/ret@host/x", "https://host/x"),
            ("https://user:sec@ret@host/x", "https://host/x"),
            ("https://user:sec?ret@host/x", "https://host/x"),
            ("htp://user:secret@host", "htp://host"),
            ("zip://a/b::https://user:secret@host/x.zip", "zip://a/b::https://host/x.zip"),
            ("zip::HTTP://secret@host/x.zip", "zip::HTTP://host/x.zip"),
            ("zip:://user:secret@host/https://x", "zip:://host/https://x"),
            ("az://container/x?sig=secret", "az://container/x?…"),
            ("abfss://container@account.net/x", "abfss://container@account.net/x"),
            ("https://host:80/a@b", "https://host:80/a@b"),
            ("http://[::1]/a@b", "http://[::1]/a@b"),
            ("/data/a@b?c.zarr", "/data/a@b?c.zarr"),
        ] {
            assert_eq!(without_secrets(url), shown);
        }
    }
}
