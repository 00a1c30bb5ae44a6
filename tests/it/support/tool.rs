//! Calls of a program under the name of the tool that it replaces.

use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

/// Returns exit status and standard output of a program that is called under this name in the directory of its configuration.
pub(crate) fn call(program: &str, name: &str, words: &[&str], directory: &Path) -> (i32, String) {
    let link = directory.join(name);
    if !link.exists() {
        symlink(program, &link).unwrap();
    }
    let output = Command::new(&link)
        .args(words)
        .current_dir(directory)
        .env("CONDOR_CONFIG", directory.join("condor_config"))
        .env("TZ", "UTC")
        .env("HTC_NOW", "2000")
        .output()
        .unwrap();
    (output.status.code().unwrap_or(-1), String::from_utf8_lossy(&output.stdout).into_owned())
}
