//! Formatting of values in the tables of jobs.

/// Returns the letter for a JobStatus, as `condor_router_q` prints it.
pub(super) fn status_letter(status: i64) -> String {
    match usize::try_from(status).ok().and_then(|at| b"UIRXCHE".get(at)) {
        Some(&letter) => char::from(letter).to_string(),
        None => status.to_string(),
    }
}

/// Formats an age in seconds in a human-readable form.
pub(super) fn age_text(age: Option<i64>) -> String {
    match age {
        None => "-".into(),
        Some(age) if age < 0 => "0s".into(),
        Some(age) if age < 120 => format!("{age}s"),
        Some(age) if age < 7200 => format!("{}m", age / 60),
        Some(age) if age < 172_800 => format!("{}h", age / 3600),
        Some(age) => format!("{}d", age / 86_400),
    }
}
