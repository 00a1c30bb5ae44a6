//! `htc-hook-test queue`: drives the fetch, reply and exit hooks of a queue from many slots at once, and proves that no job
//! is handed out twice or lost, or shows the sequence that did it.

use std::io::Write;

use bstr::BString;
use clap::Args;

use super::call;
use super::options::Shared;
use crate::cli::common::{Painter, Problem, Session, Status, stdout};
use crate::config::CommandPolicy;
use crate::hook_testing::PATIENCE;
use crate::hook_testing::queue::{Proof, QueueError, QueueTest, Round, RoundReport};
use crate::os::RealWorld;
use crate::process::Exit;
use crate::world::World;

/// Options of `queue`.
#[derive(Args, Clone, Debug)]
pub(super) struct QueueArgs {
    /// How many slots fetch at once
    #[arg(long, value_name = "N", default_value_t = 8)]
    pub slots: usize,
    /// How many jobs the queue holds; without it only what is handed out is looked at
    #[arg(long, value_name = "M")]
    pub jobs: Option<usize>,
    /// A shell command that fills the queue; JOBS is in its environment
    #[arg(long, value_name = "COMMAND")]
    pub fill: Option<String>,
    /// Work on the queue itself, not on copies of the configuration's directory; one round only, in which nothing is
    /// learnt about exit records
    #[arg(long)]
    pub in_place: bool,
    /// What tells one job from another
    #[arg(long, value_name = "EXPR")]
    pub id: Option<String>,
    /// Share of jobs that are evicted once before they end, in percent
    #[arg(long, value_name = "P", default_value_t = 20)]
    pub evict: u32,
    /// Share of jobs that are rejected once, in percent; 20 on a copy, otherwise 0
    #[arg(long, value_name = "P")]
    pub reject: Option<u32>,
    /// Share of calls that are killed in the middle of the last round, in percent; 0 leaves that round out; 5 on a copy,
    /// otherwise 0, since a killed fetch excuses a lost job
    #[arg(long, value_name = "P")]
    pub kill: Option<u32>,
    /// Use the hooks of this keyword
    #[arg(long, value_name = "WORD")]
    pub keyword: Option<String>,
}

/// The rounds: hooks one at a time, so that it is seen what each does; many slots at once, where nothing excuses a lost job;
/// and once more with calls that are killed. On the queue itself there is only one.
fn rounds(args: &QueueArgs) -> Vec<Round> {
    let plain = Round {
        name: "at once",
        slots: args.slots.max(1),
        kill: 0,
        reject: args.reject.unwrap_or(if args.in_place { 0 } else { 20 }),
        evict: args.evict,
        alone: false,
        jobs: args.jobs,
    };
    let kill = args.kill.unwrap_or(if args.in_place { 0 } else { 5 });
    let killed = Round { name: "with kills", kill, ..plain };
    if args.in_place {
        return vec![Round { name: "in place", ..killed }];
    }
    let alone = Round { name: "one at a time", slots: 1, alone: true, ..plain };
    let mut rounds = vec![alone, plain];
    rounds.extend((kill > 0).then_some(killed));
    rounds
}

pub(super) fn run(cli: &Shared, args: &QueueArgs, session: &Session) -> anyhow::Result<Status> {
    let config_file = cli
        .config
        .config_file
        .clone()
        .ok_or_else(|| Problem::usage("queue needs --config-file, which names the hooks"))?;
    let id = match &args.id {
        Some(text) => Some(call::expectation(text, "--id")?.expr),
        None => None,
    };
    let world = RealWorld::new();
    let test = QueueTest {
        config_file,
        load: cli.config.load_options(CommandPolicy::BOUNDED),
        choice: cli.config.choice(),
        in_place: args.in_place,
        rounds: rounds(args),
        fill: args.fill.clone(),
        id,
        keyword: args.keyword.as_deref().map(BString::from),
        patience: cli.events.timeout.unwrap_or(PATIENCE),
        quirks: cli.quirks.quirks,
        seed: cli.clock.seed.unwrap_or_else(|| world.random()),
        world: &world,
    };
    let proof = test.prove(&mut call::reactor()?).map_err(problem)?;
    if let Some(text) = cli.output.rows(&[json(&proof, test.seed)])? {
        stdout().write_all(text.as_bytes())?;
    } else {
        tell(cli, &proof, test.seed, session);
        if !cli.output.quiet {
            if !args.in_place && !proof.no_exit {
                tell_records(&proof, session);
            }
            session.tell(match (proof.holds(), proof.interrupted) {
                (false, _) => "the queue's contract is broken\n",
                (true, Some(_)) => "interrupted: so far the queue's contract holds\n",
                (true, None) => "the queue's contract holds\n",
            });
        }
    }
    Ok(match proof.interrupted {
        Some(number) => Status::Relayed(Exit::Signal { number, core_dumped: false }),
        None if proof.holds() => Status::Done,
        None => Status::No,
    })
}

/// What went wrong, with what to do about it.
fn problem(error: QueueError) -> anyhow::Error {
    const IN_PLACE: &str = "--in-place works on the queue itself";
    let hint = match &error {
        QueueError::TooManyFiles { .. } | QueueError::LinkElsewhere { .. } => Some(IN_PLACE),
        QueueError::HookElsewhere { .. } => Some(
            "put configuration, hooks and queue below one directory; --in-place works on the queue itself",
        ),
        QueueError::Astray { .. } => Some(
            "let them find the queue from their own place or from $CONDOR_CONFIG; --in-place is for queues \
             that cannot be copied",
        ),
        QueueError::Empty => Some("fill it before, or with --fill COMMAND"),
        QueueError::Place(_) | QueueError::System(_) => return error.into(),
        QueueError::Directory { .. }
        | QueueError::Fill(_)
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

/// What breaks the contract without any call.
fn remarks(proof: &Proof) -> Vec<&'static str> {
    let no_exit = "no JOB_EXIT is configured: no accepted job has an exit record";
    proof.no_exit.then_some(no_exit).into_iter().collect()
}

fn tell(cli: &Shared, proof: &Proof, seed: u64, session: &Session) {
    let painter = Painter::stderr(cli.output.color);
    const SHOWN: usize = 5;
    for told in &proof.rounds {
        for violation in told.violations.iter().take(SHOWN) {
            session.tell(&format!("{}: {violation}\n", painter.bad("broken")));
        }
        let more = told.violations.len().saturating_sub(SHOWN);
        if more > 0 {
            session.tell(&format!("and {more} more of this kind\n"));
        }
        if cli.output.quiet {
            continue;
        }
        let slots = if told.round.slots == 1 { "slot" } else { "slots" };
        let filed =
            if told.filed > 0 { format!(", {} of them put aside", told.filed) } else { String::new() };
        let stopped = if told.stopped { "; stopped there" } else { "" };
        session.tell(&format!(
            "{}: {} calls from {} {slots}, seed {seed}: {} jobs handed out, {} done, {} evicted, {} rejected{filed}{stopped}\n",
            told.round.name, told.calls, told.round.slots, told.jobs, told.done, told.evicted, told.rejected,
        ));
        if told.killed > 0 {
            session.tell(&format!(
                "{} calls were killed in the middle, which leaves {} jobs in doubt\n",
                told.killed, told.doubtful
            ));
        }
    }
    for remark in remarks(proof) {
        session.tell(&format!("{}: {remark}\n", painter.bad("broken")));
    }
}

/// How exit records were counted.
fn tell_records(proof: &Proof, session: &Session) {
    let effects = &proof.effects;
    if effects.can_count() {
        let places: Vec<String> = effects.records().iter().map(|place| place.display().to_string()).collect();
        session.tell(&format!("exit records were looked for in {}\n", places.join(", ")));
    } else if !effects.here {
        session.tell("the queue is not in the copy: exit records are told by the status of JOB_EXIT only\n");
    }
}

fn json(proof: &Proof, seed: u64) -> serde_json::Value {
    let rounds: Vec<_> = proof
        .rounds
        .iter()
        .map(|told: &RoundReport| {
            serde_json::json!({
                "round": told.round.name,
                "slots": told.round.slots,
                "calls": told.calls,
                "jobs": told.jobs,
                "done": told.done,
                "evicted": told.evicted,
                "rejected": told.rejected,
                "put_aside": told.filed,
                "killed": told.killed,
                "in_doubt": told.doubtful,
                "stopped": told.stopped,
                "violations": told.violations,
            })
        })
        .collect();
    serde_json::json!({
        "holds": proof.holds(),
        "interrupted_by": proof.interrupted,
        "seed": seed,
        "violations": remarks(proof),
        "rounds": rounds,
    })
}
