//! Attributes of jobs from which tables and counts are computed.

use super::cell_text::status_letter;
use crate::classad::{ClassAd, Context};
use crate::text::calendar::CivilTime;
use crate::world::World;

/// Attributes of jobs in a queue from which pairs of source and routed job are built.
pub(super) const QUEUE_ATTRIBUTES: [&str; 14] = [
    "ClusterId",
    "ProcId",
    "RoutedBy",
    "RoutedFromJobId",
    "RoutedToJobId",
    "EnteredCurrentStatus",
    "QDate",
    "JobStatus",
    "RouteName",
    "Managed",
    "LeaveJobInQueue",
    "Owner",
    "GridResource",
    "HoldReason",
];

/// Attributes of which each source job and routed job has at least one.
pub(super) const PAIR_ATTRIBUTES: [&str; 3] = ["RouteName", "RoutedBy", "Managed"];

/// Attributes of jobs in a history from which the table and counts are computed.
pub(super) const HISTORY_ATTRIBUTES: [&str; 11] = [
    "ClusterId",
    "ProcId",
    "RoutedFromJobId",
    "RouteName",
    "RoutedFromRoute",
    "Owner",
    "JobStatus",
    "CompletionDate",
    "RemoteWallClockTime",
    "GridResource",
    "HoldReason",
];

/// Headings of the table of a history.
pub(super) const HISTORY_COLUMNS: [&str; 7] =
    ["<JOB", "<SOURCE", "<ROUTE", "<OWNER", "<ST", "<COMPLETED", ">RUNTIME"];

/// Returns the cells of the table row for a job that has left the queue.
pub(super) fn history_job_cells(ad: &ClassAd, world: &dyn World) -> [String; 7] {
    let context = Context::new(world).my(ad);
    let int = |name: &str| context.int(name);
    let string = |name: &str| context.string(name).map_or_else(|| "-".into(), |text| text.to_string());
    let id = match (int("ClusterId"), int("ProcId")) {
        (Some(cluster), Some(proc)) => format!("{cluster}.{proc}"),
        _ => "?".into(),
    };
    let completed = int("CompletionDate").filter(|&at| at > 0).map_or_else(
        || "-".into(),
        |at| {
            let CivilTime { year, month, day, hour, minute, .. } =
                CivilTime::from_seconds(at, i64::from(world.zone(at).offset));
            format!("{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}")
        },
    );
    let wall = context.real("RemoteWallClockTime").unwrap_or(0.0).max(0.0) as i64;
    let route = context.string("RouteName").or_else(|| context.string("RoutedFromRoute"));
    [
        id,
        string("RoutedFromJobId"),
        route.map_or_else(|| "-".into(), |route| route.to_string()),
        string("Owner"),
        int("JobStatus").map_or_else(|| "?".into(), status_letter),
        completed,
        format!("{}:{:02}:{:02}", wall / 3600, wall / 60 % 60, wall % 60),
    ]
}
