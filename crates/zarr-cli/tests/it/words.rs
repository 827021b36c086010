//! What people type first: other programs' names of verbs, paths by their place, a target without a verb.

use crate::common::Folder;

/// What a command prints.
fn printed(folder: &Folder, line: &str) -> String {
    folder.good(line).text().to_owned()
}

/// A hierarchy with an array of 2 × 3 integers.
fn small() -> Folder {
    let folder = Folder::new();
    folder.good("create a.zarr/g/t --shape 2,3 --dtype int32 --dims y,x --attr units=K");
    folder
}

#[test]
fn a_new_hierarchy_begins_where_the_name_of_a_store_ends() {
    let folder = small();
    let tree = printed(&folder, "tree a.zarr");
    assert!(tree.contains("g") && tree.contains("t  int32 (2, 3)"), "{tree}");
    assert!(folder.path("a.zarr/zarr.json").exists() && folder.path("a.zarr/g/zarr.json").exists());
    folder.good("create b.zip/inner/t --shape 2 --dtype int8");
    assert!(folder.path("b.zip").is_file());
    assert!(printed(&folder, "tree b.zip").contains("inner"));
    folder.good("copy a.zarr/g/t c.ozx/deep/t");
    assert!(folder.path("c.ozx").is_file());
    folder.good("copy a.zarr/g/t d.zarr/deep/t --to v2");
    folder.good("diff a.zarr/g/t d.zarr/deep/t");
    assert!(folder.path("d.zarr/.zgroup").exists() && folder.path("d.zarr/deep/.zgroup").exists());
    // A copy under way is found where it is.
    folder.good("copy a.zarr/g/t e.zarr/x/t --part 1/2");
    folder.good("copy a.zarr/g/t e.zarr/x/t --resume");
    folder.good("diff a.zarr/g/t e.zarr/x/t");
    assert!(printed(&folder, "tree e.zarr").contains("t  int32"));
    // Without such a name it begins at the target.
    folder.good("create plain/t --shape 2 --dtype int8");
    assert!(!folder.path("plain/zarr.json").exists() && folder.path("plain/t/zarr.json").exists());
}

#[test]
fn the_path_may_follow_the_target() {
    let folder = small();
    let by_option = printed(&folder, "info a.zarr --path g/t");
    assert_eq!(printed(&folder, "info a.zarr g/t"), by_option);
    assert_eq!(printed(&folder, "get a.zarr g/t"), "[[0,0,0],[0,0,0]]\n");
    assert_eq!(printed(&folder, "attrs a.zarr g/t units"), "K\n");
    assert_eq!(printed(&folder, "attrs a.zarr g/t"), "units: K\n");
    assert_eq!(printed(&folder, "attrs a.zarr/g/t units"), "K\n");
    folder.good("attrs a.zarr g/t --set title=x");
    folder.good("attrs a.zarr g/t --unset title");
    assert_eq!(printed(&folder, "attrs a.zarr g/t"), "units: K\n");
    folder.good("diff a.zarr a.zarr g/t");
    let why = folder.bad("attrs a.zarr/g/t units=m", 2);
    assert!(why.contains("--set units=m"), "{why}");
    let why = folder.bad("attrs a.zarr g/t units=m", 2);
    assert!(why.contains("--set units=m"), "{why}");
    folder.bad("get a.zarr g/t --path g/t", 2);
    let why = folder.bad("attrs a.zarr nothing", 1);
    assert!(why.contains("no attribute `nothing`"), "{why}");
}

#[test]
fn verbs_have_the_names_of_other_programs() {
    let folder = small();
    assert_eq!(printed(&folder, "list a.zarr"), printed(&folder, "ls a.zarr"));
    assert_eq!(printed(&folder, "cat a.zarr/g/t"), printed(&folder, "get a.zarr/g/t"));
    folder.good("cp a.zarr b.zarr");
    folder.good("convert a.zarr c.zarr --to v2");
    folder.good("mv b.zarr/g/t u");
    folder.good("diff a.zarr/g/t b.zarr/g/u");
    // The consolidated metadata of the root name the node by its new path.
    folder.good("consolidate b.zarr");
    folder.good("mv b.zarr/g/u v");
    folder.good("validate b.zarr");
    assert!(printed(&folder, "tree b.zarr").contains("v  int32"));
    folder.good("mv b.zarr/g/v /top");
    folder.good("diff a.zarr/g/t b.zarr/top");
}

#[test]
fn a_target_without_a_verb_is_described_and_drawn() {
    let folder = small();
    let shown = printed(&folder, "a.zarr");
    assert_eq!(
        shown,
        format!("{}\n{}", printed(&folder, "info a.zarr"), printed(&folder, "tree a.zarr"))
    );
    assert_eq!(printed(&folder, "a.zarr/g/t"), printed(&folder, "info a.zarr/g/t"));
    let why = folder.bad("nothing.zarr", 3);
    assert!(why.contains("no such file or folder"), "{why}");
    let why = folder.bad("inof a.zarr", 2);
    assert!(why.contains("info"), "{why}");
}

#[test]
fn one_value_fills_an_array_or_a_region() {
    let folder = small();
    folder.good("put a.zarr/g/t --value 7");
    folder.good("put a.zarr g/t --value -1 --region 0,1:");
    assert_eq!(printed(&folder, "get a.zarr/g/t"), "[[7,-1,-1],[7,7,7]]\n");
    folder.good("create a.zarr/f --shape 3 --dtype float64");
    folder.good("put a.zarr/f --value NaN");
    assert_eq!(printed(&folder, "get a.zarr/f"), "[\"NaN\",\"NaN\",\"NaN\"]\n");
    folder.good("create a.zarr/s --shape 2 --dtype string");
    folder.good("put a.zarr/s --value hello");
    assert_eq!(printed(&folder, "get a.zarr/s"), "[\"hello\",\"hello\"]\n");
    folder.good("create a.zarr/many --shape 300000 --chunks 100000 --dtype int8");
    folder.good("put a.zarr/many --value 3 --region 1:");
    let all = folder.run("get a.zarr/many --format raw").out;
    assert!(all[0] == 0 && all[1..].iter().all(|&byte| byte == 3));
    let why = folder.bad("put a.zarr/f --value cold", 2);
    assert!(why.contains("cold"), "{why}");
    folder.good("create a.zarr/scalar --shape '' --dtype int8");
    folder.good("put a.zarr/scalar --value 5");
    assert_eq!(printed(&folder, "get a.zarr/scalar"), "5\n");
}
