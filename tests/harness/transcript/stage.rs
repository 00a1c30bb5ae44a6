//! Creates the files of a scenario in a new directory, as they were before the daemons started.

use std::fs;
use std::os::unix::fs::{PermissionsExt, chown, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use super::Result;
use super::accounts::Accounts;
use super::forks;
use super::scenario::{LayoutEntry, Scenario};

/// The recorder that replaces hooks and jobs.
const RECORDER: &str = include_str!("recorder.c");
/// Runs a program in separate namespaces.
const APART: &str = include_str!("apart.c");

/// The directory of one scenario's run: `local` is LOCAL_DIR, `records` contains the records of our recorder.
pub struct Stage {
    top: tempfile::TempDir,
    /// LOCAL_DIR.
    pub local: PathBuf,
    /// Replaces the installation.
    pub release: PathBuf,
    host: String,
}

impl Stage {
    /// Creates the directory with the contents of every LOCAL_DIR.
    pub fn bare(accounts: &Accounts) -> Result<Self> {
        // Jobs of root get a private /tmp and /var/tmp, so files that they need must be elsewhere.
        let elsewhere = Path::new("/srv");
        let home =
            if accounts.own && elsewhere.is_dir() { elsewhere.to_owned() } else { std::env::temp_dir() };
        let top = tempfile::Builder::new()
            .prefix("htc-replay-")
            .tempdir_in(home)
            .map_err(|error| format!("a fresh directory: {error}"))?;
        let stage = Stage {
            local: top.path().join("local"),
            release: top.path().join("release"),
            host: accounts.host.clone(),
            top,
        };
        mode(stage.top.path(), 0o755)?;
        for directory in ["local", "records", "release", "release/sbin", "release/bin"] {
            make(&stage.top.path().join(directory))?;
        }
        mode(&stage.records(), 0o1777)?;
        accounts.prepare(stage.top.path())?;
        stage.compile()?;
        for directory in [
            "log",
            "spool",
            "execute",
            "lock",
            "run",
            "state",
            "passwords.d",
            "tokens.d",
            "hook.d",
            "job.d",
            "iwd",
        ] {
            make(&stage.local.join(directory))?;
        }
        mode(&stage.local.join("state"), 0o1777)?;
        Ok(stage)
    }

    /// Creates the directory and the files of the scenario.
    pub fn build(scenario: &Scenario, accounts: &Accounts) -> Result<Self> {
        let stage = Self::bare(accounts)?;
        if accounts.own {
            for directory in ["log", "spool", "execute", "lock", "run"] {
                let id = scenario.daemon_uid().unwrap_or(64);
                owner(&stage.local.join(directory), id, id)?;
            }
        }
        let mut config = read(&scenario.directory.join("condor_config"))?;
        config.extend_from_slice(super::edits::first(&scenario.title()).as_bytes());
        if config.windows(7).any(|window| window == b"hook.w/") {
            // World-writable directories with a valid hook: the path check examines the directory too.
            make(&stage.local.join("hook.w"))?;
            stage.recorder(&stage.local.join("hook.w/hook"), 0o755)?;
            mode(&stage.local.join("hook.w"), 0o777)?;
        }
        if !accounts.own {
            config = of_caller(config);
        }
        write(&stage.local.join("condor_config"), &stage.fill_in(&config))?;
        copy_tree(&scenario.directory.join("scripts"), &stage.local.join("scripts"), &stage)?;
        make(&stage.local.join("scripts/queue/.taken"))?;
        // Behaviours count the calls of their hook there.
        symlink(stage.records(), stage.local.join("records")).map_err(|error| format!("records: {error}"))?;
        if scenario.layout.is_empty() {
            stage.lay_named(&config)?;
        }
        for entry in &scenario.layout {
            stage.lay(scenario, entry, accounts)?;
        }
        // The listing contains the directory of the queue only as a heading: it belonged to the owner of its
        // contents.
        let inside = scenario.layout.iter().find(|entry| entry.path.starts_with("scripts/queue/"));
        if let Some(entry) = inside.filter(|_| accounts.own) {
            owner(&stage.local.join("scripts/queue"), entry.uid, entry.gid)?;
        }
        Ok(stage)
    }

    /// Puts the recorder in place of each script that is called, for recordings without a listing of files.
    fn lay_named(&self, config: &[u8]) -> Result<()> {
        let config = String::from_utf8_lossy(config).into_owned();
        for entry in fs::read_dir(self.local.join("scripts")).into_iter().flatten().flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            let is_hook = config.contains(&format!("hook.d/{name}")) || name.contains("_HOOK_");
            let place = if is_hook { "hook.d" } else { "job.d" };
            if entry.path().is_file() {
                self.recorder(&self.local.join(place).join(&name), 0o755)?;
            }
        }
        Ok(())
    }

    fn lay(&self, scenario: &Scenario, entry: &LayoutEntry, accounts: &Accounts) -> Result<()> {
        let path = self.local.join(&entry.path);
        match entry.kind {
            'd' => make(&path)?,
            'l' => {
                let target = self.fill_in(entry.link.as_deref().unwrap_or_default().as_bytes());
                let target = PathBuf::from(String::from_utf8_lossy(&target).into_owned());
                let _ = fs::remove_file(&path);
                return symlink(&target, &path).map_err(|error| format!("{}: {error}", path.display()));
            }
            _ if path.is_file() => {}
            _ => self.file(scenario, entry, &path)?,
        }
        mode(&path, entry.mode)?;
        if accounts.own { owner(&path, entry.uid, entry.gid) } else { Ok(()) }
    }

    fn file(&self, scenario: &Scenario, entry: &LayoutEntry, path: &Path) -> Result<()> {
        if let Some(parent) = path.parent() {
            make(parent)?;
        }
        let recorded = scenario.directory.join(&entry.path);
        if recorded.is_file() {
            return write(path, &self.fill_in(&read(&recorded)?));
        }
        // The recorder was one binary, which is recognized by its size.
        if entry.size > 10_000 && entry.path.contains(".d/") {
            return self.recorder(path, entry.mode);
        }
        let text: &[u8] = match path.file_name().and_then(|name| name.to_str()) {
            Some("nointerp") => b"#!/no/such/interpreter\n",
            Some("noshebang") => b"echo no shebang ran\n",
            _ => b"",
        };
        write(path, text)
    }

    /// Compiles our C programs, once per process.
    fn compile(&self) -> Result<()> {
        static COMPILED: OnceLock<Result<[Vec<u8>; 2]>> = OnceLock::new();
        let compiled = COMPILED
            .get_or_init(|| Ok([self.compiled("recorder", RECORDER)?, self.compiled("apart", APART)?]))
            .as_ref()
            .map_err(String::clone)?;
        for (name, bytes) in ["recorder", "apart"].into_iter().zip(compiled) {
            write(&self.top.path().join(name), bytes)?;
        }
        mode(&self.apart(), 0o755)
    }

    fn compiled(&self, name: &str, text: &str) -> Result<Vec<u8>> {
        let program = self.top.path().join(name);
        let source = self.top.path().join(format!("{name}.c"));
        write(&source, text.as_bytes())?;
        let mut compiler = Command::new("cc");
        compiler.args(["-O1", "-w", "-o"]).args([&program, &source]);
        let output = forks::output(&mut compiler)
            .map_err(|error| format!("cc (the {name} is written in C): {error}"))?;
        match output.status.success() {
            true => read(&program),
            false => Err(format!("cc: {}", String::from_utf8_lossy(&output.stderr))),
        }
    }

    /// Returns the program `apart TOP HOST UMASK FROM TO PROGRAM [WORD...]`, which replaces itself by
    /// PROGRAM.
    pub fn apart(&self) -> PathBuf {
        self.top.path().join("apart")
    }

    /// Creates a copy of the recorder.
    pub fn recorder(&self, path: &Path, bits: u32) -> Result<()> {
        let from = self.top.path().join("recorder");
        forks::write_file(|| fs::copy(&from, path))
            .map_err(|error| format!("{}: {error}", path.display()))?;
        mode(path, bits)
    }

    /// Returns the directory of the records.
    pub fn records(&self) -> PathBuf {
        self.top.path().join("records")
    }

    /// Returns the directory that contains everything.
    pub fn top(&self) -> &Path {
        self.top.path()
    }

    /// Replaces the placeholders of a recording by the values here.
    pub fn fill_in(&self, bytes: &[u8]) -> Vec<u8> {
        let local = self.local.to_string_lossy();
        let release = self.release.to_string_lossy();
        let mut out = bytes.to_vec();
        for (placeholder, value) in
            [("@LOCAL_DIR@", &*local), ("@RELEASE_DIR@", &*release), ("@HOST@", self.host.as_str())]
        {
            out = replace(&out, placeholder.as_bytes(), value.as_bytes());
        }
        out
    }

    /// Replaces the values here by placeholders.
    pub fn take_out(&self, bytes: &[u8]) -> Vec<u8> {
        let local = self.local.to_string_lossy();
        let release = self.release.to_string_lossy();
        let mut out = bytes.to_vec();
        for (placeholder, value) in
            [("@LOCAL_DIR@", &*local), ("@RELEASE_DIR@", &*release), ("@HOST@", self.host.as_str())]
        {
            out = replace(&out, value.as_bytes(), placeholder.as_bytes());
        }
        out
    }

    /// Keeps the directory.
    pub fn keep(self) -> PathBuf {
        self.top.keep()
    }
}

/// Replaces every occurrence in bytes.
fn replace(bytes: &[u8], from: &[u8], to: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(bytes.len());
    let mut rest = bytes;
    while let Some(at) = rest.windows(from.len().max(1)).position(|window| window == from) {
        out.extend_from_slice(&rest[..at]);
        out.extend_from_slice(to);
        rest = &rest[at + from.len()..];
    }
    out.extend_from_slice(rest);
    out
}

pub fn copy_tree(from: &Path, to: &Path, stage: &Stage) -> Result<()> {
    make(to)?;
    let Ok(entries) = fs::read_dir(from) else { return Ok(()) };
    for entry in entries.flatten() {
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy_tree(&entry.path(), &target, stage)?;
        } else {
            write(&target, &stage.fill_in(&read(&entry.path())?))?;
            mode(&target, 0o755)?;
        }
    }
    Ok(())
}

pub fn make(path: &Path) -> Result<()> {
    fs::create_dir_all(path).map_err(|error| format!("{}: {error}", path.display()))
}

fn read(path: &Path) -> Result<Vec<u8>> {
    fs::read(path).map_err(|error| format!("{}: {error}", path.display()))
}

pub fn write(path: &Path, bytes: &[u8]) -> Result<()> {
    forks::write_file(|| fs::write(path, bytes)).map_err(|error| format!("{}: {error}", path.display()))
}

pub fn mode(path: &Path, bits: u32) -> Result<()> {
    fs::set_permissions(path, fs::Permissions::from_mode(bits))
        .map_err(|error| format!("{}: {error}", path.display()))
}

pub fn owner(path: &Path, uid: u32, gid: u32) -> Result<()> {
    chown(path, Some(uid), Some(gid)).map_err(|error| format!("{}: {error}", path.display()))
}

/// Returns the configuration with the caller's account in place of the daemons' recorded account, which does
/// not exist here.
fn of_caller(config: Vec<u8>) -> Vec<u8> {
    let mut config = config;
    let ids = format!("\nCONDOR_IDS = {}.{}\n", nix::unistd::geteuid(), nix::unistd::getegid());
    config.extend_from_slice(ids.as_bytes());
    config
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Without a listing, files are created where the configuration looks for them: hooks in hook.d/, all
    /// others in job.d/.
    #[test]
    fn a_recording_without_a_listing_has_its_wrapper_in_job_d_and_its_hooks_in_hook_d() {
        let made = tempfile::tempdir().unwrap();
        let lay = |name: &str, text: &str| write(&made.path().join(name), text.as_bytes()).unwrap();
        for directory in ["hooks", "scripts"] {
            make(&made.path().join(directory)).unwrap();
        }
        lay("README.md", "# A session with a wrapper\n");
        lay("timeline.txt", "");
        let parameters =
            "USER_JOB_WRAPPER = @LOCAL_DIR@/job.d/wrapper\nFARM_HOOK_FETCH_WORK = @LOCAL_DIR@/hook.d/fetch\n";
        lay("condor_config", parameters);
        for script in ["wrapper", "fetch", "FARM_HOOK_JOB_EXIT"] {
            lay(&format!("scripts/{script}"), "#!/bin/sh\nexec \"$@\"\n");
        }
        let scenario = Scenario::read(made.path()).unwrap();
        let accounts = Accounts::probe(&mut Vec::new());
        let stage = Stage::build(&scenario, &accounts).unwrap();
        let config = fs::read_to_string(stage.local.join("condor_config")).unwrap();
        for (place, is_there) in [
            ("job.d/wrapper", true),
            ("hook.d/fetch", true),
            ("hook.d/FARM_HOOK_JOB_EXIT", true),
            ("job.d/fetch", false),
            ("hook.d/wrapper", false),
        ] {
            let path = stage.local.join(place);
            let mode = fs::metadata(&path).ok().map(|metadata| metadata.permissions().mode() & 0o777);
            assert_eq!(mode, is_there.then_some(0o755), "{place}");
        }
        assert!(
            config.contains(&format!("USER_JOB_WRAPPER = {}/job.d/wrapper\n", stage.local.display())),
            "{config}"
        );
    }
}
