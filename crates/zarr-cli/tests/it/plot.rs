//! `zarr plot` shows elements where they are, in the colours that were asked for, and refuses what is no picture.

#![cfg(feature = "plot")]

use std::fs;
use std::io::Cursor;

use crate::common::{Folder, Run};
use zarr_testkit::sample;

/// Width, height, and four bytes a pixel.
fn png(bytes: &[u8]) -> (u32, u32, Vec<[u8; 4]>) {
    let mut reader = png::Decoder::new(Cursor::new(bytes)).read_info().unwrap();
    let mut rgba = vec![0; reader.output_buffer_size().unwrap()];
    let info = reader.next_frame(&mut rgba).unwrap();
    assert_eq!(info.color_type, png::ColorType::Rgba);
    (info.width, info.height, rgba.chunks(4).map(|pixel| pixel.try_into().unwrap()).collect())
}

fn put(folder: &Folder, target: &str, more: &str, json: &str) {
    folder.good(&format!("create {target} {more}"));
    let put = folder.feed(&format!("put {target}"), json.as_bytes());
    assert_eq!((put.code, &*put.err), (0, ""), "{target}");
}

const BLACK: [u8; 4] = [0, 0, 0, 255];
const WHITE: [u8; 4] = [255; 4];
const CLEAR: [u8; 4] = [0; 4];

#[test]
fn a_bare_picture_has_one_pixel_for_each_element() {
    let folder = Folder::new();
    put(&folder, "a.zarr", "--shape 2,3 --dtype float32", "[[0,1,\"NaN\"],[0.5,-9,9]]");
    let run = folder.good("plot a.zarr --bare --cmap gray --range 0,1 -o -");
    assert_eq!(
        png(&run.out),
        (3, 2, vec![BLACK, WHITE, CLEAR, [128, 128, 128, 255], BLACK, WHITE])
    );
    folder.good("plot a.zarr --bare --cmap gray --range 0,1 -o a.png");
    assert_eq!(fs::read(folder.path("a.png")).unwrap(), run.out);
    let part = folder.good("plot a.zarr --region ::-1,0:2 --bare --cmap gray --range 0,1 -o -");
    assert_eq!(png(&part.out), (2, 2, vec![[128, 128, 128, 255], BLACK, BLACK, WHITE]));
    let lower = folder.good("plot a.zarr --bare --cmap gray --range 0,1 --origin lower -o -");
    assert_eq!(png(&lower.out).2[0], [128, 128, 128, 255]);
    let across = folder.good("plot a.zarr --x 0 --y 1 --bare --cmap gray --range 0,1 -o -");
    assert_eq!((png(&across.out).0, png(&across.out).1), (2, 3));
}

/// Rising latitudes are upwards in a figure, and in the order of elements in a bare picture.
#[test]
fn maps_have_north_above_but_for_bare_ones() {
    let folder = Folder::new();
    put(&folder, "m.zarr --path lat", "--shape 2 --dims lat --dtype float64", "[-45,45]");
    folder.good("attrs m.zarr/lat --set units=degrees_north");
    put(
        &folder,
        "m.zarr --path v",
        "--shape 2,2 --dims lat,lon --dtype uint8",
        "[[0,0],[255,255]]",
    );
    let options = "--cmap gray --range 0,255";
    let bare = folder.good(&format!("plot m.zarr --path v --bare {options} -o -"));
    assert_eq!(png(&bare.out).2[0], BLACK);
    for target in ["m.zarr --path v", "m.zarr/v"] {
        let (width, _, pixels) = png(&folder.good(&format!("plot {target} {options} -o -")).out);
        let column: Vec<[u8; 4]> = pixels.chunks(width as usize).map(|row| row[300]).collect();
        // Below the title, and above the ticks: half a map of each.
        let run =
            |color| column.windows(150).position(|part| part.iter().all(|pixel| *pixel == color));
        let black = run(BLACK).unwrap();
        assert!(column[..black - 150].contains(&WHITE), "{target}");
        assert!(column[black - 10] == WHITE, "{target}: white is above black");
    }
}

#[test]
fn packed_values_are_decoded_unless_they_are_asked_for_raw() {
    let folder = Folder::new();
    put(&folder, "p.zarr", "--shape 1,3 --dtype int16 --dims y,x", "[[0,10,-1]]");
    folder.good("attrs p.zarr --set _FillValue=-1 --set scale_factor=0.1");
    let bare = |more: &str| {
        png(&folder.good(&format!("plot p.zarr --bare --cmap gray {more} -o -")).out).2
    };
    assert_eq!(bare("--range 0,1"), [BLACK, WHITE, CLEAR]);
    assert_eq!(bare("--range 0,1 --raw"), [BLACK, WHITE, BLACK]);
}

#[test]
fn bytes_of_three_channels_are_colours() {
    let folder = Folder::new();
    let json = "[[[1,2,3],[4,5,6]]]";
    put(&folder, "c.zarr", "--shape 1,2,3 --dtype uint8 --dims y,x,band", json);
    let bare = |more: &str| png(&folder.good(&format!("plot c.zarr --bare {more} -o -")).out).2;
    assert_eq!(bare(""), [[1, 2, 3, 255], [4, 5, 6, 255]]);
    assert_eq!(bare("--rgb 2,1,0"), [[3, 2, 1, 255], [6, 5, 4, 255]]);
    assert_eq!(bare("--by-name band=1 --cmap gray --range 0,5"), [[102, 102, 102, 255], WHITE]);
    // The fill value of v2 is missing to xarray, and black to everybody who looks at an image.
    put(
        &folder,
        "v2.zarr",
        "--shape 1,2,3 --dtype uint8 --dims y,x,band --format v2",
        "[[[0,0,0],[4,0,6]]]",
    );
    let black = png(&folder.good("plot v2.zarr --bare -o -").out).2;
    assert_eq!(black, [BLACK, [4, 0, 6, 255]]);
    let why = folder.bad("plot c.zarr --bare --rgb 0,1,3 -o x.png", 2);
    assert!(why.contains("there is no colour 3: axis 2 has 3 positions"), "{why}");
}

#[test]
fn labels_have_colours_and_none_has_no_colour() {
    let folder = Folder::new();
    put(&folder, "l.zarr", "--shape 2,2 --dtype uint32", "[[0,1],[2,1]]");
    let pixels = png(&folder.good("plot l.zarr --labels --bare -o -").out).2;
    assert_eq!((pixels[0], pixels[1] == pixels[3], pixels[1] == pixels[2]), (CLEAR, true, false));
}

#[test]
fn images_have_their_channels_and_the_level_that_is_large_enough() {
    let folder = Folder::new();
    let array = |path: &str, size: u32| {
        folder.good(&format!("create i.zarr --path {path} --shape 2,{size},{size} --dtype uint16 --dims c,y,x --fill 50"));
    };
    array("0", 128);
    array("1", 100);
    let ome = r#"{"version":"0.5","multiscales":[{"axes":[{"name":"c","type":"channel"},{"name":"y","type":"space"},
        {"name":"x","type":"space"}],"datasets":[{"path":"0"},{"path":"1"}]}],"omero":{"channels":[
        {"color":"FF0000","window":{"start":0,"end":100}},{"color":"0000FF","window":{"start":0,"end":50}}]}}"#;
    let ome = ome.replace('\n', "");
    folder.good(&format!("attrs i.zarr --set 'ome={ome}'"));
    let (width, height, pixels) = png(&folder.good("plot i.zarr --bare -o -").out);
    assert_eq!((width, height, pixels[0]), (128, 128, [128, 0, 255, 255]));
    let small = folder.run("plot i.zarr --size 300x200 -o small.png --trace");
    assert!(small.code == 0 && !small.err.contains("0/c/0/0/0"), "{}", small.err);
    assert!(small.err.contains("1/c/0/0/0"), "{}", small.err);
}

#[test]
fn figures_are_png_and_svg() {
    let folder = Folder::new();
    put(
        &folder,
        "f.zarr --path v",
        "--shape 2,2 --dims y,x --dtype float64",
        "[[1,2],[3,\"NaN\"]]",
    );
    folder.good("attrs f.zarr/v --set 'long_name=<b>&\"x' --set units=m");
    put(&folder, "f.zarr --path line", "--shape 9 --dtype int8", "[1,2,3,4,5,4,3,2,1]");
    for (target, more) in [
        ("f.zarr/v", ""),
        ("f.zarr/v", "--histogram"),
        ("f.zarr/v", "--log"),
        ("f.zarr/line", ""),
        ("f.zarr/line", "--histogram"),
        ("f.zarr", ""),
        ("f.zarr/v", "--range full --center 2 --cmap rdbu_r"),
    ] {
        folder.good(&format!("plot {target} {more} --size 400x300 -o x.png"));
        let (width, height, pixels) = png(&fs::read(folder.path("x.png")).unwrap());
        assert_eq!((width, height), (400, 300), "{target} {more}");
        assert!(pixels.iter().any(|pixel| *pixel != WHITE));
        folder.good(&format!("plot {target} {more} -o x.svg"));
        let svg = fs::read_to_string(folder.path("x.svg")).unwrap();
        assert!(svg.starts_with("<svg ") && svg.ends_with("</svg>\n"), "{svg}");
        assert!(!svg.contains("<b>"), "{target} {more}");
        // The least figure has all its texts inside.
        folder.good(&format!("plot {target} {more} --size 300x200 -o least.svg"));
        let svg = fs::read_to_string(folder.path("least.svg")).unwrap();
        assert!(svg.contains("<text"), "{svg}");
        for text in svg.split("<text").skip(1) {
            let number = |name: &str| -> f64 {
                let (_, rest) = text.split_once(&format!("{name}=\"")).unwrap();
                rest.split('"').next().unwrap().parse().unwrap()
            };
            let (x, y) = (number(" x"), number(" y"));
            assert!(
                (8.0..292.0).contains(&x) && (8.0..197.0).contains(&y),
                "{target} {more}: {text}"
            );
        }
    }
    let svg = fs::read_to_string(folder.path("x.svg")).unwrap();
    assert!(
        svg.contains(">&lt;b&gt;&amp;&quot;x (m)</text>") && svg.contains(">missing</text>"),
        "{svg}"
    );
}

#[test]
fn terminals_without_colours_get_letters() {
    let folder = Folder::new();
    put(&folder, "t.zarr", "--shape 2,2 --dtype uint8 --dims y,x", "[[0,255],[255,0]]");
    let shown = |line: &str, name: &str, value: &str| {
        let output =
            folder.command(line).env_remove("COLORTERM").env(name, value).output().unwrap();
        assert_eq!(output.status.code(), Some(0));
        String::from_utf8(output.stdout).unwrap()
    };
    let text = shown("plot t.zarr --cmap gray --range 0,255", "TERM", "dumb");
    assert!(!text.contains('\u{1b}') && text.contains("gray 0 … 255"), "{text}");
    let lines: Vec<&str> = text.lines().skip(1).collect();
    assert!(lines[0].starts_with('.') && lines[0].ends_with('@'), "{text}");
    assert!(
        lines.last().unwrap().starts_with('@') && lines.last().unwrap().ends_with('.'),
        "{text}"
    );
    let text = shown("preview t.zarr --color always", "TERM", "xterm-256color");
    assert!(text.contains("\u{1b}[38;5;"), "{text}");
    let text = shown("plot t.zarr --color always", "COLORTERM", "truecolor");
    assert!(text.contains("\u{1b}[38;2;"), "{text}");
}

/// In a terminal, too, values are dates, and what cannot be seen is said.
#[test]
fn a_preview_says_what_it_shows() {
    let folder = Folder::new();
    put(&folder, "t.zarr --path moments", "--shape 2 --dtype datetime64[ms]", "[0,86400000]");
    put(&folder, "t.zarr --path days", "--shape 2 --dtype int32", "[0,59]");
    let mut units = folder.command("attrs t.zarr --path days --set");
    assert!(units.arg("units=\"days since 2000-01-01\"").output().unwrap().status.success());
    folder.good("create t.zarr --path gone --shape 9,9 --dtype float32 --fill NaN");
    let heading = |line: &str| {
        let run = folder.good(line);
        (run.text().lines().next().unwrap().to_owned(), run.text().lines().count())
    };
    assert_eq!(heading("plot t.zarr/moments").0, "moments: 1970-01-01 … 1970-01-02");
    assert_eq!(heading("plot t.zarr/days").0, "days: 2000-01-01 … 2000-02-29");
    let gone = "gone: no values: every element is missing or not finite".to_owned();
    assert_eq!(heading("plot t.zarr/gone"), (gone.clone(), 1));
    assert_eq!(heading("plot t.zarr/gone --histogram"), (gone, 1));
    // Where no terminal says how wide it is, the environment does.
    folder.good("create t.zarr --path v --shape 100,100 --dtype int8 --fill 1");
    let narrow = folder.command("plot t.zarr/v").env("COLUMNS", "40").output().unwrap();
    let text = String::from_utf8(narrow.stdout).unwrap();
    assert!(text.lines().skip(1).all(|line| line.chars().count() <= 40), "{text}");
}

/// The picture that was there stays where a new one has no room. A limit of 512 or 1,024 bytes stands for a full disk.
#[cfg(target_os = "linux")]
#[test]
fn a_picture_is_written_whole_or_not_at_all() {
    let folder = Folder::new();
    put(&folder, "p.zarr", "--shape 2,2 --dtype uint8", "[[0,255],[255,0]]");
    folder.write("p.png", "old");
    let line =
        format!("trap '' XFSZ; ulimit -f 1; {} plot p.zarr -o p.png", env!("CARGO_BIN_EXE_zarr"));
    let mut shell = std::process::Command::new("sh");
    let run = shell.args(["-c", &line]).current_dir(folder.path("")).output().unwrap();
    let said = String::from_utf8(run.stderr).unwrap();
    assert_eq!(run.status.code(), Some(5), "{said}");
    assert!(said.contains("p.png: File too large"), "{said}");
    assert_eq!(fs::read(folder.path("p.png")).unwrap(), b"old");
    assert_eq!(fs::read_dir(folder.path("")).unwrap().count(), 2);
    folder.good("plot p.zarr -o p.png");
    assert!(fs::read(folder.path("p.png")).unwrap().len() > 1024);
    // So is one behind a link, which stays.
    std::os::unix::fs::symlink("p.png", folder.path("link.png")).unwrap();
    folder.good("plot p.zarr --bare -o link.png");
    assert!(folder.path("link.png").is_symlink());
    assert_eq!(png(&fs::read(folder.path("p.png")).unwrap()).0, 2);
}

fn code(run: &Run) -> i32 {
    run.code
}

#[test]
fn the_first_of_several_chosen_steps_is_said_to_be_drawn() {
    let folder = Folder::new();
    folder.good("create a.zarr/v --shape 9,4,5 --dtype int8 --dims time,y,x");
    let told = folder.run("plot a.zarr/v --by-name time=3:7 -o x.png").err;
    assert!(told.contains("drawn: the first of the 4 chosen along time: time 3 of 9"), "{told}");
    assert!(told.contains("as with --by-name time=5"), "{told}");
    folder.good("plot a.zarr/v --by-name time=3 -o x.png");
}

#[test]
fn what_is_no_picture_is_refused_with_a_reason() {
    let folder = Folder::new();
    folder.good("create b.zarr --path complex --shape 2,2 --dtype complex64");
    folder.good("create b.zarr --path text --shape 2,2 --dtype string");
    folder.good("create b.zarr --path one --shape '' --dtype int8");
    folder.good("create b.zarr --path empty --shape 0,4 --dtype int8");
    folder.good("create b.zarr --path v --shape 4,4 --chunks 2,2 --dtype float64");
    for (line, says) in [
        ("plot b.zarr/complex -o x.png", "only real numbers"),
        ("plot b.zarr/text -o x.png", "only real numbers"),
        ("plot b.zarr/empty -o x.png", "there are no elements to show"),
        ("plot b.zarr/v -o x.jpg", "unknown extension; use .png or .svg"),
        ("plot b.zarr/v --bare -o x.svg", "--bare draws pixels"),
        ("plot b.zarr/v --bare", "--bare needs a file"),
        (
            "plot b.zarr --bare -o x.png",
            "name one of its arrays with --path: `/complex`, `/text`, `/v`",
        ),
        ("plot b.zarr/v --cmap viridos -o x.png", "did you mean `viridis`"),
        ("plot b.zarr/v --range 3,1 -o x.png", "invalid range"),
        ("plot b.zarr/v --range -1,1 --log -o x.png", "begins above 0"),
        ("plot b.zarr/v --x lon -o x.png", "there is no dimension `lon`"),
        ("plot b.zarr/one --x 0 -o x.png", "the array is one element"),
        ("plot b.zarr/v --x 0 --y 0 -o x.png", "the same axis"),
        ("plot b.zarr/v --region [0,2],: -o x.png", "not a list"),
        ("plot b.zarr/v --rgb 0,1,2 -o x.png", "which axis has the colours"),
        ("plot b.zarr/v --size 5 -o x.png", "expected a size like 800x600"),
        ("plot b.zarr/v --size 9000x600 -o x.png", "at most 8192 pixels a side"),
        ("plot b.zarr/v --size 299x200 -o x.png", "must be at least 300x200"),
    ] {
        let why = folder.bad(line, 2);
        assert!(why.contains(says), "{line}: {why}");
        let is_of_data =
            !["jpg", "--bare", "viridos", "3,1", "--size"].iter().any(|word| line.contains(word));
        assert!(!is_of_data || why.contains("b.zarr: /"), "{line}: {why}");
        assert!(!folder.path("x.png").exists(), "{line}");
    }
    assert!(folder.bad("plot b.zarr/v -o absent/x.png", 5).contains("absent/x.png"));
    fs::write(folder.path("b.zarr/v/c-broken"), "").unwrap();
    fs::create_dir_all(folder.path("b.zarr/v/c/0")).unwrap();
    fs::write(folder.path("b.zarr/v/c/0/0"), "broken").unwrap();
    assert_eq!(code(&folder.run("plot b.zarr/v -o x.png")), 5);
    // On a sheet the others are shown, and the exit code tells.
    put(&folder, "b.zarr --path w", "--shape 4,4 --dtype int8", &format!("[{}1]", "1,".repeat(15)));
    for (line, shown) in [("plot b.zarr -o sheet.png", 0), ("plot b.zarr", 20)] {
        let run = folder.run(line);
        assert_eq!(run.code, 5, "{line}: {}", run.err);
        assert!(
            run.err.starts_with("error: ") && run.err.contains("/v, chunk (0, 0)"),
            "{}",
            run.err
        );
        assert!(run.text().lines().count() >= shown, "{line}: {}", run.text());
    }
    assert_eq!(png(&fs::read(folder.path("sheet.png")).unwrap()).0, 1200);
}

/// Numbers that ranges are not made for: all missing, constant, infinite, single, thin, without end.
#[test]
fn odd_arrays_have_pictures() {
    let folder = Folder::new();
    put(
        &folder,
        "o.zarr/nan",
        "--shape 2,2 --dtype float64",
        "[[\"NaN\",\"NaN\"],[\"NaN\",\"NaN\"]]",
    );
    put(&folder, "o.zarr --path same", "--shape 2,2 --dtype float64", "[[7,7],[7,7]]");
    put(
        &folder,
        "o.zarr --path inf",
        "--shape 1,3 --dtype float32",
        "[[\"Infinity\",1,\"-Infinity\"]]",
    );
    put(&folder, "o.zarr --path wide", "--shape 1,2 --dtype float64", "[[-1.7e308,1.7e308]]");
    put(&folder, "o.zarr --path one", "--shape '' --dtype int64", "5");
    put(
        &folder,
        "o.zarr/thin",
        "--shape 1,300 --dtype bool",
        &format!("[[{}true]]", "false,".repeat(299)),
    );
    put(
        &folder,
        "o.zarr/day",
        "--shape 3 --dtype <M8[D]",
        "[\"2020-01-01\",\"NaT\",\"2020-02-01\"]",
    );
    let endless = "--shape 1000000,1000000 --chunks 20000,20000 --dtype float32";
    folder.good(&format!("create o.zarr --path endless {endless}"));
    folder.good("create o.zarr --path long --shape 1000000000000 --chunks 1000000 --dtype int8");
    let names = ["nan", "same", "inf", "wide", "one", "thin", "day", "endless", "long"];
    let options = [
        "-o x.png",
        "-o x.svg",
        "",
        "--histogram -o x.png",
        "--histogram",
        "--range full -o x.png",
    ];
    for (n, name) in names.into_iter().enumerate() {
        // Two options for each array, or all.
        for more in options.into_iter().skip(sample(n % 3, 0)).step_by(sample(3, 1)) {
            let run = folder.run(&format!("plot o.zarr/{name} {more}"));
            assert_eq!((run.code, &*run.err), (0, ""), "{name} {more}");
        }
    }
    for name in ["nan", "same", "inf", "wide", "one", "thin", "day"] {
        folder.good(&format!("plot o.zarr/{name} --bare -o x.png"));
    }
    assert_eq!(png(&folder.good("plot o.zarr/nan --bare -o -").out).2, [CLEAR; 4]);
    assert_eq!(png(&folder.good("plot o.zarr/day --bare -o -").out).1, 1);
    assert!(folder.bad("plot o.zarr/endless --bare -o x.png", 2).contains("too large"));
}

/// Which axes go across and down, and which are colours, is chosen once: for the program, and for the page of `zarr serve`.
#[cfg(feature = "serve")]
#[test]
fn the_page_begins_with_the_view_of_the_program() {
    use std::io::{Read, Write};
    use zarr_serve::{ServeOptions, Server, Targets, TargetsOptions};

    let folder = Folder::new();
    let cases = [
        ("a", "--shape 4,5,6 --dtype int16", "picture", 2, 1),
        ("b", "--shape 4,1,6 --dtype int16", "picture", 2, 0),
        ("c", "--shape 4,5,6 --dtype float32 --dims lat,time,lon", "picture", 2, 0),
        ("d", "--shape 5,6,3 --dtype uint8", "picture", 1, 0),
        ("e", "--shape 5,6,3 --dtype uint8 --dims a,b,c0", "picture", 2, 1),
        ("f", "--shape 5,6,3 --dtype float32", "picture", 2, 1),
        ("g", "--shape 3,5,6 --dtype uint16 --dims band,y,x", "picture", 2, 1),
        ("h", "--shape 7,5,1,6 --dtype bool --dims x,y,z,t", "picture", 0, 1),
        ("i", "--shape 9 --dtype int8", "line", 0, 0),
        ("j", "--shape 1,1,9 --dtype int8", "line", 2, 0),
        ("k", "--shape 1,1 --dtype int8", "none", 0, 0),
    ];
    for (name, more, ..) in cases {
        folder.good(&format!("create o.zarr --path {name} {more}"));
    }
    let open = zarr::OpenOptions::new(zarr::standard());
    let options = TargetsOptions { open, ..TargetsOptions::default() };
    let target = folder.path("o.zarr").display().to_string();
    let targets = Targets::open(&[target], &options).unwrap();
    let options = ServeOptions { port: Some(0), ..ServeOptions::default() };
    let server = Server::new(targets, options).unwrap();
    let address = server.address().unwrap();
    std::thread::spawn(move || server.run(std::future::pending(), std::future::pending()));
    for (name, more, kind, x, y) in cases {
        let mut stream = std::net::TcpStream::connect(address).unwrap();
        let path = format!("/-/node?path=o.zarr/{name}");
        write!(stream, "GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
            .unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        let expected = format!(r#""kind":"{kind}","x":{x},"y":{y},"#);
        assert!(answer.contains(&expected), "{name}: {expected} in {answer}");
        if kind != "picture" {
            continue;
        }
        let shape: Vec<u32> =
            more.split(' ').nth(1).unwrap().split(',').map(|n| n.parse().unwrap()).collect();
        let (width, height, _) = png(&folder.good(&format!("plot o.zarr/{name} --bare -o -")).out);
        assert_eq!((width, height), (shape[x], shape[y]), "{name}");
    }
}
