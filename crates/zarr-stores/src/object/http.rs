//! Opens a folder of a web server for reading.

use std::sync::Arc;

use object_store::ClientOptions;
use object_store::http::HttpBuilder;
use zarr_core::store::Result;

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
    credentials: "check that the server lets everybody read there",
};

pub(super) fn location(url: &str, authority: &str, path: &str) -> Result<Location> {
    let scheme = url.split(':').next().unwrap_or_default().to_ascii_lowercase();
    let prefix = decoded_prefix(url, path)?;
    let base = format!("{scheme}://{authority}");
    // What precedes an `@` is a secret.
    let host = authority.rsplit('@').next().unwrap_or_default();
    let port = host.rsplit_once(':').map_or("", |(_, port)| port);
    if !port.ends_with(']') && port.bytes().any(|byte| !byte.is_ascii_digit()) {
        let why = "what follows the `:` is no port; a `/` in a password is written `%2F`";
        return Err(invalid(url, why));
    }
    let name = format!("{scheme}://{host}/{path}");
    let indices = Some(Indices::new(&base));
    let connect = move |settings: &Settings, connector| connect(&base, settings, connector);
    Ok(Location { indices, ..Location::new(&name, prefix, &SERVICE, connect) })
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
