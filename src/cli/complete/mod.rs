//! Completion in the shell. The completion files for bash, zsh and fish call the program itself, which knows its
//! options and reads the configuration.
//!
//! A completion file contains no candidates. It calls the program with [`COMPLETION_VARIABLE`] in its environment, the
//! number of the word at the cursor and the words of the line. Candidates come from the program's own definition
//! (clap), values from [`completers`].

mod completers;
mod typed_line;

use std::ffi::{OsStr, OsString};

use clap::Command;
use clap_complete::engine::{CompletionCandidate, complete};

use self::typed_line::TypedLine;
use super::common::Program;

/// Environment variable with which a shell requests completions; its value is the name of the shell.
pub(crate) const COMPLETION_VARIABLE: &str = "HTC_COMPLETE";

/// Supported shell: directory, name and content of its completion file. The content has `@PROGRAM@` in place of the program's
/// name.
pub(super) struct ShellCompletion {
    pub directory: &'static str,
    pub file: &'static str,
    pub script: &'static str,
}

/// All supported shells.
pub(super) const SHELLS: [ShellCompletion; 3] = [
    ShellCompletion { directory: "bash", file: "@PROGRAM@", script: include_str!("complete.bash") },
    ShellCompletion { directory: "zsh", file: "_@PROGRAM@", script: include_str!("complete.zsh") },
    ShellCompletion { directory: "fish", file: "@PROGRAM@.fish", script: include_str!("complete.fish") },
];

/// Returns the completions in the form that the shell expects, one per line. For an invalid command line, returns an
/// empty string.
pub(crate) fn completions_for(program: &Program, shell: &OsStr, words: &[OsString]) -> String {
    let Some(line) = TypedLine::from_shell(shell, words) else { return String::new() };
    let mut text = String::new();
    for candidate in find_candidates(program, &line) {
        let Some(value) = candidate.get_value().to_str().and_then(|value| line.without_kept_prefix(value))
        else {
            continue;
        };
        if value.is_empty() || value.contains(char::is_control) {
            continue;
        }
        let help = candidate.get_help().map(ToString::to_string).unwrap_or_default();
        let help = help.lines().next().unwrap_or_default();
        text.push_str(&match shell.to_str() {
            Some("zsh") if help.is_empty() => value.replace(':', "\\:"),
            Some("zsh") => format!("{}:{help}", value.replace(':', "\\:")),
            Some("fish") => format!("{value}\t{help}"),
            _ => value.to_owned(),
        });
        text.push('\n');
    }
    text
}

/// Returns the candidates for the word at the cursor.
fn find_candidates(program: &Program, line: &TypedLine) -> Vec<CompletionCandidate> {
    let command = (program.command)();
    let before = line.words_before_cursor(&command);
    let mut command = completers::add_completers(command, &before);
    let ask = |current: &OsStr, command: &mut Command| {
        let words: Vec<OsString> = std::iter::once(OsString::from(program.name))
            .chain(before.iter().cloned())
            .chain([current.to_owned()])
            .collect();
        let at = words.len() - 1;
        complete(command, words, at, std::env::current_dir().ok().as_deref()).unwrap_or_default()
    };
    // One dash before a whole option name means the same as two.
    let with_two = line.with_two_dashes();
    let mut found = with_two.map(|word| ask(&word, &mut command)).unwrap_or_default();
    if found.is_empty() {
        found = ask(&line.current, &mut command);
    }
    let is_option =
        |candidate: &CompletionCandidate| candidate.get_value().as_encoded_bytes().starts_with(b"-");
    if line.current.is_empty() && found.iter().any(|candidate| !is_option(candidate)) {
        found.retain(|candidate| !is_option(candidate));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::PROGRAMS;

    fn ask(shell: &str, line: &str) -> Vec<String> {
        let words: Vec<OsString> = line.split(' ').map(OsString::from).collect();
        let program =
            PROGRAMS.iter().find(|program| program.name == line.split(' ').next().unwrap()).unwrap();
        let mut arguments = vec![OsString::from((words.len() - 1).to_string())];
        arguments.extend(words);
        completions_for(program, OsStr::new(shell), &arguments).lines().map(str::to_owned).collect()
    }

    #[test]
    fn options_after_a_verb_are_offered_with_one_or_two_dashes() {
        assert_eq!(ask("bash", "htc-hook-test prepare --sam"), ["--sample-job", "--sample-slot"]);
        assert_eq!(ask("bash", "htc-hook-test prepare -sample-j"), ["--sample-job"]);
        assert_eq!(ask("bash", "htc-slot-run drain --qu"), ["--quick", "--quiet"]);
        assert_eq!(ask("bash", "htc-config-dump lint --ad"), ["--ads"]);
        assert_eq!(ask("bash", "htc-slot-run dra"), ["drain"]);
    }

    #[test]
    fn option_values_are_offered_for_every_form_of_the_option() {
        for line in ["--sample-job gr", "-sample-job gr", "-sample-j gr"] {
            assert_eq!(ask("bash", &format!("htc-hook-test prepare {line}")), ["grid"]);
        }
        assert_eq!(ask("zsh", "htc-hook-test prepare --sample-job=gr"), ["--sample-job=grid"]);
        // bash splits words at `=`, and replaces only the last part.
        assert_eq!(ask("bash", "htc-hook-test prepare --sample-job = gr"), ["grid"]);
        assert_eq!(ask("bash", "htc-hook-test prepare --quirks ="), ["none", "reference"]);
        assert_eq!(ask("bash", "htc-slot-run --quirks "), ["none", "reference"]);
        assert_eq!(ask("bash", "htc-router-status --by "), ["route", "user", "site"]);
        assert_eq!(ask("bash", "htc-classad-eval --from x"), ["xml"]);
    }

    #[test]
    fn every_option_with_a_few_values_offers_them() {
        let known = [
            ("htc-hook-test prepare --sample-slot ", "partitionable"),
            ("htc-hook-test prepare --expect-verdict he", "held"),
            ("htc-hook-test init hook --type startd", "startd-cron"),
            ("htc-hook-test exit hook ev", "evict"),
            ("htc-config-dump update_int", "UPDATE_INTERVAL"),
            ("htc-config-dump --subsystem START", "STARTER"),
            ("htc-slot-run --param DAEMON_L", "DAEMON_LIST="),
            ("htc-config-dump use FEATURE:G", "FEATURE:GPUs"),
            ("htc-config-dump use rol", "ROLE"),
            ("htc-starter-run --as sh", "shadow"),
            ("htc-slot-run --color al", "always"),
        ];
        for (line, word) in known {
            let shell = if line.contains(':') { "fish" } else { "bash" };
            let found = ask(shell, line);
            assert!(found.iter().any(|found| found.trim_end() == word), "{line}: {found:?}");
        }
    }

    #[test]
    fn slots_and_routes_of_the_configuration_are_offered() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("c.conf");
        let text = "NUM_CPUS = 2\nMEMORY = 2048\nNUM_SLOTS_TYPE_1 = 2\nSLOT_TYPE_1 = cpus=1\nEXECUTE = /tmp\nLOG = /nowhere\n\
            JOB_ROUTER_ROUTE_NAMES = Site_A Site_B\nJOB_ROUTER_ROUTE_Site_A @=e\nUNIVERSE vanilla\nREQUIREMENTS true\n@e\nJOB_ROUTER_ROUTE_Site_B @=e\nUNIVERSE vanilla\nREQUIREMENTS true\n@e\n";
        std::fs::write(&file, text).unwrap();
        let file = file.display();
        assert_eq!(ask("bash", &format!("htc-slot-run -config {file} ads sl")), ["slot1", "slot2"]);
        assert_eq!(ask("bash", &format!("htc-hook-test fetch --config-file {file} --slot slot2")), ["slot2"]);
        let routes = ask("bash", &format!("htc-hook-test translate --config-file={file} --route Site_"));
        assert_eq!(routes, ["Site_A", "Site_B"]);
        assert_eq!(ask("bash", "htc-slot-run -config /nowhere/at/all ads sl"), [""; 0]);
    }

    #[test]
    fn an_empty_word_offers_operands_before_options() {
        let found = ask("bash", "htc-slot-run ");
        assert!(found.contains(&"simulate".to_owned()) && !found.iter().any(|word| word.starts_with('-')));
        assert!(ask("fish", "htc-slot-run ").iter().any(|line| line.starts_with("simulate\tSimulate slots")));
    }

    #[test]
    fn an_invalid_line_offers_nothing() {
        let program = PROGRAMS[0];
        for words in [vec![], vec!["x"], vec!["7", "htc-classad-eval"], vec!["0", "htc-classad-eval"]] {
            let words: Vec<OsString> = words.into_iter().map(OsString::from).collect();
            assert_eq!(completions_for(program, OsStr::new("bash"), &words), "");
        }
    }
}
