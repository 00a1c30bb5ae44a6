//! Jobs that a schedd handed out in a session: each is played by the starter with schedd and shadow in one.
//!
//! The ad that the starter of such a job got is known from the first hook that it called; what schedd, shadow and starter had
//! written into it by then is taken out, so that ours have it to write. A job that was started again is played once.

use std::collections::HashSet;
use std::fs;

use super::alone::{log, pool};
use super::calls::value;
use super::scenario::{Case, Scenario};

/// What stands in the ad of a running job and was not submitted, beside what the queue has of a job that is done.
const OF_A_RUN: [&str; 17] = [
    "CondorScratchDir",
    "CurrentHosts",
    "GpusProvisioned",
    "MyAddress",
    "OSHomeDir",
    "OrigCmd",
    "OrigIwd",
    "OriginalErr",
    "OriginalOut",
    "OsUser",
    "ProvisionedResources",
    "ShadowIpAddr",
    "ShadowVersion",
    "TransferInputFileCounts",
    "TransferSocket",
    "UidDomain",
    "_condor_JOBINFO_MAXINTERVAL",
];

/// How the starter ends by the last event of the job's log.
const ENDS: [(&str, &str); 3] = [("005 ", "exited 100"), ("012 ", "exited 112"), ("004 ", "exited 107")];

/// Whether jobs of the session came from a schedd.
pub fn is_one(scenario: &Scenario) -> bool {
    scenario.actions.iter().any(|action| action.what.contains("condor_submit"))
}

/// Makes cases of such a session, one a job, and leaves away the calls of all runs but each job's first.
pub fn read(scenario: &mut Scenario) {
    let (mut starters, mut jobs) = (HashSet::new(), HashSet::new());
    let mut cases = Vec::new();
    for call in &scenario.calls {
        let Some(job) = call.job() else { continue };
        if !jobs.insert(job.clone()) {
            continue;
        }
        starters.insert(call.ppid);
        let ad = call.stdin.as_deref().or(call.job_ad.as_deref()).unwrap_or_default();
        cases.push(case(scenario, job, call.start, ad));
    }
    scenario.machine_ad = scenario.calls.iter().find_map(|call| call.machine_ad.clone());
    scenario.calls.retain(|call| starters.contains(&call.ppid));
    scenario.cases = cases;
}

fn case(scenario: &Scenario, job: String, start: f64, ad: &[u8]) -> Case {
    let cluster = value(ad, "ClusterId").unwrap_or_default();
    let log = fs::read_to_string(scenario.directory.join(format!("iwd/log.{cluster}"))).unwrap_or_default();
    let signals = asked(scenario, start);
    let log = first_run(&log, signals.first().is_some_and(|(_, words)| words.contains("remove")));
    let last = log.split_inclusive("...\n").filter_map(|event| event.get(..4)).last();
    let exit = match last {
        Some("009 ") => "exited 113",
        last => ENDS.iter().find(|(number, _)| Some(*number) == last).map_or("exited 100", |(_, exit)| exit),
    };
    let words = ["htc-starter-run", "--as", "shadow", "--quiet", "--slot-name", "slot1"];
    let mut argv: Vec<String> = words.map(str::to_owned).to_vec();
    argv.extend(["--slot-ads", "@LOCAL_DIR@/slot.ad"].map(str::to_owned));
    if !signals.is_empty() {
        argv.extend(["--control", "@LOCAL_DIR@/control/socket"].map(str::to_owned));
    }
    Case {
        argv,
        stdin: submitted(ad),
        stdout: Vec::new(),
        exit: exit.to_owned(),
        awaited: (!signals.is_empty()).then(|| "long".to_owned()),
        signals,
        environment: [("TZ", ":/etc/localtime"), ("_CONDOR_EXECUTE", "@LOCAL_DIR@/execute")]
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .to_vec(),
        log: Some(log),
        start,
        name: job,
    }
}

/// The ad as condor_submit made it.
fn submitted(ad: &[u8]) -> Vec<u8> {
    let text = String::from_utf8_lossy(ad).into_owned();
    // The starter of a job whose files are transferred keeps these under other names.
    let before = |name: &str| {
        let kept = match name {
            "Iwd" => "OrigIwd",
            "Out" => "OriginalOut",
            "Err" => "OriginalErr",
            _ => return None,
        };
        value(ad, kept)
    };
    let lines = text.lines().filter_map(|line| line.split_once(" = "));
    let kept = lines.filter(|(name, _)| !pool::is_written(name) && !OF_A_RUN.contains(name));
    let kept = kept.map(|(name, now)| {
        let value = before(name).unwrap_or_else(|| now.to_owned());
        format!("{name} = {value}\n")
    });
    kept.chain(pool::SUBMITTED.map(|(name, value)| format!("{name} = {value}\n"))).collect::<String>().into()
}

/// What was asked of the job that began then, before the next one was submitted: words for `--ask` with the seconds since its start.
fn asked(scenario: &Scenario, start: f64) -> Vec<(f64, String)> {
    let later = scenario.actions.iter().filter(|action| action.at > start);
    let mut of_job = later.take_while(|action| !action.what.starts_with("run condor_submit"));
    let words = |what: &str| match what.strip_prefix("run condor_")?.split(' ').next()? {
        "hold" => Some("ask hold\t--reason\theld by the harness\t--code\t1"),
        "rm" => Some("ask remove\t--reason\tvia condor_rm"),
        "vacate_job" => Some("ask soft"),
        _ => None,
    };
    let first = of_job.find_map(|action| Some((action.at - start, words(&action.what)?.to_owned())));
    // A job that does not run long was idle, or held, by then.
    let runs_long = |(at, _): &(f64, String)| {
        scenario
            .calls
            .iter()
            .any(|call| call.is_job() && call.name == "long" && call.start > start && call.start < start + at)
    };
    first.into_iter().filter(runs_long).collect()
}

/// The events up to the end of the first run; of a job that was removed while it ran that it is gone, too.
fn first_run(log: &str, removed: bool) -> String {
    let mut kept = String::new();
    let mut ends: &[&str] = &[];
    for event in log.split_inclusive("...\n") {
        let number = event.get(..3).unwrap_or_default();
        if !ends.is_empty() && !ends.contains(&number) {
            break;
        }
        kept += event;
        match number {
            "004" if removed => ends = &["009"],
            "004" | "024" => ends = &["012"],
            _ if !ends.is_empty() => break,
            _ => {}
        }
    }
    // Who asks is told by who it is.
    kept.replace("(by user condor)", "(by user root)")
}

/// The log of the case as it is now, without placeholders of a run.
pub fn events(log: &str) -> std::collections::BTreeMap<String, String> {
    log::events(log)
}
