//! Options for reading a configuration.

use std::path::PathBuf;
use std::sync::Arc;

use bstr::BString;

use crate::command::CommandPolicy;

/// Options for reading a configuration.
#[derive(Clone, Debug)]
pub struct LoadOptions {
    /// The root file [default: `CONDOR_CONFIG`, else the usual places]. `ONLY_ENV` means no files.
    pub file: Option<PathBuf>,
    /// Text that is used instead of the root file's contents.
    pub root_text: Option<Arc<[u8]>>,
    /// True if CONFIG_ROOT is made absolute even though `file` is relative. Daemons change their directory,
    /// so hooks below `$(CONFIG_ROOT)` would not be found otherwise. The tool's `-root-config` uses the path
    /// as it is and accepts a directory, which is an error with this option.
    pub absolute_root: bool,
    /// True if `_CONDOR_...` variables are read.
    pub environment: bool,
    /// Settings that override all sources, as pairs of name and raw value.
    pub overlay: Vec<(Vec<u8>, Vec<u8>)>,
    /// Policy for the commands whose output is a part of the configuration.
    pub commands: CommandPolicy,
    /// True if the text of each source and the definitions inside a false `if` are kept, for messages and explanations.
    pub keep_texts: bool,
    /// True if settings equal to their defaults are kept (`-summary`, `-writeconfig`).
    pub keep_defaults: bool,
    /// True if each replacement of a value is recorded, in order (`-trace`).
    pub record_replacements: bool,
    /// True if look-ups are counted (`-verbose:use`, `-used`, `-stats`).
    pub count_uses: bool,
    /// A source that is read as if it were the last of LOCAL_CONFIG_FILE.
    pub extra_local_file: Option<BString>,
    /// Files that are read after the root file, in order.
    pub more_files: Vec<PathBuf>,
    /// True if the files named by LOCAL_CONFIG_DIR and LOCAL_CONFIG_FILE are read.
    pub local_files: bool,
    /// True if the user's own file (`~/.condor/user_config`) is read.
    pub user_file: bool,
    /// True if reading continues after errors that stop daemons, so that all errors are found. See
    /// [`LoadAttempt::skipped_errors`](crate::load::LoadAttempt) and [`Config::unread_sources`](crate::Config).
    pub continue_after_errors: bool,
}

impl Default for LoadOptions {
    fn default() -> Self {
        LoadOptions {
            file: None,
            root_text: None,
            absolute_root: false,
            environment: true,
            overlay: Vec::new(),
            commands: CommandPolicy::Refused,
            keep_texts: false,
            keep_defaults: false,
            record_replacements: false,
            count_uses: false,
            extra_local_file: None,
            more_files: Vec::new(),
            local_files: true,
            user_file: true,
            continue_after_errors: false,
        }
    }
}
