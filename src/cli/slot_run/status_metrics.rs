//! Metrics about the slots of a running execution point.

use std::collections::BTreeMap;

use crate::cli::common::{Metric, MetricKind, OpenMetrics, Sample};
use crate::runner::slot::{HookCounters, RunCounters, SlotControlAnswer};

const SLOTS: Metric =
    Metric { name: "htc_slots", kind: MetricKind::Gauge, help: "Slots by state and activity." };
const DRAINING: Metric =
    Metric { name: "htc_draining", kind: MetricKind::Gauge, help: "1 while the execution point drains." };
const START: Metric = Metric {
    name: "htc_start_time_seconds",
    kind: MetricKind::Gauge,
    help: "Start of the execution point, in seconds since the epoch.",
};
const FETCHES: Metric =
    Metric { name: "htc_fetches", kind: MetricKind::Counter, help: "Outputs of FETCH_WORK by verdict." };
const JOBS: Metric = Metric { name: "htc_jobs_started", kind: MetricKind::Counter, help: "Jobs started." };
const JOBS_FAILED: Metric = Metric {
    name: "htc_jobs_failed",
    kind: MetricKind::Counter,
    help: "Started jobs that did not exit with status 0.",
};
const HOOK_CALLS: Metric =
    Metric { name: "htc_hook_calls", kind: MetricKind::Counter, help: "Completed hook calls of the slots." };
const HOOK_SECONDS: Metric = Metric {
    name: "htc_hook_seconds",
    kind: MetricKind::Counter,
    help: "Total duration of the completed hook calls of the slots, in seconds.",
};
const HOOK_FAILURES: Metric = Metric {
    name: "htc_hook_failures",
    kind: MetricKind::Counter,
    help: "Failed hook calls of the slots, by reason.",
};

/// Formats the answer of an execution point as metrics. `wanted` selects slots by name.
pub(super) fn render_metrics(answer: &SlotControlAnswer, wanted: impl Fn(&str) -> bool) -> String {
    let mut metrics = OpenMetrics::default();
    let mut slots: BTreeMap<(&str, &str), u64> = BTreeMap::new();
    for slot in answer.slots.iter().filter(|slot| wanted(&slot.slot)) {
        *slots.entry((&slot.state, &slot.activity)).or_default() += 1;
    }
    let slots = slots
        .iter()
        .map(|((state, activity), &count)| Sample::count(&[("state", state), ("activity", activity)], count));
    metrics.push(SLOTS, slots);
    metrics.push(DRAINING, [Sample::count(&[], answer.drain.is_some().into())]);
    if let Some(counters) = &answer.counters {
        push_counters(&mut metrics, counters);
    }
    metrics.finish()
}

fn push_counters(metrics: &mut OpenMetrics, counters: &RunCounters) {
    metrics.push(START, [Sample::number(&[], counters.started_at as f64)]);
    let fetches = counters.fetches.iter();
    metrics.push(FETCHES, fetches.map(|(verdict, &count)| Sample::count(&[("verdict", verdict)], count)));
    metrics.push(JOBS, [Sample::count(&[], counters.jobs_started)]);
    metrics.push(JOBS_FAILED, [Sample::count(&[], counters.jobs_failed)]);
    let of_hooks = |value: fn(&HookCounters) -> f64| {
        counters.hooks.iter().map(move |(name, hook)| Sample::number(&[("hook", name)], value(hook)))
    };
    metrics.push(HOOK_CALLS, of_hooks(|hook| hook.ended as f64));
    metrics.push(HOOK_SECONDS, of_hooks(|hook| hook.microseconds as f64 / 1e6));
    let failures = counters.hooks.iter().flat_map(|(name, hook)| {
        let reasons = [("exit", hook.failed), ("not started", hook.not_started), ("timeout", hook.timed_out)];
        reasons.map(|(reason, count)| Sample::count(&[("hook", name), ("reason", reason)], count))
    });
    metrics.push(HOOK_FAILURES, failures);
}
