//! `htc-hook-test`: one hook, called exactly as its real caller would call it, and what that caller would do with the
//! answer; suites, recordings and random ads for many.

mod ads;
mod call;
mod cron;
mod cron_play;
mod feed;
mod fuzz;
mod init;
mod manual;
mod many;
mod one;
mod options;
mod queue;
mod recorder;
mod replayer;
mod report;
mod screen;
mod setup;
mod suite_report;
mod suites;
mod timing;
mod variables;

use clap::parser::ValueSource;
use clap::{ArgMatches, FromArgMatches, Parser, Subcommand};

use self::options::{One, Shared};
use super::common::{Problem, Program, Session, Status, command};
use crate::hook::HookType;
use crate::hook::cron_job::CronManager;
use crate::hook_testing::known_words;

const NAME: &str = "htc-hook-test";

/// The program.
pub const PROGRAM: Program = Program {
    name: NAME,
    // The types and verbs fill the screen of `--help`; the options that they share stand in `--help-all`.
    command: || {
        command::<Cli>(NAME, &manual::MANUAL).mut_args(|arg| match arg.get_id().as_str() {
            "help" => arg,
            _ => arg.hide_short_help(true),
        })
    },
    manual: &manual::MANUAL,
    run,
    compat: &[],
};

#[derive(Parser, Debug)]
#[command(subcommand_value_name = "TYPE|VERB", subcommand_help_heading = "Types and verbs")]
struct Cli {
    #[command(subcommand)]
    verb: Verb,
    #[command(flatten)]
    shared: Shared,
}

/// A type of hook to call once, or something to do with many calls.
#[derive(Subcommand, Debug)]
enum Verb {
    /// FETCH_WORK: asks for a job
    #[command(aliases = ["fetch-work", "FETCH_WORK", "fetch_work"])]
    Fetch(One),
    /// REPLY_FETCH: is told 'accept' or 'reject'
    #[command(aliases = ["reply-fetch", "REPLY_FETCH", "reply_fetch"])]
    Reply(One),
    /// EVICT_CLAIM: is told that a claim was given up
    #[command(aliases = ["evict-claim", "EVICT_CLAIM", "evict_claim"])]
    Evict(One),
    /// PREPARE_JOB_BEFORE_TRANSFER: before the input transfer
    #[command(aliases = ["PREPARE_JOB_BEFORE_TRANSFER", "prepare-job-before-transfer"])]
    PrepareBeforeTransfer(One),
    /// PREPARE_JOB: before the job is started
    #[command(aliases = ["prepare-job", "PREPARE_JOB", "prepare_job"])]
    Prepare(One),
    /// UPDATE_JOB_INFO of the starter
    #[command(aliases = ["update-job-info", "UPDATE_JOB_INFO", "update_job_info"])]
    Update(One),
    /// JOB_EXIT: is told 'exit', 'evict', 'hold' or 'remove'
    #[command(aliases = ["job-exit", "JOB_EXIT", "job_exit"])]
    Exit(One),
    /// SHADOW_PREPARE_JOB: before the claim is activated
    #[command(aliases = ["shadow-prepare-job", "SHADOW_PREPARE_JOB"])]
    ShadowPrepare(One),
    /// TRANSLATE_JOB of the job router
    #[command(aliases = ["translate-job", "TRANSLATE_JOB", "translate_job"])]
    Translate(One),
    /// UPDATE_JOB_INFO of the job router
    #[command(aliases = ["router-update-job-info"])]
    RouterUpdate(One),
    /// JOB_FINALIZE of the job router
    #[command(aliases = ["job-finalize", "JOB_FINALIZE", "job_finalize"])]
    Finalize(One),
    /// JOB_CLEANUP of the job router
    #[command(aliases = ["job-cleanup", "JOB_CLEANUP", "job_cleanup"])]
    Cleanup(One),
    /// A cron job of the startd, or its whole list
    StartdCron(cron::CronArgs),
    /// A cron job of the schedd, or its whole list
    ScheddCron(cron::CronArgs),
    /// A benchmark of the startd, or its whole list
    Benchmark(cron::CronArgs),
    /// Run suites of cases, cron jobs among them
    Run(suites::RunArgs),
    /// Print a first suite for a hook or cron job
    Init(init::InitArgs),
    /// Stand in for a hook in a live pool and keep its calls
    Record(recorder::RecordArgs),
    /// Judge recorded calls again, or make them again with another hook
    Replay(replayer::ReplayArgs),
    /// Prove that a queue loses no job and hands none out twice
    Queue(queue::QueueArgs),
}

fn run(matches: &ArgMatches, session: &Session) -> anyhow::Result<Status> {
    let Cli { verb, shared } = Cli::from_arg_matches(matches)?;
    let calls_one = matches!(&verb, Verb::Fetch(_) | Verb::Reply(_) | Verb::Evict(_))
        || matches!(&verb, Verb::PrepareBeforeTransfer(_) | Verb::Prepare(_) | Verb::Update(_))
        || matches!(&verb, Verb::Exit(_) | Verb::ShadowPrepare(_) | Verb::Translate(_))
        || matches!(&verb, Verb::RouterUpdate(_) | Verb::Finalize(_) | Verb::Cleanup(_));
    if shared.events.is_asked() && !calls_one {
        let hint = "leave it away, or call one hook, such as 'htc-hook-test prepare HOOK --events FILE'";
        return Err(Problem::usage("--events tells of the calls of one hook").hint(hint).into());
    }
    let of_verb = matches.subcommand().map(|(_, of_verb)| of_verb).filter(|_| calls_one);
    let names_ads =
        of_verb.is_some_and(|of_verb| of_verb.value_source("ads") == Some(ValueSource::CommandLine));
    let one = |hook, one: &One| {
        let one = One { names_ads, ..one.reading(known_words(hook)) };
        one::run(&shared, hook, &one, session)
    };
    match &verb {
        Verb::Fetch(options) => one(HookType::FetchWork, options),
        Verb::Reply(options) => one(HookType::ReplyFetch, options),
        Verb::Evict(options) => one(HookType::EvictClaim, options),
        Verb::PrepareBeforeTransfer(options) => one(HookType::PrepareJobBeforeTransfer, options),
        Verb::Prepare(options) => one(HookType::PrepareJob, options),
        Verb::Update(options) => one(HookType::UpdateJobInfo, options),
        Verb::Exit(options) => one(HookType::JobExit, options),
        Verb::ShadowPrepare(options) => one(HookType::ShadowPrepareJob, options),
        Verb::Translate(options) => one(HookType::TranslateJob, options),
        Verb::RouterUpdate(options) => one(HookType::RouterUpdateJobInfo, options),
        Verb::Finalize(options) => one(HookType::JobFinalize, options),
        Verb::Cleanup(options) => one(HookType::JobCleanup, options),
        Verb::StartdCron(args) => cron::run(&shared, CronManager::Startd, args, session),
        Verb::Benchmark(args) => cron::run(&shared, CronManager::Benchmarks, args, session),
        Verb::ScheddCron(args) => cron::run(&shared, CronManager::Schedd, args, session),
        Verb::Run(args) => suites::run(&shared, args, session),
        Verb::Init(args) => shared.output.is_text("init").and_then(|()| init::init(args)),
        Verb::Record(args) => recorder::run(args, session),
        Verb::Replay(args) => replayer::run(&shared, args, session),
        Verb::Queue(args) => queue::run(&shared, args, session),
    }
}
