//! A file system of limited size for a job's directory, mounted over it: a logical volume, as 25.14 makes them, where the
//! configuration names a volume group; else a file that a loop device makes a disk of, which needs root and mkfs.ext4 only.

use std::cell::RefCell;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read};
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::rc::Rc;

use bstr::{BString, ByteSlice};
use nix::libc;
use nix::mount::{MntFlags, MsFlags, mount, umount2};
use tempfile::NamedTempFile;

use super::system_program::{path_of, run, run_words};
use super::volume_group::FileVolumeGroup;
use htc_os::files::HeldDirectory;
use htc_os::{RealWorld, mounts};
use htc_starter::logical_volume::{LogicalVolume, VolumeParameters};

/// What a file system takes for itself beside what is written into it, in bytes.
const FILE_SYSTEM_OVERHEAD: u64 = 4 << 20;
/// The blocks of a file system.
const BLOCK_SIZE: u64 = 4096;

/// The bytes of a key.
const KEY_SIZE: u64 = 32;

/// What a job's directory is to be.
#[derive(Clone, Debug)]
pub struct ScratchVolume {
    /// How many bytes can be written into it.
    pub bytes: u64,
    /// The logical volume that it is then.
    pub logical: Option<LogicalVolume>,
    /// The group that was made for it.
    created_group: Rc<RefCell<Option<FileVolumeGroup>>>,
}

impl ScratchVolume {
    /// A directory of so many bytes, which may be a logical volume.
    pub fn new(bytes: u64, logical: Option<LogicalVolume>) -> Self {
        ScratchVolume { bytes, logical, created_group: Rc::default() }
    }

    /// Makes the file system, and mounts it over a directory.
    ///
    /// # Errors
    /// In words; nothing of it stays.
    pub(super) fn make(&self, top: &Path, directory: &HeldDirectory) -> Result<(), String> {
        let Some(volume) = &self.logical else { return make_image_volume(top, directory, self.bytes) };
        if let Some(group) = &volume.on_file {
            *self.created_group.borrow_mut() = Some(FileVolumeGroup::create(group)?);
        }
        let made = make_logical(volume, directory);
        if made.is_err() {
            drop(remove_logical(volume));
            drop(self.remove_created_group());
        }
        made
    }

    fn remove_created_group(&self) -> Result<(), String> {
        self.created_group.borrow_mut().take().map_or(Ok(()), |laid| laid.take_down())
    }

    /// Takes it away with all that is in it.
    ///
    /// # Errors
    /// It cannot be unmounted, or not be removed.
    pub(super) fn remove(&self, top: &Path) -> io::Result<()> {
        let Some(volume) = self.logical.as_ref().filter(|_| is_mounted(top)) else {
            return remove_image_volume(top);
        };
        unmount_image_volume(top)?;
        fs::remove_dir(top)?;
        remove_logical(volume).and_then(|()| self.remove_created_group()).map_err(io::Error::other)
    }
}

fn is_mounted(top: &Path) -> bool {
    mounts::list_mounts().iter().any(|mount| mount.target == top)
}

fn make_logical(volume: &LogicalVolume, directory: &HeldDirectory) -> Result<(), String> {
    let key = volume.encrypted.then(random_key).transpose()?;
    let key = key.as_ref().map_or(&b""[..], |key| key.path().as_os_str().as_bytes());
    for words in volume.create_commands(key) {
        run_words(&words)?;
    }
    let device = volume.mounted_device();
    let options = Some("barrier=0,discard");
    mount_over(&device, directory, options)
        .map_err(|errno| format!("cannot mount '{}': {errno}", device.display()))
}

/// Mounts a device over a directory that nobody can have put another into the place of.
fn mount_over(device: &Path, directory: &HeldDirectory, options: Option<&str>) -> nix::Result<()> {
    let target = PathBuf::from(format!("/proc/self/fd/{}", directory.as_raw_fd()));
    let flags = MsFlags::MS_NOSUID | MsFlags::MS_NODEV | MsFlags::MS_NOATIME;
    mount(Some(device), &target, Some("ext4"), flags, options)
}

/// A key in memory that is gone when the volume is there (`EncryptLV`).
fn random_key() -> Result<NamedTempFile, String> {
    let at = |error: io::Error| format!("cannot write a key into /dev/shm: {error}");
    let mut key = tempfile::Builder::new().prefix("cryptokey").tempfile_in("/dev/shm").map_err(at)?;
    let mut random = File::open("/dev/urandom").map_err(at)?.take(KEY_SIZE);
    io::copy(&mut random, &mut key).map_err(at)?;
    Ok(key)
}

/// Removes a logical volume.
///
/// # Errors
/// In words: that of the volume itself counts.
pub(super) fn remove_logical(volume: &LogicalVolume) -> Result<(), String> {
    let encrypted = volume.encrypted && fs::symlink_metadata(volume.encrypted_device()).is_ok();
    let volume = volume.clone().with_encryption(encrypted);
    let mut removed = Ok(());
    for words in volume.remove_commands() {
        removed = run_words(&words).map(drop);
    }
    removed
}

/// The file beside a job's directory that holds its file system.
pub(super) fn image_path(top: &Path) -> PathBuf {
    let mut path = top.as_os_str().to_owned();
    path.push(".disk");
    path.into()
}

/// Makes a file system in which so many bytes can be written, and mounts it over a directory.
///
/// # Errors
/// In words; nothing of it stays.
fn make_image_volume(top: &Path, directory: &HeldDirectory, bytes: u64) -> Result<(), String> {
    let image = image_path(top);
    let made = try_make_image_volume(&image, directory, bytes);
    if made.is_err() {
        drop(detach(&image));
        drop(fs::remove_file(&image));
    }
    made
}

fn try_make_image_volume(image: &Path, directory: &HeldDirectory, bytes: u64) -> Result<(), String> {
    let at =
        |verb: &str, error: &dyn std::fmt::Display| format!("cannot {verb} '{}': {error}", image.display());
    let mut options = OpenOptions::new();
    options.write(true).create_new(true).mode(0o600).custom_flags(libc::O_NOFOLLOW);
    let file = options.open(image).map_err(|error| at("make", &error))?;
    // Its blocks are taken when they are written.
    let size = (bytes / 16).saturating_mul(17).saturating_add(FILE_SYSTEM_OVERHEAD);
    // Whole blocks: of an odd end losetup complains where the device's name should stand alone.
    file.set_len(size - size % BLOCK_SIZE).map_err(|error| at("make", &error))?;
    drop(file);
    let name = BString::from(image.as_os_str().as_bytes());
    let quiet = ["-q", "-F", "-m", "0", "-O", "^has_journal"].map(BString::from);
    run("mkfs.ext4", quiet.into_iter().chain([name.clone()]))?;
    let device = run("losetup", ["-f".into(), "--show".into(), name])?;
    let device = device.trim().to_path_lossy().into_owned();
    mount_over(&device, directory, None).map_err(|error| at("mount", &error))?;
    // It is free as soon as nothing is mounted from it.
    detach(image)?;
    Ok(())
}

/// Takes the file system away with all that is in it.
///
/// # Errors
/// It cannot be unmounted, or its file not be removed.
fn remove_image_volume(top: &Path) -> io::Result<()> {
    let image = image_path(top);
    if fs::symlink_metadata(&image).is_err() {
        return Ok(());
    }
    unmount_image_volume(top)?;
    drop(detach(&image));
    fs::remove_file(&image)
}

fn unmount_image_volume(top: &Path) -> io::Result<()> {
    let flags = MntFlags::MNT_DETACH | MntFlags::from_bits_retain(libc::UMOUNT_NOFOLLOW);
    match umount2(top, flags) {
        // Nothing is mounted there.
        Ok(()) | Err(nix::errno::Errno::EINVAL | nix::errno::Errno::ENOENT) => Ok(()),
        Err(errno) => Err(errno.into()),
    }
}

/// Detaches the loop devices that a file is behind; those that are mounted become free later.
///
/// # Errors
/// In words.
pub(super) fn detach(image: &Path) -> Result<usize, String> {
    // Others may write where it stands, and put a link or a name of another file there.
    let own = nix::unistd::geteuid().as_raw();
    let is_ours = |status: fs::Metadata| status.is_file() && status.nlink() == 1 && status.uid() == own;
    if !fs::symlink_metadata(image).is_ok_and(is_ours) {
        return Ok(0);
    }
    let devices = devices_of(image);
    for device in &devices {
        run("losetup", ["-d".into(), BString::from(device.as_os_str().as_bytes())])?;
    }
    Ok(devices.len())
}

/// The loop devices that a file is behind, as the kernel names it.
fn devices_of(image: &Path) -> Vec<PathBuf> {
    let whole = |parent: &Path| Some(fs::canonicalize(parent).ok()?.join(image.file_name()?));
    let own = image.parent().and_then(whole).unwrap_or_else(|| image.to_owned());
    let blocks = fs::read_dir("/sys/block").into_iter().flatten().flatten();
    let is_of = |entry: &fs::DirEntry| {
        let behind = fs::read(entry.path().join("loop/backing_file")).unwrap_or_default();
        behind.trim_end() == own.as_os_str().as_bytes()
    };
    blocks.filter(is_of).map(|entry| Path::new("/dev").join(entry.file_name())).collect()
}

/// Whether the directories of jobs can be made file systems of their own, as far as that is seen without making one.
///
/// # Errors
/// In words: no such volume group or pool, a program that is not there.
pub fn check_volume_support(knobs: Option<&VolumeParameters>) -> Result<(), String> {
    let Some(knobs) = knobs else { return path_of("mkfs.ext4", &RealWorld::new()).map(drop) };
    for program in ["lvcreate", "lvremove", "mke2fs"] {
        path_of(program, &RealWorld::new())?;
    }
    match knobs.check_command() {
        Ok(words) => run_words(&words).map(drop),
        Err(group) => {
            for program in ["losetup", "pvcreate", "vgcreate"] {
                path_of(program, &RealWorld::new())?;
            }
            let directory = group.file.parent().filter(|parent| !parent.is_dir());
            directory.map_or(Ok(()), |parent| Err(format!("'{}' is no directory", parent.display())))
        }
    }
}
