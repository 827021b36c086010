//! Lists what is below a prefix: as HTML of plain links, which fsspec and neuroglancer read, or as JSON.

use zarr::store::Listing;
use zarr::{Json, Object};

use crate::Answer;

/// What a listing's page may load: nothing, but for its own few rules of style.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// One line of a listing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    /// Its name, from the prefix on, without a `/`.
    pub name: String,
    /// Whether there is more below it.
    pub is_folder: bool,
    /// What a reader should know of it.
    pub note: Option<String>,
}

impl Entry {
    /// A prefix.
    pub fn folder(name: impl Into<String>) -> Entry {
        Entry { name: name.into(), is_folder: true, note: None }
    }

    /// A key.
    pub fn key(name: impl Into<String>) -> Entry {
        Entry { name: name.into(), is_folder: false, note: None }
    }

    /// The entries of a store's listing, folders first.
    pub fn of(listing: Listing) -> Vec<Entry> {
        let folders = listing.prefixes.into_iter().map(|it| Entry::folder(last_name(it.as_str())));
        let keys = listing.keys.into_iter().map(|it| Entry::key(last_name(it.as_str())));
        folders.chain(keys).collect()
    }

    /// The link to it, relative to the listing.
    fn href(&self) -> String {
        let slash = if self.is_folder { "/" } else { "" };
        format!("{}{slash}", encoded(&self.name))
    }
}

/// The last name of a path.
fn last_name(path: &str) -> String {
    path.trim_end_matches('/').rsplit('/').next().unwrap_or_default().to_owned()
}

/// A name as a segment of a URL's path: percent-encoded, its `/` too.
pub fn encoded(segment: &str) -> String {
    const KEPT: &percent_encoding::AsciiSet =
        &percent_encoding::NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b'~');
    percent_encoding::utf8_percent_encode(segment, KEPT).to_string()
}

/// Text as part of HTML.
pub(crate) fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            c => out.push(c),
        }
    }
    out
}

/// A page with a link for each entry.
pub(crate) fn html(title: &str, entries: impl IntoIterator<Item = Entry>) -> Answer {
    let title = escaped(title);
    let mut page = format!(
        "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>{title}</title>\n\
         <style>body {{ font: 16px/1.5 sans-serif; margin: 2em }} li {{ list-style: none }}</style></head>\n\
         <body><h1>{title}</h1><ul>\n"
    );
    for entry in entries {
        let slash = if entry.is_folder { "/" } else { "" };
        let note =
            entry.note.as_deref().map_or(String::new(), |note| format!(": {}", escaped(note)));
        let (href, name) = (entry.href(), escaped(&entry.name));
        page.push_str(&format!("<li><a href=\"{href}\">{name}{slash}</a>{note}</li>\n"));
    }
    page.push_str("</ul></body></html>\n");
    let mut answer = Answer::new("text/html; charset=utf-8", page.into_bytes());
    answer.headers.push(("content-security-policy", POLICY.into()));
    answer
}

/// `{"prefix", "folders": […], "keys": […]}`; notes are in `notes`, by name.
pub(crate) fn json(prefix: &str, entries: &[Entry]) -> Answer {
    let names = |folders: bool| -> Json {
        let of_kind = entries.iter().filter(|entry| entry.is_folder == folders);
        of_kind.map(|entry| Json::from(entry.name.as_str())).collect()
    };
    let mut notes = Object::new();
    for entry in entries {
        if let Some(note) = &entry.note {
            notes.insert(entry.name.as_str(), note.as_str());
        }
    }
    let mut listing = Object::new()
        .with("prefix", prefix)
        .with("folders", names(true))
        .with("keys", names(false));
    if !notes.is_empty() {
        listing.insert("notes", notes);
    }
    Answer::json(listing)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A name is text, in the page and in the link.
    #[test]
    fn names_are_no_markup() {
        let entries = [Entry::key("<img src=x onerror=alert(1)>"), Entry::folder("a b\"c")];
        let page = html("x & y", entries);
        let page = std::str::from_utf8(&page.bytes).unwrap();
        assert!(!page.contains("<img") && page.contains("&lt;img"));
        assert!(page.contains("<a href=\"a%20b%22c/\">a b&quot;c/</a>"), "{page}");
        assert!(page.contains("<h1>x &amp; y</h1>"));
    }
}
