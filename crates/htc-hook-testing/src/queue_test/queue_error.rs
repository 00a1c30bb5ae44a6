//! Errors of the queue test.

use std::io;
use std::path::PathBuf;

use bstr::BString;

use htc_base::process::Exit;
use htc_config::ConfigError;
use htc_hook::path_check::PathRefusal;
use htc_slot::ConfigureError;

/// Reason why a queue cannot be tested.
#[derive(Debug, thiserror::Error)]
pub enum QueueError {
    /// The directory of the configuration cannot be read.
    #[error("cannot read '{}'", path.display())]
    Directory {
        /// Path as given.
        path: PathBuf,
        /// Cause.
        source: io::Error,
    },
    /// The directory has too many files to be copied.
    #[error("'{}' holds too many files to be copied", path.display())]
    TooManyFiles {
        /// Directory at which the limit was reached.
        path: PathBuf,
    },
    /// A link leads to a directory outside the copy, so that the hooks would change it.
    #[error("'{}' is a link to '{}': the hooks would work on that, not on a copy", link.display(), target.display())]
    LinkElsewhere {
        /// Path of the link.
        link: PathBuf,
        /// Directory that the link leads to.
        target: PathBuf,
    },
    /// The hook is outside the copied directory.
    #[error("{knob} is '{path}', which is not below '{}' and so cannot be called on a copy", directory.display())]
    HookElsewhere {
        /// Parameter that names the hook.
        knob: String,
        /// Path of the hook.
        path: BString,
        /// Copied directory.
        directory: PathBuf,
    },
    /// The hooks find the queue in a way that the copy does not redirect.
    #[error("the hooks do not use the copy: FETCH_WORK changed '{}' itself; the test stops", path.display())]
    OriginalChanged {
        /// File of the original that was changed.
        path: PathBuf,
    },
    /// The queue handed out no job, so that nothing was tested.
    #[error("the queue handed out no job at all")]
    NoJobs,
    /// The command that fills the queue failed.
    #[error("--fill ended with {}", ended(*.0))]
    FillFailed(Exit),
    /// The configuration cannot be read.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The policy of the slots is not valid.
    #[error(transparent)]
    Policy(#[from] ConfigureError),
    /// The caller would refuse the path of a hook.
    #[error(transparent)]
    Refused(#[from] PathRefusal),
    /// No hook keyword is configured.
    #[error("STARTD_JOB_HOOK_KEYWORD is not set")]
    NoKeyword,
    /// FETCH_WORK is not configured.
    #[error("{0}_HOOK_FETCH_WORK is not set")]
    NoFetch(BString),
    /// The directories of a hook cannot be created.
    #[error("creating the directories of the hook")]
    CallDirectories(#[source] io::Error),
    /// A system call failed.
    #[error(transparent)]
    System(#[from] io::Error),
}

/// Describes an exit status like std's `ExitStatus`.
fn ended(exit: Exit) -> String {
    match exit {
        Exit::Code(code) => format!("exit status: {code}"),
        Exit::Signal { number, .. } => format!("signal: {number}"),
    }
}
