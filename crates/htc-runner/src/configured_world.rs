//! The real world with a configuration's language mode and user maps.

use htc_config::Config;
use htc_os::RealWorld;

/// Returns the world in the language mode of the configuration (STRICT_CLASSAD_EVALUATION), with the maps for
/// `userMap()`. Calls `warn` for each problem of a map.
pub fn configured_world(world: RealWorld, config: &Config, warn: &mut dyn FnMut(&str)) -> RealWorld {
    let world = world.with_strict_mode(config.is_strict());
    let maps = config.user_maps(&world);
    maps.problems().iter().for_each(|problem| warn(problem));
    world.with_user_map_loader(move || maps)
}
