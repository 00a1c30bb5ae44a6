//! `htc-hook-test queue`: calls the fetch, reply and exit hooks of a queue from many slots at once, and checks that no
//! job is handed out twice or lost. For each violation, the calls that caused it are shown.

use std::io::Write;

use bstr::BString;
use clap::Args;

use super::call;
use super::options::SharedOptions;
use crate::cli::common::{Painter, Problem, ProgramContext, Status, stdout};
use crate::config::CommandPolicy;
use crate::hook_testing::DEFAULT_TIMEOUT;
use crate::hook_testing::queue_test::{QueueError, QueueTest, QueueTestReport, RoundReport, TestRound};
use crate::os::RealWorld;
use crate::process::Exit;
use crate::text::plural::counted;
use crate::world::World;

/// Options of `queue`.
#[derive(Args, Clone, Debug)]
pub(super) struct QueueArgs {
    /// Fetch with N slots at the same time
    #[arg(long, value_name = "N", default_value_t = 8)]
    pub slots: usize,
    /// Expect M jobs in the queue [default: unknown; only fetched jobs are checked]
    #[arg(long, value_name = "M")]
    pub jobs: Option<usize>,
    /// Run this shell command to fill the queue with $JOBS jobs
    #[arg(long, value_name = "COMMAND")]
    pub fill: Option<String>,
    /// Use the queue itself, not copies of the configuration's directory
    ///
    /// There is only one round then, and exit records are not checked.
    #[arg(long)]
    pub in_place: bool,
    /// Identify a job by this expression [default: detected]
    #[arg(long, value_name = "EXPR")]
    pub id: Option<String>,
    /// Evict P percent of the jobs once before they end
    #[arg(long, value_name = "P", default_value_t = 20)]
    pub evict: u32,
    /// Reject P percent of the jobs once [default: 20; 0 with --in-place]
    #[arg(long, value_name = "P")]
    pub reject: Option<u32>,
    /// Kill P percent of the calls in the last round [default: 5; 0 with --in-place]
    ///
    /// 0 skips the last round. A job that is lost by a killed fetch is not counted as an error.
    #[arg(long, value_name = "P")]
    pub kill: Option<u32>,
    /// Use the hooks of this keyword
    #[arg(long, value_name = "WORD")]
    pub keyword: Option<String>,
}

/// Returns the rounds of the test. The first round calls one hook at a time, to observe the effects of each call. In
/// the second round, many slots fetch at the same time. In the third round, some calls are also killed. With
/// --in-place, there is only one round.
fn test_rounds(args: &QueueArgs) -> Vec<TestRound> {
    let plain = TestRound {
        name: "at once",
        slots: args.slots.max(1),
        kill: 0,
        reject: args.reject.unwrap_or(if args.in_place { 0 } else { 20 }),
        evict: args.evict,
        one_at_a_time: false,
        jobs: args.jobs,
    };
    let kill = args.kill.unwrap_or(if args.in_place { 0 } else { 5 });
    let killed = TestRound { name: "with kills", kill, ..plain };
    if args.in_place {
        return vec![TestRound { name: "in place", ..killed }];
    }
    let alone = TestRound { name: "one at a time", slots: 1, one_at_a_time: true, ..plain };
    let mut rounds = vec![alone, plain];
    rounds.extend((kill > 0).then_some(killed));
    rounds
}

pub(super) fn run(cli: &SharedOptions, args: &QueueArgs, session: &ProgramContext) -> anyhow::Result<Status> {
    let config_file = cli
        .config
        .config_file
        .clone()
        .ok_or_else(|| Problem::usage("queue needs --config-file, which names the hooks"))?;
    let id = match &args.id {
        Some(text) => Some(call::parse_expectation(text, "--id")?.expr),
        None => None,
    };
    let world = RealWorld::new();
    let test = QueueTest {
        config_file,
        load: cli.config.load_options(CommandPolicy::BOUNDED_RUN),
        choice: cli.config.to_config_choice(),
        in_place: args.in_place,
        rounds: test_rounds(args),
        fill: args.fill.clone(),
        id,
        keyword: args.keyword.as_deref().map(BString::from),
        patience: cli.events.timeout.unwrap_or(DEFAULT_TIMEOUT),
        copy_time: cli.events.timeout,
        quirks: cli.quirks.quirks,
        seed: cli.clock.seed.unwrap_or_else(|| world.random()),
        world: &world,
    };
    let proof = test
        .run_rounds(&mut call::program_reactor()?)
        .map_err(|error| queue_problem(error, args.fill.is_some()))?;
    if let Some(text) = cli.output.render_json(&[proof_to_json(&proof, test.seed)])? {
        stdout().write_all(text.as_bytes())?;
    } else {
        print_proof(cli, &proof, test.seed, session);
        if !cli.output.quiet {
            if !args.in_place && !proof.no_exit {
                print_record_places(&proof, session);
            }
            session.write_stderr(match (proof.is_passed(), proof.interrupted) {
                (false, _) => "the queue loses, repeats or misreports jobs\n",
                (true, Some(_)) => "interrupted; so far every job is handed out and recorded once\n",
                (true, None) => "every job is handed out and recorded once\n",
            });
        }
    }
    Ok(match proof.interrupted {
        Some(number) => Status::Relayed(Exit::Signal { number, core_dumped: false }),
        None if proof.is_passed() => Status::Done,
        None => Status::No,
    })
}

/// Returns the error for the user, with a hint.
fn queue_problem(error: QueueError, is_filled: bool) -> anyhow::Error {
    const IN_PLACE_HINT: &str = "--in-place works on the queue itself";
    let hint = match &error {
        QueueError::TooManyFiles { .. } | QueueError::LinkElsewhere { .. } => Some(IN_PLACE_HINT),
        QueueError::HookElsewhere { .. } => Some(
            "put configuration, hooks and queue below one directory; --in-place works on the queue itself",
        ),
        QueueError::OriginalChanged { .. } => Some(
            "let them find the queue from their own location or from $CONDOR_CONFIG; --in-place is for queues \
             that cannot be copied",
        ),
        QueueError::NoJobs if is_filled => Some(
            "the hook printed no job after the command of --fill; 'htc-hook-test fetch' shows what it prints",
        ),
        QueueError::NoJobs => Some("fill the queue first, or use --fill COMMAND"),
        QueueError::CallDirectories(_) | QueueError::System(_) => return error.into(),
        QueueError::CopyTimedOut => return Problem::new(Status::TimedOut, error.to_string()).into(),
        QueueError::Directory { .. }
        | QueueError::FillFailed(_)
        | QueueError::Config(_)
        | QueueError::Policy(_)
        | QueueError::Refused(_)
        | QueueError::NoKeyword
        | QueueError::NoFetch(_) => None,
    };
    let mut problem = Problem::unreadable(error.to_string());
    if let QueueError::Directory { source, .. } = error {
        problem = problem.caused_by(source);
    }
    hint.into_iter().fold(problem, Problem::hint).into()
}

/// Returns the violations of the contract that are already known from the configuration.
fn violations_in_configuration(proof: &QueueTestReport) -> Vec<&'static str> {
    let no_exit = "no JOB_EXIT is configured: no accepted job has an exit record";
    proof.no_exit.then_some(no_exit).into_iter().collect()
}

fn print_proof(cli: &SharedOptions, proof: &QueueTestReport, seed: u64, session: &ProgramContext) {
    let painter = Painter::stderr(cli.output.color);
    const MAX_SHOWN_VIOLATIONS: usize = 5;
    for result in &proof.rounds {
        for violation in result.violations.iter().take(MAX_SHOWN_VIOLATIONS) {
            session.write_stderr(&format!("{}: {violation}\n", painter.bad("violation")));
        }
        let more = result.violations.len().saturating_sub(MAX_SHOWN_VIOLATIONS);
        if more > 0 {
            session.write_stderr(&format!("and {more} more of this kind\n"));
        }
        if cli.output.quiet {
            continue;
        }
        let filed = if result.set_aside > 0 {
            format!(", {} of them set aside", result.set_aside)
        } else {
            String::new()
        };
        let stopped = if result.stopped { "; stopped there" } else { "" };
        session.write_stderr(&format!(
            "{}: {} from {}, seed {seed}: {} handed out, {} done, {} evicted, {} rejected{filed}{stopped}\n",
            result.round.name,
            counted(result.calls, "call"),
            counted(result.round.slots, "slot"),
            counted(result.jobs, "job"),
            result.finished,
            result.evicted,
            result.rejected,
        ));
        if result.killed > 0 {
            session.write_stderr(&format!(
                "killed in the middle: {}, so the state of {} is unknown\n",
                counted(result.killed, "call"),
                counted(result.doubtful, "job")
            ));
        }
    }
    for remark in violations_in_configuration(proof) {
        session.write_stderr(&format!("{}: {remark}\n", painter.bad("violation")));
    }
}

/// Prints the places at which exit records are expected.
fn print_record_places(proof: &QueueTestReport, session: &ProgramContext) {
    let effects = &proof.effects;
    if effects.can_count_records() {
        let places: Vec<String> =
            effects.record_places().iter().map(|place| place.display().to_string()).collect();
        session.write_stderr(&format!("exit records are expected in {}\n", places.join(", ")));
    } else if !effects.changes_queue_here {
        session.write_stderr(
            "the queue is not in the copy, so exit records are recognized only by the status of JOB_EXIT\n",
        );
    }
}

fn proof_to_json(proof: &QueueTestReport, seed: u64) -> serde_json::Value {
    let rounds: Vec<_> = proof
        .rounds
        .iter()
        .map(|result: &RoundReport| {
            serde_json::json!({
                "round": result.round.name,
                "slots": result.round.slots,
                "calls": result.calls,
                "jobs": result.jobs,
                "done": result.finished,
                "evicted": result.evicted,
                "rejected": result.rejected,
                "put_aside": result.set_aside,
                "killed": result.killed,
                "in_doubt": result.doubtful,
                "stopped": result.stopped,
                "violations": result.violations,
            })
        })
        .collect();
    serde_json::json!({
        "holds": proof.is_passed(),
        "interrupted_by": proof.interrupted,
        "seed": seed,
        "violations": violations_in_configuration(proof),
        "rounds": rounds,
    })
}
