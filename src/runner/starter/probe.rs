//! What the runtimes of this machine can do, asked before there is any job.

use std::os::unix::fs::MetadataExt;

use bstr::{BString, ByteSlice};

use crate::os::{self, Reactor, clock};
use crate::process::{ChildSpec, Exit, Identity, Session, Stdio};
use crate::quirks::Quirks;
use crate::starter::container::{Actor, Capabilities, ContainerKnobs, Probe, ToolCall, Variables};
use crate::world::World;

/// How much of an answer is kept, in bytes.
const OUTPUT_LIMIT: usize = 1 << 20;

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
