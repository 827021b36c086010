//! Grows an unlimited dimension, and all variables that have it (N-012, N-013).
//!
//! First the arrays, then the elements, last the length that the group says. A writer that is cut short leaves arrays
//! that are longer than the group says, or one longer than the other: both read, what was not written as fill.

use zarr_core::{AccessError, Array, Result, Selection};

use crate::documents::load::Snapshot;
use crate::handles::dataset::Dataset;
use crate::handles::variable::Variable;
use crate::model::elements;
use crate::model::name::full_name;
use crate::model::schema::Group;
use crate::model::slab::Slab;
use crate::model::types::Type;
use crate::model::values::Values;

/// Dimensions, by their full names, and how long each is to be at least.
type Lengths = Vec<(String, u64)>;

/// Calls for each variable at and below the group at `path`, in the order of definition.
fn each_variable<'g>(
    group: &'g Group,
    path: &str,
    call: &mut impl FnMut(&str, &'g crate::model::schema::Variable) -> Result<()>,
) -> Result<()> {
    for variable in &group.variables {
        call(&full_name(path, &variable.name), variable)?;
    }
    group
        .groups
        .iter()
        .try_for_each(|below| each_variable(below, &full_name(path, &below.name), call))
}

/// Calls for the array of each variable, with the least length that each of its axes must have.
fn each_array(
    snapshot: &Snapshot,
    lengths: &Lengths,
    call: &mut impl FnMut(&Array, &(dyn Fn(usize) -> u64 + Sync)) -> Result<()>,
) -> Result<()> {
    each_variable(&snapshot.root, "/", &mut |path, variable| {
        let Some(entry) = snapshot.arrays.get(path) else { return Ok(()) };
        call(&entry.array, &|axis: usize| {
            let name = variable.dimensions.get(axis);
            lengths.iter().find(|(other, _)| Some(other) == name).map_or(0, |(_, len)| *len)
        })
    })
}

impl Dataset {
    /// Makes dimensions at least so long, and every array that has them: other writers may have made them longer.
    fn lengthen(&self, lengths: &Lengths) -> Result<()> {
        let snapshot = self.snapshot();
        self.check_writeable(&snapshot)?;
        each_array(&snapshot, lengths, &mut |array, due| lengthen_array(array, due))
    }

    /// Whether every array that is known here is known to be at least so long.
    fn are_long_enough(&self, lengths: &Lengths) -> bool {
        let mut all = true;
        let check = &mut |array: &Array, due: &(dyn Fn(usize) -> u64 + Sync)| {
            all &= array.shape().iter().enumerate().all(|(axis, &len)| len >= due(axis));
            Ok(())
        };
        each_array(&self.snapshot(), lengths, check).is_ok() && all
    }

    /// Tells the length of dimensions that have grown, in the groups that declare them and to the handles here.
    fn publish(&self, lengths: &Lengths) -> Result<()> {
        for (full, len) in lengths {
            self.tell_length(full, |old| old.max(*len))?;
        }
        self.know(lengths)
    }

    /// Changes the length of a dimension in the group that declares it.
    fn tell_length(&self, full: &str, new: impl Fn(u64) -> u64 + Sync) -> Result<()> {
        let (group, name) = full.rsplit_once('/').unwrap_or(("", full));
        let group = if group.is_empty() { "/" } else { group };
        self.change_group(group, |document| {
            if let Some(found) = document.dimensions.iter_mut().find(|d| d.name == name) {
                found.len = new(found.len);
            }
            Ok(())
        })
    }

    /// Appends `count` records along an unlimited dimension: makes room for them in all variables that have it, has
    /// `write` fill it, and tells the new length last. `write` gets the place where the records begin; what it does
    /// not write reads as fill.
    ///
    /// Appends of several writers get separate places. A reader beside them that opens with
    /// [`crate::Lengths::Published`] sees records that are whole, if one writer appends at a time.
    ///
    /// # Errors
    /// [`AccessError::NotFound`]; [`AccessError::Argument`] for a dimension that is not unlimited; [`AccessError::ReadOnly`]; those of
    /// `write`, after which the records are there and not told of.
    pub fn append(
        &self,
        dimension: &str,
        count: u64,
        write: impl FnOnce(u64) -> Result<()>,
    ) -> Result<u64> {
        let known = self.dimension(dimension)?;
        let stored_name = self.snapshot().root.dimension_path(dimension);
        let dimension = stored_name.as_deref().unwrap_or(dimension);
        if !known.unlimited {
            let why =
                format!("dimension `{dimension}` is not unlimited; it has length {}", known.len);
            return Err(self.at(AccessError::Argument(why).into()));
        }
        let snapshot = self.snapshot();
        self.check_writeable(&snapshot)?;
        // The first variable that has the dimension tells writers apart: each gets the end that it finds there.
        let mut first = None;
        each_variable(&snapshot.root, "/", &mut |path, variable| {
            let axes = variable.dimensions.iter().enumerate();
            let axes: Vec<usize> =
                axes.filter(|(_, name)| *name == dimension).map(|(axis, _)| axis).collect();
            if first.is_none() && !axes.is_empty() {
                first = snapshot.arrays.get(path).map(|entry| (entry.array.clone(), axes));
            }
            Ok(())
        })?;
        let start = match first {
            Some((array, axes)) => reserve(&array, &axes, known.len, count)?,
            None => known.len,
        };
        let end = start.checked_add(count).ok_or_else(|| too_long(dimension))?;
        let lengths = vec![(dimension.to_owned(), end)];
        self.lengthen(&lengths)?;
        // The writer's own slabs lie within what is known now.
        self.know(&lengths)?;
        write(start)?;
        self.publish(&lengths)?;
        Ok(start)
    }

    /// Lets the handles here write to records that are not told of yet.
    fn know(&self, lengths: &Lengths) -> Result<()> {
        let mut changing = self.changing();
        // A refresh may have put arrays here whose documents it read before they grew. What they do not have would read
        // as fill.
        while !self.are_long_enough(lengths) {
            drop(changing);
            self.lengthen(lengths)?;
            changing = self.changing();
        }
        self.patch(|root, _| {
            for (full, len) in lengths {
                let (group, name) = full.rsplit_once('/').unwrap_or(("", full));
                let group = root.group_mut(group);
                let found = group.and_then(|g| g.dimensions.iter_mut().find(|d| d.name == name));
                if let Some(found) = found {
                    found.len = found.len.max(*len);
                }
            }
        });
        Ok(())
    }
}

fn too_long(dimension: &str) -> AccessError {
    AccessError::Argument(format!("dimension `{dimension}` would be longer than 64 bits can count"))
}

/// Makes an array at least so long along each axis.
fn lengthen_array(array: &Array, due: impl Fn(usize) -> u64 + Sync) -> Result<()> {
    let longer = |old: &[u64]| -> Vec<u64> {
        old.iter().enumerate().map(|(axis, &len)| len.max(due(axis))).collect()
    };
    // Arrays only grow, as far as this handle is asked.
    let known = array.shape();
    if longer(&known) == known { Ok(()) } else { array.reshape(|old| Ok(longer(old))).map(|_| ()) }
}

/// Makes an array longer by `count` along all `axes`, from its end or from `known`, whichever is further; returns
/// where the new elements begin.
fn reserve(array: &Array, axes: &[usize], known: u64, count: u64) -> Result<u64> {
    let end = |old: &[u64]| axes.iter().map(|&axis| old[axis]).fold(known, u64::max);
    let old = array.reshape(|old| {
        let mut new = old.to_vec();
        let len = end(old).checked_add(count).ok_or_else(|| too_long("of the array"))?;
        axes.iter().for_each(|&axis| new[axis] = len);
        Ok(new)
    })?;
    Ok(end(&old))
}

impl Variable {
    /// Writes all elements, in C order, as many as the dimensions have.
    ///
    /// # Errors
    /// As [`Variable::write_slab`].
    pub fn write(&self, values: impl Into<Values>) -> Result<()> {
        self.write_slab(&Slab::all(&self.shape()?), values)
    }

    /// Writes a hyperslab, in C order. An unlimited dimension grows to what the slab needs, for all variables that
    /// have it.
    ///
    /// # Errors
    /// [`AccessError::ElementType`], [`AccessError::Count`]; [`AccessError::OutOfBounds`] beyond a dimension of fixed length;
    /// [`AccessError::Argument`] for the slab, and for a text that is too long for the variable's strings;
    /// [`AccessError::ReadOnly`]; what the store meets.
    pub fn write_slab(&self, slab: &Slab, values: impl Into<Values>) -> Result<()> {
        let values = values.into();
        let truncate = self.dataset.inner.options.truncate;
        self.write_elements(slab, values.ty(), values.len() as u64, |array, selection| {
            elements::write(array, values.ty(), selection, &values, truncate)
        })
    }

    /// Writes a hyperslab from memory of the caller's, in C order: native elements, as [`Variable::read_slab_into`] gives them.
    ///
    /// # Errors
    /// As [`Variable::write_slab`]; [`AccessError::Argument`] for strings; [`AccessError::Count`] if `bytes` does not have
    /// exactly the bytes of the slab; [`zarr_core::CodecError::Corrupt`] for a byte that is no bool.
    pub fn write_slab_from(&self, slab: &Slab, bytes: &[u8]) -> Result<()> {
        let (ty, found) =
            self.count_elements(bytes, || slab.len().and_then(|len| usize::try_from(len).ok()))?;
        self.write_elements(slab, ty, found, |array, selection| array.write_bytes(selection, bytes))
    }

    /// Writes single elements: `coordinates` has a list for each dimension, all equally long; element `n` is at the `n`th of each.
    /// Each chunk is stored once, however the elements are scattered. Of elements for one place the last one stays.
    ///
    /// # Errors
    /// As [`Variable::write_slab`]; [`AccessError::Argument`] for lists of different lengths, and for a scalar, which has no
    /// dimensions.
    pub fn write_points(
        &self,
        coordinates: Vec<Vec<u64>>,
        values: impl Into<Values>,
    ) -> Result<()> {
        let values = values.into();
        let truncate = self.dataset.inner.options.truncate;
        self.write_each(coordinates, values.ty(), values.len() as u64, |array, selection| {
            elements::write(array, values.ty(), selection, &values, truncate)
        })
    }

    /// The same from native elements, as [`Variable::write_slab_from`] takes them.
    ///
    /// # Errors
    /// As [`Variable::write_points`] and [`Variable::write_slab_from`].
    pub fn write_points_from(&self, coordinates: Vec<Vec<u64>>, bytes: &[u8]) -> Result<()> {
        let (ty, found) = self.count_elements(bytes, || coordinates.first().map(Vec::len))?;
        self.write_each(coordinates, ty, found, |array, selection| {
            array.write_bytes(selection, bytes)
        })
    }

    /// Has `write` write `found` elements of type `ty` to points of the array.
    fn write_each(
        &self,
        coordinates: Vec<Vec<u64>>,
        ty: Type,
        found: u64,
        write: impl FnOnce(&Array, Selection) -> Result<()>,
    ) -> Result<()> {
        let Some(first) = coordinates.first() else {
            let why = "a scalar has no points; write it as a slab";
            return Err(self.at(AccessError::Argument(why.into())));
        };
        if coordinates.iter().any(|list| list.len() != first.len()) {
            let why = "points have as many coordinates along each dimension";
            return Err(self.at(AccessError::Argument(why.into())));
        }
        // The box that they are in.
        let start = coordinates.iter().map(|list| list.iter().copied().min().unwrap_or(0));
        let start: Vec<u64> = start.collect();
        let last = coordinates.iter().map(|list| list.iter().copied().max());
        let count: Vec<u64> = last
            .zip(&start)
            .map(|(last, start)| last.map_or(0, |last| (last - start).saturating_add(1)))
            .collect();
        let expected = first.len() as u64;
        self.write_within(&Slab::new(start, count), expected, ty, found, |array| {
            write(array, Selection::points(coordinates))
        })
    }

    /// The type of elements and how many there are in `bytes`; `expected` says how many there should be.
    fn count_elements(
        &self,
        bytes: &[u8],
        expected: impl FnOnce() -> Option<usize>,
    ) -> Result<(Type, u64)> {
        let ty = self.ty()?;
        let size = ty.size().ok_or_else(|| {
            let why = "strings have no fixed size; write them as values";
            self.at(AccessError::Argument(why.into()))
        })?;
        let found = (bytes.len() / size) as u64;
        if !bytes.len().is_multiple_of(size) {
            let expected = expected().map_or(u64::MAX, |count| count as u64);
            return Err(self.at(AccessError::Count { expected, found }));
        }
        Ok((ty, found))
    }

    /// Has `write` write `found` elements of type `ty` to what the slab selects of the array, which grows before.
    fn write_elements(
        &self,
        slab: &Slab,
        ty: Type,
        found: u64,
        write: impl FnOnce(&Array, Selection) -> Result<()>,
    ) -> Result<()> {
        let expected = slab.len().unwrap_or(u64::MAX);
        self.write_within(slab, expected, ty, found, |array| {
            let is_scalar = slab.count.is_empty();
            if is_scalar {
                let one = Slab::all(&vec![1; array.shape().len()]);
                return write(array, one.selection(&one.count));
            }
            write(array, slab.selection(&slab.count))
        })
    }

    /// Has `write` write `found` elements of type `ty`, of which `expected` are needed, within the slab, to which the array
    /// grows before.
    fn write_within(
        &self,
        slab: &Slab,
        expected: u64,
        ty: Type,
        found: u64,
        write: impl FnOnce(&Array) -> Result<()>,
    ) -> Result<()> {
        let dimensions = self.dimensions()?;
        let (schema, entry) = (self.schema()?, self.entry()?);
        let snapshot = self.dataset.snapshot();
        self.dataset.check_writeable(&snapshot)?;
        let end = slab.end(dimensions.len()).map_err(|e| self.at(e))?;
        if expected != found {
            return Err(self.at(AccessError::Count { expected, found }));
        }
        let mut longer = Lengths::new();
        for (axis, dimension) in dimensions.iter().enumerate() {
            let (start, end, len) = (slab.start[axis], end[axis], dimension.len);
            if end <= len || slab.is_empty() {
                continue;
            }
            if !dimension.unlimited {
                return Err(self.at(AccessError::OutOfBounds { axis, start, end, len }));
            }
            longer.push((schema.dimensions[axis].clone(), end));
        }
        if ty != schema.ty {
            // Before anything grows.
            let (array, asked) = (schema.ty.name().to_owned(), ty.name());
            return Err(self.at(AccessError::ElementType { array, asked }));
        }
        if slab.is_empty() {
            return Ok(());
        }
        if !longer.is_empty() {
            self.dataset.lengthen(&longer)?;
        }
        let array = &entry.array;
        if !dimensions.is_empty() {
            // It may have been left behind when others grew.
            lengthen_array(array, |axis| end[axis])?;
        }
        write(array)?;
        if longer.is_empty() { Ok(()) } else { self.dataset.publish(&longer) }
    }

    /// Appends along the first dimension, which is unlimited; returns where the values begin.
    ///
    /// # Errors
    /// As [`Dataset::append`] and [`Variable::write_slab`]; [`AccessError::Count`] if the values do not fill whole records.
    pub fn append(&self, values: impl Into<Values>) -> Result<u64> {
        let (values, shape) = (values.into(), self.shape()?);
        let dimension = self.schema()?.dimensions.first().cloned();
        let Some(dimension) = dimension else {
            let why = "a scalar has no dimension to append along";
            return Err(self.at(AccessError::Argument(why.into())));
        };
        let record = zarr_core::region::element_count(&shape[1..]).unwrap_or(u64::MAX);
        let found = values.len() as u64;
        if record == 0 || !found.is_multiple_of(record) {
            return Err(self.at(AccessError::Count { expected: record, found }));
        }
        let count = found / record;
        self.dataset.append(&dimension, count, |start| {
            let mut first = vec![0; shape.len()];
            let mut counts = shape.clone();
            (first[0], counts[0]) = (start, count);
            self.write_slab(&Slab::new(first, counts), values)
        })
    }

    /// Refuses to change the length of the array along axes whose dimensions do not grow: all variables with them, and the group, have the
    /// same.
    ///
    /// # Errors
    /// [`AccessError::Argument`] for a dimension of fixed length; those of [`Variable::dimensions`].
    pub fn check_unlimited(&self, axes: &[usize]) -> Result<()> {
        let dimensions = self.dimensions()?;
        let mut changed = axes.iter().filter_map(|&axis| dimensions.get(axis));
        let Some(fixed) = changed.find(|dimension| !dimension.unlimited) else { return Ok(()) };
        let why = format!(
            "the dimension `{}` has the fixed length {} in this netCDF dataset, for all variables; only unlimited dimensions can \
             change: copy the dataset, or make a new one",
            fixed.name, fixed.len
        );
        Err(self.at(AccessError::Argument(why)))
    }

    /// Tells the lengths of this variable's unlimited dimensions, after its array was resized without the dataset, in the groups that declare
    /// them: each that all variables with it agree on. Returns the names of the others: netCDF's library opens no dataset whose variables and
    /// groups differ in the length of a dimension.
    ///
    /// # Errors
    /// [`AccessError::ReadOnly`]; what the store meets.
    pub fn publish_lengths(&self) -> Result<Vec<String>> {
        let (dimensions, schema) = (self.dimensions()?, self.schema()?);
        let snapshot = self.dataset.snapshot();
        self.dataset.check_writeable(&snapshot)?;
        let mut differ = Vec::new();
        for (dimension, full) in dimensions.iter().zip(&schema.dimensions) {
            let mut lens = Vec::new();
            each_variable(&snapshot.root, "/", &mut |path, variable| {
                let shape = snapshot.arrays.get(path).map(|entry| entry.array.shape());
                let axes = shape.iter().flatten().zip(&variable.dimensions);
                lens.extend(axes.filter(|(_, name)| *name == full).map(|(len, _)| *len));
                Ok(())
            })?;
            lens.dedup();
            match lens[..] {
                [len] if dimension.unlimited => self.dataset.tell_length(full, |_| len)?,
                [_] => {}
                _ => differ.push(dimension.name.clone()),
            }
        }
        Ok(differ)
    }
}
