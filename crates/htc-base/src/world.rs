//! Interface to everything outside the process that evaluation, configuration or a transform may access.
//!
//! The real implementation is in `htc-os`; tests implement the trait themselves. The crates below `htc-os` access the outside
//! only through this trait, which makes them testable and reproducible.

use std::ffi::{OsStr, OsString};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use bstr::BString;

pub use htc_classad::Zone;
use htc_classad::{EvalWorld, LanguageMode, UserMaps};

use crate::process::Exit;
use crate::time::ClockReading;

/// Everything outside of the process: files, clock, environment, accounts, machine. ClassAd evaluation uses only the
/// supertrait [`EvalWorld`].
pub trait World: EvalWorld {
    /// Returns the current time on both clocks.
    fn now(&self) -> ClockReading;

    /// Returns the local time zone at a time in seconds since the epoch.
    fn zone(&self, epoch: i64) -> Zone;

    /// Returns the next 64 random bits.
    fn random(&self) -> u64;

    /// Restarts the random generator from a seed, after which the same seed always gives the same numbers. Has no effect if
    /// the world does not support seeds.
    fn reseed(&self, _seed: u64) {}

    /// Returns the value of an environment variable, or `None` if the variable is not set.
    fn env(&self, name: &OsStr) -> Option<OsString>;

    /// Returns all environment variables in the order of `environ`.
    fn environment(&self) -> Vec<(OsString, OsString)>;

    /// Returns the content of a file, or only its first `limit` bytes if a limit is given. Without a limit, a file of more
    /// than 1 GiB is an error of kind `FileTooLarge`.
    fn read_file(&self, path: &Path, limit: Option<u64>) -> io::Result<Vec<u8>>;

    /// Writes a new file, or replaces the content of an existing file. A new file has mode 0666 minus the umask.
    fn write_file(&self, path: &Path, content: &[u8]) -> io::Result<()>;

    /// Returns the names of the entries of a directory, except `.` and `..`, in no particular order.
    fn list_dir(&self, path: &Path) -> io::Result<Vec<OsString>>;

    /// Returns the result of `stat` for a path, which follows links.
    fn stat(&self, path: &Path) -> io::Result<FileStatus>;

    /// Returns the path with all links resolved.
    fn real_path(&self, path: &Path) -> io::Result<PathBuf>;

    /// True if the process may execute the file at `path` (`access` with X_OK).
    fn may_execute(&self, path: &Path) -> bool;

    /// Returns the working directory.
    fn current_dir(&self) -> io::Result<PathBuf>;

    /// Runs a command until it exits, with limits on time and output.
    fn run(&self, command: &ExternalCommand) -> io::Result<CommandOutput>;

    /// Returns the account with this name, or `None` if there is no such account.
    fn account_by_name(&self, name: &[u8]) -> Option<Account>;

    /// Returns the account with this user id, or `None` if there is no such account.
    fn account_by_uid(&self, uid: u32) -> Option<Account>;

    /// Returns the effective user id of the process.
    fn effective_uid(&self) -> u32;

    /// Returns facts about the machine, which are measured when they are first needed.
    fn machine(&self) -> MachineFacts;

    /// Returns the host name, the full host name and the default address. This is cheaper than [`World::machine`].
    fn host(&self) -> [String; 3] {
        let machine = self.machine();
        [machine.host, machine.full_host, machine.ip_address]
    }

    /// Returns the full host name.
    fn full_host(&self) -> String {
        let [_, full_host, _] = self.host();
        full_host
    }

    /// Returns the default address.
    fn ip_address(&self) -> String {
        let [_, _, address] = self.host();
        address
    }

    /// Returns the addresses of all network interfaces in the system's order, or an empty list if the addresses are unknown.
    fn interfaces(&self) -> Vec<InterfaceAddress> {
        Vec::new()
    }
}

/// Address of a network interface.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InterfaceAddress {
    /// Name of the interface, such as `eth0`.
    pub name: String,
    /// IP address.
    pub address: core::net::IpAddr,
    /// True if the interface is up.
    pub is_up: bool,
}

impl NetworkAdapter {
    /// Kernel flag for Wake-on-LAN by magic packets, which condor_rooster sends (`WAKE_MAGIC`).
    pub const MAGIC_PACKET_FLAG: u32 = 1 << 5;

    /// Returns true if a magic packet wakes the machine.
    pub fn can_wake_on_lan(&self) -> bool {
        self.supported_wake_flags & self.enabled_wake_flags & Self::MAGIC_PACKET_FLAG != 0
    }
}

/// Network adapter of the machine, with values as published in ads (`LinuxNetworkAdapter`).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NetworkAdapter {
    /// Hardware address of the network adapter.
    pub hardware_address: String,
    /// Subnet mask.
    pub subnet_mask: String,
    /// Wake-up events that the adapter supports, as kernel flags `WAKE_*`.
    pub supported_wake_flags: u32,
    /// Wake-up events that are enabled, as kernel flags `WAKE_*`.
    pub enabled_wake_flags: u32,
}

/// File status from `stat`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileStatus {
    /// Kind of the file.
    pub kind: FileKind,
    /// Permission bits including the set-id and sticky bits (`st_mode & 0o7777`).
    pub mode: u32,
    /// User id of the owner.
    pub uid: u32,
    /// Group id of the file.
    pub gid: u32,
    /// Size in bytes.
    pub size: u64,
    /// Modification time in seconds since the epoch.
    pub modified: i64,
    /// Nanoseconds within the second of the modification time.
    pub modified_nanos: i64,
}

/// Kind of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileKind {
    /// Regular file.
    File,
    /// Directory.
    Directory,
    /// Pipe, socket or device.
    Other,
}

/// External command to run until it exits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExternalCommand {
    /// Program and its arguments. A program without a slash is searched in PATH.
    pub argv: Vec<BString>,
    /// Standard input of the external command.
    pub stdin: Vec<u8>,
    /// True to merge standard error into standard output.
    pub merge_stderr: bool,
    /// Time after which the command is killed.
    pub timeout: Duration,
    /// Maximum size of the output in bytes. Larger output is an error of kind `FileTooLarge`.
    pub output_limit: usize,
}

impl ExternalCommand {
    /// Creates a command with empty standard input and an output limit of 1 MiB.
    pub fn new(argv: Vec<BString>, timeout: Duration) -> Self {
        ExternalCommand { argv, stdin: Vec::new(), merge_stderr: false, timeout, output_limit: 1 << 20 }
    }
}

/// Result of a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommandOutput {
    /// Exit status of the command.
    pub exit: Exit,
    /// Standard output of the command.
    pub stdout: Vec<u8>,
}

/// Entry of the password file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Account {
    /// Login name.
    pub name: BString,
    /// User id.
    pub uid: u32,
    /// Primary group id.
    pub gid: u32,
    /// Home directory.
    pub home: BString,
}

/// Facts about the machine, used for configuration and slots.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MachineFacts {
    /// Name of the host without its domain.
    pub host: String,
    /// Fully qualified host name, or the host name if the domain is unknown.
    pub full_host: String,
    /// Default address.
    pub ip_address: String,
    /// Output of `uname -s`, `uname -m` and `uname -r`.
    pub uname: [String; 3],
    /// Number of logical processors that the process may use.
    pub cpus: u32,
    /// Number of physical cores.
    pub cores: u32,
    /// Physical memory in bytes.
    pub memory: u64,
    /// Swap space in bytes.
    pub swap: u64,
    /// `ID`, `VERSION_ID` and `PRETTY_NAME` from the os-release file; a field that is missing there is empty.
    pub os_release: [String; 3],
}

/// Implements [`EvalWorld`] and [`World`] for a type that wraps another world and has its own clock, language mode and
/// `replaced_text`, which returns the text that replaces a file, or `None` if the file is read from the wrapped world.
macro_rules! implement_wrapped_world {
    ($kind:ident, |$it:ident| $now:expr, $mode:expr) => {
        impl EvalWorld for $kind<'_> {
            fn epoch(&self) -> i64 {
                self.now().epoch()
            }
            fn local_zone(&self, epoch: i64) -> Zone {
                self.world.zone(epoch)
            }
            fn random_bits(&self) -> u64 {
                self.world.random()
            }
            fn home(&self, user: &[u8]) -> Option<BString> {
                self.world.home(user)
            }
            fn user_maps(&self) -> Option<&UserMaps> {
                self.world.user_maps()
            }
            fn language_mode(&self) -> LanguageMode {
                let $it = self;
                $mode
            }
        }

        impl World for $kind<'_> {
            fn now(&self) -> ClockReading {
                let $it = self;
                $now
            }
            fn zone(&self, epoch: i64) -> Zone {
                self.world.zone(epoch)
            }
            fn random(&self) -> u64 {
                self.world.random()
            }
            fn reseed(&self, seed: u64) {
                self.world.reseed(seed);
            }
            fn env(&self, name: &OsStr) -> Option<OsString> {
                self.world.env(name)
            }
            fn environment(&self) -> Vec<(OsString, OsString)> {
                self.world.environment()
            }
            fn read_file(&self, path: &Path, limit: Option<u64>) -> io::Result<Vec<u8>> {
                match self.replaced_text(path) {
                    Some(text) => {
                        let limit = limit.and_then(|limit| usize::try_from(limit).ok());
                        Ok(text[..limit.unwrap_or(text.len()).min(text.len())].to_vec())
                    }
                    None => self.world.read_file(path, limit),
                }
            }
            fn write_file(&self, path: &Path, content: &[u8]) -> io::Result<()> {
                self.world.write_file(path, content)
            }
            fn list_dir(&self, path: &Path) -> io::Result<Vec<OsString>> {
                self.world.list_dir(path)
            }
            fn stat(&self, path: &Path) -> io::Result<FileStatus> {
                self.world.stat(path)
            }
            fn real_path(&self, path: &Path) -> io::Result<PathBuf> {
                self.world.real_path(path)
            }
            fn may_execute(&self, path: &Path) -> bool {
                self.world.may_execute(path)
            }
            fn current_dir(&self) -> io::Result<PathBuf> {
                self.world.current_dir()
            }
            fn run(&self, command: &ExternalCommand) -> io::Result<CommandOutput> {
                self.world.run(command)
            }
            fn account_by_name(&self, name: &[u8]) -> Option<Account> {
                self.world.account_by_name(name)
            }
            fn account_by_uid(&self, uid: u32) -> Option<Account> {
                self.world.account_by_uid(uid)
            }
            fn effective_uid(&self) -> u32 {
                self.world.effective_uid()
            }
            fn machine(&self) -> MachineFacts {
                self.world.machine()
            }
            fn host(&self) -> [String; 3] {
                self.world.host()
            }
            fn interfaces(&self) -> Vec<InterfaceAddress> {
                self.world.interfaces()
            }
        }
    };
}

/// World with a stopped clock that passes all other requests to the wrapped world. Used to evaluate expressions inside a
/// state machine.
pub struct FrozenClockWorld<'a> {
    /// Wrapped world.
    pub world: &'a dyn World,
    /// Time that the clock returns.
    pub now: ClockReading,
}

impl FrozenClockWorld<'_> {
    fn replaced_text(&self, _: &Path) -> Option<&[u8]> {
        None
    }
}

implement_wrapped_world!(FrozenClockWorld, |it| it.now, it.world.language_mode());

/// World that parses and evaluates expressions in its own language mode and passes all other requests to the wrapped
/// world. Used if several configurations have different modes.
pub struct FixedModeWorld<'a> {
    /// Wrapped world.
    pub world: &'a dyn World,
    /// True for strict mode, false for condor mode.
    pub strict: bool,
}

impl FixedModeWorld<'_> {
    fn replaced_text(&self, _: &Path) -> Option<&[u8]> {
        None
    }
}

implement_wrapped_world!(
    FixedModeWorld,
    |it| it.world.now(),
    LanguageMode { strict: it.strict, ..it.world.language_mode() }
);

/// World in which some files are replaced by texts in memory, for example a pipe, which can be read only once. All
/// other requests are passed to the wrapped world.
pub struct FileTextsWorld<'a> {
    /// Wrapped world.
    pub world: &'a dyn World,
    /// Paths of the replaced files as the reader spells them, each with the text that replaces the file.
    pub texts: &'a [(PathBuf, Vec<u8>)],
}

impl FileTextsWorld<'_> {
    fn replaced_text(&self, path: &Path) -> Option<&[u8]> {
        self.texts.iter().find(|(file, _)| file == path).map(|(_, text)| text.as_slice())
    }
}

implement_wrapped_world!(FileTextsWorld, |it| it.world.now(), it.world.language_mode());
