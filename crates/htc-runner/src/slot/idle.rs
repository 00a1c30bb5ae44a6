//! Idle times: time since the last input at a terminal of a logged-in user, or at a console device.
//!
//! Reference: `idle_time.cpp` of condor_sysapi. No condor_kbdd runs here to report input in a graphical desktop. The
//! devices of a desktop can be named in CONSOLE_DEVICES if the kernel maintains their access times.

use std::ffi::CStr;
use std::fs;
use std::mem::{offset_of, size_of};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

use nix::libc;
use nix::sys::stat::major;

use htc_config::ConfigView;

/// Idle time in seconds if there was never any input.
const NEVER_USED_SECONDS: i64 = i32::MAX as i64;
/// Paths of the login records.
const UTMP_PATHS: [&str; 2] = ["/var/run/utmp", "/var/adm/utmp"];

/// Idle times in seconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct IdleTimes {
    /// Seconds since the last input at any terminal or console device.
    pub(super) keyboard: i64,
    /// Seconds since the last input at a console device, or `None` if no device is configured.
    pub(super) console: Option<i64>,
}

/// Sources of keyboard and console input.
#[derive(Debug)]
pub struct InputDevices {
    console: Vec<String>,
    all_terminals: bool,
    directory: PathBuf,
    logins: Vec<PathBuf>,
    /// Time of the last input at a terminal, and the time of the measurement. Kept because a terminal disappears when
    /// its user logs out.
    last_terminal_input: Option<(i64, i64)>,
}

impl InputDevices {
    /// Creates the sources of input. `console` is the value of CONSOLE_DEVICES, `all_terminals` that of
    /// STARTD_HAS_BAD_UTMP.
    pub fn new(console: Vec<String>, all_terminals: bool) -> Self {
        let logins = UTMP_PATHS.map(PathBuf::from).to_vec();
        let bare = |name: String| {
            name.strip_prefix("/dev/").filter(|bare| !bare.is_empty()).map(str::to_owned).unwrap_or(name)
        };
        let console = console.into_iter().map(bare).collect();
        InputDevices { console, all_terminals, directory: "/dev".into(), logins, last_terminal_input: None }
    }

    /// Reads the sources of input from the configuration.
    pub fn read(view: &ConfigView<'_>) -> Self {
        let devices = view.list("CONSOLE_DEVICES").ok().flatten();
        let devices = devices.map(|list| list.value.iter().map(ToString::to_string).collect());
        let all_terminals = view.boolean("STARTD_HAS_BAD_UTMP").ok().flatten();
        InputDevices::new(devices.unwrap_or_default(), all_terminals.is_some_and(|setting| setting.value))
    }

    /// Returns the console devices that cannot show any input, each with the reason.
    pub fn unused_console_devices(&self) -> Vec<(&str, &'static str)> {
        let why = |name: &str| match name {
            "" => Some("it is not a valid name"),
            _ if name.starts_with("unix:") => Some("the socket of a display does not show input"),
            _ if !self.directory.join(name).exists() => Some("there is no such device"),
            _ if self.is_null(name) => Some("it is a memory device, like /dev/null"),
            _ => None,
        };
        self.console.iter().filter_map(|name| Some((name.as_str(), why(name)?))).collect()
    }

    /// Measures the idle times.
    pub(super) fn measure_idle(&mut self, now: i64) -> IdleTimes {
        let terminals = match self.all_terminals {
            true => self.idle_of_all_terminals(now),
            false => self.idle_of_login_terminals(now),
        };
        let console = self.console.iter().map(|name| self.device_idle_seconds(name, now)).min();
        // As if condor_kbdd had reported nothing: the last input was at the epoch.
        let keyboard =
            [Some(terminals), console, Some(now)].into_iter().flatten().min().unwrap_or(NEVER_USED_SECONDS);
        IdleTimes { keyboard, console }
    }

    fn idle_of_login_terminals(&mut self, now: i64) -> i64 {
        let Some(text) = self.logins.iter().find_map(|path| fs::read(path).ok()) else {
            return NEVER_USED_SECONDS;
        };
        let lines = text.chunks_exact(size_of::<libc::utmpx>()).filter_map(login_terminal);
        match lines.map(|line| self.device_idle_seconds(&line, now)).min() {
            Some(idle) => {
                self.last_terminal_input = Some((now, idle));
                idle
            }
            None => {
                self.last_terminal_input.map_or(NEVER_USED_SECONDS, |(at, idle)| (now - at + idle).max(0))
            }
        }
    }

    fn idle_of_all_terminals(&self, now: i64) -> i64 {
        let names = |directory: &Path| -> Vec<String> {
            let entries = fs::read_dir(directory).into_iter().flatten().flatten();
            entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
        };
        let plain = names(&self.directory);
        let plain = plain.into_iter().filter(|name| name.starts_with("tty") || name.starts_with("pty"));
        let unix98 = names(&self.directory.join("pts")).into_iter().map(|name| format!("pts/{name}"));
        plain
            .chain(unix98)
            .map(|name| self.device_idle_seconds(&name, now))
            .min()
            .unwrap_or(NEVER_USED_SECONDS)
    }

    /// Returns the idle time of a device according to its access time. A missing device, or one with the driver of
    /// /dev/null, is treated as never used.
    fn device_idle_seconds(&self, name: &str, now: i64) -> i64 {
        if name.is_empty() || name.starts_with("unix:") {
            return now;
        }
        let Ok(status) = fs::metadata(self.directory.join(name)) else { return now };
        if self.is_null(name) {
            return now;
        }
        (now - status.atime()).max(0)
    }

    /// Returns true if a device has the same driver as /dev/null.
    fn is_null(&self, name: &str) -> bool {
        let of = |name: &str| fs::metadata(self.directory.join(name)).ok();
        let null = of("null").filter(|null| null.file_type().is_char_device());
        let same =
            |null: fs::Metadata| of(name).is_some_and(|other| major(null.rdev()) == major(other.rdev()));
        null.is_some_and(same)
    }
}

/// Length of `ut_line` in every libc for Linux (`UT_LINESIZE`, which the `libc` crate has only for glibc).
const TERMINAL_NAME_LENGTH: usize = 32;

/// Returns the terminal of a `utmp` record, or `None` if the record is not a login.
fn login_terminal(record: &[u8]) -> Option<String> {
    let kind = offset_of!(libc::utmpx, ut_type);
    let kind = i16::from_ne_bytes([*record.get(kind)?, *record.get(kind + 1)?]);
    if kind != libc::USER_PROCESS {
        return None;
    }
    let line = record.get(offset_of!(libc::utmpx, ut_line)..)?;
    let line = &line[..line.len().min(TERMINAL_NAME_LENGTH)];
    let line = CStr::from_bytes_until_nul(line).map_or(line, CStr::to_bytes);
    Some(std::ffi::OsStr::from_bytes(line).to_string_lossy().into_owned())
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, SystemTime};

    use super::*;

    fn used(path: &Path, at: u64) {
        let time = SystemTime::UNIX_EPOCH + Duration::from_secs(at);
        let file = fs::File::create(path).unwrap();
        file.set_times(fs::FileTimes::new().set_accessed(time)).unwrap();
    }

    fn login(line: &str, kind: i16) -> Vec<u8> {
        let mut record = vec![0; size_of::<libc::utmpx>()];
        let (at, of_line) = (offset_of!(libc::utmpx, ut_type), offset_of!(libc::utmpx, ut_line));
        record[at..at + 2].copy_from_slice(&kind.to_ne_bytes());
        record[of_line..of_line + line.len()].copy_from_slice(line.as_bytes());
        record
    }

    fn place(console: &[&str], all: bool) -> (tempfile::TempDir, InputDevices) {
        let home = tempfile::tempdir().unwrap();
        fs::create_dir(home.path().join("pts")).unwrap();
        let mut devices = InputDevices::new(console.iter().map(|name| (*name).to_owned()).collect(), all);
        devices.directory = home.path().to_owned();
        devices.logins = vec![home.path().join("none"), home.path().join("utmp")];
        (home, devices)
    }

    #[test]
    fn only_terminals_of_logins_and_the_console_count() {
        let (home, mut devices) = place(&["/dev/mouse", "nothing"], false);
        for (name, at) in [("pts/3", 900), ("tty1", 990), ("mouse", 500)] {
            used(&home.path().join(name), at);
        }
        let logins = [login("pts/3", libc::USER_PROCESS), login("tty1", libc::LOGIN_PROCESS), vec![7; 5]];
        fs::write(home.path().join("utmp"), logins.concat()).unwrap();
        assert_eq!(devices.measure_idle(1000), IdleTimes { keyboard: 100, console: Some(500) });
        // The user at the terminal has logged out: the idle time of the terminal continues to grow.
        fs::write(home.path().join("utmp"), "").unwrap();
        assert_eq!(devices.measure_idle(1050), IdleTimes { keyboard: 150, console: Some(550) });
        used(&home.path().join("mouse"), 2000);
        assert_eq!(devices.measure_idle(1060), IdleTimes { keyboard: 0, console: Some(0) });
    }

    #[test]
    fn without_logins_and_devices_there_was_no_input() {
        let (home, mut devices) = place(&[], false);
        assert_eq!(devices.measure_idle(1_800_000_000), IdleTimes { keyboard: 1_800_000_000, console: None });
        used(&home.path().join("pts/0"), 700);
        used(&home.path().join("ptyp1"), 800);
        let (_, mut all) = place(&[], true);
        all.directory = home.path().to_owned();
        assert_eq!(all.measure_idle(1000), IdleTimes { keyboard: 200, console: None });
    }

    #[test]
    fn another_name_of_dev_null_was_never_used() {
        let devices = InputDevices::new(vec!["zero".into(), "unix:0".into()], false);
        assert_eq!(
            [
                devices.device_idle_seconds("zero", 77),
                devices.device_idle_seconds("unix:0", 77),
                devices.device_idle_seconds("", 77)
            ],
            [77; 3]
        );
    }
}
