//! Carries out a transfer: the helper that copies, plugins that are asked and called, and what is left of them.

use std::fs;
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::Path;

use bstr::{BString, ByteSlice};
use nix::libc;

use super::child::entry;
use super::file_transfer::{Under, What};
use super::live::Live;
use crate::events::full_text;
use crate::transfer::{Answer, KnownPlugins, Step, TransferSession, catalogue};
use htc_base::process::{ChildSpec, Exit, Stdio};
use htc_base::text::caseless;
use htc_base::time::Tick;
use htc_hook::transfer::{Ended, PluginCall, TransferTask, Transferred, Way, name_of};
use htc_os as os;
use htc_os::files;
use htc_os::identity::acting_as;
use htc_os::{ChildId, Whom, clock};
use htc_starter::Event;

/// How much a helper may say.
const MOST_SAID: usize = 256 << 20;
/// How much of what plugins print and write is read.
const MOST_WRITTEN: u64 = 16 << 20;
/// How much room the file for a plugin's answer has beforehand, in blanks (`InvokeMultipleFileTransferPlugin`).
const ROOM: usize = 16 * 1204 / 64 * 64;
/// Variables that no plugin gets.
const SECRET: [&str; 3] = ["CONDOR_INHERIT", "CONDOR_PRIVATE_INHERIT", "CONDOR_DCADDR"];

impl Live<'_> {
    /// Begins to move files.
    pub(super) fn transfer(&mut self, way: Way) {
        let scratch = BString::from(self.job.sandbox.scratch.as_os_str().as_bytes());
        let Some(file_transfer) = &self.job.file_transfer else {
            return self.events.push_back(Event::Transferred(Box::new(Transferred::nothing(way))));
        };
        let task = file_transfer.task(way, &scratch, self.job.identity.as_ref());
        let uploads = file_transfer.request.may_upload(way);
        let data = file_transfer.data.clone();
        let lists = file_transfer.knobs.lists;
        let mut known = KnownPlugins { data, lists, ..KnownPlugins::default() };
        if file_transfer.knobs.urls {
            known.configured.clone_from(&file_transfer.knobs.plugins);
            if file_transfer.knobs.own_plugins {
                known.own.clone_from(&file_transfer.request.plugins);
            }
        }
        let mut session = TransferSession::new(task, scratch, uploads, known, self.job.quirks);
        let step = session.begin();
        let under = Under { session, child: None, what: What::Helper, until: None, timed_out: false };
        if let Some(file_transfer) = &mut self.job.file_transfer {
            file_transfer.running = Some(under);
        }
        self.take_step(step);
    }

    /// Carries out the next step; one that fails at once is answered at once.
    fn take_step(&mut self, mut step: Step) {
        loop {
            let (started, what, limit) = match step {
                Step::Done(done) => return self.moved(*done),
                Step::Carry(task) => (self.start_helper(&task), What::Helper, None),
                Step::Ask(path) => {
                    let limit =
                        self.job.file_transfer.as_ref().map(|file_transfer| file_transfer.knobs.ask_limit);
                    // Its variables of the job go to the query, too (`InsertPluginAndMappings`).
                    let name = name_of(&path);
                    (self.start_plugin(&path, &["-classad".into()], &name), What::Asked, limit)
                }
                Step::Invoke(call) => {
                    let limit =
                        self.job.file_transfer.as_ref().map(|file_transfer| file_transfer.knobs.call_limit);
                    (self.invoke(&call), What::Plugin(call), limit)
                }
            };
            let Some(under) =
                self.job.file_transfer.as_mut().and_then(|file_transfer| file_transfer.running.as_mut())
            else {
                return;
            };
            let answer = match started {
                Ok(child) => {
                    under.child = Some(child);
                    under.what = what;
                    under.timed_out = false;
                    under.until = limit.map(|limit| clock::tick().plus(limit));
                    return;
                }
                Err(error) => match what {
                    What::Helper => Answer::Carried(Err(error.to_string())),
                    What::Asked => Answer::Asked(Err(error.to_string())),
                    What::Plugin(_) => Answer::Invoked(Ended::NotExecuted(error.to_string()), None),
                },
            };
            step = under.session.next(answer, self.world);
        }
    }

    fn start_helper(&mut self, task: &TransferTask) -> io::Result<ChildId> {
        let Some(file_transfer) = &self.job.file_transfer else { return Err(io::ErrorKind::NotFound.into()) };
        let (program, argv) = file_transfer.helper.clone();
        let spec = ChildSpec {
            argv,
            cwd: Some("/".into()),
            stdio: [
                Stdio::Bytes(serde_json::to_vec(task)?),
                Stdio::Capture { limit: MOST_SAID },
                Stdio::Capture { limit: 64 * 1024 },
            ],
            dies_with_us: true,
            reads_on: true,
            ..ChildSpec::new(program)
        };
        self.reactor.spawn(spec).map_err(|error| io::Error::other(full_text(&error)))
    }

    /// A plugin, always under the job's account and in its scratch directory.
    fn start_plugin(
        &mut self,
        program: &BString,
        arguments: &[BString],
        name: &BString,
    ) -> io::Result<ChildId> {
        let program_path = program.to_path_lossy().into_owned();
        let scratch = self.job.sandbox.scratch.clone();
        let mut argv = vec![program.clone()];
        argv.extend(arguments.iter().cloned());
        let spec = ChildSpec {
            argv,
            env: self.plugin_environment(name),
            cwd: Some(scratch.clone()),
            identity: self.job.identity.clone(),
            stdio: [
                Stdio::Null,
                Stdio::Capture { limit: usize::try_from(MOST_WRITTEN).unwrap_or(usize::MAX) },
                Stdio::Capture { limit: 64 * 1024 },
            ],
            dies_with_us: true,
            reads_on: true,
            ..ChildSpec::new(scratch.join(program_path))
        };
        self.reactor.spawn(spec).map_err(|error| io::Error::other(error.reason()))
    }

    fn plugin_environment(&self, name: &BString) -> Vec<BString> {
        let is_secret = |name: &BString| SECRET.iter().any(|secret| name == secret);
        let scratch = self.job.sandbox.scratch.as_os_str().as_bytes();
        let mut env: Vec<(BString, BString)> =
            self.job.environment.iter().filter(|(name, _)| !is_secret(name)).cloned().collect();
        let mut set = |name: &[u8], value: BString| {
            env.retain(|(known, _)| known != name);
            env.push((name.into(), value));
        };
        if let Some(file_transfer) = &self.job.file_transfer {
            let prefix = [&name[..], b"_"].concat();
            for (name, value) in &file_transfer.variables {
                if name.get(..prefix.len()).is_some_and(|start| caseless::eq(start, &prefix)) {
                    set(name, value.clone());
                }
            }
        }
        let credentials = self.job.credentials.as_ref();
        if let Some(directory) = credentials.and_then(|credentials| credentials.directory()) {
            set(b"_CONDOR_CREDS", directory.as_os_str().as_bytes().into());
        }
        set(b"_CONDOR_JOB_AD", [scratch, b"/.job.ad"].concat().into());
        set(b"_CONDOR_MACHINE_AD", [scratch, b"/.machine.ad"].concat().into());
        env.iter().map(|(name, value)| entry(name, value)).collect()
    }

    fn invoke(&mut self, call: &PluginCall) -> io::Result<ChildId> {
        let identity = self.job.identity.as_ref();
        if let (Some((infile, text)), Some(outfile)) = (&call.infile, &call.outfile) {
            // Put into place whole: whatever the job has laid there is not written through.
            acting_as(identity, || {
                files::replace(&infile.to_path_lossy(), text, 0o644, None)?;
                files::replace(&outfile.to_path_lossy(), &vec![b' '; ROOM], 0o644, None)
            })??;
        }
        self.start_plugin(&call.program.clone(), &call.arguments, &call.name)
    }

    /// Whether a child that ended was one of a transfer; then the transfer goes on.
    pub(super) fn mover_ended(
        &mut self,
        child: ChildId,
        exit: Exit,
        stdout: &os::Captured,
        stderr: &os::Captured,
    ) -> bool {
        let identity = self.job.identity.clone();
        let knobs = self.job.file_transfer.as_ref().map(|file_transfer| &file_transfer.knobs);
        let limit = knobs.map_or(0, |knobs| knobs.call_limit.as_secs());
        let ask_limit = knobs.map_or(0, |knobs| knobs.ask_limit.as_secs());
        let Some(under) =
            self.job.file_transfer.as_mut().and_then(|file_transfer| file_transfer.running.as_mut())
        else {
            return false;
        };
        if under.child != Some(child) {
            return false;
        }
        under.child = None;
        under.until = None;
        let answer = match &under.what {
            What::Helper => Answer::Carried(read_answer(exit, stdout, stderr)),
            What::Asked if under.timed_out => {
                Answer::Asked(Err(format!("it did not answer to -classad within {ask_limit} s")))
            }
            What::Asked => Answer::Asked(Ok(stdout.bytes.clone())),
            What::Plugin(call) => {
                let ended = if under.timed_out { Ended::TimedOut(limit) } else { Ended::Exited(exit) };
                let written = match &call.outfile {
                    Some(outfile) => {
                        let read = || take_outfile(&outfile.to_path_lossy(), exit.is_success());
                        acting_as(identity.as_ref(), read).ok().and_then(Result::ok)
                    }
                    None => Some(stdout.bytes.clone()),
                };
                if let (true, Some((infile, _))) = (exit.is_success(), &call.infile) {
                    drop(acting_as(identity.as_ref(), || fs::remove_file(infile.to_path_lossy())));
                }
                Answer::Invoked(ended, written)
            }
        };
        let step = under.session.next(answer, self.world);
        self.take_step(step);
        true
    }

    /// When a plugin has run too long.
    pub(super) fn mover_until(&self) -> Option<Tick> {
        self.job.file_transfer.as_ref()?.running.as_ref()?.until
    }

    /// Kills a plugin that runs too long; its end is what follows.
    pub(super) fn kill_slow_mover(&mut self, now: Tick) {
        let Some(under) =
            self.job.file_transfer.as_mut().and_then(|file_transfer| file_transfer.running.as_mut())
        else {
            return;
        };
        if let (Some(child), Some(until)) = (under.child, under.until)
            && until <= now
        {
            under.timed_out = true;
            under.until = None;
            self.reactor.kill(child, libc::SIGKILL, Whom::Family);
        }
    }

    /// Gives up what is being moved.
    pub(super) fn abort_transfer(&mut self) {
        let under = self.job.file_transfer.as_mut().and_then(|file_transfer| file_transfer.running.take());
        if let Some(child) = under.and_then(|under| under.child) {
            self.reactor.kill(child, libc::SIGKILL, Whom::Family);
        }
    }

    fn moved(&mut self, done: Transferred) {
        if done.way.is_input() {
            let seen = catalogue(&self.job.sandbox.scratch, self.job.identity.as_ref());
            if let Some(file_transfer) = &mut self.job.file_transfer {
                file_transfer.since = seen.unwrap_or_default();
            }
        }
        if let Some(file_transfer) = &mut self.job.file_transfer {
            file_transfer.running = None;
        }
        self.events.push_back(Event::Transferred(Box::new(done)));
    }

    /// Writes a file of the manifest, with the job's rights.
    pub(super) fn write_manifest(&mut self, directory: &BString, name: &str, content: Option<Vec<u8>>) {
        let scratch = self.job.sandbox.scratch.clone();
        let place = scratch.join(directory.to_path_lossy());
        let written = acting_as(self.job.identity.as_ref(), || {
            match fs::DirBuilder::new().mode(0o700).create(&place) {
                Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
                _ => {}
            }
            let path = place.join(name);
            // It is listed itself, as it is written into the directory that it lists.
            if content.is_none() {
                files::replace(&path, b"", 0o644, None)?;
            }
            let text = content.map_or_else(|| listing(&scratch), |text| [&text[..], b"\n"].concat());
            files::replace(&path, &text, 0o644, None)
        });
        if let Err(error) = written.flatten() {
            self.warn(format!("cannot write the manifest '{}': {error}", place.join(name).display()));
        }
    }
}

/// What a helper says.
fn read_answer(
    exit: Exit,
    stdout: &os::Captured,
    stderr: &os::Captured,
) -> Result<htc_hook::transfer::TransferResult, String> {
    match serde_json::from_slice(&stdout.bytes) {
        Ok(carried) if exit.is_success() => Ok(carried),
        _ => {
            let why = stderr.bytes.trim().as_bstr().to_string();
            let why = if why.is_empty() { exit.to_string() } else { why };
            Err(format!("the helper that moves files failed: {why}"))
        }
    }
}

/// Reads what a plugin wrote, and removes it after a success. It is a plain file, or counts as none.
fn take_outfile(path: &Path, remove: bool) -> io::Result<Vec<u8>> {
    let flags = libc::O_NOFOLLOW | libc::O_NONBLOCK | libc::O_NOCTTY;
    let file = fs::OpenOptions::new().read(true).custom_flags(flags).open(path)?;
    if !file.metadata()?.is_file() {
        return Err(io::ErrorKind::InvalidData.into());
    }
    let mut text = Vec::new();
    file.take(MOST_WRITTEN).read_to_end(&mut text)?;
    if remove {
        drop(fs::remove_file(path));
    }
    Ok(text)
}

/// All that is below a directory, one a line, directories with a slash (`print_directory`). Links are not followed.
fn listing(top: &Path) -> Vec<u8> {
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
