//! How many jobs there are by route, user or site and by state.

use std::collections::BTreeMap;

use bstr::{BString, ByteSlice};
use serde_json::json;

use super::forms::attributes;
use super::options::Common;
use super::rows::Row;
use crate::classad::{ClassAd, Expr};
use crate::cli::common::{Column, Painter, table};
use crate::job::JobStatus;
use crate::world::World;

/// How many jobs there are of each name: all, then by state.
type Counts = BTreeMap<BString, [u64; 6]>;

/// What is counted, as data.
const COUNTED: [&str; 6] = ["Jobs", "Idle", "Running", "Held", "Done", "Other"];

fn counts(rows: &[Row], by: &str) -> Counts {
    let mut counts = Counts::new();
    for row in rows {
        let key = match by {
            "user" => row.owner.clone(),
            "site" => row.resource.clone(),
            _ => row.route.clone(),
        };
        let counts = counts.entry(key).or_default();
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

/// The counts of jobs by `by` in the form that was asked for; `columns` are those of --af.
pub(super) fn counted(
    rows: &[Row],
    by: &str,
    (common, columns): (&Common, &[Expr]),
    world: &dyn World,
) -> anyhow::Result<Vec<u8>> {
    let counts = &counts(rows, by);
    let (first, heading) = match by {
        "user" => ("User", "USER"),
        "site" => ("Site", "SITE"),
        _ => ("Route", "ROUTE"),
    };
    if common.output.wants_json() {
        let object = |(key, counts): (&BString, &[u64; 6])| {
            let name = (!key.is_empty()).then(|| key.to_str_lossy().into_owned());
            let mut object = serde_json::Map::new();
            object.insert(first.to_ascii_lowercase(), json!(name));
            for (what, count) in COUNTED.iter().zip(counts) {
                object.insert(what.to_ascii_lowercase(), json!(count));
            }
            serde_json::Value::Object(object)
        };
        let objects: Vec<serde_json::Value> = counts.iter().map(object).collect();
        return Ok(common.output.rows(&objects)?.unwrap_or_default().into_bytes());
    }
    if !common.af.is_empty() || common.output.long {
        let mut out = Vec::new();
        for (key, counts) in counts {
            let mut ad = ClassAd::default();
            if !key.is_empty() {
                ad.set(first, key.clone());
            }
            for (what, &count) in COUNTED.iter().zip(counts) {
                ad.set(what, i64::try_from(count).unwrap_or(i64::MAX));
            }
            if common.af.is_empty() {
                out.extend_from_slice(&crate::classad::format::long::print(&ad));
                out.push(b'\n');
            } else {
                out.extend_from_slice(&attributes(&ad, columns, world));
            }
        }
        return Ok(out);
    }
    let columns = [
        Column::left(heading),
        Column::right("JOBS"),
        Column::right("IDLE"),
        Column::right("RUN"),
        Column::right("HELD"),
        Column::right("DONE"),
        Column::right("OTHER"),
    ];
    let rows = counts.iter().map(|(key, counts)| {
        let name = if key.is_empty() { "-".into() } else { key.to_string() };
        std::iter::once(name).chain(counts.iter().map(u64::to_string)).collect::<Vec<_>>()
    });
    Ok(table(&columns, rows, Painter::stdout(common.output.color)).into_bytes())
}
