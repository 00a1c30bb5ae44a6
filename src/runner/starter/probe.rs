//! What the runtimes of this machine can do, asked before there is any job.

use std::os::unix::fs::MetadataExt;
use std::time::Duration;

use bstr::{BString, ByteSlice};

use crate::classad::Value;
use crate::classad::format::long;
use crate::os::{self, Reactor, clock};
use crate::process::{ChildSpec, Exit, Identity, Session, Stdio};
use crate::quirks::Quirks;
use crate::starter::JavaKnobs;
use crate::starter::container::{Actor, Capabilities, ContainerKnobs, Probe, ToolCall, Variables};
use crate::world::World;

/// How much of an answer is kept, in bytes.
const OUTPUT_LIMIT: usize = 1 << 20;

/// How long who was killed is waited for.
const KILL_WAIT: Duration = Duration::from_secs(5);

/// Asks them, one question after the other. `daemon` is the account that tries images; `None` is our own.
pub fn capabilities(
    knobs: &ContainerKnobs,
    daemon: Option<&Identity>,
    quirks: Quirks,
    world: &dyn World,
) -> std::io::Result<Capabilities> {
    let namespace = std::fs::metadata("/proc/self/ns/user").ok().map(|status| status.ino());
    let mut probe = Probe::new(knobs, namespace, quirks, world);
    let (mut exit, mut output) = (None, Vec::new());
    let mut reactor = None;
    while let Some(call) = probe.next(exit, &output) {
        let reactor = match &mut reactor {
            Some(reactor) => reactor,
            None => reactor.insert(Reactor::new(&[])?),
        };
        (exit, output) = ask(reactor, &call, daemon, world)?;
    }
    Ok(probe.finish())
}

/// What the machine's java is, as `CondorJavaInfo` of HTCondor's LIB tells it; nothing where there is no answer.
pub fn java(knobs: &JavaKnobs, world: &dyn World) -> std::io::Result<Capabilities> {
    let Some(question) = knobs.question() else { return Ok(Capabilities::new()) };
    let (exit, output) = one(&question, world)?;
    if exit != Some(Exit::Code(0)) {
        return Ok(Capabilities::new());
    }
    let (ad, _) = long::parse(&output);
    let told = ["JavaVendor", "JavaVersion", "JavaSpecificationVersion"];
    let told = told.into_iter().filter_map(|name| Some((name, Value::from(ad.string(name)?))));
    let mut found: Capabilities = told.collect();
    if !found.is_empty() {
        found.push(("HasJava", Value::Bool(true)));
    }
    Ok(found)
}

/// What a transfer plugin says when it is asked with `-classad`, or why it says nothing.
///
/// # Errors
/// The system can wait for nobody.
pub fn plugin_answer(
    path: &BString,
    limit: Duration,
    daemon: Option<&Identity>,
    world: &dyn World,
) -> std::io::Result<Result<Vec<u8>, String>> {
    let spec = ChildSpec {
        argv: vec![path.clone(), "-classad".into()],
        env: own_environment(world),
        identity: daemon.cloned(),
        stdio: [Stdio::Null, Stdio::Capture { limit: OUTPUT_LIMIT }, Stdio::Null],
        session: Session::Own,
        reads_on: true,
        ..ChildSpec::new(path.to_path_lossy())
    };
    let mut reactor = Reactor::new(&[])?;
    let child = match reactor.spawn(spec) {
        Ok(child) => child,
        Err(error) => return Ok(Err(crate::runner::events::full_text(&error))),
    };
    let mut until = clock::tick().plus(limit);
    let mut late = false;
    loop {
        match reactor.next(Some(until))? {
            os::Event::Exited { child: ended, stdout, .. } if ended == child && !late => {
                return Ok(Ok(stdout.bytes));
            }
            os::Event::Exited { child: ended, .. } if ended == child => break,
            os::Event::Timeout if late => break,
            os::Event::Timeout => {
                late = true;
                reactor.kill(child, nix::libc::SIGKILL, os::Whom::Family);
                until = clock::tick().plus(KILL_WAIT);
            }
            _ => {}
        }
    }
    Ok(Err(format!(
        "it did not answer to -classad within {} s (FILETRANSFER_PLUGIN_CLASSAD_TIMEOUT)",
        limit.as_secs()
    )))
}

fn ask(
    reactor: &mut Reactor,
    call: &ToolCall,
    daemon: Option<&Identity>,
    world: &dyn World,
) -> std::io::Result<(Option<Exit>, Vec<u8>)> {
    let name = call.argv.first().cloned().unwrap_or_default();
    let Some(program) = super::tools::found(&name, world) else { return Ok((None, Vec::new())) };
    let spec = ChildSpec {
        argv: call.argv.clone(),
        env: match &call.variables {
            Variables::These(these) => these.clone(),
            Variables::Own | Variables::OwnWithHome(_) => own_environment(world),
        },
        identity: daemon.filter(|_| call.actor == Actor::Daemon).cloned(),
        stdio: [Stdio::Null, Stdio::Capture { limit: OUTPUT_LIMIT }, Stdio::Stdout],
        session: Session::Own,
        reads_on: true,
        ..ChildSpec::new(program)
    };
    let Ok(child) = reactor.spawn(spec) else { return Ok((None, Vec::new())) };
    let until = clock::tick().plus(call.limit);
    loop {
        match reactor.next(Some(until))? {
            os::Event::Exited { child: ended, exit, stdout, .. } if ended == child => {
                return Ok((Some(exit), stdout.bytes));
            }
            os::Event::Timeout => reactor.kill(child, nix::libc::SIGKILL, os::Whom::Family),
            _ => {}
        }
    }
}

/// One call with our own rights.
pub(super) fn one(call: &ToolCall, world: &dyn World) -> std::io::Result<(Option<Exit>, Vec<u8>)> {
    ask(&mut Reactor::new(&[])?, call, None, world)
}

fn own_environment(world: &dyn World) -> Vec<BString> {
    use std::os::unix::ffi::OsStringExt;
    let entry = |(name, value): (std::ffi::OsString, std::ffi::OsString)| {
        BString::from([name.into_vec(), b"=".to_vec(), value.into_vec()].concat())
    };
    world.environment().into_iter().map(entry).filter(|entry| !entry.starts_with_str("_HTC_")).collect()
}
