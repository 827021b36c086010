//! Holds the metadata of GeoZarr to the conventions that it is made of: `proj:`, `spatial:` and `multiscales`, version 0.1, and
//! the list in which a node declares them.
//!
//! The number of a rule is its clause, `GEO-7`: docs/validating.md lists them. A convention is known by its uuid.

use std::collections::BTreeMap;

use zarr_core::{Json, NodePath, Object};

use super::Sink;
use super::problem::{Problem, ProblemKind};
use super::tree::{FoundArray, Tree};

/// The attribute in which a node declares its conventions.
const CONVENTIONS: &str = "zarr_conventions";
/// How far numbers that should be equal may differ, as a part of the larger one: they are decimal fractions.
const TOLERANCE: f64 = 1e-6;
/// More levels are not compared.
const MAX_LEVELS: usize = 1_000;

/// A convention that is checked.
struct Convention {
    name: &'static str,
    uuid: &'static str,
    /// Where the schema of version 0.1 is.
    schema: &'static str,
    /// Whether an attribute is one of its own.
    has: fn(&str, &Json) -> bool,
}

const KNOWN: [Convention; 3] = [
    Convention {
        name: "multiscales",
        uuid: "d35379db-88df-4056-af3a-620245f8e347",
        schema: "https://raw.githubusercontent.com/zarr-conventions/multiscales/refs/tags/v0.1/schema.json",
        // OME-Zarr has a list of this name.
        has: |name, value| name == "multiscales" && value.get("layout").is_some(),
    },
    Convention {
        name: "spatial",
        uuid: "689b58e2-cf7b-45e0-9fff-9cfc0883d6b4",
        schema: "https://raw.githubusercontent.com/zarr-conventions/spatial/refs/tags/v0.1/schema.json",
        has: |name, _| name.starts_with("spatial:"),
    },
    Convention {
        name: "proj",
        uuid: "f17cb550-5864-4468-aeb7-f3180cfb622f",
        schema: "https://raw.githubusercontent.com/zarr-conventions/proj/refs/tags/v0.1/schema.json",
        has: |name, _| name.starts_with("proj:"),
    },
];

/// Whether a node's attributes have to do with these conventions.
pub(super) fn concerns(attributes: &Object) -> bool {
    attributes.contains(CONVENTIONS)
        || attributes.iter().any(|(name, value)| KNOWN.iter().any(|known| (known.has)(name, value)))
}

/// Checks all nodes that have such metadata.
pub(super) fn check(tree: &Tree, sink: &mut Sink<'_>) {
    let mut arrays_of: BTreeMap<NodePath, Vec<&FoundArray>> = BTreeMap::new();
    if tree.nodes.values().any(|node| node.conventions.is_some()) {
        for array in &tree.arrays {
            if let Some(group) = array.path.parent() {
                arrays_of.entry(group).or_default().push(array);
            }
        }
    }
    let mut check = Check { tree, arrays_of, sink };
    for (path, node) in &tree.nodes {
        let array = node.array.map(|at| &tree.arrays[at]);
        match (array, &node.conventions) {
            (Some(array), _) if concerns(&array.metadata.attributes) => {
                check.node(path, &array.metadata.attributes, Some(array));
            }
            (None, Some(attributes)) => check.node(path, attributes, None),
            _ => {}
        }
    }
}

struct Check<'a, 's, 'f> {
    tree: &'a Tree,
    /// The arrays of each group.
    arrays_of: BTreeMap<NodePath, Vec<&'a FoundArray>>,
    sink: &'s mut Sink<'f>,
}

impl<'a> Check<'a, '_, '_> {
    fn add(
        &mut self,
        kind: ProblemKind,
        clause: &'static str,
        path: &NodePath,
        what: impl Into<String>,
    ) {
        let problem = Problem::new(path, kind, what.into()).by(clause);
        // Attributes of v2 have a document of their own, the last.
        let documents = self.tree.nodes.get(path).map(|node| &node.documents);
        self.sink.add(match documents.and_then(|documents| documents.last()) {
            Some(key) => problem.at(key),
            None => problem,
        });
    }

    fn convention(&mut self, clause: &'static str, path: &NodePath, what: impl Into<String>) {
        self.add(ProblemKind::GeoConvention, clause, path, what);
    }

    fn spatial_problem(&mut self, clause: &'static str, path: &NodePath, what: impl Into<String>) {
        self.add(ProblemKind::GeoSpatial, clause, path, what);
    }

    fn levels_problem(&mut self, clause: &'static str, path: &NodePath, what: impl Into<String>) {
        self.add(ProblemKind::GeoLevels, clause, path, what);
    }

    fn node(&mut self, path: &NodePath, attributes: &'a Object, array: Option<&'a FoundArray>) {
        self.declarations(path, attributes);
        self.proj(path, attributes);
        self.spatial(path, attributes, array);
        if let Some(multiscales) = attributes.get("multiscales")
            && (KNOWN[0].has)("multiscales", multiscales)
        {
            if array.is_some() {
                self.levels_problem(
                    "GEO-12",
                    path,
                    "`multiscales` is for groups, and this is an array",
                );
            } else {
                self.levels(path, multiscales);
            }
        }
    }

    /// GEO-1 to GEO-5: what a node declares, and what it has.
    fn declarations(&mut self, path: &NodePath, attributes: &Object) {
        let mut declared: Vec<&str> = Vec::new();
        if let Some(list) = attributes.get(CONVENTIONS) {
            let Some(entries) = list.as_array() else {
                let what =
                    format!("`{CONVENTIONS}` must be a list of objects, found {}", list.kind());
                return self.convention("GEO-1", path, what);
            };
            for (n, entry) in entries.iter().enumerate() {
                let name = format!("{CONVENTIONS}[{n}]");
                let Some(entry) = entry.as_object() else {
                    self.convention("GEO-1", path, format!("`{name}` must be an object"));
                    continue;
                };
                const IDENTITIES: [&str; 3] = ["uuid", "schema_url", "spec_url"];
                let has_identity = IDENTITIES
                    .iter()
                    .any(|name| entry.get(name).is_some_and(|it| it.as_str().is_some()));
                if !has_identity {
                    let what =
                        format!("`{name}` must have a `uuid`, a `schema_url` or a `spec_url`");
                    self.convention("GEO-1", path, what);
                }
                for (member, value) in entry.iter() {
                    let is_known =
                        IDENTITIES.contains(&member) || ["name", "description"].contains(&member);
                    if !is_known {
                        let what = format!("`{name}` must not have the member `{member}`");
                        self.convention("GEO-2", path, what);
                    } else if value.as_str().is_none() {
                        let what =
                            format!("`{name}.{member}` must be a text, found {}", value.kind());
                        self.convention("GEO-2", path, what);
                    }
                }
                let uuid = entry.get("uuid").and_then(Json::as_str).unwrap_or_default();
                let schema = entry.get("schema_url").and_then(Json::as_str);
                let known = KNOWN.iter().find(|known| match uuid {
                    "" => schema == Some(known.schema),
                    uuid => known.uuid == uuid,
                });
                if let Some(known) = known {
                    declared.push(known.name);
                    if schema.is_some_and(|schema| schema != known.schema) {
                        let what = format!(
                            "`{name}.schema_url` is not that of `{}` 0.1, {}",
                            known.name, known.schema
                        );
                        self.add(ProblemKind::GeoAdvice, "GEO-5", path, what);
                    }
                }
            }
        }
        let layout = attributes.get("multiscales").and_then(|it| it.get("layout")?.as_array());
        let items: Vec<&Object> =
            layout.into_iter().flatten().filter_map(Json::as_object).collect();
        for known in &KNOWN {
            let has = attributes.iter().any(|(name, value)| (known.has)(name, value));
            let is_declared = declared.contains(&known.name);
            if has && !is_declared {
                let what = format!(
                    "it has attributes of the convention `{}`, which `{CONVENTIONS}` does not declare",
                    known.name
                );
                self.convention("GEO-3", path, what);
            }
            let in_layout =
                items.iter().any(|item| item.iter().any(|(name, value)| (known.has)(name, value)));
            if is_declared && !has && !in_layout {
                let what = format!(
                    "`{CONVENTIONS}` declares `{}`, of which there are no attributes",
                    known.name
                );
                self.convention("GEO-4", path, what);
            }
        }
    }

    /// GEO-6: the reference system.
    fn proj(&mut self, path: &NodePath, attributes: &Object) {
        if !attributes.iter().any(|(name, value)| (KNOWN[2].has)(name, value)) {
            return;
        }
        let there = |name: &str| attributes.get(name).filter(|value| !value.is_null());
        let (code, wkt2, projjson) =
            (there("proj:code"), there("proj:wkt2"), there("proj:projjson"));
        if code.is_none() && wkt2.is_none() && projjson.is_none() {
            let what = "one of `proj:code`, `proj:wkt2` and `proj:projjson` must be there";
            self.spatial_problem("GEO-6", path, what);
        }
        if let Some(code) = code {
            let is_code = code.as_str().and_then(|text| text.split_once(':')).is_some_and(
                |(authority, code)| {
                    !authority.is_empty() && !code.is_empty() && !code.contains(':')
                },
            );
            if !is_code {
                let what = format!("`proj:code` must be like EPSG:4326, found {}", code.brief());
                self.spatial_problem("GEO-6", path, what);
            }
        }
        if wkt2.is_some_and(|value| value.as_str().is_none()) {
            self.spatial_problem("GEO-6", path, "`proj:wkt2` must be a text");
        }
        if projjson.is_some_and(|value| value.as_object().is_none()) {
            self.spatial_problem("GEO-6", path, "`proj:projjson` must be an object");
        }
    }

    /// GEO-7 to GEO-11: the place of a plane.
    fn spatial(&mut self, path: &NodePath, attributes: &Object, array: Option<&FoundArray>) {
        if !attributes.iter().any(|(name, value)| (KNOWN[1].has)(name, value)) {
            return;
        }
        let shape = self.dimensions(path, attributes, array);
        let declared = attributes.get("spatial:shape");
        let lengths: Option<Vec<u64>> =
            declared.and_then(|it| it.as_array()?.iter().map(Json::as_u64).collect());
        let lengths = lengths.filter(|list| matches!(list.len(), 2 | 3) && !list.contains(&0));
        match (declared, &lengths, &shape) {
            (Some(declared), None, _) => {
                let what = format!(
                    "`spatial:shape` must be two or three lengths of at least 1, found {}",
                    declared.brief()
                );
                self.spatial_problem("GEO-9", path, what);
            }
            (_, Some(lengths), Some(shape)) if lengths != shape => {
                let what = format!(
                    "`spatial:shape` is {lengths:?}, and the dimensions have the lengths {shape:?}"
                );
                self.spatial_problem("GEO-9", path, what);
            }
            _ => {}
        }
        let registration = attributes.get("spatial:registration");
        if registration.is_some_and(|it| !matches!(it.as_str(), Some("pixel" | "node"))) {
            self.spatial_problem(
                "GEO-11",
                path,
                "`spatial:registration` must be `pixel` or `node`",
            );
        }
        let kind = attributes.get("spatial:transform_type");
        if kind.is_some_and(|kind| kind.as_str().is_none()) {
            self.spatial_problem("GEO-11", path, "`spatial:transform_type` must be a text");
        }
        let transform = attributes.get("spatial:transform");
        let is_affine = kind.is_none_or(|kind| kind.as_str() == Some("affine"));
        let six = transform.filter(|_| is_affine).map(|json| (json, affine(json)));
        if let Some((json, None)) = six {
            let what = format!(
                "`spatial:transform` must be six finite numbers that map no two elements to the same point, found {}",
                json.brief()
            );
            self.spatial_problem("GEO-8", path, what);
        }
        let Some(bbox) = attributes.get("spatial:bbox") else { return };
        let numbers: Option<Vec<f64>> =
            bbox.as_array().and_then(|list| list.iter().map(Json::as_f64).collect());
        let numbers = numbers.filter(|list| {
            let half = list.len() / 2;
            matches!(list.len(), 4 | 6) && (0..half).all(|n| list[n] < list[n + half])
        });
        let Some(numbers) = numbers else {
            let what = format!(
                "`spatial:bbox` must be the minimum coordinates, then the maximum, found {}",
                bbox.brief()
            );
            return self.spatial_problem("GEO-10", path, what);
        };
        let lengths = lengths.or(shape);
        if let (Some((_, Some(transform))), Some(lengths), [west, south, east, north]) =
            (six, lengths, &numbers[..])
            && let [.., rows, columns] = lengths[..]
        {
            let is_node = registration.and_then(Json::as_str) == Some("node");
            let found = extent(&transform, columns - u64::from(is_node), rows - u64::from(is_node));
            let size = (east - west).abs().max((north - south).abs());
            let are_near = found.iter().zip(&numbers).all(|(found, declared)| {
                (found - declared).abs() <= TOLERANCE * size.max(declared.abs())
            });
            if !are_near {
                let what = format!(
                    "`spatial:bbox` is {numbers:?}, and `spatial:transform` and the lengths make it {found:?}"
                );
                self.spatial_problem("GEO-10", path, what);
            }
        }
    }

    /// GEO-7. Returns the lengths of the dimensions, if all arrays that have these agree about them.
    fn dimensions(
        &mut self,
        path: &NodePath,
        attributes: &Object,
        array: Option<&FoundArray>,
    ) -> Option<Vec<u64>> {
        let Some(declared) = attributes.get("spatial:dimensions") else {
            let what = "`spatial:dimensions` is missing: the names of the dimensions of y and x";
            self.spatial_problem("GEO-7", path, what);
            return None;
        };
        let names: Option<Vec<&str>> =
            declared.as_array().and_then(|list| list.iter().map(Json::as_str).collect());
        let names = names.filter(|names| matches!(names.len(), 2 | 3));
        let Some(names) = names else {
            let what = format!(
                "`spatial:dimensions` must be two or three names, found {}",
                declared.brief()
            );
            self.spatial_problem("GEO-7", path, what);
            return None;
        };
        if let Some(array) = array {
            let found = lengths_along(array, &names);
            if found.is_none() {
                let what = format!("the array has no dimensions {}", names.join(", "));
                self.spatial_problem("GEO-7", path, what);
            }
            return found;
        }
        // The arrays of a group that have these dimensions.
        let arrays = self.arrays_of.get(path).into_iter().flatten();
        let mut found: Vec<Vec<u64>> =
            arrays.filter_map(|array| lengths_along(array, &names)).collect();
        found.sort_unstable();
        found.dedup();
        match &found[..] {
            [one] => Some(one.clone()),
            _ => None,
        }
    }

    /// GEO-12 to GEO-16: the levels of a group.
    fn levels(&mut self, path: &NodePath, multiscales: &'a Json) {
        let layout = multiscales.get("layout").and_then(Json::as_array);
        let Some(layout) = layout.filter(|layout| !layout.is_empty()) else {
            let what = "`multiscales.layout` must be a list of at least one level";
            return self.levels_problem("GEO-12", path, what);
        };
        let mut known: BTreeMap<&str, Level> = BTreeMap::new();
        for (n, item) in layout.iter().take(MAX_LEVELS).enumerate() {
            let name = format!("multiscales.layout[{n}]");
            let Some(asset) = item.get("asset").and_then(Json::as_str) else {
                let what =
                    format!("`{name}` must have an `asset`, the path of a group or an array");
                self.levels_problem("GEO-12", path, what);
                continue;
            };
            self.asset(path, &name, "asset", asset);
            let base = item.get("derived_from");
            let transform = item.get("transform");
            if base.is_some() && transform.is_none() {
                let what = format!("`{name}` has `derived_from`, and must have a `transform`, too");
                self.levels_problem("GEO-14", path, what);
            }
            let own = self.scale(path, &name, transform);
            let place = item.get("spatial:transform");
            let numbers = place.and_then(affine);
            if place.is_some() && numbers.is_none() {
                let what = format!("`{name}.spatial:transform` must be six finite numbers");
                self.spatial_problem("GEO-8", path, what);
            }
            if let Some(base) = base {
                let Some(text) = base.as_str() else {
                    let what = format!("`{name}.derived_from` must be a path");
                    self.levels_problem("GEO-14", path, what);
                    continue;
                };
                self.asset(path, &name, "derived_from", text);
                if let (Some(base), Some(scale)) = (known.get(text), own)
                    && let (Some(of_base), Some(numbers)) = (base.transform, numbers)
                {
                    let expected = [of_base[0] * scale.0, of_base[4] * scale.1];
                    let found = [numbers[0], numbers[4]];
                    let are_near = found.iter().zip(&expected).all(|(found, expected)| {
                        (found - expected).abs() <= TOLERANCE * expected.abs()
                    });
                    if !are_near {
                        let what = format!(
                            "`{name}`: the steps of `spatial:transform` are {found:?}, and those of {text} times the scale are {expected:?}"
                        );
                        self.levels_problem("GEO-16", path, what);
                    }
                }
            }
            known.insert(asset, Level { transform: numbers });
        }
    }

    /// GEO-13: a path to a node that is there.
    fn asset(&mut self, path: &NodePath, name: &str, member: &str, asset: &str) {
        let is_outside = asset.starts_with('/') || asset.split('/').any(|part| part == "..");
        if is_outside {
            let what = format!("`{name}.{member}` is {asset:?}; a path is inside of the group");
            return self.levels_problem("GEO-13", path, what);
        }
        // GDAL names the group itself.
        let here = matches!(asset, "" | ".");
        let place =
            if here { Some(path.clone()) } else { path.join(asset.trim_end_matches('/')).ok() };
        if !place.is_some_and(|place| self.tree.nodes.contains_key(&place)) {
            let what = format!("`{name}.{member}` is {asset:?}, and no node is there");
            self.levels_problem("GEO-13", path, what);
        }
    }

    /// GEO-15. The scale along x and along y.
    fn scale(
        &mut self,
        path: &NodePath,
        name: &str,
        transform: Option<&Json>,
    ) -> Option<(f64, f64)> {
        let transform = transform?;
        let mut found = None;
        for member in ["scale", "translation"] {
            let Some(json) = transform.get(member) else { continue };
            let numbers: Option<Vec<f64>> =
                json.as_array().and_then(|list| list.iter().map(Json::as_f64).collect());
            let numbers = numbers.filter(|numbers| {
                numbers
                    .iter()
                    .all(|number| number.is_finite() && (member != "scale" || *number > 0.0))
            });
            match numbers.as_deref() {
                Some([.., y, x]) if member == "scale" => found = Some((*x, *y)),
                Some([_, _, ..]) => {}
                _ => {
                    let what = format!(
                        "`{name}.transform.{member}` must be finite numbers, one for y and one for x at least, of a scale greater than 0"
                    );
                    self.levels_problem("GEO-15", path, what);
                }
            }
        }
        found
    }
}

/// The lengths of an array along the dimensions of these names, none if one of them is missing.
fn lengths_along(array: &FoundArray, names: &[&str]) -> Option<Vec<u64>> {
    let of_array = array.metadata.dimension_names.as_ref()?;
    let lengths = names.iter().map(|name| {
        let axis = of_array.iter().position(|found| found.as_deref() == Some(*name))?;
        Some(array.metadata.shape[axis])
    });
    lengths.collect()
}

/// What is known of a level.
struct Level {
    transform: Option<[f64; 6]>,
}

/// Six finite numbers that place elements in a plane.
fn affine(json: &Json) -> Option<[f64; 6]> {
    let list: Option<Vec<f64>> = json.as_array()?.iter().map(Json::as_f64).collect();
    let numbers: [f64; 6] = list?.try_into().ok()?;
    let [a, b, _, d, e, _] = numbers;
    (numbers.iter().all(|it| it.is_finite()) && a * e - b * d != 0.0).then_some(numbers)
}

/// The least and the greatest coordinates of so many columns and rows.
fn extent([a, b, c, d, e, f]: &[f64; 6], columns: u64, rows: u64) -> [f64; 4] {
    let (columns, rows) = (columns as f64, rows as f64);
    let corners = [(0.0, 0.0), (columns, 0.0), (0.0, rows), (columns, rows)];
    let mut found = [f64::INFINITY, f64::INFINITY, f64::NEG_INFINITY, f64::NEG_INFINITY];
    for (column, row) in corners {
        let (x, y) = (a * column + b * row + c, d * column + e * row + f);
        found = [found[0].min(x), found[1].min(y), found[2].max(x), found[3].max(y)];
    }
    found
}
