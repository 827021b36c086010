//! Reads the requirements of a page of `docs/internals/spec`, and finds which of them a text names.

use std::collections::BTreeSet;

/// How binding a requirement can be; `-` is shown, and needs no test.
pub const LEVELS: [&str; 5] = ["MUST", "SHOULD", "MAY", "DEC", "-"];

/// One requirement of a page.
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
    /// Whether its tests stand for all of it.
    pub fulfilment: Fulfilment,
}

/// How much of a requirement the library does, as the page says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fulfilment {
    /// All of it.
    Whole,
    /// All but what the demand says is not done.
    InPart,
    /// What the demand says instead.
    Otherwise,
}

impl Requirement {
    /// Whether some test has to name it.
    pub fn needs_a_test(&self) -> bool {
        self.waits_for.is_none() && ["MUST", "SHOULD", "DEC"].contains(&self.level.as_str())
    }

    /// The anchor of its page that leads to it.
    pub fn anchor(&self) -> String {
        self.number.replace(' ', "-")
    }
}

/// The requirements between two headings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Section {
    /// The heading, without its number.
    pub title: String,
    /// In the order of the page.
    pub requirements: Vec<Requirement>,
}

/// The sections of a page that have requirements. A requirement is an item of a list that begins with an anchor,
/// `- <a id="D-040"></a>**D-040 MUST** what it demands`, or a row of a table, `| <a id="Q2"></a>Q2 | subject |`.
/// An item may end in `(waits for …)`; without a level it is `-`, as rows are. A demand may say `Not done: …` or `Done otherwise: …`.
///
/// # Errors
/// Naming an item or row that has an anchor and is neither of these, or an anchor that occurs twice.
pub fn parse(text: &str) -> Result<Vec<Section>, String> {
    let mut sections: Vec<Section> = Vec::new();
    let mut known = BTreeSet::new();
    for line in text.lines() {
        if let Some(twice) = anchors(line).into_iter().find(|&anchor| !known.insert(anchor)) {
            return Err(format!("the anchor `{twice}` is there twice"));
        }
        if let Some(heading) = line.strip_prefix("##") {
            sections.push(Section { title: title(heading).into(), requirements: Vec::new() });
            continue;
        }
        let found = match (line.strip_prefix("- <a id="), line.strip_prefix("| <a id=")) {
            (Some(item), _) => of_item(item),
            (_, Some(row)) => of_row(row),
            (None, None) => continue,
        };
        let found = found.ok_or_else(|| {
            format!("`{line}` is not an anchor, its number, a level and a demand")
        })?;
        let section = sections.last_mut().ok_or_else(|| format!("`{line}` has no heading"))?;
        section.requirements.push(found);
    }
    sections.retain(|section| !section.requirements.is_empty());
    Ok(sections)
}

/// The anchors of a page: those of requirements and those of numbered sections.
pub fn anchors(text: &str) -> Vec<&str> {
    text.split("<a id=\"").skip(1).filter_map(|rest| Some(rest.split_once('"')?.0)).collect()
}

/// ` Node names` of `# <a id="1.2"></a>1.2 Node names`.
fn title(heading: &str) -> &str {
    let text = heading.split_once("</a>").map_or(heading, |(_, text)| text);
    text.trim_start_matches(|c: char| c.is_ascii_digit() || ['#', '.', ' '].contains(&c))
}

/// `"D-040"></a>**D-040 MUST** what it demands`.
fn of_item(item: &str) -> Option<Requirement> {
    let (anchor, rest) = item.strip_prefix('"')?.split_once("\"></a>**")?;
    let (words, demand) = rest.split_once("** ")?;
    let (number, level) = words.split_once(' ').unwrap_or((words, "-"));
    let (demand, waits_for) =
        match demand.strip_suffix(')').and_then(|d| d.split_once(" (waits for ")) {
            Some((demand, feature)) => (demand, Some(feature.to_owned())),
            None => (demand, None),
        };
    requirement(anchor, number, level, demand, waits_for)
}

/// `"Q2"></a>Q2 | subject | text |`.
fn of_row(row: &str) -> Option<Requirement> {
    let (anchor, rest) = row.strip_prefix('"')?.split_once("\"></a>")?;
    let (number, cells) = rest.split_once(" | ")?;
    let (demand, _) = cells.split_once(" | ")?;
    requirement(anchor, number, "-", demand, None)
}

fn requirement(
    anchor: &str,
    number: &str,
    level: &str,
    demand: &str,
    waits_for: Option<String>,
) -> Option<Requirement> {
    let fulfilment = match demand {
        _ if demand.contains(". Not done: ") => Fulfilment::InPart,
        _ if demand.contains(". Done otherwise: ") => Fulfilment::Otherwise,
        _ => Fulfilment::Whole,
    };
    let found = Requirement {
        number: number.into(),
        level: level.into(),
        demand: demand.into(),
        waits_for,
        fulfilment,
    };
    let whole = split(number).is_some() && !demand.is_empty() && LEVELS.contains(&level);
    (whole && found.anchor() == anchor).then_some(found)
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

/// Where the words are: letters, digits and hyphens; `row` takes the digits behind it along.
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

/// The letters of a number, and its value: `D-` and 40.
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

    const PAGE: &str = r#"# A page
text that cites A-1
## <a id="1"></a>1. First
- <a id="A-1"></a>**A-1 MUST** do this

  In detail, with a - dash and A-2.
- no requirement
### <a id="1.2"></a>1.2 Nothing
## Second
| | subject |
|---|---|
| <a id="row-1"></a>row 1 | see that | more |
- <a id="A-2"></a>**A-2 MAY** do (or not) (waits for the other)
- <a id="V07"></a>**V07** seen
"#;

    #[test]
    fn pages_are_read_to_the_line() {
        let sections = parse(PAGE).unwrap();
        let titles: Vec<&str> = sections.iter().map(|section| section.title.as_str()).collect();
        assert_eq!(titles, ["First", "Second"]);
        let all: Vec<[&str; 3]> = sections
            .iter()
            .flat_map(|section| &section.requirements)
            .map(|found| [found.number.as_str(), found.level.as_str(), found.demand.as_str()])
            .collect();
        let expected = [
            ["A-1", "MUST", "do this"],
            ["row 1", "-", "see that"],
            ["A-2", "MAY", "do (or not)"],
            ["V07", "-", "seen"],
        ];
        assert_eq!(all, expected);
        assert!(sections[0].requirements[0].needs_a_test());
        let [row, waiting, shown] = &sections[1].requirements[..] else { panic!("{sections:?}") };
        assert_eq!((row.anchor().as_str(), row.needs_a_test()), ("row-1", false));
        assert_eq!(waiting.waits_for.as_deref(), Some("the other"));
        assert!(!waiting.needs_a_test() && !shown.needs_a_test());
        assert_eq!(anchors(PAGE), ["1", "A-1", "1.2", "row-1", "A-2", "V07"]);
    }

    #[test]
    fn a_demand_says_what_of_it_is_not_done_or_done_otherwise() {
        for (demand, expected) in [
            ("do this", Fulfilment::Whole),
            ("do this. Not done: that", Fulfilment::InPart),
            ("do this. Done otherwise: that is done", Fulfilment::Otherwise),
            ("what is done otherwise is said", Fulfilment::Whole),
        ] {
            let page = format!("## S\n- <a id=\"A-1\"></a>**A-1 MUST** {demand}\n");
            let found = &parse(&page).unwrap()[0].requirements[0];
            assert_eq!(found.fulfilment, expected, "{demand}");
            assert!(found.needs_a_test());
        }
    }

    #[test]
    fn what_has_an_anchor_and_is_no_requirement_is_an_error() {
        let bad = [
            "- <a id=\"A-1\"></a>**A-1 MUST** no heading",
            "## S\n- <a id=\"A-1\"></a>**A-2 MUST** x",
            "## S\n- <a id=\"A-1\"></a>**A-1 OUGHT** x",
            "## S\n- <a id=\"A-1\"></a>**A-1 MUST** ",
            "## S\n- <a id=\"A-1\"></a>A-1 MUST x",
            "## S\n| <a id=\"A-1\"></a>A-1 |",
            "## S\n- <a id=\"A\"></a>**A MUST** x",
            "## <a id=\"1\"></a>1. S\n## <a id=\"1\"></a>1. T",
            "## S\n- <a id=\"A-1\"></a>**A-1 MUST** x\n- <a id=\"A-1\"></a>**A-1 MUST** y",
        ];
        for bad in bad {
            assert!(parse(bad).is_err(), "{bad}");
        }
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
