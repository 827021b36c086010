//! Copies the definitions and elements of a plan into another dataset.

use zarr_core::Result;

use crate::edit::copy::plan::{BLOCK, Plan, TEXT, Verbatim, kept};
use crate::edit::copy::{missing, texts};
use crate::handles::dataset::Dataset;
use crate::model::name::full_name;
use crate::model::schema::Group;
use crate::model::slab::{Slab, pieces};

impl Dataset {
    /// Copies definitions and elements into `to`, a dataset with nothing in it, made as the plan was.
    /// `progress` gets how many bytes of elements are done, and of which variable. Where this dataset has consolidated
    /// metadata, the copy has them, too.
    ///
    /// # Errors
    /// As those of definition, reading and writing; what was copied until then stays.
    pub fn copy_to(&self, to: &Dataset, plan: &Plan, progress: &dyn Fn(&str, u64)) -> Result<()> {
        to.define(&plan.schema)?;
        for Verbatim { path, kind, attributes } in &plan.verbatim {
            to.change_attributes(path, *kind, |node_attributes| {
                attributes.iter().for_each(|(name, json)| node_attributes.keep(name, json));
                Ok(())
            })?;
        }
        let mut done = 0;
        self.copy_elements(to, plan, &plan.schema, "/", progress, &mut done)?;
        if self.hierarchy().is_consolidated()? {
            to.consolidate()?;
        }
        to.flush()
    }

    fn copy_elements(
        &self,
        to: &Dataset,
        plan: &Plan,
        group: &Group,
        path: &str,
        progress: &dyn Fn(&str, u64),
        done: &mut u64,
    ) -> Result<()> {
        for variable in &group.variables {
            let path = full_name(path, &variable.name);
            let (from, to) = (self.variable(&path)?, to.variable(&path)?);
            let shape = from.shape()?;
            let element = variable.ty.size().map_or(TEXT, |size| size as u64);
            let is_sparse = plan.sparse.contains(&path);
            // One chunk each, of those that may be left out.
            let block = if is_sparse { 1 } else { BLOCK };
            for piece in pieces(&shape, &to.schema()?.storage.chunks, element, block)? {
                let slab = Slab::from(&piece.place);
                if texts::copy_slab(&from, &to, &slab)? {
                    continue;
                }
                let values = kept(from.read_slab(&slab)?, variable.ty);
                if !(is_sparse && missing::are_zeros(&values)) {
                    to.write_slab(&slab, values)?;
                }
                *done += slab.len().unwrap_or(0).saturating_mul(element);
                progress(&path, *done);
            }
        }
        group.groups.iter().try_for_each(|below| {
            self.copy_elements(to, plan, below, &full_name(path, &below.name), progress, done)
        })
    }
}
