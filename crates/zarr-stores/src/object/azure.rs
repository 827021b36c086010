//! Opens a container of Azure Blob Storage.

use std::sync::Arc;

use object_store::azure::{AzureConfigKey, MicrosoftAzureBuilder};
use zarr_core::store::Result;

use super::settings::{Settings, decoded_prefix, prefix};
use super::{Backend, Connector, Location, ServiceInfo};

static SERVICE: ServiceInfo = ServiceInfo {
    bucket: "container",
    // Nothing but ranges from the beginning (docs/internals/design/remote-stores.md).
    suffixes: false,
    writes: true,
    redirects: false,
    erases_many: false,
    longest_key: 1024,
    one_request: 5000 << 20,
    credentials: "check the credentials (`AZURE_STORAGE_ACCOUNT_NAME` with `AZURE_STORAGE_ACCOUNT_KEY` or \
                  `AZURE_STORAGE_SAS_TOKEN`) and what they permit; public data is read with \
                  `AZURE_SKIP_SIGNATURE=true`",
};

pub(super) fn location(url: &str, authority: &str, path: &str) -> Result<Location> {
    let scheme = url.split(':').next().unwrap_or_default().to_ascii_lowercase();
    let (base, prefix) = match scheme.as_str() {
        "https" => {
            let (container, rest) = path.split_once('/').unwrap_or((path, ""));
            (format!("https://{authority}/{container}"), decoded_prefix(url, rest)?)
        }
        scheme => (format!("{scheme}://{authority}"), prefix(path)),
    };
    Ok(Location::new(url, prefix, &SERVICE, move |settings, connector| {
        connect(&base, settings, connector)
    }))
}

fn connect(base: &str, settings: &Settings, connector: Connector) -> object_store::Result<Backend> {
    use AzureConfigKey as Key;
    let builder = MicrosoftAzureBuilder::new()
        .with_retry(settings.retry())
        .with_client_options(settings.client())
        .with_http_connector(connector)
        .with_url(base);
    let mut builder =
        settings.apply_settings(builder, "AZURE_", MicrosoftAzureBuilder::with_config)?;
    if let Ok(endpoint) = std::env::var("IDENTITY_ENDPOINT") {
        builder = builder.with_msi_endpoint(endpoint.trim_end());
    }
    let sources = [
        Key::AccessKey,
        Key::SasKey,
        Key::Token,
        Key::ClientId,
        Key::FederatedTokenFile,
        Key::MsiEndpoint,
    ];
    let has_credentials = sources.into_iter().any(|key| builder.get_config_value(&key).is_some());
    let is_true = |key: Key| builder.get_config_value(&key).as_deref() == Some("true");
    let is_elsewhere = is_true(Key::UseEmulator) || is_true(Key::UseAzureCli);
    let chosen = settings.sets(&["skip_signature", "azure_skip_signature"]);
    if builder
        .get_config_value(&Key::Endpoint)
        .is_some_and(|endpoint| endpoint.starts_with("http://"))
    {
        builder = builder.with_allow_http(true);
    }
    // A machine of Azure's, as its firmware says, has credentials that no setting mentions.
    let tag = std::fs::read_to_string("/sys/class/dmi/id/chassis_asset_tag");
    let is_azures = tag.is_ok_and(|tag| tag.trim() == "7783-7084-3265-9085-8269-3286-77");
    if !has_credentials && !is_elsewhere && !chosen && !is_azures {
        builder = builder.with_skip_signature(true);
    }
    Ok(Arc::new(builder.build()?))
}
