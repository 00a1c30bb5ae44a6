//! Statistics of the verdicts on many ads: the number of ads with each verdict, and attributes that distinguish these
//! ads from the others.

use std::collections::BTreeMap;

use bstr::BString;
use rustc_hash::FxHashMap;

use super::Verdict;
use htc_classad::ClassAd;

/// Maximum number of distinct values of one attribute that are counted separately in a group. All further values
/// share one count.
const MAX_VALUES: usize = 64;
/// Maximum number of groups. When it is reached, a verdict that fits no group is counted without its reason.
const MAX_GROUPS: usize = 200;
/// Maximum fraction of the other ads that may have a feature if the feature is to be reported.
const MAX_SHARE_ELSEWHERE: f64 = 0.5;

/// Groups of ads with the same verdict.
#[derive(Debug, Default)]
pub struct VerdictTally {
    groups: BTreeMap<VerdictKey, VerdictGroup>,
    total: u64,
}

/// Key of a group. Reasons that differ only in numbers have the same key.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct VerdictKey {
    word: &'static str,
    hold: Option<(i64, i64)>,
    shape: String,
}

/// Group of ads with the same verdict.
#[derive(Debug)]
pub struct VerdictGroup {
    /// The verdict, as one word.
    pub word: &'static str,
    /// Hold code and subcode of the verdict, or `None`.
    pub hold: Option<(i64, i64)>,
    /// Reason of the verdict on the first ad of the group.
    pub reason: String,
    /// True if the hook did what a hook of its type is for, or what was expected, for all ads of the group.
    pub good: bool,
    /// Number of ads.
    pub count: u64,
    /// Name of the first ad of the group.
    pub example: String,
    first: usize,
    values: FxHashMap<Vec<u8>, AttributeValues>,
}

/// Values of one attribute in a group, with their counts.
#[derive(Debug, Default)]
struct AttributeValues {
    name: BString,
    present: u64,
    counts: FxHashMap<BString, u64>,
    uncounted: u64,
    numbers: u64,
    least: f64,
    most: f64,
}

/// Feature that all ads of a group have, but less than half of the other ads.
#[derive(Clone, Debug, PartialEq)]
pub struct CommonFeature {
    /// Text of the feature, such as `RequestGpus = 1` or `no ContainerImage`.
    pub text: String,
    /// Upper bound of the fraction of the other ads that have the feature.
    pub elsewhere: f64,
}

impl VerdictTally {
    /// Adds the verdict on an ad, with the number and name of the ad. `failure` is the first expectation that was not
    /// met, or `None`. Ads may be added in any order.
    pub fn add(
        &mut self,
        ad: &ClassAd,
        number: usize,
        name: &str,
        verdict: &Verdict,
        good: bool,
        failure: Option<&str>,
    ) {
        let reason = failure.unwrap_or(&verdict.reason).lines().next().unwrap_or_default();
        let mut kind =
            VerdictKey { word: verdict.decision.word(), hold: verdict.hold, shape: without_numbers(reason) };
        if self.groups.len() >= MAX_GROUPS && !self.groups.contains_key(&kind) {
            kind.shape = String::new();
        }
        self.total += 1;
        let group = self.groups.entry(kind).or_insert_with(|| VerdictGroup {
            word: verdict.decision.word(),
            hold: verdict.hold,
            reason: reason.to_owned(),
            good,
            count: 0,
            first: number,
            example: name.to_owned(),
            values: FxHashMap::default(),
        });
        group.count += 1;
        if number < group.first {
            group.first = number;
            name.clone_into(&mut group.example);
            reason.clone_into(&mut group.reason);
        }
        group.good &= good;
        for (name, expr) in ad.iter() {
            let name: &[u8] = name;
            let values = group.values.entry(name.to_ascii_lowercase()).or_default();
            if values.name.is_empty() {
                values.name = name.into();
            }
            let number =
                expr.as_literal().and_then(|value| value.as_int().map(|int| int as f64).or(value.as_real()));
            values.add_value(expr.unparse(), number);
        }
    }

    /// Returns all groups, in descending order of the number of ads.
    pub fn groups(&self) -> Vec<&VerdictGroup> {
        let mut groups: Vec<&VerdictGroup> = self.groups.values().collect();
        groups.sort_by_key(|group| std::cmp::Reverse(group.count));
        groups
    }

    /// Returns the features that distinguish a group from the other ads, beginning with those that the fewest other
    /// ads have.
    pub fn common_features(&self, group: &VerdictGroup) -> Vec<CommonFeature> {
        let others: Vec<&VerdictGroup> =
            self.groups.values().filter(|other| !std::ptr::eq(*other, group)).collect();
        let rest = self.total - group.count;
        if rest == 0 {
            return Vec::new();
        }
        let part = |count: u64| count as f64 / rest as f64;
        let mut found = Vec::new();
        for (name, values) in &group.values {
            let theirs: Vec<&AttributeValues> =
                others.iter().filter_map(|other| other.values.get(name)).collect();
            let different: u64 = theirs.iter().map(|values| values.distinct_count()).sum();
            // An attribute whose value is different in nearly every ad, such as ClusterId, is skipped.
            if different > rest / 2 && different > 2 {
                continue;
            }
            if let Some((value, _)) = values.counts.iter().find(|(_, count)| **count == group.count) {
                let count = theirs.iter().map(|values| values.max_count(value)).sum();
                let text = format!("{} = {}", values.name, shorten_value(&value.to_string()));
                found.push(CommonFeature { text, elsewhere: part(count) });
            } else if let Some(text) = values.separate_range(group.count, &theirs) {
                found.push(CommonFeature { text, elsewhere: 0.0 });
            }
        }
        let mut missing: FxHashMap<&[u8], (&BString, u64)> = FxHashMap::default();
        for (name, values) in others.iter().flat_map(|other| &other.values) {
            if !group.values.contains_key(name) {
                missing.entry(name).or_insert((&values.name, 0)).1 += values.present;
            }
        }
        let missing = missing.into_values();
        found.extend(missing.map(|(name, have)| CommonFeature {
            text: format!("no {name}"),
            elsewhere: part(rest.saturating_sub(have)),
        }));
        found.retain(|common| common.elsewhere < MAX_SHARE_ELSEWHERE);
        found.sort_by(|one, other| {
            one.elsewhere.total_cmp(&other.elsewhere).then_with(|| one.text.cmp(&other.text))
        });
        found
    }
}

impl AttributeValues {
    fn add_value(&mut self, text: BString, number: Option<f64>) {
        self.present += 1;
        if let Some(number) = number {
            (self.least, self.most) = match self.numbers {
                0 => (number, number),
                _ => (self.least.min(number), self.most.max(number)),
            };
            self.numbers += 1;
        }
        if self.counts.len() < MAX_VALUES || self.counts.contains_key(&text) {
            *self.counts.entry(text).or_default() += 1;
        } else {
            self.uncounted += 1;
        }
    }

    fn distinct_count(&self) -> u64 {
        self.counts.len() as u64 + self.uncounted
    }

    /// Returns an upper bound of the number of ads with a value. The exact number is unknown if the value may be
    /// among those that are counted only together.
    fn max_count(&self, value: &BString) -> u64 {
        self.counts.get(value).copied().unwrap_or(self.uncounted)
    }

    /// Describes the range of a numeric attribute in the group if it does not overlap the ranges in the other groups;
    /// otherwise returns `None`.
    fn separate_range(&self, count: u64, others: &[&AttributeValues]) -> Option<String> {
        let all_numbers = self.numbers == count && others.iter().all(|other| other.numbers == other.present);
        if !all_numbers || others.is_empty() {
            return None;
        }
        let least = others.iter().map(|other| other.least).fold(f64::INFINITY, f64::min);
        let most = others.iter().map(|other| other.most).fold(f64::NEG_INFINITY, f64::max);
        (self.least > most || self.most < least).then(|| {
            format!("{} from {} to {} (elsewhere {least} to {most})", self.name, self.least, self.most)
        })
    }
}

/// Replaces each sequence of digits in a reason by `#`.
fn without_numbers(reason: &str) -> String {
    let mut shape = String::new();
    for c in reason.chars() {
        match c.is_ascii_digit() {
            true if shape.ends_with('#') => {}
            true => shape.push('#'),
            false => shape.push(c),
        }
    }
    shape
}

fn shorten_value(value: &str) -> String {
    const MAX_CHARS: usize = 60;
    match value.char_indices().nth(MAX_CHARS) {
        Some((at, _)) => format!("{}...", &value[..at]),
        None => value.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Decision;
    use htc_classad::format::long;

    fn ad(text: &str) -> ClassAd {
        long::parse(text.as_bytes()).0
    }

    fn tally() -> VerdictTally {
        let mut tally = VerdictTally::default();
        for number in 0..100 {
            let odd = number % 25 == 7;
            let image = if odd { "" } else { "ContainerImage = \"a.sif\"\n" };
            let memory = if odd { 9000 + number } else { 100 };
            let text = format!(
                "ClusterId = {number}\nOwner = \"u{}\"\nRequestMemory = {memory}\n{image}WantGPU = {odd}\nCmd = \"/x\"\n",
                number % 3
            );
            let decision = if odd { Decision::Held } else { Decision::GoOn };
            let verdict = Verdict::new(decision, !odd, "").with_reason(format!("job {number} failed"));
            tally.add(&ad(&text), number, &format!("{number}.0"), &verdict, !odd, None);
        }
        tally
    }

    #[test]
    fn reasons_that_differ_only_in_numbers_are_one_group() {
        let tally = tally();
        let groups: Vec<(&str, u64, &str)> =
            tally.groups().iter().map(|group| (group.word, group.count, group.example.as_str())).collect();
        assert_eq!(groups, [("go-on", 96, "0.0"), ("held", 4, "7.0")]);
    }

    #[test]
    fn attributes_common_to_unusual_ads_only_are_found() {
        let tally = tally();
        let texts: Vec<String> =
            tally.common_features(tally.groups()[1]).into_iter().map(|common| common.text).collect();
        assert_eq!(
            texts,
            ["RequestMemory from 9007 to 9082 (elsewhere 100 to 100)", "WantGPU = true", "no ContainerImage"]
        );
    }

    #[test]
    fn a_single_verdict_has_no_distinguishing_attributes() {
        let mut tally = VerdictTally::default();
        tally.add(&ad("A = 1\n"), 1, "1.0", &Verdict::new(Decision::GoOn, true, ""), true, None);
        assert_eq!(tally.common_features(tally.groups()[0]), []);
        assert_eq!(tally.total, 1);
    }
}
