//! The ads of slots as the verb `ads` prints them: what machine and starter add to them.

use std::process::Output;

use super::point::Point;
use super::sandbox::write_executable;

/// Runs `htc-slot-run ads` on one slot, with these lines in its configuration.
fn ads(point: &Point, arguments: &[&str]) -> Output {
    let mut command = point.command();
    command.arg("ads").args(arguments).output().unwrap()
}

fn text(output: &Output) -> (String, String) {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (text(&output.stdout), text(&output.stderr))
}

/// `init_machine_resources`: the knob holds the arguments of the program that looks for GPUs.
#[test]
fn without_a_search_for_gpus_the_slots_have_no_such_resource() {
    for (line, has, warns) in [
        ("", true, false),
        ("STARTD_DETECT_GPUS =", false, false),
        ("STARTD_DETECT_GPUS = False", false, false),
        ("STARTD_DETECT_GPUS = 0", false, false),
        ("STARTD_DETECT_GPUS = true", false, true),
        ("STARTD_DETECT_GPUS =\nMACHINE_RESOURCE_GPUS = 2", true, false),
        ("MACHINE_RESOURCE_NAMES = Foo\nMACHINE_RESOURCE_FOO = 3", false, false),
        ("MACHINE_RESOURCE_NAMES = Foo GPUs\nMACHINE_RESOURCE_FOO = 3", true, false),
    ] {
        let point = Point::new().knob(line).arguments([]);
        let output = ads(&point, &[]);
        let (stdout, stderr) = text(&output);
        assert_eq!(output.status.code(), Some(0), "{line}: {stderr}");
        let stdout = stdout.to_ascii_lowercase();
        assert_eq!(stdout.contains("\ntotalgpus = "), has, "{line}: {stdout}");
        assert_eq!(stdout.contains("detectedgpus"), has, "{line}: {stdout}");
        assert_eq!(stdout.contains("target.requestgpus"), has, "{line}: {stdout}");
        assert_eq!(stderr.contains("condor_gpu_discovery"), warns, "{line}: {stderr}");
    }
}

/// `Starter::config`: what STARTER prints when it is called with `-classad`, all of it or nothing.
#[test]
fn another_starter_tells_itself_what_it_can_do() {
    for (program, present, absent) in [
        (
            "#!/bin/sh\n[ \"$*\" = -classad ] || exit\necho 'HasZebra = True'\necho 'hasfoo = 4'\necho 'Version = \"1\"'\n\
             echo 'MappingMethod = \"Copy\"'\n",
            vec![
                "HasZebra = true",
                "StarterAbilityList = \"hasfoo,HasZebra\"",
                "MappingMethod = \"Copy\"",
                "HasVM = false",
            ],
            vec!["\nVersion = ", "HasFileTransfer"],
        ),
        (
            "#!/bin/sh\necho 'HasZebra = True'\necho oops\n",
            vec!["HasVM = false"],
            vec!["HasZebra", "StarterAbilityList"],
        ),
        (
            "#!/bin/sh\nexit 1\n",
            vec!["HasIOProxy"],
            vec!["HasFileTransfer", "StarterAbilityList", "MappingMethod ="],
        ),
        ("#!/no/such/shell\n", vec!["HasIOProxy"], vec!["HasFileTransfer", "StarterAbilityList"]),
    ] {
        let point = Point::new().arguments([]);
        write_executable(&point.path("hooks/starter"), program.as_bytes());
        let (stdout, stderr) = text(&ads(&point, &[]));
        for line in present {
            assert!(stdout.contains(line), "{program}: no {line} in {stdout}{stderr}");
        }
        for line in absent {
            assert!(!stdout.contains(line), "{program}: {line} in {stdout}{stderr}");
        }
    }
}

/// 25.14 accepts the job, cannot start it, and the slot goes to Owner.
#[test]
fn without_its_starter_the_reference_accepts_jobs_and_loses_them() {
    let job = "ClusterId = 1\nProcId = 0\nCmd = \"/bin/true\"\nOwner = \"nobody\"\n";
    let point = Point::new().job("1", job).knob("STARTER = /no/such/starter").knob("UPDATE_INTERVAL = 1");
    let run = point.arguments(["--quirks", "reference", "--idle-exit", "3"]).run();
    assert_eq!(run.count(&[("event", "verdict"), ("verdict", "accepted")]), 1, "{}", run.stderr);
    assert_eq!(run.count(&[("event", "state"), ("state", "Owner")]), 1, "{}", run.stderr);
    assert_eq!(run.status, Some(1), "{}", run.stderr);
    assert!(run.stderr.contains("there is no file '/no/such/starter'"), "{}", run.stderr);
}

/// The attribute that REPLY_FETCH gets is spelled `Start` then (recorded with 25.14: `configInsert` leaves it out, Requirements
/// bring it in).
#[test]
fn a_start_that_does_not_parse_is_an_error_value_in_the_reference() {
    let job = "ClusterId = 1\nProcId = 0\nCmd = \"/bin/true\"\nOwner = \"nobody\"\n";
    for (start, line) in [("True &&", "\nStart = error\n"), ("True || x", "\nSTART = true || x\n")] {
        let point = Point::new().job("1", job).knob(&format!("START = {start}")).knob("UPDATE_INTERVAL = 1");
        let point = point.arguments(["--quirks", "reference", "--idle-exit", "3"]);
        let run = point.run();
        let reply = point.told("reply.").into_iter().find(|text| text.contains("-----")).unwrap_or_default();
        assert!(reply.contains(line), "no {line}: {reply}\n{}", run.stderr);
    }
}
