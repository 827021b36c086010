//! Changes how elements are stored while a variable holds none (N-054, N-060).

use zarr_core::data_type::Repr;
use zarr_core::metadata::ArrayMetadata;
use zarr_core::{AccessError, Dialect, Error, Result};

use crate::documents::load::Entry;
use crate::documents::node_attributes::NodeAttributes;
use crate::edit::create_variable::VariableContext;
use crate::handles::variable::Variable;
use crate::model::elements;
use crate::model::name::position;
use crate::model::options::Profile;
use crate::model::schema::Attribute;
use crate::model::types::Type;
use crate::model::values::Values;

const FILL: &str = "_FillValue";
const WIDTH: &str = "_nczarr_maxstrlen";

impl Variable {
    /// Whether the attribute of this name says how elements are kept.
    pub(crate) fn shapes_elements(&self, name: &str) -> bool {
        name == FILL
            || (name == WIDTH
                && self.ty().is_ok_and(|ty| ty == Type::String)
                && self.entry().is_ok_and(|entry| !entry.array.data_type().is_variable()))
    }

    /// Sets such an attribute, or deletes it, and makes the array as if it had been so from the beginning. That is
    /// possible as long as nothing is stored.
    pub(crate) fn redefine(&self, name: &str, value: Option<Values>) -> Result<()> {
        let dataset = &self.dataset;
        let _changing = dataset.changing();
        let snapshot = dataset.snapshot();
        dataset.check_writeable(&snapshot)?;
        let (old, entry) = (self.schema()?, self.entry()?);
        let mut variable = old.clone();
        let at = position(old.attributes.iter().map(|attribute| attribute.name.as_str()), name);
        match (at, value) {
            (Some(at), Some(value)) => variable.attributes[at].value = value,
            (None, Some(value)) => variable.attributes.push(Attribute::new(name, value)),
            (Some(at), None) => drop(variable.attributes.remove(at)),
            (None, None) => return Err(dataset.absent("attribute", name)),
        }
        let context = VariableContext { dataset, snapshot: &snapshot, dimensions: &[] };
        let fill = context.fill(&mut variable).map_err(|e| self.at(e))?;
        if variable == old {
            return Ok(());
        }
        let mut metadata = ArrayMetadata::clone(&entry.array.metadata());
        // What was read has forgotten how netCDF writes its texts.
        metadata.data_type = match (variable.ty, metadata.data_type.repr()) {
            (Type::Char, _) => context.data_type(&variable).map_err(|e| self.at(e))?,
            (Type::String, _) if name == WIDTH => {
                context.texts(context.width(&variable).map_err(|e| self.at(e))?)
            }
            (Type::String, Some(Repr::Opaque(width))) => context.texts(width),
            _ => metadata.data_type,
        };
        let stored = entry.array.stored_chunks()?;
        if stored > 0 {
            let why = format!(
                "`{name}` must be set before elements are written; {stored} chunks are stored"
            );
            return Err(self.at(AccessError::Argument(why)));
        }
        let fill = [Dialect::V3, Dialect::V2]
            .map(|dialect| metadata.data_type.element_from_json(&fill, dialect));
        let [fill, other] = fill;
        metadata.fill_value = Some(fill.or(other).map_err(|e| self.at(Error::from(e)))?);
        let dialect = snapshot.hierarchy.dialect();
        let mut node_attributes = NodeAttributes::of(&metadata.attributes);
        let told = name != FILL || context.tells_fill(&variable);
        match variable.attribute(name).filter(|_| told) {
            Some(value) => node_attributes.set(name, value, dialect).map_err(|e| self.at(e))?,
            None => drop(node_attributes.remove(name)),
        }
        metadata.attributes =
            node_attributes.into_object(dialect, snapshot.profile == Profile::Nczarr);
        let builder = snapshot.hierarchy.create_array(entry.array.path()).overwrite(true);
        let array = builder.from_metadata(metadata).create()?;
        let fill = elements::fill(&array.metadata(), variable.ty);
        if name == FILL {
            (variable.storage.no_fill, variable.storage.unwritten) = (false, None);
        }
        dataset.patch(|root, arrays| {
            arrays.insert(self.path.clone(), Entry { array, fill });
            let (group, _) = self.path.rsplit_once('/').unwrap_or(("", &self.path));
            let group = root.group_mut(group);
            let known = group.and_then(|group| {
                group.variables.iter_mut().find(|known| known.name == variable.name)
            });
            if let Some(known) = known {
                *known = variable;
            }
        });
        Ok(())
    }
}
