//! Runs all checks, in the order in which a run uses what they check.

use super::check::DoctorCheck;
use super::doctor_input::DoctorInput;
use super::{directories, disk, hooks, machine};

/// Runs all checks.
pub fn run_all_checks(patient: &DoctorInput<'_>) -> Vec<DoctorCheck> {
    let mut checks = machine::check_slots(patient);
    checks.extend(hooks::check_accounts(patient));
    checks.extend(hooks::check_hooks(patient));
    checks.extend(hooks::check_cron_jobs(patient));
    checks.extend(hooks::check_backfill(patient));
    checks.extend(directories::check_host_directories(patient));
    checks.extend(disk::check_disk_limits(patient));
    checks.extend(machine::check_machine(patient));
    checks.extend(machine::check_console_devices(patient));
    checks
}
