//! The core's data types keep what a data type promises.

use zarr_core::{Dialect, Json, Registry};
use zarr_testkit::{check_data_type, check_data_types_differ};

#[test]
fn narrow_types_keep_what_a_data_type_promises() {
    let json = |text: &str| Json::parse(text.as_bytes()).unwrap();
    for (name, fills) in [
        ("int4", &["-8", "7"][..]),
        ("uint2", &["3"]),
        ("bfloat16", &["1.5", "\"NaN\"", "\"0x7fc1\"", "-0.0"]),
        ("float8_e4m3fnuz", &["\"NaN\"", "240"]),
        ("float4_e2m1fn", &["-6", "\"0x08\""]),
        ("complex_float16", &["[1,\"NaN\"]"]),
        ("complex_float6_e3m2fn", &["[-28,0.0625]"]),
    ] {
        let fills: Vec<Json> = fills.iter().map(|text| json(text)).collect();
        check_data_type(&Registry::new(), Dialect::V3, &name.into(), &fills);
    }
    let names = ["int2", "int4", "uint2", "uint4", "float8_e4m3", "float8_e4m3fn", "int8"];
    check_data_types_differ(&Registry::new(), Dialect::V3, &names.map(Json::from));
}
