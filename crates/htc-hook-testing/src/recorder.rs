//! Recorder that replaces a hook in a live pool: it calls the real hook with the same arguments and environment,
//! forwards its streams, and records them.

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

/// Maximum time to read the rest of the input after the hook has ended.
const INPUT_DRAIN_TIME: Duration = Duration::from_millis(200);
/// Interval at which the streams are checked after the hook has ended.
const POLL_INTERVAL: Duration = Duration::from_millis(2);
/// Signals that are forwarded to the hook.
const FORWARDED_SIGNALS: [i32; 7] =
    [libc::SIGTERM, libc::SIGINT, libc::SIGHUP, libc::SIGQUIT, libc::SIGUSR1, libc::SIGUSR2, libc::SIGALRM];

/// Hook call to be made, with the arguments and environment of this process.
pub struct CallRecorder {
    record: CallRecord,
    spec: ChildSpec,
    closed: [bool; 3],
}

/// Recorded call of a hook that has ended.
pub struct RecordedCall {
    /// Record of the call.
    pub record: CallRecord,
    /// Exit status of the hook, or the reason why it could not be started.
    pub end: Result<Exit, SpawnError>,
    /// Signal that arrived after the hook had ended, or `None`.
    pub interrupted: Option<i32>,
}

impl CallRecorder {
    /// Determines how this process was called. This function must be called before the process opens any file. If
    /// `hook` is `None`, the hook type is guessed from the file name.
    ///
    /// # Errors
    /// The path of the hook cannot be made absolute.
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

    /// Calls the hook and records the call. `outside` contains the descriptors of the three standard streams that the
    /// caller has passed to this process.
    ///
    /// # Errors
    /// The streams cannot be created, or waiting for the hook fails.
    pub fn run(self, outside: [OwnedFd; 3]) -> io::Result<RecordedCall> {
        let CallRecorder { mut record, mut spec, closed } = self;
        let mut reactor = Reactor::new(&FORWARDED_SIGNALS)?;
        let mut streams = HookStreams::new(closed)?;
        spec.stdio = streams.stdio();
        record.facts = describe_process(&spec);
        record.began = Some(RealWorld::new().now().epoch_seconds_f64());
        // The name of the parent process shows which daemon called the hook: condor_startd, condor_starter or
        // condor_shadow.
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
        // Dropping the reactor would kill the processes that the hook left behind, which would survive without the
        // recorder.
        std::mem::forget(reactor);
        streams.store_in(&mut record);
        Ok(RecordedCall { record, end, interrupted })
    }
}

/// Waits for the end of the hook, and forwards signals to it meanwhile.
fn wait_for_hook(reactor: &mut Reactor, child: ChildId) -> io::Result<Exit> {
    loop {
        match reactor.next_event(None)? {
            ReactorEvent::Signal(number) => reactor.send_signal(child, number, SignalScope::Process),
            ReactorEvent::Exited { exit, .. } => return Ok(exit),
            _ => {}
        }
    }
}

/// Standard streams between the caller and the hook.
struct HookStreams {
    /// Hook's end of each open stream.
    hook_ends: [Option<OwnedFd>; 3],
    /// Recorder's end of each open stream, until a thread takes it to forward the stream.
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

    /// Starts to forward data between the caller and the hook. Closes the hook's ends in this process, so that the
    /// end of each stream can be detected.
    fn start(&mut self, outside: [OwnedFd; 3]) -> io::Result<()> {
        self.hook_ends = [None, None, None];
        for (number, outside) in outside.into_iter().enumerate() {
            let Some(ours) = self.our_ends[number].take() else { continue };
            let (outside, ours) = (File::from(outside), File::from(ours));
            let (from, to) = if number == 0 { (outside, ours) } else { (ours, outside) };
            // The hook need not read all of its input. If the caller closes an output stream, that stream is closed
            // for the hook as well.
            self.pumps[number] = Some(StreamPump::start(from, to, number == 0)?);
        }
        Ok(())
    }

    /// Forwards the remaining output after the hook has ended, and captures the rest of the input. Returns the signal
    /// that arrived in the meantime, or `None`.
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

    /// Returns true if the output streams have ended, and the input stream has ended or `INPUT_DRAIN_TIME` has
    /// passed.
    fn are_drained(&self, since: Duration) -> bool {
        let is_done = |number: usize| self.pumps[number].as_ref().is_none_or(StreamPump::is_done);
        is_done(1) && is_done(2) && (is_done(0) || since > INPUT_DRAIN_TIME)
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

/// Returns the further descriptors that the caller left open for the hook, such as sockets of a daemon.
fn inherited_descriptors() -> Vec<i32> {
    let entries = std::fs::read_dir("/proc/self/fd").into_iter().flatten().flatten();
    let numbers = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    // Descriptors that this process has opened have close-on-exec set, including that of the directory listing.
    numbers
        .filter(|&number| {
            number > 2 && descriptor_flags(number).is_some_and(|flags| flags & libc::O_CLOEXEC == 0)
        })
        .collect()
}

/// Returns the flags of an open descriptor, or `None` if it is closed.
fn descriptor_flags(number: i32) -> Option<i32> {
    let text = std::fs::read_to_string(format!("/proc/self/fdinfo/{number}")).ok()?;
    let flags = text.lines().find_map(|line| line.strip_prefix("flags:"))?;
    i32::from_str_radix(flags.trim(), 8).ok()
}

/// Returns true if a descriptor was closed when this process was started. The Rust runtime then opens /dev/null for
/// reading and writing, which callers do not do.
fn was_closed(number: i32) -> bool {
    let path = format!("/proc/self/fd/{number}");
    let Ok(status) = std::fs::metadata(&path) else { return true };
    let Ok(null) = std::fs::metadata("/dev/null") else { return false };
    if !status.file_type().is_char_device() || status.rdev() != null.rdev() {
        return false;
    }
    descriptor_flags(number).is_some_and(|flags| flags & libc::O_ACCMODE == libc::O_RDWR)
}

/// Returns the signals that the caller has blocked for this process.
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
    fn streams_are_passed_on_and_recorded() {
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
