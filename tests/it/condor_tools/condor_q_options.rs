//! Options of `condor_q -jobads` that change each other's effect; all expected output was printed by version 25.14.

use std::fs;

use crate::support::tool::call;

const JOBS: &str = "ClusterId = 1\nProcId = 0\nOwner = \"ann\"\nJobStatus = 1\nJobUniverse = 7\nQDate = 5\nServerTime = 9\n\n\
                    ClusterId = 2\nProcId = 0\nOwner = \"bob\"\nAccountingGroup = \"ann\"\nAcctGroup = \"x\"\nJobStatus = 1\n\
                    JobUniverse = 5\nQDate = 5\nServerTime = 9\n";

/// Returns exit status and standard output of condor_q for two jobs.
fn ask(words: &str) -> (i32, String) {
    let home = tempfile::tempdir().unwrap();
    let files = [
        ("q.ads", JOBS),
        ("condor_config", "LOG = .\n"),
        ("slots", ""),
        ("pf", "SELECT NOTITLE NOHEADER\n   Owner\n   JobPrio PRINTF \"%d\" OR * OR -\n"),
    ];
    files.iter().for_each(|(name, text)| fs::write(home.path().join(name), text).unwrap());
    let words: Vec<&str> = ["-jobads", "q.ads"].into_iter().chain(words.split(' ')).collect();
    call(env!("CARGO_BIN_EXE_htc-classad-eval"), "condor_q", &words, home.path())
}

/// Returns the names of the attributes of each ad that is printed.
fn names(words: &str) -> Vec<Vec<String>> {
    let name = |line: &str| line.split(' ').next().unwrap_or_default().to_owned();
    ask(words).1.split_terminator("\n\n").map(|ad| ad.lines().map(name).collect()).collect()
}

#[test]
fn long_prints_the_attributes_that_a_print_format_needs() {
    let printed = names("-print-format pf -long");
    assert_eq!(printed, vec![vec!["ClusterId", "Owner", "ProcId"]; 2]);
    let printed = names("-long -print-format pf -aaf QDate");
    assert_eq!(printed, vec![vec!["ClusterId", "Owner", "ProcId", "QDate"]; 2]);
    let printed = names("-totals -long -verbose");
    assert_eq!(printed[0], ["ClusterId", "JobStatus", "JobUniverse", "ProcId"]);
    assert_eq!(printed[2][0], "Completed");
}

#[test]
fn columns_are_appended_if_a_print_format_is_the_last_option_for_columns() {
    assert_eq!(ask("-print-format pf -format %s Owner -aaf QDate"), (1, String::new()));
    assert_eq!(ask("-format %s Owner -print-format pf -aaf QDate").0, 0);
}

#[test]
fn words_for_a_missing_value_are_combined_bit_by_bit() {
    let (_, rows) = ask("-print-format pf");
    assert!(rows.lines().all(|row| row.trim_end().ends_with('#')), "{rows}");
}

#[test]
fn a_submitter_is_an_accounting_group_or_else_an_owner() {
    assert_eq!(ask("-submitter ann -af ClusterId"), (0, "1\n2\n".to_owned()));
    assert_eq!(ask("-submitter nice-user.ann -af ClusterId"), (0, "1\n2\n".to_owned()));
    assert_eq!(ask("-submitter x -af ClusterId"), (0, String::new()));
}

#[test]
fn batches_of_folded_dags_have_no_name_and_global_shows_held_jobs() {
    let rows = |words: &str| ask(words).1.lines().skip(3).take(2).map(str::to_owned).collect::<Vec<_>>();
    let table = rows("-batch");
    assert_eq!(table[0], "OWNER    BATCH_NAME    SUBMITTED   DONE   RUN    IDLE  TOTAL JOB_IDS");
    assert_eq!(table[1], "ann      DAG: 1       1/1  00:00      _      _      _      _ 0.0");
    let table = rows("-batch:2 -global");
    assert_eq!(table[0], "OWNER    BATCH_NAME    SUBMITTED   DONE   RUN    IDLE   HOLD  TOTAL JOB_IDS");
    assert_eq!(table[1], "ann                   1/1  00:00      _      _      _      _      _ 0.0");
}

#[test]
fn jobs_without_a_match_cannot_be_listed_as_batches_or_groups() {
    for words in ["-nobatch", "-batch", "-autocluster", "-group-by"] {
        assert_eq!(ask(&format!("-unmatchable -slotads slots {words}")), (1, String::new()), "{words}");
    }
    assert_eq!(ask("-unmatchable -slotads slots -better-analyze -nobatch").0, 0);
}

#[test]
fn results_that_are_streamed_cannot_be_listed_by_dag_or_batch() {
    for words in ["-stream-results -dag", "-batch -stream-results", "-dag -stream-results"] {
        assert_eq!(ask(words).0, 1, "{words}");
    }
}

#[test]
fn a_global_query_without_jobs_ends_an_xml_list() {
    let (status, text) = ask("-global -long:xml -constraint false");
    assert_eq!((status, text.lines().last()), (0, Some("</classads>")));
    assert_eq!(ask("-global -constraint false"), (0, String::new()));
}
