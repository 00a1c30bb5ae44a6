//! The knobs about control groups.

use std::time::Duration;

use bstr::{BString, ByteSlice};

use crate::failure::StartFailure;
use htc_base::job::attr;
use htc_base::world::World;
use htc_classad::{ClassAd, Context};
use htc_config::{Setting, ValueError, View};

pub(crate) const HARD: &str = "CGROUP_HARD_MEMORY_LIMIT_EXPR";
pub(crate) const LOW: &str = "CGROUP_LOW_MEMORY_LIMIT";
pub(crate) const NO_SWAP: &str = "DISABLE_SWAP_FOR_JOB";
const WITHOUT_ROOT: &str = "CREATE_CGROUP_WITHOUT_ROOT";
const ALWAYS_HOLD: &str = "STARTER_ALWAYS_HOLD_ON_OOM";
const HIDE_GPUS: &str = "STARTER_HIDE_GPU_DEVICES";
const POLLING: &str = "CGROUP_POLLING_INTERVAL";
pub(crate) const LOCAL: &str = "USE_CGROUPS_FOR_LOCAL_UNIVERSE";
const BY_REQUEST: &str = "LOCAL_UNIVERSE_CGROUP_ENFORCEMENT";
pub(crate) const PEAK: &str = "CGROUP_USE_PEAK_MEMORY";
const IGNORE_CACHE: &str = "CGROUP_IGNORE_CACHE_MEMORY";

/// The file that says that there is but one hierarchy.
const UNIFIED: &str = "/sys/fs/cgroup/cgroup.procs";

/// The knobs about control groups.
#[derive(Clone, Debug)]
pub struct GroupKnobs {
    /// BASE_CGROUP; empty for no groups.
    pub base: BString,
    /// CGROUP_MEMORY_LIMIT_POLICY.
    pub policy: BString,
    /// CGROUP_HARD_MEMORY_LIMIT_EXPR, for the policy `custom`.
    pub hard: Option<Setting<BString>>,
    /// CGROUP_LOW_MEMORY_LIMIT, an expression.
    pub low: Option<Setting<BString>>,
    /// DISABLE_SWAP_FOR_JOB.
    pub no_swap: bool,
    /// CREATE_CGROUP_WITHOUT_ROOT.
    pub without_root: bool,
    /// STARTER_ALWAYS_HOLD_ON_OOM.
    pub always_hold: bool,
    /// STARTER_HIDE_GPU_DEVICES.
    pub hide_gpus: bool,
    /// CGROUP_POLLING_INTERVAL.
    pub polling: Duration,
    /// USE_CGROUPS_FOR_LOCAL_UNIVERSE.
    pub local: bool,
    /// LOCAL_UNIVERSE_CGROUP_ENFORCEMENT: RequestMemory and RequestCpus count where the slot's ad has neither.
    pub enforced_by_request: bool,
    /// CGROUP_USE_PEAK_MEMORY, and whether caches are taken from it (CGROUP_IGNORE_CACHE_MEMORY); `None`: samples count.
    pub peak: Option<bool>,
    /// Whether the configuration says anything about groups that is not its default.
    pub asked: bool,
    /// Values that are none, for whoever finds that out where 25.14 does ([`GroupKnobs::read_late`]).
    faults: Vec<(&'static str, StartFailure)>,
}

impl Default for GroupKnobs {
    /// The reference's defaults.
    fn default() -> Self {
        GroupKnobs {
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
            asked: false,
            faults: Vec::new(),
        }
    }
}

impl GroupKnobs {
    /// Reads them.
    ///
    /// # Errors
    /// A number or truth value that is none.
    pub fn read(view: &View<'_>) -> Result<Self, ValueError> {
        Self::read_with(view, &mut |_, error| Err(error))
    }

    /// The same; of a number or truth value that is none the default, and why it is none where 25.14 comes to it.
    ///
    /// # Errors
    /// An expansion without end.
    pub fn read_late(view: &View<'_>) -> Result<Self, ValueError> {
        let mut faults = Vec::new();
        let knobs = Self::read_with(view, &mut |name, error| {
            faults.push((name, StartFailure::of_setting(&error)));
            Ok(())
        })?;
        Ok(GroupKnobs { faults, ..knobs })
    }

    fn read_with(
        view: &View<'_>,
        wrong: &mut dyn FnMut(&'static str, ValueError) -> Result<(), ValueError>,
    ) -> Result<Self, ValueError> {
        let default = GroupKnobs::default();
        let text = |name: &str| -> Result<Option<BString>, ValueError> {
            Ok(view.string(name)?.map(|setting| setting.value).filter(|value| !value.is_empty()))
        };
        let polling = match view.int_in(POLLING, Some((1, i64::from(i32::MAX)))) {
            Ok(polling) => polling,
            Err(error) => wrong(POLLING, error).map(|()| None)?,
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
        let given = |name: &str| view.raw(name).is_some_and(|setting| !setting.origin.is_default());
        let asking = [
            "BASE_CGROUP",
            "CGROUP_MEMORY_LIMIT_POLICY",
            "CGROUP_HARD_MEMORY_LIMIT_EXPR",
            "CGROUP_LOW_MEMORY_LIMIT",
            "CREATE_CGROUP_WITHOUT_ROOT",
            "DISABLE_SWAP_FOR_JOB",
        ];
        Ok(GroupKnobs {
            base: view.string("BASE_CGROUP")?.map(|setting| setting.value).unwrap_or_default(),
            policy: text("CGROUP_MEMORY_LIMIT_POLICY")?.unwrap_or(default.policy),
            hard: view.string(HARD)?,
            low: view.string(LOW)?,
            no_swap: truth(NO_SWAP, default.no_swap)?,
            without_root: truth(WITHOUT_ROOT, default.without_root)?,
            always_hold: truth(ALWAYS_HOLD, default.always_hold)?,
            hide_gpus: truth(HIDE_GPUS, default.hide_gpus)?,
            polling: polling
                .and_then(|setting| u64::try_from(setting.value).ok())
                .map_or(default.polling, Duration::from_secs),
            local: truth(LOCAL, default.local)?,
            enforced_by_request: truth(BY_REQUEST, default.enforced_by_request)?,
            peak: match truth(PEAK, false)? {
                true => Some(truth(IGNORE_CACHE, true)?),
                false => None,
            },
            asked: asking.into_iter().any(given),
            faults: Vec::new(),
        })
    }
}

impl GroupKnobs {
    /// What is wrong with a knob, if that has not been told yet.
    pub(crate) fn fault(&self, name: &str) -> Option<StartFailure> {
        self.faults.iter().find(|(one, _)| *one == name).map(|(_, failure)| failure.clone())
    }

    /// What 25.14 comes to before it asks for limits of memory.
    pub(crate) fn earlier_fault(&self, machine: &ClassAd, world: &dyn World) -> Option<StartFailure> {
        let lacks = |name: &str| Context::new(world).my(machine).int(name).is_none();
        let unified = world.stat(UNIFIED.as_ref()).is_ok();
        self.fault(WITHOUT_ROOT)
            .filter(|_| unified)
            .or_else(|| self.fault(BY_REQUEST).filter(|_| lacks(attr::CPUS)))
            .or_else(|| self.fault(HIDE_GPUS))
            .or_else(|| self.fault(BY_REQUEST).filter(|_| lacks(attr::MEMORY)))
    }

    /// What it comes to when the job runs in a group.
    pub(crate) fn later_fault(&self) -> Option<StartFailure> {
        [POLLING, PEAK, IGNORE_CACHE].into_iter().find_map(|name| self.fault(name))
    }

    /// What it comes to when the job has used up its memory.
    pub(crate) fn fault_out_of_memory(&self) -> Option<StartFailure> {
        self.fault(ALWAYS_HOLD)
    }

    /// BASE_CGROUP without what would lead out of the tree; `None` where no groups are wanted.
    pub fn place(&self) -> Option<String> {
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
    fn the_base_leads_nowhere_else() {
        let of = |text: &str| {
            GroupKnobs { base: text.into(), ..GroupKnobs::default() }.place().unwrap_or_default()
        };
        assert_eq!(of("/htcondor/"), "htcondor");
        assert_eq!(of("../../a/./b"), "a/b");
    }
}
