//! Finds the tests of a source file, and their doc comments.

/// A test as its source has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Test {
    /// The function's name.
    pub name: String,
    /// The doc comment directly above it, its lines joined by blanks.
    pub doc: String,
}

/// The tests of a Rust file that run: functions marked `#[test]` or `#[tokio::test]`, without `#[ignore]`.
pub fn tests(source: &str) -> Vec<Test> {
    let mut tests = Vec::new();
    let mut above = Above::default();
    let mut inside_attribute = false;
    for line in source.lines().map(str::trim) {
        if inside_attribute {
            inside_attribute = !line.ends_with(']');
        } else if let Some(text) = line.strip_prefix("///") {
            above.doc.push(text.trim());
        } else if let Some(attribute) = line.strip_prefix("#[") {
            above.is_test |= attribute.starts_with("test]") || attribute.starts_with("tokio::test");
            above.is_ignored |= attribute.starts_with("ignore");
            inside_attribute = !line.ends_with(']');
        } else if !line.starts_with("//") {
            let above = std::mem::take(&mut above);
            if let Some(name) = function(line).filter(|_| above.is_test && !above.is_ignored) {
                tests.push(Test { name: name.into(), doc: above.doc.join(" ") });
            }
        }
    }
    tests
}

/// What stands above a line.
#[derive(Default)]
struct Above<'s> {
    doc: Vec<&'s str>,
    is_test: bool,
    is_ignored: bool,
}

/// The name of the function that begins on this line.
fn function(line: &str) -> Option<&str> {
    let line = line.strip_prefix("async ").unwrap_or(line);
    line.strip_prefix("fn ")?.split(['(', '<']).next()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tests_are_found_with_their_doc_comments() {
        let found = |source: &str| -> Vec<(String, String)> {
            tests(source).into_iter().map(|test| (test.name, test.doc)).collect()
        };
        let one = |name: &str, doc: &str| vec![(name.to_owned(), doc.to_owned())];
        assert_eq!(found("/// A.\n/// B.\n#[test]\nfn f() {}"), one("f", "A. B."));
        assert_eq!(found("/// A.\n\n#[test]\nfn f() {}"), one("f", ""));
        assert_eq!(found("#[cfg(\n  x\n)]\n/// A.\n#[test]\n// Why.\nfn f()"), one("f", "A."));
        assert_eq!(found("/// A.\n#[tokio::test]\nasync fn f() {}"), one("f", "A."));
        assert_eq!(found("proptest! {\n  /// A.\n  #[test]\n  fn f(x in 0..3) {}"), one("f", "A."));
        assert_eq!(found("//! A.\n#[test]\nfn f() {}"), one("f", ""));
        assert_eq!(found("/// A.\nfn f() {}\n#[test]\nfn g() {}"), one("g", ""));
        assert_eq!(found("/// A.\n#[test]\n#[ignore]\nfn f() {}"), []);
        assert_eq!(found("/// A.\n#[cfg(test)]\nfn f() {}"), []);
    }
}
