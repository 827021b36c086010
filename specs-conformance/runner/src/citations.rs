//! Finds what a text cites, and whether it exists: numbers of requirements, sections of specification pages, design notes.

use std::collections::BTreeSet;

use crate::requirements::anchors;

/// The folder of the design notes.
const NOTES: &str = "docs/internals/design/";

/// What can be cited.
#[derive(Clone, Debug, Default)]
pub struct Known {
    /// The name of a page of `docs/internals/spec`, and its anchors.
    pages: Vec<(String, BTreeSet<String>)>,
    /// The names of the pages of `docs/internals/design`.
    notes: BTreeSet<String>,
}

impl Known {
    /// Adds a page of `docs/internals/spec`.
    pub fn add_page(&mut self, name: &str, text: &str) {
        self.pages.push((name.into(), anchors(text).into_iter().map(str::to_owned).collect()));
    }

    /// Adds a page of `docs/internals/design`, by the name of its file without `.md`.
    pub fn add_note(&mut self, name: &str) {
        self.notes.insert(name.into());
    }

    /// What a line cites and does not exist, in the words of the line.
    pub fn missing(&self, line: &str) -> Vec<String> {
        let mut missing = Vec::new();
        let words: Vec<&str> = line.split_whitespace().collect();
        for (at, word) in words.iter().enumerate() {
            if let Some(name) = noted(word).filter(|name| !self.notes.contains(*name)) {
                missing.push(format!("{NOTES}{name}.md"));
            }
            let next = |n: usize| words.get(at + n).map(|word| trimmed(word)).unwrap_or_default();
            let word = trimmed(word);
            for code in codes(word).filter(|code| !self.has_anchor(code)) {
                missing.push(code.into());
            }
            if let Some((page, anchor)) = linked(word).filter(|(page, anchor)| {
                self.page(page).is_some_and(|anchors| !anchors.contains(*anchor))
            }) {
                missing.push(format!("{page}.md#{anchor}"));
            }
            if let Some(anchors) = word.strip_suffix(".md").and_then(|name| self.page(name))
                && is_section(next(1))
                && !anchors.contains(next(1))
            {
                missing.push(format!("{word} {}", next(1)));
            }
            let lower = word.trim_end_matches(".md").to_lowercase();
            // Notes have names, not numbers.
            if ["decision", "decisions"].contains(&lower.as_str()) && all_digits(next(1)) {
                missing.push(format!("{word} {}", next(1)));
            }
            let of_another = words[..at].iter().any(|word| trimmed(word) == "RFC");
            if ["section", "sections"].contains(&lower.as_str())
                && is_section(next(1))
                && !of_another
            {
                missing.push(format!("{word} {} (of which page?)", next(1)));
            }
        }
        missing
    }

    fn has_anchor(&self, code: &str) -> bool {
        self.pages.iter().any(|(_, anchors)| anchors.contains(code))
    }

    fn page(&self, name: &str) -> Option<&BTreeSet<String>> {
        self.pages.iter().find(|(page, _)| page == name).map(|(_, anchors)| anchors)
    }
}

/// The part of a line of Rust that is a comment.
pub fn comment(line: &str) -> &str {
    line.find("//").map_or("", |at| &line[at..])
}

/// A word without the punctuation around it.
fn trimmed(word: &str) -> &str {
    word.trim_matches(|c: char| !c.is_ascii_alphanumeric())
}

/// The numbers of requirements in a word: `D-040`, `Z2-001`, `V07` of `V07c`, `Q2`.
fn codes(word: &str) -> impl Iterator<Item = &str> {
    let parts = word.split(|c: char| !c.is_ascii_alphanumeric() && c != '-');
    parts.map(|part| part.trim_end_matches(|c: char| c.is_ascii_lowercase())).filter(|part| {
        if let Some((letters, number)) = part.split_once('-') {
            return ["D", "F", "N", "T", "Z2"].contains(&letters) && all_digits(number);
        }
        let (Some(letter), Some(number)) = (part.get(..1), part.get(1..)) else { return false };
        all_digits(number) && (letter == "V" && number.len() == 2 || letter == "Q")
    })
}

/// The page and the anchor of a link into `docs/internals/spec`: `[D-040](spec/draft-v3.md#D-040)`.
fn linked(word: &str) -> Option<(&str, &str)> {
    let (_, link) = word.split_once("spec/")?;
    let (page, anchor) = link.split_once(".md#")?;
    Some((page, anchor.split(|c: char| [')', '`', '"', '>'].contains(&c)).next()?))
}

/// The name of the note in a path to one: `docs/internals/design/limits.md`.
fn noted(word: &str) -> Option<&str> {
    let (_, path) = word.split_once(NOTES)?;
    path.split_once(".md").map(|(name, _)| name)
}

/// `7`, `2.2`.
fn is_section(word: &str) -> bool {
    let mut parts = word.split('.');
    parts.clone().count() <= 2 && parts.all(all_digits)
}

fn all_digits(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn known() -> Known {
        let mut known = Known::default();
        known.add_page("draft-v3", "<a id=\"D-040\"></a> <a id=\"2.2\"></a> <a id=\"V07\"></a>");
        known.add_page("v2", "<a id=\"7\"></a> <a id=\"Z2-001\"></a> <a id=\"Q2\"></a>");
        known.add_note("limits");
        known
    }

    #[test]
    fn what_exists_is_not_missing() {
        let lines = [
            "D-040, (Z2-001) V07c; `Q2`: a rule",
            "draft-v3.md 2.2, step 4; v2.md 7",
            "bounded (docs/internals/design/limits.md)",
            "[limits](../docs/internals/design/limits.md#sizes)",
            "[D-040](spec/draft-v3.md#D-040) and docs/internals/spec/v2.md#7",
            "V3, F-order, a decision of ours, T-shirt, Q, V, D-, 2-D, `V8`, V100",
            "RFC 8949, section 3.3",
            "nothing.md 8",
        ];
        for line in lines {
            assert_eq!(known().missing(line), Vec::<String>::new(), "{line}");
        }
    }

    #[test]
    fn what_does_not_exist_is_named() {
        let cases: [(&str, &[&str]); 11] = [
            ("as D-041 has it", &["D-041"]),
            ("(D-40, F-001)", &["D-40", "F-001"]),
            ("V08b Q3 Z2-002.", &["V08", "Q3", "Z2-002"]),
            ("D-040…D-043", &["D-043"]),
            ("draft-v3.md 2.9", &["draft-v3.md 2.9"]),
            ("(v2.md 8)", &["v2.md 8"]),
            ("decision 8", &["decision 8"]),
            ("DECISIONS.md 8: why", &["DECISIONS.md 8"]),
            ("the pages say so (section 2.2)", &["section 2.2 (of which page?)"]),
            ("[x](spec/draft-v3.md#D-099)", &["D-099", "draft-v3.md#D-099"]),
            ("(docs/internals/design/stores.md)", &["docs/internals/design/stores.md"]),
        ];
        for (line, expected) in cases {
            assert_eq!(known().missing(line), expected, "{line}");
        }
    }

    #[test]
    fn only_comments_of_rust_cite() {
        assert_eq!(comment("let x = 1; // D-040"), "// D-040");
        assert_eq!(comment("let V08 = 1;"), "");
    }
}
