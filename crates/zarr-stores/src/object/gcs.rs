//! Opens a bucket of Google Cloud Storage.

use std::sync::Arc;

use object_store::gcp::{GoogleCloudStorageBuilder, GoogleConfigKey};
use zarr_core::store::Result;

use super::settings::{Settings, prefix};
use super::{Backend, Connector, Location, ServiceInfo};

static SERVICE: ServiceInfo = ServiceInfo {
    bucket: "bucket",
    suffixes: true,
    writes: true,
    redirects: false,
    erases_many: false,
    longest_key: 1024,
    one_request: 5 << 40,
    credentials: "check the credentials (`GOOGLE_APPLICATION_CREDENTIALS`, or those of `gcloud auth application-default \
                  login`) and what they permit; public data is read with `GOOGLE_SKIP_SIGNATURE=true`",
};

pub(super) fn location(url: &str, authority: &str, path: &str) -> Result<Location> {
    let base = format!("gs://{authority}");
    Ok(Location::new(url, prefix(path), &SERVICE, move |settings, connector| {
        connect(&base, settings, connector)
    }))
}

fn connect(base: &str, settings: &Settings, connector: Connector) -> object_store::Result<Backend> {
    use GoogleConfigKey as Key;
    let mut builder = GoogleCloudStorageBuilder::new()
        .with_retry(settings.retry())
        .with_client_options(settings.client())
        .with_http_connector(connector)
        .with_url(base);
    if let Ok(path) = std::env::var("SERVICE_ACCOUNT") {
        builder = builder.with_service_account_path(path.trim_end_matches(['\r', '\n']));
    }
    builder =
        settings.apply_settings(builder, "GOOGLE_", GoogleCloudStorageBuilder::with_config)?;
    let sources = [Key::ServiceAccount, Key::ServiceAccountKey, Key::ApplicationCredentials];
    let has_credentials = sources.iter().any(|key| builder.get_config_value(key).is_some());
    let says = settings.sets(&["skip_signature", "google_skip_signature"]);
    // A machine of Google's, as its firmware says, has credentials that no setting mentions.
    let product = std::fs::read_to_string("/sys/class/dmi/id/product_name");
    let is_googles = product.is_ok_and(|name| name.contains("Google"));
    if !has_credentials && !says && !has_default_credentials() && !is_googles {
        builder = builder.with_skip_signature(true);
    }
    Ok(Arc::new(builder.build()?))
}

/// Whether `gcloud` left credentials here.
fn has_default_credentials() -> bool {
    let file = "gcloud/application_default_credentials.json";
    let home = std::env::home_dir().map(|home| home.join(".config").join(file));
    let windows = std::env::var_os("APPDATA").map(|data| std::path::PathBuf::from(data).join(file));
    [home, windows].into_iter().flatten().any(|path| path.is_file())
}
