//! Runs of a program below strace: counts of its calls, and runs in which one fails.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::fault::{Fault, Scope};

/// Time after which a run counts as hanging. A program below strace on a busy machine takes 3 s.
const TIME_LIMIT: Duration = Duration::from_secs(40);

/// Returns the reason why nothing can be injected here, or `None`.
pub(crate) fn missing() -> Option<String> {
    let words = ["-qq", "-o", "/dev/null", "-e", "inject=uname:error=EIO", "uname"];
    match Command::new("strace").args(words).stderr(Stdio::null()).stdout(Stdio::null()).status() {
        Err(error) => Some(format!("strace cannot be run: {error}")),
        Ok(status) if status.success() => Some("strace does not inject faults here".to_owned()),
        Ok(_) => None,
    }
}

/// Command line of a program, with its whole environment.
pub(crate) struct CommandLine {
    pub(crate) words: Vec<OsString>,
    pub(crate) environment: Vec<(&'static str, OsString)>,
}

impl CommandLine {
    pub(crate) fn new<const N: usize>(program: &str, words: [&str; N], home: &Path) -> CommandLine {
        let words = std::iter::once(program).chain(words).map(OsString::from).collect();
        let environment = vec![
            ("PATH", "/usr/local/bin:/usr/bin:/bin".into()),
            ("HOME", home.into()),
            ("TMPDIR", home.join("tmp").into()),
        ];
        CommandLine { words, environment }
    }

    pub(crate) fn word(mut self, word: impl Into<OsString>) -> Self {
        self.words.push(word.into());
        self
    }

    pub(crate) fn variable(mut self, name: &'static str, value: impl Into<OsString>) -> Self {
        self.environment.push((name, value.into()));
        self
    }
}

/// Result of a run.
pub(crate) struct FaultedRun {
    pub(crate) status: ExitStatus,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
    /// True if it was killed because it had exceeded the time limit.
    pub(crate) hung: bool,
    /// The fault, or `None`.
    pub(crate) fault: Option<Fault>,
    /// True if the fault happened in the program or a helper.
    pub(crate) hit: bool,
    /// Number of processes in which it happened.
    pub(crate) hits: usize,
    /// True if the fault happened in another program, such as the shell of a hook.
    pub(crate) hit_another: bool,
}

impl FaultedRun {
    /// Status, or 128 plus the signal.
    pub(crate) fn code(&self) -> i32 {
        self.status.code().or(self.status.signal().map(|signal| 128 + signal)).unwrap_or(255)
    }
}

/// Runs a command in a directory and waits for its end.
pub(crate) fn run(line: &CommandLine, home: &Path) -> FaultedRun {
    run_words(&line.words, line, home)
}

/// Runs a command below strace with a fault.
pub(crate) fn run_with_fault(line: &CommandLine, home: &Path, fault: &Fault) -> FaultedRun {
    let trace = home.join("trace");
    let mut words: Vec<OsString> =
        ["strace", "-f", "-qq", "-s", "80", "-e", "signal=none", "-o"].map(Into::into).into();
    words.push(trace.clone().into());
    words.extend(["-e".into(), fault.expression().into(), "-e".into()]);
    match fault.scope {
        Scope::Program => {
            words.extend([format!("trace={}", fault.call).into(), "-b".into(), "execve".into()])
        }
        Scope::All => words.push(format!("trace={},execve", fault.call).into()),
    }
    words.push("--".into());
    words.extend(line.words.iter().cloned());
    let mut run = run_words(&words, line, home);
    let trace = Trace::parse(&String::from_utf8_lossy(&fs::read(trace).unwrap_or_default()));
    run.hit = trace.processes.values().any(|process| process.injected && !process.is_foreign);
    run.hits = trace.processes.values().filter(|process| process.injected).count();
    run.fault = Some(fault.clone());
    run.hit_another = trace.processes.values().any(|process| process.injected && process.is_foreign);
    run
}

fn run_words(words: &[OsString], line: &CommandLine, home: &Path) -> FaultedRun {
    let file = |name: &str| fs::File::create(home.join(name)).unwrap();
    let mut child = Command::new(&words[0])
        .args(&words[1..])
        .env_clear()
        .envs(line.environment.iter().map(|(name, value)| (name, value)))
        .current_dir(home)
        .process_group(0)
        .stdin(Stdio::null())
        .stdout(file("stdout"))
        .stderr(file("stderr"))
        .spawn()
        .unwrap();
    let end = Instant::now() + TIME_LIMIT;
    let mut hung = false;
    let status = loop {
        if let Some(status) = child.try_wait().unwrap() {
            break status;
        }
        if Instant::now() > end {
            hung = true;
            kill_processes(home);
            let _ = child.kill();
        }
        std::thread::sleep(Duration::from_millis(2));
    };
    let text =
        |name: &str| String::from_utf8_lossy(&fs::read(home.join(name)).unwrap_or_default()).into_owned();
    FaultedRun {
        status,
        stdout: text("stdout"),
        stderr: text("stderr"),
        hung,
        fault: None,
        hit: false,
        hits: 0,
        hit_another: false,
    }
}

/// Returns the processes that have this directory in their environment.
pub(crate) fn processes(home: &Path) -> Vec<i32> {
    let home = home.as_os_str().as_encoded_bytes();
    let entries = fs::read_dir("/proc").unwrap().flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let belongs = |pid: &i32| {
        let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        environment.windows(home.len()).any(|part| part == home)
    };
    pids.filter(belongs).collect()
}

fn kill_processes(home: &Path) {
    for pid in processes(home) {
        let _ = kill(Pid::from_raw(pid), Signal::SIGKILL);
    }
}

/// Calls of one kind in the processes of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct CallCount {
    /// Calls of all processes in scope.
    pub(crate) calls: usize,
    /// Calls of the process that makes most of them.
    pub(crate) most: usize,
}

/// Counts the calls of a run without faults.
pub(crate) fn count_calls(
    line: &CommandLine,
    home: &Path,
    scope: Scope,
) -> (FaultedRun, BTreeMap<String, CallCount>) {
    let trace = home.join("trace");
    let mut words: Vec<OsString> =
        ["strace", "-f", "-qq", "-s", "80", "-e", "signal=none", "-o"].map(Into::into).into();
    words.push(trace.clone().into());
    if scope == Scope::Program {
        words.extend(["-b".into(), "execve".into()]);
    }
    words.push("--".into());
    words.extend(line.words.iter().cloned());
    let run = run_words(&words, line, home);
    let trace = Trace::parse(&String::from_utf8_lossy(&fs::read(trace).unwrap_or_default()));
    let mut counts = BTreeMap::<String, CallCount>::new();
    for process in trace.processes.values() {
        if scope == Scope::All && !process.is_helper {
            continue;
        }
        for (call, number) in &process.calls {
            let count = counts.entry(call.clone()).or_default();
            count.calls += number;
            count.most = count.most.max(*number);
        }
    }
    (run, counts)
}

/// Process in a trace.
#[derive(Default)]
struct TracedProcess {
    calls: BTreeMap<String, usize>,
    /// True if it has executed the program again.
    is_helper: bool,
    /// True if it has executed another program.
    is_foreign: bool,
    /// True if a fault was injected since.
    injected: bool,
}

/// Output of strace with `-f`.
#[derive(Default)]
struct Trace {
    processes: BTreeMap<u32, TracedProcess>,
}

impl Trace {
    fn parse(text: &str) -> Trace {
        let mut trace = Trace::default();
        let mut program_started = false;
        for line in text.lines() {
            let Some((pid, rest)) = line.split_once(' ') else { continue };
            let Ok(pid) = pid.parse() else { continue };
            let process = trace.processes.entry(pid).or_default();
            let rest = rest.trim_start();
            if let Some((call, arguments)) = rest.split_once('(')
                && call.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
            {
                *process.calls.entry(call.to_owned()).or_default() += 1;
                // The first execve starts the program itself.
                if call == "execve"
                    && !rest.contains("INJECTED")
                    && std::mem::replace(&mut program_started, true)
                {
                    let own = arguments.starts_with("\"/proc/self/exe\"") || arguments.contains("/htc-");
                    (process.is_helper, process.is_foreign) = (own, !own);
                }
            }
            process.injected |= rest.ends_with("(INJECTED)") || rest.contains("(INJECTED:");
        }
        trace
    }
}
