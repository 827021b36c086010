//! The same names for callers that wait, on the same data.
#![cfg(feature = "filesystem")]

#[cfg(feature = "rayon")]
use std::sync::Arc;

use zarr::aio::Hierarchy;
use zarr::{Dialect, NodePath, Object, OpenOptions, Result};

#[tokio::test]
async fn what_is_written_waiting_reads_back_blocking() -> Result<()> {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let url = folder.path().join("x.zarr").to_str().expect("a plain path").to_owned();
    let options = OpenOptions::new(zarr::standard()).read_write();
    let store = options.store(&url)?;
    let hierarchy =
        Hierarchy::create(store, zarr::format::of_dialect(Dialect::V3), &options).await?;
    let path: NodePath = "/g/a".parse()?;
    let array = hierarchy
        .create_array(&path)
        .shape(&[20, 30])
        .chunks(&[6, 7])
        .data_type_named("float64")
        .codec(zarr::tools::codec("gzip:1")?)
        .create()
        .await?;
    let data: Vec<f64> = (0..600).map(f64::from).collect();
    array.write(.., data.clone()).await?;
    assert_eq!(array.read::<f64>(..).await?, data);
    assert_eq!(array.read::<f64>((1, 2..4)).await?, [32.0, 33.0]);
    assert_eq!(array.stored_chunks().await?, 20);

    // Parts of the same chunks, many at a time: every element arrives.
    let writers = (0..20u64).map(|row| {
        let array = array.clone();
        tokio::spawn(async move { array.write((row, ..), vec![row as f64; 30]).await })
    });
    for writer in writers.collect::<Vec<_>>() {
        writer.await.expect("no panic")?;
    }
    let want: Vec<f64> = (0..600).map(|i| f64::from(i / 30)).collect();
    assert_eq!(zarr::open(&url)?.into_group()?.array("g/a")?.read::<f64>(..)?, want);

    // Memory is handed over and comes back; chunks are had as wholes; appends reserve their place.
    let (row, result) = array.read_into((3, ..), vec![0.0; 30]).await;
    result?;
    assert_eq!(row, [3.0; 30]);
    let (row, result) = array.read_into((3, ..), row[1..].to_vec()).await;
    assert!(row.len() == 29 && result.is_err());
    let mut chunk = array.chunk(&[0, 4])?;
    assert_eq!(chunk.read::<f64>().await?.len(), 6 * 2);
    assert!(chunk.encoded().await?.is_some());
    chunk.erase().await?;
    assert_eq!(array.read::<f64>((5, 27..)).await?, [5.0, 0.0, 0.0]);
    assert_eq!(array.chunks(..)?.count(), 4 * 5);
    assert_eq!(array.append(0, vec![9.0; 60]).await?, 20);
    assert_eq!(array.read::<f64>((19.., 0)).await?, [19.0, 9.0, 9.0]);
    let node = zarr::aio::open(&url).await?;
    assert_eq!(node.into_group()?.array("g/a").await?.shape(), [22, 30]);

    array.update_attributes(|a| drop(a.insert("units", "K"))).await?;
    array.resize(&[3, 30]).await?;
    assert_eq!(hierarchy.tree(&NodePath::root()).await?.len(), 3);
    assert_eq!(hierarchy.array(&path).await?.shape(), [3, 30]);
    let group = hierarchy.create_group("/h", Object::new()).await?;
    assert!(group.children().await?.is_empty());
    hierarchy.erase(&path).await?;
    assert!(hierarchy.array(&path).await.is_err());
    Ok(())
}

/// A blocking call in the middle of an async runtime neither panics nor deadlocks.
#[tokio::test(flavor = "current_thread")]
async fn blocking_calls_work_inside_a_runtime() -> Result<()> {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let url = folder.path().join("x.zarr").to_str().expect("a plain path").to_owned();
    let array = zarr::create(&url, Dialect::V2)?
        .create_array("/a")
        .shape(&[100])
        .chunks(&[7])
        .data_type_named("u2")
        .create()?;
    array.write(.., &(0..100).collect::<Vec<u16>>())?;
    assert_eq!(array.read::<u16>(98..)?, [98, 99]);
    Ok(())
}

/// A runtime may move the future of each call to another thread.
#[tokio::test(flavor = "multi_thread")]
async fn each_call_can_run_in_a_spawned_task() -> Result<()> {
    let options = OpenOptions::new(zarr::standard()).read_write();
    let work = async move {
        let hierarchy = zarr::aio::create_with("memory://", Dialect::V3, &options).await?;
        let group = hierarchy.create_group("/g", Object::new()).await?;
        let array = hierarchy.create_array("/g/a").shape(&[4]).data_type_named("i4");
        let array = array.create().await?;
        array.append(0, vec![1, 2]).await?;
        array.update_attributes(|attributes| drop(attributes.insert("a", 1u64))).await?;
        array.resize(&[5]).await?;
        array.refresh().await?;
        let root = NodePath::root();
        assert_eq!(hierarchy.nodes(&root).await?.len(), 3);
        assert_eq!(hierarchy.tree(&root).await?.len(), 3);
        assert_eq!(hierarchy.children(&root).await?.len(), 1);
        assert_eq!(group.children().await?.len(), 1);
        assert_eq!(hierarchy.consolidate().await?, 3);
        assert!(hierarchy.check_consolidated().await?.is_empty());
        assert!(hierarchy.is_consolidated().await? && hierarchy.remove_consolidated().await?);
        assert!(hierarchy.foreign_keys(&root).await?.is_empty());
        assert!(hierarchy.interrupted_keys(&root).await?.is_empty());
        let elements = array.read::<i32>(..).await;
        hierarchy.erase("/g").await?;
        hierarchy.flush().await?;
        assert!(array.read::<i32>(..).await.is_err(), "it is gone");
        elements
    };
    assert_eq!(tokio::spawn(work).await.expect("no panic")?, [0, 0, 0, 0, 1]);
    Ok(())
}

/// Waiting on the only thread of the pool that is to do the work does not wait for itself.
#[cfg(feature = "rayon")]
#[test]
fn waiting_inside_a_pool_of_one_thread_does_not_deadlock() {
    let (send, receive) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let pool =
            Arc::new(rayon::ThreadPoolBuilder::new().num_threads(1).build().expect("a pool"));
        let mut options = OpenOptions::new(zarr::standard()).read_write();
        options.options.pool = Some(pool.clone());
        let work = async {
            let hierarchy = zarr::aio::create_with("memory://", Dialect::V3, &options).await?;
            let path: NodePath = "/a".parse()?;
            let array =
                hierarchy.create_array(&path).shape(&[16]).chunks(&[4]).data_type_named("i4");
            let array = array.create().await?;
            array.write(1..15, vec![3; 14]).await?;
            array.read::<i32>(..).await
        };
        let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
        let found = pool.install(|| runtime.block_on(work));
        send.send(found.map(|found| found.iter().sum::<i32>())).expect("somebody waits");
    });
    let sum = receive.recv_timeout(std::time::Duration::from_secs(30)).expect("no deadlock");
    assert_eq!(sum.expect("no error"), 3 * 14);
}
