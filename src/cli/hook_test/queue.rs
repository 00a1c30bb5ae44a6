//! `htc-hook-test queue`: drives the fetch, reply and exit hooks of a queue from many slots at once, and proves that no job
//! is handed out twice or lost, or shows the sequence that did it.

use std::cell::RefCell;
use std::io::Write;
use std::rc::Rc;

use bstr::BString;
use clap::Args;

use super::options::Shared;
use super::queue_drive::{Drive, Hooks, Known, Round, Step, Tag};
use super::queue_ground::Ground;
use super::queue_habits::Habits;
use super::{one, setup};
use crate::classad::ClassAd;
use crate::cli::common::{Painter, Problem, Session, Status};
use crate::config::{CommandPolicy, Config, Who};
use crate::hook::{HookType, input, keyword, path_check};
use crate::os::{RealWorld, identity};
use crate::process::Exit;
use crate::quirks::Quirks;
use crate::runner::hook_call::HookCall;
use crate::runner::hook_environment::{ConfigChoice, HookEnvironment};
use crate::runner::hook_test::pool::{Job, run_many};
use crate::runner::hook_test::{Around, Case, Place, samples};
use crate::slot::policy_of;
use crate::starter::Settings;
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
        Some(text) => Some(one::expectation(text, "--id")?.1),
        None => None,
    };
    let world = Rc::new(RealWorld::new());
    let seed = cli.clock.seed.unwrap_or_else(|| world.random());
    let mut habits = Habits::default();
    let mut told: Vec<Told> = Vec::new();
    let mut interrupted = None;
    let mut no_exit = false;
    for round in rounds(args) {
        let ground = match args.in_place {
            true => Ground::in_place(&config_file)?,
            false => Ground::copy_of(&config_file)?,
        };
        fill(args, &ground)?;
        let hooks = hooks(cli, args, &ground, &world)?;
        no_exit = hooks.exit.is_none();
        let mut drive = Drive::new(round, &hooks, &ground, &mut habits, id.as_ref(), &world, seed);
        interrupted = play(cli, &mut drive)?;
        if interrupted.is_none() {
            drive.close();
        }
        if let Some(path) = &drive.astray {
            let message = format!(
                "the hooks do not work on the copy: FETCH_WORK has changed '{}' itself; nothing more is called",
                path.display()
            );
            let hint = "let them find the queue from their own place or from $CONDOR_CONFIG; --in-place is for queues \
                        that cannot be copied";
            return Err(Problem::unreadable(message).hint(hint).into());
        }
        let empty = drive.known.is_empty();
        told.push(Told::of(&drive));
        if empty && interrupted.is_none() && told.iter().all(|told| told.violations.is_empty()) {
            return Err(Problem::unreadable("the queue handed out no job at all")
                .hint("fill it before, or with --fill COMMAND")
                .into());
        }
        // Hooks that give no job at all give none to many slots either.
        if empty || interrupted.is_some() {
            break;
        }
    }
    let mut broken = told.iter().any(|told| !told.violations.is_empty());
    let mut remarks = Vec::new();
    if no_exit {
        broken = true;
        remarks.push("no JOB_EXIT is configured: no accepted job has an exit record".to_owned());
    }
    if let Some(text) = cli.output.rows(&[json(&told, &remarks, broken, interrupted, seed)])? {
        std::io::stdout().write_all(text.as_bytes())?;
    } else {
        tell(cli, &told, &remarks, seed, session);
        if !cli.output.quiet {
            remark(&habits, args, no_exit, session);
            session.tell(match (broken, interrupted) {
                (true, _) => "the queue's contract is broken\n",
                (false, Some(_)) => "interrupted: so far the queue's contract holds\n",
                (false, None) => "the queue's contract holds\n",
            });
        }
    }
    Ok(match interrupted {
        Some(number) => Status::Relayed(Exit::Signal { number, core_dumped: false }),
        None if broken => Status::No,
        None => Status::Done,
    })
}

fn fill(args: &QueueArgs, ground: &Ground) -> anyhow::Result<()> {
    let Some(command) = &args.fill else { return Ok(()) };
    let status = std::process::Command::new("/bin/sh")
        .args(["-c", command])
        .env("JOBS", args.jobs.unwrap_or(0).to_string())
        .current_dir(ground.directory())
        .status()?;
    if !status.success() {
        return Err(Problem::unreadable(format!("--fill ended with {status}")).into());
    }
    Ok(())
}

/// Drives one round until nothing is left to do; the signal that interrupted it, if one did.
fn play(cli: &Shared, drive: &mut Drive<'_>) -> anyhow::Result<Option<i32>> {
    let (hooks, world, round) = (drive.hooks, drive.world, drive.round);
    let choice = ConfigChoice { file: Some(drive.ground.config_file.clone()), ..cli.config.choice() };
    let daemon = setup::caller_environment(world, &choice, cli.quirks.quirks);
    let log = tempfile::Builder::new().prefix("htc-hook-log.").tempdir()?;
    let slots: Vec<ClassAd> = (0..round.slots)
        .map(|number| {
            let mut slot = samples::slot("static").unwrap_or_default();
            slot.set("Name", format!("slot{}@node1.example.org", number + 1));
            slot.set("SlotID", number as i64 + 1);
            for (name, knob) in [("Start", "START"), ("Rank", "Rank")] {
                if let Some(value) = hooks.policy.get(knob) {
                    slot.insert(name, value);
                }
            }
            slot
        })
        .collect();
    let patience = cli.events.timeout.unwrap_or(setup::PATIENCE);
    let mut reactor = one::reactor()?;
    let drive = RefCell::new(drive);
    // A place that cannot be made ends the round with its error.
    let failure = RefCell::new(None);
    let interrupted = run_many(
        &mut reactor,
        round.slots,
        &mut || {
            let mut drive = drive.borrow_mut();
            let (slot, step) = drive.ready.pop_front()?;
            drive.calls += 1;
            match &step {
                // From here on the queue may hand it out again, long before the hook has ended.
                Step::Reply { id, accept: false, .. } => drive.release(id),
                Step::Exit { id, word, .. } if *word != "exit" => drive.release(id),
                _ => {}
            }
            let claim = format!("<192.0.2.1:9618>#1#{slot}#0");
            let mut environment = daemon.clone();
            let mut place = None;
            let (hook, path, words, stdin): (_, _, Vec<BString>, _) = match &step {
                Step::Fetch => (HookType::FetchWork, hooks.fetch.clone(), vec![], input::fetch(&slots[slot])),
                Step::Reply { job, accept, .. } => {
                    let word = if *accept { "accept" } else { "reject" };
                    let stdin =
                        startd_input(HookType::ReplyFetch, word, job, &slots[slot], &claim, hooks, world);
                    (HookType::ReplyFetch, hooks.reply.clone()?, vec![word.into()], stdin)
                }
                Step::Exit { job, word, .. } => {
                    let mut case = Case::new(HookType::JobExit);
                    (case.job, case.slot) = ((**job).clone(), slots[slot].clone());
                    (case.keyword, case.claim_id) = (hooks.keyword.clone(), claim.as_str().into());
                    case.word = (*word).into();
                    let stdin = match starter_place(&case, &mut environment, &hooks.settings, world) {
                        Ok(made) => place.insert(made).case().input(Quirks::None),
                        Err(error) => {
                            failure.replace(Some(error));
                            return None;
                        }
                    };
                    (HookType::JobExit, hooks.exit.clone()?, vec![(*word).into()], stdin)
                }
                Step::Evict { job } => {
                    let stdin =
                        startd_input(HookType::EvictClaim, "", job, &slots[slot], &claim, hooks, world);
                    (HookType::EvictClaim, hooks.evict.clone()?, vec![], stdin)
                }
            };
            let doom = drive.doom();
            let mut call = HookCall::new(hook, path, stdin, environment);
            call.arguments = words;
            let directory = place.as_ref().map_or(log.path(), |place: &Place| place.directory.as_path());
            call.directory = Some(directory.to_owned());
            call.ancestor = Some(HookCall::marker(world.now(), world.random()));
            let spec = call.child_spec().ok()?;
            let tag = Tag { slot, step, doomed: doom.is_some(), place };
            Some(Job { tag, spec, patience: doom.unwrap_or(patience) })
        },
        &mut |tag, outcome| drive.borrow_mut().done(tag, &outcome),
    )?;
    match failure.into_inner() {
        Some(error) => Err(anyhow::Error::from(error).context("making a place for the hook")),
        None => Ok(interrupted),
    }
}

/// What REPLY_FETCH and EVICT_CLAIM read: the job as the startd has completed it, and the slot with its policy.
fn startd_input(
    hook: HookType,
    word: &str,
    job: &ClassAd,
    slot: &ClassAd,
    claim: &str,
    hooks: &Hooks,
    world: &RealWorld,
) -> Vec<u8> {
    let mut case = Case::new(hook);
    (case.job, case.slot, case.policy) = (job.clone(), slot.clone(), hooks.policy.clone());
    (case.keyword, case.claim_id, case.word) = (hooks.keyword.clone(), claim.into(), word.into());
    let around = Around { settings: &hooks.settings, world, quirks: Quirks::None };
    case.completed(None, &around).input(Quirks::None)
}

/// What a hook of the starter finds: the scratch directory of its job, with the ads and the variables that name them.
fn starter_place(
    case: &Case,
    environment: &mut HookEnvironment,
    settings: &Settings,
    world: &RealWorld,
) -> std::io::Result<Place> {
    let around = Around { settings, world, quirks: Quirks::None };
    let place = Place::make(case, None, &around)?;
    let account = identity::by_uid(identity::effective_uid());
    let daemon = std::mem::take(environment);
    *environment = place.environment(daemon, account.as_ref(), &around);
    Ok(place)
}

fn hooks(cli: &Shared, args: &QueueArgs, ground: &Ground, world: &RealWorld) -> anyhow::Result<Hooks> {
    let load = |subsystem: &str| {
        let who = Who { subsystem: subsystem.into(), local_name: "".into() };
        let mut options = cli.config.load_options(CommandPolicy::BOUNDED);
        options.file = Some(ground.config_file.clone());
        Config::load(world, &who, &options)
            .map(|(config, _)| config)
            .map_err(|error| Problem::unreadable(error.to_string()))
    };
    let (startd, starter) = (load("STARTD")?, load("STARTER")?);
    let policy = policy_of(startd.for_slot(None, "slot1", world), startd.view(world), cli.quirks.quirks)
        .map_err(|error| Problem::unreadable(error.to_string()))?;
    let startd = startd.for_slot(None, "slot1", world);
    let starter = starter.for_slot(None, "slot1", world);
    let keyword = match &args.keyword {
        Some(keyword) => BString::from(keyword.as_str()),
        None => keyword::startd("slot1", None, &startd, cli.quirks.quirks)
            .keyword
            .ok_or_else(|| Problem::unreadable("STARTD_JOB_HOOK_KEYWORD is not set"))?,
    };
    let find = |hook: HookType| -> anyhow::Result<Option<BString>> {
        let view = if hook == HookType::JobExit { &starter } else { &startd };
        let path = path_check::configured(world, view, &keyword, hook)
            .map_err(|error| Problem::unreadable(error.to_string()))?;
        path.map(|path| ground.hook(&hook.knob(&keyword).to_string(), path)).transpose()
    };
    let fetch = find(HookType::FetchWork)?
        .ok_or_else(|| Problem::unreadable(format!("{keyword}_HOOK_FETCH_WORK is not set")))?;
    let (reply, exit) = (find(HookType::ReplyFetch)?, find(HookType::JobExit)?);
    let evict = find(HookType::EvictClaim)?;
    let slot = samples::slot("static").unwrap_or_default();
    let settings = Settings::read(&starter, Some(&slot), world).unwrap_or_default();
    Ok(Hooks { keyword, settings, policy, fetch, reply, exit, evict })
}

/// What a round has shown.
struct Told {
    round: Round,
    calls: u32,
    jobs: usize,
    done: usize,
    evicted: usize,
    rejected: usize,
    filed: usize,
    killed: u32,
    doubtful: usize,
    stopped: bool,
    violations: Vec<String>,
}

impl Told {
    fn of(drive: &Drive<'_>) -> Self {
        let count = |which: fn(&Known) -> bool| drive.known.values().filter(|known| which(known)).count();
        Told {
            round: drive.round,
            calls: drive.calls,
            jobs: drive.known.len(),
            done: count(|known| known.finished),
            evicted: count(|known| known.evicted),
            rejected: count(|known| known.rejected),
            filed: count(|known| known.filed),
            killed: drive.killed,
            doubtful: drive.lost_fetches + count(|known| known.in_doubt),
            stopped: drive.stopped && !drive.round.alone,
            violations: drive.violations.clone(),
        }
    }
}

fn tell(cli: &Shared, told: &[Told], remarks: &[String], seed: u64, session: &Session) {
    let painter = Painter::stderr(cli.output.color);
    const SHOWN: usize = 5;
    for told in told {
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
    for remark in remarks {
        session.tell(&format!("{}: {remark}\n", painter.bad("broken")));
    }
}

/// How exit records were counted.
fn remark(habits: &Habits, args: &QueueArgs, no_exit: bool, session: &Session) {
    if args.in_place || no_exit {
        return;
    }
    if habits.can_count() {
        let places: Vec<String> = habits.records().iter().map(|place| place.display().to_string()).collect();
        session.tell(&format!("exit records were looked for in {}\n", places.join(", ")));
    } else if !habits.here {
        session.tell("the queue is not in the copy: exit records are told by the status of JOB_EXIT only\n");
    }
}

fn json(
    told: &[Told],
    remarks: &[String],
    broken: bool,
    interrupted: Option<i32>,
    seed: u64,
) -> serde_json::Value {
    let rounds: Vec<_> = told
        .iter()
        .map(|told| {
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
        "holds": !broken,
        "interrupted_by": interrupted,
        "seed": seed,
        "violations": remarks,
        "rounds": rounds,
    })
}
