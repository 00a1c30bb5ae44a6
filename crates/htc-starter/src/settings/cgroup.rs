//! Parameters of control groups.

use std::time::Duration;

use bstr::{BString, ByteSlice};

use crate::start_failure::StartFailure;
use htc_base::job::attr;
use htc_base::world::World;
use htc_classad::{ClassAd, Context};
use htc_config::{ConfigView, Setting, ValueError};

pub(crate) const HARD_MEMORY_LIMIT: &str = "CGROUP_HARD_MEMORY_LIMIT_EXPR";
pub(crate) const LOW_MEMORY_LIMIT: &str = "CGROUP_LOW_MEMORY_LIMIT";
pub(crate) const DISABLE_SWAP: &str = "DISABLE_SWAP_FOR_JOB";
const CREATE_WITHOUT_ROOT: &str = "CREATE_CGROUP_WITHOUT_ROOT";
const ALWAYS_HOLD_ON_OOM: &str = "STARTER_ALWAYS_HOLD_ON_OOM";
const HIDE_GPU_DEVICES: &str = "STARTER_HIDE_GPU_DEVICES";
const POLLING_INTERVAL: &str = "CGROUP_POLLING_INTERVAL";
pub(crate) const USE_FOR_LOCAL_UNIVERSE: &str = "USE_CGROUPS_FOR_LOCAL_UNIVERSE";
const LOCAL_UNIVERSE_ENFORCEMENT: &str = "LOCAL_UNIVERSE_CGROUP_ENFORCEMENT";
pub(crate) const USE_PEAK_MEMORY: &str = "CGROUP_USE_PEAK_MEMORY";
const IGNORE_CACHE_MEMORY: &str = "CGROUP_IGNORE_CACHE_MEMORY";

/// File that exists only with cgroup v2 (a single hierarchy).
const UNIFIED_HIERARCHY_FILE: &str = "/sys/fs/cgroup/cgroup.procs";

/// Parameters of control groups.
#[derive(Clone, Debug)]
pub struct CgroupParameters {
    /// BASE_CGROUP; empty if no control groups are used.
    pub base: BString,
    /// Value of CGROUP_MEMORY_LIMIT_POLICY.
    pub policy: BString,
    /// CGROUP_HARD_MEMORY_LIMIT_EXPR, for the policy `custom`.
    pub hard: Option<Setting<BString>>,
    /// CGROUP_LOW_MEMORY_LIMIT, an expression.
    pub low: Option<Setting<BString>>,
    /// Value of DISABLE_SWAP_FOR_JOB.
    pub no_swap: bool,
    /// Value of CREATE_CGROUP_WITHOUT_ROOT.
    pub without_root: bool,
    /// Value of STARTER_ALWAYS_HOLD_ON_OOM.
    pub always_hold: bool,
    /// Value of STARTER_HIDE_GPU_DEVICES.
    pub hide_gpus: bool,
    /// Value of CGROUP_POLLING_INTERVAL.
    pub polling: Duration,
    /// Value of USE_CGROUPS_FOR_LOCAL_UNIVERSE.
    pub local: bool,
    /// LOCAL_UNIVERSE_CGROUP_ENFORCEMENT: true if RequestMemory and RequestCpus are limits when the slot ad has neither
    /// Memory nor Cpus.
    pub enforced_by_request: bool,
    /// Use of the kernel's peak memory count. `None` if samples are used instead (CGROUP_USE_PEAK_MEMORY is false);
    /// otherwise true if caches are subtracted from the peak (CGROUP_IGNORE_CACHE_MEMORY).
    pub peak: Option<bool>,
    /// True if any parameter of control groups differs from its default.
    pub is_configured: bool,
    /// Invalid parameters, reported at the point where 25.14 reads them ([`CgroupParameters::read_deferring_faults`]).
    faults: Vec<(&'static str, StartFailure)>,
}

impl Default for CgroupParameters {
    /// Returns the reference's defaults.
    fn default() -> Self {
        CgroupParameters {
            base: "htcondor".into(),
            policy: "hard".into(),
            hard: None,
            low: None,
            no_swap: true,
            without_root: false,
            always_hold: true,
            hide_gpus: true,
            polling: Duration::from_secs(5),
            local: true,
            enforced_by_request: false,
            peak: None,
            is_configured: false,
            faults: Vec::new(),
        }
    }
}

impl CgroupParameters {
    /// Reads the parameters.
    ///
    /// # Errors
    /// Returns an error for an invalid number or boolean.
    pub fn read(view: &ConfigView<'_>) -> Result<Self, ValueError> {
        Self::read_with_faults(view, &mut |_, error| Err(error))
    }

    /// Reads the parameters. Uses the default for an invalid number or boolean, and keeps the error until the point
    /// where 25.14 reads the parameter.
    ///
    /// # Errors
    /// Returns an error if a macro expands without end.
    pub fn read_deferring_faults(view: &ConfigView<'_>) -> Result<Self, ValueError> {
        let mut faults = Vec::new();
        let parameters = Self::read_with_faults(view, &mut |name, error| {
            faults.push((name, StartFailure::from_setting_error(&error)));
            Ok(())
        })?;
        Ok(CgroupParameters { faults, ..parameters })
    }

    fn read_with_faults(
        view: &ConfigView<'_>,
        wrong: &mut dyn FnMut(&'static str, ValueError) -> Result<(), ValueError>,
    ) -> Result<Self, ValueError> {
        let default = CgroupParameters::default();
        let text = |name: &str| -> Result<Option<BString>, ValueError> {
            Ok(view.string(name)?.map(|setting| setting.value).filter(|value| !value.is_empty()))
        };
        let polling = match view.int_in_range(POLLING_INTERVAL, Some((1, i64::from(i32::MAX)))) {
            Ok(polling) => polling,
            Err(error) => wrong(POLLING_INTERVAL, error).map(|()| None)?,
        };
        let mut truth = |name: &'static str, default: bool| -> Result<bool, ValueError> {
            match view.boolean(name) {
                Ok(set) => Ok(set.map_or(default, |setting| setting.value)),
                Err(error) => {
                    let words = if default { "True" } else { "False" };
                    wrong(name, error.with_default(words)).map(|()| default)
                }
            }
        };
        let is_set = |name: &str| view.raw(name).is_some_and(|setting| !setting.origin.is_default());
        let inputs = [
            "BASE_CGROUP",
            "CGROUP_MEMORY_LIMIT_POLICY",
            "CGROUP_HARD_MEMORY_LIMIT_EXPR",
            "CGROUP_LOW_MEMORY_LIMIT",
            "CREATE_CGROUP_WITHOUT_ROOT",
            "DISABLE_SWAP_FOR_JOB",
        ];
        Ok(CgroupParameters {
            base: view.string("BASE_CGROUP")?.map(|setting| setting.value).unwrap_or_default(),
            policy: text("CGROUP_MEMORY_LIMIT_POLICY")?.unwrap_or(default.policy),
            hard: view.string(HARD_MEMORY_LIMIT)?,
            low: view.string(LOW_MEMORY_LIMIT)?,
            no_swap: truth(DISABLE_SWAP, default.no_swap)?,
            without_root: truth(CREATE_WITHOUT_ROOT, default.without_root)?,
            always_hold: truth(ALWAYS_HOLD_ON_OOM, default.always_hold)?,
            hide_gpus: truth(HIDE_GPU_DEVICES, default.hide_gpus)?,
            polling: polling
                .and_then(|setting| u64::try_from(setting.value).ok())
                .map_or(default.polling, Duration::from_secs),
            local: truth(USE_FOR_LOCAL_UNIVERSE, default.local)?,
            enforced_by_request: truth(LOCAL_UNIVERSE_ENFORCEMENT, default.enforced_by_request)?,
            peak: match truth(USE_PEAK_MEMORY, false)? {
                true => Some(truth(IGNORE_CACHE_MEMORY, true)?),
                false => None,
            },
            is_configured: inputs.into_iter().any(is_set),
            faults: Vec::new(),
        })
    }
}

impl CgroupParameters {
    /// Returns the deferred error of a parameter, or `None` if it has none.
    pub(crate) fn fault_of_parameter(&self, name: &str) -> Option<StartFailure> {
        self.faults.iter().find(|(one, _)| *one == name).map(|(_, failure)| failure.clone())
    }

    /// Returns the first deferred error that 25.14 finds before it reads the memory limits.
    pub(crate) fn fault_before_memory_limits(
        &self,
        machine: &ClassAd,
        world: &dyn World,
    ) -> Option<StartFailure> {
        let lacks = |name: &str| Context::new(world).my(machine).int(name).is_none();
        let unified = world.stat(UNIFIED_HIERARCHY_FILE.as_ref()).is_ok();
        self.fault_of_parameter(CREATE_WITHOUT_ROOT)
            .filter(|_| unified)
            .or_else(|| self.fault_of_parameter(LOCAL_UNIVERSE_ENFORCEMENT).filter(|_| lacks(attr::CPUS)))
            .or_else(|| self.fault_of_parameter(HIDE_GPU_DEVICES))
            .or_else(|| self.fault_of_parameter(LOCAL_UNIVERSE_ENFORCEMENT).filter(|_| lacks(attr::MEMORY)))
    }

    /// Returns the first deferred error that 25.14 finds when the job runs in its control group.
    pub(crate) fn fault_when_running(&self) -> Option<StartFailure> {
        [POLLING_INTERVAL, USE_PEAK_MEMORY, IGNORE_CACHE_MEMORY]
            .into_iter()
            .find_map(|name| self.fault_of_parameter(name))
    }

    /// Returns the deferred error that 25.14 finds when the job has exceeded its memory limit.
    pub(crate) fn fault_at_out_of_memory(&self) -> Option<StartFailure> {
        self.fault_of_parameter(ALWAYS_HOLD_ON_OOM)
    }

    /// Returns BASE_CGROUP without components that would lead out of the hierarchy, or `None` if no control
    /// groups are used.
    pub fn base_path(&self) -> Option<String> {
        if self.base.trim().is_empty() {
            return None;
        }
        let parts = self.base.split_str("/").map(|part| part.trim().to_str_lossy().into_owned());
        Some(parts.filter(|part| !matches!(part.as_str(), "" | "." | "..")).collect::<Vec<_>>().join("/"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_base_path_stays_in_the_hierarchy() {
        let of = |text: &str| {
            CgroupParameters { base: text.into(), ..CgroupParameters::default() }
                .base_path()
                .unwrap_or_default()
        };
        assert_eq!(of("/htcondor/"), "htcondor");
        assert_eq!(of("../../a/./b"), "a/b");
    }
}
