//! Tests of `htc-starter-run --as shadow`: file transfer in both directions, plugins, policies, and malicious jobs.

use crate::support::place::{Place, RunResult, read_fifo, send, shell};
use nix::sys::signal::Signal;
use std::fs;
use std::io::Write;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};

/// Attributes that all jobs in these tests have.
const FILES: &str = "ShouldTransferFiles = \"YES\"\nWhenToTransferOutput = \"ON_EXIT\"\nTransferExecutable = false\n\
                     StreamOut = false\nStreamErr = false\nOut = \"out\"\nErr = \"err\"\nUserLog = \"log\"";

pub(super) fn place() -> Place {
    Place::new().option(&["--as", "shadow"])
}

/// Creates a file that belongs to the job's owner.
pub(super) fn give(place: &Place, name: &str, text: &str) {
    fs::write(place.path("iwd").join(name), text).unwrap();
    place.chown_to_nobody(&format!("iwd/{name}"));
}

pub(super) fn got(place: &Place, name: &str) -> String {
    fs::read_to_string(place.path("iwd").join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

pub(super) fn run(place: &Place, script: &str, more: &str) -> RunResult {
    place.run(&format!("{}\n{FILES}\n{more}", shell(script)))
}

/// Returns the numbers of the events in the job's log, without 006, which depends on timing.
fn events(place: &Place) -> Vec<String> {
    let log = got(place, "log");
    let starts = log.lines().filter(|line| line.get(3..5) == Some(" ("));
    starts.map(|line| line[..3].to_owned()).filter(|number| number != "006").collect()
}

pub(super) fn assert_held(run: &RunResult, code: i64, subcode: i64) {
    assert!(run.has("JobStatus = 5"), "{}\n{}", run.ad, run.stderr);
    assert!(run.has(&format!("HoldReasonCode = {code}")), "{}", run.ad);
    assert!(run.has(&format!("HoldReasonSubCode = {subcode}")), "{}", run.ad);
    assert!(run.left.is_empty(), "{:?}", run.left);
}

#[test]
fn transferred_files_keep_their_modes_and_the_log_records_the_transfer() {
    let place = place();
    give(&place, "a b", "alpha\n");
    fs::set_permissions(place.path("iwd/a b"), fs::Permissions::from_mode(0o640)).unwrap();
    fs::create_dir_all(place.path("iwd/d/sub")).unwrap();
    give(&place, "d/sub/x", "deep\n");
    place.chown_to_nobody("iwd/d/sub");
    place.chown_to_nobody("iwd/d");
    symlink("a b", place.path("iwd/link")).unwrap();
    let result = run(
        &place,
        "stat -c %a \"a b\"; cat d/sub/x link; echo new > o; chmod 751 o; nl=$(printf \"\\012x\"); printf x > \"new${nl%x}line\"; mkdir k; ln -s nowhere n",
        "TransferInput = \"a b, d, link\"",
    );
    assert_eq!(result.status, 0, "{}\n{}", result.stderr, result.ad);
    assert_eq!(got(&place, "out"), "640\ndeep\nalpha\n");
    assert_eq!((got(&place, "o").as_str(), got(&place, "new\nline").as_str()), ("new\n", "x"));
    assert_eq!(fs::metadata(place.path("iwd/o")).unwrap().permissions().mode() & 0o777, 0o751);
    assert!(!place.path("iwd/k").exists() && !place.path("iwd/n").exists());
    assert_eq!(events(&place), ["000", "040", "040", "001", "040", "040", "005"]);
    for line in ["JobStatus = 4", "ExitCode = 0", "NumJobStarts = 1", "NumJobCompletions = 1"] {
        assert!(result.has(line), "{line} in\n{}", result.ad);
    }
    assert!(result.left.is_empty(), "{:?}", result.left);
}

#[test]
fn output_is_written_to_a_new_private_directory() {
    let mode = |place: &Place, name: &str| {
        fs::metadata(place.path("iwd").join(name)).unwrap().permissions().mode() & 0o777
    };
    let place = place();
    let script = "echo 1 > a; echo 2 > b; echo said";
    let remaps = "TransferOutput = \"a, b\"\nTransferOutputRemaps = \"a = made/deep/a\"";
    let result = run(&place, script, remaps);
    assert_eq!(result.status, 0, "{}\n{}", result.stderr, result.ad);
    assert_eq!((got(&place, "made/deep/a").as_str(), got(&place, "b").as_str()), ("1\n", "2\n"));
    assert_eq!((mode(&place, "made"), mode(&place, "made/deep")), (0o700, 0o700));
    // With OutputDirectory, all output goes to that directory, including standard output and remapped files.
    let result = run(&place, script, &format!("{remaps}\nOutputDirectory = \"results/today\""));
    assert_eq!(result.status, 0, "{}\n{}", result.stderr, result.ad);
    for (name, text) in [("made/deep/a", "1\n"), ("b", "2\n"), ("out", "said\n")] {
        assert_eq!(got(&place, &format!("results/today/{name}")), text);
    }
    assert_eq!((mode(&place, "results"), mode(&place, "results/today")), (0o700, 0o700));
    let result = run(&place, script, "OutputDirectory = \"b/today\"");
    assert_held(&result, 12, 20);
    let reason = "failed to create output directory (";
    assert!(
        result.ad.contains(reason) && result.ad.contains("/b/today): Not a directory (errno 20)"),
        "{}",
        result.ad
    );
}

#[test]
fn a_failed_transfer_holds_the_job_with_the_references_reason() {
    let place = place();
    let result = run(&place, "true", "TransferInput = \"nosuch\"");
    assert_held(&result, 13, 2);
    assert!(result.ad.contains("while sending files to execution point slot1@"), "{}", result.ad);
    // 25.14 tries to transfer standard output and error, which do not exist.
    assert_eq!(events(&place), ["000", "040", "040", "040", "040", "021", "004", "012"]);
    assert!(got(&place, "log").contains("Started transferring output files"));
    assert!(!result.stderr.contains("could not be kept"), "{}", result.stderr);
    for line in [
        "NumOutputTransferStarts = 1",
        "ExecuteDirWasEncrypted = false",
        "TransferInputFileCounts = [ CEDAR = 1 ]",
    ] {
        assert!(result.has(line), "{line}: {}", result.ad);
    }
    assert!(result.ad.contains("TransferOutputStats = [ CedarFilesCountTotal = 2;"), "{}", result.ad);
    assert!(!place.path("iwd/out").exists());
    let place = self::place();
    let result = run(&place, "echo 1 > o1", "TransferOutput = \"o1, nosuch\"");
    assert_held(&result, 12, 2);
    assert_eq!(got(&place, "o1"), "1\n", "what is there comes back");
    let place = self::place();
    let result = run(
        &place,
        "mkdir o; echo 1 > o/x",
        "TransferOutput = \"o/x\"\nTransferOutputRemaps = \"x = y ; y = x\"",
    );
    assert_held(&result, 12, 1);
    assert!(result.ad.contains("remaps resulted in a cycle"), "{}", result.ad);
}

#[test]
fn transfers_stay_in_the_jobs_directory_and_permissions() {
    let place = place();
    fs::write(place.path("secret"), "secret\n").unwrap();
    fs::set_permissions(place.path("secret"), fs::Permissions::from_mode(0o600)).unwrap();
    let outside = place.path("outside");
    fs::create_dir(&outside).unwrap();
    let secret = place.path("secret");
    let script = format!(
        "ln -s {} l; ln -s /etc/hostname h; mkfifo p; mkdir locked; echo x > locked/y; chmod 0 locked; \
         ln -s {} dir; python3 -c \"import socket; socket.socket(socket.AF_UNIX).bind(\\\"s\\\")\" 2>/dev/null; ln -s p q; \
         ln -s /dev/zero z",
        secret.display(),
        outside.display()
    );
    let result = run(&place, &script, "");
    // Only root could read the file, and the starter never reads a job's file as root.
    if nix::unistd::geteuid().is_root() {
        assert_held(&result, 12, 13);
        assert_eq!(got(&place, "l"), "", "the place of what could not be read");
    }
    assert_eq!(got(&place, "h"), fs::read_to_string("/etc/hostname").unwrap());
    assert_eq!(fs::metadata(place.path("iwd/z")).unwrap().len(), 0, "a device is no endless file");
    for name in ["p", "q", "s", "locked", "dir"] {
        assert!(place.path("iwd").join(name).symlink_metadata().is_err(), "{name}");
    }
    assert_eq!(fs::read_dir(&outside).unwrap().count(), 0);
    for entry in fs::read_dir(place.path("iwd")).unwrap().flatten() {
        assert_eq!(
            entry.metadata().unwrap().uid(),
            fs::metadata(place.path("iwd")).unwrap().uid(),
            "{entry:?}"
        );
    }
    assert!(result.left.is_empty(), "{:?}", result.left);
    // A listed name that leads outside of the directory is stored under its last part, and never above Iwd.
    let place = self::place();
    let result = run(&place, "true", "TransferOutput = \"..\"");
    assert!(result.has("JobStatus = 5"), "{}", result.ad);
    assert!(!place.path("dir_0").exists());
}

/// Virtual environments contain links of this kind.
#[test]
fn dangling_and_circular_links_in_directories_are_skipped() {
    let place = place();
    fs::create_dir(place.path("iwd/t")).unwrap();
    give(&place, "t/f", "beside\n");
    symlink("nowhere", place.path("iwd/t/dangling")).unwrap();
    symlink("circle", place.path("iwd/t/circle")).unwrap();
    place.chown_to_nobody("iwd/t");
    let script = "ls t; mkdir o; echo made > o/f; ln -s nowhere o/dangling; ln -s circle o/circle";
    let result = run(&place, script, "TransferInput = \"t\"\nTransferOutput = \"o\"");
    assert_eq!(result.status, 0, "{}\n{}", result.stderr, result.ad);
    assert!(result.has("JobStatus = 4"), "{}", result.ad);
    assert_eq!((got(&place, "out").as_str(), got(&place, "o/f").as_str()), ("f\n", "made\n"));
    assert_eq!(fs::read_dir(place.path("iwd/o")).unwrap().count(), 1);
    for name in ["/t/dangling", "/t/circle", "/o/dangling", "/o/circle"] {
        assert!(
            result.stderr.contains(&format!("{name}' is a link to a missing file: it is not transferred")),
            "{}",
            result.stderr
        );
    }
    // A missing file that the job names explicitly is an error.
    let place = self::place();
    symlink("nowhere", place.path("iwd/dangling")).unwrap();
    let result = run(&place, "true", "TransferInput = \"dangling\"");
    assert_held(&result, 13, 2);
}

/// In an emulated queue, common files are not shared between jobs.
#[test]
fn common_input_files_are_transferred_as_input() {
    let place = place();
    give(&place, "common", "for all\n");
    give(&place, "own", "for one\n");
    let result = run(&place, "cat common own", "TransferInput = \"own\"\nCommonInputFiles = \"common\"");
    assert_eq!(result.status, 0, "{}\n{}", result.stderr, result.ad);
    assert_eq!(got(&place, "out"), "for all\nfor one\n");
    assert!(result.has("TransferInputFileCounts = [ CEDAR = 2 ]"), "{}", result.ad);
    // Each catalog is the name of a list of files.
    let catalogs = "CommonInputCatalogs = \"A B\"\n_x_catalog_A = \"common\"\n_x_catalog_B = \"own\"";
    let result = run(&place, "cat common own", catalogs);
    assert_eq!(result.status, 0, "{}\n{}", result.stderr, result.ad);
    assert_eq!(got(&place, "out"), "for all\nfor one\n");
}

#[test]
fn a_dag_job_has_two_logs_and_its_batch_and_node_in_event_000() {
    let place = place();
    let more = "JobBatchName = \"my batch\"\nSubmitEventNotes = \"not in text\"\nDAGManNodesLog = \"nodes\"\n\
                DAGManNodesMask = \"0,5\"";
    let result = run(&place, "true", more);
    assert_eq!(result.status, 0, "{}\n{}", result.stderr, result.ad);
    let log = got(&place, "log");
    assert!(log.contains("\n    [ JobBatchName = \"my batch\" ]\n...\n"), "{log}");
    assert!(!log.contains("not in text"), "{log}");
    let nodes = got(&place, "nodes");
    let starts: Vec<&str> = nodes.lines().filter(|line| line.get(3..5) == Some(" (")).collect();
    let numbers: Vec<&str> = starts.iter().map(|line| &line[..3]).collect();
    assert_eq!(numbers, ["000", "005"], "{nodes}");
    assert!(starts.iter().all(|line| log.contains(line)), "{nodes}");

    // Without DAGManNodesMask, the log of the DAG has all events; it is the job's only log if there is no other.
    let place = self::place();
    let files = FILES.replace("UserLog", "DAGManNodesLog");
    let more = "DAGNodeName = \"NodeA\"\nSubmitEventUserNotes = \"by hand\"";
    let result = place.run(&format!("{}\n{files}\n{more}", shell("true")));
    assert_eq!(result.status, 0, "{}\n{}", result.stderr, result.ad);
    assert_eq!(events(&place), ["000", "040", "040", "001", "040", "040", "005"]);
    let first = "\n    [ DAGNodeName = \"NodeA\" ]\n    by hand\n...\n";
    assert!(got(&place, "log").contains(first), "{}", got(&place, "log"));
}

#[test]
fn a_listed_directory_that_cannot_be_read_is_reported() {
    let place = place();
    let result = run(&place, "mkdir d; echo x > d/y; chmod 0 d", "TransferOutput = \"d\"");
    if nix::unistd::geteuid().is_root() {
        assert!(result.stderr.contains("cannot read the directory"), "{}", result.stderr);
    }
    assert!(result.left.is_empty(), "{:?}", result.left);
}

#[test]
fn a_sparse_file_of_ten_gigabytes_exceeds_the_transfer_limit() {
    let place = place();
    let result = run(&place, "truncate -s 10G big; echo x > zz", "MaxTransferOutputMB = 1");
    assert_held(&result, 33, 0);
    assert!(
        result.ad.contains("max total download bytes exceeded (max=1 MB, this file=10240 MB)"),
        "{}",
        result.ad
    );
    let big = fs::metadata(place.path("iwd/big")).unwrap();
    assert_eq!(big.len(), 1 << 20);
    let place = self::place();
    let result = run(&place, "truncate -s 10G big; echo end >> big", "");
    assert_eq!(result.status, 0, "{}", result.ad);
    let big = fs::metadata(place.path("iwd/big")).unwrap();
    assert_eq!(big.len(), (10 << 30) + 4);
    assert!(big.blocks() < 1 << 20, "holes stay holes: {} blocks", big.blocks());
}

#[test]
fn a_job_with_checkpoints_continues_from_the_last_one() {
    let place = place();
    let script = "if [ -f ck ]; then cat ck; else echo first > ck; exit 85; fi";
    let more = "WantFTOnCheckpoint = true\nSuccessCheckpointExitCode = 85\nTransferCheckpoint = \"ck\"";
    let result = run(&place, script, more);
    assert_eq!(result.status, 0, "{}\n{}", result.stderr, result.ad);
    assert_eq!(got(&place, "out"), "first\n");
    assert_eq!(events(&place), ["000", "040", "040", "001", "040", "040", "040", "040", "005"]);
    let result = run(&place, script, &more.replace("\"ck\"", "\"nosuch\""));
    assert_held(&result, 36, -1);
}

#[test]
fn policy_runs_a_job_again_holds_it_and_removes_it() {
    let place = place().option(&["--until", "done"]);
    let retries = "JobMaxRetries = 2\nOnExitRemove = NumJobCompletions > JobMaxRetries || ExitCode =?= 0";
    let result = run(&place, "exit 3", retries);
    assert_eq!(result.status, 1);
    assert!(result.has("JobStatus = 4") && result.has("NumJobCompletions = 3"), "{}", result.ad);
    let again = events(&place).iter().filter(|event| *event == "004").count();
    assert_eq!(again, 2);
    let place = self::place();
    let result = run(
        &place,
        "exit 3",
        "OnExitHold = ExitCode == 3\nOnExitHoldReason = \"three\"\nOnExitHoldSubCode = 7",
    );
    assert_held(&result, 3, 7);
    assert!(result.has("HoldReason = \"three\""), "{}", result.ad);
    let place = self::place().parameter("PERIODIC_EXPR_INTERVAL = 1");
    let result = run(&place, "sleep 600", "PeriodicRemove = JobCurrentStartExecutingDate > 0");
    assert!(result.has("JobStatus = 3"), "{}", result.ad);
    assert_eq!(events(&place), ["000", "040", "040", "001", "009"]);
    let result = run(&place, "sleep 600", "PeriodicHold = JobStatus == 2");
    assert_held(&result, 3, 0);
}

#[test]
fn both_hooks_before_the_input_are_called_at_the_right_time() {
    let place = place()
        .hook("SHADOW_PREPARE_JOB", "cat >/dev/null; echo shadow >> $CALLS; echo FromShadow = 1")
        .hook("PREPARE_JOB_BEFORE_TRANSFER", "grep -c FromShadow >> $CALLS; ls >> $CALLS; echo Before = 2")
        .hook("PREPARE_JOB", "grep -c Before >> $CALLS; ls | grep -v log >> $CALLS")
        .parameter("SHADOW_DEFAULT_JOB_HOOK_KEYWORD = FARM");
    give(&place, "calls", "");
    give(&place, "in", "x\n");
    let result = run(&place, "true", "TransferInput = \"in\"");
    assert_eq!(result.status, 0, "{}\n{}", result.stderr, result.ad);
    assert_eq!(result.calls, "shadow\n1\n1\nin\n");
    let place = self::place()
        .hook("SHADOW_PREPARE_JOB", "cat >/dev/null; exit 7")
        .parameter("SHADOW_DEFAULT_JOB_HOOK_KEYWORD = FARM");
    let result = run(&place, "true", "");
    assert_held(&result, 48, 7);
}

#[test]
fn a_running_job_that_must_end_is_evicted_and_leaves_nothing() {
    let place = place();
    let pipe = place.pipe();
    let child = place.start(&format!("{}\n{FILES}", shell(&format!("echo > {}; sleep 600", pipe.display()))));
    read_fifo(&pipe);
    send(&child, Signal::SIGTERM);
    let run = place.finish(child);
    assert_eq!(run.status, 1, "{}", run.stderr);
    assert!(run.has("JobStatus = 1") && run.has("VacateReasonCode = 1005"), "{}", run.ad);
    assert!(run.left.is_empty(), "{:?}", run.left);
}

#[test]
fn the_local_universe_has_its_policy_and_transfers_nothing() {
    let place = Place::new().option(&["--as", "local"]);
    let result = run(&place, "pwd; exit 3", "JobUniverse = 12\nOnExitHold = ExitCode == 3");
    assert_held(&result, 3, 0);
    assert_eq!(got(&place, "out").trim(), place.path("iwd").to_str().unwrap());
    assert_eq!(events(&place), ["000", "001", "004", "012"]);
    let result = run(&place, "true", "JobUniverse = 5");
    assert_eq!(result.status, 3, "{}", result.stderr);
    assert!(result.stderr.contains("--as local needs JobUniverse = 12"), "{}", result.stderr);
}

#[test]
fn a_fetched_job_transfers_nothing_and_reports_it() {
    let place = Place::new();
    give(&place, "a", "x");
    let result = run(&place, "pwd", "TransferInput = \"a\"");
    assert_eq!(result.status, 0, "{}", result.stderr);
    assert!(
        result.stderr.contains("TransferInput") && result.stderr.contains("unsupported here"),
        "{}",
        result.stderr
    );
}

#[test]
fn root_writes_no_log_for_an_ad_without_another_account() {
    if !nix::unistd::geteuid().is_root() {
        return;
    }
    for user in ["", "User = \"root@example.org\"\n"] {
        let place = place();
        let log = place.path("outside.log");
        let ad = format!(
            "Cmd = \"/bin/true\"\nIwd = \"/\"\n{user}{}",
            FILES.replace("\"log\"", &format!("{log:?}"))
        );
        let child = place.command().stdin(std::process::Stdio::piped()).spawn().map(|mut child| {
            child.stdin.take().unwrap().write_all(ad.as_bytes()).unwrap();
            child
        });
        let run = place.finish(child.unwrap());
        assert_eq!(run.status, 3, "{}", run.stderr);
        assert!(run.stderr.contains("the job is not run") && run.stderr.contains("hint: "), "{}", run.stderr);
        assert!(!log.exists() && run.ad.is_empty(), "{}", run.ad);
    }
}

#[test]
fn kept_files_of_an_evicted_job_without_a_next_run_are_named() {
    let place = place();
    let pipe = place.pipe();
    let script = format!("echo half > state; echo > {}; sleep 600", pipe.display());
    let files = FILES.replace("ON_EXIT", "ON_EXIT_OR_EVICT");
    let child = place.start(&format!("{}\n{files}", shell(&script)));
    read_fifo(&pipe);
    send(&child, Signal::SIGTERM);
    let run = place.finish(child);
    assert!(run.has("JobStatus = 1"), "{}", run.ad);
    assert!(
        run.stderr.contains("kept for its next run are removed") && run.stderr.contains("\"state\""),
        "{}",
        run.stderr
    );
}

#[test]
fn standard_error_of_shadow_prepare_job_is_reported() {
    let place = place()
        .hook("SHADOW_PREPARE_JOB", "cat >/dev/null; echo no quota left >&2")
        .parameter("SHADOW_DEFAULT_JOB_HOOK_KEYWORD = FARM");
    let result = run(&place, "true", "");
    assert!(result.stderr.contains("it printed on standard error: no quota left"), "{}", result.stderr);
}

/// As in `dollarDollarExpand` of the schedd, the job and SHADOW_PREPARE_JOB get the values of the slot ad, and the queue keeps
/// the original text.
#[test]
fn slot_references_are_replaced_for_the_run_only() {
    let place = place();
    let slot = place.path("slot.ad");
    fs::write(&slot, "Cpus = 2\nArch = \"X86_64\"\nMachineResources = \"Cpus\"\n").unwrap();
    let place = place.option(&["--slot-ads", slot.to_str().unwrap()]);
    let job = format!(
        "{FILES}\n{}\nEnvironment = \"WHERE=$$(Arch:none).$$([TARGET.Cpus * 2]) ELSE=$$(Nope:none)\"",
        shell("echo $WHERE $ELSE > told")
    );
    let run = place.run(&job);
    assert_eq!(got(&place, "told"), "X86_64.4 none\n", "{}", run.stderr);
    assert!(
        run.has("Environment = \"WHERE=$$(Arch:none).$$([TARGET.Cpus * 2]) ELSE=$$(Nope:none)\""),
        "{}",
        run.ad
    );
    assert!(run.has("MATCH_Arch = \"X86_64\"") && run.has("MATCH_Nope = \"none\""), "{}", run.ad);
    assert!(run.has("MATCH_EXP_Environment = \"WHERE=X86_64.4 ELSE=none\""), "{}", run.ad);
    let run = place.option(&["--until", "held"]).run(&format!("{job}\nNotes = \"$$(Nope)\""));
    assert!(run.has("HoldReason = \"Cannot expand $$ expression (Nope).\""), "{}{}", run.ad, run.stderr);
}

#[test]
fn standard_file_times_are_in_the_final_update_only() {
    let has = |result: &RunResult, name: &str| result.ad.contains(&format!("\n{name} = "));
    let result = run(&place(), "echo x > a", "TransferOutput = \"a\"");
    assert!(has(&result, "StdoutMtime") && has(&result, "ScratchDirFileCount"), "{}", result.ad);

    // In 25.14, the queue has no times of a job that is held because its output could not be transferred.
    let result = run(&place(), "echo x > a", "TransferOutput = \"a,gone\"");
    assert_held(&result, 12, 2);
    assert!(!has(&result, "StdoutMtime") && !has(&result, "StderrMtime"), "{}", result.ad);
    assert!(has(&result, "ScratchDirFileCount"), "{}", result.ad);

    // If a checkpoint could not be uploaded, the starter reports nothing at all.
    let result = run(
        &place(),
        "exit 85",
        "SuccessCheckpointExitCode = 85\nWantFTOnCheckpoint = true\nTransferCheckpoint = \"gone\"",
    );
    assert!(result.has("JobStatus = 5"), "{}\n{}", result.ad, result.stderr);
    for name in ["StdoutMtime", "ScratchDirFileCount", "ExecuteDirWasEncrypted"] {
        assert!(!has(&result, name), "{name} in\n{}", result.ad);
    }
}
