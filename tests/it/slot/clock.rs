//! Tests of a wall clock that jumps in both directions, as after a correction of the time or when a virtual machine resumes.

use crate::support::machine::Machine;

const LINES: &str = "NUM_SLOTS = 1\nNUM_SLOTS_TYPE_1 = 1\nSLOT_TYPE_1 = 100%\nSTARTD_JOB_HOOK_KEYWORD = T\n\
                     FetchWorkDelay = 1\nT_HOOK_FETCH_WORK = /bin/true\n";
const JOB: &[u8] = b"ClusterId = 1\nProcId = 0\nCmd = \"/bin/true\"\nOwner = \"nobody\"\n";
const HOUR: i64 = 3600;
const YEAR: i64 = 365 * 24 * HOUR;

/// Stage of a run at which the clock jumps.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Stage {
    BeforeFetch,
    DuringFetch,
    DuringJob,
    AfterJob,
}

/// Runs one job, and lets the clock jump by this number of seconds at a stage. Returns the number of fetches after the jump.
fn play(jump: i64, stage: Stage) -> usize {
    let mut machine = Machine::once(LINES);
    let arrive = |machine: &mut Machine, at: Stage| {
        if at == stage {
            machine.now.wall_us += jump * 1_000_000;
        }
    };
    arrive(&mut machine, Stage::BeforeFetch);
    machine.wait(2);
    arrive(&mut machine, Stage::DuringFetch);
    machine.fetch_ends(JOB);
    machine.wait(5);
    assert!(machine.states.contains(&"Claimed/Busy".to_owned()), "{jump} s, {stage:?}: {}", machine.take_states());
    arrive(&mut machine, Stage::DuringJob);
    machine.wait(5);
    machine.starter_ends();
    arrive(&mut machine, Stage::AfterJob);
    let mut fetches = 0;
    for _ in 0..6 {
        machine.wait(5);
        while machine.running_fetches.as_ref().is_some_and(|running| !running.is_empty()) {
            machine.fetch_ends(b"");
            fetches += 1;
        }
    }
    assert!(machine.point.is_finished(), "{jump} s, {stage:?}: {fetches} fetches, {}", machine.take_states());
    fetches
}

#[test]
fn a_clock_jump_neither_stops_fetching_nor_ends_a_job() {
    let still = play(0, Stage::BeforeFetch);
    for jump in [-40 * YEAR, -YEAR, -HOUR, -2, 2, HOUR, YEAR, 40 * YEAR] {
        for stage in [Stage::BeforeFetch, Stage::DuringFetch, Stage::DuringJob, Stage::AfterJob] {
            let fetches = play(jump, stage);
            assert!(
                fetches.abs_diff(still) <= 1,
                "{jump} s, {stage:?}: {fetches} fetches instead of {still}"
            );
        }
    }
}
