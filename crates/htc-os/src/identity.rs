//! Accounts of the machine, and the ability to switch to them.

use std::ffi::CString;
use std::io::Write;

use bstr::{BStr, BString, ByteSlice};
use nix::sys::stat::Mode;
use nix::unistd::{Gid, Uid, User};

use super::thread_ids as thread;
use htc_base::process::ProcessIdentity;
use htc_base::world::Account;

/// Returns the account with this name, or `None` if there is no such account.
pub fn account_by_name(name: &[u8]) -> Option<Account> {
    User::from_name(name.to_str().ok()?).ok().flatten().map(to_account)
}

/// Returns the account with this user id, or `None` if there is no such account.
pub fn account_by_uid(uid: u32) -> Option<Account> {
    User::from_uid(Uid::from_raw(uid)).ok().flatten().map(to_account)
}

fn to_account(user: User) -> Account {
    use std::os::unix::ffi::OsStringExt;
    Account {
        name: BString::from(user.name),
        uid: user.uid.as_raw(),
        gid: user.gid.as_raw(),
        home: BString::from(user.dir.into_os_string().into_vec()),
    }
}

/// Returns the id of the group with this name, or `None` if there is no such group.
pub fn group_id_by_name(name: &[u8]) -> Option<u32> {
    let name = std::str::from_utf8(name).ok()?;
    nix::unistd::Group::from_name(name).ok().flatten().map(|group| group.gid.as_raw())
}

/// Returns the umask of this process.
pub fn umask() -> u32 {
    let text = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = text.lines().find_map(|line| line.strip_prefix("Umask:")).unwrap_or_default();
    u32::from_str_radix(mask.trim(), 8).unwrap_or(0o022)
}

/// Sets the umask of this process, for all threads. Called only when a program starts.
pub fn set_umask(mask: u32) {
    nix::sys::stat::umask(Mode::from_bits_truncate(mask));
}

/// Returns the uid, gid and groups of an account, for a child process.
pub fn identity_of_account(account: &Account) -> ProcessIdentity {
    let gid = Gid::from_raw(account.gid);
    let groups = CString::new(account.name.as_slice())
        .ok()
        .and_then(|name| nix::unistd::getgrouplist(&name, gid).ok())
        .unwrap_or_else(|| vec![gid]);
    ProcessIdentity {
        uid: account.uid,
        gid: account.gid,
        groups: groups.into_iter().map(Gid::as_raw).collect(),
    }
}

/// Returns the uid, gid and groups of a job's owner, for a child process or files, or `None` if this process cannot
/// switch accounts.
///
/// # Errors
/// Fails if the owner has no account on this machine or is root; `not_as_root` is the error message if the owner is
/// root.
pub fn identity_of_owner(owner: &BStr, not_as_root: &str) -> Result<Option<ProcessIdentity>, String> {
    if !can_switch_account() {
        return Ok(None);
    }
    match account_by_name(owner) {
        Some(account) if account.uid != 0 => Ok(Some(identity_of_account(&account))),
        Some(_) => Err(not_as_root.to_owned()),
        None => Err(format!("the job's owner '{owner}' has no account here")),
    }
}

/// Returns an identity with the given uid and gid and no supplementary groups, for `CONDOR_IDS`.
pub fn identity_of_ids(uid: u32, gid: u32) -> ProcessIdentity {
    ProcessIdentity { uid, gid, groups: vec![gid] }
}

/// Performs an action in the file system with the permissions of another account, or with our own permissions if
/// `identity` is `None`.
///
/// Only the effective ids of the calling thread change, and only during the action. The functions of the C library
/// would change the ids of all threads.
///
/// # Errors
/// Fails if the thread cannot take the identity; the action is then not performed. If our own identity cannot be
/// restored afterwards, the program aborts, because it must not continue with the permissions of another account. The
/// kernel permits the restoration, because the saved user id is still ours.
pub fn run_as<T>(identity: Option<&ProcessIdentity>, act: impl FnOnce() -> T) -> std::io::Result<T> {
    let Some(identity) = identity.filter(|identity| identity.uid != effective_uid()) else {
        return Ok(act());
    };
    let own_groups = nix::unistd::getgroups()?;
    let (own_uid, own_gid) = (nix::unistd::geteuid(), nix::unistd::getegid());
    let own_groups: Vec<u32> = own_groups.into_iter().map(Gid::as_raw).collect();
    let change_ids = || {
        thread::set_groups(&identity.groups)?;
        thread::set_effective_gid(identity.gid)?;
        thread::set_effective_uid(identity.uid)
    };
    let restore_ids = || {
        thread::set_effective_uid(own_uid.as_raw())?;
        thread::set_effective_gid(own_gid.as_raw())?;
        thread::set_groups(&own_groups)
    };
    if let Err(error) = change_ids() {
        restore_identity(restore_ids);
        return Err(error);
    }
    let done = act();
    restore_identity(restore_ids);
    Ok(done)
}

/// Restores our own identity, with several attempts, because the kernel may be short of memory for a moment.
fn restore_identity(restore: impl Fn() -> std::io::Result<()>) {
    const ATTEMPTS: u32 = 100;
    const PAUSE: std::time::Duration = std::time::Duration::from_millis(10);
    let mut last = None;
    for _ in 0..ATTEMPTS {
        match restore() {
            Ok(()) => return,
            Err(error) => last = Some(error),
        }
        std::thread::sleep(PAUSE);
    }
    let reason = last.map(|error| error.to_string()).unwrap_or_default();
    let text = format!("cannot return to the account of this program: {reason}\n");
    if let Ok(mut errors) = std::fs::File::options().append(true).open("/proc/self/fd/2") {
        let _ = errors.write_all(text.as_bytes());
    }
    std::process::abort();
}

/// Returns the effective user id of this process.
pub fn effective_uid() -> u32 {
    nix::unistd::geteuid().as_raw()
}

/// Returns true if children can run under another account: we are root and have the required capabilities. In some
/// containers, root does not have them.
pub fn can_switch_account() -> bool {
    const SETGID_AND_SETUID: u64 = (1 << 6) | (1 << 7);
    effective_uid() == 0 && effective_capabilities() & SETGID_AND_SETUID == SETGID_AND_SETUID
}

/// Returns our effective capabilities as a bit mask. If the capabilities cannot be read, root is assumed to have all
/// and any other account none.
pub(super) fn effective_capabilities() -> u64 {
    std::fs::read_to_string("/proc/self/status")
        .ok()
        .and_then(|text| {
            let value = text.lines().find_map(|line| line.strip_prefix("CapEff:"))?;
            u64::from_str_radix(value.trim(), 16).ok()
        })
        .unwrap_or(if effective_uid() == 0 { u64::MAX } else { 0 })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn root_is_found_by_name_and_number() {
        let root = account_by_name(b"root").unwrap();
        assert_eq!(root.uid, 0);
        assert_eq!(account_by_uid(0).unwrap().uid, 0);
        assert!(identity_of_account(&root).groups.contains(&root.gid));
        assert_eq!(account_by_name(b"no such\xff account"), None);
    }

    #[test]
    fn acting_as_another_account_affects_only_one_thread() {
        let (true, Some(nobody)) = (can_switch_account(), account_by_name(b"nobody")) else { return };
        assert_eq!(run_as(Some(&identity_of_account(&nobody)), effective_uid).unwrap(), nobody.uid);
        assert_eq!(effective_uid(), 0);
        let (inside, outside) = (std::sync::Barrier::new(2), std::sync::Barrier::new(2));
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let act = || {
                    inside.wait();
                    outside.wait();
                };
                run_as(Some(&identity_of_account(&nobody)), act).unwrap();
            });
            inside.wait();
            let meanwhile = effective_uid();
            outside.wait();
            assert_eq!(meanwhile, 0);
        });
    }
}
