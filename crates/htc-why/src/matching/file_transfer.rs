//! Jobs that transfer their files, and so need no shared file system.

use htc_classad::{ClassAd, Value};

/// Attribute that says whether a job transfers its files.
pub(super) const SHOULD_TRANSFER_FILES: &str = "ShouldTransferFiles";

/// True if a job transfers its files in any case, so that it needs no shared file system.
pub(super) fn transfers_files(job: &ClassAd) -> bool {
    let value = job.get(SHOULD_TRANSFER_FILES).and_then(|expr| expr.as_literal());
    matches!(value, Some(Value::Str(text)) if text.eq_ignore_ascii_case(b"YES"))
}
