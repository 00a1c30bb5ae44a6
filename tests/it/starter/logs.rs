//! Tests of the logs that a starter and an emulated queue write: `--log`, and the log of all jobs (EVENT_LOG) with its header,
//! rotation and locks.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Child;

use crate::support::place::{Place, RunResult, shell};

/// Creates a place where every account can write the log of all jobs.
fn place(more: &str) -> Place {
    let place = Place::new();
    let logs = place.path("logs");
    fs::create_dir(&logs).unwrap();
    fs::set_permissions(&logs, fs::Permissions::from_mode(0o777)).unwrap();
    let parameter = format!(
        "EVENT_LOG = {0}/all\nEVENT_LOG_ROTATION_LOCK = {0}/all.lock\nLOCAL_DISK_LOCK_DIR = {0}/locks\n{more}",
        logs.display()
    );
    place.parameter(&parameter).option(&["--as", "shadow"])
}

const QUEUED: &str = "ShouldTransferFiles = \"NO\"\nJobUniverse = 5";

fn run(place: &Place, more: &str) -> RunResult {
    let result = place.run(&format!("{}\n{QUEUED}\n{more}", shell("exit 0")));
    assert!(result.has("JobStatus = 4"), "{}\n{}", result.ad, result.stderr);
    assert!(!result.stderr.contains("cannot"), "{}", result.stderr);
    result
}

fn all(place: &Place, name: &str) -> String {
    fs::read_to_string(place.path("logs").join(name)).unwrap()
}

fn numbers(text: &str) -> Vec<&str> {
    text.lines()
        .filter(|line| line.get(3..5) == Some(" ("))
        .map(|line| &line[..3])
        .filter(|number| *number != "006")
        .collect()
}

#[test]
fn the_global_event_log_has_a_header_and_the_events_of_all_jobs() {
    let place = place("EVENT_LOG_JOB_AD_INFORMATION_ATTRS = Owner, ClusterId");
    run(&place, "");
    let text = all(&place, "all");
    let head = text.lines().next().unwrap();
    assert!(head.starts_with("008 (-01.-01.-01) "), "{head}");
    assert!(
        head.contains(" Global JobLog: ctime=")
            && head
                .contains(" sequence=1 size=0 events=0 offset=0 event_off=0 max_rotation=1 creator_name=<> "),
        "{head}"
    );
    assert_eq!(head.len(), head.find("Global").unwrap() + 256);
    // Dates have the old format if EVENT_LOG_FORMAT_OPTIONS is not set.
    assert!(head.as_bytes()["008 (-01.-01.-01) ".len() + 2] == b'/', "{head}");
    let (beside, events): (Vec<_>, Vec<_>) = numbers(&text).into_iter().partition(|number| *number == "028");
    assert_eq!(events, ["008", "000", "001", "005"], "{text}");
    // One event 028 follows each event, including the event about the image size.
    assert_eq!(beside.len(), 3 + text.matches("\n006 (").count(), "{text}");
    assert!(!place.path("iwd/log").exists());
    run(&place, "UserLog = \"log\"");
    let text = all(&place, "all");
    assert_eq!(text.matches("Global JobLog").count(), 1);
    assert_eq!(numbers(&text).iter().filter(|number| **number == "005").count(), 2, "{text}");
    assert_eq!(numbers(&fs::read_to_string(place.path("iwd/log")).unwrap()), ["000", "001", "005"]);
}

#[test]
fn the_global_event_log_may_be_xml_or_json() {
    let place = self::place("EVENT_LOG_FORMAT_OPTIONS = XML, UTC");
    run(&place, "");
    let text = all(&place, "all");
    assert!(text.starts_with("<c>\n    <a n=\"Info\"><s>Global JobLog: ctime="), "{text}");
    assert!(!text.lines().take(6).any(|line| line.contains("Cluster")), "{text}");
    assert!(text.contains("<a n=\"EventTypeNumber\"><i>5</i></a>"), "{text}");
    let place = self::place("EVENT_LOG_FORMAT_OPTIONS = JSON");
    run(&place, "");
    assert!(all(&place, "all").starts_with("{\n  \"Info\": \"Global JobLog: ctime="));
    let place = self::place("EVENT_LOG_FORMAT_OPTIONS = JSON\nEVENT_LOG_USE_XML = true");
    run(&place, "");
    assert!(all(&place, "all").starts_with("<c>"));
}

#[test]
fn a_large_log_is_rotated_and_its_header_has_its_statistics() {
    let place = place("EVENT_LOG_MAX_SIZE = 400\nEVENT_LOG_MAX_ROTATIONS = 2\nEVENT_LOG_COUNT_EVENTS = true");
    for _ in 0..3 {
        run(&place, "");
    }
    let names = ["all", "all.1", "all.2"];
    let texts: Vec<String> = names.iter().map(|name| all(&place, name)).collect();
    assert!(!place.path("logs/all.3").exists() && !place.path("logs/all.old").exists());
    let word = |text: &str, name: &str| -> u64 {
        let head = text.lines().next().unwrap();
        let found = head.split_whitespace().find_map(|word| word.strip_prefix(name)).unwrap();
        found.parse().unwrap()
    };
    for pair in texts.windows(2) {
        let (new, old) = (&pair[0], &pair[1]);
        assert_eq!(word(new, "sequence="), word(old, "sequence=") + 1);
        assert_eq!(word(old, "size="), old.len() as u64, "{old}");
        assert_eq!(word(new, "offset="), word(old, "offset=") + word(old, "size="));
        assert_eq!(word(new, "event_off="), word(old, "event_off=") + word(old, "events="));
        assert_eq!(
            word(old, "events="),
            numbers(old).len() as u64 - 1 + old.matches("\n006 (").count() as u64
        );
    }
    assert_eq!(word(&texts[0], "size="), 0);
}

#[test]
fn one_rotated_log_is_named_old_and_without_rotations_the_log_grows() {
    let place = self::place("EVENT_LOG_MAX_SIZE = -1\nMAX_EVENT_LOG = 300");
    run(&place, "");
    assert!(place.path("logs/all.old").exists() && place.path("logs/all.lock").exists());
    for parameter in ["EVENT_LOG_MAX_SIZE = 0", "EVENT_LOG_MAX_SIZE = 300\nEVENT_LOG_MAX_ROTATIONS = 0"] {
        let place = self::place(parameter);
        run(&place, "");
        assert!(!place.path("logs/all.old").exists() && !place.path("logs/all.1").exists());
        assert_eq!(numbers(&all(&place, "all")), ["008", "000", "001", "005"]);
    }
}

#[test]
fn several_runs_share_a_rotated_log_without_losing_events() {
    let place = place("EVENT_LOG_MAX_SIZE = 1500\nEVENT_LOG_MAX_ROTATIONS = 50\nEVENT_LOG_LOCKING = true");
    let ad = format!("{}\n{QUEUED}", shell("exit 0"));
    let ad = place.complete_ad(&ad);
    // The calls must be prepared one by one, because each writes the configuration.
    let commands: Vec<_> = (0..6).map(|_| place.command()).collect();
    let start = |mut command: std::process::Command| -> Child {
        let mut child = command.spawn().unwrap();
        std::io::Write::write_all(&mut child.stdin.take().unwrap(), ad.as_bytes()).unwrap();
        child
    };
    let children: Vec<Child> = commands.into_iter().map(start).collect();
    for child in children {
        let run = place.finish(child);
        assert!(run.has("JobStatus = 4") && !run.stderr.contains("cannot"), "{}", run.stderr);
    }
    let mut seen = Vec::new();
    for entry in fs::read_dir(place.path("logs")).unwrap().flatten() {
        let name = entry.file_name().into_string().unwrap();
        if name.starts_with("all") && !name.ends_with(".lock") {
            let text = all(&place, &name);
            assert!(text.starts_with("008 ("), "{name}: {text}");
            assert!(text.ends_with("...\n"), "{name}: {text}");
            seen.extend(numbers(&text).into_iter().map(str::to_owned));
        }
    }
    for number in ["000", "001", "005"] {
        assert_eq!(seen.iter().filter(|one| *one == number).count(), 6, "{number} {seen:?}");
    }
    assert!(place.path("logs/locks").is_dir());
}

#[test]
fn an_unwritable_global_event_log_is_reported_and_the_jobs_log_is_written() {
    let place = Place::new().option(&["--as", "shadow"]);
    let place = place.parameter("EVENT_LOG = /proc/no/such/log");
    let run = place.run(&format!("{}\n{QUEUED}\nUserLog = \"log\"", shell("exit 0")));
    assert!(run.has("JobStatus = 4"), "{}", run.ad);
    assert!(
        run.stderr.contains("the event log of all jobs '/proc/no/such/log' (EVENT_LOG)"),
        "{}",
        run.stderr
    );
    assert_eq!(numbers(&fs::read_to_string(place.path("iwd/log")).unwrap()), ["000", "001", "005"]);
}

#[test]
fn the_option_log_overrides_the_jobs_log() {
    let place = Place::new().option(&["--log", "iwd/given"]);
    let result = place.run(&format!("{}\nStarterUserLog = \"own\"", shell("exit 0")));
    assert_eq!(result.status, 0, "{}", result.stderr);
    assert_eq!(numbers(&fs::read_to_string(place.path("iwd/given")).unwrap()), ["001", "005"]);
    assert!(!place.path("iwd/own").exists());
    let locks = format!("LOCAL_DISK_LOCK_DIR = {}", place.path("locks").display());
    let place = place.option(&["--as", "shadow"]).parameter(&locks);
    let place = place.parameter("ENABLE_USERLOG_LOCKING = true\nENABLE_USERLOG_FSYNC = true");
    run(&place, "UserLog = \"own\"");
    let text = fs::read_to_string(place.path("iwd/given")).unwrap();
    assert_eq!(numbers(&text), ["001", "005", "000", "001", "005"], "{text}");
    // /dev/null is not a valid log.
    let place = Place::new().option(&["--log", "/dev/null"]);
    assert_eq!(place.run(&shell("exit 0")).status, 0);
}

/// The event is that of a pool with GPUs and tokens; `populateExecuteEvent` (remoteresource.cpp).
#[test]
fn the_execute_event_has_the_resources_of_the_slot() {
    let slot = "MachineResources = \"Cpus Memory GPUs\"\nCpus = 2\nMemory = 128\nDisk = 7\nGPUs = 1\nArch = \"X86_64\"\n\
                AvailableGPUs = { GPUs_a }\nGPUs_a = [ Id = \"a\"; ]\nGPUs_b = [ Id = \"b\"; ]\nPlace = Arch\n";
    let told = |slot: &str, more: &str| {
        let place = Place::new().option(&["--as", "shadow"]);
        let path = place.path("slot.ad");
        fs::write(&path, slot).unwrap();
        let place = place.option(&["--slot-ads", path.to_str().unwrap()]);
        run(&place, &format!("UserLog = \"log\"\n{more}"));
        let log = fs::read_to_string(place.path("iwd/log")).unwrap();
        let event = log.split("...\n").find(|event| event.starts_with("001 ")).unwrap();
        let lines = event.lines().skip(1).map(|line| line.trim_start().to_owned());
        lines.filter(|line| !line.starts_with("SlotName") && !line.starts_with("CondorScratchDir")).collect()
    };
    let given: Vec<String> = told(slot, "");
    assert_eq!(
        given,
        ["AvailableGPUs = { GPUs_a }", "Cpus = 2", "GPUs = 1", "GPUs_a = [ Id = \"a\" ]", "Memory = 128"]
    );
    let given: Vec<String> = told(slot, "UserLogExecuteEventAttrs = \"Place,Nothing\"");
    assert_eq!(given.iter().filter(|line| line.starts_with("Arch") || line.starts_with("Place")).count(), 2);
    // Secrets of claims are never published, even if a list names them. An empty list of services needs no tokens.
    let secret = format!(
        "{slot}ClaimId = \"<1.2.3.4>#1#1#secret\"\nCapability = \"secret\"\nAvailableFoo = ClaimId\n"
    );
    let secret = secret.replace("Cpus Memory GPUs", "Cpus Foo ClaimId");
    let given: Vec<String> =
        told(&secret, "UserLogExecuteEventAttrs = \"Capability\"\nOAuthServicesNeeded = \"\"");
    assert_eq!(given, ["AvailableFoo = ClaimId", "Cpus = 2"]);
    // A slot without a list of resources has the three built-in ones.
    let given: Vec<String> = told("Cpus = 2\nMemory = 128\nDisk = 7\nGPUs = 1\n", "");
    assert_eq!(given, ["CPUs = 2", "Disk = 7", "Memory = 128"]);
}

/// As in a pool, the rows come from the durations that a shadow records.
#[test]
fn the_terminated_event_has_run_time_and_slot_time() {
    let rows = |log: &str, number: &str| -> Vec<String> {
        let event = log.split("...\n").find(|event| event.starts_with(number)).unwrap();
        let rows = event.lines().filter_map(|line| line.strip_prefix("\t   ")?.split_once(" : "));
        rows.map(|(label, _)| label.trim_end().to_owned()).collect()
    };
    let asked =
        "RequestCpus = 1\nUserLog = \"log\"\nNumJobStarts = 0\nJobAdInformationAttrs = \"NumJobStarts\"";
    let place = Place::new().option(&["--as", "shadow"]);
    let result = run(&place, asked);
    let log = fs::read_to_string(place.path("iwd/log")).unwrap();
    let rows = |number| rows(&log, number);
    let timed = |rows: Vec<String>| -> Vec<String> {
        rows.into_iter().filter(|label| label.starts_with("Time")).collect()
    };
    assert_eq!(timed(rows("005 ")), ["TimeExecute (s)", "TimeSlotBusy (s)"], "{log}");
    for part in ["", "Setup", "Execution", "Teardown"] {
        assert!(result.ad.contains(&format!("Activation{part}Duration = ")), "{}", result.ad);
    }
    // The execute event has the number of earlier runs.
    let starts = log.lines().filter(|line| line.starts_with("NumJobStarts = "));
    let starts: Vec<&str> = starts.map(|line| &line[line.len() - 1..]).collect();
    assert_eq!((starts[..2].to_vec(), starts.last()), (vec!["0", "0"], Some(&"1")), "{log}");
    // In the other log formats, these are attributes of the event itself.
    for (form, shown) in [("UserLogUseXML = 1", "n=\"{}\">"), ("UserLogUseXML = 2", "\"{}\": ")] {
        let place = Place::new().option(&["--as", "shadow"]);
        run(&place, &format!("RequestCpus = 1\nUserLog = \"log\"\n{form}"));
        let log = fs::read_to_string(place.path("iwd/log")).unwrap();
        for name in ["RequestCpus", "TimeExecuteUsage", "TimeSlotBusyUsage", "MemoryUsage"] {
            assert!(log.contains(&shown.replace("{}", name)), "{name}: {log}");
        }
    }
    // A job that could not be executed has only occupied its slot.
    let place = Place::new().option(&["--as", "shadow", "--quirks", "reference"]);
    let result = place.run(&format!("Cmd = \"/no/such\"\n{QUEUED}\nUserLog = \"log\"\nRequestCpus = 1"));
    assert!(!result.ad.contains("ActivationExecutionDuration"), "{}", result.ad);
}

#[test]
fn a_result_that_cannot_be_printed_is_kept_for_clean() {
    let place = Place::new();
    let ad = place.complete_ad(&shell("exit 5"));
    let mut command = place.command();
    let full = fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let mut child = command.stdout(full).spawn().unwrap();
    std::io::Write::write_all(&mut child.stdin.take().unwrap(), ad.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(125), "{stderr}");
    assert!(
        stderr.contains("the job's ad is saved") && stderr.contains("cannot write the job's ad"),
        "{stderr}"
    );
    for (lines, is_there) in [(1, true), (0, false)] {
        let output = place.clean_command().output().unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        let ads = String::from_utf8_lossy(&output.stdout).into_owned();
        assert_eq!(
            stderr.matches("job 7.1 had ended, but its result could not be reported\n").count(),
            lines,
            "{stderr}"
        );
        assert_eq!(ads.contains("ExitCode = 5\n"), is_there, "{ads}");
    }
}

#[test]
fn the_report_to_a_local_queue_is_retried_a_limited_number_of_times() {
    let place = Place::new()
        .option(&["--as", "local"])
        .parameter("LOCAL_UNIVERSE_JOB_CLEANUP_RETRY_DELAY = 0\nLOCAL_UNIVERSE_MAX_JOB_CLEANUP_RETRIES = 3");
    let ad = place.complete_ad(&format!("{}\nJobUniverse = 12", shell("exit 0")));
    let mut command = place.command();
    let full = fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let mut child = command.stdout(full).spawn().unwrap();
    std::io::Write::write_all(&mut child.stdin.take().unwrap(), ad.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(stderr.matches("tried again in 0 s").count(), 3, "{stderr}");
    assert_eq!(output.status.code(), Some(125), "{stderr}");
    assert!(stderr.contains("the job's ad is saved"), "{stderr}");
}
