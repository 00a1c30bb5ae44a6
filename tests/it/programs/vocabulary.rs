//! Tests that options of several programs have one name, one meaning and one default.

use std::process::Command as Process;

use clap::Command;
use htc_hooks::cli::PROGRAMS;
use htc_hooks::cli::common::{COMMON_OPTIONS, has_common_meaning, has_own_help};

/// Calls `visit` with each command and verb of the programs.
fn for_each_command(visit: &mut dyn FnMut(&str, &Command)) {
    for program in PROGRAMS {
        let command = (program.command)();
        visit(program.name, &command);
        for verb in command.get_subcommands() {
            visit(&format!("{} {}", program.name, verb.get_name()), verb);
        }
    }
}

#[test]
fn an_option_of_several_programs_has_one_meaning_and_one_short_form() {
    let mut problems = Vec::new();
    for_each_command(&mut |name, command| {
        for arg in command.get_arguments() {
            let Some(common) = COMMON_OPTIONS.iter().find(|common| arg.get_long() == Some(common.long))
            else {
                continue;
            };
            if !has_common_meaning(command, arg) || has_own_help(command, arg) {
                continue;
            }
            let help = arg.get_help().map(ToString::to_string).unwrap_or_default();
            if help != common.meaning || arg.get_short() != common.short {
                problems.push(format!("{name} --{}: {help} {:?}", common.long, arg.get_short()));
            }
            // The verbs `simulate` accept --events without a file, and then print events as text.
            let takes_value = arg.get_action().takes_values();
            if takes_value == common.value.is_empty() && !name.ends_with("simulate") {
                problems.push(format!("{name} --{}: takes a value: {takes_value}", common.long));
            }
        }
    });
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

#[test]
fn explain_has_reverse_for_sorting_and_an_option_about_slots() {
    let slot_run = PROGRAMS.iter().find(|program| program.name == "htc-slot-run").unwrap();
    let command = (slot_run.command)();
    let explain = command.find_subcommand("explain").unwrap();
    let help = |long: &str| {
        let option = explain.get_arguments().find(|arg| arg.get_long() == Some(long)).unwrap();
        option.get_help().unwrap().to_string()
    };
    assert_eq!(help("by-slot"), "Explain slots instead of jobs: why each kind of slot is empty");
    assert_eq!(help("reverse"), "Sort in descending order");
}

/// Compares the defaults of all programs. The comparison also finds options outside of the vocabulary that have one meaning under
/// two names.
#[test]
fn defaults_are_those_of_the_vocabulary() {
    let mut defaults = std::collections::BTreeMap::new();
    for_each_command(&mut |name, command| {
        for arg in command.get_arguments() {
            let Some(long) = arg.get_long().filter(|long| COMMON_OPTIONS.iter().any(|one| one.long == *long))
            else {
                continue;
            };
            let values: Vec<_> =
                arg.get_default_values().iter().map(|value| value.to_string_lossy().into_owned()).collect();
            defaults
                .entry(long.to_owned())
                .or_insert_with(Vec::new)
                .push((name.to_owned(), values.join(" ")));
        }
    });
    for (long, values) in defaults {
        // The time limit of a hook depends on its caller, and `compare` generates the same ads each time.
        if matches!(long.as_str(), "hook-timeout" | "seed") {
            continue;
        }
        let first = &values[0].1;
        assert!(values.iter().all(|(_, value)| value == first), "--{long}: {values:?}");
    }
}

#[test]
fn removed_spellings_are_refused_with_the_current_one() {
    for (program, words, expected) in [
        (env!("CARGO_BIN_EXE_htc-slot-run"), &["--set-knob", "A=1"][..], "--set-knob is now --param"),
        (env!("CARGO_BIN_EXE_htc-slot-run"), &["status", "-set-knob=A=1"], "--set-knob is now --param"),
        (
            env!("CARGO_BIN_EXE_htc-router-translate"),
            &["route", "--hook-limit", "3"],
            "--hook-limit is now --hook-timeout",
        ),
        (env!("CARGO_BIN_EXE_htc-hook-test"), &["run", "--jobs", "3", "x.toml"], "--jobs is now --threads"),
        (env!("CARGO_BIN_EXE_htc-config-dump"), &["lint", "--job-ad", "x"], "--job-ad is now --ads"),
    ] {
        let output = Process::new(program).args(words).output().unwrap();
        let err = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.code() == Some(2) && err.contains(expected), "{words:?}: {err}");
    }
    // --jobs is still the name of another option in other verbs.
    let output =
        Process::new(env!("CARGO_BIN_EXE_htc-hook-test")).args(["queue", "--jobs", "x"]).output().unwrap();
    assert!(!String::from_utf8_lossy(&output.stderr).contains("is now"));
}

#[test]
fn a_hint_names_the_help_of_the_verb_that_failed() {
    let slot_run = env!("CARGO_BIN_EXE_htc-slot-run");
    let translate = env!("CARGO_BIN_EXE_htc-router-translate");
    for (program, words, help) in [
        (slot_run, &["explain", "--nonsense"][..], "try 'htc-slot-run explain --help'"),
        // The first `explain` is the name of a file.
        (slot_run, &["--config-file", "explain", "status", "--nonsense"], "try 'htc-slot-run status --help'"),
        (slot_run, &["--nonsense"], "try 'htc-slot-run --help'"),
        (translate, &["compare", "one"], "try 'htc-router-translate compare --help'"),
    ] {
        let output = Process::new(program).args(words).output().unwrap();
        let err = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.code() == Some(2) && err.contains(help), "{words:?}: {err}");
    }
}

#[test]
fn every_spelling_of_help_prints_the_help_of_the_verb() {
    let run = |words: &[&str]| {
        let output = Process::new(env!("CARGO_BIN_EXE_htc-slot-run")).args(words).output().unwrap();
        assert!(output.status.success() && output.stderr.is_empty(), "{words:?}");
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    let short = run(&["drain", "--help"]);
    assert!(short.starts_with("htc-slot-run drain: ") && short.contains("--quick"), "{short}");
    for words in [["drain", "-h"], ["drain", "-help"], ["--help", "drain"]] {
        assert_eq!(run(&words), short, "{words:?}");
    }
    let all = run(&["drain", "--help-all"]);
    assert!(all.contains("--no-env") && !short.contains("--no-env"), "{all}");
}

/// Options of `run` can be before or after the verb.
#[test]
fn run_takes_its_options_after_the_verb_as_well() {
    for words in [["--dry-run", "run"], ["run", "--dry-run"]] {
        let output = Process::new(env!("CARGO_BIN_EXE_htc-slot-run"))
            .args(words)
            .args(["--config-file", "tests/data/manual/slots.conf"])
            .current_dir(env!("CARGO_MANIFEST_DIR"))
            .output()
            .unwrap();
        let out = String::from_utf8_lossy(&output.stdout);
        assert!(
            output.status.success() && out.contains("slot1") && out.contains("slot2"),
            "{words:?}: {out}"
        );
    }
}
