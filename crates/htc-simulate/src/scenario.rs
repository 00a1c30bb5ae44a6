//! Scenario: the input of a simulation (`htc-scenario(5)`). Unknown keys are rejected.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::{Deserialize, Deserializer};

use super::random::{
    CountDistribution, DiskDistribution, LoadDistribution, MemoryDistribution, PriorityDistribution,
    TimeDistribution, WeightedNames,
};
use super::times::{DayHours, ScenarioStart, TimePoint, TimeSpan, Weekdays, expected_value};

/// Scenario of a simulation of slots or routes.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scenario {
    /// Length of the simulated time.
    #[serde(alias = "until", alias = "duration")]
    pub length: TimeSpan,
    /// Start of the simulated time.
    #[serde(default = "default_start")]
    pub start: ScenarioStart,
    /// Random seed.
    #[serde(default = "default_seed")]
    pub seed: u64,
    /// Interval at which the state of the routes is recorded [default: each poll].
    pub every: Option<TimeSpan>,
    /// Parameters that override the configuration.
    #[serde(default)]
    pub knobs: ParameterSettings,
    /// Duration of FETCH_WORK calls.
    #[serde(default = "default_fetch_duration")]
    pub fetch_takes: TimeDistribution,
    /// Tables of machines; if empty, there is one machine with the size in the configuration.
    #[serde(default, rename = "machine", alias = "machines")]
    pub machines: Vec<MachineSpec>,
    /// Groups of jobs.
    #[serde(default, rename = "jobs", alias = "job")]
    pub groups: Vec<JobGroup>,
    /// Order in which jobs are fetched, and treatment of returned jobs.
    #[serde(default)]
    pub queue: QueueRules,
    /// Behaviour of hooks.
    #[serde(default, rename = "hook", alias = "hooks")]
    pub hooks: Vec<HookBehaviour>,
    /// Times at which users are at the keyboards of machines.
    #[serde(default, rename = "keyboard", alias = "keyboards")]
    pub keyboards: Vec<PresencePattern>,
    /// Load of machines that is not caused by jobs.
    #[serde(default, rename = "load", alias = "loads")]
    pub loads: Vec<PresencePattern>,
    /// Events, such as commands and reconfigurations.
    #[serde(default, rename = "event", alias = "events")]
    pub events: Vec<ScenarioEvent>,
    /// Text from which the scenario was parsed.
    #[serde(skip)]
    pub(super) text: String,
}

/// Values of parameters by name. In the scenario, a value may be a string, a number or a boolean.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ParameterSettings(pub BTreeMap<String, String>);

impl<'de> Deserialize<'de> for ParameterSettings {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum ParameterValue {
            Text(String),
            Bool(bool),
            Int(i64),
            Real(f64),
        }
        struct CheckedValue(ParameterValue);
        impl<'de> Deserialize<'de> for CheckedValue {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let value = ParameterValue::deserialize(deserializer);
                value.map(CheckedValue).map_err(|_| expected_value("a string, a number, true or false"))
            }
        }
        let values = BTreeMap::<String, CheckedValue>::deserialize(deserializer)?;
        let text = |value| match value {
            ParameterValue::Text(text) => text,
            ParameterValue::Bool(value) => if value { "True" } else { "False" }.to_owned(),
            ParameterValue::Int(number) => number.to_string(),
            ParameterValue::Real(number) => number.to_string(),
        };
        Ok(ParameterSettings(values.into_iter().map(|(name, value)| (name, text(value.0))).collect()))
    }
}

/// Table of equal machines.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MachineSpec {
    /// Name of the machines, followed by a number from 1 if there are several.
    pub name: Option<String>,
    /// Number of machines.
    #[serde(default = "default_count")]
    pub count: u32,
    /// Number of processors (NUM_CPUS).
    pub cpus: Option<u32>,
    /// Memory in MiB (MEMORY).
    pub memory: Option<MemoryDistribution>,
    /// Free space of the execute directory in KiB [default: the size of its file system on this machine].
    pub disk: Option<DiskDistribution>,
    /// Number of static slots of equal size, replacing the configured slots.
    pub slots: Option<u32>,
    /// Parameters that override the configuration of these machines.
    #[serde(default)]
    pub knobs: ParameterSettings,
}

/// Group of similar jobs.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct JobGroup {
    /// Name of the group in summaries.
    pub name: Option<String>,
    /// Number of jobs [default: 1]; for jobs from a file (`from`), the maximum number [default: all].
    pub count: Option<u32>,
    /// Time at which the first job arrives.
    #[serde(default)]
    pub at: TimePoint,
    /// Time between two arrivals of the `count` jobs.
    pub every: Option<TimeDistribution>,
    /// Period in which the jobs arrive at random.
    pub within: Option<TimeSpan>,
    /// Attributes of the job ads, in long form.
    #[serde(default)]
    pub ad: String,
    /// File of ads, such as a queue or a history, instead of `ad`.
    pub from: Option<PathBuf>,
    /// Run time of a job that is not interrupted.
    #[serde(alias = "run")]
    pub runs: Option<TimeDistribution>,
    /// Time from a soft kill of a job to its exit.
    #[serde(default = "default_leave_time")]
    pub leaves: TimeDistribution,
    /// Exit status of the jobs.
    #[serde(default)]
    pub exit: i64,
    /// Owner of the jobs.
    #[serde(default, alias = "owners")]
    pub owner: WeightedNames,
    /// RequestCpus of the jobs.
    pub cpus: Option<CountDistribution>,
    /// RequestMemory of the jobs.
    pub memory: Option<MemoryDistribution>,
    /// RequestDisk of the jobs.
    pub disk: Option<DiskDistribution>,
    /// Value of JobPrio. In a queue with order `priority`, jobs with higher values come first.
    pub priority: Option<PriorityDistribution>,
    /// Time that a routed job is idle at its destination before it runs.
    #[serde(default)]
    pub wait: TimeSpan,
    /// Percentage of routed jobs that are removed at their destination instead of completing.
    #[serde(default)]
    pub fail: u32,
}

/// Order in which jobs are fetched.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum FetchOrder {
    /// Jobs are fetched in order of arrival.
    #[default]
    Fifo,
    /// Jobs are fetched by descending JobPrio, and with equal JobPrio in order of arrival.
    Priority,
}

/// Treatment of a job that is returned to the queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ReturnPolicy {
    /// The job gets its old place and is fetched again.
    Front,
    /// The job is fetched again after all other jobs.
    Back,
    /// The job is dropped.
    Drop,
}

/// Rules of the queue from which FETCH_WORK takes jobs.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct QueueRules {
    /// Order of the jobs: `fifo` or `priority`.
    pub order: FetchOrder,
    /// Place of a job that a slot refuses: `front`, `back` or `drop`.
    pub refused: ReturnPolicy,
    /// Place of a job that was evicted: `front`, `back` or `drop`.
    pub evicted: ReturnPolicy,
    /// Time after which a slot that refused a job is offered a job of the same kind again.
    pub retry: TimeSpan,
}

impl Default for QueueRules {
    fn default() -> Self {
        QueueRules {
            order: FetchOrder::Fifo,
            refused: ReturnPolicy::Front,
            evicted: ReturnPolicy::Back,
            retry: TimeSpan(3600.0),
        }
    }
}

/// Behaviour of hooks of one type during a period.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HookBehaviour {
    /// Hook type: FETCH_WORK, REPLY_FETCH or EVICT_CLAIM.
    #[serde(rename = "type")]
    pub hook: HookName,
    /// Names of machines, which may contain `*` [default: all].
    pub machines: Option<String>,
    /// Start of the period.
    #[serde(default)]
    pub from: TimePoint,
    /// End of the period [default: the end of the simulation].
    pub to: Option<TimePoint>,
    /// Percentage of the hook's calls to which the behaviour applies.
    #[serde(default = "default_percentage")]
    pub percent: f64,
    /// Duration of a call.
    pub takes: Option<TimeDistribution>,
    /// Text that the hook prints instead of a job.
    pub prints: Option<String>,
    /// True if the hook never ends.
    #[serde(default)]
    pub hangs: bool,
    /// True if the hook cannot be executed.
    #[serde(default)]
    pub fails: bool,
}

/// Types of hooks that slots call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub enum HookName {
    /// FETCH_WORK: fetches a job.
    #[serde(rename = "FETCH_WORK")]
    FetchWork,
    /// REPLY_FETCH: reports whether the job was accepted.
    #[serde(rename = "REPLY_FETCH")]
    ReplyFetch,
    /// EVICT_CLAIM: reports that the claim was evicted.
    #[serde(rename = "EVICT_CLAIM")]
    EvictClaim,
}

/// Pattern of times at which users are at keyboards, or at which machines have a load that does not come from jobs.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PresencePattern {
    /// Names of machines, which may contain `*` [default: all].
    pub machines: Option<String>,
    /// Hours of the day [default: the whole day].
    pub hours: Option<DayHours>,
    /// Days of the week [default: all].
    pub days: Option<Weekdays>,
    /// Time for which a user stays, or for which the load lasts.
    #[serde(default = "default_busy_time")]
    pub busy: TimeDistribution,
    /// Time until the user comes back, or until the load begins again.
    #[serde(default = "default_away_time")]
    pub away: TimeDistribution,
    /// Load average; only in `[[load]]`.
    pub load: Option<LoadDistribution>,
}

/// Event of a scenario.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ScenarioEvent {
    /// Time of the event.
    pub at: TimePoint,
    /// Interval at which the event is repeated [default: never].
    pub every: Option<TimeSpan>,
    /// Names of machines, which may contain `*` [default: all].
    pub machines: Option<String>,
    /// New load average of the machine.
    pub load: Option<f64>,
    /// New idle time of the keyboard, which grows from then on.
    pub idle: Option<TimeSpan>,
    /// New output of cron jobs in long form; an empty string removes the published attributes.
    pub cron: Option<String>,
    /// Parameters that override the configuration, which the machines read again at this time.
    pub knobs: Option<ParameterSettings>,
    /// Command to the machines, as sent to a control socket.
    pub command: Option<String>,
    /// Slot to which the event applies.
    pub slot: Option<String>,
    /// Speed of the command: `graceful`, `quick`, `fast` or `peaceful`.
    pub how: Option<String>,
    /// Reason for a drain.
    pub reason: Option<String>,
    /// True if slots accept jobs again when a drain has drained all of them.
    #[serde(default)]
    pub resume: bool,
}

fn default_start() -> ScenarioStart {
    ScenarioStart(TimePoint::Epoch(1_700_000_000))
}

fn default_seed() -> u64 {
    1
}

fn default_count() -> u32 {
    1
}

fn default_percentage() -> f64 {
    100.0
}

fn default_fetch_duration() -> TimeDistribution {
    TimeDistribution::from_fixed(0.01)
}

fn default_leave_time() -> TimeDistribution {
    TimeDistribution::from_fixed(0.0)
}

fn default_busy_time() -> TimeDistribution {
    TimeDistribution::from_fixed(600.0)
}

fn default_away_time() -> TimeDistribution {
    TimeDistribution::from_fixed(1800.0)
}

/// Kind of simulation that a scenario describes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SimulationKind {
    /// Slots that call FETCH_WORK.
    Slots,
    /// Routes of a job router.
    Routes,
}

/// Maximum size of a scenario in bytes.
pub const MAX_SCENARIO_BYTES: u64 = 256 << 20;

impl Scenario {
    /// Returns the names of all parameters that the scenario sets anywhere.
    pub fn parameter_names(&self) -> impl Iterator<Item = &str> {
        let machines = self.machines.iter().map(|it| &it.knobs);
        let events = self.events.iter().filter_map(|it| it.knobs.as_ref());
        let all = std::iter::once(&self.knobs).chain(machines).chain(events);
        all.flat_map(|knobs| knobs.0.keys()).map(String::as_str)
    }

    /// Returns the keys that are set in a group with `from` but ignored there, because the file defines the jobs.
    pub fn keys_ignored_with_from(&self) -> Vec<&'static str> {
        let of = |group: &JobGroup| {
            [
                ("every", group.every.is_some()),
                ("within", group.within.is_some()),
                ("owner", !group.owner.0.is_empty()),
                ("cpus", group.cpus.is_some()),
                ("memory", group.memory.is_some()),
                ("disk", group.disk.is_some()),
                ("priority", group.priority.is_some()),
            ]
        };
        let from_files = self.groups.iter().filter(|group| group.from.is_some());
        let mut keys: Vec<&str> = Vec::new();
        for (key, is_given) in from_files.flat_map(of) {
            if is_given && !keys.contains(&key) {
                keys.push(key);
            }
        }
        keys
    }

    /// Returns the keys that are set but have no effect in a simulation of the given kind.
    pub fn unused_keys(&self, simulation: SimulationKind) -> Vec<&'static str> {
        let any = |is: fn(&JobGroup) -> bool| self.groups.iter().any(is);
        let keys = match simulation {
            SimulationKind::Slots => vec![
                ("every", self.every.is_some()),
                ("wait", any(|group| group.wait != TimeSpan::default())),
                ("fail", any(|group| group.fail != 0)),
            ],
            SimulationKind::Routes => vec![
                ("[[machine]]", !self.machines.is_empty()),
                ("[queue]", self.queue != QueueRules::default()),
                ("[[hook]]", !self.hooks.is_empty()),
                ("[[keyboard]]", !self.keyboards.is_empty()),
                ("[[load]]", !self.loads.is_empty()),
                ("[[event]]", !self.events.is_empty()),
                ("fetch_takes", self.fetch_takes != default_fetch_duration()),
                ("leaves", any(|group| group.leaves != default_leave_time())),
            ],
        };
        keys.into_iter().filter_map(|(key, is_given)| is_given.then_some(key)).collect()
    }
}

/// Returns true if a pattern matches the name of a machine; `None` matches every machine.
pub(super) fn matches_machine(pattern: Option<&str>, name: &str) -> bool {
    pattern.is_none_or(|pattern| htc_base::text::list::matches_wildcard(pattern.as_bytes(), name.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_key_is_refused_with_a_suggestion() {
        for (text, name, near) in [
            ("length = 10\n[[event]]\nat = 1\nidel = 0\n", "idel", "idle"),
            ("length = 10\n[[event]]\nat = 1\ncomand = 'drain'\n", "comand", "command"),
            ("lenght = 10\n", "lenght", "length"),
            ("length = 10\n[[job]]\nrunns = 5\n", "runns", "runs"),
            ("length = 10\n[queue]\norder = 'priorty'\n", "priorty", "priority"),
        ] {
            let error = Scenario::parse(text).expect_err(text);
            assert!(error.message.contains(name), "{error}");
            assert_eq!(error.hint, Some(format!("did you mean '{near}'?")), "{text}");
            assert!(text[error.span.clone()].contains(name), "{text}: {:?}", &text[error.span]);
        }
    }

    #[test]
    fn times_are_accepted_in_common_notations() {
        let scenario = Scenario::parse(
            "length = '30d'\nstart = 2026-11-02 08:00:00\n[[jobs]]\ncount = 5\nruns = 'exponential 40m'\n\
             every = '10m'\nowner = { ana = 2, ben = 1 }\ncpus = [1, 2, 4]\nmemory = '2G'\n[[event]]\nat = 'Tue 08:30'\n\
             command = 'drain'\n",
        )
        .unwrap();
        assert_eq!(scenario.length, TimeSpan(2_592_000.0));
        assert_eq!(scenario.start.to_epoch(|_| 0), 1_793_606_400);
        assert_eq!(scenario.events[0].at, TimePoint::Clock { weekday: Some(2), second: 30_600 });
    }
}
