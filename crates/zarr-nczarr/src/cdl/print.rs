//! Prints the definitions and data of a dataset as CDL.

use std::collections::HashMap;
use std::io::{self, Write};

use super::document::{Document, Provenance};
use super::error::CdlError;
use super::escape;
use super::printf_g::Precision;
use super::rows::{self, Frame, Rows};
use super::special;
use crate::Type;
use crate::model::name::is_same;
use crate::model::schema::{Attribute, Dimension, Group, Variable};

/// Which parts of a dataset are written, and how.
#[derive(Clone, Debug, Default)]
pub struct Printing {
    /// Definitions only, no data.
    pub header_only: bool,
    /// Of all data, those of coordinate variables: those with one dimension, and the name of one that they see.
    pub coordinates_only: bool,
    /// If there are any: of all data, those of these variables, by their names, in whichever group, or by full names.
    pub variables: Vec<String>,
    /// If there are any: only the data of these groups, by their names, at whichever depth, or by paths such as `/g1`.
    pub groups: Vec<String>,
    /// With special attributes, of the dataset these.
    pub specials: Option<Provenance>,
    /// With how many digits.
    pub precision: Precision,
    /// How long a line of data may be, in bytes; 80 by default.
    pub width: Option<usize>,
}

/// Attributes of variables of these names follow a blank, since the name with a colon begins a section.
const SECTIONS: [&str; 5] = ["variables", "dimensions", "data", "group", "types"];

/// Writes the dataset below `root` as CDL, under the name `name`. `data` is asked to push the elements of each
/// variable, by its full name, all of them in C order.
///
/// # Errors
/// When `out` does not take what is written, and those of `data`.
pub fn print<E: From<io::Error>>(
    name: &str,
    root: &Group,
    printing: &Printing,
    out: &mut dyn Write,
    data: &mut dyn FnMut(&str, &Variable, &mut Rows<'_>) -> Result<(), E>,
) -> Result<(), E> {
    let mut dimensions = HashMap::new();
    collect(root, String::new(), &mut dimensions);
    writeln!(out, "netcdf {} {{", escape::name(name))?;
    let mut printer = Printer { printing, dimensions, out };
    printer.types(root)?;
    printer.group(root, "", 0, data)?;
    writeln!(printer.out, "}}")?;
    Ok(())
}

impl Document<'_> {
    /// Writes the text again, as `ncdump` would write the dataset that it makes.
    ///
    /// # Errors
    /// When `out` does not take it.
    pub fn print(&self, printing: &Printing, out: &mut dyn Write) -> io::Result<()> {
        print(&self.name, &self.root, printing, out, &mut |path, variable, rows| {
            let fill = special::fill_of(variable).map_err(io::Error::other)?;
            let total: u64 = self.shape(path).iter().product();
            let mut next = 0;
            self.each_piece::<Failure>(path, &mut |first, values| {
                gap(rows, &fill, first - next)?;
                rows.push(values)?;
                next = first + values.len() as u64;
                Ok(())
            })?;
            gap(rows, &fill, total - next)
        })
    }
}

/// Writes `count` elements that were not given.
fn gap(rows: &mut Rows<'_>, fill: &crate::Values, count: u64) -> io::Result<()> {
    (0..count).try_for_each(|_| rows.push(fill))
}

/// What can go wrong when a text is written again.
struct Failure(io::Error);

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Failure(error)
    }
}

impl From<CdlError> for Failure {
    fn from(error: CdlError) -> Self {
        Failure(io::Error::other(error))
    }
}

impl From<Failure> for io::Error {
    fn from(failure: Failure) -> Self {
        failure.0
    }
}

/// All dimensions by their full names.
fn collect<'a>(group: &'a Group, path: String, dimensions: &mut HashMap<String, &'a Dimension>) {
    for dimension in &group.dimensions {
        dimensions.insert(format!("{path}/{}", dimension.name), dimension);
    }
    for child in &group.groups {
        collect(child, format!("{path}/{}", child.name), dimensions);
    }
}

/// The types of a group's variables and attributes, and of all below it.
fn types_of(group: &Group, types: &mut Vec<Type>) {
    let attributes = group.variables.iter().flat_map(|variable| &variable.attributes);
    let attributes = attributes.chain(&group.attributes).map(|attribute| attribute.value.ty());
    let all = group.variables.iter().map(|variable| variable.ty).chain(attributes);
    types.extend(all.filter(|ty| !ty.is_atomic()));
    group.groups.iter().for_each(|child| types_of(child, types));
}

struct Printer<'a> {
    printing: &'a Printing,
    dimensions: HashMap<String, &'a Dimension>,
    out: &'a mut dyn Write,
}

impl Printer<'_> {
    fn group<E: From<io::Error>>(
        &mut self,
        group: &Group,
        path: &str,
        indent: usize,
        data: &mut dyn FnMut(&str, &Variable, &mut Rows<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        let blank = " ".repeat(indent);
        self.header(group, path, &blank)?;
        let wanted = !self.printing.header_only && self.is_wanted_group(group, path);
        if wanted && !group.variables.is_empty() {
            writeln!(self.out, "{blank}data:")?;
            for variable in &group.variables {
                let full = format!("{path}/{}", variable.name);
                if self.is_wanted(variable, &full) {
                    self.data(variable, &full, indent, data)?;
                }
            }
        }
        for child in &group.groups {
            let name = escape::name(&child.name);
            writeln!(self.out, "\n{blank}group: {name} {{")?;
            self.group(child, &format!("{path}/{}", child.name), indent + 2, data)?;
            writeln!(self.out, "{blank}  }} // group {name}")?;
        }
        Ok(())
    }

    /// The types that are not atomic, if variables are of them.
    fn types(&mut self, root: &Group) -> io::Result<()> {
        let mut used = Vec::new();
        types_of(root, &mut used);
        if !used.is_empty() {
            writeln!(self.out, "types:")?;
        }
        for ty in [Type::Bool, Type::Complex64, Type::Complex128] {
            let part = match ty {
                _ if !used.contains(&ty) => continue,
                Type::Bool => {
                    writeln!(self.out, "  ubyte enum {ty} {{FALSE = 0, TRUE = 1}} ;")?;
                    continue;
                }
                Type::Complex64 => Type::Float,
                _ => Type::Double,
            };
            writeln!(
                self.out,
                "  compound {ty} {{\n    {part} r ;\n    {part} i ;\n  }}; // {ty}"
            )?;
        }
        Ok(())
    }

    /// Everything but data and groups.
    fn header(&mut self, group: &Group, path: &str, blank: &str) -> io::Result<()> {
        if !group.dimensions.is_empty() {
            writeln!(self.out, "{blank}dimensions:")?;
        }
        for dimension in &group.dimensions {
            let (name, len) = (escape::name(&dimension.name), dimension.len);
            // CDL takes the length 0 for UNLIMITED, and so it is when the text is read.
            if dimension.unlimited || len == 0 {
                writeln!(self.out, "{blank}\t{name} = UNLIMITED ; // ({len} currently)")?
            } else {
                writeln!(self.out, "{blank}\t{name} = {len} ;")?
            }
        }
        if !group.variables.is_empty() {
            writeln!(self.out, "{blank}variables:")?;
        }
        for variable in &group.variables {
            self.variable(variable, path, blank)?;
        }
        let specials = self.printing.specials.clone();
        if !group.attributes.is_empty() || specials.is_some() {
            let whose = if path.is_empty() { "global" } else { "group" };
            writeln!(self.out, "\n{blank}// {whose} attributes:")?;
        }
        for attribute in &group.attributes {
            self.attribute("", attribute, blank)?;
        }
        if let Some(specials) = specials.filter(|_| path.is_empty()) {
            for (name, value) in [
                ("_NCProperties", specials.properties.map(quoted)),
                ("_SuperblockVersion", specials.superblock.map(|version| version.to_string())),
                ("_IsNetcdf4", specials.netcdf4.map(|is| u8::from(is).to_string())),
                ("_Format", specials.format.map(quoted)),
            ] {
                if let Some(value) = value {
                    writeln!(self.out, "{blank}\t\t:{name} = {value} ;")?;
                }
            }
        }
        Ok(())
    }

    fn variable(&mut self, variable: &Variable, path: &str, blank: &str) -> io::Result<()> {
        let name = escape::name(&variable.name);
        write!(self.out, "{blank}\t{} {name}", variable.ty)?;
        let dimensions: Vec<String> =
            variable.dimensions.iter().map(|full| self.dimension(full, path)).collect();
        if !dimensions.is_empty() {
            write!(self.out, "({})", dimensions.join(", "))?;
        }
        writeln!(self.out, " ;")?;
        let owner =
            if SECTIONS.contains(&variable.name.as_str()) { format!("{name} ") } else { name };
        for attribute in &variable.attributes {
            self.attribute(&owner, attribute, blank)?;
        }
        if self.printing.specials.is_some() {
            for (name, value) in special::to_cdl(variable, &variable.storage.chunks) {
                writeln!(self.out, "{blank}\t\t{owner}:{name} = {value} ;")?;
            }
        }
        Ok(())
    }

    fn attribute(&mut self, owner: &str, attribute: &Attribute, blank: &str) -> io::Result<()> {
        let ty = match attribute.value.ty() {
            ty if ty == Type::String || !ty.is_atomic() => format!("{ty} "),
            _ => String::new(),
        };
        let mut value = String::new();
        rows::push_attribute(&mut value, &attribute.value, self.printing.precision);
        let name = escape::attribute_name(&attribute.name);
        writeln!(self.out, "{blank}\t\t{ty}{owner}:{name} = {value} ;")
    }

    /// A dimension as a variable of the group at `path` calls it: by its name only, where that finds it.
    fn dimension(&self, full: &str, path: &str) -> String {
        let (of, name) = full.rsplit_once('/').unwrap_or(("", full));
        let mut group = Some(path);
        while let Some(above) = group {
            if above == of {
                return escape::name(name);
            }
            if self.is_dimension(above, name) {
                break;
            }
            group = above.rsplit_once('/').map(|(above, _)| above);
        }
        full.split('/').map(escape::name).collect::<Vec<_>>().join("/")
    }

    /// Whether the group at `path`, which is empty for the root, declares a dimension of this name.
    fn is_dimension(&self, path: &str, name: &str) -> bool {
        self.dimensions.contains_key(&format!("{path}/{name}"))
    }

    /// Whether the data of a group are; the root is called `/`.
    fn is_wanted_group(&self, group: &Group, path: &str) -> bool {
        let wanted = &self.printing.groups;
        wanted.is_empty()
            || wanted.iter().any(|name| {
                let plain = name.trim_matches('/');
                is_same(plain, path.trim_start_matches('/'))
                    || (!name.contains('/') && is_same(name, &group.name))
            })
    }

    fn is_wanted(&self, variable: &Variable, full: &str) -> bool {
        let printing = self.printing;
        let is_named = printing.variables.iter().any(|name| {
            is_same(name, &variable.name)
                || is_same(name.trim_start_matches('/'), full.trim_start_matches('/'))
        });
        if !printing.variables.is_empty() && !is_named {
            return false;
        }
        if !printing.coordinates_only {
            return true;
        }
        // As `ncdump` has it: the one dimension may be another than that of the same name.
        let mut above = full.rmatch_indices('/').map(|(at, _)| &full[..at]);
        variable.dimensions.len() == 1
            && above.any(|group| self.is_dimension(group, &variable.name))
    }

    fn data<E: From<io::Error>>(
        &mut self,
        variable: &Variable,
        full: &str,
        indent: usize,
        data: &mut dyn FnMut(&str, &Variable, &mut Rows<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        let dimensions = variable.dimensions.iter().map(|full| self.dimensions.get(full));
        let (shape, unlimited): (Vec<u64>, Vec<bool>) = dimensions
            .map(|found| found.map_or((0, false), |found| (found.len, found.unlimited)))
            .unzip();
        if shape.contains(&0) {
            return Ok(());
        }
        let width = self.printing.width.unwrap_or(rows::LINE);
        let precision = self.printing.precision;
        let frame = Frame { indent, width, shape, unlimited, precision };
        let mut rows = Rows::begin(self.out, variable, frame)?;
        data(full, variable, &mut rows)
    }
}

/// A text as the value of an attribute.
fn quoted(text: String) -> String {
    let mut written = String::new();
    rows::push_attribute(&mut written, &text.as_str().into(), Precision::default());
    written
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Values;

    /// N-006: as ncdump 4.9.0 writes them.
    #[test]
    fn types_that_are_not_atomic_are_declared() {
        let mut root = Group::new("");
        root.dimensions = vec![Dimension::new("n", 3)];
        root.variables = vec![
            Variable::new("b", Type::Bool, ["/n"]),
            Variable::new("c", Type::Complex64, ["/n"]),
            Variable::new("z", Type::Complex128, ["/n", "/n"]),
            Variable::new("s", Type::Complex64, [""; 0]),
        ];
        root.variables[1].attributes = vec![Attribute::new("a", vec![[1_f32, 2.0]])];
        let pair = [1.123456789012345; 2];
        let mut printed = Vec::new();
        let data = &mut |_: &str, variable: &Variable, rows: &mut Rows<'_>| {
            let values: Values = match variable.name.as_str() {
                "b" => vec![true, false, true].into(),
                "c" => vec![[1.0, 2.0], [0.1, f32::NAN], [f32::NEG_INFINITY, 3.0]].into(),
                "z" => vec![
                    [1.0, 2.0],
                    [0.1, 2.0],
                    [1.0; 2],
                    pair,
                    pair,
                    pair,
                    [3.0; 2],
                    [0.0; 2],
                    [1.0; 2],
                ]
                .into(),
                _ => vec![[5_f32, 6.0]].into(),
            };
            rows.push(&values)
        };
        print::<io::Error>("t3", &root, &Printing::default(), &mut printed, data).unwrap();
        let due = "netcdf t3 {
types:
  ubyte enum _bool_t {FALSE = 0, TRUE = 1} ;
  compound _Complex64_t {
    float r ;
    float i ;
  }; // _Complex64_t
  compound _Complex128_t {
    double r ;
    double i ;
  }; // _Complex128_t
dimensions:
\tn = 3 ;
variables:
\t_bool_t b(n) ;
\t_Complex64_t c(n) ;
\t\t_Complex64_t c:a = {1, 2} ;
\t_Complex128_t z(n, n) ;
\t_Complex64_t s ;
data:

 b = TRUE, FALSE, TRUE ;

 c = {1, 2}, {0.1, NaNf}, {-Infinityf, 3} ;

 z =
  {1, 2}, {0.1, 2}, {1, 1},
  {1.12345678901235, 1.12345678901235}, {1.12345678901235, 1.12345678901235}, \n    {1.12345678901235, 1.12345678901235},
  {3, 3}, {0, 0}, {1, 1} ;

 s = {5, 6} ;
}
";
        assert_eq!(String::from_utf8(printed).unwrap(), due);
    }
}
