//! Messages about the events of cron jobs.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::time::Duration;

use bstr::{BString, ByteSlice};

use super::options::SharedOptions;
use crate::cli::common::{Painter, ProgramContext};
use crate::hook::cron_job::CronMode;
use crate::hook_testing::{CronPlan, CronSession, CronSessionEvent};
use crate::os::LeftoverProcess;
use crate::process::Exit;
use crate::runner::cron::CronNotice;
use crate::slot::cron_ads::CronPublication;
use crate::slot::cron_schedule::CronNote;
use crate::text::control_characters::mask_terminal_controls;
use crate::text::plural::counted;

/// Maximum number of characters that are shown of an invalid line.
const MAX_SHOWN_CHARACTERS: usize = 120;
/// Maximum number of invalid lines that are shown.
const MAX_BAD_LINES: usize = 50;

/// Reporter of events of cron jobs.
pub(super) struct CronReporter<'a> {
    session: &'a ProgramContext,
    painter: Painter,
    quiet: bool,
    /// True if messages begin with the time, because the session has a fixed duration.
    timed: bool,
    patience: Duration,
    /// Invalid lines that were reported; each line is reported only once.
    bad_lines: RefCell<BTreeSet<BString>>,
}

impl<'a> CronReporter<'a> {
    pub(super) fn new(cli: &SharedOptions, plan: &CronPlan, session: &'a ProgramContext) -> Self {
        CronReporter {
            session,
            painter: Painter::stderr(cli.output.color),
            quiet: cli.output.quiet,
            timed: plan.seconds.is_some(),
            patience: plan.patience,
            bad_lines: RefCell::default(),
        }
    }

    fn report_line(&self, session: &CronSession<'_>, name: &str, text: &str) {
        let when = match self.timed {
            true => format!("+{:.1} ", session.elapsed().as_secs_f64()),
            false => String::new(),
        };
        let name = if name.is_empty() { String::new() } else { format!("{name}: ") };
        let text = mask_terminal_controls(text);
        self.session.write_stderr(&format!("{when}{name}{text}\n"));
    }

    /// Reports that the configuration is read again.
    pub(super) fn report_reconfig(&self, session: &CronSession<'_>) {
        self.report_line(session, "", "reconfig");
    }

    pub(super) fn report_event(&self, session: &CronSession<'_>, event: &CronSessionEvent) {
        match event {
            CronSessionEvent::Notice(notice) => self.report_notice(session, notice),
            CronSessionEvent::OnDemand(name) => {
                self.session.write_stderr(&format!("{name}: OnDemand: nothing ever starts it\n"));
            }
            CronSessionEvent::JobBegins => self.report_line(session, "", "a job begins"),
            CronSessionEvent::Killed(name) => {
                let text = format!("killed: it did not end within {} s", self.patience.as_secs_f64());
                self.report_line(session, &self.painter.bad(name).to_string(), &text);
            }
            CronSessionEvent::SignalsCaller(number) => {
                let text = format!(
                    "a program sends signal {number} to its caller, the daemon, and this ends the daemon"
                );
                self.report_line(session, "  warning signals-caller", &text);
            }
        }
    }

    fn report_notice(&self, session: &CronSession<'_>, notice: &CronNotice) {
        let quiet = self.quiet;
        match notice {
            CronNotice::Started { name, .. } => {
                if self.timed && !quiet {
                    self.report_line(session, &name.to_string(), "started");
                }
            }
            CronNotice::NotStarted { name, reason } => {
                let last = match session.schedule().job(name).map(|job| job.mode) {
                    Some(CronMode::Periodic) => "tried again after its period".to_owned(),
                    _ => {
                        format!(
                            "HTCondor 25.14 never tries it again ({})",
                            session.schedule().failed_start_decision().quirk.id()
                        )
                    }
                };
                let name = self.painter.bad(name).to_string();
                self.report_line(session, &name, &format!("not started: {reason}; {last}"));
            }
            CronNotice::Published { job, block } => self.report_published(session, job, block),
            CronNotice::UnterminatedLine { line, leaks } => {
                let leaks = leaks.id();
                let text = format!(
                    "'{line}' has no newline; it is joined to the first line of the next run ({leaks})"
                );
                self.report_line(session, "  warning last-line", &text);
            }
            CronNotice::Signalled { name, signal } => {
                if !quiet {
                    self.report_line(session, &name.to_string(), &format!("signal {signal} is sent to it"));
                }
            }
            CronNotice::Ended { name, exit, took, stderr, left_behind } => {
                if !quiet || !exit.is_success() || !left_behind.is_empty() {
                    let mode = session.schedule().job(name).map_or("dropped", |job| job.mode.name());
                    let name = format!("{} ({mode})", self.painter.good(&name.to_string()));
                    self.report_ended(session, &name, *exit, *took);
                    self.report_left_behind(session, left_behind, stderr);
                }
            }
            CronNotice::TooLarge { name } => {
                self.report_line(
                    session,
                    &name.to_string(),
                    "a block of more than 4 MiB: the rest of it is dropped",
                );
            }
            CronNotice::Dropped { name } => {
                self.report_line(
                    session,
                    &name.to_string(),
                    "the job is removed, and its attributes with it",
                );
            }
            CronNotice::Note(note) => self.report_note(session, note),
        }
    }

    /// Reports a block of output: its invalid lines, and the use of its valid lines.
    fn report_published(&self, session: &CronSession<'_>, job: &BString, block: &CronPublication) {
        let mut bad_lines = self.bad_lines.borrow_mut();
        for line in &block.bad_lines {
            let shortened: BString = line.line.chars().take(MAX_SHOWN_CHARACTERS).collect::<String>().into();
            if bad_lines.len() < MAX_BAD_LINES && bad_lines.insert(shortened.clone()) {
                let text = format!("Can't insert '{shortened}' into '{job}' ClassAd");
                self.report_line(session, "  warning bad-line", &text);
            }
        }
        let Some(count) = block.attributes else {
            self.report_line(
                session,
                &format!("  {job}"),
                "a block without a valid line: nothing is published",
            );
            return;
        };
        if self.quiet {
            return;
        }
        let update = match (block.update_request, block.updates_collector) {
            (_, true) => ", collector updated",
            (Some(false), _) => ", no update",
            _ => "",
        };
        self.report_line(
            session,
            &format!("  {}", block.name),
            &format!("{}{update}", counted(count, "attribute")),
        );
        for word in &block.ignored {
            self.report_line(session, "  note", &format!("'{word}' after the dash has no effect"));
        }
    }

    fn report_ended(&self, session: &CronSession<'_>, name: &str, exit: Exit, took: Duration) {
        let note = match exit.is_success() {
            false => "; the exit status is ignored, and the output is used",
            true => "",
        };
        self.report_line(session, name, &format!("{exit}, {:.1} ms{note}", took.as_secs_f64() * 1e3));
    }

    /// Reports the processes that a program left running, and its standard error.
    fn report_left_behind(&self, session: &CronSession<'_>, left_behind: &[LeftoverProcess], stderr: &[u8]) {
        for left in left_behind {
            let name = left.command.as_bstr();
            let text = format!("process {} ({name}) is not killed by the daemon", left.pid);
            self.report_line(session, "  warning left-behind", &text);
        }
        let stderr_text = if self.quiet { b"" } else { stderr };
        for line in stderr_text.lines() {
            self.report_line(session, "  stderr", &line.as_bstr().to_string());
        }
    }

    fn report_note(&self, session: &CronSession<'_>, note: &CronNote) {
        match note {
            CronNote::Waiting { name, for_load: false } if !session.has_run_enough(name) => {
                self.report_line(session, &name.to_string(), "not started: CONDITION is not true");
            }
            CronNote::Waiting { name, for_load: true } if !self.quiet => {
                self.report_line(session, &name.to_string(), "waiting for load");
            }
            CronNote::Waiting { .. } => {}
            CronNote::NeverFits { name } => {
                self.report_line(
                    session,
                    &name.to_string(),
                    "JOB_LOAD is above MAX_JOB_LOAD, so it never starts",
                );
            }
            note => {
                if !self.quiet {
                    self.report_line(session, "", &note.to_string());
                }
            }
        }
    }
}
