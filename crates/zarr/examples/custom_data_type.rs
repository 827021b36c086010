//! A data type of one's own: colours of 5, 6 and 5 bits, which others read as `uint16` from a draft.

use std::fmt;

use zarr::data_type::{CoreType, DataType, Endian, ExtensionType, ParsedType, Repr};
use zarr::{Dialect, Json, MetadataError, Object, OpenOptions};

const URI: &str = "https://example.org/zarr/data-type/rgb565/1.0";

#[derive(Debug)]
struct Rgb565;

fn build(json: &Json, dialect: Dialect) -> Option<Result<ParsedType, MetadataError>> {
    let text = |name: &str| json.as_object()?.get(name)?.as_str();
    let endian = match dialect {
        Dialect::V3 if json.as_str() == Some(URI) => None,
        Dialect::Draft if text("extension") == Some(URI) => {
            CoreType::from_typestr(text("fallback")?)?.1
        }
        _ => return None,
    };
    Some(Ok(ParsedType { data_type: DataType::extension(Rgb565), endian }))
}

impl fmt::Display for Rgb565 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("rgb565")
    }
}

impl ExtensionType for Rgb565 {
    fn repr(&self) -> Repr {
        CoreType::Uint16.repr()
    }

    fn to_metadata(&self, dialect: Dialect, endian: Endian) -> Option<Json> {
        let named = Object::new().with("extension", URI).with("type", "rgb565");
        match dialect {
            Dialect::V3 => Some(URI.into()),
            Dialect::Draft => Some(named.with("fallback", format!("{}u2", endian.mark())).into()),
            _ => None,
        }
    }
}

fn main() -> zarr::Result<()> {
    let options = OpenOptions::new(zarr::standard().with(|registry| registry.data_type(build)));
    let hierarchy = zarr::create_with("memory://custom_data_type", Dialect::Draft, &options)?;
    let array = hierarchy.create_array("/image").shape(&[2, 2]).data_type_named(URI);
    let array = array.fill_value(0xffffu64).create()?;
    array.write((0, ..), &[0xf800u16, 0x07e0])?; // red, green
    println!("{}: {:x?}", array.data_type(), array.read::<u16>(..)?);

    let stranger = zarr::open("memory://custom_data_type")?.into_group()?.array("image")?;
    println!("read as its fallback: {:x?}", stranger.read::<u16>(..)?);
    Ok(())
}
