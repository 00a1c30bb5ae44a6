//! Command lines of `condor_q -jobads` that print tables, columns and ads.

use super::{Case, shuffled, words};
use crate::random::Random;

/// The present of all ads, which the tool takes from ServerTime.
const NOW: usize = 1_795_005_000;

pub(super) fn case(random: &mut Random) -> Case {
    let needs_groups = random.one_in(8);
    let mut options = vec![words(&["-jobads", "ads"])];
    let mut files = vec![
        ("condor_config".to_owned(), words(&["LOG = .", "LOCAL_DIR = .", "CONDOR_HOST = 127.0.0.1"])),
        ("ads".to_owned(), jobs(random)),
    ];
    if random.one_in(5) {
        files.push(("pf".to_owned(), print_format(random)));
        options.push(words(&["-print-format", "pf"]));
    }
    if needs_groups {
        options.push(match random.below(2) {
            0 => words(&["-autocluster"]),
            _ => words(&["-group-by"]),
        });
    }
    // In a table with other columns than its own, a list of batches writes its names into columns of other types, and
    // the reference prints arbitrary memory.
    let mut has_columns = files.len() > 2;
    let mut lists_batches = false;
    for _ in 0..random.below(4) {
        let option = option(random);
        let starts = |names: &[&str]| names.iter().any(|name| option[0].starts_with(name));
        let (is_batch, is_table) = (starts(&["-batch", "-progress"]), starts(&["-grid", "-io"]));
        if is_batch && has_columns || is_table && lists_batches {
            continue;
        }
        lists_batches |= is_batch;
        has_columns |= is_table;
        options.push(option);
    }
    Case { arguments: shuffled(random, options), files, environment: Vec::new() }
}

fn option(random: &mut Random) -> Vec<String> {
    let plain = [
        "-nobatch",
        "-nobatch",
        "-nobatch",
        "-batch",
        "-hold",
        "-held",
        "-run",
        "-idle",
        "-totals",
        "-hold-codes",
        "-holdcodes",
        "-grid",
        "-grid:ec2",
        "-dag",
        "-io",
        "-wide",
        "-wide:60",
        "-wide:100",
        "-wide:7",
        "-wide:200",
        "-cputime",
        "-currentrun",
        "-cumulative-time",
        "-goodput",
        "-allusers",
        "-factory",
        "-jobset",
        "-global",
        "-expert",
        "-verbose",
        "-long",
        "-long:json",
        "-long:jsonl",
        "-long:new",
        "-long:newl",
        "-long:xml",
        "-long:nosort",
        "-json",
        "-xml",
        "-batch:3",
        "-batch:0",
        "-batch:.",
        "-progress",
        "-stream-results",
        "-hold:1",
        "-hold:26,3/0",
        "-hold-codes:13/102",
        "-bogus",
        "-nob",
        "-nobat",
    ];
    match random.below(24) {
        0..=11 => words(&[random.word(&plain)]),
        12 | 13 => words(&["-constraint", constraint(random)]),
        14 => words(&["-limit", random.word(&["1", "2", "3", "100", "0", "-1", "x", ""])]),
        15 => words(&["-submitter", random.word(&["ann", "bob", "nice-user.ann", "o'neil", "no\"one"])]),
        16 => words(&["-attributes", random.word(&["Owner", "ClusterId,Owner", "Cmd Args", "Nope"])]),
        17..=20 => autoformat(random),
        21 => words(&["-format", random.word(FORMATS), column(random)]),
        22 => {
            let letters = random.word(&["-aaf", "-aaf:r", "-aaf:V", "-aaf:T", "-aaf:Y"]);
            let mut all = words(&[letters]);
            all.extend((0..1 + random.below(2)).map(|_| column(random).to_owned()));
            all
        }
        // An id of a cluster selects the jobs of its batches, which is an error for a job without JobBatchId.
        _ => words(&[random.word(&["ann", "bob", "zoe", "nobody"])]),
    }
}

fn constraint(random: &mut Random) -> &'static str {
    random.word(&[
        "JobStatus == 5",
        "JobStatus != 4",
        "ProcId > 0",
        "Owner == \"ann\"",
        "regexp(\"^a\",Owner)",
        "RequestCpus > 2",
        "true",
        "undefined",
        "1",
        "JobUniverse == 9 || ImageSize > 1000",
        "HoldReasonCode =?= 26",
        "Nope",
        "ClusterId > 50 && ClusterId < 70",
    ])
}

const FORMATS: &[&str] = &[
    "%s\\n", "%d", "%5d|", "%-10s|", "%.2f ", "%v\\t", "%V\\n", "%r ", "%T", "%Y ", "\\n", "[%s]", "%x",
    "%g", "%c", "%lld", "text", "%10.3f", "%05d", "%%", "%.3s;",
];

fn column(random: &mut Random) -> &'static str {
    random.word(&[
        "Owner",
        "ClusterId",
        "ProcId",
        "JobStatus",
        "Cmd",
        "Nope",
        "ImageSize",
        "RemoteWallClockTime",
        "MemoryUsage",
        "HoldReason",
        "JobStatus == 2",
        "strcat(Owner,\"!\")",
        "ifThenElse(isUndefined(JobPrio),\"none\",JobPrio)",
        "1.5",
        "\"lit\"",
        "QDate",
        "{ClusterId,ProcId}",
        "JobPrio ?: 7",
        "size(Owner)",
        "RequestMemory",
        "ServerTime - QDate",
        "TransferringInput",
        "[a = 1; b = Owner]",
    ])
}

fn autoformat(random: &mut Random) -> Vec<String> {
    let name = random.word(&["-af", "-autoformat"]);
    let letters: String = (0..random.below(4))
        .map(|_| random.word(&["j", "l", "h", "V", "r", "T", "Y", ",", "t", "n", "g", "o"]))
        .collect();
    let mut all = vec![if letters.is_empty() && !random.one_in(9) {
        name.to_owned()
    } else {
        format!("{name}:{letters}")
    }];
    all.extend((0..1 + random.below(3)).map(|_| column(random).to_owned()));
    all
}

/// Returns the ads of some jobs.
fn jobs(random: &mut Random) -> Vec<String> {
    let mut lines = Vec::new();
    let mut cluster = 40 + random.below(20);
    let mut process = 0;
    for _ in 0..random.below(12) {
        if random.one_in(3) {
            (cluster, process) = (cluster + 1 + random.below(5), random.below(2));
        }
        job(random, cluster, process, &mut lines);
        process += 1 + random.below(2);
    }
    lines
}

fn job(random: &mut Random, cluster: usize, process: usize, lines: &mut Vec<String>) {
    let owner = random.word(&["ann", "bob", "zoe", "o'neil", "a_very_long_owner_name_indeed"]);
    let status = 1 + random.below(7);
    let universe = *random.pick(&[5, 5, 5, 5, 7, 7, 9, 9, 10, 11, 12, 13]);
    let command =
        random.word(&["/bin/sim", "fit", "/usr/bin/python3", "/home/ann/run me.sh", "C:\\\\x\\\\y.exe", ""]);
    // A running job's times come from the present if ServerTime is missing.
    lines.extend([
        format!("ClusterId = {cluster}"),
        format!("ProcId = {process}"),
        format!("Owner = \"{owner}\""),
        format!("User = \"{owner}@example.org\""),
        format!("JobStatus = {status}"),
        format!("JobUniverse = {universe}"),
        format!("Cmd = \"{command}\""),
        format!("QDate = {}", NOW - random.below(400_000)),
        format!("ServerTime = {NOW}"),
        format!("AutoClusterId = {}", 1 + random.below(3)),
        format!("Id = {}", 1 + random.below(3)),
    ]);
    let mut some = |odds: usize, name: &str, values: &[&str]| {
        if random.one_in(odds) {
            lines.push(format!("{name} = {}", random.pick(values)));
        }
    };
    some(3, "Args", &["\"\"", "\"1 2 3\"", "\"-x 'a b'\""]);
    some(4, "Arguments", &["\"\"", "\"1 2 3\"", "\"-x 'a b'\""]);
    some(2, "ImageSize", &["0", "1", "1023", "2048", "5000000", "250000000", "-5", "\"x\""]);
    some(2, "MemoryUsage", &["100", "undefined", "((ResidentSetSize + 1023) / 1024)", "2.5", "0"]);
    some(3, "ResidentSetSize", &["5644171", "0", "1024"]);
    some(2, "RemoteWallClockTime", &["0.0", "12.5", "86400.0", "1000000.0", "77"]);
    some(5, "JobDescription", &["\"a description\"", "\"\"", "7"]);
    some(4, "RemoteUserCpu", &["0.0", "55.0", "123456.7"]);
    some(8, "RemoteSysCpu", &["1.0", "0"]);
    some(3, "NumJobStarts", &["0", "1", "3"]);
    some(4, "TotalSubmitProcs", &["7", "1", "0"]);
    some(5, "BytesRecvd", &["4096.0", "0", "123456789.0"]);
    some(5, "BytesSent", &["1024.0", "0.0"]);
    some(3, "JobPrio", &["0", "-7", "20", "1000", "undefined"]);
    some(3, "RequestMemory", &["1024", "ifThenElse(true,1,2)", "128"]);
    some(4, "RequestCpus", &["1", "4", "1 + 2"]);
    some(5, "RequestDisk", &["1", "100000"]);
    some(4, "JobBatchName", &["\"my batch\"", "\"b2\"", "\"a much longer batch name than fits\"", "\"\""]);
    some(9, "DAG_NodesDone", &["4", "0"]);
    some(9, "DAG_NodesTotal", &["10", "4"]);
    some(9, "DAG_NodesFailed", &["1"]);
    some(9, "DAG_NodesQueued", &["3"]);
    some(9, "StreamOut", &["true", "false"]);
    some(7, "TransferringInput", &["true", "false", "undefined"]);
    some(7, "TransferringOutput", &["true", "false"]);
    some(9, "TransferQueued", &["true", "false"]);
    some(5, "EnteredCurrentStatus", &["1794701328", "1795004999", "0"]);
    some(
        4,
        "RemoteHost",
        &["\"slot1@ep1.example.org\"", "\"slot1_3@a-long-host-name.example.org\"", "\"x\""],
    );
    some(9, "LastSuspensionTime", &["0", "1795000000"]);
    some(9, "NiceUser", &["true"]);
    some(9, "AccountingGroup", &["\"ann\"", "\"group_x\""]);
    some(12, "JobMaterializeDigestFile", &["\"/x/y.digest\""]);
    some(12, "JobMaterializePaused", &["0", "1", "3"]);
    some(12, "JobSetName", &["\"set1\"", "\"s2\""]);
    some(12, "JobSetId", &["1", "2"]);
    some(12, "JobCoolDownExpiration", &["1795005100", "1"]);
    some(9, "MinHosts", &["1", "4"]);
    some(9, "MaxHosts", &["1", "4"]);
    some(9, "CurrentHosts", &["0", "2"]);
    if random.one_in(3) {
        lines.push(format!("JobCurrentStartDate = {}", NOW - random.below(9_000)));
    }
    if random.one_in(2) {
        lines.push(format!("ShadowBday = {}", NOW - random.below(9_000)));
    }
    if status == 5 || random.one_in(9) {
        let reason = random.word(&[
            "\"via condor_hold (by user ann)\"",
            "\"two\\nlines\"",
            "\"a very long reason that goes on and on beyond any table width that a terminal could have, really\"",
            "\"\"",
        ]);
        lines.push(format!("HoldReason = {reason}"));
        lines.push(format!("HoldReasonCode = {}", random.pick(&[1, 3, 13, 26, 34])));
        if random.one_in(2) {
            lines.push(format!("HoldReasonSubCode = {}", random.pick(&[0, 2, 102])));
        }
    }
    if universe == 9 || random.one_in(12) {
        grid(random, lines);
    }
    if status == 4 || status == 3 {
        lines.push(format!("CompletionDate = {}", NOW - random.below(9_000)));
    }
    if random.one_in(10) {
        lines.push(format!("DAGManJobId = {}", cluster - random.below(5)));
        lines.push(format!("DAGNodeName = {}", random.pick(&["\"A\"", "\"B\"", "\"node_long_name\""])));
    }
    if universe == 7 {
        lines.push(format!("OtherJobRemoveRequirements = \"DAGManJobId =?= {cluster}\""));
    }
    lines.push(String::new());
}

fn grid(random: &mut Random, lines: &mut Vec<String>) {
    let resource = random.word(&[
        "\"condor schedd.example.org cm.example.org\"",
        "\"batch slurm\"",
        "\"arc ce.example.org\"",
        "\"ec2 https://x.example.org\"",
        "\"gce https://g.example.org proj zone\"",
    ]);
    lines.push(format!("GridResource = {resource}"));
    if random.one_in(2) {
        lines.push(format!("GridJobStatus = {}", random.pick(&["\"RUNNING\"", "\"IDLE\"", "3"])));
    }
    if random.one_in(2) {
        let id = random.word(&[
            "\"condor schedd.example.org cm.example.org 12.0\"",
            "\"batch slurm 77 abc\"",
            "\"x\"",
            "\"ec2 https://x/ key i-7\"",
        ]);
        lines.push(format!("GridJobId = {id}"));
    }
    if random.one_in(5) {
        lines.push("EC2RemoteVirtualMachineName = \"vm.example.org\"".to_owned());
    }
}

/// Returns a file of `-print-format`.
fn print_format(random: &mut Random) -> Vec<String> {
    let mut first = "SELECT".to_owned();
    for _ in 0..random.below(3) {
        first.push(' ');
        first.push_str(random.word(&[
            "BARE",
            "NOTITLE",
            "NOHEADER",
            "NOSUMMARY",
            "LABEL",
            "LABEL SEPARATOR \" = \"",
            "RECORDPREFIX \"<\"",
            "RECORDSUFFIX \"\\n--\\n\"",
            "FIELDPREFIX \"|\"",
            "FIELDSUFFIX \";\"",
            "UNIQUE",
            "FROM AUTOCLUSTER",
        ]));
    }
    let mut lines = vec![first];
    if random.one_in(6) {
        lines.insert(0, "# a comment".to_owned());
    }
    for _ in 0..1 + random.below(5) {
        lines.push(selected(random));
    }
    if random.one_in(4) {
        lines.push(format!("WHERE {}", constraint(random)));
        if random.one_in(3) {
            lines.push(format!("AND {}", constraint(random)));
        }
    }
    if random.one_in(6) {
        lines.push("GROUP BY".to_owned());
        lines.push(format!("   Owner{}", random.pick(&["", " ASCENDING", " DESCENDING"])));
        if random.one_in(2) {
            lines.push(format!("   JobStatus{}", random.pick(&["", " ASCENDING", " DESCENDING"])));
        }
    }
    if random.one_in(3) {
        lines.push((random.word(&["SUMMARY STANDARD", "SUMMARY NONE", "SUMMARY"])).to_owned());
    }
    lines
}

fn selected(random: &mut Random) -> String {
    let mut line = format!("   {}", column(random));
    let renderers = [
        "ACTIVITY_CODE",
        "ACTIVITY_TIME",
        "BATCH_NAME",
        "BUFFER_IO_MISC",
        "CPU_TIME",
        "DAG_OWNER",
        "DATE",
        "DUE_DATE",
        "ELAPSED_TIME",
        "GRID_JOB_ID",
        "GRID_RESOURCE",
        "GRID_STATUS",
        "JOB_COMMAND",
        "JOB_DESCRIPTION",
        "JOB_FACTORY_MODE",
        "JOB_ID",
        "JOB_STATUS",
        "JOB_STATUS_RAW",
        "JOB_UNIVERSE",
        "LOAD_AVG",
        "MEMBER_COUNT",
        "MEMORY_USAGE",
        "OWNER",
        "QDATE",
        "READABLE_BYTES",
        "READABLE_KB",
        "READABLE_MB",
        "REMOTE_HOST",
        "RUNTIME",
        "STRINGS_FROM_LIST",
        "TIME",
        "UNIQUE",
        "NO_SUCH",
    ];
    if random.one_in(2) {
        line.push_str(random.word(&[" AS NAME", " AS 'two words'", " AS \" x\"", " AS ' ID'", " AS ''"]));
    }
    if random.one_in(3) {
        line.push_str(&format!(" PRINTAS {}", random.pick(&renderers)));
    } else if random.one_in(3) {
        let format =
            random.word(&["%5d", "%-10s|", "%.1f", "%s", "%v", "%V", ".%-3d", "%T", "x%d", "%6.2lf"]);
        line.push_str(&format!(" PRINTF \"{format}\""));
    }
    for _ in 0..random.below(3) {
        let words = [
            " WIDTH 6",
            " WIDTH -12",
            " WIDTH AUTO",
            " WIDTH 0",
            " TRUNCATE",
            " FIT",
            " LEFT",
            " RIGHT",
            " NOPREFIX",
            " NOSUFFIX",
            " ALWAYS",
            " OR ?",
            " OR ??",
            " OR -",
            " OR *",
        ];
        line.push_str(random.word(&words));
    }
    line
}
