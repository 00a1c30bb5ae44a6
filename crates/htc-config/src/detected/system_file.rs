//! Small files of the system.

use std::path::Path;

use htc_base::world::World;

/// A small file of the system; empty if it cannot be read.
pub(super) fn read_or_empty(world: &dyn World, path: &str) -> Vec<u8> {
    world.read_file(Path::new(path), Some(4 * 1024 * 1024)).unwrap_or_default()
}
