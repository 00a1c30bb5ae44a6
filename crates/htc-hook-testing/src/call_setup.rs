//! A call that can be made, any number of times.

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

/// A call that can be made, any number of times.
pub struct CallSetup {
    /// What is outside.
    pub world: Rc<RealWorld>,
    /// What the caller knows.
    pub case: Case,
    /// The hook.
    pub path: BString,
    /// Why the caller would not run the hook.
    pub refusal: Option<String>,
    /// Knobs that are set for nothing.
    pub ignored_settings: Vec<String>,
    /// How keyword and path were found.
    pub lookup_log: Vec<String>,
    /// Whose rights it gets, if others than those of this program.
    pub identity: Option<ProcessIdentity>,
    /// The account that the hook runs as; its caller runs as the program does.
    pub account: Option<Account>,
    /// The configuration of the starter.
    pub settings: StarterSettings,
    /// The environment of its caller.
    pub daemon: HookEnvironment,
    /// Variables that are set besides.
    pub extra_variables: Vec<(BString, BString)>,
    /// Directories that stand in front of PATH.
    pub path_prefixes: Vec<PathBuf>,
    /// How long it is waited for.
    pub patience: Duration,
    /// Deviations.
    pub quirks: QuirkMode,
}

/// Why a call cannot be made.
#[derive(Debug, thiserror::Error)]
pub enum CallError {
    /// Its directories cannot be made.
    #[error("making a place for the hook")]
    Directories(#[source] io::Error),
    /// It would run as root.
    #[error(transparent)]
    Root(#[from] RootHookError),
    /// It cannot be kept.
    #[error("cannot keep the call below '{0}'")]
    WriteRecord(PathBuf, #[source] io::Error),
    /// The loop that waits for it fails.
    #[error(transparent)]
    EventLoop(#[from] io::Error),
}

impl CallSetup {
    /// A call as the account of this program, without a path and with an empty environment.
    pub fn without_hook(world: Rc<RealWorld>, case: Case, quirks: QuirkMode) -> Self {
        CallSetup {
            world,
            case,
            path: BString::default(),
            refusal: None,
            ignored_settings: Vec::new(),
            lookup_log: Vec::new(),
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

    /// The same of the hook at a path, which is looked at as its caller does.
    #[must_use]
    pub fn with_hook_path(mut self, path: &Path) -> Self {
        self.path = path.as_os_str().as_bytes().into();
        self.refusal = path_check::check_path(&*self.world, &self.path).err().map(|error| error.to_string());
        self
    }

    /// What the hook's caller knows besides the case.
    pub fn verdict_inputs(&self) -> VerdictInputs<'_> {
        VerdictInputs { settings: &self.settings, world: &*self.world, quirks: self.quirks }
    }

    /// The directories of one call.
    ///
    /// # Errors
    /// They cannot be made.
    pub fn create_directories(&self) -> Result<CallDirectories, CallError> {
        CallDirectories::create(&self.case, self.identity.as_ref(), &self.verdict_inputs())
            .map_err(CallError::Directories)
    }

    /// The environment of the hook.
    pub fn hook_environment(&self, place: &CallDirectories) -> HookEnvironment {
        let mut all =
            place.hook_environment(self.daemon.clone(), self.account.as_ref(), &self.verdict_inputs());
        set_variables(&mut all, &self.extra_variables, &self.path_prefixes);
        all
    }

    /// The child of one call.
    ///
    /// # Errors
    /// It would run as root.
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

/// Sets variables, and puts directories in front of PATH.
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
