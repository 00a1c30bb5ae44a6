//! The accounts of the recordings (condor, alice, bob), which exist only during a replay.
//!
//! If root runs the replay, the program under test runs in a separate mount namespace, in which the password
//! and group files contain these accounts in addition to those of the machine, and in a separate UTS
//! namespace for the host name. Nothing outside is changed. If this is not possible, everything runs as the
//! caller, and checks of accounts are omitted.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::LazyLock;

use super::{Result, forks};

/// Name, uid = gid and home directory of each account.
pub const RECORDED: [(&str, u32, &str); 3] =
    [("condor", 64, "/home/condor"), ("alice", 1501, "/home/alice"), ("bob", 1502, "/home/bob")];

/// Host name inside the namespace.
pub const HOST: &str = "htcreplay";

/// An absolute path: a search on the PATH of the child would first copy the memory of this process.
const UNSHARE: &str = "/usr/bin/unshare";

/// True if root can create a mount namespace here.
static SEPARATE: LazyLock<bool> = LazyLock::new(|| {
    let script = "mount --bind /etc/passwd /etc/passwd && hostname htcreplay";
    let output = forks::output(Command::new(UNSHARE).args(["--mount", "--uts", "sh", "-c", script]));
    output.is_ok_and(|output| output.status.success())
});

/// Capabilities of this machine.
#[derive(Clone, Debug)]
pub struct Accounts {
    /// True if the recorded accounts exist for the program under test.
    pub own: bool,
    /// The host name that the program sees.
    pub host: String,
}

impl Accounts {
    /// Determines the capabilities; checks that must be omitted are added to `left_out`.
    pub fn probe(left_out: &mut Vec<String>) -> Self {
        let real = fs::read_to_string("/proc/sys/kernel/hostname")
            .map_or_else(|_| "localhost".to_owned(), |name| name.trim().to_owned());
        let root = nix::unistd::geteuid().is_root();
        let separate = root && *SEPARATE;
        if !separate {
            let reason = if root { "no mount namespace can be made here" } else { "the caller is not root" };
            left_out.push(format!(
                "uid, gid, groups and home directory of hooks and jobs ({reason}; everything runs as the caller)"
            ));
        }
        Accounts { own: separate, host: if separate { HOST.to_owned() } else { real } }
    }

    /// Writes the files that [`Accounts::command`] mounts.
    pub fn prepare(&self, directory: &Path) -> Result<()> {
        if !self.own {
            return Ok(());
        }
        let write = |file: &str, line: &dyn Fn(&str, u32, &str) -> String| {
            let mut text = fs::read_to_string(format!("/etc/{file}")).unwrap_or_default();
            text = text
                .lines()
                .filter(|old| !RECORDED.iter().any(|(name, ..)| old.starts_with(&format!("{name}:"))))
                .map(|old| format!("{old}\n"))
                .collect();
            RECORDED.iter().for_each(|(name, id, home)| text += &line(name, *id, home));
            let path = directory.join(file);
            fs::write(&path, text).map_err(|error| format!("{}: {error}", path.display()))
        };
        write("passwd", &|name, id, home| format!("{name}:x:{id}:{id}::{home}:/bin/sh\n"))?;
        write("group", &|name, id, _| format!("{name}:x:{id}:\n"))
    }

    /// Returns a command that runs `program` where the accounts exist, as root or as the given account. The
    /// caller adds the arguments.
    pub fn command(&self, directory: &Path, program: &Path, uid: Option<u32>) -> Command {
        if !self.own {
            return Command::new(program);
        }
        let mut command = Command::new(UNSHARE);
        command.args(["--mount", "--uts", "sh", "-c"]);
        command.arg(format!(
            "mount --bind \"$0/passwd\" /etc/passwd && mount --bind \"$0/group\" /etc/group && hostname {HOST} && exec \"$@\""
        ));
        command.arg(directory);
        if let Some(uid) = uid {
            let id = uid.to_string();
            command.args(["setpriv", "--reuid", &id, "--regid", &id, "--clear-groups"]);
        }
        command.arg(program);
        command
    }
}
