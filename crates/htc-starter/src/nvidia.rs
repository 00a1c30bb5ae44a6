//! Devices that the NVIDIA driver lists.

use std::path::PathBuf;

use bstr::{BString, ByteSlice};

use htc_base::world::World;

/// Returns the UUID and minor number of each device of the NVIDIA driver (`make_nvidia_uuid_to_dev_map`).
pub(super) fn nvidia_devices(world: &dyn World) -> Vec<(BString, u32)> {
    let root = PathBuf::from("/proc/driver/nvidia/gpus");
    let mut names = world.list_dir(&root).unwrap_or_default();
    names.sort();
    let mut devices = Vec::new();
    for name in names {
        let Ok(text) = world.read_file(&root.join(name).join("information"), Some(64 * 1024)) else {
            continue;
        };
        let of = |label: &str| {
            text.lines().find_map(|line| line.strip_prefix(label.as_bytes())).map(ByteSlice::trim)
        };
        if let (Some(uuid), Some(minor)) = (of("GPU UUID:"), of("Device Minor:"))
            && let Some(minor) = minor.to_str().ok().and_then(|minor| minor.parse().ok())
        {
            devices.push((uuid.into(), minor));
        }
    }
    devices
}
