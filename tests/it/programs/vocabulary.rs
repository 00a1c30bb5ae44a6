//! Options that several programs have: one name, one meaning, one default.

use std::process::Command as Process;

use clap::Command;
use htc_hooks::cli::PROGRAMS;
use htc_hooks::cli::common::COMMON_OPTIONS;

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
            // The option of lint that explains a rule is another one.
            if common.long == "explain" && arg.get_action().takes_values() {
                continue;
            }
            let help = arg.get_help().map(ToString::to_string).unwrap_or_default();
            if help != common.meaning || arg.get_short() != common.short {
                problems.push(format!("{name} --{}: {help} {:?}", common.long, arg.get_short()));
            }
            // The simulations print their events as text without a file.
            let takes_value = arg.get_action().takes_values();
            if takes_value == common.value.is_empty() && !name.ends_with("simulate") {
                problems.push(format!("{name} --{}: takes a value: {takes_value}", common.long));
            }
        }
    });
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

/// An option that is no part of the vocabulary and has the same meaning under two names would be seen here.
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
        // How long a hook may run depends on who calls it; compare makes the same ads each time.
        if matches!(long.as_str(), "hook-timeout" | "seed") {
            continue;
        }
        let first = &values[0].1;
        assert!(values.iter().all(|(_, value)| value == first), "--{long}: {values:?}");
    }
}

#[test]
fn removed_spellings_are_refused_with_the_present_one() {
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
    // --jobs is an option of its own elsewhere.
    let output =
        Process::new(env!("CARGO_BIN_EXE_htc-hook-test")).args(["queue", "--jobs", "x"]).output().unwrap();
    assert!(!String::from_utf8_lossy(&output.stderr).contains("is now"));
}
