//! `--fuzz N`: calls the hook with random changes of its ad. Shows crashes, timeouts and output that its caller would
//! refuse, each with the smallest ad for which it happens.

use std::io::Write as _;
use std::os::unix::ffi::OsStringExt;
use std::path::Path;

use super::options::{AdOptions, CallOptions, HookCallArgs, SharedOptions};
use crate::classad::format::long;
use crate::cli::common::{Painter, ProgramContext, Progress, Status, stdout};
use crate::hook::HookType;
use crate::hook_testing::fuzz::{RandomGenerator, to_printf_command};
use crate::hook_testing::fuzz_search::{FuzzFailure, FuzzSearch, MAX_SHRINK_TIME};
use crate::hook_testing::{CallReport, CallSetup, Case};
use crate::os::Reactor;
use crate::process::Exit;
use crate::quirks::QuirkMode;
use crate::text::plural::counted;
use crate::world::World;

pub(super) fn run(
    setup: &mut CallSetup,
    reactor: &mut Reactor,
    baseline: &CallReport,
    cli: &SharedOptions,
    call_args: &HookCallArgs,
    session: &ProgramContext,
) -> anyhow::Result<Status> {
    let times = call_args.extra.fuzz.unwrap_or_default();
    let interrupted = |number| Ok(Status::Relayed(Exit::Signal { number, core_dumped: false }));
    let seed = cli.clock.seed.unwrap_or_else(|| setup.world.random());
    let mut search = FuzzSearch::new(setup, baseline);
    let progress = Progress::new("calls", Some(times.into()), cli.output.quiet);
    let signal =
        search.make_calls(reactor, times, &mut RandomGenerator::new(seed), &|| progress.advance(1))?;
    drop(progress);
    let painter = Painter::stderr(cli.output.color);
    if let Some(signal) = signal {
        for (what, failure) in &search.failures {
            write_failure(what, failure, times, &painter, session);
        }
        session.write_stderr(&format!(
            "interrupted: {} so far with seed {seed}, not reduced to small ads\n",
            counted(search.failures.len(), "different failure")
        ));
        return interrupted(signal);
    }
    let mut listed = Vec::new();
    for (what, failure) in search.failures.clone() {
        let words = write_failure(&what, &failure, times, &painter, session);
        let shrunk = search.shrink_failure(reactor, &what, &failure.case);
        if shrunk.out_of_time {
            let seconds = MAX_SHRINK_TIME.as_secs();
            session.write_stderr(&format!("  stopped shrinking the input after {seconds} s\n"));
        }
        session.write_stderr(&format!("  smallest ad, {}:\n", counted(shrunk.ad.len(), "attribute")));
        let text = long::print(&shrunk.ad);
        let setup = search.original_setup();
        let hook = setup.case.hook.word();
        let options = call_options(&setup.case, setup, cli, call_args);
        let command = format!("{} | htc-hook-test {hook}{options}", to_printf_command(&text));
        session.write_stderr(&format!("  {command}\n"));
        listed.push(serde_json::json!({
            "what": what,
            "calls": failure.calls,
            "first": words,
            "ad": String::from_utf8_lossy(&text),
            "command": command,
        }));
        if let Some(signal) = shrunk.interrupted {
            return interrupted(signal);
        }
    }
    if let Some(baseline_failure) = &search.baseline_failure {
        session.write_stderr(&format!(
            "also found with the unchanged ad, and not counted: {baseline_failure}\n"
        ));
    }
    let kinds = listed.len();
    let all = serde_json::json!({ "calls": times, "seed": seed, "found": listed });
    if let Some(text) = cli.output.render_json(&[all])? {
        stdout().write_all(text.as_bytes())?;
    }
    session.write_stderr(&format!(
        "{} with seed {seed}: {}\n",
        counted(times, "call"),
        counted(kinds, "different failure")
    ));
    let fails = kinds > 0 || search.baseline_failure.is_some();
    Ok(if fails { Status::No } else { Status::Done })
}

/// Prints a failure to standard error, and returns the mutations that first caused it.
fn write_failure(
    what: &str,
    failure: &FuzzFailure,
    times: u32,
    painter: &Painter,
    session: &ProgramContext,
) -> Vec<String> {
    let words: Vec<String> = failure
        .mutations
        .iter()
        .map(|mutation| format!("{} is {}", mutation.name, mutation.description))
        .collect();
    session.write_stderr(&format!("{} ({} of {times}): {what}\n", painter.warn("found"), failure.calls));
    session.write_stderr(&format!("  first seen when {}\n", words.join(", ")));
    words
}

/// Returns the options that are needed in addition to the ad to repeat the call.
fn call_options(case: &Case, setup: &CallSetup, cli: &SharedOptions, call_args: &HookCallArgs) -> String {
    let mut words = CommandLineWords::default();
    if call_args.hook.is_some() {
        words.add(&[&setup.path]);
        case.all_arguments(setup.quirks).iter().for_each(|word| words.add(&[word]));
    }
    words.add_ads(case.hook, &call_args.ads);
    if let Some(file) = &cli.config.config_file {
        words.add(&[b"--config-file", &absolute_path(file)]);
    }
    for (name, value) in &cli.config.param {
        words.add(&[b"--param", format!("{name}={value}").as_bytes()]);
    }
    words.add_call(&call_args.call);
    if let Some(limit) = cli.events.timeout {
        words.add(&[b"--timeout", limit.as_secs_f64().to_string().as_bytes()]);
    }
    if setup.quirks == QuirkMode::Reference {
        words.add(&[b"--quirks", b"reference"]);
    }
    words.0.iter().map(|word| format!(" {}", shell_quoted(word))).collect()
}

/// Arguments of a command line, collected one by one.
#[derive(Default)]
struct CommandLineWords(Vec<Vec<u8>>);

impl CommandLineWords {
    fn add(&mut self, words: &[&[u8]]) {
        self.0.extend(words.iter().map(|word| word.to_vec()));
    }

    /// Adds the options for ads that the test does not change, and the options that change ads.
    fn add_ads(&mut self, hook: HookType, ads: &AdOptions) {
        let subject_is_slot = hook == HookType::FetchWork;
        let subject_is_routed = matches!(hook, HookType::RouterUpdateJobInfo | HookType::JobCleanup);
        if let Some(file) = ads.slot_ads.as_ref().filter(|_| !subject_is_slot) {
            self.add(&[b"--slot-ads", &absolute_path(file)]);
        }
        if let Some(kind) = ads.sample_slot.as_ref().filter(|_| !subject_is_slot) {
            self.add(&[b"--sample-slot", kind.as_bytes()]);
        }
        if let Some(file) = ads.routed_ads.as_ref().filter(|_| !subject_is_routed) {
            self.add(&[b"--routed-ads", &absolute_path(file)]);
        }
        for (option, lines) in [("--set-slot", &ads.set_slot), ("--set-routed", &ads.set_routed)] {
            lines.iter().for_each(|line| self.add(&[option.as_bytes(), line.as_bytes()]));
        }
        // If other ads are named, standard input is read only if the command line names it.
        if !subject_is_slot && (ads.slot_ads.is_some() || ads.sample_slot.is_some()) {
            self.add(&[b"--ads", b"/dev/stdin"]);
        }
    }

    /// Adds the options for the call of the hook.
    fn add_call(&mut self, call: &CallOptions) {
        for (option, value) in [
            ("--keyword", &call.keyword),
            ("--route", &call.route),
            ("--grid-resource", &call.grid_resource),
            ("--protocol", &call.protocol),
            ("--claim-id", &call.claim_id),
            ("--user", &call.user),
        ] {
            value.iter().for_each(|value| self.add(&[option.as_bytes(), value.as_bytes()]));
        }
        if call.slot != "slot1" {
            self.add(&[b"--slot", call.slot.as_bytes()]);
        }
        if let Some(number) = call.slot_type {
            self.add(&[b"--slot-type", number.to_string().as_bytes()]);
        }
        if let Some(number) = call.target_universe {
            self.add(&[b"--target-universe", number.to_string().as_bytes()]);
        }
        call.env.iter().for_each(|pair| self.add(&[b"--env", pair.as_bytes()]));
        call.path_prepend
            .iter()
            .for_each(|directory| self.add(&[b"--path-prepend", &absolute_path(directory)]));
        for (option, given) in [
            ("--shadow", call.shadow),
            ("--edit-in-place", call.edit_in_place),
            ("--before-job", call.before_job),
            ("--ignore-path-check", call.ignore_path_check),
        ] {
            if given {
                self.add(&[option.as_bytes()]);
            }
        }
    }
}

fn absolute_path(path: &Path) -> Vec<u8> {
    std::path::absolute(path).unwrap_or_else(|_| path.to_owned()).into_os_string().into_vec()
}

/// Quotes a word, so that a shell reads it unchanged.
fn shell_quoted(word: &[u8]) -> String {
    let text = String::from_utf8_lossy(word);
    let plain = word.iter().all(|byte| byte.is_ascii_alphanumeric() || b"-_./=:,+".contains(byte));
    if plain && !word.is_empty() { text.into_owned() } else { format!("'{}'", text.replace('\'', "'\\''")) }
}
