//! Shows what the program can do, with an image that another program wrote.

use std::io;
use std::path::{Path, PathBuf};

use clap::Args;
use sha2::{Digest, Sha256};
use zarr::{CopyOptions, Dialect, Node};

use super::{Out, info, tree};
use crate::failure::Failure;
use crate::human;
use crate::session::{Care, Guard, Session, Target};

/// A v2 hierarchy that zarr-python wrote; `assets/README.md` says what of.
const IMAGE: &[u8] = include_bytes!("../../assets/astronaut.tar");

/// SHA-256 of its elements, C order, as zarr-python read them.
const SHA256: &str = "b7888957bf0a7ca150a1dc1d8159c5a474ad55e2322bea62cb1d1a505ff351f3";

/// Convert a real image from v2 to the draft of 2020 to v3, prove that nothing changed, look around
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  zarr demo
  zarr demo --into /tmp/demo

It needs neither network nor other files: the image comes with the program. The folder stays, to play
with. The exit code is 1 if the elements were not the same everywhere.")]
pub(crate) struct Demo {
    /// Where to put the hierarchies; a new temporary folder, if not given
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
        tree::Tree::of(&v2).run(session, out)?;
        writeln!(out, "\n$ zarr info {v2}/astronaut")?;
        let array = open(session, &v2, "astronaut")?.into_array()?;
        info::describe_array(&array, out)?;

        writeln!(out, "\n2. Converted to the v3 draft of 2020, and from there to v3\n")?;
        for (from, to, dialect) in [(&v2, &draft, Dialect::Draft), (&draft, &v3, Dialect::V3)] {
            writeln!(out, "$ zarr copy {from} {to} --to {dialect}")?;
            let source = open(session, from, "/")?;
            let care = Care { guard: Guard::On, no_lock: false, sync: false };
            let target = Target { target: to.clone(), path: "/".into() };
            let place = session.place(&target, Some(dialect.into()), dialect, &care)?;
            zarr::copy(&source, &place.hierarchy, &place.path, &CopyOptions::default())?;
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
        writeln!(out, "\nEqual, and equal to what zarr-python read.\n")?;
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

fn unpack(folder: &Path) -> Result<(), Failure> {
    let unpacked = tar::Archive::new(IMAGE).unpack(folder);
    unpacked.map_err(|e| Failure::Stream("cannot unpack the image", e))
}

fn open(session: &Session, url: &str, path: &str) -> Result<Node, Failure> {
    session.open(&Target { target: url.to_owned(), path: path.to_owned() })
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The text as one word of a shell.
fn word(text: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-:\\".contains(c);
    if text.chars().all(plain) {
        text.to_owned()
    } else {
        format!("'{}'", text.replace('\'', "'\\''"))
    }
}

fn next(program: &str, v2: &str, v3: &str, folder: &Path, out: Out<'_>) -> Result<(), Failure> {
    let zarr = word(program);
    let array = word(&format!("{v3}/astronaut"));
    let inside = |name: &str| word(&folder.join(name).to_string_lossy());
    Ok(write!(
        out,
        "\
Next, try:
  {zarr} get {array} --region 60,100:106,: --format csv
  {zarr} get {array} --format npy > {npy}
  {zarr} attrs {array} --set 'colours=[\"red\",\"green\",\"blue\"]'
  {zarr} copy {v2} {few} --to v3 --chunks 300,300,3 --codec zstd:9
  {zarr} info {array} --trace
  rm -r {folder}
",
        npy = inside("astronaut.npy"),
        v2 = word(v2),
        few = inside("few-chunks.zarr"),
        folder = word(&folder.to_string_lossy()),
    )?)
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
