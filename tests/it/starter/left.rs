//! Tests of what killed starters leave behind, and of its removal: processes, control groups, containers, directories.

#![allow(clippy::print_stdout, reason = "how many jobs were ended, and how")]

use std::fs;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use htc_hooks::journal::encode_record;
use htc_hooks::starter::LeftoverRecord;
use nix::sys::signal::Signal;

use crate::support::children::{LONG, is_alive, write_executable};
use crate::support::dice::Dice;
use crate::support::place::{Place, read_fifo, send, shell};

/// Returns the existing control groups below a base.
pub(crate) fn groups(base: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut waiting = vec![(PathBuf::from("/sys/fs/cgroup"), 0)];
    while let Some((directory, depth)) = waiting.pop() {
        for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
            let path = entry.path();
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) && depth < 5 {
                if entry.file_name() == base {
                    found.extend(
                        fs::read_dir(&path).into_iter().flatten().flatten().map(|entry| entry.path()),
                    );
                }
                waiting.push((path, depth + 1));
            }
        }
    }
    found.retain(|path| path.is_dir());
    found
}

/// Runs `--clean` in a place; returns its exit status, its messages, and the ads that it printed.
fn clean_with_ads(place: &Place) -> (i32, String, String) {
    let output = place.clean_command().output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.code().unwrap(), text(&output.stderr), text(&output.stdout))
}

fn clean(place: &Place) -> (i32, String) {
    let (status, output, _) = clean_with_ads(place);
    (status, output)
}

fn in_execute(place: &Place) -> Vec<String> {
    let entries = fs::read_dir(place.path("execute")).unwrap().flatten();
    entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
}

/// Creates a place with a base for the control groups of this test only.
fn with_base(name: &str) -> (Place, String) {
    let base = format!("htc-hooks-left-{}-{name}", std::process::id());
    (Place::new().parameter(&format!("BASE_CGROUP = {base}")), base)
}

/// Waits until a file contains a text. The job may be faster than its starter, which records that the job runs.
fn until_it_says(file: &Path, what: &str) {
    let begun = Instant::now();
    while !fs::read_to_string(file).unwrap().contains(what) {
        assert!(begun.elapsed() < LONG, "{} never says {what}", file.display());
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn leftovers_of_a_killed_starter_are_found_and_removed_once() {
    let (place, base) = with_base("killed");
    let pipe = place.pipe();
    let hidden = format!("setsid sh -c 'echo $$ > {}; exec sleep 600' & sleep 600", pipe.display());
    let mut child = place.start(&shell(&hidden));
    let pid: i32 = read_fifo(&pipe).trim().parse().unwrap();
    let state = in_execute(&place).into_iter().find(|name| name.ends_with(".left")).unwrap();
    let mode = fs::metadata(place.path("execute").join(&state)).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode, 0o600);
    let (status, output) = clean(&place);
    assert_eq!((status, output.as_str()), (0, ""), "a starter that lives is left alone");
    assert!(is_alive(pid));
    until_it_says(&place.path("execute").join(&state), "running");
    send(&child, Signal::SIGKILL);
    child.wait().unwrap();
    let (status, output, ads) = clean_with_ads(&place);
    assert_eq!(status, 0, "{output}");
    assert!(output.contains("job 7.1 was running when its starter was killed"), "{output}");
    assert!(ads.contains("ClusterId = 7\n") && ads.contains("Cmd = \"/bin/sh\"\n"), "{ads}");
    assert!(!is_alive(pid), "{output}");
    assert!(output.contains("removed '") && output.contains("dir_"), "{output}");
    assert_eq!(in_execute(&place), Vec::<String>::new(), "{output}");
    assert_eq!(groups(&base), Vec::<PathBuf>::new(), "{output}");
    let (status, output) = clean(&place);
    assert_eq!((status, output.as_str()), (0, ""), "nothing is left to be said");
    remove_base(&base);
}

/// Removes the base of a killed starter, which is empty but still exists.
pub(crate) fn remove_base(base: &str) {
    for top in fs::read_dir("/sys/fs/cgroup").into_iter().flatten().flatten() {
        drop(fs::remove_dir(top.path().join(base)));
    }
}

#[test]
fn the_slot_runner_removes_leftovers_of_starters_at_its_start() {
    let place = Place::new();
    let pipe = place.pipe();
    let mut child = place.start(&shell(&format!("echo $$ > {}; exec sleep 600", pipe.display())));
    let pid: i32 = read_fifo(&pipe).trim().parse().unwrap();
    send(&child, Signal::SIGKILL);
    child.wait().unwrap();
    let config = place.path("condor_config");
    let more = format!(
        "{}LOG = {}\nNUM_CPUS = 1\nSLOT_TYPE_1 = 100%\nNUM_SLOTS_TYPE_1 = 1\n",
        fs::read_to_string(&config).unwrap(),
        place.home.path().display()
    );
    fs::write(&config, more).unwrap();
    let output = std::process::Command::new(env!("CARGO_BIN_EXE_htc-slot-run"))
        .args(["run", "--timeout", "0.1", "--config-file"])
        .arg(&config)
        .env_clear()
        .env("PATH", "/usr/bin:/bin")
        .output()
        .unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(!is_alive(pid), "{stderr}");
    // The starter may have been killed before it recorded the process that it created.
    assert!(stderr.contains("killed ") || stderr.contains("removed the control group"), "{stderr}");
    assert_eq!(in_execute(&place), Vec::<String>::new(), "{stderr}");
}

/// Writes a state file as a starter that is gone would have left it.
fn forge(place: &Place, pid: i32, records: &[LeftoverRecord]) -> PathBuf {
    let path = place.path(&format!("execute/dir_{pid}.left"));
    let all: Vec<u8> = records.iter().flat_map(|record| encode_record(record).unwrap()).collect();
    fs::write(&path, all).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
    path
}

/// Process id that no process has.
const NOBODY: i32 = 4_194_000;

fn starter(place: &Place) -> LeftoverRecord {
    LeftoverRecord::Starter {
        pid: NOBODY,
        started: 1,
        directory: place.path(&format!("execute/dir_{NOBODY}")),
        uid: nix::unistd::geteuid().as_raw(),
        pid_namespace: None,
    }
}

#[test]
fn entries_of_a_state_file_are_verified() {
    let place = Place::new().parameter("BASE_CGROUP = htc-hooks-no-such-base");
    let own = std::process::id().cast_signed();
    let victim = place.path("victim");
    fs::create_dir(&victim).unwrap();
    let link = place.path("htc-hooks-no-such-base");
    std::os::unix::fs::symlink(&victim, &link).unwrap();
    let path = forge(
        &place,
        NOBODY,
        &[
            starter(&place),
            // Another process has the same id now.
            LeftoverRecord::Process { pid: own, started: 1 },
            LeftoverRecord::Group { directory: link.clone() },
            LeftoverRecord::Group { directory: victim.clone() },
            LeftoverRecord::Group { directory: "/sys/fs/cgroup/memory".into() },
            LeftoverRecord::Group { directory: "/".into() },
            LeftoverRecord::Container { name: "web".into() },
        ],
    );
    let (status, output) = clean(&place);
    assert_eq!(status, 1, "{output}");
    assert!(victim.is_dir() && is_alive(own), "{output}");
    assert!(
        output.contains("the path contains a symbolic link") && output.contains("below BASE_CGROUP"),
        "{output}"
    );
    assert!(output.contains("'web' is not a container of the starter"), "{output}");
    assert!(path.exists(), "what could not be done is not forgotten");
    // A file behind a link, or a file that other accounts could have written, is not even read.
    fs::remove_file(&path).unwrap();
    let elsewhere = place.path("elsewhere");
    fs::write(&elsewhere, encode_record(&starter(&place)).unwrap()).unwrap();
    std::os::unix::fs::symlink(&elsewhere, &path).unwrap();
    let (status, output) = clean(&place);
    assert_eq!(status, 1, "{output}");
    assert!(output.contains("is not used") && output.contains("it is a link"), "{output}");
    // In a file that is cut in the middle, the complete records count.
    fs::remove_file(&path).unwrap();
    let path = forge(&place, NOBODY, &[starter(&place)]);
    fs::create_dir_all(place.path(&format!("execute/dir_{NOBODY}/scratch"))).unwrap();
    let mut torn = fs::read(&path).unwrap();
    torn.extend_from_slice(b"00000");
    fs::write(&path, torn).unwrap();
    let (status, output) = clean(&place);
    assert_eq!((status, in_execute(&place)), (0, Vec::new()), "{output}");
}

/// The parent of a starter whose runner was killed may be slow to wait for it. What the starter left must be removed even so.
#[test]
fn leftovers_of_a_zombie_starter_are_removed() {
    let place = Place::new();
    let mut zombie = std::process::Command::new("true").spawn().unwrap();
    let pid = zombie.id().cast_signed();
    let stat = || fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    crate::support::waiting::wait_until("a zombie", || stat().contains(" Z "));
    let started = stat().rsplit_once(") ").unwrap().1.split(' ').nth(19).unwrap().parse().unwrap();
    let directory = place.path(&format!("execute/dir_{pid}"));
    let uid = nix::unistd::geteuid().as_raw();
    let job = LeftoverRecord::Job { id: "7.1".into(), ad: "ClusterId = 7\n".into() };
    let path = forge(
        &place,
        pid,
        &[LeftoverRecord::Starter { pid, started, directory, uid, pid_namespace: None }, job],
    );
    let (status, output, ads) = clean_with_ads(&place);
    assert_eq!(status, 0, "{output}");
    assert!(output.contains("job 7.1") && ads.contains("ClusterId = 7"), "{output}");
    assert!(!path.exists(), "{output}");
    zombie.wait().unwrap();
}

/// Only starters of root write to the directory that all EXECUTE directories share.
#[test]
fn leftovers_of_a_starter_are_removed_although_its_execute_is_missing() {
    if !is_root() {
        println!("skipped: not root");
        return;
    }
    let (gone, place) = (Place::new(), Place::new());
    let directory = PathBuf::from("/run/htc-hooks");
    drop(fs::DirBuilder::new().mode(0o700).create(&directory));
    let number = NOBODY.unsigned_abs() + std::process::id();
    let (file, there) =
        (directory.join(format!("dir_{number}.left")), directory.join(format!("dir_{number}.1.left")));
    let records = |directory: PathBuf| {
        let starter = LeftoverRecord::Starter {
            pid: number.cast_signed(),
            started: 1,
            directory,
            uid: 0,
            pid_namespace: None,
        };
        let job = LeftoverRecord::Job { id: "7.1".into(), ad: "ClusterId = 7\n".into() };
        [starter, job].iter().flat_map(|record| encode_record(record).unwrap()).collect::<Vec<_>>()
    };
    for (path, of) in [(&file, &gone), (&there, &place)] {
        fs::write(path, records(of.path("execute/dir_1"))).unwrap();
        fs::set_permissions(path, fs::Permissions::from_mode(0o600)).unwrap();
    }
    drop(gone);
    let other = Place::new();
    let (status, output, ads) = clean_with_ads(&other);
    assert_eq!((status, output.as_str(), ads.as_str()), (0, "", ""), "its job is nobody's here");
    assert!(!file.exists() && there.exists());
    let (_, output, ads) = clean_with_ads(&place);
    assert!(output.contains("job 7.1") && ads.contains("ClusterId = 7"), "{output}");
    // Another test may run --clean at the same time, and remove the content first.
    assert_eq!(fs::read(&there).unwrap_or_default(), b"");
}

/// Creates a fake docker that records its arguments and has one container.
fn docker(place: &Place, label: &str) -> PathBuf {
    let path = place.path("docker");
    let log = place.path("asked");
    let script = format!(
        "#!/bin/sh\necho \"$*\" >> {log}\ncase $1 in inspect) echo '{label}';; esac\n",
        log = log.display()
    );
    write_executable(&path, script.as_bytes());
    path
}

fn docker_calls(place: &Place) -> String {
    fs::read_to_string(place.path("asked")).unwrap_or_default()
}

#[test]
fn only_containers_with_our_label_are_removed() {
    let name = format!("HTCJob7_1_slot1@host_PID{NOBODY}");
    for (label, goes) in [("True", true), ("<no value>", false)] {
        let mut place = Place::new();
        let docker = docker(&place, label);
        place = place.parameter(&format!("DOCKER = {}", docker.display()));
        forge(&place, NOBODY, &[starter(&place), LeftoverRecord::Container { name: name.clone() }]);
        let (status, output) = clean(&place);
        assert_eq!(status, i32::from(!goes), "{output}");
        assert_eq!(
            docker_calls(&place).contains(&format!("rm -f -v {name}")),
            goes,
            "{}",
            docker_calls(&place)
        );
        assert_eq!(output.contains(&format!("removed the container '{name}'")), goes, "{output}");
    }
}

#[test]
fn the_file_that_25_14_leaves_names_a_container_as_well() {
    let mut place = Place::new();
    let docker = docker(&place, "True");
    place = place.parameter(&format!("DOCKER = {}", docker.display()));
    let name = format!("HTCJob1_0__PID{NOBODY}");
    let recovery = place.path(&format!("execute/dir_{NOBODY}.recover"));
    fs::write(&recovery, format!("DockerContainerName = \"{name}\"\n")).unwrap();
    let (status, output) = clean(&place);
    assert_eq!(status, 0, "{output}");
    assert!(docker_calls(&place).contains(&format!("rm -f -v {name}")), "{}{output}", docker_calls(&place));
    assert_eq!(in_execute(&place), Vec::<String>::new());
}

/// Ways in which a job ends.
const ENDS: [&str; 5] = ["exit", "TERM", "QUIT", "KILL of the job", "KILL of the starter"];

/// There are 25 jobs with random ends; for more, use `HTC_HOOKS_RANDOM_ENDS=200 cargo test --test it random_ends`.
#[test]
fn jobs_with_random_ends_leave_nothing() {
    let count = std::env::var("HTC_HOOKS_RANDOM_ENDS").ok().and_then(|text| text.parse().ok()).unwrap_or(25);
    let (place, base) = with_base("ends");
    let pipe = place.pipe();
    let mut dice = Dice(7);
    let mut counts = [0; ENDS.len()];
    let mut pids = Vec::new();
    for _ in 0..count {
        let end = usize::try_from(dice.next(ENDS.len() as u64)).unwrap();
        counts[end] += 1;
        let last = if end == 0 { "exit 0" } else { "exec sleep 600" };
        let told = pipe.display();
        let job = format!("setsid sleep 600 & env -i setsid sleep 600 & echo $$ $! > {told}; {last}");
        let mut child = place.start(&shell(&job));
        let started = read_fifo(&pipe);
        let of_job: Vec<i32> = started.split_whitespace().map(|pid| pid.parse().unwrap()).collect();
        match ENDS[end] {
            "TERM" => send(&child, Signal::SIGTERM),
            "QUIT" => send(&child, Signal::SIGQUIT),
            "KILL of the job" => {
                nix::sys::signal::kill(nix::unistd::Pid::from_raw(of_job[0]), Signal::SIGKILL).unwrap();
            }
            "KILL of the starter" => {
                send(&child, Signal::SIGKILL);
                child.wait().unwrap();
                let (status, output) = clean(&place);
                assert_eq!(status, 0, "{output}");
            }
            _ => {}
        }
        child.wait().unwrap();
        pids.extend(of_job);
    }
    println!("{:?}", ENDS.iter().zip(counts).collect::<Vec<_>>());
    assert_eq!(in_execute(&place), Vec::<String>::new());
    assert_eq!(groups(&base), Vec::<PathBuf>::new());
    let alive: Vec<i32> = pids.into_iter().filter(|pid| is_alive(*pid)).collect();
    assert!(alive.is_empty() || !is_root(), "{alive:?}");
    let mounts = fs::read_to_string("/proc/self/mounts").unwrap();
    assert!(!mounts.contains(place.home.path().to_str().unwrap()), "{mounts}");
    remove_base(&base);
}

/// Returns true if root runs the test. Otherwise a process may not be found after its starter was killed, because finding it
/// needs a control group or the markers.
fn is_root() -> bool {
    nix::unistd::geteuid().is_root()
}

/// A job with hooks and files is killed with its starter at random times. There are 25 trials; for more, use
/// `HTC_HOOKS_KILL_TRIALS=1000 cargo test --test it killed_at_any_moment`.
#[test]
fn clean_finds_all_leftovers_of_killed_starters_and_names_their_jobs() {
    let count = std::env::var("HTC_HOOKS_KILL_TRIALS").ok().and_then(|text| text.parse().ok()).unwrap_or(25);
    let (place, base) = with_base("moments");
    let mut place = place.with_recording_hooks().option(&["--as", "shadow"]);
    fs::create_dir(place.path("tmp")).unwrap();
    place.environment.push(("TMPDIR".to_owned(), place.path("tmp").display().to_string()));
    fs::write(place.path("iwd/in"), vec![b'x'; 1 << 16]).unwrap();
    place.chown_to_nobody("iwd/in");
    let ad = format!(
        "{}\nShouldTransferFiles = \"YES\"\nWhenToTransferOutput = \"ON_EXIT\"\nTransferInput = \"in\"\nTransferExecutable = false\nStreamOut = false",
        shell("cp in out1; cp in out2; exit 4")
    );
    let clock = std::time::Instant::now();
    let run = place.run(&ad);
    assert!(run.has("ExitCode = 4"), "{}\n{}", run.ad, run.stderr);
    let whole = u64::try_from(clock.elapsed().as_millis()).unwrap().max(20);
    let mut dice = Dice(11);
    let (mut ended, mut cleaned, mut before) = (0, 0, 0);
    for trial in 0..count {
        let mut child = place.start(&ad);
        // The test does not synchronize with the job, because it needs random times.
        std::thread::sleep(std::time::Duration::from_millis(dice.next(whole + whole / 4)));
        let _ = child.kill();
        let output = child.wait_with_output().unwrap();
        let own = String::from_utf8_lossy(&output.stdout).contains("JobStatus = 4");
        let (status, message, ads) = clean_with_ads(&place);
        assert_eq!(status, 0, "{trial}: {message}");
        assert_eq!(in_execute(&place), Vec::<String>::new(), "{trial}: {message}");
        assert_eq!(fs::read_dir(place.path("tmp")).unwrap().count(), 0, "{trial}: {message}");
        let told = ads.matches("ClusterId = 7\n").count();
        assert!(told <= 1, "{trial}: {ads}");
        match (own, told) {
            (true, _) => ended += 1,
            (false, 1) => cleaned += 1,
            // The starter was killed before it created anything for the job.
            _ => {
                before += 1;
                assert!(!message.contains("removed"), "{trial}: {message}");
            }
        }
    }
    println!("{ended} had ended, {cleaned} were reported by --clean, {before} had not begun");
    assert_eq!(groups(&base), Vec::<PathBuf>::new());
    remove_base(&base);
}
