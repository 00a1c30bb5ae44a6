//! Checks that the man pages and completions in the repository match the programs' command lines.

#![cfg(feature = "cli")]
#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use clap::Arg;
use htc_hooks::cli::common::{HelpLength, OptionGroup, Program, render_help};
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
fn every_program_has_a_file_in_bin_and_a_complete_manual() {
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

/// Calls `visit` with each program and each of its verbs; for the program itself the verb is `None`.
fn for_each_help(visit: &mut dyn FnMut(&Program, Option<&str>)) {
    for program in PROGRAMS {
        visit(program, None);
        for verb in (program.command)().get_subcommands() {
            visit(program, Some(verb.get_name()));
        }
    }
}

#[test]
fn help_fits_a_screen() {
    let mut wrong = Vec::new();
    for_each_help(&mut |program, verb| {
        let help = render_help(program, verb, HelpLength::Screen);
        let lines = help.lines().count();
        let widest = help.lines().map(|line| line.chars().count()).max().unwrap_or(0);
        if !(10..=40).contains(&lines) || widest > 100 {
            wrong.push(format!("{} {verb:?}: {lines} lines, {widest} columns\n{help}", program.name));
        }
    });
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn help_has_its_sections_in_one_order_and_two_examples() {
    for_each_help(&mut |program, verb| {
        let name = format!("{} {verb:?}", program.name);
        let help = render_help(program, verb, HelpLength::Screen);
        assert!(
            help.contains("\nExit status: 0 ") || help.contains("\nExit status: that of "),
            "{name}: {help}"
        );
        let examples = help.split("\nExamples:\n").nth(1).unwrap();
        assert_eq!(
            examples.lines().filter(|line| line.starts_with("  htc-") || line.starts_with("  id=")).count(),
            2,
            "{name}"
        );
        assert!(help.trim_end().ends_with("with notes."), "{name}: {help}");
        for length in [HelpLength::Screen, HelpLength::All] {
            let help = render_help(program, verb, length);
            let headings: Vec<usize> = help
                .lines()
                .filter_map(|line| {
                    let groups = OptionGroup::ALL.iter();
                    groups
                        .map(|group| group.heading())
                        .position(|heading| line.strip_suffix(':') == Some(heading))
                })
                .collect();
            assert!(headings.is_sorted(), "{name} {length:?}: {help}");
        }
    });
}

/// An example of a verb calls that verb, so that a reader can try it.
#[test]
fn examples_of_a_verb_call_the_verb() {
    for program in PROGRAMS {
        let command = (program.command)();
        for verb in command.get_subcommands() {
            let texts = program.manual.verb(verb.get_name());
            let texts = texts.unwrap_or_else(|| panic!("{} {}: no examples", program.name, verb.get_name()));
            for example in texts.examples {
                let call = format!("{} {} ", program.name, verb.get_name());
                assert!(example.line.contains(&call), "{}: {}", call, example.line);
            }
        }
        for texts in program.manual.verbs {
            assert!(
                command.find_subcommand(texts.verb).is_some(),
                "{} has no verb {}",
                program.name,
                texts.verb
            );
        }
    }
}

/// An option with a default prints it; clap adds it to the text unless it is hidden.
#[test]
fn every_default_is_stated() {
    let mut wrong = Vec::new();
    for program in PROGRAMS {
        let mut command = (program.command)();
        command.build();
        for described in std::iter::once(&command).chain(command.get_subcommands()) {
            let hides = |arg: &&Arg| arg.is_hide_default_value_set() && !arg.get_default_values().is_empty();
            for arg in described.get_arguments().filter(|arg| arg.get_action().takes_values()).filter(hides) {
                let help = arg.get_help().map(ToString::to_string).unwrap_or_default();
                if !help.contains("[default: ") {
                    wrong.push(format!("{} --{}: {help}", described.get_name(), arg.get_id()));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Each option has one line in the imperative, without banned phrases.
#[test]
fn options_have_one_plain_line() {
    const ODD_WORDS: [&str; 14] = [
        "so long",
        "so many",
        "so often",
        "what comes of",
        "what became of",
        "would come of",
        "is told",
        "without,",
        "takes it for",
        "knob",
        " tell ",
        "behind",
        "nobody",
        "is none",
    ];
    let mut wrong = Vec::new();
    for_each_help(&mut |program, verb| {
        let help = render_help(program, verb, HelpLength::All).to_lowercase();
        for word in ODD_WORDS.iter().filter(|word| help.contains(**word)) {
            wrong.push(format!("{} {verb:?}: '{word}'", program.name));
        }
    });
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn clap_accepts_the_definitions() {
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
fn every_option_of_a_verb_is_on_one_page_that_the_verb_names() {
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
fn man_accepts_the_pages() {
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
            println!("skipped: man is not installed");
            return;
        };
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        // man looks for the target of a link where pages are installed.
        let link = fs::read_to_string(root().join(&page)).unwrap().starts_with(".so ");
        assert!(link || stderr.trim().is_empty(), "{}: {stderr}", page.display());
    }
}

/// `mandoc` is stricter than `man`: it reports long lines, spaces at line ends and doubtful macros.
#[test]
fn mandoc_accepts_the_pages() {
    let directory = tempfile::tempdir().unwrap();
    let section = directory.path().join("man1");
    fs::create_dir(&section).unwrap();
    let mut pages = BTreeSet::new();
    present(&root().join("man"), &mut pages);
    for page in &pages {
        fs::copy(root().join(page), section.join(page.file_name().unwrap())).unwrap();
    }
    assert!(pages.len() > 40, "{} pages", pages.len());
    for page in &pages {
        let path = Path::new("man1").join(page.file_name().unwrap());
        let called = std::process::Command::new("mandoc")
            .arg("-Tlint")
            .arg(&path)
            .current_dir(directory.path())
            .output();
        let Ok(output) = called else {
            println!("skipped: mandoc is not installed");
            return;
        };
        let stdout = String::from_utf8_lossy(&output.stdout).into_owned();
        // Verbs with the same options share a page through a link of the man macros.
        let faults: Vec<&str> = stdout.lines().filter(|line| !line.contains(".so is fragile")).collect();
        assert!(faults.is_empty(), "{}", faults.join("\n"));
    }
}

#[test]
fn the_man_page_describes_every_option() {
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
