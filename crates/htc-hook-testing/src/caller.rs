//! What the callers of hooks have where nothing else is said: their environment, their patience, the starter's settings.

use std::time::Duration;

use htc_base::quirks::QuirkMode;
use htc_base::world::World;
use htc_config::{Config, ConfigError, LoadOptions, LookupContext};
use htc_hook::HookCaller;
use htc_os::{RealWorld, identity};
use htc_runner::hook_environment::{ConfigSelection, DaemonEnvironment, HookEnvironment};
use htc_starter::StarterSettings;

/// How long a hook whose caller would wait for ever is waited for, unless somebody says otherwise.
pub const DEFAULT_TIMEOUT: Duration = Duration::from_secs(60);

/// How long a call is waited for: as its caller waits, unless that is to be shorter.
pub fn call_timeout(caller_waits: Option<Duration>, limit: Option<Duration>) -> Duration {
    match (caller_waits, limit) {
        (Some(waits), Some(limit)) => waits.min(limit),
        (Some(waits), None) => waits,
        (None, limit) => limit.unwrap_or(DEFAULT_TIMEOUT),
    }
}

/// What a daemon of this machine hands to its hooks; it runs as this program does.
pub fn caller_environment(world: &dyn World, choice: &ConfigSelection, quirks: QuirkMode) -> HookEnvironment {
    let account = identity::account_by_uid(identity::effective_uid());
    DaemonEnvironment::from_system(account.as_ref(), world, choice).for_hooks(quirks)
}

/// What holds where no configuration is given: the table of defaults.
///
/// # Errors
/// The machine is such that the reference's own defaults stop a daemon.
pub fn default_config(who: LookupContext) -> Result<Config, ConfigError> {
    let nothing = LoadOptions {
        file: Some("/dev/null".into()),
        environment: false,
        local_files: false,
        user_file: false,
        ..LoadOptions::default()
    };
    Config::load(&RealWorld::new(), &who, &nothing).map(|(config, _)| config)
}

/// The starter's settings without a configuration; they are read once.
pub fn default_settings() -> StarterSettings {
    thread_local! {
        static READ: StarterSettings = {
            let who = LookupContext { subsystem: HookCaller::Starter.subsystem().into(), local_name: "".into() };
            let world = RealWorld::new();
            let read = default_config(who).ok().and_then(|config| {
                StarterSettings::read(&config.view(&world), None, &world).ok()
            });
            read.unwrap_or_default()
        };
    }
    READ.with(Clone::clone)
}
