//! Gives planes of an array as values, for `/-/slice`.

use zarr::data_type::{FloatFormat, Scalar};
use zarr::{Array, Selection};
use zarr_plot::meaning::{Meaning, MissingRule};

use super::parameters::{self, Stepped};
use super::text::as_f64;
use super::{Answered, Refusal};
use crate::{Answer, Question, Targets};

/// Values of an array, little-endian.
pub(crate) struct Values {
    /// `uint8`, … `float64`.
    pub name: &'static str,
    /// Bytes of one value.
    pub size: usize,
    pub bytes: Vec<u8>,
    /// Whether colours are computed in 32 bits, as `zarr plot` and matplotlib do where floats of 32 bits hold all values.
    pub is_single: bool,
}

/// The decoded values of a plane: unpacked, NaN where they are missing, in the smallest type that holds all values of the array's.
/// 64-bit integers are rounded to f64. Its rows are along the axis `y`, its columns along `x`.
///
/// Parameters: `path`; `x`, `y`: numbers of axes, the last two if not given; `at`: an index for each axis; `across`, `down`:
/// `from:to:step` along `x` and `y`. The headers `Zarr-Shape` and `Zarr-Type` have the plane's shape and type.
pub(crate) fn slice(question: &Question, targets: &Targets) -> Answered {
    let array = parameters::array(question, targets)?;
    let at = parameters::at(question, &array)?;
    let shape = array.shape();
    let rank = shape.len();
    let x = parameters::axis(question, "x", &array)?.or(rank.checked_sub(1));
    let Some(x) = x else {
        return Err(Refusal::wrong("a scalar has no planes; ask /-/value for it"));
    };
    let y = match parameters::axis(question, "y", &array)? {
        Some(y) if y == x => return Err(Refusal::wrong("`x` and `y` are the same axis")),
        None => (0..rank).rev().find(|&axis| axis != x),
        y => y,
    };
    let across = Stepped::of(question, "across", shape[x])?;
    let down = y.map_or(Ok(Stepped { range: 0..1, step: 1 }), |y| {
        Stepped::of(question, "down", shape[y])
    })?;
    let mut along = vec![(x, &across)];
    along.extend(y.map(|y| (y, &down)));
    let selection = parameters::selection(&array, &at, &along)?;
    let meaning = Meaning::of(&array, MissingRule::Declared);
    let values = values(&array, &meaning, selection)?;
    let (height, width) = (down.len() as usize, across.len() as usize);
    let is_turned = y.is_some_and(|y| y > x);
    let bytes = if is_turned {
        transposed(&values.bytes, values.size, width, height)
    } else {
        values.bytes
    };
    let mut answer = Answer::new("application/octet-stream", bytes);
    answer.headers.push(("zarr-shape", format!("{height},{width}")));
    answer.headers.push(("zarr-type", values.name.to_owned()));
    if values.is_single {
        answer.headers.push(("zarr-single", "yes".to_owned()));
    }
    Ok(answer)
}

/// `rows` × `columns` elements as `columns` × `rows`.
fn transposed(bytes: &[u8], size: usize, rows: usize, columns: usize) -> Vec<u8> {
    let mut out = vec![0; bytes.len()];
    for (row, elements) in bytes.chunks_exact(columns * size).enumerate() {
        for (column, element) in elements.chunks_exact(size).enumerate() {
            let to = (column * rows + row) * size;
            out[to..to + size].copy_from_slice(element);
        }
    }
    out
}

/// Whether elements of the array are numbers, or times, which are.
pub(crate) fn is_numeric(array: &Array, meaning: &Meaning) -> bool {
    meaning.scalar(&array.data_type()).is_some()
}

/// What is selected, decoded, in C order.
pub(crate) fn values(
    array: &Array,
    meaning: &Meaning,
    selection: Selection,
) -> Result<Values, Refusal> {
    let data_type = array.data_type();
    let Some(scalar) = meaning.scalar(&data_type) else {
        return Err(Refusal::wrong(format!(
            "elements of {data_type} are no numbers; ask /-/table for them"
        )));
    };
    let is_single = meaning.affine.is_identity()
        && match scalar {
            Scalar::Bool | Scalar::Int(..=16) | Scalar::Uint(..=16) => true,
            Scalar::Float(format) => format.bits() == 32,
            _ => false,
        };
    let is_plain = meaning.missing.is_empty() && meaning.affine.is_identity();
    let native = match scalar {
        Scalar::Bool | Scalar::Uint(8) => Some(("uint8", 1)),
        Scalar::Int(8) => Some(("int8", 1)),
        Scalar::Uint(16) => Some(("uint16", 2)),
        Scalar::Int(16) => Some(("int16", 2)),
        Scalar::Uint(32) => Some(("uint32", 4)),
        Scalar::Int(32) => Some(("int32", 4)),
        Scalar::Float(FloatFormat::FLOAT32) => Some(("float32", 4)),
        Scalar::Float(FloatFormat::FLOAT64) => Some(("float64", 8)),
        _ => None,
    };
    if let (true, Some((name, size))) = (is_plain, native) {
        return Ok(Values { name, size, bytes: array.read_le_bytes(selection)?, is_single });
    }
    let bytes = array.read_bytes(selection)?;
    // f32 holds every value of these.
    let is_small = meaning.affine.is_identity()
        && scalar.bits() <= 32
        && !matches!(scalar, Scalar::Int(17..) | Scalar::Uint(17..) | Scalar::Time(_));
    let decode = |element: &[u8]| {
        let value = scalar.load(element);
        if meaning.missing.contains(value) { f64::NAN } else { meaning.affine.apply(as_f64(value)) }
    };
    let elements = bytes.chunks_exact(scalar.size());
    Ok(if is_small {
        Values {
            name: "float32",
            size: 4,
            is_single,
            bytes: elements.flat_map(|element| (decode(element) as f32).to_le_bytes()).collect(),
        }
    } else {
        Values {
            name: "float64",
            size: 8,
            is_single,
            bytes: elements.flat_map(|element| decode(element).to_le_bytes()).collect(),
        }
    })
}

/// What is selected in f64, decoded; NaN where it is missing.
pub(crate) fn numbers(
    array: &Array,
    meaning: &Meaning,
    selection: Selection,
) -> Result<Vec<f64>, Refusal> {
    let data_type = array.data_type();
    let Some(scalar) = meaning.scalar(&data_type) else {
        return Err(Refusal::wrong(format!(
            "elements of {data_type} are no numbers; ask /-/table for them"
        )));
    };
    let bytes = array.read_bytes(selection)?;
    let decode = |element: &[u8]| meaning.decode(scalar.load(element)).unwrap_or(f64::NAN);
    Ok(bytes.chunks_exact(scalar.size()).map(decode).collect())
}
