//! The real world as a configuration has it: the mode of ClassAds and the maps of users.

use htc_config::Config;
use htc_os::RealWorld;

/// The world in the mode of the configuration (STRICT_CLASSAD_EVALUATION), with the maps that `userMap()` asks. What is
/// wrong with a map is handed to `warn`.
pub fn configured_world(world: RealWorld, config: &Config, warn: &mut dyn FnMut(&str)) -> RealWorld {
    let world = world.with_strict_mode(config.is_strict());
    let maps = config.user_maps(&world);
    maps.problems().iter().for_each(|problem| warn(problem));
    world.with_user_map_loader(move || maps)
}
