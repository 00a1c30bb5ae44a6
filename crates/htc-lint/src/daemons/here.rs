//! `lint --here`: what is set and not done by the programs of this package, by the table of what is honoured.

use bstr::ByteSlice;
use htc_classad::Dialect;

use crate::config::Subject;
use htc_base::world::World;
use htc_classad::format::long;
use htc_config::finding::Finding;
use htc_config::not_done::{NotDone, Setting};
use htc_starter::not_done;

/// The rule of what another would read; it does not count as a finding.
pub const ELSEWHERE: &str = "elsewhere";

/// What is set and not done, and what is set for somebody who is not here.
pub(super) fn findings(subject: &Subject<'_>) -> Vec<Finding> {
    let found = NotDone::of(&subject.view);
    let finding = |rule, setting: &Setting<'_>, message: String| {
        let entry = setting.entry;
        subject.finding(rule, &entry.current, Some((0, entry.raw().len())), message, None)
    };
    let told = found
        .told
        .iter()
        .map(|setting| finding("not-done", setting, setting.row.told(&setting.entry.name.to_str_lossy())));
    let elsewhere =
        found.elsewhere.iter().map(|setting| finding(ELSEWHERE, setting, setting.row.of.to_owned()));
    told.chain(elsewhere).collect()
}

/// The same of a job's ad.
pub(super) fn of_job(text: &[u8], world: &dyn World) -> Vec<Finding> {
    let (ad, _) = long::parse_with(text, Dialect::of(world));
    let told = not_done::told(&ad, not_done::With::Nobody, world)
        .into_iter()
        .map(|told| (told.attributes, told.line));
    let refused = not_done::refused(&ad, world).map(|line| (String::new(), line));
    let finding = |(name, message): (String, String)| Finding {
        rule: "not-done",
        spot: None,
        name: name.into(),
        message,
        fix: None,
    };
    told.chain(refused).map(finding).collect()
}
