//! Tests of namespaces, tracking groups and accounts of jobs. Skipped with the reason if they cannot be created.

#![allow(clippy::print_stdout, reason = "a skipped test says why")]

use std::fs;
use std::os::unix::fs::PermissionsExt;

use nix::sys::signal::Signal;

use crate::support::place::{Place, RunResult, read_fifo, send, shell};

/// Returns true if the test can create namespaces and change accounts.
fn may() -> bool {
    let may = nix::unistd::geteuid().is_root() && htc_hooks::os::mounts::can_mount();
    if !may {
        println!("skipped: not root, or root without the right to mount");
    }
    may
}

/// Creates a place without control groups, so that the other ways to find processes are tested.
fn place(parameters: &str) -> Place {
    Place::new().with_recording_hooks().parameter("BASE_CGROUP =").parameter(parameters)
}

/// Runs a job, and returns its result and its output.
fn run(place: &Place, script: &str) -> (RunResult, String) {
    let result = place.run(&format!("{}\nOut = \"out\"", shell(script)));
    let out = fs::read_to_string(place.path("iwd/out")).unwrap_or_default();
    (result, out)
}

const NAMESPACE: &str = "USE_PID_NAMESPACES = true";

#[test]
fn a_job_in_a_namespace_sees_only_itself_and_its_exit_is_exact() {
    if !may() {
        return;
    }
    let (result, out) = run(&place(NAMESPACE), "echo pid $$ of $PPID; ls -d /proc/[0-9]* | wc -l; exit 5");
    // The namespace has three processes: the job, its init, and the process that counts them.
    assert!(out.starts_with("pid 2 of 1\n"), "{out}{}", result.stderr);
    assert!(out.lines().nth(1).unwrap().parse::<u32>().unwrap() <= 5, "{out}");
    assert!(result.has("ExitCode = 5") && result.has("ExitBySignal = false"), "{}", result.ad);
    let (killed, _) = run(&place(NAMESPACE), "kill -9 $$");
    assert!(killed.has("ExitSignal = 9"), "{}{}", killed.ad, killed.stderr);
    let (first, out) =
        run(&place(&format!("{NAMESPACE}\nUSE_PID_NAMESPACE_INIT = false")), "echo $$; exit 3");
    assert_eq!((out.as_str(), first.has("ExitCode = 3")), ("1\n", true), "{}", first.stderr);
    let (flat, out) = run(&place(&format!("{NAMESPACE}\nSTARTER_NESTED_SCRATCH = false")), "echo $$");
    assert_eq!(out, "2\n", "{}", flat.stderr);
    assert!(flat.left.is_empty(), "{:?}", flat.left);
}

#[test]
fn a_job_in_a_namespace_gets_the_signals_that_its_starter_sends_it() {
    if !may() {
        return;
    }
    for (signal, kill_sig, line) in [
        (Signal::SIGTERM, "", "ExitCode = 7"),
        (Signal::SIGTERM, "KillSig = \"SIGALRM\"", "ExitSignal = 14"),
        (Signal::SIGQUIT, "", "ExitSignal = 9"),
    ] {
        let place = place(NAMESPACE);
        let pipe = place.pipe();
        let script =
            format!("trap \"exit 7\" TERM; echo runs > {}; while :; do sleep 0.05; done", pipe.display());
        let child = place.start(&format!("{}\n{kill_sig}", shell(&script)));
        assert_eq!(read_fifo(&pipe), "runs\n");
        send(&child, signal);
        let run = place.finish(child);
        assert!(run.has(line), "{line}: {}{}", run.ad, run.stderr);
        assert!(run.left.is_empty() && run.calls.ends_with("exit evict\n"), "{}", run.calls);
    }
}

#[test]
fn a_missing_program_is_reported_from_inside_a_namespace() {
    if !may() {
        return;
    }
    let place = place(NAMESPACE);
    let log = place.path("iwd/log");
    let run = place.run(&format!("Cmd = \"/no/such\"\nStarterUserLog = \"{}\"", log.display()));
    assert!(
        run.stderr.contains("Failed to execute '/no/such': (errno=2: 'No such file or directory')"),
        "{}",
        run.stderr
    );
    let log = fs::read_to_string(log).unwrap();
    assert!(log.starts_with("001 ") && log.contains("\n021 "), "{log}");
    assert_eq!(run.calls, "prepare\nexit evict\n");
    let reference = self::place(NAMESPACE).option(&["--quirks", "reference"]).parameter("LIBEXEC = /no/such");
    let run = reference.run("Cmd = \"/bin/true\"");
    assert!(run.stderr.contains("condor_pid_ns_init"), "{}", run.stderr);
}

#[test]
fn a_wrapper_runs_the_first_process_of_the_namespace() {
    if !may() {
        return;
    }
    let place = place(NAMESPACE);
    let wrapper = place.path("wrapper");
    crate::support::children::write_executable(&wrapper, b"#!/bin/sh\necho \"$1\" > words\nexec \"$@\"\n");
    let place = place.parameter(&format!("USER_JOB_WRAPPER = {}", wrapper.display()));
    let (result, out) = run(&place, "echo pid $$; exit 4");
    assert_eq!(
        (out.as_str(), result.has("ExitCode = 4")),
        ("pid 2\n", true),
        "{}{}",
        result.stderr,
        result.ad
    );
    let words = fs::read_to_string(place.path("iwd/words")).unwrap();
    assert!(words.ends_with("/htcondor/condor_pid_ns_init\n"), "{words}");
}

#[test]
fn a_job_without_a_network_has_a_loopback_device_that_is_down() {
    if !may() {
        return;
    }
    let devices = "tail -n +3 /proc/net/dev | cut -d: -f1 | tr -d \" \\n\"";
    for parameters in ["NO_JOB_NETWORKING = true", "NO_JOB_NETWORKING = true\nUSE_PID_NAMESPACES = true"] {
        let (result, out) = run(&place(parameters), devices);
        assert_eq!(out, "lo", "{parameters}: {}", result.stderr);
    }
    let lost = place("NO_JOB_NETWORKING = true").option(&["--quirks", "reference"]);
    assert!(run(&lost, "exit 0").0.stderr.contains("Unable to write into pipe."));
}

/// Returns the sleep time of the hidden process, a number that no other run of these tests uses.
fn long() -> String {
    format!("9{}", std::process::id())
}

/// Returns a script that leaves a process without any markers, and the FIFO by which the script reports that the process exists.
fn hiding(place: &Place) -> (String, std::path::PathBuf) {
    let pipe = place.pipe();
    let script = place.path("hide.sh");
    let text = format!(
        "#!/bin/sh\nenv -i /usr/bin/setsid /bin/sh -c '(/bin/sh -c \"echo hidden > {0}; exec /bin/sleep {1}\" &) &'\n\
         read line < {0}.go\n",
        pipe.display(),
        long()
    );
    fs::write(&script, text).unwrap();
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).unwrap();
    let go = place.path("iwd/pipe.go");
    nix::unistd::mkfifo(&go, nix::sys::stat::Mode::from_bits_truncate(0o666)).unwrap();
    fs::set_permissions(&go, fs::Permissions::from_mode(0o666)).unwrap();
    (format!("Cmd = \"{}\"", script.display()), pipe)
}

/// Starts the program in a separate PID namespace, so that it cannot kill processes of other tests by their account. Before the
/// namespace ends, its remaining processes are recorded.
fn start_apart(place: &Place, ad: &str) -> std::process::Child {
    let alone = place.command();
    let mut command = std::process::Command::new("unshare");
    command.args(["--pid", "--fork", "--mount-proc", "/bin/sh", "-c"]);
    command.arg("\"$@\"; ended=$?; cat /proc/[0-9]*/cmdline 2>/dev/null | tr '\\0' ' ' >left; exit $ended");
    command.arg("sh").arg(alone.get_program()).args(alone.get_args());
    command.current_dir(place.home.path()).env_clear();
    command.envs(alone.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let piped = std::process::Stdio::piped;
    let mut child = command.stdin(piped()).stdout(piped()).stderr(piped()).spawn().unwrap();
    std::io::Write::write_all(&mut child.stdin.take().unwrap(), place.complete_ad(ad).as_bytes()).unwrap();
    child
}

/// Returns true if the hidden process runs.
fn hidden() -> bool {
    let line = format!("/bin/sleep\0{}\0", long());
    htc_hooks::os::process_table::all_pids()
        .any(|pid| fs::read(format!("/proc/{pid}/cmdline")).is_ok_and(|found| found == line.as_bytes()))
}

#[test]
fn a_process_without_marks_is_found_by_each_tracking_method() {
    if !may() {
        return;
    }
    for parameters in [
        NAMESPACE,
        "USE_GID_PROCESS_TRACKING = true\nMIN_TRACKING_GID = 61751\nMAX_TRACKING_GID = 61759",
        "DEDICATED_EXECUTE_ACCOUNT_REGEXP = nob.*",
    ] {
        // The hidden process could also be a child of a hook that still runs.
        let place = place(parameters).hook("UPDATE_JOB_INFO", "exec sleep 60");
        let (ad, pipe) = hiding(&place);
        let child = start_apart(&place, &ad);
        assert_eq!(read_fifo(&pipe), "hidden\n");
        // A shell sends the report, and executes the sleep program a moment later.
        let begun = std::time::Instant::now();
        while !hidden() {
            assert!(begun.elapsed().as_secs() < 60, "{parameters}");
            std::thread::yield_now();
        }
        fs::write(place.path("iwd/pipe.go"), "go\n").unwrap();
        let run = place.finish(child);
        assert!(run.has("ExitCode = 0"), "{parameters}: {}{}", run.ad, run.stderr);
        let left = fs::read_to_string(place.path("left")).unwrap();
        assert!(left.contains("/proc/") && !left.contains(&long()), "{parameters}: {left}");
        assert!(run.left.is_empty(), "{:?}", run.left);
    }
}

#[test]
fn chroots_are_reported_as_no_longer_supported() {
    for (parameter, ad) in [("NAMED_CHROOT = /a=/b", ""), ("", "RequestedChroot = \"/a\"")] {
        let run = place(parameter).run(&format!("{}\n{ad}", shell("exit 0")));
        let lines =
            run.stderr.lines().filter(|line| line.contains("HTCondor 25.14 no longer supports chroots"));
        assert_eq!((run.status, lines.count()), (0, 1), "{}", run.stderr);
    }
}

#[test]
fn the_last_tracking_method_is_reported_to_miss_processes() {
    let place = place("").option(&["--dry-run"]);
    let run = place.run(&shell("exit 0"));
    assert!(
        run.ad.contains("may be missed") || run.stderr.contains("may be missed"),
        "{}{}",
        run.ad,
        run.stderr
    );
}

#[test]
fn jobs_get_the_first_free_group_and_none_left_is_an_exception() {
    if !may() {
        return;
    }
    let tracking = "USE_GID_PROCESS_TRACKING = true\nMIN_TRACKING_GID = 61761\nMAX_TRACKING_GID = 61762";
    let (first, second, third) = (place(tracking), place(tracking), place(tracking));
    let held = |place: &Place| {
        let pipe = place.pipe();
        let script = format!("id -G > groups; echo runs > {}; exec sleep 600", pipe.display());
        let child = place.start(&shell(&script));
        assert_eq!(read_fifo(&pipe), "runs\n");
        let groups = fs::read_to_string(place.path("iwd/groups")).unwrap();
        (child, groups.trim().to_owned())
    };
    let (one, two) = (held(&first), held(&second));
    assert!(one.1.ends_with("61761") && two.1.ends_with("61762"), "{}, {}", one.1, two.1);
    let run = third.run(&shell("exit 0"));
    assert!(run.stderr.contains("all groups from 61761 to 61762 are in use"), "{}", run.stderr);
    assert_eq!(run.calls, "prepare\nexit evict\n", "{}", run.stderr);
    for (place, (child, _)) in [(&first, one), (&second, two)] {
        send(&child, Signal::SIGQUIT);
        place.finish(child);
    }
    let wrong = place("USE_GID_PROCESS_TRACKING = true\nMIN_TRACKING_GID = 9\nMAX_TRACKING_GID = 8")
        .run(&shell("exit 0"));
    assert!(wrong.stderr.contains("invalid tracking gid range: 9 - 8"), "{}", wrong.stderr);
}

#[test]
fn a_job_that_does_not_run_as_its_owner_runs_as_the_account_of_its_slot_or_nobody() {
    if !may() {
        return;
    }
    let owned = |parameters: &str, more: &str| {
        let place = Place::new().parameter("BASE_CGROUP =").parameter(parameters).option(&[
            "--as",
            "shadow",
            "--slot-name",
            "slot1_2",
        ]);
        fs::set_permissions(place.path("iwd"), fs::Permissions::from_mode(0o777)).unwrap();
        let out = place.path("iwd/who");
        let script = format!("id -un > {}", out.display());
        let run = place.run(&format!(
            "{}\nOwner = \"daemon\"\nUser = \"daemon@x\"\nShouldTransferFiles = \"NO\"\n{more}",
            shell(&script)
        ));
        (fs::read_to_string(out).unwrap_or_default().trim().to_owned(), run.stderr)
    };
    for (parameters, more, who) in [
        ("", "", "daemon"),
        ("UID_DOMAIN = a", "UidDomain = \"b\"", "nobody"),
        ("UID_DOMAIN = a", "UidDomain = \"A\"", "daemon"),
        ("UID_DOMAIN = a\nTRUST_LOCAL_UID_DOMAIN = false", "", "nobody"),
        ("UID_DOMAIN = a\nTRUST_LOCAL_UID_DOMAIN = false\nTRUST_UID_DOMAIN = true", "", "daemon"),
        ("STARTER_ALLOW_RUNAS_OWNER = false\nSLOT1_2_USER = games", "", "games"),
        ("STARTER_ALLOW_RUNAS_OWNER = RunAsOwner =?= true\nNOBODY_SLOT_USER = games", "", "games"),
        ("STARTER_ALLOW_RUNAS_OWNER = RunAsOwner =?= true", "RunAsOwner = true", "daemon"),
        ("STARTER_ALLOW_RUNAS_OWNER = TARGET.RunAsOwner =?= true", "RunAsOwner = true", "daemon"),
        ("SLOT1_2_USER = root", "RunAsOwner = false", "nobody"),
        // The starter of a shadow looks up only the complete name.
        ("SLOT1_USER = games", "RunAsOwner = false", "nobody"),
        ("SLOT1_USER = games\nNOBODY_SLOT_USER = daemon", "RunAsOwner = false", "daemon"),
    ] {
        let (found, stderr) = owned(parameters, more);
        assert_eq!(found, who, "{parameters} {more}: {stderr}");
        assert!(!stderr.contains("owner-ignored"), "{stderr}");
    }
    let (none, stderr) = owned("NOBODY_SLOT_USER = no-such-account", "RunAsOwner = false");
    assert!(
        none.is_empty()
            && stderr.contains("the account 'no-such-account' that NOBODY_SLOT_USER names does not exist"),
        "{stderr}"
    );
    let (none, stderr) = owned("SOFT_UID_DOMAIN = true", "OsUser = \"no-such-account\"");
    assert!(none.is_empty() && stderr.contains("SOFT_UID_DOMAIN does not help"), "{stderr}");
}

/// If a private directory of the job hides a directory of the machine, the job's standard files are still those of the machine,
/// because 25.14 opens them before there is a process. Regression test: they were in the private directory, and removed with it.
#[test]
fn standard_files_below_a_private_directory_are_those_of_the_machine() {
    if !may() {
        return;
    }
    let mut place = place("");
    let covered = place.path("covered");
    fs::create_dir_all(covered.join("deep")).unwrap();
    place.chown_to_nobody("covered");
    fs::write(covered.join("in"), "given\n").unwrap();
    place = place.parameter(&format!("MOUNT_UNDER_SCRATCH = {}", covered.display()));
    let files = |names: &[(&str, &str)]| {
        let line = |(name, file): &(&str, &str)| format!("\n{name} = \"{}\"", covered.join(file).display());
        names.iter().map(line).collect::<String>()
    };
    let script = format!("cat; ls {} >&2", covered.display());
    let run = place.run(&(shell(&script) + &files(&[("In", "in"), ("Out", "out"), ("Err", "err")])));
    let read = |name: &str| fs::read_to_string(covered.join(name)).unwrap_or_default();
    assert_eq!((read("out").as_str(), read("err").as_str()), ("given\n", ""), "{}", run.stderr);
    // The files are opened as the job's account, not as root.
    fs::write(covered.join("roots"), "").unwrap();
    fs::set_permissions(covered.join("roots"), fs::Permissions::from_mode(0o600)).unwrap();
    let run = place.run(&(shell("echo no") + &files(&[("Out", "roots")])));
    assert!(run.stderr.contains("roots' as standard output: Permission denied (errno 13)"), "{}", run.stderr);
    // The initial working directory is looked up in the file system as the job sees it.
    let iwd = format!("\nIwd = \"{}\"", covered.join("deep").display());
    let run = place.run(&(shell("exit 0") + &iwd + &files(&[("Out", "made")])));
    assert!(run.stderr.contains("Cannot access initial working directory"), "{}", run.stderr);
    assert!(covered.join("made").exists(), "{}", run.stderr);
}

/// The job runs in a user namespace whose limit of PID namespaces is 0.
#[test]
fn a_job_runs_without_a_pid_namespace_and_a_warning_says_so() {
    if !nix::unistd::geteuid().is_root() {
        eprintln!("skipped: needs root");
        return;
    }
    let place = Place::new().parameter("USE_PID_NAMESPACES = True").with_recording_hooks();
    let ad = place.complete_ad(&shell("exit 5"));
    std::fs::write(place.path("job.ad"), ad).unwrap();
    let configured = place.command();
    let script = "read mapped; echo 0 > /proc/sys/user/max_pid_namespaces || exit 99; exec \"$@\"";
    let mut command = std::process::Command::new("unshare");
    command.args(["-U", "-m", "/bin/sh", "-c", script, "sh", env!("CARGO_BIN_EXE_htc-starter-run"), "--ads"]);
    command.arg(place.path("job.ad")).current_dir(place.home.path()).env_clear();
    configured.get_envs().for_each(|(name, value)| {
        command.env(name, value.unwrap_or_default());
    });
    let piped = std::process::Stdio::piped;
    let mut child = command.stdin(piped()).stdout(piped()).stderr(piped()).spawn().unwrap();
    // The maps of a user namespace can be written once the namespace exists.
    let own = std::fs::read_link("/proc/self/ns/user").unwrap();
    let of_child = || std::fs::read_link(format!("/proc/{}/ns/user", child.id())).ok();
    while of_child().is_none_or(|namespace| namespace == own) {
        std::thread::yield_now();
    }
    for map in ["uid_map", "gid_map"] {
        if std::fs::write(format!("/proc/{}/{map}", child.id()), "0 0 65536\n").is_err() {
            eprintln!("skipped: no user namespaces here");
            let _ = child.kill();
            let _ = child.wait();
            return;
        }
    }
    std::io::Write::write_all(&mut child.stdin.take().unwrap(), b"yes\n").unwrap();
    let output = child.wait_with_output().unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    if output.status.code() == Some(99) {
        eprintln!("skipped: the limit cannot be set here");
        return;
    }
    let ad = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(stderr.contains("the job runs without a PID namespace (USE_PID_NAMESPACES)"), "{stderr}");
    assert!(ad.contains("ExitCode = 5\n"), "{ad}\n{stderr}");
}

/// In a chroot whose `/` is an ordinary directory, the job's mounts must not be visible outside.
#[test]
fn a_starter_in_a_chroot_without_a_mount_at_its_root_has_private_mounts_too() {
    if !may() {
        return;
    }
    let place = place("MOUNT_UNDER_SCRATCH = /tmp,/var/tmp");
    let root = place.path("root");
    fs::create_dir(&root).unwrap();
    let probe = format!("/var/tmp/probe-{}", std::process::id());
    let script = "mount --make-rprivate / && mount --make-rshared / || exit 99
        for entry in /*; do
            if [ -L \"$entry\" ]; then ln -s \"$(readlink \"$entry\")\" \"$ROOT$entry\"
            elif [ -d \"$entry\" ]; then mkdir \"$ROOT$entry\" && mount --rbind \"$entry\" \"$ROOT$entry\"; fi
        done
        wc -l </proc/self/mountinfo >\"$ROOT.before\"
        chroot \"$ROOT\" \"$@\"
        ended=$?
        wc -l </proc/self/mountinfo >\"$ROOT.after\"
        exit $ended";
    let configured = place.command();
    let ad = place.path("job.ad");
    fs::write(&ad, place.complete_ad(&shell(&format!("touch {probe} && test -e {probe} && exit 7"))))
        .unwrap();
    let mut command = std::process::Command::new("unshare");
    command.args(["--mount", "/bin/sh", "-c", script, "sh", env!("CARGO_BIN_EXE_htc-starter-run"), "--ads"]);
    command.arg(ad).current_dir(place.home.path()).env_clear();
    configured.get_envs().for_each(|(name, value)| {
        command.env(name, value.unwrap_or_default());
    });
    let output = command.env("ROOT", &root).env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin").output().unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    if output.status.code() == Some(99) {
        println!("skipped: / is no mount point here");
        return;
    }
    let ad = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(ad.contains("ExitCode = 7"), "{ad}{stderr}");
    assert!(!std::path::Path::new(&probe).exists(), "{stderr}");
    let mounts = |name: &str| fs::read_to_string(place.path(name)).unwrap();
    assert_eq!(mounts("root.before"), mounts("root.after"), "{stderr}");
}
