//! Weeks of three users: ten tasks each, done in an empty directory with commands from the book
//! (`tests/weeks/`).

#![cfg(feature = "cli")]
#![allow(clippy::unwrap_used, reason = "helpers of tests, which fail by it")]

#[path = "harness/reader.rs"]
mod reader;

use std::fs;
use std::path::Path;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Collects the text of all chapters.
fn book(directory: &Path, text: &mut String) {
    for entry in fs::read_dir(directory).unwrap().flatten() {
        let path = entry.path();
        if path.is_dir() {
            book(&path, text);
        } else if path.extension().is_some_and(|extension| extension == "md") {
            *text += &fs::read_to_string(path).unwrap();
        }
    }
}

fn week(name: &str) {
    let place = reader::place();
    // The account that runs the commands may not have access to the sources.
    let week = place.path().join("week");
    fs::create_dir(&week).unwrap();
    for file in [name, "tasks.sh"] {
        fs::copy(root().join("tests/weeks").join(file), week.join(file)).unwrap();
    }
    let output = reader::command("bash", place.path()).arg(week.join(name)).output().unwrap();
    let stdout = String::from_utf8_lossy(&output.stdout).into_owned();
    let done = stdout.lines().filter(|line| line.starts_with("ok ")).count();
    assert!(done == 10 && !stdout.contains("not ok"), "{stdout}{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn a_hook_author_completes_the_week() {
    week("hook-author");
}

#[test]
fn an_administrator_completes_the_week() {
    week("administrator");
}

#[test]
fn a_router_operator_completes_the_week() {
    week("router-operator");
}

/// Checks that the book contains what the weeks use: each program with its verb, each option.
#[test]
fn the_book_has_the_commands_of_the_weeks() {
    let mut text = String::new();
    book(&root().join("docs"), &mut text);
    let (mut missing, mut commands) = (Vec::new(), 0);
    for name in ["hook-author", "administrator", "router-operator"] {
        let script = fs::read_to_string(root().join("tests/weeks").join(name)).unwrap();
        for line in script.lines().filter(|line| line.contains("'htc-") || line.contains("| htc-")) {
            for call in line.split("htc-").skip(1) {
                let mut words = call.split([' ', '\'', '|', '"']).filter(|word| !word.is_empty());
                let program = format!("htc-{}", words.next().unwrap());
                let verb = words.clone().next().filter(|verb| verb.chars().all(|c| c.is_ascii_lowercase()));
                let call = verb.map_or(program.clone(), |verb| format!("{program} {verb}"));
                commands += 1;
                missing.extend((!text.contains(&call)).then_some(call));
                let options = words.filter(|word| word.starts_with('-') && word.len() > 2);
                missing.extend(options.filter(|option| !text.contains(option)).map(str::to_owned));
            }
        }
    }
    assert!(commands >= 30, "{commands} commands");
    assert!(missing.is_empty(), "not in the book: {missing:?}");
}
