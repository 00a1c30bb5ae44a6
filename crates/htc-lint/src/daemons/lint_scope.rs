//! What is known beside a configuration: how much of it there is, and whether it is for this machine.

use std::path::{Path, PathBuf};

use htc_config::load::LoadAttempt;
use htc_config::{UnreadSource, UnreadSourceKind};

/// What is known beside the configuration itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LintScope {
    /// True if the files are for another machine, so that paths that are not here are no mistake.
    pub for_other_machine: bool,
    /// True if all sources that the configuration names were read. What was not may define and use anything.
    pub is_complete: bool,
    /// True if the files are only a part of a configuration: named like one, and saying neither which daemons run nor
    /// where more stands.
    pub is_partial: bool,
}

impl LintScope {
    /// What is known beside a configuration that was read as far as it goes, from `files` if there are any.
    pub fn from_attempt(attempt: &LoadAttempt, files: &[PathBuf]) -> LintScope {
        let elsewhere = !files.is_empty();
        let is_whole = |source: &UnreadSource| source.kind == UnreadSourceKind::Directory && !elsewhere;
        let complete = attempt.error.is_none() && attempt.config.unread_sources.iter().all(is_whole);
        let names_more = ["DAEMON_LIST", "LOCAL_CONFIG_DIR", "LOCAL_CONFIG_FILE"]
            .iter()
            .any(|name| attempt.config.set.find_exact(name.as_bytes()).is_some());
        let part = elsewhere && !names_more && files.iter().all(|file| is_partial_config_name(file));
        LintScope { for_other_machine: elsewhere, is_complete: complete && !part, is_partial: part }
    }
}

/// Returns true if a file is called, or stands, as those of a LOCAL_CONFIG_DIR do: `50-site.conf`, `config.d/site`.
fn is_partial_config_name(file: &Path) -> bool {
    let name = file.file_name().unwrap_or_default().as_encoded_bytes();
    let directory = file.parent().and_then(Path::file_name).unwrap_or_default().as_encoded_bytes();
    name.iter().take(2).filter(|byte| byte.is_ascii_digit()).count() == 2 || directory.ends_with(b".d")
}
