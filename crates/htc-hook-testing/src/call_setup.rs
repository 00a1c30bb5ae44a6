//! Setup of a hook call; can be used for any number of calls.

use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::Duration;

use bstr::BString;

use super::call_directories::CallDirectories;
use super::caller::DEFAULT_TIMEOUT;
use super::caller_ads::VerdictInputs;
use super::case::Case;
use htc_base::process::{ChildSpec, ProcessIdentity};
use htc_base::quirks::QuirkMode;
use htc_base::world::{Account, World};
use htc_hook::path_check;
use htc_os::{RealWorld, identity};
use htc_runner::hook_call::{HookCall, RootHookError, StderrHandling};
use htc_runner::hook_environment::HookEnvironment;
use htc_starter::StarterSettings;

/// Setup of a hook call; can be used for any number of calls.
pub struct CallSetup {
    /// Access to the operating system.
    pub world: Rc<RealWorld>,
    /// Inputs of the call.
    pub case: Case,
    /// Path of the hook.
    pub path: BString,
    /// Reason why the caller would refuse to run the hook, or `None` if it would not.
    pub refusal: Option<String>,
    /// Messages about parameters that are set but have no effect.
    pub ignored_settings: Vec<String>,
    /// Steps by which keyword and path were found.
    pub lookup_log: Vec<String>,
    /// Name of the configured slot whose ad the hook gets, or `None` if the ad is from another source.
    pub configured_slot: Option<String>,
    /// Note about the route of the configuration that the hook gets, or `None` if the route is from another source.
    pub route_note: Option<String>,
    /// Identity with which the hook runs, or `None` for the identity of this program.
    pub identity: Option<ProcessIdentity>,
    /// Account that the hook runs as, or `None` for the account of this program. The caller is assumed to run as this
    /// program's account.
    pub account: Option<Account>,
    /// Configuration of the starter.
    pub settings: StarterSettings,
    /// Environment of the daemon that calls the hook.
    pub daemon: HookEnvironment,
    /// Additional environment variables of the hook.
    pub extra_variables: Vec<(BString, BString)>,
    /// Directories to put in front of PATH.
    pub path_prefixes: Vec<PathBuf>,
    /// Time after which the hook is killed.
    pub patience: Duration,
    /// Quirks of 25.14 to reproduce.
    pub quirks: QuirkMode,
}

/// Error that prevents a hook call.
#[derive(Debug, thiserror::Error)]
pub enum CallError {
    /// The directories of the call cannot be created.
    #[error("creating the directories of the hook")]
    Directories(#[source] io::Error),
    /// The hook would run as root.
    #[error(transparent)]
    Root(#[from] RootHookError),
    /// The record of the call cannot be written.
    #[error("cannot store the recorded call below '{0}'")]
    WriteRecord(PathBuf, #[source] io::Error),
    /// The event loop fails.
    #[error(transparent)]
    EventLoop(#[from] io::Error),
}

impl CallSetup {
    /// Creates a setup with an empty hook path and an empty environment, for the account of this program.
    pub fn without_hook(world: Rc<RealWorld>, case: Case, quirks: QuirkMode) -> Self {
        CallSetup {
            world,
            case,
            path: BString::default(),
            refusal: None,
            ignored_settings: Vec::new(),
            lookup_log: Vec::new(),
            configured_slot: None,
            route_note: None,
            identity: None,
            account: identity::account_by_uid(identity::effective_uid()),
            settings: StarterSettings::default(),
            daemon: HookEnvironment::default(),
            extra_variables: Vec::new(),
            path_prefixes: Vec::new(),
            patience: DEFAULT_TIMEOUT,
            quirks,
        }
    }

    /// Sets the hook's path, and checks it as the hook's caller does.
    #[must_use]
    pub fn with_hook_path(mut self, path: &Path) -> Self {
        self.path = path.as_os_str().as_bytes().into();
        self.refusal = path_check::check_path(&*self.world, &self.path).err().map(|error| error.to_string());
        self
    }

    /// Returns the inputs of a verdict other than the case.
    pub fn verdict_inputs(&self) -> VerdictInputs<'_> {
        VerdictInputs { settings: &self.settings, world: &*self.world, quirks: self.quirks }
    }

    /// Creates the directories of one call.
    ///
    /// # Errors
    /// The directories cannot be created.
    pub fn create_directories(&self) -> Result<CallDirectories, CallError> {
        CallDirectories::create(&self.case, self.identity.as_ref(), &self.verdict_inputs())
            .map_err(CallError::Directories)
    }

    /// Builds the environment of the hook.
    pub fn hook_environment(&self, place: &CallDirectories) -> HookEnvironment {
        let mut all =
            place.hook_environment(self.daemon.clone(), self.account.as_ref(), &self.verdict_inputs());
        set_variables(&mut all, &self.extra_variables, &self.path_prefixes);
        all
    }

    /// Describes the child process of one call.
    ///
    /// # Errors
    /// The hook would run as root.
    pub fn child_spec(
        &self,
        place: &CallDirectories,
        environment: HookEnvironment,
    ) -> Result<ChildSpec, CallError> {
        let mut call =
            HookCall::new(self.case.hook, self.path.clone(), place.case().input(self.quirks), environment);
        call.arguments = self.case.all_arguments(self.quirks);
        call.directory = Some(place.directory.clone());
        call.identity = self.identity.clone();
        call.output_limit = self.case.output_limit;
        call.stderr_handling = StderrHandling::Streamed;
        call.quirks = self.quirks;
        call.ancestor = Some(HookCall::new_family_marker(self.world.now(), self.world.random()));
        Ok(call.child_spec()?)
    }
}

/// Sets the variables in `extra`, and puts the directories in `prepend` in front of PATH.
pub fn set_variables(all: &mut HookEnvironment, extra: &[(BString, BString)], prepend: &[PathBuf]) {
    for (name, value) in extra {
        all.variables.set(name.clone(), value.clone());
    }
    if prepend.is_empty() {
        return;
    }
    let old = all.variables.get("PATH").cloned().unwrap_or_default();
    let mut path = BString::default();
    for directory in prepend {
        let directory = std::path::absolute(directory).unwrap_or_else(|_| directory.clone());
        path.extend_from_slice(directory.as_os_str().as_bytes());
        path.push(b':');
    }
    path.extend_from_slice(&old);
    all.variables.set("PATH", path);
}
