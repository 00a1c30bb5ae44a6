//! Tells the programs which commit they were made from: `HTC_VERSION` is the version of the package, and in a clone of the
//! repository also the commit and its date.

use std::path::Path;
use std::process::Command;

fn main() {
    let root = std::env::var("CARGO_MANIFEST_DIR").unwrap_or_default();
    let version = std::env::var("CARGO_PKG_VERSION").unwrap_or_default();
    println!("cargo::rerun-if-changed=build.rs");
    // A package, or sources unpacked inside somebody else's repository, has no commit of its own.
    let git = Path::new(&root).join(".git");
    let mut shown = version.clone();
    if git.exists() {
        for file in ["HEAD", "logs/HEAD"] {
            if git.join(file).exists() {
                println!("cargo::rerun-if-changed={}", git.join(file).display());
            }
        }
        let told = Command::new("git")
            .args([
                "-C",
                &root,
                "log",
                "-1",
                "--format=%h %cd",
                "--date=format-local:%Y-%m-%d",
                "--abbrev=10",
            ])
            .env("TZ", "UTC")
            .output();
        if let Some(output) = told.ok().filter(|output| output.status.success()) {
            shown = format!("{version} ({})", String::from_utf8_lossy(&output.stdout).trim());
        }
    }
    println!("cargo::rustc-env=HTC_VERSION={shown}");
}
