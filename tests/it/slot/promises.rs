//! Tests of statements in the manual that are not true for 25.14: by default, these programs follow the manual and print a
//! warning; with `--quirks reference`, they behave like 25.14.

use htc_hooks::quirks::QuirkMode;
use htc_hooks::slot::{ClaimCommand, SlotKey, StartdEvent};

use crate::support::machine::{Machine, job};
use crate::support::point::Point;

/// Creates a machine whose slot runs a job.
fn busy(policy: &str, quirks: QuirkMode, of_job: &str) -> Machine {
    let one =
        "NUM_SLOTS_TYPE_1 = 1\nSLOT_TYPE_1 = 100%\nSLOT_TYPE_1_PARTITIONABLE = False\nUPDATE_INTERVAL = 1\n";
    let mut machine = Machine::with(&format!("{one}{policy}"), quirks, None);
    machine.claim("slot1", of_job, 1800);
    machine.ask("slot1", ClaimCommand::Activate(Box::new(job(of_job))));
    assert_eq!(machine.take_states(), "Claimed/Idle Claimed/Busy");
    machine
}

fn warns(machine: &Machine, quirk: &str) -> bool {
    machine.warnings.iter().any(|warning| warning.contains(quirk))
}

/// Regression test: the slots were partitionable, without a message.
#[test]
fn num_slots_alone_creates_static_slots() {
    let machine = Machine::with("NUM_SLOTS = 3", QuirkMode::Manual, None);
    for number in 1..=3 {
        assert!(machine.ad(SlotKey::from_number(number)).contains("SlotType = \"Static\"\n"));
    }
    assert!(warns(&machine, "num-slots-partitionable"), "{:?}", machine.warnings);
    let machine = Machine::with("NUM_SLOTS = 3", QuirkMode::Reference, None);
    assert!(machine.ad(SlotKey::from_number(3)).contains("SlotType = \"Partitionable\"\n"));
    assert!(!warns(&machine, "num-slots-partitionable"), "{:?}", machine.warnings);
    for quirks in [QuirkMode::Manual, QuirkMode::Reference] {
        let said = Machine::with("NUM_SLOTS = 2\nSLOT_TYPE_0_PARTITIONABLE = True", quirks, None);
        assert!(said.ad(SlotKey::from_number(2)).contains("SlotType = \"Partitionable\"\n"));
        let default = Machine::with("", quirks, None);
        assert!(default.ad(SlotKey::from_number(1)).contains("SlotType = \"Partitionable\"\n"));
        assert!(!warns(&said, "num-slots") && !warns(&default, "num-slots"));
    }
}

/// SUSPEND is that of the manual's desktop policy. Regression test: it was undefined, so that nothing was ever suspended.
#[test]
fn a_policy_can_use_the_busy_time_of_the_processor() {
    let policy = "CPUBusy = TotalLoadAvg >= 3\nWANT_SUSPEND = True\nCONTINUE = CPUIsBusy == False\nPREEMPT = False\n\
                  SUSPEND = CPUBusyTime > 120\n";
    let mut machine = busy(policy, QuirkMode::Manual, "");
    assert!(warns(&machine, "cpu-busy-time-missing"), "{:?}", machine.warnings);
    machine.measure(3.5);
    machine.wait(115);
    assert_eq!(machine.take_states(), "");
    machine.wait(15);
    assert_eq!(machine.take_states(), "Claimed/Suspended");
    let ad = machine.ad(SlotKey::from_number(1));
    assert!(ad.contains("CpuIsBusy = true\n") && ad.contains("CpuBusyTime = 1"), "{ad}");
    machine.measure(0.0);
    machine.wait(2);
    assert_eq!(machine.take_states(), "Claimed/Busy");
    let mut machine = busy(policy, QuirkMode::Reference, "");
    machine.measure(3.5);
    machine.wait(300);
    assert_eq!(machine.take_states(), "");
    assert!(!machine.ad(SlotKey::from_number(1)).contains("CpuIsBusy"));
    let unread = busy("", QuirkMode::Manual, "");
    assert!(!unread.ad(SlotKey::from_number(1)).contains("CpuIsBusy"));
}

/// Regression test: the job was killed, and the slot stayed in Vacating.
#[test]
fn a_slot_that_vacates_for_too_long_goes_to_killing() {
    let policy = "MachineMaxVacateTime = 5\nMaxJobRetirementTime = 0\n";
    for (quirks, expected) in [(QuirkMode::Manual, "Preempting/Killing"), (QuirkMode::Reference, "")] {
        let mut machine = busy(policy, quirks, "");
        machine.step(StartdEvent::Vacate { slot: None, fast: false });
        machine.wait(3);
        assert_eq!(machine.take_states(), "Claimed/Retiring Preempting/Vacating");
        machine.wait(4);
        assert_eq!(machine.take_states(), expected);
        machine.starter_ends();
        assert!(machine.take_states().starts_with("Owner/Idle"));
    }
}

/// Regression test: the job ran without an end.
#[test]
fn a_busy_claim_without_renewal_ends_with_its_lease() {
    let lease = "JobLeaseDuration = 40";
    let mut machine = busy("", QuirkMode::Manual, lease);
    for _ in 0..5 {
        machine.wait(30);
        machine.ask("slot1", ClaimCommand::Alive);
    }
    assert_eq!(machine.take_states(), "");
    machine.wait(50);
    assert_eq!(machine.take_states(), "Preempting/Killing");
    let mut machine = busy("", QuirkMode::Reference, lease);
    machine.wait(5000);
    assert_eq!(machine.take_states(), "");
}

/// Regression test: the variable was missing in the environment of cron jobs, without a message.
#[test]
fn cron_jobs_get_the_config_val_program_of_their_manager() {
    for (quirks, expected) in [("none", "/opt/ask"), ("reference", "")] {
        let mut point = Point::new()
            .hook(
                "cron",
                "#!/bin/sh\necho \"$STARTD_CRON_CONFIG_VAL\" > \"$HOME/out/asked\"\necho 'Go = true'\n",
            )
            .parameter("START = Go =?= True")
            .parameter("UPDATE_INTERVAL = 1")
            .parameter("STARTD_CRON_JOBLIST = TEMP")
            .parameter("STARTD_CRON_CONFIG_VAL = /opt/ask")
            .parameter("STARTD_CRON_TEMP_EXECUTABLE = $(CONFIG_ROOT)/hooks/cron")
            .parameter("STARTD_CRON_TEMP_MODE = OneShot")
            .job("1", "ClusterId = 1\nProcId = 0\nCmd = \"/bin/true\"\nOwner = \"nobody\"\n");
        let words = ["--max-jobs", "1", "--timeout", "60", "--quirks", quirks];
        point.arguments = words.map(str::to_owned).to_vec();
        let run = point.run();
        assert_eq!(
            std::fs::read_to_string(point.path("out/asked")).unwrap().trim(),
            expected,
            "{}",
            run.stderr
        );
        let is_told = run.stderr.contains("STARTD_CRON_CONFIG_VAL is passed to cron jobs; in HTCondor 25.14");
        assert_eq!(is_told, quirks == "none", "{}", run.stderr);
    }
}
