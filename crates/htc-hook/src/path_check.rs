//! Checks of a hook's path, in the reference's order.
//!
//! The whole value of the parameter is the path: no arguments, no quotes, no search in PATH. The checks do not cover
//! the kind of the file (a directory passes the checks and fails at exec), its owner, links, and directories above the
//! parent directory. Reference: `hook_utils.cpp` (validateHookPath).

use std::fmt;
use std::io;
use std::path::PathBuf;

use bstr::{BString, ByteSlice};

use super::hook_type::HookType;
use super::parameter_source::ParameterSource;
use htc_base::FixableError;
use htc_base::world::{FileKind, World};

const WRITABLE_BY_OTHERS: u32 = 0o002;
const EXECUTABLE_BY_OWNER: u32 = 0o100;

/// Path that the caller of a hook refuses.
#[derive(Debug)]
pub struct PathRefusal {
    /// The path as configured.
    pub path: BString,
    /// Reason for the refusal.
    pub reason: PathRefusalReason,
    /// True if the path is a directory; changing its mode then does not help.
    pub is_directory: bool,
}

/// Reason why a path is refused.
#[derive(Debug)]
pub enum PathRefusalReason {
    /// The file's status cannot be read, usually because it does not exist.
    Stat(io::Error),
    /// The file is world-writable.
    WorldWritable,
    /// The owner of the file may not execute it. Execute permission for group and others makes no difference.
    NotExecutable,
    /// The directory of the file is world-writable. Sticky directories such as /tmp are refused as well.
    DirectoryWorldWritable(PathBuf),
}

impl PathRefusal {
    /// Returns the message that the daemons log; `parameter` is the parameter that holds the path.
    pub fn reference_message(&self, parameter: &[u8]) -> String {
        let (parameter, path) = (parameter.as_bstr(), self.path.as_bstr());
        let head = format!("ERROR: invalid path specified for {parameter} ({path}): ");
        let named = format!("ERROR: path specified for {parameter} ({path}) is ");
        match &self.reason {
            PathRefusalReason::Stat(error) => {
                let errno = error.raw_os_error().unwrap_or(0);
                format!("{head}stat() failed with errno {errno} ({})", system_error_text(error))
            }
            PathRefusalReason::WorldWritable => named + "world-writable! Refusing to use.",
            PathRefusalReason::NotExecutable => named + "not executable.",
            PathRefusalReason::DirectoryWorldWritable(_) => {
                named + "a world-writable directory! Refusing to use."
            }
        }
    }

    /// Returns the reason for the refusal and the correction, without the path.
    pub fn explanation(&self) -> String {
        self.problem_with_fix()
    }
}

impl FixableError for PathRefusal {
    /// Returns the reason for the refusal, without the path.
    fn problem(&self) -> String {
        match &self.reason {
            PathRefusalReason::WorldWritable | PathRefusalReason::NotExecutable if self.is_directory => {
                "it is a directory".to_owned()
            }
            PathRefusalReason::Stat(error) => system_error_text(error),
            PathRefusalReason::WorldWritable => "the file is world-writable".to_owned(),
            PathRefusalReason::NotExecutable => "its owner has no execute permission".to_owned(),
            PathRefusalReason::DirectoryWorldWritable(directory) => {
                format!("its directory '{}' is world-writable", directory.display())
            }
        }
    }

    fn fix(&self) -> Option<String> {
        let path = self.path.as_bstr();
        Some(match &self.reason {
            PathRefusalReason::WorldWritable | PathRefusalReason::NotExecutable if self.is_directory => {
                "write the path of a program in it".to_owned()
            }
            PathRefusalReason::Stat(_) if self.path.iter().any(u8::is_ascii_whitespace) => {
                "the whole value is the path; it cannot contain arguments".to_owned()
            }
            PathRefusalReason::Stat(_) => return None,
            PathRefusalReason::WorldWritable => format!("chmod o-w '{path}'"),
            PathRefusalReason::NotExecutable => format!("chmod u+x '{path}'"),
            PathRefusalReason::DirectoryWorldWritable(_) => "move the hook elsewhere".to_owned(),
        })
    }
}

fn system_error_text(error: &io::Error) -> String {
    let text = error.to_string();
    text.split(" (os error").next().unwrap_or_default().to_owned()
}

impl fmt::Display for PathRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "hook path '{}' refused: {}", self.path.as_bstr(), self.explanation())
    }
}

impl std::error::Error for PathRefusal {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match &self.reason {
            PathRefusalReason::Stat(error) => Some(error),
            _ => None,
        }
    }
}

/// Checks a path like all four callers (startd, starter, shadow, router) before they use the path.
///
/// # Errors
/// Returns the refusal for the first check that fails.
pub fn check_path(world: &dyn World, path: &[u8]) -> Result<(), PathRefusal> {
    let file = path.to_path_lossy();
    let status = world.stat(&file);
    let is_directory = status.as_ref().is_ok_and(|status| status.kind == FileKind::Directory);
    let refuse = |reason| Err(PathRefusal { path: path.into(), reason, is_directory });
    let status = match status {
        Ok(status) => status,
        Err(error) => return refuse(PathRefusalReason::Stat(error)),
    };
    if status.mode & WRITABLE_BY_OTHERS != 0 {
        return refuse(PathRefusalReason::WorldWritable);
    }
    if status.mode & EXECUTABLE_BY_OWNER == 0 {
        return refuse(PathRefusalReason::NotExecutable);
    }
    let directory = parent_directory(path);
    // The reference also ignores an error when it reads the status of the directory.
    match world.stat(&directory) {
        Ok(status) if status.mode & WRITABLE_BY_OTHERS != 0 => {
            refuse(PathRefusalReason::DirectoryWorldWritable(directory))
        }
        _ => Ok(()),
    }
}

/// Returns the text before the last slash, or `.` if the path has no slash (`condor_dirname`).
fn parent_directory(path: &[u8]) -> PathBuf {
    match path.rfind_byte(b'/') {
        None => PathBuf::from("."),
        Some(0) => PathBuf::from("/"),
        Some(at) => path[..at].to_path_lossy().into_owned(),
    }
}

/// Returns the checked path of a hook for a keyword, or `None` if no path is configured. For the router's JOB_FINALIZE,
/// reads the legacy parameter as well.
///
/// # Errors
/// Returns the refusal if the path is refused. Startd, router and shadow then run without the hook; the starter does
/// not start the job.
pub fn configured_path(
    world: &dyn World,
    parameters: &dyn ParameterSource,
    keyword: &[u8],
    hook: HookType,
) -> Result<Option<BString>, PathRefusal> {
    let HookPathSearch { found, refused } = search_hook_path(world, parameters, keyword, hook);
    match (found, refused.into_iter().next()) {
        (Some((_, path)), _) => Ok(Some(path)),
        (None, Some((_, refusal))) => Err(refusal),
        (None, None) => Ok(None),
    }
}

/// Result of the search for a hook's path. Each path comes with the name of its parameter.
#[derive(Debug, Default)]
pub struct HookPathSearch {
    /// First valid path.
    pub found: Option<(BString, BString)>,
    /// Refused paths that were found before the valid path.
    pub refused: Vec<(BString, PathRefusal)>,
}

/// Searches for a path like [`configured_path`], and also returns the paths that are refused.
pub fn search_hook_path(
    world: &dyn World,
    parameters: &dyn ParameterSource,
    keyword: &[u8],
    hook: HookType,
) -> HookPathSearch {
    let mut tried = HookPathSearch::default();
    for parameter in
        [Some(hook.path_parameter(keyword)), hook.legacy_path_parameter(keyword)].into_iter().flatten()
    {
        if let Some(path) = parameters.get(&parameter) {
            match check_path(world, &path) {
                Ok(()) => {
                    tried.found = Some((parameter, path));
                    break;
                }
                Err(error) => tried.refused.push((parameter, error)),
            }
        }
    }
    tried
}

/// Returns true if a hook of any type is configured for the keyword with a path that passes the checks
/// (`JobHookClientMgr::initialize`).
pub fn has_usable_hook(world: &dyn World, parameters: &dyn ParameterSource, keyword: &[u8]) -> bool {
    HookType::REFERENCE_NAMES.iter().any(|name| {
        let mut parameter = BString::from(keyword);
        parameter.extend_from_slice(b"_HOOK_");
        parameter.extend_from_slice(name.as_bytes());
        parameters.get(&parameter).is_some_and(|path| check_path(world, &path).is_ok())
    })
}
