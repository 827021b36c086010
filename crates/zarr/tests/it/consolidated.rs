//! Consolidated copies of documents are used, and stay true (F-013, F-014, Z2-070 … Z2-074, draft-v3.md 3.4).
#![cfg(all(feature = "filesystem", feature = "memory"))]

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use zarr::format::of_dialect;
use zarr::store::{
    Capabilities, GetOptions, Got, Payload, Precondition, Store, StoreKey, StorePrefix, SyncStore,
    from_sync, from_sync_arc,
};
#[cfg(feature = "lmdb")]
use zarr::store::{ObservedStore, Observer, Request};
use zarr::stores::{Call, MemoryStore};
use zarr::{
    Access, Consolidated, Dialect, ErrorKind, Hierarchy, Json, NodePath, Object, OpenOptions,
    Result, StoreError,
};
use zarr_testkit::{Records, record};

const DIALECTS: [Dialect; 3] = [Dialect::V2, Dialect::V3, Dialect::Draft];

fn reading() -> OpenOptions {
    OpenOptions::new(zarr::standard()).threads(1)
}

fn writing() -> OpenOptions {
    reading().read_write()
}

fn path(text: &str) -> NodePath {
    NodePath::new(text).unwrap()
}

fn key(text: &str) -> StoreKey {
    StoreKey::new(text).unwrap()
}

fn holder(dialect: Dialect) -> StoreKey {
    key(match dialect {
        Dialect::V2 => ".zmetadata",
        Dialect::V3 => "zarr.json",
        _ => "meta/root/consolidated/.zmetadata",
    })
}

fn group_holder(dialect: Dialect) -> StoreKey {
    key(if dialect == Dialect::V2 { "g/.zmetadata" } else { "g/zarr.json" })
}

fn get(store: &Arc<dyn Store>, at: &StoreKey) -> Option<String> {
    let bytes = store.to_sync().value(at).unwrap()?;
    Some(String::from_utf8(bytes.to_vec()).unwrap())
}

fn set(store: &Arc<dyn Store>, at: &StoreKey, text: &str) {
    store.to_sync().set(at, text.as_bytes().into()).unwrap();
}

/// A root, a group `/g` with an array `/g/a`, and an array `/b`.
fn small(dialect: Dialect) -> (Arc<dyn Store>, Hierarchy) {
    let store: Arc<dyn Store> = from_sync(MemoryStore::new());
    let hierarchy = Hierarchy::create(store.clone(), of_dialect(dialect), &writing()).unwrap();
    hierarchy.create_group(path("/g"), Object::new()).unwrap();
    array(&hierarchy, "/g/a");
    array(&hierarchy, "/b");
    (store, hierarchy)
}

fn array(hierarchy: &Hierarchy, at: &str) -> zarr::Array {
    let builder = hierarchy.create_array(path(at)).shape(&[4]).chunks(&[2]);
    builder.data_type_named("int16").create().unwrap()
}

/// The hierarchy of a reader that reads documents only from copies.
fn out_of_copies(store: &Arc<dyn Store>) -> Hierarchy {
    Hierarchy::open(store.clone(), &reading().consolidated(Consolidated::Use)).unwrap()
}

fn tree(hierarchy: &Hierarchy) -> Vec<String> {
    let nodes = hierarchy.tree(NodePath::root()).unwrap();
    nodes.into_iter().map(|node| node.path.to_string()).filter(|p| p != "/consolidated").collect()
}

/// F-014, Z2-070: what is written is what is read, and the whole of it is strict JSON (T-17).
#[test]
fn copies_are_written_and_read_in_every_dialect() {
    for dialect in DIALECTS {
        let (store, hierarchy) = small(dialect);
        let nodes = hierarchy.consolidate().unwrap();
        assert_eq!(nodes, if dialect == Dialect::Draft { 5 } else { 4 }, "{dialect}");
        assert!(hierarchy.check_consolidated().unwrap().is_empty());
        let json = Json::parse(get(&store, &holder(dialect)).unwrap().as_bytes()).unwrap();
        assert!(json.as_object().unwrap().len() > 1);
        let copied = out_of_copies(&store);
        assert_eq!(tree(&copied), ["/", "/b", "/g", "/g/a"]);
        assert_eq!(copied.array(path("/g/a")).unwrap().read::<i16>(..).unwrap(), [0; 4]);
        assert!(hierarchy.remove_consolidated().unwrap());
        assert!(!hierarchy.remove_consolidated().unwrap());
        let none = Hierarchy::open(store, &reading().consolidated(Consolidated::Use));
        assert_eq!(none.unwrap_err().kind(), ErrorKind::NotFound);
        let none = hierarchy.check_consolidated().unwrap_err();
        assert_eq!(none.kind(), ErrorKind::NotFound);
    }
}

/// F-014, Z2-072: every kind of change changes the copy along with the document.
#[test]
fn changes_keep_the_copies_true() {
    for dialect in DIALECTS {
        let (store, hierarchy) = small(dialect);
        hierarchy.consolidate().unwrap();
        let is_true = |what: &str, expected: &[&str]| {
            assert_eq!(hierarchy.check_consolidated().unwrap(), [], "{dialect}: {what}");
            assert!(!get(&store, &holder(dialect)).unwrap().contains("stale"), "{dialect}: {what}");
            assert_eq!(tree(&out_of_copies(&store)), expected, "{dialect}: {what}");
        };
        array(&hierarchy, "/g/h/c");
        let all = match dialect {
            // In a draft the groups above are not created, and the listing shows them.
            Dialect::Draft => ["/", "/b", "/g", "/g/a", "/g/h", "/g/h/c"],
            _ => ["/", "/b", "/g", "/g/a", "/g/h", "/g/h/c"],
        };
        is_true("create an array", &all);
        hierarchy.create_group(path("/k"), Object::new().with("n", 1u64)).unwrap();
        is_true("create a group", &[&all[..], &["/k"]].concat());
        let b = hierarchy.array(path("/b")).unwrap();
        b.update_attributes(|attributes| drop(attributes.insert("units", "K"))).unwrap();
        is_true("attributes", &[&all[..], &["/k"]].concat());
        b.resize(&[9]).unwrap();
        is_true("resize", &[&all[..], &["/k"]].concat());
        b.append(0, &[1i16, 2, 3]).unwrap();
        let copied = out_of_copies(&store).array(path("/b")).unwrap();
        assert_eq!(copied.shape(), [12]);
        assert_eq!(copied.attributes().get("units").and_then(Json::as_str), Some("K"));
        hierarchy
            .create_array(path("/b"))
            .shape(&[2])
            .data_type_named("int8")
            .overwrite(true)
            .create()
            .unwrap();
        is_true("overwrite", &[&all[..], &["/k"]].concat());
        hierarchy.erase(path("/g")).unwrap();
        is_true("erase", &["/", "/b", "/k"]);
        let root = hierarchy.root().unwrap();
        root.update_attributes(|attributes| drop(attributes.insert("title", "x"))).unwrap();
        is_true("the root's attributes", &["/", "/b", "/k"]);
        assert_eq!(hierarchy.warnings(), []);
    }
}

/// Z2-072: or the first change takes the copies away.
#[test]
fn changes_may_drop_the_copies() {
    for dialect in DIALECTS {
        let (store, hierarchy) = small(dialect);
        hierarchy.consolidate().unwrap();
        let mut options = writing();
        options.options.drop_consolidated = true;
        let dropping = Hierarchy::open(store.clone(), &options).unwrap();
        array(&dropping, "/g/c");
        let left = get(&store, &holder(dialect)).unwrap_or_default();
        assert!(!left.contains("kind") && !left.contains("zarr_consolidated_format"), "{left}");
        let read = Hierarchy::open(store, &reading()).unwrap();
        assert_eq!(tree(&read), ["/", "/b", "/g", "/g/a", "/g/c"]);
    }
}

/// F-014, Z2-071: readers of v2 and v3 use what they find, unless they say otherwise; those of a draft do not.
#[test]
fn copies_are_used_if_found_and_never_if_not_wanted() {
    for dialect in DIALECTS {
        let (store, hierarchy) = small(dialect);
        hierarchy.consolidate().unwrap();
        // Another program, which knows nothing of copies, makes the array longer.
        let document = hierarchy_key(dialect);
        let changed = get(&store, &document).unwrap().replace('4', "8");
        set(&store, &document, &changed);
        let shape = |options: &OpenOptions| {
            let read = Hierarchy::open(store.clone(), options)?;
            let shape = read.array(path("/b"))?.shape()[0];
            Ok::<_, zarr::Error>((shape, read.warnings().len()))
        };
        let found = if dialect == Dialect::Draft { 8 } else { 4 };
        assert_eq!(shape(&reading()).unwrap(), (found, 0));
        assert_eq!(shape(&reading().consolidated(Consolidated::Use)).unwrap(), (4, 0));
        assert_eq!(shape(&reading().consolidated(Consolidated::Ignore)).unwrap(), (8, 0));
        // Readers that check get a warning, and so do writers: neither trusts the copy.
        assert_eq!(shape(&reading().consolidated(Consolidated::Check)).unwrap(), (8, 1));
        assert_eq!(shape(&writing()).unwrap(), (8, 1));
        let asked = shape(&writing().consolidated(Consolidated::Use)).unwrap_err();
        assert_eq!(asked.kind(), ErrorKind::Argument);
        assert_eq!(hierarchy.check_consolidated().unwrap(), [path("/b")]);
        // A change of ours makes this copy true again.
        let b = Hierarchy::open(store.clone(), &writing()).unwrap().array(path("/b")).unwrap();
        b.update_attributes(|attributes| drop(attributes.insert("k", 1u64))).unwrap();
        assert_eq!(hierarchy.check_consolidated().unwrap(), []);
    }
}

fn hierarchy_key(dialect: Dialect) -> StoreKey {
    key(match dialect {
        Dialect::V2 => "b/.zarray",
        Dialect::V3 => "b/zarr.json",
        _ => "meta/root/b.array.json",
    })
}

/// A store whose calls fail from some call on.
#[derive(Debug)]
struct Failing {
    inner: Arc<dyn SyncStore>,
    left: AtomicUsize,
}

impl Failing {
    fn around(inner: &Arc<dyn Store>) -> Arc<Failing> {
        Arc::new(Failing { inner: inner.to_sync(), left: AtomicUsize::new(usize::MAX) })
    }

    fn after(&self, calls: usize) {
        self.left.store(calls, Ordering::Relaxed);
    }

    fn call(&self) -> Result<(), StoreError> {
        match self.left.load(Ordering::Relaxed) {
            0 => Err(StoreError::Backend(std::io::Error::other("gone").into())),
            left => {
                self.left.store(left - 1, Ordering::Relaxed);
                Ok(())
            }
        }
    }
}

impl SyncStore for Failing {
    zarr_testkit::forward_calls!(inner: name list_prefix list_dir link flush);

    fn capabilities(&self) -> Capabilities {
        Capabilities { create: false, ..self.inner.capabilities() }
    }
    fn get(&self, key: &StoreKey, how: GetOptions<'_>) -> Result<Option<Got>, StoreError> {
        self.call()?;
        self.inner.get(key, how)
    }
    fn put(
        &self,
        key: &StoreKey,
        value: Option<Payload<'_>>,
        only_if: Precondition<'_>,
    ) -> Result<bool, StoreError> {
        self.call()?;
        self.inner.put(key, value, only_if)
    }
    fn erase_prefix(&self, prefix: &StorePrefix) -> Result<(), StoreError> {
        self.call()?;
        self.inner.erase_prefix(prefix)
    }
}

/// Z2-072: a writer that stops between the document and its copy leaves a copy that readers do not use.
#[test]
fn a_change_cut_short_hides_no_document() {
    for dialect in DIALECTS {
        let (store, hierarchy) = small(dialect);
        hierarchy.consolidate().unwrap();
        // The store fails from a certain call on, wherever that is in the change.
        let mut hidden = 0;
        for calls in 0..40 {
            let failing = Failing::around(&store);
            let writer = Hierarchy::open(from_sync_arc(failing.clone()), &writing()).unwrap();
            let b = writer.array(path("/b")).unwrap();
            failing.after(calls);
            let done = b.update_attributes(|attributes| drop(attributes.insert("n", calls as u64)));
            let live = reading().consolidated(Consolidated::Ignore);
            let live = Hierarchy::open(store.clone(), &live).unwrap().array(path("/b")).unwrap();
            let copied = out_of_copies(&store).array(path("/b")).unwrap();
            assert_eq!(live.attributes(), copied.attributes(), "{dialect}, {calls} calls");
            let whole = get(&store, &holder(dialect)).unwrap();
            hidden += usize::from(whole.contains("stale"));
            if done.is_ok() {
                break;
            }
            assert!(calls < 39, "{dialect}: the change is never done");
        }
        assert!(hidden > 0, "{dialect}: no try was cut short where it matters");
        // Consolidating again believes them all.
        hierarchy.consolidate().unwrap();
        assert!(!get(&store, &holder(dialect)).unwrap().contains("stale"));
        assert_eq!(hierarchy.check_consolidated().unwrap(), []);
    }
}

/// Z2-072: the last writer copies the documents of all writers, also if another one consolidates concurrently.
#[test]
fn several_writers_leave_true_copies() {
    for dialect in DIALECTS {
        let (store, hierarchy) = small(dialect);
        hierarchy.consolidate().unwrap();
        std::thread::scope(|scope| {
            for writer in 0..4 {
                let store = store.clone();
                scope.spawn(move || {
                    let hierarchy = Hierarchy::open(store, &writing()).unwrap();
                    for n in 0..8 {
                        array(&hierarchy, &format!("/w{writer}/a{n}"));
                        let b = hierarchy.array(path("/b")).unwrap();
                        b.update_attributes(|attributes| {
                            attributes.insert(format!("w{writer}"), n as u64);
                        })
                        .unwrap();
                    }
                });
            }
            scope.spawn(|| {
                for _ in 0..4 {
                    hierarchy.consolidate().unwrap();
                }
            });
        });
        assert_eq!(hierarchy.check_consolidated().unwrap(), [], "{dialect}");
        let b = out_of_copies(&store).array(path("/b")).unwrap();
        for writer in 0..4 {
            let last = b.attributes().get(&format!("w{writer}")).cloned();
            assert_eq!(last, Some(Json::from(7u64)), "{dialect}");
        }
    }
}

/// Acts once, just before the second change of a key.
#[cfg(feature = "lmdb")]
struct BeforeSecond {
    key: StoreKey,
    changes: AtomicUsize,
    act: Box<dyn Fn() + Send + Sync>,
}

#[cfg(feature = "lmdb")]
#[zarr::store::async_trait]
impl Observer for BeforeSecond {
    async fn before(&self, request: &Request<'_>) -> Result<(), StoreError> {
        let is_change = request.operation.starts_with("put") && request.key == self.key.as_str();
        if is_change && self.changes.fetch_add(1, Ordering::SeqCst) == 1 {
            std::thread::scope(|scope| drop(scope.spawn(|| (self.act)())));
        }
        Ok(())
    }

    async fn after(&self, _: &Call<'_>) -> Result<(), StoreError> {
        Ok(())
    }
}

/// Z2-072: where versions are the content, as in a bucket or an LMDB file, the consolidated document may become what it was while a writer
/// makes its copy. That the comparison holds does not prove that the copied document is still the newest.
#[cfg(feature = "lmdb")]
#[test]
fn a_copy_is_true_though_the_consolidated_document_became_what_it_was() {
    for dialect in DIALECTS {
        let folder = tempfile::tempdir().unwrap();
        let lmdb = || from_sync(zarr::stores::LmdbStore::open(folder.path().join("x.lmdb")));
        let store: Arc<dyn Store> = lmdb();
        let hierarchy = Hierarchy::create(store.clone(), of_dialect(dialect), &writing()).unwrap();
        array(&hierarchy, "/b");
        let set = |hierarchy: &Hierarchy, n: u64| {
            let b = hierarchy.array("/b").unwrap();
            b.update_attributes(|attributes| drop(attributes.insert("n", n))).unwrap();
        };
        set(&hierarchy, 1);
        hierarchy.consolidate().unwrap();
        // A writer marks the copy, sets 2, and reads it; another sets 1 again before the first has made its copy of 2.
        let other = Hierarchy::open(lmdb(), &writing()).unwrap();
        let act = Box::new(move || set(&other, 1));
        let observer = BeforeSecond { key: holder(dialect), changes: AtomicUsize::new(0), act };
        let observed = Arc::new(ObservedStore::new(lmdb(), observer));
        set(&Hierarchy::open(observed, &writing()).unwrap(), 2);
        let live = reading().consolidated(Consolidated::Ignore);
        let live = Hierarchy::open(store.clone(), &live).unwrap().array("/b").unwrap();
        assert_eq!(live.attributes().get("n").and_then(Json::as_u64), Some(1), "{dialect}");
        assert_eq!(hierarchy.check_consolidated().unwrap(), [], "{dialect}");
        let copied = out_of_copies(&store).array("/b").unwrap();
        assert_eq!(copied.attributes(), live.attributes(), "{dialect}");
        assert!(!get(&store, &holder(dialect)).unwrap().contains("stale"), "{dialect}");
    }
}

/// A hierarchy of a thousand arrays, each with attributes, and the calls that its store gets from now on.
fn thousand(dialect: Dialect) -> (Arc<dyn Store>, Records<String>) {
    let store: Arc<dyn Store> = from_sync(MemoryStore::new());
    let hierarchy = Hierarchy::create(store.clone(), of_dialect(dialect), &writing()).unwrap();
    for n in 0..1000 {
        array(&hierarchy, &format!("/g{}/a{n}", n % 10));
    }
    hierarchy.consolidate().unwrap();
    record(store, |call| Some(format!("{} {}", call.operation, call.key)))
}

/// F-014: in v3 the root's document is all that is fetched, whatever is asked of a thousand arrays. Who does not
/// say which dialect it is asks for the documents of all dialects at once, and for nothing else.
#[test]
fn a_thousand_arrays_cost_one_get() {
    let ask = |store: &Arc<dyn Store>, options: &OpenOptions| {
        let hierarchy = Hierarchy::open(store.clone(), options).unwrap();
        assert_eq!(hierarchy.tree(NodePath::root()).unwrap().len(), 1011);
        for n in 0..1000 {
            let array = hierarchy.array(path(&format!("/g{}/a{n}", n % 10))).unwrap();
            assert_eq!(array.shape(), [4]);
        }
    };
    let (store, calls) = thousand(Dialect::V3);
    ask(&store, &reading().dialect(Dialect::V3));
    assert_eq!(calls.take(), ["get zarr.json"]);
    ask(&store, &reading());
    let probes = ["zarr.json", ".zarray", ".zgroup", ".zattrs", ".zmetadata"];
    let probes = probes.map(|key| format!("get {key}"));
    assert_eq!(calls.take(), probes);
    let (store, calls) = thousand(Dialect::V2);
    ask(&store, &reading().dialect(Dialect::V2));
    assert_eq!(calls.take(), probes[1..]);
}

/// Z2-073, Z2-071: documents that are only in copies are read, and never lost.
#[test]
fn copies_may_be_all_there_is() {
    let (store, hierarchy) = small(Dialect::V2);
    hierarchy.consolidate().unwrap();
    for document in [".zgroup", "g/.zgroup", "g/a/.zarray", "b/.zarray"] {
        store.to_sync().erase(&key(document)).unwrap();
    }
    let read = Hierarchy::open(store.clone(), &reading()).unwrap();
    assert_eq!(tree(&read), ["/", "/b", "/g", "/g/a"]);
    assert_eq!(read.array(path("/b")).unwrap().shape(), [4]);
    let writer = Hierarchy::open(store.clone(), &writing()).unwrap();
    assert_eq!(writer.remove_consolidated().unwrap_err().kind(), ErrorKind::Argument);
    assert_eq!(writer.consolidate().unwrap_err().kind(), ErrorKind::Argument);
    assert!(get(&store, &holder(Dialect::V2)).is_some());
}

/// Z2-074, F-014: the copies of a group below the root are kept true, too; those of the root are when a group is
/// opened by its own path.
#[test]
fn copies_above_a_node_are_kept_true_wherever_it_is_opened() -> Result<()> {
    let folder = tempfile::tempdir().unwrap();
    for dialect in [Dialect::V2, Dialect::V3] {
        let url = folder.path().join(dialect.to_string());
        let url = url.to_str().unwrap();
        let hierarchy = zarr::create(url, dialect)?;
        array(&hierarchy, "/g/a");
        array(&hierarchy, "/b");
        hierarchy.consolidate()?;
        let g = Hierarchy::locate(&format!("{url}/g"), &reading())?.0;
        assert_eq!(tree(&g), ["/", "/a"]);
        // Copies in the group itself, as another program may put them there.
        let of_group = zarr::store::Store::name(&**g.store());
        let own =
            zarr::stores::FilesystemStore::from_url(&of_group).unwrap().access(Access::ReadWrite);
        Hierarchy::open(from_sync(own), &writing())?.consolidate()?;
        let a = zarr::open_with(&format!("{url}/g/a"), &writing())?.into_array()?;
        a.resize(&[7])?;
        assert_eq!(zarr::open(url)?.into_group()?.array("g/a")?.shape(), [7]);
        let g = Hierarchy::locate(&format!("{url}/g"), &reading())?.0;
        assert_eq!(g.array(path("/a"))?.shape(), [7]);
        assert!(g.check_consolidated()?.is_empty() && hierarchy.check_consolidated()?.is_empty());
    }
    Ok(())
}

/// F-013, T-30 … T-32: forms that zarr-python 3 has written, in any order, and siblings that differ only in case.
#[test]
fn copies_are_read_in_every_form_that_zarr_python_wrote() {
    let group = r#"{"zarr_format":3,"node_type":"group""#;
    let array = r#"{"zarr_format":3,"node_type":"array","shape":[2],"data_type":"uint64","chunk_grid":{"name":"regular","configuration":{"chunk_shape":[2]}},"chunk_key_encoding":{"name":"default"},"fill_value":18446744073709551615,"codecs":[{"name":"bytes","configuration":{"endian":"little"}}]}"#;
    let forms = [
        // A leaf group with its own copies, without, and with null.
        format!(
            r#"{group},"consolidated_metadata":{{"kind":"inline","must_understand":false,"metadata":{{}}}}}}"#
        ),
        format!("{group}}}"),
        format!(r#"{group},"consolidated_metadata":null}}"#),
    ];
    for form in forms {
        let entries =
            format!(r#""a/x":{array},"A":{form},"a":{form},"a/leaf":{form},"A/x":{array}"#);
        for must_understand in [r#""must_understand":false,"#, ""] {
            let root = format!(
                r#"{group},"consolidated_metadata":{{"kind":"inline",{must_understand}"metadata":{{{entries}}}}}}}"#
            );
            let store: Arc<dyn Store> = from_sync(MemoryStore::new());
            set(&store, &key("zarr.json"), &root);
            let read = Hierarchy::open(store, &reading()).unwrap();
            assert_eq!(tree(&read), ["/", "/A", "/A/x", "/a", "/a/leaf", "/a/x"]);
            let fill = read.array(path("/a/x")).unwrap().read::<u64>(..).unwrap();
            assert_eq!(fill, [u64::MAX; 2]);
        }
    }
    // T-30: null is read, and none is written.
    let store: Arc<dyn Store> = from_sync(MemoryStore::new());
    set(&store, &key("zarr.json"), &format!(r#"{group},"consolidated_metadata":null}}"#));
    let hierarchy = Hierarchy::open(store.clone(), &writing()).unwrap();
    assert_eq!(tree(&hierarchy), ["/"]);
    hierarchy.consolidate().unwrap();
    assert!(!get(&store, &key("zarr.json")).unwrap().contains("null"));
}

/// T-24: fill values of 64 bits, and T-16, T-17 those that are no number, come out of copies to the bit.
#[test]
fn fill_values_survive_the_copy() {
    for dialect in DIALECTS {
        let store: Arc<dyn Store> = from_sync(MemoryStore::new());
        let hierarchy = Hierarchy::create(store.clone(), of_dialect(dialect), &writing()).unwrap();
        let values = [
            ("int64", "-9223372036854775808", i64::MIN.to_ne_bytes().to_vec()),
            ("uint64", "18446744073709551615", u64::MAX.to_ne_bytes().to_vec()),
            ("float32", r#""NaN""#, f32::NAN.to_ne_bytes().to_vec()),
            ("float64", r#""-Infinity""#, f64::NEG_INFINITY.to_ne_bytes().to_vec()),
            ("float64", "-0.0", (-0.0f64).to_ne_bytes().to_vec()),
        ];
        for (n, (data_type, fill, _)) in values.iter().enumerate() {
            let builder = hierarchy.create_array(path(&format!("/a{n}"))).shape(&[1]);
            let fill = Json::parse(fill.as_bytes()).unwrap();
            builder.data_type_named(data_type).fill_value(fill).create().unwrap();
        }
        hierarchy.consolidate().unwrap();
        let document = get(&store, &holder(dialect)).unwrap();
        assert!(Json::parse(document.as_bytes()).is_ok());
        // As they were given: not rounded to doubles, not written as strings.
        let document: String = document.split_whitespace().collect();
        for digits in ["-9223372036854775808", "18446744073709551615"] {
            assert!(document.contains(&format!(r#""fill_value":{digits}"#)), "{document}");
        }
        let copied = out_of_copies(&store);
        for (n, (data_type, _, due)) in values.iter().enumerate() {
            let at = path(&format!("/a{n}"));
            let (live, copied) = (hierarchy.array(&at).unwrap(), copied.array(&at).unwrap());
            assert_eq!(copied.read_bytes(..).unwrap(), *due, "{dialect} {data_type}");
            assert_eq!(live.read_bytes(..).unwrap(), *due, "{dialect} {data_type}");
            assert_eq!(live.metadata().fill_value, copied.metadata().fill_value);
        }
    }
}

/// F-013, Z2-070: copies of a form that is not known are passed over, unless they were asked for.
#[test]
fn broken_copies_are_passed_over() {
    let bad = [
        (Dialect::V2, r#"{"metadata":{},"zarr_consolidated_format":2}"#),
        (Dialect::V2, r#"{"metadata":[],"zarr_consolidated_format":1}"#),
        (Dialect::V2, r#"{"metadata":{"../x":{}},"zarr_consolidated_format":1}"#),
        (Dialect::V2, "{"),
        (
            Dialect::V3,
            r#"{"zarr_format":3,"node_type":"group","consolidated_metadata":{"kind":"elsewhere","must_understand":false,"metadata":{}}}"#,
        ),
        (
            Dialect::V3,
            r#"{"zarr_format":3,"node_type":"group","consolidated_metadata":{"kind":"inline","must_understand":false}}"#,
        ),
    ];
    for (dialect, text) in bad {
        let (store, _) = small(dialect);
        set(&store, &holder(dialect), text);
        for options in [reading(), writing()] {
            let read = Hierarchy::open(store.clone(), &options).unwrap();
            assert_eq!(tree(&read), ["/", "/b", "/g", "/g/a"], "{text}");
            assert_eq!(read.warnings().len(), 1, "{text}");
            array(&Hierarchy::open(store.clone(), &writing()).unwrap(), "/new");
            Hierarchy::open(store.clone(), &writing()).unwrap().erase(path("/new")).unwrap();
        }
        assert_eq!(get(&store, &holder(dialect)).unwrap(), text, "left alone");
        for options in [reading().strict(), reading().consolidated(Consolidated::Use)] {
            let refused = Hierarchy::open(store.clone(), &options).unwrap_err();
            assert_eq!(refused.kind(), ErrorKind::InvalidMetadata, "{text}");
        }
        // Consolidating again mends them.
        Hierarchy::open(store.clone(), &writing()).unwrap().consolidate().unwrap();
        assert_eq!(tree(&out_of_copies(&store)), ["/", "/b", "/g", "/g/a"]);
    }
}

/// Z2-070, F-013: a group below the root may have its own copies; a copy of the hierarchy keeps them,
/// and changes below keep them true. A draft has them at the root only.
#[test]
fn copies_keep_the_consolidated_metadata_of_groups() {
    for from in [Dialect::V2, Dialect::V3] {
        let (store, hierarchy) = small(from);
        let group = hierarchy.group(path("/g")).unwrap();
        assert!(!group.is_consolidated().unwrap());
        assert_eq!(group.consolidate().unwrap(), 2);
        assert!(group.is_consolidated().unwrap() && !hierarchy.is_consolidated().unwrap());
        array(&hierarchy, "/g/later");
        let held = get(&store, &group_holder(from)).expect("it is there");
        assert!(held.contains("later"), "{held}");
        for to in DIALECTS {
            let target = from_sync(MemoryStore::new());
            let target = Hierarchy::create(target, of_dialect(to), &writing()).unwrap();
            let root = hierarchy.node(NodePath::root()).unwrap();
            let progress =
                zarr::tools::copy(&root, &target, NodePath::root(), &Default::default()).unwrap();
            assert!(!target.is_consolidated().unwrap());
            let group = target.group(path("/g")).unwrap();
            let keeps = to != Dialect::Draft;
            assert_eq!(group.is_consolidated().unwrap(), keeps, "{from:?} to {to:?}");
            let told = progress.not_kept.iter().any(|what| what.starts_with("/g: consolidated"));
            assert_eq!(told, !keeps, "{:?}", progress.not_kept);
            if keeps {
                let held = get(target.store(), &group_holder(to)).expect("it is there");
                assert!(held.contains("later"), "{held}");
            }
        }
    }
}

/// Copies that make a document larger than readers take are not written: in v3 they would be in the document of the root, and
/// no reader could open the hierarchy any more.
#[test]
fn copies_that_no_reader_would_take_are_not_written() {
    for dialect in DIALECTS {
        let (store, _) = small(dialect);
        let before = get(&store, &holder(dialect));
        let mut options = writing();
        // Each document is smaller, all together are not.
        options.options.limits.document = 1000;
        let hierarchy = Hierarchy::open(store.clone(), &options).unwrap();
        for n in 0..4 {
            let new = hierarchy.create_array(format!("/more{n}")).shape(&[4]).chunks(&[2]);
            new.data_type_named("int32").create().unwrap();
        }
        let error = hierarchy.consolidate().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Limit, "{dialect}: {error}");
        assert!(error.to_string().contains("consolidate the groups below"), "{error}");
        assert_eq!(get(&store, &holder(dialect)), before);
        Hierarchy::open(store, &options).unwrap().nodes("/").unwrap();
    }
}

/// Once the copies cannot fit, no further document is read: of a million nodes all would be, and be kept.
#[test]
fn documents_that_cannot_all_be_copied_are_not_all_read() {
    for dialect in [Dialect::V2, Dialect::V3, Dialect::Draft] {
        let note = |call: &Call<'_>| (call.operation == "get").then(|| call.key.to_owned());
        let (store, reads) = record(from_sync(MemoryStore::new()), note);
        let mut options = writing();
        options.options.limits.document = 20_000;
        let hierarchy = Hierarchy::create(store, of_dialect(dialect), &options).unwrap();
        let title = Json::from("é\n".repeat(50));
        let attributes: Object = [("title".to_owned(), title)].into_iter().collect();
        for n in 0..2000 {
            hierarchy.create_group(path(&format!("/g{n}")), attributes.clone()).unwrap();
        }
        reads.take();
        let error = hierarchy.consolidate().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Limit, "{dialect}: {error}");
        assert!(error.to_string().contains("consolidate the groups below"), "{error}");
        let name =
            |key: String| key.split('/').find(|name| name.starts_with('g')).map(str::to_owned);
        let read: std::collections::BTreeSet<_> =
            reads.take().into_iter().filter_map(name).collect();
        assert!((50..1500).contains(&read.len()), "{dialect}: documents of {} groups", read.len());
    }
}
