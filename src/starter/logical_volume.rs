//! The logical volume that a startd with LVM has its starter put under a job's directory.
//!
//! Reference: `VolumeManager.cpp`, `Starter.cpp` of the startd, `createTempExecuteDir` of `starter.cpp`. No recording has it: their
//! source is the only evidence.

use std::path::PathBuf;

use bstr::{BString, ByteSlice};

use crate::config::{ValueError, View};

/// What the configuration says of LVM.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VolumeKnobs {
    /// LVM_VOLUME_GROUP_NAME, else THINPOOL_VOLUME_GROUP_NAME.
    group: BString,
    /// LVM_THINPOOL_NAME, else THINPOOL_NAME, where LVM_USE_THIN_PROVISIONING.
    pool: Option<BString>,
    /// LVM_THIN_LV_EXTRA_SIZE_MB.
    extra_mib: u64,
}

impl VolumeKnobs {
    /// Reads it; `None` where no volume group is named, or no pool though volumes are to be thin: a startd then makes a group
    /// of a file of its own.
    ///
    /// # Errors
    /// A knob that is no number or truth value.
    pub fn read(view: &View<'_>) -> Result<Option<Self>, ValueError> {
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
        let group = group.filter(|_| !thin || pool.is_some());
        Ok(group.map(|group| VolumeKnobs { group, pool, extra_mib: extra.max(0).unsigned_abs() }))
    }

    /// The volume of a starter's job with a directory of so many KiB.
    pub fn volume(&self, slot: &[u8], starter: u32, kib: u64) -> LogicalVolume {
        let slot = if slot.is_empty() { b"slot1" } else { slot };
        let extra = if self.pool.is_some() { self.extra_mib.saturating_mul(1024) } else { 0 };
        LogicalVolume {
            group: self.group.clone(),
            name: [slot, format!("+{starter}_1").as_bytes()].concat().into(),
            kib: kib.saturating_add(extra),
            pool: self.pool.clone(),
        }
    }
}

/// One volume.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogicalVolume {
    /// Its group.
    pub group: BString,
    /// Its name: no two starters have the same.
    pub name: BString,
    kib: u64,
    pool: Option<BString>,
}

fn words(words: &[&[u8]]) -> Vec<BString> {
    words.iter().map(|word| BString::from(*word)).collect()
}

impl LogicalVolume {
    /// The volume that a starter which is gone has left, if the name is one that it had.
    pub fn left(group: &str, name: &str, starter: i32) -> Option<Self> {
        let plain = |text: &str| {
            let letter = |c: char| c.is_ascii_alphanumeric() || "+_.-@".contains(c);
            !text.is_empty() && !text.starts_with(['-', '.']) && text.chars().all(letter)
        };
        let is_its = plain(group) && plain(name) && name.ends_with(&format!("+{starter}_1"));
        is_its.then(|| LogicalVolume { group: group.into(), name: name.into(), kib: 0, pool: None })
    }

    /// The device, as the device mapper names it.
    pub fn device(&self) -> PathBuf {
        let doubled = |text: &BString| text.replace("-", "--");
        let name = [&doubled(&self.group)[..], b"-", &doubled(&self.name)].concat();
        PathBuf::from("/dev/mapper").join(name.to_path_lossy())
    }

    /// The commands that make it, and a file system in it.
    pub fn making(&self) -> [Vec<BString>; 2] {
        let size = format!("{}k", self.kib);
        let mut create = words(&[b"lvcreate", b"--autobackup", b"n", b"-n", &self.name]);
        create.extend(words(&[b"--addtag", b"htcondor_lv"]));
        create.extend(match &self.pool {
            Some(pool) => {
                let pool = [&self.group[..], b"/", pool].concat();
                words(&[b"-V", size.as_bytes(), b"-T", &pool])
            }
            None => words(&[b"--yes", b"-L", size.as_bytes(), &self.group]),
        });
        let device = self.device();
        let mut format = words(&[b"mke2fs", b"-t", b"ext4", b"-O", b"^has_journal"]);
        format.extend(words(&[b"-E", b"lazy_itable_init=1", b"-m", b"0", b"-L", b"HTCondorLV_FS"]));
        format.push(device.as_os_str().as_encoded_bytes().into());
        [create, format]
    }

    /// The command that removes it.
    pub fn removing(&self) -> Vec<BString> {
        let both = [&self.group[..], b"/", &self.name].concat();
        words(&[b"lvremove", b"--autobackup", b"n", &both, b"--yes"])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(words: &[BString]) -> String {
        bstr::join(" ", words).to_str_lossy().into_owned()
    }

    #[test]
    fn a_volume_is_made_and_removed_by_the_commands_of_the_volume_manager() {
        let thick = VolumeKnobs { group: "vg-a".into(), pool: None, extra_mib: 2000 };
        let volume = thick.volume(b"slot1_2", 77, 1024);
        let [create, format] = volume.making();
        let expected = "lvcreate --autobackup n -n slot1_2+77_1 --addtag htcondor_lv --yes -L 1024k vg-a";
        assert_eq!(line(&create), expected);
        let expected = "mke2fs -t ext4 -O ^has_journal -E lazy_itable_init=1 -m 0 -L HTCondorLV_FS \
                        /dev/mapper/vg--a-slot1_2+77_1";
        assert_eq!(line(&format), expected);
        assert_eq!(line(&volume.removing()), "lvremove --autobackup n vg-a/slot1_2+77_1 --yes");
        let thin = VolumeKnobs { pool: Some("pool".into()), ..thick };
        let expected = "lvcreate --autobackup n -n slot1+77_1 --addtag htcondor_lv -V 2049024k -T vg-a/pool";
        assert_eq!(line(&thin.volume(b"", 77, 1024).making()[0]), expected);
    }

    #[test]
    fn only_a_volume_of_the_starter_is_removed() {
        assert!(LogicalVolume::left("vg", "slot1+77_1", 77).is_some());
        for (group, name) in
            [("vg", "root"), ("vg", "slot1+78_1"), ("-f", "slot1+77_1"), ("vg/root", "s+77_1")]
        {
            assert!(LogicalVolume::left(group, name, 77).is_none(), "{group} {name}");
        }
    }
}
