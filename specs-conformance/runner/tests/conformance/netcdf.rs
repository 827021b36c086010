//! Is a store as a netCDF dataset what netCDF's own programs say it is?

use std::path::Path;

use zarr::nczarr::{Attribute, Dataset, DatasetOptions, Profile, Type, Values, is_virtual, schema};
use zarr::{ErrorKind, Json, Object};

use crate::Check;
use crate::compare::{hex, names, numbers, objects, same, sha256, text};

/// The dataset has the variables of the case, with their dimensions, types and values; and if `cdl` is what `ncdump`
/// printed of it, the dimensions, declarations, attributes and values that stand there, and no others.
pub fn check(store: &Path, case: &Object, cdl: Option<&str>) -> Check {
    let options = DatasetOptions::new(zarr::standard());
    let dataset = Dataset::locate(&store.display().to_string(), &options);
    let dataset = dataset.map_err(|e| e.to_string())?;
    for node in objects(case, "nodes") {
        let path = text(node, "path").unwrap_or_default();
        if text(node, "type") == Some("array") {
            check_variable(&dataset, path, node).map_err(|e| format!("/{path}: {e}"))?;
        }
    }
    if let Some(note) = text(case, "note") {
        return check_refused(&dataset, note);
    }
    match cdl {
        Some(cdl) => check_text(&dataset, cdl),
        None => Ok(()),
    }
}

/// What has to be refused is: its variable, not the others.
fn check_refused(dataset: &Dataset, note: &str) -> Check {
    let schema = dataset.schema();
    let opaque = schema.opaque.first().ok_or_else(|| format!("nothing is refused: {note}"))?;
    match dataset.variable(&opaque.name) {
        Err(e) if e.kind() == ErrorKind::Argument => Ok(()),
        Err(e) => Err(e.to_string()),
        Ok(_) => Err(format!("`{}` is a variable: {note}", opaque.name)),
    }
}

fn check_variable(dataset: &Dataset, path: &str, node: &Object) -> Check {
    let variable = dataset.variable(path).map_err(|e| e.to_string())?;
    let say = |e: zarr::Error| e.to_string();
    same("shape", Some(variable.shape().map_err(say)?), numbers(node, "shape"))?;
    let found: Vec<_> =
        variable.dimensions().map_err(say)?.into_iter().map(|d| Some(d.name)).collect();
    if let Some(expected) = node.get("dimension_names").and_then(names) {
        same("dimensions", found, expected)?;
    }
    let values = variable.read().map_err(say)?;
    let due = text(node, "numpy").unwrap_or_default();
    same("type", numpy(values.ty()), due)?;
    let bytes = le_bytes(&values);
    let size = bytes.len() / values.len().max(1);
    for sample in objects(node, "samples") {
        let index = numbers(sample, "index").unwrap_or_default();
        let shape = variable.shape().map_err(say)?;
        let at = index.iter().zip(&shape).fold(0, |at, (i, len)| at * len + i) as usize;
        let found = hex(&bytes[at * size..(at + 1) * size]);
        same(&format!("element {index:?}"), Some(found.as_str()), text(sample, "le_hex"))?;
    }
    same("sha256", Some(sha256(&bytes).as_str()), text(node, "sha256"))
}

/// What NumPy calls the type, as the cases do.
fn numpy(ty: Type) -> &'static str {
    match ty {
        Type::Byte => "int8",
        Type::Ubyte => "uint8",
        Type::Short => "int16",
        Type::Ushort => "uint16",
        Type::Int => "int32",
        Type::Uint => "uint32",
        Type::Int64 => "int64",
        Type::Uint64 => "uint64",
        Type::Float => "float32",
        Type::Double => "float64",
        Type::Char => "|S1",
        other => other.name(),
    }
}

fn le_bytes(values: &Values) -> Vec<u8> {
    match values {
        Values::Byte(list) => list.iter().flat_map(|n| n.to_le_bytes()).collect(),
        Values::Ubyte(list) | Values::Char(list) => list.clone(),
        Values::Short(list) => list.iter().flat_map(|n| n.to_le_bytes()).collect(),
        Values::Ushort(list) => list.iter().flat_map(|n| n.to_le_bytes()).collect(),
        Values::Int(list) => list.iter().flat_map(|n| n.to_le_bytes()).collect(),
        Values::Uint(list) => list.iter().flat_map(|n| n.to_le_bytes()).collect(),
        Values::Int64(list) => list.iter().flat_map(|n| n.to_le_bytes()).collect(),
        Values::Uint64(list) => list.iter().flat_map(|n| n.to_le_bytes()).collect(),
        Values::Float(list) => list.iter().flat_map(|n| n.to_le_bytes()).collect(),
        Values::Double(list) => list.iter().flat_map(|n| n.to_le_bytes()).collect(),
        _ => Vec::new(),
    }
}

/// The CDL that belongs to a case, and whether types of attributes are to be those that it says.
pub fn cdl_of(case: &Object, texts: Option<&Object>) -> Option<String> {
    let of = |object: &Object, name: &str| {
        text(object, name).filter(|text| !text.is_empty()).map(str::to_owned)
    };
    let stored = texts.and_then(|all| all.get(text(case, "id")?)?.as_object());
    let stored =
        stored.and_then(|texts| of(texts, "cdl_of_hdf5_twin").or_else(|| of(texts, "cdl")));
    stored.or_else(|| of(case, "cdl"))
}

/// Each line that `ncdump` would print of the dataset's definitions stands in `cdl`, and each of those there is of
/// the dataset; values are compared one by one.
fn check_text(dataset: &Dataset, cdl: &str) -> Check {
    let mut lines: Vec<String> = Vec::new();
    say_group(&dataset.schema(), &mut lines);
    // Definitions are indented by a tab, data by blanks.
    let tabbed = cdl.lines().filter(|line| line.trim_start_matches(' ').starts_with('\t'));
    let mut due: Vec<&str> = tabbed.map(str::trim).filter(|line| is_definition(line)).collect();
    // Without types of their own attributes are of any type that holds them.
    let pure = dataset.profile() == Profile::Pure;
    let plain = |line: &str| if pure { without_suffixes(line) } else { line.to_owned() };
    for line in &lines {
        match due.iter().position(|there| plain(there) == plain(line)) {
            Some(at) => {
                due.remove(at);
            }
            // A fill value of the array's own is told here, and not by netCDF's library (N-054).
            None if pure && line.contains(":_FillValue = ") => {}
            None => return Err(format!("`{line}` is not in the CDL; not matched there: {due:#?}")),
        }
    }
    if let Some(line) = due.first() {
        return Err(format!("`{line}` of the CDL is not in the dataset"));
    }
    check_values(dataset, "/", &dataset.schema(), cdl)
}

/// Whether a line of CDL defines a dimension, a variable or an attribute that is stored.
fn is_definition(line: &str) -> bool {
    let Some(line) = line.strip_suffix(" ;") else { return false };
    let (left, value) = line.split_once(" = ").unwrap_or((line, ""));
    match left.rsplit_once(':') {
        Some((_, name)) => !is_virtual(name),
        None if value.is_empty() => {
            left.split(' ').next().is_some_and(|ty| Type::from_name(ty).is_some())
        }
        None => value == "UNLIMITED" || value.parse::<u64>().is_ok(),
    }
}

fn without_suffixes(line: &str) -> String {
    let words = line.split_inclusive(' ').map(|word| {
        let number = word.trim_end_matches([' ', ',']);
        let digits = number.trim_end_matches(|c: char| c.is_ascii_alphabetic());
        let digits = digits.strip_suffix('.').unwrap_or(digits);
        match digits.parse::<f64>() {
            Ok(_) => format!("{digits} "),
            Err(_) => word.to_owned(),
        }
    });
    words.collect()
}

fn say_group(group: &schema::Group, lines: &mut Vec<String>) {
    for dimension in &group.dimensions {
        lines.push(match dimension.unlimited {
            true => format!("{} = UNLIMITED ;", dimension.name),
            false => format!("{} = {} ;", dimension.name, dimension.len),
        });
    }
    for variable in &group.variables {
        let names: Vec<&str> =
            variable.dimensions.iter().filter_map(|name| name.rsplit('/').next()).collect();
        let axes = if names.is_empty() { String::new() } else { format!("({})", names.join(", ")) };
        lines.push(format!("{} {}{axes} ;", variable.ty, variable.name));
        say_attributes(&variable.name, &variable.attributes, lines);
    }
    say_attributes("", &group.attributes, lines);
    for below in &group.groups {
        say_group(below, lines);
    }
}

fn say_attributes(of: &str, attributes: &[Attribute], lines: &mut Vec<String>) {
    for Attribute { name, value } in attributes {
        let (prefix, words) =
            (if value.ty() == Type::String { "string " } else { "" }, words(value));
        lines.push(format!("{prefix}{of}:{name} = {} ;", words.join(", ")));
    }
}

/// Values as `ncdump` prints those of attributes.
fn words(value: &Values) -> Vec<String> {
    let quoted = |text: &str| {
        let text = text.replace('\\', "\\\\").replace('"', "\\\"").replace('\'', "\\'");
        format!("\"{}\"", text.replace('\n', "\\n"))
    };
    let float = |number: f64, suffix: &str| match number {
        number if number.is_nan() => format!("NaN{suffix}"),
        number if number.fract() == 0.0 => format!("{number}.{suffix}"),
        number => format!("{number}{suffix}"),
    };
    match value {
        Values::Byte(list) => list.iter().map(|n| format!("{n}b")).collect(),
        Values::Ubyte(list) => list.iter().map(|n| format!("{n}UB")).collect(),
        Values::Short(list) => list.iter().map(|n| format!("{n}s")).collect(),
        Values::Ushort(list) => list.iter().map(|n| format!("{n}US")).collect(),
        Values::Int(list) => list.iter().map(|n| n.to_string()).collect(),
        Values::Uint(list) => list.iter().map(|n| format!("{n}U")).collect(),
        Values::Int64(list) => list.iter().map(|n| format!("{n}LL")).collect(),
        Values::Uint64(list) => list.iter().map(|n| format!("{n}ULL")).collect(),
        Values::Float(list) => list.iter().map(|&n| float(n.into(), "f")).collect(),
        Values::Double(list) => list.iter().map(|&n| float(n, "")).collect(),
        Values::Char(_) => vec![quoted(value.as_text().unwrap_or_default())],
        Values::String(list) => list.iter().map(|text| quoted(text)).collect(),
        _ => Vec::new(),
    }
}

/// The integers that `cdl` says of a variable are those that are read; `_` stands for the fill value.
fn check_values(dataset: &Dataset, path: &str, group: &schema::Group, cdl: &str) -> Check {
    for variable in &group.variables {
        let full = format!("{}/{}", path.trim_end_matches('/'), variable.name);
        let block = cdl.split_once(&format!("\n {} =", variable.name));
        let block = block.and_then(|(_, rest)| rest.split_once(" ;"));
        let Some((block, _)) = block.filter(|(block, _)| !block.contains(['"', '.'])) else {
            continue;
        };
        let due: Vec<&str> = block.split(',').map(str::trim).collect();
        let read = dataset.variable(&full).and_then(|variable| variable.read());
        let found = words(&read.map_err(|e| format!("{full}: {e}"))?);
        let fill = words(&variable.fill());
        let number = |word: &str| word.trim_end_matches(|c: char| !c.is_ascii_digit()).to_owned();
        same(&format!("{full}: count"), found.len(), due.len())?;
        for (found, due) in found.iter().zip(due) {
            let due = if due == "_" { &fill[0] } else { due };
            same(&full, number(found), number(due))?;
        }
    }
    for below in &group.groups {
        let path = format!("{}/{}", path.trim_end_matches('/'), below.name);
        // A group's text is indented; its names stand once in these files.
        check_values(dataset, &path, below, &cdl.replace("\n   ", "\n "))?;
    }
    Ok(())
}

/// The texts that `ncdump` printed of a family, by the ids of its cases.
pub fn texts(families: &Path, family: &str) -> Option<Object> {
    let text = std::fs::read(families.join(format!("{family}.cdl.json"))).ok()?;
    Json::parse(&text).ok()?.as_object().cloned()
}
