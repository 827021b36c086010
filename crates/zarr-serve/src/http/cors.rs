//! Lets pages of other origins read, if that was asked for (the Fetch standard's CORS protocol).

use std::collections::BTreeSet;
use std::sync::Mutex;

use hyper::header::{
    ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN,
    ACCESS_CONTROL_EXPOSE_HEADERS, ACCESS_CONTROL_MAX_AGE, HOST, HeaderMap, HeaderName,
    HeaderValue, ORIGIN, VARY,
};

use zarr::sync::lock;

/// The headers that a client's script may read besides the few that it always may.
const EXPOSED: &str = "Accept-Ranges, Content-Length, Content-Range, ETag, X-Zarr-View";
/// The headers that a client's script may send.
const ALLOWED: &str =
    "Accept, Range, If-Match, If-None-Match, If-Range, Cache-Control, Content-Type, Pragma";
/// How many refused origins are remembered.
const MOST_TOLD: usize = 100;

/// Which origins may read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Origins {
    /// None but the server's own.
    #[default]
    None,
    /// Every one.
    Any,
    /// These: `https://viewer.example`.
    These(Vec<String>),
}

/// The origins, and which of them were refused so far.
#[derive(Debug, Default)]
pub(crate) struct Cors {
    pub origins: Origins,
    told: Mutex<BTreeSet<String>>,
}

impl Cors {
    pub fn new(origins: Origins) -> Cors {
        Cors { origins, told: Mutex::default() }
    }

    /// Adds the headers that let a request's origin read the answer. Returns the origin if it is refused for the first time.
    pub fn add(
        &self,
        request: &HeaderMap,
        is_preflight: bool,
        answer: &mut HeaderMap,
    ) -> Option<String> {
        let origin = request.get(ORIGIN)?;
        let allowed = match &self.origins {
            Origins::None => None,
            Origins::Any => Some(HeaderValue::from_static("*")),
            Origins::These(all) => {
                answer.append(VARY, HeaderValue::from_static("Origin"));
                let is_known = all.iter().any(|known| known.as_bytes() == origin.as_bytes());
                is_known.then(|| origin.clone())
            }
        };
        let Some(allowed) = allowed else { return self.refused(request, origin) };
        answer.insert(ACCESS_CONTROL_ALLOW_ORIGIN, allowed);
        answer.insert(ACCESS_CONTROL_EXPOSE_HEADERS, HeaderValue::from_static(EXPOSED));
        if is_preflight {
            answer.insert(ACCESS_CONTROL_ALLOW_METHODS, HeaderValue::from_static("GET, HEAD"));
            answer.insert(ACCESS_CONTROL_ALLOW_HEADERS, HeaderValue::from_static(ALLOWED));
            answer.insert(ACCESS_CONTROL_MAX_AGE, HeaderValue::from_static("600"));
            const LOCAL: HeaderName =
                HeaderName::from_static("access-control-request-private-network");
            if request.contains_key(LOCAL) {
                const ALLOW: HeaderName =
                    HeaderName::from_static("access-control-allow-private-network");
                answer.insert(ALLOW, HeaderValue::from_static("true"));
            }
        }
        None
    }

    fn refused(&self, request: &HeaderMap, origin: &HeaderValue) -> Option<String> {
        let origin = origin.to_str().ok()?;
        let host = request.get(HOST).and_then(|host| host.to_str().ok());
        // The server's own page.
        if host.is_some_and(|host| origin.split_once("://").is_some_and(|(_, it)| it == host)) {
            return None;
        }
        let mut told = lock(&self.told);
        (told.len() < MOST_TOLD && told.insert(origin.to_owned())).then(|| origin.to_owned())
    }
}
