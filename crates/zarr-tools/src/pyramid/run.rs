//! Makes what was planned: parts first, then the levels above them, and the documents last.

use std::collections::{BTreeSet, HashMap};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use zarr_core::data_type::NumpyTime;
use zarr_core::metadata::ArrayMetadata;
use zarr_core::{
    AccessError, Array, DataType, Error, ErrorKind, Group, Guard, Json, Node, NodePath, Result,
    Scalar, missing_value,
};

use super::build::{Build, Image, Make};
use super::gaussian::Gaussian;
use super::geo_levels::PlannedMap;
use super::journal::{DonePart, Handover, Journal};
use super::plan::{PlannedImage, PyramidPlan};
use super::reduce::{Mean, Missing, Pick};
use super::sample::{Sample, Unsigned};
use super::tiles::Tiles;
use super::{PyramidMethod, PyramidOptions, PyramidProgress, geo, geo_levels, image};
use crate::copy::holes::touched_blocks;
use crate::copy::{Buffers, Workers, default_memory};

/// Larger whole numbers in an attribute are no integers of 64 bits.
const MAX_WHOLE: f64 = 2e19;
/// The attributes that name missing values.
const MISSING: [&str; 2] = [missing_value::FILL_VALUE, "missing_value"];
/// The most parts that a message names.
const MAX_NAMED: usize = 20;

/// What one process makes.
#[derive(Clone, Copy)]
enum Work {
    All,
    /// Of so many parts, the one of this number from 0 on.
    Part(u64, u64),
    /// What is above all parts.
    Top,
}

/// An image whose levels are about to be made.
struct Source<'a> {
    number: usize,
    planned: &'a PlannedImage,
    tiles: Tiles,
    base: Array,
    levels: Vec<Option<Array>>,
}

impl PyramidPlan {
    /// Makes all levels, and then their documents and the image's own.
    ///
    /// # Errors
    /// What the store or a codec reports; [`AccessError::Cancelled`]. What is made stays, and
    /// [`PyramidOptions::resume`] goes on with it.
    pub fn run(&self, options: &PyramidOptions<'_>) -> Result<()> {
        if self.images.is_empty() {
            return Ok(());
        }
        let begun = self.begin(options)?;
        let made = begun.make(Work::All, options).and_then(|()| begun.write_documents());
        made.map_err(|e| {
            if e.hint().is_some() {
                return e;
            }
            e.with_hint("what has been made stays; continue with `--resume` (library: `PyramidOptions::resume`)")
        })
    }

    /// Makes one of several parts, which are counted from 0. Each process plans with the same [`PyramidOptions::parts`]; at any time, and in
    /// any order. When all parts are made, one process calls [`PyramidPlan::finish`].
    ///
    /// # Errors
    /// As [`PyramidPlan::run`]; [`AccessError::Argument`] for a part that there is not.
    pub fn run_part(&self, part: u64, options: &PyramidOptions<'_>) -> Result<()> {
        let parts = options.parts.unwrap_or(1);
        if part >= parts {
            let why = format!("part {} of {parts} does not exist", part + 1);
            return Err(self.argument(why));
        }
        if self.images.is_empty() {
            return Ok(());
        }
        let begun = self.begin(options)?;
        begun.make(Work::Part(part, parts), options)?;
        begun.hierarchy.flush()
    }

    /// Makes what is above all parts, and then the documents.
    ///
    /// # Errors
    /// [`AccessError::Argument`] naming the parts that are not done; as [`PyramidPlan::run`].
    pub fn finish(&self, options: &PyramidOptions<'_>) -> Result<()> {
        let journal = Journal::new(&self.hierarchy, &self.path)?;
        if journal.plan()?.is_none() {
            return Err(self.argument("no pyramid of this image is under way".into()));
        }
        for (number, planned) in self.images.iter().enumerate() {
            let source = self.source(number, planned, options)?;
            let stored = source.stored(options)?;
            let roots = source.tiles.roots(planned.part_level);
            let (done, _) = source.done(&journal)?;
            let missing: Vec<String> = roots_of(roots, stored.as_ref())
                .filter(|root| !done.contains(root))
                .take(MAX_NAMED)
                .map(|root| root.to_string())
                .collect();
            if !missing.is_empty() {
                let why =
                    format!("unfinished levels below {}: {}", planned.group, missing.join(", "));
                return Err(self
                    .argument(why)
                    .with_hint("run all parts with `--part`, or the rest with `--resume`"));
            }
        }
        self.make(Work::Top, options)?;
        self.write_documents()
    }

    fn argument(&self, why: String) -> Error {
        let error = Error::from(AccessError::Argument(why));
        error.at_store(self.hierarchy.store().name()).at_path(&self.path)
    }

    /// Puts the plan in the journal, or finds the one that is there, and erases what others have left where levels are to be.
    fn begin(&self, options: &PyramidOptions<'_>) -> Result<PyramidPlan> {
        let journal = Journal::new(&self.hierarchy, &self.path)?;
        if options.restart {
            self.erase_old(&journal)?;
        }
        if journal.plan()?.is_none() {
            self.refuse_chunks(&journal)?;
        }
        let mut plan = self.clone();
        if !journal.put_plan(&self.to_json())? {
            let found = journal.plan()?;
            let found =
                found.and_then(|json| PyramidPlan::from_json(&self.hierarchy, &self.path, &json));
            let found = found.ok_or_else(|| journal.broken("it is not a plan of a pyramid"))?;
            if found.images != self.images || found.map != self.map {
                let why = "the unfinished pyramid here is a different one".to_owned();
                return Err(self
                    .argument(why)
                    .with_hint("repeat the options with which it was begun"));
            }
            plan = found;
        }
        if journal.is_cleared(&plan.begun)? {
            return Ok(plan);
        }
        let is_ours = plan.begun == self.begun;
        let mut left = Vec::new();
        for (path, metadata) in plan.new_arrays()? {
            left.extend(self.hierarchy.chunk_keys(&path, &metadata)?);
        }
        // Another process may have cleared the places and begun to write.
        if journal.is_cleared(&plan.begun)? {
            return Ok(plan);
        }
        if options.parts.is_some() && !left.is_empty() && !is_ours {
            let why =
                format!("found {} leftover chunks where the levels would be written", left.len());
            return Err(self.argument(why).with_hint(
                "another process is erasing them, or was killed while it did so; in that case, run it once with `--resume` and without `--part`",
            ));
        }
        self.erase(&left)?;
        journal.set_cleared(&plan.begun)?;
        Ok(plan)
    }

    /// Refuses chunks that no array has where levels are to be: as a copy does.
    fn refuse_chunks(&self, journal: &Journal) -> Result<()> {
        for (path, metadata) in self.new_arrays()? {
            let found = self.hierarchy.chunk_keys(&path, &metadata)?;
            let Some(first) = found.first() else { continue };
            // Another process may have begun the same pyramid.
            if journal.plan()?.is_some() {
                return Ok(());
            }
            let error =
                AccessError::ChunksWithoutArray { key: first.to_string(), count: found.len() };
            let error = Error::from(error).at_store(self.hierarchy.store().name()).at_path(&path);
            return Err(error.with_hint(
                "restore the document of the array, move the files away, or erase them with `zarr rm`",
            ));
        }
        Ok(())
    }

    fn erase(&self, keys: &[zarr_core::store::StoreKey]) -> Result<()> {
        let store = self.hierarchy.store().to_sync();
        for key in keys {
            store.erase(key).map_err(|e| Error::from(e).at_store(store.name()).at_key(key))?;
        }
        Ok(())
    }

    /// Erases the chunks that a pyramid under way has written, and its journal. Arrays whose documents are there stay.
    fn erase_old(&self, journal: &Journal) -> Result<()> {
        let json = journal.plan().ok().flatten();
        let old = json.and_then(|json| PyramidPlan::from_json(&self.hierarchy, &self.path, &json));
        if let Some(old) = old {
            for (path, metadata) in old.new_arrays()? {
                match self.hierarchy.node(&path) {
                    Err(e) if e.kind() == ErrorKind::NotFound => {
                        let keys = self.hierarchy.chunk_keys(&path, &metadata)?;
                        self.erase(&keys)?;
                    }
                    found => drop(found?),
                }
            }
        }
        journal.erase()
    }

    /// The arrays that are to be made.
    pub(super) fn new_arrays(&self) -> Result<Vec<(NodePath, ArrayMetadata)>> {
        let mut found = Vec::new();
        for planned in &self.images {
            let (group, image) = self.image_of(planned)?;
            let base = group.array(&planned.base)?;
            for level in planned.levels.iter().filter(|level| level.path.is_some()) {
                found.push((planned.path_of(level)?, planned.metadata(&base, &image, level)?));
            }
        }
        if let Some(planned) = &self.map {
            let (group, map) = geo_levels::map_of(self, planned)?;
            for beside in geo_levels::beside(&group, &map, planned)? {
                found.push((beside.path, beside.metadata));
            }
        }
        Ok(found)
    }

    fn image_of(&self, planned: &PlannedImage) -> Result<(Group, image::Image)> {
        let group = self.hierarchy.group(&planned.group)?;
        if let Some(map) = planned.map {
            let image = geo::variable(&group.array(&planned.base)?, map);
            return Ok((group, image));
        }
        let image = image::Image::of(&group)?;
        let image = image
            .ok_or_else(|| self.argument(format!("{} is no longer an image", planned.group)))?;
        Ok((group, image))
    }

    fn source<'a>(
        &self,
        number: usize,
        planned: &'a PlannedImage,
        options: &PyramidOptions<'_>,
    ) -> Result<Source<'a>> {
        let (group, image) = self.image_of(planned)?;
        let base = group.array(&planned.base)?;
        let memory = options.memory.unwrap_or_else(default_memory);
        let mut levels = Vec::new();
        for level in &planned.levels {
            levels.push(match &level.path {
                None => None,
                Some(_) => {
                    let metadata = planned.metadata(&base, &image, level)?;
                    let path = planned.path_of(level)?;
                    let array = self.hierarchy.array_of_metadata(&path, metadata)?;
                    Some(for_tiles(array, memory, options))
                }
            });
        }
        Ok(Source {
            number,
            planned,
            tiles: planned.tiles(),
            base: for_tiles(base, memory, options),
            levels,
        })
    }

    /// Makes what one process is to make of all images.
    fn make(&self, work: Work, options: &PyramidOptions<'_>) -> Result<()> {
        let journal = Journal::new(&self.hierarchy, &self.path)?;
        let done = AtomicU64::new(0);
        let total = self.images.iter().fold(0u64, |sum, image| {
            let base =
                self.hierarchy.group(&image.group).and_then(|group| group.array(&image.base));
            let size = base.ok().map_or(0, |base| size_of(&base).saturating_mul(base.len()));
            sum.saturating_add(size)
        });
        for (number, planned) in self.images.iter().enumerate() {
            let source = self.source(number, planned, options)?;
            let element = size_of(&source.base);
            source.make(
                work,
                &journal,
                &|elements: u64| {
                    let bytes = elements * element;
                    let bytes_done = done.fetch_add(bytes, Ordering::Relaxed) + bytes;
                    if let Some(call) = options.progress {
                        let path = Some(planned.group.clone());
                        call(&PyramidProgress { path, bytes_done, bytes_total: total });
                    }
                },
                options,
            )?;
        }
        Ok(())
    }

    /// Writes the documents of the levels, those of labels first, and then lists them in the documents of the images, the image's own
    /// last; erases the journal.
    fn write_documents(&self) -> Result<()> {
        // No document is there before the chunks are.
        self.hierarchy.flush()?;
        match &self.map {
            Some(map) => self.write_map(map)?,
            None => {
                for planned in self.images.iter().rev() {
                    let group = self.create_levels(planned)?;
                    let new = planned.new_levels();
                    group.update_attributes(|attributes| new.add(attributes))?;
                }
            }
        }
        self.hierarchy.flush()?;
        Journal::new(&self.hierarchy, &self.path)?.erase()?;
        self.hierarchy.flush()
    }

    /// Writes what the levels of a map have beside those of its variables, then all documents of the levels, and last the layout.
    fn write_map(&self, planned: &PlannedMap) -> Result<()> {
        let (group, map) = geo_levels::map_of(self, planned)?;
        let beside = geo_levels::beside(&group, &map, planned)?;
        geo_levels::write_chunks(&self.hierarchy, &beside, planned)?;
        self.hierarchy.flush()?;
        geo_levels::create_groups(&group, &map, planned)?;
        for image in &self.images {
            self.create_levels(image)?;
        }
        for array in beside {
            self.create_level(&array.path, array.metadata)?;
        }
        geo_levels::list_levels(&group, &map, planned)
    }

    /// Writes the documents of the levels of an image. Returns its group.
    fn create_levels(&self, planned: &PlannedImage) -> Result<Group> {
        let (group, image) = self.image_of(planned)?;
        let base = group.array(&planned.base)?;
        for level in planned.levels.iter().filter(|level| level.path.is_some()) {
            let metadata = planned.metadata(&base, &image, level)?;
            self.create_level(&planned.path_of(level)?, metadata)?;
        }
        Ok(group)
    }

    /// Writes the document of an array whose chunks are stored, unless an earlier call has.
    fn create_level(&self, path: &NodePath, metadata: ArrayMetadata) -> Result<()> {
        match self.hierarchy.node(path) {
            Err(e) if e.kind() == ErrorKind::NotFound => {
                // What is left of others is erased since the beginning.
                let array = self.hierarchy.create_array(path).from_metadata(metadata);
                array.purge(false).create()?;
                Ok(())
            }
            Ok(Node::Array(array)) if is_like(&array, &metadata) => Ok(()),
            found => {
                found?;
                let error = Error::from(AccessError::Exists("a node"));
                let error = error.at_store(self.hierarchy.store().name()).at_path(path);
                Err(error.with_hint(
                    "another program has created it since; erase it, and continue with `--resume`",
                ))
            }
        }
    }
}

/// The array as the threads of a pyramid use it: they work on different tiles, and no other writer writes what is not there yet.
fn for_tiles(array: Array, memory: u64, options: &PyramidOptions<'_>) -> Array {
    array.with_options(|all| {
        all.threads = 1;
        all.guard = Guard::Off;
        all.index_memory = all.index_memory.or(Some(memory / 16));
        all.cancel = options.cancel.clone().or(all.cancel.take());
    })
}

/// Whether an array is the one that this metadata describes, as an earlier call has created it.
fn is_like(array: &Array, metadata: &ArrayMetadata) -> bool {
    let found = array.metadata();
    found.shape == metadata.shape
        && found.data_type == metadata.data_type
        && found.chunk_shape() == metadata.chunk_shape()
        && found.attributes == metadata.attributes
}

fn size_of(array: &Array) -> u64 {
    array.data_type().repr().map_or(1, |repr| repr.size() as u64)
}

/// The numbers of roots, of so many, that may have something.
fn roots_of(
    count: u64,
    stored: Option<&BTreeSet<u64>>,
) -> Box<dyn Iterator<Item = u64> + Send + '_> {
    match stored {
        Some(stored) => Box::new(stored.iter().copied()),
        None => Box::new(0..count),
    }
}

impl Source<'_> {
    /// Makes what one process is to make of this image.
    fn make(
        &self,
        work: Work,
        journal: &Journal,
        read: &(dyn Fn(u64) + Sync),
        options: &PyramidOptions<'_>,
    ) -> Result<()> {
        macro_rules! by_type {
            ($($element:ty)*) => {$(
                if <$element as zarr_core::Element>::is(&self.base.data_type()) {
                    return self.make_of::<$element>(work, journal, read, options);
                }
            )*};
        }
        if is_unsigned(&self.base) {
            by_type!(Unsigned<i8> Unsigned<i16> Unsigned<i32> Unsigned<i64>);
        }
        by_type!(u8 i8 u16 i16 u32 i32 u64 i64 f32 f64 bool);
        let why =
            format!("levels of elements of type `{}` are not supported", self.base.data_type());
        Err(Error::from(AccessError::Argument(why)).at_path(self.base.path()))
    }

    fn make_of<T: Sample>(
        &self,
        work: Work,
        journal: &Journal,
        read: &(dyn Fn(u64) + Sync),
        options: &PyramidOptions<'_>,
    ) -> Result<()> {
        let planned = self.planned;
        let fill = T::from_bytes(&self.base.metadata().fill_bytes());
        let missing = missing_values(&self.base, planned, fill);
        let handover = if planned.is_journaled {
            Handover::Journal(journal, self.number)
        } else {
            Handover::Memory(Mutex::new(HashMap::new()))
        };
        let image = Image {
            tiles: &self.tiles,
            base: self.base.clone(),
            levels: self.levels.clone(),
            part_level: planned.part_level,
            handover,
            read,
        };
        let stored = self.stored(options)?;
        let (method, rounding, min_valid) = (planned.method, planned.rounding, planned.min_valid);
        match method {
            PyramidMethod::Mean => {
                let reducer = Mean { missing, rounding, min_valid };
                let build = Build { image, reducer, stored: stored.clone(), fill };
                self.make_roots(&build, stored.as_ref(), work, journal, options)
            }
            PyramidMethod::Gaussian => {
                let gaussian = Gaussian::new(image, missing, fill, min_valid);
                self.make_roots(&gaussian, stored.as_ref(), work, journal, options)
            }
            _ => {
                let reducer = Pick { method, missing };
                let build = Build { image, reducer, stored: stored.clone(), fill };
                self.make_roots(&build, stored.as_ref(), work, journal, options)
            }
        }
    }

    fn make_roots(
        &self,
        make: &dyn Make,
        stored: Option<&BTreeSet<u64>>,
        work: Work,
        journal: &Journal,
        options: &PyramidOptions<'_>,
    ) -> Result<()> {
        let planned = self.planned;
        let (part_level, top) = (planned.part_level, self.tiles.top());
        let by_memory = planned.check_memory(&self.base, options.memory)?;
        let asked = self.base.hierarchy().options().threads;
        let threads =
            if asked == 0 { thread::available_parallelism().map_or(1, usize::from) } else { asked };
        let workers = Workers {
            count: threads.min(by_memory),
            buffer: 0,
            buffers: &Buffers::default(),
            cancel: options.cancel.as_ref(),
            stop: None,
        };
        let roots = self.tiles.roots(part_level);
        let in_work = match work {
            Work::All => 0..roots,
            Work::Part(part, parts) => {
                let bound =
                    |part: u64| (u128::from(roots) * u128::from(part) / u128::from(parts)) as u64;
                bound(part)..bound(part + 1)
            }
            Work::Top => 0..0,
        };
        // What stays in memory is lost with the process: its parts are made again.
        let is_marked = planned.is_journaled || part_level == top;
        let mut done = BTreeSet::new();
        if is_marked {
            let lost;
            (done, lost) = self.done(journal)?;
            for lost in lost.into_iter().filter(|lost| in_work.contains(&lost.part)) {
                journal.unset_done(self.number, lost)?;
            }
        }
        let items =
            roots_of(roots, stored).filter(|root| in_work.contains(root) && !done.contains(root));
        workers.run(
            items,
            |_, root, tell: &mut dyn FnMut(DonePart) -> Result<()>| {
                let objects = make.make_part(root)?;
                tell(DonePart { part: root, objects })
            },
            &mut |&done| if is_marked { journal.set_done(self.number, done) } else { Ok(()) },
        )?;
        if part_level < top && !matches!(work, Work::Part(..)) {
            workers.run(
                0..self.tiles.roots(top),
                |_, root, _: &mut dyn FnMut(()) -> Result<()>| make.make_top(root),
                &mut |()| Ok(()),
            )?;
        }
        Ok(())
    }

    /// The parts that are done, and the notes of those whose chunks are no longer all there: the image may have been erased, renamed
    /// or repaired since, and another one be in its place.
    fn done(&self, journal: &Journal) -> Result<(BTreeSet<u64>, Vec<DonePart>)> {
        let roots = self.tiles.roots(self.planned.part_level);
        // Before the objects: who notes a part has stored all of it.
        let noted = journal.parts_done(self.number, roots)?;
        let mut objects: HashMap<u64, u64> = HashMap::new();
        if noted.iter().any(|done| done.objects > 0) {
            objects = self.objects_of_roots()?;
        }
        let (mut done, mut lost) = (BTreeSet::new(), Vec::new());
        for noted in noted {
            if objects.get(&noted.part).copied().unwrap_or(0) >= noted.objects {
                done.insert(noted.part);
            } else {
                lost.push(noted);
            }
        }
        Ok((done, lost))
    }

    /// How many stored objects each root of the part level has, at that level and below it; roots without any are left out.
    fn objects_of_roots(&self) -> Result<HashMap<u64, u64>> {
        let part_level = self.planned.part_level;
        let mut found = HashMap::new();
        for (level, array) in (1..=part_level).zip(&self.levels) {
            let Some(array) = array else { continue };
            let (hierarchy, metadata) = (array.hierarchy(), array.metadata());
            let prefix = hierarchy.format().chunk_prefix(array.path())?;
            let object = metadata.chunk_extent();
            for key in hierarchy.chunk_keys(array.path(), &metadata)? {
                let name = prefix.strip(&key).unwrap_or_default();
                let indices = metadata.chunk_keys.parse(name, metadata.rank());
                let Some(indices) = indices else { continue };
                let first = indices
                    .iter()
                    .zip(&object)
                    .map(|(&index, len)| u64::try_from(index).ok()?.checked_mul(*len));
                let Some(first) = first.collect::<Option<Vec<u64>>>() else { continue };
                let is_inside = first.iter().zip(array.shape()).all(|(at, len)| *at < len);
                if is_inside {
                    let root = self.tiles.root_of_element(part_level, level, &first);
                    *found.entry(root).or_default() += 1;
                }
            }
        }
        Ok(found)
    }

    /// The roots of the part level below which something is stored, if that is known, and if the levels of nothing but the fill value
    /// have nothing but the fill value.
    fn stored(&self, options: &PyramidOptions<'_>) -> Result<Option<BTreeSet<u64>>> {
        macro_rules! by_type {
            ($($element:ty)*) => {$(
                if <$element as zarr_core::Element>::is(&self.base.data_type()) {
                    let fill = <$element>::from_bytes(&self.base.metadata().fill_bytes());
                    let missing = missing_values(&self.base, self.planned, fill);
                    let stays = missing.is_none_or(|it| !it.has(fill) || it.is_written_as(fill));
                    if !(fill.is_exact() && stays) {
                        return Ok(None);
                    }
                }
            )*};
        }
        if self.planned.method == PyramidMethod::Gaussian {
            // What is stored reaches beyond its root.
            return Ok(None);
        }
        use zarr_core::Element as _;
        if is_unsigned(&self.base) {
            by_type!(Unsigned<i8> Unsigned<i16> Unsigned<i32> Unsigned<i64>);
        } else {
            by_type!(u8 i8 u16 i16 u32 i32 u64 i64 f32 f64 bool);
        }
        let block = self.tiles.base_shape_of_root(self.planned.part_level);
        let memory = options.memory.unwrap_or_else(default_memory);
        touched_blocks(&self.base, &self.base.shape(), &block, memory)
    }
}

/// Whether the elements of an array stand for unsigned numbers of the same bits, as the attribute `_Unsigned` of netCDF says.
fn is_unsigned(base: &Array) -> bool {
    let is_so = match base.attributes().get("_Unsigned") {
        Some(Json::String(text)) => text.eq_ignore_ascii_case("true"),
        Some(other) => other.as_bool() == Some(true),
        None => false,
    };
    is_so && matches!(base.data_type().scalar(), Some(Scalar::Int(_)))
}

/// The missing values of a base; `None` if none of its elements can be missing.
fn missing_values<T: Sample>(base: &Array, planned: &PlannedImage, fill: T) -> Option<Missing<T>> {
    let (data_type, attributes) = (base.data_type(), base.attributes());
    let of_attribute = |name: &str| -> Vec<T> {
        let items = match attributes.get(name) {
            Some(Json::Array(items)) => items.as_slice(),
            Some(value) => std::slice::from_ref(value),
            None => &[],
        };
        items.iter().filter_map(|item| element_of(&data_type, item)).collect()
    };
    let mut values: Vec<T> = MISSING.iter().flat_map(|name| of_attribute(name)).collect();
    // In v2 xarray and netCDF take the fill value of a variable for the missing one. Images of OME-Zarr are no such variables, and
    // bools have none.
    let is_masked = missing_value::is_fill_value(base.hierarchy().dialect())
        && base.metadata().fill_value.is_some()
        && !matches!(data_type.scalar(), Some(Scalar::Bool));
    if planned.map.is_some() && is_masked {
        values.push(fill);
    }
    if let DataType::Time(_) = data_type {
        values.push(T::from_bytes(&NumpyTime::NAT.to_ne_bytes()));
    }
    let nan = T::nan().filter(|_| !planned.keep_nan);
    values.retain(|value| !value.is_nan());
    let range = of_attribute("valid_range");
    let (mut valid_min, mut valid_max) = match range[..] {
        [least, most] => (Some(least), Some(most)),
        _ => {
            (of_attribute("valid_min").first().copied(), of_attribute("valid_max").first().copied())
        }
    };
    // A range that is none is not applied.
    if valid_min.zip(valid_max).is_some_and(|(least, most)| most.is_less(least)) {
        (valid_min, valid_max) = (None, None);
    }
    // A NaN as the array has it.
    let nan_written = nan.map(|nan| if fill.is_nan() { fill } else { nan });
    let written = values.first().copied().or(nan_written);
    let written = written.or_else(|| out_of_range(fill, valid_min, valid_max))?;
    Some(Missing { values, nan: nan.is_some(), valid_min, valid_max, written })
}

/// The element that an attribute's value stands for.
fn element_of<T: Sample>(data_type: &DataType, json: &Json) -> Option<T> {
    if let Some(value) = missing_value::from_json(data_type, json) {
        return Some(T::from_bytes(value.as_bytes()));
    }
    // netCDF's attributes in JSON lose their type: -9999.0 may be a whole number, 255 the -1 of unsigned bytes.
    let number: f64 = json.as_number()?.parse().ok()?;
    let is_whole = number.fract() == 0.0 && number.abs() < MAX_WHOLE;
    if is_whole { T::from_integer(number as i128) } else { None }
}

/// What stands for nothing where only a range of valid values is declared: the fill value, if that is not within, else a value next to
/// the range. `None` if the range has all values of the type, so that none is missing.
fn out_of_range<T: Sample>(fill: T, valid_min: Option<T>, valid_max: Option<T>) -> Option<T> {
    let is_below = valid_min.is_some_and(|least| fill.is_less(least));
    if is_below || valid_max.is_some_and(|most| most.is_less(fill)) {
        return Some(fill);
    }
    if valid_min.is_none() && valid_max.is_none() {
        return None;
    }
    let above = valid_max.and_then(|most| most.neighbour(true));
    let below = valid_min.and_then(|least| least.neighbour(false));
    above.or(below).or(T::nan())
}
