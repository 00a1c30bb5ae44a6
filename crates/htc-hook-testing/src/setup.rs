//! A call that can be made, any number of times.

use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::Duration;

use bstr::BString;

use super::caller::PATIENCE;
use super::case::Case;
use super::place::Place;
use super::sent::Around;
use htc_base::process::{ChildSpec, Identity};
use htc_base::quirks::Quirks;
use htc_base::world::{Account, World};
use htc_hook::path_check;
use htc_os::{RealWorld, identity};
use htc_runner::hook_call::{Complaints, HookCall, RootRefused};
use htc_runner::hook_environment::HookEnvironment;
use htc_starter::Settings;

/// A call that can be made, any number of times.
pub struct Setup {
    /// What is outside.
    pub world: Rc<RealWorld>,
    /// What the caller knows.
    pub case: Case,
    /// The hook.
    pub path: BString,
    /// Why the caller would not run the hook.
    pub refusal: Option<String>,
    /// Knobs that are set for nothing.
    pub unread: Vec<String>,
    /// How keyword and path were found.
    pub story: Vec<String>,
    /// Whose rights it gets, if others than those of this program.
    pub identity: Option<Identity>,
    /// The account that the hook runs as; its caller runs as the program does.
    pub account: Option<Account>,
    /// The configuration of the starter.
    pub settings: Settings,
    /// The environment of its caller.
    pub daemon: HookEnvironment,
    /// Variables that are set besides.
    pub extra: Vec<(BString, BString)>,
    /// Directories that stand in front of PATH.
    pub prepend: Vec<PathBuf>,
    /// How long it is waited for.
    pub patience: Duration,
    /// Deviations.
    pub quirks: Quirks,
}

/// Why a call cannot be made.
#[derive(Debug, thiserror::Error)]
pub enum CallError {
    /// Its directories cannot be made.
    #[error("making a place for the hook")]
    Place(#[source] io::Error),
    /// It would run as root.
    #[error(transparent)]
    Root(#[from] RootRefused),
    /// It cannot be kept.
    #[error("cannot keep the call below '{0}'")]
    Keep(PathBuf, #[source] io::Error),
    /// The loop that waits for it fails.
    #[error(transparent)]
    Loop(#[from] io::Error),
}

impl Setup {
    /// A call as the account of this program, without a path and with an empty environment.
    pub fn plain(world: Rc<RealWorld>, case: Case, quirks: Quirks) -> Self {
        Setup {
            world,
            case,
            path: BString::default(),
            refusal: None,
            unread: Vec::new(),
            story: Vec::new(),
            identity: None,
            account: identity::by_uid(identity::effective_uid()),
            settings: Settings::default(),
            daemon: HookEnvironment::default(),
            extra: Vec::new(),
            prepend: Vec::new(),
            patience: PATIENCE,
            quirks,
        }
    }

    /// The same of the hook at a path, which is looked at as its caller does.
    #[must_use]
    pub fn of(mut self, path: &Path) -> Self {
        self.path = path.as_os_str().as_bytes().into();
        self.refusal = path_check::check(&*self.world, &self.path).err().map(|error| error.to_string());
        self
    }

    /// What the hook's caller knows besides the case.
    pub fn around(&self) -> Around<'_> {
        Around { settings: &self.settings, world: &*self.world, quirks: self.quirks }
    }

    /// The directories of one call.
    ///
    /// # Errors
    /// They cannot be made.
    pub fn place(&self) -> Result<Place, CallError> {
        Place::make(&self.case, self.identity.as_ref(), &self.around()).map_err(CallError::Place)
    }

    /// The environment of the hook.
    pub fn environment(&self, place: &Place) -> HookEnvironment {
        let mut all = place.environment(self.daemon.clone(), self.account.as_ref(), &self.around());
        put_variables(&mut all, &self.extra, &self.prepend);
        all
    }

    /// The child of one call.
    ///
    /// # Errors
    /// It would run as root.
    pub fn child(&self, place: &Place, environment: HookEnvironment) -> Result<ChildSpec, CallError> {
        let mut call =
            HookCall::new(self.case.hook, self.path.clone(), place.case().input(self.quirks), environment);
        call.arguments = self.case.words(self.quirks);
        call.directory = Some(place.directory.clone());
        call.identity = self.identity.clone();
        call.output_limit = self.case.output_limit;
        call.complaints = Complaints::Live;
        call.quirks = self.quirks;
        call.ancestor = Some(HookCall::marker(self.world.now(), self.world.random()));
        Ok(call.child_spec()?)
    }
}

/// Sets variables, and puts directories in front of PATH.
pub fn put_variables(all: &mut HookEnvironment, extra: &[(BString, BString)], prepend: &[PathBuf]) {
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
