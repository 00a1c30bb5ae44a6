//! Number of jobs by route, user or site, and by state.

use std::borrow::Cow;
use std::collections::BTreeMap;

use bstr::{BString, ByteSlice};
use serde_json::json;

use super::output_form::{Renderable, StatusOutputForm};
use crate::classad::ClassAd;
use crate::cli::common::{Metric, MetricKind, OpenMetrics, Sample, render_table};
use crate::job::JobStatus;
use crate::router::job_pairs::JobPair;
use crate::world::World;

/// Names of the counts in JSON and in ads: of all jobs, then by state.
const COUNT_NAMES: [&str; 6] = ["Jobs", "Idle", "Running", "Held", "Done", "Other"];

/// Number of jobs of one group: all jobs, then jobs by state.
pub(super) struct JobStateCounts {
    /// Kind of the group. It is also the name of the attribute with the group's name in ads and in JSON.
    group_kind: &'static str,
    name: BString,
    counts: [u64; 6],
}

impl Renderable for JobStateCounts {
    fn to_ad(&self) -> Cow<'_, ClassAd> {
        let mut ad = ClassAd::default();
        if !self.name.is_empty() {
            ad.set(self.group_kind, self.name.clone());
        }
        for (what, &count) in COUNT_NAMES.iter().zip(&self.counts) {
            ad.set(what, i64::try_from(count).unwrap_or(i64::MAX));
        }
        Cow::Owned(ad)
    }

    fn to_object(&self) -> serde_json::Value {
        let name = (!self.name.is_empty()).then(|| self.name.to_str_lossy().into_owned());
        let mut object = serde_json::Map::new();
        object.insert(self.group_kind.to_ascii_lowercase(), json!(name));
        for (what, count) in COUNT_NAMES.iter().zip(self.counts) {
            object.insert(what.to_ascii_lowercase(), json!(count));
        }
        serde_json::Value::Object(object)
    }
}

const ROUTED_JOBS: Metric =
    Metric { name: "htc_routed_jobs", kind: MetricKind::Gauge, help: "Routed jobs by route and state." };

/// Formats the numbers of jobs by route and state as metrics.
pub(super) fn render_metrics(rows: &[JobPair]) -> String {
    let mut metrics = OpenMetrics::default();
    let counts = count_jobs(rows, |row| &row.route);
    // The first count, that of all jobs, is omitted.
    let samples = counts.iter().flat_map(|(route, counts)| {
        let states = COUNT_NAMES.iter().zip(counts).skip(1);
        states.map(|(state, &count)| {
            let state = state.to_ascii_lowercase();
            Sample::count(&[("route", &route.to_str_lossy()), ("state", &state)], count)
        })
    });
    metrics.push(ROUTED_JOBS, samples);
    metrics.finish()
}

/// Counts jobs by name and state; `name` returns the name of a job.
fn count_jobs<'a>(
    rows: &'a [JobPair],
    name: impl Fn(&'a JobPair) -> &'a BString,
) -> BTreeMap<&'a BString, [u64; 6]> {
    let mut counts: BTreeMap<&BString, [u64; 6]> = BTreeMap::new();
    for row in rows {
        let counts = counts.entry(name(row)).or_default();
        let place = match row.status {
            JobStatus::IDLE => 1,
            JobStatus::RUNNING | JobStatus::TRANSFERRING_OUTPUT => 2,
            JobStatus::HELD => 3,
            JobStatus::COMPLETED => 4,
            _ => 5,
        };
        counts[0] += 1;
        counts[place] += 1;
    }
    counts
}

/// Returns the name of the kind of group that `--by` selects, and its heading in tables.
fn group_kind(by: &str) -> (&'static str, &'static str) {
    match by {
        "user" => ("User", "<USER"),
        "site" => ("Site", "<SITE"),
        _ => ("Route", "<ROUTE"),
    }
}

/// Counts jobs by route, user or site.
pub(super) fn count_by(rows: &[JobPair], by: &str) -> Vec<JobStateCounts> {
    let counts = count_jobs(rows, |row| match by {
        "user" => &row.owner,
        "site" => &row.grid_resource,
        _ => &row.route,
    });
    let counts = counts.into_iter().map(|(name, counts)| JobStateCounts {
        group_kind: group_kind(by).0,
        name: name.clone(),
        counts,
    });
    counts.collect()
}

/// Formats the counts of jobs, grouped by `by`, in the requested form.
pub(super) fn render_counts(
    counts: &[JobStateCounts],
    by: &str,
    form: &StatusOutputForm,
    world: &dyn World,
) -> anyhow::Result<Vec<u8>> {
    let names = std::iter::once(group_kind(by).0).chain(COUNT_NAMES);
    let keys: Vec<String> = names.map(str::to_ascii_lowercase).collect();
    let keys: Vec<&str> = keys.iter().map(String::as_str).collect();
    form.render(counts, &keys, world, |painter| {
        let columns = [group_kind(by).1, ">JOBS", ">IDLE", ">RUN", ">HELD", ">DONE", ">OTHER"];
        let rows = counts.iter().map(|JobStateCounts { name, counts, .. }| {
            let name = if name.is_empty() { "-".into() } else { name.to_string() };
            std::iter::once(name).chain(counts.iter().map(u64::to_string)).collect::<Vec<_>>()
        });
        render_table(&columns, rows, painter)
    })
}
