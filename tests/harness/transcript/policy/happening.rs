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
    /// The startd makes its slots, again perhaps.
    Start {
        /// When its process began, in seconds since the start of the recording.
        since: f64,
    },
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
    /// The words behind `htc-slot-run` that do the same to a running one, where it can be asked for it. What a job's own starter tells,
    /// cron jobs print and people do to the machine is not asked for.
    pub fn words(&self) -> Option<Vec<String>> {
        let line = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<String>>();
        let with = |words: &[&str], option: &str, is: bool| {
            let mut words = line(words);
            words.extend(is.then(|| option.to_owned()));
            words
        };
        Some(match self {
            What::Request { slot, lease, preempts, .. } => {
                let mut words = line(&["claim", slot, "--lease", &lease.to_string(), "--ads", "JOB"]);
                if !preempts.is_empty() {
                    words.extend(line(&["--preempt", &preempts.join(",")]));
                }
                words
            }
            What::Activate { slot, .. } => line(&["activate", slot, "--ads", "JOB"]),
            // That its job is done a shadow knows from the starter; here the starter's end says it.
            What::Deactivate { how: "job_done", .. } => return None,
            What::Deactivate { slot, how } => with(&["deactivate", slot], "--fast", *how == "forcibly"),
            What::Release { slot, waiting } => with(&["release-claim", slot], "--waiting", *waiting),
            What::Match { slot } => line(&["match", slot]),
            What::Vacate { slot: None, fast } => with(&["vacate"], "--fast", *fast),
            What::Vacate { slot: Some(slot), fast } => with(&["vacate", slot], "--fast", *fast),
            What::Suspend { slot, stop: true } => line(&["suspend", slot]),
            What::Suspend { slot, stop: false } => line(&["continue", slot]),
            What::Drain(words) => drain(words),
            What::CancelDrain => line(&["undrain"]),
            What::ShutDown("graceful") => line(&["off"]),
            What::ShutDown(how) => line(&["off", &format!("--{how}")]),
            What::Reconfigure => line(&["reconfig"]),
            What::Status(_) => line(&["status"]),
            What::Start { .. }
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

    /// The same as a line for a shell.
    pub fn verb(&self) -> Option<String> {
        let words = self.words()?;
        Some(words.iter().map(quoted).collect::<Vec<_>>().join(" "))
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

/// condor_drain's words as ours: what several words belong to is one. The last of several speeds counts there, ours are told that they
/// exclude one another.
fn drain(words: &[String]) -> Vec<String> {
    let is_speed = |word: &&String| ["-graceful", "-quick", "-fast"].contains(&word.as_str());
    let speed = words.iter().rfind(is_speed);
    let counts = |word: &&String| !is_speed(word) || Some(*word) == speed;
    let mut ours = vec!["drain".to_owned()];
    for word in words.iter().filter(counts).filter(|word| !word.contains('@')) {
        let takes_text = |option: &String| ["-reason", "-check", "-start"].contains(&option.as_str());
        let goes_on = ours.len() > 2 && takes_text(&ours[ours.len() - 2]);
        match ours.last_mut().filter(|_| goes_on && !word.starts_with('-')) {
            Some(text) => *text += &format!(" {word}"),
            None => ours.push(word.clone()),
        }
    }
    ours
}

/// A word as a shell takes it.
fn quoted(word: &String) -> String {
    let plain = |letter: char| letter.is_ascii_alphanumeric() || "-_.=".contains(letter);
    if word.chars().all(plain) { word.clone() } else { format!("'{word}'") }
}
