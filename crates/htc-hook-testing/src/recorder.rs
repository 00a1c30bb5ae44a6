//! Stands in for a hook in a live pool: calls it as it was itself called, hands its streams on, and keeps what went in and came out.

use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::PathBuf;
use std::time::Duration;

use nix::libc;

use super::call::CallEnding;
use super::process_facts::describe_process;
use super::record::CallRecord;
use super::stream_pump::StreamPump;
use htc_base::process::{ChildSpec, Exit, LeftoverPolicy, SessionMode, Stdio};
use htc_base::world::World;
use htc_hook::HookType;
use htc_os::{
    ChildId, Reactor, ReactorEvent, RealWorld, SignalScope, SpawnError, clock, identity, sigpipe_was_ignored,
};

/// How long the rest of an input is waited for that nobody reads any more.
const INPUT_DRAIN_TIME: Duration = Duration::from_millis(200);
/// How often the end of the streams is looked for once the hook has ended.
const POLL_INTERVAL: Duration = Duration::from_millis(2);
/// Signals that are handed on.
const FORWARDED_SIGNALS: [i32; 7] =
    [libc::SIGTERM, libc::SIGINT, libc::SIGHUP, libc::SIGQUIT, libc::SIGUSR1, libc::SIGUSR2, libc::SIGALRM];

/// A call that is about to be made, as this program was called.
pub struct CallRecorder {
    record: CallRecord,
    spec: ChildSpec,
    closed: [bool; 3],
}

/// A call that is over.
pub struct RecordedCall {
    /// What is kept of it.
    pub record: CallRecord,
    /// How the hook ended; or why it never began.
    pub end: Result<Exit, SpawnError>,
    /// The signal that came when the hook had ended.
    pub interrupted: Option<i32>,
}

impl CallRecorder {
    /// Looks at how this program was called; that must come before it opens anything. The hook's type is guessed from its name
    /// where it is not told.
    ///
    /// # Errors
    /// Where the hook is cannot be found out.
    pub fn from_this_process(
        program: &OsString,
        words: &[OsString],
        hook: Option<HookType>,
    ) -> io::Result<CallRecorder> {
        let closed = [0, 1, 2].map(was_closed);
        let (kept, blocked_signals) = (inherited_descriptors(), blocked_signals());
        let program: PathBuf = std::path::absolute(program)?;
        let name = program.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let words = words.iter().map(OsString::as_os_str);
        let all = std::iter::once(program.as_os_str()).chain(words);
        let env = RealWorld::new().environment().into_iter();
        let spec = ChildSpec {
            argv: all.map(|word| word.as_bytes().into()).collect(),
            env: env.map(|(name, value)| [name.as_bytes(), b"=", value.as_bytes()].concat().into()).collect(),
            inherited_descriptors: kept,
            session: SessionMode::Inherit,
            umask: identity::umask(),
            ignore_sigpipe: sigpipe_was_ignored(),
            blocked_signals,
            leftover_policy: LeftoverPolicy::Keep,
            ..ChildSpec::new(&program)
        };
        let record = CallRecord {
            hook: hook.or_else(|| HookType::guess_from_file_name(name.as_bytes())),
            name,
            argv: spec.argv.clone(),
            env: spec.env.clone(),
            has_output: true,
            ..CallRecord::default()
        };
        Ok(CallRecorder { record, spec, closed })
    }

    /// Makes the call; `outside` are the caller's ends of its streams.
    ///
    /// # Errors
    /// Its streams cannot be made, or it cannot be waited for.
    pub fn run(self, outside: [OwnedFd; 3]) -> io::Result<RecordedCall> {
        let CallRecorder { mut record, mut spec, closed } = self;
        let mut reactor = Reactor::new(&FORWARDED_SIGNALS)?;
        let mut streams = HookStreams::new(closed)?;
        spec.stdio = streams.stdio();
        record.facts = describe_process(&spec);
        record.began = Some(RealWorld::new().now().epoch_seconds_f64());
        // Whose hook it is: condor_startd, condor_starter, condor_shadow ...
        let parent = format!("/proc/{}/comm", nix::unistd::getppid());
        record.parent = std::fs::read_to_string(parent).ok().map(|name| name.trim_end().to_owned());
        let began = clock::monotonic_now();
        let spawned = reactor.spawn(spec);
        streams.start(outside)?;
        let end = match spawned {
            Ok(child) => {
                let exit = wait_for_hook(&mut reactor, child)?;
                record.seconds = clock::monotonic_now().since(began).as_secs_f64();
                record.exit = Some(exit);
                Ok(exit)
            }
            Err(error) => {
                record.never_began = Some(CallEnding::not_started(&error));
                Err(error)
            }
        };
        let interrupted = streams.finish(&mut reactor)?;
        // What it leaves behind must outlive us, as it would outlive the hook.
        std::mem::forget(reactor);
        streams.store_in(&mut record);
        Ok(RecordedCall { record, end, interrupted })
    }
}

/// How the hook ended; signals are handed on to it.
fn wait_for_hook(reactor: &mut Reactor, child: ChildId) -> io::Result<Exit> {
    loop {
        match reactor.next_event(None)? {
            ReactorEvent::Signal(number) => reactor.send_signal(child, number, SignalScope::Process),
            ReactorEvent::Exited { exit, .. } => return Ok(exit),
            _ => {}
        }
    }
}

/// The three streams between our caller and the hook.
struct HookStreams {
    /// Of those that are open: the hook's end.
    hook_ends: [Option<OwnedFd>; 3],
    /// Ours, until the pumps have them.
    our_ends: [Option<OwnedFd>; 3],
    pumps: [Option<StreamPump>; 3],
}

impl HookStreams {
    fn new(closed: [bool; 3]) -> io::Result<Self> {
        let mut streams = HookStreams {
            hook_ends: [None, None, None],
            our_ends: [None, None, None],
            pumps: [None, None, None],
        };
        for number in (0..3).filter(|&number| !closed[number]) {
            let (read, write) = nix::unistd::pipe2(nix::fcntl::OFlag::O_CLOEXEC)?;
            let (theirs, ours) = if number == 0 { (read, write) } else { (write, read) };
            (streams.hook_ends[number], streams.our_ends[number]) = (Some(theirs), Some(ours));
        }
        Ok(streams)
    }

    fn stdio(&self) -> [Stdio; 3] {
        [0, 1, 2].map(|number| match &self.hook_ends[number] {
            Some(end) => Stdio::Descriptor(end.as_raw_fd()),
            None => Stdio::Closed,
        })
    }

    /// From now on bytes flow between the hook and the ends of our caller. The hook has its ends; ours of them must be closed so
    /// that an end is seen.
    fn start(&mut self, outside: [OwnedFd; 3]) -> io::Result<()> {
        self.hook_ends = [None, None, None];
        for (number, outside) in outside.into_iter().enumerate() {
            let Some(ours) = self.our_ends[number].take() else { continue };
            let (outside, ours) = (File::from(outside), File::from(ours));
            let (from, to) = if number == 0 { (outside, ours) } else { (ours, outside) };
            // A hook need not read its input; an output that nobody reads is closed for the hook, too.
            self.pumps[number] = Some(StreamPump::start(from, to, number == 0)?);
        }
        Ok(())
    }

    /// The hook has ended: what it has written must arrive, as long as somebody reads, and what it would have read is kept. The
    /// signal of one who wants us to go.
    fn finish(&mut self, reactor: &mut Reactor) -> io::Result<Option<i32>> {
        self.pumps.iter_mut().flatten().for_each(StreamPump::note_hook_end);
        let ended = clock::monotonic_now();
        while !self.are_drained(clock::monotonic_now().since(ended)) {
            if let ReactorEvent::Signal(number) =
                reactor.next_event(Some(clock::monotonic_now().plus(POLL_INTERVAL)))?
            {
                return Ok(Some(number));
            }
        }
        Ok(None)
    }

    /// Whether all is handed on, so long after the end.
    fn are_drained(&self, since: Duration) -> bool {
        let done = |number: usize| self.pumps[number].as_ref().is_none_or(StreamPump::is_done);
        done(1) && done(2) && (done(0) || since > INPUT_DRAIN_TIME)
    }

    fn store_in(&self, record: &mut CallRecord) {
        let kept =
            |number: usize| self.pumps[number].as_ref().map(StreamPump::take_capture).unwrap_or_default();
        let [stdin, stdout, stderr] = [0, 1, 2].map(kept);
        (record.has_input, record.has_output) = (stdin.is_complete(), stdout.is_complete());
        (record.stdin, record.stdout, record.stderr) =
            (stdin.into_bytes(), stdout.into_bytes(), stderr.into_bytes());
    }
}

/// Further descriptors that our caller has left open for the hook, such as sockets of a daemon.
fn inherited_descriptors() -> Vec<i32> {
    let entries = std::fs::read_dir("/proc/self/fd").into_iter().flatten().flatten();
    let numbers = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    // What we have opened ourselves is closed at exec; so is the listing.
    numbers
        .filter(|&number| {
            number > 2 && descriptor_flags(number).is_some_and(|flags| flags & libc::O_CLOEXEC == 0)
        })
        .collect()
}

/// The flags of an open descriptor.
fn descriptor_flags(number: i32) -> Option<i32> {
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
    descriptor_flags(number).is_some_and(|flags| flags & libc::O_ACCMODE == libc::O_RDWR)
}

/// The signals that our caller has blocked.
fn blocked_signals() -> Vec<i32> {
    let text = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = text.lines().find_map(|line| line.strip_prefix("SigBlk:")).unwrap_or_default();
    let mask = u64::from_str_radix(mask.trim(), 16).unwrap_or(0);
    (1..=64).filter(|signal| mask >> (signal - 1) & 1 == 1).collect()
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};

    use super::*;

    fn pipe() -> (File, OwnedFd) {
        let (read, write) = nix::unistd::pipe2(nix::fcntl::OFlag::O_CLOEXEC).unwrap();
        (File::from(write), read)
    }

    #[test]
    fn streams_are_handed_on_and_kept() {
        let mut streams = HookStreams::new([false, false, true]).unwrap();
        assert!(matches!(streams.stdio()[2], Stdio::Closed));
        let hooks = [0, 1].map(|number| File::from(streams.hook_ends[number].take().unwrap()));
        let (mut caller, stdin) = pipe();
        let (stdout, output) = pipe();
        let (unused, _) = pipe();
        streams.start([stdin, stdout.into(), unused.into()]).unwrap();
        caller.write_all(b"ad\n").unwrap();
        drop(caller);
        let [mut reads, mut writes] = hooks;
        let mut text = String::new();
        reads.read_to_string(&mut text).unwrap();
        writes.write_all(b"answer\n").unwrap();
        drop(writes);
        let mut answer = String::new();
        File::from(output).read_to_string(&mut answer).unwrap();
        assert_eq!((text.as_str(), answer.as_str()), ("ad\n", "answer\n"));
        let mut record = CallRecord::default();
        streams.store_in(&mut record);
        assert_eq!((record.stdin, record.stdout), (b"ad\n".to_vec(), b"answer\n".to_vec()));
    }
}
