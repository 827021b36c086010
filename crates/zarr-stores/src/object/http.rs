//! Opens a folder of a web server for reading.

use std::sync::Arc;

use object_store::ClientOptions;
use object_store::http::HttpBuilder;
use reqwest::Url;
use reqwest::header::{AUTHORIZATION, HeaderMap, HeaderName, HeaderValue};
use zarr_core::store::Result;
use zarr_core::{StoreError, split_server, web_server};

use super::attached::Attached;
use super::index::Indices;
use super::settings::{Settings, decoded_prefix, invalid};
use super::{Backend, Connector, Location, ServiceInfo};

static SERVICE: ServiceInfo = ServiceInfo {
    bucket: "server",
    suffixes: true,
    writes: false,
    redirects: true,
    erases_many: false,
    longest_key: 8000,
    one_request: 0,
    credentials: "check that the server lets you read there; the store's options `bearer_token` and `header.NAME` send what it asks for, \
                  in the program `--http-header` and `ZARR_HTTP_BEARER_TOKEN`",
};

/// What begins the name of an option that is a header.
const HEADER: &str = "header.";

/// Headers that the store sets itself, or that would change what a body is.
const RESERVED: [&str; 13] = [
    "accept-encoding",
    "connection",
    "content-length",
    "expect",
    "host",
    "if-match",
    "if-modified-since",
    "if-none-match",
    "if-range",
    "if-unmodified-since",
    "range",
    "transfer-encoding",
    "upgrade",
];

/// The address of a web server, and what follows the `?` in a store's URL.
pub(super) struct WebAddress {
    /// Scheme and host, with what precedes an `@`.
    base: String,
    query: String,
}

/// The location that a URL names; `query` is what follows its `?`.
pub(super) fn location(url: &str, authority: &str, path: &str, query: &str) -> Result<Location> {
    let scheme = url.split(':').next().unwrap_or_default().to_ascii_lowercase();
    let prefix = decoded_prefix(url, path)?;
    let base = format!("{scheme}://{authority}");
    // What precedes an `@` is a secret.
    let host = authority.rsplit('@').next().unwrap_or_default();
    let port = host.rsplit_once(':').map_or("", |(_, port)| port);
    if !port.ends_with(']') && port.bytes().any(|byte| !byte.is_ascii_digit()) {
        let why = "what follows the `:` is not a port; a `/` in a password is written `%2F`";
        return Err(invalid(url, why));
    }
    let mut name = format!("{scheme}://{host}/{path}").trim_end_matches('/').to_owned();
    if !query.is_empty() {
        // Its values may be secrets.
        name.push_str("?…");
    }
    let web = Some(WebAddress { base: base.clone(), query: query.to_owned() });
    let indices = Some(Indices::new(&base));
    let location = Location::new(&name, prefix, &SERVICE, move |settings: &Settings, connector| {
        connect(&base, settings, connector)
    });
    Ok(Location { indices, web, ..location })
}

/// What is attached to each request: the headers among the options, which are taken out, and the query of the URL.
pub(super) fn attached(
    url: &str,
    address: &WebAddress,
    settings: &mut Settings,
) -> Result<Attached> {
    let of_headers = settings
        .options
        .extract_if(.., |(name, _)| name.starts_with(HEADER) || name == "bearer_token");
    let mut headers = HeaderMap::new();
    for (option, text) in of_headers {
        let (name, mut value) = header(url, &option, &text)?;
        value.set_sensitive(true);
        if headers.insert(name, value).is_some() {
            let why = "the options `bearer_token` and `header.authorization` are the same header; give one of them";
            return Err(invalid(url, why));
        }
    }
    for (variable, option, text) in of_environment(url, &address.base)? {
        let (name, mut value) = header(url, &option, &text)
            .map_err(|_| invalid(url, format!("{variable} has a header that cannot be sent")))?;
        value.set_sensitive(true);
        // Options come first.
        headers.entry(name).or_insert(value);
    }
    if headers.contains_key(AUTHORIZATION) && address.base.contains('@') {
        let why = "the URL has a user and password, and an option has the header `Authorization`; give one of them";
        return Err(invalid(url, why));
    }
    if headers.is_empty() && address.query.is_empty() {
        return Ok(Attached::default());
    }
    let mut server = Url::parse(&address.base).map_err(|e| invalid(url, e.to_string()))?;
    server.set_query(Some(&address.query));
    // As a request can have it: characters that no URL may have are percent-encoded.
    let query = server.query().filter(|query| !query.is_empty()).map(str::to_owned);
    Ok(Attached::new(server, headers, query))
}

/// The headers of the environment that are said to be for this server, each with its variable, and as an option. What does not name a server
/// could be for any, and is for nobody here.
fn of_environment(url: &str, base: &str) -> Result<Vec<(&'static str, String, String)>> {
    const HEADERS: &str = "ZARR_HTTP_HEADERS";
    const TOKEN: &str = "ZARR_HTTP_BEARER_TOKEN";
    let server = web_server(base);
    let mut found = Vec::new();
    for variable in [HEADERS, TOKEN] {
        let lines = std::env::var(variable).unwrap_or_default();
        for line in lines.lines() {
            let Some((named, header)) = split_server(line) else {
                let why = "has a line that begins with `http` and is not like `https://host:8443=Name: value`";
                return Err(invalid(url, format!("{variable} {why}")));
            };
            if named.is_none() || named != server {
                continue;
            }
            let (option, text) = match header.split_once(':') {
                _ if variable == TOKEN => ("bearer_token".to_owned(), header),
                Some((name, value)) => (format!("{HEADER}{}", name.trim()), value),
                None => {
                    let why = "has a line without a `:` between the name of a header and its value";
                    return Err(invalid(url, format!("{variable} {why}")));
                }
            };
            found.push((variable, option, text.to_owned()));
        }
    }
    Ok(found)
}

/// The header that an option is.
fn header(url: &str, option: &str, text: &str) -> Result<(HeaderName, HeaderValue), StoreError> {
    let Some(name) = option.strip_prefix(HEADER) else {
        let token = text.trim();
        if token.is_empty() {
            return Err(invalid(url, format!("option `{option}` is empty")));
        }
        // As some copy it from a header.
        let has_scheme = token.get(..7).is_some_and(|begin| begin.eq_ignore_ascii_case("bearer "));
        let token = if has_scheme { token[7..].trim_start() } else { token };
        return Ok((AUTHORIZATION, header_value(url, option, &format!("Bearer {token}"))?));
    };
    let Ok(name) = name.parse::<HeaderName>() else {
        // What stands there may be the value of a header.
        let why = "what follows `header.` in the name of an option is not a header name such as `x-api-key`";
        return Err(invalid(url, why));
    };
    if RESERVED.contains(&name.as_str()) {
        return Err(invalid(url, format!("the header `{name}` is set by the store itself")));
    }
    Ok((name, header_value(url, option, text.trim())?))
}

/// The value of a header. What a server repeats of one with other characters than ASCII's would not be recognised.
fn header_value(url: &str, option: &str, text: &str) -> Result<HeaderValue, StoreError> {
    match HeaderValue::from_str(text) {
        Ok(value) if text.is_ascii() => Ok(value),
        _ => {
            let why = "has a character in its value that is not sent in a header; only those of ASCII are";
            Err(invalid(url, format!("option `{option}` {why}")))
        }
    }
}

/// What the options say of the client.
pub(super) fn client_options(settings: &Settings) -> object_store::Result<ClientOptions> {
    let options = settings.client().with_allow_http(true);
    settings.apply_settings(options, "ZARR_HTTP_NO_SUCH_VARIABLE", ClientOptions::with_config)
}

fn connect(base: &str, settings: &Settings, connector: Connector) -> object_store::Result<Backend> {
    let builder = HttpBuilder::new()
        .with_retry(settings.retry())
        .with_client_options(client_options(settings)?)
        .with_http_connector(connector)
        .with_url(base);
    Ok(Arc::new(builder.build()?))
}
