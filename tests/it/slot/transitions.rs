//! Tests of every transition of a slot, by its number in the manual ("Slot States and Activities"), in both quirk modes where
//! they differ. The load of the machine determines which expression of the policy is true.

use htc_hooks::quirks::QuirkMode;
use htc_hooks::slot::{
    ClaimCommand, Deactivation, DrainRequest, DrainSpeed, ShutdownMode, SlotKey, StartdEvent, StarterSignal,
};

use crate::support::machine::{Machine, job};
use crate::support::point::Point;

const BOTH: [QuirkMode; 2] = [QuirkMode::Manual, QuirkMode::Reference];

/// Loads, each with the expression of the policy that it makes true.
const QUIET: f64 = 0.0;
const OWNER: f64 = 1.0;
const PREEMPT: f64 = 2.0;
const SUSPEND: f64 = 3.0;
const KILL: f64 = 4.0;
const BACKFILL: f64 = 6.0;
const EVICT: f64 = 7.0;
const BENCHMARK: f64 = 8.0;
const NO_RETIREMENT: f64 = 9.0;

const POLICY: &str = "NUM_SLOTS_TYPE_1 = 1
SLOT_TYPE_1 = 100%
SLOT_TYPE_1_PARTITIONABLE = False
UPDATE_INTERVAL = 1
IS_OWNER = TotalLoadAvg == 1
PREEMPT = TotalLoadAvg == 2
WANT_SUSPEND = TotalLoadAvg == 3
SUSPEND = TotalLoadAvg == 3
CONTINUE = TotalLoadAvg == 0
KILL = TotalLoadAvg == 4
MaxJobRetirementTime = ifThenElse(TotalLoadAvg == 9, 0, 100)
MachineMaxVacateTime = 5
MATCH_TIMEOUT = 20
CLAIM_WORKLIFE = 1200
ENABLE_BACKFILL = true
BACKFILL_SYSTEM = BOINC
BOINC_Universe = vanilla
BOINC_Executable = /bin/true
BOINC_InitialDir = /
START_BACKFILL = TotalLoadAvg == 6
EVICT_BACKFILL = TotalLoadAvg == 7
BENCHMARKS_JOBLIST = t
BENCHMARKS_T_EXECUTABLE = /bin/true
RunBenchmarks = TotalLoadAvg == 8";

fn machine(quirks: QuirkMode) -> Machine {
    let mut machine = Machine::with(POLICY, quirks, None);
    // The benchmarks that run once after the start have ended.
    machine.step(StartdEvent::BenchmarksEnded);
    machine.states.clear();
    machine
}

fn becomes(machine: &mut Machine, load: f64) {
    machine.measure(load);
    machine.wait(2);
}

fn busy(quirks: QuirkMode) -> Machine {
    let mut machine = machine(quirks);
    machine.claim("slot1", "", 1800);
    machine.ask("slot1", ClaimCommand::Activate(Box::new(job(""))));
    assert_eq!(machine.take_states(), "Claimed/Idle Claimed/Busy");
    machine
}

fn vacate(machine: &mut Machine, fast: bool) {
    machine.step(StartdEvent::Vacate { slot: None, fast });
}

fn drain(machine: &mut Machine) {
    let request = DrainRequest::new(DrainSpeed::Graceful, "test");
    machine.step(StartdEvent::Drain(Box::new(request)));
}

/// Creates a slot whose backfill client runs.
fn backfilling() -> Machine {
    let mut machine = machine(QuirkMode::Manual);
    becomes(&mut machine, BACKFILL);
    machine.wait(2);
    assert_eq!(machine.take_states(), "Backfill/Idle Backfill/Busy");
    machine
}

#[test]
fn transitions_1_and_2_is_owner_decides_between_owner_and_unclaimed() {
    for quirks in BOTH {
        let mut machine = machine(quirks);
        becomes(&mut machine, OWNER);
        assert_eq!(machine.take_states(), "Owner/Idle");
        becomes(&mut machine, QUIET);
        assert_eq!(machine.take_states(), "Unclaimed/Idle");
    }
}

#[test]
fn transitions_3_and_4_a_slot_benchmarks_until_the_programs_end() {
    let mut default = machine(QuirkMode::Manual);
    becomes(&mut default, BENCHMARK);
    default.wait(5);
    assert_eq!(default.take_states(), "Unclaimed/Benchmarking");
    default.measure(QUIET);
    default.step(StartdEvent::BenchmarksEnded);
    assert_eq!(default.take_states(), "Unclaimed/Idle");
    assert!(!default.ad(SlotKey::from_number(1)).contains("LastBenchmark = 0"));
    // RunBenchmarks is evaluated again whenever the slot has nothing else to do.
    becomes(&mut default, BENCHMARK);
    assert_eq!(default.take_states(), "Unclaimed/Benchmarking");
}

#[test]
fn transition_4_is_made_at_the_next_evaluation_in_25_14() {
    let mut reference = machine(QuirkMode::Reference);
    becomes(&mut reference, BENCHMARK);
    reference.wait(5);
    assert_eq!(reference.take_states(), "Unclaimed/Benchmarking Unclaimed/Idle");
    reference.step(StartdEvent::BenchmarksEnded);
    reference.wait(5);
    assert_eq!(reference.take_states(), "", "not before another activity");
}

/// The manual says of RUNBENCHMARKS: any value except False runs benchmarks once after the start.
#[test]
fn benchmarks_run_once_after_the_start_unless_run_benchmarks_is_false() {
    for (quirks, run_benchmarks, states) in [
        (QuirkMode::Manual, "TotalLoadAvg == 8", "Unclaimed/Benchmarking Unclaimed/Idle"),
        (QuirkMode::Manual, "False", ""),
        (QuirkMode::Reference, "TotalLoadAvg == 8", ""),
    ] {
        let policy = format!("{POLICY}\nRunBenchmarks = {run_benchmarks}\n");
        let mut machine = Machine::with(&policy, quirks, None);
        machine.measure(QUIET);
        machine.wait(5);
        machine.step(StartdEvent::BenchmarksEnded);
        machine.wait(20);
        assert_eq!(machine.take_states(), states, "{run_benchmarks}");
        assert_eq!(machine.quirks.contains(&"benchmarks-not-at-start"), !states.is_empty());
    }
}

/// Transitions 8 and 10 of the manual: START, evaluated without a job, is false.
#[test]
fn a_start_that_is_false_ends_a_match_and_an_idle_claim() {
    for quirks in BOTH {
        let manual = quirks == QuirkMode::Manual;
        let mut machine = Machine::with(&format!("{POLICY}\nSTART = TotalLoadAvg != 5\n"), quirks, None);
        machine.step(StartdEvent::BenchmarksEnded);
        machine.states.clear();
        machine.ask("slot1", ClaimCommand::Match);
        becomes(&mut machine, 5.0);
        let left = if manual { "Matched/Idle Owner/Idle Unclaimed/Idle" } else { "Matched/Idle" };
        assert_eq!(machine.take_states(), left);
        assert_eq!(machine.quirks.contains(&"start-false-keeps-claim"), manual);

        let mut machine = Machine::with(&format!("{POLICY}\nSTART = TotalLoadAvg != 5\n"), quirks, None);
        machine.step(StartdEvent::BenchmarksEnded);
        machine.states.clear();
        machine.claim("slot1", "", 1800);
        becomes(&mut machine, 5.0);
        let left = match manual {
            true => "Claimed/Idle Preempting/Vacating Owner/Idle Unclaimed/Idle",
            false => "Claimed/Idle",
        };
        assert_eq!(machine.take_states(), left);
    }
}

#[test]
fn transition_5_a_claim_is_accepted() {
    for quirks in BOTH {
        let mut machine = machine(quirks);
        machine.claim("slot1", "", 1800);
        assert_eq!(machine.take_states(), "Claimed/Idle");
    }
}

#[test]
fn transitions_6_8_and_9_a_match_is_claimed_or_times_out() {
    for quirks in BOTH {
        let mut machine = machine(quirks);
        machine.ask("slot1", ClaimCommand::Match);
        machine.wait(18);
        assert_eq!(machine.take_states(), "Matched/Idle");
        machine.wait(4);
        assert_eq!(machine.take_states(), "Owner/Idle Unclaimed/Idle");
        machine.ask("slot1", ClaimCommand::Match);
        machine.claim("slot1", "", 1800);
        machine.wait(60);
        assert_eq!(machine.take_states(), "Matched/Idle Claimed/Idle", "the time-out is off");
    }
}

#[test]
fn transition_7_start_backfill() {
    for quirks in BOTH {
        let mut machine = machine(quirks);
        machine.measure(BACKFILL);
        machine.wait(1);
        assert!(machine.take_states().starts_with("Backfill/Idle"), "{quirks:?}");
    }
}

#[test]
fn transition_10_an_idle_claim_is_released_or_preempted_or_expires() {
    let released = |text: &str| text.starts_with("Preempting/") && text.contains("Owner/Idle");
    for quirks in BOTH {
        let mut idle = machine(quirks);
        idle.claim("slot1", "", 1800);
        idle.take_states();
        idle.ask("slot1", ClaimCommand::Release { waiting: false });
        assert_eq!(idle.take_states(), "Preempting/Killing Owner/Idle Unclaimed/Idle");
        idle.claim("slot1", "", 1800);
        idle.take_states();
        becomes(&mut idle, OWNER);
        assert_eq!(idle.take_states(), "Preempting/Vacating Owner/Idle");
        let mut worn = machine(quirks);
        worn.claim("slot1", "", 100_000);
        worn.ask("slot1", ClaimCommand::Activate(Box::new(job("JobLeaseDuration = 100000"))));
        worn.starter_ends();
        worn.take_states();
        worn.wait(1203);
        assert!(released(&worn.take_states()), "CLAIM_WORKLIFE");
    }
}

#[test]
fn transitions_11_and_12_a_job_begins_and_ends() {
    for quirks in BOTH {
        let mut machine = busy(quirks);
        machine.starter_ends();
        assert_eq!(machine.take_states(), "Claimed/Cleaning Claimed/Idle");
    }
}

#[test]
fn transition_13_a_job_retires() {
    for quirks in BOTH {
        let mut by_policy = busy(quirks);
        becomes(&mut by_policy, PREEMPT);
        assert_eq!(by_policy.take_states(), "Claimed/Retiring");
        let mut by_command = busy(quirks);
        vacate(&mut by_command, false);
        assert_eq!(by_command.take_states(), "Claimed/Retiring");
    }
}

#[test]
fn transitions_14_and_15_a_job_is_suspended_and_continues() {
    for quirks in BOTH {
        let mut machine = busy(quirks);
        becomes(&mut machine, SUSPEND);
        assert_eq!(machine.take_states(), "Claimed/Suspended");
        becomes(&mut machine, QUIET);
        assert_eq!(machine.take_states(), "Claimed/Busy");
        assert_eq!(machine.signals, [StarterSignal::Suspend, StarterSignal::Continue]);
    }
}

#[test]
fn transitions_16_and_20_a_suspended_job_retires_and_is_suspended_again() {
    for quirks in BOTH {
        let mut machine = busy(quirks);
        becomes(&mut machine, SUSPEND);
        machine.take_states();
        vacate(&mut machine, false);
        assert_eq!(machine.take_states(), "Claimed/Retiring Claimed/Suspended", "SUSPEND still holds");
        // Transition 16 is caused by CONTINUE.
        becomes(&mut machine, QUIET);
        assert_eq!(machine.take_states(), "Claimed/Retiring");
    }
}

#[test]
fn transition_17_retirement_ends_while_the_job_is_suspended() {
    for quirks in BOTH {
        let mut machine = busy(quirks);
        vacate(&mut machine, false);
        becomes(&mut machine, SUSPEND);
        assert_eq!(machine.take_states(), "Claimed/Retiring Claimed/Suspended");
        becomes(&mut machine, NO_RETIREMENT);
        assert_eq!(machine.take_states(), "Preempting/Vacating");
    }
}

#[test]
fn transition_18_retirement_ends_one_vacate_time_early() {
    for quirks in BOTH {
        let mut machine = busy(quirks);
        vacate(&mut machine, false);
        machine.wait(90);
        assert_eq!(machine.take_states(), "Claimed/Retiring");
        machine.wait(7);
        assert_eq!(machine.take_states(), "Preempting/Vacating");
        assert_eq!(machine.signals, [StarterSignal::Soft]);
    }
}

#[test]
fn transition_19_a_drain_that_is_cancelled_leaves_the_job_alone() {
    for quirks in BOTH {
        let mut machine = busy(quirks);
        drain(&mut machine);
        assert_eq!(machine.take_states(), "Claimed/Retiring");
        machine.step(StartdEvent::CancelDrain { id: None });
        machine.wait(2);
        assert_eq!(machine.take_states(), "Claimed/Busy");
    }
}

#[test]
fn transitions_21_and_25_a_preempted_job_is_killed() {
    for quirks in BOTH {
        let mut machine = busy(quirks);
        machine.measure(NO_RETIREMENT);
        machine.step(StartdEvent::Refresh);
        vacate(&mut machine, false);
        assert_eq!(machine.take_states(), "Claimed/Retiring Preempting/Vacating");
        becomes(&mut machine, KILL);
        assert_eq!(machine.take_states(), "Preempting/Killing");
        machine.measure(QUIET);
        machine.starter_ends();
        assert_eq!(machine.take_states(), "Owner/Idle Unclaimed/Idle");
        assert_eq!(machine.signals, [StarterSignal::Soft, StarterSignal::Hard]);
    }
}

#[test]
fn transition_22_a_vacated_slot_returns_to_its_owner() {
    for quirks in BOTH {
        let mut machine = busy(quirks);
        machine.measure(NO_RETIREMENT);
        machine.step(StartdEvent::Refresh);
        vacate(&mut machine, false);
        machine.starter_ends();
        assert_eq!(machine.take_states(), "Claimed/Retiring Preempting/Vacating Owner/Idle Unclaimed/Idle");
    }
}

#[test]
fn transitions_23_and_24_the_waiting_claim_becomes_current() {
    for (fast, through) in [(false, "Claimed/Retiring Preempting/Vacating"), (true, "Preempting/Killing")] {
        for quirks in BOTH {
            let ranked = format!("{POLICY}\nRANK = TARGET.Better =?= true");
            let mut machine = Machine::with(&ranked, quirks, None);
            machine.claim("slot1", "", 1800);
            machine.ask("slot1", ClaimCommand::Activate(Box::new(job(""))));
            machine.take_states();
            machine.claim("slot1", "Better = true", 1800);
            machine.measure(NO_RETIREMENT);
            if fast {
                vacate(&mut machine, true);
            } else {
                machine.wait(2);
            }
            machine.starter_ends();
            let went = machine.take_states();
            assert!(went.ends_with("Claimed/Idle") && went.contains("Preempting/"), "{through}: {went}");
        }
    }
}

#[test]
fn transitions_26_and_27_a_backfill_client_runs_and_ends() {
    let mut machine = backfilling();
    machine.measure(QUIET);
    machine.client_ends();
    assert_eq!(machine.take_states(), "Backfill/Idle");
    machine.wait(2);
    assert_eq!(machine.take_states(), "Backfill/Busy", "it is started again");
}

#[test]
fn in_25_14_as_root_the_client_ends_as_soon_as_it_is_started() {
    let mut machine = machine(QuirkMode::Reference);
    becomes(&mut machine, BACKFILL);
    machine.wait(3);
    let went = machine.take_states();
    assert!(went.starts_with("Backfill/Idle Backfill/Busy Backfill/Idle Backfill/Busy"), "{went}");
    assert!(machine.starter.is_none());
}

#[test]
fn transitions_28_29_and_30_backfill_is_evicted() {
    let mut machine = backfilling();
    becomes(&mut machine, EVICT);
    assert_eq!(machine.take_states(), "Backfill/Killing");
    assert_eq!(machine.signals, [StarterSignal::Hard]);
    machine.client_ends();
    assert_eq!(machine.take_states(), "Owner/Idle Unclaimed/Idle");
    becomes(&mut machine, BACKFILL);
    machine.wait(2);
    machine.client_ends();
    machine.take_states();
    // Transition 30 is made at once, because nothing runs.
    machine.measure(EVICT);
    machine.wait(1);
    assert_eq!(machine.take_states(), "Owner/Idle Unclaimed/Idle");
}

#[test]
fn a_client_that_does_not_end_is_killed_with_everything_below_it() {
    let mut machine = backfilling();
    becomes(&mut machine, EVICT);
    machine.wait(40);
    assert_eq!(machine.signals, [StarterSignal::Hard, StarterSignal::Kill]);
}

#[test]
fn transition_31_a_claim_takes_a_backfilling_slot() {
    let mut machine = backfilling();
    machine.claim("slot1", "", 1800);
    machine.client_ends();
    assert_eq!(machine.take_states(), "Backfill/Killing Claimed/Idle");
    machine.ask("slot1", ClaimCommand::Activate(Box::new(job(""))));
    machine.ask("slot1", ClaimCommand::Deactivate(Deactivation::Forcibly));
    assert_eq!(machine.take_states(), "Claimed/Busy");
}

#[test]
fn transition_32_a_match_takes_a_backfilling_slot() {
    let mut machine = backfilling();
    machine.measure(QUIET);
    machine.ask("slot1", ClaimCommand::Match);
    machine.client_ends();
    assert_eq!(machine.take_states(), "Backfill/Killing Matched/Idle");
    machine.wait(22);
    assert_eq!(machine.take_states(), "Owner/Idle Unclaimed/Idle");
}

#[test]
fn transitions_33_and_34_all_slots_are_drained_and_resume() {
    for quirks in BOTH {
        let mut machine = machine(quirks);
        drain(&mut machine);
        assert_eq!(machine.take_states(), "Drained/Retiring Drained/Idle");
        machine.step(StartdEvent::CancelDrain { id: None });
        assert_eq!(machine.take_states(), "Owner/Idle Unclaimed/Idle");
    }
}

#[test]
fn transition_35_a_drain_is_cancelled_while_another_slot_still_retires() {
    for quirks in BOTH {
        let two = POLICY.replace("NUM_SLOTS_TYPE_1 = 1", "NUM_SLOTS_TYPE_1 = 2").replace("100%", "50%");
        let mut machine = Machine::with(&two, quirks, None);
        machine.claim("slot1", "", 1800);
        machine.ask("slot1", ClaimCommand::Activate(Box::new(job(""))));
        machine.take_states();
        drain(&mut machine);
        assert_eq!(machine.take_states(), "Claimed/Retiring Drained/Retiring");
        machine.step(StartdEvent::CancelDrain { id: None });
        let went = machine.take_states();
        assert!(went.contains("Claimed/Busy") && went.ends_with("Unclaimed/Idle"), "{quirks:?}: {went}");
    }
}

#[test]
fn transitions_36_and_37_free_slots_are_drained_at_once() {
    for quirks in BOTH {
        let mut owner = machine(quirks);
        becomes(&mut owner, OWNER);
        owner.take_states();
        drain(&mut owner);
        assert_eq!(owner.take_states(), "Drained/Retiring Drained/Idle", "from Owner");
        let mut unclaimed = machine(quirks);
        drain(&mut unclaimed);
        assert_eq!(unclaimed.take_states(), "Drained/Retiring Drained/Idle", "from Unclaimed");
    }
}

/// Regression test: the slot stayed in Preempting and never left it.
#[test]
fn a_waiting_claim_is_refused_if_a_drain_has_begun() {
    for quirks in BOTH {
        let ranked = format!("{POLICY}\nRANK = TARGET.Better =?= true");
        let mut machine = Machine::with(&ranked, quirks, None);
        machine.claim("slot1", "", 1800);
        machine.ask("slot1", ClaimCommand::Activate(Box::new(job(""))));
        machine.claim("slot1", "Better = true", 1800);
        drain(&mut machine);
        machine.measure(NO_RETIREMENT);
        machine.wait(2);
        machine.starter_ends();
        assert!(machine.take_states().ends_with("Drained/Retiring Drained/Idle"));
    }
}

/// 25.14 recurses until its stack overflows.
#[test]
fn a_policy_that_changes_states_forever_is_stopped_and_reported() {
    let mut machine = Machine::new("IS_OWNER = State == \"Unclaimed\"");
    machine.wait(10);
    let told = machine.warnings.iter().filter(|text| text.contains("contradict each other")).count();
    assert!(told > 0 && machine.states.len() < 60, "{:?}", machine.states);
}

#[test]
fn startd_noclaim_shutdown_ends_an_unclaimed_machine() {
    let mut machine = Machine::new("STARTD_NOCLAIM_SHUTDOWN = 8\nUPDATE_INTERVAL = 1");
    machine.claim("slot1", "", 1800);
    machine.wait(20);
    assert_eq!(machine.point.shutdown_mode(), None);
    machine.ask("slot1_1", ClaimCommand::Release { waiting: false });
    machine.wait(7);
    assert_eq!(machine.point.shutdown_mode(), None);
    machine.wait(4);
    assert_eq!(machine.point.shutdown_mode(), Some(ShutdownMode::Graceful));
    assert!(machine.point.is_finished());
}

/// Transitions 1 and 2 are caused by a desktop's console, through the access times of CONSOLE_DEVICES; STARTD_NOCLAIM_SHUTDOWN
/// applies when there is no claim.
#[test]
fn a_desktop_slot_is_in_owner_while_its_user_types() {
    let point = Point::new()
        .parameter("SLOTS_CONNECTED_TO_CONSOLE = 1")
        .parameter("IS_OWNER = ConsoleIdle < 1000")
        .parameter("START = ConsoleIdle >= 1000")
        .parameter("POLLING_INTERVAL = 1")
        .parameter("UPDATE_INTERVAL = 1")
        .parameter("FetchWorkDelay = 300")
        .parameter("STARTD_NOCLAIM_SHUTDOWN = 4");
    let device = point.path("mouse");
    let typed = |seconds: u64| {
        let at = std::time::SystemTime::now() - std::time::Duration::from_secs(seconds);
        let file = std::fs::File::create(&device).unwrap();
        file.set_times(std::fs::FileTimes::new().set_accessed(at)).unwrap();
    };
    typed(10);
    let control = point.path("control").display().to_string();
    let point = point
        .parameter(&format!("CONSOLE_DEVICES = ..{}", device.display()))
        .arguments(["--control", &control]);
    let mut child = point.start();
    point.wait_for(&mut child, &[("event", "start")]);
    typed(5000);
    point.wait_for(&mut child, &[("event", "state"), ("state", "Unclaimed")]);
    typed(1);
    point.wait_for(&mut child, &[("event", "state"), ("state", "Owner")]);
    let run = point.end(child);
    assert!(run.stderr.contains("STARTD_NOCLAIM_SHUTDOWN"), "{}", run.stderr);
    assert_eq!(run.states("slot1"), "Unclaimed/Idle Owner/Idle", "{}", run.stderr);
}

/// Uses real processes: a benchmark program runs, and then a backfill client until the execution point ends.
#[test]
fn benchmarks_and_a_backfill_client_run_live() {
    let point = Point::new()
        .hook("mips", "#!/bin/sh\necho Mips = 4242\n")
        .parameter("UPDATE_INTERVAL = 1\nRunBenchmarks = LastBenchmark == 0\nBENCHMARKS_JOBLIST = mips gone")
        .parameter(
            "BENCHMARKS_MIPS_EXECUTABLE = $(CONFIG_ROOT)/hooks/mips\nBENCHMARKS_GONE_EXECUTABLE = /no/gone",
        )
        .parameter("ENABLE_BACKFILL = true\nBACKFILL_SYSTEM = BOINC\nSTART_BACKFILL = Mips == 4242")
        .parameter("BOINC_Universe = vanilla\nBOINC_Executable = /bin/true\nBOINC_InitialDir = /")
        .hook("starter", "#!/bin/sh\necho \"$@\" > \"$HOME/out/starter.words\"\nexec sleep 1000\n")
        .arguments(["--idle-exit", "5"]);
    let run = point.run();
    let states = run.states("slot1");
    assert!(
        states.starts_with(
            "Unclaimed/Idle Unclaimed/Benchmarking Unclaimed/Idle Backfill/Idle Backfill/Busy Backfill/Killing"
        ),
        "{states}: {}",
        run.stderr
    );
    assert_eq!(point.recorded_files("starter.words"), ["-f -append boinc -job-keyword boinc\n"]);
    assert_eq!(run.stderr.lines().filter(|line| line.contains("/no/gone")).count(), 1, "{}", run.stderr);
    assert_eq!(run.status, Some(0), "a client is no job: {}", run.stderr);
}

#[test]
fn each_transition_from_1_to_37_has_a_test_that_is_named_by_its_number() {
    let names = include_str!("transitions.rs").lines().filter_map(|line| line.strip_prefix("fn transition"));
    let numbers = names.flat_map(|name| name.split('_').filter_map(|word| word.parse::<u32>().ok()));
    let named: std::collections::BTreeSet<u32> = numbers.collect();
    let missing: Vec<u32> = (1..=37).filter(|number| !named.contains(number)).collect();
    assert_eq!(missing, Vec::<u32>::new());
}
