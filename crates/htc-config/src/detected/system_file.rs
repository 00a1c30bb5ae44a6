//! Small system files.

use std::path::Path;

use htc_base::world::World;

/// Reads a small system file, or returns an empty string if it cannot be read.
pub(super) fn read_or_empty(world: &dyn World, path: &str) -> Vec<u8> {
    world.read_file(Path::new(path), Some(4 * 1024 * 1024)).unwrap_or_default()
}
