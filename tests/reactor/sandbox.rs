//! An empty directory for scripts, and a reactor that has the process to itself.

use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};

use htc_hooks::os::{ChildId, Reactor, ReactorEvent, clock};
use htc_hooks::process::{ChildSpec, Stdio};
use htc_hooks::time::MonotonicTime;

use crate::children::{LONG, write_executable};

/// Orphans are reparented to the process, not to a thread, so tests that create them take turns.
static TURN: Mutex<()> = Mutex::new(());

pub(crate) struct Sandbox {
    pub(crate) home: tempfile::TempDir,
    pub(crate) reactor: Reactor,
    _turn: MutexGuard<'static, ()>,
}

impl Sandbox {
    pub(crate) fn new() -> Self {
        let turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
        let reactor = Reactor::new(&[]).unwrap();
        Sandbox { home: tempfile::tempdir().unwrap(), reactor, _turn: turn }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.home.path().join(name)
    }

    /// Writes an executable file.
    pub(crate) fn script(&self, name: &str, text: &str) -> PathBuf {
        let path = self.path(name);
        write_executable(&path, text.as_bytes());
        path
    }

    /// Returns a child that runs the shell script, with captured outputs.
    pub(crate) fn shell(&self, text: &str) -> ChildSpec {
        let number = std::fs::read_dir(self.home.path()).unwrap().count();
        let mut spec =
            ChildSpec::new(self.script(&format!("script{number}"), &format!("#!/bin/sh\n{text}\n")));
        spec.env = vec!["PATH=/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin".into()];
        spec.cwd = Some(self.home.path().to_owned());
        spec.stdio = [Stdio::Null, Stdio::Capture { limit: 10_240 }, Stdio::Capture { limit: 10_240 }];
        spec
    }

    pub(crate) fn spawn(&mut self, spec: ChildSpec) -> ChildId {
        self.reactor.spawn(spec).unwrap()
    }

    pub(crate) fn deadline() -> MonotonicTime {
        clock::monotonic_now().plus(LONG)
    }

    pub(crate) fn next(&mut self) -> ReactorEvent {
        let event = self.reactor.next_event(Some(Self::deadline())).unwrap();
        assert_ne!(event, ReactorEvent::Timeout, "nothing happened in {LONG:?}");
        event
    }

    /// Runs the child to its end.
    pub(crate) fn run(&mut self, spec: ChildSpec) -> ReactorEvent {
        self.spawn(spec);
        self.next()
    }
}
