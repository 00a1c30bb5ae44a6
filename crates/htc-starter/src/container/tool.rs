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
    pub actor: Actor,
    /// Its environment.
    pub variables: Variables,
    /// When it is killed and counts as failed.
    pub limit: Duration,
    /// A file that gets its standard error, made with the job's rights; else that is mixed into its output.
    pub errors: Option<PathBuf>,
    /// Where it begins; `None`: where the starter is.
    pub directory: Option<PathBuf>,
    /// Variables beside those, `NAME=value`.
    pub more: Vec<BString>,
}

impl ToolCall {
    /// Whether it may run so long that somebody has to know of it when the starter is killed meanwhile.
    pub fn is_long(&self) -> bool {
        self.limit >= LONG
    }
}

/// Whose rights a call has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Actor {
    /// The starter's own.
    Starter,
    /// Those of the account of daemons.
    Daemon,
    /// Those of the job's account.
    Job,
}

/// The environment of a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Variables {
    /// The starter's own.
    Own,
    /// The starter's own with the HOME of the account of daemons.
    OwnWithHome(Option<BString>),
    /// These, `NAME=value`.
    These(Vec<BString>),
}

/// How long the reference waits for most of them (`default_timeout`).
pub(super) const LIMIT: Duration = Duration::from_secs(120);

/// How long pulling an image may take, or trying one that is pulled for it: the reference sets no limit.
pub(super) const LONG: Duration = Duration::from_secs(24 * 3600);

impl ToolCall {
    /// A program of the system with these words.
    pub fn of_system(program: BString, words: impl IntoIterator<Item = BString>) -> Self {
        ToolCall::new(&[program], words, Actor::Starter)
    }

    /// A short question.
    pub(crate) fn new<W: Into<BString>>(
        program: &[BString],
        words: impl IntoIterator<Item = W>,
        actor: Actor,
    ) -> Self {
        let mut argv = program.to_vec();
        argv.extend(words.into_iter().map(Into::into));
        ToolCall {
            argv,
            actor,
            variables: Variables::Own,
            limit: LIMIT,
            errors: None,
            directory: None,
            more: Vec::new(),
        }
    }
}
