//! Logical volume for a job's directory, which the starter creates if the startd uses LVM.
//!
//! Reference: `VolumeManager.cpp`, `Starter.cpp` of the startd, `createTempExecuteDir` of `starter.cpp`. The behaviour
//! follows the source; it was not compared with a running startd.

use std::path::PathBuf;

use bstr::{BString, ByteSlice};

use super::volume_group::{LvmCommand, VolumeGroup, lvm_command};
use htc_config::{ConfigView, ValueError};

/// Parameters of LVM.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VolumeParameters {
    /// Value of LVM_VOLUME_GROUP_NAME, or else THINPOOL_VOLUME_GROUP_NAME.
    group: BString,
    /// Value of LVM_THINPOOL_NAME, or else THINPOOL_NAME; `None` if LVM_USE_THIN_PROVISIONING is false.
    pool: Option<BString>,
    /// Value of LVM_THIN_LV_EXTRA_SIZE_MB.
    extra_mib: u64,
    /// Volume group to create on a file, if the configuration does not name a group.
    on_file: Option<VolumeGroup>,
}

impl VolumeParameters {
    /// Reads the parameters. If no volume group is named, or if volumes are thin and no pool is named, reads the
    /// parameters of a volume group on a file. Returns `None` if no file is set either.
    ///
    /// # Errors
    /// Returns an error if a parameter is not a valid number or boolean.
    pub fn read(view: &ConfigView<'_>) -> Result<Option<Self>, ValueError> {
        let text = |names: [&str; 2]| -> Result<Option<BString>, ValueError> {
            for name in names {
                let value = view.string(name)?.map(|setting| setting.value);
                if let Some(value) = value.filter(|value| !value.is_empty()) {
                    return Ok(Some(value));
                }
            }
            Ok(None)
        };
        let thin = view.boolean("LVM_USE_THIN_PROVISIONING")?.is_some_and(|setting| setting.value);
        let pool = text(["LVM_THINPOOL_NAME", "THINPOOL_NAME"])?.filter(|_| thin);
        let extra = view.int("LVM_THIN_LV_EXTRA_SIZE_MB")?.map_or(2000, |setting| setting.value);
        let group = text(["LVM_VOLUME_GROUP_NAME", "THINPOOL_VOLUME_GROUP_NAME"])?;
        let extra_mib = extra.max(0).unsigned_abs();
        if let Some(group) = group.filter(|_| !thin || pool.is_some()) {
            return Ok(Some(VolumeParameters { group, pool, extra_mib, on_file: None }));
        }
        let on_file = VolumeGroup::read(view)?;
        Ok(on_file.map(|on_file| VolumeParameters {
            group: on_file.name.clone(),
            pool: on_file.pool.clone(),
            extra_mib,
            on_file: Some(on_file),
        }))
    }

    /// Returns a description of the group or pool for messages.
    pub fn description(&self) -> String {
        match (&self.on_file, &self.pool) {
            (Some(group), _) => format!("a volume group on '{}'", group.file.display()),
            (None, Some(pool)) => format!("the thin pool '{}/{pool}'", self.group),
            (None, None) => format!("the volume group '{}'", self.group),
        }
    }

    /// Returns the command that fails if the volume group or the pool does not exist.
    ///
    /// # Errors
    /// Returns the volume group if it is on a file: it is created only when a job needs it, so there is nothing to check yet.
    pub fn check_command(&self) -> Result<LvmCommand, &VolumeGroup> {
        match (&self.on_file, &self.pool) {
            (Some(group), _) => Err(group),
            (None, Some(pool)) => {
                let pool = [&self.group[..], b"/", pool].concat();
                Ok(lvm_command(&[b"lvs", b"--noheadings", b"-o", b"lv_name", &pool]))
            }
            (None, None) => Ok(lvm_command(&[b"vgs", b"--noheadings", b"-o", b"vg_name", &self.group])),
        }
    }

    /// Returns the volume for the job of a starter, with a directory of `kib` KiB.
    pub fn volume_for_job(&self, slot: &[u8], starter: u32, kib: u64) -> LogicalVolume {
        let slot = if slot.is_empty() { b"slot1" } else { slot };
        let extra = if self.pool.is_some() { self.extra_mib.saturating_mul(1024) } else { 0 };
        LogicalVolume {
            group: self.group.clone(),
            name: [slot, format!("+{starter}_1").as_bytes()].concat().into(),
            kib: kib.saturating_add(extra),
            pool: self.pool.clone(),
            encrypted: false,
            on_file: self.on_file.clone(),
        }
    }
}

/// Logical volume of a job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogicalVolume {
    /// Name of the volume group.
    pub group: BString,
    /// Name of the volume, which no other starter uses.
    pub name: BString,
    kib: u64,
    pool: Option<BString>,
    /// True if the data on the volume is encrypted with a key that is not stored.
    pub encrypted: bool,
    /// Volume group that is created for the volume, or `None` if the group exists.
    pub on_file: Option<VolumeGroup>,
}

impl LogicalVolume {
    /// Returns the volume that an ended starter left behind, or `None` if the name is not that of a volume of this
    /// starter.
    pub fn from_leftover(group: &str, name: &str, starter: i32) -> Option<Self> {
        let plain = |text: &str| {
            let letter = |c: char| c.is_ascii_alphanumeric() || "+_.-@".contains(c);
            !text.is_empty() && !text.starts_with(['-', '.']) && text.chars().all(letter)
        };
        let is_its = plain(group) && plain(name) && name.ends_with(&format!("+{starter}_1"));
        is_its.then(|| LogicalVolume {
            group: group.into(),
            name: name.into(),
            kib: 0,
            pool: None,
            encrypted: false,
            on_file: None,
        })
    }

    /// Returns the volume with encryption turned on or off.
    #[must_use]
    pub fn with_encryption(self, encrypted: bool) -> Self {
        LogicalVolume { encrypted, ..self }
    }

    /// Returns the device that is mounted.
    pub fn mounted_device(&self) -> PathBuf {
        if self.encrypted { self.encrypted_device() } else { self.plain_device() }
    }

    /// Returns the device that encrypts the volume. Its name is the one that 25.14 chooses.
    pub fn encrypted_device(&self) -> PathBuf {
        PathBuf::from("/dev/mapper").join(self.encrypted_name().to_path_lossy())
    }

    fn encrypted_name(&self) -> BString {
        [&self.group[..], b"-", &self.name, b"-enc"].concat().into()
    }

    /// Returns the device under the name that the device mapper gives it.
    fn plain_device(&self) -> PathBuf {
        let doubled = |text: &BString| text.replace("-", "--");
        let name = [&doubled(&self.group)[..], b"-", &doubled(&self.name)].concat();
        PathBuf::from("/dev/mapper").join(name.to_path_lossy())
    }

    /// Returns the commands that create the volume and a file system on it; `key` is a file of 32 random
    /// bytes, used for an encrypted volume.
    pub fn create_commands(&self, key: &[u8]) -> Vec<LvmCommand> {
        let size = format!("{}k", self.kib);
        let mut create = lvm_command(&[b"lvcreate", b"--autobackup", b"n", b"-n", &self.name]);
        create.extend(lvm_command(&[b"--addtag", b"htcondor_lv"]));
        if self.encrypted {
            create.extend(lvm_command(&[b"--addtag", b"lv_is_encrypted"]));
        }
        create.extend(match &self.pool {
            Some(pool) => {
                let pool = [&self.group[..], b"/", pool].concat();
                lvm_command(&[b"-V", size.as_bytes(), b"-T", &pool])
            }
            None => lvm_command(&[b"--yes", b"-L", size.as_bytes(), &self.group]),
        });
        let device = self.mounted_device();
        let mut format = lvm_command(&[b"mke2fs", b"-t", b"ext4", b"-O", b"^has_journal"]);
        format.extend(lvm_command(&[b"-E", b"lazy_itable_init=1", b"-m", b"0", b"-L", b"HTCondorLV_FS"]));
        format.push(device.as_os_str().as_encoded_bytes().into());
        let open = self.encrypted.then(|| {
            let plain = self.plain_device();
            let options = [&b"cryptsetup"[..], b"open", b"--type", b"plain", b"--key-file", key];
            [
                lvm_command(&options),
                lvm_command(&[plain.as_os_str().as_encoded_bytes(), &self.encrypted_name()]),
            ]
            .concat()
        });
        [create].into_iter().chain(open).chain([format]).collect()
    }

    /// Returns the commands that remove the volume.
    pub fn remove_commands(&self) -> Vec<LvmCommand> {
        let both = [&self.group[..], b"/", &self.name].concat();
        let close = self.encrypted.then(|| lvm_command(&[b"cryptsetup", b"close", &self.encrypted_name()]));
        let remove = lvm_command(&[b"lvremove", b"--autobackup", b"n", &both, b"--yes"]);
        close.into_iter().chain([remove]).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(words: &[BString]) -> String {
        bstr::join(" ", words).to_str_lossy().into_owned()
    }

    #[test]
    fn a_volume_is_created_and_removed_by_the_volume_managers_commands() {
        let thick = VolumeParameters { group: "vg-a".into(), pool: None, extra_mib: 2000, on_file: None };
        let volume = thick.volume_for_job(b"slot1_2", 77, 1024);
        let made = volume.create_commands(b"");
        let expected = "lvcreate --autobackup n -n slot1_2+77_1 --addtag htcondor_lv --yes -L 1024k vg-a";
        assert_eq!(line(&made[0]), expected);
        let expected = "mke2fs -t ext4 -O ^has_journal -E lazy_itable_init=1 -m 0 -L HTCondorLV_FS \
                        /dev/mapper/vg--a-slot1_2+77_1";
        assert_eq!(line(&made[1]), expected);
        assert_eq!(line(&volume.remove_commands()[0]), "lvremove --autobackup n vg-a/slot1_2+77_1 --yes");
        let thin = VolumeParameters { pool: Some("pool".into()), ..thick };
        let expected = "lvcreate --autobackup n -n slot1+77_1 --addtag htcondor_lv -V 2049024k -T vg-a/pool";
        assert_eq!(line(&thin.volume_for_job(b"", 77, 1024).create_commands(b"")[0]), expected);
    }

    #[test]
    fn an_encrypted_volume_is_opened_with_a_key_before_it_is_formatted() {
        let parameters = VolumeParameters { group: "vg-a".into(), pool: None, extra_mib: 0, on_file: None };
        let volume = LogicalVolume { encrypted: true, ..parameters.volume_for_job(b"slot1", 77, 1024) };
        let made: Vec<String> =
            volume.create_commands(b"/dev/shm/key").iter().map(|words| line(words)).collect();
        assert!(made[0].contains("--addtag htcondor_lv --addtag lv_is_encrypted --yes"), "{made:?}");
        let open = "cryptsetup open --type plain --key-file /dev/shm/key /dev/mapper/vg--a-slot1+77_1 vg-a-slot1+77_1-enc";
        assert_eq!(made[1], open);
        assert!(made[2].ends_with("HTCondorLV_FS /dev/mapper/vg-a-slot1+77_1-enc"), "{made:?}");
        assert_eq!(line(&volume.remove_commands()[0]), "cryptsetup close vg-a-slot1+77_1-enc");
    }

    #[test]
    fn only_a_volume_of_the_starter_is_removed() {
        assert!(LogicalVolume::from_leftover("vg", "slot1+77_1", 77).is_some());
        for (group, name) in
            [("vg", "root"), ("vg", "slot1+78_1"), ("-f", "slot1+77_1"), ("vg/root", "s+77_1")]
        {
            assert!(LogicalVolume::from_leftover(group, name, 77).is_none(), "{group} {name}");
        }
    }
}
