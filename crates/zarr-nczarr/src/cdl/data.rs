//! Places the values of a data section in a variable's elements.
//!
//! Values come in C order. Braces stand around the records of an unlimited axis that is not the first, so a list is
//! cut into *levels*: the first has the axes up to the next unlimited one, each brace opens the next level. What a list
//! does not give is fill, and an unlimited axis is as long as its longest list.

use crate::{Type, Values};

use super::constant::Constant;
use super::document::Data;
use super::error::CdlError;
use super::own_types;
use super::token::{Lexer, Token};

/// How many elements a piece has at most.
const PIECE: usize = 1 << 16;

/// What is known of a variable's axes when its data come: everything but the lengths of unlimited ones.
#[derive(Clone, Debug)]
pub(super) struct Layout {
    pub ty: Type,
    /// What `_` stands for.
    pub fill: Values,
    /// For each level, the axis it begins with.
    levels: Vec<usize>,
    unlimited: Vec<bool>,
}

impl Layout {
    pub fn new(ty: Type, fill: Values, unlimited: Vec<bool>) -> Layout {
        let inner = (1..unlimited.len()).filter(|&axis| unlimited[axis]);
        Layout { ty, fill, levels: std::iter::once(0).chain(inner).collect(), unlimited }
    }

    fn rank(&self) -> usize {
        self.unlimited.len()
    }

    /// The axes of a level.
    fn axes(&self, level: usize) -> std::ops::Range<usize> {
        self.levels[level]..self.levels.get(level + 1).copied().unwrap_or(self.rank())
    }

    /// To a multiple of how many bytes each text is filled up, of type `char`.
    fn unit(&self, shape: &[u64]) -> u64 {
        match self.unlimited.last() {
            Some(false) if self.rank() > 1 => shape[self.rank() - 1],
            _ => 1,
        }
    }
}

/// What is met in a list of values.
enum Met<'a> {
    Value(Constant<'a>),
    Open,
    Close,
}

/// Calls `each` with everything in the list that begins at the lexer, and the byte at which that is; stops at the `;`.
fn walk<'a, E: From<CdlError>>(
    lexer: &mut Lexer<'a>,
    layout: &Layout,
    each: &mut dyn FnMut(Met<'a>, usize) -> Result<(), E>,
) -> Result<(), E> {
    let deepest = layout.levels.len() - 1;
    let mut level = 0;
    // Between two values stands a comma; a list may be empty.
    let mut wants_value = true;
    let mut first = true;
    loop {
        let lexeme = lexer.next()?;
        let at = lexeme.start;
        let error = |why: String| E::from(lexer.error(at, why));
        match lexeme.token {
            Token::Mark('{')
                if wants_value && level == deepest && own_types::is_pair(layout.ty) =>
            {
                each(Met::Value(own_types::pair(lexer)?), at)?;
                (wants_value, first) = (false, false);
            }
            Token::Mark('{') if wants_value => {
                if level == deepest {
                    let why = match deepest {
                        0 => {
                            "braces group the records of an unlimited dimension that is not the first, which this \
                              variable does not have; remove them"
                        }
                        _ => {
                            "there are more braces than unlimited dimensions after the first; remove some"
                        }
                    };
                    return Err(error(why.into()));
                }
                each(Met::Open, at)?;
                level += 1;
                first = true;
            }
            Token::Mark('}') if level > 0 && (first || !wants_value) => {
                each(Met::Close, at)?;
                level -= 1;
                (wants_value, first) = (false, false);
            }
            Token::Mark(';') if level == 0 && (first || !wants_value) => {
                return each(Met::Close, at);
            }
            Token::Mark(',') if !wants_value => wants_value = true,
            token if wants_value => match Constant::of(token).map_err(&error)? {
                Some(constant) => {
                    if level < deepest {
                        let why = "records of an unlimited dimension that is not the first are put in braces; write `{` \
                                   before the first value of each record and `}` after the last";
                        return Err(error(why.into()));
                    }
                    each(Met::Value(constant), at)?;
                    (wants_value, first) = (false, false);
                }
                None if token == Token::End => {
                    return Err(error(
                        "unexpected end of the text in the data; end them with `;`".into(),
                    ));
                }
                None => {
                    return Err(error(format!("expected a value, found {}", describe(token))));
                }
            },
            Token::End => {
                return Err(error(
                    "unexpected end of the text in the data; end them with `;`".into(),
                ));
            }
            token => {
                let why =
                    format!("expected `,` or the end of the values, found {}", describe(token));
                return Err(error(why));
            }
        }
    }
}

/// A token in a message.
pub(super) fn describe(token: Token<'_>) -> String {
    match token {
        Token::Word(text) | Token::Path(text) | Token::Number(text) => format!("`{}`", short(text)),
        Token::Text(text) => format!("the text \"{}\"", short(text)),
        Token::Char(text) => format!("the character '{}'", short(text)),
        Token::Mark(mark) => format!("`{}`", mark.escape_debug()),
        Token::End => "the end of the text".into(),
    }
}

/// The beginning of a text, with escapes.
fn short(text: &str) -> String {
    let mut short: String = text.chars().take(40).flat_map(char::escape_debug).collect();
    if text.chars().nth(40).is_some() {
        short.push('…');
    }
    short
}

/// The product of lengths.
fn product(lens: &[u64]) -> Option<u64> {
    lens.iter().try_fold(1_u64, |product, &len| product.checked_mul(len))
}

/// Where in its list a constant of `len` values stands when `count` came before it, and how many are there then.
///
/// Texts of type `char` begin at multiples of `unit`, and fill up to the next; single characters in a row are one.
fn place(constant: &Constant<'_>, ty: Type, unit: u64, count: u64, len: u64) -> (u64, u64) {
    if ty != Type::Char || !matches!(constant, Constant::Text(_)) {
        return (count, count.saturating_add(len));
    }
    let start = filled_up(count, unit);
    // An empty text still takes a place, if texts are filled up at all.
    (start, filled_up(start.saturating_add(len.max(u64::from(unit > 1))), unit))
}

/// A count, filled up to a multiple of the unit.
fn filled_up(count: u64, unit: u64) -> u64 {
    count.checked_next_multiple_of(unit.max(1)).unwrap_or(u64::MAX)
}

/// Goes over the values of a variable that begin at the lexer, and raises the lengths of unlimited axes in `shape` to
/// what they need.
pub(super) fn measure(
    lexer: &mut Lexer<'_>,
    layout: &Layout,
    shape: &mut [u64],
) -> Result<(), CdlError> {
    let here = *lexer;
    let unit = layout.unit(shape);
    let mut counts = vec![0_u64];
    let mut values = Values::none(layout.ty);
    walk::<CdlError>(lexer, layout, &mut |met, at| {
        let level = counts.len() - 1;
        match met {
            Met::Value(constant) => {
                let before = values.len();
                constant.push(&mut values, &layout.fill).map_err(|why| here.error(at, why))?;
                let len = (values.len() - before) as u64;
                (_, counts[level]) = place(&constant, layout.ty, unit, counts[level], len);
                if values.len() >= PIECE {
                    values = Values::none(layout.ty);
                }
            }
            Met::Open => {
                counts[level] += 1;
                counts.push(0);
            }
            Met::Close => {
                let count = counts[level];
                let axes = layout.axes(level);
                let first = axes.start;
                if layout.unlimited.get(first) == Some(&true) {
                    let inner = product(&shape[first + 1..axes.end]).unwrap_or(u64::MAX);
                    shape[first] = shape[first].max(count.div_ceil(inner.max(1)));
                } else if let Some(room) = product(&shape[axes]).filter(|&room| count > room) {
                    let what = match layout.ty {
                        _ if level + 1 < layout.levels.len() => "records",
                        Type::Char => "characters, each text filled up to the last dimension",
                        _ => "values",
                    };
                    let why = format!(
                        "there are {count} {what}, and room for {room}; remove some, or make a dimension longer"
                    );
                    return Err(here.error(at, why));
                }
                counts.truncate(level.max(1));
            }
        }
        Ok(())
    })
}

/// Calls `each` with the data of a variable whose axes are of `shape`: see [`super::Document::each_piece`].
pub(super) fn pieces<E: From<CdlError>>(
    text: &str,
    data: &Data,
    shape: &[u64],
    each: &mut dyn FnMut(u64, &Values) -> Result<(), E>,
) -> Result<(), E> {
    let layout = &data.layout;
    let mut lexer = Lexer::new(text, data.start);
    let here = lexer;
    // How many elements each thing in a list is, by level. What a shape can be was looked at when it was read.
    let sizes: Vec<u64> = (0..layout.levels.len())
        .map(|level| product(&shape[layout.axes(level).end..]).unwrap_or(u64::MAX))
        .collect();
    let unit = layout.unit(shape);
    // Where the list of each level begins, and how many things of it came.
    let mut lists = vec![(0_u64, 0_u64)];
    let mut first = 0;
    let mut values = Values::none(layout.ty);
    walk::<E>(&mut lexer, layout, &mut |met, at| {
        let level = lists.len() - 1;
        let (start, count) = &mut lists[level];
        match met {
            Met::Value(constant) => {
                let before = values.len();
                constant
                    .push(&mut values, &layout.fill)
                    .map_err(|why| E::from(here.error(at, why)))?;
                let len = (values.len() - before) as u64;
                let (place, after) = place(&constant, layout.ty, unit, *count, len);
                *count = after;
                let position = *start + place;
                if before == 0 {
                    first = position;
                } else if first + before as u64 != position {
                    let next = values.split_off(before);
                    each(first, &values)?;
                    (first, values) = (position, next);
                }
                if values.len() >= PIECE {
                    each(first, &values)?;
                    values = Values::none(layout.ty);
                }
            }
            Met::Open => {
                let start = *start + *count * sizes[level];
                *count += 1;
                lists.push((start, 0));
            }
            Met::Close => lists.truncate(level.max(1)),
        }
        Ok(())
    })?;
    if values.is_empty() { Ok(()) } else { each(first, &values) }
}
