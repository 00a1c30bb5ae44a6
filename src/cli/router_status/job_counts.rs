//! Numbers of jobs by route, user or site, and by state.

use std::borrow::Cow;
use std::collections::BTreeMap;

use bstr::{BString, ByteSlice};
use serde_json::json;

use super::output_form::{Renderable, StatusOutputForm};
use crate::classad::ClassAd;
use crate::cli::common::render_table;
use crate::job::JobStatus;
use crate::router::job_pairs::JobPair;
use crate::world::World;

/// Names of the counts in JSON and ads.
const COUNT_NAMES: [&str; 6] = ["Jobs", "Idle", "Running", "Held", "Done", "Other"];

/// Numbers of jobs of one group: all, then by state.
struct JobStateCounts {
    /// Kind of the group.
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

/// Formats the counts of jobs by `by` in the requested form.
pub(super) fn render_counts(
    rows: &[JobPair],
    by: &str,
    form: &StatusOutputForm,
    world: &dyn World,
) -> anyhow::Result<Vec<u8>> {
    let (of, heading) = match by {
        "user" => ("User", "<USER"),
        "site" => ("Site", "<SITE"),
        _ => ("Route", "<ROUTE"),
    };
    let mut counts: BTreeMap<&BString, [u64; 6]> = BTreeMap::new();
    for row in rows {
        let name = match by {
            "user" => &row.owner,
            "site" => &row.grid_resource,
            _ => &row.route,
        };
        let counts = counts.entry(name).or_default();
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
    let counts = counts.into_iter().map(|(name, counts)| JobStateCounts {
        group_kind: of,
        name: name.clone(),
        counts,
    });
    let counts: Vec<JobStateCounts> = counts.collect();
    form.render(&counts, world, |painter| {
        let columns = [heading, ">JOBS", ">IDLE", ">RUN", ">HELD", ">DONE", ">OTHER"];
        let rows = counts.iter().map(|JobStateCounts { name, counts, .. }| {
            let name = if name.is_empty() { "-".into() } else { name.to_string() };
            std::iter::once(name).chain(counts.iter().map(u64::to_string)).collect::<Vec<_>>()
        });
        render_table(&columns, rows, painter)
    })
}
