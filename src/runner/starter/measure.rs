//! What the kernel counts of a family, in the measures of the machine.

use crate::os::accounting;
use crate::starter::FamilyUsage;

/// The use of a family as the machine is told of it.
pub(super) fn family_usage(usage: &accounting::FamilyUsage) -> FamilyUsage {
    FamilyUsage {
        processes: u32::try_from(usage.pids.len()).unwrap_or(u32::MAX),
        user: usage.user,
        system: usage.system,
        max_image_kib: usage.max_image_kib,
        resident_kib: usage.resident_kib,
        ..FamilyUsage::default()
    }
}
