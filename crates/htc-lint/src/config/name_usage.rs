//! Usage of a name: read by a daemon, referred to by a value, or unused.

use bstr::BString;

use super::lint_subject::LintSubject;
use super::name_status::{NameStatus, UnreadReason};
use super::parameter_names::is_parameter;
use super::removed_parameters;
use htc_base::text::{similar_names, unqualified_name};

/// Usage of a name that is set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NameUsage {
    /// A daemon or tool reads the parameter, or may read it.
    Read,
    /// Another value, condition or statement refers to the name.
    ReferredTo,
    /// This script, submit file or template mentions the name, and may read it.
    Mentioned(BString),
    /// The name belongs to a family of parameters, but nothing reads it.
    Unread(UnreadReason),
    /// Nothing reads the name, and a parameter has a similar name.
    Misspelled(BString),
    /// Earlier versions read the parameter; contains its replacement.
    Removed(&'static str),
    /// The name belongs to the site, and nothing that was read refers to it.
    SiteOwn,
}

impl NameUsage {
    /// Returns true if the name is read, or something refers to it or mentions it.
    pub fn is_used(&self) -> bool {
        match self {
            NameUsage::Read | NameUsage::ReferredTo | NameUsage::Mentioned(_) => true,
            NameUsage::Unread(_) | NameUsage::Misspelled(_) | NameUsage::Removed(_) | NameUsage::SiteOwn => {
                false
            }
        }
    }
}

/// Returns the usage of a name.
pub fn classify_usage(subject: &LintSubject<'_>, name: &[u8]) -> NameUsage {
    let status = subject.known.classify(name);
    if status == NameStatus::Read {
        return NameUsage::Read;
    }
    let bare = unqualified_name(name);
    let referenced = subject.referenced_names();
    // A reference to the plain name does not use a setting with an unknown prefix.
    let plain = if matches!(status, NameStatus::Unread(_)) { name } else { bare };
    let removed = removed_parameters::replacement_for(name);
    if [name, plain].iter().any(|name| referenced.contains(name)) {
        let is_self_reference = [name, plain].iter().all(|name| !referenced.is_used_elsewhere(name));
        let find_intended = || find_list_of_names(bare).or_else(|| subject.known.nearest_known(bare));
        return match status {
            NameStatus::Unread(unread) if is_self_reference => NameUsage::Unread(unread),
            NameStatus::SiteOwn if is_self_reference => match removed {
                Some(instead) => NameUsage::Removed(instead),
                None => find_intended()
                    .filter(|near| is_list_without_names(bare, near) || differs_by_a_letter(bare, near))
                    .map_or(NameUsage::ReferredTo, NameUsage::Misspelled),
            },
            _ => NameUsage::ReferredTo,
        };
    }
    match status {
        NameStatus::Unread(unread) => match removed {
            Some(instead) => NameUsage::Removed(instead),
            None => NameUsage::Unread(unread),
        },
        NameStatus::Read | NameStatus::SiteOwn
            if bare.len() > 1 && subject.file_mentioning(bare).is_some() =>
        {
            NameUsage::Mentioned(subject.file_mentioning(bare).cloned().unwrap_or_default())
        }
        NameStatus::Read | NameStatus::SiteOwn => {
            match removed.or_else(|| removed_parameters::replacement_for(bare)) {
                Some(instead) => NameUsage::Removed(instead),
                None => find_list_of_names(bare)
                    .or_else(|| subject.known.nearest_known(bare))
                    .map_or(NameUsage::SiteOwn, NameUsage::Misspelled),
            }
        }
    }
}

/// Returns the list of names to which a plural probably refers: JOB_ROUTER_PRE_ROUTE_TRANSFORM_NAMES for
/// JOB_ROUTER_PRE_ROUTE_TRANSFORMS. A name of one word, such as GROUPS, is not a misspelling: it may be a macro of the
/// site.
fn find_list_of_names(name: &[u8]) -> Option<BString> {
    let upper = name.to_ascii_uppercase();
    let stem = upper.strip_suffix(b"S").unwrap_or(&upper);
    let list = [stem, b"_NAMES"].concat();
    // The plural of a parameter, such as SYSTEM_PERIODIC_HOLD, is a misspelling of this parameter.
    (stem.contains(&b'_') && is_parameter(&list) && !is_parameter(stem)).then(|| list.into())
}

/// True if a name is that of the list `X_NAMES` without its ending.
fn is_list_without_names(name: &[u8], list: &[u8]) -> bool {
    find_list_of_names(name).is_some_and(|found| found == list)
}

/// True if two names differ in at most one letter, as a whole or in each word. Names that differ more may be different
/// on purpose: PRUNE_INTERVAL and PREEN_INTERVAL.
pub(super) fn differs_by_a_letter(name: &[u8], other: &[u8]) -> bool {
    let is_slip = |a: &[u8], b: &[u8]| similar_names::distance(a, b, 1).is_some();
    let words = |name: &'_ [u8]| name.split(|&byte| byte == b'_').count();
    is_slip(name, other)
        || words(name) == words(other)
            && name
                .split(|&byte| byte == b'_')
                .zip(other.split(|&byte| byte == b'_'))
                .all(|(a, b)| is_slip(a, b))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_correction_is_certain_if_each_word_has_one_typing_error() {
        for (name, other) in [
            ("MAX_JOBSRUNNING", "MAX_JOBS_RUNNING"),
            ("STRATD_DEBGU", "STARTD_DEBUG"),
            ("ALLOW_REDA", "ALLOW_READ"),
        ] {
            assert!(differs_by_a_letter(name.as_bytes(), other.as_bytes()), "{name}");
        }
        assert!(!differs_by_a_letter(b"PRUNE_INTERVAL", b"PREEN_INTERVAL"));
        assert!(!differs_by_a_letter(b"SCHEDD_LIFETIME", b"SCHEDD_LIFE"));
    }

    #[test]
    fn a_plural_is_recognized_as_the_list_of_names() {
        let list = |name: &str| find_list_of_names(name.as_bytes()).map(|list| list.to_string());
        assert_eq!(list("JOB_TRANSFORMS").as_deref(), Some("JOB_TRANSFORM_NAMES"));
        assert_eq!(
            list("job_router_pre_route_transforms").as_deref(),
            Some("JOB_ROUTER_PRE_ROUTE_TRANSFORM_NAMES")
        );
        assert_eq!(list("GROUPS"), None);
        assert_eq!(list("SITE_NODES"), None);
    }
}
