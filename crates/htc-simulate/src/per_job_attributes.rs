//! Attributes whose values differ between jobs of one kind: id, time and priority. A slot that refers to them may
//! accept one job of a kind and refuse another.

use htc_base::text::caseless;
use htc_classad::references::{self, AttrNames};
use htc_classad::{AttrName, ClassAd};

/// Attributes that a machine reads from every job, whatever its policy is.
pub(super) const ALWAYS_READ_ATTRIBUTES: [&str; 18] = [
    "Owner",
    "User",
    "AccountingGroup",
    "JobUniverse",
    "RequestCpus",
    "RequestMemory",
    "RequestDisk",
    "RequestGPUs",
    "RequestVirtualMemory",
    "MaxJobRetirementTime",
    "JobMaxVacateTime",
    "KillSigTimeout",
    "JobLeaseDuration",
    "StartdSendsAlives",
    "StarterHandlesAlives",
    "HookKeyword",
    "JobPrio",
    "Cmd",
];

/// Name of the attribute for the priority.
pub(super) const PRIORITY_ATTRIBUTE: &str = "JobPrio";

/// Clamps a priority: JobPrio is an int in the queue.
pub(super) fn clamp_priority(number: i64) -> i32 {
    i32::try_from(number).unwrap_or(if number < 0 { i32::MIN } else { i32::MAX })
}

/// Job-specific attributes that slots read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct PerJobAttributes {
    pub cluster: bool,
    pub proc: bool,
    pub qdate: bool,
    pub priority: bool,
}

impl PerJobAttributes {
    pub(super) const NONE: PerJobAttributes =
        PerJobAttributes { cluster: false, proc: false, qdate: false, priority: false };
    pub(super) const ALL: PerJobAttributes =
        PerJobAttributes { cluster: true, proc: true, qdate: true, priority: true };

    /// Returns the job-specific attributes that slots read from jobs with the given ad. `policy_names` contains the names to
    /// which policies refer, or is `None` if they are unknown; then all job-specific attributes are returned.
    /// `always` contains names that slots read in any case.
    pub(super) fn read_by_slots(
        ad: &ClassAd,
        policy_names: Option<&AttrNames>,
        always: &[&str],
    ) -> PerJobAttributes {
        let Some(policy_names) = policy_names else { return PerJobAttributes::ALL };
        let requests = ad.names().filter(|name| caseless::starts_with(name, b"Request")).map(AttrName::from);
        let known = always.iter().map(|name| AttrName::from(*name)).chain(requests);
        // Names to which expressions of the ad refer, in addition to `policy_names`.
        let mut ad_names = AttrNames::new();
        let mut todo: Vec<AttrName> = Vec::new();
        for name in policy_names.iter().cloned().chain(known) {
            todo.push(name);
            while let Some(name) = todo.pop() {
                let Some(expr) = ad.get(&name).filter(|expr| expr.as_literal().is_none()) else { continue };
                if references::can_read_any_attribute(&expr) {
                    return PerJobAttributes::ALL;
                }
                let new = |name: &AttrName| !policy_names.contains(name) && !ad_names.contains(name);
                todo.extend(references::all_names(&expr).into_iter().filter(new));
                ad_names.extend(todo.iter().cloned());
            }
        }
        let has = |name: &str| {
            let name = AttrName::from(name);
            policy_names.contains(&name) || ad_names.contains(&name)
        };
        PerJobAttributes {
            cluster: has("ClusterId"),
            proc: has("ProcId"),
            qdate: has("QDate"),
            priority: has(PRIORITY_ATTRIBUTE),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references_are_followed_through_the_expressions_of_the_ad() {
        let mut ad = ClassAd::new();
        for line in ["Odd = procid % 2 == 1", "Later = (time() - QDate) > 5", "RequestMemory = 100"] {
            ad.insert_line(line.as_bytes()).unwrap();
        }
        let names =
            |names: &[&str]| -> AttrNames { names.iter().map(|name| AttrName::from(*name)).collect() };
        assert_eq!(
            PerJobAttributes::read_by_slots(&ad, Some(&names(&["Owner"])), &[]),
            PerJobAttributes::NONE
        );
        assert_eq!(
            PerJobAttributes::read_by_slots(&ad, Some(&names(&["ODD"])), &[]),
            PerJobAttributes { proc: true, ..PerJobAttributes::NONE }
        );
        assert_eq!(
            PerJobAttributes::read_by_slots(&ad, Some(&names(&["jobprio"])), &["Later"]),
            PerJobAttributes { qdate: true, priority: true, ..PerJobAttributes::NONE }
        );
        ad.insert_line(b"RequestMemory = ClusterId * 10").unwrap();
        assert_eq!(
            PerJobAttributes::read_by_slots(&ad, Some(&names(&[])), &[]),
            PerJobAttributes { cluster: true, ..PerJobAttributes::NONE }
        );
        assert_eq!(PerJobAttributes::read_by_slots(&ad, None, &[]), PerJobAttributes::ALL);
        ad.insert_line(b"Odd = eval(\"QDate\")").unwrap();
        assert_eq!(PerJobAttributes::read_by_slots(&ad, Some(&names(&["Odd"])), &[]), PerJobAttributes::ALL);
    }
}
