//! Programs in a row: what one prints, the next reads.

use std::os::unix::fs::{PermissionsExt, chown};
use std::path::Path;
use std::process::{Command, Output};

use nix::unistd::geteuid;

use crate::support::children::write_executable;

/// Account of hooks and jobs if the test runs as root.
const NOBODY: u32 = 65534;

/// Runs a line of bash in a directory, with the programs on PATH; with `as_nobody` as that account.
fn run(line: &str, directory: &Path, as_nobody: bool) -> Output {
    let programs = Path::new(env!("CARGO_BIN_EXE_htc-slot-run")).parent().unwrap();
    let path = format!("{}:{}", programs.display(), std::env::var("PATH").unwrap());
    let mut command = Command::new(if as_nobody { "setpriv" } else { "bash" });
    if as_nobody {
        command.args(["--reuid", "65534", "--regid", "65534", "--clear-groups", "--", "bash"]);
    }
    command
        .args(["-c", &format!("set -euo pipefail; {line}")])
        .current_dir(directory)
        .env("PATH", path)
        .env("HOME", directory)
        .env("CONDOR_CONFIG", directory.join("condor_config"));
    command.output().unwrap()
}

/// Directory with hooks and a configuration, which `nobody` may use as well.
fn prepared_directory() -> tempfile::TempDir {
    let home = tempfile::tempdir().unwrap();
    let place = home.path();
    std::fs::set_permissions(place, std::fs::Permissions::from_mode(0o755)).unwrap();
    let job = "cat >/dev/null\nprintf 'ClusterId = 7\\nProcId = 1\\nJobUniverse = 5\\nOwner = \"nobody\"\\nRouteName = \"R\"\\n'\n\
        printf 'Cmd = \"/bin/sh\"\\nArguments = \"-c true\"\\n'\n";
    write_executable(&place.join("fetch"), format!("#!/bin/sh\n{job}").as_bytes());
    write_executable(&place.join("prepare"), b"#!/bin/sh\ncat >/dev/null\necho 'Prepared = true'\n");
    for name in ["execute", "log"] {
        std::fs::create_dir(place.join(name)).unwrap();
        if geteuid().is_root() {
            chown(place.join(name), Some(NOBODY), Some(NOBODY)).unwrap();
        }
    }
    let config = format!("EXECUTE = {0}/execute\nLOG = {0}/log\n", place.display());
    std::fs::write(place.join("condor_config"), config).unwrap();
    home
}

/// True if the programs can be executed and the directories entered by another account.
fn can_switch_account() -> bool {
    let check = "command -v htc-slot-run >/dev/null && htc-slot-run --version";
    let home = prepared_directory();
    let can = geteuid().is_root() && run(check, home.path(), true).status.success();
    if !can {
        println!("skipped: as another account, which needs root and programs that all may execute");
    }
    can
}

#[test]
fn a_fetched_job_goes_through_four_programs() {
    let accounts: &[bool] = if can_switch_account() { &[false, true] } else { &[false] };
    for as_nobody in accounts {
        let home = prepared_directory();
        if *as_nobody {
            chown(home.path(), Some(NOBODY), Some(NOBODY)).unwrap();
        }
        let line = "htc-hook-test fetch ./fetch -q | htc-hook-test prepare ./prepare -q | htc-starter-run -q \
            | tee ended.ad | htc-router-status - --af=ClusterId,ProcId,JobStatus,RouteName,Prepared";
        let Output { status, stdout, stderr } = run(line, home.path(), *as_nobody);
        let (out, err) = (String::from_utf8_lossy(&stdout), String::from_utf8_lossy(&stderr));
        let ad = std::fs::read_to_string(home.path().join("ended.ad")).unwrap_or_default();
        assert_eq!((status.code(), out.as_ref()), (Some(0), "7 1 4 R true\n"), "{as_nobody}: {err}\n{ad}");
        assert!(!ad.contains("htc-hook-test"), "a path of a deleted directory: {ad}");
    }
}

#[test]
fn jobs_of_several_programs_are_joined_without_loss() {
    let home = prepared_directory();
    let line = "(htc-hook-test fetch ./fetch -q; htc-hook-test fetch ./fetch -q | sed 's/ClusterId = 7/ClusterId = 8/') \
        | tee two.ads | htc-classad-eval --ads - --count; \
        htc-hook-test prepare ./prepare --ads two.ads -q | htc-classad-eval --ads - -c Prepared -af ClusterId; \
        htc-classad-eval --ads two.ads --split-by ClusterId q; cat q/*.ads | htc-classad-eval --ads - --count";
    let Output { status, stdout, stderr } = run(line, home.path(), false);
    let out = String::from_utf8_lossy(&stdout);
    assert_eq!(
        (status.code(), out.as_ref()),
        (Some(0), "2\n7\n8\n2\n"),
        "{}",
        String::from_utf8_lossy(&stderr)
    );
}

#[test]
fn files_where_expressions_are_expected_get_a_hint() {
    let home = prepared_directory();
    std::fs::write(home.path().join("job.ad"), "Owner = \"ann\"\n").unwrap();
    for (line, hint) in [
        ("htc-classad-eval job.ad", "hint: --ads job.ad"),
        ("htc-classad-eval -c 'Owner == \"ann\"' job.ad </dev/null", "hint: --ads job.ad"),
        ("htc-hook-test prepare ./prepare job.ad </dev/null", "hint: --ads job.ad"),
    ] {
        let Output { stderr, .. } = run(line, home.path(), false);
        let err = String::from_utf8_lossy(&stderr);
        assert!(err.contains(hint), "{line}: {err}");
    }
}
