//! Resource limits of daemons, which their hooks inherit.

use std::path::Path;

use nix::sys::statvfs::statvfs;

use htc_base::process::{ResourceLimit, ResourceLimitKind};
use htc_hook::ParameterSource;

/// Disk space that must remain free after a core file is written, in blocks of 1 KiB (`SLOP` of
/// `resource_limits.cpp`).
const SLOP: u64 = 50;

/// Returns the limits that every daemon sets when it starts: core files of unlimited size, or no core files if
/// CREATE_CORE_FILES is false (`check_core_files` of `daemon_core_main.cpp`). Only the first letter or digit of that
/// parameter matters (`param_boolean_crufty`).
pub fn daemon_limits(parameters: &dyn ParameterSource) -> Vec<ResourceLimit> {
    let text = parameters.get(b"CREATE_CORE_FILES").unwrap_or_default();
    let none = matches!(text.first(), Some(b'f' | b'F' | b'0'));
    vec![core_limit(none.then_some(0))]
}

/// Returns the limits of a daemon without configuration.
pub fn default_daemon_limits() -> Vec<ResourceLimit> {
    vec![core_limit(None)]
}

/// Returns the limits that the starter sets for itself when it has opened its job's log, so that all hooks after the
/// first update inherit them: core files as large as the disk permits, at most 2 GiB, and a stack of the size that
/// the job requests, or of unlimited size (`sysapi_set_resource_limits`).
pub fn starter_limits(scratch: &Path, stack: Option<u64>) -> Vec<ResourceLimit> {
    let free = statvfs(scratch)
        .map_or(u64::MAX, |status| (status.blocks_available()).saturating_mul(status.fragment_size()) / 1024);
    let cores = free.saturating_sub(SLOP).saturating_mul(1024).min(i32::MAX.unsigned_abs().into());
    let soft = |kind, soft| ResourceLimit { kind, soft, hard: None };
    vec![
        core_limit(Some(cores)),
        soft(ResourceLimitKind::Stack, stack),
        soft(ResourceLimitKind::Cpu, None),
        soft(ResourceLimitKind::FileSize, None),
        soft(ResourceLimitKind::Data, None),
    ]
}

fn core_limit(soft: Option<u64>) -> ResourceLimit {
    ResourceLimit { kind: ResourceLimitKind::Core, soft, hard: None }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_starter_limits_core_files_to_32_bits() {
        let limits = starter_limits(Path::new("/"), Some(1_000_000));
        assert!(limits[0].soft.is_some_and(|core| core <= 2_147_483_647), "{limits:?}");
        assert_eq!(
            limits[1],
            ResourceLimit { kind: ResourceLimitKind::Stack, soft: Some(1_000_000), hard: None }
        );
    }
}
