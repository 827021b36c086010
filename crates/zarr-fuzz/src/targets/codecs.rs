//! Arrays of one chunk, for every codec and for several kinds of shards.

/// An array of one chunk.
#[derive(Debug)]
pub struct Case {
    is_v2: bool,
    /// What is unlike other cases: the codecs.
    pub codecs: &'static str,
    data_type: &'static str,
    fill: &'static str,
    shape: &'static str,
    /// Whether elements come back as they were.
    pub exact: bool,
}

impl Case {
    /// An array of v3.
    pub const fn v3<'a>(
        codecs: &'a str,
        data_type: &'a str,
        fill: &'a str,
        shape: &'a str,
    ) -> Of<'a> {
        Of { is_v2: false, codecs, data_type, fill, shape }
    }

    fn of(&self) -> Of<'_> {
        let Case { is_v2, codecs, data_type, fill, shape, .. } = *self;
        Of { is_v2, codecs, data_type, fill, shape }
    }

    /// The array's document.
    pub fn document(&self) -> String {
        self.of().document()
    }

    /// The key of the document.
    pub fn key(&self) -> &'static str {
        if self.is_v2 { ".zarray" } else { "zarr.json" }
    }

    /// The key of the chunk.
    pub fn chunk(&self) -> &'static str {
        match (self.is_v2, self.shape.contains(',')) {
            (true, true) => "0.0",
            (true, false) => "0",
            (false, _) if is_n5(self.codecs) => "0/0",
            (false, true) => "c/0/0",
            (false, false) => "c/0",
        }
    }
}

/// What a document is made of.
#[derive(Debug)]
pub struct Of<'a> {
    is_v2: bool,
    codecs: &'a str,
    data_type: &'a str,
    fill: &'a str,
    shape: &'a str,
}

impl Of<'_> {
    /// The document. In v2 the codecs are the members `filters` and `compressor`.
    pub fn document(&self) -> String {
        let Of { codecs, data_type, fill, shape, .. } = self;
        if self.is_v2 {
            return format!(
                r#"{{"zarr_format":2,"shape":{shape},"chunks":{shape},"dtype":{data_type},"fill_value":{fill},"order":"C",{codecs}}}"#
            );
        }
        let keys = if is_n5(codecs) { N5_KEYS } else { r#"{"name":"default"}"# };
        format!(
            r#"{{"zarr_format":3,"node_type":"array","shape":{shape},"data_type":{data_type},"chunk_grid":{{"name":"regular","configuration":{{"chunk_shape":{shape}}}}},"chunk_key_encoding":{keys},"fill_value":{fill},"codecs":{codecs}}}"#
        )
    }
}

/// The keys that blocks of N5 need.
const N5_KEYS: &str = r#"{"name":"v2","configuration":{"separator":"/"}}"#;

fn is_n5(codecs: &str) -> bool {
    codecs.contains("n5_default")
}

const fn v3(codecs: &'static str, data_type: &'static str, exact: bool) -> Case {
    Case { is_v2: false, codecs, data_type, fill: "0", shape: "[4,6]", exact }
}

const fn v2(codecs: &'static str, data_type: &'static str, fill: &'static str) -> Case {
    Case { is_v2: true, codecs, data_type, fill, shape: "[4,6]", exact: true }
}

const fn filled(case: Case, fill: &'static str) -> Case {
    Case { fill, ..case }
}

const I4: &str = r#""int32""#;
const U1: &str = r#""uint8""#;
const F4: &str = r#""float32""#;
const F8: &str = r#""float64""#;

/// Every codec, some with several configurations.
pub const CODECS: &[Case] = &[
    v3(r#"[{"name":"bytes","configuration":{"endian":"big"}}]"#, I4, true),
    v3(r#"["bytes",{"name":"gzip","configuration":{"level":1}}]"#, U1, true),
    v3(r#"["bytes",{"name":"numcodecs.zlib","configuration":{"level":5}}]"#, U1, true),
    v3(r#"["bytes",{"name":"zstd","configuration":{"level":1,"checksum":true}}]"#, U1, true),
    v3(r#"["bytes",{"name":"zstd","configuration":{"level":0,"checksum":false}}]"#, U1, true),
    v3(r#"["bytes",{"name":"numcodecs.lz4","configuration":{"acceleration":1}}]"#, U1, true),
    v3(r#"["bytes",{"name":"numcodecs.bz2","configuration":{"level":1}}]"#, U1, true),
    v3(r#"["bytes",{"name":"numcodecs.lzma","configuration":{"preset":1}}]"#, U1, true),
    v3(r#"["bytes",{"name":"numcodecs.lzma","configuration":{"format":2,"preset":0}}]"#, U1, true),
    v3(
        r#"["bytes",{"name":"numcodecs.lzma","configuration":{"format":3,"filters":[{"id":3,"dist":4},{"id":33,"preset":1}]}}]"#,
        U1,
        true,
    ),
    v3(r#"["bytes","crc32c"]"#, U1, true),
    v3(r#"["bytes","numcodecs.crc32"]"#, U1, true),
    v3(r#"["bytes",{"name":"numcodecs.crc32","configuration":{"location":"end"}}]"#, U1, true),
    v3(r#"["bytes","numcodecs.adler32"]"#, U1, true),
    v3(r#"["bytes","numcodecs.fletcher32"]"#, U1, true),
    v3(
        r#"["bytes",{"name":"numcodecs.jenkins_lookup3","configuration":{"initval":7,"prefix":[1,2,3]}}]"#,
        U1,
        true,
    ),
    v3(r#"["bytes","numcodecs.base64"]"#, U1, true),
    v3(r#"["bytes",{"name":"numcodecs.shuffle","configuration":{"elementsize":3}}]"#, U1, true),
    v3(
        r#"["bytes",{"name":"blosc","configuration":{"cname":"lz4","clevel":1,"shuffle":"shuffle","typesize":4,"blocksize":0}}]"#,
        U1,
        true,
    ),
    v3(
        r#"["bytes",{"name":"blosc","configuration":{"cname":"blosclz","clevel":5,"shuffle":"bitshuffle","typesize":2,"blocksize":0}}]"#,
        U1,
        true,
    ),
    v3(
        r#"["bytes",{"name":"blosc","configuration":{"cname":"zstd","clevel":5,"shuffle":"noshuffle","typesize":1,"blocksize":0}}]"#,
        U1,
        true,
    ),
    v3(
        r#"["bytes",{"name":"blosc","configuration":{"cname":"zlib","clevel":5,"shuffle":"noshuffle","typesize":1,"blocksize":0}}]"#,
        U1,
        true,
    ),
    v3(
        r#"[{"name":"transpose","configuration":{"order":[1,0]}},{"name":"bytes","configuration":{"endian":"little"}}]"#,
        I4,
        true,
    ),
    v3(r#"[{"name":"reshape","configuration":{"shape":[-1]}},"bytes"]"#, U1, true),
    v3(r#"["zarrs.squeeze","bytes"]"#, U1, true),
    v3(
        r#"[{"name":"numcodecs.delta","configuration":{"dtype":"<i4"}},{"name":"bytes","configuration":{"endian":"little"}}]"#,
        I4,
        true,
    ),
    v3(
        r#"[{"name":"numcodecs.fixedscaleoffset","configuration":{"dtype":"<f8","astype":"<i2","offset":1,"scale":10}},{"name":"bytes","configuration":{"endian":"little"}}]"#,
        F8,
        false,
    ),
    v3(
        r#"[{"name":"numcodecs.quantize","configuration":{"digits":1,"dtype":"<f8"}},{"name":"bytes","configuration":{"endian":"little"}}]"#,
        F8,
        false,
    ),
    v3(
        r#"[{"name":"bitround","configuration":{"keepbits":3}},{"name":"bytes","configuration":{"endian":"little"}}]"#,
        F4,
        false,
    ),
    v3(
        r#"[{"name":"numcodecs.astype","configuration":{"encode_dtype":"<i8","decode_dtype":"<i4"}},{"name":"bytes","configuration":{"endian":"little"}}]"#,
        I4,
        false,
    ),
    v3(
        r#"[{"name":"scale_offset","configuration":{"offset":-1,"scale":2}},{"name":"bytes","configuration":{"endian":"little"}}]"#,
        F8,
        false,
    ),
    v3(
        r#"[{"name":"cast_value","configuration":{"data_type":"uint8","out_of_range":"clamp"}},"bytes"]"#,
        I4,
        false,
    ),
    v3(r#"[{"name":"packbits","configuration":{"first_bit":0,"last_bit":4}}]"#, U1, false),
    v3(
        r#"[{"name":"packbits","configuration":{"padding_encoding":"first_byte"}}]"#,
        r#""int4""#,
        false,
    ),
    v3(r#"[{"name":"numcodecs.pcodec","configuration":{"level":1}}]"#, I4, true),
    v3(
        r#"[{"name":"numcodecs.pcodec","configuration":{"level":8,"delta_spec":"try_lookback"}}]"#,
        F8,
        true,
    ),
    v3(r#"[{"name":"zfp","configuration":{"mode":"reversible"}}]"#, I4, false),
    v3(r#"[{"name":"zfp","configuration":{"mode":"fixed_rate","rate":8}}]"#, F4, false),
    v3(r#"[{"name":"numcodecs.zfpy","configuration":{"mode":4,"tolerance":0.1}}]"#, F8, false),
    v3(
        r#"["bytes",{"name":"conditional","configuration":{"codecs":[{"name":"gzip","configuration":{"level":1}},"crc32c"]}}]"#,
        U1,
        true,
    ),
    v3(
        r#"[{"name":"n5_default","configuration":{"codecs":[{"name":"transpose","configuration":{"order":[1,0]}},{"name":"bytes","configuration":{"endian":"big"}}]}}]"#,
        I4,
        true,
    ),
    filled(
        v3(
            r#"[{"name":"zarrs.optional","configuration":{"mask_codecs":["packbits"],"data_codecs":["bytes"]}}]"#,
            r#"{"name":"zarrs.optional","configuration":{"name":"uint8","configuration":{}}}"#,
            false,
        ),
        "null",
    ),
    filled(v3(r#"["vlen-utf8"]"#, r#""string""#, true), r#""""#),
    filled(v3(r#"["vlen-bytes"]"#, r#""variable_length_bytes""#, true), r#""""#),
    filled(v3(r#"["bytes"]"#, r#""bool""#, false), "false"),
    filled(
        v3(r#"["vlen-utf8",{"name":"gzip","configuration":{"level":1}}]"#, r#""string""#, true),
        r#""""#,
    ),
    v2(r#""filters":[{"id":"vlen-array","dtype":"<i4"}],"compressor":null"#, r#""|O""#, "null"),
    v2(r#""filters":[{"id":"json2"}],"compressor":null"#, r#""|O""#, "null"),
    v2(r#""filters":[{"id":"msgpack2"}],"compressor":null"#, r#""|O""#, "null"),
    v2(
        r#""filters":[{"id":"categorize","labels":["a","bb"],"dtype":"|O","astype":"|u1"}],"compressor":null"#,
        r#""|O""#,
        "null",
    ),
    v2(r#""filters":[{"id":"packbits"}],"compressor":null"#, r#""|b1""#, "false"),
    v2(
        r#""filters":null,"compressor":{"id":"blosc","cname":"snappy","clevel":5,"shuffle":1,"blocksize":0}"#,
        r#""<i4""#,
        "0",
    ),
    v2(
        r#""filters":[{"id":"delta","dtype":"<i4"},{"id":"shuffle","elementsize":4}],"compressor":{"id":"zlib","level":1}"#,
        r#""<i4""#,
        "0",
    ),
];

/// Shards of several kinds; none has a checksum, which would hide what is behind it.
pub const SHARDS: &[Case] = &[
    v3(
        r#"[{"name":"sharding_indexed","configuration":{"chunk_shape":[2,3],"codecs":["bytes"],"index_codecs":[{"name":"bytes","configuration":{"endian":"little"}}]}}]"#,
        U1,
        true,
    ),
    v3(
        r#"[{"name":"sharding_indexed","configuration":{"chunk_shape":[2,3],"codecs":["bytes",{"name":"gzip","configuration":{"level":1}}],"index_codecs":[{"name":"bytes","configuration":{"endian":"little"}}],"index_location":"start"}}]"#,
        U1,
        true,
    ),
    v3(
        r#"[{"name":"transpose","configuration":{"order":[1,0]}},{"name":"sharding_indexed","configuration":{"chunk_shape":[3,2],"codecs":["bytes"],"index_codecs":[{"name":"bytes","configuration":{"endian":"big"}}]}}]"#,
        U1,
        true,
    ),
    v3(
        r#"[{"name":"sharding_indexed","configuration":{"chunk_shape":[2,6],"codecs":[{"name":"sharding_indexed","configuration":{"chunk_shape":[2,2],"codecs":["bytes"],"index_codecs":[{"name":"bytes","configuration":{"endian":"little"}}],"index_location":"start"}}],"index_codecs":[{"name":"bytes","configuration":{"endian":"little"}}]}}]"#,
        U1,
        true,
    ),
    v3(
        r#"[{"name":"sharding_indexed","configuration":{"chunk_shape":[4,1],"codecs":[{"name":"bytes","configuration":{"endian":"little"}}],"index_codecs":[{"name":"bytes","configuration":{"endian":"little"}},"crc32c"]}},{"name":"gzip","configuration":{"level":1}}]"#,
        I4,
        true,
    ),
    filled(
        v3(
            r#"[{"name":"sharding_indexed","configuration":{"chunk_shape":[2,3],"codecs":["vlen-utf8"],"index_codecs":[{"name":"bytes","configuration":{"endian":"little"}}]}}]"#,
            r#""string""#,
            true,
        ),
        r#""""#,
    ),
    v3(
        r#"[{"name":"sharding_indexed","configuration":{"chunk_shape":[2,2],"codecs":["bytes",{"name":"conditional","configuration":{"codecs":["crc32c"]}}],"index_codecs":[{"name":"bytes","configuration":{"endian":"big"}}]}}]"#,
        U1,
        true,
    ),
    v3(
        r#"[{"name":"sharding_indexed","configuration":{"chunk_shape":[2,3],"codecs":["bytes",{"name":"blosc","configuration":{"cname":"lz4","clevel":1,"shuffle":"noshuffle","typesize":1,"blocksize":0}}],"index_codecs":[{"name":"bytes","configuration":{"endian":"little"}}]}}]"#,
        U1,
        true,
    ),
];

#[cfg(test)]
mod tests {
    use super::*;

    /// A codec that is forgotten here is not fuzzed.
    #[test]
    fn every_codec_has_a_case() {
        let said: String = CODECS.iter().chain(SHARDS).map(|case| case.codecs).collect();
        let registry = zarr::standard();
        let names = [zarr::Dialect::V3, zarr::Dialect::V2].map(|of| registry.codec_names(of));
        for name in names.into_iter().flatten() {
            let bare = name.trim_start_matches("numcodecs.").trim_start_matches("zarrs.");
            if ["endian", "json", "msgpack"].contains(&bare) {
                continue; // Other names for codecs that are there.
            }
            if ["hdf5.bitshuffle", "hdf5.lz4", "imagecodecs_lzf", "n5:lz4"].contains(&bare) {
                continue; // They are only decoded; the tests of `zarr-virtual` damage files that have them.
            }
            let quoted = ["", "numcodecs.", "zarrs."].map(|prefix| format!("\"{prefix}{bare}\""));
            assert!(quoted.iter().any(|name| said.contains(name)), "{name}");
        }
    }
}
