//! Jobs that can exist in a queue: some attributes are set by the access point and always have the same type.

use htc_classad::{ClassAd, Value};

/// Attributes that are strings in every job.
const STRING_ATTRIBUTES: [&str; 12] = [
    "Owner",
    "User",
    "OsUser",
    "NTDomain",
    "GlobalJobId",
    "Cmd",
    "Iwd",
    "In",
    "Out",
    "Err",
    "MyType",
    "RoutedBy",
];

/// Attributes that are integers in every job.
const INTEGER_ATTRIBUTES: [&str; 10] = [
    "ClusterId",
    "ProcId",
    "JobStatus",
    "JobUniverse",
    "JobPrio",
    "QDate",
    "EnteredCurrentStatus",
    "CompletionDate",
    "NumJobStarts",
    "NumRestarts",
];

/// Returns true if the job can exist in a queue: none of these attributes has a value of another type.
pub(super) fn is_possible_job(job: &ClassAd) -> bool {
    let have_type = |names: &[&str], is_right: fn(&Value) -> bool| {
        names.iter().all(|name| {
            let value = job.get(name).and_then(|expr| expr.as_literal());
            value.is_none_or(|value| is_right(&value) || matches!(value, Value::Undefined))
        })
    };
    have_type(&STRING_ATTRIBUTES, |value| matches!(value, Value::Str(_)))
        && have_type(&INTEGER_ATTRIBUTES, |value| matches!(value, Value::Int(_)))
}
