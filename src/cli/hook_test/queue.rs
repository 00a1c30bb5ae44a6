//! `htc-hook-test queue`: drives the fetch, reply and exit hooks of a queue from many slots at once, and proves that no job
//! is handed out twice or lost, or shows the sequence that did it.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use bstr::BString;
use clap::Args;

use super::queue_drive::{Drive, Hooks, Known, Step, Tag};
use super::{Cli, one, setup};
use crate::classad::ClassAd;
use crate::cli::common::{Painter, Problem, Session, Status};
use crate::config::{CommandPolicy, Config, Who};
use crate::hook::{HookType, input, keyword, path_check};
use crate::os::{RealWorld, identity};
use crate::process::Exit;
use crate::quirks::Quirks;
use crate::runner::hook_call::HookCall;
use crate::runner::hook_test::fuzz::Random;
use crate::runner::hook_test::pool::{Job, run_many};
use crate::runner::hook_test::{caller_environment, samples};
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
    /// Work on the queue itself, not on a copy of the configuration's directory
    #[arg(long)]
    pub in_place: bool,
    /// What tells one job from another
    #[arg(long, value_name = "EXPR")]
    pub id: Option<String>,
    /// Share of jobs that are evicted once before they end, in percent
    #[arg(long, value_name = "P", default_value_t = 20)]
    pub evict: u32,
    /// Share of jobs that are rejected once, in percent
    #[arg(long, value_name = "P", default_value_t = 0)]
    pub reject: u32,
    /// Share of calls that are killed in the middle, in percent
    #[arg(long, value_name = "P", default_value_t = 5)]
    pub kill: u32,
    /// Use the hooks of this keyword
    #[arg(long, value_name = "WORD")]
    pub keyword: Option<String>,
}

pub(super) fn run(cli: &Cli, args: &QueueArgs, session: &Session) -> anyhow::Result<Status> {
    let config_file = cli
        .config
        .config_file
        .clone()
        .ok_or_else(|| Problem::usage("queue needs --config-file, which names the hooks"))?;
    let copy = tempfile::Builder::new().prefix("htc-hook-queue.").tempdir()?;
    let config_file = if args.in_place {
        config_file
    } else {
        let directory =
            config_file.parent().filter(|path| !path.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let mut left = 20_000;
        copy_tree(directory, copy.path(), &mut left)?;
        copy.path().join(config_file.file_name().unwrap_or_default())
    };
    if let Some(command) = &args.fill {
        let status = std::process::Command::new("/bin/sh")
            .args(["-c", command])
            .env("JOBS", args.jobs.unwrap_or(0).to_string())
            .current_dir(config_file.parent().unwrap_or(Path::new(".")))
            .status()?;
        if !status.success() {
            return Err(Problem::unreadable(format!("--fill ended with {status}")).into());
        }
    }
    let world = RealWorld::new();
    let hooks = hooks(cli, args, &config_file, &world)?;
    let id = match &args.id {
        Some(text) => Some(one::expectation(text, "--id")?.1),
        None => None,
    };
    let seed = cli.clock.seed.unwrap_or_else(|| world.random());
    let drive = RefCell::new(Drive {
        ready: (0..args.slots.max(1)).map(|slot| (slot, Step::Fetch)).collect(),
        idle: Vec::new(),
        known: BTreeMap::new(),
        violations: Vec::new(),
        random: Random::new(seed),
        calls: 0,
        number: 0,
        killed: 0,
        lost_fetches: 0,
        claims: BTreeMap::new(),
        typical: Duration::from_millis(5),
    });
    let account = identity::by_uid(identity::effective_uid());
    let daemon = caller_environment(account.as_ref(), Some(&config_file), cli.quirks.quirks);
    let log = tempfile::Builder::new().prefix("htc-hook-log.").tempdir()?;
    let slots: Vec<ClassAd> = (0..args.slots.max(1))
        .map(|number| {
            let mut slot = samples::slot("static").unwrap_or_default();
            slot.set("Name", format!("slot{}@node1.example.org", number + 1));
            slot.set("SlotID", number as i64 + 1);
            slot
        })
        .collect();
    let patience = cli.events.timeout.unwrap_or(setup::PATIENCE);
    let mut reactor = one::reactor()?;
    let interrupted = run_many(
        &mut reactor,
        args.slots.max(1),
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
            let (hook, path, words, stdin): (_, _, Vec<BString>, _) = match &step {
                Step::Fetch => (HookType::FetchWork, hooks.fetch.clone(), vec![], input::fetch(&slots[slot])),
                Step::Reply { job, accept, .. } => {
                    let word = if *accept { "accept" } else { "reject" };
                    let claim = accept.then_some(claim.as_bytes());
                    let stdin = input::reply(job, &slots[slot], claim, Quirks::None);
                    (HookType::ReplyFetch, hooks.reply.clone()?, vec![word.into()], stdin)
                }
                Step::Exit { job, word, .. } => {
                    let mut job = (**job).clone();
                    job.set("JobState", "Exited");
                    if *word == "exit" {
                        job.set("ExitBySignal", false);
                        job.set("ExitCode", 0i64);
                    }
                    (HookType::JobExit, hooks.exit.clone()?, vec![(*word).into()], input::job_ad(&job))
                }
                Step::Evict { job } => {
                    let stdin = input::evict(job, &slots[slot], claim.as_bytes(), Quirks::None);
                    (HookType::EvictClaim, hooks.evict.clone()?, vec![], stdin)
                }
            };
            let doomed = drive.chance(args.kill);
            let patience = match doomed {
                true => drive.part_of_typical(),
                false => patience,
            };
            let mut call = HookCall::new(hook, path, stdin, daemon.clone());
            call.arguments = words;
            call.directory = Some(log.path().to_owned());
            call.ancestor = Some(HookCall::marker(world.now(), world.random()));
            let spec = call.child_spec().ok()?;
            Some(Job { tag: Tag { slot, step, doomed }, spec, patience })
        },
        &mut |tag, outcome| drive.borrow_mut().done(tag, &outcome, args, &hooks, id.as_ref(), &world),
    )?;
    if let Some(number) = interrupted {
        return Ok(Status::Relayed(Exit::Signal { number, core_dumped: false }));
    }
    let mut drive = drive.into_inner();
    drive.close(args);
    tell(cli, args, &drive, seed, session)
}

fn hooks(cli: &Cli, args: &QueueArgs, file: &Path, world: &RealWorld) -> anyhow::Result<Hooks> {
    let who = Who { subsystem: "STARTD".into(), local_name: "".into() };
    let mut options = cli.config.load_options(CommandPolicy::BOUNDED);
    options.file = Some(file.to_owned());
    let (config, _) =
        Config::load(world, &who, &options).map_err(|error| Problem::unreadable(error.to_string()))?;
    let view = config.for_slot(None, "slot1", world);
    let keyword = match &args.keyword {
        Some(keyword) => BString::from(keyword.as_str()),
        None => keyword::startd("slot1", None, &view, cli.quirks.quirks)
            .keyword
            .ok_or_else(|| Problem::unreadable("STARTD_JOB_HOOK_KEYWORD is not set"))?,
    };
    let find = |hook: HookType| -> anyhow::Result<Option<BString>> {
        path_check::configured(world, &view, &keyword, hook)
            .map_err(|error| Problem::unreadable(error.to_string()).into())
    };
    let fetch = find(HookType::FetchWork)?
        .ok_or_else(|| Problem::unreadable(format!("{keyword}_HOOK_FETCH_WORK is not set")))?;
    let (reply, exit) = (find(HookType::ReplyFetch)?, find(HookType::JobExit)?);
    Ok(Hooks { fetch, reply, exit, evict: find(HookType::EvictClaim)? })
}

/// Copies a tree of files, links as links; at most `left` entries.
fn copy_tree(from: &Path, to: &Path, left: &mut u32) -> anyhow::Result<()> {
    std::fs::create_dir_all(to)?;
    std::fs::set_permissions(to, std::fs::metadata(from)?.permissions())?;
    for entry in std::fs::read_dir(from)? {
        let entry = entry?;
        *left = left.checked_sub(1).ok_or_else(|| {
            let message = format!("'{}' holds too many files to be copied", from.display());
            Problem::unreadable(message).hint("--in-place works on the queue itself")
        })?;
        let target: PathBuf = to.join(entry.file_name());
        let kind = entry.file_type()?;
        if kind.is_dir() {
            copy_tree(&entry.path(), &target, left)?;
        } else if kind.is_symlink() {
            std::os::unix::fs::symlink(std::fs::read_link(entry.path())?, target)?;
        } else if kind.is_file() {
            std::fs::copy(entry.path(), target)?;
        }
    }
    Ok(())
}

fn tell(cli: &Cli, args: &QueueArgs, drive: &Drive, seed: u64, session: &Session) -> anyhow::Result<Status> {
    let painter = Painter::stderr(cli.output.color);
    const SHOWN: usize = 5;
    for violation in drive.violations.iter().take(SHOWN) {
        session.tell(&format!("{}: {violation}\n", painter.bad("broken")));
    }
    let more = drive.violations.len().saturating_sub(SHOWN);
    if more > 0 {
        session.tell(&format!("and {more} more of this kind\n"));
    }
    let finished = drive.known.values().filter(|known| known.finished).count();
    let count = |which: fn(&Known) -> bool| drive.known.values().filter(|known| which(known)).count();
    if !cli.output.quiet {
        session.tell(&format!(
            "{} calls from {} slots, seed {seed}: {} jobs handed out, {finished} done, {} evicted, {} rejected\n",
            drive.calls,
            args.slots.max(1),
            drive.known.len(),
            count(|known| known.evicted),
            count(|known| known.rejected),
        ));
    }
    let doubtful = drive.lost_fetches + count(|known| known.in_doubt);
    if drive.killed > 0 && !cli.output.quiet {
        session.tell(&format!(
            "{} calls were killed in the middle, which leaves {doubtful} jobs in doubt\n",
            drive.killed
        ));
    }
    let verdict = if drive.violations.is_empty() { "holds" } else { "is broken" };
    if !cli.output.quiet {
        session.tell(&format!("the queue's contract {verdict}\n"));
    }
    if drive.known.is_empty() && drive.violations.is_empty() {
        return Err(Problem::unreadable("the queue handed out no job at all")
            .hint("fill it before, or with --fill COMMAND")
            .into());
    }
    Ok(if drive.violations.is_empty() { Status::Done } else { Status::No })
}
