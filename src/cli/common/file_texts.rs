//! Contents of files on the command line. Each file is read once, although several parts of a program need it.

use std::path::{Path, PathBuf};

use super::Problem;
use crate::world::{FileTextsWorld, World};

/// Maximum size of a file in bytes.
const MAX_TEXT_BYTES: u64 = 64 << 20;
/// Path of standard input.
const STDIN_PATH: &str = "/dev/stdin";

/// Returns the path to open for a file on the command line: `-` is standard input.
pub(in crate::cli) fn path_to_open(file: &Path) -> PathBuf {
    if file.as_os_str() == "-" { PathBuf::from(STDIN_PATH) } else { file.to_owned() }
}

/// Texts of files. A pipe, a FIFO or standard input can be read only once, so all readers get the text from memory.
pub(in crate::cli) struct FileTexts(Vec<(PathBuf, Vec<u8>)>);

impl FileTexts {
    /// Reads each file once; `-` is standard input. A file that cannot be read is omitted; the code that uses it
    /// reports the error.
    ///
    /// # Errors
    /// Returns an error for a file that is larger than 64 MiB.
    pub(in crate::cli) fn read<P: AsRef<Path>>(files: &[P], world: &dyn World) -> anyhow::Result<Self> {
        let mut texts: Vec<(PathBuf, Vec<u8>)> = Vec::new();
        for file in files.iter().map(AsRef::as_ref) {
            let path = path_to_open(file);
            if texts.iter().any(|(known, _)| *known == path) {
                continue;
            }
            let Ok(text) = world.read_file(&path, Some(MAX_TEXT_BYTES + 1)) else { continue };
            if text.len() as u64 > MAX_TEXT_BYTES {
                return Err(Problem::cannot_read(file.display())
                    .caused_by("it is larger than 64 MiB")
                    .into());
            }
            texts.push((path, text));
        }
        Ok(FileTexts(texts))
    }

    /// Returns a world in which the texts replace the files.
    pub(in crate::cli) fn world<'a>(&'a self, world: &'a dyn World) -> FileTextsWorld<'a> {
        FileTextsWorld { world, texts: &self.0 }
    }

    /// Returns the text of a file on the command line, or `None` if it could not be read.
    pub(in crate::cli) fn get(&self, file: &Path) -> Option<&[u8]> {
        let path = path_to_open(file);
        self.0.iter().find(|(known, _)| *known == path).map(|(_, text)| text.as_slice())
    }
}
