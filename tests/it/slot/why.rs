//! Tests of `htc-slot-run explain --summary`: jobs of public reports are explained on one screen, by the sentence that answers
//! them.

use std::process::{Command, Output};

use serde::Deserialize;

use crate::support::point::Point;

const CASES: &str = include_str!("../../data/why_cases.toml");

const JOB: &str = "ClusterId = 1\nProcId = 0\nOwner = \"ann\"\nJobUniverse = 5\nRequestCpus = 1\nRequestMemory = 1024\n\
                   RequestDisk = 1024\n";

const SLOT: &str = "MyType = \"Machine\"\nCpus = 8\nMemory = 16384\nDisk = 100000000\nArch = \"X86_64\"\nOpSys = \"LINUX\"\n\
                    Start = true\nRequirements = START && WithinResourceLimits\n\
                    WithinResourceLimits = TARGET.RequestCpus <= MY.Cpus && TARGET.RequestMemory <= MY.Memory && \
                    TARGET.RequestDisk <= MY.Disk\n";

#[derive(Deserialize)]
struct Cases {
    case: Vec<Case>,
}

#[derive(Deserialize)]
struct Case {
    source: String,
    #[serde(default = "no_slot")]
    status: i32,
    job: Vec<String>,
    slots: Vec<Vec<String>>,
    says: Vec<String>,
}

fn no_slot() -> i32 {
    1
}

fn explain(directory: &std::path::Path, jobs: &str, slots: &str, more: &[&str]) -> Output {
    std::fs::write(directory.join("jobs"), jobs).unwrap();
    std::fs::write(directory.join("slots"), slots).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_htc-slot-run"));
    command.current_dir(directory).args(["explain", "--ads", "jobs", "--slot-ads", "slots"]).args(more);
    command.output().unwrap()
}

/// Returns the number of lines that a text takes on a screen of 80 columns.
fn screen_lines(text: &str) -> usize {
    text.lines().map(|line| line.chars().count().div_ceil(80).max(1)).sum()
}

#[test]
fn pairs_show_suggestions_and_why_no_slot_is_considered() {
    let directory = tempfile::tempdir().unwrap();
    let slots = format!("Name = \"slot1@a\"\n{SLOT}")
        .replace("START && WithinResourceLimits", "( START ) && ( WithinResourceLimits )");
    let pairs = |lines: &str| {
        let output = explain(directory.path(), &format!("{JOB}{lines}"), &slots, &[]);
        assert_eq!(output.status.code(), Some(1), "{lines}");
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    let large = pairs("RequestMemory = 20000\n");
    assert!(
        large.contains(
            "TARGET.RequestMemory <= MY.Memory is false (TARGET.RequestMemory = 20000, MY.Memory = 16384)"
        ),
        "{large}"
    );
    assert!(large.ends_with("  try RequestMemory 16384 instead of 20000: 1 more slot\n"), "{large}");
    let held = pairs("JobStatus = 5\nHoldReason = \"too big\"\n");
    let reason = "the job is held until condor_release (1.0: too big)";
    assert!(held.starts_with(&format!("slot1@a refuses job 1.0: {reason}\n\n")), "{held}");
    assert!(held.ends_with(&format!("        1        1  {reason}\n")), "{held}");
    let arch = pairs("Requirements = TARGET.Arch == \"ARM\"\n");
    assert!(arch.ends_with("  no slot has Arch = \"ARM\"\n"), "{arch}");
}

#[test]
fn reasons_outside_of_conditions_are_warnings() {
    let directory = tempfile::tempdir().unwrap();
    let told = |job: &str, slot: &str| {
        let slots = format!("Name = \"slot1@a\"\n{SLOT}{slot}");
        let output = explain(directory.path(), &format!("{JOB}{job}"), &slots, &[]);
        assert_eq!(output.status.code(), Some(0));
        String::from_utf8_lossy(&output.stderr).into_owned()
    };
    let refused = told("LastRejMatchReason = \"concurrency limit matlab reached\"\n", "");
    assert!(refused.contains("last reason to refuse it was: concurrency limit matlab reached"), "{refused}");
    let asleep = told("", "Offline = true\n");
    assert!(asleep.contains("1 slot of machines that are asleep (Offline), such as slot1@a"), "{asleep}");
    assert!(told("JobUniverse = 11\n", "").contains("DedicatedScheduler"));
    assert_eq!(told("", ""), "");
}

#[test]
fn files_in_place_of_other_arguments_are_reported() {
    let directory = tempfile::tempdir().unwrap();
    let slots = format!("Name = \"slot1@a\"\n{SLOT}");
    let told = |jobs: &str, slots: &str, more: &[&str]| {
        let output = explain(directory.path(), jobs, slots, more);
        String::from_utf8_lossy(&output.stderr).into_owned()
    };
    let swapped = told(&slots, JOB, &[]);
    assert!(swapped.contains("contains slot ads (MyType = \"Machine\") instead of job ads"), "{swapped}");
    let divided = told(&JOB.replace("JobUniverse", "\nJobUniverse"), &slots, &[]);
    assert!(divided.contains("ad 2 has no ClusterId"), "{divided}");
    let absent = told(JOB, &slots, &["node1"]);
    assert!(absent.contains("no ad has the Name 'node1'") && absent.contains("slot1@a"), "{absent}");
    let file = told(JOB, &slots, &["jobs", "slots"]);
    assert!(file.contains("--ads jobs"), "{file}");
    let submit = told("executable = /bin/true\nqueue 5\n", &slots, &[]);
    assert!(submit.contains("submit description"), "{submit}");
}

#[test]
fn jobs_of_public_reports_are_explained_on_the_first_screen() {
    let cases: Cases = toml::from_str(CASES).unwrap();
    assert!(cases.case.len() >= 20);
    let directory = tempfile::tempdir().unwrap();
    for case in cases.case {
        let job = case.job.iter().fold(JOB.to_owned(), |text, line| text + line + "\n");
        let slot = |(at, lines): (usize, &Vec<String>)| {
            let text = format!("Name = \"slot1@node{at}\"\n{SLOT}");
            lines.iter().fold(text, |text, line| text + line + "\n") + "\n"
        };
        let slots: String = case.slots.iter().enumerate().map(slot).collect();
        let output = explain(directory.path(), &job, &slots, &["--summary"]);
        let text = String::from_utf8_lossy(&output.stdout);
        assert_eq!(output.status.code(), Some(case.status), "{}: {text}", case.source);
        for sentence in &case.says {
            assert!(text.contains(sentence), "{}: '{sentence}' is missing:\n{text}", case.source);
        }
        assert!(screen_lines(&text) <= 23, "{}:\n{text}", case.source);
    }
}

#[test]
fn any_number_of_jobs_and_slots_fits_one_screen() {
    let mut jobs = String::new();
    for number in 0..400 {
        let requirements = format!(
            "TARGET.HasSoftware{0} && TARGET.Version{0} >= {number} && TARGET.Arch == \"ARM\"",
            number % 37
        );
        jobs += &format!(
            "{JOB}ProcId = {number}\nRequestMemory = {}\nRequirements = {requirements}\n\n",
            number * 1000
        );
    }
    let slots: String = (0..90)
        .map(|at| {
            format!(
                "Name = \"slot1@node{at}\"\n{SLOT}Memory = {}\nHasSoftware{} = true\n\n",
                at * 700,
                at % 41
            )
        })
        .collect();
    let directory = tempfile::tempdir().unwrap();
    for more in [&[][..], &["--by-slot"]] {
        let output = explain(directory.path(), &jobs, &slots, more);
        let text = String::from_utf8_lossy(&output.stdout);
        assert_eq!(output.status.code(), Some(1), "{text}");
        assert!(screen_lines(&text) <= 23 && text.lines().count() > 8, "{text}");
        assert!(
            text.starts_with(if more.is_empty() { "400 jobs of 400 kinds" } else { "90 slots of 90 kinds" }),
            "{text}"
        );
    }
    let page = directory.path().join("page.html");
    let output = explain(directory.path(), &jobs, &slots, &["--html", "page.html"]);
    assert_eq!(output.status.code(), Some(1));
    let page = std::fs::read_to_string(page).unwrap();
    assert!(page.starts_with("<!DOCTYPE html>") && page.ends_with("</html>\n"));
    assert_eq!(page.matches("<h2 ").count(), 400);
}

#[test]
fn few_pairs_are_printed_one_by_one_and_many_are_summarised() {
    let directory = tempfile::tempdir().unwrap();
    let slots = |count: usize| -> String {
        (0..count).map(|at| format!("Name = \"slot1@node{at}\"\n{SLOT}\n")).collect()
    };
    let text = |output: &Output| String::from_utf8_lossy(&output.stdout).into_owned();
    let few = explain(directory.path(), JOB, &slots(10), &[]);
    assert_eq!((text(&few).lines().count(), few.status.code()), (10, Some(0)));
    assert!(text(&few).starts_with("slot1@node0 accepts job 1.0: rank 0\n"), "{}", text(&few));
    let many = explain(directory.path(), JOB, &slots(11), &[]);
    assert_eq!(
        (text(&many).as_str(), many.status.code()),
        ("1 job of 1 kind, 11 slots of 1 kind: the job has a slot; every slot accepts a job\n", Some(0))
    );
    let pairs = explain(directory.path(), JOB, &slots(11), &["--pairs"]);
    assert_eq!(text(&pairs).lines().count(), 11);
    // The job's own Requirements count for slots that get jobs from a negotiator.
    let job = format!("{JOB}Requirements = TARGET.HasDocker\n");
    let refused = explain(directory.path(), &job, &slots(1), &[]);
    assert_eq!(
        (text(&refused).as_str(), refused.status.code()),
        (
            "slot1@node0 refuses job 1.0: the job's Requirements are not true for this slot: TARGET.HasDocker is undefined (TARGET.HasDocker = undefined)\n\n\
             1 job of 1 kind, 1 slot of 1 kind: no job has a slot; 1 slot accepts no job\n\n\
             job 1.0: no slot\n  refuses    alone  (of 1 slot)\n        1        1  no slot has HasDocker\n  \
             try without TARGET.HasDocker: 1 more slot\n",
            Some(1)
        )
    );
}

fn match_explained(directory: &std::path::Path, more: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_htc-classad-eval"));
    command.current_dir(directory).args(["--ads", "jobs", "--match", "slots", "--explain"]).args(more);
    command.output().unwrap()
}

#[test]
fn a_match_of_many_ads_is_explained_by_the_same_screen_rows_and_page() {
    let directory = tempfile::tempdir().unwrap();
    let job = |process: usize, memory: usize| {
        format!(
            "{JOB}ProcId = {process}\nRequestMemory = {memory}\n\
             Requirements = TARGET.Arch == \"X86_64\" && TARGET.HasDocker\n\n"
        )
    };
    let jobs: String = (0..8).map(|at| job(at, 8_000 * (1 + at % 3))).collect();
    let slot = |at: usize| {
        let docker = if at == 1 { "HasDocker = true\n" } else { "" };
        format!("Name = \"slot1@node{at}\"\n{SLOT}{docker}\n")
    };
    let slots: String = (0..6).map(slot).collect();
    for more in [&[][..], &["--summary", "--json"], &["--summary", "--jsonl"], &["--html", "page.html"]] {
        let own = explain(directory.path(), &jobs, &slots, more);
        let page = std::fs::read(directory.path().join("page.html")).unwrap_or_default();
        let other = match_explained(directory.path(), more);
        assert_eq!(String::from_utf8_lossy(&own.stdout), String::from_utf8_lossy(&other.stdout), "{more:?}");
        assert_eq!((own.status.code(), other.status.code()), (Some(1), Some(1)), "{more:?}");
        assert_eq!(page, std::fs::read(directory.path().join("page.html")).unwrap_or_default());
        assert!(!own.stdout.is_empty());
    }
    // A small number of pairs is printed one by one, and the exit status says whether each job has a slot.
    let few = explain(directory.path(), &job(0, 100), &slot(1), &[]);
    assert_eq!((few.status.code(), match_explained(directory.path(), &[]).status.code()), (Some(0), Some(0)));
    std::fs::write(directory.path().join("slots"), slot(0)).unwrap();
    let refused = match_explained(directory.path(), &[]);
    let text = String::from_utf8_lossy(&refused.stdout).into_owned();
    assert_eq!(refused.status.code(), Some(1), "{text}");
    assert!(text.contains("why: ") && text.contains("HasDocker"), "{text}");
}

#[test]
fn slots_that_run_jobs_keep_them_unless_they_rank_the_new_one_higher() {
    let directory = tempfile::tempdir().unwrap();
    let claimed = "State = \"Claimed\"\nActivity = \"Busy\"\nRemoteUser = \"bob@x\"\nCurrentRank = 3.0\nRank = TARGET.Prio\n";
    let slots: String = (0..12).map(|at| format!("Name = \"slot1@node{at}\"\n{SLOT}{claimed}\n")).collect();
    let low = format!("{JOB}Prio = 3\n");
    let refused = explain(directory.path(), &low, &slots, &[]);
    let text = String::from_utf8_lossy(&refused.stdout).into_owned();
    assert_eq!(refused.status.code(), Some(1), "{text}");
    let sentence = "claimed: the slot's Rank of this job is 3, not higher than 3, that of the job it runs";
    assert!(text.contains("       12       12") && text.replace('\n', " ").contains(sentence), "{text}");
    assert_eq!(explain(directory.path(), &low, &slots, &["--ignore-claims"]).status.code(), Some(0));
    let high = format!("{JOB}Prio = 4\n");
    assert_eq!(explain(directory.path(), &high, &slots, &[]).status.code(), Some(0));
    // One pair: the same reason, and who has the slot.
    let one = format!("Name = \"slot1@node\"\n{SLOT}{claimed}\n");
    let refused = explain(directory.path(), &low, &one, &[]);
    let text = String::from_utf8_lossy(&refused.stdout).into_owned();
    assert!(text.starts_with(&format!("slot1@node refuses job 1.0: {sentence}\n")), "{text}");
    assert!(text.contains("RemoteUser = \"bob@x\""), "{text}");
    // A partitionable slot has the resources that its dynamic slots leave.
    let partitionable = one.replace("Activity", "PartitionableSlot = true\nActivity");
    assert_eq!(explain(directory.path(), &low, &partitionable, &[]).status.code(), Some(0));
}

#[test]
fn the_slots_of_a_running_execution_point_are_explained_with_their_claims() {
    let point = Point::new().parameter("FetchWorkDelay = 300").parameter("RANK = TARGET.Prio");
    let control = point.path("control").display().to_string();
    let job =
        format!("{JOB}Cmd = \"/bin/sleep\"\nArgs = \"600\"\nPrio = 2\nRequestMemory = 1\nRequestDisk = 1\n");
    let file = point.path("jobs").display().to_string();
    std::fs::write(&file, &job).unwrap();
    let point = point.arguments(["--control", &control]);
    let mut child = point.start();
    point.wait_for(&mut child, &[("event", "verdict"), ("verdict", "no work")]);
    let free = point.ask(["explain", "--ads", &file]);
    let text = |output: &Output| String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!((text(&free).as_str(), free.status.code()), ("slot1 accepts job 1.0: rank 2\n", Some(0)));
    assert!(point.ask(["claim", "slot1", "--ads", &file]).status.success());
    let busy = point.ask(["explain", "--ads", &file]);
    assert_eq!(busy.status.code(), Some(1), "{}", text(&busy));
    assert!(
        text(&busy).starts_with(
            "slot1 refuses job 1.0: claimed: the slot's Rank of this job is 2, not higher than 2"
        ),
        "{}",
        text(&busy)
    );
    assert_eq!(point.ask(["explain", "--ignore-claims", "--ads", &file]).status.code(), Some(0));
    assert!(point.ask(["release-claim", "slot1"]).status.success());
    assert!(point.ask(["drain", "--reason", "a new kernel"]).status.success());
    let drained = point.ask(["explain", "--summary", "--ads", &file]);
    assert_eq!(drained.status.code(), Some(1), "{}", text(&drained));
    assert!(text(&drained).contains(" is false: the slot is draining"), "{}", text(&drained));
    assert!(point.ask(["off", "--fast"]).status.success());
    point.end(child);
}

/// Jobs of several batches, which several threads read: literals, expressions that differ little, bad lines, other names.
fn many_jobs(valid: bool) -> String {
    let mut jobs = String::new();
    for number in 0..9_000 {
        let kind = number * 7919 % 37;
        let load = ["1E-17", "3E-17", "0.5", "2"][kind % 4];
        jobs += &format!(
            "ClusterId = {}\nProcId = {}\nOwner = \"user{}\"\nJobUniverse = 5\nRequestCpus = {}\nRequestMemory = {}\n\
             RequestDisk = 100\nRequirements = TARGET.Load > {load} && TARGET.Memory >= RequestMemory\n",
            number / 10,
            number % 10,
            kind % 5,
            1 + kind % 3,
            kind * 400
        );
        if number % 1000 == 999 {
            jobs += &format!("RequestLicense{} = 1\nRequirements = TARGET.Late{kind} =!= true\n", kind % 2);
        }
        if !valid && number % 1500 == 7 {
            jobs += "Bad = = 1\n";
        }
        jobs += &format!("Padding = \"{}\"\nQDate = {number}\n\n", "x".repeat(60));
    }
    jobs
}

fn slots_with_load() -> String {
    let slot = |at: usize| {
        let load = ["2E-17", "1.5", "0"][at % 3];
        format!("Name = \"slot1@node{at}\"\n{SLOT}Memory = {}\nLoad = {load}\n\n", at * 900)
    };
    (0..12).map(slot).collect()
}

#[test]
fn jobs_that_several_threads_read_are_grouped_as_those_read_one_by_one() {
    let directory = tempfile::tempdir().unwrap();
    let text = |output: &[u8]| String::from_utf8_lossy(output).into_owned();
    let fast = explain(directory.path(), &many_jobs(true), &slots_with_load(), &["--summary", "--json"]);
    let eval = |words: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_htc-classad-eval"));
        command.current_dir(directory.path()).args(words).output().unwrap()
    };
    // Ads in JSON are read by one thread, and as a whole.
    let json = eval(&["--ads", "jobs", "--jsonl"]);
    let plain = explain(directory.path(), &text(&json.stdout), &slots_with_load(), &["--summary", "--json"]);
    assert_eq!(text(&fast.stdout), text(&plain.stdout));
    assert_eq!(fast.status.code(), plain.status.code());
    std::fs::write(directory.path().join("jobs"), many_jobs(true)).unwrap();
    let count = eval(&["--ads", "jobs", "--match", "slots", "--count"]);
    let pairs = eval(&["--ads", "jobs", "--match", "slots"]);
    assert_eq!(text(&count.stdout).trim(), text(&pairs.stdout).lines().count().to_string());
}

#[test]
fn bad_lines_have_the_same_places_whether_jobs_are_grouped_or_not() {
    let directory = tempfile::tempdir().unwrap();
    let messages = |more: &[&str]| {
        let output = explain(directory.path(), &many_jobs(false), &slots_with_load(), more);
        String::from_utf8_lossy(&output.stderr).into_owned()
    };
    let grouped = messages(&["--summary"]);
    assert_eq!(grouped, messages(&["--pairs", "--quiet"]));
    assert!(grouped.contains("jobs:86:7: ") && grouped.contains("jobs:82605:7: "), "{grouped}");
}

/// `--pairs` and `htc-classad-eval --match --explain` have the hints of the summary for each pair.
#[test]
fn pairs_have_the_hints_of_the_summary() {
    let directory = tempfile::tempdir().unwrap();
    let slot = format!(
        "Name = \"slot1@node0\"\n{SLOT}HasSingularity = true\nClockMin = 1020\n\
         CondorVersion = \"$CondorVersion: 24.0.1 2024-10-31 BuildID: 1 $\"\n"
    );
    let slot = slot.replace("START && WithinResourceLimits", "ClockMin >= 18 * 60");
    let job = format!(
        "{JOB}Requirements = TARGET.HasSingularty && versionGE(split(TARGET.CondorVersion)[1], \"25.0.0\")\n"
    );
    let output = explain(directory.path(), &job, &slot, &["--pairs"]);
    let pairs = String::from_utf8_lossy(&output.stdout).into_owned();
    let output = match_explained(directory.path(), &[]);
    let matched = String::from_utf8_lossy(&output.stdout).into_owned();
    for text in [&pairs, &matched] {
        for hint in [
            "hint: ClockMin is 1020, that is 17:00\n",
            "hint: 18 * 60 is 18:00\n",
            "hint: did you mean TARGET.HasSingularity instead of TARGET.HasSingularty?\n",
            "hint: the version is 24.0.1, the condition asks for at least 25.0.0\n",
        ] {
            assert!(text.contains(hint), "{hint}: {text}");
        }
    }
}

/// The first screen of few pairs names the cause and what to change, also for slots of older pools, whose Requirements have
/// parentheses around the names.
#[test]
fn few_pairs_are_followed_by_the_summary_if_a_job_has_no_slot() {
    let directory = tempfile::tempdir().unwrap();
    let slot = format!(
        "Name = \"slot1@node0\"\n{}\n",
        SLOT.replace("START && WithinResourceLimits", "( START ) && ( WithinResourceLimits )")
    );
    let job = format!("{JOB}RequestMemory = 16777216\n");
    let text = |more: &[&str]| {
        let output = explain(directory.path(), &job, &slot, more);
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    let pair = "slot1@node0 refuses job 1.0: WithinResourceLimits is not true for this job: \
                TARGET.RequestMemory <= MY.Memory is false (TARGET.RequestMemory = 16777216, MY.Memory = 16384)\n";
    assert_eq!(text(&["--pairs"]), pair);
    let few = text(&[]);
    assert!(few.starts_with(pair), "{few}");
    assert!(few.ends_with("  try RequestMemory 16384 instead of 16777216: 1 more slot\n"), "{few}");
    assert_eq!(few[pair.len() + 1..], text(&["--summary"]));
}

/// Returns the standard output of a summary.
fn summary(directory: &std::path::Path, jobs: &str, slots: &str) -> String {
    let output = explain(directory, jobs, slots, &["--summary"]);
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[test]
fn the_correction_remains_where_values_are_long() {
    let directory = tempfile::tempdir().unwrap();
    let name = |at: u32| format!("gpu-node-00{at}.rack17.cluster.physics.university.example.org");
    let slots: String = (0..6)
        .map(|at| {
            format!("Name = \"slot1@{0}\"\nMachine = \"{0}\"\nFileSystemDomain = \"{0}\"\n{SLOT}\n", name(at))
        })
        .collect();
    let job = "ShouldTransferFiles = \"NO\"\nFileSystemDomain = \"submit-01.cluster.physics.university.example.org\"\n";
    let job = format!("{JOB}{job}Requirements = TARGET.FileSystemDomain == MY.FileSystemDomain\n");
    let text = summary(directory.path(), &job, &slots);
    assert!(text.contains("; submit it with should_transfer_files = YES\n"), "{text}");
    assert!(text.contains("and 5 more values"), "{text}");
    assert!(text.contains("  try should_transfer_files = YES: 6 more slots\n"), "{text}");
    for condition in
        ["TARGET.Machine =?= \"GPU-NODE-003", "regexp(\"GPU-NODE\", TARGET.Machine) && TARGET.Machine =!= \""]
    {
        let rest = ".rack17.cluster.physics.university.example.org\"";
        let job = format!("{JOB}Requirements = {condition}{rest}\n");
        let text = summary(directory.path(), &job, &slots);
        assert!(text.contains("compares case-sensitively") || text.contains("regexp() compares"), "{text}");
    }
}

#[test]
fn claims_and_states_of_jobs_count_beside_clauses() {
    let directory = tempfile::tempdir().unwrap();
    let claimed = "State = \"Claimed\"\nRemoteOwner = \"eve\"\nCurrentRank = 0.0\nRank = 0.0\n";
    let slots = format!("Name = \"a\"\n{SLOT}{claimed}\nName = \"b\"\n{SLOT}");
    let large = format!("{JOB}RequestCpus = 9\n");
    let text = summary(directory.path(), &large, &slots);
    assert!(text.contains("        2        1  TARGET.RequestCpus <= MY.Cpus"), "{text}");
    assert!(text.contains("        1        0  claimed: "), "{text}");
    let held = summary(directory.path(), &format!("{large}JobStatus = 5\n"), &slots);
    assert!(held.contains("        2        0  TARGET.RequestCpus <= MY.Cpus"), "{held}");
    assert!(held.contains("        2        0  the job is held"), "{held}");
    let by_slot = explain(directory.path(), &large, &slots, &["--by-slot"]);
    let by_slot = String::from_utf8_lossy(&by_slot.stdout).into_owned();
    assert!(by_slot.contains("        1        0  TARGET.RequestCpus <= MY.Cpus"), "{by_slot}");
    assert!(by_slot.contains("        1        1  TARGET.RequestCpus <= MY.Cpus"), "{by_slot}");
}

#[test]
fn a_clause_of_both_sides_is_counted_once_for_each() {
    let directory = tempfile::tempdir().unwrap();
    let clause = "Requirements = TARGET.Owner == \"zed\"\n";
    let jobs: String = (0..8)
        .map(|at| {
            format!("{}Owner = \"u{at}\"\n{clause}\n", JOB.replace("ProcId = 0", &format!("ProcId = {at}")))
        })
        .collect();
    let text = summary(directory.path(), &jobs, &format!("Name = \"a\"\n{clause}"));
    assert!(text.contains("        8 jobs  job's Requirements: TARGET.Owner == \"zed\"\n"), "{text}");
    assert!(text.contains("        8 jobs  slot's Requirements: TARGET.Owner == \"zed\"\n"), "{text}");
    assert!(!text.contains("16 jobs"), "{text}");
    assert!(
        text.contains("  [job's Requirements]\n") && text.contains("  [slot's Requirements]\n"),
        "{text}"
    );
}

#[test]
fn a_job_whose_requirements_cannot_be_read_has_no_slot() {
    let directory = tempfile::tempdir().unwrap();
    let slots = format!("Name = \"a\"\n{SLOT}");
    for count in [1, 3, 4000] {
        let jobs = format!("{JOB}Requirements = TARGET.Arch == \n\n").repeat(count);
        let output = explain(directory.path(), &jobs, &slots, &["--summary"]);
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        assert_eq!(output.status.code(), Some(3), "{text}");
        assert!(text.contains(": no job has a slot;"), "{text}");
        assert!(text.contains("Requirements is error") && !text.contains("  try "), "{text}");
    }
    let pair = explain(directory.path(), &format!("{JOB}Requirements = (\n"), &slots, &["--pairs"]);
    assert!(pair.stdout.starts_with(b"a refuses job 1.0"), "{}", String::from_utf8_lossy(&pair.stdout));
}

#[test]
fn limits_that_only_the_negotiator_counts_are_named() {
    let directory = tempfile::tempdir().unwrap();
    let slots = format!("Name = \"a\"\n{SLOT}");
    for (words, jobs) in [(&[][..], 1), (&["--summary"], 1), (&["--summary"], 4000)] {
        let jobs = format!("{JOB}ConcurrencyLimits = \"matlab, license:2\"\n\n").repeat(jobs);
        let output = explain(directory.path(), &jobs, &slots, words);
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(0), "{stderr}");
        assert_eq!(
            stderr.matches("ConcurrencyLimits (matlab, license:2) are not compared").count(),
            1,
            "{stderr}"
        );
    }
}

#[test]
fn quotas_of_accounting_groups_are_named_if_the_configuration_has_groups() {
    let point = Point::new();
    let path = point.path("job.ads");
    let job = |group: &str| format!("{JOB}AccountingGroup = \"{group}.ann\"\nAcctGroup = \"{group}\"\n\n");
    let notes = |groups: &str, jobs: &[&str]| {
        std::fs::write(&path, jobs.iter().map(|group| job(group)).collect::<String>()).unwrap();
        std::fs::write(
            point.path("config.groups"),
            format!("NUM_CPUS = 4\nMEMORY = 8000\nDISK = 1000000\nSTART = True\n{groups}"),
        )
        .unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_htc-slot-run"));
        command.args(["explain", "--no-env", "--config-file"]).arg(point.path("config.groups"));
        let output = command.arg("--ads").arg(&path).output().unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(0), "{stderr}");
        stderr
    };
    let groups = "GROUP_NAMES = group_a, group_b, group_b.x\nGROUP_QUOTA_group_a = 20\nGROUP_QUOTA_DYNAMIC_group_b = 0.5\n\
                  GROUP_ACCEPT_SURPLUS_group_b = True\n";
    let text = notes(groups, &["Group_A", "Group_A"]);
    let quota = "the quota of group_a is not compared: the negotiator gives its jobs this part of the pool, and no more \
                 (GROUP_QUOTA_group_a = 20)";
    assert_eq!(text.matches(quota).count(), 1, "{text}");
    let text = notes(groups, &["group_b.y"]);
    assert!(
        text.contains("and more if other groups do not use theirs (GROUP_QUOTA_DYNAMIC_group_b = 0.5)"),
        "{text}"
    );
    let text = notes(groups, &["group_b.x"]);
    assert!(text.contains("GROUP_QUOTA_group_b.x is not set, which means 0"), "{text}");
    let text = notes(groups, &["other"]);
    assert!(
        text.contains(
            "GROUP_NAMES does not contain other, so the negotiator treats the job as one without a group"
        ),
        "{text}"
    );
    let text = notes("", &["group_a"]);
    assert!(!text.contains("AccountingGroup"), "{text}");
}
