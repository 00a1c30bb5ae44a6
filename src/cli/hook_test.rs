//! `htc-hook-test`: calls one hook exactly as its real caller does, and shows what that caller would do with its
//! output. It also runs suites of test cases, repeats recorded calls, and calls hooks with random ads.

mod ad_channel;
mod call;
mod case_ads;
mod cron;
mod cron_reporter;
mod env_variables;
mod fuzz;
mod init;
mod manual;
mod many_calls;
mod options;
mod queue;
mod recorder;
mod replayer;
mod report;
mod screen_report;
mod setup;
mod single_call;
mod suite_report;
mod suites;
mod timing;
mod verb_manuals;

use clap::parser::ValueSource;
use clap::{Arg, ArgMatches, FromArgMatches, Parser, Subcommand};

use self::options::{HookCallArgs, SharedOptions};
use super::common::{
    OptionGroup, Program, ProgramContext, Status, UnusedOptions, exit_at_deadline, hide_unused_options,
    program_command,
};
use crate::hook::HookType;
use crate::hook::cron_job::CronManager;
use crate::hook_testing::known_argument_words;

const NAME: &str = "htc-hook-test";

/// Definition of the program.
pub const PROGRAM: Program = Program {
    name: NAME,
    command: || {
        let command = program_command::<HookTestCli>(NAME, &manual::MANUAL)
            .mut_arg("timeout", |arg| arg.help_heading(OptionGroup::Own).hide_short_help(false))
            .mut_arg("config_file", |arg| arg.help_heading(OptionGroup::Input));
        let hide =
            |word: Arg| word.help("Arguments for the hook (HTCondor passes none)").hide_short_help(true);
        let command = command.mut_subcommands(|verb| match TYPES_WITHOUT_WORDS.contains(&verb.get_name()) {
            true => verb.mut_arg("words", hide),
            false => verb,
        });
        hide_unused_options(command, UNUSED_OPTIONS)
    },
    manual: &manual::MANUAL,
    unused_options: UNUSED_OPTIONS,
    run,
    compat: &[],
};

/// Options that have no effect in some verbs. `--timeout` has no effect in `record`, because the hook's caller expects
/// `record` to run until the hook ends.
const UNUSED_OPTIONS: &[UnusedOptions] = &[
    UnusedOptions { verbs: &["startd-cron", "schedd-cron", "benchmark"], options: &["events"] },
    UnusedOptions { verbs: &["run", "replay"], options: &["long", "events", "now", "seed"] },
    UnusedOptions { verbs: &["queue"], options: &["long", "events", "now"] },
    UnusedOptions {
        verbs: &["init", "record"],
        options: &[
            "config-file",
            "param",
            "no-env",
            "long",
            "json",
            "jsonl",
            "events",
            "now",
            "seed",
            "quirks",
        ],
    },
    UnusedOptions { verbs: &["record"], options: &["timeout"] },
];

/// Names of the verbs whose hooks get no arguments.
const TYPES_WITHOUT_WORDS: [&str; 10] = [
    "fetch",
    "evict",
    "prepare-before-transfer",
    "prepare",
    "update",
    "shadow-prepare",
    "translate",
    "router-update",
    "finalize",
    "cleanup",
];

#[derive(Parser, Debug)]
#[command(subcommand_value_name = "TYPE|VERB", subcommand_help_heading = "Types and verbs")]
struct HookTestCli {
    #[command(subcommand)]
    verb: HookTestVerb,
    #[command(flatten)]
    shared: SharedOptions,
}

/// Type of the hook to call, or a verb.
#[derive(Subcommand, Debug)]
enum HookTestVerb {
    /// FETCH_WORK: prints a job for a slot
    #[command(aliases = ["fetch-work", "FETCH_WORK", "fetch_work"])]
    Fetch(HookCallArgs),
    /// REPLY_FETCH: called with 'accept' or 'reject' for a fetched job
    #[command(aliases = ["reply-fetch", "REPLY_FETCH", "reply_fetch"])]
    Reply(HookCallArgs),
    /// EVICT_CLAIM: called when a claim is released
    #[command(aliases = ["evict-claim", "EVICT_CLAIM", "evict_claim"])]
    Evict(HookCallArgs),
    /// PREPARE_JOB_BEFORE_TRANSFER: called before the input transfer
    ///
    /// It is called only for jobs of a schedd, so the job is treated as one (--shadow).
    #[command(aliases = ["PREPARE_JOB_BEFORE_TRANSFER", "prepare-job-before-transfer"])]
    PrepareBeforeTransfer(HookCallArgs),
    /// PREPARE_JOB: called before the job starts
    #[command(aliases = ["prepare-job", "PREPARE_JOB", "prepare_job"])]
    Prepare(HookCallArgs),
    /// UPDATE_JOB_INFO of the starter: called while the job runs
    #[command(aliases = ["update-job-info", "UPDATE_JOB_INFO", "update_job_info"])]
    Update(HookCallArgs),
    /// JOB_EXIT: called with 'exit', 'evict', 'hold' or 'remove'
    #[command(aliases = ["job-exit", "JOB_EXIT", "job_exit"])]
    Exit(HookCallArgs),
    /// SHADOW_PREPARE_JOB: called before the claim is activated
    #[command(aliases = ["shadow-prepare-job", "SHADOW_PREPARE_JOB"])]
    ShadowPrepare(HookCallArgs),
    /// TRANSLATE_JOB of the job router: translates a job for a route
    #[command(aliases = ["translate-job", "TRANSLATE_JOB", "translate_job"])]
    Translate(HookCallArgs),
    /// UPDATE_JOB_INFO of the job router: updates a routed job
    #[command(aliases = ["router-update-job-info"])]
    RouterUpdate(HookCallArgs),
    /// JOB_FINALIZE of the job router: called when the routed job ends
    #[command(aliases = ["job-finalize", "JOB_FINALIZE", "job_finalize"])]
    Finalize(HookCallArgs),
    /// JOB_CLEANUP of the job router: called when the routed job is removed
    #[command(aliases = ["job-cleanup", "JOB_CLEANUP", "job_cleanup"])]
    Cleanup(HookCallArgs),
    /// Run a cron job of the startd, or all of them
    StartdCron(cron::CronArgs),
    /// Run a cron job of the schedd, or all of them
    ScheddCron(cron::CronArgs),
    /// Run a benchmark of the startd, or all of them
    Benchmark(cron::CronArgs),
    /// Run suites: files with test cases for hooks and cron jobs
    Run(suites::RunSuitesArgs),
    /// Print a first suite for a hook or cron job
    Init(init::InitArgs),
    /// Run a hook in a live pool and record its calls
    Record(recorder::RecordArgs),
    /// Judge recorded calls, or repeat them with another hook
    Replay(replayer::ReplayArgs),
    /// Check that a queue of jobs loses none and runs none twice
    Queue(queue::QueueArgs),
}

fn run(matches: &ArgMatches, session: &ProgramContext) -> anyhow::Result<Status> {
    let HookTestCli { verb, shared } = HookTestCli::from_arg_matches(matches)?;
    let calls_one_hook =
        matches!(&verb, HookTestVerb::Fetch(_) | HookTestVerb::Reply(_) | HookTestVerb::Evict(_))
            || matches!(
                &verb,
                HookTestVerb::PrepareBeforeTransfer(_) | HookTestVerb::Prepare(_) | HookTestVerb::Update(_)
            )
            || matches!(
                &verb,
                HookTestVerb::Exit(_) | HookTestVerb::ShadowPrepare(_) | HookTestVerb::Translate(_)
            )
            || matches!(
                &verb,
                HookTestVerb::RouterUpdate(_) | HookTestVerb::Finalize(_) | HookTestVerb::Cleanup(_)
            );
    let verb_matches = matches.subcommand().map(|(_, verb_matches)| verb_matches).filter(|_| calls_one_hook);
    let names_ads = verb_matches
        .is_some_and(|verb_matches| verb_matches.value_source("ads") == Some(ValueSource::CommandLine));
    let call_once = |hook, call_args: &HookCallArgs| {
        let call_args = HookCallArgs { names_ads, ..call_args.with_path_as_word(known_argument_words(hook)) };
        single_call::run(&shared, hook, &call_args, session)
    };
    match &verb {
        HookTestVerb::Fetch(options) => call_once(HookType::FetchWork, options),
        HookTestVerb::Reply(options) => call_once(HookType::ReplyFetch, options),
        HookTestVerb::Evict(options) => call_once(HookType::EvictClaim, options),
        HookTestVerb::PrepareBeforeTransfer(options) => {
            call_once(HookType::PrepareJobBeforeTransfer, options)
        }
        HookTestVerb::Prepare(options) => call_once(HookType::PrepareJob, options),
        HookTestVerb::Update(options) => call_once(HookType::UpdateJobInfo, options),
        HookTestVerb::Exit(options) => call_once(HookType::JobExit, options),
        HookTestVerb::ShadowPrepare(options) => call_once(HookType::ShadowPrepareJob, options),
        HookTestVerb::Translate(options) => call_once(HookType::TranslateJob, options),
        HookTestVerb::RouterUpdate(options) => call_once(HookType::RouterUpdateJobInfo, options),
        HookTestVerb::Finalize(options) => call_once(HookType::JobFinalize, options),
        HookTestVerb::Cleanup(options) => call_once(HookType::JobCleanup, options),
        HookTestVerb::StartdCron(args) => cron::run(&shared, CronManager::Startd, args, session),
        HookTestVerb::Benchmark(args) => cron::run(&shared, CronManager::Benchmarks, args, session),
        HookTestVerb::ScheddCron(args) => cron::run(&shared, CronManager::Schedd, args, session),
        HookTestVerb::Run(args) => suites::run(&shared, args, session),
        HookTestVerb::Init(args) => {
            exit_at_deadline(shared.events.end(), session, "the time limit (--timeout) expired");
            init::print_first_suite(args)
        }
        HookTestVerb::Record(args) => recorder::run(args, session),
        HookTestVerb::Replay(args) => replayer::run(&shared, args, session),
        HookTestVerb::Queue(args) => queue::run(&shared, args, session),
    }
}
