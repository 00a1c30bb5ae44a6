//! Accounts of the machine, and whether we may become them.

use std::ffi::CString;

use bstr::{BStr, BString, ByteSlice};
use nix::sys::stat::Mode;
use nix::unistd::{Gid, Uid, User};

use super::thread_ids as thread;
use htc_base::process::ProcessIdentity;
use htc_base::world::Account;

/// The account of that name.
pub fn account_by_name(name: &[u8]) -> Option<Account> {
    User::from_name(name.to_str().ok()?).ok().flatten().map(to_account)
}

/// The account with that user id.
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

/// The number of the group of this name.
pub fn group_id_by_name(name: &[u8]) -> Option<u32> {
    let name = std::str::from_utf8(name).ok()?;
    nix::unistd::Group::from_name(name).ok().flatten().map(|group| group.gid.as_raw())
}

/// The umask of this process, unchanged.
pub fn umask() -> u32 {
    let text = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = text.lines().find_map(|line| line.strip_prefix("Umask:")).unwrap_or_default();
    u32::from_str_radix(mask.trim(), 8).unwrap_or(0o022)
}

/// Takes a umask for all files that this process makes from now on. It is the whole process's, of all its threads: a matter of
/// programs, when they begin.
pub fn set_umask(mask: u32) {
    nix::sys::stat::umask(Mode::from_bits_truncate(mask));
}

/// The account with all its groups, as a child takes it on.
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

/// What a job's owner is to a child or to files; `None` where we may change to no other account.
///
/// # Errors
/// The owner has no account here, or it is root's, for which `not_as_root` says why that is none.
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

/// A bare pair of ids without further groups, as `CONDOR_IDS` gives it.
pub fn identity_of_ids(uid: u32, gid: u32) -> ProcessIdentity {
    ProcessIdentity { uid, gid, groups: vec![gid] }
}

/// Does something in the file system with the rights of another account; `None` does it with our own.
///
/// Only the effective ids of the calling thread change and only meanwhile: what another thread does with files, as tests
/// beside each other do, is done with the rights it had. (The C library's calls would change all threads.)
///
/// # Errors
/// The account cannot be taken on; then nothing was done. One that cannot be laid down again would leave us without
/// our rights; the kernel permits it always, since the saved id stays ours.
pub fn run_as<T>(identity: Option<&ProcessIdentity>, act: impl FnOnce() -> T) -> std::io::Result<T> {
    let Some(identity) = identity.filter(|identity| identity.uid != effective_uid()) else {
        return Ok(act());
    };
    let own_groups = nix::unistd::getgroups()?;
    let (own_uid, own_gid) = (nix::unistd::geteuid(), nix::unistd::getegid());
    let own_groups: Vec<u32> = own_groups.into_iter().map(Gid::as_raw).collect();
    let take_on = || {
        thread::set_groups(&identity.groups)?;
        thread::set_effective_gid(identity.gid)?;
        thread::set_effective_uid(identity.uid)
    };
    let lay_down = || {
        thread::set_effective_uid(own_uid.as_raw())?;
        thread::set_effective_gid(own_gid.as_raw())?;
        thread::set_groups(&own_groups)
    };
    if let Err(error) = take_on() {
        lay_down()?;
        return Err(error);
    }
    let done = act();
    lay_down()?;
    Ok(done)
}

/// Our own effective user id.
pub fn effective_uid() -> u32 {
    nix::unistd::geteuid().as_raw()
}

/// Whether children may be given another account: we are root, and not root without the right to it, as in some
/// containers.
pub fn can_switch_account() -> bool {
    const SETGID_AND_SETUID: u64 = (1 << 6) | (1 << 7);
    effective_uid() == 0 && effective_capabilities() & SETGID_AND_SETUID == SETGID_AND_SETUID
}

/// Our effective capabilities as the kernel numbers them; all of root's where they cannot be read.
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
    fn root_is_known_by_name_and_number() {
        let root = account_by_name(b"root").unwrap();
        assert_eq!(root.uid, 0);
        assert_eq!(account_by_uid(0).unwrap().uid, 0);
        assert!(identity_of_account(&root).groups.contains(&root.gid));
        assert_eq!(account_by_name(b"no such\xff account"), None);
    }

    #[test]
    fn acting_as_another_is_of_one_thread_alone() {
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
