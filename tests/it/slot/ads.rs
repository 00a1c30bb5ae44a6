//! Tests of slot ads as the verb `ads` prints them, with the attributes of machine and starter.

use std::process::Output;

use crate::support::children::write_executable;
use crate::support::point::Point;

/// Runs `htc-slot-run ads` with the configuration of the point.
fn ads(point: &Point, arguments: &[&str]) -> Output {
    let mut command = point.query();
    command.arg("ads").args(arguments).output().unwrap()
}

fn text(output: &Output) -> (String, String) {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (text(&output.stdout), text(&output.stderr))
}

/// In `init_machine_resources`, STARTD_DETECT_GPUS contains the arguments of the GPU discovery program.
#[test]
fn slots_have_no_gpus_if_gpu_detection_is_off() {
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
        let point = Point::new().parameter(line).arguments([]);
        let output = ads(&point, &[]);
        let (stdout, stderr) = text(&output);
        assert_eq!(output.status.code(), Some(0), "{line}: {stderr}");
        let stdout = stdout.to_ascii_lowercase();
        assert_eq!(stdout.contains("\ntotalgpus = "), has, "{line}: {stdout}");
        // GPUs are detected even if MACHINE_RESOURCE_NAMES does not list them.
        let detected = has || line.contains("NAMES");
        assert_eq!(stdout.contains("detectedgpus"), detected, "{line}: {stdout}");
        assert_eq!(stdout.contains("target.requestgpus"), has, "{line}: {stdout}");
        assert_eq!(stderr.contains("condor_gpu_discovery"), warns, "{line}: {stderr}");
    }
}

/// `parse_user_resource_config` accepts a text that `strtod` parses, or an expression whose value is a number or a boolean.
#[test]
fn amounts_and_shares_accept_every_form_of_a_number() {
    let base = "NUM_CPUS = 8\nMEMORY = 4000\nSTARTD_DETECT_GPUS =\n";
    let has = |more: &str, lines: &[&str]| {
        let point = Point::new().parameter(&format!("{base}{more}")).arguments([]);
        let (stdout, stderr) = text(&ads(&point, &["slot1"]));
        for line in lines {
            assert!(stdout.contains(&format!("\n{line}\n")), "{more}: {line}: {stdout}{stderr}");
        }
        (stdout, stderr)
    };
    for (value, number) in [("0x10", "16"), ("0XFF", "255"), ("010", "10"), ("3.", "3"), ("2 > 1", "1")] {
        let line = format!("TotalFoo = {number}");
        has(&format!("MACHINE_RESOURCE_Foo = {value}"), &[&line, &line.replace("Total", "Detected")]);
    }
    let typed = |shares: &str| {
        format!(
            "MACHINE_RESOURCE_Foo = 2\nNUM_SLOTS_TYPE_1 = 1\nSLOT_TYPE_1_PARTITIONABLE = false\nSLOT_TYPE_1 = {shares}"
        )
    };
    has(&typed("cpus=1, mem=1e3"), &["Memory = 1000"]);
    has(&typed("cpus=0x2, foo=0x2"), &["Cpus = 2", "Foo = 2"]);
    has(&typed("cpus=-1"), &["Cpus = 8"]);
    // Ids with unusual characters are converted to attribute names (`cleanStringForUseAsAttr`).
    let (stdout, _) = has("MACHINE_RESOURCE_Foo = \"a\", {", &["TotalFoo = 2"]);
    assert!(stdout.contains("\nAvailableFoo = { Foo_a_,Foo_ }\n"), "{stdout}");
    // 25.14 starts even with a resource name that its own expressions cannot contain.
    let (stdout, stderr) = has("MACHINE_RESOURCE_2Foo = 2", &["Total2Foo = 2"]);
    assert!(!stdout.contains("\nWithinResourceLimits"), "{stdout}");
    assert!(stderr.contains("2Foo is not a valid attribute name"), "{stderr}");
}

/// `Starter::config` uses the whole output of STARTER -classad, or nothing of it.
#[test]
fn another_starter_reports_its_own_abilities() {
    for (program, present, absent, said) in [
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
            "",
        ),
        (
            "#!/bin/sh\necho 'HasZebra = True'\necho oops\n",
            vec!["HasVM = false"],
            vec!["HasZebra", "StarterAbilityList"],
            "'-classad' prints 'oops', which is not a valid attribute",
        ),
        (
            "#!/bin/sh\nexit 1\n",
            vec!["HasIOProxy"],
            vec!["HasFileTransfer", "StarterAbilityList", "MappingMethod ="],
            "'-classad' prints nothing",
        ),
        (
            "#!/no/such/shell\n",
            vec!["HasIOProxy"],
            vec!["HasFileTransfer", "StarterAbilityList"],
            "'-classad' failed",
        ),
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
        assert!(stderr.contains(said), "{program}: {stderr}");
        assert_eq!(
            stderr.contains("the slots lack its Has* attributes"),
            !said.is_empty(),
            "{program}: {stderr}"
        );
    }
}

/// 25.14 accepts the job but cannot start it, and the slot changes to Owner.
#[test]
fn without_its_starter_the_reference_accepts_jobs_and_loses_them() {
    let job = "ClusterId = 1\nProcId = 0\nCmd = \"/bin/true\"\nOwner = \"nobody\"\n";
    let point =
        Point::new().job("1", job).parameter("STARTER = /no/such/starter").parameter("UPDATE_INTERVAL = 1");
    let run = point.arguments(["--quirks", "reference", "--idle-exit", "3"]).run();
    assert_eq!(run.count(&[("event", "verdict"), ("verdict", "accepted")]), 1, "{}", run.stderr);
    assert_eq!(run.count(&[("event", "state"), ("state", "Owner")]), 1, "{}", run.stderr);
    assert_eq!(run.status, Some(1), "{}", run.stderr);
    assert!(run.stderr.contains("there is no file '/no/such/starter'"), "{}", run.stderr);
}

/// In 25.14, the attribute is spelled `Start` in the input of REPLY_FETCH: `configInsert` leaves START out, and Requirements add
/// it.
#[test]
fn a_start_that_does_not_parse_is_an_error_value_in_the_reference() {
    let job = "ClusterId = 1\nProcId = 0\nCmd = \"/bin/true\"\nOwner = \"nobody\"\n";
    for (start, line) in [("True &&", "\nStart = error\n"), ("True || x", "\nSTART = true || x\n")] {
        let point = Point::new()
            .job("1", job)
            .parameter(&format!("START = {start}"))
            .parameter("UPDATE_INTERVAL = 1");
        let point = point.arguments(["--quirks", "reference", "--idle-exit", "3"]);
        let run = point.run();
        let reply = point
            .recorded_files("reply.")
            .into_iter()
            .find(|text| text.contains("-----"))
            .unwrap_or_default();
        assert!(reply.contains(line), "no {line}: {reply}\n{}", run.stderr);
    }
}

/// `config_fill_ad` supports the old names of the lists. Attributes in STARTD_ATTRS override the slot's amounts.
#[test]
fn attributes_of_old_lists_are_published_and_override_amounts() {
    let point = Point::new()
        .parameter("STARTD_ATTRS = Memory, A\nMemory = 77\nA = 1\nSTARTD_EXPRS = F\nF = time()\nSYSTEM_STARTD_ATTRS = G\nG = 2")
        .parameter("SLOT_WEIGHT = Memory * 2\nSlotWeight = 5")
        .arguments([]);
    // The value of Memory comes from the parameter MEMORY, because names are case-insensitive.
    let (stdout, stderr) = text(&ads(&point, &[]));
    let stdout = format!("\n{stdout}");
    for line in ["\nA = 1\n", "\nF = time()\n", "\nG = 2\n", "\nMemory = 77\n", "\nSlotWeight = Memory * 2\n"]
    {
        assert!(stdout.contains(line), "no {line}: {stdout}{stderr}");
    }
    let point = Point::new().parameter("STARTD_ATTRS = Cpus\nCpus = 77").arguments([]);
    assert!(text(&ads(&point, &[])).0.contains("\nCpus = 77\n"));
}

/// STARTD_JOB_EXPRS is the old list of attributes that are copied from the running job to the slot ad.
#[test]
fn job_attributes_are_also_read_from_the_old_list() {
    let job = "ClusterId = 1\nProcId = 0\nCmd = \"/bin/true\"\nOwner = \"nobody\"\nQuux = 5\n";
    let fetch = "#!/bin/sh\ncat > \"$HOME/out/fetch.$$\"\nfor file in \"$HOME\"/queue/*; do\n  \
                 [ -e \"$file\" ] || exit 0\n  mv \"$file\" \"$HOME/taken/\"\n  exec cat \"$HOME/taken/${file##*/}\"\ndone\n";
    let starter = until_a_fetch_reads("Quux = 5");
    let point = Point::new().job("1", job).hook("fetch", fetch).hook("starter", &starter);
    let point = point.parameter("STARTD_JOB_EXPRS = Quux").parameter("FetchWorkDelay = 1");
    let run = point.run();
    assert!(point.recorded_files("fetch.").iter().any(|ad| ad.contains("\nQuux = 5\n")), "{}", run.stderr);
}

/// In 25.14, attributes to which Requirements refer are restored only when the slot is available again, and the only slot of a
/// machine loses its retirement time.
#[test]
fn the_internal_ad_of_a_drained_slot_has_no_limits_and_no_retirement() {
    let job = "ClusterId = 1\nProcId = 0\nCmd = \"/bin/true\"\nOwner = \"nobody\"\n";
    let point = Point::new().job("1", job).hook("starter", "#!/bin/sh\ncat > /dev/null\nsleep 1\n");
    let control = point.path("control").display().to_string();
    let point = point
        .parameter("UPDATE_INTERVAL = 1")
        .parameter("FetchWorkDelay = 1")
        .parameter("MaxJobRetirementTime = 100");
    let point = point.arguments(["--quirks", "reference", "--control", &control]);
    let mut child = point.start();
    point.wait_for(&mut child, &[("event", "state"), ("activity", "Busy")]);
    assert!(point.ask(["drain"]).status.success());
    point.wait_for(&mut child, &[("state", "Drained"), ("activity", "Idle")]);
    std::fs::write(point.path("queue/2"), job).unwrap();
    point.wait_for(&mut child, &[("event", "verdict"), ("verdict", "rejected")]);
    assert!(point.ask(["off", "--fast"]).status.success());
    let run = point.end(child);
    let replies = point.recorded_files("reply.");
    let of = |state: &str| {
        let line = format!("\nState = \"{state}\"\n");
        replies
            .iter()
            .find(|text| text.contains(&line))
            .unwrap_or_else(|| panic!("no {state}: {}", run.stderr))
    };
    assert!(of("Unclaimed").contains("\nWithinResourceLimits = "));
    assert!(of("Unclaimed").contains("\nMaxJobRetirementTime = 100\n"));
    let drained = of("Drained");
    assert!(drained.contains("\nRequirements = false\n") && drained.contains("\nSTART = "), "{drained}");
    assert!(!drained.contains("\nWithinResourceLimits = "), "{drained}");
    assert!(drained.contains("\nMaxJobRetirementTime = 0\n"), "{drained}");
}

/// The signal is sent only when the starter can handle it, so that all hooks of the job are called.
#[test]
fn a_job_that_is_killed_at_its_start_has_its_exit_hook() {
    let job = "ClusterId = 1\nProcId = 0\nCmd = \"/bin/sleep\"\nArgs = \"600\"\nUser = \"nobody\"\n\
               JobLeaseDuration = 0\n";
    let exit = "#!/bin/sh\ncat > /dev/null\necho \"$1\" > \"${0%/*}/../out/exit\"\n";
    let point = Point::new().job("1", job).hook("exit", exit);
    let point =
        point.parameter("T_HOOK_JOB_EXIT = $(CONFIG_ROOT)/hooks/exit").parameter("UPDATE_INTERVAL = 1");
    let starter = env!("CARGO_BIN_EXE_htc-starter-run");
    std::fs::set_permissions(point.path("execute"), std::os::unix::fs::PermissionsExt::from_mode(0o777))
        .unwrap();
    let point = point.arguments(["--quirks", "reference", "--starter", starter, "--idle-exit", "3"]);
    let run = point.run();
    assert_eq!(point.recorded_files("exit"), ["evict\n"], "{}", run.stderr);
    assert_eq!(run.count(&[("event", "starter"), ("exit", "exited")]), 1, "{}", run.stderr);
}

/// Shares and total resources keep their values until the next start; other parameters take effect at once.
#[test]
fn a_reconfiguration_leaves_resources_as_they_are() {
    let job = "ClusterId = 1\nProcId = 0\nCmd = \"/bin/true\"\nOwner = \"nobody\"\n";
    let point =
        Point::new().parameter("FetchWorkDelay = 1").parameter("STARTD_ATTRS = A\nA = 1").arguments([]);
    let mut child = point.start();
    point.wait_for(&mut child, &[("event", "verdict"), ("verdict", "no work")]);
    let config = std::fs::read_to_string(point.path("config")).unwrap();
    let more = "MEMORY = 2048\nNUM_CPUS = 8\nNUM_SLOTS_TYPE_1 = 2\nSLOT_TYPE_1 = 50%\nMACHINE_RESOURCE_FOO = 3\nA = 2\n";
    std::fs::write(point.path("config"), format!("{config}{more}")).unwrap();
    let pid = nix::unistd::Pid::from_raw(i32::try_from(child.id()).unwrap());
    nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGHUP).unwrap();
    point.wait_for(&mut child, &[("event", "note"), ("reason", "was reread")]);
    std::fs::write(point.path("queue/1"), job).unwrap();
    point.wait_for(&mut child, &[("event", "job"), ("verdict", "succeeded")]);
    nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGTERM).unwrap();
    let run = point.end(child);
    let reply =
        point.recorded_files("reply.").into_iter().find(|text| text.contains("-----")).unwrap_or_default();
    let lines = [
        "A = 2",
        "TotalMemory = 1024",
        "TotalSlotMemory = 1024",
        "TotalSlotCpus = 2",
        "Memory = 1024",
        "Cpus = 2",
    ];
    for line in lines {
        assert!(reply.contains(&format!("\n{line}\n")), "no {line}: {reply}{}", run.stderr);
    }
    assert!(!reply.contains("TotalSlotFOO"), "{reply}");
}

/// Returns a starter whose job ends when a fetch hook has received an ad with this line.
fn until_a_fetch_reads(line: &str) -> String {
    format!(
        "#!/bin/sh\ncat > /dev/null\nuntil grep -q '^{line}' \"$HOME\"/out/fetch.*; do sleep 0.05; done\n"
    )
}

/// In an ad that is sent, STARTD_SLOT_ATTRS show the current state of the slots (`publishSlotAttrs`).
#[test]
fn slots_have_current_attributes_of_other_slots() {
    let job = "ClusterId = 1\nProcId = 0\nCmd = \"/bin/true\"\nOwner = \"nobody\"\n";
    let fetch = "#!/bin/sh\ncat > \"$HOME/out/fetch.$$\"\nfor file in \"$HOME\"/queue/*; do\n  \
                 [ -e \"$file\" ] || exit 0\n  mv \"$file\" \"$HOME/taken/\"\n  exec cat \"$HOME/taken/${file##*/}\"\ndone\n";
    let point = Point::new()
        .job("1", job)
        .hook("fetch", fetch)
        .hook("starter", &until_a_fetch_reads("State = \"Claimed\""));
    // No poll or update comes between the start of the job and the next fetch.
    let point = point
        .parameter("STARTD_SLOT_ATTRS = State")
        .parameter("FetchWorkDelay = 1")
        .parameter("POLLING_INTERVAL = 100");
    let run = point.run();
    let told = point.recorded_files("fetch.");
    let busy = told.iter().find(|ad| ad.contains("\nState = \"Claimed\"\n"));
    let busy = busy.unwrap_or_else(|| panic!("never busy: {}", run.stderr));
    assert!(busy.contains("\nslot1_State = \"Claimed\"\n"), "{busy}");
}

/// As for a condor_startd with `-local-name` (`find_macro_item`, config.cpp), `NAME.PARAMETER` takes precedence over
/// `STARTD.PARAMETER`, and nothing reads `STARTD.NAME.PARAMETER`.
#[test]
fn a_local_name_has_its_own_parameters() {
    let lines = "RANK = 1\nSTARTD.RANK = 2\nWEST.RANK = 3\nSTARTD.EAST.RANK = 4\nEAST.RANK = 5";
    for (arguments, rank) in [
        (&[][..], "2"),
        (&["-local-name", "west"], "3"),
        (&["--local-name", "EAST"], "5"),
        (&["--local-name", "north"], "2"),
    ] {
        let point = Point::new().parameter(lines).arguments([]);
        let output = ads(&point, arguments);
        let (stdout, stderr) = text(&output);
        assert_eq!(output.status.code(), Some(0), "{arguments:?}: {stderr}");
        assert!(stdout.contains(&format!("\nRank = {rank}\n")), "{arguments:?}: {stdout}");
    }
}

/// Container runtimes are queried with the environment that starters of these slots have.
#[test]
fn runtimes_are_queried_with_the_environment_of_starters() {
    for (word, words) in [("ads", vec!["ads"]), ("explain", vec!["explain", "START"]), ("-n", vec!["-n"])] {
        for (no_env, has) in [(true, false), (false, true)] {
            let point = Point::new().arguments([]);
            let docker = point.path("docker");
            let text = format!("#!/bin/sh\nenv >> {}\nexit 1\n", point.path("variables").display());
            crate::support::children::write_executable(&docker, text.as_bytes());
            let starter = env!("CARGO_BIN_EXE_htc-starter-run");
            let point = point.parameter(&format!("DOCKER = {}\nSTARTER = {starter}", docker.display()));
            let mut command = point.query();
            command.args(&words).args(no_env.then_some("--no-env")).env("_CONDOR_NO_SUCH_KNOB", "x");
            let output = command.output().unwrap();
            let asked = std::fs::read_to_string(point.path("variables")).unwrap_or_default();
            assert!(asked.contains("PATH="), "{word}: {}", String::from_utf8_lossy(&output.stderr));
            assert_eq!(asked.contains("_CONDOR_NO_SUCH_KNOB="), has, "{word} {no_env}: {asked}");
        }
    }
}

/// The expected output was printed by `condor_startd` of 25.14: a backslash in a string of the configuration is literal
/// (`ParseClassAdRvalExpr`).
#[test]
fn backslashes_in_the_configuration_are_read_as_in_long_ads() {
    let parameters = r#"NUM_SLOTS_TYPE_1 = 1
SLOT_TYPE_1 = 100%
STARTD_ATTRS = B1 B2 B3 B4 B5
B1 = "a\\b"
B2 = "C:\"
B3 = regexp("^\d+\.x$", "12.x")
B4 = strcat("a\\b", "\"")
B5 = "tab\toct\101"
START = regexp("^a\.b$", TARGET.Owner) =!= True
RANK = strcat("\\", "x") == "\\x"
SLOT_WEIGHT = ifThenElse(regexp("\d", "5"), 3, 4)"#;
    let machine = crate::support::machine::Machine::new(parameters);
    let ad = machine.ad(htc_hooks::slot::SlotKey::from_number(1));
    let expected = r#"B1 = "a\\b"
B2 = "C:\"
B3 = regexp("^\d+\.x$","12.x")
B4 = strcat("a\\b","\"")
B5 = "tab\toct\101"
Start = regexp("^a\.b$",TARGET.Owner) =!= true
Rank = 0.0
SlotWeight = ifThenElse(regexp("\d","5"),3,4)"#;
    for line in expected.lines() {
        assert!(ad.contains(&format!("\n{line}\n")), "{line}\n{ad}");
    }
    assert!(machine.warnings.iter().any(|text| text.starts_with("Rank: ")), "{:?}", machine.warnings);
}

/// As in `condor_startd` of 25.14, attributes that Requirements name are in the ad, and an invalid clause prevents all matches.
#[test]
fn clauses_of_requirements_are_in_the_sent_ad() {
    let parameters = "NUM_SLOTS_TYPE_1 = 1
SLOT_TYPE_1 = 100%
SLOT_TYPE_1_PARTITIONABLE = True
SLOT_REQUIREMENTS_CLAUSES = ClA START Nope IsOwner Bad Healthy SlotWeight
ClA = TARGET.Ok =?= True
Bad = (1 +
PSLOT_REQUIREMENTS_CLAUSES = ClP BadP
ClP = TARGET.RequestCpus < 4
SLOT_TYPE_1_ClP = TARGET.RequestCpus < 3
BadP = )
DSLOT_REQUIREMENTS_CLAUSES = ClD BadD
ClD = 1 < 2
BadD = )
STARTD_HEALTH_EXPRS = NotSick, 1 > 0
NotSick = 1 == 1";
    let machine = crate::support::machine::Machine::new(parameters);
    let ad = machine.ad(htc_hooks::slot::SlotKey::from_number(1));
    for line in [
        "Requirements = Healthy && ClA && IsOwner && Bad && SlotWeight && START && WithinResourceLimits && ClP && BadP",
        "ClA = TARGET.Ok =?= true",
        "ClP = TARGET.RequestCpus < 3",
        "IsOwner = false",
        "HealthExprs = { NotSick,1 > 0 }",
    ] {
        assert!(ad.contains(&format!("\n{line}\n")), "{line}\n{ad}");
    }
    assert!(!ad.contains("ClD = "), "{ad}");
    let told = machine.warnings.join("\n");
    for expected in [
        "the clause Nope of Requirements is not defined: it is left out",
        "the clause Bad of SLOT_REQUIREMENTS_CLAUSES is not a valid expression: ",
        "no job will match",
        "the clause BadD of DSLOT_REQUIREMENTS_CLAUSES is not a valid expression: ",
    ] {
        assert!(told.contains(expected), "{expected}: {told}");
    }
}

/// The starter is queried for its capabilities with the configuration of the slots.
#[test]
fn another_starter_is_queried_with_the_configuration_of_the_command_line() {
    let point = Point::new().arguments(["--param", "SOME_KNOB=a b"]);
    let program = "#!/bin/sh\necho \"Config = \\\"$CONDOR_CONFIG\\\"\"\necho \"HasKnob = \\\"$_CONDOR_SOME_KNOB\\\"\"\necho \"HasHome = \\\"$HOME\\\"\"\n";
    let program = program.replace("Config =", "HasConfig =");
    write_executable(&point.path("hooks/starter"), program.as_bytes());
    let (stdout, stderr) = text(&ads(&point, &[]));
    let config = point.path("config").display().to_string();
    for line in [format!("HasConfig = \"{config}\""), "HasKnob = \"a b\"".to_owned()] {
        assert!(stdout.contains(&line), "{line}: {stdout}{stderr}");
    }
    assert!(
        stdout
            .contains(&format!("HasHome = \"{}", point.path("").display().to_string().trim_end_matches('/'))),
        "{stdout}"
    );
}

/// The expected expressions are those of `condor_startd` 25.14 (`withinLimitsExpression`).
#[test]
fn limits_include_edited_requests_and_jobs_without_a_network() {
    let ad = |parameters: &str| {
        let slot = "NUM_SLOTS_TYPE_1 = 1\nSLOT_TYPE_1 = 100%\nSLOT_TYPE_1_PARTITIONABLE = True\n";
        crate::support::machine::Machine::new(&format!("{slot}{parameters}"))
            .ad(htc_hooks::slot::SlotKey::from_number(1))
    };
    let both = ad("STARTD_JOB_HAS_REQUEST_ATTRS = True\nNO_JOB_NETWORKING = True");
    let expected = "\nWithinResourceLimits = ifThenElse(TARGET._condor_RequestCpus =!= undefined,MY.Cpus > 0 && TARGET._condor_RequestCpus <= MY.Cpus,\
        ifThenElse(TARGET.RequestCpus =!= undefined,MY.Cpus > 0 && TARGET.RequestCpus <= MY.Cpus,1 <= MY.Cpus)) && \
        ifThenElse(TARGET._condor_RequestMemory =!= undefined,MY.Memory > 0 && TARGET._condor_RequestMemory <= MY.Memory,\
        ifThenElse(TARGET.RequestMemory =!= undefined,MY.Memory > 0 && TARGET.RequestMemory <= MY.Memory,false)) && \
        ifThenElse(TARGET._condor_RequestDisk =!= undefined,MY.Disk > 0 && TARGET._condor_RequestDisk <= MY.Disk,\
        ifThenElse(TARGET.RequestDisk =!= undefined,MY.Disk > 0 && TARGET.RequestDisk <= MY.Disk,false)) && \
        TARGET.WantJobNetworking =?= false\n";
    assert!(both.contains(expected), "{both}");
    assert!(both.contains("\nHasJobNetworking = false\n"), "{both}");
    let consumed = ad("CONSUMPTION_POLICY = True\nNO_JOB_NETWORKING = True");
    assert!(consumed.contains(" <= MY.Memory) && TARGET.WantJobNetworking =?= false)\n"), "{consumed}");
    let plain = ad("");
    assert!(!plain.contains("WantJobNetworking") && plain.contains("\nHasJobNetworking = true\n"), "{plain}");
}

/// Attributes of a new dynamic slot are published from the beginning, not only from the first poll on.
#[test]
fn reply_fetch_gets_the_published_attributes_of_a_new_dynamic_slot() {
    let point = Point::new()
        .parameter("SLOT_TYPE_1_PARTITIONABLE = true")
        .parameter("STARTD_SLOT_ATTRS = Activity")
        .parameter("POLLING_INTERVAL = 3600")
        .job(
            "1",
            "Cmd = \"/bin/true\"\nOwner = \"nobody\"\nRequestCpus = 1\nRequestMemory = 1\nRequestDisk = 1\n",
        );
    let run = point.run();
    assert_eq!(run.status, Some(0), "{}", run.stderr);
    let replies = std::fs::read_dir(point.path("out")).unwrap().flatten();
    let texts: Vec<String> = replies
        .filter(|entry| {
            let name = entry.file_name().to_string_lossy().into_owned();
            name.starts_with("reply.") && !name.ends_with(".words")
        })
        .map(|entry| std::fs::read_to_string(entry.path()).unwrap())
        .collect();
    let [text] = &texts[..] else { panic!("{texts:?}") };
    for line in ["IsSplittable = true", "slot1_Activity = \"Idle\"", "slot1_1_Activity = \"Idle\""] {
        assert!(text.contains(&format!("\n{line}\n")), "{line}: {text}");
    }
}
