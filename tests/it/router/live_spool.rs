//! Tests of the sandboxes and proxies of routed jobs.

use std::fs;

use super::live::{CONFIG, Place, sandboxed};

const SPOOL: &str = "queue/spool/2/0/cluster2.proc0.subproc0";

#[test]
fn files_of_a_sandboxed_job_are_spooled_and_returned() {
    let place = sandboxed(
        "Cmd = \"/bin/sh\"\nTransferExecutable = false\nIn = \"/dev/null\"\nOut = \"o\"\nErr = \"sub/e\"\n\
         TransferInput = \"in.txt,http://x/y,data,more/\"\nTransferOutput = \"made,never\"\n\
         TransferOutputRemaps = \"made=final;big=http://x/z\"\n",
        "",
    );
    for (name, text) in [("in.txt", "in"), ("data/a", "a"), ("more/b", "b"), ("sub/x", "")] {
        let path = place.file("home").join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    use std::os::unix::fs::PermissionsExt;
    fs::set_permissions(place.file("home/sub"), fs::Permissions::from_mode(0o777)).unwrap();
    let (status, output) = place.run("queue", &["--once"]);
    assert_eq!(status, 0, "{output}");
    let spool = place.file(SPOOL);
    let read = |name: &str| fs::read_to_string(spool.join(name)).unwrap_or_default();
    assert_eq!(
        (read("in.txt"), read("data/a"), read("b")),
        ("in".into(), "a".into(), "b".into()),
        "{output}"
    );
    let copy = place.read("queue/2.0.ad");
    for line in [
        format!("Iwd = \"{}\"", spool.canonicalize().unwrap().display()),
        format!("SUBMIT_Iwd = \"{}\"", place.file("home").display()),
        "TransferInput = \"in.txt,http://x/y,data,more/\"".to_owned(),
        "TransferOutputRemaps = \"big=http://x/z\"".to_owned(),
        "SUBMIT_TransferOutputRemaps = \"made=final\"".to_owned(),
        "ReleaseReason = \"Data files spooled\"".to_owned(),
        "JobStatus = 1".to_owned(),
    ] {
        assert!(copy.contains(&format!("{line}\n")), "no {line} in\n{copy}");
    }
    assert!(copy.contains("StageInFinish = ") && !copy.contains("SUBMIT_Cmd"), "{copy}");
    // The job leaves these files when it has run.
    for (name, text) in [("made", "result"), ("o", "out"), ("e", "err")] {
        fs::write(spool.join(name), text).unwrap();
        fs::set_permissions(spool.join(name), fs::Permissions::from_mode(0o644)).unwrap();
    }
    fs::write(place.file("queue/2.0.ad"), copy.replace("JobStatus = 1\n", "JobStatus = 4\nExitCode = 0\n"))
        .unwrap();
    let (status, output) = place.run("queue", &["--once"]);
    assert_eq!(status, 0, "{output}");
    assert_eq!(place.read("home/final"), "result", "{output}");
    assert_eq!((place.read("home/o"), place.read("home/sub/e")), ("out".into(), "err".into()), "{output}");
    assert!(!spool.exists() && !place.file("queue/1.0.ad").exists(), "{output}");
    let history = place.read("queue/history");
    assert!(history.contains("StageOutFinish = ") && history.matches("*** ").count() == 2, "{history}");
}

#[test]
fn a_sandboxed_job_with_missing_files_is_released() {
    for missing in ["none.txt", "pipe"] {
        let place = sandboxed(&format!("TransferInput = \"{missing}\"\n"), "");
        nix::unistd::mkfifo(&place.file("home/pipe"), nix::sys::stat::Mode::from_bits_truncate(0o666))
            .unwrap();
        let (status, output) = place.run("queue", &["--once"]);
        assert_eq!(status, 1, "{output}");
        assert!(output.contains(&format!("copying the job's files: '{missing}' is not a file")), "{output}");
        assert!(place.read("queue/1.0.ad").contains("Managed = \"Schedd\"\n"), "{output}");
        assert!(!place.file(SPOOL).exists() && !place.file("queue/2.0.ad").exists(), "{output}");
    }
}

#[test]
fn files_that_a_killed_router_left_in_the_spool_are_removed() {
    let place = Place::new();
    let stray = place.file("queue/spool/77/0/cluster77.proc0.subproc0");
    let of_a_job = place.file("queue/spool/1/0/cluster1.proc0.subproc0");
    // There are directories of other jobs, and one at an unexpected place.
    let others =
        ["queue/spool/77/0/notes", "queue/spool/78/0/cluster77.proc0.subproc0"].map(|name| place.file(name));
    for path in [&stray, &of_a_job].into_iter().chain(&others) {
        fs::create_dir_all(path).unwrap();
        fs::write(path.join("file"), "x").unwrap();
    }
    let (status, output) = place.run("queue", &["--once"]);
    assert_eq!(status, 0, "{output}");
    assert!(!stray.exists() && of_a_job.exists() && others.iter().all(|path| path.exists()), "{output}");
}

#[test]
fn a_lent_proxy_is_spooled_and_its_copy_removed() {
    let lend = "  UseSharedX509UserProxy = true\n  SharedX509UserProxy = strcat(MY.Iwd, \"/../proxy.pem\")\n";
    let place = sandboxed("", lend);
    fs::write(place.file("proxy.pem"), "secret").unwrap();
    let (status, output) = place.run("queue", &["--once"]);
    assert_eq!(status, 0, "{output}");
    assert_eq!(place.read(&format!("{SPOOL}/proxy.pem.1.0")), "secret", "{output}");
    let copy = place.read("queue/2.0.ad");
    assert!(copy.contains("x509userproxy = \"proxy.pem.1.0\"\n"), "{copy}");
    assert!(!place.file("proxy.pem.1.0").exists());
    // Nothing is submitted if the proxy file is missing.
    let place = sandboxed("", lend);
    let (_, output) = place.run("queue", &["--once"]);
    assert!(
        output.contains("failed to copy ") && output.contains("proxy.pem.1.0. (No such file"),
        "{output}"
    );
    assert!(
        place.read("queue/1.0.ad").contains("Managed = \"Schedd\"\n") && !place.file("queue/2.0.ad").exists()
    );
}

/// The manual has the example `UseSharedX509UserProxy = TARGET.x509UserProxySubject =?= undefined`; in 25.14, TARGET. is
/// undefined.
#[test]
fn target_is_the_source_job_in_the_condition_of_a_lent_proxy() {
    let lend = "  UseSharedX509UserProxy = TARGET.ClusterId == 1\n  SharedX509UserProxy = strcat(MY.Iwd, \"/../proxy.pem\")\n";
    for (words, lent) in [(vec!["--once"], true), (vec!["--once", "--quirks", "reference"], false)] {
        let place = sandboxed("", lend);
        fs::write(place.file("proxy.pem"), "secret").unwrap();
        let (_, output) = place.run("queue", &words);
        let copy = place.read("queue/2.0.ad");
        assert_eq!(copy.contains("x509userproxy = \"proxy.pem.1.0\"\n"), lent, "{output}{copy}");
        let warned = "UseSharedX509UserProxy uses TARGET., which is undefined there in HTCondor 25.14 (route-target-undefined)";
        assert!(output.contains(warned), "{output}");
    }
}

#[test]
fn copies_go_into_a_separate_queue() {
    let place = Place::new();
    fs::create_dir(place.file("copies")).unwrap();
    let other = "Owner = \"eva\"\nJobStatus = 5\nJobUniverse = 5\n";
    fs::write(place.file("copies/1.0.ad"), other).unwrap();
    fs::write(place.file("config"), format!("{CONFIG}JOB_ROUTER_SCHEDD2_NAME = second\n")).unwrap();
    let run = || {
        let (status, told) = place.run("queue", &["--once", "--copies", "copies"]);
        assert_eq!(status, 0, "{told}");
        assert!(!told.contains("JOB_ROUTER_SCHEDD2_NAME"), "{told}");
        told
    };
    let told = run();
    // The id of the copy is one of the other queue.
    let copy = place.read("copies/2.0.ad");
    assert!(copy.contains("RoutedFromJobId = \"1.0\"\n"), "{told}");
    assert!(!place.file("queue/2.0.ad").exists() && place.read("copies/1.0.ad") == other, "{told}");
    let source = place.read("queue/1.0.ad");
    assert!(source.contains("Managed = \"External\"\n"), "{told}");
    // The next router finds the copy in the other queue, so the source job is not treated as one without a copy.
    fs::write(place.file("copies/2.0.ad"), copy.replace("JobStatus = 1\n", "JobStatus = 2\n")).unwrap();
    let told = run();
    let source = place.read("queue/1.0.ad");
    assert!(source.contains("RoutedToJobId = \"2.0\"\n") && source.contains("JobStatus = 2\n"), "{told}");
    let ended = copy.replace("JobStatus = 1\n", "JobStatus = 4\nExitCode = 3\nExitBySignal = false\n");
    fs::write(place.file("copies/2.0.ad"), ended).unwrap();
    let told = run();
    assert!(!place.file("copies/2.0.ad").exists() && !place.file("queue/1.0.ad").exists(), "{told}");
    assert!(place.read("copies/history").contains("*** Offset = -1 ClusterId = 2 ProcId = 0"), "{told}");
    let history = place.read("queue/history");
    assert!(history.contains("ExitCode = 3\n") && history.contains("ClusterId = 1 ProcId = 0"), "{told}");
    assert_eq!(place.read("copies/1.0.ad"), other);
}

#[test]
fn a_second_schedd_without_copies_is_reported() {
    let place = Place::new();
    fs::write(place.file("config"), format!("{CONFIG}JOB_ROUTER_SCHEDD2_SPOOL = /spool2\n")).unwrap();
    let (status, output) = place.run("queue", &["--once"]);
    assert_eq!(status, 0, "{output}");
    assert!(output.contains("JOB_ROUTER_SCHEDD2_SPOOL") && output.contains("--copies DIR"), "{output}");
    assert!(place.file("queue/2.0.ad").exists());
    // The directory does not exist.
    let (status, output) = place.run("queue", &["--once", "--copies", "nowhere"]);
    assert_eq!(status, 3, "{output}");
    assert!(output.contains("'nowhere'"), "{output}");
}
