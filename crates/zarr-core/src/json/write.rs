//! Writes JSON values as text.

use std::fmt::{self, Write};

use super::object::Object;
use super::value::Json;

/// The text of a value, cut to at most 80 characters.
pub(super) fn brief(value: &Json) -> String {
    // With the three dots of a text that was cut.
    const MAX_BRIEF_LENGTH: usize = 80;
    let mut brief = Brief { text: String::new(), left: MAX_BRIEF_LENGTH };
    if write_json(value, None, &mut brief).is_err() {
        let end = brief.text.char_indices().nth(MAX_BRIEF_LENGTH - 3).map_or(0, |(at, _)| at);
        brief.text.truncate(end);
        brief.text.push_str("...");
    }
    brief.text
}

impl fmt::Display for Json {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_json(self, f.alternate().then_some(0), f)
    }
}

/// As the JSON value: in one line, or indented with `{:#}`.
impl fmt::Display for Object {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_json(&Json::Object(self.clone()), f.alternate().then_some(0), f)
    }
}

/// Writes a value, each level indented by two spaces more than `indent` levels, or all in one line.
fn write_json(value: &Json, indent: Option<usize>, out: &mut impl Write) -> fmt::Result {
    match value {
        Json::Null => out.write_str("null")?,
        Json::Bool(value) => write!(out, "{value}")?,
        Json::Number(text) => out.write_str(text)?,
        Json::String(text) => write_string(text, out)?,
        Json::Array(items) => {
            // Only an array with objects goes over several lines.
            let has_objects = items.iter().any(|item| item.as_object().is_some());
            let inner = if has_objects { indent.map(|level| level + 1) } else { None };
            out.write_char('[')?;
            for (n, item) in items.iter().enumerate() {
                if n > 0 {
                    out.write_str(if indent.is_some() && inner.is_none() { ", " } else { "," })?;
                }
                if let Some(level) = inner {
                    line(out, level)?;
                }
                write_json(item, inner, out)?;
            }
            if let (Some(level), false) = (inner, items.is_empty()) {
                line(out, level - 1)?;
            }
            out.write_char(']')?;
        }
        Json::Object(object) => {
            let inner = indent.map(|i| i + 1);
            out.write_char('{')?;
            for (n, (name, item)) in object.iter().enumerate() {
                if n > 0 {
                    out.write_char(',')?;
                }
                if let Some(level) = inner {
                    line(out, level)?;
                }
                write_string(name, out)?;
                out.write_str(if indent.is_some() { ": " } else { ":" })?;
                write_json(item, inner, out)?;
            }
            if let (Some(level), false) = (inner, object.is_empty()) {
                line(out, level - 1)?;
            }
            out.write_char('}')?;
        }
    }
    Ok(())
}

fn line(out: &mut impl Write, level: usize) -> fmt::Result {
    out.write_char('\n')?;
    (0..level).try_for_each(|_| out.write_str("  "))
}

fn write_string(text: &str, out: &mut impl Write) -> fmt::Result {
    let quoted = serde_json::to_string(text).expect("a string can always be written as JSON");
    out.write_str(&quoted)
}

/// The beginning of a text, for messages. What comes after it is never written.
struct Brief {
    text: String,
    left: usize,
}

impl Write for Brief {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        for c in text.chars() {
            self.left = self.left.checked_sub(1).ok_or(fmt::Error)?;
            self.text.push(c);
        }
        Ok(())
    }
}
