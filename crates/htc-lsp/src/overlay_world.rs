//! World in which the texts of open documents replace the files on disk.

use std::ffi::{OsStr, OsString};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bstr::BString;
use htc_base::time::ClockReading;
use htc_base::world::{
    Account, CommandOutput, ExternalCommand, FileKind, FileStatus, InterfaceAddress, MachineFacts, World,
    Zone,
};
use htc_classad::{EvalWorld, LanguageMode, UserMaps};

use crate::documents::DocumentStore;
use crate::file_uri::normalize;

/// Text that replaces a file.
struct OverlayFile {
    path: PathBuf,
    /// Path without symbolic links, or `None` if the file is not on disk.
    real_path: Option<PathBuf>,
    text: Arc<[u8]>,
}

/// World in which the texts of open documents replace the files on disk. All else comes from the wrapped world.
pub struct OverlayWorld<'a> {
    world: &'a dyn World,
    directory: PathBuf,
    files: Vec<OverlayFile>,
}

impl<'a> OverlayWorld<'a> {
    /// Creates a world with the texts of documents.
    pub fn new(world: &'a dyn World, documents: &DocumentStore) -> Self {
        let files = documents.iter().map(|document| OverlayFile {
            path: document.path.clone(),
            real_path: world.real_path(&document.path).ok(),
            text: document.text().clone(),
        });
        OverlayWorld {
            world,
            directory: world.current_dir().unwrap_or_else(|_| PathBuf::from("/")),
            files: files.collect(),
        }
    }

    /// Returns the absolute path of a file, without `.` and `..`.
    pub fn absolute(&self, path: &Path) -> PathBuf {
        normalize(&self.directory.join(path))
    }

    /// Returns the path and the text of the open document that replaces a file.
    fn find(&self, path: &Path) -> Option<&OverlayFile> {
        if self.files.is_empty() {
            return None;
        }
        let absolute = self.absolute(path);
        self.files.iter().find(|file| file.path == absolute).or_else(|| {
            let real = self.world.real_path(&absolute).ok()?;
            self.files.iter().find(|file| file.real_path.as_ref() == Some(&real))
        })
    }

    /// Returns the path under which the editor has opened a file, or the absolute path of a file that is not open.
    pub fn document_path(&self, path: &Path) -> PathBuf {
        self.find(path).map_or_else(|| self.absolute(path), |file| file.path.clone())
    }
}

impl EvalWorld for OverlayWorld<'_> {
    fn epoch(&self) -> i64 {
        self.world.epoch()
    }
    fn local_zone(&self, epoch: i64) -> Zone {
        self.world.local_zone(epoch)
    }
    fn random_bits(&self) -> u64 {
        self.world.random_bits()
    }
    fn home(&self, user: &[u8]) -> Option<BString> {
        self.world.home(user)
    }
    fn user_maps(&self) -> Option<&UserMaps> {
        self.world.user_maps()
    }
    fn language_mode(&self) -> LanguageMode {
        self.world.language_mode()
    }
}

impl World for OverlayWorld<'_> {
    fn now(&self) -> ClockReading {
        self.world.now()
    }
    fn zone(&self, epoch: i64) -> Zone {
        self.world.zone(epoch)
    }
    fn random(&self) -> u64 {
        self.world.random()
    }
    fn reseed(&self, seed: u64) {
        self.world.reseed(seed);
    }
    fn env(&self, name: &OsStr) -> Option<OsString> {
        self.world.env(name)
    }
    fn environment(&self) -> Vec<(OsString, OsString)> {
        self.world.environment()
    }
    fn read_file(&self, path: &Path, limit: Option<u64>) -> io::Result<Vec<u8>> {
        match self.find(path) {
            Some(file) => {
                let limit = limit.and_then(|limit| usize::try_from(limit).ok()).unwrap_or(usize::MAX);
                Ok(file.text[..file.text.len().min(limit)].to_vec())
            }
            None => self.world.read_file(path, limit),
        }
    }
    fn write_file(&self, path: &Path, content: &[u8]) -> io::Result<()> {
        self.world.write_file(path, content)
    }
    fn list_dir(&self, path: &Path) -> io::Result<Vec<OsString>> {
        let mut names = self.world.list_dir(path)?;
        let directory = self.absolute(path);
        for file in self.files.iter().filter(|file| file.path.parent() == Some(&directory)) {
            let name = file.path.file_name().unwrap_or_default();
            if !names.iter().any(|known| known == name) {
                names.push(name.to_owned());
            }
        }
        Ok(names)
    }
    fn stat(&self, path: &Path) -> io::Result<FileStatus> {
        self.world.stat(path).or_else(|error| match self.find(path) {
            // A document that was never saved.
            Some(file) => Ok(FileStatus {
                kind: FileKind::File,
                mode: 0o644,
                uid: self.world.effective_uid(),
                gid: 0,
                size: file.text.len() as u64,
                modified: 0,
                modified_nanos: 0,
            }),
            None => Err(error),
        })
    }
    fn real_path(&self, path: &Path) -> io::Result<PathBuf> {
        self.world.real_path(path)
    }
    fn may_execute(&self, path: &Path) -> bool {
        self.world.may_execute(path)
    }
    fn current_dir(&self) -> io::Result<PathBuf> {
        self.world.current_dir()
    }
    fn run(&self, command: &ExternalCommand) -> io::Result<CommandOutput> {
        self.world.run(command)
    }
    fn account_by_name(&self, name: &[u8]) -> Option<Account> {
        self.world.account_by_name(name)
    }
    fn account_by_uid(&self, uid: u32) -> Option<Account> {
        self.world.account_by_uid(uid)
    }
    fn effective_uid(&self) -> u32 {
        self.world.effective_uid()
    }
    fn machine(&self) -> MachineFacts {
        self.world.machine()
    }
    fn host(&self) -> [String; 3] {
        self.world.host()
    }
    fn interfaces(&self) -> Vec<InterfaceAddress> {
        self.world.interfaces()
    }
}
