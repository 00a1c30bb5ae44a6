//! Values that differ on every machine and at any time, and their comparison: times by their distance from
//! the ad's own clock, measured values by type.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::exceptions::{is_at, matches};

/// Maximum difference of a time from the recorded one, in seconds: a replay begins sooner than daemons do.
const SLACK: i64 = 20;
/// Attributes that contain the time of an ad.
const CLOCKS: [&str; 3] = ["MyCurrentTime", "LastHeardFrom", "EnteredCurrentStatus"];

/// Comparison of some values.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Reading {
    /// Places, as in an exception.
    places: Vec<String>,
    /// Names, with `*` as wildcard at either end.
    names: Vec<String>,
    /// The aspect that must agree.
    by: By,
}

/// Aspect of two values that must agree.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum By {
    /// Distance from the clock of their ad.
    Time,
    /// Type: integer, real, boolean or string.
    Kind,
    /// The names of a list, in any order.
    List,
}

/// Attributes of one ad, or variables of one environment.
type Values = BTreeMap<String, String>;

impl Reading {
    /// Returns true if it applies to this value, and both values agree as far as possible.
    pub fn agrees(&self, place: &str, name: &str, recorded: &Values, ours: &Values) -> bool {
        let about = is_at(&self.places, place) && self.names.iter().any(|pattern| matches(pattern, name));
        let (Some(then), Some(now)) = (recorded.get(name), ours.get(name)) else { return false };
        about
            && kind(then) == kind(now)
            && match self.by {
                By::Kind => true,
                By::List => names(then) == names(now),
                By::Time => match (since(then, recorded), since(now, ours)) {
                    (Some(then), Some(now)) => (then - now).abs() <= SLACK,
                    // For an ad without a clock, both must be times or neither.
                    (None, None) => then.len() == now.len(),
                    _ => false,
                },
            }
    }
}

fn since(value: &str, ad: &Values) -> Option<i64> {
    let clock = CLOCKS.iter().find_map(|clock| ad.get(*clock))?;
    Some(value.parse::<i64>().ok()? - clock.parse::<i64>().ok()?)
}

fn names(value: &str) -> Vec<&str> {
    let mut names: Vec<&str> = value.trim_matches('"').split(',').collect();
    names.sort_unstable();
    names
}

/// Returns the type of a value.
pub fn kind(value: &str) -> &'static str {
    match value {
        "true" | "false" => "truth value",
        "undefined" => "undefined",
        _ if value.starts_with('"') => "text",
        _ if value.parse::<i64>().is_ok() => "integer",
        _ if value.parse::<f64>().is_ok() => "real",
        _ => "expression",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ad(values: &[(&str, &str)]) -> Values {
        values.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    #[test]
    fn times_are_compared_by_their_distance_from_the_clock() {
        let reading = |by| Reading { places: vec!["slot-ad".into()], names: vec!["*".into()], by };
        let then = ad(&[("MyCurrentTime", "1000000000"), ("T", "1000000005"), ("N", "7")]);
        let near = ad(&[("MyCurrentTime", "2000000000"), ("T", "2000000007"), ("N", "8.0")]);
        let far = ad(&[("MyCurrentTime", "2000000000"), ("T", "2000000099"), ("N", "9")]);
        let agrees = |by, name, now| reading(by).agrees("slot-ad.FETCH_WORK", name, &then, now);
        assert!(agrees(By::Time, "T", &near) && !agrees(By::Time, "T", &far));
        assert!(agrees(By::Kind, "N", &far) && !agrees(By::Kind, "N", &near));
        assert!(!reading(By::Kind).agrees("job-ad", "N", &then, &far));
        let (one, other) = (ad(&[("L", "\"a,b\"")]), ad(&[("L", "\"b,a\"")]));
        assert!(reading(By::List).agrees("slot-ad", "L", &one, &other));
        assert!(!reading(By::List).agrees("slot-ad", "L", &one, &ad(&[("L", "\"b\"")])));
    }
}
