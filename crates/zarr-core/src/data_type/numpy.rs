//! Names data types as NumPy does: the `descr` of `.npy` files and of `numpy.dtype`.

use super::{
    CoreType, DataType, Endian, NumpyTime, ParsedType, Repr, TimeKind, TimeUnit, datetime,
    minifloat, record_json, strings,
};
use crate::dialect::Dialect;
use crate::error::MetadataError;
use crate::json::Json;

impl DataType {
    /// The type as `numpy.dtype` takes it: text such as `<i4`, or for a record the list of its fields, `[name, type]`
    /// or `[name, type, shape]`, for which NumPy requires tuples.
    ///
    /// `endian` is the byte order of the elements; native elements have [`Endian::NATIVE`]. The numbers that are
    /// smaller than the core's have the names of the package `ml_dtypes`; `T` is NumPy's `StringDType`, `|O` are
    /// objects. An extension type that has no name of NumPy's has that of its representation.
    ///
    /// `None` if NumPy has no such type: for nullable elements, and for complex numbers of the small floats.
    ///
    /// ```
    /// use zarr_core::data_type::{CoreType, DataType, Endian};
    ///
    /// let descr = DataType::from(CoreType::Int32).numpy_descr(Endian::Little);
    /// assert_eq!(descr, Some("<i4".into()));
    /// ```
    pub fn numpy_descr(&self, endian: Endian) -> Option<Json> {
        Some(match self {
            DataType::IntBits(_) | DataType::UintBits(_) | DataType::Minifloat(_) => {
                self.to_string().into()
            }
            DataType::Time(NumpyTime { kind, unit: TimeUnit::Generic, scale_factor: 1 }) => {
                format!("{}{}8", endian.mark(), kind.letter()).into()
            }
            DataType::String => "T".into(),
            DataType::Bytes | DataType::Json | DataType::List(_) => "|O".into(),
            DataType::Record(record) => {
                let mut fields = Vec::with_capacity(record.fields().len());
                for field in record.fields() {
                    let descr = field.data_type().numpy_descr(endian)?;
                    fields.push(record_json::named(field, descr));
                }
                Json::Array(fields)
            }
            DataType::Extension(extension) => {
                let own = extension.to_metadata(Dialect::V2, endian);
                let own = own.filter(|own| {
                    let parsed = DataType::from_numpy_descr(own);
                    parsed.is_ok_and(|parsed| parsed.data_type.size() == self.size())
                });
                match own {
                    Some(own) => own,
                    None => self.resolved()?.numpy_descr(endian)?,
                }
            }
            DataType::Unknown { .. } => self.resolved()?.numpy_descr(endian)?,
            known => known.to_metadata(Dialect::V2, endian)?,
        })
    }

    /// The type that a `descr` of NumPy names, and its byte order: what `numpy.dtype.str` gives, or for a record
    /// `numpy.dtype.descr`, or a name of `ml_dtypes`. The reverse of [`DataType::numpy_descr`].
    ///
    /// A byte order that all fields of a record share is that of the whole; other fields keep their own.
    ///
    /// # Errors
    /// [`MetadataError::Invalid`] for other text, for types that Zarr does not have, such as 128-bit floats, for objects,
    /// whose type only a codec knows, and for records with padding or of more than 16 MiB.
    pub fn from_numpy_descr(descr: &Json) -> Result<ParsedType, MetadataError> {
        let parsed = match descr {
            Json::String(text) => from_text(text),
            Json::Array(fields) => {
                let leaf = &mut |descr: &Json| {
                    DataType::from_numpy_descr(descr).map_err(MetadataError::into_why)
                };
                record_json::of_descr(fields, leaf, 1).map(record_json::with_shared_order)
            }
            other => Err(format!("expected a NumPy type, found {}", other.brief())),
        };
        parsed.map_err(|why| MetadataError::invalid("dtype", why))
    }

    /// Bytes of an element in memory.
    fn size(&self) -> Option<usize> {
        self.repr().map(Repr::size)
    }
}

/// The type of a typestr such as `<i4`, `|S7` or `>M8[ns]`, and its byte order; `None` for other text, an error for
/// a length or a unit that no type has (Z2-031, Z2-033).
pub(crate) fn from_typestr(text: &str) -> Option<Result<ParsedType, String>> {
    if let Some((core, endian)) = CoreType::from_typestr(text) {
        return Some(Ok(ParsedType { data_type: core.into(), endian }));
    }
    if let Some(text_type) = strings::from_typestr(text) {
        return Some(text_type);
    }
    let time = datetime::from_typestr(text)?;
    Some(time.map(|(time, endian)| ParsedType { data_type: time.into(), endian: Some(endian) }))
}

fn from_text(text: &str) -> Result<ParsedType, String> {
    let unmarked = text.strip_prefix(['<', '>', '|', '=']).unwrap_or(text);
    let generic = match unmarked {
        "M8" => Some(TimeKind::Datetime),
        "m8" => Some(TimeKind::Timedelta),
        _ => None,
    };
    if let Some(kind) = generic {
        let time = NumpyTime { kind, unit: TimeUnit::Generic, scale_factor: 1 };
        let endian = if text.starts_with('>') { Endian::Big } else { Endian::Little };
        return Ok(ParsedType { data_type: DataType::Time(time), endian: Some(endian) });
    }
    match unmarked {
        "T" | "StringDType()" => {
            return Ok(ParsedType { data_type: DataType::String, endian: None });
        }
        "O" => {
            return Err("NumPy objects have no fixed type; name the data type of the array".into());
        }
        _ => {}
    }
    if let Some(parsed) = from_typestr(text) {
        return parsed;
    }
    let named = match CoreType::from_name(text) {
        Some(core) => Some(core.into()),
        None => minifloat::from_v3(text).filter(|t| t.numpy_descr(Endian::Little).is_some()),
    };
    match named {
        Some(data_type) => Ok(ParsedType { data_type, endian: None }),
        None => Err(format!("Zarr cannot represent the NumPy type `{text}`")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Registry;
    use crate::data_type::FloatFormat;

    fn json(text: &str) -> Json {
        Json::parse(text.as_bytes()).unwrap()
    }

    /// NumPy 2.4.6: what `numpy.lib.format.dtype_to_descr` gives, the tuples as lists; with ml_dtypes 0.6.0,
    /// `dtype.name`. Final v3's metadata, little-endian, big-endian.
    #[test]
    fn descr_is_numpys_own_both_ways() {
        let time = |unit: &str| {
            format!(
                r#"{{"name":"numpy.datetime64","configuration":{{"unit":"{unit}","scale_factor":1}}}}"#
            )
        };
        let quoted = |name: &str| format!("\"{name}\"");
        let mut cases = vec![
            (quoted("bool"), "|b1".to_owned(), "|b1".to_owned()),
            (quoted("int8"), "|i1".into(), "|i1".into()),
            (quoted("uint8"), "|u1".into(), "|u1".into()),
            (quoted("int16"), "<i2".into(), ">i2".into()),
            (quoted("int32"), "<i4".into(), ">i4".into()),
            (quoted("int64"), "<i8".into(), ">i8".into()),
            (quoted("uint16"), "<u2".into(), ">u2".into()),
            (quoted("uint32"), "<u4".into(), ">u4".into()),
            (quoted("uint64"), "<u8".into(), ">u8".into()),
            (quoted("float16"), "<f2".into(), ">f2".into()),
            (quoted("float32"), "<f4".into(), ">f4".into()),
            (quoted("float64"), "<f8".into(), ">f8".into()),
            (quoted("complex64"), "<c8".into(), ">c8".into()),
            (quoted("complex128"), "<c16".into(), ">c16".into()),
            (time("ns"), "<M8[ns]".into(), ">M8[ns]".into()),
            (time("generic"), "<M8".into(), ">M8".into()),
            (
                r#"{"name":"numpy.timedelta64","configuration":{"unit":"s","scale_factor":25}}"#
                    .into(),
                "<m8[25s]".into(),
                ">m8[25s]".into(),
            ),
            (
                r#"{"name":"null_terminated_bytes","configuration":{"length_bytes":3}}"#.into(),
                "|S3".into(),
                "|S3".into(),
            ),
            (
                r#"{"name":"fixed_length_utf32","configuration":{"length_bytes":20}}"#.into(),
                "<U5".into(),
                ">U5".into(),
            ),
            (quoted("r24"), "|V3".into(), "|V3".into()),
            (quoted("string"), "T".into(), "T".into()),
        ];
        let small = ["int2", "int4", "uint2", "uint4"].into_iter();
        for name in small.chain(FloatFormat::ALL.map(FloatFormat::name)) {
            cases.push((quoted(name), name.into(), name.into()));
        }
        let units = ["Y", "M", "W", "D", "h", "m", "s", "ms", "us", "ns", "ps", "fs", "as"];
        for unit in units {
            cases.push((time(unit), format!("<M8[{unit}]"), format!(">M8[{unit}]")));
        }
        for (metadata, little, big) in cases {
            let parsed = Registry::new().parse_data_type(&json(&metadata), Dialect::V3).unwrap();
            for (endian, descr) in [(Endian::Little, little), (Endian::Big, big)] {
                let descr = Json::from(descr);
                let found = parsed.data_type.numpy_descr(endian);
                assert_eq!(found.as_ref(), Some(&descr), "{metadata}");
                let back = DataType::from_numpy_descr(&descr).unwrap();
                assert_eq!(back.data_type, parsed.data_type, "{descr}");
                assert!(back.endian.is_none_or(|found| found == endian), "{descr}");
            }
        }
        for (alias, descr) in
            [("=i4", "<i4"), ("StringDType()", "T"), ("int32", "<i4"), ("bool", "|b1")]
        {
            let back = DataType::from_numpy_descr(&alias.into()).unwrap();
            assert_eq!(back.data_type.numpy_descr(Endian::Little), Some(descr.into()), "{alias}");
        }
    }

    #[test]
    fn fields_of_records_have_a_descr_of_their_own() {
        let text = r#"[["a","<i4"],["b","<f8",[2]],["c",[["x","|u1"],["t","<M8[s]"]]],["s","|S3"],["h","bfloat16"]]"#;
        let parsed = DataType::from_numpy_descr(&json(text)).unwrap();
        assert_eq!(parsed.endian, Some(Endian::Little));
        assert_eq!(parsed.data_type.numpy_descr(Endian::Little).unwrap().to_string(), text);
        let mixed = json(r#"[["a","<i4"],["b",">f8"]]"#);
        let parsed = DataType::from_numpy_descr(&mixed).unwrap();
        assert_eq!(parsed.endian, None);
        // In memory all fields are native.
        let native = json(r#"[["a",">i4"],["b",">f8"]]"#);
        assert_eq!(parsed.data_type.numpy_descr(Endian::Big), Some(native));
    }

    #[test]
    fn types_that_only_one_side_has_are_refused() {
        let big = Endian::Big;
        let complex = DataType::ComplexMinifloat(FloatFormat::BFLOAT16);
        assert_eq!(complex.numpy_descr(big), None);
        let optional = crate::data_type::Optional::new(CoreType::Int8.into()).unwrap();
        assert_eq!(DataType::from(optional).numpy_descr(big), None);
        assert_eq!(DataType::Json.numpy_descr(big), Some("|O".into()));
        let steps =
            NumpyTime { kind: TimeKind::Datetime, unit: TimeUnit::Generic, scale_factor: 2 };
        assert_eq!(DataType::Time(steps).numpy_descr(big), None);
        for bad in [
            r#""<f16""#,
            r#""|O""#,
            r#""<M8[parsec]""#,
            r#""string""#,
            r#""complex_bfloat16""#,
            "3",
            "[]",
            r#"[["a","|i1"],["","|V7"],["b","<f8"]]"#,
            r#"[["a"]]"#,
        ] {
            let error = DataType::from_numpy_descr(&json(bad)).unwrap_err();
            assert!(matches!(error, MetadataError::Invalid { .. }), "{bad}: {error}");
        }
    }
}
