//! External events of a recorded execution point, with their times.

use std::collections::BTreeMap;

/// Number of state changes of each slot since the start of the recording.
pub type Changes = BTreeMap<String, usize>;

/// An external event.
#[derive(Clone, Debug)]
pub struct Happening {
    /// Seconds since the start of the recording.
    pub at: f64,
    /// The event.
    pub what: What,
    /// State changes of the slots before the event: it is not replayed before our slots have had as many.
    pub after: Changes,
}

/// Kind of an external event.
#[derive(Clone, Debug)]
pub enum What {
    /// The startd creates its slots, possibly again.
    Start {
        /// Start of its process, in seconds since the start of the recording.
        since: f64,
    },
    /// Sets the attributes that a cron job prints from now on.
    Printed(Vec<(String, Option<String>)>),
    /// A cron job has ended with this output.
    CronOutput {
        /// File name of its executable.
        program: String,
        /// Its output.
        stdout: Vec<u8>,
    },
    /// A schedd requests a slot; for a dynamic slot, its parent is named.
    Request {
        /// The slot.
        slot: String,
        /// The slot that gets the claim.
        claimed: String,
        /// The job.
        job: Option<(i64, i64)>,
        /// Lease of the claim in seconds.
        lease: i64,
        /// Dynamic slots that are preempted.
        preempts: Vec<String>,
    },
    /// A shadow activates a claim for its job.
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
    /// A starter reports changes in its job's ad.
    JobUpdate {
        /// The slot.
        slot: String,
        /// Attributes in long form.
        lines: String,
    },
    /// DEACTIVATE_CLAIM and its variants.
    Deactivate {
        /// The slot.
        slot: String,
        /// The word after `deactivate_claim` in the log.
        how: &'static str,
    },
    /// RELEASE_CLAIM.
    Release {
        /// The slot.
        slot: String,
        /// True for the claim that waits to take over.
        waiting: bool,
    },
    /// A match of the negotiator.
    Match {
        /// The slot.
        slot: String,
    },
    /// condor_vacate.
    Vacate {
        /// The slot, or `None` for all.
        slot: Option<String>,
        /// True for -fast.
        fast: bool,
    },
    /// condor_suspend, condor_continue.
    Suspend {
        /// The slot.
        slot: String,
        /// True to suspend, false to continue.
        stop: bool,
    },
    /// condor_drain with these arguments.
    Drain(Vec<String>),
    /// condor_drain -cancel.
    CancelDrain,
    /// The daemon was told to end: `graceful`, `peaceful` or `fast`.
    ShutDown(&'static str),
    /// These lines were added to the configuration.
    Configure(String),
    /// The configuration was reread.
    Reconfigure,
    /// Input at the keyboard.
    Touched,
    /// The ads were requested, and stored under this name.
    Status(String),
}

impl What {
    /// Returns the arguments with which `htc-slot-run` sends the same command to a running execution point,
    /// if there is such a command. No command corresponds to updates of a job's starter, output of cron jobs, and
    /// input at the machine.
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
            // A shadow learns from the starter that its job is done; here the starter's end has the same
            // effect.
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

    /// Returns the same arguments as a line for a shell.
    pub fn verb(&self) -> Option<String> {
        let words = self.words()?;
        Some(words.iter().map(quoted).collect::<Vec<_>>().join(" "))
    }

    /// Returns the slot concerned.
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

    /// Returns true if the event is a consequence of the slot's actions rather than of time.
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

/// Converts condor_drain's arguments to ours: a value of several words becomes one argument. Of several
/// speeds only the last one is passed, because condor_drain uses it and our program rejects the combination.
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

/// Quotes an argument for a shell.
fn quoted(word: &String) -> String {
    let plain = |letter: char| letter.is_ascii_alphanumeric() || "-_.=".contains(letter);
    if word.chars().all(plain) { word.clone() } else { format!("'{word}'") }
}
