//! Options for reading a configuration.

use std::path::PathBuf;
use std::sync::Arc;

use bstr::BString;

use crate::command::CommandPolicy;

/// Options for reading a configuration.
#[derive(Clone, Debug)]
pub struct LoadOptions {
    /// The root file; else `CONDOR_CONFIG` and the usual places. `ONLY_ENV` means no files.
    pub file: Option<PathBuf>,
    /// Text that is read in place of the root file.
    pub root_text: Option<Arc<[u8]>>,
    /// True if CONFIG_ROOT is absolute though `file` is relative. Daemons change their directory, and hooks below
    /// `$(CONFIG_ROOT)` are to be found then; the tool's `-root-config` takes the file as it is,
    /// a directory, too, which is an error here.
    pub absolute_root: bool,
    /// True if `_CONDOR_...` variables count.
    pub environment: bool,
    /// Settings that go over everything else: name and raw value.
    pub overlay: Vec<(Vec<u8>, Vec<u8>)>,
    /// Whether commands that the configuration names are run.
    pub commands: CommandPolicy,
    /// True if the texts of sources and the definitions left out by conditions are kept, for carets and stories.
    pub keep_texts: bool,
    /// True if settings equal to their defaults are kept (`-summary`, `-writeconfig`).
    pub keep_defaults: bool,
    /// True if each replacement of a value is recorded in its order (`-trace`).
    pub record_replacements: bool,
    /// True if look-ups are counted (`-verbose:use`, `-used`, `-stats`).
    pub count_uses: bool,
    /// A source that is read as if it stood at the end of LOCAL_CONFIG_FILE.
    pub extra_local_file: Option<BString>,
    /// Files that are read behind the root file, in order.
    pub more_files: Vec<PathBuf>,
    /// True if the files that LOCAL_CONFIG_DIR and LOCAL_CONFIG_FILE name are read.
    pub local_files: bool,
    /// True if the user's own file (`~/.condor/user_config`) is read.
    pub user_file: bool,
    /// True if reading goes on behind what stops daemons, for those who want to know all that is wrong:
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
