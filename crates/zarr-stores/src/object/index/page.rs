//! Reads the indices that web servers give for folders: as HTML of Apache, nginx, lighttpd, Caddy, Python's `http.server` and `zarr serve`, or
//! as JSON of nginx, Caddy and `zarr serve`.
//!
//! A page is an index only if it says so itself; any other page may have links, too. Of its links those count that lead directly below the
//! folder.

use zarr_core::Json;

use crate::percent::decode;

/// How the titles of indices begin, in lower case.
const TITLES: [&str; 3] = ["index of ", "directory listing for ", "directory listing of "];

/// What a folder has, as its server says.
#[derive(Debug, Default, PartialEq, Eq)]
pub(in super::super) struct Page {
    /// Names, without `/`.
    pub folders: Vec<String>,
    pub files: Vec<String>,
    /// Links whose names are no text of UTF-8, or have a `/`.
    pub unusable: Vec<String>,
    /// Whether the server may leave out names that begin with a dot, as Apache and nginx do.
    pub hides: bool,
}

/// The index of the folder at the path `folder`, decoded, with a `/` at both ends; `None` if the page is another one.
pub(in super::super) fn parse(body: &[u8], folder: &str) -> Option<Page> {
    let text = std::str::from_utf8(body).ok()?.trim_start_matches('\u{feff}').trim_start();
    let mut page = match text.as_bytes().first()? {
        b'{' | b'[' => of_json(&Json::parse(text.as_bytes()).ok()?)?,
        b'<' => of_html(text, folder)?,
        _ => return None,
    };
    for names in [&mut page.folders, &mut page.files, &mut page.unusable] {
        names.sort_unstable();
        names.dedup();
    }
    Some(page)
}

fn of_json(json: &Json) -> Option<Page> {
    let mut page = Page::default();
    if let Some(object) = json.as_object() {
        // `zarr serve`.
        object.get("prefix")?.as_str()?;
        for (member, is_folder) in [("folders", true), ("keys", false)] {
            for name in object.get(member)?.as_array()? {
                page.add(name.as_str()?.to_owned(), is_folder);
            }
        }
        return Some(page);
    }
    let entries = json.as_array()?;
    // An empty folder, or one of nginx's with nothing but names that begin with a dot.
    page.hides = entries.is_empty();
    for entry in entries {
        let entry = entry.as_object()?;
        let name = entry.get("name")?.as_str()?;
        let is_folder = match (entry.get("type"), entry.get("is_dir")) {
            // nginx.
            (Some(kind), None) => {
                page.hides = true;
                match kind.as_str()? {
                    "directory" => true,
                    "file" => false,
                    _ => continue,
                }
            }
            // Caddy.
            (None, Some(is_folder)) => is_folder.as_bool()?,
            _ => return None,
        };
        page.add(name.strip_suffix('/').unwrap_or(name).to_owned(), is_folder);
    }
    page.hides &= page.shows_no_dots();
    Some(page)
}

fn of_html(text: &str, folder: &str) -> Option<Page> {
    let mut page = Page::default();
    let (mut is_index, mut is_apaches) = (false, false);
    let mut rest = text;
    while let Some(at) = rest.find('<') {
        rest = &rest[at + 1..];
        if let Some(comment) = rest.strip_prefix("!--") {
            rest = comment.find("-->").map_or("", |end| &comment[end + 3..]);
            continue;
        }
        let name_end = rest.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(rest.len());
        let name = rest[..name_end].to_ascii_lowercase();
        let (attributes, after) = tag(&rest[name_end..])?;
        rest = after;
        match &*name {
            // Links would lead from elsewhere.
            "base" => return None,
            // What is in them is no markup.
            "script" | "style" => rest = after_end_of(&name, rest),
            "title" => {
                let end = rest.find('<').unwrap_or(rest.len());
                let title = unescaped(rest[..end].trim());
                let lower = title.to_ascii_lowercase();
                is_apaches = lower.starts_with(TITLES[0]);
                let says_so = TITLES.iter().any(|begin| lower.starts_with(begin));
                // `zarr serve` gives the path alone.
                let is_path =
                    title.starts_with('/') && title.trim_matches('/') == folder.trim_matches('/');
                is_index = says_so || is_path;
                if !is_index {
                    return None;
                }
            }
            "a" => {
                if let Some(href) = attribute(attributes, "href") {
                    page.add_link(&unescaped(href.trim()), folder);
                }
            }
            _ => {}
        }
    }
    page.hides = is_apaches && page.shows_no_dots();
    is_index.then_some(page)
}

/// The attributes of a tag, and what follows its `>`. `None` if it has no end.
fn tag(text: &str) -> Option<(&str, &str)> {
    let mut quote = None;
    for (at, byte) in text.bytes().enumerate() {
        match (quote, byte) {
            (None, b'>') => return Some((&text[..at], &text[at + 1..])),
            (None, b'"' | b'\'') => quote = Some(byte),
            (Some(open), byte) if open == byte => quote = None,
            _ => {}
        }
    }
    None
}

/// What follows the end tag of an element whose content is no markup.
fn after_end_of<'a>(name: &str, text: &'a str) -> &'a str {
    let mut rest = text;
    while let Some(at) = rest.find("</") {
        rest = &rest[at + 2..];
        if rest.get(..name.len()).is_some_and(|found| found.eq_ignore_ascii_case(name)) {
            return rest;
        }
    }
    ""
}

/// The value of an attribute, as it is written.
fn attribute<'a>(attributes: &'a str, wanted: &str) -> Option<&'a str> {
    let mut rest = attributes;
    loop {
        rest = rest.trim_start_matches(|c: char| c.is_ascii_whitespace() || c == '/');
        if rest.is_empty() {
            return None;
        }
        // An `=` without a name before it is a part of one.
        let end = rest
            .char_indices()
            .skip(1)
            .find(|&(_, c)| c.is_ascii_whitespace() || c == '=')
            .map_or(rest.len(), |(at, _)| at);
        let (name, after) = rest.split_at(end);
        rest = after.trim_start();
        let mut value = "";
        if let Some(after) = rest.strip_prefix('=') {
            let after = after.trim_start();
            (value, rest) = match after.chars().next().filter(|c| matches!(c, '"' | '\'')) {
                Some(quote) => after[1..].split_once(quote).unwrap_or((&after[1..], "")),
                None => after
                    .split_at(after.find(|c: char| c.is_ascii_whitespace()).unwrap_or(after.len())),
            };
        }
        if name.eq_ignore_ascii_case(wanted) {
            return Some(value);
        }
    }
}

/// Text of HTML, with the characters that its references stand for. Each reference is read once.
fn unescaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('&') {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        // The longest that is known has eight letters.
        let end = rest.bytes().take(10).position(|byte| byte == b';');
        let character = end.and_then(|end| referenced(&rest[1..end]));
        match (end, character) {
            (Some(end), Some(character)) => {
                out.push(character);
                rest = &rest[end + 1..];
            }
            _ => {
                out.push('&');
                rest = &rest[1..];
            }
        }
    }
    out.push_str(rest);
    out
}

fn referenced(name: &str) -> Option<char> {
    match name {
        "amp" => Some('&'),
        "lt" => Some('<'),
        "gt" => Some('>'),
        "quot" => Some('"'),
        "apos" => Some('\''),
        "nbsp" => Some('\u{a0}'),
        _ => {
            let number = name.strip_prefix('#')?;
            let number = match number.strip_prefix(['x', 'X']) {
                Some(digits) => u32::from_str_radix(digits, 16),
                None => number.parse(),
            };
            char::from_u32(number.ok()?)
        }
    }
}

impl Page {
    fn shows_no_dots(&self) -> bool {
        !self.folders.iter().chain(&self.files).any(|name| name.starts_with('.'))
    }

    fn add(&mut self, name: String, is_folder: bool) {
        match name.as_str() {
            "" | "." | ".." => {}
            _ if name.contains(['/', '\0']) => self.unusable.push(name),
            _ if is_folder => self.folders.push(name),
            _ => self.files.push(name),
        }
    }

    /// Adds what a link leads to, if that is directly below the folder.
    fn add_link(&mut self, href: &str, folder: &str) {
        let href = href.split('#').next().unwrap_or_default();
        // Links that sort the page have a query.
        if href.contains('?') || href.starts_with("//") || has_scheme(href) {
            return;
        }
        let below = if href.starts_with('/') {
            let Some(below) = below(href, folder) else { return };
            below
        } else {
            href.strip_prefix("./").unwrap_or(href)
        };
        let (name, is_folder) = match below.strip_suffix('/') {
            Some(name) => (name, true),
            None => (below, false),
        };
        // Deeper, or out by `..`.
        if name.contains('/') {
            return;
        }
        match decode(name).and_then(|bytes| String::from_utf8(bytes).ok()) {
            Some(name) => self.add(name, is_folder),
            None => self.unusable.push(name.to_owned()),
        }
    }
}

/// What follows the folder in an absolute path, as it is written.
fn below<'a>(href: &'a str, folder: &str) -> Option<&'a str> {
    let depth = folder.matches('/').count();
    let (at, _) = href.match_indices('/').nth(depth.checked_sub(1)?)?;
    let (before, below) = href.split_at(at + 1);
    let before = decode(before).and_then(|bytes| String::from_utf8(bytes).ok())?;
    (before == folder).then_some(below)
}

/// Whether a link begins with a scheme, such as `https:` or `javascript:`. Names with a colon are written `./a:b` or with `%3A`.
fn has_scheme(href: &str) -> bool {
    let Some((scheme, _)) = href.split_once(':') else { return false };
    scheme.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(page: &str, folder: &str) -> Option<(Vec<String>, Vec<String>)> {
        parse(page.as_bytes(), folder).map(|page| (page.folders, page.files))
    }

    fn list(names: &[&str]) -> Vec<String> {
        names.iter().map(|&name| name.to_owned()).collect()
    }

    #[test]
    fn reads_the_index_of_apache() {
        let page = r#"<!DOCTYPE HTML PUBLIC "-//W3C//DTD HTML 3.2 Final//EN">
<html><head><title>Index of /data/a.zarr</title></head><body><h1>Index of /data/a.zarr</h1><table>
<tr><th><a href="?C=N;O=D">Name</a></th><th><a href="?C=M;O=A">Last modified</a></th></tr>
<tr><td valign="top"><img src="/icons/back.gif" alt="[PARENTDIR]"></td><td><a href="/data/">Parent Directory</a></td></tr>
<tr><td><a href="sea%20level/">sea level/</a></td></tr><tr><td><a href="zarr.json">zarr.json</a></td></tr>
<tr><td><a href="a&amp;b/">a&amp;b/</a></td></tr></table><address>Apache at h Port 80</address></body></html>"#;
        let read = parse(page.as_bytes(), "/data/a.zarr/").expect("an index");
        assert_eq!(read.folders, list(&["a&b", "sea level"]));
        assert_eq!(read.files, list(&["zarr.json"]));
        assert!(read.hides);
    }

    #[test]
    fn reads_the_index_of_nginx() {
        let page = "<html>\r\n<head><title>Index of /a.zarr/</title></head>\r\n<body>\r\n<h1>Index of /a.zarr/</h1><hr><pre>\
                    <a href=\"../\">../</a>\r\n<a href=\"c/\">c/</a>  28-Nov-2026 10:00  -\r\n<a href=\"x%3Ay\">x:y</a>\r\n</pre>";
        assert_eq!(names(page, "/a.zarr/"), Some((list(&["c"]), list(&["x:y"]))));
        let json = r#"[{"name":"c","type":"directory","mtime":"x"},{"name":"zarr.json","type":"file","size":3},{"name":"p","type":"other"}]"#;
        let read = parse(json.as_bytes(), "/").expect("an index");
        assert_eq!(
            (read.folders, read.files, read.hides),
            (list(&["c"]), list(&["zarr.json"]), true)
        );
        assert!(parse(b"[\n]", "/").expect("an index").hides);
    }

    #[test]
    fn reads_the_index_of_python() {
        let page = "<!DOCTYPE HTML>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<title>Directory listing for /a%20b/</title>\n</head>\n\
                    <body>\n<ul>\n<li><a href=\".zgroup\">.zgroup</a></li>\n<li><a href=\"t/\">t/</a></li>\n<li><a href='l'>l@</a></li></ul>";
        let read = parse(page.as_bytes(), "/a b/").expect("an index");
        assert_eq!(
            (read.folders, read.files, read.hides),
            (list(&["t"]), list(&[".zgroup", "l"]), false)
        );
    }

    #[test]
    fn reads_the_index_of_serve() {
        let page = "<!DOCTYPE html>\n<html><head><title>/x.zarr/g/</title><style>a > b {}</style></head><body><h1>/x.zarr/g/</h1><ul>\n\
                    <li><a href=\"a%2Fb\">a/b</a></li>\n<li><a href=\"t/\">t/</a>: a note</li>\n</ul>";
        let read = parse(page.as_bytes(), "/x.zarr/g/").expect("an index");
        assert_eq!((read.folders, read.files), (list(&["t"]), list(&[])));
        assert_eq!(read.unusable, list(&["a/b"]));
        let json = r#"{"prefix":"g/","folders":["t"],"keys":["zarr.json"],"notes":{"t":"x"}}"#;
        assert_eq!(names(json, "/x.zarr/g/"), Some((list(&["t"]), list(&["zarr.json"]))));
    }

    #[test]
    fn reads_the_index_of_caddy() {
        let json = r#"[{"name":"t/","size":1,"url":"./t/","is_dir":true},{"name":"k","size":1,"url":"./k","is_dir":false}]"#;
        assert_eq!(names(json, "/"), Some((list(&["t"]), list(&["k"]))));
    }

    #[test]
    fn takes_no_other_page_for_an_index() {
        for page in [
            "",
            "plain text",
            "<html><title>My data</title><a href=\"t/\">t</a>",
            "<html><a href=\"t/\">t</a>",
            "<html><title>/other/</title><a href=\"t/\">t</a>",
            "<html><base href=\"http://h/\"><title>Index of /d/</title><a href=\"t/\">t</a>",
            "<html><title>Index of /d/</title><a href=\"t/",
            r#"{"zarr_format":3,"node_type":"group"}"#,
            r#"{"prefix":"","folders":["t"]}"#,
            r#"[1, 2]"#,
            r#"[{"name":"x"}]"#,
        ] {
            assert_eq!(names(page, "/d/"), None, "{page}");
        }
    }

    #[test]
    fn follows_no_link_that_leads_out_or_deeper() {
        let links = [
            "../",
            "..",
            "/",
            "/d",
            "/other/x",
            "/d/../x",
            "//h/d/x",
            "http://h/d/x",
            "javascript:x",
            "mailto:a@b",
            "?C=N",
            "x?y",
            "#top",
            "a/b",
            "./",
            ".",
            "%2e%2e/",
            "/d/x/y",
            "a/../../b/",
        ];
        let links: String = links.iter().map(|link| format!("<a href=\"{link}\">x</a>")).collect();
        let page = format!(
            "<html><title>Index of /d/</title>{links}<A class=b HREF=/d/one>1</A><!-- <a href=no> --><script>'<a href=\"no\">'</script>"
        );
        assert_eq!(names(&page, "/d/"), Some((list(&[]), list(&["one"]))));
    }

    /// Nothing takes more than linear time.
    #[test]
    fn reads_hostile_pages_in_linear_time() {
        for piece in
            ["<", "&", "<a ", "<!--", "<a href=\"", "</script", "<script>", "<a href=x y=>", "&#x;"]
        {
            let page = format!("<title>Index of /</title>{}", piece.repeat(200_000));
            let _ = parse(page.as_bytes(), "/");
        }
    }
}
