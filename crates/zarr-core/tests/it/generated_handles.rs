//! The blocking handles are generated from the async ones: this is the generator, and the test that they are up to date.
//!
//! A blocking file is its async one with three changes: `async fn` is `fn`, an awaited future is one that `block_on` runs, and
//! what examples in comments call returns at once. So an async method awaits functions of the core, never another method of a
//! handle. `mod.rs` and `elements.rs` are written for each face.

use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

const GENERATED: [&str; 6] =
    ["array.rs", "builder.rs", "chunk.rs", "group.rs", "hierarchy.rs", "node.rs"];

#[test]
fn blocking_handles_are_what_the_async_ones_generate() {
    let handles = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/handles");
    for name in GENERATED {
        let source = std::fs::read_to_string(handles.join("async").join(name)).unwrap();
        let generated = formatted(&blocking_face(name, &source));
        let file = handles.join("blocking").join(name);
        if std::env::var_os("UPDATE").is_some() {
            std::fs::write(&file, generated).unwrap();
        } else if std::fs::read_to_string(&file).unwrap_or_default() != generated {
            panic!(
                "{} is not what async/{name} generates; change that file, then run \
                 `UPDATE=1 cargo test -p zarr-core --test it generated_handles`",
                file.display()
            );
        }
    }
}

#[test]
fn every_file_but_those_of_each_face_is_generated() {
    let face = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/handles/async");
    let mut names: Vec<String> = std::fs::read_dir(face)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name != "mod.rs" && name != "elements.rs")
        .collect();
    names.sort();
    assert_eq!(names, GENERATED);
}

#[test]
fn an_awaited_future_is_run_by_block_on() {
    let cases = [
        ("let a = f(b, &c[1]).await?;", "let a = block_on(f(b, &c[1]))?;"),
        ("Ok(self.a.read::<T>(None).await)", "Ok(block_on(self.a.read::<T>(None)))"),
        ("A(a) => a.core.f(g(1)).await,", "A(a) => block_on(a.core.f(g(1))),"),
        ("    a\n        .b(c)\n        .await", "    block_on(a\n        .b(c))"),
        ("f().await?;\n    g().await", "block_on(f())?;\n    block_on(g())"),
    ];
    for (awaited, blocking) in cases {
        assert_eq!(with_block_on(awaited), blocking);
    }
}

/// The blocking file of an async one, not yet formatted.
fn blocking_face(name: &str, source: &str) -> String {
    let mut text = String::new();
    let mut is_head = true;
    let mut imports_block_on = source.contains("async fn");
    for line in source.lines() {
        if is_head && !line.starts_with("//!") {
            is_head = false;
            text.push_str(&format!(
                "// @generated from async/{name} by tests/it/generated_handles.rs of this crate. Change that file, then run\n\
                 // `UPDATE=1 cargo test -p zarr-core --test it generated_handles`.\n"
            ));
        }
        // Not between an import and its `#[cfg]`.
        if imports_block_on && line.starts_with("use crate::") && !text.ends_with("]\n") {
            text.push_str("use crate::runtime::block_on;\n");
            imports_block_on = false;
        }
        let mut line = line.replace("async fn", "fn");
        if line.trim_start().starts_with("//") {
            line = line.replace(".await", "").replace("zarr_core::aio::", "zarr_core::");
        }
        text.push_str(&line);
        text.push('\n');
    }
    with_block_on(&text)
}

/// The text with `block_on(FUTURE)` for each `FUTURE.await`.
fn with_block_on(text: &str) -> String {
    let mut text = text.to_owned();
    while let Some(end) = text.find(".await") {
        let future_end = text[..end].trim_end().len();
        let start = expression_start(&text[..future_end]);
        let future = &text[start..future_end];
        text = format!("{}block_on({future}){}", &text[..start], &text[end + ".await".len()..]);
    }
    text
}

/// Where the expression begins with which the text ends: calls, fields and paths. It may go over several lines, each of which then
/// begins with a dot.
fn expression_start(text: &str) -> usize {
    let mut depth = 0;
    for (place, letter) in text.char_indices().rev() {
        let ends_before = match letter {
            ')' | ']' | '}' => {
                depth += 1;
                false
            }
            '(' | '[' | '{' if depth > 0 => {
                depth -= 1;
                false
            }
            _ if depth > 0 => false,
            '(' | '[' | '{' | ',' | ';' | '&' | '!' | '=' => true,
            _ => letter.is_whitespace() && !text[place..].trim_start().starts_with('.'),
        };
        if ends_before {
            return place + letter.len_utf8();
        }
    }
    0
}

/// The text as rustfmt writes it, by the settings of this workspace.
fn formatted(text: &str) -> String {
    let rustfmt = std::env::var_os("RUSTFMT").unwrap_or_else(|| "rustfmt".into());
    let mut child = Command::new(rustfmt)
        .args(["--edition", "2024", "--emit", "stdout"])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("rustfmt runs; `rustup component add rustfmt` installs it");
    child.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "rustfmt refuses what is generated:\n{text}");
    String::from_utf8(output.stdout).unwrap()
}
