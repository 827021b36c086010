//! How do elements come from and go into Rust memory of their own type?

use super::opened::{Opened, State};
use crate::element::Element;
use crate::error::{AccessError, Result};
use crate::region::Region;

impl Opened {
    /// Refuses elements of another type than the array's.
    pub(crate) fn check_type<T: Element>(&self, state: &State) -> Result<()> {
        state.access().map_err(|e| self.at(e))?;
        match T::is(&state.metadata.data_type) {
            true => Ok(()),
            false => {
                let array = state.metadata.data_type.to_string();
                Err(self.at(AccessError::ElementType { array, asked: T::NAME }))
            }
        }
    }

    /// Refuses more or fewer elements than the region has.
    pub(crate) fn check_count(&self, region: &Region, found: usize) -> Result<()> {
        let expected = region.element_count().unwrap_or(u64::MAX);
        match expected == found as u64 {
            true => Ok(()),
            false => Err(self.at(AccessError::Count { expected, found: found as u64 })),
        }
    }

    /// Zeroed elements for a region.
    pub(crate) fn room_for<T: Element>(&self, region: &Region) -> Result<Vec<T>> {
        let count = region.element_count().and_then(|n| usize::try_from(n).ok());
        let fits = count
            .filter(|n| n.checked_mul(size_of::<T>()).is_some_and(|n| isize::try_from(n).is_ok()));
        fits.and_then(|n| bytemuck::allocation::try_zeroed_vec(n).ok()).ok_or_else(|| {
            let size = region.element_count().and_then(|n| n.checked_mul(size_of::<T>() as u64));
            let hint = "read a smaller region";
            self.at(AccessError::TooLarge {
                what: "the region",
                size: size.unwrap_or(u64::MAX),
                hint,
            })
        })
    }
}
