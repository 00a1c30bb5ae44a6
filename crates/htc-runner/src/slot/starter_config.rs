//! Check that starters can read the current configuration. Each starter reads the configuration again. An error
//! introduced while the slots run would make every later job fail, so it must be found before the next job is
//! fetched.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use bstr::ByteSlice;

use crate::hook_environment::ConfigSelection;
use crate::starter::check_parameters;
use htc_config::load::LoadAttempt;
use htc_config::macro_definition::SourceKind;
use htc_config::{CommandPolicy, Config, LookupContext};
use htc_os::RealWorld;

/// Identification of a version of a file: device, inode, size, and times in nanoseconds.
type FileStamp = Option<[i128; 5]>;

/// Configuration files as a starter would read them now.
pub struct StarterConfig {
    choice: ConfigSelection,
    world: Rc<RealWorld>,
    /// True if the parameters of the starter of this project are checked as well.
    checks_starter_parameters: bool,
    /// The files that were read, or would be read if they existed, each with its version.
    files: Vec<(PathBuf, FileStamp)>,
    result: Result<(), String>,
}

impl StarterConfig {
    /// Reads the current configuration; `check_parameters` is true to check the parameters of the starter of this project as
    /// well.
    pub fn new(choice: ConfigSelection, world: &Rc<RealWorld>, check_parameters: bool) -> Self {
        let mut this = StarterConfig {
            choice,
            world: world.clone(),
            checks_starter_parameters: check_parameters,
            files: Vec::new(),
            result: Ok(()),
        };
        this.read();
        this
    }

    /// Checks that the configuration can be read now. The files are read again only if one of them has changed.
    ///
    /// # Errors
    /// Fails with the reason why the configuration cannot be read.
    pub fn check(&mut self) -> Result<(), String> {
        if self.files.iter().any(|(path, seen)| read_stamp(path) != *seen) {
            self.read();
        }
        self.result.clone()
    }

    fn read(&mut self) {
        let world = &*self.world;
        let context = LookupContext { subsystem: "STARTER".into(), local_name: "".into() };
        let before = self.current_paths();
        let LoadAttempt { config, error, .. } =
            Config::load_partially(world, &context, &self.choice.load_options(CommandPolicy::BOUNDED_RUN));
        self.result = match error {
            Some(error) => Err(error.to_string()),
            None if self.checks_starter_parameters => {
                check_parameters(&config.view(world), world).map_err(|error| error.user_message())
            }
            None => Ok(()),
        };
        let mut paths = paths(&config, world);
        if self.result.is_err() {
            // After an error the remaining files were not read, so the files of the previous read are watched as
            // well.
            paths.extend(before);
        }
        paths.sort();
        paths.dedup();
        self.files = paths.into_iter().map(|path| (path.clone(), read_stamp(&path))).collect();
    }

    fn current_paths(&self) -> Vec<PathBuf> {
        self.files.iter().map(|(path, _)| path.clone()).collect()
    }
}

/// Returns the files and directories that make up the configuration.
fn paths(config: &Config, world: &RealWorld) -> Vec<PathBuf> {
    let path = |name: &[u8]| PathBuf::from(name.to_path_lossy());
    let sources = config.set.sources().iter().filter(|source| source.kind == SourceKind::File);
    let mut paths: Vec<PathBuf> = sources.map(|source| path(&source.name)).collect();
    paths.extend(config.root.iter().map(|root| path(root)));
    let view = config.view(world);
    for name in ["LOCAL_CONFIG_DIR", "LOCAL_CONFIG_FILE"] {
        if let Ok(Some(list)) = view.list(name) {
            paths.extend(list.value.iter().map(|one| path(one)));
        }
    }
    paths
}

fn read_stamp(path: &Path) -> FileStamp {
    let metadata = std::fs::metadata(path).ok()?;
    let time = |seconds: i64, nanoseconds: i64| i128::from(seconds) * 1_000_000_000 + i128::from(nanoseconds);
    Some([
        i128::from(metadata.dev()),
        i128::from(metadata.ino()),
        i128::from(metadata.size()),
        time(metadata.mtime(), metadata.mtime_nsec()),
        time(metadata.ctime(), metadata.ctime_nsec()),
    ])
}
