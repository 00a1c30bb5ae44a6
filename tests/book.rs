//! Runs every command of the book in an empty directory and compares its output with the book.
//!
//! A chapter is a file below `docs/`. Its fenced blocks are processed from top to bottom: `console` contains
//! commands after `$ ` (continued on lines after `> `) and their output; a block with `file=NAME` in its info
//! string is written to that file first. In output, `[..]` stands for the rest of a word or line that differs
//! from run to run, and a line `...` for any number of lines. `HTC_BOOK=write cargo test --test book` updates
//! the chapters instead of comparing. A `console` block with `needs=PROGRAM` or `module=NAME` (of Python) is skipped where that
//! is missing.

#![cfg(feature = "cli")]
#![allow(clippy::unwrap_used, reason = "helpers of tests, which fail by it")]
#![allow(clippy::print_stdout, reason = "a skipped test says why")]

#[path = "harness/reader.rs"]
mod reader;

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::time::{Duration, Instant};

/// Maximum time of a command, even on a loaded machine.
const COMMAND_LIMIT: Duration = Duration::from_secs(120);

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Collects all chapters, in order of their names.
fn chapters(directory: &Path, found: &mut Vec<PathBuf>) {
    let mut entries: Vec<PathBuf> =
        fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path()).collect();
    entries.sort();
    for path in entries {
        if path.is_dir() {
            chapters(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "md") {
            found.push(path);
        }
    }
}

/// Returns the account that runs the commands, or `None` if its id has none: `nobody` if root runs the tests.
fn account() -> Option<nix::unistd::User> {
    let uid = nix::unistd::geteuid();
    let uid = if uid.is_root() { nix::unistd::Uid::from_raw(reader::NOBODY) } else { uid };
    nix::unistd::User::from_uid(uid).unwrap()
}

/// Returns the output of a command in `place` as the book shows it: the directory, the account and its home
/// are those of ann, whoever runs the tests.
fn as_shown(text: &str, place: &Path) -> String {
    let text = text.replace(&place.display().to_string(), reader::SHOWN);
    let Some(account) = account() else { return text };
    text.replace(&format!("'{}'", account.name), "'ann'")
        .replace(&format!("HOME={}\n", account.dir.display()), "HOME=/home/ann\n")
}

/// Returns the output of `command` on both streams, in order.
fn printed(command: &str, place: &Path) -> String {
    let (output, writer) = tempfile::NamedTempFile::new().unwrap().into_parts();
    let mut reader = fs::File::open(&writer).unwrap();
    let mut child = reader::command("timeout", place)
        .args(["--kill-after=5", &COMMAND_LIMIT.as_secs().to_string(), "bash", "-c", command])
        .stdin(Stdio::null())
        .stdout(output.try_clone().unwrap())
        .stderr(output)
        .spawn()
        .unwrap();
    let begun = Instant::now();
    child.wait().unwrap();
    assert!(begun.elapsed() < COMMAND_LIMIT, "{command}: still running after {COMMAND_LIMIT:?}");
    let mut bytes = Vec::new();
    std::io::Read::read_to_end(&mut reader, &mut bytes).unwrap();
    as_shown(&String::from_utf8_lossy(&bytes), place)
}

/// Returns true if `line` matches `pattern`, in which `[..]` stands for any text.
fn same_line(pattern: &str, line: &str) -> bool {
    let mut parts = pattern.split("[..]");
    let Some(mut rest) = line.strip_prefix(parts.next().unwrap_or_default()) else { return false };
    let parts: Vec<&str> = parts.collect();
    let Some((last, between)) = parts.split_last() else { return rest.is_empty() };
    for part in between {
        let Some(at) = rest.find(part) else { return false };
        rest = &rest[at + part.len()..];
    }
    rest.ends_with(last)
}

/// Returns true if `lines` match `pattern`, in which a line `...` stands for any lines.
fn same(pattern: &[&str], lines: &[&str]) -> bool {
    match pattern.split_first() {
        None => lines.is_empty(),
        Some((&"...", rest)) => (0..=lines.len()).any(|skipped| same(rest, &lines[skipped..])),
        Some((first, rest)) => {
            lines.split_first().is_some_and(|(line, others)| same_line(first, line) && same(rest, others))
        }
    }
}

/// Result of running a chapter: its text with the current output of its commands, the number of commands, and
/// the differences.
struct Run {
    text: String,
    commands: usize,
    faults: Vec<String>,
}

/// Returns the attribute `name=VALUE` of a block's info string.
fn attribute<'a>(info: &'a str, name: &str) -> Option<&'a str> {
    info.split([',', ' ']).find_map(|word| word.strip_prefix(name)?.strip_prefix('='))
}

fn run_console(block: &[&str], place: &Path, run: &mut Run) {
    let mut lines = block.iter().peekable();
    while let Some(line) = lines.next() {
        run.text += &format!("{line}\n");
        let Some(first) = line.strip_prefix("$ ") else {
            run.faults.push(format!("{line:?} comes before any command"));
            continue;
        };
        let mut command = first.to_owned();
        while let Some(more) = lines.next_if(|line| line.starts_with("> ") || **line == ">") {
            run.text += &format!("{more}\n");
            command += &format!("\n{}", more[1..].strip_prefix(' ').unwrap_or_default());
        }
        let mut shown = Vec::new();
        while let Some(line) = lines.next_if(|line| !line.starts_with("$ ")) {
            shown.push(*line);
        }
        run.commands += 1;
        let now = printed(&command, place);
        let now: Vec<&str> = now.lines().map(str::trim_end).collect();
        if same(&shown, &now) {
            shown.iter().for_each(|line| run.text += &format!("{line}\n"));
        } else {
            for line in &now {
                // A pattern that still matches is kept.
                let kept = shown.iter().find(|shown| same_line(shown, line)).unwrap_or(line);
                run.text += &format!("{kept}\n");
            }
            run.faults.push(format!(
                "$ {command}\n-- shows\n{}\n-- prints\n{}",
                shown.join("\n"),
                now.join("\n")
            ));
        }
    }
}

/// Returns the program or module of Python that a block needs and that is not here.
fn missing_tool(info: &str) -> Option<String> {
    let runs = |words: &[&str]| {
        let place = std::env::temp_dir();
        let mut command = reader::command(words[0], &place);
        command.args(&words[1..]).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        command.status().is_ok_and(|status| status.success())
    };
    if let Some(program) = attribute(info, "needs").filter(|program| !runs(&[program, "--version"])) {
        return Some(program.to_owned());
    }
    let module = attribute(info, "module")?;
    (!runs(&["python3", "-c", &format!("import {module}")])).then(|| format!("module {module}"))
}

fn run_chapter(path: &Path) -> Run {
    let text = fs::read_to_string(path).unwrap();
    let place = reader::place();
    let mut run = Run { text: String::new(), commands: 0, faults: Vec::new() };
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        let info = line.strip_prefix("```");
        // Readers do not see info strings, so the text before the block must name the file.
        if let Some(name) = info.and_then(|info| attribute(info, "file"))
            && !run
                .text
                .trim_end()
                .rsplit("\n\n")
                .next()
                .is_some_and(|told| told.contains(&format!("`{name}`")))
        {
            run.faults.push(format!("the paragraph before the file {name} does not name it"));
        }
        run.text += &format!("{line}\n");
        let Some(info) = info else { continue };
        let block: Vec<&str> = lines.by_ref().take_while(|line| *line != "```").collect();
        if let Some(missing) = missing_tool(info) {
            if std::env::var_os("HTC_BOOK_COMPLETE").is_some() {
                run.faults.push(format!("no {missing}, and HTC_BOOK_COMPLETE is set"));
            }
            println!("skipped: no {missing} for {}", path.display());
            block.iter().for_each(|line| run.text += &format!("{line}\n"));
        } else if info.split([',', ' ']).next() == Some("console") {
            run_console(&block, place.path(), &mut run);
        } else {
            block.iter().for_each(|line| run.text += &format!("{line}\n"));
            if let Some(name) = attribute(info, "file") {
                let file = place.path().join(name);
                fs::create_dir_all(file.parent().unwrap()).unwrap();
                fs::write(&file, block.join("\n") + "\n").unwrap();
                let mode =
                    if block.first().is_some_and(|line| line.starts_with("#!")) { 0o755 } else { 0o644 };
                fs::set_permissions(&file, Permissions::from_mode(mode)).unwrap();
            }
        }
        run.text += "```\n";
    }
    run
}

#[test]
fn every_command_of_the_book_prints_what_the_book_shows() {
    let mut found = Vec::new();
    chapters(&root().join("docs"), &mut found);
    if let Some(only) = std::env::var_os("HTC_BOOK_CHAPTER") {
        found.retain(|path| path.file_stem() == Some(&only));
    }
    let write = std::env::var_os("HTC_BOOK").is_some_and(|what| what == "write");
    let (left, output, commands) = (Mutex::new(found), Mutex::new(Vec::new()), Mutex::new(0));
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                loop {
                    let Some(path) = left.lock().unwrap().pop() else { break };
                    let run = run_chapter(&path);
                    *commands.lock().unwrap() += run.commands;
                    if write && !run.faults.is_empty() {
                        fs::write(&path, &run.text).unwrap();
                    }
                    let name = path.strip_prefix(root()).unwrap().display().to_string();
                    output.lock().unwrap().extend(run.faults.iter().map(|fault| format!("{name}: {fault}")));
                }
            });
        }
    });
    let (output, commands) = (output.into_inner().unwrap(), commands.into_inner().unwrap());
    assert!(commands > 0, "the book has no commands");
    assert!(output.is_empty() || write, "{} of {commands} commands:\n{}", output.len(), output.join("\n\n"));
}

#[test]
fn links_of_the_book_have_targets() {
    let mut found = vec![root().join("README.md")];
    chapters(&root().join("docs"), &mut found);
    let mut dead = Vec::new();
    for path in &found {
        let text = fs::read_to_string(path).unwrap();
        for link in text.split("](").skip(1).filter_map(|rest| rest.split([')', '#']).next()) {
            if !link.is_empty() && !link.contains("://") && !path.parent().unwrap().join(link).exists() {
                dead.push(format!("{}: {link}", path.strip_prefix(root()).unwrap().display()));
            }
        }
    }
    assert!(dead.is_empty(), "{dead:#?}");
}

#[test]
fn every_chapter_is_in_the_summary() {
    let summary = fs::read_to_string(root().join("docs/SUMMARY.md")).unwrap();
    let mut found = Vec::new();
    chapters(&root().join("docs"), &mut found);
    for path in found {
        let name = path.strip_prefix(root().join("docs")).unwrap().display().to_string();
        assert!(
            name == "SUMMARY.md" || summary.contains(&format!("({name})")),
            "{name} is in no table of contents"
        );
    }
}

/// Technical terms, and deliberate misspellings, that codespell reports.
const SPELT: &str = "startd,isnt,smal,reques,periode,weigth,requirments,atmost,streamin";

#[test]
fn book_and_manuals_are_spelt_right() {
    let texts =
        ["README.md", "CHANGELOG.md", "ARCHITECTURE.md", "docs", "man", "crates/htc-classad/README.md"];
    let checked = Command::new("codespell")
        .args(["--skip=*.svg,*.json", "--quiet-level=3", "--ignore-words-list", SPELT])
        .args(texts)
        .current_dir(root())
        .output();
    let output = match checked {
        Ok(output) => output,
        Err(error) => return println!("skipped: codespell: {error}"),
    };
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
}
