//! `--split-by`: writes the ads of a stream to files, by the value of an expression.

use std::collections::HashMap;
use std::fs::{File, OpenOptions};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use bstr::{BString, ByteSlice};

use crate::classad::format::long;
use crate::classad::{ClassAd, Context, Expr, Value};
use crate::cli::common::{Problem, Status};

/// Maximum number of files that are open at once.
const MAX_OPEN_FILES: usize = 128;
/// Maximum length of a file name, in bytes, without its extension.
const MAX_NAME_LENGTH: usize = 200;

/// Writer of the ads of a stream to files `DIR/VALUE.ads`, in the long form.
pub(super) struct AdSplitter {
    by: Expr,
    directory: PathBuf,
    /// Files that were created, each with its writer while it is open.
    files: HashMap<BString, Option<BufWriter<File>>>,
    open_count: usize,
}

impl AdSplitter {
    /// Creates a splitter, and the directory if it is missing.
    ///
    /// # Errors
    /// Fails if the directory cannot be created.
    pub(super) fn new(by: Expr, directory: &Path) -> anyhow::Result<Self> {
        std::fs::create_dir_all(directory).with_context(|| {
            Problem::new(Status::Failed, format!("cannot create the directory '{}'", directory.display()))
        })?;
        Ok(AdSplitter { by, directory: directory.to_owned(), files: HashMap::new(), open_count: 0 })
    }

    /// Writes an ad to the file that is named after the value of the expression in the ad.
    ///
    /// # Errors
    /// Fails if the file cannot be written.
    pub(super) fn write(&mut self, ad: &ClassAd, context: &Context<'_>) -> anyhow::Result<()> {
        let name = file_name(&context.eval(&self.by));
        let path = self.directory.join(format!("{name}.ads"));
        let problem = || Problem::new(Status::Failed, format!("cannot write '{}'", path.display()));
        let mut text = long::print(ad).to_vec();
        text.push(b'\n');
        self.open(&name, &path).and_then(|file| file.write_all(&text)).with_context(problem)
    }

    fn open(&mut self, name: &BString, path: &Path) -> std::io::Result<&mut BufWriter<File>> {
        let is_open = self.files.get(name).is_some_and(Option::is_some);
        if !is_open {
            if self.open_count >= MAX_OPEN_FILES {
                self.close_all()?;
            }
            let is_new = !self.files.contains_key(name);
            // A file from an earlier run is replaced.
            let file =
                OpenOptions::new().create(true).write(true).truncate(is_new).append(!is_new).open(path)?;
            self.files.insert(name.clone(), Some(BufWriter::new(file)));
            self.open_count += 1;
        }
        let file = self.files.get_mut(name).and_then(Option::as_mut);
        file.ok_or_else(|| std::io::Error::from(std::io::ErrorKind::NotFound))
    }

    fn close_all(&mut self) -> std::io::Result<()> {
        self.open_count = 0;
        self.files.values_mut().filter_map(Option::take).try_for_each(|mut file| file.flush())
    }

    /// Writes all buffered text, and returns the number of files.
    ///
    /// # Errors
    /// Fails if a file cannot be written.
    pub(super) fn finish(&mut self) -> anyhow::Result<usize> {
        let problem =
            || Problem::new(Status::Failed, format!("cannot write below '{}'", self.directory.display()));
        let problem = problem();
        self.close_all().context(problem)?;
        Ok(self.files.len())
    }
}

/// Returns the file name for a value: its text, with `%XX` for bytes that a file name should not contain.
fn file_name(value: &Value) -> BString {
    let text = match value {
        Value::Undefined => return "_undefined".into(),
        Value::Error => return "_error".into(),
        value => value.as_str().map_or_else(|| value.unparse(), BString::from),
    };
    // The string "7" and the number 7 are different values.
    let looks_like_another_type = value.as_str().is_some()
        && Expr::parse(&text).is_ok_and(|expr| {
            expr.as_literal()
                .is_some_and(|value| matches!(value, Value::Int(_) | Value::Real(_) | Value::Bool(_)))
        });
    let mut name = BString::default();
    for (at, byte) in text.bytes().enumerate() {
        let is_ambiguous = at == 0 && looks_like_another_type;
        let is_plain = !is_ambiguous
            && (byte.is_ascii_alphanumeric()
                || byte >= 0x80
                || b"-+=@,:".contains(&byte)
                || (at > 0 && b"._".contains(&byte)));
        if is_plain {
            name.push(byte);
        } else {
            name.extend_from_slice(format!("%{byte:02X}").as_bytes());
        }
    }
    if name.len() > MAX_NAME_LENGTH {
        let digest = name.iter().fold(0xcbf2_9ce4_8422_2325_u64, |digest, byte| {
            (digest ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
        });
        name.truncate(MAX_NAME_LENGTH - 17);
        name.extend_from_slice(format!("~{digest:016x}").as_bytes());
    }
    if name.is_empty() { "_empty".into() } else { name }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_files_are_safe_and_different_for_different_values() {
        for (value, name) in [
            (Value::from("ann"), "ann"),
            (Value::from("../x"), "%2E.%2Fx"),
            (Value::from(""), "_empty"),
            (Value::from("_empty"), "%5Fempty"),
            (Value::from("a b"), "a%20b"),
            (Value::Int(-3), "-3"),
            (Value::Int(7), "7"),
            (Value::from("7"), "%37"),
            (Value::from("true"), "%74rue"),
            (Value::Undefined, "_undefined"),
        ] {
            assert_eq!(file_name(&value), name);
        }
        let long = |end: &str| file_name(&Value::from("x".repeat(300) + end));
        assert!(long("a").len() == MAX_NAME_LENGTH && long("a") != long("b"));
    }
}
