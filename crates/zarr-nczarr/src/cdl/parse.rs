//! How is a CDL text read?
//!
//! The grammar is that of `ncgen`: sections in a group, statements in a section. Definitions are kept flat until the
//! text ends, since a statement may name a variable of any group by its path.

use std::collections::{HashMap, HashSet};

use super::data::{self, Layout, told};
use super::document::{Data, Document, Provenance};
use super::error::CdlError;
use super::escape;
use super::number::Constant;
use super::special;
use super::token::{Lexeme, Lexer, Token};
use crate::schema::{Attribute, Dimension, Group, Variable};
use crate::{Type, Values};

/// The attribute that holds a variable's fill value.
const FILL: &str = "_FillValue";

/// How deep groups may lie in each other.
const MAX_DEPTH: usize = 200;

/// How many dimensions a variable may have, in netCDF too.
const MAX_RANK: usize = 1024;

pub(super) fn parse(text: &str) -> Result<Document<'_>, CdlError> {
    let mut lexer = Lexer::new(text, if text.starts_with('\u{feff}') { 3 } else { 0 });
    let begin = lexer.next()?;
    if !matches!(begin.token, Token::Word("netcdf" | "NETCDF" | "netCDF")) {
        let why =
            format!("a CDL text begins with `netcdf NAME {{`, and this is {}", told(begin.token));
        return Err(lexer.error(begin.start, why));
    }
    let (title, _) = lexer.title()?;
    let mut parser = Parser {
        lexer,
        groups: Vec::new(),
        dimensions: Vec::new(),
        variables: Vec::new(),
        group_at: HashMap::new(),
        dimension_at: HashMap::new(),
        variable_at: HashMap::new(),
        provenance: Provenance::default(),
        data: HashMap::new(),
    };
    parser.group(String::new(), None, 0)?;
    let end = parser.lexer.next()?;
    if end.token != Token::End {
        let why = format!(
            "the dataset ended with its `}}`, and here is {}; take it away",
            told(end.token)
        );
        return Err(parser.lexer.error(end.start, why));
    }
    parser.finish(escape::unescape_name(title.trim()))
}

/// A group, its place in the tree and its dimensions and variables by number.
#[derive(Default)]
struct Member {
    group: Group,
    path: String,
    /// Of variables and groups.
    names: HashSet<String>,
    attribute_names: HashSet<String>,
    dimensions: Vec<usize>,
    variables: Vec<usize>,
    children: Vec<usize>,
}

struct Declared {
    variable: Variable,
    group: usize,
    at: usize,
    names: HashSet<String>,
}

struct Parser<'a> {
    lexer: Lexer<'a>,
    groups: Vec<Member>,
    dimensions: Vec<Dimension>,
    variables: Vec<Declared>,
    /// By full name.
    group_at: HashMap<String, usize>,
    dimension_at: HashMap<String, usize>,
    variable_at: HashMap<String, usize>,
    provenance: Provenance,
    data: HashMap<String, Data>,
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
            let why =
                format!("`{mark}` is wanted here, {what}, and this is {}", told(lexeme.token));
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
                    format!("the name of {what} is wanted here, and this is {}{hint}", told(token)),
                )
            }
        }
    }

    /// Everything between the braces of a group.
    fn group(&mut self, name: String, parent: Option<usize>, depth: usize) -> Result<(), CdlError> {
        let opened = self.wants('{', "where a group begins")?;
        if depth > MAX_DEPTH {
            return self
                .error(opened, format!("groups lie more than {MAX_DEPTH} deep in each other"));
        }
        let number = self.groups.len();
        let above = parent.map_or("", |parent| &self.groups[parent].path);
        let path = if parent.is_none() { String::new() } else { format!("{above}/{name}") };
        self.group_at.insert(path.clone(), number);
        self.groups.push(Member { group: Group::new(name), path, ..Member::default() });
        if let Some(parent) = parent {
            self.groups[parent].children.push(number);
        }
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

    /// A variable and a group of one group have different names (N-001).
    fn takes_name(
        &mut self,
        group: usize,
        name: &str,
        at: usize,
        what: &str,
    ) -> Result<(), CdlError> {
        if !self.groups[group].names.insert(name.to_owned()) {
            let why = format!(
                "a variable or group `{name}` is there already; choose another name for this {what}"
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
            let variable = self.find_variable(group, first.token);
            return match (variable, first.token) {
                (Some(variable), _) => self.attribute(group, Some(variable), None),
                (None, Token::Word(word)) if self::ty(word).is_some() => {
                    self.attribute(group, None, self::ty(word))
                }
                (None, token) => self.error(
                    at,
                    format!(
                        "{} is neither a variable declared before nor an atomic type",
                        told(token)
                    ),
                ),
            };
        }
        match (section, first.token) {
            (Section::Data, token @ (Token::Word(_) | Token::Path(_))) if next.token == Token::Mark('=') => {
                self.wants('=', "before data")?;
                let Some(variable) = self.find_variable(group, token) else {
                    let why = format!("the variable {} was not declared; declare it in `variables:`", told(token));
                    return self.error(at, why);
                };
                self.data_of(variable, at)
            }
            (Section::Dimensions, Token::Word(_)) if next.token == Token::Mark('=') => {
                self.dimensions_from(group, first)
            }
            (Section::Types, token) => self.error(
                at,
                format!(
                    "{} declares a type: enum, opaque, vlen and compound types are not kept in Zarr; declare \
                     variables of atomic types instead",
                    told(token)
                ),
            ),
            (section, Token::Word(word)) => match (section, self::ty(word)) {
                (_, Some(ty)) => self.of_type(group, section, ty),
                (Section::Variables, None) => self.error(
                    at,
                    format!(
                        "`{word}` is no atomic type; there are byte, ubyte, char, short, ushort, int, uint, int64, \
                         uint64, float, double and string. Types that a file declares itself are not kept in Zarr"
                    ),
                ),
                (_, None) => self.error(at, lost(section, first.token)),
            },
            (section, token) => self.error(at, lost(section, token)),
        }
    }

    /// What stands behind a type: variables, or an attribute of a variable.
    fn of_type(&mut self, group: usize, section: Section, ty: Type) -> Result<(), CdlError> {
        let mut after = self.lexer;
        let owner = after.next()?;
        if after.next()?.token == Token::Mark(':') {
            let Some(variable) = self.find_variable(group, owner.token) else {
                let why = format!(
                    "the variable {} was not declared before its attribute",
                    told(owner.token)
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
                    let why = format!(
                        "`,` or `;` is wanted behind a variable, and this is {}",
                        told(token)
                    );
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
                let Some(path) = self.find_dimension(group, lexeme.token) else {
                    let why = format!(
                        "the dimension {} was not declared here or above; declare it in `dimensions:`",
                        told(lexeme.token)
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
                            "`,` or `)` is wanted behind a dimension, and this is {}",
                            told(token)
                        );
                        return self.error(lexeme.start, why);
                    }
                }
            }
        }
        let number = self.variables.len();
        self.variable_at.insert(format!("{}/{name}", self.groups[group].path), number);
        let variable = Variable::new(name, ty, dimensions);
        self.variables.push(Declared { variable, group, at, names: HashSet::new() });
        self.groups[group].variables.push(number);
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
                                format!("`{number}` is no length of a dimension"),
                            );
                        }
                    }
                }
                token => {
                    let why = format!(
                        "a length or UNLIMITED is wanted here, and this is {}",
                        told(token)
                    );
                    return self.error(lexeme.start, why);
                }
            };
            let path = format!("{}/{}", self.groups[group].path, dimension.name);
            let number = self.dimensions.len();
            if self.dimension_at.insert(path, number).is_some() {
                return self
                    .error(at, format!("a dimension `{}` is there already", dimension.name));
            }
            self.dimensions.push(dimension);
            self.groups[group].dimensions.push(number);
            let lexeme = self.lexer.next()?;
            match lexeme.token {
                Token::Mark(',') => (name, at) = self.name("a dimension")?,
                Token::Mark(';') => return Ok(()),
                token => {
                    let why = format!(
                        "`,` or `;` is wanted behind a dimension, and this is {}",
                        told(token)
                    );
                    return self.error(lexeme.start, why);
                }
            }
        }
    }

    /// The full name of a dimension of this group, of one above, or at a path.
    fn find_dimension(&self, group: usize, token: Token<'a>) -> Option<String> {
        match token {
            Token::Path(path) => {
                Some(unescape_path(path)).filter(|path| self.dimension_at.contains_key(path))
            }
            Token::Word(word) => {
                let name = escape::unescape_name(word);
                let mut above = Some(self.groups[group].path.as_str());
                while let Some(path) = above {
                    let full = format!("{path}/{name}");
                    if self.dimension_at.contains_key(&full) {
                        return Some(full);
                    }
                    above = path.rsplit_once('/').map(|(above, _)| above);
                }
                None
            }
            _ => None,
        }
    }

    /// A variable of this group, or at a path.
    fn find_variable(&self, group: usize, token: Token<'a>) -> Option<usize> {
        let path = match token {
            Token::Path(path) => unescape_path(path),
            Token::Word(word) => {
                format!("{}/{}", self.groups[group].path, escape::unescape_name(word))
            }
            _ => return None,
        };
        self.variable_at.get(&path).copied()
    }

    /// `name = values ;`, behind the colon.
    fn attribute(
        &mut self,
        group: usize,
        variable: Option<usize>,
        ty: Option<Type>,
    ) -> Result<(), CdlError> {
        let (name, at) = self.name("an attribute")?;
        self.wants('=', "between an attribute and its values")?;
        let mut constants = Vec::new();
        let mut places = Vec::new();
        loop {
            let lexeme = self.lexer.next()?;
            let why = match Constant::of(lexeme.token) {
                Ok(Some(constant)) => {
                    constants.push(constant);
                    places.push(lexeme.start);
                    let end = self.lexer.next()?;
                    match end.token {
                        Token::Mark(',') => continue,
                        Token::Mark(';') => break,
                        token => {
                            let why = format!(
                                "`,` or `;` is wanted behind a value, and this is {}",
                                told(token)
                            );
                            return self.error(end.start, why);
                        }
                    }
                }
                Ok(None) if lexeme.token == Token::Mark(';') && constants.is_empty() => break,
                Ok(None) => format!("a value is wanted here, and this is {}", told(lexeme.token)),
                Err(why) => why,
            };
            return self.error(lexeme.start, why);
        }
        let ty = match (ty, variable.map(|variable| &self.variables[variable].variable)) {
            (Some(ty), _) => ty,
            // A fill value is of the variable's type, unless it says that it is not.
            (None, Some(variable))
                if name == FILL && !constants.iter().any(Constant::has_suffix) =>
            {
                variable.ty
            }
            (None, _) => Constant::infer(&constants).or_else(|why| self.error(at, why))?,
        };
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
        match variable {
            Some(variable) => {
                let declared = &mut self.variables[variable];
                match special::of_variable(&mut declared.variable, &attribute) {
                    Ok(true) => return Ok(()),
                    Ok(false) => {}
                    Err(why) => return self.error(at, why),
                }
                if name == FILL {
                    let fill =
                        special::fill_as(&attribute.value, self.variables[variable].variable.ty);
                    fill.or_else(|why| self.error(at, why))?;
                }
                let declared = &mut self.variables[variable];
                if !declared.names.insert(attribute.name.clone()) {
                    return self
                        .error(at, format!("the attribute `{}` is there already", attribute.name));
                }
                declared.variable.attributes.push(attribute);
            }
            None => {
                match special::of_dataset(&mut self.provenance, &attribute) {
                    Ok(true) => return Ok(()),
                    Ok(false) => {}
                    Err(why) => return self.error(at, why),
                }
                let member = &mut self.groups[group];
                if !member.attribute_names.insert(attribute.name.clone()) {
                    return self
                        .error(at, format!("the attribute `{}` is there already", attribute.name));
                }
                member.group.attributes.push(attribute);
            }
        }
        Ok(())
    }

    /// The values behind `variable =`.
    fn data_of(&mut self, variable: usize, at: usize) -> Result<(), CdlError> {
        let declared = &self.variables[variable];
        let name = &declared.variable.name;
        let path = format!("{}/{name}", self.groups[declared.group].path);
        if self.data.contains_key(&path) {
            return self.error(at, format!("there are data of `{name}` already"));
        }
        let declared = &declared.variable;
        let axes: Vec<usize> = declared
            .dimensions
            .iter()
            .filter_map(|path| self.dimension_at.get(path).copied())
            .collect();
        let unlimited = axes.iter().map(|&axis| self.dimensions[axis].unlimited).collect();
        let fill = special::fill_of(declared).or_else(|why| self.error(at, why))?;
        let layout = Layout::new(declared.ty, fill, unlimited);
        let mut shape: Vec<u64> = axes.iter().map(|&axis| self.dimensions[axis].len).collect();
        let start = self.lexer.at();
        data::measure(&mut self.lexer, &layout, &mut shape)?;
        for (axis, len) in axes.into_iter().zip(shape) {
            self.dimensions[axis].len = self.dimensions[axis].len.max(len);
        }
        self.data.insert(path, Data { start, layout });
        Ok(())
    }

    /// The tree of all that was declared.
    fn finish(self, name: String) -> Result<Document<'a>, CdlError> {
        for declared in &self.variables {
            let dimensions = declared.variable.dimensions.iter();
            let lens = dimensions.filter_map(|path| self.dimension_at.get(path));
            let count = lens.map(|&axis| self.dimensions[axis].len.max(1));
            if count
                .clone()
                .try_fold(1_u64, u64::checked_mul)
                .is_none_or(|count| count > i64::MAX as u64)
            {
                let why =
                    format!("`{}` has more elements than can be counted", declared.variable.name);
                return Err(self.lexer.error(declared.at, why));
            }
        }
        let mut dimensions: Vec<Option<Dimension>> =
            self.dimensions.into_iter().map(Some).collect();
        let mut variables: Vec<Option<Variable>> =
            self.variables.into_iter().map(|declared| Some(declared.variable)).collect();
        let mut built: Vec<Option<Group>> = Vec::new();
        built.resize_with(self.groups.len(), || None);
        // Groups come behind those they lie in.
        for (number, member) in self.groups.into_iter().enumerate().rev() {
            let mut group = member.group;
            group
                .dimensions
                .extend(member.dimensions.iter().filter_map(|&at| dimensions[at].take()));
            group.variables.extend(member.variables.iter().filter_map(|&at| variables[at].take()));
            group.groups.extend(member.children.iter().filter_map(|&at| built[at].take()));
            built[number] = Some(group);
        }
        let root = built.first_mut().and_then(Option::take).unwrap_or_default();
        let text = self.lexer.text();
        Ok(Document { text, name, root, provenance: self.provenance, data: self.data })
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

fn unescape_path(path: &str) -> String {
    let mut unescaped = String::with_capacity(path.len());
    for name in path.split('/').skip(1) {
        unescaped.push('/');
        unescaped.push_str(&escape::unescape_name(name));
    }
    unescaped
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
    format!("{what} is wanted here, and this is {}", told(token))
}
