//! Defaults of the callers of hooks: environment, timeouts and starter settings.

use std::time::Duration;

use htc_base::quirks::QuirkMode;
use htc_base::world::World;
use htc_config::{Config, ConfigError, LoadOptions, LookupContext};
use htc_hook::HookCaller;
use htc_os::{RealWorld, identity};
use htc_runner::hook_environment::{ConfigSelection, DaemonEnvironment, HookEnvironment};
use htc_starter::StarterSettings;

/// Time limit of a hook for which its caller would wait forever.
pub const DEFAULT_TIMEOUT: Duration = Duration::from_secs(60);

/// Returns the time limit of a call: the caller's timeout, or `limit` if that is shorter.
pub fn call_timeout(caller_waits: Option<Duration>, limit: Option<Duration>) -> Duration {
    match (caller_waits, limit) {
        (Some(waits), Some(limit)) => waits.min(limit),
        (Some(waits), None) => waits,
        (None, limit) => limit.unwrap_or(DEFAULT_TIMEOUT),
    }
}

/// Returns the environment that a daemon on this machine gives its hooks, if the daemon runs as the account of this
/// program.
pub fn caller_environment(world: &dyn World, choice: &ConfigSelection, quirks: QuirkMode) -> HookEnvironment {
    let account = identity::account_by_uid(identity::effective_uid());
    DaemonEnvironment::from_system(account.as_ref(), world, choice).for_hooks(quirks)
}

/// Returns the configuration in which all parameters have their defaults.
///
/// # Errors
/// A daemon of 25.14 would exit with the defaults on this machine.
pub fn default_config(context: LookupContext) -> Result<Config, ConfigError> {
    let nothing = LoadOptions {
        file: Some("/dev/null".into()),
        environment: false,
        local_files: false,
        user_file: false,
        ..LoadOptions::default()
    };
    Config::load(&RealWorld::new(), &context, &nothing).map(|(config, _)| config)
}

/// Returns the starter's default settings, which are read once per thread.
pub fn default_settings() -> StarterSettings {
    thread_local! {
        static READ: StarterSettings = {
            let context = LookupContext { subsystem: HookCaller::Starter.subsystem().into(), local_name: "".into() };
            let world = RealWorld::new();
            let read = default_config(context).ok().and_then(|config| {
                StarterSettings::read(&config.view(&world), None, &world).ok()
            });
            read.unwrap_or_default()
        };
    }
    READ.with(Clone::clone)
}
