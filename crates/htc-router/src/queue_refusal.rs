//! Attributes that the job queue refuses when the router writes them; a single refused attribute makes the whole write
//! fail.
//!
//! Reference: `qmgmt.cpp` (ModifyAttrCheck, SetAttribute), `submit_job.cpp` (submit_job,
//! push_dirty_attributes, push_classad_diff).

use bstr::{BStr, BString, ByteSlice};

use htc_base::text::caseless;
use htc_classad::{ClassAd, Expr, Value};

/// Attributes of a queued job that cannot be written again, not even with the same value (`SYSTEM_IMMUTABLE_JOB_ATTRS`,
/// and JobSetId, which SetAttribute checks separately). OsUser is also immutable, but writes to it are silently ignored
/// first (`SYSTEM_SECURE_JOB_ATTRS`).
const IMMUTABLE_ATTRIBUTES: [&str; 8] =
    ["ClusterId", "JobSetId", "JobUniverse", "MyType", "Owner", "ProcId", "TargetType", "User"];

/// Attribute that the queue refuses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct RefusedAttribute {
    /// Name of the attribute as the hook printed it.
    pub name: BString,
    value: BString,
}

impl RefusedAttribute {
    fn new(name: &BStr, value: &Expr) -> Self {
        RefusedAttribute { name: name.to_owned(), value: value.unparse_old() }
    }
}

impl std::fmt::Display for RefusedAttribute {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Failed to set {} = {}", self.name, self.value)
    }
}

/// Returns the first attribute that makes the queue refuse all changes to a job. The router writes every given
/// attribute, even if its value is unchanged.
pub(super) fn first_refused_change(changes: &ClassAd, job: &ClassAd) -> Option<RefusedAttribute> {
    let mut all = changes.sorted();
    all.sort_by(|a, b| caseless::cmp(a.0, b.0));
    // The router writes the changes to the job id in the changed ad: if this id differs from the job's own id, the
    // queue refuses every attribute.
    let redirects = ["ClusterId", "ProcId"]
        .iter()
        .any(|id| changes.get(id).is_some_and(|value| job.get(id).as_ref() != Some(&value)));
    all.iter()
        .find(|(name, value)| redirects || is_immutable(name) || !is_valid_assignment(name, value))
        .map(|(name, value)| RefusedAttribute::new(name, value))
}

/// Returns the first attribute that makes the queue refuse the edit of a job. The router writes only attributes whose
/// text differs.
pub(super) fn refused_in_edit(edited: &ClassAd, job: &ClassAd) -> Option<RefusedAttribute> {
    let mut all = edited.sorted();
    all.sort_by(|a, b| caseless::cmp(a.0, b.0));
    all.iter()
        .filter(|(name, value)| job.get(name).is_none_or(|old| old.unparse_old() != value.unparse_old()))
        .find(|(name, value)| is_immutable(name) || !is_valid_assignment(name, value))
        .map(|(name, value)| RefusedAttribute::new(name, value))
}

/// Returns the first attribute that makes the queue refuse a new job. Owner of the new job must be Owner of the source
/// job.
pub(super) fn first_refused_in_new_job(new: &ClassAd, source: &ClassAd) -> Option<RefusedAttribute> {
    let refused = |name: &BStr, value: &Expr| {
        let is = |other: &str| caseless::eq(name, other.as_bytes());
        !is_valid_assignment(name, value)
            || (is("Owner") && !is_owner_or_undefined(value, source))
            || (is("JobSetId") && !is_job_set_id(&value.unparse_old()))
    };
    let all = new.in_ad_order();
    all.iter()
        .find(|(name, value)| refused(name, value))
        .map(|(name, value)| RefusedAttribute::new(name, value))
}

/// Returns true if the queue refuses writes to the attribute of an existing job.
pub(super) fn is_immutable(name: &[u8]) -> bool {
    IMMUTABLE_ATTRIBUTES.iter().any(|other| caseless::eq(name, other.as_bytes()))
}

/// Returns true if name and value are valid (`IsValidAttrName` and `IsValidAttrValue`, `compat_classad.cpp`).
fn is_valid_assignment(name: &[u8], value: &Expr) -> bool {
    let name_is_valid = name.first().is_some_and(|byte| byte.is_ascii_alphabetic() || *byte == b'_')
        && name.iter().all(|byte| byte.is_ascii_alphanumeric() || *byte == b'_');
    name_is_valid && value.unparse_old().find_byteset(b"\r\n").is_none()
}

/// Returns true if the value is the owner of the source job, or undefined.
fn is_owner_or_undefined(value: &Expr, source: &ClassAd) -> bool {
    match value.as_literal() {
        Some(Value::Undefined) => true,
        Some(Value::Str(name)) => source.string("Owner").is_none_or(|owner| owner == name),
        _ => false,
    }
}

/// Returns true if the text is a positive 32-bit integer and nothing else.
fn is_job_set_id(text: &[u8]) -> bool {
    text.to_str().ok().and_then(|text| text.parse::<i32>().ok()).is_some_and(|id| id > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ad(text: &str) -> ClassAd {
        let mut ad = ClassAd::new();
        for line in text.split('\n') {
            ad.insert_line(line.as_bytes()).unwrap();
        }
        ad
    }

    const JOB: &str =
        "ClusterId = 3\nProcId = 0\nOwner = \"ana\"\nUser = \"ana@x\"\nJobUniverse = 5\nMyType = \"Job\"";

    // All cases were tried with 25.14's job router and schedd.
    #[test]
    fn identifying_attributes_are_not_written_even_if_unchanged() {
        let name =
            |text: &str| first_refused_change(&ad(text), &ad(JOB)).map(|refused| refused.name.to_string());
        for line in
            JOB.lines().chain(["TargetType = \"Machine\"", "JobSetId = 5", "A.B = 1", "Caf\u{e9} = 1"])
        {
            let expected = line.split(" = ").next().unwrap();
            assert_eq!(name(&format!("Good = 1\n{line}")).as_deref(), Some(expected));
        }
        assert_eq!(name("Good = \"a\rb\"").as_deref(), Some("Good"));
        for line in ["OsUser = \"x\"", "AuthTokenSubject = \"x\"", "GlobalJobId = \"x\"", "JobStatus = 9"] {
            assert_eq!(name(line), None, "{line}");
        }
        assert_eq!(name("ZZ.b = 1\nb.A = 3\naaaaa.b = 1").as_deref(), Some("aaaaa.b"));
        assert_eq!(name("AAA = 1\nClusterId = 99").as_deref(), Some("AAA"));
    }

    #[test]
    fn an_edit_may_repeat_identifying_attributes() {
        let name = |text: &str| refused_in_edit(&ad(text), &ad(JOB)).map(|refused| refused.name.to_string());
        assert_eq!(name(JOB), None);
        assert_eq!(name("OsUser = \"x\"\nJobStatus = 5"), None);
        assert_eq!(name("MyType = \"X\"\nProcId = 99").as_deref(), Some("MyType"));
        assert_eq!(name("Good = \"a\rb\"").as_deref(), Some("Good"));
    }

    #[test]
    fn a_new_job_may_not_have_another_owner() {
        let text =
            |text: &str| first_refused_in_new_job(&ad(text), &ad(JOB)).map(|refused| refused.to_string());
        for line in ["Owner = \"ana\"", "owner = UNDEFINED", "User = 5", "MyType = \"X\"", "JobSetId = 5"] {
            assert_eq!(text(line), None, "{line}");
        }
        for line in ["Owner = \"Ana\"", "Owner = ana", "Owner = error", "JobSetId = 0", "JobSetId = \"x\""] {
            assert_eq!(text(line), Some(format!("Failed to set {line}")));
        }
        assert_eq!(text("Zz. = 1\nAAAA.B = 1\nb.A = 3").as_deref(), Some("Failed to set b.A = 3"));
    }
}
