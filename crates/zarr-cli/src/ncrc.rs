//! The resource file of netCDF's library, and the lines in it that load the plug-in.
//!
//! They are between two marks at the beginning of the file; all else stays as it is.

use std::path::{Path, PathBuf};

/// What precedes the lines.
const BEGIN: &str = "# Zarr data, by `zarr netcdf-plugin --install`";
/// What follows them.
const END: &str = "# End of the lines of `zarr netcdf-plugin`";

/// How many slots netCDF's library has for plug-ins.
pub const SLOT_COUNT: u8 = 10;
/// netcdf-c 4.10.0 loads only these.
pub const SLOTS_OF_FIRST_RELEASE: u8 = 3;

/// What files of Zarr's begin with: documents and link files; zip archives.
pub const MAGICS: [&str; 2] = ["{", "PK"];

/// A plug-in that a file loads.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Entry {
    pub slot: u8,
    pub library: String,
    pub magic: String,
}

/// Where the file is that netCDF's library reads, as its environment says: `NCRCENV_RC`, or `.ncrc` in the home folder, which
/// `NCRCENV_HOME` may name.
pub fn path() -> Option<PathBuf> {
    if let Some(path) = variable("NCRCENV_RC") {
        return Some(path.into());
    }
    let home = variable("NCRCENV_HOME").map(PathBuf::from).or_else(std::env::home_dir)?;
    Some(home.join(".ncrc"))
}

/// A variable of the environment that is not empty.
fn variable(name: &str) -> Option<std::ffi::OsString> {
    std::env::var_os(name).filter(|value| !value.is_empty())
}

/// The lines that load the library in two slots, one for each beginning of files.
pub fn lines(library: &Path, slots: [u8; 2]) -> Vec<String> {
    slots
        .into_iter()
        .zip(MAGICS)
        .flat_map(|(slot, magic)| {
            let library = library.display();
            [
                format!("NETCDF.UDF{slot}.LIBRARY={library}"),
                format!("NETCDF.UDF{slot}.INIT=zarr_netcdf_udf{slot}"),
                format!("NETCDF.UDF{slot}.MAGIC={magic}"),
            ]
        })
        .collect()
}

/// A file's text with these lines between the marks, in place of those that were there.
pub fn with_lines(text: &str, lines: &[String]) -> String {
    let rest = without_lines(text);
    format!("{BEGIN}\n{}\n{END}\n{rest}", lines.join("\n"))
}

/// A file's text without the marks and what is between them.
pub fn without_lines(text: &str) -> String {
    let (before, _, after) = parts(text);
    format!("{before}{after}")
}

/// The lines between the marks.
pub fn own_lines(text: &str) -> &str {
    parts(text).1
}

/// What is before the marks, between and behind them. A first mark without a second, of a file that someone edited, has nothing
/// behind it that is ours.
fn parts(text: &str) -> (&str, &str, &str) {
    let begin = format!("{BEGIN}\n");
    let end = format!("{END}\n");
    let Some((before, rest)) = text.split_once(&begin) else { return (text, "", "") };
    let (own, after) = rest.split_once(&end).unwrap_or(("", rest));
    (before, own, after)
}

/// The plug-ins that a text loads, by slot.
pub fn entries(text: &str) -> Vec<Entry> {
    let mut found: Vec<Entry> = Vec::new();
    // netCDF's library deletes all blanks of a line.
    let lines = text.lines().map(|line| line.replace(char::is_whitespace, ""));
    for line in lines.filter(|line| !line.starts_with('#')) {
        let Some((name, value)) = line.split_once('=') else { continue };
        let Some((slot, what)) = name.strip_prefix("NETCDF.UDF").and_then(|it| it.split_once('.'))
        else {
            continue;
        };
        let Ok(slot) = slot.parse::<u8>() else { continue };
        let at = match found.iter().position(|entry| entry.slot == slot) {
            Some(at) => at,
            None => {
                found.push(Entry { slot, ..Entry::default() });
                found.len() - 1
            }
        };
        match what {
            "LIBRARY" => value.clone_into(&mut found[at].library),
            "MAGIC" => value.clone_into(&mut found[at].magic),
            _ => {}
        }
    }
    found.retain(|entry| !entry.library.is_empty());
    found.sort_by_key(|entry| entry.slot);
    found
}

/// The two slots to take: the highest of the first three that no other plug-in has, else the lowest behind them. A lower slot wins
/// where two plug-ins claim the same files, so that others keep theirs.
pub fn free_slots(others: &[Entry]) -> Option<[u8; 2]> {
    let is_free = |slot: &u8| others.iter().all(|entry| entry.slot != *slot);
    let first: Vec<u8> = (0..SLOTS_OF_FIRST_RELEASE).rev().filter(is_free).take(2).collect();
    if let [high, low] = first[..] {
        return Some([low, high]);
    }
    let behind = (SLOTS_OF_FIRST_RELEASE..SLOT_COUNT).filter(is_free);
    let slots: Vec<u8> = first.into_iter().chain(behind).take(2).collect();
    slots.try_into().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_between_the_marks_changes() {
        let own = lines(Path::new("/lib/z.so"), [1, 2]);
        let text = "[http://h]HTTP.TIMEOUT=3\nNETCDF.UDF0.LIBRARY=/other.so\n";
        let with = with_lines(text, &own);
        assert!(with.ends_with(text));
        assert_eq!(without_lines(&with), text);
        assert_eq!(with_lines(&with, &own), with);
        assert_eq!(own_lines(&with).lines().count(), 6);
        assert_eq!(without_lines(&with_lines("", &own)), "");
        assert_eq!(without_lines("a\n"), "a\n");
        let moved = format!("a\n{with}");
        assert_eq!(without_lines(&moved), format!("a\n{text}"));
    }

    #[test]
    fn slots_of_others_are_left() {
        let text = "NETCDF.UDF2.LIBRARY = /a.so\n#NETCDF.UDF1.LIBRARY=/b.so\nNETCDF.UDF2.MAGIC= CDF\nNETCDF.UDF5.INIT=f\n";
        let found = entries(text);
        assert_eq!(found, [Entry { slot: 2, library: "/a.so".into(), magic: "CDF".into() }]);
        assert_eq!(free_slots(&[]), Some([1, 2]));
        assert_eq!(free_slots(&found), Some([0, 1]));
        let taken = |slots: &[u8]| {
            slots.iter().map(|&slot| Entry { slot, ..found[0].clone() }).collect::<Vec<_>>()
        };
        assert_eq!(free_slots(&taken(&[0, 2])), Some([1, 3]));
        assert_eq!(free_slots(&taken(&[0, 1, 2, 3])), Some([4, 5]));
        assert_eq!(free_slots(&taken(&[0, 1, 2, 3, 4, 5, 6, 7, 8])), None);
    }
}
