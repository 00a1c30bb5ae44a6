//! Maps that `<SUBSYS>_CLASSAD_USER_MAP_NAMES` lists but `userMap()` cannot use.

use bstr::{BStr, ByteSlice};
use htc_config::lint_rule::LintRule;

use super::lint_scope::LintScope;
use crate::config::LintSubject;
use htc_base::text::caseless;
use htc_base::text::list;
use htc_base::text::similar_names;
use htc_config::Advice;
use htc_config::UserMapError;
use htc_config::finding::Finding;

/// Last part of the names of the parameters that list user maps, such as `SCHEDD_CLASSAD_USER_MAP_NAMES`.
const NAMES: &[u8] = b"_CLASSAD_USER_MAP_NAMES";

/// Returns a finding for each named map that is not defined, or whose file cannot be read on this machine.
pub fn check_user_maps(subject: &LintSubject<'_>, scope: LintScope) -> Vec<Finding> {
    let mut findings = Vec::new();
    for entry in subject.user_written_entries().filter(|entry| caseless::ends_with(&entry.name, NAMES)) {
        let names = subject.view.text(&entry.name.to_str_lossy()).unwrap_or_default();
        for name in list::split(&names).map(BStr::new) {
            let Some(error) = subject.config.user_map_error(name, subject.world) else { continue };
            let fix: Advice = match &error {
                // A source that was not read may define the map.
                UserMapError::Undefined(_) if !scope.is_complete => continue,
                UserMapError::Undefined(_) => match similar_names::nearest(name, defined_maps(subject)) {
                    Some(near) => Advice::DidYouMean(near.into()),
                    None => format!("set CLASSAD_USER_MAPFILE_{name} to its file, or remove the name").into(),
                },
                UserMapError::Unreadable(_) if scope.for_other_machine => continue,
                UserMapError::Unreadable(_) => format!("correct CLASSAD_USER_MAPFILE_{name}").into(),
            };
            let message = format!("userMap(\"{name}\", ...) is undefined: {error}");
            let part = entry.current.raw.find(name).map(|at| (at, at + name.len()));
            findings.push(subject.make_finding(
                LintRule::NamedNotDefined,
                &entry.current,
                part,
                message,
                fix,
            ));
        }
    }
    findings
}

/// Returns the names of the maps that the configuration defines.
fn defined_maps<'a>(subject: &LintSubject<'a>) -> impl Iterator<Item = &'a [u8]> {
    let starts = ["CLASSAD_USER_MAPFILE_", "CLASSAD_USER_MAPDATA_"];
    subject.user_written_entries().filter_map(move |entry| {
        starts.iter().find_map(|start| caseless::strip_prefix(&entry.name, start.as_bytes()))
    })
}
