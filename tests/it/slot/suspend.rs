//! Tests of the commands `suspend` and `continue` (`command_suspend_claim`, `command_continue_claim`): the slots to which they
//! apply, and the effect of CONTINUE.

use std::process::Output;

use htc_hooks::quirks::QuirkMode;
use htc_hooks::slot::{ClaimCommand, SlotKey, StartdEvent, StarterSignal};

use crate::support::machine::{Machine, job};
use crate::support::point::Point;

const BOTH: [QuirkMode; 2] = [QuirkMode::Manual, QuirkMode::Reference];

/// The load of the machine determines whether SUSPEND (load 3) or CONTINUE (load 0) is true.
const POLICY: &str = "NUM_SLOTS_TYPE_1 = 1
SLOT_TYPE_1 = 100%
SLOT_TYPE_1_PARTITIONABLE = False
UPDATE_INTERVAL = 1
WANT_SUSPEND = True
SUSPEND = TotalLoadAvg == 3
CONTINUE = TotalLoadAvg == 0
MaxJobRetirementTime = 100
MachineMaxVacateTime = 5";

fn busy(quirks: QuirkMode) -> Machine {
    let mut machine = Machine::with(POLICY, quirks, None);
    machine.claim("slot1", "", 1800);
    machine.ask("slot1", ClaimCommand::Activate(Box::new(job(""))));
    assert_eq!(machine.take_states(), "Claimed/Idle Claimed/Busy");
    machine
}

fn asks(machine: &mut Machine, stop: bool) -> Option<String> {
    let slot = Some("slot1".to_owned());
    machine.warnings.clear();
    machine.step(if stop { StartdEvent::Suspend { slot } } else { StartdEvent::Continue { slot } });
    machine.warnings.pop()
}

fn load(machine: &mut Machine, load: f64) {
    machine.measure(load);
    machine.wait(2);
}

#[test]
fn a_retiring_job_can_be_suspended_and_retires_further() {
    for quirks in BOTH {
        let mut machine = busy(quirks);
        machine.step(StartdEvent::Vacate { slot: None, fast: false });
        assert_eq!(asks(&mut machine, true), None);
        assert_eq!(machine.take_states(), "Claimed/Retiring Claimed/Suspended");
        // CONTINUE is true, but has no effect.
        machine.wait(3);
        assert_eq!(machine.take_states(), "");
        assert_eq!(asks(&mut machine, false), None);
        assert_eq!(machine.take_states(), "Claimed/Busy Claimed/Retiring");
        assert_eq!(machine.signals, [StarterSignal::Suspend, StarterSignal::Continue]);
    }
}

#[test]
fn a_command_cannot_continue_a_job_that_policy_suspended() {
    for quirks in BOTH {
        let mut machine = busy(quirks);
        load(&mut machine, 3.0);
        assert_eq!(machine.take_states(), "Claimed/Suspended");
        let refused = asks(&mut machine, false).unwrap();
        assert_eq!(
            refused,
            "continue refused: its policy has suspended the job; it continues when CONTINUE is true"
        );
        assert_eq!(asks(&mut machine, true), None);
        load(&mut machine, 0.0);
        assert_eq!(machine.take_states(), "", "CONTINUE does not count");
        assert_eq!(asks(&mut machine, false), None);
        assert_eq!(machine.take_states(), "Claimed/Busy");
    }
}

#[test]
fn the_next_job_is_not_suspended_after_a_suspended_job() {
    for quirks in BOTH {
        let mut machine = busy(quirks);
        asks(&mut machine, true);
        machine.ask("slot1", ClaimCommand::Deactivate(htc_hooks::slot::Deactivation::Forcibly));
        machine.starter_ends();
        machine.ask("slot1", ClaimCommand::Activate(Box::new(job(""))));
        machine.take_states();
        load(&mut machine, 3.0);
        load(&mut machine, 0.0);
        let wanted = match quirks {
            QuirkMode::Manual => "Claimed/Suspended Claimed/Busy",
            // In `Resource::suspend_claim`, only continue_claim removes the mark.
            QuirkMode::Reference => "Claimed/Suspended",
        };
        assert_eq!(machine.take_states(), wanted);
    }
}

#[test]
fn a_slot_without_a_running_job_refuses_suspend_and_continue() {
    for quirks in BOTH {
        let mut machine = busy(quirks);
        let refused = asks(&mut machine, false).unwrap();
        assert_eq!(refused, "continue refused: the slot is Claimed/Busy: nothing is suspended");
        machine.step(StartdEvent::Vacate { slot: None, fast: true });
        assert_eq!(machine.take_states(), "Preempting/Killing");
        let refused = asks(&mut machine, true).unwrap();
        assert_eq!(
            refused,
            "suspend refused: the slot is Preempting/Killing: its job is already being vacated"
        );
        machine.starter_ends();
        let refused = asks(&mut machine, true).unwrap();
        assert_eq!(refused, "suspend refused: the slot is Unclaimed/Idle: it runs no job");
        machine.warnings.clear();
        machine.step(StartdEvent::Continue { slot: None });
        assert_eq!(machine.warnings, ["continue refused: no slot has a job that a command has suspended"]);
        machine.claim("slot1", "", 1800);
        machine.warnings.clear();
        machine.step(StartdEvent::Suspend { slot: None });
        assert_eq!(machine.warnings, ["suspend refused: no slot runs a job that can be suspended"]);
        assert!(machine.ad(SlotKey::from_number(1)).contains("Activity = \"Idle\""));
    }
}

fn says(output: &Output, status: i32, expected: &str) {
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!((output.status.code(), stderr.as_ref()), (Some(status), expected));
}

const JOB: &str = "ClusterId = 7\nProcId = 0\nCmd = \"/bin/true\"\nOwner = \"alice\"\nUser = \"alice@here\"\nRequestCpus = 1\n\
                   RequestMemory = 1\nRequestDisk = 1\n";

/// A command that does not apply to the slot is refused once, with the state of the slot.
#[test]
fn suspend_and_continue_report_if_there_is_nothing_to_do() {
    let point = Point::new();
    let control = point.path("control").display().to_string();
    let point = point
        // The starter ignores requests to end the job.
        .hook(
            "starter",
            "#!/bin/sh\ntrap '' TERM\ncat > /dev/null\n: > \"$HOME/up\"\nwhile :; do sleep 0.05; done\n",
        )
        .parameter("STARTD_JOB_HOOK_KEYWORD =")
        .arguments(["--control", &control]);
    let mut child = point.start();
    point.wait_for(&mut child, &[("event", "state"), ("state", "Unclaimed")]);
    std::fs::write(point.path("job.ad"), JOB).unwrap();
    let ad = point.path("job.ad").display().to_string();
    let refused = |verb: &str, reason: &str| format!("htc-slot-run: {verb} refused: {reason}\n");
    says(&point.ask(["suspend"]), 1, &refused("suspend", "no slot runs a job that can be suspended"));
    says(&point.ask(["vacate"]), 1, &refused("vacate", "no slot has a claim"));
    let nothing = refused("vacate", "slot1 is Unclaimed/Idle: there is nothing to vacate");
    says(&point.ask(["vacate", "slot1"]), 1, &nothing);
    says(&point.ask(["claim", "slot1", "--ads", &ad]), 0, "");
    let idle = "htc-slot-run: slot1 is Claimed/Idle: ";
    says(&point.ask(["hold", "slot1"]), 1, &format!("{idle}it runs no job\n"));
    says(
        &point.ask(["release-claim", "slot1", "--waiting"]),
        1,
        &format!("{idle}there is no claim to accept\n"),
    );
    says(&point.ask(["activate", "slot1", "--ads", &ad]), 0, "");
    crate::support::waiting::wait_until("the job is up", || point.path("up").exists());
    says(&point.ask(["suspend", "slot1"]), 0, "");
    point.wait_for(&mut child, &[("event", "state"), ("activity", "Suspended")]);
    let twice = "the slot is Claimed/Suspended: its job is already suspended";
    says(&point.ask(["suspend", "slot1"]), 1, &refused("suspend", twice));
    says(&point.ask(["suspend"]), 1, &refused("suspend", "no slot runs a job that can be suspended"));
    says(&point.ask(["continue", "slot1"]), 0, "");
    says(
        &point.ask(["continue", "slot1"]),
        1,
        &refused("continue", "the slot is Claimed/Busy: nothing is suspended"),
    );
    says(&point.ask(["vacate", "slot1"]), 0, "");
    point.wait_for(&mut child, &[("event", "state"), ("state", "Preempting")]);
    let preempting = "slot1 is Preempting/Vacating: ";
    for verb in ["suspend", "continue"] {
        let reason = match verb {
            "suspend" => "the slot is Preempting/Vacating: its job is already being vacated",
            _ => "the slot is Preempting/Vacating: nothing is suspended",
        };
        says(&point.ask([verb, "slot1"]), 1, &refused(verb, reason));
    }
    for verb in ["alive", "hold", "deactivate", "release-claim"] {
        says(
            &point.ask([verb, "slot1"]),
            1,
            &format!("htc-slot-run: {preempting}its claim is already ending\n"),
        );
    }
    says(
        &point.ask(["vacate", "slot1"]),
        1,
        &refused("vacate", &format!("{preempting}its job is already being vacated")),
    );
    says(&point.ask(["vacate", "slot1", "--fast"]), 0, "");
    says(&point.ask(["off", "--fast"]), 0, "htc-slot-run: the execution point is stopping\n");
    drop(point.end(child));
}

/// A startd of 25.14 makes the claim Suspended, then Busy, and accepts no job until the claim is released.
#[test]
fn a_claim_without_a_job_is_suspended_only_by_25_14() {
    let mut plain = Machine::with(POLICY, QuirkMode::Manual, None);
    plain.claim("slot1", "", 1800);
    assert!(
        asks(&mut plain, true).unwrap().contains("suspend refused: the slot is Claimed/Idle: it runs no job")
    );
    assert_eq!(plain.take_states(), "Claimed/Idle");
    let mut reference = Machine::with(POLICY, QuirkMode::Reference, None);
    reference.claim("slot1", "", 1800);
    assert_eq!(asks(&mut reference, true), None);
    assert_eq!(asks(&mut reference, false), None);
    assert_eq!(reference.take_states(), "Claimed/Idle Claimed/Suspended Claimed/Busy");
    reference.warnings.clear();
    reference.ask("slot1", ClaimCommand::Activate(Box::new(job(""))));
    assert!(reference.warnings[0].contains("activation refused"), "{:?}", reference.warnings);
    reference.step(StartdEvent::Vacate { slot: Some("slot1".to_owned()), fast: false });
    assert_eq!(reference.take_states(), "Claimed/Retiring Preempting/Vacating Owner/Idle Unclaimed/Idle");
}
