//! Completion of option values: fixed words, and names from the configuration that the typed command line selects.

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;

use bstr::ByteSlice;
use clap::{Arg, Command};
use clap_complete::engine::{ArgValueCompleter, CompletionCandidate};

use crate::cli::common::ConfigOptions;
use crate::config::{CommandPolicy, Config, LookupContext, defaults, template};
use crate::hook::HookType;
use crate::hook_testing::{Decision, known_argument_words, samples};
use crate::os::RealWorld;
use crate::quirks::QuirkMode;
use crate::router::{RouteLoadContext, RouteTable, RouterParameters};
use crate::runner::slot::{SlotControlRequest, configured_surroundings, default_socket, send_request};
use crate::slot::{ExitLimits, configure};

/// Adds completers to the arguments of a command. `before` are the words before the cursor, in the form that clap expects.
pub(super) fn add_completers(command: Command, before: &[OsString]) -> Command {
    let typed = TypedConfig::from_words(before);
    add_completers_to(command, &typed)
}

fn add_completers_to(command: Command, typed: &TypedConfig) -> Command {
    let name = command.get_name().to_owned();
    command
        .mut_args(|arg| match completer_for(&arg, &name, typed) {
            Some(completer) => arg.add(completer),
            None => arg,
        })
        .mut_subcommands(|verb| add_completers_to(verb, typed))
}

/// Returns the completer for an argument whose values clap does not know, or `None`. `command` is the name of the program or
/// verb.
fn completer_for(arg: &Arg, command: &str, typed: &TypedConfig) -> Option<ArgValueCompleter> {
    let words = |words: Vec<String>| Some(prefix_completer(move || words.clone()));
    let fixed = |known: &[&str]| words(known.iter().map(|&word| word.to_owned()).collect());
    match arg.get_id().as_str() {
        "sample_job" => words(samples::job_kinds().map(str::to_owned).collect()),
        "sample_slot" => words(samples::slot_kinds().map(str::to_owned).collect()),
        "expect_verdict" => words(Decision::all_words().map(str::to_owned).collect()),
        "kind" => words(hook_type_words()),
        "words" => fixed(known_argument_words(HookType::from_name(command.as_bytes())?)?),
        "from" => fixed(&["long", "json", "jsonl", "xml", "new", "newl"]),
        "until" => fixed(&["done", "held"]),
        "subsystem" => {
            fixed(&["STARTD", "STARTER", "SHADOW", "SCHEDD", "JOB_ROUTER", "TOOL", "SUBMIT", "MASTER"])
        }
        "names" if command == "htc-config-dump" => {
            let typed = typed.clone();
            Some(prefix_completer(move || typed.param_names("")))
        }
        "param" => {
            let typed = typed.clone();
            Some(prefix_completer(move || typed.param_names("=")))
        }
        "templates" => Some(ArgValueCompleter::new(complete_templates)),
        "slot" | "slots" | "slot_name" => {
            let typed = typed.clone();
            Some(prefix_completer(move || typed.slot_names()))
        }
        "route" => {
            let typed = typed.clone();
            Some(prefix_completer(move || typed.route_names()))
        }
        _ => None,
    }
}

/// Returns a completer that offers those of `words` that start with the typed text, ignoring case.
fn prefix_completer(words: impl Fn() -> Vec<String> + Send + Sync + 'static) -> ArgValueCompleter {
    ArgValueCompleter::new(move |typed: &OsStr| {
        let typed = typed.to_str().unwrap_or("\0");
        complete_prefix(typed, words()).into_iter().map(CompletionCandidate::new).collect()
    })
}

/// Returns the words that begin with the typed text, ignoring case. If there are several, their beginnings are replaced
/// by the typed text, because a shell replaces the typed text by the common prefix of all candidates, which must not be
/// shorter than the typed text.
fn complete_prefix(typed: &str, words: Vec<String>) -> Vec<String> {
    let begins =
        |word: &String| word.get(..typed.len()).is_some_and(|start| start.eq_ignore_ascii_case(typed));
    let mut found: Vec<String> = words.into_iter().filter(begins).collect();
    if found.len() > 1 && !found.iter().all(|word| word.starts_with(typed)) {
        found.iter_mut().for_each(|word| word.replace_range(..typed.len(), typed));
    }
    found
}

fn hook_type_words() -> Vec<String> {
    let hooks = HookType::ALL.iter().map(|hook| hook.word().to_owned());
    hooks.chain(["startd-cron", "schedd-cron", "benchmark"].map(str::to_owned)).collect()
}

/// Completes the name of a category of templates or, after a category, the name of a template.
fn complete_templates(typed: &OsStr) -> Vec<CompletionCandidate> {
    let Some(typed) = typed.to_str().map(str::to_ascii_lowercase) else { return Vec::new() };
    let mut names: Vec<String> = template::all()
        .map(|found| {
            let category = found.category().to_str_lossy();
            match typed.contains(':') {
                true => format!("{category}:{}", found.name().to_str_lossy()),
                false => category.into_owned(),
            }
        })
        .filter(|name| name.to_ascii_lowercase().starts_with(&typed))
        .collect();
    names.sort_unstable();
    names.dedup();
    names.into_iter().map(CompletionCandidate::new).collect()
}

/// Configuration that the options before the cursor select.
#[derive(Clone)]
struct TypedConfig(ConfigOptions);

impl TypedConfig {
    fn from_words(before: &[OsString]) -> Self {
        let mut options = ConfigOptions::default();
        for word in before.iter().filter_map(|word| word.to_str()) {
            if let Some(file) = word.strip_prefix("--config-file=") {
                options.config_file = Some(expand_home(file));
            } else if let Some((name, value)) =
                word.strip_prefix("--param=").and_then(|parameter| parameter.split_once('='))
            {
                options.param.push((name.to_owned(), value.to_owned()));
            } else if word == "--no-env" {
                options.no_env = true;
            }
        }
        TypedConfig(options)
    }

    /// Loads the configuration as the daemon `subsystem` reads it. Commands in the configuration are never run for a completion.
    fn load_config(&self, subsystem: &str) -> Option<(Config, RealWorld)> {
        let world = RealWorld::new();
        let context = LookupContext { subsystem: subsystem.into(), local_name: "".into() };
        let (config, _) =
            Config::load(&world, &context, &self.0.load_options(CommandPolicy::Refused)).ok()?;
        Some((config, world))
    }

    fn param_names(&self, end: &str) -> Vec<String> {
        let mut names: Vec<String> =
            defaults::all().map(|parameter| parameter.name().to_str_lossy().into_owned()).collect();
        if let Some((config, world)) = self.load_config("TOOL") {
            names.extend(config.view(&world).names().map(|name| name.to_str_lossy().into_owned()));
        }
        names.sort_unstable_by_key(|name| name.to_ascii_lowercase());
        names.dedup_by(|one, other| one.eq_ignore_ascii_case(other));
        names.into_iter().map(|name| name + end).collect()
    }

    /// Returns the slots of the execution point that runs with this configuration. If none runs, returns the slots that
    /// it would have.
    fn slot_names(&self) -> Vec<String> {
        self.running_slots().or_else(|| self.planned_slots()).unwrap_or_default()
    }

    fn running_slots(&self) -> Option<Vec<String>> {
        let (config, world) = self.load_config("STARTD")?;
        let log = config.view(&world).string("LOG").ok()??.value;
        let request = SlotControlRequest::Status { slot: None, counters: false };
        let answer =
            send_request(&default_socket(&PathBuf::from(log.to_string()), None), &request, &[]).ok()?;
        Some(answer.slots.into_iter().map(|slot| slot.slot).collect())
    }

    fn planned_slots(&self) -> Option<Vec<String>> {
        let (config, world) = self.load_config("STARTD")?;
        let measurements = configured_surroundings(&config, &world);
        let limits =
            ExitLimits { exit_when_no_work: false, max_jobs: None, idle_exit: None, allow_hibernate: false };
        let configured = configure(&config, &world, &measurements, QuirkMode::Manual, limits).ok()?;
        Some(configured.settings.slots.into_iter().map(|slot| slot.id).collect())
    }

    fn route_names(&self) -> Vec<String> {
        let Some((config, world)) = self.load_config("JOB_ROUTER") else { return Vec::new() };
        let view = config.view(&world);
        let parameters = RouterParameters::load(&view, &mut |_| {});
        let table = RouteTable::load(
            RouteLoadContext {
                view: &view,
                parameters: &parameters,
                world: &world,
                quirks: QuirkMode::Manual,
            },
            &mut |_| {},
        );
        table.routes.iter().map(|route| route.name.to_string()).collect()
    }
}

/// Expands `~` at the start of a path as the shell does.
fn expand_home(path: &str) -> PathBuf {
    match (path.strip_prefix("~/"), std::env::var_os("HOME")) {
        (Some(rest), Some(home)) => PathBuf::from(home).join(rest),
        _ => PathBuf::from(path),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn completion_never_shortens_the_word() {
        let words = || ["START", "STARTD_DEBUG", "starter"].map(str::to_owned).to_vec();
        assert_eq!(complete_prefix("star", words()), ["starT", "starTD_DEBUG", "starter"]);
        assert_eq!(complete_prefix("STARTD", words()), ["STARTD_DEBUG"]);
        assert_eq!(complete_prefix("startd", words()), ["STARTD_DEBUG"]);
        assert!(complete_prefix("x", words()).is_empty());
    }
}
