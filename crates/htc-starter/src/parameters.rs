//! Reader of [`StarterSettings`] from the configuration.

use std::cell::RefCell;
use std::path::PathBuf;
use std::time::Duration;

use bstr::{BString, ByteSlice};

use super::container::ContainerParameters;
use super::settings::CgroupParameters;
use super::settings::IsolationParameters;
use super::settings::JavaParameters;
use super::settings::{EnvironmentInheritance, ParameterFault, ParameterReadPoint, StarterSettings};
use crate::settings::RecentWindow;
use htc_base::text::environment::EnvironmentFilter;
use htc_base::text::list;
use htc_base::world::World;
use htc_classad::{ClassAd, Context, Expr, Value};
use htc_config::{ConfigView, ValueError};
use htc_hook::ParameterSource as _;

impl StarterSettings {
    /// Reads the parameters of a starter. `machine` is the slot ad; the configuration has further parameters for each
    /// resource in it.
    ///
    /// # Errors
    /// Returns an error for an invalid number or boolean; the starter then does not start.
    pub fn read(
        view: &ConfigView<'_>,
        machine: Option<&ClassAd>,
        world: &dyn World,
    ) -> Result<Self, ValueError> {
        ParameterReader { view, late: None }.read_settings(machine, world)
    }

    /// Reads the parameters like 25.14, which reads some of them only when it needs them. The errors of such parameters
    /// are kept in [`faults`](StarterSettings::faults).
    ///
    /// # Errors
    /// Returns an error for an invalid parameter that the daemon reads when it starts.
    pub fn read_deferring_faults(
        view: &ConfigView<'_>,
        machine: Option<&ClassAd>,
        world: &dyn World,
    ) -> Result<Self, ValueError> {
        let parameters = ParameterReader { view, late: Some(RefCell::default()) };
        let mut settings = parameters.read_settings(machine, world)?;
        parameters.check_unused_parameters()?;
        settings.faults = parameters.late.map(RefCell::into_inner).unwrap_or_default();
        Ok(settings)
    }
}

/// Returns the mode of scratch directories that JOB_EXECDIR_PERMISSIONS selects.
fn parse_scratch_mode(word: Option<BString>) -> u32 {
    match word {
        Some(word) if word.eq_ignore_ascii_case(b"group") => 0o750,
        Some(word) if word.eq_ignore_ascii_case(b"world") => 0o755,
        _ => 0o700,
    }
}

/// Reader of the parameters, which returns errors or keeps them for later.
struct ParameterReader<'a> {
    view: &'a ConfigView<'a>,
    /// Errors of parameters that 25.14 reads later, or `None` if every error is returned immediately.
    late: Option<RefCell<Vec<ParameterFault>>>,
}

impl ParameterReader<'_> {
    fn read_statistics_window(&self, default: RecentWindow) -> Result<RecentWindow, ValueError> {
        let read =
            |name: &str, default: i64| self.read_integer(name, None, ParameterReadPoint::Daemon, default);
        Ok(RecentWindow {
            quantum: read("STATISTICS_WINDOW_QUANTUM", default.quantum)?,
            length: read("STATISTICS_WINDOW_SECONDS", default.length)?,
        })
    }

    fn read_settings(
        &self,
        machine: Option<&ClassAd>,
        world: &dyn World,
    ) -> Result<StarterSettings, ValueError> {
        let view = self.view;
        let default = StarterSettings::default();
        let text = |name: &str| -> Result<Option<BString>, ValueError> {
            Ok(view.string(name)?.map(|setting| setting.value))
        };
        let [update_interval, initial] = self.read_update_intervals(&default)?;
        let truth =
            |name: &str, moment: ParameterReadPoint, default: bool| self.read_boolean(name, moment, default);
        Ok(StarterSettings {
            execute: text("EXECUTE")?.map(|path| PathBuf::from(path.to_path_lossy())),
            nested_scratch: truth(
                "STARTER_NESTED_SCRATCH",
                ParameterReadPoint::Directory,
                default.nested_scratch,
            )?,
            move_on_exit: text("STARTER_MOVE_WORKING_DIR_ON_EXIT")?
                .filter(|path| !path.is_empty())
                .map(|path| PathBuf::from(path.to_path_lossy())),
            remove_delay: self.read_seconds(
                "STARTER_REMOVE_EXECUTE_DIR_DELAY_TIME",
                None,
                ParameterReadPoint::Removal,
                default.remove_delay,
            )?,
            scratch_mode: parse_scratch_mode(text("JOB_EXECDIR_PERMISSIONS")?),
            initial_update_interval: initial.min(update_interval),
            update_interval,
            // An empty MEMORY_USAGE_METRIC means that there is no metric.
            memory_usage_metric: text("MEMORY_USAGE_METRIC")?.unwrap_or_default(),
            statistics_window: self.read_statistics_window(default.statistics_window)?,
            job_environment: text("STARTER_JOB_ENVIRONMENT")?.unwrap_or_default(),
            inherits: parse_environment_inheritance(
                text("JOB_INHERITS_STARTER_ENVIRONMENT")?.unwrap_or_default().trim(),
            ),
            bin: text("BIN")?,
            wrapper: text("USER_JOB_WRAPPER")?,
            renice: Some(text("JOB_RENICE_INCREMENT")?.unwrap_or_else(|| "0".into())),
            rlimit_as: text("STARTER_RLIMIT_AS")?,
            chirp_prefix: text("CHIRP_DELAYED_UPDATE_PREFIX")?.unwrap_or(default.chirp_prefix),
            sets_home: truth("STARTER_SETS_HOME_ENV", ParameterReadPoint::Environment, default.sets_home)?,
            thread_variables: text("STARTER_NUM_THREADS_ENV_VARS")?.unwrap_or_default(),
            ports: self.read_port_range()?,
            mount_under_scratch: text("MOUNT_UNDER_SCRATCH")?.unwrap_or_default(),
            encrypts: self.read_encryption()?,
            private_shm: truth("MOUNT_PRIVATE_DEV_SHM", ParameterReadPoint::Child, default.private_shm)?,
            process_groups: truth("USE_PROCESS_GROUPS", ParameterReadPoint::Child, default.process_groups)?,
            allow_scripts: view.string("STARTER_ALLOW_JOB_PRE_AND_POST_CMD")?,
            enforce_disk: truth(
                "STARTD_ENFORCE_DISK_LIMITS",
                ParameterReadPoint::Daemon,
                default.enforce_disk,
            )?,
            snapshot: self.read_seconds(
                "PID_SNAPSHOT_INTERVAL",
                None,
                ParameterReadPoint::Environment,
                default.snapshot,
            )?,
            use_pss: truth("USE_PSS", ParameterReadPoint::Environment, default.use_pss)?,
            groups: match self.late {
                Some(_) => CgroupParameters::read_deferring_faults(view)?,
                None => CgroupParameters::read(view)?,
            },
            isolation: self.read_isolation()?,
            containers: ContainerParameters::read(view)?,
            java: JavaParameters::read(view)?,
            nvidia: self.read_nvidia(default.nvidia)?,
            assigned_resources: machine
                .map(|machine| read_assigned_resources(view, machine, world))
                .unwrap_or_default(),
            graceful_timeout: self.read_seconds(
                "SHUTDOWN_GRACEFUL_TIMEOUT",
                // 25.14 does not check the range of SHUTDOWN_GRACEFUL_TIMEOUT.
                self.late.is_none().then_some(1),
                ParameterReadPoint::Shutdown,
                default.graceful_timeout,
            )?,
            faults: Vec::new(),
        })
    }

    /// Reads the interval of updates and the delay of the first update.
    fn read_update_intervals(&self, default: &StarterSettings) -> Result<[Duration; 2], ValueError> {
        let seconds = |name: &str, least: Option<i64>, default| {
            self.read_seconds(name, least, ParameterReadPoint::Updates, default)
        };
        let interval = seconds("STARTER_UPDATE_INTERVAL", Some(1), default.update_interval)?;
        Ok([interval, seconds("STARTER_INITIAL_UPDATE_INTERVAL", None, default.initial_update_interval)?])
    }

    fn read_encryption(&self) -> Result<bool, ValueError> {
        let set = self.view.boolean_crufty("ENCRYPT_EXECUTE_DIRECTORY");
        self.value_or_deferred_fault(
            set.map(|set| set.is_some_and(|setting| setting.value)),
            ParameterReadPoint::Encryption,
            false,
        )
    }

    fn read_nvidia(&self, default: bool) -> Result<bool, ValueError> {
        match self.view.boolean("AUTO_SET_NVIDIA_VISIBLE_DEVICES") {
            // 25.14 reads this parameter only for a slot with GPUs, which the slots of fetched jobs never have.
            Err(_) if self.late.is_some() => Ok(default),
            set => Ok(set?.map_or(default, |setting| setting.value)),
        }
    }

    /// Checks parameters that this program does not use, but whose invalid values end 25.14.
    fn check_unused_parameters(&self) -> Result<(), ValueError> {
        self.read_boolean("ENFORCE_CPU_AFFINITY", ParameterReadPoint::Launch, false)?;
        let slice = self.view.real("STARTER_UPDATE_INTERVAL_TIMESLICE").map(|_| ());
        let slice = slice.map_err(|error| error.with_default("0.1").with_range("0", "1"));
        self.value_or_deferred_fault(slice, ParameterReadPoint::Updates, ())
    }

    /// Reads the parameters of namespaces and tracking groups.
    fn read_isolation(&self) -> Result<IsolationParameters, ValueError> {
        let tracked = self.read_boolean("USE_GID_PROCESS_TRACKING", ParameterReadPoint::Start, false)?;
        let parameters = IsolationParameters::read(self.view, tracked);
        let processes = self.read_boolean("USE_PID_NAMESPACES", ParameterReadPoint::Isolation, false)?;
        Ok(IsolationParameters {
            processes,
            // 25.14 reads USE_PID_NAMESPACE_INIT only for jobs with a PID namespace.
            init: !processes
                || self.read_boolean("USE_PID_NAMESPACE_INIT", ParameterReadPoint::Isolation, true)?,
            no_network: self.read_boolean("NO_JOB_NETWORKING", ParameterReadPoint::Isolation, false)?,
            mounts: self.read_boolean("PER_JOB_NAMESPACES", ParameterReadPoint::Child, true)?,
            ..self.value_or_deferred_fault(
                parameters,
                ParameterReadPoint::Launch,
                IsolationParameters::default(),
            )?
        })
    }

    /// Returns the value that was read. If 25.14 would find an error in the value only later, records the error and
    /// returns the default.
    fn value_or_deferred_fault<T>(
        &self,
        read: Result<T, ValueError>,
        moment: ParameterReadPoint,
        default: T,
    ) -> Result<T, ValueError> {
        match (read, &self.late) {
            (Err(error), Some(late)) if moment != ParameterReadPoint::Daemon => {
                late.borrow_mut().push(ParameterFault { read_point: moment, text: error.to_string().into() });
                Ok(default)
            }
            (read, _) => read,
        }
    }

    fn read_integer(
        &self,
        name: &str,
        least: Option<i64>,
        moment: ParameterReadPoint,
        default: i64,
    ) -> Result<i64, ValueError> {
        let read = match least {
            Some(least) => self.view.int_in_range(name, Some((least, i64::from(i32::MAX)))),
            None => self.view.int(name),
        };
        let read = read.map_err(|error| error.with_default(&default.to_string()));
        self.value_or_deferred_fault(
            read.map(|set| set.map_or(default, |setting| setting.value)),
            moment,
            default,
        )
    }

    /// Reads a number of seconds; a negative number is treated as 0.
    fn read_seconds(
        &self,
        name: &str,
        least: Option<i64>,
        moment: ParameterReadPoint,
        default: Duration,
    ) -> Result<Duration, ValueError> {
        let seconds = i64::try_from(default.as_secs()).unwrap_or(i64::MAX);
        let number = self.read_integer(name, least, moment, seconds)?;
        Ok(Duration::from_secs(u64::try_from(number).unwrap_or(0)))
    }

    fn read_boolean(
        &self,
        name: &str,
        moment: ParameterReadPoint,
        default: bool,
    ) -> Result<bool, ValueError> {
        let read = self.view.boolean(name).map(|set| set.map_or(default, |setting| setting.value));
        let words = if default { "True" } else { "False" };
        self.value_or_deferred_fault(read.map_err(|error| error.with_default(words)), moment, default)
    }

    /// Reads the ports of outgoing connections: `OUT_LOWPORT` and `OUT_HIGHPORT`, or else `LOWPORT` and `HIGHPORT`
    /// (`get_port_range`). The daemon itself also uses `LOWPORT` and `HIGHPORT`.
    fn read_port_range(&self) -> Result<Option<(u16, u16)>, ValueError> {
        let ranges = [
            ("OUT_LOWPORT", "OUT_HIGHPORT", ParameterReadPoint::Environment),
            ("LOWPORT", "HIGHPORT", ParameterReadPoint::Daemon),
        ];
        let mut found = None;
        for (low, high, moment) in ranges {
            let port = |name: &str| {
                let read = match self.late {
                    // 25.14 does not check the range of ports, and fails in other ways.
                    Some(_) => self.view.int(name),
                    None => self.view.int_in_range(name, Some((0, 65_535))),
                };
                let read = read.map(|set| set.and_then(|setting| u16::try_from(setting.value).ok()));
                self.value_or_deferred_fault(read, moment, None)
            };
            if let (None, Some(low), Some(high)) = (found, port(low)?, port(high)?) {
                found = Some((low, high));
            }
        }
        Ok(found)
    }
}

/// Parses JOB_INHERITS_STARTER_ENVIRONMENT. Only a literal boolean or integer turns the inheritance on or off; any
/// other text is a list of names.
fn parse_environment_inheritance(text: &[u8]) -> EnvironmentInheritance {
    let literal = Expr::parse(text).ok().and_then(|expression| expression.as_literal());
    match literal {
        Some(Value::Bool(true)) => EnvironmentInheritance::All,
        Some(Value::Int(number)) if number != 0 => EnvironmentInheritance::All,
        Some(Value::Bool(false) | Value::Int(_)) => EnvironmentInheritance::Nothing,
        _ if text.is_empty() => EnvironmentInheritance::Nothing,
        _ => EnvironmentInheritance::Filtered(EnvironmentFilter::parse(text)),
    }
}

/// Reads the parameters that determine how jobs get the IDs of the machine's resources.
fn read_assigned_resources(
    view: &ConfigView<'_>,
    machine: &ClassAd,
    world: &dyn World,
) -> rustc_hash::FxHashMap<Vec<u8>, (BString, BString)> {
    let resources = Context::new(world).my(machine).string("MachineResources").unwrap_or_default();
    list::split(&resources)
        .map(|resource| {
            let parameter =
                |prefix: &str| view.get(&[prefix.as_bytes(), resource].concat()).unwrap_or_default();
            let prototype = parameter("ENVIRONMENT_FOR_Assigned");
            let unassigned = parameter("ENVIRONMENT_VALUE_FOR_UnAssigned");
            (resource.to_ascii_lowercase(), (prototype, unassigned))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_literal_boolean_turns_inheritance_on_or_off() {
        assert!(matches!(parse_environment_inheritance(b"True"), EnvironmentInheritance::All));
        assert!(matches!(parse_environment_inheritance(b"1"), EnvironmentInheritance::All));
        assert!(matches!(parse_environment_inheritance(b"false"), EnvironmentInheritance::Nothing));
        assert!(matches!(parse_environment_inheritance(b""), EnvironmentInheritance::Nothing));
        assert!(matches!(parse_environment_inheritance(b"yes"), EnvironmentInheritance::Filtered(_)));
        assert!(matches!(parse_environment_inheritance(b"PATH, HOME"), EnvironmentInheritance::Filtered(_)));
    }
}
