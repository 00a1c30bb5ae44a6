//! Usage of a name: read by a daemon, referred to by a value, or unused.

use bstr::BString;

use super::lint_subject::LintSubject;
use super::name_status::{NameStatus, UnreadReason};
use super::removed_parameters;
use htc_base::text::unqualified_name;

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
    /// Nothing reads the name, and a parameter has a similar one.
    Misspelled(BString),
    /// Earlier versions read the parameter; contains its replacement.
    Removed(&'static str),
    /// The name belongs to the site, and nothing that was read refers to it.
    SiteOwn,
}

impl NameUsage {
    /// Returns true if it is known that something uses the name.
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
    let standing = subject.known.classify(name);
    if standing == NameStatus::Read {
        return NameUsage::Read;
    }
    let bare = unqualified_name(name);
    let referenced = subject.referenced_names();
    // A reference to the plain name does not use a setting with an unknown prefix.
    let plain = if matches!(standing, NameStatus::Unread(_)) { name } else { bare };
    if [name, plain].iter().any(|name| referenced.contains(&name.to_ascii_lowercase())) {
        return NameUsage::ReferredTo;
    }
    match standing {
        NameStatus::Unread(unread) => NameUsage::Unread(unread),
        NameStatus::Read | NameStatus::SiteOwn
            if bare.len() > 1 && subject.file_mentioning(bare).is_some() =>
        {
            NameUsage::Mentioned(subject.file_mentioning(bare).cloned().unwrap_or_default())
        }
        NameStatus::Read | NameStatus::SiteOwn => match removed_parameters::replacement_for(bare) {
            Some(instead) => NameUsage::Removed(instead),
            None => subject.known.nearest_known(bare).map_or(NameUsage::SiteOwn, NameUsage::Misspelled),
        },
    }
}
