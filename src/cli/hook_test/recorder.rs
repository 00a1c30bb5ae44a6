//! `htc-hook-test record`: runs in place of a hook in a live pool, calls the hook, and records its input and output.

use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use clap::Args;
use nix::libc;

use crate::cli::common::{Problem, ProgramContext, Status};
use crate::hook::HookType;
use crate::hook_testing::record::CallRecord;
use crate::hook_testing::{CallRecorder, RecordedCall};
use crate::process::Exit;

/// Options of `record`.
#[derive(Args, Clone, Debug)]
pub(super) struct RecordArgs {
    /// Write the calls to DIR, readable only by this account
    ///
    /// The first 8 MiB of each stream are kept.
    #[arg(long, value_name = "DIR")]
    pub into: PathBuf,
    /// Record calls of this hook type, such as prepare [default: guessed from the name]
    #[arg(long = "type", value_name = "TYPE")]
    pub kind: Option<String>,
    /// Hook and its arguments
    #[arg(value_name = "HOOK", required = true, last = true)]
    pub command: Vec<std::ffi::OsString>,
}

pub(super) fn run(args: &RecordArgs, session: &ProgramContext) -> anyhow::Result<Status> {
    let Some((program, words)) = args.command.split_first() else {
        return Err(Problem::usage("the case has no `hook`").into());
    };
    // The recorder must be created before any other file is opened.
    let recorder = CallRecorder::from_this_process(program, words, parse_hook_type(args.kind.as_deref())?)?;
    // The handles of the standard library are not used, because bytes could remain in their buffers.
    let caller_streams = [
        std::io::stdin().as_fd().try_clone_to_owned()?,
        std::io::stdout().as_fd().try_clone_to_owned()?,
        std::io::stderr().as_fd().try_clone_to_owned()?,
    ];
    let RecordedCall { record, end, interrupted } = recorder.run(caller_streams)?;
    if let Err(error) = &end {
        // If an interpreter is missing, the message contains the reason already.
        let reason = error.interpreter.is_none().then(|| format!(": {}", error.reason()));
        let message = format!("{error}{}", reason.unwrap_or_default());
        session.report(&Problem::new(Status::Failed, message).into());
    }
    store_call(&record, args, session);
    let exit = match end {
        Ok(exit) => exit,
        Err(error) if error.errno() == libc::ENOENT => return Ok(Status::NotFound),
        Err(_) => return Ok(Status::NotExecutable),
    };
    if let (Exit::Signal { number, .. }, _) | (_, Some(number)) = (exit, interrupted) {
        // The program ends by the same signal as the hook, so that the caller sees no difference.
        let _ = signal_hook::low_level::emulate_default_handler(number);
    }
    Ok(Status::Relayed(exit))
}

/// Parses the value of `--type`.
pub(super) fn parse_hook_type(name: Option<&str>) -> anyhow::Result<Option<HookType>> {
    let parse = |name: &str| {
        HookType::from_name(name.as_bytes())
            .ok_or_else(|| Problem::usage(format!("unknown hook type '{name}'")).into())
    };
    name.map(parse).transpose()
}

/// Stores the call. If this fails, or the hook type is unknown, this is only reported, because the hook's caller must
/// get the output in any case.
fn store_call(record: &CallRecord, args: &RecordArgs, session: &ProgramContext) {
    let is_first =
        |place: &std::path::Path| place.file_name().is_some_and(|name| name.as_bytes().starts_with(b"001-"));
    match record.write_below(&args.into) {
        Ok(place) if record.hook.is_none() && is_first(&place) => {
            session.warn("cannot tell the hook type from the hook's name: give --type, here or to replay");
        }
        Ok(_) => {}
        Err(error) => {
            let into = args.into.display();
            let problem = Problem::unreadable(format!("cannot store the recorded call below '{into}'"));
            session.report(&anyhow::Error::from(error).context(problem));
        }
    }
}
