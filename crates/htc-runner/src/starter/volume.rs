//! File system of limited size that is mounted over a job's directory. If the configuration names a volume group, the
//! file system is on a logical volume, as in 25.14. If not, it is in a file on a loop device, which needs only root
//! and mkfs.ext4.

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

use super::system_program::{path_of, run, run_command};
use super::volume_group::FileVolumeGroup;
use htc_os::files::HeldDirectory;
use htc_os::{RealWorld, mounts};
use htc_starter::logical_volume::{LogicalVolume, VolumeParameters};

/// Space in bytes that a file system needs in addition to its contents.
const FILE_SYSTEM_OVERHEAD: u64 = 4 << 20;
/// Block size of a file system, in bytes.
const BLOCK_SIZE: u64 = 4096;

/// Length in bytes of the key of an encrypted volume.
const KEY_SIZE: u64 = 32;

/// File system of limited size for a job's directory.
#[derive(Clone, Debug)]
pub struct ScratchVolume {
    /// Number of bytes that can be written to the file system.
    pub bytes: u64,
    /// The logical volume, or `None` for a file on a loop device.
    pub logical: Option<LogicalVolume>,
    /// Volume group on a file that was created for the logical volume, or `None`.
    created_group: Rc<RefCell<Option<FileVolumeGroup>>>,
}

impl ScratchVolume {
    /// Creates the description of a file system for `bytes` bytes, on a logical volume if one is given.
    pub fn new(bytes: u64, logical: Option<LogicalVolume>) -> Self {
        ScratchVolume { bytes, logical, created_group: Rc::default() }
    }

    /// Creates the file system and mounts it over a directory.
    ///
    /// # Errors
    /// Fails with a message; everything that was created is removed again.
    pub(super) fn make(&self, top: &Path, directory: &HeldDirectory) -> Result<(), String> {
        let Some(volume) = &self.logical else { return make_image_volume(top, directory, self.bytes) };
        if let Some(group) = &volume.on_file {
            *self.created_group.borrow_mut() = Some(FileVolumeGroup::create(group)?);
        }
        let made = create_logical_volume(volume, directory);
        if made.is_err() {
            drop(remove_logical_volume(volume));
            drop(self.remove_created_group());
        }
        made
    }

    fn remove_created_group(&self) -> Result<(), String> {
        self.created_group.borrow_mut().take().map_or(Ok(()), |group| group.remove_group())
    }

    /// Unmounts and removes the file system with its contents.
    ///
    /// # Errors
    /// Fails if the file system cannot be unmounted or removed.
    pub(super) fn remove(&self, top: &Path) -> io::Result<()> {
        let Some(volume) = self.logical.as_ref().filter(|_| is_mounted(top)) else {
            return remove_image_volume(top);
        };
        unmount_image_volume(top)?;
        fs::remove_dir(top)?;
        remove_logical_volume(volume).and_then(|()| self.remove_created_group()).map_err(io::Error::other)
    }
}

fn is_mounted(top: &Path) -> bool {
    mounts::list_mounts().iter().any(|mount| mount.target == top)
}

fn create_logical_volume(volume: &LogicalVolume, directory: &HeldDirectory) -> Result<(), String> {
    let key = volume.encrypted.then(random_key).transpose()?;
    let key = key.as_ref().map_or(&b""[..], |key| key.path().as_os_str().as_bytes());
    for words in volume.create_commands(key) {
        run_command(&words)?;
    }
    let device = volume.mounted_device();
    let options = Some("barrier=0,discard");
    mount_over(&device, directory, options)
        .map_err(|errno| format!("cannot mount '{}': {errno}", device.display()))
}

/// Mounts a device over a directory. The directory is named by its descriptor, so that no other directory can be
/// substituted.
fn mount_over(device: &Path, directory: &HeldDirectory, options: Option<&str>) -> nix::Result<()> {
    let target = PathBuf::from(format!("/proc/self/fd/{}", directory.as_raw_fd()));
    let flags = MsFlags::MS_NOSUID | MsFlags::MS_NODEV | MsFlags::MS_NOATIME;
    mount(Some(device), &target, Some("ext4"), flags, options)
}

/// Creates a file with a random key in memory; the file is removed when the volume exists (`EncryptLV`).
fn random_key() -> Result<NamedTempFile, String> {
    let at = |error: io::Error| format!("cannot write a key into /dev/shm: {error}");
    let mut key = tempfile::Builder::new().prefix("cryptokey").tempfile_in("/dev/shm").map_err(at)?;
    let mut random = File::open("/dev/urandom").map_err(at)?.take(KEY_SIZE);
    io::copy(&mut random, &mut key).map_err(at)?;
    Ok(key)
}

/// Removes a logical volume and its encryption device.
///
/// # Errors
/// Fails with a message if the last command, which removes the volume itself, fails.
pub(super) fn remove_logical_volume(volume: &LogicalVolume) -> Result<(), String> {
    let encrypted = volume.encrypted && fs::symlink_metadata(volume.encrypted_device()).is_ok();
    let volume = volume.clone().with_encryption(encrypted);
    let mut removed = Ok(());
    for words in volume.remove_commands() {
        removed = run_command(&words).map(drop);
    }
    removed
}

/// Returns the path of the file next to a job's directory that contains its file system.
pub(super) fn image_path(top: &Path) -> PathBuf {
    let mut path = top.as_os_str().to_owned();
    path.push(".disk");
    path.into()
}

/// Creates a file system to which `bytes` bytes can be written, and mounts it over a directory.
///
/// # Errors
/// Fails with a message; everything that was created is removed again.
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
    // The file is sparse: its blocks are allocated when they are written.
    let size = (bytes / 16).saturating_mul(17).saturating_add(FILE_SYSTEM_OVERHEAD);
    // The size is rounded to whole blocks. With another size, losetup prints a warning together with the device's
    // name.
    file.set_len(size - size % BLOCK_SIZE).map_err(|error| at("make", &error))?;
    drop(file);
    let name = BString::from(image.as_os_str().as_bytes());
    let quiet = ["-q", "-F", "-m", "0", "-O", "^has_journal"].map(BString::from);
    run("mkfs.ext4", quiet.into_iter().chain([name.clone()]))?;
    let device = run("losetup", ["-f".into(), "--show".into(), name])?;
    let device = device.trim().to_path_lossy().into_owned();
    mount_over(&device, directory, None).map_err(|error| at("mount", &error))?;
    // The kernel releases the device when nothing is mounted from it any more.
    detach(image)?;
    Ok(())
}

/// Unmounts and removes the file system with its contents.
///
/// # Errors
/// Fails if the file system cannot be unmounted, or if its file cannot be removed.
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
        // These errors mean that no file system is mounted at the directory.
        Ok(()) | Err(nix::errno::Errno::EINVAL | nix::errno::Errno::ENOENT) => Ok(()),
        Err(errno) => Err(errno.into()),
    }
}

/// Detaches the loop devices of a file; a device with a mounted file system is released when it is unmounted. Returns
/// the number of devices.
///
/// # Errors
/// Fails with a message.
pub(super) fn detach(image: &Path) -> Result<usize, String> {
    // Other accounts may be able to write to the directory, and may have replaced the file by a link or another
    // file.
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

/// Returns the loop devices of a file, by comparing its path with that recorded in the kernel.
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

/// Checks whether separate file systems for the directories of jobs can be created, without creating one.
///
/// # Errors
/// Fails with a message if a volume group, a pool or a program is missing.
pub fn check_volume_support(parameters: Option<&VolumeParameters>) -> Result<(), String> {
    let Some(parameters) = parameters else { return path_of("mkfs.ext4", &RealWorld::new()).map(drop) };
    for program in ["lvcreate", "lvremove", "mke2fs"] {
        path_of(program, &RealWorld::new())?;
    }
    match parameters.check_command() {
        Ok(words) => run_command(&words).map(drop),
        Err(group) => {
            for program in ["losetup", "pvcreate", "vgcreate"] {
                path_of(program, &RealWorld::new())?;
            }
            let directory = group.file.parent().filter(|parent| !parent.is_dir());
            directory.map_or(Ok(()), |parent| Err(format!("'{}' is not a directory", parent.display())))
        }
    }
}
