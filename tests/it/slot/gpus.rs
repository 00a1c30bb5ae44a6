//! Tests of the detection and description of GPUs, and of their assignment to slots and jobs.

use htc_hooks::quirks::QuirkMode;
use htc_hooks::slot::{ClaimCommand, SlotKey};

use crate::support::machine::{Machine, job};
use crate::support::point::Point;

/// Output of `condor_gpu_discovery -properties` on a machine with two kinds of cards.
pub(crate) const CARDS: &str = r#"DetectedGPUs="GPU-aaa, GPU-bbb, GPU-ccc"
Common=[ DriverVersion=12.2; ECCEnabled=false; ]
GPU_aaa=[ id="GPU-aaa"; Capability=7.0; DeviceName="V100"; DeviceUuid="aaa-1"; ]
GPU_bbb=[ id="GPU-bbb"; Capability=8.0; DeviceName="A100"; DeviceUuid="bbb-2"; ]
GPU_ccc=[ id="GPU-ccc"; Capability=8.0; DeviceName="A100"; DeviceUuid="ccc-3"; ]
"#;

fn with(lines: &str, quirks: QuirkMode) -> Machine {
    Machine::with(lines, quirks, Some(CARDS))
}

fn line(ad: &str, name: &str) -> String {
    let start = format!("{name} = ");
    ad.lines().find_map(|line| line.strip_prefix(&start)).unwrap_or("nothing").to_owned()
}

#[test]
fn a_job_gets_a_card_for_which_its_requiregpus_is_true() {
    let mut machine = with("", QuirkMode::Reference);
    machine.claim("slot1", "RequestGPUs = 1\nRequireGPUs = Capability >= MinCap\nMinCap = 8", 1800);
    let ad = machine.ad(SlotKey { number: 1, sub: 1 });
    assert_eq!(line(&ad, "AssignedGPUs"), "\"GPU-bbb\"");
    assert_eq!(line(&ad, "GPUs_DeviceName"), "\"A100\"");
    assert_eq!(line(&ad, "GPUs_GPU_aaa"), "nothing");
    let parent = machine.ad(SlotKey::from_number(1));
    assert_eq!(line(&parent, "AvailableGPUs"), "{ GPUs_GPU_aaa,GPUs_GPU_ccc }");
    assert_eq!((line(&parent, "GPUs"), line(&parent, "GPUs_DriverVersion")), ("2".into(), "12.2".into()));
    machine.claim("slot1", "RequestGPUs = 2\nRequireGPUs = Capability >= 8", 1800);
    let said = machine.warnings.last().unwrap();
    assert!(said.contains("RequireGPUs is true for 1 of the free GPUs, and the job asks for 2"), "{said}");
    assert_eq!(machine.point.slots().count(), 2);
}

#[test]
fn each_reference_in_availablegpus_exists() {
    let machine = with("", QuirkMode::Manual);
    let ad = machine.ad(SlotKey::from_number(1));
    for name in ["GPUs_GPU_aaa", "GPUs_GPU_bbb", "GPUs_GPU_ccc"] {
        assert!(line(&ad, name).starts_with("[ Id = \"GPU-"), "{ad}");
    }
}

#[test]
fn a_slot_type_gets_the_card_that_it_names() {
    let types = "SLOT_TYPE_1 = cpus=1, gpus=1:\"GPU-ccc\"\nNUM_SLOTS_TYPE_1 = 1\n\
                 SLOT_TYPE_2 = cpus=1, gpus=1:1\nNUM_SLOTS_TYPE_2 = 1\n\
                 SLOT_TYPE_3 = cpus=1, gpus=1:Capability < 8\nNUM_SLOTS_TYPE_3 = 1";
    let assigned = |quirks| {
        let machine = with(types, quirks);
        [1, 2, 3].map(|number| line(&machine.ad(SlotKey::from_number(number)), "AssignedGPUs"))
    };
    assert_eq!(assigned(QuirkMode::Manual), ["\"GPU-ccc\"", "\"GPU-bbb\"", "\"GPU-aaa\""]);
    // 25.14 treats the number as a condition that is true.
    assert_eq!(assigned(QuirkMode::Reference), ["\"GPU-ccc\"", "\"GPU-aaa\"", "nothing"]);
    let machine = with(types, QuirkMode::Reference);
    let broken = machine.ad(SlotKey::from_number(3));
    assert_eq!(line(&broken, "SlotBrokenReason"), "\"Not enough instances of resource GPUs\"");
}

/// 25.14 never brings back a card that was offline at the start.
#[test]
fn reconfig_takes_a_card_offline_and_restores_another() {
    let off = |id: &str| format!("OFFLINE_MACHINE_RESOURCE_GPUs = {id}");
    let after = |quirks| {
        let mut machine = with(&off("GPU-aaa"), quirks);
        machine.claim("slot1", "RequestGPUs = 1", 1800);
        machine.ask("slot1_1", ClaimCommand::Activate(Box::new(job("RequestGPUs = 1"))));
        machine.reconfigure(&off("GPU-bbb"));
        machine
    };
    for (quirks, available, offline) in [
        (QuirkMode::Reference, "{ GPUs_GPU_ccc }", "\"GPU-aaa,GPU-bbb\""),
        (QuirkMode::Manual, "{ GPUs_GPU_aaa,GPUs_GPU_ccc }", "\"GPU-bbb\""),
    ] {
        let machine = after(quirks);
        let ad = machine.ad(SlotKey::from_number(1));
        assert_eq!(line(&ad, "AvailableGPUs"), available, "{quirks:?}");
        assert_eq!(line(&ad, "OfflineGPUs"), offline, "{quirks:?}");
        let running = machine.ad(SlotKey { number: 1, sub: 1 });
        assert_eq!(
            (line(&running, "GPUs"), line(&running, "AssignedGPUs")),
            ("0".into(), "\"GPU-bbb\"".into())
        );
        assert!(running.contains("Activity = \"Busy\""));
    }
}

#[test]
fn properties_are_nested_ads_or_lists() {
    let lists =
        with("USE_NESTED_CUSTOM_RESOURCE_PROPS = false", QuirkMode::Manual).ad(SlotKey::from_number(1));
    assert_eq!(line(&lists, "GPUs_DeviceNameList"), r#"{ "V100","A100","A100" }"#);
    assert_eq!(
        (line(&lists, "GPUs_GPU_aaa"), line(&lists, "GPUs_ECCEnabled")),
        ("nothing".into(), "false".into())
    );
    let differing =
        with("VERBOSE_NESTED_CUSTOM_RESOURCE_PROPS = false", QuirkMode::Manual).ad(SlotKey::from_number(1));
    assert!(!line(&differing, "GPUs_GPU_aaa").contains("DriverVersion"));
    assert!(line(&differing, "GPUs_GPU_aaa").contains("DeviceName = \"V100\""));
}

/// The job comes from a queue, on a machine without real cards.
#[test]
fn a_job_finds_its_card_in_its_environment() {
    let point = Point::new();
    let out = point.path("out/environment");
    let job = format!(
        "ClusterId = 1\nProcId = 0\nCmd = \"/usr/bin/env\"\nOut = \"{}\"\nOwner = \"nobody\"\nRequestCpus = 1\nRequestMemory = 1\n\
         RequestDisk = 1\nRequestGPUs = 1\nRequireGPUs = Capability >= 8\n",
        out.display()
    );
    let cards = point.path("cards");
    std::fs::write(&cards, CARDS).unwrap();
    let starter = format!("STARTER = {}", env!("CARGO_BIN_EXE_htc-starter-run"));
    let point = point.job("1", &job).parameter("SLOT_TYPE_1_PARTITIONABLE = true").parameter(&starter);
    let point = point.arguments(["--once", "--gpus", cards.to_str().unwrap()]);
    let run = point.run();
    assert_eq!(run.status, Some(0), "{}", run.stderr);
    let environment = std::fs::read_to_string(&out).unwrap();
    for (name, value) in [
        ("_CONDOR_AssignedGPUs", "GPU-bbb"),
        ("GPU_DEVICE_ORDINAL", "GPU-bbb"),
        ("CUDA_VISIBLE_DEVICES", "GPU-bbb-2"),
        ("NVIDIA_VISIBLE_DEVICES", "GPU-bbb-2"),
    ] {
        assert!(environment.contains(&format!("{name}={value}\n")), "{name}: {environment}");
    }
}

/// The slot has only the first card, which does not meet the job's requirements.
#[test]
fn a_static_slot_refuses_a_job_that_needs_a_better_card() {
    let job = "ClusterId = 1\nProcId = 0\nCmd = \"/bin/true\"\nOwner = \"nobody\"\nRequestGPUs = 1\n\
               RequireGPUs = Capability >= 8\n";
    let point = Point::new().parameter("SLOT_TYPE_1 = cpus=1, gpus=1").job("1", job);
    let cards = point.path("cards");
    std::fs::write(&cards, CARDS).unwrap();
    let mut point = point.arguments(["--once", "--gpus", cards.to_str().unwrap()]);
    let run = point.run();
    assert_eq!(point.recorded_files("reply.words"), ["reject\n"], "{}", run.stderr);
    assert!(run.stderr.contains("RequireGPUs is true for 0 of the free GPUs"), "{}", run.stderr);
    std::fs::rename(point.path("taken/1"), point.path("queue/1")).unwrap();
    point.arguments.extend(["--quirks".to_owned(), "reference".to_owned()]);
    point = point.parameter("UPDATE_INTERVAL = 1");
    let run = point.run();
    assert_eq!(point.recorded_files("reply.words"), ["reject\naccept\n"], "{}", run.stderr);
}

#[test]
fn a_machine_without_gpus_reports_use_feature_gpus_in_one_line() {
    let point = Point::new().parameter("LIBEXEC = /no/libexec\nuse feature: GPUs");
    let run = point.run();
    assert_eq!(run.status, Some(0), "{}", run.stderr);
    let lines: Vec<&str> = run.stderr.lines().filter(|line| line.contains("condor_gpu_discovery")).collect();
    assert_eq!(lines.len(), 1, "{}", run.stderr);
    assert!(
        lines[0].contains("MACHINE_RESOURCE_INVENTORY_GPUs: ")
            && lines[0].contains("--gpus FILE describes GPUs"),
        "{}",
        lines[0]
    );
}

#[test]
fn an_inventory_that_fails_or_finds_nothing_is_reported_in_one_line() {
    let parameter = "MACHINE_RESOURCE_INVENTORY_GPUs = $(CONFIG_ROOT)/hooks/inventory";
    for (script, expected) in [
        (
            "echo DetectedGPUs=0",
            "hooks/inventory' found no resource: the slots have no GPUs; --gpus FILE describes GPUs",
        ),
        ("exit 3", "hooks/inventory' exited with status 3 and found no resource: the slots have no GPUs"),
        (
            "echo 'DetectedGPUs=\"A\"'; exit 3",
            "exited with status 3; its output is used anyway, as in a pool",
        ),
        ("echo 'DetectedGPUs=\"A\"'", ""),
    ] {
        let script = format!("#!/bin/sh\n{script}\n");
        let point = Point::new().hook("inventory", &script).parameter(parameter).arguments(["--dry-run"]);
        let run = point.run();
        let lines: Vec<&str> = run.stderr.lines().filter(|line| line.contains("/inventory'")).collect();
        assert_eq!(lines.len(), usize::from(!expected.is_empty()), "{script}: {}", run.stderr);
        assert!(lines.iter().all(|line| line.contains(expected)), "{expected}: {}", run.stderr);
    }
}

#[test]
fn timeout_applies_to_gpu_detection_too() {
    let hangs = "#!/bin/sh\nexec sleep 1000\n";
    for (name, arguments) in [
        ("inventory", ["--dry-run", "--timeout", "0.3"]),
        ("condor_gpu_discovery", ["--once", "--timeout", "0.3"]),
    ] {
        let parameter = format!("MACHINE_RESOURCE_INVENTORY_GPUs = $(CONFIG_ROOT)/hooks/{name}");
        let run = Point::new().hook(name, hangs).parameter(&parameter).arguments(arguments).run();
        assert_eq!(run.status, Some(124), "{}", run.stderr);
        let said = "the time limit (--timeout) expired before there were slots: ";
        assert!(run.stderr.contains(said), "{}", run.stderr);
        assert!(run.stderr.contains(&format!("hooks/{name}' did not end")), "{}", run.stderr);
    }
}

/// In a pool, the schedd would not have matched the job; here only the slot can check it.
#[test]
fn a_claim_of_a_static_slot_needs_good_enough_cards() {
    let lines = "SLOT_TYPE_1 = cpus=1, gpus=1\nSLOT_TYPE_1_PARTITIONABLE = false\nNUM_SLOTS_TYPE_1 = 1";
    for (quirks, refused) in [(QuirkMode::Manual, true), (QuirkMode::Reference, false)] {
        let mut machine = with(lines, quirks);
        machine.claim("slot1", "RequestGPUs = 1\nRequireGPUs = Capability >= 8", 1800);
        let said = "claim refused: RequireGPUs is true for 0 of the free GPUs, and the job asks for 1";
        assert_eq!(machine.warnings.iter().any(|text| text == said), refused, "{:?}", machine.warnings);
    }
}

#[test]
fn an_invalid_gpu_file_is_refused_with_its_line() {
    let mut point = Point::new();
    for (text, what) in [
        ("DetectedGPUs=\"A\"\nrubbish\n", "line 2 is not a valid attribute: `rubbish`"),
        ("", "DetectedGPUs is missing"),
        ("\0\0", "line 1 is not a valid attribute"),
    ] {
        let cards = point.path("cards");
        std::fs::write(&cards, text).unwrap();
        point = point.arguments(["--once", "--gpus", cards.to_str().unwrap()]);
        let run = point.run();
        assert_eq!(run.status, Some(3), "{}", run.stderr);
        assert!(run.stderr.contains(what), "{}", run.stderr);
    }
}
