//! Tests of the sleep states that HIBERNATE of all slots requests, with a fake power plugin.

use crate::support::point::Point;

/// Plugin that records its arguments; the machine does not sleep.
const PLUGIN: &str = "#!/bin/sh\necho \"$*\" >> \"$(dirname \"$0\")/../out/power\"\n\
                      [ \"$1\" = ad ] && echo 'HibernationSupportedStates = \"S1,S3,S4\"'\nexit 0\n";

fn sleepy(hibernate: &str) -> Point {
    let point = Point::new().hook("power", PLUGIN);
    point
        .parameter("NUM_SLOTS_TYPE_1 = 2")
        .parameter("SLOT_TYPE_1 = 50%")
        .parameter("FetchWorkDelay = 300")
        .parameter("HIBERNATION_PLUGIN = $(CONFIG_ROOT)/hooks/power")
        .parameter("HIBERNATE_CHECK_INTERVAL = 1")
        .parameter(&format!("HIBERNATE = {hibernate}"))
}

/// "RAM" is S3 and "4" is S4, so that 25.14 selects S4.
#[test]
fn a_machine_sleeps_in_the_deepest_state_if_all_slots_agree() {
    let job = "ClusterId = 1\nProcId = 0\nCmd = \"/bin/true\"\nOwner = \"nobody\"\n";
    let point = sleepy("ifThenElse(SlotID == 1, \"RAM\", \"4\")")
        .parameter("HIBERNATION_OVERRIDE_WOL = True")
        .hook("starter", "#!/bin/sh\ncat > /dev/null\nexec sleep 1000\n")
        .job("1", job);
    let control = point.path("control").display().to_string();
    let point = point.arguments(["--control", &control, "--allow-hibernate"]);
    let mut child = point.start();
    point.wait_for(&mut child, &[("event", "warning"), ("reason", "this machine is about to enter S4")]);
    point.wait_for(&mut child, &[("event", "state"), ("reason", "the machine hibernates")]);
    let asked = || std::fs::read_to_string(point.path("out/power")).unwrap_or_default();
    let begun = std::time::Instant::now();
    while asked() != "ad\nset S4\n" {
        assert!(begun.elapsed() < crate::support::children::LONG, "{}", asked());
        std::thread::yield_now();
    }
    assert!(point.ask(["off", "--fast"]).status.success());
    assert_eq!(point.end(child).status, Some(1), "a job was killed");
}

#[test]
fn without_allow_hibernate_a_sleep_request_is_reported_once() {
    for (hibernate, parameter, expected) in [
        ("\"S3\"", "HIBERNATION_OVERRIDE_WOL = True", "use --allow-hibernate to let this machine sleep"),
        (
            "\"S5\"",
            "HIBERNATION_OVERRIDE_WOL = True",
            "is S5, which this machine does not support: it stays awake",
        ),
        ("\"mem\"", "HIBERNATION_OVERRIDE_WOL = False", "HIBERNATION_OVERRIDE_WOL = True lets it sleep"),
    ] {
        let point = sleepy(hibernate).parameter(parameter);
        let control = point.path("control").display().to_string();
        let point = point.arguments(["--control", &control]);
        let mut child = point.start();
        point.wait_for(&mut child, &[("event", "warning"), ("reason", expected)]);
        assert!(point.ask(["off"]).status.success());
        let run = point.end(child);
        assert_eq!(run.count(&[("event", "warning"), ("reason", expected)]), 1, "{}", run.stderr);
        assert_eq!(std::fs::read_to_string(point.path("out/power")).unwrap(), "ad\n", "{hibernate}");
    }
}

#[test]
fn one_slot_without_a_sleep_state_keeps_the_machine_awake() {
    let point = sleepy("ifThenElse(SlotID == 1, \"S3\", \"NONE\")")
        .parameter("HIBERNATION_OVERRIDE_WOL = True")
        .arguments(["--idle-exit", "3", "--allow-hibernate"]);
    let run = point.run();
    assert_eq!(
        run.count(&[("event", "warning"), ("reason", "this machine is about to")]),
        0,
        "{}",
        run.stderr
    );
    assert_eq!(std::fs::read_to_string(point.path("out/power")).unwrap(), "ad\n");
}
