//! Runs our program as long as the daemons ran, and sends it the same commands and signals.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use super::Result;
use super::accounts::Accounts;
use super::calls::Call;
use super::forks;
use super::phase;
use super::processes;
use super::scenario::{Case, Scenario};
use super::stage::Stage;

/// Results of a run, except the records of calls.
#[derive(Debug, Default)]
pub struct Played {
    /// Exit of the slot runner, and its stderr.
    pub exit: String,
    pub stderr: String,
    /// Events of the slot runner, one JSON object each.
    pub events: Vec<serde_json::Value>,
    /// Results of the starter's cases.
    pub cases: Vec<PlayedCase>,
    /// Leftovers in EXECUTE.
    pub left: Vec<String>,
    /// Processes that were still running in the end, although none of our programs was killed.
    pub left_running: Vec<String>,
    /// Recorded actions that are not possible here.
    pub not_done: Vec<String>,
}

/// Result of one direct run of the starter.
#[derive(Debug)]
pub struct PlayedCase {
    pub name: String,
    /// Start time in seconds since the epoch, as in the records of calls.
    pub start: f64,
    pub stdout: Vec<u8>,
    pub stderr: String,
    pub exit: String,
    /// The log of a job that a schedd sent.
    pub log: String,
}

/// Replays the scenario.
pub fn play(
    scenario: &Scenario,
    stage: &Stage,
    accounts: &Accounts,
    programs: &Path,
    attempt: usize,
) -> Result<Played> {
    let mut played = Played::default();
    let run = if scenario.cases.is_empty() {
        let phase = phase::of_attempt(scenario, attempt);
        slot_runner(scenario, stage, accounts, programs, phase, &mut played)
    } else {
        let mut cases = scenario.cases.iter();
        cases.try_for_each(|case| starter(scenario, stage, accounts, programs, case, &mut played))
    };
    if let Ok(entries) = fs::read_dir(stage.local.join("execute")) {
        played.left =
            entries.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    }
    let left = processes::end_leftovers(stage.top());
    let killed = |exit: &str| !exit.is_empty() && !exit.starts_with("exited");
    if !killed(&played.exit) && !played.cases.iter().any(|case| killed(&case.exit)) {
        played.left_running = left;
    }
    run.map(|()| played)
}

fn command(scenario: &Scenario, stage: &Stage, accounts: &Accounts, program: &Path) -> Command {
    let mut command = accounts.command(stage.top(), program, scenario.daemon_uid());
    command.env_clear().envs(scenario.daemon_environment());
    command.env("CONDOR_CONFIG", stage.local.join("condor_config"));
    command
}

fn slot_runner(
    scenario: &Scenario,
    stage: &Stage,
    accounts: &Accounts,
    programs: &Path,
    phase: Option<f64>,
    played: &mut Played,
) -> Result<()> {
    let program = programs.join("htc-slot-run");
    let events = stage.records().join("events.jsonl");
    let errors = stage.top().join("stderr");
    // No other account may write to the directory of the socket.
    let private = tempfile::tempdir().map_err(|error| error.to_string())?;
    let socket = private.path().join("control");
    wait_for_phase(scenario, stage, phase)?;
    let file = File::create(&errors).map_err(|error| format!("{}: {error}", errors.display()))?;
    let mut runner = command(scenario, stage, accounts, &program);
    runner
        .args(["--quirks", "reference", "--events"])
        .arg(&events)
        .arg("--control")
        .arg(&socket)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(file);
    let mut child = forks::spawn(&mut runner).map_err(|error| format!("{}: {error}", program.display()))?;
    let begun = Instant::now();
    let mut stopped = false;
    for action in &scenario.actions {
        let due = begun + Duration::from_secs_f64((action.at - scenario.begun()).max(0.0));
        if !wait_until(&mut child, due)? {
            break;
        }
        if let Some(lines) = super::edits::added(&scenario.title(), &action.what) {
            append(&stage.local.join("condor_config"), &stage.fill_in(lines.as_bytes()))?;
        }
        stopped |= perform(&action.what, &child, &program, &socket, played);
    }
    if !stopped {
        signal(&child, Signal::SIGTERM);
    }
    let end = wait(child, Duration::from_secs(60))?;
    played.exit = end;
    played.stderr = fs::read_to_string(&errors).unwrap_or_default();
    let lines = fs::read_to_string(&events).unwrap_or_default();
    played.events = lines.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    if played.events.is_empty() && played.exit != "exited 0" {
        let reason: Vec<&str> = played.stderr.lines().take(3).collect();
        return Err(format!("htc-slot-run {}: {}", played.exit, reason.join(" / ")));
    }
    Ok(())
}

fn append(path: &Path, lines: &[u8]) -> Result<()> {
    let mut file = fs::OpenOptions::new().append(true).open(path);
    file.as_mut()
        .map_err(|error| std::io::Error::new(error.kind(), error.to_string()))
        .and_then(|file| std::io::Write::write_all(file, lines))
        .map_err(|error| format!("{}: {error}", path.display()))
}

/// Waits until the clock shows the same fraction of a second as when the execution point of the recording
/// began, and writes for our recorder when, by that clock, the recorded calls ended.
fn wait_for_phase(scenario: &Scenario, stage: &Stage, phase: Option<f64>) -> Result<()> {
    let Some(phase) = phase else { return Ok(()) };
    let expected = (phase + scenario.begun()).rem_euclid(1.0);
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0.0, |since| since.as_secs_f64());
    // A process needs some milliseconds to start.
    let wait = (expected - now - 0.015).rem_euclid(1.0);
    let begun = now + wait + 0.015 - scenario.begun();
    let waited_for = |call: &&Call| matches!(call.kind().as_str(), "FETCH_WORK" | "PREPARE_JOB" | "JOB_EXIT");
    let pace: String = scenario
        .calls
        .iter()
        .filter(waited_for)
        .filter_map(|call| Some(format!("{} {} {:.6}\n", call.name, call.job()?, begun + call.end?)))
        .collect();
    super::stage::write(&stage.records().join("pace"), pace.as_bytes())?;
    std::thread::sleep(Duration::from_secs_f64(wait));
    Ok(())
}

/// Converts a call of an HTCondor tool to arguments of our program.
fn request(words: &[&str]) -> Option<Vec<String>> {
    let has = |word: &str| words.contains(&word);
    let mut request: Vec<&str> = match *words.first()? {
        "condor_vacate" => vec!["vacate"],
        "condor_drain" if has("-cancel") => vec!["undrain"],
        "condor_drain" => vec!["drain"],
        "condor_suspend" => vec!["suspend"],
        "condor_continue" => vec!["continue"],
        _ => return None,
    };
    request.extend(["-fast", "-quick"].into_iter().filter(|word| has(word)));
    let slot = words.iter().find_map(|word| word.strip_suffix("@@HOST@"));
    request.extend(slot);
    Some(request.into_iter().map(str::to_owned).collect())
}

/// Performs one action; returns true if it ends the program.
fn perform(what: &str, child: &Child, program: &Path, socket: &Path, played: &mut Played) -> bool {
    if what.starts_with("stop: SIGTERM") {
        signal(child, Signal::SIGTERM);
        return true;
    }
    if let Some((name, target)) = what.strip_prefix("send ").and_then(|rest| rest.split_once(" to ")) {
        let Ok(number) = name.parse::<Signal>() else { return false };
        if target.contains("starter") {
            for starter in descendants(child.id(), "htc-starter-run") {
                let _ = kill(Pid::from_raw(starter), number);
            }
        } else {
            signal(child, number);
        }
        return false;
    }
    let Some(tool) = what.strip_prefix("run ") else { return false };
    let words: Vec<&str> = tool.split(' ').collect();
    match words.first().copied() {
        // The signals that the master sends to the startd for these tools.
        Some("condor_off") if words.contains(&"-fast") => signal(child, Signal::SIGQUIT),
        Some("condor_off") => signal(child, Signal::SIGTERM),
        Some("condor_reconfig") => signal(child, Signal::SIGHUP),
        Some("condor_status" | "condor_q" | "condor_rm") => {}
        _ => {
            let output = request(&words).map(|request| {
                forks::output(Command::new(program).args(request).arg("--control").arg(socket))
            });
            match output {
                Some(Ok(output)) if output.status.success() => {}
                Some(Ok(output)) => {
                    let errors = String::from_utf8_lossy(&output.stderr);
                    played.not_done.push(format!("{tool}: {}", errors.trim()));
                }
                _ => played.not_done.push(tool.to_owned()),
            }
        }
    }
    false
}

fn signal(child: &Child, signal: Signal) {
    // With separate accounts, `unshare` and `sh` have replaced themselves by the program with exec, so the
    // pid is that of the program.
    let _ = kill(Pid::from_raw(child.id() as i32), signal);
}

/// Returns the descendants that run a program; for a script, the program is the second argument.
fn descendants(root: u32, program: &str) -> Vec<i32> {
    let mut parents: Vec<(i32, i32, bool)> = Vec::new();
    for entry in fs::read_dir("/proc").into_iter().flatten().flatten() {
        let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse::<i32>().ok()) else {
            continue;
        };
        let Ok(stat) = fs::read_to_string(entry.path().join("stat")) else { continue };
        let parent = stat.rsplit_once(')').and_then(|(_, rest)| rest.split_whitespace().nth(1)?.parse().ok());
        let line = fs::read(entry.path().join("cmdline")).unwrap_or_default();
        let mut words = line.split(|byte| *byte == 0).take(2);
        parents.push((pid, parent.unwrap_or(0), words.any(|word| word.ends_with(program.as_bytes()))));
    }
    let mut found = vec![root as i32];
    let mut at = 0;
    while let Some(parent) = found.get(at).copied() {
        found.extend(parents.iter().filter(|(_, of, _)| *of == parent).map(|(pid, ..)| *pid));
        at += 1;
    }
    found.retain(|pid| parents.iter().any(|(one, _, is_it)| one == pid && *is_it));
    found
}

/// Waits until the time is reached; returns false if the program ends before.
fn wait_until(child: &mut Child, due: Instant) -> Result<bool> {
    loop {
        if child.try_wait().map_err(|error| format!("waiting: {error}"))?.is_some() {
            return Ok(false);
        }
        let left = due.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Ok(true);
        }
        std::thread::sleep(left.min(Duration::from_millis(50)));
    }
}

/// Maximum time to wait for the start of a program.
const START_LIMIT: Duration = Duration::from_secs(15);

/// Returns the number of programs with a name that have started in a stage.
fn count_begun(stage: &Stage, name: &str) -> usize {
    let called = format!("-{name}-");
    let records = fs::read_dir(stage.records()).into_iter().flatten().flatten();
    let has_begun = |record: &fs::DirEntry| {
        record.file_name().to_string_lossy().contains(&called) && record.path().join("ready").exists()
    };
    records.filter(has_begun).count()
}

/// Waits until more than `before` programs with this name have started, the child ends, or the time limit is
/// reached.
fn wait_for_program(child: &mut Child, stage: &Stage, name: &str, before: usize) -> Result<()> {
    let end = Instant::now() + START_LIMIT;
    while count_begun(stage, name) <= before && Instant::now() < end {
        if !wait_until(child, Instant::now() + Duration::from_millis(20))? {
            break;
        }
    }
    Ok(())
}

/// Waits for the end of the child up to a limit, and then kills it.
fn wait(mut child: Child, limit: Duration) -> Result<String> {
    if wait_until(&mut child, Instant::now() + limit)? {
        signal(&child, Signal::SIGKILL);
        let _ = child.wait();
        return Ok(format!("killed after {} s", limit.as_secs()));
    }
    let status = child.wait().map_err(|error| format!("waiting: {error}"))?;
    Ok(ended(status))
}

fn ended(status: std::process::ExitStatus) -> String {
    use std::os::unix::process::ExitStatusExt;
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("exited {code}"),
        (_, Some(signal)) => format!("signalled {signal}"),
        _ => "ended".to_owned(),
    }
}

/// Returns an ad whose DeferralTime has the same distance from the current time as in the recording: 3 s in
/// the future, or long past.
fn shifted(ad: &[u8], epoch: f64) -> Vec<u8> {
    const AHEAD: f64 = 3.0;
    let mut out = Vec::with_capacity(ad.len());
    for line in ad.split_inclusive(|byte| *byte == b'\n') {
        match line.strip_prefix(b"DeferralTime = ") {
            Some(time) if time.len() >= 10 => {
                out.extend(format!("DeferralTime = {}\n", (epoch + AHEAD) as i64).bytes())
            }
            _ => out.extend_from_slice(line),
        }
    }
    out
}

fn starter(
    scenario: &Scenario,
    stage: &Stage,
    accounts: &Accounts,
    programs: &Path,
    case: &Case,
    played: &mut Played,
) -> Result<()> {
    let by_hand = case.log.is_none();
    let program = if by_hand { starter_program(stage, programs)? } else { programs.join("htc-starter-run") };
    let real = stage.top().join("programs.real");
    if !by_hand && !real.is_symlink() {
        std::os::unix::fs::symlink(programs, &real)
            .map_err(|error| format!("{}: {error}", real.display()))?;
    }
    if let (false, Some(ad)) = (by_hand, &scenario.machine_ad) {
        super::stage::write(&stage.local.join("slot.ad"), &stage.fill_in(ad))?;
    }
    let command = command(scenario, stage, accounts, &program);
    let epoch = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0.0, |since| since.as_secs_f64());
    let case = Case { stdin: shifted(&case.stdin, epoch), ..case.clone() };
    let files = stage.local.join("cases").join(&case.name);
    let mut run = run_case(command, stage, &case, &stage.local.join("iwd"), &files)?;
    if let (false, Some(cluster)) = (by_hand, case.name.split('.').next()) {
        let log = fs::read(stage.local.join(format!("iwd/log.{cluster}"))).unwrap_or_default();
        run.log = String::from_utf8_lossy(&stage.take_out(&log)).into_owned();
        run.stdout.clear();
    }
    played.cases.push(run);
    Ok(())
}

/// Returns our starter under the daemon's name: with that name, it accepts the daemon's command line and
/// returns its exit statuses.
pub fn starter_program(stage: &Stage, programs: &Path) -> Result<PathBuf> {
    let program = stage.release.join("sbin/condor_starter");
    if !program.is_symlink() {
        let ours = programs.join("htc-starter-run");
        let link = |ours: PathBuf| std::os::unix::fs::symlink(ours, &program);
        fs::canonicalize(&ours).and_then(link).map_err(|error| format!("{}: {error}", ours.display()))?;
    }
    Ok(program)
}

/// Runs a starter directly with the input of the case in a directory; its standard files are in another
/// directory.
pub fn run_case(
    mut command: Command,
    stage: &Stage,
    case: &Case,
    directory: &Path,
    files: &Path,
) -> Result<PlayedCase> {
    command.env("_HTC_STARTER_OPTIONS", "--quirks reference");
    for (name, value) in &case.environment {
        command.env(name, String::from_utf8_lossy(&stage.fill_in(value.as_bytes())).into_owned());
    }
    for argument in case.argv.iter().skip(1) {
        let argument = stage.fill_in(argument.as_bytes());
        command.arg(String::from_utf8_lossy(&argument).into_owned());
    }
    fs::create_dir_all(files).map_err(|error| format!("{}: {error}", files.display()))?;
    let (out, errors) = (files.join("stdout"), files.join("stderr"));
    let create = |path: &Path| File::create(path).map_err(|error| format!("{}: {error}", path.display()));
    if case.signals.iter().any(|(_, name)| name.starts_with("ask ")) {
        let private = stage.local.join("control");
        super::stage::make(&private)?;
        super::stage::mode(&private, 0o700)?;
        // Jobs print whole seconds between their start and their signals.
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        std::thread::sleep(Duration::from_secs(1) - Duration::from_nanos(now.subsec_nanos().into()));
    }
    let epoch = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0.0, |since| since.as_secs_f64());
    // A file, as in the recordings, because a job may receive it.
    let input = files.join("stdin");
    forks::write_file(|| fs::write(&input, stage.fill_in(&case.stdin)))
        .map_err(|error| format!("{}: {error}", input.display()))?;
    let open = |path: &Path| File::open(path).map_err(|error| format!("{}: {error}", path.display()));
    let mut awaited = case.awaited.as_deref();
    let begun_before = awaited.map_or(0, |program| count_begun(stage, program));
    command.current_dir(directory).stdin(open(&input)?).stdout(create(&out)?).stderr(create(&errors)?);
    let mut child = forks::spawn(&mut command).map_err(|error| format!("{}: {error}", case.name))?;
    let begun = Instant::now();
    for (at, name) in &case.signals {
        if !wait_until(&mut child, begun + Duration::from_secs_f64(*at))? {
            break;
        }
        if let Some(program) = awaited.take() {
            wait_for_program(&mut child, stage, program, begun_before)?;
        }
        if *at < AT_START && case.awaited.is_none() {
            wait_for_handler(&mut child, name)?;
        }
        if let Some(words) = name.strip_prefix("ask ") {
            ask(stage, words)?;
        } else if name == "kill the job" {
            for job in descendants(child.id(), "scripts/run") {
                let _ = kill(Pid::from_raw(job), Signal::SIGKILL);
            }
        } else if let Ok(number) = name.parse::<Signal>() {
            signal(&child, number);
        }
    }
    let limit = patience(&case.exit);
    let end = wait(child, limit)?;
    Ok(PlayedCase {
        name: case.name.clone(),
        start: epoch,
        stdout: stage.take_out(&fs::read(&out).unwrap_or_default()),
        stderr: fs::read_to_string(&errors).unwrap_or_default(),
        exit: if end.starts_with("killed") { case_killed(limit) } else { end },
        log: String::new(),
    })
}

/// Signals sent before this time arrived while the starter was starting, in seconds.
const AT_START: f64 = 0.1;

/// Waits until the starter handles this signal and has started its first process, as the recorded one had.
fn wait_for_handler(child: &mut Child, name: &str) -> Result<()> {
    let Ok(number) = name.parse::<Signal>() else { return Ok(()) };
    let until = Instant::now() + Duration::from_secs(5);
    let ready = |pid: u32| {
        let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
        let caught = status.lines().find_map(|line| line.strip_prefix("SigCgt:\t"));
        let caught = caught.and_then(|mask| u64::from_str_radix(mask, 16).ok()).unwrap_or(0);
        let children = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap_or_default();
        caught & (1 << (number as i32 - 1)) != 0 && !children.trim().is_empty()
    };
    while Instant::now() < until && !ready(child.id()) {
        if child.try_wait().map_err(|error| error.to_string())?.is_some() {
            break;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    Ok(())
}

/// Sends a command to the starter that listens at control/socket, with the starter program itself.
fn ask(stage: &Stage, words: &str) -> Result<()> {
    let control = stage.local.join("control/socket");
    let program = stage.top().join("programs.real/htc-starter-run");
    let mut ask = Command::new(program);
    ask.arg("--control").arg(&control).arg("--ask").args(words.split('\t'));
    let status = forks::status(ask.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()));
    status.map(drop).map_err(|error| format!("{words}: {error}"))
}

/// Returns the time limit of a starter: one that was killed by its recorder is killed as well.
fn patience(exit: &str) -> Duration {
    let seconds =
        exit.strip_prefix("still running after ").and_then(|rest| rest.split(' ').next()?.parse().ok());
    Duration::from_secs(seconds.unwrap_or(60))
}

fn case_killed(limit: Duration) -> String {
    format!("still running after {} s, killed", limit.as_secs())
}
