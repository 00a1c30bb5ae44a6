//! Implementation of [`World`](htc_base::world::World) on the real machine.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::hash::{BuildHasher, RandomState};
use std::io::{self, Read};
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, LazyLock};

use bstr::{BString, ByteSlice};
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

use htc_base::process::{ChildSpec, Exit, SessionMode, Stdio};
use htc_base::time::{ClockReading, MonotonicTime};
use htc_base::world::{
    Account, CommandOutput, ExternalCommand, FileKind, FileStatus, InterfaceAddress, MachineFacts, World,
    Zone,
};
use htc_classad::{EvalWorld, LanguageMode, UserMaps};

use super::bounded_read::read_whole;
use super::child;
use super::clock;
use super::identity;
use super::interrupts::InterruptSignals;
use super::machine_info;
use super::pipes::{OutputReader, PipeReadOutcome};
use super::spawn::{SpawnedChild, Spawner};

/// The machine on which this program runs, with a clock and random numbers that can be fixed (`--now`,
/// `--seed`).
#[derive(Clone, Debug)]
pub struct RealWorld {
    fixed_time: Option<ClockReading>,
    random: RandomGenerator,
    utc: bool,
    strict: bool,
    command_deadline: Option<MonotonicTime>,
    /// True if a command was killed because `command_deadline` had passed.
    command_timed_out: Arc<AtomicBool>,
    shared_maps: SharedUserMaps,
}

/// State of a random generator (SplitMix64) that several threads can use.
#[derive(Debug)]
struct RandomGenerator(AtomicU64);

impl RandomGenerator {
    fn new(seed: u64) -> Self {
        RandomGenerator(AtomicU64::new(seed))
    }

    fn next_state(&self) -> u64 {
        const STEP: u64 = 0x9e37_79b9_7f4a_7c15;
        self.0.fetch_add(STEP, Ordering::Relaxed).wrapping_add(STEP)
    }

    fn reseed(&self, seed: u64) {
        self.0.store(seed, Ordering::Relaxed);
    }
}

impl Clone for RandomGenerator {
    fn clone(&self) -> Self {
        RandomGenerator::new(self.0.load(Ordering::Relaxed))
    }
}

/// User maps that several worlds share.
#[derive(Clone, Debug, Default)]
pub struct SharedUserMaps(Option<Arc<LazyLock<UserMaps, UserMapLoader>>>);

/// Function that loads the user maps when they are first needed.
type UserMapLoader = Box<dyn FnOnce() -> UserMaps + Send>;

impl Default for RealWorld {
    fn default() -> Self {
        RealWorld::new()
    }
}

impl RealWorld {
    /// Creates a world with the real clock and a random seed.
    pub fn new() -> Self {
        // `RandomState` obtains its random keys from the system, without opening a file.
        let seed = RandomState::new().hash_one(0_u8);
        let timed_out = Arc::default();
        RealWorld {
            fixed_time: None,
            random: RandomGenerator::new(seed),
            utc: false,
            strict: false,
            command_deadline: None,
            command_timed_out: timed_out,
            shared_maps: SharedUserMaps::default(),
        }
    }

    /// Fixes the clock at this time.
    #[must_use]
    pub fn with_fixed_time(self, now: ClockReading) -> Self {
        RealWorld { fixed_time: Some(now), ..self }
    }

    /// Makes random numbers repeatable: the same seed gives the same sequence.
    #[must_use]
    pub fn with_seed(self, seed: u64) -> Self {
        RealWorld { random: RandomGenerator::new(seed), ..self }
    }

    /// Uses UTC as the local time zone, whatever the value of TZ.
    #[must_use]
    pub fn in_utc(self) -> Self {
        RealWorld { utc: true, ..self }
    }

    /// Sets the time at which running commands are killed (`--timeout`), or removes the limit if `until` is
    /// `None`.
    #[must_use]
    pub fn with_command_deadline(self, until: Option<MonotonicTime>) -> Self {
        RealWorld { command_deadline: until, ..self }
    }

    /// Returns a flag that is set when a command is killed because of the deadline. All worlds derived from
    /// this world share the flag.
    pub fn timeout_flag(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.command_timed_out)
    }

    /// Selects strict mode (`STRICT_CLASSAD_EVALUATION`) or condor mode (default: condor mode).
    #[must_use]
    pub fn with_strict_mode(self, strict: bool) -> Self {
        RealWorld { strict, ..self }
    }

    /// Sets the loader of user maps, which is called when `userMap()` is first evaluated.
    #[must_use]
    pub fn with_user_map_loader(self, load: impl FnOnce() -> UserMaps + Send + 'static) -> Self {
        let load: UserMapLoader = Box::new(load);
        RealWorld { shared_maps: SharedUserMaps(Some(Arc::new(LazyLock::new(load)))), ..self }
    }

    /// Returns the user maps of this world, so that [`RealWorld::with_shared_user_maps`] can pass them to a
    /// world in another thread.
    pub fn shared_user_maps(&self) -> SharedUserMaps {
        self.shared_maps.clone()
    }

    /// Uses user maps that are shared with another world.
    #[must_use]
    pub fn with_shared_user_maps(self, maps: SharedUserMaps) -> Self {
        RealWorld { shared_maps: maps, ..self }
    }
}

/// Returns the UTC offset of the local time zone (from TZ, or else the setting of the machine) at a time, in
/// seconds east of UTC. The second value is true if daylight saving time is in effect.
pub fn local_utc_offset(epoch: i64) -> (i32, bool) {
    let zone = Zone::local(epoch);
    (zone.offset, zone.daylight_saving)
}

impl EvalWorld for RealWorld {
    fn epoch(&self) -> i64 {
        self.now().epoch()
    }

    fn local_zone(&self, epoch: i64) -> Zone {
        self.zone(epoch)
    }

    fn random_bits(&self) -> u64 {
        self.random()
    }

    fn home(&self, user: &[u8]) -> Option<BString> {
        self.account_by_name(user).map(|account| account.home)
    }

    fn user_maps(&self) -> Option<&UserMaps> {
        self.shared_maps.0.as_ref().map(|maps| LazyLock::force(maps))
    }

    fn language_mode(&self) -> LanguageMode {
        LanguageMode { strict: self.strict, utc_times: self.utc }
    }
}

/// Opens a file. Standard input that belongs to another account, such as a pipe of the user who called `sudo`, cannot be opened
/// by its path; its descriptor is used in place of it.
fn open_or_use_stdin(path: &Path) -> io::Result<fs::File> {
    match fs::File::open(path) {
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied && path == Path::new("/dev/stdin") => {
            Ok(io::stdin().as_fd().try_clone_to_owned()?.into())
        }
        opened => opened,
    }
}

impl World for RealWorld {
    fn now(&self) -> ClockReading {
        self.fixed_time.unwrap_or_else(clock::now)
    }

    fn zone(&self, epoch: i64) -> Zone {
        if self.utc { Zone::utc() } else { Zone::local(epoch) }
    }

    /// Returns the next random number by SplitMix64 (Steele, Lea, Flood 2014). The generator is repeatable
    /// from a seed and good enough for spreading load and for ids.
    fn random(&self) -> u64 {
        let state = self.random.next_state();
        let mixed = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn reseed(&self, seed: u64) {
        self.random.reseed(seed);
    }

    fn env(&self, name: &OsStr) -> Option<OsString> {
        std::env::var_os(name)
    }

    fn environment(&self) -> Vec<(OsString, OsString)> {
        std::env::vars_os().collect()
    }

    fn read_file(&self, path: &Path, limit: Option<u64>) -> io::Result<Vec<u8>> {
        let file = open_or_use_stdin(path)?;
        let Some(limit) = limit else { return read_whole(file) };
        let mut content = Vec::new();
        file.take(limit).read_to_end(&mut content)?;
        Ok(content)
    }

    fn write_file(&self, path: &Path, content: &[u8]) -> io::Result<()> {
        fs::write(path, content)
    }

    fn list_dir(&self, path: &Path) -> io::Result<Vec<OsString>> {
        fs::read_dir(path)?.map(|entry| Ok(entry?.file_name())).collect()
    }

    fn stat(&self, path: &Path) -> io::Result<FileStatus> {
        let status = fs::metadata(path)?;
        let kind = match () {
            () if status.is_file() => FileKind::File,
            () if status.is_dir() => FileKind::Directory,
            () => FileKind::Other,
        };
        Ok(FileStatus {
            kind,
            mode: status.mode() & 0o7777,
            uid: status.uid(),
            gid: status.gid(),
            size: status.size(),
            modified: status.mtime(),
            modified_nanos: status.mtime_nsec(),
        })
    }

    fn real_path(&self, path: &Path) -> io::Result<PathBuf> {
        fs::canonicalize(path)
    }

    fn may_execute(&self, path: &Path) -> bool {
        nix::unistd::access(path, nix::unistd::AccessFlags::X_OK).is_ok()
    }

    fn current_dir(&self) -> io::Result<PathBuf> {
        std::env::current_dir()
    }

    fn run(&self, command: &ExternalCommand) -> io::Result<CommandOutput> {
        let output = run_command(command, self.command_deadline);
        // If less than a millisecond is left, the deadline is treated as expired.
        let timed_out =
            self.command_deadline.is_some_and(|until| until.since(clock::monotonic_now()).as_millis() == 0);
        if timed_out && output.as_ref().is_err_and(|error| error.kind() == io::ErrorKind::TimedOut) {
            self.command_timed_out.store(true, Ordering::Relaxed);
            return Err(io::Error::new(io::ErrorKind::TimedOut, "the total time limit expired"));
        }
        output
    }

    fn account_by_name(&self, name: &[u8]) -> Option<Account> {
        identity::account_by_name(name)
    }

    fn account_by_uid(&self, uid: u32) -> Option<Account> {
        identity::account_by_uid(uid)
    }

    fn effective_uid(&self) -> u32 {
        identity::effective_uid()
    }

    fn machine(&self) -> MachineFacts {
        machine_info::measure_machine()
    }

    fn host(&self) -> [String; 3] {
        machine_info::host_names()
    }

    fn interfaces(&self) -> Vec<InterfaceAddress> {
        machine_info::list_interfaces()
    }
}

/// Runs a command until it ends or the deadline passes. When the command has ended, the other processes of
/// its process group are killed. At the deadline, when the output exceeds the limit, or when a signal ends
/// this program, the whole group is killed.
fn run_command(command: &ExternalCommand, until: Option<MonotonicTime>) -> io::Result<CommandOutput> {
    let name = command.argv.first().ok_or(Errno::EINVAL)?;
    let program = find_in_path(name).ok_or(Errno::ENOENT)?;
    let mut spec = ChildSpec::new(program);
    spec.argv.clone_from(&command.argv);
    spec.env = std::env::vars_os()
        .map(|(name, value)| {
            let mut text = name.as_bytes().to_vec();
            text.push(b'=');
            text.extend_from_slice(value.as_bytes());
            BString::from(text)
        })
        .collect();
    // One extra byte distinguishes output that exceeds the limit from output of exactly this size.
    let output = Stdio::Capture { limit: command.output_limit.saturating_add(1) };
    spec.stdio = [Stdio::Bytes(command.stdin.clone()), output, Stdio::Inherit];
    if command.merge_stderr {
        spec.stdio[2] = Stdio::Stdout;
    }
    spec.session = SessionMode::NewSession;
    spec.dies_with_parent = true;
    // Signals are blocked before the command starts; otherwise a signal could end this program and leave the
    // command running.
    let interrupts = InterruptSignals::new()?;
    let spawned = Spawner::new()?.spawn(spec).map_err(|error| io::Error::from_raw_os_error(error.errno()))?;
    let deadline = clock::monotonic_now().plus(command.timeout);
    let deadline = until.map_or(deadline, |until| until.min(deadline));
    collect_output(spawned, command.output_limit, deadline, &interrupts)
}

fn collect_output(
    spawned: SpawnedChild,
    limit: usize,
    deadline: MonotonicTime,
    interrupts: &InterruptSignals,
) -> io::Result<CommandOutput> {
    let SpawnedChild { pid, mut stdin, stdout, .. } = spawned;
    let Some(mut stdout) = stdout else { return Err(Errno::EBADF.into()) };
    let finish = |error: io::Error| {
        drop(child::send_signal(-pid, nix::libc::SIGKILL));
        drop(child::reap_process(pid, true));
        Err(error)
    };
    let end = match child::open_pidfd(pid) {
        Ok(end) => end,
        Err(error) => return finish(error),
    };
    let mut buffer = vec![0; 64 * 1024];
    let mut ended = None;
    loop {
        if let Some(stdin) = &mut stdin {
            stdin.write();
        }
        let mut blocked = false;
        while stdout.descriptor().is_some() && !blocked {
            blocked = matches!(stdout.read(&mut buffer), PipeReadOutcome::Blocked);
        }
        // After the end of the command, the remaining output in the pipe is read, but a descendant that keeps
        // the pipe open is not waited for.
        if ended.is_some() {
            break;
        }
        let left = deadline.since(clock::monotonic_now()).as_millis();
        if left == 0 {
            return finish(io::ErrorKind::TimedOut.into());
        }
        let input = stdin.as_ref().and_then(super::pipes::InputWriter::descriptor);
        let read = [Some(end.as_fd()), Some(interrupts.descriptor()), stdout.descriptor()];
        let read = read.into_iter().flatten().map(|fd| PollFd::new(fd, PollFlags::POLLIN));
        let mut set: Vec<PollFd<'_>> =
            read.chain(input.map(|fd| PollFd::new(fd, PollFlags::POLLOUT))).collect();
        let timeout = PollTimeout::try_from(left.min(i32::MAX as u128) as i32).unwrap_or(PollTimeout::MAX);
        match poll(&mut set, timeout) {
            Ok(_) | Err(Errno::EINTR) => {}
            Err(errno) => return finish(errno.into()),
        }
        let has_ended = set.first().and_then(PollFd::any).unwrap_or(false);
        if let Some(signal) = interrupts.take_signal() {
            let killed = finish(io::ErrorKind::Interrupted.into());
            // The signal is delivered when `interrupts` is dropped, and ends this program.
            let _ = nix::sys::signal::raise(signal);
            return killed;
        }
        if has_ended {
            // The command is still a zombie, so no other process can have its pid.
            drop(child::send_signal(-pid, nix::libc::SIGKILL));
        }
        ended = child::reap_process(pid, false)?;
    }
    let status = ended.map_or(0, |reaped| reaped.status);
    let exit = Exit::from_raw(status).unwrap_or(Exit::Code(255));
    let captured = OutputReader::into_captured(stdout, false);
    if captured.bytes.len() > limit {
        return Err(io::ErrorKind::FileTooLarge.into());
    }
    Ok(CommandOutput { exit, stdout: captured.bytes })
}

/// Returns the path of the program to execute. A name without a slash is searched in PATH.
fn find_in_path(name: &[u8]) -> Option<PathBuf> {
    let name = Path::new(OsStr::from_bytes(name));
    if name.as_os_str().as_bytes().contains_str("/") {
        return Some(name.to_owned());
    }
    let path = std::env::var_os("PATH").unwrap_or_else(|| "/bin:/usr/bin".into());
    std::env::split_paths(&path)
        .map(|directory| directory.join(name))
        .find(|file| nix::unistd::access(file, nix::unistd::AccessFlags::X_OK).is_ok() && file.is_file())
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn shell(script: &str) -> ExternalCommand {
        ExternalCommand {
            argv: vec!["sh".into(), "-c".into(), script.into()],
            stdin: Vec::new(),
            merge_stderr: false,
            timeout: Duration::from_secs(20),
            output_limit: 100,
        }
    }

    #[test]
    fn a_command_reads_its_input_and_returns_output_and_status() {
        let mut command = shell("cat; echo problem >&2; exit 3");
        command.stdin = b"text".to_vec();
        command.merge_stderr = true;
        let output = RealWorld::new().run(&command).unwrap();
        assert_eq!((output.exit, output.stdout.as_bstr()), (Exit::Code(3), "textproblem\n".into()));
    }

    #[test]
    fn hanging_endless_and_missing_commands_have_their_own_errors() {
        let world = RealWorld::new();
        let mut hang = shell("exec sleep 1000");
        hang.timeout = Duration::from_millis(50);
        assert_eq!(world.run(&hang).unwrap_err().kind(), io::ErrorKind::TimedOut);
        let endless = shell("yes");
        assert_eq!(world.run(&endless).unwrap_err().kind(), io::ErrorKind::FileTooLarge);
        let mut missing = shell("");
        missing.argv[0] = "no-such-program-anywhere".into();
        assert_eq!(world.run(&missing).unwrap_err().kind(), io::ErrorKind::NotFound);
    }

    #[test]
    fn random_numbers_repeat_from_a_seed() {
        let draw = |world: RealWorld| [world.random(), world.random()];
        assert_eq!(draw(RealWorld::new().with_seed(7)), draw(RealWorld::new().with_seed(7)));
        assert_ne!(draw(RealWorld::new()), draw(RealWorld::new()));
    }
}
