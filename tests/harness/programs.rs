//! Finds the programs under test next to the running binary.

use std::path::{Path, PathBuf};
use std::process::Command;

/// Returns the directory of these programs: that of the profile with which the running example was built. If
/// cargo runs the example, the programs are built first, so that they are up to date.
pub fn find(names: &[&str]) -> Result<PathBuf, String> {
    let own = std::env::current_exe().map_err(|error| format!("the path of this program: {error}"))?;
    let profile = own.parent().and_then(Path::parent).ok_or("this program stands in no target directory")?;
    if let Some(cargo) = std::env::var_os("CARGO") {
        let mut build = Command::new(cargo);
        build.args(["build", "--quiet", "--bins"]);
        match profile.file_name().and_then(|name| name.to_str()) {
            Some("debug") | None => {}
            Some(name) => drop(build.args(["--profile", name])),
        }
        let status = build.status().map_err(|error| format!("cargo build: {error}"))?;
        if !status.success() {
            return Err("cargo build of the programs failed".to_owned());
        }
    }
    match names.iter().find(|name| !profile.join(name).exists()) {
        None => Ok(profile.to_owned()),
        Some(name) => Err(format!(
            "no {name} in {}: build the programs first, or give --programs DIR",
            profile.display()
        )),
    }
}
