//! Checks that the man pages and completions in the repository match the programs' command lines.

#![cfg(feature = "cli")]
#![allow(clippy::unwrap_used, reason = "helpers of tests")]

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
    for (path, content) in generate::generated_files().unwrap() {
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

/// Returns only letters and digits, because troff escapes other characters.
fn letters(text: &str) -> String {
    text.replace("\\fR", "")
        .replace("\\fB", "")
        .replace("\\*(Aq", "")
        .chars()
        .filter(|c| c.is_ascii_alphanumeric())
        .collect()
}

/// Returns the page of a verb, or the program's own page if that describes its verbs, or the page to which it
/// links.
fn page_of(program: &str, verb: &str) -> String {
    let read = |name: &str| fs::read_to_string(root().join("man").join(name));
    let page = read(&format!("{program}-{verb}.1")).or_else(|_| read(&format!("{program}.1"))).unwrap();
    match page.strip_prefix(".so man1/") {
        Some(other) => read(other.trim_end()).unwrap(),
        None => page,
    }
}

#[test]
fn every_option_of_a_verb_stands_on_one_page_that_the_verb_leads_to() {
    for program in PROGRAMS {
        let command = (program.command)();
        for verb in command.get_subcommands() {
            let page = letters(&page_of(program.name, verb.get_name()));
            let options = verb.get_arguments().filter(|arg| !arg.is_hide_set() && !arg.is_positional());
            for option in options.filter(|arg| !matches!(arg.get_id().as_str(), "help" | "help-all")) {
                let help = option.get_long_help().or_else(|| option.get_help()).unwrap().to_string();
                assert!(
                    page.contains(&letters(&help)),
                    "{} {}: --{}",
                    program.name,
                    verb.get_name(),
                    option.get_id()
                );
            }
        }
        let longest = fs::read_to_string(root().join(format!("man/{}.1", program.name))).unwrap();
        assert!(longest.lines().count() < 500, "{}: {} lines", program.name, longest.lines().count());
    }
}

#[test]
fn man_finds_no_fault_with_the_pages() {
    let mut pages = BTreeSet::new();
    present(&root().join("man"), &mut pages);
    for page in pages {
        let called = std::process::Command::new("man")
            .args(["--warnings", "-E", "UTF-8", "-l", "-Tutf8", "-Z"])
            .arg(root().join(&page))
            .current_dir(root().join("man"))
            .env("MANWIDTH", "100")
            // man warns about a language that is not installed.
            .env("LC_ALL", "C.UTF-8")
            .output();
        let Ok(output) = called else {
            println!("skipped: man is not there");
            return;
        };
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        // man looks for the target of a link where pages are installed.
        let link = fs::read_to_string(root().join(&page)).unwrap().starts_with(".so ");
        assert!(link || said.trim().is_empty(), "{}: {said}", page.display());
    }
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
