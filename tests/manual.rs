//! Runs the examples of the man pages in a shell, in a copy of `tests/data/manual`.

#![cfg(feature = "cli")]

use std::fs;
use std::io;
use std::path::Path;
use std::process::{Command, Stdio};

use htc_hooks::cli::PROGRAMS;

fn copy(from: &Path, to: &Path) -> io::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy(&entry.path(), &target)?;
        } else {
            fs::copy(entry.path(), target)?;
        }
    }
    Ok(())
}

#[test]
fn the_examples_of_the_manuals_end_as_they_say() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    // The programs are in the parent directory of the test's binary.
    let tests = std::env::current_exe().unwrap();
    let programs = tests.parent().and_then(Path::parent).unwrap();
    let path = std::env::join_paths([programs, Path::new("/usr/bin"), Path::new("/bin")]).unwrap();
    let mut wrong = Vec::new();
    for program in PROGRAMS {
        for example in program.manual.examples {
            let place = tempfile::tempdir().unwrap();
            copy(&root.join("tests/data/manual"), place.path()).unwrap();
            let output = Command::new("/bin/sh")
                .args(["-c", example.line])
                .current_dir(place.path())
                .env_clear()
                .env("PATH", &path)
                .env("HOME", place.path())
                .stdin(Stdio::null())
                .output()
                .unwrap();
            if output.status.code() != Some(i32::from(example.status)) {
                wrong.push(format!(
                    "{}\n{}, expected {}\n{}{}",
                    example.line,
                    output.status,
                    example.status,
                    String::from_utf8_lossy(&output.stdout),
                    String::from_utf8_lossy(&output.stderr)
                ));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
