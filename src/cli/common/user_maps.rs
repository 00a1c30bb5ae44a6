//! The maps of users for programs that read no configuration otherwise: it is read when `userMap()` is first called.

use super::Session;
use super::problem::is_without_configuration;
use crate::classad::UserMaps;
use crate::config::{CommandPolicy, Config, LoadOptions, Who};
use crate::os::{RealWorld, SharedMaps};

/// The maps of a tool (TOOL_CLASSAD_USER_MAP_NAMES) from the configuration of the environment, once they are asked. What is wrong
/// with them is told by `session`, where there is one.
pub(crate) fn maps_of_tool(session: Option<&Session>) -> SharedMaps {
    let session = session.cloned();
    let load = move || {
        let warn = |text: &str| session.iter().for_each(|session| session.warn(text));
        let world = RealWorld::new();
        let who = Who { subsystem: "TOOL".into(), ..Who::default() };
        let options = LoadOptions { commands: CommandPolicy::BOUNDED, ..LoadOptions::default() };
        match Config::load(&world, &who, &options) {
            Ok((config, _)) => {
                let maps = config.user_maps(&world);
                maps.problems().iter().for_each(|problem| warn(problem));
                maps
            }
            Err(error) => {
                if !is_without_configuration(&error) {
                    warn(&format!("there are no user maps, since the configuration cannot be read: {error}"));
                }
                UserMaps::default()
            }
        }
    };
    RealWorld::new().user_maps(load).shared_maps()
}
