//! Verdicts of recorded sessions: compares the decision of the real caller for each recorded call with that
//! of our code for the same input, output and exit.
//!
//! A directory contains `verdicts.jsonl` and the records below `hooks`. The comparison includes the decision,
//! hold code and subcode, the reason if the recording quotes the hook's caller, and the attributes changed by
//! a prepare hook. Records without input are listed with that reason.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::Deserialize;

use htc_hooks::classad::is_private;
use htc_hooks::hook::HookType;
use htc_hooks::hook_testing::record::{CallRecord, read_records};
use htc_hooks::hook_testing::{judge_call, replay};
use htc_hooks::os::RealWorld;
use htc_hooks::quirks::QuirkMode;

/// A line of `verdicts.jsonl`.
#[derive(Debug, Deserialize)]
struct Line {
    record: String,
    hook: String,
    input: String,
    decision: String,
    code: Option<i64>,
    subcode: Option<i64>,
    reason: Option<String>,
    #[serde(default)]
    changed: Option<BTreeMap<String, Option<String>>>,
}

/// Result of the comparison.
#[derive(Debug, Default)]
pub struct Tally {
    /// Number of compared records.
    pub compared: usize,
    /// Differences, one text each.
    pub differences: Vec<String>,
    /// Numbers of records without a verdict, by reason.
    pub left_out: BTreeMap<String, usize>,
    /// Directories without verdicts.
    pub passed_over: Vec<PathBuf>,
}

/// Executes the command line `corpus verdicts DIR...`: each argument is a scenario, or a directory of
/// scenarios.
pub fn main(arguments: &[String]) -> Result<bool, String> {
    let mut tally = Tally::default();
    for argument in arguments {
        compare(Path::new(argument), &mut tally)?;
    }
    report(&tally);
    if tally.compared == 0 && tally.left_out.is_empty() {
        return Err("there is no verdicts.jsonl in any of them or one level below".to_owned());
    }
    Ok(tally.differences.is_empty())
}

/// Prints the result.
pub fn report(tally: &Tally) {
    for difference in &tally.differences {
        println!("{difference}");
    }
    for (reason, count) in &tally.left_out {
        println!("left out: {count} records: {reason}");
    }
    for directory in &tally.passed_over {
        println!("passed over: no verdicts.jsonl in {}", directory.display());
    }
    println!("verdicts: {} compared, {} differ", tally.compared, tally.differences.len());
}

/// Compares one scenario, or all scenarios in a directory.
pub fn compare(directory: &Path, tally: &mut Tally) -> Result<(), String> {
    if directory.join("verdicts.jsonl").is_file() {
        return scenario(directory, tally);
    }
    let entries = fs::read_dir(directory).map_err(|error| format!("{}: {error}", directory.display()))?;
    let mut below: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    below.retain(|path| path.join("verdicts.jsonl").is_file());
    below.sort();
    if below.is_empty() {
        // Not every recording has verdicts, so one of many is skipped.
        tally.passed_over.push(directory.to_owned());
    }
    below.iter().try_for_each(|directory| scenario(directory, tally))
}

fn scenario(directory: &Path, tally: &mut Tally) -> Result<(), String> {
    let name = directory.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let text = fs::read_to_string(directory.join("verdicts.jsonl"))
        .map_err(|error| format!("{}/verdicts.jsonl: {error}", directory.display()))?;
    let records = read_records(directory).map_err(|error| format!("{}: {error}", directory.display()))?;
    let config = fs::read_to_string(directory.join("condor_config")).unwrap_or_default();
    let context = CallContext {
        config,
        router: directory.join("JobRouterLog.extract").exists(),
        schedd: fs::read_dir(directory)
            .into_iter()
            .flatten()
            .flatten()
            .any(|entry| entry.file_name().to_string_lossy().starts_with("ShadowLog")),
    };
    let world = RealWorld::new();
    for line in text.lines().filter(|line| !line.trim().is_empty()) {
        let line: Line =
            serde_json::from_str(line).map_err(|error| format!("{name}/verdicts.jsonl: {error}"))?;
        let mut skip = |reason: &str| *tally.left_out.entry(reason.to_owned()).or_default() += 1;
        if line.input == "none" {
            skip("the recording has no input of the call");
            continue;
        }
        if line.decision == "unknown" {
            skip("the recording does not show what was decided");
            continue;
        }
        let Some(hook) = hook_of(&line.hook, context.router) else {
            skip("no hook (a cron job)");
            continue;
        };
        let Some(record) = records.iter().find(|record| record.name == line.record) else {
            tally.differences.push(format!("{name}/{}: no such record", line.record));
            continue;
        };
        if !record.has_input {
            skip("the recording has shortened the input of the call");
            continue;
        }
        if !record.has_output {
            skip("the recording has shortened the output of the call");
            continue;
        }
        tally.compared += 1;
        judge(&name, &line, record, hook, &context, &world, &mut tally.differences);
    }
    Ok(())
}

/// Information that a call itself does not show.
struct CallContext {
    config: String,
    router: bool,
    schedd: bool,
}

impl CallContext {
    /// Returns the last value of a parameter that is set without conditions.
    fn parameter(&self, name: &str) -> Option<&str> {
        self.config
            .lines()
            .filter_map(|line| line.split_once('='))
            .rfind(|(left, _)| left.trim().eq_ignore_ascii_case(name))
            .map(|(_, right)| right.trim())
    }

    /// Returns true if the route of that name edits in place.
    fn edits(&self, route: &str) -> bool {
        let mut inside = false;
        for line in self.config.lines() {
            if let Some((name, _)) =
                line.strip_prefix("JOB_ROUTER_ROUTE_").and_then(|rest| rest.split_once(' '))
            {
                inside = name == route;
            }
            let plain: String = line.split_whitespace().collect::<String>().to_ascii_lowercase();
            if inside && plain == "editjobinplace=true" {
                return true;
            }
        }
        false
    }
}

fn hook_of(name: &str, router: bool) -> Option<HookType> {
    Some(match (name, router) {
        ("UPDATE_JOB_INFO", true) => HookType::RouterUpdateJobInfo,
        ("JOB_EXIT", true) => HookType::JobFinalize,
        _ => HookType::from_name(name.as_bytes())?,
    })
}

#[allow(clippy::too_many_arguments, reason = "one call, its surroundings and where to complain")]
fn judge(
    scenario: &str,
    line: &Line,
    record: &CallRecord,
    hook: HookType,
    context: &CallContext,
    world: &RealWorld,
    differences: &mut Vec<String>,
) {
    let mut case = replay::case_from_record(record, hook);
    // In a scenario with a schedd there may be fetched jobs as well, which have no id from a schedd.
    let of_schedd = case.job.contains("GlobalJobId") && (context.schedd || case.job.contains("ShadowBday"));
    case.with_shadow = of_schedd && hook != HookType::FetchWork;
    case.route.edit_in_place = context.edits(&case.route.name.to_string());
    if let Some(limit) = context.parameter("PIPE_BUFFER_MAX").and_then(|limit| limit.parse().ok()) {
        case.output_limit = limit;
    }
    if hook == HookType::JobExit {
        let knob = format!("{}_HOOK_JOB_EXIT_TIMEOUT", case.keyword);
        let seconds = context.parameter(&knob).and_then(|seconds| seconds.parse().ok()).unwrap_or(30);
        case.caller_waits = Some(Duration::from_secs(seconds));
    }
    let outcome = replay::outcome_from_record(record, &case);
    let path = record.argv.first().map(|path| path.to_vec()).unwrap_or_default();
    let ours = judge_call(&case, &outcome, &path, world, QuirkMode::Reference);
    let mut differ = |what: &str, theirs: String, ours: String| {
        differences.push(format!("{scenario}/{}: {what}: recorded {theirs}, ours {ours}", line.record));
    };
    if ours.decision.word() != line.decision {
        differ("decision", line.decision.clone(), format!("{} ({})", ours.decision, ours.reason));
        return;
    }
    let hold = line.code.map(|code| (code, line.subcode.unwrap_or(0)));
    if ours.hold != hold {
        differ("hold", format!("{hold:?}"), format!("{:?}", ours.hold));
    }
    // The recorder described the slot's and the queue's own reasons in other words.
    let quoted = !matches!(hook, HookType::FetchWork) || line.decision == "bad-output";
    if let Some(reason) = &line.reason
        && quoted
        && !reason.contains("...")
        && *reason != ours.reason
    {
        differ("reason", reason.clone(), ours.reason.clone());
    }
    let prepares = matches!(hook, HookType::PrepareJob | HookType::PrepareJobBeforeTransfer);
    if prepares && let Some(changed) = &line.changed {
        // A private attribute may change too, but later records cannot show it.
        let mine: BTreeMap<String, Option<String>> = ours
            .changes
            .iter()
            .filter(|change| !is_private(&change.name))
            .map(|change| (change.name.to_string(), change.after.as_ref().map(ToString::to_string)))
            .collect();
        if mine != *changed {
            differ("changes", format!("{changed:?}"), format!("{mine:?}"));
        }
    }
}
