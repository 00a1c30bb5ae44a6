//! The rules of the house, read off the sources: who may import whom, who may print, where unsafe code stands.
//! `ARCHITECTURE.md` states them.

use std::fs;
use std::path::{Path, PathBuf};

/// Rooms and their height. A room imports only rooms below it; equal heights do not import one another.
const ROOMS: &[(&str, u32)] = &[
    // A crate of its own, which knows nothing of the others.
    ("classad", 0),
    ("text", 1),
    ("process", 1),
    ("time", 1),
    ("quirks", 1),
    // A table of text, looked up by the tools of `text`.
    ("honoured", 5),
    // The trait for everything outside speaks of exits and of time.
    ("world", 5),
    ("os", 10),
    ("config", 20),
    ("job", 20),
    ("transform", 30),
    ("hook", 30),
    ("queue", 30),
    ("user_log", 30),
    ("journal", 30),
    ("transfer", 30),
    // The parameters are asked as hooks are.
    ("user_policy", 35),
    // Plain data in, markup out.
    ("picture", 40),
    ("router", 40),
    ("slot", 40),
    ("starter", 40),
    ("shadow", 40),
    ("runner", 50),
    ("cli", 60),
];

const UNSAFE_FILES: &[&str] = &[
    "src/os/child.rs",
    "src/os/namespace.rs",
    "src/os/standard.rs",
    "src/os/thread_ids.rs",
    "src/os/wake_on_lan.rs",
    "crates/classad/src/regex.rs",
];

/// The one file of the ClassAd crate that meets the outside.
const CLASSAD_OUTSIDE: &str = "crates/classad/src/outside.rs";

/// What only the rooms that meet the outside may name: `os`, `runner`, `cli`.
const OUTSIDE: &[&str] =
    &["std::fs", "std::net", "process::Command", "SystemTime::now", "Instant::now", "env::var", "thread::"];

/// The one file that writes to standard output, and knows what becomes of a program whose reader has gone.
const STDOUT: &str = "src/cli/common/stdout.rs";

/// What changes the whole process under the feet of its other threads: only `os` may name it, for programs that begin.
const WHOLE_PROCESS: &[&str] =
    &["stat::umask", "libc::umask", "set_current_dir", "env::set_var", "env::remove_var"];

/// What only `cli` may name.
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

fn height(room: &str) -> Option<u32> {
    ROOMS.iter().find(|(name, _)| *name == room).map(|(_, height)| *height)
}

/// The code of a source without comments and string contents, line by line; `None` for lines of test modules.
fn code_lines(source: &str) -> Vec<Option<String>> {
    let mut lines = Vec::new();
    let mut in_tests = false;
    let mut scanner = Scanner::default();
    for line in source.lines() {
        let code = scanner.strip(line);
        // By custom tests stand last in a file.
        in_tests |= code.trim() == "#[cfg(test)]";
        lines.push((!in_tests).then_some(code));
    }
    lines
}

/// Cuts comments and the contents of strings out of code.
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

/// Rooms named as `crate::ROOM`, also within `crate::{a, b}`, in code.
fn rooms_named(code: &str) -> Vec<String> {
    let word =
        |text: &str| -> String { text.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect() };
    let mut rooms = Vec::new();
    for (at, _) in code.match_indices("crate::") {
        let rest = &code[at + "crate::".len()..];
        if let Some(list) = rest.strip_prefix('{') {
            let list = list.split('}').next().unwrap_or_default();
            rooms.extend(list.split(',').map(|item| word(item.trim())));
        } else {
            rooms.push(word(rest));
        }
    }
    rooms
}

/// Whether code has the word `unsafe` where it may not.
fn is_unsafe(path: &str, code: &str) -> bool {
    let mut words = code.split(|c: char| !(c.is_alphanumeric() || c == '_'));
    words.any(|word| word == "unsafe") && !UNSAFE_FILES.contains(&path)
}

/// Everything wrong with one source file of the ClassAd crate: it prints nothing, knows no system and none of its users.
fn crate_violations(path: &str, source: &str) -> Vec<String> {
    let mut found = Vec::new();
    for (number, code) in code_lines(source).iter().enumerate() {
        let Some(code) = code else { continue };
        let mut say = |what: String| found.push(format!("{path}:{}: {what}", number + 1));
        if is_unsafe(path, code) {
            say("unsafe code".to_owned());
        }
        for name in PROGRAM_ONLY.iter().chain(&["htc_hooks", "nix::"]).filter(|name| code.contains(**name)) {
            say(format!("the crate may not name '{name}'"));
        }
        for name in OUTSIDE.iter().filter(|name| path != CLASSAD_OUTSIDE && code.contains(**name)) {
            say(format!("'{name}' goes round Outside"));
        }
    }
    found
}

/// Everything wrong with one source file of the library.
fn violations(path: &str, source: &str) -> Vec<String> {
    if path.starts_with("crates/classad/") {
        return crate_violations(path, source);
    }
    let inside = path.strip_prefix("src/").unwrap_or(path);
    let room = inside.split(['/', '.']).next().unwrap_or_default();
    if matches!(room, "lib" | "bin") {
        return Vec::new();
    }
    let Some(own) = height(room) else {
        return vec![format!("{path}: room '{room}' is not in the table of layers")];
    };
    let lines = code_lines(source);
    let mut found = Vec::new();
    let mut say = |line: usize, what: String| found.push(format!("{path}:{}: {what}", line + 1));
    for (number, code) in lines.iter().enumerate() {
        let Some(code) = code else { continue };
        for other in rooms_named(code).iter().filter(|other| *other != room) {
            match height(other) {
                None => {}
                Some(height) if height >= own => say(number, format!("'{room}' may not import '{other}'")),
                Some(_) if other == "os" && own < 50 => say(number, format!("'{room}' may not import 'os'")),
                Some(_) => {}
            }
        }
        // `super::super::` out of the room would go round the rule.
        let depth = inside.trim_end_matches(".rs").trim_end_matches("/mod").split('/').count();
        if code.contains(&"super::".repeat(depth)) {
            say(number, "'super' leads out of the room; use 'crate::'".to_owned());
        }
        if is_unsafe(path, code) {
            say(number, "unsafe code".to_owned());
        }
        if code.trim() == "use super::*;" && !path.ends_with("/tests.rs") {
            say(number, "'use super::*' hides what is used; name it".to_owned());
        }
        if let Some(name) = WHOLE_PROCESS.iter().find(|name| room != "os" && code.contains(**name)) {
            say(number, format!("'{name}' changes the whole process"));
        }
        if let Some(name) = PROGRAM_ONLY.iter().find(|name| room != "cli" && code.contains(**name)) {
            say(number, format!("only 'cli' may name '{name}'"));
        }
        // Whether it is a terminal, and which descriptor it is, may be asked of it.
        let writes = code.replace("io::stdout().is_terminal", "").replace("io::stdout().as_fd", "");
        let writes = writes.replace("is_terminal(&std::io::stdout())", "");
        if room == "cli" && path != STDOUT && writes.contains("io::stdout") {
            say(number, "standard output is written through common::stdout alone".to_owned());
        }
        if !matches!(room, "os" | "runner" | "cli") {
            for name in OUTSIDE.iter().filter(|name| code.contains(**name)) {
                say(number, format!("'{name}' goes round the World"));
            }
        }
    }
    found
}

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// All files below a directory, without hidden ones and build results.
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
    files_below(&root().join("crates/classad/src"), &mut files);
    let mut sources: Vec<_> = files
        .into_iter()
        .filter(|path| path.extension().is_some_and(|extension| extension == "rs"))
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
fn nothing_committed_names_the_place_it_was_written_in() {
    // Built from pieces, so that this file is clean itself.
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
fn the_rules_notice_what_they_forbid() {
    for (path, code) in [
        ("src/slot/a.rs", "use crate::os::child;"),
        ("src/slot/a.rs", "use crate::{text, starter};"),
        ("src/slot/a.rs", "let x = crate::runner::events::Event;"),
        ("src/slot/a.rs", "use super::super::starter;"),
        ("src/text/a.rs", "let x = std::time::SystemTime::now();"),
        ("src/os/a.rs", "unsafe { f() }"),
        ("src/os/a.rs", "use super::*;"),
        ("src/os/a.rs", "println!(\"\");"),
        ("src/runner/a.rs", "use anyhow::Result;"),
        ("src/runner/a.rs", "nix::sys::stat::umask(mask);"),
        ("src/unheard/a.rs", ""),
        ("crates/classad/src/a.rs", "use htc_hooks::text;"),
        ("crates/classad/src/a.rs", "let x = std::time::SystemTime::now();"),
        ("crates/classad/src/a.rs", "unsafe { f() }"),
    ] {
        assert_eq!(violations(path, code).len(), 1, "{path} {code}");
    }
    for (path, code) in [
        (
            "src/slot/a.rs",
            "// use crate::os;\n/* unsafe */ let s = \"println!\"; let r = r#\"crate::os \"x\" \"#;",
        ),
        ("src/slot/a.rs", "use crate::config::View; use crate::hook::reply;"),
        ("src/slot/a.rs", "use super::state; let c = '\"'; let d = \"crate::os\";"),
        ("src/os/child.rs", "unsafe { f() }"),
        ("src/cli/a.rs", "println!(\"\"); use anyhow::Result; use crate::os::Reactor;"),
        ("src/slot/a.rs", "fn f() {}\n#[cfg(test)]\nmod tests { use crate::os::RealWorld; }"),
    ] {
        assert_eq!(violations(path, code), Vec::<String>::new());
    }
}

#[test]
fn what_differs_from_the_manual_has_a_name() {
    let mut files = Vec::new();
    files_below(&root().join("src"), &mut files);
    let mut bare = Vec::new();
    // The programs hand the option on; the table asks for it once.
    let allowed = |path: &Path| {
        let path = path.strip_prefix(root()).unwrap_or(path);
        path.starts_with("src/cli") || path.ends_with("src/quirks.rs")
    };
    for path in files.iter().filter(|path| !allowed(path)) {
        let source = fs::read_to_string(path).expect("a source");
        for (at, line) in code_lines(&source).into_iter().enumerate() {
            if line.is_some_and(|line| {
                ["= Quirks::Reference", "Quirks::Reference =>"].iter().any(|bare| line.contains(bare))
            }) {
                bare.push(format!("{}:{}", path.display(), at + 1));
            }
        }
    }
    assert!(bare.is_empty(), "compared with Quirks::Reference instead of asking for a quirk: {bare:?}");
}

#[test]
fn every_quirk_is_decided_somewhere() {
    let table = fs::read_to_string(root().join("src/quirks.rs")).expect("the table");
    let variants: Vec<&str> = table
        .lines()
        .filter_map(|line| line.strip_prefix("    ")?.split_once(", \""))
        .map(|(variant, _)| variant)
        .filter(|variant| variant.chars().all(|c| c.is_ascii_alphanumeric()))
        .collect();
    assert!(variants.len() > 60, "the table is not where it was: {variants:?}");
    let mut files = Vec::new();
    files_below(&root().join("src"), &mut files);
    let code: String = files
        .iter()
        .filter(|path| !path.ends_with("src/quirks.rs"))
        .map(|path| fs::read_to_string(path).expect("a source"))
        .collect();
    let unused: Vec<&&str> =
        variants.iter().filter(|variant| !code.contains(&format!("Quirk::{variant}"))).collect();
    assert!(unused.is_empty(), "quirks that nothing decides: {unused:?}");
}

/// The quirks that are more than one decision: how often each is asked for, and which these are.
const SEVERAL_DECISIONS: [(&str, usize, &str); 7] = [
    ("StarterExceptions", 7, "each is another exception of 25.14, with an end of its own"),
    ("DockerEndsSilent", 2, "a job over its memory; one that cannot be inspected"),
    ("FirstFetchLate", 2, "the start; a reconfiguration"),
    ("MachineAdEmpty", 2, "a slot that gives no ad; a starter that takes none, whoever gives it"),
    ("OldRoutesRefused", 2, "JOB_ROUTER_ENTRIES; routes in brackets"),
    ("ResourceConflictStays", 2, "what is short no more; a static slot that counts twice"),
    ("ThrottleZeroIsNone", 2, "a threshold that is no number; a throttle that is 0"),
];

#[test]
fn every_quirk_is_decided_in_one_place() {
    let mut files = Vec::new();
    files_below(&root().join("src"), &mut files);
    let mut asked = std::collections::BTreeMap::<String, usize>::new();
    for path in files.iter().filter(|path| !path.ends_with("src/quirks.rs")) {
        let source = fs::read_to_string(path).expect("a source");
        for line in code_lines(&source).into_iter().flatten() {
            for (at, found) in line.match_indices("Quirk::") {
                let behind = &line[at + found.len()..];
                let end = behind.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(behind.len());
                // A function of the type begins with a small letter.
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
         (Quirks::decide, src/quirks.rs)"
    );
}
