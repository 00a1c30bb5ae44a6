//! Check of the values that cron jobs publish, with the rules that the linter applies to values in files.

use htc_base::text::caseless;
use htc_classad::ClassAd;
use htc_lint::config::check_printed_value;
use htc_slot::cron_ads::CronAds;

use super::finding::Finding;

/// Returns findings about the published values; `daemon` is the ad of the slot or schedd to which they are added.
pub fn published_value_findings(published: &CronAds, daemon: &ClassAd) -> Vec<Finding> {
    let all = published.merged_ad();
    let is_defined =
        |name: &[u8]| all.contains(name) || daemon.contains(name) || caseless::eq(name, b"CurrentTime");
    let check = |name: &[u8]| check_printed_value(name, &all.get(name)?, &is_defined);
    all.names()
        .filter_map(|name| check(name))
        .map(|found| Finding::new(found.mistake.into(), found.message, found.advice))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use htc_base::quirks::QuirkMode;
    use htc_base::world::FrozenClockWorld;
    use htc_os::{RealWorld, clock};
    use htc_simulate::plan::parse_cron_output;

    #[test]
    fn only_mistaken_values_are_reported() {
        let rules = |text: &str| -> Vec<String> {
            let now = FrozenClockWorld { world: &RealWorld::new(), now: clock::now() };
            let ads = parse_cron_output(text, QuirkMode::Manual, &now).unwrap();
            let slot = ClassAd::from([("Memory", 1024)]);
            published_value_findings(&ads, &slot).iter().map(|one| one.rule.word().to_owned()).collect()
        };
        assert_eq!(rules("Site = \"north\"\nRoom = Memory / 2\nBoth = Room * 2\nOk = true\n"), [""; 0]);
        assert_eq!(rules("Site = north\n"), ["unquoted-string"]);
        assert_eq!(rules("Site = None\n"), ["foreign-literal"]);
        assert_eq!(rules("Cpus = \"3\"\n"), ["wrong-type"]);
    }
}
