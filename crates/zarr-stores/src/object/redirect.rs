//! Follows redirects of web servers. Another server gets no credentials (docs/internals/design/remote-stores.md).

use object_store::client::{HttpClient, HttpError, HttpErrorKind, HttpRequest, HttpResponse};
use reqwest::header::{
    ACCEPT, HeaderName, IF_MATCH, IF_MODIFIED_SINCE, IF_NONE_MATCH, IF_UNMODIFIED_SINCE, LOCATION,
    RANGE,
};
use reqwest::{Method, Url};

use super::answer::Wrong;
use super::attached::{Attached, WithoutHeaders};

/// How many redirects one request may meet.
const MAX_REDIRECTS: usize = 10;
/// The headers that another address gets: which bytes, and of which version. Everything else might be a secret.
const KEPT: [HeaderName; 6] =
    [RANGE, IF_MATCH, IF_NONE_MATCH, IF_MODIFIED_SINCE, IF_UNMODIFIED_SINCE, ACCEPT];

/// Sends a request, and again to where the server points, if that is another address of a web server. The headers of the user go
/// along until another server is asked, and not again if that one points back, since then it chooses the address.
pub(super) async fn follow(
    client: &HttpClient,
    mut request: HttpRequest,
    attached: &Attached,
) -> Result<HttpResponse, HttpError> {
    let mut elsewhere = None;
    for _ in 0..=MAX_REDIRECTS {
        let mut response = client.execute(request.clone()).await?;
        let reads = matches!(*request.method(), Method::GET | Method::HEAD);
        let points = matches!(response.status().as_u16(), 301 | 302 | 303 | 307 | 308);
        let Some(location) = response.headers().get(LOCATION).filter(|_| reads && points) else {
            if let Some(server) = elsewhere {
                response.extensions_mut().insert(WithoutHeaders(server));
            }
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
        if attached.has_headers() && elsewhere.is_none() {
            if attached.is_for(&next) {
                attached.attach_headers(&mut request);
            } else {
                elsewhere = Some(next.origin().ascii_serialization());
            }
        }
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

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use object_store::client::{HttpRequestBody, HttpResponseBody, HttpService};
    use reqwest::StatusCode;
    use reqwest::header::HeaderValue;

    use super::*;

    /// Points elsewhere at first, and remembers what it was told.
    #[derive(Debug, Default)]
    struct Pointing(Arc<Mutex<Vec<HttpRequest>>>);

    #[async_trait::async_trait]
    impl HttpService for Pointing {
        async fn call(&self, request: HttpRequest) -> Result<HttpResponse, HttpError> {
            let mut told = self.0.lock().expect("no panic");
            let mut response = HttpResponse::new(HttpResponseBody::from(Vec::new()));
            if told.is_empty() {
                *response.status_mut() = StatusCode::FOUND;
                let to = HeaderValue::from_static("//them:theirs@other/x");
                response.headers_mut().insert(LOCATION, to);
            }
            told.push(request);
            Ok(response)
        }
    }

    /// Whatever the first request had, the next one has what says which bytes, and no more.
    #[test]
    fn another_address_is_told_no_secret() {
        let told = Arc::<Mutex<Vec<HttpRequest>>>::default();
        let client = HttpClient::new(Pointing(told.clone()));
        let mut request = HttpRequest::new(HttpRequestBody::empty());
        *request.uri_mut() = "http://user:secret@host/k".parse().expect("a URI");
        for name in
            ["authorization", "cookie", "x-amz-security-token", "x-unknown", "range", "if-match"]
        {
            request.headers_mut().insert(name, HeaderValue::from_static("value"));
        }
        let answered = futures::executor::block_on(follow(&client, request, &Attached::default()))
            .expect("it is followed");
        assert_eq!(answered.status(), StatusCode::OK);
        let told = told.lock().expect("no panic");
        assert_eq!(told[1].uri(), "http://other/x");
        let mut names: Vec<_> = told[1].headers().keys().map(|name| name.as_str()).collect();
        names.sort();
        assert_eq!(names, ["if-match", "range"]);
    }
}
