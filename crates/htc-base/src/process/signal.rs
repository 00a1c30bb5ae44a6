//! Names and descriptions of signals, as used in job ads and results.

/// Signal names and numbers of `sig_name.cpp` on Linux for x86. The reference's table has no real-time signals.
const SIGNAL_NAMES: &[(i32, &str)] = &[
    (9, "SIGKILL"),
    (18, "SIGCONT"),
    (15, "SIGTERM"),
    (3, "SIGQUIT"),
    (1, "SIGHUP"),
    (19, "SIGSTOP"),
    (20, "SIGTSTP"),
    (10, "SIGUSR1"),
    (12, "SIGUSR2"),
    (17, "SIGCHLD"),
    (6, "SIGABRT"),
    (14, "SIGALRM"),
    (8, "SIGFPE"),
    (4, "SIGILL"),
    (2, "SIGINT"),
    (13, "SIGPIPE"),
    (11, "SIGSEGV"),
    (5, "SIGTRAP"),
    (21, "SIGTTIN"),
    (22, "SIGTTOU"),
    (29, "SIGIO"),
    (7, "SIGBUS"),
    (23, "SIGURG"),
    (27, "SIGPROF"),
    (28, "SIGWINCH"),
    (31, "SIGSYS"),
    (24, "SIGXCPU"),
    (25, "SIGXFSZ"),
];

/// Descriptions of the signals 1 to 31, as returned by glibc's `strsignal`.
const SIGNAL_DESCRIPTIONS: [&str; 31] = [
    "Hangup",
    "Interrupt",
    "Quit",
    "Illegal instruction",
    "Trace/breakpoint trap",
    "Aborted",
    "Bus error",
    "Floating point exception",
    "Killed",
    "User defined signal 1",
    "Segmentation fault",
    "User defined signal 2",
    "Broken pipe",
    "Alarm clock",
    "Terminated",
    "Stack fault",
    "Child exited",
    "Continued",
    "Stopped (signal)",
    "Stopped",
    "Stopped (tty input)",
    "Stopped (tty output)",
    "Urgent I/O condition",
    "CPU time limit exceeded",
    "File size limit exceeded",
    "Virtual timer expired",
    "Profiling timer expired",
    "Window changed",
    "I/O possible",
    "Power failure",
    "Bad system call",
];

/// Returns the number of the signal with this name, ignoring case. The name includes `SIG`: `TERM` is not a valid name
/// (`sig_name.cpp`).
pub fn signal_number(name: &[u8]) -> Option<i32> {
    SIGNAL_NAMES
        .iter()
        .find(|(_, known)| name.eq_ignore_ascii_case(known.as_bytes()))
        .map(|(number, _)| *number)
}

/// Returns the description of a signal as `strsignal` does in the C locale: `Terminated` for 15, `Real-time signal 1` for
/// 35.
pub fn signal_description(number: i32) -> String {
    match usize::try_from(number) {
        Ok(at @ 1..=31) => SIGNAL_DESCRIPTIONS[at - 1].to_owned(),
        // `strsignal` counts from 34, because the C library reserves the signals 32 and 33.
        Ok(at @ 34..=64) => format!("Real-time signal {}", at - 34),
        _ => format!("Unknown signal {number}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signal_names_need_their_prefix_and_ignore_case() {
        assert_eq!(signal_number(b"sigusr2"), Some(12));
        assert_eq!(signal_number(b"TERM"), None);
        assert_eq!(signal_number(b"SIGRTMIN"), None);
    }

    #[test]
    fn signal_descriptions_are_those_of_the_c_library() {
        assert_eq!(signal_description(9), "Killed");
        assert_eq!(signal_description(34), "Real-time signal 0");
        assert_eq!(signal_description(114), "Unknown signal 114");
        assert_eq!(signal_description(0), "Unknown signal 0");
    }
}
