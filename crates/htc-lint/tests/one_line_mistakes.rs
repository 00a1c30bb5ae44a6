//! Mistakes of one line, each found by its rule, and lines without mistakes, in which nothing is found.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use htc_config::{LoadOptions, LookupContext};
use htc_lint::daemons::LintRequest;
use htc_os::RealWorld;

/// Names of the rules that find something in a configuration, those about unused names left out.
fn rules(text: &str) -> Vec<String> {
    let place = tempfile::tempdir().unwrap();
    let files = [place.path().join("condor_config")];
    std::fs::write(&files[0], text).unwrap();
    let (who, options) = (LookupContext::default(), LoadOptions::default());
    let request = LintRequest {
        context: &who,
        options: &options,
        files: &files,
        only_unsupported: false,
        used_by: &[],
        version: htc_config::target_version::TargetVersion::default(),
        redact: false,
    };
    let result = request.lint_config(&RealWorld::new()).unwrap();
    let names = result.findings.iter().map(|finding| finding.rule.name().to_owned());
    names.filter(|name| name != "unused-macro").collect()
}

#[test]
fn each_mistake_is_found_by_its_rule() {
    for (text, rule) in [
        ("MEMORY = 16GB", "bad-value"),
        ("SCHEDD.MAX_JOBS_RUNNING = lots", "bad-value"),
        ("STARTER_UPDATE_INTERVAL = 5m", "bad-value"),
        ("NUM_SLOTS_TYPE_1 = one\nSLOT_TYPE_1 = 100%", "bad-value"),
        ("SLOT_TYPE_1 = 100%\nSLOT_TYPE_1_PARTITIONABLE = yes", "bad-value"),
        ("GROUP_NAMES = a\nGROUP_QUOTA_a = ten", "bad-value"),
        ("GROUP_NAMES = a\nGROUP_QUOTA_DYNAMIC_a = 1.5", "bad-value"),
        ("MAX_SCHEDD_LOG = 100Megs", "bad-value"),
        ("STARTD_DEBUG = D_FULLDEGUB", "bad-value"),
        ("SEC_DEFAULT_AUTHENTICATION_METHODS = FS, IDTOKNS", "bad-value"),
        ("CONDOR_IDS = condor.condor", "bad-value"),
        ("ENABLE_IPV6 = ture", "bad-value"),
        ("COLLECTOR_PORT = 70000", "bad-value"),
        ("ENABLE_SSH_TO_JOB = enabled", "unknown-attribute"),
        ("START = yes", "unknown-attribute"),
        ("PREEMPT = flase", "unknown-attribute"),
        ("PREEMPT = KeybordIdle < 300", "unknown-attribute"),
        ("START = HasSoft\nHasSoft = True", "unknown-attribute"),
        ("START = KeyboardIdle > StartTime\nStartTime = 900", "unknown-attribute"),
        ("SLOT_TYPE_1_START = TARGET.Ower == \"bob\"\nSLOT_TYPE_1 = 100%", "unknown-attribute"),
        ("START = JobStatus == \"5\"", "always-error"),
        ("RANK = (Owner == \"ann\" * 1000) + ImageSize", "always-error"),
        ("START = ifThenElse(Owner == \"ann\", true)", "always-error"),
        ("START = regexp(\"[\", TARGET.Owner)", "always-error"),
        ("FetchWorkDelay = \"300\"", "always-error"),
        ("START = TARGET.Owner == alice", "unquoted-string"),
        ("PREEMPT = State == \"Claimd\"", "constant-comparison"),
        ("START = \"True\"", "constant-condition"),
        ("SYSTEM_PERIODIC_REMOVE = JobStatus == 5 && JobStatus == 2", "never-true"),
        ("SYSTEM_PERIODIC_REMOVE = TARGET.Memory < 5", "missing-target"),
        ("DEFRAG_WHOLE_MACHINE_EXPR = Cpus = TotalCpus", "bad-expression"),
        ("DAEMON_SHUTDOWN = State == \"Unclaimed\" &&", "bad-expression"),
        ("MEMORY = $INT(DETECTED_MEMORY * 0.9)", "function-fails"),
        ("STARTD_NAME = $SUBSTR(NOSUCH_NAME,1,2)", "function-fails"),
        ("STARTD_NAME = x$CHOICE(5,a,b,c)", "function-fails"),
        ("EXECUTE = /scratch # fast disk", "comment-in-value"),
        ("SPOOL = \"/var/spool/condor\"", "quoted-value"),
        ("EXECUTE = $LOCAL_DIR/execute", "shell-variable"),
        ("LOG = ${LOCAL_DIR}/log", "shell-variable"),
        ("CONDOR_HOST = {{ condor_host }}", "template-mark"),
        ("SPOOL = /var/spool/condor,", "trailing-text"),
        ("EXECUTE = scratch/condor", "relative-path"),
        ("JOB_TRANSFORM_NAMES = T\nJOB_TRANSFORM_T = [ set_Foo = 1; ]", "old-syntax"),
        ("JOB_ROUTER_ROUTE_NAMES = A\nJOB_ROUTER_ROUTE_A @=end\n UNIVERSE VANILLA\n@end", "transform"),
        (
            "JOB_ROUTER_ROUTE_NAMES = A\nJOB_ROUTER_ROUTE_A @=end\n REQUIREMENTS Owner == \"ann\"\n UNIVERSE vanila\n@end",
            "universe",
        ),
        ("A_HOOK_FETCH_WORK = /bin/true\nSTARTD_JOB_HOOK_KEYWORD = A", "no-reply-hook"),
        ("STARTER_JOB_HOOK_KEYWORD = A\nA_HOOK_PREPARE_JOB = ./prepare", "hook-path"),
        ("STARTER_JOB_HOOK_KEYWORD = A\nA_HOOK_PREPARE_JOB = \"/bin/true\"", "hook-path"),
    ] {
        let found = rules(text);
        assert!(found.iter().any(|name| name == rule), "{text}: {found:?}");
    }
}

#[test]
fn nothing_is_found_in_good_lines() {
    for text in [
        "MEMORY = 4 * 1024",
        "MEMORY = $(DETECTED_MEMORY) * 8 / 10",
        "USE_PROCD = TRUE",
        "ENABLE_IPV6 = auto",
        "MAX_STARTD_LOG = 10 Mb",
        "START = TARGET.RequestMemory < 2000 && TARGET.Owner != \"guest\"",
        "START = TARGET.WantLongJobs =?= true",
        "STARTD_ATTRS = Site\nSite = \"north\"\nSTART = TARGET.DesiredSite == Site",
        "PREEMPT = (Activity == \"Busy\") && $(ActivityTimer) > 3600",
        "RANK = (TARGET.Owner == \"ann\") * 1000 + TARGET.JobPrio",
        "SYSTEM_PERIODIC_REMOVE = JobStatus == 5 && time() - EnteredCurrentStatus > 3600",
        "SYSTEM_PERIODIC_HOLD_REASON = strcat(\"too much memory: \", string(MemoryUsage))",
        "SLOT_WEIGHT = ifThenElse(Cpus > 4, Cpus, 4)",
        "DEFRAG_RANK = -ExpectedMachineGracefulDrainingBadput",
        "MACHINE_RESOURCE_Licence = 5\nSTART = Licence > 2",
        "JOB_DEFAULT_REQUESTMEMORY = 2GB",
        "CONDOR_ADMIN = root@example.org",
        "ALLOW_WRITE = *.example.org, 10.0.0.0/8",
        "CLAIM_WORKLIFE = 1200",
    ] {
        assert_eq!(rules(text), Vec::<String>::new(), "{text}");
    }
}

/// The defaults of HTCondor are values of the types that the registry gives them.
#[test]
fn no_default_has_a_wrong_type() {
    let about = ["bad-value", "bad-expression", "always-error", "unknown-attribute", "constant-condition"];
    let mut text = String::new();
    for parameter in htc_config::defaults::all() {
        let (name, value) = (parameter.name().to_vec(), parameter.default().into_owned());
        if !value.is_empty() && !value.contains(&b'\n') && !parameter.has_flag("const") {
            let line = [&name[..], b" = ", &value, b"\n"].concat();
            text.push_str(&String::from_utf8_lossy(&line));
        }
    }
    let found: Vec<String> = rules(&text).into_iter().filter(|rule| about.contains(&rule.as_str())).collect();
    assert_eq!(found, Vec::<String>::new());
}
