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
        /// Path of the directory as given.
        path: PathBuf,
        /// Error of the operating system.
        source: io::Error,
    },
    /// The directory has too many files to be copied.
    #[error("'{}' contains too many files to be copied", path.display())]
    TooManyFiles {
        /// Directory at which the limit was reached.
        path: PathBuf,
    },
    /// The time limit expired before the directory was copied.
    #[error("the time limit expired before the directory was copied")]
    CopyTimedOut,
    /// A symbolic link leads out of the copied directory, so hooks would change the original files.
    #[error("'{}' is a link to '{}': the hooks would work on that, not on a copy", link.display(), target.display())]
    LinkElsewhere {
        /// Path of the link.
        link: PathBuf,
        /// Directory that the link leads to.
        target: PathBuf,
    },
    /// The hook is outside of the copied directory.
    #[error("{knob} is '{path}', which is not below '{}' and so cannot be called on a copy", directory.display())]
    HookElsewhere {
        /// Parameter that names the hook.
        knob: String,
        /// Path of the hook.
        path: BString,
        /// The copied directory.
        directory: PathBuf,
    },
    /// The hooks changed the original, because they find the queue by other means than the paths that are replaced in
    /// the copy.
    #[error("the hooks do not use the copy: FETCH_WORK changed '{}' itself; the test stops", path.display())]
    OriginalChanged {
        /// File of the original that was changed.
        path: PathBuf,
    },
    /// The queue handed out no job, so nothing was tested.
    #[error("the queue handed out no job at all")]
    NoJobs,
    /// The command that fills the queue failed.
    #[error("--fill ended with {}", describe_exit(*.0))]
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
    /// FETCH_WORK is not configured; contains the hook keyword.
    #[error("{0}_HOOK_FETCH_WORK is not set")]
    NoFetch(BString),
    /// The directories of a hook call cannot be created.
    #[error("creating the directories of the hook")]
    CallDirectories(#[source] io::Error),
    /// A system call failed.
    #[error(transparent)]
    System(#[from] io::Error),
}

/// Describes an exit status in the words of std's `ExitStatus`.
fn describe_exit(exit: Exit) -> String {
    match exit {
        Exit::Code(code) => format!("exit status: {code}"),
        Exit::Signal { number, .. } => format!("signal: {number}"),
    }
}
