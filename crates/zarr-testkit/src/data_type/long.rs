//! Checks that arrays of variable-length elements are written and read.

use super::Subject;
use super::array::unknown_here;
use crate::memory::Home;
use crate::shared::{DIALECTS, good, long_elements, stream};
use zarr_core::data_type::{Endian, FillValue};
use zarr_core::{ArrayMetadata, Dialect, ErrorKind, MetadataError, Region, Registry};

const SHAPE: [u64; 2] = [7, 5];

/// Checks each dialect that can represent the type and its codec, with each of the fill values.
pub(super) fn check(subject: &Subject<'_>, fills: &[FillValue]) {
    let name = &subject.name;
    let taken = subject.data_type.check_element(b"");
    good(taken, format_args!("{name}: the empty element, which stands where nothing was written,"));
    for dialect in DIALECTS {
        if subject.to_metadata(dialect, Endian::Little).is_none() {
            continue;
        }
        for fill in fills {
            let said = subject.data_type.element_to_json(fill, dialect);
            if said.is_ok() {
                written_and_read(subject, dialect, fill);
            }
        }
    }
}

fn written_and_read(subject: &Subject<'_>, dialect: Dialect, fill: &FillValue) {
    let what = format!("{}: an array in {dialect}", subject.name);
    let metadata = ArrayMetadata::new(&SHAPE, subject.data_type.clone(), &[3, 2]);
    let mut metadata = good(metadata, format_args!("{what} described"));
    metadata.fill_value = Some(fill.clone());
    let metadata = match metadata.converted_to(dialect, subject.registry) {
        Err(MetadataError::CannotRepresent { .. }) if dialect != Dialect::V3 => return,
        converted => good(converted, format_args!("{what}, in that one's words")),
    };
    let created = Home::create(subject.registry, dialect, metadata);
    let (home, array) = good(created, format_args!("{what} created"));

    let region = Region::new([1..6, 0..4]);
    for part in long_elements(&subject.data_type, 20) {
        let mut model = vec![fill.as_bytes().to_vec(); 35];
        for (n, element) in part.iter().enumerate() {
            model[(1 + n / 4) * 5 + n % 4].clone_from(element);
        }
        let model = stream(model);
        good(array.write_bytes(&region, &stream(&part)), format_args!("{what} written"));
        let found = good(array.read_bytes(..), format_args!("{what} read"));
        assert!(found == model, "{what} reads as it was written");

        let again = good(home.open(subject.registry), format_args!("{what} opened again"));
        let metadata = again.metadata();
        let found = &metadata.data_type;
        assert!(*found == subject.data_type, "{what} opened again, has the type `{found}`");
        let found = metadata.fill_value.as_ref();
        assert!(found == Some(fill), "{what} opened again, has another fill value");
        let found = good(again.read_bytes(..), format_args!("{what} opened again, read"));
        assert!(found == model, "{what} opened again, reads as it was written");

        let plain = home.open(&Registry::new());
        let plain = good(plain, format_args!("{what} opened where its codec is not known"));
        unknown_here(subject, &what, &plain, &model, Endian::Little);
        let refused = plain.read_bytes(..).err().map(|error| error.kind());
        let told = refused == Some(ErrorKind::Unsupported);
        assert!(told, "{what} where its codec is not known, says so when it is read: {refused:?}");
    }
}
