//! Sentences about causes and suggested changes, for jobs and slots that are easily misjudged.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod definedness;
mod devices;

use htc_base::time::ClockReading;
use htc_base::world::FrozenClockWorld;
use htc_classad::{ClassAd, Dialect};
use htc_os::RealWorld;
use htc_why::matching::{AdPool, Analysis, JobGrouper, SlotSet};

/// Time of all evaluations: 2026-12-25 12:00:00 UTC.
const NOW: i64 = 1_798_200_000;

fn ad(text: &str) -> ClassAd {
    ClassAd::parse_new(text.as_bytes(), Dialect::new_syntax())
        .unwrap_or_else(|error| panic!("{text}: {error}"))
}

/// Returns the sentences about a job, and the suggestions.
fn explain(slots: &[&str], job: &str) -> (Vec<String>, Vec<String>) {
    let real = RealWorld::new();
    let world = FrozenClockWorld { world: &real, now: ClockReading::from_epoch(NOW) };
    let named = |(at, text): (usize, &&str)| {
        let slot = ad(text);
        let name = slot.get("Name").and_then(|name| name.as_literal()?.as_str().map(ToString::to_string));
        (name.unwrap_or_else(|| format!("slot1@node{at}")), slot)
    };
    let pool = AdPool::new(slots.iter().enumerate().map(named).collect(), &world);
    let mut grouper = JobGrouper::new(&pool as &dyn SlotSet);
    grouper.add("1.0".to_owned(), ad(job));
    let analysis = Analysis::new(&pool, grouper);
    let sentences = analysis.causes(0).into_iter().map(|cause| cause.sentence).collect();
    let suggestions = analysis.suggestions(0, 3).iter().map(ToString::to_string).collect();
    (sentences, suggestions)
}

#[track_caller]
fn expect(slots: &[&str], job: &str, sentence: &str, suggestion: &str) {
    let (sentences, suggestions) = explain(slots, job);
    assert!(sentences.iter().any(|it| it.contains(sentence)), "{sentence}: {sentences:#?}");
    assert!(
        suggestion.is_empty() || suggestions.iter().any(|it| it.starts_with(suggestion)),
        "{suggestion}: {suggestions:#?}"
    );
}

const SLOT: &str =
    "[ Cpus = 8; Memory = 16384; Disk = 90000000; Arch = \"X86_64\"; Machine = \"Node7.example.org\";
    Requirements = TARGET.RequestMemory <= MY.Memory && TARGET.RequestCpus <= MY.Cpus ]";

#[test]
fn a_request_that_is_missing_or_a_text_is_replaced_by_a_sensible_number() {
    expect(
        &[SLOT],
        "[ RequestCpus = 1 ]",
        "condor_submit sets RequestMemory = 128 by default (JOB_DEFAULT_REQUESTMEMORY)",
        "with RequestMemory = 128: 1 more slot",
    );
    let memory = |request: &str| format!("[ RequestCpus = 1; RequestMemory = {request} ]");
    for (request, number) in [("\"4 GB\"", 4096), ("\"2048\"", 2048), ("\"1.5g\"", 1536), ("\"lots\"", 128)] {
        expect(
            &[SLOT],
            &memory(request),
            "RequestMemory must be a number of MiB",
            &format!("RequestMemory {number} instead of {request}: 1 more slot"),
        );
    }
    // More than the slot has is limited to that.
    expect(&[SLOT], &memory("\"64 GB\""), "must be a number", "RequestMemory 16384 instead of");
    expect(
        &[SLOT],
        &memory("ImageSize / 1024"),
        "RequestMemory is undefined: ImageSize is missing",
        "RequestMemory 128 instead of ImageSize / 1024: 1 more slot",
    );
    for job in [memory("undefined"), memory("\"4 GB\""), "[ RequestMemory = 1 ]".to_owned()] {
        let (_, suggestions) = explain(&[SLOT], &job);
        assert_eq!(suggestions.len(), 1, "{suggestions:?}");
    }
}

fn divided(name: &str, free: u32, more: &str) -> String {
    format!(
        "[ Name = \"{name}\"; PartitionableSlot = true; TotalSlotCpus = 16; TotalSlotMemory = 64000; Memory = 64000;
           Cpus = {free}; {more} Requirements = TARGET.RequestCpus <= MY.Cpus ]"
    )
}

#[test]
fn dynamic_slots_that_use_a_partitionable_slot_are_named_with_their_users() {
    let lists = "ChildCpus = { 8, 4 }; ChildRemoteUser = { \"bob@x\", \"eve@x\" };";
    let slots = [divided("slot1@a", 4, lists), divided("slot1@b", 2, "")];
    let child =
        "[ Name = \"slot1_1@b\"; DynamicSlot = true; State = \"Claimed\"; Cpus = 14; RemoteUser = \"eve@x\";
        Requirements = TARGET.RequestCpus <= MY.Cpus && false ]";
    let slots: Vec<&str> = slots.iter().map(String::as_str).collect();
    expect(
        &slots,
        "[ RequestCpus = 6 ]",
        "2 slots have enough in total: slot1@a has 16 Cpus in total, but dynamic slots use 12 of them (bob@x 8, eve@x 4)",
        "RequestCpus 2 instead of 6: 2 more slots",
    );
    expect(
        &[slots[1], child],
        "[ RequestCpus = 6; Requirements = TARGET.Cpus >= 6 ]",
        "slot1@b has 16 Cpus in total, but dynamic slots use 14 of them (eve@x 14)",
        "",
    );
    expect(&slots, "[ RequestCpus = 32 ]", "the largest, slot1@a, has only 16 Cpus when nothing uses it", "");
    let idle = [divided("slot1@a", 15, lists), divided("slot1@b", 14, lists)];
    let idle: Vec<&str> = idle.iter().map(String::as_str).collect();
    expect(&idle, "[ RequestCpus = 20 ]", "29 are free on 2 slots together, but a job runs in one slot", "");
    // A static slot is not divided.
    let (sentences, _) = explain(&[SLOT], "[ RequestMemory = 1; RequestCpus = 32 ]");
    assert!(!sentences[0].contains("in all"), "{sentences:?}");
}

#[test]
fn a_comparison_that_distinguishes_upper_and_lower_case_is_corrected() {
    let job = |clause: &str| format!("[ RequestMemory = 1; RequestCpus = 1; Requirements = {clause} ]");
    expect(
        &[SLOT],
        &job("TARGET.Arch =?= \"x86_64\""),
        "=?= compares case-sensitively; == would be true",
        "TARGET.Arch == \"x86_64\" instead of TARGET.Arch =?= \"x86_64\": 1 more slot",
    );
    expect(
        &[SLOT],
        &job("!(TARGET.Arch =!= \"x86_64\")"),
        "=!= compares case-sensitively; != would be false",
        "",
    );
    expect(
        &[SLOT],
        &job("stringListMember(TARGET.Arch, \"x86_64,ppc64le\")"),
        "stringListMember() compares case-sensitively; stringListIMember() would be true",
        "stringListIMember(TARGET.Arch,\"x86_64,ppc64le\") instead of",
    );
    expect(
        &[SLOT],
        &job("regexp(\"^node[0-9]\", TARGET.Machine)"),
        "regexp() compares case-sensitively; regexp(..., \"i\") would be true",
        "regexp(\"^node[0-9]\",TARGET.Machine,\"i\") instead of",
    );
    // Different texts, and an integer that is compared with a real, are not a matter of case.
    for clause in ["TARGET.Arch =?= \"ARM\"", "TARGET.Cpus =?= 8.0", "TARGET.Absent =?= \"x\""] {
        let (sentences, _) = explain(&[SLOT], &job(clause));
        assert!(!sentences[0].contains("case-sensitively"), "{sentences:?}");
    }
}

#[test]
fn a_clause_that_reads_the_clock_says_when_it_changes() {
    let slot =
        |start: &str| format!("[ Start = {start}; Opens = time() > 1798200100; Requirements = Start ]");
    let sentence = |start: &str| explain(&[&slot(start)], "[ QDate = 1 ]").0.join("\n");
    let text = sentence("time() >= 1798203600");
    assert!(
        text.contains("time() is 1798200000, 2026-12-25") && text.contains("it is true from 1798203600, "),
        "{text}"
    );
    // The condition is true for a while each day, next time tomorrow.
    let text = sentence("time() % 86400 < 3600");
    assert!(text.contains("it is true from 1798243200, "), "{text}");
    assert!(sentence("CurrentTime < 1798100000").contains("it was true until 1798099999, "));
    assert!(sentence("Opens || false").contains("it is true from 1798200101, "));
    let never = sentence("time() < 0");
    assert!(never.contains("time() is 1798200000") && !never.contains("it "), "{never}");
    assert!(!sentence("formatTime(1000) == \"x\"").contains("time() is"));
}

#[test]
fn a_name_that_is_looked_up_in_the_wrong_ad_is_explained() {
    let job = |clause: &str| format!("[ RequestMemory = 1000; RequestCpus = 1; Requirements = {clause} ]");
    expect(
        &[SLOT],
        &job("MY.Memory >= RequestMemory"),
        "MY.Memory is read from the job's ad; TARGET.Memory is that of the slot",
        "TARGET.Memory >= RequestMemory instead of MY.Memory >= RequestMemory: 1 more slot",
    );
    expect(
        &[SLOT],
        &job("TARGET.RequestMemory <= 2000"),
        "TARGET.RequestMemory is read from the slot's ad; MY.RequestMemory is that of the job",
        "MY.RequestMemory <= 2000 instead of",
    );
    expect(
        &[SLOT],
        "[ RequestMemory = 1; RequestCpus = 1; Memory = 10; Requirements = Memory >= 1000 ]",
        "Memory is the job's own attribute; TARGET.Memory is that of the slot",
        "TARGET.Memory >= 1000 instead of Memory >= 1000: 1 more slot",
    );
    expect(
        &["[ Start = MY.Owner == \"ann\"; Requirements = Start ]"],
        "[ Owner = \"ann\" ]",
        "MY.Owner is read from the slot's ad; TARGET.Owner is that of the job",
        "",
    );
    // The other ad does not help, or the clause compares both.
    for clause in ["MY.Memory >= 99000", "MY.Memory >= TARGET.Memory", "TARGET.Absent > 1"] {
        let (sentences, _) = explain(&[SLOT], &job(clause));
        assert!(!sentences[0].contains("is read from"), "{sentences:?}");
    }
}

#[test]
fn a_name_that_no_ad_has_is_corrected() {
    let job = |clause: &str| format!("[ RequestMemory = 1; RequestCpus = 1; Requirements = {clause} ]");
    expect(
        &[SLOT],
        &job("TARGET.Memroy > 1000"),
        "no slot has Memroy; did you mean TARGET.Memory instead of TARGET.Memroy?",
        "TARGET.Memory > 1000 instead of TARGET.Memroy > 1000: 1 more slot",
    );
    expect(
        &[SLOT],
        &job("TARGET.Arch == X86_64"),
        "X86_64 is read as an attribute; a string must be quoted: \"X86_64\"",
        "TARGET.Arch == \"X86_64\" instead of TARGET.Arch == X86_64: 1 more slot",
    );
    // A slot has the name, and other texts are not equal.
    let with = "[ Memroy = 5; Requirements = false ]";
    for (slots, clause) in
        [(&[SLOT, with][..], "TARGET.Memroy > 1000"), (&[SLOT][..], "TARGET.Arch == Pentium4")]
    {
        let (sentences, _) = explain(slots, &job(clause));
        assert!(!sentences.iter().any(|it| it.contains("mean") || it.contains("quoted")), "{sentences:?}");
    }
}

#[test]
fn values_of_different_types_are_never_identical() {
    let slots = ["[ Version = 9; HasIt = \"true\"; Requirements = true ]"];
    expect(
        &slots,
        "[ Requirements = TARGET.Version =?= \"9\" ]",
        "=?= is never true for an integer and a string",
        "TARGET.Version =?= 9 instead of",
    );
    expect(
        &slots,
        "[ Requirements = TARGET.HasIt =?= true ]",
        "=?= is never true for a string and a boolean",
        "",
    );
    let (sentences, _) = explain(&slots, "[ Requirements = TARGET.Version =?= 8 ]");
    assert!(!sentences[0].contains("never"), "{sentences:?}");
}

#[test]
fn common_facts_of_a_group_are_stated_once_for_all_slots() {
    // Some slots of a group are being drained, although the slots are equivalent for every job.
    let (free, drains) = (
        "[ Requirements = START; Start = false ]",
        "[ Requirements = START; Start = false; Draining = true ]",
    );
    assert_eq!(explain(&[drains, free, free], "[ ]").0, ["START is false: 1 of 3 slots are draining"]);
    // A value that some slots lack is not that of all.
    let (no, absent) = ("[ HasDocker = false; Requirements = true ]", "[ Requirements = true ]");
    let (sentences, _) = explain(&[no, absent, no], "[ Requirements = TARGET.HasDocker ]");
    assert_eq!(sentences, ["TARGET.HasDocker is false (2), undefined (1)"]);
}

fn plain_slot(name: &str, more: &str) -> String {
    format!("[ Name = \"{name}\"; Cpus = 8; {more} ]")
}

#[test]
fn numbers_of_the_clock_are_explained_as_times_and_days() {
    let day = plain_slot("slot1@a", "ClockMin = 1020; ClockDay = 5; Requirements = MY.ClockMin >= 18 * 60;");
    expect(
        &[&day],
        "[ RequestCpus = 1 ]",
        "MY.ClockMin >= 18 * 60 is not true: the slot has 1020, that is 17:00; 18 * 60 is 18:00",
        "",
    );
    let late = plain_slot("slot1@b", "ClockMin = 1025; ClockDay = 5; Requirements = MY.ClockMin >= 18 * 60;");
    expect(&[&day, &late], "[ A = 1 ]", "the slots have 1020 to 1025, that is 17:00 to 17:05", "");
    let friday = plain_slot("slot1@a", "ClockDay = 5; Requirements = ClockDay == 0 || 6 == ClockDay;");
    expect(
        &[&friday],
        "[ A = 1 ]",
        "ClockDay == 0 || 6 == ClockDay is not true: the slot has 5, that is Friday; 0 is Sunday, 6 is Saturday",
        "",
    );
    // A number that is not a valid time is not explained.
    let wrong = plain_slot("slot1@a", "ClockMin = 600; Requirements = ClockMin > 2400;");
    let (sentences, _) = explain(&[&wrong], "[ A = 1 ]");
    assert_eq!(sentences, ["ClockMin > 2400 is not true: the slot has 600, that is 10:00"]);
}

#[test]
fn comparisons_of_versions_name_the_version_and_the_one_asked_for() {
    let version = "CondorVersion = \"$CondorVersion: 24.0.1 2024-10-31 BuildID: 1 $\"; Requirements = true;";
    let old = plain_slot("slot1@a", version);
    let older = plain_slot("slot1@b", &version.replace("24.0.1", "23.5.2"));
    let job = |clause: &str| format!("[ Requirements = {clause} ]");
    for (clause, said) in [
        (
            "versionGE(split(TARGET.CondorVersion)[1], \"25.0.0\")",
            "the version is 24.0.1, the condition asks for at least 25.0.0",
        ),
        (
            "versionLE(\"25.0.0\", split(TARGET.CondorVersion)[1])",
            "the version is 24.0.1, the condition asks for at least 25.0.0",
        ),
        (
            "!versionLT(split(TARGET.CondorVersion)[1], \"24.5\")",
            "the version is 24.0.1, the condition asks for at least 24.5",
        ),
        (
            "version_in_range(split(TARGET.CondorVersion)[1], \"25.0\", \"25.9\")",
            "the version is 24.0.1, the condition asks for one from 25.0 to 25.9",
        ),
        (
            "versionGE(TARGET.CondorVersion, \"23.0\")",
            "versionGE() compares the whole text with at least 23.0; write split(TARGET.CondorVersion)[1] for the number of the version",
        ),
        (
            "TARGET.CondorVersion >= \"25.0.0\"",
            "versions are compared as strings here; write versionGE(split(TARGET.CondorVersion)[1], \"25.0.0\")",
        ),
    ] {
        expect(&[&old], &job(clause), said, "");
    }
    expect(
        &[&old, &older],
        &job("versionGE(split(TARGET.CondorVersion)[1], \"25.0.0\")"),
        "the versions are \"23.5.2\" (1), \"24.0.1\" (1), the condition asks for at least 25.0.0",
        "",
    );
}

#[test]
fn limits_of_time_have_their_unit() {
    let slot = |clause: &str| plain_slot("slot1@a", &format!("KeyboardIdle = 20; Requirements = {clause};"));
    for (clause, job, said) in [
        ("TARGET.MaxWallTimeMins <= 2880", "MaxWallTimeMins = 86400", "the job has 86400 minutes"),
        ("TARGET.SiteLimitHours < 24", "SiteLimitHours = 72", "the job has 72 hours"),
        ("KeyboardIdle > 900", "A = 1", "the slot has 20 seconds"),
        ("TARGET.JobMaxVacateTime < 60", "JobMaxVacateTime = 600", "the job has 600 seconds"),
    ] {
        expect(&[&slot(clause)], &format!("[ {job} ]"), said, "");
    }
}

#[test]
fn a_shared_file_system_is_replaced_by_file_transfer() {
    let slot = "[ FileSystemDomain = \"node\"; HasFileTransfer = true; Requirements = true ]";
    let job = |transfer: &str| {
        format!(
            "[ ShouldTransferFiles = \"{transfer}\"; FileSystemDomain = \"submit\";
               Requirements = TARGET.FileSystemDomain == MY.FileSystemDomain ]"
        )
    };
    let note = "submit it with should_transfer_files = YES";
    expect(&[slot], &job("NO"), note, "should_transfer_files = YES: 1 more slot");
    // Ads with few attributes.
    expect(&[&slot.replace("HasFileTransfer = true; ", "")], &job("NO"), note, "should_transfer_files = YES");
    let (_, suggestions) = explain(&[&slot.replace("Transfer = true", "Transfer = false")], &job("NO"));
    assert!(!suggestions.iter().any(|it| it.contains("should_transfer_files")), "{suggestions:?}");
    // The clause was written by the owner of the job.
    let (sentences, suggestions) = explain(&[slot], &job("YES"));
    assert!(
        !sentences[0].contains(note) && suggestions[0].starts_with("without "),
        "{sentences:?} {suggestions:?}"
    );
}

#[test]
fn names_that_a_condition_tests_are_not_quoted() {
    for requirements in [
        "!isUndefined(AcctGroup)",
        "ifThenElse(isUndefined(AcctGroup), false, true)",
        "AcctGroup isnt undefined",
        "AcctGroup =!= undefined",
        "(AcctGroup ?: \"none\") != \"none\"",
        "AcctGroup != \"\"",
        "isString(AcctGroup)",
    ] {
        let (sentences, suggestions) =
            explain(&[&format!("[ Requirements = {requirements} ]")], "[ Owner = \"ann\" ]");
        assert!(!sentences[0].contains("quoted"), "{requirements}: {sentences:?}");
        assert!(
            !suggestions.iter().any(|it| it.contains("\"AcctGroup\"")),
            "{requirements}: {suggestions:?}"
        );
    }
    let (sentences, _) =
        explain(&["[ Arch = \"X86_64\"; Requirements = true ]"], "[ Requirements = TARGET.Arch == X86_64 ]");
    assert!(sentences[0].contains("a string must be quoted: \"X86_64\""), "{sentences:?}");
}

#[test]
fn the_largest_slot_is_the_largest_of_all() {
    let divided = "[ Name = \"p\"; PartitionableSlot = true; TotalSlotCpus = 16; Cpus = 4; Requirements = TARGET.RequestCpus <= Cpus ]";
    let whole = "[ Name = \"q\"; Cpus = 64; Requirements = TARGET.RequestCpus <= Cpus ]";
    let job = "[ RequestCpus = 100 ]";
    expect(&[divided, whole], job, "the largest, q, has only 64 Cpus", "RequestCpus 64 instead of 100");
    let drained = whole.replace("Cpus = 64", "PartitionableSlot = true; TotalSlotCpus = 64; Cpus = 64");
    expect(&[divided, &drained], job, "the largest, q, has only 64 Cpus", "");
    expect(&[divided], job, "the largest, p, has only 16 Cpus when nothing uses it", "");
}

#[test]
fn several_wrong_requests_are_corrected_together() {
    let slot = "[ Cpus = 4; Memory = 4000; Disk = 100000;
        Requirements = TARGET.RequestCpus <= Cpus && TARGET.RequestMemory <= Memory && TARGET.RequestDisk <= Disk ]";
    let job = "[ RequestCpus = 100; RequestMemory = 100000; RequestDisk = 99999999 ]";
    let (_, suggestions) = explain(&[slot], job);
    assert_eq!(
        suggestions,
        [
            "RequestCpus 4 instead of 100, RequestMemory 4000 instead of 100000 and RequestDisk 100000 instead of 99999999: 1 more slot"
        ]
    );
    // No slot has the largest amount of both resources.
    let uneven = slot.replace("Cpus = 4", "Cpus = 8").replace("Memory = 4000", "Memory = 2000");
    let (_, suggestions) = explain(&[slot, &uneven], job);
    assert_eq!(suggestions.len(), 1, "{suggestions:?}");
}

#[test]
fn literals_in_requirements_are_explained() {
    let slot = "[ Arch = \"X86_64\"; Cpus = 1; Requirements = TARGET.RequestCpus <= Cpus ]";
    let undefined = "[ RequestCpus = 1; Requirements = TARGET.Arch == \"X86_64\" && undefined ]";
    let (_, suggestions) = explain(&[slot], undefined);
    assert_eq!(suggestions, ["without undefined in Requirements: 1 more slot"]);
    let (sentences, _) = explain(&[slot], "[ RequestCpus = error ]");
    assert!(
        sentences[0].contains("RequestCpus is an error") && !sentences[0].contains("classad"),
        "{sentences:?}"
    );
}

#[test]
fn attributes_that_the_schedd_maintains_are_not_suggested() {
    let slot = "[ Requirements = TARGET.RemoteWallClockTime < 3600 && TARGET.NumJobStarts < 3 ]";
    let (_, suggestions) = explain(&[slot], "[ RemoteWallClockTime = 7200; NumJobStarts = 9 ]");
    assert!(suggestions.is_empty(), "{suggestions:?}");
}

#[test]
fn a_version_that_is_compared_as_a_string_is_suggested_as_a_number() {
    let slot = plain_slot(
        "slot1@a",
        "CondorVersion = \"$CondorVersion: 25.14.0 2026-01-01 $\"; Requirements = true;",
    );
    expect(
        &[&slot],
        "[ Requirements = TARGET.CondorVersion >= \"$CondorVersion: 9.0.0 2021-04-14 $\" ]",
        "write versionGE(split(TARGET.CondorVersion)[1], \"9.0.0\")",
        "",
    );
}
