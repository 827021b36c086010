//! Reads the pages of a server's listing before `object_store` does, which fails at the first name that is no key.

use std::ops::Range;

use bytes::Bytes;
use object_store::path::Path;

use super::answer::{self, unescaped};

/// The elements of a page that stand for keys and prefixes, and the element in each that has the name.
const ENTRIES: [(&str, &str); 4] = [
    // S3's and Google's.
    ("Contents", "Key"),
    ("CommonPrefixes", "Prefix"),
    // Azure's.
    ("Blob", "Name"),
    ("BlobPrefix", "Name"),
];

/// Whether a request is for a page of a listing.
pub(super) fn is_page(uri: &str) -> bool {
    let query = uri.split_once('?').map_or("", |(_, query)| query);
    query.split('&').any(|word| matches!(word, "list-type=2" | "comp=list"))
}

/// The keys and prefixes of a page, as it writes them; what has none is an entry as a whole.
pub(super) fn entries(page: &[u8]) -> Vec<&str> {
    let Ok(text) = std::str::from_utf8(page) else { return Vec::new() };
    let mut entries = Vec::new();
    for (entry, name) in ENTRIES {
        for range in elements(text, entry) {
            let whole = &text[range];
            entries.push(elements(whole, name).next().map_or(whole, |key| &whole[key]));
        }
    }
    entries
}

/// A page without the keys that have a segment `.`, `..` or an empty one; they are remembered for the listing's warning.
pub(super) fn without_unusable_keys(page: Bytes) -> Bytes {
    let Ok(text) = std::str::from_utf8(&page) else { return page };
    let mut unusable: Vec<Range<usize>> = Vec::new();
    for (entry, name) in ENTRIES {
        for range in elements(text, entry) {
            let key = elements(&text[range.clone()], name).next().map(|key| {
                let element = &text[range.clone()][key];
                unescaped(&element[name.len() + 2..element.len() - name.len() - 3])
            });
            if let Some(key) = key.filter(|key| Path::parse(key).is_err()) {
                answer::leave_out(key);
                unusable.push(range);
            }
        }
    }
    if unusable.is_empty() {
        return page;
    }
    unusable.sort_by_key(|range| range.start);
    let mut rest = 0;
    let mut kept = String::with_capacity(text.len());
    for range in unusable {
        kept.push_str(&text[rest..range.start]);
        rest = range.end;
    }
    kept.push_str(&text[rest..]);
    kept.into()
}

/// Where the elements of a name are in some XML, tags included. Elements of one name are never nested here.
fn elements<'a>(xml: &'a str, name: &str) -> impl Iterator<Item = Range<usize>> + use<'a> {
    let (begin, end) = (format!("<{name}>"), format!("</{name}>"));
    let mut at = 0;
    std::iter::from_fn(move || {
        let start = at + xml[at..].find(&begin)?;
        at = start + xml[start..].find(&end)? + end.len();
        Some(start..at)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_that_cannot_be_said_are_taken_out_of_a_page() {
        let page = "<L><Contents><Key>a/b</Key><Size>1</Size></Contents><Contents><Key>a/../b</Key></Contents>\
                    <CommonPrefixes><Prefix>x//</Prefix></CommonPrefixes><CommonPrefixes><Prefix>y/</Prefix>\
                    </CommonPrefixes><Blob><Name>&lt;./.</Name></Blob></L>";
        let (kept, left_out) = answer::Exchange::default()
            .sync_scope(|| (without_unusable_keys(page.into()), answer::left_out()));
        assert_eq!(
            kept,
            "<L><Contents><Key>a/b</Key><Size>1</Size></Contents><CommonPrefixes><Prefix>y/</Prefix>\
             </CommonPrefixes></L>"
        );
        assert_eq!(left_out, ["a/../b", "x//", "<./."]);
    }

    #[test]
    fn a_page_is_known_by_its_query() {
        assert!(is_page("http://h/b?prefix=x%2F&list-type=2"));
        assert!(is_page("http://h/b?restype=container&comp=list&marker=m"));
        assert!(!is_page("http://h/list-type=2"));
        assert!(!is_page("http://h/a?comp=block"));
    }
}
