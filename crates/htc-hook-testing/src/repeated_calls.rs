//! Repeated calls of a hook, to find out whether its output varies, what the output depends on, and how long a call
//! takes.

use std::collections::BTreeMap;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::Duration;

use bstr::{BString, ByteSlice};

use super::call::{CallEnding, CallOutcome, call_hook};
use super::call_report::CallReport;
use super::call_setup::{CallError, CallSetup};
use super::finding::{Finding, Rule};
use super::interruptible::Interruptible;
use htc_base::process::Exit;
use htc_base::world::World;
use htc_os::Reactor;
use htc_runner::hook_environment::HookEnvironment;

/// Returns the exit status and output of a call for comparison with another call. The path `root` of the call's
/// directory, which differs between calls, is replaced.
fn comparable_answer(outcome: &CallOutcome, root: &Path) -> (Option<Exit>, Vec<u8>) {
    match &outcome.ending {
        CallEnding::Ran(ended) => {
            let name = root.as_os_str().as_encoded_bytes();
            (ended.exit, ended.stdout.replace(name, "(scratch directory)"))
        }
        _ => (None, Vec::new()),
    }
}

/// Describes the first line that differs between two outputs.
fn first_difference(before: &[u8], after: &[u8]) -> String {
    let lines = |text: &[u8]| String::from_utf8_lossy(text).lines().map(str::to_owned).collect::<Vec<_>>();
    let (before, after) = (lines(before), lines(after));
    let length = before.len().max(after.len());
    for at in 0..length {
        let (left, right) = (before.get(at), after.get(at));
        if left != right {
            let show = |line: Option<&String>| match line {
                Some(line) => format!("'{}'", line.chars().take(70).collect::<String>()),
                None => "nothing".to_owned(),
            };
            return format!("line {}: {} then {}", at + 1, show(left), show(right));
        }
    }
    "the exit status".to_owned()
}

/// Call in which one property of the hook's surroundings is changed.
struct SurroundingsProbe {
    change: fn(&mut HookEnvironment, &[(BString, BString)]),
    /// True if the hook is run in another working directory.
    in_other_directory: bool,
    rule: Rule,
    description: &'static str,
    help: &'static str,
}

/// Probes in order. The first probe changes nothing; each other probe changes one property.
const SURROUNDINGS_PROBES: [SurroundingsProbe; 4] = [
    SurroundingsProbe {
        change: |_, _| {},
        in_other_directory: false,
        rule: Rule::Varies,
        description: "a second call",
        help: "make the output depend only on the ads, or expect it to vary",
    },
    SurroundingsProbe {
        change: |_, _| {},
        in_other_directory: true,
        rule: Rule::DependsOnDirectory,
        description: "in another working directory the hook",
        help: "name files by full paths; the working directory is the daemon's LOG or the job's scratch directory",
    },
    SurroundingsProbe {
        change: |environment, _| environment.variables.set("HOME", "/nonexistent"),
        in_other_directory: false,
        rule: Rule::DependsOnHome,
        description: "with another HOME the hook",
        help: "the HOME of a daemon is root's, or that of the job's account in starter hooks",
    },
    SurroundingsProbe {
        change: |environment, variables| {
            for (name, value) in variables {
                if !environment.variables.contains(name) {
                    environment.variables.set(name.clone(), value.clone());
                }
            }
        },
        in_other_directory: false,
        rule: Rule::DependsOnEnvironment,
        description: "with the variables of your shell the hook",
        help: "a daemon does not have them; set what is needed in the hook",
    },
];

/// Durations and CPU times of repeated calls.
#[derive(Clone, Debug, Default)]
pub struct CallTiming {
    /// Durations of the calls, in ascending order.
    pub durations: Vec<Duration>,
    /// User CPU time of all calls.
    pub user: Duration,
    /// System CPU time of all calls.
    pub system: Duration,
    /// Number of calls with each exit status.
    pub ends: BTreeMap<String, u32>,
}

impl CallTiming {
    /// Returns the duration within which the given fraction (0 to 1) of the calls ended.
    pub fn quantile(&self, share: f64) -> Duration {
        let last = self.durations.len().max(1) - 1;
        self.durations.get((last as f64 * share).round() as usize).copied().unwrap_or_default()
    }

    fn add_outcome(&mut self, outcome: &CallOutcome) {
        self.durations.push(outcome.took);
        let end = match &outcome.ending {
            CallEnding::Ran(ended) => {
                self.user += ended.usage.user;
                self.system += ended.usage.system;
                ended.exit.map_or("still running".to_owned(), |exit| exit.to_string())
            }
            CallEnding::NotStarted { reason, .. } | CallEnding::Refused { reason } => reason.clone(),
        };
        *self.ends.entry(end).or_default() += 1;
    }
}

impl CallSetup {
    /// Repeats the call until it has been made `times` times, and adds a finding if the output varies. If `keep` is
    /// given, records each call below that directory. Returns the signal that interrupted a call, or `None`.
    ///
    /// # Errors
    /// A call cannot be made or recorded.
    pub fn check_determinism(
        &self,
        reactor: &mut Reactor,
        times: u32,
        keep: Option<&Path>,
        report: &mut CallReport,
    ) -> Result<Interruptible<()>, CallError> {
        let first = comparable_answer(&report.outcome, &report.root);
        let mut varies = false;
        for number in 2..=times {
            let again = match self.run_call(reactor, |_| {})? {
                Interruptible::Finished(again) => again,
                Interruptible::Interrupted(signal) => return Ok(Interruptible::Interrupted(signal)),
            };
            if let Some(directory) = keep {
                again.write_record(directory)?;
            }
            let other = comparable_answer(&again.outcome, &again.root);
            if other != first && !varies {
                varies = true;
                report.findings.push(Finding::new(
                    Rule::Varies,
                    format!(
                        "call {number} gives a different result: {}",
                        first_difference(&first.1, &other.1)
                    ),
                    SURROUNDINGS_PROBES[0].help,
                ));
                if keep.is_none() {
                    break;
                }
            }
        }
        Ok(Interruptible::Finished(()))
    }

    /// Repeats the call several times, each time with another property of the surroundings changed, and adds findings
    /// about the properties on which the output depends.
    ///
    /// # Errors
    /// A call cannot be made.
    pub fn probe_dependencies(
        &self,
        reactor: &mut Reactor,
        report: &mut CallReport,
    ) -> Result<Interruptible<()>, CallError> {
        let first = comparable_answer(&report.outcome, &report.root);
        let elsewhere = tempfile::tempdir()?;
        std::fs::set_permissions(elsewhere.path(), std::fs::Permissions::from_mode(0o777))?;
        let variables = self.world.environment().into_iter();
        let variables: Vec<(BString, BString)> =
            variables.map(|(name, value)| (name.into_vec().into(), value.into_vec().into())).collect();
        for probe in &SURROUNDINGS_PROBES {
            let place = self.create_directories()?;
            let mut environment = self.hook_environment(&place);
            (probe.change)(&mut environment, &variables);
            let mut spec = self.child_spec(&place, environment)?;
            if probe.in_other_directory {
                spec.cwd = Some(elsewhere.path().to_owned());
            }
            let outcome = match call_hook(reactor, spec, Some(self.patience), &mut |_| {})? {
                Interruptible::Finished(outcome) => outcome,
                Interruptible::Interrupted(signal) => return Ok(Interruptible::Interrupted(signal)),
            };
            let other = comparable_answer(&outcome, place.root());
            if other == first {
                continue;
            }
            let how = first_difference(&first.1, &other.1);
            let text = format!("{} gives a different result: {how}", probe.description);
            report.findings.push(Finding::new(probe.rule, text, probe.help));
            if probe.rule == Rule::Varies {
                break;
            }
        }
        Ok(Interruptible::Finished(()))
    }

    /// Calls the hook `times` times and measures the durations. If a signal interrupts a call, returns the signal.
    ///
    /// # Errors
    /// A call cannot be made.
    pub fn measure_time(
        &self,
        reactor: &mut Reactor,
        times: u32,
    ) -> Result<Interruptible<CallTiming>, CallError> {
        let mut timing = CallTiming::default();
        let place = self.create_directories()?;
        let environment = self.hook_environment(&place);
        for _ in 0..times.max(1) {
            let spec = self.child_spec(&place, environment.clone())?;
            match call_hook(reactor, spec, Some(self.patience), &mut |_| {})? {
                Interruptible::Finished(outcome) => timing.add_outcome(&outcome),
                Interruptible::Interrupted(signal) => return Ok(Interruptible::Interrupted(signal)),
            }
        }
        timing.durations.sort_unstable();
        Ok(Interruptible::Finished(timing))
    }
}
