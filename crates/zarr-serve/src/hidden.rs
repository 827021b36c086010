//! Keeps paths of this machine out of what clients get.

use std::path::Path;

use zarr::Json;
use zarr::store::Store;

/// Where the targets are, and what each is called.
#[derive(Debug, Default)]
pub(crate) struct Hidden(Vec<(String, String)>);

impl Hidden {
    /// Adds a target: the name of its store, and its path if it has one.
    pub fn add(&mut self, store: &dyn Store, path: Option<&Path>, name: &str) {
        let own = store.name();
        let mut places = vec![own.clone()];
        // The store of a file has its path in a URL.
        if let Some((_, path)) = own.split_once(":///") {
            let decoded = percent_encoding::percent_decode_str(path).decode_utf8_lossy();
            places.extend([format!("/{path}"), format!("/{decoded}")]);
        }
        if let Some(path) = path {
            let real = path.canonicalize().ok();
            let paths = [Some(path), real.as_deref()].into_iter().flatten();
            places.extend(paths.map(|path| path.display().to_string()));
        }
        for place in places {
            let place = place.trim_end_matches(['/', '\\']);
            let in_url = place.strip_prefix('/').map(encoded);
            let in_json = Json::from(place).to_string();
            let ways = ["file://", "zip://", "lmdb://"].iter();
            let urls =
                in_url.iter().flat_map(|path| ways.clone().map(move |way| format!("{way}/{path}")));
            let all = urls.chain([place.to_owned(), in_json.trim_matches('"').to_owned()]);
            self.0
                .extend(all.filter(|place| place.len() > 1).map(|place| (place, name.to_owned())));
        }
        // The longest first: one may be inside another.
        self.0.sort_by_key(|(place, _)| std::cmp::Reverse(place.len()));
        self.0.dedup();
    }

    /// A text with names in place of paths and URLs; nothing if it has none.
    pub fn text(&self, text: &str) -> Option<String> {
        let mut found = text.to_owned();
        for (place, name) in &self.0 {
            if found.contains(place) {
                found = replaced(&found, place, name);
            }
        }
        (found != text).then_some(found)
    }
}

/// A path as it is in a URL.
fn encoded(path: &str) -> String {
    path.split('/').map(crate::encoded).collect::<Vec<_>>().join("/")
}

/// `text` with `name` for each `place` that ends there: `/data` is not the beginning of `/database`.
fn replaced(text: &str, place: &str, name: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(place) {
        let (before, after) = (&rest[..at], &rest[at + place.len()..]);
        let goes_on = after.starts_with(|c: char| c.is_alphanumeric() || ['_', '-'].contains(&c));
        out.push_str(before);
        out.push_str(if goes_on { place } else { name });
        rest = after;
    }
    out.push_str(rest);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_and_urls_become_names() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a b\"c").join("x.zarr");
        std::fs::create_dir_all(&path).unwrap();
        let store = zarr::stores::FilesystemStore::new(&path);
        let mut hidden = Hidden::default();
        hidden.add(&*zarr::store::from_sync(store), Some(&path), "x.zarr");
        let shown = path.display().to_string();
        let url = format!("file://{}", shown.replace(' ', "%20").replace('"', "%22"));
        for (text, expected) in [
            (format!("store {url}: broken"), "store x.zarr: broken"),
            (format!("cannot open {shown}/c/0: no"), "cannot open x.zarr/c/0: no"),
            (Json::from(shown.as_str()).to_string(), "\"x.zarr\""),
            (format!("zip://{}/", &url[7..]), "x.zarr/"),
        ] {
            assert_eq!(hidden.text(&text).as_deref(), Some(expected), "{text}");
        }
        for text in [format!("{shown}-2"), "/a: no array".to_owned()] {
            assert_eq!(hidden.text(&text), None, "{text}");
        }
    }
}
