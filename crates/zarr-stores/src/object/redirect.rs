//! Follows redirects of web servers, without credentials (DECISIONS 43).

use object_store::client::{HttpClient, HttpError, HttpErrorKind, HttpRequest, HttpResponse};
use reqwest::header::{
    ACCEPT, HeaderName, IF_MATCH, IF_MODIFIED_SINCE, IF_NONE_MATCH, IF_UNMODIFIED_SINCE, LOCATION,
    RANGE,
};
use reqwest::{Method, Url};

use super::answer::Wrong;

/// How many redirects one request may meet.
const MOST: usize = 10;
/// What another address is told: which bytes, and of which version. Everything else might be a secret.
const KEPT: [HeaderName; 6] =
    [RANGE, IF_MATCH, IF_NONE_MATCH, IF_MODIFIED_SINCE, IF_UNMODIFIED_SINCE, ACCEPT];

/// Sends a request, and again to where the server points, if that is another address of a web server.
pub(super) async fn follow(
    client: &HttpClient,
    mut request: HttpRequest,
) -> Result<HttpResponse, HttpError> {
    for _ in 0..=MOST {
        let response = client.execute(request.clone()).await?;
        let reads = matches!(*request.method(), Method::GET | Method::HEAD);
        let points = matches!(response.status().as_u16(), 301 | 302 | 303 | 307 | 308);
        let Some(location) = response.headers().get(LOCATION).filter(|_| reads && points) else {
            return Ok(response);
        };
        let here = Url::parse(&request.uri().to_string()).ok();
        let next = location.to_str().ok().zip(here).and_then(|(to, here)| here.join(to).ok());
        let next = next.and_then(public_address).ok_or_else(|| refused(Wrong::BadRedirect))?;
        *request.uri_mut() = next.as_str().parse().map_err(|_| refused(Wrong::BadRedirect))?;
        let headers = request.headers_mut();
        let kept: Vec<_> =
            KEPT.iter().filter_map(|name| Some((name, headers.remove(name)?))).collect();
        headers.clear();
        headers.extend(kept.into_iter().map(|(name, value)| (name.clone(), value)));
    }
    Err(refused(Wrong::EndlessRedirects))
}

/// An address of a web server, without a user's name and password.
fn public_address(mut url: Url) -> Option<Url> {
    if !matches!(url.scheme(), "http" | "https") {
        return None;
    }
    url.set_username("").ok()?;
    url.set_password(None).ok()?;
    url.set_fragment(None);
    Some(url)
}

fn refused(wrong: Wrong) -> HttpError {
    HttpError::new(HttpErrorKind::Decode, wrong)
}
