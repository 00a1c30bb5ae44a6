//! Tests of `htc-hook-test queue`, with hooks of correct and of faulty queues.

use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::hook_test::calls::{program, run, text};
use crate::support::children::write_executable;
use crate::support::queue_of_files::{BY_RENAME, EXIT, queue};

/// Tests a queue of 40 jobs; returns the messages and the exit status.
fn drive(home: &Path, more: &[&str]) -> Option<(String, Option<i32>)> {
    let words = [&["queue", "--config-file", "condor_config", "--jobs", "40", "--seed", "3"], more].concat();
    let output = run(home, &words)?;
    Some((text(&output.stderr), output.status.code()))
}

#[test]
fn a_queue_that_renames_jobs_keeps_the_contract() {
    let home = tempfile::tempdir().unwrap();
    queue(home.path(), BY_RENAME);
    let Some((output, status)) = drive(home.path(), &["--slots", "8", "--kill", "0"]) else { return };
    assert_eq!(status, Some(0), "{output}");
    assert!(output.contains("40 jobs handed out, 40 done"), "{output}");
}

/// In the second queue, hooks that are killed leave their lock behind, so that no slot gets any more jobs.
#[test]
fn killed_hooks_must_not_stop_a_queue() {
    let home = tempfile::tempdir().unwrap();
    queue(home.path(), BY_RENAME);
    let words = ["--slots", "8", "--kill", "40"];
    let Some((output, status)) = drive(home.path(), &words) else { return };
    assert_eq!(status, Some(0), "{output}");
    assert!(output.contains("killed in the middle: "), "{output}");
    let locked = tempfile::tempdir().unwrap();
    // Nearly every call is killed, and a fetch holds the lock nearly all of its time, so that on any machine some kill leaves the
    // lock.
    let take = format!("mkdir lock 2>/dev/null || exit 0\nsleep 0.05\n({BY_RENAME})\nrmdir lock\nexit 0");
    queue(locked.path(), &take);
    let words = ["--slots", "1", "--kill", "90"];
    let (output, status) = drive(locked.path(), &words).unwrap();
    assert_eq!(status, Some(1), "{output}");
    assert!(output.contains("never handed out: "), "{output}");
}

/// The scripts of the quickstart are used unchanged, with more jobs, and with hooks that are killed while they run.
#[test]
fn the_queue_of_the_quickstart_keeps_the_contract() {
    let home = tempfile::tempdir().unwrap();
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/quickstart");
    for directory in ["hooks", "queue/new", "queue/claimed", "queue/done", "queue/failed", "queue/output"] {
        std::fs::create_dir_all(home.path().join(directory)).unwrap();
    }
    std::fs::copy(source.join("condor_config"), home.path().join("condor_config")).unwrap();
    for entry in std::fs::read_dir(source.join("hooks")).unwrap() {
        let entry = entry.unwrap();
        std::fs::copy(entry.path(), home.path().join("hooks").join(entry.file_name())).unwrap();
    }
    let job = std::fs::read_to_string(source.join("queue/new/1-succeeds.ad")).unwrap();
    for number in 0..30 {
        let job = job.replace("ClusterId = 1\n", &format!("ClusterId = {number}\n"));
        std::fs::write(home.path().join(format!("queue/new/{number}.ad")), job).unwrap();
    }
    for (kill, seed) in [("0", "1"), ("30", "2")] {
        let words = [
            "queue",
            "--config-file",
            "condor_config",
            "--slots",
            "6",
            "--jobs",
            "30",
            "--kill",
            kill,
            "--seed",
            seed,
        ];
        let Some(output) = run(home.path(), &words) else { return };
        let stderr = text(&output.stderr);
        assert_eq!(output.status.code(), Some(0), "{stderr}");
        // REPLY_FETCH of the quickstart moves rejected jobs to another directory.
        let at_once = stderr.lines().find(|line| line.starts_with("at once: ")).unwrap();
        assert!(at_once.contains("30 jobs handed out") && at_once.contains("of them set aside"), "{stderr}");
        assert!(stderr.contains("exit records are expected in queue/done\n"), "{stderr}");
    }
    // The test used a copy, so no file of the original queue was moved.
    assert_eq!(std::fs::read_dir(home.path().join("queue/new")).unwrap().count(), 30);
}

/// Hooks have absolute paths and contain the absolute path of the queue; the copy is used even so.
#[test]
fn absolute_paths_lead_into_the_copy_or_are_refused() {
    let home = tempfile::tempdir().unwrap();
    queue(home.path(), BY_RENAME);
    let at = home.path().canonicalize().unwrap().display().to_string();
    let path = home.path().join("hooks/fetch");
    let fetch = std::fs::read_to_string(&path).unwrap();
    write_executable(&path, fetch.replace("\"${0%/*}/../queue\"", &format!("{at}/queue")).as_bytes());
    let config = std::fs::read_to_string(home.path().join("condor_config")).unwrap();
    std::fs::write(home.path().join("condor_config"), config.replace("$(CONFIG_ROOT)", &at)).unwrap();
    let waiting = || std::fs::read_dir(home.path().join("queue/new")).unwrap().count();
    let Some((output, status)) = drive(home.path(), &["--kill", "0"]) else { return };
    assert_eq!((status, waiting()), (Some(0), 40), "{output}");
    // A hook outside of the copied directory uses the original queue.
    let elsewhere = tempfile::tempdir().unwrap();
    std::fs::copy(&path, elsewhere.path().join("fetch")).unwrap();
    let outside =
        config.replace("$(CONFIG_ROOT)/hooks/fetch", &format!("{}/fetch", elsewhere.path().display()));
    std::fs::write(home.path().join("condor_config"), outside).unwrap();
    let (output, status) = drive(home.path(), &[]).unwrap();
    assert_eq!((status, waiting()), (Some(3), 40), "{output}");
    assert!(output.contains("cannot be called on a copy") && output.contains("--in-place"), "{output}");
    // A hook that finds the original queue is detected at its first job.
    let (parent, last) = at.rsplit_once('/').unwrap();
    let back = fetch.replace("\"${0%/*}/../queue\"", &format!("{parent}/./{last}/queue"));
    write_executable(&path, back.as_bytes());
    std::fs::write(home.path().join("condor_config"), &config).unwrap();
    let (output, status) = drive(home.path(), &[]).unwrap();
    assert_eq!((status, waiting()), (Some(3), 39), "{output}");
    assert!(output.contains("the hooks do not use the copy"), "{output}");
}

#[test]
fn in_place_uses_the_queue_itself_and_excuses_no_loss() {
    let home = tempfile::tempdir().unwrap();
    let lose = BY_RENAME.replace("cat \"taken", "[ \"$file\" = new/7 ] && exit 0\n cat \"taken");
    queue(home.path(), &lose);
    let Some((output, status)) = drive(home.path(), &["--in-place"]) else { return };
    assert_eq!(status, Some(1), "{output}");
    assert!(output.contains("never handed out: 1 of 40 jobs (39 have finished)"), "{output}");
    assert_eq!(std::fs::read_dir(home.path().join("queue/new")).unwrap().count(), 0);
}

/// Simple faults are reported, and end the test.
#[test]
fn hooks_that_always_return_jobs_are_stopped_and_reported() {
    for (take, begin) in [
        ("cat new/1", "is handed out twice, although it had finished"),
        ("echo hello world", "FETCH_WORK prints something that is not a job"),
        ("echo \"ClusterId = $$\"; echo \"ProcId = $(date +1%N)\"; echo 'Cmd = \"x\"'", "of a queue of 40"),
    ] {
        let home = tempfile::tempdir().unwrap();
        queue(home.path(), take);
        let Some((message, status)) = drive(home.path(), &["--kill", "0"]) else { return };
        assert_eq!(status, Some(1), "{take}: {message}");
        assert!(message.contains(begin), "{take}: {message}");
    }
    let home = tempfile::tempdir().unwrap();
    queue(home.path(), BY_RENAME);
    let words = ["queue", "--config-file", "condor_config", "--jobs", "5", "--kill", "0"];
    let output = run(home.path(), &words).unwrap();
    assert_eq!(output.status.code(), Some(1), "a queue of 40 for one of 5: {}", text(&output.stderr));
    assert!(text(&output.stderr).contains("number 6 of a queue of 5"), "{}", text(&output.stderr));
}

#[test]
fn an_interrupt_prints_the_results_so_far() {
    let Some(program) = program() else { return };
    let home = tempfile::tempdir().unwrap();
    // The file must be outside of the queue's directory, because the path of that directory is replaced by that of the copy.
    let outside = tempfile::tempdir().unwrap();
    let mark = outside.path().join("waits");
    let take = "[ -e done/1 ] && { : >'{}'; exec sleep 1000; }\nmv new/1 taken/1\ncat taken/1";
    queue(home.path(), &take.replace("{}", &mark.display().to_string()));
    let child = Command::new(program)
        .args(["queue", "--config-file", "condor_config", "--jobs", "40", "--slots", "1"])
        .current_dir(home.path())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    crate::support::waiting::wait_until("the hook begins", || mark.exists());
    nix::sys::signal::kill(nix::unistd::Pid::from_raw(child.id() as i32), nix::sys::signal::SIGINT).unwrap();
    let output = child.wait_with_output().unwrap();
    let stderr = text(&output.stderr);
    assert!(output.status.code() == Some(130) || output.status.signal() == Some(2), "{:?}", output.status);
    assert!(stderr.contains("one at a time: ") && stderr.contains("1 job handed out"), "{stderr}");
    assert!(stderr.contains("interrupted; so far every job is handed out and recorded once"), "{stderr}");
}

/// Only the hooks themselves can show that these contracts are met.
#[test]
#[ignore = "takes 5 to 30 s of processor time: `.ci/full combinations`"]
fn exit_records_rejected_jobs_and_losses_are_checked() {
    let lose = BY_RENAME.replace("cat \"taken", "[ \"$file\" = new/7 ] && exit 0\n cat \"taken");
    let exit = |end: &str| EXIT.replace("echo ended >\"done/$id\"", end);
    let no_reply = "#!/bin/sh\ncat >/dev/null\n";
    let logged = "#!/bin/sh\ncat >>\"${0%/*}/../queue/log\"\n";
    let back = "#!/bin/sh\nid=$(sed -n 's/^ClusterId = //p')\ncd \"${0%/*}/../queue\"\n\
        [ $1 = accept ] || mv taken/$id new/$id\n";
    let careless = "cat all >all.$$ 2>/dev/null; echo \"$id ended\" >>all.$$; sleep 0.02; mv all.$$ all";
    for (what, fetch, exit, reply, finding) in [
        ("sound", BY_RENAME, EXIT.to_owned(), None, None),
        ("a rejected job comes back", BY_RENAME, EXIT.to_owned(), Some(back), None),
        ("a list", BY_RENAME, exit("echo \"$id ended\" >>all"), None, None),
        (
            "the variables of the starter",
            BY_RENAME,
            EXIT.replace("\nid=", "\nset -u\n[ -s \"$_CONDOR_JOB_AD\" ] || exit 1\nid="),
            None,
            None,
        ),
        ("records in files with other names", BY_RENAME, exit("echo \"ended $id\" >done/job$id"), None, None),
        (
            "a rejected job in a log",
            BY_RENAME,
            EXIT.to_owned(),
            Some(logged),
            Some("was rejected and is not handed out again"),
        ),
        ("no record", BY_RENAME, exit(":"), None, Some("has no exit record: JOB_EXIT writes no file")),
        (
            "nothing at all",
            BY_RENAME,
            "#!/bin/sh\ncat >/dev/null\n".to_owned(),
            None,
            Some("JOB_EXIT changes no file"),
        ),
        (
            "a list that loses lines",
            BY_RENAME,
            exit(careless),
            None,
            Some("has finished, but has no exit record in queue/all"),
        ),
        ("job 7", &lose, EXIT.to_owned(), None, Some("never handed out: 1 of 40 jobs")),
        (
            "a rejected job",
            BY_RENAME,
            EXIT.to_owned(),
            Some(no_reply),
            Some("was rejected and is not handed out again"),
        ),
    ] {
        let home = tempfile::tempdir().unwrap();
        queue(home.path(), fetch);
        write_executable(&home.path().join("hooks/exit"), exit.as_bytes());
        if let Some(reply) = reply {
            write_executable(&home.path().join("hooks/reply"), reply.as_bytes());
            let path = home.path().join("condor_config");
            let config = std::fs::read_to_string(&path).unwrap();
            std::fs::write(path, config + "Q_HOOK_REPLY_FETCH = $(CONFIG_ROOT)/hooks/reply\n").unwrap();
        }
        let Some((output, status)) = drive(home.path(), &[]) else { return };
        assert_eq!(status, Some(i32::from(finding.is_some())), "{what}: {output}");
        assert!(finding.is_none_or(|finding| output.contains(finding)), "{what}: {output}");
    }
    let home = tempfile::tempdir().unwrap();
    queue(home.path(), BY_RENAME);
    let path = home.path().join("condor_config");
    let config = std::fs::read_to_string(&path).unwrap().replace("Q_HOOK_JOB_EXIT", "OTHER");
    std::fs::write(path, config).unwrap();
    let (output, status) = drive(home.path(), &[]).unwrap();
    assert_eq!(status, Some(1), "{output}");
    assert!(output.contains("no JOB_EXIT is configured"), "{output}");
}

/// REPLY_FETCH and EVICT_CLAIM receive the input that the startd sends: the completed job ad, and the slot ad
/// with the policy's values.
#[test]
fn hooks_of_the_startd_read_the_completed_job_and_the_policy() {
    let home = tempfile::tempdir().unwrap();
    queue(home.path(), BY_RENAME);
    // The directory is outside of the one that is copied.
    let seen = tempfile::tempdir().unwrap();
    for hook in ["reply", "evict"] {
        let script = format!("#!/bin/sh\ncat >{}/{hook}.$1\n", seen.path().display());
        write_executable(&home.path().join("hooks").join(hook), script.as_bytes());
    }
    let path = home.path().join("condor_config");
    let config = std::fs::read_to_string(&path).unwrap()
        + "Q_HOOK_REPLY_FETCH = $(CONFIG_ROOT)/hooks/reply\nQ_HOOK_EVICT_CLAIM = $(CONFIG_ROOT)/hooks/evict\n\
           START = Memory > 5\n";
    std::fs::write(path, config).unwrap();
    if drive(home.path(), &["--reject", "0", "--kill", "0"]).is_none() {
        return;
    }
    for file in ["reply.accept", "evict."] {
        let read = text(&std::fs::read(seen.path().join(file)).unwrap());
        let (job, slot) = read.split_once("-----\n").unwrap();
        for line in ["RequestCpus = 1\n", "HookKeyword = \"Q\"\n"] {
            assert!(job.contains(line), "{file}: {line}: {job}");
        }
        assert!(slot.contains("START = Memory > 5\n"), "{file}: {slot}");
        assert!(!slot.contains("LastHeardFrom"), "{file}: {slot}");
    }
}

/// Jobs without an id and with equal ads cannot be distinguished, which is not a fault of the hooks.
#[test]
fn equal_jobs_without_an_id_are_reported() {
    let home = tempfile::tempdir().unwrap();
    queue(home.path(), BY_RENAME);
    for number in 0..40 {
        std::fs::write(home.path().join(format!("queue/new/{number}")), "Cmd = \"/bin/true\"\n").unwrap();
    }
    let Some((output, status)) = drive(home.path(), &["--slots", "1", "--kill", "0"]) else { return };
    assert_eq!(status, Some(1), "{output}");
    assert!(output.contains("give each a ClusterId, or use --id EXPR"), "{output}");
    assert!(!output.contains("is handed out twice") && !output.contains("never handed out"), "{output}");
}

/// No job is evicted or rejected if the percentages are zero.
#[test]
fn percentages_of_zero_count_in_the_round_of_single_calls() {
    let home = tempfile::tempdir().unwrap();
    queue(home.path(), BY_RENAME);
    let reply = "#!/bin/sh\nid=$(sed -n 's/^ClusterId = //p')\ncd \"${0%/*}/../queue\"\n[ $1 = accept ] || mv taken/$id new/$id\n";
    write_executable(&home.path().join("hooks/reply"), reply.as_bytes());
    let config = std::fs::read_to_string(home.path().join("condor_config")).unwrap();
    let config = config + "Q_HOOK_REPLY_FETCH = $(CONFIG_ROOT)/hooks/reply\n";
    std::fs::write(home.path().join("condor_config"), config).unwrap();
    let words = ["--slots", "2", "--kill", "0", "--evict", "0", "--reject", "0"];
    let Some((output, status)) = drive(home.path(), &words) else { return };
    assert_eq!(status, Some(0), "{output}");
    for line in output.lines().filter(|line| line.contains(" handed out, ")) {
        assert!(line.contains("0 evicted, 0 rejected"), "{output}");
    }
}
