//! Tests of the process `htc-slot-run`: the input of hooks and starters, the handling of their faults, and the end of a run.

use crate::support::point::Point;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::process::{Child, Stdio};

pub(super) const JOB: &str = "ClusterId = 1\nProcId = 0\nCmd = \"/bin/true\"\nOwner = \"nobody\"\n";

pub(super) fn signal(child: &Child, signal: Signal) {
    kill(Pid::from_raw(i32::try_from(child.id()).unwrap()), signal).unwrap();
}

#[test]
fn a_job_is_fetched_accepted_run_and_its_claim_released_once() {
    let point = Point::new().job("1", JOB);
    let run = point.run();
    assert_eq!(run.status, Some(0), "{}", run.stderr);
    assert_eq!(
        run.states("slot1"),
        "Unclaimed/Idle Claimed/Idle Claimed/Busy Claimed/Idle Preempting/Vacating Owner/Idle Unclaimed/Idle"
    );
    assert_eq!(point.recorded_files("reply.words"), ["accept\n"]);
    let reply = point.recorded_files("reply.").into_iter().find(|text| text.contains("-----")).unwrap();
    let evict = point.recorded_files("evict.").into_iter().find(|text| text.contains("-----")).unwrap();
    let (job, slot) = reply.split_once("-----\n").unwrap();
    assert!(job.starts_with("ClusterId = 1\nCmd = \"/bin/true\"\nHookKeyword = \"T\"\nOwner"), "{job}");
    assert!(job.contains("RequestCpus = 1\nRequestDisk = 1\nRequestMemory = 1\n"), "{job}");
    assert!(slot.starts_with("AcceptedWhileDraining = false\n"), "{slot}");
    // The claim id in REPLY_FETCH is that of the claim that is given up later; the line can be parsed as an ad.
    let claim = |text: &str| text.lines().last().unwrap().to_owned();
    assert!(claim(&reply).starts_with("ClaimId = \"<") && claim(&reply).ends_with('"'));
    assert_eq!(claim(&reply), claim(&evict));
    assert!(!run.stderr.contains(claim(&reply).rsplit_once('#').unwrap().1), "the secret was printed");
    assert_eq!(std::fs::read_dir(point.path("execute")).unwrap().count(), 0);
    let left: Vec<_> =
        std::fs::read_dir(point.path("")).unwrap().flatten().map(|it| it.file_name()).collect();
    assert!(!left.iter().any(|name| name.to_string_lossy().starts_with("htc-slot-run.")), "{left:?}");
}

#[test]
fn a_starter_gets_the_arguments_and_the_job_of_the_reference() {
    let starter = "#!/bin/sh\necho \"$@\" > \"$HOME/words\"\ncat > \"$HOME/stdin\"\n\
                   echo \"$_CONDOR_EXECUTE\" > \"$HOME/where\"\nexit 3\n";
    let point = Point::new().job("1", JOB).hook("starter", starter);
    let run = point.run();
    assert_eq!(run.status, Some(1), "a foreign starter's status is the job's: {}", run.stderr);
    let read = |name: &str| std::fs::read_to_string(point.path(name)).unwrap();
    assert_eq!(read("words"), "-f -a slot1 -job-input-ad -\n");
    assert!(read("stdin").ends_with("RequestMemory = 1\n"));
    assert_eq!(read("where"), format!("{}\n", point.path("execute").display()));
}

/// The configured starter is another program, so its capabilities are unknown.
#[test]
fn unsupported_settings_are_named_at_the_start_of_a_run() {
    let point = Point::new()
        .job("1", JOB)
        .parameter("HIBERNATION_PLUGIN = /no/plugin\nHIBERNATION_PLUGIN_ARGS = -x\nHIBERNATE_CHECK_INTERVAL = 60")
        .parameter("PROPORTIONAL_SWAP_ASSIGNMENT = true\nUSE_PID_NAMESPACES = true\nSTARTD_ENFORCE_DISK_LIMITS = false")
        .parameter("SCHEDD_INTERVAL = 60\nCOLLECTOR_HOST = nobody\nJOB_ROUTER_NAME = other");
    let run = point.run();
    assert_eq!(run.status, Some(0), "{}", run.stderr);
    let warnings: Vec<&str> = run.stderr.lines().filter(|line| line.contains("unsupported here")).collect();
    assert_eq!(warnings.len(), 1, "{}", run.stderr);
    let begin = "PROPORTIONAL_SWAP_ASSIGNMENT is unsupported here: the startd of a pool would divide";
    assert!(warnings[0].contains(begin), "{}", warnings[0]);
    let plugin = "the hibernation plugin '/no/plugin' cannot be used: 'ad' failed: No such file";
    assert!(run.stderr.contains(plugin), "{}", run.stderr);
    assert!(run.stderr.contains("2 settings have no effect here"), "{}", run.stderr);
}

/// The hooks are located below `$(CONFIG_ROOT)`, and the execution point runs in another directory.
#[test]
fn a_configuration_named_by_a_relative_path_is_found_by_its_hooks() {
    let mut point = Point::new().job("1", JOB);
    point.config_name = "config".into();
    let mut command = point.command();
    let child =
        command.current_dir(point.path("")).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let run = point.end(child);
    assert_eq!(run.count(&[("event", "job"), ("verdict", "succeeded")]), 1, "{}", run.stderr);
}

#[test]
fn with_one_processor_the_starter_does_not_get_its_slot_name() {
    let starter = "#!/bin/sh\ncat >/dev/null\necho \"$@\" > \"$HOME/words\"\n";
    let point = Point::new().job("1", JOB).parameter("NUM_CPUS = 1").hook("starter", starter);
    assert_eq!(point.run().status, Some(0));
    assert_eq!(std::fs::read_to_string(point.path("words")).unwrap(), "-f -job-input-ad -\n");
}

#[test]
fn many_jobs_on_many_slots_are_each_run_once() {
    // A busy slot fetches as well, and the hooks lose a job that the slot then refuses because of its rank.
    let mut point = Point::new()
        .parameter("NUM_CPUS = 4")
        .parameter("FetchWorkDelay = Activity == \"Busy\" ? 300 : 0")
        .parameter("NUM_SLOTS_TYPE_1 = 4")
        .parameter("SLOT_TYPE_1 = 25%")
        .hook("starter", "#!/bin/sh\ncat > \"$HOME/out/job.$$\"\n");
    for number in 0..40 {
        point = point.job(&format!("{number:03}"), &format!("{JOB}ClusterId = {number}\n"));
    }
    let run = point.run();
    assert_eq!(run.status, Some(0), "{}", run.stderr);
    assert_eq!(run.count(&[("event", "job"), ("verdict", "succeeded")]), 40);
    let mut ids: Vec<String> = point
        .recorded_files("job.")
        .iter()
        .map(|ad| ad.lines().find(|line| line.starts_with("ClusterId")).unwrap().to_owned())
        .collect();
    ids.sort();
    ids.dedup();
    assert_eq!(ids.len(), 40);
}

/// Hooks often return no work while a job runs; with --once, the slot fetches again after the job has ended.
#[test]
fn no_work_for_a_busy_slot_is_not_the_end_of_once() {
    let fetch = "#!/bin/sh\ngrep -q '^Activity = \"Idle\"' || { : > \"$HOME/out/asked\"; exit 0; }\n\
                 for file in \"$HOME\"/queue/*; do\n  [ -e \"$file\" ] || exit 0\n  mv \"$file\" \"$HOME/taken/\"\n  \
                 exec cat \"$HOME/taken/${file##*/}\"\ndone\n";
    let starter = "#!/bin/sh\ncat > /dev/null\nuntil [ -e \"$HOME/out/asked\" ]; do sleep 0.05; done\n";
    let point = Point::new()
        .job("1", JOB)
        .job("2", &format!("{JOB}ClusterId = 2\n"))
        .hook("fetch", fetch)
        .hook("starter", starter);
    let run = point.run();
    assert!(point.path("out/asked").exists(), "the busy slot was never asked: {}", run.stderr);
    assert_eq!(run.count(&[("event", "job"), ("verdict", "succeeded")]), 2, "{}", run.stderr);
}

#[test]
fn the_refusal_of_a_job_by_start_is_reported() {
    let point = Point::new()
        .job("1", &format!("{JOB}RequestMemory = 5000\n"))
        .parameter("START = Owner == \"nobody\" && TARGET.RequestMemory <= MY.Memory");
    let run = point.run();
    assert_eq!(run.status, Some(0));
    assert_eq!(point.recorded_files("reply.words"), ["reject\n"]);
    let expected =
        "TARGET.RequestMemory <= MY.Memory is false (TARGET.RequestMemory = 5000, MY.Memory = 1024)";
    assert_eq!(run.count(&[("verdict", "rejected"), ("reason", expected)]), 1, "{}", run.stderr);
    let refused = point.recorded_files("reply.").into_iter().find(|text| text.contains("-----")).unwrap();
    assert!(!refused.contains("ClaimId"));
}

/// Faulty fetch hooks are called beside a working slot, which they must not affect. Each fault has its own message.
#[test]
fn bad_fetch_hooks_are_reported_and_other_slots_continue() {
    let cases: [(&str, &str, &str); 9] = [
        ("half an ad", "#!/bin/sh\necho 'Cmd = \"/bin/true\"'\necho 'Args = \"half'\n", "bad value"),
        ("a line that is none", "#!/bin/sh\necho 'Cmd = \"/bin/true\"'\necho hello\n", "no `=` in the line"),
        ("too much", "#!/bin/sh\nexec yes 'A = 1'\n", "longer than PIPE_BUFFER_MAX"),
        ("no interpreter", "#!/no/such/interpreter\n", "/no/such/interpreter"),
        ("killed", "#!/bin/sh\nkill -9 $$\n", "no work"),
        ("closes its output", "#!/bin/sh\nexec >&-\nexit 7\n", "no work"),
        ("does not read", "#!/bin/sh\nexec <&-\nexit 0\n", "no work"),
        ("blank", "#!/bin/sh\necho; echo '   '\n", "only white space"),
        ("complains", "#!/bin/sh\necho 'out of cheese' >&2\n", ": out of cheese"),
    ];
    for (name, text, said) in cases {
        let point = Point::new()
            .parameter("NUM_SLOTS_TYPE_1 = 2")
            .parameter("SLOT_TYPE_1 = 50%")
            .parameter("SLOT2_JOB_HOOK_KEYWORD = BAD")
            .parameter("BAD_HOOK_FETCH_WORK = $(CONFIG_ROOT)/hooks/bad")
            .hook("bad", text)
            .job("1", JOB);
        let run = point.run();
        // If a hook could not be called or was killed, it is unknown whether there was work or a job was taken.
        let status = i32::from(matches!(name, "no interpreter" | "killed"));
        assert_eq!(run.status, Some(status), "{name}: {}", run.stderr);
        assert!(run.stderr.contains(said), "{name}: '{said}' is not in\n{}", run.stderr);
        assert_eq!(run.count(&[("event", "job"), ("slot", "slot1"), ("verdict", "succeeded")]), 1, "{name}");
    }
}

#[test]
fn refused_hook_paths_are_named_with_a_correction() {
    use std::os::unix::fs::PermissionsExt;
    let point = Point::new().job("1", JOB);
    let mode = |name: &str, bits| {
        std::fs::set_permissions(point.path(name), std::fs::Permissions::from_mode(bits)).unwrap();
    };
    mode("hooks/reply", 0o777);
    mode("hooks/evict", 0o644);
    let run = point.run();
    assert_eq!(run.status, Some(0));
    assert!(run.stderr.contains("T_HOOK_REPLY_FETCH") && run.stderr.contains("chmod o-w"), "{}", run.stderr);
    assert!(run.stderr.contains("T_HOOK_EVICT_CLAIM") && run.stderr.contains("chmod u+x"), "{}", run.stderr);
    assert!(point.recorded_files("reply").is_empty() && point.recorded_files("evict").is_empty());
    // A directory is rejected because it is a directory, not because of its mode.
    std::fs::remove_file(point.path("hooks/reply")).unwrap();
    std::fs::create_dir(point.path("hooks/reply")).unwrap();
    mode("hooks/reply", 0o777);
    let run = point.run();
    assert!(run.stderr.contains("it is a directory; write the path of a program in it"), "{}", run.stderr);
    mode("hooks", 0o777);
    let run = point.run();
    assert!(run.stderr.contains("T_HOOK_FETCH_WORK"), "{}", run.stderr);
    assert_eq!(run.count(&[("event", "hook-start")]), 0);
}

#[test]
fn a_fetch_hook_killed_by_its_time_limit_is_not_a_failed_start() {
    // The first call hangs, and the second returns the job. A slot that stopped fetching would never get the job.
    let hook = "#!/bin/sh\nif mkdir \"$HOME/out/first\" 2>/dev/null; then exec sleep 1000; fi\n\
                mv \"$HOME/queue/1\" \"$HOME/taken/\" 2>/dev/null && exec cat \"$HOME/taken/1\"\n";
    for quirks in ["none", "reference"] {
        let arguments = ["--hook-timeout", "0.5", "--quirks", quirks, "--max-jobs", "1", "--timeout", "20"];
        let point = Point::new()
            .job("1", JOB)
            .hook("fetch", hook)
            .parameter("UPDATE_INTERVAL = 1")
            .arguments(arguments);
        let run = point.run();
        assert_eq!(run.count(&[("event", "hook-failed"), ("reason", "--hook-timeout")]), 1, "{}", run.stderr);
        assert_eq!(run.count(&[("event", "job"), ("verdict", "succeeded")]), 1, "{quirks}: {}", run.stderr);
        assert!(!run.stderr.contains("fetch-stops-after-spawn-failure"), "{}", run.stderr);
    }
}

#[test]
fn a_grandchild_that_holds_the_output_open_is_not_waited_for() {
    let hook = format!(
        "#!/bin/sh\nsleep 1000 &\ncat <<'END'\n{JOB}END\nmv \"$HOME/queue/1\" \"$HOME/taken\" || true\n"
    );
    let point = Point::new().hook("fetch", &hook).arguments(["--max-jobs", "1"]);
    let begun = std::time::Instant::now();
    let run = point.run();
    assert_eq!(run.status, Some(0), "{}", run.stderr);
    assert_eq!(run.count(&[("event", "job"), ("verdict", "succeeded")]), 1);
    assert!(begun.elapsed() < crate::support::children::LONG);
}

#[test]
fn a_bad_configuration_is_one_message_with_its_place_and_status_3() {
    for (line, said) in [
        ("START = Memory >", "START"),
        ("SLOT_TYPE_1 = cpus=abc", "expected auto, min, a number"),
        ("SLOT_TYPE_1 = wheels=4", "no resource wheels"),
        ("EXECUTE = /no/such/directory", "create that directory"),
        ("NUM_CPUS = 0", "set it to 1 or more"),
        ("STARTER = /no/such/starter", "there is no file"),
        ("SLOT_TYPE_1 = cpus=50\nSLOT_CONFIG_FAILURE_MODE = ABORT", "Not enough Cpus"),
        ("not a valid statement", "config"),
    ] {
        let run = Point::new().parameter(line).run();
        assert_eq!(run.status, Some(3), "{line}: {}", run.stderr);
        assert!(run.stderr.contains(said), "{line}: '{said}' is not in\n{}", run.stderr);
        assert!(!run.stderr.contains("panicked"), "{}", run.stderr);
    }
}

#[test]
fn old_scratch_directories_are_removed_and_foreign_files_kept() {
    let point = Point::new();
    std::fs::create_dir(point.path("execute/dir_999999999")).unwrap();
    std::fs::write(point.path("execute/dir_999999999/file"), "x").unwrap();
    std::fs::write(point.path("execute/mine"), "x").unwrap();
    let run = point.run();
    assert_eq!(run.status, Some(0));
    assert!(point.path("execute/mine").exists() && !point.path("execute/dir_999999999").exists());
    assert!(run.stderr.contains("execute-emptied"), "{}", run.stderr);
}

#[test]
fn a_scratch_directory_of_a_running_process_is_kept_and_reported() {
    let point = Point::new();
    let own = std::process::id();
    let name = format!("execute/dir_{own}");
    std::fs::create_dir(point.path(&name)).unwrap();
    let run = point.run();
    assert!(point.path(&name).exists());
    assert!(run.stderr.contains(&format!("belongs to the running process {own}")), "{}", run.stderr);
    assert!(!run.stderr.contains("no starter has left"), "{}", run.stderr);
}

#[test]
fn a_partitionable_slot_gives_each_job_its_request() {
    let mut point = Point::new()
        .parameter("NUM_CPUS = 4")
        .parameter("SLOT_TYPE_1_PARTITIONABLE = True")
        .parameter("FetchWorkDelay = ifThenElse(SlotType == \"Partitionable\", 0, 300)")
        .hook("starter", "#!/bin/sh\ncat > /dev/null\nsleep 0.5\n")
        .arguments(["--max-jobs", "3", "--timeout", "60"]);
    for number in 1..=3 {
        let ad =
            format!("{JOB}ClusterId = {number}\nRequestCpus = 1\nRequestMemory = 100\nRequestDisk = 100\n");
        point = point.job(&number.to_string(), &ad);
    }
    let run = point.run();
    assert_eq!(run.status, Some(0), "{}", run.stderr);
    assert_eq!(run.count(&[("event", "job"), ("slot", "slot1_"), ("verdict", "succeeded")]), 3);
    assert!(run.count(&[("event", "state"), ("slot", "slot1_"), ("state", "Delete")]) >= 1, "{}", run.stderr);
}

const OWN_STARTER: &str = env!("CARGO_BIN_EXE_htc-starter-run");

/// Waits for the end of a process that must not hang, and returns its exit status.
fn ends(child: &mut Child) -> std::process::ExitStatus {
    let begun = std::time::Instant::now();
    loop {
        if let Some(status) = child.try_wait().unwrap() {
            return status;
        }
        if begun.elapsed() > crate::support::children::LONG {
            let _ = child.kill();
            panic!("it hangs");
        }
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
}

#[test]
fn readers_of_messages_and_events_are_not_waited_for() {
    let mut point = Point::new()
        .parameter("NUM_CPUS = 4")
        .parameter("NUM_SLOTS_TYPE_1 = 4")
        .parameter("SLOT_TYPE_1 = 25%");
    point = point.parameter("FetchWorkDelay = Activity == \"Busy\" ? 300 : 0");
    for number in 0..120 {
        point = point.job(&format!("{number:03}"), &format!("{JOB}ClusterId = {number}\n"));
    }
    // The output on standard error is larger than a pipe's buffer, and no process reads it.
    let mut child = point.start();
    assert_eq!(ends(&mut child).code(), Some(0));
    let done = |event: &&serde_json::Value| {
        crate::support::point::is(event, &[("event", "job"), ("verdict", "succeeded")])
    };
    assert_eq!(point.events().iter().filter(done).count(), 120);

    // No process has opened the FIFO for reading.
    let mut point = Point::new().job("1", JOB);
    let fifo = point.path("fifo");
    nix::unistd::mkfifo(&fifo, nix::sys::stat::Mode::S_IRWXU).unwrap();
    point.events_to = Some(fifo.display().to_string());
    let mut child = point.start();
    assert_eq!(ends(&mut child).code(), Some(0));
    assert_eq!(point.recorded_files("reply.words"), ["accept\n"]);
}

/// Starters do not have the descriptor, so their events are passed on.
#[test]
fn a_descriptor_gets_the_events_of_starters_with_their_slot() {
    let exit = "#!/bin/sh\ncat > /dev/null\necho \"$_CONDOR_SLOT\" > \"${0%/*}/../out/slot\"\n";
    let mut point = Point::new().job("1", JOB).parameter("NUM_CPUS = 1").hook("exit", exit);
    point = point.parameter("T_HOOK_JOB_EXIT = $(CONFIG_ROOT)/hooks/exit");
    point = point.arguments(["--once", "--starter", OWN_STARTER]);
    for (to, redirection) in [
        ("fd:3", "3>>\"$HOME/events\""),
        ("fd:9", "9>\"$HOME/fifo\" &\n cat \"$HOME/fifo\" >> \"$HOME/events\"; wait $!"),
    ] {
        let _ = std::fs::remove_file(point.path("fifo"));
        nix::unistd::mkfifo(&point.path("fifo"), nix::sys::stat::Mode::S_IRWXU).unwrap();
        std::fs::write(point.path("queue/1"), JOB).unwrap();
        point.events_to = Some(to.into());
        let inner = point.command();
        let script = format!("\"$0\" \"$@\" {redirection}");
        let mut shell = std::process::Command::new("/bin/sh");
        shell.env_clear().envs(inner.get_envs().filter_map(|(name, value)| Some((name, value?))));
        shell.args(["-c", &script]).arg(inner.get_program()).args(inner.get_args());
        let child = shell.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        let run = point.end(child);
        assert_eq!(run.status, Some(0), "{to}: {}", run.stderr);
        let of_starter = [("event", "hook-start"), ("hook", "JOB_EXIT"), ("slot", "slot1")];
        assert_eq!(run.count(&of_starter), 1, "{to}: {:?}", run.events);
        assert_eq!(run.count(&[("event", "stop")]), 1, "{to}: {:?}", run.events);
        // On a machine with one processor, the job and its hooks do not get the slot's name.
        assert_eq!(std::fs::read_to_string(point.path("out/slot")).unwrap(), "\n");
    }
}

/// Each starter reads the configuration again, so an error that is introduced while the slots run must not lose a job.
#[test]
fn while_the_configuration_is_broken_no_job_is_fetched() {
    let point = Point::new()
        .parameter("STARTD_CRON_JOBLIST = BEAT")
        .parameter("STARTD_CRON_BEAT_EXECUTABLE = $(CONFIG_ROOT)/hooks/beat")
        .parameter("STARTD_CRON_BEAT_PERIOD = 1")
        .hook("beat", "#!/bin/sh\necho 'Beat = 1'\n")
        .arguments([]);
    let mut child = point.start();
    point.wait_for(&mut child, &[("event", "verdict"), ("verdict", "no work")]);
    let config = std::fs::read_to_string(point.path("config")).unwrap();
    std::fs::write(point.path("config"), format!("{config}not a valid statement\n")).unwrap();
    std::fs::write(point.path("queue/1"), JOB).unwrap();
    point.wait_for(&mut child, &[("event", "warning"), ("reason", "no starter could run it")]);
    // The cron job BEAT runs every second, so the test waits for times at which the slot would have fetched.
    let beats = || {
        let told = [("event", "cron-published"), ("cron", "BEAT")];
        point.events().iter().filter(|event| crate::support::point::is(event, &told)).count()
    };
    let begun = beats();
    assert!(crate::router::live::waits_for(|| beats() > begun + 2), "{:?}", point.events());
    assert!(point.path("queue/1").exists(), "{:?}", point.events());
    std::fs::write(point.path("config"), &config).unwrap();
    point.wait_for(&mut child, &[("event", "warning"), ("reason", "jobs are fetched again")]);
    point.wait_for(&mut child, &[("event", "job"), ("verdict", "succeeded")]);
    signal(&child, Signal::SIGTERM);
    let run = point.end(child);
    assert_eq!(run.status, Some(0), "{}", run.stderr);
    assert_eq!(point.recorded_files("reply.words"), ["accept\n"]);
}

#[test]
fn starter_parameters_are_checked_before_the_first_fetch() {
    let point = Point::new().job("1", JOB).parameter("STARTER_UPDATE_INTERVAL = abc");
    let point = point.arguments(["--once", "--starter", OWN_STARTER]);
    let run = point.run();
    assert_eq!(run.status, Some(3), "{}", run.stderr);
    assert!(run.stderr.contains("STARTER_UPDATE_INTERVAL"), "{}", run.stderr);
    assert!(point.path("queue/1").exists());
}

/// The error is introduced at the last possible time, between the fetch and the start of the starter.
#[test]
fn a_starter_with_a_bad_parameter_calls_the_exit_hook() {
    let exit = "#!/bin/sh\ncat > /dev/null\necho \"$1\" > \"$HOME/out/exit\"\n";
    let point = Point::new().parameter("STARTER_UPDATE_INTERVAL = abc").hook("exit", exit);
    let point = point.parameter("T_HOOK_JOB_EXIT = $(CONFIG_ROOT)/hooks/exit");
    drop(point.command());
    std::fs::write(point.path("ad"), format!("{JOB}HookKeyword = \"T\"\n")).unwrap();
    let output = std::process::Command::new(OWN_STARTER)
        .env_clear()
        .env("PATH", "/usr/bin:/bin")
        .env("HOME", point.path(""))
        .env("CONDOR_IDS", "65534.65534")
        .env("_HTC_STARTER_DIR", point.path("log"))
        .args(["--config-file".as_ref(), point.path("config").as_os_str()])
        .args(["--ads".as_ref(), point.path("ad").as_os_str()])
        .output()
        .unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{stderr}");
    assert!(stderr.contains("STARTER_UPDATE_INTERVAL"), "{stderr}");
    assert_eq!(std::fs::read_to_string(point.path("out/exit")).unwrap(), "evict\n", "{stderr}");
}

#[test]
fn a_program_that_cannot_be_executed_is_reported_with_the_cause() {
    let run = Point::new().hook("fetch", "\u{7f}ELF is what it begins with\n").run();
    let expected = [("event", "hook-failed"), ("hook", "FETCH_WORK"), ("reason", "Exec format error")];
    assert!(run.count(&expected) >= 1, "{}", run.stderr);
    for (path, said) in [("/no/such/starter", "is not a file"), ("/etc/passwd", "cannot be executed")] {
        let point = Point::new().job("1", JOB).arguments(["--once", "--starter", path]);
        let run = point.run();
        assert_eq!(run.status, Some(3), "{}", run.stderr);
        assert!(run.stderr.contains(said) && point.path("queue/1").exists(), "{}", run.stderr);
    }
}

/// The daemon runs in LOG: a relative path is checked and executed there, whatever directory the daemon was started in.
#[test]
fn a_relative_path_of_a_hook_is_below_log() {
    let point = Point::new().job("1", JOB).parameter("T_HOOK_FETCH_WORK = ../hooks/fetch");
    let run = point.run();
    assert_eq!(run.count(&[("event", "job"), ("verdict", "succeeded")]), 1, "{}", run.stderr);
}

/// 25.14 evaluates attributes that it copies from a fetched job, and leaves existing ones unchanged. ConcurrencyLimits are
/// published only for claims of schedds (`loadRequestInfo`).
#[test]
fn attributes_of_a_fetched_job_may_be_expressions() {
    let job = "ClusterId = 40 + 2\nProcId = 1 * 3\nCmd = \"/bin/true\"\nOwner = strcat(\"no\", \"body\")\n\
               User = strcat(\"nobody\", \"@x\")\nHookKeyword = strcat(\"K\", \"2\")\nGlobalJobId = strcat(\"a\", \"#b\")\n\
               AccountingGroup = strcat(\"g\", \".h\")\nConcurrencyLimits = \"l1\"\n";
    let fetch = "#!/bin/sh\ncat > \"$HOME/out/ad\"\nif grep -q '^Activity = \"Busy\"' \"$HOME/out/ad\"; then\n  \
                 mv \"$HOME/out/ad\" \"$HOME/out/busy\"; exit 0\nfi\n[ -e \"$HOME/queue/1\" ] || exit 0\n\
                 mv \"$HOME/queue/1\" \"$HOME/taken/\"; exec cat \"$HOME/taken/1\"\n";
    let starter = "#!/bin/sh\ncat > \"$HOME/out/job\"\ni=0\nwhile [ ! -e \"$HOME/out/busy\" ] && [ $i -lt 200 ]; do\n  \
                   sleep 0.05; i=$((i+1))\ndone\n";
    let point = Point::new().job("1", job).hook("fetch", fetch).hook("starter", starter);
    let run = point.run();
    assert_eq!(run.count(&[("event", "starter"), ("job", "42.3")]), 2, "{}", run.stderr);
    let read = |name: &str| std::fs::read_to_string(point.path(name)).unwrap();
    assert!(
        read("out/job").contains("HookKeyword = strcat(\"K\", \"2\")\n")
            || read("out/job").contains("strcat(\"K\",\"2\")")
    );
    let slot = read("out/busy");
    for line in [
        "RemoteUser = \"nobody@x\"",
        "RemoteOwner = \"nobody\"",
        "AccountingGroup = \"g.h@x\"",
        "GlobalJobId = \"a#b\"",
        "JobId = \"42.3\"",
    ] {
        assert!(slot.lines().any(|other| other == line), "{line} is not in\n{slot}");
    }
    assert!(!slot.contains("ConcurrencyLimits"), "{slot}");
}

#[test]
fn attributes_of_all_slots_are_in_the_fetch_hooks_ad() {
    let point = Point::new()
        .hook("fetch", "#!/bin/sh\ncat > \"$HOME/out/ad\"\n")
        .parameter("STARTD_ATTRS = Site")
        .parameter("Site = \"north\"")
        .parameter("STARTD_SLOT_ATTRS = Site");
    let run = point.run();
    let ad = std::fs::read_to_string(point.path("out/ad")).unwrap();
    assert!(ad.lines().any(|line| line == "slot1_Site = \"north\""), "{ad}\n{}", run.stderr);
}

/// Regression test: each line on stderr was reported as "hook failed", even after `exited 0`.
#[test]
fn output_of_a_hook_to_stderr_is_not_a_failure() {
    let point = Point::new().job("1", JOB).hook("reply", "#!/bin/sh\ncat > /dev/null\necho fine >&2\n");
    let run = point.run();
    assert_eq!(run.count(&[("event", "hook-failed")]), 0, "{}", run.stderr);
    assert_eq!(run.count(&[("event", "hook-stderr"), ("hook", "REPLY_FETCH"), ("reason", "fine")]), 1);
    assert!(run.stderr.contains(": hook stderr REPLY_FETCH pid "), "{}", run.stderr);
}

#[test]
fn a_slot_and_its_starter_name_a_job_alike() {
    let job = "Cmd = \"/bin/true\"\nOwner = \"nobody\"\nUser = \"nobody@x\"\nIwd = \"/tmp\"\n";
    let mut point = Point::new().job("1", job);
    point.arguments =
        ["--once", "--starter", env!("CARGO_BIN_EXE_htc-starter-run")].map(str::to_owned).to_vec();
    let run = point.run();
    let names: Vec<_> = run.events.iter().filter_map(|event| event.get("job")?.as_str()).collect();
    assert!(names.len() > 3 && names.iter().all(|name| *name == "1.0"), "{names:?} {}", run.stderr);
}

#[test]
fn a_job_that_two_slots_accept_is_reported() {
    // Each slot gets the same job, and the starters end when both run.
    let fetch = format!("#!/bin/sh\ncat <<end\n{JOB}end\n");
    let starter = "#!/bin/sh\ncat > /dev/null\n: > \"$HOME/out/job.$$\"\nuntil [ $(ls \"$HOME\"/out/job.* | wc -l) -ge 2 ]; \
                   do sleep 0.05; done\n";
    let point = Point::new()
        .parameter("NUM_SLOTS_TYPE_1 = 2\nSLOT_TYPE_1 = 50%")
        .hook("fetch", &fetch)
        .hook("starter", starter)
        .arguments(["--max-jobs", "2"]);
    let run = point.run();
    assert_eq!(
        run.count(&[("event", "warning"), ("reason", "an identical job is already running in slot")]),
        1,
        "{}",
        run.stderr
    );
}
