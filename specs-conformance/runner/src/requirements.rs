//! What do the specifications demand, and which of it does a text name?

use std::collections::BTreeSet;

/// How binding requirements can be; `-` is what is shown, but need not be named by a test.
pub const LEVELS: [&str; 5] = ["MUST", "SHOULD", "MAY", "DEC", "-"];

/// A line of a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Requirement {
    /// `D-040`, `row 9`: how texts name it.
    pub number: String,
    /// One of [`LEVELS`].
    pub level: String,
    /// What it demands, in a few words.
    pub demand: String,
    /// What has to be built before all of it can be tested.
    pub waits_for: Option<String>,
}

impl Requirement {
    /// Whether some test has to name it.
    pub fn needs_a_test(&self) -> bool {
        self.waits_for.is_none() && ["MUST", "SHOULD", "DEC"].contains(&self.level.as_str())
    }
}

/// The requirements between two headings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Section {
    /// The heading.
    pub title: String,
    /// In the order of the list.
    pub requirements: Vec<Requirement>,
}

/// The sections of a list. Its lines are a number, a level and a demand, which may end in `(waits for …)`;
/// brackets make a heading, and `#` a comment.
///
/// # Errors
/// Naming a line that is none of these, or a number that is listed twice.
pub fn parse(text: &str) -> Result<Vec<Section>, String> {
    let mut sections: Vec<Section> = Vec::new();
    for line in text.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
        if let Some(title) = line.strip_prefix('[').and_then(|line| line.strip_suffix(']')) {
            sections.push(Section { title: title.into(), requirements: Vec::new() });
            continue;
        }
        let requirement = requirement(line).ok_or_else(|| {
            format!("`{line}` is not a number, one of {} and a demand", LEVELS.join(", "))
        })?;
        let mut all = sections.iter().flat_map(|section| &section.requirements);
        if all.any(|other| other.number == requirement.number) {
            return Err(format!("`{}` is listed twice", requirement.number));
        }
        let section = sections.last_mut().ok_or_else(|| format!("`{line}` has no heading"))?;
        section.requirements.push(requirement);
    }
    Ok(sections)
}

fn requirement(line: &str) -> Option<Requirement> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let at = words.iter().position(|word| LEVELS.contains(word))?;
    let (number, demand) = (words[..at].join(" "), words[at + 1..].join(" "));
    let (demand, waits_for) =
        match demand.strip_suffix(')').and_then(|d| d.split_once(" (waits for ")) {
            Some((demand, feature)) => (demand.to_owned(), Some(feature.to_owned())),
            None => (demand, None),
        };
    let whole = split(&number).is_some() && !demand.is_empty();
    whole.then(|| Requirement { number, level: words[at].into(), demand, waits_for })
}

/// Which of the numbers a text names: one by one, or from one to another as in `D-040 … D-043` and
/// `D-040 to D-043`. A letter behind a number, as in `V07c`, counts for nothing.
pub fn named<'a>(text: &str, numbers: &[&'a str]) -> BTreeSet<&'a str> {
    let mut named = BTreeSet::new();
    let mut last: Option<(&str, usize)> = None;
    for (start, end) in words(text) {
        let word = text[start..end].trim_end_matches(|c: char| c.is_ascii_lowercase());
        let Some(number) = numbers.iter().copied().find(|&number| number == singular(word)) else {
            continue;
        };
        if let Some((first, behind)) = last
            && ["…", "to"].contains(&text[behind..start].trim())
        {
            named.extend(numbers.iter().copied().filter(|n| is_between(first, n, number)));
        }
        named.insert(number);
        last = Some((number, end));
    }
    named
}

/// `rows 8` names `row 8`.
fn singular(word: &str) -> String {
    word.replacen("rows ", "row ", 1)
}

/// Where words lie: letters, digits and hyphens; `row` takes the digits behind it along.
fn words(text: &str) -> Vec<(usize, usize)> {
    let mut words: Vec<(usize, usize)> = Vec::new();
    for (at, c) in text.char_indices().filter(|(_, c)| c.is_ascii_alphanumeric() || *c == '-') {
        match words.last_mut() {
            Some((_, end)) if *end == at => *end = at + 1,
            Some((start, end))
                if ["row", "rows"].contains(&&text[*start..*end])
                    && &text[*end..at] == " "
                    && c.is_ascii_digit() =>
            {
                *end = at + 1;
            }
            _ => words.push((at, at + 1)),
        }
    }
    words
}

/// What stands before a number, and the number: `D-` and 40.
fn split(number: &str) -> Option<(&str, u32)> {
    let prefix = number.trim_end_matches(|c: char| c.is_ascii_digit());
    let value = number[prefix.len()..].parse().ok()?;
    (!prefix.is_empty()).then_some((prefix, value))
}

fn is_between(first: &str, number: &str, last: &str) -> bool {
    match (split(first), split(number), split(last)) {
        (Some((a, from)), Some((b, value)), Some((c, to))) => {
            a == b && b == c && (from..=to).contains(&value)
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_read_to_the_line() {
        let text = "# a list\n[First]\nA-1 MUST do this\nrow 1 - see that\n[Second]\nA-2 MAY do\n";
        let sections = parse(text).unwrap();
        assert_eq!(sections.len(), 2);
        let [must, shown] = &sections[0].requirements[..] else {
            panic!("{sections:?}");
        };
        let words = (must.number.as_str(), must.level.as_str(), must.demand.as_str());
        assert_eq!(words, ("A-1", "MUST", "do this"));
        assert_eq!(shown.number, "row 1");
        assert!(must.needs_a_test() && !shown.needs_a_test());
        assert!(!sections[1].requirements[0].needs_a_test());
        let waiting = parse("[S]\nA-1 MUST do this (or that) (waits for the other)").unwrap();
        let waiting = &waiting[0].requirements[0];
        assert_eq!(waiting.demand, "do this (or that)");
        assert_eq!(waiting.waits_for.as_deref(), Some("the other"));
        assert!(!waiting.needs_a_test());
        for bad in ["A-1 MUST x", "[S]\nA-1 do", "[S]\nA MUST x", "[S]\nA-1 MUST", "[S]\nMUST x"] {
            assert!(parse(bad).is_err(), "{bad}");
        }
        assert!(parse("[S]\nA-1 MUST x\nA-1 MUST y").is_err());
    }

    #[test]
    fn texts_name_numbers_singly_and_from_one_to_another() {
        let numbers = ["A-001", "A-002", "A-003", "A-010", "B-002", "V07", "Q2", "row 8", "row 17"];
        let cases: [(&str, &[&str]); 9] = [
            ("a list A-001, A-003: why", &["A-001", "A-003"]),
            ("A-001 … A-003.", &["A-001", "A-002", "A-003"]),
            ("A-002…A-010", &["A-002", "A-003", "A-010"]),
            ("A-001 to A-002, A-010", &["A-001", "A-002", "A-010"]),
            ("A-001 to B-002", &["A-001", "B-002"]),
            ("V07c, Q2; row 17", &["Q2", "V07", "row 17"]),
            ("rows 8 and Q2", &["Q2", "row 8"]),
            ("A-0010 A-01 XA-001 Q22 row  8 arow 8", &[]),
            ("", &[]),
        ];
        for (text, expected) in cases {
            let found: Vec<&str> = named(text, &numbers).into_iter().collect();
            assert_eq!(found, expected, "{text}");
        }
    }
}
