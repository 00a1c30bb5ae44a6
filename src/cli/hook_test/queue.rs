//! `htc-hook-test queue`: drives the fetch, reply and exit hooks of a queue from many slots at once, and proves that no job
//! is handed out twice or lost, or shows the sequence that did it.

use std::cell::RefCell;
use std::collections::{BTreeMap, VecDeque};
use std::path::{Path, PathBuf};
use std::time::Duration;

use bstr::BString;
use clap::Args;

use super::{Cli, one, setup};
use crate::classad::{ClassAd, Context, Expr};
use crate::cli::common::{Painter, Problem, Session, Status};
use crate::config::{CommandPolicy, Config, Who};
use crate::hook::{HookType, input, keyword, path_check};
use crate::os::{RealWorld, identity};
use crate::process::Exit;
use crate::quirks::Quirks;
use crate::runner::hook_call::{HookCall, PIPE_BUFFER_MAX};
use crate::runner::hook_test::fuzz::Random;
use crate::runner::hook_test::pool::{Job, run_many};
use crate::runner::hook_test::{Ending, Outcome, caller_environment, samples};
use crate::slot::{Fetched, read_fetched};
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
    /// Use the hooks of this keyword
    #[arg(long, value_name = "WORD")]
    pub keyword: Option<String>,
}

/// What is to be called next, and for which slot.
enum Step {
    Fetch,
    Reply { job: Box<ClassAd>, id: String, accept: bool },
    Exit { job: Box<ClassAd>, id: String, word: &'static str },
}

/// Where a job stands.
#[derive(Clone, Debug, Default)]
struct Known {
    /// The slot that has it.
    held_by: Option<usize>,
    finished: bool,
    evicted: bool,
    rejected: bool,
    /// It was given back, and is to come again.
    owed: bool,
    story: Vec<String>,
}

struct Drive {
    ready: VecDeque<(usize, Step)>,
    /// Slots that found nothing; they ask again when something has come back.
    idle: Vec<usize>,
    known: BTreeMap<String, Known>,
    violations: Vec<String>,
    random: Random,
    calls: u32,
    number: u32,
}

struct Hooks {
    fetch: BString,
    reply: Option<BString>,
    exit: Option<BString>,
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
            };
            let mut call = HookCall::new(hook, path, stdin, daemon.clone());
            call.arguments = words;
            call.directory = Some(log.path().to_owned());
            call.ancestor = Some(HookCall::marker(world.now(), world.random()));
            let spec = call.child_spec().ok()?;
            Some(Job { tag: (slot, step), spec, patience })
        },
        &mut |(slot, step), outcome| {
            drive.borrow_mut().done(slot, step, &outcome, args, &hooks, id.as_ref(), &world);
        },
    )?;
    if let Some(number) = interrupted {
        return Ok(Status::Relayed(Exit::Signal { number, core_dumped: false }));
    }
    let mut drive = drive.into_inner();
    drive.close(args);
    tell(cli, args, &drive, seed, session)
}

impl Drive {
    #[allow(clippy::too_many_arguments, reason = "one call that ended, and what it is judged with")]
    fn done(
        &mut self,
        slot: usize,
        step: Step,
        outcome: &Outcome,
        args: &QueueArgs,
        hooks: &Hooks,
        id: Option<&Expr>,
        world: &RealWorld,
    ) {
        self.number += 1;
        let number = self.number;
        let (exit, stdout, cut) = match &outcome.ending {
            Ending::Ran(ended) => (ended.exit, ended.stdout.as_slice(), ended.cut),
            Ending::NotStarted { reason, .. } | Ending::Refused { reason } => {
                self.violate(format!("slot{}: a hook cannot be executed: {reason}", slot + 1));
                return;
            }
        };
        let name = format!("{number}: slot{}", slot + 1);
        match step {
            Step::Fetch => {
                if exit.is_none() {
                    self.violate(format!("{name} FETCH_WORK hangs"));
                    return;
                }
                match read_fetched(stdout, cut, PIPE_BUFFER_MAX, Quirks::None, &mut Vec::new()) {
                    Fetched::Nothing(_) => self.idle.push(slot),
                    Fetched::Bad { reason, .. } => {
                        self.violate(format!(
                            "{name} FETCH_WORK prints no job, so that one may be lost: {reason}"
                        ));
                        self.ready.push_back((slot, Step::Fetch));
                    }
                    Fetched::Job(job) => self.fetched(slot, job, &name, args, hooks, id, world),
                }
            }
            Step::Reply { job, id, accept } => {
                let word = if accept { "accept" } else { "reject" };
                self.note(&id, format!("{name} REPLY_FETCH {word}{}", how(exit)));
                if accept {
                    self.accepted(slot, job, id, args, hooks);
                } else {
                    self.wake();
                    self.ready.push_back((slot, Step::Fetch));
                }
            }
            Step::Exit { id, word, .. } => {
                self.note(&id, format!("{name} JOB_EXIT {word}{}", how(exit)));
                if !exit.is_some_and(Exit::is_success) {
                    let story = self.story(&id);
                    self.violate(format!(
                        "the end of job {id} was not taken down: JOB_EXIT {word}{}{story}",
                        how(exit)
                    ));
                }
                self.ended(slot, &id, word);
            }
        }
    }

    #[allow(clippy::too_many_arguments, reason = "one job that came, and what it is judged with")]
    fn fetched(
        &mut self,
        slot: usize,
        job: Box<ClassAd>,
        name: &str,
        args: &QueueArgs,
        hooks: &Hooks,
        id: Option<&Expr>,
        world: &RealWorld,
    ) {
        let id = identify(&job, id, world);
        let known = self.known.entry(id.clone()).or_default();
        known.story.push(format!("{name} FETCH_WORK hands it out"));
        let twice = match (known.held_by, known.finished) {
            (Some(other), _) => Some(format!("while slot{} has it", other + 1)),
            (None, true) => Some("though it was done".to_owned()),
            _ => None,
        };
        known.owed = false;
        known.held_by = Some(slot);
        if let Some(how) = twice {
            let story = self.story(&id);
            self.violate(format!("job {id} is handed out twice, {how}{story}"));
            // Nobody can tell the two apart from here on.
            self.ready.push_back((slot, Step::Fetch));
            return;
        }
        let rejected = self.known.get(&id).is_some_and(|known| known.rejected);
        let reject = !rejected && hooks.reply.is_some() && self.chance(args.reject);
        if reject && let Some(known) = self.known.get_mut(&id) {
            known.rejected = true;
        }
        match hooks.reply {
            Some(_) => self.ready.push_back((slot, Step::Reply { job, id, accept: !reject })),
            None => self.accepted(slot, job, id, args, hooks),
        }
    }

    fn accepted(&mut self, slot: usize, job: Box<ClassAd>, id: String, args: &QueueArgs, hooks: &Hooks) {
        let evicted = self.known.get(&id).is_some_and(|known| known.evicted);
        let evict = !evicted && hooks.exit.is_some() && self.chance(args.evict);
        let word = if evict { "evict" } else { "exit" };
        if evict && let Some(known) = self.known.get_mut(&id) {
            known.evicted = true;
        }
        match hooks.exit {
            Some(_) => self.ready.push_back((slot, Step::Exit { job, id, word })),
            None => self.ended(slot, &id, "exit"),
        }
    }

    fn ended(&mut self, slot: usize, id: &str, word: &str) {
        if word == "exit" {
            if let Some(known) = self.known.get_mut(id) {
                known.held_by = None;
                known.finished = true;
            }
        } else {
            self.wake();
        }
        self.ready.push_back((slot, Step::Fetch));
    }

    /// The job is the queue's again.
    fn release(&mut self, id: &str) {
        if let Some(known) = self.known.get_mut(id) {
            known.held_by = None;
            known.owed = true;
        }
    }

    /// Slots that found nothing look again, since a job has come back.
    fn wake(&mut self) {
        for slot in std::mem::take(&mut self.idle) {
            self.ready.push_back((slot, Step::Fetch));
        }
    }

    fn chance(&mut self, percent: u32) -> bool {
        self.random.below(100) < percent as usize
    }

    fn note(&mut self, id: &str, line: String) {
        if let Some(known) = self.known.get_mut(id) {
            known.story.push(line);
        }
    }

    fn story(&self, id: &str) -> String {
        self.known
            .get(id)
            .into_iter()
            .flat_map(|known| &known.story)
            .map(|line| format!("\n  {line}"))
            .collect()
    }

    fn violate(&mut self, what: String) {
        self.violations.push(what);
    }

    /// What is still missing at the end.
    fn close(&mut self, args: &QueueArgs) {
        let owed: Vec<String> =
            self.known.iter().filter(|(_, known)| known.owed).map(|(id, _)| id.clone()).collect();
        for id in owed {
            let known = self.known.get(&id).cloned().unwrap_or_default();
            let what = if known.evicted { "evicted" } else { "rejected" };
            let story = self.story(&id);
            self.violate(format!("job {id} was {what} and does not come back{story}"));
        }
        let finished = self.known.values().filter(|known| known.finished).count();
        if let Some(jobs) = args.jobs
            && self.known.len() < jobs
        {
            let lost = jobs - self.known.len();
            self.violate(format!("{lost} of {jobs} jobs were never handed out ({finished} are done)"));
        }
    }
}

fn how(exit: Option<Exit>) -> String {
    match exit {
        Some(Exit::Code(0)) => String::new(),
        Some(exit) => format!(" ({exit})"),
        None => " (hangs)".to_owned(),
    }
}

/// The id of a job: the expression, else cluster and proc, else what the ad says.
fn identify(job: &ClassAd, id: Option<&Expr>, world: &RealWorld) -> String {
    let context = Context::new(world).my(job);
    if let Some(id) = id {
        return context.eval(id).unparse().to_string();
    }
    if let (Some(cluster), proc) = (context.int("ClusterId"), context.int("ProcId")) {
        return format!("{cluster}.{}", proc.unwrap_or(0));
    }
    for name in ["QueueName", "GlobalJobId", "JobId"] {
        if let Some(text) = context.string(name) {
            return text.to_string();
        }
    }
    let text = crate::classad::format::long::print(job);
    let mut hash = 0xcbf2_9ce4_8422_2325u64;
    for byte in text {
        hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    }
    format!("{hash:016x}")
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
    Ok(Hooks { fetch, reply: find(HookType::ReplyFetch)?, exit: find(HookType::JobExit)? })
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
    let _: Option<Duration> = cli.events.timeout;
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
