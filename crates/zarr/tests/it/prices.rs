//! Which requests the operations of the draft protocol send to the store (D-150 … D-174).
#![cfg(feature = "memory")]

use zarr::format::of_dialect;
use zarr::store::{StoreKey, from_sync};
use zarr::stores::{Call, MemoryStore};
use zarr::{Dialect, ErrorKind, Guard, Hierarchy, NodeKind, NodePath, Object, OpenOptions};
use zarr_testkit::{Records, record};

/// A draft's hierarchy in memory, and the calls that it makes from now on: `put_if KEY`.
fn watched() -> (Hierarchy, Records<String>) {
    let note = |call: &Call<'_>| Some(format!("{} {}", call.operation, call.key));
    let (store, calls) = record(from_sync(MemoryStore::new()), note);
    let options = OpenOptions::new(zarr::standard()).read_write();
    let hierarchy = Hierarchy::create(store, of_dialect(Dialect::Draft), &options).unwrap();
    calls.take();
    (hierarchy, calls)
}

fn path(text: &str) -> NodePath {
    NodePath::new(text).unwrap()
}

fn create(hierarchy: &Hierarchy, at: &str) -> zarr::Array {
    let builder = hierarchy.create_array(path(at)).shape(&[4]).chunks(&[2]);
    // The look for leftovers is tested separately.
    builder.data_type_named("int16").purge(false).create().unwrap()
}

/// D-150, D-151, D-152, D-153: nothing is looked at, nothing above is created.
#[test]
fn a_new_node_is_one_set() {
    let (hierarchy, calls) = watched();
    create(&hierarchy, "/foo/bar");
    assert_eq!(calls.take(), ["create meta/root/foo/bar.array.json"]);
    hierarchy.create_group(path("/x/y/z"), Object::new()).unwrap();
    assert_eq!(calls.take(), ["create meta/root/x/y/z.group.json"]);
    // Creating over what is there costs the same, and is refused.
    let again = hierarchy.create_group(path("/x/y/z"), Object::new());
    assert_eq!(again.unwrap_err().kind(), ErrorKind::Exists);
    assert_eq!(calls.take(), ["create meta/root/x/y/z.group.json"]);
}

/// The look for leftovers is one listing, and erases in the same step as it creates.
#[test]
fn looking_for_leftovers_is_one_listing() {
    let (hierarchy, calls) = watched();
    let builder = || {
        let builder = hierarchy.create_array(path("/foo/bar")).shape(&[4]).chunks(&[2]);
        builder.data_type_named("int16")
    };
    builder().create().unwrap().write(.., &[1i16, 2, 3, 4]).unwrap();
    let document = StoreKey::new("meta/root/foo/bar.array.json").unwrap();
    hierarchy.store().to_sync().erase(&document).unwrap();
    calls.take();
    let array = builder().purge(true).create().unwrap();
    let expected = ["list_prefix data/root/foo/bar/", "create meta/root/foo/bar.array.json"];
    assert_eq!(calls.take(), expected);
    assert_eq!(array.read::<i16>(..).unwrap(), [0; 4]);
}

/// D-155, D-156: a whole chunk is one set, a chunk read is one get. A guarded write looks at the document first, once
/// for all its chunks (issue 13, point 11); an unguarded one does not.
#[test]
fn a_chunk_is_one_call() {
    let (hierarchy, calls) = watched();
    let array = create(&hierarchy, "/a");
    calls.take();
    array.write(0..2, &[1i16, 2]).unwrap();
    assert_eq!(calls.take(), ["get meta/root/a.array.json", "put data/root/a/c0"]);
    let mut options = OpenOptions::new(zarr::standard()).read_write();
    options.options.guard = Guard::Off;
    let unguarded = Hierarchy::open(hierarchy.store().clone(), &options).unwrap();
    let unguarded = unguarded.array(path("/a")).unwrap();
    calls.take();
    unguarded.write(0..2, &[1i16, 2]).unwrap();
    assert_eq!(calls.take(), ["put_unchecked data/root/a/c0"]);
    assert_eq!(array.read::<i16>(0..2).unwrap(), [1, 2]);
    let read = calls.take();
    assert!(read.len() == 1 && read[0].ends_with(" data/root/a/c0"), "{read:?}");
    assert_eq!(array.read::<i16>(2..4).unwrap(), [0, 0]);
    assert_eq!(calls.take().len(), 1);
}

/// D-160, D-162: children are one `list_dir`, the whole tree is one listing.
#[test]
fn children_and_trees_are_one_listing() {
    let (hierarchy, calls) = watched();
    for at in ["/foo/baz/qux", "/foo/a"] {
        create(&hierarchy, at);
    }
    hierarchy.create_group(path("/foo/bar"), Object::new()).unwrap();
    calls.take();
    let children = hierarchy.children(path("/foo")).unwrap();
    let found: Vec<_> = children.iter().map(|c| (c.path.as_str(), c.kind, c.implicit)).collect();
    let (group, array) = (Some(NodeKind::Group), Some(NodeKind::Array));
    let expected =
        [("/foo/a", array, false), ("/foo/bar", group, false), ("/foo/baz", group, true)];
    assert_eq!(found, expected);
    assert_eq!(calls.take(), ["list_dir meta/root/foo/"]);
    assert_eq!(hierarchy.children(path("/")).unwrap().len(), 1);
    assert_eq!(calls.take(), ["list_dir meta/root/"]);
    assert_eq!(hierarchy.tree(path("/")).unwrap().len(), 6);
    assert_eq!(calls.take(), ["list_prefix meta/"]);
    assert_eq!(hierarchy.tree(path("/foo/baz")).unwrap().len(), 2);
    assert_eq!(calls.take(), ["list_prefix meta/"]);
}

/// D-163, D-164, D-008: the array's document decides first, then the group's, then whether anything lies
/// below. A listing of the parent, which may stand for that, is not asked for: siblings may be many.
#[test]
fn a_node_is_looked_for_in_the_stated_order() {
    let (hierarchy, calls) = watched();
    create(&hierarchy, "/foo/baz/qux");
    calls.take();
    let gets = |at: &str| {
        [format!("get meta/root{at}.array.json"), format!("get meta/root{at}.group.json")]
    };
    assert!(hierarchy.array(path("/foo/baz/qux")).is_ok());
    assert_eq!(calls.take(), gets("/foo/baz/qux"));
    assert!(hierarchy.group(path("/foo/baz")).unwrap().metadata().implicit);
    let mut expected = gets("/foo/baz").to_vec();
    // A copy to the place may be under way.
    expected.extend(["list_dir meta/root/foo/baz/".into(), "list_prefix .zarr-copy/".into()]);
    assert_eq!(calls.take(), expected);
    assert_eq!(hierarchy.node(path("/foo/zap")).unwrap_err().kind(), ErrorKind::NotFound);
    let mut expected = gets("/foo/zap").to_vec();
    expected.extend(["list_dir meta/root/foo/zap/".into(), "list_prefix .zarr-copy/".into()]);
    assert_eq!(calls.take(), expected);
}

/// D-170 … D-174: documents are erased first, then the keys below; a neighbour of a longer name stays.
#[test]
fn erasing_begins_with_the_documents() {
    let (hierarchy, calls) = watched();
    for at in ["/x", "/xy"] {
        create(&hierarchy, at).write(.., &[1i16, 2, 3, 4]).unwrap();
    }
    calls.take();
    hierarchy.erase(path("/x")).unwrap();
    let calls = calls.take();
    let erasing: Vec<&str> =
        calls.iter().map(String::as_str).filter(|call| call.starts_with("erase")).collect();
    let expected = [
        "erase meta/root/x.array.json",
        "erase meta/root/x.group.json",
        "erase_prefix meta/root/x/",
        "erase_prefix data/root/x/",
    ];
    assert_eq!(erasing, expected);
    assert_eq!(hierarchy.array(path("/xy")).unwrap().read::<i16>(..).unwrap(), [1, 2, 3, 4]);
}

/// D-162: a hierarchy of 10,000 arrays lists in one pass.
#[test]
fn ten_thousand_arrays_are_one_listing() {
    let (hierarchy, calls) = watched();
    for n in 0..10_000 {
        create(&hierarchy, &format!("/g{}/a{n}", n % 100));
    }
    calls.take();
    let tree = hierarchy.tree(path("/")).unwrap();
    assert_eq!(tree.len(), 1 + 100 + 10_000);
    assert_eq!(tree.iter().filter(|child| child.kind == Some(NodeKind::Array)).count(), 10_000);
    assert_eq!(calls.take().len(), 1);
}

/// D-154: what threads create side by side is all there, and nothing else is.
#[test]
fn siblings_created_at_once_are_all_there() {
    const THREADS: usize = 16;
    const EACH: usize = 25;
    let (hierarchy, calls) = watched();
    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            let hierarchy = &hierarchy;
            scope.spawn(move || {
                for n in 0..EACH {
                    create(hierarchy, &format!("/g/a{}", thread * EACH + n));
                }
            });
        }
    });
    assert_eq!(calls.take().len(), THREADS * EACH);
    let listable = hierarchy.store().to_sync();
    let keys = listable.list().unwrap();
    let (arrays, others): (Vec<_>, Vec<_>) =
        keys.iter().map(|key| key.as_str()).partition(|key| key.ends_with(".array.json"));
    assert_eq!(arrays.len(), THREADS * EACH);
    assert_eq!(others, ["meta/root.group.json", "zarr.json"]);
    assert_eq!(hierarchy.children(path("/g")).unwrap().len(), THREADS * EACH);
}

/// D-130, row 23: whatever is done, keys are `zarr.json` or below `meta/` and `data/`, as zarr-python's stores
/// of the draft demand.
#[test]
fn no_other_keys_are_touched() {
    let (hierarchy, calls) = watched();
    let array = create(&hierarchy, "/g/a");
    array.write(.., &[1i16, 2, 3, 4]).unwrap();
    array.resize(&[3]).unwrap();
    array.append(0, &[5i16, 6, 7]).unwrap();
    array.update_attributes(|attributes| drop(attributes.insert("k", 1u64))).unwrap();
    assert_eq!(array.read::<i16>(..).unwrap(), [1, 2, 3, 5, 6, 7]);
    hierarchy.group(path("/g")).unwrap().update_attributes(|_| ()).unwrap();
    let builder = hierarchy.create_array(path("/s")).shape(()).data_type_named("u1");
    builder.purge(true).create().unwrap().write((), &[1u8]).unwrap();
    hierarchy.tree(path("/")).unwrap();
    hierarchy.erase(path("/g")).unwrap();
    let ours = |call: &&String| {
        let (_, key) = call.split_once(' ').unwrap();
        // A group without a document may be what a copy has made so far.
        let is_journal = *call == "list_prefix .zarr-copy/";
        key == "zarr.json"
            || key.starts_with("meta/")
            || key.starts_with("data/root/")
            || is_journal
    };
    let calls = calls.take();
    assert!(calls.len() > 20, "{calls:?}");
    assert_eq!(calls.iter().find(|call| !ours(call)), None);
}
