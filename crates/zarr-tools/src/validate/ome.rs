//! Holds the metadata of OME-Zarr images, labels and plates to their specification, 0.4 and 0.5.
//!
//! The number of a rule is its clause, `OME-17`: docs/validating.md lists them. Metadata of other versions are not checked, but for
//! where they are.

use std::collections::{BTreeMap, BTreeSet};

use zarr_core::data_type::Scalar;
use zarr_core::{Dialect, Json, NodePath, Object};

use super::Sink;
use super::problem::{Problem, ProblemKind};
use super::tree::{FoundArray, Tree};
use crate::ome::{MEMBERS, OME, is_ome};

/// Units of space and time that readers know (OME-Zarr 0.5, "axes").
const SPACE_UNITS: &str = "angstrom attometer centimeter decimeter exameter femtometer foot gigameter hectometer inch kilometer megameter \
    meter micrometer mile millimeter nanometer parsec petameter picometer terameter yard yoctometer yottameter zeptometer zettameter";
const TIME_UNITS: &str = "attosecond centisecond day decisecond exasecond femtosecond gigasecond hectosecond hour kilosecond megasecond \
    microsecond millisecond minute nanosecond petasecond picosecond second terasecond yoctosecond yottasecond zeptosecond zettasecond";

/// Versions that are told apart.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Version {
    /// In the attributes themselves.
    Flat,
    /// In the attribute `ome`.
    Nested,
}

/// The OME-Zarr metadata of one group.
struct Found<'a> {
    path: &'a NodePath,
    members: &'a Object,
    version: Version,
}

struct Check<'a, 's, 'f> {
    tree: &'a Tree,
    sink: &'s mut Sink<'f>,
}

/// Checks all groups that have such metadata.
pub(super) fn check(dialect: Dialect, tree: &Tree, sink: &mut Sink<'_>) {
    let mut check = Check { tree, sink };
    let mut versions: BTreeMap<String, &NodePath> = BTreeMap::new();
    for (path, node) in &tree.nodes {
        let Some(attributes) = &node.ome else { continue };
        let nested = attributes
            .get(OME)
            .and_then(Json::as_object)
            .filter(|ome| MEMBERS.iter().any(|name| ome.contains(name)));
        let has_flat = MEMBERS
            .iter()
            .any(|name| attributes.get(name).is_some_and(|value| is_ome(name, value, path)));
        let kind = ProblemKind::OmeVersion;
        if let Some(ome) = nested {
            if has_flat {
                check.add(
                    kind,
                    "OME-4",
                    path,
                    "its members are in the attribute `ome` and beside it; readers take either",
                );
            }
            if ome.contains(OME) {
                check.add(kind, "OME-4", path, "`ome` has a member `ome`");
            }
            if dialect == Dialect::V2 {
                check.add(kind, "OME-3", path, "the attribute `ome` is for Zarr v3; readers of v2 look for its members beside it");
            }
            let version = ome.get("version").and_then(Json::as_str);
            match version {
                None => check.add(kind, "OME-1", path, "`ome.version` is missing, or not a text"),
                Some(version) => drop(versions.entry(version.to_owned()).or_insert(path)),
            }
            if dialect != Dialect::V2 && version.is_none_or(|version| version.starts_with("0.5")) {
                let found = Found { path, members: ome, version: Version::Nested };
                check.group(&found);
            }
        } else if has_flat {
            if dialect == Dialect::V3 {
                check.add(kind, "OME-3", path, "OME-Zarr metadata of 0.4 and before are for Zarr v2; in v3 they are in the attribute `ome`");
                // Its members are looked for in another place.
                continue;
            }
            let found = Found { path, members: attributes, version: Version::Flat };
            check.group(&found);
        }
    }
    if versions.len() > 1 {
        let named: Vec<String> =
            versions.iter().take(5).map(|(version, path)| format!("{version} in {path}")).collect();
        let what = format!("one hierarchy has several versions: {}", named.join(", "));
        check.add(ProblemKind::OmeVersion, "OME-2", &NodePath::root(), &what);
    }
}

impl<'a> Check<'a, '_, '_> {
    fn add(&mut self, kind: ProblemKind, clause: &'static str, path: &NodePath, what: &str) {
        self.add_problem(Problem::new(path, kind, what.to_owned()).by(clause));
    }

    fn add_problem(&mut self, problem: Problem) {
        // Attributes of v2 have a document of their own, the last.
        let documents = self.tree.nodes.get(&problem.path).map(|node| &node.documents);
        self.sink.add(match documents.and_then(|documents| documents.last()) {
            Some(key) => problem.at(key),
            None => problem,
        });
    }

    fn advise(&mut self, clause: &'static str, path: &NodePath, what: &str) {
        self.add(ProblemKind::OmeAdvice, clause, path, what);
    }

    fn array(&self, path: &NodePath) -> Option<&'a FoundArray> {
        Some(&self.tree.arrays[self.tree.nodes.get(path)?.array?])
    }

    /// The members of another group, if they are in the same place.
    fn members(&self, path: &NodePath, version: Version) -> Option<&'a Object> {
        let attributes = self.tree.nodes.get(path)?.ome.as_ref()?;
        match version {
            Version::Flat => Some(attributes),
            Version::Nested => attributes.get(OME)?.as_object(),
        }
    }

    fn group(&mut self, found: &Found<'a>) {
        if let Some(images) = found.members.get("multiscales") {
            self.images(found, images);
        }
        if let Some(omero) = found.members.get("omero") {
            self.channels(found, omero);
        }
        if let Some(labels) = found.members.get("labels")
            && found.path.names().last() == Some("labels")
        {
            self.labels(found, labels);
        }
        if let Some(label) = found.members.get("image-label") {
            self.label(found, label);
        }
        if let Some(plate) = found.members.get("plate").filter(|it| it.as_object().is_some()) {
            self.plate(found, plate);
        }
        if let Some(well) = found.members.get("well").filter(|it| it.as_object().is_some()) {
            self.well(found, well);
        }
        if let Some(layout) = found.members.get("bioformats2raw.layout") {
            let what = format!("`bioformats2raw.layout` is {}; readers know 3", layout.brief());
            match layout.as_u64() {
                Some(3) => {}
                Some(_) => self.advise("OME-42", found.path, &what),
                None => self.add(ProblemKind::OmePlate, "OME-42", found.path, &what),
            }
        }
    }

    fn images(&mut self, found: &Found<'a>, images: &Json) {
        let Some(images) = images.as_array().filter(|images| !images.is_empty()) else {
            let what = "`multiscales` must be a list of at least one image";
            return self.add(ProblemKind::OmeImage, "OME-5", found.path, what);
        };
        for (number, image) in images.iter().enumerate() {
            let name = format!("multiscales[{number}]");
            if found.version == Version::Flat {
                match image.get("version").map(|version| version.as_str().unwrap_or_default()) {
                    Some(version) if version.starts_with("0.4") => {}
                    None => {
                        self.advise(
                            "OME-26",
                            found.path,
                            &format!("`{name}` should have a `version`"),
                        );
                    }
                    // Axes and transformations had other forms.
                    Some(_) => continue,
                }
            }
            self.image(found, image, &name);
        }
    }

    fn image(&mut self, found: &Found<'a>, image: &Json, name: &str) {
        let (path, kind) = (found.path, ProblemKind::OmeImage);
        let (Some(axes), Some(datasets)) = (list(image, "axes"), list(image, "datasets")) else {
            let what = format!("`{name}` must have the lists `axes` and `datasets`");
            return self.add(kind, "OME-6", path, &what);
        };
        self.axes(path, axes, name);
        if datasets.is_empty() {
            self.add(kind, "OME-6", path, &format!("`{name}.datasets` is empty"));
        }
        let mut levels: Vec<(&'a FoundArray, Option<Vec<f64>>)> = Vec::new();
        for (number, dataset) in datasets.iter().enumerate() {
            let name = format!("{name}.datasets[{number}]");
            let transformations = dataset.get("coordinateTransformations");
            let scale = self.transformations(path, transformations, axes.len(), &name, true);
            let level = dataset.get("path").and_then(Json::as_str);
            let level = level.and_then(|level| path.join(level).ok());
            let array = level.as_ref().and_then(|level| self.array(level));
            let (Some(level), Some(array)) = (level, array) else {
                let what = format!("`{name}.path` {} is not an array", dataset["path"].brief());
                self.add(kind, "OME-15", path, &what);
                continue;
            };
            self.level(found, &level, array, axes);
            levels.push((array, scale));
        }
        if let Some(outer) = image.get("coordinateTransformations") {
            self.transformations(path, Some(outer), axes.len(), name, false);
        }
        for pair in levels.windows(2) {
            let ((fine, fine_scale), (coarse, coarse_scale)) = (&pair[0], &pair[1]);
            let shapes = fine.metadata.shape.iter().zip(&coarse.metadata.shape);
            let grows = shapes.clone().any(|(fine, coarse)| coarse > fine);
            let is_finer = match (fine_scale, coarse_scale) {
                (Some(fine), Some(coarse)) => fine.iter().zip(coarse).any(|(a, b)| b < a),
                _ => false,
            };
            if grows || is_finer {
                let what = format!(
                    "`{name}.datasets`: {} is not coarser than {}; the finest comes first",
                    coarse.path, fine.path
                );
                self.add(kind, "OME-19", path, &what);
            }
            if fine.metadata.data_type != coarse.metadata.data_type {
                let what = format!(
                    "`{name}`: {} and {} have elements of different types",
                    fine.path, coarse.path
                );
                self.advise("OME-20", path, &what);
            }
        }
        if let Some(((base, Some(base_scale)), others)) = levels.split_first() {
            for (level, scale) in others {
                let Some(scale) = scale else { continue };
                let axes = base.metadata.shape.iter().zip(&level.metadata.shape);
                let fits =
                    axes.zip(base_scale.iter().zip(scale)).all(|((&len, &of_level), (a, b))| {
                        let factor = b / a;
                        // A whole factor, or the quotient of the lengths.
                        let by_factor = len as f64 / factor;
                        (by_factor.ceil() - of_level as f64).abs() <= 1.0
                    });
                if !fits {
                    let what =
                        format!("`{name}`: the scale of {} does not fit its length", level.path);
                    self.advise("OME-24", path, &what);
                }
            }
        }
    }

    fn axes(&mut self, path: &NodePath, axes: &[Json], name: &str) {
        let kind = ProblemKind::OmeImage;
        if !(2..=5).contains(&axes.len()) {
            let what = format!("`{name}.axes` has {} axes; an image has 2 to 5", axes.len());
            self.add(kind, "OME-7", path, &what);
        }
        let names: Vec<Option<String>> = axes.iter().map(|axis| text(axis, "name")).collect();
        let different: BTreeSet<&Option<String>> = names.iter().collect();
        if names.contains(&None) || different.len() < names.len() {
            let what = format!("`{name}.axes`: each axis must have a `name` of its own");
            self.add(kind, "OME-8", path, &what);
        }
        let types: Vec<Option<String>> = axes.iter().map(|axis| text(axis, "type")).collect();
        if types.contains(&None) {
            self.advise("OME-13", path, &format!("`{name}.axes`: axes should have a `type`"));
        }
        let count = |of: &str| types.iter().filter(|kind| kind.as_deref() == Some(of)).count();
        let spaces = count("space");
        if !types.contains(&None) && !(2..=3).contains(&spaces) {
            let what =
                format!("`{name}.axes` has {spaces} axes of type `space`; an image has 2 or 3");
            self.add(kind, "OME-9", path, &what);
        }
        let others = types.len() - spaces - count("time");
        if count("time") > 1 || others > 1 {
            let what = format!(
                "`{name}.axes` has more than one axis of time, or than one of channels or a type of its own"
            );
            self.add(kind, "OME-10", path, &what);
        }
        let ranks = types.iter().map(|kind| match kind.as_deref() {
            Some("time") => 0,
            Some("space") => 2,
            _ => 1,
        });
        if !ranks.is_sorted() {
            let what = format!("`{name}.axes` must be time, then channel, then space");
            self.add(kind, "OME-11", path, &what);
        }
        let of_space =
            names.iter().zip(&types).filter(|(_, kind)| kind.as_deref() == Some("space"));
        let of_space: Vec<&str> = of_space.filter_map(|(name, _)| name.as_deref()).collect();
        if !["zyx", "yx"].contains(&&*of_space.concat()) {
            let what = format!("`{name}.axes`: axes of space should be z, y, x in this order");
            self.advise("OME-12", path, &what);
        }
        for (axis, kind) in axes.iter().zip(&types) {
            let units = match kind.as_deref() {
                Some("space") => SPACE_UNITS,
                Some("time") => TIME_UNITS,
                _ => continue,
            };
            let Some(unit) = text(axis, "unit") else { continue };
            if !units.split_whitespace().any(|known| known == unit) {
                let what = format!("`{name}.axes`: unit `{unit}` is not in the list of OME-Zarr");
                self.advise("OME-14", path, &what);
            }
        }
    }

    /// Checks transformations; returns the scale.
    fn transformations(
        &mut self,
        path: &NodePath,
        list: Option<&Json>,
        rank: usize,
        name: &str,
        is_of_level: bool,
    ) -> Option<Vec<f64>> {
        let name = format!("{name}.coordinateTransformations");
        let (kind, clause) = (ProblemKind::OmeImage, if is_of_level { "OME-21" } else { "OME-23" });
        let Some(list) = list.and_then(Json::as_array) else {
            self.add(kind, clause, path, &format!("`{name}` must be a list with a scale"));
            return None;
        };
        let types: Vec<&str> = list
            .iter()
            .map(|it| it.get("type").and_then(Json::as_str).unwrap_or_default())
            .collect();
        let is_right = match &types[..] {
            ["scale"] | ["scale", "translation"] => true,
            // SpatialData names the coordinate systems of an image so.
            ["identity"] => !is_of_level,
            _ => false,
        };
        if !is_right {
            let what = format!(
                "`{name}` must be one scale, and then at most one translation; found {}",
                types.join(", ")
            );
            self.add(kind, clause, path, &what);
        }
        let mut scale = None;
        for (transformation, kind_of) in list.iter().zip(types) {
            if !["scale", "translation"].contains(&kind_of) || transformation.get(kind_of).is_none()
            {
                continue;
            }
            let numbers = transformation[kind_of].as_array().unwrap_or_default();
            let numbers: Option<Vec<f64>> = numbers.iter().map(Json::as_f64).collect();
            let numbers = numbers.filter(|numbers| {
                numbers.len() == rank
                    && numbers.iter().all(|it| it.is_finite() && (kind_of != "scale" || *it > 0.0))
            });
            if numbers.is_none() {
                let what = format!(
                    "`{name}`: a {kind_of} has a finite number for each of {rank} axes, a scale greater than 0"
                );
                self.add(kind, "OME-22", path, &what);
            } else if kind_of == "scale" {
                scale = numbers;
            }
        }
        scale
    }

    fn level(&mut self, found: &Found<'a>, path: &NodePath, array: &FoundArray, axes: &[Json]) {
        let (kind, metadata) = (ProblemKind::OmeImage, &array.metadata);
        if metadata.rank() != axes.len() {
            let what = format!("it has {} axes, its image {}", metadata.rank(), axes.len());
            return self.add(kind, "OME-16", path, &what);
        }
        match found.version {
            Version::Nested => {
                let names = axes.iter().map(|axis| axis.get("name").and_then(Json::as_str));
                let is_same = metadata
                    .dimension_names
                    .as_ref()
                    .is_some_and(|found| found.iter().map(Option::as_deref).eq(names));
                if !is_same {
                    let what = "its `dimension_names` are not the names of the image's axes";
                    let advice = match metadata.dimension_names {
                        None => {
                            "no attribute has them: copy the image to v2, and the copy to v3, with `zarr copy --to`, which names the axes"
                        }
                        Some(_) => {
                            "correct those in the array's `zarr.json`, or the axes in `multiscales` with `zarr attrs --set`"
                        }
                    };
                    let problem = Problem::new(path, kind, what).by("OME-17").advise(advice);
                    self.add_problem(problem);
                }
            }
            Version::Flat if metadata.chunk_keys.separator() != '/' => {
                let what = "its chunk keys must have the separator `/`";
                let advice = "copy the image to v3 with `zarr copy --to v3`, where any separator is allowed, and back with `--to v2`, \
                              which gives `/`";
                let problem = Problem::new(path, kind, what).by("OME-18").advise(advice);
                self.add_problem(problem);
            }
            Version::Flat => {}
        }
    }

    fn channels(&mut self, found: &Found<'a>, omero: &Json) {
        let (path, kind) = (found.path, ProblemKind::OmeChannels);
        let Some(channels) = omero.get("channels").and_then(Json::as_array) else {
            return self.add(kind, "OME-27", path, "`omero` must have a list `channels`");
        };
        for (number, channel) in channels.iter().enumerate() {
            let name = format!("omero.channels[{number}]");
            if let Some(color) = channel.get("color") {
                let is_hex = color.as_str().is_some_and(|text| {
                    text.len() == 6 && text.bytes().all(|it| it.is_ascii_hexdigit())
                });
                if !is_hex {
                    let what = format!(
                        "`{name}.color` is {}; a colour is six hexadecimal digits",
                        color.brief()
                    );
                    self.add(kind, "OME-28", path, &what);
                }
            }
            if let Some(window) = channel.get("window") {
                let are_numbers = ["min", "max", "start", "end"]
                    .iter()
                    .all(|member| window.get(member).is_some_and(|it| it.as_f64().is_some()));
                if !are_numbers {
                    let what = format!(
                        "`{name}.window` must have the numbers `min`, `max`, `start` and `end`"
                    );
                    self.add(kind, "OME-29", path, &what);
                }
            }
        }
    }

    fn labels(&mut self, found: &Found<'a>, labels: &Json) {
        let kind = ProblemKind::OmeLabels;
        for label in labels.as_array().unwrap_or_default() {
            let path = label.as_str().and_then(|name| found.path.join(name).ok());
            let members = path.as_ref().and_then(|path| self.members(path, found.version));
            let is_there = path.as_ref().is_some_and(|path| self.tree.nodes.contains_key(path));
            let (Some(path), Some(members)) =
                (path, members.filter(|it| it.contains("multiscales")))
            else {
                let (what, advice) = if is_there {
                    (
                        "which is not an image",
                        "correct the attributes of the label image with `zarr attrs --set`",
                    )
                } else {
                    (
                        "and there is no such node",
                        "write the label image, or take its name out of `labels` with `zarr attrs --set`",
                    )
                };
                let what = format!("`labels` lists {}, {what}", label.brief());
                let problem = Problem::new(found.path, kind, what).by("OME-31");
                self.add_problem(problem.advise(advice));
                continue;
            };
            let image = found.path.parent().and_then(|path| self.members(&path, found.version));
            if let (Some(image), Some(label)) = (image.and_then(levels), levels(members))
                && image != label
            {
                let what = format!("it has {label} levels, its image {image}");
                self.add(kind, "OME-33", &path, &what);
            }
            let datasets = members
                .get("multiscales")
                .and_then(|it| it.as_array()?.first()?.get("datasets")?.as_array());
            for dataset in datasets.unwrap_or_default() {
                let level =
                    dataset.get("path").and_then(Json::as_str).and_then(|it| path.join(it).ok());
                let Some(array) = level.and_then(|level| self.array(&level)) else { continue };
                let scalar = array.metadata.data_type.scalar();
                if !matches!(scalar, Some(Scalar::Int(_) | Scalar::Uint(_))) {
                    let what = format!(
                        "its elements have the type `{}`; labels are integers",
                        array.metadata.data_type
                    );
                    self.add(kind, "OME-32", &array.path, &what);
                }
            }
        }
    }

    fn label(&mut self, found: &Found<'a>, label: &Json) {
        let (path, kind) = (found.path, ProblemKind::OmeLabels);
        for (member, clause) in [("colors", "OME-34"), ("properties", "OME-35")] {
            let Some(items) = label.get(member).and_then(Json::as_array) else { continue };
            let mut seen = BTreeSet::new();
            for item in items {
                let value = item.get("label-value");
                let integer = value.and_then(|it| {
                    it.as_i64()
                        .or_else(|| it.as_f64().filter(|it| it.fract() == 0.0).map(|it| it as i64))
                });
                if !integer.is_some_and(|value| seen.insert(value)) {
                    let what = format!(
                        "`image-label.{member}`: each `label-value` must be an integer of its own"
                    );
                    self.add(kind, clause, path, &what);
                    break;
                }
            }
            let are_rgba = items.iter().all(|item| {
                let Some(rgba) = item.get("rgba") else { return true };
                let rgba = rgba.as_array().unwrap_or_default();
                rgba.len() == 4 && rgba.iter().all(|it| it.as_u64().is_some_and(|it| it < 256))
            });
            if member == "colors" && !are_rgba {
                self.add(
                    kind,
                    clause,
                    path,
                    "`image-label.colors`: `rgba` is four integers from 0 to 255",
                );
            }
        }
    }

    fn plate(&mut self, found: &Found<'a>, plate: &Json) {
        let (path, kind) = (found.path, ProblemKind::OmePlate);
        let mut names: Vec<Vec<&str>> = Vec::new();
        for member in ["rows", "columns"] {
            let items = list(plate, member).unwrap_or_default();
            let of: Vec<&str> = items
                .iter()
                .map(|it| it.get("name").and_then(Json::as_str).unwrap_or_default())
                .collect();
            let are_names = of
                .iter()
                .all(|name| !name.is_empty() && name.bytes().all(|it| it.is_ascii_alphanumeric()));
            let different: BTreeSet<&str> = of.iter().copied().collect();
            if of.is_empty() || !are_names || different.len() < of.len() {
                let what = format!(
                    "`plate.{member}` must be a list of names of letters and digits, each once"
                );
                self.add(kind, "OME-37", path, &what);
            }
            names.push(of);
        }
        if found.version == Version::Nested && plate.get("version").and_then(Json::as_str).is_none()
        {
            self.add(kind, "OME-39", path, "`plate.version` is missing");
        }
        for well in list(plate, "wells").unwrap_or_default() {
            let text = well.get("path").and_then(Json::as_str).unwrap_or_default();
            let row = index(well, "rowIndex").and_then(|at| names[0].get(at));
            let column = index(well, "columnIndex").and_then(|at| names[1].get(at));
            let is_right = matches!((row, column), (Some(row), Some(column)) if format!("{row}/{column}") == text);
            if !is_right {
                let what =
                    format!("`plate.wells`: the path `{text}` is not that of its row and column");
                self.add(kind, "OME-38", path, &what);
            }
            let well = path.join(text).ok().and_then(|path| self.members(&path, found.version));
            if well.is_none_or(|members| !members.contains("well")) {
                self.add(kind, "OME-38", path, &format!("`plate.wells`: `{text}` is not a well"));
            }
        }
        let mut ids = BTreeSet::new();
        for acquisition in list(plate, "acquisitions").unwrap_or_default() {
            if !acquisition.get("id").and_then(Json::as_u64).is_some_and(|id| ids.insert(id)) {
                let what =
                    "`plate.acquisitions`: each `id` must be an integer of its own, at least 0";
                self.add(kind, "OME-40", path, what);
                break;
            }
        }
    }

    fn well(&mut self, found: &Found<'a>, well: &Json) {
        let (path, kind) = (found.path, ProblemKind::OmePlate);
        let mut seen = BTreeSet::new();
        for image in well.get("images").and_then(Json::as_array).unwrap_or_default() {
            let name = image.get("path").and_then(Json::as_str).unwrap_or_default();
            let members = path.join(name).ok().and_then(|path| self.members(&path, found.version));
            let is_image = members.is_some_and(|members| members.contains("multiscales"));
            if !is_image || !seen.insert(name) {
                let what = format!("`well.images`: `{name}` is not an image, or there twice");
                self.add(kind, "OME-41", path, &what);
            }
        }
    }
}

/// A member that is a list.
fn list<'a>(json: &'a Json, member: &str) -> Option<&'a [Json]> {
    json.get(member).and_then(Json::as_array)
}

/// A member of a well that is an index.
fn index(well: &Json, member: &str) -> Option<usize> {
    well.get(member).and_then(Json::as_u64).and_then(|index| usize::try_from(index).ok())
}

/// A member of an axis that is a text.
fn text(axis: &Json, member: &str) -> Option<String> {
    axis.get(member)?.as_str().map(str::to_owned)
}

/// How many levels an image has.
fn levels(members: &Object) -> Option<usize> {
    let datasets = members.get("multiscales")?.as_array()?.first()?.get("datasets")?;
    datasets.as_array().map(<[Json]>::len)
}
