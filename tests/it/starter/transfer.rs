//! Tests of `htc-starter-run --as shadow`: file transfer in both directions, plugins, policies, and malicious jobs.

use crate::support::place::{Place, Ran, heard, send, shell};
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
    place.give(&format!("iwd/{name}"));
}

pub(super) fn got(place: &Place, name: &str) -> String {
    fs::read_to_string(place.path("iwd").join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

pub(super) fn run(place: &Place, script: &str, more: &str) -> Ran {
    place.run(&format!("{}\n{FILES}\n{more}", shell(script)))
}

/// Returns the numbers of the events in the job's log, without 006, which depends on timing.
fn events(place: &Place) -> Vec<String> {
    let log = got(place, "log");
    let starts = log.lines().filter(|line| line.get(3..5) == Some(" ("));
    starts.map(|line| line[..3].to_owned()).filter(|number| number != "006").collect()
}

pub(super) fn assert_held(ran: &Ran, code: i64, subcode: i64) {
    assert!(ran.has("JobStatus = 5"), "{}\n{}", ran.ad, ran.told);
    assert!(ran.has(&format!("HoldReasonCode = {code}")), "{}", ran.ad);
    assert!(ran.has(&format!("HoldReasonSubCode = {subcode}")), "{}", ran.ad);
    assert!(ran.left.is_empty(), "{:?}", ran.left);
}

#[test]
fn transferred_files_keep_their_modes_and_the_log_records_the_transfer() {
    let place = place();
    give(&place, "a b", "alpha\n");
    fs::set_permissions(place.path("iwd/a b"), fs::Permissions::from_mode(0o640)).unwrap();
    fs::create_dir_all(place.path("iwd/d/sub")).unwrap();
    give(&place, "d/sub/x", "deep\n");
    place.give("iwd/d/sub");
    place.give("iwd/d");
    symlink("a b", place.path("iwd/link")).unwrap();
    let ran = run(
        &place,
        "stat -c %a \"a b\"; cat d/sub/x link; echo new > o; chmod 751 o; nl=$(printf \"\\012x\"); printf x > \"new${nl%x}line\"; mkdir k; ln -s nowhere n",
        "TransferInput = \"a b, d, link\"",
    );
    assert_eq!(ran.status, 0, "{}\n{}", ran.told, ran.ad);
    assert_eq!(got(&place, "out"), "640\ndeep\nalpha\n");
    assert_eq!((got(&place, "o").as_str(), got(&place, "new\nline").as_str()), ("new\n", "x"));
    assert_eq!(fs::metadata(place.path("iwd/o")).unwrap().permissions().mode() & 0o777, 0o751);
    assert!(!place.path("iwd/k").exists() && !place.path("iwd/n").exists());
    assert_eq!(events(&place), ["000", "040", "040", "001", "040", "040", "005"]);
    for line in ["JobStatus = 4", "ExitCode = 0", "NumJobStarts = 1", "NumJobCompletions = 1"] {
        assert!(ran.has(line), "{line} in\n{}", ran.ad);
    }
    assert!(ran.left.is_empty(), "{:?}", ran.left);
}

#[test]
fn output_is_written_to_a_new_private_directory() {
    let mode = |place: &Place, name: &str| {
        fs::metadata(place.path("iwd").join(name)).unwrap().permissions().mode() & 0o777
    };
    let place = place();
    let script = "echo 1 > a; echo 2 > b; echo said";
    let remaps = "TransferOutput = \"a, b\"\nTransferOutputRemaps = \"a = made/deep/a\"";
    let ran = run(&place, script, remaps);
    assert_eq!(ran.status, 0, "{}\n{}", ran.told, ran.ad);
    assert_eq!((got(&place, "made/deep/a").as_str(), got(&place, "b").as_str()), ("1\n", "2\n"));
    assert_eq!((mode(&place, "made"), mode(&place, "made/deep")), (0o700, 0o700));
    // With OutputDirectory, all output goes to that directory, including standard output and remapped files.
    let ran = run(&place, script, &format!("{remaps}\nOutputDirectory = \"results/today\""));
    assert_eq!(ran.status, 0, "{}\n{}", ran.told, ran.ad);
    for (name, text) in [("made/deep/a", "1\n"), ("b", "2\n"), ("out", "said\n")] {
        assert_eq!(got(&place, &format!("results/today/{name}")), text);
    }
    assert_eq!((mode(&place, "results"), mode(&place, "results/today")), (0o700, 0o700));
    let ran = run(&place, script, "OutputDirectory = \"b/today\"");
    assert_held(&ran, 12, 20);
    let reason = "failed to create output directory (";
    assert!(
        ran.ad.contains(reason) && ran.ad.contains("/b/today): Not a directory (errno 20)"),
        "{}",
        ran.ad
    );
}

#[test]
fn a_failed_transfer_holds_the_job_with_the_references_reason() {
    let place = place();
    let ran = run(&place, "true", "TransferInput = \"nosuch\"");
    assert_held(&ran, 13, 2);
    assert!(ran.ad.contains("while sending files to execution point slot1@"), "{}", ran.ad);
    // 25.14 tries to transfer standard output and error, which do not exist.
    assert_eq!(events(&place), ["000", "040", "040", "040", "040", "021", "004", "012"]);
    assert!(got(&place, "log").contains("Started transferring output files"));
    assert!(!ran.told.contains("could not be kept"), "{}", ran.told);
    for line in [
        "NumOutputTransferStarts = 1",
        "ExecuteDirWasEncrypted = false",
        "TransferInputFileCounts = [ CEDAR = 1 ]",
    ] {
        assert!(ran.has(line), "{line}: {}", ran.ad);
    }
    assert!(ran.ad.contains("TransferOutputStats = [ CedarFilesCountTotal = 2;"), "{}", ran.ad);
    assert!(!place.path("iwd/out").exists());
    let place = self::place();
    let ran = run(&place, "echo 1 > o1", "TransferOutput = \"o1, nosuch\"");
    assert_held(&ran, 12, 2);
    assert_eq!(got(&place, "o1"), "1\n", "what is there comes back");
    let place = self::place();
    let ran = run(
        &place,
        "mkdir o; echo 1 > o/x",
        "TransferOutput = \"o/x\"\nTransferOutputRemaps = \"x = y ; y = x\"",
    );
    assert_held(&ran, 12, 1);
    assert!(ran.ad.contains("remaps resulted in a cycle"), "{}", ran.ad);
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
    let ran = run(&place, &script, "");
    // Only root could read the file, and the starter never reads a job's file as root.
    if nix::unistd::geteuid().is_root() {
        assert_held(&ran, 12, 13);
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
    assert!(ran.left.is_empty(), "{:?}", ran.left);
    // A listed name that leads outside of the directory is stored under its last part, and never above Iwd.
    let place = self::place();
    let ran = run(&place, "true", "TransferOutput = \"..\"");
    assert!(ran.has("JobStatus = 5"), "{}", ran.ad);
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
    place.give("iwd/t");
    let script = "ls t; mkdir o; echo made > o/f; ln -s nowhere o/dangling; ln -s circle o/circle";
    let ran = run(&place, script, "TransferInput = \"t\"\nTransferOutput = \"o\"");
    assert_eq!(ran.status, 0, "{}\n{}", ran.told, ran.ad);
    assert!(ran.has("JobStatus = 4"), "{}", ran.ad);
    assert_eq!((got(&place, "out").as_str(), got(&place, "o/f").as_str()), ("f\n", "made\n"));
    assert_eq!(fs::read_dir(place.path("iwd/o")).unwrap().count(), 1);
    for name in ["/t/dangling", "/t/circle", "/o/dangling", "/o/circle"] {
        assert!(
            ran.told.contains(&format!("{name}' is a link to a missing file: it is not transferred")),
            "{}",
            ran.told
        );
    }
    // A missing file that the job names explicitly is an error.
    let place = self::place();
    symlink("nowhere", place.path("iwd/dangling")).unwrap();
    let ran = run(&place, "true", "TransferInput = \"dangling\"");
    assert_held(&ran, 13, 2);
}

/// In an emulated queue, common files are not shared between jobs.
#[test]
fn common_input_files_are_transferred_as_input() {
    let place = place();
    give(&place, "common", "for all\n");
    give(&place, "own", "for one\n");
    let ran = run(&place, "cat common own", "TransferInput = \"own\"\nCommonInputFiles = \"common\"");
    assert_eq!(ran.status, 0, "{}\n{}", ran.told, ran.ad);
    assert_eq!(got(&place, "out"), "for all\nfor one\n");
    assert!(ran.has("TransferInputFileCounts = [ CEDAR = 2 ]"), "{}", ran.ad);
    // Each catalog is the name of a list of files.
    let catalogs = "CommonInputCatalogs = \"A B\"\n_x_catalog_A = \"common\"\n_x_catalog_B = \"own\"";
    let ran = run(&place, "cat common own", catalogs);
    assert_eq!(ran.status, 0, "{}\n{}", ran.told, ran.ad);
    assert_eq!(got(&place, "out"), "for all\nfor one\n");
}

#[test]
fn a_dag_job_has_two_logs_and_its_batch_and_node_in_event_000() {
    let place = place();
    let more = "JobBatchName = \"my batch\"\nSubmitEventNotes = \"not in text\"\nDAGManNodesLog = \"nodes\"\n\
                DAGManNodesMask = \"0,5\"";
    let ran = run(&place, "true", more);
    assert_eq!(ran.status, 0, "{}\n{}", ran.told, ran.ad);
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
    let ran = place.run(&format!("{}\n{files}\n{more}", shell("true")));
    assert_eq!(ran.status, 0, "{}\n{}", ran.told, ran.ad);
    assert_eq!(events(&place), ["000", "040", "040", "001", "040", "040", "005"]);
    let first = "\n    [ DAGNodeName = \"NodeA\" ]\n    by hand\n...\n";
    assert!(got(&place, "log").contains(first), "{}", got(&place, "log"));
}

#[test]
fn a_listed_directory_that_cannot_be_read_is_reported() {
    let place = place();
    let ran = run(&place, "mkdir d; echo x > d/y; chmod 0 d", "TransferOutput = \"d\"");
    if nix::unistd::geteuid().is_root() {
        assert!(ran.told.contains("cannot read the directory"), "{}", ran.told);
    }
    assert!(ran.left.is_empty(), "{:?}", ran.left);
}

#[test]
fn a_sparse_file_of_ten_gigabytes_exceeds_the_transfer_limit() {
    let place = place();
    let ran = run(&place, "truncate -s 10G big; echo x > zz", "MaxTransferOutputMB = 1");
    assert_held(&ran, 33, 0);
    assert!(
        ran.ad.contains("max total download bytes exceeded (max=1 MB, this file=10240 MB)"),
        "{}",
        ran.ad
    );
    let big = fs::metadata(place.path("iwd/big")).unwrap();
    assert_eq!(big.len(), 1 << 20);
    let place = self::place();
    let ran = run(&place, "truncate -s 10G big; echo end >> big", "");
    assert_eq!(ran.status, 0, "{}", ran.ad);
    let big = fs::metadata(place.path("iwd/big")).unwrap();
    assert_eq!(big.len(), (10 << 30) + 4);
    assert!(big.blocks() < 1 << 20, "holes stay holes: {} blocks", big.blocks());
}

#[test]
fn a_job_with_checkpoints_continues_from_the_last_one() {
    let place = place();
    let script = "if [ -f ck ]; then cat ck; else echo first > ck; exit 85; fi";
    let more = "WantFTOnCheckpoint = true\nSuccessCheckpointExitCode = 85\nTransferCheckpoint = \"ck\"";
    let ran = run(&place, script, more);
    assert_eq!(ran.status, 0, "{}\n{}", ran.told, ran.ad);
    assert_eq!(got(&place, "out"), "first\n");
    assert_eq!(events(&place), ["000", "040", "040", "001", "040", "040", "040", "040", "005"]);
    let ran = run(&place, script, &more.replace("\"ck\"", "\"nosuch\""));
    assert_held(&ran, 36, -1);
}

#[test]
fn policy_runs_a_job_again_holds_it_and_removes_it() {
    let place = place().option(&["--until", "done"]);
    let retries = "JobMaxRetries = 2\nOnExitRemove = NumJobCompletions > JobMaxRetries || ExitCode =?= 0";
    let ran = run(&place, "exit 3", retries);
    assert_eq!(ran.status, 1);
    assert!(ran.has("JobStatus = 4") && ran.has("NumJobCompletions = 3"), "{}", ran.ad);
    let again = events(&place).iter().filter(|event| *event == "004").count();
    assert_eq!(again, 2);
    let place = self::place();
    let ran = run(
        &place,
        "exit 3",
        "OnExitHold = ExitCode == 3\nOnExitHoldReason = \"three\"\nOnExitHoldSubCode = 7",
    );
    assert_held(&ran, 3, 7);
    assert!(ran.has("HoldReason = \"three\""), "{}", ran.ad);
    let place = self::place().knob("PERIODIC_EXPR_INTERVAL = 1");
    let ran = run(&place, "sleep 600", "PeriodicRemove = JobCurrentStartExecutingDate > 0");
    assert!(ran.has("JobStatus = 3"), "{}", ran.ad);
    assert_eq!(events(&place), ["000", "040", "040", "001", "009"]);
    let ran = run(&place, "sleep 600", "PeriodicHold = JobStatus == 2");
    assert_held(&ran, 3, 0);
}

#[test]
fn both_hooks_before_the_input_are_called_at_the_right_time() {
    let place = place()
        .hook("SHADOW_PREPARE_JOB", "cat >/dev/null; echo shadow >> $CALLS; echo FromShadow = 1")
        .hook("PREPARE_JOB_BEFORE_TRANSFER", "grep -c FromShadow >> $CALLS; ls >> $CALLS; echo Before = 2")
        .hook("PREPARE_JOB", "grep -c Before >> $CALLS; ls | grep -v log >> $CALLS")
        .knob("SHADOW_DEFAULT_JOB_HOOK_KEYWORD = FARM");
    give(&place, "calls", "");
    give(&place, "in", "x\n");
    let ran = run(&place, "true", "TransferInput = \"in\"");
    assert_eq!(ran.status, 0, "{}\n{}", ran.told, ran.ad);
    assert_eq!(ran.calls, "shadow\n1\n1\nin\n");
    let place = self::place()
        .hook("SHADOW_PREPARE_JOB", "cat >/dev/null; exit 7")
        .knob("SHADOW_DEFAULT_JOB_HOOK_KEYWORD = FARM");
    let ran = run(&place, "true", "");
    assert_held(&ran, 48, 7);
}

#[test]
fn a_running_job_that_must_end_is_evicted_and_leaves_nothing() {
    let place = place();
    let pipe = place.pipe();
    let child = place.start(&format!("{}\n{FILES}", shell(&format!("echo > {}; sleep 600", pipe.display()))));
    heard(&pipe);
    send(&child, Signal::SIGTERM);
    let ran = place.finish(child);
    assert_eq!(ran.status, 1, "{}", ran.told);
    assert!(ran.has("JobStatus = 1") && ran.has("VacateReasonCode = 1005"), "{}", ran.ad);
    assert!(ran.left.is_empty(), "{:?}", ran.left);
}

#[test]
fn the_local_universe_has_its_policy_and_transfers_nothing() {
    let place = Place::new().option(&["--as", "local"]);
    let ran = run(&place, "pwd; exit 3", "JobUniverse = 12\nOnExitHold = ExitCode == 3");
    assert_held(&ran, 3, 0);
    assert_eq!(got(&place, "out").trim(), place.path("iwd").to_str().unwrap());
    assert_eq!(events(&place), ["000", "001", "004", "012"]);
    let ran = run(&place, "true", "JobUniverse = 5");
    assert_eq!(ran.status, 3, "{}", ran.told);
    assert!(ran.told.contains("--as local needs JobUniverse = 12"), "{}", ran.told);
}

#[test]
fn a_fetched_job_transfers_nothing_and_reports_it() {
    let place = Place::new();
    give(&place, "a", "x");
    let ran = run(&place, "pwd", "TransferInput = \"a\"");
    assert_eq!(ran.status, 0, "{}", ran.told);
    assert!(ran.told.contains("TransferInput") && ran.told.contains("unsupported here"), "{}", ran.told);
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
        let ran = place.finish(child.unwrap());
        assert_eq!(ran.status, 3, "{}", ran.told);
        assert!(ran.told.contains("the job is not run") && ran.told.contains("hint: "), "{}", ran.told);
        assert!(!log.exists() && ran.ad.is_empty(), "{}", ran.ad);
    }
}

#[test]
fn kept_files_of_an_evicted_job_without_a_next_run_are_named() {
    let place = place();
    let pipe = place.pipe();
    let script = format!("echo half > state; echo > {}; sleep 600", pipe.display());
    let files = FILES.replace("ON_EXIT", "ON_EXIT_OR_EVICT");
    let child = place.start(&format!("{}\n{files}", shell(&script)));
    heard(&pipe);
    send(&child, Signal::SIGTERM);
    let ran = place.finish(child);
    assert!(ran.has("JobStatus = 1"), "{}", ran.ad);
    assert!(
        ran.told.contains("kept for its next run are removed") && ran.told.contains("\"state\""),
        "{}",
        ran.told
    );
}

#[test]
fn standard_error_of_shadow_prepare_job_is_reported() {
    let place = place()
        .hook("SHADOW_PREPARE_JOB", "cat >/dev/null; echo no quota left >&2")
        .knob("SHADOW_DEFAULT_JOB_HOOK_KEYWORD = FARM");
    let ran = run(&place, "true", "");
    assert!(ran.told.contains("it printed on standard error: no quota left"), "{}", ran.told);
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
    let ran = place.run(&job);
    assert_eq!(got(&place, "told"), "X86_64.4 none\n", "{}", ran.told);
    assert!(
        ran.has("Environment = \"WHERE=$$(Arch:none).$$([TARGET.Cpus * 2]) ELSE=$$(Nope:none)\""),
        "{}",
        ran.ad
    );
    assert!(ran.has("MATCH_Arch = \"X86_64\"") && ran.has("MATCH_Nope = \"none\""), "{}", ran.ad);
    assert!(ran.has("MATCH_EXP_Environment = \"WHERE=X86_64.4 ELSE=none\""), "{}", ran.ad);
    let ran = place.option(&["--until", "held"]).run(&format!("{job}\nNotes = \"$$(Nope)\""));
    assert!(ran.has("HoldReason = \"Cannot expand $$ expression (Nope).\""), "{}{}", ran.ad, ran.told);
}

#[test]
fn standard_file_times_are_in_the_final_update_only() {
    let has = |ran: &Ran, name: &str| ran.ad.contains(&format!("\n{name} = "));
    let ran = run(&place(), "echo x > a", "TransferOutput = \"a\"");
    assert!(has(&ran, "StdoutMtime") && has(&ran, "ScratchDirFileCount"), "{}", ran.ad);

    // In 25.14, the queue has no times of a job that is held because its output could not be transferred.
    let ran = run(&place(), "echo x > a", "TransferOutput = \"a,gone\"");
    assert_held(&ran, 12, 2);
    assert!(!has(&ran, "StdoutMtime") && !has(&ran, "StderrMtime"), "{}", ran.ad);
    assert!(has(&ran, "ScratchDirFileCount"), "{}", ran.ad);

    // If a checkpoint could not be uploaded, the starter reports nothing at all.
    let ran = run(
        &place(),
        "exit 85",
        "SuccessCheckpointExitCode = 85\nWantFTOnCheckpoint = true\nTransferCheckpoint = \"gone\"",
    );
    assert!(ran.has("JobStatus = 5"), "{}\n{}", ran.ad, ran.told);
    for name in ["StdoutMtime", "ScratchDirFileCount", "ExecuteDirWasEncrypted"] {
        assert!(!has(&ran, name), "{name} in\n{}", ran.ad);
    }
}
