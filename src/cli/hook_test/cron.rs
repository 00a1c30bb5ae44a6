//! `htc-hook-test startd-cron` and `schedd-cron`: one cron job, or the whole list that a configuration names, and what
//! becomes of the slots' ads.

use std::collections::BTreeMap;
use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::time::Duration;

use bstr::{BString, ByteSlice};
use clap::Args;

use super::{Cli, ads, one, report, setup};
use crate::classad::{ClassAd, Context};
use crate::cli::common::{Painter, Problem, Session, Status};
use crate::config::{CommandPolicy, Config, Who};
use crate::hook::Knobs;
use crate::hook::cron_job::{CronJob, CronManager, CronMode};
use crate::hook::cron_output::{Block, CronOutput};
use crate::os::{RealWorld, identity};
use crate::process::{ChildSpec, Exit, LeftBehind, Session as ProcessSession, Stdio};
use crate::quirks::{Quirk, Quirks};
use crate::runner::hook_test::pool::{Job, run_many};
use crate::runner::hook_test::{Ending, Outcome, caller_environment, samples};
use crate::slot::{merge, merges_into};
use crate::world::World;

/// How much of a run's output is read, in bytes.
const MOST_OUTPUT: usize = 4 << 20;

/// Options of a cron job.
#[derive(Args, Clone, Debug)]
pub(super) struct CronArgs {
    /// The program; without it the jobs that the configuration lists
    #[arg(value_name = "PROGRAM")]
    pub program: Option<PathBuf>,
    /// Its arguments
    #[arg(value_name = "WORD")]
    pub words: Vec<String>,
    /// Only this job of the list, or the name of the job
    #[arg(long, value_name = "NAME")]
    pub name: Option<String>,
    /// PREFIX of the job
    #[arg(long, value_name = "TEXT", default_value = "", hide_default_value = true)]
    pub prefix: String,
    /// SLOTS of the job, such as 1,2
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub slots: Vec<i64>,
    /// Run each job N times
    #[arg(long, value_name = "N", default_value_t = 1, hide_default_value = true)]
    pub runs: u32,
    /// The ads of the slots
    #[arg(long, value_name = "FILE", help_heading = "Input")]
    pub slot_ads: Option<PathBuf>,
    /// Must be true of each slot's ad afterwards; may be repeated
    #[arg(long, value_name = "EXPR")]
    pub expect: Vec<String>,
}

/// The jobs, and the load they may make together.
struct List {
    jobs: Vec<CronJob>,
    max_load: f64,
    skipped: bool,
}

pub(super) fn run(
    cli: &Cli,
    manager: CronManager,
    args: &CronArgs,
    session: &Session,
) -> anyhow::Result<Status> {
    let world = RealWorld::new();
    let quirks = cli.quirks.quirks;
    let expectations: Vec<one::Expectation> =
        args.expect.iter().map(|text| one::expectation(text, "--expect")).collect::<anyhow::Result<_>>()?;
    let mut slots = match &args.slot_ads {
        Some(path) => ads::read(path, false, usize::MAX, session)?,
        None => vec![samples::slot("static").unwrap_or_default()],
    };
    let before = slots.clone();
    let list = list(cli, manager, args, &world, session)?;
    let mut bad = list.skipped;
    let painter = Painter::stderr(cli.output.color);
    let mut outputs: BTreeMap<BString, CronOutput> =
        list.jobs.iter().map(|job| (job.name.clone(), CronOutput::new(&job.prefix, quirks))).collect();
    // Ads in the order in which they were first published; a later block of the same name replaces the earlier one.
    let mut named: Vec<(BString, Vec<i64>, ClassAd)> = Vec::new();
    for round in 0..args.runs.max(1) {
        let due = |job: &&CronJob| match job.mode {
            CronMode::OneShot => round == 0,
            CronMode::OnDemand => false,
            _ => true,
        };
        let mut waiting: Vec<&CronJob> = list.jobs.iter().filter(due).collect();
        for job in list.jobs.iter().filter(|job| job.mode == CronMode::OnDemand && round == 0) {
            session.tell(&format!("{}: OnDemand: nothing ever starts it\n", job.name));
        }
        waiting.retain(|job| condition_holds(job, manager, &slots, &world, session));
        while !waiting.is_empty() {
            // Those that fit into the load together start together.
            let mut load = 0.0;
            let mut together: Vec<&CronJob> = Vec::new();
            waiting.retain(|job| {
                let fits = load + job.load <= list.max_load + 1e-9;
                if fits {
                    load += job.load;
                    together.push(job);
                }
                !fits
            });
            if together.is_empty() {
                for job in waiting.drain(..) {
                    bad = true;
                    session.tell(&format!(
                        "{}: JOB_LOAD {} is above MAX_JOB_LOAD {}: it never starts\n",
                        job.name, job.load, list.max_load
                    ));
                }
                break;
            }
            if !waiting.is_empty() && !cli.output.quiet {
                let names: Vec<String> = waiting.iter().map(|job| job.name.to_string()).collect();
                session.tell(&format!("waiting for load: {}\n", names.join(", ")));
            }
            let Some(done) = start(cli, manager, &together, &world)? else {
                return Ok(Status::Relayed(Exit::Signal { number: 2, core_dumped: false }));
            };
            for (at, outcome) in done {
                let job = together[at];
                let Some(output) = outputs.get_mut(&job.name) else { continue };
                bad |= !told(job, &outcome, cli, session, painter);
                let Ending::Ran(ended) = &outcome.ending else { continue };
                output.begin();
                let mut blocks: Vec<Block> = output.take(&ended.stdout).into();
                blocks.extend(output.finish());
                if !output.rest().is_empty() {
                    session.tell(&format!(
                        "  warning last-line: '{}' has no newline; it is glued to the next run ({})\n",
                        output.rest().as_bstr(),
                        Quirk::CronLastLineLeaks.id()
                    ));
                }
                for block in blocks {
                    bad |= !published(job, &block, manager, &world, &mut named, cli, session);
                }
            }
        }
    }
    for (name, for_slots, ad) in &named {
        for slot in &mut slots {
            let (merges, rule) = match manager {
                CronManager::Startd => merges_into(ad, for_slots, slot, &world, quirks),
                CronManager::Schedd => (true, "the schedd's only ad"),
            };
            if !cli.output.quiet {
                let to = slot.string("Name").map_or("slot".into(), ToString::to_string);
                let word = if merges { "merged into" } else { "not for" };
                session.tell(&format!("{name}: {word} {to} ({rule})\n"));
            }
            if merges {
                merge(ad, slot);
            }
        }
    }
    let mut out = Vec::new();
    for (at, slot) in slots.iter().enumerate() {
        if cli.output.json || cli.output.jsonl {
            out.extend_from_slice(format!("{}\n", report::ad(slot)?).as_bytes());
        } else {
            if at > 0 {
                out.push(b'\n');
            }
            out.extend_from_slice(&crate::classad::format::long::print(slot));
        }
    }
    std::io::stdout().write_all(&out)?;
    for (slot, before) in slots.iter().zip(&before) {
        for failure in one::unmet(&expectations, slot, before, &world) {
            session.tell(&format!("{}: expected {failure}\n", session.name()));
            bad = true;
        }
    }
    Ok(if bad { Status::No } else { Status::Done })
}

fn list(
    cli: &Cli,
    manager: CronManager,
    args: &CronArgs,
    world: &RealWorld,
    session: &Session,
) -> anyhow::Result<List> {
    if let Some(program) = &args.program {
        let path = std::path::absolute(program).unwrap_or_else(|_| program.clone());
        let name = args.name.clone().unwrap_or_else(|| {
            program.file_name().unwrap_or_default().to_string_lossy().to_ascii_uppercase()
        });
        let mut job = CronJob::new(name.as_bytes(), path.as_os_str().as_bytes());
        job.arguments = args.words.iter().map(|word| word.as_str().into()).collect();
        job.prefix = args.prefix.as_str().into();
        job.slots = args.slots.clone();
        return Ok(List { jobs: vec![job], max_load: 1.0, skipped: false });
    }
    let subsystem = match manager {
        CronManager::Startd => "STARTD",
        CronManager::Schedd => "SCHEDD",
    };
    let who = Who { subsystem: subsystem.into(), local_name: "".into() };
    let options = cli.config.load_options(CommandPolicy::BOUNDED);
    let (config, _) =
        Config::load(world, &who, &options).map_err(|error| Problem::unreadable(error.to_string()))?;
    let view = config.view(world);
    let knobs: &dyn Knobs = &view;
    let mut names = manager.names(knobs);
    if let Some(only) = &args.name {
        names.retain(|name| name.eq_ignore_ascii_case(only.as_bytes()));
    }
    if names.is_empty() {
        let what = match &args.name {
            Some(name) => format!("{}_JOBLIST does not name '{name}'", manager.prefix()),
            None => format!("{}_JOBLIST is empty: there are no jobs", manager.prefix()),
        };
        return Err(Problem::unreadable(what).into());
    }
    let mut jobs = Vec::new();
    let mut skipped = false;
    for name in names {
        match CronJob::read(manager, &name, knobs, cli.quirks.quirks) {
            Ok(job) => {
                for warning in &job.warnings {
                    session.warn(warning);
                }
                jobs.push(job);
            }
            Err(error) => {
                skipped = true;
                session.report(&Problem::unreadable(error.to_string()).into());
            }
        }
    }
    Ok(List { jobs, max_load: manager.max_load(knobs), skipped })
}

fn condition_holds(
    job: &CronJob,
    manager: CronManager,
    slots: &[ClassAd],
    world: &RealWorld,
    session: &Session,
) -> bool {
    // The schedd reads CONDITION and never evaluates it.
    let (Some(condition), CronManager::Startd) = (&job.condition, manager) else { return true };
    let empty = ClassAd::new();
    let value = Context::new(world).my(slots.first().unwrap_or(&empty)).eval(condition);
    let holds = value.truth() == Some(true);
    if !holds {
        session.tell(&format!("{}: not started: CONDITION is {}\n", job.name, value.unparse()));
    }
    holds
}

/// Runs jobs side by side; `None` when a signal came.
fn start(
    cli: &Cli,
    manager: CronManager,
    jobs: &[&CronJob],
    world: &RealWorld,
) -> anyhow::Result<Option<Vec<(usize, Outcome)>>> {
    let log = tempfile::Builder::new().prefix("htc-hook-cron.").tempdir()?;
    let quirks = cli.quirks.quirks;
    let account = identity::by_uid(identity::effective_uid());
    let daemon = caller_environment(account.as_ref(), cli.config.config_file.as_deref(), quirks);
    let mut reactor = one::reactor()?;
    let mut waiting = jobs.iter().enumerate();
    let mut done = Vec::new();
    let interrupted = run_many(
        &mut reactor,
        jobs.len(),
        &mut || {
            let (at, job) = waiting.next()?;
            let mut environment = daemon.clone();
            environment.variables.merge(&job.environment);
            let told = manager == CronManager::Schedd || !quirks.has(Quirk::CronEnvMissing);
            if told {
                let name = manager.prefix().split('_').next().unwrap_or_default();
                environment.variables.set(format!("{name}_INTERFACE_VERSION"), "1");
                environment.variables.set(format!("{name}_CRON_NAME"), name);
            }
            let directory = match job.directory.is_empty() {
                true => log.path().to_owned(),
                false => job.directory.to_path_lossy().into_owned(),
            };
            let marker = crate::runner::hook_call::HookCall::marker(world.now(), world.random());
            let spec = ChildSpec {
                argv: std::iter::once(job.name.clone()).chain(job.arguments.iter().cloned()).collect(),
                env: environment.entries(),
                cwd: Some(directory),
                stdio: [
                    if quirks.has(Quirk::ClosedStdio) { Stdio::Closed } else { Stdio::Null },
                    Stdio::Capture { limit: MOST_OUTPUT },
                    Stdio::Capture { limit: 64 * 1024 },
                ],
                session: ProcessSession::Inherit,
                ignore_sigpipe: quirks == Quirks::Reference,
                ancestor: Some(marker),
                left_behind: LeftBehind::Kept,
                ..ChildSpec::new(job.executable.to_path_lossy().into_owned())
            };
            let patience = cli.events.timeout.unwrap_or(setup::PATIENCE);
            Some(Job { tag: at, spec, patience })
        },
        &mut |at, outcome| done.push((at, outcome)),
    )?;
    // Published in the order of the list, whoever was first.
    done.sort_by_key(|(at, _)| *at);
    Ok(interrupted.is_none().then_some(done))
}

/// Tells how a run went; whether it could be started and ended.
fn told(job: &CronJob, outcome: &Outcome, cli: &Cli, session: &Session, painter: Painter) -> bool {
    let (text, good) = match &outcome.ending {
        Ending::Ran(ended) => {
            let how = ended.exit.map_or("killed: it did not end in time".to_owned(), |exit| exit.to_string());
            let note = match ended.exit {
                Some(exit) if !exit.is_success() => "; nobody looks at that, what it printed counts",
                _ => "",
            };
            (format!("{how}, {:.1} ms{note}", outcome.took.as_secs_f64() * 1e3), ended.exit.is_some())
        }
        Ending::NotStarted { reason, .. } | Ending::Refused { reason } => {
            let last = match job.mode {
                CronMode::Periodic => "tried again after its period",
                _ => "25.14 never tries it again (cron-failed-start-final)",
            };
            (format!("not started: {reason}; {last}"), false)
        }
    };
    if !cli.output.quiet || !good {
        let name =
            if good { painter.good(&job.name).to_string() } else { painter.bad(&job.name).to_string() };
        session.tell(&format!("{name} ({}): {text}\n", job.mode.name()));
        if let Ending::Ran(ended) = &outcome.ending {
            for left in &ended.left_behind {
                let name = left.command.as_bstr();
                session.tell(&format!(
                    "  warning left-behind: process {} ({name}) is not killed by the daemon\n",
                    left.pid
                ));
            }
            for line in ended.stderr.lines() {
                session.tell(&format!("  stderr: {}\n", line.as_bstr()));
            }
        }
    }
    let _: Duration = outcome.took;
    good
}

/// Publishes a block; whether all of its lines were attributes.
fn published(
    job: &CronJob,
    block: &Block,
    manager: CronManager,
    world: &RealWorld,
    named: &mut Vec<(BString, Vec<i64>, ClassAd)>,
    cli: &Cli,
    session: &Session,
) -> bool {
    let (ad, bad) = block.ad(&job.prefix, world.now());
    for line in &bad {
        session
            .tell(&format!("  warning bad-line: Can't insert '{}' into '{}' ClassAd\n", line.line, job.name));
    }
    let Some(ad) = ad else {
        session.tell("  a block without a good line: nothing is published\n");
        return false;
    };
    let address = match manager {
        CronManager::Startd => block.address(&ad, world),
        CronManager::Schedd => Default::default(),
    };
    let name = match &address.tag {
        Some(tag) => BString::from(format!("{}.{tag}", job.name)),
        None => job.name.clone(),
    };
    if !cli.output.quiet {
        let update = match address.update {
            Some(true) => ", collector updated",
            Some(false) => ", no update",
            None => "",
        };
        session.tell(&format!("  {name}: {} attributes{update}\n", ad.len()));
        for word in &address.ignored {
            session.tell(&format!("  note: '{word}' behind the dash means nothing\n"));
        }
    }
    match named.iter_mut().find(|(known, ..)| *known == name) {
        Some(entry) => entry.2 = ad,
        None => named.push((name, job.slots.clone(), ad)),
    }
    bad.is_empty()
}
