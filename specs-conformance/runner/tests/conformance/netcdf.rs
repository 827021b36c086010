//! Compares a store as a netCDF dataset with what netCDF's own programs say of it.

use std::error::Error;
use std::path::Path;

use zarr::nczarr::cdl::{Document, Printing, Provenance};
use zarr::nczarr::{Dataset, Type, Values, open_url};
use zarr::{ErrorKind, Json, Object};

use crate::Check;
use crate::compare::{hex, names, numbers, objects, same, sha256, text};

/// The dataset has the variables of the case, with their dimensions, types and values; and if `cdl` is what `ncdump`
/// printed of it, the dimensions, declarations, attributes and values that stand there, and no others.
pub fn check(store: &Path, case: &Object, cdl: Option<&str>) -> Check {
    let dataset = open(store, cdl)?;
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
        Some(cdl) => check_text(&dataset, text(case, "id").unwrap_or_default(), cdl)
            .and_then(|()| check_again(cdl)),
        None => Ok(()),
    }
}

/// The dataset in a store, or, as netCDF's library takes an archive, in the one folder there, which `cdl` is named
/// like.
fn open(store: &Path, cdl: Option<&str>) -> Result<Dataset, String> {
    let locate = |path: &Path| {
        let dataset = open_url(&path.display().to_string(), zarr::standard());
        dataset.map_err(|e| e.to_string())
    };
    let dataset = locate(store)?;
    let schema = dataset.schema();
    match schema.groups.as_slice() {
        [one] if schema.variables.is_empty() && cdl.map(name_of) == Some(one.name.as_str()) => {
            locate(&store.join(&one.name))
        }
        _ => Ok(dataset),
    }
}

/// What stands behind `netcdf`.
fn name_of(cdl: &str) -> &str {
    cdl.split(' ').nth(1).unwrap_or_default()
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

/// The CDL that `ncdump` printed of a case, or of the same dataset in HDF5 if it could not read this one.
pub fn cdl_of(case: &Object, texts: Option<&Object>) -> Option<String> {
    let of = |object: &Object, name: &str| {
        text(object, name).filter(|text| !text.is_empty()).map(str::to_owned)
    };
    let stored = texts.and_then(|all| all.get(text(case, "id")?)?.as_object());
    let stored =
        stored.and_then(|texts| of(texts, "cdl").or_else(|| of(texts, "cdl_of_hdf5_twin")));
    stored.or_else(|| of(case, "cdl"))
}

/// Where our CDL is to be another: a case, words that `ncdump` printed, and ours.
///
/// - netCDF 4.9.0 gave scalars of plain Zarr a dimension, and attributes without types the smallest that holds them:
///   N-021, N-051.
/// - A fill value of the array's own is told, and is `_` among the data then: N-054.
/// - netcdf-c's tests leave special attributes out that tell versions: N-123.
const OTHERWISE: &[(&str, &[(&str, &str)])] = &[
    ("nczarr-v2/ncgen-zarr-file", OF_4_9_0),
    ("nczarr-v2/ncgen-xarray-file", OF_4_9_0),
    (
        "peer-netcdf-c/ref_byte.zarr.zip",
        &[
            (" 0", " _"),
            ("20) ;\n", "20) ;\n\t\tbyte:_FillValue = 0UB ;\n"),
            ("\t\t:_Format", "\t\t:_SuperblockVersion = 2 ;\n\t\t:_IsNetcdf4 = 1 ;\n\t\t:_Format"),
        ],
    ),
    (
        "peer-netcdf-c/ref_byte_fill_value_null.zarr.zip",
        &[(
            "\t\t:_Format",
            "\t\t:_NCProperties = \"version=2,netcdf=4.8.2-development,nczarr=2.0.0\" ;\n\
             \t\t:_SuperblockVersion = 2 ;\n\t\t:_IsNetcdf4 = 1 ;\n\t\t:_Format",
        )],
    ),
    (
        "peer-netcdf-c/ref_power_901_constants_orig.zip",
        &[
            (
                "FRLAKE:vmin = -999999986991104. ;\n",
                "FRLAKE:vmin = -999999986991104. ;\n\t\tFRLAKE:_FillValue = NaNf ;\n",
            ),
            (
                "FRLAND:vmin = -999999986991104. ;\n",
                "FRLAND:vmin = -999999986991104. ;\n\t\tFRLAND:_FillValue = NaNf ;\n",
            ),
            (
                "FRLANDICE:vmin = -999999986991104. ;\n",
                "FRLANDICE:vmin = -999999986991104. ;\n\t\tFRLANDICE:_FillValue = NaNf ;\n",
            ),
            (
                "FROCEAN:vmin = -999999986991104. ;\n",
                "FROCEAN:vmin = -999999986991104. ;\n\t\tFROCEAN:_FillValue = NaNf ;\n",
            ),
        ],
    ),
    (
        "peer-netcdf-c/ref_quotes_orig.zip",
        &[("info/\" ;\n", "info/\" ;\n\t\tfractional_snow_cover:_FillValue = NaNf ;\n")],
    ),
];

const OF_4_9_0: &[(&str, &str)] = &[
    ("\t_zdim_1 = 1 ;\n", ""),
    ("scalar(_zdim_1)", "scalar"),
    ("-999s", "-999.f"),
    ("-999, -999, -999,", "_, _, _,"),
    ("-5b, 7b", "-5, 7"),
    (" 3b ;", " 3 ;"),
];

/// The dataset prints as `cdl`, but for what is told above.
fn check_text(dataset: &Dataset, id: &str, cdl: &str) -> Check {
    let mut due = cdl.to_owned();
    for (_, edits) in OTHERWISE.iter().filter(|(of, _)| *of == id) {
        for (theirs, ours) in *edits {
            if !due.contains(theirs) {
                return Err(format!("`{theirs}` is not in the CDL, and was to be `{ours}`"));
            }
            due = due.replace(theirs, ours);
        }
    }
    // Some texts have special attributes, some no data.
    let specials = cdl.contains(":_Storage = ").then(|| Provenance::of(dataset)).transpose();
    let printing = Printing {
        header_only: !cdl.contains("\ndata:\n"),
        specials: specials.map_err(|e| e.to_string())?,
        ..Printing::default()
    };
    let mut printed = Vec::new();
    let done = dataset.print_cdl::<Box<dyn Error>>(name_of(cdl), &printing, &mut printed);
    done.map_err(|e| e.to_string())?;
    let printed = String::from_utf8(printed).map_err(|e| e.to_string())?;
    for (n, (found, due)) in printed.lines().zip(due.lines()).enumerate() {
        same(&format!("line {} of the CDL", n + 1), found, due)?;
    }
    same("lines of CDL", printed.lines().count(), due.lines().count())
}

/// CDL that `ncdump` printed, read and printed again, is the same.
fn check_again(cdl: &str) -> Check {
    let document = Document::parse(cdl).map_err(|e| format!("the CDL is not read: {e}"))?;
    let printing = Printing {
        header_only: !cdl.contains("\ndata:\n"),
        specials: cdl.contains(":_Storage = ").then(|| document.provenance.clone()),
        ..Printing::default()
    };
    let mut printed = Vec::new();
    document.print(&printing, &mut printed).map_err(|e| e.to_string())?;
    same("the CDL, printed again", String::from_utf8(printed).ok().as_deref(), Some(cdl))
}

/// The texts that `ncdump` printed of a family, by the ids of its cases.
pub fn texts(families: &Path, family: &str) -> Option<Object> {
    let text = std::fs::read(families.join(format!("{family}.cdl.json"))).ok()?;
    Json::parse(&text).ok()?.as_object().cloned()
}
