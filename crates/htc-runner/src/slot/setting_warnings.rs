//! Warnings about the settings of an execution point that are unsupported or have no effect.

use bstr::ByteSlice;

use super::backfill_client::backfill_client_ad;
use htc_base::world::World;
use htc_config::unsupported::UnsupportedSettings;
use htc_config::{Config, ConfigView};
use htc_slot::StartdSettings;
use htc_starter::job_source::JobKeywordError;

/// Returns warnings about settings that are unsupported or have no effect.
pub fn setting_warnings(
    config: &Config,
    world: &dyn World,
    settings: &StartdSettings,
    foreign: bool,
) -> Vec<String> {
    let view = config.view(world);
    let mut warnings = Vec::new();
    if settings.slots.iter().all(|slot| slot.hooks.is_none() && slot.default_child_hooks.is_none()) {
        let hint = "set STARTD_JOB_HOOK_KEYWORD, or SLOT<N>_JOB_HOOK_KEYWORD for single slots";
        warnings.push(format!("no slot has a hook keyword, so no slot fetches work: {hint}"));
    }
    // It is unknown which parameters another starter supports, so its parameters are not checked.
    let ours: &[&str] = if foreign { &["startd"] } else { &["startd", "starter"] };
    warnings.extend(UnsupportedSettings::collect(&view).warning_lines(&view, ours));
    if settings.backfill.is_some_and(|backfill| !backfill.dead_client.as_reference) {
        warnings.extend(backfill_client_warnings(config, world));
    }
    warnings
}

/// Returns warnings about the job of the backfill client. They are printed once by the slot runner, because a
/// backfill starter is started again whenever it ends.
fn backfill_client_warnings(config: &Config, world: &dyn World) -> Vec<String> {
    match backfill_client_ad(config, world) {
        Ok((_, left_out)) => {
            let describe = |value: &JobKeywordError| {
                format!("{value}; the backfill client runs without it, as in a pool")
            };
            left_out.iter().map(describe).collect()
        }
        Err(error) => vec![format!("{error}; no starter can run the backfill client, in a pool as here")],
    }
}

/// Returns a warning about an undefined macro in the value of a parameter, or `None`.
pub fn empty_macro_warning(view: &ConfigView<'_>, parameter: &str) -> Option<String> {
    let raw = view.raw(parameter)?.value.to_string();
    let names = raw.split("$(").skip(1).filter_map(|rest| rest.split_once(')').map(|(name, _)| name));
    let is_empty =
        |name: &&str| view.string(name).ok().flatten().is_none_or(|setting| setting.value.trim().is_empty());
    let name = names.into_iter().find(is_empty)?;
    Some(format!("{parameter} is '{raw}', but the macro {name} is empty or not defined"))
}

/// Returns the lease of a claim: the time without contact after which the claim ends, in seconds.
pub fn claim_lease_seconds(view: &ConfigView<'_>) -> i64 {
    let number = |name: &str, default| view.int(name).ok().flatten().map_or(default, |setting| setting.value);
    number("ALIVE_INTERVAL", 300).saturating_mul(number("MAX_CLAIM_ALIVES_MISSED", 6))
}

#[cfg(test)]
mod tests {
    use super::*;
    use htc_base::quirks::QuirkMode;
    use htc_slot::{ExitLimits, HostMeasurements, configure};
    use htc_testing::config_of;

    fn warnings(text: &str) -> Vec<String> {
        let (config, world) = config_of("STARTD", text);
        let measurements = HostMeasurements::default();
        let made =
            configure(&config, &world, &measurements, QuirkMode::Manual, ExitLimits::default()).unwrap();
        setting_warnings(&config, &world, &made.settings, false)
    }

    #[test]
    fn slots_that_fetch_nothing_are_reported() {
        let none = warnings("NUM_CPUS = 1\nMEMORY = 100\nDISK = 1000\n");
        assert!(none[0].starts_with("no slot has a hook keyword"), "{none:?}");
        let some = warnings("NUM_CPUS = 1\nMEMORY = 100\nDISK = 1000\nSTARTD_JOB_HOOK_KEYWORD = Q\n");
        assert!(!some.iter().any(|line| line.starts_with("no slot has")), "{some:?}");
    }

    #[test]
    fn an_undefined_macro_is_named() {
        let (config, world) =
            config_of("STARTD", "EXECUTE = $(NOWHERE)/execute\nLOG = /log\nALIVE_INTERVAL = 10\n");
        let view = config.view(&world);
        let warning = empty_macro_warning(&view, "EXECUTE");
        assert_eq!(
            warning.as_deref(),
            Some("EXECUTE is '$(NOWHERE)/execute', but the macro NOWHERE is empty or not defined")
        );
        assert_eq!(empty_macro_warning(&view, "LOG"), None);
        assert_eq!(claim_lease_seconds(&view), 60);
    }
}
