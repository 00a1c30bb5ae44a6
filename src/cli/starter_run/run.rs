//! A command line about to be carried out, and what its runs end with, whoever is played.

use std::ffi::OsString;
use std::path::PathBuf;

use anyhow::Context;

use super::forms::listed;
use super::options::Cli;
use crate::cli::common::{Problem, Session, Status};
use crate::config::ValueError;
use crate::os::stdout_was_closed;
use crate::quirks::{Quirk, Quirks};
use crate::runner::starter::{Finished, StateFile};
use crate::starter::EXCEPTION;

/// A command line about to be carried out.
pub(super) struct Run<'a> {
    pub(super) cli: &'a Cli,
    /// Whether `--ads` was typed.
    pub(super) ads_given: bool,
    /// Whether we are called `condor_starter`.
    pub(super) as_tool: bool,
    /// Name of the slot for events, where it is not that of `_CONDOR_SLOT`.
    pub(super) slot: Option<OsString>,
}

impl Run<'_> {
    /// Whose behaviour is wanted where manual and reference differ.
    pub(super) fn quirks(&self) -> Quirks {
        self.cli.quirks.quirks
    }

    /// Whether options, output and statuses are those of the daemon.
    pub(super) fn is_daemon(&self) -> bool {
        self.as_tool || self.quirks().has(Quirk::StarterOwnCommandLine)
    }

    /// The end of a run whose knobs are wrong.
    pub(super) fn refused(&self, error: &ValueError, session: &Session) -> anyhow::Result<Status> {
        let problem = Problem::unreadable(error.told()).into();
        if !self.quirks().has(Quirk::StarterExceptions) {
            return Err(problem);
        }
        // The daemon's own knobs: it ends by an exception before it has begun.
        session.report(&problem);
        Ok(Status::Tool(EXCEPTION))
    }

    /// The log that `--log` names.
    pub(super) fn log_file(&self) -> anyhow::Result<Option<PathBuf>> {
        let absolute = |path: &PathBuf| {
            std::path::absolute(path).with_context(|| Problem::usage(format!("--log '{}'", path.display())))
        };
        self.cli.job.log.as_ref().map(absolute).transpose()
    }

    /// An ad in the form that is wanted.
    pub(super) fn formatted(&self, long_form: &[u8]) -> Vec<u8> {
        listed(self.cli.output.format(), [long_form])
    }

    /// The status of a job whose result ad may not be where it was asked for: a failure of ours, which a starter only notes.
    pub(super) fn with_result_ad(
        &self,
        finished: &Finished,
        status: Status,
        session: &Session,
    ) -> anyhow::Result<Status> {
        match &finished.unwritten {
            None => Ok(status),
            Some(why) if self.is_daemon() => {
                session.warn(why);
                Ok(status)
            }
            Some(why) => Err(anyhow::anyhow!("{why}")),
        }
    }
}

/// An ad that could not be written is kept for whoever cleans up.
pub(super) fn keep(state: Option<StateFile>, ad: Option<&[u8]>, session: &Session) {
    // Who closed it does not want the ad.
    if let (Some(state), Some(ad)) = (state, ad)
        && !stdout_was_closed()
    {
        state.keep(ad);
        session.warn("the job's ad is kept: htc-starter-run --clean prints it");
    }
}
