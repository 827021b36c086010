//! Credentials that a program of the user's prints sign the requests to a bucket.
#![cfg(unix)]

use std::os::unix::fs::PermissionsExt;
use std::process::Command;
use std::sync::{Arc, Mutex};

use crate::common::Folder;
use crate::server::Server;

/// A folder with a program that prints `json` and notes each run, and a profile `made` that names it.
fn folder_with(json: &str, status: u8) -> Folder {
    let folder = Folder::new();
    let runs = folder.path("runs").display().to_string();
    let script = format!(
        "#!/bin/sh\necho \"$1\" >> '{runs}'\necho hush >&2\ncat <<'END'\n{json}\nEND\nexit {status}\n"
    );
    folder.write("my tools/print", script);
    let program = folder.path("my tools/print");
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
    let config = format!(
        "[profile made]\nregion = us-east-1\ncredential_process = \"{}\" 'a word'\n\n\
         [profile office]\nsso_session = office\n\n[profile role]\nrole_arn = arn\nsource_profile = office\n",
        program.display()
    );
    folder.write("config", config);
    folder.table("a.zarr", "v3");
    folder
}

fn command(folder: &Folder, server: &Server, profile: &str) -> Command {
    let mut command = folder.command("get s3://bucket/a.zarr --path a --region 0,0");
    for name in ["AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"] {
        command.env_remove(name);
    }
    command.env("AWS_CONFIG_FILE", folder.path("config"));
    command.env("AWS_SHARED_CREDENTIALS_FILE", folder.path("none"));
    command.env("AWS_PROFILE", profile).env("AWS_ENDPOINT_URL", server.url(""));
    command
}

/// What the program printed, and its exit code; nothing of it is secret.
fn ended(mut command: Command) -> (i32, String) {
    let output = command.output().unwrap();
    let printed = [&output.stdout[..], &output.stderr].concat();
    let printed = String::from_utf8_lossy(&printed).into_owned();
    assert!(!printed.contains("hush") && !printed.contains("panicked"), "{printed}");
    (output.status.code().unwrap_or(-1), printed)
}

/// A server that has the table of a folder in `bucket`, and notes how each request is signed.
fn server_of(folder: &Folder) -> (Server, Arc<Mutex<Vec<String>>>) {
    let server = Server::start();
    for name in ["zarr.json", "a/zarr.json", "a/c/0/0"] {
        let value = std::fs::read(folder.path(&format!("a.zarr/{name}"))).unwrap();
        server.set(&format!("bucket/a.zarr/{name}"), &value);
    }
    let signed = Arc::<Mutex<Vec<String>>>::default();
    let noted = signed.clone();
    server.manners(|manners| {
        manners.instead = Some(Arc::new(move |request, _| {
            let token = request.header("x-amz-security-token").unwrap_or("none");
            let by = request.header("authorization").unwrap_or("unsigned");
            noted.lock().unwrap().push(format!("{by} {token}"));
            None
        }));
    });
    (server, signed)
}

#[test]
fn the_program_of_a_profile_is_run_once() {
    let json = r#"{"Version": 1, "AccessKeyId": "THEKEY", "SecretAccessKey": "hush",
        "SessionToken": "hush-token", "Expiration": "2999-01-01T00:00:00+00:00"}"#;
    let folder = folder_with(json, 0);
    let (server, signed) = server_of(&folder);
    let (code, printed) = ended(command(&folder, &server, "made"));
    assert_eq!((code, printed.trim()), (0, "[[1]]"));
    let signed = signed.lock().unwrap();
    assert!(signed.len() > 1, "{signed:?}");
    for by in &*signed {
        assert!(by.contains("Credential=THEKEY/") && by.ends_with(" hush-token"), "{by}");
    }
    // All requests have the credentials of one run, which got its argument as one word.
    assert_eq!(std::fs::read_to_string(folder.path("runs")).unwrap(), "a word\n");
}

#[test]
fn a_program_that_fails_is_told_without_what_it_prints() {
    let json = r#"{"Version": 1, "AccessKeyId": "THEKEY", "SecretAccessKey": "hush"}"#;
    for (json, status, why) in [
        (json, 3, "`credential_process` of the profile `made` failed with exit status: 3"),
        ("hush", 0, "did not print JSON"),
        (r#"{"Version": 1, "SecretAccessKey": "hush"}"#, 0, "printed no `AccessKeyId`"),
    ] {
        let folder = folder_with(json, status);
        let (server, signed) = server_of(&folder);
        let (code, printed) = ended(command(&folder, &server, "made"));
        assert_ne!(code, 0, "{printed}");
        assert!(printed.contains(why), "{printed}");
        assert_eq!(signed.lock().unwrap().len(), 0, "nothing is sent unsigned");
    }
}

/// What is not fetched here says the command that makes it work.
#[test]
fn a_sign_on_or_a_role_says_how_it_works() {
    let folder = folder_with("{}", 0);
    let (server, signed) = server_of(&folder);
    for (profile, from) in [("office", "`sso_session`"), ("role", "`source_profile`")] {
        let (code, printed) = ended(command(&folder, &server, profile));
        assert_ne!(code, 0, "{printed}");
        let export = format!(
            "eval \"$(aws configure export-credentials --profile {profile} --format env)\""
        );
        assert!(printed.contains(from) && printed.contains(&export), "{printed}");
        let process =
            format!("credential_process = aws configure export-credentials --profile {profile}");
        assert!(printed.contains(&process), "{printed}");
    }
    assert_eq!(signed.lock().unwrap().len(), 0);
}
