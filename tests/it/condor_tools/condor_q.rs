//! Unusual columns of `condor_q -jobads`; all expected output was printed by version 25.14.

use std::fs;

use crate::support::tool::call;

const EVAL: &str = env!("CARGO_BIN_EXE_htc-classad-eval");

/// Returns exit status and standard output of condor_q for these ads.
fn ask(ads: &str, words: &[&str]) -> (i32, String) {
    let home = tempfile::tempdir().unwrap();
    fs::write(home.path().join("q.ads"), ads).unwrap();
    // The tables depend on the configuration, which must exist.
    fs::write(home.path().join("condor_config"), "LOG = .\n").unwrap();
    call(EVAL, "condor_q", &[&["-jobads", "q.ads"], words].concat(), home.path())
}

fn printed(text: &str) -> (i32, String) {
    (0, text.to_owned())
}

#[test]
fn a_column_whose_evaluation_fails_is_empty_as_condor_q_and_an_error_otherwise() {
    let ads = "ClusterId = 1\nProcId = 0\nA = userHome()\nB = B\n";
    assert_eq!(ask(ads, &["-af", "ProcId", "A", "1 + A", "B"]), printed("0   undefined\n"));
    assert_eq!(ask(ads, &["-af:lV", "A", "ProcId"]), printed(" ProcId = 0\n"));
    let home = tempfile::tempdir().unwrap();
    fs::write(home.path().join("q.ads"), ads).unwrap();
    let native = call(EVAL, "htc-classad-eval", &["--ads", "q.ads", "-af", "ProcId", "A"], home.path());
    assert_eq!(native, printed("0 error\n"));
}

#[test]
fn wide_without_a_width_leaves_out_the_blanks_at_the_end_of_rows() {
    let ads = "ClusterId = 1\nProcId = 0\nA = \"x\"\n";
    let rows = |words: &[&str]| ask(ads, &[&["-af", "A"], words].concat());
    assert_eq!(rows(&["-f", "%6d", "Undef"]), printed("x       \n"));
    assert_eq!(rows(&["-f", "%6d", "Undef", "-wide"]), printed("x\n"));
    assert_eq!(rows(&["-f", "%6d", "Undef", "-wide:90"]), printed("x       \n"));
    assert_eq!(ask(ads, &["-wide", "-f", "%6d", "Undef"]), printed("      "));
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

/// Returns exit status, standard output and standard error for one job.
fn ask_with_messages(words: &[&str]) -> (i32, String, String) {
    let home = tempfile::tempdir().unwrap();
    let ads = "ClusterId = 1\nProcId = 0\nOwner = \"ann\"\nRequirements = A && 1.5 > B\n";
    fs::write(home.path().join("q.ads"), ads).unwrap();
    fs::write(home.path().join("condor_config"), "LOG = .\n").unwrap();
    std::os::unix::fs::symlink(EVAL, home.path().join("condor_q")).unwrap();
    let output = std::process::Command::new(home.path().join("condor_q"))
        .args(["-jobads", "q.ads"])
        .args(words)
        .current_dir(home.path())
        .env("CONDOR_CONFIG", home.path().join("condor_config"))
        .output()
        .unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.code().unwrap_or(-1), text(&output.stdout), text(&output.stderr))
}

#[test]
fn a_dry_run_reports_the_mode_and_prints_the_ads_of_a_file() {
    for (words, mode) in [
        (&["-dry-run"][..], "\ncondor_q  \n"),
        (&["-dry", "-io"], "\ncondor_q io \n"),
        (&["-dry-run:file", "-nobatch", "-totals"], "\ncondor_q totals \n"),
        (&["-long", "-dry-run"], "\ncondor_q  -long\n"),
    ] {
        let (status, text, messages) = ask_with_messages(words);
        assert_eq!((status, messages.as_str()), (0, mode), "{words:?}");
        let without: Vec<&str> = words.iter().copied().filter(|word| !word.starts_with("-dry")).collect();
        let lines = |text: &str| text.lines().filter(|line| !line.starts_with("-- ")).count();
        assert_eq!(lines(&text), lines(&ask_with_messages(&without).1), "{words:?}");
    }
    let (status, _, messages) = ask_with_messages(&["-dry-run", "-af", "Owner"]);
    assert_eq!(
        (status, messages.as_str()),
        (1, "Error: -dry-run is not supported with -af, -aaf or -format\n")
    );
}

#[test]
fn raw_results_of_a_table_are_printed_before_it_or_written_to_a_file() {
    let (status, text, messages) = ask_with_messages(&["-nobatch", "-capture-raw-results"]);
    let captured = "# condor_q v25.14.0 raw query results\n";
    assert_eq!((status, messages.as_str()), (0, ""));
    assert!(text.starts_with(captured) && text.contains("\n\n-- Jobads: q.ads"), "{text}");
    for line in ["ClusterId=1", "ProcId=0", "Owner=\"ann\"", "Requirements=A && 1.5 > B"] {
        assert!(text.lines().any(|it| it == line), "{line}: {text}");
    }
    let (status, text, messages) = ask_with_messages(&["-nobatch", "-capture-raw-results:-2"]);
    assert!(
        status == 0 && messages.starts_with(captured) && text.starts_with("\n\n-- Jobads: "),
        "{text}{messages}"
    );
    let file = tempfile::NamedTempFile::new().unwrap();
    fs::write(file.path(), "before\n").unwrap();
    let path = file.path().display();
    assert_eq!(ask_with_messages(&[&format!("-capture-raw-results:+{path}")]).0, 0);
    assert!(fs::read_to_string(file.path()).unwrap().starts_with(&format!("before\n{captured}")));
    assert_eq!(ask_with_messages(&[&format!("-capture-raw-results:{path}")]).0, 0);
    assert!(fs::read_to_string(file.path()).unwrap().starts_with(captured));
    assert_eq!(ask_with_messages(&["-capture-raw-results:/nowhere/x"]).0, 1);
    assert_eq!(ask_with_messages(&["-analyze", "-slotads", "/dev/null", "-capture-raw-results"]).0, 1);
}

/// Event log of four jobs: completed, held by the system while it ran, evicted, and removed while it was idle.
const USER_LOG: &str = "000 (012.000.000) 2026-03-01 10:00:00 Job submitted from host: <192.0.2.1:9618>\n...\n\
    000 (012.001.000) 2026-03-01 10:00:00 Job submitted from host: <192.0.2.1:9618>\n...\n\
    000 (013.000.000) 2026-03-01 10:00:01 Job submitted from host: <192.0.2.1:9618>\n...\n\
    000 (014.000.000) 2026-03-01 10:00:02 Job submitted from host: <192.0.2.1:9618>\n...\n\
    001 (099.000.000) 2026-03-01 10:00:03 Job executing on host: <192.0.2.9:9618>\n...\n\
    001 (012.000.000) 2026-03-01 10:01:00 Job executing on host: <192.0.2.2:9618>\n...\n\
    001 (012.001.000) 2026-03-01 10:01:00 Job executing on host: <192.0.2.3:9618>\n...\n\
    001 (013.000.000) 2026-03-01 10:01:00 Job executing on host: <192.0.2.4:9618>\n...\n\
    006 (012.000.000) 2026-03-01 10:02:00 Image size of job updated: 4321\n\t9  -  MemoryUsage of job (MB)\n\
    \t8123  -  ResidentSetSize of job (KB)\n...\n\
    012 (012.001.000) 2026-03-01 10:05:00 Job was held.\n\tout of memory\n\tCode 34 Subcode 102\n...\n\
    004 (013.000.000) 2026-03-01 10:06:00 Job was evicted.\n\t(0) CPU times\n\
    \t\tUsr 0 00:00:00, Sys 0 00:00:00  -  Run Remote Usage\n\t\tUsr 0 00:00:00, Sys 0 00:00:00  -  Run Local Usage\n\
    \t0  -  Run Bytes Sent By Job\n\t0  -  Run Bytes Received By Job\n...\n\
    009 (014.000.000) 2026-03-01 10:07:00 Job was aborted.\n\tvia condor_rm (by user ann)\n...\n\
    005 (012.000.000) 2026-03-01 10:11:00 Job terminated.\n\t(1) Normal termination (return value 3)\n\
    \t\tUsr 0 00:08:20, Sys 0 00:00:07  -  Run Remote Usage\n\t\tUsr 0 00:00:00, Sys 0 00:00:00  -  Run Local Usage\n\
    \t\tUsr 0 00:08:20, Sys 0 00:00:07  -  Total Remote Usage\n\t\tUsr 0 00:00:00, Sys 0 00:00:00  -  Total Local Usage\n\
    \t0  -  Run Bytes Sent By Job\n\t0  -  Run Bytes Received By Job\n\
    \t0  -  Total Bytes Sent By Job\n\t0  -  Total Bytes Received By Job\n...\n";

#[test]
fn jobs_of_an_event_log_are_listed_in_their_logged_state() {
    let home = tempfile::tempdir().unwrap();
    fs::write(home.path().join("log"), USER_LOG).unwrap();
    fs::write(home.path().join("condor_config"), "LOG = .\n").unwrap();
    let ask = |words: &[&str]| call(EVAL, "condor_q", &[&["-userlog", "log"], words].concat(), home.path());
    let columns = ["ClusterId", "ProcId", "JobStatus", "LastJobStatus", "EnteredCurrentStatus"];
    let at = |seconds: i64| 1_772_359_200 + seconds;
    assert_eq!(
        ask(&[&["-af"], &columns[..]].concat()),
        printed(&format!(
            "12 0 4 2 {}\n12 1 5 2 {}\n13 0 1 2 {}\n14 0 3 1 {}\n",
            at(660),
            at(300),
            at(360),
            at(420)
        ))
    );
    let words = ["12.0", "-af", "ExitCode", "RemoteUserCpu", "RemoteSysCpu", "RemoteWallClockTime"];
    assert_eq!(ask(&words), printed("3 500.0 7.0 600.0\n"));
    let words = ["12.0", "-af:V", "LastRemoteHost", "RemoteHost", "ImageSize", "ResidentSetSize", "UserLog"];
    assert_eq!(ask(&words), printed("\"<192.0.2.2:9618>\" undefined 4321 8123 \"log\"\n"));
    let words = ["-constraint", "JobStatus == 5", "-af", "HoldReason", "HoldReasonCode", "NumSystemHolds"];
    assert_eq!(ask(&words), printed("out of memory 34 1\n"));
    assert_eq!(ask(&["13", "-af", "LastVacateTime", "NumJobStarts"]), printed(&format!("{} 1\n", at(360))));
    assert_eq!(ask(&["14", "-af", "RemoveReason"]), printed("via condor_rm (by user ann)\n"));
    let (status, table) = ask(&["-nobatch"]);
    assert!(status == 0 && table.starts_with("\n\n-- Userlog: log @ "), "{table}");
    assert!(
        table.contains("Total for query: 4 jobs; 1 completed, 1 removed, 1 idle, 0 running, 1 held"),
        "{table}"
    );
    let (status, text) = call(EVAL, "condor_q", &["-userlog", "nowhere"], home.path());
    assert_eq!((status, text.as_str()), (1, ""));
    // If both ads and a log are given, the ads are used.
    fs::write(home.path().join("q.ads"), "ClusterId = 1\nProcId = 0\n").unwrap();
    assert_eq!(ask(&["-jobads", "q.ads", "-af", "ClusterId"]), printed("1\n"));
}

#[test]
fn a_dag_selected_by_id_is_listed_with_its_jobs_and_its_batch() {
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
    // Jobs that were submitted with a DAG node are not counted in the totals.
    assert_eq!(last(&["1", "2"], 1), ["_", "4"]);
}

#[test]
fn operands_are_ids_and_owners_as_in_condor_q() {
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
fn a_format_without_a_valid_conversion_is_refused_or_printed_as_by_condor_q() {
    let ads = "ClusterId = 1\nProcId = 0\n";
    assert_eq!(ask(ads, &["-format", "%z\\n", "ProcId"]), printed("%z\n"));
    let home = tempfile::tempdir().unwrap();
    fs::write(home.path().join("q.ads"), ads).unwrap();
    let native = |format: &str| {
        call(EVAL, "htc-classad-eval", &["--ads", "q.ads", "-format", format, "ProcId"], home.path())
    };
    assert_eq!(native("%z\\n"), (2, String::new()));
    assert_eq!(native("%*d\\n"), (2, String::new()));
    assert_eq!(native("100%\\n"), printed("100%\n"));
    assert_eq!(native("%d%%\\n"), printed("0%\n"));
}

#[test]
fn ads_without_a_cluster_are_all_printed() {
    let ads = "ClusterId = 3\nProcId = 0\n\nA = 1\nProcId = 0\n\nA = 2\nProcId = 0\n";
    assert_eq!(ask(ads, &["-af", "A"]), printed("undefined\n1\n2\n"));
    let (status, long) = ask(ads, &["-long"]);
    assert_eq!((status, long.matches("ProcId = 0\n").count()), (0, 3), "{long}");
    // Two jobs with the same id count as one.
    assert_eq!(
        ask("ClusterId = 3\nA = 1\nProcId = 0\n\nClusterId = 3\nA = 2\nProcId = 0\n", &["-af", "A"]),
        printed("1\n")
    );
}

/// The book lists the formats that are reproduced exactly and those that are refused.
#[test]
fn formats_that_the_book_calls_exact_are_printed_and_others_refused() {
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
        (&["-dry-run"], 0),
        (&["-dry-run", "-af", "Owner"], 1),
        (&["-capture-raw-results"], 0),
        (&["-userlog", "x"], 0),
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
    assert_eq!(print(columns), printed("ID  WHO A   \n  2 bob _   \n  1 [?] _   \n  3 ann 1.50\n"));
    let sorted = format!("{columns}WHERE Owner isnt undefined\nGROUP BY Owner\n");
    assert_eq!(print(&sorted), printed("ID  WHO A   \n  3 ann 1.50\n  2 bob _   \n"));
    assert_eq!(print("SELECT NOHEADER\nOwner OR ?\n"), printed("bob  \nundefined\nann      \n"));
    for refused in
        ["Owner\n", "SELECT\nOwner WIDE\nSUMMARY STANDARD\n", "SELECT UNIQUE\nOwner\n", "SELECT X\n"]
    {
        assert_eq!(print(refused), (2, String::new()), "{refused}");
    }
}

#[test]
fn a_job_in_two_batches_ends_the_list_as_in_condor_q() {
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
    assert_eq!(list(&["-af:j", "Owner"]), printed("1.0 ann\n"));
    assert_eq!(
        list(&["-better-analyze"]),
        printed("\n\n-- Jobads: q.ads\nNo slots match autocluster -1, jobs : 1.0\n")
    );
}

/// Levels of detail of the reference (expr_analyze.h, `detail_`), from its source.
#[test]
fn analysis_numbers_select_details_and_diagnostics_are_refused() {
    let ads = "ClusterId = 1\nProcId = 0\nOwner = \"ann\"\nJobStatus = 1\nJobUniverse = 5\n\
               Requirements = TARGET.A > 1 && (TARGET.B > 1 || TARGET.C > 1)\n";
    let home = tempfile::tempdir().unwrap();
    fs::write(home.path().join("q.ads"), ads).unwrap();
    fs::write(home.path().join("condor_config"), "LOG = .\n").unwrap();
    let slots: String = [("s", "A = 2\nB = 2"), ("t", "A = 0\nC = 2"), ("u", "A = 2\nB = 0")]
        .map(|(name, values)| {
            format!("Name = \"{name}\"\nMachine = \"{name}\"\nC = 0\n{values}\nRequirements = true\n\n")
        })
        .concat();
    fs::write(home.path().join("slots"), slots).unwrap();
    let analyse = |option: &str| {
        let words = ["-jobads", "q.ads", "-slotads", "slots", option];
        call(EVAL, "condor_q", &words, home.path())
    };
    let plain = analyse("-better-analyze").1;
    assert!(plain.contains("[3]           2  [1] || [2]\n"), "{plain}");
    let (_, always) = analyse("-better-analyze:2");
    assert!(always.contains("[3]           2  [1] || [2] ( TARGET.B > 1 || TARGET.C > 1 )\n"), "{always}");
    assert!(
        always.contains("[4]           1  [0] && [3] ( TARGET.A > 1 && (TARGET.B > 1 || TARGET.C > 1) )\n"),
        "{always}"
    );
    let (_, smart) = analyse("-better-analyze:1");
    assert!(smart.contains("[3]           2  [1] || [2]\n"), "{smart}");
    assert!(
        smart.contains("[4]           1  [0] && [3] ( TARGET.A > 1 && (TARGET.B > 1 || TARGET.C > 1) )\n"),
        "{smart}"
    );
    let (_, heading) = analyse("-better-analyze:4096");
    assert_eq!(heading, plain.replace("        Slots\n", ""));
    for (option, word) in [
        ("-better-analyze:diag", "diagnostic (64)"),
        ("-analyze:64", "diagnostic (64)"),
        ("-analyze:show-work", "show-work (128)"),
        ("-better-analyze:128", "show-work (128)"),
        ("-reverse-analyze:192", "diagnostic (64)"),
    ] {
        let (status, _, messages) = ask_with_messages(&[option]);
        assert_eq!(status, 1, "{option}");
        assert!(messages.contains(&format!("-analyze:{word} is not supported")), "{option}: {messages}");
    }
}

/// Regression test: lines were cut to 80 columns on terminals of any width.
#[test]
fn a_table_is_as_wide_as_the_terminal() {
    use std::io::Read;
    use std::process::Stdio;

    let directory = tempfile::tempdir().unwrap();
    let job = format!(
        "ClusterId = 5\nProcId = 0\nOwner = \"a_user_with_a_long_name\"\nJobStatus = 1\nJobUniverse = 5\nQDate = 1795000000\n\
         ServerTime = 1795000100\nCmd = \"/bin/{}\"\n",
        "long".repeat(40)
    );
    std::fs::write(directory.path().join("ads"), job).unwrap();
    std::fs::write(directory.path().join("condor_config"), "LOG = .\n").unwrap();
    let tool = directory.path().join("condor_q");
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_htc-classad-eval"), &tool).unwrap();
    let command = |words: &[&str]| {
        let mut command = std::process::Command::new(&tool);
        command.current_dir(directory.path()).args(["-jobads", "ads", "-nobatch"]).args(words);
        command.env("CONDOR_CONFIG", directory.path().join("condor_config"));
        command
    };
    for columns in [70, 120] {
        let size = nix::pty::Winsize { ws_row: 24, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
        let terminal = nix::pty::openpty(&size, None).unwrap();
        let mut child = command(&[]).stdout(Stdio::from(terminal.slave)).spawn().unwrap();
        assert!(child.wait().unwrap().success());
        let mut shown = Vec::new();
        // Reading a terminal that was closed ends with an error.
        let _ = std::fs::File::from(terminal.master).read_to_end(&mut shown);
        let shown = String::from_utf8_lossy(&shown).replace("\r\n", "\n");
        let piped = command(&[&format!("-wide:{columns}")]).output().unwrap();
        assert_eq!(shown, String::from_utf8_lossy(&piped.stdout), "{columns}");
        // The line of totals is longer, but not cut.
        let rows = shown.lines().filter(|line| !line.starts_with("Total for"));
        let longest = rows.map(|line| line.trim_end().len()).max();
        assert_eq!(longest, Some(usize::from(columns) - 1), "{shown}");
    }
}

/// Jobs that come in the order of their ids are printed while they are read. If they do not, a file is read again, but a pipe
/// cannot be read twice, so its jobs are kept in memory.
#[test]
fn jobs_of_a_file_and_of_a_pipe_are_printed_alike() {
    let job = |id: &str, more: &str| {
        let (cluster, process) = id.split_once('.').unwrap();
        format!(
            "ClusterId = {cluster}\nProcId = {process}\nOwner = \"u{process}\"\nClaimId = \"s\"\n{more}\n"
        )
    };
    let rising = [job("1.0", ""), job("1.1", "B = A\nA = 2\n"), job("2.0", "Xyz = {1,2}\n")].concat();
    let home = tempfile::tempdir().unwrap();
    fs::write(home.path().join("condor_config"), "LOG = .\n").unwrap();
    std::os::unix::fs::symlink(EVAL, home.path().join("condor_q")).unwrap();
    for (name, ads) in [
        ("rising", rising.clone()),
        ("falling", [job("2.0", ""), job("1.0", "A = 1\n")].concat()),
        ("twice", [job("1.0", ""), job("1.0", "A = 1\n"), job("3.0", "")].concat()),
        ("bad line", [job("1.0", "bad line\nC = 1\n"), job("1.1", "")].concat()),
        ("without ids", "A = 1\n\nB = 2\n".to_owned()),
        ("expression", format!("{}ClusterId = 2 + Two\nTwo = 2\nProcId = 1\n", job("1.0", ""))),
        ("none", String::new()),
        ("json", "[{\"ClusterId\":1,\"ProcId\":0},{\"ClusterId\":1,\"ProcId\":1}]".to_owned()),
    ] {
        fs::write(home.path().join("q.ads"), &ads).unwrap();
        for words in [
            "-long",
            "-json",
            "-jsonl",
            "-xml",
            "-long -unsorted",
            "-long -attributes Owner,A",
            "-json -constraint 'A > 1'",
            "-long -totals",
        ] {
            let run = |line: &str| {
                let output = std::process::Command::new("sh")
                    .args(["-c", line])
                    .env("CONDOR_CONFIG", "condor_config")
                    .current_dir(home.path())
                    .output()
                    .unwrap();
                (output.status.code(), output.stdout, output.stderr)
            };
            let of_file = run(&format!("./condor_q -jobads q.ads {words}"));
            let of_pipe = run(&format!("cat q.ads | ./condor_q -jobads - {words}"));
            assert_eq!(of_file, of_pipe, "{name}: {words}: {}", String::from_utf8_lossy(&of_file.1));
        }
    }
}
