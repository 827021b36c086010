//! `zarr refs`: writes references to the chunks of files, so that they are read as one hierarchy.

use std::io::BufWriter;
use std::path::{Path, PathBuf};

use clap::Args;
use zarr::r#virtual::references::{
    ConvertTimes, DEFAULT_INLINE_BYTES, JoinOptions, Joined, TargetUrls, join, places,
};
use zarr::{Dialect, Error, Json, MetadataError, Object};

use super::Out;
use crate::failure::Failure;
use crate::human;
use crate::parse;
use crate::session::Session;
use crate::whole_file::{self, WholeFile};

#[derive(Debug, Args)]
#[command(before_help = "\
Examples:
  zarr refs jan.nc -o jan.json
  zarr refs jan.nc feb.nc -o all.json
  zarr refs jan.nc feb.nc -o all.json --axis time --relative --overwrite
  zarr refs jan.nc feb.nc -o some.json --exclude station_name --no-verify
  zarr refs jan.nc -o jan-v2.json --to v2            for GDAL and zarr-python 2",
    after_long_help = crate::details("\
The reference file is JSON of version 1 as kerchunk writes it: for each chunk it has the file, the offset and the length, and no
data are copied. zarr, fsspec with zarr-python and xarray, and VirtualiZarr read it. SOURCE may also be a Zarr hierarchy of v2 or v3.

Several files are joined in the order in which they are given. Coordinates along the joined dimension are written into the
reference file. Attributes are those of the first file. Everything else must be equal: types, codecs, fill values, units, and the
elements of arrays without that dimension. Each file but the last must have whole chunks along the dimension; uncompressed chunks
are split where that makes them line up, and documents of v3 can say that the chunks of the files have different lengths, which few
other programs read.

Times that count from another date in each file, as in \"days since 2001-02-01\", are converted with --decode-times.

Before the reference file appears it is read and compared with the files: all of an array that has up to 64 chunks, and 64 chunks,
spread evenly, of a larger one.

Arrays whose elements cannot be read in place, for example because a filter is not supported, are left out and named; with --strict
that is an error."))]
pub(crate) struct Refs {
    /// Paths or URLs of files
    #[arg(value_name = "SOURCE", required = true)]
    files: Vec<String>,
    /// Reference file, which appears once it is complete; - is standard output
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
    /// Replace the file of --output if there is one, but never one of the sources
    #[arg(long)]
    overwrite: bool,
    /// Dimension along which files are joined
    ///
    /// By default the one whose lengths or coordinates differ
    #[arg(long, alias = "concat", value_name = "NAME")]
    axis: Option<String>,
    /// Write documents of this format, v2 or v3 [default: v3, or v2 for a hierarchy of v2]
    #[arg(long, alias = "zarr-format", value_name = "FORMAT", value_parser = parse::migrated)]
    to: Option<Dialect>,
    /// Write chunks of at most this many bytes into the reference file; 0 for none
    #[arg(long, value_name = "SIZE", value_parser = parse::size, default_value_t = DEFAULT_INLINE_BYTES)]
    inline: u64,
    /// Name local files by their paths from the folder of the reference file
    ///
    /// They can then be moved together. zarr reads such references, and so does GDAL; fsspec begins at the folder of its
    /// process
    #[arg(long)]
    relative: bool,
    /// Leave out the node of this path, and those below
    #[arg(long, value_name = "PATH")]
    exclude: Vec<String>,
    /// Do not compare the files with each other, nor what the references lead to
    ///
    /// The elements of arrays without the joined dimension are taken from the first file
    #[arg(long)]
    no_verify: bool,
    /// Convert times along the dimension, and their bounds, to the units of the first file
    ///
    /// They are written into the reference file
    #[cfg(feature = "plot")]
    #[arg(long)]
    decode_times: bool,
}

impl Refs {
    pub fn run(&self, session: &Session, out: Out<'_>) -> Result<(), Failure> {
        let to_stdout = self.output.as_os_str() == "-";
        if to_stdout && self.relative {
            let why = "--relative needs the folder of the reference file; give -o FILE";
            return Err(Failure::usage(why));
        }
        if !to_stdout {
            self.check_output(session)?;
        }
        session.show_calls();
        let options = JoinOptions {
            axis: self.axis.clone(),
            inline: self.inline,
            dialect: self.to,
            exclude: self.exclude.clone(),
            verify: !self.no_verify,
            convert_times: self.convert_times(),
        };
        let joined = join(&self.files, &session.options()?, &options)?;
        session.hide_calls();
        session.warn_of(&joined.warnings);
        self.tell_lost(session, &joined)?;
        session.tell_notes(&joined.notes);
        let style = if self.relative {
            TargetUrls::RelativeTo(self.output.parent().unwrap_or(Path::new(".")))
        } else {
            TargetUrls::Absolute
        };
        let urls = joined.target_urls(style)?;
        if to_stdout {
            return Ok(joined.write_json(&urls, out)?);
        }
        let compared = self.write(session, &joined, &urls)?;
        self.tell(session, &joined, compared, out)
    }

    #[cfg(feature = "plot")]
    fn convert_times(&self) -> Option<ConvertTimes> {
        self.decode_times.then(|| ConvertTimes::new(super::append_dataset::converted))
    }

    #[cfg(not(feature = "plot"))]
    fn convert_times(&self) -> Option<ConvertTimes> {
        None
    }

    /// Refuses to replace a file that the user did not name for that, and what the references are to be made of.
    fn check_output(&self, session: &Session) -> Result<(), Failure> {
        if whole_file::may_harm(&self.output) {
            let options = session.options()?;
            for source in &self.files {
                whole_file::refuse_places(&self.output, &places(source, &options)?)?;
            }
        }
        if self.output.is_file() && !self.overwrite {
            let output = self.output.display();
            return Err(Failure::usage(format!("{output} exists; add --overwrite to replace it")));
        }
        Ok(())
    }

    /// Says which arrays are left out. With `--strict` nothing may be.
    fn tell_lost(&self, session: &Session, joined: &Joined) -> Result<(), Failure> {
        if let (true, Some(what)) = (session.is_strict(), joined.lost.first()) {
            let refused = MetadataError::CannotRepresent {
                format: "the reference file",
                what: format!("all of the data: {what}"),
                hint: "leave it out with `--exclude`, or drop `--strict`".to_owned(),
            };
            return Err(Error::from(refused).into());
        }
        session.tell_lost(&joined.lost);
        Ok(())
    }

    /// Writes the reference file. Before it gets its name it is read and compared with the files; returns how many chunks were.
    fn write(&self, session: &Session, joined: &Joined, urls: &[String]) -> Result<u64, Failure> {
        let failed = |e| Failure::Stream("cannot write the file of --output", e);
        let file = WholeFile::create(&self.output).map_err(failed)?;
        let mut file = BufWriter::with_capacity(1 << 16, file);
        joined.write_json(urls, &mut file).map_err(failed)?;
        let file = file.into_inner().map_err(|e| failed(e.into_error()))?;
        let compared = match file.temporary_path() {
            Some(path) if !self.no_verify => joined.verify(path, &session.options()?)?,
            _ => 0,
        };
        file.persist().map_err(failed)?;
        Ok(compared)
    }

    /// Says what was written, and what reading it takes.
    fn tell(
        &self,
        session: &Session,
        joined: &Joined,
        compared: u64,
        out: Out<'_>,
    ) -> Result<(), Failure> {
        let prefixes = joined.prefixes_to_allow(&self.output);
        if session.is_json() {
            let summary = Object::new()
                .with("output", self.output.display().to_string())
                .with("axis", joined.axis.clone())
                .with("arrays", joined.arrays as u64)
                .with("references", joined.references() as u64)
                .with("inlined", joined.inlined() as u64)
                .with("compared_chunks", compared)
                .with("allow_target", prefixes);
            return Ok(writeln!(out, "{}", Json::from(summary))?);
        }
        let axis = match &joined.axis {
            Some(axis) => format!(", joined along `{axis}`"),
            None => String::new(),
        };
        let verified = match compared {
            0 => String::new(),
            _ => format!("; compared {} with the files", human::plural(compared, "chunk")),
        };
        session.talk(&format!(
            "wrote {} to {}{axis}, and {} inlined{verified}",
            human::plural(joined.references() as u64, "reference"),
            human::plural(self.files.len() as u64, "file"),
            human::plural(joined.inlined() as u64, "chunk"),
        ));
        for prefix in prefixes {
            session.talk(&format!(
                "its targets are outside its folder: `zarr` reads it with `--allow-target {prefix}`"
            ));
        }
        Ok(())
    }
}
