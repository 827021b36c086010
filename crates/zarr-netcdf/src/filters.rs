//! The filters of netCDF by HDF5's numbers, in both directions.

use zarr::nczarr::{Filter, Type};

pub const FILTER_DEFLATE: u32 = 1;
const FILTER_SHUFFLE: u32 = 2;
const FILTER_FLETCHER32: u32 = 3;
const FILTER_BZIP2: u32 = 307;
const FILTER_BLOSC: u32 = 32001;
const FILTER_ZSTD: u32 = 32015;

/// The numbers of filters that variables are written with.
pub const WRITTEN: [u32; 6] =
    [FILTER_DEFLATE, FILTER_SHUFFLE, FILTER_FLETCHER32, FILTER_BZIP2, FILTER_BLOSC, FILTER_ZSTD];

/// Blosc's compressors, in the order of its own numbers.
const BLOSC_COMPRESSORS: [&str; 6] = ["blosclz", "lz4", "lz4hc", "snappy", "zlib", "zstd"];

/// A filter by HDF5's number, with the parameters of its plug-in.
pub fn hdf5_filter(filter: &Filter, ty: Type) -> Option<(u32, Vec<u32>)> {
    match filter {
        Filter::Deflate { level } => Some((FILTER_DEFLATE, vec![u32::from(*level)])),
        Filter::Bzip2 { level } => Some((FILTER_BZIP2, vec![u32::from(*level)])),
        // The parameter is the level's bits.
        Filter::Zstd { level } => Some((FILTER_ZSTD, vec![level.cast_unsigned()])),
        Filter::Blosc { compressor, level, shuffle, block_size } => {
            let code = BLOSC_COMPRESSORS.iter().position(|name| name == compressor)?;
            let block_size = u32::try_from(*block_size).ok()?;
            let element = u32::try_from(ty.size().unwrap_or(1)).ok()?;
            let (level, shuffle) = (u32::from(*level), u32::from(*shuffle));
            // The first two are versions, which the plug-in sets itself, then the size of elements.
            Some((FILTER_BLOSC, vec![0, 0, element, block_size, level, shuffle, code as u32]))
        }
        _ => None,
    }
}

/// The filter of HDF5's number and these parameters.
///
/// # Errors
/// A sentence, for a filter that Zarr has no codec for, and for parameters that are none.
pub fn from_hdf5(id: u32, parameters: &[u32]) -> Result<Filter, String> {
    let level = |most: u32| match parameters {
        [level, ..] if *level <= most => Ok(*level as u8),
        _ => Err(format!("filter {id} has a level from 0 to {most}")),
    };
    match id {
        FILTER_DEFLATE => level(9).map(|level| Filter::Deflate { level }),
        FILTER_SHUFFLE => Ok(Filter::Shuffle),
        FILTER_FLETCHER32 => Ok(Filter::Fletcher32),
        FILTER_BZIP2 => level(9).map(|level| Filter::Bzip2 { level: level.max(1) }),
        FILTER_ZSTD => match parameters {
            // The level's bits.
            [level, ..] => Ok(Filter::Zstd { level: level.cast_signed() }),
            [] => Err(format!("filter {id} has a level")),
        },
        FILTER_BLOSC => blosc(parameters),
        _ => Err(format!("Zarr has no codec for HDF5's filter {id}")),
    }
}

/// As the plug-in of HDF5 takes them: two versions, the sizes of elements and blocks, level, shuffling, compressor.
fn blosc(parameters: &[u32]) -> Result<Filter, String> {
    let [_, _, _, block_size, level, shuffle, compressor, ..] = *parameters else {
        let found = parameters.len();
        return Err(format!("the filter Blosc has 7 parameters, found {found}"));
    };
    let name = BLOSC_COMPRESSORS.get(compressor as usize);
    match name {
        Some(name) if level <= 9 && shuffle <= 2 => Ok(Filter::Blosc {
            compressor: (*name).to_owned(),
            level: level as u8,
            shuffle: shuffle as u8,
            block_size: block_size.into(),
        }),
        _ => Err(format!(
            "the filter Blosc has no level {level} with shuffling {shuffle} and compressor {compressor}"
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_filters_are_the_same_in_both_directions() {
        let blosc =
            Filter::Blosc { compressor: "lz4".into(), level: 5, shuffle: 2, block_size: 4096 };
        for filter in [
            Filter::Deflate { level: 4 },
            Filter::Bzip2 { level: 9 },
            Filter::Zstd { level: -3 },
            blosc,
        ] {
            let (id, parameters) = hdf5_filter(&filter, Type::Int).unwrap();
            assert_eq!(from_hdf5(id, &parameters), Ok(filter));
            assert!(WRITTEN.contains(&id));
        }
    }

    #[test]
    fn what_is_no_filter_is_refused() {
        for (id, parameters) in [
            (1, &[10][..]),
            (1, &[]),
            (4, &[32, 4]),
            (32015, &[]),
            (32001, &[0, 0, 4, 0, 10, 1, 1]),
            (32001, &[0, 0, 4, 0, 5, 1, 6]),
            (32001, &[1]),
            (305, &[]),
        ] {
            from_hdf5(id, parameters).unwrap_err();
        }
    }
}
