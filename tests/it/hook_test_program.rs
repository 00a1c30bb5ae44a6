//! `htc-hook-test` itself: suites, recording and replay.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use crate::sandbox::write_executable;

/// The program, where it was built.
fn program() -> Option<PathBuf> {
    let path = option_env!("CARGO_BIN_EXE_htc-hook-test").map(PathBuf::from);
    if path.is_none() {
        println!("skipped: htc-hook-test is not built");
    }
    path
}

fn run(directory: &Path, words: &[&str]) -> Option<Output> {
    Some(
        Command::new(program()?)
            .args(words)
            .current_dir(directory)
            .env_clear()
            .env("PATH", "/usr/bin:/bin")
            .stdin(Stdio::null())
            .output()
            .unwrap(),
    )
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn the_suites_of_the_repository_pass() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let Some(output) = run(root, &["run", "tests/data/suites", "--tap"]) else { return };
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert!(!text(&output.stdout).contains("not ok"));
}

#[test]
fn a_failing_case_shows_the_difference_and_status_1() {
    let home = tempfile::tempdir().unwrap();
    write_executable(&home.path().join("h"), b"#!/bin/sh\nexit 3\n");
    std::fs::write(home.path().join("s.toml"), "[[case]]\nname = \"x\"\nhook = \"h\"\ntype = \"prepare\"\n")
        .unwrap();
    let Some(output) = run(home.path(), &["run", "s.toml", "--junit", "out.xml"]) else { return };
    assert_eq!(output.status.code(), Some(1));
    let said = text(&output.stderr);
    assert!(said.contains("- a success\n") && said.contains("+ not-started ("), "{said}");
    let junit = std::fs::read_to_string(home.path().join("out.xml")).unwrap();
    assert!(junit.contains("failures=\"1\"") && junit.contains("<failure"), "{junit}");
    std::fs::write(home.path().join("s.toml"), "[[case]]\nhok = \"h\"\n").unwrap();
    let output = run(home.path(), &["run", "s.toml"]).unwrap();
    assert_eq!(output.status.code(), Some(3));
    assert!(text(&output.stderr).contains("s.toml:2:1: "), "{}", text(&output.stderr));
}

#[test]
fn a_recorded_hook_behaves_as_itself_and_is_replayed() {
    let Some(program) = program() else { return };
    let home = tempfile::tempdir().unwrap();
    let hook = "#!/bin/sh\ncat >/dev/null\necho 'Note = \"'$1'\"'\necho oh >&2\nexit 4\n";
    write_executable(&home.path().join("h"), hook.as_bytes());
    let stand_in =
        format!("#!/bin/sh\nexec {} record --into calls --type prepare -- ./h \"$@\"\n", program.display());
    write_executable(&home.path().join("stand-in"), stand_in.as_bytes());
    let call = |stdin: Stdio| {
        Command::new(home.path().join("stand-in"))
            .arg("one word")
            .current_dir(home.path())
            .stdin(stdin)
            .output()
            .unwrap()
    };
    std::fs::write(home.path().join("job.ad"), "Cmd = \"/bin/true\"\nA = 1\n").unwrap();
    let output = call(std::fs::File::open(home.path().join("job.ad")).unwrap().into());
    assert_eq!(output.status.code(), Some(4));
    assert_eq!((text(&output.stdout), text(&output.stderr)), ("Note = \"one word\"\n".into(), "oh\n".into()));
    let same = run(home.path(), &["replay", "calls", "--hook", "h"]).unwrap();
    assert_eq!(same.status.code(), Some(0), "{}", text(&same.stderr));
    write_executable(&home.path().join("new"), hook.replace("exit 4", "exit 0").as_bytes());
    let changed = run(home.path(), &["replay", "calls", "--hook", "new"]).unwrap();
    assert_eq!(changed.status.code(), Some(1));
    assert!(text(&changed.stderr).contains("+ go-on"), "{}", text(&changed.stderr));
    write_executable(&home.path().join("h"), b"#!/bin/sh\nkill -TERM $$\n");
    let output = call(Stdio::null());
    use std::os::unix::process::ExitStatusExt;
    assert_eq!(output.status.signal(), Some(15));
}
