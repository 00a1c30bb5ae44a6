//! Standard input of a command line without files.

use std::os::fd::AsFd as _;
use std::os::unix::fs::FileTypeExt as _;

use super::options::RoutedJobOptions;
use crate::cli::common::ProgramContext;
use crate::config::Config;

/// Kind of redirected standard input. A pipe may also be inherited from the process that started this program.
enum RedirectedInput {
    File,
    Pipe,
}

/// True if standard input is read although the command line does not name it: it is redirected, and there is no
/// configuration from which the jobs could be read. Warns if a redirected file is not read.
pub(super) fn is_read_without_files(common: &RoutedJobOptions, session: &ProgramContext) -> bool {
    let Some(input) = redirected_input().filter(|_| common.watch.is_none()) else { return false };
    if Config::is_missing(&common.clock.world(), &common.load_options()) {
        return true;
    }
    if matches!(input, RedirectedInput::File) {
        session.warn(
            "standard input is not read: the jobs are those of the configuration; '-' reads standard input",
        );
    }
    false
}

/// Returns the kind of standard input, or `None` if it is a terminal, a device or closed.
fn redirected_input() -> Option<RedirectedInput> {
    let opened = std::io::stdin().as_fd().try_clone_to_owned().map(std::fs::File::from);
    let metadata = opened.and_then(|file| file.metadata()).ok()?;
    match (metadata.is_file(), metadata.file_type().is_fifo()) {
        (true, _) => Some(RedirectedInput::File),
        (false, true) => Some(RedirectedInput::Pipe),
        (false, false) => None,
    }
}
