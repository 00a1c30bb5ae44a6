//! Tests that every verb keeps the table of options (docs/reference/options.md, made from `verb_supports`): it accepts the options
//! that the table lists for it, and refuses the others with a message that names the option.

use std::ffi::OsString;
use std::path::Path;
use std::process::{Command as Process, Output, Stdio};
use std::sync::Mutex;

use clap::Command;
use htc_hooks::cli::PROGRAMS;
use htc_hooks::cli::common::{
    COMMON_OPTIONS, NAMES_NOT_ABBREVIATIONS, NO_VERB, Program, has_common_meaning, verb_supports,
};

use crate::support::manual_files::manual_directory;

/// Number of command lines that run at the same time.
const THREADS: usize = 4;

/// Words after the verb with which it accepts its options. An option in them is not added again.
const OPERANDS: &[(&str, &str)] = &[
    ("htc-classad-eval", "--ads jobs.ads"),
    ("htc-config-dump", "--config-file condor_config"),
    ("htc-config-dump lint", "condor_config"),
    ("htc-config-dump compare", "condor_config condor_config.new"),
    ("htc-config-dump use", "POLICY:Desktop"),
    ("htc-hook-test fetch", "hooks/fetch --slot-ads slot.ad"),
    ("htc-hook-test reply", "hooks/reply accept --ads job.ad"),
    ("htc-hook-test evict", "hooks/reply --ads job.ad"),
    ("htc-hook-test exit", "hooks/exit exit --ads job.ad"),
    ("htc-hook-test startd-cron", "hooks/quota"),
    ("htc-hook-test schedd-cron", "hooks/quota"),
    ("htc-hook-test benchmark", "hooks/quota"),
    ("htc-hook-test run", "prepare.toml"),
    ("htc-hook-test init", "hooks/prepare"),
    ("htc-hook-test record", "--into calls --type exit OPTION -- hooks/exit evict"),
    ("htc-hook-test replay", "."),
    ("htc-hook-test queue", "--config-file queue/condor_config"),
    ("htc-router-status", "job_queue.log"),
    ("htc-router-status queue", "job_queue.log"),
    ("htc-router-status doctor", "job_queue.log"),
    ("htc-router-status history", "jobs.ads"),
    ("htc-router-translate transform", "--rules rules.xfm jobs.ads"),
    ("htc-router-translate lint", "--rules rules.xfm"),
    ("htc-router-translate compare", "rules.xfm other.xfm"),
    ("htc-router-translate match", "--config-file router.config router.ads"),
    ("htc-router-translate route", "--config-file router.config router.ads"),
    ("htc-router-translate translate", "--config-file router-hooks.config --route Small source.ad"),
    ("htc-router-translate update", "--config-file router-hooks.config source.ad"),
    ("htc-router-translate finalize", "--config-file router-hooks.config pair.ads"),
    ("htc-router-translate cleanup", "--config-file router-hooks.config source.ad"),
    ("htc-router-translate finish", "--config-file router.config pair.ads"),
    ("htc-router-translate run", "--config-file router.config --queue queue.d --once"),
    ("htc-router-translate simulate", "--config-file router.config routes.toml"),
    ("htc-router-translate convert", "--config-file old-router.config"),
    ("htc-slot-run", "--config-file slots.conf --dry-run"),
    ("htc-slot-run run", "--config-file slots.conf --dry-run"),
    ("htc-slot-run simulate", "--config-file slots.conf keyboard.toml"),
    ("htc-slot-run explain", "--config-file slots.conf --ads big.ad"),
    ("htc-slot-run claim", "slot1 --config-file slots.conf --ads job.ad"),
    ("htc-slot-run activate", "slot1 --config-file slots.conf --ads job.ad"),
    ("htc-slot-run match", "slot1"),
    ("htc-slot-run alive", "slot1"),
    ("htc-slot-run hold", "slot1"),
    ("htc-slot-run deactivate", "slot1"),
    ("htc-slot-run release-claim", "slot1"),
    ("htc-starter-run", "--dry-run --ads run.ad"),
];

/// Returns the words of a verb without the option, and the option with a value and, if it is supported, with the options that it
/// needs.
fn words_with(name: &str, long: &str, is_supported: bool) -> (String, String) {
    let call_operands = "hooks/prepare --ads job.ad";
    let is_call = name.starts_with("htc-hook-test ");
    let operands = OPERANDS.iter().find(|(verb, _)| *verb == name).map(|(_, words)| *words);
    let operands = operands.unwrap_or(if is_call { call_operands } else { "" });
    let value = match long {
        "config-file" => "condor_config",
        "param" => "A=1",
        "local-name" => "x",
        "ads" => "job.ad",
        "slot-ads" => "slot.ad",
        "from" => "long",
        "count-by" | "sum" | "avg" | "min" | "max" | "af" | "sort" => "Owner",
        "split-by" => "Owner parts",
        "color" | "timestamps" => "never",
        "events" => "events.json",
        "constraint" => "true",
        "quirks" => "reference",
        "limit" | "now" | "seed" | "threads" | "timeout" | "hook-timeout" | "idle-exit" | "watch" => "5",
        _ => "",
    };
    let needed = match (name, long) {
        _ if !is_supported => "",
        ("htc-config-dump compare", "sort" | "limit") => "--csv",
        ("htc-config-dump compare", "reverse") => "--sort name --csv",
        ("htc-router-status doctor", "af" | "long") => "--by route",
        (_, "reverse") if is_call => "--sort Owner --ads job.ad",
        (_, "reverse") => "--sort Owner",
        (_, "watch") => "--timeout 0.2",
        ("htc-classad-eval", "csv" | "tsv" | "null") => "--af Owner",
        ("htc-classad-eval", "summary") => "--match slot.ad --explain",
        ("htc-classad-eval", "explain") => "--match slot.ad",
        (_, "csv" | "tsv" | "null") if is_call && operands.contains("--") => "--summary --ads job.ad",
        (_, "summary") if is_call => "--ads job.ad",
        (_, "constraint" | "sort" | "limit") if is_call => "--ads job.ad",
        _ => "",
    };
    // A command line names an input only once.
    let needed =
        if operands.contains("--ads") { needed.replace("--ads job.ad", "") } else { needed.to_owned() };
    let operands = match (name, long) {
        ("htc-config-dump lint", "ads" | "config-file") => String::new(),
        _ => operands.to_owned(),
    };
    let has_option = operands.split(' ').any(|word| word == format!("--{long}"));
    let option = if has_option { String::new() } else { format!("--{long} {value}") };
    (operands, format!("{needed} {option}"))
}

fn line_with(name: &str, long: &str, is_supported: bool) -> String {
    let (operands, option) = words_with(name, long, is_supported);
    match operands.contains("OPTION") {
        true => format!("{name} {}", operands.replace("OPTION", &option)),
        false => format!("{name} {operands} {option}"),
    }
}

fn call(directory: &Path, name: &str, long: &str) -> (String, Output) {
    let line = line_with(name, long, true);
    let mut words = line.split_whitespace();
    let program = words.next().unwrap();
    let output = Process::new(Path::new(env!("CARGO_BIN_EXE_htc-slot-run")).with_file_name(program))
        .args(words)
        .current_dir(directory)
        .env("CONDOR_CONFIG", "ONLY_ENV")
        .env("HOME", directory)
        .stdin(Stdio::null())
        .output()
        .unwrap();
    (line, output)
}

/// Calls `visit` with each program, its command and the name of each of its verbs.
fn for_each_verb(visit: &mut dyn FnMut(&'static Program, &Command, &str)) {
    for program in PROGRAMS {
        let command = (program.command)();
        if !command.is_subcommand_required_set() {
            visit(program, &command, NO_VERB);
        }
        for verb in command.get_subcommands() {
            visit(program, &command, verb.get_name());
        }
    }
}

/// Returns true if an option of this name has another meaning in a verb.
fn has_other_meaning(command: &Command, verb: &str, long: &str) -> bool {
    let of_verb = command.find_subcommand(verb).unwrap_or(command);
    of_verb.get_arguments().any(|arg| arg.get_long() == Some(long) && !has_common_meaning(of_verb, arg))
}

/// Returns the command line with an option and how the program refuses it, or `None` if its verb runs. Refusals come from the
/// parser of the command line, so that no process is needed.
fn refusal(program: &Program, command: &mut Command, name: &str, long: &str) -> (String, Option<String>) {
    let line = line_with(name, long, false);
    let words: Vec<OsString> = line.split_whitespace().skip(1).map(OsString::from).collect();
    let refusal = program.parse(command, &words).err().map(|refused| refused.to_string());
    (line, refusal)
}

/// Returns the mistake of a command line with an option that the table does not list.
fn mistake_of_refusal(program: &Program, command: &mut Command, name: &str, long: &str) -> Option<String> {
    let (line, refusal) = refusal(program, command, name, long);
    let names_option = [format!("--{long} has no effect"), format!("unexpected argument '--{long}")];
    let text = refusal.unwrap_or_else(|| "it is accepted".to_owned());
    let is_right = names_option.iter().any(|expected| text.contains(expected.as_str()));
    (!is_right).then(|| format!("{line}: not in the table, but: {text}"))
}

/// Returns the mistake of a command line with an option that the table lists.
fn mistake_of_use(directory: &Path, name: &str, long: &str) -> Option<String> {
    let (line, output) = call(directory, name, long);
    let is_refused = output.status.code() == Some(2);
    is_refused.then(|| format!("{line}: in the table, but: {}", String::from_utf8_lossy(&output.stderr)))
}

#[test]
fn every_verb_accepts_the_options_of_the_table_and_no_others() {
    let mut supported: Vec<(String, &str)> = Vec::new();
    let (mut refused, mut mistakes) = (0, Vec::new());
    for_each_verb(&mut |program, command, verb| {
        let name = format!("{} {verb}", program.name).trim().to_owned();
        let mut parser = (program.command)();
        for option in COMMON_OPTIONS.iter().filter(|option| !has_other_meaning(command, verb, option.long)) {
            if verb_supports(program, command, verb, option.long) {
                supported.push((name.clone(), option.long));
            } else {
                mistakes.extend(mistake_of_refusal(program, &mut parser, &name, option.long));
                refused += 1;
            }
        }
    });
    assert!(supported.len() + refused > 2000, "{} and {refused} cases", supported.len());
    let (next, mistakes) = (Mutex::new(supported.iter()), Mutex::new(mistakes));
    std::thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                let directory = manual_directory();
                loop {
                    let Some((name, long)) = next.lock().unwrap().next() else { break };
                    let found = mistake_of_use(directory.path(), name, long);
                    mistakes.lock().unwrap().extend(found);
                }
            });
        }
    });
    let mistakes = mistakes.into_inner().unwrap();
    assert!(mistakes.is_empty(), "{} mistakes:\n{}", mistakes.len(), mistakes.join("\n"));
}

/// A verb with a format prints this format, and not its default.
#[test]
fn a_supported_format_changes_the_output() {
    let directory = manual_directory();
    for_each_verb(&mut |program, command, verb| {
        let name = format!("{} {verb}", program.name).trim().to_owned();
        let is_hook_test = program.name == "htc-hook-test";
        for long in ["json", "jsonl", "csv", "tsv", "xml"] {
            // These verbs have no execution point, no recorded calls and no jobs here; an ad of a history has no fixed keys.
            let has_no_rows =
                matches!(verb, "status" | "claim" | "replay" | "history") || verb == "queue" && is_hook_test;
            if !verb_supports(program, command, verb, long) || has_no_rows {
                continue;
            }
            let (line, output) = call(directory.path(), &name, long);
            let out = String::from_utf8_lossy(&output.stdout);
            let err = String::from_utf8_lossy(&output.stderr);
            let begins = |text: &str| out.starts_with(text);
            let is_right = match long {
                "json" => begins("["),
                "jsonl" => out.is_empty() || begins("{"),
                "csv" => out.lines().next().is_some_and(|header| header.contains(',') || header == "Owner"),
                "tsv" => out.lines().next().is_some_and(|header| header.contains('\t') || header == "Owner"),
                _ => begins("<?xml"),
            };
            assert!(is_right, "{line}: {out}{err}");
        }
    });
}

/// A name that is both an option and the beginning of another one is no abbreviation of the other one where it does not exist.
#[test]
fn names_of_options_are_not_abbreviations() {
    let mut names = std::collections::BTreeSet::new();
    for_each_verb(&mut |_, command, verb| {
        let of_verb = command.find_subcommand(verb).unwrap_or(command);
        let visible = of_verb.get_arguments().filter(|arg| !arg.is_hide_set());
        names.extend(visible.filter_map(|arg| arg.get_long().map(str::to_owned)));
    });
    let is_beginning =
        |name: &&String| names.iter().any(|other| other != *name && other.starts_with(name.as_str()));
    let both: Vec<&str> = names.iter().filter(is_beginning).map(String::as_str).collect();
    assert_eq!(both, NAMES_NOT_ABBREVIATIONS);
    let directory = manual_directory();
    for (line, hint) in [
        ("htc-slot-run explain --config-file slots.conf --ads big.ad --sum", "did you mean --summary?"),
        ("htc-router-status --config-file condor_config --strict", "did you mean --strict-input?"),
    ] {
        let mut words = line.split(' ');
        let program = Path::new(env!("CARGO_BIN_EXE_htc-slot-run")).with_file_name(words.next().unwrap());
        let output = Process::new(program).args(words).current_dir(directory.path()).output().unwrap();
        let err = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.code() == Some(2) && err.contains(hint), "{line}: {err}");
    }
}

/// Arguments of the program that its verb does not use are refused, not ignored.
#[test]
fn arguments_before_a_verb_are_used_or_refused() {
    let directory = manual_directory();
    for (line, message) in [
        ("htc-config-dump --dump lint condor_config", "--dump has no effect in 'lint'"),
        ("htc-config-dump --csv lint condor_config", "--csv has no effect before 'lint'"),
        ("htc-config-dump START lint condor_config", "'START' before 'lint' has no effect"),
        ("htc-slot-run --once status", "--once has no effect in 'status'"),
        ("htc-slot-run --long", "--long has no effect without a verb"),
        ("htc-slot-run --json --once", "--json and --jsonl need --dry-run"),
    ] {
        let mut words = line.split(' ');
        let program = Path::new(env!("CARGO_BIN_EXE_htc-slot-run")).with_file_name(words.next().unwrap());
        let output = Process::new(program).args(words).current_dir(directory.path()).output().unwrap();
        let err = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.code() == Some(2) && err.contains(message), "{line}: {err}");
    }
}
