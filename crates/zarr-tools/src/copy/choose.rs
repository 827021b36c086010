//! Chooses the nodes of the source that are copied.

use std::collections::HashSet;

use zarr_core::format::Child;
use zarr_core::{AccessError, NodeKind, NodePath, Result};

use super::CopyOptions;

/// The path of a node from `base`, without a `/` before it; empty for `base` itself.
pub(super) fn below<'a>(base: &NodePath, path: &'a NodePath) -> &'a str {
    path.as_str()[base.as_str().trim_end_matches('/').len()..].trim_matches('/')
}

/// Whether the options choose a file that is not Zarr's, of this name from `base` on, in the folder of a node that is copied.
pub(super) fn is_file_chosen(
    base: &NodePath,
    owner: &NodePath,
    name: &str,
    options: &CopyOptions<'_>,
) -> bool {
    // A node that is included brings what is in its folder.
    let is_included = options.include.is_empty()
        || any_within(&options.include, name)
        || any_within(&options.include, below(base, owner));
    is_included && !any_within(&options.exclude, name)
}

/// Whether a pattern includes the name, or a node above it.
fn any_within(patterns: &[String], name: &str) -> bool {
    patterns.iter().any(|it| within(it, name))
}

/// The nodes that the options choose among the node at `base` and those below it, with the groups that they are in. A pattern of
/// what is left out may name files, too.
///
/// # Errors
/// [`AccessError::Argument`] for a pattern or a name that no node has.
pub(super) fn chosen(
    mut nodes: Vec<Child>,
    base: &NodePath,
    options: &CopyOptions<'_>,
) -> Result<Vec<Child>> {
    if let Some(only) = &options.only {
        nodes.retain(|child| only.contains(&child.path));
    }
    if !options.filters() {
        return Ok(nodes);
    }
    let names: Vec<String> =
        nodes.iter().map(|child| below(base, &child.path).to_owned()).collect();
    let known: Vec<&str> = names.iter().map(String::as_str).collect();
    for pattern in &options.include {
        if !names.iter().any(|name| matches(pattern, name)) {
            return Err(unknown(base, &known, "the pattern", pattern).into());
        }
    }
    for text in &options.select {
        let mut all = nodes.iter().zip(&names);
        if !all.any(|(child, name)| child.kind == Some(NodeKind::Array) && is_called(text, name)) {
            return Err(unknown(base, &known, "`select`:", text).into());
        }
    }
    let mut kept = HashSet::from([base.clone()]);
    let mut left: Vec<&str> = Vec::new();
    for (child, name) in nodes.iter().zip(&names) {
        let included = options.include.is_empty() || any_within(&options.include, name);
        let selected = options.select.is_empty()
            || child.kind == Some(NodeKind::Array)
                && options.select.iter().any(|text| is_called(text, name));
        if !included || !selected || any_within(&options.exclude, name) {
            continue;
        }
        left.push(name);
        kept.extend(child.path.ancestors().take_while(|path| path.is_within(base)));
        kept.insert(child.path.clone());
    }
    for pattern in &options.include {
        if !left.iter().any(|name| within(pattern, name)) {
            let why =
                format!("the pattern `{pattern}` names only nodes that other options leave out");
            return Err(AccessError::Argument(why).into());
        }
    }
    if kept.len() == 1 && nodes.len() > 1 {
        return Err(AccessError::Argument(format!("all nodes below {base} are left out")).into());
    }
    nodes.retain(|child| kept.contains(&child.path));
    Ok(nodes)
}

/// Whether the options copy a node, as far as patterns say: it, or a group that it is in, is included, and none is left out.
pub fn is_included(options: &CopyOptions<'_>, base: &NodePath, path: &NodePath) -> bool {
    let name = below(base, path);
    (options.include.is_empty() || any_within(&options.include, name))
        && !any_within(&options.exclude, name)
}

/// Whether the text is the path of a node, or its name. One that begins with a slash is a path.
fn is_called(text: &str, name: &str) -> bool {
    let (is_path, text) = (text.starts_with('/'), text.trim_matches('/'));
    name == text || !is_path && name.rsplit('/').next() == Some(text)
}

/// The error of a text that names nothing.
fn unknown(base: &NodePath, names: &[&str], what: &str, text: &str) -> AccessError {
    let known = names.iter().copied().filter(|name| !name.is_empty());
    let known: Vec<&str> = known.collect();
    // A pattern is one of whole paths.
    let deeper = known.iter().copied().find(|name| name.rsplit('/').next() == Some(text));
    let last = known.iter().filter_map(|name| name.rsplit('/').next());
    let near = deeper.or_else(|| zarr_core::did_you_mean(text, known.iter().copied().chain(last)));
    let near = near.map_or(String::new(), |near| format!("; did you mean `{near}`?"));
    AccessError::Argument(format!("{what} `{text}` matches no node below {base}{near}"))
}

/// Refuses a pattern of what is left out that names nothing.
///
/// # Errors
/// [`AccessError::Argument`].
pub(super) fn check_excluded(
    base: &NodePath,
    nodes: &[&NodePath],
    files: &[&str],
    options: &CopyOptions<'_>,
) -> Result<()> {
    let names = nodes.iter().map(|path| below(base, path)).chain(files.iter().copied());
    let names: Vec<&str> = names.collect();
    match options.exclude.iter().find(|pattern| !names.iter().any(|name| within(pattern, name))) {
        Some(pattern) => Err(unknown(base, &names, "the pattern", pattern).into()),
        None => Ok(()),
    }
}

/// Whether a pattern matches the name of a node, or that of a group which the node is in.
fn within(pattern: &str, name: &str) -> bool {
    let ends = name.match_indices('/').map(|(end, _)| end).chain([name.len()]);
    ends.into_iter().any(|end| matches(pattern, &name[..end]))
}

/// Whether a pattern matches all of a path: `*` is any part of one name, `**` any part of the path, `?` one character.
fn matches(pattern: &str, path: &str) -> bool {
    let pattern: Vec<char> = pattern.trim_matches('/').chars().collect();
    let path: Vec<char> = path.chars().collect();
    // For each length of the path's beginning, whether the pattern so far matches it.
    let mut fits = vec![false; path.len() + 1];
    fits[0] = true;
    let mut at = 0;
    while at < pattern.len() {
        let stars = pattern[at..].iter().take_while(|&&c| c == '*').count();
        let before = std::mem::replace(&mut fits, vec![false; path.len() + 1]);
        for end in 0..=path.len() {
            fits[end] = match (stars, pattern[at]) {
                (0, '?') => end > 0 && before[end - 1] && path[end - 1] != '/',
                (0, c) => end > 0 && before[end - 1] && path[end - 1] == c,
                (1, _) => before[end] || end > 0 && fits[end - 1] && path[end - 1] != '/',
                _ => before[end] || end > 0 && fits[end - 1],
            };
        }
        at += stars.max(1);
    }
    fits[path.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_match_whole_paths() {
        for (pattern, path) in [
            ("a", "a"),
            ("/a/", "a"),
            ("a/*", "a/b"),
            ("*/b", "a/b"),
            ("**", "a/b/c"),
            ("**/c", "a/b/c"),
            ("a?c", "abc"),
            ("t*_m*", "temp_max"),
            ("a**c", "a/b/c"),
        ] {
            assert!(matches(pattern, path), "{pattern} {path}");
        }
        for (pattern, path) in [
            ("a", "ab"),
            ("a/*", "a/b/c"),
            ("*", "a/b"),
            ("a?b", "a/b"),
            ("**/c", "c/d"),
            ("", "a"),
        ] {
            assert!(!matches(pattern, path), "{pattern} {path}");
        }
        assert!(within("a/*", "a/b/c") && !within("a/*", "a"));
    }

    /// No pattern takes long: each character of it is one pass over the path.
    #[test]
    fn many_stars_take_no_time() {
        let path = "a".repeat(2000);
        assert!(!matches(&"*a".repeat(300).replace("a*", "a*b*"), &path));
    }
}
