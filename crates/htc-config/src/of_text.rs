//! Configurations for tests, from their texts.

#[cfg(test)]
use super::{Config, LoadOptions, LookupContext};
#[cfg(test)]
use htc_os::RealWorld;

/// Returns the configuration that a daemon reads from a file with this text.
#[cfg(test)]
pub(crate) fn config_of(subsystem: &str, text: &str) -> (Config, RealWorld) {
    let home = tempfile::tempdir().unwrap();
    let file = home.path().join("condor_config");
    std::fs::write(&file, text).unwrap();
    let world = RealWorld::new();
    let context = LookupContext { subsystem: subsystem.into(), local_name: "".into() };
    let options =
        LoadOptions { file: Some(file), environment: false, user_file: false, ..LoadOptions::default() };
    let (config, _) = Config::load(&world, &context, &options).unwrap();
    (config, world)
}
