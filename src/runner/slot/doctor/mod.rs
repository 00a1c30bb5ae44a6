//! Will this configuration work here? Each thing that a run needs is looked at with what the run itself uses to look at it; nothing
//! is changed, and nothing is run but what a run would ask at its start.

mod disk;
mod hooks;
mod machine;
mod places;

use std::path::PathBuf;

use serde::Serialize;

use super::account::HookAccount;
use super::starter_program::StarterProgram;
use crate::config::Config;
use crate::slot::{Settings, Surroundings};
use crate::world::World;

/// How one thing stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Standing {
    /// It works.
    Good,
    /// A run begins and goes on, but not all that the configuration asks for happens.
    Note,
    /// Something will fail.
    Fails,
}

/// One thing that was looked at.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Check {
    /// What it is about: `hooks`, `execute`, `clock` ...
    pub subject: &'static str,
    /// How it stands.
    pub standing: Standing,
    /// What was found.
    pub found: String,
    /// What to do about it; empty where nothing is to be done.
    pub todo: String,
}

impl Check {
    /// All is well.
    pub fn good(subject: &'static str, found: impl Into<String>) -> Self {
        Check { subject, standing: Standing::Good, found: found.into(), todo: String::new() }
    }

    /// Something a user should know.
    pub fn note(subject: &'static str, found: impl Into<String>, todo: impl Into<String>) -> Self {
        Check { subject, standing: Standing::Note, found: found.into(), todo: todo.into() }
    }

    /// Something that will fail.
    pub fn fails(subject: &'static str, found: impl Into<String>, todo: impl Into<String>) -> Self {
        Check { subject, standing: Standing::Fails, found: found.into(), todo: todo.into() }
    }
}

/// A sentence that may say behind a semicolon what is to be done, as those of other rooms do.
fn failing(subject: &'static str, sentence: &str) -> Check {
    match sentence.rsplit_once("; ") {
        Some((found, todo)) => Check::fails(subject, found, todo),
        None => Check::fails(subject, sentence, "correct what it names"),
    }
}

/// What a run would begin with.
pub struct Patient<'a> {
    /// The configuration.
    pub config: &'a Config,
    /// Where all else is asked.
    pub world: &'a dyn World,
    /// The slots.
    pub settings: &'a Settings,
    /// What was found of the machine.
    pub around: &'a Surroundings,
    /// Who runs the execution point's hooks, or why nobody can.
    pub account: Result<HookAccount, String>,
    /// What runs the jobs.
    pub starter: StarterProgram,
    /// EXECUTE.
    pub execute: Option<PathBuf>,
    /// LOG.
    pub log: Option<PathBuf>,
}

impl Patient<'_> {
    fn text(&self, name: &str) -> Option<String> {
        let view = self.config.view(self.world);
        view.text(name).map(|text| text.to_string())
    }
}

/// Looks at everything.
pub fn examine(patient: &Patient<'_>) -> Vec<Check> {
    let mut checks = machine::slots(patient);
    checks.extend(hooks::users(patient));
    checks.extend(hooks::hooks(patient));
    checks.extend(hooks::cron(patient));
    checks.extend(hooks::backfill(patient));
    checks.extend(places::places(patient));
    checks.extend(disk::disk(patient));
    checks.extend(machine::machine(patient));
    checks.extend(machine::console(patient));
    checks
}
