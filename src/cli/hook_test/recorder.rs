//! `htc-hook-test record`: stands in for a hook in a live pool, calls it, and keeps what went in and came out.

use std::fs::File;
use std::io::{Read, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

use bstr::BString;
use clap::Args;
use nix::libc;

use super::one;
use crate::cli::common::{Problem, Session, Status};
use crate::hook::HookType;
use crate::os::{Event, Reactor, RealWorld, Stream, Whom, clock};
use crate::process::{ChildSpec, Exit, LeftBehind, Session as ProcessSession, Stdio};
use crate::runner::hook_test::record::Record;
use crate::world::World;

/// Options of `record`.
#[derive(Args, Clone, Debug)]
pub(super) struct RecordArgs {
    /// Keep the calls below DIR
    #[arg(long, value_name = "DIR")]
    pub into: PathBuf,
    /// The type of hook, such as prepare, for replay; told from the hook's name otherwise
    #[arg(long = "type", value_name = "TYPE")]
    pub kind: Option<String>,
    /// The hook and its arguments
    #[arg(value_name = "HOOK", required = true, last = true)]
    pub command: Vec<std::ffi::OsString>,
}

/// Input is kept up to this size; more is handed on but not kept.
const MOST_INPUT: u64 = 64 << 20;
/// Signals that are handed on.
const HANDED_ON: [i32; 7] =
    [libc::SIGTERM, libc::SIGINT, libc::SIGHUP, libc::SIGQUIT, libc::SIGUSR1, libc::SIGUSR2, libc::SIGALRM];

pub(super) fn run(args: &RecordArgs, session: &Session) -> anyhow::Result<Status> {
    let Some((program, rest)) = args.command.split_first() else {
        return Err(Problem::usage("no hook is named").into());
    };
    // Before anything else is opened or blocked signals are looked at.
    let closed = [0, 1, 2].map(was_closed);
    let blocked = blocked_signals();
    let stdin = if closed[0] { Vec::new() } else { input()? };
    let program = std::path::absolute(program)?;
    let argv: Vec<BString> = std::iter::once(program.as_os_str())
        .chain(rest.iter().map(std::ffi::OsString::as_os_str))
        .map(|word| word.as_bytes().into())
        .collect();
    let name = program.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let kind = args.kind.as_deref().unwrap_or(&name);
    let env: Vec<BString> = RealWorld::new()
        .environment()
        .into_iter()
        .map(|(name, value)| [name.as_bytes(), b"=", value.as_bytes()].concat().into())
        .collect();
    let mut record = Record {
        hook: HookType::from_name(kind.as_bytes()),
        name,
        argv: argv.clone(),
        env: env.clone(),
        stdin: stdin.clone(),
        has_input: true,
        has_output: true,
        ..Record::default()
    };
    let output = |number: usize| if closed[number] { Stdio::Closed } else { Stdio::Pieces };
    let spec = ChildSpec {
        argv,
        env,
        stdio: [if closed[0] { Stdio::Closed } else { Stdio::Bytes(stdin) }, output(1), output(2)],
        session: ProcessSession::Inherit,
        umask: umask(),
        // The runtime of this program ignores it in any case; so do the daemons in their hooks.
        ignore_sigpipe: true,
        blocked_signals: blocked,
        left_behind: LeftBehind::Kept,
        ..ChildSpec::new(&program)
    };
    let began = clock::tick();
    let exit = {
        let mut reactor = Reactor::new(&HANDED_ON)?;
        let child = match reactor.spawn(spec) {
            Ok(child) => child,
            Err(error) => {
                session.report(&Problem::new(Status::Failed, error.to_string()).into());
                let missing = error.errno() == libc::ENOENT;
                return Ok(if missing { Status::NotFound } else { Status::NotExecutable });
            }
        };
        loop {
            match reactor.next(None)? {
                Event::Piece { stream: Stream::Stdout, bytes, .. } => {
                    record.stdout.extend_from_slice(&bytes);
                    // Nobody may read any more; the hook goes on all the same.
                    let _ = std::io::stdout().write_all(&bytes).and_then(|()| std::io::stdout().flush());
                }
                Event::Piece { stream: Stream::Stderr, bytes, .. } => {
                    record.stderr.extend_from_slice(&bytes);
                    let _ = std::io::stderr().write_all(&bytes);
                }
                Event::Signal(number) => reactor.kill(child, number, Whom::Process),
                Event::Exited { exit, .. } => {
                    // What it leaves behind must outlive us, as it would outlive the hook.
                    std::mem::forget(reactor);
                    break exit;
                }
                _ => {}
            }
        }
    };
    record.exit = Some(exit);
    record.seconds = clock::tick().since(began).as_secs_f64();
    if let Err(error) = one::keep(&record, &args.into) {
        session.report(&error);
    }
    if let Exit::Signal { number, .. } = exit {
        // Die of the same signal, so that the caller sees what it would have seen.
        let _ = signal_hook::low_level::emulate_default_handler(number);
    }
    Ok(Status::Relayed(exit))
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
    let flags = std::fs::read_to_string(format!("/proc/self/fdinfo/{number}")).unwrap_or_default();
    let flags = flags.lines().find_map(|line| line.strip_prefix("flags:")).unwrap_or_default();
    i32::from_str_radix(flags.trim(), 8).is_ok_and(|flags| flags & libc::O_ACCMODE == libc::O_RDWR)
}

/// The signals that our caller has blocked.
fn blocked_signals() -> Vec<i32> {
    let text = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = text.lines().find_map(|line| line.strip_prefix("SigBlk:")).unwrap_or_default();
    let mask = u64::from_str_radix(mask.trim(), 16).unwrap_or(0);
    (1..=64).filter(|signal| mask >> (signal - 1) & 1 == 1).collect()
}

fn umask() -> u32 {
    let text = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = text.lines().find_map(|line| line.strip_prefix("Umask:")).unwrap_or_default();
    u32::from_str_radix(mask.trim(), 8).unwrap_or(0o022)
}

fn input() -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    // Not through the handle of the standard library, whose buffer would keep what is not read.
    File::open("/proc/self/fd/0")
        .or_else(|_| File::open(Path::new("/dev/stdin")))?
        .take(MOST_INPUT)
        .read_to_end(&mut bytes)?;
    Ok(bytes)
}
