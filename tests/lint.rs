//! Tests of `lint` of both programs: rules, selection, formats, corrections, baselines, standard input.

#![cfg(feature = "cli")]

use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use serde_json::Value;
use tempfile::TempDir;

const CONFIG_DUMP: &str = env!("CARGO_BIN_EXE_htc-config-dump");
const ROUTER_TRANSLATE: &str = env!("CARGO_BIN_EXE_htc-router-translate");

/// Directory with files, in which programs run.
struct WorkDirectory(TempDir);

/// Output of a program.
struct LintRun {
    out: String,
    err: String,
    status: i32,
}

impl WorkDirectory {
    fn new(files: &[(&str, &str)]) -> Self {
        let place = WorkDirectory(tempfile::tempdir().expect("a directory"));
        for (name, text) in files {
            fs::write(place.path().join(name), text).expect("a file");
        }
        place
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    fn text(&self, name: &str) -> String {
        fs::read_to_string(self.path().join(name)).expect("a file")
    }

    fn run(&self, program: &str, arguments: &[&str], input: &str) -> LintRun {
        let mut child = Command::new(program)
            .args(arguments)
            .env_clear()
            .env("CONDOR_CONFIG", self.path().join("condor_config"))
            .current_dir(self.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("it starts");
        let mut stdin = child.stdin.take().expect("a pipe");
        // A program that does not read its input may have ended.
        let _ = stdin.write_all(input.as_bytes());
        drop(stdin);
        let Output { stdout, stderr, status } = child.wait_with_output().expect("it ends");
        let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
        LintRun { out: text(stdout), err: text(stderr), status: status.code().expect("no signal") }
    }

    fn lint(&self, arguments: &[&str]) -> LintRun {
        self.run(CONFIG_DUMP, &[&["lint"], arguments].concat(), "")
    }
}

/// Returns `rule:file:line:column` of each record.
fn places(json: &str) -> Vec<String> {
    let records: Vec<Value> = serde_json::from_str(json).unwrap_or_else(|_| panic!("{json}"));
    let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    records
        .iter()
        .map(|it| ["rule", "file", "line", "column", "end_column"].map(|key| text(&it[key])).join(":"))
        .collect()
}

const MIXED: &str = "A_LIMIT = 1\nA_LIMIT = 2\nSTRT = true\nNUM_CPUS = four\nSTART = $(A_LIMIT) > 0\n";

#[test]
fn findings_are_counted_by_severity_and_notes_alone_do_not_fail() {
    let place = WorkDirectory::new(&[("c", MIXED), ("notes", "A = 1\nA = 2\nSTART = $(A) > 0\n")]);
    let ended = place.lint(&["c"]);
    assert_eq!(ended.status, 1, "{}", ended.err);
    let counts =
        "3 findings: 1 error, 1 warning, 1 note (1 bad-value, 1 shadowed-definition, 1 unknown-parameter); ";
    assert!(ended.err.starts_with(counts), "{}", ended.err);
    for line in ["c:1:1: note: ", "c:3:1: warning: ", "c:4:12: error: "] {
        assert!(ended.out.contains(line), "{line} {}", ended.out);
    }
    assert_eq!(place.lint(&["notes"]).status, 0);
    assert_eq!(place.lint(&["notes", "--strict"]).status, 1);
}

#[test]
fn macros_used_as_attributes_and_misspelled_route_limits_are_found() {
    let route = "JOB_ROUTER_ROUTE_NAMES = A\nJOB_ROUTER_ROUTE_A @=x\nREQUIREMENTS true\nUNIVERSE 5\nMaxIdleJob = 5\n@x\n";
    let place = WorkDirectory::new(&[
        ("c", "START = KeyboardIdle > StartIdleTime\nStartIdleTime = 900\n"),
        ("r", route),
    ]);
    let ended = place.lint(&["c"]);
    assert!(ended.out.contains("StartIdleTime is a macro; as an attribute it is undefined"), "{}", ended.out);
    let ended = place.lint(&["r"]);
    assert!(ended.out.contains("fix: did you mean MaxIdleJobs?"), "{}", ended.out);
}

#[test]
fn rules_are_selected_and_ignored_by_name() {
    let place = WorkDirectory::new(&[("c", MIXED)]);
    let rules = |words: &[&str]| {
        let ended = place.lint(&[&["c", "--json"], words].concat());
        let rules: Vec<String> =
            places(&ended.out).iter().map(|it| it.split(':').next().unwrap_or_default().to_owned()).collect();
        (rules.join(" "), ended.status)
    };
    assert_eq!(rules(&["--select", "bad-value"]), ("bad-value".to_owned(), 1));
    assert_eq!(
        rules(&["--select", "bad-value,shadowed-definition"]).0,
        "shadowed-definition bad-value",
        "findings keep the order of the file"
    );
    assert_eq!(rules(&["--ignore", "bad-value,unknown-parameter"]), ("shadowed-definition".to_owned(), 0));
    let ended = place.lint(&["c", "--select", "bad-valeu"]);
    assert_eq!(ended.status, 2);
    assert!(ended.err.contains("lint has no rule 'bad-valeu'; did you mean bad-value?"), "{}", ended.err);
}

#[test]
fn values_that_daemons_reject_are_findings() {
    for (config, rule) in [
        ("START : true\n", "colon-assignment"),
        ("ENABLE_IPV6 = ture\n", "bad-value"),
        ("AUTO_USE_FEATURE_NoSuch = true\n", "bad-value"),
    ] {
        let place = WorkDirectory::new(&[("c", config)]);
        let ended = place.lint(&["c", "--json"]);
        assert_eq!(ended.status, 1, "{config}{}", ended.err);
        assert!(ended.out.contains(&format!("\"rule\": \"{rule}\"")), "{config}{}", ended.out);
        assert!(!ended.err.contains("no findings"), "{}", ended.err);
    }
}

#[test]
fn every_rule_is_listed_and_explained() {
    let place = WorkDirectory::new(&[]);
    let table = place.lint(&["--rules"]);
    assert_eq!(table.status, 0, "{}", table.err);
    let json: Vec<Value> = serde_json::from_str(&place.lint(&["--rules", "--json"]).out).expect("JSON");
    assert_eq!(json.len() + 1, table.out.lines().count());
    for rule in &json {
        let name = rule["name"].as_str().expect("a name");
        assert!(table.out.contains(&format!("\n{name} ")), "{name}");
        for key in ["severity", "explanation", "wrong", "right", "versions"] {
            assert!(!rule[key].as_str().expect("a text").is_empty() || key == "right", "{name} has no {key}");
        }
    }
    for program in [CONFIG_DUMP, ROUTER_TRANSLATE] {
        let ended = place.run(program, &["lint", "--explain", "unbalanced"], "");
        assert_eq!(ended.status, 0, "{}", ended.err);
        for part in ["unbalanced\n", "severity: error\n", "versions: ", "\nwrong:\n    ", "\nright:\n    "] {
            assert!(ended.out.contains(part), "{part} {}", ended.out);
        }
    }
}

#[test]
fn records_have_the_end_of_the_place_and_certain_corrections() {
    let place = WorkDirectory::new(&[("c", "STRT = true\n")]);
    let record: Value = serde_json::from_str(&place.lint(&["c", "--format", "jsonl"]).out).expect("JSON");
    assert_eq!(
        (record["line"].as_u64(), record["column"].as_u64(), record["end_line"].as_u64()),
        (Some(1), Some(1), Some(1))
    );
    assert_eq!(record["end_column"], 5);
    assert_eq!(record["severity"], "warning");
    let correction = serde_json::json!({"line": 1, "column": 1, "end_column": 5, "text": "START"});
    assert_eq!(record["replacement"], correction);
    let both = place.lint(&["c", "--json", "--format", "json"]);
    assert_eq!(both.status, 2, "{}", both.out);
    // --json and --format json are the same.
    assert_eq!(place.lint(&["c", "--json"]).out, place.lint(&["c", "--format", "json"]).out);
}

#[test]
fn github_commands_escape_characters_that_end_a_property() {
    let place = WorkDirectory::new(&[("a,b:c", "STRT = true\nA = 1\nA = 2\nSTART = $(A) > 0\n")]);
    let ended = place.lint(&["a,b:c", "--format", "github"]);
    assert_eq!(ended.status, 1);
    let lines: Vec<&str> = ended.out.lines().collect();
    assert!(
        lines[0].starts_with(
            "::warning file=a%2Cb%3Ac,line=1,endLine=1,col=1,endColumn=5,title=unknown-parameter::"
        ),
        "{}",
        ended.out
    );
    assert!(lines[0].ends_with("%0Afix: did you mean START?"), "{}", ended.out);
    assert!(lines[1].starts_with("::notice file="), "{}", ended.out);
}

/// The parts of SARIF 2.1.0 that code scanning services require.
#[test]
fn a_sarif_log_has_rules_places_and_corrections() {
    let place = WorkDirectory::new(&[("a b", "STRT = true\nNUM_CPUS = four\n")]);
    let ended = place.lint(&["a b", "--format", "sarif"]);
    assert_eq!(ended.status, 1);
    let log: Value = serde_json::from_str(&ended.out).expect("JSON");
    assert_eq!(log["version"], "2.1.0");
    let run = &log["runs"][0];
    let rules = run["tool"]["driver"]["rules"].as_array().expect("rules");
    let results = run["results"].as_array().expect("results");
    assert_eq!(results.len(), 2);
    for result in results {
        let rule = &rules[result["ruleIndex"].as_u64().expect("an index") as usize];
        assert_eq!(rule["id"], result["ruleId"]);
        assert!(!rule["shortDescription"]["text"].as_str().expect("a text").is_empty());
        assert!(["error", "warning", "note"].contains(&result["level"].as_str().expect("a level")));
        let location = &result["locations"][0]["physicalLocation"];
        assert_eq!(location["artifactLocation"]["uri"], "a%20b");
        let region = &location["region"];
        assert!(region["endColumn"].as_u64() > region["startColumn"].as_u64(), "{region}");
    }
    let fix = &results[0]["fixes"][0]["artifactChanges"][0]["replacements"][0];
    assert_eq!(fix["insertedContent"]["text"], "START");
    assert_eq!(fix["deletedRegion"]["endColumn"], 5);
    // Columns count characters.
    let place = WorkDirectory::new(&[("c", "START = \"\u{e4}\u{e4}\" == Owner &&\n")]);
    let columns = |format: &str, key: &str, at: &str| -> u64 {
        let json: Value = serde_json::from_str(&place.lint(&["c", "--format", format]).out).expect("JSON");
        json.pointer(at).and_then(|it| it[key].as_u64()).unwrap_or_else(|| panic!("{json}"))
    };
    let sarif = columns("sarif", "startColumn", "/runs/0/results/0/locations/0/physicalLocation/region");
    assert_eq!(columns("json", "column", "/0"), sarif + 2);
}

/// Text before and after `--fix`.
const CORRECTIONS: &[(&str, &str)] = &[
    // Misspelled names.
    ("STRT = true\n", "START = true\n"),
    ("  STRT=true\n", "  START=true\n"),
    (
        "STARTD_JOB_HOOK_KEYWORD = F\nF_HOOK_FETCH_WROK = /bin/true\n",
        "STARTD_JOB_HOOK_KEYWORD = F\nF_HOOK_FETCH_WORK = /bin/true\n",
    ),
    ("WEIGHT = 3\nRANK = $(WEIGTH) * 2\n", "WEIGHT = 3\nRANK = $(WEIGHT) * 2\n"),
    // An obsolete assignment.
    ("START : true\n", "START = true\n"),
    ("START: true\n", "START = true\n"),
    // Strings without quotes.
    ("STARTD_ATTRS = Site\nSite = north pole\n", "STARTD_ATTRS = Site\nSite = \"north pole\"\n"),
    ("STARTD_ATTRS = Site\nSite = north\n", "STARTD_ATTRS = Site\nSite = \"north\"\n"),
    // Text that is part of a value by mistake.
    ("LOG = /scratch # fast disk\n", "# fast disk\nLOG = /scratch\n"),
    ("  LOG = /scratch # fast disk\n", "  # fast disk\n  LOG = /scratch\n"),
    ("START = Owner == \"a#b\"  \t# only ann\n", "# only ann\nSTART = Owner == \"a#b\"\n"),
    ("LOG = $LOCAL_DIR/log\n", "LOG = $(LOCAL_DIR)/log\n"),
    ("LOG = ${LOCAL_DIR}/log\n", "LOG = $(LOCAL_DIR)/log\n"),
    ("SPOOL = \"/var/spool/condor\"\n", "SPOOL = /var/spool/condor\n"),
    ("SPOOL = /var/spool/condor,\n", "SPOOL = /var/spool/condor\n"),
    // Words for true and false.
    ("CREATE_CORE_FILES = yes\n", "CREATE_CORE_FILES = true\n"),
    // Blanks in references.
    ("W = 3\nRANK = $( W ) * 2\n", "W = 3\nRANK = $(W) * 2\n"),
    // Several corrections of one line.
    ("WEIGHT = 3\nSTRT : $(WEIGTH) > 2\n", "WEIGHT = 3\nSTART = $(WEIGHT) > 2\n"),
    // Keywords of routes.
    (
        "JOB_TRANSFORM_NAMES = a\nJOB_TRANSFORM_a @=e\n  SETT A 1\n@e\n",
        "JOB_TRANSFORM_NAMES = a\nJOB_TRANSFORM_a @=e\n  SET A 1\n@e\n",
    ),
    // Statements of the old syntax.
    (
        "JOB_TRANSFORM_NAMES = a\nJOB_TRANSFORM_a @=e\n  set_A = \"x\"\n  eval_set_B = C + 1\n  copy_D = \"E\"\n  delete_F = true\n@e\n",
        "JOB_TRANSFORM_NAMES = a\nJOB_TRANSFORM_a @=e\n  SET A \"x\"\n  EVALSET B C + 1\n  COPY D E\n  DELETE F\n@e\n",
    ),
    // Misspelled words that are similar to one valid word.
    ("SEC_DEFAULT_AUTHENTICATION = REQURED\n", "SEC_DEFAULT_AUTHENTICATION = REQUIRED\n"),
    (
        "SEC_DEFAULT_AUTHENTICATION_METHODS = FS, KERBROS\n",
        "SEC_DEFAULT_AUTHENTICATION_METHODS = FS, KERBEROS\n",
    ),
    ("SCHEDD_DEBUG = D_FULLDEBUG D_SECURTY\n", "SCHEDD_DEBUG = D_FULLDEBUG D_SECURITY\n"),
    ("use SECURITY : USER_BASE\n", "use SECURITY : USER_BASED\n"),
    // Operators, units and keywords.
    ("SYSTEM_PERIODIC_REMOVE = JobStatus = 5\n", "SYSTEM_PERIODIC_REMOVE = JobStatus == 5\n"),
    ("PREEMPT = (time() - JobStart) > 48 * HOUR\n", "PREEMPT = (time() - JobStart) > 48 * $(HOUR)\n"),
    ("if true\nelse if defined A\nendif\n", "if true\nelif defined A\nendif\n"),
    ("if true\n  elseif defined A\nendif\n", "if true\n  elif defined A\nendif\n"),
    // Comments after expressions of routes.
    (
        "JOB_TRANSFORM_NAMES = a\nJOB_TRANSFORM_a @=e\n  SET A 1 # one\n@e\n",
        "JOB_TRANSFORM_NAMES = a\nJOB_TRANSFORM_a @=e\n  SET A 1 \n@e\n",
    ),
    // A comment hides the mistake in the value before it.
    ("START = flase # remark\n", "# remark\nSTART = false\n"),
    ("USE_PROCD = yes # on\n", "# on\nUSE_PROCD = true\n"),
    ("STRT = true # a\nPREEMPT = flase # b\n", "# a\nSTART = true\n# b\nPREEMPT = false\n"),
];

#[test]
fn certain_corrections_are_shown_and_applied() {
    for (before, after) in CORRECTIONS {
        let place = WorkDirectory::new(&[("c", before)]);
        let shown = place.lint(&["c", "--diff"]);
        assert_eq!(shown.status, 1, "{before}{}", shown.err);
        assert_eq!(place.text("c"), *before, "--diff changes nothing");
        let is_same_count = before.lines().count() == after.lines().count();
        for (old, new) in before.lines().zip(after.lines()).filter(|(old, new)| is_same_count && old != new) {
            assert!(shown.out.contains(&format!("\n-{old}\n+{new}\n")), "{before}{}", shown.out);
        }
        let ended = place.lint(&["c", "--fix"]);
        assert_eq!(place.text("c"), *after, "{}{}", ended.out, ended.err);
        assert!(ended.err.contains("in 1 file\n"), "{}", ended.err);
        // Nothing is left to correct.
        assert_eq!(place.lint(&["c", "--diff"]).out, "", "{after}");
    }
}

/// The corrections of seeded mistakes leave what was meant, and HTCondor reads the same values from both texts.
#[test]
fn seeded_mistakes_are_corrected_to_the_intended_values() {
    let rows = fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/lint/corrections.tsv"));
    let rows = rows.expect("the set");
    let place = WorkDirectory::new(&[]);
    let count = rows.lines().count();
    for (number, row) in rows.lines().enumerate() {
        let (before, after) = row.split_once('\t').expect("two texts");
        let [before, after] = [before, after].map(|text| format!("{}\n", text.replace("\\n", "\n")));
        for (name, text) in [("fixed", &before), ("expected", &after)] {
            let directory = place.path().join(number.to_string());
            fs::create_dir_all(&directory).expect("a directory");
            fs::write(directory.join(name), text).expect("a file");
        }
        let fixed = format!("{number}/fixed");
        let ended = place.lint(&[fixed.as_str(), "--fix"]);
        let text = place.text(&fixed);
        assert!(text.eq_ignore_ascii_case(&after), "{before}{text}{}{}", ended.out, ended.err);
    }
    assert!(count >= 200, "{count}");
    let Some(python) = std::env::var_os("HTC_PYTHON") else {
        eprintln!("skipped: HTC_PYTHON is not set");
        return;
    };
    let ended = Command::new(python).args(["-c", COMPARE_VALUES]).current_dir(place.path()).output();
    let ended = ended.expect("python runs");
    let out = String::from_utf8_lossy(&ended.stdout);
    assert_eq!(out.trim(), format!("{count} equal"), "{}", String::from_utf8_lossy(&ended.stderr));
}

/// No policy has the name SYSTEM_PERIODIC_OLD, so the name is reported and never suggested.
#[test]
fn a_name_is_corrected_only_to_one_that_something_reads() {
    let place = WorkDirectory::new(&[("c", "SYSTEM_PERIODIC_OLD = true\nSYSTEM_PERIODICH_OLD = true\n")]);
    let ended = place.lint(&["c"]);
    for name in ["SYSTEM_PERIODIC_OLD", "SYSTEM_PERIODICH_OLD"] {
        assert!(ended.out.contains(&format!("HTCondor has no parameter {name}, ")), "{}", ended.out);
    }
    assert!(!ended.out.contains("did you mean SYSTEM_PERIODIC_OLD?"), "{}", ended.out);
}

#[test]
fn a_reference_is_not_corrected_to_the_parameter_that_contains_it() {
    let place =
        WorkDirectory::new(&[("c", "CONDOR_HOST = $(CONDOR_HOST2)\nCOLLECTOR_HOST = $(CONDOR_HOST3)\n")]);
    let ended = place.lint(&["c"]);
    assert!(ended.out.contains("define CONDOR_HOST2, or write"), "{}", ended.out);
    assert_eq!(ended.out.matches("did you mean $(CONDOR_HOST)?").count(), 1, "{}", ended.out);
}

/// Compares the values that HTCondor reads from the texts `fixed` and `expected` of each directory.
const COMPARE_VALUES: &str = r#"
import os, re
def values(path):
    os.environ["CONDOR_CONFIG"] = os.path.abspath(path)
    import htcondor2
    htcondor2.reload_config()
    names = re.findall(r"^ *([A-Za-z_0-9]+) *[=@]", open(path).read(), re.M)
    return {name.upper(): htcondor2.param.get(name) for name in names}
directories = [name for name in os.listdir(".") if name.isdigit()]
same = [name for name in directories if values(name + "/fixed") == values(name + "/expected")]
print(len(same), "equal")
"#;

#[test]
fn patch_applies_the_diff() {
    let filler = "# a comment\n".repeat(20);
    let before = format!("STRT = true\n{filler}LOG = /a # fast\n{filler}RNAK = 5\n# end\nSTART : true");
    let place = WorkDirectory::new(&[("c", &before)]);
    let diff = place.lint(&["c", "--diff"]).out;
    assert_eq!(diff.matches("@@ -").count(), 3, "{diff}");
    let Ok(mut child) =
        Command::new("patch").arg("-p0").current_dir(place.path()).stdin(Stdio::piped()).spawn()
    else {
        eprintln!("skipped: there is no patch program");
        return;
    };
    child.stdin.take().expect("a pipe").write_all(diff.as_bytes()).expect("patch reads");
    assert!(child.wait().expect("it ends").success(), "{diff}");
    let patched = place.text("c");
    fs::write(place.path().join("c"), &before).expect("a file");
    place.lint(&["c", "--fix"]);
    assert_eq!(place.text("c"), patched);
}

/// `--fix` names each line that it changes, with the old text and the new one.
#[test]
fn each_correction_is_named() {
    let place = WorkDirectory::new(&[("c", "NUM_CPUS = 4\nSTRT = true\nLOG = /a # fast\n")]);
    let ended = place.lint(&["c", "--fix"]);
    let named =
        "c:2: 'STRT = true' is now 'START = true'\nc:3: 'LOG = /a # fast' is now '# fast' and 'LOG = /a'\n";
    assert!(ended.err.contains(named), "{}", ended.err);
}

#[test]
fn corrections_reach_included_files_and_leave_the_rest() {
    let place = WorkDirectory::new(&[("c", "include : part\nNUM_CPUS = four\n"), ("part", "STRT = true\n")]);
    let ended = place.lint(&["c", "--fix"]);
    assert_eq!((ended.status, place.text("part").as_str()), (1, "START = true\n"), "{}", ended.err);
    assert!(ended.out.contains("[bad-value]") && !ended.out.contains("[unknown-parameter]"), "{}", ended.out);
    assert_eq!(place.run(CONFIG_DUMP, &["lint", "--fix", "-"], "STRT = 1\n").status, 2);
}

/// A process that reads the configuration sees the old file or the new one, and a link stays a link.
#[test]
fn corrected_files_are_replaced_and_keep_links_and_modes() {
    use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};
    let place = WorkDirectory::new(&[("real", "STRT = true\n")]);
    let real = place.path().join("real");
    fs::set_permissions(&real, fs::Permissions::from_mode(0o640)).expect("a mode");
    symlink("real", place.path().join("c")).expect("a link");
    let inode = fs::metadata(&real).expect("a file").ino();
    let ended = place.lint(&["c", "--fix"]);
    assert_eq!(ended.err.lines().next(), Some("1 correction in 1 file"), "{}", ended.err);
    assert_eq!(place.text("real"), "START = true\n");
    assert!(fs::symlink_metadata(place.path().join("c")).expect("a link").is_symlink());
    let after = fs::metadata(&real).expect("a file");
    assert_eq!(after.mode() & 0o7777, 0o640);
    assert_ne!(after.ino(), inode, "the file is replaced");
    assert_eq!(fs::read_dir(place.path()).expect("a directory").count(), 2, "no other file is left");
}

#[test]
fn files_with_nul_bytes_are_not_corrected() {
    let before = "STRT = true\n# \0\n";
    let place = WorkDirectory::new(&[("c", before)]);
    for option in ["--fix", "--diff"] {
        let ended = place.lint(&["c", option]);
        assert_eq!(ended.status, 3, "{}", ended.err);
        assert!(ended.err.contains("'c' is not a text file"), "{}", ended.err);
    }
    assert_eq!(place.text("c"), before);
}

#[test]
fn a_baseline_knows_findings_by_rule_parameter_and_value() {
    let old = "STRT = true\nNUM_CPUS = four\nbad line\n";
    let place = WorkDirectory::new(&[("c", old)]);
    let written = place.lint(&["c", "--write-baseline", "known"]);
    assert_eq!((written.status, written.err.as_str()), (0, "3 findings written to known\n"));
    let lint = |text: &str| {
        fs::write(place.path().join("c"), text).expect("a file");
        place.lint(&["c", "--baseline", "known"])
    };
    let same = lint(old);
    assert_eq!(same.status, 0, "{}{}", same.out, same.err);
    assert!(same.err.contains("no findings; 3 findings of the baseline not shown; "), "{}", same.err);
    // Line numbers are ignored.
    assert_eq!(lint(&format!("# moved\n\n{old}")).status, 0);
    // Findings about another value or parameter, and a second finding of the same kind, are new.
    for new in [
        old.replace("four", "five"),
        old.replace("STRT", "STTART"),
        format!("{old}bad line\n"),
        format!("{old}COLLECTOR_PORT = x\n"),
    ] {
        let ended = lint(&new);
        assert_eq!(ended.status, 1, "{new}{}", ended.err);
        assert!(ended.err.starts_with("1 finding: "), "{new}{}", ended.err);
    }
    // A baseline does not contain the value of a secret.
    fs::write(place.path().join("c"), "SEC_PASSWORD_X = $(hunter2 x)\nSTRT = true\n").expect("a file");
    place.lint(&["c", "--write-baseline", "known"]);
    assert!(!place.text("known").contains("hunter2"), "{}", place.text("known"));
    fs::write(place.path().join("known"), "no JSON\n").expect("a file");
    let ended = place.lint(&["c", "--baseline", "known"]);
    assert_eq!(ended.status, 3);
    assert!(ended.err.contains("known:1: "), "{}", ended.err);
}

#[test]
fn standard_input_is_a_configuration_or_rules() {
    let place = WorkDirectory::new(&[]);
    let ended = place.run(CONFIG_DUMP, &["lint", "-"], "START = true\nSTRT = true\n");
    assert_eq!(ended.status, 1, "{}", ended.err);
    assert!(ended.out.starts_with("<stdin>:2:1: warning: "), "{}", ended.out);
    let ended = place.run(ROUTER_TRANSLATE, &["lint", "-"], "SETT A 1\n");
    assert_eq!(ended.status, 1, "{}", ended.err);
    assert!(ended.out.starts_with("<stdin>:1:1: error: "), "{}", ended.out);
}

#[test]
fn colours_are_printed_on_request() {
    let place = WorkDirectory::new(&[("c", "STRT = true\n"), ("r", "SETT A 1\n")]);
    for (program, file) in [(CONFIG_DUMP, "c"), (ROUTER_TRANSLATE, "r")] {
        let ended = place.run(program, &["lint", file, "--color", "always"], "");
        assert!(ended.out.contains("\u{1b}["), "{}", ended.out);
        assert!(!place.run(program, &["lint", file], "").out.contains('\u{1b}'));
    }
}

/// Both programs use the same linter: they have the same findings at the same places of configurations and rules files.
#[test]
fn both_programs_find_the_same_at_the_same_places() {
    let router = "\
JOB_ROUTER_ROUTE_NAMES = a, b, c
JOB_ROUTER_ROUTE_a @=end
  UNIVERSE VANILLA
  SETT Rank 5
  SET Tag 5 +
  SET Site \\
    'north'
@end
JOB_ROUTER_ROUTE_b @=end
  REQUIREMENTS Owner ==
  SET A $(B
@end
STRT = true
";
    let rules = "V = 1\nREQUIREMENTS Owner == 'ann'\nSET A 1\nSET A 2\nSETT Rank 5\n";
    let place = WorkDirectory::new(&[("router.conf", router), ("a.rules", rules), ("condor_config", router)]);
    for words in [&["router.conf"][..], &["a.rules"], &[]] {
        let all = |program: &str| place.run(program, &[&["lint", "--json"], words].concat(), "");
        let (config, router) = (all(CONFIG_DUMP), all(ROUTER_TRANSLATE));
        assert_eq!(places(&config.out), places(&router.out), "{words:?}");
        assert_eq!(config.out, router.out);
        assert_eq!((config.status, router.status), (1, 1), "{words:?}");
        assert!(places(&config.out).len() > 3, "{}", config.out);
        for place in places(&config.out) {
            let file = place.split(':').nth(1).unwrap_or_default();
            assert!(words.is_empty() && file.ends_with("condor_config") || words == [file], "{place}");
        }
    }
}

/// Returns the commands of a file of `examples/ci` that call lint, as its service runs them.
fn commands_of(file: &str) -> Vec<String> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/ci").join(file);
    let text = fs::read_to_string(path).expect("a file");
    let keys = ["entry: ", "run: ", "- "];
    let command = |line: &str| keys.iter().find_map(|key| line.trim().strip_prefix(key).map(str::to_owned));
    text.lines().filter_map(command).filter(|line| line.contains("htc-config-dump lint")).collect()
}

/// In each of the services, a good change passes and a change that adds a finding fails.
#[test]
fn the_commands_for_ci_services_accept_good_changes_and_reject_bad_ones() {
    let programs = Path::new(CONFIG_DUMP).parent().expect("a directory");
    let path = std::env::join_paths([programs, Path::new("/usr/bin"), Path::new("/bin")]).expect("a path");
    for (file, count) in [("pre-commit-config.yaml", 1), ("github.yml", 2), ("gitlab-ci.yml", 2)] {
        let commands = commands_of(file);
        assert_eq!(commands.len(), count, "{file}: {commands:?}");
        let place = WorkDirectory::new(&[]);
        fs::create_dir(place.path().join("condor")).expect("a directory");
        let write = |name: &str, text: &str| fs::write(place.path().join(name), text).expect("a file");
        // GitHub runs a step with `bash -e`, GitLab a script with `sh -e`.
        let passes = || {
            let run = |command: &String| {
                let mut shell = Command::new("sh");
                shell.arg("-ec").arg(command).current_dir(place.path()).env_clear().env("PATH", &path);
                let output = shell.output().expect("it starts");
                (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
            };
            let ended: Vec<_> = commands.iter().map(run).collect();
            assert!(ended.iter().all(|(code, _)| matches!(code, Some(0 | 1))), "{file}: {ended:?}");
            ended.iter().all(|(code, _)| *code == Some(0))
        };
        write("condor/10-site.conf", "START = TARGET.Owner == \"ann\"\n");
        write("condor/20-old.conf", "STRT = true\n");
        write("condor/baseline.jsonl", "");
        assert!(!passes(), "{file}");
        let known = place.lint(&[
            "--write-baseline",
            "condor/baseline.jsonl",
            "condor/10-site.conf",
            "condor/20-old.conf",
        ]);
        assert_eq!(known.status, 0, "{}", known.err);
        assert!(passes(), "{file}");
        write("condor/10-site.conf", "START = TARGET.Owner == \"ann\"\nNUM_CPUS = four\n");
        assert!(!passes(), "{file}");
    }
}

#[test]
fn another_version_reads_other_parameters() {
    let config = "LIBRARIAN_DATABASE = /var/lib/condor/jobs.db\nNAMED_CHROOT = /jail\n\
                  JOB_ROUTER_USE_DEPRECATED_ROUTER_ENTRIES = true\nJOB_ROUTER_ENTRIES = [ name = \"a\"; TargetUniverse = 5; ]\n";
    let place = WorkDirectory::new(&[("condor_config", config)]);
    let rules = |version: &str| {
        let ended = place.lint(&["--json", "--for", version]);
        let found: Vec<String> = places(&ended.out)
            .iter()
            .map(|it| it.split(':').step_by(2).take(2).collect::<Vec<_>>().join(":"))
            .collect();
        (found.join(" "), ended.status)
    };
    assert_eq!(rules("24.0"), ("not-in-version:1".to_owned(), 1));
    let (later, _) = rules("25.0.13");
    assert!(later.contains("not-in-version:1") && later.contains("old-syntax:4"), "{later}");
    assert!(!later.contains(":2"), "{later}");
    let (now, _) = rules("25.14");
    assert!(!now.contains("not-in-version") && now.contains("old-syntax:4") && now.contains(":2"), "{now}");
    assert_eq!(place.lint(&["--for", "23.0"]).status, 2);
    assert_eq!(place.lint(&["--for", "24.0", "--here"]).status, 2);
}

/// Names that HTCondor knows are not reported as misspelled names of other attributes.
#[test]
fn known_attributes_of_job_ads_are_not_misspelled() {
    let known = include_str!("../crates/htc-lint/src/data/attributes.tsv");
    let ad: String = known
        .lines()
        .filter_map(|line| line.split('\t').next())
        .map(|name| format!("{name} = undefined\n"))
        .collect();
    let place = WorkDirectory::new(&[("job.ad", ad.as_str())]);
    let output = place.lint(&["--ads", "job.ad"]);
    assert!(!output.out.contains("no daemon reads"), "{}", output.out);
    let place = WorkDirectory::new(&[("job.ad", "PreCmd = \"x\"\nJobStatsu = 1\n")]);
    let output = place.lint(&["--ads", "job.ad"]);
    assert_eq!(output.out.matches("no daemon reads").count(), 1, "{}", output.out);
}

/// Configuration with a mistake in a job transform, one in a route, and one elsewhere.
const ROUTER_CONFIG: &str = "NUM_CPUS = four\nJOB_TRANSFORM_NAMES = T\nJOB_TRANSFORM_T @=end\n  SET A 1\n  UNIVERS vanilla\n@end\n\
    JOB_ROUTER_ROUTE_NAMES = R\nJOB_ROUTER_ROUTE_R @=end\n  REQUIREMENTS Owner == \"x\"\n  UNIVERSE vanila\n@end\n";

#[test]
fn named_routes_and_transforms_have_places_in_their_file() {
    let place = WorkDirectory::new(&[("c", ROUTER_CONFIG)]);
    let found = |words: &[&str]| -> Vec<(String, u64, u64)> {
        let words = [&["lint", "--config-file", "c", "--format", "jsonl"], words].concat();
        let LintRun { out, .. } = place.run(ROUTER_TRANSLATE, &words, "");
        let record = |line: &str| {
            let value: Value = serde_json::from_str(line).expect("JSON");
            let number = |key: &str| value[key].as_u64().expect("a number");
            (value["file"].as_str().expect("a file").to_owned(), number("line"), number("column"))
        };
        out.lines().map(record).collect()
    };
    assert_eq!(found(&["--job-transforms", "T"]), [("c".to_owned(), 5, 3)]);
    assert_eq!(found(&["--route", "r"]), [("c".to_owned(), 10, 12)]);
    assert_eq!(found(&["--route", "R", "--job-transforms", "T"]).len(), 2);
    let words = ["lint", "--config-file", "c", "--job-transforms", "T", "--format", "sarif"];
    let log: Value = serde_json::from_str(&place.run(ROUTER_TRANSLATE, &words, "").out).expect("JSON");
    let location = &log["runs"][0]["results"][0]["locations"][0]["physicalLocation"];
    assert_eq!(location["artifactLocation"]["uri"], "c", "{log}");
    assert_eq!(location["region"]["startLine"], 5, "{log}");
    let absent = place.run(ROUTER_TRANSLATE, &["lint", "--config-file", "c", "--job-transforms", "T,U"], "");
    assert_eq!(absent.status, 3, "{}", absent.err);
    assert!(absent.err.contains("JOB_TRANSFORM_U is not defined"), "{}", absent.err);
}

#[test]
fn named_routes_and_transforms_are_corrected_in_their_file() {
    let place = WorkDirectory::new(&[("c", ROUTER_CONFIG)]);
    let run =
        |words: &[&str]| place.run(ROUTER_TRANSLATE, &[&["lint", "--config-file", "c"], words].concat(), "");
    let diff = run(&["--job-transforms", "T", "--diff"]).out;
    assert!(diff.contains("\n-  UNIVERS vanilla\n+  UNIVERSE vanilla\n"), "{diff}");
    assert_eq!(place.text("c"), ROUTER_CONFIG);
    let fixed = run(&["--job-transforms", "T", "--fix"]);
    assert_eq!(fixed.status, 0, "{}{}", fixed.out, fixed.err);
    assert_eq!(place.text("c"), ROUTER_CONFIG.replace("UNIVERS vanilla", "UNIVERSE vanilla"));
    run(&["--route", "R", "--fix"]);
    assert!(place.text("c").contains("UNIVERSE VANILLA\n"), "{}", place.text("c"));
    assert!(place.text("c").starts_with("NUM_CPUS = four\n"));
}

#[test]
fn an_open_if_is_reported_where_it_is() {
    let outer = "if true\n  A = 1\n  if defined B\n    C = $(A)\nendif\nD = $(C)\n";
    for (text, line) in [
        ("A = 1\nif defined A\nSTART = $(A) > 0\n", 2),
        (outer, 3),
        ("if defined B\nif defined C\nendif\nelse\nSTART = true\n", 1),
        ("if defined B\nSTART = true\nend if\n", 3),
    ] {
        for name in ["condor_config", "more"] {
            let include = "include : more\n";
            let root = if name == "more" { include } else { text };
            let place = WorkDirectory::new(&[("condor_config", root), ("more", text)]);
            let words = ["lint", "--no-env", "--format", "jsonl", "--select", "syntax", "condor_config"];
            let LintRun { out, err, .. } = place.run(CONFIG_DUMP, &words, "");
            let found: Vec<Value> =
                out.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
            let lines: Vec<u64> = found.iter().filter_map(|found| found["line"].as_u64()).collect();
            assert_eq!(lines, [line], "{name}: {text}{out}{err}");
            assert!(found[0]["file"].as_str().is_some_and(|file| file.ends_with(name)), "{out}");
        }
    }
}
