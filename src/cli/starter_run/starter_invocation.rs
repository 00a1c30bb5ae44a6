//! A command line about to be carried out, and what its runs end with, whoever is played.

use std::ffi::OsString;
use std::path::PathBuf;

use anyhow::Context;

use super::ad_list::render_ad_list;
use super::options::StarterRunCli;
use crate::cli::common::{Problem, ProgramContext, Status};
use crate::config::ValueError;
use crate::os::stdout_was_closed;
use crate::quirks::{Quirk, QuirkMode};
use crate::runner::starter::{StarterOutcome, StateFile};
use crate::starter::EXCEPTION_STATUS;

/// A command line about to be carried out.
pub(super) struct StarterInvocation<'a> {
    pub(super) cli: &'a StarterRunCli,
    /// Whether `--ads` was typed.
    pub(super) ads_given: bool,
    /// Whether we are called `condor_starter`.
    pub(super) as_tool: bool,
    /// Name of the slot for events, where it is not that of `_CONDOR_SLOT`.
    pub(super) slot: Option<OsString>,
}

impl StarterInvocation<'_> {
    /// Whose behaviour is wanted where manual and reference differ.
    pub(super) fn quirks(&self) -> QuirkMode {
        self.cli.quirks.quirks
    }

    /// Whether options, output and statuses are those of the daemon.
    pub(super) fn is_daemon(&self) -> bool {
        self.as_tool || self.quirks().reproduces(Quirk::StarterOwnCommandLine)
    }

    /// The end of a run whose knobs are wrong.
    pub(super) fn report_refusal(
        &self,
        error: &ValueError,
        session: &ProgramContext,
    ) -> anyhow::Result<Status> {
        let problem = Problem::unreadable(error.user_message()).into();
        if !self.quirks().reproduces(Quirk::StarterExceptions) {
            return Err(problem);
        }
        // The daemon's own knobs: it ends by an exception before it has begun.
        session.report(&problem);
        Ok(Status::Tool(EXCEPTION_STATUS))
    }

    /// The log that `--log` names.
    pub(super) fn log_path(&self) -> anyhow::Result<Option<PathBuf>> {
        let absolute = |path: &PathBuf| {
            std::path::absolute(path).with_context(|| Problem::usage(format!("--log '{}'", path.display())))
        };
        self.cli.job.log.as_ref().map(absolute).transpose()
    }

    /// An ad in the form that is wanted.
    pub(super) fn format_ad(&self, long_form: &[u8]) -> Vec<u8> {
        render_ad_list(self.cli.output.ad_format(), [long_form])
    }

    /// The status of a job whose result ad may not be where it was asked for: a failure of ours, which a starter only notes.
    pub(super) fn status_with_result_ad(
        &self,
        finished: &StarterOutcome,
        status: Status,
        session: &ProgramContext,
    ) -> anyhow::Result<Status> {
        match &finished.unwritten_reason {
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
pub(super) fn keep_unwritten_ad(state: Option<StateFile>, ad: Option<&[u8]>, session: &ProgramContext) {
    // Who closed it does not want the ad.
    if let (Some(state), Some(ad)) = (state, ad)
        && !stdout_was_closed()
    {
        state.keep_file(ad);
        session.warn("the job's ad is kept: htc-starter-run --clean prints it");
    }
}
