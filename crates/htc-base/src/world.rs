//! Everything outside the process that evaluation, configuration or a transform may ask for, behind one trait.
//!
//! The real one stands in `os`; tests bring their own. No room in L1 to L4 other than `os` reaches outside in any
//! other way, which is what makes them testable and repeatable.

use std::ffi::{OsStr, OsString};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use bstr::BString;

pub use htc_classad::Zone;
use htc_classad::{EvalWorld, LanguageMode, UserMaps};

use crate::process::Exit;
use crate::time::ClockReading;

/// The outside world. To ClassAds it is their own [`EvalWorld`].
pub trait World: EvalWorld {
    /// Both clocks.
    fn now(&self) -> ClockReading;

    /// The local zone at a point of time.
    fn zone(&self, epoch: i64) -> Zone;

    /// The next 64 random bits.
    fn random(&self) -> u64;

    /// Begins the random bits anew from a seed, where that can be done: what is done twice has the same chance.
    fn reseed(&self, _seed: u64) {}

    /// The value of an environment variable.
    fn env(&self, name: &OsStr) -> Option<OsString>;

    /// All environment variables in the order of `environ`.
    fn environment(&self) -> Vec<(OsString, OsString)>;

    /// The content of a file, at most `limit` bytes of it where one is given. Without a limit more than 1 GiB is
    /// an error of the kind `FileTooLarge`.
    fn read_file(&self, path: &Path, limit: Option<u64>) -> io::Result<Vec<u8>>;

    /// Writes a new file or replaces the content of one; a new one has mode 0666 less the umask.
    fn write_file(&self, path: &Path, content: &[u8]) -> io::Result<()>;

    /// The names in a directory, in no particular order, without `.` and `..`.
    fn list_dir(&self, path: &Path) -> io::Result<Vec<OsString>>;

    /// What `stat` says of a path; it follows links.
    fn stat(&self, path: &Path) -> io::Result<FileStatus>;

    /// The path with all links resolved.
    fn real_path(&self, path: &Path) -> io::Result<PathBuf>;

    /// Whether the process may execute the file at `path` (`access` with X_OK).
    fn may_execute(&self, path: &Path) -> bool;

    /// The working directory.
    fn current_dir(&self) -> io::Result<PathBuf>;

    /// Runs a command to its end, bounded in time and output.
    fn run(&self, command: &ExternalCommand) -> io::Result<CommandOutput>;

    /// The account of that name.
    fn account_by_name(&self, name: &[u8]) -> Option<Account>;

    /// The account with that user id.
    fn account_by_uid(&self, uid: u32) -> Option<Account>;

    /// Effective user id of the process.
    fn effective_uid(&self) -> u32;

    /// What is to be known of the machine; measured when first asked for.
    fn machine(&self) -> MachineFacts;

    /// Host name, full host name and default address alone, which are had for less than the whole machine.
    fn host(&self) -> [String; 3] {
        let machine = self.machine();
        [machine.host, machine.full_host, machine.ip_address]
    }

    /// The full host name alone.
    fn full_host(&self) -> String {
        let [_, full_host, _] = self.host();
        full_host
    }

    /// The default address alone.
    fn ip_address(&self) -> String {
        let [_, _, address] = self.host();
        address
    }

    /// The addresses of all network interfaces in the system's order; none where that is not known.
    fn interfaces(&self) -> Vec<InterfaceAddress> {
        Vec::new()
    }
}

/// An address of a network interface.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InterfaceAddress {
    /// The interface, such as `eth0`.
    pub name: String,
    /// Its address.
    pub address: core::net::IpAddr,
    /// Whether the interface is up.
    pub is_up: bool,
}

impl NetworkAdapter {
    /// The kernel's bit for magic packets, which condor_rooster sends.
    pub const MAGIC_PACKET_FLAG: u32 = 1 << 5;

    /// Whether a magic packet wakes the machine.
    pub fn can_wake_on_lan(&self) -> bool {
        self.supported_wake_flags & self.enabled_wake_flags & Self::MAGIC_PACKET_FLAG != 0
    }
}

/// The network adapter of the machine, in the forms of ads (`LinuxNetworkAdapter`).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NetworkAdapter {
    /// Its hardware address.
    pub hardware_address: String,
    /// The mask of its network.
    pub subnet_mask: String,
    /// What it can wake the machine by, in the kernel's bits `WAKE_*`.
    pub supported_wake_flags: u32,
    /// What of that is switched on.
    pub enabled_wake_flags: u32,
}

/// What `stat` tells of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileStatus {
    /// The kind of file.
    pub kind: FileKind,
    /// Permission bits with set-id and sticky bits (`st_mode & 0o7777`).
    pub mode: u32,
    /// Owner.
    pub uid: u32,
    /// Group.
    pub gid: u32,
    /// Size in bytes.
    pub size: u64,
    /// Modification time in seconds since the epoch.
    pub modified: i64,
    /// Nanoseconds beside it.
    pub modified_nanos: i64,
}

/// The kinds of file that matter here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileKind {
    /// A regular file.
    File,
    /// A directory.
    Directory,
    /// A pipe, socket or device.
    Other,
}

/// A command to run to its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExternalCommand {
    /// The program and its arguments. A program without a slash is looked up in PATH.
    pub argv: Vec<BString>,
    /// What it reads.
    pub stdin: Vec<u8>,
    /// Whether its stderr is mixed into its output.
    pub merge_stderr: bool,
    /// When it is killed.
    pub timeout: Duration,
    /// How much of its output is kept, in bytes; more is an error of kind `FileTooLarge`.
    pub output_limit: usize,
}

impl ExternalCommand {
    /// One that reads nothing, and of which a MiB is enough.
    pub fn new(argv: Vec<BString>, timeout: Duration) -> Self {
        ExternalCommand { argv, stdin: Vec::new(), merge_stderr: false, timeout, output_limit: 1 << 20 }
    }
}

/// What came of a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommandOutput {
    /// How it ended.
    pub exit: Exit,
    /// What it wrote.
    pub stdout: Vec<u8>,
}

/// One line of the password file.
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

/// Facts of the machine that configuration and slots are made from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MachineFacts {
    /// Name of the host without its domain.
    pub host: String,
    /// Fully qualified name where one is known, else the name.
    pub full_host: String,
    /// Address used by default.
    pub ip_address: String,
    /// `uname -s`, `uname -m`, `uname -r`.
    pub uname: [String; 3],
    /// Logical processors the process may use.
    pub cpus: u32,
    /// Physical cores among them.
    pub cores: u32,
    /// Physical memory in bytes.
    pub memory: u64,
    /// Swap space in bytes.
    pub swap: u64,
    /// `ID`, `VERSION_ID` and `PRETTY_NAME` of os-release; empty where missing.
    pub os_release: [String; 3],
}

/// Both kinds of worlds below: the one that they are made from, with a clock and a mode of their own.
macro_rules! of_its_world {
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
            fn mode(&self) -> LanguageMode {
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
                self.world.read_file(path, limit)
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

/// A world whose clock stands still, everything else being as in the world it is made from: what an evaluation inside a
/// machine sees.
pub struct FrozenClockWorld<'a> {
    /// Where everything but the time comes from.
    pub world: &'a dyn World,
    /// What the clock shows.
    pub now: ClockReading,
}

of_its_world!(FrozenClockWorld, |it| it.now, it.world.mode());

/// A world in which expressions are read and evaluated in a mode of their own: that of one of several configurations.
pub struct FixedModeWorld<'a> {
    /// Where everything but the mode comes from.
    pub world: &'a dyn World,
    /// Strict mode or condor mode.
    pub strict: bool,
}

of_its_world!(FixedModeWorld, |it| it.world.now(), LanguageMode { strict: it.strict, ..it.world.mode() });
