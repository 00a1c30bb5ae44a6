//! Tests with directories that an earlier build left when it was killed: this build continues from them.
//!
//! `tests/data/earlier_builds/COMMIT` has what `htc-slot-run` and `htc-router-translate run` of that commit left after `kill -9`.
//! A journal is stored as its records, because its checksums depend on the paths in it.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use crate::support::children::write_executable;

const COMMITS: [&str; 1] = ["32d2e18"];

fn data(commit: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/earlier_builds").join(commit)
}

fn copy_tree(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    fs::set_permissions(to, fs::Permissions::from_mode(0o755)).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy_tree(&entry.path(), &target);
        } else {
            fs::write(target, fs::read(entry.path()).unwrap()).unwrap();
        }
    }
}

/// Writes a journal with lengths and checksums (CRC-32), padded with zeros as on disk.
fn write_journal(records: &str, path: &Path) {
    let mut journal: Vec<u8> = records
        .lines()
        .flat_map(|record| {
            format!("{:08x} {:08x} {record}\n", record.len(), crc32fast::hash(record.as_bytes())).into_bytes()
        })
        .collect();
    journal.resize(journal.len().next_multiple_of(64 * 1024), 0);
    fs::write(path, journal).unwrap();
}

fn errors(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// The build had accepted jobs 1.0 (running) and 2.0 (preparing), and was killed with its starters. The end of each job is
/// reported to the queue once, and the whole journal is read.
#[test]
fn jobs_of_a_killed_slot_runner_of_an_earlier_build_are_returned() {
    for commit in COMMITS {
        let home = tempfile::tempdir().unwrap();
        let top = home.path();
        fs::set_permissions(top, fs::Permissions::from_mode(0o755)).unwrap();
        let state = top.join("htc-slot-run");
        copy_tree(&data(commit).join("slots/state"), &state);
        fs::set_permissions(&state, fs::Permissions::from_mode(0o700)).unwrap();
        fs::create_dir(top.join("execute")).unwrap();
        fs::set_permissions(top.join("execute"), fs::Permissions::from_mode(0o755)).unwrap();
        let records = fs::read_to_string(data(commit).join("slots/journal.records")).unwrap();
        let records =
            records.replace("@STATE@", state.to_str().unwrap()).replace("@DIR@", top.to_str().unwrap());
        write_journal(&records, &state.join("journal"));
        fs::create_dir(top.join("hooks")).unwrap();
        write_executable(&top.join("hooks/fetch"), b"#!/bin/sh\nexit 0\n");
        let evict = format!("#!/bin/sh\nsed -n 's/^ClusterId = //p' >> {}/evicted\n", top.display());
        write_executable(&top.join("hooks/evict"), evict.as_bytes());
        fs::write(top.join("evicted"), "").unwrap();
        fs::set_permissions(top.join("evicted"), fs::Permissions::from_mode(0o666)).unwrap();
        let config = format!(
            "LOCAL_DIR = {top}\nLOG = {top}\nEXECUTE = {top}/execute\nNUM_CPUS = 2\nNUM_SLOTS_TYPE_1 = 2\n\
             SLOT_TYPE_1 = 50%\nSTART = true\nFetchWorkDelay = 1\nSTARTER = {starter}\n\
             STARTD_JOB_HOOK_KEYWORD = T\nT_HOOK_FETCH_WORK = {top}/hooks/fetch\n\
             T_HOOK_EVICT_CLAIM = {top}/hooks/evict\n",
            top = top.display(),
            starter = env!("CARGO_BIN_EXE_htc-starter-run"),
        );
        fs::write(top.join("condor_config"), config).unwrap();
        let run = || {
            Command::new(env!("CARGO_BIN_EXE_htc-slot-run"))
                .args(["--once", "--timeout", "60", "--config-file"])
                .arg(top.join("condor_config"))
                .output()
                .unwrap()
        };
        let first = run();
        assert_eq!(first.status.code(), Some(0), "{commit}: {}", errors(&first));
        let mut evicted: Vec<String> =
            fs::read_to_string(top.join("evicted")).unwrap().lines().map(str::to_owned).collect();
        evicted.sort();
        assert_eq!(evicted, ["1", "2"], "{commit}: {}", errors(&first));
        let ended = "an earlier run started it and was killed; its starter has ended, with unknown status";
        for job in ["1.0", "2.0"] {
            let text = format!("warning job {job}: {ended}");
            assert!(errors(&first).contains(&text), "{commit}: {text}: {}", errors(&first));
        }
        // The second run finds nothing left to do.
        let second = run();
        assert_eq!(second.status.code(), Some(0), "{commit}: {}", errors(&second));
        assert!(!errors(&second).contains("job 1.0"), "{commit}: {}", errors(&second));
        assert_eq!(fs::read_to_string(top.join("evicted")).unwrap().lines().count(), 2);
    }
}

/// The build had routed jobs 1.0 and 2.0 to 3.0 and 4.0, and was killed while the finalize hook of 3.0 ran.
#[test]
fn a_router_adopts_the_routed_jobs_of_an_earlier_build() {
    for commit in COMMITS {
        let home = tempfile::tempdir().unwrap();
        let top = home.path();
        let queue = top.join("q");
        copy_tree(&data(commit).join("router/q"), &queue);
        fs::rename(queue.join("next_cluster"), queue.join(".next_cluster")).unwrap();
        write_executable(&top.join("finalize"), b"#!/bin/sh\ncat >/dev/null\n");
        let config = format!(
            "LOCAL_DIR = {top}\nLOG = {top}\nJOB_ROUTER_ROUTE_NAMES = R\nJOB_ROUTER_ROUTE_R @=route\n\
             REQUIREMENTS WantRoute\nUNIVERSE VANILLA\n@route\nJOB_ROUTER_HOOK_KEYWORD = K\n\
             K_HOOK_JOB_FINALIZE = {top}/finalize\n",
            top = top.display(),
        );
        fs::write(top.join("condor_config"), config).unwrap();
        let ran = Command::new(env!("CARGO_BIN_EXE_htc-router-translate"))
            .args(["run", "--once", "--timeout", "60", "--config-file"])
            .arg(top.join("condor_config"))
            .arg("--queue")
            .arg(&queue)
            .output()
            .unwrap();
        assert_eq!(ran.status.code(), Some(0), "{commit}: {}", errors(&ran));
        for pair in ["src=1.0,dest=3.0", "src=2.0,dest=4.0"] {
            let text = format!("({pair},route=R): adopted orphaned job");
            assert!(errors(&ran).contains(&text), "{commit}: {text}: {}", errors(&ran));
        }
        let source = fs::read_to_string(queue.join("2.0.ad")).unwrap();
        assert!(
            source.contains("RoutedToJobId = \"4.0\"\n") && source.contains("Managed = \"External\"\n"),
            "{source}"
        );
        // The job that has ended is finalized once more, because the end of its hook is unknown, and its copy is removed.
        assert_eq!(errors(&ran).matches("dest=3.0,route=R): finalized job").count(), 1, "{}", errors(&ran));
        assert!(!queue.join("3.0.ad").exists() && queue.join("4.0.ad").exists());
    }
}
