//! The fixture of one case: a LOCAL_DIR with recorders, files and modes as the recorder of the real starter
//! created it.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::super::Result;
use super::super::accounts::Accounts;
use super::super::normalise;
use super::super::processes;
use super::super::scenario::LayoutEntry;
use super::super::stage::{self, Stage};
use super::case::{Case, Family};

/// Owner of the directories of daemons, and of those of jobs.
const CONDOR: u32 = 64;
const ALICE: u32 = 1501;

/// The programs of jobs with a relative Cmd, which are not recorded; they are recognized by their sizes.
const PROGS: [&[u8]; 2] = [b"#!/bin/sh\necho prog in $(pwd)\n", b"#!/bin/sh\necho $0 $(pwd)\n"];

/// A fixture on disk.
pub struct Fixture {
    pub stage: Stage,
}

/// Cases whose EXECUTE other accounts may search but not list, as the recorded listings show.
const SEARCHED_EXECUTE: [(&str, &str); 1] = [("c41n-scratch", "003-b")];

/// Returns the earlier contents of files of pools, which are not recorded: a few jobs print them, for others
/// only the size matters.
fn was_there(path: &str, size: u64, holder: &Case) -> Vec<u8> {
    if path == "iwd/myplug" {
        // The job's own plugin is the fake plugin that all use.
        return fs::read(holder.directory.join("../../scripts/plugin")).unwrap_or_default();
    }
    let known: &[u8] = match (path, size) {
        ("iwd/a.txt", 6) => b"alpha\n",
        ("iwd/stdin", 14) => b"line of stdin\n",
        ("iwd/badinterp", 11) => b"#!/no/such\n",
        ("iwd/text", 5) => b"text\n",
        ("iwd/x.sh", 17) => b"#!/bin/sh\necho x\n",
        _ => return vec![b'x'; usize::try_from(size).unwrap_or(0)],
    };
    known.to_vec()
}

/// Path of each file, with a line that shows its mode, owners and link target.
pub type Listing = Vec<(String, String)>;

/// Listings before and after a case.
pub struct Listings {
    pub before: Listing,
    pub after: Listing,
}

impl Fixture {
    /// Creates the fixture.
    pub fn lay(family: &Family, case: &Case, accounts: &Accounts) -> Result<Self> {
        let stage = Stage::bare(accounts)?;
        let local = stage.local.clone();
        for directory in ["log", "spool", "execute", "lock", "run"] {
            stage::owner(&local.join(directory), CONDOR, CONDOR)?;
        }
        stage::owner(&local.join("iwd"), ALICE, ALICE)?;
        stage::mode(&local.join("state"), 0o1777)?;
        let mut config = family.config.clone();
        config.extend_from_slice(&case.config);
        stage::write(&local.join("condor_config"), &stage.fill_in(&config))?;
        if let Some(ad) = &case.slot_ad {
            stage::write(&local.join("slot.ad"), &stage.fill_in(ad))?;
        }
        for scripts in [family.directory.join("scripts"), case.directory.join("scripts")] {
            stage::copy_tree(&scripts, &local.join("scripts"), &stage)?;
        }
        for entry in fs::read_dir(local.join("scripts")).into_iter().flatten().flatten() {
            let name = entry.file_name();
            let place = if name.to_string_lossy().contains("_HOOK_") { "hook.d" } else { "job.d" };
            stage.recorder(&local.join(place).join(&name), 0o755)?;
        }
        let fixture = Fixture { stage };
        let first = family.cases.first().unwrap_or(case);
        let own = case.before().map(|entries| (entries, case));
        let listed = own.or_else(|| first.before().map(|entries| (entries, first)));
        if let Some((entries, holder)) = listed {
            for entry in &entries {
                fixture.put(entry, holder)?;
            }
        }
        // Jobs run as another account, so files that belong to root afterwards were created by the recorder.
        for entry in case.after.iter().flatten().filter(|entry| entry.uid == 0 && entry.kind == '-') {
            let content = case.directory.join(&entry.path);
            if content.is_file() && !fixture.stage.local.join(&entry.path).exists() {
                fixture.put(entry, case)?;
            }
        }
        fixture.prepare_runtime(case)?;
        if !case.in_iwd {
            fixture.prepare_execute(&case.name)?;
            if SEARCHED_EXECUTE.contains(&(family.name.as_str(), case.name.as_str())) {
                stage::mode(&fixture.stage.local.join("execute"), 0o711)?;
            }
        }
        Ok(fixture)
    }

    /// Returns the directory of the job's files, in which the starter is called.
    pub fn iwd(&self) -> PathBuf {
        self.stage.local.join("iwd")
    }

    /// Waits until no process has its working directory here, or for at most some seconds.
    pub fn wait_for_orphans(&self) {
        processes::wait_for_none(self.stage.top(), Duration::from_secs(15));
    }

    fn put(&self, entry: &LayoutEntry, holder: &Case) -> Result<()> {
        if entry.path.is_empty() {
            return Ok(());
        }
        let path = self.stage.local.join(&entry.path);
        match entry.kind {
            'd' => stage::make(&path)?,
            'l' => {
                let target = self.stage.fill_in(entry.link.as_deref().unwrap_or_default().as_bytes());
                let target = PathBuf::from(String::from_utf8_lossy(&target).into_owned());
                return symlink(target, &path).map_err(|error| format!("{}: {error}", path.display()));
            }
            _ => {
                // The recording contains the file afterwards; its size before is listed.
                let mut content = fs::read(holder.directory.join(&entry.path)).unwrap_or_default();
                content.truncate(usize::try_from(entry.size).unwrap_or(usize::MAX));
                if content.is_empty() && holder.in_iwd {
                    content = was_there(&entry.path, entry.size, holder);
                }
                let prog = PROGS.iter().find(|prog| prog.len() as u64 == entry.size);
                if let Some(prog) = prog.filter(|_| content.is_empty() && entry.path.ends_with("/prog")) {
                    content.extend_from_slice(prog);
                }
                stage::write(&path, &self.stage.fill_in(&content))?;
            }
        }
        stage::owner(&path, entry.uid, entry.gid)?;
        stage::mode(&path, entry.mode)
    }

    /// Creates the files for the fake container runtimes: their instructions, an image, and the script that
    /// reports that the runtime has started the job.
    fn prepare_runtime(&self, case: &Case) -> Result<()> {
        let local = &self.stage.local;
        let singularity = local.join("scripts/singularity");
        if let Some(text) = &case.double {
            let name = if case.is_singularity() { "sing.json" } else { "docker.json" };
            stage::write(&local.join("state").join(name), &self.stage.fill_in(text.as_bytes()))?;
        }
        if case.image {
            for name in ["img.dir/mnt", "img.dir/etc"] {
                stage::make(&local.join(name))?;
            }
        }
        if singularity.exists() {
            let text = fs::read_to_string(&singularity).map_err(|error| error.to_string())?;
            let release = self.stage.release.to_string_lossy().into_owned();
            // A bind mount over /srv, as in some recordings, must not hide the fixture, which is located
            // there.
            let text = text.replace("{REL}", &release);
            let text =
                text.replace("def out(p):\n", "def out(p):\n    if p.startswith(base + '/'): return p\n");
            stage::write(&singularity, text.as_bytes())?;
            let libexec = self.stage.release.join("libexec");
            stage::make(&libexec)?;
            let launcher =
                "#!/bin/sh\n: > \"$_CONDOR_SCRATCH_DIR/.condor_container_launched\"\nexec \"$@\"\n";
            stage::write(&libexec.join("condor_container_launcher.sh"), launcher.as_bytes())?;
        }
        Ok(())
    }

    /// Prepares EXECUTE as the name of the case requires.
    fn prepare_execute(&self, case: &str) -> Result<()> {
        let execute = self.stage.local.join("execute");
        let name = case.split_once('-').map_or("", |(_, name)| name);
        match name {
            "exec-missing" => fs::remove_dir(&execute).map_err(|error| error.to_string()),
            "exec-not-writable" => stage::mode(&execute, 0o555),
            "exec-root-owned" => stage::owner(&execute, 0, 0),
            "exec-world" => stage::owner(&execute, 0, 0).and_then(|()| stage::mode(&execute, 0o1777)),
            "exec-world-no-sticky" => {
                stage::owner(&execute, 0, 0).and_then(|()| stage::mode(&execute, 0o777))
            }
            "exec-700" => stage::mode(&execute, 0o700),
            "exec-file" => fs::remove_dir(&execute)
                .and_then(|()| fs::write(&execute, ""))
                .map_err(|error| error.to_string()),
            "exec-symlink" => {
                let real = self.stage.local.join("execute.real");
                fs::rename(&execute, &real)
                    .and_then(|()| symlink(&real, &execute))
                    .map_err(|error| error.to_string())
            }
            _ => Ok(()),
        }
    }

    /// Lists the current iwd/, state/ and execute/.
    pub fn listing(&self) -> Result<Listing> {
        let mut listing = Listing::new();
        for top in ["iwd", "state", "execute"] {
            self.list(&self.stage.local.join(top), top, &mut listing);
        }
        listing.sort();
        Ok(listing)
    }

    fn list(&self, directory: &Path, prefix: &str, listing: &mut Listing) {
        for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
            let Ok(metadata) = entry.path().symlink_metadata() else { continue };
            let name = normalise::scratch(&format!("{prefix}/{}", entry.file_name().to_string_lossy()));
            let link = fs::read_link(entry.path()).ok().map(|target| {
                String::from_utf8_lossy(&self.stage.take_out(target.as_os_str().as_encoded_bytes()))
                    .into_owned()
            });
            let kind = match metadata.file_type() {
                kind if kind.is_dir() => 'd',
                kind if kind.is_symlink() => 'l',
                _ => '-',
            };
            let bits = metadata.permissions().mode() & 0o7777;
            listing.push((name.clone(), line(kind, bits, metadata.uid(), metadata.gid(), link.as_deref())));
            if metadata.is_dir() {
                self.list(&entry.path(), &name, listing);
            }
        }
    }
}

/// Returns the line that shows a file in a listing.
pub fn line(kind: char, mode: u32, uid: u32, gid: u32, link: Option<&str>) -> String {
    let link = link.map_or(String::new(), |target| format!(" -> {}", normalise::scratch(target)));
    format!("{kind} {mode:04o} {uid} {gid}{link}")
}

/// Returns the same line for a recorded entry. A link has no mode of its own.
pub fn recorded_line(entry: &LayoutEntry) -> String {
    let kind = if "dl".contains(entry.kind) { entry.kind } else { '-' };
    let mode = if kind == 'l' { 0o777 } else { entry.mode };
    line(kind, mode, entry.uid, entry.gid, entry.link.as_deref())
}
