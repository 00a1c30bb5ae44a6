//! Tests of texts whose bytes HTCondor determines: input of hooks, files in the scratch directory, result ads, and output under
//! the names of condor tools. None of them has the empty line that ends an ad in the other output of these programs.

use std::fs;
use std::os::unix::fs::{PermissionsExt, chown, symlink};
use std::path::Path;
use std::process::Command;

use crate::support::children::write_executable;

const STARTER_RUN: &str = env!("CARGO_BIN_EXE_htc-starter-run");
const HOOK_TEST: &str = env!("CARGO_BIN_EXE_htc-hook-test");

/// Account of hooks and jobs if the test runs as root.
const NOBODY: u32 = 65534;

/// Creates a directory with a job ad, and hooks that copy their input and the files of the scratch directory to `seen`.
fn prepared_directory() -> tempfile::TempDir {
    let home = tempfile::tempdir().unwrap();
    let place = home.path();
    fs::set_permissions(place, fs::Permissions::from_mode(0o755)).unwrap();
    let mut config = format!(
        "EXECUTE = {0}/execute\nLOG = {0}/log\nSTARTER_JOB_HOOK_KEYWORD = X\nSTARTER_INITIAL_UPDATE_INTERVAL = 1\n",
        place.display()
    );
    for (hook, file) in [("PREPARE_JOB", "prepare"), ("JOB_EXIT", "exit"), ("UPDATE_JOB_INFO", "update")] {
        let script = format!(
            "#!/bin/sh\ncat >{0}/seen/{file}\ncp .job.ad {0}/seen/{file}.job.ad\ncp .machine.ad {0}/seen/{file}.machine.ad\n",
            place.display()
        );
        write_executable(&place.join(file), script.as_bytes());
        config += &format!("X_HOOK_{hook} = {}/{file}\n", place.display());
    }
    for name in ["execute", "log", "seen"] {
        fs::create_dir(place.join(name)).unwrap();
        if nix::unistd::geteuid().is_root() {
            chown(place.join(name), Some(NOBODY), Some(NOBODY)).unwrap();
        }
    }
    fs::write(place.join("condor_config"), config).unwrap();
    let job = "ClusterId = 4\nProcId = 2\nJobUniverse = 5\nOwner = \"nobody\"\nCmd = \"/bin/sh\"\nArguments = \"-c 'sleep 2'\"\nIwd = \"/\"\n";
    fs::write(place.join("job.ad"), job).unwrap();
    fs::write(place.join("slot.ad"), "Name = \"slot1@here\"\nCpus = 1\nMemory = 64\n").unwrap();
    home
}

/// Fails unless a text is one ad in the long form: lines with a name and a value, and no empty line.
fn assert_bare_ad(text: &str, what: &str) {
    assert!(!text.is_empty(), "{what} is empty");
    assert!(text.ends_with('\n') && !text.ends_with("\n\n"), "{what}: {text:?}");
    for line in text.lines() {
        assert!(line.contains(" = ") && !line.ends_with(' ') && !line.ends_with('\r'), "{what}: {line:?}");
    }
}

/// Returns the names of the attributes of an ad, in their order.
fn names(text: &str) -> Vec<&str> {
    text.lines().filter_map(|line| Some(line.split_once(" = ")?.0)).collect()
}

fn run(program: &str, words: &[&str], place: &Path) -> String {
    let output = Command::new(program)
        .args(words)
        .current_dir(place)
        .env("CONDOR_CONFIG", place.join("condor_config"))
        .env("TZ", "UTC")
        .output()
        .unwrap();
    let err = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.code().is_some(), "{program} {words:?}: {err}");
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn ads_for_hooks_and_in_the_scratch_directory_have_no_empty_line() {
    let home = prepared_directory();
    let place = home.path();
    let own = run(
        STARTER_RUN,
        &["-q", "--ads", "job.ad", "--slot-ads", "slot.ad", "--job-output-ad", "own.ad"],
        place,
    );
    assert!(own.ends_with("\n\n") && !own.trim_end().contains("\n\n"), "{own:?}");
    let mut seen_of_own = Vec::new();
    let files = ["prepare", "exit", "update"];
    for file in files
        .iter()
        .flat_map(|hook| [hook.to_string(), format!("{hook}.job.ad"), format!("{hook}.machine.ad")])
    {
        let text = fs::read_to_string(place.join("seen").join(&file)).unwrap_or_default();
        assert_bare_ad(&text, &file);
        seen_of_own.push((file, text));
    }
    let result = fs::read_to_string(place.join("own.ad")).unwrap();
    assert_bare_ad(&result, "own.ad");
    // Under the daemon's name, all these texts are the same.
    let tool = place.join("condor_starter");
    symlink(STARTER_RUN, &tool).unwrap();
    let words = ["-f", "-job-input-ad", "job.ad", "-job-output-ad", "tool.ad"];
    assert_eq!(run(tool.to_str().unwrap(), &words, place), "");
    let of_tool = fs::read_to_string(place.join("tool.ad")).unwrap();
    assert_bare_ad(&of_tool, "tool.ad");
    assert_eq!(names(&result), names(&of_tool));
    for (file, own) in
        seen_of_own.iter().filter(|(file, _)| !file.contains("machine") && !file.contains("update"))
    {
        let text = fs::read_to_string(place.join("seen").join(file)).unwrap();
        assert_bare_ad(&text, file);
        assert_eq!(names(own), names(&text), "{file}");
    }
    // The ad on standard output is the same as in the file.
    let printed =
        run(tool.to_str().unwrap(), &["-f", "-job-input-ad", "job.ad", "-job-output-ad", "-"], place);
    assert_bare_ad(&printed, "standard output");
    assert_eq!(names(&printed), names(&of_tool));
}

#[test]
fn the_input_that_hook_test_shows_and_records_is_what_the_hook_gets() {
    let home = prepared_directory();
    let place = home.path();
    fs::write(place.join("condor_config"), "LOG = .\n").unwrap();
    write_executable(&place.join("keep"), format!("#!/bin/sh\ncat >{0}/got\n", place.display()).as_bytes());
    for hook in
        ["fetch", "prepare", "update", "exit", "translate", "router-update", "cleanup", "reply", "evict"]
    {
        let _ = fs::remove_file(place.join("got"));
        let mut words = vec![hook, "./keep"];
        words.extend(match hook {
            "reply" => Some("accept"),
            "exit" => Some("exit"),
            _ => None,
        });
        run(HOOK_TEST, &[&words[..], &["-q", "--ads", "job.ad", "--keep", "calls"]].concat(), place);
        let got = fs::read(place.join("got")).unwrap_or_else(|error| panic!("{hook}: {error}"));
        let shown = run(HOOK_TEST, &[&words[..], &["-q", "--ads", "job.ad", "--show-input"]].concat(), place);
        let recorded =
            fs::read_dir(place.join("calls")).unwrap().flatten().map(|entry| entry.path().join("stdin"));
        assert!(recorded.into_iter().any(|file| fs::read(file).is_ok_and(|text| text == got)), "{hook}");
        assert!(!got.ends_with(b"\n\n"), "{hook}: {:?}", String::from_utf8_lossy(&got));
        assert!(
            shown.contains(String::from_utf8_lossy(&got).lines().next().unwrap_or_default()),
            "{hook}: {shown}"
        );
    }
}

const QUEUE: &str = "ClusterId = 1\nProcId = 0\nOwner = \"ann\"\nRank = 2.5\nE = A + 1\n\nClusterId = 2\nProcId = 1\nOwner = \"bob\"\n";

/// Output of condor tools for two small ads; a trailing or missing empty line is a difference.
#[test]
fn output_under_the_names_of_condor_tools_has_fixed_bytes() {
    let home = tempfile::tempdir().unwrap();
    let place = home.path();
    fs::write(place.join("condor_config"), "LOG = .\nJOB_ROUTER_ROUTE_NAMES = A\nJOB_ROUTER_ROUTE_A @=e\nUNIVERSE vanilla\nREQUIREMENTS true\n@e\n").unwrap();
    fs::write(place.join("q.ads"), QUEUE).unwrap();
    fs::write(place.join("r.xfm"), "SET New 1\n").unwrap();
    let long = "ClusterId = 1\nE = A + 1\nOwner = \"ann\"\nProcId = 0\nRank = 2.5\n\nClusterId = 2\nOwner = \"bob\"\nProcId = 1\n\n";
    let json = "[\n{\n  \"ClusterId\": 1,\n  \"E\": \"\\/Expr(A + 1)\\/\",\n  \"Owner\": \"ann\",\n  \"ProcId\": 0,\n  \"Rank\": 2.5\n}\n,\n\
        {\n  \"ClusterId\": 2,\n  \"Owner\": \"bob\",\n  \"ProcId\": 1\n}\n]\n";
    for (tool, program, words, expected) in [
        ("condor_q", env!("CARGO_BIN_EXE_htc-classad-eval"), &["-jobads", "q.ads", "-long"][..], long),
        ("condor_q", env!("CARGO_BIN_EXE_htc-classad-eval"), &["-jobads", "q.ads", "-json"], json),
        (
            "condor_q",
            env!("CARGO_BIN_EXE_htc-classad-eval"),
            &["-jobads", "q.ads", "-af", "Owner", "E"],
            "ann undefined\nbob undefined\n",
        ),
        (
            "condor_transform_ads",
            env!("CARGO_BIN_EXE_htc-router-translate"),
            &["-rules", "r.xfm", "-in", "q.ads"],
            "ClusterId = 1\nE = A + 1\nNew = 1\nOwner = \"ann\"\nProcId = 0\nRank = 2.5\n\nClusterId = 2\nNew = 1\nOwner = \"bob\"\nProcId = 1\n\n",
        ),
        ("condor_config_val", env!("CARGO_BIN_EXE_htc-config-dump"), &["LOG"], ".\n"),
    ] {
        let link = place.join(tool);
        if !link.exists() {
            symlink(program, &link).unwrap();
        }
        let out = run(link.to_str().unwrap(), words, place);
        assert_eq!(out, expected, "{tool} {words:?}");
    }
}

/// Queue log of a job and its routed copy, as a schedd writes it.
const QUEUE_LOG: &str = "107 1 CreationTimestamp 1700000000\n101 1.0 Job Machine\n103 1.0 Owner \"ann\"\n103 1.0 JobStatus 1\n\
    103 1.0 QDate 1700000000\n103 1.0 Managed \"External\"\n103 1.0 RoutedToJobId \"2.0\"\n101 2.0 Job Machine\n103 2.0 Owner \"ann\"\n\
    103 2.0 ClusterId 2\n103 2.0 ProcId 0\n103 2.0 JobStatus 2\n103 2.0 QDate 1700000000\n103 2.0 RouteName \"A\"\n103 2.0 RoutedBy \"router\"\n\
    103 2.0 RoutedFromJobId \"1.0\"\n103 2.0 GridResource \"batch slurm, x\"\n103 2.0 Cmd \"/bin/true\"\n103 2.0 Rank 2.5\n103 2.0 E A < 1\n";

const HISTORY: &str = "ClusterId = 2\nProcId = 0\nOwner = \"ann\"\nRouteName = \"A\"\nRoutedFromJobId = \"1.0\"\nJobStatus = 4\n\
    CompletionDate = 1700000000\nRemoteWallClockTime = 3600.0\nGridResource = \"batch slurm\"\nExitCode = 0\nQDate = 1699990000\n\
    *** Offset = 0 ClusterId = 2 ProcId = 0 Owner = \"ann\" CompletionDate = 1700000000\n";

/// Output of the tools of the job router, and of `condor_q -xml`, for a small queue and history.
#[test]
fn output_of_router_tools_and_as_xml_has_fixed_bytes() {
    let home = tempfile::tempdir().unwrap();
    let place = home.path();
    fs::write(
        place.join("condor_config"),
        "LOG = .\nSPOOL = .\nJOB_ROUTER_ROUTE_NAMES = A\nJOB_ROUTER_ROUTE_A @=e\nUNIVERSE vanilla\nREQUIREMENTS true\n@e\n",
    )
    .unwrap();
    for (name, text) in [("q.ads", QUEUE), ("job_queue.log", QUEUE_LOG), ("history", HISTORY)] {
        fs::write(place.join(name), text).unwrap();
    }
    for (tool, program) in [
        ("condor_q", env!("CARGO_BIN_EXE_htc-classad-eval")),
        ("condor_router_q", env!("CARGO_BIN_EXE_htc-router-status")),
        ("condor_router_history", env!("CARGO_BIN_EXE_htc-router-status")),
        ("condor_job_router_info", env!("CARGO_BIN_EXE_htc-router-translate")),
    ] {
        symlink(program, place.join(tool)).unwrap();
    }
    let undefined = "Not defined: JOB_ROUTER_SCHEDD2_NAME\nNot defined: JOB_ROUTER_SCHEDD2_POOL\n";
    let header = "<?xml version=\"1.0\"?>\n<!DOCTYPE classads SYSTEM \"classads.dtd\">\n<classads>\n";
    let ad = |attributes: &[(&str, &str)]| {
        let lines = attributes.iter().map(|(name, value)| format!("    <a n=\"{name}\">{value}</a>\n"));
        format!("<c>\n{}</c>\n", lines.collect::<String>())
    };
    let one = [
        ("ClusterId", "<i>1</i>"),
        ("E", "<e>A + 1</e>"),
        ("Owner", "<s>ann</s>"),
        ("ProcId", "<i>0</i>"),
        ("Rank", "<r>2.500000000000000E+00</r>"),
    ];
    let two = [("ClusterId", "<i>2</i>"), ("Owner", "<s>bob</s>"), ("ProcId", "<i>1</i>")];
    let copy = [
        ("ClusterId", "<i>2</i>"),
        ("Cmd", "<s>/bin/true</s>"),
        ("E", "<e>A &lt; 1</e>"),
        ("GridResource", "<s>batch slurm, x</s>"),
        ("JobStatus", "<i>2</i>"),
        ("Owner", "<s>ann</s>"),
        ("ProcId", "<i>0</i>"),
        ("QDate", "<i>1700000000</i>"),
        ("Rank", "<r>2.500000000000000E+00</r>"),
        ("RoutedBy", "<s>router</s>"),
        ("RoutedFromJobId", "<s>1.0</s>"),
        ("RouteName", "<s>A</s>"),
    ];
    let long = "ClusterId = 2\nCmd = \"/bin/true\"\nE = A < 1\nGridResource = \"batch slurm, x\"\nJobStatus = 2\nOwner = \"ann\"\nProcId = 0\n\
        QDate = 1700000000\nRank = 2.5\nRoutedBy = \"router\"\nRoutedFromJobId = \"1.0\"\nRouteName = \"A\"\n\n";
    for (line, expected) in [
        ("condor_q -jobads q.ads -xml", format!("{header}{}{}</classads>\n", ad(&one), ad(&two))),
        ("condor_router_q -xml", format!("{undefined}{header}{}</classads>\n", ad(&copy))),
        ("condor_router_q -long", format!("{undefined}{long}")),
        ("condor_router_q -af ClusterId RouteName", format!("{undefined}2 A\n")),
        (
            "condor_router_q -S",
            format!(
                "{undefined}   JOBS ST Route                GridResource\n      1  R A                    batch slurm\n"
            ),
        ),
        (
            "condor_router_history",
            "Routed job history from 2023-11-13 23:13 to 2023-11-14 23:13\n\n\
             Site            Hours    Jobs    Runs\n                      Completed Aborted\n\
             -------------------------------------------------------\nA                   1       1     0\n\
             -------------------------------------------------------\nTOTAL               1       1     0\n"
                .to_owned(),
        ),
        (
            "condor_job_router_info -config",
            "\n\nRoute 1\nName         : \"A\"\nSource       : A\nUniverse     : 5\nMaxJobs      : 100\nMaxIdleJobs  : 50\n\
             GridResource : \nRequirements : true\n\tNAME A\n\tUNIVERSE VANILLA\n\tREQUIREMENTS true\n\n"
                .to_owned(),
        ),
        (
            "condor_job_router_info -match-jobs -jobads q.ads",
            "\nMatching jobs against routes to find candidate jobs.\n".to_owned(),
        ),
    ] {
        let words: Vec<&str> = line.split(' ').collect();
        let output = Command::new(place.join(words[0]))
            .args(&words[1..])
            .current_dir(place)
            .env("CONDOR_CONFIG", place.join("condor_config"))
            .env("TZ", "UTC")
            .env("HTC_NOW", "1700003600")
            .output()
            .unwrap();
        let err = String::from_utf8_lossy(&output.stderr);
        assert_eq!(String::from_utf8_lossy(&output.stdout), expected, "{line}: {err}");
    }
}
