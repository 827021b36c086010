use zarr_core::Object;

use super::*;

fn hex(text: &str) -> Vec<u8> {
    let digits: String = text.split_whitespace().collect();
    let byte = |at: usize| u8::from_str_radix(&digits[at..at + 2], 16).unwrap();
    (0..digits.len()).step_by(2).map(byte).collect()
}

fn json(text: &str) -> Json {
    Json::parse(text.as_bytes()).unwrap()
}

fn decode(bytes: &[u8]) -> Result<(String, Oddities), String> {
    Cbor.decode(bytes).map(|(json, oddities)| (json.to_string(), oddities))
}

/// RFC 8949, appendix A: what JSON has words for, and its deterministic encoding.
#[test]
fn the_examples_of_the_rfc_are_read_and_written() {
    let examples = [
        ("0", "00"),
        ("1", "01"),
        ("10", "0a"),
        ("23", "17"),
        ("24", "1818"),
        ("25", "1819"),
        ("100", "1864"),
        ("1000", "1903e8"),
        ("1000000", "1a000f4240"),
        ("1000000000000", "1b000000e8d4a51000"),
        ("18446744073709551615", "1bffffffffffffffff"),
        ("-18446744073709551616", "3bffffffffffffffff"),
        ("-1", "20"),
        ("-10", "29"),
        ("-100", "3863"),
        ("-1000", "3903e7"),
        ("0.0", "f90000"),
        ("-0.0", "f98000"),
        ("1.0", "f93c00"),
        ("1.1", "fb3ff199999999999a"),
        ("1.5", "f93e00"),
        ("65504.0", "f97bff"),
        ("100000.0", "fa47c35000"),
        ("3.4028234663852886e38", "fa7f7fffff"),
        ("1e300", "fb7e37e43c8800759c"),
        ("5.960464477539063e-8", "f90001"),
        ("0.00006103515625", "f90400"),
        ("-4.0", "f9c400"),
        ("-4.1", "fbc010666666666666"),
        ("false", "f4"),
        ("true", "f5"),
        ("null", "f6"),
        (r#""""#, "60"),
        (r#""a""#, "6161"),
        (r#""IETF""#, "6449455446"),
        (r#""\"\\""#, "62225c"),
        (r#""ü""#, "62c3bc"),
        (r#""水""#, "63e6b0b4"),
        (r#""𐅑""#, "64f0908591"),
        ("[]", "80"),
        ("[1,2,3]", "83010203"),
        ("[1,[2,3],[4,5]]", "8301820203820405"),
        (
            "[1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25]",
            "98190102030405060708090a0b0c0d0e0f101112131415161718181819",
        ),
        ("{}", "a0"),
        (r#"{"a":1,"b":[2,3]}"#, "a26161016162820203"),
        (r#"["a",{"b":"c"}]"#, "826161a161626163"),
        (
            r#"{"a":"A","b":"B","c":"C","d":"D","e":"E"}"#,
            "a56161614161626142616361436164614461656145",
        ),
    ];
    for (text, bytes) in examples {
        assert_eq!(Cbor.encode(&json(text)).unwrap(), hex(bytes), "{text}");
        let (found, oddities) = Cbor.decode(&hex(bytes)).unwrap();
        assert_eq!(oddities, Oddities::default());
        // The text of a float may be another; the number is the same, as its bytes say.
        assert_eq!(Cbor.encode(&found).unwrap(), hex(bytes), "{text}");
        if !text.contains('e') && !text.contains("0.00") {
            assert_eq!(found.to_string(), text);
        }
    }
}

/// RFC 8949, appendix A: what is read and written otherwise.
#[test]
fn indefinite_lengths_and_wider_numbers_are_read() {
    let examples = [
        ("fa7f800000", r#""Infinity""#),
        ("fb7ff0000000000000", r#""Infinity""#),
        ("f97c00", r#""Infinity""#),
        ("f9fc00", r#""-Infinity""#),
        ("f97e00", r#""NaN""#),
        ("fa7fc00000", r#""NaN""#),
        ("fb7ff8000000000000", r#""NaN""#),
        ("7f657374726561646d696e67ff", r#""streaming""#),
        ("9fff", "[]"),
        ("9f018202039f0405ffff", "[1,[2,3],[4,5]]"),
        ("9f01820203820405ff", "[1,[2,3],[4,5]]"),
        ("83018202039f0405ff", "[1,[2,3],[4,5]]"),
        ("83019f0203ff820405", "[1,[2,3],[4,5]]"),
        ("bf61610161629f0203ffff", r#"{"a":1,"b":[2,3]}"#),
        ("826161bf61626163ff", r#"["a",{"b":"c"}]"#),
        ("bf6346756ef563416d7421ff", r#"{"Fun":true,"Amt":-2}"#),
        ("fb3ff0000000000000", "1.0"),
        ("1b0000000000000001", "1"),
        ("79000161", r#""a""#),
    ];
    for (bytes, text) in examples {
        let (found, oddities) = decode(&hex(bytes)).unwrap();
        assert_eq!(found, text, "{bytes}");
        assert_eq!(oddities.bare_floats, text.contains('N') || text.contains("Inf"), "{bytes}");
    }
}

/// RFC 8949, appendix A, and appendix F: no items at all.
#[test]
fn what_json_has_no_words_for_and_what_is_no_cbor_is_refused() {
    let examples = [
        // Bignums, byte strings, undefined, simple values, dates and other tags, names that are no text.
        "c249010000000000000000",
        "40",
        "4401020304",
        "5f42010243030405ff",
        "f7",
        "f0",
        "f8ff",
        "c11a514b67b0",
        "d9d9f7a0",
        "d81845646449455446",
        "a201020304",
        // Cut short.
        "",
        "18",
        "1903",
        "1b00000000000000",
        "61",
        "6261",
        "81",
        "8201",
        "a1",
        "a16161",
        "bf",
        "bf6161",
        "9f01",
        "7f6161",
        "f9",
        "fb00000000000000",
        // Far longer than what follows.
        "9bffffffffffffffff",
        "9b7fffffffffffffff00",
        "bbffffffffffffffff",
        "7bffffffffffffffff",
        "7b7fffffffffffffff61",
        // Reserved, simple values in two bytes, a break alone, pieces of another kind.
        "1c",
        "3d",
        "7e",
        "1f",
        "3f",
        "df",
        "ff",
        "81ff",
        "f814",
        "f818",
        "bf6161ff",
        "7f4161ff",
        "7f7f6161ffff",
        "7f00ff",
        // No UTF-8, also where a character is torn into two pieces; something behind the end.
        "61ff",
        "62c328",
        "7f61c361bcff",
        "0000",
        "a000",
    ];
    for bytes in examples {
        let why = decode(&hex(bytes)).unwrap_err();
        assert!(why.starts_with("not a CBOR document: "), "{why}");
    }
}

/// Made with Python's cbor2 6.2, `dumps(document)` and, for the numbers, `dumps(document, canonical=True)`.
#[test]
fn documents_are_those_of_another_implementation() {
    let document = r#"{"shape":[3,0],"data_type":"<i2",
        "chunk_grid":{"type":"regular","chunk_shape":[2,1],"separator":"/"},
        "chunk_memory_layout":"C","fill_value":null,"extensions":[],"attributes":{"t":true,"é":"水"}}"#;
    let bytes = "a7
        657368617065 820300
        69646174615f74797065 633c6932
        6a6368756e6b5f67726964 a3
            6474797065 67726567756c6172
            6b6368756e6b5f7368617065 820201
            69736570617261746f72 612f
        736368756e6b5f6d656d6f72795f6c61796f7574 6143
        6a66696c6c5f76616c7565 f6
        6a657874656e73696f6e73 80
        6a61747472696275746573 a2 6174f5 62c3a963e6b0b4";
    assert_eq!(Cbor.encode(&json(document)).unwrap(), hex(bytes));
    assert_eq!(Cbor.decode(&hex(bytes)).unwrap(), (json(document), Oddities::default()));

    let numbers = "[23,24,255,256,65535,65536,4294967296,18446744073709551615,-1,-24,-25,-256,-257,\
        -9223372036854775808,-18446744073709551616,0.1,1.5,-4.1,100000.0,1e300,-0.0,\
        2.9802322387695312e-8,65505.0,65520.0]";
    let bytes = "9818
        17 1818 18ff 190100 19ffff 1a00010000 1b0000000100000000 1bffffffffffffffff 20 37 3818
        38ff 390100 3b7fffffffffffffff 3bffffffffffffffff fb3fb999999999999a f93e00
        fbc010666666666666 fa47c35000 fb7e37e43c8800759c f98000 fa33000000 fa477fe100 fa477ff000";
    assert_eq!(Cbor.encode(&json(numbers)).unwrap(), hex(bytes));
    let wide = "86 fb3fb999999999999a fb3ff8000000000000 fbc010666666666666 fb40f86a0000000000
        fb7e37e43c8800759c fb8000000000000000";
    assert_eq!(decode(&hex(wide)).unwrap().0, "[0.1,1.5,-4.1,100000.0,1e300,-0.0]");
}

#[test]
fn no_number_changes_its_value() {
    for (text, bytes) in [
        ("-0", "f98000"),
        ("1e2", "f95640"),
        ("1.50", "f93e00"),
        ("0.10e1", "f93c00"),
        ("1E+2", "f95640"),
        ("0e99999999999999999999", "f90000"),
        // As another language says it, and to its last digit.
        ("2.9802322387695312e-8", "fa33000000"),
        ("2.9802322387695313e-8", "fa33000000"),
        ("5.9604644775390625e-8", "f90001"),
        ("0.1000000000000000055511151231257827021181583404541015625", "fb3fb999999999999a"),
    ] {
        assert_eq!(Cbor.encode(&json(text)).unwrap(), hex(bytes), "{text}");
    }
    for (text, why) in [
        ("18446744073709551616", "an integer beyond 64 bits"),
        ("-18446744073709551617", "an integer beyond 64 bits"),
        (&format!("0.{}1", "3".repeat(99_999)), "a double has another value"),
        (&"9".repeat(400), "an integer beyond 64 bits"),
        ("0.12345678901234567890123", "a double has another value"),
        ("9007199254740993.0", "a double has another value"),
        ("1e400", "a double has another value"),
        ("1e-400", "a double has another value"),
        ("1e-99999999999999999999", "a double has another value"),
    ] {
        let found = Cbor.encode(&json(&format!("[{text}]"))).unwrap_err();
        assert!(found.starts_with("CBOR cannot hold ") && found.contains(why), "{found}");
    }
}

#[test]
fn every_half_is_read_and_written_exactly() {
    for bits in 0..=u16::MAX {
        let bytes = [&[0xf9][..], &bits.to_be_bytes()].concat();
        let (found, oddities) = Cbor.decode(&bytes).unwrap();
        if !oddities.bare_floats {
            assert_eq!(Cbor.encode(&found).unwrap(), bytes, "{found}");
        }
    }
}

#[test]
fn depth_is_limited_in_both_directions() {
    let nested = |levels: usize| (1..levels).fold(Json::Array(vec![]), |json, _| vec![json].into());
    let deepest = nested(MAX_DEPTH + 1);
    let bytes = Cbor.encode(&deepest).unwrap();
    assert_eq!(Cbor.decode(&bytes).unwrap().0, deepest);
    assert!(Cbor.encode(&nested(MAX_DEPTH + 2)).is_err());
    assert!(decode(&[&[0x81][..], &bytes].concat()).is_err());
    for head in [0x81, 0x9f, 0xa1, 0xbf] {
        assert!(decode(&vec![head; 1_000_000]).is_err());
    }
}

#[test]
fn members_keep_their_order_and_the_last_of_a_name_holds() {
    let (found, oddities) =
        decode(&hex("a4 6162 01 6161 02 6162 03 6163 a2 6178 00 6178 01")).unwrap();
    assert_eq!(found, r#"{"b":3,"a":2,"c":{"x":1}}"#);
    assert_eq!(oddities.duplicates, ["b", "x"]);
    let many: Object = (0..100_000u64).map(|n| (n.to_string(), Json::from(n))).collect();
    let many = Json::from(many);
    let bytes = Cbor.encode(&many).unwrap();
    assert_eq!(Cbor.encode(&Cbor.decode(&bytes).unwrap().0).unwrap(), bytes);
}

#[test]
fn no_bytes_are_too_odd() {
    let mut state = 1u64;
    let mut next = || {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (state >> 33) as u8
    };
    for _ in 0..20_000 {
        let bytes: Vec<u8> = (0..usize::from(next()) / 4).map(|_| next()).collect();
        if let Ok((found, _)) = Cbor.decode(&bytes) {
            let again = Cbor.encode(&found).unwrap();
            assert_eq!(Cbor.encode(&Cbor.decode(&again).unwrap().0).unwrap(), again);
        }
    }
}
