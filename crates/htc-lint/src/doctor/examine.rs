//! Everything is looked at, in the order in which a run needs it.

use super::check::Check;
use super::patient::Patient;
use super::{disk, hooks, machine, places};

/// Looks at everything.
pub fn examine(patient: &Patient<'_>) -> Vec<Check> {
    let mut checks = machine::slots(patient);
    checks.extend(hooks::users(patient));
    checks.extend(hooks::hooks(patient));
    checks.extend(hooks::cron(patient));
    checks.extend(hooks::backfill(patient));
    checks.extend(places::places(patient));
    checks.extend(disk::disk(patient));
    checks.extend(machine::machine(patient));
    checks.extend(machine::console(patient));
    checks
}
