//! Tests of the limits of jobs by control groups: memory, processes, leftovers. Skipped with the reason if no group can be
//! created.

#![allow(clippy::print_stdout, reason = "a skipped test says why")]

use std::fs;
use std::path::{Path, PathBuf};

use htc_hooks::os::cgroup::ControlGroup;
use htc_hooks::process::ControlGroupSpec;
use nix::sys::signal::Signal;

use crate::support::place::{Place, read_fifo, send, shell};

/// Base of this test's control groups, which is removed when dropped.
struct Base {
    name: String,
    /// Control group that keeps the base in existence.
    trial: Option<ControlGroup>,
}

impl Base {
    /// Creates a base, or returns `None` if the group of a job with limits of memory and processes cannot be created.
    fn new(name: &str) -> Option<Self> {
        let base = format!("htc-hooks-test-{}-{name}", std::process::id());
        let spec = ControlGroupSpec {
            parent_group: base.clone(),
            name: "trial".to_owned(),
            memory_limit: Some(64 << 20),
            limits_processes: true,
            ..ControlGroupSpec::default()
        };
        let made = match nix::unistd::geteuid().is_root() {
            true => ControlGroup::create(&spec, "trial2", &mut |_| {}).map_err(|none| none.reason),
            false => Err("not root".to_owned()),
        };
        let held = made.and_then(|(trial, set)| {
            set.into_iter().try_for_each(|set| set.actual.map(drop)).map(|()| trial)
        });
        match held {
            Ok(trial) => Some(Base { name: base, trial: Some(trial) }),
            Err(reason) => {
                println!("skipped: no control groups here: {reason}");
                None
            }
        }
    }

    fn place(&self) -> Place {
        Place::new().with_recording_hooks().parameter(&format!("BASE_CGROUP = {}", self.name))
    }

    /// Returns the existing directories of the base, one in each hierarchy.
    fn directories(&self) -> Vec<PathBuf> {
        let mut found = Vec::new();
        let mut waiting = vec![(PathBuf::from("/sys/fs/cgroup"), 0)];
        while let Some((directory, depth)) = waiting.pop() {
            for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
                if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                    if entry.file_name() == self.name.as_str() {
                        found.push(entry.path());
                    } else if depth < 4 {
                        waiting.push((entry.path(), depth + 1));
                    }
                }
            }
        }
        found
    }

    /// Returns the groups below the base.
    fn groups(&self) -> Vec<PathBuf> {
        let below = |directory: &PathBuf| fs::read_dir(directory).unwrap().flatten().collect::<Vec<_>>();
        let entries = self.directories().iter().flat_map(below).collect::<Vec<_>>();
        let paths = entries.into_iter().map(|entry| entry.path());
        paths.filter(|path| path.is_dir() && !path.to_string_lossy().contains("/trial")).collect()
    }

    /// Sets a limit for all jobs together. `names` are the names of the limit in both versions of control groups.
    fn limit(&self, names: [&str; 2], value: &str) {
        let set = self.directories().iter().any(|base| {
            names
                .iter()
                .map(|name| base.join(name))
                .any(|file| file.exists() && fs::write(file, value).is_ok())
        });
        assert!(set, "no limit {names:?}");
    }
}

impl Drop for Base {
    fn drop(&mut self) {
        self.trial = None;
        if !std::thread::panicking() {
            assert_eq!(self.directories(), Vec::<PathBuf>::new(), "the base stays");
        }
    }
}

const EATS: &str = "x=a; while :; do x=$x$x; done";

#[test]
fn a_job_that_exceeds_its_memory_is_held_and_leaves_nothing() {
    let Some(base) = Base::new("eats") else { return };
    let place = base.place();
    let run = place.run(&format!("{}\nRequestMemory = 32", shell(EATS)));
    let sentence = "Job has gone over cgroup memory limit of 32 megabytes. Last measured usage: 32 megabytes.  Consider \
                    resubmitting with a higher request_memory.";
    assert!(run.has(&format!("VacateReason = \"{sentence}\"")), "{}{}", run.ad, run.stderr);
    assert!(run.has("VacateReasonCode = 34") && run.has("VacateReasonSubCode = 102"), "{}", run.ad);
    assert!(run.has("CgroupEnforced = true"), "{}", run.ad);
    assert!(run.stderr.contains("limited: memory 32 MiB"), "{}", run.stderr);
    assert!(run.calls.ends_with("exit hold\n"), "{}", run.calls);
    assert!(run.left.is_empty() && base.groups().is_empty(), "{:?}{:?}", run.left, base.groups());
}

#[test]
fn a_job_is_requeued_if_the_machine_has_no_memory_left() {
    let Some(base) = Base::new("machine") else { return };
    base.limit(["memory.max", "memory.limit_in_bytes"], "33554432");
    let place = base.place().parameter("STARTER_ALWAYS_HOLD_ON_OOM = false");
    let run = place.run(&format!("{}\nRequestMemory = 4096", shell(&format!("sleep 0.3; {EATS}"))));
    assert!(run.has("VacateReason = \"Worker node is out of memory\""), "{}{}", run.ad, run.stderr);
    assert!(run.has("VacateReasonCode = 0"), "{}", run.ad);
    assert!(run.calls.ends_with("exit evict\n"), "{}", run.calls);
    assert!(base.groups().is_empty(), "{:?}", base.groups());
}

#[test]
fn a_job_that_forks_endlessly_is_stopped_and_reported() {
    let Some(base) = Base::new("forks") else { return };
    base.limit(["pids.max", "pids.max"], "200");
    let storm = "n=0; while [ $n -lt 100 ]; do sleep 600 & n=$((n+1)); done; wait";
    let run = base.place().run(&shell(storm));
    assert!(run.stderr.contains("the job reached its limit of 30 processes"), "{}", run.stderr);
    assert_ne!(run.status, 0, "{}", run.stderr);
    assert!(run.left.is_empty() && base.groups().is_empty(), "{:?}", base.groups());
}

#[test]
fn a_job_that_hides_from_its_starter_is_found_in_its_group() {
    let Some(base) = Base::new("hides") else { return };
    let place = base.place();
    let pipe = place.pipe();
    let hidden = format!(
        "env -i /usr/bin/setsid /bin/sh -c '(/bin/sh -c \"echo hidden > {}; exec /bin/sleep 600\" &) &'",
        pipe.display()
    );
    let script = place.path("hide.sh");
    fs::write(&script, format!("#!/bin/sh\n{hidden}\nsleep 600\n")).unwrap();
    fs::set_permissions(&script, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let child = place.start(&format!("Cmd = \"{}\"", script.display()));
    assert_eq!(read_fifo(&pipe), "hidden\n");
    let group = base.groups().into_iter().next().unwrap();
    let members = members(&group);
    // The job may not have started its own sleep process yet.
    assert!(members.len() >= 2, "{members:?}");
    send(&child, Signal::SIGQUIT);
    let run = place.finish(child);
    assert!(run.left.is_empty() && base.groups().is_empty(), "{:?}{}", base.groups(), run.stderr);
    for pid in members {
        assert!(!crate::support::children::is_alive(pid), "{pid}");
    }
}

fn members(group: &Path) -> Vec<i32> {
    let inner = fs::read_dir(group).unwrap().flatten().map(|entry| entry.path()).filter(|path| path.is_dir());
    let all = inner.chain([group.to_owned()]);
    let text: String = all.map(|place| fs::read_to_string(place.join("cgroup.procs")).unwrap()).collect();
    text.lines().map(|pid| pid.parse().unwrap()).collect()
}

#[test]
fn words_that_set_no_limit_are_reported() {
    let Some(base) = Base::new("words") else { return };
    let ad = format!(
        "{}\nRequestMemory = 4",
        shell(EATS.replace("while :;", "while [ ${#x} -lt 9000000 ];").as_str())
    );
    let sfot = base.place().parameter("CGROUP_MEMORY_LIMIT_POLICY = sfot").run(&ad);
    let line = "CGROUP_MEMORY_LIMIT_POLICY: 'sfot' means no memory limit; the valid values are hard, soft, custom and none";
    assert!(sfot.stderr.contains(line), "{}", sfot.stderr);
    assert_eq!(sfot.status, 0, "{}", sfot.stderr);
    let custom =
        "CGROUP_MEMORY_LIMIT_POLICY = custom\nCGROUP_HARD_MEMORY_LIMIT_EXPR = TARGET.RequestMemory * ";
    let none = base.place().parameter(&format!("{custom} -1")).run(&ad);
    assert!(none.stderr.contains("TARGET.RequestMemory *  -1 is -4: no memory limit"), "{}", none.stderr);
    assert_eq!(none.status, 0, "{}", none.stderr);
    let held = base.place().parameter(&format!("{custom} 1.5")).run(&ad);
    assert!(held.stderr.contains("limited: memory 6 MiB"), "{}", held.stderr);
    assert!(held.has("VacateReasonCode = 34"), "{}{}", held.ad, held.stderr);
}

/// 25.14 ends with an exception when it creates the group (`param_longlong`).
#[test]
fn an_invalid_limit_prevents_the_start_of_a_job_with_control_groups() {
    let custom = "CGROUP_MEMORY_LIMIT_POLICY = custom\nCGROUP_HARD_MEMORY_LIMIT_EXPR = TARGET.No";
    let least = i64::MIN;
    for (parameters, words) in [
        ("CGROUP_LOW_MEMORY_LIMIT = foo(", "Invalid expression for CGROUP_LOW_MEMORY_LIMIT (foo() in condor configuration.  Please set it to an integer expression in the range 0 to 9223372036854775807 (default 0).".to_owned()),
        (custom, format!("Invalid result (not an integer) for CGROUP_HARD_MEMORY_LIMIT_EXPR (TARGET.No) in condor configuration.  Please set it to an integer expression in the range {least} to 9223372036854775807 (default 0).")),
    ] {
        let job = format!("{}\nStarterUserLog = \"log\"", shell("echo job >> calls"));
        if let Some(base) = Base::new("numbers") {
            let place = base.place().parameter(parameters);
            let run = place.run(&job);
            assert_eq!((run.status, run.calls.as_str()), (1, "prepare\nexit evict\n"), "{}", run.stderr);
            assert!(run.stderr.contains(&format!("{words} (")) && run.stderr.contains(", line "), "{}", run.stderr);
            let log = fs::read_to_string(place.path("iwd/log")).unwrap();
            assert!(!log.contains("001 ") && log.contains(&words), "{log}");
        }
        // Without control groups, their limits are not evaluated.
        let place = Place::new().with_recording_hooks().parameter(&format!("BASE_CGROUP =\n{parameters}"));
        let run = place.run(&job);
        assert_eq!((run.status, run.calls.as_str()), (0, "prepare\njob\nexit exit\n"), "{}", run.stderr);
    }
}

#[test]
fn one_line_says_why_no_control_group_can_be_created() {
    let place = Place::new().with_recording_hooks().parameter(&format!("BASE_CGROUP = {}", "x".repeat(5000)));
    let run = place.run(&format!("{}\nRequestMemory = 4", shell("exit 0")));
    let lines = run.stderr.lines().filter(|line| line.contains("control group")).count();
    assert_eq!((run.status, lines), (0, 1), "{}", run.stderr);
    let none = Place::new()
        .with_recording_hooks()
        .parameter("BASE_CGROUP =")
        .run(&format!("{}\nRequestMemory = 4", shell("exit 0")));
    assert!(!none.stderr.contains("control group") && !none.ad.contains("CgroupEnforced"), "{}", none.stderr);
}

/// The rehearsal shows the limits, whether or not control groups are available.
#[test]
fn a_soft_limit_is_the_memory_of_all_slots_and_25_14_sets_none() {
    let run = |quirks: &str, slot: &str| {
        let place = Place::new()
            .parameter("CGROUP_MEMORY_LIMIT_POLICY = soft\nCREATE_CGROUP_WITHOUT_ROOT = true")
            .option(&["--dry-run", "--json", "--slot-ads", "slot.ad", "--quirks", quirks]);
        fs::write(place.path("slot.ad"), format!("Name = \"slot1@h\"\nMemory = 64\n{slot}")).unwrap();
        place.run("Cmd = \"/bin/true\"\nRequestMemory = 64\nJobUniverse = 5")
    };
    let all = run("none", "TotalMemory = 1024\n");
    let memory: serde_json::Value = serde_json::from_str(&all.ad).unwrap();
    let limits = memory[0]["limits"].to_string();
    assert!(
        limits.contains("\"memory reserved for the job\"") && limits.contains("67108864 bytes"),
        "{limits}\n{}",
        all.stderr
    );
    assert!(limits.contains("1073741824 bytes"), "{limits}");
    assert!(
        all.stderr.contains("the job may use the memory of all slots")
            || all.ad.contains("soft-memory-limit-none"),
        "{}\n{}",
        all.stderr,
        all.ad
    );
    let none = run("none", "");
    let text = format!("{}{}", none.ad, none.stderr);
    assert!(text.contains("no memory limit, because no slot ad has TotalMemory"), "{text}");
    let reference = run("reference", "TotalMemory = 1024\n");
    let text = format!("{}{}", reference.ad, reference.stderr);
    assert!(text.contains("soft: no memory limit") && !text.contains("1073741824 bytes"), "{text}");
}
