//! Several workers write one array: by a plan that keeps their chunks apart, and without one, where the
//! guard keeps every element of the chunks they share.

fn main() -> zarr::Result<()> {
    let hierarchy = zarr::create("memory://write_in_parallel", zarr::Dialect::V3)?;
    let array = hierarchy
        .create_array("/a")
        .shape(&[1000, 100])
        .chunks(&[64, 100])
        .data_type_named("int32")
        .create()?;

    // A plan: regions along chunk borders, so that no two workers touch the same chunk.
    std::thread::scope(|scope| {
        let plan = array.write_plan(.., 4)?;
        let workers: Vec<_> = plan
            .into_iter()
            .map(|region| {
                let array = &array;
                scope.spawn(move || {
                    let count = region.element_count().unwrap_or(0) as usize;
                    println!("one worker writes {region}");
                    array.write(&region, &vec![1; count])
                })
            })
            .collect();
        workers.into_iter().try_for_each(|worker| worker.join().expect("no panic"))
    })?;

    // No plan: every worker a row, rows of one chunk side by side. Nothing is lost.
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..16u64)
            .map(|row| (row, &array))
            .map(|(row, array)| scope.spawn(move || array.write((row, ..), &[2; 100])))
            .collect();
        workers.into_iter().try_for_each(|worker| worker.join().expect("no panic"))
    })?;
    let sum: i64 = array.read::<i32>(..)?.into_iter().map(i64::from).sum();
    println!("sum {sum}, as it should be: {}", 1000 * 100 + 16 * 100);
    Ok(())
}
