//! Plausible commands that cannot work: each answer says what to do instead.

use crate::common::Folder;

/// What is typed, and what the answer has to say.
const COMMANDS: &[(&str, &str)] = &[
    // Words of other programs.
    ("rechunk ocean.zarr out.zarr", "did you mean `zarr copy SOURCE TARGET --chunks"),
    ("crop ocean.zarr out.zarr", "did you mean `zarr copy SOURCE TARGET --sel"),
    ("check ocean.zarr", "did you mean `zarr validate TARGET`"),
    ("view ocean.zarr", "did you mean `zarr serve TARGET`"),
    ("delete ocean.zarr", "did you mean `zarr rm TARGET"),
    ("mkdir ocean.zarr/new", "did you mean `zarr create"),
    ("du ocean.zarr", "did you mean `zarr info TARGET`"),
    ("md5sum ocean.zarr", "did you mean `zarr checksum TARGET`"),
    ("concat ocean.zarr more.zarr", "did you mean `zarr append TARGET SOURCE --axis time`"),
    ("downsample image.zarr", "did you mean `zarr pyramid TARGET`"),
    ("set ocean.zarr units=K", "did you mean `zarr attrs TARGET --set units=K`"),
    ("rsync ocean.zarr backup.zarr", "did you mean `zarr sync SOURCE TARGET`"),
    ("export ocean.zarr", "did you mean `zarr get TARGET"),
    ("checksum ocean.zarr more.zarr", "compare the two with `zarr diff`"),
    ("compare a.zarr b.zarr", "did you mean `zarr diff A B`"),
    ("ncdump ocean.zarr", "did you mean `zarr dump TARGET`"),
    ("upgrade ocean.zarr", "did you mean `zarr migrate TARGET --to v3`"),
    ("inof ocean.zarr", "info"),
    ("valdiate ocean.zarr", "validate"),
    ("plot ocean.zarr/temperature --colormap gray", "did you mean `--cmap"),
    ("validate ocean.zarr --quick", "did you mean `--level meta`"),
    ("get ocean.zarr/temperature --csv", "did you mean `--format csv`"),
    ("get ocean.zarr/temperature --numpy", "did you mean `--output values.npy`"),
    (
        "stats ocean.zarr/temperature --cf",
        "statistics are of decoded values unless you pass `--raw`",
    ),
    ("resize ocean.zarr/lat 8", "did you mean `zarr resize ocean.zarr/lat --shape 8`"),
    ("serve ocean.zarr 8080", "--port 8080"),
    (
        "rename ocean.zarr temperature t2m",
        "did you mean `zarr rename ocean.zarr --path temperature t2m`",
    ),
    ("attrs ocean.zarr lat --set a=1 b=2", "repeat the option for each attribute"),
    ("ls -a ocean.zarr", "`zarr ls` hides nothing"),
    ("create new.zarr --name x --shape 3 --dtype int8", "did you mean `--path x`"),
    ("create new.zarr/x --shape 3 --dtype int8 --fill-value 0", "did you mean `--fill 0`"),
    ("create new.zarr/x --shape 3 --dtype int8 --axes x", "did you mean `--dims"),
    ("create new.zarr/x --shape 3 --dtype int8 --chunk-size 3", "did you mean `--chunks"),
    ("copy ocean.zarr new.zarr --workers 4", "did you mean `--threads 4`"),
    ("create new.zarr/x --shape 10 10 --dtype int8", "as in `--shape 10,10`"),
    ("create new.zarr/x --shape 10 10 10 --dtype int8", "separate lengths by commas"),
    ("create new.zarr/x --shape 10,10 --chunks 5 5 --dtype int8", "as in `--chunks 5,5`"),
    ("create new.h5/x --shape 10 --dtype int8", "a name that ends in `.h5` is for HDF5"),
    ("copy ocean.zarr/lat lat.npy", "`zarr get ARRAY --output lat.npy` writes NumPy"),
    ("copy ocean.zarr 'new.zarr#mode=nczarr,file' --to v3", "a URL of a netCDF dataset"),
    ("copy ocean.zarr s3:/bucket/new.zarr", "did you mean `s3://bucket/new.zarr`"),
    (
        "create s3:/bucket/new.zarr/x --shape 3 --dtype int8",
        "did you mean `s3://bucket/new.zarr/x`",
    ),
    ("info s3:/bucket/new.zarr", "did you mean `s3://bucket/new.zarr`"),
    ("consolidate ocean.zarr lat", "only groups have consolidated metadata"),
    ("create new.zarr/x --shape 3 --dtype int8 --codec 'zstd level=3'", "did you mean `zstd:3`"),
    ("create new.zarr/x --shape 3 --dtype int8 --codec zstd,3", "did you mean `zstd:3`"),
    ("copy ocean.zarr new.zarr --codec lat=zstd:3", "did you mean `lat:zstd:3`"),
    ("diff ocean.zarr more.zarr --atol 1e-3", "did you mean `--tolerance 1e-3`"),
    ("head ocean.zarr -5", "did you mean `-n 5`"),
    ("head ocean.zarr --sel lat=10", "`zarr get ocean.zarr` has `--sel`"),
    ("get ocean.zarr temperature 0:1,:", "did you mean `--region 0:1,:`"),
    ("get ocean.zarr temperature t.npy", "did you mean `-o t.npy`"),
    ("resize ocean.zarr lat 8", "did you mean `zarr resize ocean.zarr lat --shape 8`"),
    ("attrs ocean.zarr lat units K", "--set KEY=K`"),
    ("append ocean.zarr more.zarr time", "did you mean `--axis time`"),
    ("gen notes.txt new.zarr", "did you mean `-o new.zarr`"),
    ("dump ocean.zarr -o o.cdl", "`zarr dump ocean.zarr > o.cdl`"),
    ("repair ocean.zarr --fix", "did you mean `--apply`"),
    ("copy ocean.zarr --in-place", "`zarr migrate ocean.zarr --to v3`"),
    ("rm ocean.zarr --dry-run", "`zarr tree ocean.zarr` shows"),
    // Places.
    ("info ocaen.zarr", "did you mean"),
    ("info ocean.zar", "did you mean"),
    ("info ocean.zarr/temprature", "did you mean"),
    ("get ocean.zarr", "--path"),
    ("get ocean.zarr tempreature", "did you mean"),
    ("stats ocean.zarr/g/none", "no node"),
    ("info notes.txt", "this is a file, not a Zarr hierarchy"),
    ("info s4://bucket/x.zarr", "expected one of"),
    ("tree .", "more.zarr`?"),
    ("serve nothing.zarr", "nothing"),
    // Selections.
    ("get ocean.zarr/temperature --region 9,0", "`9` exceeds axis 0, which has length 4"),
    ("get ocean.zarr/temperature --region 0:2", "axes"),
    ("get ocean.zarr/temperature --region 0:2,0:3,0:1", "axes"),
    ("get ocean.zarr/temperature --region a:b,:", "region"),
    ("get ocean.zarr/temperature --sel lat=500", "lat"),
    ("get ocean.zarr/temperature --sel lta=5", "did you mean `lat`"),
    ("get ocean.zarr/temperature --by-name tiem=0", "did you mean `time`"),
    ("get ocean.zarr/temperature --format xlsx", "possible values"),
    ("get ocean.zarr/temperature -o out.xlsx", "pass --format"),
    ("get ocean.zarr/temperature -o nowhere/out.npy", "cannot write the file of --output"),
    ("head ocean.zarr/temperature --rows four", "expected a whole number"),
    ("info ocean.zarr --threads four", "expected a whole number"),
    ("diff ocean.zarr more.zarr --limit 1.5", "expected a whole number"),
    // Creating and writing.
    ("create new.zarr/x --dtype float32", "--shape"),
    ("create new.zarr/x --shape 3,4", "--dtype"),
    ("create new.zarr/x --shape 3,4 --dtype flaot32", "did you mean"),
    ("create new.zarr/x --shape 3x4 --dtype float32", "as in 100,200"),
    (
        "create new.zarr/x --shape 3,4 --chunks 2 --dtype float32",
        "chunks have 1 axis, the array has 2",
    ),
    ("create new.zarr/x --shape 3,4 --chunks 0,2 --dtype float32", "a chunk has length 0"),
    ("create new.zarr/x --shape 3,4 --shards 3,3 --chunks 2,2 --dtype int8", "shard"),
    ("create new.zarr/x --shape 3,4 --dtype float32 --codec zsdt", "did you mean `zstd`"),
    ("create new.zarr/x --shape 3,4 --dtype float32 --codec zstd:best", "zstd:3"),
    (
        "create new.zarr/x --shape 3,4 --dtype float32 --codec zstd:99",
        "--codec zstd:99: level: expected an integer from -131072 to 22, found 99",
    ),
    (
        "copy ocean.zarr out.zarr --codec temperature:gzip:99",
        "--codec gzip:99: level: expected an integer from 0 to 9, found 99",
    ),
    ("copy ocean.zarr out.zarr --codec zstd=3", "did you mean `zstd:3`?"),
    ("copy ocean.zarr out.zarr --codec zstandard", "did you mean `zstd`?\n"),
    (
        "copy ocean.zarr out.zarr --codec blosc:cname=zstd,clevel=5",
        "`blosc-CNAME-SHUFFLE:LEVEL`, as in `blosc-zstd-bitshuffle:5`",
    ),
    (
        "create new.zarr/x --shape 3,4 --dtype float32 --codec transpose:1,0",
        r#"written as JSON: {"name": "transpose", "configuration": {"order": [1,0]}}"#,
    ),
    ("create new.zarr/x --shape 3,4 --dtype float32 --dims time", "1 name for 2 axes"),
    ("create ocean.zarr/temperature --shape 3 --dtype int8", "--overwrite"),
    ("create ocean.zarr/temperature/below --shape 3 --dtype int8", "is an array"),
    ("attrs ocean.zarr/temperature units=K", "--set units=K"),
    ("resize ocean.zarr/temperature --shape 5", "give one length for each axis"),
    ("resize ocean.zarr --shape 5", "--path"),
    ("append ocean.zarr more.zarr", "--axis time"),
    ("rename ocean.zarr/temperature temperature/inside", "choose a path outside"),
    ("rm ocean.zarr/temprature", "did you mean"),
    ("info ''", "error: the path or URL is empty"),
    ("rename ocean.zarr sea", "rename its folder or file with `mv`"),
    ("copy ocean.zarr out.zarr --region 0:2,:", "--region applies to a single array"),
    ("tune ocean.zarr", "this is a group, and one array is measured at a time"),
    ("info ocean.zarr --as v2", "not in the format given with --as"),
    // Copying.
    ("copy ocean.zarr", "required"),
    ("copy ocean.zarr ocean.zarr", "choose another DST"),
    ("copy ocean.zarr out.nc", "out.nc"),
    ("copy ocean.zarr out.zarr --to v4", "v3"),
    ("copy ocean.zarr out.zarr --chunks tiem=2", "did you mean `time`"),
    ("copy ocean.zarr out.zarr --select temprature", "did you mean"),
    ("copy ocean.zarr out.zarr --part 9/8", "part"),
    ("migrate ocean.zarr", "--to"),
    ("sync nothing.zarr out.zarr", "nothing"),
    ("diff ocean.zarr", "required"),
    ("consolidate ocean.zarr/temperature", "array"),
    ("pyramid ocean.zarr", "image"),
    ("pyramid ocean.zarr --convention geo", "dimensions of y and x"),
    ("validate ocean.zarr --level deep", "expected meta, keys, index or data"),
    // Options of other programs, and words in the wrong place.
    ("get ocean.zarr/temperature --bbox 0,40,10,50", "did you mean `--sel lon=0:10,lat=40:50`"),
    ("get ocean.zarr/temperature --channel 0", "did you mean `--by-name c=0`?"),
    ("get ocean.zarr/temperature --channels", "did you mean `--sel c=GFP`?"),
    ("get ocean.zarr/temperature --channel=DAPI", "did you mean `--sel c=DAPI`?"),
    ("get ocean.zarr/temperature --z 3", "did you mean `--by-name z=3`?"),
    ("plot ocean.zarr --level 1", "did you mean `zarr plot ocean.zarr/1`?"),
    ("copy ocean.zarr out.zarr --level 1", "`zarr copy ocean.zarr/1 out.zarr`"),
    ("validate --version 0.4 ocean.zarr", "the metadata say which version they follow"),
    ("get ocean.zarr/temperature --decode", "did you mean `--cf`"),
    ("put ocean.zarr/temperature --cf", "`zarr put` writes elements as they are stored"),
    ("put ocean.zarr/temperature t.tif", "`zarr put` reads no .tif files"),
    ("plot --level 1 ocean.zarr", "did you mean `zarr plot ocean.zarr/1`?"),
    ("plot ocean.zarr --well B/3", "did you mean `zarr plot ocean.zarr/B/3/0`?"),
    ("stats ocean.zarr --mean", "mean is always printed: `zarr stats ocean.zarr`"),
    ("stats ocean.zarr --group-by month", "did you mean `--axis time`, a line for each time?"),
    ("attrs ocean.zarr --get title", "did you mean `zarr attrs ocean.zarr title`?"),
    ("export ocean.zarr x.nc", "`zarr netcdf-plugin --exec nccopy ocean.zarr/zarr.json x.nc`"),
    ("copy ocean.zarr out.zarr --var temperature", "Usage: zarr copy [OPTIONS] <SRC> <DST>"),
    ("info ocean.zarr --chunks", "`zarr info ocean.zarr` prints the chunks of an array"),
    ("convert ocean.zarr --output out.zarr", "`zarr copy ocean.zarr out.zarr`"),
    ("create new.zarr/x --like ocean.zarr/lat", "`zarr info ocean.zarr/lat` prints the shape"),
    ("rm -r ocean.zarr/lat", "-r is not needed"),
    ("rm --recursive ocean.zarr/lat", "--recursive is not needed"),
    ("rm ocean.zarr/lat --yes", "--yes is not needed"),
    ("tree ocean.zarr --depth 2", "`zarr ls ocean.zarr` lists one level"),
    ("plot ocean.zarr/temperature --title Sea", "--set long_name=Sea"),
    ("plot ocean.zarr/temperature --mean time", ".mean(axis=0)`"),
    ("put ocean.zarr/temperature 5", "pass `--value 5`"),
    ("head ocean.zarr/temperature 3", "did you mean `-n 3`?"),
    ("get ocean.zarr/temperature 0,:,:", "did you mean `--region 0,:,:`?"),
    ("get ocean.zarr/temperature[0,:]", "did you mean `/temperature` with `--region 0,:`?"),
    ("plot ocean.zarr/temperature map.pdf", "pass `-o map.png` or `-o map.svg`"),
    (
        "append ocean.zarr/temperature --from more.zarr --axis time",
        "`zarr append GROUP SRC --axis time`",
    ),
    ("get ocean.zarr/temperature --by-name lat=GFP", "`--sel lat=GFP`"),
    ("attrs ocean.zarr/temperature unit", "error: store"),
    ("attrs ocean.zarr/temperature unit", "no attribute `unit`; did you mean `units`?"),
    ("attrs ocean.zarr/temperature --delete unit", "did you mean `units`?"),
    ("migrate ocean.zarr v3", "did you mean `--to v3`?"),
    ("help valdiate", "did you mean `zarr help validate`?"),
    ("get ocean.zarr/temperature --variable temperature", "did you mean `--path temperature`"),
    (
        "get ocean.zarr/temperature --sel lat=10 --sel time=0",
        "join them with commas, as in `--sel lat=50,lon=10`",
    ),
    (
        "get ocean.zarr/temperature --sel lat=10 time=0",
        "join coordinates with commas, as in `--sel lat=50,lon=10`",
    ),
    ("get ocean.zarr/temperature --sel lat=10 lat=20 time=0", "join coordinates with commas"),
    ("get ocean.zarr/temperature --sel time=0", "select by position, with --by-name"),
    ("get ocean.zarr/temperature out.csv", "to write a file, pass `--output out.csv`"),
    ("plot ocean.zarr/temperature map.png", "to write a file, pass `--output map.png`"),
    ("plot ocean.zarr/temperature --vmin 240 --vmax 310", "did you mean `--range 240,310`"),
    ("plot ocean.zarr/temperature --time 3", "did you mean `--sel time=2023-01,lat=50`"),
    ("append ocean.zarr more.zarr --dim time", "did you mean `--axis time`"),
    (
        "append ocean.zarr/temperature more.zarr/temperature --axis time",
        "`zarr get more.zarr/temperature --format npy | zarr append ocean.zarr/temperature --axis time --format npy`",
    ),
    ("copy ocean.zarr out.zarr --zarr-version 3", "did you mean `--to v3`"),
    ("copy ocean.zarr out.zarr --to 0.5", "images of OME-Zarr 0.5 are in v3; write `--to v3`"),
    ("copy ocean.zarr out.zarr --variable temperature", "did you mean `--select temperature`"),
    ("create new.zarr/x --shape 3 --type int8", "did you mean `--dtype int8`"),
    ("create new.zarr/x --shape 3 --dtype int8 --zarr-format 2", "did you mean `--format v2`"),
    ("append ocean.zarr/lat --axis 0", "standard input is empty; expected a JSON document"),
    (
        "put ocean.zarr/temperature",
        "standard input, read as JSON, is empty; expected a JSON document",
    ),
    (
        "copy ocean.zarr out.zarr --region time=0:2",
        "`time` names no array; --sel selects by dimension",
    ),
    (
        "pyramid ocean.zarr --levels all",
        "expected the number of levels including the base, as in 4",
    ),
    ("pyramid ocean.zarr --overwrite", "did you mean `--restart`"),
    ("pyramid ocean.zarr/temperature", "or, for a map, of its dataset"),
    (
        "repair ocean.zarr --from more.zarr",
        "`zarr sync COPY TARGET` restores what is damaged from a copy",
    ),
    // As a climate scientist, a microscopist and a developer typed them.
    ("show ocean.zarr", "did you mean `zarr info TARGET`"),
    ("publish ocean.zarr", "did you mean `zarr serve TARGET`"),
    ("zip ocean.zarr ocean.zip", "did you mean `zarr copy data.zarr data.zip`"),
    ("unzip ocean.zip ocean.zarr", "did you mean `zarr copy SOURCE TARGET`"),
    ("get ocean.zarr/temperature --where lat=20", "did you mean `--sel lon=0:10,lat=40:50`"),
    ("get ocean.zarr/temperature --point 20", "did you mean `--sel lon=0:10,lat=40:50`"),
    ("get ocean.zarr/temperature --start 0 --stop 2", "did you mean `--region 0:10,:`"),
    ("get ocean.zarr/temperature -r 0,0", "did you mean `--region 0:10,:`"),
    ("get ocean.zarr/temperature --limit 5", "did you mean `--region 0:10,:`"),
    ("plot ocean.zarr --channel DAPI", "did you mean `--channels DAPI`?"),
    ("get ocean.zarr/temperature --max time -o max.npy", "in Python: `zarrkit.open(TARGET)"),
    ("plot ocean.zarr/temperature --mip time", "in Python: `zarrkit.open(TARGET)"),
    ("get ocean.zarr/temperature -o june.nc", "xarray makes a netCDF file of it"),
    ("get ocean.zarr/temperature -o map.jpg", "use .npy, .csv, .json, .tif"),
    ("get ocean.zarr/temperature -o nowhere/out.csv", "nowhere; create it first"),
    ("get ocean.zarr/cube --format csv", "--header writes all of them"),
    ("get ocean.zarr/temperature --sel season=JJA", "axes: time, lat"),
    ("get ocean.zarr/temperature --sel lat=20..40", "expected one like 45.5 or 40:60"),
    ("get ocean.zarr/temperature --sel lat=20-40", "expected one like 45.5 or 40:60"),
    ("get ocean.zarr/temperature --sel lat>20", "expected name=coordinate"),
    ("get ocean.zarr/temperature --sel lat 20", "there is no node /20"),
    ("get ocean.zarr/temperature --as csv", "expected one of v2, v3"),
    ("put ocean.zarr/temperature values.npy", "`--format npy < values.npy`"),
    ("put ocean.zarr/temperature --input values.npy", "`--format npy < values.npy`"),
    ("put ocean.zarr/temperature -i values.npy", "`--format npy < values.npy`"),
    ("append ocean.zarr/temperature --file values.npy", "`--format npy < values.npy`"),
    ("append ocean.zarr more.zarr", "a dataset is appended along a dimension"),
    (
        "create new.zarr/x --shape 3 --dtype int8 --compression gzip",
        "did you mean `--codec zstd:3`",
    ),
    ("create new.zarr/x --shape 3 --dtype int8 --level 5", "did you mean `--codec zstd:3`"),
    (
        "copy ocean.zarr out.zarr --codec zstd --level 9",
        "a level of compression is part of `--codec zstd:3`",
    ),
    ("copy ocean.zarr out.zarr --v3", "did you mean `--to v3`"),
    ("copy ocean.zarr out.zarr --to ome-0.4", "images of OME-Zarr 0.4 are in v2; write `--to v2`"),
    ("copy ocean.zarr out.zarr --to NGFF-0.5", "images of OME-Zarr 0.5 are in v3; write `--to v3`"),
    (
        "copy ocean.zarr out.zarr --region temperature=2013-06,:",
        "--sel selects by coordinate, as in --sel time=2020-03",
    ),
    (
        "copy ocean.zarr out.zarr --codec blosc:lz4",
        "a codec is NAME, NAME:LEVEL or ARRAY:NAME:LEVEL",
    ),
    ("serve ocean.zarr --listen 0.0.0.0:80", "did you mean `--bind 0.0.0.0 --port 8080`"),
    ("serve ocean.zarr -p 8080", "did you mean `--port 8080`"),
    ("serve ocean.zarr --host 0.0.0.0", "pass --bind 0.0.0.0"),
    ("serve ocean.zarr --bind 0.0.0.0:8080", "`--bind 0.0.0.0 --port 8080`"),
    ("serve ocean.zarr --bind example.org", "expected an IP address"),
    ("serve ocean.zarr --port 99999", "too large: expected at most 65535"),
    ("stats ocean.zarr/temperature --groupby time.month", "did you mean `--axis time`"),
    ("info ocean.zarr lat temperature", "unexpected argument 'temperature'"),
    (
        "get ocean.zarr/temperature --region time=0:2",
        "--by-name takes names, as in --by-name time=0:2",
    ),
    ("stats ocean.zarr/temperature --region time=0:2", "--by-name takes names"),
    ("tail ocean.zarr/lat", "did you mean `zarr get TARGET --region -10:,...`"),
    ("attrs ocean.zarr/temperature --add units=K", "did you mean `--set units=K`"),
    ("refs ocean.zarr more.zarr -o refs.json --dim time", "did you mean `--axis time`"),
    ("pyramid ocean.zarr --scale 2", "did you mean `--factor y=2,x=2`"),
    ("dump ocean.zarr --vars lat", "did you mean `--variables lat`"),
    ("resize ocean.zarr/temperature --axis time", "did you mean `--shape 100,200`"),
    ("validate ocean.zarr --deep", "did you mean `--level data`"),
    ("validate ocean.zarr --fix", "`zarr repair TARGET` says what it would do"),
    ("repair ocean.zarr --dry-run", "nothing is written without `--apply`"),
];

/// Parts of lines that only a program with the feature `plot` answers so.
const OF_PLOT: [&str; 12] = [
    "plot",
    "stats",
    "--channel",
    "--by-name c=",
    "--by-name lat=",
    "t2m",
    "--sel ",
    "--bbox",
    "--where",
    "--point",
    "june.nc",
    "append ocean.zarr/temperature more",
];

#[test]
fn an_unknown_option_is_not_said_to_be_a_path() {
    let folder = Folder::new();
    let error = folder.run("get ocean.zarr --frobnicate").err;
    assert!(error.contains("unexpected argument '--frobnicate'"), "{error}");
    assert!(!error.contains("-- --frobnicate"), "{error}");
    // A number may well be an argument.
    let error = folder.run("get ocean.zarr -1").err;
    assert!(error.contains("use '-- -1'"), "{error}");
}

#[test]
fn a_codec_that_cannot_be_is_the_fault_of_the_command() {
    let folder = Folder::new();
    folder.good("create ocean.zarr/temperature --shape 4,6 --dtype float32");
    for line in [
        "copy ocean.zarr out.zarr --codec zstd:99",
        "create new.zarr/x --shape 3 --dtype float32 --codec zstd:99",
    ] {
        let ended = folder.run(line);
        assert_eq!(ended.code, 2, "{line}: {}", ended.err);
        assert!(!ended.err.contains("ocean.zarr"), "{}", ended.err);
    }
}

#[test]
fn wrong_commands_are_answered_with_what_to_do() {
    let folder = Folder::new();
    folder.good(
        "create ocean.zarr/temperature --shape 4,6 --chunks 2,3 --dtype float32 --dims time,lat",
    );
    folder.good("create ocean.zarr/lat --shape 6 --dtype float64 --dims lat");
    let put = folder.feed("put ocean.zarr/lat", b"[10,20,30,40,50,60]");
    assert_eq!(put.code, 0, "{}", put.err);
    folder.good("attrs ocean.zarr/temperature --set units=K");
    folder.good("create ocean.zarr/cube --shape 2,2,2 --dtype int8");
    folder.good("copy ocean.zarr more.zarr");
    std::fs::write(folder.path("notes.txt"), "not an array").unwrap();
    let mut wrong = Vec::new();
    for (line, says) in COMMANDS {
        if !cfg!(feature = "serve") && line.starts_with("serve")
            || !cfg!(feature = "plot") && OF_PLOT.iter().any(|part| line.contains(part))
        {
            continue;
        }
        let ended = folder.run(line);
        if ended.code == 0 || !ended.err.contains(says) {
            wrong.push(format!(
                "zarr {line}: expected `{says}`, found {}: {}",
                ended.code,
                ended.err.trim()
            ));
        }
    }
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), COMMANDS.len(), wrong.join("\n"));
    // Nothing was made on the way.
    let names: Vec<_> =
        std::fs::read_dir(folder.path(".")).unwrap().map(|it| it.unwrap().file_name()).collect();
    assert_eq!(names.len(), 3, "{names:?}");
}
