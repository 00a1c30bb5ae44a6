//! A case of a suite laid out, whatever it calls: its files written, its parameters put in, its expectations parsed.

use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use tempfile::TempDir;

use super::decision::Decision;
use super::expectation::Expectation;
use super::suite::{self, CaseText, Expect, SuiteCase};
use super::suite_error::CaseError;
use htc_base::quirks::Quirks;
use htc_classad::format::long;
use htc_classad::{ClassAd, regex};
use htc_runner::hook_environment::ConfigChoice;

/// How suites are run.
#[derive(Clone, Debug)]
pub struct SuiteSettings {
    /// The configuration that callers tell their hooks of.
    pub configuration: ConfigChoice,
    /// Deviations, for cases that do not say.
    pub quirks: Quirks,
    /// The time limit of cases that have none.
    pub timeout: Option<Duration>,
    /// How many cases run side by side.
    pub parallel: usize,
}

/// What must come of a case, parsed.
pub(super) struct Wanted {
    pub expect: Expect,
    pub expectations: Vec<Expectation>,
    pub stderr: Option<regex::Regex>,
}

/// A case whose parameters are put in and whose files are laid out.
pub(super) struct Laid {
    pub text: CaseText,
    pub path: PathBuf,
    pub files: Option<TempDir>,
    pub timeout: Option<Duration>,
    pub quirks: Quirks,
    pub wanted: Wanted,
}

/// Writes the files that a case has.
fn write_files(text: &CaseText, directory: &Path) -> std::io::Result<()> {
    for (name, content) in text.files.iter().flatten() {
        let path = directory.join(name);
        if let Some(parent) = path.parent() {
            std::fs::create_dir_all(parent)?;
        }
        std::fs::write(&path, content)?;
        let mode = if content.starts_with("#!") { 0o755 } else { 0o644 };
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode))?;
    }
    Ok(())
}

/// Lays a case out; why it is skipped, where it is.
pub(super) fn lay_out(how: &SuiteSettings, case: &SuiteCase) -> Result<Result<Laid, String>, CaseError> {
    let mut files = None;
    let mut values = BTreeMap::new();
    if wants_directory(&case.text) {
        let directory = tempfile::Builder::new().prefix("htc-hook-case.").tempdir()?;
        std::fs::set_permissions(directory.path(), std::fs::Permissions::from_mode(0o755))?;
        values.insert("DIR".to_owned(), directory.path().display().to_string());
        files = Some(directory);
    }
    let mut base = case.base.clone();
    if let Some(variable) = &case.text.hook_directory {
        match std::env::var_os(variable) {
            Some(directory) => base = std::path::absolute(PathBuf::from(directory))?,
            None => return Ok(Err(format!("{variable} is not set"))),
        }
        values.insert("HOOKS".to_owned(), base.display().to_string());
    }
    let text = suite::substituted(case.text.clone(), &values);
    for need in text.needs.iter().flatten() {
        match found(need) {
            Some(path) => drop(values.insert(need.clone(), path.display().to_string())),
            None => return Ok(Err(format!("'{need}' is not there"))),
        }
    }
    let text = suite::substituted(text, &values);
    if let Some(name) = suite::unknown_name(&text) {
        return Err(CaseError::StandsForNothing(name.to_owned()));
    }
    if let Some(files) = &files {
        write_files(&text, files.path())?;
    }
    let name = text.hook.as_deref().ok_or(CaseError::NoHook)?;
    let path = base.join(name);
    if text.hook_directory.is_some() && !path.exists() {
        return Ok(Err(format!("'{}' is not there", path.display())));
    }
    let quirks = match text.reference {
        Some(true) => Quirks::Reference,
        Some(false) => Quirks::None,
        None => how.quirks,
    };
    let limit = |seconds| {
        let limit = Duration::try_from_secs_f64(seconds).ok().filter(|limit| !limit.is_zero());
        limit.ok_or(CaseError::TimeOut(seconds))
    };
    let timeout = text.timeout.map(limit).transpose()?.or(how.timeout);
    let wanted = wanted(&text)?;
    Ok(Ok(Laid { text, path, files, timeout, quirks, wanted }))
}

fn wanted(text: &CaseText) -> Result<Wanted, CaseError> {
    let expect = text.expect.clone().unwrap_or_default();
    let expectations = expect
        .result
        .iter()
        .flatten()
        .map(|text| Expectation::read(text).map_err(|error| CaseError::expression(text, "result", &error)))
        .collect::<Result<_, _>>()?;
    if let Some(word) = &expect.verdict {
        Decision::check_word(word).map_err(|error| CaseError::Verdict(word.clone(), error))?;
    }
    if let Some(exit) = expect.exit.as_ref().filter(|exit| !exit.is_integer() && !exit.is_str()) {
        return Err(CaseError::Exit(exit.clone()));
    }
    let stderr = match expect.stderr.as_deref() {
        None | Some("") => None,
        Some(pattern) => Some(
            regex::Regex::compile(pattern.as_bytes(), regex::Options::NONE)
                .map_err(|error| CaseError::Pattern(pattern.to_owned(), error))?,
        ),
    };
    Ok(Wanted { expect, expectations, stderr })
}

/// Whether a case has files of its own, or names their directory.
fn wants_directory(text: &CaseText) -> bool {
    text.files.as_ref().is_some_and(|files| !files.is_empty()) || format!("{text:?}").contains("${DIR}")
}

/// A file by its path, a program by its name.
fn found(need: &str) -> Option<PathBuf> {
    if need.contains('/') {
        return Some(PathBuf::from(need)).filter(|path| path.exists());
    }
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|directory| directory.join(need)).find(|path| {
        path.metadata().is_ok_and(|status| status.is_file() && status.permissions().mode() & 0o111 != 0)
    })
}

/// An ad of the case, where it has one.
pub(super) fn given(
    inline: &Option<String>,
    file: &Option<String>,
    base: &Path,
) -> Result<Option<ClassAd>, CaseError> {
    let bytes = match (inline, file) {
        (Some(text), _) => text.clone().into_bytes(),
        (None, Some(file)) => {
            std::fs::read(base.join(file)).map_err(|error| CaseError::Unreadable(file.clone(), error))?
        }
        _ => return Ok(None),
    };
    let (ad, errors) = long::parse(&bytes);
    match errors.first() {
        Some(error) => Err(CaseError::Ad(error.to_string())),
        None => Ok(Some(ad)),
    }
}

/// Deletes and sets what the case says of the ad that the call is about.
pub(super) fn change(text: &CaseText, subject: &mut ClassAd) -> Result<(), CaseError> {
    for name in text.delete.iter().flatten() {
        subject.remove(name);
    }
    for (name, value) in text.set.iter().flatten() {
        let read = Expectation::read(value).map_err(|error| CaseError::expression(value, name, &error))?;
        subject.insert(name, read.expr);
    }
    Ok(())
}
