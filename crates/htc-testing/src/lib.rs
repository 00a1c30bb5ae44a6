//! Helpers for the tests of several crates. Only tests depend on this crate.

use htc_config::{Config, LoadOptions, LookupContext};
use htc_os::RealWorld;

/// Returns the configuration that a daemon reads from a file with this text, and the world in which it was read.
///
/// # Panics
/// Panics if no temporary directory can be created, or if the text is not a valid configuration.
pub fn config_of(subsystem: &str, text: &str) -> (Config, RealWorld) {
    let home = tempfile::tempdir().expect("a temporary directory");
    let file = home.path().join("condor_config");
    std::fs::write(&file, text).expect("a file");
    let world = RealWorld::new();
    let who = LookupContext { subsystem: subsystem.into(), local_name: "".into() };
    let options =
        LoadOptions { file: Some(file), environment: false, user_file: false, ..LoadOptions::default() };
    let (config, _) = Config::load(&world, &who, &options).expect("a configuration");
    (config, world)
}
