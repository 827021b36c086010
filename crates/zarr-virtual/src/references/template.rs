//! Evaluates the templates of kerchunk's references: of Jinja only what its specification shows (V-021).
//!
//! Between `{{` and `}}` stand a name, a whole number, a text, `+ - * // %`, parentheses, `'%02i' % i`, or a call of another
//! template, `name(c='x')`. There are no loops, so that what a stranger's file can ask for is bounded by its own size.

use std::collections::HashMap;

/// How deep templates may call each other, and parentheses may nest.
const MAX_DEPTH: usize = 16;
/// The most bytes of a text that a template makes.
const MAX_TEXT: usize = 64 << 10;

/// What a name in a template stands for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Value {
    Integer(i64),
    Text(String),
}

/// Templates by name.
#[derive(Debug, Default)]
pub(super) struct Templates(HashMap<String, String>);

/// Names and what they stand for where an expression is evaluated.
type Variables<'a> = [(&'a str, Value)];

impl Templates {
    pub fn insert(&mut self, name: String, text: String) {
        self.0.insert(name, text);
    }

    /// The text with all between `{{` and `}}` replaced.
    ///
    /// # Errors
    /// A sentence that quotes what is not supported.
    pub fn render(&self, text: &str, variables: &Variables<'_>) -> Result<String, String> {
        self.render_at(text, variables, 0)
    }

    fn render_at(
        &self,
        text: &str,
        variables: &Variables<'_>,
        depth: usize,
    ) -> Result<String, String> {
        if depth > MAX_DEPTH {
            return Err(format!("templates call each other more than {MAX_DEPTH} levels deep"));
        }
        let mut rest = text;
        let mut rendered = String::new();
        while let Some((before, after)) = rest.split_once("{{") {
            let Some((expression, behind)) = after.split_once("}}") else {
                return Err(format!("`{text}`: `}}}}` is missing"));
            };
            rendered.push_str(before);
            let mut parser = Parser { templates: self, variables, rest: expression, depth };
            match parser.whole().map_err(|why| format!("`{{{{{expression}}}}}`: {why}"))? {
                Value::Integer(number) => rendered.push_str(&number.to_string()),
                Value::Text(text) => rendered.push_str(&text),
            }
            if rendered.len() > MAX_TEXT {
                return Err(format!("`{text}` becomes longer than {MAX_TEXT} bytes"));
            }
            rest = behind;
        }
        if rest.contains("{%") || rest.contains("{#") {
            return Err(format!("`{text}`: of Jinja only `{{{{…}}}}` is supported"));
        }
        rendered.push_str(rest);
        Ok(rendered)
    }
}

/// What of an expression is still to be read.
struct Parser<'a> {
    templates: &'a Templates,
    variables: &'a Variables<'a>,
    rest: &'a str,
    depth: usize,
}

impl<'a> Parser<'a> {
    fn whole(&mut self) -> Result<Value, String> {
        let value = self.sum()?;
        match self.rest.trim_start() {
            "" => Ok(value),
            rest => Err(format!("`{rest}` is not supported")),
        }
    }

    /// Whether `token` follows, which then is passed over.
    fn take(&mut self, token: &str) -> bool {
        let rest = self.rest.trim_start();
        match rest.strip_prefix(token) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    fn sum(&mut self) -> Result<Value, String> {
        let mut value = self.product()?;
        loop {
            let (operator, apply): (_, fn(i64, i64) -> Option<i64>) = if self.take("+") {
                ("+", i64::checked_add)
            } else if self.take("-") {
                ("-", i64::checked_sub)
            } else {
                return Ok(value);
            };
            let right = self.product()?;
            value = integers(value, operator, right, apply)?;
        }
    }

    fn product(&mut self) -> Result<Value, String> {
        let mut value = self.signed()?;
        loop {
            if self.take("//") {
                let right = self.signed()?;
                value = integers(value, "//", right, floor_division)?;
            } else if self.take("*") {
                let right = self.signed()?;
                value = integers(value, "*", right, i64::checked_mul)?;
            } else if self.take("%") {
                let right = self.signed()?;
                value = match value {
                    Value::Text(format) => Value::Text(formatted(&format, &right)?),
                    left => integers(left, "%", right, floor_remainder)?,
                };
            } else {
                return Ok(value);
            }
        }
    }

    fn signed(&mut self) -> Result<Value, String> {
        if !self.take("-") {
            return self.primary();
        }
        let value = self.primary()?;
        integers(Value::Integer(0), "-", value, i64::checked_sub)
    }

    fn primary(&mut self) -> Result<Value, String> {
        if self.take("(") {
            self.depth += 1;
            if self.depth > MAX_DEPTH {
                return Err(format!("more than {MAX_DEPTH} levels of parentheses"));
            }
            let value = self.sum()?;
            self.depth -= 1;
            return if self.take(")") { Ok(value) } else { Err("`)` is missing".into()) };
        }
        let rest = self.rest.trim_start();
        if let Some(quote) = rest.chars().next().filter(|c| matches!(c, '\'' | '"')) {
            return self.text(quote).map(Value::Text);
        }
        let end =
            rest.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).unwrap_or(rest.len());
        let (word, behind) = rest.split_at(end);
        if word.is_empty() {
            return Err(match rest.chars().next() {
                Some(c) => format!("`{c}` is not supported"),
                None => "an operand is missing".into(),
            });
        }
        self.rest = behind;
        if word.starts_with(|c: char| c.is_ascii_digit()) {
            let number = word.parse();
            return number.map(Value::Integer).map_err(|_| format!("invalid number `{word}`"));
        }
        self.named(word)
    }

    /// What a name stands for: a variable, a template, or a template that is called.
    fn named(&mut self, name: &str) -> Result<Value, String> {
        if self.take("(") {
            let arguments = self.arguments()?;
            let Some(template) = self.templates.0.get(name) else {
                return Err(format!("no template is named `{name}`"));
            };
            let rendered = self.templates.render_at(template, &arguments, self.depth + 1)?;
            return Ok(Value::Text(rendered));
        }
        let variable = self.variables.iter().find(|(known, _)| *known == name);
        if let Some((_, value)) = variable {
            return Ok(value.clone());
        }
        match self.templates.0.get(name) {
            Some(template) => {
                Ok(Value::Text(self.templates.render_at(template, &[], self.depth + 1)?))
            }
            None => Err(format!("`{name}` is neither a template nor a dimension")),
        }
    }

    /// The arguments of a call, up to its `)`.
    fn arguments(&mut self) -> Result<Vec<(&'a str, Value)>, String> {
        let mut arguments = Vec::new();
        while !self.take(")") {
            let rest = self.rest.trim_start();
            let Some((name, behind)) = rest.split_once('=') else {
                return Err("arguments are written `name=value`".into());
            };
            self.rest = behind;
            self.depth += 1;
            if self.depth > MAX_DEPTH {
                return Err(format!("calls nest more than {MAX_DEPTH} levels deep"));
            }
            let value = self.sum()?;
            self.depth -= 1;
            arguments.push((name.trim(), value));
            if !self.take(",") && !self.rest.trim_start().starts_with(')') {
                return Err("`)` is missing".into());
            }
        }
        Ok(arguments)
    }

    /// A text in quotes; none of Python's escapes is supported.
    fn text(&mut self, quote: char) -> Result<String, String> {
        let rest = &self.rest.trim_start()[1..];
        let Some((text, behind)) = rest.split_once(quote) else {
            return Err(format!("`{quote}` is missing"));
        };
        if text.contains('\\') {
            return Err(format!("`\\` in `{text}` is not supported"));
        }
        self.rest = behind;
        Ok(text.to_owned())
    }
}

fn integers(
    left: Value,
    operator: &str,
    right: Value,
    apply: fn(i64, i64) -> Option<i64>,
) -> Result<Value, String> {
    let (Value::Integer(left), Value::Integer(right)) = (&left, &right) else {
        return Err(format!("`{operator}` takes only integers"));
    };
    let value = apply(*left, *right);
    value.map(Value::Integer).ok_or_else(|| format!("{left} {operator} {right} is not a number"))
}

/// Python's `//`, which rounds down.
fn floor_division(left: i64, right: i64) -> Option<i64> {
    let quotient = left.checked_div(right)?;
    let is_rounded_up = left % right != 0 && (left < 0) != (right < 0);
    Some(if is_rounded_up { quotient - 1 } else { quotient })
}

/// Python's `%`, which has the sign of the divisor.
fn floor_remainder(left: i64, right: i64) -> Option<i64> {
    let remainder = left.checked_rem(right)?;
    let is_other_sign = remainder != 0 && (remainder < 0) != (right < 0);
    Some(if is_other_sign { remainder + right } else { remainder })
}

/// Python's formatting of one whole number: `%i`, `%d` with a width and leading zeros, and `%%`.
fn formatted(format: &str, value: &Value) -> Result<String, String> {
    let unsupported = || format!("only `%i` and `%d` are supported in `{format}`");
    let Value::Integer(number) = value else { return Err(unsupported()) };
    let (mut formatted, mut rest, mut is_used) = (String::new(), format, false);
    while let Some((before, after)) = rest.split_once('%') {
        formatted.push_str(before);
        if let Some(behind) = after.strip_prefix('%') {
            formatted.push('%');
            rest = behind;
            continue;
        }
        let end = after.find(|c: char| !c.is_ascii_digit()).ok_or_else(unsupported)?;
        let (width, behind) = after.split_at(end);
        rest = behind.strip_prefix(['i', 'd']).ok_or_else(unsupported)?;
        if is_used {
            return Err(format!("`{format}` takes more than one number"));
        }
        is_used = true;
        let columns: usize = if width.is_empty() { 0 } else { width.parse().unwrap_or(usize::MAX) };
        if columns > 100 {
            return Err(unsupported());
        }
        formatted.push_str(&if width.starts_with('0') {
            format!("{number:0columns$}")
        } else {
            format!("{number:columns$}")
        });
    }
    formatted.push_str(rest);
    if is_used { Ok(formatted) } else { Err(format!("`{format}` takes no number")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn templates() -> Templates {
        let mut templates = Templates::default();
        templates.insert("u".into(), "server.domain/path".into());
        templates.insert("f".into(), "{{c}}".into());
        templates.insert("loop".into(), "{{loop}}".into());
        templates
    }

    /// The examples of kerchunk's specification, and what Python makes of the operators.
    #[test]
    fn expressions_are_evaluated_as_in_python() {
        let variables = [("i", Value::Integer(7)), ("n", Value::Integer(-7))];
        for (text, rendered) in [
            ("http://{{u}}_{{i}}", "http://server.domain/path_7"),
            ("http://{{f(c='text')}}", "http://text"),
            ("{{ (i + 1) * 1000 }}", "8000"),
            ("{{i*10}}", "70"),
            ("{{ n // 2 }} {{ n % 3 }} {{ i % -3 }}", "-4 2 -2"),
            ("{{ -i - 1 - 1 }}", "-9"),
            ("a{{ '%02i' % i }}b", "a07b"),
            ("{{ '%d%%' % (i + 5) }}", "12%"),
            ("{{ \"%3d\" % i }}", "  7"),
            ("plain", "plain"),
        ] {
            assert_eq!(templates().render(text, &variables).as_deref(), Ok(rendered), "{text}");
        }
    }

    #[test]
    fn everything_else_is_refused_with_its_text() {
        for text in [
            "{{ i",
            "{{ x }}",
            "{{ i.__class__ }}",
            "{{ i | upper }}",
            "{{ u + 'x' }}",
            "{{ i // 0 }}",
            "{{ 9223372036854775807 + 1 }}",
            "{{ 'a' }}{% for i in x %}",
            "{{ loop }}",
            "{{ f(c) }}",
            "{{ '%s' % i }}",
            "{{ '%999d' % i }}",
            "{{ }}",
            "{{ 1 2 }}",
            "{{ g() }}",
        ] {
            let error = templates().render(text, &[("i", Value::Integer(1))]).unwrap_err();
            assert!(error.contains('`') || error.contains("levels"), "{text}: {error}");
        }
        let nested = format!("{{{{ {}1{} }}}}", "(".repeat(10_000), ")".repeat(10_000));
        assert!(templates().render(&nested, &[]).unwrap_err().contains("levels"));
        let signs = format!("{{{{ {}1 }}}}", "-".repeat(10_000));
        assert!(templates().render(&signs, &[]).is_err());
    }
}
