//! Jobs that a schedd sent to a startd in a session: each is run by a starter that also acts as schedd and
//! shadow.
//!
//! The ad that the real starter received is known from the input of its first hook. The attributes that
//! schedd, shadow and starter had set by then are removed, so that our programs set them. A job that was
//! restarted is run only once.

use std::collections::HashSet;
use std::fs;

use super::alone::{log, pool};
use super::calls::value;
use super::scenario::{Case, Scenario};

/// Attributes of a running job that were not submitted, in addition to those that the queue has of a
/// completed job.
const RUN_ATTRIBUTES: [&str; 17] = [
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

/// Exit of the starter, by the last event of the job's log.
const ENDS: [(&str, &str); 3] = [("005 ", "exited 100"), ("012 ", "exited 112"), ("004 ", "exited 107")];

/// Returns true if jobs of the session came from a schedd.
pub fn is_one(scenario: &Scenario) -> bool {
    scenario.actions.iter().any(|action| action.what.contains("condor_submit"))
}

/// Converts such a session to cases, one per job, and removes the calls of all runs except each job's first.
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
    let signals = commands_of_job(scenario, start);
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

/// Returns the ad as condor_submit made it.
fn submitted(ad: &[u8]) -> Vec<u8> {
    let text = String::from_utf8_lossy(ad).into_owned();
    // If a job's files are transferred, its starter keeps these values under other names.
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
    let kept = lines.filter(|(name, _)| !pool::is_written(name) && !RUN_ATTRIBUTES.contains(name));
    let kept = kept.map(|(name, now)| {
        let value = before(name).unwrap_or_else(|| now.to_owned());
        format!("{name} = {value}\n")
    });
    kept.chain(pool::SUBMITTED.map(|(name, value)| format!("{name} = {value}\n"))).collect::<String>().into()
}

/// Returns the commands sent to the job started at `start`, up to the next submission, as arguments of
/// `--ask`, with the seconds since its start.
fn commands_of_job(scenario: &Scenario, start: f64) -> Vec<(f64, String)> {
    let later = scenario.actions.iter().filter(|action| action.at > start);
    let mut of_job = later.take_while(|action| !action.what.starts_with("run condor_submit"));
    let words = |what: &str| match what.strip_prefix("run condor_")?.split(' ').next()? {
        "hold" => Some("ask hold\t--reason\theld by the harness\t--code\t1"),
        "rm" => Some("ask remove\t--reason\tvia condor_rm"),
        "vacate_job" => Some("ask soft"),
        _ => None,
    };
    let first = of_job.find_map(|action| Some((action.at - start, words(&action.what)?.to_owned())));
    // Other jobs were idle or held by then.
    let runs_long = |(at, _): &(f64, String)| {
        scenario
            .calls
            .iter()
            .any(|call| call.is_job() && call.name == "long" && call.start > start && call.start < start + at)
    };
    first.into_iter().filter(runs_long).collect()
}

/// Returns the events up to the end of the first run, including the removal of a job that was removed while
/// it ran.
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
    // The requester depends on the account.
    kept.replace("(by user condor)", "(by user root)")
}

/// Returns the events of the current log, without values that depend on the run.
pub fn events(log: &str) -> std::collections::BTreeMap<String, String> {
    log::events(log)
}
