//! Description of a queue test.

use std::path::PathBuf;
use std::time::Duration;

use bstr::BString;

use htc_base::quirks::QuirkMode;
use htc_base::time::MonotonicTime;
use htc_classad::Expr;
use htc_config::LoadOptions;
use htc_os::{RealWorld, clock};
use htc_runner::hook_environment::ConfigSelection;

/// Queue test: the hooks to be tested, the rounds and their options.
pub struct QueueTest<'a> {
    /// Configuration file that names the hooks; its directory is copied for each round.
    pub config_file: PathBuf,
    /// Options for loading the configuration.
    pub load: LoadOptions,
    /// Selection of the configuration that the hooks get in their environment.
    pub choice: ConfigSelection,
    /// True if the hooks work on the original queue instead of a copy.
    pub in_place: bool,
    /// Rounds of the test. A round with one call at a time comes first, because later rounds use its observations.
    pub rounds: Vec<TestRound>,
    /// Shell command that fills the queue before each round. The variable `JOBS` contains the number of jobs.
    pub fill: Option<String>,
    /// Expression that identifies a job, or `None` to use the names in its ad.
    pub id: Option<Expr>,
    /// Hook keyword, or `None` to use the configured one.
    pub keyword: Option<BString>,
    /// Time after which a hook is killed because it is considered to hang.
    pub patience: Duration,
    /// Maximum duration of one copy of the directory, or `None` for no limit.
    pub copy_time: Option<Duration>,
    /// Quirks of 25.14 to reproduce, which affect the keyword and the environment of the hooks.
    pub quirks: QuirkMode,
    /// Seed of the random choices.
    pub seed: u64,
    /// Access to the operating system.
    pub world: &'a RealWorld,
}

impl QueueTest<'_> {
    /// Returns the time at which a copy that begins now fails, or `None` for no limit.
    pub(super) fn copy_end(&self) -> Option<MonotonicTime> {
        self.copy_time.map(|time| clock::monotonic_now().plus(time))
    }
}

/// One round of a queue test.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TestRound {
    /// Name of the round for the report.
    pub name: &'static str,
    /// Number of slots that fetch in parallel.
    pub slots: usize,
    /// Percentage of hook calls that are killed.
    pub kill: u32,
    /// Percentage of jobs that are rejected once.
    pub reject: u32,
    /// Percentage of jobs that are evicted once.
    pub evict: u32,
    /// True to make one call at a time and observe its effects on the files of the queue. Such a round uses only a
    /// few jobs; it rejects the first job and evicts the second.
    pub one_at_a_time: bool,
    /// Number of jobs in the queue, or `None` if it is unknown.
    pub jobs: Option<usize>,
}
