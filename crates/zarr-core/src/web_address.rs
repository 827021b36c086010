//! Takes web addresses apart: the server that a URL names, and its query.

/// The scheme, host and port of a web address, such as `https://data.example:443`, of `zip::https://…` those of the archive's; `None` for
/// what is no web address. Two URLs with the same answer are on the same server.
///
/// ```
/// # use zarr_core::web_server;
/// assert_eq!(web_server("HTTPS://me:secret@Data.example/x.zarr"), web_server("https://data.example:443"));
/// assert_eq!(web_server("zip::http://host:80/x.zip").as_deref(), Some("http://host:80"));
/// assert_eq!(web_server("s3://bucket/x.zarr"), None);
/// ```
pub fn web_server(url: &str) -> Option<String> {
    let (scheme, rest) = without_link(url).split_once("://")?;
    let scheme = scheme.to_ascii_lowercase();
    let default_port = match scheme.as_str() {
        "http" => "80",
        "https" => "443",
        _ => return None,
    };
    // Clients take a `\` for a `/`.
    let authority = rest.split(['/', '?', '#', '\\']).next().unwrap_or_default();
    let host = authority.rsplit('@').next().unwrap_or_default().to_ascii_lowercase();
    let (name, port) = match host.rsplit_once(':') {
        // The colons of an address of IPv6 are in brackets.
        Some((name, port)) if !port.ends_with(']') => (name, port),
        _ => (host.as_str(), ""),
    };
    if name.is_empty() {
        return None;
    }
    let port = if port.is_empty() { default_port } else { port };
    Some(format!("{scheme}://{name}:{port}"))
}

/// A URL as what names the place, and the query of a web address, with its `?`. In paths and in the names of buckets a `?` is a character
/// like any other, and the query is empty.
pub fn split_query(url: &str) -> (&str, &str) {
    let place = without_link(url);
    let is_web = place.split_once("://").is_some_and(|(scheme, _)| {
        scheme.eq_ignore_ascii_case("http") || scheme.eq_ignore_ascii_case("https")
    });
    match url.find('?') {
        Some(at) if is_web => url.split_at(at),
        _ => (url, ""),
    }
}

/// The URL of what is below another one, its path before the query.
pub fn url_below(url: &str, relative: &str) -> String {
    let (place, query) = split_query(url);
    format!("{}/{}{query}", place.trim_end_matches('/'), relative.trim_start_matches('/'))
}

/// The server at the beginning of `https://host:8443=REST`, as [`web_server`] gives it, and the rest; without a server all is the rest. `None`
/// for what begins as an address of a server and is none, with a path, say.
pub fn split_server(text: &str) -> Option<(Option<String>, &str)> {
    let text = text.trim_matches([' ', '\t']);
    let is_address = ["http://", "https://"].iter().any(|scheme| {
        text.get(..scheme.len()).is_some_and(|begin| begin.eq_ignore_ascii_case(scheme))
    });
    if !is_address {
        return Some((None, text));
    }
    let (address, rest) = text.split_once('=')?;
    let (_, authority) = address.trim_end_matches('/').split_once("://")?;
    if authority.contains(['/', '?', '#', '\\', '@', ' ']) {
        return None;
    }
    Some((Some(web_server(address)?), rest))
}

/// The formats whose URLs are those of other stores with a link before, as in `zip::s3://bucket/x.zip`.
const LINKS: [&str; 6] = ["zip", "kerchunk", "hdf5", "netcdf3", "n5", "icechunk"];

/// The link, such as `zip` or `zip://folder`, and the URL of the store that it is in; `None` for a URL without a link.
pub(crate) fn split_link(url: &str) -> Option<(&str, &str)> {
    let (link, rest) = url.split_once("::")?;
    let name = link.split("://").next().unwrap_or_default();
    LINKS.contains(&name).then_some((link, rest))
}

/// The URL of the store that an archive is in, or else the URL itself.
fn without_link(url: &str) -> &str {
    split_link(url).map_or(url, |(_, rest)| rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_is_its_scheme_host_and_port() {
        for (url, server) in [
            ("https://host", Some("https://host:443")),
            ("HTTP://Host:/x", Some("http://host:80")),
            ("https://host:8443/a@b", Some("https://host:8443")),
            ("http://[::1]/x", Some("http://[::1]:80")),
            ("http://[::1]:81/x", Some("http://[::1]:81")),
            ("https://me:se@cret@host/x", Some("https://host:443")),
            ("zip://a/b::https://host/x.zip", Some("https://host:443")),
            // What a client connects to is `other`.
            ("https://other?@host/x", Some("https://other:443")),
            ("https://other#@host/x", Some("https://other:443")),
            ("https://other\\@host/x", Some("https://other:443")),
            ("https:///x", None),
            ("https://", None),
            ("s3://host/x", None),
            ("host/https://x", None),
            ("/data/x.zarr", None),
        ] {
            assert_eq!(web_server(url).as_deref(), server, "{url}");
        }
    }

    #[test]
    fn only_web_addresses_have_a_query() {
        for (url, split) in [
            ("https://host/x.zarr?a=/b?c", ("https://host/x.zarr", "?a=/b?c")),
            ("zip::HTTP://host/x.zip?a", ("zip::HTTP://host/x.zip", "?a")),
            ("https://host/x", ("https://host/x", "")),
            ("/data/x?y.zarr", ("/data/x?y.zarr", "")),
            ("s3://bucket/x?y", ("s3://bucket/x?y", "")),
            ("file:///x?y", ("file:///x?y", "")),
        ] {
            assert_eq!(split_query(url), split, "{url}");
        }
        assert_eq!(split_server(" X: https://host=y"), Some((None, "X: https://host=y")));
        let server = Some("https://host:443".to_owned());
        assert_eq!(split_server("HTTPS://Host/=X: a=b "), Some((server, "X: a=b")));
        for wrong in ["https://host", "https://host/x=X: y", "https://me@host=X: y", "https://=X"] {
            assert_eq!(split_server(wrong), None, "{wrong}");
        }
        assert_eq!(url_below("https://host/x/?a=/b", "/c/d"), "https://host/x/c/d?a=/b");
        assert_eq!(url_below("/data/x?y", "c"), "/data/x?y/c");
    }
}
