//! Runs all checks, in the order in which a run uses what they check.

use super::check::DoctorCheck;
use super::doctor_input::DoctorInput;
use super::{directories, disk, hooks, machine};

/// Runs all checks.
pub fn run_all_checks(input: &DoctorInput<'_>) -> Vec<DoctorCheck> {
    let mut checks = machine::check_slots(input);
    checks.extend(hooks::check_accounts(input));
    checks.extend(hooks::check_hooks(input));
    checks.extend(hooks::check_cron_jobs(input));
    checks.extend(hooks::check_backfill(input));
    checks.extend(directories::check_host_directories(input));
    checks.extend(disk::check_disk_limits(input));
    checks.extend(machine::check_machine(input));
    checks.extend(machine::check_console_devices(input));
    checks
}
