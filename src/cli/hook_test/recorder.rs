//! `htc-hook-test record`: stands in for a hook in a live pool, calls it, and keeps what went in and came out.

use std::fs::File;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::PathBuf;
use std::time::Duration;

use bstr::BString;
use clap::Args;
use nix::libc;

use super::recorder_pump::Pump;
use crate::cli::common::{Problem, Session, Status};
use crate::hook::HookType;
use crate::os::{Event, Reactor, RealWorld, Whom, clock, identity, sigpipe_was_ignored};
use crate::process::{ChildSpec, Exit, LeftBehind, Session as ProcessSession, Stdio};
use crate::runner::hook_test::record::Record;
use crate::runner::hook_test::{Ending, facts};
use crate::world::World;

/// Options of `record`.
#[derive(Args, Clone, Debug)]
pub(super) struct RecordArgs {
    /// Keep the calls below DIR, readable by this account only; the first 8 MiB of each stream
    #[arg(long, value_name = "DIR")]
    pub into: PathBuf,
    /// The type of hook, such as prepare, for replay; guessed from the hook's name otherwise
    #[arg(long = "type", value_name = "TYPE")]
    pub kind: Option<String>,
    /// The hook and its arguments
    #[arg(value_name = "HOOK", required = true, last = true)]
    pub command: Vec<std::ffi::OsString>,
}

/// How long the rest of an input is waited for that nobody reads any more.
const LAST_INPUT: Duration = Duration::from_millis(200);
/// How often the end of the streams is looked for once the hook has ended.
const LOOK_AGAIN: Duration = Duration::from_millis(2);
/// Signals that are handed on.
const HANDED_ON: [i32; 7] =
    [libc::SIGTERM, libc::SIGINT, libc::SIGHUP, libc::SIGQUIT, libc::SIGUSR1, libc::SIGUSR2, libc::SIGALRM];

pub(super) fn run(args: &RecordArgs, session: &Session) -> anyhow::Result<Status> {
    let Some((program, rest)) = args.command.split_first() else {
        return Err(Problem::usage("no hook is named").into());
    };
    // Before anything else is opened or blocked signals are looked at.
    let closed = [0, 1, 2].map(was_closed);
    let others = inherited();
    let blocked = blocked_signals();
    let program = std::path::absolute(program)?;
    let argv: Vec<BString> = std::iter::once(program.as_os_str())
        .chain(rest.iter().map(std::ffi::OsString::as_os_str))
        .map(|word| word.as_bytes().into())
        .collect();
    let name = program.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let hook = match &args.kind {
        Some(kind) => Some(
            HookType::from_name(kind.as_bytes())
                .ok_or_else(|| Problem::usage(format!("there is no type '{kind}'")))?,
        ),
        None => HookType::guess(name.as_bytes()),
    };
    let env: Vec<BString> = RealWorld::new()
        .environment()
        .into_iter()
        .map(|(name, value)| [name.as_bytes(), b"=", value.as_bytes()].concat().into())
        .collect();
    let mut record =
        Record { hook, name, argv: argv.clone(), env: env.clone(), has_output: true, ..Record::default() };
    let mut reactor = Reactor::new(&HANDED_ON)?;
    let mut streams = Streams::new(closed)?;
    let spec = ChildSpec {
        argv,
        env,
        stdio: streams.stdio(),
        kept: others,
        session: ProcessSession::Inherit,
        umask: identity::umask(),
        ignore_sigpipe: sigpipe_was_ignored(),
        blocked_signals: blocked,
        left_behind: LeftBehind::Kept,
        ..ChildSpec::new(&program)
    };
    record.facts = facts(&spec);
    record.began = Some(RealWorld::new().now().epoch_f64());
    // Whose hook it is: condor_startd, condor_starter, condor_shadow ...
    let parent = format!("/proc/{}/comm", nix::unistd::getppid());
    record.parent = std::fs::read_to_string(parent).ok().map(|name| name.trim_end().to_owned());
    let began = clock::tick();
    let child = match reactor.spawn(spec) {
        Ok(child) => child,
        Err(error) => {
            session.report(&Problem::new(Status::Failed, error.to_string()).into());
            let missing = error.errno() == libc::ENOENT;
            let interpreter = error.interpreter.as_ref().map(ToString::to_string);
            let reason = match interpreter {
                Some(_) => error.to_string(),
                None => format!("{error}: {}", error.reason()),
            };
            record.never_began = Some(Ending::NotStarted { reason, interpreter });
            // What it would have read is still kept.
            streams.start()?;
            streams.end();
            let ended = clock::tick();
            while !streams.are_done(clock::tick().since(ended)) {
                std::thread::sleep(LOOK_AGAIN);
            }
            streams.store(&mut record);
            keep(&record, args, session);
            return Ok(if missing { Status::NotFound } else { Status::NotExecutable });
        }
    };
    streams.start()?;
    let exit = loop {
        match reactor.next(None)? {
            Event::Signal(number) => reactor.kill(child, number, Whom::Process),
            Event::Exited { exit, .. } => break exit,
            _ => {}
        }
    };
    record.seconds = clock::tick().since(began).as_secs_f64();
    streams.end();
    // What it has written must arrive, as long as somebody reads; who wants us to go may say so.
    let mut wanted = None;
    let ended = clock::tick();
    while wanted.is_none() && !streams.are_done(clock::tick().since(ended)) {
        if let Event::Signal(number) = reactor.next(Some(clock::tick().plus(LOOK_AGAIN)))? {
            wanted = Some(number);
        }
    }
    // What it leaves behind must outlive us, as it would outlive the hook.
    std::mem::forget(reactor);
    record.exit = Some(exit);
    streams.store(&mut record);
    keep(&record, args, session);
    if let (Exit::Signal { number, .. }, _) | (_, Some(number)) = (exit, wanted) {
        // Die of the same signal, so that the caller sees what it would have seen.
        let _ = signal_hook::low_level::emulate_default_handler(number);
    }
    Ok(Status::Relayed(exit))
}

/// Stores the call. That it cannot be, or that its type is not known, is told; the hook's caller gets its answer all the same.
fn keep(record: &Record, args: &RecordArgs, session: &Session) {
    let is_first =
        |place: &std::path::Path| place.file_name().is_some_and(|name| name.as_bytes().starts_with(b"001-"));
    match record.write_below(&args.into) {
        Ok(place) if record.hook.is_none() && is_first(&place) => {
            session.warn("the hook's name does not tell its type: --type tells it, here or to replay");
        }
        Ok(_) => {}
        Err(error) => {
            let into = args.into.display();
            let problem = Problem::unreadable(format!("cannot keep the call below '{into}'"));
            session.report(&anyhow::Error::from(error).context(problem));
        }
    }
}

/// The three streams between our caller and the hook.
struct Streams {
    /// Of those that are open: the hook's end.
    theirs: [Option<OwnedFd>; 3],
    /// Ours, until the pumps have them.
    ours: [Option<OwnedFd>; 3],
    pumps: [Option<Pump>; 3],
}

impl Streams {
    fn new(closed: [bool; 3]) -> anyhow::Result<Self> {
        let mut streams =
            Streams { theirs: [None, None, None], ours: [None, None, None], pumps: [None, None, None] };
        for number in (0..3).filter(|&number| !closed[number]) {
            let (read, write) = nix::unistd::pipe2(nix::fcntl::OFlag::O_CLOEXEC)?;
            let (theirs, ours) = if number == 0 { (read, write) } else { (write, read) };
            (streams.theirs[number], streams.ours[number]) = (Some(theirs), Some(ours));
        }
        Ok(streams)
    }

    fn stdio(&self) -> [Stdio; 3] {
        [0, 1, 2].map(|number| match &self.theirs[number] {
            Some(end) => Stdio::Descriptor(end.as_raw_fd()),
            None => Stdio::Closed,
        })
    }

    /// From now on bytes flow. The hook has its ends; ours of them must be closed so that an end is seen.
    fn start(&mut self) -> anyhow::Result<()> {
        self.theirs = [None, None, None];
        for number in 0..3 {
            let Some(ours) = self.ours[number].take() else { continue };
            // Not through the handles of the standard library, whose buffers would keep something.
            let outside = File::from(match number {
                0 => std::io::stdin().as_fd().try_clone_to_owned()?,
                1 => std::io::stdout().as_fd().try_clone_to_owned()?,
                _ => std::io::stderr().as_fd().try_clone_to_owned()?,
            });
            let ours = File::from(ours);
            let (from, to) = if number == 0 { (outside, ours) } else { (ours, outside) };
            // A hook need not read its input; an output that nobody reads is closed for the hook, too.
            self.pumps[number] = Some(Pump::start(from, to, number == 0)?);
        }
        Ok(())
    }

    /// The hook has ended: what is there is still handed on, nothing is waited for.
    fn end(&mut self) {
        self.pumps.iter_mut().flatten().for_each(Pump::end);
    }

    /// Whether all is handed on, so long after the end.
    fn are_done(&self, since: Duration) -> bool {
        let done = |number: usize| self.pumps[number].as_ref().is_none_or(Pump::is_done);
        done(1) && done(2) && (done(0) || since > LAST_INPUT)
    }

    fn store(&self, record: &mut Record) {
        let kept = |number: usize| self.pumps[number].as_ref().map(Pump::kept).unwrap_or_default();
        let [stdin, stdout, stderr] = [0, 1, 2].map(kept);
        (record.has_input, record.has_output) = (stdin.is_whole(), stdout.is_whole());
        (record.stdin, record.stdout, record.stderr) = (stdin.bytes(), stdout.bytes(), stderr.bytes());
    }
}

/// Further descriptors that our caller has left open for the hook, such as sockets of a daemon.
fn inherited() -> Vec<i32> {
    let entries = std::fs::read_dir("/proc/self/fd").into_iter().flatten().flatten();
    let numbers = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    // What we have opened ourselves is closed at exec; so is the listing.
    numbers
        .filter(|&number| number > 2 && flags(number).is_some_and(|flags| flags & libc::O_CLOEXEC == 0))
        .collect()
}

/// The flags of an open descriptor.
fn flags(number: i32) -> Option<i32> {
    let text = std::fs::read_to_string(format!("/proc/self/fdinfo/{number}")).ok()?;
    let flags = text.lines().find_map(|line| line.strip_prefix("flags:"))?;
    i32::from_str_radix(flags.trim(), 8).ok()
}

/// Whether a descriptor was closed when we were started: the runtime then opens /dev/null for reading and writing, which no
/// caller passes.
fn was_closed(number: i32) -> bool {
    let path = format!("/proc/self/fd/{number}");
    let Ok(status) = std::fs::metadata(&path) else { return true };
    let Ok(null) = std::fs::metadata("/dev/null") else { return false };
    if !status.file_type().is_char_device() || status.rdev() != null.rdev() {
        return false;
    }
    flags(number).is_some_and(|flags| flags & libc::O_ACCMODE == libc::O_RDWR)
}

/// The signals that our caller has blocked.
fn blocked_signals() -> Vec<i32> {
    let text = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = text.lines().find_map(|line| line.strip_prefix("SigBlk:")).unwrap_or_default();
    let mask = u64::from_str_radix(mask.trim(), 16).unwrap_or(0);
    (1..=64).filter(|signal| mask >> (signal - 1) & 1 == 1).collect()
}
