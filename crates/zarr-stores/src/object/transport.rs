//! Builds the HTTP clients that requests are sent with.
//!
//! `object_store` can build them, too, but then they follow every redirect, and with the headers of the first request
//! (docs/internals/design/remote-stores.md). These follow none; `redirect.rs` does it where it is safe.

use std::hash::{BuildHasher, RandomState};
use std::net::{SocketAddr, ToSocketAddrs};
use std::sync::Arc;
use std::time::Duration;

use futures::channel::oneshot;
use object_store::client::HttpClient;
use object_store::{ClientConfigKey as Key, ClientOptions, Error};
use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use reqwest::redirect::Policy;
use reqwest::{Certificate, ClientBuilder as Builder, NoProxy, Proxy};
use rustls::crypto::CryptoProvider;
use zarr_core::runtime::spawn_thread;

const USER_AGENT: &str = concat!("zarr-stores/", env!("CARGO_PKG_VERSION"));

/// A client as the options describe it, which gives up when nothing arrives for as long as `stall` says.
///
/// # Errors
/// An option whose value makes no sense; no provider of cryptography for TLS.
pub(super) fn client(
    options: &ClientOptions,
    stall: Option<Duration>,
) -> object_store::Result<HttpClient> {
    find_tls_provider()?;
    let text = |key: Key| options.get_config_value(&key);
    let number =
        |key: Key| text(key).map(|value| value.parse::<u32>().map_err(|_| wrong(key))).transpose();
    let mut builder = Builder::new()
        .redirect(Policy::none())
        .dns_resolver(Arc::new(Resolver))
        .user_agent(text(Key::UserAgent).unwrap_or_else(|| USER_AGENT.to_owned()))
        .https_only(!flag(options, Key::AllowHttp)?)
        // A value is stored as it is sent.
        .no_gzip()
        .no_brotli()
        .no_zstd()
        .no_deflate()
        .danger_accept_invalid_certs(flag(options, Key::AllowInvalidCertificates)?)
        .http2_keep_alive_interval(time(options, Key::Http2KeepAliveInterval)?)
        .http2_keep_alive_while_idle(flag(options, Key::Http2KeepAliveWhileIdle)?)
        .http2_max_frame_size(number(Key::Http2MaxFrameSize)?);
    builder = with(builder, options.get_default_headers().cloned(), Builder::default_headers);
    builder = with(builder, time(options, Key::Timeout)?, Builder::timeout);
    builder = with(builder, time(options, Key::ConnectTimeout)?, Builder::connect_timeout);
    builder = with(builder, stall, Builder::read_timeout);
    builder = with(builder, time(options, Key::PoolIdleTimeout)?, Builder::pool_idle_timeout);
    builder = with(
        builder,
        time(options, Key::Http2KeepAliveTimeout)?,
        Builder::http2_keep_alive_timeout,
    );
    let most = number(Key::PoolMaxIdlePerHost)?.map(|most| most as usize);
    builder = with(builder, most, Builder::pool_max_idle_per_host);
    if let Some(url) = text(Key::ProxyUrl) {
        let mut proxy = Proxy::all(url).map_err(unusable)?;
        if let Some(excluded) = text(Key::ProxyExcludes) {
            proxy = proxy.no_proxy(NoProxy::from_string(&excluded));
        }
        if let Some(certificate) = text(Key::ProxyCaCertificate) {
            let certificate = Certificate::from_pem(certificate.as_bytes()).map_err(unusable)?;
            builder = builder.tls_certs_merge([certificate]);
        }
        builder = builder.proxy(proxy);
    }
    if flag(options, Key::NoSystemCertificates)? {
        builder = builder.tls_certs_only([]);
    }
    if flag(options, Key::Http1Only)? {
        builder = builder.http1_only();
    }
    if flag(options, Key::Http2Only)? {
        builder = builder.http2_prior_knowledge();
    }
    Ok(HttpClient::new(builder.build().map_err(unusable)?))
}

/// Whether an option is set.
fn flag(options: &ClientOptions, key: Key) -> object_store::Result<bool> {
    let text = options.get_config_value(&key).unwrap_or_default();
    match text.to_ascii_lowercase().as_str() {
        "1" | "true" | "on" | "yes" | "y" => Ok(true),
        "" | "0" | "false" | "off" | "no" | "n" => Ok(false),
        _ => Err(wrong(key)),
    }
}

/// An option that is a length of time.
fn time(options: &ClientOptions, key: Key) -> object_store::Result<Option<Duration>> {
    let Some(text) = options.get_config_value(&key) else { return Ok(None) };
    humantime::parse_duration(&text).map(Some).map_err(|_| wrong(key))
}

/// The error of an option with a value that it cannot have.
fn wrong(key: Key) -> Error {
    Error::Generic {
        store: "options",
        source: format!("option `{}` cannot have this value", key.as_ref()).into(),
    }
}

/// Makes sure that `rustls` has a provider of cryptography, without which `reqwest` panics. The process's own comes first: a program that needs a
/// certified one installs it before it opens a remote store.
fn find_tls_provider() -> object_store::Result<()> {
    if CryptoProvider::get_default().is_some() {
        return Ok(());
    }
    #[cfg(feature = "ring")]
    {
        // An error means that another thread has installed one since.
        let _ = rustls::crypto::ring::default_provider().install_default();
        Ok(())
    }
    #[cfg(not(feature = "ring"))]
    Err(Error::Generic {
        store: "options",
        // Or one that the program installs by `rustls::crypto::CryptoProvider::install_default`.
        source: "TLS needs a provider of cryptography; enable the feature `ring` of `zarr-stores`"
            .into(),
    })
}

/// The builder with an option, if that has a value.
fn with<T>(builder: Builder, value: Option<T>, set: impl Fn(Builder, T) -> Builder) -> Builder {
    value.into_iter().fold(builder, set)
}

fn unusable(error: reqwest::Error) -> Error {
    Error::Generic { store: "options", source: Box::new(error.without_url()) }
}

/// Asks the system for the addresses of a host, on a separate thread: a thread that cannot be had is an error.
#[derive(Debug)]
struct Resolver;

impl Resolve for Resolver {
    fn resolve(&self, name: Name) -> Resolving {
        Box::pin(async move {
            let (send, found) = oneshot::channel();
            spawn_thread("zarr-dns", move || {
                let found = (name.as_str(), 0).to_socket_addrs();
                let _ = send.send(found.map(|found| shuffled(found.collect())));
            })?;
            let found: Addrs = Box::new(found.await??.into_iter());
            Ok(found)
        })
    }
}

/// Requests go to all of a host's addresses.
fn shuffled(mut addresses: Vec<SocketAddr>) -> Vec<SocketAddr> {
    let random = RandomState::new();
    addresses.sort_by_key(|address| random.hash_one(address));
    addresses
}
