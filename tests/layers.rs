//! Checks rules of `ARCHITECTURE.md` that Cargo cannot express: which files may print, which may access the
//! system, which may contain unsafe code; and the dependencies between crates as Cargo reports them.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Files that may access the system: the operating system crate, the crates that execute the actions of state
/// machines, and those above them.
const OUTSIDERS: &[&str] = &[
    "crates/htc-classad/src/eval_world.rs",
    "crates/htc-classad/src/ad_io/stream/parallel.rs",
    "crates/htc-os/",
    "crates/htc-runner/",
    "crates/htc-lint/src/daemons/",
    "crates/htc-lint/src/doctor/",
    "crates/htc-simulate/src/",
    "crates/htc-hook-testing/",
    "crates/htc-testing/",
    "src/cli/",
];

/// Crates that may access the system, and dependencies that no other crate may have.
const KNOW_THE_SYSTEM: &[&str] = &[
    "htc-os",
    "htc-runner",
    "htc-lint",
    "htc-lsp",
    "htc-simulate",
    "htc-hook-testing",
    "htc-testing",
    "htc-hooks",
];
const OF_THE_SYSTEM: &[&str] = &["nix", "libc", "signal-hook", "clap", "toml"];

const UNSAFE_FILES: &[&str] = &[
    "crates/htc-os/src/child.rs",
    "crates/htc-os/src/own_process.rs",
    "crates/htc-os/src/namespace.rs",
    "crates/htc-os/src/closed_stdout.rs",
    "crates/htc-os/src/signals.rs",
    "crates/htc-os/src/thread_ids.rs",
    "crates/htc-os/src/wake_on_lan.rs",
    "crates/htc-classad/src/regex/pcre2.rs",
];

/// Names that only those files may use.
const OUTSIDE: &[&str] =
    &["std::fs", "std::net", "process::Command", "SystemTime::now", "Instant::now", "env::var", "thread::"];

/// The only file that writes to standard output; it handles readers that have closed the pipe.
const STDOUT: &str = "src/cli/common/stdout.rs";

/// Functions that change the whole process for all threads: only `htc-os` may use them, when a program
/// starts.
const WHOLE_PROCESS: &[&str] =
    &["stat::umask", "libc::umask", "set_current_dir", "env::set_var", "env::remove_var"];

/// Names that only `cli` may use.
const PROGRAM_ONLY: &[&str] = &[
    "println!",
    "print!",
    "eprintln!",
    "eprint!",
    "dbg!",
    "process::exit",
    "io::stdout",
    "io::stderr",
    "anyhow::",
    "clap::",
];

/// Returns the code of a source without comments and string contents, line by line; `None` for lines of test
/// modules.
fn code_lines(source: &str) -> Vec<Option<String>> {
    let mut lines = Vec::new();
    let mut in_tests = false;
    let mut scanner = Scanner::default();
    for line in source.lines() {
        let code = scanner.strip(line);
        // Tests are at the end of a file by convention.
        in_tests |= code.trim() == "#[cfg(test)]";
        lines.push((!in_tests).then_some(code));
    }
    lines
}

/// Removes comments and the contents of strings from code.
#[derive(Default)]
struct Scanner {
    comment_depth: u32,
    /// Inside a string: the number of `#` that close it, or `None` for an ordinary one.
    string: Option<Option<usize>>,
}

impl Scanner {
    fn strip(&mut self, line: &str) -> String {
        let bytes: Vec<char> = line.chars().collect();
        let mut code = String::new();
        let mut at = 0;
        let starts =
            |at: usize, word: &str| word.chars().enumerate().all(|(i, c)| bytes.get(at + i) == Some(&c));
        while at < bytes.len() {
            if self.comment_depth > 0 {
                if starts(at, "*/") {
                    self.comment_depth -= 1;
                    at += 2;
                } else if starts(at, "/*") {
                    self.comment_depth += 1;
                    at += 2;
                } else {
                    at += 1;
                }
            } else if let Some(kind) = self.string {
                match kind {
                    None if bytes[at] == '\\' => at += 1,
                    None if bytes[at] == '"' => self.string = None,
                    Some(hashes) if bytes[at] == '"' && starts(at + 1, &"#".repeat(hashes)) => {
                        self.string = None;
                        at += hashes;
                    }
                    _ => {}
                }
                at += 1;
            } else if starts(at, "//") {
                break;
            } else if starts(at, "/*") {
                self.comment_depth = 1;
                at += 2;
            } else if starts(at, "'\"'") || starts(at, "'\\\"'") {
                at += if bytes[at + 1] == '\\' { 4 } else { 3 };
            } else if bytes[at] == 'r'
                && (starts(at + 1, "\"") || starts(at + 1, "#"))
                && !ends_in_word(&code)
            {
                let hashes = bytes[at + 1..].iter().take_while(|c| **c == '#').count();
                if bytes.get(at + 1 + hashes) == Some(&'"') {
                    self.string = Some(Some(hashes));
                    at += hashes + 2;
                } else {
                    code.push('r');
                    at += 1;
                }
            } else if bytes[at] == '"' {
                self.string = Some(None);
                at += 1;
            } else {
                code.push(bytes[at]);
                at += 1;
            }
        }
        code
    }
}

fn ends_in_word(code: &str) -> bool {
    // `br"..."` is a raw string too.
    code.strip_suffix('b')
        .unwrap_or(code)
        .chars()
        .next_back()
        .is_some_and(|c| c.is_alphanumeric() || c == '_')
}

/// Returns true if code contains the word `unsafe` in a file that is not allowed to.
fn is_unsafe(path: &str, code: &str) -> bool {
    let mut words = code.split(|c: char| !(c.is_alphanumeric() || c == '_'));
    words.any(|word| word == "unsafe") && !UNSAFE_FILES.contains(&path)
}

/// Returns all violations in one source file; a module `tests` in a file of its own has none.
fn violations(path: &str, source: &str) -> Vec<String> {
    if path == "src/lib.rs" || path.starts_with("src/bin/") || path.ends_with("/tests.rs") {
        return Vec::new();
    }
    let is_below = |places: &[&str]| places.iter().any(|place| path.starts_with(place));
    let mut found = Vec::new();
    for (number, code) in code_lines(source).iter().enumerate() {
        let Some(code) = code else { continue };
        let mut say = |what: String| found.push(format!("{path}:{}: {what}", number + 1));
        if is_unsafe(path, code) {
            say("unsafe code".to_owned());
        }
        if code.trim() == "use super::*;" {
            say("'use super::*' hides what is used; name it".to_owned());
        }
        let named = |names: &'static [&'static str]| names.iter().filter(|name| code.contains(**name));
        if let Some(name) = named(WHOLE_PROCESS).next().filter(|_| !is_below(&["crates/htc-os/"])) {
            say(format!("'{name}' changes the whole process"));
        }
        if let Some(name) = named(PROGRAM_ONLY).next().filter(|_| !is_below(&["src/cli/"])) {
            say(format!("only 'cli' may name '{name}'"));
        }
        // Checks of whether standard output is a terminal, and uses of its descriptor, are allowed.
        let writes = code.replace("io::stdout().is_terminal", "").replace("io::stdout().as_fd", "");
        let writes = writes.replace("is_terminal(&std::io::stdout())", "");
        if is_below(&["src/cli/"]) && path != STDOUT && writes.contains("io::stdout") {
            say("standard output is written through common::stdout alone".to_owned());
        }
        for name in named(OUTSIDE).filter(|_| !is_below(OUTSIDERS)) {
            say(format!("'{name}' goes round the World"));
        }
    }
    found
}

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// Collects all files below a directory, without hidden ones and build results.
fn files_below(directory: &Path, files: &mut Vec<PathBuf>) {
    let Ok(entries) = fs::read_dir(directory) else { return };
    for entry in entries.flatten() {
        let path = entry.path();
        let name = entry.file_name().to_string_lossy().into_owned();
        if name == "target" || name == ".git" {
            continue;
        }
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            files_below(&path, files);
        } else {
            files.push(path);
        }
    }
}

fn sources() -> Vec<(String, String)> {
    let mut files = Vec::new();
    files_below(&root().join("src"), &mut files);
    files_below(&root().join("crates"), &mut files);
    let mut sources: Vec<_> = files
        .into_iter()
        .filter(|path| path.extension().is_some_and(|extension| extension == "rs"))
        .filter(|path| path.strip_prefix(root()).is_ok_and(|path| path.iter().any(|part| part == "src")))
        .filter_map(|path| {
            let name = path.strip_prefix(root()).ok()?.to_string_lossy().into_owned();
            Some((name, fs::read_to_string(&path).ok()?))
        })
        .collect();
    sources.sort();
    sources
}

#[test]
fn every_source_keeps_the_rules_of_its_layer() {
    let sources = sources();
    assert!(sources.len() > 20, "the sources were not found");
    let found: Vec<String> = sources.iter().flat_map(|(path, text)| violations(path, text)).collect();
    assert!(found.is_empty(), "{}", found.join("\n"));
}

/// Checks that the files named in ARCHITECTURE.md exist; a bare name is in the directory of the file named
/// before it.
#[test]
fn files_that_the_architecture_page_names_exist() {
    let map = fs::read_to_string(root().join("ARCHITECTURE.md")).expect("the map");
    let mut directory = root();
    let mut missing = Vec::new();
    let mut count = 0;
    for name in map.split('`').skip(1).step_by(2) {
        let is_file =
            name.ends_with(".rs") || name.ends_with(".md") || name.ends_with(".tsv") || name.ends_with('/');
        if !is_file || name.contains(' ') || name.starts_with("crates/*") {
            continue;
        }
        let top = if name.starts_with("htc-") { root().join("crates") } else { root() };
        let places = [top.join(name), directory.join(name)];
        let is_there = |path: &&PathBuf| {
            let (folder, file) = (path.parent().unwrap_or(path), path.file_name().unwrap_or_default());
            path.exists() || (file.to_string_lossy().starts_with("*.") && folder.is_dir())
        };
        match places.iter().find(is_there) {
            Some(path) => directory = path.parent().unwrap_or(path).to_owned(),
            None => missing.push(name.to_owned()),
        }
        count += 1;
    }
    assert!(count > 40, "{count} names");
    assert!(missing.is_empty(), "{missing:?}");
}

#[test]
fn long_files_are_listed_and_very_long_ones_refused() {
    let lengths = sources().into_iter().map(|(path, text)| (text.lines().count(), path));
    let mut long: Vec<_> = lengths.filter(|(lines, _)| *lines > 600).collect();
    long.sort();
    for (lines, path) in long.iter().rev() {
        println!("{path}: {lines} lines: which two things is it?");
    }
    assert!(long.iter().all(|(lines, _)| *lines <= 1000), "{long:?}");
}

#[test]
fn programs_are_three_lines() {
    for (path, text) in sources().iter().filter(|(path, _)| path.starts_with("src/bin/")) {
        let lines = text.lines().filter(|line| !line.trim().is_empty() && !line.trim().starts_with("//"));
        let lines = lines.filter(|line| !line.starts_with("use "));
        assert!(lines.count() <= 3, "{path} holds more than its hand-over to cli");
    }
}

#[test]
fn no_committed_text_contains_paths_of_one_machine() {
    // Built from pieces, so that this file does not contain the words.
    let words = [["/wo", "rk/"], ["/opt", "/ref"], ["/opt", "/venv"], ["issues", " show"], ["/root", "/"]]
        .map(|pair| pair.concat());
    let mut files = Vec::new();
    files_below(&root(), &mut files);
    let mut found = Vec::new();
    for path in files {
        let Ok(text) = fs::read_to_string(&path) else { continue };
        for word in words.iter().filter(|word| text.contains(word.as_str())) {
            found.push(format!("{}: {word}", path.display()));
        }
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
fn each_rule_finds_a_violation() {
    for (path, code) in [
        ("crates/htc-base/src/a.rs", "let x = std::time::SystemTime::now();"),
        ("crates/htc-lint/src/config/a.rs", "let x = std::fs::read(path);"),
        ("crates/htc-os/src/b.rs", "unsafe { f() }"),
        ("crates/htc-os/src/a.rs", "use super::*;"),
        ("crates/htc-os/src/a.rs", "println!(\"\");"),
        ("crates/htc-runner/src/a.rs", "use anyhow::Result;"),
        ("crates/htc-runner/src/a.rs", "nix::sys::stat::umask(mask);"),
        ("crates/htc-classad/src/a.rs", "let x = std::time::SystemTime::now();"),
        ("crates/htc-classad/src/a.rs", "unsafe { f() }"),
    ] {
        assert_eq!(violations(path, code).len(), 1, "{path} {code}");
    }
    for (path, code) in [
        (
            "crates/htc-slot/src/a.rs",
            "// std::fs\n/* unsafe */ let s = \"println!\"; let r = r#\"std::fs \"x\" \"#;",
        ),
        ("crates/htc-slot/src/a.rs", "use super::state; let c = '\"'; let d = \"std::fs\";"),
        ("crates/htc-os/src/child.rs", "unsafe { f() }"),
        ("crates/htc-lint/src/doctor/a.rs", "let x = std::fs::read(path);"),
        ("src/cli/a.rs", "println!(\"\"); use anyhow::Result; let x = std::fs::read(path);"),
        ("crates/htc-slot/src/a.rs", "fn f() {}\n#[cfg(test)]\nmod tests { use std::fs; }"),
        ("crates/htc-slot/src/a/tests.rs", "use super::*; use std::fs;"),
    ] {
        assert_eq!(violations(path, code), Vec::<String>::new());
    }
}

/// Checks that crates that do not access the system depend on no crate or library that does.
#[test]
fn state_machines_and_languages_do_not_depend_on_the_system() {
    let metadata = Command::new(env!("CARGO"))
        .args(["metadata", "--no-deps", "--offline", "--format-version", "1"])
        .current_dir(root())
        .output();
    let output = match metadata {
        // The account that runs the tests may not have access to cargo.
        Err(error) if error.kind() == std::io::ErrorKind::PermissionDenied => {
            println!("skipped: this account cannot run {}", env!("CARGO"));
            return;
        }
        output => output.expect("cargo"),
    };
    let metadata: serde_json::Value = serde_json::from_slice(&output.stdout).expect("what cargo says");
    let text = |value: &serde_json::Value| value.as_str().unwrap_or_default().to_owned();
    let packages = metadata["packages"].as_array().expect("packages");
    assert!(packages.len() > 12, "{} packages", packages.len());
    let mut wrong = Vec::new();
    for package in packages {
        let name = text(&package["name"]);
        if KNOW_THE_SYSTEM.contains(&name.as_str()) {
            continue;
        }
        // Dependencies of tests have a kind.
        let needed =
            package["dependencies"].as_array().into_iter().flatten().filter(|need| need["kind"].is_null());
        for need in needed.map(|need| text(&need["name"])) {
            if OF_THE_SYSTEM.contains(&need.as_str()) || KNOW_THE_SYSTEM.contains(&need.as_str()) {
                wrong.push(format!("{name} depends on {need}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_difference_from_the_manual_is_a_named_quirk() {
    let mut files = Vec::new();
    files_below(&root().join("src"), &mut files);
    files_below(&root().join("crates"), &mut files);
    let mut bare = Vec::new();
    // The programs pass the option on, and the table reads it once.
    let allowed = |path: &Path| {
        let path = path.strip_prefix(root()).unwrap_or(path);
        path.starts_with("src/cli") || path.ends_with("crates/htc-base/src/quirks.rs")
    };
    for path in files.iter().filter(|path| !allowed(path)) {
        let source = fs::read_to_string(path).expect("a source");
        for (at, line) in code_lines(&source).into_iter().enumerate() {
            if line.is_some_and(|line| {
                ["= QuirkMode::Reference", "QuirkMode::Reference =>"].iter().any(|bare| line.contains(bare))
            }) {
                bare.push(format!("{}:{}", path.display(), at + 1));
            }
        }
    }
    assert!(bare.is_empty(), "compared with QuirkMode::Reference instead of asking for a quirk: {bare:?}");
}

#[test]
fn every_quirk_is_decided_somewhere() {
    let table = fs::read_to_string(root().join("crates/htc-base/src/quirks.rs")).expect("the table");
    let variants: Vec<&str> = table
        .lines()
        .filter_map(|line| line.strip_prefix("    ")?.split_once(", \""))
        .map(|(variant, _)| variant)
        .filter(|variant| variant.chars().all(|c| c.is_ascii_alphanumeric()))
        .collect();
    assert!(variants.len() > 60, "the table is not where it was: {variants:?}");
    let mut files = Vec::new();
    files_below(&root().join("src"), &mut files);
    files_below(&root().join("crates"), &mut files);
    let code: String = files
        .iter()
        .filter(|path| !path.ends_with("crates/htc-base/src/quirks.rs"))
        .map(|path| fs::read_to_string(path).expect("a source"))
        .collect();
    let unused: Vec<&&str> =
        variants.iter().filter(|variant| !code.contains(&format!("Quirk::{variant}"))).collect();
    assert!(unused.is_empty(), "quirks that nothing decides: {unused:?}");
}

/// Quirks that are more than one decision: the number of uses in the code, and what they are.
const SEVERAL_DECISIONS: [(&str, usize, &str); 12] = [
    ("StarterExceptions", 7, "each is another exception of 25.14, with an end of its own"),
    ("DockerEndsSilent", 2, "a job over its memory; one that cannot be inspected"),
    ("FirstFetchLate", 2, "the start; a reconfiguration"),
    (
        "MachineAdEmpty",
        3,
        "a slot that gives no ad; a starter that takes none; networks of docker without one",
    ),
    ("DefaultKeepsUndefined", 2, "the decision; its name in the warning"),
    (
        "HooksSpawnedAsDaemons",
        4,
        "the start of processes; the verdict that depends on it; its name in the verdict; its line in the report",
    ),
    ("OwnerIgnored", 2, "the account; labels of docker containers"),
    ("RouteTargetUndefined", 2, "the decision; its name in the warning"),
    ("PluginNoAdsLoops", 2, "the decision; its name in the warning"),
    ("OldRoutesRefused", 2, "JOB_ROUTER_ENTRIES; routes in brackets"),
    ("ResourceConflictStays", 2, "what is short no more; a static slot that counts twice"),
    ("ThrottleZeroIsNone", 2, "a threshold that is not a number; a throttle that is 0"),
];

#[test]
fn every_quirk_is_decided_in_one_place() {
    let mut files = Vec::new();
    files_below(&root().join("src"), &mut files);
    files_below(&root().join("crates"), &mut files);
    let mut asked = std::collections::BTreeMap::<String, usize>::new();
    for path in files.iter().filter(|path| !path.ends_with("crates/htc-base/src/quirks.rs")) {
        let source = fs::read_to_string(path).expect("a source");
        for line in code_lines(&source).into_iter().flatten() {
            for (at, found) in line.match_indices("Quirk::") {
                let behind = &line[at + found.len()..];
                let end = behind.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(behind.len());
                // Functions of the type begin with a small letter.
                if behind.starts_with(|c: char| c.is_ascii_uppercase()) && &behind[..end] != "ALL" {
                    *asked.entry(behind[..end].to_owned()).or_default() += 1;
                }
            }
        }
    }
    let several: Vec<(&str, usize)> =
        asked.iter().filter(|(_, times)| **times > 1).map(|(name, times)| (name.as_str(), *times)).collect();
    let mut known: Vec<(&str, usize)> =
        SEVERAL_DECISIONS.iter().map(|(name, times, _)| (*name, *times)).collect();
    known.sort_unstable();
    assert_eq!(
        several, known,
        "a quirk is decided once: who else does, tells or lists what follows is handed the outcome \
         (QuirkMode::decide, crates/htc-base/src/quirks.rs)"
    );
}
