//! Checks that arrays of a data type are written and read, and opened where it is not known.

use super::Subject;
use crate::memory::Home;
use crate::shared::{elements, good};
use zarr_core::codec::bytes_codec;
use zarr_core::data_type::{DataType, Endian, FillValue};

use zarr_core::view::{View, ViewMut};
use zarr_core::{Array, ArrayMetadata, Dialect, ErrorKind, Region, Registry};

const SHAPE: [u64; 2] = [7, 5];

/// Checks each dialect and byte order, with each fill value that the dialect can represent.
pub(super) fn check(subject: &Subject<'_>, fills: &[FillValue]) {
    for dialect in subject.dialects() {
        for &order in subject.orders() {
            for fill in fills {
                let said = subject.data_type.element_to_json(fill, dialect);
                if said.is_ok() {
                    written_and_read(subject, dialect, order, fill);
                }
            }
        }
    }
}

fn written_and_read(subject: &Subject<'_>, dialect: Dialect, order: Endian, fill: &FillValue) {
    let (name, (size, _)) = (&subject.name, subject.sizes());
    let what = format!("{name}: an array in {dialect}, {} bytes first,", order.name());
    let metadata = ArrayMetadata::new(&SHAPE, subject.data_type.clone(), &[3, 2]);
    let mut metadata = good(metadata, format_args!("{what} described"));
    metadata.codecs = vec![bytes_codec(&subject.data_type, order)];
    metadata.fill_value = Some(fill.clone());
    let created = Home::create(subject.registry, dialect, metadata);
    let (home, array) = good(created, format_args!("{what} created"));

    let region = Region::new([1..6, 0..4]);
    for part in elements(&subject.data_type, 20) {
        let mut model = vec![0; 35 * size];
        let mut view = ViewMut::new(&mut model, &SHAPE, size);
        view.fill(fill.as_bytes());
        view.part(&region).copy_from(&View::new(&part, &region.shape(), size));
        good(array.write_bytes(&region, &part), format_args!("{what} written"));
        let found = good(array.read_bytes(..), format_args!("{what} read"));
        assert!(found == model, "{what} reads as it was written");

        let again = good(home.open(subject.registry), format_args!("{what} opened again"));
        let metadata = again.metadata();
        let found = &metadata.data_type;
        assert!(*found == subject.data_type, "{what} opened again, has the type `{found}`");
        let found = metadata.fill_value.as_ref();
        assert!(found == Some(fill), "{what} opened again, has another fill value");
        let ordered = subject.sizes().1 > 1;
        assert!(
            !ordered || metadata.endian() == order,
            "{what} opened again, has another byte order"
        );
        let found = good(again.read_bytes(..), format_args!("{what} opened again, read"));
        assert!(found == model, "{what} opened again, reads as it was written");

        let plain = home.open(&Registry::new());
        let plain = good(plain, format_args!("{what} opened where the type is not known"));
        unknown_here(subject, &what, &plain, &model, order);
    }
}

/// Checks the array in a build without the type: it has the fallback, or cannot be read and gives the reason.
pub(super) fn unknown_here(
    subject: &Subject<'_>,
    what: &str,
    array: &Array,
    model: &[u8],
    order: Endian,
) {
    let (size, unit) = subject.sizes();
    match array.data_type() {
        DataType::Unknown { fallback: Some(fallback), .. } => {
            let repr = fallback.repr();
            let same = repr.is_some_and(|repr| repr.size() == size);
            assert!(same, "{what} has the fallback `{fallback}`, whose elements are not as large");
            let found = good(array.read_bytes(..), format_args!("{what} read as `{fallback}`"));
            let ordered = repr.is_some_and(|repr| repr.swap_unit() > 1);
            if ordered {
                let said = array.metadata().endian();
                assert!(said == order, "{what} has a fallback `{fallback}` of another byte order");
            }
            // A fallback without byte order returns elements as they are stored.
            if ordered || unit == 1 || order == Endian::NATIVE {
                assert!(found == model, "{what} reads as its fallback `{fallback}`, bit for bit");
            }
        }
        DataType::Unknown { fallback: None, .. } => {
            let refused = array.read_bytes(..).err().map(|error| error.kind());
            let told = refused == Some(ErrorKind::Unsupported);
            assert!(
                told,
                "{what} where the type is not known, says so when it is read: {refused:?}"
            );
        }
        known => {
            let same = known == subject.data_type;
            assert!(same, "{what} is taken for `{known}` by a build that lacks the type");
        }
    }
}
