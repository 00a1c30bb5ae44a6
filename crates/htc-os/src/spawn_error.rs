//! Errors that occur while a child is started.

use std::fmt;
use std::path::{Path, PathBuf};

use bstr::{BString, ByteSlice};
use nix::errno::Errno;

/// Error that occurred while a child was started. A program that cannot be executed is such an error, and so
/// differs from a program that exits with status 127.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SpawnError {
    /// Step that failed.
    pub stage: SpawnStage,
    /// File or directory to which the error applies.
    pub path: PathBuf,
    /// Interpreter named in the first line of the script (`#!`), if the interpreter does not exist; otherwise
    /// `None`.
    pub interpreter: Option<BString>,
    pub(super) errno: Errno,
}

/// Step of starting a child. The variants are in the order of the steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SpawnStage {
    /// Conversion of arguments, variables and paths, which may not contain a NUL byte.
    NulByte,
    /// Creating a pipe.
    Pipe,
    /// Creating the process.
    Process,
    /// Creating the namespaces.
    Namespace,
    /// Creating a session or process group.
    Session,
    /// Entering a control group.
    Cgroup,
    /// Binding a directory over another.
    Mount,
    /// Setting a resource limit.
    Limit,
    /// Setting the nice value.
    Nice,
    /// Changing the account.
    Identity,
    /// Opening standard input.
    Stdin,
    /// Opening standard output.
    Stdout,
    /// Opening standard error.
    Stderr,
    /// Entering the working directory.
    WorkingDirectory,
    /// Executing the program.
    Execute,
}

impl SpawnError {
    pub(super) fn new(stage: SpawnStage, path: &Path, errno: Errno) -> Self {
        SpawnError { stage, path: path.to_owned(), interpreter: None, errno }
    }

    /// Returns the error number (errno).
    pub fn errno(&self) -> i32 {
        self.errno as i32
    }

    /// Returns true if a retry may succeed: there are too many processes or open files at the moment, memory
    /// is short, or another process has the program open for writing.
    pub fn is_transient(&self) -> bool {
        matches!(
            self.errno,
            Errno::EAGAIN | Errno::ENOMEM | Errno::EMFILE | Errno::ENFILE | Errno::ETXTBSY | Errno::EINTR
        )
    }

    /// Returns the description of the error by `strerror`.
    pub fn reason(&self) -> String {
        strerror(self.errno())
    }
}

/// Returns the C library's description of an error number, which the messages of the reference contain.
pub fn strerror(errno: i32) -> String {
    let text = std::io::Error::from_raw_os_error(errno).to_string();
    match text.rsplit_once(" (os error ") {
        Some((text, _)) => text.to_owned(),
        None => text,
    }
}

impl fmt::Display for SpawnError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = self.path.display();
        match self.stage {
            SpawnStage::NulByte => write!(f, "a NUL byte in an argument, variable or path of '{path}'"),
            SpawnStage::Pipe => write!(f, "cannot make a pipe for '{path}'"),
            SpawnStage::Process => write!(f, "cannot make a process for '{path}'"),
            SpawnStage::Namespace => write!(f, "cannot make namespaces for '{path}'"),
            SpawnStage::Session => write!(f, "cannot create a session for '{path}'"),
            SpawnStage::Cgroup => write!(f, "cannot enter the control group '{path}'"),
            SpawnStage::Mount => write!(f, "cannot mount over '{path}'"),
            SpawnStage::Limit => write!(f, "cannot set a resource limit for '{path}'"),
            SpawnStage::Nice => write!(f, "cannot set the nice value of '{path}'"),
            SpawnStage::Identity => write!(f, "cannot change the account for '{path}'"),
            SpawnStage::Stdin => write!(f, "cannot open '{path}' as standard input"),
            SpawnStage::Stdout => write!(f, "cannot open '{path}' as standard output"),
            SpawnStage::Stderr => write!(f, "cannot open '{path}' as standard error"),
            SpawnStage::WorkingDirectory => write!(f, "cannot enter the directory '{path}'"),
            SpawnStage::Execute => match &self.interpreter {
                Some(name) if name.ends_with(b"\r") => write!(
                    f,
                    "cannot execute '{path}': its first line ends with a carriage return (CRLF), so that the system \
                     looks for an interpreter '{}\\r'; convert the file to Unix line endings",
                    name.trim_end().as_bstr()
                ),
                Some(name) => {
                    write!(f, "cannot execute '{path}': there is no interpreter '{}'", name.as_bstr())
                }
                None => write!(f, "cannot execute '{path}'"),
            },
        }
    }
}

impl std::error::Error for SpawnError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.errno)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_have_the_texts_of_the_c_library() {
        assert_eq!(strerror(nix::libc::ELOOP), "Too many levels of symbolic links");
        assert_eq!(strerror(nix::libc::ENOENT), "No such file or directory");
        assert_eq!(strerror(nix::libc::ETXTBSY), "Text file busy");
        assert_eq!(strerror(9999), "Unknown error 9999");
    }
}
