//! Parsed command line with the settings derived from it, and the exit statuses of its runs.

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

/// Parsed command line, with the settings derived from it.
pub(super) struct StarterInvocation<'a> {
    pub(super) cli: &'a StarterRunCli,
    /// True if `--ads` is on the command line.
    pub(super) ads_given: bool,
    /// True if the program is called as `condor_starter`.
    pub(super) as_tool: bool,
    /// Name of the slot in events, or `None` if it is that of `_CONDOR_SLOT`.
    pub(super) slot: Option<OsString>,
}

impl StarterInvocation<'_> {
    /// Returns the value of `--quirks`, which selects the behaviour in cases in which 25.14 and its manual differ.
    pub(super) fn quirks(&self) -> QuirkMode {
        self.cli.quirks.quirks
    }

    /// Returns true if options, output and exit statuses are those of the daemon.
    pub(super) fn is_daemon(&self) -> bool {
        self.as_tool || self.quirks().reproduces(Quirk::StarterOwnCommandLine)
    }

    /// Reports an invalid parameter, and returns the exit status.
    pub(super) fn report_refusal(
        &self,
        error: &ValueError,
        session: &ProgramContext,
    ) -> anyhow::Result<Status> {
        let problem = Problem::unreadable(error.user_message()).into();
        if !self.quirks().reproduces(Quirk::StarterExceptions) {
            return Err(problem);
        }
        // If the parameter is one of the daemon itself, the daemon aborts before it starts the job.
        session.report(&problem);
        Ok(Status::Tool(EXCEPTION_STATUS))
    }

    /// Returns the path of `--log`.
    pub(super) fn log_path(&self) -> anyhow::Result<Option<PathBuf>> {
        let absolute = |path: &PathBuf| {
            std::path::absolute(path).with_context(|| Problem::usage(format!("--log '{}'", path.display())))
        };
        self.cli.job.log.as_ref().map(absolute).transpose()
    }

    /// Formats an ad, which is given in the long form, in the requested format.
    pub(super) fn format_ad(&self, long_form: &[u8]) -> Vec<u8> {
        render_ad_list(self.cli.output.ad_format(), [long_form])
    }

    /// Returns the exit status for a job. If the result ad could not be written, this is an error, although the
    /// reference only logs it.
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

/// Saves a job ad that could not be written, so that `--clean` can print it.
pub(super) fn keep_unwritten_ad(state: Option<StateFile>, ad: Option<&[u8]>, session: &ProgramContext) {
    // If standard output was closed, the caller does not need the ad.
    if let (Some(state), Some(ad)) = (state, ad)
        && !stdout_was_closed()
    {
        state.keep_file(ad);
        session.warn("the job's ad is saved: htc-starter-run --clean prints it");
    }
}
