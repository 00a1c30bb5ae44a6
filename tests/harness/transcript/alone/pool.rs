//! Cases of whole pools, from the starter's point of view: `jobs/NAME` contains the submit file, the final
//! ad, calls and files.
//!
//! The starter's input is that ad without the attributes that schedd, shadow and starter set later. The
//! directory of the job is `iwd` here.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use bstr::ByteSlice as _;
use serde_json::{Value, json};

use super::super::Result;
use super::asked::{self, Asked};
use super::case::{Case, Family, Known, Queue, collect};
use super::{chirp, slot_ad};

/// Attributes set by schedd, shadow and starter after the job was submitted; `*` stands for any beginning or
/// end.
const WRITTEN: &[&str] = &[
    // By the schedd and the negotiator.
    "EnteredCurrentStatus",
    "Last*",
    "JobStatus",
    "ServerTime",
    "AutoCluster*",
    "NumJobMatches",
    "NumShadowStarts",
    "NumJobStarts",
    "JobRunCount",
    "JobStartDate",
    "JobLastStartDate",
    "FirstJobMatchDate",
    "JobCurrent*",
    "InitialWaitDuration",
    "CurrentHosts",
    "MachineAttr*",
    "MATCH_*",
    "Remote*",
    "PublicClaimId",
    "StartdIpAddr",
    "StartdPrincipal",
    "ShadowBday",
    "TotalSuspensions",
    "Cumulative*",
    "Committed*",
    "CompletionDate",
    "RemoveReason",
    "ReleaseReason",
    "RequeueReason",
    "Hold*Reason*",
    "HoldReason*",
    "NumHolds*",
    "NumSystemHolds",
    "NumVacates*",
    "Vacate*",
    "JobFinishedHookDone",
    "JobAbortEventLogged",
    "TerminationPending",
    "NumJobCompletions",
    "NumRestarts",
    "TotalJobReconnectAttempts",
    "JobDisconnectedDate",
    "NumJobReconnects",
    // By the shadow.
    "TransferInStarted",
    "TransferInFinished",
    "TransferOutStarted",
    "TransferOutFinished",
    "TransferQueued",
    "TransferringInput",
    "TransferringOutput",
    "*TransferStarts",
    "TransferInputStats",
    "TransferOutputStats",
    "SpooledOutputFiles",
    "BytesSent",
    "BytesRecvd",
    "*Provisioned",
    "Assigned*",
    "Activation*",
    // By the starter.
    "Exit*",
    "JobCoreDumped",
    "JobCoreFileName",
    "*_RAW",
    "ResidentSetSize",
    "MemoryUsage",
    "CpusUsage",
    "Block*",
    "Recent*",
    "StatsLifetime*",
    "ScratchDirFileCount",
    "StdoutMtime",
    "StderrMtime",
    "ExecuteDirWasEncrypted",
    "PreExit*",
    "PostExit*",
    "Exception*",
    "NumCkpts*",
    "CheckpointNumber",
];
/// Exit status of a shadow, by the JobStatus that it leaves (`exit.h`).
const STATUSES: [(&str, &str); 4] =
    [("4", "exited 100"), ("5", "exited 112"), ("3", "exited 113"), ("1", "exited 107")];
/// The hold code of a job held by a person: the recorder held jobs that would be restarted forever.
const BY_A_PERSON: &str = "1";
/// Attributes about the job's end.
const END_ATTRIBUTES: [&str; 8] = [
    "ExitCode",
    "ExitBySignal",
    "ExitSignal",
    "HoldReason",
    "HoldReasonCode",
    "HoldReasonSubCode",
    "JobCoreDumped",
    "JobStatus",
];

/// Attributes that condor_submit sets in every job and that others overwrite.
pub const SUBMITTED: [(&str, &str); 20] = [
    ("CommittedSlotTime", "0"),
    ("CommittedSuspensionTime", "0"),
    ("CommittedTime", "0"),
    ("CumulativeRemoteSysCpu", "0.0"),
    ("CumulativeRemoteUserCpu", "0.0"),
    ("CumulativeSlotTime", "0"),
    ("CumulativeSuspensionTime", "0"),
    ("CurrentHosts", "0"),
    ("ExitBySignal", "false"),
    ("ExitStatus", "0"),
    ("LastSuspensionTime", "0"),
    ("NumCkpts", "0"),
    ("NumJobCompletions", "0"),
    ("NumJobStarts", "0"),
    ("NumRestarts", "0"),
    ("NumSystemHolds", "0"),
    ("RemoteSysCpu", "0.0"),
    ("RemoteUserCpu", "0.0"),
    ("RemoteWallClockTime", "0.0"),
    ("TotalSuspensions", "0"),
];

/// Submit commands, with the attributes that exist only with them.
const COMMAND_ATTRIBUTES: &[(&str, &str)] = &[
    ("transfer_input_files", "TransferInput"),
    ("transfer_output_files", "TransferOutput"),
    ("transfer_output_remaps", "TransferOutputRemaps"),
    ("universe = docker", "WantDocker"),
    ("docker_image", "DockerImage"),
    ("submit_event_notes", "SubmitEventNotes"),
    ("submit_event_user_notes", "SubmitEventUserNotes"),
];

/// Returns true if a directory contains a recording of a pool.
pub fn is_one(directory: &Path) -> bool {
    directory.join("jobs").is_dir() && !directory.join("timeline.txt").exists()
}

/// Reads its cases.
pub fn read(directory: &Path) -> Result<Family> {
    let mut places: Vec<PathBuf> = fs::read_dir(directory.join("jobs"))
        .map_err(|error| format!("{}: {error}", directory.display()))?
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| path.is_dir())
        .collect();
    places.sort();
    let config = directory.join("condor_config");
    let config = fs::read_to_string(&config).map_err(|error| format!("{}: {error}", config.display()))?;
    let (mut cases, mut known, mut first) = (Vec::new(), Known::default(), None);
    let asked = asked::all(&fs::read_to_string(directory.join("README.md")).unwrap_or_default());
    for place in places {
        let name = place.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let text = |file: &str| {
            let bytes = fs::read(place.join(file)).ok()?;
            Some(String::from_utf8_lossy(&bytes).into_owned())
        };
        // There is no job if condor_submit refused it.
        if text("submit.out").is_some_and(|said| said.contains("ERROR: ")) {
            continue;
        }
        let mut end: BTreeMap<String, String> = match (&first, text("final.ad"), text("final.ad.diff")) {
            (_, Some(whole), _) => attributes(&whole),
            (Some(first), None, Some(_)) => BTreeMap::clone(first),
            (_, None, _) => BTreeMap::new(),
        };
        if first.is_none() {
            first = Some(end.clone());
        }
        let difference = attributes(&text("final.ad.diff").unwrap_or_default());
        let perhaps = if difference.is_empty() { BTreeMap::new() } else { first.clone().unwrap_or_default() };
        let known_end = if difference.is_empty() { &end } else { &difference };
        let told_now = |values: &BTreeMap<String, String>| {
            values.iter().map(|(name, value)| (name.clone(), by_root(value))).collect()
        };
        let in_queue = Queue { known: told_now(known_end), perhaps: told_now(&perhaps) };
        if text("final.ad").is_none() {
            // The difference does not list removed attributes: a removal is inferred from the attributes that
            // replace it.
            let has = |name: &str, value: &str| difference.get(name).is_some_and(|it| it == value);
            let gone: &[&str] = match () {
                () if difference.contains_key("JobStatus") => &END_ATTRIBUTES,
                () if has("ExitBySignal", "true") => &["ExitCode"],
                () => &[],
            };
            end.retain(|name, _| !gone.contains(&name.as_str()));
            // Attributes removed from the first job's ad: lists of files are in the submit file.
            let submitted = text("submit").unwrap_or_default();
            for (command, name) in COMMAND_ATTRIBUTES {
                if !submitted.contains(command) && !difference.contains_key(*name) {
                    end.remove(*name);
                }
            }
            // The old and new syntax of arguments and environment replace each other.
            for (one, other) in
                [("Args", "Arguments"), ("Arguments", "Args"), ("Env", "Environment"), ("Environment", "Env")]
            {
                if difference.contains_key(one) {
                    end.remove(other);
                }
            }
            // The last line about it is effective.
            let transfers =
                submitted.lines().rev().find_map(|line| line.strip_prefix("transfer_executable = "));
            if transfers.is_some_and(|value| value.trim().eq_ignore_ascii_case("true")) {
                end.remove("TransferExecutable");
            }
            end.extend(difference);
        }
        let told = end.iter().filter(|(name, _)| END_ATTRIBUTES.contains(&name.as_str()));
        let mut told: serde_json::Map<String, Value> =
            told.map(|(name, value)| (name.clone(), json!(by_root(value)))).collect();
        let cluster = end.get("ClusterId").cloned().unwrap_or_default();
        let asked: Vec<&Asked> = asked.iter().filter(|asked| asked.is_of(&cluster, &name)).collect();
        let vacated = asked.iter().any(|asked| matches!(asked.word, "soft" | "hard" | "SIGTERM" | "SIGQUIT"));
        let by_a_person =
            asked.is_empty() && end.get("HoldReasonCode").is_some_and(|code| code == BY_A_PERSON);
        if by_a_person {
            told.retain(|name, _| !name.starts_with("Hold"));
            told.insert("JobStatus".to_owned(), json!("1"));
        }
        if vacated {
            // The end of the first run cannot be inferred from the result of the second.
            told.retain(|name, _| name == "JobStatus");
            told.insert("JobStatus".to_owned(), json!("1"));
        }
        let status = told.get("JobStatus").and_then(Value::as_str).unwrap_or("4").to_owned();
        let own = format!("@LOCAL_DIR@/j/{name}");
        let here = |text: &[u8]| text.replace(&own, "@LOCAL_DIR@/iwd");
        let here_text = |text: &mut String| *text = text.replace(&own, "@LOCAL_DIR@/iwd");
        let mut calls = called(&place);
        if by_a_person {
            calls.truncate(1);
        }
        let value = json!({ "case": name, "calls": calls, "result": told });
        let mut case = Case::read(&place, &value, "", &mut known)?;
        // If the job was restarted forever, or only its first run is replayed, the final ad is that of
        // another run.
        case.queue = (!by_a_person && !vacated && !in_queue.known.is_empty()).then_some(in_queue);
        for call in &mut case.calls {
            call.argv.iter_mut().for_each(here_text);
            chirp::out_of_words(&mut call.argv);
            call.env.iter_mut().flatten().for_each(|(_, value)| here_text(value));
            call.env.iter_mut().for_each(chirp::out_of_environment);
        }
        let ad: String = end
            .iter()
            .filter(|(name, _)| !is_written(name))
            .map(|(name, value)| format!("{name} = {value}\n"))
            // The values at submission.
            .chain(SUBMITTED.map(|(name, value)| format!("{name} = {value}\n")))
            .collect();
        case.run.stdin = here(ad.as_bytes());
        case.set_deferral_after("QDate");
        let known = STATUSES.iter().find(|(known, _)| *known == status);
        case.run.exit = known.map_or("exited 100", |(_, exit)| exit).to_owned();
        // A completed job may have been run several times.
        let begun =
            text("files/log").map_or(0, |log| log.lines().filter(|line| line.starts_with("001 ")).count());
        let runs = match status.as_str() {
            "4" if asked.iter().any(|asked| asked.word == "release") => "done".to_owned(),
            "4" => "3".to_owned(),
            "5" if !by_a_person => begun.max(1).to_string(),
            _ => "1".to_owned(),
        };
        let words = [
            "@RELEASE_DIR@/sbin/htc-starter-run",
            "--as",
            "shadow",
            "--quiet",
            "--slot-name",
            slot_ad::name(&end).unwrap_or("slot1_1"),
        ];
        case.run.argv = words.into_iter().chain(["--until", &runs]).map(str::to_owned).collect();
        case.slot_ad = slot_ad::of(&place, &end, &config);
        if case.slot_ad.is_some() {
            case.run.argv.extend(["--slot-ads", "@LOCAL_DIR@/slot.ad"].map(str::to_owned));
        }
        if let Some(ends) = asked.iter().find(|asked| asked.ends()).or(asked.first()) {
            let late = seen_after(&text("files/out").unwrap_or_default()).filter(|_| !vacated).unwrap_or(3.0);
            let first = if vacated { asked.len().min(1) } else { asked.len() };
            let begun = ends.at - late - 0.6;
            case.run.signals = asked[..first].iter().map(|asked| (asked.at - begun, asked.words())).collect();
            if case.run.signals.iter().any(|(_, words)| words.starts_with("ask ")) {
                case.run.argv.extend(["--control", "@LOCAL_DIR@/control/socket"].map(str::to_owned));
            }
        }
        case.in_iwd = true;
        let of_startd = [("TZ", ":/etc/localtime"), ("_CONDOR_EXECUTE", "@LOCAL_DIR@/execute")];
        let of_startd = of_startd.map(|(name, value)| (name.to_owned(), value.to_owned()));
        case.run.environment.extend(of_startd);
        collect(&place.join("files"), "iwd", &mut case.files);
        case.files.iter_mut().for_each(|(_, content)| *content = chirp::out_of_file(here(content)));
        let all = case.files.len();
        let log = case.files.iter().find(|(path, _)| path == "iwd/log").map(|(_, log)| log.clone());
        // Formats of logs are tested by other recordings.
        let log = log.filter(|log| !log.starts_with(b"<"));
        let log = log.map(|log| log.replace("(by user alice)", "(by user root)"));
        case.log = log.map(|log| if by_a_person || vacated { first_run(&log) } else { log });
        case.files.retain(|(path, _)| path != "iwd/log" && !(vacated && path == "iwd/out"));
        // A log in text format is compared separately.
        case.without_counterpart = all - case.files.len() - usize::from(case.log.is_some());
        cases.push(case);
    }
    Ok(Family {
        name: directory.file_name().unwrap_or_default().to_string_lossy().into_owned(),
        directory: directory.to_owned(),
        config: config.into_bytes(),
        cases,
    })
}

/// Returns the seconds after which a job received its signal: `got TERM at 4`.
fn seen_after(out: &str) -> Option<f64> {
    out.lines().find_map(|line| line.strip_prefix("got ")?.split_once(" at ")?.1.parse().ok())
}

/// Returns the events up to the end of the first run.
fn first_run(log: &[u8]) -> Vec<u8> {
    let text = String::from_utf8_lossy(log).into_owned();
    let mut kept = String::new();
    for event in text.split_inclusive("...\n") {
        kept += event;
        if event.starts_with("004 ") {
            break;
        }
    }
    kept.into_bytes()
}

/// Returns the recorded programs with their arguments: `rec/NN-NAME.argv.json`.
fn called(place: &Path) -> Vec<Value> {
    let entries = fs::read_dir(place.join("rec")).into_iter().flatten().flatten();
    let mut names: Vec<String> =
        entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    let words = |file: &String| {
        let (_, name) = file.strip_suffix(".argv.json")?.split_once('-')?;
        let argv = fs::read(place.join("rec").join(file)).ok()?;
        Some(json!([name, serde_json::from_slice::<Value>(&argv).ok()?]))
    };
    let asks = |call: &Value| call.pointer("/1/1").and_then(Value::as_str) == Some("-classad");
    names.iter().filter_map(words).filter(|call| !asks(call)).collect()
}

/// Replaces the requester, which depends on the account.
fn by_root(text: &str) -> String {
    text.replace("(by user alice)", "(by user root)")
}

fn attributes(text: &str) -> BTreeMap<String, String> {
    let lines = text.lines().filter_map(|line| line.split_once(" = "));
    lines.map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
}

/// Returns true if a program other than condor_submit sets the attribute.
pub fn is_written(name: &str) -> bool {
    WRITTEN.iter().any(|pattern| match (pattern.strip_prefix('*'), pattern.strip_suffix('*')) {
        (Some(end), _) => name.ends_with(end),
        (None, Some(start)) => name.starts_with(start),
        (None, None) => *pattern == name,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_starters_ad_has_no_later_attributes() {
        assert!(is_written("NumJobStarts") && is_written("ImageSize_RAW") && is_written("ExitCode"));
        assert!(!is_written("Cmd") && !is_written("RequestCpus") && !is_written("TransferInput"));
    }
}
