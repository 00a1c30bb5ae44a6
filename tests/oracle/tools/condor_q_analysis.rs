//! Command lines of `condor_q -better-analyze` with ads of slots.

use super::{Case, shuffled, words};
use crate::random::Random;

pub(super) fn case(random: &mut Random) -> Case {
    let mut options = vec![words(&["-jobads", "ads"]), words(&["-slotads", "slots"])];
    options.push(words(&[random.word(&[
        "-better-analyze",
        "-better-analyze",
        "-better-analyze",
        "-analyze",
        "-reverse-analyze",
        "-better-analyze:reverse",
        "-better-analyze:summary",
        "-better-analyze:summary,reverse",
        "-better-analyze:priority",
        "-better-analyze:noprune",
        "-better-analyze:slot-exprs",
        "-better-analyze:ifthenelse",
        "-better-analyze:reason",
        "-better-analyze:2",
        "-analyze:4",
        "-analyze:summary",
        "-analyze:reverse,summary",
        "-unmatchable",
    ])]));
    for _ in 0..random.below(3) {
        options.push(match random.below(9) {
            0 => words(&["-verbose"]),
            1 => words(&["-machine", random.word(&["slot1@ep0", "ep1", "slot1@ep1", "nowhere"])]),
            2 => words(&[
                "-mconstraint",
                random.word(&[
                    "Cpus > 1",
                    "Arch == \"X86_64\"",
                    "State == \"Unclaimed\"",
                    "false",
                    "undefined",
                ]),
            ]),
            3 => words(&["-constraint", random.word(&["JobStatus == 1", "Owner == \"ann\"", "false"])]),
            4 => words(&["-nouserprios"]),
            5 => words(&["-userprios", "prios"]),
            6 => words(&[random.word(&["200.0", "201", "202.1", "ann"])]),
            7 => words(&["-nobatch"]),
            _ => words(&["-wide"]),
        });
    }
    let mut jobs = Vec::new();
    for number in 0..1 + random.below(3) {
        job(random, 200 + number, &mut jobs);
    }
    let mut slots = Vec::new();
    for number in 0..random.below(6) {
        slot(random, number, &mut slots);
    }
    let prios =
        words(&["Name = \"ann@x\"", "Priority = 50.0", "", "Name = \"bob@x\"", "Priority = 900.5", ""]);
    let config = words(&["LOG = .", "LOCAL_DIR = .", "CONDOR_HOST = 127.0.0.1"]);
    let files = [("condor_config", config), ("ads", jobs), ("slots", slots), ("prios", prios)];
    let files = files.into_iter().map(|(name, lines)| (name.to_owned(), lines)).collect();
    Case { arguments: shuffled(random, options), files, environment: Vec::new() }
}

fn job(random: &mut Random, cluster: usize, lines: &mut Vec<String>) {
    lines.extend([
        format!("ClusterId = {cluster}"),
        format!("ProcId = {}", random.below(3)),
        format!("Owner = \"{}\"", random.pick(&["ann", "bob"])),
        format!("User = \"{}@x\"", random.pick(&["ann", "bob"])),
        format!("JobStatus = {}", random.pick(&[1, 1, 1, 1, 2, 5, 4, 3])),
        format!("JobUniverse = {}", random.pick(&[5, 5, 5, 5, 5, 11, 7, 12, 9])),
        "Cmd = \"/bin/sim\"".to_owned(),
        "QDate = 1795000000".to_owned(),
        "ServerTime = 1795000100".to_owned(),
        format!("RequestCpus = {}", random.pick(&["1", "2", "8", "1 + 1", "undefined"])),
        format!("RequestMemory = {}", random.pick(&["500", "2000", "64000"])),
        format!("RequestDisk = {}", random.pick(&["1", "100000"])),
    ]);
    let mut some = |odds: usize, name: &str, values: &[&str]| {
        if random.one_in(odds) {
            lines.push(format!("{name} = {}", random.pick(values)));
        }
    };
    some(2, "FileSystemDomain", &["\"x\"", "\"y\""]);
    some(3, "Go", &["true", "false", "MY.Nope"]);
    some(4, "AutoClusterId", &["1", "2"]);
    some(6, "NumMatchRejects", &["3"]);
    some(6, "LastRejMatchReason", &["\"no match found\""]);
    some(6, "LastRejMatchTime", &["1795000000"]);
    some(6, "LastMatchTime", &["1795000000"]);
    some(9, "HoldReason", &["\"held\""]);
    some(9, "RequestGPUs", &["1", "0"]);
    some(9, "Rank", &["TARGET.Mips", "0.0"]);
    some(12, "JobPrio", &["5"]);
    some(8, "Site", &["\"A\""]);
    if !random.one_in(12) {
        lines.push(format!("Requirements = {}", requirements(random, 0)));
    }
    lines.push(String::new());
}

fn requirements(random: &mut Random, depth: usize) -> String {
    let count = 1 + random.below(4);
    let mut text = String::new();
    for at in 0..count {
        if at > 0 {
            let operator = if random.one_in(5) { " || " } else { " && " };
            text.push_str(operator);
        }
        match random.below(14) {
            0 if depth < 2 => text.push_str(&format!("({})", requirements(random, depth + 1))),
            1 if depth < 2 => text.push_str(&format!("!({})", requirements(random, depth + 1))),
            2 if depth < 2 => {
                let (first, second) = (requirements(random, 2), requirements(random, 2));
                text.push_str(&format!("ifThenElse({}, {first}, {second})", clause(random)));
            }
            3 if depth < 2 => {
                let (first, second) = (requirements(random, 2), requirements(random, 2));
                text.push_str(&format!("({} ? {first} : {second})", clause(random)));
            }
            _ => text.push_str(clause(random)),
        }
    }
    text
}

fn clause(random: &mut Random) -> &'static str {
    random.word(&[
        "TARGET.Cpus >= RequestCpus",
        "TARGET.Memory >= RequestMemory",
        "TARGET.Disk >= RequestDisk",
        "TARGET.Arch == \"X86_64\"",
        "TARGET.Arch == \"ARM\"",
        "TARGET.OpSys == \"LINUX\"",
        "(TARGET.Pool == \"a\" || TARGET.Pool == \"b\")",
        "TARGET.HasDocker",
        "TARGET.HasFileTransfer",
        "!TARGET.Offline",
        "TARGET.GPUs > 0",
        "TARGET.Nope > 3",
        "MY.Go",
        "Go =?= true",
        "false",
        "true",
        "time() > 0",
        "stringListMember(TARGET.Site, \"A,B,C\")",
        "TARGET.FileSystemDomain == MY.FileSystemDomain",
        "regexp(\"^ep\", TARGET.Machine)",
        "ifThenElse(TARGET.Fast =?= true, true, TARGET.Mips > 100)",
        "(TARGET.Memory * 2 > RequestMemory && TARGET.Cpus >= 1)",
        "Memory > 100",
        "Cpus isnt undefined",
        "member(TARGET.Site, {\"A\", \"B\"})",
        "TARGET.Mips > 100",
        "TARGET.KeyboardIdle > 200",
        "versionGE(TARGET.CondorVersion, \"9.0\")",
        "undefined",
        "RequestGPUs > 0",
        "7",
    ])
}

fn slot(random: &mut Random, number: usize, lines: &mut Vec<String>) {
    let machine = format!("ep{}", number / (1 + random.below(2)));
    lines.extend([
        "MyType = \"Machine\"".to_owned(),
        format!("Name = \"slot{}@{machine}\"", 1 + random.below(2)),
        format!("Machine = \"{machine}\""),
        format!("Arch = \"{}\"", random.pick(&["X86_64", "X86_64", "aarch64"])),
        "OpSys = \"LINUX\"".to_owned(),
        format!("Memory = {}", random.pick(&[400, 2000, 128_000])),
        format!("Cpus = {}", random.pick(&[1, 4, 64])),
        format!("Disk = {}", random.pick(&[10, 10_000_000])),
        format!(
            "State = \"{}\"",
            random.pick(&["Unclaimed", "Claimed", "Owner", "Matched", "Preempting", "Drained", "Backfill"])
        ),
        format!("Activity = \"{}\"", random.pick(&["Idle", "Busy", "Retiring"])),
    ]);
    let mut some = |odds: usize, name: &str, values: &[&str]| {
        if random.one_in(odds) {
            lines.push(format!("{name} = {}", random.pick(values)));
        }
    };
    some(2, "HasDocker", &["true", "false"]);
    some(4, "HasFileTransfer", &["true"]);
    some(3, "Pool", &["\"a\"", "\"c\""]);
    some(3, "Site", &["\"B\"", "\"D\""]);
    some(4, "Offline", &["true", "false"]);
    some(3, "FileSystemDomain", &["\"x\""]);
    some(3, "Mips", &["500", "50"]);
    some(3, "KeyboardIdle", &["300", "1821"]);
    some(3, "LoadAvg", &["0.1", "1.5"]);
    some(4, "PartitionableSlot", &["true", "false"]);
    some(6, "DynamicSlot", &["true"]);
    some(6, "SlotType", &["\"Partitionable\"", "\"Dynamic\"", "\"Static\""]);
    some(4, "RemoteUser", &["\"ann@x\"", "\"bob@x\""]);
    some(6, "RemoteOwner", &["\"ann@x\"", "\"bob@x\""]);
    some(4, "CurrentRank", &["5.0", "0.0"]);
    some(4, "Rank", &["0", "Owner == \"ann\"", "TARGET.Nope"]);
    some(6, "GPUs", &["1", "0"]);
    some(9, "TotalMemory", &["128000"]);
    some(9, "CondorVersion", &["\"$CondorVersion: 25.14.0 2026-11-20 PRE-RELEASE-UWCS $\""]);
    let start = random.word(&[
        "true",
        "false",
        "undefined",
        "Owner == \"bob\" || JobUniverse == 5",
        "TARGET.Owner != \"ann\"",
        "KeyboardIdle > 900 && LoadAvg < 0.3",
        "TARGET.Project == \"x\"",
        "TARGET.RequestMemory <= MY.Memory",
        "(KeyboardIdle > 900) && (LoadAvg < 0.3 || Owner == \"ann\")",
        "ifThenElse(isUndefined(TARGET.Go), true, TARGET.Go)",
    ]);
    lines.push(format!("Start = {start}"));
    if !random.one_in(12) {
        let requirements =
            random.word(&["Start", "(Start) && (WithinResourceLimits)", "Start && true", "Start || false"]);
        lines.push(format!("Requirements = {requirements}"));
    }
    if random.one_in(2) {
        let limits = random.word(&[
            "true",
            "MY.Cpus > 0 && TARGET.RequestCpus <= MY.Cpus && MY.Memory > 0 && TARGET.RequestMemory <= MY.Memory",
            "false",
        ]);
        lines.push(format!("WithinResourceLimits = {limits}"));
    }
    lines.push(String::new());
}
