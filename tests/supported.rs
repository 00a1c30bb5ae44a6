//! Compares the table of supported names with the code: a name is `supported` exactly if the sources read it,
//! and every parameter of the reference has a row.

#![allow(clippy::unwrap_used, reason = "a test helper that cannot go on says so by panicking")]

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use htc_hooks::supported::{
    self, SupportEntry, SupportLevel, attribute_entries, find_attribute, find_parameter, parameter_entries,
};

/// Names that are read although they are unsupported: only the validity of the value is checked, since an
/// invalid value ends a daemon of 25.14.
const CHECKED: [&str; 1] = ["STARTER_UPDATE_INTERVAL_TIMESLICE"];

/// Names that are read although they are unsupported: they are in the slot ads, where other expressions may
/// refer to them.
const PUBLISHED: [&str; 2] = ["PERIODIC_CHECKPOINT", "STARTD_REHOME_ALLOW_REBOOT"];

/// Names that are read although they are unsupported: `explain` warns that their effect is not compared.
const WARNED_OF: [&str; 2] = ["GROUP_NAMES", "GROUP_ACCEPT_SURPLUS"];

/// Words in the code that happen to be names of parameters, or were in older versions.
const WORDS: [&str; 2] = ["JOB_ROUTER", "NAMED_CHROOT"];

/// Names that the code reads only from ads, and that happen to be parameters too.
const OF_ADS: [&str; 1] = ["Requirements"];

/// A file of our own code without its tests, and its name: crate and path, `slot/drain.rs`; `cli/...` for the
/// programs.
struct Source {
    path: String,
    literals: Vec<String>,
    code: String,
}

/// Returns the sources below a directory, except those that only describe names: lint, descriptions, the
/// table itself.
fn sources() -> Vec<Source> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut found = Vec::new();
    let mut directories = vec![root.join("src")];
    directories
        .extend(fs::read_dir(root.join("crates")).unwrap().map(|entry| entry.unwrap().path().join("src")));
    while let Some(directory) = directories.pop() {
        for entry in fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            let name = path.strip_prefix(root).unwrap().to_str().unwrap();
            let name = match name.strip_prefix("crates/htc-").and_then(|name| name.split_once("/src/")) {
                Some((of, inside)) => format!("{of}/{inside}"),
                None => name.trim_start_matches("src/").to_owned(),
            };
            // Shadows have separate modules.
            let name =
                name.strip_prefix("starter/shadow").map_or(name.clone(), |inside| format!("shadow{inside}"));
            let only_tells = [
                "lint/config",
                "lint/daemons",
                "hook/job_ad_lint",
                "config/descriptions",
                "cli/config_dump",
                "config/supported",
                "classad/",
            ];
            if only_tells.iter().any(|room| name.starts_with(room)) {
                continue;
            }
            if path.is_dir() {
                directories.push(path);
            } else if name.ends_with(".rs") {
                let text = fs::read_to_string(&path).unwrap();
                let code = text.split("#[cfg(test)]\nmod ").next().unwrap().to_owned();
                found.push(Source { path: name, literals: literals(&code), code });
            }
        }
    }
    assert!(found.len() > 300, "{} sources", found.len());
    found
}

/// Returns the string literals in code.
fn literals(code: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut rest = code;
    while let Some(first) = rest.chars().next() {
        let skipped = if rest.starts_with("//") {
            rest.find('\n').unwrap_or(rest.len())
        } else if let Some(after) = rest.strip_prefix("'\\") {
            // The escaped letter itself may be a quote.
            after.char_indices().skip(1).find(|(_, c)| *c == '\'').map_or(rest.len(), |(at, _)| at + 3)
        } else if first == '\'' && rest.chars().nth(2) == Some('\'') {
            rest.char_indices().nth(2).unwrap().0 + 1
        } else if let Some(after) = rest.strip_prefix("r#\"") {
            let end = after.find("\"#").unwrap();
            found.push(after[..end].to_owned());
            end + 5
        } else if let Some(after) = rest.strip_prefix("r\"") {
            let end = after.find('"').unwrap();
            found.push(after[..end].to_owned());
            end + 3
        } else if first == '"' {
            let mut escaped = false;
            let end = rest[1..].find(|c| {
                let ends = c == '"' && !escaped;
                escaped = c == '\\' && !escaped;
                ends
            });
            let end = end.expect("a literal ends") + 1;
            found.push(rest[1..end].to_owned());
            end + 1
        } else {
            first.len_utf8()
        };
        rest = &rest[skipped..];
    }
    found
}

/// Returns the names that are read from a configuration or an ad by their literals: `view.int("NAME")`.
fn asked<'a>(source: &'a Source, receivers: &[&str]) -> Vec<&'a str> {
    const GETTERS: [&str; 14] = [
        "string",
        "int",
        "int_in",
        "boolean",
        "real",
        "list",
        "expr",
        "text",
        "words",
        "parsed",
        "get",
        "raw",
        "is_defined",
        "contains",
    ];
    let mut found = Vec::new();
    for (at, _) in source.code.match_indices("(\"") {
        let before = source.code[..at].trim_end();
        let Some((receiver, getter)) = before.rsplit_once('.') else { continue };
        let receiver = receiver.trim_end();
        let fits = receivers.is_empty() || receivers.iter().any(|word| receiver.ends_with(word));
        if fits && GETTERS.contains(&getter) {
            let name = source.code[at + 2..].split('"').next().unwrap();
            found.push(name);
        }
    }
    found
}

fn is_family(row: &SupportEntry) -> bool {
    row.name.contains(['*', '#'])
}

/// Returns the names of the reference: its table, the defaults of subsystems, and other names that its
/// daemons read.
fn reference() -> BTreeSet<String> {
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("crates/htc-config/src/data");
    let names = |file: &str| {
        let text = fs::read_to_string(data.join(file)).unwrap();
        text.lines().map(|line| line.split('\t').next().unwrap().to_owned()).collect::<Vec<_>>()
    };
    let all = ["defaults.tsv", "subsystem-defaults.tsv", "../../../htc-lint/src/data/other-names.txt"]
        .map(names)
        .concat();
    all.iter().map(|name| name.rsplit('.').next().unwrap().to_ascii_uppercase()).collect()
}

#[test]
fn table_rows_are_exactly_the_parameters_of_the_reference() {
    let reference = reference();
    assert!(reference.len() > 1800);
    let without: Vec<_> = reference.iter().filter(|name| find_parameter(name.as_bytes()).is_none()).collect();
    assert!(without.is_empty(), "no row: {without:?}");
    let unknown: Vec<_> = parameter_entries()
        .filter(|row| !is_family(row) && !reference.contains(&row.name.to_ascii_uppercase()))
        .map(|row| row.name)
        .collect();
    assert!(unknown.is_empty(), "not of the reference: {unknown:?}");
}

#[test]
fn every_supported_parameter_is_read() {
    let sources = sources();
    let read: BTreeSet<String> =
        sources.iter().flat_map(|source| &source.literals).map(|name| name.to_ascii_uppercase()).collect();
    let all: String = read.iter().map(|literal| literal.as_str()).collect::<Vec<_>>().join("\n");
    for row in parameter_entries().chain(attribute_entries()) {
        if row.level != SupportLevel::Supported || row.readers == "$()" {
            continue;
        }
        let name = row.name.to_ascii_uppercase();
        let is_read = match is_family(&row) {
            true => {
                let piece = name.split(['*', '#']).max_by_key(|piece| piece.len()).unwrap();
                all.contains(piece.trim_matches('_'))
            }
            false => read.contains(&name),
        };
        assert!(is_read, "{} is read by nothing: move its row", row.name);
    }
}

#[test]
fn every_parameter_that_is_read_is_supported() {
    let reference = reference();
    let rooms = [
        "slot/",
        "starter/",
        "runner/",
        "simulate/",
        "hook-testing/",
        "lint/doctor/",
        "router/",
        "hook/",
        "cli/slot_run",
        "cli/starter_run",
        "cli/router_",
    ];
    let mut seen = BTreeSet::new();
    for source in sources().iter().filter(|source| rooms.iter().any(|room| source.path.starts_with(room))) {
        let spelled = source.literals.iter().map(String::as_str);
        let spelled =
            spelled.filter(|word| word.contains('_') && reference.contains(&word.to_ascii_uppercase()));
        let asked = asked(source, &["view", "knobs", "global"]);
        // Names of ads are in mixed case, except for some that are parameters as well.
        let asked = asked.into_iter().filter(|name| {
            name.contains('_') && name.to_ascii_uppercase() == *name
                || reference.contains(&name.to_ascii_uppercase())
        });
        for name in spelled.chain(asked) {
            seen.insert(name.to_owned());
            let is_known = |names: &[&str]| names.iter().any(|known| known.eq_ignore_ascii_case(name));
            if is_known(&CHECKED)
                || is_known(&WARNED_OF)
                || is_known(&PUBLISHED)
                || is_known(&WORDS)
                || is_known(&OF_ADS)
            {
                continue;
            }
            let row = find_parameter(name.as_bytes());
            let is_right =
                matches!(row.map(|row| row.level), Some(SupportLevel::Supported | SupportLevel::RefusesJob));
            assert!(is_right, "{} reads {name}, whose row is {row:?}", source.path);
        }
    }
    for name in CHECKED.iter().chain(&PUBLISHED) {
        let row = find_parameter(name.as_bytes()).unwrap();
        assert_ne!(row.level, SupportLevel::Supported, "{name} is done: take it out of the list");
    }
    assert!(seen.len() > 120, "{seen:?}");
}

#[test]
fn every_job_attribute_that_is_read_is_supported_or_refused() {
    let rooms = ["slot/", "starter/", "runner/starter/"];
    let mut seen = 0;
    for source in sources().iter().filter(|source| rooms.iter().any(|room| source.path.starts_with(room))) {
        for name in asked(source, &[]) {
            let Some(row) = find_attribute(name.as_bytes()) else { continue };
            seen += 1;
            let is_right = matches!(row.level, SupportLevel::Supported | SupportLevel::RefusesJob);
            assert!(is_right, "{} reads {name}, whose row is {row:?}", source.path);
        }
    }
    assert!(seen > 20, "{seen}");
    // Names that several crates share.
    let shared =
        fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("crates/htc-base/src/job/attr.rs"))
            .unwrap();
    let mut without = Vec::new();
    for name in
        shared.lines().filter_map(|line| line.split_once(" = \"")?.1.split_once('"').map(|(name, _)| name))
    {
        match supported::find_attribute(name.as_bytes()) {
            Some(row) if row.level == SupportLevel::Supported => {}
            row => without.push((name.to_owned(), row)),
        }
    }
    assert!(without.is_empty(), "{without:?}");
}

/// Checks that no manual calls a supported name unsupported.
#[cfg(feature = "cli")]
#[test]
fn manuals_call_only_unsupported_parameters_unsupported() {
    const DENIALS: [&str; 4] = ["not started", "not done", "told once", "act upon"];
    let mut denied = 0;
    for program in htc_hooks::cli::PROGRAMS {
        let texts = program.manual.description.iter().chain(program.manual.differences);
        for sentence in texts.flat_map(|text| text.split(". ")) {
            // "No effect on the run" is about attributes that are set too late.
            let is_without_effect = sentence.trim_end_matches('.').ends_with("no effect");
            if !is_without_effect && !DENIALS.iter().any(|denial| sentence.contains(denial)) {
                continue;
            }
            let words = sentence.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_'));
            for word in
                words.filter(|word| word.len() > 5 && !word.bytes().all(|byte| byte.is_ascii_lowercase()))
            {
                let rows = [find_parameter(word.as_bytes()), find_attribute(word.as_bytes())];
                for row in rows.into_iter().flatten() {
                    denied += 1;
                    assert_ne!(
                        row.level,
                        SupportLevel::Supported,
                        "{}: {word} in '{sentence}'",
                        program.name
                    );
                }
            }
        }
    }
    assert!(denied >= 2, "{denied}");
}
