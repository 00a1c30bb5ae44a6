//! Unusual columns of `condor_q -jobads`; all expected output was printed by version 25.14.

use std::fs;

use crate::support::tool::call;

const EVAL: &str = env!("CARGO_BIN_EXE_htc-classad-eval");

/// Status and output of condor_q for these ads.
fn ask(ads: &str, words: &[&str]) -> (i32, String) {
    let home = tempfile::tempdir().unwrap();
    fs::write(home.path().join("q.ads"), ads).unwrap();
    // The tables depend on the configuration, which must be there.
    fs::write(home.path().join("condor_config"), "LOG = .\n").unwrap();
    call(EVAL, "condor_q", &[&["-jobads", "q.ads"], words].concat(), home.path())
}

fn told(text: &str) -> (i32, String) {
    (0, text.to_owned())
}

#[test]
fn a_column_whose_evaluation_fails_is_empty_as_condor_q_and_an_error_otherwise() {
    let ads = "ClusterId = 1\nProcId = 0\nA = userHome()\nB = B\n";
    assert_eq!(ask(ads, &["-af", "ProcId", "A", "1 + A", "B"]), told("0   undefined\n"));
    assert_eq!(ask(ads, &["-af:lV", "A", "ProcId"]), told(" ProcId = 0\n"));
    let home = tempfile::tempdir().unwrap();
    fs::write(home.path().join("q.ads"), ads).unwrap();
    let native = call(EVAL, "htc-classad-eval", &["--ads", "q.ads", "-af", "ProcId", "A"], home.path());
    assert_eq!(native, told("0 error\n"));
}

#[test]
fn wide_without_a_width_leaves_out_the_blanks_at_the_end_of_rows() {
    let ads = "ClusterId = 1\nProcId = 0\nA = \"x\"\n";
    let rows = |words: &[&str]| ask(ads, &[&["-af", "A"], words].concat());
    assert_eq!(rows(&["-f", "%6d", "Undef"]), told("x       \n"));
    assert_eq!(rows(&["-f", "%6d", "Undef", "-wide"]), told("x\n"));
    assert_eq!(rows(&["-f", "%6d", "Undef", "-wide:90"]), told("x       \n"));
    assert_eq!(ask(ads, &["-wide", "-f", "%6d", "Undef"]), told("      "));
}

#[test]
fn hexadecimal_reals_and_characters_are_printed_as_c_prints_them() {
    let ads = "ClusterId = 1\nProcId = 0\nA = 1.0 / 3\nB = 65\n";
    let format = |format: &str, what: &str| ask(ads, &["-format", format, what]).1;
    assert_eq!(format("%.2a|", "A"), "0x1.55p-2|");
    assert_eq!(format("%#.0a|", "ProcId"), "0x0.p+0|");
    assert_eq!(format("%012.1a|", "A"), "0x00001.5p-2|");
    assert_eq!(format("%3.0c|", "B"), "  A|");
}

#[test]
fn an_option_that_is_not_carried_out_is_named_in_full() {
    let home = tempfile::tempdir().unwrap();
    std::os::unix::fs::symlink(EVAL, home.path().join("condor_q")).unwrap();
    let output = std::process::Command::new(home.path().join("condor_q"))
        .args(["-jobads", "/dev/null", "-dry", "Owner"])
        .output()
        .unwrap();
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(told, "Error: -dry-run is not supported here: files of ads are read\n");
    assert_eq!(output.status.code(), Some(1));
}

#[test]
fn a_dag_asked_for_by_its_id_is_listed_with_its_jobs_and_those_of_its_batch() {
    let place = tempfile::tempdir().unwrap();
    let place = place.path();
    let job = |cluster: i32, more: &str| {
        let id = format!("{cluster}.0");
        let set = |(name, value): (&str, &str)| format!("103 {id} {name} {value}\n");
        let every = [("Owner", "\"bob\""), ("JobStatus", "1"), ("QDate", "5"), ("RouteName", "\"R\"")];
        let own = more.split(';').filter_map(|pair| pair.split_once('='));
        format!("101 {id} Job Machine\n") + &every.into_iter().chain(own).map(set).collect::<String>()
    };
    let log = [
        "107 1 CreationTimestamp 1\n".to_owned(),
        job(1, "JobUniverse=5;DAGManJobId=7;DAGNodeName=\"A\";TotalSubmitProcs=1"),
        job(2, "JobUniverse=5;TotalSubmitProcs=4"),
        job(7, "JobUniverse=7"),
        job(9, "JobUniverse=5;JobBatchId=\"7.0\""),
    ];
    fs::write(place.join("job_queue.log"), log.concat()).unwrap();
    fs::write(place.join("condor_config"), format!("SPOOL = {}\n", place.display())).unwrap();
    let last = |words: &[&str], count: usize| -> Vec<String> {
        let (status, out) = call(env!("CARGO_BIN_EXE_htc-router-status"), "condor_router_q", words, place);
        assert_eq!(status, 0, "{out}");
        let of_bob = out.lines().filter(|line| line.contains("bob"));
        of_bob.map(|line| line.split_whitespace().nth_back(count).unwrap_or_default().to_owned()).collect()
    };
    let ids = |words: &[&str]| last(words, 0);
    assert_eq!(ids(&["7"]), ["1.0", "0.0", "9.0"]);
    assert_eq!(ids(&["7.0"]), ["1.0", "0.0", "9.0"]);
    assert!(ids(&["7.1"]).is_empty());
    assert_eq!(ids(&["7", "-nobatch"]).len(), 1);
    // Jobs submitted with a DAG node do not count in the totals.
    assert_eq!(last(&["1", "2"], 1), ["_", "4"]);
}

#[test]
fn words_that_ask_for_jobs_are_taken_as_ids_and_owners_as_condor_q_takes_them() {
    let ads = "ClusterId = 1\nProcId = 0\nOwner = \"bob\"\n\nClusterId = 2\nProcId = 0\nOwner = \"a\\\"b\"\n\n\
               ClusterId = 2\nProcId = 1\nOwner = \"b\\x\"\n";
    let jobs = |word: &str| ask(ads, &["-af:j", "Owner", "-constraint", "true", word]).1;
    assert_eq!(jobs("a\"b"), "2.0 a\"b\n");
    assert_eq!(jobs("b\\x"), "2.1 b\\x\n");
    assert_eq!(jobs(" 1"), "1.0 bob\n");
    assert_eq!(jobs("2.-1"), "2.0 a\"b\n2.1 b\\x\n");
    assert_eq!(jobs("02."), jobs("2"));
    for nobody in ["bob@x", "1.0x", "1 2", "0x1", ""] {
        assert_eq!(jobs(nobody), "", "{nobody}");
    }
}

#[test]
fn a_format_whose_conversion_means_nothing_is_refused_and_printed_as_it_is_by_condor_q() {
    let ads = "ClusterId = 1\nProcId = 0\n";
    assert_eq!(ask(ads, &["-format", "%z\\n", "ProcId"]), told("%z\n"));
    let home = tempfile::tempdir().unwrap();
    fs::write(home.path().join("q.ads"), ads).unwrap();
    let native = |format: &str| {
        call(EVAL, "htc-classad-eval", &["--ads", "q.ads", "-format", format, "ProcId"], home.path())
    };
    assert_eq!(native("%z\\n"), (2, String::new()));
    assert_eq!(native("%*d\\n"), (2, String::new()));
    assert_eq!(native("100%\\n"), told("100%\n"));
    assert_eq!(native("%d%%\\n"), told("0%\n"));
}

#[test]
fn ads_without_a_cluster_are_all_printed() {
    let ads = "ClusterId = 3\nProcId = 0\n\nA = 1\nProcId = 0\n\nA = 2\nProcId = 0\n";
    assert_eq!(ask(ads, &["-af", "A"]), told("undefined\n1\n2\n"));
    let (status, long) = ask(ads, &["-long"]);
    assert_eq!((status, long.matches("ProcId = 0\n").count()), (0, 3), "{long}");
    // Two jobs with the same id count as one.
    assert_eq!(
        ask("ClusterId = 3\nA = 1\nProcId = 0\n\nClusterId = 3\nA = 2\nProcId = 0\n", &["-af", "A"]),
        told("1\n")
    );
}

/// The book lists the formats that are reproduced exactly and those that are refused.
#[test]
fn the_forms_that_the_book_calls_exact_are_printed_and_the_others_refused() {
    let ads = "ClusterId = 1\nProcId = 0\nOwner = \"ann\"\nJobStatus = 1\n";
    let page =
        fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/programs/classad-eval.md")).unwrap();
    assert!(!page.contains("or `condor_q` it answers as that tool does, to the byte"));
    for (words, status) in [
        (&["-long"][..], 0),
        (&["-json"], 0),
        (&["-xml"], 0),
        (&["-af", "Owner"], 0),
        (&["-autoformat:jlh", "Owner"], 0),
        (&["-format", "%s", "Owner"], 0),
        (&["-long", "-attributes", "Owner", "-constraint", "JobStatus == 1", "-limit", "1"], 0),
        (&["-af", "Owner", "-run"], 0),
        (&[], 0),
        (&["-batch"], 0),
        (&["-nobatch"], 0),
        (&["-hold"], 0),
        (&["-hold-codes"], 0),
        (&["-idle"], 0),
        (&["-totals"], 0),
        (&["-grid"], 0),
        (&["-io"], 0),
        (&["-dag"], 0),
        (&["-nobatch", "-aaf", "Owner"], 0),
        (&["-print-format", "/dev/null"], 0),
        (&["-group-by", "Owner"], 0),
        (&["-autocluster"], 0),
        (&["-better-analyze", "-slotads", "/dev/null"], 0),
        (&["-better-analyze"], 1),
        (&["-analyze:show-work", "-slotads", "/dev/null"], 1),
        (&["-dry-run"], 1),
        (&["-capture-raw-results"], 1),
        (&["-userlog", "x"], 1),
    ] {
        assert_eq!(ask(ads, words).0, status, "{words:?}");
        let option = words.first().map_or("tables", |word| word.split(':').next().unwrap_or_default());
        assert!(page.contains(option), "{option} is not on the page");
    }
}

#[test]
fn a_print_format_of_the_condor_tools_chooses_columns_jobs_and_order() {
    let home = tempfile::tempdir().unwrap();
    let ads = "ClusterId = 2\nOwner = \"bob\"\n\nClusterId = 1\n\nClusterId = 3\nOwner = \"ann\"\nA = 1.5\n";
    fs::write(home.path().join("q.ads"), ads).unwrap();
    let print = |format: &str| {
        fs::write(home.path().join("columns"), format).unwrap();
        call(EVAL, "htc-classad-eval", &["--ads", "q.ads", "-print-format", "columns"], home.path())
    };
    let columns =
        "SELECT\nClusterId AS ID WIDTH 3\nOwner AS WHO PRINTAS OWNER OR ??\nA AS A PRINTF %.2f OR _\n";
    assert_eq!(print(columns), told("ID  WHO A   \n  2 bob _   \n  1 [?] _   \n  3 ann 1.50\n"));
    let sorted = format!("{columns}WHERE Owner isnt undefined\nGROUP BY Owner\n");
    assert_eq!(print(&sorted), told("ID  WHO A   \n  3 ann 1.50\n  2 bob _   \n"));
    assert_eq!(print("SELECT NOHEADER\nOwner OR ?\n"), told("bob  \nundefined\nann      \n"));
    for refused in
        ["Owner\n", "SELECT\nOwner WIDE\nSUMMARY STANDARD\n", "SELECT UNIQUE\nOwner\n", "SELECT X\n"]
    {
        assert_eq!(print(refused), (2, String::new()), "{refused}");
    }
}

#[test]
fn a_job_of_two_batches_ends_the_list_as_it_ends_condor_q() {
    // Node 2 comes before its DAGMan job 3.
    let ads = "ClusterId = 1\nProcId = 0\n\nClusterId = 2\nProcId = 0\nDAGManJobId = 3\n\n\
               ClusterId = 3\nProcId = 0\nJobUniverse = 7\n";
    assert_eq!(ask(ads, &[]), (4, String::new()));
    assert_eq!(ask(ads, &["-nobatch"]).0, 0);
}

#[test]
fn jobs_without_a_match_are_listed_with_and_without_an_analysis() {
    let ads = "ClusterId = 1\nProcId = 0\nOwner = \"ann\"\nJobStatus = 1\nJobUniverse = 5\nRequirements = TARGET.A > 1\n\n\
               ClusterId = 2\nProcId = 0\nOwner = \"ann\"\nJobStatus = 1\nJobUniverse = 5\nRequirements = true\n";
    let home = tempfile::tempdir().unwrap();
    fs::write(home.path().join("q.ads"), ads).unwrap();
    fs::write(home.path().join("condor_config"), "LOG = .\n").unwrap();
    fs::write(home.path().join("slots"), "Name = \"s\"\nMachine = \"m\"\nA = 1\nRequirements = true\n")
        .unwrap();
    let list = |words: &[&str]| {
        let words = [&["-jobads", "q.ads", "-slotads", "slots", "-unmatchable"], words].concat();
        call(EVAL, "condor_q", &words, home.path())
    };
    assert_eq!(list(&["-af:j", "Owner"]), told("1.0 ann\n"));
    assert_eq!(
        list(&["-better-analyze"]),
        told("\n\n-- Jobads: q.ads\nNo slots match autocluster -1, jobs : 1.0\n")
    );
}
