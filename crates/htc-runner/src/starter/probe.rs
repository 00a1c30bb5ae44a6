//! Queries of container runtimes, transfer plugins and java on this machine for their capabilities.

use std::io;
use std::os::unix::fs::MetadataExt;
use std::time::Duration;

use bstr::{BString, ByteSlice};

use super::job_child;
use crate::hook_environment::{ConfigSelection, DaemonEnvironment};
use htc_base::process::{ChildSpec, Exit, ProcessIdentity, SessionMode, Stdio};
use htc_base::quirks::QuirkMode;
use htc_base::world::World;
use htc_classad::Value;
use htc_classad::format::long;
use htc_os as os;
use htc_os::{Reactor, clock};
use htc_starter::container::{
    Capabilities, CapabilityProbe, ContainerParameters, ToolAccount, ToolCall, ToolEnvironment,
};
use htc_starter::{JavaParameters, StartFailure};

/// Maximum number of bytes kept of the output of a query.
const OUTPUT_LIMIT: usize = 1 << 20;

/// Time to wait for the end of a process that was killed.
const KILL_WAIT: Duration = Duration::from_secs(5);

/// Reason why a transfer plugin gave no output.
#[derive(Debug, thiserror::Error)]
pub enum PluginQueryError {
    /// The plugin could not be run or did not answer in time; the text says why.
    #[error("{0}")]
    NoAnswer(String),
    /// This process cannot wait for its children.
    #[error(transparent)]
    Reactor(#[from] io::Error),
}

/// Environment and account of the queries.
pub struct RuntimeProbe<'a> {
    /// Environment of the queries, as `NAME=value`.
    environment: Vec<BString>,
    /// The account that tests images and plugins, or `None` for the account of this program.
    daemon: Option<&'a ProcessIdentity>,
    world: &'a dyn World,
}

impl<'a> RuntimeProbe<'a> {
    /// Creates a probe with the given environment, without the variables for communication between programs of this
    /// project.
    pub fn new(
        environment: &DaemonEnvironment,
        daemon: Option<&'a ProcessIdentity>,
        world: &'a dyn World,
    ) -> Self {
        let own = environment.variables().iter().filter(|(name, _)| !name.starts_with_str("_HTC_"));
        let environment = own.map(|(name, value)| job_child::environment_entry(name, value)).collect();
        RuntimeProbe { environment, daemon, world }
    }

    /// Creates a probe with the environment of this program.
    pub(super) fn with_own_environment(world: &'a dyn World) -> Self {
        RuntimeProbe::new(&DaemonEnvironment::from_program(world, &ConfigSelection::default()), None, world)
    }

    /// Queries the container runtimes one after another. Also returns the invalid setting because of which 25.14
    /// would abort, or `None`.
    ///
    /// # Errors
    /// Fails if this process cannot wait for its children.
    pub fn capabilities(
        &self,
        parameters: &ContainerParameters,
        quirks: QuirkMode,
    ) -> io::Result<(Capabilities, Option<StartFailure>)> {
        let namespace = std::fs::metadata("/proc/self/ns/user").ok().map(|status| status.ino());
        let mut probe = CapabilityProbe::new(parameters, namespace, quirks, self.world);
        let (mut exit, mut output) = (None, Vec::new());
        let mut reactor = None;
        while let Some(call) = probe.next_call(exit, &output) {
            let reactor = match &mut reactor {
                Some(reactor) => reactor,
                None => reactor.insert(Reactor::new(&[])?),
            };
            (exit, output) = self.run_query(reactor, &call)?;
        }
        Ok(probe.into_capabilities())
    }

    /// Returns the properties of java, as reported by `CondorJavaInfo` of HTCondor's LIB; empty if java does not
    /// answer.
    ///
    /// # Errors
    /// Fails if this process cannot wait for its children.
    pub fn java(&self, parameters: &JavaParameters) -> io::Result<Capabilities> {
        let Some(question) = parameters.probe_command() else { return Ok(Capabilities::new()) };
        let (exit, output) = self.run_single_query(&question)?;
        if exit != Some(Exit::Code(0)) {
            return Ok(Capabilities::new());
        }
        let (ad, _) = long::parse(&output);
        let attributes = ["JavaVendor", "JavaVersion", "JavaSpecificationVersion"];
        let attributes =
            attributes.into_iter().filter_map(|name| Some((name, Value::from(ad.string(name)?))));
        let mut found: Capabilities = attributes.collect();
        if !found.is_empty() {
            found.push(("HasJava", Value::Bool(true)));
        }
        Ok(found)
    }

    /// Returns the output of a transfer plugin that is called with `-classad`.
    ///
    /// # Errors
    /// The plugin gives no output, or this process cannot wait for its children.
    pub fn plugin(&self, path: &BString, limit: Duration) -> Result<Vec<u8>, PluginQueryError> {
        let spec = ChildSpec {
            argv: vec![path.clone(), "-classad".into()],
            env: self.environment.clone(),
            identity: self.daemon.cloned(),
            stdio: [Stdio::Null, Stdio::Capture { limit: OUTPUT_LIMIT }, Stdio::Null],
            session: SessionMode::NewSession,
            discards_excess_output: true,
            ..ChildSpec::new(path.to_path_lossy())
        };
        let mut reactor = Reactor::new(&[])?;
        let child = match reactor.spawn(spec) {
            Ok(child) => child,
            Err(error) => return Err(PluginQueryError::NoAnswer(crate::events::error_with_causes(&error))),
        };
        let mut until = clock::monotonic_now().plus(limit);
        let mut timed_out = false;
        loop {
            match reactor.next_event(Some(until))? {
                os::ReactorEvent::Exited { child: ended, stdout, .. } if ended == child && !timed_out => {
                    return Ok(stdout.bytes);
                }
                os::ReactorEvent::Exited { child: ended, .. } if ended == child => break,
                os::ReactorEvent::Timeout if timed_out => break,
                os::ReactorEvent::Timeout => {
                    timed_out = true;
                    reactor.send_signal(child, nix::libc::SIGKILL, os::SignalScope::Family);
                    until = clock::monotonic_now().plus(KILL_WAIT);
                }
                _ => {}
            }
        }
        Err(PluginQueryError::NoAnswer(format!(
            "it did not answer to -classad within {} s (FILETRANSFER_PLUGIN_CLASSAD_TIMEOUT)",
            limit.as_secs()
        )))
    }

    fn run_query(&self, reactor: &mut Reactor, call: &ToolCall) -> io::Result<(Option<Exit>, Vec<u8>)> {
        let name = call.argv.first().cloned().unwrap_or_default();
        let Some(program) = job_child::find_program(&name, self.world) else { return Ok((None, Vec::new())) };
        let spec = ChildSpec {
            argv: call.argv.clone(),
            env: match &call.environment {
                ToolEnvironment::Explicit(these) => these.clone(),
                ToolEnvironment::Inherited | ToolEnvironment::InheritedWithHome(_) => {
                    self.environment.clone()
                }
            },
            identity: self.daemon.filter(|_| call.actor == ToolAccount::Daemon).cloned(),
            stdio: [Stdio::Null, Stdio::Capture { limit: OUTPUT_LIMIT }, Stdio::Stdout],
            session: SessionMode::NewSession,
            discards_excess_output: true,
            ..ChildSpec::new(program)
        };
        let Ok(child) = reactor.spawn(spec) else { return Ok((None, Vec::new())) };
        let until = clock::monotonic_now().plus(call.limit);
        loop {
            match reactor.next_event(Some(until))? {
                os::ReactorEvent::Exited { child: ended, exit, stdout, .. } if ended == child => {
                    return Ok((Some(exit), stdout.bytes));
                }
                os::ReactorEvent::Timeout => {
                    reactor.send_signal(child, nix::libc::SIGKILL, os::SignalScope::Family)
                }
                _ => {}
            }
        }
    }

    /// Runs a single query; returns its exit status and output.
    pub(super) fn run_single_query(&self, call: &ToolCall) -> io::Result<(Option<Exit>, Vec<u8>)> {
        self.run_query(&mut Reactor::new(&[])?, call)
    }
}
