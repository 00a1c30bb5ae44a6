//! Tests of exceptions of 25.14 for an invalid configuration or at an unexpected time, and of the documented behaviour by
//! default.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};

use nix::sys::signal::Signal;

use crate::support::place::{Place, RunResult, read_fifo, send, shell};

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
    let run = |parameter: &str| -> (Place, RunResult) {
        let place = reference(Place::new().with_recording_hooks().parameter(parameter));
        let result = place.run(&job());
        (place, result)
    };
    // This exception occurs when the job is already running.
    let (place, result) = run("STARTER_UPDATE_INTERVAL = abc");
    assert_eq!(
        (result.status, result.calls.as_str(), result.ad.as_str()),
        (4, "prepare\n", ""),
        "{}",
        result.stderr
    );
    let log = read(&place, "iwd/log");
    assert!(log.contains("001 (007.001.000)") && log.contains("021 (007.001.000)"), "{log}");
    let text = "\tInvalid result (not an integer) for STARTER_UPDATE_INTERVAL (abc) in condor configuration.  Please set \
                it to an integer expression in the range 1 to 2147483647 (default 300).\n";
    assert!(log.contains(text), "{log}");
    assert!(result.left.is_empty());
    // This exception occurs before event 001. JOB_EXIT is called, but the starter does not wait for it.
    let (place, result) = run("USE_PID_NAMESPACES = maybe");
    assert_eq!(result.status, 4, "{}", result.stderr);
    let log = read(&place, "iwd/log");
    assert!(
        !log.contains("001 (") && log.contains("USE_PID_NAMESPACES in the condor configuration  is"),
        "{log}"
    );
    // This exception occurs after the job's files were opened.
    let (place, result) = run("ENFORCE_CPU_AFFINITY = maybe");
    assert_eq!(result.status, 4, "{}", result.stderr);
    assert!(read(&place, "iwd/log").starts_with("001 ("));
    // These exceptions occur before there is a job, a hook or a log.
    for (parameter, status) in [("STARTER_NESTED_SCRATCH = maybe", 0), ("PIPE_BUFFER_MAX = x", 4)] {
        let (place, result) = run(parameter);
        assert_eq!((result.status, result.calls.as_str()), (status, ""), "{parameter}: {}", result.stderr);
        assert!(!place.path("iwd/log").exists(), "{parameter}");
    }
    // With this parameter, 25.14 crashes with SIGSEGV.
    let (_, result) = run("EXECUTE =");
    assert_eq!(result.status, 0, "{}", result.stderr);
    assert!(result.stderr.contains("(no-execute-crashes)"), "{}", result.stderr);
    // This exception occurs when SIGTERM arrives.
    let place = reference(Place::new().with_recording_hooks().parameter("SHUTDOWN_GRACEFUL_TIMEOUT = x"));
    let pipe = place.pipe();
    let child = place.start(&format!("{}{LOG}", shell("echo up > pipe; exec sleep 600")));
    assert_eq!(read_fifo(&pipe), "up\n");
    send(&child, Signal::SIGTERM);
    let result = place.finish(child);
    assert_eq!(
        (result.status, result.calls.as_str(), result.left.len()),
        (4, "prepare\n", 0),
        "{}",
        result.stderr
    );
    assert!(read(&place, "iwd/log").contains("for SHUTDOWN_GRACEFUL_TIMEOUT (x)"));
    // This exception occurs twice, because handling the first one creates an environment again.
    let (place, result) = run("STARTER_SETS_HOME_ENV = maybe");
    assert_eq!((result.status, result.calls.as_str(), result.left.len()), (4, "", 1), "{}", result.stderr);
    assert!(!place.path("iwd/log").exists());
    let (place, result) = run("STARTER_REMOVE_EXECUTE_DIR_DELAY_TIME = x");
    assert_eq!((result.status, result.left.len()), (4, 1), "{}", result.stderr);
    assert!(result.ad.contains("ExitCode = 3"), "{}", result.ad);
    assert!(read(&place, "iwd/log").contains("(default 0).\n"));
}

/// The results are those of 25.14 on a machine with control groups.
#[test]
fn a_bad_parameter_ends_25_14_only_if_it_is_read() {
    let run = |parameters: &str, more: &str| -> (Place, RunResult) {
        let place = reference(Place::new().with_recording_hooks().parameter(parameters));
        let result = place.run(&format!("{}{LOG}\n{more}", shell("exit 3")));
        (place, result)
    };
    let all = [
        "DISABLE_SWAP_FOR_JOB",
        "STARTER_HIDE_GPU_DEVICES",
        "STARTER_ALWAYS_HOLD_ON_OOM",
        "CGROUP_POLLING_INTERVAL",
    ];
    let all: Vec<String> = all.iter().map(|parameter| format!("{parameter} = maybe")).collect();
    let (_, result) = run(&format!("BASE_CGROUP =\n{}", all.join("\n")), "");
    assert!(result.has("ExitCode = 3"), "{}{}", result.ad, result.stderr);
    let local = "BASE_CGROUP =\nUSE_CGROUPS_FOR_LOCAL_UNIVERSE = maybe";
    let (_, result) = run(local, "JobUniverse = 5");
    assert!(result.has("ExitCode = 3"), "{}{}", result.ad, result.stderr);
    let (place, result) = run(local, "JobUniverse = 12");
    assert_eq!(result.status, 4, "{}", result.stderr);
    let log = read(&place, "iwd/log");
    assert!(
        log.starts_with("021 (")
            && log.contains("(\"maybe\").  Please set it to True or False (default is True)\n"),
        "{log}"
    );
    // This parameter is read before the job's process is planned. Unlike for other parameters, only its first letter counts.
    let (place, result) = run("ENCRYPT_EXECUTE_DIRECTORY = perhaps", "");
    assert_eq!(result.status, 4, "{}", result.stderr);
    assert!(read(&place, "iwd/log").starts_with("021 ("));
    let (_, result) = run("ENCRYPT_EXECUTE_DIRECTORY = falter\nUSE_PID_NAMESPACE_INIT = maybe", "");
    assert!(result.has("ExitCode = 3"), "{}{}", result.ad, result.stderr);
    let (_, result) = run("ENCRYPT_EXECUTE_DIRECTORY = perhaps", "EncryptExecuteDirectory = true");
    assert!(result.has("ExitCode = 3"), "{}{}", result.ad, result.stderr);
    // In the job's process there are two failures: one because of the setting, and one because the program could not be executed.
    let (place, _) = run("PER_JOB_NAMESPACES = maybe", "");
    let log = read(&place, "iwd/log");
    assert!(log.contains("PER_JOB_NAMESPACES in the condor") && log.contains("(errno=666669: "), "{log}");
    assert_eq!(log.matches("\n021 (").count(), 2, "{log}");
    // By default, a job with this parameter is not started.
    let result =
        Place::new().with_recording_hooks().parameter("DISABLE_SWAP_FOR_JOB = maybe").run(&shell("exit 3"));
    assert_eq!((result.status, result.calls.as_str()), (3, ""), "{}", result.stderr);
}

#[test]
fn an_exception_without_an_exit_hook_exits_with_0() {
    let place = reference(Place::new().parameter("USE_PID_NAMESPACES = maybe"));
    let run = place.run(&format!("{}{LOG}", shell("exit 3")));
    assert_eq!((run.status, run.left.len()), (0, 0), "{}", run.stderr);
    assert!(read(&place, "iwd/log").starts_with("021 ("));
    let place = reference(Place::new().parameter("USE_PROCESS_GROUPS = maybe"));
    let run = place.run(&format!("{}{LOG}", shell("exit 3")));
    assert_eq!(run.status, 0, "{}", run.stderr);
    let log = read(&place, "iwd/log");
    assert!(log.starts_with("001 (") && log.contains("(errno=666669: 'Unknown error 666669')"), "{log}");
}

#[test]
fn by_default_a_bad_parameter_is_reported_first() {
    for parameter in
        ["STARTER_UPDATE_INTERVAL = abc", "STARTER_SETS_HOME_ENV = maybe", "ENFORCE_CPU_AFFINITY = maybe"]
    {
        let place = Place::new().with_recording_hooks().parameter(parameter);
        let run = place.run(&shell("exit 3"));
        assert_eq!(
            (run.status, run.calls.as_str(), run.left.len()),
            (3, "", 0),
            "{parameter}: {}",
            run.stderr
        );
        let name = parameter.split(' ').next().unwrap();
        // The message has the location of the setting. Regression test: the location was missing.
        assert!(run.stderr.contains(name) && run.stderr.contains(", line "), "{parameter}: {}", run.stderr);
    }
    if nix::unistd::geteuid().is_root() {
        for (parameter, what) in [
            ("DEDICATED_EXECUTE_ACCOUNT_REGEXP = (", "'(': missing closing parenthesis"),
            ("STARTER_ALLOW_RUNAS_OWNER = 1 +", "is neither true nor false: 1 +"),
            ("TRUST_UID_DOMAIN = perhaps", "is not a valid boolean (\"perhaps\")"),
            ("TRUST_LOCAL_UID_DOMAIN = perhaps", "is not a valid boolean (\"perhaps\")"),
        ] {
            let run = Place::new().parameter(parameter).option(&["--as", "shadow"]).run(&shell("exit 3"));
            let name = parameter.split(' ').next().unwrap();
            assert!(
                run.stderr.contains(name) && run.stderr.contains(what) && run.stderr.contains(", line "),
                "{parameter}: {}",
                run.stderr
            );
            assert!(!run.ad.contains("ExitCode = 3"), "{parameter}: {}", run.ad);
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
        let run = place.run(&format!("{}\nOut = \"out\"\nStackSize = {size}", shell("ulimit -Ss")));
        // The hard limit of the caller may be lower.
        let hard = nix::sys::resource::getrlimit(nix::sys::resource::Resource::RLIMIT_STACK).unwrap().1;
        if hard == nix::sys::resource::RLIM_INFINITY {
            assert_eq!(read(&place, "iwd/out").trim(), soft, "{size}: {}", run.stderr);
        }
    }
}

#[test]
fn a_negative_interval_is_zero() {
    let place = Place::new()
        .hook("UPDATE_JOB_INFO", "grep -c JobState >> $CALLS")
        .parameter("STARTER_INITIAL_UPDATE_INTERVAL = -1");
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
            .parameter("EXECUTE = /no/such/place\nLOG = $(LOCAL_DIR)/log");
        fs::create_dir(place.path("log")).unwrap();
        place
    };
    // The starter does not wait for the hook, which may be killed before it prints anything.
    let real = reference(place());
    let log = real.path("log").canonicalize().unwrap();
    let told = format!("{}\nevict\n", log.display());
    let noted = (0..20).any(|_| {
        let run = real.run("Cmd = \"/bin/true\"");
        assert_eq!(run.status, 4, "{}", run.stderr);
        run.calls.starts_with(&told)
    });
    assert!(noted, "{told}");
    let run = place().run("Cmd = \"/bin/true\"");
    assert_eq!((run.status, run.calls.as_str()), (1, "/\nevict\n"), "{}", run.stderr);
}

#[test]
fn the_log_of_a_job_in_a_relative_directory_makes_that_directory() {
    let place = Place::new();
    let command = place.path("iwd/show");
    crate::support::children::write_executable(&command, b"#!/bin/sh\npwd\n");
    let out = place.path("iwd/out");
    let run = place.run(&format!(
        "Cmd = \"{}\"\nOut = \"{}\"\nIwd = \"sub\"{LOG}",
        command.display(),
        out.display()
    ));
    assert_eq!(run.status, 0, "{}", run.stderr);
    assert!(read(&place, "iwd/out").trim().ends_with("/scratch/sub"), "{}", read(&place, "iwd/out"));
    // If no log is configured, the directory is not created.
    let run = place.run(&format!("Cmd = \"{}\"\nIwd = \"sub\"", command.display()));
    assert_eq!(run.status, 1, "{}", run.stderr);
}

#[test]
fn no_log_is_created_through_a_dangling_link_or_by_dry_run() {
    let place = Place::new();
    symlink("nowhere", place.path("iwd/log")).unwrap();
    let run = place.run(&format!("Cmd = \"/bin/true\"{LOG}"));
    assert_eq!(run.status, 0, "{}", run.stderr);
    assert!(run.stderr.contains("cannot be opened"), "{}", run.stderr);
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
    let run = place.run(job);
    assert_eq!(run.status, 0, "{}", run.stderr);
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
    let run = place.run(job);
    assert!(run.calls.contains("jobad.7.1\n"), "{}\n{}", run.calls, run.stderr);
}

#[test]
fn a_job_that_needs_oauth_tokens_is_refused_with_a_message() {
    let job = format!("Cmd = \"/bin/true\"\nOAuthServicesNeeded = \"box\"{LOG}");
    let place = Place::new().with_recording_hooks();
    let run = place.run(&job);
    assert_eq!((run.status, run.calls.as_str(), run.left.len()), (1, "exit evict\n", 0), "{}", run.stderr);
    assert!(
        run.stderr.contains("no credentials for the OAuth services that the job needs (box)"),
        "{}",
        run.stderr
    );
    let place = reference(Place::new().with_recording_hooks());
    let run = place.run(&job);
    assert_eq!((run.status, run.calls.as_str(), run.left.len()), (1, "", 1), "{}", run.stderr);
    assert!(read(&place, "iwd/log").contains("\tStarter failed to initialize\n"));
}

#[test]
fn the_starter_waits_briefly_for_the_last_update_hook() {
    let place = Place::new().hook("UPDATE_JOB_INFO", "cat > /dev/null; sleep 0.2; echo told >> $CALLS");
    let events = place.path("events").display().to_string();
    let place = place.option(&["--events", &events]);
    let run = place.run("Cmd = \"/bin/true\"");
    assert_eq!((run.status, run.calls.as_str()), (0, "told\ntold\n"), "{}", run.stderr);
    assert_eq!(read(&place, "events").matches("hook-end").count(), 2, "{}", read(&place, "events"));
    let place = Place::new().hook("UPDATE_JOB_INFO", "exec sleep 600");
    assert_eq!(place.run("Cmd = \"/bin/true\"").status, 0);
    // After SIGQUIT, the starter does not wait for the last update hook.
    let place = Place::new().hook("UPDATE_JOB_INFO", "cat > /dev/null; sleep 0.7; echo told >> $CALLS");
    let pipe = place.pipe();
    let child = place.start(&shell("echo > pipe; exec sleep 600"));
    read_fifo(&pipe);
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
    let result = run(&place);
    assert_eq!((result.status, result.ad.as_str()), (1, ""), "{}", result.stderr);
    let result = run(&reference(Place::new().option(&["--job-input-ad", "-"])));
    assert_eq!((result.status, result.ad.as_str()), (1, ""), "{}", result.stderr);
    // By default, the job ad may have any format.
    let result = run(&Place::new().option(&["--job-input-ad", "-"]));
    assert_eq!(result.status, 0, "{}", result.stderr);
}

#[test]
fn ids_and_time_outs_have_32_bits_and_an_empty_metric_disables_it() {
    let place = Place::new().parameter("MEMORY_USAGE_METRIC =");
    let run = place.run(&format!("Cmd = \"/bin/true\"\nProcId = 99999999999{LOG}"));
    assert!(run.has("ExitCode = 0") && !run.ad.contains("MemoryUsage"), "{}\n{}", run.ad, run.stderr);
    assert!(read(&place, "iwd/log").starts_with("001 (007.1215752191.000)"), "{}", read(&place, "iwd/log"));
    let place = Place::new().hook("JOB_EXIT", "exit 0").parameter("FARM_HOOK_JOB_EXIT_TIMEOUT = 99999999999");
    let run = place.run("Cmd = \"/bin/true\"");
    assert_eq!((run.status, run.ad.as_str()), (1, ""), "{}", run.stderr);
    let place = reference(place);
    assert_eq!(place.run("Cmd = \"/bin/true\"").status, 4);
}

#[test]
fn an_invalid_output_path_fails_and_an_invalid_processor_is_0() {
    let place = Place::new();
    let run = place.run(&format!("Cmd = \"/bin/true\"\nOut = \"/dev/null/\"{LOG}"));
    assert_eq!(run.status, 1, "{}", run.stderr);
    let log = read(&place, "iwd/log");
    assert!(log.contains("'/dev/null/' as standard output: Not a directory (errno 20)"), "{log}");
    let place = Place::new()
        .parameter("ENFORCE_CPU_AFFINITY = True\nSTARTD_ASSIGNED_AFFINITY = x")
        .option(&["--append", "slot1"]);
    let run = place.run(&format!("{}\nOut = \"out\"", shell("grep Cpus_allowed_list: /proc/self/status")));
    assert_eq!(run.status, 0, "{}", run.stderr);
    let own = fs::read_to_string("/proc/self/status").unwrap();
    if own.lines().any(|line| line.starts_with("Cpus_allowed_list:\t0")) {
        assert_eq!(read(&place, "iwd/out").split_whitespace().last(), Some("0"));
    }
}

#[test]
fn a_slash_after_execute_is_kept_in_paths_below_it() {
    let place = Place::new().parameter("EXECUTE = $(LOCAL_DIR)/execute/");
    let run = place.run(&format!("{}\nOut = \"out\"", shell("echo $_CONDOR_SCRATCH_DIR")));
    assert_eq!((run.status, run.left.len()), (0, 0), "{}", run.stderr);
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
    let run = real.run(&job);
    // The first exception is followed by another one when the environment of JOB_EXIT is created.
    assert_eq!((run.status, run.calls.as_str(), run.left.len()), (4, "", 1), "{}", run.stderr);
    assert!(read(&real, "iwd/log").contains("\tAssertion ERROR on (0)\n"));
    let run = place().run(&job);
    assert!(run.has("ExitCode = 3") && run.calls == "exit\n", "{}\n{}", run.ad, run.stderr);
}

#[test]
fn no_update_file_is_written_without_a_scratch_directory() {
    let place = Place::new().parameter("EXECUTE = /dev/null/x").option(&["--job-update-ad", "update"]);
    let run = place.run("Cmd = \"/bin/true\"");
    assert_eq!(run.status, 1, "{}", run.stderr);
    assert!(!place.path("update").exists());
}

#[test]
fn a_keyword_without_hooks_is_a_warning() {
    let run = Place::new().run("Cmd = \"/bin/true\"");
    assert_eq!(run.status, 0, "{}", run.stderr);
    assert!(run.stderr.contains("jobs of the keyword 'FARM' run without hooks"), "{}", run.stderr);
    let run = Place::new().with_recording_hooks().run("Cmd = \"/bin/true\"");
    assert!(!run.stderr.contains("without hooks"), "{}", run.stderr);
}

#[test]
fn the_exit_hook_of_a_job_without_an_account_runs_as_the_daemon_account() {
    if !nix::unistd::geteuid().is_root() {
        return println!("skipped: only root runs jobs by their account");
    }
    let ad = || format!("{}\nUser = \"nosuch@example.org\"", shell("exit 3"));
    let exit = "cat >/dev/null; echo exit $1 $(id -u) >> $CALLS";
    let with = |ids: &str| {
        let place = Place::new().hook("JOB_EXIT", exit).parameter(ids);
        place.chown_to_nobody("iwd");
        fs::set_permissions(place.path("iwd"), fs::Permissions::from_mode(0o777)).unwrap();
        let run = place.run(&ad());
        (run.status, run.calls, run.stderr)
    };
    let (status, calls, stderr) = with("CONDOR_IDS = 2.2");
    assert_eq!((status, calls.as_str()), (1, "exit evict 2\n"), "{stderr}");
    assert!(!stderr.contains("JOB_EXIT runs as"), "{stderr}");
    // CONDOR_IDS = 0.0 is not valid, even if this machine has no account for HTCondor.
    let (status, calls, stderr) = with("CONDOR_IDS = 0.0");
    assert_eq!((status, calls.as_str()), (1, "exit evict 65534\n"), "{stderr}");
    assert!(stderr.contains("JOB_EXIT runs as 'nobody': the job has no account here"), "{stderr}");
}

#[test]
fn a_keyword_of_the_job_that_has_no_hooks_is_reported() {
    let ad = "Cmd = \"/bin/true\"\nHookKeyword = \"Tt\"";
    // Without a default keyword, no hooks are called; otherwise those of the default keyword.
    let site = |place: Place| place.with_recording_hooks().parameter("STARTER_DEFAULT_JOB_HOOK_KEYWORD =");
    let run = site(Place::new()).run(ad);
    assert_eq!((run.status, run.calls.as_str()), (0, ""), "{}", run.stderr);
    let line =
        "the job's HookKeyword is 'Tt', for which no hook is configured: the job runs without PREPARE_JOB";
    assert_eq!(run.stderr.matches(line).count(), 1, "{}", run.stderr);
    let run = site(reference(Place::new())).run(ad);
    assert!(!run.stderr.contains("HookKeyword"), "{}", run.stderr);
    let run = Place::new().with_recording_hooks().run(ad);
    assert_eq!(run.calls, "prepare\nexit exit\n", "{}", run.stderr);
    let line = "'Tt', for which no hook is configured: the hooks of STARTER_DEFAULT_JOB_HOOK_KEYWORD (FARM) are called";
    assert!(run.stderr.contains(line), "{}", run.stderr);
    // The keyword has hooks of another type, so nothing is reported.
    let run = Place::new().parameter("Tt_HOOK_JOB_EXIT = /bin/true").run(ad);
    assert!(!run.stderr.contains("no hook is configured"), "{}", run.stderr);
}

#[test]
fn resources_of_a_job_without_a_slot_are_reported() {
    let run = |place: Place, ad: &str| place.run(&format!("Cmd = \"/bin/true\"\n{ad}"));
    let place = || Place::new().parameter("MACHINE_RESOURCE_Cogs = 4");
    let result =
        run(place(), "RequestGPUs = 2\nRequireGPUs = Capability > 7\nRequestCogs = 1\nRequestCpus = 1");
    for name in ["RequestGPUs", "RequireGPUs", "RequestCogs"] {
        assert!(
            result.stderr.contains(&format!("{name} has no effect: the job has no slot")),
            "{}",
            result.stderr
        );
    }
    assert!(!result.stderr.contains("RequestCpus has no effect"), "{}", result.stderr);
    assert!(result.stderr.contains("--slot-ads"), "{}", result.stderr);
    let result = run(place(), "RequestGPUs = 0\nRequestedThings = 2");
    assert!(!result.stderr.contains("has no effect: the job"), "{}", result.stderr);
    let with_slot = place();
    std::fs::write(with_slot.path("slot.ad"), "Name = \"slot1@h\"\nGPUs = 2\n").unwrap();
    let with_slot = with_slot.option(&["--slot-ads", "slot.ad"]);
    let result = run(with_slot, "RequestGPUs = 2");
    assert!(!result.stderr.contains("has no effect: the job"), "{}", result.stderr);
}

#[test]
fn the_exit_hook_gets_exit_reason_for_every_end_but_in_25_14_only_for_signals() {
    for (script, quirks, reason) in [
        ("exit 3", "none", Some("exited normally with status 3")),
        ("exit 3", "reference", None),
        ("kill -9 $$", "none", Some("died on signal 9 (Killed)")),
        ("kill -9 $$", "reference", Some("died on signal 9 (Killed)")),
    ] {
        let place = Place::new().with_recording_hooks().option(&["--quirks", quirks]);
        let run = place.run(&shell(script));
        let exit = read(&place, "iwd/calls.exit");
        let line = exit.lines().find_map(|line| line.strip_prefix("ExitReason = "));
        assert_eq!(line, reason.map(|text| format!("\"{text}\"")).as_deref(), "{exit}");
        // A job of another kind gets no attribute that 25.14 does not set.
        assert!(!run.ad.contains("exited normally"), "{}", run.ad);
        let is_reported = run.stderr.contains("(exit-reason-for-signals)");
        assert_eq!(is_reported, reason.is_some_and(|text| text.starts_with("exited")), "{}", run.stderr);
    }
}

#[test]
fn the_old_environment_of_a_script_is_split_at_semicolons_whatever_it_begins_with() {
    let place = || Place::new().parameter("STARTER_ALLOW_JOB_PRE_AND_POST_CMD = true");
    let script = "PreCmd = \"/bin/sh\"\nPreArguments = \"-c 'env > env'\"\n";
    let ran_with = place();
    let run = ran_with.run(&format!("Cmd = \"/bin/true\"\n{script}PreEnv = \"A=1|B=2;C=3\""));
    assert_eq!(run.status, 0, "{}", run.stderr);
    let env = read(&ran_with, "iwd/env");
    assert!(env.contains("A=1|B=2\n") && env.contains("C=3\n"), "{env}");
    let run = place().run(&format!("Cmd = \"/bin/true\"\n{script}PreEnv = \"|A=1|B=2;3\""));
    assert!(run.stderr.contains("Invalid PreEnv"), "{}", run.stderr);
}
