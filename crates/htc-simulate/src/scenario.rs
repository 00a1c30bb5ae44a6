//! What a simulation is told: the text of a scenario (`htc-scenario(5)`), read with every key that nobody knows refused.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::{Deserialize, Deserializer};

use super::random::{
    CountDistribution, DiskDistribution, LoadDistribution, MemoryDistribution, PriorityDistribution,
    TimeDistribution, WeightedNames,
};
use super::times::{DayHours, ScenarioStart, TimePoint, TimeSpan, Weekdays};

/// What happens in a simulation, of slots or of routes.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scenario {
    /// How long it lasts.
    #[serde(alias = "until", alias = "duration")]
    pub length: TimeSpan,
    /// When it begins.
    #[serde(default = "first_second")]
    pub start: ScenarioStart,
    /// Begins everything that is left to chance.
    #[serde(default = "one_seed")]
    pub seed: u64,
    /// How often the state of the routes is noted; every poll without.
    pub every: Option<TimeSpan>,
    /// Knobs above the configuration.
    #[serde(default)]
    pub knobs: ParameterSettings,
    /// How long FETCH_WORK takes.
    #[serde(default = "moment")]
    pub fetch_takes: TimeDistribution,
    /// The machines; without any, one as the configuration describes it.
    #[serde(default, rename = "machine", alias = "machines")]
    pub machines: Vec<MachineSpec>,
    /// The jobs.
    #[serde(default, rename = "jobs", alias = "job")]
    pub groups: Vec<JobGroup>,
    /// In which order jobs are fetched, and what becomes of those that come back.
    #[serde(default)]
    pub queue: QueueRules,
    /// What hooks do.
    #[serde(default, rename = "hook", alias = "hooks")]
    pub hooks: Vec<HookBehaviour>,
    /// When people are at the keyboards.
    #[serde(default, rename = "keyboard", alias = "keyboards")]
    pub keyboards: Vec<PresencePattern>,
    /// When machines have load of their own.
    #[serde(default, rename = "load", alias = "loads")]
    pub loads: Vec<PresencePattern>,
    /// What is done, and when.
    #[serde(default, rename = "event", alias = "events")]
    pub events: Vec<ScenarioEvent>,
    /// The text that it was read from.
    #[serde(skip)]
    pub(super) text: String,
}

/// Knobs with their values: texts, numbers or truth values.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ParameterSettings(pub BTreeMap<String, String>);

impl<'de> Deserialize<'de> for ParameterSettings {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged, expecting = "expected a text, a number, true or false")]
        enum ParameterValue {
            Text(String),
            Bool(bool),
            Int(i64),
            Real(f64),
        }
        let values = BTreeMap::<String, ParameterValue>::deserialize(deserializer)?;
        let text = |value| match value {
            ParameterValue::Text(text) => text,
            ParameterValue::Bool(value) => if value { "True" } else { "False" }.to_owned(),
            ParameterValue::Int(number) => number.to_string(),
            ParameterValue::Real(number) => number.to_string(),
        };
        Ok(ParameterSettings(values.into_iter().map(|(name, value)| (name, text(value))).collect()))
    }
}

/// Machines of one kind.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MachineSpec {
    /// What they are called; several are numbered from 1.
    pub name: Option<String>,
    /// How many.
    #[serde(default = "one")]
    pub count: u32,
    /// Their processors (NUM_CPUS).
    pub cpus: Option<u32>,
    /// Their memory in MiB (MEMORY).
    pub memory: Option<MemoryDistribution>,
    /// The space of their execute directories in KiB.
    pub disk: Option<DiskDistribution>,
    /// Static slots of equal size, in place of the configuration's slots.
    pub slots: Option<u32>,
    /// Knobs of their own.
    #[serde(default)]
    pub knobs: ParameterSettings,
}

/// Jobs of one kind.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct JobGroup {
    /// What summaries call it.
    pub name: Option<String>,
    /// How many; with `from` at most so many, all without.
    pub count: Option<u32>,
    /// When the first one comes.
    #[serde(default)]
    pub at: TimePoint,
    /// How long after it the next one comes.
    pub every: Option<TimeDistribution>,
    /// They come at random within this time.
    pub within: Option<TimeSpan>,
    /// Attributes in the long form.
    #[serde(default)]
    pub ad: String,
    /// A file of ads, such as a queue or a history, in place of `ad`.
    pub from: Option<PathBuf>,
    /// How long each runs when it is left alone.
    #[serde(alias = "run")]
    pub runs: Option<TimeDistribution>,
    /// How long it takes to leave when it is asked to.
    #[serde(default = "no_time")]
    pub leaves: TimeDistribution,
    /// Its exit status.
    #[serde(default)]
    pub exit: i64,
    /// Its Owner.
    #[serde(default, alias = "owners")]
    pub owner: WeightedNames,
    /// Its RequestCpus.
    pub cpus: Option<CountDistribution>,
    /// Its RequestMemory.
    pub memory: Option<MemoryDistribution>,
    /// Its RequestDisk.
    pub disk: Option<DiskDistribution>,
    /// Its JobPrio: the higher comes first in a queue with priorities.
    pub priority: Option<PriorityDistribution>,
    /// How long a routed copy waits at its destination.
    #[serde(default)]
    pub wait: TimeSpan,
    /// How many of a hundred routed copies are removed there in place of ending.
    #[serde(default)]
    pub fail: u32,
}

/// In which order jobs are fetched.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum FetchOrder {
    /// As they came.
    #[default]
    Fifo,
    /// The one with the highest JobPrio first, then as they came.
    Priority,
}

/// What becomes of a job that comes back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ReturnPolicy {
    /// It is fetched again, in its old place.
    Front,
    /// It is fetched again, after all others.
    Back,
    /// It is gone.
    Drop,
}

/// The queue that FETCH_WORK takes jobs from.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct QueueRules {
    /// Which job comes first.
    pub order: FetchOrder,
    /// A job that a slot refuses.
    pub refused: ReturnPolicy,
    /// A job that had to leave its slot before its end.
    pub evicted: ReturnPolicy,
    /// When a slot that refused a job is offered one of the same kind again.
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

/// What hooks of one type do for a while.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HookBehaviour {
    /// Which: FETCH_WORK, REPLY_FETCH or EVICT_CLAIM.
    #[serde(rename = "type")]
    pub hook: HookName,
    /// On which machines; a name may have `*`.
    pub machines: Option<String>,
    /// From when on.
    #[serde(default)]
    pub from: TimePoint,
    /// Until when.
    pub to: Option<TimePoint>,
    /// How many of a hundred calls.
    #[serde(default = "hundred")]
    pub percent: f64,
    /// How long a call takes.
    pub takes: Option<TimeDistribution>,
    /// What it prints in place of a job.
    pub prints: Option<String>,
    /// It never ends.
    #[serde(default)]
    pub hangs: bool,
    /// It cannot be executed.
    #[serde(default)]
    pub fails: bool,
}

/// The hooks of slots.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub enum HookName {
    /// Asks for a job.
    #[serde(rename = "FETCH_WORK")]
    FetchWork,
    /// Tells whether it was accepted.
    #[serde(rename = "REPLY_FETCH")]
    ReplyFetch,
    /// Tells that the claim was given up.
    #[serde(rename = "EVICT_CLAIM")]
    EvictClaim,
}

/// When people are at keyboards, or when machines have load of their own.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PresencePattern {
    /// On which machines; a name may have `*`.
    pub machines: Option<String>,
    /// In which part of the day.
    pub hours: Option<DayHours>,
    /// On which days.
    pub days: Option<Weekdays>,
    /// How long somebody is there, or the load lasts.
    #[serde(default = "busy_time")]
    pub busy: TimeDistribution,
    /// How long until the next time.
    #[serde(default = "away_time")]
    pub away: TimeDistribution,
    /// Of loads: how much.
    pub load: Option<LoadDistribution>,
}

/// One thing that is done.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ScenarioEvent {
    /// When.
    pub at: TimePoint,
    /// And again so long after each time.
    pub every: Option<TimeSpan>,
    /// On which machines; a name may have `*`.
    pub machines: Option<String>,
    /// Load average of the machine from now on.
    pub load: Option<f64>,
    /// Seconds since somebody has touched the keyboard, from now on; it grows with time.
    pub idle: Option<TimeSpan>,
    /// What cron jobs publish from now on, in the long form; an empty text takes it back.
    pub cron: Option<String>,
    /// The configuration is read again with these knobs above it.
    pub knobs: Option<ParameterSettings>,
    /// What is asked for, as at the control socket.
    pub command: Option<String>,
    /// The slot it is about.
    pub slot: Option<String>,
    /// `graceful`, `quick`, `fast` or `peaceful`.
    pub how: Option<String>,
    /// Why, for a drain.
    pub reason: Option<String>,
    /// For a drain: whether slots take jobs again when all are drained.
    #[serde(default)]
    pub resume: bool,
}

fn first_second() -> ScenarioStart {
    ScenarioStart(TimePoint::Epoch(1_700_000_000))
}

fn one_seed() -> u64 {
    1
}

fn one() -> u32 {
    1
}

fn hundred() -> f64 {
    100.0
}

fn moment() -> TimeDistribution {
    TimeDistribution::from_fixed(0.01)
}

fn no_time() -> TimeDistribution {
    TimeDistribution::from_fixed(0.0)
}

fn busy_time() -> TimeDistribution {
    TimeDistribution::from_fixed(600.0)
}

fn away_time() -> TimeDistribution {
    TimeDistribution::from_fixed(1800.0)
}

/// Who plays a scenario.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SimulationKind {
    /// Slots that fetch work.
    Slots,
    /// Routes that jobs are sent by.
    Routes,
}

/// The largest text that is taken for a scenario, in bytes.
pub const MAX_SCENARIO_BYTES: u64 = 16 << 20;

impl Scenario {
    /// The names of all knobs that are set somewhere.
    pub fn parameter_names(&self) -> impl Iterator<Item = &str> {
        let machines = self.machines.iter().map(|it| &it.knobs);
        let events = self.events.iter().filter_map(|it| it.knobs.as_ref());
        let all = std::iter::once(&self.knobs).chain(machines).chain(events);
        all.flat_map(|knobs| knobs.0.keys()).map(String::as_str)
    }

    /// Keys of jobs that come out of a file and say it themselves.
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

    /// Keys that are given and mean nothing to these players.
    pub fn unused_keys(&self, players: SimulationKind) -> Vec<&'static str> {
        let any = |is: fn(&JobGroup) -> bool| self.groups.iter().any(is);
        let given = match players {
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
                ("fetch_takes", self.fetch_takes != moment()),
                ("leaves", any(|group| group.leaves != no_time())),
            ],
        };
        given.into_iter().filter_map(|(key, is_given)| is_given.then_some(key)).collect()
    }
}

/// Whether a pattern names the machine; no pattern names all.
pub(super) fn matches_machine(pattern: Option<&str>, name: &str) -> bool {
    pattern.is_none_or(|pattern| htc_base::text::list::matches_wildcard(pattern.as_bytes(), name.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_that_nobody_knows_is_refused_with_the_one_that_was_meant() {
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
    fn times_stand_as_people_write_them() {
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
