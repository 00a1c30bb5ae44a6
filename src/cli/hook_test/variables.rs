//! Variables that options put into the environment of a call.

use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use bstr::BString;

use crate::cli::common::Problem;
use crate::runner::hook_environment::HookEnvironment;

/// Reads the values of `--env`.
pub(super) fn pairs(texts: &[String]) -> anyhow::Result<Vec<(BString, BString)>> {
    texts
        .iter()
        .map(|text| match text.split_once('=') {
            Some((name, value)) if !name.is_empty() => Ok((name.into(), value.into())),
            _ => Err(Problem::usage(format!("--env {text}: expected NAME=VALUE")).into()),
        })
        .collect()
}

/// Sets what `--env` names, and puts the directories of `--path-prepend` in front of PATH.
pub(super) fn put(all: &mut HookEnvironment, extra: &[(BString, BString)], prepend: &[PathBuf]) {
    for (name, value) in extra {
        all.variables.set(name.clone(), value.clone());
    }
    if prepend.is_empty() {
        return;
    }
    let old = all.variables.get("PATH").cloned().unwrap_or_default();
    let mut path = BString::default();
    for directory in prepend {
        let directory = std::path::absolute(directory).unwrap_or_else(|_| directory.clone());
        path.extend_from_slice(directory.as_os_str().as_bytes());
        path.push(b':');
    }
    path.extend_from_slice(&old);
    all.variables.set("PATH", path);
}
