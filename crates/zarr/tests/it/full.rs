//! The feature `full` turns on every feature of this crate, so that no test behind a feature is left out.

/// What `full` leaves out, each with its reason.
const NOT_IN_FULL: &[(&str, &str)] = &[
    ("default", "a choice of the others"),
    ("pure", "a choice of the others"),
    ("full", "itself"),
    ("zfp", "its decoder is young"),
];

/// The features of a manifest, each with what it turns on.
fn features(manifest: &str) -> Vec<(String, Vec<String>)> {
    let section = manifest.split("\n[features]\n").nth(1).expect("a section of features");
    let section = section.split("\n[").next().unwrap_or_default();
    let text: String = section.lines().filter(|line| !line.starts_with('#')).collect();
    let entries = text.split(']').filter_map(|entry| entry.split_once('['));
    let words = |list: &str| -> Vec<String> {
        list.split('"').skip(1).step_by(2).map(str::to_owned).collect()
    };
    entries.map(|(name, list)| (name.trim_matches([' ', '=']).into(), words(list))).collect()
}

#[test]
fn full_turns_on_each_feature_of_this_crate() {
    let features = features(include_str!("../../Cargo.toml"));
    assert!(features.len() > 50, "the manifest is read: {features:?}");
    let (_, full) = features.iter().find(|(name, _)| name == "full").expect("the feature `full`");
    let left_out = |name: &str| NOT_IN_FULL.iter().any(|(other, _)| *other == name);
    for (name, _) in &features {
        assert!(
            full.contains(name) != left_out(name),
            "`{name}` must be in `full`, or in NOT_IN_FULL with a reason, and not in both"
        );
    }
}
