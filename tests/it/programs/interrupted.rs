//! Tests of programs that are stopped while they run a command: they leave nothing behind.

use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

/// Script that stores its own process id and that of a child, and that only SIGKILL ends.
const STUBBORN: &str = "#!/bin/sh\ntrap '' TERM INT HUP\nsleep 300 &\necho $$ $! > \"$0.new\"\n\
                        mv \"$0.new\" \"$0.pids\"\nwhile :; do sleep 300; done\n";

fn within_ten_seconds<T>(mut look: impl FnMut() -> Option<T>) -> Option<T> {
    let start = Instant::now();
    while start.elapsed() < Duration::from_secs(10) {
        if let Some(found) = look() {
            return Some(found);
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    None
}

/// Returns true if the process exists and is not a zombie.
fn lives(pid: i32) -> bool {
    let status = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    status.rsplit(") ").next().is_some_and(|rest| !rest.is_empty() && !rest.starts_with(['Z', 'X']))
}

/// Returns true if the caller of the tests ignores the signal, as `nohup` does for SIGHUP. All child processes then ignore it as
/// well.
fn is_ignored(signal: Signal) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:")).unwrap();
    let ignored = u64::from_str_radix(mask.trim(), 16).unwrap() & (1 << (signal as i32 - 1)) != 0;
    if ignored {
        println!("{signal} left out: it is ignored here");
    }
    ignored
}

fn script(directory: &Path, text: &str) -> std::path::PathBuf {
    use std::os::unix::fs::PermissionsExt;
    let path = directory.join("script");
    std::fs::write(&path, text).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    path
}

/// Stops the program with a signal while the script runs; returns the script's processes that still run.
fn stopped(command: &mut Command, script: &Path, signal: Signal) -> Vec<i32> {
    let mut program =
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let file = script.with_extension("pids");
    let pids = within_ten_seconds(|| std::fs::read_to_string(&file).ok()).expect("the script runs");
    let pids: Vec<i32> = pids.split_whitespace().map(|word| word.parse().unwrap()).collect();
    assert_eq!(pids.iter().filter(|pid| lives(**pid)).count(), 2);
    kill(Pid::from_raw(program.id().cast_signed()), signal).unwrap();
    let status = within_ten_seconds(|| program.try_wait().unwrap()).expect("the program ends");
    assert_eq!(status.signal(), Some(signal as i32), "{status}");
    let gone = || pids.iter().all(|pid| !lives(*pid)).then_some(());
    let _ =
        within_ten_seconds(
            || if signal == Signal::SIGKILL { (!lives(pids[0])).then_some(()) } else { gone() },
        );
    let left: Vec<i32> = pids.into_iter().filter(|pid| lives(*pid)).collect();
    for pid in &left {
        let _ = kill(Pid::from_raw(*pid), Signal::SIGKILL);
    }
    left
}

#[test]
fn a_command_of_the_configuration_ends_with_its_program() {
    let signals = [Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP, Signal::SIGKILL];
    for signal in signals.into_iter().filter(|&signal| !is_ignored(signal)) {
        let room = tempfile::tempdir().unwrap();
        let script = script(room.path(), STUBBORN);
        let config = room.path().join("config");
        std::fs::write(&config, format!("include command : {}\n", script.display())).unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_htc-config-dump"));
        command.args(["--exec", "--config-file"]).arg(&config).arg("X");
        let left = stopped(&mut command, &script, signal);
        // Other software of the machine may kill processes that SIGKILL has orphaned.
        assert!(left.len() <= usize::from(signal == Signal::SIGKILL), "{signal}: {left:?}");
    }
}

#[test]
fn a_command_of_a_transform_ends_with_its_program() {
    if is_ignored(Signal::SIGTERM) {
        return;
    }
    let room = tempfile::tempdir().unwrap();
    let script = script(room.path(), STUBBORN);
    let rules = room.path().join("rules");
    std::fs::write(&rules, format!("SET A $(I)\nTRANSFORM I from {} |\n", script.display())).unwrap();
    let ads = room.path().join("ads");
    std::fs::write(&ads, "ClusterId = 1\nProcId = 0\n").unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_htc-router-translate"));
    command.args(["transform", "--exec", "--rules"]).arg(&rules).arg(&ads);
    assert_eq!(stopped(&mut command, &script, Signal::SIGTERM), Vec::<i32>::new());
}

#[test]
fn processes_that_a_command_leaves_are_killed_at_its_end() {
    let room = tempfile::tempdir().unwrap();
    let text = "#!/bin/sh\nsleep 300 > /dev/null 2>&1 &\necho $! > \"$0.pids\"\necho X = 7\n";
    let script = script(room.path(), text);
    let config = room.path().join("config");
    std::fs::write(&config, format!("include command : {}\n", script.display())).unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_htc-config-dump"))
        .args(["--exec", "--config-file"])
        .arg(&config)
        .arg("X")
        .output()
        .unwrap();
    assert!(String::from_utf8_lossy(&output.stdout).contains('7'), "{output:?}");
    let pid = std::fs::read_to_string(script.with_extension("pids")).unwrap();
    let pid = pid.trim().parse().unwrap();
    assert!(within_ten_seconds(|| (!lives(pid)).then_some(())).is_some());
}
