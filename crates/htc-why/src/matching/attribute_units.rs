//! Units of the values of attributes, and values of clock attributes as text.

/// Attributes whose numbers have a unit.
const UNITS: [(&str, &str); 37] = [
    ("AllowedExecuteDuration", "seconds"),
    ("AllowedJobDuration", "seconds"),
    ("BatchRuntime", "seconds"),
    ("CommittedTime", "seconds"),
    ("ConsoleIdle", "seconds"),
    ("CumulativeSuspensionTime", "seconds"),
    ("DetectedMemory", "MiB"),
    ("Disk", "KiB"),
    ("DiskUsage", "KiB"),
    ("ImageSize", "KiB"),
    ("JobLeaseDuration", "seconds"),
    ("JobMaxVacateTime", "seconds"),
    ("KeyboardIdle", "seconds"),
    ("MachineMaxVacateTime", "seconds"),
    ("MaxJobRetirementTime", "seconds"),
    ("MaxWallTimeMins", "minutes"),
    ("Memory", "MiB"),
    ("MemoryUsage", "MiB"),
    ("OriginalMaxWallTimeMins", "minutes"),
    ("RemoteSysCpu", "seconds"),
    ("RemoteUserCpu", "seconds"),
    ("RemoteWallClockTime", "seconds"),
    ("RequestDisk", "KiB"),
    ("RequestMemory", "MiB"),
    ("ResidentSetSize", "KiB"),
    ("RetirementTimeRemaining", "seconds"),
    ("ScratchDirSizeLimit", "KiB"),
    ("TotalDisk", "KiB"),
    ("TotalJobRunTime", "seconds"),
    ("TotalMemory", "MiB"),
    ("TotalSlotDisk", "KiB"),
    ("TotalSlotMemory", "MiB"),
    ("TotalTimeClaimedBusy", "seconds"),
    ("TotalVirtualMemory", "KiB"),
    ("TransferInputSizeMB", "MiB"),
    ("VirtualMemory", "KiB"),
    ("WallClockCheckpoint", "seconds"),
];

/// Ends of names of attributes that a site defines, with their units.
const ENDINGS: [(&str, &str); 6] = [
    ("Mins", "minutes"),
    ("Minutes", "minutes"),
    ("Secs", "seconds"),
    ("Seconds", "seconds"),
    ("Hours", "hours"),
    ("Days", "days"),
];

/// Days of the week from 0, as in ClockDay.
const DAYS: [&str; 7] = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"];

const MINUTES_OF_DAY: i64 = 24 * 60;

/// Returns the unit of an attribute's numbers, or `None` if it has none or the unit is unknown.
pub(super) fn unit_of(name: &str) -> Option<&'static str> {
    let known = UNITS.iter().find(|(known, _)| known.eq_ignore_ascii_case(name));
    // The case is significant: `MaxDays` is a number of days, but `Holidays` is not.
    let ending = || ENDINGS.iter().find(|(end, _)| name.len() > end.len() && name.ends_with(end));
    known.or_else(ending).map(|(_, unit)| *unit)
}

/// Returns a number of ClockMin as a time of day, or one of ClockDay as a day; `None` for other attributes and numbers.
pub(super) fn clock_text(name: &str, number: i64) -> Option<String> {
    if name.eq_ignore_ascii_case("ClockMin") && (0..=MINUTES_OF_DAY).contains(&number) {
        return Some(format!("{}:{:02}", number / 60, number % 60));
    }
    let day = usize::try_from(number).ok().filter(|_| name.eq_ignore_ascii_case("ClockDay"))?;
    DAYS.get(day).map(|day| (*day).to_owned())
}

#[cfg(test)]
mod tests {
    use super::{clock_text, unit_of};

    #[test]
    fn numbers_of_the_clock_are_times_and_days() {
        assert_eq!(clock_text("ClockMin", 1020).as_deref(), Some("17:00"));
        assert_eq!(clock_text("clockmin", 65).as_deref(), Some("1:05"));
        assert_eq!(clock_text("ClockDay", 6).as_deref(), Some("Saturday"));
        for (name, number) in [("ClockMin", 1441), ("ClockMin", -1), ("ClockDay", 7), ("Cpus", 1)] {
            assert_eq!(clock_text(name, number), None, "{name} {number}");
        }
    }

    #[test]
    fn units_are_those_of_the_name() {
        for (name, unit) in
            [("requestmemory", "MiB"), ("MaxWallTimeMins", "minutes"), ("SiteLimitHours", "hours")]
        {
            assert_eq!(unit_of(name), Some(unit), "{name}");
        }
        for name in ["Cpus", "Holidays", "Mins", "ClockMin"] {
            assert_eq!(unit_of(name), None, "{name}");
        }
    }
}
