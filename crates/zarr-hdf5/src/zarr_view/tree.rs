//! The paths of a file, found as they are asked for.

use std::collections::HashMap;

use super::{ArrayView, attributes, dimensions, fill_value, json};
use crate::error::{Error, ErrorKind, Fault};
use crate::walk::Walk;
use crate::{Blocks, File, Link, Object, ObjectKind, Result, Target};

/// How deep paths may be.
const MAX_DEPTH: usize = 64;
/// How many soft links one path may follow.
const MAX_SOFT_LINKS: usize = 64;
/// How many groups' members are remembered.
const MAX_GROUPS: usize = 10_000;
/// How many links of all these groups together.
const MAX_LINKS: usize = 2_000_000;

/// The groups and arrays of a file. A call that misses bytes is made again when they are cached, as with [`File`].
#[derive(Debug)]
pub struct Tree {
    file: File,
    /// Links of groups that were listed, by address.
    links: HashMap<u64, Vec<Link>>,
    link_count: usize,
    /// The numbers of axes without scales, by the address of the group.
    phony: HashMap<u64, Phony>,
    /// The walk over the whole file, once a reference needs it.
    walk: Option<Walk>,
    walk_is_done: bool,
}

/// A member of a group.
#[derive(Clone, Debug)]
pub struct Entry {
    /// Its name.
    pub name: String,
    /// What it is.
    pub kind: EntryKind,
}

/// What a member of a group is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EntryKind {
    /// A group.
    Group,
    /// A dataset that is an array.
    Array,
    /// A dimension of netCDF without a variable: the arrays along it name it.
    Dimension,
    /// Nothing that Zarr has: why it is left out.
    LeftOut(String),
    /// An object that cannot be read.
    Damaged(Error),
}

/// What a path leads to: the object, and the addresses of the groups on the way, the root first.
struct Found {
    address: u64,
    parents: Vec<u64>,
}

impl Tree {
    /// The paths of a file.
    pub fn new(file: File) -> Tree {
        Tree {
            file,
            links: HashMap::new(),
            link_count: 0,
            phony: HashMap::new(),
            walk: None,
            walk_is_done: false,
        }
    }

    /// The file.
    pub fn file(&self) -> &File {
        &self.file
    }

    fn links(&mut self, blocks: &Blocks, group: u64) -> Result<&[Link]> {
        if !self.links.contains_key(&group) {
            let object = self.file.object(blocks, group)?;
            let links = self.file.links(blocks, &object)?;
            self.link_count += links.len();
            if self.links.len() >= MAX_GROUPS || self.link_count > MAX_LINKS {
                self.links.clear();
                self.link_count = links.len();
            }
            self.links.insert(group, links);
        }
        Ok(&self.links[&group])
    }

    /// The target of a name in a group. What netCDF calls `_nc4_non_coord_X` is found as `X`, unless a variable is.
    fn target(&mut self, blocks: &Blocks, group: u64, name: &str) -> Result<Option<Target>> {
        let hidden = format!("{}{name}", dimensions::NOT_A_COORDINATE);
        let links = self.links(blocks, group)?;
        // They are sorted.
        let find = |name: &str| links.binary_search_by(|link| link.name.as_str().cmp(name)).ok();
        let position = find(&hidden).or_else(|| find(name));
        Ok(position.map(|position| links[position].target.clone()))
    }

    /// Follows a path from the root. `None` if a name is missing, a link leads out of the file or in a circle.
    fn find(&mut self, blocks: &Blocks, path: &str) -> Result<Option<Found>> {
        let root = self.file.root();
        let mut found = Found { address: root, parents: Vec::new() };
        // Names that are still to be followed, the next one last.
        let mut names: Vec<String> = split(path).rev().collect();
        let mut soft_links = 0;
        while let Some(name) = names.pop() {
            if name == "." {
                continue;
            }
            let Some(target) = self.target(blocks, found.address, &name)? else { return Ok(None) };
            match target {
                Target::Hard(address) => {
                    found.parents.push(found.address);
                    // A link to a group that it lies in would make endless paths.
                    if found.parents.contains(&address) || found.parents.len() > MAX_DEPTH {
                        return Ok(None);
                    }
                    found.address = address;
                }
                Target::Soft(target) => {
                    soft_links += 1;
                    if soft_links > MAX_SOFT_LINKS || names.len() > 4 * MAX_DEPTH {
                        return Ok(None);
                    }
                    if target.starts_with('/') {
                        found = Found { address: root, parents: Vec::new() };
                    }
                    names.extend(split(&target).rev());
                }
                Target::External { .. } | Target::UserDefined(_) => return Ok(None),
            }
        }
        Ok(Some(found))
    }

    /// What is at a path: a group or an array, or `None` if nothing is there that Zarr has.
    ///
    /// # Errors
    /// The object is damaged.
    pub fn kind(&mut self, blocks: &Blocks, path: &str) -> Result<Option<EntryKind>> {
        let Some(found) = self.find(blocks, path).map_err(|fault| fault.at_path(path))? else {
            return Ok(None);
        };
        self.kind_of(blocks, found.address).map(Some).map_err(|fault| fault.at_path(path))
    }

    fn kind_of(&mut self, blocks: &Blocks, address: u64) -> Result<EntryKind> {
        let object = self.file.object(blocks, address)?;
        match object.kind {
            ObjectKind::Group => Ok(EntryKind::Group),
            ObjectKind::NamedType => Ok(EntryKind::LeftOut("it is a named data type".to_owned())),
            ObjectKind::Unknown => Ok(EntryKind::LeftOut("it is of an unknown kind".to_owned())),
            ObjectKind::Dataset => {
                let attributes = dimensions::readable(&self.file, blocks, &object)?;
                if dimensions::is_bare_dimension(&self.file, blocks, &attributes)? {
                    return Ok(EntryKind::Dimension);
                }
                // A dataset without a shape has no elements and is no array.
                let dataset = self.file.dataset(blocks, &object)?;
                if dataset.dataspace.shape().is_none() {
                    return Ok(EntryKind::LeftOut("it has no shape (null dataspace)".to_owned()));
                }
                Ok(EntryKind::Array)
            }
        }
    }

    /// The members of the group at a path, sorted by name; `None` if there is no group.
    ///
    /// # Errors
    /// The group is damaged. A damaged member is listed as such.
    pub fn children(&mut self, blocks: &Blocks, path: &str) -> Result<Option<Vec<Entry>>> {
        let Some(found) = self.find(blocks, path)? else { return Ok(None) };
        let at_path = |fault: Fault| fault.at_path(path);
        let object = self.file.object(blocks, found.address).map_err(at_path)?;
        if object.kind != ObjectKind::Group {
            return Ok(None);
        }
        let links = self.links(blocks, found.address).map_err(at_path)?.to_vec();
        let mut entries = Vec::new();
        for link in links {
            let shown = link.name.strip_prefix(dimensions::NOT_A_COORDINATE).unwrap_or(&link.name);
            let name = shown.to_owned();
            let kind = self.member(blocks, path, &found, &link, &name)?;
            entries.push(Entry { name, kind });
        }
        entries.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(Some(unique(entries)))
    }

    /// What the link of a group is that is shown by a name.
    fn member(
        &mut self,
        blocks: &Blocks,
        group_path: &str,
        group: &Found,
        link: &Link,
        name: &str,
    ) -> Result<EntryKind> {
        let path = crate::walk::join(group_path, name);
        let kind = match &link.target {
            Target::External { file, path } => {
                return left_out(format!("it is an external link to {path} in {file}"));
            }
            Target::UserDefined(class) => {
                return left_out(format!("it is a user-defined link of class {class}"));
            }
            Target::Hard(address)
                if group.address == *address || group.parents.contains(address) =>
            {
                return left_out("it points to an enclosing group".to_owned());
            }
            Target::Hard(_) if group.parents.len() >= MAX_DEPTH => {
                return left_out(format!("it is nested deeper than {MAX_DEPTH} groups"));
            }
            Target::Hard(address) => self.kind_of(blocks, *address).map(Some),
            Target::Soft(_) => self.kind(blocks, &path),
        };
        match kind {
            Ok(Some(kind)) => Ok(kind),
            Ok(None) => left_out("it is dangling, or points to an enclosing group".to_owned()),
            Err(Fault::Error(error)) => Ok(EntryKind::Damaged(error.at_path(&path))),
            Err(missing) => Err(missing),
        }
    }

    /// The attributes of a group, as names and JSON text.
    ///
    /// # Errors
    /// The group or its attributes are damaged.
    pub fn group(&mut self, blocks: &Blocks, path: &str) -> Result<Vec<(String, String)>> {
        let Some(found) = self.find(blocks, path)? else { return Err(absent(path)) };
        let object = self.file.object(blocks, found.address)?;
        self.attributes(blocks, &object).map_err(|fault| fault.at_path(path))
    }

    /// What netCDF knows of the object at a path, and its document in Zarr does not say: the types of its attributes, which axes
    /// are unlimited, and the dimensions in a group that have no variable of their name. JSON text:
    /// `{"attributes": {"scale": "float32"}, "unlimited": [true, false], "dimensions": [{"name": "x", "size": 3, "unlimited": false}]}`.
    ///
    /// # Errors
    /// The object is damaged.
    pub fn netcdf_types(&mut self, blocks: &Blocks, path: &str) -> Result<String> {
        let Some(found) = self.find(blocks, path)? else { return Err(absent(path)) };
        let at_path = |fault: Fault| fault.at_path(path);
        let object = self.file.object(blocks, found.address).map_err(at_path)?;
        let attributes = dimensions::readable(&self.file, blocks, &object).map_err(at_path)?;
        let types = attributes.iter().filter_map(|attribute| {
            Some((attribute.name.clone(), json::text(&attributes::netcdf_type(attribute)?)))
        });
        let types = json::object(types);
        let mut unlimited = Vec::new();
        if object.kind == ObjectKind::Dataset {
            let dataset = self.file.dataset(blocks, &object).map_err(at_path)?;
            if let crate::Dataspace::Simple { max_shape, .. } = &dataset.dataspace {
                unlimited.extend(max_shape.iter().map(|len| len.is_none().to_string()));
            }
        }
        let mut members =
            vec![("attributes".to_owned(), types), ("unlimited".to_owned(), json::list(unlimited))];
        if object.kind == ObjectKind::Group {
            let dimensions = self.bare_dimensions(blocks, found.address).map_err(at_path)?;
            members.push(("dimensions".to_owned(), json::list(dimensions)));
        }
        Ok(json::object(members))
    }

    /// The dimensions of netCDF in a group that have no variable of their name, as JSON text.
    fn bare_dimensions(&mut self, blocks: &Blocks, group: u64) -> Result<Vec<String>> {
        let mut dimensions = Vec::new();
        for link in self.links(blocks, group)?.to_vec() {
            let Target::Hard(address) = link.target else { continue };
            let Ok(found) = present(self.bare_dimension(blocks, address))? else { continue };
            let Some((size, unlimited)) = found else { continue };
            dimensions.push(json::object([
                ("name".to_owned(), json::text(&link.name)),
                ("size".to_owned(), size.to_string()),
                ("unlimited".to_owned(), unlimited.to_string()),
            ]));
        }
        Ok(dimensions)
    }

    /// The length of the dimension that an object stands for, and whether it is unlimited; `None` of another object.
    fn bare_dimension(&self, blocks: &Blocks, address: u64) -> Result<Option<(u64, bool)>> {
        let object = self.file.object(blocks, address)?;
        if object.kind != ObjectKind::Dataset {
            return Ok(None);
        }
        let attributes = dimensions::readable(&self.file, blocks, &object)?;
        if !dimensions::is_bare_dimension(&self.file, blocks, &attributes)? {
            return Ok(None);
        }
        let dataset = self.file.dataset(blocks, &object)?;
        let crate::Dataspace::Simple { shape, max_shape } = &dataset.dataspace else {
            return Ok(None);
        };
        let longest = dimensions::unlimited_length(&self.file, blocks, address)?;
        let Some(size) = longest.or(shape.first().copied()) else { return Ok(None) };
        Ok(Some((size, max_shape.first() == Some(&None))))
    }

    /// The dataset at a path as an array.
    ///
    /// # Errors
    /// The dataset is damaged, or has a part that is not supported and without which nothing can be said of it.
    pub fn array(&mut self, blocks: &Blocks, path: &str) -> Result<ArrayView> {
        let Some(found) = self.find(blocks, path)? else { return Err(absent(path)) };
        self.view(blocks, &found).map_err(|fault| fault.at_path(path))
    }

    fn view(&mut self, blocks: &Blocks, found: &Found) -> Result<ArrayView> {
        let object = self.file.object(blocks, found.address)?;
        let dataset = self.file.dataset(blocks, &object)?;
        let attributes = self.attributes(blocks, &object)?;
        let readable = dimensions::readable(&self.file, blocks, &object)?;
        let rank = dataset.dataspace.shape().map_or(0, <[u64]>::len);
        let scales = self.scales(blocks, &readable, found, rank)?;
        let shape = dimensions::full_shape(&self.file, blocks, &dataset, &scales)?;
        let mut names = Vec::new();
        for scale in &scales {
            let name = match scale {
                Some(address) => Some(self.name_of(blocks, *address, &found.parents)?),
                None => None,
            };
            names.push(name);
        }
        if names.iter().any(Option::is_none) {
            self.phony_names(blocks, found, &shape, &mut names)?;
        }
        let fill = fill_value(&self.file, blocks, &dataset)?;
        Ok(ArrayView::new(dataset, fill, &shape, names, attributes))
    }

    /// The scale of each axis.
    fn scales(
        &mut self,
        blocks: &Blocks,
        attributes: &[crate::Attribute],
        found: &Found,
        rank: usize,
    ) -> Result<Vec<Option<u64>>> {
        let mut scales = vec![None; rank];
        if let Some(listed) = dimensions::scales(&self.file, blocks, attributes)? {
            for (scale, listed) in scales.iter_mut().zip(listed) {
                *scale = listed;
            }
            return Ok(scales);
        }
        // A variable that is a scale itself has no list of scales. One of several axes has their numbers.
        let numbers = dimensions::coordinates(&self.file, blocks, attributes)?;
        if let Some(numbers) = numbers.filter(|numbers| numbers.len() == rank) {
            let by_number = self.scales_by_number(blocks, &found.parents)?;
            for (scale, number) in scales.iter_mut().zip(&numbers) {
                *scale = by_number.get(number).copied();
            }
            return Ok(scales);
        }
        if rank >= 1 && dimensions::is_scale(&self.file, blocks, attributes)? {
            scales[0] = Some(found.address);
        }
        Ok(scales)
    }

    /// The scales in some groups by the numbers of their dimensions.
    fn scales_by_number(&mut self, blocks: &Blocks, groups: &[u64]) -> Result<HashMap<i128, u64>> {
        let mut by_number = HashMap::new();
        for group in groups {
            let links = self.links(blocks, *group)?.to_vec();
            for link in links {
                let Target::Hard(address) = link.target else { continue };
                let object = self.file.object(blocks, address)?;
                if object.kind != ObjectKind::Dataset {
                    continue;
                }
                let attributes = dimensions::readable(&self.file, blocks, &object)?;
                // Variables have the number of their first dimension, too.
                if !dimensions::is_scale(&self.file, blocks, &attributes)? {
                    continue;
                }
                if let Some(number) = dimensions::dimension_number(&self.file, blocks, &attributes)?
                {
                    by_number.insert(number, address);
                }
            }
        }
        Ok(by_number)
    }

    /// The name of a scale: the last part of a link to it, sought in the groups around first.
    fn name_of(&mut self, blocks: &Blocks, address: u64, parents: &[u64]) -> Result<String> {
        for group in parents.iter().rev() {
            let links = self.links(blocks, *group)?;
            let link = links.iter().find(|link| link.target == Target::Hard(address));
            if let Some(link) = link {
                let name = &link.name;
                return Ok(name
                    .strip_prefix(dimensions::NOT_A_COORDINATE)
                    .unwrap_or(name)
                    .to_owned());
            }
        }
        let path = self.paths(blocks)?.get(&address);
        let name = path.and_then(|path| path.rsplit('/').next());
        Ok(name.map_or_else(|| format!("dimension_{address:#x}"), str::to_owned))
    }

    /// Names for axes without scales: `phony_dim_N`, one for each length that occurs in the group, in the order of the datasets'
    /// names. Equal lengths along two axes of one dataset have different names.
    fn phony_names(
        &mut self,
        blocks: &Blocks,
        found: &Found,
        shape: &[u64],
        names: &mut [Option<String>],
    ) -> Result<()> {
        let group = found.parents.last().copied().unwrap_or(self.file.root());
        if !self.phony.contains_key(&group) {
            let numbers = self.number_group(blocks, group)?;
            if self.phony.len() >= MAX_GROUPS {
                self.phony.clear();
            }
            self.phony.insert(group, numbers);
        }
        let Some(phony) = self.phony.get_mut(&group) else { return Ok(()) };
        let numbers = match phony.by_address.get(&found.address) {
            Some(numbers) => numbers.clone(),
            None => phony.lengths.number(shape),
        };
        for (name, number) in names.iter_mut().zip(numbers) {
            if name.is_none() {
                *name = Some(format!("phony_dim_{number}"));
            }
        }
        Ok(())
    }

    /// Numbers the axes of all datasets of a group that have no scales.
    fn number_group(&mut self, blocks: &Blocks, group: u64) -> Result<Phony> {
        let mut phony = Phony::default();
        for link in self.links(blocks, group)?.to_vec() {
            let Target::Hard(address) = link.target else { continue };
            let Ok(object) = present(self.file.object(blocks, address))? else { continue };
            if object.kind != ObjectKind::Dataset {
                continue;
            }
            let Ok(dataset) = present(self.file.dataset(blocks, &object))? else { continue };
            let Ok(attributes) = present(dimensions::readable(&self.file, blocks, &object))? else {
                continue;
            };
            let has_scales = attributes.iter().any(|attribute| {
                matches!(
                    attribute.name.as_str(),
                    "DIMENSION_LIST" | "_Netcdf4Coordinates" | "CLASS"
                )
            });
            if !has_scales {
                let numbers = phony.lengths.number(dataset.dataspace.shape().unwrap_or(&[]));
                phony.by_address.insert(address, numbers);
            }
        }
        Ok(phony)
    }

    /// Attributes that are shown, as JSON text.
    fn attributes(&mut self, blocks: &Blocks, object: &Object) -> Result<Vec<(String, String)>> {
        let mut shown = Vec::new();
        for attribute in self.file.attributes(blocks, object)? {
            let Ok(attribute) = attribute else { continue };
            if attributes::is_hidden(&attribute.name) {
                continue;
            }
            if attributes::has_references(&attribute.datatype) {
                self.paths(blocks)?;
            }
            let paths = self.walk.as_ref().map(Walk::paths);
            let json = attributes::to_json(&self.file, blocks, &attribute, &|address: u64| {
                paths.and_then(|paths| paths.get(&address).cloned())
            });
            // One that cannot be decoded does not hide the others.
            if let Ok(json) = present(json)? {
                shown.push((attribute.name, json));
            }
        }
        Ok(shown)
    }

    /// The path to each object, which takes a walk over the whole file once.
    fn paths(&mut self, blocks: &Blocks) -> Result<&HashMap<u64, String>> {
        let walk = self.walk.get_or_insert_with(|| Walk::new(&self.file));
        while !self.walk_is_done {
            self.walk_is_done = walk.next(&self.file, blocks)?.is_none();
        }
        Ok(walk.paths())
    }
}

/// A link that is not shown, with the reason.
fn left_out(what: String) -> Result<EntryKind> {
    Ok(EntryKind::LeftOut(what))
}

/// Separates errors, which a caller passes over, from missing bytes, which it does not.
fn present<T>(result: Result<T>) -> Result<std::result::Result<T, Error>> {
    match result {
        Ok(value) => Ok(Ok(value)),
        Err(Fault::Error(error)) => Ok(Err(error)),
        Err(missing) => Err(missing),
    }
}

fn absent(path: &str) -> Fault {
    Fault::Error(Error {
        kind: ErrorKind::Damaged,
        structure: "path",
        address: 0,
        path: Some(path.to_owned()),
        what: "nothing is there".to_owned(),
    })
}

fn split(path: &str) -> impl DoubleEndedIterator<Item = String> + '_ {
    path.split('/').filter(|name| !name.is_empty()).map(str::to_owned)
}

/// The numbers of the axes without scales in a group.
#[derive(Debug, Default)]
struct Phony {
    by_address: HashMap<u64, Vec<usize>>,
    lengths: Lengths,
}

/// Lengths of axes, and the numbers that they have.
#[derive(Debug, Default)]
struct Lengths {
    numbers: HashMap<u64, Vec<usize>>,
    count: usize,
}

impl Lengths {
    /// The numbers of a shape's axes; new lengths get new ones.
    fn number(&mut self, shape: &[u64]) -> Vec<usize> {
        let mut used = Vec::new();
        for length in shape {
            let known = self.numbers.entry(*length).or_default();
            let number = match known.iter().find(|number| !used.contains(*number)) {
                Some(number) => *number,
                None => {
                    known.push(self.count);
                    self.count += 1;
                    self.count - 1
                }
            };
            used.push(number);
        }
        used
    }
}

/// Of two members of one name, a bare dimension and a variable, the variable.
fn unique(entries: Vec<Entry>) -> Vec<Entry> {
    let mut kept: Vec<Entry> = Vec::with_capacity(entries.len());
    for entry in entries {
        match kept.last_mut() {
            Some(last) if last.name == entry.name => {
                if matches!(last.kind, EntryKind::LeftOut(_) | EntryKind::Dimension) {
                    *last = entry;
                }
            }
            _ => kept.push(entry),
        }
    }
    kept
}
