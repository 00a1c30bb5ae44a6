//! A job with everything around it - input and output by plugins, hooks, PreCmd, PostCmd - that is ended in each stage in each way: it
//! ends, says so once, and leaves nothing.

use std::fs;
use std::process::{Child, Command};
use std::time::{Duration, Instant};

use nix::sys::signal::Signal;

use crate::place::{Place, Ran, heard, send, shell};
use crate::sandbox::{is_alive, write_executable};

/// Whatever a stage does: where it is the one that is wanted it says so and goes on until it is ended.
const GATE: &str =
    "if [ -e $IWD/at-$STAGE ]; then echo $$ >> $IWD/pids; echo > $IWD/pipe; exec sleep 600; fi";

/// A plugin that answers for both directions.
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
}

const ENDS: [End; 9] = [
    End::Soft,
    End::SoftTwice,
    End::Hard,
    End::Hold,
    End::Remove,
    End::SuspendedHard,
    End::ScratchGone,
    End::ParentGone,
    End::Killed,
];

fn place(stage: &str) -> Place {
    let place = Place::new();
    let iwd = place.path("iwd").display().to_string();
    let gate = |stage: &str| GATE.replace("$STAGE", stage).replace("$IWD", &iwd);
    let plugin = PLUGIN.replace("GATE", &GATE.replace("$IWD", &iwd));
    write_executable(&place.path("hooks/plugin"), plugin.as_bytes());
    for script in ["pre", "post"] {
        let text = format!("#!/bin/sh\n{}\n", gate(script));
        write_executable(&place.path(&format!("iwd/{script}")), text.as_bytes());
        place.give(&format!("iwd/{script}"));
    }
    fs::write(place.path(&format!("iwd/at-{stage}")), "").unwrap();
    fs::create_dir(place.path("own")).unwrap();
    let socket = place.path("own/control").display().to_string();
    let plugins = format!("FILETRANSFER_PLUGINS = {}", place.path("hooks/plugin").display());
    let (prepare, exit) = (gate("prepare"), format!("{}; echo exit >> $CALLS", gate("exit")));
    place
        .hook("PREPARE_JOB", &prepare)
        .hook("JOB_EXIT", &exit)
        .knob("FARM_HOOK_JOB_EXIT_TIMEOUT = 1")
        .knob("STARTER_ALLOW_JOB_PRE_AND_POST_CMD = True")
        .knob("MachineMaxVacateTime = 1")
        .knob("SHUTDOWN_GRACEFUL_TIMEOUT = 1")
        .knob(&plugins)
        .option(&["--as", "shadow", "--control", &socket])
}

fn ad(place: &Place) -> String {
    let iwd = place.path("iwd").display().to_string();
    let job = GATE.replace("$STAGE", "job").replace("$IWD", &iwd);
    format!(
        "{}\nShouldTransferFiles = \"YES\"\nWhenToTransferOutput = \"ON_EXIT\"\nTransferExecutable = false\n\
         TransferInput = \"slow://x/in\"\nTransferOutputRemaps = \"made = slow://x/out\"\nUserLog = \"log\"\n\
         PreCmd = \"{iwd}/pre\"\nPostCmd = \"{iwd}/post\"\nJobUniverse = 5",
        shell(&format!("trap : TERM; {job}; echo made > made"))
    )
}

fn ask(place: &Place, words: &[&str]) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_htc-starter-run"));
    command.arg("--control").arg(place.path("own/control")).arg("--ask").args(words);
    let output = command.output().unwrap();
    assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
}

fn end(place: &Place, mut child: Child, end: End) -> Ran {
    match end {
        End::Soft => send(&child, Signal::SIGTERM),
        End::SoftTwice => {
            send(&child, Signal::SIGTERM);
            crate::place::taken(&child, Signal::SIGTERM);
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
            // The starter has the pipes, until it has ended.
            let output = child.wait_with_output().unwrap();
            let entries = fs::read_dir(place.path("execute")).unwrap().flatten();
            return Ran {
                status: 0,
                ad: String::from_utf8_lossy(&output.stdout).into_owned(),
                told: String::from_utf8_lossy(&output.stderr).into_owned(),
                calls: String::new(),
                left: entries.map(|entry| entry.path()).collect(),
            };
        }
        End::Killed => {
            child.kill().unwrap();
            let output = child.wait_with_output().unwrap();
            assert!(output.stdout.is_empty());
            let output = place.command().arg("--clean").output().unwrap();
            let told = String::from_utf8_lossy(&output.stderr).into_owned();
            assert_eq!(output.status.code(), Some(0), "{told}");
            let entries = fs::read_dir(place.path("execute")).unwrap().flatten();
            return Ran {
                status: 0,
                ad: String::from_utf8_lossy(&output.stdout).into_owned(),
                told,
                calls: String::new(),
                left: entries.map(|entry| entry.path()).collect(),
            };
        }
    }
    place.finish(child)
}

/// The starter as the child of somebody who ends before it does.
fn below(place: &Place) -> Child {
    let place_of_ad = place.path("ad");
    fs::write(&place_of_ad, place.whole(&ad(place))).unwrap();
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

/// Ends a job in this stage in all ways. `states` are those that it may have in the queue then, unless it was held or removed.
fn each_end_at(stage: &str, states: &[i64]) {
    for how in ENDS {
        let place = place(stage);
        let pipe = place.pipe();
        let child = if how == End::ParentGone { below(&place) } else { place.start(&ad(&place)) };
        heard(&pipe);
        let ran = end(&place, child, how);
        let which = format!("{how:?} at {stage}: {}\n{}", ran.told, ran.ad);
        assert!(ran.left.is_empty(), "{:?} {which}", ran.left);
        for pid in fs::read_to_string(place.path("iwd/pids")).unwrap().lines() {
            let pid: i32 = pid.trim().parse().unwrap();
            // The kernel ends a plugin whose starter is killed; the signal is on its way by now.
            let until = Instant::now() + Duration::from_secs(20);
            while how == End::Killed && is_alive(pid) && Instant::now() < until {
                std::thread::yield_now();
            }
            assert!(!is_alive(pid), "{pid} {which}");
        }
        assert_eq!(ran.ad.matches("ClusterId = 7\n").count(), 1, "{which}");
        if how == End::Killed {
            assert!(ran.told.contains("when its starter was killed"), "{which}");
            continue;
        }
        let wanted: &[i64] = match how {
            End::Hold => &[5],
            End::Remove => &[3],
            // What is missing then is a reason to hold it.
            End::ScratchGone => &[1, 4, 5],
            _ => states,
        };
        assert!(wanted.iter().any(|state| ran.has(&format!("JobStatus = {state}"))), "{which}");
        let log = fs::read_to_string(place.path("iwd/log")).unwrap();
        let count =
            |number: &str| log.lines().filter(|line| line.starts_with(&format!("{number} ("))).count();
        assert!(count("004") + count("005") <= 1 && count("009") + count("012") <= 1, "{log}\n{which}");
        assert!(count("004") + count("005") + count("009") + count("012") >= 1, "{log}\n{which}");
        let exits = fs::read_to_string(place.path("iwd/calls")).unwrap_or_default();
        assert!(exits.lines().count() <= 1, "{exits} {which}");
    }
}

#[test]
fn each_end_while_input_comes_leaves_nothing_and_is_told_once() {
    each_end_at("input", &[1]);
}

#[test]
fn each_end_while_the_prepare_hook_hangs_leaves_nothing_and_is_told_once() {
    each_end_at("prepare", &[1]);
}

#[test]
fn each_end_while_a_script_before_the_job_hangs_leaves_nothing_and_is_told_once() {
    each_end_at("pre", &[1]);
}

#[test]
fn each_end_while_the_job_runs_leaves_nothing_and_is_told_once() {
    each_end_at("job", &[1]);
}

#[test]
fn each_end_while_a_script_after_the_job_hangs_leaves_nothing_and_is_told_once() {
    each_end_at("post", &[1, 4]);
}

#[test]
fn each_end_while_the_exit_hook_hangs_leaves_nothing_and_is_told_once() {
    each_end_at("exit", &[1, 4]);
}

#[test]
fn each_end_while_output_goes_leaves_nothing_and_is_told_once() {
    each_end_at("output", &[1, 4]);
}
