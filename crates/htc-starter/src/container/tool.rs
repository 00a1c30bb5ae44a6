//! A call of a runtime whose answer is waited for.

use std::path::PathBuf;
use std::time::Duration;

use bstr::BString;

/// One command of a container runtime, not the job itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolCall {
    /// Its words; the first is the program's path.
    pub argv: Vec<BString>,
    /// Whose rights it has.
    pub actor: ToolAccount,
    /// Its environment.
    pub environment: ToolEnvironment,
    /// When it is killed and counts as failed.
    pub limit: Duration,
    /// A file that gets its standard error, made with the job's rights; else that is mixed into its output.
    pub errors: Option<PathBuf>,
    /// Where it begins; `None`: where the starter is.
    pub directory: Option<PathBuf>,
    /// Variables beside those, `NAME=value`.
    pub extra_variables: Vec<BString>,
}

impl ToolCall {
    /// Whether it may run so long that somebody has to know of it when the starter is killed meanwhile.
    pub fn is_long(&self) -> bool {
        self.limit >= PULL_TIMEOUT
    }
}

/// Whose rights a call has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ToolAccount {
    /// The starter's own.
    Starter,
    /// Those of the account of daemons.
    Daemon,
    /// Those of the job's account.
    Job,
}

/// The environment of a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ToolEnvironment {
    /// The starter's own.
    Inherited,
    /// The starter's own with the HOME of the account of daemons.
    InheritedWithHome(Option<BString>),
    /// These, `NAME=value`.
    Explicit(Vec<BString>),
}

/// How long the reference waits for most of them (`default_timeout`).
pub(super) const DEFAULT_TIMEOUT: Duration = Duration::from_secs(120);

/// How long pulling an image may take, or trying one that is pulled for it: the reference sets no limit.
pub(super) const PULL_TIMEOUT: Duration = Duration::from_secs(24 * 3600);

impl ToolCall {
    /// A program of the system with these words.
    pub fn for_system_program(program: BString, words: impl IntoIterator<Item = BString>) -> Self {
        ToolCall::new(&[program], words, ToolAccount::Starter)
    }

    /// A short question.
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
