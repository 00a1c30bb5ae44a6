//! What is to be proved of a queue, and how.

use std::path::PathBuf;
use std::time::Duration;

use bstr::BString;

use htc_base::quirks::QuirkMode;
use htc_classad::Expr;
use htc_config::LoadOptions;
use htc_os::RealWorld;
use htc_runner::hook_environment::ConfigSelection;

/// What is to be proved, and how.
pub struct QueueTest<'a> {
    /// The configuration that names the hooks; its directory is copied for each round.
    pub config_file: PathBuf,
    /// How it is read.
    pub load: LoadOptions,
    /// What the hooks are told of the configuration.
    pub choice: ConfigSelection,
    /// The hooks work on the queue itself.
    pub in_place: bool,
    /// A later round needs what an earlier one has shown of the hooks: one that makes calls one at a time comes first.
    pub rounds: Vec<TestRound>,
    /// A shell command that fills the queue before each round; JOBS is in its environment.
    pub fill: Option<String>,
    /// What tells one job from another.
    pub id: Option<Expr>,
    /// The hooks of this keyword; without one, of the configured one.
    pub keyword: Option<BString>,
    /// How long a call may take.
    pub patience: Duration,
    /// Whose keyword and environment the hooks get.
    pub quirks: QuirkMode,
    /// What chance is made of.
    pub seed: u64,
    /// Everything outside.
    pub world: &'a RealWorld,
}

/// How the hooks are driven.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TestRound {
    /// In a word, for the reader.
    pub name: &'static str,
    /// Slots that fetch at once.
    pub slots: usize,
    /// Share of calls that are killed, in percent.
    pub kill: u32,
    /// Share of jobs that are rejected once, in percent.
    pub reject: u32,
    /// Share of jobs that are evicted once, in percent.
    pub evict: u32,
    /// One call at a time, whose effect on the files of the queue is looked at; for a few jobs only, of which the first
    /// is rejected and the second evicted.
    pub one_at_a_time: bool,
    /// How many jobs the queue holds.
    pub jobs: Option<usize>,
}
