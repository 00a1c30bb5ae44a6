//! Standard input of a command line without files.

use std::os::fd::AsFd as _;
use std::os::unix::fs::FileTypeExt as _;

/// Standard input that a user has redirected. A pipe may also belong to whatever started this program.
pub(super) enum RedirectedInput {
    File,
    Pipe,
}

/// Returns the kind of standard input, or `None` if it is a terminal, a device or closed.
pub(super) fn redirected_input() -> Option<RedirectedInput> {
    let opened = std::io::stdin().as_fd().try_clone_to_owned().map(std::fs::File::from);
    let metadata = opened.and_then(|file| file.metadata()).ok()?;
    match (metadata.is_file(), metadata.file_type().is_fifo()) {
        (true, _) => Some(RedirectedInput::File),
        (false, true) => Some(RedirectedInput::Pipe),
        (false, false) => None,
    }
}
