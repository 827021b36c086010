//! Creates an array or a group.

use clap::Args;
use zarr::codec::CodecSpec;
use zarr::missing_value::FILL_VALUE;
use zarr::tools::NewPlace;
use zarr::{
    AccessError, Array, Dialect, Error, ErrorKind, Hierarchy, Json, Node, NodePath, Object,
};

use super::{attrs, resize};
use crate::by_name;
use crate::failure::Failure;
use crate::foreign;
use crate::interrupt;
use crate::parse::{self, Shape, Written};
use crate::session::{Session, Target, WriteOptions};

#[derive(Debug, Args)]
#[command(before_help = "\
Examples:
  zarr create data.zarr/ocean/temperature --shape 365,180,360 --chunks 1,90,90 \\
      --dtype float32 --fill NaN --codec zstd:3 --dims time,lat,lon
  zarr create old.zarr --path x --format v2 --shape 100 --chunks 10 \\
      --dtype '<i4' --codec blosc
  zarr create data.zarr/ocean --group --attr title='The ocean'",
    after_long_help = crate::details("\
A new hierarchy begins at the first name in TARGET that ends in .zarr, .zip, .ozx or .lmdb, or else at TARGET; missing
groups above the node are created. Types are those of any format: int32, float64, complex128, bool, <i4, >f8, r24, |S7, <U5,
<M8[ns], timedelta64[10s], and for records '[[\"a\",\"<i4\"],[\"b\",\"<f8\"]]'; a > asks for big-endian
storage. Fill values are JSON or text: 0, NaN, true,
'[0,1]', '\"text\"', NaT. Codecs are added in their order: gzip, zlib, bz2, lzma, zstd, lz4, crc32c,
shuffle:SIZE, delta, blosc, blosc-zstd-bitshuffle:5; or whole, as a v3 document has them:
'{\"name\": \"gzip\", \"configuration\": {\"level\": 5}}'."))]
pub(crate) struct Create {
    #[command(flatten)]
    target: Target,
    /// Format of a new hierarchy: v3, v2, draft-2020 or draft-2020-text [default: v3]
    #[arg(long, value_name = "FORMAT", value_parser = parse::written)]
    format: Option<Written>,
    /// Create a group
    #[arg(long, conflicts_with_all = [
        "shape", "chunks", "shards", "dtype", "fill", "no_fill", "codec", "dims", "order", "separator",
    ])]
    group: bool,
    /// Length of each axis, as in 100,200; needed unless --group
    #[arg(long, value_name = "N,N,…", required_unless_present = "group", allow_hyphen_values = true, value_parser = parse::shape)]
    shape: Option<Shape>,
    /// Length of a chunk along each axis [default: about 1 MiB of elements]
    ///
    /// By default chunks are near-cubic, with length 1 along axes named t, c, z, time or channel unless planes are small
    #[arg(long, value_name = "N,N,…", allow_hyphen_values = true, value_parser = parse::shape)]
    chunks: Option<Shape>,
    /// Length of a shard, whose chunks share one stored object, along each axis (v3)
    #[arg(long, value_name = "N,N,…", allow_hyphen_values = true, value_parser = parse::shape)]
    shards: Option<Shape>,
    /// Type of an element, as in float32, uint16 or <M8[s]; needed unless --group
    #[arg(long, value_name = "TYPE", required_unless_present = "group")]
    dtype: Option<String>,
    /// Value of elements that were never written [default: zero]
    ///
    /// Nullable elements are missing by default
    #[arg(long, value_name = "VALUE", allow_hyphen_values = true)]
    fill: Option<String>,
    /// Leave the value of elements that were never written undefined (not in v3)
    #[arg(long, hide_short_help = true, conflicts_with = "fill")]
    no_fill: bool,
    /// A codec, or `none`; can be repeated [default: zstd:3 in v3]
    ///
    /// The default is blosc-zstd-shuffle:3 in v2, and gzip:5 in drafts; `none` stores elements uncompressed
    #[arg(long, value_name = "NAME[:LEVEL]")]
    codec: Vec<String>,
    /// Names of the axes, as in time,lat,lon
    #[arg(long, value_name = "NAME,NAME,…")]
    dims: Option<String>,
    /// Order of elements in a chunk
    #[arg(long, value_name = "C|F", ignore_case = true, value_parser = ["C", "F"])]
    order: Option<String>,
    /// Separator of the indices in chunk keys [default: a period in v2, otherwise a slash]
    #[arg(long, value_name = "CHARACTER", value_parser = ["/", "."])]
    separator: Option<String>,
    /// An attribute: KEY=JSON, or KEY=text; can be repeated
    #[arg(long, value_name = "KEY=VALUE", value_parser = parse::member)]
    attr: Vec<(String, Json)>,
    /// Erase an existing node first, with everything below it
    ///
    /// Chunks at the array's keys that belong to no array are erased, too
    #[arg(long)]
    overwrite: bool,
    /// With --overwrite, also erase files below the node that are not Zarr's
    #[arg(long, hide_short_help = true, requires = "overwrite")]
    force: bool,
    /// Erase chunks at the array's keys that belong to no array
    ///
    /// This is the default with --overwrite; otherwise such chunks are an error
    #[arg(long, hide_short_help = true, conflicts_with_all = ["group", "no_purge"])]
    purge: bool,
    /// Keep chunks at the array's keys that belong to no array
    ///
    /// They become part of the new array
    #[arg(long, hide_short_help = true, conflicts_with = "group")]
    no_purge: bool,
    #[command(flatten)]
    care: WriteOptions,
}

impl Create {
    pub fn run(&self, session: &Session) -> Result<(), Failure> {
        let left = "the node was created completely or not at all (see `zarr info`); run the same command again to create it, \
                    and to erase what --overwrite had not erased yet";
        interrupt::leaves(session, left);
        self.refuse_spaces()?;
        let codecs = by_name::specs(&self.codec, session.registry())?;
        let place = session.place(&self.target, self.format, session.new_dialect(), &self.care)?;
        if !self.overwrite {
            refuse_other_kind(&place, self.group)?;
        }
        let files =
            if self.overwrite { foreign::keys(&place.hierarchy, &place.path)? } else { Vec::new() };
        foreign::warn(session, &place, &zarr::tools::absolute_url(&self.target.target), &files);
        let attributes: Object = self.attr.iter().cloned().collect();
        let created = if self.group {
            self.create_group(&place, attributes).map(|()| None)
        } else {
            let codecs = if self.codec.is_empty() {
                default_codecs(session, &place.hierarchy, self.rank())
            } else {
                codecs
            };
            self.create_array(&place, attributes, codecs).map(Some)
        };
        if created.is_err() {
            place.take_back();
        }
        if let Some(array) = created? {
            if let Some(right) = attrs::fill_attribute(&array, &array.attributes()) {
                array.update_attributes(|all| drop(all.insert(FILL_VALUE, right.clone())))?;
            }
            tell_other_lengths(session, &array);
        }
        if self.force {
            foreign::erase(&place.hierarchy, &files)?;
        } else if !files.is_empty() {
            // Those that would be chunks of the new array are gone.
            let kept = foreign::keys(&place.hierarchy, &place.path)?;
            foreign::tell_kept(session, &place.path, &kept);
        }
        let (store, path) = (place.hierarchy.store().name(), &place.path);
        session.talk(&format!("created {path} in {store}"));
        Ok(())
    }

    /// Refuses lengths that are separated by spaces, `--shape 10 10`: the second would be the array's path.
    fn refuse_spaces(&self) -> Result<(), Failure> {
        let path = &self.target.path;
        if path.is_empty() || !path.bytes().all(|byte| byte.is_ascii_digit()) {
            return Ok(());
        }
        let lens =
            [("--shape", &self.shape), ("--chunks", &self.chunks), ("--shards", &self.shards)];
        for (option, shape) in lens {
            let Some(Shape(shape)) = shape else { continue };
            let may_be_cut_short = option == "--shape" || self.rank() > 1;
            if let ([len], true) = (&shape[..], may_be_cut_short) {
                let array = self.target.target.trim_end_matches('/');
                return Err(Failure::Usage(format!(
                    "{option} {len} {path}: separate the lengths of the axes by commas, as in `{option} {len},{path}`; an array named \
                     `{path}` is `{array}/{path}`"
                )));
            }
        }
        Ok(())
    }

    fn create_group(&self, place: &NewPlace, attributes: Object) -> Result<(), Failure> {
        let NewPlace { hierarchy, path, .. } = place;
        if self.overwrite {
            erase(place, path)?;
        }
        match hierarchy.create_group(path, attributes.clone()) {
            // A new hierarchy may come with its root group.
            Err(e) if e.kind() == ErrorKind::Exists && place.begun && path.is_root() => {
                hierarchy.root()?.update_attributes(|old| *old = attributes.clone())?;
            }
            other => {
                other?;
            }
        }
        Ok(())
    }

    /// The number of axes of the new array.
    fn rank(&self) -> usize {
        self.shape.as_ref().map_or(0, |Shape(shape)| shape.len())
    }

    fn create_array(
        &self,
        place: &NewPlace,
        attributes: Object,
        codecs: Vec<CodecSpec>,
    ) -> Result<Array, Failure> {
        let NewPlace { hierarchy, path, .. } = place;
        let mut array =
            hierarchy.create_array(path).attributes(attributes).overwrite(self.overwrite);
        if self.purge || self.no_purge {
            array = array.purge(self.purge);
        }
        if let Some(Shape(shape)) = &self.shape {
            array = array.shape(shape);
        }
        if let Some(Shape(chunks)) = &self.chunks {
            array = array.chunks(chunks);
        }
        if let Some(name) = &self.dtype {
            array = array.data_type_named(name);
        }
        if let Some(fill) = &self.fill {
            let fill = parse::json_or_text(fill);
            let fill = fill.map_err(|why| Failure::usage(format!("--fill: {why}")))?;
            array = array.fill_value(fill);
        }
        if self.no_fill {
            array = array.undefined_fill();
        }
        if let Some(Shape(shards)) = &self.shards {
            array = array.shards(shards);
        }
        for codec in codecs {
            array = array.codec(codec);
        }
        if let Some(names) = &self.dims {
            let names = names
                .split(',')
                .map(|name| Some(name.trim().to_owned()).filter(|name| !name.is_empty()));
            array = array.dimension_names(names);
        }
        if let Some(order) = &self.order {
            array = array.f_order(order.eq_ignore_ascii_case("F"));
        }
        let usual = (hierarchy.dialect() == Dialect::V2).then(|| usual_separator(hierarchy, path));
        let separator = self.separator.as_deref().or(usual);
        if let Some(separator) = separator.and_then(|text| text.chars().next()) {
            array = array.separator(separator);
        }
        Ok(array.create()?)
    }
}

/// Says which dimensions of a new array have another length elsewhere in its group. Of an array that is no coordinate only the
/// coordinates are asked: a group may have thousands of others.
fn tell_other_lengths(session: &Session, array: &Array) {
    const ADVICE: &str = "give the new array that length, or its dimension another name";
    let names = array.metadata().dimension_names.clone().unwrap_or_default();
    let shape = array.shape();
    let name = array.path().name();
    if name.is_some() && names.iter().any(|dimension| dimension.as_deref() == name) {
        let axes: Vec<usize> = (0..names.len()).collect();
        resize::tell_others(session, array, &shape, &axes, ADVICE);
        return;
    }
    let Some(group) = array.path().parent() else { return };
    let mut notes = Vec::new();
    for (dimension, len) in names.iter().zip(&shape) {
        let Some(dimension) = dimension else { continue };
        let coordinate =
            group.join(dimension).ok().and_then(|path| array.hierarchy().array(&path).ok());
        let Some(coordinate) = coordinate else { continue };
        if let [other] = coordinate.shape()[..]
            && other != *len
        {
            notes.push(format!(
                "dimension `{dimension}` is {len} long here, but {other} in {}: xarray and netCDF need one length; {ADVICE}",
                coordinate.path()
            ));
        }
    }
    session.warn_about(array, &notes);
}

/// The codecs of a new array if none are asked for. Says so if this build lacks the one that the help promises.
fn default_codecs(session: &Session, hierarchy: &Hierarchy, rank: usize) -> Vec<CodecSpec> {
    let codecs = zarr::tools::default_codecs(hierarchy, rank);
    let promised = match hierarchy.dialect() {
        Dialect::V3 => "zstd",
        Dialect::V2 => "blosc",
        _ => return codecs,
    };
    match codecs.first() {
        Some(codec) if codec.name == promised => {}
        Some(codec) => session.remark(&format!(
            "this program was built without {promised}: elements are compressed with {}",
            codec.name
        )),
        None => session.remark(&format!(
            "this program was built without {promised} and gzip: elements are stored uncompressed"
        )),
    }
    codecs
}

/// What separates the numbers in the keys of a new array of v2. Old readers know only the period; OME-Zarr wants the slash for the
/// levels of an image (0.4, "Storage format").
fn usual_separator(hierarchy: &Hierarchy, path: &NodePath) -> &'static str {
    let group = path.parent().and_then(|parent| hierarchy.group(&parent).ok());
    let is_level = group.is_some_and(|group| group.attributes().contains("multiscales"));
    if is_level { "/" } else { "." }
}

/// The drafts create a node without a look at what is there (D-151, D-153), so that a group and an array
/// can get the same path, and the group is never seen again. A person's command looks.
fn refuse_other_kind(place: &NewPlace, group: bool) -> Result<(), Failure> {
    let NewPlace { hierarchy, path, begun } = place;
    if *begun || hierarchy.dialect() != Dialect::Draft {
        return Ok(());
    }
    let kind = match hierarchy.node(path) {
        Ok(Node::Array(_)) if group => "an array",
        Ok(Node::Group(found)) if !group && !found.metadata().implicit && !path.is_root() => {
            "a group"
        }
        _ => return Ok(()),
    };
    let taken = Error::from(AccessError::Exists(kind));
    Err(Failure::Zarr(taken.at_store(hierarchy.store().name()).at_path(path)))
}

fn erase(place: &NewPlace, path: &NodePath) -> Result<(), Failure> {
    match place.hierarchy.erase(path) {
        Err(e) if e.kind() == ErrorKind::NotFound => Ok(()),
        other => Ok(other?),
    }
}
