//! Spooling of job files: they are copied into the queue's spool when the routed job is submitted, and from there to
//! the source job's destination when the routed job has ended. The ad is rewritten as a schedd does
//! (`rewriteSpooledJobAd`, qmgmt.cpp).

use std::path::{Path, PathBuf};

use bstr::{BString, ByteSlice};

use crate::hook_call::HookCall;
use htc_base::job::JobId;
use htc_base::process::{ChildSpec, ProcessIdentity, SessionMode, Stdio};
use htc_base::time::MonotonicTime;
use htc_base::world::World;
use htc_classad::{ClassAd, Context, Expr};
use htc_router::translate::remap_file_name;

/// Maximum number of bytes kept of the copying program's error messages.
const MAX_STDERR: usize = 4 << 10;
/// Name of the spool directory in the queue's directory.
const SPOOL: &str = "spool";
/// Number of directories over which a schedd distributes its jobs.
const DIRECTORY_BUCKETS: i32 = 10_000;
/// Path used in a job ad for a standard file that does not exist.
const NULL_DEVICE: &[u8] = b"/dev/null";
/// Script that copies pairs of paths. It copies only files and directories, because reading from a FIFO or device
/// could block.
const COPY_SCRIPT: &str = r#"while [ "$#" -gt 1 ]; do
  if [ ! -f "$1" ] && [ ! -d "$1" ]; then echo "'$1' is not a file" >&2; exit 1; fi
  cp -RL -- "$1" "$2" || exit 1
  shift 2
done"#;

/// Copy of files in progress.
pub(super) struct SpoolCopy {
    /// The source job.
    pub source: JobId,
    /// The routed job that owns the spool directory.
    pub copy: JobId,
    /// Direction of the copy.
    pub direction: CopyDirection,
    /// Time at which the copying is stopped, or `None` for no limit.
    pub deadline: Option<MonotonicTime>,
    /// True if the copying was stopped.
    pub timed_out: bool,
}

/// Direction of a copy.
pub(super) enum CopyDirection {
    /// Copies files into the spool; afterwards the routed job with this ad is submitted, and the proxy that was
    /// copied for it is removed.
    IntoSpool(Box<ClassAd>, Option<PathBuf>),
    /// Copies files out of the spool. The value is the time at which copying began, in seconds since the epoch.
    /// Afterwards the routed job is complete.
    OutOfSpool(i64),
}

/// Returns the spool directory of a job in a queue's directory.
pub(super) fn job_spool_directory(queue: &Path, id: JobId) -> PathBuf {
    let JobId { cluster, proc } = id;
    let place = queue
        .join(SPOOL)
        .join((cluster % DIRECTORY_BUCKETS).to_string())
        .join((proc % DIRECTORY_BUCKETS).to_string());
    place.join(format!("cluster{cluster}.proc{proc}.subproc0"))
}

/// Returns the spool directories of all jobs of a queue, with the job ids.
pub(super) fn job_spool_directories(queue: &Path) -> Vec<(PathBuf, JobId)> {
    let below = |path: &Path| -> Vec<PathBuf> {
        std::fs::read_dir(path).into_iter().flatten().flatten().map(|entry| entry.path()).collect()
    };
    let id_of = |path: &PathBuf| {
        let name = path.file_name()?.to_str()?.strip_prefix("cluster")?.strip_suffix(".subproc0")?;
        JobId::parse_key(name.replacen(".proc", ".", 1).as_bytes()).filter(|id| id.is_job())
    };
    let jobs = below(&queue.join(SPOOL)).into_iter().flat_map(|place| below(&place));
    let found = jobs.flat_map(|place| below(&place)).filter_map(|path| id_of(&path).map(|id| (path, id)));
    // Only directories at the path where a schedd would create them are spool directories of jobs.
    found.filter(|(path, id)| *path == job_spool_directory(queue, *id)).collect()
}

fn file_attribute(ad: &ClassAd, name: &str, world: &dyn World) -> Option<BString> {
    Context::new(world).my(ad).string(name).filter(|text| !text.is_empty() && text.as_slice() != NULL_DEVICE)
}

fn is_url(file: &[u8]) -> bool {
    file.contains_str("://")
}

/// Returns the last component of a path. A trailing slash is kept: it means the contents of a directory.
fn last_path_component(path: &[u8]) -> &[u8] {
    let trimmed = path.strip_suffix(b"/").unwrap_or(path);
    let start = trimmed.rfind_byte(b'/').map_or(0, |slash| slash + 1);
    &path[start..]
}

fn split_file_list(list_of: &[u8]) -> impl Iterator<Item = &[u8]> {
    list_of.split(|byte| *byte == b',').map(|file| file.trim()).filter(|file| !file.is_empty())
}

/// Returns true unless the attribute that enables the transfer of a file is false.
fn is_transfer_wanted(ad: &ClassAd, name: &str, world: &dyn World) -> bool {
    Context::new(world).my(ad).boolean(name).unwrap_or(true)
}

/// Returns the files to copy into the spool as pairs: source (as in the ad, relative to Iwd) and destination.
pub(super) fn input_copies(ad: &ClassAd, spool: &Path, world: &dyn World) -> Vec<(PathBuf, PathBuf)> {
    let mut names: Vec<BString> = Vec::new();
    names.extend(
        file_attribute(ad, "Cmd", world).filter(|_| is_transfer_wanted(ad, "TransferExecutable", world)),
    );
    names.extend(file_attribute(ad, "In", world).filter(|_| is_transfer_wanted(ad, "TransferIn", world)));
    names.extend(file_attribute(ad, "x509userproxy", world));
    let listed = file_attribute(ad, "TransferInput", world).unwrap_or_default();
    names.extend(split_file_list(&listed).map(BString::from));
    let pairs = names.iter().filter(|name| !is_url(name)).map(|name| {
        let from = name.to_path_lossy().into_owned();
        match name.ends_with(b"/") {
            true => (from.join("."), spool.to_owned()),
            false => (from, spool.join(last_path_component(name).to_path_lossy())),
        }
    });
    pairs.collect()
}

/// Rewrites an ad for a job whose files have been spooled.
pub(super) fn rewrite_ad_for_spool(ad: &mut ClassAd, spool: &Path, now: i64, world: &dyn World) {
    use std::os::unix::ffi::OsStrExt;
    let undefined = || Expr::parse(b"undefined").ok();
    if let Some(iwd) = ad.get("Iwd").or_else(undefined) {
        ad.insert("SUBMIT_Iwd", iwd);
    }
    ad.set("Iwd", BString::from(spool.as_os_str().as_bytes()));
    let rules = file_attribute(ad, "TransferOutputRemaps", world);
    let part = |urls: bool| -> BString {
        let text: &[u8] = rules.as_ref().map_or(b"", |rules| rules.as_slice());
        let all = text.split(|byte| *byte == b';').map(|rule| rule.trim());
        let kept: Vec<&[u8]> = all.filter(|rule| !rule.is_empty() && is_url(rule) == urls).collect();
        bstr::join(";", kept).into()
    };
    if rules.is_some() {
        ad.set("SUBMIT_TransferOutputRemaps", part(false));
    }
    // Output files keep their names in the spool, so only remaps to URLs remain in the ad.
    match (part(true), undefined()) {
        (none, Some(undefined)) if none.is_empty() => ad.insert("TransferOutputRemaps", undefined),
        (urls, _) => ad.set("TransferOutputRemaps", urls),
    }
    for (name, transfer) in [
        ("Cmd", Some("TransferExecutable")),
        ("In", Some("TransferIn")),
        ("TransferInput", None),
        ("UserLog", None),
        ("x509userproxy", None),
    ] {
        let Some(old) = file_attribute(ad, name, world) else { continue };
        if transfer.is_some_and(|transfer| !is_transfer_wanted(ad, transfer, world)) {
            continue;
        }
        let base =
            |file: &[u8]| if is_url(file) { file.to_vec() } else { last_path_component(file).to_vec() };
        let new: BString = match name {
            "TransferInput" => bstr::join(",", split_file_list(&old).map(base)).into(),
            _ => base(&old).into(),
        };
        if new != old {
            ad.set(format!("SUBMIT_{name}").as_str(), old);
            ad.set(name, new);
        }
    }
    ad.set("StageInStart", now);
    ad.set("StageInFinish", now);
    ad.set("LastHoldReason", "Spooling input data files");
    ad.set("LastHoldReasonCode", 16);
    ad.set("ReleaseReason", "Data files spooled");
}

/// Returns the files to copy out of the spool as pairs: path in the spool, and destination of the source job.
pub(super) fn output_copies(copy: &ClassAd, spool: &Path, world: &dyn World) -> Vec<(PathBuf, PathBuf)> {
    let home = file_attribute(copy, "SUBMIT_Iwd", world).unwrap_or_default();
    let rules = file_attribute(copy, "SUBMIT_TransferOutputRemaps", world).unwrap_or_default();
    let listed = file_attribute(copy, "SpooledOutputFiles", world)
        .or_else(|| file_attribute(copy, "TransferOutput", world))
        .unwrap_or_default();
    let mut names: Vec<BString> = split_file_list(&listed).map(BString::from).collect();
    names.extend(["Out", "Err"].into_iter().filter_map(|name| file_attribute(copy, name, world)));
    let pairs = names.iter().filter(|name| !is_url(name)).map(|name| {
        let there = last_path_component(name);
        let mapped = remap_file_name(&rules, there, &mut |_| {}).unwrap_or_else(|| name.clone());
        let name = there.strip_suffix(b"/").unwrap_or(there);
        (spool.join(name.to_path_lossy()), home.to_path_lossy().join(mapped.to_path_lossy()))
    });
    // Files that the job did not create are skipped; a directory is not copied into an existing one of the same name.
    pairs.filter(|(from, _)| from.exists()).collect()
}

/// Describes the child process that copies pairs of paths, run as `owner` if given.
pub(super) fn copy_child_spec(
    pairs: &[(PathBuf, PathBuf)],
    directory: &Path,
    identity: Option<ProcessIdentity>,
    world: &dyn World,
) -> ChildSpec {
    use std::os::unix::ffi::OsStrExt;
    let mut spec = ChildSpec::new("/bin/sh");
    spec.argv = ["sh", "-c", COPY_SCRIPT, "sh"].map(BString::from).to_vec();
    for (from, to) in pairs {
        spec.argv.extend([from, to].map(|path| BString::from(path.as_os_str().as_bytes())));
    }
    spec.env = vec!["PATH=/usr/bin:/bin".into(), "LC_ALL=C".into()];
    spec.cwd = Some(directory.to_owned());
    spec.dies_with_parent = true;
    spec.identity = identity;
    spec.stdio = [Stdio::Null, Stdio::Null, Stdio::Capture { limit: MAX_STDERR }];
    spec.session = SessionMode::NewSession;
    spec.ancestor_stamp = Some(HookCall::new_family_marker(world.now(), world.random()));
    spec
}
