//! Creates an Icechunk repository, commits an array, changes it in a second commit, and reads both.

use zarr::{DataType, OpenOptions};
use zarr_icechunk::{MAIN, Repository, Version};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = std::env::temp_dir().join(format!("zarr-icechunk-example-{}", std::process::id()));
    let repository = Repository::create(&folder)?;
    let options = OpenOptions::new(zarr::standard());

    let session = repository.writable_session(MAIN)?;
    let array = session.hierarchy(&options)?.create_array("/ocean/temperature");
    let array = array.shape([4, 6]).chunks([2, 6]).data_type(DataType::Float32).create()?;
    array.write(.., &[20.5f32; 24])?;
    let first = session.commit("temperatures")?;
    repository.create_tag("v1", &first)?;

    // A session that is committed only reads. The next one may meet other committers, whose changes it keeps.
    let session = repository.writable_session(MAIN)?;
    let array = session.hierarchy(&options)?.array("/ocean/temperature")?;
    array.write((0, ..), &[21.0f32; 6])?;
    session.commit_with_rebase("the first row", 10)?;

    for version in [Version::Tag("v1".into()), Version::Branch(MAIN.into())] {
        let session = repository.readonly_session(&version)?;
        let array = session.hierarchy(&options)?.array("/ocean/temperature")?;
        println!("{version}: the first element is {}", array.read::<f32>((0, 0..1))?[0]);
    }
    for commit in repository.history(&Version::Branch(MAIN.into()))? {
        println!("{} {}", commit.id, commit.message);
    }
    // `zarr` reads the branch `main` without this crate.
    let group = zarr::open(&folder)?.into_group()?;
    println!("zarr::open: {:?}", group.array("ocean/temperature")?.read::<f32>((0..2, 0))?);
    std::fs::remove_dir_all(&folder)?;
    Ok(())
}
