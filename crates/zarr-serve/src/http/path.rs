//! Reads a request's path and query: text that becomes names and keys, never a path of the file system.

use percent_encoding::percent_decode_str;

/// The segments of a path, percent-decoded once, joined by `/` again, without the first `/`.
///
/// # Errors
/// What makes it no path here: bytes that are not UTF-8, a NUL, a backslash, a segment `.` or `..`, an empty segment before the
/// last.
pub(crate) fn decoded(path: &str) -> Result<String, &'static str> {
    let path = path.strip_prefix('/').ok_or("a path begins with `/`")?;
    let is_cut_off = path.match_indices('%').any(|(at, _)| {
        let digits = path.as_bytes().get(at + 1..at + 3);
        !digits.is_some_and(|digits| digits.iter().all(u8::is_ascii_hexdigit))
    });
    if is_cut_off {
        return Err("`%` must be followed by two hexadecimal digits");
    }
    let decoded = percent_decode_str(path).decode_utf8().map_err(|_| "it is not UTF-8")?;
    if decoded.contains('\0') {
        return Err("it has a NUL");
    }
    if decoded.contains('\\') {
        return Err("it has a backslash");
    }
    let inner = decoded.strip_suffix('/').unwrap_or(&decoded);
    if !decoded.is_empty() && inner.split('/').any(|segment| [".", "..", ""].contains(&segment)) {
        return Err("a segment is `.`, `..` or empty");
    }
    Ok(decoded.into_owned())
}

/// The names and values of a query.
pub(crate) fn pairs(query: &str) -> Vec<(String, String)> {
    let pairs = query.split('&').filter(|pair| !pair.is_empty());
    pairs
        .map(|pair| {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            (query_text(name), query_text(value))
        })
        .collect()
}

/// A name or a value of a query, in which `+` is a space.
fn query_text(text: &str) -> String {
    let text = text.replace('+', " ");
    percent_decode_str(&text).decode_utf8_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_leads_out() {
        for (path, expected) in [
            ("/", ""),
            ("/x.zarr/c/0", "x.zarr/c/0"),
            ("/x.zarr/", "x.zarr/"),
            ("/a%20b/%C3%A9", "a b/é"),
            ("/a%2Fb", "a/b"),
            ("/%252e%252e/x", "%2e%2e/x"),
            ("/...", "..."),
        ] {
            assert_eq!(decoded(path).as_deref(), Ok(expected), "{path}");
        }
        for bad in [
            "/..",
            "/../x",
            "/x/../y",
            "/%2e%2e/x",
            "/x/%2E%2e",
            "/x/%2e/y",
            "/x//y",
            "//x",
            "/x//",
            "/%00",
            "/x%5cy",
            "/x\\..\\y",
            "/%ff",
            "/%",
            "/%2",
            "/%zz",
            "",
            "x",
            "/..%2f..%2fetc/passwd",
            "/x/..%2f",
            "/./x",
        ] {
            assert!(decoded(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn queries_are_pairs() {
        let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        assert_eq!(
            pairs("a=1&b=x+y&c&d=%26%3d"),
            [pair("a", "1"), pair("b", "x y"), pair("c", ""), pair("d", "&=")]
        );
        assert!(pairs("").is_empty());
    }
}
