//! Tests that all programs which explain matches decide every pair of a job and a slot in the same way.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::support::dice::Dice;
use crate::support::tool::call;

const EVAL: &str = env!("CARGO_BIN_EXE_htc-classad-eval");
const SLOT: &str = env!("CARGO_BIN_EXE_htc-slot-run");
const ROUTER: &str = env!("CARGO_BIN_EXE_htc-router-translate");

/// Number of machines, each with its own START, and of jobs.
const MACHINES: u64 = 8;
const JOBS: u64 = 6;

const CONFIG: &str = "NETWORK_INTERFACE = 127.0.0.1\nDISK = 1000000\nNUM_CPUS = 1\nMEMORY = 2000\nNUM_SLOTS_TYPE_1 = 1\n\
    SLOT_TYPE_1 = 100%\nSLOT_TYPE_1_PARTITIONABLE = False\nFetchWorkDelay = 60\n";

const ROUTE: &str =
    "JOB_ROUTER_NAME = r\nJOB_ROUTER_ROUTE_NAMES = Only\nJOB_ROUTER_ROUTE_Only @=r\n UNIVERSE VANILLA\n";

fn output(program: &str, words: &[&str], place: &Path) -> String {
    let mut command = Command::new(program);
    let command = command.args(words).current_dir(place).env_clear().env("TZ", "UTC");
    String::from_utf8(command.output().unwrap().stdout).unwrap()
}

fn pick<'a>(dice: &mut Dice, from: &[&'a str]) -> &'a str {
    from[dice.next(from.len() as u64) as usize]
}

/// Returns a random condition on a job, with names that only jobs have.
fn condition(dice: &mut Dice, depth: u64) -> String {
    if depth == 0 || dice.next(3) == 0 {
        return match dice.next(5) {
            0 => format!("RequestMemory {} {}", pick(dice, &["<", ">=", "=="]), 500 * dice.next(5)),
            1 => format!("Site {} \"{}\"", pick(dice, &["==", "!=", "=?=", "=!="]), pick(dice, &["A", "b"])),
            2 => pick(dice, &["HasData", "!HasData", "HasData =?= true", "isUndefined(HasData)"]).to_owned(),
            3 => format!("stringListMember(\"{}\", Groups)", pick(dice, &["x", "y"])),
            _ => format!("Prio * 2 {} {}", pick(dice, &["<", ">"]), dice.next(9)),
        };
    }
    let [one, two, three] = [(); 3].map(|()| condition(dice, depth - 1));
    match dice.next(6) {
        0..3 => format!("({one}) && ({two})"),
        3 => format!("({one}) || ({two})"),
        4 => format!("!({one})"),
        _ => format!("ifThenElse({one}, {two}, {three})"),
    }
}

/// Returns the attributes of a random job.
fn job(dice: &mut Dice) -> String {
    let mut lines = format!(
        "JobUniverse = 5\nJobStatus = 1\nOwner = \"ann\"\nRequestCpus = 1\nRequestDisk = 1\nRequestMemory = {}\n",
        500 * dice.next(4)
    );
    let mut add = |dice: &mut Dice, line: &str| {
        if dice.next(4) > 0 {
            lines += line;
        }
    };
    let site = format!("Site = \"{}\"\n", pick(dice, &["a", "A", "b"]));
    add(dice, &site);
    let data = format!("HasData = {}\n", pick(dice, &["true", "false"]));
    add(dice, &data);
    let groups = format!("Groups = \"{}\"\n", pick(dice, &["x", "y,x", ""]));
    add(dice, &groups);
    let prio = format!("Prio = {}\n", dice.next(5));
    add(dice, &prio);
    lines + "Requirements = true\nRank = 0.0\n"
}

/// Returns for each job if `htc-slot-run explain` finds a slot, printing every pair.
fn by_pairs(words: &[&str], place: &Path) -> Vec<bool> {
    let text = output(SLOT, &[&["explain", "--pairs", "--ads", "jobs"], words].concat(), place);
    let decision = |process: u64| {
        let accepts = text.contains(&format!(" accepts job 1.{process}:"));
        assert_ne!(accepts, text.contains(&format!(" refuses job 1.{process}:")), "{text}");
        accepts
    };
    (0..JOBS).map(decision).collect()
}

/// Returns the number of all jobs, and of the jobs that have a slot, from the JSON of a summary.
fn accepted_by_kinds(text: &str) -> (usize, usize) {
    let rows: serde_json::Value =
        serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"));
    let count = |row: &serde_json::Value| {
        let jobs = row["jobs"].as_u64().unwrap() as usize;
        let has_slot = row["accepting_slots"].as_u64().unwrap() > 0;
        (jobs, if has_slot { jobs } else { 0 })
    };
    let counts = rows.as_array().unwrap().iter().map(count);
    counts.fold((0, 0), |all, one| (all.0 + one.0, all.1 + one.1))
}

#[test]
fn all_programs_that_explain_matches_agree() {
    let mut dice = Dice(43);
    let (mut accepted, mut refused) = (0, 0);
    for machine in 0..MACHINES {
        let place = tempfile::tempdir().unwrap();
        let place = place.path();
        let start = condition(&mut dice, 3);
        let jobs: Vec<String> = (0..JOBS).map(|_| job(&mut dice)).collect();
        let with_ids = |(at, job): (usize, &String)| format!("ClusterId = 1\nProcId = {at}\n{job}\n");
        fs::write(place.join("jobs"), jobs.iter().enumerate().map(with_ids).collect::<String>()).unwrap();
        fs::write(place.join("c"), format!("{CONFIG}EXECUTE = {}\nSTART = {start}\n", place.display()))
            .unwrap();
        fs::write(place.join("r"), format!("{ROUTE} REQUIREMENTS {start}\n@r\n")).unwrap();
        fs::write(place.join("condor_config"), "LOG = .\n").unwrap();
        let config = ["--no-env", "--config-file", "c"];
        fs::write(place.join("slots"), output(SLOT, &[&["ads"], &config[..]].concat(), place)).unwrap();

        let expected = by_pairs(&config, place);
        let count = expected.iter().filter(|accepts| **accepts).count();
        let case = || format!("machine {machine}: START = {start}\n{expected:?}\n{}", jobs.join("\n"));
        assert_eq!(by_pairs(&["--slot-ads", "slots"], place), expected, "{}", case());
        let summary = ["explain", "--summary", "--json", "--ads", "jobs"];
        for slots in [&config[..], &["--slot-ads", "slots"]] {
            let text = output(SLOT, &[&summary, slots].concat(), place);
            assert_eq!(accepted_by_kinds(&text), (JOBS as usize, count), "{}", case());
        }
        let matched = output(EVAL, &["--ads", "jobs", "--match", "slots"], place);
        let matched =
            (0..JOBS).map(|process| matched.contains(&format!("job 1.{process}\t"))).collect::<Vec<_>>();
        assert_eq!(matched, expected, "{}", case());
        let words = ["--ads", "jobs", "--match", "slots", "--explain", "--summary", "--json"];
        assert_eq!(accepted_by_kinds(&output(EVAL, &words, place)), (JOBS as usize, count), "{}", case());
        let words = ["--ads", "jobs", "--match", "slots", "--count"];
        assert_eq!(output(EVAL, &words, place), format!("{count}\n"), "{}", case());
        let words = ["match", "--explain", "--summary", "--json", "--no-env", "--config-file", "r", "jobs"];
        assert_eq!(accepted_by_kinds(&output(ROUTER, &words, place)), (JOBS as usize, count), "{}", case());
        let words = ["-jobads", "jobs", "-slotads", "slots", "-better-analyze:summary"];
        let (_, table) = call(EVAL, "condor_q", &words, place);
        let available = |process: u64| {
            let name = format!("1.{process} ");
            let row = table.lines().find(|line| line.starts_with(&name)).unwrap_or_else(|| panic!("{table}"));
            // The columns before the owner are: rejects, own job, other users' jobs, available.
            row.split_whitespace().rev().nth(1) == Some("1")
        };
        assert_eq!((0..JOBS).map(available).collect::<Vec<_>>(), expected, "{}{table}", case());

        let tables = jobs
            .iter()
            .enumerate()
            .map(|(at, job)| format!("[[jobs]]\nname = \"j{at}\"\nruns = '1s'\nad = '''\n{job}'''\n"));
        let scenario = format!("length = '1d'\n[queue]\nrefused = \"back\"\n{}", tables.collect::<String>());
        fs::write(place.join("s.toml"), scenario).unwrap();
        let report = output(SLOT, &[&["simulate", "s.toml", "--json"], &config[..]].concat(), place);
        let report: serde_json::Value = serde_json::from_str(&report).unwrap();
        let ran = report[0]["jobs"]["completed"].as_u64();
        assert_eq!(ran, Some(count as u64), "{}{report}", case());
        (accepted, refused) = (accepted + count, refused + expected.len() - count);
    }
    assert!(accepted > 8 && refused > 8, "{accepted} accepted, {refused} refused");
}
