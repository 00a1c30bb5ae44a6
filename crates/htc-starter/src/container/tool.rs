//! Calls of a container runtime whose output the starter waits for.

use std::path::PathBuf;
use std::time::Duration;

use bstr::BString;

/// One command of a container runtime that does not run the job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolCall {
    /// Command line; the first element is the program's path.
    pub argv: Vec<BString>,
    /// Account under which the call runs.
    pub actor: ToolAccount,
    /// Environment in which the call runs.
    pub environment: ToolEnvironment,
    /// Time after which the call is killed and treated as failed.
    pub limit: Duration,
    /// File for the standard error of the call, created under the job's account; if `None`, standard error goes to
    /// standard output.
    pub errors: Option<PathBuf>,
    /// Working directory, or `None` for the starter's working directory.
    pub directory: Option<PathBuf>,
    /// Variables in addition to the environment, `NAME=value`.
    pub extra_variables: Vec<BString>,
}

impl ToolCall {
    /// Returns true if the call may run for so long that it must be recorded, so that it can be cleaned up after the
    /// starter is killed.
    pub fn must_be_recorded(&self) -> bool {
        self.limit >= PULL_TIMEOUT
    }
}

/// Account under which a call runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ToolAccount {
    /// The starter's own account.
    Starter,
    /// The account of the daemons.
    Daemon,
    /// The account of the job.
    Job,
}

/// Environment in which a call runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ToolEnvironment {
    /// The starter's own environment.
    Inherited,
    /// The starter's own environment, in which HOME is the home directory of the daemons' account.
    InheritedWithHome(Option<BString>),
    /// These variables only, `NAME=value`.
    Explicit(Vec<BString>),
}

/// Time limit that the reference uses for most calls (`default_timeout`).
pub(super) const DEFAULT_TIMEOUT: Duration = Duration::from_secs(120);

/// Time limit for pulling an image, or for testing an image that the test pulls. The reference has no limit.
pub(super) const PULL_TIMEOUT: Duration = Duration::from_secs(24 * 3600);

impl ToolCall {
    /// Returns a call of a system program with these arguments.
    pub fn for_system_program(program: BString, words: impl IntoIterator<Item = BString>) -> Self {
        ToolCall::new(&[program], words, ToolAccount::Starter)
    }

    /// Returns a call with the default time limit.
    pub(crate) fn new<W: Into<BString>>(
        program: &[BString],
        words: impl IntoIterator<Item = W>,
        actor: ToolAccount,
    ) -> Self {
        let mut argv = program.to_vec();
        argv.extend(words.into_iter().map(Into::into));
        ToolCall {
            argv,
            actor,
            environment: ToolEnvironment::Inherited,
            limit: DEFAULT_TIMEOUT,
            errors: None,
            directory: None,
            extra_variables: Vec::new(),
        }
    }
}
