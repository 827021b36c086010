//! Makes a dataset of CDL.

use std::fs;
use std::io::{self, Read};
use std::path::PathBuf;

use clap::Args;
use zarr::nczarr::NewDataset;
use zarr::nczarr::cdl::Document;
use zarr::{ErrorKind, Warning};

use super::netcdf;
use crate::by_name;
use crate::failure::Failure;
use crate::interrupt;
use crate::parse;
use crate::session::{Session, WriteOptions};

#[derive(Debug, Args)]
#[command(before_help = "\
Examples:
  zarr gen data.cdl -o data.zarr
  zarr gen data.cdl -o data.zarr --format nczarr-v2
  zarr gen data.cdl -o 'data.zip#mode=nczarr,zip'
  zarr dump -p 9,17 data.zarr | zarr gen -o copy.zarr.zip",
    after_long_help = crate::details("\
CDL is interpreted as by netCDF's ncgen; an error gives the line and column, and nothing is written before the whole text has
been checked. User-defined types (enum, opaque, vlen, compound) are refused. Nothing is overwritten."))]
pub(crate) struct Generate {
    /// CDL file, or - for standard input [default: -]
    #[arg(value_name = "FILE")]
    file: Option<PathBuf>,
    /// Path or URL of the new dataset
    #[arg(short = 'o', long, value_name = "TARGET")]
    output: String,
    /// Format of the dataset: nczarr-v3 (the default), nczarr-v2, zarr-v3 or zarr-v2
    ///
    /// nczarr-v2 is for netCDF's own library; zarr-v3 and zarr-v2 are plain Zarr with dimension names, as in xarray. You can
    /// also give it as a mode in TARGET: #mode=nczarr and #mode=zarr mean v2, as in netCDF's library, unless the mode
    /// includes v3
    #[arg(long, value_name = "FORMAT", value_parser = format)]
    format: Option<NewDataset>,
    /// A codec, or `none`; can be repeated [default: shuffle and zlib:4 in NCZarr]
    ///
    /// For variables whose CDL does not say how they are compressed. The default is zstd:3 in zarr-v3, and
    /// blosc-zstd-shuffle:3 in zarr-v2
    #[arg(long, value_name = "NAME[:LEVEL]")]
    codec: Vec<String>,
    #[command(flatten)]
    care: WriteOptions,
}

impl Generate {
    pub fn run(&self, session: &Session) -> Result<(), Failure> {
        let text = self.read()?;
        let told = |why: String| Failure::Usage(format!("{}: {why}", self.name()));
        let text = String::from_utf8(text).map_err(|error| {
            let (bytes, at) = (error.as_bytes(), error.utf8_error().valid_up_to());
            let line = bytes[..at].iter().filter(|&&byte| byte == b'\n').count() + 1;
            told(format!("line {line}: the text is not UTF-8; convert it first, as with iconv"))
        })?;
        let mut document = Document::parse(&text).map_err(|error| told(error.to_string()))?;
        for warning in &document.warnings {
            session.warn_of(&[Warning { place: self.name(), what: warning.to_string() }]);
        }
        if !self.codec.is_empty() {
            let new = netcdf::new_dataset(&self.output, self.format.as_ref())?;
            document.set_codecs(&by_name::specs(&self.codec, session.registry())?, &new)?;
        }
        session.show_calls();
        let dataset = netcdf::create(session, &self.output, self.format.as_ref(), &self.care);
        let dataset = dataset.map_err(|failure| match failure {
            Failure::Zarr(e) if e.kind() == ErrorKind::Exists => {
                let target = &self.output;
                Failure::Zarr(e.with_hint(format!(
                    "choose another place with -o, or erase this one with `zarr rm {target} --all`"
                )))
            }
            failure => failure,
        })?;
        let left = "the dataset is incomplete; erase it with `zarr rm TARGET --all`, then run the same command again";
        interrupt::leaves(session, left);
        if let Err(e) = document.write_to(&dataset) {
            netcdf::take_back(&dataset);
            return Err(e.into());
        }
        session.talk(&format!("made {} of {}", self.output, self.name()));
        Ok(())
    }

    fn name(&self) -> String {
        match &self.file {
            Some(file) if file.as_os_str() != "-" => file.display().to_string(),
            _ => "standard input".into(),
        }
    }

    fn read(&self) -> Result<Vec<u8>, Failure> {
        match &self.file {
            Some(file) if file.as_os_str() != "-" => fs::read(file)
                .map_err(|e| Failure::Usage(format!("cannot read {}: {e}", file.display()))),
            _ => {
                let mut text = Vec::new();
                io::stdin().lock().read_to_end(&mut text).map_err(Failure::input)?;
                Ok(text)
            }
        }
    }
}

fn format(text: &str) -> Result<NewDataset, String> {
    parse::new_dataset(text)
        .map_err(|words| format!("unknown dataset format `{text}`; expected one of {words}"))
}
