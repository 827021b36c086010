//! Opens a bucket of S3, or of a server with its protocol.

use std::sync::Arc;

use object_store::aws::{AmazonS3Builder, AmazonS3ConfigKey};
use zarr_core::store::Result;

use super::profile::Profile;
use super::region::BucketInRegion;
use super::settings::{Settings, decoded_prefix, prefix};
use super::{Backend, Connector, Location, ServiceInfo};

static SERVICE: ServiceInfo = ServiceInfo {
    bucket: "bucket",
    suffixes: true,
    writes: true,
    redirects: false,
    erases_many: true,
    longest_key: 1024,
    one_request: 5 << 30,
    credentials: "check the credentials (`AWS_ACCESS_KEY_ID` and `AWS_SECRET_ACCESS_KEY`, or `AWS_PROFILE`) and what \
                  they permit; public data is read with `AWS_SKIP_SIGNATURE=true`",
};

/// Where requests go if no region is set.
const DEFAULT_REGION: &str = "us-east-1";

pub(super) fn location(url: &str, authority: &str, path: &str) -> Result<Location> {
    let is_web = url.to_ascii_lowercase().starts_with("https:");
    // The first part of a web address's path is the bucket, or else the host's is.
    let bucket_is_in_path =
        authority.starts_with("s3.") || authority.ends_with("r2.cloudflarestorage.com");
    let (base, bucket, prefix) = if !is_web {
        (format!("s3://{authority}"), authority, prefix(path))
    } else if bucket_is_in_path {
        let (bucket, rest) = path.split_once('/').unwrap_or((path, ""));
        (format!("https://{authority}/{bucket}"), bucket, decoded_prefix(url, rest)?)
    } else {
        let bucket = authority.split('.').next().unwrap_or_default();
        (format!("https://{authority}"), bucket, decoded_prefix(url, path)?)
    };
    let bucket = bucket.to_owned();
    // Those of Cloudflare have none, and an endpoint that is known by the web address alone.
    let has_regions = !is_web || authority.to_ascii_lowercase().ends_with(".amazonaws.com");
    Ok(Location::new(url, prefix, &SERVICE, move |settings, connector| {
        let builder = builder(&base, &bucket, settings, connector.clone())?;
        // A region in a web address is not known before it is built.
        let region = builder.get_config_value(&AmazonS3ConfigKey::Region);
        let region = (!is_web).then(|| region.unwrap_or_else(|| DEFAULT_REGION.to_owned()));
        let first: Backend = Arc::new(builder.build()?);
        if !has_regions {
            return Ok(first);
        }
        let (bucket, settings) = (bucket.clone(), settings.clone());
        let in_region = BucketInRegion::new(first, region, move |region: &str| {
            // Not by the web address, which has a region.
            let url = format!("s3://{bucket}");
            let builder = self::builder(&url, &bucket, &settings, connector.clone())?;
            Ok(Arc::new(builder.with_region(region).build()?))
        });
        Ok(Arc::new(in_region))
    }))
}

fn builder(
    base: &str,
    bucket: &str,
    settings: &Settings,
    connector: Connector,
) -> object_store::Result<AmazonS3Builder> {
    use AmazonS3ConfigKey as Key;
    let mut builder = AmazonS3Builder::new()
        .with_retry(settings.retry())
        .with_client_options(settings.client())
        .with_http_connector(connector)
        .with_url(base);
    let profile = Profile::read().map_err(wrong)?;
    for (key, value) in profile.settings() {
        builder = builder.with_config(key, value);
    }
    builder = settings.apply_settings(builder, "AWS_", AmazonS3Builder::with_config)?;
    let sources = [
        Key::AccessKeyId,
        Key::SecretAccessKey,
        Key::WebIdentityTokenFile,
        Key::ContainerCredentialsRelativeUri,
        Key::ContainerCredentialsFullUri,
        Key::MetadataEndpoint,
    ];
    let has_credentials = sources.into_iter().any(|key| builder.get_config_value(&key).is_some());
    if !has_credentials && !settings.sets(&["skip_signature", "aws_skip_signature"]) {
        if let Some(obstacle) = profile.obstacle() {
            return Err(wrong(obstacle));
        }
        if let Some(process) = profile.process().map_err(wrong)? {
            builder = builder.with_credentials(Arc::new(process));
        } else if !is_in_ec2() {
            // Only a machine of Amazon's has credentials that no setting mentions.
            builder = builder.with_skip_signature(true);
        }
    }
    let endpoint = builder
        .get_config_value(&Key::S3Endpoint)
        .or_else(|| builder.get_config_value(&Key::Endpoint));
    if let Some(endpoint) = endpoint {
        if endpoint.starts_with("http://") {
            builder = builder.with_allow_http(true);
        }
        let hosted =
            builder.get_config_value(&Key::VirtualHostedStyleRequest).as_deref() == Some("true");
        if hosted
            && let Some((scheme, host)) = endpoint.split_once("://")
            && !host.starts_with(&format!("{bucket}."))
        {
            builder = builder.with_config(Key::S3Endpoint, format!("{scheme}://{bucket}.{host}"));
        }
    }
    Ok(builder)
}

/// An error of object_store's for settings that cannot be used.
fn wrong(why: String) -> object_store::Error {
    object_store::Error::Generic { store: "S3", source: why.into() }
}

/// Whether this machine is one of Amazon's, as its firmware says.
fn is_in_ec2() -> bool {
    file_says("/sys/class/dmi/id/sys_vendor", "amazon ec2")
        || file_says("/sys/class/dmi/id/board_vendor", "amazon ec2")
        || file_says("/sys/class/dmi/id/bios_version", "amazon")
}

/// Whether a file has a word, in any case.
fn file_says(file: &str, word: &str) -> bool {
    std::fs::read_to_string(file).is_ok_and(|text| text.to_ascii_lowercase().contains(word))
}
