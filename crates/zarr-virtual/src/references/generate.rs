//! Makes the keys that the member `gen` of kerchunk's references describes (V-022).

use zarr_core::Json;

use super::template::{Templates, Value};

/// The most keys that all generators of a file make.
pub(super) const MAX_GENERATED_KEYS: u64 = 10_000_000;

/// A key that was made, and where its bytes are.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Generated {
    pub key: String,
    pub url: String,
    /// The offset and the length, or the whole target.
    pub range: Option<(u64, u64)>,
}

/// A dimension over which keys are made.
struct Dimension<'a> {
    name: &'a str,
    values: Values,
}

enum Values {
    List(Vec<i64>),
    Steps { start: i64, step: i64, count: u64 },
}

impl Values {
    fn count(&self) -> u64 {
        match self {
            Values::List(values) => values.len() as u64,
            Values::Steps { count, .. } => *count,
        }
    }

    /// Value `at`, which is below the count.
    fn value(&self, at: u64) -> i64 {
        match self {
            Values::List(values) => values[at as usize],
            // It lies between the first and the last, which are `i64`.
            Values::Steps { start, step, .. } => {
                (i128::from(*start) + i128::from(*step) * i128::from(at)) as i64
            }
        }
    }
}

/// Calls `add` with each key that a generator makes, in the order of its dimensions; `left` is how many keys may still be made.
///
/// # Errors
/// A sentence that says what is wrong with the generator.
pub(super) fn generate(
    generator: &Json,
    templates: &Templates,
    left: &mut u64,
    mut add: impl FnMut(Generated) -> Result<(), String>,
) -> Result<(), String> {
    let text = |name: &str| generator.get(name).and_then(Json::as_str);
    let (Some(key), Some(url)) = (text("key"), text("url")) else {
        return Err("a generator needs the texts `key` and `url`".into());
    };
    let range = match (generator.get("offset"), generator.get("length")) {
        (None, None) => None,
        (Some(offset), Some(length)) => Some((number_text(offset)?, number_text(length)?)),
        _ => return Err(format!("`{key}`: give both `offset` and `length`, or neither")),
    };
    let dimensions = generator.get("dimensions").and_then(Json::as_object);
    let dimensions = dimensions.ok_or_else(|| format!("`{key}`: `dimensions` is missing"))?;
    let parsed = dimensions.iter().map(|(name, json)| dimension(name, json));
    let dimensions = parsed.collect::<Result<Vec<Dimension<'_>>, String>>()?;
    let counts: Vec<u64> = dimensions.iter().map(|dimension| dimension.values.count()).collect();
    let total = counts.iter().try_fold(1u64, |product, count| product.checked_mul(*count));
    let total = total
        .filter(|total| total <= left)
        .ok_or_else(|| format!("`{key}`: generators make more than {MAX_GENERATED_KEYS} keys"))?;
    *left -= total;
    let mut place = vec![0u64; dimensions.len()];
    let mut variables: Vec<(&str, Value)> =
        dimensions.iter().map(|d| (d.name, Value::Integer(0))).collect();
    for _ in 0..total {
        for ((dimension, at), variable) in dimensions.iter().zip(&place).zip(&mut variables) {
            variable.1 = Value::Integer(dimension.values.value(*at));
        }
        let render = |text: &str| templates.render(text, &variables);
        let number = |text: &str| {
            let rendered = render(text)?;
            let number = rendered.trim().parse::<u64>();
            number.map_err(|_| format!("`{text}`: expected an integer, found `{rendered}`"))
        };
        let range = match &range {
            None => None,
            Some((offset, length)) => Some((number(offset)?, number(length)?)),
        };
        add(Generated { key: render(key)?, url: render(url)?, range })?;
        advance(&mut place, &counts);
    }
    Ok(())
}

/// The next place, the last dimension fastest.
fn advance(place: &mut [u64], counts: &[u64]) {
    for (at, count) in place.iter_mut().zip(counts).rev() {
        *at += 1;
        if *at < *count {
            return;
        }
        *at = 0;
    }
}

/// An offset or a length: a number, or a template of one.
fn number_text(json: &Json) -> Result<String, String> {
    let text = json.as_str().or_else(|| json.as_number());
    text.map(str::to_owned).ok_or_else(|| format!("expected a number, found {}", json.brief()))
}

fn dimension<'a>(name: &'a str, json: &Json) -> Result<Dimension<'a>, String> {
    let wrong = |what: &Json| format!("dimension `{name}`: {} is not an integer", what.brief());
    if let Some(list) = json.as_array() {
        let values = list.iter().map(|item| item.as_i64().ok_or_else(|| wrong(item)));
        return Ok(Dimension { name, values: Values::List(values.collect::<Result<_, _>>()?) });
    }
    let member = |member: &str, default: Option<i64>| match (json.get(member), default) {
        (Some(value), _) => value.as_i64().ok_or_else(|| wrong(value)),
        (None, Some(default)) => Ok(default),
        (None, None) => Err(format!("dimension `{name}`: expected a list, or `stop`")),
    };
    let (start, stop, step) =
        (member("start", Some(0))?, member("stop", None)?, member("step", Some(1))?);
    let span = if step > 0 {
        i128::from(stop) - i128::from(start)
    } else {
        i128::from(start) - i128::from(stop)
    };
    let step_size = u128::from(step.unsigned_abs());
    if step_size == 0 {
        return Err(format!("dimension `{name}`: the step is 0"));
    }
    let count = u128::try_from(span).unwrap_or(0).div_ceil(step_size);
    let count = u64::try_from(count).unwrap_or(u64::MAX);
    Ok(Dimension { name, values: Values::Steps { start, step, count } })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Key, URL and range of a reference.
    type Made = (String, String, Option<(u64, u64)>);

    fn generated(generator: &str) -> Result<Vec<Made>, String> {
        let mut templates = Templates::default();
        templates.insert("u".into(), "server.domain/path".into());
        let mut made = Vec::new();
        let add = |one: Generated| {
            made.push((one.key, one.url, one.range));
            Ok(())
        };
        let mut left = MAX_GENERATED_KEYS;
        generate(&Json::parse(generator.as_bytes())?, &templates, &mut left, add)?;
        Ok(made)
    }

    /// The example of kerchunk's specification.
    #[test]
    fn keys_are_made_of_every_value_of_the_dimensions() {
        let made = generated(
            r#"{"key": "gen_key{{i}}", "url": "http://{{u}}_{{i}}", "offset": "{{(i + 1) * 1000}}",
                "length": "1000", "dimensions": {"i": {"stop": 5}}}"#,
        );
        let key = |i: u64| {
            (
                format!("gen_key{i}"),
                format!("http://server.domain/path_{i}"),
                Some(((i + 1) * 1000, 1000)),
            )
        };
        assert_eq!(made.unwrap(), (0..5).map(key).collect::<Vec<_>>());
        let made = generated(
            r#"{"key": "{{a}}.{{b}}", "url": "x",
                "dimensions": {"a": [3, -1], "b": {"start": 4, "stop": 0, "step": -3}}}"#,
        );
        let keys: Vec<String> = made.unwrap().into_iter().map(|(key, ..)| key).collect();
        assert_eq!(keys, ["3.4", "3.1", "-1.4", "-1.1"]);
    }

    /// V-045.
    #[test]
    fn too_many_keys_are_refused_before_one_is_made() {
        for dimensions in [
            r#"{"i": {"stop": 1000000000000}}"#,
            r#"{"i": {"stop": 100000}, "j": {"stop": 100000}}"#,
            r#"{"i": {"start": -9223372036854775808, "stop": 9223372036854775807}}"#,
        ] {
            let generator = format!(r#"{{"key": "k", "url": "u", "dimensions": {dimensions}}}"#);
            assert!(generated(&generator).unwrap_err().contains("more than"), "{dimensions}");
        }
        for (wrong, why) in [
            (r#"{"key": "k", "url": "u", "offset": 1, "dimensions": {}}"#, "or neither"),
            (r#"{"key": "k", "url": "u", "dimensions": {"i": {"stop": 1, "step": 0}}}"#, "is 0"),
            (r#"{"key": "k", "url": "u", "dimensions": {"i": {}}}"#, "`stop`"),
            (r#"{"key": "k", "dimensions": {"i": [1]}}"#, "`url`"),
            (
                r#"{"key": "k", "url": "u", "offset": "x", "length": 1, "dimensions": {"i": [1]}}"#,
                "found `x`",
            ),
        ] {
            assert!(generated(wrong).unwrap_err().contains(why), "{wrong}");
        }
    }
}
