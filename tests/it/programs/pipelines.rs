//! Tests of pipelines, in which each program reads what the previous one prints.

use std::io::{ErrorKind, Write};
use std::os::unix::fs::{PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use nix::unistd::geteuid;

use crate::support::children::write_executable;

/// Account of hooks and jobs if the test runs as root.
const NOBODY: u32 = 65534;

/// Runs a line of bash in a directory, with the programs in PATH. With `as_nobody`, runs it as the account `nobody`.
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

/// Creates a directory with hooks and a configuration that `nobody` can also use.
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

/// True if another account can execute the programs and enter their directories.
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
        assert!(!ad.contains("\nIwd") && !ad.contains("/execute"), "a path of a deleted directory: {ad}");
        // The final ad of the first run is the input of the second one.
        let line =
            "sed /^JobState/d ended.ad | htc-starter-run -q | htc-classad-eval --ads - -af ExitCode Iwd Cmd";
        let Output { status, stdout, stderr } = run(line, home.path(), *as_nobody);
        let (out, err) = (String::from_utf8_lossy(&stdout), String::from_utf8_lossy(&stderr));
        assert_eq!((status.code(), out.as_ref()), (Some(0), "0 undefined /bin/sh\n"), "{err}");
    }
}

#[test]
fn directories_of_the_ad_are_kept_and_those_of_the_starter_are_not() {
    let home = prepared_directory();
    let long = home.path().join("tools");
    std::fs::create_dir(&long).unwrap();
    write_executable(&home.path().join("tools/job"), b"#!/bin/sh\nexit 3\n");
    let common = "ProcId = 0\nClusterId = 1\nOwner = \"nobody\"\n";
    let given = format!("{common}Cmd = \"job\"\nIwd = \"{}\"\n", long.display());
    std::fs::write(home.path().join("given.ad"), &given).unwrap();
    std::fs::write(home.path().join("none.ad"), format!("{common}Cmd = \"/bin/false\"\n")).unwrap();
    std::fs::write(home.path().join("relative.ad"), format!("{common}Cmd = \"job\"\n")).unwrap();
    write_executable(
        &home.path().join("prepare"),
        b"#!/bin/sh\ncat >/dev/null\nprintf '#!/bin/sh\\nexit 4\\n' >job; chmod +x job\n",
    );
    for (line, expected) in [
        (
            "htc-starter-run -q --ads given.ad || true",
            "Iwd = \"HOME/tools\" Cmd = \"HOME/tools/job\" ExitCode = 3",
        ),
        ("htc-starter-run -q --ads none.ad || true", "Cmd = \"/bin/false\" ExitCode = 1"),
        ("htc-hook-test prepare ./prepare -q --ads relative.ad", "Cmd = \"job\""),
        (
            "htc-starter-run -q --param STARTER_JOB_HOOK_KEYWORD=X --param X_HOOK_PREPARE_JOB=$PWD/prepare --ads relative.ad || true",
            "Cmd = \"job\" ExitCode = 4",
        ),
    ] {
        let Output { stdout, stderr, .. } = run(line, home.path(), false);
        let text = String::from_utf8_lossy(&stdout).replace(&home.path().display().to_string(), "HOME");
        let kept: Vec<&str> = ["Iwd = ", "Cmd = ", "ExitCode = "]
            .iter()
            .filter_map(|name| text.lines().find(|line| line.starts_with(name)))
            .collect();
        assert_eq!(kept.join(" "), expected, "{line}: {}{text}", String::from_utf8_lossy(&stderr));
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

#[test]
fn the_use_of_a_built_in_ad_is_the_first_line() {
    let home = prepared_directory();
    let first_line = |line: &str| {
        let Output { stderr, .. } = run(&format!("{line} </dev/null"), home.path(), false);
        String::from_utf8_lossy(&stderr).lines().next().unwrap_or_default().to_owned()
    };
    for (verb, ad) in
        [("prepare", "built-in job"), ("exit", "built-in job"), ("fetch", "built-in slot 'static'")]
    {
        let line = first_line(&format!("htc-hook-test {verb} ./prepare"));
        assert!(line.contains(ad), "{verb}: {line}");
    }
    let line = "htc-hook-test prepare ./prepare --sample-job vanilla";
    assert!(!first_line(line).contains("built-in"), "{line}");
    for (line, ad) in [
        ("htc-hook-test prepare ./prepare -q", "built-in job 'vanilla'"),
        ("htc-hook-test startd-cron ./prepare -q", "built-in slot 'slot1@node1.example.org'"),
        ("htc-hook-test schedd-cron ./prepare -q", "built-in schedd 'node1.example.org'"),
    ] {
        assert!(first_line(line).contains(ad), "{line}: {}", first_line(line));
    }
    std::fs::write(home.path().join("slot.ad"), "Name = \"slot1\"\nSlotID = 1\n").unwrap();
    let line = "htc-hook-test startd-cron ./prepare -q --slot-ads slot.ad";
    assert!(!first_line(line).contains("built-in"), "{line}");
}

/// Creates a directory for pipelines of all seven programs: a queue of five jobs, a router, hooks, and a configuration for both
/// daemons.
fn seven_programs_directory() -> tempfile::TempDir {
    let home = prepared_directory();
    let place = home.path();
    let jobs: String = (1..=5)
        .map(|id| format!("ClusterId = {id}\nProcId = 0\nJobUniverse = 5\nJobStatus = 1\nOwner = \"nobody\"\nQDate = {id}\nCmd = \"/bin/sh\"\nArguments = \"-c true\"\n\n"))
        .collect();
    std::fs::write(place.join("jobs.ads"), jobs).unwrap();
    std::fs::write(place.join("r.xfm"), "SET Transformed true\n").unwrap();
    std::fs::write(
        place.join("router.conf"),
        "JOB_ROUTER_ROUTE_NAMES = R\nJOB_ROUTER_ROUTE_R @=e\nUNIVERSE vanilla\nREQUIREMENTS true\nMaxIdleJobs = 10\n@e\n",
    )
    .unwrap();
    // The execution point and the router use the same queue. Each routed copy is fetched once and replaced by its final ad.
    let fetch = "#!/bin/sh\ncat >/dev/null\ncd \"$(dirname \"$0\")\"\nfor job in q/*.ad; do\n  grep -q '^RouteName' \"$job\" || continue\n  \
        mkdir \"taken/${job##*/}\" 2>/dev/null || continue\n  exec cat \"$job\"\ndone\n";
    let exit = "#!/bin/sh\ncd \"$(dirname \"$0\")\"\ncat >\"ends/$$\"\nname=$(sed -n 's/^ClusterId = //p' \"ends/$$\").$(sed -n 's/^ProcId = //p' \"ends/$$\").ad\n\
        sed '/^JobStatus = /d' \"ends/$$\" >\"ends/$$.new\"\necho 'JobStatus = 4' >>\"ends/$$.new\"\nmv \"ends/$$.new\" \"q/$name\"\n";
    write_executable(&place.join("take"), fetch.as_bytes());
    write_executable(&place.join("finish"), exit.as_bytes());
    write_executable(&place.join("reply"), b"#!/bin/sh\ncat >/dev/null\n");
    let config = format!(
        "EXECUTE = {0}/execute\nLOG = {0}/log\nNUM_CPUS = 2\nNUM_SLOTS = 2\nSTARTD_JOB_HOOK_KEYWORD = Q\nQ_HOOK_FETCH_WORK = {0}/take\n\
         Q_HOOK_PREPARE_JOB = {0}/prepare\nQ_HOOK_JOB_EXIT = {0}/finish\nFetchWorkDelay = 0\n",
        place.display()
    );
    std::fs::write(place.join("condor_config"), config).unwrap();
    for name in ["q", "taken", "ends"] {
        std::fs::create_dir(place.join(name)).unwrap();
        std::fs::set_permissions(place.join(name), std::fs::Permissions::from_mode(0o777)).unwrap();
    }
    home
}

/// Runs lines of bash that use all seven programs, as root and as an ordinary account.
fn run_with_seven_programs(lines: &[(&str, &str)]) {
    let all: String = lines.iter().map(|line| line.0).collect();
    for program in htc_hooks::cli::PROGRAMS {
        assert!(all.contains(program.name), "{}", program.name);
    }
    let accounts: &[bool] = if can_switch_account() { &[false, true] } else { &[false] };
    for as_nobody in accounts {
        let home = seven_programs_directory();
        if *as_nobody {
            chown(home.path(), Some(NOBODY), Some(NOBODY)).unwrap();
        }
        for (line, expected) in lines {
            let Output { status, stdout, stderr } = run(line, home.path(), *as_nobody);
            let (out, err) = (String::from_utf8_lossy(&stdout), String::from_utf8_lossy(&stderr));
            assert_eq!((status.code(), out.as_ref()), (Some(0), *expected), "{line}, {as_nobody}: {err}");
        }
    }
}

/// A queue is routed, hooks fetch and run the routed copies, and all jobs end in the history.
#[test]
fn a_queue_goes_through_a_router_and_an_execution_point() {
    run_with_seven_programs(&[
        ("htc-config-dump --hooks | grep -c -e take -e finish", "2\n"),
        ("htc-classad-eval --ads jobs.ads --sort -QDate -af ClusterId | tr '\\n' ' '", "5 4 3 2 1 "),
        (
            "htc-router-translate route --config-file router.conf --limit 1 jobs.ads | htc-hook-test prepare ./prepare -q \
             | htc-starter-run -q --param STARTER_JOB_HOOK_KEYWORD= | htc-classad-eval --ads - -af RouteName Prepared ExitCode",
            "R true 0\n",
        ),
        ("htc-slot-run ads --limit 1 | htc-classad-eval --ads - -af SlotID", "1\n"),
        ("htc-slot-run explain --ads jobs.ads --csv | grep -c ',true,'", "10\n"),
        (
            "for id in 1 2 3 4 5; do htc-classad-eval --ads jobs.ads -c \"ClusterId == $id\" -long >q/$id.0.ad; done; \
             htc-router-translate run --once -q --queue q --config-file router.conf; chmod a+rw q/*.ad; htc-router-status queue q --count-by RouteName",
            "5 R\n",
        ),
        (
            "htc-slot-run --once -q; htc-router-status queue q --count-by RouteName --count-by JobStatus",
            "5 R 4\n",
        ),
        (
            "htc-router-translate run --idle-exit 2 --period 1 -q --queue q --config-file router.conf; htc-router-status history q --count-by RouteName",
            "5 R\n",
        ),
        ("htc-router-status doctor -q q || true", ""),
    ]);
}

/// A fetch hook is called from bash, one job at a time.
#[test]
fn a_fetched_job_goes_through_seven_programs_in_a_row() {
    run_with_seven_programs(&[
        ("test \"$(htc-config-dump FetchWorkDelay)\" = 0", ""),
        (
            "htc-slot-run ads --limit 1 | htc-hook-test fetch ./fetch -q | tee fetched.ad | htc-router-translate transform -r r.xfm - \
             | htc-starter-run -q --param STARTER_JOB_HOOK_KEYWORD= | htc-classad-eval --ads - -c 'ExitCode == 0' -long \
             | htc-router-status - --af=ClusterId,JobStatus,RouteName,Transformed",
            "7 4 R true\n",
        ),
        ("htc-hook-test reply ./reply accept -q --ads fetched.ad >/dev/null", ""),
    ]);
}

/// With `sudo -u`, standard input is a pipe of another account, which cannot be opened by its path.
#[test]
fn a_pipe_of_another_account_is_read() {
    if !geteuid().is_root() {
        println!("skipped: not root");
        return;
    }
    for words in [&["lint", "-"][..], &["--config-file", "-", "NUM_CPUS"]] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_htc-config-dump"));
        command.args(words).env_clear().current_dir("/").uid(NOBODY).gid(NOBODY);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = match command.spawn() {
            Ok(child) => child,
            Err(error) if error.kind() == ErrorKind::PermissionDenied => {
                println!("skipped: other accounts cannot read the directory of the programs");
                return;
            }
            Err(error) => panic!("{error}"),
        };
        child.stdin.take().unwrap().write_all(b"NUM_CPUS = four\n").unwrap();
        let output = child.wait_with_output().unwrap();
        let text = String::from_utf8_lossy(&output.stdout);
        assert!(text.contains("four"), "{words:?}: {text}{}", String::from_utf8_lossy(&output.stderr));
    }
}
