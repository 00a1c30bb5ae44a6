//! From the configuration to [`Settings`].

use std::cell::RefCell;
use std::path::PathBuf;
use std::time::Duration;

use bstr::{BString, ByteSlice};

use super::container::ContainerKnobs;
use super::settings::GroupKnobs;
use super::settings::IsolationKnobs;
use super::settings::JavaKnobs;
use super::settings::{Fault, Inherits, Moment, Settings};
use htc_base::text::environment::Filter;
use htc_base::text::list;
use htc_base::world::World;
use htc_classad::{ClassAd, Context, Expr, Value};
use htc_config::{ValueError, View};
use htc_hook::Knobs as _;

impl Settings {
    /// Reads the knobs of a starter. `machine` is the slot's ad, whose resources have knobs of their own.
    ///
    /// # Errors
    /// A number or truth value that is none: a starter does not begin with it.
    pub fn read(view: &View<'_>, machine: Option<&ClassAd>, world: &dyn World) -> Result<Self, ValueError> {
        Knobs { view, late: None }.settings(machine, world)
    }

    /// The same as 25.14 reads them, one by one when it comes to them: what is wrong is kept in
    /// [`faults`](Settings::faults).
    ///
    /// # Errors
    /// A knob that the daemon itself reads at once.
    pub fn read_late(
        view: &View<'_>,
        machine: Option<&ClassAd>,
        world: &dyn World,
    ) -> Result<Self, ValueError> {
        let knobs = Knobs { view, late: Some(RefCell::default()) };
        let mut settings = knobs.settings(machine, world)?;
        knobs.read_unused()?;
        settings.faults = knobs.late.map(RefCell::into_inner).unwrap_or_default();
        Ok(settings)
    }
}

/// The mode of scratch directories.
fn scratch_mode(word: Option<BString>) -> u32 {
    match word {
        Some(word) if word.eq_ignore_ascii_case(b"group") => 0o750,
        Some(word) if word.eq_ignore_ascii_case(b"world") => 0o755,
        _ => 0o700,
    }
}

/// The knobs, and what becomes of wrong ones.
struct Knobs<'a> {
    view: &'a View<'a>,
    /// What is wrong with knobs that are read later; `None`: everything counts at once.
    late: Option<RefCell<Vec<Fault>>>,
}

impl Knobs<'_> {
    fn settings(&self, machine: Option<&ClassAd>, world: &dyn World) -> Result<Settings, ValueError> {
        let view = self.view;
        let default = Settings::default();
        let text = |name: &str| -> Result<Option<BString>, ValueError> {
            Ok(view.string(name)?.map(|setting| setting.value))
        };
        let [update_interval, initial] = self.updates(&default)?;
        let (quantum, window) = default.statistics_window;
        let truth = |name: &str, moment: Moment, default: bool| self.truth(name, moment, default);
        Ok(Settings {
            execute: text("EXECUTE")?.map(|path| PathBuf::from(path.to_path_lossy())),
            nested_scratch: truth("STARTER_NESTED_SCRATCH", Moment::Directory, default.nested_scratch)?,
            move_on_exit: text("STARTER_MOVE_WORKING_DIR_ON_EXIT")?
                .filter(|path| !path.is_empty())
                .map(|path| PathBuf::from(path.to_path_lossy())),
            remove_delay: self.seconds(
                "STARTER_REMOVE_EXECUTE_DIR_DELAY_TIME",
                None,
                Moment::Removal,
                default.remove_delay,
            )?,
            scratch_mode: scratch_mode(text("JOB_EXECDIR_PERMISSIONS")?),
            initial_update_interval: initial.min(update_interval),
            update_interval,
            // Set to nothing there is none.
            memory_usage_metric: text("MEMORY_USAGE_METRIC")?.unwrap_or_default(),
            statistics_window: (
                self.number("STATISTICS_WINDOW_QUANTUM", None, Moment::Daemon, quantum)?,
                self.number("STATISTICS_WINDOW_SECONDS", None, Moment::Daemon, window)?,
            ),
            job_environment: text("STARTER_JOB_ENVIRONMENT")?.unwrap_or_default(),
            inherits: inherits(text("JOB_INHERITS_STARTER_ENVIRONMENT")?.unwrap_or_default().trim()),
            bin: text("BIN")?,
            wrapper: text("USER_JOB_WRAPPER")?,
            renice: Some(text("JOB_RENICE_INCREMENT")?.unwrap_or_else(|| "0".into())),
            rlimit_as: text("STARTER_RLIMIT_AS")?,
            chirp_prefix: text("CHIRP_DELAYED_UPDATE_PREFIX")?.unwrap_or(default.chirp_prefix),
            sets_home: truth("STARTER_SETS_HOME_ENV", Moment::Environment, default.sets_home)?,
            thread_variables: text("STARTER_NUM_THREADS_ENV_VARS")?.unwrap_or_default(),
            ports: self.ports()?,
            mount_under_scratch: text("MOUNT_UNDER_SCRATCH")?.unwrap_or_default(),
            encrypts: self.encrypts()?,
            private_shm: truth("MOUNT_PRIVATE_DEV_SHM", Moment::Child, default.private_shm)?,
            process_groups: truth("USE_PROCESS_GROUPS", Moment::Child, default.process_groups)?,
            allow_scripts: view.string("STARTER_ALLOW_JOB_PRE_AND_POST_CMD")?,
            enforce_disk: truth("STARTD_ENFORCE_DISK_LIMITS", Moment::Daemon, default.enforce_disk)?,
            snapshot: self.seconds("PID_SNAPSHOT_INTERVAL", None, Moment::Environment, default.snapshot)?,
            proportional: truth("USE_PSS", Moment::Environment, default.proportional)?,
            groups: match self.late {
                Some(_) => GroupKnobs::read_late(view)?,
                None => GroupKnobs::read(view)?,
            },
            isolation: self.isolation()?,
            containers: ContainerKnobs::read(view)?,
            java: JavaKnobs::read(view)?,
            nvidia: self.nvidia(default.nvidia)?,
            assigned: machine.map(|machine| assigned(view, machine, world)).unwrap_or_default(),
            graceful_timeout: self.seconds(
                "SHUTDOWN_GRACEFUL_TIMEOUT",
                // 25.14 checks no range.
                self.late.is_none().then_some(1),
                Moment::Shutdown,
                default.graceful_timeout,
            )?,
            faults: Vec::new(),
        })
    }

    /// How often the job's queue is told of it, and when first.
    fn updates(&self, default: &Settings) -> Result<[Duration; 2], ValueError> {
        let seconds =
            |name: &str, least: Option<i64>, default| self.seconds(name, least, Moment::Updates, default);
        let interval = seconds("STARTER_UPDATE_INTERVAL", Some(1), default.update_interval)?;
        Ok([interval, seconds("STARTER_INITIAL_UPDATE_INTERVAL", None, default.initial_update_interval)?])
    }

    fn encrypts(&self) -> Result<bool, ValueError> {
        let set = self.view.crufty("ENCRYPT_EXECUTE_DIRECTORY");
        self.kept(set.map(|set| set.is_some_and(|setting| setting.value)), Moment::Encryption, false)
    }

    fn nvidia(&self, default: bool) -> Result<bool, ValueError> {
        match self.view.boolean("AUTO_SET_NVIDIA_VISIBLE_DEVICES") {
            // Read only for a slot that has GPUs, which no fetched job's has.
            Err(_) if self.late.is_some() => Ok(default),
            set => Ok(set?.map_or(default, |setting| setting.value)),
        }
    }

    /// Knobs whose subject is not ours, and whose bad values end 25.14 all the same.
    fn read_unused(&self) -> Result<(), ValueError> {
        self.truth("ENFORCE_CPU_AFFINITY", Moment::Launch, false)?;
        let slice = self.view.real("STARTER_UPDATE_INTERVAL_TIMESLICE").map(|_| ());
        let slice = slice.map_err(|error| error.with_default("0.1").with_range("0", "1"));
        self.kept(slice, Moment::Updates, ())
    }

    /// Namespaces and tracking groups.
    fn isolation(&self) -> Result<IsolationKnobs, ValueError> {
        let tracked = self.truth("USE_GID_PROCESS_TRACKING", Moment::Start, false)?;
        let knobs = IsolationKnobs::read(self.view, tracked);
        let processes = self.truth("USE_PID_NAMESPACES", Moment::Isolation, false)?;
        Ok(IsolationKnobs {
            processes,
            // Asked only for those that have one.
            init: !processes || self.truth("USE_PID_NAMESPACE_INIT", Moment::Isolation, true)?,
            no_network: self.truth("NO_JOB_NETWORKING", Moment::Isolation, false)?,
            mounts: self.truth("PER_JOB_NAMESPACES", Moment::Child, true)?,
            ..self.kept(knobs, Moment::Launch, IsolationKnobs::default())?
        })
    }

    /// A value; of one that is wrong the default, if that is found out later only.
    fn kept<T>(&self, read: Result<T, ValueError>, moment: Moment, default: T) -> Result<T, ValueError> {
        match (read, &self.late) {
            (Err(error), Some(late)) if moment != Moment::Daemon => {
                late.borrow_mut().push(Fault { moment, text: error.to_string().into() });
                Ok(default)
            }
            (read, _) => read,
        }
    }

    fn number(
        &self,
        name: &str,
        least: Option<i64>,
        moment: Moment,
        default: i64,
    ) -> Result<i64, ValueError> {
        let read = match least {
            Some(least) => self.view.int_in(name, Some((least, i64::from(i32::MAX)))),
            None => self.view.int(name),
        };
        let read = read.map_err(|error| error.with_default(&default.to_string()));
        self.kept(read.map(|set| set.map_or(default, |setting| setting.value)), moment, default)
    }

    /// Below zero is none.
    fn seconds(
        &self,
        name: &str,
        least: Option<i64>,
        moment: Moment,
        default: Duration,
    ) -> Result<Duration, ValueError> {
        let seconds = i64::try_from(default.as_secs()).unwrap_or(i64::MAX);
        let number = self.number(name, least, moment, seconds)?;
        Ok(Duration::from_secs(u64::try_from(number).unwrap_or(0)))
    }

    fn truth(&self, name: &str, moment: Moment, default: bool) -> Result<bool, ValueError> {
        let read = self.view.boolean(name).map(|set| set.map_or(default, |setting| setting.value));
        let words = if default { "True" } else { "False" };
        self.kept(read.map_err(|error| error.with_default(words)), moment, default)
    }

    /// Ports of outgoing connections: `OUT_LOWPORT` and `OUT_HIGHPORT`, else `LOWPORT` and `HIGHPORT`
    /// (`get_port_range`). The last two are the daemon's own as well.
    fn ports(&self) -> Result<Option<(u16, u16)>, ValueError> {
        let ranges =
            [("OUT_LOWPORT", "OUT_HIGHPORT", Moment::Environment), ("LOWPORT", "HIGHPORT", Moment::Daemon)];
        let mut found = None;
        for (low, high, moment) in ranges {
            let port = |name: &str| {
                let read = match self.late {
                    // 25.14 checks no range and has its other ways to fail.
                    Some(_) => self.view.int(name),
                    None => self.view.int_in(name, Some((0, 65_535))),
                };
                let read = read.map(|set| set.and_then(|setting| u16::try_from(setting.value).ok()));
                self.kept(read, moment, None)
            };
            if let (None, Some(low), Some(high)) = (found, port(low)?, port(high)?) {
                found = Some((low, high));
            }
        }
        Ok(found)
    }
}

/// Only a truth value written out is one; anything else is a list of names (c04 018 to 037).
fn inherits(text: &[u8]) -> Inherits {
    let literal = Expr::parse(text).ok().and_then(|expression| expression.as_literal());
    match literal {
        Some(Value::Bool(true)) => Inherits::All,
        Some(Value::Int(number)) if number != 0 => Inherits::All,
        Some(Value::Bool(false) | Value::Int(_)) => Inherits::Nothing,
        _ if text.is_empty() => Inherits::Nothing,
        _ => Inherits::Some(Filter::parse(text)),
    }
}

/// How the ids of the machine's resources are told to jobs.
fn assigned(
    view: &View<'_>,
    machine: &ClassAd,
    world: &dyn World,
) -> rustc_hash::FxHashMap<Vec<u8>, (BString, BString)> {
    let resources = Context::new(world).my(machine).string("MachineResources").unwrap_or_default();
    list::split(&resources)
        .map(|resource| {
            let knob = |prefix: &str| view.get(&[prefix.as_bytes(), resource].concat()).unwrap_or_default();
            let prototype = knob("ENVIRONMENT_FOR_Assigned");
            let unassigned = knob("ENVIRONMENT_VALUE_FOR_UnAssigned");
            (resource.to_ascii_lowercase(), (prototype, unassigned))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_literal_truth_value_hands_on_everything() {
        assert!(matches!(inherits(b"True"), Inherits::All));
        assert!(matches!(inherits(b"1"), Inherits::All));
        assert!(matches!(inherits(b"false"), Inherits::Nothing));
        assert!(matches!(inherits(b""), Inherits::Nothing));
        assert!(matches!(inherits(b"yes"), Inherits::Some(_)));
        assert!(matches!(inherits(b"PATH, HOME"), Inherits::Some(_)));
    }
}
