//! Jobs that a queue can hold: the access point gives some attributes their values, always of one type.

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

/// Attributes that are whole numbers in every job.
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

/// Whether a queue can hold this job: none of these attributes has a value of another type.
pub(super) fn is_possible_job(job: &ClassAd) -> bool {
    let has = |names: &[&str], is_right: fn(&Value) -> bool| {
        names.iter().all(|name| {
            let value = job.get(name).and_then(|expr| expr.as_literal());
            value.is_none_or(|value| is_right(&value) || matches!(value, Value::Undefined))
        })
    };
    has(&STRING_ATTRIBUTES, |value| matches!(value, Value::Str(_)))
        && has(&INTEGER_ATTRIBUTES, |value| matches!(value, Value::Int(_)))
}
