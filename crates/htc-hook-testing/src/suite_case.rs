//! Preparation of a suite case: creates its files, replaces its parameters and parses its expectations.

use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::case_error::CaseError;
use super::decision::Decision;
use super::expectation::Expectation;
use super::scratch_directory::ScratchDirectory;
use super::suite::{self, CaseText, Expect, SuiteCase};
use htc_base::quirks::QuirkMode;
use htc_classad::format::long;
use htc_classad::{ClassAd, regex};
use htc_os::read_at_most;
use htc_runner::hook_environment::ConfigSelection;

/// Settings for running suites.
#[derive(Clone, Debug)]
pub struct SuiteSettings {
    /// Selection of the configuration that hooks get in their environment.
    pub configuration: ConfigSelection,
    /// Quirks of 25.14 to reproduce in cases that do not set `reference`.
    pub quirks: QuirkMode,
    /// Time limit for cases that do not set `timeout`.
    pub timeout: Option<Duration>,
    /// Number of cases that run in parallel.
    pub parallel: usize,
    /// True if any finding that is not a note makes a case fail, unless the case lists the expected findings.
    pub strict: bool,
}

/// Expectations of a case after parsing.
pub(super) struct ParsedExpectations {
    pub expect: Expect,
    pub expectations: Vec<Expectation>,
    pub stderr: Option<regex::Regex>,
}

/// Case whose parameters have been replaced and whose files have been created.
pub(super) struct PreparedCase {
    pub text: CaseText,
    pub path: PathBuf,
    pub files: Option<ScratchDirectory>,
    pub timeout: Option<Duration>,
    pub quirks: QuirkMode,
    pub wanted: ParsedExpectations,
}

/// Creates the files of a case in a directory.
fn write_case_files(text: &CaseText, directory: &Path) -> std::io::Result<()> {
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

/// Result of searching for the programs, files and variables that a case needs.
pub(super) enum CaseRequirements {
    /// Everything was found; contains the prepared case.
    Met(Box<PreparedCase>),
    /// Something is missing, so the case is skipped; contains the reason.
    Missing(String),
}

/// Prepares a case of a suite.
///
/// # Errors
/// The case is not valid, or a file of the case cannot be created.
pub(super) fn prepare_case(how: &SuiteSettings, case: &SuiteCase) -> Result<CaseRequirements, CaseError> {
    let mut files = None;
    let mut values = BTreeMap::new();
    if needs_directory(&case.text) {
        let directory = ScratchDirectory::create("htc-hook-case.")?;
        values.insert("DIR".to_owned(), directory.path().display().to_string());
        files = Some(directory);
    }
    let mut base = case.base.clone();
    if let Some(variable) = &case.text.hook_directory {
        match std::env::var_os(variable) {
            Some(directory) => base = std::path::absolute(PathBuf::from(directory))?,
            None => return Ok(CaseRequirements::Missing(format!("{variable} is not set"))),
        }
        values.insert("HOOKS".to_owned(), base.display().to_string());
    }
    let text = suite::substitute(case.text.clone(), &values);
    for need in text.needs.iter().flatten() {
        match find_requirement(need) {
            Some(path) => drop(values.insert(need.clone(), path.display().to_string())),
            None => return Ok(CaseRequirements::Missing(format!("'{need}' is missing"))),
        }
    }
    let text = suite::substitute(text, &values);
    if let Some(name) = suite::unresolved_name(&text) {
        return Err(CaseError::UnresolvedName(name.to_owned()));
    }
    if let Some(files) = &files {
        write_case_files(&text, files.path())?;
    }
    let name = text.hook.as_deref().ok_or(CaseError::NoHook)?;
    let path = base.join(name);
    if text.hook_directory.is_some() && !path.exists() {
        return Ok(CaseRequirements::Missing(format!("'{}' is missing", path.display())));
    }
    let quirks = match text.reference {
        Some(true) => QuirkMode::Reference,
        Some(false) => QuirkMode::Manual,
        None => how.quirks,
    };
    let limit = |seconds| {
        let limit = Duration::try_from_secs_f64(seconds).ok().filter(|limit| !limit.is_zero());
        limit.ok_or(CaseError::TimeOut(seconds))
    };
    let timeout = text.timeout.map(limit).transpose()?.or(how.timeout);
    let mut wanted = parse_expectations(&text)?;
    if how.strict {
        wanted.expect.findings.get_or_insert_default();
    }
    Ok(CaseRequirements::Met(Box::new(PreparedCase { text, path, files, timeout, quirks, wanted })))
}

fn parse_expectations(text: &CaseText) -> Result<ParsedExpectations, CaseError> {
    let expect = text.expect.clone().unwrap_or_default();
    let expectations = expect
        .result
        .iter()
        .flatten()
        .map(|text| {
            Expectation::parse(text).map_err(|error| CaseError::from_parse_error(text, "result", &error))
        })
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
            regex::Regex::compile(pattern.as_bytes(), regex::RegexOptions::NONE)
                .map_err(|error| CaseError::Pattern(pattern.to_owned(), error))?,
        ),
    };
    Ok(ParsedExpectations { expect, expectations, stderr })
}

/// Returns true if a case has files or refers to the directory of its files.
fn needs_directory(text: &CaseText) -> bool {
    text.files.as_ref().is_some_and(|files| !files.is_empty()) || format!("{text:?}").contains("${DIR}")
}

/// Finds a required file by its path, or a program by its name.
fn find_requirement(need: &str) -> Option<PathBuf> {
    if need.contains('/') {
        return Some(PathBuf::from(need)).filter(|path| path.exists());
    }
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|directory| directory.join(need)).find(|path| {
        path.metadata().is_ok_and(|status| status.is_file() && status.permissions().mode() & 0o111 != 0)
    })
}

/// Maximum size in bytes of a file with an ad. The limit is needed because a device file has no end.
const MAX_AD_BYTES: u64 = 64 << 20;

/// Parses the ad that a case gives as text or as a file, or returns `None` if the case gives neither.
pub(super) fn read_given_ad(
    inline: &Option<String>,
    file: &Option<String>,
    base: &Path,
) -> Result<Option<ClassAd>, CaseError> {
    let bytes = match (inline, file) {
        (Some(text), _) => text.clone().into_bytes(),
        (None, Some(file)) => {
            let content =
                std::fs::File::open(base.join(file)).and_then(|open| read_at_most(open, MAX_AD_BYTES));
            content.map_err(|error| CaseError::Unreadable(file.clone(), error))?
        }
        _ => return Ok(None),
    };
    let (ad, errors) = long::parse(&bytes);
    match errors.first() {
        Some(error) => Err(CaseError::Ad(error.to_string())),
        None => Ok(Some(ad)),
    }
}

/// Applies the keys `delete` and `set` of the case to the ad that the call is about.
pub(super) fn apply_changes(text: &CaseText, subject: &mut ClassAd) -> Result<(), CaseError> {
    for name in text.delete.iter().flatten() {
        subject.remove(name);
    }
    for (name, value) in text.set.iter().flatten() {
        let read =
            Expectation::parse(value).map_err(|error| CaseError::from_parse_error(value, name, &error))?;
        subject
            .try_insert(name, read.expr)
            .map_err(|error| CaseError::Expression(format!("set.'{name}': {error}")))?;
    }
    Ok(())
}
