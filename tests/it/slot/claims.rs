//! Tests of claims of schedds, latches and clauses of Requirements, with the state machine in virtual time.

use htc_hooks::process::Exit;
use htc_hooks::slot::{
    ClaimCommand, ClaimRequest, Deactivation, SlotKey, SlotNotice, StartdAction, StartdEvent,
};

use crate::support::machine::{Machine, job};

/// Tests transitions 6 and 8.
#[test]
fn a_matched_slot_without_a_claim_returns_after_match_timeout() {
    let mut machine = Machine::new("MATCH_TIMEOUT = 20");
    machine.ask("slot1", ClaimCommand::Match);
    machine.wait(18);
    assert_eq!(machine.take_states(), "Matched/Idle");
    machine.wait(4);
    assert_eq!(machine.take_states(), "Owner/Idle Unclaimed/Idle");
}

/// A refusal is what ends the command that asked with status 1.
#[test]
fn a_match_of_a_claimed_or_matched_slot_is_refused() {
    let mut machine = Machine::new("MATCH_TIMEOUT = 20");
    machine.ask("slot1", ClaimCommand::Match);
    assert_eq!(machine.refusals, Vec::<String>::new());
    machine.ask("slot1", ClaimCommand::Match);
    assert_eq!(machine.refusals, ["a match in state Matched is ignored"]);
}

/// Tests transitions 5, 11 and 12. A starter with a shadow cleans up before it exits.
#[test]
fn a_claim_runs_one_job_after_the_other_until_its_schedd_releases_it() {
    let mut machine =
        Machine::new("SLOT_TYPE_1_PARTITIONABLE = False\nSLOT_TYPE_1 = 100%\nNUM_SLOTS_TYPE_1 = 1");
    machine.claim("slot1", "", 1800);
    for _ in 0..2 {
        machine.ask("slot1", ClaimCommand::Activate(Box::new(job(""))));
        machine.starter_ends();
    }
    machine.ask("slot1", ClaimCommand::Release { waiting: false });
    let one = "Claimed/Busy Claimed/Cleaning Claimed/Idle";
    assert_eq!(
        machine.take_states(),
        format!("Claimed/Idle {one} {one} Preempting/Killing Owner/Idle Unclaimed/Idle")
    );
    let ad = machine.ad(SlotKey::from_number(1));
    assert!(ad.contains("\nClaimRequests = 1\n") && ad.contains("\nActivationRequests = 2\n"), "{ad}");
}

/// In `Resource::kill_claim`, the state changes when the starter has exited.
#[test]
fn a_claim_released_while_its_starter_cleans_up_ends_with_the_starter() {
    let mut machine = Machine::new("NUM_SLOTS = 1\nNUM_SLOTS_TYPE_1 = 1\nSLOT_TYPE_1_PARTITIONABLE = False");
    machine.claim("slot1", "", 1800);
    machine.ask("slot1", ClaimCommand::Activate(Box::new(job(""))));
    let starter = machine.starter.unwrap();
    machine.step(StartdEvent::FinalUpdate { starter });
    machine.take_states();
    machine.ask("slot1", ClaimCommand::Release { waiting: false });
    assert_eq!(machine.take_states(), "");
    machine.step(StartdEvent::StarterExited { starter, exit: Exit::Code(0) });
    assert_eq!(machine.take_states(), "Preempting/Vacating Owner/Idle Unclaimed/Idle");
}

/// Tests transitions 13, 19 and 23. The waiting claim is published in the slot ad.
#[test]
fn a_claim_that_rank_prefers_waits_for_the_current_one_to_retire() {
    let lines = "SLOT_TYPE_1_PARTITIONABLE = False\nNUM_SLOTS_TYPE_1 = 1\nRANK = TARGET.Weight\n\
                 MaxJobRetirementTime = 100\nMachineMaxVacateTime = 10";
    let mut machine = Machine::new(lines);
    machine.claim("slot1", "Weight = 5", 1800);
    machine.ask("slot1", ClaimCommand::Activate(Box::new(job("Weight = 5"))));
    machine.claim("slot1", "Weight = 1", 1800);
    assert!(
        machine.warnings.iter().any(|text| text.contains("rank 1 is less than 5")),
        "{:?}",
        machine.warnings
    );
    assert_eq!(machine.take_states(), "Claimed/Idle Claimed/Busy");
    machine.claim("slot1", "Weight = 9", 1800);
    assert_eq!(machine.take_states(), "Claimed/Retiring");
    machine.wait(1);
    assert!(machine.ad(SlotKey::from_number(1)).contains("\nPreemptingOwner = \"alice\"\n"));
    machine.ask("slot1", ClaimCommand::Release { waiting: true });
    assert_eq!(machine.take_states(), "Claimed/Busy");
    machine.claim("slot1", "Weight = 9", 1800);
    machine.wait(95);
    assert_eq!(machine.take_states(), "Claimed/Retiring Preempting/Vacating");
    let starter = machine.starter.unwrap();
    machine.step(StartdEvent::StarterExited { starter, exit: Exit::Code(0) });
    assert_eq!(machine.take_states(), "Claimed/Idle");
    assert!(machine.ad(SlotKey::from_number(1)).contains("\nRemoteOwner = \"alice@here\"\n"));
}

#[test]
fn an_idle_claim_ends_with_its_lease_unless_its_schedd_is_alive() {
    let mut machine = Machine::new("NUM_SLOTS_TYPE_1 = 1\nSLOT_TYPE_1_PARTITIONABLE = False");
    machine.claim("slot1", "", 30);
    machine.wait(25);
    machine.ask("slot1", ClaimCommand::Alive);
    machine.wait(25);
    assert_eq!(machine.take_states(), "Claimed/Idle");
    machine.wait(10);
    assert_eq!(machine.take_states(), "Preempting/Killing Owner/Idle Unclaimed/Idle");
}

#[test]
fn a_partitionable_slot_gives_a_claim_a_dynamic_one_and_takes_it_back() {
    let mut machine =
        Machine::new("SLOT_TYPE_1_PARTITIONABLE = True\nSLOT_TYPE_1 = 100%\nNUM_SLOTS_TYPE_1 = 1");
    machine.claim("slot1", "RequestCpus = 3", 1800);
    machine.claim("slot1", "RequestCpus = 3", 1800);
    assert_eq!(machine.take_states(), "Claimed/Idle Owner/Idle Unclaimed/Idle");
    assert!(machine.ad(SlotKey::from_number(1)).contains("\nCpus = 1\n"));
    machine.ask("slot1_1", ClaimCommand::Activate(Box::new(job("RequestCpus = 3"))));
    machine.ask("slot1_1", ClaimCommand::Deactivate(Deactivation::Graceful));
    machine.starter_ends();
    machine.ask("slot1_1", ClaimCommand::Release { waiting: false });
    assert!(machine.ad(SlotKey::from_number(1)).contains("\nCpus = 4\n"));
}

/// Tests `Resource::evaluate_latches`.
#[test]
fn a_latch_has_the_value_and_the_time_of_the_last_change() {
    let mut machine =
        Machine::new("STARTD_LATCH_EXPRS = Late\nLate = time() >= 1800000010\nUPDATE_INTERVAL = 2");
    machine.wait(6);
    let ad = machine.ad(SlotKey::from_number(1));
    assert!(ad.contains("\nLateValue = 0\n"), "{ad}");
    machine.wait(10);
    let ad = machine.ad(SlotKey::from_number(1));
    assert!(ad.contains("\nLateValue = 1\n") && ad.contains("\nLateTime = 180000001"), "{ad}");
}

/// In `Reqexp.cpp`, clauses are combined with START in capitals, and dynamic slots have separate clauses.
#[test]
fn clauses_of_requirements_and_health_checks_are_in_the_ads_of_both_kinds_of_slot() {
    let lines = "SLOT_TYPE_1_PARTITIONABLE = True\nSLOT_TYPE_1 = 100%\nNUM_SLOTS_TYPE_1 = 1\nA = True\nP = True\nD = True\n\
                 SLOT_REQUIREMENTS_CLAUSES = A\nPSLOT_REQUIREMENTS_CLAUSES = P\nDSLOT_REQUIREMENTS_CLAUSES = D\n\
                 STARTD_HEALTH_EXPRS = A, P";
    let mut machine = Machine::new(lines);
    machine.claim("slot1", "", 1800);
    let (parent, child) = (machine.ad(SlotKey::from_number(1)), machine.ad(SlotKey { number: 1, sub: 1 }));
    let whole = "\nRequirements = Healthy && A && START && WithinResourceLimits && ";
    assert!(
        parent.contains(&format!("{whole}P\n")) && child.contains(&format!("{whole}D\n")),
        "{parent}{child}"
    );
    assert!(child.contains("\nHealthFactor = sum(HealthExprs) / 2.0\n"), "{child}");
}

#[test]
fn copied_slot_attributes_are_values_if_configured() {
    for (parameter, value) in [("False", "Cpus * 2"), ("True", "8")] {
        let lines = format!(
            "STARTD_ATTRS = Twice\nTwice = Cpus * 2\nSTARTD_SLOT_ATTRS = Twice\nSTARTD_EVAL_SLOT_ATTRS = {parameter}"
        );
        let machine = Machine::new(&lines);
        assert!(
            machine.ad(SlotKey::from_number(1)).contains(&format!("\nslot1_Twice = {value}\n")),
            "{parameter}"
        );
    }
}

#[test]
fn a_refused_claim_names_the_missing_resource_or_the_clause() {
    let mut machine = Machine::new("DSLOT_REQUIREMENTS_CLAUSES = Small\nSmall = TARGET.Size =!= \"big\"");
    for (lines, expected) in [
        (
            "RequestMemory = 5000",
            "claim refused: WithinResourceLimits is not true for this job: TARGET.RequestMemory <= MY.Memory is false \
             (TARGET.RequestMemory = 5000, MY.Memory = 1000)",
        ),
        (
            "RequestCpus = 9",
            "claim refused: WithinResourceLimits is not true for this job: TARGET.RequestCpus <= MY.Cpus is false \
             (TARGET.RequestCpus = 9, MY.Cpus = 4)",
        ),
        (
            "Size = \"big\"",
            "claim refused: the dynamic slot refuses the job: Small is not true for this job: TARGET.Size =!= \"big\" \
             is false (TARGET.Size = \"big\")",
        ),
    ] {
        machine.claim("slot1", lines, 1800);
        assert_eq!(machine.warnings.pop().as_deref(), Some(expected));
        assert_eq!(machine.point.slots().count(), 1, "{lines}");
    }
    let rounds = "MODIFY_REQUEST_EXPR_REQUESTMEMORY = quantize(RequestMemory, {1024})\nMUST_MODIFY_REQUEST_EXPRS = true";
    let mut machine = Machine::new(rounds);
    machine.claim("slot1", "RequestMemory = 600", 1800);
    let said = machine.warnings.pop().unwrap();
    assert!(
        said.starts_with("claim refused: the job's requests are rounded: WithinResourceLimits is not true")
            && said.ends_with("(TARGET.RequestMemory = 1024, MY.Memory = 1000)"),
        "{said}"
    );
}

#[test]
fn a_claim_of_equal_rank_is_not_reported_as_higher() {
    let mut machine = Machine::new(
        "NUM_SLOTS_TYPE_1 = 1\nSLOT_TYPE_1 = 100%\nSLOT_TYPE_1_PARTITIONABLE = False\nRANK = TARGET.Prio\n\
         MaxJobRetirementTime = 100\nMachineMaxVacateTime = 5",
    );
    let mut reasons = Vec::new();
    let mut claim = |machine: &mut Machine, prio: u32| {
        let request = ClaimRequest {
            job: job(&format!("Prio = {prio}")),
            lease: 1800,
            schedd: "s".into(),
            host: "h".into(),
            preempts: Vec::new(),
        };
        let command = ClaimCommand::Request(Box::new(request));
        for action in machine.point.step(machine.now, StartdEvent::Command { slot: "slot1".into(), command })
        {
            match action {
                StartdAction::Notify(SlotNotice::StateChanged { reason, .. }) => {
                    reasons.push(reason.to_string())
                }
                StartdAction::Notify(SlotNotice::Claim { reason, .. }) => reasons.push(reason),
                _ => {}
            }
        }
        machine.point.waiting_claim_text("SLOT1")
    };
    assert_eq!(claim(&mut machine, 1), None);
    machine.ask("slot1", ClaimCommand::Activate(Box::new(job("Prio = 1\nClusterId = 7\nProcId = 0"))));
    let waits = claim(&mut machine, 1).unwrap();
    assert_eq!(
        waits,
        "slot1: the claim waits for the end of the current claim: its rank 1 equals that of the current claim, \
         as for preemption by user priority; the slot is Claimed/Retiring with job 7.0, which has 100 s of retirement time left"
    );
    assert!(claim(&mut machine, 5).unwrap().contains("its rank 5 is higher than 1"));
    assert!(reasons.contains(&"retiring for a claim of the same rank".to_owned()), "{reasons:?}");
    assert!(reasons.contains(&"a claim of higher rank replaces it".to_owned()), "{reasons:?}");
}
