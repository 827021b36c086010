//! Selects how much of each number zfp keeps.

use zarr_core::MetadataError;
use zarr_core::codec::Parameters;
use zfp_rs::{ZFP_MAX_BITS, ZfpConfig, ZfpDimensionality, ZfpScalarType, ZfpStreamAlignment};

/// How much of each number is kept.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Mode {
    /// All of it.
    Reversible,
    /// This many bits on average.
    Rate(f64),
    /// This many bits at most.
    Precision(u32),
    /// What differs by this much at most.
    Accuracy(f64),
    /// zfp's four parameters.
    Expert { min_bits: u32, max_bits: u32, max_precision: u32, min_exponent: i32 },
}

impl Mode {
    /// Reads the mode of the codec `zfp` (F-101).
    pub(super) fn of_zfp(parameters: &mut Parameters<'_>) -> Result<Mode, MetadataError> {
        const LARGEST: i64 = u32::MAX as i64;
        Ok(match parameters.string("mode")?.unwrap_or_default() {
            "reversible" => Mode::Reversible,
            "fixed_rate" => Mode::Rate(number(parameters, "rate")?),
            "fixed_accuracy" => Mode::Accuracy(number(parameters, "tolerance")?),
            "fixed_precision" => {
                Mode::Precision(parameters.integer("precision", 0..=LARGEST, None)? as u32)
            }
            // A block never has more than the largest number of bits, so no more need be asked for.
            "expert" => Mode::Expert {
                min_bits: parameters.integer("minbits", 0..=i64::from(ZFP_MAX_BITS), None)? as u32,
                max_bits: parameters.integer("maxbits", 0..=LARGEST, None)? as u32,
                max_precision: parameters.integer("maxprec", 1..=64, None)? as u32,
                min_exponent: parameters.integer(
                    "minexp",
                    i32::MIN.into()..=i32::MAX.into(),
                    None,
                )? as i32,
            },
            other => {
                let why = format!(
                    "unknown mode `{other}`; expected one of `reversible`, `fixed_rate`, `fixed_precision`, \
                 `fixed_accuracy`, `expert`"
                );
                return Err(parameters.invalid("mode", why));
            }
        })
    }

    /// Reads the mode of numcodecs' `zfpy`: one of zfp's numbers for them. A parameter below zero counts as not given; without
    /// any, zfpy compresses reversibly.
    pub(super) fn of_zfpy(parameters: &mut Parameters<'_>) -> Result<Mode, MetadataError> {
        let mode = parameters.integer("mode", 2..=5, Some(4))?;
        // numcodecs repeats the one that its mode uses here, in v2.
        parameters.get("compression_kwargs");
        let mut given = |name| match parameters.get(name) {
            None => Ok(None),
            Some(_) => number(parameters, name).map(|value| (value >= 0.0).then_some(value)),
        };
        let (tolerance, rate, precision) =
            (given("tolerance")?, given("rate")?, given("precision")?);
        Ok(match mode {
            2 => rate.map(Mode::Rate),
            3 => precision.map(|bits| Mode::Precision(bits as u32)),
            4 => tolerance.map(Mode::Accuracy),
            _ => None,
        }
        .unwrap_or(Mode::Reversible))
    }

    /// zfp's own configuration for numbers of a type on this number of axes.
    pub(super) fn config(self, scalars: ZfpScalarType, axes: usize) -> Result<ZfpConfig, String> {
        let dimensions = match axes {
            1 => ZfpDimensionality::D1,
            2 => ZfpDimensionality::D2,
            3 => ZfpDimensionality::D3,
            _ => ZfpDimensionality::D4,
        };
        let config = match self {
            Mode::Reversible => Ok(ZfpConfig::reversible()),
            Mode::Precision(bits) => Ok(ZfpConfig::fixed_precision(bits)),
            Mode::Accuracy(tolerance) => Ok(ZfpConfig::fixed_accuracy(tolerance)),
            Mode::Rate(rate) => {
                ZfpConfig::fixed_rate(rate, scalars, dimensions, ZfpStreamAlignment::Unaligned)
            }
            Mode::Expert { min_bits, max_bits, max_precision, min_exponent } => {
                ZfpConfig::expert(min_bits, max_bits, max_precision, min_exponent)
            }
        };
        config.map_err(|error| error.to_string())
    }
}

/// Reads a number that must be there.
fn number(parameters: &mut Parameters<'_>, name: &'static str) -> Result<f64, MetadataError> {
    let Some(value) = parameters.get(name) else {
        return Err(parameters.invalid(name, "is missing"));
    };
    match value.as_number().and_then(|text| text.parse::<f64>().ok()) {
        Some(number) if number.is_finite() => Ok(number),
        _ => Err(parameters.invalid(name, "is not a number")),
    }
}
