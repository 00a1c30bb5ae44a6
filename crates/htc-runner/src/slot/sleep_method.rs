//! Methods of making a machine sleep, and the states that it supports (`startd_hibernator.cpp`,
//! `hibernator.linux.cpp`).

use std::path::Path;
use std::time::Duration;

use bstr::{BString, ByteSlice};

use super::starter_program::parse_printed_ad;
use htc_base::process::Exit;
use htc_base::world::{ExternalCommand, World};
use htc_config::Config;
use htc_slot::{SleepState, SleepSupport};

/// Maximum time for the plugin to report the sleep states that it supports.
const PLUGIN_TIMEOUT: Duration = Duration::from_secs(20);
const SYS_POWER_STATE: &str = "/sys/power/state";
const SYS_POWER_DISK: &str = "/sys/power/disk";
const PROC_ACPI_SLEEP: &str = "/proc/acpi/sleep";
const PM_CHECK: &str = "/usr/bin/pm-is-supported";
const PM_SUSPEND: &str = "/usr/sbin/pm-suspend";
const PM_HIBERNATE: &str = "/usr/sbin/pm-hibernate";
const POWER_OFF: &str = "/sbin/poweroff";

/// Method of making a machine sleep.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SleepMethod {
    /// HIBERNATION_PLUGIN with HIBERNATION_PLUGIN_ARGS as its arguments.
    Plugin(Vec<BString>),
    /// The programs of pm-utils.
    PmUtils,
    /// The files in /sys/power.
    SysPower,
    /// The file /proc/acpi/sleep.
    ProcAcpi,
}

impl SleepMethod {
    /// Finds the method for a configuration, the states that it supports, and a warning. If HIBERNATE is not
    /// evaluated, no method is searched for.
    pub fn find(config: &Config, world: &dyn World) -> (Option<Self>, SleepSupport, Option<String>) {
        let view = config.view(world);
        let text = |name: &str| view.text(name).map(|text| text.to_string());
        let given = text("HIBERNATION_PLUGIN").filter(|path| !path.is_empty());
        let installed = || text("LIBEXEC").map(|directory| format!("{directory}/condor_power_state"));
        let path = given.clone().or_else(|| installed().filter(|path| Path::new(path).is_file()));
        if let Some(path) = path {
            let debug = view.flag("HIBERNATION_DEBUG", false);
            let mut words = vec![BString::from(path.clone())];
            words.extend(debug.then(|| "-d".into()));
            let arguments = text("HIBERNATION_PLUGIN_ARGS").unwrap_or_default();
            let separator = |letter: char| letter == ',' || letter.is_whitespace();
            words.extend(arguments.split(separator).filter(|word| !word.is_empty()).map(BString::from));
            return match query_plugin(&words, world) {
                Ok(states) => (Some(SleepMethod::Plugin(words)), states, None),
                Err(reason) => {
                    let warning = format!("the hibernation plugin '{path}' cannot be used: 'ad' {reason}");
                    (None, SleepSupport::default(), Some(warning))
                }
            };
        }
        if view.int("HIBERNATE_CHECK_INTERVAL").ok().flatten().is_none_or(|setting| setting.value <= 0) {
            return (None, SleepSupport::default(), None);
        }
        find_linux_method(text("LINUX_HIBERNATION_METHOD").as_deref(), world)
    }

    /// Returns the command that puts the machine into a state, or `None` if the method does not support the state.
    pub(super) fn command(&self, state: SleepState) -> Option<Vec<BString>> {
        let words = |words: &[&str]| Some(words.iter().map(|word| BString::from(*word)).collect());
        let shell = |script: String| words(&["/bin/sh", "-c", &script]);
        match (self, state) {
            (SleepMethod::Plugin(plugin), _) => {
                let rest = ["set", state.name()].map(BString::from);
                Some(plugin.iter().cloned().chain(rest).collect())
            }
            (_, SleepState::S5) => words(&[POWER_OFF]),
            (SleepMethod::PmUtils, SleepState::S3) => words(&[PM_SUSPEND]),
            (SleepMethod::PmUtils, SleepState::S4) => words(&[PM_HIBERNATE]),
            (SleepMethod::SysPower, SleepState::S1) => shell(format!("echo standby > {SYS_POWER_STATE}")),
            (SleepMethod::SysPower, SleepState::S3) => shell(format!("echo mem > {SYS_POWER_STATE}")),
            (SleepMethod::SysPower, SleepState::S4) => {
                shell(format!("echo platform > {SYS_POWER_DISK} && echo disk > {SYS_POWER_STATE}"))
            }
            (SleepMethod::ProcAcpi, SleepState::S1 | SleepState::S3 | SleepState::S4) => {
                shell(format!("echo {} > {PROC_ACPI_SLEEP}", state.level()))
            }
            (SleepMethod::PmUtils | SleepMethod::SysPower | SleepMethod::ProcAcpi, _) => None,
        }
    }
}

/// Calls the plugin and returns the states that it reports.
fn query_plugin(words: &[BString], world: &dyn World) -> Result<SleepSupport, String> {
    let argv = words.iter().cloned().chain([BString::from("ad")]).collect();
    let command = ExternalCommand {
        argv,
        stdin: Vec::new(),
        merge_stderr: true,
        timeout: PLUGIN_TIMEOUT,
        output_limit: 64 * 1024,
    };
    let output = world.run(&command).map_err(|error| format!("failed: {error}"))?;
    let ad = parse_printed_ad(&output.stdout, world)?;
    let states =
        ad.string("HibernationSupportedStates").ok_or("does not print HibernationSupportedStates")?;
    Ok(SleepSupport {
        supported: parse_sleep_states(&states.to_string()),
        method: ad.string("HibernationMethod").map(|method| method.to_string()),
    })
}

fn parse_sleep_states(text: &str) -> Vec<SleepState> {
    let separator = |letter: char| letter == ',' || letter.is_whitespace() || letter == '[' || letter == ']';
    let mut states: Vec<_> = text.split(separator).filter_map(SleepState::from_name).collect();
    states.sort();
    states.dedup();
    states
}

/// Returns the requested method, or the first available of pm-utils, /sys and /proc if none is requested.
fn find_linux_method(
    method: Option<&str>,
    world: &dyn World,
) -> (Option<SleepMethod>, SleepSupport, Option<String>) {
    let read = |path: &str| {
        let bytes = world.read_file(Path::new(path), Some(4096)).ok()?;
        Some(bytes.to_str_lossy().into_owned())
    };
    let is = |names: &[&str]| {
        method.is_none_or(|method| names.iter().any(|name| name.eq_ignore_ascii_case(method)))
    };
    let supports = |option: &str| {
        let argv = [PM_CHECK, option].map(BString::from).to_vec();
        let command = ExternalCommand {
            argv,
            stdin: Vec::new(),
            merge_stderr: true,
            timeout: PLUGIN_TIMEOUT,
            output_limit: 64 * 1024,
        };
        world.run(&command).is_ok_and(|output| output.exit == Exit::Code(0))
    };
    let found = |sleeper, mut supported: Vec<SleepState>, method: &str| {
        supported.push(SleepState::S5);
        supported.sort();
        supported.dedup();
        (Some(sleeper), SleepSupport { supported, method: Some(method.to_owned()) }, None)
    };
    if is(&["pm-utils"]) && Path::new(PM_CHECK).is_file() {
        let known = [("--suspend", SleepState::S3), ("--hibernate", SleepState::S4)];
        let known =
            known.into_iter().filter(|(option, _)| supports(option)).map(|(_, state)| state).collect();
        return found(SleepMethod::PmUtils, known, "pm-utils");
    }
    if is(&["/sys", "sys"])
        && let Some(text) = read(SYS_POWER_STATE)
    {
        let mut states = parse_sleep_states(&text);
        let disk = read(SYS_POWER_DISK).unwrap_or_default();
        states.extend(disk.contains("platform").then_some(SleepState::S4));
        return found(SleepMethod::SysPower, states, "/sys");
    }
    if is(&["/proc", "proc"])
        && let Some(text) = read(PROC_ACPI_SLEEP)
    {
        return found(SleepMethod::ProcAcpi, parse_sleep_states(&text), "/proc");
    }
    let warning = match method {
        Some(method) => format!("LINUX_HIBERNATION_METHOD = {method} is missing: the machine cannot sleep"),
        None => "HIBERNATE_CHECK_INTERVAL is set, but no way to make this machine sleep was found".to_owned(),
    };
    (None, SleepSupport::default(), Some(warning))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_method_has_its_commands() {
        let plugin = SleepMethod::Plugin(vec!["/p".into(), "-x".into()]);
        assert_eq!(plugin.command(SleepState::S4).unwrap(), ["/p", "-x", "set", "S4"]);
        assert_eq!(SleepMethod::PmUtils.command(SleepState::S3).unwrap(), [PM_SUSPEND]);
        assert_eq!(SleepMethod::SysPower.command(SleepState::S3).unwrap()[2], "echo mem > /sys/power/state");
        assert_eq!(SleepMethod::ProcAcpi.command(SleepState::S5).unwrap(), [POWER_OFF]);
        assert_eq!(SleepMethod::SysPower.command(SleepState::S2), None);
    }

    #[test]
    fn only_named_sleep_states_of_a_file_are_used() {
        assert_eq!(
            parse_sleep_states("freeze standby mem disk\n"),
            [SleepState::S1, SleepState::S3, SleepState::S4]
        );
        assert_eq!(parse_sleep_states("S4, S1,S1"), [SleepState::S1, SleepState::S4]);
    }
}
