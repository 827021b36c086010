//! Every example runs.

use std::path::Path;
use std::process::Command;

/// The examples are built with the tests of this crate.
#[test]
fn every_example_ends_well() {
    let this = std::env::current_exe().expect("a test is a file");
    let built = this.ancestors().nth(2).expect("tests lie in `deps`").join("examples");
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples");
    for source in std::fs::read_dir(sources).expect("there are examples") {
        let name = source.expect("a file").path().with_extension(std::env::consts::EXE_EXTENSION);
        let program = built.join(name.file_name().expect("a file has a name"));
        assert!(program.exists(), "build it with `cargo build -p zarrkit --examples`");
        let output = Command::new(&program).output().expect("a program");
        let told = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{}: {told}", program.display());
    }
}
