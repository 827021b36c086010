//! Reads the chunks, shards and codecs that `zarr copy` gives by the names of arrays and dimensions, or as sizes.

use zarr::codec::{ChunkContext, CodecSpec};
use zarr::tools::{CodecRule, ShapeRule, WHOLE_AXIS};
use zarr::{CoreType, MetadataError, Registry};

use crate::failure::Failure;
use crate::parse::{self, Shape};

/// What one `--chunks` or `--shards` gives.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ShapeRules(pub Vec<ShapeRule>);

/// `100,10,10`, `16MiB`, or one or more of `time=100`, `t2m=100,10,10`, `t2m=16MiB` and `t2m:time=100`, with commas between.
pub(crate) fn shape_rules(text: &str) -> Result<ShapeRules, String> {
    if !text.contains('=') {
        if text.split(',').any(|word| word.trim() == WHOLE) {
            let lengths: Option<Vec<u64>> = text.split(',').map(length).collect();
            return Ok(ShapeRules(vec![ShapeRule::Shape(lengths.ok_or(FORMS)?)]));
        }
        let rule = match (parse::shape(text), parse::size(text)) {
            (Ok(Shape(shape)), _) => ShapeRule::Shape(shape),
            (Err(_), Ok(bytes)) => ShapeRule::Size(bytes),
            (Err(_), Err(_)) => return Err(FORMS.into()),
        };
        return Ok(ShapeRules(vec![rule]));
    }
    // A name begins a rule, and the numbers up to the next one are its lengths.
    let mut named: Vec<(&str, Vec<&str>)> = Vec::new();
    for word in text.split(',') {
        match (word.rsplit_once('='), named.last_mut()) {
            (Some((name, value)), _) => named.push((name.trim(), vec![value.trim()])),
            (None, Some((_, values))) => values.push(word.trim()),
            (None, None) => return Err(FORMS.into()),
        }
    }
    let rules: Result<Vec<ShapeRule>, String> =
        named.into_iter().map(|(name, values)| named_rule(name, &values)).collect();
    Ok(ShapeRules(rules?))
}

/// As [`shape_rules`]; also `none` and `t2m=none`, for no shards.
pub(crate) fn shard_rules(text: &str) -> Result<ShapeRules, String> {
    match text.rsplit_once('=') {
        None if text.trim() == "none" => Ok(ShapeRules(vec![ShapeRule::NoShards])),
        Some((array, value)) if value.trim() == "none" && !array.trim().is_empty() => {
            let array = array.trim().to_owned();
            Ok(ShapeRules(vec![ShapeRule::ArrayNoShards { array }]))
        }
        _ => shape_rules(text),
    }
}

/// The length of a whole axis, as it is written.
const WHOLE: &str = "-1";

/// A length along an axis, of all of it if it is `-1`.
fn length(text: &str) -> Option<u64> {
    match text.trim() {
        WHOLE => Some(WHOLE_AXIS),
        text => text.parse().ok(),
    }
}

const FORMS: &str = "chunks are lengths for all axes, as in 100,10,10; a size, as in 16MiB; or named, as in time=100,lat=50, \
                     t2m=100,10,10, t2m=16MiB or t2m:time=100; -1 is a whole axis";

/// The rule of a name, or of an array and a dimension, and what is given for it.
fn named_rule(name: &str, values: &[&str]) -> Result<ShapeRule, String> {
    if name.is_empty() {
        return Err(format!("a name is missing before `=`; {FORMS}"));
    }
    let lengths: Option<Vec<u64>> = values.iter().map(|value| length(value)).collect();
    let (array, dimension) = match name.rsplit_once(':') {
        Some((array, dimension)) => (array, Some(dimension)),
        None => (name, None),
    };
    match (dimension, lengths.as_deref(), values) {
        (Some(dimension), Some(&[len]), _) if !array.is_empty() && !dimension.is_empty() => {
            let (array, dimension) = (array.to_owned(), dimension.to_owned());
            Ok(ShapeRule::ArrayDimension { array, dimension, len })
        }
        (Some(_), _, _) => {
            Err(format!("`{name}` is one dimension of an array, which takes one length"))
        }
        // With a slash it is the path of an array.
        (None, Some(&[len]), _) if !name.contains('/') => {
            Ok(ShapeRule::Dimension { name: name.to_owned(), len })
        }
        (None, Some(shape), _) => {
            Ok(ShapeRule::Array { array: name.to_owned(), shape: shape.to_vec() })
        }
        (None, None, [size]) => match parse::size(size) {
            Ok(bytes) => Ok(ShapeRule::ArraySize { array: name.to_owned(), bytes }),
            Err(_) => Err(format!("`{name}={size}`: {FORMS}")),
        },
        (None, None, values) => Err(format!("`{name}={}`: {FORMS}", values.join(","))),
    }
}

/// What several `--chunks` or `--shards` give: a shape for all arrays of one rank, and the other rules.
pub(crate) fn split(given: &[ShapeRules]) -> (Option<Vec<u64>>, Vec<ShapeRule>) {
    let (mut all, mut rules) = (None, Vec::new());
    for rule in given.iter().flat_map(|ShapeRules(rules)| rules) {
        match rule {
            ShapeRule::Shape(shape) if all.is_none() => all = Some(shape.clone()),
            rule => rules.push(rule.clone()),
        }
    }
    (all, rules)
}

/// The codecs of `--codec`: those for all arrays, if there are any, and those of single arrays. `is_array` tells whether a
/// name is that of an array that is copied: only then is what stands before a colon one.
///
/// # Errors
/// For what is neither a codec nor an array's.
pub(crate) fn codecs(
    given: &[String],
    is_array: &dyn Fn(&str) -> bool,
) -> Result<(Option<Vec<String>>, Vec<CodecRule>), String> {
    let mut all: Option<Vec<String>> = None;
    let mut rules: Vec<CodecRule> = Vec::new();
    for text in given {
        let of_array = of_array(text, is_array);
        let (codecs, codec) = match of_array {
            None => {
                refuse_unknown_array(text)?;
                (all.get_or_insert_default(), &text[..])
            }
            Some((array, codec)) => {
                let at = rules.iter().position(|rule| rule.array == array);
                let at = at.unwrap_or_else(|| {
                    rules.push(CodecRule { array: array.to_owned(), codecs: Vec::new() });
                    rules.len() - 1
                });
                (&mut rules[at].codecs, codec)
            }
        };
        if codec != "none" {
            codecs.push(codec.to_owned());
        }
    }
    Ok((all, rules))
}

/// The codecs that `--codec` names, in their order; `none` is no codec.
///
/// # Errors
/// As [`check_codec`], and for what is no codec at all.
pub(crate) fn specs(given: &[String], registry: &Registry) -> Result<Vec<CodecSpec>, Failure> {
    let mut specs = Vec::new();
    for codec in given.iter().filter(|codec| *codec != "none") {
        check_codec(codec, registry)?;
        specs.push(zarr::tools::codec(codec)?);
    }
    Ok(specs)
}

/// Refuses a codec that is wrong for every array: its level, which no source or target is to blame for.
///
/// # Errors
/// With the option, the limit and what was given.
pub(crate) fn check_codec(text: &str, registry: &Registry) -> Result<(), Failure> {
    let spec = zarr::tools::codec(text)?;
    // Almost every codec takes these elements; what the array has is looked at when its metadata are made.
    let context = ChunkContext::new(CoreType::Float64, vec![1]);
    let Err(MetadataError::Invalid { member, why }) = registry.build_codec(&spec, &context) else {
        return Ok(());
    };
    let parameter = member.rsplit(": ").next().unwrap_or(&member);
    // Parameters that were not given may be ones that follow from the array.
    if text.starts_with('{') || !spec.configuration.contains(parameter) {
        return Ok(());
    }
    Err(Failure::Usage(format!("--codec {text}: {parameter}: {why}")))
}

/// The array and its codec, if the text begins with the name of an array, and what follows the colon may be a codec: the
/// name of none is a number, which is a level.
fn of_array<'a>(text: &'a str, is_array: &dyn Fn(&str) -> bool) -> Option<(&'a str, &'a str)> {
    if text.starts_with('{') {
        return None;
    }
    let colons = text.match_indices(':').map(|(at, _)| (&text[..at], &text[at + 1..]));
    let mut splits: Vec<(&str, &str)> = colons.collect();
    // A longer name counts more: names may have colons.
    splits.reverse();
    splits.into_iter().find(|(array, codec)| is_codec(codec) && is_array(array))
}

/// Whether a codec may be that of one array, so that the names of arrays have to be known.
pub(crate) fn may_name_array(text: &str) -> bool {
    of_array(text, &|_| true).is_some()
}

fn is_codec(text: &str) -> bool {
    let name = zarr::tools::codec(text).map(|spec| spec.name);
    name.is_ok_and(|name| !name.is_empty() && name.parse::<i64>().is_err())
}

/// Refuses `NAME:CODEC` and `NAME:CODEC:LEVEL` whose name is that of no array.
fn refuse_unknown_array(text: &str) -> Result<(), String> {
    let Some((name, codec)) = text.split_once(':') else { return Ok(()) };
    if text.starts_with('{') || text.contains("://") || !is_codec(codec) {
        return Ok(());
    }
    Err(format!(
        "codec `{text}`: `{name}` names no array; a codec is NAME, NAME:LEVEL or ARRAY:NAME:LEVEL"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rules(text: &str) -> Vec<ShapeRule> {
        shape_rules(text).unwrap().0
    }

    fn dimension(name: &str, len: u64) -> ShapeRule {
        ShapeRule::Dimension { name: name.into(), len }
    }

    #[test]
    fn chunks_are_lengths_sizes_or_named() {
        assert_eq!(rules("100,10,10"), [ShapeRule::Shape(vec![100, 10, 10])]);
        assert_eq!(rules("100"), [ShapeRule::Shape(vec![100])]);
        assert_eq!(rules(""), [ShapeRule::Shape(vec![])]);
        assert_eq!(rules("16MiB"), [ShapeRule::Size(16 << 20)]);
        assert_eq!(rules("time=100"), [dimension("time", 100)]);
        assert_eq!(rules("time=-1"), [dimension("time", WHOLE_AXIS)]);
        assert_eq!(rules("-1,10"), [ShapeRule::Shape(vec![WHOLE_AXIS, 10])]);
        assert_eq!(shard_rules("none").unwrap().0, [ShapeRule::NoShards]);
        let of_array = ShapeRule::ArrayNoShards { array: "g/t2m".into() };
        assert_eq!(shard_rules("g/t2m=none").unwrap().0, [of_array]);
        assert_eq!(rules("time=100, lat=50"), [dimension("time", 100), dimension("lat", 50)]);
        let t2m = ShapeRule::Array { array: "t2m".into(), shape: vec![100, 10, 10] };
        assert_eq!(rules("t2m=100,10,10"), std::slice::from_ref(&t2m));
        assert_eq!(rules("t2m=100,10,10,lat=5"), [t2m, dimension("lat", 5)]);
        let size = ShapeRule::ArraySize { array: "g/t2m".into(), bytes: 1000 };
        assert_eq!(rules("g/t2m=1kB"), [size]);
        let one =
            ShapeRule::ArrayDimension { array: "g/t2m".into(), dimension: "time".into(), len: 7 };
        assert_eq!(rules("g/t2m:time=7"), [one]);
        assert_eq!(
            rules("year=2020/x=7"),
            [ShapeRule::Array { array: "year=2020/x".into(), shape: vec![7] }]
        );
        for text in [
            "1,,2", "=3", "a=", "a=b", "a=1,b", "1,a=2", "a:=1", ":a=1", "a:b=1,2", "a=1MiB,2",
            "x", "a=-2", "none", "a=none", "-1,x",
        ] {
            assert!(shape_rules(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_codec_is_of_an_array_only_if_there_is_one() {
        let is_array = |name: &str| ["t2m", "zstd", "g/a:b"].contains(&name);
        let given = |texts: &[&str]| {
            let texts: Vec<String> = texts.iter().map(|&text| text.to_owned()).collect();
            codecs(&texts, &is_array)
        };
        let rule = |array: &str, codecs: &[&str]| CodecRule {
            array: array.into(),
            codecs: codecs.iter().map(|&text| text.to_owned()).collect(),
        };
        assert_eq!(given(&[]), Ok((None, vec![])));
        assert_eq!(given(&["none"]), Ok((Some(vec![]), vec![])));
        // The codec, though an array has its name; and the codec of that array.
        assert_eq!(given(&["zstd:3"]), Ok((Some(vec!["zstd:3".into()]), vec![])));
        assert_eq!(given(&["zstd:zstd:3"]), Ok((None, vec![rule("zstd", &["zstd:3"])])));
        assert_eq!(
            given(&["t2m:shuffle", "t2m:zstd:3", "gzip", "g/a:b:none"]),
            Ok((
                Some(vec!["gzip".into()]),
                vec![rule("t2m", &["shuffle", "zstd:3"]), rule("g/a:b", &[])]
            ))
        );
        let object = r#"{"name":"zstd","configuration":{"level":1}}"#;
        assert_eq!(
            given(&[object, &format!("t2m:{object}")]),
            Ok((Some(vec![object.into()]), vec![rule("t2m", &[object])]))
        );
        let uri = "https://example.org/codec:3";
        assert_eq!(given(&[uri]), Ok((Some(vec![uri.into()]), vec![])));
        assert!(given(&["t2n:zstd:3"]).unwrap_err().contains("`t2n` names no array"));
        assert!(given(&["t2n:zstd"]).unwrap_err().contains("`t2n` names no array"));
    }
}
