//! Scope of a check: the completeness of the configuration, and the machine it is for.

use std::path::{Path, PathBuf};

use bstr::ByteSlice;
use htc_config::load::LoadAttempt;
use htc_config::macro_definition::SourceKind;
use htc_config::{Config, UnreadSource, UnreadSourceKind};

/// Facts about a configuration that are not part of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LintScope {
    /// True if the files are for another machine, so that missing paths are not mistakes.
    pub for_other_machine: bool,
    /// True if the configuration is checked apart from this machine, so that missing programs are only noted.
    pub is_isolated: bool,
    /// True if all sources that the configuration names were read. An unread source may define and use any
    /// name.
    pub is_complete: bool,
    /// True if the files are only a part of a configuration: their names suggest this, and they do not name
    /// further files. A part may set DAEMON_LIST: the files of HTCondor's own config.d packages do.
    pub is_partial: bool,
}

impl LintScope {
    /// Determines the scope of a configuration that was read as far as possible, from `files` if there are
    /// any.
    pub fn from_attempt(attempt: &LoadAttempt, files: &[PathBuf]) -> LintScope {
        let elsewhere = !files.is_empty();
        let is_whole = |source: &UnreadSource| match elsewhere {
            true => is_read_elsewhere(&attempt.config, source),
            false => source.kind == UnreadSourceKind::Directory,
        };
        let complete = attempt.error.is_none() && attempt.config.unread_sources.iter().all(is_whole);
        let names_more = ["LOCAL_CONFIG_DIR", "LOCAL_CONFIG_FILE"]
            .iter()
            .any(|name| attempt.config.set.find_exact(name.as_bytes()).is_some());
        let part = elsewhere && !names_more && files.iter().all(|file| is_partial_config_name(file));
        LintScope {
            for_other_machine: elsewhere,
            is_isolated: elsewhere,
            is_complete: complete && !part,
            is_partial: part,
        }
    }
}

/// Returns true if a source that does not exist here was read from another place: a file, or files in a directory, with
/// the same name. An example is `config.d/10-slots` of a checkout for the directory `/etc/condor/config.d`.
pub(super) fn is_read_elsewhere(config: &Config, source: &UnreadSource) -> bool {
    let (parameter, is_directory) = match source.kind {
        UnreadSourceKind::Directory => (&b"LOCAL_CONFIG_DIR"[..], true),
        UnreadSourceKind::File => (&b"LOCAL_CONFIG_FILE"[..], false),
        UnreadSourceKind::Command => return false,
    };
    let path = source.name.to_path_lossy();
    let Some(wanted) = path.file_name() else { return false };
    let of_parameter = || config.set.find_exact(parameter).map(|entry| entry.current.place.source);
    // The file that names the directory may itself be in a directory with that name.
    let named_in = source.from.map(|(id, _)| id).or_else(of_parameter);
    let others = config.set.source_ids().filter(|id| Some(*id) != named_in).map(|id| config.set.source(id));
    let mut files = others.filter(|other| other.kind == SourceKind::File && other.text.is_some());
    files.any(|file| {
        let path = file.name.to_path_lossy();
        let name = if is_directory { path.parent().and_then(Path::file_name) } else { path.file_name() };
        name == Some(wanted)
    })
}

/// Returns true if a file has a name or directory like the files of a LOCAL_CONFIG_DIR: `50-site.conf`,
/// `config.d/site`, or of an included piece: `site.include`.
fn is_partial_config_name(file: &Path) -> bool {
    let name = file.file_name().unwrap_or_default().as_encoded_bytes();
    let directory = file.parent().and_then(Path::file_name).unwrap_or_default().as_encoded_bytes();
    let is_piece = ["include", "inc"].iter().any(|end| file.extension().is_some_and(|found| found == *end));
    // The last part of /dev/fd/63 is the number of a descriptor.
    let has_name = !file.starts_with("/dev/fd") && !file.starts_with("/proc");
    let digits = name.iter().take(2).filter(|byte| byte.is_ascii_digit()).count();
    let is_numbered = has_name && digits == 2;
    is_piece || is_numbered || directory.ends_with(b".d")
}
