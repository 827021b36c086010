//! Shows what the program can do, with an image that another program wrote.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use clap::Args;
use sha2::{Digest, Sha256};
use zarr::tools::CopyOptions;
use zarr::{Array, Dialect, Node};

use super::{Out, info, tree};
use crate::calls::Calls;
use crate::failure::Failure;
use crate::human;
use crate::session::{Guard, Session, Target, WriteOptions};

/// A v2 hierarchy that zarr-python wrote; `assets/README.md` says what of.
const IMAGE: &[u8] = include_bytes!("../../assets/astronaut.tar");

/// SHA-256 of its elements, C order, as zarr-python read them.
const SHA256: &str = "b7888957bf0a7ca150a1dc1d8159c5a474ad55e2322bea62cb1d1a505ff351f3";

#[derive(Debug, Args)]
#[command(before_help = "\
Examples:
  zarr demo
  zarr demo --into /tmp/demo",
    after_long_help = crate::details("\
It needs neither network nor other files: the image comes with the program. The folder is kept, so that
you can play with it. The exit code is 1 if the elements were not the same everywhere."))]
pub(crate) struct Demo {
    /// Where to put the hierarchies [default: a new temporary folder]
    #[arg(long, value_name = "FOLDER")]
    into: Option<PathBuf>,
}

impl Demo {
    pub fn run(&self, session: &Session, out: Out<'_>) -> Result<(), Failure> {
        let folder = self.folder()?;
        unpack(&folder)?;
        let path = |name: &str| -> Result<String, Failure> {
            let path = folder.join(name).into_os_string().into_string();
            path.map_err(|_| {
                Failure::usage("the folder's name is not UTF-8; choose another --into")
            })
        };
        let v2 = path("image.zarr")?;
        let draft = path("image-draft-2020.zarr")?;
        let v3 = path("image-v3.zarr")?;

        writeln!(out, "1. An image that zarr-python wrote, in v2\n")?;
        writeln!(out, "$ zarr tree {v2}")?;
        tree::Tree::new(&Target::new(&v2, "/")).run(session, out)?;
        writeln!(out, "\n$ zarr info {v2}/astronaut")?;
        let array = open(session, &v2, "astronaut")?.into_array()?;
        info::describe_array(&array, out)?;
        show(session, &v2, out)?;

        writeln!(out, "\n2. Converted to the v3 draft of 2020, and from there to v3\n")?;
        for (from, to, dialect) in [(&v2, &draft, Dialect::Draft), (&draft, &v3, Dialect::V3)] {
            writeln!(out, "$ zarr copy {from} {to} --to {dialect}")?;
            let source = open(session, from, "/")?;
            let care = WriteOptions { guard: Guard::On, no_lock: false, sync: false };
            let target = Target::new(to, "/");
            let place = session.place(&target, Some(dialect.into()), dialect, &care)?;
            zarr::tools::copy(&source, &place.hierarchy, &place.path, &CopyOptions::default())?;
        }
        writeln!(out, "\n$ zarr info {v3}/astronaut")?;
        let array = open(session, &v3, "astronaut")?.into_array()?;
        info::describe_array(&array, out)?;

        writeln!(out, "\n3. Read back from all three\n")?;
        let mut equal = true;
        for url in [&v2, &draft, &v3] {
            let array = open(session, url, "astronaut")?.into_array()?;
            let elements = array.read_le_bytes(..)?;
            let hash = hex(&Sha256::digest(&elements));
            let same = hash == SHA256;
            equal &= same;
            let verdict = if same { "same" } else { "NOT the same" };
            let format = array.hierarchy().format_name();
            writeln!(
                out,
                "{format:<11} {} sha256 {hash} {verdict}",
                human::size(elements.len() as u64)
            )?;
        }
        if !equal {
            let why = format!("error: zarr-python read elements with sha256 {SHA256}");
            return Err(Failure::No(why));
        }
        writeln!(out, "\nEqual, and equal to what zarr-python read.")?;
        let shards = path("image-shards.zarr")?;
        shard(session, &v3, &shards, out)?;
        speed(&array, &path("tiled.zarr")?, &folder, out)?;
        next(&session.program, &v2, &v3, &folder, out)
    }

    fn folder(&self) -> Result<PathBuf, Failure> {
        let failed = |e: io::Error| Failure::Stream("cannot make a folder for the demo", e);
        match &self.into {
            None => {
                let folder = tempfile::Builder::new().prefix("zarr-demo-").tempdir();
                Ok(folder.map_err(failed)?.keep())
            }
            Some(folder) => {
                std::fs::create_dir_all(folder).map_err(failed)?;
                if folder.read_dir().map_err(failed)?.next().is_some() {
                    let why = format!("{} is not empty; choose another --into", folder.display());
                    return Err(Failure::Usage(why));
                }
                std::path::absolute(folder).map_err(failed)
            }
        }
    }
}

/// Shows the image, if standard output is a terminal.
#[cfg(feature = "plot")]
fn show(session: &Session, v2: &str, out: Out<'_>) -> Result<(), Failure> {
    use clap::Parser;

    if !io::IsTerminal::is_terminal(&io::stdout()) {
        return Ok(());
    }
    writeln!(out, "\n$ zarr plot {v2} --path astronaut")?;
    out.flush()?;
    let line = ["zarr", "plot", v2, "--path", "astronaut"];
    let cli = crate::Cli::try_parse_from(line).map_err(|e| Failure::usage(e.to_string()))?;
    super::run(&cli.command, session, out)
}

#[cfg(not(feature = "plot"))]
fn show(_: &Session, _: &str, _: Out<'_>) -> Result<(), Failure> {
    Ok(())
}

/// Makes one object of all chunks, and reads a part of it.
fn shard(session: &Session, v3: &str, shards: &str, out: Out<'_>) -> Result<(), Failure> {
    writeln!(out, "\n4. All chunks in one object, a shard, of which a region is read\n")?;
    writeln!(out, "$ zarr copy {v3} {shards} --chunks 50,50,3 --shards 300,300,3 --codec zstd:5")?;
    let source = open(session, v3, "/")?;
    let care = WriteOptions { guard: Guard::On, no_lock: false, sync: false };
    let target = Target::new(shards, "/");
    let place = session.place(&target, Some(Dialect::V3.into()), Dialect::V3, &care)?;
    let options = CopyOptions {
        chunks: Some(vec![50, 50, 3]),
        shards: Some(vec![300, 300, 3]),
        codecs: Some(vec!["zstd:5".into()]),
        ..CopyOptions::default()
    };
    zarr::tools::copy(&source, &place.hierarchy, &place.path, &options)?;
    writeln!(out, "$ zarr get {shards}/astronaut --region 60:64,100:104,0 --format csv --verbose")?;
    let calls = Arc::new(Calls::default());
    let counted = calls.clone();
    let options = session.options()?.wrap(move |store| {
        let counted = counted.clone();
        zarr::stores::log(store, move |call| counted.count(call))
    });
    let array = zarr::tools::find_node(shards, "astronaut", &options)?.into_array()?;
    let elements = array.read_le_bytes((60..64, 100..104, 0..1))?;
    for row in elements.chunks(4) {
        let row: Vec<String> = row.iter().map(u8::to_string).collect();
        writeln!(out, "{}", row.join(","))?;
    }
    let stored = array.stored_size()?;
    writeln!(out, "{}; {} are stored", calls.summary(), human::size(stored.bytes))?;
    Ok(())
}

/// How often the image is repeated along its first two axes to make something large.
const TILES: usize = 12;

/// Writes and reads something large, beside a plain file of the same elements.
/// What fails where the disk is full.
const PLAIN_FILE: &str = "cannot write the plain file";
fn speed(image: &Array, url: &str, folder: &Path, out: Out<'_>) -> Result<(), Failure> {
    let elements = image.read_le_bytes(..)?;
    let row = elements.len() / 300;
    let band: Vec<u8> = elements.chunks(row).flat_map(|row| row.repeat(TILES)).collect();
    let large = band.repeat(TILES);
    let size = human::size(large.len() as u64);
    writeln!(
        out,
        "\n5. The image {TILES} × {TILES} times, {size}, beside a plain file of the same elements\n"
    )?;
    let side = 300 * TILES as u64;
    let hierarchy = zarr::create(url, Dialect::V3)?;
    let mut tell = |what: &str, write: f64, read: f64, stored: u64| {
        let stored = human::size(stored);
        writeln!(out, "{what:<18} written in {write:.3} s, read in {read:.3} s, {stored}")
    };
    let file = folder.join("plain.bin");
    let (written, ()) =
        timed(|| std::fs::write(&file, &large).map_err(|e| Failure::Stream(PLAIN_FILE, e)))?;
    let (read, bytes) = timed(|| std::fs::read(&file).map_err(|e| Failure::Stream(PLAIN_FILE, e)))?;
    tell("plain file", written, read, bytes.len() as u64)?;
    let _ = std::fs::remove_file(file);
    for (what, path, codec) in [("Zarr", "raw", None), ("Zarr, zstd:1", "zstd", Some("zstd:1"))] {
        let array = hierarchy.create_array(path).shape(&[side, side, 3]).chunks(&[600, 600, 3]);
        let array = array.data_type_named("uint8");
        let array = match codec {
            Some(codec) => array.codec(zarr::tools::codec(codec)?),
            None => array,
        };
        let array = array.create()?;
        let (written, ()) = timed(|| Ok(array.write_le_bytes(.., &large)?))?;
        let (read, back) = timed(|| Ok(array.read_le_bytes(..)?))?;
        if back != large {
            return Err(Failure::No("error: what was read is not what was written".into()));
        }
        tell(what, written, read, array.stored_size()?.bytes)?;
    }
    if cfg!(debug_assertions) {
        writeln!(out, "This build is not optimized; a release build is faster.")?;
    }
    Ok(writeln!(out)?)
}

/// The seconds that something took, and its result.
fn timed<T>(run: impl FnOnce() -> Result<T, Failure>) -> Result<(f64, T), Failure> {
    let began = Instant::now();
    let result = run()?;
    Ok((began.elapsed().as_secs_f64(), result))
}

fn unpack(folder: &Path) -> Result<(), Failure> {
    let unpacked = tar::Archive::new(IMAGE).unpack(folder);
    unpacked.map_err(|e| Failure::Stream("cannot unpack the image", e))
}

fn open(session: &Session, url: &str, path: &str) -> Result<Node, Failure> {
    session.open(&Target::new(url, path))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The text as one word of a shell.
fn word(text: &str) -> String {
    if text.chars().all(|c| c.is_ascii_alphanumeric() || "/._-:\\".contains(c)) {
        text.to_owned()
    } else {
        format!("'{}'", text.replace('\'', "'\\''"))
    }
}

fn next(program: &str, v2: &str, v3: &str, folder: &Path, out: Out<'_>) -> Result<(), Failure> {
    let zarr = word(program);
    let array = word(&format!("{v3}/astronaut"));
    Ok(write!(
        out,
        "\
Next, try:
  {zarr} get {array} --region 60,100:106,: --format csv
  {zarr} get {array} --format npy > {npy}
  {zarr} attrs {array} --set 'colours=[\"red\",\"green\",\"blue\"]'
  {zarr} copy {v2} {few} --to v3 --chunks 300,300,3 --codec zstd:9
  {zarr} info {array} --trace
  {zarr} plot {array} -o {png}
  {zarr} serve {v2}
  rm -r {folder}
",
        npy = word_of_file(folder, "astronaut.npy"),
        png = word_of_file(folder, "astronaut.png"),
        v2 = word(v2),
        few = word_of_file(folder, "few-chunks.zarr"),
        folder = word(&folder.to_string_lossy()),
    )?)
}

/// A file of the folder, as a word of a command line.
fn word_of_file(folder: &Path, name: &str) -> String {
    word(&folder.join(name).to_string_lossy())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_survive_a_shell() {
        assert_eq!(word("/tmp/x-1.zarr"), "/tmp/x-1.zarr");
        assert_eq!(word("/tmp/my data"), "'/tmp/my data'");
        assert_eq!(word("it's"), r"'it'\''s'");
    }
}
