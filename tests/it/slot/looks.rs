//! Tests of the times at which slots are evaluated: the order in a drain, the end of a drain, and the polls that an update starts
//! and ends. Each case was compared with a startd of 25.14.

use htc_hooks::quirks::QuirkMode;
use htc_hooks::slot::{
    Activity, ClaimCommand, DrainCompletion, DrainRequest, DrainSpeed, SlotKey, SlotState, StartdEvent,
};

use crate::support::machine::{Machine, job};

const BOTH: [QuirkMode; 2] = [QuirkMode::Manual, QuirkMode::Reference];

const TWO: &str = "NUM_SLOTS_TYPE_1 = 2\nSLOT_TYPE_1 = 50%\nSLOT_TYPE_1_PARTITIONABLE = False\n";

fn drain(machine: &mut Machine, speed: DrainSpeed, completion: DrainCompletion) {
    machine
        .step(StartdEvent::Drain(Box::new(DrainRequest { completion, ..DrainRequest::new(speed, "test") })));
}

/// Returns state and activity of the slot with this number.
fn is(machine: &Machine, number: u32) -> (SlotState, Activity) {
    let found = machine.point.slots().find(|(key, ..)| *key == SlotKey::from_number(number));
    let (.., state, activity) = found.unwrap();
    (state, activity)
}

#[test]
fn a_drain_ends_all_claims_before_it_evaluates_slots() {
    for quirks in BOTH {
        let mut machine = Machine::with(TWO, quirks, None);
        machine.claim("slot2", "", 1800);
        machine.take_states();
        drain(&mut machine, DrainSpeed::Fast, DrainCompletion::Nothing);
        let second = "Preempting/Killing Owner/Idle Unclaimed/Idle Drained/Retiring";
        assert_eq!(machine.take_states(), format!("{second} Drained/Retiring Drained/Idle Drained/Idle"));
    }
}

/// Slots are evaluated in order, and polls end with the one in which the last slot is drained. In 25.14, slots that were
/// evaluated before it notice the end of the drain only at the next update.
#[test]
fn in_25_14_earlier_slots_notice_the_end_of_a_drain_at_the_next_update() {
    let lines = format!("{TWO}UPDATE_INTERVAL = 60\nPOLLING_INTERVAL = 2");
    for quirks in BOTH {
        let mut machine = Machine::with(&lines, quirks, None);
        machine.claim("slot1", "", 1800);
        machine.ask("slot1", ClaimCommand::Activate(Box::new(job(""))));
        drain(&mut machine, DrainSpeed::Graceful, DrainCompletion::Resume);
        assert_eq!(is(&machine, 2), (SlotState::Drained, Activity::Retiring));
        machine.starter_ends();
        assert_eq!(is(&machine, 1), (SlotState::Drained, Activity::Idle));
        machine.wait(10);
        let waits = if quirks == QuirkMode::Reference { SlotState::Drained } else { SlotState::Unclaimed };
        assert_eq!((is(&machine, 1).0, is(&machine, 2).0), (waits, waits));
        machine.wait(60);
        assert_eq!((is(&machine, 1).0, is(&machine, 2).0), (SlotState::Unclaimed, SlotState::Unclaimed));
    }
}

#[test]
fn an_update_with_a_claimed_slot_starts_polling_without_a_job() {
    let lines = format!("{TWO}UPDATE_INTERVAL = 100\nPOLLING_INTERVAL = 2\nIS_OWNER = TotalLoadAvg == 1");
    for quirks in BOTH {
        let mut machine = Machine::with(&lines, quirks, None);
        machine.claim("slot1", "", 1800);
        machine.wait(90);
        machine.measure(1.0);
        machine.wait(6);
        assert_eq!(is(&machine, 1).0, SlotState::Claimed, "nobody looks before the update");
        machine.measure(0.0);
        machine.wait(10);
        machine.measure(1.0);
        machine.wait(4);
        assert_eq!(is(&machine, 1).0, SlotState::Owner, "a poll has seen it");
    }
}

#[test]
fn an_update_without_a_claimed_slot_stops_polling() {
    let lines = format!("{TWO}UPDATE_INTERVAL = 100\nPOLLING_INTERVAL = 30\nIS_OWNER = TotalLoadAvg == 1");
    for quirks in BOTH {
        let mut machine = Machine::with(&lines, quirks, None);
        machine.wait(85);
        machine.claim("slot1", "", 1800);
        machine.ask("slot1", ClaimCommand::Activate(Box::new(job(""))));
        machine.starter_ends();
        machine.ask("slot1", ClaimCommand::Release { waiting: false });
        machine.wait(20);
        machine.measure(1.0);
        machine.wait(60);
        assert_eq!(is(&machine, 1).0, SlotState::Unclaimed, "the poll after the update does not come");
    }
}

/// The timers of the execution point stop while it waits for the machine to wake up.
#[test]
fn hibernate_is_evaluated_one_interval_after_the_machine_wakes() {
    let lines = format!(
        "{TWO}HIBERNATE = \"S3\"\nHIBERNATE_CHECK_INTERVAL = 40\nHIBERNATION_OVERRIDE_WOL = True\nUPDATE_INTERVAL = 5000"
    );
    let mut machine = Machine::with(&lines, QuirkMode::Reference, None);
    machine.wait(75);
    machine.step(StartdEvent::Awake { failure: Some("it was away".to_owned()) });
    // The next poll finds no claimed slot.
    machine.wait(3);
    let wake = machine.point.next_wake().unwrap();
    let pause = wake.since(machine.now.monotonic()).as_secs();
    assert!((35..=38).contains(&pause), "{pause}");
}
