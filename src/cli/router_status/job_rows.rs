//! Rows of routed jobs and of history records: as ads, as JSON objects and as a table.

use std::borrow::Cow;

use bstr::{BString, ByteSlice};
use serde_json::json;

use super::cell_text::{age_text, status_letter};
use super::output_form::Renderable;
use crate::classad::ClassAd;
use crate::classad::format::json::{self, JsonLayout};
use crate::cli::common::{Painter, render_table};
use crate::router::job_pairs::{JobPair, PairProblem};

impl Renderable for ClassAd {
    fn to_ad(&self) -> Cow<'_, ClassAd> {
        Cow::Borrowed(self)
    }

    fn to_object(&self) -> serde_json::Value {
        let mut text = Vec::new();
        json::push(self, JsonLayout::OneLine, &mut text);
        serde_json::from_slice(&text).unwrap_or(serde_json::Value::Null)
    }
}

/// First columns of a history table. They are printed even if there are no records.
pub(super) const HISTORY_KEYS: [&str; 7] =
    ["ClusterId", "ProcId", "RoutedFromJobId", "RouteName", "Owner", "JobStatus", "CompletionDate"];

/// Members of the JSON object of a pair of jobs.
pub(super) const JOB_PAIR_KEYS: [&str; 10] = [
    "copy",
    "source",
    "route",
    "owner",
    "job_status",
    "state",
    "seconds",
    "resource",
    "hold_reason",
    "trouble",
];

impl Renderable for JobPair {
    fn to_ad(&self) -> Cow<'_, ClassAd> {
        Cow::Borrowed(&self.ad)
    }

    fn to_object(&self) -> serde_json::Value {
        let text = |bytes: &BString| (!bytes.is_empty()).then(|| bytes.to_str_lossy().into_owned());
        json!({
            "copy": self.copy.map(|id| id.to_string()),
            "source": self.source.map(|id| id.to_string()),
            "route": text(&self.route),
            "owner": text(&self.owner),
            "resource": text(&self.grid_resource),
            "job_status": self.status,
            "state": self.state,
            "seconds": self.age,
            "hold_reason": text(&self.hold_reason),
            "trouble": self.problem.map(PairProblem::description),
        })
    }
}

/// Returns the table of pairs of jobs.
pub(super) fn render_jobs(rows: &[JobPair], painter: Painter) -> String {
    let columns = ["<JOB", "<SOURCE", "<ROUTE", "<OWNER", "<ST", "<STATE", ">FOR", "<RESOURCE"];
    let or_dash = |text: &BString| if text.is_empty() { "-".to_owned() } else { text.to_string() };
    let rows = rows.iter().map(|row| {
        [
            row.copy.map_or_else(|| "-".into(), |id| id.to_string()),
            row.source.map_or_else(|| "-".into(), |id| id.to_string()),
            or_dash(&row.route),
            or_dash(&row.owner),
            status_letter(row.status),
            row.state.to_owned(),
            age_text(row.age),
            or_dash(&row.grid_resource),
        ]
    });
    render_table(&columns, rows, painter)
}
