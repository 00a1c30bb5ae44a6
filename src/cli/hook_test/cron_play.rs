//! What happens to cron jobs that are played, in words.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::time::Duration;

use bstr::{BString, ByteSlice};

use super::options::Shared;
use crate::cli::common::{Painter, Session};
use crate::hook::cron_job::CronMode;
use crate::hook_testing::{CronPlan, CronPlay, PlayEvent};
use crate::os::Leftover;
use crate::process::Exit;
use crate::runner::cron::CronNotice;
use crate::slot::cron_ads::Published;
use crate::slot::cron_schedule::CronNote;

/// How many characters of a bad line are shown, and how many such lines.
const SHOWN: usize = 120;
const MOST_BAD_LINES: usize = 50;

/// Tells what happens.
pub(super) struct Teller<'a> {
    session: &'a Session,
    painter: Painter,
    quiet: bool,
    /// Whether the time stands in front: where time passes.
    timed: bool,
    patience: Duration,
    /// Lines that were told to be no attributes; each is told once.
    bad_lines: RefCell<BTreeSet<BString>>,
}

impl<'a> Teller<'a> {
    pub(super) fn new(cli: &Shared, plan: &CronPlan, session: &'a Session) -> Self {
        Teller {
            session,
            painter: Painter::stderr(cli.output.color),
            quiet: cli.output.quiet,
            timed: plan.seconds.is_some(),
            patience: plan.patience,
            bad_lines: RefCell::default(),
        }
    }

    fn line(&self, play: &CronPlay<'_>, name: &str, text: &str) {
        let when = match self.timed {
            true => format!("+{:.1} ", play.elapsed().as_secs_f64()),
            false => String::new(),
        };
        let name = if name.is_empty() { String::new() } else { format!("{name}: ") };
        self.session.tell(&format!("{when}{name}{text}\n"));
    }

    /// The configuration is read again.
    pub(super) fn reconfig(&self, play: &CronPlay<'_>) {
        self.line(play, "", "reconfig");
    }

    pub(super) fn tell(&self, play: &CronPlay<'_>, event: &PlayEvent) {
        match event {
            PlayEvent::Notice(told) => self.tell_one(play, told),
            PlayEvent::OnDemand(name) => {
                self.session.tell(&format!("{name}: OnDemand: nothing ever starts it\n"));
            }
            PlayEvent::JobBegins => self.line(play, "", "a job begins"),
            PlayEvent::Killed(name) => {
                let text = format!("killed: it did not end within {} s", self.patience.as_secs_f64());
                self.line(play, &self.painter.bad(name).to_string(), &text);
            }
        }
    }

    fn tell_one(&self, play: &CronPlay<'_>, told: &CronNotice) {
        let quiet = self.quiet;
        match told {
            CronNotice::Started { name, .. } => {
                if self.timed && !quiet {
                    self.line(play, &name.to_string(), "started");
                }
            }
            CronNotice::NotStarted { name, reason } => {
                let last = match play.schedule().job(name).map(|job| job.mode) {
                    Some(CronMode::Periodic) => "tried again after its period".to_owned(),
                    _ => {
                        format!("25.14 never tries it again ({})", play.schedule().failed_start().quirk.id())
                    }
                };
                let name = self.painter.bad(name).to_string();
                self.line(play, &name, &format!("not started: {reason}; {last}"));
            }
            CronNotice::Published { job, block } => self.published(play, job, block),
            CronNotice::Unended { line, leaks } => {
                let leaks = leaks.id();
                let text = format!("'{line}' has no newline; it is glued to the next run ({leaks})");
                self.line(play, "  warning last-line", &text);
            }
            CronNotice::Signalled { name, signal } => {
                if !quiet {
                    self.line(play, &name.to_string(), &format!("gets signal {signal}"));
                }
            }
            CronNotice::Ended { name, exit, took, stderr, left_behind } => {
                if !quiet {
                    let mode = play.schedule().job(name).map_or("dropped", |job| job.mode.name());
                    let name = format!("{} ({mode})", self.painter.good(&name.to_string()));
                    self.ended(play, &name, *exit, *took);
                    self.left(play, left_behind, stderr);
                }
            }
            CronNotice::TooLarge { name } => {
                self.line(play, &name.to_string(), "a block of more than 4 MiB: the rest of it is dropped");
            }
            CronNotice::Dropped { name } => {
                self.line(play, &name.to_string(), "dropped, and its attributes with it");
            }
            CronNotice::Note(note) => self.note(play, note),
        }
    }

    /// A block of output: its bad lines, and what became of the others.
    fn published(&self, play: &CronPlay<'_>, job: &BString, block: &Published) {
        let mut bad_lines = self.bad_lines.borrow_mut();
        for line in &block.bad {
            let shown: BString = line.line.chars().take(SHOWN).collect::<String>().into();
            if bad_lines.len() < MOST_BAD_LINES && bad_lines.insert(shown.clone()) {
                let text = format!("Can't insert '{shown}' into '{job}' ClassAd");
                self.line(play, "  warning bad-line", &text);
            }
        }
        let Some(count) = block.attributes else {
            self.line(play, &format!("  {job}"), "a block without a good line: nothing is published");
            return;
        };
        if self.quiet {
            return;
        }
        let update = match (block.asked, block.update) {
            (_, true) => ", collector updated",
            (Some(false), _) => ", no update",
            _ => "",
        };
        self.line(play, &format!("  {}", block.name), &format!("{count} attributes{update}"));
        for word in &block.ignored {
            self.line(play, "  note", &format!("'{word}' behind the dash means nothing"));
        }
    }

    fn ended(&self, play: &CronPlay<'_>, name: &str, exit: Exit, took: Duration) {
        let note = match exit.is_success() {
            false => "; nobody looks at that, what it printed counts",
            true => "",
        };
        self.line(play, name, &format!("{exit}, {:.1} ms{note}", took.as_secs_f64() * 1e3));
    }

    /// What a program leaves behind, and what it complained of.
    fn left(&self, play: &CronPlay<'_>, left_behind: &[Leftover], stderr: &[u8]) {
        for left in left_behind {
            let name = left.command.as_bstr();
            let text = format!("process {} ({name}) is not killed by the daemon", left.pid);
            self.line(play, "  warning left-behind", &text);
        }
        for line in stderr.lines() {
            self.line(play, "  stderr", &line.as_bstr().to_string());
        }
    }

    fn note(&self, play: &CronPlay<'_>, note: &CronNote) {
        match note {
            CronNote::Waits { name, for_load: false } if !play.has_run_enough(name) => {
                self.line(play, &name.to_string(), "not started: CONDITION does not hold");
            }
            CronNote::Waits { name, for_load: true } if !self.quiet => {
                self.line(play, &name.to_string(), "waiting for load");
            }
            CronNote::Waits { .. } => {}
            CronNote::NeverFits { name } => {
                self.line(play, &name.to_string(), "JOB_LOAD is above MAX_JOB_LOAD: it never starts");
            }
            note => {
                if !self.quiet {
                    self.line(play, "", &note.to_string());
                }
            }
        }
    }
}
