//! Runners and starters killed at any moment, under the contract of queues: each job is done once, or was handed out by a call whose
//! end nobody saw. There are 25 trials in each run of the tests; `KILL_TRIALS=1000 cargo test --test it slot_killed` is a command of its own.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use super::point::Point;

/// Jobs wait in `queue`, are in `taken` while they are handed out, and come to `done`, each time under another name.
fn queue(jobs: usize) -> Point {
    let point = Point::new();
    let home = point.path("");
    let home = home.display();
    std::fs::create_dir(point.path("done")).unwrap();
    std::fs::set_permissions(point.path("done"), std::fs::Permissions::from_mode(0o777)).unwrap();
    std::fs::set_permissions(point.path("execute"), std::fs::Permissions::from_mode(0o755)).unwrap();
    let id = "id=$(sed -n 's/^ClusterId = //p' | head -n 1)\n";
    let back = format!("mv {home}/taken/$id {home}/queue/$id 2>/dev/null\nexit 0\n");
    let fetch = format!(
        "#!/bin/sh\nfor file in {home}/queue/*; do\n  [ -e \"$file\" ] || exit 0\n  mv \"$file\" {home}/taken/ 2>/dev/null || \
         continue\n  exec cat {home}/taken/${{file##*/}}\ndone\n"
    );
    let exit = format!(
        "#!/bin/sh\n{id}if [ \"$1\" = exit ]; then\n  mv {home}/taken/$id {home}/done/$id.$$\n  exit \
         0\nfi\n{back}"
    );
    let mut point = point
        .hook("fetch", &fetch)
        .hook("evict", &format!("#!/bin/sh\n{id}{back}"))
        .hook("exit", &exit)
        .hook("reply", &format!("#!/bin/sh\n{id}[ \"$1\" = reject ] || exit 0\n{back}"))
        .knob(&format!("STARTER = {}", env!("CARGO_BIN_EXE_htc-starter-run")))
        .knob("NUM_CPUS = 4")
        .knob("NUM_SLOTS_TYPE_1 = 2")
        .knob("SLOT_TYPE_1 = 50%")
        .knob("T_HOOK_JOB_EXIT = $(CONFIG_ROOT)/hooks/exit")
        .knob("STARTER_JOB_HOOK_KEYWORD = T")
        .knob("MAX_CLAIM_ALIVES_MISSED = 6");
    for number in 1..=jobs {
        let ad = format!(
            "ClusterId = {number}\nProcId = 0\nCmd = \"/bin/sleep\"\nArguments = \"0.05\"\nOwner = \"nobody\"\nJobUniverse = 5\n\
             Iwd = \"/\"\nRequestCpus = 1\nHookKeyword = \"T\"\n"
        );
        point = point.job(&number.to_string(), &ad);
    }
    point
}

/// The starters that run below a process.
fn starters(runner: u32) -> Vec<u32> {
    let children =
        std::fs::read_to_string(format!("/proc/{runner}/task/{runner}/children")).unwrap_or_default();
    let is_starter = |pid: &u32| {
        let name = std::fs::read_link(format!("/proc/{pid}/exe")).unwrap_or_default();
        name.ends_with("htc-starter-run")
    };
    children.split_whitespace().filter_map(|pid| pid.parse().ok()).filter(is_starter).collect()
}

fn kill(pid: u32) {
    Command::new("kill").args(["-9", &pid.to_string()]).output().unwrap();
}

fn names(directory: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(directory).unwrap().flatten();
    let mut names: Vec<String> =
        entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

#[test]
fn whoever_is_killed_each_job_is_done_once_or_was_handed_out_by_a_call_whose_end_nobody_saw() {
    let trials: u64 = std::env::var("KILL_TRIALS").map_or(25, |trials| trials.parse().unwrap());
    let jobs = usize::try_from(trials).unwrap() * 2;
    let point = queue(jobs);
    let mut unseen = 0;
    // Any sequence will do that differs from trial to trial.
    let mut random = 0x2545_f491_4f6c_dd1d_u64;
    let mut told = String::new();
    for trial in 0..=trials {
        let mut child = point.start();
        if trial < trials {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            std::thread::sleep(Duration::from_millis(random % 700));
            let runner = child.id();
            let starters = starters(runner);
            if !random.is_multiple_of(3) {
                child.kill().unwrap();
            }
            if random % 3 != 1 {
                starters.into_iter().for_each(kill);
            }
            child.kill().unwrap();
        }
        let run = point.end(child);
        for call in ["FETCH_WORK", "REPLY_FETCH reject", "EVICT_CLAIM"] {
            unseen += run.stderr.matches(&format!("{call} began in a run that was killed")).count();
        }
        told += &run.stderr;
        if trial == trials {
            assert_eq!(run.status, Some(0), "{told}");
        }
    }
    let done = names(&point.path("done"));
    let (lost, left) = (names(&point.path("taken")), names(&point.path("queue")));
    assert_eq!(left, Vec::<String>::new(), "{told}");
    assert!(lost.len() <= unseen, "{lost:?}, {unseen} unseen: {told}");
    for number in 1..=jobs {
        let times =
            done.iter().filter(|name| name.split_once('.').is_some_and(|(id, _)| id == number.to_string()));
        let expected = usize::from(!lost.contains(&number.to_string()));
        assert_eq!(times.count(), expected, "job {number}: {told}");
    }
    assert_eq!(names(&point.path("execute")), Vec::<String>::new(), "{told}");
    let kept = names(&point.path("log/htc-slot-run"));
    assert!(!kept.contains(&"control".to_owned()), "{kept:?}");
}

#[test]
fn all_jobs_of_a_partitionable_slot_go_back_when_the_runner_is_killed() {
    let mut point = Point::new()
        .knob("SLOT_TYPE_1_PARTITIONABLE = True")
        // A dynamic slot would ask for the second job, and refuse it.
        .hook(
            "fetch",
            "#!/bin/sh\ncase $(cat) in *'DynamicSlot = true'*) exit 0;; esac\nfor file in \"$HOME\"/queue/*; do\n  \
             [ -e \"$file\" ] || exit 0\n  mv \"$file\" \"$HOME/taken/\"\n  exec cat \"$HOME/taken/${file##*/}\"\ndone\n",
        )
        .hook("starter", "#!/bin/sh\ncat > /dev/null\nexec sleep 1000\n")
        .arguments([]);
    for id in ["1", "2"] {
        let ad = format!(
            "ClusterId = {id}\nProcId = 0\nCmd = \"/bin/true\"\nOwner = \"nobody\"\nRequestCpus = 1\nRequestMemory = 1\n\
             RequestDisk = 1\n"
        );
        point = point.job(id, &ad);
    }
    let mut child = point.start();
    for slot in ["slot1_1", "slot1_2"] {
        point.wait_for(&mut child, &[("event", "state"), ("slot", slot), ("activity", "Busy")]);
    }
    child.kill().unwrap();
    child.wait().unwrap();
    let point = point.arguments(["--once"]);
    let run = point.run();
    for id in ["1", "2"] {
        let ad = format!("ClusterId = {id}\n");
        let evicted = point.told("evict");
        assert_eq!(evicted.iter().filter(|text| text.contains(&ad)).count(), 1, "{id}: {}", run.stderr);
    }
}

/// 25.14 tells nobody: the claim takes its next job, and the one before is forgotten.
#[test]
fn a_job_whose_starter_was_killed_goes_back_before_its_claim_takes_the_next() {
    let job = |id: &str| format!("ClusterId = {id}\nProcId = 0\nCmd = \"/bin/true\"\nOwner = \"nobody\"\n");
    let starter = "#!/bin/sh\ncat > \"$HOME/job\"\ngrep -q 'ClusterId = 1$' \"$HOME/job\" && kill -9 $$\ncat \"$HOME/job\"\n\
                   echo 'ExitBySignal = false'\necho 'ExitCode = 0'\n";
    let point = Point::new().job("1", &job("1")).job("2", &job("2")).hook("starter", starter);
    let run = point.run();
    let evicted = point.told("evict");
    assert_eq!(evicted.iter().filter(|text| text.contains("ClusterId = 1\n")).count(), 1, "{}", run.stderr);
    assert_eq!(run.count(&[("event", "job"), ("job", "2.0"), ("verdict", "succeeded")]), 1, "{}", run.stderr);
}

#[test]
fn a_second_runner_on_one_directory_says_who_holds_it() {
    let point = Point::new().knob("FetchWorkDelay = 300").arguments([]);
    let mut first = point.start();
    point.wait_for(&mut first, &[("event", "verdict"), ("verdict", "no work")]);
    let mut command = point.command();
    let second = command.output().unwrap();
    let stderr = String::from_utf8_lossy(&second.stderr);
    assert_eq!(second.status.code(), Some(3), "{stderr}");
    assert!(stderr.contains(&format!("is in use by process {}", first.id())), "{stderr}");
    assert!(stderr.contains("another execution point runs with this LOG"), "{stderr}");
    first.kill().unwrap();
    first.wait().unwrap();
}

#[test]
fn a_reply_whose_end_nobody_saw_is_unknown_and_not_called_again_and_the_job_goes_back_once() {
    let job = "ClusterId = 3\nProcId = 0\nCmd = \"/bin/true\"\nOwner = \"nobody\"\n";
    let point = Point::new()
        .job("3", job)
        .hook("reply", "#!/bin/sh\ncat > /dev/null\necho \"$@\" >> \"$HOME/out/replies\"\nexec sleep 1000\n")
        .hook("starter", "#!/bin/sh\ncat > /dev/null\nexec sleep 1000\n")
        .arguments([]);
    let mut child = point.start();
    point.wait_for(&mut child, &[("event", "state"), ("activity", "Busy")]);
    while !point.path("out/replies").exists() {
        std::thread::sleep(Duration::from_millis(5));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    let point = point.arguments(["--once"]);
    let run = point.run();
    let unknown: Vec<_> = run.events.iter().filter(|event| event["verdict"] == "unknown").collect();
    assert_eq!(unknown.len(), 1, "{}", run.stderr);
    let reason = unknown[0]["reason"].as_str().unwrap();
    assert!(reason.starts_with("REPLY_FETCH accept began in a run that was killed"), "{reason}");
    assert_eq!(unknown[0]["job"], "3.0");
    let ad = reason.rsplit('\'').nth(1).unwrap();
    let ad = std::fs::read_to_string(ad).unwrap();
    assert!(ad.contains("ClusterId = 3\n") && !ad.contains("ClaimId"), "{ad}");
    assert_eq!(std::fs::read_to_string(point.path("out/replies")).unwrap(), "accept\n");
    let evicted = point.told("evict");
    assert_eq!(evicted.iter().filter(|text| text.contains("ClusterId = 3\n")).count(), 1, "{evicted:?}");
    assert!(!std::fs::read_to_string(point.path("log/htc-slot-run/journal")).unwrap().contains("ClaimId"));
}
