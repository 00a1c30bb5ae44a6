use std::rc::Rc;

use super::*;
use crate::slot_state::{Activity, SlotState};
use crate::{
    ExitLimits, HostMeasurements, Measurements, SlotHookType, StartdAction, StartdEvent, configure,
    referenced_attributes,
};
use htc_base::quirks::QuirkMode;
use htc_config::{Config, LoadOptions, LookupContext};
use htc_os::RealWorld;

const BEGUN: i64 = 1_800_000_000;
/// Duration of a FETCH_WORK call, in seconds.
const TAKES: u64 = 2;

fn at(seconds: u64) -> ClockReading {
    ClockReading::from_epoch(BEGUN).plus(Duration::from_secs(seconds))
}

/// Creates an execution point with two slots and these lines of configuration; `rests` enables poll skipping.
pub(crate) fn point(lines: &str, rests: bool) -> ExecutionPoint {
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join("condor_config");
    let text = "NUM_CPUS = 2\nMEMORY = 1000\nSTARTD_DETECT_GPUS =\nNETWORK_INTERFACE = 127.0.0.1\nNUM_SLOTS_TYPE_1 = 2\n\
                SLOT_TYPE_1 = 50%\nSLOT_TYPE_1_PARTITIONABLE = False\nRunBenchmarks = False\n";
    std::fs::write(&file, format!("{text}{lines}\n")).unwrap();
    let world = RealWorld::new();
    let who = LookupContext { subsystem: "STARTD".into(), ..LookupContext::default() };
    let options = LoadOptions { file: Some(file), environment: false, ..LoadOptions::default() };
    let (config, _) = Config::load(&world, &who, &options).unwrap();
    let host_measurements = HostMeasurements { disk_free: 1_000_000, ..HostMeasurements::default() };
    let mut made =
        configure(&config, &world, &host_measurements, QuirkMode::Manual, ExitLimits::default()).unwrap();
    made.settings.benchmarks.jobs.clear();
    let names = referenced_attributes(&made.settings, []);
    let mut point = ExecutionPoint::new(made.settings, Rc::new(world), at(0));
    if rests {
        point.enable_poll_skipping(&names, Some(Duration::from_secs(TAKES)));
        assert!(point.core.schedule.poll_skipper.is_some());
    }
    point
}

/// Runs the execution point for `length` seconds without any job; returns the times when it was woken, and the number
/// of FETCH_WORK calls.
fn run_without_jobs(point: &mut ExecutionPoint, length: u64) -> (Vec<u64>, u64) {
    let (mut woken, mut calls) = (Vec::new(), Vec::new());
    let mut actions = point.step(at(0), StartdEvent::Start);
    let mut made = 0;
    loop {
        let now = point.core.now.monotonic_us;
        for action in actions.drain(..) {
            if let StartdAction::RunHook(call) = action
                && call.hook == SlotHookType::FetchWork
            {
                made += 1;
                calls.push((now + TAKES * 1_000_000, call.run));
            }
        }
        let ends = calls.iter().min().copied();
        let wake = point.next_wake().map(|MonotonicTime(wake)| wake.max(now));
        let next = ends.map(|(ends, _)| ends).into_iter().chain(wake).min();
        let Some(next) =
            next.map(|next| next - at(0).monotonic_us).filter(|next| *next <= length * 1_000_000)
        else {
            return (woken, made);
        };
        let then = at(0).plus(Duration::from_micros(next));
        actions = match ends.filter(|(ends, _)| *ends == then.monotonic_us) {
            Some((_, run)) => {
                calls.retain(|(_, other)| *other != run);
                point.step(then, StartdEvent::HookEnded { run, stdout: Vec::new(), cut: false })
            }
            None => {
                woken.push(next / 1_000_000);
                point.step(then, StartdEvent::Tick)
            }
        };
    }
}

fn states(point: &ExecutionPoint) -> Vec<(SlotState, Activity)> {
    point.slots().map(|(_, _, state, activity)| (state, activity)).collect()
}

#[test]
fn a_slot_is_evaluated_only_when_its_policy_can_have_changed() {
    let lines = format!("UPDATE_INTERVAL = 300\nIS_OWNER = time() < {}", BEGUN + 1000);
    let mut point = point(&lines, true);
    // The slots are evaluated at the first update after the start, at the first update after the predicted time, and at
    // the update after the change.
    assert_eq!(run_without_jobs(&mut point, 100_000), (vec![300, 1200, 1500], 0));
    assert_eq!(states(&point), [(SlotState::Unclaimed, Activity::Idle); 2]);
    assert_eq!(point.next_wake(), None);
}

#[test]
fn a_measurement_wakes_slots_whose_policy_uses_it() {
    for (start, wakes) in [("True", false), ("LoadAvg < 0.3", true)] {
        let mut point = point(&format!("UPDATE_INTERVAL = 300\nIS_OWNER = !({start})"), true);
        run_without_jobs(&mut point, 10_000);
        assert_eq!(point.next_wake(), None, "{start}");
        let measured = Measurements { load: 2.0, ..Measurements::default() };
        point.step(at(10_000), StartdEvent::MeasurementsTaken(Box::new(measured)));
        assert_eq!(point.next_wake(), wakes.then(|| at(10_200).monotonic()), "{start}");
        point.step(at(10_200), StartdEvent::Tick);
        let state = if wakes { SlotState::Owner } else { SlotState::Unclaimed };
        assert_eq!(states(&point)[0].0, state, "{start}");
    }
}

#[test]
fn futile_fetches_are_counted_like_real_ones() {
    for delay in ["7", "30", "300"] {
        let lines = format!(
            "UPDATE_INTERVAL = 77\nFetchWorkDelay = {delay}\nSTARTD_JOB_HOOK_KEYWORD = K\nK_HOOK_FETCH_WORK = /bin/true"
        );
        let (mut naive, mut skipper) = (point(&lines, false), point(&lines, true));
        let ((polls, made), (looks, known)) =
            (run_without_jobs(&mut naive, 5000), run_without_jobs(&mut skipper, 5000));
        let silent = skipper.count_skipped_fetches(at(0), 5_000_000_000);
        assert_eq!(known + silent, made, "every {delay} s");
        assert!(made > 20 && silent > known && looks.len() * 3 < polls.len(), "{made} {silent} {looks:?}");
    }
}
