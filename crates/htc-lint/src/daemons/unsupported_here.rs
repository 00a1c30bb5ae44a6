//! `lint --here`: reports settings that the programs of this package do not support, according to the table
//! of supported settings.

use bstr::ByteSlice;
use htc_classad::Dialect;
use htc_config::lint_rule::LintRule;

use crate::config::LintSubject;
use htc_base::world::World;
use htc_classad::format::long;
use htc_config::SharedText;
use htc_config::finding::Finding;
use htc_config::unsupported::{UnsupportedSetting, UnsupportedSettings};
use htc_starter::unsupported;

/// Rule for settings of other daemons, which are not counted as findings.
pub const OUT_OF_SCOPE_RULE: LintRule = LintRule::Elsewhere;

/// Returns the unsupported settings, and those of daemons that are not part of this package.
pub(super) fn unsupported_parameters(subject: &LintSubject<'_>) -> Vec<Finding> {
    let found = UnsupportedSettings::collect(&subject.view);
    let finding = |rule, setting: &UnsupportedSetting<'_>, message: String| {
        let entry = setting.entry;
        subject.make_finding(rule, &entry.current, Some((0, entry.raw().len())), message, None)
    };
    let unsupported = found.unsupported.iter().map(|setting| {
        finding(LintRule::NotDone, setting, setting.row.describe(&setting.entry.name.to_str_lossy()))
    });
    let elsewhere = found
        .out_of_scope
        .iter()
        .map(|setting| finding(OUT_OF_SCOPE_RULE, setting, setting.row.readers.to_owned()));
    unsupported.chain(elsewhere).collect()
}

/// Returns the unsupported attributes of a job ad.
pub(super) fn unsupported_job_attributes(text: &[u8], world: &dyn World) -> Vec<Finding> {
    let (ad, _) = long::parse_with(text, Dialect::of_world(world));
    let request = unsupported::unsupported_requests(&ad, unsupported::AccessPointRole::Absent, world)
        .into_iter()
        .map(|request| (request.attributes, request.line));
    let refused = unsupported::refused_request(&ad, world).map(|line| (String::new(), line));
    let finding = |(name, message): (String, String)| Finding {
        rule: LintRule::NotDone,
        spot: None,
        name: name.into(),
        value: SharedText::default(),
        message,
        fix: None,
        replacement: None,
        holds_in_part: false,
    };
    request.chain(refused).map(finding).collect()
}
