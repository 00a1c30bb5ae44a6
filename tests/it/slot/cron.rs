//! Tests of cron jobs of the execution point: effects of their output on ads and policy, and handling of faulty jobs.

use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::support::point::{Point, is};

const JOB: &str = "ClusterId = 1\nProcId = 0\nCmd = \"/bin/true\"\nOwner = \"nobody\"\n";

/// START waits for the output of a cron job. The ads that hooks get contain this output, and each slot has its own part of it.
#[test]
fn cron_output_is_in_the_ads_and_in_policy() {
    let cron = "#!/bin/sh\nsleep 0.2\necho 'Room = 7'\necho 'SlotId = 2'\necho '- second'\necho 'this is bad'\n\
                echo 'Go = true'\necho 'ConsoleIdle = 5'\necho 'out of cheese' >&2\nexit 3\n";
    let point = Point::new()
        .job("1", JOB)
        .parameter("NUM_SLOTS_TYPE_1 = 2")
        .parameter("SLOT_TYPE_1 = 50%")
        .parameter("START = Go =?= True && Room =?= 7 && ConsoleIdle == 5")
        .hook("cron", cron)
        .parameter("STARTD_CRON_JOBLIST = TEMP")
        .parameter("STARTD_CRON_TEMP_EXECUTABLE = $(CONFIG_ROOT)/hooks/cron")
        .parameter("STARTD_CRON_TEMP_MODE = OneShot")
        .arguments(["--max-jobs", "1", "--timeout", "60"]);
    let run = point.run();
    assert_eq!(run.status, Some(0), "{}", run.stderr);
    assert_eq!(
        run.count(&[("event", "job"), ("slot", "slot2"), ("verdict", "succeeded")]),
        1,
        "{}",
        run.stderr
    );
    let reply = point.recorded_files("reply.").into_iter().find(|text| text.contains("-----")).unwrap();
    for line in ["\nRoom = 7\n", "\nGo = true\n", "\nConsoleIdle = 5\n", "\nLastUpdate = "] {
        assert!(reply.contains(line), "{line:?} is not in {reply}");
    }
    assert_eq!(run.count(&[("event", "cron-start"), ("cron", "TEMP")]), 1);
    assert_eq!(run.count(&[("event", "cron-end"), ("exit", "exited 3")]), 1);
    assert_eq!(run.count(&[("event", "cron-stderr"), ("reason", "out of cheese")]), 1);
    assert_eq!(run.count(&[("event", "cron-published"), ("reason", "TEMP.second: 3 attributes")]), 1);
    let expected = "Can't insert 'this is bad' into 'TEMP' ClassAd";
    assert_eq!(run.count(&[("event", "cron-failed"), ("reason", expected)]), 1, "{}", run.stderr);
}

/// The output of one job changes, one cannot be executed, and one does not end: the slots are not affected.
#[test]
fn bad_cron_jobs_block_nothing_and_are_killed_at_the_end() {
    let once = "#!/bin/sh\nif [ -e \"$HOME/out/ran\" ]; then echo 'B = 2'; else echo 'A = 1'; : > \"$HOME/out/ran\"; fi\n";
    let endless = "#!/bin/sh\necho $$ > \"$HOME/out/endless\"\nyes 'Line = \"of many\"'\n";
    let mut point = Point::new()
        .parameter("START = True")
        .hook("once", once)
        .hook("endless", endless)
        .parameter("STARTD_CRON_MAX_JOB_LOAD = 1")
        .parameter("STARTD_CRON_JOBLIST = ONCE, NONE, ENDLESS")
        .arguments([]);
    for (name, file) in [("ONCE", "once"), ("NONE", "missing"), ("ENDLESS", "endless")] {
        point = point
            .parameter(&format!("STARTD_CRON_{name}_EXECUTABLE = $(CONFIG_ROOT)/hooks/{file}"))
            .parameter(&format!("STARTD_CRON_{name}_PERIOD = 1"));
    }
    let mut child = point.start();
    point.wait_for(&mut child, &[("event", "cron-failed"), ("cron", "NONE"), ("reason", "missing")]);
    point.wait_for(&mut child, &[("cron", "ENDLESS"), ("reason", "a block of more than 4 MiB")]);
    point.wait_for(&mut child, &[("event", "cron-published"), ("reason", "ONCE: 2 attributes")]);
    let published = |point: &Point| {
        let told = [("event", "cron-published"), ("cron", "ONCE")];
        point.events().iter().filter(|event| is(event, &told)).count()
    };
    while published(&point) < 2 {
        std::thread::sleep(Duration::from_millis(20));
    }
    point.wait_for(&mut child, &[("event", "verdict"), ("verdict", "no work")]);
    kill(Pid::from_raw(i32::try_from(child.id()).unwrap()), Signal::SIGTERM).unwrap();
    let run = point.end(child);
    assert_eq!(run.status, Some(0), "{}", run.stderr);
    let pid: i32 = std::fs::read_to_string(point.path("out/endless")).unwrap().trim().parse().unwrap();
    assert!(!crate::support::children::is_alive(pid));
    assert!(run.stderr.contains("cron-stale-attributes"), "{}", run.stderr);
}

/// Policy uses the sums of a resource monitor, and averages are sent. A job is charged from its first sample on.
#[test]
fn sums_of_a_resource_monitor_are_sent_as_averages() {
    let monitor = "#!/bin/sh\nn=$(cat \"$HOME/out/n\" 2>/dev/null || echo 0)\nn=$((n + 10))\necho $n > \"$HOME/out/n\"\n\
                   echo \"UptimeTOKENSSeconds = $n\"\n";
    let fetch = "#!/bin/sh\ncat > \"$HOME/out/slot.$$\"\ngrep -q '^Activity = \"Busy\"' \"$HOME/out/slot.$$\" && exit 0\n\
                 for file in \"$HOME\"/queue/*; do\n  [ -e \"$file\" ] || exit 0\n  mv \"$file\" \"$HOME/taken/\"\n  \
                 exec cat \"$HOME/taken/${file##*/}\"\ndone\n";
    let starter = "#!/bin/sh\ncat > /dev/null\n\
                   until grep -q '^TOKENSAverageUsage' \"$HOME\"/out/slot.*; do sleep 0.05; done\n";
    // A job that was fetched before the first sample is offered again.
    let reply = "#!/bin/sh\ncat > /dev/null\n[ $1 = accept ] || mv \"$HOME/taken/1\" \"$HOME/queue/\"\n";
    let point = Point::new()
        .job("1", JOB)
        .hook("reply", reply)
        .parameter("START = UptimeTOKENSSeconds > 0")
        .hook("monitor", monitor)
        .hook("fetch", fetch)
        .hook("starter", starter)
        .parameter("STARTD_CRON_JOBLIST = MON")
        .parameter("STARTD_CRON_MON_EXECUTABLE = $(CONFIG_ROOT)/hooks/monitor")
        .parameter("STARTD_CRON_MON_MODE = WaitForExit")
        .parameter("STARTD_CRON_MON_PERIOD = 1")
        .parameter("STARTD_CRON_MON_METRICS = SUM:TOKENS")
        .arguments(["--idle-exit", "5", "--timeout", "60"]);
    let run = point.run();
    assert_eq!(run.status, Some(0), "{}", run.stderr);
    let ads = point.recorded_files("slot.");
    let busy = ads.iter().find(|ad| ad.contains("\nTOKENSAverageUsage = "));
    let busy = busy.unwrap_or_else(|| panic!("the job was never charged: {}", run.stderr));
    assert!(busy.contains("Activity = \"Busy\"") && busy.contains("\nDeviceTOKENSAverageUsage = "), "{busy}");
    assert!(!busy.contains("\nUptimeTOKENSSeconds = "), "{busy}");
}
