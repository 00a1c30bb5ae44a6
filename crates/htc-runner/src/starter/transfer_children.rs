//! Execution of a file transfer: the helper that copies files, and the plugins that are queried and called.

use std::fs;
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::Path;

use bstr::{BString, ByteSlice};
use nix::libc;

use super::file_transfer::{TransferChild, TransferChildKind, TransferHelper};
use super::job_child::environment_entry;
use super::run_state::RunState;
use crate::events::error_with_causes;
use crate::transfer::{
    KnownPlugins, PluginCallEnd, TransferSession, TransferStep, TransferStepResult, read_catalogue,
};
use htc_base::process::{ChildSpec, Exit, Stdio};
use htc_base::text::caseless;
use htc_base::time::MonotonicTime;
use htc_hook::transfer::{PluginCall, PluginExit, TransferKind, TransferOutcome, TransferTask, plugin_name};
use htc_os as os;
use htc_os::files;
use htc_os::identity::run_as;
use htc_os::{ChildId, SignalScope, clock};
use htc_starter::StarterEvent;

/// Maximum number of bytes kept of the helper's output.
const MAX_HELPER_OUTPUT: usize = 256 << 20;
/// Maximum number of bytes read of the output and files of plugins.
const MAX_PLUGIN_OUTPUT: u64 = 16 << 20;
/// Number of blanks that are written to the output file of a plugin before its call
/// (`InvokeMultipleFileTransferPlugin`).
const OUTFILE_SIZE: usize = 16 * 1204 / 64 * 64;
/// Variables that plugins never receive.
const SECRET_VARIABLES: [&str; 3] = ["CONDOR_INHERIT", "CONDOR_PRIVATE_INHERIT", "CONDOR_DCADDR"];

impl RunState<'_> {
    /// Begins a file transfer.
    pub(super) fn transfer(&mut self, kind: TransferKind) {
        let scratch = BString::from(self.context.sandbox.scratch.as_os_str().as_bytes());
        let Some(file_transfer) = &self.context.file_transfer else {
            return self.events.push_back(StarterEvent::Transferred(Box::new(TransferOutcome::empty(kind))));
        };
        let task = file_transfer.task(kind, &scratch, self.context.identity.as_ref());
        let uploads = file_transfer.request.can_upload_to_urls(kind);
        let data = file_transfer.data.clone();
        let lists = file_transfer.parameters.list_plugins;
        let mut known = KnownPlugins { data, lists, ..KnownPlugins::default() };
        if file_transfer.parameters.urls {
            known.configured.clone_from(&file_transfer.parameters.plugins);
            if file_transfer.parameters.allows_job_plugins {
                known.own.clone_from(&file_transfer.request.plugins);
            }
        }
        let mut session = TransferSession::new(task, scratch, uploads, known, self.context.quirks);
        let step = session.begin();
        let under = TransferChild {
            session,
            child: None,
            kind: TransferChildKind::Helper,
            started_at: 0,
            deadline: None,
            timed_out: false,
        };
        if let Some(file_transfer) = &mut self.context.file_transfer {
            file_transfer.child = Some(under);
        }
        self.run_transfer_step(step);
    }

    /// Executes a step. If a step fails before a child is started, passes the failure to the session and continues
    /// with the next step.
    fn run_transfer_step(&mut self, mut step: TransferStep) {
        loop {
            let (started, what, limit) = match step {
                TransferStep::Done(done) => return self.handle_transfer_end(*done),
                TransferStep::ExecuteTask(task) => {
                    (self.start_helper(&task), TransferChildKind::Helper, None)
                }
                TransferStep::QueryPlugin(path) => {
                    let limit = self
                        .context
                        .file_transfer
                        .as_ref()
                        .map(|file_transfer| file_transfer.parameters.query_timeout);
                    // Variables of the job that are named after the plugin are also passed to the query
                    // (`InsertPluginAndMappings`).
                    let name = plugin_name(&path);
                    (
                        self.start_plugin(&path, &["-classad".into()], &name),
                        TransferChildKind::PluginQuery,
                        limit,
                    )
                }
                TransferStep::InvokePlugin(call) => {
                    let limit = self
                        .context
                        .file_transfer
                        .as_ref()
                        .map(|file_transfer| file_transfer.parameters.call_timeout);
                    (self.run_plugin(&call), TransferChildKind::PluginCall(call), limit)
                }
            };
            let started_at = self.now().epoch();
            let Some(under) =
                self.context.file_transfer.as_mut().and_then(|file_transfer| file_transfer.child.as_mut())
            else {
                return;
            };
            let answer = match started {
                Ok(child) => {
                    under.child = Some(child);
                    under.kind = what;
                    under.started_at = started_at;
                    under.timed_out = false;
                    under.deadline = limit.map(|limit| clock::monotonic_now().plus(limit));
                    return;
                }
                Err(error) => match what {
                    TransferChildKind::Helper => TransferStepResult::TaskExecuted(Err(error.to_string())),
                    TransferChildKind::PluginQuery => {
                        TransferStepResult::PluginQueried(Err(error.to_string()))
                    }
                    TransferChildKind::PluginCall(_) => TransferStepResult::PluginInvoked(PluginCallEnd {
                        exit: PluginExit::NotExecuted(error.to_string()),
                        written: None,
                        seconds: 0,
                    }),
                },
            };
            step = under.session.next(answer, self.world);
        }
    }

    fn start_helper(&mut self, task: &TransferTask) -> io::Result<ChildId> {
        let Some(file_transfer) = &self.context.file_transfer else {
            return Err(io::ErrorKind::NotFound.into());
        };
        let TransferHelper { program, argv } = file_transfer.helper.clone();
        let spec = ChildSpec {
            argv,
            cwd: Some("/".into()),
            stdio: [
                Stdio::Bytes(serde_json::to_vec(task)?),
                Stdio::Capture { limit: MAX_HELPER_OUTPUT },
                Stdio::Capture { limit: 64 * 1024 },
            ],
            dies_with_parent: true,
            discards_excess_output: true,
            ..ChildSpec::new(program)
        };
        self.reactor.spawn(spec).map_err(|error| io::Error::other(error_with_causes(&error)))
    }

    /// Starts a plugin, always under the job's account and in its scratch directory.
    fn start_plugin(
        &mut self,
        program: &BString,
        arguments: &[BString],
        name: &BString,
    ) -> io::Result<ChildId> {
        let program_path = program.to_path_lossy().into_owned();
        let scratch = self.context.sandbox.scratch.clone();
        let mut argv = vec![program.clone()];
        argv.extend(arguments.iter().cloned());
        let spec = ChildSpec {
            argv,
            env: self.plugin_environment(name),
            cwd: Some(scratch.clone()),
            identity: self.context.identity.clone(),
            stdio: [
                Stdio::Null,
                Stdio::Capture { limit: usize::try_from(MAX_PLUGIN_OUTPUT).unwrap_or(usize::MAX) },
                Stdio::Capture { limit: 64 * 1024 },
            ],
            dies_with_parent: true,
            discards_excess_output: true,
            ..ChildSpec::new(scratch.join(program_path))
        };
        self.reactor.spawn(spec).map_err(|error| io::Error::other(error.reason()))
    }

    fn plugin_environment(&self, name: &BString) -> Vec<BString> {
        let is_secret = |name: &BString| SECRET_VARIABLES.iter().any(|secret| name == secret);
        let scratch = self.context.sandbox.scratch.as_os_str().as_bytes();
        let mut env: Vec<(BString, BString)> =
            self.context.environment.iter().filter(|(name, _)| !is_secret(name)).cloned().collect();
        let mut set = |name: &[u8], value: BString| {
            env.retain(|(known, _)| known != name);
            env.push((name.into(), value));
        };
        if let Some(file_transfer) = &self.context.file_transfer {
            let prefix = [&name[..], b"_"].concat();
            for (name, value) in &file_transfer.variables {
                if name.get(..prefix.len()).is_some_and(|start| caseless::eq(start, &prefix)) {
                    set(name, value.clone());
                }
            }
        }
        let credentials = self.context.credentials.as_ref();
        if let Some(directory) = credentials.and_then(|credentials| credentials.directory()) {
            set(b"_CONDOR_CREDS", directory.as_os_str().as_bytes().into());
        }
        set(b"_CONDOR_JOB_AD", [scratch, b"/.job.ad"].concat().into());
        set(b"_CONDOR_MACHINE_AD", [scratch, b"/.machine.ad"].concat().into());
        env.iter().map(|(name, value)| environment_entry(name, value)).collect()
    }

    fn run_plugin(&mut self, call: &PluginCall) -> io::Result<ChildId> {
        let identity = self.context.identity.as_ref();
        if let (Some((infile, text)), Some(outfile)) = (&call.infile, &call.outfile) {
            // Files are replaced atomically, so that a symbolic link made by the job is not followed.
            run_as(identity, || {
                files::replace_file(&infile.to_path_lossy(), text, 0o644, None)?;
                files::replace_file(&outfile.to_path_lossy(), &vec![b' '; OUTFILE_SIZE], 0o644, None)
            })??;
        }
        self.start_plugin(&call.program.clone(), &call.arguments, &call.name)
    }

    /// Handles the end of a child. Returns true if the child belonged to a file transfer, which then continues.
    pub(super) fn handle_transfer_child_end(
        &mut self,
        child: ChildId,
        exit: Exit,
        stdout: &os::CapturedOutput,
        stderr: &os::CapturedOutput,
    ) -> bool {
        let ended_at = self.now().epoch();
        let identity = self.context.identity.clone();
        let parameters = self.context.file_transfer.as_ref().map(|file_transfer| &file_transfer.parameters);
        let limit = parameters.map_or(0, |parameters| parameters.call_timeout.as_secs());
        let ask_limit = parameters.map_or(0, |parameters| parameters.query_timeout.as_secs());
        let Some(under) =
            self.context.file_transfer.as_mut().and_then(|file_transfer| file_transfer.child.as_mut())
        else {
            return false;
        };
        if under.child != Some(child) {
            return false;
        }
        under.child = None;
        under.deadline = None;
        let answer = match &under.kind {
            TransferChildKind::Helper => {
                TransferStepResult::TaskExecuted(parse_helper_answer(exit, stdout, stderr))
            }
            TransferChildKind::PluginQuery if under.timed_out => TransferStepResult::PluginQueried(Err(
                format!("it did not answer to -classad within {ask_limit} s"),
            )),
            TransferChildKind::PluginQuery => TransferStepResult::PluginQueried(Ok(stdout.bytes.clone())),
            TransferChildKind::PluginCall(call) => {
                let ended =
                    if under.timed_out { PluginExit::TimedOut(limit) } else { PluginExit::Exited(exit) };
                let written = match &call.outfile {
                    Some(outfile) => {
                        let read = || take_outfile(&outfile.to_path_lossy(), exit.is_success());
                        run_as(identity.as_ref(), read).ok().and_then(Result::ok)
                    }
                    None => Some(stdout.bytes.clone()),
                };
                if let (true, Some((infile, _))) = (exit.is_success(), &call.infile) {
                    drop(run_as(identity.as_ref(), || fs::remove_file(infile.to_path_lossy())));
                }
                let seconds = ended_at - under.started_at;
                TransferStepResult::PluginInvoked(PluginCallEnd { exit: ended, written, seconds })
            }
        };
        let step = under.session.next(answer, self.world);
        self.run_transfer_step(step);
        true
    }

    /// Returns the time limit of the running plugin, or `None` if no plugin is running.
    pub(super) fn transfer_child_deadline(&self) -> Option<MonotonicTime> {
        self.context.file_transfer.as_ref()?.child.as_ref()?.deadline
    }

    /// Kills a plugin that has exceeded its time limit. Its end is handled like that of any plugin.
    pub(super) fn kill_slow_plugin(&mut self, now: MonotonicTime) {
        let Some(under) =
            self.context.file_transfer.as_mut().and_then(|file_transfer| file_transfer.child.as_mut())
        else {
            return;
        };
        if let (Some(child), Some(until)) = (under.child, under.deadline)
            && until <= now
        {
            under.timed_out = true;
            under.deadline = None;
            self.reactor.send_signal(child, libc::SIGKILL, SignalScope::Family);
        }
    }

    /// Aborts the running transfer.
    pub(super) fn abort_transfer(&mut self) {
        let under = self.context.file_transfer.as_mut().and_then(|file_transfer| file_transfer.child.take());
        if let Some(child) = under.and_then(|under| under.child) {
            self.reactor.send_signal(child, libc::SIGKILL, SignalScope::Family);
        }
    }

    fn handle_transfer_end(&mut self, done: TransferOutcome) {
        if done.way.is_input() {
            let seen = read_catalogue(&self.context.sandbox.scratch, self.context.identity.as_ref());
            if let Some(file_transfer) = &mut self.context.file_transfer {
                file_transfer.initial_catalogue = seen.unwrap_or_default();
            }
        }
        if let Some(file_transfer) = &mut self.context.file_transfer {
            file_transfer.child = None;
        }
        self.events.push_back(StarterEvent::Transferred(Box::new(done)));
    }

    /// Writes a file of the manifest (a list of files, or nothing) as the job's account.
    pub(super) fn write_manifest(&mut self, directory: &BString, name: &str, content: Option<Vec<u8>>) {
        let scratch = self.context.sandbox.scratch.clone();
        let place = scratch.join(directory.to_path_lossy());
        let written = run_as(self.context.identity.as_ref(), || {
            match fs::DirBuilder::new().mode(0o700).create(&place) {
                Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
                _ => {}
            }
            let path = place.join(name);
            // The file is created before the directory is listed, so the list also names the file.
            if content.is_none() {
                files::replace_file(&path, b"", 0o644, None)?;
            }
            let text =
                content.map_or_else(|| list_directory_tree(&scratch), |text| [&text[..], b"\n"].concat());
            files::replace_file(&path, &text, 0o644, None)
        });
        if let Err(error) = written.flatten() {
            self.warn(format!("cannot write the manifest '{}': {error}", place.join(name).display()));
        }
    }
}

/// Parses the output of the helper.
fn parse_helper_answer(
    exit: Exit,
    stdout: &os::CapturedOutput,
    stderr: &os::CapturedOutput,
) -> Result<htc_hook::transfer::TransferTaskResult, String> {
    match serde_json::from_slice(&stdout.bytes) {
        Ok(carried) if exit.is_success() => Ok(carried),
        _ => {
            let why = stderr.bytes.trim().as_bstr().to_string();
            let why = if why.is_empty() { exit.to_string() } else { why };
            Err(format!("the transfer helper failed: {why}"))
        }
    }
}

/// Reads the output file of a plugin, and removes it if `remove` is true. Anything but a regular file is an error.
fn take_outfile(path: &Path, remove: bool) -> io::Result<Vec<u8>> {
    let flags = libc::O_NOFOLLOW | libc::O_NONBLOCK | libc::O_NOCTTY;
    let file = fs::OpenOptions::new().read(true).custom_flags(flags).open(path)?;
    if !file.metadata()?.is_file() {
        return Err(io::ErrorKind::InvalidData.into());
    }
    let mut text = Vec::new();
    file.take(MAX_PLUGIN_OUTPUT).read_to_end(&mut text)?;
    if remove {
        drop(fs::remove_file(path));
    }
    Ok(text)
}

/// Lists everything below a directory, one entry per line; directories have a trailing slash (`print_directory`).
/// Symbolic links are not followed.
fn list_directory_tree(top: &Path) -> Vec<u8> {
    let mut text = Vec::new();
    let mut open = vec![(top.to_owned(), BString::from("."))];
    while let Some((directory, shown)) = open.pop() {
        for entry in fs::read_dir(&directory).into_iter().flatten().flatten() {
            let name = BString::from([&shown[..], b"/", entry.file_name().as_bytes()].concat());
            text.extend_from_slice(&name);
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                text.push(b'/');
                open.push((entry.path(), name));
            }
            text.push(b'\n');
        }
    }
    text
}
