//! The page to look at data: plain JavaScript modules, which ask `/-/…` for what they show.

use crate::listing::{encoded, escaped};
use crate::{Answer, Question, Targets};

/// What the page may load: its own files and what the server answers, nothing from elsewhere, no script or style in the document.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
const INDEX: &str = include_str!("files/index.html");
/// Where the names of what is served are in the page, for readers without JavaScript and for programs that look for links.
const NAMES: &str = "<!--TARGETS-->\n";

/// A module of the page.
macro_rules! modules {
    ($($name:literal),* $(,)?) => { &[$(($name, "text/javascript; charset=utf-8", include_str!(concat!("files/", $name)))),*] };
}

const MODULES: &[(&str, &str, &str)] = modules![
    "api.js",
    "axes.js",
    "channels.js",
    "chart.js",
    "chunks.js",
    "coast.js",
    "colour.js",
    "colours.js",
    "compare.js",
    "data.js",
    "distribution.js",
    "dom.js",
    "gestures.js",
    "help.js",
    "main.js",
    "memory.js",
    "number.js",
    "orthogonal.js",
    "overlays.js",
    "panels.js",
    "picture.js",
    "plate.js",
    "region.js",
    "sliders.js",
    "snippets.js",
    "state.js",
    "statistics.js",
    "tree.js",
];
const OTHERS: &[(&str, &str, &str)] = &[
    ("style.css", "text/css; charset=utf-8", include_str!("files/style.css")),
    ("icon.svg", "image/svg+xml", include_str!("files/icon.svg")),
];

fn with_policy(mut answer: Answer) -> Answer {
    answer.headers.push(("content-security-policy", POLICY.to_owned()));
    answer.headers.push(("referrer-policy", "no-referrer".to_owned()));
    answer.headers.push(("cache-control", "no-cache".to_owned()));
    answer
}

/// The page at `/`.
pub(crate) fn page(_: &Question, targets: &Targets) -> Answer {
    let links: String = targets
        .roots()
        .map(|(name, _)| format!("<li><a href=\"{}/\">{}</a></li>\n", encoded(name), escaped(name)))
        .collect();
    with_policy(Answer::new("text/html; charset=utf-8", INDEX.replace(NAMES, &links).into_bytes()))
}

/// A file of the page, by its name.
pub(crate) fn file(name: &str) -> Option<Answer> {
    let (_, kind, text) = MODULES.iter().chain(OTHERS).find(|(known, ..)| *known == name)?;
    Some(with_policy(Answer::new(kind, without_comments(text).into_bytes())))
}

/// The lines without their indentation, and without those that are only a comment: a seventh of all bytes, for those who look from
/// far away. No text of the page goes over several lines.
fn without_comments(text: &str) -> String {
    let lines = text.lines().map(str::trim_start);
    let lines = lines.filter(|line| !line.is_empty() && !line.starts_with("//"));
    lines.flat_map(|line| [line, "\n"]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A module that is not embedded would be missing only in the browser.
    #[test]
    fn every_module_that_is_imported_is_served() {
        let scripts = MODULES.iter().map(|(_, _, text)| *text);
        for line in scripts.flat_map(str::lines).filter(|line| line.starts_with("import ")) {
            let name = line
                .rsplit("\"./")
                .next()
                .and_then(|rest| rest.split('"').next())
                .unwrap_or_default();
            assert!(file(name).is_some(), "{line}");
        }
        let files =
            INDEX.split("/-/page/").skip(1).map(|rest| rest.split('"').next().unwrap_or_default());
        for name in files {
            assert!(file(name).is_some(), "{name}");
        }
        assert!(INDEX.contains(NAMES));
    }

    /// Lines are trimmed on their way: a template that goes over several would lose its spaces.
    #[test]
    fn no_text_goes_over_several_lines() {
        for (name, _, text) in MODULES {
            for (number, line) in text.lines().enumerate() {
                let quotes = line.matches('`').count();
                assert!(quotes % 2 == 0, "{name}:{}: {line}", number + 1);
            }
        }
    }

    /// What the browser's policy refuses, and what would parse data as HTML.
    #[test]
    fn nothing_is_inline_and_no_text_is_parsed() {
        assert!(
            !INDEX.contains("<script>") && !INDEX.contains("style=") && !INDEX.contains("onload=")
        );
        for (name, _, text) in MODULES {
            for word in [
                "innerHTML",
                "outerHTML",
                "insertAdjacentHTML",
                "document.write",
                "eval(",
                "new Function",
                "http://",
                "https://",
            ] {
                let is_name_of_svg = word == "http://" && *name == "dom.js";
                assert!(is_name_of_svg || !text.contains(word), "{name} has {word}");
            }
        }
    }
}
