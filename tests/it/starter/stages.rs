//! Tests with a job that uses everything - input and output by plugins, hooks, PreCmd, PostCmd - and is ended in each stage in
//! each way: it ends, reports this once, and leaves nothing behind.

#![allow(clippy::print_stdout, reason = "a skipped test says why")]

use std::fs;
use std::io::Write;
use std::process::{Child, Command};
use std::time::{Duration, Instant};

use nix::sys::signal::Signal;

use crate::support::children::{is_alive, write_executable};
use crate::support::place::{Place, RunResult, read_fifo, send, shell};

/// Part of the script of each stage. In the selected stage, it reports that the stage is reached, and runs until it is ended or,
/// if there is a FIFO for this, released.
const GATE: &str = "if [ -e $IWD/at-$STAGE ]; then echo $$ >> $IWD/pids; echo > $IWD/pipe; \
                    if [ -p $IWD/go ]; then read line < $IWD/go; else exec sleep 600; fi; fi";

/// Plugin for downloads and uploads.
const PLUGIN: &str = r#"#!/bin/sh
if [ "$1" = -classad ]; then echo 'MultipleFileSupport = true'; echo 'PluginVersion = "1"'; echo 'PluginType = "FileTransfer"'; echo 'SupportedMethods = "slow"'; exit 0; fi
STAGE=input; [ "$5" = -upload ] && STAGE=output
GATE
: > in
printf '[ TransferSuccess = true; TransferUrl = "slow://x/y" ]' > $4
"#;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    Soft,
    SoftTwice,
    Hard,
    Hold,
    Remove,
    SuspendedHard,
    ScratchGone,
    ParentGone,
    Killed,
    /// The end is requested, and the plugin ignores all signals that can be ignored.
    PluginIgnores,
    /// The end is not requested, but the plugin exceeds its time limit.
    PluginTimesOut,
    /// The job continues after EXECUTE has become full.
    DiskFull,
    /// The job continues after it was suspended and continued.
    SuspendContinue,
}

impl End {
    /// Returns true if the stage is released, so that the job continues.
    fn goes_on(self) -> bool {
        matches!(self, End::DiskFull | End::SuspendContinue)
    }
}

const ENDS: [End; 11] = [
    End::Soft,
    End::SoftTwice,
    End::Hard,
    End::Hold,
    End::Remove,
    End::SuspendedHard,
    End::ScratchGone,
    End::ParentGone,
    End::Killed,
    End::DiskFull,
    End::SuspendContinue,
];

fn place(stage: &str, how: End) -> Place {
    let place = Place::new();
    let iwd = place.path("iwd").display().to_string();
    let gate = |stage: &str| GATE.replace("$STAGE", stage).replace("$IWD", &iwd);
    let ignores = if how == End::PluginIgnores { "trap '' HUP INT QUIT TERM\n" } else { "" };
    let plugin = PLUGIN.replace("GATE", &(ignores.to_owned() + &GATE.replace("$IWD", &iwd)));
    write_executable(&place.path("hooks/plugin"), plugin.as_bytes());
    for script in ["pre", "post"] {
        let text = format!("#!/bin/sh\n{}\n", gate(script));
        write_executable(&place.path(&format!("iwd/{script}")), text.as_bytes());
        place.chown_to_nobody(&format!("iwd/{script}"));
    }
    fs::write(place.path(&format!("iwd/at-{stage}")), "").unwrap();
    fs::create_dir(place.path("own")).unwrap();
    let socket = place.path("own/control").display().to_string();
    let plugins = format!("FILETRANSFER_PLUGINS = {}", place.path("hooks/plugin").display());
    if how.goes_on() {
        pipe(&place, "iwd/go");
    }
    let limit = if how == End::PluginTimesOut { "MAX_FILE_TRANSFER_PLUGIN_LIFETIME = 1" } else { "" };
    // The limit is long enough for the hook to reach its stage on a busy machine.
    let exit_limit = match stage {
        _ if how.goes_on() => 600,
        "exit" => 4,
        _ => 1,
    };
    let exit = format!("{}; echo exit >> $CALLS", gate("exit"));
    place
        .hook("SHADOW_PREPARE_JOB", &gate("shadow"))
        .hook("PREPARE_JOB_BEFORE_TRANSFER", &gate("before"))
        .hook("PREPARE_JOB", &gate("prepare"))
        .hook("JOB_EXIT", &exit)
        .parameter("SHADOW_DEFAULT_JOB_HOOK_KEYWORD = FARM")
        .parameter(&format!("FARM_HOOK_JOB_EXIT_TIMEOUT = {exit_limit}"))
        .parameter(limit)
        .parameter("STARTER_ALLOW_JOB_PRE_AND_POST_CMD = True")
        .parameter("MachineMaxVacateTime = 1")
        .parameter("SHUTDOWN_GRACEFUL_TIMEOUT = 1")
        .parameter(&plugins)
        .option(&["--as", "shadow", "--control", &socket])
}

fn pipe(place: &Place, name: &str) {
    nix::unistd::mkfifo(&place.path(name), nix::sys::stat::Mode::S_IRWXU).unwrap();
    place.chown_to_nobody(name);
}

fn ad(place: &Place, stage: &str, how: End) -> String {
    let iwd = place.path("iwd").display().to_string();
    let mut job = GATE.replace("$STAGE", "job").replace("$IWD", &iwd);
    // The expression is evaluated when the wait begins, so the time is always in the future.
    let deferral = match (stage == "deferred", how.goes_on()) {
        (false, _) => "",
        (true, false) => "\nDeferralTime = time() + 600",
        (true, true) => {
            job = format!("read line < {iwd}/go");
            "\nDeferralTime = time() + 1\nDeferralWindow = 600"
        }
    };
    format!(
        "{}\nShouldTransferFiles = \"YES\"\nWhenToTransferOutput = \"ON_EXIT\"\nTransferExecutable = false\n\
         TransferInput = \"slow://x/in\"\nTransferOutputRemaps = \"made = slow://x/out\"\nUserLog = \"log\"\n\
         PreCmd = \"{iwd}/pre\"\nPostCmd = \"{iwd}/post\"\nJobUniverse = 5{deferral}",
        shell(&format!("trap : TERM; {job}; echo made > made"))
    )
}

fn ask(place: &Place, words: &[&str]) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_htc-starter-run"));
    command.arg("--control").arg(place.path("own/control")).arg("--ask").args(words);
    let output = command.output().unwrap();
    assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
}

/// Collects what is left of a starter that was killed or orphaned.
fn seen(place: &Place, ad: &[u8], stderr: &[u8]) -> RunResult {
    let entries = fs::read_dir(place.path("execute")).unwrap().flatten();
    RunResult {
        status: 0,
        ad: String::from_utf8_lossy(ad).into_owned(),
        stderr: String::from_utf8_lossy(stderr).into_owned(),
        calls: String::new(),
        left: entries.map(|entry| entry.path()).collect(),
    }
}

/// Releases the stage, and returns the open FIFO. Does not wait for the reader, which may have ended.
fn let_go(place: &Place) -> fs::File {
    let mut go = fs::File::options().read(true).write(true).open(place.path("iwd/go")).unwrap();
    go.write_all(b"\n").unwrap();
    go
}

/// Suspends the job, and continues it once it has stopped. Returns the open FIFO.
fn suspend(place: &Place, child: &Child, stage: &str) -> fs::File {
    send(child, Signal::SIGTSTP);
    crate::support::place::wait_for_delivery(child, Signal::SIGTSTP);
    let pid = || fs::read_to_string(place.path("iwd/pids")).unwrap();
    while stage == "job" && !is_stopped(pid().trim()) {
        std::thread::yield_now();
    }
    let go = let_go(place);
    send(child, Signal::SIGCONT);
    go
}

fn is_stopped(pid: &str) -> bool {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    status.lines().any(|line| line.starts_with("State:\tT"))
}

/// File system of 256 kB that is EXECUTE of a place.
struct Small(std::path::PathBuf);

impl Small {
    fn mount(place: &Place) -> Small {
        use nix::mount::{MsFlags, mount};
        let there = place.path("execute");
        mount(Some("none"), &there, Some("tmpfs"), MsFlags::empty(), Some("size=256k,mode=755")).unwrap();
        Small(there)
    }
}

impl Drop for Small {
    fn drop(&mut self) {
        nix::mount::umount2(&self.0, nix::mount::MntFlags::MNT_DETACH).unwrap();
    }
}

/// Fills the remaining space of the file system.
fn fill(place: &Place) {
    let mut file = fs::File::create(place.path("execute/full")).unwrap();
    while file.write(&[b'x'; 4096]).is_ok() {}
}

fn end(place: &Place, mut child: Child, stage: &str, end: End) -> RunResult {
    match end {
        End::Soft | End::PluginIgnores => send(&child, Signal::SIGTERM),
        End::SoftTwice => {
            send(&child, Signal::SIGTERM);
            crate::support::place::wait_for_delivery(&child, Signal::SIGTERM);
            send(&child, Signal::SIGTERM);
        }
        End::Hard => send(&child, Signal::SIGQUIT),
        End::Hold => ask(place, &["hold", "--reason", "no room"]),
        End::Remove => ask(place, &["remove"]),
        End::SuspendedHard => {
            send(&child, Signal::SIGTSTP);
            send(&child, Signal::SIGQUIT);
        }
        End::ScratchGone => {
            for entry in fs::read_dir(place.path("execute")).unwrap().flatten() {
                let _ = fs::remove_dir_all(entry.path());
            }
            send(&child, Signal::SIGTERM);
        }
        End::ParentGone => {
            child.kill().unwrap();
            // The starter keeps the pipes open until it ends.
            let output = child.wait_with_output().unwrap();
            return seen(place, &output.stdout, &output.stderr);
        }
        End::Killed => {
            child.kill().unwrap();
            let output = child.wait_with_output().unwrap();
            assert!(output.stdout.is_empty());
            let output = place.clean_command().output().unwrap();
            let run = seen(place, &output.stdout, &output.stderr);
            assert_eq!(output.status.code(), Some(0), "{}", run.stderr);
            return run;
        }
        End::PluginTimesOut => {}
        End::DiskFull => {
            fill(place);
            let go = let_go(place);
            let run = place.finish(child);
            drop(go);
            return run;
        }
        End::SuspendContinue => {
            let go = suspend(place, &child, stage);
            let run = place.finish(child);
            drop(go);
            return run;
        }
    }
    place.finish(child)
}

/// Starts the starter as the child of a process that ends first.
fn below(place: &Place, ad: &str) -> Child {
    let place_of_ad = place.path("ad");
    fs::write(&place_of_ad, place.complete_ad(ad)).unwrap();
    let starter = place.command();
    let mut command = Command::new("/bin/sh");
    command
        .args(["-c", r#""$@" < "$AD" & wait"#])
        .args(["sh"])
        .arg(starter.get_program())
        .args(starter.get_args())
        .args(["--orphan-grace", "0"])
        .env_clear()
        .envs(starter.get_envs().filter_map(|(name, value)| Some((name, value?))))
        .env("AD", &place_of_ad)
        .current_dir(place.home.path())
        .stdin(std::process::Stdio::null())
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped());
    command.spawn().unwrap()
}

/// Waits until the selected stage is reached.
fn reached(place: &Place, pipe: &std::path::Path, stage: &str) {
    if stage != "deferred" {
        read_fifo(pipe);
        return;
    }
    let state = || {
        let mut command = Command::new(env!("CARGO_BIN_EXE_htc-starter-run"));
        command.arg("--control").arg(place.path("own/control")).args(["--ask", "status"]);
        String::from_utf8(command.output().unwrap().stdout).unwrap()
    };
    // If the stage is not held, it may have passed already.
    crate::support::waiting::wait_until("its stage", || {
        ["7.1 deferred\n", "7.1 starting\n", "7.1 running\n"].contains(&state().as_str())
    });
}

/// Ends a job in this stage in all ways. `states` are the possible values of JobStatus afterwards, unless the job was held or
/// removed.
fn each_end_at(stage: &str, states: &[i64]) {
    for how in ENDS {
        end_at(stage, how, states);
    }
}

fn end_at(stage: &str, how: End, states: &[i64]) {
    if how == End::DiskFull && !nix::unistd::geteuid().is_root() {
        return println!("skipped: {how:?} at {stage}: not root");
    }
    let place = place(stage, how);
    let small = (how == End::DiskFull).then(|| Small::mount(&place));
    let pipe = place.pipe();
    let ad = ad(&place, stage, how);
    let child = if how == End::ParentGone { below(&place, &ad) } else { place.start(&ad) };
    reached(&place, &pipe, stage);
    let mut run = end(&place, child, stage, how);
    run.left.retain(|path| !path.ends_with("execute/full"));
    let which = format!("{how:?} at {stage}: {}\n{}", run.stderr, run.ad);
    assert!(run.left.is_empty(), "{:?} {which}", run.left);
    drop(small);
    let mounts = fs::read_to_string("/proc/self/mounts").unwrap();
    assert!(!mounts.contains(place.home.path().to_str().unwrap()), "{mounts} {which}");
    assert_ended(&place, how, &which);
    // Before a starter has begun, there is no record that --clean could report.
    let of_none = how == End::Killed && stage == "shadow";
    assert_eq!(run.ad.matches("ClusterId = 7\n").count(), usize::from(!of_none), "{which}");
    if of_none {
        return;
    }
    if how == End::Killed {
        assert!(run.stderr.contains("when its starter was killed"), "{which}");
        return;
    }
    let expected: &[i64] = match how {
        End::Hold | End::PluginTimesOut => &[5],
        End::Remove => &[3],
        // Missing files may also be a reason to hold the job.
        End::ScratchGone | End::DiskFull => &[1, 4, 5],
        End::SuspendContinue => &[4],
        _ => states,
    };
    assert!(expected.iter().any(|state| run.has(&format!("JobStatus = {state}"))), "{which}");
    assert_told_once(&place, stage, &which);
}

/// Checks that no process of the stage runs any more.
fn assert_ended(place: &Place, how: End, which: &str) {
    for pid in fs::read_to_string(place.path("iwd/pids")).unwrap_or_default().lines() {
        let pid: i32 = pid.trim().parse().unwrap();
        // The kernel kills a plugin whose starter is killed; the signal may still be pending.
        let until = Instant::now() + Duration::from_secs(20);
        while how == End::Killed && is_alive(pid) && Instant::now() < until {
            std::thread::yield_now();
        }
        assert!(!is_alive(pid), "{pid} {which}");
    }
}

/// Checks that the log contains one end, or none if the job never ran, and that JOB_EXIT was called at most once.
fn assert_told_once(place: &Place, stage: &str, which: &str) {
    let log = fs::read_to_string(place.path("iwd/log")).unwrap();
    let count = |number: &str| log.lines().filter(|line| line.starts_with(&format!("{number} ("))).count();
    assert!(count("004") + count("005") <= 1 && count("009") + count("012") <= 1, "{log}\n{which}");
    let ends = count("004") + count("005") + count("009") + count("012");
    assert!(ends >= 1 || stage == "shadow", "{log}\n{which}");
    let exits = fs::read_to_string(place.path("iwd/calls")).unwrap_or_default();
    assert!(exits.lines().count() <= 1, "{exits} {which}");
}

#[test]
fn each_end_during_the_input_transfer_is_clean_and_reported_once() {
    each_end_at("input", &[1]);
}

#[test]
fn each_end_during_the_prepare_hook_is_clean_and_reported_once() {
    each_end_at("prepare", &[1]);
}

#[test]
fn each_end_during_the_pre_script_is_clean_and_reported_once() {
    each_end_at("pre", &[1]);
}

#[test]
fn each_end_during_the_job_is_clean_and_reported_once() {
    each_end_at("job", &[1]);
}

#[test]
fn each_end_during_the_post_script_is_clean_and_reported_once() {
    each_end_at("post", &[1, 4]);
}

#[test]
fn each_end_during_the_exit_hook_is_clean_and_reported_once() {
    each_end_at("exit", &[1, 4]);
}

#[test]
fn each_end_during_the_output_transfer_is_clean_and_reported_once() {
    each_end_at("output", &[1, 4]);
}

#[test]
fn each_end_during_the_hook_before_transfer_is_clean_and_reported_once() {
    each_end_at("before", &[1]);
}

#[test]
fn each_end_during_the_deferral_is_clean_and_reported_once() {
    each_end_at("deferred", &[1]);
}

#[test]
fn each_end_during_the_shadow_hook_is_clean_and_reported_once() {
    each_end_at("shadow", &[1]);
}

#[test]
fn the_end_of_a_hanging_plugin_is_clean_and_reported_once() {
    for how in [End::PluginIgnores, End::PluginTimesOut] {
        end_at("input", how, &[1]);
        end_at("output", how, &[1, 4]);
    }
}
