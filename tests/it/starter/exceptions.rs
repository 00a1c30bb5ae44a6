//! Tests of exceptions of 25.14 for an invalid configuration or at an unexpected time, and of the documented behaviour by
//! default.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};

use nix::sys::signal::Signal;

use crate::support::place::{Place, Ran, heard, send, shell};

/// Returns the place with `--quirks reference`.
fn reference(place: Place) -> Place {
    place.option(&["--quirks", "reference"])
}

fn read(place: &Place, name: &str) -> String {
    fs::read_to_string(place.path(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

const LOG: &str = "\nStarterUserLog = \"log\"";

#[test]
fn a_bad_parameter_ends_25_14_when_it_is_read() {
    let job = || format!("{}{LOG}", shell("exit 3"));
    let run = |knob: &str| -> (Place, Ran) {
        let place = reference(Place::new().noting().knob(knob));
        let ran = place.run(&job());
        (place, ran)
    };
    // This exception occurs when the job is already running.
    let (place, ran) = run("STARTER_UPDATE_INTERVAL = abc");
    assert_eq!((ran.status, ran.calls.as_str(), ran.ad.as_str()), (4, "prepare\n", ""), "{}", ran.told);
    let log = read(&place, "iwd/log");
    assert!(log.contains("001 (007.001.000)") && log.contains("021 (007.001.000)"), "{log}");
    let text = "\tInvalid result (not an integer) for STARTER_UPDATE_INTERVAL (abc) in condor configuration.  Please set \
                it to an integer expression in the range 1 to 2147483647 (default 300).\n";
    assert!(log.contains(text), "{log}");
    assert!(ran.left.is_empty());
    // This exception occurs before event 001. JOB_EXIT is called, but the starter does not wait for it.
    let (place, ran) = run("USE_PID_NAMESPACES = maybe");
    assert_eq!(ran.status, 4, "{}", ran.told);
    let log = read(&place, "iwd/log");
    assert!(
        !log.contains("001 (") && log.contains("USE_PID_NAMESPACES in the condor configuration  is"),
        "{log}"
    );
    // This exception occurs after the job's files were opened.
    let (place, ran) = run("ENFORCE_CPU_AFFINITY = maybe");
    assert_eq!(ran.status, 4, "{}", ran.told);
    assert!(read(&place, "iwd/log").starts_with("001 ("));
    // These exceptions occur before there is a job, a hook or a log.
    for (knob, status) in [("STARTER_NESTED_SCRATCH = maybe", 0), ("PIPE_BUFFER_MAX = x", 4)] {
        let (place, ran) = run(knob);
        assert_eq!((ran.status, ran.calls.as_str()), (status, ""), "{knob}: {}", ran.told);
        assert!(!place.path("iwd/log").exists(), "{knob}");
    }
    // With this parameter, 25.14 crashes with SIGSEGV.
    let (_, ran) = run("EXECUTE =");
    assert_eq!(ran.status, 0, "{}", ran.told);
    assert!(ran.told.contains("(no-execute-crashes)"), "{}", ran.told);
    // This exception occurs when SIGTERM arrives.
    let place = reference(Place::new().noting().knob("SHUTDOWN_GRACEFUL_TIMEOUT = x"));
    let pipe = place.pipe();
    let child = place.start(&format!("{}{LOG}", shell("echo up > pipe; exec sleep 600")));
    assert_eq!(heard(&pipe), "up\n");
    send(&child, Signal::SIGTERM);
    let ran = place.finish(child);
    assert_eq!((ran.status, ran.calls.as_str(), ran.left.len()), (4, "prepare\n", 0), "{}", ran.told);
    assert!(read(&place, "iwd/log").contains("for SHUTDOWN_GRACEFUL_TIMEOUT (x)"));
    // This exception occurs twice, because handling the first one creates an environment again.
    let (place, ran) = run("STARTER_SETS_HOME_ENV = maybe");
    assert_eq!((ran.status, ran.calls.as_str(), ran.left.len()), (4, "", 1), "{}", ran.told);
    assert!(!place.path("iwd/log").exists());
    let (place, ran) = run("STARTER_REMOVE_EXECUTE_DIR_DELAY_TIME = x");
    assert_eq!((ran.status, ran.left.len()), (4, 1), "{}", ran.told);
    assert!(ran.ad.contains("ExitCode = 3"), "{}", ran.ad);
    assert!(read(&place, "iwd/log").contains("(default 0).\n"));
}

/// The results are those of 25.14 on a machine with control groups.
#[test]
fn a_bad_parameter_ends_25_14_only_if_it_is_read() {
    let run = |knobs: &str, more: &str| -> (Place, Ran) {
        let place = reference(Place::new().noting().knob(knobs));
        let ran = place.run(&format!("{}{LOG}\n{more}", shell("exit 3")));
        (place, ran)
    };
    let all = [
        "DISABLE_SWAP_FOR_JOB",
        "STARTER_HIDE_GPU_DEVICES",
        "STARTER_ALWAYS_HOLD_ON_OOM",
        "CGROUP_POLLING_INTERVAL",
    ];
    let all: Vec<String> = all.iter().map(|knob| format!("{knob} = maybe")).collect();
    let (_, ran) = run(&format!("BASE_CGROUP =\n{}", all.join("\n")), "");
    assert!(ran.has("ExitCode = 3"), "{}{}", ran.ad, ran.told);
    let local = "BASE_CGROUP =\nUSE_CGROUPS_FOR_LOCAL_UNIVERSE = maybe";
    let (_, ran) = run(local, "JobUniverse = 5");
    assert!(ran.has("ExitCode = 3"), "{}{}", ran.ad, ran.told);
    let (place, ran) = run(local, "JobUniverse = 12");
    assert_eq!(ran.status, 4, "{}", ran.told);
    let log = read(&place, "iwd/log");
    assert!(
        log.starts_with("021 (")
            && log.contains("(\"maybe\").  Please set it to True or False (default is True)\n"),
        "{log}"
    );
    // This parameter is read before the job's process is planned. Unlike for other parameters, only its first letter counts.
    let (place, ran) = run("ENCRYPT_EXECUTE_DIRECTORY = perhaps", "");
    assert_eq!(ran.status, 4, "{}", ran.told);
    assert!(read(&place, "iwd/log").starts_with("021 ("));
    let (_, ran) = run("ENCRYPT_EXECUTE_DIRECTORY = falter\nUSE_PID_NAMESPACE_INIT = maybe", "");
    assert!(ran.has("ExitCode = 3"), "{}{}", ran.ad, ran.told);
    let (_, ran) = run("ENCRYPT_EXECUTE_DIRECTORY = perhaps", "EncryptExecuteDirectory = true");
    assert!(ran.has("ExitCode = 3"), "{}{}", ran.ad, ran.told);
    // In the job's process there are two failures: one because of the setting, and one because the program could not be executed.
    let (place, _) = run("PER_JOB_NAMESPACES = maybe", "");
    let log = read(&place, "iwd/log");
    assert!(log.contains("PER_JOB_NAMESPACES in the condor") && log.contains("(errno=666669: "), "{log}");
    assert_eq!(log.matches("\n021 (").count(), 2, "{log}");
    // By default, a job with this parameter is not started.
    let ran = Place::new().noting().knob("DISABLE_SWAP_FOR_JOB = maybe").run(&shell("exit 3"));
    assert_eq!((ran.status, ran.calls.as_str()), (3, ""), "{}", ran.told);
}

#[test]
fn an_exception_without_an_exit_hook_exits_with_0() {
    let place = reference(Place::new().knob("USE_PID_NAMESPACES = maybe"));
    let ran = place.run(&format!("{}{LOG}", shell("exit 3")));
    assert_eq!((ran.status, ran.left.len()), (0, 0), "{}", ran.told);
    assert!(read(&place, "iwd/log").starts_with("021 ("));
    let place = reference(Place::new().knob("USE_PROCESS_GROUPS = maybe"));
    let ran = place.run(&format!("{}{LOG}", shell("exit 3")));
    assert_eq!(ran.status, 0, "{}", ran.told);
    let log = read(&place, "iwd/log");
    assert!(log.starts_with("001 (") && log.contains("(errno=666669: 'Unknown error 666669')"), "{log}");
}

#[test]
fn by_default_a_bad_parameter_is_reported_first() {
    for knob in
        ["STARTER_UPDATE_INTERVAL = abc", "STARTER_SETS_HOME_ENV = maybe", "ENFORCE_CPU_AFFINITY = maybe"]
    {
        let place = Place::new().noting().knob(knob);
        let ran = place.run(&shell("exit 3"));
        assert_eq!((ran.status, ran.calls.as_str(), ran.left.len()), (3, "", 0), "{knob}: {}", ran.told);
        let name = knob.split(' ').next().unwrap();
        // The message has the location of the setting. Regression test: the location was missing.
        assert!(ran.told.contains(name) && ran.told.contains(", line "), "{knob}: {}", ran.told);
    }
    if nix::unistd::geteuid().is_root() {
        for (knob, what) in [
            ("DEDICATED_EXECUTE_ACCOUNT_REGEXP = (", "'(': missing closing parenthesis"),
            ("STARTER_ALLOW_RUNAS_OWNER = 1 +", "is neither true nor false: 1 +"),
            ("TRUST_UID_DOMAIN = perhaps", "is not a valid boolean (\"perhaps\")"),
            ("TRUST_LOCAL_UID_DOMAIN = perhaps", "is not a valid boolean (\"perhaps\")"),
        ] {
            let ran = Place::new().knob(knob).option(&["--as", "shadow"]).run(&shell("exit 3"));
            let name = knob.split(' ').next().unwrap();
            assert!(
                ran.told.contains(name) && ran.told.contains(what) && ran.told.contains(", line "),
                "{knob}: {}",
                ran.told
            );
            assert!(!ran.ad.contains("ExitCode = 3"), "{knob}: {}", ran.ad);
        }
    }
}

/// As in the kernel, 25.14's negative number becomes a very large one, and -1 means no limit.
#[test]
fn a_negative_stack_size_is_a_very_large_one() {
    for (size, soft) in
        [("-1", "unlimited"), ("-5", "18014398509481983"), ("0", "unlimited"), ("8388608", "8192")]
    {
        let place = Place::new();
        let ran = place.run(&format!("{}\nOut = \"out\"\nStackSize = {size}", shell("ulimit -Ss")));
        // The hard limit of the caller may be lower.
        let hard = nix::sys::resource::getrlimit(nix::sys::resource::Resource::RLIMIT_STACK).unwrap().1;
        if hard == nix::sys::resource::RLIM_INFINITY {
            assert_eq!(read(&place, "iwd/out").trim(), soft, "{size}: {}", ran.told);
        }
    }
}

#[test]
fn a_negative_interval_is_zero() {
    let place = Place::new()
        .hook("UPDATE_JOB_INFO", "grep -c JobState >> $CALLS")
        .knob("STARTER_INITIAL_UPDATE_INTERVAL = -1");
    let pipe = place.pipe();
    let child = place.start(&shell("read x < pipe"));
    let told = || fs::read_to_string(place.path("iwd/calls")).unwrap_or_default().lines().count();
    let until = std::time::Instant::now() + std::time::Duration::from_secs(20);
    while told() < 2 && std::time::Instant::now() < until {
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    assert_eq!(told(), 2, "the first update of the job comes with its start");
    fs::write(pipe, "go\n").unwrap();
    assert_eq!(place.finish(child).status, 0);
}

#[test]
fn without_execute_25_14_calls_the_exit_hook_in_its_log_directory() {
    let place = || {
        let place = Place::new()
            .hook("JOB_EXIT", "pwd >> $CALLS; echo $1 >> $CALLS")
            .knob("EXECUTE = /no/such/place\nLOG = $(LOCAL_DIR)/log");
        fs::create_dir(place.path("log")).unwrap();
        place
    };
    // The starter does not wait for the hook, which may be killed before it prints anything.
    let real = reference(place());
    let log = real.path("log").canonicalize().unwrap();
    let told = format!("{}\nevict\n", log.display());
    let noted = (0..20).any(|_| {
        let ran = real.run("Cmd = \"/bin/true\"");
        assert_eq!(ran.status, 4, "{}", ran.told);
        ran.calls.starts_with(&told)
    });
    assert!(noted, "{told}");
    let ran = place().run("Cmd = \"/bin/true\"");
    assert_eq!((ran.status, ran.calls.as_str()), (1, "/\nevict\n"), "{}", ran.told);
}

#[test]
fn the_log_of_a_job_in_a_relative_directory_makes_that_directory() {
    let place = Place::new();
    let command = place.path("iwd/show");
    crate::support::children::write_executable(&command, b"#!/bin/sh\npwd\n");
    let out = place.path("iwd/out");
    let ran = place.run(&format!(
        "Cmd = \"{}\"\nOut = \"{}\"\nIwd = \"sub\"{LOG}",
        command.display(),
        out.display()
    ));
    assert_eq!(ran.status, 0, "{}", ran.told);
    assert!(read(&place, "iwd/out").trim().ends_with("/scratch/sub"), "{}", read(&place, "iwd/out"));
    // If no log is configured, the directory is not created.
    let ran = place.run(&format!("Cmd = \"{}\"\nIwd = \"sub\"", command.display()));
    assert_eq!(ran.status, 1, "{}", ran.told);
}

#[test]
fn no_log_is_created_through_a_dangling_link_or_by_dry_run() {
    let place = Place::new();
    symlink("nowhere", place.path("iwd/log")).unwrap();
    let ran = place.run(&format!("Cmd = \"/bin/true\"{LOG}"));
    assert_eq!(ran.status, 0, "{}", ran.told);
    assert!(ran.told.contains("cannot be opened"), "{}", ran.told);
    assert!(!place.path("iwd/nowhere").exists());
    let place = Place::new().option(&["--dry-run"]);
    assert_eq!(place.run(&format!("Cmd = \"/bin/true\"{LOG}")).status, 0);
    assert!(!place.path("iwd/log").exists());
}

#[test]
fn an_execution_visa_has_the_original_ad() {
    let place = Place::new();
    fs::write(place.path("iwd/jobad.7.1"), "there\n").unwrap();
    let job = "Cmd = \"/bin/true\"\nWantExecutionVisaFromStarter = true";
    let ran = place.run(job);
    assert_eq!(ran.status, 0, "{}", ran.told);
    assert_eq!(read(&place, "iwd/jobad.7.1"), "there\n");
    let visa = read(&place, "iwd/jobad.7.1.0");
    for line in
        ["Cmd = \"/bin/true\"", "VisaDaemonType = \"STARTER\"", "VisaTimestamp = ", "VisaHostname = \""]
    {
        assert!(visa.contains(line), "{line} in\n{visa}");
    }
    assert!(!visa.contains("OrigCmd"), "{visa}");
    assert!(place.run("Cmd = \"/bin/true\"\nWantExecutionVisaFromStarter = false").status == 0);
    assert!(!place.path("iwd/jobad.7.1.1").exists());
}

#[test]
fn an_execution_visa_of_a_relative_iwd_is_not_in_the_callers_directory() {
    let job = "Cmd = \"/bin/true\"\nWantExecutionVisaFromStarter = true\nIwd = \".\"";
    let place = Place::new().hook("JOB_EXIT", "cat > /dev/null; ls >> $CALLS");
    let ran = place.run(job);
    assert!(ran.calls.contains("jobad.7.1\n"), "{}\n{}", ran.calls, ran.told);
}

#[test]
fn a_job_that_needs_oauth_tokens_is_refused_with_a_message() {
    let job = format!("Cmd = \"/bin/true\"\nOAuthServicesNeeded = \"box\"{LOG}");
    let place = Place::new().noting();
    let ran = place.run(&job);
    assert_eq!((ran.status, ran.calls.as_str(), ran.left.len()), (1, "exit evict\n", 0), "{}", ran.told);
    assert!(
        ran.told.contains("no credentials for the OAuth services that the job needs (box)"),
        "{}",
        ran.told
    );
    let place = reference(Place::new().noting());
    let ran = place.run(&job);
    assert_eq!((ran.status, ran.calls.as_str(), ran.left.len()), (1, "", 1), "{}", ran.told);
    assert!(read(&place, "iwd/log").contains("\tStarter failed to initialize\n"));
}

#[test]
fn the_starter_waits_briefly_for_the_last_update_hook() {
    let place = Place::new().hook("UPDATE_JOB_INFO", "cat > /dev/null; sleep 0.2; echo told >> $CALLS");
    let events = place.path("events").display().to_string();
    let place = place.option(&["--events", &events]);
    let ran = place.run("Cmd = \"/bin/true\"");
    assert_eq!((ran.status, ran.calls.as_str()), (0, "told\ntold\n"), "{}", ran.told);
    assert_eq!(read(&place, "events").matches("hook-end").count(), 2, "{}", read(&place, "events"));
    let place = Place::new().hook("UPDATE_JOB_INFO", "exec sleep 600");
    assert_eq!(place.run("Cmd = \"/bin/true\"").status, 0);
    // After SIGQUIT, the starter does not wait for the last update hook.
    let place = Place::new().hook("UPDATE_JOB_INFO", "cat > /dev/null; sleep 0.7; echo told >> $CALLS");
    let pipe = place.pipe();
    let child = place.start(&shell("echo > pipe; exec sleep 600"));
    heard(&pipe);
    send(&child, Signal::SIGQUIT);
    assert_eq!(place.finish(child).calls, "");
}

#[test]
fn as_condor_starter_the_job_ad_has_only_the_long_form() {
    let ad = |place: &Place| {
        format!("[ Cmd = \"/bin/true\"; User = \"nobody\"; Iwd = \"{}\" ]", place.path("iwd").display())
    };
    let run = |place: &Place| {
        let mut child = place.command().spawn().unwrap();
        std::io::Write::write_all(&mut child.stdin.take().unwrap(), ad(place).as_bytes()).unwrap();
        place.finish(child)
    };
    let mut place = Place::new().option(&["-f", "-job-input-ad", "-", "-job-output-ad", "-"]);
    place.tool = true;
    let ran = run(&place);
    assert_eq!((ran.status, ran.ad.as_str()), (1, ""), "{}", ran.told);
    let ran = run(&reference(Place::new().option(&["--job-input-ad", "-"])));
    assert_eq!((ran.status, ran.ad.as_str()), (1, ""), "{}", ran.told);
    // By default, the job ad may have any format.
    let ran = run(&Place::new().option(&["--job-input-ad", "-"]));
    assert_eq!(ran.status, 0, "{}", ran.told);
}

#[test]
fn ids_and_time_outs_have_32_bits_and_an_empty_metric_disables_it() {
    let place = Place::new().knob("MEMORY_USAGE_METRIC =");
    let ran = place.run(&format!("Cmd = \"/bin/true\"\nProcId = 99999999999{LOG}"));
    assert!(ran.has("ExitCode = 0") && !ran.ad.contains("MemoryUsage"), "{}\n{}", ran.ad, ran.told);
    assert!(read(&place, "iwd/log").starts_with("001 (007.1215752191.000)"), "{}", read(&place, "iwd/log"));
    let place = Place::new().hook("JOB_EXIT", "exit 0").knob("FARM_HOOK_JOB_EXIT_TIMEOUT = 99999999999");
    let ran = place.run("Cmd = \"/bin/true\"");
    assert_eq!((ran.status, ran.ad.as_str()), (1, ""), "{}", ran.told);
    let place = reference(place);
    assert_eq!(place.run("Cmd = \"/bin/true\"").status, 4);
}

#[test]
fn an_invalid_output_path_fails_and_an_invalid_processor_is_0() {
    let place = Place::new();
    let ran = place.run(&format!("Cmd = \"/bin/true\"\nOut = \"/dev/null/\"{LOG}"));
    assert_eq!(ran.status, 1, "{}", ran.told);
    let log = read(&place, "iwd/log");
    assert!(log.contains("'/dev/null/' as standard output: Not a directory (errno 20)"), "{log}");
    let place = Place::new()
        .knob("ENFORCE_CPU_AFFINITY = True\nSTARTD_ASSIGNED_AFFINITY = x")
        .option(&["--append", "slot1"]);
    let ran = place.run(&format!("{}\nOut = \"out\"", shell("grep Cpus_allowed_list: /proc/self/status")));
    assert_eq!(ran.status, 0, "{}", ran.told);
    let own = fs::read_to_string("/proc/self/status").unwrap();
    if own.lines().any(|line| line.starts_with("Cpus_allowed_list:\t0")) {
        assert_eq!(read(&place, "iwd/out").split_whitespace().last(), Some("0"));
    }
}

#[test]
fn a_slash_after_execute_is_kept_in_paths_below_it() {
    let place = Place::new().knob("EXECUTE = $(LOCAL_DIR)/execute/");
    let ran = place.run(&format!("{}\nOut = \"out\"", shell("echo $_CONDOR_SCRATCH_DIR")));
    assert_eq!((ran.status, ran.left.len()), (0, 0), "{}", ran.told);
    assert!(read(&place, "iwd/out").contains("/execute//dir_"), "{}", read(&place, "iwd/out"));
}

#[test]
fn an_iwd_that_is_no_longer_a_string_ends_25_14() {
    let place = || {
        Place::new()
            .hook("PREPARE_JOB", "cat > /dev/null; echo Iwd = 5")
            .hook("JOB_EXIT", "echo $1 >> $CALLS")
    };
    let job = format!("{}{LOG}", shell("exit 3"));
    let real = reference(place());
    let ran = real.run(&job);
    // The first exception is followed by another one when the environment of JOB_EXIT is created.
    assert_eq!((ran.status, ran.calls.as_str(), ran.left.len()), (4, "", 1), "{}", ran.told);
    assert!(read(&real, "iwd/log").contains("\tAssertion ERROR on (0)\n"));
    let ran = place().run(&job);
    assert!(ran.has("ExitCode = 3") && ran.calls == "exit\n", "{}\n{}", ran.ad, ran.told);
}

#[test]
fn no_update_file_is_written_without_a_scratch_directory() {
    let place = Place::new().knob("EXECUTE = /dev/null/x").option(&["--job-update-ad", "update"]);
    let ran = place.run("Cmd = \"/bin/true\"");
    assert_eq!(ran.status, 1, "{}", ran.told);
    assert!(!place.path("update").exists());
}

#[test]
fn a_keyword_without_hooks_is_a_warning() {
    let ran = Place::new().run("Cmd = \"/bin/true\"");
    assert_eq!(ran.status, 0, "{}", ran.told);
    assert!(ran.told.contains("jobs of the keyword 'FARM' run without hooks"), "{}", ran.told);
    let ran = Place::new().noting().run("Cmd = \"/bin/true\"");
    assert!(!ran.told.contains("without hooks"), "{}", ran.told);
}

#[test]
fn the_exit_hook_of_a_job_without_an_account_runs_as_the_daemon_account() {
    if !nix::unistd::geteuid().is_root() {
        return println!("skipped: only root runs jobs by their account");
    }
    let ad = || format!("{}\nUser = \"nosuch@example.org\"", shell("exit 3"));
    let exit = "cat >/dev/null; echo exit $1 $(id -u) >> $CALLS";
    let with = |ids: &str| {
        let place = Place::new().hook("JOB_EXIT", exit).knob(ids);
        place.give("iwd");
        fs::set_permissions(place.path("iwd"), fs::Permissions::from_mode(0o777)).unwrap();
        let ran = place.run(&ad());
        (ran.status, ran.calls, ran.told)
    };
    let (status, calls, told) = with("CONDOR_IDS = 2.2");
    assert_eq!((status, calls.as_str()), (1, "exit evict 2\n"), "{told}");
    assert!(!told.contains("JOB_EXIT runs as"), "{told}");
    // CONDOR_IDS = 0.0 is not valid, even if this machine has no account for HTCondor.
    let (status, calls, told) = with("CONDOR_IDS = 0.0");
    assert_eq!((status, calls.as_str()), (1, "exit evict 65534\n"), "{told}");
    assert!(told.contains("JOB_EXIT runs as 'nobody': the job has no account here"), "{told}");
}

#[test]
fn a_keyword_of_the_job_that_has_no_hooks_is_reported() {
    let ad = "Cmd = \"/bin/true\"\nHookKeyword = \"Tt\"";
    // Without a default keyword, no hooks are called; otherwise those of the default keyword.
    let site = |place: Place| place.noting().knob("STARTER_DEFAULT_JOB_HOOK_KEYWORD =");
    let ran = site(Place::new()).run(ad);
    assert_eq!((ran.status, ran.calls.as_str()), (0, ""), "{}", ran.told);
    let line =
        "the job's HookKeyword is 'Tt', for which no hook is configured: the job runs without PREPARE_JOB";
    assert_eq!(ran.told.matches(line).count(), 1, "{}", ran.told);
    let ran = site(reference(Place::new())).run(ad);
    assert!(!ran.told.contains("HookKeyword"), "{}", ran.told);
    let ran = Place::new().noting().run(ad);
    assert_eq!(ran.calls, "prepare\nexit exit\n", "{}", ran.told);
    let line = "'Tt', for which no hook is configured: the hooks of STARTER_DEFAULT_JOB_HOOK_KEYWORD (FARM) are called";
    assert!(ran.told.contains(line), "{}", ran.told);
    // The keyword has hooks of another type, so nothing is reported.
    let ran = Place::new().knob("Tt_HOOK_JOB_EXIT = /bin/true").run(ad);
    assert!(!ran.told.contains("no hook is configured"), "{}", ran.told);
}

#[test]
fn resources_of_a_job_without_a_slot_are_reported() {
    let run = |place: Place, ad: &str| place.run(&format!("Cmd = \"/bin/true\"\n{ad}"));
    let place = || Place::new().knob("MACHINE_RESOURCE_Cogs = 4");
    let ran = run(place(), "RequestGPUs = 2\nRequireGPUs = Capability > 7\nRequestCogs = 1\nRequestCpus = 1");
    for name in ["RequestGPUs", "RequireGPUs", "RequestCogs"] {
        assert!(ran.told.contains(&format!("{name} has no effect: the job has no slot")), "{}", ran.told);
    }
    assert!(!ran.told.contains("RequestCpus has no effect"), "{}", ran.told);
    assert!(ran.told.contains("--slot-ads"), "{}", ran.told);
    let ran = run(place(), "RequestGPUs = 0\nRequestedThings = 2");
    assert!(!ran.told.contains("has no effect: the job"), "{}", ran.told);
    let with_slot = place();
    std::fs::write(with_slot.path("slot.ad"), "Name = \"slot1@h\"\nGPUs = 2\n").unwrap();
    let with_slot = with_slot.option(&["--slot-ads", "slot.ad"]);
    let ran = run(with_slot, "RequestGPUs = 2");
    assert!(!ran.told.contains("has no effect: the job"), "{}", ran.told);
}

#[test]
fn the_exit_hook_gets_exit_reason_for_every_end_but_in_25_14_only_for_signals() {
    for (script, quirks, reason) in [
        ("exit 3", "none", Some("exited normally with status 3")),
        ("exit 3", "reference", None),
        ("kill -9 $$", "none", Some("died on signal 9 (Killed)")),
        ("kill -9 $$", "reference", Some("died on signal 9 (Killed)")),
    ] {
        let place = Place::new().noting().option(&["--quirks", quirks]);
        let ran = place.run(&shell(script));
        let exit = read(&place, "iwd/calls.exit");
        let line = exit.lines().find_map(|line| line.strip_prefix("ExitReason = "));
        assert_eq!(line, reason.map(|text| format!("\"{text}\"")).as_deref(), "{exit}");
        // A job of another kind gets no attribute that 25.14 does not set.
        assert!(!ran.ad.contains("exited normally"), "{}", ran.ad);
        let told = ran.told.contains("(exit-reason-for-signals)");
        assert_eq!(told, reason.is_some_and(|text| text.starts_with("exited")), "{}", ran.told);
    }
}

#[test]
fn the_old_environment_of_a_script_is_split_at_semicolons_whatever_it_begins_with() {
    let place = || Place::new().knob("STARTER_ALLOW_JOB_PRE_AND_POST_CMD = true");
    let script = "PreCmd = \"/bin/sh\"\nPreArguments = \"-c 'env > env'\"\n";
    let ran_with = place();
    let ran = ran_with.run(&format!("Cmd = \"/bin/true\"\n{script}PreEnv = \"A=1|B=2;C=3\""));
    assert_eq!(ran.status, 0, "{}", ran.told);
    let env = read(&ran_with, "iwd/env");
    assert!(env.contains("A=1|B=2\n") && env.contains("C=3\n"), "{env}");
    let ran = place().run(&format!("Cmd = \"/bin/true\"\n{script}PreEnv = \"|A=1|B=2;3\""));
    assert!(ran.told.contains("Invalid PreEnv"), "{}", ran.told);
}
