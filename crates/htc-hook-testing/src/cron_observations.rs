//! Observations of the runs of a cron job, and the verdict on them.

use std::time::Duration;

use bstr::{BString, ByteSlice};

use super::call::{CallEnding, CallOutcome, HookExecution};
use super::caller_signal::cron_signals_caller_finding;
use super::decision::Decision;
use super::finding::{Finding, Rule};
use super::verdict::Verdict;
use htc_base::process::Exit;
use htc_classad::ClassAd;
use htc_os::LeftoverProcess;
use htc_runner::cron::CronNotice;
use htc_slot::cron_ads::CronMerge;

/// Maximum number of bytes kept of the standard error of all runs, and of other recorded texts.
const MAX_STDERR_BYTES: usize = 64 * 1024;
const MAX_RECORDED: usize = 50;

/// Observations of the runs of one cron job.
#[derive(Clone, Debug, Default)]
pub struct CronObservations {
    /// True if the program was started at least once.
    started: bool,
    /// True while the program is running.
    is_running: bool,
    not_started: Option<String>,
    /// True if a block was published.
    published: bool,
    /// True if a block had no valid line.
    empty_block: bool,
    bad_lines: Vec<BString>,
    unterminated_line: Option<BString>,
    too_large: bool,
    exit: Option<Exit>,
    stderr: Vec<u8>,
    left_behind: Vec<LeftoverProcess>,
    /// Signal that the program sent to its caller, or `None`.
    caller_signal: Option<i32>,
}

impl CronObservations {
    /// Records that the program sent a signal to its caller.
    pub fn record_caller_signal(&mut self, number: i32) {
        self.caller_signal = Some(number);
    }

    /// Records an event reported by the cron runner.
    pub fn record_notice(&mut self, notice: &CronNotice) {
        match notice {
            CronNotice::Started { .. } => (self.started, self.is_running) = (true, true),
            CronNotice::NotStarted { reason, .. } => self.not_started = Some(reason.clone()),
            CronNotice::Published { block, .. } => {
                self.published |= block.attributes.is_some();
                self.empty_block |= block.attributes.is_none();
                let room = MAX_RECORDED.saturating_sub(self.bad_lines.len());
                self.bad_lines.extend(block.bad_lines.iter().take(room).map(|bad| bad.line.clone()));
            }
            CronNotice::UnterminatedLine { line, .. } => self.unterminated_line = Some(line.clone()),
            CronNotice::TooLarge { .. } => self.too_large = true,
            CronNotice::Ended { exit, stderr, left_behind, .. } => {
                self.is_running = false;
                self.exit = Some(*exit);
                let room = MAX_STDERR_BYTES.saturating_sub(self.stderr.len());
                self.stderr.extend_from_slice(&stderr[..stderr.len().min(room)]);
                let room = MAX_RECORDED.saturating_sub(self.left_behind.len());
                self.left_behind.extend(left_behind.iter().take(room).cloned());
            }
            CronNotice::Signalled { .. } | CronNotice::Dropped { .. } | CronNotice::Note(_) => {}
        }
    }

    /// Returns the outcome of the last run, or the reason why there was no run.
    pub fn outcome(&self, took: Duration) -> CallOutcome {
        let ending = match &self.not_started {
            Some(reason) => CallEnding::NotStarted { reason: reason.clone(), interpreter: None, errno: None },
            None if !self.started => CallEnding::Refused { reason: NEVER_STARTED.to_owned() },
            None => CallEnding::Ran(HookExecution {
                exit: self.exit.filter(|_| !self.is_running),
                stderr: self.stderr.clone(),
                left_behind: self.left_behind.clone(),
                ..HookExecution::default()
            }),
        };
        CallOutcome { ending, took }
    }

    /// Returns the verdict. `result` is the ad of the daemon after the runs, and `merged` lists the published ads
    /// with the rules by which they were merged into it.
    pub fn verdict(&self, result: ClassAd, merged: &[CronMerge<'_>]) -> Verdict {
        let rules: Vec<String> = merged
            .iter()
            .map(|one| {
                let word = if one.is_merged { "merged" } else { "not for this slot" };
                format!("{}: {word} ({})", one.name, one.rule)
            })
            .collect();
        let rules = rules.join("; ");
        let verdict = match &self.not_started {
            Some(reason) => Verdict::new(Decision::NotStarted, false, "the program is not started")
                .with_reason(reason.clone()),
            None if !self.started => Verdict::new(Decision::NotStarted, false, "the program is not started")
                .with_reason(NEVER_STARTED),
            None if self.is_running => {
                Verdict::new(Decision::StillRunning, false, "the program is still running").with_reason(rules)
            }
            None if !self.published => {
                let reason = match self.bad_lines.first() {
                    Some(line) => format!("no line is an attribute; the first is '{line}'"),
                    None => "the program printed no complete line".to_owned(),
                };
                Verdict::new(Decision::NothingPublished, false, "nothing is published").with_reason(reason)
            }
            None if !merged.iter().any(|one| one.is_merged) => {
                Verdict::new(Decision::NotForSlot, false, "the slot gets none of the attributes")
                    .with_reason(rules)
            }
            None => {
                let good = self.bad_lines.is_empty() && !self.empty_block && !self.too_large;
                let reason = match self.bad_lines.first() {
                    Some(line) => format!("{rules}; '{line}' is not a valid attribute"),
                    None => rules,
                };
                Verdict::new(Decision::Published, good, "the printed attributes are in the ad")
                    .with_reason(reason)
            }
        };
        verdict.with_result([result])
    }

    /// Returns the findings about the program.
    pub fn findings(&self) -> Vec<Finding> {
        let mut found = Vec::new();
        for line in &self.bad_lines {
            let advice = "print nothing but 'Name = value' lines; send everything else to standard error";
            found.push(Finding::new(Rule::BadLine, format!("'{line}' is not a valid attribute"), advice));
        }
        if let Some(line) = &self.unterminated_line {
            let message = format!("'{line}' has no newline: it is joined to the first line of the next run");
            found.push(Finding::new(Rule::LastLine, message, "end the last line with a newline"));
        }
        if self.too_large {
            let message = "a block of more than 4 MiB: the rest of it is dropped";
            found.push(Finding::new(Rule::OutputCut, message, "print less"));
        }
        if self.is_running {
            let message = "the program did not end within the time limit";
            found.push(Finding::new(Rule::RanTooLong, message, "make the job end within its time limit"));
        }
        for left in &self.left_behind {
            let name = left.command.as_bstr();
            let message = format!("process {} ({name}) is not killed by the daemon", left.pid);
            found.push(Finding::new(Rule::LeftBehind, message, "wait for the processes that the job starts"));
        }
        found.extend(self.caller_signal.map(cron_signals_caller_finding));
        if self.exit.is_some_and(|exit| !exit.is_success()) {
            let message = "the exit status is ignored, and the output is used";
            found.push(Finding::new(Rule::StatusIgnored, message, "print only what should be published"));
        }
        found
    }
}

const NEVER_STARTED: &str = "nothing ever starts it in this mode";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_distinguish_the_ends_of_the_program() {
        let word =
            |observations: &CronObservations| observations.verdict(ClassAd::new(), &[]).decision.word();
        let mut observations = CronObservations::default();
        assert_eq!(word(&observations), "not-started");
        observations.record_notice(&CronNotice::Started { name: "A".into(), pid: 1 });
        assert_eq!(word(&observations), "still-running");
        let (exit, took) = (Exit::Code(3), Duration::ZERO);
        observations.record_notice(&CronNotice::Ended {
            name: "A".into(),
            exit,
            took,
            stderr: b"x".to_vec(),
            left_behind: Vec::new(),
        });
        assert_eq!(word(&observations), "nothing-published");
        assert_eq!(observations.findings()[0].rule, Rule::StatusIgnored);
        let block = htc_slot::cron_ads::CronPublication { attributes: Some(2), ..Default::default() };
        observations.record_notice(&CronNotice::Published { job: "A".into(), block });
        assert_eq!(word(&observations), "not-for-slot");
        let name = "A".into();
        let merged = [CronMerge { name: &name, is_merged: true, rule: "all" }];
        assert!(observations.verdict(ClassAd::new(), &merged).good);
    }
}
