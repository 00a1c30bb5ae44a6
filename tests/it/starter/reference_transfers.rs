//! Translations of the reference's tests about transferred files: the same jobs, with other files. Each names its original in
//! `src/condor_tests`.

use std::fs;

use crate::support::children::write_executable;
use crate::support::place::{Place, RunResult, shell};

/// Plugin for `dbl` and `null`, which keeps its list of files in the job's Iwd and exits with 17 for `exit17`.
const PLUGIN: &str = r#"#!/bin/sh
[ "$1" = -classad ] && echo 'SupportedMethods = "dbl,null"
MultipleFileSupport = true' && exit
cat "$2" > HERE/list
case $(cat "$2") in
*exit17*) echo '[ TransferSuccess = false; TransferError = "no"; TransferUrl = "dbl://exit17" ]' > "$4"; exit 17;;
esac
echo '[ TransferSuccess = true ]' > "$4"
"#;

fn place() -> Place {
    let place = Place::new().option(&["--as", "shadow"]);
    let text = PLUGIN.replace("HERE", &place.path("iwd").display().to_string());
    write_executable(&place.path("hooks/pl.sh"), text.as_bytes());
    fs::write(place.path("iwd/list"), "").unwrap();
    place.chown_to_nobody("iwd/list");
    let parameter = format!("FILETRANSFER_PLUGINS = {}", place.path("hooks/pl.sh").display());
    place.parameter(&parameter)
}

fn run(place: &Place, script: &str, more: &str) -> RunResult {
    place.run(&format!(
        "{}\nShouldTransferFiles = \"YES\"\nWhenToTransferOutput = \"ON_EXIT\"\nTransferExecutable = false\n\
         UserLog = \"log\"\n{more}",
        shell(script)
    ))
}

/// `test_plugins_dont_see_directories.py`: plugins get the files of a directory, but no directories.
#[test]
fn plugins_are_given_the_files_of_a_directory_and_no_directories() {
    let place = place();
    let script =
        "mkdir -p 1/2/3/4 1/2/a/b 1/c/5 6; touch 1/2/3/4/f0 1/2/a/f1 1/2/a/f2 1/2/a/b/f3 1/2/a/b/f4 1/c/5/f5";
    let result = run(&place, script, "TransferOutput = \"1\"\nOutputDestination = \"null:///x\"");
    assert!(result.has("JobStatus = 4"), "{}\n{}", result.ad, result.stderr);
    let list = fs::read_to_string(place.path("iwd/list")).unwrap();
    let names: Vec<&str> =
        list.split("LocalFileName = \"").skip(1).filter_map(|rest| rest.split('"').next()).collect();
    let mut last: Vec<&str> = names.iter().filter_map(|name| name.rsplit('/').next()).collect();
    last.sort_unstable();
    assert_eq!(last, ["f0", "f1", "f2", "f3", "f4", "f5"], "{list}");
}

/// `test_xfer_hold_codes.py`: the codes of failures at each side and in each direction.
#[test]
fn a_failed_transfer_holds_the_job_with_the_code_of_its_direction() {
    let status = 17 << 8;
    for (more, code, subcode) in [
        ("TransferInput = \"not_there_in\"", 13, 2),
        ("TransferOutput = \"f\"\nTransferOutputRemaps = \"f=/not_there_dir/blah\"", 12, 2),
        ("TransferOutput = \"not_there_out\"", 12, 2),
        ("TransferInput = \"dbl://exit17\"", 13, status),
        ("TransferOutput = \"f\"\nTransferOutputRemaps = \"f=dbl://exit17\"", 12, status),
    ] {
        let result = run(&place(), "touch f", more);
        for line in [format!("HoldReasonCode = {code}"), format!("HoldReasonSubCode = {subcode}")] {
            assert!(result.has(&line), "{more}: {line}\n{}\n{}", result.ad, result.stderr);
        }
    }
}

/// `test_unspecified_checkpoint.py`: a checkpoint of all files does not include those of the starter.
#[test]
fn a_checkpoint_of_everything_has_only_files_of_the_job() {
    let place = place();
    let script = "[ -f ck ] || { touch ck; exit 85; }; ls -a > seen";
    let result = run(
        &place,
        script,
        "SuccessCheckpointExitCode = 85\nWantFTOnCheckpoint = true\nCheckpointExitCode = 85",
    );
    assert!(result.has("JobStatus = 4"), "{}\n{}", result.ad, result.stderr);
    let seen = fs::read_to_string(place.path("iwd/seen")).unwrap();
    assert!(seen.lines().any(|name| name == "ck"), "{seen}");
    let names = fs::read_dir(place.path("iwd")).unwrap().flatten();
    let hidden: Vec<_> =
        names.map(|entry| entry.file_name()).filter(|name| name.as_encoded_bytes()[0] == b'.').collect();
    assert!(hidden.is_empty(), "{hidden:?}");
}

/// `job_filexfer_minus1_van.run`: one of several output files is missing, and the others arrive.
#[test]
fn one_missing_output_file_holds_the_job_and_the_others_arrive() {
    let place = place();
    let result = run(&place, "touch d e f", "TransferOutput = \"d,e,f,g\"");
    assert!(result.has("HoldReasonCode = 12") && result.ad.contains("1 total failures"), "{}", result.ad);
    for (name, arrives) in [("d", true), ("e", true), ("f", true), ("g", false)] {
        assert_eq!(place.path(&format!("iwd/{name}")).exists(), arrives, "{name}");
    }
}

/// `test_manifest.py`: the manifest lists the files that existed before and after the job.
#[test]
fn the_manifest_lists_the_files_before_and_after_the_job() {
    let place = place();
    fs::write(place.path("iwd/input_file"), "x").unwrap();
    place.chown_to_nobody("iwd/input_file");
    let more = "TransferInput = \"input_file\"\nManifestDesired = true\nManifestDir = \"m\"";
    let result = run(&place, "touch new_output_file", more);
    assert!(result.has("JobStatus = 4"), "{}\n{}", result.ad, result.stderr);
    let lists = |name: &str, file: &str| {
        let list = fs::read_to_string(place.path(&format!("iwd/m/{name}"))).unwrap();
        list.lines().any(|line| line.trim_start_matches("./") == file)
    };
    assert!(lists("in", "input_file") && lists("out", "input_file"));
    assert!(!lists("in", "new_output_file") && lists("out", "new_output_file"));
    assert!(place.path("iwd/m/environment").exists());
}

/// `job_core_onexitrem_van.run`: a job that has not run long enough is run again, with an event for each run.
#[test]
fn a_job_that_on_exit_remove_keeps_is_run_again() {
    let place = place().option(&["--until", "2"]);
    let result = run(&place, "true", "OnExitRemove = (time() - QDate) > 4200");
    for line in ["JobStatus = 1", "NumJobStarts = 2"] {
        assert!(result.has(line), "{line}: {}\n{}", result.ad, result.stderr);
    }
    let log = fs::read_to_string(place.path("iwd/log")).unwrap();
    assert_eq!(log.matches("\n004 (").count(), 2, "{log}");
    assert!(log.contains("(0) Job terminated and was requeued"), "{log}");
    assert!(!log.contains("\n005 ("), "{log}");
}

/// `test_num_holds.py`, in the local universe: the scheduler universe has no starter.
#[test]
fn holds_are_counted_by_their_reason() {
    for (universe, told) in
        [(12, ""), (7, "JobUniverse = 12 runs the job on the same machine, but under a starter")]
    {
        let place = Place::new().option(&["--as", "local"]);
        let run = place.run(&format!("{}\nJobUniverse = {universe}\nOnExitHold = true", shell("true")));
        assert!(run.stderr.contains(told), "{}", run.stderr);
        if universe == 7 {
            assert_eq!(run.status, 3, "{}", run.stderr);
            continue;
        }
        for line in [
            "HoldReasonCode = 3",
            "HoldReasonSubCode = 0",
            "NumHolds = 1",
            "NumHoldsByReason = [ JobPolicy = 1 ]",
        ] {
            assert!(run.has(line), "{line}: {}\n{}", run.ad, run.stderr);
        }
    }
}

/// `job_ad_epoch_recording.run`: each run appends the job ad, followed by a line about the run.
#[test]
fn each_run_of_a_job_is_recorded_in_the_directory_for_runs() {
    let place = place().option(&["--until", "2"]);
    let directory = place.path("runs");
    fs::create_dir(&directory).unwrap();
    let place = place.parameter(&format!("JOB_EPOCH_HISTORY_DIR = {}", directory.display()));
    let result = run(&place, "exit 3", "ClusterId = 7\nProcId = 2\nOnExitRemove = NumShadowStarts > 1");
    assert!(result.has("JobStatus = 4"), "{}\n{}", result.ad, result.stderr);
    let text = fs::read_to_string(directory.join("job.runs.7.2.ads")).unwrap();
    let banners: Vec<&str> = text.lines().filter(|line| line.starts_with("*** ")).collect();
    assert_eq!(banners.len(), 4, "{text}");
    for (at, banner) in banners.iter().enumerate() {
        let kind = ["SPAWN", "EPOCH"][at % 2];
        let start = format!("*** {kind} ClusterId=7 ProcId=2 RunInstanceId={} Owner=\"", at / 2);
        assert!(banner.starts_with(&start) && banner.contains("\" CurrentTime="), "{banner}");
    }
    for line in ["RunInstanceId = 1", "EpochAdType = \"EPOCH\"", "ExitCode = 3", "NumShadowStarts = 2"] {
        assert!(text.lines().any(|known| known == line), "{line}: {text}");
    }
    assert!(text.lines().any(|line| line.starts_with("JobEpochWriteDate = ")), "{text}");

    // A record of a start has few attributes, unless SPAWN_JOB_ATTRS adds more.
    let spawn = text.split("*** ").next().unwrap();
    assert!(spawn.contains("EpochAdType = \"SPAWN\"\n") && spawn.contains("ShadowBday = "), "{spawn}");
    assert!(!spawn.contains("Cmd = "), "{spawn}");

    let missing = self::place().parameter("JOB_EPOCH_HISTORY_DIR = /no/such/directory");
    let result = run(&missing, "true", "");
    assert!(
        result
            .stderr
            .contains("JOB_EPOCH_HISTORY_DIR is not a directory, so the history of runs is not written"),
        "{}",
        result.stderr
    );
}

/// `test_epoch_attrs.py`, `test_multiple_schemes.py`: each transfer with plugins is recorded, with attributes of the job.
#[test]
fn transfers_with_plugins_are_recorded_in_the_history_of_runs() {
    let place = place();
    let file = place.path("epochs");
    let place = place
        .parameter(&format!("JOB_EPOCH_HISTORY = {}\nOUTPUT_JOB_ATTRS = TestAttr1, NoSuch", file.display()));
    let more = "ClusterId = 7\nProcId = 2\nTestAttr1 = 10\nTransferInput = \"null://input.txt\"\n\
                TransferOutput = \"list\"\nOutputDestination = \"null://x\"";
    let ran = run(&place, "echo > list", more);
    assert!(ran.has("JobStatus = 4"), "{}\n{}", ran.ad, ran.stderr);
    let text = fs::read_to_string(&file).unwrap();
    let kinds: Vec<&str> = text.split("\n*** ").skip(1).filter_map(|rest| rest.split(' ').next()).collect();
    assert_eq!(kinds, ["SPAWN", "INPUT", "OUTPUT", "EPOCH"], "{text}");
    let record = |kind: &str| {
        let end = text.find(&format!("\n*** {kind} ")).unwrap();
        let start = text[..end].rfind("\n*** ").map_or(0, |at| at + 1);
        let start = start + text[start..].find('\n').unwrap() + 1;
        let end = end + 1 + text[end + 1..].find('\n').unwrap() + 1;
        mask_numbers(&text[start..end])
    };
    let owner = ran.ad.lines().find_map(|line| line.strip_prefix("Owner = ")).unwrap_or("\"?\"");
    let host = ran.ad.lines().find_map(|line| line.strip_prefix("LastRemoteHost = ")).unwrap();
    let end = |kind: &str| {
        format!(
            "JobEpochWriteDate = T\n*** {kind} ClusterId=7 ProcId=2 RunInstanceId=0 Owner={owner} CurrentTime=T\n"
        )
    };
    let call = |class: i64| {
        format!(
            "{{ [ Result = 0; Schemes = \"null\"; ExitCode = 0; ExitBySignal = false; TransferClass = {class}; \
             PluginBasename = \"pl.sh\"; DurationInSeconds = N ] }}"
        )
    };
    let result = "{ [ TransferSuccess = true ] }";
    let expected = format!(
        "ClusterId = 7\nEpochAdType = \"INPUT\"\nInputPluginInvocations = {}\nInputPluginResultList = {result}\n\
         NumShadowStarts = 1\nOwner = {owner}\nProcId = 2\nRemoteHost = {host}\nRunInstanceId = 0\n\
         TransferClass = \"INPUT\"\n{}",
        call(1),
        end("INPUT")
    );
    assert_eq!(record("INPUT"), expected);
    let expected = format!(
        "ClusterId = 7\nEpochAdType = \"OUTPUT\"\nOutputPluginInvocations = {}\nOutputPluginResultList = {result}\n\
         Owner = {owner}\nProcId = 2\nRemoteHost = {host}\nRunInstanceId = 0\nTestAttr1 = 10\n\
         TransferClass = \"OUTPUT\"\n{}",
        call(2),
        end("OUTPUT")
    );
    assert_eq!(record("OUTPUT"), expected);
}

/// Replaces times and durations, which differ between runs.
fn mask_numbers(text: &str) -> String {
    let mut masked = String::new();
    let mut rest = text;
    let places = [("JobEpochWriteDate = ", "T"), ("CurrentTime=", "T"), ("DurationInSeconds = ", "N")];
    while let Some((at, name, mask)) =
        places.iter().filter_map(|(name, mask)| Some((rest.find(name)?, *name, *mask))).min()
    {
        let (before, after) = rest.split_at(at + name.len());
        masked += before;
        masked += mask;
        rest = after.trim_start_matches(|digit: char| digit.is_ascii_digit());
    }
    masked + rest
}

/// JOB_EPOCH_HISTORY has the records of all jobs, and is rotated.
#[test]
fn the_file_of_all_runs_is_rotated_and_old_files_are_removed() {
    let place = place();
    let file = place.path("epochs");
    let place = place.parameter(&format!(
        "JOB_EPOCH_HISTORY = {}\nMAX_EPOCH_HISTORY_LOG = 300\nMAX_EPOCH_HISTORY_ROTATIONS = 1\nSPAWN_JOB_ATTRS = Cmd, In",
        file.display()
    ));
    fs::write(place.path("epochs.20250131T235959"), "old").unwrap();
    fs::write(place.path("epochs.note"), "kept").unwrap();
    let result = run(&place, "true", "ClusterId = 7\nProcId = 2");
    assert!(result.has("JobStatus = 4"), "{}\n{}", result.ad, result.stderr);
    let last = fs::read_to_string(&file).unwrap();
    assert!(
        last.contains("*** EPOCH ClusterId=7 ProcId=2 RunInstanceId=0 ") && !last.contains("SPAWN"),
        "{last}"
    );
    let mut rotated: Vec<_> =
        fs::read_dir(place.home.path()).unwrap().flatten().map(|entry| entry.path()).collect();
    rotated.retain(|path| path.file_name().unwrap().to_str().unwrap().starts_with("epochs."));
    rotated.sort();
    assert_eq!(rotated.len(), 2, "{rotated:?}");
    let first = fs::read_to_string(&rotated[0]).unwrap();
    assert!(first.contains("*** SPAWN ") && first.contains("Cmd = "), "{first}");
    assert_eq!(fs::read_to_string(&rotated[1]).unwrap(), "kept");
}

/// The files in the table of the reference's tests exist, and those that count as translations name their original.
#[test]
fn the_table_of_the_references_tests_is_correct() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    let table = fs::read_to_string(root.join("tests/data/reference_tests.tsv")).unwrap();
    let rows = table.lines().filter(|line| !line.starts_with('#')).skip(1);
    for row in rows {
        let [name, state, place] = row.split('\t').collect::<Vec<_>>()[..] else { panic!("{row}") };
        match state {
            "here" => assert!(fs::read_to_string(root.join(place)).unwrap().contains(name), "{row}"),
            "data" => assert!(root.join(place).exists(), "{row}"),
            "needs" => assert!(!place.is_empty(), "{row}"),
            _ => panic!("{row}"),
        }
    }
}
