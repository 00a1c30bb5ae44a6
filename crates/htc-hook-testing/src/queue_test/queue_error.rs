//! Why a queue cannot be driven.

use std::io;
use std::path::PathBuf;

use bstr::BString;

use htc_base::process::Exit;
use htc_config::ConfigError;
use htc_hook::path_check::PathRefusal;
use htc_slot::ConfigureError;

/// Why a queue cannot be driven.
#[derive(Debug, thiserror::Error)]
pub enum QueueError {
    /// The directory of the configuration.
    #[error("cannot read '{}'", path.display())]
    Directory {
        /// As it was given.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// The directory is too large for copies.
    #[error("'{}' holds too many files to be copied", path.display())]
    TooManyFiles {
        /// The part of it at which the limit was reached.
        path: PathBuf,
    },
    /// What is changed through the link is not on the copy.
    #[error("'{}' is a link to '{}': the hooks would work on that, not on a copy", link.display(), target.display())]
    LinkElsewhere {
        /// The link.
        link: PathBuf,
        /// The directory that it leads to.
        target: PathBuf,
    },
    /// The hook is no part of what is copied.
    #[error("{knob} is '{path}', which is not below '{}' and so cannot be called on a copy", directory.display())]
    HookElsewhere {
        /// The knob that names the hook.
        knob: String,
        /// The hook.
        path: BString,
        /// What is copied.
        directory: PathBuf,
    },
    /// The hooks find the queue by a way that the copy cannot change.
    #[error("the hooks do not work on the copy: FETCH_WORK has changed '{}' itself; nothing more is called", path.display())]
    OriginalChanged {
        /// What was changed.
        path: PathBuf,
    },
    /// There was nothing to prove anything with.
    #[error("the queue handed out no job at all")]
    NoJobs,
    /// The command that fills the queue failed.
    #[error("--fill ended with {}", ended(*.0))]
    FillFailed(Exit),
    /// The configuration.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The policy of the slots.
    #[error(transparent)]
    Policy(#[from] ConfigureError),
    /// A hook that its caller refuses.
    #[error(transparent)]
    Refused(#[from] PathRefusal),
    /// No keyword is configured, so that no hook is.
    #[error("STARTD_JOB_HOOK_KEYWORD is not set")]
    NoKeyword,
    /// The hook that hands out jobs is not configured.
    #[error("{0}_HOOK_FETCH_WORK is not set")]
    NoFetch(BString),
    /// The directories of a hook cannot be made.
    #[error("making a place for the hook")]
    CallDirectories(#[source] io::Error),
    /// The system refuses something that it should not.
    #[error(transparent)]
    System(#[from] io::Error),
}

/// As std's own `ExitStatus` has it.
fn ended(exit: Exit) -> String {
    match exit {
        Exit::Code(code) => format!("exit status: {code}"),
        Exit::Signal { number, .. } => format!("signal: {number}"),
    }
}
