//! Parses a CDL text.
//!
//! The grammar is that of `ncgen`: sections in a group, statements in a section.

use std::collections::HashMap;

use super::constant::Constant;
use super::data::{self, Layout, describe};
use super::document::{Data, Document, Provenance};
use super::error::CdlError;
use super::escape;
use super::own_types;
use super::scope::Scope;
use super::special;
use super::token::{Lexeme, Lexer, Token};
use crate::model::schema::{Attribute, Dimension, Variable};
use crate::{Type, Values, check_name, is_reserved, is_virtual};

/// The attribute that holds a variable's fill value.
const FILL: &str = "_FillValue";

/// How deep groups may be nested.
const MAX_DEPTH: usize = 200;

/// How many dimensions a variable may have, in netCDF too.
const MAX_RANK: usize = 1024;

pub(super) fn parse(text: &str) -> Result<Document<'_>, CdlError> {
    let mut lexer = Lexer::new(text, if text.starts_with('\u{feff}') { 3 } else { 0 });
    let begin = lexer.next()?;
    if !matches!(begin.token, Token::Word("netcdf" | "NETCDF" | "netCDF")) {
        let why =
            format!("a CDL text begins with `netcdf NAME {{`, found {}", describe(begin.token));
        return Err(lexer.error(begin.start, why));
    }
    let (title, _) = lexer.title()?;
    let (scope, provenance, data) = <(Scope, Provenance, HashMap<_, _>)>::default();
    let (own, warnings) = (Vec::new(), Vec::new());
    let mut parser = Parser { lexer, scope, provenance, data, own, warnings };
    parser.group(String::new(), None, 0)?;
    let end = parser.lexer.next()?;
    if end.token != Token::End {
        let why = format!(
            "expected the end of the text after the dataset's `}}`, found {}",
            describe(end.token)
        );
        return Err(parser.lexer.error(end.start, why));
    }
    let Parser { lexer, scope, provenance, data, warnings, .. } = parser;
    if let Some((variable, at)) = scope.too_large() {
        return Err(lexer.error(at, format!("`{variable}` has more elements than can be counted")));
    }
    let name = escape::unescape_name(title.trim());
    Ok(Document { text, name, root: scope.into_root(), provenance, data, warnings })
}

struct Parser<'a> {
    lexer: Lexer<'a>,
    scope: Scope,
    provenance: Provenance,
    data: HashMap<String, Data>,
    /// Types that are not atomic, and declared.
    own: Vec<Type>,
    warnings: Vec<CdlError>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Section {
    /// Before the first section, and behind a group.
    None,
    Types,
    Dimensions,
    Variables,
    Data,
}

impl<'a> Parser<'a> {
    fn error<T>(&self, at: usize, why: impl Into<String>) -> Result<T, CdlError> {
        Err(self.lexer.error(at, why))
    }

    /// The token that comes, and stays.
    fn peek(&self) -> Result<Lexeme<'a>, CdlError> {
        self.lexer.clone().next()
    }

    fn wants(&mut self, mark: char, what: &str) -> Result<usize, CdlError> {
        let lexeme = self.lexer.next()?;
        if lexeme.token != Token::Mark(mark) {
            let why = format!("expected `{mark}` {what}, found {}", describe(lexeme.token));
            return self.error(lexeme.start, why);
        }
        Ok(lexeme.end)
    }

    /// A name, without escapes, and where it stands.
    fn name(&mut self, what: &str) -> Result<(String, usize), CdlError> {
        let lexeme = self.lexer.next()?;
        match lexeme.token {
            Token::Word(word) => Ok((escape::unescape_name(word), lexeme.start)),
            token => {
                let hint = match token {
                    Token::Number(_) => "; write a `\\` before a digit that begins a name",
                    _ => "",
                };
                self.error(
                    lexeme.start,
                    format!("expected the name of {what}, found {}{hint}", describe(token)),
                )
            }
        }
    }

    /// Everything between the braces of a group.
    fn group(&mut self, name: String, parent: Option<usize>, depth: usize) -> Result<(), CdlError> {
        let opened = self.wants('{', "where a group begins")?;
        if depth > MAX_DEPTH {
            return self.error(opened, format!("groups are nested more than {MAX_DEPTH} deep"));
        }
        let number = self.scope.group(name, parent);
        let mut section = Section::None;
        loop {
            let first = self.lexer.next()?;
            match first.token {
                Token::Mark('}') => return Ok(()),
                // A section's name and its colon are one word.
                Token::Word(word @ ("types" | "dimensions" | "variables" | "data" | "group"))
                    if self.lexer.text()[first.end..].starts_with(':') =>
                {
                    self.wants(':', "behind a section's name")?;
                    section = match word {
                        "types" => Section::Types,
                        "dimensions" => Section::Dimensions,
                        "variables" => Section::Variables,
                        "data" => Section::Data,
                        _ => {
                            let (name, at) = self.name("a group")?;
                            self.takes_name(number, &name, at, "group")?;
                            self.group(name, Some(number), depth + 1)?;
                            Section::None
                        }
                    };
                }
                Token::End => {
                    return self.error(first.start, "the text ends in a group; close it with `}`");
                }
                _ => self.statement(number, section, first)?,
            }
        }
    }

    /// What netCDF allows to be called so (N-001).
    fn check_name(&self, name: &str, at: usize) -> Result<(), CdlError> {
        check_name(name).or_else(|why| self.error(at, why.to_string()))
    }

    /// A variable and a group of one group have different names (N-001).
    fn takes_name(
        &mut self,
        group: usize,
        name: &str,
        at: usize,
        what: &str,
    ) -> Result<(), CdlError> {
        self.check_name(name, at)?;
        if !self.scope.take_name(group, name) {
            let why = format!(
                "a variable or group `{name}` already exists; choose another name for this {what}"
            );
            return self.error(at, why);
        }
        Ok(())
    }

    /// A statement and its `;`.
    fn statement(
        &mut self,
        group: usize,
        section: Section,
        first: Lexeme<'a>,
    ) -> Result<(), CdlError> {
        if first.token == Token::Mark(':') {
            return self.attribute(group, None, None);
        }
        let next = self.peek()?;
        let at = first.start;
        if next.token == Token::Mark(':') {
            self.wants(':', "before an attribute's name")?;
            let variable = self.scope.find_variable(group, first.token);
            return match (variable, first.token) {
                (Some(variable), _) => self.attribute(group, Some(variable), None),
                (None, Token::Word(word)) if self.ty(word).is_some() => {
                    self.attribute(group, None, self.ty(word))
                }
                (None, token) => self.error(
                    at,
                    format!(
                        "{} is neither a variable declared before nor an atomic type",
                        describe(token)
                    ),
                ),
            };
        }
        match (section, first.token) {
            (Section::Data, token @ (Token::Word(_) | Token::Path(_))) if next.token == Token::Mark('=') => {
                self.wants('=', "before data")?;
                let Some(variable) = self.scope.find_variable(group, token) else {
                    let why = format!("the variable {} was not declared; declare it in `variables:`", describe(token));
                    return self.error(at, why);
                };
                self.data_of(variable, at)
            }
            (Section::Dimensions, Token::Word(_)) if next.token == Token::Mark('=') => {
                self.dimensions_from(group, first)
            }
            (Section::Types, _) if self.own_type(first)? => Ok(()),
            (Section::Types, token) => self.error(
                at,
                format!(
                    "{} declares a type: enum, opaque, vlen and compound types are not kept in Zarr; declare \
                     variables of atomic types instead",
                    describe(token)
                ),
            ),
            (section, Token::Word(word)) => match (section, self.ty(word)) {
                (_, Some(ty)) => self.of_type(group, section, ty),
                (Section::Variables, None) => self.error(
                    at,
                    format!(
                        "unknown type `{word}`; the atomic types are byte, ubyte, char, short, ushort, int, uint, int64, \
                         uint64, float, double and string. Types that a file declares itself are not kept in Zarr"
                    ),
                ),
                (_, None) => self.error(at, lost(section, first.token)),
            },
            (section, token) => self.error(at, lost(section, token)),
        }
    }

    /// The type of a name: an atomic one, or one that is declared.
    fn ty(&self, name: &str) -> Option<Type> {
        self::ty(name).or_else(|| self.own.iter().copied().find(|ty| ty.name() == name))
    }

    /// Takes the declaration of a type that `dump` prints; `false` if it is another.
    fn own_type(&mut self, first: Lexeme<'a>) -> Result<bool, CdlError> {
        let start = Lexer::new(self.lexer.text(), first.start);
        let found = own_types::declared(start)?;
        if let Some((ty, behind)) = found {
            self.own.push(ty);
            self.lexer = behind;
        }
        Ok(found.is_some())
    }

    /// What follows a type: variables, or an attribute of a variable.
    fn of_type(&mut self, group: usize, section: Section, ty: Type) -> Result<(), CdlError> {
        let mut after = self.lexer;
        let owner = after.next()?;
        if after.next()?.token == Token::Mark(':') {
            let Some(variable) = self.scope.find_variable(group, owner.token) else {
                let why = format!(
                    "the variable {} was not declared before its attribute",
                    describe(owner.token)
                );
                return self.error(owner.start, why);
            };
            self.lexer = after;
            return self.attribute(group, Some(variable), Some(ty));
        }
        if section != Section::Variables {
            return self.error(
                owner.start,
                "variables are declared in the section `variables:`; begin it first",
            );
        }
        loop {
            let (name, at) = self.name("a variable")?;
            self.variable(group, name, ty, at)?;
            let lexeme = self.lexer.next()?;
            match lexeme.token {
                Token::Mark(',') => {}
                Token::Mark(';') => return Ok(()),
                token => {
                    let why =
                        format!("expected `,` or `;` after a variable, found {}", describe(token));
                    return self.error(lexeme.start, why);
                }
            }
        }
    }

    fn variable(
        &mut self,
        group: usize,
        name: String,
        ty: Type,
        at: usize,
    ) -> Result<(), CdlError> {
        self.takes_name(group, &name, at, "variable")?;
        let mut dimensions = Vec::new();
        if self.peek()?.token == Token::Mark('(') {
            self.lexer.next()?;
            loop {
                let lexeme = self.lexer.next()?;
                let Some(path) = self.scope.find_dimension(group, lexeme.token) else {
                    let why = format!(
                        "the dimension {} was not declared here or above; declare it in `dimensions:`",
                        describe(lexeme.token)
                    );
                    return self.error(lexeme.start, why);
                };
                dimensions.push(path);
                if dimensions.len() > MAX_RANK {
                    return self.error(
                        lexeme.start,
                        format!("a variable has at most {MAX_RANK} dimensions"),
                    );
                }
                let lexeme = self.lexer.next()?;
                match lexeme.token {
                    Token::Mark(',') => {}
                    Token::Mark(')') => break,
                    token => {
                        let why = format!(
                            "expected `,` or `)` after a dimension, found {}",
                            describe(token)
                        );
                        return self.error(lexeme.start, why);
                    }
                }
            }
        }
        self.scope.declare_variable(group, Variable::new(name, ty, dimensions), at);
        Ok(())
    }

    /// `name = length, …`, from the first name on.
    fn dimensions_from(&mut self, group: usize, first: Lexeme<'a>) -> Result<(), CdlError> {
        let Token::Word(word) = first.token else { return Ok(()) };
        let (mut name, mut at) = (escape::unescape_name(word), first.start);
        loop {
            self.wants('=', "between a dimension and its length")?;
            let lexeme = self.lexer.next()?;
            let dimension = match lexeme.token {
                Token::Word("UNLIMITED" | "unlimited") => Dimension::unlimited(name),
                Token::Number(number) => {
                    let mut len = Values::Uint64(Vec::new());
                    let pushed =
                        Constant::Number(number).push(&mut len, &Values::Uint64(Vec::new()));
                    let len = match len {
                        Values::Uint64(len) => {
                            len.first().copied().filter(|&len| len <= i64::MAX as u64)
                        }
                        _ => None,
                    };
                    match len.filter(|_| pushed.is_ok()) {
                        // netCDF takes 0 for UNLIMITED.
                        Some(0) => Dimension::unlimited(name),
                        Some(len) => Dimension::new(name, len),
                        None => {
                            return self.error(
                                lexeme.start,
                                format!("invalid dimension length `{number}`"),
                            );
                        }
                    }
                }
                token => {
                    let why = format!("expected a length or UNLIMITED, found {}", describe(token));
                    return self.error(lexeme.start, why);
                }
            };
            self.check_name(&dimension.name, at)?;
            let name_of = dimension.name.clone();
            if !self.scope.declare_dimension(group, dimension) {
                return self.error(at, format!("duplicate dimension `{name_of}`"));
            }
            let lexeme = self.lexer.next()?;
            match lexeme.token {
                Token::Mark(',') => (name, at) = self.name("a dimension")?,
                Token::Mark(';') => return Ok(()),
                token => {
                    let why =
                        format!("expected `,` or `;` after a dimension, found {}", describe(token));
                    return self.error(lexeme.start, why);
                }
            }
        }
    }

    /// `name = values ;`, behind the colon.
    fn attribute(
        &mut self,
        group: usize,
        variable: Option<usize>,
        ty: Option<Type>,
    ) -> Result<(), CdlError> {
        let next = self.peek()?;
        let is_plain = matches!(next.token, Token::Word(word) if escape::is_plain_attribute(word));
        // Plain Zarr has attributes without a name.
        let (name, at) = match next.token {
            Token::Mark('=') => (String::new(), next.start),
            _ => self.name("an attribute")?,
        };
        self.wants('=', "between an attribute and its values")?;
        let mut constants = Vec::new();
        let mut places = Vec::new();
        loop {
            let lexeme = self.lexer.next()?;
            let constant = match lexeme.token {
                Token::Mark('{') if ty.is_some_and(own_types::is_pair) => {
                    own_types::pair(&mut self.lexer).map(Some).map(Ok)?
                }
                token => Constant::of(token),
            };
            let why = match constant {
                Ok(Some(constant)) => {
                    constants.push(constant);
                    places.push(lexeme.start);
                    let end = self.lexer.next()?;
                    match end.token {
                        Token::Mark(',') => continue,
                        Token::Mark(';') => break,
                        token => {
                            let why = format!(
                                "expected `,` or `;` after a value, found {}",
                                describe(token)
                            );
                            return self.error(end.start, why);
                        }
                    }
                }
                Ok(None) if lexeme.token == Token::Mark(';') && constants.is_empty() => break,
                Ok(None) => {
                    format!("expected a value, found {}", describe(lexeme.token))
                }
                Err(why) => why,
            };
            return self.error(lexeme.start, why);
        }
        let ty = match (ty, variable.map(|variable| self.scope.variable(variable))) {
            (Some(ty), _) => ty,
            // A fill value is of the variable's type, unless it says that it is not.
            (None, Some(variable))
                if name == FILL && !constants.iter().any(Constant::has_suffix) =>
            {
                variable.ty
            }
            (None, _) => Constant::infer(&constants).or_else(|why| self.error(at, why))?,
        };
        if name == FILL && !matches!(ty, Type::Char | Type::String) {
            // As `ncgen`, which reads a number out of a text here.
            constants.iter_mut().for_each(|constant| *constant = constant.unquoted());
        }
        let mut value = Values::none(ty);
        for (constant, &place) in constants.iter().zip(&places) {
            constant.push(&mut value, &Values::none(ty)).or_else(|why| self.error(place, why))?;
        }
        if name == FILL && value == Values::Char(Vec::new()) {
            value = Type::Char.default_fill();
        }
        if value.is_empty() && ty != Type::Char {
            return self.error(at, format!("an attribute of type {ty} has at least one value"));
        }
        let attribute = Attribute { name: name.clone(), value };
        let special = match variable {
            _ if is_plain => Ok(false),
            Some(variable) => special::of_variable(self.scope.variable_mut(variable), &attribute),
            None => special::of_dataset(&mut self.provenance, &attribute),
        };
        if special.or_else(|why| self.error(at, why))? {
            return Ok(());
        }
        if is_virtual(&name) && !is_plain {
            let why = format!(
                "the attribute `{name}` is netCDF's own, and not of this place; one that only has its name is `\\{name}`"
            );
            return self.error(at, why);
        }
        if is_reserved(&name) {
            let why = format!("the attribute `{name}` is reserved for NCZarr; choose another name");
            return self.error(at, why);
        }
        if let Some(variable) = variable.filter(|_| name == FILL) {
            let fill = special::fill_as(&attribute.value, self.scope.variable(variable).ty);
            fill.or_else(|why| self.error(at, why))?;
        }
        if !self.scope.declare_attribute(group, variable, attribute) {
            let why = format!("duplicate attribute `{name}`; the last one is used");
            self.warnings.push(self.lexer.error(at, why));
        }
        Ok(())
    }

    /// The values behind `variable =`.
    fn data_of(&mut self, variable: usize, at: usize) -> Result<(), CdlError> {
        let declared = self.scope.variable(variable);
        let path = self.scope.path(variable).to_owned();
        if self.data.contains_key(&path) {
            return self.error(at, format!("duplicate data of `{}`", declared.name));
        }
        let dimensions = self.scope.dimensions(declared);
        let unlimited = dimensions.clone().map(|dimension| dimension.unlimited).collect();
        let mut shape: Vec<u64> = dimensions.map(|dimension| dimension.len).collect();
        let fill = special::fill_of(declared).or_else(|why| self.error(at, why))?;
        let layout = Layout::new(declared.ty, fill, unlimited);
        let start = self.lexer.at();
        data::measure(&mut self.lexer, &layout, &mut shape)?;
        self.scope.lengthen(variable, &shape);
        self.data.insert(path, Data { start, layout });
        Ok(())
    }
}

/// The atomic type of a name, an old one too.
fn ty(name: &str) -> Option<Type> {
    Some(match name {
        "real" => Type::Float,
        "long" | "integer" => Type::Int,
        "ulong" | "uinteger" => Type::Uint,
        name => return Type::from_name(name),
    })
}

/// What to say to a statement that does not belong into a section.
fn lost(section: Section, token: Token<'_>) -> String {
    let what = match section {
        Section::None => "a section such as `variables:`, an attribute, or `}`",
        Section::Types => "a type",
        Section::Dimensions => "`name = length`, an attribute, or another section",
        Section::Variables => "a type and a variable, an attribute, or another section",
        Section::Data => "`variable = values`, or `group:`",
    };
    format!("expected {what}, found {}", describe(token))
}
