//! Tests of the program `htc-config-dump`: lint, `--why`, JSON, dumps that read back, bad input.

#![cfg(feature = "cli")]

use std::ffi::OsStr;
use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use tempfile::TempDir;

struct Place(TempDir);

impl Place {
    fn new(config: &str) -> Self {
        let place = Place(tempfile::tempdir().expect("a directory"));
        place.write("condor_config", config);
        place
    }

    fn write(&self, name: &str, content: impl AsRef<[u8]>) {
        fs::write(self.0.path().join(name), content).expect("a file");
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    fn command(&self) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_htc-config-dump"));
        command.env_clear().current_dir(self.path()).env("CONDOR_CONFIG", self.path().join("condor_config"));
        command.stdin(Stdio::null());
        command
    }

    fn run<I: AsRef<OsStr>>(&self, words: impl IntoIterator<Item = I>) -> (String, String, i32) {
        let Output { stdout, stderr, status } = self.command().args(words).output().expect("it starts");
        let text = |bytes: Vec<u8>| {
            String::from_utf8_lossy(&bytes).replace(self.path().to_str().expect("plain text"), "DIR")
        };
        (text(stdout), text(stderr), status.code().expect("ended by itself"))
    }

    /// Returns the rule, line and column of each finding.
    fn findings(&self) -> Vec<String> {
        let (out, err, status) = self.run(["lint", "--json"]);
        let all: serde_json::Value = serde_json::from_str(&out).unwrap_or_else(|_| panic!("{out}{err}"));
        let all = all.as_array().expect("a list");
        let is_note = |one: &serde_json::Value| one["severity"] == "note";
        assert_eq!(status, i32::from(!all.iter().all(is_note)), "{err}");
        all.iter()
            .map(|one| format!("{}:{}:{}", one["rule"].as_str().expect("a rule"), one["line"], one["column"]))
            .collect()
    }
}

fn findings(config: &str) -> Vec<String> {
    Place::new(config).findings()
}

#[test]
fn a_sound_configuration_has_no_findings() {
    let config = "\
# a pool of one
use ROLE:Execute
use FEATURE:PartitionableSlot
MY_LIMIT = 1024
START = TARGET.RequestMemory <= $(MY_LIMIT)
STARTD_ATTRS = $(STARTD_ATTRS) Site
Site = \"here\"
STARTD_JOB_HOOK_KEYWORD = FARM
FARM_HOOK_FETCH_WORK = /bin/true
FARM_HOOK_REPLY_FETCH = /bin/true
FARM_HOOK_JOB_EXIT_TIMEOUT = 10
SLOT1_JOB_HOOK_KEYWORD = $(STARTD_JOB_HOOK_KEYWORD)
MAX_STARTD_LOG = 10 Mb
STARTD_CRON_JOBLIST = GPU
STARTD_CRON_GPU_EXECUTABLE = /bin/true
STARTD_CRON_GPU_PERIOD = 5m
JOB_ROUTER_ROUTE_NAMES = r
JOB_ROUTER_ROUTE_r @=end
  UNIVERSE VANILLA
  REQUIREMENTS Owner == \"ann\"
  SET Tag \"x\"
@end
";
    assert_eq!(findings(config), Vec::<String>::new());
}

#[test]
fn hook_parameters_that_nothing_reads_are_found() {
    let config = "\
STARTD_JOB_HOOK_KEYWORD = FARM
FARM_HOOK_FETCH_WORK = /bin/true
FARM_JOB_HOOK_PREPARE_JOB = /bin/true
FARM_HOOK_REPLY_CLAIM = /bin/true
FARM_HOOK_PREPARE_JOB_TIMEOUT = 5
FARM_HOOK_JOB_EXIT_ARGS = x
FARM_HOOK_FETCH_WROK = /bin/true
";
    let mut all = vec!["no-reply-hook:2:1".to_owned()];
    all.extend((3..=7).map(|line| format!("hook-knob:{line}:1")));
    assert_eq!(findings(config), all);
    let (out, _, _) = Place::new(config).run(["lint"]);
    assert!(out.contains("write FARM_HOOK_PREPARE_JOB"), "{out}");
    assert!(out.contains("FARM_HOOK_REPLY_FETCH"), "{out}");
    assert!(out.contains("did you mean FARM_HOOK_FETCH_WORK?"), "{out}");
    // A parameter with one letter too many is not reported as an unknown hook type.
    let config =
        "STARTD_JOB_HOOK_KEYWORDS = FARM\nFARM_HOOK_JOB_EXIT_TIMEOUTS = 5\nFARM_HOOK_JOB_EXIT = /bin/true\n";
    let (out, _, _) = Place::new(config).run(["lint"]);
    assert!(out.contains("did you mean STARTD_JOB_HOOK_KEYWORD?"), "{out}");
    assert!(out.contains("did you mean FARM_HOOK_JOB_EXIT_TIMEOUT?"), "{out}");
    assert!(!out.contains("not a hook type"), "{out}");
}

#[test]
fn cron_jobs_that_never_run_are_reported_with_the_reason() {
    let config = "STARTD_CRON_JOBLIST = A, B, C, D, E
STARTD_CRON_A_EXECUTABLE = /bin/true
STARTD_CRON_A_MODE = sometimes
STARTD_CRON_B_EXECUTABLE = /bin/true
STARTD_CRON_C_EXECUTABLE = /bin/true
STARTD_CRON_C_PERIOD = 3x
STARTD_CRON_D_EXECUTABLE = /bin/true
STARTD_CRON_D_PERIOD = 5m
STARTD_CRON_D_JOB_LOAD = 2
STARTD_CRON_D_KILL = yes
STARTD_CRON_E_EXECUTABLE = /bin/true
STARTD_CRON_E_PERIOD = 1h
SCHEDD_CRON_JOBLIST = S
SCHEDD_CRON_S_EXECUTABLE = /bin/true
SCHEDD_CRON_S_MODE = OnDemand
";
    let found = findings(config);
    let lines = ["3:22", "4:1", "6:24", "9:26", "10:22", "15:22"];
    assert_eq!(found, lines.map(|place| format!("cron-job:{place}")));
    let (out, _, _) = Place::new(config).run(["lint"]);
    assert!(out.contains("STARTD_CRON_B_PERIOD: Periodic needs a period: the job is never run"), "{out}");
    // If the file is only a part of a configuration, another file may set the period.
    let place = Place::new("");
    place.write(
        "part",
        "STARTD_CRON_JOBLIST = B\nSTARTD_CRON_B_EXECUTABLE = /bin/true\nSTARTD_CRON_B_KILL = 1\n",
    );
    let (out, _, _) = place.run(["lint", "10-part"]);
    assert!(!out.contains("needs a period"), "{out}");
}

#[test]
fn quotes_around_resource_names_are_part_of_the_names() {
    let config =
        "MACHINE_RESOURCE_Dongles = \"a b\"\nMACHINE_RESOURCE_Cards = a, b\nMACHINE_RESOURCE_Four = 2 * 2\n";
    assert_eq!(findings(config), ["resource-names:1:1"]);
}

#[test]
fn nothing_reads_names_with_leading_zeros_in_a_slot_number() {
    let config = "NUM_SLOTS = 2
SLOT01_JOB_HOOK_KEYWORD = FARM
SLOT1_01_USER = x
SLOT0_USER = x
NUM_SLOTS_TYPE_01 = 1
SLOT10_USER = x
SLOT_TYPE_0_PARTITIONABLE = false
";
    let (out, _, _) = Place::new(config).run(["lint"]);
    for meant in ["SLOT1_JOB_HOOK_KEYWORD?", "SLOT1_1_USER?", "NUM_SLOTS_TYPE_1?"] {
        assert!(out.contains(&format!("did you mean {meant}")), "{out}");
    }
    assert!(
        out.contains("SLOT0_USER: slots are numbered from 1") || out.contains("slots are numbered from 1"),
        "{out}"
    );
    assert!(!out.contains("SLOT10_USER") && !out.contains("PARTITIONABLE"), "{out}");
}

#[test]
fn hook_keywords_and_paths_are_checked() {
    let place = Place::new("");
    place.write("open", "#!/bin/sh\n");
    let config = format!(
        "STARTD_JOB_HOOK_KEYWORD = NONE\nSTARTER_JOB_HOOK_KEYWORD = KW\nKW_HOOK_PREPARE_JOB = {0}/open\n\
         KW_HOOK_JOB_EXIT = {0}/absent\nKW_HOOK_UPDATE_JOB_INFO = /bin/true\n",
        place.path().display()
    );
    place.write("condor_config", config);
    assert_eq!(place.findings(), ["keyword-without-hooks:1:27", "hook-refused:3:23", "hook-refused:4:20"]);
}

#[test]
fn references_that_cannot_expand_and_misspelled_ones_are_found() {
    let config = "\
BASE_DIRECTORY = /x
A = $( BASE_DIRECTORY )/y
B = $(BASE_DIRECTROY)/z
SYSTEM_PERIODIC_HOLD = $(JobStatus != 3) && \\
    false
C = $(A) $(B) $(C:-1) $INT($(A))
LOG = $(C)
";
    assert_eq!(
        findings(config),
        [
            "never-expanded:2:5",
            "misspelled-reference:3:5",
            "never-expanded:4:24",
            "never-expanded:6:15",
            "function-fails:6:23"
        ]
    );
}

#[test]
fn values_of_the_wrong_type_or_range_are_found() {
    let config = "\
START = (TARGET.Owner == \"x\"
RANK = TARGET.Owner =
COLLECTOR_PORT = 70000
NEGOTIATOR_INTERVAL = soon
ENABLE_IPV6 = auto
USE_SHARED_PORT = yes
STARTD_ATTRS = Site Contact Fine
Site = CERN
Contact = admin at cern.ch
Fine = \"a\"
";
    assert_eq!(
        findings(config),
        [
            "bad-expression:1:9",
            "bad-expression:2:21",
            "bad-value:3:18",
            "bad-value:4:23",
            "bad-value:6:19",
            "unquoted-string:8:8",
            "unquoted-string:9:17"
        ]
    );
}

#[test]
fn route_lists_and_route_definitions_must_agree() {
    let config = "\
JOB_ROUTER_ROUTE_NAMES = one two
JOB_ROUTER_ROUTE_one @=end
  SET Requirements (TARGET.A
  SET B {1
@end
JOB_ROUTER_ROUTE_three @=end
  SET A 1
@end
JOB_ROUTER_ENTRIES @=end
 [ name = \"x\"; requirements = (a ]
@end
";
    let all = findings(config);
    for expected in [
        "named-not-defined:1:30",
        "unbalanced:3:20",
        "unbalanced:4:9",
        "defined-not-named:6:1",
        "old-syntax:9:1",
        "unbalanced:10:34",
    ] {
        assert!(all.iter().any(|one| one == expected), "{expected} of {all:?}");
    }
}

#[test]
fn a_route_with_an_invalid_condition_is_checked_to_its_end() {
    let config = "\
JOB_ROUTER_ROUTE_NAMES = one
JOB_ROUTER_ROUTE_one @=end
  REQUIREMENTS RequestMemory > (8000
  UNIVERSE grid
  SETT Queue \"bigmem\"
@end
";
    let all = findings(config);
    for expected in ["unbalanced:3:32", "command:5:3"] {
        assert!(all.iter().any(|one| one == expected), "{expected} of {all:?}");
    }
}

#[test]
fn definitions_and_macros_without_effect_are_found() {
    let config = "\
UPDATE_INTERVAL = 5
PID = 3
MY_UNUSED = 1
STARDT_DEBUG = D_FULLDEBUG
LOG = /a
UPDATE_INTERVAL = 6
LOG = $(LOG)/b
if true
 SPOOL = /s
else
 SPOOL = /t
endif
";
    assert_eq!(
        findings(config),
        ["shadowed-definition:1:1", "no-effect:2:1", "unused-macro:3:1", "unknown-parameter:4:1"]
    );
}

#[test]
fn family_names_that_nothing_reads_are_found_with_the_probable_name() {
    let cases = [
        ("SLOT_TYPE_1_PARTITONABLE = true", "did you mean SLOT_TYPE_1_PARTITIONABLE?"),
        ("SLOT2_START = false", "SLOT_TYPE_<n>_START for the type of SLOT2"),
        ("START_SLOT2 = false", "SLOT_TYPE_<n>_START for the type of SLOT2"),
        ("SLOT_TYPE_1_STARTT = true", "did you mean SLOT_TYPE_1_START?"),
        ("SLOT_TYPE_1_IS_OWNER = true", "did you mean SLOT_TYPE_1_IsOwner?"),
        ("SLOT_TYPE_1_UPDATE_INTERVAL = 5", "set UPDATE_INTERVAL"),
        ("SLOT_TYPE_12 = cpus=1", "set MAX_SLOT_TYPES = 12"),
        ("SLOT1_USR = x", "did you mean SLOT1_USER?"),
        ("SLOT1_2_EXECUTE = /x", "did you mean SLOT1_EXECUTE?"),
        ("NUM_SLOT_TYPE_1 = 2", "did you mean NUM_SLOTS_TYPE_1?"),
        ("SLOT_TYPE_1 = cpuz=4, disk=10%", "did you mean cpus?"),
        ("SLOT_TYPE_1 = cpus=4, mem=200%", "200% of the machine's memory is more than the machine has"),
        ("STARTD_CRON_JOB_LIST = A", "did you mean STARTD_CRON_JOBLIST?"),
        ("STARTD_CRON_HEALTH_PERIODE = 5", "did you mean STARTD_CRON_HEALTH_PERIOD?"),
        ("SCHEDD_CRON_X_PERIOD = 5", "add X to SCHEDD_CRON_JOBLIST"),
        ("STARTD_CORN_JOBLIST = A", "did you mean STARTD_CRON_JOBLIST?"),
        ("STARTD_ATTRS = IsHealty\nIsHealthy = true", "did you mean IsHealthy?"),
        ("DAEMON_LIST = MASTER STARTDD", "did you mean STARTD?"),
        ("STARTDD.START = true", "did you mean STARTD.START?"),
        ("STRT = true", "did you mean START?"),
        ("ALLOW_WRIT = *", "did you mean ALLOW_WRITE?"),
        ("SEC_DEFALT_ENCRYPTION = REQUIRED", "did you mean SEC_DEFAULT_ENCRYPTION?"),
        ("MAX_STARTDD_LOG = 1", "did you mean MAX_STARTD_LOG?"),
        ("AUTO_USE_FEATURE_GPU = true", "did you mean AUTO_USE_FEATURE_GPUs?"),
        ("MACHINE_RESOURCE_INVENTROY_X = /x", "did you mean MACHINE_RESOURCE_INVENTORY_X?"),
        ("JOB_TRANSFORM_NAME = a", "did you mean JOB_TRANSFORM_NAMES?"),
        ("HOSTALLOW_READ = *", "write ALLOW_ instead of HOSTALLOW_"),
        ("JOB_TRANSFORMS_x = y", "did you mean JOB_TRANSFORM_x?"),
        ("SUBMIT_REQUIREMENTS_NAMES = x", "did you mean SUBMIT_REQUIREMENT_NAMES?"),
        ("STARTD_CRONJOBLIST = A", "did you mean STARTD_CRON_JOBLIST?"),
        ("GROUP_NAMES = hep\nGROUP_QUOTA_hpe = 2\nGROUP_QUOTA_hep = 2", "did you mean GROUP_QUOTA_hep?"),
        ("GROUP_NAMES = hep\nGROUP_QUTOA_hep = 2\nGROUP_QUOTA_hep = 2", "did you mean GROUP_QUOTA_hep?"),
        ("GROUP_QUOTA_hep = 2", "add hep to GROUP_NAMES"),
        (
            "GROUP_NAMES = hep",
            "'hep' has neither GROUP_QUOTA_hep nor GROUP_QUOTA_DYNAMIC_hep: its quota is 0",
        ),
        ("GROUP_NAMES = hep.lab\nGROUP_QUOTA_hep.lab = 2", "add hep to GROUP_NAMES"),
    ];
    for (config, expected) in cases {
        let (out, err, status) = Place::new(&format!("{config}\n")).run(["lint"]);
        assert!(status == 1 && out.contains(expected), "{config}: {expected} in {out}{err}");
    }
    let read = "STARTD_SLOT_EXPRS = State\nSLOT_TYPE_1 = cpus=1 gpus=1\nSLOT_TYPE_1_START = true\nNUM_SLOTS_TYPE_1 = 1\n\
                SLOT1_1_USER = alice\nSTARTD_ATTRS = Colour\nSLOT_TYPE_1_Colour = \"red\"\nSLOT1_Colour = \"blue\"\n\
                JOB_ROUTER_SCHEDD2_SPOOL = /s\nALLOW_WRITE_COLLECTOR = *\nSEC_CLIENT_ENCRYPTION = REQUIRED\n\
                MASTER_STARTD_BACKOFF_FACTOR = 2\nSTARTD_CRON_JOBLIST = A\nSTARTD_CRON_A_EXECUTABLE = /bin/true\n\
                STARTD_CRON_A_MODE = OneShot\nSTARTD_CRON_A_RECONFIG_RERUN = true\nSCHEDD2 = $(SCHEDD)\nSCHEDD2_ARGS = -local-name two\n\
                TWO.SPOOL = /two\nDAEMON_LIST = MASTER SCHEDD2\nGROUP_NAMES = hep hep.lab\nGROUP_QUOTA_hep = 5\n\
                GROUP_QUOTA_DYNAMIC_hep.lab = 0.5\nGROUP_ACCEPT_SURPLUS_hep.lab = true\nGROUP_ACCEPT_SURPLUS = false\n\
                GROUP_QUOTA_ROUND_ROBIN_RATE = 2\nGROUP_PRIO_FACTOR_hep = 3\nGROUP_SORT_EXPR = 1\n";
    assert_eq!(findings(read), Vec::<String>::new());
}

#[test]
fn why_says_that_nothing_reads_a_name() {
    let place = Place::new("SLOT2_START = false\nSTRT = 1\nOWN = 1\nX = $(OWN)\nHOSTALLOW_READ = *\n");
    for (name, expected) in [
        ("SLOT2_START", "nothing reads it: START can be set for slot types, not for slots"),
        ("STRT", "did you mean START?"),
        ("OWN", "HTCondor has no such parameter; other values refer to it"),
        ("HOSTALLOW_READ", "no longer reads it"),
    ] {
        let (out, _, _) = place.run(["--why", name]);
        assert!(out.contains(expected), "{expected} in {out}");
    }
    let (out, _, status) = place.run(["--why", "--json", "SLOT2_START", "START"]);
    let all: serde_json::Value = serde_json::from_str(&out).unwrap();
    assert_eq!(
        (all[0]["read_by"].as_str(), all[1]["read_by"].as_str(), status),
        (Some("nobody"), Some("daemons"), 0)
    );
    assert_eq!(all[0]["definitions"][0]["raw"], "false");
}

#[test]
fn json_is_an_array_or_refused() {
    let place = Place::new("STARTD_JOB_HOOK_KEYWORD = KW\nKW_HOOK_FETCH_WORK = /bin/true\nA = 1\n");
    for words in [
        &["--summary"][..],
        &["--sources"],
        &["--macro", "$(A)"],
        &["use", "FEATURE"],
        &["--trace", "A"],
        &["--check-if", "true"],
    ] {
        let (out, err, status) = place.run(words.iter().chain(&["--json"]));
        assert_eq!((out.as_str(), status), ("", 2), "{words:?} {err}");
        assert!(
            err.contains("--json cannot be used with") || err.contains("--json has no effect in"),
            "{err}"
        );
    }
    for words in [&["--why", "A"][..], &["--hooks"], &["A"], &["--dump", "^A$"], &["lint"]] {
        let (out, err, _) = place.run(words.iter().chain(&["--json"]));
        let all: serde_json::Value =
            serde_json::from_str(&out).unwrap_or_else(|_| panic!("{words:?} {out}{err}"));
        assert!(all.is_array(), "{words:?} {out}");
    }
    let (out, _, _) = place.run(["--hooks", "--jsonl"]);
    assert!(out.lines().all(|line| line.starts_with('{') && line.ends_with('}')), "{out}");
}

#[test]
fn hooks_are_listed_for_the_slots_that_would_be_created() {
    let place = Place::new("STARTD_JOB_HOOK_KEYWORD = K\n");
    let slots = |parameter: &str| {
        let (out, err, _) = place.run(["--hooks", "--param", parameter]);
        assert!(out.contains("starter"), "{parameter}: {out}{err}");
        out.lines().find(|line| line.starts_with("slot")).map(str::to_owned)
    };
    assert_eq!(slots("NUM_SLOTS = 2").as_deref(), Some("slot1-2: K"));
    assert_eq!(slots("NUM_SLOTS = 0"), None);
    assert_eq!(slots("NUM_SLOTS_TYPE_1 = -1"), None);
    // All slots are reported, and an implausible number of slots is named.
    assert_eq!(slots("NUM_SLOTS = 5000").as_deref(), Some("slot1-5000: K"));
    let (out, err, _) = place.run(["--hooks", "--param", "NUM_SLOTS = 3000000"]);
    assert!(out.contains("slot1-100000: K") && err.contains("NUM_SLOTS = 3000000: only the first"), "{err}");
    // Types are not read if MAX_SLOT_TYPES is less than 1.
    let (out, _, _) =
        place.run(["--hooks", "--param", "NUM_SLOTS_TYPE_1 = 3", "--param", "MAX_SLOT_TYPES = -1"]);
    assert!(out.contains("slot1: K") && !out.contains("slot1-3"), "{out}");
    // With an invalid number no startd starts, which is reported.
    let (out, err, status) = place.run(["--hooks", "--param", "NUM_SLOTS = x"]);
    assert!(err.contains("no startd can start") && err.contains("NUM_SLOTS"), "{err}");
    assert!(status == 1 && !out.contains("slot1") && out.contains("starter"), "{status} {out}");
}

#[test]
fn lint_reads_files_that_a_file_names_or_reports_them() {
    let place = Place::new(
        "LOCAL_CONFIG_DIR = parts\nLOCAL_CONFIG_FILE = /bin/echo START = true |\ninclude : missing\n",
    );
    fs::create_dir(place.path().join("parts")).unwrap();
    place.write("parts/10", "STARDT_DEBUG = D_ALWAYS\ninclude command : /bin/echo A = 1\n");
    let (out, err, status) = place.run(["lint", "condor_config"]);
    assert_eq!(status, 1, "{err}");
    for expected in [
        "parts/10:1:1: warning: HTCondor has no parameter STARDT_DEBUG",
        "parts/10:2:1: warning: '/bin/echo A = 1' was not run",
        "condor_config:2:21: warning: '/bin/echo START = true' was not run",
        "condor_config:3:1: warning: the file missing was not read",
    ] {
        assert!(out.contains(expected), "{expected} in {out}");
    }
    assert!(
        err.ends_with(
            "4 findings: 4 warnings (3 not-read, 1 unknown-parameter); 2 sources and 3 settings read\n"
        ),
        "{err}"
    );
    // A name used in a part of a configuration may be set in another part.
    place.write("50-part", "START = $(SET_ELSEWHERE)\nSTARTD_ATTRS = Colour\n");
    let (out, err, status) = place.run(["lint", "50-part"]);
    assert!(status == 0 && out.is_empty() && err.contains("treated as part"), "{out}{err}");
    // No findings, but not everything was read.
    place.write("piped", "LOCAL_CONFIG_FILE = /bin/echo START = (true |\n");
    let (_, err, status) = place.run(["lint", "piped"]);
    assert_eq!(
        (err.as_str(), status),
        ("1 finding: 1 warning (1 not-read); 1 source and 1 setting read\n", 4)
    );
    let (out, _, status) = place.run(["lint", "--exec", "piped"]);
    assert!(status == 1 && out.contains("[bad-expression]"), "{out}");
    // The cache file of a command is not created.
    place.write("into", "include command into cache : /bin/echo A = 1\n");
    assert_eq!(place.run(["lint", "into"]).2, 4);
    assert!(!place.path().join("cache").exists());
    // A source that is not read may define a name that is used.
    place.write("piped", "LOCAL_CONFIG_FILE = /bin/echo X = 1 |\nSTART = $(SOMETHING_ELSE)\n");
    let (out, _, status) = place.run(["lint", "piped"]);
    assert!(status == 4 && !out.contains("[undefined]"), "{out}");
    place.write("sound", "START = false\nDAEMON_LIST = MASTER STARTD\n");
    let (out, err, status) = place.run(["lint", "sound"]);
    assert_eq!((out.as_str(), err.as_str(), status), ("", "no findings; 1 source and 2 settings read\n", 0));
}

#[test]
fn a_syntax_error_hides_no_other_finding() {
    let config = "STARDT_DEBUG = 1\nno statement\nif A == B\nSTARRT = 1\nendif\nbad-name @=end\n not a statement\n@end\nRNAK = 1\n";
    let all = findings(config);
    assert_eq!(
        all,
        [
            "unknown-parameter:1:1",
            "syntax:2:1",
            "syntax:3:4",
            "unknown-parameter:4:1",
            "syntax:6:4",
            "unknown-parameter:9:1"
        ]
    );
    let many = Place::new(&"no statement\n".repeat(5000));
    let (out, err, status) = many.run(["lint"]);
    assert!(status == 1 && out.contains("reading stops here") && out.len() < 50_000, "{} {err}", out.len());
}

#[test]
fn lint_never_advises_to_remove_the_sites_own_settings() {
    let (out, _, _) = Place::new("MY_SCRIPT_READS_THIS = 1\nQUILL_NAME = x\n").run(["lint"]);
    assert!(out.contains("condor_config_val MY_SCRIPT_READS_THIS"), "{out}");
    let about_own_name = out.split("QUILL_NAME").next().unwrap_or_default();
    assert!(!about_own_name.contains("remove it"), "{out}");
    assert!(out.contains("[unused-macro]") && out.contains("[removed-parameter]"), "{out}");
}

#[test]
fn an_invalid_policy_expression_is_reported_to_never_fire() {
    let place = Place::new(
        "SYSTEM_PERIODIC_HOLD = $(JobStatus != 3) && true\nSYSTEM_PERIODIC_REMOVE = (a\nX = a is null\nSTART = $(X)\n",
    );
    let (out, _, _) = place.run(["lint"]);
    assert!(out.contains("so it never holds a job") && out.contains("so it never removes a job"), "{out}");
    // An invalid expression is shown with its location.
    assert!(out.contains("condor_config:3:") && out.contains("START: null"), "{out}");
}

#[test]
fn the_ad_of_a_fetched_job_is_checked() {
    let place = Place::new("");
    place.write("good.ad", "Cmd = \"/bin/true\"\nJobUniverse = 5\nOwner = \"alice\"\nIwd = \"/tmp\"\n");
    assert_eq!(place.run(["lint", "--ads", "good.ad"]).2, 0);
    place.write("bad.ad", "Cmd = true\nJobUnivers = 5\nOwner = alice\nRequestMemory = (1\n");
    let (out, _, status) = place.run(["lint", "--ads", "bad.ad"]);
    assert_eq!(status, 1);
    for expected in [
        "bad.ad:1:7: warning: Cmd must be a string",
        "did you mean JobUniverse?",
        "write \"alice\", with the quotes",
        "bad.ad:4:",
        "JobUniverse is missing",
    ] {
        assert!(out.contains(expected), "{expected} in {out}");
    }
}

#[test]
fn a_syntax_error_is_a_finding_with_its_place() {
    let place = Place::new("include : more\n");
    place.write("more", "A = 1\nif A == B\nendif\n");
    let (out, _, status) = place.run(["lint"]);
    assert_eq!(status, 1);
    assert!(out.starts_with("more:2:4: "), "{out}");
    assert!(out.contains("if A == B\n       ^~~~~~"), "{out}");
}

#[test]
fn recorded_configurations_have_only_correct_findings() {
    let shared = std::env::var_os("HTC_SHARED").map_or_else(|| "../shared".into(), std::path::PathBuf::from);
    // The recordings are not available.
    let Ok(entries) = fs::canonicalize(shared.join("transcripts")).and_then(fs::read_dir) else {
        return;
    };
    // Mistakes that scenarios contain on purpose, or that come from the examples they are derived from.
    let expected = [
        "unused-macro",
        "shadowed-definition",
        "hook-knob",
        "keyword-without-hooks",
        "defined-not-named",
        "unknown-parameter",
        "old-syntax",
        "unquoted-string",
        "named-not-defined",
        "slot-type",
        "cron-job",
        "removed-parameter",
        "no-reply-hook",
        "hook-path",
        "bad-value",
        "always-error",
        "unknown-attribute",
        "differs-from-manual",
        // Times are short, so that a recording ends soon.
        "suspicious-unit",
    ];
    let place = Place::new("");
    let mut clean = 0;
    let mut seen = 0;
    for entry in entries {
        let file = entry.unwrap().path().join("condor_config");
        if !file.exists() {
            continue;
        }
        seen += 1;
        let (out, err, status) = place.run([OsStr::new("lint"), OsStr::new("--json"), file.as_os_str()]);
        assert!(status == 0 || status == 1, "{}: {err}", file.display());
        let all: serde_json::Value = serde_json::from_str(&out).unwrap();
        for finding in all.as_array().unwrap() {
            let rule = finding["rule"].as_str().unwrap();
            // `@DIR@` and similar words are placeholders of the recordings, not text of a site.
            // A route that no job of its recording takes has a comma after the batch system.
            let is_known = |message: &str| message.contains("@LOCAL_DIR@") || message.contains("'slurm,'");
            if finding["message"].as_str().is_some_and(is_known) || rule == "template-mark" {
                continue;
            }
            assert!(expected.contains(&rule), "{}: {finding}", file.display());
        }
        // Many set ALLOW_OWNER, a permission that no longer exists in 25.14.
        let harmless =
            ["removed-parameter", "template-mark", "hook-path", "no-reply-hook", "differs-from-manual"];
        let is_harmless = |one: &serde_json::Value| harmless.iter().any(|rule| one["rule"] == *rule);
        clean += usize::from(all.as_array().unwrap().iter().all(is_harmless));
    }
    assert!(clean * 10 >= seen * 8, "{clean} of {seen} are clean");
}

#[test]
fn why_shows_lint_findings_and_does_not_say_that_an_unread_value_applies() {
    let place = Place::new(
        "SLOT_TYPE_1 = cpuz=4\nNUM_SLOTS_TYPE_1 = 1\nIsHealthy = true\nSTARTD_ATTRS = IsHealty\nDAEMON_LIST = MASTER STARTDD\nSTRT = true\n",
    );
    for (name, wrong) in [
        ("SLOT_TYPE_1", "did you mean cpus?"),
        ("STARTD_ATTRS", "did you mean IsHealthy?"),
        ("DAEMON_LIST", "did you mean STARTD?"),
    ] {
        let (out, _, _) = place.run(["--why", name]);
        assert!(out.contains("  wrong: ") && out.contains(wrong), "{out}");
        let (out, _, _) = place.run(["--why", "--json", name]);
        assert!(out.contains("\"findings\"") && out.contains(wrong), "{out}");
    }
    let (out, _, _) = place.run(["--why", "STRT"]);
    assert!(out.contains("nothing is known to read it") && out.contains("did you mean START?"), "{out}");
    assert!(!out.contains("counts"), "{out}");
}

#[test]
fn a_script_uses_macros_only_if_the_command_line_names_it() {
    let config = "SITE_MEM = 5\nSITE_IDLE = 3\n";
    let place = Place::new(config);
    place.write("hook.sh", "#!/bin/sh\nm=$(condor_config_val SITE_MEM)\n");
    // A file beside the configuration that mentions a name does not use it.
    let (out, _, _) = place.run(["lint"]);
    assert_eq!(out.matches(" is not an HTCondor parameter, and no value").count(), 2, "{out}");
    let (out, _, _) = place.run(["lint", "--used-by", "hook.sh"]);
    assert!(!out.contains("SITE_MEM") && out.contains("SITE_IDLE is not an HTCondor parameter"), "{out}");
    // If a parameter names the script, lint reads it without the option.
    let script = place.path().join("hook.sh");
    place.write("condor_config", format!("{config}STARTD_CRON_X_EXECUTABLE = {}\n", script.display()));
    let (out, _, _) = place.run(["lint"]);
    assert!(!out.contains("SITE_MEM") && out.contains("SITE_IDLE is not an HTCondor parameter"), "{out}");
    let (out, _, _) = place.run(["--why", "SITE_MEM"]);
    assert!(out.contains("hook.sh mentions it"), "{out}");
}

#[test]
fn a_script_that_assigns_a_macro_does_not_use_it() {
    let text = "SITE_MEM = 5\nSLOT1.SITE_CPU = 3\n";
    let place = Place::new(text);
    let (alone, _, _) = place.run(["lint"]);
    assert!(alone.contains("SITE_MEM is not an HTCondor parameter"), "{alone}");
    place.write("copy", text);
    place.write("notes", "  #SITE_MEM += 7\nsite_mem @=end\n@end\n");
    assert_eq!(place.run(["lint", "--used-by", "copy", "--used-by", "notes"]).0, alone);
    // A comparison uses it, and so does an assignment from it.
    place.write("check.sh", "SITE_MEM=$(condor_config_val SITE_MEM)\n");
    let (out, _, _) = place.run(["lint", "--used-by", "check.sh"]);
    assert!(!out.contains("SITE_MEM"), "{out}");
}

#[test]
fn why_shows_definitions_conditions_and_steps() {
    let place = Place::new("A = 1\nif false\n A = 2\nendif\ninclude : more\n");
    place.write("more", "A = $(B)x\nB = $INT(C)\nC = 1+2\n");
    let (out, _, status) = place.run(["--why", "A"]);
    assert_eq!(status, 0);
    for expected in [
        "set 2 times",
        "DIR/condor_config, line 1",
        "more, line 1   <- the last one",
        "included from DIR/condor_config, line 5",
        "'if false' in line 2 is false",
        "$(B) -> $INT(C)",
        "$INT(C) -> 3",
        "value: 3x",
    ] {
        assert!(out.contains(expected), "{expected:?} in\n{out}");
    }
    let (out, _, status) = place.run(["--why", "NO_SUCH"]);
    assert!(status == 4 && out.contains("HTCondor has no such parameter"), "{out}");
}

#[test]
fn json_has_the_origin_of_a_value_and_the_replaced_values() {
    let place = Place::new("A = 1\nA = 2$(B)\nDB_PASSWORD = secret\n");
    let (out, _, status) = place.run(["--json", "A", "DB_PASSWORD", "--redact", "--param", "B=3"]);
    assert_eq!(status, 0);
    let all: serde_json::Value = serde_json::from_str(&out).unwrap();
    assert_eq!(all[0]["raw"], "2$(B)");
    assert_eq!(all[0]["expanded"], "23");
    assert_eq!(all[0]["line"], 2);
    assert_eq!(all[0]["overridden"][0]["raw"], "1");
    assert_eq!(all[1]["redacted"], true);
    assert!(!out.contains("secret"));
}

#[test]
fn a_dump_reads_back_to_itself() {
    let config = "A = x\\\n  y \\\n\nB @=end\n one\n  two \\\n\n @end1\n@end\nC =\nSUB.D = $(A) z\nE = # no comment\nF = = 1\nSTART = true\n";
    let first = Place::new(config);
    let (once, _, status) = first.run(["--no-env"]);
    assert_eq!(status, 0);
    let (twice, _, _) = Place::new(&once).run(["--no-env"]);
    assert_eq!(once, twice);
    assert!(once.contains("B @=end\n"), "{once}");
}

#[test]
fn a_dump_with_local_files_and_repeated_defaults_reads_back() {
    // A setting that restores the default is not kept when the dump is read.
    let first = Place::new("NO_DNS = true\nNO_DNS = false\nA = 1\nLOCAL_CONFIG_FILE = more\n");
    first.write("more", "B = 2\n");
    let (once, _, _) = first.run(["--no-env"]);
    assert_eq!(once, "A = 1\nB = 2\nLOCAL_CONFIG_FILE = more\n");
    // A local file that appends to a value would append to it again.
    first.write("more", "A = $(A) 2\n");
    let (once, _, _) = first.run(["--no-env"]);
    assert_eq!(
        once,
        "A = 1 2\n# not needed, because this file contains its settings: LOCAL_CONFIG_FILE = more\n"
    );
    first.write("dump", &once);
    let (twice, _, _) = first.run(["--no-env", "--config-file", "dump"]);
    assert_eq!(twice, "A = 1 2\n");
    // The same applies if only this program names the file; a disabled AUTO_USE template is kept.
    let own = Place::new("A = 1\nAUTO_USE_ROLE_Personal = false\nTOOL.LOCAL_CONFIG_FILE = more\n");
    own.write("more", "A = $(A) 2\n");
    let (once, _, _) = own.run(["--no-env"]);
    let off = "AUTO_USE_ROLE_Personal = false\n";
    assert_eq!(
        once,
        format!(
            "A = 1 2\n{off}# not needed, because this file contains its settings: TOOL.LOCAL_CONFIG_FILE = more\n"
        )
    );
    // Masked secrets do not count as differences.
    first.write("more", "DB_PASSWORD = x\n");
    let (once, _, _) = first.run(["--no-env", "--redact"]);
    assert!(once.contains("\nLOCAL_CONFIG_FILE = more\n"), "{once}");
    let (once, _, _) = Place::new("AUTO_USE_ROLE_Execute = true\n").run(["--no-env"]);
    assert!(
        once.starts_with("# not needed, because this file contains its settings: AUTO_USE_ROLE_Execute = true\nDAEMON_LIST = "),
        "{once}"
    );
    // Settings that follow the local files would be overridden by them, and defaults can be appended to as
    // well.
    for more in ["A = 2\n", "UPDATE_INTERVAL += ;\n"] {
        first.write("more", more);
        let (once, _, _) = first.run(["--no-env", "--param", "A=3"]);
        assert!(
            once.contains(
                "# not needed, because this file contains its settings: LOCAL_CONFIG_FILE = more\n"
            ),
            "{once}"
        );
        first.write("dump", &once);
        let (twice, _, _) = first.run(["--no-env", "--config-file", "dump"]);
        assert_eq!(
            twice,
            once.replace(
                "# not needed, because this file contains its settings: LOCAL_CONFIG_FILE = more\n",
                ""
            )
        );
    }
}

#[test]
fn hooks_that_exist_here_are_checked_in_files_for_other_machines() {
    let place = Place::new("STARTER_JOB_HOOK_KEYWORD = KW\n");
    place.write("hook", "#!/bin/sh\n");
    place.write("a hook", "#!/bin/sh\n");
    let text = format!(
        "STARTER_JOB_HOOK_KEYWORD = KW\nKW_HOOK_PREPARE_JOB = {0}/hook\nKW_HOOK_JOB_EXIT = /no/such/hook\n\
         KW_HOOK_UPDATE_JOB_INFO = {0}/a hook\n",
        place.path().display()
    );
    place.write("elsewhere", text);
    let (out, _, status) = place.run(["lint", "elsewhere"]);
    // The blank is part of the name; it does not separate arguments.
    assert_eq!((out.matches("[hook-refused]").count(), status), (2, 1), "{out}");
    assert!(!out.contains("[hook-path]"), "{out}");
    assert!(out.starts_with("elsewhere:2:"), "{out}");
}

#[test]
fn a_misspelled_short_name_is_reported() {
    let (out, _, _) = Place::new("STARRT = true\n").run(["lint"]);
    assert!(out.contains("did you mean START?"), "{out}");
}

#[test]
fn endless_values_are_errors_that_name_the_chain() {
    let place =
        Place::new("A = $(B)\nB = x$(C)\nC = $(A)\nD = $INT(D)\nE = $(E:$(F))\nF = $(F2)\nF2 = $(F)\n");
    let (_, err, status) = place.run(["A", "D", "F"]);
    assert_eq!(status, 4);
    for expected in ["A -> B -> C -> A", "D -> D", "F -> F2 -> F"] {
        assert!(err.contains(expected), "{expected} in {err}");
    }
    let bomb: String = (0..40).map(|n| format!("X{n} = $(X{0})$(X{0})\n", n + 1)).collect();
    let (_, err, status) = Place::new(&(bomb + "X40 = 0123456789\n")).run(["X0"]);
    assert!(status == 4 && (err.contains("grows beyond") || err.contains("references to expand")), "{err}");
}

#[test]
fn commands_run_only_when_allowed_and_within_bounds() {
    let place = Place::new("include command : /bin/echo A = 1\n");
    let (_, err, status) = place.run(["A"]);
    assert!(status == 3 && err.contains("-exec"), "{status} {err}");
    let (out, _, status) = place.run(["--exec", "A"]);
    assert_eq!((out.as_str(), status), ("1\n", 0));
    place.write("condor_config", "include command : /bin/cat /dev/zero\n");
    let (_, err, status) = place.run(["--exec", "A"]);
    assert!(status == 3 && err.contains("it wrote more than"), "{status} {err}");
}

#[test]
fn invalid_input_is_reported_in_one_message() {
    let place = Place::new("A = 1\n");
    let (_, err, status) = place.run(["--config-file", "absent", "A"]);
    assert!(status == 3 && err.contains("Can't read global config source absent"), "{status} {err}");
    place.write("binary", [0u8, 1, 2, 0xff, b'\n', 0, b'='].repeat(50));
    let (_, err, status) = place.run(["--config-file", "binary", "A"]);
    assert!(status != 0 && !err.contains("panicked"), "{status} {err}");
    place.write("self", "include : self\n");
    let (_, err, status) = place.run(["--config-file", "self", "A"]);
    assert!(status == 3 && err.contains("nested too deep"), "{status} {err}");
    place.write("deep", "if true\n".repeat(100));
    let (_, err, status) = place.run(["--config-file", "deep", "A"]);
    assert!(status == 3 && err.contains("nesting too deep"), "{status} {err}");
    let (_, err, status) = place.run(["--dump", "("]);
    assert!(status == 2 && err.contains("not a valid regular expression"), "{status} {err}");
    let (_, err, status) = place.run(["--config-file", "/dev/zero", "A"]);
    assert!(status == 3 && !err.contains("panicked"), "{status} {err}");
}

#[test]
fn redacted_output_has_no_secret_in_any_format() {
    let place = Place::new(
        "MY_PASSWORD = hunter2\nL = user:$(MY_PASSWORD)\nM_CMD = /bin/x -p $(MY_PASSWORD)\n\
         ML_PASSWORD @=e\n hunter2 one\n hunter2 two\n@e\nMY_PASSWORD = hunter2b\nOF = $(MY_TOKEN)\n\
         MY_TOKEN = $(PLAIN)\nPLAIN_HOOK_FETCH_WORK = /bin/$(MY_PASSWORD)\nSTARTD_JOB_HOOK_KEYWORD = PLAIN\n\
         if false\n MY_PASSWORD = hunter2c\nendif\nSTART = Owner == '$(MY_PASSWORD)'\n",
    );
    for words in [
        &["L"][..],
        &["L", "M_CMD", "MY_PASSWORD", "ML_PASSWORD"],
        &["-v", "L", "ML_PASSWORD"],
        &["--raw", "MY_PASSWORD"],
        &["--dump", "--expanded"],
        &["--dump", "--expanded", "-v", "PASSW"],
        &["--param", "Z=a$(MY_PASSWORD)", "Z"],
        &["--json", "L", "ML_PASSWORD", "MY_PASSWORD"],
        &["--jsonl"],
        &["--why", "L", "MY_PASSWORD", "ML_PASSWORD"],
        &["--summary"],
        &["--trace"],
        &["--trace", "MY_PASSWORD"],
        &["--macro", "<$(MY_PASSWORD)>"],
        &["--hooks"],
        &["--hooks", "--json"],
        &["lint"],
        &["lint", "--json"],
        &["lint", "condor_config"],
    ] {
        let (out, err, _) = place.run(["--redact"].iter().chain(words));
        assert!(!out.contains("hunter2") && !err.contains("hunter2"), "{words:?}: {out}{err}");
        let (out, _, _) = place.run(words);
        assert!(out.contains("hunter2"), "{words:?} shows nothing to mask: {out}");
    }
    assert_eq!(place.run(["--redact", "L"]).0, "user:********\n");
    assert_eq!(place.run(["--redact", "--check-if", "defined MY_PASSWORD"]).2, 0);

    for bad in ["MY_PASSWORD hunter2\n", "MY_PASSWORD = hunter2\ninclude : /none/$(MY_PASSWORD)\n"] {
        let place = Place::new(bad);
        for words in [&["A"][..], &["--json"], &["lint"]] {
            let (out, err, status) = place.run(["--redact"].iter().chain(words));
            assert_ne!(status, 0);
            assert!(!out.contains("hunter2") && !err.contains("hunter2"), "{words:?}: {out}{err}");
        }
    }
}

#[test]
fn the_plural_of_a_parameter_is_not_a_misspelling() {
    let out = Place::new("STARTS = a b\nMASTERS = c\n").run(["lint"]).0;
    assert!(!out.contains("did you mean"), "{out}");
}

#[test]
fn here_reports_numbers_that_differ_from_the_default() {
    let (out, ..) =
        Place::new("STARTD_CLEANUP_REMINDER_TIMER_INTERVAL = 600\nNOT_RESPONDING_TIMEOUT = 3600\n")
            .run(["lint", "--here"]);
    assert!(
        out.contains("STARTD_CLEANUP_REMINDER_TIMER_INTERVAL") && !out.contains("NOT_RESPONDING_TIMEOUT"),
        "{out}"
    );
}

#[test]
fn here_reports_unsupported_settings_and_those_of_other_daemons() {
    let config = "START = true\nPROPORTIONAL_SWAP_ASSIGNMENT = True\nUSE_PID_NAMESPACES = false\nNEGOTIATOR_INTERVAL = 20\n\
                  BASE_CGROUP = $(NAME)\nNAME = htcondor\nMY_OWN = 1\nNEGOTIATOR_NAME = n\nMAX_STARTD_LOG = 5\n";
    let place = Place::new(config);
    let (out, err, status) = place.run(["lint", "--here"]);
    assert_eq!(
        (status, err.as_str()),
        (1, "1 finding: 1 warning (1 not-done); 1 source and 9 settings read\n"),
        "{out}"
    );
    assert_eq!(
        out,
        "DIR/condor_config:2:32: warning: PROPORTIONAL_SWAP_ASSIGNMENT is unsupported here: the startd of a pool would divide swap space between \
         slots in proportion to memory [not-done]\n    PROPORTIONAL_SWAP_ASSIGNMENT = True\n                                   ^~~~\n\
         no effect here, only for logs of daemons: MAX_STARTD_LOG (DIR/condor_config:9)\n\
         no effect here, only for negotiator: NEGOTIATOR_INTERVAL (DIR/condor_config:4), NEGOTIATOR_NAME (DIR/condor_config:8)\n"
    );
    let (out, _, status) = place.run(["lint", "--here", "--json"]);
    let all: serde_json::Value = serde_json::from_str(&out).expect("JSON");
    let told: Vec<String> = all
        .as_array()
        .expect("a list")
        .iter()
        .map(|one| format!("{}:{}", one["rule"], one["line"]))
        .collect();
    assert_eq!(
        (status, told.join(" ").as_str()),
        (1, r#""not-done":2 "elsewhere":4 "elsewhere":8 "elsewhere":9"#)
    );
    // A setting for another daemon is not a finding.
    let (out, err, status) = Place::new("NEGOTIATOR_INTERVAL = 20\n").run(["lint", "--here"]);
    assert_eq!((status, err.as_str()), (0, "no findings; 1 source and 1 setting read\n"), "{out}");
    assert!(out.starts_with("no effect here, only for negotiator: NEGOTIATOR_INTERVAL"), "{out}");

    place.write("ad", "Cmd = \"/bin/true\"\nIwd = \"/\"\nTransferInput = \"no-such\"\nToolDaemonCmd = \"t\"\nOnExitRemove = true\n");
    let (out, err, status) = place.run(["lint", "--here", "--ads", "ad"]);
    assert_eq!((status, err.as_str()), (1, "2 findings: 2 warnings (2 not-done); 5 lines read\n"), "{out}");
    assert!(
        out.contains("TransferInput is unsupported here") && out.contains("'no-such' [not-done]\n"),
        "{out}"
    );
    assert!(
        out.contains("run this tool together with the job, so jobs that use it do not start [not-done]\n"),
        "{out}"
    );
}

#[test]
fn lint_of_a_job_ad_does_not_print_its_secrets() {
    let place = Place::new("A = 1\n");
    place.write(
        "ad",
        "Cmd = /bin/x --password=hunter2\nMyToken = hunter2b\nArgs = 'hunter2b'\nIwd = \"/\" hunter2\n",
    );
    for words in [&["lint", "--ads", "ad"][..], &["lint", "--json", "--ads", "ad"]] {
        let (out, err, status) = place.run(["--redact"].iter().chain(words));
        assert_eq!(status, 1);
        assert!(!out.contains("hunter2") && !err.contains("hunter2"), "{words:?}: {out}{err}");
        assert!(place.run(words).0.contains("hunter2"));
    }
}

#[test]
fn a_directory_is_not_a_configuration() {
    let place = Place::new("A = 1\n");
    for words in [&["lint", "."][..], &["lint", "condor_config", "."], &["--config-file", ".", "D"]] {
        let (_, err, status) = place.run(words);
        assert_eq!(status, 3, "{words:?}: {err}");
        assert!(err.contains("is a directory"), "{words:?}: {err}");
    }
}

#[test]
fn a_trace_without_names_prints_every_change() {
    let place = Place::new("A = 1\nB = 1\nA = 2\n");
    let (out, _, status) = place.run(["--trace"]);
    assert_eq!(status, 0);
    assert_eq!(out, " # trace: A\n  # was: 1\n  # set at: DIR/condor_config, line 1\n");
}

#[test]
fn param_accepts_only_names_that_files_can_set() {
    let (_, err, status) = Place::new("").run(["--param", "a b=7", "A"]);
    assert_eq!(status, 2);
    assert!(err.contains("'a b' is not a valid parameter name"), "{err}");
}

#[test]
fn endless_and_undefined_references_are_found_in_any_macro() {
    // Macros that need each other are one mistake.
    assert_eq!(findings("A = $(B)\nB = $(A)\nSTART = $(A)\n"), ["endless:1:1"]);
    let two = findings("A = $(B)\nB = $(A)\nC = $(D)\nD = $(C)\n");
    assert_eq!(two, ["endless:1:1", "endless:3:1"]);
    let config = "START = true\nLOG = $(Q1)/log\nSPOOL = $(R1:/tmp) $(LOG:$(R2))\nEXECUTE = $(STARTD_ONLY)\n\
                  STARTD.STARTD_ONLY = /x\nDOC = $DOLLAR(x) $(DOLLAR)x $(HOSTNAME)\n";
    let found = findings(config);
    let undefined: Vec<_> = found.iter().filter(|one| one.starts_with("undefined:")).collect();
    assert_eq!(undefined, ["undefined:2:7"], "{found:?}");
    let place = Place::new(config);
    assert!(place.run(["lint", "condor_config"]).0.contains("Q1 is not defined"));
    // A file that is not read may define it.
    place.write("part", "LOCAL_CONFIG_FILE = /etc/more\nLOG = $(Q1)/log\n");
    assert!(!place.run(["lint", "part"]).0.contains("Q1"));
}

#[test]
fn misleading_expressions_are_found() {
    assert_eq!(
        findings("START = Owner == 'a'\nPREEMPT = fooo(1)\nKILL = x == \"a\" && size(y) > 1\n"),
        ["misleading-expression:1:18", "misleading-expression:2:11", "unknown-attribute:3:25"]
    );
}

#[test]
fn incomplete_conditions_are_reported() {
    for (condition, expected) in [
        ("if version >", "write a version such as 25.14 after the operator"),
        ("if", "a condition must follow"),
        ("if version>25.0", "write a space between"),
        ("if FOO", "if defined FOO"),
    ] {
        let (_, err, status) = Place::new(&format!("{condition}\nendif\n")).run(["A"]);
        assert!(status == 3 && err.contains(expected), "{condition}: {err}");
    }
}

#[test]
fn the_number_of_includes_is_limited() {
    let fan = |next: &str, times: usize| format!("include : {next}\n").repeat(times);
    let place = Place::new(&fan("i1", 100));
    place.write("i1", fan("i2", 100));
    place.write("i2", fan("i3", 100));
    place.write("i3", "A = 1\n");
    let (_, err, status) = place.run(["A"]);
    assert_eq!(status, 3, "{err}");
    for expected in ["more than 20000 sources are included", "i2:", "i1, line", "DIR/condor_config, line 2"] {
        assert!(err.contains(expected), "{expected} in {err}");
    }
    place.write("i1", fan("i3", 100));
    assert_eq!(place.run(["A"]).0, "1\n");
}

/// Runs the program under the reference's name.
fn as_condor_config_val(place: &Place, words: &[&str]) -> String {
    let link = place.path().join("condor_config_val");
    if !link.exists() {
        std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_htc-config-dump"), &link).expect("a link");
    }
    let mut command = Command::new(link);
    command.env_clear().current_dir(place.path()).env("CONDOR_CONFIG", "condor_config").stdin(Stdio::null());
    let output = command.args(words).output().expect("it starts");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[test]
fn a_trace_shows_detected_values_that_are_set_and_restored() {
    let place = Place::new("OPSYS = LINUX\nHOSTNAME = zz\nNETWORK_HOSTNAME = n.e\nHOSTNAME = yy\nPID = 3\n");
    let out = as_condor_config_val(&place, &["-trace", "OPSYS", "HOSTNAME", "PID", "REAL_UID", "SUBSYSTEM"]);
    let told: Vec<&str> = out.split(" # trace: ").skip(1).collect();
    let names: Vec<&str> = told.iter().filter_map(|text| text.lines().next()).collect();
    let expected = [
        "OPSYS",
        "HOSTNAME",
        "HOSTNAME",
        "HOSTNAME",
        "SUBSYSTEM",
        "PID",
        "HOSTNAME",
        "SUBSYSTEM",
        "REAL_UID",
        "PID",
    ];
    assert_eq!(names, expected, "{out}");
    assert_eq!(told[0], "OPSYS\n  # was: LINUX\n  # set at: <Detected>\n");
    assert_eq!(told[2], "HOSTNAME\n  # was: yy\n  # set at: condor_config, line 4\n");
    assert_eq!(told[3], "HOSTNAME\n  # was: n\n  # set at: <Detected>\n");
    assert_eq!(told[5], "PID\n  # was: 3\n  # set at: condor_config, line 5\n");
}

#[test]
fn the_host_name_is_computed_again_after_all_files_are_read() {
    let place = Place::new("LOCAL_CONFIG_FILE = more\n");
    place.write("more", "NETWORK_HOSTNAME = n.e\nSEEN = $(FULL_HOSTNAME)\nFULL_HOSTNAME = x\n");
    let out = as_condor_config_val(&place, &["-trace", "FULL_HOSTNAME"]);
    let told: Vec<&str> = out.lines().filter_map(|line| line.strip_prefix("  # was: ")).collect();
    // The value is that of the root file, then that of the other file, then again that of the root file.
    let [first, second, third] = told[..] else { panic!("{out}") };
    assert_eq!((first, second), (third, "x"), "{out}");
    assert!(first != "n.e" && out.ends_with("\nn.e\n"), "{out}");
}

#[test]
fn a_setting_that_replaces_a_detected_value_keeps_its_spelling() {
    let place = Place::new("opsys = X\nopsysMajorVer = 3\nmine = 1\nMINE = 2\n");
    let out = as_condor_config_val(&place, &["-raw", "-v", "OpSys", "OPSYSMAJORVER", "Mine"]);
    let names: Vec<&str> = out.lines().filter(|line| line.contains(" = ")).collect();
    assert_eq!(names, ["OPSYS = X", "OPSYSMAJORVER = 3", "mine = 2"], "{out}");
}

#[test]
fn values_shown_by_type_are_the_defaults_of_integers_and_truth_values() {
    let place = Place::new("UPDATE_INTERVAL = 7\nX = 1m\n");
    let evals = |option: &str, names: &[&str]| -> Vec<String> {
        let words: Vec<&str> = [option].iter().chain(names).copied().collect();
        let out = as_condor_config_val(&place, &words);
        out.lines().filter_map(|line| line.strip_prefix(" # eval: ").map(str::to_owned)).collect()
    };
    let names = [
        "UPDATE_INTERVAL",
        "USE_SHARED_PORT",
        "MINUTE",
        "COLLECTOR_SOCKET_BUFSIZE",
        "PRIORITY_HALFLIFE",
        "X",
    ];
    assert_eq!(
        evals("-v:int", &names),
        ["300 (valid)", "1 (valid)", "0 (invalid)", "10240000 (valid)", "0 (invalid)", "0 (invalid)"]
    );
    assert_eq!(evals("-v:long", &names[..2]), ["300 (valid long)", "1 (valid long)"]);
    assert_eq!(
        evals("-v:double", &names[..5]),
        ["300 (valid)", "1 (valid)", "0 (invalid)", "10240000 (valid)", "86400 (valid)"]
    );
    assert_eq!(
        evals("-v:bool", &["UPDATE_INTERVAL", "MINUTE", "X"]),
        ["true def=1 (valid)", "true def=0 (invalid)", "true def=0 (invalid)"]
    );
}

#[test]
fn long_chains_and_growing_values_do_not_take_quadratic_time() {
    let chain: String = (1..=30_000).map(|n| format!("M{n} = $(m{})$(SUFFIX)\n", n - 1)).collect();
    let grown = "A = $(a)x\n".repeat(20_000);
    let place = Place::new(&format!(
        "SUFFIX =\nM0 = 1\n{chain}A = y\n{grown}A = $(A)$(M0)\nL0 = $(M30000)$(L1)\nL1 = $(L0)\n"
    ));
    let (out, stderr, status) = place.run(["M30000", "A"]);
    let expected = format!("1\ny{}1\n", "x".repeat(20_000));
    assert!(status == 0 && stderr.is_empty() && out == expected, "{status} {stderr} {}", out.len());
    let (_, stderr, status) = place.run(["L0"]);
    assert!(status != 0 && stderr.contains("L0 -> L1 -> L0"), "{status} {stderr}");
}

/// With one expansion of the chain for each of its values, this takes minutes.
#[test]
fn lint_expands_each_value_of_a_long_chain_once() {
    let chain = |name: &str, default: &str| -> String {
        (2..=20_000).map(|n| format!("{name}_{n} = $({name}_{}{default})\n", n - 1)).collect()
    };
    let (types, members) = (chain("SLOT_TYPE", ""), chain("MEMBER", ":none"));
    let place = Place::new(&format!("SLOT_TYPE_1 = cpus=1\n{types}MEMBER_1 = x\n{members}"));
    let (out, stderr, status) = place.run(["lint", "condor_config"]);
    assert_eq!(status, 1, "{stderr}");
    assert!(
        out.contains("condor_config:20000:1: warning: nothing reads SLOT_TYPE_20000")
            || stderr.contains("19990 unknown-parameter"),
        "{stderr}"
    );
}

#[test]
fn lint_of_a_log_shows_some_warnings_and_their_number() {
    let place = Place::new(&"11/22/26 21:00:00 (pid:1) started\n".repeat(5000));
    let (out, stderr, status) = place.run(["lint"]);
    assert_eq!(status, 1, "{}", stderr.len());
    assert!(out.contains(": 4900 more findings [colon-assignment]; --json prints all of them\n"), "{out}");
    assert_eq!(out.matches("is the obsolete form of").count(), 100);
}

#[test]
fn very_long_names_are_checked_once() {
    let long = "A".repeat(3_000_000);
    let parts = "a.".repeat(1_000_000);
    let place = Place::new(&format!("{parts}START = 1\n{long} = 1\n{long}_WINDOWS_{long} = 1\n"));
    for words in [&["lint"][..], &["lint", "--here"]] {
        let (out, err, status) = place.run(words);
        assert!(status == 0 || status == 1, "{status} {out} {err}");
        assert!(err.contains("3 settings read"), "{err}");
    }
}

/// Checks the effective values for each daemon, with file, line and template.
#[test]
fn compare_shows_which_daemons_see_a_difference_and_why() {
    let place = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| std::fs::write(place.path().join(name), text).unwrap();
    let base = "HOURS = 3600\nPREEMPT = (time() - JobStart) > $(HOURS)\nSPOOL = /a\nLOG = /log\nEMPTY = 1\n";
    write("a", base);
    write("b", &base.replace("3600", "(60 * 60)"));
    write(
        "c",
        &format!("{base}use POLICY : Always_Run_Jobs\nSCHEDD.SPOOL = /b\nSTARTD.LOG = /log\nEMPTY =\n"),
    );
    write("d", "if version >\n");
    let run = |words: &[&str]| {
        let output = std::process::Command::new(env!("CARGO_BIN_EXE_htc-config-dump"))
            .args(["compare", "--no-env"])
            .args(words)
            .current_dir(place.path())
            .env_clear()
            .output()
            .unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        (output.status.code(), text(output.stdout), text(output.stderr))
    };
    let (status, report, stderr) = run(&["a", "c"]);
    assert_eq!((status, stderr.as_str()), (Some(1), ""), "{report}");
    for expected in [
        "PREEMPT  (all daemons)\n    - (time() - JobStart) > 3600  [a, line 2]\n    + False  [c, line 6, use POLICY:ALWAYS_RUN_JOBS+",
        "SPOOL  (SCHEDD)\n    - /a  [a, line 3]\n    + /b  [c, line 7]\n",
        "EMPTY  (all daemons)\n    - 1  [a, line 5]\n    + empty  [c, line 9]\n",
    ] {
        assert!(report.contains(expected), "{expected}\n{report}");
    }
    assert!(!report.contains("LOG  ("), "{report}");
    // A change of a macro is reported where it changes the value of a parameter.
    let (_, report, _) = run(&["a", "b", "--subsystem", "STARTD"]);
    assert!(report.contains("PREEMPT  (STARTD)\n    - (time() - JobStart) > 3600  [a, line 2]\n    + (time() - JobStart) > (60 * 60)"), "{report}");
    let (status, report, _) = run(&["a", "a"]);
    assert!(status == Some(0) && report.starts_with("a and a have the same effect; "), "{status:?} {report}");
    assert!(report.ends_with(" are set to the same values in both\n"), "{report}");
    // Names that no source sets are not counted.
    write("nothing", "");
    let (status, report, _) = run(&["nothing", "nothing"]);
    assert_eq!(
        (status, report.as_str()),
        (Some(0), "nothing and nothing have the same effect; neither sets anything\n")
    );
    // Secrets are compared even if they are masked.
    write("one", "A_PASSWORD = one\nB = 1\n");
    write("two", "A_PASSWORD = two\nB = 1\n");
    for redacting in [&[][..], &["--redact"]] {
        let (status, report, _) = run(&[&["one", "two"], redacting].concat());
        assert!(
            status == Some(1)
                && report.contains("\n1 parameter differs; 1 is set to the same value in both\n"),
            "{report}"
        );
        assert_eq!(report.contains("- one"), redacting.is_empty(), "{report}");
    }
    // Random values are the same in both configurations and for all daemons.
    write("draws", &format!("{base}use POLICY : UWCS_Desktop\nDRAWN = $RANDOM_INTEGER(1, 1000000)\n"));
    let (status, report, _) = run(&["draws", "draws"]);
    assert!(status == Some(0), "{report}");
    let (_, report, _) = run(&["a", "draws"]);
    assert!(report.contains("DRAWN  (all daemons)\n    - not defined\n"), "{report}");
    let (_, report, _) = run(&["a", "c", "--json"]);
    let all: serde_json::Value = serde_json::from_str(&report).unwrap();
    let spool = all.as_array().unwrap().iter().find(|it| it["name"] == "SPOOL").unwrap();
    assert_eq!(
        (spool["daemons"].to_string(), spool["after"]["value"].as_str()),
        ("[\"SCHEDD\"]".into(), Some("/b"))
    );
    for (file, said) in [("nowhere", "'nowhere'"), ("d", "'d'")] {
        let (status, report, stderr) = run(&["a", file]);
        assert!(status == Some(3) && report.is_empty() && stderr.contains(said), "{file}: {stderr}");
    }
}

#[test]
fn why_does_not_say_that_an_old_syntax_transform_applies() {
    for (setting, name, expected) in [
        (
            "JOB_TRANSFORM_A = [ set_X = 1 ]",
            "JOB_TRANSFORM_A",
            "it has the old syntax: the schedd ignores it",
        ),
        (
            "JOB_ROUTER_ROUTE_A = [ set_X = 1 ]",
            "JOB_ROUTER_ROUTE_A",
            "it has the old syntax: the job router refuses it",
        ),
    ] {
        let place = Place::new(&format!("JOB_TRANSFORM_NAMES = A\nJOB_ROUTER_ROUTE_NAMES = A\n{setting}\n"));
        let (output, _, _) = place.run(["--why", name]);
        assert!(output.contains(expected) && !output.contains("this value is used"), "{name}: {output}");
    }
}

#[test]
fn a_setting_that_equals_its_default_is_shown_as_set() {
    let place = Place::new("START = True\nLOCAL_CONFIG_DIR = DIR/config.d\nUPDATE_INTERVAL = 300\n");
    let (report, _, status) = place.run(["--why", "START", "UPDATE_INTERVAL"]);
    assert_eq!(status, 0);
    assert!(!report.contains("no source sets it"), "{report}");
    assert!(report.contains("set 1 time:\n    DIR/condor_config, line 1   <- this one is used"), "{report}");
    let (verbose, _, _) = place.run(["-v", "UPDATE_INTERVAL"]);
    assert!(verbose.contains("DIR/condor_config, line 3"), "{verbose}");
    place.write("condor_config", "START = True\nSTART = (Owner == \"ann\")\nSTART = True\n");
    let (report, _, _) = place.run(["--why", "START"]);
    assert!(report.contains("set 3 times:"), "{report}");
    place.write("condor_config", "PREEMPT = False\n");
    let (_, stderr, _) = place.run(["lint"]);
    assert!(stderr.contains("1 source and 1 setting read"), "{stderr}");
    place.write("condor_config", "START = True\nSTART = False\n");
    assert_eq!(place.findings(), ["shadowed-definition:1:1"]);
}

#[test]
fn why_mentions_a_setting_for_another_daemon() {
    let place = Place::new("START = True\nSTARTD.START = False\n");
    let (report, stderr, _) = place.run(["--why", "START"]);
    assert!(
        report.contains("STARTD.START is set at DIR/condor_config, line 2, and is used there"),
        "{report}"
    );
    assert_eq!(stderr, "");
    let (report, _, _) = place.run(["--why", "START", "--subsystem", "STARTD"]);
    assert!(!report.contains("and is used there"), "{report}");
    let (_, stderr, _) = place.run(["--why", "START", "--subsystem", "startdd"]);
    assert!(
        stderr.contains("--subsystem: HTCondor has no daemon or tool of this name: 'startdd'"),
        "{stderr}"
    );
    assert!(stderr.contains("hint: did you mean STARTD?"), "{stderr}");
}

#[test]
fn the_starters_of_fetched_jobs_have_the_hooks_of_the_slot_that_fetched() {
    let place = Place::new("");
    let config = format!(
        "STARTD_JOB_HOOK_KEYWORD = FARM\nFARM_HOOK_FETCH_WORK = {}/fetch\nFARM_HOOK_PREPARE_JOB = /no/such/prepare\nNUM_SLOTS = 1\nNUM_SLOTS_TYPE_1 = 1\n",
        place.path().display()
    );
    place.write("condor_config", config);
    place.write("fetch", "#!/bin/sh\n");
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    fs::set_permissions(place.path().join("fetch"), mode).expect("a mode");
    let (out, stderr, status) = place.run(["--hooks"]);
    assert!(out.contains("starter (slot1): FARM\n"), "{out}{stderr}");
    let row = out.lines().find(|line| line.contains("FARM_HOOK_PREPARE_JOB ")).unwrap_or_default();
    assert!(row.starts_with("starter (slot1)") && row.contains("refused"), "{out}");
    assert_eq!(status, 1, "{out}");
}

#[test]
fn json_has_the_value_that_applies_to_the_subsystem() {
    let place = Place::new("A = plain\nTOOL.A = tool\nSTARTD.A = startd\n");
    for (words, value) in [
        (&["A"][..], "tool"),
        (&["A", "--subsystem", "STARTD"], "startd"),
        (&["A", "--subsystem", "SHADOW"], "plain"),
    ] {
        let (text, _, _) = place.run(words);
        assert_eq!(text.trim_end(), value);
        let (json, _, _) = place.run([words, &["--json"]].concat());
        assert!(json.contains(&format!("\"expanded\": \"{value}\"")), "{words:?} {json}");
    }
}

#[test]
fn a_comment_with_a_reason_allows_findings_of_one_rule_on_the_next_statement() {
    let rules = |config: &str| {
        let (out, _, status) = Place::new(config).run(["lint", "--json"]);
        let records: Vec<serde_json::Value> = serde_json::from_slice(out.as_bytes()).unwrap();
        let rules: Vec<String> = records.iter().map(|it| it["rule"].as_str().unwrap().to_owned()).collect();
        (rules.join(" "), status)
    };
    let allowed = "# htc: allow unused-macro: the monitoring reads it\n";
    assert_eq!(rules("MY_HOUSE = 5\n"), ("unused-macro".to_owned(), 1));
    assert_eq!(rules(&format!("{allowed}MY_HOUSE = 5\n")), (String::new(), 0));
    assert_eq!(rules(&format!("{allowed}MY_HOUSE = 5\nYOUR_HOUSE = 6\n")).0, "unused-macro");
    assert_eq!(rules(&format!("{allowed}NUM_CPUS = four\n")).0, "bad-value");
    assert_eq!(rules("# htc: allow unused-macro\nMY_HOUSE = 5\n").0, "allow-invalid unused-macro");
    assert_eq!(rules("# htc: allow unused-makro: x\nMY_HOUSE = 5\n").0, "allow-invalid unused-macro");
    // Comments for several rules precede one statement; it may have continuation lines.
    let both =
        format!("{allowed}# htc: allow undefined: set by the master\nMY_HOUSE = 5 \\\n  $(NOT_SET_HERE)\n");
    assert_eq!(rules(&both), (String::new(), 0));
}

#[test]
fn an_unknown_memory_limit_policy_is_a_bad_value() {
    for word in ["hard", "soft", "custom", "none"] {
        assert!(findings(&format!("CGROUP_MEMORY_LIMIT_POLICY = {word}\n")).is_empty(), "{word}");
    }
    assert_eq!(findings("CGROUP_MEMORY_LIMIT_POLICY = sfot\n"), ["bad-value:1:30"]);
}

/// The example of the manual.
#[test]
fn a_macro_for_the_hook_directory_is_not_a_misspelled_hook() {
    let config = "DATABASE_HOOK_DIR = /bin\nSTARTD_JOB_HOOK_KEYWORD = DATABASE\n\
                  DATABASE_HOOK_FETCH_WORK = $(DATABASE_HOOK_DIR)/true\n\
                  DATABASE_HOOK_REPLY_FETCH = $(DATABASE_HOOK_DIR)/true\n";
    assert!(findings(config).is_empty(), "{:?}", findings(config));
    assert_eq!(findings("DATABASE_HOOK_DIRR = /usr/libexec/db\n"), ["hook-knob:1:1"]);
}

#[test]
fn a_missing_user_map_is_found() {
    let place = Place::new("");
    place.write("map", "* /(.*)/ staff\n");
    let map = place.path().join("map").display().to_string();
    let line = |names: &str, more: &str| {
        let place = Place::new(&format!("STARTD_CLASSAD_USER_MAP_NAMES = {names}\n{more}"));
        (place.findings(), place.run(["lint"]).0)
    };
    let (found, _) = line(
        "a, b",
        &format!("CLASSAD_USER_MAPFILE_a = {map}\nCLASSAD_USER_MAPDATA_b @=e\n* /(.*)/ x\n@e\n"),
    );
    assert!(found.is_empty(), "{found:?}");
    let (found, report) =
        line("a, b", &format!("CLASSAD_USER_MAPFILE_a = {map}\nCLASSAD_USER_MAPFILE_b = /no/such\n"));
    assert_eq!(found, ["named-not-defined:1:36"], "{report}");
    assert!(report.contains("userMap(\"b\", ...) is undefined: cannot read '/no/such': "), "{report}");
    let (found, report) = line("nobody", "");
    assert_eq!(found, ["named-not-defined:1:33"], "{report}");
    // Files for another machine may name files that do not exist here.
    let elsewhere = place.path().join("other.conf");
    place.write("other.conf", "STARTD_CLASSAD_USER_MAP_NAMES = b\nCLASSAD_USER_MAPFILE_b = /no/such\n");
    let (out, err, status) = place.run(["lint".as_ref(), elsewhere.as_os_str()]);
    assert_eq!(status, 0, "{out}{err}");
}

/// Headings and files are in one stream, so that they stay in order; condor_config_val writes the headings to stderr.
#[test]
fn sources_are_printed_after_their_headings() {
    let place = Place::new("LOCAL_CONFIG_FILE = $(CONFIG_ROOT)/local\nA =  $(A) x\n");
    place.write("local", "B = 1\n");
    let (out, err, status) = place.run(["--sources"]);
    assert_eq!((status, err.as_str()), (0, ""), "{out}");
    let lines: Vec<&str> = out.lines().collect();
    assert_eq!(lines[0], "Configuration source:", "{out}");
    assert!(lines[2] == "Local configuration source:" && lines[3].ends_with("/local"), "{out}");
}

/// Regression test: a list that other files append to begins with a blank, and was dumped as a comment.
#[test]
fn a_value_that_begins_with_a_blank_is_dumped_as_a_statement() {
    let place = Place::new("STARTD_ATTRS = $(STARTD_ATTRS) Rack\n");
    let (out, _, status) = place.run(["--dump", "^STARTD_ATTRS$"]);
    assert_eq!((status, out.as_str()), (0, "STARTD_ATTRS =\nSTARTD_ATTRS = $(STARTD_ATTRS) Rack\n"));
}

/// Returns the output of `lint` with the name of the input replaced, and its exit status.
fn lint_by(place: &Place, program: &str, words: &str, shown_name: &str) -> (String, i32) {
    let script = format!("exec {program} lint {words}");
    let mut command = Command::new("bash");
    command.env_clear().env("PATH", std::env::var_os("PATH").unwrap_or_default()).current_dir(place.path());
    let output = command.args(["-c", &script]).output().expect("it starts");
    let text = String::from_utf8_lossy(&output.stdout).replace(shown_name, "INPUT");
    let words: Vec<&str> = text.split_whitespace().collect();
    (words.join(" "), output.status.code().expect("ended by itself"))
}

#[test]
fn lint_reads_pipes_as_files() {
    let place = Place::new("");
    place.write("bad.conf", "START = True\nNUM_CPUS = four\nSTRT = 1\nSTART = (Owner == \"ann\"\n");
    place.write(
        "router.conf",
        "JOB_ROUTER_ROUTE_NAMES = a b\nJOB_ROUTER_ROUTE_a @=e\nREQUIREMENTS (Owner ==\nSET B 2\n@e\n",
    );
    place.write("bad.xfm", "NAME x\nREQUIREMENTS (Owner ==\nSET A 1 +\n");
    let dump = env!("CARGO_BIN_EXE_htc-config-dump");
    let translate = env!("CARGO_BIN_EXE_htc-router-translate");
    for program in [dump, translate] {
        for file in ["bad.conf", "router.conf", "bad.xfm"] {
            let expected = lint_by(&place, program, &format!("--json {file}"), file);
            assert_eq!(expected.1, 1, "{file}: {expected:?}");
            assert!(expected.0.contains("INPUT"), "{file}: {expected:?}");
            for (words, name) in [
                (format!("--json - < {file}"), "<stdin>"),
                (format!("--json - < <(cat {file})"), "<stdin>"),
                (format!("--json <(cat {file})"), "/dev/fd/63"),
                ("--json fifo".to_owned(), "fifo"),
            ] {
                let _ = fs::remove_file(place.path().join("fifo"));
                let mut writer = None;
                let words = match name {
                    "fifo" => {
                        let made = Command::new("mkfifo").arg(place.path().join("fifo")).status();
                        assert!(made.expect("mkfifo starts").success());
                        let path = place.path().display();
                        let script = format!("timeout 20 cat '{path}/{file}' > '{path}/fifo'");
                        writer = Command::new("sh").args(["-c", &script]).spawn().ok();
                        words
                    }
                    _ => words,
                };
                let found = lint_by(&place, program, &words, name);
                writer.map(|mut child| child.wait());
                assert_eq!(found, expected, "{program} {words}");
            }
            let found = lint_by(&place, program, &format!("--json /dev/stdin < <(cat {file})"), "<stdin>");
            let found = (found.0.replace("/dev/stdin", "INPUT"), found.1);
            assert_eq!(found, expected, "{program} /dev/stdin {file}");
        }
    }
}

#[test]
fn lint_refuses_files_above_its_size_limit() {
    let place = Place::new("");
    let (_, error, status) = place.run(["lint", "/dev/zero"]);
    assert_eq!((status, error.contains("it is larger than 64 MiB")), (3, true), "{error}");
    let (_, error, status) = place.run(["lint", "--ads", "/dev/zero"]);
    assert_eq!((status, error.contains("64 MiB")), (3, true), "{error}");
}

#[test]
fn lint_reads_job_ads_in_all_forms() {
    let place = Place::new("");
    let ad = "Cmd = \"/bin/true\"\nJobUniverse = 5\nOwner = \"ann\"\nIwd = \"/tmp\"\nClusterId = \"x\"\nProcId = 0\n";
    place.write("long.ad", ad);
    let eval = env!("CARGO_BIN_EXE_htc-classad-eval");
    for (file, form) in [("json.ad", "--json"), ("xml.ad", "--xml"), ("lines.ad", "--jsonl")] {
        let output = Command::new(eval)
            .arg(form)
            .arg("--ads")
            .arg(place.path().join("long.ad"))
            .output()
            .expect("it starts");
        place.write(file, output.stdout);
    }
    let packed = Command::new("gzip").args(["-kc"]).arg(place.path().join("long.ad")).output();
    place.write("packed.ad", packed.expect("gzip starts").stdout);
    for file in ["long.ad", "json.ad", "xml.ad", "lines.ad", "packed.ad"] {
        let (out, err, status) = place.run(["lint", "--json", "--ads", file]);
        let found: serde_json::Value = serde_json::from_str(&out).unwrap_or_else(|_| panic!("{out}{err}"));
        let names: Vec<_> = found.as_array().expect("a list").iter().map(|one| one["name"].clone()).collect();
        assert_eq!((names, status), (vec![serde_json::json!("ClusterId")], 1), "{file}: {out}{err}");
    }
    // The directory also has the configuration, which is skipped.
    let (out, err, status) = place.run(["lint", "--json", "--ads", "."]);
    assert_eq!((out.matches("\"ClusterId\"").count(), status), (5, 3), "{out}");
    assert!(err.contains("condor_config"), "{err}");
    place.write("events.log", "000 (12.000.000) 2026-01-01 00:00:00 Job submitted\n...\n");
    let (_, error, status) = place.run(["lint", "--ads", "events.log"]);
    assert_eq!((status, error.contains("event log")), (3, true), "{error}");
}

#[test]
fn compare_reads_standard_input_and_pipes() {
    let place = Place::new("");
    place.write("one.conf", "NUM_CPUS = 4\n");
    place.write("two.conf", "NUM_CPUS = 8\n");
    let dump = env!("CARGO_BIN_EXE_htc-config-dump");
    for (words, expected) in [
        ("compare --json one.conf two.conf", 1),
        ("compare --json - two.conf < one.conf", 1),
        ("compare --json <(cat one.conf) <(cat two.conf)", 1),
        ("compare --json - one.conf < one.conf", 0),
        ("compare - - < one.conf", 2),
    ] {
        let mut command = Command::new("bash");
        command.current_dir(place.path()).args(["-c", &format!("exec {dump} {words}")]);
        let output = command.output().expect("it starts");
        let text = String::from_utf8_lossy(&output.stdout);
        assert_eq!(output.status.code(), Some(expected), "{words}: {text}{output:?}");
        let cpus = text.contains("\"NUM_CPUS\"");
        assert_eq!(cpus, expected == 1, "{words}: {text}");
    }
}

#[test]
fn ads_and_configurations_are_refused_as_rules() {
    let place = Place::new("");
    place.write("jobs.ads", "ClusterId = 1\nProcId = 0\n");
    place.write("jobs.json", "[{\"ClusterId\": 1}]");
    place.write("router.conf", "JOB_ROUTER_ROUTE_NAMES = a\nJOB_ROUTER_ROUTE_a @=e\nSET B 2\n@e\n");
    place.write("macros.xfm", "A = 1\n");
    let run = |words: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_htc-router-translate"));
        let output = command.env_clear().current_dir(place.path()).args(words).output().expect("it starts");
        (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    for (words, kind) in [
        (&["transform", "-r", "jobs.ads", "jobs.ads"][..], "ads"),
        (&["transform", "-r", "router.conf", "jobs.ads"], "the configuration of a router"),
        (&["compare", "jobs.ads", "jobs.ads"], "ads"),
        (&["lint", "-r", "router.conf"], "the configuration of a router"),
    ] {
        let (status, error) = run(words);
        assert_eq!(status, Some(3), "{words:?}: {error}");
        assert!(error.contains(&format!("is not a rules file: it contains {kind}")), "{words:?}: {error}");
    }
    assert_eq!(run(&["transform", "-r", "macros.xfm", "jobs.ads"]).0, Some(0));
    assert_eq!(run(&["transform", "-r", "/dev/null", "jobs.ads"]).0, Some(0));
}
