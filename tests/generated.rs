//! Man pages and completions that are checked in are those that the programs' command lines give.

#![cfg(feature = "cli")]

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use htc_hooks::cli::{PROGRAMS, generate};

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn present(directory: &Path, found: &mut BTreeSet<PathBuf>) {
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            present(&path, found);
        } else if let Ok(path) = path.strip_prefix(root()) {
            found.insert(path.to_owned());
        }
    }
}

#[test]
fn man_pages_and_completions_are_current() {
    let mut checked_in = BTreeSet::new();
    present(&root().join("man"), &mut checked_in);
    present(&root().join("completions"), &mut checked_in);
    for (path, content) in generate::files().unwrap() {
        let old = fs::read(root().join(&path)).unwrap_or_default();
        assert!(old == content, "{} is old: run 'cargo run --example generate'", path.display());
        checked_in.remove(&path);
    }
    assert!(checked_in.is_empty(), "made by nobody: {checked_in:?}");
}

#[test]
fn every_program_has_a_file_in_bin_and_a_whole_manual() {
    let mut files = BTreeSet::new();
    present(&root().join("src/bin"), &mut files);
    for program in PROGRAMS {
        assert!(files.remove(&PathBuf::from(format!("src/bin/{}.rs", program.name))), "{}", program.name);
        let manual = program.manual;
        assert!(!manual.examples.is_empty() && !manual.description.is_empty(), "{}", program.name);
        assert!(!manual.differences.is_empty(), "{} differs in nothing?", program.name);
        assert!(!manual.about.ends_with('.'), "{}", program.name);
    }
    assert!(files.is_empty(), "not in PROGRAMS: {files:?}");
}

#[test]
fn help_fits_a_screen() {
    for program in PROGRAMS {
        let help = (program.command)().render_help().to_string();
        let lines = help.lines().count();
        assert!((12..=40).contains(&lines), "{}: {lines} lines\n{help}", program.name);
        let widest = help.lines().map(|line| line.chars().count()).max().unwrap_or(0);
        assert!(widest <= 100, "{}: {widest} columns\n{help}", program.name);
    }
}

#[test]
fn clap_finds_no_fault_with_the_definitions() {
    for program in PROGRAMS {
        (program.command)().debug_assert();
    }
}

/// Letters and digits alone: troff escapes the rest.
fn letters(text: &str) -> String {
    text.replace("\\fR", "")
        .replace("\\fB", "")
        .replace("\\*(Aq", "")
        .chars()
        .filter(|c| c.is_ascii_alphanumeric())
        .collect()
}

#[test]
fn the_man_page_tells_what_every_option_does() {
    for program in PROGRAMS {
        let page = fs::read_to_string(root().join(format!("man/{}.1", program.name))).unwrap();
        let page = letters(&page);
        let command = (program.command)();
        let options = command.get_arguments().filter(|arg| !arg.is_hide_set() && !arg.is_positional());
        for option in options.filter(|arg| !matches!(arg.get_id().as_str(), "help" | "help-all")) {
            let help = option.get_long_help().or_else(|| option.get_help()).unwrap().to_string();
            assert!(page.contains(&letters(&help)), "{}: --{}: {help}", program.name, option.get_id());
        }
    }
}
