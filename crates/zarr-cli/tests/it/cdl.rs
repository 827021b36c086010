//! Datasets are dumped as CDL, and generated from it.

use std::fs;

use crate::common::Folder;

const SEA: &str = r#"netcdf sea {
dimensions:
	time = UNLIMITED ; // (2 currently)
	x = 3 ;
variables:
	int time(time) ;
		time:units = "hours" ;
	float t(time, x) ;
		t:_FillValue = -9.f ;
	char code(x) ;
	string name ;

// global attributes:
		:title = "the sea" ;
		:level = 7b ;
data:

 time = 1, 2 ;

 t =
  280.5, _, 281,
  282, 283, 0.1 ;

 code = "abc" ;

 name = "north" ;

group: deep {
  variables:
  	short d(x) ;
  data:

   d = 1, 2, _ ;
  } // group deep
}
"#;

/// N-120 to N-122: what is dumped is what was read.
#[test]
fn a_dataset_is_made_and_dumped() {
    let folder = Folder::new();
    folder.write("sea.cdl", SEA);
    for format in ["nczarr-v3", "nczarr-v2"] {
        for end in ["", ".zarr", ".zip", ".lmdb"] {
            let name = format!("{format}{end}");
            folder.good(&format!("gen sea.cdl -o {name} --format {format}"));
            assert_eq!(folder.good(&format!("dump -n sea {name}")).text(), SEA, "{name}");
        }
    }
    let piped = folder.feed("gen -o piped.zarr", SEA.as_bytes());
    assert_eq!((piped.code, &*piped.err), (0, ""));
    assert_eq!(folder.good("dump piped.zarr").text(), SEA.replace("netcdf sea", "netcdf piped"));
    let inside = folder.good("dump piped.zarr --path deep").text().to_owned();
    assert!(inside.starts_with("netcdf deep {\n"), "{inside}");
}

/// Plain Zarr keeps dimensions by name, but neither that they grow nor the types of attributes (N-095, N-096).
#[test]
fn plain_zarr_is_a_dataset_too() {
    let folder = Folder::new();
    folder.write("sea.cdl", SEA);
    for format in ["zarr-v3", "zarr-v2"] {
        folder.good(&format!("gen sea.cdl -o {format} --format {format}"));
        let text = folder.good(&format!("dump {format}")).text().to_owned();
        for line in ["\ttime = 2 ;", "\tfloat t(time, x) ;", " time = 1, 2 ;", "   d = 1, 2, _ ;"] {
            assert!(text.contains(line), "{line} is not in {format}: {text}");
        }
    }
    folder
        .good("create z.zarr --path a --shape 2,3 --chunks 1,3 --dtype int16 --fill 5 --dims y,x");
    let text = folder.good("dump z.zarr").text().to_owned();
    // v3 knows a missing value by the attribute alone.
    let due = "netcdf z {\ndimensions:\n\ty = 2 ;\n\tx = 3 ;\nvariables:\n\tshort a(y, x) ;\n\
               data:\n\n a =\n  5, 5, 5,\n  5, 5, 5 ;\n}\n";
    assert_eq!(text, due);
}

#[test]
fn options_are_those_of_ncdump() {
    let folder = Folder::new();
    folder.write("sea.cdl", SEA);
    folder.good("gen sea.cdl -o sea.zarr");
    let header = SEA.split("data:\n").next().unwrap();
    let h = folder.good("dump -h sea.zarr").text().to_owned();
    assert!(h.starts_with(header) && !h.contains("data:"), "{h}");
    let c = folder.good("dump -c sea.zarr").text().to_owned();
    assert!(c.contains(" time = 1, 2 ;") && !c.contains(" t ="), "{c}");
    for (names, due) in [("t,name", 2), ("/deep/d", 1), ("deep/d", 1), ("d", 1)] {
        let v = folder.good(&format!("dump -v {names} sea.zarr")).text().to_owned();
        let data = v.lines().filter(|line| line.starts_with(' ') && line.contains(" = ")).count();
        let rows = v.matches(" t =\n").count();
        assert_eq!(data + rows, due, "{names}: {v}");
    }
    let s = folder.good("dump -s -h sea.zarr").text().to_owned();
    for line in [
        "t:_ChunkSizes = ",
        "t:_Endianness = \"little\" ;",
        ":_IsNetcdf4 = 1 ;",
        ":_Format = \"netCDF-4\" ;",
    ] {
        assert!(s.contains(line), "{line} is not in {s}");
    }
    let p = folder.good("dump -p 3,4 -v t sea.zarr").text().to_owned();
    assert!(p.contains("  280, _, 281,\n"), "{p}");
    assert!(folder.good("dump -p 9,17 -v t sea.zarr").text().contains("0.100000001"));
    let l = folder.good("dump -l 20 -v t sea.zarr").text().to_owned();
    assert!(l.contains("  280.5, _, 281,\n"), "{l}");
    // As ncdump 4.9.0: all definitions, and the word `data` where there are some.
    for (name, due) in [("deep", " d = "), ("/deep", " d = "), ("/", " time = ")] {
        let g = folder.good(&format!("dump -g {name} sea.zarr")).text().to_owned();
        assert!(
            g.contains(due) && g.contains("group: deep {") && g.matches("data:\n").count() == 1,
            "{name}: {g}"
        );
    }
    assert_eq!(folder.good("dump -k sea.zarr").text(), "netCDF-4\n");
    let run = folder.run("dump -g nothing sea.zarr");
    assert!(
        run.code == 2 && run.err.contains("there is no group `nothing`; expected one of /, deep"),
        "{}",
        run.err
    );
    let run = folder.run("dump -v nothing sea.zarr");
    assert_eq!(run.code, 2);
    assert!(
        run.err.contains("there is no variable `nothing`; expected one of time, t, code"),
        "{}",
        run.err
    );
}

#[test]
fn mistakes_in_the_text_are_told_where_they_are_and_nothing_is_made() {
    let folder = Folder::new();
    folder.write("bad.cdl", SEA.replace("282, 283", "282, \"283\""));
    let run = folder.run("gen bad.cdl -o bad.zarr");
    assert_eq!(run.code, 2);
    let due = "error: bad.cdl: line 22, column 8: expected a number; remove the quotes\n";
    assert_eq!(run.err, due);
    assert!(!folder.path("bad.zarr").exists());
    folder.write("latin.cdl", b"netcdf x {\n:a = \"\xe9\" ;\n}".as_slice());
    let run = folder.run("gen latin.cdl -o bad.zarr");
    assert_eq!(
        (run.code, run.err.contains("line 2: the text is not UTF-8")),
        (2, true),
        "{}",
        run.err
    );
    assert_eq!(folder.run("gen nothing.cdl -o bad.zarr").code, 2);
    folder.write("sea.cdl", SEA);
    folder.good("gen sea.cdl -o sea.zarr");
    let before = fs::read(folder.path("sea.zarr/zarr.json")).unwrap();
    let run = folder.run("gen sea.cdl -o sea.zarr");
    assert_eq!(run.code, 2, "{}", run.err);
    assert_eq!(fs::read(folder.path("sea.zarr/zarr.json")).unwrap(), before);
    let run = folder.run("dump nothing.zarr");
    assert_eq!(run.code, 3, "{}", run.err);
}

/// N-062: a string that is too long for v2 is told, and no half of a dataset is left.
#[test]
fn what_cannot_be_written_is_taken_back() {
    let folder = Folder::new();
    folder.write(
        "long.cdl",
        format!("netcdf x {{ variables: string s ; data: s = \"{}\" ; }}", "a".repeat(200)),
    );
    let run = folder.run("gen long.cdl -o long --format nczarr-v2");
    assert_ne!(run.code, 0);
    assert!(run.err.contains("/s"), "{}", run.err);
    assert_eq!(folder.run("dump long").code, 3);
    folder.good("gen long.cdl -o long --format nczarr-v3");
}

/// N-090: an array that lies alone is a dataset of one variable. One with more elements than 64 bits count is told.
#[test]
fn lone_and_endless_arrays_are_printed_as_far_as_they_go() {
    let folder = Folder::new();
    folder.good("create one.zarr --path / --shape 2 --chunks 2 --dtype int16 --dims x");
    let text = folder.good("dump -s one.zarr").text().to_owned();
    assert!(text.contains("\tshort one(x) ;") && text.ends_with(" one = 0, 0 ;\n}\n"), "{text}");
    folder.good(
        "create big.zarr --path a --shape 1099511627776,1099511627776 --chunks 10,10 --dtype int16",
    );
    assert!(folder.good("dump -h big.zarr").text().contains("1099511627776"));
    let run = folder.run("dump big.zarr");
    assert_eq!(run.code, 5, "{}", run.err);
    assert!(run.err.contains("/a: ") && run.err.contains("-v"), "{}", run.err);
}

/// Arrays that netCDF has no type for do not make the others unreadable (N-004).
#[test]
fn other_arrays_are_left_out() {
    let folder = Folder::new();
    folder.good("create z.zarr --path a --shape 2 --chunks 2 --dtype int16");
    folder.good("create z.zarr --path m --shape 2 --chunks 2 --dtype r24");
    let run = folder.run("dump -h z.zarr");
    assert_eq!(run.code, 0);
    assert!(run.text().contains("\tshort a("), "{}", run.text());
    assert!(run.err.starts_with("warning: /m: is not a variable: "), "{}", run.err);
}

/// N-055: what no netCDF program shows is named.
#[test]
fn attributes_and_arrays_that_are_not_printed_are_named() {
    let folder = Folder::new();
    for format in ["v2", "v3"] {
        let target = format!("{format}.zarr");
        folder.good(&format!("create {target} --format {format} --group --attr CLASS=a"));
        let options = "--shape 2 --dtype int8 --dims x --attr NAME=b --attr ok=1";
        folder.good(&format!("create {target} --path v {options}"));
        folder.good(&format!("create {target} --path .w {options}"));
        let dump = folder.run(&format!("dump {target}"));
        assert_eq!(dump.code, 0, "{}", dump.err);
        assert!(dump.text().contains("v:ok = 1") && !dump.text().contains("NAME"));
        assert_eq!(dump.err.lines().count(), 3, "{}", dump.err);
        for due in [
            "warning: /: attribute `CLASS` is not shown: ",
            "warning: /.w: is not shown: ",
            "warning: /v: attribute `NAME` is not shown: ",
        ] {
            assert!(dump.err.lines().any(|line| line.starts_with(due)), "{due}: {}", dump.err);
        }
        // Copies keep them.
        folder.good(&format!("copy {target} {target}-copy --to zarr-v3"));
        assert!(folder.good(&format!("attrs {target}-copy --path v")).text().contains("NAME"));
    }
}

/// Names with a colon are ordinary, for variables, groups and dimensions, in folders and archives.
#[test]
#[cfg(not(windows))]
fn names_with_colons_are_made_copied_and_dumped() {
    let folder = Folder::new();
    let text = "netcdf c {\ndimensions:\n\tT\\:1 = 2 ;\nvariables:\n\tint a\\:b(T\\:1) ;\n\t\ta\\:b:u\\:v = 1 ;\ndata:\n\n a\\:b = 1, 2 ;\n\n\
                group: g\\:h {\n  variables:\n  \tint x ;\n  data:\n\n   x = 3 ;\n  } // group g\\:h\n}\n";
    folder.write("c.cdl", text);
    for (name, format) in
        [("c2", "nczarr-v2"), ("c3", "nczarr-v3"), ("c2.zip", "nczarr-v2"), ("c3.zip", "nczarr-v3")]
    {
        folder.good(&format!("gen c.cdl -o {name} --format {format}"));
        assert_eq!(folder.good(&format!("dump -n c {name}")).text(), text, "{name}");
        for to in ["nczarr-v2", "nczarr-v3"] {
            folder.good(&format!("copy {name} {name}-{to} --to {to}"));
            let run = folder.good(&format!("dump -n c {name}-{to}"));
            let values = [" a\\:b = 1, 2 ;", "   x = 3 ;", "group: g\\:h {"];
            assert!(values.iter().all(|line| run.text().contains(line)), "{}", run.text());
        }
        for to in ["zarr-v2", "zarr-v3"] {
            folder.good(&format!("copy {name} {name}-{to} --to {to}"));
            let tree = folder.good(&format!("tree {name}-{to}")).text().to_owned();
            assert!(tree.contains("a:b") && tree.contains("g:h"), "{tree}");
        }
    }
}
