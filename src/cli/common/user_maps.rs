//! User maps for programs that need no configuration for anything else. The configuration is read when `userMap()` is first
//! called.

use super::ProgramContext;
use crate::classad::UserMaps;
use crate::config::{CommandPolicy, Config, LoadOptions, LookupContext};
use crate::os::{RealWorld, SharedUserMaps};

/// Returns the user maps of a tool (TOOL_CLASSAD_USER_MAP_NAMES). They are loaded from the configuration when they are
/// first needed. Warnings about them are printed by `session`, or not at all if it is `None`.
pub(crate) fn tool_user_maps(session: Option<&ProgramContext>) -> SharedUserMaps {
    let session = session.cloned();
    let load = move || {
        let warn = |text: &str| session.iter().for_each(|session| session.warn(text));
        let world = RealWorld::new();
        let context = LookupContext { subsystem: "TOOL".into(), ..LookupContext::default() };
        let options = LoadOptions { commands: CommandPolicy::BOUNDED_RUN, ..LoadOptions::default() };
        match Config::load(&world, &context, &options) {
            Ok((config, _)) => {
                let maps = config.user_maps(&world);
                maps.problems().iter().for_each(|problem| warn(problem));
                maps
            }
            Err(error) => {
                if !error.is_config_missing {
                    warn(&format!(
                        "there are no user maps, because the configuration cannot be read: {error}"
                    ));
                }
                UserMaps::default()
            }
        }
    };
    RealWorld::new().with_user_map_loader(load).shared_user_maps()
}
