//! Checks of a scenario beyond its syntax: values that are not valid by themselves or in combination. Each mistake is
//! reported with its location.

use std::collections::HashMap;

use super::random::MAX_LOAD;
use super::scenario::{
    HookBehaviour, HookName, JobGroup, MachineSpec, PresencePattern, Scenario, ScenarioEvent,
};
use super::times::{TimePoint, format_span};
use htc_base::quirks::QuirkMode;
use htc_slot::{FetchOutcome, FetchOutput, parse_fetch_output};

/// Mistake in a scenario, with its location.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct ScenarioMistake {
    pub message: String,
    /// Name of the table with the mistake, such as `event`.
    pub table: &'static str,
    /// Index of the table among tables of that name, from 0.
    pub index: usize,
    /// The key with the mistake; empty if the whole table is wrong.
    pub key: &'static str,
}

/// Key with a mistake, and the error message about it.
type KeyMistake = (&'static str, String);

/// Maximum number of machines, and of slots.
const MAX_MACHINES: u64 = 100_000;
/// Maximum number of jobs. Each job takes memory from its arrival to its end.
const MAX_JOBS: u64 = 50_000_000;
/// Maximum exit status.
const MAX_EXIT_STATUS: i64 = 255;

impl Scenario {
    /// Checks everything that does not depend on the start time of the scenario.
    pub(super) fn check(&self) -> Result<(), ScenarioMistake> {
        let machines: Vec<u64> = self.machines.iter().map(|machine| u64::from(machine.count)).collect();
        check_total("machine", "machines", &machines, MAX_MACHINES)?;
        let jobs: Vec<u64> = self.groups.iter().map(|group| u64::from(group.count.unwrap_or(1))).collect();
        check_total("jobs", "jobs", &jobs, MAX_JOBS)?;
        self.check_names()?;
        check_each("machine", &self.machines, check_machine)?;
        check_each("jobs", &self.groups, check_group)?;
        check_each("hook", &self.hooks, check_hook)?;
        check_each("keyboard", &self.keyboards, check_keyboard)?;
        check_each("load", &self.loads, check_pattern)?;
        check_each("event", &self.events, check_event)
    }

    /// Checks that all times are within the simulated time. `offset` returns the offset of local time.
    pub(super) fn check_times(&self, offset: &dyn Fn(i64) -> i64) -> Result<(), ScenarioMistake> {
        let start = self.start.to_epoch(offset);
        let since = |moment: TimePoint| moment.to_epoch(start, offset) - start as f64;
        let length = self.length.0;
        let outside = |moment: TimePoint| match since(moment) {
            since if since < 0.0 => Some("is before the start".to_owned()),
            since if since > length => Some(format!(
                "is {} after the start: it ends after {}",
                format_span(since),
                format_span(length)
            )),
            _ => None,
        };
        check_each("event", &self.events, |event| match outside(event.at) {
            Some(when) => Err(("at", format!("'at' {when}"))),
            None => Ok(()),
        })?;
        check_each("jobs", &self.groups, |group| match since(group.at) < 0.0 {
            true => Err(("at", "'at' is before the start".to_owned())),
            false => Ok(()),
        })?;
        check_each("hook", &self.hooks, |hook| match hook.to {
            Some(to) if since(to) <= since(hook.from) => Err(("to", "'to' must be after 'from'".to_owned())),
            _ => Ok(()),
        })
    }

    /// Checks that machine names are unique.
    fn check_names(&self) -> Result<(), ScenarioMistake> {
        let mut known: HashMap<String, usize> = HashMap::new();
        for (index, machine) in self.machines.iter().enumerate() {
            let Some(name) = &machine.name else { continue };
            for number in 1..=machine.count {
                let full = if machine.count == 1 { name.clone() } else { format!("{name}{number}") };
                if let Some(other) = known.insert(full.to_ascii_lowercase(), index) {
                    let message = format!("two machines are called '{full}': see [[machine]] {}", other + 1);
                    return Err(ScenarioMistake { message, table: "machine", index, key: "name" });
                }
            }
        }
        Ok(())
    }
}

/// Checks that a total does not exceed the maximum; a larger total would take too much memory. The mistake is
/// reported at the table at which the sum exceeds the maximum.
fn check_total(table: &'static str, what: &str, counts: &[u64], maximum: u64) -> Result<(), ScenarioMistake> {
    let sum: u64 = counts.iter().sum();
    if sum <= maximum {
        return Ok(());
    }
    let mut left = maximum;
    let fits = |count: &&u64| left.checked_sub(**count).map(|rest| left = rest).is_some();
    let index = counts.iter().take_while(fits).count();
    let message = format!("there are {sum} {what}, but at most {maximum} can be simulated");
    Err(ScenarioMistake { message, table, index, key: "count" })
}

fn check_each<T>(
    table: &'static str,
    all: &[T],
    check: impl Fn(&T) -> Result<(), KeyMistake>,
) -> Result<(), ScenarioMistake> {
    all.iter().enumerate().try_for_each(|(index, one)| {
        check(one).map_err(|(key, message)| ScenarioMistake { message, table, index, key })
    })
}

fn check_machine(machine: &MachineSpec) -> Result<(), KeyMistake> {
    let counts = [("count", Some(machine.count)), ("cpus", machine.cpus), ("slots", machine.slots)];
    match counts.into_iter().find(|(_, count)| *count == Some(0)) {
        Some((key, _)) => Err((key, format!("'{key}' must not be 0"))),
        None => Ok(()),
    }
}

fn check_group(group: &JobGroup) -> Result<(), KeyMistake> {
    if group.from.is_some() && !group.ad.is_empty() {
        return Err((
            "ad",
            "'from' and 'ad' cannot be used together: the ads of the file are the jobs".into(),
        ));
    }
    if group.every.is_some() && group.within.is_some() {
        return Err(("within", "'within' and 'every' cannot be used together".into()));
    }
    let spreads = [("every", group.every.is_some()), ("within", group.within.is_some())];
    if let Some((key, _)) = spreads.into_iter().find(|(_, is_given)| *is_given)
        && group.count.is_none()
        && group.from.is_none()
    {
        return Err((key, format!("'{key}' has no effect without 'count': one job arrives")));
    }
    if group.fail > 100 {
        let message = format!("'fail' is {}: expected a percentage from 0 to 100", group.fail);
        return Err(("fail", message));
    }
    if !(0..=MAX_EXIT_STATUS).contains(&group.exit) {
        let message = format!("'exit' is {}: expected a number from 0 to {MAX_EXIT_STATUS}", group.exit);
        return Err(("exit", message));
    }
    Ok(())
}

fn check_hook(hook: &HookBehaviour) -> Result<(), KeyMistake> {
    if !(0.0..=100.0).contains(&hook.percent) {
        let message = format!("'percent' is {}: expected a number from 0 to 100", hook.percent);
        return Err(("percent", message));
    }
    if hook.hook != HookName::FetchWork {
        let ignored_keys = [("takes", hook.takes.is_some()), ("prints", hook.prints.is_some())];
        if let Some((key, _)) = ignored_keys.into_iter().find(|(_, is_given)| *is_given) {
            let why = if key == "takes" { "that nothing waits for" } else { "whose output nothing reads" };
            return Err((key, format!("'{key}' has no effect for a hook {why}: it is for FETCH_WORK")));
        }
    }
    let does = [
        ("fails", hook.fails),
        ("hangs", hook.hangs),
        ("prints", hook.prints.is_some()),
        ("takes", hook.takes.is_some()),
    ];
    let mut keys = does.into_iter().filter(|(_, does)| *does).map(|(key, _)| key);
    match (keys.next(), keys.next()) {
        (None, _) => {
            let message =
                "this table changes nothing about the hook: add 'takes', 'prints', 'hangs' or 'fails'";
            return Err(("", message.into()));
        }
        (Some(first @ ("fails" | "hangs")), Some(second)) => {
            return Err((second, format!("'{first}' and '{second}' cannot be used together")));
        }
        _ => {}
    }
    match &hook.prints {
        Some(text) if is_job_output(text) => {
            let message = "the output is a job, but only [[jobs]] can supply jobs: use 'prints' for output that is not a job";
            Err(("prints", message.into()))
        }
        _ => Ok(()),
    }
}

/// Returns true if a slot would parse the output of a hook as a job.
fn is_job_output(text: &str) -> bool {
    let dialect = htc_classad::Dialect::new_syntax();
    let answer = FetchOutput { stdout: text.as_bytes(), is_truncated: false, limit: usize::MAX };
    matches!(parse_fetch_output(answer, dialect, QuirkMode::Manual, &mut Vec::new()), FetchOutcome::Job(_))
}

fn check_keyboard(pattern: &PresencePattern) -> Result<(), KeyMistake> {
    if pattern.load.is_some() {
        return Err(("load", "'load' has no effect for a keyboard: it is a key of [[load]]".into()));
    }
    check_pattern(pattern)
}

fn check_pattern(pattern: &PresencePattern) -> Result<(), KeyMistake> {
    match pattern.busy.is_always_zero() && pattern.away.is_always_zero() {
        true => Err(("away", "'busy' and 'away' are both 0: the state would change forever".into())),
        false => Ok(()),
    }
}

fn check_event(event: &ScenarioEvent) -> Result<(), KeyMistake> {
    if event.every.is_some_and(|every| every.0 <= 0.0) {
        return Err(("every", "'every' is 0: the event would repeat forever".into()));
    }
    if let Some(load) = event.load.filter(|load| !(0.0..=MAX_LOAD).contains(load)) {
        return Err(("load", format!("'load' is {load}: expected a number from 0 to {MAX_LOAD}")));
    }
    let of_command = [
        ("slot", event.slot.is_some()),
        ("how", event.how.is_some()),
        ("reason", event.reason.is_some()),
        ("resume", event.resume),
    ];
    let mut command_keys = of_command.into_iter().filter(|(_, is_given)| *is_given).map(|(key, _)| key);
    let Some(command) = &event.command else {
        if let Some(key) = command_keys.next() {
            return Err((key, format!("'{key}' has no effect without 'command'")));
        }
        let does = [event.load.is_some(), event.idle.is_some(), event.cron.is_some(), event.knobs.is_some()];
        return match does.contains(&true) {
            true => Ok(()),
            false => {
                Err(("", "the event does nothing: add 'load', 'idle', 'cron', 'knobs' or 'command'".into()))
            }
        };
    };
    let known: &[&str] = match command.as_str() {
        "vacate" => &["slot", "how"],
        "suspend" | "continue" => &["slot"],
        "drain" => &["how", "reason", "resume"],
        "off" => &["how"],
        "undrain" => &[],
        // Commands about claims are not valid in a scenario, because its jobs come from FETCH_WORK.
        "match" | "claim" | "activate" | "alive" | "hold" | "deactivate" | "release-claim" | "status" => {
            let message = format!(
                "'{command}' is not supported in a simulation: use vacate, suspend, continue, drain, undrain or off"
            );
            return Err(("command", message));
        }
        // An unknown command is reported when the command is parsed.
        _ => return Ok(()),
    };
    match command_keys.find(|key| !known.contains(key)) {
        Some("slot") => {
            Err(("slot", format!("'{command}' is for the whole execution point and takes no slot")))
        }
        Some(key) => Err((key, format!("'{key}' has no effect for '{command}'"))),
        None => Ok(()),
    }
}
