//! Tests that `htc-slot-run explain` gives the same verdict on a job as a running slot: devices, and the dynamic slot in which
//! the job would run, are considered.

use std::io::Write;
use std::process::{Output, Stdio};

use crate::slot::gpus::CARDS;
use crate::support::point::Point;

const JOB: &str = "ClusterId = 1\nProcId = 0\nCmd = \"/bin/true\"\nOwner = \"nobody\"\nRequestCpus = 1\nRequestMemory = 1\n\
                   RequestDisk = 1\n";

/// Creates an execution point with three cards, of capability 7.0, 8.0 and 8.0.
fn with_cards(lines: &str) -> Point {
    let point = Point::new().parameter("SLOT_TYPE_1 = 100%").parameter(lines);
    let cards = point.path("cards").display().to_string();
    std::fs::write(&cards, CARDS).unwrap();
    point.arguments(["--once", "--gpus", &cards])
}

fn explain(point: &Point, words: &[&str], job: &str) -> Output {
    let mut command = point.query();
    command.arg("explain").args(words).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    child.stdin.take().unwrap().write_all(job.as_bytes()).unwrap();
    child.wait_with_output().unwrap()
}

fn text(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[test]
fn explain_and_live_report_requiregpus_that_no_card_meets() {
    let job = format!("{JOB}RequestGPUs = 1\nRequireGPUs = Capability >= MinCap\nMinCap = 9\n");
    for kind in ["true", "false"] {
        let point = with_cards(&format!("SLOT_TYPE_1_PARTITIONABLE = {kind}")).job("1", &job);
        let told = explain(&point, &[], &job);
        assert_eq!(told.status.code(), Some(1), "{}", String::from_utf8_lossy(&told.stderr));
        let reason = "RequireGPUs is true for 0 of the free GPUs, and the job asks for 1";
        let clause = "    Capability >= 9 is false (GPU-aaa: Capability = 7.0, GPU-bbb: Capability = 8.0, \
                      GPU-ccc: Capability = 8.0)\n";
        let pair = format!("slot1 refuses job 1.0: {reason}\n{clause}\n");
        assert!(text(&told).starts_with(&pair), "{kind}: {}", text(&told));
        let cause = format!(
            "{reason}: no GPU has Capability >= MinCap, they have 7.0 to 8.0, the job has MinCap = 9\n"
        );
        assert!(text(&told).contains(&cause), "{kind}: {}", text(&told));
        let tried = "  try MinCap 8 instead of 9: 1 more slot\n  try without RequireGPUs: 1 more slot\n";
        assert!(text(&told).ends_with(tried), "{kind}: {}", text(&told));
        let live = point.run();
        assert_eq!(live.count(&[("verdict", "rejected"), ("reason", reason)]), 1, "{kind}: {}", live.stderr);
        let good = job.replace("MinCap = 9", "MinCap = 8");
        assert_eq!(text(&explain(&point, &[], &good)), "slot1 accepts job 1.0: rank 0\n", "{kind}");
    }
}

#[test]
fn a_parameter_that_is_not_published_is_named_with_its_line() {
    let told = |start: &str| {
        let parameters = format!("Rack = \"C03\"\nSite = \"x\"\nSTARTD_ATTRS = Site\nSTART = {start}");
        text(&explain(&Point::new().parameter(&parameters), &["--summary"], JOB))
    };
    let rack = told("MY.Site == \"x\" && MY.Rack == \"C03\"");
    assert!(rack.contains("no slot has Rack; Rack is set in ") && rack.contains(", line "), "{rack}");
    assert!(rack.contains(" but not published; add it to STARTD_ATTRS"), "{rack}");
    let other = told("MY.Site == \"y\" && MY.Row == 1");
    assert!(!other.contains("published"), "{other}");
}

#[test]
fn a_comparison_counts_refusals_because_of_devices() {
    let point = with_cards("SLOT_TYPE_1_PARTITIONABLE = true");
    drop(point.command());
    let old = std::fs::read_to_string(point.path("config")).unwrap();
    std::fs::write(point.path("new"), old + "OFFLINE_MACHINE_RESOURCE_GPUs = GPU-bbb,GPU-ccc\n").unwrap();
    let job = format!("{JOB}RequestGPUs = 1\nRequireGPUs = Capability >= 8\n");
    let new = point.path("new").display().to_string();
    let told = explain(&point, &["--compare", &new], &job);
    let told_text = text(&told);
    assert_eq!(told.status.code(), Some(1), "{}", String::from_utf8_lossy(&told.stderr));
    assert!(told_text.contains("slot1: accepts 1 of 1 job before, 0 after\n"), "{told_text}");
    assert!(
        told_text.contains("    RequireGPUs: Capability >= 8: refuses none before, 1 after\n"),
        "{told_text}"
    );
}

#[test]
fn refusals_of_the_dynamic_slot_apply_to_claims_only() {
    let clause = "SLOT_TYPE_1_PARTITIONABLE = true\nDSLOT_REQUIREMENTS_CLAUSES = SmallOnly\nSmallOnly = MY.Memory < 200";
    let refused = "the dynamic slot refuses the job: SmallOnly is not true for this job: MY.Memory < 200 is false \
                   (MY.Memory = 512)";
    let big = JOB.replace("RequestMemory = 1\n", "RequestMemory = 500\n");
    // 25.14 evaluates the Requirements of the dynamic slot only for claims (StartdHookMgr.cpp, command.cpp).
    let point = with_cards(clause).job("1", &big);
    let told = explain(&point, &[], &big);
    assert_eq!(
        text(&told),
        format!("slot1 accepts job 1.0: rank 0; claiming it for the job is refused: {refused}\n")
    );
    let run = point.run();
    assert_eq!(run.count(&[("verdict", "accepted"), ("job", "1.0")]), 1, "{}", run.stderr);
    let point = with_cards(clause).parameter("STARTD_JOB_HOOK_KEYWORD =");
    let told = explain(&point, &[], &big);
    assert_eq!(told.status.code(), Some(1));
    assert!(text(&told).starts_with(&format!("slot1 refuses job 1.0: {refused}\n")), "{}", text(&told));
    assert!(text(&told).contains("[SmallOnly: "), "{}", text(&told));
    assert_eq!(text(&explain(&point, &[], JOB)), "slot1 accepts job 1.0: rank 0\n");
}

/// Ads of a pool contain the properties of the cards, with which 25.14's negotiator evaluates the job's Requirements.
#[test]
fn cards_in_the_ads_of_a_pool_are_checked() {
    let point = with_cards("SLOT_TYPE_1_PARTITIONABLE = true");
    let slots = point.query().arg("ads").output().unwrap().stdout;
    let file = point.path("slots").display().to_string();
    std::fs::write(&file, &slots).unwrap();
    let job = |what: &str| format!("{JOB}RequestGPUs = 1\nRequireGPUs = {what}\n");
    let told = explain(&point, &["--slot-ads", &file], &job("Capability >= 9"));
    assert_eq!(told.status.code(), Some(1), "{}", String::from_utf8_lossy(&told.stderr));
    let own = explain(&point, &[], &job("Capability >= 9"));
    let (name, rest) =
        text(&told).split_once(' ').map(|(name, rest)| (name.to_owned(), rest.to_owned())).unwrap();
    assert!(name.starts_with("slot1@"), "{name}");
    assert_eq!(
        format!("slot1 {rest}"),
        text(&own)
            .lines()
            .map(|line| line.split("  [").next().unwrap().to_owned() + "\n")
            .collect::<String>()
    );
    for taken in [job("Capability >= 8"), job("\"GPU-bbb\""), JOB.to_owned()] {
        assert!(text(&explain(&point, &["--slot-ads", &file], &taken)).contains(" accepts "), "{taken}");
    }
    // Without AvailableGPUs, the properties of the cards are unknown.
    let bare = String::from_utf8(slots).unwrap();
    let bare: Vec<&str> = bare.lines().filter(|line| !line.starts_with("AvailableGPUs")).collect();
    std::fs::write(&file, bare.join("\n") + "\n").unwrap();
    let told = text(&explain(&point, &["--slot-ads", &file], &job("Capability >= 8")));
    assert!(told.contains("RequireGPUs cannot be checked: the slot's ad has no AvailableGPUs"), "{told}");
}

#[test]
fn set_accepts_names_that_only_a_job_refers_to() {
    let point = with_cards("SLOT_TYPE_1_PARTITIONABLE = true");
    let job = format!("{JOB}Requirements = TARGET.HasMatlab\n");
    let warned = |name: &str| {
        let told = explain(&point, &["--set", &format!("{name}=true")], &job);
        String::from_utf8_lossy(&told.stderr).into_owned()
    };
    assert!(!warned("HasMatlab").contains("--set"), "{}", warned("HasMatlab"));
    let slip = warned("HasMatlap");
    assert!(slip.contains("--set HasMatlap: no slot has this attribute, and no expression of a slot or job refers to it; did you mean HasMatlab?"), "{slip}");
}

/// Regression test: if there were several kinds of jobs, conditions of a job were left out when few lines were left.
#[test]
fn the_summary_shows_all_conditions_of_a_job() {
    let point = Point::new();
    let file = point.path("slots.ads").display().to_string();
    let slot =
        "Name = \"slot1@h\"\nMemory = 10\nCpus = 1\nRequirements = TARGET.RequestMemory <= MY.Memory\n";
    std::fs::write(&file, slot).unwrap();
    let conditions: Vec<String> =
        (1..=4).map(|number| format!("TARGET.Wanted{number} == {number}")).collect();
    let job = |number: u32| {
        let (id, memory) = (JOB.replace("ProcId = 0", &format!("ProcId = {number}")), 20 + number);
        let id = id.replace("RequestMemory = 1", &format!("RequestMemory = {memory}"));
        format!("{id}Requirements = {}\nUnlike{number} = 1\n\n", conditions.join(" && "))
    };
    let jobs: String = (0..4).map(job).collect();
    let output = text(&explain(&point, &["--summary", "--slot-ads", &file], &jobs));
    let first: String = output.split("\n\n").nth(1).unwrap_or_default().to_owned();
    for condition in &conditions {
        assert!(first.contains(condition.as_str()), "{condition} is not shown:\n{output}");
    }
}
