//! Tells the programs which commit they were made from: `HTC_VERSION` is the version of the package, and in a clone of the
//! repository also the commit and its date. Has optimised programs hold the part of libgcc that unwinds their stack.

use std::path::Path;
use std::process::Command;

fn main() {
    let root = std::env::var("CARGO_MANIFEST_DIR").unwrap_or_default();
    let version = std::env::var("CARGO_PKG_VERSION").unwrap_or_default();
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-env-changed=RUSTC_LINKER");
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
    unwinder();
}

/// Puts the unwinder of libgcc into the programs, where the compiler's installation has it as an archive: to load `libgcc_s` and
/// to look its names up takes a fifth of what a short run of a program takes. A linker that looks for the library finds a script
/// that names the archives.
fn unwinder() {
    let is = |name: &str, value: &str| std::env::var(name).is_ok_and(|found| found == value);
    // A linker that was chosen for this build, such as zig's, has an unwinder of its own. That of this machine's compiler
    // would need a newer C library than the one that the build is for.
    let is_native =
        std::env::var_os("HOST") == std::env::var_os("TARGET") && std::env::var_os("RUSTC_LINKER").is_none();
    let is_gnu = is("CARGO_CFG_TARGET_OS", "linux") && is("CARGO_CFG_TARGET_ENV", "gnu");
    if !(is_native && is_gnu && is("PROFILE", "release")) {
        return;
    }
    let found = Command::new("cc").arg("-print-file-name=libgcc_eh.a").output();
    let archive =
        found.map(|found| String::from_utf8_lossy(&found.stdout).trim().to_owned()).unwrap_or_default();
    let Some(directory) = std::env::var_os("OUT_DIR") else { return };
    let script = Path::new(&directory).join("libgcc_s.so");
    // A compiler without the archive prints only its name.
    if Path::new(&archive).is_absolute()
        && std::fs::write(script, format!("GROUP ( {archive} -lgcc -lc )\n")).is_ok()
    {
        println!("cargo::rustc-link-search=native={}", Path::new(&directory).display());
    }
}
