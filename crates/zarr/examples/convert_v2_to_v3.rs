//! Copies a hierarchy from v2 to final v3, with other chunks and another codec.

use zarr::Dialect;
use zarr::tools::CopyOptions;

fn main() -> zarr::Result<()> {
    let old = zarr::create("memory://old", Dialect::V2)?;
    let array = old
        .create_array("/group/image")
        .shape(&[512, 512])
        .chunks(&[100, 100])
        .data_type_named("<u2")
        .f_order(true)
        .codec(zarr::tools::codec("zlib:5")?)
        .create()?;
    array.write(.., &(0..512 * 512).map(|i| (i % 977) as u16).collect::<Vec<_>>())?;

    let new = zarr::create("memory://new", Dialect::V3)?;
    let options = CopyOptions {
        chunks: Some(vec![256, 256]),
        codecs: Some(vec!["zstd:3".into()]),
        progress: Some(&|p| eprintln!("{} of {} bytes", p.bytes_done, p.bytes_total)),
        ..CopyOptions::default()
    };
    zarr::tools::copy(&old.node("/")?, &new, "/", &options)?;

    let copy = new.array("/group/image")?;
    assert_eq!(copy.read::<u16>(..)?, array.read::<u16>(..)?);
    println!("{} chunks of {:?}, equal to the bit", copy.chunks(..)?.count(), copy.chunk_shape());
    Ok(())
}
