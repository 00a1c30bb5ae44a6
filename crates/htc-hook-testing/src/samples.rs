//! Built-in sample ads for tests of a hook, as HTCondor makes them from an ordinary submit file or slot.

use std::sync::LazyLock;

use htc_classad::ClassAd;

/// Attributes that all sample jobs, and all sample slots, have in common. They are parsed only once, because suites
/// make thousands of copies.
static JOB_COMMON: LazyLock<ClassAd> =
    LazyLock::new(|| with_lines(ClassAd::new(), include_str!("samples/job-common.ad")));
static SLOT_COMMON: LazyLock<ClassAd> =
    LazyLock::new(|| with_lines(ClassAd::new(), include_str!("samples/slot-common.ad")));

/// Kinds of sample jobs, each with the attributes that differ from other kinds.
const JOB_SAMPLES: [(&str, &str); 8] = [
    ("vanilla", ""),
    ("container", include_str!("samples/job-container.ad")),
    ("docker", include_str!("samples/job-docker.ad")),
    ("gpu", include_str!("samples/job-gpu.ad")),
    ("grid", include_str!("samples/job-grid.ad")),
    ("java", include_str!("samples/job-java.ad")),
    ("parallel", include_str!("samples/job-parallel.ad")),
    ("v1", include_str!("samples/job-v1.ad")),
];

/// Kinds of sample slots, each with the attributes that differ from other kinds.
const SLOT_SAMPLES: [(&str, &str); 3] = [
    ("static", ""),
    ("partitionable", include_str!("samples/slot-partitionable.ad")),
    ("gpu", include_str!("samples/slot-gpu.ad")),
];

/// Returns the names of all sample jobs.
pub fn job_kinds() -> impl Iterator<Item = &'static str> {
    JOB_SAMPLES.iter().map(|(name, _)| *name)
}

/// Returns the names of all sample slots.
pub fn slot_kinds() -> impl Iterator<Item = &'static str> {
    SLOT_SAMPLES.iter().map(|(name, _)| *name)
}

/// Returns a sample job ad, or `None` if the kind does not exist.
pub fn job_ad(kind: &str) -> Option<ClassAd> {
    build_sample(&JOB_COMMON, &JOB_SAMPLES, kind).map(|mut job| {
        // The arguments and the environment of a job are in either the old or the new syntax, so the other one is
        // removed.
        if kind == "v1" {
            job.remove("Arguments");
            job.remove("Environment");
        }
        job
    })
}

/// Returns a sample slot ad, or `None` if the kind does not exist.
pub fn slot_ad(kind: &str) -> Option<ClassAd> {
    build_sample(&SLOT_COMMON, &SLOT_SAMPLES, kind)
}

/// Returns a sample schedd ad, into which cron jobs of the schedd publish.
pub fn schedd_ad() -> ClassAd {
    with_lines(ClassAd::new(), include_str!("samples/schedd.ad"))
}

/// Returns the ad of a routed job, as the job router submits it for the job `source`.
pub fn routed_job_ad(source: &ClassAd, route: &[u8]) -> ClassAd {
    let mut routed = source.clone();
    let number = |name| source.literal(name).and_then(|value| value.as_int()).unwrap_or(0);
    let id = format!("{}.{}", number("ClusterId"), number("ProcId"));
    routed.set("ClusterId", number("ClusterId") + 1);
    routed.set("ProcId", 0i64);
    routed.set("RoutedFromJobId", id.as_str());
    routed.set("RoutedBy", "jobrouter");
    routed.set("RouteName", bstr::BString::from(route));
    routed
}

fn build_sample(common: &ClassAd, kinds: &[(&str, &str)], kind: &str) -> Option<ClassAd> {
    let (_, attributes) = kinds.iter().find(|(name, _)| *name == kind)?;
    Some(with_lines(common.clone(), attributes))
}

/// Inserts lines in long form into an ad. All lines of the samples are valid, which a test checks.
fn with_lines(mut ad: ClassAd, lines: &str) -> ClassAd {
    for line in lines.lines() {
        let taken = ad.insert_line(line.as_bytes());
        debug_assert!(taken.is_ok(), "{line}");
    }
    ad
}

#[cfg(test)]
mod tests {
    use super::*;
    use htc_classad::Context;
    use htc_os::RealWorld;

    #[test]
    fn every_sample_job_fits_the_slots_with_its_resources() {
        let world = RealWorld::new();
        for slot_kind in slot_kinds() {
            let slot = slot_ad(slot_kind).unwrap();
            for kind in job_kinds() {
                let job = job_ad(kind).unwrap();
                let context = Context::new(&world).my(&slot).target(&job);
                assert_eq!(context.boolean("Requirements"), Some(true), "{kind} in {slot_kind}");
            }
        }
        assert!(job_ad("none").is_none() && slot_ad("none").is_none());
    }
}
