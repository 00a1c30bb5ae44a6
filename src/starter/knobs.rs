//! From the configuration to [`Settings`].

use std::path::PathBuf;
use std::time::Duration;

use bstr::{BString, ByteSlice};

use super::settings::{Inherits, Settings};
use crate::classad::{ClassAd, Context, Expr, Value};
use crate::config::{ValueError, View};
use crate::hook::Knobs;
use crate::text::environment::Filter;
use crate::text::list;
use crate::world::World;

impl Settings {
    /// Reads the knobs of a starter. `machine` is the slot's ad, whose resources have knobs of their own.
    ///
    /// # Errors
    /// A number or truth value that is none: the reference refuses to run then.
    pub fn read(view: &View<'_>, machine: Option<&ClassAd>, world: &dyn World) -> Result<Self, ValueError> {
        let default = Settings::default();
        let text = |name: &str| -> Result<Option<BString>, ValueError> {
            Ok(view.string(name)?.map(|setting| setting.value))
        };
        let seconds = |name: &str, least: i64, default: Duration| -> Result<Duration, ValueError> {
            let value = view.int_in(name, Some((least, i64::from(i32::MAX))))?;
            let value = value.and_then(|setting| u64::try_from(setting.value).ok());
            Ok(value.map_or(default, Duration::from_secs))
        };
        let number = |name: &str, default: i64| -> Result<i64, ValueError> {
            Ok(view.int(name)?.map_or(default, |setting| setting.value))
        };
        let truth = |name: &str, default: bool| -> Result<bool, ValueError> {
            Ok(view.boolean(name)?.map_or(default, |setting| setting.value))
        };
        let update_interval = seconds("STARTER_UPDATE_INTERVAL", 1, default.update_interval)?;
        let initial = seconds("STARTER_INITIAL_UPDATE_INTERVAL", 0, default.initial_update_interval)?;
        let (quantum, window) = default.statistics_window;
        Ok(Settings {
            execute: text("EXECUTE")?.map(|path| PathBuf::from(path.to_path_lossy())),
            nested_scratch: truth("STARTER_NESTED_SCRATCH", default.nested_scratch)?,
            move_on_exit: text("STARTER_MOVE_WORKING_DIR_ON_EXIT")?
                .filter(|path| !path.is_empty())
                .map(|path| PathBuf::from(path.to_path_lossy())),
            remove_delay: seconds("STARTER_REMOVE_EXECUTE_DIR_DELAY_TIME", 0, default.remove_delay)?,
            scratch_mode: match text("JOB_EXECDIR_PERMISSIONS")? {
                Some(word) if word.eq_ignore_ascii_case(b"group") => 0o750,
                Some(word) if word.eq_ignore_ascii_case(b"world") => 0o755,
                _ => 0o700,
            },
            initial_update_interval: initial.min(update_interval),
            update_interval,
            memory_usage_metric: text("MEMORY_USAGE_METRIC")?.unwrap_or(default.memory_usage_metric),
            statistics_window: (
                number("STATISTICS_WINDOW_QUANTUM", quantum)?,
                number("STATISTICS_WINDOW_SECONDS", window)?,
            ),
            job_environment: text("STARTER_JOB_ENVIRONMENT")?.unwrap_or_default(),
            inherits: inherits(text("JOB_INHERITS_STARTER_ENVIRONMENT")?.unwrap_or_default().trim()),
            bin: text("BIN")?,
            wrapper: text("USER_JOB_WRAPPER")?,
            renice: Some(text("JOB_RENICE_INCREMENT")?.unwrap_or_else(|| "0".into())),
            rlimit_as: text("STARTER_RLIMIT_AS")?,
            chirp_prefix: text("CHIRP_DELAYED_UPDATE_PREFIX")?.unwrap_or(default.chirp_prefix),
            sets_home: truth("STARTER_SETS_HOME_ENV", default.sets_home)?,
            thread_variables: text("STARTER_NUM_THREADS_ENV_VARS")?.unwrap_or_default(),
            ports: ports(view)?,
            mount_under_scratch: text("MOUNT_UNDER_SCRATCH")?.unwrap_or_default(),
            private_shm: truth("MOUNT_PRIVATE_DEV_SHM", default.private_shm)?,
            process_groups: truth("USE_PROCESS_GROUPS", default.process_groups)?,
            allow_scripts: text("STARTER_ALLOW_JOB_PRE_AND_POST_CMD")?,
            singularity_job: text("SINGULARITY_JOB")?,
            use_default_container: text("USE_DEFAULT_CONTAINER")?,
            default_container_image: text("DEFAULT_CONTAINER_IMAGE")?,
            nvidia: truth("AUTO_SET_NVIDIA_VISIBLE_DEVICES", default.nvidia)?,
            assigned: machine.map(|machine| assigned(view, machine, world)).unwrap_or_default(),
            graceful_timeout: seconds("SHUTDOWN_GRACEFUL_TIMEOUT", 1, default.graceful_timeout)?,
        })
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

/// Ports of outgoing connections: `OUT_LOWPORT` and `OUT_HIGHPORT`, else `LOWPORT` and `HIGHPORT` (`get_port_range`).
fn ports(view: &View<'_>) -> Result<Option<(u16, u16)>, ValueError> {
    for (low, high) in [("OUT_LOWPORT", "OUT_HIGHPORT"), ("LOWPORT", "HIGHPORT")] {
        let range = Some((0, 65_535));
        if let (Some(low), Some(high)) = (view.int_in(low, range)?, view.int_in(high, range)?) {
            let port = |value: i64| u16::try_from(value).unwrap_or(0);
            return Ok(Some((port(low.value), port(high.value))));
        }
    }
    Ok(None)
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
