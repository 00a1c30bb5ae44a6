//! Tests of slot types with SLOT_TYPE_<n>_BACKFILL: their slots are in a second copy of the machine, and share resources with the
//! other slots.

use htc_hooks::quirks::QuirkMode;
use htc_hooks::slot::{ClaimCommand, SlotKey};

use crate::support::machine::{Machine, job};

const TYPES: &str = "MACHINE_RESOURCE_Cards = A, B\nSLOT_TYPE_1 = 100%\nSLOT_TYPE_1_PARTITIONABLE = True\n\
                     NUM_SLOTS_TYPE_1 = 1\nSLOT_TYPE_2 = 100%\nSLOT_TYPE_2_PARTITIONABLE = True\n\
                     SLOT_TYPE_2_BACKFILL = True\nNUM_SLOTS_TYPE_2 = 1\nUPDATE_INTERVAL = 2\n";

fn has(machine: &Machine, key: SlotKey, lines: &[&str]) {
    let ad = machine.ad(key);
    for line in lines {
        assert!(ad.contains(&format!("\n{line}\n")), "{line}: {ad}");
    }
}

/// Runs a job with this number of processors and cards in a new dynamic slot, and returns the slot.
fn runs(machine: &mut Machine, slot: u32, cpus: u32, cards: u32) -> SlotKey {
    let lines = format!("RequestCpus = {cpus}\nRequestCards = {cards}");
    machine.claim(&format!("slot{slot}"), &lines, 1800);
    machine.ask(&format!("slot{slot}_1"), ClaimCommand::Activate(Box::new(job(&lines))));
    machine.wait(2);
    SlotKey { number: slot, sub: 1 }
}

const CONFLICT: &str = "ResourceConflict = \"Cpus,Cards,B\"";

#[test]
fn a_backfill_type_shares_the_whole_machine_and_gets_the_last_devices() {
    let machine = Machine::new(TYPES);
    has(&machine, SlotKey::from_number(1), &["Cpus = 4", "Memory = 1000", "AssignedCards = \"A,B\""]);
    assert!(!machine.ad(SlotKey::from_number(1)).contains("BackfillSlot"));
    let second = ["BackfillSlot = true", "Cpus = 4", "Memory = 1000", "AssignedCards = \"B,A\""];
    has(&machine, SlotKey::from_number(2), &second);
    has(&machine, SlotKey::from_number(2), &["AvailableCards = { Cards_A,Cards_B }", "TotalSlots = 2"]);
}

#[test]
fn resources_in_use_are_subtracted_and_conflicts_published() {
    let mut machine = Machine::with(TYPES, QuirkMode::Manual, None);
    let second = runs(&mut machine, 2, 3, 1);
    has(&machine, second, &["Cpus = 3", "AssignedCards = \"B\"", "AvailableCards = { Cards_B }"]);
    assert!(!machine.ad(second).contains("ResourceConflict"));
    has(&machine, SlotKey::from_number(1), &["Cpus = 4", "Cards = 2"]);
    let first = runs(&mut machine, 1, 2, 2);
    has(&machine, first, &["Cpus = 2", "AssignedCards = \"A,B\"", "Cards = 2"]);
    has(&machine, second, &["Cpus = 3", "Cards = 0", "AvailableCards = {  }", CONFLICT]);
    has(
        &machine,
        SlotKey::from_number(2),
        &["Cpus = 0", "Cards = 0", "Memory = 744", "AvailableCards = {  }"],
    );
    // A job gets no resources that the slot cannot offer.
    machine.claim("slot2", "RequestCpus = 1", 1800);
    assert_eq!(
        machine.point.slots().filter(|(key, ..)| key.number == 2).count(),
        2,
        "{:?}",
        machine.warnings
    );
}

/// 25.14 continues to publish the conflict when the other slot's job has ended.
#[test]
fn a_conflict_ends_with_the_other_slots_job_but_not_in_25_14() {
    for (quirks, left) in
        [(QuirkMode::Manual, None), (QuirkMode::Reference, Some("ResourceConflict = \"Cpus,Cards\""))]
    {
        let mut machine = Machine::with(TYPES, quirks, None);
        let second = runs(&mut machine, 2, 3, 1);
        runs(&mut machine, 1, 2, 2);
        has(&machine, second, &[CONFLICT]);
        machine.starter_ends();
        machine.ask("slot1_1", ClaimCommand::Release { waiting: false });
        machine.wait(3);
        has(&machine, second, &["Cards = 1", "AvailableCards = { Cards_B }"]);
        match left {
            Some(line) => has(&machine, second, &[line]),
            None => assert!(!machine.ad(second).contains("ResourceConflict")),
        }
        has(&machine, SlotKey::from_number(2), &["Cpus = 1", "Cards = 1"]);
    }
}

/// A conflict has an effect only on a PREEMPT that refers to it.
#[test]
fn preempt_may_evict_a_backfill_job_because_of_a_conflict() {
    let mut machine = Machine::new(&format!(
        "{TYPES}SLOT_TYPE_2_PREEMPT = MY.ResourceConflict =!= undefined\nMaxJobRetirementTime = 0\n"
    ));
    runs(&mut machine, 2, 3, 1);
    machine.take_states();
    runs(&mut machine, 1, 2, 2);
    machine.wait(3);
    let went = machine.take_states();
    assert!(went.contains("Preempting/Vacating"), "{went}");
}

#[test]
fn a_claimed_static_slot_does_not_conflict_with_itself() {
    let types = "SLOT_TYPE_1 = 50%\nSLOT_TYPE_1_PARTITIONABLE = False\nNUM_SLOTS_TYPE_1 = 2\nSLOT_TYPE_2 = 100%\n\
                 SLOT_TYPE_2_PARTITIONABLE = True\nSLOT_TYPE_2_BACKFILL = True\nNUM_SLOTS_TYPE_2 = 1\n";
    for (quirks, counts_twice) in [(QuirkMode::Manual, false), (QuirkMode::Reference, true)] {
        let mut machine = Machine::with(types, quirks, None);
        machine.claim("slot1", "", 1800);
        machine.claim("slot3", "RequestCpus = 2", 1800);
        let ad = machine.ad(SlotKey { number: 3, sub: 1 });
        assert_eq!(ad.contains("ResourceConflict"), counts_twice, "{ad}");
        machine.claim("slot2", "", 1800);
        has(&machine, SlotKey { number: 3, sub: 1 }, &["ResourceConflict = \"Cpus,Memory,Disk\""]);
    }
}
