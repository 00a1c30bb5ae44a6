//! What was done to a recorded execution point from outside, and when.

use std::collections::BTreeMap;

/// Changes of state that a slot had gone through, counted from the start of the recording.
pub type Changes = BTreeMap<String, usize>;

/// One thing that came from outside.
#[derive(Clone, Debug)]
pub struct Happening {
    /// Seconds since the start of the recording.
    pub at: f64,
    /// What it was.
    pub what: What,
    /// How far the slots were by then: it is not played before ours are as far.
    pub after: Changes,
}

/// What came from outside.
#[derive(Clone, Debug)]
pub enum What {
    /// The startd begins, again perhaps.
    Start,
    /// The attributes that a cron job prints from now on.
    Printed(Vec<(String, Option<String>)>),
    /// A cron job has ended and printed this.
    CronOutput {
        /// File name of its executable.
        program: String,
        /// Its output.
        stdout: Vec<u8>,
    },
    /// A schedd asks for a slot; for a dynamic one its parent is named.
    Request {
        /// The slot.
        slot: String,
        /// The slot that the claim is for.
        claimed: String,
        /// The job.
        job: Option<(i64, i64)>,
        /// Lease of the claim in seconds.
        lease: i64,
        /// Dynamic slots that have to make room.
        preempts: Vec<String>,
    },
    /// A shadow asks for its job to be run.
    Activate {
        /// The slot.
        slot: String,
        /// The job.
        job: (i64, i64),
    },
    /// The job has ended, and its starter cleans up.
    FinalUpdate {
        /// The slot.
        slot: String,
    },
    /// All benchmarks have ended.
    BenchmarksEnded,
    /// The backfill client of a slot has ended.
    ClientExited {
        /// The slot.
        slot: String,
    },
    /// A starter has ended.
    StarterExited {
        /// The slot.
        slot: String,
    },
    /// A starter tells what has changed in its job's ad.
    JobUpdate {
        /// The slot.
        slot: String,
        /// Attributes in long form.
        lines: String,
    },
    /// DEACTIVATE_CLAIM and its forms.
    Deactivate {
        /// The slot.
        slot: String,
        /// The word that stands behind `deactivate_claim` in the log.
        how: &'static str,
    },
    /// RELEASE_CLAIM.
    Release {
        /// The slot.
        slot: String,
        /// Whether the claim that waits is meant.
        waiting: bool,
    },
    /// A match of the negotiator.
    Match {
        /// The slot.
        slot: String,
    },
    /// condor_vacate.
    Vacate {
        /// The slot, or all.
        slot: Option<String>,
        /// Whether -fast.
        fast: bool,
    },
    /// condor_suspend, condor_continue.
    Suspend {
        /// The slot.
        slot: String,
        /// Whether it is to stop.
        stop: bool,
    },
    /// condor_drain with these words.
    Drain(Vec<String>),
    /// condor_drain -cancel.
    CancelDrain,
    /// The daemon was asked to end: `graceful`, `peaceful` or `fast`.
    ShutDown(&'static str),
    /// These lines were added to the configuration.
    Configure(String),
    /// The configuration was read again.
    Reconfigure,
    /// Somebody touched the keyboard.
    Touched,
    /// The ads were asked for, and written under this name.
    Status(String),
}

impl What {
    /// What would do the same to a running `htc-slot-run`, where that can be asked for it.
    pub fn verb(&self) -> Option<String> {
        Some(match self {
            What::Request { slot, lease, preempts, .. } => {
                let preempts = if preempts.is_empty() {
                    String::new()
                } else {
                    format!(" --preempt {}", preempts.join(","))
                };
                format!("claim {slot} --lease {lease}{preempts} --ads JOB")
            }
            What::Activate { slot, job: (cluster, process) } => {
                format!("activate {slot} --ads {cluster}.{process}")
            }
            What::Deactivate { slot, how } => {
                format!("deactivate {slot}{}", if *how == "forcibly" { " --fast" } else { "" })
            }
            What::Release { slot, waiting } => {
                format!("release-claim {slot}{}", if *waiting { " --waiting" } else { "" })
            }
            What::Match { slot } => format!("match {slot}"),
            What::Vacate { slot, fast } => {
                let slot = slot.as_ref().map_or_else(String::new, |slot| format!(" {slot}"));
                format!("vacate{slot}{}", if *fast { " --fast" } else { "" })
            }
            What::Suspend { slot, stop } => format!("{} {slot}", if *stop { "suspend" } else { "continue" }),
            What::Drain(words) => {
                let words: Vec<String> =
                    words.iter().filter(|word| !word.contains('@')).map(quoted).collect();
                format!("drain {}", words.join(" ")).trim_end().to_owned()
            }
            What::CancelDrain => "undrain".to_owned(),
            What::ShutDown("graceful") => "off".to_owned(),
            What::ShutDown(how) => format!("off --{how}"),
            What::Reconfigure => "reconfig".to_owned(),
            What::Status(_) => "status".to_owned(),
            What::Start
            | What::Printed(_)
            | What::CronOutput { .. }
            | What::FinalUpdate { .. }
            | What::BenchmarksEnded
            | What::ClientExited { .. }
            | What::StarterExited { .. }
            | What::JobUpdate { .. }
            | What::Configure(_)
            | What::Touched => return None,
        })
    }

    /// The slot it is about.
    pub fn slot(&self) -> Option<&str> {
        match self {
            What::Request { slot, .. }
            | What::Activate { slot, .. }
            | What::FinalUpdate { slot }
            | What::StarterExited { slot }
            | What::ClientExited { slot }
            | What::JobUpdate { slot, .. }
            | What::Deactivate { slot, .. }
            | What::Release { slot, .. }
            | What::Match { slot }
            | What::Suspend { slot, .. }
            | What::Vacate { slot: Some(slot), .. } => Some(slot),
            _ => None,
        }
    }

    /// Whether it follows from what the slot did, and not from a clock.
    pub fn is_consequence(&self) -> bool {
        matches!(
            self,
            What::FinalUpdate { .. }
                | What::StarterExited { .. }
                | What::ClientExited { .. }
                | What::JobUpdate { .. }
                | What::BenchmarksEnded
        )
    }
}

/// A word as a shell takes it.
fn quoted(word: &String) -> String {
    let plain = |letter: char| letter.is_ascii_alphanumeric() || "-_.=".contains(letter);
    if word.chars().all(plain) { word.clone() } else { format!("'{word}'") }
}
