//! What to read of a configuration, and how.

use std::path::PathBuf;
use std::sync::Arc;

use bstr::BString;

use crate::command::CommandPolicy;

/// What to read and how.
#[derive(Clone, Debug)]
pub struct LoadOptions {
    /// The root file; else `CONDOR_CONFIG` and the usual places. `ONLY_ENV` means no files.
    pub file: Option<PathBuf>,
    /// What is read in place of the root file's text.
    pub root_text: Option<Arc<[u8]>>,
    /// Whether CONFIG_ROOT is absolute though `file` is relative. Daemons change their directory, and hooks below
    /// `$(CONFIG_ROOT)` are to be found then; the tool's `-root-config` takes the file as it is,
    /// a directory, too, which is an error here.
    pub absolute_root: bool,
    /// Whether `_CONDOR_...` variables count.
    pub environment: bool,
    /// Settings that go over everything else: name and raw value.
    pub overlay: Vec<(Vec<u8>, Vec<u8>)>,
    /// Whether commands that the configuration names are run.
    pub commands: CommandPolicy,
    /// Whether the texts of sources and the definitions left out by conditions are kept, for carets and stories.
    pub keep_texts: bool,
    /// Whether settings equal to their defaults are kept (`-summary`, `-writeconfig`).
    pub keep_defaults: bool,
    /// Whether each replacement of a value is recorded in its order (`-trace`).
    pub record_replacements: bool,
    /// Whether look-ups are counted (`-verbose:use`, `-used`, `-stats`).
    pub count_uses: bool,
    /// A source that is read as if it stood at the end of LOCAL_CONFIG_FILE.
    pub extra_local_file: Option<BString>,
    /// Files that are read behind the root file, in order.
    pub more_files: Vec<PathBuf>,
    /// Whether the files that LOCAL_CONFIG_DIR and LOCAL_CONFIG_FILE name are read.
    pub local_files: bool,
    /// Whether the user's own file (`~/.condor/user_config`) is read.
    pub user_file: bool,
    /// Whether reading goes on behind what stops daemons, for those who want to know all that is wrong:
    /// `Attempt::stops` and `Config::not_read` of [`crate`] tell.
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
