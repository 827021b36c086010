//! The program opens every draft of 2019 and 2020, and copies what it does not write.

use std::fs;

use crate::common::{Folder, Run};
use zarr::Json;

const HTTP: &str = "http://purl.org/zarr/spec/protocol/core/3.0";
const CORE: &str = "https://purl.org/zarr/spec/protocol/core/3.0";

/// The drafts, oldest first, and what each is called.
const ERAS: [(&str, &str); 5] = [
    ("E0", "draft-2019"),
    ("E1", "draft-2019"),
    ("E2", "draft-2019"),
    ("E3", "draft-2020"),
    ("E4", "draft-2020"),
];

/// Chunks of 2 × 2 big-endian int16 in F order, of the array [[1,2,3],[4,5,6]], without and with a `c`.
const CHUNKS: [(&str, [u8; 8]); 2] =
    [("0.0", [0, 1, 0, 4, 0, 2, 0, 5]), ("0.1", [0, 3, 0, 6, 0, 9, 0, 9])];

/// A hierarchy of a draft, called as its era: the array `[[1,2,3],[4,5,6]]` at `/g/a`, or alone at `/`. Its
/// attributes, where the draft has them, hold a number whose text says more than its value.
fn write(folder: &Folder, era: &str) {
    let own = match era {
        "E0" => format!(r#""zarr_format":"{HTTP}","chunk_codecs":[]"#),
        "E1" => {
            format!(r#""zarr_format":"{HTTP}","chunk_codecs":[],"attributes":{{"n":1.50,"u":"é"}}"#)
        }
        _ => r#""attributes":{"n":1.50,"u":"é"}"#.to_owned(),
    };
    let document = format!(
        r#"{{"shape":[2,3],"data_type":">i2","chunk_grid":{{"type":"regular","chunk_shape":[2,2],"separator":"."}},"chunk_memory_layout":"F","fill_value":7,"extensions":[],{own}}}"#
    );
    let (entry, suffix, data) = match era {
        "E0" | "E1" => ("", "", "data"),
        "E2" => (r#""metadata_encoding":"application/json","#, "", "data/g/a"),
        "E3" => ("encoding", "", "data/root/g/a"),
        _ => ("suffix", ".json", "data/root/g/a"),
    };
    let uri = if era == "E2" { HTTP } else { CORE };
    let encoding = format!(r#""metadata_encoding":"{CORE}","#);
    let entry = match entry {
        "encoding" => encoding,
        "suffix" => format!(r#"{encoding}"metadata_key_suffix":".json","#),
        other => other.to_owned(),
    };
    if era <= "E1" {
        folder.write(&format!("{era}/a.json"), document);
    } else {
        folder.write(
            &format!("{era}/zarr.json"),
            format!(r#"{{"zarr_format":"{uri}",{entry}"extensions":[]}}"#),
        );
        folder.write(&format!("{era}/meta/root/g/a.array{suffix}"), document);
        folder.write(&format!("{era}/meta/root/g.group{suffix}"), r#"{"attributes":{"k":1e400}}"#);
    }
    for (key, chunk) in CHUNKS {
        let c = if era >= "E3" { "c" } else { "" };
        folder.write(&format!("{era}/{data}/{c}{key}"), chunk);
    }
}

fn path(era: &str) -> &'static str {
    if era <= "E1" { "/" } else { "/g/a" }
}

fn member(run: &Run, name: &str) -> String {
    let json = run.json();
    let found = json.as_object().and_then(|object| object.get(name)).cloned();
    found.unwrap_or(Json::Null).to_string()
}

/// Runs the program, which must succeed, whatever it warns of.
fn fine(folder: &Folder, line: &str) -> Run {
    let run = folder.run(line);
    assert_eq!(run.code, 0, "zarr {line}: {}", run.err);
    run
}

const ELEMENTS: &str = "[[1,2,3],[4,5,6]]\n";

/// draft-v3.md 2.2.
#[test]
fn each_draft_is_detected_and_can_be_told() {
    let folder = Folder::new();
    for (era, format) in ERAS {
        write(&folder, era);
        for told in ["".to_owned(), format!("--as {era}")] {
            let info = fine(&folder, &format!("info {era} --json --path {} {told}", path(era)));
            assert_eq!(member(&info, "era"), format!("\"{era}\""));
            assert_eq!(member(&info, "format"), format!("\"{format}\""));
            let get = fine(&folder, &format!("get {era} --path {} {told}", path(era)));
            assert_eq!(get.text(), ELEMENTS, "{era} {told}");
        }
    }
    for (era, told) in [("E2", "draft-2019"), ("E4", "draft-2020"), ("E4", "draft")] {
        let line = format!("get {era} --path /g/a --as {told}");
        assert_eq!(folder.good(&line).text(), ELEMENTS, "{told}");
    }
    let plain = folder.good("info E2 --path g/a");
    assert!(plain.text().starts_with("/g/a: array in draft-2019 (E2), "), "{}", plain.text());
    // Other formats have no era; and what a folder is not, it is not told to be.
    folder.table("v3", "v3");
    assert_eq!(member(&folder.good("info v3 --json"), "era"), "null");
    for told in ["E0", "E1", "v2", "v3"] {
        let why = folder.bad(&format!("info E4 --as {told}"), 3);
        assert!(
            why.contains("the hierarchy is in draft-2020, not in the format given with --as"),
            "{why}"
        );
    }
    let why = folder.bad("info E4 --as E5", 2);
    assert!(why.contains("draft-2019, or a draft's era E0 … E4"), "{why}");
}

/// draft-v3.md 2.2, step 4.
#[test]
fn a_document_of_may_2019_opens_by_its_folder_and_by_its_own_path() {
    let folder = Folder::new();
    for era in ["E0", "E1"] {
        write(&folder, era);
        for target in [era.to_owned(), format!("{era}/a.json")] {
            let run = fine(&folder, &format!("get {target}"));
            assert_eq!(run.text(), ELEMENTS, "{target}");
            assert!(run.err.starts_with("warning: a.json: documents of May 2019"), "{}", run.err);
            assert_eq!(member(&fine(&folder, &format!("info {target} --json")), "path"), "\"/\"");
        }
        let why = folder.bad(&format!("info {era} --path x"), 3);
        assert!(why.contains("/ is an array and has no children"), "{why}");
        let why = folder.bad(&format!("info {era}/b.json"), 3);
        assert!(why.contains("there is no node /b.json"), "{why}");
        // Of two, nobody knows which is meant; its own name tells.
        folder.write(&format!("{era}/b.json"), fs::read(folder.path(era).join("a.json")).unwrap());
        folder.bad(&format!("info {era}"), 3);
        assert_eq!(fine(&folder, &format!("get {era}/b.json")).text(), ELEMENTS);
    }
}

/// What looks like documents in a folder of other things is left alone.
#[test]
fn odd_folders_are_no_documents_and_cost_little() {
    let folder = Folder::new();
    folder.write("odd/folder.json/x", "");
    folder.write("odd/empty.json", "");
    folder.write("odd/bytes.json", [0xff, 0xfe, 0, 1]);
    folder.write("odd/list.array", "[1,2]");
    folder.write("odd/deep.json", "[".repeat(100_000));
    let huge = fs::File::create(folder.path("odd/huge.json")).unwrap();
    // Sparse: nothing but its length is stored.
    huge.set_len(1 << 42).unwrap();
    folder.bad("info odd", 3);
    folder.bad("info odd/huge.json", 3);
    write(&folder, "E0");
    fs::copy(folder.path("E0/a.json"), folder.path("odd/a.json")).unwrap();
    assert_eq!(member(&fine(&folder, "info odd --json"), "era"), "\"E0\"");
    for n in 0..10_000 {
        folder.write(&format!("odd/{n}.json"), "{}");
    }
    folder.bad("info odd", 3);
    assert_eq!(member(&fine(&folder, "info odd/a.json --json"), "era"), "\"E0\"");
}

/// Q26: the older drafts are read, and whoever wants to change them is told how.
#[test]
fn the_older_drafts_are_not_written() {
    let folder = Folder::new();
    for (era, _) in &ERAS[..4] {
        write(&folder, era);
        let before = fs::read_dir(folder.path(era)).unwrap().count();
        let at = path(era);
        let refused = [
            folder.run(&format!("attrs {era} --path {at} --set a=1")),
            folder.run(&format!("create {era}/new --shape 2 --dtype int8")),
            folder.run(&format!("create {era} --path new --group")),
            folder.run(&format!("rm {era} --all")),
            folder.feed(&format!("put {era} --path {at}"), b"[[1,2,3],[4,5,6]]"),
            folder.run(&format!("copy {era} {era}/copy --path {at}")),
            folder.run(&format!("create {era}/new --shape 2 --dtype int8 --overwrite --purge")),
        ];
        for (n, run) in refused.into_iter().enumerate() {
            let err = run.err;
            assert_eq!(run.code, 2, "{era}, {n}: {err}");
            assert!(err.contains(era) && err.contains("is read-only"), "{n}: {err}");
            assert!(err.contains("copy it to another format"), "{era}, {n}: {err}");
        }
        assert_eq!(fs::read_dir(folder.path(era)).unwrap().count(), before);
        assert_eq!(fine(&folder, &format!("get {era} --path {at}")).text(), ELEMENTS);
    }
}

/// Q25: nothing is lost on the way into a format that is written.
#[test]
fn every_draft_copies_into_every_format_that_is_written() {
    let folder = Folder::new();
    for (era, _) in ERAS {
        write(&folder, era);
        let at = path(era);
        for to in ["v3", "v2", "draft-2020", "draft-2020-text"] {
            let copy = format!("{era}-{to}");
            fine(&folder, &format!("copy {era} {copy} --to {to}"));
            assert_eq!(folder.good(&format!("get {copy} --path {at}")).text(), ELEMENTS, "{copy}");
            let attrs = folder.good(&format!("attrs {copy} --path {at}")).text().to_owned();
            assert_eq!(attrs, if era == "E0" { "" } else { "n: 1.50\nu: é\n" }, "{copy}");
            if era > "E1" {
                assert_eq!(folder.good(&format!("attrs {copy}/g")).text(), "k: 1e400\n", "{copy}");
            }
            let info = folder.good(&format!("info {copy} --path {at} --json"));
            assert_eq!(member(&info, "fill_value"), "7");
            assert_eq!(member(&info, "chunk_shape"), "[2,2]");
            assert_eq!(member(&info, "stored_endian"), "\"big\"");
        }
    }
}

/// draft-v3.md 3.4: copies of documents stand for the documents, and cost one call.
#[test]
fn consolidated_documents_are_read_in_place_of_the_documents() {
    let folder = Folder::new();
    write(&folder, "E4");
    let text = |name: &str| fs::read_to_string(folder.path("E4").join(name)).unwrap();
    let keys = ["zarr.json", "meta/root/g.group.json", "meta/root/g/a.array.json"];
    let copies: Vec<String> =
        keys.iter().map(|key| format!("\"{key}\":{}", text(key).replace("1e400", "2"))).collect();
    let copies =
        format!("{{\"metadata\":{{{}}},\"zarr_consolidated_format\":1}}", copies.join(","));
    let own = "meta/root/my/.zmetadata";
    for (key, option) in [
        ("meta/root/consolidated/.zmetadata", "--consolidated".to_owned()),
        (own, format!("--consolidated={own}")),
    ] {
        folder.write(&format!("E4/{key}"), &copies);
        for command in ["tree E4", "info E4 --path g", "get E4 --path g/a"] {
            let run = fine(&folder, &format!("{command} --trace {option}"));
            let calls: Vec<&str> =
                run.err.lines().filter(|line| line.starts_with("trace: ")).collect();
            let of_documents: Vec<&&str> =
                calls.iter().filter(|call| call.contains(" meta/")).collect();
            assert_eq!(of_documents.len(), 1, "{command} {option}: {}", run.err);
            assert!(of_documents[0].contains(key), "{}", run.err);
            assert!(!run.err.contains("list"), "{command} {option}: {}", run.err);
        }
        // The copy is told from the document.
        assert_eq!(folder.good(&format!("attrs E4/g {option}")).text(), "k: 2\n");
        assert_eq!(folder.good(&format!("get E4/g/a {option}")).text(), ELEMENTS);
    }
    assert_eq!(folder.good("attrs E4/g").text(), "k: 1e400\n");
    // Of a copy, it is the source that is read so, be DST there or not.
    folder.good("copy E4 copy.zarr --to v3 --consolidated");
    folder.good("copy E4 copy.zarr --at again --consolidated");
    assert_eq!(folder.good("attrs copy.zarr/again/g").text(), "k: 2\n");
    let why = folder.bad("attrs E4/g --set a=1 --consolidated", 2);
    assert!(why.contains("open without them to write"), "{why}");
    let why = folder.bad("info E4 --consolidated=nowhere", 3);
    assert!(why.contains("`nowhere`"), "{why}");
    folder.write("E4/meta/root/broken", "{}");
    let why = folder.bad("info E4 --consolidated=meta/root/broken", 5);
    assert!(why.contains("`zarr_consolidated_format` is not 1"), "{why}");
    folder.bad("info E4 --consolidated=/", 2);
}

/// Q5.
#[test]
fn hidden_filters_can_be_taken_for_attributes() {
    let folder = Folder::new();
    write(&folder, "E4");
    let document = fs::read_to_string(folder.path("E4/meta/root/g/a.array.json")).unwrap();
    let hidden = r#""attributes":{"filters":[{"id":"shuffle","elementsize":2}],"#;
    folder.write("E4/meta/root/g/a.array.json", document.replace(r#""attributes":{"#, hidden));
    let with = folder.good("get E4/g/a").text().to_owned();
    let without = folder.good("get E4/g/a --ignore-hidden-filters").text().to_owned();
    assert_eq!(without, ELEMENTS);
    assert_ne!(with, ELEMENTS);
    assert_eq!(folder.good("attrs E4/g/a").text(), "n: 1.50\nu: é\n");
    let attrs = folder.good("attrs E4/g/a --ignore-hidden-filters").text().to_owned();
    assert!(attrs.contains(r#"filters: [{"id":"shuffle","elementsize":2}]"#), "{attrs}");
    // Another attribute may change; filters that were taken for one are never written as filters.
    folder.good("attrs E4/g/a --set x=1 --ignore-hidden-filters");
    assert_eq!(folder.good("get E4/g/a").text(), with);
    let why = folder.bad("copy E4 d --to draft-2020 --ignore-hidden-filters", 2);
    assert!(why.contains("attribute `filters` would be read as codecs"), "{why}");
    folder.good("copy E4 v --to v3 --ignore-hidden-filters");
    assert_eq!(folder.good("get v/g/a").text(), ELEMENTS);
    folder.good("copy E4 w --to v3");
    assert_eq!(folder.good("get w/g/a").text(), with);
}

/// The text of 2020 says what zarr-python 2.18 does not read.
#[test]
fn the_plain_text_is_written_if_asked() {
    let folder = Folder::new();
    for (format, scalar, raw, root) in
        [("draft-2020", "c0", "r", true), ("draft-2020-text", "c", "\"r24\"", false)]
    {
        folder.good(&format!(
            "create {format} --path s --format {format} --shape '' --dtype float64"
        ));
        // It keeps the form in which it was made.
        let put = folder.feed(&format!("put {format}/s"), b"42");
        assert_eq!((put.code, &*put.err), (0, ""));
        assert!(folder.path(&format!("{format}/data/root/s/{scalar}")).exists(), "{format}");
        assert_eq!(folder.good(&format!("get {format}/s")).text(), "42.0\n");
        assert_eq!(folder.path(&format!("{format}/meta/root.group.json")).exists(), root);
        folder.good(&format!(
            "create {format} --path r --format {format} --shape 2 --dtype r24 --fill 0x010203"
        ));
        let spelled = member(&folder.good(&format!("info {format}/r --json")), "data_type");
        assert!(spelled.contains(raw), "{format}: {spelled}");
        assert_eq!(
            member(&folder.good(&format!("info {format}/r --json")), "data_type_name"),
            "\"r24\""
        );
    }
    let scalar = "create t --path z --shape '' --dtype int8 --codec gzip";
    folder.good(&format!("{scalar} --format draft-2020-text").replace("create t ", "create text "));
    let why = folder.bad(&format!("{scalar} --format draft-2020"), 4);
    assert!(why.contains("a compressed scalar; store it without a codec"), "{why}");
    folder.table("v3", "v3");
    folder.good("copy v3 text2 --to draft-2020-text");
    assert_eq!(folder.good("get text2/a").out, folder.good("get v3/a").out);
}

/// V27, row 27.
#[test]
fn leftover_chunks_are_refused_and_purged_or_kept_if_asked_for() {
    let folder = Folder::new();
    for (format, chunk) in [("v3", "a/c/0"), ("v2", "a/0"), ("draft-2020", "data/root/a/c0")] {
        folder.good(&format!("create {format} --format {format} --group"));
        folder.write(&format!("{format}/{chunk}"), [9, 9]);
        let create = format!("create {format}/a --shape 2 --dtype uint8 --codec none");
        folder.good(&format!("{create} --no-purge"));
        assert_eq!(folder.good(&format!("get {format}/a")).text(), "[9,9]\n");
        // What is there is none that was left.
        let why = folder.bad(&format!("{create} --purge"), 2);
        assert!(why.contains("already exists"), "{why}");
        assert_eq!(folder.good(&format!("get {format}/a")).text(), "[9,9]\n");
        for document in ["a/zarr.json", "a/.zarray", "meta/root/a.array.json"] {
            let _ = fs::remove_file(folder.path(format).join(document));
        }
        // They may be all that is left of the array.
        let why = folder.bad(&create, 2);
        for part in [chunk, "--overwrite", "--no-purge"] {
            assert!(why.contains(part), "{why}");
        }
        let validated = folder.run(&format!("validate {format}"));
        assert!(validated.text().contains("--no-purge"), "{}", validated.text());
        folder.good(&format!("create {format}/b --shape 2 --dtype uint8 --codec none"));
        folder.feed(&format!("put {format}/b"), b"[1,2]");
        let why = folder.bad(&format!("copy {format}/b {format}/a"), 2);
        assert!(why.contains(chunk) && why.contains("--overwrite"), "{why}");
        assert_eq!(fs::read(folder.path(&format!("{format}/{chunk}"))).unwrap(), [9, 9]);
        folder.good(&format!("{create} --purge"));
        assert_eq!(folder.good(&format!("get {format}/a")).text(), "[0,0]\n");
    }
    folder.bad("create v3/g --group --purge", 2);
}

/// D-076, D-078, D-102: what is passed over is told, also by who copies; what would change its meaning is refused.
#[test]
fn what_is_not_understood_is_told() {
    let folder = Folder::new();
    write(&folder, "E4");
    let key = "E4/meta/root/g/a.array.json";
    let document = fs::read_to_string(folder.path(key)).unwrap();
    let extension = r#""extensions":[{"extension":"http://e/x","must_understand":false}],"own":1,"#;
    folder.write(key, document.replace(r#""extensions":[],"#, extension));
    for to in ["v3", "v2", "draft-2020"] {
        let run = fine(&folder, &format!("copy E4 copy-{to} --to {to}"));
        assert!(run.err.contains("extension `http://e/x` is not known; ignored"), "{}", run.err);
        assert!(run.err.contains("`own`: it is not a member"), "{}", run.err);
        assert_eq!(folder.good(&format!("get copy-{to}/g/a")).text(), ELEMENTS);
    }
    let zork = r#"{"extension":"http://e/t","type":"zork","fallback":">i2"}"#;
    folder.write(key, document.replace(r#"">i2""#, zork));
    let run = fine(&folder, "get E4/g/a");
    assert_eq!(run.text(), ELEMENTS);
    assert!(run.err.contains("is not known; read as `int16`"), "{}", run.err);
    for to in ["v3", "v2", "draft-2020", "draft-2020-text"] {
        let why = folder.bad(&format!("copy E4 refused --to {to}"), 4);
        assert!(why.contains("/g/a: ") && why.contains("zork"), "{why}");
        assert!(why.contains("choose another type"), "{why}");
        assert!(!why.contains("--codec"), "{why}");
        folder.bad("info refused", 3);
    }
}
