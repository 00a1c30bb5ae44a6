//! Description of one call of a hook, from which its child process is created.
//!
//! Reference: `HookClientMgr.cpp` (spawn) and Create_Process of `daemon_core.cpp`; details that are not in the source
//! were observed in 25.14.

use std::path::PathBuf;

use bstr::{BString, ByteSlice};

use super::hook_environment::HookEnvironment;
use super::hook_limits;
use super::spawn_mode::SpawnMode;
use htc_base::process::{
    AncestorStamp, ChildSpec, LeftoverPolicy, ProcessIdentity, ResourceLimit, SessionMode, Stdio,
};
use htc_base::quirks::QuirkMode;
use htc_base::time::ClockReading;
use htc_hook::{HookCaller, HookType};

/// Number of bytes kept of a hook's output [default of PIPE_BUFFER_MAX].
pub const DEFAULT_PIPE_BUFFER_MAX: usize = 10_240;

/// Signals that are not blocked in the hooks of 25.14: those raised by faults, KILL, STOP, and those that the C
/// library reserves for itself.
const UNBLOCKED_SIGNALS: [i32; 10] = [4, 5, 6, 7, 8, 9, 11, 19, 32, 33];
/// SIGPROF: the starter blocks it until its job has run.
const PROFILING_SIGNAL: i32 = 27;

/// Handling of a hook's standard error while the hook runs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum StderrHandling {
    /// Standard error is collected; it has the same size limit as standard output.
    #[default]
    Collected,
    /// Standard error is passed on in pieces while the hook runs.
    Streamed,
}

/// Call of a hook: everything needed to create its process.
#[derive(Clone, Debug)]
pub struct HookCall {
    /// Type of the hook.
    pub hook: HookType,
    /// The path of the hook as configured.
    pub path: BString,
    /// Arguments after the path.
    pub arguments: Vec<BString>,
    /// Complete standard input.
    pub stdin: Vec<u8>,
    /// Environment of the hook call.
    pub environment: HookEnvironment,
    /// Working directory of the hook, relative to which its path is resolved: LOG for hooks of the startd and the
    /// router, the scratch directory for hooks of the starter; `None` for the working directory of this program.
    pub directory: Option<PathBuf>,
    /// The account that the hook runs as, or `None` for the account of this program.
    pub identity: Option<ProcessIdentity>,
    /// Resource limits that the caller has set for itself.
    pub limits: Vec<ResourceLimit>,
    /// Maximum number of bytes kept of stdout and of stderr (PIPE_BUFFER_MAX). Excess output is dropped; with quirk
    /// `hooks-spawned-as-daemons` the pipe is closed at that length.
    pub output_limit: usize,
    /// Handling of stderr.
    pub stderr_handling: StderrHandling,
    /// Family marker of the process (`_CONDOR_ANCESTOR_*`), or `None`.
    pub ancestor: Option<AncestorStamp>,
    /// Quirks of 25.14 to reproduce.
    pub quirks: QuirkMode,
}

/// Error of a hook call that would run as root. The reference refuses such a call (`Create_Process` with a final
/// privilege state).
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a hook must not run as root; name another account")]
pub struct RootHookError;

impl HookCall {
    /// Creates a call with the required properties; all others have their defaults.
    pub fn new(
        hook: HookType,
        path: impl Into<BString>,
        stdin: Vec<u8>,
        environment: HookEnvironment,
    ) -> Self {
        HookCall {
            hook,
            path: path.into(),
            arguments: Vec::new(),
            stdin,
            environment,
            directory: None,
            identity: None,
            limits: hook_limits::default_daemon_limits(),
            output_limit: DEFAULT_PIPE_BUFFER_MAX,
            stderr_handling: StderrHandling::default(),
            ancestor: None,
            quirks: QuirkMode::Manual,
        }
    }

    /// Creates a family marker for a child that is started at `now`.
    pub fn new_family_marker(now: ClockReading, random: u64) -> AncestorStamp {
        AncestorStamp { time: now.epoch(), random: random as u32 }
    }

    /// Describes the child process.
    ///
    /// # Errors
    /// Fails if the account is root.
    pub fn child_spec(self) -> Result<ChildSpec, RootHookError> {
        if self.identity.as_ref().is_some_and(|identity| identity.uid == 0) {
            return Err(RootHookError);
        }
        let caller = self.hook.caller();
        let family = self.hook.is_family_killed();
        let as_daemon = SpawnMode::from_quirks(self.quirks).as_daemon;
        let stdio = self.stdio();
        let path = self.path.to_path_lossy().into_owned();
        let program = match &self.directory {
            Some(directory) => directory.join(&path),
            None => path,
        };
        let argv = std::iter::once(self.path).chain(self.arguments).collect();
        Ok(ChildSpec {
            argv,
            env: self.environment.entries(),
            cwd: self.directory,
            identity: self.identity,
            stdio,
            session: if family { SessionMode::NewSession } else { SessionMode::Inherit },
            umask: 0o022,
            limits: self.limits,
            ignore_sigpipe: as_daemon,
            blocked_signals: if as_daemon { blocked_signals(caller) } else { Vec::new() },
            ancestor_stamp: self.ancestor,
            leftover_policy: if family { LeftoverPolicy::Kill } else { LeftoverPolicy::Keep },
            // 25.14 closes the pipe. Its hooks ignore SIGPIPE and survive that; hooks of this program have the
            // default action, so excess output is read and dropped instead.
            discards_excess_output: !as_daemon,
            ..ChildSpec::new(program)
        })
    }

    fn stdio(&self) -> [Stdio; 3] {
        let unused = SpawnMode::from_quirks(self.quirks).unused_descriptor();
        let stdin = if self.stdin.is_empty() { unused.clone() } else { Stdio::Bytes(self.stdin.clone()) };
        let captured = Stdio::Capture { limit: self.output_limit };
        let complaints = match self.stderr_handling {
            StderrHandling::Collected => captured.clone(),
            StderrHandling::Streamed => Stdio::Stream,
        };
        match (self.hook.is_output_read(), unused) {
            (true, _) => [stdin, captured, complaints],
            (false, Stdio::Closed) => [stdin, Stdio::Closed, Stdio::Closed],
            (false, unused) => [stdin, unused, complaints],
        }
    }
}

fn blocked_signals(caller: HookCaller) -> Vec<i32> {
    (1..=64).filter(|signal| is_blocked_by_daemon(*signal, caller)).collect()
}

/// Returns true if a daemon of 25.14 blocks the signal in its hooks.
pub fn is_blocked_by_daemon(signal: i32, caller: HookCaller) -> bool {
    !UNBLOCKED_SIGNALS.contains(&signal) && (signal != PROFILING_SIGNAL || caller == HookCaller::Starter)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(hook: HookType, quirks: QuirkMode) -> HookCall {
        let mut call = HookCall::new(hook, "bin/hook", b"A = 1\n".to_vec(), HookEnvironment::default());
        call.quirks = quirks;
        call
    }

    #[test]
    fn a_relative_path_is_in_the_callers_directory_and_remains_argv0() {
        let mut call = call(HookType::ReplyFetch, QuirkMode::Manual);
        call.directory = Some("/log".into());
        call.arguments = vec!["accept".into()];
        let spec = call.child_spec().unwrap();
        assert_eq!(spec.program, PathBuf::from("/log/bin/hook"));
        assert_eq!(spec.argv, ["bin/hook", "accept"]);
        assert_eq!(spec.cwd, Some("/log".into()));
    }

    #[test]
    fn hooks_without_a_reader_have_closed_outputs_only_in_the_reference() {
        let spec = call(HookType::UpdateJobInfo, QuirkMode::Reference).child_spec().unwrap();
        assert_eq!(spec.stdio[1..], [Stdio::Closed, Stdio::Closed]);
        let mut call = call(HookType::UpdateJobInfo, QuirkMode::Manual);
        call.stdin.clear();
        let spec = call.child_spec().unwrap();
        assert_eq!(spec.stdio[..2], [Stdio::Null, Stdio::Null]);
        assert_eq!(spec.stdio[2], Stdio::Capture { limit: DEFAULT_PIPE_BUFFER_MAX });
    }

    #[test]
    fn the_signal_mask_is_the_recorded_one_of_the_reference() {
        let mask = |hook| {
            let spec = call(hook, QuirkMode::Reference).child_spec().unwrap();
            spec.blocked_signals.iter().fold(0u64, |mask, signal| mask | 1 << (signal - 1))
        };
        assert_eq!(mask(HookType::FetchWork), 0xffff_fffe_7bfb_fa07);
        assert_eq!(mask(HookType::PrepareJob), 0xffff_fffe_7ffb_fa07);
    }

    #[test]
    fn only_startd_and_router_kill_leftover_processes_of_hooks() {
        let left = |hook| call(hook, QuirkMode::Manual).child_spec().unwrap().leftover_policy;
        assert_eq!(left(HookType::FetchWork), LeftoverPolicy::Kill);
        assert_eq!(left(HookType::JobCleanup), LeftoverPolicy::Kill);
        assert_eq!(left(HookType::JobExit), LeftoverPolicy::Keep);
    }

    #[test]
    fn no_hook_runs_as_root() {
        let mut call = call(HookType::FetchWork, QuirkMode::Manual);
        call.identity = Some(ProcessIdentity { uid: 0, gid: 0, groups: vec![] });
        assert_eq!(call.child_spec().unwrap_err(), RootHookError);
    }
}
