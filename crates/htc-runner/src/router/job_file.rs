//! Files of jobs in a job directory: their names, their contents, and the attributes that a schedd would set.

use std::fs::OpenOptions;
use std::io::{self, Read};
use std::path::Path;
use std::sync::Arc;

use htc_base::job::{HoldCode, JobId, JobStatus};
use htc_base::text::caseless;
use htc_base::world::World;
use htc_classad::format::long;
use htc_classad::{ClassAd, Context, Dialect, Expr, Value};
use htc_os::files::open_regular_file;

/// Suffix of a job's file.
pub(super) const JOB_FILE_SUFFIX: &str = ".ad";
/// File with the number of the next cluster.
pub(super) const CLUSTER_COUNTER_FILE: &str = ".next_cluster";
/// Maximum size of a job's ad, in bytes.
const MAX_AD_SIZE: u64 = 64 << 20;

/// Returns the job id in a file's name, or `None` if it has none.
pub(super) fn job_id_of_file(name: &str) -> Option<JobId> {
    JobId::parse_key(name.strip_suffix(JOB_FILE_SUFFIX)?.as_bytes()).filter(|id| id.is_job())
}

/// Returns true for a temporary file, which is renamed once it is complete: `.CLUSTER.PROC.PID`, or that of the
/// cluster counter.
pub(super) fn is_temporary(name: &str) -> bool {
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let Some((whole, pid)) = name.rsplit_once('.') else { return false };
    let of_job = whole.strip_prefix('.').and_then(|id| JobId::parse_key(id.as_bytes()));
    is_number(pid) && (whole == CLUSTER_COUNTER_FILE || of_job.is_some_and(|id| id.is_job()))
}

/// Reads a job's file. Only a regular file is opened, so opening never blocks.
pub(super) fn read_job_file(path: &Path, dialect: Dialect) -> io::Result<ClassAd> {
    let invalid = |text: String| io::Error::new(io::ErrorKind::InvalidData, text);
    let mut text = Vec::new();
    open_regular_file(path, OpenOptions::new().read(true))?.take(MAX_AD_SIZE + 1).read_to_end(&mut text)?;
    if text.len() as u64 > MAX_AD_SIZE {
        return Err(invalid(format!("is larger than {} MiB", MAX_AD_SIZE >> 20)));
    }
    let (ad, errors) = long::parse_with(&text, dialect);
    match errors.into_iter().next() {
        Some(error) => Err(invalid(error.to_string())),
        None if ad.is_empty() => Err(invalid("has no attributes".into())),
        None => Ok(ad),
    }
}

/// Records in the ad that an attribute was set, as a schedd does: the previous job status, and the number and reasons
/// of holds (`SetAttribute`, qmgmt.cpp).
pub(super) fn record_attribute_change(ad: &mut ClassAd, name: &[u8], expr: Option<&Expr>, world: &dyn World) {
    let value = expr.and_then(|expr| expr.as_literal()?.as_int());
    if caseless::eq(name, b"JobStatus") {
        let former = ad.literal("JobStatus").and_then(|status| status.as_int());
        if let (Some(former), true) = (former, value.is_some() && former != value) {
            ad.set("LastJobStatus", former);
        }
    }
    // Holds for spooling input files are not counted.
    let counts = |code: &i64| *code != HoldCode::SpoolingInput.number();
    let Some(code) = value.filter(|code| caseless::eq(name, b"HoldReasonCode") && counts(code)) else {
        return;
    };
    let held = Context::new(world).my(ad).int("NumHolds").unwrap_or(0);
    let reasons = match Context::new(world).my(ad).eval_attr("NumHoldsByReason") {
        Value::Ad(reasons) => reasons,
        _ => Arc::default(),
    };
    let mut reasons = ClassAd::clone(&reasons);
    let reason = HoldCode::from_number(code).unwrap_or(HoldCode::Unspecified).name();
    let so_far = Context::new(world).my(&reasons).int(reason).unwrap_or(0);
    reasons.set(reason, so_far + 1);
    ad.set("NumHolds", held + 1);
    ad.set("NumHoldsByReason", Value::Ad(Arc::new(reasons)));
}

/// Adds the attributes to a job's ad that the router needs and a schedd would set.
pub(super) fn complete_ad(id: JobId, mut ad: ClassAd) -> ClassAd {
    ad.set("ClusterId", i64::from(id.cluster));
    ad.set("ProcId", i64::from(id.proc));
    // A schedd records that the hooks of a completed job have ended. Other programs that write job files need not
    // record it, so it is added here.
    let done = ad.literal("JobStatus").and_then(|status| status.as_int()) == Some(JobStatus::COMPLETED);
    if done && !ad.contains("JobFinishedHookDone") {
        ad.set("JobFinishedHookDone", 1);
    }
    ad
}
